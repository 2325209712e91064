#include "chunk/dataset/chunk_list.h"

#include <string.h>

int bkt_chunk_list_add(const uint64_t *coord, const struct bkt_chunk_info *info, void *list)
{
    struct bkt_chunk_list *c = list;
    BKT_PASS(bkt_buf_add(&c->v, info, sizeof *info));
    return bkt_buf_add(&c->v, coord, c->rank * sizeof *coord);
}

int bkt_chunk_list_look(const struct bkt_dsetio *io, enum bkt_op op, struct bkt_chunk_list *c, size_t first,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    size_t n = bkt_min_u64(bkt_chunk_list_count(c) - first, BKT_REQUESTS_AT_ONCE);
    BKT_PASS_MEM(err, bkt_reqs_init(&reqs, n));
    for (size_t i = 0; i < n; i++) {
        struct bkt_req *q = &reqs.v[i];
        *q = (struct bkt_req){.op = op};
        if (op == BKT_GET)
            q->len = BKT_CHUNK_OBJECT_LOOK, q->may_be_short = q->small = true;
        BKT_PASS_MEM(err, bkt_chunk_key(&io->obj->id, &io->ds->layout, bkt_chunk_list_at(c, first + i)->coord,
                                        &reqs.keys[i]));
    }
    bkt_reqs_perform(bkt_domain_store(io->dom), &reqs);
    for (size_t i = 0; i < n; i++) {
        const struct bkt_req *q = &reqs.v[i];
        struct bkt_listed_chunk *one = bkt_chunk_list_at(c, first + i);
        struct bkt_chunk_info *info = &one->info;
        if (q->rc < 0 && q->rc != BKT_ENOENT && q->rc != BKT_ERANGE)
            BKT_TRY(err, bkt_err_copy(err, q->rc, q->err), "%s", bkt_chunk_label(io, one->coord).text);
        info->exists = info->exists && q->rc != BKT_ENOENT;
        if (q->size != UINT64_MAX)
            info->size = q->size;
        if (bkt_chunk_object_is_hsds(io, q->body.ptr, q->body.len, (size_t)info->size)) {
            info->size = io->chunk_bytes;
            info->filter_mask = bkt_chunk_object_no_filter(io);
            continue;
        }
        info->size -=
            bkt_min_u64(info->size, bkt_chunk_object_head(q->body.ptr, q->body.len, &info->filter_mask));
    }
    return BKT_OK;
}

static bool step(const struct bkt_dsetio *io, const uint64_t *grid, uint64_t *coord)
{
    for (unsigned d = io->rank; d-- > 0; coord[d] = 0)
        if (++coord[d] < grid[d])
            return true;
    return false;
}

int bkt_chunks_head(struct bkt_dsetio *io, const uint64_t *grid,
                    bool (*wanted)(const uint64_t *coord, void *arg), bkt_chunk_key_fn *each, void *arg,
                    struct bkt_err *err)
{
    struct bkt_chunk_list some = {.rank = io->rank};
    uint64_t coord[BKT_MAX_RANK] = {0};
    bool more = true; /* false: the grid is empty, or its end is reached */
    int rc = BKT_OK;
    for (unsigned d = 0; d < io->rank; d++)
        more = more && grid[d] > 0;
    while (rc == BKT_OK && more) {
        bkt_buf_clear(&some.v);
        for (; rc == BKT_OK && more && bkt_chunk_list_count(&some) < BKT_REQUESTS_AT_ONCE;
             more = step(io, grid, coord))
            if (!wanted || wanted(coord, arg))
                rc = bkt_chunk_list_add(coord, &(struct bkt_chunk_info){.exists = true}, &some);
        if (rc == BKT_OK)
            rc = bkt_chunk_list_look(io, BKT_HEAD, &some, 0, err);
        for (size_t i = 0; rc == BKT_OK && i < bkt_chunk_list_count(&some); i++)
            if (bkt_chunk_list_at(&some, i)->info.exists)
                rc = each(bkt_chunk_list_at(&some, i)->coord, bkt_chunk_list_at(&some, i)->info.size, arg);
    }
    bkt_buf_fini(&some.v);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc;
}
