/* Datasets with external files: which lists HDF5 takes, what it tells of them, and their elements.  The cases are the behaviours of
 * HDF5's own test/external.c; a domain keeps the list and holds the elements itself. */
#include "compare_write.h"

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

static hid_t origin(void)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_efile_prefix(dapl, "${ORIGIN}");
    return dapl;
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
    if (d >= 0) {
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        H5Dclose(d);
    }
    H5Sclose(s);
    H5Pclose(dapl);
    H5Pclose(dcpl);
}

static void write_forms(hid_t f, struct out *o)
{
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
        say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        say_bytes(o, "values", v, sizeof v[0] * N);
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

static const struct write_case cases[] = {
    {"lists of external files, and what HDF5 refuses", write_forms, read_forms},
    {"datasets with external files are changed and grow", write_changed, read_changed},
};

int main(void)
{
    (void)setenv("HDF5_EXTFILE_PREFIX", "${ORIGIN}", 1); /* for what opens datasets without our list */
    return compare_write_main(cases, COUNT(cases));
}
