/* The I/O thread's own parts; for engine*.c only.  All of it belongs to that thread unless it says otherwise. */
#ifndef BKT_ENGINE_IMPL_H
#define BKT_ENGINE_IMPL_H

#include <pthread.h>

#include <curl/curl.h>

#include "engine.h"

#define BKT_ENGINE_SPARE 128 /* easy handles kept */

struct host {
    struct host     *next;
    char            *origin;
    unsigned         active;
    bool             known; /* its name was looked up: until then one exchange goes first, so that one look-up serves all */
    struct bkt_xfer *head, *tail;
};

struct engine {
    pthread_t        thread;
    int              epoll, wake;
    bool             stop;
    struct bkt_xfer *in_head, *in_tail;

    CURLM           *multi;
    CURLSH          *share;
    uint64_t         now, timer_at, scan_at, scan_ms;
    struct host     *hosts;
    struct bkt_xfer *active;  /* doubly linked */
    struct bkt_xfer *delayed; /* by not_before_ms */
    CURL            *spare[BKT_ENGINE_SPARE];
    size_t           n_spare;
};

/** Set up @p h for the exchange: callbacks, limits, method and body. */
void bkt_engine_options(struct engine *e, CURL *h, struct bkt_xfer *x);
/** How libcurl's result reads. */
enum bkt_wire bkt_engine_wire(struct bkt_xfer *x, CURLcode code);
/** Callbacks of the multi handle: sockets are watched by e->epoll, its timer is e->timer_at; @p arg is the engine. */
int bkt_engine_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known);
int bkt_engine_on_timer(CURLM *multi, long ms, void *arg);
/** Note an open socket, or that it is closed: a forked child closes its copies.  Any thread. */
void bkt_engine_track(int fd, bool open);

#endif
