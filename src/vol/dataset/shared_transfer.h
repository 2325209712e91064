/* Reading and writing in a file that several processes opened together for writing.
 *
 * As in HDF5's own files, elements are stored when H5Dwrite returns, and each H5Dread finds what other
 * processes have stored before: no process keeps elements in memory. */
#pragma once

#include "base/comm.h"
#include "chunk/chunk.h"
#include "chunk/write/write.h"
#include "vol/dataset/dataset_calls.h"

/** Whether @p o is in such a file. */
bool bkt_shared_is(const struct bkt_vobj *o);
/** Store what was written to a dataset in such a file. */
BKT_NODISCARD int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err);
/** Whether a dataset of the call is in such a file. */
bool bkt_shared_transfer(const struct bkt_io *io);
/** The processes that make this call together, by a collective transfer list; NULL: each makes it for itself.
 */
struct bkt_comm *bkt_shared_group(const struct bkt_io *io);
/** Before the call: forget elements that other processes may have replaced. */
void bkt_shared_forget(const struct bkt_io *io);
/** A collective read: chunks that several processes need are fetched by one of them.  Collective.  In an
 * independent read: nothing. */
BKT_NODISCARD int bkt_shared_hand_on(const struct bkt_io *io, struct bkt_err *err);
/** The same for dataset @p i of the call, by the processes of @p c. */
BKT_NODISCARD int bkt_shared_hand_on_one(struct bkt_comm *c, const struct bkt_io *io, size_t i,
                                         struct bkt_err *err);
/** After the call: store its elements.
 *  @param rc  the call's result so far
 *  @return the call's result; after a failure the elements are kept for the next flush */
BKT_NODISCARD int bkt_shared_end(const struct bkt_io *io, int rc, struct bkt_err *err);

/* ---- what H5Pget_mpio_actual_io_mode() and the calls like it return ---- */

/** Why a call with a collective list is not collective: bits of H5D_mpio_no_collective_cause_t. */
struct bkt_causes {
    uint32_t here, anywhere; /* in this process, in any */
};

/** The causes of a call.  Collective if bkt_shared_group() has processes. */
BKT_NODISCARD int bkt_shared_causes(const struct bkt_io *io, struct bkt_causes *out, struct bkt_err *err);
/** Note in the program's transfer list how the elements were moved. */
void bkt_shared_report(const struct bkt_io *io, const struct bkt_causes *causes);

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
