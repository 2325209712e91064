/* HDF5's encodings, parsed by our own code and made again by HDF5's public calls: the result must be the very
 * same. */
#include <hdf5.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "h5tests/helpers/type_zoo.h"
#include "helpers/check.h"
#include "helpers/xorshift.h"
#include "vol/convert/rebuild.h"

static unsigned rnd(unsigned n)
{
    static uint32_t state = 1;
    return xorshift32(&state) % n;
}

static const char *why(const struct bkt_err *err)
{
    return err->n ? err->frame[0].msg : "no reason given";
}

/* ---- datatypes ---- */

static void encode_type(hid_t type, struct bkt_buf *out)
{
    size_t n = 0;
    bkt_buf_clear(out);
    if (H5Tencode(type, NULL, &n) < 0 || bkt_buf_resize(out, n) < 0 || H5Tencode(type, out->ptr, &n) < 0)
        abort();
}

static void check_type(hid_t type, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0}, again = {0};
    struct bkt_err err = {0};
    hid_t made = H5I_INVALID_HID;
    encode_type(type, &code);
    CHECK(bkt_rebuild_encoded_type(&code, &made, &err) == BKT_OK, "%s: %s", name, why(&err));
    if (made < 0)
        return;
    CHECK(H5Tequal(type, made) > 0, "%s: another type", name);
    encode_type(made, &again);
    CHECK(code.len == again.len && memcmp(code.ptr, again.ptr, code.len) == 0, "%s: another encoding", name);
    H5Tclose(made);
}

/* HDF5 refuses some combinations, and keeps the earlier value then. */
static hid_t random_number(void)
{
    hid_t bases[] = {H5T_STD_I8LE,   H5T_STD_U64BE,  H5T_STD_B16LE, H5T_IEEE_F32LE,
                     H5T_IEEE_F64BE, H5T_UNIX_D64BE, H5T_STD_I32BE};
    hid_t t = H5Tcopy(bases[rnd(7)]);
    unsigned e = 1 + rnd(14), m = 1 + rnd(40), o = rnd(9);
    if (H5Tget_class(t) == H5T_FLOAT &&
        (H5Tset_size(t, 8 + rnd(5)) < 0 || H5Tset_fields(t, e + m + rnd(3), m, e, 0, m) < 0 ||
         H5Tset_ebias(t, rnd(2000)) < 0 || H5Tset_norm(t, (H5T_norm_t)rnd(3)) < 0 ||
         H5Tset_inpad(t, (H5T_pad_t)rnd(2)) < 0))
        return t;
    (void)H5Tset_precision(t, 1 + rnd(70));
    if (H5Tget_class(t) != H5T_TIME)
        (void)H5Tset_offset(t, o);
    (void)H5Tset_size(t, H5Tget_size(t) + rnd(4));
    if (H5Tget_class(t) != H5T_TIME)
        (void)H5Tset_pad(t, (H5T_pad_t)rnd(2), (H5T_pad_t)rnd(2));
    return t;
}

static hid_t random_type(unsigned depth)
{
    hid_t part = depth ? random_type(depth - 1) : H5I_INVALID_HID, t;
    const hsize_t dims[3] = {1 + rnd(3), 1 + rnd(2), 1 + rnd(4)};
    size_t at = 0;
    char name[40];
    switch (depth ? rnd(3) : 3) {
    case 0:
        t = H5Tvlen_create(part);
        break;
    case 1:
        t = H5Tarray_create2(part, 1 + rnd(3), dims);
        break;
    case 2:
        t = H5Tcreate(H5T_COMPOUND, 4000 + 20 * H5Tget_size(part));
        for (unsigned i = 0, n = 1 + rnd(5); i < n; i++) {
            hid_t member = rnd(2) ? H5Tcopy(part) : random_type(0);
            (void)snprintf(name, sizeof name, "%.*s%u", (int)rnd(20), "a name of some length", i);
            H5Tinsert(t, name, at += rnd(9), member);
            at += H5Tget_size(member);
            H5Tclose(member);
        }
        if (rnd(2))
            H5Tpack(t);
        break;
    default: {
        const struct zoo_type *z = &zoo[rnd((unsigned)zoo_size)];
        t = rnd(2) ? random_number() : z->make();
    }
    }
    if (part >= 0)
        H5Tclose(part);
    return t;
}

static void types(void)
{
    for (size_t i = 0; i < zoo_size; i++) {
        hid_t t = zoo[i].make();
        check_type(t, zoo[i].name);
        H5Tclose(t);
    }
    for (int i = 0; i < 2000; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "random type %d", i);
        hid_t t;
        H5E_BEGIN_TRY
        {
            t = random_type(rnd(4));
        }
        H5E_END_TRY
        check_type(t, name);
        H5Tclose(t);
    }
}

/* Encodings of newer files: version 3 and 4 have no padding, and offsets of as many bytes as they need. */
static void newer_types(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(fapl, 4096, false);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate("encodings-in-memory", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t scalar = H5Screate(H5S_SCALAR);
    for (size_t i = 0; i < zoo_size; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0};
        struct bkt_err err = {0};
        hid_t made = H5I_INVALID_HID, plain = zoo[i].make();
        hid_t dset = H5Dcreate2(file, zoo[i].name, plain, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t t = H5Dget_type(dset);
        encode_type(t, &code);
        bool newer =
            H5Tget_class(t) == H5T_COMPOUND || H5Tget_class(t) == H5T_ENUM || H5Tget_class(t) == H5T_ARRAY;
        CHECK(!newer || code.ptr[2] >> 4 >= 3, "%s: version %u", zoo[i].name, code.ptr[2] >> 4);
        CHECK(bkt_rebuild_encoded_type(&code, &made, &err) == BKT_OK, "%s: %s", zoo[i].name, why(&err));
        CHECK(H5Tequal(plain, made) > 0, "%s of a newer file: another type", zoo[i].name);
        H5Tclose(made);
        H5Tclose(plain);
        H5Tclose(t);
        H5Dclose(dset);
    }
    H5Sclose(scalar);
    H5Fclose(file);
    H5Pclose(fapl);
}

/* ---- dataspaces ---- */

static void encode_space(hid_t space, hid_t fapl, struct bkt_buf *out)
{
    size_t n = 0;
    bkt_buf_clear(out);
    if (H5Sencode2(space, NULL, &n, fapl) < 0 || bkt_buf_resize(out, n) < 0 ||
        H5Sencode2(space, out->ptr, &n, fapl) < 0)
        abort();
}

static hid_t random_space(void)
{
    hsize_t dims[4], max[4], start[4], stride[4], count[4], block[4], points[20];
    int rank = 1 + (int)rnd(4);
    if (rnd(20) == 0)
        return H5Screate(rnd(2) ? H5S_SCALAR : H5S_NULL);
    for (int i = 0; i < rank; i++) {
        dims[i] = 30 + rnd(50);
        max[i] = rnd(3) ? dims[i] : H5S_UNLIMITED;
        start[i] = rnd(5);
        stride[i] = 3 + rnd(3);
        count[i] = 1 + rnd(4);
        block[i] = 1 + rnd(3);
    }
    hid_t s = H5Screate_simple(rank, dims, max);
    switch (rnd(6)) {
    case 0:
        H5Sselect_none(s);
        break;
    case 1:
        for (int i = 0; i < 5 * rank; i++)
            points[i] = rnd(30);
        H5Sselect_elements(s, H5S_SELECT_SET, 5, points);
        break;
    case 2:
        count[rnd((unsigned)rank)] = H5S_UNLIMITED;
        /* fall through */
    case 3:
        H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
        break;
    case 4:
        H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
        for (int i = 0; i < rank; i++)
            start[i] += rnd(9);
        H5Sselect_hyperslab(s, H5S_SELECT_XOR, start, stride, count, block);
        break;
    default:
        break;
    }
    return s;
}

static void spaces(H5F_libver_t low)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(fapl, low, H5F_LIBVER_LATEST);
    for (int i = 0; i < 1500; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0}, again = {0};
        struct bkt_err err = {0};
        hid_t made = H5I_INVALID_HID, s = random_space();
        encode_space(s, fapl, &code);
        CHECK(bkt_rebuild_encoded_space(&code, &made, &err) == BKT_OK, "dataspace %d: %s", i, why(&err));
        if (made >= 0) {
            encode_space(made, fapl, &again);
            CHECK(H5Sextent_equal(s, made) > 0 && H5Sget_select_type(s) == H5Sget_select_type(made),
                  "dataspace %d", i);
            CHECK(code.len == again.len && memcmp(code.ptr, again.ptr, code.len) == 0,
                  "dataspace %d: another encoding", i);
            H5Sclose(made);
        }
        H5Sclose(s);
    }
    H5Pclose(fapl);
}

/* Beside each other, in no order: one by one HDF5 would go through all of them for each. */
static void many_blocks(void)
{
    enum { SIDE = 600, N = SIDE * SIDE };
    const hsize_t dims[2] = {2 * SIDE, 2 * SIDE};
    uint64_t(*c)[4] = calloc(N, sizeof *c), twice[3][4] = {{0, 0, 3, 3}, {2, 2, 5, 5}, {0, 0, 0, 0}};
    hid_t s = H5Screate_simple(2, dims, NULL);
    if (!c)
        abort();
    for (size_t i = 0; i < N; i++) {
        size_t k = i * 7919 % N;
        c[i][0] = c[i][2] = 2 * (k / SIDE);
        c[i][1] = c[i][3] = 2 * (k % SIDE);
    }
    CHECK(bkt_rebuild_blocks(s, N, c[0]) >= 0 && H5Sget_select_npoints(s) == N, "%d blocks: %lld elements", N,
          (long long)H5Sget_select_npoints(s));
    CHECK(bkt_rebuild_blocks(s, 3, twice[0]) >= 0 && H5Sget_select_npoints(s) == 28, "blocks that overlap: %lld",
          (long long)H5Sget_select_npoints(s));
    CHECK(bkt_rebuild_blocks(s, 0, twice[0]) >= 0 && H5Sget_select_npoints(s) == 0, "no block");
    H5Sclose(s);
    free(c);
}

/* ---- property lists ---- */

static void encode_list(hid_t list, struct bkt_buf *out)
{
    size_t n = 0;
    bkt_buf_clear(out);
    if (H5Pencode2(list, NULL, &n, H5P_DEFAULT) < 0 || bkt_buf_resize(out, n) < 0 ||
        H5Pencode2(list, out->ptr, &n, H5P_DEFAULT) < 0)
        abort();
}

static void check_list(hid_t list, hid_t cls, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0}, again = {0};
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    struct bkt_err err = {0};
    hid_t made = H5I_INVALID_HID;
    encode_list(list, &code);
    CHECK(bkt_h5plist_parse(code.ptr, code.len, &l, &err) == BKT_OK &&
              bkt_rebuild_plist(&l, cls, &made, &err) == BKT_OK,
          "%s: %s", name, why(&err));
    if (made < 0)
        return;
    CHECK(H5Pequal(list, made) > 0, "%s: another list", name);
    encode_list(made, &again); /* values set come first, even HDF5's default */
    CHECK(code.len == again.len, "%s: another encoding, of %zu bytes and %zu", name, code.len, again.len);
    H5Pclose(made);
}

static void object_things(hid_t l)
{
    if (rnd(2))
        H5Pset_attr_phase_change(l, 20 + rnd(1000), rnd(20));
    if (rnd(2))
        H5Pset_attr_creation_order(l, rnd(2) ? H5P_CRT_ORDER_TRACKED
                                             : H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (rnd(2))
        H5Pset_obj_track_times(l, rnd(2));
}

static void group_things(hid_t l)
{
    if (rnd(2))
        H5Pset_link_phase_change(l, 9 + rnd(100), rnd(9));
    if (rnd(2))
        H5Pset_est_link_info(l, rnd(65536), rnd(256));
    if (rnd(2))
        H5Pset_link_creation_order(l, rnd(2) ? H5P_CRT_ORDER_TRACKED
                                             : H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (rnd(2))
        H5Pset_local_heap_size_hint(l, rnd(100000));
    if (rnd(3) == 0)
        H5Pset_deflate(l, rnd(10));
}

static void file_things(hid_t l)
{
    unsigned n = rnd(9);
    if (rnd(2))
        H5Pset_userblock(l, (hsize_t)512 << rnd(10));
    if (rnd(2))
        H5Pset_sym_k(l, rnd(100), rnd(100));
    if (rnd(2))
        H5Pset_istore_k(l, 1 + rnd(1000));
    if (rnd(2))
        H5Pset_sizes(l, 4, 16);
    H5Pset_shared_mesg_nindexes(l, n);
    for (unsigned i = 0; i < n; i++)
        H5Pset_shared_mesg_index(l, i, 1U << (1 + rnd(4)), rnd(10000));
    if (rnd(2))
        H5Pset_shared_mesg_phase_change(l, 40 + rnd(100), rnd(40));
    if (rnd(2))
        H5Pset_file_space_strategy(l, H5F_FSPACE_STRATEGY_PAGE, rnd(2), rnd(5000));
    if (rnd(2))
        H5Pset_file_space_strategy(l, (H5F_fspace_strategy_t)rnd(4), rnd(2), rnd(5000));
    if (rnd(2))
        H5Pset_file_space_page_size(l, 512 + rnd(100000));
}

static void a_mapping(hid_t l, const char *file)
{
    const hsize_t dims[2] = {40, 20}, more[2] = {50, 30}, max[2] = {H5S_UNLIMITED, 30};
    hsize_t start[2] = {rnd(9), rnd(9)}, stride[2] = {10, 5}, count[2] = {1 + rnd(2), 1 + rnd(2)},
            block[2] = {1 + rnd(9), 3};
    hid_t v = H5Screate_simple(2, more, max), s = H5Screate_simple(2, dims, NULL);
    if (rnd(3) == 0)
        count[0] = H5S_UNLIMITED;
    H5Sselect_hyperslab(v, H5S_SELECT_SET, start, stride, count, block);
    start[0] += 1;
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
    H5Pset_virtual(l, v, file, "/g/dset %%b", s);
    H5Sclose(v);
    H5Sclose(s);
}

static void layout_things(hid_t l)
{
    hsize_t dims[32];
    int rank = 1 + (int)rnd(32);
    for (int i = 0; i < rank; i++)
        dims[i] = 1 + rnd(2);
    switch (rnd(6)) {
    case 0:
        H5Pset_layout(l, H5D_COMPACT);
        break;
    case 1:
        H5Pset_chunk(l, rank, dims);
        break;
    case 2:
        for (unsigned i = 0, n = 1 + rnd(5); i < n; i++)
            a_mapping(l, rnd(2) ? "other.h5" : ".");
        break;
    case 3:
        H5Pset_layout(l, H5D_VIRTUAL);
        break;
    case 4:
        H5Pset_external(l, "a file", (off_t)rnd(100), 1 + rnd(1000));
        H5Pset_external(l, "another", (off_t)rnd(100), rnd(2) ? H5F_UNLIMITED : 7);
        break;
    default:
        break;
    }
}

static void filter_things(hid_t l)
{
    unsigned values[40];
    for (unsigned i = 0; i < 40; i++)
        values[i] = rnd(1U << 20);
    for (unsigned i = 0, n = rnd(9); i < n; i++)
        H5Pset_filter(l, (H5Z_filter_t)(rnd(2) ? 1 + rnd(6) : 40000 + rnd(100)), rnd(2), rnd(40), values);
}

static void fill_things(hid_t l)
{
    static const unsigned char bytes[100000];
    if (rnd(3) == 0)
        H5Pset_alloc_time(l, (H5D_alloc_time_t)rnd(4));
    if (rnd(3) == 0)
        H5Pset_fill_time(l, (H5D_fill_time_t)rnd(3));
    if (rnd(4) == 0)
        H5Pset_fill_value(l, H5T_NATIVE_INT, NULL);
    if (rnd(2) == 0)
        return;
    hid_t t = random_type(rnd(3));
    if (H5Tdetect_class(t, H5T_VLEN) == 0 && H5Tdetect_class(t, H5T_REFERENCE) == 0 &&
        H5Tdetect_class(t, H5T_STRING) == 0 && H5Tget_size(t) < sizeof bytes)
        H5Pset_fill_value(l, t, bytes);
    H5Tclose(t);
}

static void lists(void)
{
    for (int i = 0; i < 1500; i++) {
        hid_t classes[] = {H5P_DATASET_CREATE, H5P_GROUP_CREATE, H5P_FILE_CREATE, H5P_DATATYPE_CREATE};
        int cls = (int)rnd(4);
        hid_t l = H5Pcreate(classes[cls]);
        char name[40];
        (void)snprintf(name, sizeof name, "list %d of kind %d", i, cls);
        H5E_BEGIN_TRY
        {
            object_things(l);
            if (cls == 1 || cls == 2)
                group_things(l);
            if (cls == 2)
                file_things(l);
            if (cls == 0) {
                layout_things(l);
                filter_things(l);
                fill_things(l);
                if (rnd(4) == 0)
                    H5Pset_dset_no_attrs_hint(l, true);
            }
        }
        H5E_END_TRY
        check_list(l, classes[cls], name);
        H5Pclose(l);
    }
}

/* The list of a root group is the one that the file was created with, and a program may ask for it as a
 * group's list. */
static void file_as_group(void)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0};
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    struct bkt_err err = {0};
    unsigned most = 0, least = 0, order = 0;
    hid_t made = H5I_INVALID_HID, list = H5Pcreate(H5P_FILE_CREATE), cls;
    H5Pset_link_phase_change(list, 77, 33);
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED);
    H5Pset_userblock(list, 1024);
    encode_list(list, &code);
    CHECK(bkt_h5plist_parse(code.ptr, code.len, &l, &err) == BKT_OK &&
              bkt_rebuild_plist(&l, H5P_GROUP_CREATE, &made, &err) == BKT_OK,
          "a file's list as a group's: %s", why(&err));
    cls = H5Pget_class(made);
    CHECK(H5Pequal(cls, H5P_GROUP_CREATE) > 0, "a list of another class");
    CHECK(H5Pget_link_phase_change(made, &most, &least) >= 0 && most == 77 && least == 33, "%u, %u", most,
          least);
    CHECK(H5Pget_link_creation_order(made, &order) >= 0 && order == H5P_CRT_ORDER_TRACKED, "order %u", order);
    H5Pclose_class(cls);
    H5Pclose(made);
    H5Pclose(list);
}

int main(void)
{
    types();
    newer_types();
    spaces(H5F_LIBVER_EARLIEST);
    spaces(H5F_LIBVER_LATEST);
    many_blocks();
    lists();
    file_as_group();
    return failures != 0;
}
