/* Datatypes: committed or not, and references to objects. */
#include "h5tests/helpers/compare.h"

static herr_t one_type(hid_t loc, const char *name, const H5O_info2_t *info, void *op_data)
{
    struct out *o  = op_data;
    hid_t       id = H5Oopen(loc, name, H5P_DEFAULT);
    (void)info;
    if (H5Iget_type(id) == H5I_DATATYPE) {
        char path[64] = "";
        say(o, "committed type %s: %d", name, H5Tcommitted(id));
        H5Iget_name(id, path, sizeof path);
        say(o, "name %s", path);
        say_type(o, id);
        hid_t copy = H5Tcopy(id);
        say(o, "copy is committed %d equal %d", H5Tcommitted(copy), H5Tequal(copy, id));
        H5Tclose(copy);
        hid_t tcpl = H5Tget_create_plist(id);
        say(o, "creation properties %d", tcpl >= 0);
        H5Pclose(tcpl);
        say(o, "flush %d refresh %d", H5Tflush(id), H5Trefresh(id));
    } else if (H5Iget_type(id) == H5I_DATASET) {
        hid_t t = H5Dget_type(id);
        say(o, "type of %s, committed %d", name, H5Tcommitted(t));
        say_type(o, t);
        hid_t native = H5Tget_native_type(t, H5T_DIR_ASCEND);
        say(o, "native size %zu", native >= 0 ? H5Tget_size(native) : 0);
        if (native >= 0)
            H5Tclose(native);
        if (H5Tcommitted(t) > 0) {
            H5O_info2_t there;
            say(o, "its object %d", H5Oget_info3(t, &there, H5O_INFO_BASIC));
            say(o, "type %d", there.type);
        }
        H5Tclose(t);
    }
    H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    return 0;
}

static void all_types(hid_t file, struct out *o)
{
    say(o, "%d", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, one_type, o, H5O_INFO_BASIC));
}

static void committed_is_one_object(hid_t file, struct out *o)
{
    hid_t       d = H5Dopen2(file, "/ct_point", H5P_DEFAULT), t = H5Dget_type(d);
    H5O_info2_t a, b;
    int         cmp = 9;
    say(o, "type %d", H5Oget_info3(t, &a, H5O_INFO_BASIC));
    say(o, "by name %d", H5Oget_info_by_name3(file, "/grp/point", &b, H5O_INFO_BASIC, H5P_DEFAULT));
    H5Otoken_cmp(file, &a.token, &b.token, &cmp);
    say(o, "the same %d", cmp == 0);
    say(o, "count %zd", H5Fget_obj_count(file, H5F_OBJ_DATATYPE));
    H5Tclose(t);
    H5Dclose(d);
    t = H5Topen2(file, "/grp/point", H5P_DEFAULT);
    say(o, "opens %d", t >= 0);
    H5Tclose(t);
    say(o, "a dataset is no type %d", H5Topen2(file, "/ct_point", H5P_DEFAULT) < 0);
    say(o, "a type is no group %d", H5Gopen2(file, "/grp/point", H5P_DEFAULT) < 0);
    say(o, "a group is no dataset %d", H5Dopen2(file, "/grp", H5P_DEFAULT) < 0);
    H5Eclear2(H5E_DEFAULT);
}

/* Stored old references, read as new ones: HDF5 refuses to follow old ones for any connector but its own. */
static void old_references(hid_t file, struct out *o, const char *path, size_t n)
{
    H5R_ref_t *ref = calloc(n, sizeof *ref);
    hid_t      d   = H5Dopen2(file, path, H5P_DEFAULT);
    say(o, "%s opens %d", path, d >= 0);
    say(o, "read %d", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, ref));
    for (size_t i = 0; i < n; i++) {
        H5O_type_t type      = H5O_TYPE_UNKNOWN;
        char       name[128] = "";
        hid_t      obj       = H5Ropen_object(&ref[i], H5P_DEFAULT, H5P_DEFAULT);
        say(o, "%zu: kind %d, opens %d", i, H5Rget_type(&ref[i]), obj >= 0);
        if (obj >= 0) {
            H5Rget_obj_type3(&ref[i], H5P_DEFAULT, &type);
            H5Iget_name(obj, name, sizeof name);
            say(o, "type %d as %s kind %d", type, name, H5Iget_type(obj));
            H5Oclose(obj);
        }
        H5Rdestroy(&ref[i]);
        H5Eclear2(H5E_DEFAULT);
    }
    free(ref);
    H5Dclose(d);
}

/* The same by the calls of HDF5 1.8, as h5py and the high-level library make them. */
static void by_old_calls(hid_t file, struct out *o, const char *path, size_t n)
{
    hobj_ref_t *ref = calloc(n, sizeof *ref);
    hid_t       d   = H5Dopen2(file, path, H5P_DEFAULT);
    say(o, "read %d", H5Dread(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, ref));
    for (size_t i = 0; i < n; i++) {
        H5O_type_t type      = H5O_TYPE_UNKNOWN;
        char       name[128] = "";
        herr_t     rc        = H5Rget_obj_type2(d, H5R_OBJECT, &ref[i], &type);
        hid_t      obj       = H5Rdereference2(d, H5P_DEFAULT, H5R_OBJECT, &ref[i]);
        say(o, "%zu: type %d, opens %d", i, rc >= 0 ? (int)type : -1, obj >= 0);
        if (obj >= 0) {
            ssize_t len = H5Rget_name(d, H5R_OBJECT, &ref[i], name, sizeof name);
            say(o, "name %zd %s", len, name);
            H5Oclose(obj);
        }
        H5Eclear2(H5E_DEFAULT);
    }
    free(ref);
    H5Dclose(d);
}

static void references(hid_t file, struct out *o)
{
    old_references(file, o, "/ref_2d", 6);
    old_references(file, o, "/ref_scalar", 1);
    by_old_calls(file, o, "/ref_2d", 6);
    by_old_calls(file, o, "/ref_scalar", 1);
}

static void hsload_references(hid_t file, struct out *o) { old_references(file, o, "/Dataset3", 4); }

/* H5DSset_scale's attributes: lists of references, and the back references in a compound. */
struct index_ref {
    H5R_ref_t ref;
    int       dimension;
};

static void say_target(struct out *o, const char *what, H5R_ref_t *ref)
{
    hid_t obj      = H5Ropen_object(ref, H5P_DEFAULT, H5P_DEFAULT);
    char  name[64] = "";
    H5Iget_name(obj, name, sizeof name);
    say(o, "%s %s", what, name);
    H5Oclose(obj);
    H5Rdestroy(ref);
}

static void scales(hid_t file, struct out *o)
{
    hid_t d = H5Dopen2(file, "/temp", H5P_DEFAULT), a = H5Aopen(d, "DIMENSION_LIST", H5P_DEFAULT), t = H5Tvlen_create(H5T_STD_REF);
    hvl_t list[2] = {0};
    say(o, "read %d", H5Aread(a, t, list));
    for (int i = 0; i < 2; i++) {
        say(o, "dimension %d has %zu", i, list[i].len);
        for (size_t k = 0; k < list[i].len; k++)
            say_target(o, "scale", (H5R_ref_t *)list[i].p + k);
        free(list[i].p);
    }
    H5Tclose(t);
    H5Aclose(a);
    H5Dclose(d);
    d = H5Dopen2(file, "/lat", H5P_DEFAULT);
    a = H5Aopen(d, "REFERENCE_LIST", H5P_DEFAULT);
    t = H5Tcreate(H5T_COMPOUND, sizeof(struct index_ref));
    hid_t            s = H5Aget_space(a), stored = H5Aget_type(a);
    struct index_ref back[8] = {0};
    hssize_t         n       = H5Sget_simple_extent_npoints(s);
    const char      *member  = H5Tget_member_index(stored, "index") >= 0 ? "index" : "dimension"; /* h5pyd's name and HDF5's */
    H5Eclear2(H5E_DEFAULT);
    H5Tinsert(t, "dataset", offsetof(struct index_ref, ref), H5T_STD_REF);
    H5Tinsert(t, member, offsetof(struct index_ref, dimension), H5T_NATIVE_INT);
    say(o, "%lld back references, read %d", (long long)n, n <= 8 ? H5Aread(a, t, back) : -9);
    for (hssize_t i = 0; i < n && i < 8; i++) {
        say_target(o, "used by", &back[i].ref);
        say(o, "as %d", back[i].dimension);
    }
    H5Tclose(stored);
    H5Sclose(s);
    H5Tclose(t);
    H5Aclose(a);
    H5Dclose(d);
}

/* New references made by the program, of objects that the connector serves. */
static void new_references(hid_t file, struct out *o)
{
    H5R_ref_t  ref, copy;
    H5O_type_t type;
    char       name[64] = "";
    say(o, "create %d", H5Rcreate_object(file, "/cmp_nested", H5P_DEFAULT, &ref));
    say(o, "type %d %d", H5Rget_type(&ref), H5Rget_obj_type3(&ref, H5P_DEFAULT, &type) >= 0 ? (int)type : -9);
    hid_t obj = H5Ropen_object(&ref, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "opens %d", H5Iget_type(obj));
    H5Oclose(obj);
    say(o, "name %zd", H5Rget_obj_name(&ref, H5P_DEFAULT, name, sizeof name));
    say(o, "%s", name);
    say(o, "copy %d equal %d", H5Rcopy(&ref, &copy), H5Requal(&ref, &copy));
    H5Rdestroy(&copy);
    H5Rdestroy(&ref);
    H5Eclear2(H5E_DEFAULT);
}

static const struct test_case cases[] = {
    {"every type of every object", "types.h5", all_types},
    {"compounds within compounds", "special.h5", all_types},
    {"v1 ids", "schema1.h5", all_types},
    {"a committed type is one object", "types.h5", committed_is_one_object},
    {"object references", "types.h5", references},
    {"object references of hsload", "hsload/tobjref.h5", hsload_references},
    {"dimension scales", "dimscales.h5", scales},
    {"references made by the program", "types.h5", new_references},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
