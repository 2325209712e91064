#include "scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "forkguard.h"
#include "huge.h"

/* 140 MiB of shuffle+deflate read at 30 ms: no difference beyond the runs' own between 4, 32 and 512 KiB for KEEP_MIN, 64 KiB, 256 KiB
 * and 2 MiB for CUT_MIN, 4, 8 and 32 MiB for REGION. */
#define KEEP_MIN   (32u << 10) /* less is malloc's own business */
#define KEEP_BYTES (16u << 20) /* 48 MiB are no faster, and a program that reads in steps has 40 MiB more in memory */
#define KEEP_N     64 /* as many as one search looks at */
#define HEAD       64 /* keeps the caller's part aligned to a cache line */
#define PAGE       ((size_t)4096)
#define CUT_MIN    (256u << 10) /* less than a huge page, and at least this: cut from a region */
#define REGION     ((size_t)8 << 20)

/* Several blocks in one piece of memory, so that blocks of 1 MiB have huge pages too.  It goes when its last block does. */
struct region {
    size_t size, used; /* bytes */
    size_t refs;       /* blocks, and being the one that blocks are cut from */
    char  *data;
};

union head {
    struct {
        size_t         size; /* of the caller's part */
        struct region *in;   /* NULL: memory of its own */
    };
    char room[HEAD];
};

static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct region       *open_region;
static union head          *kept[KEEP_N];
static size_t               n_kept, kept_bytes;
static struct bkt_forkguard guard;
static pthread_once_t       guarded = PTHREAD_ONCE_INIT;

static void add_guard(void) { bkt_forkguard_add_last(&guard, &lock, NULL); } /* the write cache takes memory under its own lock */

/* The smallest that does, unless it is far too large: of more than four times as much three quarters would lie idle, and what is kept
 * is bounded by its bytes. */
static union head *find(size_t n)
{
    size_t best = KEEP_N;
    for (size_t i = 0; i < n_kept; i++)
        if (kept[i]->size >= n && kept[i]->size / 4 <= n && (best == KEEP_N || kept[i]->size < kept[best]->size))
            best = i;
    if (best == KEEP_N)
        return NULL;
    union head *h = kept[best];
    kept[best]    = kept[--n_kept];
    kept_bytes -= h->size;
    return h;
}

/* A page of 2 MiB costs one fault instead of 512: memory for 140 MiB of ranges took 0.06 s of CPU, and takes 0.02. */
static void *map(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, n >= BKT_HUGE_PAGE ? BKT_HUGE_PAGE : HEAD, n) != 0)
        return NULL;
    if (n >= BKT_HUGE_PAGE && bkt_huge_take(p)) /* the first tells whether they are dear */
        bkt_huge_want((char *)p + BKT_HUGE_PAGE, n - BKT_HUGE_PAGE);
    return p;
}

static void region_leave(struct region *r)
{
    if (!r || --r->refs)
        return;
    free(r->data);
    free(r);
}

/* Of several blocks of @p total bytes: about REGION. */
static struct region *region_new(size_t total)
{
    struct region *r = malloc(sizeof *r);
    size_t         n = (REGION + total / 2) / total * total;
    char          *p = r ? map(n) : NULL;
    if (!p) {
        free(r);
        return NULL;
    }
    *r = (struct region){.size = n, .refs = 1, .data = p};
    return r;
}

static union head *cut(size_t total) /* lock held */
{
    struct region *r = open_region;
    if (!r || r->size - r->used < total) {
        if (!(r = region_new(total)))
            return NULL;
        region_leave(open_region);
        open_region = r;
    }
    union head *h = (union head *)(void *)(r->data + r->used);
    r->used += total;
    r->refs++;
    h->in = r;
    return h;
}

/* Its region may stay for others' sake: without what the block took up. */
static void drop(union head *h) /* lock held */
{
    struct region *r    = h->in;
    char          *from = (char *)h;
    size_t         n = sizeof *h + h->size, skip = (PAGE - (uintptr_t)from % PAGE) % PAGE;
    if (!r) {
        free(h);
        return;
    }
    if (r->refs > 1)
        (void)madvise(from + skip, (n - skip) / PAGE * PAGE, MADV_DONTNEED);
    region_leave(r);
}

/* Fresh from the system; lock held. */
static union head *fresh(size_t n)
{
    if (n > SIZE_MAX / 2)
        return NULL;
    size_t      total = (sizeof(union head) + n + HEAD - 1) / HEAD * HEAD;
    bool        some  = n >= CUT_MIN && total < BKT_HUGE_PAGE;
    union head *h     = some ? cut(total) : map(total);
    if (h && !some)
        h->in = NULL;
    if (h)
        h->size = n;
    return h;
}

void *bkt_scratch_take(size_t n)
{
    (void)pthread_once(&guarded, add_guard);
    (void)pthread_mutex_lock(&lock);
    union head *h = n >= KEEP_MIN ? find(n) : NULL;
    if (!h)
        h = fresh(n);
    (void)pthread_mutex_unlock(&lock);
    return h ? h + 1 : NULL;
}

void bkt_scratch_give(void *p)
{
    if (!p)
        return;
    union head *h = (union head *)p - 1;
    (void)pthread_mutex_lock(&lock);
    if (h->size >= KEEP_MIN && n_kept < KEEP_N && h->size <= KEEP_BYTES - kept_bytes) {
        kept[n_kept++] = h;
        kept_bytes += h->size;
    } else {
        drop(h);
    }
    (void)pthread_mutex_unlock(&lock);
}

void bkt_scratch_shutdown(void)
{
    (void)pthread_mutex_lock(&lock);
    while (n_kept)
        drop(kept[--n_kept]);
    kept_bytes = 0;
    region_leave(open_region);
    open_region = NULL;
    (void)pthread_mutex_unlock(&lock);
}
