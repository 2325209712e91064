/* The threads that read ahead, and their jobs: between ahead.c and ahead_jobs.c. */
#ifndef BKT_AHEAD_JOBS_H
#define BKT_AHEAD_JOBS_H

#include "ahead.h"

/* Bytes: a dataset is read ahead among its siblings if neither it nor its chunk is larger.  Larger datasets
 * gain little. */
#define BKT_AHEAD_SIBLING (1u << 20)
/* Bytes: datasets up to this size are read ahead however little the program reads of each.  Larger ones are
 * read ahead only if the program reads a quarter of each, so that little is fetched in vain. */
#define BKT_AHEAD_PARTLY (256u << 10)

struct bkt_ahead_job {
    struct bkt_ahead_job *next;
    struct bkt_domain    *dom;    /* retained by a job of siblings, else borrowed from io */
    atomic_bool           cancel;
    bool                  running;
    /* slabs */
    struct bkt_dsetio    *io;     /* borrowed: bkt_ahead_forget() comes before its end; NULL: siblings */
    struct bkt_sel        sel;
    /* siblings */
    uint64_t             *tails; /* of their ids, sorted: whether one is among them is asked at each read */
    uint64_t              each, room, used; /* bytes: of one of them at most, of all together, and of those that were taken */
    size_t                n;
    struct bkt_id         ids[];
};

/** Whether two jobs of one dataset would fetch the same. */
bool bkt_ahead_same_chunks(const struct bkt_ahead_job *a, const struct bkt_ahead_job *b);
/** The part of an id that tells it from others of its domain. */
uint64_t bkt_ahead_tail(const struct bkt_id *id);
/** What the caches take of the whole dataset; UINT64_MAX: it isn't read ahead. */
uint64_t bkt_ahead_size(const struct bkt_dsetio *io);
/** Whether a sibling of so many bytes comes along; then it counts. */
bool bkt_ahead_takes(struct bkt_ahead_job *job, uint64_t size);
/** Siblings that refer to one file: fetched as far as they aren't cached; done[i] is set for each that is dealt with. */
size_t bkt_ahead_files(struct bkt_ahead_job *job, bool *done);
/** Hand a job over; false: there is no thread, the job is freed. */
bool bkt_ahead_post(struct bkt_ahead_job *job);
/** Whether any job is there; without the lock, to be cheap. */
bool bkt_ahead_any(void);
/** For each job that @p match says true of: one that runs is waited for (cancelled before, when asked), the others are taken
 *  out.  Gives the number of those that matched; *waited (may be NULL) becomes true when one had to be waited for. */
typedef bool bkt_ahead_match(struct bkt_ahead_job *job, const void *arg); /* under the lock; may change one that waits */
size_t bkt_ahead_settle(bkt_ahead_match *match, const void *arg, bool cancel, bool *waited);
#endif
