/* A program that appends rows while others read.  H5Fstart_swmr_write() stores all changes, as HDF5's own
 * does; a flushed row sends one small object.
 *
 *   h5_swmr_logger              all of it, on a file of HDF5's, on a domain in a folder, on a scripted server
 *   h5_swmr_logger look FILE    the reader: prints the number of rows, and the last row */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/helpers/fake_s3.h"
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"

enum { CHUNK = 1024, ROWS = 3000 };

static hid_t new_log(hid_t f, hsize_t chunk)
{
    hsize_t n = 0, max = H5S_UNLIMITED;
    hid_t s = TRY(H5Screate_simple(1, &n, &max)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_chunk(p, 1, &chunk));
    hid_t d = TRY(H5Dcreate2(f, "log", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
    return d;
}

/* Rows first .. first+n-1, each its own number. */
static void append(hid_t d, hsize_t first, hsize_t n)
{
    double *v = calloc(n, sizeof *v);
    hsize_t all = first + n;
    TRY(H5Dset_extent(d, &all));
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &n, NULL));
    for (hsize_t i = 0; i < n; i++)
        v[i] = (double)(first + i);
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &first, NULL, &n, NULL));
    TRY(H5Dwrite(d, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, v));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
    free(v);
}

/* ---- the reader ---- */

static int look(const char *name)
{
    hsize_t n = 0;
    double last = -1;
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT)),
          d = TRY(H5Dopen2(f, "log", H5P_DEFAULT));
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate(H5S_SCALAR));
    expect_connector(f);
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    hsize_t at = n - 1, one = 1;
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &one, NULL));
    TRY(H5Dread(d, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, &last));
    (void)printf("%d %.0f\n", (int)n, last);
    (void)fflush(stdout);
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    return 0;
}

static void expect(const char *name, int rows)
{
    char cmd[200], got[40] = "", want[40];
    (void)snprintf(cmd, sizeof cmd, "/proc/%d/exe look %s", (int)getpid(), name);
    (void)snprintf(want, sizeof want, "%d %d\n", rows, rows - 1);
    FILE *p = popen(cmd, "r");
    CHECK(p && fgets(got, sizeof got, p) && pclose(p) == 0 && strcmp(got, want) == 0, "%s: a reader finds %s",
          name, got);
}

static void swmr(const char *name, hid_t fapl)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)), d = new_log(f, CHUNK);
    append(d, 0, ROWS);
    TRY(H5Fstart_swmr_write(f));
    expect(name, ROWS);
    append(d, ROWS, 1);
    TRY(H5Dflush(d));
    expect(name, ROWS + 1);
    TRY(H5Dclose(d));
    CHECK(H5Fstart_swmr_write(f) < 0, "%s: a second time", name);
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, fapl));
    CHECK(H5Fstart_swmr_write(f) < 0, "%s: opened for reading", name);
    TRY(H5Fclose(f));
}

/* ---- requests ---- */

static struct fake_s3 fake = {.kind = FAKE_QUOTED};
static unsigned n_puts, chunks;
static size_t bytes;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    if (strcmp(r->method, "PUT") == 0) {
        n_puts++;
        bytes += r->body_len;
        chunks += !strstr(r->target, ".json");
    }
    fake_s3_handle(r, a, arg);
}

/* Each row that is flushed sends its chunk and the dataset's document with the extent.  The chunk is as the
 * program chose it, unless it is tiny. */
static void row_by_row(const char *name, hsize_t chunk)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), d = new_log(f, chunk);
    append(d, 0, 1);
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    for (hsize_t i = 1; i < 4; i++) {
        n_puts = chunks = 0, bytes = 0;
        append(d, i, 1);
        TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
        CHECK(n_puts == 2 && chunks == 1 && bytes < 8192 + 2000, "chunks of %d rows: %u PUTs with %d bytes",
              (int)chunk, n_puts, (int)bytes);
    }
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return look(argv[2]);
    char dir[] = "/tmp/bkt-logger-XXXXXX", name[100], settings[300];
    struct server *server = server_start(handle, &fake);
    if (!server || !mkdtemp(dir))
        return 1;
    (void)snprintf(settings, sizeof settings, "bucket endpoint=%s;anonymous=yes;read_ahead=0",
                   server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", settings, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)setenv("BKT_CONNECTOR", "bucket", 1);
    (void)snprintf(name, sizeof name, "%s/log.h5", dir);
    swmr(name, H5P_DEFAULT);
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    TRY(H5Pset_vol(fapl, H5VL_NATIVE, NULL));
    TRY(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    (void)setenv("BKT_CONNECTOR", "native", 1);
    (void)setenv("HDF5_VOL_CONNECTOR", "native", 1); /* the reader's */
    (void)snprintf(name, sizeof name, "%s/native.h5", dir);
    swmr(name, fapl);
    TRY(H5Pclose(fapl));
    row_by_row("s3://buck/1024.h5", CHUNK);
    row_by_row("s3://buck/1.h5", 1);
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    (void)snprintf(settings, sizeof settings, "rm -rf %s", dir);
    CHECK(system(settings) == 0, "rm");
    return failures != 0;
}
