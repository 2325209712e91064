/* Whether a request is repeated, and how long it waits before: pure policy, without clock and I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** How one exchange over the wire ended, HTTP status aside. */
enum bkt_wire {
    BKT_WIRE_OK,       /* a whole answer, whatever its status */
    BKT_WIRE_STOPPED,  /* this side stopped the transfer */
    BKT_WIRE_RESET,    /* the connection broke */
    BKT_WIRE_SHORT,    /* fewer bytes than announced */
    BKT_WIRE_STALL,    /* no byte for stall_ms */
    BKT_WIRE_SLOW,     /* the body arrives much more slowly than others: its rest has to be requested again */
    BKT_WIRE_CANCEL,   /* the request was cancelled */
    BKT_WIRE_CONNECT,  /* no connection: refused, unreachable, name unknown, TLS handshake broken off */
    BKT_WIRE_CROWDED,  /* no connection, as the process or the system has too many files open: other transfers
                          must end first */
    BKT_WIRE_DEADLINE, /* the deadline has passed */
    BKT_WIRE_FATAL,    /* retrying cannot help: certificate refused, answer is not HTTP, out of memory */
};

enum bkt_retry_class {
    BKT_RETRY_NO,
    BKT_RETRY_YES, /* as often as the settings allow */
    BKT_RETRY_FEW, /* a server that was never there should be reported soon */
};

struct bkt_retry_policy {
    uint64_t retries, backoff_ms, deadline_ms; /* settings and a knob of these names */
};

/** Bytes per second.  The deadline does not end a request whose bytes move at least at this rate.  So a
 *  server that trickles can hold a request for 256 s for each MiB at most.  No line over which programs read
 *  arrays is slower. */
#define BKT_RETRY_SLOWEST 4096

/** State of one request; zero it at the start. */
struct bkt_retry {
    uint64_t started_ms; /* any monotonic clock */
    uint64_t moved;      /* bytes of bodies received or sent, in all tries */
    unsigned tries;      /* retries granted so far */
    unsigned few;        /* retries of class BKT_RETRY_FEW */
};

/** The class of an answer, by the end of the transfer and by HTTP's status, if there is one. */
enum bkt_retry_class bkt_retry_classify(enum bkt_wire wire, long status);

/** The time allowed for @p moved bytes, in ms. */
static inline uint64_t bkt_retry_allowance(uint64_t moved) { return moved / BKT_RETRY_SLOWEST * 1000; }

/** The time allowed for the request, in ms since its start: deadline_ms, plus the time allowed for the bytes
 *  that have moved. */
uint64_t bkt_retry_time(const struct bkt_retry_policy *p, const struct bkt_retry *r);

/** Whether to try again; counts the retry if so.
 * @param retry_after_ms  the wait that the server asks for, 0 if it does not; waited for in full
 * @param rnd             64 random bits, for the jitter
 * @param wait_ms         gets the wait from now; less than the time left until the deadline, and than
 *                        deadline_ms, as no bytes move while it lasts */
bool bkt_retry_next(const struct bkt_retry_policy *p, struct bkt_retry *r, enum bkt_retry_class class,
                    uint64_t retry_after_ms, uint64_t now_ms, uint64_t rnd, uint64_t *wait_ms);
