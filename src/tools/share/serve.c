/* The other processes: they work on units until the first one has ended its verb. */
#include <stdlib.h>
#include <string.h>

#include "tools/share/processes.h"
#include "tools/share/share_impl.h"

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

int bkt_serve_look(struct bkt_err *err)
{
    struct bkt_msg m;
    int rc;
    BKT_PASS(bkt_msg_send_long_text(err));
    while ((rc = bkt_msg_poll(&m, err)) > 0) {
        stopped |= m.kind == BKT_MSG_STOP;
        BKT_PASS(keep(&m, err));
    }
    BKT_PASS(rc);
    if (stopped)
        BKT_FAIL(err, BKT_ECANCEL, "stopped, since another process has failed");
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
