/* make_data DIR MIB: a field of float32 in chunks of 1 MiB, stored in every way that bench/run compares.
 *
 *   DIR/bucket/data/{raw,zip,paged}.h5               one HDF5 file: plain, shuffle+deflate, plain in pages of 4 MiB
 *   DIR/bucket/data/tiny.h5                          10,000 datasets of 16 values
 *   DIR/bucket/{native,ref,chunks}_{raw,zip}.h5/...  domains: chunk objects as HSDS stores them; references into that
 *                                                    file by a chunk table (ref) or listed in the layout (chunks)
 *   DIR/bucket/data/small.h5, native_small.h5        the first 64 MiB of the plain one
 *   DIR/bucket/data/vars.h5                          60 variables with 20 attributes, as data.py's vars.h5
 *   DIR/{native,ref}_{raw,zip}.list                  which bytes a reader needs: "key offset length" */
#include <blosc.h>
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "variables.h"

#define TINY 10000
#define SIDE 512U  /* chunks of 512 x 512 floats are 1 MiB */
#define ACROSS 16U /* 16 of them side by side */
#define CHUNK (SIDE * SIDE * sizeof(float))

static unsigned n_chunks;
static const char *dir;

struct stored {
    uint64_t offset, size;
};

static void die(const char *what)
{
    fprintf(stderr, "make_data: %s: %s\n", what, strerror(errno));
    exit(1);
}

static FILE *create(const char *format, ...) __attribute__((format(printf, 1, 2)));
static FILE *create(const char *format, ...)
{
    char    name[4096];
    va_list ap;
    int     n = snprintf(name, sizeof name, "%s/", dir);
    va_start(ap, format);
    vsnprintf(name + n, sizeof name - (size_t)n, format, ap);
    va_end(ap);
    for (char *p = name + n - 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        if (mkdir(name, 0777) < 0 && errno != EEXIST)
            die(name);
    }
    FILE *f = fopen(name, "w");
    if (!f)
        die(name);
    return f;
}

/* A smooth field with noise in 16 of the 23 bits: shuffled and deflated 256 MiB become about 144. */
static void fill(float *to, unsigned chunk)
{
    uint32_t noise = chunk * 2654435761U + 1;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            double gy = chunk / ACROSS * SIDE + y, gx = chunk % ACROSS * SIDE + x;
            noise                = noise * 1664525U + 1013904223U;
            double value         = 280 + 20 * sin(gx / 300) * cos(gy / 500) + (double)(noise >> 16) / 32768;
            to[y * SIDE + x]     = (float)value;
        }
}

static void write_hdf5(const char *kind, float *buf)
{
    char          name[4096];
    const hsize_t dims[] = {n_chunks / ACROSS * SIDE, ACROSS * SIDE}, chunk[] = {SIDE, SIDE};
    fclose(create("bucket/data/%s.h5", kind));
    snprintf(name, sizeof name, "%s/bucket/data/%s.h5", dir, kind);
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    if (strcmp(kind, "paged") == 0) { /* needed for a page buffer */
        H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 0, 1);
        H5Pset_file_space_page_size(fcpl, (hsize_t)4 << 20);
    }
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), mem = H5Screate_simple(2, chunk, NULL);
    H5Pset_chunk(dcpl, 2, chunk);
    if (strcmp(kind, "zip") == 0) {
        H5Pset_shuffle(dcpl);
        H5Pset_deflate(dcpl, 4);
    }
    hid_t dset = H5Dcreate2(file, "field", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    for (unsigned i = 0; i < n_chunks; i++) {
        const hsize_t start[] = {i / ACROSS * SIDE, i % ACROSS * SIDE};
        fill(buf, i);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, chunk, NULL);
        if (H5Dwrite(dset, H5T_NATIVE_FLOAT, mem, space, H5P_DEFAULT, buf) < 0)
            die(name);
    }
    H5Dclose(dset);
    H5Sclose(space);
    H5Sclose(mem);
    H5Pclose(dcpl);
    H5Pclose(fcpl);
    H5Fclose(file);
}

static void write_variables(void)
{
    char name[4096];
    fclose(create("bucket/data/vars.h5"));
    snprintf(name, sizeof name, "%s/bucket/data/vars.h5", dir);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (make_variables(file, dcpl) < 0)
        die(name);
    H5Pclose(dcpl);
    H5Fclose(file);
}

static int keep(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *op_data)
{
    struct stored *s = op_data;
    (void)mask;
    s[offset[0] / SIDE * ACROSS + offset[1] / SIDE] = (struct stored){addr, size};
    return 0;
}

static void locate(const char *kind, struct stored *s)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/bucket/data/%s.h5", dir, kind);
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "field", H5P_DEFAULT);
    if (H5Dchunk_iter(dset, H5P_DEFAULT, keep, s) < 0)
        die(name);
    H5Dclose(dset);
    H5Fclose(file);
}

/* Ids by HSDS's rules: a root's second half is its first half with 8 added to each digit (mod 16). */
static const char *root_half(uint64_t root)
{
    static char half[2][20];
    static int  turn;
    uint64_t    other = root ^ 0x8888888888888888U;
    turn              = !turn;
    snprintf(half[turn], sizeof half[turn], "%04x-%06x-%06x", (unsigned)(other >> 48), (unsigned)(other >> 24 & 0xffffff),
             (unsigned)(other & 0xffffff));
    return half[turn];
}

#define ROOT "%08x-%08x"
#define ROOT_OF(r) (unsigned)((r) >> 32), (unsigned)((r)&0xffffffffU)
static const char field_id[] = "aaaa-000000-000001", table_id[] = "aaaa-000000-000002";

static void domain(const char *name, uint64_t root)
{
    FILE *f = create("bucket/%s.h5/.domain.json", name);
    fprintf(f, "{\"root\": \"g-" ROOT "-%s\", \"owner\": \"bench\", \"acls\": {\"default\": {\"read\": true}}, "
               "\"created\": 1.0, \"lastModified\": 1.0}", ROOT_OF(root), root_half(root));
    fclose(f);
    f = create("bucket/db/" ROOT "/.group.json", ROOT_OF(root));
    fprintf(f, "{\"id\": \"g-" ROOT "-%s\", \"root\": \"g-" ROOT "-%s\", \"created\": 1.0, \"lastModified\": 1.0, \"links\": "
               "{\"field\": {\"id\": \"d-" ROOT "-%s\", \"class\": \"H5L_TYPE_HARD\", \"created\": 1.0}}, \"attributes\": {}}",
            ROOT_OF(root), root_half(root), ROOT_OF(root), root_half(root), ROOT_OF(root), field_id);
    fclose(f);
}

static FILE *dataset(uint64_t root, const char *id, const char *type, unsigned rows, unsigned cols, unsigned crow, unsigned ccol)
{
    FILE *f = create("bucket/db/" ROOT "/d/%s/.dataset.json", ROOT_OF(root), id);
    fprintf(f, "{\"id\": \"d-" ROOT "-%s\", \"root\": \"g-" ROOT "-%s\", \"created\": 1.0, \"lastModified\": 1.0, "
               "\"type\": %s, \"shape\": {\"class\": \"H5S_SIMPLE\", \"dims\": [%u, %u]}, \"attributes\": {}, "
               "\"layout\": {\"class\": \"H5D_CHUNKED\", \"dims\": [%u, %u]}, \"creationProperties\": {",
            ROOT_OF(root), id, ROOT_OF(root), root_half(root), type, rows, cols, crow, ccol);
    return f;
}

static const char float_type[] = "{\"class\": \"H5T_FLOAT\", \"base\": \"H5T_IEEE_F32LE\"}";

static void filters(FILE *f, const char *kind)
{
    if (strcmp(kind, "zip") == 0)
        fprintf(f, ", \"filters\": [{\"class\": \"H5Z_FILTER_SHUFFLE\", \"id\": 2, \"name\": \"shuffle\"}, "
                   "{\"class\": \"H5Z_FILTER_DEFLATE\", \"id\": 1, \"level\": 4, \"name\": \"deflate\"}]");
    fprintf(f, "}}");
    fclose(f);
}

static void write_native(const char *kind, uint64_t root, float *buf)
{
    char  name[64], *packed = malloc(CHUNK + BLOSC_MAX_OVERHEAD);
    snprintf(name, sizeof name, "native_%s", kind);
    domain(name, root);
    FILE *f = dataset(root, field_id, float_type, n_chunks / ACROSS * SIDE, ACROSS * SIDE, SIDE, SIDE);
    fprintf(f, "\"layout\": {\"class\": \"H5D_CHUNKED\", \"dims\": [%u, %u]}", SIDE, SIDE);
    filters(f, kind);
    FILE *list = create("%s.list", name);
    for (unsigned i = 0; i < n_chunks; i++) {
        size_t      size = CHUNK;
        const void *data = buf;
        fill(buf, i);
        if (strcmp(kind, "zip") == 0) { /* as HSDS does: a blosc frame, element size 1, zlib inside */
            int n = blosc_compress_ctx(4, BLOSC_SHUFFLE, 1, CHUNK, buf, packed, CHUNK + BLOSC_MAX_OVERHEAD, "zlib", 0, 1);
            if (n <= 0)
                die("blosc");
            size = (size_t)n;
            data = packed;
        }
        f = create("bucket/db/" ROOT "/d/%s/%u_%u", ROOT_OF(root), field_id, i / ACROSS, i % ACROSS);
        if (fwrite(data, 1, size, f) != size || fclose(f))
            die("chunk");
        fprintf(list, "db/" ROOT "/d/%s/%u_%u 0 %zu\n", ROOT_OF(root), field_id, i / ACROSS, i % ACROSS, size);
    }
    fclose(list);
    free(packed);
}

static void write_table(const char *kind, uint64_t root, const struct stored *s)
{
    static const char type[] = "{\"class\": \"H5T_COMPOUND\", \"fields\": [{\"name\": \"offset\", \"type\": {\"class\": "
                               "\"H5T_INTEGER\", \"base\": \"H5T_STD_I64LE\"}}, {\"name\": \"size\", \"type\": {\"class\": "
                               "\"H5T_INTEGER\", \"base\": \"H5T_STD_I32LE\"}}]}";
    unsigned rows = n_chunks / ACROSS;
    char     name[64];
    snprintf(name, sizeof name, "ref_%s", kind);
    domain(name, root);
    FILE *f = dataset(root, field_id, float_type, rows * SIDE, ACROSS * SIDE, SIDE, SIDE);
    fprintf(f, "\"layout\": {\"class\": \"H5D_CHUNKED_REF_INDIRECT\", \"file_uri\": \"bucket/data/%s.h5\", \"dims\": [%u, %u], "
               "\"chunk_table\": \"d-" ROOT "-%s\"}", kind, SIDE, SIDE, ROOT_OF(root), table_id);
    filters(f, kind);
    f = dataset(root, table_id, type, rows, ACROSS, rows, ACROSS);
    fprintf(f, "\"layout\": {\"class\": \"H5D_CHUNKED\", \"dims\": [%u, %u]}", rows, ACROSS);
    filters(f, "raw");
    f          = create("bucket/db/" ROOT "/d/%s/0_0", ROOT_OF(root), table_id);
    FILE *list = create("%s.list", name);
    for (unsigned i = 0; i < n_chunks; i++) {
        int32_t size = (int32_t)s[i].size;
        fwrite(&s[i].offset, 8, 1, f);
        fwrite(&size, 4, 1, f);
        fprintf(list, "data/%s.h5 %" PRIu64 " %" PRIu64 "\n", kind, s[i].offset, s[i].size);
    }
    fclose(f);
    fclose(list);
}

static void write_listed(const char *kind, uint64_t root, const struct stored *s)
{
    char name[64];
    snprintf(name, sizeof name, "chunks_%s", kind);
    domain(name, root);
    FILE *f = dataset(root, field_id, float_type, n_chunks / ACROSS * SIDE, ACROSS * SIDE, SIDE, SIDE);
    fprintf(f, "\"layout\": {\"class\": \"H5D_CHUNKED_REF\", \"file_uri\": \"bucket/data/%s.h5\", \"dims\": [%u, %u], \"chunks\": {",
            kind, SIDE, SIDE);
    for (unsigned i = 0; i < n_chunks; i++)
        fprintf(f, "%s\"%u_%u\": [%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", i / ACROSS, i % ACROSS, s[i].offset, s[i].size);
    fprintf(f, "}}");
    filters(f, kind);
}

/* 10,000 datasets of 16 values in a group, as any program leaves them. */
static void write_tiny(void)
{
    char          name[4096];
    float         v[16];
    const hsize_t n = 16;
    fclose(create("bucket/data/tiny.h5"));
    snprintf(name, sizeof name, "%s/bucket/data/tiny.h5", dir);
    hid_t file  = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, &n, NULL);
    hid_t group = H5Gcreate2(file, "t", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (unsigned i = 0; i < TINY; i++) {
        snprintf(name, sizeof name, "d%05u", i);
        for (unsigned k = 0; k < n; k++)
            v[k] = (float)(i + k / 16.0);
        hid_t dset = H5Dcreate2(group, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
            die(name);
        H5Dclose(dset);
    }
    H5Gclose(group);
    H5Sclose(space);
    H5Fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return fprintf(stderr, "usage: make_data DIR MIB\n"), 2;
    dir      = argv[1];
    n_chunks = (unsigned)strtoul(argv[2], NULL, 10) / ACROSS * ACROSS;
    if (n_chunks == 0)
        return fprintf(stderr, "make_data: %u MiB at least\n", ACROSS), 2;
    static const char *const kinds[] = {"raw", "zip"};
    float                   *buf     = malloc(CHUNK);
    struct stored           *s       = calloc(n_chunks, sizeof *s);
    for (unsigned k = 0; k < 2; k++) {
        uint64_t root = 0x1000000000000000U * (k + 1);
        write_hdf5(kinds[k], buf);
        locate(kinds[k], s);
        write_native(kinds[k], root + 1, buf);
        write_table(kinds[k], root + 2, s);
        write_listed(kinds[k], root + 3, s);
    }
    write_hdf5("paged", buf);
    write_variables();
    write_tiny();
    n_chunks = n_chunks < 64 ? n_chunks : 64; /* fits the chunk cache */
    write_hdf5("small", buf);
    write_native("small", 0x3000000000000001U, buf);
    free(buf);
    free(s);
    return 0;
}
