#include "vol/dataset/shared_transfer.h"

#include "base/comm.h"
#include "chunk/write/write.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/collective_read.h"

bool bkt_shared_is(const struct bkt_vobj *o)
{
    return o->file && o->file->comm && o->file->flags & H5F_ACC_RDWR;
}

bool bkt_shared_transfer(const struct bkt_io *io)
{
    for (size_t i = 0; i < io->n; i++)
        if (bkt_shared_is(io->dsets[i]))
            return true;
    return false;
}

struct bkt_comm *bkt_shared_group(const struct bkt_io *io)
{
    struct bkt_comm *c = io->n && io->dsets[0]->file ? io->dsets[0]->file->comm : NULL;
    if (!c || io->alone || !bkt_xfer_is_collective(io->dxpl) || (io->write && !bkt_shared_is(io->dsets[0])))
        return NULL;
    for (size_t i = 1; i < io->n; i++)
        if (!io->dsets[i]->file || io->dsets[i]->file->comm != c)
            return NULL;
    return c;
}

void bkt_shared_forget(const struct bkt_io *io)
{
    for (size_t i = 0; i < io->n; i++)
        if (bkt_shared_is(io->dsets[i]) && (i == 0 || io->dsets[i]->file->dom != io->dsets[i - 1]->file->dom))
            bkt_chunk_cache_drop(io->dsets[i]->file->dom);
}

int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err)
{
    int rc = bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err);
    bkt_chunk_cache_drop(o->file->dom);
    return rc;
}

/* The selections were checked; a process whose selection can't be used takes part without one. */
int bkt_shared_hand_on_one(struct bkt_comm *c, const struct bkt_io *io, size_t i, struct bkt_err *err)
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

int bkt_shared_hand_on(const struct bkt_io *io, struct bkt_err *err)
{
    struct bkt_comm *c = bkt_shared_group(io);
    for (size_t i = 0; c && i < io->n; i++)
        BKT_PASS(bkt_shared_hand_on_one(c, io, i, err));
    return BKT_OK;
}

int bkt_shared_end(const struct bkt_io *io, int rc, struct bkt_err *err)
{
    if (!io->write)
        return rc;
    for (size_t i = 0; i < io->n; i++) {
        struct bkt_vobj *o = io->dsets[i];
        struct bkt_err why = {.n = 0};
        if (bkt_shared_is(o) && o->obj)
            bkt_err_keep_first(&rc, err, bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, &why), &why);
    }
    bkt_shared_forget(io);
    return bkt_comm_agree(bkt_shared_group(io), rc, err);
}
