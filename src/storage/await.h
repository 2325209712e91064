/* One request that is begun now and waited for later, by one thread. */
#ifndef BKT_AWAIT_H
#define BKT_AWAIT_H

#include <pthread.h>

#include "store.h"

struct bkt_await {
    struct bkt_req  req; /* the caller's to fill in, but for done and arg, and to read once bkt_await() has returned */
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    bool            arrived;
};

/** Begin w->req.  @p w stays where it is until bkt_await_fini(). */
void bkt_await_start(struct bkt_store *st, struct bkt_await *w);
/** Wait for it; once more costs nothing. */
void bkt_await(struct bkt_await *w);
/** Waits, too, and frees what came. */
void bkt_await_fini(struct bkt_await *w);

#endif
