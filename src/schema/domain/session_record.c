/* Objects that were stored here, kept for a snapshot of them (snapshot.h), so that nothing has to be read
 * again. */
#include <stdlib.h>
#include <string.h>

#include "schema/domain/domain_impl.h"
#include "schema/snapshot/snapshot.h"

struct bkt_record {
    struct bkt_map *objects; /* id -> struct one, the last version */
    uint64_t        bytes;
};
struct one {
    size_t n;
    char   etag[BKT_ETAG_MAX]; /* "": the server has none; then the object is read again */
    char   json[];
};

int bkt_domain_record(struct bkt_domain *d)
{
    if (!d->record)
        d->record = calloc(1, sizeof *d->record);
    return d->record ? BKT_OK : BKT_ENOMEM;
}

void bkt_record_free(struct bkt_record *r)
{
    if (!r)
        return;
    bkt_map_free(r->objects, free);
    free(r);
}

static void forget(struct bkt_record *r, const struct bkt_id *id)
{
    struct one *old = bkt_map_del(r->objects, id->text, BKT_ID_LEN);
    r->bytes -= old ? old->n : 0;
    free(old);
}

void bkt_record_add(struct bkt_record *r, const struct bkt_id *id, const char *etag,
                    const struct bkt_buf *json)
{
    if (!r)
        return;
    forget(r, id);
    if (strlen(etag) >= BKT_ETAG_MAX || json->len > BKT_SNAPSHOT_MAX - r->bytes)
        return;
    struct one *x = malloc(sizeof *x + json->len);
    if (!x)
        return;
    x->n = json->len;
    memcpy(x->etag, etag, strlen(etag) + 1);
    if (json->len)
        memcpy(x->json, json->ptr, json->len);
    if (bkt_map_set(&r->objects, id->text, BKT_ID_LEN, x, NULL) < 0)
        free(x);
    else
        r->bytes += x->n;
}

size_t bkt_domain_n_recorded(const struct bkt_domain *d)
{
    return d->record ? bkt_map_count(d->record->objects) : 0;
}

bool bkt_domain_recorded(const struct bkt_domain *d, const struct bkt_id *id, const char **etag,
                         const void **json, size_t *n)
{
    const struct one *x = d->record ? bkt_map_get(d->record->objects, id->text, BKT_ID_LEN) : NULL;
    if (!x)
        return false;
    *etag = x->etag;
    *json = x->json;
    *n    = x->n;
    return true;
}
