/* The copier: values in memory.  References are read as H5R_ref_t, followed, and made again for the object's
 * copy.
 *
 * For H5Ocopy with H5O_COPY_EXPAND_REFERENCE_FLAG the objects that they lead to are copied, too.  As in HDF5,
 * this holds for values whose type is a reference.  An object that wasn't copied yet is linked in the
 * destination's root as "~obj_pointed_by_" and a number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/copy/copier_impl.h"
#include "vol/core/object_refs.h"

/* ---- memory types ---- */

static hid_t rebuilt(hid_t type, hid_t (*leaf)(hid_t));

/* In memory, fields begin at multiples of 8. */
static hid_t compound_of(hid_t like, const hid_t *members, int n)
{
    size_t size = 0, off = 0;
    for (int i = 0; i < n; i++)
        size += (H5Tget_size(members[i]) + 7) / 8 * 8;
    hid_t out = H5Tcreate(H5T_COMPOUND, size ? size : 1);
    for (int i = 0; i < n && out >= 0; i++) {
        char *name = H5Tget_member_name(like, (unsigned)i);
        if (!name || H5Tinsert(out, name, off, members[i]) < 0)
            bkt_hid_closep(&out);
        off += (H5Tget_size(members[i]) + 7) / 8 * 8;
        (void)H5free_memory(name);
    }
    return out;
}

static hid_t rebuilt_compound(hid_t type, hid_t (*leaf)(hid_t))
{
    int n = H5Tget_nmembers(type), made = 0;
    BKT_CLEANUP(bkt_freep) hid_t *members = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *members);
    hid_t out = H5I_INVALID_HID;
    if (!members)
        return out;
    for (; made < n; made++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)made);
        if ((members[made] = rebuilt(m, leaf)) < 0)
            break;
    }
    if (made == n)
        out = compound_of(type, members, n);
    while (made > 0)
        bkt_hid_closep(&members[--made]);
    return out;
}

/* The type with every reference replaced; parts without references stay as they are. */
static hid_t rebuilt(hid_t type, hid_t (*leaf)(hid_t))
{
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0)
        return H5Tcopy(type);
    H5T_class_t cls = H5Tget_class(type);
    if (cls == H5T_REFERENCE)
        return leaf(type);
    if (cls == H5T_COMPOUND)
        return rebuilt_compound(type, leaf);
    BKT_CLEANUP(bkt_hid_closep) hid_t super = H5Tget_super(type);
    BKT_CLEANUP(bkt_hid_closep) hid_t base = rebuilt(super, leaf);
    hsize_t dims[H5S_MAX_RANK];
    if (cls == H5T_VLEN)
        return H5Tvlen_create(base);
    int rank = H5Tget_array_dims2(type, dims);
    return rank < 0 ? H5I_INVALID_HID : H5Tarray_create2(base, (unsigned)rank, dims);
}

static hid_t leaf_new(hid_t type)
{
    (void)type;
    return H5Tcopy(H5T_STD_REF);
}

static bool is_old(hid_t type)
{
    return H5Tequal(type, H5T_STD_REF_OBJ) > 0 || H5Tequal(type, H5T_STD_REF_DSETREG) > 0;
}

static hid_t leaf_stored(hid_t type)
{
    return H5Tcopy(is_old(type) ? type : H5T_STD_REF);
}

hid_t bkt_copier_memory_type(hid_t stored)
{
    return rebuilt(stored, leaf_new);
}

static hid_t without_references(hid_t type);

static herr_t keep_fields(hid_t to, hid_t type, int *kept)
{
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
        BKT_CLEANUP(bkt_hid_closep) hid_t field = without_references(m);
        char *name = field >= 0 ? H5Tget_member_name(type, (unsigned)i) : NULL;
        if (field < 0)
            continue;
        herr_t rc = name ? H5Tinsert(to, name, H5Tget_member_offset(type, (unsigned)i), field) : -1;
        (void)H5free_memory(name);
        if (rc < 0)
            return -1;
        ++*kept;
    }
    return 0;
}

/* A type with the fields that can be copied into another file; reference fields stay null.  Negative:
 * there are no such fields. */
static hid_t without_references(hid_t type)
{
    int kept = 0;
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0)
        return H5Tcopy(type);
    if (H5Tget_class(type) != H5T_COMPOUND)
        return H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t out = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
    if (out < 0 || keep_fields(out, type, &kept) < 0 || kept == 0)
        return H5I_INVALID_HID;
    return bkt_hid_take(&out);
}

/* Whether copies of references lead to copies of objects.  HDF5 expands only values that are references
 * themselves. */
static bool follows(const struct bkt_copier *c, hid_t type)
{
    bool expands = c->o->flags & H5O_COPY_EXPAND_REFERENCE_FLAG && H5Tget_class(type) == H5T_REFERENCE;
    return expands || (c->o->refs == BKT_REFS_FOLLOW && H5Tdetect_class(type, H5T_REFERENCE) > 0);
}

int bkt_copy_values_of(const struct bkt_copier *c, hid_t stored, struct bkt_copy_values *v)
{
    bool native = !bkt_vobj_of_id(c->root);
    v->translated = follows(c, stored);
    if (v->translated) {
        v->in = bkt_copier_memory_type(stored);
        v->out = rebuilt(stored, native ? leaf_stored : leaf_new);
    } else {
        v->in = c->o->refs == BKT_REFS_NULL ? without_references(stored) : H5Tcopy(stored);
        v->out = v->in < 0 ? v->in : H5Tcopy(v->in);
    }
    v->has_pointers = v->in >= 0 && bkt_convert_has_pointers(v->in);
    return (v->in < 0 && c->o->refs != BKT_REFS_NULL) || (v->in >= 0 && v->out < 0)
               ? bkt_copy_failed(c, "making a memory type")
               : BKT_OK;
}

int bkt_copy_values_room(const struct bkt_copier *c, struct bkt_copy_values *v, hid_t space, size_t n)
{
    size_t in = H5Tget_size(v->in), out = H5Tget_size(v->out);
    v->space = space;
    v->n = n;
    v->from = calloc(n ? n : 1, in ? in : 1);
    v->to = v->translated ? calloc(n ? n : 1, out ? out : 1) : v->from;
    return BKT_MADE(c->err, v->from && v->to);
}

/* ---- one reference ---- */

static const H5R_ref_t no_reference;

/* Finds the copy of the object that @p ref leads to: a location, and the name from there.  *name NULL: the
 * object has no copy. */
static int target(struct bkt_copier *c, const H5R_ref_t *ref, hid_t *loc, const char **name)
{
    const bool expand = c->o->refs != BKT_REFS_FOLLOW;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t obj = H5Ropen_object((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT);
    *name = NULL;
    if (obj < 0)
        return expand ? bkt_copy_failed(c, "following a reference") : BKT_OK;
    BKT_PASS(bkt_copy_find(c, obj, loc, name));
    if (*name || !expand)
        return BKT_OK;
    BKT_PASS(bkt_copy_as(c, obj, NULL));
    return bkt_copy_find(c, obj, loc, name);
}

static herr_t attr_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to)
{
    ssize_t n = H5Rget_attr_name(from, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *attr = n < 0 ? NULL : malloc((size_t)n + 1);
    return !attr || H5Rget_attr_name(from, attr, (size_t)n + 1) < 0
               ? -1
               : H5Rcreate_attr(loc, name, attr, H5P_DEFAULT, to);
}

herr_t bkt_copy_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t region = H5I_INVALID_HID;
    switch (H5Rget_type(from)) {
    case H5R_OBJECT1:
    case H5R_OBJECT2:
        return H5Rcreate_object(loc, name, H5P_DEFAULT, to);
    case H5R_DATASET_REGION1:
    case H5R_DATASET_REGION2:
        region = H5Ropen_region((H5R_ref_t *)(uintptr_t)from, H5P_DEFAULT, H5P_DEFAULT);
        return region < 0 ? -1 : H5Rcreate_region(loc, name, region, H5P_DEFAULT, to);
    case H5R_ATTR:
        return attr_ref_again(loc, name, from, to);
    default:
        return -1;
    }
}

static herr_t remade_old(hid_t loc, const char *name, hid_t type, const H5R_ref_t *from, void *to)
{
    if (H5Tequal(type, H5T_STD_REF_OBJ) > 0)
        return H5Rcreate(to, loc, name, H5R_OBJECT, H5I_INVALID_HID);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t region = H5Ropen_region((H5R_ref_t *)(uintptr_t)from, H5P_DEFAULT, H5P_DEFAULT);
    return region < 0 ? -1 : H5Rcreate(to, loc, name, H5R_DATASET_REGION, region);
}

/* A reference into another file names that file. */
static bool is_elsewhere(const struct bkt_copier *c, const H5R_ref_t *ref, char *there, size_t size)
{
    char here[4096];
    ssize_t n = H5Rget_file_name(ref, there, size), m = H5Fget_name(c->src, here, sizeof here);
    return n > 0 && m > 0 && strcmp(there, here) != 0;
}

static void translate_outside(struct bkt_copier *c, const char *path, const char *file, const H5R_ref_t *from,
                              void *to)
{
    H5R_ref_t made = no_reference;
    struct bkt_err why = {.n = 0};
    if (bkt_copy_outside(c, from, file, &made, &why) == BKT_OK)
        memcpy(to, &made, sizeof made);
    else
        bkt_copy_report(c, path, "a reference into %s becomes a null reference: %s", file,
                        bkt_err_reason(&why, why.code));
    (void)H5Eclear2(H5E_DEFAULT);
}

static int translate_ref(struct bkt_copier *c, hid_t out, const char *path, const void *from, void *to)
{
    H5R_ref_t ref, made = no_reference;
    hid_t loc = H5I_INVALID_HID;
    const char *name = NULL;
    const bool old = is_old(out), expand = c->o->refs != BKT_REFS_FOLLOW;
    char file[4096];
    herr_t rc = -1;
    memcpy(&ref, from, sizeof ref);
    memset(to, 0, H5Tget_size(out));
    if (bkt_ref_is_null(&ref))
        return BKT_OK;
    if (!old && !expand && is_elsewhere(c, &ref, file, sizeof file)) {
        translate_outside(c, path, file, &ref, to);
        return BKT_OK;
    }
    BKT_PASS(target(c, &ref, &loc, &name));
    if (name)
        rc = old ? remade_old(loc, name, out, &ref, to) : bkt_copy_ref_again(loc, name, &ref, &made);
    if (rc < 0 && expand)
        return bkt_copy_failed(c, "making a reference");
    if (rc >= 0 && !old)
        memcpy(to, &made, sizeof made);
    (void)H5Eclear2(H5E_DEFAULT);
    if (rc < 0)
        bkt_copy_report(c, path, "a reference to an object outside the file becomes a null reference");
    return BKT_OK;
}

/* ---- values ---- */

static int translate(struct bkt_copier *c, hid_t in, hid_t out, const char *path, const char *from, char *to);

static int translate_list(struct bkt_copier *c, hid_t in, hid_t out, const char *path, const char *from,
                          char *to, size_t n)
{
    size_t a = H5Tget_size(in), b = H5Tget_size(out);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(translate(c, in, out, path, from + i * a, to + i * b));
    return BKT_OK;
}

static int translate_nested(struct bkt_copier *c, hid_t in, hid_t out, const char *path, const char *from,
                            char *to)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t a = H5Tget_super(in), b = H5Tget_super(out);
    if (H5Tget_class(in) == H5T_ARRAY) {
        size_t n = H5Tget_size(in) / H5Tget_size(a);
        return translate_list(c, a, b, path, from, to, n);
    }
    hvl_t v, w = {0};
    memcpy(&v, from, sizeof v);
    w.len = v.len;
    if (v.len && !(w.p = calloc(v.len, H5Tget_size(b))))
        BKT_NOMEM(c->err);
    memcpy(to, &w, sizeof w);
    return translate_list(c, a, b, path, v.p, w.p, v.len);
}

static int translate(struct bkt_copier *c, hid_t in, hid_t out, const char *path, const char *from, char *to)
{
    H5T_class_t cls = H5Tget_class(in);
    if (cls == H5T_REFERENCE) {
        return translate_ref(c, out, path, from, to);
    } else if (H5Tdetect_class(in, H5T_REFERENCE) <= 0) {
        memcpy(to, from, H5Tget_size(in)); /* vlen parts without references are shared with the values read */
    } else if (cls == H5T_COMPOUND) {
        int n = H5Tget_nmembers(in);
        for (int i = 0; i < n; i++) {
            unsigned k = (unsigned)i;
            BKT_CLEANUP(bkt_hid_closep) hid_t a = H5Tget_member_type(in, k), b = H5Tget_member_type(out, k);
            BKT_PASS(translate(c, a, b, path, from + H5Tget_member_offset(in, k),
                               to + H5Tget_member_offset(out, k)));
        }
    } else {
        return translate_nested(c, in, out, path, from, to);
    }
    return BKT_OK;
}

int bkt_copy_translate(struct bkt_copier *c, struct bkt_copy_values *v, const char *path)
{
    return v->translated ? translate_list(c, v->in, v->out, path, v->from, v->to, v->n) : BKT_OK;
}

/* Frees what translate() made: references, and the lists that hold some.  Shared parts belong to the values
 * read. */
static void reclaim_made(hid_t type, char *p)
{
    H5T_class_t cls = H5Tget_class(type);
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0)
        return;
    if (cls == H5T_REFERENCE) {
        H5R_ref_t ref;
        if (is_old(type))
            return;
        memcpy(&ref, p, sizeof ref);
        if (!bkt_ref_is_null(&ref))
            (void)H5Rdestroy(&ref);
        return;
    }
    if (cls == H5T_COMPOUND) {
        for (int i = 0; i < H5Tget_nmembers(type); i++) {
            BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
            reclaim_made(m, p + H5Tget_member_offset(type, (unsigned)i));
        }
        return;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    size_t size = H5Tget_size(base), n = H5Tget_size(type) / size;
    char *at = p;
    hvl_t v = {0};
    if (cls == H5T_VLEN) {
        memcpy(&v, p, sizeof v);
        at = v.p, n = v.len;
    }
    for (size_t i = 0; i < n; i++)
        reclaim_made(base, at + i * size);
    free(v.p);
}

void bkt_copy_values_drop(struct bkt_copy_values *v)
{
    size_t size = v->translated && v->to ? H5Tget_size(v->out) : 0;
    for (size_t i = 0; size && i < v->n; i++)
        reclaim_made(v->out, (char *)v->to + i * size);
    if (v->from && v->has_pointers)
        (void)H5Treclaim(v->in, v->space, H5P_DEFAULT, v->from);
    if (v->to != v->from)
        free(v->to);
    free(v->from);
    v->from = v->to = NULL;
}

void bkt_copy_values_fini(struct bkt_copy_values *v)
{
    bkt_copy_values_drop(v);
    bkt_hid_closep(&v->in);
    bkt_hid_closep(&v->out);
}
