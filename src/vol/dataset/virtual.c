/* Virtual datasets of domains: their sources and their extent.  A source without stored data counts as
 * absent, whatever its extent. */
#include "vol/dataset/virtual.h"

#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/open/linked_files.h"
#include "vol/path/path.h"

/* Whether the source would give its fill value, and it is the virtual dataset's.  HDF5 gives no fill value if
 * it is undefined or never written.  Values with pointers, and strings, are not compared. */
static bool same_fill(hid_t a, hid_t b, hid_t type)
{
    H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
    size_t n = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) char *x = calloc(2, n + 1);
    char *y = x ? x + n + 1 : NULL;
    if (!x || H5Tdetect_class(type, H5T_REFERENCE) != 0 || H5Tdetect_class(type, H5T_VLEN) != 0 ||
        H5Tis_variable_str(type) != 0 || H5Tdetect_class(type, H5T_STRING) != 0)
        return false;
    return H5Pget_fill_time(a, &when) >= 0 && when != H5D_FILL_TIME_NEVER &&
           bkt_convert_fill_of(a, type, x) > 0 && bkt_convert_fill_of(b, type, y) > 0 && memcmp(x, y, n) == 0;
}

bool bkt_virtual_is_blank(hid_t source, hid_t dcpl, hid_t type)
{
    H5D_space_status_t status;
    BKT_CLEANUP(bkt_hid_closep) hid_t own = H5Dget_create_plist(source);
    return own >= 0 && H5Pget_layout(own) != H5D_VIRTUAL && H5Pget_external_count(own) == 0 &&
           H5Dget_space_status(source, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED &&
           same_fill(own, dcpl, type);
}

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    (void)coord, (void)info;
    *(bool *)arg = true;
    return BKT_ECANCEL;
}

/* Chunks of version 1 can only be asked for one by one. */
static bool virtual_is_blank_object(struct bkt_vobj *o, hid_t dcpl, hid_t type)
{
    struct bkt_dsetio *io;
    BKT_CLEANUP(bkt_hid_closep) hid_t own = H5I_INVALID_HID;
    bool any = false;
    if (!o || o->type != H5I_DATASET)
        return false;
    if (!o->file)
        return bkt_virtual_is_blank(o->native_id, dcpl, type);
    if (o->obj->dset.layout.cls != BKT_D_CHUNKED || bkt_is_virtual(o) || o->obj->dset.layout.external ||
        !bkt_id_is_v2(&o->obj->id) || bkt_convert_dcpl(o, &own, NULL) < 0 || !same_fill(own, dcpl, type) ||
        bkt_dataset_io(o, &io, NULL) < 0)
        return false;
    return bkt_chunk_iter(io, on_chunk, &any, NULL) == BKT_OK && !any;
}

/* ---- a dataset's mappings ---- */

#define MAX_DEPTH 16 /* virtual datasets of virtual datasets; a dataset that is its own source ends here */

static unsigned depth; /* guarded by HDF5's global lock */

static int open_source(const struct bkt_view *v, const char *file, const char *name, hid_t *out,
                       struct bkt_err *err);

void bkt_view_fini(struct bkt_view *v)
{
    bkt_mappings_free(v->maps, v->n);
    bkt_hid_closep(&v->dcpl);
    depth--;
}

int bkt_view_init(struct bkt_view *v, struct bkt_vobj *o, struct bkt_err *err)
{
    *v = (struct bkt_view){
        .o = o, .dcpl = H5I_INVALID_HID, .open = open_source, .dapl = o->dapl >= 0 ? o->dapl : H5P_DEFAULT};
    BKT_PASS(bkt_convert_dcpl(o, &v->dcpl, err));
    BKT_FAIL_IF(err, H5Pget_layout(v->dcpl) != H5D_VIRTUAL, BKT_EFORMAT,
                "dataset %s has a virtual layout, but its creation list has no mappings", o->obj->id.text);
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

/* Open the dataset @p name in the domain @p f, as an id. */
static int open_in_domain(struct bkt_file *f, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *root = NULL;
    struct bkt_vobj                             *o    = NULL;
    BKT_PASS(bkt_file_root(f, H5I_GROUP, &root, err));
    BKT_PASS(open_alone(root, name, &o, err));
    if (o->type != H5I_DATASET) {
        bkt_vobj_free(o);
        BKT_FAIL(err, BKT_EINVAL, "%s in %s is the source of a virtual dataset, but not a dataset", name,
                 f->name);
    }
    return bkt_vobj_register(o, out, err);
}

static int open_in_native(hid_t file, const char *name, hid_t *out, struct bkt_err *err)
{
    if (H5Oexists_by_name(file, name, H5P_DEFAULT) <= 0) { /* not by the link: it may lead nowhere */
        (void)H5Eclear2(H5E_DEFAULT);
        BKT_FAIL(err, BKT_ENOENT, "no dataset %s", name);
    }
    *out = H5Dopen2(file, name, H5P_DEFAULT);
    return *out < 0 ? bkt_h5err_capture(err, "opening the source of a virtual dataset") : BKT_OK;
}

/* H5Pset_virtual_prefix(), or $HDF5_VDS_PREFIX in place of it, as one folder; "": none.  "${ORIGIN}" is
 * the folder of the virtual dataset's own file. */
static void prefix_of(const struct bkt_view *v, const char *env, char *out, size_t n)
{
    static const char origin[] = "${ORIGIN}";
    char              said[1024] = "";
    const char *self = bkt_domain_name(v->o->file->dom), *slash = strrchr(self, '/'),
               *rest = said + sizeof origin - 1;
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
static int open_file(const struct bkt_view *v, const char *file, struct bkt_file **domain, hid_t *native,
                     struct bkt_err *err)
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
static int open_source(const struct bkt_view *v, const char *file, const char *name, hid_t *out,
                       struct bkt_err *err)
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
    BKT_TRY(err, rc, "source %s in %s of virtual dataset %s", name, file,
            v->o->path ? v->o->path : v->o->obj->id.text);
    return BKT_OK;
}

/* The extent of a source along the unlimited dimension of its selection; 0: the source is missing. */
static int source_extent(const struct bkt_view *v, const struct bkt_mapping *m, hsize_t *out,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5I_INVALID_HID, space = H5I_INVALID_HID;
    hsize_t                           dims[H5S_MAX_RANK];
    *out = 0;
    BKT_PASS(v->open(v, m->file, m->dset, &dset, err));
    if (dset < 0)
        return BKT_OK;
    BKT_PASS(BKT_PASS_H5(err, space = H5Dget_space(dset),
                         "asking the source of a virtual dataset for its extent"));
    BKT_FAIL_IF(err,
                H5Sget_simple_extent_ndims(space) != (int)m->src.rank ||
                    H5Sget_simple_extent_dims(space, dims, NULL) < 0,
                BKT_EFORMAT, "source %s in %s has another rank than its mapping", m->dset, m->file);
    *out = dims[m->src.dim];
    return BKT_OK;
}

static int printf_source(const struct bkt_view *v, const struct bkt_mapping *m, hsize_t i, char **file,
                         char **name, bool *there, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5I_INVALID_HID;
    *file                                  = bkt_mapping_name(m->file, i);
    *name                                  = bkt_mapping_name(m->dset, i);
    BKT_NEED(err, *file && *name);
    BKT_PASS(v->open(v, *file, *name, &dset, err));
    *there = dset >= 0;
    return BKT_OK;
}

/* Number of blocks of a mapping with numbered sources: up to the last existing one, with gaps no longer
 * than the access list allows.  With H5D_VDS_FIRST_MISSING: up to the first missing one. */
static int printf_blocks(const struct bkt_view *v, const struct bkt_mapping *m, bool first_missing,
                         hsize_t *out, struct bkt_err *err)
{
    hsize_t gap = 0, missing = 0;
    *out = 0;
    if (!first_missing && v->dapl != H5P_DEFAULT && H5Pget_virtual_printf_gap(v->dapl, &gap) < 0)
        return bkt_h5err_capture(err, "asking the access list for H5Pset_virtual_printf_gap");
    for (hsize_t i = 0; missing <= gap; i++) {
        BKT_CLEANUP(bkt_freep) char *file = NULL, *name = NULL;
        bool                         there;
        BKT_PASS(printf_source(v, m, i, &file, &name, &there, err));
        missing = there ? 0 : missing + 1;
        if (there)
            *out = i + 1;
    }
    return BKT_OK;
}

/* ---- the extent ---- */

static int first_missing_view(const struct bkt_view *v, bool *out, struct bkt_err *err)
{
    H5D_vds_view_t which = H5D_VDS_LAST_AVAILABLE;
    if (v->dapl != H5P_DEFAULT && H5Pget_virtual_view(v->dapl, &which) < 0)
        return bkt_h5err_capture(err, "asking the access list for H5Pset_virtual_view");
    *out = which == H5D_VDS_FIRST_MISSING;
    return BKT_OK;
}

static int mapping_extent(const struct bkt_view *v, const struct bkt_mapping *m, bool first_missing,
                          hsize_t *out, struct bkt_err *err)
{
    hsize_t n = 0;
    if (m->printf_names) {
        BKT_PASS(printf_blocks(v, m, first_missing, &n, err));
        BKT_FAIL_IF(err, m->v.block[m->v.dim] == 0, BKT_EFORMAT, "a mapping with empty blocks");
        *out = bkt_slab_extent(&m->v, n * m->v.block[m->v.dim], first_missing);
        return BKT_OK;
    }
    BKT_PASS(source_extent(v, m, &n, err));
    *out = bkt_slab_extent(&m->v, m->src.unlimited ? bkt_slab_places(&m->src, n) : 0, first_missing);
    return BKT_OK;
}

/* The extent covered by limited mappings holds, whatever the other mappings cover. */
static int fixed_bounds(const struct bkt_view *v, unsigned rank, hsize_t *least, struct bkt_err *err)
{
    hsize_t start[H5S_MAX_RANK], end[H5S_MAX_RANK];
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        if (m->v.unlimited || H5Sget_select_npoints(m->vspace) <= 0)
            continue;
        BKT_NEED_H5(err, H5Sget_select_bounds(m->vspace, start, end) >= 0, "asking a mapping for its bounds");
        for (unsigned d = 0; d < rank; d++)
            if (least[d] < end[d] + 1)
                least[d] = end[d] + 1;
    }
    return BKT_OK;
}

static int current_dims(const struct bkt_view *v, unsigned rank, hsize_t *dims, struct bkt_err *err)
{
    hsize_t found[H5S_MAX_RANK] = {0}, least[H5S_MAX_RANK] = {0};
    bool    known[H5S_MAX_RANK] = {false}, first_missing = false;
    BKT_PASS(first_missing_view(v, &first_missing, err));
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        hsize_t                   extent = 0;
        if (!m->v.unlimited)
            continue;
        BKT_FAIL_IF(err, m->v.rank != rank, BKT_EFORMAT,
                    "mapping %zu has %u dimensions, the virtual dataset %u", i, m->v.rank, rank);
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

int bkt_view_space(const struct bkt_view *v, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    hsize_t                           dims[H5S_MAX_RANK], max[H5S_MAX_RANK];
    bool                              endless = false;
    BKT_PASS(bkt_convert_space(&v->o->obj->dset.space, &space, err));
    for (size_t i = 0; i < v->n; i++)
        endless = endless || v->maps[i].v.unlimited;
    if (endless) {
        int rank = H5Sget_simple_extent_dims(space, dims, max);
        BKT_NEED_H5(err, rank >= 0, "asking for the extent");
        BKT_PASS(current_dims(v, (unsigned)rank, dims, err));
        BKT_NEED_H5(err, H5Sset_extent_simple(space, rank, dims, max) >= 0,
                    "setting the extent of a virtual dataset");
    }
    return bkt_hid_give(&space, out);
}

int bkt_view_enter(struct bkt_err *err)
{
    BKT_FAIL_IF(err, depth >= MAX_DEPTH, BKT_EFORMAT,
                "virtual datasets: nested more than %d deep; remove the cycle", MAX_DEPTH);
    depth++;
    return BKT_OK;
}

int bkt_virtual_space(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    BKT_PASS(bkt_view_enter(err));
    BKT_CLEANUP(bkt_view_fini) struct bkt_view v;
    BKT_PASS(bkt_view_init(&v, o, err));
    return bkt_view_space(&v, out, err);
}

/* One more than the last place in a dimension that is not the unlimited one */
static hsize_t slab_end(const struct bkt_slab *s, unsigned d)
{
    return s->count[d] ? s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d] : 0;
}

/* As in HDF5, an unlimited mapping has to fit in its other dimensions only.  Along its own one the extent
 * follows the sources, whatever the program sets. */
int bkt_virtual_holds(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err)
{
    hsize_t least[H5S_MAX_RANK] = {0};
    unsigned rank = o->obj->dset.space.rank;
    BKT_PASS(bkt_view_enter(err));
    BKT_CLEANUP(bkt_view_fini) struct bkt_view v;
    BKT_PASS(bkt_view_init(&v, o, err));
    BKT_PASS(fixed_bounds(&v, rank, least, err));
    for (size_t i = 0; i < v.n; i++)
        for (unsigned d = 0; v.maps[i].v.unlimited && d < rank && d < v.maps[i].v.rank; d++)
            if (d != v.maps[i].v.dim && least[d] < slab_end(&v.maps[i].v, d))
                least[d] = slab_end(&v.maps[i].v, d);
    for (unsigned d = 0; d < rank; d++)
        BKT_FAIL_IF(err, dims[d] < least[d], BKT_EINVAL,
                    "%s: mappings of the virtual dataset need an extent of %llu in dimension %u",
                    bkt_vobj_place(o), (unsigned long long)least[d], d);
    return BKT_OK;
}

/* ---- visiting the sources ---- */

static int visit_printf(const struct bkt_view *v, const struct bkt_mapping *m, const struct bkt_visit *how,
                        hsize_t extent, struct bkt_err *err)
{
    hsize_t n = bkt_slab_places(&m->v, extent) / m->v.block[m->v.dim];
    for (hsize_t i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_freep) char      *file  = bkt_mapping_name(m->file, i);
        BKT_CLEANUP(bkt_freep) char      *name  = bkt_mapping_name(m->dset, i);
        BKT_CLEANUP(bkt_hid_closep) hid_t block = bkt_slab_block(&m->v, i);
        BKT_NEED(err, file && name);
        BKT_NEED_H5(err, block >= 0, "selecting a block of a virtual dataset");
        BKT_PASS(how->source(v, how, &(struct bkt_source_selection){block, m->srcspace, file, name}, err));
    }
    return BKT_OK;
}

static int visit_endless(const struct bkt_view *v, const struct bkt_mapping *m, const struct bkt_visit *how,
                         hsize_t extent, struct bkt_err *err)
{
    hsize_t reach;
    BKT_PASS(source_extent(v, m, &reach, err));
    hsize_t have = m->src.unlimited ? bkt_slab_places(&m->src, reach) : 0,
            room = bkt_slab_places(&m->v, extent);
    hsize_t n    = have < room ? have : room;
    if (n == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t vspace = bkt_slab_select(&m->v, n);
    BKT_CLEANUP(bkt_hid_closep) hid_t src    = bkt_slab_select(&m->src, n);
    BKT_NEED_H5(err, vspace >= 0 && src >= 0, "selecting a part of a virtual dataset");
    return how->source(v, how, &(struct bkt_source_selection){vspace, src, m->file, m->dset}, err);
}

int bkt_view_visit(const struct bkt_view *v, const struct bkt_visit *how, hid_t space, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    BKT_PASS(BKT_PASS_H5(err, H5Sget_simple_extent_dims(space, dims, NULL), "asking for the extent"));
    for (size_t i = 0; i < v->n; i++) {
        const struct bkt_mapping *m = &v->maps[i];
        if (m->printf_names)
            BKT_PASS(visit_printf(v, m, how, dims[m->v.dim], err));
        else if (m->v.unlimited)
            BKT_PASS(visit_endless(v, m, how, dims[m->v.dim], err));
        else
            BKT_PASS(how->source(
                v, how, &(struct bkt_source_selection){m->vspace, m->srcspace, m->file, m->dset}, err));
    }
    return BKT_OK;
}

/* ---- existing sources ---- */

struct each {
    bkt_virtual_fn *fn;
    void           *arg;
    hid_t type; /* the virtual dataset's */
};

/* An object of the connector gets no id here: outside of HDF5's calls it can't have one. */
static int is_there(const struct bkt_view *v, const struct bkt_source_selection *p, hid_t type, bool *there,
                    bool *blank, struct bkt_err *err)
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
                                  : virtual_is_blank_object(o, v->dcpl, type));
    return rc == BKT_ENOENT ? BKT_OK : rc;
}

static int if_there(const struct bkt_view *v, const struct bkt_visit *how,
                    const struct bkt_source_selection *p, struct bkt_err *err)
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
    BKT_PASS(bkt_view_enter(err));
    BKT_CLEANUP(bkt_view_fini) struct bkt_view v;
    BKT_PASS(bkt_view_init(&v, o, err));
    BKT_PASS(bkt_view_space(&v, &space, err));
    BKT_PASS(bkt_convert_type(o->obj->dset.type, &type, err));
    struct each e = {each, arg, type};
    return bkt_view_visit(&v, &(struct bkt_visit){if_there, &e}, space, err);
}
