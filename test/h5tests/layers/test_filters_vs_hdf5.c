/* Our filter pipeline against HDF5's: native HDF5 writes chunks through its filters.  We decode the bytes
 * that it stored with the client data that it recorded, and both must give the same.  If HDF5 finds plugins
 * for third-party filters (HDF5_PLUGIN_PATH), these are compared too, once by our decoder and once through
 * the plugin's own function. */
#include <hdf5.h>
#include <H5PLextern.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/check.h"
#include "chunk/filter/pipeline.h"
#include "helpers/xorshift.h"

#define ROWS 40
#define COLS 33
#define ELEMS (ROWS * COLS)

static int  compared, filtered, skipped, exact;
static char path[] = "/tmp/bkt_filters_XXXXXX";

static uint32_t rnd_state = 1;
static uint32_t rnd(void) { return xorshift32(&rnd_state); }

static hid_t packed(hid_t base, size_t precision, size_t offset)
{
    hid_t t = H5Tcopy(base);
    H5Tset_precision(t, precision);
    H5Tset_offset(t, offset);
    return t;
}

/* A float of 4 bytes with 20 significant bits from bit 7 on: sign 26, exponent 20..25, mantissa 7..19. */
static hid_t short_float(hid_t base)
{
    hid_t t = H5Tcopy(base);
    H5Tset_fields(t, 26, 20, 6, 7, 13);
    H5Tset_offset(t, 7);
    H5Tset_precision(t, 20);
    H5Tset_ebias(t, 31);
    return t;
}

static hid_t array_of(hid_t base)
{
    hsize_t dims[] = {2, 3};
    hid_t   t      = H5Tarray_create2(base, 2, dims);
    H5Tclose(base);
    return t;
}

static hid_t compound(void)
{
    hid_t inner = H5Tcreate(H5T_COMPOUND, 7), t = H5Tcreate(H5T_COMPOUND, 64);
    hid_t a = packed(H5T_STD_I32BE, 17, 5), b = packed(H5T_STD_U16LE, 9, 2), c = short_float(H5T_IEEE_F32LE);
    hid_t d = array_of(packed(H5T_STD_I16BE, 10, 1)), s = H5Tcopy(H5T_C_S1);
    H5Tset_size(s, 5);
    H5Tinsert(inner, "x", 0, b);
    H5Tinsert(inner, "y", 2, s);
    H5Tinsert(t, "a", 1, a);
    H5Tinsert(t, "c", 8, c);
    H5Tinsert(t, "d", 16, d);
    H5Tinsert(t, "inner", 32, inner);
    H5Tinsert(t, "l", 40, H5T_STD_I64LE);
    H5Tinsert(t, "e", 50, H5T_STD_U8LE);
    hid_t all[] = {inner, a, b, c, d, s};
    for (size_t i = 0; i < BKT_COUNT(all); i++)
        H5Tclose(all[i]);
    return t;
}

enum type { I8, U8, I16, U16BE, I32, I32BE, U32, I64, U64BE, F32, F32BE, F64, F64BE, /* then reduced precision */
            P_I32, P_U16BE, P_I64BE, P_U8, P_F32, P_F32BE, A_I32, A_PACKED, C_PACKED, S5, TYPES };

static hid_t make_type(enum type t)
{
    hid_t s;
    switch (t) {
    case I8: return H5Tcopy(H5T_STD_I8LE);
    case U8: return H5Tcopy(H5T_STD_U8LE);
    case I16: return H5Tcopy(H5T_STD_I16LE);
    case U16BE: return H5Tcopy(H5T_STD_U16BE);
    case I32: return H5Tcopy(H5T_STD_I32LE);
    case I32BE: return H5Tcopy(H5T_STD_I32BE);
    case U32: return H5Tcopy(H5T_STD_U32LE);
    case I64: return H5Tcopy(H5T_STD_I64LE);
    case U64BE: return H5Tcopy(H5T_STD_U64BE);
    case F32: return H5Tcopy(H5T_IEEE_F32LE);
    case F32BE: return H5Tcopy(H5T_IEEE_F32BE);
    case F64: return H5Tcopy(H5T_IEEE_F64LE);
    case F64BE: return H5Tcopy(H5T_IEEE_F64BE);
    case P_I32: return packed(H5T_STD_I32LE, 17, 5);
    case P_U16BE: return packed(H5T_STD_U16BE, 9, 3);
    case P_I64BE: return packed(H5T_STD_I64BE, 53, 7);
    case P_U8: return packed(H5T_STD_U8LE, 3, 4);
    case P_F32: return short_float(H5T_IEEE_F32LE);
    case P_F32BE: return short_float(H5T_IEEE_F32BE);
    case A_I32: return array_of(H5Tcopy(H5T_STD_I32LE));
    case A_PACKED: return array_of(packed(H5T_STD_U32BE, 21, 6));
    case C_PACKED: return compound();
    default:
        s = H5Tcopy(H5T_C_S1);
        H5Tset_size(s, 5);
        return s;
    }
}

static const char *type_name(enum type t)
{
    static const char *const names[] = {"i8", "u8", "i16", "u16be", "i32", "i32be", "u32", "i64", "u64be", "f32", "f32be",
                                        "f64", "f64be", "i32:17@5", "u16be:9@3", "i64be:53@7", "u8:3@4", "f32:20@7",
                                        "f32be:20@7", "i32[6]", "u32be:21@6[6]", "compound", "string"};
    return names[t];
}

/* Values in the file's own type, so that no conversion comes between. */
static void fill(void *buf, enum type t, size_t size)
{
    unsigned char *p = buf;
    int            k = 100;
    if (t <= F64BE) { /* steps, with room for the fill value 7 in between */
        int vals[ELEMS];
        for (int i = 0; i < ELEMS; i++) {
            k += (int)(rnd() % 5) - 2;
            vals[i] = rnd() % 9 == 0 ? 7 : k % 120;
        }
        int *wide = calloc(ELEMS, 8);
        memcpy(wide, vals, sizeof vals);
        hid_t ft = make_type(t);
        H5Tconvert(H5T_NATIVE_INT, ft, ELEMS, wide, NULL, H5P_DEFAULT);
        H5Tclose(ft);
        memcpy(buf, wide, ELEMS * size);
        free(wide);
        return;
    }
    for (size_t i = 0; i < ELEMS * size; i++) /* the bits outside precision get lost: compared with HDF5's
                                                 reading */
        p[i] = (unsigned char)(rnd() >> 9);
}

enum step { NONE, DEFLATE, SHUFFLE, FLETCHER, SZIP_NN, SZIP_EC, NBIT, SO_INT, SO_INT_9, SO_D2, SO_D0, THIRD };
struct cs {
    const char *what;
    enum step   steps[4];
    enum type   from, to; /* types to try */
    int         fill;     /* 0 default, 1 value 7, 2 undefined */
    bool        odd_chunk; /* chunk of 13 columns: szip pads its scanlines */
};
static const struct cs cases[] = {
    {"deflate", {DEFLATE}, I8, C_PACKED, 0, false},
    {"shuffle", {SHUFFLE}, I8, S5, 0, false},
    {"shuffle+deflate", {SHUFFLE, DEFLATE}, I8, S5, 0, true},
    {"fletcher32", {FLETCHER}, I8, S5, 0, true},
    {"shuffle+deflate+fletcher32", {SHUFFLE, DEFLATE, FLETCHER}, I8, S5, 0, false},
    {"shuffle+fletcher32+deflate", {SHUFFLE, FLETCHER, DEFLATE}, I8, S5, 0, true},
    {"fletcher32+deflate", {FLETCHER, DEFLATE}, I8, S5, 0, false},
    {"szip NN", {SZIP_NN}, I8, P_U8, 0, false},
    {"szip NN, odd scanline", {SZIP_NN}, I8, P_U8, 0, true},
    {"szip EC", {SZIP_EC}, I8, P_U8, 0, false},
    {"szip EC, odd scanline", {SZIP_EC}, I8, P_U8, 0, true},
    {"shuffle+szip+fletcher32", {SHUFFLE, SZIP_NN, FLETCHER}, I16, F64BE, 0, false},
    {"nbit", {NBIT}, I8, S5, 0, false},
    {"nbit, odd chunk", {NBIT}, P_I32, S5, 0, true},
    {"nbit+deflate", {NBIT, DEFLATE}, P_I32, C_PACKED, 0, false},
    {"nbit+shuffle+fletcher32", {NBIT, SHUFFLE, FLETCHER}, P_I32, C_PACKED, 0, true},
    {"scaleoffset int", {SO_INT}, I8, U64BE, 0, false},
    {"scaleoffset int, fill 7", {SO_INT}, I8, U64BE, 1, true},
    {"scaleoffset int, no fill", {SO_INT}, I8, U64BE, 2, false},
    {"scaleoffset 9 bits", {SO_INT_9}, I16, U64BE, 1, false},
    {"scaleoffset 9 bits, no fill", {SO_INT_9}, I16, U64BE, 2, false},
    {"scaleoffset D 2", {SO_D2}, F32, F64BE, 0, false},
    {"scaleoffset D 2, fill 7", {SO_D2}, F32, F64BE, 1, true},
    {"scaleoffset D 0, no fill", {SO_D0}, F32, F64BE, 2, false},
    {"scaleoffset+shuffle+deflate", {SO_INT, SHUFFLE, DEFLATE}, I8, U64BE, 1, false},
};

/* Some filters refuse some types when the dataset is created.  That is not a failure, but must not hide a
 * case. */
static bool hdf5_can(const struct cs *c, enum type t)
{
    bool szip = false;
    for (int i = 0; i < 4; i++)
        szip |= c->steps[i] == SZIP_NN || c->steps[i] == SZIP_EC;
    return !szip || t <= P_U8;
}

static hid_t make_dcpl(const struct cs *c, hid_t type)
{
    hid_t   p       = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[] = {16, c->odd_chunk ? 13 : 16};
    H5Pset_chunk(p, 2, chunk);
    if (c->fill == 1) {
        int k = 7;
        H5Pset_fill_value(p, H5T_NATIVE_INT, &k);
    } else if (c->fill == 2) {
        H5Pset_fill_value(p, type, NULL);
    }
    for (int i = 0; i < 4; i++) {
        switch (c->steps[i]) {
        case DEFLATE: H5Pset_deflate(p, 6); break;
        case SHUFFLE: H5Pset_shuffle(p); break;
        case FLETCHER: H5Pset_fletcher32(p); break;
        case SZIP_NN: H5Pset_szip(p, H5_SZIP_NN_OPTION_MASK, 8); break;
        case SZIP_EC: H5Pset_szip(p, H5_SZIP_EC_OPTION_MASK, 4); break;
        case NBIT: H5Pset_nbit(p); break;
        case SO_INT: H5Pset_scaleoffset(p, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT); break;
        case SO_INT_9: H5Pset_scaleoffset(p, H5Z_SO_INT, 9); break;
        case SO_D2: H5Pset_scaleoffset(p, H5Z_SO_FLOAT_DSCALE, 2); break;
        case SO_D0: H5Pset_scaleoffset(p, H5Z_SO_FLOAT_DSCALE, 0); break;
        default: break;
        }
    }
    return p;
}

/* The pipeline as recorded in the dataset. */
static void read_pipeline(hid_t dset, struct bkt_pipeline *p)
{
    hid_t dcpl = H5Dget_create_plist(dset), type = H5Dget_type(dset);
    p->elem_size = H5Tget_size(type);
    for (int i = 0; i < H5Pget_nfilters(dcpl); i++) {
        unsigned        cd[256]; /* H5Pget_filter2 takes no more */
        size_t          n_cd = BKT_COUNT(cd);
        unsigned        flags, config;
        char            name[48];
        H5Z_filter_t    id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_cd, cd, sizeof name, name, &config);
        int             rc = bkt_pipeline_add(p, id, flags, cd, n_cd, name, NULL);
        CHECK(rc == BKT_OK, "filter %d: %d", id, rc);
    }
    H5Tclose(type);
    H5Pclose(dcpl);
}

/* Whether there is only one right result: compressors differ between versions, scaling floats loses digits. */
static bool is_exact(const struct bkt_pipeline *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct bkt_filter *f = &p->f[i];
        if (f->id < BKT_FILTER_SHUFFLE || f->id > BKT_FILTER_SCALEOFFSET || (f->id == BKT_FILTER_SCALEOFFSET && f->cd[3] == 1))
            return false;
    }
    return true;
}

static bool is_lossless(const struct bkt_pipeline *p)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->f[i].id % 10000 == BKT_FILTER_SCALEOFFSET && p->f[i].cd[3] == 1)
            return false;
    return true;
}

/* The chunk encoded by us: it equals HDF5's own bytes if there is only one right result, and HDF5 reads the
 * original elements from it. */
static void compare_encoded(const char *what, hid_t dset, const struct bkt_pipeline *p, const hsize_t *at, hid_t mem, hid_t space,
                            const unsigned char *bytes, size_t stored, uint32_t mask, const unsigned char *elems, size_t n,
                            const unsigned char *want, size_t n_want)
{
    struct bkt_buf enc  = {0};
    struct bkt_err err  = {0};
    uint32_t       ours = 0;
    hid_t          type = H5Dget_type(dset);
    unsigned char *got  = malloc(n_want), *again = malloc(n);
    int            rc   = bkt_pipeline_encode(p, elems, n, &enc, &ours, &err);
    CHECK(rc == BKT_OK, "%s: not encoded: %d %s", what, rc, err.n ? err.frame[0].msg : "");
    if (rc == BKT_OK && is_exact(p)) {
        size_t i = 0;
        while (i < stored && i < enc.len && bytes[i] == enc.ptr[i])
            i++;
        CHECK(mask == ours && stored == enc.len && i == stored, "%s: mask %u instead of %u, %zu bytes instead of %zu, first other: %zu",
              what, ours, mask, enc.len, stored, i);
        exact++;
    }
    if (rc == BKT_OK && (ours != mask || stored != enc.len || memcmp(bytes, enc.ptr, stored) != 0)) {
        rc = bkt_pipeline_decode(p, ours, enc.ptr, enc.len, again, n, &err);
        CHECK(rc == BKT_OK, "%s: our own bytes: %d %s", what, rc, err.n ? err.frame[0].msg : "");
        CHECK(H5Dwrite_chunk(dset, H5P_DEFAULT, ours, at, enc.len, enc.ptr) >= 0, "%s: write chunk", what);
        bool read = H5Dread(dset, type, mem, space, H5P_DEFAULT, got) >= 0;
        bool same = read && memcmp(got, want, n_want) == 0;
        CHECK(read && (same || !is_lossless(p)), "%s (mask %u, %zu of %zu bytes): HDF5 %s", what, ours, enc.len, n, read ? "reads other values" : "can't read what we encoded");
    }
    free(got);
    free(again);
    bkt_buf_fini(&enc);
    H5Tclose(type);
}

/* Every chunk of the dataset, decoded by us and by HDF5. */
static void compare(const char *what, hid_t dset, bkt_filter_fn *fn)
{
    struct bkt_pipeline p = {0};
    hid_t   dcpl = H5Dget_create_plist(dset), type = H5Dget_type(dset), space = H5Dget_space(dset);
    hsize_t chunk[2], dims[2], at[2], n_chunks;
    H5Pget_chunk(dcpl, 2, chunk);
    H5Sget_simple_extent_dims(space, dims, NULL);
    read_pipeline(dset, &p);
    for (unsigned i = 0; fn && i < p.n; i++) { /* as a filter that we do not know */
        p.f[i].fn = fn;
        p.f[i].id += 10000;
    }
    size_t         n = (size_t)(chunk[0] * chunk[1]) * p.elem_size;
    unsigned char *ours = malloc(n), *theirs = malloc(n);
    H5Dget_num_chunks(dset, H5S_ALL, &n_chunks);
    CHECK(n_chunks > 0 && p.n > 0, "%s: nothing to compare", what);
    for (hsize_t i = 0; i < n_chunks; i++) {
        unsigned       mask;
        haddr_t        addr;
        hsize_t        stored;
        uint32_t       mask_read;
        struct bkt_err err = {0};
        H5Dget_chunk_info(dset, H5S_ALL, i, at, &mask, &addr, &stored);
        unsigned char *bytes = malloc(stored ? stored : 1);
        H5Dread_chunk(dset, H5P_DEFAULT, at, &mask_read, bytes);
        int rc = bkt_pipeline_decode(&p, mask_read, bytes, stored, ours, n, &err);
        CHECK(rc == BKT_OK, "%s, chunk %d: %d %s", what, (int)i, rc, err.n ? err.frame[0].msg : "");
        /* HDF5 shows the part inside the dataset: compare that part, row by row */
        hsize_t part[2] = {dims[0] - at[0] < chunk[0] ? dims[0] - at[0] : chunk[0],
                           dims[1] - at[1] < chunk[1] ? dims[1] - at[1] : chunk[1]};
        hid_t   mem = H5Screate_simple(2, part, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, part, NULL);
        herr_t st = H5Dread(dset, type, mem, space, H5P_DEFAULT, theirs);
        CHECK(st >= 0, "%s, chunk %d: HDF5 cannot read it", what, (int)i);
        for (hsize_t r = 0; rc == BKT_OK && st >= 0 && r < part[0]; r++)
            CHECK(memcmp(ours + r * chunk[1] * p.elem_size, theirs + r * part[1] * p.elem_size,
                         (size_t)part[1] * p.elem_size) == 0, "%s, chunk %d, row %d differs", what, (int)i, (int)r);
        if (rc == BKT_OK && st >= 0)
            compare_encoded(what, dset, &p, at, mem, space, bytes, stored, mask_read, ours, n, theirs,
                            (size_t)(part[0] * part[1]) * p.elem_size);
        compared++;
        filtered += mask_read == 0;
        H5Sclose(mem);
        free(bytes);
    }
    free(ours);
    free(theirs);
    bkt_pipeline_fini(&p);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(dcpl);
}

static hid_t write_dataset(hid_t file, const char *name, hid_t type, hid_t dcpl, enum type t)
{
    hsize_t dims[] = {ROWS, COLS};
    hid_t   space  = H5Screate_simple(2, dims, NULL);
    hid_t   dset   = H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    void   *buf    = calloc(ELEMS, H5Tget_size(type) + 8);
    fill(buf, t, H5Tget_size(type));
    if (dset >= 0 && (H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf) < 0 || H5Fflush(file, H5F_SCOPE_LOCAL) < 0)) {
        H5Dclose(dset);
        dset = -1;
    }
    free(buf);
    H5Sclose(space);
    return dset;
}

static void run_case(hid_t file, const struct cs *c, enum type t)
{
    char what[100];
    snprintf(what, sizeof what, "%s %s", c->what, type_name(t));
    if (!hdf5_can(c, t))
        return;
    hid_t type = make_type(t), dcpl = make_dcpl(c, type), dset = write_dataset(file, what, type, dcpl, t);
    CHECK(dset >= 0, "%s: HDF5 does not write it", what);
    if (dset >= 0) {
        int before = filtered;
        compare(what, dset, NULL);
        CHECK(filtered > before, "%s: HDF5 applied no filter to any chunk", what);
        H5Dclose(dset);
    }
    H5Pclose(dcpl);
    H5Tclose(type);
}

/* Chunks for which some filters were skipped, as H5Dwrite_chunk leaves them. */
static void test_masks(hid_t file)
{
    static const struct cs c = {"masks", {SHUFFLE, DEFLATE, FLETCHER}, I32, I32, 0, false};
    hid_t   type = make_type(I32), dcpl = make_dcpl(&c, type);
    hid_t   dset = write_dataset(file, "masks", type, dcpl, I32);
    int     plain[256];
    hsize_t at[2] = {0, 0};
    for (int i = 0; i < 256; i++)
        plain[i] = i * 1000;
    CHECK(H5Dwrite_chunk(dset, H5P_DEFAULT, 7, at, sizeof plain, plain) >= 0, "write chunk");
    at[1] = 16;
    unsigned char shuffled[sizeof plain];
    for (size_t i = 0; i < 256; i++)
        for (size_t k = 0; k < 4; k++)
            shuffled[k * 256 + i] = ((unsigned char *)plain)[4 * i + k];
    CHECK(H5Dwrite_chunk(dset, H5P_DEFAULT, 6, at, sizeof shuffled, shuffled) >= 0, "write chunk");
    compare("masks", dset, NULL);
    H5Dclose(dset);
    H5Pclose(dcpl);
    H5Tclose(type);
}

/* Values over the whole range of their type, which scaleoffset stores unpacked.  HDF5 1.14.5 writes such
 * chunks but refuses to read them, so they are compared with the written elements. */
static void test_full_range(hid_t file, enum type t)
{
    hid_t   type = make_type(t), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t dims[] = {ROWS, COLS}, at[] = {0, 0}, stored = 0;
    size_t  n = ELEMS * H5Tget_size(type);
    char    what[100];
    snprintf(what, sizeof what, "full range %s", type_name(t));
    H5Pset_chunk(dcpl, 2, dims);
    H5Pset_scaleoffset(dcpl, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    hid_t          space = H5Screate_simple(2, dims, NULL);
    hid_t          dset  = H5Dcreate2(file, what, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    unsigned char *want = malloc(n), *got = malloc(n), *bytes = malloc(2 * n);
    for (size_t i = 0; i < n; i++)
        want[i] = (unsigned char)(rnd() >> 9);
    CHECK(H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) >= 0 && H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 &&
              H5Dget_chunk_storage_size(dset, at, &stored) >= 0 && stored > n && stored <= 2 * n,
          "%s: %d bytes stored", what, (int)stored);
    uint32_t            mask = 1;
    struct bkt_pipeline p    = {0};
    struct bkt_err      err  = {0};
    H5Dread_chunk(dset, H5P_DEFAULT, at, &mask, bytes);
    read_pipeline(dset, &p);
    int rc = bkt_pipeline_decode(&p, mask, bytes, stored, got, n, &err);
    CHECK(mask == 0 && rc == BKT_OK && memcmp(want, got, n) == 0, "%s: %d %s", what, rc, err.n ? err.frame[0].msg : "");
    bkt_pipeline_fini(&p);
    free(want);
    free(got);
    free(bytes);
    H5Dclose(dset);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Tclose(type);
}

static const struct {
    const char *what;
    int         id;
    unsigned    n_cd, cd[7];
} third[] = {
    {"lzf", 32000, 3, {0, 0, 0}},
    {"lz4", 32004, 1, {512}},
    {"lz4 default block", 32004, 0, {0}},
    {"bzip2", 307, 1, {9}},
    {"blosc blosclz", 32001, 7, {0, 0, 0, 0, 5, 1, 0}},
    {"blosc lz4 bitshuffle", 32001, 7, {0, 0, 0, 0, 5, 2, 1}},
    {"blosc snappy", 32001, 7, {0, 0, 0, 0, 5, 1, 3}},
    {"blosc zlib", 32001, 7, {0, 0, 0, 0, 5, 0, 4}},
    {"blosc zstd", 32001, 7, {0, 0, 0, 0, 5, 1, 5}},
    {"bitshuffle", 32008, 0, {0}},
    {"bitshuffle lz4", 32008, 2, {0, 2}},
    {"bitshuffle zstd", 32008, 3, {0, 3, 5}},
    {"zstd", 32015, 1, {3}},
};

/* The plugin's own function, found as vol finds it: the library in HDF5_PLUGIN_PATH for this id.  HDF5 has
 * loaded it already, so it stays loaded. */
static bkt_filter_fn *plugin_of(int id)
{
    const char    *dir = getenv("HDF5_PLUGIN_PATH");
    DIR           *d   = dir ? opendir(dir) : NULL;
    bkt_filter_fn *fn  = NULL;
    for (struct dirent *e; d && !fn && (e = readdir(d));) {
        char        file[1000];
        const void *(*info)(void);
        snprintf(file, sizeof file, "%s/%s", dir, e->d_name);
        void *lib = strstr(file, ".so") ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
        *(void **)&info          = lib ? dlsym(lib, "H5PLget_plugin_info") : NULL;
        const H5Z_class2_t *k = info ? info() : NULL;
        if (k && k->id == id)
            fn = k->filter;
        if (lib)
            dlclose(lib);
    }
    if (d)
        closedir(d);
    return fn;
}

static void test_third(hid_t file, size_t i, enum type t)
{
    char what[100];
    snprintf(what, sizeof what, "%s %s", third[i].what, type_name(t));
    hid_t   type = make_type(t), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[] = {16, 13};
    H5Pset_chunk(dcpl, 2, chunk);
    if (H5Zfilter_avail(third[i].id) <= 0) {
        skipped++;
        if (t == I32)
            printf("not compared: %s, HDF5 has no plugin for filter %d\n", third[i].what, third[i].id);
    } else {
        H5Pset_filter(dcpl, third[i].id, H5Z_FLAG_OPTIONAL, third[i].n_cd, third[i].cd);
        hid_t dset = write_dataset(file, what, type, dcpl, t);
        CHECK(dset >= 0, "%s: the plugin does not write it", what);
        if (dset >= 0) {
            bkt_filter_fn *fn = plugin_of(third[i].id);
            compare(what, dset, NULL);
            if (fn)
                compare(what, dset, fn);
            H5Dclose(dset);
        }
    }
    H5Pclose(dcpl);
    H5Tclose(type);
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    H5Eset_auto2(H5E_DEFAULT, getenv("BKT_VERBOSE") ? (H5E_auto2_t)H5Eprint2 : NULL, stderr);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        for (int t = (int)cases[i].from; t <= (int)cases[i].to; t++)
            run_case(file, &cases[i], (enum type)t);
    test_masks(file);
    for (int t = I8; t <= U64BE; t++)
        test_full_range(file, (enum type)t);
    for (size_t i = 0; i < BKT_COUNT(third); i++)
        for (int t = I8; t < TYPES; t++)
            test_third(file, i, (enum type)t);
    H5Fclose(file);
    unlink(path);
    printf("%d chunks compared, %d of them with all filters, %d encoded to the same bytes, %d failures\n", compared, filtered, exact, failures);
    return failures != 0 || compared < 1000 || exact < 500;
}
