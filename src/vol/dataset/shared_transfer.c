#include "vol/dataset/shared_transfer.h"

#include "base/comm.h"
#include "chunk/write/write.h"
#include "vol/core/transfer_list.h"

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
    if (!io->n || !bkt_shared_is(io->dsets[0]) || !bkt_xfer_is_collective(io->dxpl))
        return NULL;
    for (size_t i = 1; i < io->n; i++)
        if (!bkt_shared_is(io->dsets[i]) || io->dsets[i]->file->comm != io->dsets[0]->file->comm)
            return NULL;
    return io->dsets[0]->file->comm;
}

static void forget(const struct bkt_io *io)
{
    for (size_t i = 0; i < io->n; i++)
        if (bkt_shared_is(io->dsets[i]) && (i == 0 || io->dsets[i]->file->dom != io->dsets[i - 1]->file->dom))
            bkt_chunk_cache_drop(io->dsets[i]->file->dom);
}

void bkt_shared_begin(const struct bkt_io *io)
{
    forget(io);
}

int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err)
{
    int rc = bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err);
    bkt_chunk_cache_drop(o->file->dom);
    return rc;
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
    forget(io);
    return bkt_comm_agree(bkt_shared_group(io), rc, err);
}
