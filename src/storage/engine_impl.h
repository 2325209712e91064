/* The I/O thread's own parts; for engine*.c only.  All of it belongs to that thread unless it says otherwise. */
#ifndef BKT_ENGINE_IMPL_H
#define BKT_ENGINE_IMPL_H

#include <pthread.h>

#include <curl/curl.h>

#include "delay.h"
#include "engine.h"

#define BKT_PACE_SAMPLES 256 /* the last ones; late_same takes as long with 64 */

/* How the answers to one kind of request have been lately; engine_pace.c */
struct lane {
    double   first_ms, body_ms; /* until the first byte of an answer; of bodies */
    double   before;            /* what is to stay about the same, when the limit was last raised; 0: it wasn't, or was lowered */
    unsigned rounds;            /* answers since */
};

struct host {
    struct host     *next;
    char            *origin;
    struct engine   *engine;
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
    bool             known; /* its name was looked up: until then one exchange goes first, so that one look-up serves all */
    bool             answered; /* once: a session of TLS, if it gives any, is there */
    struct bkt_xfer *head, *tail;
};

struct engine {
    pthread_t        thread;
    int              epoll, wake;
    bool             stop;
    struct bkt_xfer *in_head, *in_tail;
    atomic_bool      cancelled; /* exchanges were: look through them */
    bool             more;      /* of the body that libcurl asked for last something is left */

    CURLM           *multi;
    CURLSH          *share;
    uint64_t         now, timer_at, scan_at, scan_ms, hedge_at;
    struct bkt_xfer *decided; /* by next_decided: exchanges whose other leg is to be given up */
    struct host     *hosts;
    struct bkt_xfer *active;  /* doubly linked */
    struct bkt_delay delayed;
    uint64_t         look_at; /* the next time to look for cancelled ones among the delayed */
};

/** Set up one leg of the exchange: callbacks, limits, method and body.  False: out of memory. */
bool bkt_engine_options(struct engine *e, struct bkt_leg *leg);
/** How libcurl's result reads. */
enum bkt_wire bkt_engine_wire(struct bkt_xfer *x, CURLcode code);
/** Callbacks of the multi handle: sockets are watched by e->epoll, its timer is e->timer_at; @p arg is the engine. */
int bkt_engine_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known);
int bkt_engine_on_timer(CURLM *multi, long ms, void *arg);

/* ---- engine.c ---- */
/** The exchange is over. */
void bkt_engine_end(struct engine *e, struct bkt_xfer *x, enum bkt_wire wire);

/** Note an open socket, or that it is closed: a forked child closes its copies.  Any thread. */
void bkt_engine_track(int fd, bool open);

/* ---- engine_watch.c ---- */
/** End what doesn't move, and what takes too long. */
void bkt_engine_watch(struct engine *e);
/** Note what has moved. */
void bkt_engine_moved(struct bkt_xfer *x);

/* ---- engine_pace.c ---- */
/** All on the engine's thread, about one server and an exchange with it.  It knows nothing of the server yet. */
void     bkt_pace_init(struct host *h);
/** Whether there is a connection for it now, or may be one more. */
bool     bkt_pace_may_begin(struct host *h, const struct bkt_xfer *x);
/** What has happened to the exchange; its times are what is learned from. */
void     bkt_pace_begun(struct host *h, struct bkt_xfer *x);
void     bkt_pace_first_byte(struct host *h, struct bkt_xfer *x);
void     bkt_pace_end(struct host *h, struct bkt_xfer *x);
/** Whether to send it a second time, or to ask for the rest of its body anew; @p now as bkt_engine_now(). */
bool     bkt_pace_is_late(const struct host *h, const struct bkt_xfer *x, uint64_t now);
bool     bkt_pace_is_slow(const struct host *h, const struct bkt_xfer *x, uint64_t now);
/** When something may be late next, ms; UINT64_MAX: no need to look. */
uint64_t bkt_pace_look_at(const struct host *h, uint64_t now);

/* ---- engine_hedge.c ---- */
/** Send a second time what is late. */
void  bkt_hedge_late(struct engine *e);
/** End the leg that isn't the exchange (any more); none: nothing happens. */
void  bkt_hedge_give_up(struct engine *e, struct bkt_xfer *x);
/** libcurl is done with one leg.  True: and with that the exchange is over. */
bool  bkt_hedge_leg_over(struct engine *e, struct bkt_leg *leg);

#endif
