#include "h5tests/plain/plain_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/check.h"
#include "http/helpers/server.h"
#include "vol/core/vol.h"
#include "vol/vfd/store_driver.h"

void must_do(herr_t rc, const char *what) { REQUIRE(rc >= 0, "%s", what); }

hid_t must_id(hid_t id, const char *what)
{
    REQUIRE(id >= 0, "%s", what);
    return id;
}

hid_t plain_new(const char *path, H5F_libver_t low, H5F_libver_t high)
{
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must_do(H5Pset_libver_bounds(fapl, low, high), "bounds");
    must_do(H5Pset_vol(fapl, H5VL_NATIVE, NULL), "native");
    hid_t file = must_id(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), path);
    (void)H5Pclose(fapl);
    return file;
}

/* ---- datasets ---- */

#define ANY H5S_UNLIMITED
/* With the latest format: each kind of index that HDF5 has.  With the earliest: B-trees of version 1. */
const struct plain_form plain_forms[] = {
    {"contiguous", 2, {23, 31}, {0}, {0}},
    {"compact", 2, {23, 31}, {0}, {1}},
    {"scalar", 0, {0}, {0}, {0}},
    {"empty", 2, {23, 0}, {0}, {0}},
    {"single", 2, {23, 31}, {0}, {23, 31}},
    {"fixed", 2, {23, 31}, {0}, {5, 7}},
    {"fixed, grows", 2, {23, 31}, {40, 50}, {5, 7}},
    {"extensible", 2, {23, 31}, {ANY, 31}, {5, 7}},
    {"extensible, second", 2, {23, 31}, {23, ANY}, {5, 7}},
    {"tree", 2, {23, 31}, {ANY, ANY}, {5, 7}},
    {"long", 1, {5000}, {ANY}, {64}},
    {"deep", 3, {7, 9, 11}, {ANY, 20, 11}, {3, 2, 4}},
};
const size_t plain_forms_n = sizeof plain_forms / sizeof *plain_forms;

const struct plain_filters plain_filters[] = {
    {"none", {0}, 0, false},
    {"deflate", {H5Z_FILTER_DEFLATE}, 0, false},
    {"shuffle, deflate", {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}, 0, false},
    {"fletcher32", {H5Z_FILTER_FLETCHER32}, 0, false},
    {"shuffle, deflate, fletcher32", {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32}, 0, false},
    {"scaleoffset", {H5Z_FILTER_SCALEOFFSET}, 0, false},
    {"nbit", {H5Z_FILTER_NBIT}, 0, false},
    {"szip", {H5Z_FILTER_SZIP}, 0, false},
    {"deflate, skipped in places", {H5Z_FILTER_DEFLATE}, 1, false},
    {"shuffle, deflate, both skipped in places", {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}, 3, false},
    {"deflate, not of edges", {H5Z_FILTER_DEFLATE}, 0, true},
};
const size_t plain_filters_n = sizeof plain_filters / sizeof *plain_filters;

const struct plain_fill plain_fills[] = {
    {"written", 0, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_DEFAULT, 8},
    {"half", 0, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_DEFAULT, 4},
    {"half, a value", 1, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_DEFAULT, 4},
    {"nothing", 0, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_DEFAULT, 0},
    {"nothing, a value", 1, H5D_FILL_TIME_ALLOC, H5D_ALLOC_TIME_LATE, 0},
    {"half, never filled", 1, H5D_FILL_TIME_NEVER, H5D_ALLOC_TIME_LATE, 4},
    {"nothing, never filled", 1, H5D_FILL_TIME_NEVER, H5D_ALLOC_TIME_LATE, 0},
    {"half, undefined", -1, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_LATE, 4},
    {"nothing, undefined", -1, H5D_FILL_TIME_IFSET, H5D_ALLOC_TIME_LATE, 0},
    {"half, early", 1, H5D_FILL_TIME_ALLOC, H5D_ALLOC_TIME_EARLY, 4},
    {"half, early, unfilled", 0, H5D_FILL_TIME_NEVER, H5D_ALLOC_TIME_EARLY, 4},
};
const size_t plain_fills_n = sizeof plain_fills / sizeof *plain_fills;

static herr_t set_filter(hid_t dcpl, int id)
{
    switch (id) {
    case H5Z_FILTER_DEFLATE: return H5Pset_deflate(dcpl, 3);
    case H5Z_FILTER_SHUFFLE: return H5Pset_shuffle(dcpl);
    case H5Z_FILTER_FLETCHER32: return H5Pset_fletcher32(dcpl);
    case H5Z_FILTER_SCALEOFFSET: return H5Pset_scaleoffset(dcpl, H5Z_SO_INT, 0);
    case H5Z_FILTER_NBIT: return H5Pset_nbit(dcpl);
    case H5Z_FILTER_SZIP: return H5Pset_szip(dcpl, H5_SZIP_NN_OPTION_MASK, 4);
    default: return H5Pset_filter(dcpl, id, H5Z_FLAG_OPTIONAL, 0, NULL);
    }
}

static hid_t list_of(hid_t type, const struct plain_form *f, const struct plain_filters *filters, const struct plain_fill *fill)
{
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    unsigned char value[256];
    memset(value, 0x5a, sizeof value);
    if (f->chunk[0] == 1)
        must_do(H5Pset_layout(dcpl, H5D_COMPACT), "compact");
    else if (f->chunk[0])
        must_do(H5Pset_chunk(dcpl, (int)f->rank, f->chunk), "chunk");
    for (int i = 0; filters && i < 3 && filters->ids[i]; i++)
        must_do(set_filter(dcpl, filters->ids[i]), filters->name);
    if (filters && filters->unfiltered_edges)
        must_do(H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), "options");
    if (fill->value && H5Tdetect_class(type, H5T_VLEN) <= 0)
        must_do(H5Pset_fill_value(dcpl, type, fill->value > 0 ? value : NULL), "fill value");
    must_do(H5Pset_fill_time(dcpl, fill->when), "fill time");
    must_do(H5Pset_alloc_time(dcpl, f->chunk[0] == 1 ? H5D_ALLOC_TIME_DEFAULT : fill->alloc), "time of allocation");
    return dcpl;
}

static void write_numbers(hid_t d, const hsize_t *dims, unsigned rank, hsize_t rows)
{
    hsize_t start[3] = {0}, count[3] = {rows, rank > 1 ? dims[1] : 1, rank > 2 ? dims[2] : 1}, n = 1;
    hid_t space = must_id(H5Dget_space(d), "space");
    for (unsigned i = 0; i < rank && i < 3; i++)
        n *= count[i];
    if (rank)
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "slab");
    int *v = malloc((n + 1) * sizeof *v);
    REQUIRE(v, "memory");
    for (hsize_t i = 0; i < n; i++)
        v[i] = (int)(i * 7919 % 1013) - 300;
    hid_t mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    if (n)
        must_do(H5Dwrite(d, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v), "H5Dwrite");
    free(v);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
}

/* Every other whole chunk is stored without some of its filters. */
static void write_masked(hid_t d, hid_t type, const struct plain_form *f, unsigned mask)
{
    hsize_t at[3] = {0}, bytes = H5Tget_size(type);
    for (unsigned i = 0; i < f->rank; i++)
        bytes *= f->chunk[i];
    unsigned char *raw = malloc(bytes);
    REQUIRE(raw, "memory");
    unsigned n = 0;
    for (at[0] = 0; at[0] + f->chunk[0] <= f->dims[0]; at[0] += f->chunk[0]) {
        for (size_t i = 0; i < bytes; i++)
            raw[i] = (unsigned char)(i * 31 + n);
        if (n++ % 2 == 0)
            must_do(H5Dwrite_chunk(d, H5P_DEFAULT, mask, at, bytes, raw), "H5Dwrite_chunk");
    }
    free(raw);
}

bool plain_dataset(hid_t file, const char *name, hid_t type, const struct plain_form *f, const struct plain_filters *filters,
                   const struct plain_fill *fill)
{
    bool chunked = f->chunk[0] > 1;
    if (!chunked && filters && (filters->ids[0] || filters->unfiltered_edges))
        return false;
    hid_t dcpl = list_of(type, f, filters, fill);
    hid_t space = f->rank ? must_id(H5Screate_simple((int)f->rank, f->dims, f->max[0] ? f->max : NULL), "space")
                          : must_id(H5Screate(H5S_SCALAR), "space");
    hid_t d = must_id(H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    if (fill->written)
        write_numbers(d, f->dims, f->rank, f->rank ? (f->dims[0] * fill->written + 7) / 8 : 1);
    if (filters && filters->mask && fill->written)
        write_masked(d, type, f, filters->mask);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
    return true;
}

/* ---- the server ---- */

static struct {
    const unsigned char *p;
    size_t n;
    bool replaced;
} served;
static struct server *server;
static unsigned seen_before;
static const unsigned *waves; /* NULL: no answer waits for other requests */
static size_t n_waves;
static unsigned waves_from;

/* The files of a folder; each stays in memory. */
static struct {
    const char *folder; /* NULL: the one file has all names */
    size_t n;
    struct {
        char name[64];
        const unsigned char *p;
        size_t n;
    } files[32];
} several;

static void answer_file(const struct seen *r, struct answer *a)
{
    char path[400];
    struct stat st;
    const char *name = strrchr(r->target, '/') + 1;
    size_t i = 0;
    while (i < several.n && strcmp(several.files[i].name, name) != 0)
        i++;
    (void)snprintf(path, sizeof path, "%s/%s", several.folder, name);
    int fd = i == several.n ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && i < 32 && fstat(fd, &st) == 0) {
        (void)snprintf(several.files[i].name, sizeof several.files[i].name, "%s", name);
        several.files[i].n = (size_t)st.st_size;
        several.files[i].p = mmap(NULL, several.files[i].n, PROT_READ, MAP_PRIVATE, fd, 0);
        several.n++;
    }
    if (fd >= 0)
        (void)close(fd);
    if (i < several.n)
        answer_object(r, a, several.files[i].p, several.files[i].n, "\"e\"");
    else
        answer_error(a, 404, "NoSuchKey", "");
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static const char raw[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    (void)arg;
    for (size_t i = 0; waves && !a->until && i < n_waves; i++)
        if (r->index < waves_from + waves[i])
            a->until = waves_from + waves[i];
    if (several.folder)
        answer_file(r, a);
    else if (strstr(r->target, "refused"))
        answer_error(a, 403, "AccessDenied", "");
    else if (strstr(r->target, ".raw"))
        answer_object(r, a, raw, sizeof raw - 1, "\"raw\"");
    else if (!strstr(r->target, ".h5"))
        answer_error(a, 404, "NoSuchKey", "");
    else
        answer_object(r, a, served.p, served.n, served.replaced ? "\"later\"" : "\"e\"");
}

const char *plain_serve(const char *path)
{
    static char url[200];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    if (served.p)
        (void)munmap((void *)(uintptr_t)served.p, served.n);
    served.n = (size_t)st.st_size;
    served.p = mmap(NULL, served.n, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(served.p != MAP_FAILED, "mmap");
    served.replaced = false;
    (void)close(fd);
    if (!server)
        server = server_start(handle, NULL);
    REQUIRE(server, "server");
    (void)snprintf(url, sizeof url, "%s/file.h5", server_url(server));
    seen_before = server_count(server);
    return url;
}

const char *plain_serve_folder(const char *folder)
{
    several.folder = folder;
    if (!server)
        server = server_start(handle, NULL);
    REQUIRE(server, "server");
    return server_url(server);
}

void plain_serve_end(void) { server_stop(server); }

unsigned plain_requests(void)
{
    unsigned now = server_count(server), n = now - seen_before;
    seen_before = now;
    return n;
}

void plain_waves(const unsigned *ends, size_t n)
{
    waves_from = server_count(server);
    n_waves = n;
    waves = ends;
}

void plain_replace(bool replaced) { served.replaced = replaced; }

/* ---- reading ---- */

hid_t plain_open(const char *url, const struct bkt_settings *set)
{
    struct bkt_err err = {.n = 0};
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must_do(bkt_vfd_set(fapl, url, set, &err), "driver");
    hid_t file = H5Fopen(url, H5F_ACC_RDONLY, fapl);
    (void)H5Pclose(fapl);
    return file;
}

struct bkt_vobj *plain_handle(hid_t dset)
{
    struct bkt_vobj *o = calloc(1, sizeof *o);
    REQUIRE(o, "memory");
    o->ops = &bkt_plain_ops;
    o->type = H5I_DATASET;
    o->native_id = dset;
    return o;
}

void plain_handle_free(struct bkt_vobj *o)
{
    if (o->plain_dataset)
        o->plain_dataset_free(o->plain_dataset);
    free(o);
}

int plain_read_by(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf)
{
    struct bkt_err err = {.n = 0};
    struct bkt_io io = {.n = 1, .dsets = &o, .mem_types = &mem_type, .mem_spaces = &mem_space, .file_spaces = &file_space,
                        .dxpl = dxpl, .bufs = &buf};
    int rc = bkt_plain_ops.dataset->transfer(&io, &err);
    if (rc < 0 && getenv("SHOW_ERRORS"))
        for (unsigned i = 0; i < err.n; i++)
            (void)fprintf(stderr, "  %s\n", err.frame[i].msg);
    return rc;
}

int plain_read(size_t n, const hid_t *dsets, const hid_t *mem_types, const hid_t *mem_spaces, const hid_t *file_spaces,
               hid_t dxpl, void **bufs)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o[64];
    REQUIRE(n <= 64, "%zu datasets", n);
    for (size_t i = 0; i < n; i++)
        o[i] = plain_handle(dsets[i]);
    struct bkt_io io = {.n = n, .dsets = o, .mem_types = mem_types, .mem_spaces = mem_spaces, .file_spaces = file_spaces,
                        .dxpl = dxpl, .bufs = bufs};
    int rc = bkt_plain_ops.dataset->transfer(&io, &err);
    for (size_t i = 0; i < n; i++)
        plain_handle_free(o[i]);
    return rc;
}
