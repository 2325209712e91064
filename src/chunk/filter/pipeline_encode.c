/* HDF5's filter pipeline applied: each filter makes new bytes of the bytes of the one before.  Filters that
 * fail, or gain nothing, are treated as in HDF5: an optional filter is left out, which the mask records; any
 * other filter fails the chunk. */
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"

#define FLAG_OPTIONAL 1u /* H5Z_FLAG_OPTIONAL */

static const struct {
    int            id;
    bkt_encode_fn *encode;
    bool (*is_noop)(const struct bkt_filter *f);
} rows[] = {
    {BKT_FILTER_DEFLATE, bkt_deflate_encode, NULL},
    {BKT_FILTER_SHUFFLE, bkt_shuffle_encode, NULL},
    {BKT_FILTER_FLETCHER32, bkt_fletcher32_encode, NULL},
    {BKT_FILTER_SZIP, bkt_szip_encode, NULL},
    {BKT_FILTER_NBIT, bkt_nbit_encode, bkt_nbit_is_noop},
    {BKT_FILTER_SCALEOFFSET, bkt_scaleoffset_encode, bkt_scaleoffset_is_noop},
    {BKT_FILTER_BZIP2, bkt_bzip2_encode, NULL},
    {BKT_FILTER_LZF, bkt_lzf_encode, NULL},
    {BKT_FILTER_BLOSC, bkt_blosc_encode, NULL},
    {BKT_FILTER_SNAPPY, bkt_snappy_encode, NULL},
    {BKT_FILTER_LZ4, bkt_lz4_encode, NULL},
    {BKT_FILTER_BITSHUFFLE, bkt_bitshuffle_encode, NULL},
    {BKT_FILTER_ZSTD, bkt_zstd_encode, NULL},
};

static int plugin_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                         struct bkt_err *err)
{
    void  *buf;
    size_t n;
    BKT_PASS(bkt_filter_call(f, f->flags & ~FLAG_OPTIONAL, in, &buf, &n, err));
    int rc = n && buf ? bkt_buf_add(out, buf, n) : BKT_ERANGE;
    free(buf);
    return rc;
}

static int no_encoder(const struct bkt_filter *f, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EUNSUP,
             "filter %d (%s) has no encoder here: install HDF5's plugin for it and add its folder to "
             "HDF5_PLUGIN_PATH, or "
             "have the program register it (H5Zregister)",
             f->id, f->name);
}

static int apply(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                 struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(rows); i++)
        if (rows[i].id == f->id)
            return rows[i].encode(f, elem_size, in, out, err);
    if (f->fn)
        return plugin_encode(f, in, out, err);
    return no_encoder(f, err);
}

int bkt_pipeline_check(const struct bkt_pipeline *p, struct bkt_err *err)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct bkt_filter *f     = &p->f[i];
        bool                     known = f->fn || f->flags & FLAG_OPTIONAL;
        for (size_t k = 0; !known && k < BKT_COUNT(rows); k++)
            known = rows[k].id == f->id;
        if (!known)
            return no_encoder(f, err);
    }
    return BKT_OK;
}

static bool is_noop(const struct bkt_filter *f)
{
    for (size_t i = 0; i < BKT_COUNT(rows); i++)
        if (rows[i].id == f->id)
            return rows[i].is_noop && rows[i].is_noop(f);
    return false;
}

int bkt_pipeline_encode(const struct bkt_pipeline *p, const void *in, size_t n_in, struct bkt_buf *out,
                        uint32_t *mask, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf other = {0};
    struct bkt_span                          now   = {in, n_in};
    struct bkt_err                           why   = {0};
    *mask                                          = 0;
    bkt_buf_clear(out);
    for (unsigned i = 0; i < p->n; i++) {
        const struct bkt_filter *f = &p->f[i];
        if (is_noop(f))
            continue;
        bkt_buf_clear(&other);
        bkt_err_clear(&why);
        int rc = apply(f, p->elem_size, now, &other, &why);
        if (rc < 0 && rc != BKT_ENOMEM && f->flags & FLAG_OPTIONAL) {
            *mask |= (uint32_t)1 << i;
            continue;
        }
        if (rc < 0) {
            if (rc != BKT_ERANGE || why.n)
                (void)bkt_err_copy(err, rc, &why);
            BKT_FAIL(err, rc == BKT_ERANGE ? BKT_EUNSUP : rc, "filter %s can't be applied to the chunk",
                     f->name);
        }
        struct bkt_buf swap = *out;
        *out                = other;
        other               = swap;
        now                 = (struct bkt_span){out->ptr, out->len};
    }
    if (now.p == in && bkt_buf_add(out, in, n_in) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
