/* Bitshuffle (filter 32008, https://github.com/kiyo-masui/bitshuffle): the transposition of bits instead of
 * bytes, block by block, each block optionally compressed with LZ4 or zstd.
 *
 * Client data: [0],[1] version, [2] element size, [3] block size in elements (0: default), [4] 2 LZ4, 3 zstd,
 * anything else: not compressed, as the plugin has it, [5] zstd's level.
 * Compressed form: total size (8 bytes, big-endian), block size in bytes (4), then per block its compressed
 * size (4) and stream.  Whole blocks come first, then one of the remaining elements rounded down to a
 * multiple of 8, then the last up to 7 elements as they are. */
#include <endian.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "chunk/filter/filters_impl.h"

enum { CD_ELEM = 2, CD_BLOCK = 3, CD_CODEC = 4, CD_LEVEL = 5 };
enum { CODEC_NONE = 0, CODEC_LZ4 = 2, CODEC_ZSTD = 3 };

/* The library's choice if the writer gave none: about 8 KiB, a multiple of 8 elements, at least 128. */
static size_t default_block(size_t es)
{
    size_t n = 8192 / es / 8 * 8;
    return n < 128 ? 128 : n;
}

/* Transpose 8x8 bit matrices, two at a time; three exchanges of ever larger squares (Hacker's Delight, 7-3).
 * p has room for an even number. */
typedef uint64_t matrices __attribute__((vector_size(16)));

static void transpose_bits(unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        matrices x, t;
        memcpy(&x, p + 8 * i, sizeof x);
        if (BYTE_ORDER == BIG_ENDIAN)
            x = (matrices){le64toh(x[0]), le64toh(x[1])};
        t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
        x ^= t ^ (t << 7);
        t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
        x ^= t ^ (t << 14);
        t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
        x ^= t ^ (t << 28);
        if (BYTE_ORDER == BIG_ENDIAN)
            x = (matrices){htole64(x[0]), htole64(x[1])};
        memcpy(p + 8 * i, &x, sizeof x);
    }
}

/* Stored: for each byte k of the element and each bit b of it, n/8 bytes that hold that bit of all elements.
 * For one k these are 8 planes of n/8 bytes.  Unshuffling the planes brings the 8 bits of 8 elements
 * together.  Transposing these gives byte k of all elements.  Unshuffling the bytes of all k gives the
 * elements. */
static void bitunshuffle_block(const void *in, void *out, size_t n, size_t es, void *tmp)
{
    const unsigned char *p = in;
    unsigned char       *t = tmp;
    for (size_t k = 0; k < es; k++)
        bkt_unshuffle(p + k * n, t + k * n, n, 8);
    transpose_bits(t, n * es / 8);
    bkt_unshuffle(t, out, n * es, es);
}

/* The steps of bitunshuffle_block() in reverse; transposing a matrix twice gives it back. */
static void bitshuffle_block(const void *in, void *out, size_t n, size_t es, void *tmp)
{
    unsigned char *q = out, *t = tmp;
    bkt_shuffle(in, t, n * es, es);
    transpose_bits(t, n * es / 8);
    for (size_t k = 0; k < es; k++)
        bkt_shuffle(t + k * n, q + k * n, n, 8);
}

static int frame_block(const unsigned char *bits, size_t n, bool zstd, int level, struct bkt_buf *out,
                       struct bkt_err *err)
{
    size_t at = out->len, bound = zstd ? ZSTD_compressBound(n) : (size_t)LZ4_compressBound((int)n), got;
    BKT_PASS_MEM(err, bkt_buf_resize(out, at + 4 + bound));
    if (zstd) {
        got = ZSTD_compress(out->ptr + at + 4, bound, bits, n, level);
        got = ZSTD_isError(got) ? 0 : got;
    } else {
        int c = LZ4_compress_default((const char *)bits, (char *)out->ptr + at + 4, (int)n, (int)bound);
        got   = c > 0 ? (size_t)c : 0;
    }
    BKT_FAIL_IF(err, !got, BKT_ERANGE, "bitshuffle: a block of %zu bytes can't be compressed", n);
    bkt_put_be(out->ptr + at, 4, got);
    bkt_buf_cut(out, at + 4 + got);
    return BKT_OK;
}

static int encode_blocks(struct bkt_span in, size_t es, size_t block, int codec, int level,
                         struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned char *mem = NULL;
    size_t                                left = in.n / es, done = 0;
    if (block > left / 8 * 8)
        block = left / 8 * 8;
    BKT_FAIL_IF(err, block * es > INT32_MAX / 2, BKT_ERANGE, "bitshuffle: blocks of %zu bytes", block * es);
    mem = calloc(2 * block * es + 8, 1);
    BKT_NEED(err, mem);
    while (left >= 8) {
        size_t n = left < block ? left / 8 * 8 : block;
        bitshuffle_block(in.p + done, mem, n, es, mem + block * es);
        if (codec == CODEC_NONE)
            BKT_PASS_MEM(err, bkt_buf_add(out, mem, n * es));
        else
            BKT_PASS(frame_block(mem, n * es, codec == CODEC_ZSTD, level, out, err));
        done += n * es;
        left -= n;
    }
    BKT_PASS_MEM(err, bkt_buf_add(out, in.p + done, in.n - done));
    return BKT_OK;
}

int bkt_bitshuffle_frame(struct bkt_span in, size_t elem_size, size_t block, bool zstd, int level,
                         struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char head[12];
    BKT_FAIL_IF(err, elem_size == 0 || elem_size > SIZE_MAX / 256, BKT_ERANGE,
                "bitshuffle: element of %zu bytes", elem_size);
    if (!block)
        block = default_block(elem_size);
    BKT_FAIL_IF(err, block % 8 || block > UINT32_MAX / elem_size, BKT_ERANGE,
                "bitshuffle: block of %zu elements", block);
    bkt_put_be(head, 8, in.n);
    bkt_put_be(head + 8, 4, block * elem_size);
    BKT_PASS_MEM(err, bkt_buf_add(out, head, sizeof head));
    return encode_blocks(in, elem_size, block, zstd ? CODEC_ZSTD : CODEC_LZ4, level, out, err);
}

struct job {
    struct bkt_rd in;
    size_t        es, block; /* block: elements */
    int           codec;
    size_t        done;  /* bytes of out */
    unsigned char *packed, *tmp; /* room for one block each; tmp for 8 bytes more */
};

static int block_unpack(struct job *j, size_t n_bytes, const unsigned char **bits, struct bkt_err *err)
{
    if (j->codec == CODEC_NONE) {
        *bits = bkt_rd_take(&j->in, n_bytes);
        BKT_FAIL_IF(err, !*bits, BKT_EFORMAT, "bitshuffle: data end within the block at byte %zu", j->done);
        return BKT_OK;
    }
    size_t      n_c = (size_t)bkt_rd_be(&j->in, 4);
    const char *c   = j->in.ok ? bkt_rd_take(&j->in, n_c) : NULL;
    BKT_FAIL_IF(err, !c || n_c > INT32_MAX || n_bytes > INT32_MAX, BKT_EFORMAT,
                "bitshuffle: data end within the block at byte %zu", j->done);
    bool ok = j->codec == CODEC_LZ4 ? bkt_lz4_block(c, n_c, j->packed, n_bytes, NULL) == BKT_OK
                                    : ZSTD_decompress(j->packed, n_bytes, c, n_c) == n_bytes;
    BKT_FAIL_IF(err, !ok, BKT_EFORMAT, "bitshuffle: corrupt %s block at byte %zu",
                j->codec == CODEC_LZ4 ? "LZ4" : "zstd", j->done);
    *bits = j->packed;
    return BKT_OK;
}

static int blocks_decode(struct job *j, unsigned char *out, size_t total, struct bkt_err *err)
{
    size_t left = total / j->es;
    while (left >= 8) {
        size_t               n = left < j->block ? left / 8 * 8 : j->block;
        const unsigned char *bits;
        BKT_PASS(block_unpack(j, n * j->es, &bits, err));
        bitunshuffle_block(bits, out + j->done, n, j->es, j->tmp);
        j->done += n * j->es;
        left -= n;
    }
    size_t      n_tail = total - j->done;
    const void *tail   = bkt_rd_take(&j->in, n_tail);
    BKT_FAIL_IF(err, n_tail && !tail, BKT_EFORMAT, "bitshuffle: the last %zu bytes are missing", n_tail);
    if (n_tail)
        memcpy(out + j->done, tail, n_tail);
    return BKT_OK;
}

static int decode(struct job *j, struct bkt_room *out, size_t total, struct bkt_err *err)
{
    BKT_FAIL_IF(err, j->block == 0 || j->block % 8, BKT_EFORMAT,
                "bitshuffle: block of %zu elements is not a multiple of 8", j->block);
    BKT_FAIL_IF(err, total > out->cap, BKT_ERANGE, "bitshuffle: %zu bytes, expected %zu", total, out->cap);
    if (j->block > total / j->es / 8 * 8) /* an oversized block is but the last one, and bounds the memory */
        j->block = total / j->es / 8 * 8;
    BKT_CLEANUP(bkt_freep) unsigned char *mem = calloc(2 * j->block * j->es + 8, 1);
    BKT_NEED(err, mem);
    j->packed = mem;
    j->tmp    = mem + j->block * j->es;
    BKT_PASS(blocks_decode(j, out->p, total, err));
    out->n = total;
    return BKT_OK;
}

int bkt_bitshuffle_framed(struct bkt_span in, size_t elem_size, bool zstd, struct bkt_room *out,
                          struct bkt_err *err)
{
    struct job j = {.in = bkt_rd_of(in.p, in.n), .es = elem_size, .codec = zstd ? CODEC_ZSTD : CODEC_LZ4};
    BKT_FAIL_IF(err, elem_size == 0 || elem_size > SIZE_MAX / 256, BKT_EFORMAT,
                "bitshuffle: element of %zu bytes", elem_size);
    uint64_t total = bkt_rd_be(&j.in, 8);
    size_t   block = (size_t)bkt_rd_be(&j.in, 4);
    BKT_FAIL_IF(err, !j.in.ok, BKT_EFORMAT, "bitshuffle: %zu bytes are too short for its header", in.n);
    BKT_FAIL_IF(err, total > SIZE_MAX, BKT_ERANGE, "bitshuffle: size out of range");
    j.block = block / elem_size;
    return decode(&j, out, (size_t)total, err);
}

static unsigned codec_of(const struct bkt_filter *f)
{
    unsigned codec = f->n_cd > CD_CODEC ? f->cd[CD_CODEC] : CODEC_NONE;
    return codec == CODEC_LZ4 || codec == CODEC_ZSTD ? codec : CODEC_NONE;
}

bool bkt_bitshuffle_compresses(const struct bkt_filter *f) { return codec_of(f) != CODEC_NONE; }

int bkt_bitshuffle_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                          struct bkt_err *err)
{
    size_t es = f->n_cd > CD_ELEM && f->cd[CD_ELEM] ? f->cd[CD_ELEM] : f->elem_size;
    if (bkt_bitshuffle_compresses(f))
        return bkt_bitshuffle_framed(in, es, codec_of(f) == CODEC_ZSTD, out, err);
    BKT_FAIL_IF(err, es == 0, BKT_EFORMAT, "bitshuffle: element size is not known");
    struct job j = {.in = bkt_rd_of(in.p, in.n), .es = es, .codec = CODEC_NONE};
    j.block      = f->n_cd > CD_BLOCK && f->cd[CD_BLOCK] ? f->cd[CD_BLOCK] : default_block(es);
    return decode(&j, out, in.n, err);
}

int bkt_bitshuffle_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                          struct bkt_err *err)
{
    size_t es    = f->n_cd > CD_ELEM && f->cd[CD_ELEM] ? f->cd[CD_ELEM] : f->elem_size;
    size_t block = f->n_cd > CD_BLOCK ? f->cd[CD_BLOCK] : 0;
    if (bkt_bitshuffle_compresses(f)) {
        int level = f->n_cd > CD_LEVEL && f->cd[CD_LEVEL] ? (int)f->cd[CD_LEVEL] : 3;
        return bkt_bitshuffle_frame(in, es, block, codec_of(f) == CODEC_ZSTD, level, out, err);
    }
    BKT_FAIL_IF(err, !es || block % 8, BKT_ERANGE, "bitshuffle: element of %zu bytes, block of %zu elements",
                es, block);
    return encode_blocks(in, es, block ? block : default_block(es), CODEC_NONE, 0, out, err);
}
