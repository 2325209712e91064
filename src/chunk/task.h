/* A run and its tasks: inside transfer.c, task.c and work.c.
 *
 * A task is one range of a file, or one chunk object, with the segments it serves.  The calling thread makes and starts
 * it (task.c), the store reports its parts from a thread of its own (task.c), workers decode and copy (work.c); whoever
 * finishes its last piece ends it. */
#ifndef BKT_TASK_H
#define BKT_TASK_H

#include "plan.h"
#include "pool.h"

/** Memory that is made present (populate.c), from `at` on. */
struct bkt_populate {
    uintptr_t at, end;
    bool      huge; /* may be in huge pages */
};

/** One bkt_read_run(). */
struct bkt_run_state {
    pthread_mutex_t lock; /* guards `mine`, `rc` and `err`, and the waiting for `wake` */
    pthread_cond_t  wake; /* all tasks have ended, there is room again for a caller that wants it, or a job for the caller */
    struct bkt_jobs mine; /* that the caller has to run itself (struct bkt_pipeline, by_caller) */
    int             rc;   /* of the first failure, with its story in `err` */
    /* without the lock, which would be taken for each chunk: */
    _Atomic uint64_t in_flight; /* bytes */
    uint64_t         limit;     /* of these */
    _Atomic size_t   n_tasks;   /* the last one ends under the lock */
    atomic_bool      wants_room, own_cancel;
    /* set by the calling thread before the first task */
    atomic_bool       *cancel; /* own_cancel, or the caller's */
    bool               blind; /* there is no destination: all is for the caches */
    bool               keep; /* put what is read into the caches */
    bool               passing; /* a piece of more than the cache holds: what is found there isn't read again */
    struct bkt_limits  lim;
    struct bkt_populate populate;
    struct bkt_target *t;
    size_t             n;
    struct bkt_err     err; /* under the lock, too; last, see bkt_read_run() */
};

/** Where a body that is poured stands (pour.c). */
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
    /* of a streamed one (stream.c): */
    unsigned char   *in;    /* its stored bytes: the pool's (scratch.h), and the job's once it is given */
    unsigned char   *again; /* the same that came a second time; the store's thread's until it leaves */
    atomic_uint      users; /* the job, the request */
    bool             given, last; /* to a worker; the request is through */
};

/** Where a body stands whose chunks are decoded as they arrive (stream.c). */
struct bkt_stream {
    size_t         at_seg;
    uint64_t       at;  /* next byte of the file */
    unsigned char *buf; /* what came of the segment so far */
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
    uint64_t               off, len;  /* what is fetched */
    uint64_t               need_end;  /* the last byte needed lies before it: more is fetched where neighbours are expected */
    uint64_t               space, base; /* in the cache: of the file, or of the dataset's chunks; what to add to off */
    bool                   keep;    /* the bytes are for the cache too */
    struct bkt_centry     *e;       /* bytes fetched, or found in the cache from `delta` on */
    size_t                 delta;
    unsigned char         *direct;  /* bytes go straight to the caller instead */
    struct bkt_pour       *pours;   /* or where they belong, a run at a time; one per request */
    struct bkt_req        *reqs;    /* none: the bytes were found */
    size_t                 n_reqs;
    bool                   streamed; /* chunks go to workers one by one as they arrive; one request */
    struct bkt_stream      stream;
    atomic_size_t          parts;   /* requests under way */
    atomic_size_t          users;   /* jobs that still need the bytes */
    struct bkt_task_piece *pieces;
    uint64_t               cost;    /* what it counts for in in_flight */
};

/* ---- task.c ---- */
/** The whole object of touched chunk @p n.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_task_native(struct bkt_run_state *run, struct bkt_target *t, uint64_t n, struct bkt_task **out,
                                  struct bkt_err *err);
/** One range; @p near: bytes around a small one that may come along (near.c), 0 for none. */
BKT_NODISCARD int bkt_task_range(struct bkt_run_state *run, struct bkt_segs *segs, size_t at, size_t n, uint64_t len,
                                 uint64_t near, struct bkt_task **out, struct bkt_err *err);
/** Begin; the task may be gone when this returns. */
void bkt_task_start(struct bkt_task *k);
/** Record the run's first failure and cancel the rest. */
void bkt_run_fail(struct bkt_run_state *run, int rc, const struct bkt_err *err);
/** The same, with the segment's dataset, chunk and place added to @p err. */
void bkt_task_fail(struct bkt_task *k, const struct bkt_seg *s, int rc, struct bkt_err *err);
void bkt_task_leave(struct bkt_task *k); /* one user of the arrived bytes less */
void bkt_task_end(struct bkt_task *k);
/** One of the run's tasks has ended and gives back what it counted for. */
void bkt_run_end(struct bkt_run_state *run, uint64_t cost);
/** Have a job run that decodes chunks of the dataset: by a worker, or by the run's caller, if its filters must be. */
void bkt_run_submit(struct bkt_run_state *run, const struct bkt_dsetio *io, struct bkt_job *job);

/* ---- pour.c ---- */
/** Whether a body of these @p n segments can go straight to the rows that it is for: one after the other in the file, each
 *  with runs that ascend in memory. */
bool bkt_pour_fits(const struct bkt_seg *segs, size_t n);
/** As bkt_req.sink, with a struct bkt_pour. */
void bkt_pour(void *pour, uint64_t at, const void *data, size_t n);

/* ---- stream.c ---- */
/** Whether each of these @p n segments can be decoded once it is there: several, filtered, none over another. */
bool bkt_stream_fits(const struct bkt_seg *segs, size_t n);
/** Before the request starts, with a piece allocated for each segment. */
void bkt_stream_begin(struct bkt_task *k);
/** As bkt_req.sink, with a struct bkt_task. */
void bkt_stream(void *task, uint64_t at, const void *data, size_t n);
/** Whether all came; after a request that succeeded. */
BKT_NODISCARD int bkt_stream_check(const struct bkt_task *k, struct bkt_err *err);
/** The request is through, well or not; the task may be gone when this returns. */
void bkt_stream_end(struct bkt_task *k);
/** The worker is through with the piece; what it leaves in `in` is decoded once more, for good. */
void bkt_stream_leave(struct bkt_task_piece *p);

/* ---- populate.c ---- */
/** Begin to give pages to the memory that a read fills, if it is fresh and large enough; else the first step is the last. */
void bkt_populate_init(struct bkt_populate *p, const struct bkt_target *t);
/** Some more of it; false: all is done. */
bool bkt_populate_step(struct bkt_populate *p);

/* ---- near.c ---- */
/** How many bytes around each of @p n_ranges small ranges are worth fetching; 0: none. */
uint64_t bkt_near_budget(const struct bkt_dsetio *io, const struct bkt_store *st, size_t n_ranges);
/** How many ranges a call's segments are.  Before any of them is fetched, since this also looks what the cache holds right before
 *  each: what comes there later is the call's own, and no sign that reading goes on. */
size_t   bkt_near_begin(struct bkt_segs *segs, const struct bkt_limits *lim);
/** Widen the range of the task; @p next is the call's next range, NULL: there is none. */
void     bkt_near_widen(struct bkt_task *k, const struct bkt_seg *next, uint64_t near);

/* ---- work.c ---- */
/** The bytes are there: hand them to workers, or copy them at once where that is little. */
void bkt_task_ready(struct bkt_task *k);
/** The bytes of a streamed chunk are there. */
void bkt_work_piece(struct bkt_task_piece *p);
/** Copy a decoded chunk to the caller; takes @p e over. */
void bkt_work_copy(struct bkt_run_state *run, struct bkt_target *t, uint64_t k, struct bkt_centry *e);
/** Fill in what a missing chunk reads as. */
BKT_NODISCARD int bkt_task_fill(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err);

#endif
