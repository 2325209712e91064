/* For each batch, the first process announces it, sends the others their requests, and gets their outcomes:
 *   length of the key, key; length of each condition, condition (0: none); length of the bytes, bytes
 * An outcome is an entry of a recording, which the first process plays for the requests that it gave away.
 * If it lacks an outcome, it sends the request itself: a PUT that was stored is recognised by its bytes. */
#include "storage/shared_puts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/trace.h"
#include "storage/store_impl.h"

/* Requests for each process below which a batch is not spread: the first process has connections for them. */
#define SPREAD_MIN 4

enum { NO_MORE, A_BATCH };

struct bkt_shared_puts {
    struct bkt_comm *comm;
    struct bkt_store *store;
    struct bkt_recording *recording;
    pthread_t thread;        /* which may send messages */
    size_t *send_n, *recv_n; /* bytes for and from each process */
};

struct bkt_shared_puts *bkt_shared_puts_new(struct bkt_comm *c, struct bkt_store *st)
{
    struct bkt_shared_puts *s = calloc(1, sizeof *s);
    size_t *n = calloc(2u * (size_t)c->size, sizeof *n);
    if (!s || !n) {
        free(s);
        free(n);
        return NULL;
    }
    *s = (struct bkt_shared_puts){
        .comm = c, .store = st, .thread = pthread_self(), .send_n = n, .recv_n = n + c->size};
    return s;
}

void bkt_shared_puts_free(struct bkt_shared_puts *s)
{
    if (s)
        free(s->send_n);
    free(s);
}

void bkt_shared_puts_begin(struct bkt_shared_puts *s, struct bkt_recording *recording)
{
    s->recording = recording;
    s->store->shared_puts = s;
}

int bkt_shared_puts_end(struct bkt_shared_puts *s, struct bkt_err *err)
{
    uint64_t what = NO_MORE;
    s->store->shared_puts = NULL;
    return bkt_comm_bcast(s->comm, &what, sizeof what, err);
}

/* Exchange messages.  @p send: of s->send_n bytes for each process */
static int exchange(struct bkt_shared_puts *s, const struct bkt_buf *send, struct bkt_buf *recv,
                    struct bkt_err *err)
{
    bkt_buf_clear(recv);
    return bkt_comm_exchange(s->comm, send, s->send_n, recv, s->recv_n, err);
}

/* ---- messages ---- */

static int add_string(struct bkt_buf *b, const char *s)
{
    return bkt_buf_add_sized(b, s, s ? strlen(s) + 1 : 0);
}

static int add_request(struct bkt_buf *b, const struct bkt_req *r)
{
    BKT_PASS(add_string(b, r->key));
    BKT_PASS(add_string(b, r->if_match));
    BKT_PASS(add_string(b, r->if_none_match));
    return bkt_buf_add_sized(b, r->put, r->put_len);
}

static const char *take_string(struct bkt_rd *r)
{
    size_t n;
    const char *s = bkt_rd_take_sized(r, &n);
    r->ok = r->ok && (!n || !s[n - 1]);
    return n ? s : NULL;
}

static struct bkt_req take_request(struct bkt_rd *r)
{
    struct bkt_req req = {.op = BKT_PUT, .key = take_string(r)};
    req.if_match = take_string(r);
    req.if_none_match = take_string(r);
    req.put = bkt_rd_take_sized(r, &req.put_len);
    return req;
}

/* ---- the first process ---- */

static unsigned owner_of(const struct bkt_req *r, unsigned n)
{
    return (unsigned)(bkt_digest(r->key, strlen(r->key), 0) % n);
}

/* Messages in the order of processes.  @p owner: gets the process of each request */
static int make_messages(struct bkt_shared_puts *s, const struct bkt_req *reqs, size_t n, unsigned *owner,
                         struct bkt_buf *out)
{
    for (size_t i = 0; i < n; i++)
        owner[i] = owner_of(&reqs[i], s->comm->size);
    s->send_n[0] = 0;
    for (unsigned k = 1; k < s->comm->size; k++) {
        size_t was = out->len;
        for (size_t i = 0; i < n; i++)
            if (owner[i] == k)
                BKT_PASS(add_request(out, &reqs[i]));
        s->send_n[k] = out->len - was;
    }
    return BKT_OK;
}

/* Perform the requests of this process, or those of the others. */
static void perform_some(struct bkt_store *st, struct bkt_req *reqs, size_t n, const unsigned *owner,
                         bool others)
{
    struct bkt_req_batch b;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        m += (owner[i] != 0) == others;
    bkt_req_batch_init(&b, m);
    for (size_t i = 0; i < n; i++)
        if ((owner[i] != 0) == others) {
            reqs[i].batch = &b;
            bkt_store_start(st, &reqs[i]);
        }
    bkt_req_batch_wait(&b, st->ops->local);
    bkt_req_batch_fini(&b);
}

/* The requests of the other processes end with their outcomes. */
static void use_outcomes(struct bkt_shared_puts *s, struct bkt_req *reqs, size_t n, const unsigned *owner,
                         const struct bkt_buf *outcomes)
{
    struct bkt_err why = {.n = 0};
    struct bkt_recording *t = bkt_recording_new(false);
    int rc = t ? bkt_recording_parse(t, outcomes, &why) : BKT_ENOMEM;
    if (rc < 0) {
        bkt_trace(BKT_TRACE_STORE, "outcomes of other processes can't be used: %s", bkt_err_reason(&why, rc));
        perform_some(s->store, reqs, n, owner, true);
    } else {
        bkt_recording_play(t);
        perform_some(s->store, reqs, n, owner, true);
        bkt_recording_stop(t);
        bkt_recording_record(s->recording);
        bkt_recording_add(s->recording, outcomes);
    }
    bkt_recording_free(t);
}

static bool is_spread(const struct bkt_shared_puts *s, const struct bkt_req *reqs, size_t n)
{
    if (n / SPREAD_MIN < s->comm->size || !pthread_equal(s->thread, pthread_self()))
        return false;
    for (size_t i = 0; i < n; i++)
        if (reqs[i].op != BKT_PUT || !reqs[i].key || reqs[i].cancel)
            return false;
    return true;
}

bool bkt_shared_puts_perform(struct bkt_shared_puts *s, struct bkt_req *reqs, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf send = {0}, recv = {0};
    uint64_t what = A_BATCH;
    if (!is_spread(s, reqs, n))
        return false;
    BKT_CLEANUP(bkt_freep) unsigned *owner = calloc(n, sizeof *owner);
    if (!owner || make_messages(s, reqs, n, owner, &send) < 0 ||
        bkt_comm_bcast(s->comm, &what, sizeof what, NULL) < 0)
        return false;
    int rc = exchange(s, &send, &recv, NULL);
    bkt_trace(BKT_TRACE_STORE, "%zu PUTs are spread over %u processes: %s", n, s->comm->size,
              bkt_err_text(rc));
    if (rc < 0)
        return false;
    perform_some(s->store, reqs, n, owner, false);
    memset(s->send_n, 0, s->comm->size * sizeof *s->send_n);
    bkt_buf_clear(&send);
    if (exchange(s, &send, &recv, NULL) < 0)
        bkt_buf_clear(&recv);
    use_outcomes(s, reqs, n, owner, &recv);
    return true;
}

/* ---- the other processes ---- */

/* Perform the requests of a message, as far as there is memory for them. */
static void perform_message(struct bkt_store *st, const struct bkt_buf *message)
{
    struct bkt_rd r = bkt_rd_of(message->ptr, message->len);
    size_t n = 0;
    while (r.ok && bkt_rd_left(&r)) {
        (void)take_request(&r);
        n++;
    }
    struct bkt_req *reqs = n && r.ok ? calloc(n, sizeof *reqs) : NULL;
    if (!reqs)
        return;
    r = bkt_rd_of(message->ptr, message->len);
    for (size_t i = 0; i < n; i++)
        reqs[i] = take_request(&r);
    (void)bkt_store_perform(st, reqs, n, NULL);
    for (size_t i = 0; i < n; i++)
        bkt_req_fini(&reqs[i]);
    free(reqs);
}

/* The outcomes of a message's requests, as a recording. */
static void perform_recorded(struct bkt_store *st, const struct bkt_buf *message, struct bkt_buf *out)
{
    struct bkt_recording *t = bkt_recording_new(false);
    bkt_buf_clear(out);
    if (!t)
        return;
    bkt_recording_record(t);
    perform_message(st, message);
    bkt_recording_stop(t);
    if (bkt_recording_emit(t, out) < 0)
        bkt_buf_clear(out);
    bkt_recording_free(t);
}

static int serve_batch(struct bkt_shared_puts *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf message = {0}, outcomes = {0};
    memset(s->send_n, 0, s->comm->size * sizeof *s->send_n);
    BKT_PASS(exchange(s, &outcomes, &message, err));
    perform_recorded(s->store, &message, &outcomes);
    s->send_n[0] = outcomes.len;
    return exchange(s, &outcomes, &message, err);
}

int bkt_shared_puts_serve(struct bkt_shared_puts *s, struct bkt_err *err)
{
    for (;;) {
        uint64_t what = NO_MORE;
        BKT_PASS(bkt_comm_bcast(s->comm, &what, sizeof what, err));
        if (what == NO_MORE)
            return BKT_OK;
        struct bkt_err why = {.n = 0};
        if (serve_batch(s, &why) < 0)
            bkt_trace(BKT_TRACE_STORE, "a part of a batch is left to the first process: %s",
                      bkt_err_reason(&why, why.code));
    }
}
