/* Fuzz target for the scanner of HDF5's structures: the first bytes choose the structure, its context and the
 * file's facts; the rest is the structure.  A find must lie in the file; as many are allowed as there are
 * bytes. */
#include <stdlib.h>
#include <string.h>

#include "vol/vfd/format_scan.h"

#define FILE_SIZE ((uint64_t)1 << 40)
#define HEAD      24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_found(void *arg, const struct bkt_h5scan_find *f)
{
    uint64_t *n = arg;
    if (f->kind >= BKT_H5SCAN_KINDS || f->rel >= BKT_H5SCAN_REL_COUNT || f->addr >= FILE_SIZE || !f->size ||
        f->size > FILE_SIZE - f->addr)
        abort();
    ++*n;
}

static uint64_t number(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char widths[] = {2, 4, 8, 0};
    if (size < HEAD)
        return 0;
    struct bkt_h5scan_file f = {.size = FILE_SIZE,
                                .base = data[1] & 64 ? 512 : 0,
                                .offset_bytes = widths[data[1] & 3],
                                .length_bytes = widths[data[1] >> 2 & 3],
                                .leaf_k = data[2],
                                .node_k = data[3],
                                .chunk_k = data[4]};
    struct bkt_h5scan_find what = {(enum bkt_h5scan_kind)(data[0] % BKT_H5SCAN_KINDS),
                                   BKT_H5SCAN_REL_PART,
                                   f.base,
                                   size - HEAD + data[5],
                                   {number(data + 8), number(data + 16)}};
    uint64_t n = 0;
    unsigned char *copy = malloc(size - HEAD + 1); /* so that a read behind the end is seen */
    if (!copy)
        return 0;
    memcpy(copy, data + HEAD, size - HEAD);
    uint64_t need = bkt_h5scan_look(&f, &what, copy, size - HEAD, on_found, &n);
    if ((need && need <= size - HEAD) || n > size + 64)
        abort();
    (void)bkt_h5scan_kind_of(copy, size - HEAD, data[5] & 1);
    free(copy);
    return 0;
}
