/* See crc32c.h.  Sums outside of these functions are inverted, as the standards require.
 *
 * An instruction takes 8 bytes and gives its result three cycles later, so three lanes of one buffer are
 * summed at once.  The lanes are joined by linearity.  The first lane's sum is carried over as many zeros as
 * the second lane has bytes, and XORed with the second lane's sum. */
#include "base/crc32c.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "base/bytes.h"

#if defined __x86_64__
#include <nmmintrin.h>
#define TARGET        __attribute__((target("sse4.2")))
#define STEP_8(c, v)  ((uint32_t)_mm_crc32_u64(c, v))
#define STEP_1(c, v)  _mm_crc32_u8(c, v)
#define HAS_CRC()     __builtin_cpu_supports("sse4.2")
#elif defined __aarch64__ && defined __GNUC__ && !defined __clang__ && defined __AARCH64EL__
#include <sys/auxv.h>
#define TARGET        __attribute__((target("+crc")))
#define STEP_8(c, v)  __builtin_aarch64_crc32cx(c, v)
#define STEP_1(c, v)  __builtin_aarch64_crc32cb(c, v)
#define HAS_CRC()     ((getauxval(AT_HWCAP) & (1UL << 7)) != 0) /* HWCAP_CRC32 */
#elif defined __aarch64__ && defined __clang__ && defined __AARCH64EL__
#include <sys/auxv.h>
#define TARGET        __attribute__((target("crc")))
#define STEP_8(c, v)  __builtin_arm_crc32cd(c, v)
#define STEP_1(c, v)  __builtin_arm_crc32cb(c, v)
#define HAS_CRC()     ((getauxval(AT_HWCAP) & (1UL << 7)) != 0) /* HWCAP_CRC32 */
#endif

#define POLYNOMIAL 0x82f63b78U /* bits reversed */
#define LANE       1024        /* bytes */

static uint32_t       step[8][256];  /* the contribution of a byte that k more bytes follow */
static uint32_t       zeros[4][256]; /* the contribution of byte k of the register after LANE zeros */
static pthread_once_t made = PTHREAD_ONCE_INIT;
static bool           fast;

static void make_steps(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
        step[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++)
            step[k][i] = step[k - 1][i] >> 8 ^ step[0][step[k - 1][i] & 255];
}

static void make_zeros(void)
{
    uint32_t bit[32];
    for (int i = 0; i < 32; i++) {
        bit[i] = UINT32_C(1) << i;
        for (int n = 0; n < LANE; n++)
            bit[i] = bit[i] >> 8 ^ step[0][bit[i] & 255];
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 256; i++)
            for (int b = 0; b < 8; b++)
                zeros[k][i] ^= i >> b & 1 ? bit[8 * k + b] : 0;
}

static void make(void)
{
    make_steps();
    make_zeros();
#ifdef TARGET
    fast = HAS_CRC();
#endif
}

static uint64_t load(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static uint32_t by_tables(uint32_t c, const unsigned char *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t v = load(p) ^ c;
        c          = 0;
        for (int i = 0; i < 8; i++)
            c ^= step[7 - i][v >> 8 * i & 255];
    }
    while (n--)
        c = c >> 8 ^ step[0][(c ^ *p++) & 255];
    return c;
}

#ifdef TARGET
static uint32_t over_zeros(uint32_t c)
{
    return zeros[0][c & 255] ^ zeros[1][c >> 8 & 255] ^ zeros[2][c >> 16 & 255] ^ zeros[3][c >> 24];
}

TARGET static uint32_t by_instructions(uint32_t c, const unsigned char *p, size_t n)
{
    for (; n && (uintptr_t)p % 8; n--)
        c = STEP_1(c, *p++);
    for (; n >= 3 * LANE; p += 3 * LANE, n -= 3 * LANE) {
        uint32_t second = 0, third = 0;
        for (size_t i = 0; i < LANE; i += 8) {
            c      = STEP_8(c, load(p + i));
            second = STEP_8(second, load(p + LANE + i));
            third  = STEP_8(third, load(p + 2 * LANE + i));
        }
        c = over_zeros(over_zeros(c) ^ second) ^ third;
    }
    for (; n >= 8; p += 8, n -= 8)
        c = STEP_8(c, load(p));
    while (n--)
        c = STEP_1(c, *p++);
    return c;
}
#endif

uint32_t bkt_crc32c(uint32_t sum, const void *p, size_t n)
{
    (void)pthread_once(&made, make);
#ifdef TARGET
    if (fast)
        return ~by_instructions(~sum, p, n);
#endif
    return ~by_tables(~sum, p, n);
}

uint32_t bkt_crc32c_by_tables(uint32_t sum, const void *p, size_t n)
{
    (void)pthread_once(&made, make);
    return ~by_tables(~sum, p, n);
}

bool bkt_crc32c_is_fast(void)
{
    (void)pthread_once(&made, make);
    return fast;
}

bool bkt_crc32c_parse(const char *text, uint32_t *sum)
{
    uint32_t v = 0;
    for (int i = 0; i < 8; i++) {
        int d = bkt_hex_digit(text[i]);
        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    if (text[8])
        return false;
    *sum = v;
    return true;
}
