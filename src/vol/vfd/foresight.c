#include "vol/vfd/foresight.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/map.h"
#include "base/num.h"

#define ITEMS_MAX  (UINT32_C(1) << 20)   /* structures that are remembered; then all are forgotten */
#define GUESS_MAX  ((uint64_t)512 << 10) /* a larger structure is not guessed: it is one long read */
#define UNDER_WAY  256                   /* requests */
#define BUDGET     ((uint64_t)512 << 10) /* bytes of a relation's unasked guesses after the first proof */
#define PROOF_MAX  4                     /* each further proof multiplies the budget by 4, up to this one */
#define INDEX_MAX  ((uint64_t)32 << 20)  /* bytes of needed guesses that were not asked for yet */
#define DEPTH      32                    /* levels of an index */
#define GUESSES_AT_ONCE 1024 /* sorted and merged */
#define GAP        ((uint64_t)64 << 10) /* bytes between two guesses of one request: a second costs more */
#define SHARE      ((uint64_t)2 << 20)  /* bytes of one request for ranges that lie together */
#define WINDOW     ((uint64_t)64 << 10)  /* fetched for a read that no structure foretold */
#define WINDOW_RAW ((uint64_t)512 << 10) /* the same of raw data */
#define WINDOW_MAX ((uint64_t)8 << 20)   /* it doubles up to this while reads follow each other */
#define DENSE      32 /* pages of a MiB that were asked for: then the rest is fetched, too */

#define NONE       UINT32_MAX
#define NEEDED          BKT_H5SCAN_REL_COUNT

struct item {
    struct bkt_h5scan_find f;
    uint32_t parent;     /* the item that named it; itself if no item did */
    uint32_t group;      /* the object header that it belongs to; itself if no item named it */
    uint32_t next;       /* waits for the same request */
    uint32_t first, end; /* the items that it named */
    bool asked, looked, fetched, waits;
    unsigned char n_asked;  /* of a header: its members that were asked for, 255 at most */
    unsigned char n_blocks; /* of a header: blocks of its heaps that were asked for, 255 at most */
};

/* Items of one relation that may be fetched, in the order in which they were found. */
struct queue {
    uint32_t *v;
    size_t n, cap, at; /* at: the first item that is left */
    unsigned proof;    /* number of reads that showed that the program wants them, at most PROOF_MAX */
    uint64_t wasted;   /* bytes, as of the last look */
};

struct bkt_foresight {
    struct bkt_page_cache *cache;
    struct bkt_h5scan_file file;
    struct item *items;
    size_t n, cap;
    struct bkt_map *by_address;         /* to the item's number + 1; NULL: there are no items */
    struct queue queues[BKT_H5SCAN_REL_COUNT + 1]; /* the last queue: items that are needed in any case */
    uint32_t *stack;                    /* items whose bytes are here, to be looked at */
    size_t n_stack, cap_stack;
    uint32_t looking;      /* the item that is looked at */
    enum bkt_fore_index index; /* bkt_foresight_expect_index() */
    uint64_t next, window; /* of the last unforetold read: its end, and the bytes that it fetched */
};

static struct bkt_fore_counts counts; /* under HDF5's lock */

struct bkt_fore_counts bkt_foresight_counts(void)
{
    return counts;
}

/* ---- items ---- */

/* NONE: the structure is unknown. */
static uint32_t item_at(const struct bkt_foresight *f, uint64_t addr)
{
    intptr_t number = f->by_address ? bkt_map_number(f->by_address, &addr, sizeof addr) : 0;
    return number ? (uint32_t)(number - 1) : NONE;
}

/* Forget all structures: there are too many.  The next read finds its structure again. */
static void forget(struct bkt_foresight *f)
{
    f->n = f->n_stack = 0;
    bkt_map_free(f->by_address, NULL);
    f->by_address = NULL;
    for (size_t r = 0; r <= BKT_H5SCAN_REL_COUNT; r++)
        f->queues[r].n = f->queues[r].at = 0;
}

/* NONE: out of memory, or too many items. */
static uint32_t item_add(struct bkt_foresight *f, const struct bkt_h5scan_find *found, uint32_t parent,
                         uint32_t group)
{
    if (!f->by_address)
        f->by_address = bkt_map_new();
    if (f->n >= ITEMS_MAX || !f->by_address ||
        bkt_list_room(&f->items, f->n, &f->cap, sizeof *f->items) < 0 ||
        bkt_map_put_number(f->by_address, &found->addr, sizeof found->addr, (intptr_t)f->n + 1) < 0)
        return NONE;
    uint32_t i = (uint32_t)f->n++;
    f->items[i] = (struct item){.f = *found,
                                .parent = parent == NONE ? i : parent,
                                .group = group == NONE ? i : group,
                                .next = BKT_PAGE_NONE};
    return i;
}

static void push(struct bkt_foresight *f, uint32_t i)
{
    if (bkt_list_room(&f->stack, f->n_stack, &f->cap_stack, sizeof *f->stack) == BKT_OK)
        f->stack[f->n_stack++] = i;
}

/* Whether the program has asked for an index above a node. */
static bool is_of_asked_index(const struct bkt_foresight *f, const struct item *node)
{
    const struct item *it = &f->items[node->parent];
    for (unsigned depth = 0; depth < DEPTH && !it->asked && it->f.rel == BKT_H5SCAN_REL_INDEX_NODE; depth++)
        it = &f->items[it->parent];
    return it->asked;
}

/* Whether libhdf5 reads the item next if it goes on with the structure that it has asked for. */
static bool is_needed(const struct bkt_foresight *f, const struct item *it)
{
    const struct item *parent = &f->items[it->parent];
    bool asked = f->items[it->group].asked;
    bool is_root = parent->f.kind == BKT_H5SCAN_HEAP || parent->f.kind == BKT_H5SCAN_TREE2;
    switch (it->f.rel) {
    case BKT_H5SCAN_REL_PART:
        return parent->asked || parent->fetched;
    case BKT_H5SCAN_REL_LINKS:
    case BKT_H5SCAN_REL_TYPE:
        return asked;
    case BKT_H5SCAN_REL_LINK_NODE:
        return asked && is_root;
    case BKT_H5SCAN_REL_ATTR_NODE:
        return parent->asked && is_root;
    case BKT_H5SCAN_REL_INDEX_NODE:
        return f->index == BKT_FORE_INDEX_WHOLE ? is_of_asked_index(f, it) : parent->asked && is_root;
    default:
        return false;
    }
}

static void enqueue(struct bkt_foresight *f, uint32_t i)
{
    struct queue *q = &f->queues[is_needed(f, &f->items[i]) ? NEEDED : f->items[i].f.rel];
    if (q->at == q->n)
        q->at = q->n = 0;
    if (bkt_list_room(&q->v, q->n, &q->cap, sizeof *q->v) == BKT_OK)
        q->v[q->n++] = i;
}

/* Look at the item when its bytes are here. */
static void look_later(struct bkt_foresight *f, uint32_t i)
{
    struct item *it = &f->items[i];
    if (it->looked)
        return;
    enum bkt_page_state s = bkt_page_cache_state(f->cache, it->f.addr, it->f.size);
    if (s == BKT_PAGE_HERE)
        push(f, i);
    else if (s == BKT_PAGE_COMING && !it->waits) {
        it->waits = true;
        bkt_page_cache_chain(f->cache, it->f.addr, it->f.size, i, &it->next);
    }
}

/* ---- looking ---- */

static void on_found(void *arg, const struct bkt_h5scan_find *found)
{
    struct bkt_foresight *f = arg;
    if (!f->items || item_at(f, found->addr) != NONE)
        return;
    const struct item *from = &f->items[f->looking];
    uint32_t i = item_add(f, found, f->looking, from->f.kind == BKT_H5SCAN_HEADER ? f->looking : from->group);
    if (i == NONE)
        return;
    look_later(f, i);
    if (bkt_page_cache_state(f->cache, found->addr, found->size) == BKT_PAGE_ABSENT)
        enqueue(f, i);
}

/* If a structure turns out to be larger, all of it is fetched. */
static void look(struct bkt_foresight *f, uint32_t i)
{
    struct bkt_h5scan_find what = f->items[i].f;
    unsigned char few[8192], *p = what.size <= sizeof few ? few : malloc(GUESS_MAX);
    uint64_t n = p ? bkt_page_cache_copy(f->cache, what.addr, p == few ? sizeof few : GUESS_MAX, p) : 0;
    f->items[i].first = (uint32_t)f->n;
    f->looking = i;
    uint64_t need = p ? bkt_h5scan_look(&f->file, &what, p, n, on_found, f) : 0;
    if (p != few)
        free(p);
    f->items[i].end = (uint32_t)f->n;
    if (need <= n || need > GUESS_MAX) {
        f->items[i].looked = true;
        return;
    }
    f->items[i].f.size = need;
    if (bkt_page_cache_fetch(f->cache, what.addr, need, !f->items[i].asked) < 0)
        return;
    if (!f->items[i].asked)
        bkt_page_cache_expect(f->cache, what.addr, need, what.rel);
    look_later(f, i);
}

static void look_all(struct bkt_foresight *f)
{
    while (f->n_stack) {
        uint32_t i = f->stack[--f->n_stack];
        if (i < f->n && !f->items[i].looked)
            look(f, i);
    }
}

static void on_arrived(void *arg, uint32_t i)
{
    struct bkt_foresight *f = arg;
    while (i != BKT_PAGE_NONE && i < f->n) {
        uint32_t next = f->items[i].next;
        f->items[i].next = BKT_PAGE_NONE;
        f->items[i].waits = false;
        look_later(f, i);
        i = next;
    }
}

/* ---- guessing ---- */

/* Whether only a read of two neighbours shows that the program wants the others. */
static bool takes_two(enum bkt_h5scan_relation rel)
{
    return rel == BKT_H5SCAN_REL_MEMBER || rel == BKT_H5SCAN_REL_LINK_NODE ||
           rel == BKT_H5SCAN_REL_INDEX_NODE || rel == BKT_H5SCAN_REL_ATTR_NODE;
}

static uint64_t budget(struct bkt_foresight *f, unsigned rel)
{
    struct queue *q = &f->queues[rel];
    const struct bkt_page_counts *c = bkt_page_cache_counts(f->cache);
    if (rel == BKT_H5SCAN_REL_INDEX_NODE && f->index == BKT_FORE_INDEX_PATH)
        return 0;
    if (rel == NEEDED)
        return INDEX_MAX - bkt_min_u64(INDEX_MAX, c->unasked[rel]);
    if (c->wasted[rel] > q->wasted + BUDGET / 2) { /* guesses were wrong */
        q->wasted = c->wasted[rel];
        q->proof -= q->proof > 0;
    }
    uint64_t all = q->proof ? BUDGET << 2 * (q->proof - 1) : 0;
    return all / 2 > c->unasked[rel] ? all - c->unasked[rel] : 0; /* many at once, as they may lie together */
}

static bool is_index(const struct item *it)
{
    return it->f.rel == BKT_H5SCAN_REL_INDEX || it->f.rel == BKT_H5SCAN_REL_INDEX_NODE;
}

/* Pages of an item; in a paged file whole pages of the file. */
static void range_of(const struct bkt_foresight *f, const struct item *it, uint64_t *off, uint64_t *end)
{
    uint64_t page = f->file.page && f->file.page <= GUESS_MAX ? f->file.page : BKT_PAGE_SIZE;
    uint64_t from = it->f.addr - f->file.base;
    *off = f->file.base + from / page * page;
    *end = f->file.base + bkt_ceil_div(from + it->f.size, page) * page;
    if (is_index(it)) { /* the neighbours may be nodes, too, or heaps */
        *off -= bkt_min_u64(*off, BKT_PAGE_SIZE);
        *end += BKT_PAGE_SIZE;
    }
    *end = bkt_min_u64(*end, f->file.size);
}

struct guess {
    uint64_t off, end;
    uint32_t item;
};

/* Take items off the queue as far as the budget goes. */
static size_t take(struct bkt_foresight *f, unsigned rel, struct guess *out, size_t most)
{
    struct queue *q = &f->queues[rel];
    uint64_t left = budget(f, rel);
    size_t n = 0;
    for (; q->at < q->n && n < most; q->at++) {
        struct item *it = &f->items[q->v[q->at]];
        if (it->asked || it->fetched || it->f.size > GUESS_MAX)
            continue;
        if (it->f.size > left)
            break;
        struct guess g = {.item = q->v[q->at]};
        range_of(f, it, &g.off, &g.end);
        left -= bkt_min_u64(left, g.end - g.off);
        it->fetched = true;
        out[n++] = g;
    }
    return n;
}

/* Fetch guesses.  Guesses that lie together share a request. */
static void fetch(struct bkt_foresight *f, struct guess *g, size_t n, unsigned rel)
{
    qsort(g, n, sizeof *g, bkt_by_u64);
    for (size_t i = 0, j; i < n; i = j) {
        uint64_t end = g[i].end;
        for (j = i + 1; j < n && g[j].off <= end + GAP; j++)
            end = bkt_max_u64(end, g[j].end);
        if (bkt_page_cache_fetch(f->cache, g[i].off, end - g[i].off, true) < 0)
            return;
    }
    for (size_t i = 0; i < n; i++) {
        bkt_page_cache_expect(f->cache, g[i].off, g[i].end - g[i].off, rel);
        look_later(f, g[i].item);
    }
}

/* Look at the structures that have arrived, and fetch the structures that they name. */
static void pump(struct bkt_foresight *f)
{
    struct guess g[GUESSES_AT_ONCE];
    bkt_page_cache_poll(f->cache, on_arrived, f);
    look_all(f);
    for (unsigned rel = NEEDED + 1; rel-- > 0;)
        while (bkt_page_cache_counts(f->cache)->under_way < UNDER_WAY) {
            size_t n = take(f, rel, g, GUESSES_AT_ONCE);
            if (!n)
                break;
            fetch(f, g, n, rel);
        }
    look_all(f);
}

/* ---- asking ---- */

/* Whether an item is of the same kind and group as another one, and was asked for. */
static bool is_asked(const struct bkt_foresight *f, uint32_t i, const struct item *like)
{
    const struct item *it = &f->items[i];
    return i < f->n && it->asked && it->f.rel == like->f.rel && it->f.kind == like->f.kind &&
           it->group == like->group;
}

/* Whether this asked-for item shows that the program wants others of its relation.  Two neighbours show that,
 * and so do two blocks of a heap.  A path takes one block, and a walk takes them in the order of hashed
 * names. So does a part of a header that a walk has reached. */
static bool is_proof(const struct bkt_foresight *f, uint32_t i)
{
    const struct item *it = &f->items[i], *group = &f->items[it->group];
    if (it->f.rel == BKT_H5SCAN_REL_MEMBER && group->n_asked >= 4)
        return true;
    if (it->f.kind == BKT_H5SCAN_HEAP_BLOCK && group->n_blocks >= 2)
        return true;
    if (takes_two(it->f.rel))
        return is_asked(f, i - 1, it) || is_asked(f, i + 1, it);
    return group->f.rel == BKT_H5SCAN_REL_MEMBER && f->items[group->group].n_asked >= 2;
}

/* Fetch what an item that was asked for needs.  If a whole index is wanted, nodes that
 * are here name others. */
static void want_below(struct bkt_foresight *f, uint32_t i, unsigned depth)
{
    for (uint32_t child = f->items[i].first; child < f->items[i].end; child++) {
        const struct item *it = &f->items[child];
        if (!it->fetched && is_needed(f, it))
            enqueue(f, child);
        if (f->index == BKT_FORE_INDEX_WHOLE && it->f.rel == BKT_H5SCAN_REL_INDEX_NODE && depth < DEPTH)
            want_below(f, child, depth + 1);
    }
}

static void ask(struct bkt_foresight *f, uint32_t i)
{
    struct item *it = &f->items[i], *group = &f->items[it->group];
    struct queue *q = &f->queues[it->f.rel];
    if (it->asked)
        return;
    it->asked = true;
    group->n_asked += it->f.rel == BKT_H5SCAN_REL_MEMBER && group->n_asked < 255;
    group->n_blocks += it->f.kind == BKT_H5SCAN_HEAP_BLOCK && group->n_blocks < 255;
    if (f->index != BKT_FORE_INDEX_PATH || it->f.rel != BKT_H5SCAN_REL_INDEX_NODE)
        q->proof += q->proof < PROOF_MAX && is_proof(f, i);
    want_below(f, i, 0);
    if (f->index == BKT_FORE_INDEX_WHOLE &&
        it->f.rel == BKT_H5SCAN_REL_INDEX_NODE) /* HDF5 has kept the nodes above from an earlier call */
        want_below(f, it->parent, DEPTH);
}

/* The number of bytes to fetch for a read of absent bytes. */
static uint64_t window(struct bkt_foresight *f, enum bkt_fore_type type, uint64_t off, uint64_t len,
                       bool foretold)
{
    uint64_t least = type == BKT_FORE_RAW ? WINDOW_RAW : WINDOW, mib = (uint64_t)1 << 20;
    if (bkt_page_cache_density(f->cache, off) >= DENSE)
        return bkt_max_u64(len, mib - off % mib);
    if (foretold)
        return len;
    f->window = off >= f->next && off - f->next < WINDOW ? bkt_min_u64(2 * f->window, WINDOW_MAX) : least;
    f->window = bkt_max_u64(f->window, least);
    f->next = off / BKT_PAGE_SIZE * BKT_PAGE_SIZE + f->window;
    return bkt_max_u64(len, f->window);
}

/* Find the kind of a structure that no other structure has named, by its bytes. */
static void recognise(struct bkt_foresight *f, enum bkt_fore_type type, uint64_t off, uint64_t len)
{
    unsigned char first[16];
    uint64_t n = bkt_page_cache_copy(f->cache, off, sizeof first, first);
    struct bkt_h5scan_find found = {
        bkt_h5scan_kind_of(first, n, type == BKT_FORE_HEADER), BKT_H5SCAN_REL_PART, off, len, {0, 0}};
    if (found.kind == BKT_H5SCAN_LEAF || item_at(f, off) != NONE)
        return;
    if (f->n >= ITEMS_MAX)
        forget(f);
    uint32_t i = item_add(f, &found, NONE, NONE);
    if (i == NONE)
        return;
    f->items[i].asked = true;
    look_later(f, i);
}

/* Fetch absent bytes that libhdf5 waits for.  @p i: their item, or NONE. */
static int fetch_asked(struct bkt_foresight *f, uint32_t i, enum bkt_fore_type type, uint64_t off,
                       uint64_t len)
{
    uint64_t n = window(f, type, off, len, i != NONE), from, end;
    if (i != NONE && is_index(&f->items[i])) {
        range_of(f, &f->items[i], &from, &end);
        BKT_PASS(bkt_page_cache_fetch(f->cache, from, end - from, false));
    }
    return bkt_page_cache_fetch(f->cache, off, n, false);
}

int bkt_foresight_read(struct bkt_foresight *f, enum bkt_fore_type type, uint64_t off, uint64_t len, void *to,
                       struct bkt_err *err)
{
    uint32_t i = type == BKT_FORE_RAW ? NONE : item_at(f, off);
    bool known = i != NONE;
    counts.known += known;
    counts.unknown += !known && type != BKT_FORE_RAW;
    if (known)
        ask(f, i);
    if (bkt_page_cache_state(f->cache, off, len) == BKT_PAGE_ABSENT && fetch_asked(f, i, type, off, len) < 0)
        BKT_NOMEM(err);
    if (known)
        look_later(f, i);
    pump(f);
    BKT_PASS(bkt_page_cache_ask(f->cache, off, len, on_arrived, f, err));
    if (!known && type != BKT_FORE_RAW)
        recognise(f, type, off, len);
    pump(f);
    (void)bkt_page_cache_copy(f->cache, off, len, to);
    return BKT_OK;
}

/* Fetch the indexes that a header or its continuations name. */
static void need_index(struct bkt_foresight *f, uint32_t i, unsigned depth)
{
    for (uint32_t child = f->items[i].first; child < f->items[i].end; child++) {
        const struct item *it = &f->items[child];
        struct queue *q = &f->queues[NEEDED];
        if (it->f.kind == BKT_H5SCAN_HEADER_REST && depth < DEPTH)
            need_index(f, child, depth + 1);
        if (it->f.rel == BKT_H5SCAN_REL_INDEX && !it->fetched &&
            bkt_list_room(&q->v, q->n, &q->cap, sizeof *q->v) == BKT_OK)
            q->v[q->n++] = child;
    }
}

void bkt_foresight_begin_index(struct bkt_foresight *f, uint64_t header)
{
    uint64_t at;
    uint32_t i = bkt_add_u64(header, f->file.base, &at) ? item_at(f, at) : NONE;
    if (i == NONE)
        return;
    need_index(f, i, 0);
    pump(f);
}

void bkt_foresight_expect_index(struct bkt_foresight *f, enum bkt_fore_index index)
{
    f->index = index;
}

/* Ranges that lie together share a request, up to a length: a connection's speed is limited. */
int bkt_foresight_begin(struct bkt_foresight *f, struct bkt_fore_range *r, size_t n, struct bkt_err *err)
{
    if (n)
        qsort(r, n, sizeof *r, bkt_by_u64);
    for (size_t i = 0, j; i < n; i = j) {
        uint64_t end = r[i].off + r[i].len;
        for (j = i + 1; j < n && r[j].off <= end + GAP; j++)
            end = bkt_max_u64(end, r[j].off + r[j].len);
        for (uint64_t at = r[i].off; at < end; at += SHARE)
            BKT_PASS_MEM(err, bkt_page_cache_fetch(f->cache, at, bkt_min_u64(SHARE, end - at), false));
    }
    return BKT_OK;
}

int bkt_foresight_fetch(struct bkt_foresight *f, struct bkt_fore_range *r, size_t n, struct bkt_err *err)
{
    BKT_PASS(bkt_foresight_begin(f, r, n, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t len = r[i].off < f->file.size ? bkt_min_u64(r[i].len, f->file.size - r[i].off) : 0;
        BKT_PASS(bkt_page_cache_ask(f->cache, r[i].off, len, on_arrived, f, err));
    }
    return BKT_OK;
}

struct bkt_foresight *bkt_foresight_new(struct bkt_page_cache *cache, uint64_t size)
{
    struct bkt_foresight *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->cache = cache;
    f->file.size = size;
    return f;
}

void bkt_foresight_free(struct bkt_foresight *f)
{
    if (!f)
        return;
    const struct bkt_page_counts *c = bkt_page_cache_counts(f->cache);
    counts.round_trips += c->round_trips;
    counts.requests += c->requests;
    counts.bytes += c->bytes;
    for (size_t r = 0; r <= BKT_H5SCAN_REL_COUNT; r++)
        free(f->queues[r].v);
    free(f->items);
    bkt_map_free(f->by_address, NULL);
    free(f->stack);
    free(f);
}
