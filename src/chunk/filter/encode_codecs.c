/* Encoders of the compressors that come as HDF5 plugins, in the plugins' framing (see the decoders), and of
 * szip. */
#include <blosc.h>
#include <bzlib.h>
#include <libaec.h>
#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "chunk/filter/filters_impl.h"
#include "base/num.h"

/* Makes room for n more bytes behind the present ones. */
static unsigned char *room(struct bkt_buf *out, size_t n)
{
    size_t at = out->len;
    return bkt_buf_resize(out, at + n) < 0 ? NULL : out->ptr + at;
}

/* ---- lz4 ---- */

int bkt_lz4_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                   struct bkt_err *err)
{
    size_t         block = f->n_cd && f->cd[0] ? f->cd[0] : 1u << 30;
    unsigned char *p     = room(out, 12);
    (void)elem_size;
    block = block < in.n ? block : in.n;
    if (!p)
        BKT_NOMEM(err);
    if (block > LZ4_MAX_INPUT_SIZE)
        BKT_FAIL(err, BKT_ERANGE, "lz4: block of %zu bytes", block);
    bkt_put_be(p, 8, in.n);
    bkt_put_be(p + 8, 4, block);
    for (size_t at = 0; at < in.n; at += block) {
        size_t n = in.n - at < block ? in.n - at : block, base = out->len,
               bound = (size_t)LZ4_compressBound((int)n);
        if (!(p = room(out, 4 + bound)))
            BKT_NOMEM(err);
        int got = LZ4_compress_default((const char *)in.p + at, (char *)p + 4, (int)n, (int)bound);
        if (got <= 0 || (size_t)got >= n) { /* the block uncompressed */
            memcpy(p + 4, in.p + at, n);
            got = (int)n;
        }
        bkt_put_be(p, 4, (uint64_t)got);
        bkt_buf_cut(out, base + 4 + (size_t)got);
    }
    return BKT_OK;
}

/* ---- zstd, bzip2, blosc ---- */

int bkt_zstd_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                    struct bkt_err *err)
{
    int            level = f->n_cd && f->cd[0] ? (int)f->cd[0] : ZSTD_CLEVEL_DEFAULT;
    size_t         at = out->len, bound = ZSTD_compressBound(in.n);
    unsigned char *p  = room(out, bound);
    (void)elem_size;
    if (!p)
        BKT_NOMEM(err);
    level = level > ZSTD_maxCLevel() ? ZSTD_maxCLevel() : level < ZSTD_minCLevel() ? ZSTD_minCLevel() : level;
    size_t got = ZSTD_compress(p, bound, in.p, in.n, level);
    if (ZSTD_isError(got))
        BKT_FAIL(err, BKT_ERANGE, "zstd: %s", ZSTD_getErrorName(got));
    bkt_buf_cut(out, at + got);
    return BKT_OK;
}

int bkt_bzip2_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                     struct bkt_err *err)
{
    int            size = f->n_cd && f->cd[0] >= 1 && f->cd[0] <= 9 ? (int)f->cd[0] : 9;
    size_t         at = out->len, bound = in.n + in.n / 100 + 600;
    unsigned char *p = bound <= UINT_MAX ? room(out, bound) : NULL;
    unsigned       n = (unsigned)bound;
    (void)elem_size;
    if (!p)
        BKT_NOMEM(err);
    if (BZ2_bzBuffToBuffCompress((char *)p, &n, (char *)(uintptr_t)in.p, (unsigned)in.n, size, 0, 0) != BZ_OK)
        BKT_FAIL(err, BKT_ERANGE, "bzip2: %zu bytes can't be compressed", in.n);
    bkt_buf_cut(out, at + n);
    return BKT_OK;
}

/* Client data: [2] element size, [4] level, [5] shuffle, [6] codec, as the plugin numbers them. */
int bkt_blosc_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                     struct bkt_err *err)
{
    static const char *const codecs[] = {BLOSC_BLOSCLZ_COMPNAME, BLOSC_LZ4_COMPNAME,  BLOSC_LZ4HC_COMPNAME,
                                         BLOSC_SNAPPY_COMPNAME,  BLOSC_ZLIB_COMPNAME, BLOSC_ZSTD_COMPNAME};
    size_t   size  = f->n_cd > 2 && f->cd[2] ? f->cd[2] : elem_size, at = out->len;
    unsigned level = f->n_cd > 4 ? f->cd[4] : 5, shuffle = f->n_cd > 5 ? f->cd[5] : 1,
             codec = f->n_cd > 6 ? f->cd[6] : 0;
    if (level > 9 || shuffle > 2 || codec >= BKT_COUNT(codecs) || in.n > BLOSC_MAX_BUFFERSIZE)
        BKT_FAIL(err, BKT_ERANGE, "blosc: level %u, shuffle %u, codec %u for %zu bytes", level, shuffle,
                 codec, in.n);
    unsigned char *p = room(out, in.n);
    if (!p)
        BKT_NOMEM(err);
    int got = blosc_compress_ctx((int)level, (int)shuffle, size && size <= BLOSC_MAX_TYPESIZE ? size : 1,
                                 in.n, in.p, p, in.n, codecs[codec], 0, 1);
    if (got <= 0) /* it doesn't get shorter, or this libblosc lacks the codec */
        BKT_FAIL(err, BKT_ERANGE, "blosc: %zu bytes can't be compressed with %s", in.n, codecs[codec]);
    bkt_buf_cut(out, at + (size_t)got);
    return BKT_OK;
}

/* ---- szip ---- */

enum { CD_MASK, CD_BLOCK, CD_BITS, CD_LINE, CD_COUNT };
enum { OPT_MSB = 16, OPT_NN = 32 };

/* Fills scanlines up to whole blocks: with their last pixel if pixels are coded by their neighbours, else
 * with zeros. */
static void fill_lines(unsigned char *to, struct bkt_span in, size_t line, size_t coded, size_t pixel,
                       bool repeat)
{
    for (size_t at = 0; at < in.n; at += line, to += coded) {
        size_t n = in.n - at < line ? in.n - at : line;
        memcpy(to, in.p + at, n);
        for (size_t i = n; i + pixel <= coded; i += pixel)
            if (repeat)
                memcpy(to + i, in.p + at + n - pixel, pixel);
            else
                memset(to + i, 0, pixel);
    }
}

/* Clears the bits of samples above the coded ones: libaec would make a stream of them
 * that can't be decoded. */
static void clear_spare(unsigned char *p, size_t n, unsigned unit, unsigned bits, bool msb)
{
    for (size_t at = 0; at < n; at += unit)
        for (unsigned i = bits / 8; i < unit; i++) /* the least significant byte is byte 0 */
            p[at + (msb ? unit - 1 - i : i)] &= (unsigned char)(i == bits / 8 ? (1u << bits % 8) - 1 : 0);
}

static int aec(const unsigned *cd, struct bkt_span in, unsigned bits, unsigned blocks, struct bkt_buf *out,
               size_t limit, struct bkt_err *err)
{
    size_t            at = out->len;
    unsigned char    *p  = room(out, limit + 1);
    struct aec_stream s = {.next_in = in.p,
                           .avail_in = in.n,
                           .next_out = p,
                           .avail_out = limit,
                           .bits_per_sample = bits,
                           .block_size = cd[CD_BLOCK],
                           .rsi = blocks,
                           .flags = AEC_NOT_ENFORCE | (cd[CD_MASK] & OPT_MSB ? AEC_DATA_MSB : 0) |
                                    (cd[CD_MASK] & OPT_NN ? AEC_DATA_PREPROCESS : 0)};
    if (!p)
        BKT_NOMEM(err);
    int rc = aec_buffer_encode(&s);
    if (rc != AEC_OK || s.avail_in)
        BKT_FAIL(err, BKT_ERANGE, "szip: %zu bytes can't be made shorter (code %d)", in.n, rc);
    bkt_buf_cut(out, at + s.total_out);
    return BKT_OK;
}

int bkt_szip_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned char *planes = NULL, *lines = NULL;
    const unsigned *cd = f->cd;
    (void)elem_size;
    if (f->n_cd < CD_COUNT || cd[CD_BLOCK] < 2 || cd[CD_BLOCK] > 32 || cd[CD_BLOCK] % 2 ||
        cd[CD_LINE] < cd[CD_BLOCK] || cd[CD_LINE] > 32 * 128 || !cd[CD_BITS] ||
        (cd[CD_BITS] > 32 && cd[CD_BITS] != 64) || in.n > UINT32_MAX)
        BKT_FAIL(err, BKT_ERANGE, "szip: impossible client data");
    bool     apart = cd[CD_BITS] == 32 || cd[CD_BITS] == 64;
    unsigned bits  = apart ? 8 : cd[CD_BITS], unit = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
    unsigned blocks = (cd[CD_LINE] + cd[CD_BLOCK] - 1) / cd[CD_BLOCK];
    size_t   line = (size_t)cd[CD_LINE] * unit, coded = (size_t)blocks * cd[CD_BLOCK] * unit, n = in.n;
    unsigned char *head = room(out, 4);
    if (!head)
        BKT_NOMEM(err);
    bkt_put_le(head, 4, in.n);
    if (!in.n || in.n % (apart ? cd[CD_BITS] / 8 : unit))
        BKT_FAIL(err, BKT_ERANGE, "szip: %zu bytes are not a whole number of %u-bit pixels", in.n,
                 cd[CD_BITS]);
    if (apart) {
        if (!(planes = malloc(in.n)))
            BKT_NOMEM(err);
        bkt_shuffle(in.p, planes, in.n, cd[CD_BITS] / 8);
        in.p = planes;
    }
    if (line != coded || in.n % line || bits < 8 * unit) {
        size_t n_lines = (size_t)bkt_ceil_div(in.n, line);
        if (!(lines = malloc(n_lines * coded)))
            BKT_NOMEM(err);
        fill_lines(lines, in, line, coded, unit, cd[CD_MASK] & OPT_NN);
        in = (struct bkt_span){lines, n_lines * coded};
        clear_spare(lines, in.n, unit, bits, cd[CD_MASK] & OPT_MSB);
    }
    return aec(cd, in, bits, blocks, out, n, err);
}
