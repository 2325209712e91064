/* A writer that may be killed at any moment, and a reader that checks the result.
 *
 *   crash_writer write NAME LOG     a session of several phases, each ended by H5Fflush(); LOG gets "flushed N", and
 *                                   "failed N" when the flush failed: then it is tried once more
 *   crash_writer close NAME LOG     the same session without a flush: all is stored by H5Fclose(), which is tried again when
 *                                   it fails
 *   crash_writer leave NAME LOG     one phase, and the end with the file open
 *   crash_writer check NAME N       everything that was flushed in phases 0..N is there (-1: nothing need be), everything
 *                                   that is there can be read, and the domain can be written again
 *   crash_writer twin NAME N        the same without writing again
 *
 * Uses the connector that HDF5_VOL_CONNECTOR names; it must be BKT_CONNECTOR. */
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/crash/crash_log.h"
#include "h5tests/helpers/must_succeed_file.h"

enum { PHASES = 4, ROWS = 50, CHUNK = 64, SIDE = 24 };

/* ---- values, by phase ---- */

static double series_at(int row) { return row * 0.5 + 1; }
static int    data_at(int phase, int i) { return phase * 1000 + i; }

/* ---- writing ---- */

static hid_t begin(const char *name)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    expect_connector(f);
    TRY(H5Dclose(make_dataset(f, "series", &(struct made){.type = H5T_IEEE_F64LE, .max = {H5S_UNLIMITED}, .chunk = {CHUNK}})));
    TRY(H5Dclose(make_dataset(f, "grid", &(struct made){.rank = 2, .dims = {SIDE, SIDE}, .chunk = {10, 10}, .deflate = true})));
    return f;
}

static void extend_series(hid_t f, int phase)
{
    double  v[ROWS];
    hsize_t start = (hsize_t)((phase - 1) * ROWS), count = ROWS, size = start + count;
    for (int i = 0; i < ROWS; i++)
        v[i] = series_at((int)start + i);
    hid_t d = TRY(H5Dopen2(f, "series", H5P_DEFAULT));
    TRY(H5Dset_extent(d, &size));
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &count, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &start, NULL, &count, NULL));
    TRY(H5Dwrite(d, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, v));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void write_phase(hid_t f, int phase)
{
    char    name[32];
    hsize_t n = 100;
    int     v[SIDE * SIDE];
    (void)snprintf(name, sizeof name, "g%d", phase);
    hid_t g = TRY(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    set_attr(g, "phase", phase);
    hid_t d = make_dataset(g, "d", &(struct made){.dims = {n}});
    for (int i = 0; i < 100; i++)
        v[i] = data_at(phase, i);
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    TRY(H5Gclose(g));
    extend_series(f, phase);
    for (int i = 0; i < SIDE * SIDE; i++)
        v[i] = phase;
    d = TRY(H5Dopen2(f, "grid", H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    set_attr(f, "last", phase);
    if (phase > 1)
        TRY(H5Ldelete(f, "temporary", H5P_DEFAULT));
    TRY(H5Gclose(TRY(H5Gcreate2(f, "temporary", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
}

static int write_and_close(const char *name)
{
    hid_t f = begin(name);
    for (int phase = 1; phase <= PHASES; phase++)
        write_phase(f, phase);
    close_noted(f, PHASES);
    return 0;
}

/* The file is left open: it is stored as the process ends. */
static int write_and_leave(const char *name)
{
    write_phase(begin(name), 1);
    return 0;
}

static int write_all(const char *name)
{
    hid_t f = begin(name);
    for (int phase = 0; phase <= PHASES; phase++) {
        if (phase)
            write_phase(f, phase);
        flush_noted(f, phase);
    }
    TRY(H5Fclose(f));
    note("closed", PHASES);
    return 0;
}

/* ---- looking ---- */

static herr_t read_attr(hid_t at, const char *name, const H5A_info_t *info, void *arg)
{
    (void)info, (void)arg;
    return get_attr(at, name) < 0 ? -1 : 0;
}

/* Each linked object exists, and can be read to the last byte. */
static herr_t read_object(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    ++*(int *)arg;
    hid_t o = TRY(H5Oopen(root, name, H5P_DEFAULT));
    TRY(H5Aiterate2(o, H5_INDEX_NAME, H5_ITER_INC, NULL, read_attr, NULL));
    if (info->type == H5O_TYPE_DATASET) {
        hid_t  s = TRY(H5Dget_space(o));
        size_t n = (size_t)TRY(H5Sget_simple_extent_npoints(s));
        void  *v = calloc(n + 1, 8);
        TRY(H5Dread(o, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        free(v);
        TRY(H5Sclose(s));
    }
    TRY(H5Oclose(o));
    return 0;
}

static void check_series(hid_t f, int last)
{
    hsize_t n = 0;
    double  v[(PHASES + 1) * ROWS] = {0};
    hid_t   d = TRY(H5Dopen2(f, "series", H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    REQUIRE(n == (hsize_t)(last * ROWS) || n == (hsize_t)((last + 1) * ROWS), "%d rows after phase %d", (int)n, last);
    TRY(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < (int)n; i++)
        REQUIRE(v[i] == series_at(i) || (i >= last * ROWS && v[i] == 0), "row %d is %g after phase %d", i, v[i], last);
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void check_phase(hid_t f, int phase)
{
    char name[32];
    int  v[100] = {0};
    (void)snprintf(name, sizeof name, "g%d", phase);
    hid_t g = TRY(H5Gopen2(f, name, H5P_DEFAULT)), d = TRY(H5Dopen2(g, "d", H5P_DEFAULT));
    REQUIRE(get_attr(g, "phase") == phase, "%s", name);
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < 100; i++)
        REQUIRE(v[i] == data_at(phase, i), "%s/d[%d] is %d", name, i, v[i]);
    TRY(H5Dclose(d));
    TRY(H5Gclose(g));
}

static void check_changing(hid_t f, int last)
{
    int   v[SIDE * SIDE];
    hid_t d = TRY(H5Dopen2(f, "grid", H5P_DEFAULT));
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < SIDE * SIDE; i++)
        REQUIRE(v[i] == last || v[i] == last + 1, "grid[%d] is %d after phase %d", i, v[i], last);
    TRY(H5Dclose(d));
    if (last > 0) {
        int got = get_attr(f, "last");
        REQUIRE(got == last || got == last + 1, "attribute last is %d after phase %d", got, last);
        REQUIRE(H5Lexists(f, "temporary", H5P_DEFAULT) > 0 || last < PHASES, "temporary is gone");
    }
}

static void write_again(const char *name)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT));
    set_attr(f, "after", 7);
    TRY(H5Gclose(TRY(H5Gcreate2(f, "after", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    REQUIRE(get_attr(f, "after") == 7 && H5Lexists(f, "after", H5P_DEFAULT) > 0, "written after the crash");
    TRY(H5Fclose(f));
}

static int check(const char *name, int last, bool again)
{
    int   n = 0;
    hid_t f;
    f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT); /* on failure HDF5 prints why */
    if (f < 0 && last < 0) {
        (void)printf("no domain yet\n");
        return 0;
    }
    REQUIRE(f >= 0, "%s cannot be opened after phase %d", name, last);
    expect_connector(f);
    TRY(H5Ovisit3(f, H5_INDEX_NAME, H5_ITER_INC, read_object, &n, H5O_INFO_BASIC));
    if (last >= 0) {
        check_series(f, last);
        check_changing(f, last);
    }
    for (int phase = 1; phase <= last; phase++)
        check_phase(f, phase);
    TRY(H5Fclose(f));
    if (again)
        write_again(name);
    (void)printf("%d objects\n", n);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    log_name = argv[3];
    if (strcmp(argv[1], "write") == 0)
        return write_all(argv[2]);
    if (strcmp(argv[1], "close") == 0)
        return write_and_close(argv[2]);
    if (strcmp(argv[1], "leave") == 0)
        return write_and_leave(argv[2]);
    if (strcmp(argv[1], "check") == 0)
        return check(argv[2], (int)strtol(argv[3], NULL, 10), true);
    return strcmp(argv[1], "twin") == 0 ? check(argv[2], (int)strtol(argv[3], NULL, 10), false) : 2;
}
