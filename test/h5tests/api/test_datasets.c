/* H5Dread: every kind of selection, memory layout, conversion and element; extents and fill values; native
 * extras. */
#include "h5tests/helpers/compare.h"

#define BIG (1 << 20)

static hid_t open_one(hid_t file, struct out *o, const char *path)
{
    hid_t d = H5Dopen2(file, path, H5P_DEFAULT);
    say(o, "%s opens %d", path, d >= 0);
    return d;
}

/* Read with a file selection into packed memory and write down the bytes. */
static void read_selected(hid_t d, struct out *o, const char *what, hid_t type, hid_t fspace)
{
    hssize_t n   = H5Sget_select_npoints(fspace);
    hsize_t  dim = n > 0 ? (hsize_t)n : 1;
    hid_t    mem = H5Screate_simple(1, &dim, NULL);
    char    *buf = calloc(dim, H5Tget_size(type));
    if (n == 0)
        H5Sselect_none(mem);
    say(o, "%s: %lld points, %d", what, (long long)n, H5Dread(d, type, mem, fspace, H5P_DEFAULT, buf));
    say_bytes(o, "values", buf, dim * H5Tget_size(type));
    free(buf);
    H5Sclose(mem);
    H5Eclear2(H5E_DEFAULT);
}

static void selections(hid_t file, struct out *o)
{
    hid_t         d = open_one(file, o, "/d2_edge"), s = H5Dget_space(d), s2 = H5Scopy(s); /* 37 x 53 */
    const hsize_t start[] = {3, 5}, stride[] = {7, 11}, count[] = {4, 4}, block[] = {2, 3}, far[] = {36, 52}, one[] = {1, 1},
                  edge[] = {30, 40}, rest[] = {7, 13};
    hsize_t points[40][2];
    read_selected(d, o, "all", H5T_NATIVE_INT, s);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    read_selected(d, o, "a corner", H5T_NATIVE_INT, s);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
    read_selected(d, o, "strided blocks", H5T_NATIVE_DOUBLE, s);
    H5Sselect_hyperslab(s, H5S_SELECT_OR, edge, NULL, rest, NULL);
    read_selected(d, o, "a union", H5T_NATIVE_INT, s);
    H5Sselect_hyperslab(s, H5S_SELECT_XOR, start, NULL, edge, NULL);
    read_selected(d, o, "exclusive or", H5T_NATIVE_SHORT, s);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, far, NULL, one, NULL);
    read_selected(d, o, "last element", H5T_NATIVE_INT, s);
    for (unsigned i = 0; i < 40; i++) {
        points[i][0] = (i * 31 + 5) % 37;
        points[i][1] = (i * 17 + 9) % 53;
    }
    H5Sselect_elements(s, H5S_SELECT_SET, 40, &points[0][0]);
    read_selected(d, o, "points, in their order", H5T_NATIVE_INT, s);
    H5Sselect_elements(s, H5S_SELECT_PREPEND, 2, &points[7][0]);
    read_selected(d, o, "points twice", H5T_NATIVE_FLOAT, s);
    H5Sselect_none(s);
    read_selected(d, o, "nothing", H5T_NATIVE_INT, s);
    H5Sselect_hyperslab(s2, H5S_SELECT_SET, start, NULL, count, NULL);
    const hssize_t move[] = {20, -5};
    H5Soffset_simple(s2, move);
    read_selected(d, o, "moved by an offset", H5T_NATIVE_INT, s2);
    const hsize_t toobig[] = {30, 5}, wide[] = {10, 10};
    H5Soffset_simple(s2, (const hssize_t[]){0, 0});
    H5Sselect_hyperslab(s2, H5S_SELECT_SET, toobig, NULL, wide, NULL);
    read_selected(d, o, "beyond the extent", H5T_NATIVE_INT, s2);
    H5Sclose(s);
    H5Sclose(s2);
    H5Dclose(d);
}

static void memory_layouts(hid_t file, struct out *o)
{
    hid_t         d = open_one(file, o, "/d3_edge"), s = H5Dget_space(d); /* 7 x 9 x 11 */
    const hsize_t start[] = {1, 2, 3}, count[] = {3, 2, 4}, mdims[] = {10, 20}, mstart[] = {1, 1}, mstride[] = {3, 3},
                  mcount[] = {3, 4}, mblock[] = {1, 2};
    hid_t m   = H5Screate_simple(2, mdims, NULL);
    int   buf[200];
    memset(buf, 0x55, sizeof buf);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Sselect_hyperslab(m, H5S_SELECT_SET, mstart, mstride, mcount, mblock);
    say(o, "three dimensions into two: %d", H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, buf));
    say_bytes(o, "what lies between is untouched", buf, sizeof buf);
    hsize_t points[24][2];
    for (unsigned i = 0; i < 24; i++) {
        points[i][0] = 9 - i % 10;
        points[i][1] = (i * 7) % 20;
    }
    H5Sselect_elements(m, H5S_SELECT_SET, 24, &points[0][0]);
    say(o, "into points: %d", H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, buf));
    say_bytes(o, "values", buf, sizeof buf);
    short small[7 * 9 * 11];
    say(o, "all with H5S_ALL: %d", H5Dread(d, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, small));
    say_bytes(o, "values", small, sizeof small);
    H5Sselect_none(m);
    say(o, "unequal selections fail: %d", H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, buf) < 0);
    H5Eclear2(H5E_DEFAULT);
    H5Sclose(m);
    H5Sclose(s);
    H5Dclose(d);
}

static herr_t convert_one(hid_t loc, const char *name, const H5L_info2_t *info, void *op_data)
{
    struct out *o       = op_data;
    hid_t       to[]    = {H5T_NATIVE_DOUBLE, H5T_STD_I16BE, H5T_NATIVE_UINT, H5T_IEEE_F32BE};
    hid_t       id      = H5Oopen(loc, name, H5P_DEFAULT);
    H5I_type_t  kind    = H5Iget_type(id);
    (void)info;
    say(o, "%s kind %d", name, kind);
    if (kind == H5I_DATASET) {
        hid_t       t = H5Dget_type(id), s = H5Dget_space(id);
        H5T_class_t class = H5Tget_class(t);
        size_t      n = (size_t)H5Sget_simple_extent_npoints(s);
        say_type(o, t);
        say_space(o, s);
        for (size_t i = 0; n && i < COUNT(to) && (class == H5T_INTEGER || class == H5T_FLOAT); i++) {
            void *buf = calloc(n, 8);
            say(o, "as %zu: %d", i, H5Dread(id, to[i], H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
            say_bytes(o, "values", buf, n * H5Tget_size(to[i]));
            free(buf);
        }
        H5Tclose(t);
        H5Sclose(s);
    } else if (kind == H5I_GROUP) {
        hsize_t idx = 0;
        H5Literate2(id, H5_INDEX_NAME, H5_ITER_INC, &idx, convert_one, o);
    }
    H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    return 0;
}

static void conversions(hid_t file, struct out *o)
{
    hsize_t idx = 0;
    say(o, "%d", H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, &idx, convert_one, o));
}

static void strings_one(hid_t file, struct out *o, const char *path, hsize_t from, hsize_t n)
{
    hid_t   d = open_one(file, o, path), s = H5Dget_space(d), t = H5Dget_type(d), m = H5Tcopy(H5T_C_S1);
    hsize_t dims[H5S_MAX_RANK];
    int     rank = H5Sget_simple_extent_dims(s, dims, NULL);
    H5Tset_size(m, H5T_VARIABLE);
    H5Tset_cset(m, H5Tget_cset(t));
    if (rank == 1 && n)
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &n, NULL);
    hsize_t points = (hsize_t)H5Sget_select_npoints(s);
    hid_t   ms     = H5Screate_simple(1, &points, NULL);
    char  **text   = calloc(points, sizeof *text);
    herr_t  rc     = H5Dread(d, m, ms, s, H5P_DEFAULT, text);
    say(o, "read %d", rc);
    for (hsize_t i = 0; rc >= 0 && i < points; i++)
        say(o, "'%s'", text[i] ? text[i] : "(null)");
    if (rc >= 0) {
        hsize_t bytes = 0;
        if (rank > 0) /* HDF5 1.14.5 writes past its own buffer for a scalar */
            say(o, "needs %d", H5Dvlen_get_buf_size(d, m, s, &bytes) >= 0);
        say(o, "reclaim %d", H5Treclaim(m, ms, H5P_DEFAULT, text));
    }
    H5Eclear2(H5E_DEFAULT);
    free(text);
    H5Sclose(ms);
    H5Tclose(m);
    H5Tclose(t);
    H5Sclose(s);
    H5Dclose(d);
}

static herr_t string_member(hid_t loc, const char *name, const H5L_info2_t *info, void *op_data)
{
    hid_t d = H5Dopen2(loc, name, H5P_DEFAULT), t = H5Dget_type(d);
    (void)info;
    if (H5Tis_variable_str(t) > 0) {
        strings_one(loc, op_data, name, 0, 0);
        strings_one(loc, op_data, name, 1, 2);
    }
    H5Tclose(t);
    H5Dclose(d);
    return 0;
}

static void strings(hid_t file, struct out *o)
{
    hsize_t idx = 0;
    say(o, "%d", H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, &idx, string_member, o));
}

static void subset_of_compound(hid_t file, struct out *o)
{
    hid_t   d = open_one(file, o, "/cmp_chunked"), t = H5Dget_type(d), s = H5Dget_space(d);
    int     n = H5Tget_nmembers(t);
    hsize_t points = (hsize_t)H5Sget_simple_extent_npoints(s);
    for (int i = 0; i < n; i++) {
        char  *name = H5Tget_member_name(t, (unsigned)i);
        hid_t  part = H5Tget_member_type(t, (unsigned)i), mem = H5Tget_native_type(part, H5T_DIR_ASCEND);
        size_t size = H5Tget_size(mem) + 8;
        hid_t  one  = H5Tcreate(H5T_COMPOUND, size);
        char  *buf  = calloc(points, size);
        memset(buf, 0x77, points * size);
        H5Tinsert(one, name, 4, mem);
        say(o, "only %s: %d", name, H5Dread(d, one, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
        if (!H5Tdetect_class(part, H5T_VLEN) && H5Tis_variable_str(part) <= 0)
            say_bytes(o, "values, padding untouched", buf, points * size);
        free(buf);
        H5free_memory(name);
        H5Tclose(one);
        H5Tclose(mem);
        H5Tclose(part);
    }
    H5Sclose(s);
    H5Tclose(t);
    H5Dclose(d);
}

static void lists(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/vlen_i4", "/vlen_f8_chunk", "/vlen_u1_2d"};
    for (size_t k = 0; k < COUNT(paths); k++) {
        hid_t   d = open_one(file, o, paths[k]), s = H5Dget_space(d), super = H5Tcopy(H5T_NATIVE_DOUBLE), t = H5Tvlen_create(super);
        size_t  n    = (size_t)H5Sget_simple_extent_npoints(s);
        hvl_t  *list = calloc(n, sizeof *list);
        hsize_t need = 0;
        say(o, "read %d", H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, list));
        for (size_t i = 0; i < n; i++)
            say_bytes(o, "list", list[i].p, list[i].len * sizeof(double));
        say(o, "size %d %llu", H5Dvlen_get_buf_size(d, t, s, &need), (unsigned long long)need);
        say(o, "reclaim %d", H5Treclaim(t, s, H5P_DEFAULT, list));
        free(list);
        H5Tclose(t);
        H5Tclose(super);
        H5Sclose(s);
        H5Dclose(d);
    }
}

static unsigned taken, given;
static void    *take(size_t n, void *info) { return taken++, (void)info, malloc(n); }
static void     give(void *p, void *info) { given += p != NULL, (void)info, free(p); }

static void own_allocator(hid_t file, struct out *o)
{
    hid_t d = open_one(file, o, "/vlen_i4"), s = H5Dget_space(d), t = H5Tvlen_create(H5T_NATIVE_INT), dxpl = H5Pcreate(H5P_DATASET_XFER);
    hvl_t list[5] = {0};
    taken = given = 0;
    H5Pset_vlen_mem_manager(dxpl, take, NULL, give, NULL);
    say(o, "read %d", H5Dread(d, t, H5S_ALL, H5S_ALL, dxpl, list));
    say(o, "reclaim %d", H5Treclaim(t, s, dxpl, list));
    say(o, "taken %u given %u", taken, given);
    H5Pclose(dxpl);
    H5Tclose(t);
    H5Sclose(s);
    H5Dclose(d);
}

static void several_at_once(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/d1_edge", "/d2_edge", "/unwritten_fill", "/scalar_f8"};
    hid_t                    d[4], types[4], all[4];
    void                    *buf[4];
    for (int i = 0; i < 4; i++) {
        d[i]     = open_one(file, o, paths[i]);
        types[i] = H5T_NATIVE_DOUBLE;
        all[i]   = H5S_ALL;
        buf[i]   = calloc(4096, 8);
    }
    say(o, "multi %d", H5Dread_multi(4, d, types, all, all, H5P_DEFAULT, buf));
    for (int i = 0; i < 4; i++) {
        say_bytes(o, paths[i], buf[i], 4096 * 8);
        free(buf[i]);
        H5Dclose(d[i]);
    }
}

static herr_t extent_one(hid_t loc, const char *name, const H5L_info2_t *info, void *op_data)
{
    struct out *o = op_data;
    hid_t       d = H5Dopen2(loc, name, H5P_DEFAULT), s = H5Dget_space(d), t = H5Dget_type(d), mem;
    (void)info;
    say(o, "%s", name);
    if (strcmp(o->domain, "aggregate.h5") == 0) /* the twin isn't extensible */
        say(o, "points %lld", (long long)H5Sget_simple_extent_npoints(s));
    else
        say_space(o, s);
    mem      = H5Tget_native_type(t, H5T_DIR_ASCEND);
    size_t n = (size_t)H5Sget_simple_extent_npoints(s);
    if (!H5Tdetect_class(t, H5T_VLEN) && H5Tis_variable_str(t) <= 0 && H5Tget_class(t) != H5T_REFERENCE) {
        size_t bytes = (n ? n : 1) * H5Tget_size(mem);
        void  *buf   = calloc(1, bytes);
        say(o, "read %d", H5Dread(d, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
        say_bytes(o, "values", buf, bytes);
        free(buf);
    }
    H5Tclose(mem);
    H5Tclose(t);
    H5Sclose(s);
    H5Dclose(d);
    H5Eclear2(H5E_DEFAULT);
    return 0;
}

static void extents(hid_t file, struct out *o)
{
    hsize_t idx = 0;
    say(o, "%d", H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, &idx, extent_one, o));
}

static herr_t sum_points(void *elem, hid_t type, unsigned ndim, const hsize_t *point, void *op_data)
{
    double *sum = op_data;
    (void)type, (void)ndim;
    *sum += *(int *)elem * (double)(point[0] + 1);
    return 0;
}

static void helpers(hid_t file, struct out *o)
{
    hid_t  d = open_one(file, o, "/d2_edge"), s = H5Dget_space(d);
    int   *buf = calloc(37UL * 53, sizeof *buf), fill = 7, got = 0;
    double sum = 0;
    say(o, "read %d", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
    say(o, "iterate %d %g", H5Diterate(buf, H5T_NATIVE_INT, s, sum_points, &sum), sum);
    say(o, "fill %d %d", H5Dfill(&fill, H5T_NATIVE_INT, &got, H5T_NATIVE_INT, H5I_INVALID_HID) < 0, got);
    say(o, "flush %d refresh %d", H5Dflush(d), H5Drefresh(d));
    H5D_space_status_t status;
    say(o, "status %d", H5Dget_space_status(d, &status));
    say(o, "allocated %d", status != H5D_SPACE_STATUS_NOT_ALLOCATED);
    H5Eclear2(H5E_DEFAULT);
    free(buf);
    H5Sclose(s);
    H5Dclose(d);
}

/* Chunks, raw: only values on which both sides must agree (not addresses, nor stored sizes of filtered
 * chunks). */
static void chunks(hid_t file, struct out *o)
{
    hid_t   d = open_one(file, o, "/d2_edge"), dcpl = H5Dget_create_plist(d);
    hsize_t dims[2] = {0}, n = 0, offset[2] = {0}, size = 0, bytes = 0;
    haddr_t addr;
    unsigned mask = 9;
    say(o, "chunk rank %d", H5Pget_chunk(dcpl, 2, dims));
    say(o, "number %d %llu", H5Dget_num_chunks(d, H5S_ALL, &n), (unsigned long long)n);
    for (hsize_t i = 0; i < n && i < 4; i++)
        say(o, "info %d", H5Dget_chunk_info(d, H5S_ALL, i, offset, &mask, &addr, &size));
    for (offset[0] = 0; offset[0] < 37; offset[0] += dims[0])
        for (offset[1] = 0; offset[1] < 53; offset[1] += dims[1]) {
            say(o, "by coordinate %d", H5Dget_chunk_info_by_coord(d, offset, &mask, &addr, &size));
            say(o, "mask %u size %llu", mask, (unsigned long long)size);
            say(o, "storage %d %llu", H5Dget_chunk_storage_size(d, offset, &bytes), (unsigned long long)bytes);
            if (bytes > 0) {
                char *buf = calloc(1, bytes + 1);
                say(o, "raw %d", H5Dread_chunk(d, H5P_DEFAULT, offset, &mask, buf));
                say_bytes(o, "raw bytes", buf, bytes);
                free(buf);
            }
        }
    H5Eclear2(H5E_DEFAULT);
    H5Pclose(dcpl);
    H5Dclose(d);
}

static const struct test_case cases[] = {
    {"every kind of selection", "shapes.h5", selections},
    {"memory of another shape", "shapes.h5", memory_layouts},
    {"every extent and fill value", "shapes.h5", extents},
    {"numbers in every memory type", "numeric.h5", conversions},
    {"HDF5's own test of integer sizes", "hsload/tints4dims.h5", conversions},
    {"strings of variable length", "strings.h5", strings},
    {"members of a compound", "types.h5", subset_of_compound},
    {"lists", "types.h5", lists},
    {"lists in the program's own memory", "types.h5", own_allocator},
    {"several datasets in one call", "shapes.h5", several_at_once},
    {"every filter", "filters.h5", extents},
    {"shuffle without a compressor", "shuffle_only.h5", extents},
    {"references into HDF5 files", "refs.h5", extents},
    {"references with a file per chunk", "aggregate.h5", extents},
    {"hsload --link", "linked.h5", extents},
    {"partitioned chunks", "partition.h5", extents},
    {"v1 ids", "schema1.h5", extents},
    {"iteration, fill, status", "shapes.h5", helpers},
    {"chunks as they are", "shapes.h5", chunks},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
