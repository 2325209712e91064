/* Objects of one domain: fetched, parsed on the worker pool, shared, kept within a bound of bytes.  Inside
 * src/schema.  An object that is held is never evicted, so there is one struct per id, and all holders see a
 * change of it.
 *
 * Each id has one entry at most: loading, ready, or failed.  All callers that want a loading object wait for
 * the same request.  A failure is reported once, to all waiting callers or to the next caller, and then
 * forgotten: the next call tries again. */
#pragma once

#include "schema/model/model.h"
#include "storage/node_reads.h"

struct bkt_objects;

/** Make a cache of the objects in @p st, which is borrowed.  NULL: out of memory.
 *  @param max_object  a larger stored object (bytes) is refused */
struct bkt_objects *bkt_objects_new(struct bkt_store *st, uint64_t cache_bytes, uint64_t max_object);
/** Waits for requests under way. */
void bkt_objects_free(struct bkt_objects *c);

/** The object, fetched and parsed unless it is cached; waits.  Release @p out with bkt_object_release().
 *  BKT_ENOENT: no such object; BKT_EFORMAT: it is malformed; or the store's failure. */
BKT_NODISCARD int bkt_objects_get(struct bkt_objects *c, const struct bkt_id *id,
                                  const struct bkt_object **out, struct bkt_err *err);
/** As bkt_objects_get(), but an object that does not exist is not an error: *out is NULL. */
BKT_NODISCARD int bkt_objects_find(struct bkt_objects *c, const struct bkt_id *id,
                                   const struct bkt_object **out, struct bkt_err *err);
/** The object without a request; NULL: it isn't cached.  Release it with bkt_object_release(). */
const struct bkt_object *bkt_objects_cached(struct bkt_objects *c, const struct bkt_id *id);
/** Begin to fetch those of @p n objects (ids are copied) that aren't there.  Doesn't wait, and reports no
 *  failure. */
void bkt_objects_prefetch(struct bkt_objects *c, const struct bkt_id *ids, size_t n);

/** The domain has a snapshot (snapshot.h).
 *  @param hint  of its document, borrowed until bkt_objects_free()
 *  @param trust  objects need not be compared with the store */
void bkt_objects_snapshot(struct bkt_objects *c, const struct bkt_id *root,
                          const struct bkt_snapshot_hint *hint, bool trust);
/** About @p n objects are going to be loaded: if it pays, the snapshot is read first. */
void bkt_objects_expect(struct bkt_objects *c, uint64_t n);

/** From now on the members of groups that arrive are fetched too, and those of @p start; see
 *  prefetch_traversal.c. */
void bkt_objects_follow(struct bkt_objects *c, const struct bkt_object *start);
/** Take back one bkt_objects_follow(). */
void bkt_objects_unfollow(struct bkt_objects *c);

/** From now on share objects that are read with other processes of this node, which have the same store and
 *  domain, until an object is pinned.  @p n NULL: no longer; waits for requests under way. */
void bkt_objects_share(struct bkt_objects *c, struct bkt_node_reads *n);
/** The object has changed in the store: no process of this node takes it from another one. */
void bkt_objects_unshare(struct bkt_objects *c, const struct bkt_id *id);

/* ---- objects under change (edit.h) ---- */

/** Add a new object, ready and pinned.  BKT_EEXIST: the id is known. */
BKT_NODISCARD int bkt_objects_add(struct bkt_objects *c, const struct bkt_object *o, struct bkt_err *err);
/** Pin a ready object once @p more, so that it isn't evicted; else take one pin away. */
void bkt_objects_pin(struct bkt_objects *c, const struct bkt_id *id, bool more);
/** Forget an object, pinned or not; the cache's reference is given up.
 *  @param gone  from now on the object counts as missing (BKT_ENOENT), until it is dropped again without
 *               @p gone */
void bkt_objects_drop(struct bkt_objects *c, const struct bkt_id *id, bool gone);
/** Wait until an object that is being fetched has arrived, or has failed.  Another one is not waited for. */
void bkt_objects_await(struct bkt_objects *c, const struct bkt_id *id);
/** Call @p fn for each object in the cache, with the cache's lock held.  A negative code of @p fn ends the
 *  walk, which returns it. */
BKT_NODISCARD int bkt_objects_each(struct bkt_objects *c, int (*fn)(const struct bkt_object *o, void *arg),
                                   void *arg);
/** The object @p from has the id @p to from now on; the caller changes the id in the object.  A cached object
 * @p to is forgotten.  BKT_ENOENT: @p from is not in the cache; BKT_EBUSY: the object @p to is held;
 * BKT_ENOMEM. */
BKT_NODISCARD int bkt_objects_rename(struct bkt_objects *c, const struct bkt_id *from,
                                     const struct bkt_id *to);

/** Pause before a read is repeated.  HSDS's directory driver writes in place, so a reader can find an object
 *  empty or cut.  Returns false, at once, after the last attempt, or if the store isn't a directory: what a
 *  server sends is whole.
 *  @param tries  reads so far (1, 2, …) */
bool bkt_objects_pause(const struct bkt_store *st, unsigned tries);
