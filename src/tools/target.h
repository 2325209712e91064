/* Where cp and mv put something: DST, or in it when it is a folder. */
#ifndef BKT_TARGET_H
#define BKT_TARGET_H

#include "place.h"
#include "tool.h"

/** Both ends of `cp SRC DST`.  @p from is a domain, and @p to free: no domain, no folder; whether setting user may create there
 *  is checked.
 * @param replace  a domain that is in the way is to be replaced (its access list must allow that): bkt_ends.old */
struct bkt_ends {
    struct bkt_place   from, to;
    struct bkt_doc     doc;  /* of from */
    struct bkt_domain *src;  /* open */
    struct bkt_doc     in_the_way; /* what is to be replaced: DOMAIN, or ABSENT */
    struct bkt_domain *old;  /* that, open; NULL */
};
/** Find both, and check that the one may be read and the other made.  BKT_EEXIST: @p to is there, and @p replace isn't set;
 *  BKT_EACCES, BKT_EINVAL (they are the same).  @p out is for bkt_ends_fini() in any case. */
BKT_NODISCARD int bkt_ends_open(const struct bkt_tool *t, const char *from, const char *to, bool replace,
                                  struct bkt_ends *out, struct bkt_err *err);
void              bkt_ends_fini(struct bkt_ends *g);
/** Store @p json as the new domain's document (its folders, too) on condition that nobody else was there meanwhile, then delete
 *  the objects of the one that it replaces. */
BKT_NODISCARD int bkt_ends_put(const struct bkt_tool *t, struct bkt_ends *g, const struct bkt_buf *json, struct bkt_err *err);

/** What the domain at @p path keeps beside its document (catalogs, a load's journal) is deleted, so that its folder goes. */
BKT_NODISCARD int bkt_catalog_delete(struct bkt_store *st, const char *path, struct bkt_err *err);

#endif
