/* Blosc 1.x frames with zlib inside, which HSDS writes for "deflate".  They are decoded here by libdeflate,
 * since libblosc uses zlib, which takes twice as much CPU time.  The layout of a frame is c-blosc's
 * README_CHUNK_FORMAT.rst: a header of 16 bytes, the offset of each block, and per block one stream, or one
 * per byte of an element, each behind its length.  A stream that is as long as its content is stored
 * uncompressed.
 *
 * libblosc decodes all other frames.  It also reports the error if a frame is broken. */
#include "bkt_config.h"
#include "chunk/filter/filters_impl.h"
#include "base/num.h"

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

#include "base/os/scratch_pool.h"

#define HEAD        16
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
