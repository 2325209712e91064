/* Zstandard (filter 32015): frames with or without their content size.  Bytes behind the frames are ignored,
 * as with deflate. */
#include <zstd.h>
#include <zstd_errors.h>

#include "chunk/filter/filters_impl.h"

int bkt_zstd_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                    struct bkt_err *err)
{
    (void)f, (void)elem_size;
    size_t used = 0;
    out->n      = 0;
    do {
        size_t n_frame = ZSTD_findFrameCompressedSize(in.p + used, in.n - used);
        if (ZSTD_isError(n_frame)) {
            if (used)
                return BKT_OK;
            BKT_FAIL(err, BKT_EFORMAT, "zstd: %zu bytes are not a zstd frame: %s", in.n,
                     ZSTD_getErrorName(n_frame));
        }
        size_t got = ZSTD_decompress(out->p + out->n, out->cap - out->n, in.p + used, n_frame);
        if (ZSTD_isError(got)) {
            bool room = ZSTD_getErrorCode(got) != ZSTD_error_dstSize_tooSmall;
            BKT_FAIL(err, room ? BKT_EFORMAT : BKT_ERANGE, "zstd: %s (%zu bytes expected)",
                     ZSTD_getErrorName(got), out->cap);
        }
        used += n_frame;
        out->n += got;
    } while (used < in.n);
    return BKT_OK;
}
