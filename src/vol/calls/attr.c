/* H5A.  Attributes come with their object, including their values: only the owner itself is ever fetched
 * here. */
#include <stdlib.h>
#include <string.h>

#include "vol/calls/calls.h"
#include "vol/convert/values_to_memory.h"

/* ---- which attribute ---- */

/* The i-th attribute in an order; NULL past the end */
static const struct bkt_attr *nth(const struct bkt_attrs *all, H5_index_t by, H5_iter_order_t order,
                                  hsize_t i)
{
    if (i >= all->n)
        return NULL;
    (void)bkt_attrs_settle(all);
    if (order == H5_ITER_DEC)
        i = all->n - 1 - i;
    return &all->v[by == H5_INDEX_CRT_ORDER ? all->order[i] : i];
}

int bkt_attr_at(const struct bkt_vobj *owner, const H5VL_loc_by_idx_t *at, const struct bkt_attr **out,
                struct bkt_err *err)
{
    *out = nth(&owner->obj->attrs, at->idx_type, at->order, at->n);
    if (!*out)
        BKT_FAIL(err, BKT_ENOENT, "attribute number %llu of %s: it has only %zu", (unsigned long long)at->n,
                 bkt_vobj_place(owner),
                 owner->obj->attrs.n);
    return BKT_OK;
}

static int find_by_name(const struct bkt_vobj *owner, const char *name, const struct bkt_attr **out,
                        struct bkt_err *err)
{
    *out = bkt_attrs_find(&owner->obj->attrs, name);
    if (!*out)
        BKT_FAIL(err, BKT_ENOENT, "%s has no attribute '%s'", bkt_vobj_place(owner), name);
    return BKT_OK;
}

/* ---- information about one ---- */

/* Bytes of an element as HDF5 would store it in a file: as in memory, except for elements with pointers. */
static size_t stored_bytes(hid_t type)
{
    size_t size = H5Tget_size(type);
    switch (H5Tget_class(type)) {
        case H5T_REFERENCE:
            return size == sizeof(H5R_ref_t) ? 18 : size; /* header, length, place in the heap */
        case H5T_STRING:
            return H5Tis_variable_str(type) > 0 ? 16 : size; /* length, place in the heap */
        case H5T_ARRAY: {
            BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
            size_t each = H5Tget_size(base);
            return each ? size / each * stored_bytes(base) : size;
        }
        case H5T_COMPOUND:
            for (int i = 0; i < H5Tget_nmembers(type); i++) {
                BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
                size += stored_bytes(m) - H5Tget_size(m);
            }
            return size;
        default:
            return size;
    }
}

static int data_size(const struct bkt_attr *a, hsize_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    uint64_t n = 0;
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    BKT_PASS(bkt_convert_type(a->type, &type, err));
    *out = n * stored_bytes(type);
    return BKT_OK;
}

/* HDF5 has a number even if no order is tracked: the place among the attributes.  A new attribute has
 * none. */
#define NO_NUMBER SIZE_MAX

static H5T_cset_t name_cset(const struct bkt_attr *a)
{
    return a->name_utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII;
}

static int describe(const struct bkt_attr *a, size_t number, H5A_info_t *out, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    out->corder_valid = number != NO_NUMBER;
    out->corder       = out->corder_valid ? (H5O_msg_crt_idx_t)number : 0;
    out->cset         = name_cset(a);
    return data_size(a, &out->data_size, err);
}

/* @p a: an attribute of @p obj, whose list is settled. */
static int fill_info(const struct bkt_object *obj, const struct bkt_attr *a, H5A_info_t *out,
                     struct bkt_err *err)
{
    return describe(a,
                    obj->attr_track_order & 1 ? a->seq : bkt_named_place(&obj->attrs.list, sizeof *a, a->seq),
                    out, err);
}

/* ---- opening ---- */

int bkt_attr_handle(struct bkt_vobj *owner, const char *name, struct bkt_vobj **out, struct bkt_err *err)
{
    const struct bkt_attr *a    = bkt_attrs_find(&owner->obj->attrs, name);
    char                  *copy = strdup(name);
    *out = copy && a ? bkt_vobj_new(owner->file, H5I_ATTR, bkt_object_retain(owner->obj), owner->path) : NULL;
    if (!*out) {
        free(copy);
        BKT_NOMEM(err);
    }
    (*out)->attr_name    = copy;
    (*out)->attr_created = a->created;
    if (bkt_vobj_has_no_number(owner->file->dom, owner->obj, a))
        bkt_vobj_no_number(*out);
    return BKT_OK;
}

static int attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx,
                     struct bkt_vobj **out, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(idx ? bkt_attr_at(owner, idx, &a, err) : find_by_name(owner, name, &a, err));
    return bkt_attr_handle(owner, a->name, out, err);
}

/* ---- read ---- */

int bkt_attr_split(const struct bkt_attr *a, size_t n, struct bkt_slice **out, struct bkt_err *err)
{
    struct bkt_rd     rd = bkt_rd_of(a->value.ptr, a->value.len);
    struct bkt_slice *s  = calloc(n, sizeof *s);
    if (!s)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        s[i].p = rd.p;
        int rc = bkt_value_skip(a->type, &rd, err);
        if (rc < 0) {
            free(s);
            return rc;
        }
        s[i].n = (size_t)(rd.p - s[i].p);
    }
    *out = s;
    return BKT_OK;
}

/* For a missing value, zero bytes are converted. */
static int read_nothing(struct bkt_vobj *o, const struct bkt_attr *a, size_t n, hid_t file_type,
                        hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_conv_fini) struct bkt_conv c     = {.file = H5I_INVALID_HID, .mem = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_freep) void               *zeros = NULL;
    if (a->type->is_var) {
        BKT_PASS(bkt_conv_init(&c, a->type, file_type, mem_type, err));
        memset(buf, 0, n * H5Tget_size(mem_type));
        return BKT_OK;
    }
    zeros = calloc(n, a->type->size ? a->type->size : 1);
    if (!zeros)
        BKT_NOMEM(err);
    return bkt_convert_packed(o, a->type, file_type, zeros, n, mem_type, buf, dxpl, err);
}

static int read_value(struct bkt_vobj *o, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_CLEANUP(bkt_freep) struct bkt_slice *slices = NULL;
    uint64_t n = 0;
    hid_t    file_type;

    BKT_PASS(bkt_vobj_attr(o, &a, err));
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (n == 0)
        return BKT_OK;
    if (a->bad)
        BKT_FAIL(err, BKT_EFORMAT, "%s", a->bad);
    if (a->unwritten) { /* HDF5 reads zeros, whatever the type, until the file is opened again */
        memset(buf, 0, (size_t)n * H5Tget_size(mem_type));
        return BKT_OK;
    }
    BKT_PASS(bkt_convert_file_type(o, &file_type, err));
    if (!a->has_value)
        return read_nothing(o, a, (size_t)n, file_type, mem_type, buf, dxpl, err);
    if (a->type->is_var) {
        BKT_PASS(bkt_attr_split(a, (size_t)n, &slices, err));
        return bkt_convert_values(o, a->type, file_type, slices, (size_t)n, mem_type, buf, dxpl, err);
    }
    if (a->type->size == 0 || a->value.len / a->type->size < n)
        BKT_FAIL(err, BKT_EFORMAT, "%zu bytes stored for %llu elements of %zu", a->value.len,
                 (unsigned long long)n, a->type->size);
    return bkt_convert_packed(o, a->type, file_type, a->value.ptr, (size_t)n, mem_type, buf, dxpl, err);
}

static int attr_read(struct bkt_vobj *o, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_TRY(err, read_value(o, mem_type, buf, dxpl, err), "reading attribute '%s' of %s",
            o->attr_name ? o->attr_name : "", bkt_vobj_place(o));
    return BKT_OK;
}

/* ---- get ---- */

typedef int get_fn(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err);

static int get_info(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    H5VL_attr_get_info_args_t *q = &args->args.get_info;
    const struct bkt_attr     *a;
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    bool by_place =
        q->loc_params.type == H5VL_OBJECT_BY_IDX; /* HDF5 makes a list then, and numbers its entries */
    if (!by_place && (o->no_number || bkt_vobj_has_no_number(o->file->dom, o->obj, a)))
        return describe(a, NO_NUMBER, q->ainfo, err);
    if (a == o->attr_gone)
        return describe(a, a->seq, q->ainfo, err);
    return fill_info(o->obj, bkt_attrs_find(bkt_attrs_settle(&o->obj->attrs), o->attr_name), q->ainfo, err);
}

static int get_name(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    H5VL_attr_get_name_args_t *q = &args->args.get_name;
    const struct bkt_attr     *a;
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    *q->attr_name_len = strlen(a->name);
    if (q->buf && q->buf_size > 0)
        (void)snprintf(q->buf, q->buf_size, "%s", a->name);
    return BKT_OK;
}

static int get_acpl(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcreate(H5P_ATTRIBUTE_CREATE);
    if (id < 0 || H5Pset_char_encoding(id, name_cset(a)) < 0)
        return bkt_h5err_capture(err, "making an attribute creation property list");
    args->args.get_acpl.acpl_id = bkt_hid_take(&id);
    return BKT_OK;
}

static int get_space(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    return bkt_convert_space(&a->space, &args->args.get_space.space_id, err);
}

static int get_type(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    return bkt_convert_shown_type(o, &args->args.get_type.type_id, err);
}

static int get_storage_size(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    return data_size(a, args->args.get_storage_size.data_size, err);
}

static int attr_get(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    static get_fn *const ops[] = {
        [H5VL_ATTR_GET_ACPL] = get_acpl, [H5VL_ATTR_GET_INFO] = get_info,
        [H5VL_ATTR_GET_NAME] = get_name, [H5VL_ATTR_GET_SPACE] = get_space,
        [H5VL_ATTR_GET_TYPE] = get_type, [H5VL_ATTR_GET_STORAGE_SIZE] = get_storage_size};
    size_t op = (size_t)args->op_type;
    if (op >= BKT_COUNT(ops) || !ops[op])
        BKT_FAIL(err, BKT_EUNSUP, "attribute get operation %zu", op);
    return ops[op](o, args, err);
}

/* ---- specific ---- */

/* The program's callback gets an id of the object that owns the attributes. */
static int owner_id(const struct bkt_vobj *owner, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *v = bkt_vobj_new(owner->file, owner->type, bkt_object_retain(owner->obj), owner->path);
    if (!v)
        BKT_NOMEM(err);
    *out = bkt_vobj_register(v, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

static int iterate(struct bkt_vobj *owner, H5VL_attr_iterate_args_t *it, struct bkt_err *err)
{
    const struct bkt_object *obj = owner->obj;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    hsize_t i  = it->idx ? *it->idx : 0;
    int     rc = 0;

    if (i > 0 && i >= obj->attrs.n)
        BKT_FAIL(err, BKT_EINVAL, "iteration from attribute %llu of %s: it has only %zu",
                 (unsigned long long)i, bkt_vobj_place(owner),
                 obj->attrs.n);
    if (obj->attrs.n > 0)
        BKT_PASS(owner_id(owner, &id, err));
    for (const struct bkt_attr *a; rc == 0 && (a = nth(&obj->attrs, it->idx_type, it->order, i)) != NULL;
         i++) {
        H5A_info_t                   info;
        BKT_CLEANUP(bkt_freep) char *name = strdup(a->name); /* the program may delete it */
        if (!name)
            BKT_NOMEM(err);
        BKT_PASS(fill_info(obj, a, &info, err));
        rc = it->op(id, name, &info, it->op_data);
    }
    if (it->idx)
        *it->idx = i;
    if (rc < 0)
        BKT_FAIL(err, BKT_ECANCEL, "the program's callback failed");
    return rc;
}

static int attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_ATTR_DELETE:
        case H5VL_ATTR_DELETE_BY_IDX:
        case H5VL_ATTR_RENAME:
            return bkt_attr_change(owner, args, err);
        case H5VL_ATTR_ITER:
            return iterate(owner, &args->args.iterate, err);
        case H5VL_ATTR_EXISTS:
            *args->args.exists.exists = bkt_attrs_find(&owner->obj->attrs, args->args.exists.name) != NULL;
            return BKT_OK;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "attribute operation %d", (int)args->op_type);
    }
}

const struct bkt_attr_ops bkt_domain_attr_ops = {.create   = bkt_attr_create,
                                             .open     = attr_open,
                                             .read     = attr_read,
                                             .write    = bkt_attr_write,
                                             .get      = attr_get,
                                             .specific = attr_specific};
