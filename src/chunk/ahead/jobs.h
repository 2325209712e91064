/* The threads that read ahead, and their jobs: between predict.c and jobs.c. */
#pragma once

#include "chunk/dataset/dataset.h"

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
    struct bkt_dsetio    *io;     /* borrowed: pattern.forget() comes before its end; NULL: siblings */
    struct bkt_sel        sel;
    /* siblings */
    uint64_t             *tails; /* of their ids, sorted, since each read looks for its dataset among them */
    uint64_t              each, room, used; /* bytes: at most of one sibling, at most of all together, and
                                               taken so far */
    size_t                n;
    struct bkt_id         ids[];
};

/** Whether two jobs of one dataset would fetch the same. */
bool bkt_ahead_same_chunks(const struct bkt_ahead_job *a, const struct bkt_ahead_job *b);
/** Bytes of the whole dataset in the caches; UINT64_MAX: it isn't read ahead. */
uint64_t bkt_ahead_size(const struct bkt_dsetio *io);
/** Hand a job over.  False: there is no thread, and the job has been freed. */
bool bkt_ahead_post(struct bkt_ahead_job *job);
/** Called under the lock; may change a waiting job. */
typedef bool bkt_ahead_match(struct bkt_ahead_job *job, const void *arg);
/** For each job that @p match accepts: wait for it if it runs (cancel it first if @p cancel), or else take it
 *  out.  Gives the number of accepted jobs.  *waited (may be NULL) becomes true if one had to be waited
 *  for. */
size_t bkt_ahead_settle(bkt_ahead_match *match, const void *arg, bool cancel, bool *waited);
