/* Datasets that grow and shrink: the elements that come back, refused calls, and elements that were never
 * written. */
#include <signal.h>
#include <sys/resource.h>

#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/must_succeed_file.h"
#include "h5tests/write/data/chunked_list.h"

static void extents(hid_t f, struct out *o)
{
    const hsize_t dims[] = {5, 6}, max[] = {H5S_UNLIMITED, 12}, chunk[] = {4, 4};
    hid_t s = H5Screate_simple(2, dims, max), p = chunked(2, chunk);
    int   fill = 42, data[30];
    H5Pset_fill_value(p, H5T_NATIVE_INT, &fill);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < 30; i++)
        data[i] = i;
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    const hsize_t more[] = {9, 12}, less[] = {3, 3}, again[] = {8, 8}, far[] = {5, 13};
    say_result(o, "growing", H5Dset_extent(d, more));
    H5Fflush(f, H5F_SCOPE_LOCAL);
    say_result(o, "shrinking", H5Dset_extent(d, less));
    say_result(o, "growing again", H5Dset_extent(d, again)); /* cut-off elements have the fill value now */
    say_result(o, "beyond the maximum", H5Dset_extent(d, far));
    hid_t s2 = H5Dget_space(d);
    say_space(o, s2);
    int back[64];
    say_result(o, "reading", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    say_bytes(o, "values", back, sizeof back);
    H5Sclose(s2);
    H5Dclose(d);
    H5Sclose(s);
    H5Pclose(p);
}

static void chunks_longer_than_it_gets(hid_t f, struct out *o)
{
    const hsize_t dims[] = {4, 0}, max[] = {20, 5}, more[] = {4, 5}, chunk[] = {4, 19};
    short         v[20];
    hid_t         s = H5Screate_simple(2, dims, max), p = chunked(2, chunk);
    for (short i = 0; i < 20; i++)
        v[i] = i;
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I16LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "making it with a dimension of 0", d);
    say_result(o, "growing", H5Dset_extent(d, more));
    say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "copying", H5Ocopy(f, "d", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(d);
    H5Sclose(s);
    H5Pclose(p);
    s = H5Screate_simple(1, more, NULL);
    d = H5Dcreate2(f, "contiguous", H5T_STD_I16LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "a contiguous one to what it is", H5Dset_extent(d, more));
    H5Dclose(d);
    p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(p, H5D_COMPACT);
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_LATE);
    say_result(o, "compact, allocated late", H5Dcreate2(f, "late", H5T_STD_I16LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(s);
}

/* ---- elements beyond the extent ---- */

enum { SIDE = 256, INSIDE = 2 * SIDE + 88 }; /* a chunk object of its own; the extent ends in the third one */

static void say_all(hid_t d, struct out *o)
{
    hsize_t dims[2] = {1, 1};
    hid_t s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, dims, NULL));
    int *v = numbers_from(dims[0] * dims[1], 0, 0);
    say_space(o, s);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_bytes(o, "values", v, dims[0] * dims[1] * sizeof *v);
    free(v);
    TRY(H5Sclose(s));
}

/* The chunk that the program encodes has elements beyond the extent.  The shrink of one dimension cuts it. */
static void encoded_chunk(hid_t f, struct out *o, bool stored)
{
    const hsize_t at[] = {2 * SIDE, 2 * SIDE}, less[] = {INSIDE - 50, INSIDE}, more[] = {3 * SIDE, 3 * SIDE};
    hid_t d = make_dataset(f, "encoded",
                           &(struct made){.rank = 2,
                                          .dims = {INSIDE, INSIDE},
                                          .max = {H5S_UNLIMITED, H5S_UNLIMITED},
                                          .chunk = {SIDE, SIDE}});
    int *v = numbers_from(SIDE * SIDE, 1, 1);
    TRY(H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, SIDE * SIDE * sizeof *v, v));
    free(v);
    if (stored)
        TRY(H5Fflush(f, H5F_SCOPE_LOCAL));
    TRY(H5Dset_extent(d, less));
    TRY(H5Dset_extent(d, more));
    say_all(d, o);
    TRY(H5Dclose(d));
}

static void encoded(hid_t f, struct out *o)
{
    const char *name = new_name(o, "alone.h5");
    hid_t fapl = o->ours ? fapl_ours("writers=one") : new_fapl(o);
    hid_t alone = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    encoded_chunk(f, o, false);
    encoded_chunk(alone, o, true);
    TRY(H5Fclose(alone));
    TRY(H5Fdelete(name, fapl));
    TRY(H5Pclose(fapl));
}

/* ---- no fill value, and nothing left ---- */

static void say_read(struct out *o, hid_t f, const char *name)
{
    int   v[20];
    hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
    say_result(o, name, H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Dclose(d);
}

/* To the remaining part, and back; with chunks that are stored by then, or only in memory. */
static void shrink_and_grow(hid_t f, struct out *o, const char *name, hid_t dcpl, hsize_t left, bool flushed, bool written)
{
    int     v[20] = {1, 2, 3};
    hsize_t n = 20, max = H5S_UNLIMITED;
    hid_t   s = H5Screate_simple(1, &n, &max), d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (written)
        say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    if (flushed)
        say_result(o, "flushing", H5Fflush(f, H5F_SCOPE_LOCAL));
    say_result(o, "shrinking", H5Dset_extent(d, &left));
    say_result(o, "growing", H5Dset_extent(d, &n));
    say_result(o, "reading", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Dclose(d);
    say_read(o, f, name);
    H5Sclose(s);
}

static void all_shrunk(hid_t f, struct out *o, void (*each)(hid_t f, struct out *o, const char *name, hid_t dcpl, unsigned i))
{
    static const H5D_fill_time_t times[] = {H5D_FILL_TIME_IFSET, H5D_FILL_TIME_ALLOC, H5D_FILL_TIME_NEVER};
    for (unsigned i = 0; i < 3 * 8; i++) {
        char  name[32];
        hid_t dcpl = chunked(1, (hsize_t[]){6});
        H5Pset_fill_value(dcpl, H5T_NATIVE_INT, NULL);
        H5Pset_fill_time(dcpl, times[i / 8]);
        snprintf(name, sizeof name, "d%u", i);
        say(o, "%s", name);
        each(f, o, name, dcpl, i);
        H5Pclose(dcpl);
    }
}

static void shrink_each(hid_t f, struct out *o, const char *name, hid_t dcpl, unsigned i)
{
    shrink_and_grow(f, o, name, dcpl, i & 1 ? 0 : 6, i & 2, i & 4);
}

static void read_each(hid_t f, struct out *o, const char *name, hid_t dcpl, unsigned i)
{
    (void)dcpl, (void)i;
    say_read(o, f, name);
}

static void unfilled(hid_t f, struct out *o) { all_shrunk(f, o, shrink_each); }
static void unfilled_stored(hid_t f, struct out *o) { all_shrunk(f, o, read_each); }

/* ---- with another writer ---- */

/* Several chunk objects. */
enum { LONG = 8192, WIDE = 64, SMALL = 400, FIRST = 4 };

static void all_written(hid_t d, int base)
{
    hsize_t dims[2] = {1, 1};
    hid_t s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, dims, NULL));
    write_all_numbers(d, dims[0] * dims[1], base, 1);
    TRY(H5Sclose(s));
}

static void along(hid_t d, int dim, hsize_t n)
{
    hsize_t dims[2];
    hid_t s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, dims, NULL));
    dims[dim] = n;
    TRY(H5Dset_extent(d, dims));
    TRY(H5Sclose(s));
}

static void say_refreshed(hid_t file, hid_t d, struct out *o)
{
    say_result(o, "H5Fflush", H5Fflush(file, H5F_SCOPE_LOCAL));
    say_result(o, "H5Drefresh", H5Drefresh(d));
    say_all(d, o);
}

static hid_t open_small(hid_t file, int i)
{
    char name[32];
    (void)snprintf(name, sizeof name, "small%d", i);
    return TRY(H5Dopen2(file, name, H5P_DEFAULT));
}

static void make_small(hid_t file, int n)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "small%d", i);
        TRY(H5Dclose(
            make_dataset(file, name, &(struct made){.dims = {1}, .max = {H5S_UNLIMITED}, .chunk = {4}})));
    }
}

static void grow_small(hid_t file, int i)
{
    const hsize_t n = 2;
    hid_t d = open_small(file, i);
    TRY(H5Dset_extent(d, &n));
    TRY(H5Dclose(d));
}

static void use_small(hid_t file, int i)
{
    hid_t d = open_small(file, i);
    write_numbers(d, 0, 1, i, 1);
    TRY(H5Dclose(d));
}

/* The directory takes no bytes during the call. */
static void fail_to_grow(hid_t d, hsize_t n, struct out *o)
{
    struct rlimit was, none;
    if (!o->ours)
        return;
    TRY(getrlimit(RLIMIT_FSIZE, &was));
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    TRY(setrlimit(RLIMIT_FSIZE, &none));
    (void)H5Dset_extent(d, &n); /* in S3 it succeeds */
    TRY(setrlimit(RLIMIT_FSIZE, &was));
    TRY(H5Eclear2(H5E_DEFAULT));
}

/* The writer that made the datasets has nothing in its memory of what another one stored in them. */
static void beside_another(hid_t mine, hid_t other, struct out *o)
{
    hid_t d = TRY(H5Dopen2(mine, "row", H5P_DEFAULT)), e = TRY(H5Dopen2(other, "row", H5P_DEFAULT));
    write_numbers(e, 1, 1, 11, 1);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_result(o, "H5Drefresh", H5Drefresh(d));
    write_numbers(d, 4, 2, 44, 1);
    say_all(d, o);
    write_numbers(e, 2, 1, 22, 1);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_result(o, "H5Drefresh with written elements", H5Drefresh(d));
    say_all(d, o);
    TRY(H5Dclose(d));
    TRY(H5Dclose(e));
    d = TRY(H5Dopen2(mine, "long", H5P_DEFAULT)), e = TRY(H5Dopen2(other, "long", H5P_DEFAULT));
    along(d, 0, LONG);
    TRY(H5Fflush(mine, H5F_SCOPE_LOCAL));
    TRY(H5Drefresh(e));
    all_written(e, 1000);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    along(d, 0, 100);
    along(d, 0, LONG);
    say_refreshed(mine, d, o);
    /* elements that the other one writes where it has shrunk and grown are stored before its flush */
    TRY(H5Drefresh(e));
    along(e, 0, 100);
    along(e, 0, LONG);
    all_written(e, 5000);
    TRY(H5Drefresh(d));
    along(d, 0, LONG + 1);
    TRY(H5Fflush(mine, H5F_SCOPE_LOCAL));
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_refreshed(mine, d, o);
    /* that this one has shrunk the dataset, too, shows when the other one lets it grow */
    TRY(H5Drefresh(e));
    along(e, 0, 100);
    TRY(H5Drefresh(d));
    along(d, 0, 50);
    along(e, 0, LONG);
    say_all(e, o);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_refreshed(mine, d, o);
    /* it shrinks to less than the other one has made of it, but more than it was here */
    TRY(H5Drefresh(e));
    along(d, 0, LONG + 10);
    along(e, 0, LONG + 20);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    TRY(H5Drefresh(d));
    along(d, 0, LONG + 15);
    say_refreshed(mine, d, o);
    TRY(H5Drefresh(e));
    say_all(e, o);
    /* the other one writes to many datasets before it lets this one grow again */
    TRY(H5Drefresh(e));
    all_written(e, 6000);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    along(e, 0, LONG / 4);
    for (int i = 0; i < SMALL / 10; i++)
        use_small(other, i);
    along(e, 0, LONG);
    all_written(e, 7000);
    TRY(H5Drefresh(d));
    along(d, 0, LONG + 1);
    TRY(H5Fflush(mine, H5F_SCOPE_LOCAL));
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_refreshed(mine, d, o);
    /* to let it grow succeeds only at the second attempt */
    TRY(H5Drefresh(e));
    along(e, 0, LONG / 4);
    fail_to_grow(e, LONG, o);
    along(e, 0, LONG);
    all_written(e, 8000);
    TRY(H5Drefresh(d));
    along(d, 0, LONG + 1);
    TRY(H5Fflush(mine, H5F_SCOPE_LOCAL));
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    say_refreshed(mine, d, o);
    TRY(H5Dclose(d));
    TRY(H5Dclose(e));
    /* one lets the columns grow, the other one takes rows away */
    d = TRY(H5Dopen2(mine, "wide", H5P_DEFAULT)), e = TRY(H5Dopen2(other, "wide", H5P_DEFAULT));
    along(e, 1, 3 * WIDE);
    all_written(e, 2000);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    along(d, 0, WIDE + 5);
    say_refreshed(mine, d, o);
    /* the other one's shrink isn't all stored when this one lets the dataset grow, and sees its rows only then */
    TRY(H5Drefresh(e));
    along(e, 1, 2 * WIDE - 5);
    TRY(H5Drefresh(d));
    along(e, 0, 3 * WIDE);
    all_written(e, 3000);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    along(d, 1, 4 * WIDE);
    say_refreshed(mine, d, o);
    TRY(H5Dclose(d));
    TRY(H5Dclose(e));
}

static void make_beside(hid_t mine)
{
    TRY(H5Dclose(make_dataset(mine, "row", &(struct made){.dims = {8}, .chunk = {8}})));
    TRY(H5Dclose(make_dataset(
        mine, "long",
        &(struct made){.dims = {1}, .max = {H5S_UNLIMITED}, .chunk = {LONG / 4}, .deflate = 1})));
    TRY(H5Dclose(make_dataset(mine, "wide",
                              &(struct made){.rank = 2,
                                             .dims = {2 * WIDE, WIDE},
                                             .max = {H5S_UNLIMITED, H5S_UNLIMITED},
                                             .chunk = {WIDE, WIDE}})));
    make_small(mine, SMALL / 10);
}

/* @p settings  of the writer that makes the file */
static void two_writers(struct out *o, const char *settings, void (*make)(hid_t mine),
                        void (*act)(hid_t mine, hid_t other, struct out *o))
{
    const char *name = new_name(o, "beside.h5");
    hid_t fapl = o->ours ? fapl_ours(settings) : new_fapl(o);
    hid_t also = o->ours ? fapl_ours("test.max_object=255M;test.write_cache=16K") : TRY(H5Pcopy(fapl));
    hid_t mine = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    make(mine);
    TRY(H5Fflush(mine, H5F_SCOPE_LOCAL));
    hid_t other = TRY(H5Fopen(name, H5F_ACC_RDWR, also));
    act(mine, other, o);
    TRY(H5Fclose(other));
    TRY(H5Fclose(mine));
    TRY(H5Fdelete(name, fapl));
    TRY(H5Pclose(also));
    TRY(H5Pclose(fapl));
}

static void another_writer(hid_t f, struct out *o)
{
    (void)f;
    two_writers(o, NULL, make_beside, beside_another);
}

/* ---- with another writer, and more changes than fit setting meta_cache ---- */

static void append_row(hid_t d, hsize_t row)
{
    const hsize_t at[] = {row, 0}, n[] = {1, FIRST};
    int v[FIRST];
    for (int i = 0; i < FIRST; i++)
        v[i] = (int)row * FIRST + i;
    along(d, 0, row + 1);
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(2, n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, at, NULL, n, NULL));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
}

/* Extents of many datasets wait for a flush, which comes in a call that lets "wide" grow. */
static void full_of_changes(hid_t mine, hid_t other, struct out *o)
{
    hid_t d = TRY(H5Dopen2(mine, "wide", H5P_DEFAULT)), e = TRY(H5Dopen2(other, "wide", H5P_DEFAULT));
    append_row(e, FIRST);
    TRY(H5Fflush(other, H5F_SCOPE_LOCAL));
    for (int i = 0; i < SMALL; i++) {
        along(d, 1, FIRST + 1 + (hsize_t)i);
        grow_small(mine, i);
    }
    TRY(H5Dclose(e));
    say_refreshed(mine, d, o);
    TRY(H5Dclose(d));
}

static void make_many(hid_t mine)
{
    TRY(H5Dclose(make_dataset(mine, "wide",
                              &(struct made){.rank = 2,
                                             .dims = {FIRST, FIRST},
                                             .max = {H5S_UNLIMITED, H5S_UNLIMITED},
                                             .chunk = {WIDE, WIDE}})));
    make_small(mine, SMALL);
}

static void full_of_extents(hid_t f, struct out *o)
{
    (void)f;
    two_writers(o, "meta_cache=0", make_many, full_of_changes);
}

static const struct write_case cases[] = {
    {"extents grow and shrink", extents, NULL},
    {"what HDF5 refuses to make, and to make larger", chunks_longer_than_it_gets, NULL},
    {"no fill value: shrunk and grown again", unfilled, unfilled_stored},
    {"a chunk with elements beyond the extent is cut", encoded, NULL},
    {"another writer stores elements and extents", another_writer, NULL},
    {"another writer stores extents, and many extents wait", full_of_extents, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
