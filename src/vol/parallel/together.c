#include "vol/parallel/together.h"

#include "base/trace.h"
#include "storage/recorded_requests.h"
#include "storage/shared_puts.h"

struct call {
    struct bkt_comm *comm;
    struct bkt_recording *recording;
    struct bkt_shared_puts *shared_puts; /* NULL: the first process sends all requests */
    bkt_together_fn *fn;
    void *arg;
};

static void call_fini(struct call *c)
{
    bkt_shared_puts_free(c->shared_puts);
    bkt_recording_free(c->recording);
}

static int first(struct call *c, int *own, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    bkt_recording_record(c->recording);
    if (c->shared_puts)
        bkt_shared_puts_begin(c->shared_puts, c->recording);
    *own = c->fn(c->arg, err);
    if (c->shared_puts)
        rc = bkt_shared_puts_end(c->shared_puts, &why);
    bkt_recording_stop(c->recording);
    if (bkt_recording_emit(c->recording, &bytes) < 0)
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
    if (c->shared_puts)
        BKT_PASS(bkt_shared_puts_serve(c->shared_puts, err));
    BKT_PASS(bkt_comm_bcast_buf(c->comm, 0, &bytes, err));
    struct bkt_err why = {.n = 0};
    int rc = bkt_recording_parse(c->recording, &bytes, &why);
    if (rc == BKT_EFORMAT) /* another version: this process would not get the state of the first one */
        return bkt_err_copy(err, rc, &why);
    if (rc < 0)
        bkt_trace(BKT_TRACE_VOL, "outcomes of the first process can't be used: %s", bkt_err_reason(&why, rc));
    bkt_recording_play(c->recording);
    *own = c->fn(c->arg, err);
    bkt_recording_stop(c->recording);
    return *own;
}

/* @param st  as for bkt_together_put(); NULL: requests of every thread count, and nothing is spread */
static int together(struct call *c, struct bkt_store *st, int *own, struct bkt_err *err)
{
    if (!c->comm || bkt_recording_is_on())
        return *own = c->fn(c->arg, err);
    c->recording = bkt_recording_new(!st);
    c->shared_puts = st ? bkt_shared_puts_new(c->comm, st) : NULL;
    *own = BKT_ENOMEM;
    bool have = c->recording && (!st || c->shared_puts);
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
    int rc = bkt_comm_is_first(c) || bkt_recording_is_on() ? fn(arg, err) : BKT_OK;
    return bkt_comm_agree(bkt_recording_is_on() ? NULL : c, rc, err);
}
