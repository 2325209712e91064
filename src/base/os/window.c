#include "base/os/window.h"

#include "base/num.h"
#include "base/os/thread.h"

void bkt_window_init(struct bkt_window *w, uint64_t limit)
{
    *w = (struct bkt_window){.limit = limit};
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wake, NULL);
}

void bkt_window_fini(struct bkt_window *w)
{
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_mutex_destroy(&w->lock);
}

bool bkt_window_is_full(struct bkt_window *w, uint64_t cost)
{
    return atomic_load(&w->n) &&
           (!cost || atomic_load(&w->in_flight) > w->limit - bkt_min_u64(cost, w->limit));
}

/* Does other work instead of waiting; lock held. */
static bool help(struct bkt_window *w)
{
    if (bkt_pool_help_locked(&w->lock, &w->mine))
        return true;
    if (!w->idle)
        return false;
    (void)pthread_mutex_unlock(&w->lock);
    bool helped = w->idle(w);
    (void)pthread_mutex_lock(&w->lock);
    return helped || w->mine.head;
}

void bkt_window_enter(struct bkt_window *w, uint64_t cost)
{
    BKT_HOLD(&w->lock);
    while (bkt_window_is_full(w, cost)) {
        if (help(w))
            continue;
        atomic_store(&w->wants_room, cost != 0); /* set before the check, so that a task that makes room
                                                    afterwards signals it */
        if (bkt_window_is_full(w, cost))
            (void)pthread_cond_wait(&w->wake, &w->lock);
        atomic_store(&w->wants_room, false);
    }
    if (cost)
        bkt_window_add(w, cost);
}

void bkt_window_add(struct bkt_window *w, uint64_t cost)
{
    atomic_fetch_add(&w->in_flight, cost);
    atomic_fetch_add(&w->n, 1);
}

/* The task may be the last one.  It is counted under the lock, since otherwise the window might be freed
 * before that. */
static void leave_last(struct bkt_window *w)
{
    BKT_HOLD(&w->lock);
    if (atomic_fetch_sub(&w->n, 1) == 1)
        (void)pthread_cond_signal(&w->wake);
}

void bkt_window_leave(struct bkt_window *w, uint64_t cost)
{
    uint64_t left = atomic_fetch_sub(&w->in_flight, cost) - cost;
    /* The waiting thread isn't woken for every chunk, only once an eighth of the limit is free. */
    if (atomic_load(&w->wants_room) && left <= w->limit - w->limit / 8) {
        (void)pthread_mutex_lock(&w->lock);
        (void)pthread_cond_signal(&w->wake);
        (void)pthread_mutex_unlock(&w->lock);
    }
    size_t n = atomic_load(&w->n);
    while (n > 1)
        if (atomic_compare_exchange_weak(&w->n, &n, n - 1))
            return;
    leave_last(w);
}

void bkt_window_end(struct bkt_window *w, uint64_t cost)
{
    atomic_fetch_sub(&w->in_flight, cost);
    atomic_fetch_sub(&w->n, 1);
    (void)pthread_cond_broadcast(&w->wake);
}

void bkt_window_resize(struct bkt_window *w, uint64_t *cost, uint64_t now)
{
    atomic_fetch_add(&w->in_flight, now - *cost);
    *cost = now;
    (void)pthread_cond_broadcast(&w->wake);
}

void bkt_window_submit(struct bkt_window *w, bool by_caller, struct bkt_job *job)
{
    if (!by_caller) {
        bkt_pool_submit(job);
        return;
    }
    BKT_HOLD(&w->lock);
    bkt_jobs_add(&w->mine, job);
    (void)pthread_cond_broadcast(&w->wake);
}
