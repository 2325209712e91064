/* A read and its tasks: inside chunk/read.
 *
 * A task is one range of a file, or one chunk object, with the segments it serves.  The calling thread makes
 * and starts it.  The store reports its parts from a thread of its own, and workers decode and copy.  The
 * thread that finishes its last piece ends it.  The way of the bytes is chosen when the task is made
 * (fetch_task.c):
 *
 *   body      a chunk object that has to be decoded, in memory of the request     (decode_task.c)
 *   memory    a range in memory of the task, or found in the cache                (decode_task.c)
 *   straight  uncompressed bytes straight to one place of the caller's            (receive.c)
 *   runs      uncompressed bytes, run by run to their places                      (receive.c)
 *   chunks    filtered chunks, each decoded as soon as it has arrived             (receive.c) */
#pragma once

#include "base/os/window.h"
#include "chunk/read/prefault.h"
#include "chunk/read/segments.h"

/** One bkt_read_now(). */
struct bkt_read_call {
    struct bkt_window window; /* its tasks; the lock guards `rc` and `err`, too */
    int               rc;     /* of the first failure, which `err` describes */
    atomic_bool       own_cancel;
    /* set by the calling thread before the first task */
    atomic_bool        *cancel; /* own_cancel, or the caller's */
    bool                passing; /* a piece of a read larger than the cache: entries found in the cache won't
                                    be read again */
    struct bkt_limits   lim;
    struct bkt_prefault populate;
    struct bkt_target  *t;
    size_t              n;
    struct bkt_err      err; /* guarded by the lock, too; last member, see bkt_read_now() */
};

struct bkt_fetch_task;
/** The destination of a task's bytes. */
struct bkt_body_target {
    const struct bkt_way *way;
    unsigned char        *dst;   /* straight: memory of the caller's */
    /* memory: the bytes are in the cache, from `delta` on; NULL: they are fetched */
    struct bkt_cache_entry *found;
    size_t                delta;
};
/** A way to receive bytes. */
struct bkt_way {
    bool owns_bytes; /* the bytes take memory of the task ... */
    bool in_entry;   /* ... which is a cache entry */
    bool   encoded; /* the whole object is requested, of unknown length, into the request's own memory */
    size_t size;    /* bytes of its struct, which begins with a struct bkt_fetch_task ... */
    size_t per_request,
        per_chunk; /* ... and of the array behind it: for each request, for each filtered chunk */
    /** Prepare the struct, zeros behind the common part.  NULL: nothing to do. */
    void (*begin)(struct bkt_fetch_task *k);
    /** Set the destination of a request's body.  NULL: the body goes to its place in `bytes` of the task. */
    void (*aim)(struct bkt_fetch_task *k, struct bkt_req *q);
    /** Check more than the answers' lengths, once all answers have arrived; on the store's thread, as
     *  arrived().  May be NULL. */
    int (*check)(const struct bkt_fetch_task *k, struct bkt_err *err);
    /** Hand the bytes to workers, or drop them if !@p ok; the task ends sooner or later.  The call must
     *  be short.  NULL: use() does all. */
    void (*arrived)(struct bkt_fetch_task *k, bool ok);
    /** On a worker: use the bytes, except those that another job uses. */
    int (*use)(struct bkt_fetch_task *k, struct bkt_err *err);
};
extern const struct bkt_way bkt_way_body, bkt_way_memory, bkt_way_straight, bkt_way_runs, bkt_way_chunks;

/** Common to all ways. */
struct bkt_fetch_task {
    struct bkt_job         job;
    struct bkt_read_call  *call;
    const struct bkt_way  *way;
    struct bkt_range       range; /* all segments belong to one file */
    struct bkt_req        *reqs;  /* n_reqs; 0: the bytes were found */
    size_t                 n_reqs;
    atomic_size_t          parts; /* requests under way */
    atomic_size_t          users; /* jobs that still need the bytes */
    uint64_t               cost;  /* its share of in_flight */
    struct bkt_cache_entry *e;    /* memory: has the bytes */
    unsigned char         *bytes; /* straight, memory: where the range's bytes are, or will be */
    bool                   missing; /* chunk object that isn't stored */
    struct bkt_read_segment whole;  /* its only segment, if it is a whole chunk object */
    struct bkt_chunk_file  object; /* the file of `whole` */
    char                  *key;    /* of `object`, owned */
};

/* ---- fetch_task.c ---- */
/** A task for the whole object of touched chunk @p n.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_fetch_task_object(struct bkt_read_call *call, struct bkt_target *t, uint64_t n,
                                  struct bkt_fetch_task **out, struct bkt_err *err);
/** A task for one range.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_fetch_task_range(struct bkt_read_call *call, const struct bkt_range *r,
                                       struct bkt_fetch_task **out, struct bkt_err *err);
/** Begin the task.  It may be freed when this returns. */
void bkt_fetch_task_start(struct bkt_fetch_task *k);
/** Record the call's first failure and cancel the rest. */
void bkt_fetch_fail(struct bkt_read_call *call, int rc, const struct bkt_err *err);
/** As bkt_fetch_fail(), with the segment's dataset, chunk and place added to @p err. */
void bkt_fetch_task_fail(struct bkt_fetch_task *k, const struct bkt_read_segment *s, int rc,
                         struct bkt_err *err);
void bkt_fetch_task_leave(struct bkt_fetch_task *k); /* one user of the arrived bytes has finished */
/** Free the task and leave the call's window.  The call may be over, and freed, when this returns. */
void bkt_fetch_task_end(struct bkt_fetch_task *k);

/* ---- receive.c ---- */
/** Whether a body of these @p n segments can go straight to its rows in memory: the segments follow each
 *  other in the file, and the runs of each ascend in memory. */
bool bkt_receive_runs_fit(const struct bkt_read_segment *segs, size_t n);

/** The progress of a body whose chunks are decoded as they arrive. */
struct bkt_receive_chunks_task {
    struct bkt_fetch_task task;
    size_t          at_seg;
    uint64_t        at;  /* next byte of the file */
    unsigned char  *buf; /* bytes of the segment so far */
    bool            no_memory;
    bool            lost; /* the bytes from here on don't follow those before */
    struct bkt_receive_chunks_piece { /* one chunk's decoding */
        struct bkt_job          job;
        struct bkt_receive_chunks_task *task;
        struct bkt_read_segment *seg;
        /* its stored bytes: scratch memory (scratch_pool.h), the job's own once it is given */
        unsigned char *in;
        /* the same bytes, received a second time; owned by the store's thread until it leaves */
        unsigned char *again;
        atomic_uint    users; /* the job, the request */
        bool           given, last; /* given: to a worker; last: the request has ended */
    } pieces[]; /* one for each segment */
};
/** Whether each of these @p n segments can be decoded as soon as it is there: several filtered ones that
 *  don't overlap. */
bool bkt_receive_chunks_fit(const struct bkt_read_segment *segs, size_t n);
/** As bkt_req.sink, with a struct bkt_receive_chunks_task. */
void bkt_receive_chunks_sink(void *task, uint64_t at, const void *data, size_t n);

/* ---- decode_task.c ---- */
/** Decode the @p n stored bytes @p in of a chunk to the caller, and to the cache. */
BKT_NODISCARD int bkt_decode_chunk(struct bkt_read_call *call, const struct bkt_read_segment *s,
                                   const unsigned char *in, size_t n, struct bkt_err *err);
/** Run the task's use().  If the object is missing, fill values in instead.  Few @p bytes are handled at
 * once, more on a worker.  Then one user of the task leaves. */
void bkt_decode_use(struct bkt_fetch_task *k, uint64_t bytes);
/** Cache bytes that went straight to the caller, for a second read. */
void bkt_decode_keep_copy(const struct bkt_read_call *call, struct bkt_cache *cache, uint64_t space,
                          uint64_t pos, const void *p, size_t n);
/** Copy a decoded chunk to the caller.  Takes @p e over. */
void bkt_decode_found(struct bkt_read_call *call, struct bkt_target *t, uint64_t k,
                      struct bkt_cache_entry *e);
/** Fill in the fill value of a missing chunk. */
BKT_NODISCARD int bkt_decode_missing(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err);
