/* See cred.h.  One lock guards the list of providers and all their state.  It is held for moments only, never
 * while a source is asked.  A provider has at most one thread, which lives as long as there is something to
 * fetch. */
#include "storage/aws/cred/cred.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/fork.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "storage/aws/cred/cred_impl.h"
#include "storage/aws/sigv4.h"

/* A source (a process, a web service with limits) must not run more than once a second.  This holds even if a
 * program asks repeatedly, or a server refuses everything.  Files are read on each request. */
#define RENEW_S      300   /* before credentials expire: EC2 has new ones at least five minutes before */
#define FAILURE_MS   1000  /* a failure is reported for this long before the source is asked again */
#define MIN_AGE_MS   1000  /* younger credentials are not fetched again when a server refuses them */
#define RENEW_GAP_MS 10000 /* between renewals in the background */

struct waiter {
    struct waiter *next;
    void (*ready)(void *arg, int rc, const struct bkt_err *err);
    void *arg;
};

struct bkt_cred {
    struct bkt_cred *next;
    char id[BKT_SHA256_HEX];
    unsigned refs;
    struct bkt_cred_place place;

    struct bkt_creds *now; /* NULL: none */
    enum { TRUSTED, DOUBTED, REFUSED } word; /* a server's judgement of `now`; doubted: they may be right
                                                after all */
    enum bkt_cred_from from, fail_from; /* source of `now`; source of the last failure */
    uint64_t fetched_ms, failed_ms, renewed_ms; /* renewed: a fetch in the background began; 0: never */
    int fail;
    struct bkt_err *why; /* of the last failure; may be NULL */
    struct waiter *waiters;
    uint64_t rounds; /* fetches that ended */

    pthread_t thread;
    bool joinable, alive, fetching; /* alive: the thread will check `fetching` once more */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bkt_cred *providers;
static bool ending;

/* ---- fork ---- */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&lock);
}
static void after_fork_parent(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* Threads stayed with the parent, and so did the callers that waited for them. */
static void after_fork_child(void)
{
    ending = false;
    for (struct bkt_cred *p = providers; p; p = p->next) {
        p->joinable = p->alive = p->fetching = false;
        while (p->waiters) {
            struct waiter *w = p->waiters;
            p->waiters = w->next;
            free(w);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

void bkt_cred_hook_fork(void)
{
    static const struct bkt_fork_handlers forks = {before_fork, after_fork_parent, after_fork_child};
    bkt_fork_handle(BKT_FORK_CREDS, &forks);
}

/* ---- fetching ---- */

static void store_failure(struct bkt_cred *p, int rc, const struct bkt_err *err)
{
    free(p->why);
    p->why = bkt_err_dup(err);
    p->fail = rc;
    p->failed_ms = bkt_ms_now();
}

static bool is_live(const struct bkt_creds *c, int64_t now)
{
    return c && (!c->expires || c->expires > now);
}

/* Whether the credentials end soon. */
static bool needs_renewal(const struct bkt_creds *c, int64_t now)
{
    return c->expires && c->expires - now <= RENEW_S;
}

static bool is_usable(const struct bkt_cred *p)
{
    return p->word == TRUSTED && is_live(p->now, bkt_cred_now());
}

static bool is_same(const struct bkt_creds *a, const struct bkt_creds *b)
{
    const char *s = a->session_token, *t = b->session_token;
    return strcmp(a->access_key, b->access_key) == 0 && strcmp(a->secret_key, b->secret_key) == 0 &&
           strcmp(s ? s : "", t ? t : "") == 0;
}

/* Doubted keys from a file are not replaced by another source's keys only because the file is missing for a
 * moment. */
static bool is_unwanted(const struct bkt_cred *p, enum bkt_cred_from from)
{
    return p->word == DOUBTED && from == BKT_CRED_ASKED && is_live(p->now, bkt_cred_now());
}

/* Store a fetch's result; under the lock.  If a renewal fails, the old credentials stay in use until their
 * end, unless they were definitely refused. */
static int publish(struct bkt_cred *p, int rc, struct bkt_creds *fresh, enum bkt_cred_from from,
                   struct bkt_err *err)
{
    p->rounds++;
    if (rc == BKT_OK && is_unwanted(p, from)) {
        rc = BKT_ERR(err, BKT_EACCES, "the credentials are gone from the files that held them");
        bkt_creds_unref(fresh);
    }
    if (rc == BKT_OK) {
        p->from = from;
        fresh->fetch = p->rounds;
        fresh->same_as = p->now && is_same(p->now, fresh) ? p->now->same_as : fresh->fetch;
        bkt_creds_unref(p->now);
        p->now = fresh;
        p->word = TRUSTED;
        p->fetched_ms = bkt_ms_now();
        p->failed_ms = 0;
    } else {
        p->fail_from = from;
        store_failure(p, rc, err);
        if (p->word == DOUBTED)
            p->word = TRUSTED;
        if (is_usable(p))
            rc = BKT_OK;
    }
    p->fetching = false;
    return rc;
}

static void one_round(struct bkt_cred *p)
{
    struct bkt_creds *fresh = NULL;
    struct bkt_err err = {0};
    enum bkt_cred_from from = BKT_CRED_ASKED;
    int rc = bkt_cred_fetch(&p->place, &fresh, &from, &err);
    if (rc == BKT_OK)
        bkt_trace(BKT_TRACE_CRED, "credentials from %s, %lld s to live", fresh->source,
                  fresh->expires ? (long long)(fresh->expires - bkt_cred_now()) : -1LL);
    else
        bkt_trace(BKT_TRACE_CRED, "no credentials: %s", bkt_err_reason(&err, rc));
    (void)pthread_mutex_lock(&lock);
    rc = publish(p, rc, fresh, from, &err);
    struct waiter *ws = p->waiters;
    p->waiters = NULL;
    (void)pthread_mutex_unlock(&lock);
    while (ws) {
        struct waiter *w = ws;
        ws = w->next;
        w->ready(w->arg, rc, rc < 0 ? &err : NULL);
        free(w);
    }
}

static void *thread_main(void *arg)
{
    struct bkt_cred *p = arg;
    (void)pthread_mutex_lock(&lock);
    while (p->fetching) {
        (void)pthread_mutex_unlock(&lock);
        one_round(p);
        (void)pthread_mutex_lock(&lock);
    }
    p->alive = false;
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

/* Start a fetch unless one is under way; under the lock. */
static int begin(struct bkt_cred *p, struct bkt_err *err)
{
    if (p->fetching)
        return BKT_OK;
    BKT_FAIL_IF(err, ending, BKT_ECANCEL, "credentials: not fetched any more: the library is closing");
    if (!p->alive) {
        if (p->joinable)
            (void)pthread_join(p->thread, NULL); /* the thread does not use the lock any more */
        p->fetching = p->alive = true;
        p->joinable = bkt_thread_start(&p->thread, thread_main, p) == 0;
        if (!p->joinable) {
            p->fetching = p->alive = false;
            BKT_FAIL(err, BKT_ENOMEM, "credentials: no thread can be started to fetch them");
        }
    }
    p->fetching = true;
    return BKT_OK;
}

/* Get the present credentials; under the lock.  BKT_OK with a reference, BKT_CRED_LATER, or the last
 * failure. */
static int at_hand(struct bkt_cred *p, const struct bkt_creds **out, struct bkt_err *err)
{
    uint64_t ms = bkt_ms_now();
    if (is_usable(p)) {
        bool due = needs_renewal(p->now, bkt_cred_now()) &&
                   (!p->renewed_ms || ms - p->renewed_ms >= RENEW_GAP_MS);
        if (due && begin(p, NULL) == BKT_OK)
            p->renewed_ms = ms;
        atomic_fetch_add(&p->now->refs, 1);
        *out = p->now;
        return BKT_OK;
    }
    if (!p->fetching && p->failed_ms && p->fail_from != BKT_CRED_FILES && ms - p->failed_ms < FAILURE_MS)
        return bkt_err_copy(err, p->fail, p->why);
    return BKT_CRED_LATER;
}

int bkt_cred_peek(struct bkt_cred *p, const struct bkt_creds **out, struct bkt_err *err)
{
    BKT_HOLD(&lock);
    return at_hand(p, out, err);
}

void bkt_cred_want(struct bkt_cred *p, void (*ready)(void *arg, int rc, const struct bkt_err *err), void *arg)
{
    struct bkt_err err = {0};
    struct waiter *w = malloc(sizeof *w);
    (void)pthread_mutex_lock(&lock);
    bool there = is_usable(p);
    int rc = there ? BKT_OK : w ? begin(p, &err) : BKT_ERR(&err, BKT_ENOMEM, "out of memory");
    bool wait = !there && rc == BKT_OK;
    if (wait) {
        *w = (struct waiter){p->waiters, ready, arg};
        p->waiters = w;
    }
    (void)pthread_mutex_unlock(&lock);
    if (wait)
        return;
    free(w);
    ready(arg, rc, rc < 0 ? &err : NULL);
}

bool bkt_cred_refused(struct bkt_cred *p, uint64_t fetch, bool sure)
{
    BKT_HOLD(&lock);
    bool again = true;
    if (p->now && p->now->fetch == fetch) {
        uint64_t ms = bkt_ms_now();
        bool     spent = p->failed_ms && p->fail_from != BKT_CRED_FILES && ms - p->failed_ms < FAILURE_MS;
        bool     cheap = p->from == BKT_CRED_FILES && !spent, young = ms - p->fetched_ms < MIN_AGE_MS;
        again = p->from != BKT_CRED_FIXED && (cheap || p->word == REFUSED || (sure && !young));
        if (again && p->word == TRUSTED)
            bkt_trace(BKT_TRACE_CRED, "credentials from %s were refused", p->now->source);
        if (again) {
            p->word = sure || p->word == REFUSED ? REFUSED : DOUBTED;
            p->renewed_ms = 0;
        }
    }
    return again;
}

void bkt_cred_source(struct bkt_cred *p, char *out, size_t room)
{
    BKT_HOLD(&lock);
    (void)snprintf(out, room, "%s", p && p->now ? p->now->source : "");
}

/* ---- providers ---- */

/* All values that a fetch depends on, kept as a hash, as they contain secrets. */
static int identify(struct bkt_cred *p, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf b = {0};
    const struct bkt_cred_place *pl = &p->place;
    const char *const more[] = {pl->profile, pl->region, pl->ca_bundle, pl->profile_named ? "named" : NULL,
                                pl->profile_first ? "first" : NULL};
    int rc = BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < BKT_CRED_VARS + BKT_COUNT(more); i++) {
        const char *v = i < BKT_CRED_VARS ? pl->env[i] : more[i - BKT_CRED_VARS];
        rc = bkt_secret_add(&b, v ? "+" : "-", 1);
        if (rc == BKT_OK && v)
            rc = bkt_secret_add(&b, v, strlen(v) + 1);
    }
    if (rc == BKT_OK)
        rc = bkt_sha256_hex(b.ptr, b.len, p->id);
    BKT_FAIL_IF(err, rc < 0, rc, "credentials: the settings can't be hashed: %s", bkt_err_text(rc));
    return BKT_OK;
}

static void provider_free(struct bkt_cred *p)
{
    bkt_creds_unref(p->now);
    free(p->why);
    bkt_cred_place_fini(&p->place);
    free(p);
}

/* Return the provider that exists already, or add and return @p p; under the lock. */
static struct bkt_cred *enlist(struct bkt_cred *p)
{
    struct bkt_cred *q = providers;
    while (q && strcmp(q->id, p->id) != 0)
        q = q->next;
    if (!q) {
        p->next = providers;
        providers = q = p;
    }
    q->refs++;
    return q;
}

int bkt_cred_open(const struct bkt_settings *set, struct bkt_cred **out, struct bkt_err *err)
{
    bkt_cred_hook_fork();
    struct bkt_cred *p = calloc(1, sizeof *p);
    BKT_NEED(err, p);
    int rc = bkt_cred_place_init(&p->place, set, err);
    if (rc == BKT_OK)
        rc = identify(p, err);
    if (rc < 0) {
        provider_free(p);
        return rc;
    }
    (void)pthread_mutex_lock(&lock);
    struct bkt_cred *q = enlist(p);
    (void)pthread_mutex_unlock(&lock);
    if (q != p)
        provider_free(p);
    *out = q;
    return BKT_OK;
}

void bkt_cred_close(struct bkt_cred *p)
{
    if (!p)
        return;
    BKT_HOLD(&lock);
    p->refs--;
}

/* End the provider's thread; under the lock, which is released while this thread waits. */
static void end_thread(struct bkt_cred *p)
{
    while (p->alive || p->fetching) {
        atomic_store(&p->place.cancel, true);
        pthread_t t = p->thread;
        p->joinable = false; /* joined here */
        (void)pthread_mutex_unlock(&lock);
        (void)pthread_join(t, NULL);
        (void)pthread_mutex_lock(&lock);
    }
    if (p->joinable)
        (void)pthread_join(p->thread, NULL);
    p->joinable = false;
    atomic_store(&p->place.cancel, false);
}

static void forget(struct bkt_cred *p)
{
    bkt_creds_unref(p->now);
    free(p->why);
    p->now = NULL;
    p->word = TRUSTED;
    p->why = NULL;
    p->failed_ms = p->renewed_ms = p->fetched_ms = 0;
}

void bkt_cred_shutdown(void)
{
    BKT_HOLD(&lock);
    ending = true; /* from now on no thread starts, and providers are freed only here */
    for (struct bkt_cred *p = providers; p; p = p->next) {
        end_thread(p);
        forget(p);
    }
    for (struct bkt_cred **at = &providers; *at;) {
        struct bkt_cred *p = *at;
        if (p->refs) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        provider_free(p);
    }
    ending = false;
}
