/* Puts written elements over stored ones. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/filter/bits.h"
#include "chunk/write/plan.h"
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
    BKT_CLEANUP(bkt_cache_entry_releasep) struct bkt_cache_entry *e = bkt_cache_entry_indexed((size_t)n);
    BKT_NEED(err, e);
    for (uint64_t i = 0; i < n; i++) {
        struct bkt_slice s = element(c, base, i);
        e->starts[i]       = all.len;
        BKT_PASS_MEM(err, bkt_buf_add(&all, s.p, s.n));
    }
    e->starts[n] = e->len = all.len;
    e->data               = bkt_buf_steal(&all);
    bkt_cache_entry_release(c->e);
    c->e = bkt_cache_entry_take(&e);
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
    if (c->complete || c->is_raw) /* the program has written all of it since the load began */
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

/* Variable-size elements written over a chunk, kept beside it until it is serialised. */

/* Bytes: so much slack, left by overwritten elements, isn't worth a copy.  Above, half may be slack at
 * most. */
#define SLACK_MIN (64u << 10)

static int over_of(struct bkt_wchunk *c, struct bkt_wvar **out, struct bkt_err *err)
{
    uint64_t n = c->ws->io->chunk_elems;
    if (!c->over) {
        struct bkt_wvar *o = calloc(1, sizeof *o);
        if (n > SIZE_MAX / sizeof *o->el || !o || !(o->el = calloc((size_t)n + 1, sizeof *o->el)) ||
            !(o->fresh = calloc((size_t)bkt_ceil_div(n, 64) + 1, sizeof *o->fresh))) {
            bkt_wvar_free(o);
            BKT_NOMEM(err);
        }
        c->over = o;
    }
    *out = c->over;
    return BKT_OK;
}

/* Drops the old bytes of elements that were written again. */
static int squeeze(struct bkt_wchunk *c, struct bkt_err *err)
{
    struct bkt_wvar *o = c->over;
    struct bkt_buf   b = {0};
    if (o->bytes.len < SLACK_MIN || o->wasted < o->bytes.len / 2)
        return BKT_OK;
    for (uint64_t i = 0; i < c->ws->io->chunk_elems; i++) {
        if (!bkt_bits_get(o->fresh, i))
            continue;
        size_t at = b.len;
        if (bkt_buf_add(&b, o->bytes.ptr + o->el[i].at, o->el[i].n) < 0) {
            bkt_buf_fini(&b);
            BKT_NOMEM(err);
        }
        o->el[i].at = at;
    }
    bkt_buf_fini(&o->bytes);
    o->bytes  = b;
    o->wasted = 0;
    return BKT_OK;
}

static int put_one(struct bkt_wchunk *c, struct bkt_wvar *o, uint64_t i, const struct bkt_slice *s,
                   struct bkt_err *err)
{
    size_t at = o->bytes.len;
    BKT_PASS_MEM(err, bkt_buf_add(&o->bytes, s->p, s->n));
    if (!bkt_bits_set(o->fresh, i, 1))
        o->wasted += o->el[i].n;
    o->el[i] = (struct bkt_wvar_el){at, s->n};
    return bkt_wchunk_mark(c, i, 1, err);
}

/* Each slice must be exactly one element: any other length would shift all elements behind it. */
static int check_slice(const struct bkt_dsetio *io, const struct bkt_slice *s, uint64_t seq,
                       struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(s->p, s->n);
    BKT_FAIL_IF(err, bkt_value_skip(io->ds->type, &r, BKT_VAR_NULL, NULL) < 0 || bkt_rd_left(&r), BKT_EINVAL,
                "element %llu of the selection is malformed (%zu bytes)", (unsigned long long)seq, s->n);
    return BKT_OK;
}

int bkt_wchunk_put_var(struct bkt_wchunk *c, const struct bkt_write_plan *p, uint64_t k, struct bkt_err *err)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    struct bkt_wvar     *o;
    BKT_PASS(bkt_wchunk_unraw(c, err));
    BKT_PASS(over_of(c, &o, err));
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        for (uint64_t i = 0; i < run.len; i++) {
            const struct bkt_slice *s = &p->w->slices[run.seq + i];
            BKT_PASS(check_slice(p->io, s, run.seq + i, err));
            BKT_PASS(put_one(c, o, run.off + i, s, err));
        }
    BKT_PASS(squeeze(c, err));
    bkt_wchunk_check_whole(c);
    return BKT_OK;
}

int bkt_wchunk_put_element(struct bkt_wchunk *c, uint64_t off, const struct bkt_slice *s, struct bkt_err *err)
{
    struct bkt_wvar *o;
    BKT_PASS(over_of(c, &o, err));
    BKT_PASS(check_slice(c->ws->io, s, off, err));
    return put_one(c, o, off, s, err);
}

int bkt_wchunk_fill_var(struct bkt_wchunk *c, uint64_t off, uint64_t n, struct bkt_err *err)
{
    const struct bkt_cache_entry *fill = c->ws->io->fill;
    struct bkt_slice         s    = {fill->data, fill->len};
    struct bkt_wvar         *o;
    BKT_PASS(over_of(c, &o, err));
    for (uint64_t i = 0; i < n; i++)
        BKT_PASS(put_one(c, o, off + i, &s, err));
    return BKT_OK;
}
