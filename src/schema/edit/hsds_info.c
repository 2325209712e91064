/* Objects that HSDS derives from a domain's objects and keeps beside the root group.
 *
 * .info.json has numbers.
 * .summary.json (of HSDS's branch h5json) has metadata and the values of small datasets, which its clients
 * use by default.  HSDS renews them when it writes itself.  The connector's changes make them wrong, so they
 * are deleted; HSDS does without.
 *
 * One LIST of a few keys shows whether they exist, and whether the domain still does.  It is made by the
 * first flush that changes something in a domain that existed before, and then at most once a second.  HSDS
 * makes them a while after its last write, so a LIST for each of many flushes would find nothing more. */
#include <string.h>

#include "base/list.h"
#include "base/os/clock.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"

#define LOOK_AGAIN 1 /* seconds */

/* The answer of a list: keys beside the root group. */
struct beside {
    struct bkt_strs keys; /* objects that HSDS has derived */
    bool root;            /* the root group itself */
};

static void beside_fini(struct beside *b)
{
    bkt_strs_fini(&b->keys);
}

static int on_key(const struct bkt_listed *e, void *arg)
{
    struct beside *b = arg;
    const char *leaf = strrchr(e->key, '/');
    b->root |= leaf && strcmp(leaf, "/.group.json") == 0;
    if (!leaf || (strcmp(leaf, "/.info.json") != 0 && strcmp(leaf, "/.summary.json") != 0))
        return BKT_OK;
    return bkt_strs_add(&b->keys, e->key);
}

/* Version 1 has none.  @p seen: the store lists them; else they may exist. */
static int find(struct bkt_domain *d, struct beside *b, bool *seen, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    BKT_PASS_MEM(err, bkt_id_key(&d->doc.root, &prefix));
    const char *slash = memrchr(prefix.ptr, '/', prefix.len);
    BKT_NEED(err, slash && bkt_buf_resize(&prefix, (size_t)(slash - (const char *)prefix.ptr) + 1) >= 0 &&
                      bkt_buf_add_str(&prefix, ".") >= 0);
    int rc = bkt_store_list(d->store, bkt_buf_str(&prefix), "", on_key, b, err);
    *seen = rc != BKT_EACCES && rc != BKT_EUNSUP &&
            rc != BKT_EINVAL; /* EINVAL: the server takes a list for a key */
    if (*seen)
        return rc;
    bkt_err_clear(err); /* without the right to list, they are deleted unseen */
    for (size_t i = 0; i < 2; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        BKT_NEED(err,
                 bkt_buf_addf(&key, "%s%s", bkt_buf_str(&prefix), i ? "summary.json" : "info.json") >= 0 &&
                     bkt_strs_add(&b->keys, bkt_buf_str(&key)) >= 0);
    }
    return BKT_OK;
}

/* If another writer has deleted the domain, chunks are stored all the same, and nothing leads to them.  No
 * other request of a flush that has only chunks would fail. */
static int check_root(struct bkt_domain *d, const struct beside *b, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (b->root)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_id_key(&d->doc.root, &key));
    int rc = bkt_store_head(d->store, bkt_buf_str(&key), NULL, NULL);
    if (rc == BKT_ENOENT) /* the next flush after a write reports it, too */
        d->edits->looked = 0;
    BKT_FAIL_IF(err, rc == BKT_ENOENT, rc,
                "%s: another writer has deleted or replaced the domain, so what was written since is lost; "
                "write it to a new one",
                d->name);
    return BKT_OK;
}

int bkt_domain_drop_stale(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(beside_fini) struct beside b = {.root = false};
    struct bkt_edits *e = d->edits;
    time_t now = bkt_seconds_now() + 1; /* 0: never */
    if (e->fresh)
        e->looked = now; /* HSDS doesn't know the domain yet */
    if (!e->touched && bkt_map_count(e->changes) == 0)
        return BKT_OK;
    if (e->fresh || !bkt_id_is_v2(&d->doc.root) || (e->looked && now - e->looked <= LOOK_AGAIN)) {
        e->touched = e->touched && !e->fresh;
        return BKT_OK;
    }
    e->looked = now;
    e->touched = false;
    bool seen;
    BKT_PASS(find(d, &b, &seen, err));
    if (seen)
        BKT_PASS(check_root(d, &b, err));
    const struct bkt_strs *keys = &b.keys;
    if (keys->n)
        bkt_trace(BKT_TRACE_SCHEMA, "%s: %zu info objects of HSDS are out of date", d->name, keys->n);
    int rc = keys->n ? bkt_store_delete(d->store, (const char *const *)keys->v, keys->n, err) : BKT_OK;
    if (rc < 0 && !seen && bkt_edit_refused(rc)) { /* most likely they don't exist */
        bkt_trace(BKT_TRACE_SCHEMA, "%s: neither a list nor a deletion is allowed", d->name);
        bkt_err_clear(err);
        return BKT_OK;
    }
    if (rc < 0 && !bkt_edit_refused(rc))
        e->touched = true, e->looked = 0;
    BKT_TRY(err, rc,
            "%s: all changes are stored, but .info.json and .summary.json beside its root group are out of "
            "date and can't be "
            "deleted: HSDS may still report the old numbers",
            d->name);
    return BKT_OK;
}
