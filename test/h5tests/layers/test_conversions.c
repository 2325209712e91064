/* HDF5's types, values, dataspaces and creation lists to the model and back, through the schema's JSON. */
#include <hdf5.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>

#include <cmocka.h>

#include "vol/convert/values_to_memory.h"
#include "h5tests/helpers/type_zoo.h"

#define N 37

static void ok(int rc, const struct bkt_err *err, const char *what)
{
    if (rc < 0)
        fail_msg("%s: %s", what, err->n ? err->frame[0].msg : "?");
}

static bool same_names(hid_t a, hid_t b)
{
    bool same = true;
    if (H5Tget_class(a) != H5T_COMPOUND && H5Tget_class(a) != H5T_ENUM)
        return true;
    for (unsigned i = 0; same && i < (unsigned)H5Tget_nmembers(a); i++) {
        char *x = H5Tget_member_name(a, i), *y = H5Tget_member_name(b, i);
        same = strcmp(x, y) == 0;
        H5free_memory(x);
        H5free_memory(y);
    }
    return same;
}

static void types(void **state)
{
    (void)state;
    for (size_t i = 0; i < zoo_size; i++) {
        struct bkt_err   err  = {.n = 0};
        hid_t            type = zoo[i].make(), back = -1;
        struct bkt_type *t = NULL;
        assert_true(type >= 0);
        ok(bkt_convert_from_type(NULL, type, &t, &err), &err, zoo[i].name);
        ok(bkt_convert_type(t, &back, &err), &err, zoo[i].name);
        if (H5Tequal(type, back) <= 0 || !same_names(type, back))
            fail_msg("%s comes back different", zoo[i].name);
        if ((t->encoded.len == 0) != zoo[i].exact)
            fail_msg("%s: %zu bytes of HDF5's encoding", zoo[i].name, t->encoded.len);
        if (bkt_type_has_refs(t) !=
            (H5Tdetect_class(type, H5T_REFERENCE) > 0)) /* also where one lies in a list */
            fail_msg("%s: references are not distinguished from text", zoo[i].name);
        H5Tclose(back);
        H5Tclose(type);
        bkt_type_free(t);
    }
}

static void cut(const struct bkt_type *t, const struct bkt_buf *b, struct bkt_slice *out)
{
    struct bkt_err err = {.n = 0};
    struct bkt_rd  rd  = bkt_rd_of(b->ptr, b->len);
    ok(bkt_value_column_cut(t, &rd, N, out, &err), &err, "cutting");
    assert_int_equal(bkt_rd_left(&rd), 0);
}

static void values(void **state)
{
    (void)state;
    for (size_t i = 0; i < zoo_size; i++) {
        struct bkt_err   err    = {.n = 0};
        struct bkt_buf   stored = {0};
        struct bkt_type *t      = NULL;
        hid_t            type = zoo[i].make(), space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
        void            *in = calloc(N, H5Tget_size(type)), *out = calloc(N, H5Tget_size(type));
        struct bkt_slice slices[N];
        zoo_fill(type, in, N, (unsigned)i);
        ok(bkt_convert_from_type(NULL, type, &t, &err), &err, zoo[i].name);
        struct bkt_conversion v = {NULL, t, type, type, H5P_DEFAULT};
        ok(bkt_convert_store(&v, in, N, NULL, &stored, &err), &err, zoo[i].name);
        cut(t, &stored, slices);
        struct bkt_slice all = {stored.ptr, stored.len};
        ok(bkt_convert_values(&v, &all, N, out, &err), &err, zoo[i].name);
        if (!zoo_same(type, in, out, N))
            fail_msg("values of %s come back different", zoo[i].name);
        H5Treclaim(type, space, H5P_DEFAULT, in);
        H5Treclaim(type, space, H5P_DEFAULT, out);
        free(in);
        free(out);
        H5Sclose(space);
        H5Tclose(type);
        bkt_type_free(t);
        bkt_buf_fini(&stored);
    }
}

/* A write of some fields keeps the others. */
struct part {
    int   n;
    float x;
};

static void partial(void **state)
{
    struct bkt_err   err  = {.n = 0};
    hid_t            full = -1, mem = H5Tcreate(H5T_COMPOUND, sizeof(struct part));
    struct bkt_type *t    = NULL;
    (void)state;
    for (size_t i = 0; i < zoo_size; i++)
        if (strcmp(zoo[i].name, "with_var") == 0)
            full = zoo[i].make();
    H5Tinsert(mem, "n", offsetof(struct part, n), H5T_NATIVE_INT);
    H5Tinsert(mem, "x", offsetof(struct part, x), H5T_NATIVE_FLOAT);
    size_t            size = H5Tget_size(full);
    unsigned char    *in = calloc(N, size), *out = calloc(N, size);
    struct part       parts[N];
    struct bkt_buf    stored = {0};
    struct bkt_slice  slices[N];
    struct bkt_value_tree c;
    struct bkt_stored made = {0};
    zoo_fill(full, in, N, 5);
    for (int i = 0; i < N; i++)
        parts[i] = (struct part){i, (float)i / 2};
    ok(bkt_convert_from_type(NULL, full, &t, &err), &err, "type");
    struct bkt_conversion whole = {NULL, t, full, full, H5P_DEFAULT},
                          some = {NULL, t, full, mem, H5P_DEFAULT};
    ok(bkt_convert_store(&whole, in, N, NULL, &stored, &err), &err, "store");
    cut(t, &stored, slices);
    ok(bkt_value_tree_init_store(&c, &some, &err), &err, "match");
    assert_true(c.partial);
    struct bkt_value_column old = {.slices = slices};
    ok(bkt_value_tree_store(&c, &some, parts, N, &old, &made, &err), &err, "store parts");
    cut(t, &made.bytes, slices);
    struct bkt_slice all = {made.bytes.ptr, made.bytes.len};
    ok(bkt_convert_values(&whole, &all, N, out, &err), &err, "read");
    for (int i = 0; i < N; i++) { /* the written elements, in the file's type */
        int   n = parts[i].n;
        float x = parts[i].x;
        assert_true(H5Tconvert(H5T_NATIVE_INT, H5T_STD_I32LE, 1, &n, NULL, H5P_DEFAULT) >= 0);
        assert_true(H5Tconvert(H5T_NATIVE_FLOAT, H5T_IEEE_F32BE, 1, &x, NULL, H5P_DEFAULT) >= 0);
        memcpy(in + (size_t)i * size, &n, 4);
        memcpy(in + (size_t)i * size + 40, &x, 4);
    }
    assert_true(zoo_same(full, in, out, N));
    bkt_value_tree_fini(&c);
    bkt_stored_fini(&made);
    bkt_buf_fini(&stored);
    bkt_type_free(t);
    hid_t space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
    H5Treclaim(full, space, H5P_DEFAULT, in);
    H5Treclaim(full, space, H5P_DEFAULT, out);
    H5Sclose(space);
    free(in);
    free(out);
    H5Tclose(full);
    H5Tclose(mem);
}

/* ---- creation lists ---- */

static hid_t dcpl_plain(void) { return H5Pcreate(H5P_DATASET_CREATE); }
static hid_t dcpl_chunked(void)
{
    hid_t p = dcpl_plain();
    H5Pset_chunk(p, 2, (hsize_t[]){3, 5});
    return p;
}
static hid_t dcpl_gzip(void)
{
    hid_t p = dcpl_chunked();
    H5Pset_shuffle(p);
    H5Pset_deflate(p, 7);
    H5Pset_fletcher32(p);
    return p;
}
static hid_t dcpl_others(void)
{
    hid_t p = dcpl_chunked();
    H5Pset_scaleoffset(p, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    H5Pset_nbit(p);
    return p;
}
static hid_t dcpl_fill(void)
{
    int   v = -77;
    hid_t p = dcpl_chunked();
    H5Pset_fill_value(p, H5T_NATIVE_INT, &v);
    H5Pset_fill_time(p, H5D_FILL_TIME_ALLOC);
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    return p;
}
static hid_t dcpl_no_fill(void)
{
    hid_t p = dcpl_plain();
    H5Pset_fill_value(p, H5T_NATIVE_INT, NULL);
    H5Pset_fill_time(p, H5D_FILL_TIME_NEVER);
    return p;
}
static hid_t dcpl_compact(void)
{
    hid_t p = dcpl_plain();
    H5Pset_layout(p, H5D_COMPACT);
    return p;
}
static hid_t dcpl_orders(void)
{
    hid_t p = dcpl_plain();
    H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_phase_change(p, 100, 4);
    H5Pset_obj_track_times(p, false);
    return p;
}
static hid_t dcpl_external(void)
{
    hid_t p = dcpl_plain();
    H5Pset_external(p, "one.raw", 100, 400);
    H5Pset_external(p, "two.raw", 0, H5F_UNLIMITED);
    return p;
}
static hid_t dcpl_virtual(void)
{
    hid_t p = dcpl_plain(), s = H5Screate_simple(2, (hsize_t[]){10, 20}, NULL), f = H5Screate_simple(1, (hsize_t[]){20}, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){4, 0}, NULL, (hsize_t[]){1, 20}, NULL);
    H5Pset_virtual(p, s, "source.h5", "/x", f);
    H5Sclose(s);
    H5Sclose(f);
    return p;
}

static const struct {
    const char *name;
    hid_t (*make)(void);
    bool exact; /* no encoding of HDF5's beside the keys */
} lists[] = {{"plain", dcpl_plain, true},     {"chunked", dcpl_chunked, true}, {"gzip", dcpl_gzip, true},
             {"others", dcpl_others, true},   {"fill", dcpl_fill, true},       {"no fill", dcpl_no_fill, false},
             {"compact", dcpl_compact, true}, {"orders", dcpl_orders, true},   {"external", dcpl_external, false},
             {"virtual", dcpl_virtual, false}};

/* The creation list that HDF5's own connector returns for a dataset that was created with the list. */
static hid_t as_native(hid_t dcpl, hid_t space)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(fapl, 4096, false);
    hid_t f = H5Fcreate("in-memory", H5F_ACC_TRUNC, H5P_DEFAULT, fapl), d = H5Dcreate_anon(f, H5T_STD_I32LE, space, dcpl, H5P_DEFAULT);
    hid_t back = H5Dget_create_plist(d);
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
    assert_true(back >= 0);
    return back;
}

static void dataset_lists(void **state)
{
    hid_t space = H5Screate_simple(2, (hsize_t[]){10, 20}, NULL), type = H5Tcopy(H5T_STD_I32LE);
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct bkt_err     err  = {.n = 0};
        struct bkt_object *o    = bkt_object_make(BKT_DATASET);
        hid_t              list = lists[i].make(), want = as_native(list, space), back = -1;
        ok(bkt_convert_from_type(NULL, type, &o->dset.type, &err), &err, "type");
        ok(bkt_convert_from_space(space, &o->dset.space, &err), &err, "space");
        ok(bkt_convert_from_dcpl(NULL, list, type, type, space, o, &err), &err, lists[i].name);
        ok(bkt_convert_object_dcpl(NULL, o, type, &back, &err), &err, lists[i].name);
        if (H5Pequal(back, want) <= 0)
            fail_msg("list '%s' comes back different", lists[i].name);
        if ((o->cpl.len == 0) != lists[i].exact)
            fail_msg("list '%s': %zu bytes of HDF5's encoding", lists[i].name, o->cpl.len);
        H5Pclose(back);
        H5Pclose(want);
        H5Pclose(list);
        bkt_object_free(o);
    }
    H5Sclose(space);
    H5Tclose(type);
}

/* Fill values with pointers in them */
static void fill_values(void **state)
{
    hid_t space = H5Screate_simple(1, (hsize_t[]){10}, NULL), one = H5Screate(H5S_SCALAR);
    (void)state;
    for (size_t i = 0; i < zoo_size; i++) {
        struct bkt_err     err  = {.n = 0};
        struct bkt_object *o    = bkt_object_make(BKT_DATASET);
        hid_t              type = zoo[i].make(), list = H5Pcreate(H5P_DATASET_CREATE), back = -1;
        void              *in = calloc(1, H5Tget_size(type)), *out = calloc(1, H5Tget_size(type));
        zoo_fill(type, in, 1, 3);
        H5Pset_fill_value(list, type, in);
        H5Pset_attr_phase_change(list, 70000 % 65535, 2);
        H5Pset_external(list, "a.raw", 0, H5F_UNLIMITED); /* so that the list has to be encoded */
        ok(bkt_convert_from_type(NULL, type, &o->dset.type, &err), &err, "type");
        ok(bkt_convert_from_space(space, &o->dset.space, &err), &err, "space");
        ok(bkt_convert_from_dcpl(NULL, list, type, type, space, o, &err), &err, zoo[i].name);
        assert_true(o->cpl.len > 0);
        ok(bkt_convert_object_dcpl(NULL, o, type, &back, &err), &err, zoo[i].name);
        if (H5Pget_fill_value(back, type, out) < 0 || !zoo_same(type, in, out, 1))
            fail_msg("the fill value of %s comes back different", zoo[i].name);
        H5Treclaim(type, one, H5P_DEFAULT, in);
        H5Treclaim(type, one, H5P_DEFAULT, out);
        free(in);
        free(out);
        H5Pclose(back);
        H5Pclose(list);
        H5Tclose(type);
        bkt_object_free(o);
    }
    H5Sclose(space);
    H5Sclose(one);
}

static void refused(void **state)
{
    struct bkt_err     err   = {.n = 0};
    struct bkt_object *o     = bkt_object_make(BKT_DATASET);
    hid_t              space = H5Screate_simple(2, (hsize_t[]){2, 2}, NULL), list = dcpl_chunked();
    struct bkt_type   *t     = NULL;
    (void)state;
    ok(bkt_convert_from_type(NULL, H5T_STD_I32LE, &o->dset.type, &err), &err, "type");
    ok(bkt_convert_from_space(space, &o->dset.space, &err), &err, "space");
    assert_int_equal(bkt_convert_from_dcpl(NULL, list, H5T_STD_I32LE, H5T_STD_I32LE, space, o, &err), BKT_EHDF5);
    assert_non_null(strstr(err.frame[0].msg, "chunk size must be"));
    hid_t empty = H5Tcreate(H5T_COMPOUND, 8);
    err.n       = 0;
    assert_int_equal(bkt_convert_from_type(NULL, empty, &t, &err), BKT_EINVAL);
    assert_null(t);
    H5Tclose(empty);
    H5Pclose(list);
    H5Sclose(space);
    bkt_object_free(o);
}

static void group_lists(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct bkt_err     err  = {.n = 0};
        struct bkt_object *o    = bkt_object_make(BKT_GROUP);
        hid_t              cls  = i == 3 ? H5P_FILE_CREATE : H5P_GROUP_CREATE, list = H5Pcreate(cls), back = -1;
        if (i == 1)
            H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
        if (i == 2)
            H5Pset_est_link_info(list, 77, 20);
        if (i == 3)
            H5Pset_userblock(list, 512);
        ok(bkt_convert_from_ocpl(list, o, &err), &err, "from");
        ok(bkt_convert_object_ocpl(o, cls, &back, &err), &err, "back");
        assert_true(H5Pequal(list, back) > 0);
        assert_int_equal(o->cpl.len > 0, i >= 2);
        H5Pclose(back);
        if (i == 3) { /* the list that H5Gget_create_plist() returns for the root group */
            ok(bkt_convert_object_ocpl(o, H5P_GROUP_CREATE, &back, &err), &err, "as a group's");
            hid_t is = H5Pget_class(back);
            assert_true(H5Pequal(is, H5P_GROUP_CREATE) > 0);
            H5Pclose_class(is);
            H5Pclose(back);
        }
        H5Pclose(list);
        bkt_object_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types),       cmocka_unit_test(values),      cmocka_unit_test(partial),
                                       cmocka_unit_test(dataset_lists), cmocka_unit_test(fill_values), cmocka_unit_test(refused),
                                       cmocka_unit_test(group_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
