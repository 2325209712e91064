/* The parts of the object cache; for object_cache.c, object_load.c, prefetch_traversal.c and snapshot_serve.c
 * only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/os/fork.h"
#include "base/map.h"
#include "schema/domain/object_cache.h"
#include "base/os/pool.h"
#include "schema/snapshot/snapshot.h"
#include "storage/node_reads.h"

struct bkt_follow_part { /* one group's members */
    struct bkt_follow_part *next;
    struct bkt_ids ids; /* not empty */
    size_t at;
};
struct bkt_follow {
    struct bkt_follow_part *head, *tail;
    /* members that the traversal has reached first, and that aren't fetched any more; NULL: none */
    struct bkt_map *passed;
};

enum bkt_object_state { BKT_OBJECT_LOADING, BKT_OBJECT_READY, BKT_OBJECT_FAILED };

struct bkt_cached_object {
    struct bkt_id            id;
    enum bkt_object_state state;
    unsigned                 waiters;
    bool                     unused; /* fetched ahead of a traversal, not asked for yet */
    unsigned                 pins;   /* more than 0: neither in the ring nor in `used` */
    const struct bkt_object *object; /* if ready; the cache's reference */
    int rc;                          /* if failed */
    struct bkt_err          *err;
    uint64_t cost; /* if ready or failed: bytes, as counted */
    /* if ready or failed: most recently used first; both NULL: not in the ring */
    struct bkt_cached_object *prev, *next;
};

enum bkt_snapshot_state {
    BKT_SNAPSHOT_NONE,   /* not known to pay, as always without objects in the hint */
    BKT_SNAPSHOT_COMING, /* loads are held until the snapshot is there */
    BKT_SNAPSHOT_READY,
    BKT_SNAPSHOT_OVER
};

struct bkt_objects {
    struct bkt_store *store;
    uint64_t          limit, max_object;
    pthread_mutex_t lock; /* guards the following members, and all entries */
    pthread_cond_t  change;
    struct bkt_forkguard guard;
    struct bkt_map *entries; /* by id */
    struct bkt_cached_object lru; /* ring */
    uint64_t        used;
    size_t          in_flight;
    size_t          n_unused;
    uint64_t        unused; /* the part of `used` that is unused */
    struct bkt_follow follow;
    bool            follow_busy, follow_again;
    atomic_uint     tours; /* traversals under way */
    unsigned        generation; /* bkt_fork_generation() */

    /* snapshot_serve.c */
    enum bkt_snapshot_state snap_state;
    struct bkt_snapshot *snap;    /* if BKT_SNAPSHOT_READY */
    struct bkt_object_load *held; /* loads that wait for the snapshot, by next; the last one first */
    uint64_t             expected;
    struct bkt_snapshot_hint snap_hint; /* the document's */
    double               snap_until;
    bool                 snap_trust, snap_joinable;
    atomic_bool          snap_stop;
    pthread_t            snap_thread;
    struct bkt_id        root;

    struct bkt_node_reads *node; /* guarded, too; NULL: no other process of this node shares what it reads */
};

/* One request and its parsing; owned by the function that works on it, freed by finish(). */
struct bkt_object_load {
    struct bkt_req      req;
    struct bkt_job      job;
    struct bkt_objects *cache;
    struct bkt_cached_object *entry;
    struct bkt_id       id;
    struct bkt_buf      key;     /* made when it is needed */
    unsigned            tries;
    bool                scanned; /* its members are queued already */
    const void         *json;    /* in the snapshot, with its ETag; NULL: from the store */
    size_t              n_json;
    const char         *etag;
    struct bkt_object_load *next; /* held, or in the same job */
};

/* ---- object_cache.c; the lock is held ---- */

/** An entry that is loading; NULL: out of memory. */
struct bkt_cached_object *bkt_entry_new(struct bkt_objects *c, const struct bkt_id *id);
void bkt_entry_settle(struct bkt_objects *c,
                      struct bkt_cached_object *e); /* loading has ended: it may be evicted */
/** Evict the least recently used objects until the limit is kept, or all that are left are held. */
void          bkt_objects_evict(struct bkt_objects *c);

/* ---- object_load.c; not under the lock ---- */

/** Begin to load new entries, which may end before this returns.
 *  @param wanted  callers wait for them now, so they don't wait for the snapshot */
void bkt_load_begin(struct bkt_objects *c, struct bkt_cached_object *const *v, size_t n, bool wanted);
/** Go on with held loads. */
void bkt_loads_go(struct bkt_objects *c, struct bkt_object_load *list, bool wanted);

/* ---- prefetch_traversal.c; not under the lock ---- */

/** Ids of the hard links of a group, for bkt_follow_ids().  Out of memory: fewer of them. */
struct bkt_ids bkt_follow_members_of(const struct bkt_object *o);
/** As bkt_follow_members_of(), out of the JSON text of a group, without parsing it.  That is much quicker for
 *  a large group, so that its members are on their way while it is parsed.  Finds every "id": "<id>" but the
 *  group's @p own. */
struct bkt_ids bkt_follow_scan(const void *json, size_t n, const struct bkt_id *own);
/** Queue members of a group, which are taken over, and ask for as many objects as there is room for. */
void bkt_follow_ids(struct bkt_objects *c, struct bkt_ids ids);
/** Ask for as many objects ahead of a traversal as there is room for. */
void bkt_follow_more(struct bkt_objects *c);
/** The traversal has reached this object while members are queued.  If it is faster than the fetches ahead of
 *  it, the queue would lag behind for good and fetch objects that aren't wanted any more.  False: no memory
 *  for it, so the object may be fetched in vain.  The lock is held. */
bool bkt_follow_pass(struct bkt_follow *f, const struct bkt_id *id);
void bkt_follow_clear(struct bkt_follow *f); /* the lock is held */

/* ---- snapshot_serve.c ---- */

/** Before loads are sent: take those out of the list that wait for the snapshot, and those that are in it,
 *  which are parsed.  Not under the lock. */
struct bkt_object_load *bkt_snap_take_loads(struct bkt_objects *c, struct bkt_object_load **list,
                                            bool wanted);
/** Don't take this object from the snapshot any more.  The lock is held. */
void bkt_snap_use_up(struct bkt_objects *c, const struct bkt_id *id);
/** Drop the snapshot, which is there, when it is too old.  The lock is held. */
void bkt_snap_drop_if_old(struct bkt_objects *c);
/** In a forked child.  The lock is held. */
void bkt_snap_after_fork(struct bkt_objects *c);
/** Call when nothing is in flight any more. */
void bkt_snap_fini(struct bkt_objects *c);
