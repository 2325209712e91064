/* Values with references in them: read as H5R_ref_t, followed, made again for the object's copy. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/tree/tree_impl.h"

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
            h5_closep(&out);
        off += (H5Tget_size(members[i]) + 7) / 8 * 8;
        (void)H5free_memory(name);
    }
    return out;
}

static hid_t rebuilt_compound(hid_t type, hid_t (*leaf)(hid_t))
{
    int                        n       = H5Tget_nmembers(type), made = 0;
    BKT_CLEANUP(bkt_freep) hid_t *members = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *members);
    hid_t                      out     = H5I_INVALID_HID;
    if (!members)
        return out;
    for (; made < n; made++) {
        BKT_CLEANUP(h5_closep) hid_t m = H5Tget_member_type(type, (unsigned)made);
        if ((members[made] = rebuilt(m, leaf)) < 0)
            break;
    }
    if (made == n)
        out = compound_of(type, members, n);
    while (made > 0)
        h5_closep(&members[--made]);
    return out;
}

/* The type with every reference replaced; parts without any stay as they are. */
static hid_t rebuilt(hid_t type, hid_t (*leaf)(hid_t))
{
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0)
        return H5Tcopy(type);
    H5T_class_t cls = H5Tget_class(type);
    if (cls == H5T_REFERENCE)
        return leaf(type);
    if (cls == H5T_COMPOUND)
        return rebuilt_compound(type, leaf);
    BKT_CLEANUP(h5_closep) hid_t super = H5Tget_super(type);
    BKT_CLEANUP(h5_closep) hid_t base  = rebuilt(super, leaf);
    hsize_t                      dims[H5S_MAX_RANK];
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

static bool is_old(hid_t type) { return H5Tequal(type, H5T_STD_REF_OBJ) > 0 || H5Tequal(type, H5T_STD_REF_DSETREG) > 0; }

static hid_t leaf_stored(hid_t type) { return H5Tcopy(is_old(type) ? type : H5T_STD_REF); }

/* Variable-length strings inside others aren't what H5Tdetect_class() calls variable-length. */
bool tree_is_var(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    if (cls == H5T_VLEN || H5Tis_variable_str(type) > 0)
        return true;
    if (cls == H5T_ARRAY) {
        BKT_CLEANUP(h5_closep) hid_t base = H5Tget_super(type);
        return tree_is_var(base);
    }
    for (int i = 0; cls == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(h5_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
        if (tree_is_var(m))
            return true;
    }
    return false;
}

int tree_mem_of(const struct tree *t, hid_t stored, struct tree_mem *m, struct bkt_err *err)
{
    m->has_ref = H5Tdetect_class(stored, H5T_REFERENCE) > 0;
    m->is_var  = m->has_ref || tree_is_var(stored);
    m->in      = m->has_ref ? rebuilt(stored, leaf_new) : H5Tcopy(stored);
    m->out     = m->has_ref && t->o->dst_native ? rebuilt(stored, leaf_stored) : m->in >= 0 ? H5Tcopy(m->in) : -1;
    return m->in < 0 || m->out < 0 ? h5_fail(err, "making a memory type") : BKT_OK;
}

void tree_mem_fini(struct tree_mem *m)
{
    h5_closep(&m->in);
    h5_closep(&m->out);
}

/* ---- one reference ---- */

static const H5R_ref_t no_reference;

static bool is_null(const H5R_ref_t *ref)
{
    for (size_t i = 0; i < sizeof ref->u; i++)
        if (ref->u.__data[i])
            return false;
    return true;
}

/* Finds the copy of the object that @p ref leads to: a location, and the name from there.  False: there is no
 * copy of it. */
static bool target(struct tree *t, const H5R_ref_t *ref, hid_t *loc, const char **name)
{
    BKT_CLEANUP(h5_closep) hid_t obj = H5Ropen_object((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT);
    struct tree_place           *p   = obj < 0 ? NULL : tree_place_of(t, obj);
    if (!p)
        return false;
    *loc  = p->path ? t->dst : p->held;
    *name = p->path ? p->path : ".";
    return true;
}

static herr_t attr_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to)
{
    ssize_t                      n    = H5Rget_attr_name(from, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *attr = n < 0 ? NULL : malloc((size_t)n + 1);
    return !attr || H5Rget_attr_name(from, attr, (size_t)n + 1) < 0 ? -1 : H5Rcreate_attr(loc, name, attr, H5P_DEFAULT, to);
}

herr_t tree_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to)
{
    BKT_CLEANUP(h5_closep) hid_t region = H5I_INVALID_HID;
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
    BKT_CLEANUP(h5_closep) hid_t region = H5Ropen_region((H5R_ref_t *)(uintptr_t)from, H5P_DEFAULT, H5P_DEFAULT);
    return region < 0 ? -1 : H5Rcreate(to, loc, name, H5R_DATASET_REGION, region);
}

/* A reference into another file names that file. */
static bool is_elsewhere(const struct tree *t, const H5R_ref_t *ref, char *there, size_t size)
{
    char    here[4096];
    ssize_t n = H5Rget_file_name(ref, there, size), m = H5Fget_name(t->src, here, sizeof here);
    return n > 0 && m > 0 && strcmp(there, here) != 0;
}

static void translate_outside(struct tree *t, const char *path, const char *file, const H5R_ref_t *from, void *to)
{
    H5R_ref_t      made = no_reference;
    struct bkt_err why  = {.n = 0};
    if (tree_outside(t, from, file, &made, &why) == BKT_OK)
        memcpy(to, &made, sizeof made);
    else
        tree_tell(t, path, "a reference into %s becomes a null reference: %s", file, why.n ? why.frame[0].msg : bkt_err_text(why.code));
    (void)H5Eclear2(H5E_DEFAULT);
}

static void translate_ref(struct tree *t, hid_t out, const char *path, const void *from, void *to)
{
    H5R_ref_t   ref;
    hid_t       loc;
    const char *name;
    char        file[4096];
    memcpy(&ref, from, sizeof ref);
    memset(to, 0, H5Tget_size(out));
    if (is_null(&ref))
        return;
    bool   old = is_old(out);
    herr_t rc  = -1;
    if (!old && is_elsewhere(t, &ref, file, sizeof file)) {
        translate_outside(t, path, file, &ref, to);
        return;
    }
    if (target(t, &ref, &loc, &name)) {
        H5R_ref_t made = no_reference;
        rc = old ? remade_old(loc, name, out, &ref, to) : tree_ref_again(loc, name, &ref, &made);
        if (rc >= 0 && !old)
            memcpy(to, &made, sizeof made);
    }
    (void)H5Eclear2(H5E_DEFAULT);
    if (rc < 0)
        tree_tell(t, path, "a reference to an object outside the file becomes a null reference");
}

/* ---- values ---- */

static int translate(struct tree *t, hid_t in, hid_t out, const char *path, const char *from, char *to, struct bkt_err *err);

static int translate_list(struct tree *t, hid_t in, hid_t out, const char *path, const char *from, char *to, size_t n, struct bkt_err *err)
{
    size_t a = H5Tget_size(in), b = H5Tget_size(out);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(translate(t, in, out, path, from + i * a, to + i * b, err));
    return BKT_OK;
}

static int translate_nested(struct tree *t, hid_t in, hid_t out, const char *path, const char *from, char *to, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t a = H5Tget_super(in), b = H5Tget_super(out);
    if (H5Tget_class(in) == H5T_ARRAY) {
        size_t n = H5Tget_size(in) / H5Tget_size(a);
        return translate_list(t, a, b, path, from, to, n, err);
    }
    hvl_t v, w = {0};
    memcpy(&v, from, sizeof v);
    w.len = v.len;
    if (v.len && !(w.p = calloc(v.len, H5Tget_size(b))))
        BKT_NOMEM(err);
    memcpy(to, &w, sizeof w);
    return translate_list(t, a, b, path, v.p, w.p, v.len, err);
}

static int translate(struct tree *t, hid_t in, hid_t out, const char *path, const char *from, char *to, struct bkt_err *err)
{
    H5T_class_t cls = H5Tget_class(in);
    if (cls == H5T_REFERENCE) {
        translate_ref(t, out, path, from, to);
    } else if (H5Tdetect_class(in, H5T_REFERENCE) <= 0) {
        memcpy(to, from, H5Tget_size(in)); /* vlen parts without references are shared with what was read */
    } else if (cls == H5T_COMPOUND) {
        int n = H5Tget_nmembers(in);
        for (int i = 0; i < n; i++) {
            unsigned                     k = (unsigned)i;
            BKT_CLEANUP(h5_closep) hid_t a = H5Tget_member_type(in, k), b = H5Tget_member_type(out, k);
            BKT_PASS(translate(t, a, b, path, from + H5Tget_member_offset(in, k), to + H5Tget_member_offset(out, k), err));
        }
    } else {
        return translate_nested(t, in, out, path, from, to, err);
    }
    return BKT_OK;
}

int tree_translate(struct tree *t, const struct tree_mem *m, const char *path, const void *from, void *to, size_t n, struct bkt_err *err)
{
    return translate_list(t, m->in, m->out, path, from, to, n, err);
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
        if (!is_null(&ref))
            (void)H5Rdestroy(&ref);
        return;
    }
    if (cls == H5T_COMPOUND) {
        for (int i = 0; i < H5Tget_nmembers(type); i++) {
            BKT_CLEANUP(h5_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
            reclaim_made(m, p + H5Tget_member_offset(type, (unsigned)i));
        }
        return;
    }
    BKT_CLEANUP(h5_closep) hid_t base = H5Tget_super(type);
    size_t                       size = H5Tget_size(base), n = H5Tget_size(type) / size;
    char                        *at   = p;
    hvl_t                        v    = {0};
    if (cls == H5T_VLEN) {
        memcpy(&v, p, sizeof v);
        at = v.p, n = v.len;
    }
    for (size_t i = 0; i < n; i++)
        reclaim_made(base, at + i * size);
    free(v.p);
}

void tree_reclaim(const struct tree_mem *m, hid_t space, void *from, void *to, size_t n)
{
    size_t size = H5Tget_size(m->out);
    for (size_t i = 0; to && m->has_ref && i < n; i++)
        reclaim_made(m->out, (char *)to + i * size);
    if (m->is_var)
        (void)H5Treclaim(m->in, space, H5P_DEFAULT, from);
}
