/* What is as large, as many or as odd as HDF5 allows, and calls at the edge of what they take. */
#include "compare_write.h"

static void put_int(hid_t at, const char *name, hid_t space, int v)
{
    hid_t a = H5Acreate2(at, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_INT, &v);
    H5Aclose(a);
}

/* ---- attributes ---- */

static void many_attributes(hid_t f, struct out *o)
{
    hid_t s = H5Screate(H5S_SCALAR), gcpl = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED); /* for HDF5's newer form, which is not quadratic */
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    char  name[32];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "a%05d", (i * 7919) % 10000);
        put_int(g, name, s, i);
    }
    for (int i = 0; i < 10000; i += 3) {
        snprintf(name, sizeof name, "a%05d", i);
        H5Adelete(g, name);
    }
    H5O_info2_t info;
    H5Oget_info3(g, &info, H5O_INFO_NUM_ATTRS);
    say(o, "%d attributes\n", (int)info.num_attrs);
    H5Gclose(g);
    H5Pclose(gcpl);
    H5Sclose(s);
}

static void large_attributes(hid_t f, struct out *o)
{
    static const hsize_t sizes[] = {65535, 65536, 100000, 1000003};
    hid_t                gcpl    = H5Pcreate(H5P_GROUP_CREATE);
    unsigned char       *bytes   = malloc(sizes[3]);
    H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED); /* HDF5's older form has no room for them */
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char  name[32];
        hid_t s = H5Screate_simple(1, &sizes[i], NULL);
        snprintf(name, sizeof name, "of %d bytes", (int)sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (unsigned char)(k * 31 + k / 256);
        hid_t a = H5Acreate2(g, name, H5T_STD_U8LE, s, H5P_DEFAULT, H5P_DEFAULT);
        say_result(o, name, a < 0 ? -1 : H5Awrite(a, H5T_NATIVE_UCHAR, bytes));
        if (a >= 0)
            H5Aclose(a);
        H5Sclose(s);
    }
    free(bytes);
    H5Gclose(g);
    H5Pclose(gcpl);
}

/* An attribute that is open in two handles of a file has its new name in both. */
static void renamed_elsewhere(hid_t f, struct out *o)
{
    char  name[32] = "";
    int   v        = 0;
    hid_t s = H5Screate(H5S_SCALAR), g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_int(g, "before", s, 7);
    hid_t again = H5Freopen(f), h = H5Gopen2(again, "g", H5P_DEFAULT), a = H5Aopen(h, "before", H5P_DEFAULT);
    say_result(o, "H5Arename", H5Arename(g, "before", "after"));
    say_result(o, "H5Aread", H5Aread(a, H5T_NATIVE_INT, &v));
    H5Aget_name(a, sizeof name, name);
    say(o, "%s %d\n", name, v);
    H5Aclose(a);
    H5Gclose(h);
    H5Fclose(again);
    H5Gclose(g);
    H5Sclose(s);
}

/* ---- dataspaces ---- */

static void most_dimensions(hid_t f, struct out *o)
{
    hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK], start[H5S_MAX_RANK], count[H5S_MAX_RANK];
    int     values[1 << 10];
    for (int i = 0; i < H5S_MAX_RANK; i++) {
        dims[i]  = i % 4 == 0 ? 2 : i == 9 ? 3 : 1;
        chunk[i] = i == 8 || i == 9 ? 2 : 1;
        start[i] = i == 9 ? 1 : 0;
        count[i] = i == 9 ? 2 : dims[i];
    }
    chunk[9] = 2;
    for (int i = 0; i < 1 << 10; i++)
        values[i] = i;
    hid_t s = H5Screate_simple(H5S_MAX_RANK, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, H5S_MAX_RANK, chunk);
    hid_t d = H5Dcreate2(f, "chunked", H5T_STD_I32BE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    hid_t e = H5Dcreate2(f, "contiguous", H5T_STD_I32BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    hsize_t n;
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    n         = (hsize_t)H5Sget_select_npoints(s);
    hid_t mem = H5Screate_simple(1, &n, NULL);
    say_result(o, "H5Dwrite", H5Dwrite(e, H5T_NATIVE_INT, mem, s, H5P_DEFAULT, values));
    /* of the contiguous one: HDF5 1.14 itself divides by 0 for a part of a chunked dataset of 32 dimensions */
    say_result(o, "H5Dread", H5Dread(e, H5T_NATIVE_INT, mem, s, H5P_DEFAULT, values));
    for (hsize_t i = 0; i < n; i++)
        say(o, " %d", values[i]);
    say(o, "\n");
    H5Sclose(mem);
    H5Dclose(d);
    H5Dclose(e);
    H5Pclose(dcpl);
    H5Sclose(s);
}

static void nothing_in_them(hid_t f, struct out *o)
{
    static const hsize_t dims[][3] = {{0, 5, 2}, {5, 0, 2}, {0, 0, 0}};
    hsize_t              max[3] = {H5S_UNLIMITED, H5S_UNLIMITED, 4}, chunk[3] = {2, 3, 2}, more[3] = {1, 2, 2};
    int                  v[4] = {1, 2, 3, 4};
    hid_t                dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 3, chunk);
    for (size_t i = 0; i < COUNT(dims); i++) {
        char  name[32];
        hid_t s = H5Screate_simple(3, dims[i], NULL), t = H5Screate_simple(3, dims[i], max);
        snprintf(name, sizeof name, "fixed %zu", i);
        hid_t d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        snprintf(name, sizeof name, "growing %zu", i);
        hid_t e = H5Dcreate2(f, name, H5T_STD_I32LE, t, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        hid_t a = H5Acreate2(e, "none", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_result(o, "H5Dwrite", H5Dwrite(e, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_result(o, "H5Awrite", H5Awrite(a, H5T_NATIVE_INT, v));
        say_result(o, "H5Dset_extent", H5Dset_extent(e, more));
        say_result(o, "H5Dwrite", H5Dwrite(e, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        H5Aclose(a);
        H5Dclose(d);
        H5Dclose(e);
        H5Sclose(s);
        H5Sclose(t);
    }
    H5Pclose(dcpl);
}

/* ---- types and names ---- */

static void wide_compound(hid_t f, struct out *o)
{
    enum { N = 1000 };
    hid_t   t = H5Tcreate(H5T_COMPOUND, N * 8), half = H5Tcreate(H5T_COMPOUND, N / 2 * 8);
    hsize_t n = 3;
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "member %d", i);
        H5Tinsert(t, name, (size_t)i * 8, i % 2 ? H5T_STD_I64LE : H5T_IEEE_F64LE);
        if (i % 2)
            H5Tinsert(half, name, (size_t)i / 2 * 8, H5T_STD_I64LE);
    }
    int64_t *v = calloc(n, N * 8);
    for (int i = 0; i < (int)n * N; i++) {
        double x = i * 0.5;
        if (i % 2)
            v[i] = i * 1000003LL;
        else
            memcpy(&v[i], &x, 8);
    }
    hid_t s = H5Screate_simple(1, &n, NULL), d = H5Dcreate2(f, "d", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "H5Dread", H5Dread(d, half, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    int64_t sum = 0;
    for (int i = 0; i < (int)n * N / 2; i++)
        sum += v[i];
    say(o, "%lld\n", (long long)sum);
    free(v);
    H5Dclose(d);
    H5Sclose(s);
    H5Tclose(t);
    H5Tclose(half);
}

static void odd_names(hid_t f, struct out *o)
{
    static const char *const names[] = {" ",    "a b",   "%41",    "..",         "...",         "a\\b",  "a\"b", "tab\there", "line\nbreak",
                                        "\x01", "\x7f",  "#?&=+;", "\xc3\xa4\xe2\x82\xac", "\xf0\x9f\x98\x80", "$(x)", "'",    "a:b",       "CON"};
    char  *name = malloc(70001);
    hid_t  s    = H5Screate(H5S_SCALAR), lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t g = H5Gcreate2(f, names[i], lcpl, H5P_DEFAULT, H5P_DEFAULT);
        say_result(o, names[i], g);
        if (!strpbrk(names[i], "\xc3\xf0")) /* HDF5 says of its name what it was told, the connector what it is */
            put_int(g, names[i], s, (int)i);
        H5Gclose(g);
    }
    static const int lengths[] = {255, 256, 4096, 65535, 70000};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        memset(name, 'a' + (int)i, 70000);
        name[lengths[i]] = '\0';
        hid_t g          = H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        say(o, "%d: %s\n", lengths[i], g < 0 ? "fails" : "succeeds");
        H5Eclear2(H5E_DEFAULT);
        if (g >= 0)
            H5Gclose(g);
    }
    free(name);
    H5Pclose(lcpl);
    H5Sclose(s);
}

/* ---- chunks ---- */

/* Offsets that no chunk begins at */
static void between_chunks(hid_t f, struct out *o)
{
    hsize_t        dims[2] = {7, 9}, chunk[2] = {4, 4}, size = 0;
    hsize_t        at[][2] = {{0, 0}, {4, 4}, {1, 0}, {4, 5}, {8, 8}, {4, 8}, {4, 12}};
    unsigned char  v[63], got[64];
    unsigned       mask = 0;
    hid_t          s = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (size_t i = 0; i < sizeof v; i++)
        v[i] = (unsigned char)i;
    H5Pset_chunk(dcpl, 2, chunk);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_U8LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    for (size_t i = 0; i < COUNT(at); i++) {
        say(o, "%d, %d\n", (int)at[i][0], (int)at[i][1]);
        memset(got, 0, sizeof got);
        say_result(o, "H5Dread_chunk", H5Dread_chunk(d, H5P_DEFAULT, at[i], &mask, got));
        say_result(o, "H5Dget_chunk_storage_size", H5Dget_chunk_storage_size(d, at[i], &size));
        got[0] = got[5] = 99;
        say_result(o, "H5Dwrite_chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at[i], 16, got));
    }
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(s);
}

static const struct write_case cases[] = {
    {"10,000 attributes of an object", many_attributes, NULL},
    {"attributes beyond 64 KiB", large_attributes, NULL},
    {"an attribute renamed through another handle", renamed_elsewhere, NULL},
    {"as many dimensions as there can be", most_dimensions, NULL},
    {"dataspaces with nothing in them", nothing_in_them, NULL},
    {"a compound of 1,000 members", wide_compound, NULL},
    {"odd and long names", odd_names, NULL},
    {"offsets between chunks", between_chunks, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
