/* Facts about a server and bucket, kept for the process: the region that the server named, and its behaviour
 * with conditional PUTs, tested once.
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

struct bkt_s3_kind {
    struct bkt_s3_kind *next;
    char               *where; /* endpoint and bucket */
    enum bkt_s3_cond    is;
    char                why[160];
    char region[40];             /* "": the server has named none */
    atomic_bool         no_sums; /* the server refuses x-amz-checksum-crc32c */
    struct bkt_req     *waiting; /* by next; impl is the store */
    unsigned            generation;
};
static struct bkt_s3_kind *kinds; /* all under bkt_state_lock() */

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
    struct bkt_s3_kind *kind;
    struct ask          ask[STEPS];
    enum step           from, to; /* the round's */
    atomic_uint         left;     /* requests of the round; scratch objects to be deleted */
    struct scratch      scratch[2];
    uint64_t            serial;
    char                beside[1050]; /* begin of keys beside the object in question */
};

static void send_round(struct probe *p, enum step from, enum step to);

/* ---- the table ---- */

static enum bkt_s3_cond known(struct bkt_s3_kind *k) /* state locked */
{
    if (k->is == BKT_COND_ASKING && k->generation != bkt_fork_generation()) {
        k->is      = BKT_COND_UNKNOWN; /* the parent is asking; its answer does not arrive here */
        k->waiting = NULL;
    }
    return k->is;
}

enum bkt_s3_cond bkt_s3_kind(struct bkt_s3 *s, char *why)
{
    bkt_state_lock();
    enum bkt_s3_cond is = known(s->kind);
    if (why)
        memcpy(why, s->kind->why, sizeof s->kind->why);
    bkt_state_unlock();
    return is;
}

bool bkt_s3_kind_sums(const struct bkt_s3 *s) { return !atomic_load(&s->kind->no_sums); }
void bkt_s3_kind_no_sums(struct bkt_s3 *s) { atomic_store(&s->kind->no_sums, true); }
char *bkt_s3_kind_region(struct bkt_s3 *s)
{
    return s->kind->region;
}

static struct bkt_s3_kind *find(const char *where) /* state locked */
{
    for (struct bkt_s3_kind *k = kinds; k; k = k->next)
        if (strcmp(k->where, where) == 0)
            return k;
    struct bkt_s3_kind *k = calloc(1, sizeof *k);
    if (!k || !(k->where = strdup(where))) {
        free(k);
        return NULL;
    }
    k->next = kinds;
    return kinds = k;
}

int bkt_s3_kind_open(struct bkt_s3 *s, const char *setting, struct bkt_err *err)
{
    static const struct {
        const char      *setting;
        enum bkt_s3_cond is;
    } fixed[] = {{"quoted", BKT_COND_QUOTED}, {"bare", BKT_COND_BARE}};
    const struct bkt_s3_place               *p     = &s->place;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf where = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&where, "%s %s %s %s %s", setting ? setting : "auto", p->scheme,
                                   p->host ? p->host : "", p->host ? p->base : "", p->bucket));
    bkt_state_lock();
    s->kind = find(bkt_buf_str(&where));
    if (s->kind && !p->host)
        s->kind->is = BKT_COND_QUOTED; /* AWS itself */
    for (size_t i = 0; s->kind && setting && i < BKT_COUNT(fixed); i++)
        if (strcmp(setting, fixed[i].setting) == 0)
            s->kind->is = fixed[i].is;
    bkt_state_unlock();
    BKT_NEED(err, s->kind);
    return BKT_OK;
}

/* The entries stay: open stores still use them. */
void bkt_s3_shutdown(void)
{
    bkt_state_lock();
    for (struct bkt_s3_kind *k = kinds; k; k = k->next) {
        k->region[0] = 0;
        if (k->is != BKT_COND_ASKING && strncmp(k->where, "auto ", 5) == 0)
            k->is = BKT_COND_UNKNOWN;
    }
    bkt_state_unlock();
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

/* End the probe.  @p rc < 0: the kind could not be found out; all waiting requests fail with it, and the next
 * request tries again. */
static void conclude(struct probe *p, enum bkt_s3_cond is, const char *why, int rc, const struct bkt_err *err)
{
    struct bkt_s3_kind *k = p->kind;
    bkt_state_lock();
    k->is = rc < 0 ? BKT_COND_UNKNOWN : is;
    (void)snprintf(k->why, sizeof k->why, "%s", why);
    struct bkt_req *w = k->waiting;
    k->waiting        = NULL;
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
    p->kind   = s->kind;
    p->serial = bkt_random();
    (void)snprintf(p->beside, sizeof p->beside, "%.*s.h5bucket-probe-",
                   slash ? (int)bkt_min_u64((uint64_t)(slash + 1 - key), 1024) : 0, key);
    bkt_store_enter(&s->http.base); /* until the scratch objects are deleted */
    return p;
}

void bkt_s3_kind_ask(struct bkt_s3 *s, const char *key, struct bkt_req *req)
{
    struct bkt_s3_kind *k = s->kind;
    struct probe       *p = NULL;
    bkt_state_lock();
    enum bkt_s3_cond is = known(k);
    if (is == BKT_COND_UNKNOWN && (p = new_probe(s, key)))
        k->is = is = BKT_COND_ASKING;
    k->generation = bkt_fork_generation();
    if (is == BKT_COND_ASKING && req) {
        req->impl  = s;
        req->next  = k->waiting;
        k->waiting = req;
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
    if (!s->one_writer && bkt_s3_kind(s, NULL) == BKT_COND_UNKNOWN)
        bkt_s3_kind_ask(s, key, NULL);
}
