/* The I/O threads.  Each has a libcurl multi handle, and together they drive every HTTP exchange of the
 * process.
 *
 * A struct bkt_xfer is one exchange (one attempt of a request).  All its callbacks run on the same I/O
 * thread, and must not block.  Exchanges with one origin share a bounded set of kept connections.  At most
 * net->connections exchanges are under way on all threads; the others queue here, first in first out.  An
 * exchange goes to a thread with an idle connection, else to the thread with the fewest exchanges.  A thread
 * starts with its first exchange. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/http/retry_policy.h"
#include "base/settings.h"

struct curl_slist;
struct bkt_tls_end;

/** A server's speed as far as it is known; any thread. */
struct bkt_pace {
    _Atomic uint64_t first_us;    /* time until the first byte of an answer; 0: not known */
    _Atomic uint64_t bytes_per_s; /* of one connection; 0: not known */
};

/** The way to one origin; belongs to a store and outlives its exchanges. */
struct bkt_net {
    char *origin; /* exchanges with one origin share connections, e.g. "https://host:443" */
    char *ca_bundle;
    unsigned connections, hedge;
    unsigned io_threads; /* threads over which exchanges with it are spread */
    struct bkt_pace *pace;
    uint64_t connect_ms, stall_ms;
};
/** Fill in @p net; copies the values that it needs.  BKT_EINVAL: setting ca_bundle names something that is
 * not a file; BKT_ENOMEM. */
BKT_NODISCARD int bkt_net_init(struct bkt_net *net, const char *origin, const struct bkt_settings *set,
                               struct bkt_err *err);
/** As bkt_net_init(), in the same way as @p from, for another origin.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_net_copy(struct bkt_net *net, const struct bkt_net *from, const char *origin);
void              bkt_net_fini(struct bkt_net *net);
/** As bkt_store_pace(). */
static inline void bkt_net_pace(const struct bkt_net *net, double *first_byte_s, double *bytes_per_s)
{
    *first_byte_s = (double)atomic_load(&net->pace->first_us) / 1e6;
    *bytes_per_s = (double)atomic_load(&net->pace->bytes_per_s);
}

/** Whether an answer is complete, where libcurl does not check it.  If a connection ends in the middle of a
 * header, libcurl takes that for the end of the answer.  It does the same for an end without TLS's
 * close_notify, which anybody on the way can cause.  Zeroed before the first header line. */
struct bkt_whole {
    bool bodyless;           /* set by the caller: the request was HEAD */
    bool begun, headed;      /* its header has begun; its header is complete */
    bool framed;             /* the answer contains the length of its body */
    struct bkt_tls_end *end; /* of the connection whose end delimits the body; NULL: not known */
};
/** Record a line of the header as libcurl passes it, including the empty line.  @p easy: CURL *. */
void bkt_whole_line(struct bkt_whole *w, void *easy, const char *line, size_t n);
/** The missing part of an answer that libcurl reports as complete, or NULL. */
const char *bkt_whole_missing(const struct bkt_whole *w);
/** Free its members. */
void bkt_whole_fini(struct bkt_whole *w);

/** One transfer of an exchange; a late exchange gets a second one. */
struct bkt_leg {
    struct bkt_xfer *x;
    void            *easy;
};

struct bkt_xfer {
    /* in; unchanged until done() */
    const struct bkt_net *net;
    const char *method; /* GET, HEAD, PUT, DELETE, POST */
    const void *put;
    size_t put_len;
    bool small;             /* see bkt_req */
    uint64_t not_before_ms; /* bkt_ms_now(); wait until then; 0: at once */
    /* ends the waiting early; begin() then decides.  A GET under way ends as BKT_WIRE_CANCEL, after a call of
     * bkt_engine_cancelled() */
    const atomic_bool *cancel;
    /** Called when a connection is free: fill in url, headers and timeout_ms.  False: the engine has to drop
     *  the exchange.  It has failed, or will be submitted again later, and may have been freed. */
    bool (*begin)(struct bkt_xfer *x);
    /** Called with one header of the answer, name and value NUL-terminated; status is set. */
    void (*header)(struct bkt_xfer *x, const char *name, const char *value);
    /** Called with body bytes; status is set.  False: enough, which ends the exchange as BKT_WIRE_STOPPED. */
    bool (*data)(struct bkt_xfer *x, const void *p, size_t n);
    /** Whether the rest of the body can be requested.  If so, the exchange ends as BKT_WIRE_SLOW when its
     *  body arrives much more slowly than others. */
    bool (*can_resume)(struct bkt_xfer *x);
    /** Called at the end.  The exchange may be freed or submitted again. */
    void (*done)(struct bkt_xfer *x);

    /* in, from begin(); owned and freed by the caller */
    const char *url;
    struct curl_slist *headers;
    uint64_t timeout_ms;        /* extended by bkt_retry_allowance() of `moved` */
    struct curl_slist *cookies; /* sent where libcurl's rules allow it, as libcurl lists them; NULL: none */
    bool keep_cookies;          /* report the cookies that are known after the answer */

    /* out */
    enum bkt_wire wire;
    long status;
    char why[256];   /* libcurl's message about a failure */
    bool tls_failed; /* the failure is one of TLS */
    uint64_t moved;  /* body bytes that arrived, or were sent and confirmed */
    uint64_t retry_after_ms;
    struct curl_slist *kept_cookies; /* with keep_cookies; freed as `redirect` is */
    char *redirect; /* absolute URL of a Location header; freed by the engine at the next use, or free() */

    /* Used by the engine.  A queued exchange has neither `assigned`, `waiting` nor `decided`.  The two latter
     * need `assigned`; `decided` needs a twin.  opened, no_file, enough and tls_failed are facts of the
     * present attempt, in any combination.  resumed stays; first_in_line is for the next attempt. */
    /* twin: the second transfer, until one of both has an answer; afterwards the transfer to be given up */
    void *easy, *twin;
    struct bkt_leg legs[2];
    struct bkt_whole whole;
    bool decided;
    struct bkt_xfer *next_decided;
    struct bkt_engine_host *host;
    struct bkt_engine *engine; /* the engine whose thread has it; set with `assigned` */
    bool assigned;
    struct bkt_xfer *next, *prev;
    uint64_t begun_ms, first_ms, last_ms, body_bytes;
    uint64_t asked_ms; /* time when there was a connection for the request; 0: not yet */
    /* times when libcurl took the first and the last bytes of the body; 0: not yet */
    uint64_t upload_ms, sent_ms;
    bool waiting; /* for its first byte */
    bool opened;  /* a connection was opened for its first transfer */
    bool no_file; /* the system had no descriptor for a socket: too many are open */
    /* after BKT_WIRE_SLOW: it is not resumed twice; it does not queue again */
    bool resumed, first_in_line;
    int fd; /* an upload's socket; -1: not known */
    size_t put_at;
    bool enough;
};

/** Queue an exchange; any thread. */
void bkt_engine_submit(struct bkt_xfer *x);

/** Announce that `cancel` of some exchange has become true.  Any thread. */
void bkt_engine_cancelled(void);

/** The most sockets that were open at once, to all servers together.  Counting starts again from the sockets
 *  open now.  Any thread.  For tests: a server still counts a connection that was closed a moment ago. */
size_t bkt_engine_most_sockets(void);

/** End the threads and their connections. Exchanges still queued end as BKT_WIRE_FATAL. */
void bkt_engine_shutdown(void);

/** Initialise libcurl for the process, once; for other code that uses libcurl. */
void bkt_engine_curl_init(void);
/** Set the options of a handle (CURL *) that all requests share.  False: out of memory. */
bool bkt_engine_usual_options(void *easy, const char *url, const char *ca_bundle);

/** Handlers for fork().  bkt_engine_before_fork() takes the engine's locks, which are held across it. */
void bkt_engine_before_fork(void);
/** Release the locks in the parent. */
void bkt_engine_after_fork_parent(void);
/** Release the locks in the child, which begins without threads and connections: its copies of the sockets
 * are closed. */
void bkt_engine_after_fork_child(void);
