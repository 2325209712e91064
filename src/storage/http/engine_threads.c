/* The I/O threads of the process: how they start, get exchanges and end; and the exchanges that wait for a
 * connection.  See engine.h and engine_impl.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/sanitizer.h"
#include "base/os/thread.h"
#include "storage/http/engine_impl.h"
#include "storage/http/tls.h"

/* TLS handshakes that may be under way before there is a session to resume.  Opening a domain needs no more
 * connections at once, and each full handshake costs both sides CPU time. */
#define FIRST_TLS 8

/* Held for reading while `engines` is used.  Held for writing while `engines` is created or removed. */
static pthread_rwlock_t life = PTHREAD_RWLOCK_INITIALIZER;
static struct bkt_engines *engines;
static bool ending; /* bkt_engine_shutdown() is under way: `engines` is not created again, even if done()
                       callbacks submit */
static struct bkt_engines
    *abandoned; /* in a forked child, those of the parent: kept reachable, never touched */
static pthread_mutex_t socket_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table of sockets */
static int sockets[2048]; /* further sockets stay open in a forked child */
static size_t n_sockets, most_sockets;
static _Thread_local struct bkt_engine *current;

static void curl_start(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}
void bkt_engine_curl_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, curl_start);
}

void bkt_engine_track(int fd, bool open)
{
    BKT_HOLD(&socket_lock);
    if (open && n_sockets < BKT_COUNT(sockets))
        sockets[n_sockets++] = fd;
    for (size_t i = 0; !open && i < n_sockets; i++)
        if (sockets[i] == fd) {
            sockets[i] = sockets[--n_sockets];
            break;
        }
    most_sockets = n_sockets > most_sockets ? n_sockets : most_sockets;
}

size_t bkt_engine_most_sockets(void)
{
    BKT_HOLD(&socket_lock);
    size_t most = most_sockets;
    most_sockets = n_sockets;
    return most;
}

/* ---- one thread ---- */

static void free_engine(struct bkt_engine *e)
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

static bool set_up(struct bkt_engine *e)
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
    (void)curl_multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, BKT_MAX_CONNECTS);
    (void)curl_multi_setopt(e->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    e->now = bkt_ms_now();
    e->timer_at = e->hedge_at = UINT64_MAX;
    return true;
}

static void *run(void *arg)
{
    current = arg;
    return bkt_engine_loop(arg);
}

static bool start(struct bkt_engine *e)
{
    if (set_up(e) && bkt_thread_start(&e->thread, run, e) == 0)
        return true;
    free_engine(e);
    return false;
}

static void wake(const struct bkt_engine *e)
{
    uint64_t one = 1;
    while (write(e->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

/* Put an exchange into the engine's inbox, and start its thread if needed.  False: it cannot be started. */
static bool hand_over(struct bkt_engine *e, struct bkt_xfer *x)
{
    x->next = x->prev = NULL;
    BKT_HOLD(&e->lock);
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
    return ok;
}

/* ---- exchanges that wait for a connection, and the choice of a thread ---- */

/* The struct bkt_engine_host of a server, created if needed; NULL: out of memory. */
static struct bkt_engine_host *host_of(struct bkt_engines *all, const struct bkt_net *net)
{
    for (struct bkt_engine_host *h = atomic_load(&all->hosts); h; h = h->next)
        if (strcmp(h->origin, net->origin) == 0)
            return h;
    struct bkt_engine_host *made = calloc(1, sizeof *made), *h;
    if (!made || !(made->origin = strdup(net->origin))) {
        free(made);
        return NULL;
    }
    made->all = all;
    made->tls = bkt_tls_is_https(net->origin);
    bkt_pace_init(made);
    (void)pthread_mutex_lock(&all->lock);
    for (h = atomic_load(&all->hosts); h && strcmp(h->origin, net->origin) != 0; h = h->next)
        continue;
    if (!h) {
        made->next = atomic_load(&all->hosts);
        atomic_store(&all->hosts, made);
    }
    (void)pthread_mutex_unlock(&all->lock);
    if (!h)
        return made;
    (void)pthread_mutex_destroy(&made->lock); /* another thread created it first */
    free(made->origin);
    free(made);
    return h;
}

void bkt_host_enqueue(struct bkt_engine_host *h, struct bkt_xfer *x)
{
    x->assigned = false;
    BKT_HOLD(&h->lock);
    x->next = x->first_in_line ? h->head : NULL;
    if (!h->head)
        h->head = h->tail = x;
    else if (x->first_in_line)
        h->head = x;
    else
        h->tail = h->tail->next = x;
    h->n_waiting++;
    atomic_store(&h->queued, true);
}

/* One exchange goes first until the server's name has been looked up.  Over TLS only few go until the server
 * has answered once; then all others resume a session of theirs. */
static bool may_begin(struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    bool known = atomic_load(&h->known);
    unsigned first = !known                                                      ? 1
                     : atomic_load(&h->answered) || !h->tls ? UINT_MAX
                                                                                 : FIRST_TLS;
    return h->active < first && (!known || bkt_pace_may_begin(h, x));
}

/* Prefer threads with an idle connection.  Among these, take the thread with the fewest exchanges, and this
 * thread first. */
static unsigned choose(const struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    const struct bkt_engine *self = current;
    unsigned n = x->net->io_threads, best = 0, least = UINT_MAX;
    for (unsigned i = 0; i < n; i++) {
        bool idle = atomic_load(&h->at[i].kept) > h->at[i].active;
        unsigned cost = 2 * h->at[i].active + (self && self->all == h->all && self->index == i ? 0 : 1) +
                        (idle ? 0 : UINT_MAX / 2);
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
}

/* Assign the first exchange to a thread, if it may begin; NULL: it may not, or none waits.  The host is
 * locked. */
static struct bkt_xfer *take(struct bkt_engine_host *h)
{
    struct bkt_xfer *x = h->head;
    if (!x || !may_begin(h, x))
        return NULL;
    if (!(h->head = x->next))
        h->tail = NULL;
    h->n_waiting--;
    unsigned i = choose(h, x);
    x->engine = &h->all->at[i];
    x->assigned = true;
    if (h->active == 0)
        h->moved_ms = bkt_ms_now();
    h->active++;
    h->at[i].active++;
    return x;
}

struct bkt_xfer *bkt_host_dispatch(struct bkt_engine_host *h)
{
    struct bkt_xfer *given = NULL, **end = &given, *next, *left = NULL;
    (void)pthread_mutex_lock(&h->lock);
    for (struct bkt_xfer *x; (x = take(h)); end = &x->next)
        *end = x;
    *end = NULL;
    atomic_store(&h->queued, h->head != NULL);
    (void)pthread_mutex_unlock(&h->lock);
    for (struct bkt_xfer *x = given; x; x = next) {
        next = x->next;
        if (hand_over(x->engine, x))
            continue;
        bkt_host_release(h, x->engine);
        x->next = left;
        left = x;
    }
    return left;
}

void bkt_host_release(struct bkt_engine_host *h, const struct bkt_engine *e)
{
    BKT_HOLD(&h->lock);
    h->active--;
    h->at[e->index].active--;
}

struct bkt_xfer *bkt_host_cancelled(struct bkt_engine_host *h)
{
    struct bkt_xfer *gone = NULL, **end = &gone;
    BKT_HOLD(&h->lock);
    h->tail = NULL;
    for (struct bkt_xfer **at = &h->head; *at;) {
        struct bkt_xfer *x = *at;
        if (!x->cancel || !atomic_load(x->cancel)) {
            h->tail = x;
            at = &x->next;
            continue;
        }
        *at = x->next;
        h->n_waiting--;
        *end = x;
        end = &x->next;
    }
    *end = NULL;
    atomic_store(&h->queued, h->head != NULL);
    return gone;
}

/* Remove and return all exchanges of the queue, linked by next.  No thread is running. */
static struct bkt_xfer *host_empty(struct bkt_engine_host *h)
{
    BKT_HOLD(&h->lock);
    struct bkt_xfer *x = h->head;
    h->head = h->tail = NULL;
    h->n_waiting = 0;
    atomic_store(&h->queued, false);
    return x;
}

/* ---- all threads ---- */

static void share_lock(CURL *easy, curl_lock_data what, curl_lock_access how, void *arg)
{
    (void)easy, (void)how;
    (void)pthread_mutex_lock(&((struct bkt_engines *)arg)->share_locks[what]);
}

static void share_unlock(CURL *easy, curl_lock_data what, void *arg)
{
    (void)easy;
    (void)pthread_mutex_unlock(&((struct bkt_engines *)arg)->share_locks[what]);
}

/* NULL: out of memory. */
static struct bkt_engines *make(void)
{
    struct bkt_engines *all = calloc(1, sizeof *all);
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
        struct bkt_engine *e = &all->at[i];
        e->all = all;
        e->index = i;
        e->epoll = e->wake = -1;
        (void)pthread_mutex_init(&e->lock, NULL);
    }
    return all;
}

/* Fail the exchanges that still wait, on this thread.  No I/O thread runs any more. */
static void fail_waiting(struct bkt_engines *all)
{
    for (unsigned i = 0; i < BKT_IO_MAX; i++) {
        struct bkt_engine *e = &all->at[i];
        bkt_engine_fail_all(e->in_head, BKT_ENDING);
        for (struct bkt_xfer *x; (x = bkt_delay_take(&e->delayed));)
            bkt_engine_fail(x, BKT_ENDING);
    }
    for (struct bkt_engine_host *h = atomic_load(&all->hosts); h; h = h->next)
        bkt_engine_fail_all(host_empty(h), BKT_ENDING);
}

static void free_all(struct bkt_engines *all)
{
    for (unsigned i = 0; i < BKT_IO_MAX; i++) {
        free_engine(&all->at[i]);
        (void)pthread_mutex_destroy(&all->at[i].lock);
    }
    (void)curl_share_cleanup(all->share);
    for (size_t i = 0; i < BKT_COUNT(all->share_locks); i++)
        (void)pthread_mutex_destroy(&all->share_locks[i]);
    for (struct bkt_engine_host *h = atomic_load(&all->hosts), *next; h; h = next) {
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
    struct bkt_engine_host *h = engines ? host_of(engines, x->net) : NULL;
    const char *why = h ? BKT_NO_THREAD : ending ? BKT_ENDING : "out of memory";
    x->host = h;
    x->assigned = false;
    if (h && x->not_before_ms) { /* a delayed exchange waits with a thread */
        ok = hand_over(current && current->all == engines ? current : &engines->at[0], x);
    } else if (h) {
        bkt_host_enqueue(h, x);
        left = bkt_host_dispatch(h);
    }
    (void)pthread_rwlock_unlock(&life);
    if (left)
        bkt_engine_fail_all(left, BKT_NO_THREAD);
    if (!h || !ok)
        bkt_engine_fail(x, why);
}

void bkt_engine_cancelled(void)
{
    (void)pthread_rwlock_rdlock(&life);
    for (unsigned i = 0; engines && i < BKT_IO_MAX; i++) {
        struct bkt_engine *e = &engines->at[i];
        (void)pthread_mutex_lock(&e->lock);
        if (e->running && !atomic_exchange(&e->cancelled, true) && e != current)
            wake(e);
        (void)pthread_mutex_unlock(&e->lock);
    }
    (void)pthread_rwlock_unlock(&life);
}

static void stop(struct bkt_engine *e)
{
    BKT_HOLD(&e->lock);
    e->stop = true;
    if (e->running)
        wake(e);
}

void bkt_engine_shutdown(void)
{
    (void)pthread_rwlock_wrlock(&life);
    struct bkt_engines *all = BKT_TAKE(engines);
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

/* The child makes the lock again: the lock counts waiting threads of the parent, and only the parent may
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
