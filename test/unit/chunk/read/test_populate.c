/* Memory made present ahead of a read: all of it and nothing else, in huge pages for as long as they come
 * quickly.  The test sets the time that the kernel takes for one. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chunk/read/fetch_task.h"
#include "unit/chunk/filter/filter_testing.h"

#define MIB   ((size_t)1 << 20)
#define BYTES (16 * MIB)

static unsigned long n_huge; /* asked for */
static unsigned      dear_at; /* the how manieth takes 5 ms; 0: none */
static long          cpu_ns;

int __real_madvise(void *p, size_t n, int advice);
int __wrap_madvise(void *p, size_t n, int advice);
int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int __wrap_madvise(void *p, size_t n, int advice)
{
    if (advice == MADV_HUGEPAGE) {
        n_huge++;
        cpu_ns += n_huge == dear_at ? 5000000 : 200000;
        return 0;
    }
    if (__real_madvise(p, n, advice) == 0)
        return 0;
    for (volatile unsigned char *c = p, *end = c + n; errno == EINVAL && c < end; c += 4096) /* before Linux 5.14 */
        *c = *c;
    return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_THREAD_CPUTIME_ID)
        return __real_clock_gettime(id, t);
    *t = (struct timespec){0, cpu_ns};
    return 0;
}

static size_t present(unsigned char *p, size_t n)
{
    static unsigned char there[2 * BYTES / 4096];
    size_t               sum = 0;
    if (mincore(p, n, there) < 0)
        return 0;
    for (size_t i = 0; i < n / 4096; i++)
        sum += there[i] & 1;
    return sum;
}

static const struct {
    const char   *what;
    unsigned      dear_at;
    size_t        begin, bytes; /* from a boundary of 2 MiB on */
    unsigned long want;
} cases[] = {
    {"whole huge pages", 0, 0, 12 * MIB, 6},
    {"begins and ends inside one", 0, MIB + 12288, 12 * MIB, 5},
    {"begins and ends inside a small one", 0, 100, 12 * MIB, 5},
    {"too little to matter", 0, 0, 8 * MIB - 4096, 0},
    {"the third is dear, so the rest is small", 3, 0, 12 * MIB, 3},
    {"and so are all later ones", 0, 0, 12 * MIB, 0},
};

static void run(size_t i, unsigned char *base, bool filled)
{
    struct bkt_settings set = {0};
    struct bkt_dsetio   io  = {.set = &set, .elem_size = 4};
    struct bkt_target   t   = {.io = &io, .dst = base + cases[i].begin, .out_size = 4, .grid = {.n_elems = cases[i].bytes / 4}};
    struct bkt_prefault p;
    size_t              steps = 0, first = (cases[i].begin + 4095) / 4096, last = (cases[i].begin + cases[i].bytes) / 4096;
    n_huge  = 0;
    dear_at = cases[i].dear_at;
    for (bkt_prefault_init(&p, &t); bkt_prefault_step(&p) && steps < 100000; steps++)
        continue;
    bool little = cases[i].bytes < 8 * MIB;
    CHECK(n_huge == (filled ? 0 : cases[i].want), "%s: %lu huge pages asked for", cases[i].what, n_huge);
    if (filled)
        return;
    size_t all = present(base, BYTES), ours = present(base + first * 4096, (last - first) * 4096);
    CHECK(ours == (little ? 0 : last - first), "%s: %zu pages present of %zu", cases[i].what, ours, last - first);
    CHECK(all == ours, "%s: %zu pages outside", cases[i].what, all - ours);
}

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        unsigned char *all = mmap(NULL, BYTES + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
            return perror("mmap"), 1;
        (void)__real_madvise(all, BYTES + 2 * MIB, MADV_NOHUGEPAGE); /* pages are counted */
        unsigned char *base = (unsigned char *)(((uintptr_t)all + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
        run(i, base, false);
        memset(base, 7, BYTES);
        run(i, base, true);
        size_t kept = 0;
        while (kept < BYTES && base[kept] == 7)
            kept++;
        CHECK(kept == BYTES, "%s: byte %zu of filled memory has changed", cases[i].what, kept);
        (void)munmap(all, BYTES + 2 * MIB);
    }
    return failures != 0;
}
