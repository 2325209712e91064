/* Reading and writing virtual datasets: every mapping that a selection touches is a transfer with its source. */
#include "vol/dataset/virtual.h"

#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/core/transfer_list.h"
#include "vol/open/linked_files.h"
#include "vol/path/path.h"
#include "vol/plain/plain_file.h"

#define MAX_DEPTH 16 /* virtual datasets of virtual datasets; a dataset that is its own source ends here */

static unsigned depth; /* HDF5 serialises us */

/* One virtual dataset, for one call. */
struct view {
    struct bkt_vobj    *o;
    hid_t               dcpl, dapl; /* dapl: borrowed, H5P_DEFAULT if the program gave none */
    struct bkt_mapping *maps;
    size_t              n;
};
/* A source, and the matching selections in the virtual dataset and in the source. */
struct part {
    hid_t       outer, inner;
    const char *file, *name;
};
/* The action for each source. */
struct visit {
    int (*source)(const struct view *v, const struct visit *how, const struct part *p, struct bkt_err *err);
    void *arg;
};

static void view_fini(struct view *v)
{
    bkt_mappings_free(v->maps, v->n);
    bkt_hid_closep(&v->dcpl);
}

static int view_init(struct view *v, struct bkt_vobj *o, struct bkt_err *err)
{
    *v = (struct view){.o = o, .dcpl = H5I_INVALID_HID, .dapl = o->dapl >= 0 ? o->dapl : H5P_DEFAULT};
    BKT_PASS(bkt_convert_dcpl(o, &v->dcpl, err));
    if (H5Pget_layout(v->dcpl) != H5D_VIRTUAL)
        BKT_FAIL(err, BKT_EFORMAT, "dataset %s has a virtual layout, but its creation list has no mappings",
                 o->obj->id.text);
    return bkt_mappings_load(v->dcpl, &v->maps, &v->n, err);
}

/* ---- sources ---- */

/* A process's selection decides which sources it opens: that can't be a call of all processes. */
static int open_alone(struct bkt_vobj *root, const char *name, struct bkt_vobj **out, struct bkt_err *err)
{
    bool together = root->file->reads_together;
    root->file->reads_together = false;
    int rc = bkt_path_open(root, name, H5P_DEFAULT, out, err);
    root->file->reads_together = together;
    return rc;
}

/* Open the dataset @p name in our file @p f, as an id. */
static int open_in_domain(struct bkt_file *f, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *root = NULL;
    struct bkt_vobj                             *o    = NULL;
    BKT_PASS(bkt_file_root(f, H5I_GROUP, &root, err));
    BKT_PASS(open_alone(root, name, &o, err));
    if (o->type != H5I_DATASET) {
        bkt_vobj_free(o);
        BKT_FAIL(err, BKT_EINVAL, "%s in %s is the source of a virtual dataset, but not a dataset", name, f->name);
    }
    *out = bkt_vobj_register(o, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

static int open_in_native(hid_t file, const char *name, hid_t *out, struct bkt_err *err)
{
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0) {
        (void)H5Eclear2(H5E_DEFAULT);
        BKT_FAIL(err, BKT_ENOENT, "no dataset %s", name);
    }
    *out = H5Dopen2(file, name, H5P_DEFAULT);
    return *out < 0 ? bkt_h5err_capture(err, "opening the source of a virtual dataset") : BKT_OK;
}

/* H5Pset_virtual_prefix(), or $HDF5_VDS_PREFIX in place of it, as one folder; "": none.  "${ORIGIN}" is
 * the folder of the virtual dataset's own file. */
static void prefix_of(const struct view *v, const char *env, char *out, size_t n)
{
    static const char origin[] = "${ORIGIN}";
    char              said[1024] = "";
    const char       *self = bkt_domain_name(v->o->file->dom), *slash = strrchr(self, '/'), *rest = said + sizeof origin - 1;
    *out = '\0';
    if (env && *env)
        (void)snprintf(said, sizeof said, "%s", env);
    else if (v->dapl != H5P_DEFAULT && H5Pget_virtual_prefix(v->dapl, said, sizeof said) < 0)
        return;
    if (strncmp(said, origin, sizeof origin - 1) != 0)
        (void)snprintf(out, n, "%s", strcmp(said, ".") == 0 ? "" : said);
    else if (*rest) /* else it is the folder that is searched anyway */
        (void)snprintf(out, n, "%.*s%s", slash ? (int)(slash - self) : 0, self, rest);
}

/* Search in HDF5's order: each folder of the variable, taken literally; then the whole variable, or the
 * access list's prefix; then beside the file. */
static int open_file(const struct view *v, const char *file, struct bkt_file **domain, hid_t *native, struct bkt_err *err)
{
    const char *env = getenv("HDF5_VDS_PREFIX");
    char        prefix[1024];
    if (strcmp(file, ".") == 0) {
        *domain = v->o->file;
        return BKT_OK;
    }
    prefix_of(v, env, prefix, sizeof prefix);
    return bkt_file_source(v->o->file, file, env, prefix, domain, native, err);
}

/* BKT_OK with *out negative: the file or dataset is missing, which is not an error. */
static int open_source(const struct view *v, const char *file, const char *name, hid_t *out, struct bkt_err *err)
{
    struct bkt_file *domain = NULL;
    hid_t            native = H5I_INVALID_HID;
    struct bkt_err   why    = {.n = 0};
    *out                    = H5I_INVALID_HID;
    int rc                  = open_file(v, file, &domain, &native, &why);
    if (rc == BKT_OK)
        rc = domain ? open_in_domain(domain, name, out, &why) : open_in_native(native, name, out, &why);
    if (rc == BKT_ENOENT)
        return BKT_OK;
    (void)bkt_err_copy(err, rc, &why);
    BKT_TRY(err, rc, "source %s in %s of virtual dataset %s", name, file, v->o->path ? v->o->path : v->o->obj->id.text);
    return BKT_OK;
}

/* The extent of a source along the unlimited dimension of its selection; 0: the source is missing. */
static int source_extent(const struct view *v, const struct bkt_mapping *m, hsize_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dset  = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    hsize_t                           dims[H5S_MAX_RANK];
    *out = 0;
    BKT_PASS(open_source(v, m->file, m->dset, &dset, err));
    if (dset < 0)
        return BKT_OK;
    BKT_PASS(PASS_ON(err, space = H5Dget_space(dset), "asking the source of a virtual dataset for its extent"));
    if (H5Sget_simple_extent_ndims(space) != (int)m->src.rank || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        BKT_FAIL(err, BKT_EFORMAT, "source %s in %s has another rank than its mapping", m->dset, m->file);
    *out = dims[m->src.dim];
    return BKT_OK;
}

static int printf_source(const struct view *v, const struct bkt_mapping *m, hsize_t i, char **file, char **name, bool *there,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5I_INVALID_HID;
    *file                                  = bkt_mapping_name(m->file, i);
    *name                                  = bkt_mapping_name(m->dset, i);
    if (!*file || !*name)
        BKT_NOMEM(err);
    BKT_PASS(open_source(v, *file, *name, &dset, err));
    *there = dset >= 0;
    return BKT_OK;
}

/* Number of blocks of a mapping with numbered sources: up to the last existing one, with gaps no longer
 * than the access list allows.  With H5D_VDS_FIRST_MISSING: up to the first missing one. */
static int printf_blocks(const struct view *v, const struct bkt_mapping *m, bool first_missing, hsize_t *out, struct bkt_err *err)
{
    hsize_t gap = 0, missing = 0;
    *out = 0;
    if (!first_missing && v->dapl != H5P_DEFAULT && H5Pget_virtual_printf_gap(v->dapl, &gap) < 0)
        return bkt_h5err_capture(err, "asking the access list for H5Pset_virtual_printf_gap");
    for (hsize_t i = 0; missing <= gap; i++) {
        BKT_CLEANUP(bkt_freep) char *file = NULL;
        BKT_CLEANUP(bkt_freep) char *name = NULL;
        bool                         there;
        BKT_PASS(printf_source(v, m, i, &file, &name, &there, err));
        missing = there ? 0 : missing + 1;
        if (there)
            *out = i + 1;
    }
    return BKT_OK;
}

/* ---- the extent ---- */

static int first_missing_view(const struct view *v, bool *out, struct bkt_err *err)
{
    H5D_vds_view_t which = H5D_VDS_LAST_AVAILABLE;
    if (v->dapl != H5P_DEFAULT && H5Pget_virtual_view(v->dapl, &which) < 0)
        return bkt_h5err_capture(err, "asking the access list for H5Pset_virtual_view");
    *out = which == H5D_VDS_FIRST_MISSING;
    return BKT_OK;
}

static int mapping_extent(const struct view *v, const struct bkt_mapping *m, bool first_missing, hsize_t *out,
                          struct bkt_err *err)
{
    hsize_t n = 0;
    if (m->printf_names) {
        BKT_PASS(printf_blocks(v, m, first_missing, &n, err));
        if (m->v.block[m->v.dim] == 0)
            BKT_FAIL(err, BKT_EFORMAT, "a mapping with empty blocks");
        *out = bkt_slab_extent(&m->v, n * m->v.block[m->v.dim], first_missing);
        return BKT_OK;
    }
    BKT_PASS(source_extent(v, m, &n, err));
    *out = bkt_slab_extent(&m->v, m->src.unlimited ? bkt_slab_places(&m->src, n) : 0, first_missing);
    return BKT_OK;
}

/* The extent covered by limited mappings holds, whatever the other mappings cover. */
static int fixed_bounds(const struct view *v, unsigned rank, hsize_t *least, struct bkt_err *err)
{
    hsize_t start[H5S_MAX_RANK], end[H5S_MAX_RANK];
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        if (m->v.unlimited || H5Sget_select_npoints(m->vspace) <= 0)
            continue;
        if (H5Sget_select_bounds(m->vspace, start, end) < 0)
            return bkt_h5err_capture(err, "asking a mapping for its bounds");
        for (unsigned d = 0; d < rank; d++)
            if (least[d] < end[d] + 1)
                least[d] = end[d] + 1;
    }
    return BKT_OK;
}

static int current_dims(const struct view *v, unsigned rank, hsize_t *dims, struct bkt_err *err)
{
    hsize_t found[H5S_MAX_RANK] = {0}, least[H5S_MAX_RANK] = {0};
    bool    known[H5S_MAX_RANK] = {false}, first_missing = false;
    BKT_PASS(first_missing_view(v, &first_missing, err));
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        hsize_t                   extent = 0;
        if (!m->v.unlimited)
            continue;
        if (m->v.rank != rank)
            BKT_FAIL(err, BKT_EFORMAT, "mapping %zu has %u dimensions, the virtual dataset %u", i, m->v.rank, rank);
        BKT_PASS(mapping_extent(v, m, first_missing, &extent, err));
        unsigned d = m->v.dim;
        if (!known[d] || (first_missing ? extent < found[d] : extent > found[d]))
            found[d] = extent;
        known[d] = true;
    }
    BKT_PASS(fixed_bounds(v, rank, least, err));
    for (unsigned d = 0; d < rank; d++)
        if (known[d])
            dims[d] = found[d] < least[d] ? least[d] : found[d];
    return BKT_OK;
}

static int current_space(const struct view *v, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    hsize_t                           dims[H5S_MAX_RANK], max[H5S_MAX_RANK];
    bool                              endless = false;
    BKT_PASS(bkt_convert_space(&v->o->obj->dset.space, &space, err));
    for (size_t i = 0; i < v->n; i++)
        endless = endless || v->maps[i].v.unlimited;
    if (endless) {
        int rank = H5Sget_simple_extent_dims(space, dims, max);
        if (rank < 0)
            return bkt_h5err_capture(err, "asking for the extent");
        BKT_PASS(current_dims(v, (unsigned)rank, dims, err));
        if (H5Sset_extent_simple(space, rank, dims, max) < 0)
            return bkt_h5err_capture(err, "setting the extent of a virtual dataset");
    }
    *out = bkt_hid_take(&space);
    return BKT_OK;
}

/* A source may be virtual itself. */
static int go_deeper(struct bkt_err *err)
{
    if (depth >= MAX_DEPTH)
        BKT_FAIL(err, BKT_EFORMAT, "virtual datasets are nested more than %d deep; is there a cycle?", MAX_DEPTH);
    depth++;
    return BKT_OK;
}

int bkt_virtual_space(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    struct view v;
    BKT_PASS(go_deeper(err));
    int rc = view_init(&v, o, err);
    if (rc == BKT_OK)
        rc = current_space(&v, out, err);
    view_fini(&v);
    depth--;
    return rc;
}

/* ---- visiting the sources ---- */

static int visit_printf(const struct view *v, const struct bkt_mapping *m, const struct visit *how, hsize_t extent,
                        struct bkt_err *err)
{
    hsize_t n = bkt_slab_places(&m->v, extent) / m->v.block[m->v.dim];
    for (hsize_t i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_freep) char      *file  = bkt_mapping_name(m->file, i);
        BKT_CLEANUP(bkt_freep) char      *name  = bkt_mapping_name(m->dset, i);
        BKT_CLEANUP(bkt_hid_closep) hid_t block = bkt_slab_block(&m->v, i);
        if (!file || !name)
            BKT_NOMEM(err);
        if (block < 0)
            return bkt_h5err_capture(err, "selecting a block of a virtual dataset");
        BKT_PASS(how->source(v, how, &(struct part){block, m->srcspace, file, name}, err));
    }
    return BKT_OK;
}

static int visit_endless(const struct view *v, const struct bkt_mapping *m, const struct visit *how, hsize_t extent,
                         struct bkt_err *err)
{
    hsize_t reach;
    BKT_PASS(source_extent(v, m, &reach, err));
    hsize_t have = m->src.unlimited ? bkt_slab_places(&m->src, reach) : 0, room = bkt_slab_places(&m->v, extent);
    hsize_t n    = have < room ? have : room;
    if (n == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t vspace = bkt_slab_select(&m->v, n);
    BKT_CLEANUP(bkt_hid_closep) hid_t src    = bkt_slab_select(&m->src, n);
    if (vspace < 0 || src < 0)
        return bkt_h5err_capture(err, "selecting a part of a virtual dataset");
    return how->source(v, how, &(struct part){vspace, src, m->file, m->dset}, err);
}

static int visit_sources(const struct view *v, const struct visit *how, hid_t space, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return bkt_h5err_capture(err, "asking for the extent");
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        if (m->printf_names)
            BKT_PASS(visit_printf(v, m, how, dims[m->v.dim], err));
        else if (m->v.unlimited)
            BKT_PASS(visit_endless(v, m, how, dims[m->v.dim], err));
        else
            BKT_PASS(how->source(v, how, &(struct part){m->vspace, m->srcspace, m->file, m->dset}, err));
    }
    return BKT_OK;
}

/* ---- transfers ---- */

struct transfer {
    bool  write;
    hid_t mem_type, mem_space, file_space, dxpl;
    void *buf;
};

static int move_part(const struct transfer *t, hid_t dset, hid_t mem, hid_t src, struct bkt_err *err)
{
    herr_t rc = t->write ? H5Dwrite(dset, t->mem_type, mem, src, t->dxpl, t->buf)
                         : H5Dread(dset, t->mem_type, mem, src, t->dxpl, t->buf);
    return rc < 0 ? bkt_h5err_capture(err, t->write ? "writing a source" : "reading a source") : BKT_OK;
}

/* "All of the source" is stored without the source's extent, which only the source knows.  *all is the
 * source's dataspace then, if it fits.  *dset stays closed if the source is missing. */
static int whole_source(const struct view *v, const struct part *p, hid_t *dset, hid_t *all, struct bkt_err *err)
{
    BKT_PASS(open_source(v, p->file, p->name, dset, err));
    if (*dset < 0)
        return BKT_OK;
    *all = H5Dget_space(*dset);
    if (*all < 0)
        return bkt_h5err_capture(err, "asking a source for its extent");
    if (H5Sget_select_npoints(*all) == H5Sget_select_npoints(p->outer))
        return BKT_OK;
    bkt_hid_closep(
        all); /* the source has grown or shrunk since: use the mapped extent, if the mapping has one */
    if (H5Sget_select_npoints(p->inner) != H5Sget_select_npoints(p->outer))
        BKT_FAIL(err, BKT_EFORMAT, "source %s in %s of a virtual dataset has another number of elements than "
                 "its mapping", p->name,
                 p->file);
    return BKT_OK;
}

static int transfer_source(const struct view *v, const struct visit *how, const struct part *p, struct bkt_err *err)
{
    const struct transfer            *t    = how->arg;
    BKT_CLEANUP(bkt_hid_closep) hid_t all  = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5I_INVALID_HID;
    if (H5Sget_select_type(p->inner) == H5S_SEL_ALL) {
        BKT_CLEANUP(bkt_hid_closep)
        hid_t met = H5Sselect_project_intersection(p->outer, p->outer, t->file_space);
        if (met >= 0 && H5Sget_select_npoints(met) == 0)
            return BKT_OK;
        BKT_PASS(whole_source(v, p, &dset, &all, err));
        if (dset < 0 && !t->write)
            return BKT_OK; /* the source is missing */
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t src = H5Sselect_project_intersection(p->outer, all >= 0 ? all : p->inner, t->file_space);
    if (src < 0)
        return bkt_h5err_capture(err, "the selection of a virtual dataset's source");
    if (H5Sget_select_npoints(src) == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5Sselect_project_intersection(t->file_space, t->mem_space, p->outer);
    if (mem < 0)
        return bkt_h5err_capture(err, "the selection in memory for a virtual dataset's source");
    if (dset < 0)
        BKT_PASS(open_source(v, p->file, p->name, &dset, err));
    if (dset < 0 && t->write)
        BKT_FAIL(err, BKT_ENOENT, "source %s in %s of a virtual dataset does not exist: it can't be written", p->name, p->file);
    if (dset >= 0 && !t->write)
        BKT_PASS(bkt_virtual_clip(dset, &src, &mem, err));
    return dset < 0 || H5Sget_select_npoints(src) == 0 ? BKT_OK : move_part(t, dset, mem, src, err);
}

struct covered {
    hid_t    file_space;
    hssize_t n;
};

static int count_part(const struct view *v, const struct visit *how, const struct part *p, struct bkt_err *err)
{
    struct covered                   *c    = how->arg;
    BKT_CLEANUP(bkt_hid_closep) hid_t part = H5Sselect_project_intersection(p->outer, p->outer, c->file_space);
    (void)v;
    if (part < 0)
        return bkt_h5err_capture(err, "the selection of a virtual dataset's source");
    c->n += H5Sget_select_npoints(part);
    return BKT_OK;
}

/* Elements without a source can't be stored: as in HDF5, no element is written then. */
static int check_covered(const struct view *v, hid_t file_space, struct bkt_err *err)
{
    struct covered c = {file_space, 0};
    BKT_PASS(visit_sources(v, &(struct visit){count_part, &c}, file_space, err));
    if (c.n != H5Sget_select_npoints(file_space))
        BKT_FAIL(err, BKT_EINVAL, "not every element to be written has exactly one source in the virtual dataset");
    return BKT_OK;
}

/* Write the fill value to the elements that no source covers. */
static int fill(const struct view *v, const struct transfer *t, struct bkt_err *err)
{
    H5D_fill_value_t kind;
    size_t           size = H5Tget_size(t->mem_type);
    if (size == 0 || H5Pfill_value_defined(v->dcpl, &kind) < 0)
        return bkt_h5err_capture(err, "asking for the fill value");
    if (kind == H5D_FILL_VALUE_UNDEFINED)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) void *value = calloc(1, size);
    if (!value)
        BKT_NOMEM(err);
    if (H5Pget_fill_value(v->dcpl, t->mem_type, value) < 0 || H5Dfill(value, t->mem_type, t->buf, t->mem_type, t->mem_space) < 0)
        return bkt_h5err_capture(err, "filling what no source of a virtual dataset covers");
    return BKT_OK;
}

/* The selections of a call; H5S_ALL and the like become dataspaces.  New ids. */
static int selections(const struct view *v, hid_t mem, hid_t file, hid_t *mem_out, hid_t *file_out, struct bkt_err *err)
{
    if (file == H5S_ALL)
        BKT_PASS(current_space(v, file_out, err));
    else
        *file_out = H5Scopy(file);
    hssize_t n = H5Sget_select_npoints(*file_out);
    if (mem == H5S_ALL)
        *mem_out = H5Scopy(*file_out);
    else if (mem == H5S_BLOCK)
        *mem_out = H5Screate_simple(1, &(hsize_t){(hsize_t)n}, NULL);
    else
        *mem_out = H5Scopy(mem);
    if (n < 0 || *mem_out < 0)
        return bkt_h5err_capture(err, "the selections of a transfer");
    if (H5Sget_select_npoints(*mem_out) != n)
        BKT_FAIL(err, BKT_EINVAL, "the selections in memory and in the file differ in their number of elements");
    return BKT_OK;
}

static int run(const struct view *v, struct transfer *t, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t mem  = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5I_INVALID_HID;
    BKT_PASS(selections(v, mem_space, file_space, &mem, &file, err));
    if (H5Sget_select_npoints(file) == 0)
        return BKT_OK;
    t->mem_space  = mem;
    t->file_space = file;
    BKT_PASS(t->write ? check_covered(v, file, err) : fill(v, t, err));
    return visit_sources(v, &(struct visit){transfer_source, t}, file, err);
}

int bkt_virtual_transfer(const struct bkt_io *io, struct bkt_err *err)
{
    struct transfer t = {.write = io->write, .mem_type = io->mem_types[0], .buf = io->bufs[0]};
    struct view     v;
    BKT_CLEANUP(bkt_hid_closep) hid_t alone = H5I_INVALID_HID; /* a process's selection decides which
                                                                  sources it reads */
    BKT_PASS(bkt_xfer_alone(io->dxpl, &alone, err));
    t.dxpl = alone;
    BKT_PASS(go_deeper(err));
    int rc = view_init(&v, io->dsets[0], err);
    if (rc == BKT_OK)
        rc = run(&v, &t, io->mem_spaces[0], io->file_spaces[0], err);
    view_fini(&v);
    depth--;
    return rc;
}

/* As in HDF5, the size is 0, since the sources have the storage.  The mappings count as allocated space. */
int bkt_virtual_get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    (void)o, (void)err;
    if (args->op_type == H5VL_DATASET_GET_SPACE_STATUS)
        *args->args.get_space_status.status = H5D_SPACE_STATUS_ALLOCATED;
    else
        *args->args.get_storage_size.storage_size = 0;
    return BKT_OK;
}

/* ---- existing sources ---- */

struct each {
    bkt_virtual_fn *fn;
    void           *arg;
    hid_t type; /* the virtual dataset's */
};

/* An object of ours gets no id here: outside of HDF5's calls it can't have one. */
static int is_there(const struct view *v, const struct part *p, hid_t type, bool *there, bool *blank,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t            dset   = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *root   = NULL, *o = NULL;
    struct bkt_file                             *domain = NULL;
    hid_t                                        native = H5I_INVALID_HID;
    int rc = open_file(v, p->file, &domain, &native, err);
    if (rc == BKT_OK && !domain)
        rc = open_in_native(native, p->name, &dset, err);
    else if (rc == BKT_OK && (rc = bkt_file_root(domain, H5I_GROUP, &root, err)) == BKT_OK)
        rc = open_alone(root, p->name, &o, err);
    *there = rc == BKT_OK;
    *blank = *there && (dset >= 0 ? bkt_virtual_is_blank(dset, v->dcpl, type)
                                  : bkt_virtual_is_blank_object(o, v->dcpl, type));
    return rc == BKT_ENOENT ? BKT_OK : rc;
}

static int if_there(const struct view *v, const struct visit *how, const struct part *p, struct bkt_err *err)
{
    const struct each *e = how->arg;
    struct bkt_err     why = {.n = 0};
    bool there, blank;
    BKT_TRY(err, is_there(v, p, e->type, &there, &blank, &why), "source %s in %s", p->name, p->file);
    return there ? e->fn(p->outer, blank, e->arg) : BKT_OK;
}

int bkt_virtual_each(struct bkt_vobj *o, bkt_virtual_fn *each, void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID, type = H5I_INVALID_HID;
    struct view                       v;
    BKT_PASS(go_deeper(err));
    int rc = view_init(&v, o, err);
    if (rc == BKT_OK)
        rc = current_space(&v, &space, err);
    if (rc == BKT_OK)
        rc = bkt_convert_type(o->obj->dset.type, &type, err);
    struct each e = {each, arg, type};
    if (rc == BKT_OK)
        rc = visit_sources(&v, &(struct visit){if_there, &e}, space, err);
    view_fini(&v);
    depth--;
    return rc;
}
