#include "base/os/scratch_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/os/fork.h"
#include "base/os/thread.h"

/* ---- huge pages ---- */

#define SLOW_US                                                                                              \
    2000 /* us of CPU: more than 512 small pages take, less than a page that the host has to                 \
            provide */

/* A huge page is cheaper than 512 small pages if the machine has it at hand.  A virtual machine that gave
 * free memory back to its host has to get it again first, which costs far more than small pages.  So huge
 * pages are requested one by one where that is possible.  After one expensive page, this process requests no
 * more. */
static atomic_bool too_slow; /* such a page took longer than SLOW_US */

static uint64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

bool bkt_huge_take(void *at)
{
    if (atomic_load(&too_slow))
        return false;
    uint64_t begin = cpu_us();
    if (madvise(at, BKT_HUGE_PAGE, MADV_HUGEPAGE) < 0 || madvise(at, BKT_HUGE_PAGE, BKT_MADV_POPULATE) < 0)
        return false;
    if (cpu_us() - begin > SLOW_US)
        atomic_store(&too_slow, true);
    return true;
}

void bkt_huge_want(void *at, size_t n)
{
    if (n >= BKT_HUGE_PAGE && !atomic_load(&too_slow))
        (void)madvise(at, n - n % BKT_HUGE_PAGE, MADV_HUGEPAGE);
}

/* ---- blocks ---- */

/* Blocks that are worth keeping; measurements: bench/tuning.md. */
#define KEEP_MIN (32u << 10) /* smaller blocks are left to malloc() */
/* Bytes kept; more is not faster, and raises the memory of a program that reads in steps. */
#define KEEP_BYTES (16u << 20)
#define KEEP_N  64 /* blocks that one search looks at */
#define SHELVES 16
#define HEAD       64 /* keeps the caller's part aligned to a cache line */

union head {
    struct {
        size_t size; /* of the caller's part */
        /* the shelf that gets it back; a decoding thread may release a block that another thread took */
        struct shelf *of;
    };
    char room[HEAD];
};

/* One shelf for every four processors, like I/O threads, each with its part of KEEP_BYTES.  With fewer
 * shelves, threads that decode side by side would wait for each other's locks. */
static struct shelf {
    pthread_mutex_t lock; /* guards the members below */
    union head *kept[KEEP_N];
    size_t n_kept, kept_bytes;
    struct bkt_forkguard guard;
} shelves[SHELVES];
static size_t n_shelves;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN) / 4;
    n_shelves = n < 1 ? 1 : n > SHELVES ? SHELVES : (size_t)n;
    for (size_t i = 0; i < n_shelves; i++) {
        (void)pthread_mutex_init(&shelves[i].lock, NULL);
        bkt_forkguard_add_last(&shelves[i].guard, &shelves[i].lock,
                               NULL); /* "last": the write cache takes memory under its own lock */
    }
}

/* The shelf of this thread. */
static struct shelf *shelf(void)
{
    static _Atomic size_t begun;
    static _Thread_local size_t mine; /* index of the shelf, plus one */
    (void)pthread_once(&once, begin);
    if (!mine)
        mine = 1 + atomic_fetch_add(&begun, 1) % n_shelves;
    return &shelves[mine - 1];
}

/* The smallest kept block that is large enough, unless it is more than four times too large.  In such a block
 * three quarters would be unused, and kept memory is limited. */
static union head *find(struct shelf *s, size_t n) /* lock held */
{
    size_t best = KEEP_N;
    for (size_t i = 0; i < s->n_kept; i++)
        if (s->kept[i]->size >= n && s->kept[i]->size / 4 <= n &&
            (best == KEEP_N || s->kept[i]->size < s->kept[best]->size))
            best = i;
    if (best == KEEP_N)
        return NULL;
    union head *h = s->kept[best];
    s->kept[best] = s->kept[--s->n_kept];
    s->kept_bytes -= h->size;
    return h;
}

/* Fresh memory, in huge pages where possible: a page of 2 MiB costs one page fault instead of 512. */
static void *map(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, n >= BKT_HUGE_PAGE ? BKT_HUGE_PAGE : HEAD, n) != 0)
        return NULL;
    if (n >= BKT_HUGE_PAGE && bkt_huge_take(p)) /* the first page shows whether huge pages are expensive */
        bkt_huge_want((char *)p + BKT_HUGE_PAGE, n - BKT_HUGE_PAGE);
    return p;
}

/* A block of memory fresh from the system. */
static union head *fresh(struct shelf *s, size_t n)
{
    union head *h = n <= SIZE_MAX / 2 ? map(sizeof *h + n) : NULL;
    if (h) {
        h->size = n;
        h->of = s;
    }
    return h;
}

void *bkt_scratch_take(size_t n)
{
    struct shelf *s = shelf();
    BKT_HOLD(&s->lock);
    union head *h = n >= KEEP_MIN ? find(s, n) : NULL;
    if (!h)
        h = fresh(s, n);
    return h ? h + 1 : NULL;
}

void bkt_scratch_give(void *p)
{
    if (!p)
        return;
    union head *h = (union head *)p - 1;
    struct shelf *s = h->of;
    size_t most = n_shelves > 4 ? KEEP_BYTES / 4 : KEEP_BYTES / n_shelves;
    BKT_HOLD(&s->lock);
    if (h->size >= KEEP_MIN && s->n_kept < KEEP_N && h->size <= most - s->kept_bytes) {
        s->kept[s->n_kept++] = h;
        s->kept_bytes += h->size;
    } else {
        free(h);
    }
}

void bkt_scratch_shutdown(void)
{
    (void)pthread_once(&once, begin);
    for (struct shelf *s = shelves; s < shelves + n_shelves; s++) {
        (void)pthread_mutex_lock(&s->lock);
        while (s->n_kept)
            free(s->kept[--s->n_kept]);
        s->kept_bytes = 0;
        (void)pthread_mutex_unlock(&s->lock);
    }
}
