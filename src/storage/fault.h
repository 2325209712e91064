/* A store around a store that fails on demand; for tests of the layers above. */
#ifndef BKT_FAULT_H
#define BKT_FAULT_H

#include "store.h"

/** What happens to requests that match.  Rules are tried in order; the first that applies is taken. */
struct bkt_fault {
    int         op;       /* enum bkt_op; -1: any */
    const char *key_part; /* must occur in the key; NULL: any key */
    unsigned    skip;     /* so many matching requests pass first */
    unsigned    times;    /* then so many are hit; 0: all */
    /* effect */
    int      code;        /* ends with this; 0: none */
    bool     carry_out;   /* with code: it is passed on all the same, and only its answer is lost */
    enum { BKT_FAULT_LIVE, BKT_FAULT_KILL_BEFORE, BKT_FAULT_KILL_AFTER } kill; /* the process dies (SIGKILL) at this request */
    uint64_t cut;         /* GET: at most so many bytes come, with success if may_be_short, else BKT_EFORMAT; 0: none */
    uint64_t flip;               /* GET: the byte at this place of the answer is inverted, */
    bool     flip_set;    /* if this is set */
    bool     no_etag;     /* the answer says none, as when another writer replaced the object at once */
    unsigned delay_ms;    /* before it is passed on */
    unsigned hold;        /* it waits, no thread with it, until so many have come, or bkt_fault_release(); 0: it doesn't */
};

/** @param inner  becomes the new store's own
 *  @param rules  copied, their texts borrowed for the store's life */
BKT_NODISCARD int bkt_fault_open(struct bkt_store *inner, const struct bkt_fault *rules, size_t n, struct bkt_store **out,
                                 struct bkt_err *err);
/** How many requests rule @p i has hit. */
unsigned bkt_fault_hits(struct bkt_store *st, size_t i);
/** All that are held go on, and none is held any more; any thread. */
void bkt_fault_release(struct bkt_store *st);

#endif
