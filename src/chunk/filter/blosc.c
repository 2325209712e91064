/* Blosc 1.x frames: HDF5 filter 32001, and all compressed data of HSDS.  The frame records its codec, shuffle
 * and sizes. blosc_decompress_ctx has no global state.  It uses one thread per call, since decoding already
 * runs on several.
 *
 * Frames with zlib inside, which HSDS writes for "deflate".  They are decoded here by libdeflate,
 * since libblosc uses zlib, which takes twice as much CPU time.  The layout of a frame is c-blosc's
 * README_CHUNK_FORMAT.rst: a header of 16 bytes, the offset of each block, and per block one stream, or one
 * per byte of an element, each behind its length.  A stream that is as long as its content is stored
 * uncompressed.
 *
 * libblosc decodes all other frames.  It also reports the error if a frame is broken. */
#include <blosc.h>
#include <stdlib.h>

#include "bkt_config.h"
#include "base/num.h"
#include "base/os/scratch_pool.h"
#include "chunk/filter/filters_impl.h"

#define HEAD 16 /* BLOSC_MIN_HEADER_LENGTH */

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

#define SHUFFLED    0x01
#define STORED      0x02
#define BITSHUFFLED 0x04
#define ONE_STREAM  0x10
#define FORMAT_ZLIB 3
#define MAX_SPLITS  16
#define MIN_STREAM  128

struct frame {
    const unsigned char            *p;
    size_t                          n, n_bytes, block, type_size;
    bool                            shuffled, may_split;
    struct libdeflate_decompressor *d;
};

static bool parse(struct bkt_span in, const struct bkt_blosc_head *h, struct frame *f)
{
    unsigned flags = in.p[2];
    if (flags & (STORED | BITSHUFFLED) || flags >> 5 != FORMAT_ZLIB)
        return false;
    *f = (struct frame){.p         = in.p,
                        .n         = h->c_bytes,
                        .n_bytes   = h->n_bytes,
                        .block     = (size_t)bkt_get_le(in.p + 8, 4),
                        .type_size = h->type_size,
                        .shuffled  = (flags & SHUFFLED) && h->type_size > 1,
                        .may_split = !(flags & ONE_STREAM)};
    if (!f->block || f->block > h->n_bytes)
        return false;
    uint64_t n_blocks = bkt_ceil_div(f->n_bytes, f->block);
    return n_blocks <= (f->n - HEAD) / 4;
}

/* One block of n bytes whose streams begin at `at`. */
static bool read_block(const struct frame *f, size_t at, unsigned char *out, size_t n)
{
    bool split =
        f->may_split && n == f->block && f->type_size <= MAX_SPLITS && n / f->type_size >= MIN_STREAM;
    size_t n_splits = split ? f->type_size : 1, each = n / n_splits;
    for (size_t i = 0; i < n_splits; i++, out += each) {
        if (at > f->n - 4)
            return false;
        size_t len = (size_t)bkt_get_le(f->p + at, 4);
        at += 4;
        if (len > f->n - at || !len)
            return false;
        if (len == each)
            memcpy(out, f->p + at, len);
        else if (libdeflate_zlib_decompress(f->d, f->p + at, len, out, each, NULL) != LIBDEFLATE_SUCCESS)
            return false;
        at += len;
    }
    return each * n_splits == n;
}

static bool read_frame(const struct frame *f, unsigned char *out, unsigned char *tmp)
{
    for (size_t done = 0, i = 0; done < f->n_bytes; i++) {
        size_t n = f->n_bytes - done < f->block ? f->n_bytes - done : f->block,
               at = (size_t)bkt_get_le(f->p + HEAD + 4 * i, 4);
        if (at < HEAD || !read_block(f, at, f->shuffled ? tmp : out + done, n))
            return false;
        if (f->shuffled)
            bkt_unshuffle(tmp, out + done, n, f->type_size);
        done += n;
    }
    return true;
}

bool bkt_blosc_zlib(struct bkt_span in, const struct bkt_blosc_head *h, unsigned char *out)
{
    struct frame f;
    if (!parse(in, h, &f))
        return false;
    f.d                = libdeflate_alloc_decompressor();
    unsigned char *tmp = f.shuffled ? bkt_scratch_take(f.block) : NULL;
    bool           ok  = f.d && (tmp || !f.shuffled) && read_frame(&f, out, tmp);
    bkt_scratch_give(tmp);
    libdeflate_free_decompressor(f.d);
    return ok;
}

#else

bool bkt_blosc_zlib(struct bkt_span in, const struct bkt_blosc_head *h, unsigned char *out)
{
    (void)in, (void)h, (void)out;
    return false;
}

#endif

bool bkt_blosc_head(struct bkt_span in, struct bkt_blosc_head *h)
{
    if (in.n < HEAD || in.p[0] != BLOSC_VERSION_FORMAT || in.p[1] == 0 || in.p[3] == 0)
        return false;
    h->type_size = in.p[3];
    h->n_bytes   = (size_t)bkt_get_le(in.p + 4, 4);
    h->c_bytes   = (size_t)bkt_get_le(in.p + 12, 4);
    return h->n_bytes <= BLOSC_MAX_BUFFERSIZE && h->c_bytes >= HEAD && h->c_bytes <= in.n;
}

/* Why libblosc may refuse a frame: it was built without the codec. */
static const char *missing_codec(const unsigned char *frame)
{
    const char *lib = blosc_cbuffer_complib(frame);
    char       *name, *version;
    if (lib && blosc_get_complib_info(lib, &name, &version) >= 0) {
        free(name);
        free(version);
        return NULL;
    }
    return lib ? lib : "unknown";
}

int bkt_blosc_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                     struct bkt_err *err)
{
    (void)f;
    struct bkt_blosc_head h;
    size_t                n;
    BKT_FAIL_IF(err, !bkt_blosc_head(in, &h) || blosc_cbuffer_validate(in.p, h.c_bytes, &n) < 0, BKT_EFORMAT,
                "blosc: %zu bytes are not a blosc 1.x frame", in.n);
    BKT_FAIL_IF(err, h.n_bytes > out->cap, BKT_ERANGE, "blosc: frame holds %zu bytes, expected %zu",
                h.n_bytes, out->cap);
    if (h.n_bytes && bkt_blosc_zlib(in, &h, out->p)) {
        out->n = h.n_bytes;
        return BKT_OK;
    }
    int got = h.n_bytes ? blosc_decompress_ctx(in.p, out->p, out->cap, 1) : 0;
    if (got < 0 || (size_t)got != h.n_bytes) {
        const char *codec = missing_codec(in.p);
        BKT_FAIL_IF(err, codec, BKT_EUNSUP,
                    "blosc: the installed libblosc lacks the codec of this frame (%s)", codec);
        BKT_FAIL(err, BKT_EFORMAT, "blosc: corrupt frame of %zu bytes (code %d)", in.n, got);
    }
    out->n = h.n_bytes;
    return BKT_OK;
}

/* Client data: [2] element size, [4] level, [5] shuffle, [6] codec, as the plugin numbers them. */
int bkt_blosc_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    static const char *const codecs[] = {BLOSC_BLOSCLZ_COMPNAME, BLOSC_LZ4_COMPNAME,  BLOSC_LZ4HC_COMPNAME,
                                         BLOSC_SNAPPY_COMPNAME,  BLOSC_ZLIB_COMPNAME, BLOSC_ZSTD_COMPNAME};
    size_t   size  = f->n_cd > 2 && f->cd[2] ? f->cd[2] : f->elem_size, at = out->len;
    unsigned level = f->n_cd > 4 ? f->cd[4] : 5, shuffle = f->n_cd > 5 ? f->cd[5] : 1,
             codec = f->n_cd > 6 ? f->cd[6] : 0;
    BKT_FAIL_IF(err, level > 9 || shuffle > 2 || codec >= BKT_COUNT(codecs) || in.n > BLOSC_MAX_BUFFERSIZE,
                BKT_ERANGE, "blosc: level %u, shuffle %u, codec %u for %zu bytes", level, shuffle, codec,
                in.n);
    unsigned char *p = bkt_buf_room(out, in.n);
    BKT_NEED(err, p);
    int got = blosc_compress_ctx((int)level, (int)shuffle, size && size <= BLOSC_MAX_TYPESIZE ? size : 1,
                                 in.n, in.p, p, in.n, codecs[codec], 0, 1);
    if (got <= 0) /* it doesn't get shorter, or this libblosc lacks the codec */
        BKT_FAIL(err, BKT_ERANGE, "blosc: %zu bytes can't be compressed with %s", in.n, codecs[codec]);
    bkt_buf_cut(out, at + (size_t)got);
    return BKT_OK;
}
