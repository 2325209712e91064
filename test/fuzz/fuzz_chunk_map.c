/* Fuzz target: chunk-location JSON (load --chunk-map), which anybody may have written. */
#include <stdlib.h>

#include "schema/json/chunk_locations.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_dset(const struct bkt_chunk_map *m, const struct bkt_map_dset *d)
{
    uint64_t all = 1;
    for (unsigned i = 0; i < d->space.rank && d->kind == BKT_MAP_CHUNKED; i++)
        all *= d->grid[i];
    for (size_t i = 0; i < d->n_chunks; i++)
        if (d->chunks[i].index >= all || (i && d->chunks[i - 1].index >= d->chunks[i].index))
            abort(); /* in the grid, in order, each only once */
    if (!bkt_chunk_map_find(m, d->path))
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bkt_chunk_map m;
    if (bkt_chunk_map_parse(data, size, &m, NULL) < 0)
        return 0;
    for (size_t i = 0; i < m.n_dsets; i++)
        check_dset(&m, &m.dsets[i]);
    bkt_chunk_map_fini(&m);
    return 0;
}
