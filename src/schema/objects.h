/* Objects of one domain: fetched, parsed on the worker pool, shared, kept within a bound of bytes.  Inside src/schema.
 * What somebody holds is never evicted, so there is one struct per id: a change of it is seen by all.
 *
 * Each id has one entry at most: loading, ready, or failed.  Whoever wants a loading object waits for that one
 * request.  A failure is told once to all who wait, or to the next who asks, and forgotten: then it is tried anew. */
#ifndef BKT_OBJECTS_H
#define BKT_OBJECTS_H

#include "model.h"
#include "store.h"

struct bkt_objects;

/** @param note  called (any thread) with each object that was fetched; may be NULL
 *  @param max_object  a stored object with more bytes is refused */
struct bkt_objects *bkt_objects_new(struct bkt_store *st, uint64_t cache_bytes, uint64_t max_object,
                                    void (*note)(const struct bkt_object *o, void *arg), void *arg);
/** Waits for what is under way. */
void bkt_objects_free(struct bkt_objects *c);

/** The object, fetched and parsed unless it is cached; waits.  @p out is for bkt_object_release().
 *  BKT_ENOENT: no such object; BKT_EFORMAT: it is malformed; what the store says. */
BKT_NODISCARD int bkt_objects_get(struct bkt_objects *c, const struct bkt_id *id, const struct bkt_object **out,
                                  struct bkt_err *err);
/** Begin to fetch @p n objects (ids are copied) that aren't there; doesn't wait, and fails for nobody. */
void bkt_objects_prefetch(struct bkt_objects *c, const struct bkt_id *ids, size_t n);

/** The domain has a snapshot (snapshot.h), as its document says (borrowed until bkt_objects_free()); @p trust: no need to compare. */
void bkt_objects_snapshot(struct bkt_objects *c, const struct bkt_id *root, const struct bkt_snapshot_hint *hint, bool trust);
/** About @p n objects are going to be loaded: when it pays the snapshot is read first. */
void bkt_objects_expect(struct bkt_objects *c, uint64_t n);

/** From now on the members of groups that arrive are fetched too, and those of @p start; see follow.h. */
void bkt_objects_follow(struct bkt_objects *c, const struct bkt_object *start);
void bkt_objects_unfollow(struct bkt_objects *c);
/* ---- objects under change (edit.h) ---- */

/** A new object, ready and pinned; its reference is taken, even on failure.  BKT_EEXIST: the id is known. */
BKT_NODISCARD int bkt_objects_add(struct bkt_objects *c, struct bkt_object *o, struct bkt_err *err);
/** Pin one that is ready (it isn't evicted), or let it go again. */
void bkt_objects_pin(struct bkt_objects *c, const struct bkt_id *id);
void bkt_objects_unpin(struct bkt_objects *c, const struct bkt_id *id);
/** Forget one, pinned or not; the cache's reference is given up.  @p gone: from now on it is no such object (BKT_ENOENT),
 *  until it is dropped once more without. */
void bkt_objects_drop(struct bkt_objects *c, const struct bkt_id *id, bool gone);
/** Call @p fn for each object that is there, with the cache's lock held; a negative code ends the walk, which
 * returns it. */
BKT_NODISCARD int bkt_objects_each(struct bkt_objects *c, int (*fn)(const struct bkt_object *o, void *arg),
                                   void *arg);
/** What was @p from is called @p to from now on; its id is the caller's to change.  An object @p to that is
 * there already is forgotten. BKT_EBUSY: somebody holds that one. */
BKT_NODISCARD int bkt_objects_rename(struct bkt_objects *c, const struct bkt_id *from,
                                     const struct bkt_id *to);

/** HSDS's directory driver writes in place, so a reader can come while an object is empty or cut.  Pauses before it is
 *  read again; @p tries: reads so far (1, 2, …).  False, at once, when those were enough, or when the store is no directory:
 *  what a server sends is whole. */
bool bkt_objects_pause(const struct bkt_store *st, unsigned tries);

#endif
