/* HDF5's byte shuffle (filter 2) undone: stored plane by plane (all first bytes, all second bytes, ...),
 * wanted element by element.  That is a transposition of a matrix of bytes.  It is done for 16 elements by 2,
 * 4, 8 or 16 planes at a time, with the compiler's vectors (punpck* on x86, zip* on arm).  So no choice is
 * needed at run time. */
#include <stdint.h>
#include <string.h>

#include "chunk/filter/filters_impl.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define BKT_VECTORS 1
#endif
#endif

#if defined(BKT_VECTORS) && defined(__SSE2__)
#include <emmintrin.h>
#define BKT_PAST_CACHE 1
#endif

#ifdef BKT_VECTORS

/* The tiles must stay in registers, at -O2 too. */
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef unsigned char vec __attribute__((vector_size(16)));
#define ZIP_LO(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HI(a, b)                                                                                         \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* One step of the perfect shuffle; log2(planes) of them make the transposition. */
#define STEP(to, from, planes)                                                                               \
    UNROLL for (int s_ = 0; s_ < (planes) / 2; s_++)                                                         \
    {                                                                                                        \
        (to)[2 * s_] = ZIP_LO((from)[s_], (from)[s_ + (planes) / 2]);                                        \
        (to)[2 * s_ + 1] = ZIP_HI((from)[s_], (from)[s_ + (planes) / 2]);                                    \
    }

/* A tile is 16 elements of `planes` planes that lie n bytes apart; rows of `planes` bytes go to out, es bytes
 * apart. */
#define DEFINE_TILE(planes, STEPS)                                                                           \
    static inline                                                                                            \
        __attribute__((always_inline)) void make##planes(const unsigned char *in, vec *a, size_t n)          \
    {                                                                                                        \
        vec b[planes];                                                                                       \
        UNROLL for (int k = 0; k < (planes); k++) memcpy(&a[k], in + (size_t)k * n, sizeof a[k]);            \
        STEPS                                                                                                \
    }                                                                                                        \
    static inline void tile##planes(const unsigned char *in, unsigned char *out, size_t n, size_t es)        \
    {                                                                                                        \
        vec a[planes];                                                                                       \
        make##planes(in, a, n);                                                                              \
        if (es == (planes)) {                                                                                \
            memcpy(out, a, sizeof a);                                                                        \
            return;                                                                                          \
        }                                                                                                    \
        UNROLL for (int i = 0; i < 16; i++)                                                                  \
            memcpy(out + (size_t)i * es, (const unsigned char *)a + (size_t)i * (planes), (planes));         \
    }
DEFINE_TILE(2, STEP(b, a, 2) memcpy(a, b, sizeof b);)
DEFINE_TILE(4, STEP(b, a, 4) STEP(a, b, 4))
DEFINE_TILE(8, STEP(b, a, 8) STEP(a, b, 8) STEP(b, a, 8) memcpy(a, b, sizeof b);)
DEFINE_TILE(16, STEP(b, a, 16) STEP(a, b, 16) STEP(b, a, 16) STEP(a, b, 16))

/* The inverse: as many elements, 16 rows of `planes` bytes es apart, to planes n apart.  It takes four of the
 * same steps, whatever the number of planes: together with those above they turn the index bits around
 * once. */
#define DEFINE_SPLIT(planes)                                                                                 \
    static inline void split##planes(const unsigned char *in, unsigned char *out, size_t n, size_t es)       \
    {                                                                                                        \
        vec a[planes], b[planes];                                                                            \
        if (es == (planes))                                                                                  \
            memcpy(a, in, sizeof a);                                                                         \
        else                                                                                                 \
            UNROLL for (int i = 0; i < 16; i++)                                                              \
                memcpy((unsigned char *)a + (size_t)i * (planes), in + (size_t)i * es, (planes));            \
        STEP(b, a, planes)                                                                                   \
        STEP(a, b, planes) STEP(b, a, planes) STEP(a, b, planes) UNROLL for (int k = 0; k < (planes); k++)   \
            memcpy(out + (size_t)k * n, &a[k], sizeof a[k]);                                                 \
    }
DEFINE_SPLIT(2)
DEFINE_SPLIT(4)
DEFINE_SPLIT(8)
DEFINE_SPLIT(16)

/* Any element size: its bytes in groups of 16, 8, 4, 2 and 1.  Gives the number of elements done. */
static size_t split_all(const unsigned char *in, unsigned char *out, size_t n, size_t es)
{
    for (size_t i = 0; i + 16 <= n; i += 16) {
        const unsigned char *p = in + i * es;
        unsigned char       *q = out + i;
        size_t               k = 0;
        for (; es - k >= 16; k += 16)
            split16(p + k, q + k * n, n, es);
        if (es - k >= 8) {
            split8(p + k, q + k * n, n, es);
            k += 8;
        }
        if (es - k >= 4) {
            split4(p + k, q + k * n, n, es);
            k += 4;
        }
        if (es - k >= 2) {
            split2(p + k, q + k * n, n, es);
            k += 2;
        }
        if (k < es)
            for (size_t j = 0; j < 16; j++)
                q[k * n + j] = p[j * es + k];
    }
    return n - n % 16;
}

#define SWEEP(planes)                                                                                        \
    static void sweep##planes(const unsigned char *in, unsigned char *out, size_t n, size_t count)           \
    {                                                                                                        \
        for (size_t i = 0; i + 16 <= count; i += 16)                                                         \
            tile##planes(in + i, out + i * (planes), n, (planes));                                           \
    }
SWEEP(2)
SWEEP(4)
SWEEP(8)

#ifdef BKT_PAST_CACHE
/* The same past the cache, to memory at a multiple of 16. */
#define SWEEP_PAST(planes)                                                                                   \
    static void past##planes(const unsigned char *in, unsigned char *out, size_t n, size_t count)            \
    {                                                                                                        \
        for (size_t i = 0; i + 16 <= count; i += 16) {                                                       \
            vec a[planes];                                                                                   \
            make##planes(in + i, a, n);                                                                      \
            UNROLL for (int k = 0; k < (planes); k++)                                                        \
                _mm_stream_si128((__m128i *)(void *)(out + i * (planes)) + k, (__m128i)a[k]);                \
        }                                                                                                    \
    }
SWEEP_PAST(2)
SWEEP_PAST(4)
SWEEP_PAST(8)
#endif

/* Any element size: the planes in groups of 16, 8, 4, 2 and 1. */
static void sweep_any(const unsigned char *in, unsigned char *out, size_t n, size_t count, size_t es)
{
    for (size_t i = 0; i + 16 <= count; i += 16) {
        const unsigned char *p = in + i;
        unsigned char       *q = out + i * es;
        size_t               k = 0;
        for (; es - k >= 16; k += 16)
            tile16(p + k * n, q + k, n, es);
        if (es - k >= 8) {
            tile8(p + k * n, q + k, n, es);
            k += 8;
        }
        if (es - k >= 4) {
            tile4(p + k * n, q + k, n, es);
            k += 4;
        }
        if (es - k >= 2) {
            tile2(p + k * n, q + k, n, es);
            k += 2;
        }
        if (k < es)
            for (size_t j = 0; j < 16; j++)
                q[j * es + k] = p[k * n + j];
    }
}

/* `count` elements of planes that lie n bytes apart.  Gives the number done; the caller does the rest one by
 * one. */
static size_t sweep(const unsigned char *in, unsigned char *out, size_t n, size_t count, size_t es)
{
    switch (es) {
    case 2:
        sweep2(in, out, n, count);
        break;
    case 4:
        sweep4(in, out, n, count);
        break;
    case 8:
        sweep8(in, out, n, count);
        break;
    default:
        sweep_any(in, out, n, count, es);
    }
    return count - count % 16;
}

#else

static size_t sweep(const unsigned char *in, unsigned char *out, size_t n, size_t count, size_t es)
{
    (void)in, (void)out, (void)n, (void)count, (void)es;
    return 0;
}

static size_t split_all(const unsigned char *in, unsigned char *out, size_t n, size_t es)
{
    return sweep(in, out, n, es);
}

#endif

void bkt_unshuffle_part(const void *in, size_t n, void *out, size_t count, size_t es)
{
    const unsigned char *p = in;
    unsigned char       *q = out;
    for (size_t i = sweep(p, q, n, count, es); i < count; i++)
        for (size_t k = 0; k < es; k++)
            q[i * es + k] = p[k * n + i];
}

#ifdef BKT_PAST_CACHE

bool bkt_unshuffle_past(const void *in, size_t n, void *out, size_t count, size_t es)
{
    unsigned char *q = out;
    size_t ahead =
        (16 - (uintptr_t)q % 16) % 16 / (es ? es : 1); /* elements before the next multiple of 16 */
    if ((es != 2 && es != 4 && es != 8) || (uintptr_t)q % es || count < ahead + 16)
        return false;
    const unsigned char *p = (const unsigned char *)in + ahead;
    size_t               m = (count - ahead) / 16 * 16;
    bkt_unshuffle_part(in, n, q, ahead, es);
    if (es == 2)
        past2(p, q + ahead * es, n, m);
    else if (es == 4)
        past4(p, q + ahead * es, n, m);
    else
        past8(p, q + ahead * es, n, m);
    bkt_unshuffle_part(p + m, n, q + (ahead + m) * es, count - ahead - m, es);
    return true;
}

void bkt_unshuffle_fence(void) { _mm_sfence(); }

#else

bool bkt_unshuffle_past(const void *in, size_t n, void *out, size_t count, size_t es)
{
    (void)in, (void)n, (void)out, (void)count, (void)es;
    return false;
}

void bkt_unshuffle_fence(void) {}

#endif

/* Copies the bytes behind the last element, all bytes if there is nothing to shuffle.  Gives the number of
 * elements to shuffle. */
static size_t copy_rest(const unsigned char *in, unsigned char *out, size_t n_bytes, size_t es)
{
    size_t n = es > 1 && n_bytes / es > 1 ? n_bytes / es : 0, done = n * es;
    if (n_bytes > done)
        memcpy(out + done, in + done, n_bytes - done);
    return n;
}

void bkt_unshuffle(const void *in, void *out, size_t n_bytes, size_t es)
{
    size_t n = copy_rest(in, out, n_bytes, es);
    if (n)
        bkt_unshuffle_part(in, n, out, n, es);
}

void bkt_shuffle(const void *in, void *out, size_t n_bytes, size_t es)
{
    const unsigned char *p = in;
    unsigned char       *q = out;
    size_t n = copy_rest(p, q, n_bytes, es);
    for (size_t i = n ? split_all(p, q, n, es) : 0; i < n; i++)
        for (size_t k = 0; k < es; k++)
            q[k * n + i] = p[i * es + k];
}

int bkt_shuffle_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                       struct bkt_err *err)
{
    size_t es = f->n_cd && f->cd[0] ? f->cd[0] : f->elem_size;
    BKT_FAIL_IF(err, in.n > out->cap, BKT_ERANGE, "shuffle: %zu bytes, expected %zu", in.n, out->cap);
    bkt_unshuffle(in.p, out->p, in.n, es);
    out->n = in.n;
    return BKT_OK;
}

int bkt_shuffle_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                       struct bkt_err *err)
{
    size_t es = f->n_cd && f->cd[0] ? f->cd[0] : f->elem_size, at = out->len;
    BKT_PASS_MEM(err, bkt_buf_resize(out, at + in.n));
    bkt_shuffle(in.p, out->ptr + at, in.n, es);
    return BKT_OK;
}
