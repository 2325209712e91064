#include "base/bytes.h"

#include <endian.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int bkt_buf_reserve(struct bkt_buf *b, size_t more)
{
    if (more > SIZE_MAX / 2 - b->len)
        return BKT_ENOMEM;
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return BKT_OK;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap += cap / 2 + 64;
    /* A first, large reservation is usually the final size: no slack is added. */
    if (!b->cap && need > 65536)
        cap = need;
    unsigned char *p = realloc(b->ptr, cap);
    if (!p)
        return BKT_ENOMEM;
    b->ptr         = p;
    b->cap         = cap;
    b->ptr[b->len] = 0;
    return BKT_OK;
}

int bkt_buf_add(struct bkt_buf *b, const void *p, size_t n)
{
    BKT_PASS(bkt_buf_reserve(b, n));
    if (n)
        memcpy(b->ptr + b->len, p, n);
    b->len += n;
    b->ptr[b->len] = 0;
    return BKT_OK;
}

int bkt_buf_add_le(struct bkt_buf *b, unsigned bytes, uint64_t v)
{
    unsigned char le[8];
    bkt_put_le(le, bytes, v);
    return bkt_buf_add(b, le, bytes);
}

int bkt_buf_add_str(struct bkt_buf *b, const char *s) { return bkt_buf_add(b, s, strlen(s)); }

int bkt_buf_addf(struct bkt_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return BKT_EINVAL;
    BKT_PASS(bkt_buf_reserve(b, (size_t)n));
    va_start(ap, fmt);
    (void)vsnprintf((char *)b->ptr + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
    return BKT_OK;
}

int bkt_text(char **out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(out, fmt, ap);
    va_end(ap);
    if (n < 0)
        *out = NULL;
    return n < 0 ? BKT_ENOMEM : BKT_OK;
}

int bkt_buf_add_real(struct bkt_buf *b, double v)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return bkt_buf_add_str(b, text);
}

int bkt_buf_resize(struct bkt_buf *b, size_t n)
{
    if (n > b->len)
        BKT_PASS(bkt_buf_reserve(b, n - b->len));
    else if (!b->ptr)
        BKT_PASS(bkt_buf_reserve(b, 0));
    b->len    = n;
    b->ptr[n] = 0;
    return BKT_OK;
}

void bkt_buf_cut(struct bkt_buf *b, size_t n)
{
    if (n >= b->len)
        return;
    b->len    = n;
    b->ptr[n] = 0;
}

const char *bkt_buf_str(const struct bkt_buf *b) { return b->ptr ? (const char *)b->ptr : ""; }

void *bkt_buf_steal(struct bkt_buf *b)
{
    void *p = b->ptr;
    memset(b, 0, sizeof *b);
    return p;
}

void bkt_buf_clear(struct bkt_buf *b)
{
    b->len = 0;
    if (b->ptr)
        b->ptr[0] = 0;
}

void bkt_buf_fini(struct bkt_buf *b)
{
    if (b) {
        free(b->ptr);
        memset(b, 0, sizeof *b);
    }
}

void bkt_buf_move(struct bkt_buf *to, struct bkt_buf *from)
{
    bkt_buf_fini(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

struct bkt_rd bkt_rd_of(const void *p, size_t n)
{
    const unsigned char *b = p;
    return (struct bkt_rd){b, b ? b + n : b, true};
}

size_t bkt_rd_left(const struct bkt_rd *r) { return (size_t)(r->end - r->p); }

const void *bkt_rd_take(struct bkt_rd *r, size_t n)
{
    if (!r->ok || n > bkt_rd_left(r)) {
        r->ok = false;
        return NULL;
    }
    const void *at = r->p;
    r->p += n;
    return at;
}

uint64_t bkt_rd_le(struct bkt_rd *r, unsigned bytes)
{
    const void *p = bkt_rd_take(r, bytes);
    return p ? bkt_get_le(p, bytes) : 0;
}

uint64_t bkt_rd_be(struct bkt_rd *r, unsigned bytes)
{
    const void *p = bkt_rd_take(r, bytes);
    return p ? bkt_get_be(p, bytes) : 0;
}

uint64_t bkt_get_le(const void *p, unsigned bytes)
{
    const unsigned char *b = p;
    uint64_t             v = 0;
    uint32_t w;
    if (bytes == sizeof v) {
        memcpy(&v, p, sizeof v);
        return le64toh(v);
    }
    if (bytes == sizeof w) {
        memcpy(&w, p, sizeof w);
        return le32toh(w);
    }
    for (unsigned i = bytes; i-- > 0;)
        v = v << 8 | b[i];
    return v;
}

uint64_t bkt_get_be(const void *p, unsigned bytes)
{
    const unsigned char *b = p;
    uint64_t             v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | b[i];
    return v;
}

void bkt_put_le(void *p, unsigned bytes, uint64_t v)
{
    unsigned char *b = p;
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        b[i] = (unsigned char)v;
}

void bkt_put_be(void *p, unsigned bytes, uint64_t v)
{
    unsigned char *b = p;
    for (unsigned i = bytes; i-- > 0; v >>= 8)
        b[i] = (unsigned char)v;
}

bool bkt_real_of(uint64_t bits, size_t bytes, double *out)
{
    const int e = (int)(bits >> 10) & 0x1f, frac = (int)bits & 0x3ff; /* of 2 bytes */
    const uint32_t low = (uint32_t)bits;
    double half = e == 0x1f ? (frac ? NAN : INFINITY) : ldexp(e ? 1024 + frac : frac, e ? e - 25 : -24);
    float f;
    memcpy(&f, &low, sizeof f);
    if (bytes == sizeof *out)
        memcpy(out, &bits, sizeof *out);
    else
        *out = bytes == sizeof f ? (double)f : bits & 0x8000 ? -half : half;
    return bytes == 2 || bytes == 4 || bytes == 8;
}

uint16_t bkt_half_of(double v)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    const double m = fabs(v);
    int e = 0;
    if (!(m < 65520.0))
        return isnan(v) ? 0x7e00 : sign | 0x7c00;
    (void)frexp(m, &e);
    if (m == 0 || e < -13)
        e = -13; /* subnormal: units of 2^-24; rounding up to 1024 gives the least normal number */
    const double units = ldexp(m, 11 - e); /* of the last bit: less than 2048 */
    uint32_t n = (uint32_t)units;
    n += units - n > 0.5 || (units - n == 0.5 && n % 2); /* nearbyint() would need libm in the loader */
    return (uint16_t)(sign | (((uint32_t)(e + 13) << 10) + n));
}

uint64_t bkt_bits_of_real(double v, size_t bytes)
{
    uint64_t bits;
    uint32_t bits32;
    if (bytes == 2)
        return bkt_half_of(v);
    if (bytes == sizeof v) {
        memcpy(&bits, &v, sizeof v);
        return bits;
    }
    float f =
        fabs(v) < 3.4028235677973366e38 || isnan(v) ? (float)v : copysignf(INFINITY, v < 0 ? -1.0F : 1.0F);
    memcpy(&bits32, &f, sizeof f);
    return bits32;
}

static const char b64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int bkt_base64_decode(const char *text, size_t n, struct bkt_buf *out)
{
    uint32_t acc  = 0;
    unsigned bits = 0;
    size_t   i    = 0;
    BKT_PASS(bkt_buf_reserve(out, n / 4 * 3 + 3));
    for (; i < n && text[i] != '='; i++) {
        if (text[i] == '\n' || text[i] == '\r' || text[i] == ' ' || text[i] == '\t')
            continue;
        const char *at = text[i] ? strchr(b64, text[i]) : NULL;
        if (!at)
            return BKT_EFORMAT;
        acc = acc << 6 | (uint32_t)(at - b64);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            unsigned char c = (unsigned char)(acc >> bits);
            BKT_PASS(bkt_buf_add(out, &c, 1));
        }
    }
    for (; i < n; i++)
        if (!strchr("= \t\r\n", text[i]) || !text[i])
            return BKT_EFORMAT;
    return bits == 6 ? BKT_EFORMAT : BKT_OK;
}

int bkt_base64_encode(const void *p, size_t n, struct bkt_buf *out)
{
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i += 3) {
        size_t   left = n - i < 3 ? n - i : 3;
        uint32_t v    = (uint32_t)b[i] << 16;
        if (left > 1)
            v |= (uint32_t)b[i + 1] << 8;
        if (left > 2)
            v |= b[i + 2];
        char q[4] = {b64[v >> 18], b64[v >> 12 & 63], left > 1 ? b64[v >> 6 & 63] : '=',
                     left > 2 ? b64[v & 63] : '='};
        BKT_PASS(bkt_buf_add(out, q, 4));
    }
    return BKT_OK;
}

int bkt_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void bkt_hex(const void *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[b[i] >> 4];
        out[2 * i + 1] = digits[b[i] & 15];
    }
    out[2 * n] = 0;
}

int bkt_percent_encode(struct bkt_buf *out, const char *p, size_t n, const char *also)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        bool literal = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       (c && (strchr("-._~", c) || strchr(also, c)));
        BKT_PASS(literal ? bkt_buf_add(out, p + i, 1) : bkt_buf_addf(out, "%%%02X", c));
    }
    return BKT_OK;
}

void bkt_freep(void *pp)
{
    void **p = pp;
    free(*p);
    *p = NULL;
}

int bkt_buf_add_sized(struct bkt_buf *b, const void *p, size_t n)
{
    BKT_PASS(bkt_buf_add_le(b, 8, n));
    return bkt_buf_add(b, p, n);
}

const void *bkt_rd_take_sized(struct bkt_rd *r, size_t *n)
{
    uint64_t len = bkt_rd_le(r, 8);
    if (!r->ok || len > bkt_rd_left(r)) {
        r->ok = false;
        len = 0;
    }
    *n = (size_t)len;
    return len ? bkt_rd_take(r, *n) : "";
}

uint64_t bkt_digest(const void *p, size_t n, uint64_t before)
{
    return XXH3_64bits_withSeed(n ? p : "", n, before);
}

/* ---- secrets ---- */

int bkt_secret_add(struct bkt_buf *b, const void *p, size_t n)
{
    if (n >= b->cap || b->len >= b->cap - n) { /* realloc() would not wipe the old block */
        struct bkt_buf bigger = {0};
        BKT_PASS(bkt_buf_reserve(&bigger, 2 * b->len + n + 64));
        BKT_PASS(bkt_buf_add(&bigger, b->ptr, b->len));
        bkt_secret_fini(b);
        *b = bigger;
    }
    return bkt_buf_add(b, p, n);
}

int bkt_secret_addf(struct bkt_buf *b, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return BKT_ENOMEM;
    int rc = bkt_secret_add(b, text, (size_t)n);
    bkt_secret_free(text);
    return rc;
}

void bkt_secret_fini(struct bkt_buf *b)
{
    if (b->ptr)
        explicit_bzero(b->ptr, b->cap);
    bkt_buf_fini(b);
}

void bkt_secret_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
