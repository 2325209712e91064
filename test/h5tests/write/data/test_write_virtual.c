/* Virtual datasets: made, read and written through their mappings, with sources in the same file, in others,
 * or missing. */
#include "h5tests/write/data/virtual_testing.h"

/* Not in a bucket, where it would be an object. */
static void file_of_text(const struct out *o, const char *leaf)
{
    FILE *file = has_folders() ? fopen(new_name(o, leaf), "w") : NULL;
    if (!file)
        return;
    (void)fputs("not HDF5's format", file);
    (void)fclose(file);
}

/* Reading fails.  The dataset doesn't stay, since a failed read may change some of the memory. */
static void read_text(hid_t f, hid_t space, struct out *o)
{
    hid_t p = list_with_fill(8);
    file_of_text(o, "text.h5");
    H5Pset_virtual(p, space, "text.h5", "x", space);
    hid_t d = H5Dcreate2(f, "text", H5T_STD_I32LE, space, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "creating with a source of another format", d);
    say_result(o, "reading it", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dclose(d);
    H5Pclose(p);
    H5Ldelete(f, "text", H5P_DEFAULT);
}

/* ---- cases ---- */

static void write_fixed(hid_t f, struct out *o)
{
    const hsize_t dims[] = {3, 10}, src[] = {10}, start0[] = {0, 0}, start2[] = {2, 0}, one[] = {1, 10};
    source_file(o, "other.h5", "x", 1, src, NULL, 500);
    H5Dclose(dataset(f, "here", 1, src, NULL, 100));
    hid_t v = H5Screate_simple(2, dims, NULL), s = H5Screate_simple(1, src, NULL), p = list_with_fill(-5);
    H5Sselect_hyperslab(v, H5S_SELECT_SET, start0, NULL, one, NULL);
    H5Pset_virtual(p, v, ".", "here", s);
    H5Sselect_hyperslab(v, H5S_SELECT_SET, start2, NULL, one, NULL);
    H5Pset_virtual(p, v, "other.h5", "/x", s);
    H5Sselect_all(v);
    say_created(o, "creating", H5Dcreate2(f, "v", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    p = list_with_fill(7); /* neither file nor dataset is there */
    H5Pset_virtual(p, v, "nowhere.h5", "x", v);
    say_created(o, "creating with a missing source", H5Dcreate2(f, "missing", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    read_text(f, v, o);
    H5Sclose(v);
    H5Sclose(s);
}

/* Selections that an offset moves out of the extent, of the file's dataspace and of memory's */
static void read_outside(hid_t f, struct out *o)
{
    const hsize_t  dims[] = {3, 10}, start[] = {1, 0}, block[] = {2, 10};
    const hssize_t by[] = {1, 0};
    hid_t          d = H5Dopen2(f, "v", H5P_DEFAULT), in = H5Screate_simple(2, dims, NULL), out = H5Scopy(in);
    H5Sselect_hyperslab(in, H5S_SELECT_SET, start, NULL, block, NULL);
    H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, block, NULL);
    H5Soffset_simple(out, by);
    for (int side = 0; side < 2; side++) {
        memset(values, -1, sizeof values);
        say_result(o, side ? "file's selection outside" : "memory's selection outside",
                   H5Dread(d, H5T_NATIVE_INT, side ? in : out, side ? out : in, H5P_DEFAULT, values));
        say_bytes(o, "values", values, sizeof values);
    }
    H5Sclose(in);
    H5Sclose(out);
    H5Dclose(d);
}

static void read_fixed(hid_t f, struct out *o)
{
    read_outside(f, o);
    say_dataset(f, "v", H5P_DEFAULT, o);
    say_dataset(f, "missing", H5P_DEFAULT, o);
    hid_t d = H5Dopen2(f, "v", H5P_DEFAULT), p = H5Dget_create_plist(d);
    size_t n = 0;
    char   name[100];
    say(o, "layout %d", H5Pget_layout(p));
    say_result(o, "counting", H5Pget_virtual_count(p, &n));
    for (size_t i = 0; i < n; i++) {
        hid_t vs = H5Pget_virtual_vspace(p, i), ss = H5Pget_virtual_srcspace(p, i);
        H5Pget_virtual_filename(p, i, name, sizeof name);
        say(o, "mapping %zu: %s", i, name);
        H5Pget_virtual_dsetname(p, i, name, sizeof name);
        say(o, "dataset %s, %lld elements", name, (long long)H5Sget_select_npoints(vs));
        H5Sclose(vs);
        H5Sclose(ss);
    }
    H5Pclose(p);
    H5Dclose(d);
}

/* Two datasets that grow, side by side. */
static void write_unlimited(hid_t f, struct out *o)
{
    const hsize_t dims[] = {2, 0}, max[] = {2, H5S_UNLIMITED}, a[] = {7}, b[] = {4}, end[] = {H5S_UNLIMITED};
    source_file(o, "a.h5", "d", 1, a, end, 1);
    source_file(o, "b.h5", "d", 1, b, end, 1001);
    hid_t         v = H5Screate_simple(2, dims, max), p = list_with_fill(-1);
    const hsize_t n[] = {1, H5S_UNLIMITED};
    for (hsize_t i = 0; i < 2; i++) {
        const hsize_t start[] = {i, 0}, zero[] = {0};
        hid_t         s = H5Screate_simple(1, i ? b : a, end);
        H5Sselect_hyperslab(v, H5S_SELECT_SET, start, NULL, n, NULL);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, zero, NULL, end, NULL);
        H5Pset_virtual(p, v, i ? "b.h5" : "a.h5", "d", s);
        H5Sclose(s);
    }
    H5Sselect_all(v);
    say_created(o, "creating", H5Dcreate2(f, "v", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(v);
}

static void read_unlimited(hid_t f, struct out *o)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    say_dataset(f, "v", dapl, o);
    H5Pset_virtual_view(dapl, H5D_VDS_FIRST_MISSING); /* HDF5 1.14.5 then reads fill values before the first missing, too */
    hid_t d = H5Dopen2(f, "v", dapl), s = H5Dget_space(d);
    say_space(o, s);
    H5Sclose(s);
    H5Dclose(d);
    H5Pclose(dapl);
}

/* Numbered sources: 0, 1 and 3 are there. */
static void write_numbered(hid_t f, struct out *o)
{
    const hsize_t dims[] = {0}, end[] = {H5S_UNLIMITED}, four[] = {4}, zero[] = {0}, stride[] = {5};
    source_file(o, "n0.h5", "d", 1, four, NULL, 0);
    source_file(o, "n1.h5", "d", 1, four, NULL, 10);
    source_file(o, "n3.h5", "d", 1, four, NULL, 30);
    hid_t v = H5Screate_simple(1, dims, end), s = H5Screate_simple(1, four, NULL), p = list_with_fill(-9);
    H5Sselect_hyperslab(v, H5S_SELECT_SET, zero, stride, end, four);
    H5Pset_virtual(p, v, "n%b.h5", "d", s);
    H5Sselect_all(v);
    say_created(o, "creating", H5Dcreate2(f, "v", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(v);
    H5Sclose(s);
}

static void read_numbered(hid_t f, struct out *o)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    for (hsize_t gap = 0; gap < 3; gap++) {
        H5Pset_virtual_printf_gap(dapl, gap);
        say_dataset(f, "v", dapl, o);
    }
    H5Pset_virtual_view(dapl, H5D_VDS_FIRST_MISSING);
    say_dataset(f, "v", dapl, o);
    H5Pclose(dapl);
}

/* Written elements go to the sources; elements without a source are not stored. */
static void write_through(hid_t f, struct out *o)
{
    write_fixed(f, o);
    hid_t d = H5Dopen2(f, "v", H5P_DEFAULT), s = H5Dget_space(d);
    for (int i = 0; i < 30; i++)
        values[i] = 9000 + i;
    const hsize_t start[] = {0, 3}, count[] = {1, 4}, start0[] = {0, 8}, beyond[] = {2, 2};
    hsize_t       n       = 4;
    hid_t         m       = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start0, NULL, beyond, NULL);
    say_result(o, "writing what has no source, too", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, values));
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, values));
    H5Sclose(m);
    H5Sclose(s);
    H5Dclose(d);
}

static void read_through(hid_t f, struct out *o)
{
    say_dataset(f, "v", H5P_DEFAULT, o);
    say_dataset(f, "here", H5P_DEFAULT, o);
}

/* A virtual dataset of a virtual dataset. */
static void write_nested(hid_t f, struct out *o)
{
    const hsize_t dims[] = {10};
    H5Dclose(dataset(f, "d", 1, dims, NULL, 40));
    hid_t s = H5Screate_simple(1, dims, NULL);
    for (int i = 0; i < 3; i++) {
        char  name[8], from[8];
        hid_t p = H5Pcreate(H5P_DATASET_CREATE);
        snprintf(name, sizeof name, "v%d", i);
        snprintf(from, sizeof from, i ? "v%d" : "d", i - 1);
        H5Pset_virtual(p, s, ".", from, s);
        say_created(o, name, H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
        H5Pclose(p);
    }
    H5Sclose(s);
}

static void read_nested(hid_t f, struct out *o)
{
    say_dataset(f, "v2", H5P_DEFAULT, o);
    say_dataset(f, "v0", H5P_DEFAULT, o);
}

/* ---- further cases of HDF5's own test/vds.c ---- */

static hid_t select_in(int rank, const hsize_t *dims, const hsize_t *start, const hsize_t *stride, const hsize_t *count,
                       const hsize_t *block)
{
    hid_t s = H5Screate_simple(rank, dims, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
    return s;
}

static void map(struct out *o, hid_t p, hid_t v, const char *file, const char *name, hid_t s)
{
    say_result(o, "H5Pset_virtual", H5Pset_virtual(p, v, file, name, s));
    H5Sclose(v);
    H5Sclose(s);
}

/* Every second row from one source, blocks of columns of the others from another; ranks and types differ. */
static void write_shapes(hid_t f, struct out *o)
{
    const hsize_t dims[] = {6, 12}, cube[] = {3, 2, 6}, flat[] = {72}, zero[] = {0, 0, 0};
    hid_t         p = list_with_fill(-3), v = H5Screate_simple(2, dims, NULL);
    source_file(o, "cube.h5", "c", 3, cube, NULL, 100);
    source_file(o, "flat.h5", "f", 1, flat, NULL, 1000);
    map(o, p, select_in(2, dims, zero, (hsize_t[]){2, 1}, (hsize_t[]){3, 1}, (hsize_t[]){1, 12}), "cube.h5", "c",
        select_in(3, cube, zero, NULL, cube, NULL));
    map(o, p, select_in(2, dims, (hsize_t[]){1, 2}, (hsize_t[]){2, 5}, (hsize_t[]){3, 2}, (hsize_t[]){1, 3}), "flat.h5", "f",
        select_in(1, flat, (hsize_t[]){5}, (hsize_t[]){4}, (hsize_t[]){9}, (hsize_t[]){2}));
    say_created(o, "ints", H5Dcreate2(f, "ints", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    say_created(o, "floats", H5Dcreate2(f, "floats", H5T_IEEE_F64BE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    /* several blocks joined, and points, which HDF5 refuses */
    p            = list_with_fill(-4);
    hid_t joined = select_in(2, dims, zero, NULL, (hsize_t[]){1, 4}, NULL), points = H5Screate_simple(2, dims, NULL);
    H5Sselect_hyperslab(joined, H5S_SELECT_OR, (hsize_t[]){3, 5}, NULL, (hsize_t[]){2, 4}, NULL);
    map(o, p, joined, "flat.h5", "f", select_in(1, flat, zero, NULL, (hsize_t[]){12}, NULL));
    H5Sselect_elements(points, H5S_SELECT_SET, 1, (hsize_t[]){1, 1});
    map(o, p, points, "flat.h5", "f", select_in(1, flat, zero, NULL, (hsize_t[]){1}, NULL));
    say_created(o, "joined", H5Dcreate2(f, "joined", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    /* as many elements on both sides, or none */
    p = list_with_fill(-4);
    map(o, p, select_in(2, dims, zero, NULL, (hsize_t[]){1, 4}, NULL), "flat.h5", "f",
        select_in(1, flat, zero, NULL, (hsize_t[]){5}, NULL));
    H5Pclose(p);
    H5Sclose(v);
}

static void read_shapes(hid_t f, struct out *o)
{
    say_dataset(f, "ints", H5P_DEFAULT, o);
    say_dataset(f, "floats", H5P_DEFAULT, o);
    say_dataset(f, "joined", H5P_DEFAULT, o);
}

/* A source that is smaller than its mapped part, one that was made later, one that grows, and one that ends
 * before it.  Elements beyond a source's end have the virtual dataset's fill value.  HDF5 1.14 reads the
 * source's own there, so both are 0. */
static void write_later(hid_t f, struct out *o)
{
    const hsize_t dims[] = {4, 10}, ten[] = {10}, twenty[] = {20}, six[] = {6}, end[] = {H5S_UNLIMITED}, zero[] = {0, 0};
    const char *const names[] = {"small.h5", "late.h5", "grown.h5"};
    hid_t             p = list_with_fill(0), v = H5Screate_simple(2, dims, NULL);
    source_file(o, "small.h5", "x", 1, six, NULL, 10);
    source_file(o, "grown.h5", "x", 1, six, end, 30);
    for (hsize_t i = 0; i < 3; i++)
        map(o, p, select_in(2, dims, (hsize_t[]){i, 0}, NULL, (hsize_t[]){1, 10}, NULL), names[i], "x",
            select_in(1, ten, zero, NULL, ten, NULL));
    map(o, p, select_in(2, dims, (hsize_t[]){3, 0}, NULL, (hsize_t[]){1, 10}, NULL), "small.h5", "x",
        select_in(1, twenty, ten, NULL, ten, NULL));
    say_created(o, "creating", H5Dcreate2(f, "v", H5T_STD_I32LE, v, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(v);
    say_dataset(f, "v", H5P_DEFAULT, o);
    source_file(o, "late.h5", "x", 1, ten, NULL, 20);
    hid_t fapl = new_fapl(o), g = H5Fopen(new_name(o, "grown.h5"), H5F_ACC_RDWR, fapl), d = H5Dopen2(g, "x", H5P_DEFAULT);
    say_result(o, "H5Dset_extent", H5Dset_extent(d, ten));
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dclose(d);
    H5Fclose(g);
    H5Pclose(fapl);
}

/* Sources of which all was mapped, and that grew or shrank afterwards.  A part is read, and the dataset is
 * removed: HDF5 1.14 refuses to read all of it. */
static void write_whole(hid_t f, struct out *o)
{
    const hsize_t ten[] = {10}, end[] = {H5S_UNLIMITED}, later[][1] = {{15}, {6}};
    const hsize_t start[] = {1}, stride[] = {3}, count[] = {2};
    hid_t s = H5Screate_simple(1, ten, NULL), mem = H5Screate_simple(1, count, NULL);
    for (int i = 0; i < 2; i++) {
        hid_t p = list_with_fill(0);
        source_file(o, "whole.h5", "x", 1, ten, end, 40 + 20 * i);
        H5Pset_virtual(p, s, "whole.h5", "x", s);
        say_created(o, "creating", H5Dcreate2(f, "v", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
        H5Pclose(p);
        hid_t fapl = new_fapl(o), g = H5Fopen(new_name(o, "whole.h5"), H5F_ACC_RDWR, fapl),
              d = H5Dopen2(g, "x", H5P_DEFAULT);
        say_result(o, "H5Dset_extent", H5Dset_extent(d, later[i]));
        H5Dclose(d);
        H5Fclose(g);
        H5Pclose(fapl);
        hid_t v = H5Dopen2(f, "v", H5P_DEFAULT), part = H5Dget_space(v);
        memset(values, -1, sizeof values);
        H5Sselect_hyperslab(part, H5S_SELECT_SET, start, stride, count, NULL);
        say_result(o, "reading a part", H5Dread(v, H5T_NATIVE_INT, mem, part, H5P_DEFAULT, values));
        say_bytes(o, "values", values, 2 * sizeof *values);
        H5Sclose(part);
        H5Dclose(v);
        say_result(o, "H5Ldelete", H5Ldelete(f, "v", H5P_DEFAULT));
    }
    H5Sclose(mem);
    H5Sclose(s);
}

/* Lists: used again for another dataset, with the properties of opening; a copy of the dataset. */
static void write_lists(hid_t f, struct out *o)
{
    write_fixed(f, o);
    hid_t d = H5Dopen2(f, "v", H5P_DEFAULT), p = H5Dget_create_plist(d), s = H5Dget_space(d);
    say_created(o, "from the list of another", H5Dcreate2(f, "again", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    say_result(o, "H5Ocopy", H5Ocopy(f, "v", f, "vcopy", H5P_DEFAULT, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(s);
    H5Dclose(d);
}

static void read_lists(hid_t f, struct out *o)
{
    say_dataset(f, "again", H5P_DEFAULT, o);
    say_dataset(f, "vcopy", H5P_DEFAULT, o);
    hid_t          dapl = H5Pcreate(H5P_DATASET_ACCESS);
    hsize_t        gap  = 0;
    H5D_vds_view_t view = H5D_VDS_ERROR;
    char           text[64] = "";
    H5Pset_virtual_view(dapl, H5D_VDS_FIRST_MISSING);
    H5Pset_virtual_printf_gap(dapl, 5);
    H5Pset_virtual_prefix(dapl, "${ORIGIN}");
    hid_t d = H5Dopen2(f, "v", dapl), got = H5Dget_access_plist(d);
    say_result(o, "H5Pget_virtual_view", H5Pget_virtual_view(got, &view));
    say_result(o, "H5Pget_virtual_printf_gap", H5Pget_virtual_printf_gap(got, &gap));
    say_result(o, "H5Pget_virtual_prefix", H5Pget_virtual_prefix(got, text, sizeof text));
    say(o, "view %d", view); /* HDF5 keeps view and gap for datasets without a limit */
    H5Pclose(got);
    H5Dclose(d);
    say_dataset(f, "v", dapl, o);
    H5Pset_virtual_prefix(dapl, "nowhere"); /* then beside the file all the same */
    say_dataset(f, "v", dapl, o);
    H5Pclose(dapl);
}

/* HDF5 1.14.5 crashes if a mapping without end leads to its own dataset, and another writer may have stored
 * such a mapping.  Here the connector is called alone, without a comparison. */
static void write_itself(hid_t f, struct out *o)
{
    hsize_t dims[1] = {10}, max[1] = {H5S_UNLIMITED}, start[1] = {0}, end[1] = {H5S_UNLIMITED}, one[1] = {1};
    hid_t   s = H5Screate_simple(1, dims, max), p = H5Pcreate(H5P_DATASET_CREATE), d = H5I_INVALID_HID, found = 0;
    int     v[10], rc = 0;
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, end, one);
    H5Pset_virtual(p, s, ".", "itself", s);
    H5E_BEGIN_TRY
    {
        if (o->ours && (d = H5Dcreate2(f, "itself", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) >= 0) {
            found = H5Dget_space(d);
            rc    = H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
            H5Dclose(d);
            H5Ldelete(f, "itself", H5P_DEFAULT);
        }
    }
    H5E_END_TRY
    CHECK(!o->ours || (d >= 0 && found < 0 && rc < 0), "a dataset that is its own source: opened %d, extent %d, read %d", d >= 0, found >= 0, rc);
    H5Pclose(p);
    H5Sclose(s);
}

/* ---- H5Dset_extent ---- */

/* Elements beyond the mappings have the fill value. */
static void say_elements(hid_t d, struct out *o)
{
    hsize_t dims[2] = {0, 1};
    hid_t   s       = H5Dget_space(d);
    int     rank    = H5Sget_simple_extent_dims(s, dims, NULL);
    size_t  n       = (size_t)(dims[0] * dims[1]);
    int    *v       = calloc(n + 1, sizeof *v);
    say(o, "rank %d, %llu %llu, read %d", rank, (unsigned long long)dims[0], (unsigned long long)dims[1],
        H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (size_t i = 0; i < n; i++)
        say(o, "%d", v[i]);
    free(v);
    H5Sclose(s);
}

/* A virtual dataset of 4 x 5, with its first three rows mapped; @p endless: with all rows mapped that its source
 * has.  Two sources: a fixed one, and one that grows. */
static hid_t resizable(hid_t f, const char *name, hsize_t max, bool endless)
{
    const hsize_t dims[2] = {4, 5}, most[2] = {max, 7}, zero[2] = {0, 0}, all[2] = {H5S_UNLIMITED, 5}, rows[2] = {3, 5}, chunk[2] = {2, 2};
    const int     fill    = -7;
    int           v[20];
    char          source[32];
    hid_t         p = H5Pcreate(H5P_DATASET_CREATE), c = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         vs = H5Screate_simple(2, dims, most), s = H5Screate_simple(2, dims, endless ? all : NULL);
    snprintf(source, sizeof source, "source of %s", name);
    if (endless)
        H5Pset_chunk(c, 2, chunk);
    for (int i = 0; i < 20; i++)
        v[i] = i + 1;
    hid_t d = H5Dcreate2(f, source, H5T_STD_I32LE, s, H5P_DEFAULT, c, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(d);
    H5Sselect_hyperslab(vs, H5S_SELECT_SET, zero, NULL, endless ? (const hsize_t[]){1, 1} : rows, endless ? all : NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, zero, NULL, endless ? (const hsize_t[]){1, 1} : rows, endless ? all : NULL);
    H5Pset_virtual(p, vs, ".", source, s);
    H5Pset_fill_value(p, H5T_NATIVE_INT, &fill);
    H5Sselect_all(vs);
    d = H5Dcreate2(f, name, H5T_STD_I32BE, vs, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Sclose(s);
    H5Sclose(vs);
    H5Pclose(c);
    H5Pclose(p);
    return d;
}

/* Sizes that HDF5 refuses come last: it keeps them in memory nevertheless. */
static void resized(hid_t f, struct out *o)
{
    static const hsize_t to[][2] = {{6, 5}, {6, 7}, {3, 7}, {3, 5}, {3, 6}, {9, 6}, {9, 6}};
    for (int k = 0; k < 3; k++) {
        const char *name = (const char *[]){"unlimited", "limited", "endless"}[k];
        hid_t       d    = resizable(f, name, k == 1 ? 9 : H5S_UNLIMITED, k == 2);
        for (size_t i = 0; i < COUNT(to); i++) {
            say_result(o, name, H5Dset_extent(d, to[i]));
            say_elements(d, o);
        }
        if (k < 2) {
            int v[54];
            for (int i = 0; i < 54; i++)
                v[i] = 100 + i;
            say_result(o, "writing beyond the mapping", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        }
        H5Dclose(d);
        d = H5Dopen2(f, name, H5P_DEFAULT);
        say_elements(d, o);
        say_result(o, "more than it may", H5Dset_extent(d, (const hsize_t[]){k == 1 ? 10 : 9, 8}));
        H5Dclose(d);
    }
    for (int k = 0; k < 3; k++) { /* too small for the mapping */
        char  name[16];
        hid_t d = resizable(f, (snprintf(name, sizeof name, "small %d", k), name), H5S_UNLIMITED, k == 2);
        say_result(o, "smaller than the mapping", H5Dset_extent(d, (const hsize_t[]){k == 0 ? 2 : 4, k == 0 ? 5 : 4}));
        H5Dclose(d);
    }
    H5Eclear2(H5E_DEFAULT);
}

static const struct write_case cases[] = {
    {"fixed mappings, in this file, in another, and nowhere", write_fixed, read_fixed},
    {"mappings as long as their sources", write_unlimited, read_unlimited},
    {"numbered sources, with a gap", write_numbered, read_numbered},
    {"writing goes to the sources", write_through, read_through},
    {"virtual datasets of virtual datasets", write_nested, read_nested},
    {"mappings of other shapes, ranks and types", write_shapes, read_shapes},
    {"sources that are too small, come later, or grow", write_later, read_unlimited},
    {"sources mapped as a whole, which change afterwards", write_whole, NULL},
    {"lists of virtual datasets, and their copies", write_lists, read_lists},
    {"a dataset that is its own source", write_itself, NULL},
    {"virtual datasets grow and shrink around their mappings", resized, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
