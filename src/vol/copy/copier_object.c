/* The copier: attributes, comments, datasets. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vol/core/filters.h"
#include "vol/copy/copier_impl.h"
#include "vol/dataset/raw_files.h"

/* ---- values that wait ---- */

static int postpone(struct bkt_copier *c, const char *path, const char *attr)
{
    if (bkt_list_room(&c->pending, c->n_pending, &c->cap_pending, sizeof *c->pending) < 0)
        BKT_NOMEM(c->err);
    struct bkt_copy_pending *p = &c->pending[c->n_pending++];
    *p = (struct bkt_copy_pending){strdup(path), attr ? strdup(attr) : NULL, H5I_INVALID_HID,
                                   H5I_INVALID_HID};
    return BKT_MADE(c->err, p->path && (p->attr || !attr));
}

/* The same for an attribute of a committed type to which no link leads yet: both stay open. */
static int postpone_open(struct bkt_copier *c, const char *attr, hid_t from, hid_t to)
{
    BKT_PASS(postpone(c, "", attr));
    struct bkt_copy_pending *p = &c->pending[c->n_pending - 1];
    p->from = bkt_hid_hold(from);
    p->to   = bkt_hid_hold(to);
    return p->from < 0 || p->to < 0 ? bkt_copy_failed(c, "keeping an attribute open") : BKT_OK;
}

void bkt_copy_pending_fini(struct bkt_copier *c)
{
    for (size_t i = 0; i < c->n_pending; i++) {
        free(c->pending[i].path);
        free(c->pending[i].attr);
        bkt_hid_closep(&c->pending[i].from);
        bkt_hid_closep(&c->pending[i].to);
    }
    free(c->pending);
}

/* Whether values of that type can only be written when all objects are there. */
static bool waits(const struct bkt_copier *c, hid_t type)
{
    return c->o->refs == BKT_REFS_FOLLOW && H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

/* ---- attributes ---- */

static int copy_value(struct bkt_copier *c, hid_t from, hid_t to, const char *path)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Aget_type(from), space = H5Aget_space(from);
    BKT_CLEANUP(bkt_copy_values_fini) struct bkt_copy_values v = {.in = -1, .out = -1};
    if (type < 0 || space < 0)
        return bkt_copy_unreadable(c, "opening an attribute");
    hssize_t n = H5Sget_simple_extent_npoints(space);
    BKT_PASS(bkt_copy_values_of(c, type, &v));
    if (n <= 0 || v.in < 0)
        return BKT_OK;
    BKT_PASS(bkt_copy_values_room(c, &v, space, (size_t)n));
    if (H5Aread(from, v.in, v.from) < 0)
        return bkt_copy_unreadable(c, "reading an attribute");
    BKT_PASS(bkt_copy_translate(c, &v, path));
    return H5Awrite(to, v.out, v.to) < 0 ? bkt_copy_failed(c, "writing an attribute") : BKT_OK;
}

static int one_attribute(struct bkt_copier *c, hid_t from_obj, hid_t to_obj, const char *name, bool named)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t from = H5Aopen(from_obj, name, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t full = from < 0 ? -1 : H5Aget_type(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = from < 0 ? -1 : H5Aget_space(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t acpl = from < 0 ? -1 : H5Aget_create_plist(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID, to = H5I_INVALID_HID;
    if (full < 0 || space < 0 || acpl < 0)
        return bkt_copy_unreadable(c, "opening an attribute");
    if (c->o->merge && H5Aexists(to_obj, name) > 0)
        return BKT_OK;
    BKT_PASS(bkt_copy_type(c, full, &type));
    to = H5Acreate2(to_obj, name, type, space, acpl, H5P_DEFAULT);
    if (to < 0)
        return bkt_copy_failed(c, "making an attribute");
    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    if (!waits(c, full))
        return copy_value(c, from, to, bkt_buf_str(&c->path));
    return named ? postpone(c, bkt_buf_str(&c->path), name) : postpone_open(c, name, from, to);
}

/* An unreadable attribute is left out, or is a failure. */
static int attribute_or_not(struct bkt_copier *c, hid_t from, hid_t to, const char *name, bool named)
{
    int rc = one_attribute(c, from, to, name, named);
    if (rc == BKT_OK)
        return rc;
    BKT_FAIL_IF(c->err, !bkt_copy_leaves_out(c, named ? bkt_buf_str(&c->path) : "", name, rc), rc,
                "attribute %s", name);
    return H5Aexists(to, name) > 0 && H5Adelete(to, name) < 0 ? bkt_copy_failed(c, name) : BKT_OK;
}

static void copy_comment(const struct bkt_copier *c, hid_t from, hid_t to, const char *path)
{
    ssize_t n = H5Oget_comment(from, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *text = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    if (n > 0 && (!text || H5Oget_comment(from, text, (size_t)n + 1) < 0 || H5Oset_comment(to, text) < 0))
        bkt_copy_report(c, path, "its comment is left out");
    (void)H5Eclear2(H5E_DEFAULT);
}

static herr_t list_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    const H5L_info2_t order = {.corder_valid = info->corder_valid, .corder = info->corder};
    (void)obj;
    return bkt_copy_names_add(arg, name, &order);
}

static int all_attributes(struct bkt_copier *c, hid_t from, hid_t to, hid_t cpl, bool named)
{
    BKT_CLEANUP(bkt_copy_names_fini) struct bkt_copy_names l = {0};
    const struct bkt_vobj *o = bkt_vobj_of_id(from);
    unsigned order = 0;
    if (H5Pget_attr_creation_order(cpl, &order) < 0 ||
        H5Aiterate2(from, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC,
                    NULL, list_attr, &l) < 0)
        return bkt_copy_unreadable(c, "listing attributes");
    for (size_t i = 0; i < l.n; i++) {
        if (order & H5P_CRT_ORDER_TRACKED && l.v[i].info.corder_valid)
            BKT_PASS(bkt_copy_number(c, to, false, l.v[i].info.corder));
        BKT_PASS(attribute_or_not(c, from, to, l.v[i].name, named));
    }
    return order & H5P_CRT_ORDER_TRACKED && o ? bkt_copy_number(c, to, false, o->obj->attrs.next) : BKT_OK;
}

int bkt_copy_attributes(struct bkt_copier *c, hid_t from, hid_t to, hid_t cpl, bool named)
{
    const char *path = named ? bkt_buf_str(&c->path) : "";
    copy_comment(c, from, to, path);
    int rc = c->o->flags & H5O_COPY_WITHOUT_ATTR_FLAG ? BKT_OK : all_attributes(c, from, to, cpl, named);
    return rc < 0 && bkt_copy_leaves_out(c, path, NULL, rc) ? BKT_OK : rc;
}

/* ---- datasets ---- */

/* H5Dcreate refuses chunks that are longer than the dataset can get, unless a dimension is 0 at first.
 * Such a dataset is created with a dimension of 0. */
static hid_t space_to_begin_with(hid_t space, hid_t dcpl, bool *grows)
{
    hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int rank = H5Pget_layout(dcpl) == H5D_CHUNKED ? H5Sget_simple_extent_dims(space, dims, max) : 0;
    *grows = false;
    if (rank > 0 && H5Pget_chunk(dcpl, rank, chunk) != rank)
        return H5I_INVALID_HID;
    for (int i = 0; i < rank; i++)
        if (dims[i] > 0 && max[i] != H5S_UNLIMITED && chunk[i] > max[i]) {
            dims[i] = 0;
            *grows = true;
        }
    return *grows ? H5Screate_simple(rank, dims, max) : H5Scopy(space);
}

static herr_t grow(hid_t dset, hid_t space)
{
    hsize_t dims[H5S_MAX_RANK];
    return H5Sget_simple_extent_dims(space, dims, NULL) < 0 ? -1 : H5Dset_extent(dset, dims);
}

/* Whether a copy that is made at @p dst gets the elements of @p from, which lie in external files. */
static bool holds_elements(hid_t from, hid_t dst, hid_t dcpl)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(dst);
    return !bkt_copy_is_outside(from, dcpl) || (o && !bkt_store_is_directory(bkt_domain_store(o->file->dom)));
}

static hid_t create(const struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t type,
                    hid_t space, hid_t lcpl, hid_t dcpl)
{
    bool grows, was = false;
    hid_t first = space_to_begin_with(space, dcpl, &grows);
    if (c->o->same_files)
        was = bkt_external_inside(holds_elements(from, dst, dcpl));
    hid_t to = first < 0 ? first : bkt_filters_create(dst, name, type, first, lcpl, dcpl, from);
    if (c->o->same_files)
        (void)bkt_external_inside(was);
    const bool made = to >= 0 && (!grows || grow(to, space) >= 0);
    hid_t why = made ? H5I_INVALID_HID : bkt_h5err_hold();
    bkt_hid_closep(&first);
    if (!made)
        bkt_hid_closep(&to);
    bkt_h5err_restore(why);
    return made ? to : H5I_INVALID_HID;
}

int bkt_copy_dataset(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, hid_t *out)
{
    const struct bkt_copier_hooks *h = &c->o->hooks;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t full = H5Dget_type(from),
          space = H5Dget_space(from), dcpl = H5Dget_create_plist(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    if (full < 0 || space < 0 || dcpl < 0)
        return bkt_copy_unreadable(c, "opening a dataset");
    BKT_PASS(bkt_copy_type(c, full, &type));
    if (h->shape)
        BKT_PASS(h->shape(h->arg, from, bkt_buf_str(&c->path), &space, &dcpl, c->err));
    *out = create(c, from, dst, name, type, space, lcpl, dcpl);
    return *out < 0 ? bkt_copy_failed(c, "making a dataset") : BKT_OK;
}

int bkt_copy_elements(struct bkt_copier *c, hid_t from, hid_t to)
{
    const struct bkt_copier_hooks *h = &c->o->hooks;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    if (type < 0 || space < 0)
        return bkt_copy_unreadable(c, "opening a dataset");
    if (c->o->no_data || H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    int rc = h->data ? h->data(h->arg, from, to, bkt_buf_str(&c->path), c->err) : 0;
    if (rc)
        return rc < 0 ? rc : BKT_OK;
    const char *path = bkt_buf_str(&c->path);
    return waits(c, type) ? postpone(c, path, NULL) : bkt_copy_data(c, from, to, path);
}

int bkt_copy_write_pending(struct bkt_copier *c, const struct bkt_copy_pending *p)
{
    if (p->to >= 0)
        return copy_value(c, p->from, p->to, p->attr);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t from = H5Oopen(c->src, p->path, H5P_DEFAULT),
          to = H5Oopen(c->root, p->path, H5P_DEFAULT);
    if (from < 0 || to < 0)
        return bkt_copy_failed(c, "opening an object again");
    if (!p->attr)
        return bkt_copy_data(c, from, to, p->path);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t a = H5Aopen(from, p->attr, H5P_DEFAULT),
          b = H5Aopen(to, p->attr, H5P_DEFAULT);
    if (a < 0 || b < 0)
        return bkt_copy_failed(c, "opening an attribute again");
    BKT_TRY(c->err, copy_value(c, a, b, p->path), "attribute %s", p->attr);
    return BKT_OK;
}
