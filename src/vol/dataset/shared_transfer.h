/* Reading and writing in a file that several processes opened together for writing.
 *
 * As in HDF5's own files, elements are stored when H5Dwrite returns, and each H5Dread finds what other
 * processes have stored before: no process keeps elements in memory. */
#pragma once

#include "base/os/comm.h"
#include "chunk/chunk.h"
#include "chunk/write/write.h"
#include "vol/dataset/dataset_calls.h"

/** Whether @p o is in such a file. */
bool bkt_shared_is(const struct bkt_vobj *o);
/** Store what was written to a dataset in such a file. */
BKT_NODISCARD int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err);
/** Whether bkt_shared_transfer() has something to do: a file that several processes opened, or a program
 *  that may ask how elements were moved. */
static inline bool bkt_shared_concerns(const struct bkt_io *io)
{
    bool any = io->dxpl != H5P_DEFAULT && io->dxpl != H5P_DATASET_XFER_DEFAULT;
    for (size_t i = 0; !any && i < io->n; i++)
        any = io->dsets[i]->file && io->dsets[i]->file->comm;
    return any;
}
/** Make a call by @p transfer, for which `group` is set.  Before the call, elements that other processes may
 *  have replaced are forgotten.  After it, its elements are stored.  How they were moved is noted in the
 *  program's transfer list: H5Pget_mpio_actual_io_mode() and the calls like it return it.
 *  @return the call's result; after a failure the elements are kept for the next flush */
BKT_NODISCARD int bkt_shared_transfer(const struct bkt_io *io,
                                      int (*transfer)(const struct bkt_io *io, struct bkt_err *err),
                                      struct bkt_err *err);
/** A collective read of dataset @p i of the call by the processes of @p c: chunks that several of them need
 *  are fetched by one.  Collective. */
BKT_NODISCARD int bkt_shared_hand_on(struct bkt_comm *c, const struct bkt_io *io, size_t i,
                                     struct bkt_err *err);

/** Before a read: fill the caches of the processes.  Collective.  Chunks that can't be handed on are left to
 * the read, which also reports their failures.
 *  @param file  this process's selection; NULL: none
 *  @return BKT_OK; a failure of the exchange */
BKT_NODISCARD int bkt_collective_read(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_sel *file,
                                      struct bkt_err *err);

/** Write together.  Collective; nothing is certain to be stored before the dataset's chunks are flushed.
 *  @param io   the dataset
 *  @param w    this process's part; NULL: nothing
 *  @return the common result: BKT_OK; the first process's failure, or that of the exchange */
BKT_NODISCARD int bkt_collective_write(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_write *w,
                                       struct bkt_err *err);
