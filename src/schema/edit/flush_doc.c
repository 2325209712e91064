/* Documents that a flush stores beside the objects.  The document of a new domain is stored last of all, and
 * makes the domain visible. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/acl.h"
#include "schema/json/documents.h"

/* One folder after the other, outermost first.  A search ends at the nearest folder that has a document,
 * so a killed writer must not leave one without documents above it.  That is a round trip for each folder,
 * once. */
static int write_folders(struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    for (size_t i = 0; i < e->n_folders; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, text = {0};
        BKT_PASS_MEM(err, bkt_domain_doc_key(e->folders[i], &key));
        /* the domain's access list has the entries of the nearest folder's list that a folder would have,
         * too */
        BKT_PASS(bkt_folder_emit(d->doc.owner, &d->doc, d->doc.created, &text, err));
        int rc = bkt_store_put(d->store, bkt_buf_str(&key), text.ptr, text.len, NULL, "*", NULL, err);
        BKT_FAIL_IF(err, rc < 0 && rc != BKT_EPRECOND, rc, "folder %s can't be made", e->folders[i]);
        if (rc < 0)
            bkt_err_clear(err);
    }
    return BKT_OK;
}

/* Another document is stored now.  BKT_OK: this process stored it (the answer was lost), or it is to be
 * replaced as well.  This process's document is recognised by its root: its other contents may have changed
 * since it was sent. */
static int judge_doc(struct bkt_domain *d, const char *key, bool *ours, struct bkt_err *err)
{
    struct bkt_edits     *e   = d->edits;
    BKT_CLEANUP(bkt_req_fini) struct bkt_req r = {.op = BKT_GET, .key = key, .len = BKT_WHOLE};
    BKT_CLEANUP(bkt_domain_doc_fini) struct bkt_domain_doc doc = {.n_acls = 0};
    int rc = bkt_store_perform(d->store, &r, 1, err);
    *ours  = false;
    if (rc == BKT_ENOENT) { /* deleted before this GET */
        bkt_err_clear(err);
        free(e->old_etag);
        e->old_etag = NULL;
        return BKT_OK;
    }
    BKT_PASS(rc);
    BKT_PASS(bkt_domain_doc_parse(r.body.ptr, r.body.len, &doc, err));
    *ours = strcmp(doc.root.text, d->doc.root.text) == 0;
    if (*ours)
        return BKT_OK;
    BKT_FAIL_IF(err, !e->replace || !doc.root.text[0], BKT_EEXIST,
                "%s: another writer has created this domain since; open it instead", d->name);
    free(e->old_etag);
    e->old_etag = strdup(r.etag);
    e->old_root = doc.root; /* never this domain's own root, since its objects would be deleted */
    return BKT_MADE(err, e->old_etag);
}

/* Note the root's members, if they are few. */
static void note_first(struct bkt_domain *d)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *root = NULL;
    d->doc.n_first                = 0;
    if (bkt_objects_get(d->objects, &d->doc.root, &root, NULL) < 0)
        return;
    const struct bkt_link *l;
    for (size_t i = 0; root->group.links.n <= BKT_FIRST_MAX && (l = bkt_object_next_hard(root, &i));)
        d->doc.first[d->doc.n_first++] = l->id;
}

/* Objects that aren't stored with the domain: no link leads to them yet, or they failed. */
static int note_own(struct bkt_domain *d)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->is_new)
            BKT_PASS(bkt_links_count_own(d->links, &c->id));
    }
    return BKT_OK;
}

int bkt_doc_write(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, text = {0};
    struct bkt_edits *e    = d->edits;
    bool              ours = false;
    int               rc   = BKT_EPRECOND;
    BKT_PASS(write_folders(d, err));
    BKT_PASS_MEM(err, bkt_domain_doc_key(d->path, &key));
    note_first(d);
    BKT_PASS(bkt_domain_doc_emit(&d->doc, &text, err));
    /* each loss means that another writer has made, replaced or removed this domain: it ends after 100 in a
     * row */
    for (unsigned tries = 0; !ours && rc == BKT_EPRECOND && tries < 100; tries++) {
        bkt_err_clear(err);
        rc = bkt_store_put(d->store, bkt_buf_str(&key), text.ptr, text.len,
                           e->old_etag && *e->old_etag ? e->old_etag : NULL, e->old_etag ? NULL : "*", NULL,
                           err);
        if (rc == BKT_EPRECOND) {
            bkt_err_clear(err);
            BKT_PASS(judge_doc(d, bkt_buf_str(&key), &ours, err));
        }
    }
    BKT_FAIL_IF(err, rc < 0 && !ours, rc, "%s can't be written", bkt_buf_str(&key));
    e->fresh = false;
    if (e->counted)
        bkt_registry_count_fresh(-1);
    e->counted = false;
    bkt_trace(BKT_TRACE_SCHEMA, "domain %s is stored", d->name);
    BKT_PASS_MEM(err, note_own(d));
    return BKT_OK;
}

int bkt_doc_remove_old(struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    if (!e->old_root.text[0] || e->fresh)
        return BKT_OK;
    bool v2 = bkt_id_is_v2(&e->old_root);
    int rc = bkt_remove_below(d, &e->old_root, err);
    if (rc == BKT_OK || bkt_edit_refused(rc)) /* a refused deletion isn't repeated for ever */
        memset(&e->old_root, 0, sizeof e->old_root);
    BKT_TRY(err, rc, "%s is stored, but not everything that it replaces is deleted%s", d->name,
            !bkt_edit_refused(rc) ? ""
            : v2 ? "; the rest stays in the store without a link to it: `h5bucket verify` finds it"
                 : "; the rest stays in the store without a link to it");
    return BKT_OK;
}
