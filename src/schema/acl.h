/* Access lists of domains and folders.  They are advisory: whoever has the bucket's keys has its data. */
#ifndef BKT_ACL_H
#define BKT_ACL_H

#include "model.h"

/** The six permissions: bit, key in the JSON, letter on command lines (as h5pyd's hsacl has them). */
struct bkt_acl_name {
    unsigned    bit;
    const char *key;
    char        letter;
};
#define BKT_ACL_N 6
extern const struct bkt_acl_name bkt_acl_names[BKT_ACL_N];
#define BKT_ACL_ALL 0x3fu

/** BKT_ACL_… bits that @p user has. */
unsigned bkt_domain_doc_allows(const struct bkt_domain_doc *doc, const char *user);

/** Whether the setting user (NULL, "": nobody is named, all is allowed) has all of @p need. */
bool bkt_domain_doc_lets(const struct bkt_domain_doc *doc, const char *user, unsigned need);

struct bkt_acl_change {
    const char *user;
    bool        remove;        /* the whole entry */
    unsigned    grant, revoke; /* bits; others stay as they are, and keys that we don't know too */
};
/** The document @p json with its access list changed and lastModified set to @p now, appended to @p out. */
BKT_NODISCARD int bkt_acl_edit(const void *json, size_t n, const struct bkt_acl_change *c, size_t n_changes, double now,
                               struct bkt_buf *out, struct bkt_err *err);

/** A new folder's document (HSDS's rules): its owner may do all, whoever has an entry in @p parent (may be NULL) that grants
 *  anything keeps it, everybody may read. */
BKT_NODISCARD int bkt_folder_emit(const char *owner, const struct bkt_domain_doc *parent, double now, struct bkt_buf *out,
                                  struct bkt_err *err);

#endif
