/* Dataspaces as H5Sencode2 writes them: an extent (versions 1 and 2), then a selection of any version. */
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"
#include "base/num.h"

#define MESSAGE    1 /* H5O_SDSPACE_ID */
#define COORD_MAX  INT64_MAX
#define HAS_MAX    1u
#define IS_REGULAR 1u

/* H5S_sel_type */
enum { SEL_NONE, SEL_POINTS, SEL_HYPERSLABS, SEL_ALL };

static int cut_off(struct bkt_err *err)
{
    return BKT_ERR(err, BKT_EFORMAT, "the encoded dataspace is cut off");
}

/* ---- the extent ---- */

static int take_dims(struct bkt_rd *r, unsigned flags, struct bkt_space *s, struct bkt_err *err)
{
    for (unsigned i = 0; i < s->rank; i++)
        s->dims[i] = s->maxdims[i] = bkt_rd_le(r, 8);
    for (unsigned i = 0; i < s->rank && (flags & HAS_MAX); i++)
        s->maxdims[i] = bkt_rd_le(r, 8);
    if (!r->ok)
        return cut_off(err);
    for (unsigned i = 0; i < s->rank; i++)
        BKT_FAIL_IF(err, s->dims[i] > s->maxdims[i], BKT_EFORMAT,
                    "the encoded dataspace is larger than its maximum");
    return bkt_space_check(s, err);
}

static int take_extent(struct bkt_rd *r, struct bkt_space *s, struct bkt_err *err)
{
    unsigned version = (unsigned)bkt_rd_le(r, 1), rank = (unsigned)bkt_rd_le(r, 1),
             flags = (unsigned)bkt_rd_le(r, 1);
    unsigned cls = (unsigned)bkt_rd_le(r, 1);
    if (version == 1) {
        (void)bkt_rd_take(r, 4); /* reserved, like the byte that was read as the class */
        cls = rank > 0;
    }
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err,
                version < 1 || version > 2 || cls > 2 || rank > BKT_MAX_RANK || (cls != 1) != (rank == 0),
                BKT_EFORMAT, "the encoded dataspace has version %u, class %u, rank %u", version, cls, rank);
    s->cls = cls == 2 ? BKT_S_NULL : rank ? BKT_S_SIMPLE : BKT_S_SCALAR;
    s->rank = rank;
    return take_dims(r, flags, s, err);
}

/* ---- the selection ---- */

struct form {
    unsigned version, flags;
    unsigned bytes; /* of one number */
};

/* The header before the numbers.  From some version on it has their length; before that, the number of bytes
 * that follow. */
static int take_form(struct bkt_rd *r, bool points, struct form *f, struct bkt_err *err)
{
    f->version = (unsigned)bkt_rd_le(r, 4);
    BKT_FAIL_IF(err, r->ok && (f->version < 1 || f->version > (points ? 2u : 3u)), BKT_EUNSUP,
                "the encoded selection has version %u, which is unknown here", f->version);
    f->bytes = f->version == 1 ? 4 : 8;
    if (!points && f->version >= 2)
        f->flags = (unsigned)bkt_rd_le(r, 1);
    if (f->version == (points ? 2u : 3u))
        f->bytes = (unsigned)bkt_rd_le(r, 1);
    else
        (void)bkt_rd_take(r, f->version == 1 ? 8 : 4);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, (f->bytes != 2 && f->bytes != 4 && f->bytes != 8) || (f->flags & ~IS_REGULAR),
                BKT_EFORMAT, "the encoded selection has numbers of %u bytes, flags %u", f->bytes, f->flags);
    return BKT_OK;
}

static int take_rank(struct bkt_rd *r, const struct bkt_h5space *s, struct bkt_err *err)
{
    uint64_t rank = bkt_rd_le(r, 4);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, rank != s->extent.rank || rank == 0, BKT_EFORMAT,
                "the encoded selection has rank %llu in a dataspace of rank %u", (unsigned long long)rank,
                s->extent.rank);
    return BKT_OK;
}

/* All bits set mean no end, in numbers of every length. */
static uint64_t take_count(struct bkt_rd *r, unsigned bytes)
{
    uint64_t v = bkt_rd_le(r, bytes);
    return v == UINT64_MAX >> (64 - 8 * bytes) ? BKT_UNLIMITED : v;
}

static bool fits(uint64_t start, uint64_t stride, uint64_t count, uint64_t block)
{
    uint64_t end;
    if (count == BKT_UNLIMITED || block == BKT_UNLIMITED)
        return start <= COORD_MAX && stride <= COORD_MAX &&
               (count == BKT_UNLIMITED) != (block == BKT_UNLIMITED);
    if (count == 0 || block == 0)
        return start <= COORD_MAX;
    return bkt_mul_u64(stride, count - 1, &end) && bkt_add_u64(end, start, &end) &&
           bkt_add_u64(end, block, &end) && end <= COORD_MAX;
}

static int check_slab(const struct bkt_h5space *s, struct bkt_err *err)
{
    unsigned endless = 0;
    for (unsigned i = 0; i < s->extent.rank; i++) {
        uint64_t block = s->block[i], count = s->count[i], stride = s->stride[i];
        bool open = count == BKT_UNLIMITED || block == BKT_UNLIMITED;
        endless += open;
        BKT_FAIL_IF(err,
                    !fits(s->start[i], stride, count, block) || stride == 0 ||
                        (count > 1 && stride < block) || (block == BKT_UNLIMITED && count != 1),
                    BKT_EFORMAT,
                    "the encoded selection has blocks that overlap or have no place in dimension %u", i);
    }
    BKT_FAIL_IF(err, endless > 1, BKT_EFORMAT, "the encoded selection has no end in %u dimensions", endless);
    return BKT_OK;
}

static int take_slab(struct bkt_rd *r, const struct form *f, struct bkt_h5space *s, struct bkt_err *err)
{
    s->select = BKT_H5_SEL_SLAB;
    for (unsigned i = 0; i < s->extent.rank; i++) {
        s->start[i] = bkt_rd_le(r, f->bytes);
        s->stride[i] = bkt_rd_le(r, f->bytes);
        s->count[i] = take_count(r, f->bytes);
        s->block[i] = take_count(r, f->bytes);
    }
    return r->ok ? check_slab(s, err) : cut_off(err);
}

/* @param each  numbers of one entry */
static int take_coords(struct bkt_rd *r, const struct form *f, unsigned each, struct bkt_h5space *s,
                       struct bkt_err *err)
{
    uint64_t n = bkt_rd_le(r, f->bytes), bytes;
    if (!r->ok || !bkt_mul_u64(n, (uint64_t)each * f->bytes, &bytes) || bytes > bkt_rd_left(r))
        return cut_off(err);
    s->coords = calloc((size_t)n * each + 1, sizeof *s->coords);
    BKT_NEED(err, s->coords);
    s->n = (size_t)n;
    for (size_t i = 0; i < s->n * each; i++) {
        s->coords[i] = bkt_rd_le(r, f->bytes);
        BKT_FAIL_IF(err, s->coords[i] >= COORD_MAX, BKT_EFORMAT,
                    "the encoded selection has a coordinate that no dataset has");
    }
    return BKT_OK;
}

static int take_points(struct bkt_rd *r, struct bkt_h5space *s, struct bkt_err *err)
{
    struct form f = {.version = 0};
    BKT_PASS(take_form(r, true, &f, err));
    BKT_PASS(take_rank(r, s, err));
    s->select = BKT_H5_SEL_POINTS;
    return take_coords(r, &f, s->extent.rank, s, err);
}

static int take_hyperslabs(struct bkt_rd *r, struct bkt_h5space *s, uint64_t *spare, struct bkt_err *err)
{
    struct form f = {.version = 0};
    BKT_PASS(take_form(r, false, &f, err));
    BKT_PASS(take_rank(r, s, err));
    if (f.flags & IS_REGULAR)
        return take_slab(r, &f, s, err);
    s->select = BKT_H5_SEL_BLOCKS;
    BKT_PASS(take_coords(r, &f, 2 * s->extent.rank, s, err));
    return bkt_h5blocks_check(s->extent.rank, s->n, s->coords, spare, err);
}

static int take_selection(struct bkt_rd *r, struct bkt_h5space *s, uint64_t *spare, struct bkt_err *err)
{
    uint64_t kind = bkt_rd_le(r, 4);
    if (!r->ok)
        return cut_off(err);
    if (kind == SEL_POINTS)
        return take_points(r, s, err);
    if (kind == SEL_HYPERSLABS)
        return take_hyperslabs(r, s, spare, err);
    BKT_FAIL_IF(err, (kind != SEL_NONE && kind != SEL_ALL) || bkt_rd_le(r, 4) != 1, BKT_EFORMAT,
                "the encoded selection is of kind %llu, which is unknown here", (unsigned long long)kind);
    s->select = kind == SEL_NONE ? BKT_H5_SEL_NONE : BKT_H5_SEL_ALL;
    return bkt_rd_take(r, 8) ? BKT_OK : cut_off(err);
}

int bkt_h5space_read(struct bkt_rd *r, struct bkt_h5space *out, uint64_t *spare, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    BKT_FAIL_IF(err, bkt_rd_le(r, 1) != MESSAGE || bkt_rd_le(r, 1) != 0 || bkt_rd_le(r, 1) != 8 || !r->ok,
                BKT_EFORMAT, "the bytes are not a dataspace as HDF5 encodes it");
    size_t n = (size_t)bkt_rd_le(r, 4);
    const void *p = bkt_rd_take(r, n);
    if (!p)
        return cut_off(err);
    struct bkt_rd extent = bkt_rd_of(p, n);
    BKT_PASS(take_extent(&extent, &out->extent, err));
    return take_selection(r, out, spare, err);
}

int bkt_h5space_parse(const void *p, size_t n, struct bkt_h5space *out, struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(p, n);
    uint64_t spare = BKT_H5_BLOCKS_SPARE;
    return bkt_h5space_read(&r, out, &spare, err);
}

void bkt_h5space_fini(struct bkt_h5space *s)
{
    free(s->coords);
    s->coords = NULL;
    s->n = 0;
}
