/* H5A.  Attributes come with their object, including their values: only the owner itself is ever fetched
 * here.  Changes are stored when the object is flushed. */
#include <stdlib.h>
#include <string.h>

#include "vol/calls/attr_impl.h"
#include "vol/convert/values_to_memory.h"
#include "vol/core/vol.h"
#include "vol/open/permission_and_flush.h"

/* ---- which attribute ---- */

/* The attribute of a handle; valid until its object changes.  If this process has deleted the attribute
 * since, its last state.  Searched by name each time: an object's attributes move in memory when one of them
 * changes. BKT_ENOENT: another writer has deleted it; BKT_EINVAL: @p o is not an attribute. */
static int attr_of(const struct bkt_vobj *o, const struct bkt_attr **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !o->attr_name, BKT_EINVAL, "not an attribute");
    *out = o->attr_gone;
    if (*out)
        return BKT_OK;
    *out = bkt_attrs_find(&o->obj->attrs, o->attr_name);
    BKT_FAIL_IF(err, !*out || (*out)->created != o->attr_created, BKT_ENOENT,
                "attribute '%s' of %s has been deleted", o->attr_name, bkt_vobj_place(o));
    return BKT_OK;
}

/* The attribute at a place in an order.  BKT_ENOENT: the object has fewer attributes. */
static int attr_at(const struct bkt_vobj *owner, const H5VL_loc_by_idx_t *at, const struct bkt_attr **out,
                   struct bkt_err *err)
{
    *out = bkt_attr_nth(&owner->obj->attrs, at->idx_type, at->order, at->n);
    BKT_FAIL_IF(err, !*out, BKT_ENOENT, "attribute number %llu of %s: it has only %zu",
                (unsigned long long)at->n, bkt_vobj_place(owner), owner->obj->attrs.n);
    return BKT_OK;
}

/* The attribute of that name.  BKT_ENOENT. */
static int attr_named(const struct bkt_vobj *owner, const char *name, const struct bkt_attr **out,
                      struct bkt_err *err)
{
    *out = bkt_attrs_find(&owner->obj->attrs, name);
    BKT_FAIL_IF(err, !*out, BKT_ENOENT, "%s has no attribute '%s'", bkt_vobj_place(owner), name);
    return BKT_OK;
}

/* ---- opening ---- */

static int attr_handle(struct bkt_vobj *owner, const char *name, struct bkt_vobj **out, struct bkt_err *err)
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
    if (bkt_attr_is_unnumbered(owner->file->dom, owner->obj, a))
        bkt_vobj_set_unnumbered(*out);
    return BKT_OK;
}

static int attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx,
                     struct bkt_vobj **out, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(idx ? attr_at(owner, idx, &a, err) : attr_named(owner, name, &a, err));
    return attr_handle(owner, a->name, out, err);
}

/* ---- read ---- */

/* For a missing value, zero bytes are converted. */
static int read_nothing(const struct bkt_conversion *v, size_t n, void *buf, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_value_tree_fini)
    struct bkt_value_tree c = {.file = H5I_INVALID_HID, .mem = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_freep) void               *zeros = NULL;
    if (v->t->is_var) {
        BKT_PASS(bkt_value_tree_init(&c, v, err));
        memset(buf, 0, n * H5Tget_size(v->mem_type));
        return BKT_OK;
    }
    zeros = calloc(n, v->t->size ? v->t->size : 1);
    BKT_NEED(err, zeros);
    return bkt_convert_values(v, &(struct bkt_slice){zeros, n * v->t->size}, n, buf, err);
}

static int read_value(struct bkt_vobj *o, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    const struct bkt_attr *a;
    uint64_t n = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;

    BKT_PASS(attr_of(o, &a, err));
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (n == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, a->bad, BKT_EFORMAT, "%s", a->bad);
    if (a->unwritten) { /* HDF5 reads zeros, whatever the type, until the file is opened again */
        memset(buf, 0, (size_t)n * H5Tget_size(mem_type));
        return BKT_OK;
    }
    BKT_PASS(bkt_convert_file_type(o, a->type, &file_type, err));
    struct bkt_conversion v = {o, a->type, file_type, mem_type, dxpl};
    if (!a->has_value)
        return read_nothing(&v, (size_t)n, buf, err);
    return bkt_convert_values(&v, &(struct bkt_slice){a->value.ptr, a->value.len}, (size_t)n, buf, err);
}

static int attr_read(struct bkt_vobj *o, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_TRY(err, read_value(o, mem_type, buf, dxpl, err), "reading attribute '%s' of %s",
            o->attr_name ? o->attr_name : "", bkt_vobj_place(o));
    return BKT_OK;
}

/* ---- get ---- */

static int get_info(struct bkt_vobj *o, const struct bkt_attr *a, H5VL_attr_get_info_args_t *q,
                    struct bkt_err *err)
{
    bool by_place =
        q->loc_params.type == H5VL_OBJECT_BY_IDX; /* HDF5 makes a list then, and numbers its entries */
    if (!by_place && (o->unnumbered || bkt_attr_is_unnumbered(o->file->dom, o->obj, a)))
        return bkt_attr_describe(a, BKT_ATTR_NO_NUMBER, q->ainfo, err);
    if (a == o->attr_gone)
        return bkt_attr_describe(a, a->seq, q->ainfo, err);
    return bkt_attr_info(o->obj, bkt_attrs_find(bkt_attrs_settle(&o->obj->attrs), o->attr_name), q->ainfo,
                         err);
}

static int get_acpl(const struct bkt_attr *a, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcreate(H5P_ATTRIBUTE_CREATE);
    BKT_NEED_H5(err, id >= 0 && H5Pset_char_encoding(id, bkt_attr_name_cset(a)) >= 0,
                "making an attribute creation property list");
    return bkt_hid_give(&id, out);
}

static int attr_get(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    H5VL_attr_get_name_args_t *q = &args->args.get_name;
    const struct bkt_attr *a;
    BKT_PASS(attr_of(o, &a, err));
    switch (args->op_type) {
        case H5VL_ATTR_GET_ACPL:
            return get_acpl(a, &args->args.get_acpl.acpl_id, err);
        case H5VL_ATTR_GET_INFO:
            return get_info(o, a, &args->args.get_info, err);
        case H5VL_ATTR_GET_NAME:
            *q->attr_name_len = strlen(a->name);
            if (q->buf && q->buf_size > 0)
                (void)snprintf(q->buf, q->buf_size, "%s", a->name);
            return BKT_OK;
        case H5VL_ATTR_GET_SPACE:
            return bkt_convert_space(&a->space, &args->args.get_space.space_id, err);
        case H5VL_ATTR_GET_STORAGE_SIZE:
            return bkt_attr_data_size(a, args->args.get_storage_size.data_size, err);
        case H5VL_ATTR_GET_TYPE:
            return bkt_convert_shown_type(o, a->type, &args->args.get_type.type_id, err);
        default:
            BKT_UNKNOWN_OP(err, "attribute get operation", args->op_type);
    }
}

/* ---- create ---- */

/* Bytes.  A new attribute up to this size gets stored zeros; a program that makes a larger one soon writes
 * it, and its zeros would be long as JSON. */
#define ZEROS_MAX 65536u

static int describe_new(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                    struct bkt_attr *a, struct bkt_err *err)
{
    H5T_cset_t set = H5T_CSET_ASCII;
    if (acpl != H5P_DEFAULT && H5Pget_char_encoding(acpl, &set) < 0)
        return bkt_h5err_capture(err, "asking about the creation property list of an attribute");
    a->name_utf8 = set == H5T_CSET_UTF8;
    a->name      = strdup(name);
    BKT_NEED(err, a->name);
    BKT_PASS(bkt_convert_from_type(owner, type, &a->type, err));
    return bkt_convert_from_space(space, &a->space, err);
}

/* A number that was never written reads as 0, in HDF5's own files too, so a 0 is stored.  A value of no
 * elements is stored as well.  HSDS has null there, and h5pyd stumbles over null. */
static int begin_value(struct bkt_attr *a, struct bkt_err *err)
{
    uint64_t n;
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (!a->type)
        return BKT_OK;
    bool number = a->type->cls == BKT_T_INTEGER || a->type->cls == BKT_T_FLOAT;
    if (a->space.cls == BKT_S_NULL || (n && (!number || n > ZEROS_MAX / a->type->size)))
        return BKT_OK;
    size_t bytes = n ? (size_t)n * a->type->size : 0;
    BKT_PASS_MEM(err, bkt_buf_resize(&a->value, bytes));
    memset(a->value.ptr, 0, bytes);
    a->has_value = true;
    return BKT_OK;
}

static int attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                       struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_attr_fini) struct bkt_attr a = {.name = NULL};
    BKT_PASS(bkt_file_begin_change(owner->file, BKT_ACL_CREATE, "creating an attribute", err));
    BKT_FAIL_IF(err, bkt_attrs_find(&owner->obj->attrs, name), BKT_EEXIST, "%s has an attribute '%s' already",
                bkt_vobj_place(owner), name);
    BKT_TRY(err, describe_new(owner, name, type, space, acpl, &a, err), "attribute '%s' of %s", name,
            bkt_vobj_place(owner));
    BKT_PASS(begin_value(&a, err));
    a.unwritten = true;
    BKT_PASS(bkt_edit_attr(owner->file->dom, &owner->obj->id, &a, err));
    BKT_PASS(attr_handle(owner, name, out, err));
    if (!(owner->obj->attr_track_order & 1))
        bkt_vobj_set_unnumbered(*out);
    return BKT_OK;
}

/* ---- write ---- */

static int write_value(struct bkt_vobj *o, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
    const struct bkt_attr *a;
    uint64_t               n = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;
    BKT_PASS(bkt_file_begin_change(o->file, BKT_ACL_UPDATE, "writing an attribute", err));
    BKT_PASS(attr_of(o, &a, err));
    BKT_FAIL_IF(err, o->attr_gone, BKT_ENOENT,
                "attribute '%s' of %s has been deleted: it can be read, but not be written", a->name,
                bkt_vobj_place(o));
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (n == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, !buf, BKT_EINVAL, "no buffer given");
    BKT_PASS(bkt_convert_file_type(o, a->type, &file_type, err));
    struct bkt_conversion v = {o, a->type, file_type, mem_type, dxpl};
    BKT_PASS(bkt_convert_store(&v, buf, (size_t)n, a->has_value && !a->bad ? &a->value : NULL, &value, err));
    BKT_PASS(
        attr_of(o, &a, err)); /* references were followed: the attribute may have been read again since */
    return bkt_edit_attr_value(o->file->dom, &o->obj->id, o->attr_name, &value, err);
}

static int attr_write(struct bkt_vobj *o, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_TRY(err, write_value(o, mem_type, buf, dxpl, err), "writing attribute '%s' of %s",
            o->attr_name ? o->attr_name : "", bkt_vobj_place(o));
    return BKT_OK;
}

/* ---- delete, rename ---- */

static int follow_name(struct bkt_vobj *o, const void *arg)
{
    if (o->attr_gone)
        return BKT_OK;
    char *name = strdup(arg);
    if (!name)
        return BKT_ENOMEM;
    free(o->attr_name);
    o->attr_name = name;
    return BKT_OK;
}

static void gone_free(struct bkt_attr *g)
{
    if (g)
        bkt_attr_fini(g);
    free(g);
}

/* As in HDF5, a handle can still read an attribute that this process deleted.  A handle on an earlier
 * attribute of that name, which another writer deleted, can't. */
static int keep_gone(struct bkt_vobj *o, const void *arg)
{
    const struct bkt_attr *a = arg;
    if (o->attr_gone || o->attr_created != a->created)
        return BKT_OK;
    struct bkt_attr *g = calloc(1, sizeof *g);
    if (!g)
        return BKT_ENOMEM;
    *g = *a;
    g->type = NULL;
    g->value = (struct bkt_buf){0};
    g->name = strdup(a->name);
    g->bad  = a->bad ? strdup(a->bad) : NULL;
    bool ok = g->name && (!a->bad || g->bad) && bkt_type_copy(a->type, &g->type) == BKT_OK;
    if (!ok || bkt_buf_add(&g->value, a->value.ptr, a->value.len) < 0) {
        gone_free(g);
        return BKT_ENOMEM;
    }
    o->attr_gone = g;
    return BKT_OK;
}

/* The deletion failed: the attribute still exists. */
static int take_back(struct bkt_vobj *o, const void *arg)
{
    const struct bkt_attr *a = arg;
    if (o->attr_gone && o->attr_gone->created == a->created) {
        gone_free(o->attr_gone);
        o->attr_gone = NULL;
    }
    return BKT_OK;
}

/* Call @p fn for the objects that are open on an attribute, through any handle of the domain.  Its only
 * failure is BKT_ENOMEM. */
static int each_handle(struct bkt_vobj *owner, const char *name,
                       int (*fn)(struct bkt_vobj *o, const void *arg), const void *arg, struct bkt_err *err)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == owner->file->dom ? f->objects : NULL; o; o = o->next) {
            if (!o->attr_name || strcmp(o->attr_name, name) != 0 ||
                strcmp(o->obj->id.text, owner->obj->id.text) != 0)
                continue;
            BKT_PASS_MEM(err, fn(o, arg));
        }
    return BKT_OK;
}

static int rename_attr(struct bkt_vobj *owner, const char *from, const char *to, struct bkt_err *err)
{
    const struct bkt_attr *a;
    if (strcmp(from, to) == 0)
        return BKT_OK;
    BKT_PASS(attr_named(owner, from, &a, err));
    BKT_FAIL_IF(err, bkt_attrs_find(&owner->obj->attrs, to), BKT_EEXIST, "%s has an attribute '%s' already",
                bkt_vobj_place(owner), to);
    BKT_PASS(bkt_edit_attr_rename(owner->file->dom, &owner->obj->id, from, to, err));
    return each_handle(owner, from, follow_name, to, err);
}

static int delete_attr(struct bkt_vobj *owner, const char *name, struct bkt_err *err)
{
    const struct bkt_attr *a;
    BKT_PASS(attr_named(owner, name, &a, err));
    int rc = each_handle(owner, name, keep_gone, a, err);
    rc     = rc < 0 ? rc : bkt_edit_attr_delete(owner->file->dom, &owner->obj->id, name, err);
    a      = bkt_attrs_find(&owner->obj->attrs, name);
    if (rc < 0 && a)
        (void)each_handle(owner, name, take_back, a, NULL);
    return rc;
}

static int delete_at(struct bkt_vobj *owner, const H5VL_attr_delete_by_idx_args_t *q, struct bkt_err *err)
{
    const H5VL_loc_by_idx_t at = {.idx_type = q->idx_type, .order = q->order, .n = q->n};
    const struct bkt_attr  *a;
    BKT_PASS(attr_at(owner, &at, &a, err));
    BKT_CLEANUP(bkt_freep) char *name = strdup(a->name);
    return name ? delete_attr(owner, name, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* H5VL_ATTR_DELETE, _DELETE_BY_IDX and _RENAME */
static int attr_change(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    bool gone = args->op_type != H5VL_ATTR_RENAME;
    BKT_PASS(bkt_file_begin_change(owner->file, gone ? BKT_ACL_DELETE : BKT_ACL_UPDATE,
                                   gone ? "deleting an attribute" : "renaming an attribute", err));
    if (args->op_type == H5VL_ATTR_DELETE)
        return delete_attr(owner, args->args.del.name, err);
    if (gone)
        return delete_at(owner, &args->args.delete_by_idx, err);
    return rename_attr(owner, args->args.rename.old_name, args->args.rename.new_name, err);
}

/* ---- specific ---- */

static int attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_ATTR_DELETE:
        case H5VL_ATTR_DELETE_BY_IDX:
        case H5VL_ATTR_RENAME:
            return attr_change(owner, args, err);
        case H5VL_ATTR_ITER:
            return bkt_attr_iterate(owner, &args->args.iterate, err);
        case H5VL_ATTR_EXISTS:
            *args->args.exists.exists = bkt_attrs_find(&owner->obj->attrs, args->args.exists.name) != NULL;
            return BKT_OK;
        default:
            BKT_UNKNOWN_OP(err, "attribute operation", args->op_type);
    }
}

const struct bkt_attr_ops bkt_domain_attr_ops = {.create = attr_create,
                                                 .open = attr_open,
                                                 .read = attr_read,
                                                 .write = attr_write,
                                                 .get = attr_get,
                                                 .specific = attr_specific};
