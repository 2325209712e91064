/* Datasets of plain HDF5 files behind a web server: each read equals HDF5's own read of the file on disk.  The
 * counters show which reads went through chunk. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/plain/plain_files.h"
#include "helpers/check.h"
#include "helpers/xorshift.h"
#include "storage/store.h"
#include "vol/dataset/plain/plain_read.h"

static char dir[] = "/tmp/bkt-plain-data-XXXXXX", path[100];
static uint32_t random_state = 1;

static unsigned below(unsigned n) { return n ? xorshift32(&random_state) % n : 0; }

/* ---- selections ---- */

enum { SEL_ALL, SEL_SLAB, SEL_STRIDED, SEL_POINTS, SEL_UNION, SEL_ONE, SEL_NONE, SEL_KINDS };

static void a_slab(hid_t space, H5S_seloper_t op, unsigned rank, const hsize_t *dims, bool strided)
{
    hsize_t start[3], count[3], stride[3];
    for (unsigned d = 0; d < rank; d++) {
        start[d] = below((unsigned)dims[d]);
        stride[d] = strided ? 1 + below(4) : 1;
        count[d] = 1 + below((unsigned)((dims[d] - start[d] + stride[d] - 1) / stride[d]));
    }
    must_do(H5Sselect_hyperslab(space, op, start, stride, count, NULL), "slab");
}

static void some_points(hid_t space, unsigned rank, const hsize_t *dims, size_t n)
{
    hsize_t at[30];
    for (size_t i = 0; i < n * rank; i++)
        at[i] = below((unsigned)dims[i % rank]);
    must_do(H5Sselect_elements(space, H5S_SELECT_SET, n, at), "points");
}

/* H5S_ALL: SEL_ALL, for a scalar, and without elements. */
static hid_t selection(hid_t dset, int kind)
{
    hsize_t dims[3];
    hid_t space = must_id(H5Dget_space(dset), "space");
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (kind == SEL_ALL || rank < 1 || H5Sget_simple_extent_npoints(space) == 0) {
        (void)H5Sclose(space);
        return H5S_ALL;
    }
    switch (kind) {
    case SEL_SLAB: a_slab(space, H5S_SELECT_SET, (unsigned)rank, dims, false); break;
    case SEL_STRIDED: a_slab(space, H5S_SELECT_SET, (unsigned)rank, dims, true); break;
    case SEL_POINTS: some_points(space, (unsigned)rank, dims, 10); break;
    case SEL_ONE: some_points(space, (unsigned)rank, dims, 1); break;
    case SEL_NONE: must_do(H5Sselect_none(space), "none"); break;
    default:
        a_slab(space, H5S_SELECT_SET, (unsigned)rank, dims, false);
        a_slab(space, H5S_SELECT_OR, (unsigned)rank, dims, true);
        a_slab(space, H5S_SELECT_XOR, (unsigned)rank, dims, false);
    }
    return space;
}

/* One stretch, or every third element of it. */
static hid_t memory(hsize_t n, bool spread)
{
    hsize_t all = spread ? 3 * n + 2 : n, start = 1, stride = 3;
    hid_t space = must_id(H5Screate_simple(1, &all, NULL), "space");
    if (spread && n)
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &n, NULL), "slab");
    else if (spread || !n)
        must_do(H5Sselect_none(space), "none");
    return space;
}

static hsize_t points_of(hid_t dset, hid_t file_space)
{
    hid_t space = file_space == H5S_ALL ? must_id(H5Dget_space(dset), "space") : file_space;
    hssize_t n = H5Sget_select_npoints(space);
    if (file_space == H5S_ALL)
        (void)H5Sclose(space);
    return (hsize_t)n;
}

/* ---- one read on both sides ---- */

static herr_t quiet_read(hid_t d, hid_t type, hid_t mem, hid_t file, hid_t dxpl, void *buf)
{
    herr_t rc;
    H5E_BEGIN_TRY
    {
        rc = H5Dread(d, type, mem, file, dxpl, buf);
    }
    H5E_END_TRY
    return rc;
}

static void compare(const char *name, hid_t local, struct bkt_vobj *ours, hid_t type, int kind, bool spread, hid_t dxpl)
{
    hid_t file_space = selection(local, kind);
    hsize_t n = points_of(local, file_space);
    hid_t mem_space = memory(n, spread);
    size_t bytes = (size_t)(3 * n + 2) * H5Tget_size(type);
    unsigned char *a = malloc(bytes), *b = malloc(bytes);
    REQUIRE(a && b, "memory");
    memset(a, 0xe7, bytes);
    memset(b, 0xe7, bytes);
    herr_t native = quiet_read(local, type, mem_space, file_space, dxpl, a);
    int rc = plain_read_by(ours, type, mem_space, file_space, dxpl, b);
    CHECK((native < 0) == (rc < 0), "%s, selection %d: HDF5 %d, we %d", name, kind, native, rc);
    CHECK(native < 0 || memcmp(a, b, bytes) == 0, "%s, selection %d, %s: other bytes", name, kind, spread ? "spread" : "flat");
    free(a);
    free(b);
    (void)H5Sclose(mem_space);
    if (file_space != H5S_ALL)
        (void)H5Sclose(file_space);
}

static void compare_all(const char *name, hid_t local, hid_t remote, const hid_t *types, size_t n_types)
{
    struct bkt_vobj *ours = plain_handle(remote);
    for (size_t t = 0; t < n_types; t++)
        for (int kind = 0; kind < SEL_KINDS; kind++)
            compare(name, local, ours, types[t], kind, (kind + t) % 2, H5P_DEFAULT);
    plain_handle_free(ours);
}

/* ---- all forms, filters, fill values ---- */

static void name_of(char *out, size_t room, size_t form, size_t filter, size_t fill)
{
    (void)snprintf(out, room, "%s; %s; %s", plain_forms[form].name, plain_filters[filter].name, plain_fills[fill].name);
}

/* All filters are tried with two states, and all states with two filters. */
static bool is_tried(size_t filter, size_t fill) { return filter < 2 || fill < 2; }

/* Whether each read is planned by chunk: HDF5 itself reads a dataset that was never written, among others. */
static bool is_ours(size_t form, size_t fill)
{
    const struct plain_fill *f = &plain_fills[fill];
    bool early = f->alloc == H5D_ALLOC_TIME_EARLY;
    return form != 1 && form != 3 && (f->written || early) && (f->written == 8 || f->value >= 0 || early);
}

static void write_all(H5F_libver_t low, hid_t type)
{
    char name[200];
    hid_t file = plain_new(path, low, H5F_LIBVER_LATEST);
    for (size_t form = 0; form < plain_forms_n; form++)
        for (size_t filter = 0; filter < plain_filters_n; filter++)
            for (size_t fill = 0; fill < plain_fills_n; fill++) {
                name_of(name, sizeof name, form, filter, fill);
                if (is_tried(filter, fill) && (plain_filters[filter].ids[0] != H5Z_FILTER_SZIP || H5Zfilter_avail(H5Z_FILTER_SZIP) > 0))
                    (void)plain_dataset(file, name, type, &plain_forms[form], &plain_filters[filter], &plain_fills[fill]);
            }
    must_do(H5Fclose(file), "H5Fclose");
}

static hid_t open_or_none(hid_t file, const char *name)
{
    hid_t d = H5I_INVALID_HID;
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        d = must_id(H5Dopen2(file, name, H5P_DEFAULT), name);
    return d;
}

static void test_numbers(const struct bkt_settings *set, const char *what, H5F_libver_t low, hid_t type)
{
    const hid_t types[] = {type, H5T_NATIVE_DOUBLE, H5T_NATIVE_SHORT};
    char name[200], full[300];
    write_all(low, type);
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must_do(H5Pset_vol(fapl, H5VL_NATIVE, NULL), "native");
    hid_t local = must_id(H5Fopen(path, H5F_ACC_RDONLY, fapl), path), remote = must_id(plain_open(plain_serve(path), set), "open");
    for (size_t form = 0; form < plain_forms_n; form++)
        for (size_t filter = 0; filter < plain_filters_n; filter++)
            for (size_t fill = 0; fill < plain_fills_n; fill++) {
                name_of(name, sizeof name, form, filter, fill);
                hid_t a = open_or_none(local, name), b = open_or_none(remote, name);
                if (a < 0)
                    continue;
                struct bkt_plain_counts before = bkt_plain_counts;
                (void)snprintf(full, sizeof full, "%s: %s", what, name);
                compare_all(full, a, b, types, 3);
                unsigned by_native = (unsigned)(bkt_plain_counts.by_native - before.by_native);
                CHECK(!by_native || !is_ours(form, fill), "%s: %u reads were left to HDF5", full, by_native);
                (void)H5Dclose(a);
                (void)H5Dclose(b);
            }
    (void)H5Fclose(local);
    (void)H5Fclose(remote);
    (void)H5Pclose(fapl);
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    if (!mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    test_numbers(&set, "earliest", H5F_LIBVER_EARLIEST, H5T_STD_I32BE);
    test_numbers(&set, "latest", H5F_LIBVER_LATEST, H5T_STD_I16LE);
    CHECK(bkt_plain_counts.by_chunk > 1000, "%llu reads by chunk", (unsigned long long)bkt_plain_counts.by_chunk);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
