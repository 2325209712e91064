#include "chunk/dataset/chunk_list.h"

#include <stdlib.h>
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

/* ---- all stored chunk objects ---- */

bool bkt_dsetio_grid(const struct bkt_dsetio *io, uint64_t *grid)
{
    const struct bkt_space *s = &io->ds->space;
    for (unsigned d = 0; d < io->rank; d++) {
        grid[d] = s->cls == BKT_S_SIMPLE && s->rank ? bkt_ceil_div(s->dims[d], io->cdims[d]) : 1;
        if (!grid[d])
            return false;
    }
    return io->where != BKT_AT_NONE;
}

enum bkt_op bkt_chunk_list_op(const struct bkt_dsetio *io)
{
    return io->hdf5 && io->pipe.n ? BKT_GET : BKT_HEAD;
}

/* Native chunk objects found by LIST. */
struct listing {
    struct bkt_chunk_list c;
    const uint64_t *grid;
};

static int on_listed(const uint64_t *coord, uint64_t size, void *arg)
{
    struct listing *l = arg;
    for (unsigned d = 0; d < l->c.rank; d++)
        if (coord[d] >= l->grid[d]) /* outside the extent */
            return BKT_OK;
    return bkt_chunk_list_add(coord, &(struct bkt_chunk_info){true, BKT_WHOLE, size, 0, NULL}, &l->c);
}

static int by_coord(const void *a, const void *b, void *rank)
{
    const struct bkt_listed_chunk *x = a, *y = b;
    for (unsigned d = 0; d < *(const unsigned *)rank; d++)
        if (x->coord[d] != y->coord[d])
            return x->coord[d] < y->coord[d] ? -1 : 1;
    return 0;
}

int bkt_chunk_list_each(struct bkt_chunk_list *c, bkt_chunk_fn *each, void *arg)
{
    if (c->v.len)
        qsort_r(c->v.ptr, bkt_chunk_list_count(c), bkt_chunk_list_stride(c), by_coord, &c->rank);
    for (size_t i = 0; i < bkt_chunk_list_count(c); i++)
        if (bkt_chunk_list_at(c, i)->info.exists)
            BKT_PASS(each(bkt_chunk_list_at(c, i)->coord, &bkt_chunk_list_at(c, i)->info, arg));
    return BKT_OK;
}

/* Asks for each chunk: version 1 keys begin with a hash, and a plain web server has no lists. */
static int head_chunks(struct bkt_dsetio *io, struct listing *l, struct bkt_err *err)
{
    BKT_FAIL_IF(err, bkt_v1_are_many(l->grid, io->rank), BKT_EUNSUP,
                "dataset %s: its chunk objects can't be listed, and are too many for "
                "single requests",
                io->obj->id.text);
    return bkt_chunks_head(io, l->grid, NULL, on_listed, l, err);
}

int bkt_chunk_objects_each(struct bkt_dsetio *io, const uint64_t *grid, bool masks, bkt_chunk_fn *each,
                           void *arg, struct bkt_err *err)
{
    struct listing l = {{.rank = io->rank}, grid};
    bool list = bkt_id_is_v2(&io->obj->id) || bkt_v1_are_many(grid, io->rank);
    int rc = list ? bkt_chunk_keys_each(io, on_listed, &l, err) : BKT_EUNSUP;
    if (rc == BKT_EUNSUP) {
        bkt_err_clear(err);
        rc = head_chunks(io, &l, err);
    }
    for (size_t i = 0;
         rc == BKT_OK && masks && bkt_chunk_list_op(io) == BKT_GET && i < bkt_chunk_list_count(&l.c);
         i += BKT_REQUESTS_AT_ONCE)
        rc = bkt_chunk_list_look(io, BKT_GET, &l.c, i, err);
    if (rc == BKT_OK)
        rc = bkt_chunk_list_each(&l.c, each, arg);
    bkt_buf_fini(&l.c.v);
    return rc;
}
