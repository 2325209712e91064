/* One request that is begun now and waited for later, by one thread. */
#ifndef BKT_AWAIT_H
#define BKT_AWAIT_H

#include <pthread.h>

#include "storage/node_reads.h"
#include "storage/store.h"

struct bkt_await {
    struct bkt_req  req; /* filled in by the caller except done and arg; its outputs are valid once
                            bkt_await() has returned */
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    bool            arrived;
};

/** Begin w->req.  @p w must not move until bkt_await_fini(). */
void bkt_await_start(struct bkt_store *st, struct bkt_await *w);
/** The same, shared with other processes of this node: bkt_node_reads_start(). */
void bkt_await_start_shared(struct bkt_node_reads *n, struct bkt_store *st, struct bkt_await *w);
/** Whether the request has ended; does not wait. */
bool bkt_await_arrived(struct bkt_await *w);
/** Wait for the request.  Further calls return at once. */
void bkt_await(struct bkt_await *w);
/** Wait as bkt_await() does, and free the outputs. */
void bkt_await_fini(struct bkt_await *w);

#endif
