/* HDF5's encodings of datatypes, dataspaces and property lists: the first byte chooses one ('t', 's', 'p'). */
#include <stdlib.h>

#include "schema/h5enc/h5enc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void type(const uint8_t *p, size_t n)
{
    struct bkt_h5type *t = NULL;
    if (bkt_h5type_parse(p, n, &t, NULL) == BKT_OK && t->size == 0)
        abort();
    bkt_h5type_free(t);
}

static void space(const uint8_t *p, size_t n)
{
    struct bkt_h5space s;
    if (bkt_h5space_parse(p, n, &s, NULL) == BKT_OK && s.extent.rank > BKT_MAX_RANK)
        abort();
    bkt_h5space_fini(&s);
}

static void plist(const uint8_t *p, size_t n)
{
    struct bkt_h5plist l;
    if (bkt_h5plist_parse(p, n, &l, NULL) == BKT_OK &&
        (l.rank > BKT_MAX_RANK || l.n_filters > BKT_H5_FILTERS_MAX))
        abort();
    bkt_h5plist_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 't':
        type(data + 1, size - 1);
        break;
    case 's':
        space(data + 1, size - 1);
        break;
    default:
        plist(data + 1, size - 1);
        break;
    }
    return 0;
}
