/* HDF5 files behind a web server, read by libhdf5 through the driver.  For each form of HDF5's metadata, the
 * result equals that of native HDF5 on the file on disk.  A walk takes few round trips and bytes, and so does
 * a single object. */
#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "http/helpers/server.h"
#include "vol/vfd/foresight.h"
#include "vol/vfd/store_driver.h"
#include "vol/vfd/store_driver_ahead.h"

static char dir[] = "/tmp/bkt-foresight-XXXXXX";
static struct {
    const unsigned char *p;
    size_t n;
} served;

/* ---- files ---- */

struct form {
    const char *name;
    H5F_libver_t low, high;
    unsigned sizes;                   /* bytes of offsets and lengths; 0: 8 */
    hsize_t user_block, page;         /* 0: absent */
    unsigned leaf_k, node_k, chunk_k; /* 0: HDF5's defaults */
    bool by_order;                    /* links and attributes have an order, too */
};

static const struct form forms[] = {
    {.name = "earliest", .low = H5F_LIBVER_EARLIEST, .high = H5F_LIBVER_LATEST},
    {.name = "1.8", .low = H5F_LIBVER_V18, .high = H5F_LIBVER_V18},
    {.name = "latest", .low = H5F_LIBVER_LATEST, .high = H5F_LIBVER_LATEST},
    {.name = "sizes of 4 bytes", .low = H5F_LIBVER_EARLIEST, .high = H5F_LIBVER_LATEST, .sizes = 4},
    {.name = "sizes of 4 bytes, latest", .low = H5F_LIBVER_LATEST, .high = H5F_LIBVER_LATEST, .sizes = 4},
    {.name = "user block", .low = H5F_LIBVER_EARLIEST, .high = H5F_LIBVER_LATEST, .user_block = 2048},
    {.name = "user block, latest", .low = H5F_LIBVER_LATEST, .high = H5F_LIBVER_LATEST, .user_block = 512},
    {.name = "small trees",
     .low = H5F_LIBVER_EARLIEST,
     .high = H5F_LIBVER_LATEST,
     .leaf_k = 1,
     .node_k = 2,
     .chunk_k = 2},
    {.name = "pages", .low = H5F_LIBVER_LATEST, .high = H5F_LIBVER_LATEST, .page = 16384},
    {.name = "by order", .low = H5F_LIBVER_LATEST, .high = H5F_LIBVER_LATEST, .by_order = true},
};

static const char *path_of(const char *name)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void must(herr_t rc, const char *what)
{
    if (rc < 0) {
        (void)printf("%s failed\n", what);
        exit(1);
    }
}

static hid_t id(hid_t rc, const char *what)
{
    must(rc < 0 ? -1 : 0, what);
    return rc;
}

static hid_t file_new(const char *path, const struct form *f)
{
    hid_t fapl = id(H5Pcreate(H5P_FILE_ACCESS), "list"), fcpl = id(H5Pcreate(H5P_FILE_CREATE), "list");
    must(H5Pset_libver_bounds(fapl, f->low, f->high), "bounds");
    must(H5Pset_vol(fapl, H5VL_NATIVE, NULL), "native");
    if (f->sizes)
        must(H5Pset_sizes(fcpl, f->sizes, f->sizes), "sizes");
    if (f->user_block)
        must(H5Pset_userblock(fcpl, f->user_block), "user block");
    if (f->leaf_k)
        must(H5Pset_sym_k(fcpl, f->node_k, f->leaf_k), "sym_k");
    if (f->chunk_k)
        must(H5Pset_istore_k(fcpl, f->chunk_k), "istore_k");
    if (f->page) {
        must(H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, 0, 1), "pages");
        must(H5Pset_file_space_page_size(fcpl, f->page), "page size");
    }
    if (f->by_order) {
        must(H5Pset_link_creation_order(fcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "order");
        must(H5Pset_attr_creation_order(fcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "order");
    }
    hid_t file = id(H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl), "H5Fcreate");
    (void)H5Pclose(fapl);
    (void)H5Pclose(fcpl);
    return file;
}

static hid_t group_new(hid_t at, const char *name, bool by_order)
{
    hid_t gcpl = id(H5Pcreate(H5P_GROUP_CREATE), "list");
    if (by_order)
        must(H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "order");
    hid_t g = id(H5Gcreate2(at, name, H5P_DEFAULT, gcpl, H5P_DEFAULT), "H5Gcreate");
    (void)H5Pclose(gcpl);
    return g;
}

static void attribute(hid_t at, const char *name, hid_t type, const void *value)
{
    hid_t space = id(H5Screate(H5S_SCALAR), "space");
    hid_t a = id(H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT), name);
    must(H5Awrite(a, type, value), "H5Awrite");
    (void)H5Aclose(a);
    (void)H5Sclose(space);
}

/* @p max_first: H5S_UNLIMITED for an extensible array; with two for a version 2 B-tree.  @p cut: elements of
 * a chunk in each dimension; 0: contiguous. */
static void dataset(hid_t at, const char *name, hid_t type, hsize_t n, hsize_t cut, unsigned endless,
                    bool filtered)
{
    hsize_t dims[2] = {n, n}, chunk[2] = {cut, cut};
    hsize_t max[2] = {endless > 0 ? H5S_UNLIMITED : n, endless > 1 ? H5S_UNLIMITED : n};
    hid_t space = id(H5Screate_simple(2, dims, cut ? max : dims), "space"),
          dcpl = id(H5Pcreate(H5P_DATASET_CREATE), "list");
    if (cut)
        must(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    if (filtered)
        must(H5Pset_fletcher32(dcpl), "fletcher32");
    hid_t d = id(H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    int *v = malloc(n * n * sizeof *v);
    for (hsize_t i = 0; v && i < n * n; i++)
        v[i] = (int)(i * 7 + n);
    must(v ? H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) : -1, "H5Dwrite");
    free(v);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

/* All kinds of structures: large and small groups, links of each kind, indexes of each kind, and attributes.
 * The attributes are inside and outside of headers, of variable length, and of committed types. */
static void write_zoo(const char *path, const struct form *f)
{
    hid_t file = file_new(path, f), text = id(H5Tcopy(H5T_C_S1), "type"),
          type = id(H5Tcopy(H5T_STD_I32BE), "type");
    const char *words = "a text of variable length";
    int number = 4711;
    must(H5Tset_size(text, H5T_VARIABLE), "type");
    must(H5Tcommit2(file, "committed", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Tcommit");
    for (int g = 0; g < 6; g++) {
        char name[32];
        (void)snprintf(name, sizeof name, "group %d", g);
        hid_t group = group_new(file, name, f->by_order);
        for (int i = 0; i < (g == 5 ? 300 : 3 + 5 * g); i++) {
            (void)snprintf(name, sizeof name, "member %03d", i);
            hid_t m = group_new(group, name, f->by_order);
            for (int a = 0; a < (i == 1 ? 20 : 1); a++) {
                (void)snprintf(name, sizeof name, "attribute %d", a);
                attribute(m, name, H5T_NATIVE_INT, &number);
            }
            attribute(m, "words", text, &words);
            attribute(m, "typed", type, &number);
            (void)H5Gclose(m);
        }
        must(H5Lcreate_soft("/group 0/member 001", group, "soft", H5P_DEFAULT, H5P_DEFAULT), "soft link");
        must(H5Lcreate_external("elsewhere.h5", "/x", group, "external", H5P_DEFAULT, H5P_DEFAULT),
             "external link");
        (void)H5Gclose(group);
    }
    /* HDF5 cannot read back unlimited dimensions that it wrote in 4 bytes */
    for (unsigned endless = 0; endless < (f->sizes ? 1 : 3); endless++)
        for (int filtered = 0; filtered < 2; filtered++) {
            char name[32];
            (void)snprintf(name, sizeof name, "chunks %u %d", endless, filtered);
            dataset(file, name, type, 120, 3, endless, filtered);
        }
    dataset(file, "one chunk", H5T_NATIVE_INT, 10, 10, 0, false);
    dataset(file, "contiguous", type, 50, 0, 0, false);
    (void)H5Tclose(text);
    (void)H5Tclose(type);
    must(H5Fclose(file), "H5Fclose");
}

/* Groups x datasets, written in turn, so that their headers lie far from each other.  The data are holes. */
static void write_scattered(const char *path, H5F_libver_t low, int n_groups, int n_datasets, hsize_t bytes)
{
    struct form f = {.low = low, .high = H5F_LIBVER_LATEST};
    hid_t file = file_new(path, &f), dcpl = id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hsize_t n = bytes, chunk = bytes / 2;
    hid_t space = id(H5Screate_simple(1, &n, NULL), "space"), groups[32];
    must(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    must(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY), "early");
    must(H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER), "no fill");
    char name[32];
    for (int g = 0; g < n_groups; g++) {
        (void)snprintf(name, sizeof name, "g%02d", g);
        groups[g] = group_new(file, name, false);
    }
    for (int d = 0; d < n_datasets; d++)
        for (int g = 0; g < n_groups; g++) {
            (void)snprintf(name, sizeof name, "d%05d", d);
            hid_t id_ = id(
                H5Dcreate2(groups[g], name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
            (void)H5Dclose(id_);
        }
    for (int g = 0; g < n_groups; g++)
        (void)H5Gclose(groups[g]);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    must(H5Fclose(file), "H5Fclose");
}

/* ---- the server ---- */

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, served.p, served.n, "\"e\"");
}

static void serve(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && fstat(fd, &st) == 0 ? 0 : -1, path);
    if (served.p)
        (void)munmap((void *)(uintptr_t)served.p, served.n);
    served.n = (size_t)st.st_size;
    served.p = mmap(NULL, served.n, PROT_READ, MAP_PRIVATE, fd, 0);
    must(served.p == MAP_FAILED ? -1 : 0, "mmap");
    (void)close(fd);
}

/* ---- reading ---- */

struct sum {
    uint64_t objects, hash;
    bool data; /* values, too */
};

static void mix(struct sum *s, const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        s->hash = (s->hash ^ c[i]) * UINT64_C(0x100000001b3);
}

static herr_t add_attribute(hid_t at, const char *name, const H5A_info_t *info, void *arg)
{
    struct sum *s = arg;
    int number = 0;
    char *words = NULL;
    (void)info;
    hid_t a = id(H5Aopen(at, name, H5P_DEFAULT), name), t = id(H5Aget_type(a), "type");
    mix(s, name, strlen(name));
    if (H5Tis_variable_str(t) > 0) {
        must(H5Aread(a, t, &words), "H5Aread");
        mix(s, words, strlen(words));
        (void)H5free_memory(words);
    } else {
        must(H5Aread(a, H5T_NATIVE_INT, &number), "H5Aread");
        mix(s, &number, sizeof number);
    }
    (void)H5Tclose(t);
    (void)H5Aclose(a);
    return 0;
}

static void add_values(struct sum *s, hid_t d)
{
    hid_t space = id(H5Dget_space(d), "space");
    hssize_t n = H5Sget_simple_extent_npoints(space);
    int *v = malloc((size_t)n * sizeof *v);
    must(v ? H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) : -1, "H5Dread");
    mix(s, v, (size_t)n * sizeof *v);
    free(v);
    (void)H5Sclose(space);
}

static herr_t add(hid_t at, const char *name, const H5O_info2_t *info, void *arg)
{
    struct sum *s = arg;
    s->objects++;
    mix(s, name, strlen(name));
    mix(s, &info->num_attrs, sizeof info->num_attrs);
    mix(s, &info->rc, sizeof info->rc);
    if (!s->data)
        return 0;
    hid_t o = id(H5Oopen(at, name, H5P_DEFAULT), name);
    hsize_t i = 0;
    must(H5Aiterate2(o, H5_INDEX_NAME, H5_ITER_INC, &i, add_attribute, s), "H5Aiterate");
    if (info->type == H5O_TYPE_DATASET)
        add_values(s, o);
    (void)H5Oclose(o);
    return 0;
}

static struct sum walk(const char *name, const struct bkt_settings *set, bool data)
{
    struct sum s = {.hash = 1, .data = data};
    struct bkt_err err = {0};
    hid_t fapl = id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must(set ? bkt_vfd_set(fapl, name, set, &err) : H5Pset_vol(fapl, H5VL_NATIVE, NULL), "driver");
    hid_t file = id(H5Fopen(name, H5F_ACC_RDONLY, fapl), name);
    must(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, add, &s, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS),
         "H5Ovisit");
    must(H5Fclose(file), "H5Fclose");
    (void)H5Pclose(fapl);
    return s;
}

/* Open one object by its path. */
static void open_one(const char *name, const struct bkt_settings *set, const char *path)
{
    struct bkt_err err = {0};
    hid_t fapl = id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must(bkt_vfd_set(fapl, name, set, &err), "driver");
    hid_t file = id(H5Fopen(name, H5F_ACC_RDONLY, fapl), name);
    hid_t d = id(H5Dopen2(file, path, H5P_DEFAULT), path);
    (void)H5Dclose(d);
    must(H5Fclose(file), "H5Fclose");
    (void)H5Pclose(fapl);
}

/* ---- tests ---- */

/* The cost of one open file.  Its first bytes are fetched when it is opened. */
struct cost {
    unsigned round_trips, requests;
    double mib;
};

/* The order of answers differs from run to run, so the limits have room.  ROS3 takes a round trip for each
 * request. */
static struct cost cost_since(const struct bkt_fore_counts *from)
{
    struct bkt_fore_counts now = bkt_foresight_counts();
    return (struct cost){1 + (unsigned)(now.round_trips - from->round_trips),
                         1 + (unsigned)(now.requests - from->requests),
                         (double)(BKT_VFD_FIRST + now.bytes - from->bytes) / 1048576};
}

/* Objects, attributes and values are the same, and nearly all structures were foreseen. */
static void test_forms(struct server *s, const struct bkt_settings *set)
{
    char url[200];
    (void)snprintf(url, sizeof url, "%s/zoo.h5", server_url(s));
    for (size_t i = 0; i < BKT_COUNT(forms); i++) {
        const char *path = path_of("zoo.h5");
        write_zoo(path, &forms[i]);
        serve(path);
        struct sum native = walk(path, NULL, true);
        struct bkt_fore_counts before = bkt_foresight_counts();
        struct sum ours = walk(url, set, true);
        struct bkt_fore_counts after = bkt_foresight_counts();
        CHECK(native.objects == ours.objects && native.hash == ours.hash, "%s: %llu objects, native %llu",
              forms[i].name, (unsigned long long)ours.objects, (unsigned long long)native.objects);
        unsigned known = (unsigned)(after.known - before.known),
                 unknown = (unsigned)(after.unknown - before.unknown);
        CHECK(known > 300 && unknown * 50 <= known, "%s: %u structures were foreseen, %u were not",
              forms[i].name, known, unknown);
    }
}

/* Groups of datasets, and the most that a walk over all and the opening of one may cost. */
struct shape {
    const char *name;
    H5F_libver_t low;
    int groups, datasets;
    hsize_t bytes; /* of a dataset */
    const char *one;
    struct cost all_most, one_most;
};

#define NO_LIMIT UINT32_MAX
#define OLD      H5F_LIBVER_EARLIEST
#define NEW      H5F_LIBVER_LATEST
static const struct shape shapes[] = {
    {"old format", OLD, 20, 50, 262144, "/g07/d00031", {32, NO_LIMIT, 16}, {8, 16, 1.5}},
    {"latest format", NEW, 20, 50, 262144, "/g07/d00031", {32, NO_LIMIT, 16}, {8, 16, 1.5}},
    {"old format, one group", OLD, 1, 10000, 4096, "/g00/d02345", {40, NO_LIMIT, 64}, {8, 16, 2}},
    {"latest format, one group", NEW, 1, 10000, 4096, "/g00/d02345", {40, NO_LIMIT, 64}, {8, 16, 2}},
};

static void check_cost(const struct shape *s, const char *what, struct cost c, const struct cost *most)
{
    CHECK(c.round_trips <= most->round_trips && c.requests <= most->requests && c.mib <= most->mib,
          "%s, %s: %u round trips, %u requests, %.2f MiB", s->name, what, c.round_trips, c.requests, c.mib);
}

static void test_shape(struct server *server, const struct bkt_settings *set, const struct shape *s)
{
    char url[200];
    unsigned objects = 1 + (unsigned)s->groups * (1 + (unsigned)s->datasets);
    write_scattered(path_of("scattered.h5"), s->low, s->groups, s->datasets, s->bytes);
    serve(path_of("scattered.h5"));
    (void)snprintf(url, sizeof url, "%s/scattered.h5", server_url(server));
    struct bkt_fore_counts from = bkt_foresight_counts();
    struct sum all = walk(url, set, false);
    CHECK(all.objects == objects, "%s: %llu objects", s->name, (unsigned long long)all.objects);
    check_cost(s, "all", cost_since(&from), &s->all_most);
    from = bkt_foresight_counts();
    open_one(url, set, s->one);
    check_cost(s, "one object", cost_since(&from), &s->one_most);
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {0};
    struct server *s = server_start(handle, NULL);
    if (!s || !mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    test_forms(s, &set);
    for (size_t i = 0; i < BKT_COUNT(shapes); i++)
        test_shape(s, &set, &shapes[i]);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    server_stop(s);
    (void)unlink(path_of("zoo.h5"));
    (void)unlink(path_of("scattered.h5"));
    (void)rmdir(dir);
    return failures != 0;
}
