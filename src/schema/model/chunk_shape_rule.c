#include "schema/model/chunk_shape_rule.h"

#include <string.h>
#include <strings.h>

#include "schema/model/hsds_view.h"
#include "base/num.h"

/* Bytes of a piece of a dataset that isn't chunked: smaller pieces mean more requests, larger ones more bytes
 * for a single point. */
#define CHUNK_BYTES (4u << 20)
/* Bytes of a chunk below which chunks are stored together, to save requests.  Larger chunks would gain as
 * well, but the program may mean to write those one by one. */
#define SMALL     (64u << 10)
/* Bytes of an object along dimensions that may grow.  A program that appends a few rows and flushes sends the
 * whole object each time.  So the program's chunks are left alone, unless they are so small that an object of
 * their own would be nearly all overhead. */
#define APPENDED (8u << 10)
/* Bytes of an object that holds several small chunks: as quick to read as larger ones, with fewer bytes for a
 * point. */
#define TOGETHER  (1u << 20)
/* Bytes that an element of variable length counts: HSDS's own guess.  Much less makes very large objects of
 * long strings. */
#define VAR_BYTES 128u
#define CHUNK_MAX UINT32_MAX  /* HDF5's limit */
/* Bytes of a chunk of a dataset that may grow: a program that writes one element of it makes and sends all
 * of them.  Larger chunks are stored in parts, which H5Dread_chunk() can't join to what HDF5 would have
 * stored. */
#define MOST_MADE     (256u << 20)
#define PART_MAX      (64u << 20)
#define VAR_HELD      16u        /* bytes of an element of variable length in memory */
#define MOST_FILTERED (1u << 30) /* if the chunk can't be divided, or another program made it */

/* ---- filters ---- */

enum { DEFLATE = 1, SHUFFLE = 2 };

static bool is_blosc_family(const struct bkt_filter_desc *f)
{
    static const int   ids[]   = {32001, 32003, 32004, 32005, 32015};
    static const char *names[] = {"blosc", "blosclz", "snappy", "lz4", "lz4hc", "zstd"};
    for (size_t i = 0; i < BKT_COUNT(ids); i++)
        if (f->id == ids[i])
            return true;
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        if (f->id < 0 && !strcasecmp(f->name, names[i]))
            return true;
    return false;
}

/* HDF5's own bytes are stored, unless HSDS has an equivalent form: one of its compressors, alone or after
 * shuffle, is a blosc frame there.  (The output of HDF5's blosc alone is a blosc frame already.)  Shuffle
 * alone gains nothing, and HSDS would store such chunks unshuffled. */
static bool wants_hdf5_chunks(const struct bkt_dset *ds)
{
    const struct bkt_filter_desc *f = ds->filters;
    size_t                        n = ds->n_filters;
    if (ds->type->is_var || !n || bkt_only_shuffled(ds))
        return false;
    if (n == 2 && f[0].id == SHUFFLE)
        return !is_blosc_family(&f[1]);
    return n != 1 || !is_blosc_family(f) || f->id == 32001;
}

static bool shape_matters(const struct bkt_dset *ds)
{
    for (size_t i = 0; i < ds->n_filters; i++)
        if (ds->filters[i].id != DEFLATE && ds->filters[i].id != SHUFFLE)
            return true;
    return false;
}

/* ---- shapes ---- */

static uint64_t elem_bytes(const struct bkt_dset *ds)
{
    return ds->type->is_var ? VAR_BYTES : bkt_max_u64(ds->type->size, 1);
}

static bool chunk_bytes(const struct bkt_dset *ds, const uint64_t *dims, unsigned rank, uint64_t *out)
{
    uint64_t n = elem_bytes(ds);
    for (unsigned d = 0; d < rank; d++)
        if (!bkt_mul_u64(n, dims[d], &n))
            return false;
    *out = n;
    return true;
}

static bool may_grow(const struct bkt_space *s, unsigned d)
{
    return s->maxdims[d] == BKT_UNLIMITED || s->maxdims[d] > s->dims[d];
}

/* Double dimensions, the fastest first, as long as the chunk has at most `limit` bytes and stays useful. */
static void grow(const struct bkt_space *s, struct bkt_layout *l, uint64_t bytes, bool beyond, uint64_t limit)
{
    for (unsigned d = l->rank; d-- > 0;)
        while (bytes <= limit / 2 && (beyond ? may_grow(s, d) : l->dims[d] < s->dims[d])) {
            if (beyond && s->maxdims[d] != BKT_UNLIMITED && l->dims[d] >= s->maxdims[d])
                break;
            l->dims[d] *= 2;
            bytes *= 2;
        }
}

uint64_t bkt_layout_most(const struct bkt_dset *ds)
{
    return ds->layout.cls == BKT_D_CHUNKED && !shape_matters(ds) ? MOST_MADE : MOST_FILTERED;
}

bool bkt_layout_is_beyond(const struct bkt_space *s, unsigned d, uint64_t chunk)
{
    return may_grow(s, d) && chunk / 2 >= bkt_max_u64(s->dims[d], 1);
}

/* Whether chunks can ever be that much longer than the extent, which may shrink again. */
static bool may_be_beyond(const struct bkt_dset *ds)
{
    for (unsigned d = 0; d < ds->layout.rank; d++)
        if (may_grow(&ds->space, d) && ds->layout.dims[d] > 1)
            return true;
    return false;
}

/* Bytes in memory; known to fit. */
static uint64_t held_bytes(const struct bkt_dset *ds)
{
    uint64_t n = ds->type->is_var ? VAR_HELD : bkt_max_u64(ds->type->size, 1);
    for (unsigned d = 0; d < ds->layout.rank; d++)
        n *= ds->layout.dims[d];
    return n;
}

/* Halve dimensions, the slowest first. */
static int divide(struct bkt_dset *ds, struct bkt_err *err)
{
    struct bkt_layout *l = &ds->layout;
    uint64_t bytes = held_bytes(ds);
    if (bytes <= MOST_MADE || !may_be_beyond(ds))
        return BKT_OK;
    BKT_FAIL_IF(err, shape_matters(ds) && bytes > MOST_FILTERED, BKT_EUNSUP,
                "a chunk of %llu bytes in a dataset that may grow, with a filter that depends on its shape: "
                "choose "
                "chunks of at most 1 GiB",
                (unsigned long long)bytes);
    for (unsigned d = 0; d < l->rank && !shape_matters(ds); d++)
        while (held_bytes(ds) > PART_MAX && l->dims[d] > 1)
            l->dims[d] = bkt_ceil_div(l->dims[d], 2);
    return BKT_OK;
}

static int choose_chunked(struct bkt_dset *ds, struct bkt_err *err)
{
    struct bkt_layout *l = &ds->layout;
    uint64_t           bytes;
    BKT_FAIL_IF(err, l->user_rank != ds->space.rank, BKT_EINVAL,
                "chunk shape of rank %u for a dataspace of rank %u", l->user_rank, ds->space.rank);
    memcpy(l->dims, l->user_dims, sizeof l->dims);
    for (unsigned d = 0; d < l->rank; d++)
        BKT_FAIL_IF(err, !l->dims[d], BKT_EINVAL, "chunk dimension %u is 0", d);
    BKT_FAIL_IF(err, !chunk_bytes(ds, l->dims, l->rank, &bytes) || bytes > CHUNK_MAX, BKT_EINVAL,
                "chunk shape: more than 4 GiB; choose smaller chunks");
    if (bytes >= SMALL || shape_matters(ds))
        return divide(ds, err);
    grow(&ds->space, l, bytes, false, TOGETHER);
    BKT_FAIL_IF(err, !chunk_bytes(ds, l->dims, l->rank, &bytes), BKT_EINVAL,
                "chunk shape: more than 2^64 bytes; choose smaller chunks");
    grow(&ds->space, l, bytes, true, APPENDED);
    return BKT_OK;
}

static void choose_pieces(struct bkt_dset *ds)
{
    struct bkt_layout *l     = &ds->layout;
    uint64_t           bytes = elem_bytes(ds);
    bool               full  = false;
    for (unsigned d = l->rank; d-- > 0;) {
        uint64_t dim = bkt_max_u64(ds->space.dims[d], 1), most = bkt_max_u64(CHUNK_BYTES / bytes, 1);
        l->dims[d]   = 1;
        if (full)
            continue;
        if (dim <= most) {
            l->dims[d] = dim;
            bytes *= dim;
        } else { /* as few pieces as possible, equally large */
            l->dims[d] = bkt_ceil_div(dim, bkt_ceil_div(dim, most));
            full       = true;
        }
    }
}

int bkt_layout_choose(struct bkt_dset *ds, struct bkt_err *err)
{
    struct bkt_layout *l = &ds->layout;
    l->partition_count   = 0;
    l->hdf5_chunks       = false;
    if (ds->space.cls == BKT_S_NULL || l->user_cls == BKT_D_VIRTUAL) {
        l->cls  = BKT_D_NONE;
        l->rank = 0;
        return BKT_OK;
    }
    l->cls         = BKT_D_CHUNKED;
    l->hdf5_chunks = wants_hdf5_chunks(ds);
    if (bkt_only_shuffled(ds) && !ds->type->is_var)
        ds->filters[0].aside = true;
    l->rank        = 1;
    l->dims[0]     = 1;
    if (ds->space.cls != BKT_S_SIMPLE || !ds->space.rank)
        return BKT_OK;
    l->rank = ds->space.rank;
    if (l->user_cls == BKT_D_CHUNKED)
        return choose_chunked(ds, err);
    choose_pieces(ds);
    return BKT_OK;
}
