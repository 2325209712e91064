/* Puts written elements over stored ones. */
#include <stdlib.h>
#include <string.h>

#include "chunk/filter/bits.h"
#include "chunk/write/write_cache.h"

/* ---- fixed-size elements ---- */

static int fill_check(const struct bkt_wchunk *c, const struct bkt_cache_entry *base, struct bkt_err *err)
{
    return base ? BKT_OK : bkt_wchunk_fill_check(c, err);
}

static int merge_fixed(struct bkt_wchunk *c, const struct bkt_cache_entry *base, struct bkt_err *err)
{
    const struct bkt_dsetio *io = c->ws->io;
    size_t                   es = io->elem_size;
    uint64_t                 n;
    BKT_PASS(fill_check(c, base, err));
    BKT_PASS(bkt_wchunk_open(c, err));
    for (uint64_t at = 0; at < io->chunk_elems; at += n) {
        bool ours = false;
        n         = io->chunk_elems;
        if (c->mask)
            ours = bkt_bits_run(c->mask, at, io->chunk_elems, &n);
        if (!ours && base)
            memcpy(c->e->data + (size_t)at * es, base->data + (size_t)at * es, (size_t)n * es);
        else if (!ours)
            bkt_fill_run(io, c->coord, at, n, c->e->data + (size_t)at * es);
    }
    return BKT_OK;
}

/* ---- variable-size elements ---- */

static struct bkt_slice slice_of(const struct bkt_cache_entry *e, uint64_t i)
{
    return (struct bkt_slice){e->data + e->starts[i], e->starts[i + 1] - e->starts[i]};
}

static struct bkt_slice element(const struct bkt_wchunk *c, const struct bkt_cache_entry *base, uint64_t i)
{
    const struct bkt_wvar *o = c->over;
    if (o && bkt_bits_get(o->fresh, i))
        return (struct bkt_slice){o->bytes.ptr + o->el[i].at, o->el[i].n};
    if (c->e && (c->complete || (c->mask && bkt_bits_get(c->mask, i))))
        return slice_of(c->e, i);
    if (base)
        return slice_of(base, i);
    return (struct bkt_slice){c->ws->io->fill->data, c->ws->io->fill->len};
}

static int build(struct bkt_wchunk *c, const struct bkt_cache_entry *base, struct bkt_err *err)
{
    uint64_t                                 n   = c->ws->io->chunk_elems;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf all = {0};
    struct bkt_cache_entry                       *e   = bkt_cache_entry_new(0);
    if (!e || !(e->starts = malloc(((size_t)n + 1) * sizeof *e->starts))) {
        bkt_cache_entry_release(e);
        BKT_NOMEM(err);
    }
    for (uint64_t i = 0; i < n; i++) {
        struct bkt_slice s = element(c, base, i);
        e->starts[i]       = all.len;
        if (bkt_buf_add(&all, s.p, s.n) < 0) {
            bkt_cache_entry_release(e);
            BKT_NOMEM(err);
        }
    }
    e->starts[n] = e->len = all.len;
    e->n_starts           = (size_t)n;
    e->data               = bkt_buf_steal(&all);
    bkt_cache_entry_release(c->e);
    c->e = e;
    bkt_wvar_free(c->over);
    c->over = NULL;
    return BKT_OK;
}

static int merge_var(struct bkt_wchunk *c, struct bkt_cache_entry *base, struct bkt_err *err)
{
    if (base && !c->n_dirty && !c->whole) {
        bkt_cache_entry_release(c->e);
        c->e = bkt_cache_entry_retain(base);
        return BKT_OK;
    }
    BKT_PASS(fill_check(c, base, err));
    return build(c, base, err);
}

int bkt_wchunk_merge(struct bkt_wchunk *c, struct bkt_cache_entry *base, struct bkt_err *err)
{
    if (c->complete || c->is_raw) /* the program has written all of it meanwhile */
        return BKT_OK;
    if (c->ws->io->var)
        BKT_PASS(merge_var(c, base, err));
    else
        BKT_PASS(merge_fixed(c, base, err));
    c->complete = true;
    return BKT_OK;
}

int bkt_wchunk_serialise(struct bkt_wchunk *c, struct bkt_err *err)
{
    if (!c->over)
        return BKT_OK;
    if (!c->ws->io->fill)
        return bkt_err_copy(err, c->ws->io->bad_fill.code, &c->ws->io->bad_fill);
    BKT_PASS(build(c, NULL, err));
    c->complete = true;
    return BKT_OK;
}
