/* When a request is sent again, and how long to wait before: pure policy, no clock and no I/O of its own. */
#ifndef BKT_RETRY_H
#define BKT_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/** How one exchange over the wire ended, HTTP status aside. */
enum bkt_wire {
    BKT_WIRE_OK,       /* a whole answer, whatever its status */
    BKT_WIRE_STOPPED,  /* we had enough of it */
    BKT_WIRE_RESET,    /* the connection broke */
    BKT_WIRE_SHORT,    /* fewer bytes than announced */
    BKT_WIRE_STALL,    /* no byte for stall_ms */
    BKT_WIRE_SLOW,     /* the body comes much more slowly than others: its rest is to be asked for again */
    BKT_WIRE_CANCEL,   /* nobody wants it any more */
    BKT_WIRE_CONNECT,  /* no connection: refused, unreachable, name unknown, TLS handshake broken off */
    BKT_WIRE_CROWDED,  /* no connection, as the process or the system has too many files open: others must end first */
    BKT_WIRE_DEADLINE, /* the request's time is over */
    BKT_WIRE_FATAL,    /* will not get better: certificate refused, answer is no HTTP, out of memory */
};

enum bkt_retry_class {
    BKT_RETRY_NO,
    BKT_RETRY_YES, /* as often as the settings say */
    BKT_RETRY_FEW, /* a dead server should be reported soon */
};

struct bkt_retry_policy {
    uint64_t retries, backoff_ms, deadline_ms; /* the settings of these names */
};

/** A request whose bytes move at this many per second or more is not ended by its deadline: a server that trickles can hold us for
 *  no longer than that, 256 s for each MiB, and no line that somebody reads arrays over is slower. */
#define BKT_RETRY_SLOWEST 4096

/** State of one request; zeroed at its start. */
struct bkt_retry {
    uint64_t started_ms; /* any monotonic clock */
    uint64_t moved;      /* bytes of bodies that came or went, in all tries */
    unsigned tries;      /* retries granted so far */
    unsigned few;        /* of them after BKT_RETRY_FEW */
};

/** What an answer means for trying again: how the wire ended, and HTTP's status where there is one. */
enum bkt_retry_class bkt_retry_classify(enum bkt_wire wire, long status);

/** What @p moved bytes may take, in ms. */
static inline uint64_t bkt_retry_allowance(uint64_t moved) { return moved / BKT_RETRY_SLOWEST * 1000; }

/** How long the request may take, in ms since its start: deadline_ms, and as much as the bytes that have moved may. */
uint64_t bkt_retry_time(const struct bkt_retry_policy *p, const struct bkt_retry *r);

/** Whether to try again.
 * @param retry_after_ms  what the server asks for, 0 if it does not; waited for in full
 * @param rnd             64 random bits, for the jitter
 * @param wait_ms         how long to wait from now; less than the time left until the deadline */
bool bkt_retry_next(const struct bkt_retry_policy *p, struct bkt_retry *r, enum bkt_retry_class class,
                    uint64_t retry_after_ms, uint64_t now_ms, uint64_t rnd, uint64_t *wait_ms);

#endif
