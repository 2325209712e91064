/* Sequences and strings of variable length, out of global heap collections, into the program's memory.  Only
 * types that need no conversion of their elements.  Everything that isn't as HDF5 writes it is left to HDF5.
 *
 * The elements are taken in parts.  While the values of a part are made, the collections of the next two are
 * on their way.  Stored elements give the lengths of their values.  From these the length of a collection is
 * estimated, so even a long one is mostly fetched at once. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/num.h"
#include "vol/dataset/plain/plain_heaps.h"
#include "vol/vfd/foresight.h"

#define SLOTS     256                   /* collections that are kept at hand */
#define KEPT_MAX  ((uint64_t)16 << 20)  /* bytes of copies of them; then all are dropped */
#define OBJECTS_MAX 1024                /* a longer table of objects is freed with its collection */
#define PARTS     3                     /* one is given, of one the long collections' ends come, one begins */
#define PART      ((uint64_t)4 << 20)   /* bytes of collections in a part */
#define NEAR      ((uint64_t)64 << 10)  /* bytes between two collections that share a request (foresight.c) */

/* ---- a collection ---- */

struct collection {
    uint64_t             at; /* 0: the slot is free */
    uint64_t             size;
    const unsigned char *bytes;
    unsigned char       *own;     /* NULL: the bytes are the driver's */
    uint32_t            *objects; /* by index: the object's offset; 0: no object has this index */
    size_t               n_objects, cap_objects;
};

struct heaps {
    const struct bkt_plain_dataset *s;
    bool                     in_place; /* the driver's bytes are used where they are */
    struct collection        slots[SLOTS];
    uint64_t                 kept; /* bytes of copies */
};

static void empty(struct heaps *h, struct collection *c)
{
    h->kept -= c->own ? c->size : 0;
    free(c->own);
    if (c->cap_objects > OBJECTS_MAX) {
        free(c->objects);
        c->objects = NULL, c->cap_objects = 0;
    }
    c->at = c->size = 0;
    c->bytes = c->own = NULL;
    c->n_objects = 0;
}

static void drop_all(struct heaps *h)
{
    for (size_t i = 0; i < SLOTS; i++)
        empty(h, &h->slots[i]);
}

static void heaps_fini(struct heaps *h)
{
    drop_all(h);
    for (size_t i = 0; i < SLOTS; i++)
        free(h->slots[i].objects);
}

static bool note_object(struct collection *c, size_t index, uint64_t at)
{
    while (c->n_objects <= index) {
        if (bkt_list_room(&c->objects, c->n_objects, &c->cap_objects, sizeof *c->objects) < 0)
            return false;
        c->objects[c->n_objects++] = 0;
    }
    c->objects[index] = (uint32_t)at;
    return true;
}

/* Index 0 is the free space, which ends a collection. */
static bool parse(const struct heaps *h, struct collection *c)
{
    uint64_t at = BKT_HEAP_HEAD;
    while (at + BKT_HEAP_HEAD <= c->size) {
        size_t   index = (size_t)bkt_get_le(c->bytes + at, 2);
        uint64_t size  = bkt_get_le(c->bytes + at + 8, h->s->size_bytes), room = c->size - at - BKT_HEAP_HEAD;
        if (!index)
            return size == room + BKT_HEAP_HEAD;
        if (size > room || (size + 7) / 8 * 8 > room || !note_object(c, index, at))
            return false;
        at += BKT_HEAP_HEAD + (size + 7) / 8 * 8;
    }
    return true;
}

static bool take_bytes(struct heaps *h, struct collection *c)
{
    c->bytes = h->in_place ? bkt_page_cache_view(h->s->pages, c->at, c->size) : NULL;
    if (c->bytes)
        return true;
    c->bytes = c->own = malloc(c->size);
    h->kept += c->own ? c->size : 0;
    return c->own && bkt_page_cache_copy(h->s->pages, c->at, c->size, c->own) == c->size;
}

static bool load(struct heaps *h, struct collection *c, uint64_t at)
{
    c->at   = at;
    c->size = bkt_heap_size(h->s, at);
    if (c->size >= BKT_HEAP_SMALLEST && take_bytes(h, c) && parse(h, c))
        return true;
    empty(h, c);
    return false;
}

/* A collection that isn't here: it was longer than expected, or there was no room for all. */
static bool load_late(struct heaps *h, struct collection *c, uint64_t at)
{
    struct bkt_fore_range r = {at, BKT_HEAP_SMALLEST};
    drop_all(h); /* bytes in place may go */
    if (bkt_foresight_fetch(h->s->fore, &r, 1, NULL) < 0)
        return false;
    r.len = bkt_heap_size(h->s, at);
    return r.len && bkt_foresight_fetch(h->s->fore, &r, 1, NULL) == BKT_OK && load(h, c, at);
}

static const struct collection *find(struct heaps *h, uint64_t at)
{
    struct collection *c = &h->slots[at / BKT_HEAP_SMALLEST % SLOTS];
    if (c->at == at)
        return c;
    if (h->kept > KEPT_MAX)
        drop_all(h);
    empty(h, c);
    return load(h, c, at) || load_late(h, c, at) ? c : NULL;
}

/* The data of an object of exactly @p size bytes; NULL: it can't be read, or isn't as HDF5 writes it. */
static const unsigned char *object_data(struct heaps *h, const unsigned char *stored, uint64_t size)
{
    const struct bkt_plain_dataset *s = h->s;
    uint64_t at = bkt_get_le(stored, s->addr_bytes), index = bkt_get_le(stored + s->addr_bytes, 4);
    const struct collection *c = bkt_add_u64(at, s->user_block, &at) ? find(h, at) : NULL;
    if (!c || index >= c->n_objects || !c->objects[index])
        return NULL;
    const unsigned char *p = c->bytes + c->objects[index];
    return bkt_get_le(p + 8, s->size_bytes) == size ? p + BKT_HEAP_HEAD : NULL;
}

/* ---- values ---- */

/* The memory of values: the transfer list's functions, or malloc(). */
struct giver {
    H5MM_allocate_t alloc;
    H5MM_free_t     release;
    void           *alloc_info, *release_info;
};

static void *give(const struct giver *g, size_t n)
{
    return g->alloc ? g->alloc(n, g->alloc_info) : malloc(n);
}

static void take_back(const struct giver *g, bool text, unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hvl_t v = {0, NULL};
        memcpy(text ? (void *)&v.p : (void *)&v, to + i * (text ? sizeof v.p : sizeof v),
               text ? sizeof v.p : sizeof v);
        if (v.p && !g->alloc)
            free(v.p);
        else if (v.p && g->release)
            g->release(v.p, g->release_info);
    }
}

static bool is_text(const struct bkt_plain_dataset *s)
{
    return s->elements == BKT_PLAIN_STRINGS;
}

static size_t value_size(const struct bkt_plain_dataset *s)
{
    return is_text(s) ? sizeof(char *) : sizeof(hvl_t);
}

/* One value.  False: HDF5 has to read it. */
static bool make_value(struct heaps *h, const struct giver *g, const unsigned char *stored, unsigned char *to)
{
    const struct bkt_plain_dataset *s = h->s;
    size_t   n = (size_t)bkt_get_le(stored, 4), bytes;
    hvl_t    v = {n, NULL};
    const bool text = is_text(s);
    if (bkt_get_le(stored + 4, s->addr_bytes)) {
        const unsigned char *p = bkt_mul_size(n, s->base, &bytes) ? object_data(h, stored + 4, bytes) : NULL;
        if (!p || (bytes + text && !(v.p = give(g, bytes + text))))
            return false;
        if (v.p)
            memcpy(v.p, p, bytes);
        if (v.p && text)
            ((char *)v.p)[bytes] = 0;
    } else
        v.len = 0;
    memcpy(to, text ? (void *)&v.p : (void *)&v, text ? sizeof v.p : sizeof v);
    return true;
}

/* ---- parts ---- */

/* Elements whose collections are waited for together. */
struct part {
    size_t             first, end;
    struct bkt_fore_range *r; /* collections, or what is known of them */
    size_t             n, cap;
};

struct stream {
    struct heaps        *h;
    const unsigned char *stored;
    size_t               n, ahead; /* elements; of them, those in parts that have begun */
    uint64_t             file_size;
    struct part          parts[PARTS];
};

/* The bytes that a part has to wait for because of one more element.  @p last: the last collection; @p used:
 * its bytes so far */
static uint64_t add_element(struct stream *t, struct part *p, const unsigned char *stored, uint64_t *last,
                            uint64_t *used)
{
    const struct bkt_plain_dataset *s = t->h->s;
    uint64_t at = bkt_get_le(stored + 4, s->addr_bytes), len = bkt_get_le(stored, 4) * (uint64_t)s->base,
             full;
    if (!at || !bkt_add_u64(at, s->user_block, &full) || full >= t->file_size)
        return 0;
    len = BKT_HEAP_HEAD + bkt_min_u64(len, BKT_HEAP_LARGEST - 2 * BKT_HEAP_HEAD - 8);
    *used += len;
    if (full == *last)
        return *used > BKT_HEAP_SMALLEST ? len : 0;
    if (bkt_list_room(&p->r, p->n, &p->cap, sizeof *p->r) < 0)
        return PART; /* the collection is fetched late */
    uint64_t before = *last + BKT_HEAP_SMALLEST,
             gap = full > before && full - before <= NEAR ? full - before : 0;
    *last = full;
    *used = len;
    len = bkt_max_u64((len + BKT_HEAP_HEAD + 7) / 8 * 8, BKT_HEAP_SMALLEST);
    p->r[p->n++] = (struct bkt_fore_range){full, len};
    return len + gap;
}

static int begin(struct stream *t, struct part *p, struct bkt_err *err)
{
    uint64_t bytes = 0, last = 0, used = 0;
    p->first = t->ahead;
    p->n     = 0;
    for (; t->ahead < t->n && bytes < PART; t->ahead++)
        bytes += add_element(t, p, t->stored + t->ahead * t->h->s->addresses.size, &last, &used);
    p->end = t->ahead;
    return bkt_foresight_begin(t->h->s->fore, p->r, p->n, err);
}

/* When the first bytes of the collections are here, begin to fetch the ends of longer ones. */
static int lengthen(struct stream *t, struct part *p, struct bkt_err *err)
{
    uint64_t left = 2 * PART;
    BKT_PASS(bkt_foresight_fetch(t->h->s->fore, p->r, p->n, err));
    for (size_t i = 0; i < p->n; i++) {
        uint64_t size = bkt_heap_size(t->h->s, p->r[i].off);
        if (size <= p->r[i].len || size - p->r[i].len > left)
            continue;
        left -= size - p->r[i].len;
        p->r[i].len = size;
    }
    return left < 2 * PART ? bkt_foresight_begin(t->h->s->fore, p->r, p->n, err) : BKT_OK;
}

/* The values of a part.  False: HDF5 has to read them. */
static bool give_part(struct stream *t, const struct giver *g, const struct part *p, unsigned char *to,
                      size_t *done)
{
    const struct bkt_plain_dataset *s = t->h->s;
    size_t each = value_size(s);
    for (size_t i = p->first; i < p->end; i++, ++*done)
        if (!make_value(t->h, g, t->stored + i * s->addresses.size, to + i * each))
            return false;
    return true;
}

/* @p done: values that were made. */
static int give_all(struct stream *t, const struct giver *g, unsigned char *to, size_t *done,
                    struct bkt_err *err)
{
    BKT_PASS(begin(t, &t->parts[0], err));
    BKT_PASS(begin(t, &t->parts[1], err));
    BKT_PASS(lengthen(t, &t->parts[0], err));
    for (size_t k = 0; t->parts[k % PARTS].first < t->parts[k % PARTS].end; k++) {
        struct part *p = &t->parts[k % PARTS];
        drop_all(t->h);
        BKT_PASS(begin(t, &t->parts[(k + 2) % PARTS], err));
        BKT_PASS(lengthen(t, &t->parts[(k + 1) % PARTS], err));
        BKT_PASS(bkt_foresight_fetch(t->h->s->fore, p->r, p->n, err));
        if (!give_part(t, g, p, to, done))
            return BKT_OK;
    }
    return BKT_OK;
}

/* ---- elements as they come ---- */

struct bkt_sequences {
    struct heaps h;
    struct giver g;
    unsigned char *to, *kept; /* kept: elements that have to wait, by number */
    size_t n, taken, done;    /* elements: all, those that came, the first ones that are given */
    bool at_once;             /* elements are given when they come */
    bool failed;              /* HDF5 has to read */
};

int bkt_sequences_new(const struct bkt_plain_dataset *s, size_t n, hid_t dxpl, unsigned char *to,
                      struct bkt_sequences **out, struct bkt_err *err)
{
    struct bkt_sequences *q = *out = calloc(1, sizeof *q);
    BKT_NEED(err, q);
    q->h.s = s;
    q->n = n;
    q->to = to;
    if (dxpl != H5P_DEFAULT &&
        H5Pget_vlen_mem_manager(dxpl, &q->g.alloc, &q->g.alloc_info, &q->g.release, &q->g.release_info) < 0)
        q->failed = true;
    q->at_once = q->h.in_place = !q->g.alloc; /* the program's function may read the file, too */
    return BKT_OK;
}

/* Whether the collection's bytes are here or coming; then wait for them. */
static bool wait_if_coming(struct heaps *h, uint64_t at, struct bkt_err *err)
{
    struct bkt_fore_range r = {at, BKT_HEAP_SMALLEST};
    for (int i = 0; i < 2; i++) {
        if (bkt_page_cache_state(h->s->pages, r.off, r.len) == BKT_PAGE_ABSENT)
            return false;
        if (bkt_page_cache_copy(h->s->pages, r.off + r.len - 1, 1, &(char){0}) < 1 ||
            !bkt_heap_size(h->s, at)) {
            drop_all(h); /* bytes in place may go */
            if (bkt_foresight_fetch(h->s->fore, &r, 1, err) < 0)
                return false;
        }
        r.len = bkt_max_u64(bkt_heap_size(h->s, at), BKT_HEAP_SMALLEST);
    }
    return true;
}

/* Give elements from @p first on, until one names a collection that nobody has begun to fetch. */
static size_t give_now(struct bkt_sequences *q, size_t first, const unsigned char *stored, size_t n,
                       struct bkt_err *err)
{
    const struct bkt_plain_dataset *s = q->h.s;
    size_t i = 0;
    for (uint64_t at, last = 0; q->at_once && i < n; i++, stored += s->addresses.size) {
        at = bkt_get_le(stored + 4, s->addr_bytes);
        if (at && at != last && bkt_add_u64(at, s->user_block, &at) &&
            q->h.slots[at / BKT_HEAP_SMALLEST % SLOTS].at != at)
            q->at_once = wait_if_coming(&q->h, at, err);
        if (q->at_once && !make_value(&q->h, &q->g, stored, q->to + (first + i) * value_size(s)))
            q->failed = true;
        if (!q->at_once || q->failed)
            break;
        last = bkt_get_le(stored + 4, s->addr_bytes);
    }
    return i;
}

int bkt_sequences_take(struct bkt_sequences *q, size_t first, const unsigned char *stored, size_t n,
                       size_t *given, struct bkt_err *err)
{
    const struct bkt_plain_dataset *s = q->h.s;
    size_t bytes, now = first == q->done && !q->failed ? give_now(q, first, stored, n, err) : 0;
    q->done += now;
    q->taken += n;
    *given = now;
    if (now == n || q->failed)
        return BKT_OK;
    if (!q->kept && !(q->kept = bkt_mul_size(q->n, s->addresses.size, &bytes) ? malloc(bytes) : NULL))
        BKT_NOMEM(err);
    memcpy(q->kept + (first + now) * s->addresses.size, stored + now * s->addresses.size,
           (n - now) * s->addresses.size);
    return BKT_OK;
}

void bkt_sequences_pause(struct bkt_sequences *q)
{
    drop_all(&q->h);
}

int bkt_sequences_end(struct bkt_sequences *q, bool *given, struct bkt_err *err)
{
    size_t each = value_size(q->h.s), done = 0;
    int rc = BKT_OK;
    *given = q->done == q->n;
    if (*given || q->failed || q->taken < q->n)
        return BKT_OK;
    struct stream t = {.h = &q->h,
                       .stored = q->kept + q->done * q->h.s->addresses.size,
                       .n = q->n - q->done,
                       .file_size = bkt_vfd_facts(q->h.s->file).size};
    rc = give_all(&t, &q->g, q->to + q->done * each, &done, err);
    q->done += done;
    *given = rc == BKT_OK && q->done == q->n;
    for (size_t i = 0; i < PARTS; i++)
        free(t.parts[i].r);
    return rc;
}

void bkt_sequences_free(struct bkt_sequences *q)
{
    if (!q)
        return;
    if (q->done < q->n)
        take_back(&q->g, is_text(q->h.s), q->to, q->done);
    heaps_fini(&q->h);
    free(q->kept);
    free(q);
}
