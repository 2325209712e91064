/* The I/O threads of the process: how they start, get exchanges and end.  See engine.h and engine_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os/sanitizer.h"
#include "base/os/thread.h"
#include "storage/http/engine_impl.h"

#define MAX_CONNECTS                                                                                         \
    1024L /* the highest value of setting connections; each thread keeps at most this many idle connections,
             to all servers together */

/* Held for reading while `engines` is used.  Held for writing while `engines` is created or removed. */
static pthread_rwlock_t life = PTHREAD_RWLOCK_INITIALIZER;
static struct engines *engines;
static bool ending; /* bkt_engine_shutdown() is under way: `engines` is not created again, even if done()
                       callbacks submit */
static struct engines *abandoned; /* in a forked child, those of the parent: kept reachable, never touched */
static pthread_mutex_t socket_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table of sockets */
static int sockets[2048]; /* further sockets stay open in a forked child */
static size_t n_sockets, most_sockets;
static _Thread_local struct engine *current;

struct engine *bkt_engine_current(void)
{
    return current;
}
void bkt_engine_is_current(struct engine *e)
{
    current = e;
}

uint64_t bkt_engine_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

static void curl_start(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}
void bkt_engine_curl_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, curl_start);
}

/* By default one I/O thread for every four processors: the others have to decode the
 * data that it receives. */
static unsigned n_threads(const struct bkt_settings *set)
{
    long n = set->io_threads ? (long)set->io_threads : sysconf(_SC_NPROCESSORS_ONLN) / 4;
    return n < 1 ? 1 : n > BKT_IO_MAX ? BKT_IO_MAX : (unsigned)n;
}

int bkt_net_init(struct bkt_net *net, const char *origin, const struct bkt_settings *set, struct bkt_err *err)
{
    struct stat sb; /* libcurl would wait for a FIFO and block the I/O thread, and would never reach the end
                       of /dev/zero */
    *net = (struct bkt_net){0};
    if (set->ca_bundle && stat(set->ca_bundle, &sb) == 0 && !S_ISREG(sb.st_mode))
        BKT_FAIL(err, BKT_EINVAL, "ca_bundle %.300s: not a file; name a file of CA certificates",
                 set->ca_bundle);
    *net =
        (struct bkt_net){.origin = strdup(origin),
                         .ca_bundle = set->ca_bundle ? strdup(set->ca_bundle) : NULL,
                         .connections = (unsigned)bkt_max_u64(1, bkt_min_u64(set->connections, MAX_CONNECTS)),
                         .hedge = (unsigned)bkt_min_u64(set->hedge, 100),
                         .io_threads = n_threads(set),
                         .pace = calloc(1, sizeof *net->pace),
                         .connect_ms = bkt_settings_connect_ms(set),
                         .stall_ms = bkt_settings_stall_ms(set)};
    if (net->origin && net->pace && (net->ca_bundle || !set->ca_bundle))
        return BKT_OK;
    bkt_net_fini(net);
    BKT_NOMEM(err);
}

int bkt_net_copy(struct bkt_net *net, const struct bkt_net *from, const char *origin)
{
    *net = *from;
    net->origin = strdup(origin);
    net->ca_bundle = from->ca_bundle ? strdup(from->ca_bundle) : NULL;
    net->pace = calloc(1, sizeof *net->pace);
    if (net->origin && net->pace && (net->ca_bundle || !from->ca_bundle))
        return BKT_OK;
    bkt_net_fini(net);
    return BKT_ENOMEM;
}

void bkt_net_fini(struct bkt_net *net)
{
    free(net->origin);
    free(net->ca_bundle);
    free(net->pace);
    net->origin = net->ca_bundle = NULL;
    net->pace = NULL;
}

void bkt_engine_track(int fd, bool open)
{
    (void)pthread_mutex_lock(&socket_lock);
    if (open && n_sockets < BKT_COUNT(sockets))
        sockets[n_sockets++] = fd;
    for (size_t i = 0; !open && i < n_sockets; i++)
        if (sockets[i] == fd) {
            sockets[i] = sockets[--n_sockets];
            break;
        }
    most_sockets = n_sockets > most_sockets ? n_sockets : most_sockets;
    (void)pthread_mutex_unlock(&socket_lock);
}

size_t bkt_engine_most_sockets(void)
{
    (void)pthread_mutex_lock(&socket_lock);
    size_t most = most_sockets;
    most_sockets = n_sockets;
    (void)pthread_mutex_unlock(&socket_lock);
    return most;
}

/* ---- one thread ---- */

static void free_engine(struct engine *e)
{
    if (e->multi)
        (void)curl_multi_cleanup(e->multi);
    if (e->epoll >= 0)
        (void)close(e->epoll);
    if (e->wake >= 0)
        (void)close(e->wake);
    e->multi = NULL;
    e->epoll = e->wake = -1;
}

static bool set_up(struct engine *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->multi = curl_multi_init();
    if (e->epoll < 0 || e->wake < 0 || !e->multi)
        return false;
    ev.data.fd = e->wake;
    if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->wake, &ev) < 0)
        return false;
    (void)curl_multi_setopt(e->multi, CURLMOPT_SOCKETFUNCTION, bkt_engine_on_socket);
    (void)curl_multi_setopt(e->multi, CURLMOPT_SOCKETDATA, e);
    (void)curl_multi_setopt(e->multi, CURLMOPT_TIMERFUNCTION, bkt_engine_on_timer);
    (void)curl_multi_setopt(e->multi, CURLMOPT_TIMERDATA, e);
    (void)curl_multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, MAX_CONNECTS);
    (void)curl_multi_setopt(e->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    e->now = bkt_engine_now();
    e->timer_at = e->hedge_at = UINT64_MAX;
    return true;
}

static bool start(struct engine *e)
{
    if (set_up(e) && bkt_thread_start(&e->thread, bkt_engine_run, e) == 0)
        return true;
    free_engine(e);
    return false;
}

static void wake(const struct engine *e)
{
    uint64_t one = 1;
    while (write(e->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

bool bkt_engine_hand_over(struct engine *e, struct bkt_xfer *x)
{
    x->next = x->prev = NULL;
    (void)pthread_mutex_lock(&e->lock);
    e->running = e->running || (!e->stop && start(e));
    bool ok = e->running || e->stop; /* stopped: exchanges found in the inbox then fail */
    bool first = !e->in_head;
    if (ok && first)
        e->in_head = x;
    else if (ok)
        e->in_tail->next = x;
    if (ok)
        e->in_tail = x;
    if (ok && first && e != current && e->running)
        wake(e);
    (void)pthread_mutex_unlock(&e->lock);
    return ok;
}

/* ---- all of them ---- */

static void share_lock(CURL *easy, curl_lock_data what, curl_lock_access how, void *arg)
{
    (void)easy, (void)how;
    (void)pthread_mutex_lock(&((struct engines *)arg)->share_locks[what]);
}

static void share_unlock(CURL *easy, curl_lock_data what, void *arg)
{
    (void)easy;
    (void)pthread_mutex_unlock(&((struct engines *)arg)->share_locks[what]);
}

/* NULL: out of memory. */
static struct engines *make(void)
{
    struct engines *all = calloc(1, sizeof *all);
    bkt_engine_curl_init();
    if (!all || !(all->share = curl_share_init())) {
        free(all);
        return NULL;
    }
    (void)pthread_mutex_init(&all->lock, NULL);
    for (size_t i = 0; i < BKT_COUNT(all->share_locks); i++)
        (void)pthread_mutex_init(&all->share_locks[i], NULL);
    (void)curl_share_setopt(all->share, CURLSHOPT_LOCKFUNC, share_lock);
    (void)curl_share_setopt(all->share, CURLSHOPT_UNLOCKFUNC, share_unlock);
    (void)curl_share_setopt(all->share, CURLSHOPT_USERDATA, all);
    (void)curl_share_setopt(all->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    (void)curl_share_setopt(all->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    for (unsigned i = 0; i < BKT_IO_MAX; i++) {
        struct engine *e = &all->at[i];
        e->all = all;
        e->index = i;
        e->epoll = e->wake = -1;
        (void)pthread_mutex_init(&e->lock, NULL);
    }
    return all;
}

/* Fail the exchanges that still wait, on this thread.  No I/O thread runs any more. */
static void fail_waiting(struct engines *all)
{
    for (unsigned i = 0; i < BKT_IO_MAX; i++) {
        struct engine *e = &all->at[i];
        bkt_engine_fail_all(e->in_head, BKT_ENDING);
        for (struct bkt_xfer *x; (x = bkt_delay_take(&e->delayed));)
            bkt_engine_fail(x, BKT_ENDING);
    }
    for (struct host *h = atomic_load(&all->hosts); h; h = h->next)
        bkt_engine_fail_all(bkt_host_empty(h), BKT_ENDING);
}

static void free_all(struct engines *all)
{
    for (unsigned i = 0; i < BKT_IO_MAX; i++) {
        free_engine(&all->at[i]);
        (void)pthread_mutex_destroy(&all->at[i].lock);
    }
    (void)curl_share_cleanup(all->share);
    for (size_t i = 0; i < BKT_COUNT(all->share_locks); i++)
        (void)pthread_mutex_destroy(&all->share_locks[i]);
    for (struct host *h = atomic_load(&all->hosts), *next; h; h = next) {
        next = h->next;
        (void)pthread_mutex_destroy(&h->lock);
        free(h->origin);
        free(h);
    }
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

/* Take `life` for reading, and create the engines, unless memory is short or storage ends. */
static void enter(void)
{
    (void)pthread_rwlock_rdlock(&life);
    if (engines || ending)
        return;
    (void)pthread_rwlock_unlock(&life);
    (void)pthread_rwlock_wrlock(&life);
    engines = engines || ending ? engines : make();
    (void)pthread_rwlock_unlock(&life);
    (void)pthread_rwlock_rdlock(&life);
}

void bkt_engine_submit(struct bkt_xfer *x)
{
    bool ok = true;
    struct bkt_xfer *left = NULL;
    enter();
    struct host *h = engines ? bkt_host_of(engines, x->net) : NULL;
    const char *why = h ? BKT_NO_THREAD : ending ? BKT_ENDING : "out of memory";
    x->host = h;
    x->assigned = false;
    if (h && x->not_before_ms) { /* a delayed exchange waits with a thread */
        ok = bkt_engine_hand_over(current && current->all == engines ? current : &engines->at[0], x);
    } else if (h) {
        bkt_host_enqueue(h, x);
        left = bkt_host_dispatch(h);
    }
    (void)pthread_rwlock_unlock(&life);
    bkt_engine_fail_all(left, BKT_NO_THREAD);
    if (!h || !ok)
        bkt_engine_fail(x, why);
}

void bkt_engine_cancelled(void)
{
    (void)pthread_rwlock_rdlock(&life);
    for (unsigned i = 0; engines && i < BKT_IO_MAX; i++) {
        struct engine *e = &engines->at[i];
        (void)pthread_mutex_lock(&e->lock);
        if (e->running && !atomic_exchange(&e->cancelled, true) && e != current)
            wake(e);
        (void)pthread_mutex_unlock(&e->lock);
    }
    (void)pthread_rwlock_unlock(&life);
}

static void stop(struct engine *e)
{
    (void)pthread_mutex_lock(&e->lock);
    e->stop = true;
    if (e->running)
        wake(e);
    (void)pthread_mutex_unlock(&e->lock);
}

void bkt_engine_shutdown(void)
{
    (void)pthread_rwlock_wrlock(&life);
    struct engines *all = engines;
    engines = NULL;
    ending = all != NULL;
    (void)pthread_rwlock_unlock(&life);
    if (!all)
        return;
    for (unsigned i = 0; i < BKT_IO_MAX; i++)
        stop(&all->at[i]);
    for (unsigned i = 0; i < BKT_IO_MAX; i++)
        if (all->at[i].running)
            (void)pthread_join(all->at[i].thread, NULL);
    fail_waiting(all);
    (void)pthread_rwlock_wrlock(&life);
    ending = false;
    (void)pthread_rwlock_unlock(&life);
    free_all(all);
}

void bkt_engine_before_fork(void)
{
    (void)pthread_rwlock_wrlock(&life);
    (void)pthread_mutex_lock(&socket_lock);
}

void bkt_engine_after_fork_parent(void)
{
    (void)pthread_mutex_unlock(&socket_lock);
    (void)pthread_rwlock_unlock(&life);
}

/* The child makes the lock anew: the lock counts waiting threads of the parent, and only the parent may
 * release it. ThreadSanitizer counts it as held until it sees a release. */
#if BKT_TSAN
#define FORGET_LOCK(lock) ((void)pthread_rwlock_unlock(lock))
#else
#define FORGET_LOCK(lock) ((void)(lock))
#endif

/* The child has none of the parent's threads.  Closing its copies of the descriptors does not disturb the
 * parent's connections, as no byte is sent. */
void bkt_engine_after_fork_child(void)
{
    for (size_t i = 0; i < n_sockets; i++)
        (void)close(sockets[i]);
    n_sockets = 0;
    for (unsigned i = 0; engines && i < BKT_IO_MAX; i++)
        if (engines->at[i].running) {
            (void)close(engines->at[i].epoll);
            (void)close(engines->at[i].wake);
        }
    if (engines)
        abandoned = engines;
    engines = NULL;
    ending = false;
    current = NULL;
    FORGET_LOCK(&life);
    life = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    (void)pthread_mutex_unlock(&socket_lock);
}
