/* The stored chunk objects of a dataset, by listing their keys. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/dataset/dataset.h"

/* Gives 1 and the grid coordinate that a key names; 0: the key of another object; or a failure. */
static int coord_of_key(const struct bkt_dsetio *io, const char *key, uint64_t *coord)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf same = {0};
    const char *p =
        strrchr(key, bkt_id_is_v2(&io->obj->id) ? '/' : '-'); /* version 1: ...-<end of the id>_<place> */
    if (p && !bkt_id_is_v2(&io->obj->id))
        p = strchr(p, '_');
    p = p ? p + 1 : key;
    for (unsigned d = 0; d < io->rank; d++) {
        char *end;
        if (!isdigit((unsigned char)*p))
            return 0;
        coord[d] = strtoull(p, &end, 10);
        if (*end != (d + 1 < io->rank ? '_' : 0))
            return 0;
        p = end + 1;
    }
    BKT_PASS(bkt_chunk_key(&io->obj->id, &io->ds->layout, coord, &same));
    return strcmp(bkt_buf_str(&same), key) == 0;
}

/* Version 1 keys begin with a hash of each id, so all of the bucket is listed. */
static int list_keys(struct bkt_dsetio *io, int (*each)(const struct bkt_listed *e, void *arg), void *arg,
                     struct bkt_err *err)
{
    static const uint64_t                    zero[BKT_MAX_RANK];
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    if (!bkt_id_is_v2(&io->obj->id))
        return bkt_store_list(bkt_domain_store(io->dom), "", "", each, arg, err);
    BKT_PASS(bkt_chunk_key(&io->obj->id, &io->ds->layout, zero, &prefix));
    for (int up = io->ds->layout.partition_count >= 2 ? 2 : 1; up > 0; up--) {
        while (prefix.len && prefix.ptr[prefix.len - 1] != '/')
            prefix.len--;
        prefix.len -= prefix.len && up > 1;
    }
    BKT_PASS(bkt_buf_resize(&prefix, prefix.len));
    return bkt_store_list(bkt_domain_store(io->dom), bkt_buf_str(&prefix), "", each, arg, err);
}

struct keys {
    struct bkt_dsetio *io;
    bkt_chunk_key_fn *each;
    void *arg;
};

static int on_key(const struct bkt_listed *e, void *arg)
{
    const struct keys *k = arg;
    uint64_t           coord[BKT_MAX_RANK];
    int                is = e->is_prefix ? 0 : coord_of_key(k->io, e->key, coord);
    return is > 0 ? k->each(coord, e->size, k->arg) : is;
}

int bkt_chunk_keys_each(struct bkt_dsetio *io, bkt_chunk_key_fn *each, void *arg, struct bkt_err *err)
{
    struct keys k = {io, each, arg};
    return list_keys(io, on_key, &k, err);
}
