#include "base/os/fork.h"

#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t       list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t        hooked    = PTHREAD_ONCE_INIT;
static struct bkt_forkguard *list;

static void before_fork(void)
{
    (void)pthread_mutex_lock(&list_lock);
    for (struct bkt_forkguard *g = list; g; g = g->next)
        (void)pthread_mutex_lock(g->lock);
}

static void after_fork(void)
{
    for (struct bkt_forkguard *g = list; g; g = g->next)
        (void)pthread_mutex_unlock(g->lock);
    (void)pthread_mutex_unlock(&list_lock);
}

static void after_fork_child(void)
{
    for (struct bkt_forkguard *g = list; g; g = g->next)
        if (g->cond)
            (void)pthread_cond_init(g->cond, NULL);
    after_fork();
}

static void hook(void) { (void)pthread_atfork(before_fork, after_fork, after_fork_child); }

static void add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond, bool last)
{
    (void)pthread_once(&hooked, hook);
    (void)pthread_mutex_lock(&list_lock);
    struct bkt_forkguard **at = &list;
    while (last && *at)
        at = &(*at)->next;
    *g  = (struct bkt_forkguard){*at, lock, cond};
    *at = g;
    (void)pthread_mutex_unlock(&list_lock);
}

void bkt_forkguard_add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond) { add(g, lock, cond, false); }
void bkt_forkguard_add_last(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond) { add(g, lock, cond, true); }

void bkt_forkguard_remove(struct bkt_forkguard *g)
{
    (void)pthread_mutex_lock(&list_lock);
    struct bkt_forkguard **at = &list;
    while (*at && *at != g)
        at = &(*at)->next;
    if (*at)
        *at = g->next;
    (void)pthread_mutex_unlock(&list_lock);
}
