/* The I/O threads' own parts; for engine.c, engine_threads.c, curl_options.c, pace.c and timer_heap.c only.
 *
 * A struct bkt_engine belongs to one thread, with its own multi handle and connections.  Only that thread
 * uses it, with the exceptions noted in comments.  A struct bkt_engine_host is the knowledge that all threads
 * share about a server: waiting exchanges, requests under way, the speed of its answers.  Its lock is held
 * for a moment only, never while code of a caller runs. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <curl/curl.h>

#include "storage/http/engine.h"

#define BKT_IO_MAX       16  /* threads */
#define BKT_MAX_CONNECTS                                                                                     \
    1024L /* the highest value of setting connections; each thread keeps at most this many                   \
           idle connections, to all servers together */
#define BKT_PACE_SAMPLES 256 /* recent answers that are kept */

/* The recent speed of answers to one kind of request; pace.c */
struct bkt_engine_lane {
    double   first_ms, body_ms; /* time until the first byte of an answer; time of bodies */
    double   before;            /* the cost when the limit was last raised, which must stay about the same; 0:
                                   not raised, or lowered since */
    unsigned rounds;            /* answers since the last check */
    unsigned opened;            /* those of them that had a new connection */
};

struct bkt_engine_host {
    struct bkt_engine_host *next;
    char            *origin;
    struct bkt_engines *all;
    bool             tls;      /* https */
    atomic_bool      known;    /* its name was looked up; until then only one exchange goes first, so that one
                                  look-up serves all */
    atomic_bool      answered; /* it has answered once: a TLS session is there, if the server gives any */
    atomic_bool      queued;   /* an exchange waits */
    pthread_mutex_t  lock;     /* guards the members below that are not atomic */
    struct bkt_xfer *head, *tail; /* waiting exchanges */
    unsigned         n_waiting;   /* waiting exchanges */
    uint64_t         moved_ms;    /* time when an exchange last ended, or began after none was active */
    struct {
        unsigned         active; /* exchanges of that thread */
        _Atomic unsigned kept;   /* its connections, in use and idle */
    } at[BKT_IO_MAX];
    unsigned         active, twins;     /* active exchanges, and those with a second transfer */
    /* pace.c */
    unsigned         limit, most;       /* connections now, and at most */
    unsigned         reading, waiting;  /* active exchanges other than uploads; those of them without a first
                                           byte */
    struct bkt_engine_lane gets, puts;  /* requests without a body; requests with a body */
    double           rate;              /* bytes per second of one connection; 0: not known */
    bool             wanted;            /* more connections would help */
    double           window;            /* requests at once that the server can take, since it asked to slow
                                           down; 0: it has not */
    uint32_t         samples[BKT_PACE_SAMPLES]; /* first bytes, ms */
    size_t           n_samples;
    uint64_t         late_ms;           /* 0: not known yet */
    uint32_t         body_samples[BKT_PACE_SAMPLES]; /* bodies, us per 256 KiB */
    size_t           n_body_samples;
    uint64_t         slow_us;           /* few bodies take longer than this, per 256 KiB; 0: not known yet */
    double           tokens;            /* hedges that may be spent */
};

/* Exchanges that wait for their time: a pairing heap by not_before_ms, threaded through next (sibling) and
 * prev (first child), so that it allocates no memory.  Adding an exchange is one step, taking the first O(log
 * n) steps on average.  Not locked. */
struct bkt_delay {
    struct bkt_xfer *first; /* the exchange whose time comes first; NULL: the heap is empty */
    uint64_t         steps; /* comparisons so far; for tests */
};

struct bkt_engine {
    struct bkt_engines *all;
    unsigned         index;    /* in all->at */
    pthread_mutex_t  lock;     /* guards the members up to `in_tail` */
    bool             running, stop;
    struct bkt_xfer *in_head, *in_tail;
    pthread_t        thread;
    int              epoll, wake;
    atomic_bool      cancelled; /* some exchanges were cancelled: check all */
    bool             more;      /* a part of the body that libcurl read last is left */

    CURLM           *multi;
    uint64_t         now, timer_at, check_at, check_ms, hedge_at;
    struct bkt_xfer *decided; /* exchanges whose other leg is to be given up, linked by next_decided */
    struct bkt_xfer *active;  /* doubly linked */
    struct bkt_delay delayed;
    uint64_t         look_at; /* next check for cancelled exchanges among the delayed ones */
};

/* All threads of the process; each starts with its first exchange. */
struct bkt_engines {
    struct bkt_engine at[BKT_IO_MAX];
    _Atomic(struct bkt_engine_host *) hosts; /* grows at its head only */
    pthread_mutex_t        lock;  /* held while `hosts` grows */
    CURLSH                *share; /* looked-up names, and TLS sessions if tls.h keeps none */
    pthread_mutex_t        share_locks[CURL_LOCK_DATA_LAST];
};

/* ---- engine.c: one thread's exchanges, those that wait for their time, and its loop ---- */
/** The thread's function; @p arg is its engine.  All exchanges have ended when it returns. */
void *bkt_engine_loop(void *arg);
/** End an exchange. */
void bkt_engine_end(struct bkt_engine *e, struct bkt_xfer *x, enum bkt_wire wire);
/** End an exchange that has not begun. */
void  bkt_engine_fail(struct bkt_xfer *x, const char *why);
/** As bkt_engine_fail(), for all exchanges of a list, linked by next.  done() may submit, so the caller must
 *  not hold a lock. */
void  bkt_engine_fail_all(struct bkt_xfer *x, const char *why);
/** Add @p x, which waits for its not_before_ms and is in no other list. */
void bkt_delay_add(struct bkt_delay *d, struct bkt_xfer *x);
/** Remove and return the first exchange; NULL: the heap is empty. */
struct bkt_xfer *bkt_delay_take(struct bkt_delay *d);
#define BKT_NO_THREAD "the I/O thread cannot be started"
#define BKT_ENDING    "storage is shutting down"

/* ---- engine_threads.c: waiting exchanges, and the choice of a thread; any thread ---- */
/** Queue the exchange. */
void bkt_host_enqueue(struct bkt_engine_host *h, struct bkt_xfer *x);
/** Give the exchanges that may begin to threads.
 * @return exchanges for which no thread could be started, linked by next; the caller has to fail them.  NULL:
 *     none */
BKT_NODISCARD struct bkt_xfer *bkt_host_dispatch(struct bkt_engine_host *h);
/** Note that an exchange given to the thread is over, or never began. */
void bkt_host_release(struct bkt_engine_host *h, const struct bkt_engine *e);
/** Remove and return the cancelled exchanges of the queue, linked by next. */
struct bkt_xfer *bkt_host_cancelled(struct bkt_engine_host *h);
/** Note that a socket is open, or closed: a forked child closes its copies.  Any thread. */
void           bkt_engine_track(int fd, bool open);

/* ---- curl_options.c ---- */
/** Set up one leg of the exchange: callbacks, limits, method and body.  False: out of memory. */
bool bkt_engine_options(struct bkt_engine *e, struct bkt_leg *leg);
/** Translate libcurl's result. */
enum bkt_wire bkt_engine_wire(struct bkt_xfer *x, CURLcode code);
/** bkt_engine_on_*() are callbacks of the multi handle; @p arg is the engine.  e->epoll watches the sockets,
 * e->timer_at is its timer. */
int bkt_engine_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known);
int bkt_engine_on_timer(CURLM *multi, long ms, void *arg);

/* ---- pace.c ---- */
/** Functions about one server and an exchange with it; any thread.  Initially nothing is known of the
 *  server. */
void bkt_pace_init(struct bkt_engine_host *h);
/** Whether there is a connection for the exchange now, or may be a new one.  The host is locked. */
bool bkt_pace_may_begin(struct bkt_engine_host *h, const struct bkt_xfer *x);
/** Record that an exchange begins on a connection: its times, the source of all estimates, start again. */
void bkt_pace_begun(struct bkt_engine_host *h, struct bkt_xfer *x);
/** Record the first byte of its answer; further calls do nothing. */
void bkt_pace_first_byte(struct bkt_engine_host *h, struct bkt_xfer *x);
/** Record that it has ended, with x->status. */
void bkt_pace_end(struct bkt_engine_host *h, struct bkt_xfer *x);
/** Send late exchanges a second time, and resume slow ones. */
void bkt_hedge_late(struct bkt_engine *e);
/** End the leg that is not, or no longer, the exchange; without such a leg nothing happens. */
void bkt_hedge_give_up(struct bkt_engine *e, struct bkt_xfer *x);
/** Note that libcurl has finished one leg.  True: the exchange is over, too. */
bool bkt_hedge_leg_over(struct bkt_engine *e, struct bkt_leg *leg);
