/* Creation property lists as H5Pencode2 writes them: a version, the class, then each property's name and
 * value.  A value's length follows from its name alone, so a list can't be read past a property that is
 * unknown here. */
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"
#include "base/num.h"

static int cut_off(struct bkt_err *err)
{
    return BKT_ERR(err, BKT_EFORMAT, "the encoded property list is cut off");
}

/* ---- numbers ---- */

/* A number behind a byte with its length. */
static uint64_t take_var(struct bkt_rd *r)
{
    unsigned n = (unsigned)bkt_rd_le(r, 1);
    if (n == 0 || n > 8)
        r->ok = false;
    return r->ok ? bkt_rd_le(r, n) : 0;
}

/* An `unsigned`, which is 4 bytes wherever HDF5 runs. */
static uint32_t take_u32(struct bkt_rd *r)
{
    if (bkt_rd_le(r, 1) != 4)
        r->ok = false;
    return (uint32_t)bkt_rd_le(r, 4);
}

static char *take_text(struct bkt_rd *r)
{
    const unsigned char *end = r->ok ? memchr(r->p, '\0', bkt_rd_left(r)) : NULL;
    if (!end) {
        r->ok = false;
        return NULL;
    }
    return strdup(bkt_rd_take(r, (size_t)(end - r->p) + 1));
}

typedef int take_fn(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err);

/* ---- objects ---- */

#define FILTER_NAME 12 /* H5Z_COMMON_NAME_LEN */

static int take_filter(struct bkt_rd *r, struct bkt_h5filter *f, struct bkt_err *err)
{
    f->id = (uint32_t)bkt_rd_le(r, 4);
    f->flags = (uint32_t)bkt_rd_le(r, 4);
    if (bkt_rd_le(r, 1)) /* ignored: HDF5 asks the filter for its name */
        (void)bkt_rd_take(r, FILTER_NAME);
    uint64_t n = take_var(r);
    if (!r->ok || n > bkt_rd_left(r) / 4)
        return cut_off(err);
    BKT_FAIL_IF(err, f->id > 65535 || f->flags > 255 || n > BKT_H5_CD_MAX, BKT_EFORMAT,
                "the encoded property list has a filter of number %u, flags %u, %llu parameters", f->id,
                f->flags, (unsigned long long)n);
    f->cd = calloc((size_t)n + 1, sizeof *f->cd);
    BKT_NEED(err, f->cd);
    while (f->n_cd < n)
        f->cd[f->n_cd++] = (uint32_t)bkt_rd_le(r, 4);
    return BKT_OK;
}

static int filters(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    if (bkt_rd_le(r, 1) != 4)
        r->ok = false;
    uint64_t n = take_var(r);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, n > BKT_H5_FILTERS_MAX, BKT_EFORMAT,
                "the encoded property list has %llu filters; the limit is %d", (unsigned long long)n,
                BKT_H5_FILTERS_MAX);
    l->filters = calloc((size_t)n + 1, sizeof *l->filters);
    BKT_NEED(err, l->filters);
    while (l->n_filters < n)
        BKT_PASS(take_filter(r, &l->filters[l->n_filters++], err));
    return BKT_OK;
}

/* ---- groups ---- */

/* HDF5 allocates a new group's room at once: the estimate, or the hint's size. */
static int group_info(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    l->heap_hint = (uint32_t)bkt_rd_le(r, 4);
    l->link_max_compact = (unsigned)bkt_rd_le(r, 2);
    l->link_min_dense = (unsigned)bkt_rd_le(r, 2);
    l->est_entries = (unsigned)bkt_rd_le(r, 2);
    l->est_name = (unsigned)bkt_rd_le(r, 2);
    uint64_t bytes = (uint64_t)l->est_entries * l->est_name;
    BKT_FAIL_IF(
        err, l->heap_hint > BKT_H5_GROUP_MAX || bytes > BKT_H5_GROUP_MAX, BKT_EFORMAT,
        "the encoded property list has a group of %u links with names of %u bytes, and %u bytes ahead; "
        "the limit is %u bytes",
        l->est_entries, l->est_name, l->heap_hint, BKT_H5_GROUP_MAX);
    return BKT_OK;
}

/* ---- datasets ---- */

static int chunk_shape(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    uint64_t elements = 1;
    l->rank = (unsigned)bkt_rd_le(r, 1);
    if (r->ok && (l->rank == 0 ||
                  l->rank > BKT_MAX_RANK)) /* HDF5 1.14 compares lists without a shape beyond their end */
        BKT_FAIL(err, BKT_EFORMAT, "the encoded property list has chunks of rank %u; the limit is %d",
                 l->rank, BKT_MAX_RANK);
    for (unsigned i = 0; i < l->rank; i++)
        l->dims[i] = bkt_rd_le(r, 4);
    if (!r->ok)
        return cut_off(err);
    for (unsigned i = 0; i < l->rank; i++)
        BKT_FAIL_IF(
            err, l->dims[i] == 0 || !bkt_mul_u64(elements, l->dims[i], &elements) || elements > UINT32_MAX,
            BKT_EFORMAT, "the encoded property list has chunks of 0, or of more than 2^32 - 1, elements");
    return BKT_OK;
}

static int take_mapping(struct bkt_rd *r, struct bkt_h5mapping *m, uint64_t *spare, struct bkt_err *err)
{
    m->file = take_text(r);
    m->dset = take_text(r);
    if (!r->ok)
        return cut_off(err);
    BKT_NEED(err, m->file && m->dset);
    BKT_PASS(bkt_h5space_read(r, &m->source, spare, err));
    return bkt_h5space_read(r, &m->target, spare, err);
}

/* A mapping takes 32 bytes at least, so more mappings than the bytes can hold are refused. */
static int mappings(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    uint64_t n = bkt_rd_le(r, 8), spare = BKT_H5_BLOCKS_SPARE;
    if (!r->ok || n > bkt_rd_left(r) / 32)
        return cut_off(err);
    l->mappings = calloc((size_t)n + 1, sizeof *l->mappings);
    BKT_NEED(err, l->mappings);
    while (l->n_mappings < n)
        BKT_PASS(take_mapping(r, &l->mappings[l->n_mappings++], &spare, err));
    return BKT_OK;
}

static int layout(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    static const enum bkt_layout_class classes[] = {BKT_D_COMPACT, BKT_D_CONTIGUOUS, BKT_D_CHUNKED,
                                                    BKT_D_VIRTUAL};
    uint64_t cls = bkt_rd_le(r, 1);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, cls >= BKT_COUNT(classes), BKT_EUNSUP,
                "the encoded property list has layout %llu, which is unknown here", (unsigned long long)cls);
    l->layout = classes[cls];
    return l->layout == BKT_D_CHUNKED   ? chunk_shape(r, l, err)
           : l->layout == BKT_D_VIRTUAL ? mappings(r, l, err)
                                        : BKT_OK;
}

/* If the type of a value has pointers, HDF5 would follow the stored pointers. */
static int take_fill_type(struct bkt_rd *r, struct bkt_h5fill *f, struct bkt_err *err)
{
    uint64_t n = take_var(r);
    const void *p = r->ok && n <= bkt_rd_left(r) ? bkt_rd_take(r, (size_t)n) : NULL;
    if (!p)
        return cut_off(err);
    BKT_TRY(err, bkt_h5type_parse(p, (size_t)n, &f->type, err), "fill value of the encoded property list");
    BKT_FAIL_IF(err, bkt_h5type_has_pointers(f->type) || f->type->size != f->value.len, BKT_EFORMAT,
                "the encoded property list has a fill value of %zu bytes that its type does not fit",
                f->value.len);
    return BKT_OK;
}

static int fill(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    struct bkt_h5fill *f = &l->fill;
    f->alloc_time = (unsigned)bkt_rd_le(r, 1);
    f->fill_time = (unsigned)bkt_rd_le(r, 1);
    int64_t size = (int64_t)bkt_rd_le(r, 8);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, f->alloc_time > 3 || f->fill_time > 2 || size < -1, BKT_EFORMAT,
                "the encoded property list has a fill value of %lld bytes, times %u and %u", (long long)size,
                f->alloc_time, f->fill_time);
    f->undefined = size == -1;
    if (size <= 0)
        return BKT_OK;
    const void *value = (uint64_t)size <= bkt_rd_left(r) ? bkt_rd_take(r, (size_t)size) : NULL;
    if (!value)
        return cut_off(err);
    BKT_PASS_MEM(err, bkt_buf_add(&f->value, value, (size_t)size));
    return take_fill_type(r, f, err);
}

static int unasked(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    (void)err;
    l->unasked = take_u32(r) != 0;
    return BKT_OK;
}

static int take_file(struct bkt_rd *r, struct bkt_h5file *f, uint64_t *total, struct bkt_err *err)
{
    uint64_t n = take_var(r);
    const char *name = r->ok && n <= bkt_rd_left(r) ? bkt_rd_take(r, (size_t)n) : NULL;
    if (!name)
        return cut_off(err);
    BKT_FAIL_IF(err, n < 2 || strnlen(name, (size_t)n) != n - 1, BKT_EFORMAT,
                "the encoded property list has an external file without a name");
    f->name = strdup(name);
    BKT_NEED(err, f->name);
    f->offset = take_var(r);
    f->size = take_var(r);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err,
                f->offset > INT64_MAX || *total == BKT_UNLIMITED ||
                    (f->size != BKT_UNLIMITED && !bkt_add_u64(*total, f->size, total)),
                BKT_EFORMAT, "the encoded property list has external files that are too large");
    if (f->size == BKT_UNLIMITED)
        *total = BKT_UNLIMITED;
    return BKT_OK;
}

static int external_files(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    uint64_t n = take_var(r), total = 0;
    if (!r->ok || n > bkt_rd_left(r) / 8)
        return cut_off(err);
    if (n > BKT_H5_FILES_MAX) /* for each file HDF5 adds up the sizes of all */
        BKT_FAIL(err, BKT_EFORMAT, "the encoded property list has %llu external files; the limit is %d",
                 (unsigned long long)n, BKT_H5_FILES_MAX);
    l->files = calloc((size_t)n + 1, sizeof *l->files);
    BKT_NEED(err, l->files);
    while (l->n_files < n)
        BKT_PASS(take_file(r, &l->files[l->n_files++], &total, err));
    return BKT_OK;
}

/* ---- files ---- */

/* HDF5 doubles these in 32 bits, looks at the result, and allocates memory for that many. */
static int leaf(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    l->leaf = take_u32(r);
    BKT_FAIL_IF(err, l->leaf > BKT_H5_LEAF_MAX, BKT_EFORMAT,
                "the encoded property list has leaves of %u links; the limit is %d", l->leaf,
                BKT_H5_LEAF_MAX);
    return BKT_OK;
}

static int ranks(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    l->ranks[0] = take_u32(r);
    l->ranks[1] = (uint32_t)bkt_rd_le(r, 4);
    BKT_FAIL_IF(err, l->ranks[0] > BKT_H5_BTREE_MAX || l->ranks[1] > BKT_H5_BTREE_MAX, BKT_EFORMAT,
                "the encoded property list has trees of rank %u and %u; the limit is %d", l->ranks[0],
                l->ranks[1], BKT_H5_BTREE_MAX);
    return BKT_OK;
}

static int indexes(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    l->indexes = take_u32(r);
    BKT_FAIL_IF(err, l->indexes > BKT_H5_INDEXES_MAX, BKT_EFORMAT,
                "the encoded property list has %u indexes of shared messages", l->indexes);
    return BKT_OK;
}

/* ---- the list ---- */

#define OF(cls) (1u << (cls))
#define GROUPS                                                                                               \
    (OF(BKT_H5_GROUP_LIST) |                                                                                 \
     OF(BKT_H5_FILE_LIST)) /* a file's list has all properties of its root group's list */
#define OBJECTS (GROUPS | OF(BKT_H5_OBJECT_LIST) | OF(BKT_H5_DATASET_LIST) | OF(BKT_H5_DATATYPE_LIST))
#define DSETS   OF(BKT_H5_DATASET_LIST)
#define FILES   OF(BKT_H5_FILE_LIST)

#define PLACE(member) .place = offsetof(struct bkt_h5plist, member)

/* Values that are taken as they are: a byte, a truth value, an `unsigned`, a number behind its length, and an
 * `unsigned` for each index of shared messages. */
enum form { BYTE, FLAG, U32, VAR, LIST };

static const struct property {
    const char *name; /* HDF5's */
    enum bkt_h5_has bit;
    unsigned lists; /* lists that have it */
    take_fn *take;  /* NULL: form and place describe it */
    enum form form;
    size_t place;
} properties[] = {
    {"max compact attr", BKT_H5_HAS_MAX_COMPACT, OBJECTS, .form = U32, PLACE(max_compact)},
    {"min dense attr", BKT_H5_HAS_MIN_DENSE, OBJECTS, .form = U32, PLACE(min_dense)},
    {"object header flags", BKT_H5_HAS_FLAGS, OBJECTS, .form = BYTE, PLACE(flags)},
    {"pline", BKT_H5_HAS_FILTERS, OBJECTS, .take = filters},
    {"group info", BKT_H5_HAS_GROUP, GROUPS, .take = group_info},
    {"link info", BKT_H5_HAS_ORDER, GROUPS, .form = U32, PLACE(link_order)},
    {"layout", BKT_H5_HAS_LAYOUT, DSETS, .take = layout},
    {"fill_value", BKT_H5_HAS_FILL, DSETS, .take = fill},
    {"alloc_time_state", BKT_H5_HAS_UNASKED, DSETS, .take = unasked},
    {"efl", BKT_H5_HAS_FILES, DSETS, .take = external_files},
    {"dset_oh_minimize", BKT_H5_HAS_MINIMIZE, DSETS, .form = FLAG, PLACE(minimize)},
    {"block_size", BKT_H5_HAS_USERBLOCK, FILES, .form = VAR, PLACE(userblock)},
    {"symbol_leaf", BKT_H5_HAS_LEAF, FILES, .take = leaf},
    {"btree_rank", BKT_H5_HAS_RANKS, FILES, .take = ranks},
    {"addr_byte_num", BKT_H5_HAS_ADDR, FILES, .form = BYTE, PLACE(addr)},
    {"obj_byte_num", BKT_H5_HAS_LENGTH, FILES, .form = BYTE, PLACE(length)},
    {"num_shmsg_indexes", BKT_H5_HAS_INDEXES, FILES, .take = indexes},
    {"shmsg_message_types", BKT_H5_HAS_INDEX_TYPES, FILES, .form = LIST, PLACE(index_types)},
    {"shmsg_message_minsize", BKT_H5_HAS_INDEX_SIZES, FILES, .form = LIST, PLACE(index_sizes)},
    {"shmsg_list_max", BKT_H5_HAS_LIST_MAX, FILES, .form = U32, PLACE(list_max)},
    {"shmsg_btree_min", BKT_H5_HAS_BTREE_MIN, FILES, .form = U32, PLACE(btree_min)},
    {"file_space_strategy", BKT_H5_HAS_STRATEGY, FILES, .form = BYTE, PLACE(strategy)},
    {"free_space_persist", BKT_H5_HAS_PERSIST, FILES, .form = FLAG, PLACE(persist)},
    {"free_space_threshold", BKT_H5_HAS_THRESHOLD, FILES, .form = VAR, PLACE(threshold)},
    {"file_space_page_size", BKT_H5_HAS_PAGE, FILES, .form = VAR, PLACE(page)},
};

static const struct property *find(const char *name, enum bkt_h5_list cls)
{
    for (size_t i = 0; i < BKT_COUNT(properties); i++)
        if (strcmp(properties[i].name, name) == 0)
            return properties[i].lists & OF(cls) ? &properties[i] : NULL;
    return NULL;
}

static int take_plain(struct bkt_rd *r, struct bkt_h5plist *l, const struct property *p)
{
    void *to = (char *)l + p->place;
    switch (p->form) {
    case BYTE:
        *(unsigned *)to = (unsigned)bkt_rd_le(r, 1);
        break;
    case FLAG:
        *(bool *)to = bkt_rd_le(r, 1) != 0;
        break;
    case U32:
        *(uint32_t *)to = take_u32(r);
        break;
    case VAR:
        *(uint64_t *)to = take_var(r);
        break;
    case LIST:
        for (unsigned i = 0; i < BKT_H5_INDEXES_MAX; i++)
            ((uint32_t *)to)[i] = i ? (uint32_t)bkt_rd_le(r, 4) : take_u32(r);
    }
    return BKT_OK;
}

static int take_property(struct bkt_rd *r, struct bkt_h5plist *l, struct bkt_err *err)
{
    const unsigned char *end = memchr(r->p, '\0', bkt_rd_left(r));
    if (!end)
        return cut_off(err);
    const char *name = bkt_rd_take(r, (size_t)(end - r->p) + 1);
    const struct property *p = find(name, l->cls);
    BKT_FAIL_IF(err, !p, BKT_EUNSUP, "the encoded property list has \"%.60s\", which is unknown here", name);
    BKT_FAIL_IF(err, l->has & p->bit, BKT_EFORMAT, "the encoded property list has \"%s\" twice", p->name);
    l->has |= p->bit;
    BKT_PASS(p->take ? p->take(r, l, err) : take_plain(r, l, p));
    BKT_FAIL_IF(err, !r->ok, BKT_EFORMAT, "the encoded property list is cut off in \"%s\"", p->name);
    return BKT_OK;
}

int bkt_h5plist_parse(const void *p, size_t n, struct bkt_h5plist *out, struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(p, n);
    unsigned version = (unsigned)bkt_rd_le(&r, 1), cls = (unsigned)bkt_rd_le(&r, 1);
    memset(out, 0, sizeof *out);
    if (!r.ok)
        return cut_off(err);
    BKT_FAIL_IF(err, version != 0 || cls > BKT_H5_DATATYPE_LIST || !(OBJECTS & OF(cls)), BKT_EUNSUP,
                "the encoded property list has version %u, class %u, which is unknown here", version, cls);
    out->cls = (enum bkt_h5_list)cls;
    for (;;) {
        if (bkt_rd_left(&r) == 0)
            return cut_off(err);
        if (*r.p == '\0')
            return BKT_OK;
        BKT_PASS(take_property(&r, out, err));
    }
}

void bkt_h5plist_fini(struct bkt_h5plist *l)
{
    for (size_t i = 0; i < l->n_filters; i++)
        free(l->filters[i].cd);
    for (size_t i = 0; i < l->n_mappings; i++) {
        free(l->mappings[i].file);
        free(l->mappings[i].dset);
        bkt_h5space_fini(&l->mappings[i].source);
        bkt_h5space_fini(&l->mappings[i].target);
    }
    for (size_t i = 0; i < l->n_files; i++)
        free(l->files[i].name);
    free(l->filters);
    free(l->mappings);
    free(l->files);
    bkt_buf_fini(&l->fill.value);
    bkt_h5type_free(l->fill.type);
    memset(l, 0, sizeof *l);
}

/* ---- an object's list ---- */

static int fits_shape(const struct bkt_space *s, const struct bkt_h5plist *l, struct bkt_err *err)
{
    BKT_FAIL_IF(err, l->layout == BKT_D_CHUNKED && l->rank != s->rank, BKT_EFORMAT,
                "the encoded property list has chunks of rank %u, the dataset has rank %u", l->rank, s->rank);
    for (size_t i = 0; i < l->n_mappings; i++)
        BKT_FAIL_IF(err, l->mappings[i].target.extent.rank != s->rank, BKT_EFORMAT,
                    "the encoded property list has a mapping to rank %u, the dataset has rank %u",
                    l->mappings[i].target.extent.rank, s->rank);
    return BKT_OK;
}

static int fits_object(const struct bkt_object *o, const struct bkt_h5plist *l, struct bkt_err *err)
{
    static const unsigned lists[] = {
        [BKT_GROUP] = GROUPS, [BKT_DATASET] = DSETS, [BKT_DATATYPE] = OF(BKT_H5_DATATYPE_LIST)};
    BKT_FAIL_IF(err, !(lists[o->kind] & OF(l->cls)), BKT_EFORMAT,
                "the encoded property list is of class %d, which is for another kind of object", (int)l->cls);
    return o->kind == BKT_DATASET ? fits_shape(&o->dset.space, l, err) : BKT_OK;
}

int bkt_h5plist_of(const struct bkt_object *o, struct bkt_h5plist *out, bool *found, struct bkt_err *err)
{
    *found = o->cpl.len > 0;
    if (!*found) {
        memset(out, 0, sizeof *out);
        return BKT_OK;
    }
    BKT_TRY(err, bkt_h5plist_parse(o->cpl.ptr, o->cpl.len, out, err), "creation list of %s", o->id.text);
    BKT_TRY(err, fits_object(o, out, err), "creation list of %s", o->id.text);
    return BKT_OK;
}
