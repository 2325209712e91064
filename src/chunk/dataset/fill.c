/* The values of a chunk that isn't stored: the fill value, zeros, or the initializer's values. */
#include <math.h>
#include <string.h>

#include "chunk/dataset/dataset.h"

/* ---- arange: value = start + index * step, in the dataset's own type ---- */

static bool is_whole(double v) { return fabs(v) < 0x1p62 && v == trunc(v); }

static void arange(const struct bkt_dset *ds, uint64_t index, uint64_t n, unsigned char *dst)
{
    const struct bkt_type *t     = ds->type;
    bool whole = t->cls == BKT_T_INTEGER && is_whole(ds->arange_start) && is_whole(ds->arange_step);
    for (uint64_t i = 0; i < n; i++, index++, dst += t->size) {
        double   v = ds->arange_start + (double)index * ds->arange_step;
        uint64_t bits;
        if (whole) /* exact beyond 2^53, wraps as the type does */
            bits = (uint64_t)(int64_t)ds->arange_start + index * (uint64_t)(int64_t)ds->arange_step;
        else if (t->cls == BKT_T_FLOAT)
            bits = bkt_bits_of_real(v, t->size);
        else
            bits = fabs(v) < 0x1p63 ? (uint64_t)(int64_t)v : 0;
        (t->big_endian ? bkt_put_be : bkt_put_le)(dst, (unsigned)t->size, bits);
    }
}

static int arange_check(const struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_type *t = io->ds->type;
    bool ok = (t->cls == BKT_T_INTEGER && t->size >= 1 && t->size <= 8) ||
              (t->cls == BKT_T_FLOAT && (t->size == 2 || t->size == 4 || t->size == 8));
    BKT_FAIL_IF(err, !ok || io->rank != 1, BKT_EUNSUP,
                "%s: initializer arange for rank %u and a type of %zu bytes, but it needs "
                "rank 1 and a plain number",
                io->obj->id.text, io->rank, t->size);
    return BKT_OK;
}

/* ---- */

int bkt_fill_check(const struct bkt_dsetio *io, const uint64_t *coord, bool native, struct bkt_err *err)
{
    enum bkt_initializer init = native ? io->ds->init : BKT_INIT_NONE;
    if (init == BKT_INIT_ARANGE)
        return arange_check(io, err);
    BKT_FAIL_IF(err, init == BKT_INIT_CHUNKLOCATOR, BKT_EUNSUP,
                "%s: locations unknown: this part of the chunk table isn't stored and initializer %s was "
                "not resolved",
                bkt_chunk_label(io, coord).text, io->ds->init_text ? io->ds->init_text : "chunklocator");
    BKT_FAIL_IF(err, init == BKT_INIT_OTHER, BKT_EUNSUP, "%s is not stored, and initializer %s is unknown",
                bkt_chunk_label(io, coord).text, io->ds->init_text ? io->ds->init_text : "(unnamed)");
    return io->fill ? BKT_OK : bkt_err_copy(err, io->bad_fill.code, &io->bad_fill);
}

void bkt_fill_run(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t first, uint64_t n,
                  unsigned char *dst)
{
    size_t es = io->elem_size, bytes = (size_t)n * es;
    if (io->where == BKT_AT_OBJECTS && io->ds->init == BKT_INIT_ARANGE) {
        arange(io->ds, coord[0] * io->cdims[0] + first, n, dst);
        return;
    }
    if (io->zero_fill) {
        memset(dst, 0, bytes);
        return;
    }
    memcpy(dst, io->fill->data, es);
    for (size_t done = es; done < bytes;) { /* doubles the elements that are there */
        size_t more = done < bytes - done ? done : bytes - done;
        memcpy(dst + done, dst, more);
        done += more;
    }
}
