/* A domain's objects and chunks copied, within a store or into another. */
#ifndef BKT_CLONE_H
#define BKT_CLONE_H

#include "place.h"

struct bkt_clone {
    uint64_t n_objects, n_chunks, bytes;
    uint64_t n_refs; /* datasets whose data stay in files that other stores hold */
    void (*progress)(const struct bkt_clone *c, void *arg); /* now and then; may be NULL */
    void *arg;
};

/** Copy all objects of @p src to @p to, which holds no domain yet; its .domain.json is written last, with owner and access list
 *  as they are.  Objects get ids of a new root where @p to's store has the old root's already; then links, committed types,
 *  chunk tables and references follow.  What fails leaves unreferenced objects at worst (they are removed as far as possible).
 * @return BKT_OK; BKT_EEXIST: there is a domain in this moment; BKT_EUNSUP: too many chunks in a store that can't be listed; … */
BKT_NODISCARD int bkt_clone(struct bkt_domain *src, const struct bkt_place *to, struct bkt_clone *c, struct bkt_err *err);

#endif
