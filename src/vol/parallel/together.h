/* Calls that the processes of a group make together: one process sends the requests, all have the outcome.
 *
 * Every process runs the same function.  The first one records its requests
 * (storage/recorded_requests.h), the others play the record.  So their state is the same afterwards, and the
 * store is asked once.  At the end all return the same result, with the same message. */
#pragma once

#include "base/os/comm.h"
#include "storage/store.h"

typedef int bkt_together_fn(void *arg, struct bkt_err *err);

/** Run @p fn in all processes of @p c, with the requests of the first, whichever threads send them.  A call
 * inside of such a call, or with @p c NULL, is an ordinary call of @p fn.
 *  @param own   gets this process's own result of @p fn, for undoing; may be NULL
 *  @return the common result; BKT_EFORMAT: a process doesn't understand the first one's messages */
BKT_NODISCARD int bkt_together(struct bkt_comm *c, bkt_together_fn *fn, void *arg, int *own,
                               struct bkt_err *err);

/** As bkt_together(), for a call that stores: only requests of the calling thread count, and large batches of
 * PUTs to @p st are spread over the processes (storage/shared_puts.h). */
BKT_NODISCARD int bkt_together_put(struct bkt_comm *c, struct bkt_store *st, bkt_together_fn *fn, void *arg,
                                   struct bkt_err *err);

/** Run @p fn in the first process only; the others wait for its result. */
BKT_NODISCARD int bkt_by_first(struct bkt_comm *c, bkt_together_fn *fn, void *arg, struct bkt_err *err);
