/* H5Ocopy with H5O_COPY_EXPAND_REFERENCE_FLAG: the targets of references are copied too, and the copies'
 * references lead to the copied targets.  As in HDF5, this holds for datasets and attributes whose type is
 * a reference.  An object that wasn't copied yet is linked in the destination's root as "~obj_pointed_by_"
 * and a number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vol/copy/copy_impl.h"
#include "vol/core/object_refs.h"

static bool is_null(const void *ref, size_t n)
{
    const unsigned char *p = ref;
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* The place of the copy of @p obj: a location and a name, for calls that need both. */
static int copy_of(struct copy *c, hid_t obj, hid_t *loc, const char **name)
{
    char        new_name[64];
    struct bkt_copied what;
    uint64_t          number = 0;
    BKT_PASS(bkt_copy_find(c, obj, &what, loc, name));
    if (*name)
        return BKT_OK;
    for (size_t i = 8; i > 0; i--)
        number = number << 8 | what.token.__data[i - 1];
    (void)snprintf(new_name, sizeof new_name, "/~obj_pointed_by_%llu", (unsigned long long)number);
    BKT_PASS(bkt_copy_as(c, obj, new_name));
    BKT_PASS(bkt_copy_find(c, obj, &what, loc, name));
    return *name ? BKT_OK : BKT_ERR(c->err, BKT_EINVAL, "copying what a reference leads to");
}

static int expand_object(struct copy *c, hid_t from, void *ref)
{
    hid_t         loc  = H5I_INVALID_HID;
    const char   *name = NULL;
    H5O_token_t   token = {{0}};
    unsigned long fileno;
    memcpy(&token, ref, sizeof(hobj_ref_t)); /* a reference is the part of a token that files of all kinds have */
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5Oopen_by_token(from, token);
    if (obj < 0)
        return bkt_copy_failed(c, "following a reference");
    BKT_PASS(copy_of(c, obj, &loc, &name));
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5Oopen(loc, name, H5P_DEFAULT);
    if (to < 0)
        return bkt_copy_failed(c, "H5Oopen");
    BKT_PASS(bkt_object_identify(to, &fileno, &token, c->err));
    memcpy(ref, &token, sizeof(hobj_ref_t));
    return BKT_OK;
}

static int expand_old_region(struct copy *c, hid_t from, void *ref)
{
    hid_t       loc  = H5I_INVALID_HID;
    const char *name = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5Rdereference2(from, H5P_DEFAULT, H5R_DATASET_REGION, ref);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Rget_region(from, H5R_DATASET_REGION, ref);
    if (obj < 0 || space < 0)
        return bkt_copy_failed(c, "following a region reference");
    BKT_PASS(copy_of(c, obj, &loc, &name));
    return H5Rcreate(ref, loc, name, H5R_DATASET_REGION, space) < 0 ? bkt_copy_failed(c, "H5Rcreate") : BKT_OK;
}

static herr_t make_attr_ref(hid_t loc, const char *name, H5R_ref_t *was, H5R_ref_t *out)
{
    ssize_t                      n    = H5Rget_attr_name(was, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *attr = n < 0 ? NULL : malloc((size_t)n + 1);
    return !attr || H5Rget_attr_name(was, attr, (size_t)n + 1) < 0 ? -1 : H5Rcreate_attr(loc, name, attr, H5P_DEFAULT, out);
}

static herr_t make_ref(hid_t loc, const char *name, H5R_ref_t *was, H5R_ref_t *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    switch (H5Rget_type(was)) {
        case H5R_OBJECT2:
            return H5Rcreate_object(loc, name, H5P_DEFAULT, out);
        case H5R_DATASET_REGION2:
            space = H5Ropen_region(was, H5P_DEFAULT, H5P_DEFAULT);
            return space < 0 ? -1 : H5Rcreate_region(loc, name, space, H5P_DEFAULT, out);
        case H5R_ATTR:
            return make_attr_ref(loc, name, was, out);
        default:
            return -1;
    }
}

static int expand_ref(struct copy *c, hid_t from, void *arg)
{
    H5R_ref_t  *ref  = arg, made;
    hid_t       loc  = H5I_INVALID_HID;
    const char *name = NULL;
    (void)from;
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5Ropen_object(ref, H5P_DEFAULT, H5P_DEFAULT);
    if (obj < 0)
        return bkt_copy_failed(c, "following a reference");
    BKT_PASS(copy_of(c, obj, &loc, &name));
    if (make_ref(loc, name, ref, &made) < 0)
        return bkt_copy_failed(c, "making a reference");
    (void)H5Rdestroy(ref);
    *ref = made;
    return BKT_OK;
}

bool bkt_copy_expands(const struct copy *c, hid_t type)
{
    return c->flags & H5O_COPY_EXPAND_REFERENCE_FLAG && H5Tget_class(type) == H5T_REFERENCE;
}

int bkt_copy_expand(struct copy *c, hid_t from, hid_t type, void *buf, size_t n)
{
    size_t size   = H5Tget_size(type);
    bool   object = H5Tequal(type, H5T_STD_REF_OBJ) > 0, region = H5Tequal(type, H5T_STD_REF_DSETREG) > 0;
    char  *p      = buf;
    for (size_t i = 0; i < n; i++, p += size)
        if (!is_null(p, size))
            BKT_PASS(object ? expand_object(c, from, p) : region ? expand_old_region(c, from, p) : expand_ref(c, from, p));
    return BKT_OK;
}
