/* Encoders of LZF and snappy: a greedy search with one hash table needs no library.  The streams are
 * described beside the decoders. */
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"

/* Bits: a table of 64 KiB, the most that snappy's own encoder has.  More compress hardly better, and take
 * longer. */
#define HASH_BITS 14

static unsigned hash4(uint32_t v) { return v * 2654435761u >> (32 - HASH_BITS); }

static size_t match_length(const unsigned char *a, const unsigned char *b, const unsigned char *end)
{
    const unsigned char *from = b;
    while (b < end && *a == *b)
        a++, b++;
    return (size_t)(b - from);
}

/* Finds matches one after the other: `last[h]` is one more than the last place of these four bytes. */
struct search {
    const unsigned char *p;
    size_t               n, at;  /* bytes; next place to look at */
    size_t               window; /* farthest distance */
    uint32_t            *last;
};

/* Finds the next match at or behind s->at: its place, distance and length.  False: there are no more
 * matches. */
static bool next_match(struct search *s, size_t *place, size_t *distance, size_t *len)
{
    for (; s->n >= 4 && s->at <= s->n - 4; s->at++) {
        uint32_t v;
        memcpy(&v, s->p + s->at, 4);
        unsigned h    = hash4(v);
        size_t   seen = s->last[h];
        s->last[h]    = (uint32_t)s->at + 1;
        if (!seen || s->at + 1 - seen > s->window)
            continue;
        *len = match_length(s->p + seen - 1, s->p + s->at, s->p + s->n);
        if (*len < 4)
            continue;
        *place    = s->at;
        *distance = s->at + 1 - seen;
        s->at += *len;
        return true;
    }
    return false;
}

static int search_init(struct search *s, struct bkt_span in, size_t window, struct bkt_err *err)
{
    *s = (struct search){.p = in.p, .n = in.n, .window = window};
    if (in.n >= UINT32_MAX)
        BKT_FAIL(err, BKT_ERANGE, "%zu bytes are too many", in.n);
    if (!(s->last = calloc((size_t)1 << HASH_BITS, sizeof *s->last)))
        BKT_NOMEM(err);
    return BKT_OK;
}

static void search_fini(struct search *s) { free(s->last); }

/* ---- LZF ---- */

static int lzf_literals(const unsigned char *p, size_t n, struct bkt_buf *out)
{
    while (n) {
        unsigned char k = (unsigned char)(n < 32 ? n : 32), c = (unsigned char)(k - 1);
        if (bkt_buf_add(out, &c, 1) < 0 || bkt_buf_add(out, p, k) < 0)
            return BKT_ENOMEM;
        p += k, n -= k;
    }
    return BKT_OK;
}

static int lzf_copy(size_t distance, size_t len, struct bkt_buf *out)
{
    distance--;
    while (len) {
        size_t        k = len > 264 ? (len - 264 < 3 ? 260 : 264) : len; /* at least 3 are left over */
        unsigned char c[3];
        size_t        n = 0;
        c[n++] = (unsigned char)((k - 2 < 7 ? k - 2 : 7) << 5 | distance >> 8);
        if (k - 2 >= 7)
            c[n++] = (unsigned char)(k - 2 - 7);
        c[n++] = (unsigned char)distance;
        if (bkt_buf_add(out, c, n) < 0)
            return BKT_ENOMEM;
        len -= k;
    }
    return BKT_OK;
}

int bkt_lzf_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                   struct bkt_err *err)
{
    BKT_CLEANUP(search_fini) struct search s    = {0};
    size_t                                 done = 0, at = out->len, place, distance, len;
    (void)f, (void)elem_size;
    BKT_PASS(search_init(&s, in, 8192, err));
    while (next_match(&s, &place, &distance, &len)) {
        if (lzf_literals(in.p + done, place - done, out) < 0 || lzf_copy(distance, len, out) < 0)
            BKT_NOMEM(err);
        done = place + len;
    }
    if (lzf_literals(in.p + done, in.n - done, out) < 0)
        BKT_NOMEM(err);
    if (out->len - at >= in.n)
        BKT_FAIL(err, BKT_ERANGE, "lzf: %zu bytes can't be made shorter", in.n);
    return BKT_OK;
}

/* ---- snappy ---- */

static int snappy_literals(const unsigned char *p, size_t n, struct bkt_buf *out)
{
    while (n) {
        size_t        k = n < 65536 ? n : 65536;
        unsigned char c[3];
        size_t        m = 1;
        if (k <= 60) {
            c[0] = (unsigned char)((k - 1) << 2);
        } else {
            m    = k <= 256 ? 2 : 3;
            c[0] = (unsigned char)((58 + m) << 2);
            bkt_put_le(c + 1, (unsigned)m - 1, k - 1);
        }
        if (bkt_buf_add(out, c, m) < 0 || bkt_buf_add(out, p, k) < 0)
            return BKT_ENOMEM;
        p += k, n -= k;
    }
    return BKT_OK;
}

static int snappy_copy(size_t distance, size_t len, struct bkt_buf *out)
{
    while (len) {
        size_t        k = len < 64 ? len : 64;
        unsigned char c[3] = {(unsigned char)((k - 1) << 2 | 2)};
        bkt_put_le(c + 1, 2, distance);
        if (bkt_buf_add(out, c, sizeof c) < 0)
            return BKT_ENOMEM;
        len -= k;
    }
    return BKT_OK;
}

int bkt_snappy_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                      struct bkt_err *err)
{
    BKT_CLEANUP(search_fini) struct search s = {0};
    unsigned char                          size[5];
    size_t                                 n = 0, done = 0, place, distance, len;
    (void)f, (void)elem_size;
    BKT_PASS(search_init(&s, in, 65535, err));
    for (size_t v = in.n; n == 0 || v; v >>= 7)
        size[n++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
    if (bkt_buf_add(out, size, n) < 0)
        BKT_NOMEM(err);
    while (next_match(&s, &place, &distance, &len)) {
        if (snappy_literals(in.p + done, place - done, out) < 0 || snappy_copy(distance, len, out) < 0)
            BKT_NOMEM(err);
        done = place + len;
    }
    if (snappy_literals(in.p + done, in.n - done, out) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
