/* Work that several processes share.
 *
 * A unit is a few bytes that say what to do: a file's number, a range of chunks.  The first process puts
 * units; whichever process is free works on them, the first one, too.  Each result goes to the first process.
 * Units must not depend on each other.
 *
 *     bkt_share_begin(&s);                         the others: bkt_share_serve(&other)
 *     bkt_share_news(&bytes, err);
 *     rc = bkt_share_put(&s, &unit, err); ...
 *     rc = bkt_share_finish(&s, rc, err);
 *
 * Messages are handled in these calls, and at each step of the work (bkt_share_step()).  If a unit fails, all
 * processes stop at their next step, and bkt_share_finish() returns that failure. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

/** Fail if @p bad: bytes of another process are not what this version sends.  @p what: a string constant. */
#define BKT_FAIL_IF_MALFORMED(err, bad, what)                                                                \
    BKT_FAIL_IF(err, bad, BKT_EFORMAT,                                                                       \
                what " of another process: malformed; all processes must run the same version")

/** Work on a unit.  @p unit: from another process of the program; @p result: empty, gets the result. */
typedef int bkt_share_work_fn(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err);
/** Take a result, in the first process, in any order. */
typedef int bkt_share_take_fn(void *arg, struct bkt_rd *result, struct bkt_err *err);
/** Get news that units need, in the other processes. */
typedef int bkt_share_news_fn(void *arg, struct bkt_rd *news, struct bkt_err *err);

/** Messages, or units that wait, in the order in which they came. */
struct bkt_share_queue {
    struct bkt_share_queued *head, *last;
    size_t n;
};

/** The side of the first process. */
struct bkt_share {
    bkt_share_work_fn *work;
    bkt_share_take_fn *take;
    void *arg;
    size_t most;  /* units that may wait; more are worked on at once.  0: as many as there are processes */
    bool salvage; /* take results after a failure, too */
    int (*check)(struct bkt_err *err); /* negative: the user wants to stop */

    /* inside */
    struct bkt_share_queue waiting;   /* units */
    unsigned *under_way, n_under_way; /* units that another process has, by rank */
    int rc;
    struct bkt_err err;
    bool hearing;
};

/** Begin.  One sharing at a time.  In a process alone, put and finish work on the units. */
BKT_NODISCARD int bkt_share_begin(struct bkt_share *s, struct bkt_err *err);
/** Pass bytes to all others, before the units that need them. */
BKT_NODISCARD int bkt_share_news(const struct bkt_buf *news, struct bkt_err *err);
/** Add a unit; copied.  A failure of any unit so far is returned here. */
BKT_NODISCARD int bkt_share_put(struct bkt_share *s, const struct bkt_buf *unit, struct bkt_err *err);
/** Work on a waiting unit, or wait a moment for a result: for a caller that waits for take(). */
BKT_NODISCARD int bkt_share_turn(struct bkt_share *s, struct bkt_err *err);
/** Work and wait until all units are done.  Always call it after bkt_share_begin().
 *  @param rc  the caller's outcome so far; a failure stops the others */
BKT_NODISCARD int bkt_share_finish(struct bkt_share *s, int rc, struct bkt_err *err);

/** The side of all others. */
struct bkt_share_other {
    bkt_share_work_fn *work;
    bkt_share_news_fn *news; /* NULL: the units need nothing */
    void *arg;
};
/** Work until the first process has ended its verb.
 *  @return BKT_OK; a failure of MPI */
BKT_NODISCARD int bkt_share_serve(const struct bkt_share_other *o, struct bkt_err *err);

/** Handle messages between steps of the work, for interrupt_also().  Negative: another process has failed. */
int bkt_share_step(struct bkt_err *err);
