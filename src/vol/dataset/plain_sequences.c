/* Sequences and strings of variable length, out of global heap collections that are here, into the program's
 * memory.  Only types that need no conversion of their elements.  Everything that isn't as HDF5 writes it is
 * left to HDF5. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/num.h"
#include "vol/dataset/plain_heaps.h"

#define SLOTS     256                   /* collections that are kept at hand */
#define KEPT_MAX  ((uint64_t)16 << 20)  /* bytes of them; then all are dropped */

/* ---- a collection ---- */

struct collection {
    uint64_t       at; /* 0: the slot is free */
    uint64_t       size;
    unsigned char *bytes;
    uint32_t      *objects; /* by index: the object's offset; 0: no object has this index */
    size_t         n_objects, cap_objects;
};

struct heaps {
    const struct bkt_shadow *s;
    struct collection        slots[SLOTS];
    uint64_t                 kept;
};

static void collection_fini(struct collection *c)
{
    free(c->bytes);
    free(c->objects);
    *c = (struct collection){.at = 0};
}

static void drop_all(struct heaps *h)
{
    for (size_t i = 0; i < SLOTS; i++)
        collection_fini(&h->slots[i]);
    h->kept = 0;
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

static bool load(struct heaps *h, struct collection *c, uint64_t at)
{
    c->at   = at;
    c->size = bkt_heap_size(h->s, at);
    h->kept += c->size;
    return c->size >= BKT_HEAP_SMALLEST && (c->bytes = malloc(c->size)) != NULL &&
           vfd_peek(h->s->file, at, c->size, c->bytes) == c->size && parse(h, c);
}

static const struct collection *find(struct heaps *h, uint64_t at)
{
    struct collection *c = &h->slots[at / BKT_HEAP_SMALLEST % SLOTS];
    if (c->at == at)
        return c;
    if (h->kept > KEPT_MAX)
        drop_all(h);
    h->kept -= c->size;
    collection_fini(c);
    if (load(h, c, at))
        return c;
    h->kept -= c->size;
    collection_fini(c);
    return NULL;
}

/* The data of an object of exactly @p size bytes; NULL: it isn't here, or isn't as HDF5 writes it. */
static const unsigned char *object(struct heaps *h, const unsigned char *stored, uint64_t size)
{
    const struct bkt_shadow *s = h->s;
    uint64_t at = bkt_get_le(stored, s->addr_bytes), index = bkt_get_le(stored + s->addr_bytes, 4);
    const struct collection *c = bkt_add_u64(at, s->user_block, &at) ? find(h, at) : NULL;
    if (!c || index >= c->n_objects || !c->objects[index])
        return NULL;
    const unsigned char *p = c->bytes + c->objects[index];
    return bkt_get_le(p + 8, s->size_bytes) == size ? p + BKT_HEAP_HEAD : NULL;
}

/* ---- values ---- */

struct giver {
    H5MM_allocate_t alloc;
    H5MM_free_t     release;
    void           *alloc_info, *release_info;
};

static void *give(const struct giver *g, size_t n) { return g->alloc ? g->alloc(n, g->alloc_info) : malloc(n); }

static void take_back(const struct giver *g, bool text, unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hvl_t v = {0, NULL};
        memcpy(text ? (void *)&v.p : (void *)&v, to + i * (text ? sizeof v.p : sizeof v), text ? sizeof v.p : sizeof v);
        if (v.p && !g->alloc)
            free(v.p);
        else if (v.p && g->release)
            g->release(v.p, g->release_info);
    }
}

/* One value.  False: HDF5 has to read it. */
static bool one(struct heaps *h, const struct giver *g, const unsigned char *stored, unsigned char *to)
{
    const struct bkt_shadow *s = h->s;
    size_t   n = (size_t)bkt_get_le(stored, 4), bytes;
    hvl_t    v = {n, NULL};
    if (bkt_get_le(stored + 4, s->addr_bytes)) {
        const unsigned char *p = bkt_mul_size(n, s->base, &bytes) ? object(h, stored + 4, bytes) : NULL;
        if (!p || (bytes + s->text && !(v.p = give(g, bytes + s->text))))
            return false;
        if (v.p)
            memcpy(v.p, p, bytes);
        if (v.p && s->text)
            ((char *)v.p)[bytes] = 0;
    } else
        v.len = 0;
    memcpy(to, s->text ? (void *)&v.p : (void *)&v, s->text ? sizeof v.p : sizeof v);
    return true;
}

bool bkt_sequences_give(const struct bkt_shadow *s, const unsigned char *stored, size_t n, hid_t dxpl, unsigned char *to)
{
    struct giver  g    = {NULL, NULL, NULL, NULL};
    struct heaps *h    = calloc(1, sizeof *h);
    size_t        each = s->text ? sizeof(char *) : sizeof(hvl_t), done = 0;
    if (!h || (dxpl != H5P_DEFAULT && H5Pget_vlen_mem_manager(dxpl, &g.alloc, &g.alloc_info, &g.release, &g.release_info) < 0)) {
        free(h);
        return false;
    }
    h->s = s;
    while (done < n && one(h, &g, stored + done * s->spots.size, to + done * each))
        done++;
    if (done < n)
        take_back(&g, s->text, to, done);
    drop_all(h);
    free(h);
    return done == n;
}
