/* load of many sources under mpirun: the processes that it started share them. */
#include <stdio.h>

#include "base/os/clock.h"
#include "tools/cli/interrupt.h"
#include "tools/load/load_processes.h"
#include "tools/share/share.h"

#define EVERY 5.0 /* seconds between two lines of progress: a launcher's output is not a terminal */

struct among {
    const struct load_crowd *c;
    int done, failed;
    double shown;
};

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct among *a = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    if (!unit->ok || i >= (uint64_t)a->c->n)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed unit of work");
    bool good = a->c->one(a->c->arg, (int)i) == 0;
    if (!good)
        BKT_PASS(interrupt_check(err)); /* it was stopped: that is the reason */
    return bkt_buf_add_le(result, 1, good) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
}

static int take(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct among *a = arg;
    a->failed += !bkt_rd_le(result, 1);
    a->done++;
    if (!result->ok)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed result");
    if (bkt_clock_now() - a->shown < EVERY)
        return BKT_OK;
    a->shown = bkt_clock_now();
    (void)fprintf(stderr, "%s: %d of %d files\n", a->c->what, a->done, a->c->n);
    return BKT_OK;
}

int load_among(const struct load_crowd *c, int *failed, int *left, struct bkt_err *err)
{
    struct among a = {.c = c, .shown = bkt_clock_now()};
    struct bkt_share s = {.work = work, .take = take, .arg = &a, .check = interrupt_check};
    int rc = bkt_share_begin(&s, err);
    for (int i = 0; i < c->n && rc == BKT_OK; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
        rc = bkt_buf_add_le(&unit, 4, (uint64_t)i) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
                                                       : bkt_share_put(&s, &unit, err);
    }
    rc = bkt_share_finish(&s, rc, err);
    *failed = a.failed;
    *left = c->n - a.done;
    return rc;
}

int load_among_serve(const struct load_crowd *c, struct bkt_err *err)
{
    struct among a = {.c = c};
    struct bkt_share_other o = {.work = work, .arg = &a};
    return bkt_share_serve(&o, err);
}
