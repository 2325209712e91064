/* make_odd_files held FILE          keeps FILE open for writing, marked so, until its input ends; then it dies
 *                             without closing FILE
 * make_odd_files small FILE         chunks of few elements: lines, tiles, a coordinate of one step a chunk
 * make_odd_files never FILE N FILL  2^45 bytes that were never written, contiguous, and a few of them in chunks of N
 * make_odd_files write FILE DATASET writes its first element; 1: that failed
 * make_odd_files elsewhere FILE N   2^45 bytes of one small source and an absent one, and of a raw file, FILE.raw,
 *                             of N bytes
 * make_odd_files blank FILE N       2^45 bytes of sources that were never written, in FILE and in FILE.source, whose
 *                             fill value is N; that of the virtual datasets is 7.  With another N than 7
 *                             only /few, of ten bytes
 * make_odd_files raw FILE RAW       2^45 bytes, and six, of a raw file that this program doesn't make
 * make_odd_files tails FILE N       strings with other bytes behind their NULs for each N: /ended, its attribute,
 *                             and /padded
 * make_odd_files gaps FILE          links and attributes that keep their order, the second of three removed
 * make_odd_files leads FILE         attributes of /d: a reference of each kind to /d, and an integer
 * make_odd_files many FILE          soft links: so many in /g that HDF5 stores them in several nodes, and one in /h
 * make_odd_files step FILE N        one step of a series, linked by chunks: its user block has 512 * 2^N bytes,
 *                             values from 100000 * N on */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIG ((hsize_t)1 << 45)

/* A dataset of ints, chunked where @p chunk is given, filled with 0, 1, 2 … from @p from on where that isn't
 * negative. */
static int dataset(hid_t file, const char *name, int rank, const hsize_t *dims, const hsize_t *max, const hsize_t *chunk, int from)
{
    hid_t  s = H5Screate_simple(rank, dims, max), p = H5Pcreate(H5P_DATASET_CREATE);
    size_t n = (size_t)H5Sget_simple_extent_npoints(s);
    if (chunk && H5Pset_chunk(p, rank, chunk) < 0)
        return 1;
    hid_t d    = H5Dcreate2(file, name, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    int  *v    = calloc(n + 1, sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = from + (int)i;
    int bad = d < 0 || !v || H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0;
    free(v);
    return bad || H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

static int held(const char *name)
{
    const hsize_t ten  = 10;
    hid_t         fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) < 0)
        return 1;
    hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (f < 0 || dataset(f, "x", 1, &ten, NULL, &ten, 1) || H5Fflush(f, H5F_SCOPE_GLOBAL) < 0)
        return 1;
    (void)puts("ready");
    (void)fflush(stdout);
    (void)getchar();
    _exit(0);
}

static int small(hid_t f)
{
    const hsize_t line = 20000, lines = 16, tiles[2] = {300, 500}, tile[2] = {8, 8}, time = 3000, one = 1;
    return dataset(f, "line", 1, &line, NULL, &lines, 0) || dataset(f, "tiles", 2, tiles, NULL, tile, 0) ||
           dataset(f, "time", 1, &time, NULL, &one, 0);
}

static int step(hid_t f, int n)
{
    const hsize_t dims[2] = {4, 6000}, max[2] = {H5S_UNLIMITED, 6000}, chunk[2] = {1, 6000};
    return dataset(f, "v", 2, dims, max, chunk, 100000 * n);
}

static int bytes(hid_t f, const char *name, const hsize_t *chunk, unsigned char fill, int write)
{
    const hsize_t dims[2] = {BIG >> 20, (hsize_t)1 << 20}, at[2][2] = {{3, 5}, {(BIG >> 20) - 1, 77}}, two = 2;
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE), m = H5Screate_simple(1, &two, NULL);
    if ((chunk && H5Pset_chunk(p, 2, chunk) < 0) || H5Pset_fill_value(p, H5T_NATIVE_UCHAR, &fill) < 0)
        return 1;
    hid_t d = H5Dcreate2(f, name, H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    if (d < 0 || H5Sselect_elements(s, H5S_SELECT_SET, 2, at[0]) < 0 ||
        (write && H5Dwrite(d, H5T_NATIVE_UCHAR, m, s, H5P_DEFAULT, "ab") < 0))
        return 1;
    return H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(s) < 0 || H5Sclose(m) < 0;
}

static int never(hid_t f, int side, int fill)
{
    const hsize_t chunk[2] = {(hsize_t)side, (hsize_t)side};
    return bytes(f, "contiguous", NULL, (unsigned char)fill, 0) || bytes(f, "none", chunk, (unsigned char)fill, 0) ||
           bytes(f, "few", chunk, (unsigned char)fill, 1);
}

static int text(hid_t f, const char *name, H5T_str_t pad, char tail)
{
    const hsize_t two  = 2;
    const char    v[2][8] = {{'a', 'b', 0, tail, tail, tail, tail, tail}, {0, tail, tail, tail, tail, tail, tail, 0}};
    hid_t         t = H5Tcopy(H5T_C_S1), s = H5Screate_simple(1, &two, NULL), one = H5Screate(H5S_SCALAR);
    if (H5Tset_size(t, sizeof v[0]) < 0 || H5Tset_strpad(t, pad) < 0)
        return 1;
    hid_t d = H5Dcreate2(f, name, t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Acreate2(d, "a", t, one, H5P_DEFAULT, H5P_DEFAULT);
    return H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 || (pad == H5T_STR_NULLTERM && H5Awrite(a, t, v) < 0) ||
           H5Aclose(a) < 0 || H5Dclose(d) < 0 || H5Sclose(s) < 0 || H5Sclose(one) < 0 || H5Tclose(t) < 0;
}

static int tails(hid_t f, int n)
{
    return text(f, "ended", H5T_STR_NULLTERM, (char)('x' + n)) || text(f, "padded", H5T_STR_NULLPAD, (char)('x' + n));
}

static int elsewhere(hid_t f, const char *name, int n)
{
    const hsize_t dims[2] = {BIG >> 20, (hsize_t)1 << 20}, one[2] = {1, 1}, at[2] = {(BIG >> 20) - 2, 5}, row[2] = {1, 10}, other[2] = {9, 9}, zero[2] = {0};
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE), e = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         from = H5Screate_simple(2, row, NULL), all = H5Scopy(s);
    char          raw[4096];
    unsigned char fill = 3;
    snprintf(raw, sizeof raw, "%s.raw", name);
    FILE *w = fopen(raw, "wb");
    for (int i = 0; w && i < n; i++)
        fputc('a' + i % 26, w);
    if (!w || fclose(w) || H5Pset_fill_value(p, H5T_NATIVE_UCHAR, &fill) < 0 || dataset(f, "source", 2, row, NULL, NULL, n) ||
        H5Sselect_hyperslab(from, H5S_SELECT_SET, zero, NULL, one, row) < 0 ||
        H5Sselect_hyperslab(all, H5S_SELECT_SET, at, NULL, one, row) < 0 || H5Pset_virtual(p, all, ".", "/source", from) < 0)
        return 1;
    const hsize_t big[2] = {dims[0] - 20, dims[1] - 20};
    hid_t   absent = H5Screate_simple(2, big, NULL);
    if (H5Sselect_hyperslab(absent, H5S_SELECT_SET, zero, NULL, one, big) < 0 ||
        H5Sselect_hyperslab(all, H5S_SELECT_SET, other, NULL, one, big) < 0 || H5Pset_virtual(p, all, "no_such.h5", "/x", absent) < 0 ||
        H5Pset_external(e, raw, 0, H5F_UNLIMITED) < 0)
        return 1;
    return H5Dclose(H5Dcreate2(f, "virtual", H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) < 0 ||
           H5Dclose(H5Dcreate2(f, "raw", H5T_STD_U8LE, s, H5P_DEFAULT, e, H5P_DEFAULT)) < 0 || H5Sclose(absent) < 0 || H5Sclose(all) < 0 ||
           H5Sclose(from) < 0 || H5Sclose(s) < 0 || H5Pclose(p) < 0 || H5Pclose(e) < 0;
}

static int source(hid_t f, const char *name, int fill)
{
    const hsize_t dims[2] = {BIG >> 20, (hsize_t)1 << 20};
    hid_t s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    unsigned char v = (unsigned char)fill;
    return H5Pset_fill_value(p, H5T_NATIVE_UCHAR, &v) < 0 ||
           H5Dclose(H5Dcreate2(f, name, H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) < 0 ||
           H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

static int mapped(hid_t f, const char *name, const char *file, const char *of)
{
    const hsize_t dims[2] = {BIG >> 20, (hsize_t)1 << 20};
    unsigned char v = 7;
    hid_t s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    return H5Pset_fill_value(p, H5T_NATIVE_UCHAR, &v) < 0 || H5Pset_virtual(p, s, file, of, s) < 0 ||
           H5Dclose(H5Dcreate2(f, name, H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) < 0 ||
           H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

/* Ten bytes of 2^45. */
static int few(hid_t f, int fill)
{
    const hsize_t dims[2] = {BIG >> 20, (hsize_t)1 << 20}, ten[2] = {1, 10}, at[2] = {5, 6}, one[2] = {1, 1};
    unsigned char v = 7, own = (unsigned char)fill;
    hid_t s = H5Screate_simple(2, dims, NULL), all = H5Scopy(s), from = H5Screate_simple(2, ten, NULL);
    hid_t p = H5Pcreate(H5P_DATASET_CREATE), q = H5Pcreate(H5P_DATASET_CREATE);
    return H5Pset_fill_value(p, H5T_NATIVE_UCHAR, &v) < 0 ||
           H5Pset_fill_value(q, H5T_NATIVE_UCHAR, &own) < 0 ||
           H5Dclose(H5Dcreate2(f, "ten", H5T_STD_U8LE, from, H5P_DEFAULT, q, H5P_DEFAULT)) < 0 ||
           H5Sselect_hyperslab(all, H5S_SELECT_SET, at, NULL, one, ten) < 0 ||
           H5Pset_virtual(p, all, ".", "/ten", from) < 0 ||
           H5Dclose(H5Dcreate2(f, "few", H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) < 0 ||
           H5Pclose(p) < 0 || H5Pclose(q) < 0 || H5Sclose(s) < 0 || H5Sclose(all) < 0 || H5Sclose(from) < 0;
}

static int blank(hid_t f, const char *name, int fill)
{
    if (few(f, fill) || fill != 7)
        return fill == 7;
    char path[4096];
    const char *slash = strrchr(name, '/');
    snprintf(path, sizeof path, "%s.source", name);
    hid_t other = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    return other < 0 || source(other, "x", fill) || H5Fclose(other) < 0 || source(f, "x", fill) ||
           mapped(f, "here", ".", "/x") || mapped(f, "there", slash ? path + (slash - name) + 1 : path, "/x");
}

static int raw(hid_t f, const char *name)
{
    const hsize_t dims[2][2] = {{BIG >> 20, (hsize_t)1 << 20}, {2, 3}};
    for (int i = 0; i < 2; i++) {
        hid_t s = H5Screate_simple(2, dims[i], NULL), p = H5Pcreate(H5P_DATASET_CREATE);
        if (H5Pset_external(p, name, 0, H5F_UNLIMITED) < 0 ||
            H5Dclose(H5Dcreate2(f, i ? "small" : "large", H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT)) <
                0 ||
            H5Pclose(p) < 0 || H5Sclose(s) < 0)
            return 1;
    }
    return 0;
}

static int write_one(const char *file, const char *name)
{
    hid_t         f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, name, H5P_DEFAULT), s = H5Dget_space(d);
    const hsize_t at[H5S_MAX_RANK] = {0}, one = 1;
    hid_t         m = H5Screate_simple(1, &one, NULL);
    int           v = 1;
    return H5Sselect_elements(s, H5S_SELECT_SET, 1, at) < 0 || H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) < 0 || H5Fclose(f) < 0;
}

static int gaps(hid_t f)
{
    static const char *const names[] = {"c", "b", "a"};
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE), s = H5Screate(H5S_SCALAR), g;
    if (H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED) < 0 || H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED) < 0 ||
        (g = H5Gcreate2(f, "g", H5P_DEFAULT, gcpl, H5P_DEFAULT)) < 0)
        return 1;
    for (int i = 0; i < 3; i++)
        if (H5Lcreate_soft("x", g, names[i], H5P_DEFAULT, H5P_DEFAULT) < 0 ||
            H5Aclose(H5Acreate2(g, names[i], H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT)) < 0)
            return 1;
    return H5Ldelete(g, "b", H5P_DEFAULT) < 0 || H5Adelete(g, "b") < 0 || H5Gclose(g) < 0 || H5Sclose(s) < 0 || H5Pclose(gcpl) < 0;
}

static int attribute(hid_t of, const char *name, hid_t type, const void *value)
{
    hid_t s = H5Screate(H5S_SCALAR), a = H5Acreate2(of, name, type, s, H5P_DEFAULT, H5P_DEFAULT);
    return H5Awrite(a, type, value) < 0 || H5Aclose(a) < 0 || H5Sclose(s) < 0;
}

static int leads(hid_t f)
{
    const hsize_t ten = 10;
    const int seven = 7;
    hid_t s = H5Screate_simple(1, &ten, NULL);
    H5R_ref_t new;
    hobj_ref_t object;
    hdset_reg_ref_t region;
    if (dataset(f, "d", 1, &ten, NULL, NULL, 0) || H5Rcreate_object(f, "d", H5P_DEFAULT, &new) < 0 ||
        H5Rcreate(&object, f, "d", H5R_OBJECT, H5I_INVALID_HID) < 0 ||
        H5Rcreate(&region, f, "d", H5R_DATASET_REGION, s) < 0)
        return 1;
    hid_t d = H5Dopen2(f, "d", H5P_DEFAULT);
    return attribute(d, "integer", H5T_STD_I32LE, &seven) || attribute(d, "new", H5T_STD_REF, &new) ||
           attribute(d, "object", H5T_STD_REF_OBJ, &object) ||
           attribute(d, "region", H5T_STD_REF_DSETREG, &region) || H5Rdestroy(&new) < 0 || H5Dclose(d) < 0 ||
           H5Sclose(s) < 0;
}

static int many(hid_t f)
{
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 40; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "l%02d", i);
        if (H5Lcreate_soft("x", g, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
            return 1;
    }
    return H5Gclose(g) < 0 || H5Gclose(H5Gcreate2(f, "h", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) < 0 ||
           H5Lcreate_soft("x", f, "h/l", H5P_DEFAULT, H5P_DEFAULT) < 0;
}

/* The maker of a mode that has no numbers; NULL: it has some. */
static int (*made_in(const char *mode))(hid_t)
{
    static const struct {
        const char *mode;
        int (*make)(hid_t);
    } all[] = {{"small", small}, {"gaps", gaps}, {"leads", leads}, {"many", many}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(mode, all[i].mode) == 0)
            return all[i].make;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    int         n    = argc > 3 ? atoi(argv[3]) : 0;
    if (argc < 3)
        return 2;
    if (strcmp(mode, "held") == 0)
        return held(argv[2]);
    if (strcmp(mode, "write") == 0)
        return write_one(argv[2], argv[3]);
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    if (strcmp(mode, "step") == 0 && H5Pset_userblock(fcpl, (hsize_t)512 << n) < 0)
        return 1;
    hid_t f = H5Fcreate(argv[2], H5F_ACC_TRUNC, fcpl, H5P_DEFAULT);
    if (f < 0)
        return 1;
    if (strcmp(mode, "blank") == 0 || strcmp(mode, "raw") == 0)
        return (strcmp(mode, "raw") == 0 ? raw(f, argv[3]) : blank(f, argv[2], n)) || H5Pclose(fcpl) < 0 ||
               H5Fclose(f) < 0;
    int (*of_n)(hid_t, int) = strcmp(mode, "step") == 0 ? step : strcmp(mode, "tails") == 0 ? tails : NULL;
    int (*of_file)(hid_t)   = made_in(mode);
    int rc = of_file                          ? of_file(f)
             : of_n                           ? of_n(f, n)
             : strcmp(mode, "elsewhere") == 0 ? elsewhere(f, argv[2], n)
                                              : never(f, n, argc > 4 ? atoi(argv[4]) : 0);
    return rc || H5Pclose(fcpl) < 0 || H5Fclose(f) < 0;
}
