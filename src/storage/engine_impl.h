/* The I/O threads' own parts; for engine*.c only.
 *
 * A struct engine is one thread's, with a multi handle and connections of its own, and all of it belongs to that thread unless it
 * says otherwise.  A struct host is what all threads know of a server: what waits, how many requests are under way, how its
 * answers have been.  Its lock is held for a moment only: never while something of a caller's runs. */
#ifndef BKT_ENGINE_IMPL_H
#define BKT_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include <curl/curl.h>

#include "delay.h"
#include "engine.h"

#define BKT_IO_MAX       16  /* threads */
#define BKT_PACE_SAMPLES 256 /* recent answers that are kept */

/* How the answers to one kind of request have been lately; engine_pace.c */
struct lane {
    double   first_ms, body_ms; /* until the first byte of an answer; of bodies */
    double   before;            /* what is to stay about the same, when the limit was last raised; 0: it wasn't, or was lowered */
    unsigned rounds;            /* answers since */
};

struct host {
    struct host     *next;
    char            *origin;
    struct engines  *all;
    bool             tls;      /* https */
    atomic_bool      known;    /* its name was looked up: until then one exchange goes first, so that one look-up serves all */
    atomic_bool      answered; /* once: a session of TLS, if it gives any, is there */
    atomic_bool      queued;   /* something waits */
    pthread_mutex_t  lock;     /* guards all that follows, but for what is atomic */
    struct bkt_xfer *head, *tail; /* what waits */
    unsigned         n_waiting;   /* of them */
    uint64_t         moved_ms;    /* when an exchange ended last, or began after none was active */
    struct {
        unsigned         active; /* exchanges of that thread */
        _Atomic unsigned kept;   /* its connections, in use and idle */
    } at[BKT_IO_MAX];
    unsigned         active, twins;     /* exchanges, and those of them that were sent a second time */
    /* engine_pace.c */
    unsigned         limit, most;       /* connections now, and at most */
    unsigned         reading, waiting;  /* of the active ones, those that are no uploads; of these, those without a first byte */
    struct lane      gets, puts;        /* what has no body to send; what has */
    double           rate;              /* bytes per second of one connection; 0: not known */
    bool             wanted;            /* more connections would help */
    double           window;            /* requests at once that the server bears, since it said "slow down"; 0: it hasn't */
    uint32_t         samples[BKT_PACE_SAMPLES]; /* first bytes, ms */
    size_t           n_samples;
    uint64_t         late_ms;           /* 0: not known yet */
    uint32_t         body_samples[BKT_PACE_SAMPLES]; /* bodies, us per 256 KiB */
    size_t           n_body_samples;
    uint64_t         slow_us;           /* what few bodies take longer than, per 256 KiB; 0: not known yet */
    double           tokens;            /* hedges that may be spent */
};

struct engine {
    struct engines  *all;
    unsigned         index;    /* in all->at */
    pthread_mutex_t  lock;     /* guards what follows up to `in_tail` */
    bool             running, stop;
    struct bkt_xfer *in_head, *in_tail;
    pthread_t        thread;
    int              epoll, wake;
    atomic_bool      cancelled; /* exchanges were: look through them */
    bool             more;      /* of the body that libcurl asked for last something is left */

    CURLM           *multi;
    uint64_t         now, timer_at, scan_at, scan_ms, hedge_at;
    struct bkt_xfer *decided; /* by next_decided: exchanges whose other leg is to be given up */
    struct bkt_xfer *active;  /* doubly linked */
    struct bkt_delay delayed;
    uint64_t         look_at; /* the next time to look for cancelled ones among the delayed */
};

/* All threads of the process; each starts with its first exchange. */
struct engines {
    struct engine          at[BKT_IO_MAX];
    _Atomic(struct host *) hosts; /* it only grows, at its head */
    pthread_mutex_t        lock;  /* who makes it grow */
    CURLSH                *share; /* names that were looked up, and sessions where tls.h keeps none */
    pthread_mutex_t        share_locks[CURL_LOCK_DATA_LAST];
};

/* ---- engine.c: one thread's exchanges and its loop ---- */
/** The thread's function; @p arg is its engine.  Whatever was under way has ended when it returns. */
void *bkt_engine_run(void *arg);
/** The exchange is over. */
void  bkt_engine_end(struct engine *e, struct bkt_xfer *x, enum bkt_wire wire);
/** It ends before it was begun. */
void  bkt_engine_fail(struct bkt_xfer *x, const char *why);
/** The same for all of a list, by next; done() may submit, so the caller holds no lock. */
void  bkt_engine_fail_all(struct bkt_xfer *x, const char *why);
#define BKT_NO_THREAD "the I/O thread cannot be started"
#define BKT_ENDING    "storage is shutting down"

/* ---- engine_queue.c: what waits, and which thread gets it; any thread ---- */
/** The server's; NULL: out of memory. */
struct host *bkt_host_of(struct engines *all, const struct bkt_net *net);
/** Let it wait for its turn. */
void bkt_host_enqueue(struct host *h, struct bkt_xfer *x);
/** Give what may begin to threads.  @return what no thread could be started for, by next: the caller's to fail; NULL: nothing */
BKT_NODISCARD struct bkt_xfer *bkt_host_dispatch(struct host *h);
/** An exchange that was given to the thread is over, or never began. */
void bkt_host_release(struct host *h, const struct engine *e);
/** Take out what nobody waits for any more; by next. */
struct bkt_xfer *bkt_host_cancelled(struct host *h);
/** Take all out, the same way; no thread runs. */
struct bkt_xfer *bkt_host_empty(struct host *h);

/* ---- engine_threads.c ---- */
/** The engine whose thread this is; NULL: none's. */
struct engine *bkt_engine_current(void);
/** Note it: at the thread's start. */
void           bkt_engine_is_current(struct engine *e);
/** Into its inbox; the thread starts if it has to.  Any thread.  False: it can't be started. */
bool           bkt_engine_hand_over(struct engine *e, struct bkt_xfer *x);
/** Note an open socket, or that it is closed: a forked child closes its copies.  Any thread. */
void           bkt_engine_track(int fd, bool open);

/* ---- engine_curl.c ---- */
/** Set up one leg of the exchange: callbacks, limits, method and body.  False: out of memory. */
bool bkt_engine_options(struct engine *e, struct bkt_leg *leg);
/** How libcurl's result reads. */
enum bkt_wire bkt_engine_wire(struct bkt_xfer *x, CURLcode code);
/** Callbacks of the multi handle: sockets are watched by e->epoll, its timer is e->timer_at; @p arg is the engine. */
int bkt_engine_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known);
int bkt_engine_on_timer(CURLM *multi, long ms, void *arg);

/* ---- engine_watch.c ---- */
/** End what doesn't move, and what takes too long. */
void bkt_engine_watch(struct engine *e);
/** Note what has moved. */
void bkt_engine_moved(struct bkt_xfer *x);

/* ---- engine_pace.c ---- */
/** About one server and an exchange with it; any thread.  It knows nothing of the server yet. */
void     bkt_pace_init(struct host *h);
/** Whether there is a connection for it now, or may be one more.  The host is locked. */
bool     bkt_pace_may_begin(struct host *h, const struct bkt_xfer *x);
/** What has happened to the exchange; its times are what is learned from. */
void     bkt_pace_begun(struct host *h, struct bkt_xfer *x);
void     bkt_pace_first_byte(struct host *h, struct bkt_xfer *x);
void     bkt_pace_end(struct host *h, struct bkt_xfer *x);
/** Whether to send it a second time, or to ask for the rest of its body anew; @p now as bkt_engine_now(). */
bool     bkt_pace_is_late(struct host *h, const struct bkt_xfer *x, uint64_t now);
bool     bkt_pace_is_slow(struct host *h, const struct bkt_xfer *x, uint64_t now);
/** Spend one hedge of those that the budget has for all threads.  @p twin: and count the second leg, until bkt_pace_untwin(), if
 *  there is a connection for it.  False: there is none left. */
bool     bkt_pace_spend(struct host *h, const struct bkt_xfer *x, bool twin);
void     bkt_pace_untwin(struct host *h);
/** When something may be late next, ms; UINT64_MAX: no need to look. */
uint64_t bkt_pace_look_at(struct host *h, uint64_t now);

/* ---- engine_hedge.c ---- */
/** Send a second time what is late. */
void  bkt_hedge_late(struct engine *e);
/** End the leg that isn't the exchange (any more); none: nothing happens. */
void  bkt_hedge_give_up(struct engine *e, struct bkt_xfer *x);
/** libcurl is done with one leg.  True: and with that the exchange is over. */
bool  bkt_hedge_leg_over(struct engine *e, struct bkt_leg *leg);

#endif
