/* HDF5's filter pipeline applied and undone.  The table has, per filter id, encoder, decoder, and the effect
 * of encoding on the length.  From these follow the expected lengths between the stages of decoding.  So the
 * last stage decodes into the caller's buffer, and no stage may produce more than is wanted.
 *
 * Encoding treats filters that fail, or gain nothing, as HDF5 does: an optional filter is left out, which the
 * mask records; any other filter fails the chunk.
 *
 * Memory between the stages comes from the process's pool (scratch_pool.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/scratch_pool.h"
#include "chunk/filter/filters_impl.h"

#define FLAG_OPTIONAL 1u     /* H5Z_FLAG_OPTIONAL */
#define FLAG_REVERSE  0x0100 /* H5Z_FLAG_REVERSE */

enum length {
    LEN_UNKNOWN, /* compressors */
    LEN_SAME,
    LEN_PLUS_4, /* a checksum behind the data */
};

struct row {
    int            id;
    const char    *name;
    bkt_encode_fn *encode;
    bkt_decode_fn *decode;
    enum length    length;
    bool (*is_noop)(const struct bkt_filter *f);    /* may be NULL */
    bool (*compresses)(const struct bkt_filter *f); /* with LEN_SAME: unless this says so; may be NULL */
    bool (*fits)(const struct bkt_filter *f, struct bkt_span head,
                 size_t n); /* with LEN_UNKNOWN; may be NULL */
};

static const struct row rows[] = {
    {BKT_FILTER_DEFLATE, "deflate", bkt_deflate_encode, bkt_deflate_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_SHUFFLE, "shuffle", bkt_shuffle_encode, bkt_shuffle_decode, .length = LEN_SAME},
    {BKT_FILTER_FLETCHER32, "fletcher32", bkt_fletcher32_encode, bkt_fletcher32_decode, .length = LEN_PLUS_4},
    {BKT_FILTER_SZIP, "szip", bkt_szip_encode, bkt_szip_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_NBIT, "nbit", bkt_nbit_encode, bkt_nbit_decode, LEN_UNKNOWN, bkt_nbit_is_noop, NULL,
     bkt_nbit_fits},
    {BKT_FILTER_SCALEOFFSET, "scaleoffset", bkt_scaleoffset_encode, bkt_scaleoffset_decode, LEN_UNKNOWN,
     bkt_scaleoffset_is_noop, NULL, bkt_scaleoffset_fits},
    {BKT_FILTER_BZIP2, "bzip2", bkt_bzip2_encode, bkt_bzip2_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_LZF, "lzf", bkt_lzf_encode, bkt_lzf_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_BLOSC, "blosc", bkt_blosc_encode, bkt_blosc_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_SNAPPY, "snappy", bkt_snappy_encode, bkt_snappy_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_LZ4, "lz4", bkt_lz4_encode, bkt_lz4_decode, .length = LEN_UNKNOWN},
    {BKT_FILTER_BITSHUFFLE, "bitshuffle", bkt_bitshuffle_encode, bkt_bitshuffle_decode, LEN_SAME, NULL,
     bkt_bitshuffle_compresses, NULL},
    {BKT_FILTER_ZSTD, "zstd", bkt_zstd_encode, bkt_zstd_decode, .length = LEN_UNKNOWN},
};

static const struct row *find(int id)
{
    for (size_t i = 0; i < BKT_COUNT(rows); i++)
        if (rows[i].id == id)
            return &rows[i];
    return NULL;
}

static bool is_noop(const struct row *row, const struct bkt_filter *f)
{
    return row && row->is_noop && row->is_noop(f);
}

bool bkt_filter_builtin(int id) { return find(id) != NULL; }

bool bkt_pipeline_builtin(const struct bkt_pipeline *p)
{
    bool all = true;
    for (unsigned i = 0; i < p->n; i++)
        all = all && bkt_filter_builtin(p->f[i].id);
    return all;
}

static enum length length_of(const struct row *row, const struct bkt_filter *f)
{
    return row->compresses && row->compresses(f) ? LEN_UNKNOWN : row->length;
}

bool bkt_pipeline_compresses(const struct bkt_pipeline *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct row *row = find(p->f[i].id);
        if (!row || (!is_noop(row, &p->f[i]) && length_of(row, &p->f[i]) == LEN_UNKNOWN))
            return true;
    }
    return false;
}

bool bkt_pipeline_may_give(const struct bkt_pipeline *p, const void *head, size_t n_head, size_t n,
                           size_t n_dst)
{
    const struct bkt_filter *f    = NULL; /* the last that compresses */
    const struct row        *by   = NULL;
    size_t                   plus = 0; /* bytes that were added behind since */
    bool                     front = true; /* nothing since has moved its first bytes */
    for (unsigned i = 0; i < p->n; i++) {
        const struct row *row = find(p->f[i].id);
        if (!row)
            return true;
        if (is_noop(row, &p->f[i]))
            continue;
        enum length len = length_of(row, &p->f[i]);
        front           = len == LEN_UNKNOWN || (front && len == LEN_PLUS_4);
        plus            = len == LEN_UNKNOWN ? 0 : plus + (len == LEN_PLUS_4 ? 4 : 0);
        f               = len == LEN_UNKNOWN ? &p->f[i] : f;
        by              = len == LEN_UNKNOWN ? row : by;
    }
    if (!f)
        return n >= plus && n - plus == n_dst;
    return n >= plus && (!front || !by->fits || by->fits(f, (struct bkt_span){head, n_head}, n - plus));
}

int bkt_filter_decode(const struct bkt_filter *f, const void *in, size_t n_in, void *dst, size_t room,
                      size_t *n, struct bkt_err *err)
{
    const struct row *row = find(f->id);
    struct bkt_room   out = {dst, room, 0};
    BKT_FAIL_IF(err, !row, BKT_EUNSUP, "filter %d has no decoder in this build", f->id);
    BKT_PASS(row->decode(f, (struct bkt_span){in, n_in}, &out, err));
    *n = out.n;
    return BKT_OK;
}

const char *bkt_filter_name(int id)
{
    const struct row *r = find(id);
    return r ? r->name : NULL;
}

void bkt_pipeline_fini(struct bkt_pipeline *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->n; i++)
        free(p->f[i].cd);
    p->n = 0;
}

int bkt_pipeline_add(struct bkt_pipeline *p, int id, unsigned flags, const unsigned *cd, size_t n_cd,
                     const char *name, struct bkt_err *err)
{
    BKT_FAIL_IF(err, p->n == BKT_PIPELINE_MAX, BKT_EFORMAT, "more than %d filters", BKT_PIPELINE_MAX);
    struct bkt_filter *f = &p->f[p->n];
    *f = (struct bkt_filter){.id = id, .flags = flags, .n_cd = n_cd, .elem_size = p->elem_size};
    if (n_cd) {
        f->cd = calloc(n_cd, sizeof *cd);
        BKT_NEED(err, f->cd);
        memcpy(f->cd, cd, n_cd * sizeof *cd);
    }
    if (!name)
        name = bkt_filter_name(id);
    snprintf(f->name, sizeof f->name, "%s", name ? name : "unnamed");
    p->n++;
    return BKT_OK;
}

void bkt_filter_set(struct bkt_pipeline *p, struct bkt_filter *f, bkt_filter_fn *fn)
{
    f->fn = fn;
    p->by_caller |= fn != NULL;
}

void bkt_pipeline_follow(struct bkt_pipeline *to, const struct bkt_pipeline *from)
{
    for (unsigned i = 0; i < to->n && i < from->n; i++)
        bkt_filter_set(to, &to->f[i], from->f[i].fn);
}

/* The filter takes over a malloc'ed buffer and may replace it. */
static int filter_call(const struct bkt_filter *f, unsigned flags, struct bkt_span in, void **out, size_t *n,
                       struct bkt_err *err)
{
    size_t size = in.n;
    *out        = malloc(in.n ? in.n : 1);
    BKT_NEED(err, *out);
    if (in.n)
        memcpy(*out, in.p, in.n);
    *n = f->fn(flags, f->n_cd, f->cd, in.n, &size, out);
    return BKT_OK;
}

static int plugin_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                         struct bkt_err *err)
{
    void  *buf;
    size_t n;
    BKT_PASS(filter_call(f, f->flags | FLAG_REVERSE, in, &buf, &n, err));
    bool fits = n <= out->cap;
    if (n && buf && fits) {
        memcpy(out->p, buf, n);
        out->n = n;
    }
    free(buf);
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "filter %d (%s): its plugin could not decode %zu bytes", f->id,
                f->name, in.n);
    BKT_FAIL_IF(err, !fits, BKT_ERANGE, "filter %d (%s): %zu bytes, expected %zu", f->id, f->name, n,
                out->cap);
    return BKT_OK;
}

/* One chunk on its way through the pipeline. */
struct stage {
    const struct bkt_filter *f;
    bkt_decode_fn *decode;
    enum length              length;
    size_t                   want; /* bytes after decoding; 0: not known */
};
struct decoding {
    struct stage    s[BKT_PIPELINE_MAX]; /* in the order of writing, without filters that change nothing */
    unsigned        n, last; /* the stage that decodes into the caller's buffer */
    bool            unchecked;
    bool            checksum; /* fletcher32 is in the list, so 4 more bytes are not a forgotten one */
    size_t          elem_size;
    /* for stages of unknown length: many times what compressors and checksums add to a chunk that doesn't get
     * shorter (a hundredth and some bytes); bounds malicious streams */
    size_t          limit;
    size_t          stored; /* expected length of the stored bytes; 0: not known */
    struct bkt_span now;
    void           *mem; /* memory that `now` points to, unless it is the caller's */
};

static int add_stage(struct decoding *r, const struct bkt_filter *f, struct bkt_err *err)
{
    const struct row *row = find(f->id);
    BKT_FAIL_IF(err, !row && !f->fn, BKT_EUNSUP,
                "filter %d (%s) has no decoder here: install HDF5's plugin for it and add its folder to "
                "HDF5_PLUGIN_PATH, or have the program register it (H5Zregister)",
                f->id, f->name);
    if (is_noop(row, f))
        return BKT_OK;
    struct stage *s = &r->s[r->n++];
    *s = (struct stage){f, row ? row->decode : plugin_decode, row ? length_of(row, f) : LEN_UNKNOWN,
                        r->stored};
    if (s->length == LEN_UNKNOWN)
        r->stored = 0;
    else if (s->length == LEN_PLUS_4 && r->stored)
        r->stored += 4;
    r->checksum |= f->id == BKT_FILTER_FLETCHER32;
    return BKT_OK;
}

/* hsload leaves fletcher32 out of the list, but the checksum is still behind the data. */
static void trim_checksum(const struct decoding *r, struct bkt_span *s, size_t want)
{
    if (want && !r->checksum && s->n == want + 4)
        s->n = want;
}

static int decode_into(const struct decoding *r, const struct stage *s, struct bkt_room *out,
                       struct bkt_err *err)
{
    int rc = s->decode(s->f, r->now, out, err);
    BKT_FAIL_IF(err, rc < 0 && rc != BKT_ERANGE, rc, "filter %s of the chunk", s->f->name);
    return rc;
}

/* Decode one stage to new memory.  */
static int to_memory(struct decoding *r, const struct stage *s, size_t cap, struct bkt_err *err)
{
    struct bkt_room out = {bkt_scratch_take(cap ? cap : 1), cap, 0};
    BKT_NEED(err, out.p);
    int rc = decode_into(r, s, &out, err);
    if (rc < 0) {
        bkt_scratch_give(out.p);
        return rc == BKT_ERANGE ? BKT_EFORMAT : rc;
    }
    bkt_scratch_give(r->mem);
    r->mem = out.p;
    r->now = (struct bkt_span){out.p, out.n};
    return BKT_OK;
}

static int decode_stage(struct decoding *r, const struct stage *s, unsigned char *dst, size_t n_dst,
                        struct bkt_err *err)
{
    if (s->length == LEN_PLUS_4) { /* checked where it lies */
        /* a reference may give the size without the checksum, which HSDS never reads: then nothing is
         * checked */
        if (s->want && r->now.n == s->want)
            return BKT_OK;
        if ((!r->unchecked || r->now.n < 4) && bkt_fletcher32_check(r->now, err) < 0)
            return BKT_EFORMAT;
        r->now.n -= 4;
    } else if (!s->want) {
        BKT_PASS(to_memory(r, s, r->limit, err));
    } else {
        /* the last stage decodes straight into dst; if that fails, it runs again with room for a forgotten
         * checksum, which also gives the message */
        struct bkt_room out    = {dst, n_dst, 0};
        bool            direct = s == r->s + r->last && decode_into(r, s, &out, NULL) == BKT_OK;
        if (direct)
            r->now = (struct bkt_span){dst, out.n};
        else
            BKT_PASS(to_memory(r, s, s->want + (r->checksum ? 0 : 4), err));
        trim_checksum(r, &r->now, s->want);
    }
    BKT_FAIL_IF(err, s->want && r->now.n != s->want, BKT_EFORMAT, "filter %s: %zu bytes instead of %zu",
                s->f->name, r->now.n, s->want);
    return BKT_OK;
}

static void decoding_fini(struct decoding *r) { bkt_scratch_give(r->mem); }

/* Whether the stage written first is the byte shuffle of whole elements, with something behind it. */
static bool ends_in_planes(const struct decoding *r, size_t n_dst)
{
    const struct bkt_filter *f  = r->s[0].f;
    size_t                   es = f->n_cd && f->cd[0] ? f->cd[0] : r->elem_size;
    return f->id == BKT_FILTER_SHUFFLE && es == r->elem_size && es > 1 && n_dst % es == 0 && n_dst / es > 1;
}

int bkt_pipeline_decode_planes(const struct bkt_pipeline *p, uint32_t mask, const void *in, size_t n_in,
                               void *dst, size_t n_dst, bool *planes, struct bkt_err *err)
{
    BKT_CLEANUP(decoding_fini) struct decoding r;
    r.n         = 0;
    r.checksum  = false;
    r.unchecked = p->unchecked;
    r.elem_size = p->elem_size;
    r.limit     = n_dst <= SIZE_MAX / 4 ? n_dst + n_dst / 2 + 65536 : n_dst;
    r.stored    = n_dst;
    r.now       = (struct bkt_span){in, n_in};
    r.mem       = NULL;
    for (unsigned i = 0; i < p->n; i++)
        if (!(mask >> i & 1))
            BKT_PASS(add_stage(&r, &p->f[i], err));
    BKT_FAIL_IF(err, r.n && n_in == 0, BKT_EFORMAT, "the stored chunk is empty");

    r.last = planes && r.n > 1 && ends_in_planes(&r, n_dst);
    if (planes)
        *planes = r.last;
    trim_checksum(&r, &r.now, r.stored);
    for (unsigned i = r.n; i-- > r.last;)
        BKT_PASS(decode_stage(&r, &r.s[i], dst, n_dst, err));
    BKT_FAIL_IF(err, r.now.n != n_dst, BKT_EFORMAT, "the chunk has %zu bytes instead of %zu", r.now.n, n_dst);
    if (n_dst && r.now.p != dst)
        memcpy(dst, r.now.p, n_dst);
    return BKT_OK;
}

int bkt_pipeline_decode(const struct bkt_pipeline *p, uint32_t mask, const void *in, size_t n_in, void *dst,
                        size_t n_dst, struct bkt_err *err)
{
    return bkt_pipeline_decode_planes(p, mask, in, n_in, dst, n_dst, NULL, err);
}

static int plugin_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                         struct bkt_err *err)
{
    void  *buf;
    size_t n;
    BKT_PASS(filter_call(f, f->flags & ~FLAG_OPTIONAL, in, &buf, &n, err));
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

static int apply(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    const struct row *row = find(f->id);
    if (row)
        return row->encode(f, in, out, err);
    if (f->fn)
        return plugin_encode(f, in, out, err);
    return no_encoder(f, err);
}

int bkt_pipeline_check(const struct bkt_pipeline *p, struct bkt_err *err)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct bkt_filter *f = &p->f[i];
        if (!f->fn && !(f->flags & FLAG_OPTIONAL) && !find(f->id))
            return no_encoder(f, err);
    }
    return BKT_OK;
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
        if (is_noop(find(f->id), f))
            continue;
        bkt_buf_clear(&other);
        bkt_err_clear(&why);
        int rc = apply(f, now, &other, &why);
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
