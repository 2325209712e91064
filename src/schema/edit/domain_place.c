/* The place of a domain that has no document yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/acl.h"
#include "schema/name/bucket_dir.h"

/* "file:///" and a path from the root: the nearest directory above that is a bucket, else the one that holds
 * the domain. */
static int find_bucket(const struct bkt_name *n, char **uri, char **path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *dir = NULL;
    if (asprintf(&dir, "/%s", n->path) < 0) {
        dir = NULL;
        BKT_NOMEM(err);
    }
    *strrchr(dir, '/') = 0;
    (void)bkt_bucket_find(dir);
    if (asprintf(uri, "file://%s", *dir ? dir : "/") < 0) {
        *uri = NULL;
        BKT_NOMEM(err);
    }
    *path = strdup(n->path + strlen(dir));
    return *path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_domain_place(struct bkt_domain *d, const struct bkt_name *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    if (n->search && !n->local)
        BKT_FAIL(err, BKT_EACCES, "%s/%s: a web server can't be written to", n->store_uri, n->path);
    if (n->search) {
        BKT_PASS(find_bucket(n, &uri, &d->path, err));
    } else if (!(d->path = strdup(n->path))) {
        BKT_NOMEM(err);
    }
    if (!*d->path)
        BKT_FAIL(err, BKT_EINVAL, "%s is not the name of a domain", n->store_uri);
    BKT_PASS(bkt_store_open(uri ? uri : n->store_uri, &d->set, &d->store, err));
    if (bkt_store_is_readonly(d->store))
        BKT_FAIL(err, BKT_EACCES, "%s can't be written to", bkt_store_uri(d->store));
    return BKT_OK;
}

/* ---- a domain that another process makes ---- */

static void name_finip(struct bkt_name *n)
{
    bkt_name_fini(n);
}

/* The other process was allowed to make the domain, and so is this one. */
static int admit(struct bkt_domain *d, struct bkt_err *err)
{
    const char *user = d->set.user;
    if (!user || !*user)
        return BKT_OK;
    d->doc.acls = calloc(1, sizeof *d->doc.acls);
    if (!d->doc.acls || !(d->doc.acls->user = strdup(user)))
        BKT_NOMEM(err);
    d->doc.acls->allow = BKT_ACL_ALL;
    d->doc.n_acls = 1;
    return BKT_OK;
}

static int fill_unseen(struct bkt_domain *d, const struct bkt_name *n, const struct bkt_id *root,
                       struct bkt_err *err)
{
    BKT_PASS(bkt_domain_place(d, n, err));
    d->doc.root = *root;
    BKT_PASS(admit(d, err));
    BKT_PASS(bkt_domain_equip(d, err));
    bkt_registry_count_fresh(1); /* it is found by its name alone */
    d->edits->counted = true;
    bkt_trace(BKT_TRACE_SCHEMA, "domain %s, root %s, made by another process", d->name, root->text);
    return BKT_OK;
}

int bkt_domain_open_unseen(const char *name, const struct bkt_settings *set, const struct bkt_id *root,
                           struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(name_finip) struct bkt_name n = {0};
    BKT_CLEANUP(bkt_freep) char *id = NULL;
    struct bkt_domain *d = NULL;
    BKT_PASS(bkt_name_parse_new(name, set, &n, err));
    BKT_PASS(bkt_registry_id(&n, set, &id, err));
    if (bkt_registry_has(id))
        BKT_FAIL(err, BKT_EBUSY, "%s is open in this process", name);
    BKT_PASS(bkt_domain_blank(&id, set, &d, err));
    int rc = fill_unseen(d, &n, root, err);
    if (rc < 0) {
        bkt_domain_destroy(d);
        return rc;
    }
    *out = bkt_domain_enter(d);
    return BKT_OK;
}
