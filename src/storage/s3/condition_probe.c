/* A server's behaviour with conditional PUTs, tested once in a process.
 *
 * AWS takes them as in HTTP.  Other servers require the ETag without quotes, answer 501, or ignore the
 * condition and overwrite; some know If-None-Match only.  So two scratch objects are put, put again, and
 * replaced; the requests that must fail are checked to fail.  Their keys are random, so that they do not
 * touch other objects.  They lie below .h5bucket/, or beside the object in question if writing there is not
 * allowed.  They are deleted at the end, without waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/fork.h"
#include "base/random.h"
#include "base/trace.h"
#include "storage/s3/s3_impl.h"

/* A, B: two scratch objects.  The requests of a round go together.  Of the requests that may succeed, at most
 * one goes to each object: some servers refuse a PUT while another PUT of that object is under way. */
enum step { CREATE_A, CREATE_B, CREATE_AGAIN, REPLACE_WRONG, REPLACE_QUOTED, REPLACE_BARE, STEPS };
static const struct {
    enum { NEW, QUOTED, WRONG, BARE } match;
    unsigned object;
} steps[STEPS] = {
    [CREATE_A] = {NEW, 0},          [CREATE_B] = {NEW, 1},        /* round 1: must succeed */
    [CREATE_AGAIN] = {NEW, 0},      [REPLACE_WRONG] = {WRONG, 0}, /* round 2: must fail */
    [REPLACE_QUOTED] = {QUOTED, 1},                               /* but this must succeed, or else round 3 */
    [REPLACE_BARE] = {BARE, 1},
};

struct ask {
    struct bkt_req req;
    struct probe  *p;
    char           match[BKT_ETAG_MAX], id[BKT_PUT_ID], text[80];
};

struct scratch {
    struct bkt_req remove;
    bool           beside; /* its key lies beside the object in question */
    bool           made;
    char           etag[BKT_ETAG_MAX], key[1100];
};

struct probe {
    struct bkt_s3      *s;
    struct bkt_s3_server *server;
    struct ask          ask[STEPS];
    enum step           from, to; /* the round's */
    atomic_uint         left;     /* requests of the round; scratch objects to be deleted */
    struct scratch      scratch[2];
    uint64_t            serial;
    char                beside[1050]; /* begin of keys beside the object in question */
};

static void send_round(struct probe *p, enum step from, enum step to);

/* ---- the result ---- */

static enum bkt_s3_condition known(struct bkt_s3_server *v) /* state locked */
{
    if (v->condition == BKT_COND_ASKING && v->generation != bkt_fork_generation()) {
        v->condition = BKT_COND_UNKNOWN; /* the parent is asking; its answer does not arrive here */
        v->waiting = NULL;
    }
    return v->condition;
}

enum bkt_s3_condition bkt_s3_condition(struct bkt_s3 *s, char *why)
{
    bkt_state_lock();
    enum bkt_s3_condition is = known(s->server);
    if (why)
        memcpy(why, s->server->why, sizeof s->server->why);
    bkt_state_unlock();
    return is;
}

/* ---- asking ---- */

static void probe_free(struct probe *p)
{
    struct bkt_store *st = &p->s->http.base;
    for (size_t i = 0; i < STEPS; i++)
        bkt_req_fini(&p->ask[i].req);
    for (size_t i = 0; i < BKT_COUNT(p->scratch); i++)
        bkt_req_fini(&p->scratch[i].remove);
    free(p);
    bkt_store_leave(st);
}

static void removed(struct bkt_req *req)
{
    struct probe *p = req->arg;
    if (atomic_fetch_sub(&p->left, 1) == 1)
        probe_free(p);
}

/* Delete the scratch objects, without waiting.  If a DELETE fails, its object is left behind. */
static void remove_scratch(struct probe *p)
{
    static const struct bkt_http_call call = {0};
    atomic_store(&p->left, 1);
    for (size_t i = 0; i < BKT_COUNT(p->scratch); i++) {
        struct scratch *x = &p->scratch[i];
        if (!x->made)
            continue;
        atomic_fetch_add(&p->left, 1);
        x->remove = (struct bkt_req){.op = BKT_DELETE, .key = x->key, .done = removed, .arg = p};
        bkt_http_start(&p->s->http, &x->remove, &call);
    }
    if (atomic_fetch_sub(&p->left, 1) == 1)
        probe_free(p);
}

/* End the probe.  @p rc < 0: the behaviour could not be found out; all waiting requests fail with it, and the
 * next request tries again. */
static void conclude(struct probe *p, enum bkt_s3_condition is, const char *why, int rc,
                     const struct bkt_err *err)
{
    struct bkt_s3_server *v = p->server;
    bkt_state_lock();
    v->condition = rc < 0 ? BKT_COND_UNKNOWN : is;
    (void)snprintf(v->why, sizeof v->why, "%s", why);
    struct bkt_req *w = v->waiting;
    v->waiting = NULL;
    bkt_state_unlock();
    bkt_trace(BKT_TRACE_STORE, "%s: conditional PUT is %s", p->s->http.base.uri,
              rc < 0 ? "unknown" : is == BKT_COND_QUOTED ? "quoted" : is == BKT_COND_BARE ? "bare" : why);
    for (struct bkt_req *next; w; w = next) {
        struct bkt_s3 *s = w->impl;
        next             = w->next;
        w->next          = NULL;
        w->impl          = NULL;
        if (rc < 0) {
            w->rc = bkt_err_copy(bkt_req_err(w), rc, err);
            bkt_store_finish(&s->http.base, w);
        } else {
            bkt_s3_change(&s->http.base, w);
        }
    }
    remove_scratch(p);
}

static bool refuses(const struct probe *p, enum step k)
{
    int rc = p->ask[k].req.rc;
    return rc == BKT_EPRECOND || rc == BKT_EUNSUP || rc == BKT_EINVAL;
}

/* Note the scratch objects that round 1 has created. */
static void note_made(struct probe *p)
{
    for (size_t i = 0; i < BKT_COUNT(p->scratch); i++) {
        const struct bkt_req *q = &p->ask[CREATE_A + i].req;
        p->scratch[i].made |= q->rc == BKT_OK;
        if (q->rc == BKT_OK)
            memcpy(p->scratch[i].etag, q->etag, sizeof p->scratch[i].etag);
    }
}

static bool has_etags(const struct probe *p) { return p->scratch[0].etag[0] && p->scratch[1].etag[0]; }

/* Judge a round when all its requests have been answered. */
static void judge(struct probe *p)
{
    bool denied =
        p->from == CREATE_A && p->ask[CREATE_A].req.rc == BKT_EACCES && p->ask[CREATE_B].req.rc == BKT_EACCES;
    if (p->from == CREATE_A)
        note_made(p);
    if (denied && !p->scratch[0].beside) {
        send_round(p, CREATE_A, CREATE_B);
        return;
    }
    for (enum step k = p->from; k <= p->to; k++)
        if (p->ask[k].req.rc < 0 &&
            !refuses(p, k)) { /* the network, or no permission: not the server's kind */
            conclude(p, BKT_COND_UNKNOWN, "", p->ask[k].req.rc, p->ask[k].req.err);
            return;
        }
    if (p->from == CREATE_A && !refuses(p, CREATE_A) && !refuses(p, CREATE_B) && has_etags(p))
        send_round(p, CREATE_AGAIN, REPLACE_QUOTED);
    else if (p->from == CREATE_A)
        conclude(p, BKT_COND_NONE, "it refuses If-None-Match", BKT_OK, NULL);
    else if (!refuses(p, CREATE_AGAIN))
        conclude(p, BKT_COND_NONE, "it ignores If-None-Match", BKT_OK, NULL);
    else if (!refuses(p, REPLACE_WRONG))
        conclude(p, BKT_COND_NONE, "it ignores If-Match", BKT_OK, NULL);
    else if (!refuses(p, REPLACE_QUOTED))
        conclude(p, BKT_COND_QUOTED, "", BKT_OK, NULL);
    else if (p->from != REPLACE_BARE)
        send_round(p, REPLACE_BARE, REPLACE_BARE);
    else if (refuses(p, REPLACE_BARE))
        conclude(p, BKT_COND_NONE, "it refuses If-Match", BKT_OK, NULL);
    else
        conclude(p, BKT_COND_BARE, "", BKT_OK, NULL);
}

static void answered(struct bkt_req *req)
{
    struct probe *p = ((struct ask *)req->arg)->p;
    if (atomic_fetch_sub(&p->left, 1) == 1)
        judge(p);
}

static void send(struct probe *p, enum step k)
{
    struct ask     *a = &p->ask[k];
    struct scratch *x = &p->scratch[steps[k].object];
    size_t          n;
    const char     *bare = bkt_etag_bare(x->etag, &n);
    const char *const match[] = {
        [NEW] = "", [QUOTED] = x->etag, [WRONG] = "\"00000000000000000000000000000000\"", [BARE] = bare};
    a->p = p;
    (void)snprintf(a->match, sizeof a->match, "%.*s", steps[k].match == BARE ? (int)n : BKT_ETAG_MAX,
                   match[steps[k].match]);
    struct bkt_http_call call = {.put_id = a->id};
    (void)snprintf(a->id, sizeof a->id, "%016llx", (unsigned long long)bkt_random());
    (void)snprintf(a->text, sizeof a->text, "h5bucket: a test of conditional PUT, step %u; may be deleted\n",
                   (unsigned)k);
    bkt_req_fini(&a->req);
    a->req = (struct bkt_req){.op = BKT_PUT,
                              .key = x->key,
                              .put = a->text,
                              .put_len = strlen(a->text),
                              .if_match = a->match[0] ? a->match : NULL,
                              .if_none_match = a->match[0] ? NULL : "*",
                              .done = answered,
                              .arg = a};
    bkt_http_start(&p->s->http, &a->req, &call);
}

/* Send a round.  With @p from CREATE_A the scratch objects lie below .h5bucket/, and if that has been denied,
 * beside the object in question. */
static void send_round(struct probe *p, enum step from, enum step to)
{
    for (size_t i = 0; from == CREATE_A && i < BKT_COUNT(p->scratch); i++) {
        struct scratch *x = &p->scratch[i];
        x->beside         = x->key[0];
        (void)snprintf(x->key, sizeof x->key, "%s%016llx%s", x->beside ? p->beside : ".h5bucket/probe-",
                       (unsigned long long)p->serial, i ? "b" : "a");
    }
    p->from = from;
    p->to   = to;
    atomic_store(&p->left, (unsigned)(to - from + 1));
    for (enum step k = from; k <= to; k++) /* the last answer may free p */
        send(p, k);
}

static struct probe *new_probe(struct bkt_s3 *s, const char *key)
{
    struct probe *p     = calloc(1, sizeof *p);
    const char   *slash = strrchr(key, '/');
    if (!p)
        return NULL;
    p->s      = s;
    p->server = s->server;
    p->serial = bkt_random();
    (void)snprintf(p->beside, sizeof p->beside, "%.*s.h5bucket-probe-",
                   slash ? (int)bkt_min_u64((uint64_t)(slash + 1 - key), 1024) : 0, key);
    bkt_store_enter(&s->http.base); /* until the scratch objects are deleted */
    return p;
}

void bkt_s3_condition_ask(struct bkt_s3 *s, const char *key, struct bkt_req *req)
{
    struct bkt_s3_server *v = s->server;
    struct probe       *p = NULL;
    bkt_state_lock();
    enum bkt_s3_condition is = known(v);
    if (is == BKT_COND_UNKNOWN && (p = new_probe(s, key)))
        v->condition = is = BKT_COND_ASKING;
    v->generation = bkt_fork_generation();
    if (is == BKT_COND_ASKING && req) {
        req->impl  = s;
        req->next = v->waiting;
        v->waiting = req;
        req        = NULL;
    }
    bkt_state_unlock();
    if (p) {
        send_round(p, CREATE_A, CREATE_B);
    } else if (req && is == BKT_COND_UNKNOWN) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "PUT %s: out of memory", req->key);
        bkt_store_finish(&s->http.base, req);
    } else if (req) {
        bkt_s3_change(&s->http.base, req); /* the kind became known since the caller looked */
    }
}

void bkt_s3_will_write(struct bkt_store *st, const char *key)
{
    struct bkt_s3 *s = (struct bkt_s3 *)st;
    if (!s->one_writer && bkt_s3_condition(s, NULL) == BKT_COND_UNKNOWN)
        bkt_s3_condition_ask(s, key, NULL);
}
