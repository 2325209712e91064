#include "tools/bucket/plain_walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/num.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/plain/plain_chunks.h"

/* Bytes of an attribute in memory; HDF5's attributes are rarely over 64 KiB. */
#define MOST_VALUE ((uint64_t)64 << 20)

/* ---- datasets ---- */

static enum bkt_layout_class layout_of(hid_t dcpl)
{
    switch (H5Pget_layout(dcpl)) {
    case H5D_COMPACT: return BKT_D_COMPACT;
    case H5D_CHUNKED: return BKT_D_CHUNKED;
    case H5D_VIRTUAL: return BKT_D_VIRTUAL;
    default: return BKT_D_CONTIGUOUS;
    }
}

/* Only chunked data have a chunk shape. */
static int take_layout(hid_t dcpl, struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout *l = &d->layout;
    l->cls = l->user_cls = layout_of(dcpl);
    if (l->cls == BKT_D_CHUNKED) {
        int rank = H5Pget_chunk(dcpl, BKT_MAX_RANK, l->dims);
        if (rank < 0)
            return h5_fail(err, "asking for the chunks' shape");
        l->rank = l->user_rank = (unsigned)rank;
        memcpy(l->user_dims, l->dims, sizeof l->user_dims);
    }
    return bkt_convert_from_filters(dcpl, &d->filters, &d->n_filters, err);
}

static int take_dset(hid_t dset, struct bkt_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    if (dcpl < 0 || space < 0 || type < 0)
        return h5_fail(err, "asking about a dataset");
    BKT_PASS(bkt_convert_from_type(NULL, type, &d->type, err));
    BKT_PASS(bkt_convert_from_space(space, &d->space, err));
    return take_layout(dcpl, d, err);
}

/* ---- attributes ---- */

/* The stored form.  An attribute with references has no such form, since they lead to ids of a domain. */
static int take_value(hid_t attr, hid_t type, hid_t space, struct bkt_attr *a, struct bkt_err *err)
{
    uint64_t n, bytes;
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (bkt_type_has_refs(a->type) || a->space.cls == BKT_S_NULL)
        return BKT_OK;
    BKT_FAIL_IF(err, !bkt_mul_u64(n, H5Tget_size(type), &bytes) || bytes > MOST_VALUE, BKT_EFORMAT,
                "attribute %s: its value is too large", a->name);
    BKT_CLEANUP(bkt_freep) void *mem = calloc(1, bytes ? bytes : 1);
    BKT_NEED(err, mem);
    if (H5Aread(attr, type, mem) < 0)
        return h5_fail(err, a->name);
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;
    int rc = bkt_convert_type(a->type, &file_type, err);
    struct bkt_conversion v = {NULL, a->type, file_type, type, H5P_DEFAULT};
    rc = rc ? rc : bkt_convert_store(&v, mem, n, NULL, &a->value, err);
    a->has_value = rc == BKT_OK;
    if (a->type->is_var && H5Treclaim(type, space, H5P_DEFAULT, mem) < 0)
        return h5_fail(err, "freeing an attribute's values");
    return rc;
}

static int take_attr(hid_t attr, struct bkt_attr *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Aget_type(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Aget_space(attr);
    if (type < 0 || space < 0)
        return h5_fail(err, "asking about an attribute");
    BKT_PASS(bkt_convert_from_type(NULL, type, &a->type, err));
    BKT_PASS(bkt_convert_from_space(space, &a->space, err));
    return take_value(attr, type, space, a, err);
}

struct attrs {
    struct bkt_object *o;
    struct bkt_err    *err;
    int                rc;
};

static herr_t one_attr(hid_t loc, const char *name, const H5A_info_t *info, void *arg)
{
    struct attrs                *all  = arg;
    BKT_CLEANUP(bkt_attr_fini) struct bkt_attr a = {.name = strdup(name)};
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
    (void)info;
    all->rc = attr < 0 ? h5_fail(all->err, name) : a.name ? take_attr(attr, &a, all->err) : BKT_OK;
    if (all->rc == BKT_OK && (!a.name || bkt_attrs_add(&all->o->attrs, &a) < 0))
        all->rc = BKT_ERR(all->err, BKT_ENOMEM, "out of memory");
    return all->rc < 0 ? -1 : 0;
}

static int take_attrs(hid_t obj, struct bkt_object *o, struct bkt_err *err)
{
    struct attrs all = {.o = o, .err = err, .rc = BKT_OK};
    if (H5Aiterate2(obj, H5_INDEX_NAME, H5_ITER_INC, NULL, one_attr, &all) < 0)
        return all.rc < 0 ? all.rc : h5_fail(err, "going through attributes");
    (void)bkt_attrs_settle(&o->attrs);
    return BKT_OK;
}

/* ---- objects ---- */

static int take(hid_t obj, const H5O_info2_t *info, bool attrs, struct bkt_object *o, struct bkt_err *err)
{
    uint64_t at = 0;
    memcpy(&at, &info->token, sizeof at);
    (void)snprintf(o->id.text, sizeof o->id.text, "%" PRIu64, at);
    o->created  = (double)info->btime;
    o->modified = (double)(info->mtime > info->ctime ? info->mtime : info->ctime);
    if (o->kind == BKT_DATASET)
        BKT_PASS(take_dset(obj, &o->dset, err));
    if (o->kind == BKT_DATATYPE)
        BKT_PASS(bkt_convert_from_type(NULL, obj, &o->type, err));
    return attrs ? take_attrs(obj, o, err) : BKT_OK;
}

static int object_of(hid_t obj, const H5O_info2_t *info, bool attrs, struct bkt_object **out,
                     struct bkt_err *err)
{
    const H5O_type_t t = info->type;
    BKT_FAIL_IF(err, t != H5O_TYPE_GROUP && t != H5O_TYPE_DATASET && t != H5O_TYPE_NAMED_DATATYPE, BKT_EUNSUP,
                "an object of an unknown kind (%d)", (int)t);
    struct bkt_object *o = bkt_object_make(t == H5O_TYPE_GROUP     ? BKT_GROUP
                                           : t == H5O_TYPE_DATASET ? BKT_DATASET
                                                                   : BKT_DATATYPE);
    BKT_NEED(err, o);
    int rc = take(obj, info, attrs, o, err);
    if (rc < 0)
        bkt_object_release(o);
    else
        *out = o;
    return rc;
}

/* ---- storage ---- */

static int one_chunk(void *arg, const struct bkt_file_chunk *c)
{
    struct bkt_extent_use *u = arg;
    u->n++;
    u->bytes += c->size;
    return BKT_OK;
}

static int count(hid_t dset, hid_t dcpl, struct bkt_extent_use *out, struct bkt_err *err)
{
    if (H5Pget_layout(dcpl) == H5D_CHUNKED)
        return bkt_file_chunks(dset, one_chunk, out, err);
    if (H5Pget_layout(dcpl) == H5D_VIRTUAL)
        return BKT_OK;
    out->bytes = H5Dget_storage_size(dset);
    out->n     = out->bytes > 0;
    return BKT_OK;
}

/* Its own file, or the first of its external raw files. */
static int name_file(hid_t dcpl, const char *uri, struct bkt_extent_use *out, struct bkt_err *err)
{
    char    name[4096] = "";
    off_t   off  = 0;
    hsize_t size = 0;
    int     n    = H5Pget_external_count(dcpl);
    if (n > 0) {
        if (H5Pget_external(dcpl, 0, sizeof name, name, &off, &size) < 0)
            return h5_fail(err, "asking for an external file");
        name[sizeof name - 1] = 0;
        out->more_files       = (size_t)n - 1;
    }
    BKT_NEED(err, (out->files = calloc(1, sizeof *out->files)) &&
                      (out->files[0].uri = strdup(n > 0 ? name : uri)));
    out->files[0].n     = out->n;
    out->files[0].bytes = out->bytes;
    out->n_files        = 1;
    return BKT_OK;
}

int plain_where(hid_t dset, const char *uri, struct bkt_extent_use *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    *out = (struct bkt_extent_use){.known = true, .linked = true};
    if (dcpl < 0)
        return h5_fail(err, "asking about a dataset");
    int rc = count(dset, dcpl, out, err);
    if (rc == BKT_OK && out->n)
        rc = name_file(dcpl, uri, out, err);
    if (rc < 0)
        bkt_where_fini(out);
    return rc;
}

/* ---- the walk ---- */

struct walk {
    unsigned levels;
    bool     attrs;
    int (*each)(const struct plain_step *s, void *arg);
    void           *arg;
    struct bkt_err *err;
    struct bkt_map *met; /* token -> path, owned */
};

/* ---- links ---- */

struct members {
    struct bkt_link *v;
    size_t           n, cap;
};

static void members_fini(struct members *m)
{
    for (size_t i = 0; i < m->n; i++)
        bkt_link_fini(&m->v[i]);
    free(m->v);
}

static int take_target(hid_t group, const H5L_info2_t *info, struct bkt_link *l)
{
    const char *file = NULL, *path = NULL;
    unsigned    flags;
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, info->u.val_size + 1);
    if (!value)
        return BKT_ENOMEM;
    if (H5Lget_val(group, l->name, value, info->u.val_size, H5P_DEFAULT) < 0)
        return BKT_OK; /* shown without a target */
    if (info->type == H5L_TYPE_SOFT)
        path = value;
    else if (H5Lunpack_elink_val(value, info->u.val_size, &flags, &file, &path) < 0)
        return BKT_OK;
    l->path = strdup(path);
    l->file = file ? strdup(file) : NULL;
    return l->path && (!file || l->file) ? BKT_OK : BKT_ENOMEM;
}

static herr_t one_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct members *m = arg;
    if (bkt_list_room(&m->v, m->n, &m->cap, sizeof *m->v) < 0)
        return -1;
    struct bkt_link *l = &m->v[m->n];
    *l = (struct bkt_link){.name = strdup(name), .cls = BKT_L_OTHER};
    if (!l->name)
        return -1;
    m->n++;
    if (info->type == H5L_TYPE_HARD)
        l->cls = BKT_L_HARD;
    if (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL) {
        l->cls = info->type == H5L_TYPE_SOFT ? BKT_L_SOFT : BKT_L_EXTERNAL;
        return take_target(group, info, l) < 0 ? -1 : 0;
    }
    return 0;
}

/* ---- objects ---- */

static int visit(struct walk *w, hid_t loc, const char *name, const char *path, const struct bkt_link *link,
                 unsigned depth);

static int visit_member(struct walk *w, hid_t group, const char *path, const struct bkt_link *l,
                        unsigned depth)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf sub = {0};
    BKT_PASS_MEM(w->err, bkt_link_path(path, l->name, &sub));
    if (l->cls == BKT_L_HARD)
        return visit(w, group, l->name, bkt_buf_str(&sub), l, depth + 1);
    struct plain_step s = {.s = {.path = bkt_buf_str(&sub), .link = l}, .id = H5I_INVALID_HID};
    return w->each(&s, w->arg);
}

static int visit_members(struct walk *w, hid_t group, const char *path, unsigned depth)
{
    BKT_CLEANUP(members_fini) struct members m = {0};
    hsize_t                                  at = 0;
    BKT_FAIL_IF(w->err, depth >= BKT_WALK_DEPTH, BKT_EUNSUP, "groups are nested deeper than %d: %s",
                BKT_WALK_DEPTH, path);
    if (H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, &at, one_link, &m) < 0)
        return h5_fail(w->err, path);
    for (size_t i = 0; i < m.n; i++)
        BKT_PASS(visit_member(w, group, path, &m.v[i], depth));
    return BKT_OK;
}

/* Apart, so that the error's room isn't on the stack at every level.  @p info NULL: it can't be opened */
static __attribute__((noinline)) int show(struct walk *w, hid_t id, const H5O_info2_t *info, const char *path,
                     const struct bkt_link *link, const char *same)
{
    struct bkt_err     why = {.n = 0};
    struct bkt_object *o   = NULL;
    int rc = info ? object_of(id, info, w->attrs && !same, &o, &why) : h5_fail(&why, path);
    if (info && rc == BKT_ENOMEM)
        return bkt_err_copy(w->err, rc, &why);
    struct plain_step s = {.s = {.path = path, .link = link, .obj = o, .same = same}, .id = id, .info = info};
    if (rc < 0)
        s = (struct plain_step){.s = {.path = path, .link = link, .why = &why}, .id = H5I_INVALID_HID};
    rc = w->each(&s, w->arg);
    bkt_object_release(o);
    return rc;
}

static int visit(struct walk *w, hid_t loc, const char *name, const char *path, const struct bkt_link *link,
                 unsigned depth)
{
    H5O_info2_t                  info;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Oopen(loc, name, H5P_DEFAULT);
    if (id < 0 || H5Oget_info3(id, &info, H5O_INFO_BASIC | H5O_INFO_TIME | H5O_INFO_NUM_ATTRS) < 0)
        return show(w, H5I_INVALID_HID, NULL, path, link, NULL);
    const char *same = bkt_map_get(w->met, &info.token, sizeof info.token);
    BKT_PASS(show(w, id, &info, path, link, same));
    if (same)
        return BKT_OK;
    BKT_PASS(bkt_walk_note(&w->met, &info.token, sizeof info.token, path, w->err));
    return info.type == H5O_TYPE_GROUP && depth < w->levels ? visit_members(w, id, path, depth) : BKT_OK;
}

int plain_walk(hid_t file, const char *path, unsigned levels, bool attrs,
               int (*each)(const struct plain_step *s, void *arg), void *arg, struct bkt_err *err)
{
    struct walk w = {.levels = levels, .attrs = attrs, .each = each, .arg = arg, .err = err};
    BKT_CLEANUP(bkt_hid_closep) hid_t at = H5Oopen(file, path, H5P_DEFAULT);
    if (at < 0) {
        (void)h5_fail(err, path);
        return BKT_ENOENT;
    }
    int rc = visit(&w, file, path, path, NULL, 0);
    bkt_map_free(w.met, free);
    return rc;
}
