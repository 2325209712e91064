/* The largest, most and oddest that HDF5 allows, and calls at the limits of their arguments. */
#include "h5tests/helpers/compare_write.h"

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
    for (int i = 0; i < 4000; i++) {
        snprintf(name, sizeof name, "a%05d", (i * 7919) % 4000);
        put_int(g, name, s, i);
    }
    for (int i = 0; i < 4000; i += 3) {
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
    /* 2.x asserts that a chunked dataset of its own has fewer */
    int   rank = H5S_MAX_RANK - (H5_VERS_MAJOR >= 2);
    hid_t s    = H5Screate_simple(rank, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, rank, chunk);
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
    static const char *const names[] = {" ", "a b", "%41", "..", "...", "a\\b", "a\"b", "tab\there", "line\nbreak", "\x01", "\x7f",
                                        "#?&=+;", "\xc3\xa4\xe2\x82\xac", "\xf0\x9f\x98\x80", "$(x)", "'", "a:b", "CON"};
    char  *name = malloc(70001);
    hid_t  s    = H5Screate(H5S_SCALAR), lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t g = H5Gcreate2(f, names[i], lcpl, H5P_DEFAULT, H5P_DEFAULT);
        say_result(o, names[i], g);
        if (!strpbrk(names[i], "\xc3\xf0")) /* HDF5 returns its name as given, the connector as it is */
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

/* ---- copies ---- */

static void say_chunks(hid_t f, const char *name, struct out *o)
{
    hsize_t n = 0;
    hid_t   d = H5Dopen2(f, name, H5P_DEFAULT), s = H5Dget_space(d);
    H5Dget_num_chunks(d, s, &n);
    say(o, "%s: %d chunks", name, (int)n);
    H5Sclose(s);
    H5Dclose(d);
}

/* A dataset of which hardly anything is stored: its copy stores no more. */
static void sparse_copy(hid_t f, struct out *o)
{
    enum { N = 3 };
    static const char *const names[] = {"plain", "var", "deflated"};
    hsize_t                  dims[2] = {16000, 9000}, chunk[2] = {500, 600}, at[N][2] = {{0, 0}, {7000, 4000}, {15999, 8999}};
    unsigned char            v[N]    = {1, 2, 3};
    const char              *texts[N] = {"a", "bc", "def"};
    hid_t                    s = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), var = H5Tcopy(H5T_C_S1);
    hsize_t                  n   = N;
    hid_t                    mem = H5Screate_simple(1, &n, NULL);
    H5Tset_size(var, H5T_VARIABLE);
    H5Pset_chunk(dcpl, 2, chunk);
    H5Sselect_elements(s, H5S_SELECT_SET, N, at[0]);
    for (size_t i = 0; i < COUNT(names); i++) {
        bool is_var = i == 1;
        char copied[32];
        if (i == 2)
            H5Pset_deflate(dcpl, 1);
        hid_t d = H5Dcreate2(f, names[i], is_var ? var : H5T_STD_U8LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        H5Dwrite(d, is_var ? var : H5T_STD_U8LE, mem, s, H5P_DEFAULT, is_var ? (const void *)texts : v);
        H5Dclose(d);
        snprintf(copied, sizeof copied, "copy of %s", names[i]);
        say_result(o, "H5Ocopy", H5Ocopy(f, names[i], f, copied, H5P_DEFAULT, H5P_DEFAULT));
        say_chunks(f, copied, o);
        unsigned char got[N]  = {0};
        char         *read[N] = {NULL};
        d                     = H5Dopen2(f, copied, H5P_DEFAULT);
        H5Dread(d, is_var ? var : H5T_STD_U8LE, mem, s, H5P_DEFAULT, is_var ? (void *)read : got);
        for (size_t k = 0; k < N; k++)
            say(o, "%d '%s'", got[k], read[k] ? read[k] : "");
        if (is_var)
            H5Treclaim(var, mem, H5P_DEFAULT, read);
        H5Dclose(d);
        H5Ldelete(f, names[i], H5P_DEFAULT); /* or all of it would be compared */
        H5Ldelete(f, copied, H5P_DEFAULT);
    }
    H5Tclose(var);
    H5Pclose(dcpl);
    H5Sclose(mem);
    H5Sclose(s);
}

/* ---- plain files, opened through the connector ---- */

static const char *plain_file(void)
{
    const struct out here = {.ours = false}; /* on this machine wherever domains are made */
    hsize_t       dims[2] = {8, 8}, chunk[2] = {4, 4};
    unsigned char v[64];
    const char   *name = new_name(&here, "plain.h5");
    hid_t         fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_FSM_AGGR, true, 1);
    H5Pset_chunk(dcpl, 2, chunk);
    memset(v, 7, sizeof v);
    hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl), s = H5Screate_simple(2, dims, NULL);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_U8LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    hid_t e = H5Dcreate2(f, "e", H5T_STD_U8LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dwrite(e, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(e);
    H5Ldelete(f, "e", H5P_DEFAULT);
    H5Dclose(d);
    H5Sclose(s);
    H5Fclose(f);
    H5Pclose(dcpl);
    H5Pclose(fcpl);
    H5Pclose(fapl);
    return name;
}

static void say_plain(const char *name, struct out *o)
{
    unsigned char v[64] = {0};
    hid_t         fapl  = new_fapl(o);
    hid_t         f = H5Fopen(name, H5F_ACC_RDONLY, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT);
    H5Dread(d, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    say(o, "%d %d %d %d", v[0], v[3], v[36], v[63]);
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
}

/* A file in memory only (H5Pset_fapl_core without a backing store) doesn't reach the disk. */
static void plain_in_memory(hid_t unused, struct out *o)
{
    unsigned char v[64];
    const char   *name = plain_file();
    hid_t         fapl = new_fapl(o);
    (void)unused;
    memset(v, 9, sizeof v);
    H5Pset_fapl_core(fapl, 65536, 0);
    hid_t f = H5Fopen(name, H5F_ACC_RDWR, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
    say_plain(name, o);
    remove(name);
}

/* Calls that HDF5 keeps for its own files */
static void plain_calls(hid_t unused, struct out *o)
{
    const char        *name = plain_file();
    hsize_t            at[2] = {4, 4}, size = 0;
    unsigned char      v[16];
    H5D_chunk_index_t  index;
    H5O_native_info_t  native;
    H5F_info2_t        info;
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t              fapl = new_fapl(o);
    (void)unused;
    memset(v, 9, sizeof v);
    hid_t f = H5Fopen(name, H5F_ACC_RDWR, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT);
    say_result(o, "H5Dwrite_chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof v, v));
    say_result(o, "H5Dget_chunk_index_type", H5Dget_chunk_index_type(d, &index));
    say(o, "index %d, offset %d", (int)index, (int)(H5Dget_offset(d) == HADDR_UNDEF));
    say_result(o, "H5Dformat_convert", H5Dformat_convert(d));
    H5Oget_native_info(d, &native, H5O_NATIVE_INFO_ALL);
    say(o, "header of %d bytes", (int)native.hdr.space.total);
    hbool_t held = false;
    say_result(o, "H5Odisable_mdc_flushes", H5Odisable_mdc_flushes(d));
    say_result(o, "again", H5Odisable_mdc_flushes(d));
    H5Oare_mdc_flushes_disabled(d, &held);
    say(o, "disabled %d", (int)held);
    say_result(o, "H5Oenable_mdc_flushes", H5Oenable_mdc_flushes(d));
    H5Dclose(d);
    say(o, "free: %d bytes in %d sections", (int)H5Fget_freespace(f), (int)H5Fget_free_sections(f, H5FD_MEM_DEFAULT, 0, NULL));
    H5Fget_info2(f, &info);
    H5Fget_filesize(f, &size);
    say(o, "superblock of %d, file of %d", (int)info.super.super_size, (int)size);
    say_result(o, "H5Fget_mdc_config", H5Fget_mdc_config(f, &config));
    H5Fflush(f, H5F_SCOPE_LOCAL);
    say(o, "image of %d", (int)H5Fget_file_image(f, NULL, 0));
    H5Fclose(f);
    H5Pclose(fapl);
    say_plain(name, o);
    remove(name);
}

/* HDF5 1.14 lists the chunks of a dataset that grows in its second dimension at wrong places. */
static void from_plain(hid_t f, struct out *o)
{
    hsize_t     dims[2] = {6, 11}, max[2] = {6, H5S_UNLIMITED}, chunk[2] = {2, 3}, start[2] = {0, 0}, count[2];
    int         v[66];
    const struct out here = {.ours = false};
    const char      *name = new_name(&here, "grows.h5");
    hid_t       fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(2, dims, max);
    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_chunk(dcpl, 2, chunk);
    for (int i = 0; i < 66; i++)
        v[i] = i + 1;
    hid_t p = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    for (size_t k = 0; k < 4; k++) { /* with and without a filter; all of it and a part */
        char leaf[16];
        snprintf(leaf, sizeof leaf, "d%zu", k);
        if (k == 2)
            H5Pset_deflate(dcpl, 1);
        hid_t d  = H5Dcreate2(p, leaf, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        start[1] = k % 2 ? 4 : 0, count[0] = k % 2 ? 3 : 6, count[1] = 11 - start[1];
        H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
        H5Dwrite(d, H5T_NATIVE_INT, s, s, H5P_DEFAULT, v);
        H5Dclose(d);
    }
    H5Fclose(p);
    H5Pclose(fapl);
    fapl = new_fapl(o);
    p    = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    say_result(o, "H5Ocopy", H5Ocopy(p, "/", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(p);
    H5Pclose(fapl);
    H5Pclose(dcpl);
    H5Sclose(s);
    remove(name);
}

/* ---- a program that changes the group that it iterates over ---- */

struct going {
    const char *name;
    hid_t       fapl;
    int         n;
};

/* HDF5 doesn't open a file for writing that is open for reading; the connector does. */
static herr_t cut_down(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    struct going *go = arg;
    (void)g, (void)name, (void)info;
    if (go->n++ > 0)
        return 0;
    hid_t f = H5Fopen(go->name, H5F_ACC_RDWR, go->fapl);
    for (int i = 1; i < 200; i++) {
        char leaf[16];
        snprintf(leaf, sizeof leaf, "g%03d", i);
        H5Ldelete(f, leaf, H5P_DEFAULT);
    }
    H5Fclose(f);
    return 0;
}

static void shrinking(const struct out *o)
{
    struct going go = {new_name(o, "going.h5"), new_fapl(o), 0};
    if (!o->ours)
        return;
    hid_t f = H5Fcreate(go.name, H5F_ACC_TRUNC, H5P_DEFAULT, go.fapl);
    for (int i = 0; i < 200; i++) {
        char leaf[16];
        snprintf(leaf, sizeof leaf, "g%03d", i);
        H5Gclose(H5Gcreate2(f, leaf, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Fclose(f);
    f = H5Fopen(go.name, H5F_ACC_RDONLY, go.fapl);
    CHECK(H5Literate2(f, H5_INDEX_NAME, H5_ITER_INC, NULL, cut_down, &go) >= 0, "H5Literate: %s", error_text());
    CHECK(go.n == 1, "%d links of a group that has one left", go.n);
    H5Fclose(f);
    H5Fdelete(go.name, go.fapl);
    H5Pclose(go.fapl);
}

/* A committed type that differs by now from the type of values stored with it: they are shown as they were
 * stored. */
static void another_type(const struct out *o)
{
    char        command[4096];
    const char *name = new_name(o, "typed.h5"), *slash = strrchr(name, '/'), *schema = getenv("H5BUCKET_SCHEMA");
    if (strstr(name, "://") || (schema && strcmp(schema, "v1") == 0)) {
        printf("left out here: %s is changed as a file of schema version 2\n", name);
        return;
    }
    hid_t fapl = new_fapl(o), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), t = H5Tcopy(H5T_STD_I32LE), s = H5Screate(H5S_SCALAR);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(H5Dcreate2(f, "d", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(t);
    H5Sclose(s);
    H5Fclose(f);
    snprintf(command, sizeof command, "find '%.*s/db' -name .datatype.json -exec sed -i s/H5T_STD_I32LE/H5T_STD_I64LE/ {} +",
             (int)(slash - name), name);
    CHECK(system(command) == 0, "%s", command);
    f       = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    t       = H5Topen2(f, "t", H5P_DEFAULT);
    hid_t d = H5Dopen2(f, "d", H5P_DEFAULT), of = H5Dget_type(d);
    CHECK(H5Tget_size(t) == 8, "the type has not changed");
    CHECK(H5Tget_size(of) == 4 && H5Tcommitted(of) == 0, "values of 4 bytes are shown as of %zu", H5Tget_size(of));
    H5Tclose(of);
    H5Tclose(t);
    H5Dclose(d);
    H5Fclose(f);
    H5Fdelete(name, fapl);
    H5Pclose(fapl);
}

static const struct write_case cases[] = {
    {"4,000 attributes of an object", many_attributes, NULL},
    {"attributes beyond 64 KiB", large_attributes, NULL},
    {"an attribute renamed through another handle", renamed_elsewhere, NULL},
    {"as many dimensions as there can be", most_dimensions, NULL},
    {"dataspaces with nothing in them", nothing_in_them, NULL},
    {"a compound of 1,000 members", wide_compound, NULL},
    {"odd and long names", odd_names, NULL},
    {"offsets between chunks", between_chunks, NULL},
    {"a copy of a dataset with hardly anything in it", sparse_copy, NULL},
    {"a copy out of a plain file", from_plain, NULL},
    {"a plain file, changed in memory only", plain_in_memory, NULL},
    {"a plain file's own calls", plain_calls, NULL},
};

int main(void)
{
    struct out ours = {.ours = true};
    compare_write_extra(shrinking, &ours);
    compare_write_extra(another_type, &ours);
    return compare_write_main(cases, COUNT(cases));
}
