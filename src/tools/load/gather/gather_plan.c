#include "tools/load/gather/gather_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/edit/edit.h"
#include "storage/store.h"
#include "tools/load/load_domain.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/hid.h"

/* SMALL: bytes; smaller datasets in a file are copied, so that readers fetch objects of that size instead of
 * a range of each file.  Larger ones are linked: a program that appends a step would store the last object
 * again. */
#define SMALL      ((uint64_t)64 << 10)
#define MOST_STEPS 1024 /* steps in a chunk, of a coordinate for instance: 8 KiB, which an append of one step
                           stores */
#define NAME_ROOM  64   /* bytes that names in later runs may have beyond the longest name; zeros, compressed
                           in the table */

void gather_fini(struct gather_plan *a)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        bkt_hid_closep(&a->dsets[i].dst);
        bkt_hid_closep(&a->dsets[i].table);
        gather_rows_free(&a->dsets[i]);
        free(a->dsets[i].path);
    }
    free(a->dsets);
    a->dsets   = NULL;
    a->n_dsets = 0;
}

/* ---- the meaning of the dimension's name ---- */

static herr_t any_grows(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    const struct gather_plan *a = arg;
    unsigned          dim;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    return dset >= 0 && gather_grows(a, dset, name, &dim);
}

static herr_t highest_rank(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct gather_plan *a = arg;
    hsize_t     dims[BKT_MAX_RANK];
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = dset < 0 ? -1 : H5Dget_space(dset);
    int                          rank  = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (rank > (int)a->number && (unsigned)rank > a->rank) {
        a->rank  = (unsigned)rank;
        a->steps = dims[a->number];
    }
    return 0;
}

int gather_begin(struct gather_plan *a, struct load_job *first, const char *name, struct bkt_err *err)
{
    char         *end;
    unsigned long n = strtoul(name, &end, 10);
    *a = (struct gather_plan){.l = first, .name = name, .number = UINT_MAX};
    if (*name && !*end) {
        a->number = (unsigned)bkt_min_u64(n, BKT_MAX_RANK);
        if (H5Ovisit3(first->src->file, H5_INDEX_NAME, H5_ITER_INC, highest_rank, a, H5O_INFO_BASIC) < 0)
            return h5_fail(err, "going through the first file");
        return a->rank ? BKT_OK : BKT_ERR(err, BKT_EINVAL, "--extend: no dataset has a dimension %s", name);
    }
    herr_t found = H5Ovisit3(first->src->file, H5_INDEX_NAME, H5_ITER_INC, any_grows, a, H5O_INFO_BASIC);
    if (found < 0)
        return h5_fail(err, "going through the first file");
    a->leading = found == 0;
    return BKT_OK;
}

/* ---- making the domain ---- */

static bool to_link(const struct gather_plan *a, hid_t src, unsigned rank, const hsize_t *dims, unsigned dim,
                    const uint64_t *cdims)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src), dcpl = H5Dget_create_plist(src);
    uint64_t                     bytes = H5Tget_size(type);
    H5D_layout_t                 lay   = H5Pget_layout(dcpl);
    for (unsigned i = 0; i < rank; i++)
        bytes *= dims[i];
    if (!a->l->o->link || bkt_convert_has_pointers(type) || lay == H5D_COMPACT || lay == H5D_VIRTUAL ||
        H5Pget_external_count(dcpl) > 0 || bytes <= SMALL)
        return false;
    return a->leading || (cdims[dim] && dims[dim] % cdims[dim] == 0);
}

/* Makes the creation list chunked, and keeps its fill value and filters. */
static int chunked_list(hid_t *dcpl, unsigned rank, const hsize_t *chunk, struct bkt_err *err)
{
    if (H5Pget_external_count(*dcpl) > 0 || H5Pget_layout(*dcpl) == H5D_VIRTUAL) {
        bkt_hid_closep(dcpl);
        *dcpl = H5Pcreate(H5P_DATASET_CREATE);
    }
    return H5Pset_chunk(*dcpl, (int)rank, chunk) < 0 ? h5_fail(err, "making a creation list") : BKT_OK;
}

/* Widens the chunk of a dataset that grows by copies.  @p chunk is the source's; along the growing dimension
 * it may become larger. */
static void widen(hid_t src, unsigned rank, unsigned dim, hsize_t *chunk)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    uint64_t                     bytes = bkt_max_u64(H5Tget_size(type), 1);
    for (unsigned i = 0; i < rank; i++)
        if (i != dim && !bkt_mul_u64(bytes, chunk[i], &bytes))
            return;
    chunk[dim] = bkt_max_u64(chunk[dim], bkt_min_u64(MOST_STEPS, SMALL / bytes));
}

int gather_shape(void *arg, hid_t src, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err)
{
    struct gather_plan *a = arg;
    hsize_t  dims[BKT_MAX_RANK], grown[BKT_MAX_RANK], max[BKT_MAX_RANK], chunk[BKT_MAX_RANK];
    uint64_t cdims[BKT_MAX_RANK];
    unsigned dim;
    int      rank = H5Sget_simple_extent_dims(*space, dims, NULL);
    if (rank < 0 || !gather_grows(a, src, path, &dim))
        return rank < 0 ? h5_fail(err, "asking for an extent") : BKT_OK;
    BKT_FAIL_IF(err, rank + a->leading > BKT_MAX_RANK, BKT_EINVAL, "%s: no room for another dimension", path);
    unsigned r = (unsigned)rank + a->leading;
    (void)gather_chunk_shape(src, (unsigned)rank, dims, cdims);
    bool link = to_link(a, src, (unsigned)rank, dims, dim, cdims);
    for (unsigned i = 0; i < r; i++) {
        bool grows = i == dim;
        grown[i]   = grows ? 0 : dims[i - a->leading];
        max[i]     = grows ? H5S_UNLIMITED : grown[i];
        chunk[i]   = a->leading && i == 0 ? 1 : cdims[i - a->leading];
        if (!grows && !link)
            chunk[i] = bkt_max_u64(bkt_min_u64(chunk[i], grown[i]), 1);
    }
    if (!link && !a->leading)
        widen(src, r, dim, chunk);
    bkt_hid_closep(space);
    *space = H5Screate_simple((int)r, grown, max);
    return *space < 0 ? h5_fail(err, "making a dataspace") : chunked_list(dcpl, r, chunk, err);
}

/* ---- opening existing objects ---- */

static int find_fields(struct gather_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(d->table);
    BKT_FAIL_IF(err, !load_fields_of(type, &d->fields), BKT_EUNSUP,
                "the chunk table's offsets, sizes or masks have another form than HSDS's, so it can't grow");
    BKT_FAIL_IF(err, !d->fields.uri_n, BKT_EUNSUP, "the chunk table has no files' names, so it can't grow");
    return BKT_OK;
}

/* A new dataset to be linked gets its table now, without rows, but with room for names. */
static int make_table(struct gather_plan *a, struct gather_dset *d, struct bkt_dset *ds, struct bkt_err *err)
{
    uint64_t                     grid[BKT_MAX_RANK], max[BKT_MAX_RANK];
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    struct bkt_id                id;
    for (unsigned i = 0; i < ds->space.rank; i++) {
        grid[i] = i == d->dim ? 16 : bkt_ceil_div(ds->space.dims[i], d->cdims[i]);
        max[i]  = i == d->dim ? BKT_UNLIMITED : grid[i];
    }
    BKT_PASS(load_file_uri(a->l, a->l->src->parts[0].uri, &uri, err));
    size_t                                   n = bkt_max_u64(strlen(uri), a->longest) + NAME_ROOM;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf wide = {0}, etag = {0};
    BKT_NEED(err, bkt_buf_resize(&wide, n) >= 0 && bkt_buf_resize(&etag, BKT_ETAG_MAX - 1) >= 0);
    memset(wide.ptr, 'x', n);
    memset(etag.ptr, 'x', BKT_ETAG_MAX - 1); /* also for later files */
    struct load_grid g = {ds->space.rank, d->cdims, grid, max};
    struct load_row widest = {.mask = 1, .uri = bkt_buf_str(&wide), .etag = bkt_buf_str(&etag)};
    BKT_PASS(load_table_empty(a->l, &g, &widest, &id, &d->table, err));
    load_set_table(&ds->layout, &g, &id);
    return find_fields(d, err);
}

static int open_table(struct gather_plan *a, struct gather_dset *d, const struct bkt_dset *ds,
                      struct bkt_err *err)
{
    BKT_PASS(load_open_id(a->l, &ds->layout.chunk_table, &d->table, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(d->table);
    hsize_t                      dims[BKT_MAX_RANK];
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return h5_fail(err, "asking for the chunk table's extent");
    d->room = dims[d->dim];
    memcpy(d->cdims, ds->layout.dims, sizeof d->cdims);
    return find_fields(d, err);
}

static int open_dset(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err)
{
    hsize_t dims[BKT_MAX_RANK], have[BKT_MAX_RANK];
    d->dst = H5Dopen2(a->l->dst, d->path, H5P_DEFAULT);
    BKT_FAIL_IF(err, d->dst < 0, BKT_EINVAL, "not in the domain");
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(src), grown = H5Dget_space(d->dst);
    int rank = H5Sget_simple_extent_dims(space, dims, NULL), r = H5Sget_simple_extent_dims(grown, have, NULL);
    if (rank < 0 || r < 0)
        return h5_fail(err, "asking for an extent");
    d->grows = gather_grows(a, src, d->path, &d->dim);
    d->leading = d->grows && r == rank + 1;
    if (!d->grows)
        return BKT_OK;
    d->at = a->l->o->has_offset ? a->l->o->extend_offset : d->dim < (unsigned)r ? have[d->dim] : 0;
    const struct bkt_vobj *o = bkt_vobj_of_id(d->dst);
    const struct bkt_dset   *ds   = &o->obj->dset;
    struct bkt_object       *new  = bkt_edit_new_object(a->l->file->dom, &o->obj->id);
    uint64_t                 cdims[BKT_MAX_RANK];
    if (ds->layout.cls == BKT_D_CHUNKED_REF_INDIRECT)
        return open_table(a, d, ds, err);
    (void)gather_chunk_shape(src, (unsigned)rank, dims, cdims);
    if (!new || !to_link(a, src, (unsigned)rank, dims, d->dim, cdims))
        return BKT_OK;
    d->cdims[0] = 1;
    memcpy(d->cdims + d->leading, cdims, (size_t)rank * sizeof *cdims);
    d->room = 16;
    return make_table(a, d, &new->dset, err);
}

static herr_t open_one(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct gather_visit *v = arg;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t src = H5Dopen2(root, name, H5P_DEFAULT);
    struct gather_dset *p = reallocarray(v->a->dsets, v->a->n_dsets + 1, sizeof *p);
    if (!p)
        return v->rc = BKT_ENOMEM;
    v->a->dsets = p;
    p           = &p[v->a->n_dsets++];
    *p = (struct gather_dset){.dst = H5I_INVALID_HID, .table = H5I_INVALID_HID};
    if (asprintf(&p->path, "/%s", name) < 0) {
        p->path = NULL;
        return v->rc = BKT_ENOMEM;
    }
    v->rc = open_dset(v->a, p, src, v->err);
    if (v->rc < 0)
        v->rc = BKT_ERR(v->err, v->rc, "%s", p->path);
    return v->rc < 0 ? -1 : 0;
}

int gather_open(struct gather_plan *a, struct bkt_err *err)
{
    struct gather_visit v = {a, err, BKT_OK};
    if (H5Ovisit3(a->l->src->file, H5_INDEX_NAME, H5_ITER_INC, open_one, &v, H5O_INFO_BASIC) < 0)
        return v.rc < 0 ? v.rc : h5_fail(err, "going through the first file");
    return BKT_OK;
}

/* ---- adding a file ---- */

struct counted {
    const struct gather_plan *a;
    size_t            n;     /* datasets of the file, */
    size_t            other; /* datasets that the domain lacks, */
    char              first[256]; /* the first of them */
};

static herr_t count_one(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct counted *c = arg;
    bool            is = false;
    (void)root;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    for (size_t i = 0; i < c->a->n_dsets && !is; i++)
        is = strcmp(c->a->dsets[i].path + 1, name) == 0;
    if (!is && c->other++ == 0)
        (void)snprintf(c->first, sizeof c->first, "/%s", name);
    c->n++;
    return 0;
}

/* Checks that the file has all datasets of the domain. */
static int check_number(const struct gather_plan *a, const struct counted *c, struct bkt_err *err)
{
    if (c->n == a->n_dsets)
        return BKT_OK;
    BKT_FAIL_IF(err, c->other > 1, BKT_EINVAL,
                "%s and %zu more datasets are not in the domain, which has %zu", c->first, c->other - 1,
                a->n_dsets);
    BKT_FAIL(err, BKT_EINVAL, "%s is not in the domain, which has %zu datasets",
             c->other ? c->first : "one of its datasets", a->n_dsets);
}

static int check(struct gather_plan *a, struct bkt_err *err)
{
    struct counted c     = {.a = a};
    uint64_t       steps = 0;
    if (H5Ovisit3(a->l->src->file, H5_INDEX_NAME, H5_ITER_INC, count_one, &c, H5O_INFO_BASIC) < 0)
        return h5_fail(err, "going through the file");
    for (size_t i = 0; i < a->n_dsets; i++) {
        struct gather_dset *d = &a->dsets[i];
        BKT_CLEANUP(bkt_hid_closep) hid_t src = H5Dopen2(a->l->src->file, d->path, H5P_DEFAULT);
        (void)H5Eclear2(H5E_DEFAULT);
        BKT_FAIL_IF(err, src < 0, BKT_EINVAL, "%s is not in the file", d->path);
        BKT_TRY(err, gather_fit(a, d, src, err), "%s", d->path);
        BKT_FAIL_IF(err, d->grows && steps && d->n != steps, BKT_EINVAL,
                    "%s has %llu steps, other datasets have %llu", d->path, (unsigned long long)d->n,
                    (unsigned long long)steps);
        steps = d->grows ? d->n : steps;
    }
    return check_number(a, &c, err);
}

/* Sets the length of the domain's dataset to @p steps along the growing dimension. */
static int set_extent(struct gather_plan *a, const struct gather_dset *d, uint64_t steps, struct bkt_err *err)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(d->dst);
    uint64_t dims[BKT_MAX_RANK];
    memcpy(dims, o->obj->dset.space.dims, sizeof dims);
    dims[d->dim] = steps;
    if (d->table >= 0) /* it has no own chunks that would have to change */
        return bkt_edit_extent(a->l->file->dom, &o->obj->id, dims, err);
    return H5Dset_extent(d->dst, dims) < 0 ? h5_fail(err, "changing a dataset's extent") : BKT_OK;
}

static int add_one(struct gather_plan *a, struct gather_dset *d, struct bkt_err *err)
{
    BKT_PASS(set_extent(a, d, bkt_max_u64(d->before, d->at + d->n), err));
    if (d->table >= 0)
        return gather_link(a, d, err);
    if (d->values)
        return gather_copy_values(a, d, err);
    BKT_CLEANUP(bkt_hid_closep) hid_t src = H5Dopen2(a->l->src->file, d->path, H5P_DEFAULT);
    return gather_copy(a, d, src, err);
}

static int add_all(struct gather_plan *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++)
        if (a->dsets[i].grows)
            BKT_TRY(err, add_one(a, &a->dsets[i], err), "%s", a->dsets[i].path);
    return BKT_OK;
}

/* Takes back the growth for a file whose values turned out to be unreadable. */
static int take_back(struct gather_plan *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++)
        if (a->dsets[i].grows)
            BKT_TRY(err, set_extent(a, &a->dsets[i], a->dsets[i].before, err), "%s", a->dsets[i].path);
    return BKT_OK;
}

int gather_check(struct gather_plan *a, struct bkt_err *err)
{
    int rc = check(a, err);
    if (rc < 0) /* whatever the error, only this file is left out */
        return rc == BKT_ENOMEM || rc == BKT_ECANCEL ? rc : BKT_EINVAL;
    return BKT_OK;
}

int gather_store(struct gather_plan *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        struct gather_dset *d = &a->dsets[i];
        d->before = d->grows ? bkt_vobj_of_id(d->dst)->obj->dset.space.dims[d->dim] : 0;
    }
    int rc = add_all(a, err);
    if (rc == BKT_EINVAL) {
        struct bkt_err why = {.n = 0};
        if (take_back(a, &why) < 0)
            return bkt_err_copy(err, BKT_EHDF5, &why);
    }
    for (size_t i = 0; i < a->n_dsets && rc == BKT_OK; i++)
        a->dsets[i].at += a->dsets[i].grows ? a->dsets[i].n : 0;
    return rc;
}

/* ---- the journal of an append: "append", then a line with extent and id for each dataset that grows ---- */

#define JOURNAL "append\n"

static int go_back(struct gather_plan *a, const char *journal, struct bkt_err *err)
{
    bool any = false;
    for (const char *at = journal + strlen(JOURNAL); *at; at += strcspn(at, "\n"), at += *at == '\n') {
        char              *end;
        unsigned long long steps = strtoull(at, &end, 10);
        for (size_t i = 0; i < a->n_dsets && *end == ' '; i++) {
            struct gather_dset *d = &a->dsets[i];
            const struct bkt_vobj *o = bkt_vobj_of_id(d->dst);
            size_t                 n = strlen(o->obj->id.text);
            if (!d->grows || strncmp(end + 1, o->obj->id.text, n) != 0 || end[1 + n] != '\n' ||
                o->obj->dset.space.dims[d->dim] == steps)
                continue;
            BKT_TRY(err, set_extent(a, d, steps, err), "%s", d->path);
            d->at = a->l->o->has_offset ? d->at : steps;
            any   = true;
        }
    }
    if (!any)
        return BKT_OK;
    progress_note(a->l->progress, "an interrupted append is undone");
    return H5Fflush(a->l->dst, H5F_SCOPE_GLOBAL) < 0 ? h5_fail(err, "storing the domain") : BKT_OK;
}

int gather_begin_append(struct gather_plan *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf old = {0}, new = {0};
    BKT_PASS(load_journal_read(a->l, &old, err));
    if (strncmp(bkt_buf_str(&old), JOURNAL, strlen(JOURNAL)) == 0)
        BKT_PASS(go_back(a, bkt_buf_str(&old), err));
    int rc = bkt_buf_add_str(&new, JOURNAL);
    for (size_t i = 0; i < a->n_dsets && rc == BKT_OK; i++) {
        const struct gather_dset *d = &a->dsets[i];
        const struct bkt_object *o = bkt_vobj_of_id(d->dst)->obj;
        if (d->grows)
            rc = bkt_buf_addf(&new, "%llu %s\n", (unsigned long long)o->dset.space.dims[d->dim], o->id.text);
    }
    BKT_PASS_MEM(err, rc);
    return load_journal_write(a->l, bkt_buf_str(&new), err);
}

int gather_end(struct gather_plan *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        struct gather_dset *d = &a->dsets[i];
        hsize_t                      dims[BKT_MAX_RANK];
        BKT_CLEANUP(bkt_hid_closep) hid_t space = d->table < 0 ? -1 : H5Dget_space(d->table);
        const struct bkt_vobj *o = d->table < 0 ? NULL : bkt_vobj_of_id(d->dst);
        if (!o)
            continue;
        if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
            return h5_fail(err, "asking for the chunk table's extent");
        uint64_t need = bkt_ceil_div(o->obj->dset.space.dims[d->dim], d->cdims[d->dim]);
        if (need >= dims[d->dim] || need == 0)
            continue;
        dims[d->dim] = need;
        if (H5Dset_extent(d->table, dims) < 0)
            return h5_fail(err, "cutting the chunk table");
    }
    return BKT_OK;
}
