#include "vol/vfd/page_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/os/fork.h"
#include "base/os/scratch_pool.h"
#include "storage/store.h"

#define SMALL   ((uint64_t)64 << 10) /* bytes whose transfer takes less than the wait for them */
#define RUN_MAX 2048                 /* pages of one request */
#define NO_KIND 255
#define REGION  ((uint64_t)1 << 20)
#define REGIONS ((uint64_t)1 << 20) /* counted regions; a region behind them is not dense */

struct page_range;
struct page {
    struct page_range *range;
    uint64_t no;
    bool asked;
    unsigned char kind; /* of an expected page; NO_KIND: not expected */
};

/* Pages that one request brings. */
struct page_range {
    struct bkt_await get;
    struct page_range *next,
        *before;               /* in the list of those under way, or of those here: the last used first */
    uint64_t first, len;       /* page; bytes */
    unsigned n;
    bool guess;
    uint32_t chain;
    unsigned level;      /* of the chain of requests */
    unsigned generation; /* of the process that began the request */
    bool arrived;
    struct page *pages;  /* n of them, behind this struct */
    unsigned char *data; /* their bytes, behind them or, of a long range, in memory of their own */
    void *own;
};

struct bkt_page_cache {
    struct bkt_store *st;
    const char *key;
    struct bkt_version *version;
    struct bkt_node_reads *node; /* NULL: requests aren't shared */
    uint64_t size, limit, kept;  /* kept: bytes of ranges that are here */
    struct bkt_map *pages;      /* by number */
    atomic_bool closing;        /* requests that are under way are no longer wanted */
    struct page_range coming, here; /* heads of rings */
    struct bkt_page_counts counts;
    unsigned char *asked; /* pages of each region that the program asked for, 255 at most */
    size_t regions;
};

/* ---- ranges ---- */

static void ring_init(struct page_range *head)
{
    head->next = head->before = head;
}

static void ring_add(struct page_range *head, struct page_range *r)
{
    r->next = head->next;
    r->before = head;
    head->next->before = r;
    head->next = r;
}

static void ring_remove(struct page_range *r)
{
    r->next->before = r->before;
    r->before->next = r->next;
}

static struct page *find(const struct bkt_page_cache *c, uint64_t no)
{
    return bkt_map_get(c->pages, &no, sizeof no);
}

/* Bytes of the file in a page; the last one may be short. */
static uint64_t bytes_of(const struct bkt_page_cache *c, uint64_t no)
{
    return bkt_min_u64(BKT_PAGE_SIZE, c->size - no * BKT_PAGE_SIZE);
}

/* Memory that the I/O thread fills while others wait: huge pages take less of its time. */
static void *long_memory(size_t n)
{
    unsigned char *p = aligned_alloc(BKT_HUGE_PAGE, (n + BKT_HUGE_PAGE - 1) / BKT_HUGE_PAGE * BKT_HUGE_PAGE);
    if (p && bkt_huge_take(p))
        bkt_huge_want(p + BKT_HUGE_PAGE, n - BKT_HUGE_PAGE);
    return p;
}

static struct page_range *range_new(struct bkt_page_cache *c, uint64_t first, unsigned n, bool guess)
{
    bool is_long = n * BKT_PAGE_SIZE >= BKT_HUGE_PAGE;
    struct page_range *r = malloc(sizeof *r + n * (sizeof *r->pages + (is_long ? 0 : BKT_PAGE_SIZE)));
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    if (is_long && !(r->own = long_memory(n * BKT_PAGE_SIZE))) {
        free(r);
        return NULL;
    }
    r->pages = (struct page *)(r + 1);
    r->first = first;
    r->n = n;
    r->len = bkt_min_u64(n * BKT_PAGE_SIZE, c->size - first * BKT_PAGE_SIZE);
    r->guess = guess;
    r->chain = BKT_PAGE_NONE;
    r->data = r->own ? r->own : (unsigned char *)(r->pages + n);
    for (unsigned i = 0; i < n; i++) {
        r->pages[i] = (struct page){r, first + i, false, NO_KIND};
        if (bkt_map_put(c->pages, &r->pages[i].no, sizeof r->pages[i].no, &r->pages[i], NULL) < 0) {
            while (i-- > 0)
                (void)bkt_map_del(c->pages, &r->pages[i].no, sizeof r->pages[i].no);
            free(r->own);
            free(r);
            return NULL;
        }
    }
    return r;
}

/* Take the range's pages out of the table, and the range out of its list. */
static void range_remove(struct bkt_page_cache *c, struct page_range *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        (void)bkt_map_del(c->pages, &r->pages[i].no, sizeof r->pages[i].no);
        const struct page *p = &r->pages[i];
        if (p->kind != NO_KIND && !p->asked) {
            c->counts.unasked[p->kind] -= bytes_of(c, p->no);
            c->counts.wasted[p->kind] += bytes_of(c, p->no);
        }
    }
    ring_remove(r);
}

static void range_free(struct bkt_page_cache *c, struct page_range *r)
{
    range_remove(c, r);
    free(r->own);
    free(r);
}

static void make_room(struct bkt_page_cache *c)
{
    while (c->kept > c->limit && c->here.before != c->here.next) { /* the last used stays */
        struct page_range *r = c->here.before;
        c->kept -= r->len;
        range_free(c, r);
    }
}

static void keep(struct bkt_page_cache *c, struct page_range *r)
{
    ring_add(&c->here, r);
    c->kept += r->len;
    make_room(c);
}

/* ---- requests ---- */

static int start(struct bkt_page_cache *c, uint64_t first, unsigned n, bool guess)
{
    struct page_range *r = range_new(c, first, n, guess);
    if (!r)
        return BKT_ENOMEM;
    c->counts.requests++;
    c->counts.bytes += r->len;
    c->counts.under_way++;
    r->level = c->counts.round_trips + 1;
    r->generation = bkt_fork_generation();
    ring_add(&c->coming, r);
    r->get.req = (struct bkt_req){.op = BKT_GET,
                                  .key = c->key,
                                  .off = first * BKT_PAGE_SIZE,
                                  .len = r->len,
                                  .dst = r->data,
                                  .small = r->len <= SMALL,
                                  .cancel = &c->closing,
                                  .if_match = bkt_version_condition(c->version),
                                  .version = c->version};
    bkt_await_start(c->node, c->st, &r->get);
    return BKT_OK;
}

int bkt_page_cache_fetch(struct bkt_page_cache *c, uint64_t off, uint64_t len, bool guess)
{
    if (!len || off >= c->size)
        return BKT_OK;
    uint64_t no = off / BKT_PAGE_SIZE, last = (bkt_min_u64(off + len, c->size) - 1) / BKT_PAGE_SIZE;
    while (no <= last) {
        unsigned n = 0;
        while (no + n <= last && n < RUN_MAX && !find(c, no + n))
            n++;
        if (n)
            BKT_PASS(start(c, no, n, guess));
        no += n ? n : 1;
    }
    return BKT_OK;
}

void bkt_page_cache_expect(struct bkt_page_cache *c, uint64_t off, uint64_t len, unsigned kind)
{
    for (uint64_t no = off / BKT_PAGE_SIZE; no * BKT_PAGE_SIZE < off + len; no++) {
        struct page *p = find(c, no);
        if (!p || p->asked || p->kind != NO_KIND)
            continue;
        p->kind = (unsigned char)kind;
        c->counts.unasked[kind] += bytes_of(c, no);
    }
}

/* After a fork the child drops the requests that the parent's threads wait for.  The memory stays, since
 * those threads may have used it at the fork. */
static bool drop_stale(struct bkt_page_cache *c, struct page_range *r)
{
    if (r->generation == bkt_fork_generation())
        return false;
    c->counts.under_way--;
    range_remove(c, r);
    return true;
}

/* Take over an arrived request, or wait for it.  A failed request leaves no pages: the program's own reads
 * report the reason. */
static int finish(struct bkt_page_cache *c, struct page_range *r, bkt_page_arrived *arrived, void *arg,
                  struct bkt_err *err)
{
    uint32_t chain = r->chain;
    if (drop_stale(c, r))
        return BKT_OK;
    bkt_await(&r->get);
    int rc = r->get.req.rc;
    if (rc < 0 && err)
        (void)bkt_err_copy(err, rc, r->get.req.err);
    bkt_await_fini(&r->get);
    c->counts.under_way--;
    if (r->level > c->counts.round_trips)
        c->counts.round_trips = r->level;
    r->arrived = true;
    if (rc < 0)
        range_free(c, r);
    else {
        ring_remove(r);
        keep(c, r);
    }
    if (chain != BKT_PAGE_NONE && arrived)
        arrived(arg, chain);
    return rc;
}

void bkt_page_cache_poll(struct bkt_page_cache *c, bkt_page_arrived *arrived, void *arg)
{
    for (struct page_range *r = c->coming.before, *before; r != &c->coming; r = before) {
        before = r->before;
        if (!drop_stale(c, r) && bkt_await_arrived(&r->get))
            (void)finish(c, r, arrived, arg, NULL);
    }
}

/* ---- reading ---- */

/* The first page of a range that is not here.  False: all pages are here.  @p page: NULL: it is absent. */
static bool first_missing(struct bkt_page_cache *c, uint64_t off, uint64_t len, struct page **page,
                          uint64_t *no)
{
    uint64_t last = len ? (off + len - 1) / BKT_PAGE_SIZE : 0;
    for (*no = off / BKT_PAGE_SIZE; len && *no <= last; ++*no) {
        *page = find(c, *no);
        if (!*page || !(*page)->range->arrived)
            return true;
    }
    return false;
}

enum bkt_page_state bkt_page_cache_state(struct bkt_page_cache *c, uint64_t off, uint64_t len)
{
    struct page *page;
    uint64_t no;
    if (!first_missing(c, off, len, &page, &no))
        return BKT_PAGE_HERE;
    return page ? BKT_PAGE_COMING : BKT_PAGE_ABSENT;
}

void bkt_page_cache_chain(struct bkt_page_cache *c, uint64_t off, uint64_t len, uint32_t number,
                          uint32_t *next)
{
    struct page *page;
    uint64_t no;
    *next = BKT_PAGE_NONE;
    if (!first_missing(c, off, len, &page, &no) || !page)
        return;
    *next = page->range->chain;
    page->range->chain = number;
}

static void count_asked(struct bkt_page_cache *c, struct page *p)
{
    uint64_t region = p->no * BKT_PAGE_SIZE / REGION;
    if (p->asked)
        return;
    p->asked = true;
    if (p->kind != NO_KIND)
        c->counts.unasked[p->kind] -= bytes_of(c, p->no);
    if (region < c->regions && c->asked[region] < 255)
        c->asked[region]++;
}

int bkt_page_cache_ask(struct bkt_page_cache *c, uint64_t off, uint64_t len, bkt_page_arrived *arrived,
                       void *arg, struct bkt_err *err)
{
    struct page *page;
    uint64_t no, last = len ? (off + len - 1) / BKT_PAGE_SIZE : 0;
    while (first_missing(c, off, len, &page, &no)) {
        bool guess = page && page->range->guess;
        int rc = page ? finish(c, page->range, arrived, arg, guess ? NULL : err)
                      : bkt_page_cache_fetch(c, no * BKT_PAGE_SIZE, off + len - no * BKT_PAGE_SIZE, false);
        if (rc < 0 && !guess) /* a failed guess is asked for once more */
            return rc == BKT_ENOMEM && !page ? BKT_ERR(err, rc, "out of memory") : rc;
    }
    for (no = off / BKT_PAGE_SIZE; len && no <= last; no++) {
        page = find(c, no);
        count_asked(c, page);
        ring_remove(page->range); /* the last used */
        ring_add(&c->here, page->range);
    }
    return BKT_OK;
}

uint64_t bkt_page_cache_copy(struct bkt_page_cache *c, uint64_t off, uint64_t len, void *to)
{
    uint64_t done = 0;
    len = off < c->size ? bkt_min_u64(len, c->size - off) : 0;
    while (done < len) {
        uint64_t in = (off + done) % BKT_PAGE_SIZE, n = bkt_min_u64(len - done, BKT_PAGE_SIZE - in);
        const struct page *p = find(c, (off + done) / BKT_PAGE_SIZE);
        if (!p || !p->range->arrived)
            break;
        memcpy((unsigned char *)to + done, p->range->data + (p->no - p->range->first) * BKT_PAGE_SIZE + in,
               (size_t)n);
        done += n;
    }
    return done;
}

const void *bkt_page_cache_view(const struct bkt_page_cache *c, uint64_t off, uint64_t len)
{
    const struct page *p = off < c->size && len <= c->size - off ? find(c, off / BKT_PAGE_SIZE) : NULL;
    if (!p || !p->range->arrived)
        return NULL;
    uint64_t in = off - p->range->first * BKT_PAGE_SIZE;
    return len <= p->range->len - in ? p->range->data + in : NULL;
}

unsigned bkt_page_cache_density(const struct bkt_page_cache *c, uint64_t off)
{
    return off / REGION < c->regions ? c->asked[off / REGION] : 0;
}

/* ---- the cache ---- */

struct bkt_page_cache *bkt_page_cache_new(struct bkt_store *st, const char *key, struct bkt_version *version,
                                          uint64_t size, uint64_t limit)
{
    struct bkt_page_cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->st = st, c->key = key, c->version = version, c->size = size, c->limit = limit;
    c->regions = (size_t)bkt_min_u64(bkt_ceil_div(size, REGION), REGIONS);
    c->asked = calloc(c->regions + 1, 1);
    ring_init(&c->coming);
    ring_init(&c->here);
    c->pages = bkt_map_new();
    if (c->asked && c->pages)
        return c;
    bkt_map_free(c->pages, NULL);
    free(c->asked);
    free(c);
    return NULL;
}

void bkt_page_cache_share(struct bkt_page_cache *c, struct bkt_node_reads *n)
{
    c->node = n;
}

void bkt_page_cache_free(struct bkt_page_cache *c)
{
    if (!c)
        return;
    atomic_store(&c->closing, true);
    bkt_store_cancelled();
    while (c->coming.next != &c->coming)
        (void)finish(c, c->coming.next, NULL, NULL, NULL);
    while (c->here.next != &c->here)
        range_free(c, c->here.next);
    bkt_map_free(c->pages, NULL);
    free(c->asked);
    free(c);
}

const struct bkt_page_counts *bkt_page_cache_counts(const struct bkt_page_cache *c)
{
    return &c->counts;
}

int bkt_page_cache_put_first(struct bkt_page_cache *c, const unsigned char *p, uint64_t n)
{
    n = bkt_min_u64(n, c->size);
    unsigned pages = (unsigned)(n == c->size ? bkt_ceil_div(n, BKT_PAGE_SIZE) : n / BKT_PAGE_SIZE);
    struct page_range *r = pages ? range_new(c, 0, pages, false) : NULL;
    if (!r)
        return pages ? BKT_ENOMEM : BKT_OK;
    memcpy(r->data, p, (size_t)r->len);
    r->arrived = true;
    keep(c, r);
    return BKT_OK;
}
