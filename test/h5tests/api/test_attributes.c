/* Attributes: by name, by index, by creation order; types, spaces, values in every memory type that fits. */
#include "h5tests/helpers/compare.h"

static herr_t one_name(hid_t loc, const char *name, const H5A_info_t *info, void *op_data)
{
    (void)loc;
    say(op_data, "'%s' cset %d data size %llu", name, info->cset, (unsigned long long)info->data_size);
    return 0;
}

/* The data size of variable-length values is that of the native heap's references; HDF5 leaves it to the file. */
static herr_t one_attribute(hid_t loc, const char *name, const H5A_info_t *info, void *op_data)
{
    struct out *o    = op_data;
    hid_t       attr = H5Aopen(loc, name, H5P_DEFAULT);
    (void)info;
    say(o, "attribute '%s' opens %d", name, attr >= 0);
    if (attr < 0)
        return 0;
    hid_t   type = H5Aget_type(attr), space = H5Aget_space(attr), mem = H5Tget_native_type(type, H5T_DIR_ASCEND);
    size_t  n    = (size_t)H5Sget_simple_extent_npoints(space), size = H5Tget_size(mem);
    bool    flat = !H5Tdetect_class(type, H5T_VLEN) && !H5Tdetect_class(type, H5T_REFERENCE) && H5Tis_variable_str(type) <= 0;
    char    self[64] = "";
    say_type(o, type);
    say_space(o, space);
    say(o, "name %zd %s", H5Aget_name(attr, sizeof self, self), self);
    say(o, "storage is there %d", (H5Aget_storage_size(attr) > 0) == (n > 0));
    if (n && flat && !(H5Tget_class(type) == H5T_COMPOUND && H5Tdetect_class(type, H5T_STRING))) {
        void *buf = calloc(n, size);
        say(o, "read %d", H5Aread(attr, mem, buf));
        say_bytes(o, "value", buf, n * size);
        free(buf);
    }
    if (n && H5Tget_class(type) == H5T_STRING && !flat) {
        char **text = calloc(n, sizeof *text);
        herr_t rc   = H5Aread(attr, mem, text);
        say(o, "read %d", rc);
        for (size_t i = 0; rc >= 0 && i < n; i++)
            say(o, "'%s'", text[i] ? text[i] : "(null)");
        H5Treclaim(mem, space, H5P_DEFAULT, text);
        free(text);
    }
    if (n && H5Tget_class(type) == H5T_VLEN && !H5Tdetect_class(type, H5T_REFERENCE)) {
        hid_t  super = H5Tget_super(mem);
        hvl_t *list  = calloc(n, sizeof *list);
        say(o, "read %d", H5Aread(attr, mem, list));
        for (size_t i = 0; i < n; i++)
            say_bytes(o, "list", list[i].p, list[i].len * H5Tget_size(super));
        H5Treclaim(mem, space, H5P_DEFAULT, list);
        free(list);
        H5Tclose(super);
    }
    H5Tclose(mem);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    H5Eclear2(H5E_DEFAULT);
    return 0;
}

static void all_on(hid_t file, struct out *o, const char *path)
{
    hid_t   obj = H5Oopen(file, path, H5P_DEFAULT);
    hsize_t idx = 0;
    say(o, "%s opens %d", path, obj >= 0);
    if (obj < 0)
        return;
    say(o, "iterate %d", H5Aiterate2(obj, H5_INDEX_NAME, H5_ITER_INC, &idx, one_attribute, o));
    say(o, "index %llu, of %d", (unsigned long long)idx, H5Aget_num_attrs(obj));
    H5Oclose(obj);
}

static void all_values(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/", "/ds", "/g1", "/g1/inner", "/named"};
    for (size_t i = 0; i < COUNT(paths); i++)
        all_on(file, o, paths[i]);
}

static void root_values(hid_t file, struct out *o) { all_on(file, o, "/"); }

static void converted(hid_t file, struct out *o)
{
    static const char *const names[] = {"i1le", "u8le", "f4le", "f8be", "i2be", "i4le"};
    hid_t                    types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_INT, H5T_STD_U16BE, H5T_NATIVE_LLONG};
    struct seen {
        char name[64];
    };
    hsize_t n = (hsize_t)H5Aget_num_attrs(file);
    (void)names;
    for (hsize_t i = 0; i < n; i++) {
        hid_t       attr = H5Aopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        hid_t       type = H5Aget_type(attr), space = H5Aget_space(attr);
        H5T_class_t class = H5Tget_class(type);
        size_t      count = (size_t)H5Sget_simple_extent_npoints(space);
        for (size_t k = 0; k < COUNT(types) && (class == H5T_INTEGER || class == H5T_FLOAT) && count; k++) {
            void *buf = calloc(count, 8);
            say(o, "%llu as %zu: %d", (unsigned long long)i, k, H5Aread(attr, types[k], buf));
            say_bytes(o, "value", buf, count * H5Tget_size(types[k]));
            free(buf);
        }
        H5Tclose(type);
        H5Sclose(space);
        H5Aclose(attr);
        H5Eclear2(H5E_DEFAULT);
    }
}

static void by_index(hid_t file, struct out *o)
{
    static const H5_index_t      by[]    = {H5_INDEX_NAME, H5_INDEX_CRT_ORDER};
    static const H5_iter_order_t order[] = {H5_ITER_INC, H5_ITER_DEC};
    int                          n       = H5Aget_num_attrs(file);
    for (int b = 0; b < 2; b++)
        for (int r = 0; r < 2; r++)
            for (hsize_t i = 0; i < (hsize_t)n + 1; i++) {
                char       name[128] = "";
                H5A_info_t info      = {0};
                ssize_t len = H5Aget_name_by_idx(file, ".", by[b], order[r], i, name, sizeof name, H5P_DEFAULT);
                say(o, "%d %d %llu: %zd %s", b, r, (unsigned long long)i, len, name);
                herr_t rc = H5Aget_info_by_idx(file, ".", by[b], order[r], i, &info, H5P_DEFAULT);
                say(o, "info %d order %d %u", rc, info.corder_valid, info.corder_valid ? info.corder : 0);
                H5Eclear2(H5E_DEFAULT);
            }
}

static void restart(hid_t file, struct out *o)
{
    hsize_t idx = 2;
    say(o, "from 2: %d", H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, &idx, one_attribute, o));
    idx = 1;
    say(o, "down from 1: %d",
        H5Aiterate_by_name(file, "/", H5_INDEX_NAME, H5_ITER_DEC, &idx, one_attribute, o, H5P_DEFAULT));
    idx = 100000;
    say(o, "past the end fails: %d", H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, &idx, one_name, o) < 0);
    H5Eclear2(H5E_DEFAULT);
}

static void absent(hid_t file, struct out *o)
{
    say(o, "exists %d", H5Aexists(file, "none"));
    say(o, "by name %d", H5Aexists_by_name(file, "/ds", "none", H5P_DEFAULT));
    say(o, "entries %zd", H5Eget_num(H5E_DEFAULT));
    say(o, "opens %d", H5Aopen(file, "none", H5P_DEFAULT) >= 0);
    H5Eclear2(H5E_DEFAULT);
    say(o, "on nothing %d", H5Aexists_by_name(file, "/nothing", "none", H5P_DEFAULT) < 0);
    H5Eclear2(H5E_DEFAULT);
}

static void created_order(hid_t file, struct out *o)
{
    hsize_t idx = 0;
    say(o, "by order %d", H5Aiterate2(file, H5_INDEX_CRT_ORDER, H5_ITER_INC, &idx, one_attribute, o));
    idx = 0;
    say(o, "down %d", H5Aiterate2(file, H5_INDEX_CRT_ORDER, H5_ITER_DEC, &idx, one_attribute, o));
    idx = 0;
    struct out any = {0}; /* in whatever order */
    say(o, "native %d", H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, &idx, one_name, &any) >= 0);
    say(o, "%llu of them, %zu bytes", (unsigned long long)idx, any.len);
    free(any.text);
}

static const struct test_case cases[] = {
    {"every attribute's type, space and value", "attrs.h5", all_values},
    {"numbers convert", "attrs.h5", converted},
    {"by index", "tracked.h5", by_index},
    {"by index, without tracking", "attrs.h5", restart},
    {"absent attributes", "attrs.h5", absent},
    {"by creation order", "tracked.h5", created_order},
    {"h5pyd's attributes", "highlevel.h5", root_values},
    {"big-endian and strings of hsload", "hsload/tattrintsize.h5", root_values},
    {"v1 ids", "schema1.h5", root_values},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
