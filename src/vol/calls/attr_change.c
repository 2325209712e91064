/* H5A: creating attributes, writing, deleting and renaming them.  An attribute is part of its object: it
 * is stored when the object is flushed. */
#include "vol/calls/calls.h"

#include <stdlib.h>
#include <string.h>

#include "vol/open/permission_and_flush.h"
#include "vol/convert/values_to_memory.h"
#include "vol/core/vol.h"
#include "base/num.h"

/* Bytes.  A new attribute up to this size gets stored zeros; a program that makes a larger one soon writes
 * it, and its zeros would be long as JSON. */
#define ZEROS_MAX 65536u

static void attr_fini(struct bkt_attr *a) { bkt_attr_fini(a); }

/* ---- create ---- */

static int describe(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                    struct bkt_attr *a, struct bkt_err *err)
{
    H5T_cset_t set = H5T_CSET_ASCII;
    if (acpl != H5P_DEFAULT && H5Pget_char_encoding(acpl, &set) < 0)
        return bkt_h5err_capture(err, "asking about the creation property list of an attribute");
    a->name_utf8 = set == H5T_CSET_UTF8;
    a->name      = strdup(name);
    if (!a->name)
        BKT_NOMEM(err);
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
    if (bkt_buf_resize(&a->value, bytes) < 0)
        BKT_NOMEM(err);
    memset(a->value.ptr, 0, bytes);
    a->has_value = true;
    return BKT_OK;
}

int bkt_attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                    struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(attr_fini) struct bkt_attr a = {.name = NULL};
    BKT_PASS(bkt_change_begin(owner->file, BKT_ACL_CREATE, "creating an attribute", err));
    if (bkt_attrs_find(&owner->obj->attrs, name))
        BKT_FAIL(err, BKT_EEXIST, "%s has an attribute '%s' already", bkt_vobj_place(owner), name);
    BKT_TRY(err, describe(owner, name, type, space, acpl, &a, err), "attribute '%s' of %s", name,
            bkt_vobj_place(owner));
    BKT_PASS(begin_value(&a, err));
    a.unwritten = true;
    BKT_PASS(bkt_edit_attr(owner->file->dom, &owner->obj->id, &a, err));
    BKT_PASS(bkt_attr_handle(owner, name, out, err));
    if (!(owner->obj->attr_track_order & 1))
        bkt_vobj_no_number(*out);
    return BKT_OK;
}

/* ---- write ---- */

/* The stored value, for the fields of a compound that the program doesn't write. */
static int old_value(const struct bkt_attr *a, size_t n, struct bkt_column *old, struct bkt_slice **slices,
                     struct bkt_err *err)
{
    if (a->type->is_var)
        BKT_PASS(bkt_attr_split(a, n, slices, err));
    *old = (struct bkt_column){.slices = *slices, .base = a->value.ptr, .stride = a->type->size};
    return BKT_OK;
}

static int store_value(struct bkt_vobj *o, const struct bkt_attr *a, hid_t mem_type, const void *buf,
                       size_t n, hid_t dxpl, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_conv_fini) struct bkt_conv       c    = {.file = H5I_INVALID_HID, .mem = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_stored_fini) struct bkt_stored   made = {.end = NULL};
    BKT_CLEANUP(bkt_freep) struct bkt_slice         *slices = NULL;
    struct bkt_column old;
    hid_t             file_type;
    size_t            bytes;
    BKT_PASS(bkt_convert_file_type(o, &file_type, err));
    BKT_PASS(bkt_conv_init_store(&c, a->type, file_type, mem_type, err));
    bool keep = c.partial && a->has_value && !a->bad;
    if (keep)
        BKT_PASS(old_value(a, n, &old, &slices, err));
    if (c.src && (!bkt_mul_size(n, c.src, &bytes) || bkt_buf_resize(out, bytes) < 0))
        BKT_NOMEM(err);
    BKT_PASS(bkt_conv_store(&c, o, buf, n, keep ? &old : NULL, out->ptr, &made, dxpl, err));
    if (!c.src)
        bkt_buf_move(out, &made.bytes);
    return BKT_OK;
}

static int write_value(struct bkt_vobj *o, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
    const struct bkt_attr *a;
    uint64_t               n = 0;
    BKT_PASS(bkt_change_begin(o->file, BKT_ACL_UPDATE, "writing an attribute", err));
    BKT_PASS(bkt_vobj_attr(o, &a, err));
    if (o->attr_gone)
        BKT_FAIL(err, BKT_ENOENT, "attribute '%s' of %s has been deleted: it can be read, but not be written",
                 a->name, bkt_vobj_place(o));
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    if (n == 0)
        return BKT_OK;
    if (!buf)
        BKT_FAIL(err, BKT_EINVAL, "no buffer given");
    BKT_PASS(store_value(o, a, mem_type, buf, (size_t)n, dxpl, &value, err));
    BKT_PASS(bkt_vobj_attr(o, &a,
                           err)); /* references were followed: the attribute may have been read anew since */
    return bkt_edit_attr_value(o->file->dom, &o->obj->id, o->attr_name, &value, err);
}

int bkt_attr_write(struct bkt_vobj *o, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err)
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
    *g = (struct bkt_attr){.created = a->created,
                           .seq = a->seq,
                           .name_utf8 = a->name_utf8,
                           .space = a->space,
                           .has_value = a->has_value,
                           .unwritten = a->unwritten};
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

/* Call @p tell for the objects that are open on an attribute, through any handle of the domain. */
static int tell_handles(struct bkt_vobj *owner, const char *name,
                        int (*tell)(struct bkt_vobj *o, const void *arg), const void *arg,
                        struct bkt_err *err)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == owner->file->dom ? f->objects : NULL; o; o = o->next) {
            if (!o->attr_name || strcmp(o->attr_name, name) != 0 ||
                strcmp(o->obj->id.text, owner->obj->id.text) != 0)
                continue;
            if (tell(o, arg) < 0)
                BKT_NOMEM(err);
        }
    return BKT_OK;
}

static int rename_attr(struct bkt_vobj *owner, const char *from, const char *to, struct bkt_err *err)
{
    if (strcmp(from, to) == 0)
        return BKT_OK;
    if (!bkt_attrs_find(&owner->obj->attrs, from))
        BKT_FAIL(err, BKT_ENOENT, "%s has no attribute '%s'", bkt_vobj_place(owner), from);
    if (bkt_attrs_find(&owner->obj->attrs, to))
        BKT_FAIL(err, BKT_EEXIST, "%s has an attribute '%s' already", bkt_vobj_place(owner), to);
    BKT_PASS(bkt_edit_attr_rename(owner->file->dom, &owner->obj->id, from, to, err));
    return tell_handles(owner, from, follow_name, to, err);
}

static int delete_attr(struct bkt_vobj *owner, const char *name, struct bkt_err *err)
{
    const struct bkt_attr *a = bkt_attrs_find(&owner->obj->attrs, name);
    if (!a)
        BKT_FAIL(err, BKT_ENOENT, "%s has no attribute '%s'", bkt_vobj_place(owner), name);
    int rc = tell_handles(owner, name, keep_gone, a, err);
    rc     = rc < 0 ? rc : bkt_edit_attr_delete(owner->file->dom, &owner->obj->id, name, err);
    a      = bkt_attrs_find(&owner->obj->attrs, name);
    if (rc < 0 && a)
        (void)tell_handles(owner, name, take_back, a, NULL);
    return rc;
}

static int delete_at(struct bkt_vobj *owner, const H5VL_attr_delete_by_idx_args_t *q, struct bkt_err *err)
{
    const H5VL_loc_by_idx_t at = {.idx_type = q->idx_type, .order = q->order, .n = q->n};
    const struct bkt_attr  *a;
    BKT_PASS(bkt_attr_at(owner, &at, &a, err));
    BKT_CLEANUP(bkt_freep) char *name = strdup(a->name);
    return name ? delete_attr(owner, name, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_attr_change(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    bool gone = args->op_type != H5VL_ATTR_RENAME;
    BKT_PASS(bkt_change_begin(owner->file, gone ? BKT_ACL_DELETE : BKT_ACL_UPDATE,
                              gone ? "deleting an attribute" : "renaming an attribute", err));
    if (args->op_type == H5VL_ATTR_DELETE)
        return delete_attr(owner, args->args.del.name, err);
    if (gone)
        return delete_at(owner, &args->args.delete_by_idx, err);
    return rename_attr(owner, args->args.rename.old_name, args->args.rename.new_name, err);
}
