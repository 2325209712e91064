#include "base/os/fork.h"
#include "base/os/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t       list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t        hooked    = PTHREAD_ONCE_INIT;
static struct bkt_forkguard *list;
static atomic_uint forks;

typedef const struct bkt_fork_handlers *handlers;
static _Atomic(handlers) handled[BKT_FORK_ALL];
static handlers          entered[BKT_FORK_ALL]; /* at this fork(); list_lock, or that of the jobs, is held */

static void before_fork(void)
{
    handlers jobs = atomic_load(&handled[BKT_FORK_JOBS]);
    if (jobs)
        jobs->before(); /* without list_lock, which a job may need to end */
    (void)pthread_mutex_lock(&list_lock);
    entered[BKT_FORK_JOBS] = jobs;
    for (struct bkt_forkguard *g = list; g; g = g->next)
        (void)pthread_mutex_lock(g->lock);
    for (size_t i = BKT_FORK_JOBS + 1; i < BKT_FORK_ALL; i++)
        if ((entered[i] = atomic_load(&handled[i])))
            entered[i]->before();
}

static void after_fork(bool child)
{
    for (size_t i = BKT_FORK_ALL - 1; i > BKT_FORK_JOBS; i--)
        if (entered[i])
            (child ? entered[i]->child : entered[i]->parent)();
    for (struct bkt_forkguard *g = list; g; g = g->next) {
        if (child && g->cond)
            (void)pthread_cond_init(g->cond, NULL);
        (void)pthread_mutex_unlock(g->lock);
    }
    handlers jobs = entered[BKT_FORK_JOBS];
    (void)pthread_mutex_unlock(&list_lock);
    if (jobs)
        (child ? jobs->child : jobs->parent)();
}

static void after_fork_parent(void) { after_fork(false); }
static void after_fork_child(void)
{
    atomic_fetch_add(&forks, 1);
    after_fork(true);
}
static void hook(void) { (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child); }

unsigned bkt_fork_generation(void)
{
    return atomic_load(&forks);
}

void bkt_fork_handle(enum bkt_fork_who who, const struct bkt_fork_handlers *h)
{
    (void)pthread_once(&hooked, hook);
    atomic_store(&handled[who], h);
}

static void add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond, bool last)
{
    (void)pthread_once(&hooked, hook);
    BKT_HOLD(&list_lock);
    struct bkt_forkguard **at = &list;
    while (last && *at)
        at = &(*at)->next;
    *g  = (struct bkt_forkguard){*at, lock, cond};
    *at = g;
}

void bkt_forkguard_add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond)
{
    add(g, lock, cond, false);
}
void bkt_forkguard_add_last(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond)
{
    add(g, lock, cond, true);
}

void bkt_forkguard_remove(struct bkt_forkguard *g)
{
    BKT_HOLD(&list_lock);
    struct bkt_forkguard **at = &list;
    while (*at && *at != g)
        at = &(*at)->next;
    if (*at)
        *at = g->next;
}
