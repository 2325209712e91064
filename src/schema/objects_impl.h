/* The parts of the object cache; for objects.c, objects_load.c and objects_snapshot.c only. */
#ifndef BKT_OBJECTS_IMPL_H
#define BKT_OBJECTS_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "follow.h"
#include "forkguard.h"
#include "map.h"
#include "objects.h"
#include "pool.h"
#include "snapshot.h"

enum state { LOADING, READY, FAILED };

struct entry {
    struct bkt_id            id;
    enum state               state;
    unsigned                 waiters;
    bool                     unused; /* fetched ahead of a traversal, not asked for yet */
    unsigned                 pins;   /* more than 0: neither in the ring nor in used */
    const struct bkt_object *object; /* READY; the cache's reference */
    int                      rc;     /* FAILED */
    struct bkt_err          *err;
    uint64_t                 cost;   /* READY and FAILED: bytes, as counted */
    struct entry            *prev, *next; /* READY and FAILED: most recently used first; both NULL: not in the ring */
};

enum snapshot_state {
    SNAP_NONE,   /* it isn't known to be worth while; without objects in the hint there is none */
    SNAP_COMING, /* what is to be loaded is held until it is there */
    SNAP_READY,
    SNAP_OVER
};

struct bkt_objects {
    struct bkt_store *store;
    uint64_t          limit, max_object;
    void (*note)(const struct bkt_object *o, void *arg);
    void           *arg;
    pthread_mutex_t lock; /* guards what follows, and all entries */
    pthread_cond_t  change;
    struct bkt_forkguard guard;
    struct bkt_map *entries; /* by id */
    struct entry    lru;     /* ring */
    uint64_t        used;
    size_t          in_flight;
    size_t          n_unused;
    uint64_t        unused; /* what of `used` is theirs */
    struct bkt_follow follow;
    bool            follow_busy, follow_again;
    atomic_uint     tours; /* traversals under way */
    unsigned        generation; /* bkt_fork_generation() */

    /* objects_snapshot.c */
    enum snapshot_state  snap_state;
    struct bkt_snapshot *snap;    /* READY */
    struct load         *held;    /* wait for it, by next; the last one first */
    uint64_t             expected;
    struct bkt_snapshot_hint snap_hint; /* the document's */
    double               snap_until;
    bool                 snap_trust, snap_joinable;
    atomic_bool          snap_stop;
    pthread_t            snap_thread;
    struct bkt_id        root;
};

/* One request and its parsing; owned by whoever works on it, freed by finish(). */
struct load {
    struct bkt_req      req;
    struct bkt_job      job;
    struct bkt_objects *cache;
    struct entry       *entry;
    struct bkt_id       id;
    struct bkt_buf      key;     /* made when it is needed */
    unsigned            tries;
    bool                scanned; /* its members are queued already */
    const void         *json;    /* in the snapshot, with its ETag; NULL: it is requested */
    size_t              n_json;
    const char         *etag;
    struct load        *next;    /* held, or in the same job */
};

/* ---- objects.c; the lock is held ---- */

struct entry *bkt_entry_new(struct bkt_objects *c, const struct bkt_id *id); /* LOADING; NULL: out of memory */
void          bkt_entry_settle(struct bkt_objects *c, struct entry *e); /* it has come to an end of loading: it may be evicted */
/** Let go of what was used longest ago until the limit is kept, or all that is left is held by somebody. */
void          bkt_objects_evict(struct bkt_objects *c);

/* ---- objects_load.c; not under the lock ---- */

/** Begin to load new entries: they may end before this returns.
 *  @p wanted: somebody waits for them now, so they don't wait for the snapshot. */
void bkt_load_begin(struct bkt_objects *c, struct entry *const *v, size_t n, bool wanted);
void bkt_loads_go(struct bkt_objects *c, struct load *list, bool wanted); /* go on with those that were held */
void bkt_follow_more(struct bkt_objects *c); /* ask for as many objects ahead of a traversal as there is room for */

/* ---- objects_snapshot.c ---- */

/** Before loads are sent: take out of the list those that wait for the snapshot, and give those that are in it.  Not under
 *  the lock. */
struct load *bkt_snap_serve(struct bkt_objects *c, struct load **list, bool wanted);
/** An object that isn't to be taken from the snapshot any more.  The lock is held. */
void bkt_snap_spend(struct bkt_objects *c, const struct bkt_id *id);
/** Let go of it when it is too old.  The lock is held. */
void bkt_snap_age(struct bkt_objects *c);
/** In a forked child.  The lock is held. */
void bkt_snap_after_fork(struct bkt_objects *c);
/** Nothing is in flight any more. */
void bkt_snap_fini(struct bkt_objects *c);

#endif
