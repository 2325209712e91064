#include "schema/model/md5.h"

#include <math.h>
#include <stdint.h>

#include "base/bytes.h"

static uint32_t rotl(uint32_t x, unsigned by) { return x << by | x >> (32 - by); }

/* RFC 1321, 3.4: one block of 64 bytes. */
static void md5_block(uint32_t state[4], const unsigned char *block, const uint32_t sines[64])
{
    static const unsigned char shift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t f;
        unsigned word;
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d), word = i; break;
        case 1: f = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d), word = 7 * i % 16; break;
        }
        f += a + sines[i] + (uint32_t)bkt_get_le(block + (size_t)word * 4, 4);
        a = d, d = c, c = b;
        b += rotl(f, shift[i / 16][i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

int bkt_md5(const void *p, size_t n, unsigned char digest[16])
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    static const unsigned char pad[64]           = {0x80};
    unsigned char              bits[8];
    uint32_t                   sines[64], state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

    for (unsigned i = 0; i < 64; i++) /* RFC 1321, 3.4: floor(2^32 * |sin(i + 1)|) */
        sines[i] = (uint32_t)(int64_t)floor(fabs(sin(i + 1.0)) * 4294967296.0);
    bkt_put_le(bits, 8, (uint64_t)n * 8);
    BKT_PASS(bkt_buf_add(&text, p, n));
    BKT_PASS(bkt_buf_add(&text, pad, (119 - n % 64) % 64 + 1));
    BKT_PASS(bkt_buf_add(&text, bits, 8));
    for (size_t at = 0; at < text.len; at += 64)
        md5_block(state, text.ptr + at, sines);
    for (unsigned i = 0; i < 4; i++)
        bkt_put_le(digest + (size_t)i * 4, 4, state[i]);
    return BKT_OK;
}
