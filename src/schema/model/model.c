/* The model's own operations: free, copy, count, find, walk. */
#include "schema/model/model.h"

#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text/json_scan.h"
#include "schema/model/name_list.h"
#include "schema/model/object_life.h"
#include "storage/store.h"

/* ---- types ---- */

static int copy_fields(const struct bkt_type *t, struct bkt_type *c)
{
    c->fields = calloc(t->n_fields + 1, sizeof *c->fields);
    if (!c->fields)
        return BKT_ENOMEM;
    for (; c->n_fields < t->n_fields; c->n_fields++) {
        struct bkt_field *f = &c->fields[c->n_fields];
        f->offset           = t->fields[c->n_fields].offset;
        f->name             = strdup(t->fields[c->n_fields].name);
        if (!f->name || bkt_type_copy(t->fields[c->n_fields].type, &f->type) < 0) {
            free(f->name);
            return BKT_ENOMEM;
        }
    }
    return BKT_OK;
}

static int copy_members(const struct bkt_type *t, struct bkt_type *c)
{
    c->members = calloc(t->n_members + 1, sizeof *c->members);
    if (!c->members)
        return BKT_ENOMEM;
    for (; c->n_members < t->n_members; c->n_members++) {
        c->members[c->n_members].value = t->members[c->n_members].value;
        c->members[c->n_members].name  = strdup(t->members[c->n_members].name);
        if (!c->members[c->n_members].name)
            return BKT_ENOMEM;
    }
    return BKT_OK;
}

static int copy_parts(const struct bkt_type *t, struct bkt_type *c)
{
    if (t->base)
        BKT_PASS(bkt_type_copy(t->base, &c->base));
    if (t->fields)
        BKT_PASS(copy_fields(t, c));
    if (t->members)
        BKT_PASS(copy_members(t, c));
    if (t->tag && !(c->tag = strdup(t->tag)))
        return BKT_ENOMEM;
    if (t->bad && !(c->bad = strdup(t->bad)))
        return BKT_ENOMEM;
    return bkt_buf_add(&c->encoded, t->encoded.ptr, t->encoded.len);
}

int bkt_type_copy(const struct bkt_type *t, struct bkt_type **out)
{
    struct bkt_type *c = malloc(sizeof *c);
    if (!c)
        return BKT_ENOMEM;
    *c        = *t;
    c->base   = NULL;
    c->fields = NULL, c->n_fields = 0;
    c->members = NULL, c->n_members = 0;
    c->tag = c->bad = NULL;
    memset(&c->encoded, 0, sizeof c->encoded);
    if (copy_parts(t, c) < 0) {
        bkt_type_free(c);
        return BKT_ENOMEM;
    }
    *out = c;
    return BKT_OK;
}

bool bkt_type_has_refs(const struct bkt_type *t)
{
    if (!t)
        return false;
    /* a text with HDF5's type beside it may be a reference that the schema has no class for */
    if (t->cls == BKT_T_OBJREF || t->cls == BKT_T_REGREF || (t->cls == BKT_T_STRING && t->encoded.len))
        return true;
    for (size_t i = 0; i < t->n_fields; i++)
        if (bkt_type_has_refs(t->fields[i].type))
            return true;
    return bkt_type_has_refs(t->base);
}

/* ---- dataspaces and values ---- */

int bkt_space_count(const struct bkt_space *s, uint64_t *out, struct bkt_err *err)
{
    uint64_t n = s->cls == BKT_S_NULL ? 0 : 1;
    bool     empty = false, fits = true;
    for (unsigned i = 0; i < s->rank; i++) {
        empty |= s->dims[i] == 0;
        fits = fits && bkt_mul_u64(n, s->dims[i], &n);
    }
    BKT_FAIL_IF(err, !fits && !empty, BKT_EFORMAT, "shape.dims: the number of elements does not fit 64 bits");
    *out = empty ? 0 : n;
    return BKT_OK;
}

int bkt_space_check(const struct bkt_space *s, struct bkt_err *err)
{
    uint64_t n;
    for (unsigned i = 0; i < s->rank; i++)
        BKT_FAIL_IF(err, s->dims[i] > INT64_MAX, BKT_EUNSUP, "dimension %u of %llu: the limit is 2^63 - 1", i,
                    (unsigned long long)s->dims[i]);
    BKT_FAIL_IF(err, bkt_space_count(s, &n, NULL) < 0, BKT_EUNSUP, "extent: 2^64 elements or more");
    return BKT_OK;
}

int bkt_value_skip(const struct bkt_type *t, struct bkt_rd *r, uint64_t null, struct bkt_err *err)
{
    bool ok = true;
    if (!t->is_var) {
        ok = bkt_rd_take(r, t->size) != NULL;
    } else if (t->cls == BKT_T_COMPOUND) {
        for (size_t i = 0; i < t->n_fields; i++)
            BKT_PASS(bkt_value_skip(t->fields[i].type, r, null, err));
    } else if (t->cls == BKT_T_ARRAY) {
        for (uint64_t i = 0; i < t->n_elems; i++)
            BKT_PASS(bkt_value_skip(t->base, r, null, err));
    } else {
        uint64_t n = bkt_rd_le(r, 4);
        if (n == null && t->cls == BKT_T_STRING)
            n = 0;
        ok = r->ok && n <= INT32_MAX && bkt_rd_take(r, (size_t)n) != NULL;
    }
    BKT_FAIL_IF(err, !ok, BKT_EFORMAT, "an element passes the end of the stored data");
    return BKT_OK;
}

/* ---- objects ---- */

struct counted {
    struct bkt_object object; /* first: the part that all other code sees */
    atomic_uint       refs;
};

struct bkt_object *bkt_object_make(enum bkt_kind kind)
{
    struct counted *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    struct bkt_object *o = &c->object;
    atomic_init(&c->refs, 1);
    o->kind             = kind;
    o->attr_max_compact = o->attr_min_dense = o->track_times = -1;
    o->uses             = kind == BKT_DATATYPE ? 0 : -1;
    if (kind == BKT_DATASET)
        o->dset.fill_time = o->dset.alloc_time = -1;
    return o;
}

const struct bkt_id *bkt_object_next_type(const struct bkt_object *o, size_t *pos)
{
    const struct bkt_attrs *a = bkt_attrs_settle(&o->attrs);
    while (*pos <= a->n) {
        size_t                 i = (*pos)++;
        const struct bkt_type *t = i ? a->v[i - 1].type : o->kind == BKT_DATASET ? o->dset.type : NULL;
        if (t && t->committed.text[0])
            return &t->committed;
    }
    return NULL;
}

const struct bkt_link *bkt_object_next_hard(const struct bkt_object *o, size_t *pos)
{
    const struct bkt_links *l = o->kind == BKT_GROUP ? bkt_links_settle(&o->group.links) : NULL;
    while (l && *pos < l->n)
        if (l->v[(*pos)++].cls == BKT_L_HARD)
            return &l->v[*pos - 1];
    return NULL;
}

/* Objects are constant for all other code, which doesn't see the count. */
static struct counted *counted_of(const struct bkt_object *o) { return (struct counted *)(uintptr_t)o; }

const struct bkt_object *bkt_object_retain(const struct bkt_object *o)
{
    if (o)
        atomic_fetch_add_explicit(&counted_of(o)->refs, 1, memory_order_relaxed);
    return o;
}

void bkt_object_release(const struct bkt_object *o)
{
    if (o && atomic_fetch_sub_explicit(&counted_of(o)->refs, 1, memory_order_acq_rel) == 1)
        bkt_object_free(&counted_of(o)->object);
}

unsigned bkt_object_refs(const struct bkt_object *o)
{
    return atomic_load_explicit(&counted_of(o)->refs, memory_order_acquire);
}

void bkt_object_swap(struct bkt_object *a, struct bkt_object *b)
{
    struct bkt_object c = *a;
    *a                  = *b;
    *b                  = c;
}

int bkt_object_set_etag(struct bkt_object *o, const char *etag)
{
    char *copy = etag && *etag ? strdup(etag) : NULL;
    free(o->etag);
    o->etag = copy;
    return copy || !etag || !*etag ? BKT_OK : BKT_ENOMEM;
}

/* ---- memory of an object: one walk frees its blocks, or counts them ----
 *
 * They are counted as the allocator rounds them.  The length of an object's JSON says little about them,
 * since shapes have room for 32 dimensions. */

size_t bkt_block_bytes(size_t n)
{
    /* glibc, on 64 bits: one word before the block, multiples of two words, at least four */
    size_t all = (n + sizeof(size_t) + 15) & ~(size_t)15;
    return all < 32 ? 32 : all;
}

struct blocks {
    bool count; /* else they are freed */
    size_t bytes;
};

static void block(struct blocks *b, void *p, size_t n)
{
    if (!b->count)
        free(p);
    else if (p)
        b->bytes += bkt_block_bytes(n);
}

static void text_block(struct blocks *b, char *s)
{
    block(b, s, b->count && s ? strlen(s) + 1 : 0);
}

static void type_blocks(struct blocks *b, struct bkt_type *t)
{
    if (!t)
        return;
    type_blocks(b, t->base);
    for (size_t i = 0; i < t->n_fields; i++) {
        text_block(b, t->fields[i].name);
        type_blocks(b, t->fields[i].type);
    }
    for (size_t i = 0; i < t->n_members; i++)
        text_block(b, t->members[i].name);
    block(b, t->fields, (t->n_fields + 1) * sizeof *t->fields);
    block(b, t->members, (t->n_members + 1) * sizeof *t->members);
    text_block(b, t->tag);
    text_block(b, t->bad);
    block(b, t->encoded.ptr, t->encoded.cap);
    block(b, t, sizeof *t);
}

static void attr_blocks(struct blocks *b, void *one)
{
    struct bkt_attr *a = one;
    text_block(b, a->name);
    text_block(b, a->bad);
    type_blocks(b, a->type);
    block(b, a->value.ptr, a->value.cap);
}

static void link_blocks(struct blocks *b, void *one)
{
    struct bkt_link *l = one;
    text_block(b, l->name);
    text_block(b, l->path);
    text_block(b, l->file);
    block(b, l->ud.ptr, l->ud.cap);
}

static void list_blocks(struct blocks *b, struct bkt_named_list *l, size_t size,
                        void (*each)(struct blocks *b, void *one))
{
    size_t used = bkt_named_used(l);
    for (size_t i = 0; i < used; i++)
        each(b, (char *)l->v + i * size);
    if (!b->count) {
        bkt_named_fini(l);
        return;
    }
    block(b, l->v, (used + 1) * size);
    block(b, l->order, (used + 1) * sizeof *l->order);
    b->bytes += bkt_named_edit_bytes(l, size);
}

static void layout_blocks(struct blocks *b, struct bkt_layout *l)
{
    text_block(b, l->file_uri);
    text_block(b, l->file_etag);
    for (size_t i = 0; i < l->n_segments; i++) {
        text_block(b, l->segments[i].file_uri);
        text_block(b, l->segments[i].etag);
    }
    block(b, l->segments, l->n_segments * sizeof *l->segments);
    block(b, l->chunks, l->n_chunks * sizeof *l->chunks);
    block(b, l->chunk_coords, l->n_chunks * l->rank * sizeof *l->chunk_coords);
}

static void dset_blocks(struct blocks *b, struct bkt_dset *d)
{
    type_blocks(b, d->type);
    layout_blocks(b, &d->layout);
    block(b, d->trim, d->space.rank * sizeof *d->trim);
    for (size_t i = 0; i < d->n_filters; i++)
        block(b, d->filters[i].cd, d->filters[i].n_cd * sizeof *d->filters[i].cd);
    block(b, d->filters, d->n_filters * sizeof *d->filters);
    block(b, d->fill.ptr, d->fill.cap);
    text_block(b, d->init_text);
    text_block(b, d->bad);
}

static void object_blocks(struct blocks *b, struct bkt_object *o)
{
    list_blocks(b, &o->attrs.list, sizeof *o->attrs.v, attr_blocks);
    block(b, o->cpl.ptr, o->cpl.cap);
    block(b, o->stored.ptr, o->stored.cap);
    text_block(b, o->comment);
    text_block(b, o->etag);
    if (o->kind == BKT_GROUP)
        list_blocks(b, &o->group.links.list, sizeof *o->group.links.v, link_blocks);
    else if (o->kind == BKT_DATASET)
        dset_blocks(b, &o->dset);
    else
        type_blocks(b, o->type);
    block(b, o, sizeof(struct counted));
}

void bkt_type_free(struct bkt_type *t)
{
    type_blocks(&(struct blocks){.bytes = 0}, t);
}

void bkt_attr_fini(struct bkt_attr *a)
{
    attr_blocks(&(struct blocks){.bytes = 0}, a);
    memset(a, 0, sizeof *a);
}

void bkt_link_fini(struct bkt_link *l)
{
    link_blocks(&(struct blocks){.bytes = 0}, l);
    memset(l, 0, sizeof *l);
}

void bkt_links_fini(struct bkt_links *l)
{
    list_blocks(&(struct blocks){.bytes = 0}, &l->list, sizeof *l->v, link_blocks);
}

void bkt_object_free(struct bkt_object *o)
{
    if (o)
        object_blocks(&(struct blocks){.bytes = 0}, o);
}

size_t bkt_object_bytes(const struct bkt_object *o)
{
    struct blocks b = {.count = true};
    object_blocks(&b, (struct bkt_object *)(uintptr_t)o);
    return b.bytes;
}

/* ---- layouts ---- */

int bkt_coords_compare(const uint64_t *a, const uint64_t *b, unsigned rank)
{
    for (unsigned i = 0; i < rank; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

const struct bkt_chunk_ref *bkt_layout_find_chunk(const struct bkt_layout *l, const uint64_t *coord)
{
    size_t lo = 0, hi = l->n_chunks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int cmp = bkt_coords_compare(coord, l->chunk_coords + mid * l->rank, l->rank);
        if (cmp == 0)
            return &l->chunks[mid];
        if (cmp < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

#define STAMP "stamp:"

void bkt_stamp(uint64_t size, double mtime, char *out)
{
    locale_t numbers = bkt_c_locale(), was = uselocale(numbers); /* it is stored: no comma of the program's */
    (void)snprintf(out, BKT_ETAG_MAX, STAMP "%llu-%.6f", (unsigned long long)size, mtime);
    (void)uselocale(was);
}

bool bkt_is_stamp(const char *etag)
{
    return strncmp(etag, STAMP, strlen(STAMP)) == 0;
}

int bkt_link_path(const char *group, const char *name, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
}

void bkt_domain_doc_fini(struct bkt_domain_doc *d)
{
    for (size_t i = 0; i < d->n_acls; i++)
        free(d->acls[i].user);
    for (size_t i = 0; i < d->snapshot.n_cuts; i++)
        free(d->snapshot.cuts[i]);
    free(d->snapshot.cuts);
    bkt_buf_fini(&d->user.bytes);
    free(d->acls);
    free(d->owner);
    memset(d, 0, sizeof *d);
}
