/* One process sends requests, and others get the outcomes: a tape of requests with their results.
 *
 * Processes that act together (base/comm.h) all run the same code.  The first runs it while a tape records
 * its requests.  The tape goes to the others, which run the code while the tape plays: a request that is on
 * the tape ends at once with the recorded outcome.  Requests are found by store, operation, key, range and
 * condition; equal ones are used in the order of recording.
 *
 * A request that isn't on the tape is sent.  So a process whose state differs stays correct: it costs
 * requests.  For the same reason a PUT of other bytes than the recorded PUT of its key ends as BKT_EPRECOND,
 * as if another writer had been first: the object is read again, and what is stored already needs no PUT. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "storage/store.h"

struct bkt_tape;

/** An empty tape.  @p every_thread: requests of other threads count, too; else only those of the calling
 * thread. NULL: out of memory. */
struct bkt_tape *bkt_tape_new(bool every_thread);
void bkt_tape_free(struct bkt_tape *t);

/** One tape at a time records or plays in a process.  The calls are made by one thread (HDF5's lock). */
void bkt_tape_record(struct bkt_tape *t);
void bkt_tape_play(struct bkt_tape *t);
/** End either.  After recording, wait for requests under way that the tape is to have. */
void bkt_tape_stop(struct bkt_tape *t);
/** A tape records or plays; written by recorded_requests.c only.  Without a tape, a request reads
 *  only this and takes no lock.  A lock that some thread holds at fork() would stay locked in the child. */
extern atomic_bool bkt_tape_on;
static inline bool bkt_tape_is_on(void)
{
    return atomic_load(&bkt_tape_on);
}

/** Append the recorded requests and their outcomes.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_tape_emit(const struct bkt_tape *t, struct bkt_buf *out);
/** Add the outcomes of other processes' requests to a tape that records.  Without memory
 * they are left out. */
void bkt_tape_add(struct bkt_tape *t, const struct bkt_buf *outcomes);
/** Add recorded requests.  @p b from another process of the program; BKT_EFORMAT. */
BKT_NODISCARD int bkt_tape_parse(struct bkt_tape *t, const struct bkt_buf *b, struct bkt_err *err);

/* ---- for storage/store.c and store_wait.c ---- */

/** A request begins while bkt_tape_is_on().  True: it has ended with a recorded outcome, which the caller
 * delivers. */
bool bkt_tape_begin(struct bkt_store *st, struct bkt_req *req);
/** A request of bkt_req.tape ends. */
void bkt_tape_end(struct bkt_store *st, struct bkt_req *req);

/** A list while a tape records: @p each of the caller, and what it gets, for the tape. */
struct bkt_tape_list {
    struct bkt_tape *tape; /* NULL: no tape records */
    struct bkt_buf entries;
    bkt_list_each_fn *each;
    void *arg;
    bool failed;
};
/** A list begins.  True: it is on the tape; @p rc is its result, and @p each was called for its entries. */
bool bkt_tape_list_begin(struct bkt_tape_list *l, struct bkt_store *st, const char *what,
                         bkt_list_each_fn *each, void *arg, int *rc, struct bkt_err *err);
int bkt_tape_list_each(const struct bkt_listed *entry, void *list); /* instead of the caller's each */
void bkt_tape_list_end(struct bkt_tape_list *l, struct bkt_store *st, const char *what, int rc,
                       const struct bkt_err *err);
