/* Reading and writing virtual datasets: every mapping that a selection touches is a transfer with its source.
 * Sources in plain HDF5 files in stores are read together. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vol/core/hid.h"
#include "vol/core/ops.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/virtual.h"
#include "vol/vfd/store_driver.h"

/* Reads that were put off. */
struct bkt_sources {
    struct bkt_pending *v;
    size_t n, cap;
    hid_t mem_type, dxpl; /* borrowed */
    void *buf;
    struct bkt_kept_sources *kept; /* borrowed; NULL: none */
};

#define TOGETHER 256 /* reads of one call */

/* ---- sources that stay open ---- */

struct bkt_kept_source *bkt_kept_find(const struct bkt_kept_sources *k, const char *file, const char *name)
{
    struct bkt_kept_source *s = k->first;
    while (s && (strcmp(s->file, file) != 0 || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

static void handle_init(struct bkt_vobj *o, hid_t dset)
{
    *o = (struct bkt_vobj){.ops = &bkt_plain_ops, .type = H5I_DATASET, .native_id = dset};
}

static void handle_fini(struct bkt_vobj *o)
{
    if (o->plain_dataset)
        o->plain_dataset_free(o->plain_dataset);
    o->plain_dataset = NULL;
}

static void kept_free(struct bkt_kept_source *s)
{
    handle_fini(&s->o);
    bkt_vobj_forget_id(s->o.native_id);
    bkt_vobj_forget_id(s->in);
    free(s->file);
    free(s->name);
    free(s);
}

int bkt_kept_add(struct bkt_kept_sources *k, const char *file, const char *name, hid_t in, hid_t dset,
                 struct bkt_err *err)
{
    struct bkt_kept_source *s = calloc(1, sizeof *s);
    if (!s) {
        bkt_vobj_drop_id(dset);
        bkt_vobj_drop_id(in);
        BKT_NOMEM(err);
    }
    handle_init(&s->o, dset);
    s->in = in;
    bkt_vobj_keep_id(dset);
    bkt_vobj_keep_id(in);
    s->file = strdup(file);
    s->name = strdup(name);
    if (!s->file || !s->name) {
        kept_free(s);
        BKT_NOMEM(err);
    }
    s->next = k->first;
    k->first = s;
    k->n++;
    return BKT_OK;
}

void bkt_kept_close(struct bkt_kept_sources *k)
{
    while (k->first) {
        struct bkt_kept_source *s = k->first;
        k->first = s->next;
        kept_free(s);
    }
    k->n = 0;
}

/* ---- reads that were put off ---- */

struct bkt_pending {
    hid_t dset, mem, src;
    struct bkt_vobj own; /* unless the source is kept */
    struct bkt_vobj *o;  /* NULL: own */
};

static void forget(struct bkt_sources *s)
{
    for (size_t i = 0; i < s->n; i++) {
        handle_fini(&s->v[i].own);
        bkt_hid_closep(&s->v[i].src);
        bkt_hid_closep(&s->v[i].mem);
        bkt_vobj_drop_id(s->v[i].dset);
    }
    s->n = 0;
}

/* Whether two selections of one dataspace may have elements in common. */
static bool meet(hid_t a, hid_t b)
{
    hsize_t from[2][H5S_MAX_RANK], to[2][H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_ndims(a);
    if (rank != H5Sget_simple_extent_ndims(b) || H5Sget_select_bounds(a, from[0], to[0]) < 0 ||
        H5Sget_select_bounds(b, from[1], to[1]) < 0)
        return true;
    for (int d = 0; d < rank; d++)
        if (to[0][d] < from[1][d] || to[1][d] < from[0][d])
            return false;
    BKT_CLEANUP(bkt_hid_closep) hid_t both = H5Sselect_project_intersection(a, a, b);
    return both < 0 || H5Sget_select_npoints(both) != 0;
}

/* Make all of them, side by side. */
static int sources_read(struct bkt_sources *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_vobj **dsets = calloc(s->n + 1, sizeof(struct bkt_vobj *));
    BKT_CLEANUP(bkt_freep) void **bufs = calloc(s->n + 1, sizeof *bufs);
    BKT_CLEANUP(bkt_freep) hid_t *ids = calloc(s->n + 1, 3 * sizeof *ids);
    BKT_NEED(err, dsets && bufs && ids);
    struct bkt_io io = {.n = s->n,
                        .dsets = dsets,
                        .mem_types = ids,
                        .mem_spaces = ids + s->n,
                        .file_spaces = ids + 2 * s->n,
                        .dxpl = s->dxpl,
                        .bufs = bufs};
    for (size_t i = 0; i < s->n; i++) {
        struct bkt_pending *p = &s->v[i];
        dsets[i] = p->o ? p->o : &p->own;
        bufs[i] = s->buf;
        ids[i] = s->mem_type;
        ids[s->n + i] = p->mem;
        ids[2 * s->n + i] = p->src;
    }
    int rc = s->n ? bkt_plain_transfer(&io, err) : BKT_OK;
    forget(s);
    return rc;
}

/* Later mappings come over earlier ones. */
static int sources_before(struct bkt_sources *s, hid_t mem, struct bkt_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (meet(s->v[i].mem, mem))
            return sources_read(s, err);
    return BKT_OK;
}

/* Put off a read.  Takes over the ids of the dataset, and of the selections in memory and in it. */
static int sources_add(struct bkt_sources *s, hid_t *dset, hid_t *mem, hid_t *src, struct bkt_err *err)
{
    BKT_PASS(s->n < TOGETHER ? sources_before(s, *mem, err) : sources_read(s, err));
    BKT_PASS_MEM(err, bkt_list_room(&s->v, s->n, &s->cap, sizeof *s->v));
    struct bkt_pending *p = &s->v[s->n++];
    *p = (struct bkt_pending){.dset = bkt_hid_take(dset), .mem = bkt_hid_take(mem), .src = bkt_hid_take(src)};
    handle_init(&p->own, p->dset);
    for (struct bkt_kept_source *k = s->kept ? s->kept->first : NULL; k && !p->o; k = k->next)
        if (k->o.native_id == p->dset)
            p->o = &k->o;
    return BKT_OK;
}

/* ---- sources that have grown or shrunk since they were mapped ---- */

/* The stored extent of a source is that of the time when the dataset was mapped.  If the source has grown
 * since, an endless selection leads beyond it, and HDF5 refuses such a selection in a plain file. */
static int grow(hid_t src, int rank, const hsize_t *dims, const hsize_t *last, hsize_t *mapped,
                struct bkt_err *err)
{
    bool outgrown = false;
    for (int d = 0; d < rank; d++)
        outgrown = outgrown || (last[d] >= mapped[d] && dims[d] > mapped[d]);
    if (!outgrown)
        return BKT_OK;
    for (int d = 0; d < rank; d++)
        mapped[d] = dims[d] > mapped[d] ? dims[d] : mapped[d];
    return BKT_PASS_H5(err, H5Sset_extent_simple(src, rank, mapped, NULL), "the extent of a source");
}

/* A source may have become smaller than its mapped part; the elements that it lacks keep the fill value.
 * @param src, mem  selections of the same elements in the source and in memory; replaced by their existing
 * parts */
static int virtual_clip(hid_t dset, hid_t *src, hid_t *mem, struct bkt_err *err)
{
    hsize_t zero[H5S_MAX_RANK] = {0}, dims[H5S_MAX_RANK], mapped[H5S_MAX_RANK], first[H5S_MAX_RANK],
            last[H5S_MAX_RANK];
    bool    beyond = false;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    int     rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    BKT_NEED_H5(err, rank >= 0 && H5Sget_select_bounds(*src, first, last) >= 0,
                "asking a source for its extent");
    if (rank == 0 || rank != H5Sget_simple_extent_dims(*src, mapped, NULL))
        return BKT_OK; /* HDF5 reports the error */
    BKT_PASS(grow(*src, rank, dims, last, mapped, err));
    for (int d = 0; d < rank; d++) {
        beyond  = beyond || last[d] >= dims[d];
        dims[d] = dims[d] < mapped[d] ? dims[d] : mapped[d];
    }
    if (!beyond)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t there = H5Scopy(*src);
    BKT_NEED_H5(err, there >= 0 && H5Sselect_hyperslab(there, H5S_SELECT_SET, zero, NULL, dims, NULL) >= 0,
                "selecting what a source has");
    hid_t part_mem = H5Sselect_project_intersection(*src, *mem, there), part_src = H5Scopy(*src);
    /* not by H5Scombine_select(): HDF5 1.14 crashes in it if the two are disjoint */
    herr_t cut = part_src < 0 ? -1 : H5Sselect_hyperslab(part_src, H5S_SELECT_AND, zero, NULL, dims, NULL);
    bkt_hid_closep(mem);
    bkt_hid_closep(src);
    *mem = part_mem;
    *src = part_src;
    return part_mem < 0 || cut < 0 ? bkt_h5err_capture(err, "selecting what a source has") : BKT_OK;
}

struct transfer {
    bool write;
    hid_t mem_type, mem_space, file_space, dxpl;
    void *buf;
    struct bkt_sources later; /* reads of plain files in stores: they are made together */
};

/* Takes over the ids that are read later. */
static int move_part(struct transfer *t, hid_t *dset, hid_t *mem, hid_t *src, struct bkt_err *err)
{
    if (!t->write && bkt_vfd_behind(*dset))
        return sources_add(&t->later, dset, mem, src, err);
    BKT_PASS(sources_before(&t->later, *mem, err));
    herr_t rc = t->write ? H5Dwrite(*dset, t->mem_type, *mem, *src, t->dxpl, t->buf)
                         : H5Dread(*dset, t->mem_type, *mem, *src, t->dxpl, t->buf);
    return rc < 0 ? bkt_h5err_capture(err, t->write ? "writing a source" : "reading a source") : BKT_OK;
}

/* "All of the source" is stored without the source's extent, which only the source knows.  *all is the
 * source's dataspace then, if it fits.  *dset stays closed if the source is missing. */
static int whole_source(const struct bkt_view *v, const struct bkt_source_selection *p, hid_t *dset,
                        hid_t *all, struct bkt_err *err)
{
    BKT_PASS(v->open(v, p->file, p->name, dset, err));
    if (*dset < 0)
        return BKT_OK;
    *all = H5Dget_space(*dset);
    BKT_NEED_H5(err, *all >= 0, "asking a source for its extent");
    if (H5Sget_select_npoints(*all) == H5Sget_select_npoints(p->outer))
        return BKT_OK;
    /* the source has grown or shrunk since: use the mapped extent, if the mapping has one */
    bkt_hid_closep(all);
    BKT_FAIL_IF(err, H5Sget_select_npoints(p->inner) != H5Sget_select_npoints(p->outer), BKT_EFORMAT,
                "source %s in %s of a virtual dataset has another number of elements than "
                "its mapping",
                p->name, p->file);
    return BKT_OK;
}

/* @p p: a part that the selection touches */
static int transfer_source(const struct bkt_view *v, struct transfer *t, const struct bkt_source_selection *p,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t all = H5I_INVALID_HID, dset = H5I_INVALID_HID;
    if (H5Sget_select_type(p->inner) == H5S_SEL_ALL) {
        BKT_PASS(whole_source(v, p, &dset, &all, err));
        if (dset < 0 && !t->write)
            return BKT_OK; /* the source is missing */
    }
    BKT_CLEANUP(bkt_hid_closep)
    hid_t src = H5Sselect_project_intersection(p->outer, all >= 0 ? all : p->inner, t->file_space);
    BKT_NEED_H5(err, src >= 0, "the selection of a virtual dataset's source");
    if (H5Sget_select_npoints(src) == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t mem = H5Sselect_project_intersection(t->file_space, t->mem_space, p->outer);
    BKT_NEED_H5(err, mem >= 0, "the selection in memory for a virtual dataset's source");
    if (dset < 0)
        BKT_PASS(v->open(v, p->file, p->name, &dset, err));
    BKT_FAIL_IF(err, dset < 0 && t->write, BKT_ENOENT,
                "source %s in %s of a virtual dataset does not exist: it can't be written", p->name, p->file);
    if (dset >= 0 && !t->write)
        BKT_PASS(virtual_clip(dset, &src, &mem, err));
    return dset < 0 || H5Sget_select_npoints(src) == 0 ? BKT_OK : move_part(t, &dset, &mem, &src, err);
}

/* Write the fill value to the elements that no source covers. */
static int fill(const struct bkt_view *v, const struct transfer *t, struct bkt_err *err)
{
    H5D_fill_value_t kind;
    size_t size = H5Tget_size(t->mem_type);
    if (size == 0 || H5Pfill_value_defined(v->dcpl, &kind) < 0)
        return bkt_h5err_capture(err, "asking for the fill value");
    if (kind == H5D_FILL_VALUE_UNDEFINED)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) void *value = calloc(1, size);
    BKT_NEED(err, value);
    BKT_NEED_H5(err,
                H5Pget_fill_value(v->dcpl, t->mem_type, value) >= 0 &&
                    H5Dfill(value, t->mem_type, t->buf, t->mem_type, t->mem_space) >= 0,
                "filling what no source of a virtual dataset covers");
    return BKT_OK;
}

/* The selections of a call; H5S_ALL and the like become dataspaces.  New ids. */
static int selections(const struct bkt_view *v, hid_t mem, hid_t file, hid_t *mem_out, hid_t *file_out,
                      struct bkt_err *err)
{
    if (file == H5S_ALL)
        BKT_PASS(bkt_view_space(v, file_out, err));
    else
        *file_out = H5Scopy(file);
    hssize_t n = H5Sget_select_npoints(*file_out);
    if (mem == H5S_ALL)
        *mem_out = H5Scopy(*file_out);
    else if (mem == H5S_BLOCK)
        *mem_out = H5Screate_simple(1, &(hsize_t){(hsize_t)n}, NULL);
    else
        *mem_out = H5Scopy(mem);
    BKT_NEED_H5(err, n >= 0 && *mem_out >= 0, "the selections of a transfer");
    BKT_FAIL_IF(err, H5Sselect_valid(*file_out) <= 0 || H5Sselect_valid(*mem_out) <= 0, BKT_EINVAL,
                "the selection reaches outside the dataspace's extent");
    BKT_FAIL_IF(err, H5Sget_select_npoints(*mem_out) != n, BKT_EINVAL,
                "the selections in memory and in the file differ in their number of elements");
    return BKT_OK;
}

/* ---- parts of a call ---- */

#define FILES_AT_ONCE 64 /* files that are opened side by side */

/* Parts that a selection touches. */
struct touched {
    hid_t file_space;
    struct bkt_source_selection *v; /* with ids and names of their own */
    size_t n, cap;
    hssize_t n_elems; /* of the selection, in all parts */
};

static void touched_fini(struct touched *t)
{
    for (size_t i = 0; i < t->n; i++) {
        (void)H5Idec_ref(t->v[i].outer);
        (void)H5Idec_ref(t->v[i].inner);
        free((void *)(uintptr_t)t->v[i].file);
        free((void *)(uintptr_t)t->v[i].name);
    }
    free(t->v);
}

static int touch(const struct bkt_view *v, const struct bkt_visit *how, const struct bkt_source_selection *p,
                 struct bkt_err *err)
{
    struct touched *t = how->arg;
    BKT_CLEANUP(bkt_hid_closep) hid_t met = H5Sselect_project_intersection(p->outer, p->outer, t->file_space);
    (void)v;
    BKT_NEED_H5(err, met >= 0, "the selection of a virtual dataset's source");
    hssize_t n = H5Sget_select_npoints(met);
    if (n == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) char *file = strdup(p->file);
    BKT_CLEANUP(bkt_freep) char *name = strdup(p->name);
    BKT_NEED(err, file && name && bkt_list_room(&t->v, t->n, &t->cap, sizeof *t->v) >= 0);
    (void)H5Iinc_ref(p->outer);
    (void)H5Iinc_ref(p->inner);
    t->v[t->n++] = (struct bkt_source_selection){p->outer, p->inner, file, name};
    t->n_elems += n;
    file = name = NULL;
    return BKT_OK;
}

/* Where files can be begun, the parts go batch by batch: a batch's files are opened side by side, and read
 * together. */
static int transfer_parts(const struct bkt_view *v, struct transfer *t, const struct touched *all,
                          struct bkt_err *err)
{
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = i; v->expect && i % FILES_AT_ONCE == 0 && k < i + FILES_AT_ONCE && k < all->n; k++)
            v->expect(v, all->v[k].file);
        BKT_PASS(transfer_source(v, t, &all->v[i], err));
        if (v->expect && i % FILES_AT_ONCE == FILES_AT_ONCE - 1)
            BKT_PASS(sources_read(&t->later, err));
    }
    return sources_read(&t->later, err);
}

static int run(const struct bkt_view *v, struct transfer *t, hid_t mem_space, hid_t file_space,
               struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5I_INVALID_HID, file = H5I_INVALID_HID;
    BKT_PASS(selections(v, mem_space, file_space, &mem, &file, err));
    if (H5Sget_select_npoints(file) == 0)
        return BKT_OK;
    t->mem_space = mem;
    t->file_space = file;
    BKT_CLEANUP(touched_fini) struct touched all = {.file_space = file};
    if (!t->write)
        BKT_PASS(fill(v, t, err));
    BKT_PASS(bkt_view_visit(v, &(struct bkt_visit){touch, &all}, file, err));
    /* elements without a source can't be stored: as in HDF5, no element is written then */
    BKT_FAIL_IF(err, t->write && all.n_elems != H5Sget_select_npoints(file), BKT_EINVAL,
                "not every element to be written has exactly one source in the virtual dataset");
    return transfer_parts(v, t, &all, err);
}

int bkt_view_transfer(const struct bkt_view *v, const struct bkt_io *io, struct bkt_kept_sources *kept,
                      struct bkt_err *err)
{
    struct transfer t = {.write = io->write, .mem_type = io->mem_types[0], .buf = io->bufs[0]};
    BKT_CLEANUP(bkt_hid_closep)
    hid_t alone = H5I_INVALID_HID; /* a process's selection decides which
                                      sources it reads */
    BKT_PASS(bkt_xfer_alone(io->dxpl, &alone, err));
    t.dxpl = alone;
    t.later = (struct bkt_sources){.mem_type = t.mem_type, .dxpl = t.dxpl, .buf = t.buf, .kept = kept};
    int rc = run(v, &t, io->mem_spaces[0], io->file_spaces[0], err);
    forget(&t.later); /* reads that were put off and not done are dropped */
    free(t.later.v);
    return rc;
}

int bkt_virtual_transfer(const struct bkt_io *io, struct bkt_err *err)
{
    BKT_PASS(bkt_view_enter(err));
    BKT_CLEANUP(bkt_view_fini) struct bkt_view v;
    BKT_PASS(bkt_view_init(&v, io->dsets[0], err));
    return bkt_view_transfer(&v, io, NULL, err);
}
