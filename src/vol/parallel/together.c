#include "vol/parallel/together.h"

#include "base/trace.h"
#include "storage/tape.h"

static int first(struct bkt_comm *c, struct bkt_tape *t, bkt_together_fn *fn, void *arg, int *own,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    struct bkt_err why = {.n = 0};
    bkt_tape_record(t);
    *own = fn(arg, err);
    bkt_tape_stop(t);
    if (bkt_tape_emit(t, &bytes) < 0)
        bkt_buf_clear(&bytes); /* the others ask the store themselves */
    bkt_trace(BKT_TRACE_VOL, "%zu bytes of outcomes go to %u processes", bytes.len, c->size - 1);
    int rc = bkt_comm_bcast_buf(c, 0, &bytes, &why);
    if (rc < 0 && *own == BKT_OK)
        return bkt_err_copy(err, rc, &why);
    return *own;
}

static int other(struct bkt_comm *c, struct bkt_tape *t, bkt_together_fn *fn, void *arg, int *own,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    *own = BKT_ECANCEL;
    BKT_PASS(bkt_comm_bcast_buf(c, 0, &bytes, err));
    if (bkt_tape_parse(t, &bytes, NULL) < 0)
        bkt_trace(BKT_TRACE_VOL, "outcomes of the first process can't be used");
    bkt_tape_play(t);
    *own = fn(arg, err);
    bkt_tape_stop(t);
    return *own;
}

int bkt_together(struct bkt_comm *c, bool every_thread, bkt_together_fn *fn, void *arg, int *own,
                 struct bkt_err *err)
{
    int here = BKT_OK;
    own = own ? own : &here;
    if (!c || bkt_tape_is_on())
        return *own = fn(arg, err);
    struct bkt_tape *t = bkt_tape_new(every_thread);
    *own = BKT_ENOMEM;
    int rc = bkt_comm_agree(c, t ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err);
    if (rc == BKT_OK) {
        rc = c->rank == 0 ? first(c, t, fn, arg, own, err) : other(c, t, fn, arg, own, err);
        rc = bkt_comm_agree(c, rc, err);
    }
    bkt_tape_free(t);
    return rc;
}

int bkt_by_first(struct bkt_comm *c, bkt_together_fn *fn, void *arg, struct bkt_err *err)
{
    int rc = bkt_comm_is_first(c) || bkt_tape_is_on() ? fn(arg, err) : BKT_OK;
    return bkt_comm_agree(bkt_tape_is_on() ? NULL : c, rc, err);
}
