#include "vol/parallel/together.h"

#include "base/trace.h"
#include "storage/recorded_requests.h"
#include "storage/shared_puts.h"

struct call {
    struct bkt_comm *comm;
    struct bkt_tape *tape;
    struct bkt_spread *spread; /* NULL: the first process sends all requests */
    bkt_together_fn *fn;
    void *arg;
};

static void call_fini(struct call *c)
{
    bkt_spread_free(c->spread);
    bkt_tape_free(c->tape);
}

static int first(struct call *c, int *own, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    bkt_tape_record(c->tape);
    if (c->spread)
        bkt_spread_begin(c->spread, c->tape);
    *own = c->fn(c->arg, err);
    if (c->spread)
        rc = bkt_spread_end(c->spread, &why);
    bkt_tape_stop(c->tape);
    if (bkt_tape_emit(c->tape, &bytes) < 0)
        bkt_buf_clear(&bytes); /* the others ask the store themselves */
    bkt_trace(BKT_TRACE_VOL, "%zu bytes of outcomes go to %u processes", bytes.len, c->comm->size - 1);
    if (rc == BKT_OK)
        rc = bkt_comm_bcast_buf(c->comm, 0, &bytes, &why);
    if (rc < 0 && *own == BKT_OK)
        return bkt_err_copy(err, rc, &why);
    return *own;
}

static int other(struct call *c, int *own, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    *own = BKT_ECANCEL;
    if (c->spread)
        BKT_PASS(bkt_spread_serve(c->spread, err));
    BKT_PASS(bkt_comm_bcast_buf(c->comm, 0, &bytes, err));
    if (bkt_tape_parse(c->tape, &bytes, NULL) < 0)
        bkt_trace(BKT_TRACE_VOL, "outcomes of the first process can't be used");
    bkt_tape_play(c->tape);
    *own = c->fn(c->arg, err);
    bkt_tape_stop(c->tape);
    return *own;
}

/* @param st  as for bkt_together_put(); NULL: requests of every thread count, and nothing is spread */
static int together(struct call *c, struct bkt_store *st, int *own, struct bkt_err *err)
{
    if (!c->comm || bkt_tape_is_on())
        return *own = c->fn(c->arg, err);
    c->tape = bkt_tape_new(!st);
    c->spread = st ? bkt_spread_new(c->comm, st) : NULL;
    *own = BKT_ENOMEM;
    bool have = c->tape && (!st || c->spread);
    BKT_PASS(bkt_comm_agree(c->comm, have ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err));
    int rc = c->comm->rank == 0 ? first(c, own, err) : other(c, own, err);
    return bkt_comm_agree(c->comm, rc, err);
}

int bkt_together(struct bkt_comm *c, bkt_together_fn *fn, void *arg, int *own, struct bkt_err *err)
{
    int here = BKT_OK;
    BKT_CLEANUP(call_fini) struct call call = {.comm = c, .fn = fn, .arg = arg};
    return together(&call, NULL, own ? own : &here, err);
}

int bkt_together_put(struct bkt_comm *c, struct bkt_store *st, bkt_together_fn *fn, void *arg,
                     struct bkt_err *err)
{
    int here = BKT_OK;
    BKT_CLEANUP(call_fini) struct call call = {.comm = c, .fn = fn, .arg = arg};
    return together(&call, st, &here, err);
}

int bkt_by_first(struct bkt_comm *c, bkt_together_fn *fn, void *arg, struct bkt_err *err)
{
    int rc = bkt_comm_is_first(c) || bkt_tape_is_on() ? fn(arg, err) : BKT_OK;
    return bkt_comm_agree(bkt_tape_is_on() ? NULL : c, rc, err);
}
