/* Access lists of domains and folders.  They are advisory: whoever has the bucket's keys has its data. */
#ifndef BKT_ACL_H
#define BKT_ACL_H

#include "model.h"

/** BKT_ACL_… bits that @p user has. */
unsigned bkt_domain_doc_allows(const struct bkt_domain_doc *doc, const char *user);

#endif
