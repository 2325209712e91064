/* Fletcher32 (filter 3): the data, then their checksum as four bytes, little-endian. */
#include <string.h>

#include "chunk/filter/filters_impl.h"

#define BLOCK 352 /* words; sum of weights times 65535 stays below 2^32 */

/* Modulo 65535 with 65535 in place of 0, as repeated folding gives it: only an all-zero input has sum 0. */
static uint64_t fold(uint64_t s) { return s == 0 ? 0 : (s - 1) % 65535 + 1; }

static unsigned word(const unsigned char *p) { return (unsigned)p[0] << 8 | p[1]; }

static void add_block(const unsigned char *p, uint64_t *s1, uint64_t *s2)
{
    uint32_t a = 0, b = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t w = word(p + 2 * i);
        a += w;
        b += w * (BLOCK - i);
    }
    *s2 = fold(*s2 + *s1 * BLOCK + b);
    *s1 = fold(*s1 + a);
}

uint32_t bkt_fletcher32_sum(const void *data, size_t n)
{
    const unsigned char *p  = data;
    uint64_t             s1 = 0, s2 = 0;
    for (; n >= (size_t)2 * BLOCK; n -= (size_t)2 * BLOCK, p += 2 * BLOCK)
        add_block(p, &s1, &s2);
    for (; n >= 2; n -= 2, p += 2) {
        s1 += word(p);
        s2 += s1;
    }
    if (n) { /* an odd byte is the high half of a word */
        s1 += (unsigned)*p << 8;
        s2 += s1;
    }
    return (uint32_t)(fold(s2) << 16 | fold(s1));
}

int bkt_fletcher32_check(struct bkt_span in, struct bkt_err *err)
{
    BKT_FAIL_IF(err, in.n < 4, BKT_EFORMAT, "fletcher32: %zu bytes are too short for the checksum", in.n);
    uint32_t want = (uint32_t)bkt_get_le(in.p + in.n - 4, 4);
    uint32_t got  = bkt_fletcher32_sum(in.p, in.n - 4);
    /* HDF5 before 1.6.3 stored the bytes of each half exchanged on little-endian machines; HDF5 still accepts
     * that. */
    uint32_t old = (got & 0x00FF00FFu) << 8 | (got >> 8 & 0x00FF00FFu);
    BKT_FAIL_IF(err, want != got && want != old, BKT_EFORMAT,
                "fletcher32: checksum is %08x, stored %08x: the data are corrupt", (unsigned)got,
                (unsigned)want);
    return BKT_OK;
}

int bkt_fletcher32_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                          struct bkt_err *err)
{
    (void)f;
    BKT_PASS(bkt_fletcher32_check(in, err));
    BKT_FAIL_IF(err, in.n - 4 > out->cap, BKT_ERANGE, "fletcher32: %zu bytes, expected %zu", in.n - 4,
                out->cap);
    memcpy(out->p, in.p, in.n - 4);
    out->n = in.n - 4;
    return BKT_OK;
}

int bkt_fletcher32_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                          struct bkt_err *err)
{
    unsigned char sum[4];
    (void)f;
    bkt_put_le(sum, 4, bkt_fletcher32_sum(in.p, in.n));
    BKT_NEED(err, bkt_buf_reserve(out, in.n + sizeof sum) >= 0 && bkt_buf_add(out, in.p, in.n) >= 0 &&
                      bkt_buf_add(out, sum, sizeof sum) >= 0);
    return BKT_OK;
}
