/* Fuzz target: the parsers of stored JSON.  The first byte chooses which. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/documents.h"
#include "schema/json/reference_text.h"
#include "schema/model/model.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void walk_value(const struct bkt_attr *a)
{
    uint64_t n = 0;
    struct bkt_rd r = bkt_rd_of(a->value.ptr, a->value.len);
    if (!a->has_value || bkt_space_count(&a->space, &n, NULL) < 0)
        return;
    for (uint64_t i = 0; i < n; i++)
        if (bkt_value_skip(a->type, &r, BKT_VAR_NULL, NULL) < 0)
            abort(); /* a reader walks through the parser's result */
    if (bkt_rd_left(&r))
        abort();
}

static void fuzz_object(const unsigned char *data, size_t size)
{
    struct bkt_object *o = NULL;
    if (bkt_object_parse(data, size, NULL, &o, NULL) < 0)
        return;
    for (size_t i = 0; i < o->attrs.n; i++) {
        struct bkt_type *copy = NULL;
        walk_value(&o->attrs.v[i]);
        if (bkt_type_copy(o->attrs.v[i].type, &copy) == BKT_OK)
            bkt_type_free(copy);
        if (!bkt_attrs_find(&o->attrs, o->attrs.v[o->attrs.order[i]].name))
            abort();
    }
    if (o->kind == BKT_GROUP)
        for (size_t i = 0; i < o->group.links.n; i++)
            if (!bkt_links_find(&o->group.links, o->group.links.v[o->group.links.order[i]].name))
                abort();
    if (o->kind == BKT_DATASET)
        for (size_t i = 0; i < o->dset.layout.n_chunks; i++)
            if (!bkt_layout_find_chunk(&o->dset.layout,
                                       o->dset.layout.chunk_coords + i * o->dset.layout.rank))
                abort();
    bkt_object_free(o);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bkt_domain_doc doc;
    struct bkt_regref region;
    struct bkt_id id;
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 'D':
        if (bkt_domain_doc_parse(data + 1, size - 1, &doc, NULL) == BKT_OK)
            bkt_domain_doc_fini(&doc);
        break;
    case 'R':
        if (bkt_regref_parse(data + 1, size - 1, &region, NULL) == BKT_OK)
            bkt_regref_fini(&region);
        if (bkt_ref_parse(data + 1, size - 1, &id, NULL) == BKT_OK && id.text[0] && !bkt_id_valid(id.text))
            abort();
        break;
    default:
        fuzz_object(data, size);
        break;
    }
    return 0;
}
