/* H5Ocopy works within one connector only.  A plain HDF5 file opened through this connector is one of our objects too, so
 * h5copy reaches us with both ends; the copy itself goes through HDF5's public calls, on an id of ours and one of HDF5's. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "num.h"

#define STRIP ((size_t)32 << 20) /* bytes of a dataset in memory at a time */

struct copy {
    unsigned        flags;
    hid_t           root;  /* destination location, for hard links to what is copied already */
    struct bkt_map *done;  /* token -> path below root */
    struct bkt_buf  path;
    struct bkt_err *err;
};

static int failed(const struct copy *c, const char *what)
{
    char where[200];
    (void)snprintf(where, sizeof where, "copying %.100s: %s", bkt_buf_str(&c->path), what);
    return bkt_h5err_capture(c->err, where);
}

/* A transient twin of a type: what it is committed as stays behind. */
static hid_t plain_type(hid_t type)
{
    return H5Tcommitted(type) > 0 ? H5Tcopy(type) : (H5Iinc_ref(type) < 0 ? H5I_INVALID_HID : type);
}

static bool has_references(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

/* ---- values ---- */

struct values {
    hid_t  type, space;
    void  *buf;
    size_t size;
};

static void values_fini(struct values *v)
{
    if (v->buf && v->type >= 0 && v->space >= 0 && (H5Tdetect_class(v->type, H5T_VLEN) > 0 || H5Tis_variable_str(v->type) > 0))
        (void)H5Treclaim(v->type, v->space, H5P_DEFAULT, v->buf);
    free(v->buf);
    v->buf = NULL;
}

/* Read and write @p n elements between equal selections of both spaces. */
static int move_elements(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space, hsize_t n)
{
    struct values v = {.type = type, .space = H5Screate_simple(1, &n, NULL), .size = H5Tget_size(type)};
    size_t        bytes;
    int           rc = BKT_OK;
    if (v.space < 0 || !bkt_mul_size((size_t)n, v.size, &bytes) || !(v.buf = calloc(1, bytes ? bytes : 1)))
        rc = BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    else if (H5Dread(from, type, v.space, space, H5P_DEFAULT, v.buf) < 0)
        rc = failed(c, "H5Dread");
    else if (H5Dwrite(to, type, v.space, space, H5P_DEFAULT, v.buf) < 0)
        rc = failed(c, "H5Dwrite");
    values_fini(&v);
    if (v.space >= 0)
        (void)H5Sclose(v.space);
    return rc;
}

/* In strips of whole rows of the slowest dimension. */
static int copy_rows(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space, int rank, const hsize_t *dims)
{
    hsize_t start[BKT_MAX_RANK] = {0}, count[BKT_MAX_RANK], row = 1;
    for (int i = 1; i < rank; i++)
        row *= dims[i];
    size_t  bytes = (size_t)row * H5Tget_size(type);
    hsize_t rows  = bytes ? STRIP / bytes : dims[0];
    rows          = rows ? rows : 1;
    memcpy(count, dims, sizeof *dims * (size_t)rank);
    for (start[0] = 0; start[0] < dims[0]; start[0] += rows) {
        count[0] = dims[0] - start[0] < rows ? dims[0] - start[0] : rows;
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0)
            return failed(c, "H5Sselect_hyperslab");
        BKT_PASS(move_elements(c, from, to, type, space, count[0] * row));
    }
    return BKT_OK;
}

static int copy_values(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space)
{
    hsize_t   dims[BKT_MAX_RANK];
    hssize_t  n    = H5Sget_simple_extent_npoints(space);
    int       rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (n <= 0 || has_references(type))
        return BKT_OK;
    return rank > 0 ? copy_rows(c, from, to, type, space, rank, dims) : move_elements(c, from, to, type, space, (hsize_t)n);
}

/* ---- attributes ---- */

static int copy_attr_value(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space)
{
    hssize_t      n = H5Sget_simple_extent_npoints(space);
    size_t        bytes;
    struct values v  = {.type = type, .space = space, .size = H5Tget_size(type)};
    int           rc = BKT_OK;
    if (n <= 0 || has_references(type))
        return BKT_OK;
    if (!bkt_mul_size((size_t)n, v.size, &bytes) || !(v.buf = calloc(1, bytes)))
        return BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    if (H5Aread(from, type, v.buf) < 0)
        rc = failed(c, "H5Aread");
    else if (H5Awrite(to, type, v.buf) < 0)
        rc = failed(c, "H5Awrite");
    values_fini(&v);
    return rc;
}

struct attr_copy {
    struct copy *c;
    hid_t        to;
    int          rc;
};

static herr_t copy_attr(hid_t from, const char *name, const H5A_info_t *info, void *arg)
{
    struct attr_copy *a    = arg;
    hid_t             attr = H5Aopen(from, name, H5P_DEFAULT), type = H5I_INVALID_HID, space = H5I_INVALID_HID, to = H5I_INVALID_HID;
    hid_t             full = attr < 0 ? H5I_INVALID_HID : H5Aget_type(attr);
    (void)info;
    if (full < 0 || (type = plain_type(full)) < 0 || (space = H5Aget_space(attr)) < 0 ||
        (to = H5Acreate2(a->to, name, type, space, H5P_DEFAULT, H5P_DEFAULT)) < 0)
        a->rc = failed(a->c, name);
    else
        a->rc = copy_attr_value(a->c, attr, to, type, space);
    const hid_t ids[] = {to, space, type, full, attr};
    for (size_t i = 0; i < BKT_COUNT(ids); i++)
        if (ids[i] >= 0)
            (void)H5Idec_ref(ids[i]);
    return a->rc < 0 ? -1 : 0;
}

static int copy_attrs(struct copy *c, hid_t from, hid_t to)
{
    struct attr_copy a = {c, to, BKT_OK};
    if (c->flags & H5O_COPY_WITHOUT_ATTR_FLAG)
        return BKT_OK;
    if (H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, copy_attr, &a) < 0 && a.rc == BKT_OK)
        return failed(c, "H5Aiterate");
    return a.rc;
}

/* ---- objects ---- */

static int copy_object(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, bool top);

static int copy_dataset(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl)
{
    hid_t full = H5Dget_type(from), type = full < 0 ? full : plain_type(full), space = H5Dget_space(from), dcpl = H5Dget_create_plist(from);
    hid_t to = type < 0 || space < 0 || dcpl < 0 ? H5I_INVALID_HID : H5Dcreate2(dst, name, type, space, lcpl, dcpl, H5P_DEFAULT);
    int   rc = to < 0 ? failed(c, "H5Dcreate") : copy_values(c, from, to, type, space);
    rc       = rc < 0 ? rc : copy_attrs(c, from, to);
    const hid_t ids[] = {to, dcpl, space, type, full};
    for (size_t i = 0; i < BKT_COUNT(ids); i++)
        if (ids[i] >= 0)
            (void)H5Idec_ref(ids[i]);
    return rc;
}

static int copy_datatype(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl)
{
    hid_t type = H5Tcopy(from);
    int   rc   = type < 0 || H5Tcommit2(dst, name, type, lcpl, H5P_DEFAULT, H5P_DEFAULT) < 0
                     ? failed(c, "H5Tcommit")
                     : copy_attrs(c, from, type);
    if (type >= 0)
        (void)H5Tclose(type);
    return rc;
}

struct member_copy {
    struct copy *c;
    hid_t        to;
    int          rc;
};

static int copy_link_as_is(struct copy *c, hid_t from, const char *name, const H5L_info2_t *info, hid_t to)
{
    BKT_CLEANUP(bkt_freep) char *val = malloc(info->u.val_size ? info->u.val_size : 1);
    const char                  *file = NULL, *path = NULL;
    if (!val)
        return BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    if (H5Lget_val(from, name, val, info->u.val_size, H5P_DEFAULT) < 0)
        return failed(c, "H5Lget_val");
    if (info->type == H5L_TYPE_SOFT)
        return H5Lcreate_soft(val, to, name, H5P_DEFAULT, H5P_DEFAULT) < 0 ? failed(c, "H5Lcreate_soft") : BKT_OK;
    if (H5Lunpack_elink_val(val, info->u.val_size, NULL, &file, &path) < 0 ||
        H5Lcreate_external(file, path, to, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return failed(c, "H5Lcreate_external");
    return BKT_OK;
}

static herr_t copy_member(hid_t from, const char *name, const H5L_info2_t *info, void *arg)
{
    struct member_copy *m      = arg;
    struct copy        *c      = m->c;
    unsigned            expand = info->type == H5L_TYPE_SOFT ? H5O_COPY_EXPAND_SOFT_LINK_FLAG : H5O_COPY_EXPAND_EXT_LINK_FLAG;
    size_t              keep   = c->path.len;
    hid_t               obj    = H5I_INVALID_HID;
    if (info->type != H5L_TYPE_HARD && !(c->flags & expand && H5Oexists_by_name(from, name, H5P_DEFAULT) > 0)) {
        m->rc = copy_link_as_is(c, from, name, info, m->to);
        return m->rc < 0 ? -1 : 0;
    }
    if (bkt_buf_addf(&c->path, "/%s", name) < 0)
        m->rc = BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    else if ((obj = H5Oopen(from, name, H5P_DEFAULT)) < 0)
        m->rc = failed(c, "H5Oopen");
    else
        m->rc = copy_object(c, obj, m->to, name, H5P_DEFAULT, false);
    if (obj >= 0)
        (void)H5Oclose(obj);
    bkt_buf_cut(&c->path, keep);
    return m->rc < 0 ? -1 : 0;
}

static int copy_group(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, bool top)
{
    hid_t              gcpl = H5Gget_create_plist(from);
    hid_t              to   = gcpl < 0 ? gcpl : H5Gcreate2(dst, name, lcpl, gcpl, H5P_DEFAULT);
    struct member_copy m    = {c, to, BKT_OK};
    unsigned           tracked = 0;
    int                rc   = to < 0 ? failed(c, "H5Gcreate") : copy_attrs(c, from, to);
    if (rc == BKT_OK && (top || !(c->flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG))) {
        (void)H5Pget_link_creation_order(gcpl, &tracked);
        H5_index_t idx = tracked & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
        if (H5Literate2(from, idx, H5_ITER_INC, NULL, copy_member, &m) < 0 && m.rc == BKT_OK)
            m.rc = failed(c, "H5Literate");
        rc = m.rc;
    }
    if (to >= 0)
        (void)H5Gclose(to);
    if (gcpl >= 0)
        (void)H5Pclose(gcpl);
    return rc;
}

static int copy_object(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, bool top)
{
    H5O_info2_t info;
    if (H5Oget_info3(from, &info, H5O_INFO_BASIC) < 0)
        return failed(c, "H5Oget_info");
    const char *before = bkt_map_get(c->done, &info.token, sizeof info.token);
    if (before)
        return H5Lcreate_hard(c->root, before, dst, name, lcpl, H5P_DEFAULT) < 0 ? failed(c, "H5Lcreate_hard") : BKT_OK;
    char *here = strdup(bkt_buf_str(&c->path));
    if (!here || bkt_map_put(c->done, &info.token, sizeof info.token, here, NULL) < 0) {
        free(here);
        return BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    }
    switch (info.type) {
        case H5O_TYPE_GROUP:
            return copy_group(c, from, dst, name, lcpl, top);
        case H5O_TYPE_DATASET:
            return copy_dataset(c, from, dst, name, lcpl);
        case H5O_TYPE_NAMED_DATATYPE:
            return copy_datatype(c, from, dst, name, lcpl);
        case H5O_TYPE_UNKNOWN:
        case H5O_TYPE_MAP:
        case H5O_TYPE_NTYPES:
        default:
            return BKT_ERR(c->err, BKT_EUNSUP, "copying %s: an object of type %d", bkt_buf_str(&c->path), (int)info.type);
    }
}

int bkt_copy_to_native(struct bkt_vobj *src, hid_t dst, const char *name, hid_t ocpypl, hid_t lcpl, struct bkt_err *err)
{
    struct copy      c    = {.root = dst, .err = err, .done = bkt_map_new()};
    struct bkt_vobj *mine = c.done ? bkt_vobj_new(src->file, bkt_vobj_type_of(src->obj), bkt_object_retain(src->obj), src->path) : NULL;
    int              rc   = BKT_EHDF5;
    hid_t            from = mine ? bkt_vobj_register(mine, err) : H5I_INVALID_HID;
    if (!mine)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    else if (ocpypl != H5P_DEFAULT && H5Pget_copy_object(ocpypl, &c.flags) < 0)
        rc = bkt_h5err_capture(err, "H5Pget_copy_object");
    else if (from >= 0 && bkt_buf_add_str(&c.path, name) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    else if (from >= 0)
        rc = copy_object(&c, from, dst, name, lcpl, true);
    if (from >= 0)
        (void)H5Idec_ref(from);
    bkt_map_free(c.done, free);
    bkt_buf_fini(&c.path);
    return rc;
}
