/* Whether two models are equal; for tests of parse(emit(x)) == x.  Differences are named. */
#ifndef BKT_MODEL_EQUAL_H
#define BKT_MODEL_EQUAL_H

#include <stdio.h>
#include <string.h>

#include "schema/model/model.h"

#define SAME(cond)                                                                                           \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            return #cond;                                                                                    \
    } while (0)
#define SAME_PART(call)                                                                                      \
    do {                                                                                                     \
        const char *what_ = (call);                                                                          \
        if (what_)                                                                                           \
            return what_;                                                                                    \
    } while (0)

static inline bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }
static inline bool same_bytes(const struct bkt_buf *a, const struct bkt_buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
}
static inline bool same_dims(const uint64_t *a, const uint64_t *b, unsigned rank)
{
    return memcmp(a, b, rank * sizeof *a) == 0;
}

/* NULL: the same; else the condition that does not hold. */
static inline const char *type_differs(const struct bkt_type *a, const struct bkt_type *b)
{
    if (!a || !b)
        return a == b ? NULL : "one type is missing";
    SAME(a->cls == b->cls && a->size == b->size && a->is_var == b->is_var);
    SAME(a->big_endian == b->big_endian && a->is_signed == b->is_signed);
    SAME(a->cls != BKT_T_STRING || (a->strpad == b->strpad && a->cset == b->cset && a->var_string == b->var_string));
    SAME(a->rank == b->rank && a->n_elems == b->n_elems && same_dims(a->dims, b->dims, a->rank));
    SAME(a->n_fields == b->n_fields && a->n_members == b->n_members && same_text(a->tag, b->tag));
    SAME(same_bytes(&a->encoded, &b->encoded) && strcmp(a->committed.text, b->committed.text) == 0);
    for (size_t i = 0; i < a->n_fields; i++) {
        SAME(same_text(a->fields[i].name, b->fields[i].name) && a->fields[i].offset == b->fields[i].offset);
        SAME_PART(type_differs(a->fields[i].type, b->fields[i].type));
    }
    for (size_t i = 0; i < a->n_members; i++)
        SAME(same_text(a->members[i].name, b->members[i].name) && a->members[i].value == b->members[i].value);
    return type_differs(a->base, b->base);
}

static inline const char *space_differs(const struct bkt_space *a, const struct bkt_space *b)
{
    SAME(a->cls == b->cls && a->rank == b->rank);
    SAME(same_dims(a->dims, b->dims, a->rank) && same_dims(a->maxdims, b->maxdims, a->rank));
    return NULL;
}

static inline const char *attrs_differ(const struct bkt_attrs *a, const struct bkt_attrs *b)
{
    SAME(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct bkt_attr *x = &a->v[i], *y = &b->v[i];
        SAME(same_text(x->name, y->name) && x->created == y->created && x->seq == y->seq && x->name_utf8 == y->name_utf8);
        SAME(x->has_value == y->has_value && same_bytes(&x->value, &y->value) && a->order[i] == b->order[i]);
        SAME_PART(type_differs(x->type, y->type));
        SAME_PART(space_differs(&x->space, &y->space));
    }
    return NULL;
}

static inline const char *links_differ(const struct bkt_links *a, const struct bkt_links *b)
{
    SAME(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct bkt_link *x = &a->v[i], *y = &b->v[i];
        SAME(same_text(x->name, y->name) && x->created == y->created && x->seq == y->seq && x->name_utf8 == y->name_utf8);
        SAME(x->cls == y->cls && strcmp(x->id.text, y->id.text) == 0 && same_text(x->path, y->path));
        SAME(same_text(x->file, y->file) && x->ud_type == y->ud_type && same_bytes(&x->ud, &y->ud));
        SAME(a->order[i] == b->order[i]);
    }
    return NULL;
}

static inline const char *layout_differs(const struct bkt_layout *a, const struct bkt_layout *b)
{
    SAME(a->cls == b->cls && a->rank == b->rank && same_dims(a->dims, b->dims, a->rank));
    SAME(a->partition_count == b->partition_count || (a->partition_count < 2 && b->partition_count < 2));
    SAME(a->hdf5_chunks == b->hdf5_chunks && a->user_cls == b->user_cls && a->user_rank == b->user_rank);
    SAME(same_dims(a->user_dims, b->user_dims, a->user_rank) && same_text(a->file_uri, b->file_uri));
    SAME(a->offset == b->offset && a->size == b->size && a->n_chunks == b->n_chunks);
    SAME(strcmp(a->chunk_table.text, b->chunk_table.text) == 0);
    for (size_t i = 0; i < a->n_chunks; i++) {
        SAME(a->chunks[i].offset == b->chunks[i].offset && a->chunks[i].size == b->chunks[i].size);
        SAME(same_dims(a->chunk_coords + i * a->rank, b->chunk_coords + i * a->rank, a->rank));
    }
    return NULL;
}

static inline const char *filter_differs(const struct bkt_filter_desc *a, const struct bkt_filter_desc *b)
{
    SAME(a->id == b->id && a->has_level == b->has_level && a->level == b->level && a->flags == b->flags);
    SAME(a->optional == b->optional && a->n_cd == b->n_cd);
    SAME(a->n_cd == 0 || memcmp(a->cd, b->cd, a->n_cd * sizeof *a->cd) == 0);
    SAME(a->bits_per_pixel == b->bits_per_pixel && a->coding == b->coding && a->scale_type == b->scale_type);
    SAME(a->pixels_per_block == b->pixels_per_block && a->pixels_per_scanline == b->pixels_per_scanline);
    SAME(a->scale_offset == b->scale_offset);
    return NULL;
}

static inline const char *dset_differs(const struct bkt_dset *a, const struct bkt_dset *b)
{
    SAME_PART(type_differs(a->type, b->type));
    SAME_PART(space_differs(&a->space, &b->space));
    SAME_PART(layout_differs(&a->layout, &b->layout));
    SAME(a->n_filters == b->n_filters && a->has_fill == b->has_fill && same_bytes(&a->fill, &b->fill));
    for (size_t i = 0; i < a->n_filters; i++)
        SAME_PART(filter_differs(&a->filters[i], &b->filters[i]));
    SAME(a->init == b->init && same_text(a->init_text, b->init_text) && same_text(a->bad, b->bad));
    SAME(a->fill_time == b->fill_time && a->alloc_time == b->alloc_time);
    return NULL;
}

static inline const char *object_differs(const struct bkt_object *a, const struct bkt_object *b)
{
    SAME(a->kind == b->kind && strcmp(a->id.text, b->id.text) == 0 && strcmp(a->root.text, b->root.text) == 0);
    SAME(a->created == b->created && a->modified == b->modified && same_text(a->comment, b->comment));
    SAME(a->track_order == b->track_order && a->attr_track_order == b->attr_track_order && a->track_times == b->track_times);
    SAME(a->attr_max_compact == b->attr_max_compact && a->attr_min_dense == b->attr_min_dense);
    SAME(a->extra_refs == b->extra_refs && same_bytes(&a->cpl, &b->cpl));
    SAME_PART(attrs_differ(&a->attrs, &b->attrs));
    switch (a->kind) {
    case BKT_GROUP: return links_differ(&a->group.links, &b->group.links);
    case BKT_DATASET: return dset_differs(&a->dset, &b->dset);
    default: return type_differs(a->type, b->type);
    }
}

#endif
