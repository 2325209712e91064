/* Access lists of domains and folders.  They are advisory: anybody with the bucket's keys can read its
 * data. */
#pragma once

#include "schema/model/model.h"

/** The six permissions: bit, key in the JSON, letter on command lines (as h5pyd's hsacl has them). */
struct bkt_acl_name {
    unsigned    bit;
    const char *key;
    char        letter;
};
#define BKT_ACL_N 6
extern const struct bkt_acl_name bkt_acl_names[BKT_ACL_N];
#define BKT_ACL_ALL 0x3fu

/** BKT_ACL_… bits of @p user. */
unsigned bkt_domain_doc_allows(const struct bkt_domain_doc *doc, const char *user);

/** Whether setting user has all of @p need.  NULL or "": no user is named, and everything is allowed. */
bool bkt_domain_doc_lets(const struct bkt_domain_doc *doc, const char *user, unsigned need);

struct bkt_acl_change {
    const char *user;
    bool        remove;        /* remove the whole entry */
    /* bits; other bits stay as they are, as do unknown keys */
    unsigned    grant, revoke;
};
/** Append the document @p json to @p out, with its access list changed and lastModified set to @p now. */
BKT_NODISCARD int bkt_acl_edit(const void *json, size_t n, const struct bkt_acl_change *c, size_t n_changes,
                               double now, struct bkt_buf *out, struct bkt_err *err);

/** Add an entry.  BKT_ENOMEM */
BKT_NODISCARD int bkt_acl_add(struct bkt_domain_doc *doc, const char *user, unsigned allow);
/** Set the owner and the access list of a new document.  The owner may do all.  Users with an entry in
 *  @p folder that grants anything keep that entry, except "default".  @p folder may be NULL.  BKT_ENOMEM */
BKT_NODISCARD int bkt_acl_inherit(struct bkt_domain_doc *doc, const char *owner,
                                  const struct bkt_domain_doc *folder);
/** A new folder's document (HSDS's rules): as bkt_acl_inherit() from @p parent, and everybody may read. */
BKT_NODISCARD int bkt_folder_emit(const char *owner, const struct bkt_domain_doc *parent, double now,
                                  struct bkt_buf *out, struct bkt_err *err);
