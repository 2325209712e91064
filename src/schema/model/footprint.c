/* The memory that a parsed object takes: every block that hangs off it, as the allocator rounds it.  Its
 * JSON's length says little, since shapes have room for 32 dimensions. */
#include <string.h>

#include "schema/model/name_list.h"
#include "schema/model/object_life.h"

size_t bkt_block_bytes(size_t n)
{
    /* glibc, on 64 bits: one word before the block, multiples of two words, at least four */
    size_t all = (n + sizeof(size_t) + 15) & ~(size_t)15;
    return all < 32 ? 32 : all;
}

static size_t text_bytes(const char *s) { return s ? bkt_block_bytes(strlen(s) + 1) : 0; }
static size_t buf_bytes(const struct bkt_buf *b) { return b->ptr ? bkt_block_bytes(b->cap) : 0; }
static size_t list_bytes(const void *v, size_t n, size_t size) { return v ? bkt_block_bytes(n * size) : 0; }

static size_t type_bytes(const struct bkt_type *t)
{
    if (!t)
        return 0;
    size_t n = bkt_block_bytes(sizeof *t) + type_bytes(t->base) + text_bytes(t->tag) + text_bytes(t->bad) +
               buf_bytes(&t->encoded);
    n += list_bytes(t->fields, t->n_fields + 1, sizeof *t->fields) +
         list_bytes(t->members, t->n_members + 1, sizeof *t->members);
    for (size_t i = 0; i < t->n_fields; i++)
        n += text_bytes(t->fields[i].name) + type_bytes(t->fields[i].type);
    for (size_t i = 0; i < t->n_members; i++)
        n += text_bytes(t->members[i].name);
    return n;
}

/* The elements alone, without the memory that they point to. */
static size_t named_bytes(const struct bkt_named_list *l, size_t size)
{
    size_t used = bkt_named_used(l);
    return list_bytes(l->v, used + 1, size) + list_bytes(l->order, used + 1, sizeof *l->order) +
           bkt_named_edit_bytes(l, size);
}

static size_t attrs_bytes(const struct bkt_attrs *a)
{
    size_t used = bkt_named_used(&a->list), n = named_bytes(&a->list, sizeof *a->v);
    for (size_t i = 0; i < used; i++)
        n += text_bytes(a->v[i].name) + type_bytes(a->v[i].type) + text_bytes(a->v[i].bad) +
             buf_bytes(&a->v[i].value);
    return n;
}

static size_t links_bytes(const struct bkt_links *l)
{
    size_t used = bkt_named_used(&l->list), n = named_bytes(&l->list, sizeof *l->v);
    for (size_t i = 0; i < used; i++)
        n += text_bytes(l->v[i].name) + text_bytes(l->v[i].path) + text_bytes(l->v[i].file) +
             buf_bytes(&l->v[i].ud);
    return n;
}

static size_t layout_bytes(const struct bkt_layout *l)
{
    size_t n = text_bytes(l->file_uri) + text_bytes(l->file_etag) +
               list_bytes(l->segments, l->n_segments, sizeof *l->segments) +
               list_bytes(l->chunks, l->n_chunks, sizeof *l->chunks) +
               list_bytes(l->chunk_coords, l->n_chunks * l->rank, sizeof *l->chunk_coords);
    for (size_t i = 0; i < l->n_segments; i++)
        n += text_bytes(l->segments[i].file_uri) + text_bytes(l->segments[i].etag);
    return n;
}

static size_t dset_bytes(const struct bkt_dset *d)
{
    size_t n = type_bytes(d->type) + layout_bytes(&d->layout) +
               list_bytes(d->trim, d->space.rank, sizeof *d->trim) +
               list_bytes(d->filters, d->n_filters, sizeof *d->filters) + buf_bytes(&d->fill) +
               text_bytes(d->init_text) + text_bytes(d->bad);
    for (size_t i = 0; i < d->n_filters; i++)
        n += list_bytes(d->filters[i].cd, d->filters[i].n_cd, sizeof *d->filters[i].cd);
    return n;
}

size_t bkt_object_bytes(const struct bkt_object *o)
{
    size_t n = bkt_block_bytes(sizeof *o + 2 * sizeof(unsigned)) + attrs_bytes(&o->attrs) +
               buf_bytes(&o->cpl) + buf_bytes(&o->stored) + text_bytes(o->comment) + text_bytes(o->etag);
    if (o->kind == BKT_GROUP)
        return n + links_bytes(&o->group.links);
    return n + (o->kind == BKT_DATASET ? dset_bytes(&o->dset) : type_bytes(o->type));
}
