/* One process sends requests, and others get the outcomes: a recording of requests with their results.
 *
 * Processes that act together (base/os/comm.h) all run the same code.  The first one runs it while its
 * requests are recorded.  The recording goes to the others, which run the code while it is played: a request
 * that is in it ends at once with the recorded outcome.  Requests are found by store, operation, key, range
 * and condition; equal ones are used in the order of recording.
 *
 * A request that isn't in the recording is sent.  So a process whose state differs stays correct: it costs
 * requests.  For the same reason, a PUT of other bytes than the recorded ones ends as BKT_EPRECOND, as if
 * another writer had been first.  Then the object is read again, and no PUT is made for what is stored.
 *
 * Lists have names, ETags, sizes and times; whether an entry is a symbolic link (bkt_listed.is_link) is left
 * out, as only h5bucket verify asks for it, in one process. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "storage/store.h"

struct bkt_recording;

/** An empty recording.  @p every_thread: requests of other threads count, too; else only those of the calling
 * thread. NULL: out of memory. */
struct bkt_recording *bkt_recording_new(bool every_thread);
void bkt_recording_free(struct bkt_recording *t); /* NULL is allowed */

/** Record requests that begin from now on, until bkt_recording_stop().  One recording at a time is made or
 * played in a process.  The calls are made by one thread (HDF5's lock). */
void bkt_recording_record(struct bkt_recording *t);
/** End requests that are in the recording with its outcomes, until bkt_recording_stop(). */
void bkt_recording_play(struct bkt_recording *t);
/** End either.  After recording, wait for requests under way that belong to it. */
void bkt_recording_stop(struct bkt_recording *t);
/** A recording is made or played; written by recorded_requests.c only.  Without a recording, a request reads
 *  only this and takes no lock.  A lock that some thread holds at fork() would stay locked in the child. */
extern atomic_bool bkt_recording_on;
static inline bool bkt_recording_is_on(void)
{
    return atomic_load(&bkt_recording_on);
}

/** Append the recorded requests and their outcomes.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_recording_emit(const struct bkt_recording *t, struct bkt_buf *out);
/** Add the outcomes of other processes' requests to a recording that is being made.  Without memory
 * they are left out. */
void bkt_recording_add(struct bkt_recording *t, const struct bkt_buf *outcomes);
/** Add recorded requests, once for a recording.  @p b from another process of the program is copied.
 * BKT_EFORMAT: malformed; BKT_ENOMEM. */
BKT_NODISCARD int bkt_recording_parse(struct bkt_recording *t, const struct bkt_buf *b, struct bkt_err *err);

/* ---- for storage/store.c and store_wait.c ---- */

/** A request begins while bkt_recording_is_on().  True: it has ended with a recorded outcome, which the
 * caller delivers. */
bool bkt_recording_begin(struct bkt_store *st, struct bkt_req *req);
/** A request of bkt_req.recording ends. */
void bkt_recording_end(struct bkt_store *st, struct bkt_req *req);

/** A list while requests are recorded: @p each of the caller, and what it gets, for the recording. */
struct bkt_recording_list {
    struct bkt_recording *recording; /* NULL: no request is recorded */
    struct bkt_buf entries;
    bkt_list_each_fn *each;
    void *arg;
    bool failed;
};
/** A list begins: fill in @p l.  True: it is in the recording; @p rc is its result, and @p each was called
 * for its entries.  False: if l->recording is set, the list gets bkt_recording_list_each() with @p l, and
 * bkt_recording_list_end() follows. */
bool bkt_recording_list_begin(struct bkt_recording_list *l, struct bkt_store *st, const char *what,
                              bkt_list_each_fn *each, void *arg, int *rc, struct bkt_err *err);
int bkt_recording_list_each(const struct bkt_listed *entry, void *list); /* instead of the caller's each */
/** The list ended with @p rc and @p err: record both and the entries, and free the entries. */
void bkt_recording_list_end(struct bkt_recording_list *l, struct bkt_store *st, const char *what, int rc,
                            const struct bkt_err *err);
