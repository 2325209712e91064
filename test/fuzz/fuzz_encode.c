/* Fuzz target for the encoders: for any client data, an encoded chunk is decoded to the same chunk.  Filters
 * that lose digits give a chunk of the same length.  Input as for fuzz_filter.c, with the chunk at the
 * end. */
#include <stdlib.h>
#include <string.h>

#include "chunk/filter/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int ids[] = {1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32003, 32004, 32008, 32015};

/* Szip takes so many bits of each pixel; its other bits are not stored. */
static bool has_spare_bits(const unsigned *cd, size_t n_cd)
{
    return n_cd > 2 && cd[2] != 8 && cd[2] != 16 && cd[2] != 32 && cd[2] != 64;
}

static void round_trip(const struct bkt_pipeline *p, const void *in, size_t n, bool lossy)
{
    struct bkt_buf enc  = {0};
    struct bkt_err err  = {0};
    uint32_t       mask = 0;
    void          *back = malloc(n + 1);
    if (!back || bkt_pipeline_encode(p, in, n, &enc, &mask, &err) < 0)
        abort(); /* all are optional */
    if (n && enc.len && bkt_pipeline_decode(p, mask, enc.ptr, enc.len, back, n, &err) < 0)
        abort();
    if (n && !lossy && memcmp(in, back, n) != 0)
        abort();
    free(back);
    bkt_buf_fini(&enc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned cd[64];
    if (size < 4)
        return 0;
    unsigned kind = data[0];
    size_t   n_cd = data[3] % 64;
    data += 4;
    size -= 4;
    if (n_cd * 4 > size)
        return 0;
    for (size_t i = 0; i < n_cd; i++)
        cd[i] = (unsigned)bkt_get_le(data + 4 * i, 4);
    data += n_cd * 4;
    size -= n_cd * 4;
    int id = ids[(kind & 15) % BKT_COUNT(ids)];
    if (id == BKT_FILTER_BITSHUFFLE && n_cd > 5 && cd[4] == 3 && cd[5] > 9)
        cd[5] = 9; /* zstd's highest levels only take time */
    if ((id == BKT_FILTER_ZSTD && n_cd && cd[0] > 9))
        cd[0] = 9;
    struct bkt_pipeline p  = {.elem_size = 4};
    int                 rc = BKT_OK;
    if (kind & 16)
        rc = bkt_pipeline_add(&p, BKT_FILTER_SHUFFLE, 1, NULL, 0, NULL, NULL);
    if (rc == BKT_OK)
        rc = bkt_pipeline_add(&p, id, 1, cd, n_cd, NULL, NULL);
    if (rc == BKT_OK && kind & 32)
        rc = bkt_pipeline_add(&p, BKT_FILTER_FLETCHER32, 1, NULL, 0, NULL, NULL);
    if (rc == BKT_OK)
        round_trip(&p, data, size,
                   id == BKT_FILTER_NBIT || id == BKT_FILTER_SCALEOFFSET || (id == BKT_FILTER_SZIP && has_spare_bits(cd, n_cd)));
    bkt_pipeline_fini(&p);
    return 0;
}
