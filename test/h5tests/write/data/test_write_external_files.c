/* Datasets with external files: the lists that HDF5 takes, the information that it returns, their elements,
 * and the bytes of the raw files.  The cases are the behaviours of HDF5's own test/external.c.
 * test_external_s3.c has domains in S3. */
#include "h5tests/helpers/compare_write.h"

#include <sys/wait.h>
#include <unistd.h>

#define N 100

static const struct {
    const char *what;
    hsize_t     dim, max;
    struct {
        const char *name;
        off_t       offset;
        hsize_t     size;
    } file[4];
} forms[] = {
    {"exact", N, N, {{"exact.raw", 0, 4 * N}}},
    {"toosmall", N, N, {{"toosmall.raw", 0, 4 * N - 1}}},
    {"larger", N, N, {{"larger.raw", 16, 8 * N}}},
    {"extendible", N, 2 * N, {{"extendible.raw", 0, 8 * N}}},
    {"notenough", N, 2 * N, {{"notenough.raw", 0, 4 * N}}},
    {"unlimited", N, H5S_UNLIMITED, {{"unlimited.raw", 8, H5F_UNLIMITED}}},
    {"unlimitedshort", N, H5S_UNLIMITED, {{"unlimitedshort.raw", 0, 4 * N}}},
    {"several", N, N, {{"several1.raw", 0, 100}, {"several2.raw", 10, 101}, {"several3.raw", 0, 199}}},
    {"several_unlimited", N, H5S_UNLIMITED, {{"su1.raw", 0, 100}, {"su2.raw", 4, H5F_UNLIMITED}}},
    {"after_unlimited", N, N, {{"au1.raw", 0, H5F_UNLIMITED}, {"au2.raw", 0, 100}}},
    {"overflow", N, N, {{"o1.raw", 0, (hsize_t)-1 - 100}, {"o2.raw", 0, 4 * N}}},
};

static char cwd[64]; /* names count from there, and no variable of the environment names a prefix; "" beside
                        the file */

static hid_t origin(void)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    if (!*cwd)
        H5Pset_efile_prefix(dapl, "${ORIGIN}");
    return dapl;
}

static const char *raw_name(const struct out *o, const char *leaf) { return *cwd ? leaf : new_name(o, leaf); }

static void say_raw(struct out *o, const char *leaf)
{
    char  bytes[4096];
    FILE *f = fopen(raw_name(o, leaf), "rb");
    say(o, "%s is %s", leaf, f ? "there" : "missing");
    if (f) {
        say_bytes(o, "bytes", bytes, fread(bytes, 1, sizeof bytes, f));
        (void)fclose(f);
    }
}

static void put_raw(const struct out *o, const char *leaf, const void *bytes, size_t n)
{
    FILE *f = fopen(raw_name(o, leaf), "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "%s can't be written", leaf);
}

/* Both sides use the same names where they count from the working folder. */
static void clear_raw(void)
{
    CHECK(!*cwd || system("rm -rf ./* && mkdir sub") == 0, "the working folder can't be cleared");
}

/* Before it grows: HDF5 keeps returning the size that it was created with. */
static void say_storage(struct out *o, hid_t d)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    H5Dget_space_status(d, &status);
    say(o, "status %d, %llu bytes, offset %d", status, (unsigned long long)H5Dget_storage_size(d), H5Dget_offset(d) == HADDR_UNDEF);
}

static void make_form(hid_t f, struct out *o, size_t i)
{
    int   v[N];
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = origin(), s = H5Screate_simple(1, &forms[i].dim, &forms[i].max);
    say(o, "%s", forms[i].what);
    for (size_t k = 0; k < 4 && forms[i].file[k].name; k++)
        say_result(o, "H5Pset_external", H5Pset_external(dcpl, forms[i].file[k].name, forms[i].file[k].offset, forms[i].file[k].size));
    hid_t d = H5Dcreate2(f, forms[i].what, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, dapl);
    say_result(o, "H5Dcreate", d);
    for (int k = 0; k < N; k++)
        v[k] = (int)i * 1000 + k;
    if (d >= 0)
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    if (d >= 0) {
        say_storage(o, d);
        H5Dclose(d);
    }
    for (size_t k = 0; k < 4 && forms[i].file[k].name; k++)
        say_raw(o, forms[i].file[k].name);
    H5Sclose(s);
    H5Pclose(dapl);
    H5Pclose(dcpl);
}

static void write_forms(hid_t f, struct out *o)
{
    clear_raw();
    for (size_t i = 0; i < COUNT(forms); i++)
        make_form(f, o, i);
    hsize_t n = N, chunk = 10; /* chunks can't lie in external files */
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &n, NULL);
    H5Pset_chunk(dcpl, 1, &chunk);
    say_result(o, "chunked", H5Pset_external(dcpl, "chunked.raw", 0, 4 * N));
    say_result(o, "H5Dcreate", H5Dcreate2(f, "chunked", H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    H5Pclose(dcpl);
    H5Sclose(s);
}

static void say_form(hid_t f, struct out *o, const char *name)
{
    char   text[64] = "";
    int    v[N + 20] = {0};
    hid_t  dapl = origin(), d = H5Dopen2(f, name, dapl);
    say_result(o, name, d);
    if (d >= 0) {
        hid_t dcpl = H5Dget_create_plist(d), got = H5Dget_access_plist(d), s = H5Dget_space(d);
        say(o, "layout %d, %d files", H5Pget_layout(dcpl), H5Pget_external_count(dcpl));
        for (unsigned k = 0; (int)k < H5Pget_external_count(dcpl); k++) {
            off_t   offset = -1;
            hsize_t size   = 0;
            say_result(o, "H5Pget_external", H5Pget_external(dcpl, k, sizeof text, text, &offset, &size));
            say(o, "%s, %lld", text, (long long)offset);
            say(o, "size %" PRIuHSIZE, size);
        }
        say(o, "prefix %d", H5Pget_efile_prefix(got, text, sizeof text) > 0);
        say_space(o, s);
        say_storage(o, d);
        say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_bytes(o, "values", v, sizeof v[0] * N);
        say_result(o, "H5Dwrite, opened read-only", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        H5Sclose(s);
        H5Pclose(got);
        H5Pclose(dcpl);
        H5Dclose(d);
    }
    H5Pclose(dapl);
}

static void read_forms(hid_t f, struct out *o)
{
    for (size_t i = 0; i < COUNT(forms); i++)
        say_form(f, o, forms[i].what);
}

/* A part is written, elements are added, some are taken away. */
static void write_changed(hid_t f, struct out *o)
{
    hsize_t from = 40, n = 20, more = N + 20;
    int     v[N];
    hid_t   dapl = origin(), m = H5Screate_simple(1, &n, NULL);
    clear_raw();
    for (size_t i = 0; i < COUNT(forms); i++)
        if (forms[i].max == H5S_UNLIMITED || forms[i].max == 2 * (hsize_t)N)
            make_form(f, o, i);
    for (int k = 0; k < N; k++)
        v[k] = -k;
    for (int i = 0; i < 2; i++) {
        hid_t d = H5Dopen2(f, i ? "unlimited" : "extendible", dapl), s = H5Dget_space(d);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &n, NULL);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
        say_result(o, "H5Dset_extent", H5Dset_extent(d, &more));
        H5Sclose(s);
        s = H5Dget_space(d);
        hsize_t end = N;
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &end, NULL, &n, NULL);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
        H5Sclose(s);
        /* as large as can be, and back */
        hsize_t most = 2 * N;
        say_result(o, "H5Dset_extent", H5Dset_extent(d, &most));
        say_result(o, "H5Dset_extent", H5Dset_extent(d, &more));
        most++;
        say_result(o, "H5Dset_extent", i ? -1 : H5Dset_extent(d, &most));
        H5Dclose(d);
    }
    H5Sclose(m);
    H5Pclose(dapl);
}

static void read_changed(hid_t f, struct out *o)
{
    int   v[N + 20];
    hid_t dapl = origin();
    for (int i = 0; i < 2; i++) {
        hid_t d = H5Dopen2(f, i ? "unlimited" : "extendible", dapl);
        memset(v, 0, sizeof v);
        say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_bytes(o, "values", v, sizeof v);
        H5Dclose(d);
    }
    H5Pclose(dapl);
}

/* A grid gets rows, and loses columns and rows: the elements' places in the raw file follow from the present
 * extent. */
static void write_narrowed(hid_t f, struct out *o)
{
    static const hsize_t dims[] = {4, 4}, max[] = {8, 4}, extents[][2] = {{6, 4}, {6, 3}, {2, 2}, {3, 4}};
    int v[32];
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = origin(), s = H5Screate_simple(2, dims, max);
    clear_raw();
    for (int k = 0; k < 32; k++)
        v[k] = k;
    H5Pset_external(dcpl, raw_name(o, "narrowed.raw"), 0, H5F_UNLIMITED);
    hid_t d = H5Dcreate2(f, "narrowed", H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, dapl);
    say_result(o, "H5Dcreate", d);
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (size_t i = 0; i < COUNT(extents); i++) {
        say_result(o, "H5Dset_extent", H5Dset_extent(d, extents[i]));
        memset(v, 0, sizeof v);
        say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_bytes(o, "values", v, sizeof v);
        for (int k = 0; k < 32; k++)
            v[k] = 100 * (int)i + k;
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    }
    H5Dclose(d);
    H5Sclose(s);
    H5Pclose(dapl);
    H5Pclose(dcpl);
}

static void read_narrowed(hid_t f, struct out *o)
{
    int v[32] = {0};
    hid_t dapl = origin(), d = H5Dopen2(f, "narrowed", dapl);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_bytes(o, "values", v, sizeof v);
    H5Dclose(d);
    H5Pclose(dapl);
}

/* ---- other types, sources, and ways to get at them ---- */

struct padded {
    char   c;
    double d;
};

static hid_t new_external(hid_t f, const char *name, hid_t type, hsize_t n, const char *raw, off_t off, hid_t dapl)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &n, NULL);
    H5Pset_external(dcpl, raw, off, H5F_UNLIMITED);
    hid_t d = H5Dcreate2(f, name, type, s, H5P_DEFAULT, dcpl, dapl);
    H5Sclose(s);
    H5Pclose(dcpl);
    return d;
}

static void write_types(hid_t f, struct out *o)
{
    double        numbers[10];
    struct padded padded[5];
    int           plain[10] = {0}, back[10] = {0};
    hid_t         dapl = origin(), t = H5Tcreate(H5T_COMPOUND, sizeof(struct padded));
    clear_raw();
    H5Tinsert(t, "c", HOFFSET(struct padded, c), H5T_NATIVE_CHAR);
    H5Tinsert(t, "d", HOFFSET(struct padded, d), H5T_NATIVE_DOUBLE);
    memset(padded, 0, sizeof padded);
    for (int i = 0; i < 10; i++)
        numbers[i] = 1.5 * i;
    for (int i = 0; i < 5; i++)
        padded[i].c = (char)('a' + i), padded[i].d = i;
    hid_t a = new_external(f, "converted", H5T_STD_I32BE, 10, "converted.raw", 3, dapl);
    hid_t b = new_external(f, "padded", t, 5, "padded.raw", 0, dapl);
    say_result(o, "a double", H5Dwrite(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers));
    say_result(o, "a compound", H5Dwrite(b, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded));
    say_raw(o, "converted.raw");
    say_raw(o, "padded.raw");

    /* beside one that isn't external, in one call */
    hsize_t     n  = 10;
    hid_t       s  = H5Screate_simple(1, &n, NULL), c = H5Dcreate2(f, "inside", H5T_NATIVE_INT, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t       d2[] = {a, c}, types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT}, all[] = {H5S_ALL, H5S_ALL};
    const void *from[] = {back, plain};
    void       *to[]   = {back, plain};
    for (int i = 0; i < 10; i++)
        back[i] = i, plain[i] = -i;
    say_result(o, "H5Dwrite_multi", H5Dwrite_multi(2, d2, types, all, all, H5P_DEFAULT, from));
    memset(back, 0, sizeof back);
    memset(plain, 0, sizeof plain);
    say_result(o, "H5Dread_multi", H5Dread_multi(2, d2, types, all, all, H5P_DEFAULT, to));
    say_bytes(o, "outside", back, sizeof back);
    say_bytes(o, "inside", plain, sizeof plain);
    H5Sclose(s);
    H5Dclose(c);
    H5Dclose(b);
    H5Dclose(a);
    H5Tclose(t);
    H5Pclose(dapl);
}

/* Files that are there before the dataset, shorter than it, or not at all. */
static void write_found(hid_t f, struct out *o)
{
    static const int v[6] = {1, 2, 3, 4, 5, 6};
    int              got[10];
    hid_t            dapl = origin();
    clear_raw();
    put_raw(o, "found.raw", v, sizeof v);
    for (int i = 0; i < 2; i++) {
        hid_t d = new_external(f, i ? "missing" : "found", H5T_NATIVE_INT, 10, i ? "missing.raw" : "found.raw", 4, dapl);
        memset(got, 9, sizeof got);
        herr_t rc = H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
        CHECK(!o->ours || !i || strstr(error_text(), "missing.raw"), "the missing file is not named");
        say_result(o, "H5Dread", rc);
        say_bytes(o, "values", got, i ? 0 : sizeof got);
        H5Dclose(d);
    }
    hsize_t n = 10, two[2] = {0, 5}, five = 5;
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &five, NULL);
    H5Pset_external(dcpl, "found.raw", 0, 20); /* only the second half is missing */
    H5Pset_external(dcpl, "gone.raw", 0, 20);
    hid_t d = H5Dcreate2(f, "half", H5T_NATIVE_INT, s, H5P_DEFAULT, dcpl, dapl);
    for (int i = 0; i < 2; i++) {
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &two[i], NULL, &five, NULL);
        memset(got, 0, sizeof got);
        say_result(o, "half of it", H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, got));
        say_bytes(o, "values", got, i ? 0 : sizeof got);
    }
    H5Dclose(d);
    H5Sclose(m);
    H5Sclose(s);
    H5Pclose(dcpl);
    H5Pclose(dapl);
}

/* A copy has the same files. */
static void write_copied(hid_t f, struct out *o)
{
    int   v[10], w[10] = {0};
    hid_t dapl = origin();
    clear_raw();
    for (int i = 0; i < 10; i++)
        v[i] = i * i;
    hid_t d = new_external(f, "first", H5T_STD_I32LE, 10, "shared.raw", 0, dapl);
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "H5Ocopy", H5Ocopy(f, "first", f, "second", H5P_DEFAULT, H5P_DEFAULT));
    hid_t e = H5Dopen2(f, "second", dapl);
    v[3] = 77;
    say_result(o, "H5Dwrite", H5Dwrite(e, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w));
    say_bytes(o, "the first", w, sizeof w);
    H5Dclose(e);
    H5Dclose(d);
    H5Pclose(dapl);
}

/* Names behind a prefix, which is a folder of this machine; the first name stays as it is. */
static void write_prefixed(hid_t f, struct out *o)
{
    char  absolute[200];
    int   v[4] = {1, 2, 3, 4};
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    clear_raw();
    if (!*cwd)
        return; /* HDF5_EXTFILE_PREFIX is set, and counts for more */
    snprintf(absolute, sizeof absolute, "%s/absolute.raw", cwd);
    for (int i = 0; i < 4; i++) {
        static const char *prefixes[] = {"sub", "./sub/", "", "."}, *names[] = {"a.raw", "b.raw", "c.raw", "d.raw"};
        char               place[64];
        H5Pset_efile_prefix(dapl, prefixes[i]);
        hid_t d = new_external(f, names[i], H5T_STD_I32LE, 4, names[i], 0, dapl);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        H5Dclose(d);
        snprintf(place, sizeof place, "%s%s", i < 2 ? "sub/" : "", names[i]);
        say_raw(o, place);
    }
    H5Pset_efile_prefix(dapl, "sub");
    hid_t d = new_external(f, "absolute", H5T_STD_I32LE, 4, absolute, 0, dapl);
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_raw(o, "absolute.raw");
    H5Dclose(d);
    H5Pclose(dapl);
}

/* The times of allocation and of filling: HDF5 leaves raw files alone until something is written. */
static void time_pair(hid_t f, struct out *o, int fill, H5D_fill_time_t ft, H5D_alloc_time_t at)
{
    const hsize_t n = 6, from = 3, two = 2;
    const int     value = 7, some[2] = {1, 2};
    int           v[6] = {0};
    char          name[96], raw[112];
    hid_t         dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = origin(), s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &two, NULL);
    snprintf(name, sizeof name, "value%d-fill%d-alloc%d", fill, ft, at);
    snprintf(raw, sizeof raw, "%s.raw", name);
    if (fill)
        H5Pset_fill_value(dcpl, H5T_NATIVE_INT, fill == 1 ? &value : NULL);
    H5Pset_fill_time(dcpl, ft);
    H5Pset_alloc_time(dcpl, at);
    H5Pset_external(dcpl, raw, 0, H5F_UNLIMITED);
    hid_t d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, dapl);
    say_result(o, name, d);
    if (d >= 0) {
        say_storage(o, d);
        say_raw(o, raw);
        say_result(o, "reading what nobody wrote", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &two, NULL);
        say_result(o, "writing some", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, some));
        say_storage(o, d);
        say_result(o, "reading", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_bytes(o, "values", v, sizeof v);
        say_raw(o, raw);
        H5Dclose(d);
    }
    H5Sclose(m);
    H5Sclose(s);
    H5Pclose(dapl);
    H5Pclose(dcpl);
}

static void write_times(hid_t f, struct out *o)
{
    clear_raw();
    for (int fill = 0; fill < 3; fill++)
        for (int ft = H5D_FILL_TIME_ALLOC; ft <= H5D_FILL_TIME_IFSET; ft++)
            for (int at = H5D_ALLOC_TIME_DEFAULT; at <= H5D_ALLOC_TIME_INCR; at++)
                time_pair(f, o, fill, (H5D_fill_time_t)ft, (H5D_alloc_time_t)at);
}

static H5T_conv_ret_t make_another(H5T_conv_except_t what, hid_t from, hid_t to, void *src, void *dst, void *arg)
{
    const hid_t *f = arg;
    hid_t        p = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &(hsize_t){4}, NULL);
    (void)what, (void)from, (void)to, (void)src, (void)dst;
    H5Pset_chunk(p, 1, &(hsize_t){2}); /* a list of which HDF5 makes something, in a file in memory */
    H5Dclose(H5Dcreate2(*f, "another", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Sclose(s);
    H5Pclose(p);
    return H5T_CONV_UNHANDLED;
}

/* The program's callback comes while the connector has a file in memory for the elements. */
static void write_within(hid_t f, struct out *o)
{
    hid_t       dapl = origin(), dxpl = H5Pcreate(H5P_DATASET_XFER), d = new_external(f, "within", H5T_STD_I32LE, 4, "within.raw", 0, dapl);
    int         v[4] = {1, 2, 300, 4};
    signed char got[4] = {0};
    H5Pset_type_conv_cb(dxpl, make_another, &f);
    say_result(o, "numbers", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "one doesn't fit", H5Dread(d, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, dxpl, got));
    say(o, "%d, another: %d\n", got[2], H5Lexists(f, "another", H5P_DEFAULT) > 0);
    H5Dclose(d);
    H5Pclose(dxpl);
    H5Pclose(dapl);
}

static const struct write_case cases[] = {
    {"external files, every pair of fill and allocation time", write_times, NULL},
    {"lists of external files, and what HDF5 refuses", write_forms, read_forms},
    {"datasets with external files are changed and grow", write_changed, read_changed},
    {"datasets with external files lose columns and rows", write_narrowed, read_narrowed},
    {"external files of other types, and several datasets at once", write_types, NULL},
    {"external files that were there before, in part or not at all", write_found, NULL},
    {"the copy of a dataset with external files has the same files", write_copied, NULL},
    {"names of external files behind a prefix", write_prefixed, NULL},
    {"a dataset is made while elements are converted", write_within, NULL},
};

/* Names count from the working folder, in a process of its own: HDF5 looks at the environment once. */
static int run_in_cwd(void)
{
    const char *tmp = getenv("TMPDIR");
    char        command[100];
    (void)unsetenv("HDF5_EXTFILE_PREFIX");
    snprintf(cwd, sizeof cwd, "%.40s/h5extern.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(cwd) || chdir(cwd) != 0)
        return 1;
    int rc = compare_write_main(cases, COUNT(cases));
    snprintf(command, sizeof command, "rm -rf '%s'", cwd);
    return chdir("/") != 0 || system(command) != 0 || rc;
}

int main(void)
{
    int   status = 0;
    pid_t child  = fork();
    if (child == 0)
        return run_in_cwd();
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    (void)setenv("HDF5_EXTFILE_PREFIX", "${ORIGIN}", 1); /* for programs that open datasets without our list */
    return compare_write_main(cases, COUNT(cases)) || !WIFEXITED(status) || WEXITSTATUS(status);
}
