#include "storage/request_future.h"

static void arrived(struct bkt_req *req)
{
    struct bkt_await *w = req->arg;
    (void)pthread_mutex_lock(&w->lock);
    w->arrived = true;
    (void)pthread_cond_signal(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
}

void bkt_await_start(struct bkt_store *st, struct bkt_await *w)
{
    bkt_await_start_shared(NULL, st, w);
}

void bkt_await_start_shared(struct bkt_node_reads *n, struct bkt_store *st, struct bkt_await *w)
{
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wake, NULL);
    w->arrived  = false;
    w->req.done = arrived;
    w->req.arg  = w;
    bkt_node_reads_start(n, st, &w->req);
}

bool bkt_await_arrived(struct bkt_await *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool yes = w->arrived;
    (void)pthread_mutex_unlock(&w->lock);
    return yes;
}

void bkt_await(struct bkt_await *w)
{
    (void)pthread_mutex_lock(&w->lock);
    while (!w->arrived)
        (void)pthread_cond_wait(&w->wake, &w->lock);
    (void)pthread_mutex_unlock(&w->lock);
}

void bkt_await_fini(struct bkt_await *w)
{
    bkt_await(w);
    bkt_req_fini(&w->req);
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->wake);
}
