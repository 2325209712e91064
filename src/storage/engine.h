/* The I/O threads: each has a libcurl multi handle, and all together drive every HTTP exchange of the process.
 *
 * A struct bkt_xfer is one exchange (one attempt of a request).  Its callbacks run on one I/O thread, the same for all of
 * them, and must not block.  Exchanges with one origin share a bounded set of kept connections: at most net->connections
 * are under way on all threads, the others queue here, first in first out.  An exchange goes where a connection is idle, else
 * to the thread that has the fewest.  A thread starts with its first exchange. */
#ifndef BKT_ENGINE_H
#define BKT_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retry.h"
#include "settings.h"
#include "whole.h"

struct curl_slist;

/** What is known of a server's speed; any thread. */
struct bkt_pace {
    _Atomic uint64_t first_us;    /* until the first byte of an answer; 0: not known */
    _Atomic uint64_t bytes_per_s; /* of one connection; 0: not known */
};

/** How to reach one origin; belongs to a store and outlives its exchanges. */
struct bkt_net {
    char    *origin; /* what shares connections, e.g. "https://host:443" */
    char    *ca_bundle;
    unsigned connections, hedge;
    unsigned io_threads; /* that exchanges with it are spread over */
    struct bkt_pace *pace;
    uint64_t connect_ms, stall_ms;
};
/** Copies what it needs.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_net_init(struct bkt_net *net, const char *origin, const struct bkt_settings *set,
                               struct bkt_err *err);
void              bkt_net_fini(struct bkt_net *net);

/** One try of an exchange at the wire; a late one gets a second. */
struct bkt_leg {
    struct bkt_xfer *x;
    void            *easy;
};

struct bkt_xfer {
    /* in; unchanged until done() */
    const struct bkt_net *net;
    const char           *method; /* GET, HEAD, PUT, DELETE, POST */
    const void           *put;
    size_t                put_len;
    bool                  small;         /* see bkt_req */
    uint64_t              not_before_ms; /* bkt_engine_now(); wait until then; 0: at once */
    const atomic_bool    *cancel;        /* ends the waiting early; begin() decides what it means.  A GET under way ends as
                                            BKT_WIRE_CANCEL, once bkt_engine_cancelled() was called */
    /** A connection is free: fill in url, headers and timeout_ms.  False: the exchange is not for the engine any
     *  more (failed, or to be submitted again later) and may be gone. */
    bool (*begin)(struct bkt_xfer *x);
    /** One header of the answer, name and value NUL-terminated; status is set. */
    void (*header)(struct bkt_xfer *x, const char *name, const char *value);
    /** Body bytes; status is set.  False: enough, which ends the exchange as BKT_WIRE_STOPPED. */
    bool (*data)(struct bkt_xfer *x, const void *p, size_t n);
    /** Whether the rest of the body can be asked for anew; if so the exchange ends as BKT_WIRE_SLOW, when its body comes
     *  much more slowly than others. */
    bool (*can_resume)(struct bkt_xfer *x);
    /** The end.  The exchange may be freed or submitted again. */
    void (*done)(struct bkt_xfer *x);

    /* in, from begin(); the caller's own, freed by it */
    const char        *url;
    struct curl_slist *headers;
    uint64_t           timeout_ms; /* more by bkt_retry_allowance() of what has moved */

    /* out */
    enum bkt_wire wire;
    long          status;
    char          why[256];       /* what libcurl says about a failure */
    uint64_t      moved;          /* body bytes that came, or went out and were confirmed */
    uint64_t      retry_after_ms;
    char         *redirect;       /* absolute URL of a Location header; freed by the engine at the next use, or free() */

    /* the engine's own */
    void            *easy, *twin; /* twin: sent a second time, until one of them answers; then what is to be given up */
    struct bkt_leg   legs[2];
    struct bkt_whole whole;
    bool             decided;
    struct bkt_xfer *next_decided;
    struct host     *host;
    struct engine   *engine;   /* whose thread has it; set with `assigned` */
    bool             assigned;
    struct bkt_xfer *next, *prev;
    uint64_t         begun_ms, first_ms, last_ms, body_bytes;
    uint64_t         upload_ms, sent_ms; /* libcurl took the first bytes of what is sent, and the last; 0: not yet */
    bool             waiting; /* for its first byte */
    bool             no_file; /* the system had none for a socket: too many are open */
    bool             resumed, first_in_line; /* after BKT_WIRE_SLOW: not a second time; it needn't queue again */
    int              fd;      /* of an upload; -1: not known */
    size_t           put_at;
    bool             enough;
};

/** Queue an exchange; any thread. */
void bkt_engine_submit(struct bkt_xfer *x);

/** Some exchange's `cancel` has become true.  Any thread. */
void bkt_engine_cancelled(void);

/** The most sockets that were open at once, to all servers together, and begin to count anew from those open now.  Any thread;
 *  for tests: a server still counts a connection that was given up just now. */
size_t bkt_engine_most_sockets(void);

/** Milliseconds on a monotonic clock, never 0. */
uint64_t bkt_engine_now(void);

/** End the threads and their connections. Exchanges still queued end as BKT_WIRE_FATAL. */
void bkt_engine_shutdown(void);

/** libcurl's process-wide start, once; for others who use libcurl. */
void bkt_engine_curl_init(void);

/** For bkt_fork_*: the engine's locks are held over fork(), and the child begins without threads and connections. */
void bkt_engine_before_fork(void);
void bkt_engine_after_fork_parent(void);
void bkt_engine_after_fork_child(void);

#endif
