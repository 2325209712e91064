/* .domain.json <-> model.  A folder is a domain without root. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/acl.h"
#include "schema/json/schema_json.h"

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
    if (!json_is_object(j))
        BKT_FAIL(err, BKT_EFORMAT, "acls is not an object");
    d->acls = calloc(json_object_size(j) + 1, sizeof *d->acls);
    if (!d->acls)
        BKT_NOMEM(err);
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
    for (size_t i = 0; list && i < d->n_first; i++)
        if (json_array_append_new(list, json_string(d->first[i].text)) < 0) {
            json_decref(list);
            return BKT_ENOMEM;
        }
    return bkt_json_set(j, "h5first", list);
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
        if (json_array_append_new(cuts, json_string(h->cuts[i])) < 0)
            return BKT_ENOMEM;
    return BKT_OK;
}

static int fill_doc(const json_t *j, struct bkt_domain_doc *d, struct bkt_err *err)
{
    const json_t *root = bkt_json_get(j, "root"), *owner = bkt_json_get(j, "owner");
    if (root && (!json_is_string(root) || !bkt_id_set(&d->root, json_string_value(root)) ||
                 bkt_id_kind(&d->root) != BKT_GROUP))
        BKT_FAIL(err, BKT_EFORMAT, "root is not a group id");
    if (owner)
        BKT_PASS(bkt_json_dup(owner, "owner", &d->owner, err));
    d->created  = bkt_json_seconds(j, "created");
    d->modified = bkt_json_seconds(j, "lastModified");
    parse_first(bkt_json_get(j, "h5first"), d);
    parse_snapshot(bkt_json_get(j, "h5snapshot"), d);
    bkt_userblock_parse(bkt_json_get(j, "h5userblock"), &d->user);
    return parse_acls(bkt_json_get(j, "acls"), d, err);
}

int bkt_domain_doc_from_json(const json_t *j, struct bkt_domain_doc *out, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    int rc = fill_doc(j, out, err);
    if (rc < 0)
        bkt_domain_doc_fini(out);
    return rc;
}

int bkt_domain_doc_parse(const void *json, size_t n, struct bkt_domain_doc *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    memset(out, 0, sizeof *out);
    BKT_PASS(bkt_json_load(json, n, &j, err));
    return bkt_domain_doc_from_json(j, out, err);
}

void bkt_domain_doc_fini(struct bkt_domain_doc *d)
{
    for (size_t i = 0; i < d->n_acls; i++)
        free(d->acls[i].user);
    for (size_t i = 0; i < d->snapshot.n_cuts; i++)
        free(d->snapshot.cuts[i]);
    free(d->snapshot.cuts);
    bkt_buf_fini(&d->user.bytes);
    free(d->acls);
    free(d->owner);
    memset(d, 0, sizeof *d);
}

/* ---- model -> JSON ---- */

int bkt_acl_emit(unsigned allow, json_t **out)
{
    json_t *j = json_object();
    if (!j)
        return BKT_ENOMEM;
    for (size_t i = 0; i < BKT_ACL_N; i++)
        if (bkt_json_set(j, bkt_acl_names[i].key, json_boolean((allow & bkt_acl_names[i].bit) != 0)) < 0) {
            json_decref(j);
            return BKT_ENOMEM;
        }
    *out = j;
    return BKT_OK;
}

static int emit_doc(const struct bkt_domain_doc *d, json_t *j)
{
    json_t *acls = json_object(), *one = NULL;
    if (d->root.text[0] && bkt_json_set(j, "root", json_string(d->root.text)) < 0) {
        json_decref(acls);
        return BKT_ENOMEM;
    }
    BKT_PASS(bkt_json_set(j, "acls", acls));
    BKT_PASS(bkt_json_set(j, "owner", bkt_json_new_str(d->owner ? d->owner : "admin")));
    for (size_t i = 0; i < d->n_acls; i++) {
        BKT_PASS(bkt_acl_emit(d->acls[i].allow, &one));
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

int bkt_domain_doc_to_json(const struct bkt_domain_doc *d, json_t **out, struct bkt_err *err)
{
    json_t *j = json_object();
    if (!j || emit_doc(d, j) < 0) {
        json_decref(j);
        BKT_NOMEM(err);
    }
    *out = j;
    return BKT_OK;
}

int bkt_domain_doc_emit(const struct bkt_domain_doc *d, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_domain_doc_to_json(d, &j, err));
    return bkt_json_dump(j, out, err);
}
