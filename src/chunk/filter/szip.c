/* Szip (filter 4): the decoded size (4 bytes, little-endian), then a stream of the extended-Rice coder,
 * decoded by libaec.  Client data: [0] option mask (szlib.h), [1] pixels per block, [2] bits per pixel, [3]
 * pixels per scanline.
 *
 * As szlib does: 32- and 64-bit pixels are coded as planes of bytes, and each scanline is filled up to whole
 * blocks. */
#include <libaec.h>
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"
#include "base/num.h"

enum { CD_MASK, CD_BLOCK, CD_BITS, CD_LINE, CD_COUNT };
enum { OPT_MSB = 16, OPT_NN = 32 };

struct szip {
    unsigned mask, block, bits, line;
    size_t   n;          /* decoded bytes */
    bool     planes;     /* bytes of a pixel lie apart */
    size_t   unit;       /* bytes of one coded sample */
    unsigned line_coded; /* samples per scanline, filled up */
};

static int params(const struct bkt_filter *f, struct szip *z, struct bkt_err *err)
{
    BKT_FAIL_IF(err, f->n_cd < CD_COUNT, BKT_EFORMAT, "szip: %zu client data values instead of 4", f->n_cd);
    z->mask  = f->cd[CD_MASK];
    z->block = f->cd[CD_BLOCK];
    z->bits  = f->cd[CD_BITS];
    z->line  = f->cd[CD_LINE];
    /* libsz's limits: 32 pixels per block, 128 blocks per scanline */
    BKT_FAIL_IF(err,
                z->block < 2 || z->block > 32 || z->block % 2 || z->line < z->block || z->line > 32 * 128 ||
                    z->bits == 0 || (z->bits > 32 && z->bits != 64),
                BKT_EFORMAT, "szip: impossible client data: block %u, bits %u, scanline %u", z->block,
                z->bits, z->line);
    z->planes     = z->bits == 32 || z->bits == 64;
    z->unit       = z->planes || z->bits <= 8 ? 1 : z->bits <= 16 ? 2 : 4;
    z->line_coded = (z->line + z->block - 1) / z->block * z->block;
    return BKT_OK;
}

static struct aec_stream stream_of(const struct szip *z, struct bkt_span in, unsigned char *out, size_t n_out)
{
    return (struct aec_stream){
        .next_in = in.p,
        .avail_in = in.n,
        .next_out = out,
        .avail_out = n_out,
        .bits_per_sample = z->planes ? 8 : z->bits,
        .block_size = z->block,
        .rsi = z->line_coded / z->block,
        .flags = AEC_NOT_ENFORCE | (z->mask & OPT_MSB ? AEC_DATA_MSB : 0) |
                 (z->mask & OPT_NN ? AEC_DATA_PREPROCESS : 0),
    };
}

static int szip_decode(const struct szip *z, struct bkt_span in, unsigned char *out, size_t n_out,
                       struct bkt_err *err)
{
    struct aec_stream s = stream_of(z, in, out, n_out);
    int rc = aec_buffer_decode(&s);
    if (rc == AEC_MEM_ERROR)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc != AEC_OK || s.total_out != n_out, BKT_EFORMAT,
                "szip: corrupt stream of %zu bytes (code %d, %zu of %zu bytes decoded)", in.n, rc,
                s.total_out, n_out);
    return BKT_OK;
}

/* Removes the padding of the scanlines; in place, since bytes only move forward. */
static void remove_padding(const struct szip *z, unsigned char *p, size_t n_lines)
{
    size_t want = z->line * z->unit, have = z->line_coded * z->unit;
    if (want != have)
        for (size_t i = 1; i < n_lines; i++)
            memmove(p + i * want, p + i * have, want);
}

int bkt_szip_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out, struct bkt_err *err)
{
    struct szip z = {0};
    BKT_PASS(params(f, &z, err));
    BKT_FAIL_IF(err, in.n < 4, BKT_EFORMAT, "szip: %zu bytes are too short for the size", in.n);
    z.n = (size_t)bkt_get_le(in.p, 4);
    BKT_FAIL_IF(err, z.n > out->cap, BKT_ERANGE, "szip: %zu bytes, expected %zu", z.n, out->cap);
    BKT_FAIL_IF(err, z.n % (z.planes ? z.bits / 8 : z.unit), BKT_EFORMAT,
                "szip: %zu bytes are not a whole number of %u-bit pixels", z.n, z.bits);
    out->n = z.n;
    if (z.n == 0)
        return BKT_OK;

    struct bkt_span body = {in.p + 4, in.n - 4};
    bool padded = z.line_coded != z.line;
    size_t n_lines = (size_t)bkt_ceil_div(z.n / z.unit, z.line);
    size_t n_coded = padded ? n_lines * z.line_coded * z.unit : z.n; /* less than twice z.n + one line */
    if (!padded && !z.planes)
        return szip_decode(&z, body, out->p, z.n, err);
    BKT_CLEANUP(bkt_freep) unsigned char *tmp = malloc(n_coded);
    BKT_NEED(err, tmp);
    BKT_PASS(szip_decode(&z, body, tmp, n_coded, err));
    remove_padding(&z, tmp, n_lines);
    if (z.planes)
        bkt_unshuffle(tmp, out->p, z.n, z.bits / 8);
    else
        memcpy(out->p, tmp, z.n);
    return BKT_OK;
}

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

static int szip_encode(const struct szip *z, struct bkt_span in, struct bkt_buf *out, size_t limit,
                       struct bkt_err *err)
{
    size_t at = out->len;
    unsigned char *p = bkt_buf_room(out, limit + 1);
    struct aec_stream s = stream_of(z, in, p, limit);
    BKT_NEED(err, p);
    int rc = aec_buffer_encode(&s);
    BKT_FAIL_IF(err, rc != AEC_OK || s.avail_in, BKT_ERANGE,
                "szip: %zu bytes can't be made shorter (code %d)", in.n, rc);
    bkt_buf_cut(out, at + s.total_out);
    return BKT_OK;
}

int bkt_szip_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned char *planes = NULL, *lines = NULL;
    struct szip z = {0};
    BKT_FAIL_IF(err, params(f, &z, NULL) < 0 || in.n > UINT32_MAX, BKT_ERANGE,
                "szip: impossible client data");
    size_t line = z.line * z.unit, coded = z.line_coded * z.unit, n = in.n;
    unsigned bits = z.planes ? 8 : z.bits;
    unsigned char *head = bkt_buf_room(out, 4);
    BKT_NEED(err, head);
    bkt_put_le(head, 4, in.n);
    BKT_FAIL_IF(err, !in.n || in.n % (z.planes ? z.bits / 8 : z.unit), BKT_ERANGE,
                "szip: %zu bytes are not a whole number of %u-bit pixels", in.n, z.bits);
    if (z.planes) {
        BKT_NEED(err, (planes = malloc(in.n)));
        bkt_shuffle(in.p, planes, in.n, z.bits / 8);
        in.p = planes;
    }
    if (line != coded || in.n % line || bits < 8 * z.unit) {
        size_t n_lines = (size_t)bkt_ceil_div(in.n, line);
        BKT_NEED(err, (lines = malloc(n_lines * coded)));
        fill_lines(lines, in, line, coded, z.unit, z.mask & OPT_NN);
        in = (struct bkt_span){lines, n_lines * coded};
        clear_spare(lines, in.n, (unsigned)z.unit, bits, z.mask & OPT_MSB);
    }
    return szip_encode(&z, in, out, n, err);
}
