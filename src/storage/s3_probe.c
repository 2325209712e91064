/* What a server makes of conditional PUTs: asked once for a server and bucket in a process.
 *
 * AWS takes them as HTTP says.  Others want the ETag bare, answer 501, or ignore the condition and overwrite; some know
 * If-None-Match only.  So a scratch object is put, put again, and replaced, and what must fail has to fail.  Its key is
 * random, so that nobody else's is touched, below .h5bucket/, or beside the object in question where that may not be
 * written; it is deleted in the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"
#include "s3_impl.h"
#include "trace.h"

struct bkt_s3_kind {
    struct bkt_s3_kind *next;
    char               *where; /* endpoint and bucket */
    enum bkt_s3_cond    is;
    char                why[160];
    struct bkt_req     *waiting; /* by next; impl is the store */
    unsigned            generation;
};
static struct bkt_s3_kind *kinds; /* all under bkt_state_lock() */

struct probe {
    struct bkt_req      req;
    struct bkt_s3      *s;
    struct bkt_s3_kind *kind;
    size_t              step;
    bool                hoped;  /* the last step went as it should */
    bool                beside; /* the key lies beside the object in question */
    char                etag[BKT_ETAG_MAX], id[BKT_PUT_ID], text[80];
    char                key[60], key_beside[1100];
};

enum { CREATE, CREATE_AGAIN, REPLACE_QUOTED, REPLACE_WRONG, REPLACE_BARE, REMOVE };
/* PUTs: what is sent, what has to happen, what is done next */
static const struct {
    enum { NEW, QUOTED, WRONG, BARE } match;
    bool             must_fail;
    int              as_hoped, not_so;
    enum bkt_s3_cond then;   /* if as hoped and REMOVE is next */
    const char      *verdict; /* if not so and REMOVE is next */
} steps[] = {
    [CREATE]         = {NEW, false, CREATE_AGAIN, REMOVE, BKT_COND_NONE, "it refuses If-None-Match"},
    [CREATE_AGAIN]   = {NEW, true, REPLACE_QUOTED, REMOVE, BKT_COND_NONE, "it ignores If-None-Match"},
    [REPLACE_QUOTED] = {QUOTED, false, REPLACE_WRONG, REPLACE_BARE, BKT_COND_NONE, ""},
    [REPLACE_WRONG]  = {WRONG, true, REMOVE, REMOVE, BKT_COND_QUOTED, "it ignores If-Match"},
    [REPLACE_BARE]   = {BARE, false, REMOVE, REMOVE, BKT_COND_BARE, "it refuses If-Match"},
};

static void send(struct probe *p);

/* ---- the table ---- */

static enum bkt_s3_cond known(struct bkt_s3_kind *k) /* state locked */
{
    if (k->is == BKT_COND_ASKING && k->generation != bkt_fork_generation()) {
        k->is      = BKT_COND_UNKNOWN; /* the parent is asking; its answer does not come here */
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
    if (bkt_buf_addf(&where, "%s %s %s %s %s", setting, p->scheme, p->host ? p->host : "", p->host ? p->base : "", p->bucket) < 0)
        BKT_NOMEM(err);
    bkt_state_lock();
    s->kind = find(bkt_buf_str(&where));
    if (s->kind && !p->host)
        s->kind->is = BKT_COND_QUOTED; /* AWS itself */
    for (size_t i = 0; s->kind && i < BKT_COUNT(fixed); i++)
        if (strcmp(setting, fixed[i].setting) == 0)
            s->kind->is = fixed[i].is;
    bkt_state_unlock();
    if (!s->kind)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_s3_kind_forget(void)
{
    bkt_state_lock();
    for (struct bkt_s3_kind *k = kinds; k; k = k->next)
        if (k->is != BKT_COND_ASKING && strncmp(k->where, "auto ", 5) == 0)
            k->is = BKT_COND_UNKNOWN; /* the entries stay: stores that are still open hold them */
    bkt_state_unlock();
}

/* ---- asking ---- */

/* @p rc < 0: it could not be found out, which everyone who waits is told, and the next one tries again. */
static void conclude(struct probe *p, enum bkt_s3_cond is, const char *why, int rc)
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
            w->rc = bkt_err_copy(bkt_req_err(w), rc, p->req.err);
            bkt_store_finish(&s->http.base, w);
        } else {
            bkt_s3_start(&s->http.base, w);
        }
    }
    bkt_req_fini(&p->req);
    free(p);
}

/* The end: the scratch object is gone, or stays behind if even that fails. */
static void removed(struct bkt_req *req)
{
    struct probe *p = req->arg;
    conclude(p, p->hoped ? steps[p->step].then : BKT_COND_NONE, p->hoped ? "" : steps[p->step].verdict, BKT_OK);
}

static void remove_scratch(struct probe *p)
{
    static const struct bkt_http_call call = {0};
    bkt_req_fini(&p->req);
    p->req = (struct bkt_req){.op = BKT_DELETE, .key = p->beside ? p->key_beside : p->key, .done = removed, .arg = p};
    bkt_http_start(&p->s->http, &p->req, &call);
}

static void answered(struct bkt_req *req)
{
    struct probe *p       = req->arg;
    bool          refused = req->rc == BKT_EPRECOND || req->rc == BKT_EUNSUP || req->rc == BKT_EINVAL;
    if (req->rc == BKT_EACCES && p->step == CREATE && !p->beside) {
        p->beside = true;
        send(p);
        return;
    }
    if (req->rc < 0 && !refused) { /* the network, or no permission: it says nothing about the server */
        conclude(p, BKT_COND_UNKNOWN, "", req->rc);
        return;
    }
    if (req->rc == BKT_OK && req->etag[0])
        memcpy(p->etag, req->etag, sizeof p->etag);
    p->hoped = steps[p->step].must_fail == refused && (p->step != CREATE || req->etag[0]);
    int next = p->hoped ? steps[p->step].as_hoped : steps[p->step].not_so;
    if (next == REMOVE) {
        remove_scratch(p);
        return;
    }
    p->step = (size_t)next;
    send(p);
}

/* Quotes away, for good. */
static const char *strip(char *etag)
{
    size_t n = strlen(etag);
    if (n > 2 && etag[0] == '"' && etag[n - 1] == '"') {
        memmove(etag, etag + 1, n - 2);
        etag[n - 2] = 0;
    }
    return etag;
}

static void send(struct probe *p)
{
    const char *match = NULL;
    switch (steps[p->step].match) {
        case QUOTED:
            match = p->etag;
            break;
        case WRONG:
            match = "\"00000000000000000000000000000000\"";
            break;
        case BARE:
            match = strip(p->etag);
            break;
        case NEW:
        default:
            break;
    }
    struct bkt_http_call call = {.put_id = p->id};
    (void)snprintf(p->id, sizeof p->id, "%016llx", (unsigned long long)bkt_random());
    (void)snprintf(p->text, sizeof p->text, "h5bucket: a test of conditional PUT, step %zu; may be deleted\n", p->step);
    bkt_req_fini(&p->req);
    p->req = (struct bkt_req){.op = BKT_PUT, .key = p->beside ? p->key_beside : p->key, .put = p->text,
                              .put_len = strlen(p->text), .if_match = match, .if_none_match = match ? NULL : "*",
                              .done = answered, .arg = p};
    bkt_http_start(&p->s->http, &p->req, &call);
}

static struct probe *new_probe(struct bkt_s3 *s, const char *key)
{
    struct probe *p     = calloc(1, sizeof *p);
    const char   *slash = strrchr(key, '/');
    uint64_t      n     = bkt_random();
    if (!p)
        return NULL;
    p->s    = s;
    p->kind = s->kind;
    (void)snprintf(p->key, sizeof p->key, ".h5bucket/probe-%016llx", (unsigned long long)n);
    (void)snprintf(p->key_beside, sizeof p->key_beside, "%.*s.h5bucket-probe-%016llx",
                   slash ? (int)bkt_min_u64((uint64_t)(slash + 1 - key), 1024) : 0, key, (unsigned long long)n);
    return p;
}

void bkt_s3_kind_ask(struct bkt_s3 *s, struct bkt_req *req)
{
    struct bkt_s3_kind *k = s->kind;
    struct probe       *p = NULL;
    bkt_state_lock();
    enum bkt_s3_cond is = known(k);
    if (is == BKT_COND_UNKNOWN || is == BKT_COND_ASKING) {
        if (is == BKT_COND_ASKING || (p = new_probe(s, req->key))) {
            req->impl     = s;
            req->next     = k->waiting;
            k->waiting    = req;
            k->is         = BKT_COND_ASKING;
            k->generation = bkt_fork_generation();
            req           = NULL;
        }
    }
    bkt_state_unlock();
    if (p) {
        send(p);
    } else if (req && (is == BKT_COND_UNKNOWN || is == BKT_COND_ASKING)) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "PUT %s: out of memory", req->key);
        bkt_store_finish(&s->http.base, req);
    } else if (req) {
        bkt_s3_start(&s->http.base, req); /* it became known meanwhile */
    }
}
