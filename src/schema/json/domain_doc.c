/* .domain.json <-> model.  A folder is a domain without root. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/acl.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"

/* ---- access lists: HSDS's rules without the administrators; see acl.h ---- */

const struct bkt_acl_name bkt_acl_names[BKT_ACL_N] = {
    {BKT_ACL_CREATE, "create", 'c'},    {BKT_ACL_READ, "read", 'r'},
    {BKT_ACL_UPDATE, "update", 'u'},    {BKT_ACL_DELETE, "delete", 'd'},
    {BKT_ACL_READ_ACL, "readACL", 'e'}, {BKT_ACL_UPDATE_ACL, "updateACL", 'p'},
};

/* The user's own entry is final, then comes the default.  The members of groups are unknown here. */
unsigned bkt_domain_doc_allows(const struct bkt_domain_doc *doc, const char *user)
{
    unsigned others = 0;
    for (size_t i = 0; i < doc->n_acls; i++) {
        if (strcmp(doc->acls[i].user, user) == 0)
            return doc->acls[i].allow;
        if (strcmp(doc->acls[i].user, "default") == 0)
            others = doc->acls[i].allow;
    }
    return others;
}

bool bkt_domain_doc_lets(const struct bkt_domain_doc *doc, const char *user, unsigned need)
{
    return !user || !*user || (bkt_domain_doc_allows(doc, user) & need) == need;
}

/* ---- JSON -> model ---- */

/* Entries may lack keys, and may have others: HSDS stores the whole body of a PUT, with a stray "domain". */
static unsigned acl_bits(const json_t *j)
{
    unsigned bits = 0;
    for (size_t i = 0; i < BKT_ACL_N; i++)
        if (json_is_true(json_object_get(j, bkt_acl_names[i].key)))
            bits |= bkt_acl_names[i].bit;
    return bits;
}

static int parse_acls(const json_t *j, struct bkt_domain_doc *d, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    if (!j)
        return BKT_OK;
    BKT_FAIL_IF(err, !json_is_object(j), BKT_EFORMAT, "acls is not an object");
    d->acls = calloc(json_object_size(j) + 1, sizeof *d->acls);
    BKT_NEED(err, d->acls);
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        struct bkt_acl_entry *e = &d->acls[d->n_acls];
        BKT_PASS(bkt_json_dup_key(json_object_iter_key(it), &e->user, err));
        e->allow = acl_bits(json_object_iter_value(it));
        d->n_acls++;
    }
    return BKT_OK;
}

/* This is only a hint: senseless entries are ignored. */
static void parse_first(const json_t *j, struct bkt_domain_doc *d)
{
    for (size_t i = 0; i < json_array_size(j) && d->n_first < BKT_FIRST_MAX; i++) {
        const char *id = json_string_value(json_array_get(j, i));
        d->n_first += id && bkt_id_set(&d->first[d->n_first], id);
    }
}

static void parse_snapshot(const json_t *j, struct bkt_domain_doc *d)
{
    uint64_t      objects, keys;
    const json_t *cuts = bkt_json_get(j, "cuts");
    if (!json_is_object(j) || bkt_json_u64(bkt_json_get(j, "objects"), "", INT64_MAX, &objects, NULL) < 0 ||
        bkt_json_u64(bkt_json_get(j, "keys"), "", INT64_MAX, &keys, NULL) < 0)
        return;
    d->snapshot.objects = objects;
    d->snapshot.keys    = keys;
    size_t n            = json_array_size(cuts);
    if (n && n <= BKT_CUTS_MAX)
        d->snapshot.cuts = calloc(n, sizeof(char *));
    for (size_t i = 0; d->snapshot.cuts && i < n; i++) {
        const char *cut = json_string_value(json_array_get(cuts, i));
        if (!cut || !(d->snapshot.cuts[i] = strdup(cut)))
            break;
        d->snapshot.n_cuts = i + 1;
    }
}

static int emit_first(const struct bkt_domain_doc *d, json_t *j)
{
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(j, "h5first", list));
    for (size_t i = 0; i < d->n_first; i++)
        BKT_PASS(bkt_json_push(list, json_string(d->first[i].text)));
    return BKT_OK;
}

int bkt_snapshot_hint_emit(const struct bkt_snapshot_hint *h, json_t *j)
{
    json_t *hint = json_object(), *cuts;
    BKT_PASS(bkt_json_set(j, "h5snapshot", hint));
    BKT_PASS(bkt_json_set(hint, "objects", json_integer((json_int_t)h->objects)));
    BKT_PASS(bkt_json_set(hint, "keys", json_integer((json_int_t)h->keys)));
    if (!h->n_cuts || h->n_cuts > BKT_CUTS_MAX)
        return BKT_OK;
    BKT_PASS(bkt_json_set(hint, "cuts", cuts = json_array()));
    for (size_t i = 0; i < h->n_cuts; i++)
        BKT_PASS(bkt_json_push(cuts, json_string(h->cuts[i])));
    return BKT_OK;
}

/* ---- the user block ---- */

bool bkt_userblock_fits(uint64_t size)
{
    return size == 0 || (size >= 512 && (size & (size - 1)) == 0);
}

static bool parse_block(const json_t *j, struct bkt_userblock *u)
{
    const json_t *bytes = bkt_json_get(j, "bytes");
    if (!json_is_object(j) || bkt_json_u64(bkt_json_get(j, "size"), "", INT64_MAX, &u->size, NULL) < 0 ||
        u->size == 0 || !bkt_userblock_fits(u->size))
        return false;
    u->apart = json_is_true(bkt_json_get(j, "apart"));
    if (!bytes)
        return true;
    return json_is_string(bytes) &&
           bkt_base64_decode(json_string_value(bytes), json_string_length(bytes), &u->bytes) == BKT_OK &&
           u->bytes.len <= u->size;
}

void bkt_userblock_parse(const json_t *j, struct bkt_userblock *u)
{
    if (!j || parse_block(j, u))
        return;
    bkt_buf_fini(&u->bytes);
    *u = (struct bkt_userblock){.bad = true};
}

int bkt_userblock_emit(const struct bkt_userblock *u, json_t *doc)
{
    json_t *j = json_object();
    BKT_PASS(bkt_json_set(doc, "h5userblock", j));
    BKT_PASS(bkt_json_set(j, "size", bkt_json_new_u64(u->size)));
    if (u->apart)
        return bkt_json_set(j, "apart", json_true());
    return u->bytes.len ? bkt_json_set(j, "bytes", bkt_json_new_base64(&u->bytes)) : BKT_OK;
}

/* ---- the document ---- */

static int fill_doc(const json_t *j, struct bkt_domain_doc *d, struct bkt_err *err)
{
    const json_t *root = bkt_json_get(j, "root"), *owner = bkt_json_get(j, "owner");
    BKT_FAIL_IF(err,
                root && (!json_is_string(root) || !bkt_id_set(&d->root, json_string_value(root)) ||
                         bkt_id_kind(&d->root) != BKT_GROUP),
                BKT_EFORMAT, "root is not a group id");
    if (owner)
        BKT_PASS(bkt_json_dup(owner, "owner", &d->owner, err));
    d->created  = bkt_json_seconds(j, "created");
    d->modified = bkt_json_seconds(j, "lastModified");
    parse_first(bkt_json_get(j, "h5first"), d);
    parse_snapshot(bkt_json_get(j, "h5snapshot"), d);
    bkt_userblock_parse(bkt_json_get(j, "h5userblock"), &d->user);
    return parse_acls(bkt_json_get(j, "acls"), d, err);
}

int bkt_domain_doc_parse(const void *json, size_t n, struct bkt_domain_doc *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    memset(out, 0, sizeof *out);
    BKT_PASS(bkt_json_load(json, n, &j, err));
    int rc = fill_doc(j, out, err);
    if (rc < 0)
        bkt_domain_doc_fini(out);
    return rc;
}

/* ---- model -> JSON ---- */

static int emit_acl(unsigned allow, json_t **out)
{
    json_t *j = json_object();
    int rc = BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < BKT_ACL_N; i++)
        rc = bkt_json_set(j, bkt_acl_names[i].key, json_boolean((allow & bkt_acl_names[i].bit) != 0));
    return bkt_json_give(j, rc, out);
}

static int emit_doc(const struct bkt_domain_doc *d, json_t *j)
{
    json_t *acls, *one = NULL;
    if (d->root.text[0])
        BKT_PASS(bkt_json_set(j, "root", json_string(d->root.text)));
    BKT_PASS(bkt_json_set(j, "acls", acls = json_object()));
    BKT_PASS(bkt_json_set(j, "owner", bkt_json_new_str(d->owner ? d->owner : "admin")));
    for (size_t i = 0; i < d->n_acls; i++) {
        BKT_PASS(emit_acl(d->acls[i].allow, &one));
        BKT_PASS(bkt_json_set_named(acls, d->acls[i].user, one));
    }
    if (d->n_first)
        BKT_PASS(emit_first(d, j));
    if (d->snapshot.objects)
        BKT_PASS(bkt_snapshot_hint_emit(&d->snapshot, j));
    if (d->user.size)
        BKT_PASS(bkt_userblock_emit(&d->user, j));
    BKT_PASS(bkt_json_set(j, "created", bkt_json_new_real(d->created)));
    return bkt_json_set(j, "lastModified", bkt_json_new_real(d->modified));
}

int bkt_domain_doc_emit(const struct bkt_domain_doc *d, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = json_object();
    BKT_NEED(err, j && emit_doc(d, j) >= 0);
    return bkt_json_dump(j, out, err);
}

/* ---- changes of access lists ---- */

static int change_one(json_t *acls, const struct bkt_acl_change *c, struct bkt_err *err)
{
    json_t *entry = NULL;
    BKT_PASS_MEM(err, bkt_json_get_named(acls, c->user, &entry));
    if (c->remove) {
        BKT_FAIL_IF(err, !entry, BKT_ENOENT, "the access list has no entry for %s", c->user);
        return bkt_json_del_named(acls, c->user);
    }
    if (!json_is_object(entry)) {
        BKT_PASS_MEM(err, emit_acl(0, &entry));
        BKT_PASS_MEM(err, bkt_json_set_named(acls, c->user, entry));
    }
    for (size_t i = 0; i < BKT_ACL_N; i++) {
        unsigned bit = bkt_acl_names[i].bit;
        if (((c->grant | c->revoke) & bit) &&
            bkt_json_set(entry, bkt_acl_names[i].key, json_boolean((c->grant & bit) != 0)) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

int bkt_acl_edit(const void *json, size_t n, const struct bkt_acl_change *c, size_t n_changes, double now,
                 struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_load(json, n, &j, err));
    json_t *acls = json_object_get(j, "acls");
    if (!json_is_object(acls))
        BKT_PASS_MEM(err, bkt_json_set(j, "acls", acls = json_object()));
    for (size_t i = 0; i < n_changes; i++)
        BKT_PASS(change_one(acls, &c[i], err));
    BKT_PASS_MEM(err, bkt_json_set(j, "lastModified", bkt_json_new_real(now)));
    return bkt_json_dump(j, out, err);
}

int bkt_acl_add(struct bkt_domain_doc *doc, const char *user, unsigned allow)
{
    struct bkt_acl_entry *v = realloc(doc->acls, (doc->n_acls + 1) * sizeof *v);
    if (!v)
        return BKT_ENOMEM;
    doc->acls = v;
    v[doc->n_acls] = (struct bkt_acl_entry){strdup(user), allow};
    return v[doc->n_acls].user ? (doc->n_acls++, BKT_OK) : BKT_ENOMEM;
}

int bkt_acl_inherit(struct bkt_domain_doc *doc, const char *owner, const struct bkt_domain_doc *folder)
{
    doc->owner = strdup(owner);
    BKT_PASS(doc->owner ? bkt_acl_add(doc, owner, BKT_ACL_ALL) : BKT_ENOMEM);
    for (size_t i = 0; folder && i < folder->n_acls; i++) {
        const struct bkt_acl_entry *a = &folder->acls[i];
        if (a->allow && strcmp(a->user, "default") != 0 && strcmp(a->user, owner) != 0)
            BKT_PASS(bkt_acl_add(doc, a->user, a->allow));
    }
    return BKT_OK;
}

int bkt_folder_emit(const char *owner, const struct bkt_domain_doc *parent, double now, struct bkt_buf *out,
                    struct bkt_err *err)
{
    struct bkt_domain_doc doc = {.created = now, .modified = now};
    int rc = bkt_acl_inherit(&doc, owner, parent);
    if (rc == BKT_OK && strcmp(owner, "default") != 0)
        rc = bkt_acl_add(&doc, "default", BKT_ACL_READ);
    if (rc == BKT_OK)
        rc = bkt_domain_doc_emit(&doc, out, err);
    bkt_domain_doc_fini(&doc);
    return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
}
