/* A run and its tasks: inside read.c, fetch_task.c and decode_task.c.
 *
 * A task is one range of a file, or one chunk object, with the segments it serves.  The calling thread makes
 * and starts it (fetch_task.c).  The store reports its parts from a thread of its own (fetch_task.c), and workers decode
 * and copy (decode_task.c).  The thread that finishes its last piece ends it. */
#ifndef BKT_TASK_H
#define BKT_TASK_H

#include "chunk/dataset/window.h"
#include "chunk/read/segments.h"

/** Memory that is made present (prefault.c), from `at` on. */
struct bkt_populate {
    uintptr_t at, end;
    bool      huge; /* may be in huge pages */
};

/** One bkt_read_now(). */
struct bkt_run_state {
    struct bkt_window window; /* its tasks; the lock guards `rc` and `err`, too */
    int rc;                   /* of the first failure, which `err` describes */
    atomic_bool own_cancel;
    /* set by the calling thread before the first task */
    atomic_bool       *cancel; /* own_cancel, or the caller's */
    bool               blind; /* there is no destination: the read only fills the caches */
    bool               keep; /* put the result into the caches */
    bool               passing; /* a piece of a read larger than the cache: entries found in the cache won't
                                   be read again */
    struct bkt_limits  lim;
    struct bkt_populate populate;
    struct bkt_target *t;
    size_t             n;
    struct bkt_err     err; /* guarded by the lock, too; last member, see bkt_read_now() */
};

/** How far a poured body has come (receive_runs.c). */
struct bkt_pour {
    struct bkt_seg      *segs;
    size_t               n_segs, at_seg, hint;
    uint64_t             off;   /* of the body in the file */
    uint64_t             at;    /* next byte of the file */
    struct bkt_grid_iter it;
    uint64_t             run_off, seq, done, left; /* the run: place in the file, in the selection, bytes copied and to come */
    bool                 open;
};

struct bkt_task;
struct bkt_task_piece { /* one filtered chunk's decoding */
    struct bkt_job   job;
    struct bkt_task *task;
    struct bkt_seg  *seg;
    /* of a streamed one (receive_chunks.c): */
    unsigned char   *in;    /* its stored bytes: scratch memory (scratch_pool.h), the job's own once it is given */
    unsigned char   *again; /* the same bytes, received a second time; owned by the store's thread until it
                               leaves */
    atomic_uint      users; /* the job, the request */
    bool             given, last; /* given: to a worker; last: the request has ended */
};

/** How far a body has come whose chunks are decoded as they arrive (receive_chunks.c). */
struct bkt_stream {
    size_t         at_seg;
    uint64_t       at;  /* next byte of the file */
    unsigned char *buf; /* bytes of the segment so far */
    bool           no_memory;
    bool           lost; /* the bytes from here on don't follow those before */
};

struct bkt_task {
    struct bkt_job         job;
    struct bkt_run_state  *run;
    struct bkt_seg        *segs;
    size_t                 n_segs;
    struct bkt_seg         native;  /* its only segment, when it is a chunk object */
    bool                   is_native;
    bool                   plain;   /* chunk object whose bytes are the elements */
    bool                   missing; /* chunk object that isn't stored */
    struct bkt_store      *store;
    const char            *key, *etag;
    struct bkt_version    *version;
    struct bkt_buf         key_buf;
    uint64_t               off, len;  /* the range that is fetched */
    uint64_t               need_end;  /* end of the needed bytes: more are fetched where neighbours are
                                         expected */
    uint64_t               space, base; /* in the cache: number of the file or of the dataset's chunks; what
                                           to add to off */
    bool                   keep;    /* put the bytes into the cache, too */
    struct bkt_centry     *e;       /* bytes fetched; or found in the cache, from `delta` on */
    size_t                 delta;
    unsigned char         *direct;  /* bytes go straight to the caller instead */
    struct bkt_pour       *pours;   /* or run by run to where they belong; one per request */
    struct bkt_req        *reqs;    /* NULL: the bytes were found */
    size_t                 n_reqs;
    bool                   streamed; /* chunks go to workers one by one as they arrive; one request */
    struct bkt_stream      stream;
    atomic_size_t          parts;   /* requests under way */
    atomic_size_t          users;   /* jobs that still need the bytes */
    struct bkt_task_piece *pieces;
    uint64_t               cost;    /* its share of in_flight */
};

/* ---- fetch_task.c ---- */
/** A task for the whole object of touched chunk @p n.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_task_native(struct bkt_run_state *run, struct bkt_target *t, uint64_t n, struct bkt_task **out,
                                  struct bkt_err *err);
/** A task for one range.  @p near: bytes around a small range that may be fetched along (read_around.c), 0: none. */
BKT_NODISCARD int bkt_task_range(struct bkt_run_state *run, struct bkt_segs *segs, size_t at, size_t n, uint64_t len,
                                 uint64_t near, struct bkt_task **out, struct bkt_err *err);
/** Begin the task.  It may be freed when this returns. */
void bkt_task_start(struct bkt_task *k);
/** Record the run's first failure and cancel the rest. */
void bkt_run_fail(struct bkt_run_state *run, int rc, const struct bkt_err *err);
/** The same, with the segment's dataset, chunk and place added to @p err. */
void bkt_task_fail(struct bkt_task *k, const struct bkt_seg *s, int rc, struct bkt_err *err);
void bkt_task_leave(struct bkt_task *k); /* one user of the arrived bytes has finished */
void bkt_task_end(struct bkt_task *k);

/* ---- receive_runs.c ---- */
/** Whether a body of these @p n segments can go straight to its rows in memory: the segments follow each
 *  other in the file, and the runs of each ascend in memory. */
bool bkt_pour_fits(const struct bkt_seg *segs, size_t n);
/** As bkt_req.sink, with a struct bkt_pour. */
void bkt_pour(void *pour, uint64_t at, const void *data, size_t n);

/* ---- receive_chunks.c ---- */
/** Whether each of these @p n segments can be decoded as soon as it is there: several filtered ones that
 *  don't overlap. */
bool bkt_stream_fits(const struct bkt_seg *segs, size_t n);
/** Call before the request starts; a piece must have been allocated for each segment. */
void bkt_stream_begin(struct bkt_task *k);
/** As bkt_req.sink, with a struct bkt_task. */
void bkt_stream(void *task, uint64_t at, const void *data, size_t n);
/** Check that all bytes came; after a request that succeeded. */
BKT_NODISCARD int bkt_stream_check(const struct bkt_task *k, struct bkt_err *err);
/** The request has ended, with success or not.  The task may be freed when this returns. */
void bkt_stream_end(struct bkt_task *k);
/** The worker has finished with the piece.  If bytes are left in `in`, they are decoded once more,
 *  finally. */
void bkt_stream_leave(struct bkt_task_piece *p);

/* ---- prefault.c ---- */
/** Prepare to give pages to the memory that a read fills, if it is fresh and large enough; otherwise the
 *  first step is the last one. */
void bkt_populate_init(struct bkt_populate *p, const struct bkt_target *t);
/** Give pages to some more of the memory.  False: all of it has pages. */
bool bkt_populate_step(struct bkt_populate *p);

/* ---- read_around.c ---- */
/** Number of bytes around each of @p n_ranges small ranges that are worth fetching; 0: none. */
uint64_t bkt_near_budget(const struct bkt_dsetio *io, const struct bkt_store *st, size_t n_ranges);
/** Number of ranges of a call's segments.  Call it before any of them is fetched, since it also looks up
 *  which bytes the cache holds right before each range.  Bytes that arrive there later belong to the call
 *  itself, and don't show that the program reads in order. */
size_t   bkt_near_begin(struct bkt_segs *segs, const struct bkt_limits *lim);
/** Widen the range of the task.  @p next: the call's next range; NULL: it is the last one. */
void     bkt_near_widen(struct bkt_task *k, const struct bkt_seg *next, uint64_t near);

/* ---- decode_task.c ---- */
/** The bytes are there: hand them to workers, or copy them at once if they are few. */
void bkt_task_ready(struct bkt_task *k);
/** The bytes of a streamed chunk are there. */
void bkt_work_piece(struct bkt_task_piece *p);
/** Copy a decoded chunk to the caller.  Takes @p e over. */
void bkt_work_copy(struct bkt_run_state *run, struct bkt_target *t, uint64_t k, struct bkt_centry *e);
/** Fill in the fill value of a missing chunk. */
BKT_NODISCARD int bkt_task_fill(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err);

#endif
