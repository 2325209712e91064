/* The domain that stands for a plain HDF5 file. */
#include <string.h>

#include "schema/domain/domain_impl.h"

int bkt_domain_of_file(struct bkt_store *store, const char *key, const struct bkt_settings *set,
                       struct bkt_domain **out, struct bkt_err *err)
{
    struct bkt_domain *d = NULL;
    BKT_CLEANUP(bkt_freep) char *id = strdup("");
    if (!id)
        BKT_NOMEM(err);
    BKT_PASS(bkt_domain_blank(&id, set, &d, err));
    d->store = bkt_store_share(store);
    d->refs = 1;
    d->of_file = true;
    d->path = strdup(key);
    int rc = d->path ? bkt_domain_equip(d, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0) {
        bkt_domain_destroy(d);
        return rc;
    }
    *out = d;
    return BKT_OK;
}
