/* A store around another store that fails on demand, for tests of the layers above. */
#ifndef BKT_FAULT_H
#define BKT_FAULT_H

#include "storage/store.h"

/** A rule for requests that match.  Rules are tried in order; the first rule that applies is used. */
struct bkt_fault {
    int         op;       /* enum bkt_op; -1: any */
    const char *key_part; /* must occur in the key; NULL: any key */
    unsigned    skip;     /* this many matching requests pass first */
    unsigned    times;    /* then this many are hit; 0: all */
    /* effect */
    int      code;        /* the request ends with this code; 0: it does not fail */
    bool     carry_out;   /* with code: the request is passed on nevertheless, and only its answer is lost */
    enum {
        BKT_FAULT_LIVE,
        BKT_FAULT_KILL_BEFORE,
        BKT_FAULT_KILL_AFTER
    } kill;               /* the process dies (SIGKILL) at this request */
    uint64_t cut;         /* GET: at most this many bytes arrive, with success if may_be_short, else
                             BKT_EFORMAT; 0: no limit */
    uint64_t flip;               /* GET: the byte at this place of the answer is inverted, */
    bool     flip_set;    /* if this is set */
    bool     no_etag;     /* the answer has no ETag, as when another writer replaced the object at once */
    unsigned delay_ms;    /* before the request is passed on */
    unsigned hold;        /* the request waits, without a thread, until this many have come, or for
                             bkt_fault_release(); 0: no wait */
};

/** Open a store that passes requests on to @p inner, by the rules.
 * @param inner  owned by the new store
 * @param rules  copied; their texts are borrowed for the store's life */
BKT_NODISCARD int bkt_fault_open(struct bkt_store *inner, const struct bkt_fault *rules, size_t n,
                                 struct bkt_store **out, struct bkt_err *err);
/** The number of requests that rule @p i has hit. */
unsigned bkt_fault_hits(struct bkt_store *st, size_t i);
/** Let all held requests go on, and hold no further requests; any thread. */
void bkt_fault_release(struct bkt_store *st);

#endif
