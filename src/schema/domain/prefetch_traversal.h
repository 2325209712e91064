/* Members of groups that a traversal is about to reach.  Inside src/schema; object_cache.c guards it with its
 * lock.
 *
 * A traversal that asks for an object when it gets there waits a round trip per group.  So during a
 * traversal the members of each group are queued as soon as the group's JSON has come.  A bounded number of
 * them is fetched ahead. */
#ifndef BKT_FOLLOW_H
#define BKT_FOLLOW_H

#include "base/map.h"
#include "schema/model/model.h"

struct bkt_follow_part { /* one group's members */
    struct bkt_follow_part *next;
    size_t                  n, at;
    struct bkt_id           ids[];
};
struct bkt_follow {
    struct bkt_follow_part *head, *tail;
    /* members that the traversal has reached first, and that aren't fetched any more; NULL: none */
    struct bkt_map         *passed;
};

/** Ids of the hard links of a group, for bkt_follow_push(); NULL: none, or out of memory. */
struct bkt_follow_part *bkt_follow_members(const struct bkt_object *o);
/** The same out of the JSON text of a group, without parsing it.  That is much quicker for a large group, so
 *  that its members are on their way meanwhile.  Finds every "id": "<id>" but the group's own. */
struct bkt_follow_part *bkt_follow_scan(const void *json, size_t n, const struct bkt_id *own);
/** Add an id to a part that grows; *p is NULL at first, *cap its room.  False: out of memory. */
bool bkt_follow_add(struct bkt_follow_part **p, size_t *cap, const struct bkt_id *id);
void bkt_follow_push(struct bkt_follow *f, struct bkt_follow_part *p); /* takes it over; NULL is fine */
bool                    bkt_follow_next(struct bkt_follow *f, struct bkt_id *id);
/** The traversal has reached this object while members are queued.  If it is faster than the fetches ahead of
 *  it, the queue would lag behind for good and fetch objects that aren't wanted any more.  False: no memory
 *  for it, so the object may be fetched in vain. */
bool                    bkt_follow_pass(struct bkt_follow *f, const struct bkt_id *id);
void                    bkt_follow_clear(struct bkt_follow *f);

#endif
