#include "tools/share/share.h"

#include <stdlib.h>

#include "base/trace.h"
#include "tools/share/processes.h"
#include "tools/share/share_impl.h"

/* Units that another process has at once: the next one is there when it has done the first. */
#define AHEAD 2

struct bkt_share_queued {
    struct bkt_share_queued *next;
    struct bkt_msg m;
};

static struct bkt_share *now; /* the sharing that is open */
static uint64_t *done;        /* units that each process has done, in all sharings */

/* ---- the queue ---- */

/* @p m is taken over, also on failure. */
static int push(struct bkt_share_queue *q, struct bkt_msg *m, struct bkt_err *err)
{
    struct bkt_share_queued *x = calloc(1, sizeof *x);
    if (!x) {
        bkt_msg_fini(m);
        BKT_NOMEM(err);
    }
    x->m = *m; /* body points to the bytes, which stay */
    *(q->last ? &q->last->next : &q->head) = x;
    q->last = x;
    q->n++;
    return BKT_OK;
}

static bool pop(struct bkt_share_queue *q, struct bkt_msg *m)
{
    struct bkt_share_queued *x = q->head;
    if (!x)
        return false;
    *m = x->m;
    q->head = x->next;
    q->last = q->head ? q->last : NULL;
    q->n--;
    free(x);
    return true;
}

/* ---- failures ---- */

/* The first failure counts.  It stops all other processes, and waiting units are dropped. */
static void fail(struct bkt_share *s, int rc, const struct bkt_err *why)
{
    if (s->rc < 0)
        return;
    s->rc = rc;
    (void)bkt_err_copy(&s->err, rc, why);
    for (unsigned r = 1; r < bkt_processes_size(); r++)
        if (bkt_msg_send(r, BKT_MSG_STOP, 0, NULL, 0, NULL) < 0)
            bkt_trace(BKT_TRACE_VOL, "process %u can't be stopped", r);
    for (struct bkt_msg unit; pop(&s->waiting, &unit);)
        bkt_msg_fini(&unit);
}

/* ---- messages ---- */

static void on_result(struct bkt_share *s, struct bkt_msg *m)
{
    struct bkt_err why = {.n = 0};
    if (m->from >= bkt_processes_size() || !s->under_way[m->from])
        return;
    s->under_way[m->from]--;
    s->n_under_way--;
    if (m->code < 0) {
        size_t n = bkt_rd_left(&m->body);
        const char *text = bkt_rd_take(&m->body, n);
        bkt_err_unpack(&why, (int)m->code, text, n);
        (void)BKT_ERR(&why, (int)m->code, "reported by process %u", m->from);
        fail(s, (int)m->code, &why);
        return;
    }
    done[m->from]++;
    int rc = s->rc < 0 && !s->salvage ? BKT_OK : s->take(s->arg, &m->body, &why);
    if (rc < 0)
        fail(s, rc, &why);
}

/* A second unit waits at a process only while many are left: any process that is free gets the last ones. */
static int deal(struct bkt_share *s, struct bkt_err *err)
{
    const unsigned size = bkt_processes_size();
    for (unsigned had = 0; had < AHEAD; had++)
        for (unsigned r = 1; r < size && s->waiting.n > (had ? size : 0); r++) {
            if (s->under_way[r] != had)
                continue;
            struct bkt_msg u = {.kind = BKT_MSG_UNIT};
            (void)pop(&s->waiting, &u);
            int rc = bkt_msg_send(r, BKT_MSG_UNIT, 0, u.bytes.ptr, u.bytes.len, err);
            bkt_msg_fini(&u);
            if (rc < 0)
                return rc;
            s->under_way[r]++;
            s->n_under_way++;
        }
    return BKT_OK;
}

/* 1: there was a message. */
static int hear(struct bkt_share *s, struct bkt_err *err)
{
    struct bkt_msg m;
    int any = 0, rc;
    while ((rc = bkt_msg_poll(&m, err)) > 0) {
        any = 1;
        if (m.kind == BKT_MSG_RESULT)
            on_result(s, &m);
        bkt_msg_fini(&m);
        BKT_PASS(deal(s, err));
    }
    return rc < 0 ? rc : any;
}

static int hear_once(struct bkt_share *s)
{
    struct bkt_err why = {.n = 0};
    if (s->hearing || !bkt_processes_several())
        return 0;
    s->hearing = true;
    int rc = hear(s, &why);
    s->hearing = false;
    if (rc < 0)
        fail(s, rc, &why);
    return rc;
}

static int share_hear(struct bkt_err *err)
{
    if (!now || now->hearing)
        return BKT_OK;
    (void)hear_once(now);
    return now->rc < 0 ? bkt_err_copy(err, now->rc, &now->err) : BKT_OK;
}

/* ---- work ---- */

static void work_on_one(struct bkt_share *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf result = {0};
    struct bkt_err why = {.n = 0};
    struct bkt_msg u = {.kind = BKT_MSG_UNIT};
    (void)pop(&s->waiting, &u);
    struct bkt_rd r = bkt_rd_of(u.bytes.ptr, u.bytes.len);
    int rc = s->work(s->arg, &r, &result, &why);
    if (rc >= 0) {
        done[0]++;
        r = bkt_rd_of(result.ptr, result.len);
        rc = s->rc < 0 && !s->salvage ? BKT_OK : s->take(s->arg, &r, &why);
    }
    bkt_msg_fini(&u);
    if (rc < 0)
        fail(s, rc, &why);
}

int bkt_share_begin(struct bkt_share *s, struct bkt_err *err)
{
    s->under_way = calloc(bkt_processes_size(), sizeof *s->under_way);
    done = done ? done : calloc(bkt_processes_size(), sizeof *done);
    BKT_NEED(err, s->under_way && done);
    s->most = s->most ? s->most : bkt_processes_size();
    now = s;
    return BKT_OK;
}

int bkt_share_news(const struct bkt_buf *news, struct bkt_err *err)
{
    return bkt_msg_to_all(BKT_MSG_NEWS, 0, news->ptr, news->len, err);
}

int bkt_share_put(struct bkt_share *s, const struct bkt_buf *unit, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    struct bkt_msg m = {.kind = BKT_MSG_UNIT};
    if (s->rc == BKT_OK) {
        BKT_PASS_MEM(err, bkt_buf_add(&m.bytes, unit->ptr, unit->len));
        BKT_PASS(push(&s->waiting, &m, err));
    }
    (void)hear_once(s);
    int rc = s->rc < 0 || !bkt_processes_several() ? BKT_OK : deal(s, &why);
    if (rc < 0)
        fail(s, rc, &why);
    while (s->rc == BKT_OK && s->waiting.n > s->most) {
        work_on_one(s);
        (void)hear_once(s);
    }
    return s->rc < 0 ? bkt_err_copy(err, s->rc, &s->err) : BKT_OK;
}

int bkt_share_turn(struct bkt_share *s, struct bkt_err *err)
{
    int rc = hear_once(s);
    if (s->rc == BKT_OK && s->waiting.n)
        work_on_one(s);
    else if (!rc)
        bkt_msg_rest(0);
    return s->rc < 0 ? bkt_err_copy(err, s->rc, &s->err) : BKT_OK;
}

static void wait_for_all(struct bkt_share *s)
{
    for (unsigned tries = 0; s->waiting.n || s->n_under_way;) {
        struct bkt_err why = {.n = 0};
        int rc = hear_once(s);
        if (rc < 0) /* MPI fails: nobody answers any more */
            return;
        tries = rc > 0 ? 0 : tries + 1;
        if (s->waiting.n)
            work_on_one(s);
        else if (s->n_under_way && !rc)
            bkt_msg_rest(tries);
        if (s->rc == BKT_OK && s->check && (rc = s->check(&why)) < 0)
            fail(s, rc, &why);
    }
}

static void trace_units(void)
{
    for (unsigned r = 0; bkt_processes_several() && r < bkt_processes_size(); r++)
        bkt_trace(BKT_TRACE_VOL, "process %u has done %llu units", r, (unsigned long long)done[r]);
}

int bkt_share_finish(struct bkt_share *s, int rc, struct bkt_err *err)
{
    if (rc < 0 && now == s) {
        struct bkt_err own = {.n = 0};
        fail(s, rc, err ? err : &own);
    }
    if (now == s)
        wait_for_all(s);
    now = NULL;
    if (s->rc < 0 && bkt_msg_to_all(BKT_MSG_RESUME, 0, NULL, 0, NULL) < 0)
        bkt_trace(BKT_TRACE_VOL, "the other processes can't be resumed");
    free(s->under_way);
    s->under_way = NULL;
    trace_units();
    if (s->rc == BKT_OK)
        return rc;
    if (err && err != &s->err)
        bkt_err_clear(err);
    return bkt_err_copy(err, s->rc, &s->err);
}

/* ---- the other processes: they work on units until the first one has ended its verb ---- */

static struct bkt_share_queue kept; /* messages that came in the middle of a unit */
static bool stopped; /* a unit of some process has failed */
static bool over;

static int serve_look(struct bkt_err *err)
{
    struct bkt_msg m;
    int rc;
    BKT_PASS(bkt_msg_send_long_text(err));
    while ((rc = bkt_msg_poll(&m, err)) > 0) {
        stopped |= m.kind == BKT_MSG_STOP;
        BKT_PASS(push(&kept, &m, err));
    }
    BKT_PASS(rc);
    BKT_FAIL_IF(err, stopped, BKT_ECANCEL, "stopped, since another process has failed");
    return BKT_OK;
}

static int answer(int rc, const struct bkt_buf *result, const struct bkt_err *why, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (rc >= 0)
        return bkt_msg_send(0, BKT_MSG_RESULT, rc, result->ptr, result->len, err);
    if (bkt_err_pack(why, &text) < 0)
        bkt_buf_clear(&text);
    return bkt_msg_send(0, BKT_MSG_RESULT, rc, text.ptr, text.len, err);
}

/* The state of this process between the units of a verb. */
struct serving {
    const struct bkt_share_other *o; /* NULL: it can't work */
    int news_rc;                     /* a failure to use the news; each later unit fails with it */
    struct bkt_err news_err;
};

static int on_unit(struct serving *s, struct bkt_rd *unit, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf result = {0};
    struct bkt_err why = {.n = 0};
    int rc;
    if (stopped)
        rc = BKT_ERR(&why, BKT_ECANCEL, "stopped, since another process has failed");
    else if (!s->o)
        rc = BKT_ERR(&why, BKT_EINVAL, "the process could not begin");
    else if (s->news_rc < 0)
        rc = bkt_err_copy(&why, s->news_rc, &s->news_err);
    else
        rc = s->o->work(s->o->arg, unit, &result, &why);
    return answer(rc, &result, &why, err);
}

static void on_news(struct serving *s, struct bkt_rd *news)
{
    bkt_err_clear(&s->news_err);
    s->news_rc = s->o && s->o->news ? s->o->news(s->o->arg, news, &s->news_err) : BKT_OK;
}

static int handle(struct serving *s, struct bkt_msg *m, struct bkt_err *err)
{
    switch (m->kind) {
    case BKT_MSG_UNIT:
        return on_unit(s, &m->body, err);
    case BKT_MSG_NEWS:
        on_news(s, &m->body);
        return BKT_OK;
    case BKT_MSG_STOP:
        stopped = true;
        return BKT_OK;
    case BKT_MSG_RESUME:
        stopped = false;
        return BKT_OK;
    default:
        over |= m->kind == BKT_MSG_OVER;
        return BKT_OK;
    }
}

static int serve(const struct bkt_share_other *o, struct bkt_err *err)
{
    struct serving s = {.o = o};
    while (!over) {
        struct bkt_msg m;
        if (!pop(&kept, &m))
            BKT_PASS(bkt_msg_wait(&m, err));
        int rc = handle(&s, &m, err);
        bkt_msg_fini(&m);
        BKT_PASS(rc);
    }
    return BKT_OK;
}

int bkt_share_serve(const struct bkt_share_other *o, struct bkt_err *err)
{
    return bkt_processes_several() && !bkt_processes_first() ? serve(o, err) : BKT_OK;
}

int bkt_serve_end(struct bkt_err *err)
{
    return serve(NULL, err);
}

int bkt_share_step(struct bkt_err *err)
{
    if (!bkt_processes_several())
        return BKT_OK;
    return bkt_processes_first() ? share_hear(err) : serve_look(err);
}
