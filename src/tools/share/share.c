#include "tools/share/share.h"

#include <stdlib.h>

#include "base/trace.h"
#include "tools/share/processes.h"
#include "tools/share/share_impl.h"

/* Units that another process has at once: the next one is there when it has done the first. */
#define AHEAD 2

struct bkt_share_unit {
    struct bkt_share_unit *next;
    struct bkt_buf bytes;
};

static struct bkt_share *now; /* the sharing that is open */
static uint64_t *done;        /* units that each process has done, in all sharings */

/* ---- the list ---- */

static void unit_free(struct bkt_share_unit *u)
{
    if (u)
        bkt_buf_fini(&u->bytes);
    free(u);
}

static struct bkt_share_unit *pop(struct bkt_share *s)
{
    struct bkt_share_unit *u = s->head;
    if (u) {
        s->head = u->next;
        s->last = s->head ? s->last : NULL;
        s->n_waiting--;
    }
    return u;
}

static int push(struct bkt_share *s, const struct bkt_buf *unit, struct bkt_err *err)
{
    struct bkt_share_unit *u = calloc(1, sizeof *u);
    if (!u || bkt_buf_add(&u->bytes, unit->ptr, unit->len) < 0) {
        unit_free(u);
        BKT_NOMEM(err);
    }
    if (s->last)
        s->last->next = u;
    else
        s->head = u;
    s->last = u;
    s->n_waiting++;
    return BKT_OK;
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
    while (s->head)
        unit_free(pop(s));
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
        if (n && text && !text[n - 1])
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

/* A second unit waits at a process only while many are left: the last ones go to whichever process is free.
 */
static int deal(struct bkt_share *s, struct bkt_err *err)
{
    const unsigned size = bkt_processes_size();
    for (unsigned had = 0; had < AHEAD; had++)
        for (unsigned r = 1; r < size && s->n_waiting > (had ? size : 0); r++) {
            if (s->under_way[r] != had)
                continue;
            struct bkt_share_unit *u = pop(s);
            int rc = bkt_msg_send(r, BKT_MSG_UNIT, 0, u->bytes.ptr, u->bytes.len, err);
            unit_free(u);
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
    struct bkt_share_unit *u = pop(s);
    struct bkt_rd r = bkt_rd_of(u->bytes.ptr, u->bytes.len);
    int rc = s->work(s->arg, &r, &result, &why);
    if (rc >= 0) {
        done[0]++;
        r = bkt_rd_of(result.ptr, result.len);
        rc = s->rc < 0 && !s->salvage ? BKT_OK : s->take(s->arg, &r, &why);
    }
    unit_free(u);
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

int bkt_share_news(struct bkt_share *s, const struct bkt_buf *news, struct bkt_err *err)
{
    (void)s;
    for (unsigned r = 1; r < bkt_processes_size(); r++)
        BKT_PASS(bkt_msg_send(r, BKT_MSG_NEWS, 0, news->ptr, news->len, err));
    return BKT_OK;
}

int bkt_share_put(struct bkt_share *s, const struct bkt_buf *unit, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    if (s->rc == BKT_OK)
        BKT_PASS(push(s, unit, err));
    (void)hear_once(s);
    int rc = s->rc < 0 || !bkt_processes_several() ? BKT_OK : deal(s, &why);
    if (rc < 0)
        fail(s, rc, &why);
    while (s->rc == BKT_OK && s->n_waiting > s->most) {
        work_on_one(s);
        (void)hear_once(s);
    }
    return s->rc < 0 ? bkt_err_copy(err, s->rc, &s->err) : BKT_OK;
}

int bkt_share_turn(struct bkt_share *s, struct bkt_err *err)
{
    int rc = hear_once(s);
    if (s->rc == BKT_OK && s->n_waiting)
        work_on_one(s);
    else if (!rc)
        bkt_msg_rest(0);
    return s->rc < 0 ? bkt_err_copy(err, s->rc, &s->err) : BKT_OK;
}

static void wait_for_all(struct bkt_share *s)
{
    for (unsigned tries = 0; s->n_waiting || s->n_under_way;) {
        struct bkt_err why = {.n = 0};
        int rc = hear_once(s);
        if (rc < 0) /* MPI fails: nobody answers any more */
            return;
        tries = rc > 0 ? 0 : tries + 1;
        if (s->n_waiting)
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
    struct bkt_err why = {.n = 0};
    if (rc < 0 && now == s) {
        struct bkt_err own = {.n = 0};
        fail(s, rc, err ? err : &own);
    }
    if (now == s)
        wait_for_all(s);
    now = NULL;
    for (unsigned r = 1; s->rc < 0 && r < bkt_processes_size(); r++)
        if (bkt_msg_send(r, BKT_MSG_RESUME, 0, NULL, 0, &why) < 0)
            break;
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

/* Messages that came in the middle of a unit. */
static struct waiting {
    struct waiting *next;
    struct bkt_msg m;
} * head, *last;
static bool stopped; /* a unit of some process has failed */
static bool over;

static int keep(struct bkt_msg *m, struct bkt_err *err)
{
    struct waiting *w = calloc(1, sizeof *w);
    if (!w) {
        bkt_msg_fini(m);
        BKT_NOMEM(err);
    }
    w->m = *m; /* body points to the bytes, which stay */
    if (last)
        last->next = w;
    else
        head = w;
    last = w;
    return BKT_OK;
}

static bool take_kept(struct bkt_msg *m)
{
    struct waiting *w = head;
    if (!w)
        return false;
    *m = w->m;
    head = w->next;
    last = head ? last : NULL;
    free(w);
    return true;
}

static int serve_look(struct bkt_err *err)
{
    struct bkt_msg m;
    int rc;
    BKT_PASS(bkt_msg_send_long_text(err));
    while ((rc = bkt_msg_poll(&m, err)) > 0) {
        stopped |= m.kind == BKT_MSG_STOP;
        BKT_PASS(keep(&m, err));
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
        if (!take_kept(&m))
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
