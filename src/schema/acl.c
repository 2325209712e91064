/* What a document's access list allows: HSDS's rules without the administrators. */
#include <string.h>

#include "acl.h"

/* The user's own entry is final, then comes the default; of groups nothing is known here. */
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
