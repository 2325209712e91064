/* H5A: information about attributes, and iteration over them. */
#include "vol/calls/attr_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vol/convert/convert.h"

const struct bkt_attr *bkt_attr_nth(const struct bkt_attrs *all, H5_index_t by, H5_iter_order_t order,
                                    hsize_t i)
{
    if (i >= all->n)
        return NULL;
    (void)bkt_attrs_settle(all);
    if (order == H5_ITER_DEC)
        i = all->n - 1 - i;
    return &all->v[by == H5_INDEX_CRT_ORDER ? all->order[i] : i];
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

int bkt_attr_data_size(const struct bkt_attr *a, hsize_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    uint64_t n = 0;
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    BKT_PASS(bkt_convert_type(a->type, &type, err));
    *out = n * stored_bytes(type);
    return BKT_OK;
}

H5T_cset_t bkt_attr_name_cset(const struct bkt_attr *a)
{
    return a->name_utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII;
}

int bkt_attr_describe(const struct bkt_attr *a, size_t number, H5A_info_t *out, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    out->corder_valid = number != BKT_ATTR_NO_NUMBER;
    out->corder = out->corder_valid ? (H5O_msg_crt_idx_t)number : 0;
    out->cset = bkt_attr_name_cset(a);
    return bkt_attr_data_size(a, &out->data_size, err);
}

int bkt_attr_info(const struct bkt_object *obj, const struct bkt_attr *a, H5A_info_t *out,
                  struct bkt_err *err)
{
    return bkt_attr_describe(
        a, obj->attr_track_order & 1 ? a->seq : bkt_named_place(&obj->attrs.list, sizeof *a, a->seq), out,
        err);
}

/* ---- H5Aiterate ---- */

struct listed {
    char *name;
    H5A_info_t info;
};

struct list {
    struct listed *v;
    size_t n, cap;
};

static void list_fini(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
}

/* The attributes of an object from number @p first on, in the order of the iteration */
static int list_from(const struct bkt_object *obj, const H5VL_attr_iterate_args_t *it, hsize_t first,
                     struct list *out, struct bkt_err *err)
{
    const struct bkt_attr *a;
    for (hsize_t i = first; (a = bkt_attr_nth(&obj->attrs, it->idx_type, it->order, i)) != NULL; i++) {
        BKT_PASS_MEM(err, bkt_list_room(&out->v, out->n, &out->cap, sizeof *out->v));
        struct listed *l = &out->v[out->n];
        BKT_PASS(bkt_attr_info(obj, a, &l->info, err));
        l->name = strdup(a->name);
        BKT_NEED(err, l->name);
        out->n++;
    }
    return BKT_OK;
}

/* As in HDF5, the list is taken first.  So the program's callback may delete and rename attributes: it is
 * called for each one that there was, once. */
int bkt_attr_iterate(struct bkt_vobj *owner, H5VL_attr_iterate_args_t *it, struct bkt_err *err)
{
    const struct bkt_object *obj = owner->obj;
    BKT_CLEANUP(list_fini) struct list all = {.n = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    hsize_t first = it->idx ? *it->idx : 0;
    size_t i;
    int rc = 0;

    BKT_FAIL_IF(err, first > 0 && first >= obj->attrs.n, BKT_EINVAL,
                "iteration from attribute %llu of %s: it has only %zu", (unsigned long long)first,
                bkt_vobj_place(owner), obj->attrs.n);
    BKT_PASS(list_from(obj, it, first, &all, err));
    if (all.n > 0) /* the program's callback gets an id of the object that owns the attributes */
        BKT_PASS(bkt_vobj_register(
            bkt_vobj_new(owner->file, owner->type, bkt_object_retain(obj), owner->path), &id, err));
    for (i = 0; rc == 0 && i < all.n; i++)
        rc = it->op(id, all.v[i].name, &all.v[i].info, it->op_data);
    if (it->idx)
        *it->idx = first + i;
    BKT_FAIL_IF(err, rc < 0, BKT_ECANCEL, "the program's callback failed");
    return rc;
}
