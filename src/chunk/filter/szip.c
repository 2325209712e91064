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

static int params(const struct bkt_filter *f, struct bkt_span in, struct szip *z, struct bkt_err *err)
{
    if (f->n_cd < CD_COUNT)
        BKT_FAIL(err, BKT_EFORMAT, "szip: %zu client data values instead of 4", f->n_cd);
    if (in.n < 4)
        BKT_FAIL(err, BKT_EFORMAT, "szip: %zu bytes are too short for the size", in.n);
    z->mask  = f->cd[CD_MASK];
    z->block = f->cd[CD_BLOCK];
    z->bits  = f->cd[CD_BITS];
    z->line  = f->cd[CD_LINE];
    z->n     = (size_t)bkt_get_le(in.p, 4);
    /* libsz's limits: 32 pixels per block, 128 blocks per scanline */
    if (z->block < 2 || z->block > 32 || z->block % 2 || z->line < z->block || z->line > 32 * 128 ||
        z->bits == 0 || (z->bits > 32 && z->bits != 64))
        BKT_FAIL(err, BKT_EFORMAT, "szip: impossible client data: block %u, bits %u, scanline %u", z->block,
                 z->bits, z->line);
    z->planes     = z->bits == 32 || z->bits == 64;
    z->unit       = z->planes || z->bits <= 8 ? 1 : z->bits <= 16 ? 2 : 4;
    z->line_coded = (z->line + z->block - 1) / z->block * z->block;
    return BKT_OK;
}

static int aec(const struct szip *z, struct bkt_span in, unsigned char *out, size_t n_out,
               struct bkt_err *err)
{
    struct aec_stream s = {
        .next_in         = in.p,
        .avail_in        = in.n,
        .next_out        = out,
        .avail_out       = n_out,
        .bits_per_sample = z->planes ? 8 : z->bits,
        .block_size      = z->block,
        .rsi             = z->line_coded / z->block,
        .flags           = AEC_NOT_ENFORCE | (z->mask & OPT_MSB ? AEC_DATA_MSB : 0) |
                 (z->mask & OPT_NN ? AEC_DATA_PREPROCESS : 0),
    };
    int rc = aec_buffer_decode(&s);
    if (rc == AEC_MEM_ERROR)
        BKT_NOMEM(err);
    if (rc != AEC_OK || s.total_out != n_out)
        BKT_FAIL(err, BKT_EFORMAT, "szip: corrupt stream of %zu bytes (code %d, %zu of %zu bytes decoded)",
                 in.n, rc, s.total_out, n_out);
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

int bkt_szip_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                    struct bkt_err *err)
{
    (void)elem_size;
    struct szip z = {0};
    BKT_PASS(params(f, in, &z, err));
    if (z.n > out->cap)
        BKT_FAIL(err, BKT_ERANGE, "szip: %zu bytes, expected %zu", z.n, out->cap);
    if (z.n % (z.planes ? z.bits / 8 : z.unit))
        BKT_FAIL(err, BKT_EFORMAT, "szip: %zu bytes are not a whole number of %u-bit pixels", z.n, z.bits);
    out->n = z.n;
    if (z.n == 0)
        return BKT_OK;

    struct bkt_span body    = {in.p + 4, in.n - 4};
    bool            padded  = z.line_coded != z.line;
    size_t          n_lines = (size_t)bkt_ceil_div(z.n / z.unit, z.line);
    size_t n_coded = padded ? n_lines * z.line_coded * z.unit : z.n; /* less than twice z.n + one line */
    if (!padded && !z.planes)
        return aec(&z, body, out->p, z.n, err);
    BKT_CLEANUP(bkt_freep) unsigned char *tmp = malloc(n_coded);
    if (!tmp)
        BKT_NOMEM(err);
    BKT_PASS(aec(&z, body, tmp, n_coded, err));
    remove_padding(&z, tmp, n_lines);
    if (z.planes)
        bkt_unshuffle(tmp, out->p, z.n, z.bits / 8);
    else
        memcpy(out->p, tmp, z.n);
    return BKT_OK;
}
