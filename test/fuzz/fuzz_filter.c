/* Fuzz target for everything that decodes chunks: the first bytes choose the filter, its client data and the
 * lengths, the rest is the stored chunk.  Built with libFuzzer where BKT_FUZZ is on; otherwise standalone.c drives
 * it.
 *
 * Input: kind (1), wanted length (2, little-endian), number of client data values (1), the values (4 each),
 * chunk. */
#include <stdlib.h>
#include <string.h>

#include "chunk/filter/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int ids[] = {1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32003, 32004, 32008, 32015};

static void hsds(unsigned kind, const void *in, size_t n, unsigned char *dst, size_t n_dst)
{
    struct bkt_hsds_codec c = {
        .compressed = kind & 1,
        .zlib       = kind & 2,
        .shuffle    = (int)(kind >> 2 & 3) % 3,
        .elem_size  = kind & 32 ? 8 : 3,
        .max_out    = n_dst,
    };
    struct bkt_err err = {0};
    struct bkt_buf out = {0};
    if (bkt_hsds_decode(&c, in, n, dst, n_dst, &err) < 0 && err.n == 0)
        abort();
    if (bkt_hsds_decode_var(&c, in, n, &out, &err) == BKT_OK && out.len > n_dst)
        abort();
    bkt_buf_fini(&out);
}

static void pipeline(unsigned kind, const unsigned *cd, size_t n_cd, const void *in, size_t n, unsigned char *dst, size_t n_dst)
{
    struct bkt_pipeline p   = {.elem_size  = 4};
    struct bkt_err      err = {0};
    int                 rc  = BKT_OK;
    if (kind & 16) /* a filter before it, so that lengths in between are not known */
        rc = bkt_pipeline_add(&p, BKT_FILTER_SHUFFLE, 0, NULL, 0, NULL, &err);
    if (rc == BKT_OK)
        rc = bkt_pipeline_add(&p, ids[(kind & 15) % BKT_COUNT(ids)], 0, cd, n_cd, NULL, &err);
    if (rc == BKT_OK && kind & 32)
        rc = bkt_pipeline_add(&p, BKT_FILTER_DEFLATE, 0, NULL, 0, NULL, &err);
    if (rc == BKT_OK && bkt_pipeline_decode(&p, 0, in, n, dst, n_dst, &err) < 0 && err.n == 0)
        abort(); /* a failure without a message */
    bkt_pipeline_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned cd[64];
    if (size < 4)
        return 0;
    unsigned kind  = data[0];
    size_t   n_dst = (size_t)bkt_get_le(data + 1, 2), n_cd = data[3] % 64;
    data += 4;
    size -= 4;
    if (n_cd * 4 > size)
        return 0;
    for (size_t i = 0; i < n_cd; i++)
        cd[i] = (unsigned)bkt_get_le(data + 4 * i, 4);
    data += 4 * n_cd;
    size -= 4 * n_cd;
    unsigned char *dst = malloc(n_dst ? n_dst : 1), *in = malloc(size ? size : 1);
    if (dst && in) {
        if (size)
            memcpy(in, data, size);
        if (kind & 128)
            hsds(kind, in, size, dst, n_dst);
        else
            pipeline(kind, cd, n_cd, in, size, dst, n_dst);
    }
    free(dst);
    free(in);
    return 0;
}
