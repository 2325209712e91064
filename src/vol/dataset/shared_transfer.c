/* Reads and writes by several processes together: the processes that take part, and the data they share. */
#include "vol/dataset/shared_transfer.h"

#include "base/os/comm.h"
#include "chunk/write/write.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/mpio_report.h"

bool bkt_shared_is(const struct bkt_vobj *o)
{
    return o->file && o->file->comm && o->file->flags & H5F_ACC_RDWR;
}

/* The processes that make a call together, by a collective transfer list. */
static struct bkt_comm *group_of(const struct bkt_io *io)
{
    struct bkt_comm *c = io->n && io->dsets[0]->file ? io->dsets[0]->file->comm : NULL;
    if (!c || !bkt_xfer_is_collective(io->dxpl) || (io->write && !bkt_shared_is(io->dsets[0])))
        return NULL;
    for (size_t i = 1; i < io->n; i++)
        if (!io->dsets[i]->file || io->dsets[i]->file->comm != c)
            return NULL;
    return c;
}

/* Other processes may have replaced elements. */
static void forget(const struct bkt_io *io)
{
    for (size_t i = 0; i < io->n; i++)
        if (bkt_shared_is(io->dsets[i]) && (i == 0 || io->dsets[i]->file->dom != io->dsets[i - 1]->file->dom))
            bkt_chunks_forget_stored(io->dsets[i]->file->dom);
}

int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err)
{
    int rc = bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err);
    bkt_chunks_forget_stored(o->file->dom);
    return rc;
}

/* The selections were checked; a process whose selection can't be used takes part without one. */
int bkt_shared_hand_on(struct bkt_comm *c, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    struct bkt_dsel sel = {.flat = false};
    struct bkt_dsetio *d = NULL;
    int rc = bkt_comm_agree(c, bkt_dataset_io(io->dsets[i], &d, err), err);
    if (rc == BKT_OK) {
        bool good =
            bkt_dsel_init(&sel, io->dsets[i], io->mem_spaces[i], io->file_spaces[i], NULL) == BKT_OK;
        rc = bkt_collective_read(c, d, good ? &sel.file : NULL, err);
    }
    bkt_dsel_fini(&sel);
    return rc;
}

/* After a write with result @p rc: store its elements. */
static int store_all(const struct bkt_io *io, int rc, struct bkt_err *err)
{
    for (size_t i = 0; i < io->n; i++) {
        struct bkt_vobj *o = io->dsets[i];
        struct bkt_err why = {.n = 0};
        if (bkt_shared_is(o) && o->obj)
            bkt_err_keep_first(&rc, err, bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, &why), &why);
    }
    forget(io);
    return bkt_comm_agree(io->group, rc, err);
}

int bkt_shared_transfer(const struct bkt_io *io,
                        int (*transfer)(const struct bkt_io *io, struct bkt_err *err), struct bkt_err *err)
{
    struct bkt_io own = *io;
    struct bkt_mpio_causes causes;
    bool shared = false;
    own.group = group_of(io);
    for (size_t i = 0; i < io->n; i++)
        shared = shared || bkt_shared_is(io->dsets[i]);
    BKT_PASS(bkt_mpio_find_causes(&own, &causes, err));
    if (causes.datasets_differ || causes.anywhere & (H5D_MPIO_DATATYPE_CONVERSION | H5D_MPIO_DATA_TRANSFORMS))
        own.group = NULL;
    if (shared)
        forget(&own);
    int rc = transfer(&own, err);
    if (shared && io->write)
        rc = store_all(&own, rc, err);
    if (rc == BKT_OK)
        bkt_mpio_report(&own, &causes);
    return rc;
}
