/* Access lists: HSDS's rules without the administrators; see acl.h. */
#include "schema/json/acl.h"

#include <stdlib.h>
#include <string.h>

#include "schema/json/schema_json.h"

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

static int change_one(json_t *acls, const struct bkt_acl_change *c, struct bkt_err *err)
{
    json_t *entry = NULL;
    if (bkt_json_get_named(acls, c->user, &entry) < 0)
        BKT_NOMEM(err);
    if (c->remove) {
        if (!entry)
            BKT_FAIL(err, BKT_ENOENT, "the access list has no entry for %s", c->user);
        return bkt_json_del_named(acls, c->user);
    }
    if (!json_is_object(entry)) {
        json_t *fresh = NULL;
        if (bkt_acl_emit(0, &fresh) < 0 || bkt_json_set_named(acls, c->user, fresh) < 0 ||
            bkt_json_get_named(acls, c->user, &entry) < 0)
            BKT_NOMEM(err);
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
    if (!json_is_object(acls)) {
        if (bkt_json_set(j, "acls", json_object()) < 0)
            BKT_NOMEM(err);
        acls = json_object_get(j, "acls");
    }
    for (size_t i = 0; i < n_changes; i++)
        BKT_PASS(change_one(acls, &c[i], err));
    if (bkt_json_set(j, "lastModified", bkt_json_new_real(now)) < 0)
        BKT_NOMEM(err);
    return bkt_json_dump(j, out, err);
}

int bkt_folder_emit(const char *owner, const struct bkt_domain_doc *parent, double now, struct bkt_buf *out,
                    struct bkt_err *err)
{
    const size_t          most = (parent ? parent->n_acls : 0) + 2;
    struct bkt_acl_entry *v    = calloc(most, sizeof *v);
    char                 *name = strdup(owner), *others = strdup("default");
    int                   rc   = BKT_ENOMEM;
    struct bkt_domain_doc doc  = {.owner = name, .created = now, .modified = now, .acls = v};
    if (v && name && others) {
        v[doc.n_acls++] = (struct bkt_acl_entry){name, BKT_ACL_ALL};
        for (size_t i = 0; parent && i < parent->n_acls; i++)
            if (parent->acls[i].allow && strcmp(parent->acls[i].user, owner) != 0 &&
                strcmp(parent->acls[i].user, "default") != 0)
                v[doc.n_acls++] = parent->acls[i];
        if (strcmp(owner, "default") != 0)
            v[doc.n_acls++] = (struct bkt_acl_entry){others, BKT_ACL_READ};
        rc = bkt_domain_doc_emit(&doc, out, err);
    }
    free(v);
    free(name);
    free(others);
    return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
}
