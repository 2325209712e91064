/* Datasets' documents: every layout, its references, every spelling of a filter. */
#include "unit/schema/json/object_testing.h"
#include "schema/json/reference_text.h"

/* ---- layouts ---- */

#define D(rest) "'type': 'H5T_STD_I32LE', 'attributes': {}, " rest
static const struct {
    const char *what, *body;
    int want;
    enum bkt_layout_class cls;
    unsigned rank;
    uint64_t dims[2];
    enum bkt_layout_class user;
    unsigned user_rank;
    uint64_t user_dims[2];
} layouts[] = {
    {"both, different dims",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9, 9], 'maxdims': [0, 9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': "
       "[131072, 4]}, 'creationProperties': {'layout': {'class': 'H5D_CHUNKED', 'dims': [8, 4]}}"),
     BKT_OK,
     BKT_D_CHUNKED,
     2,
     {131072, 4},
     BKT_D_CHUNKED,
     2,
     {8, 4}},
    {"1.0: only in the properties",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'creationProperties': {'layout': {'class': "
       "'H5D_CHUNKED', 'dims': [8]}}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {8, 0},
     BKT_D_CHUNKED,
     1,
     {8, 0}},
    {"1.0: contiguous is one chunk",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9, 3]}, 'creationProperties': {'layout': {'class': "
       "'H5D_CONTIGUOUS'}}"),
     BKT_OK,
     BKT_D_CHUNKED,
     2,
     {9, 3},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"no layout at all",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9, 3]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     2,
     {9, 3},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"contiguous asked, chunked stored",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4]}, "
       "'creationProperties': {'layout': {'class': 'H5D_CONTIGUOUS'}}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {4, 0},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"nothing asked",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {4, 0},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"nothing asked, extensible",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', "
       "'dims': [4]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {4, 0},
     BKT_D_CHUNKED,
     1,
     {4, 0}},
    {"nothing asked, filtered",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4]}, "
       "'creationProperties': {'filters': [1]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {4, 0},
     BKT_D_CHUNKED,
     1,
     {4, 0}},
    {"compact",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_COMPACT'}, "
       "'creationProperties': {'layout': {'class': 'H5D_COMPACT'}}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {9, 0},
     BKT_D_COMPACT,
     0,
     {0, 0}},
    {"scalar",
     D("'shape': {'class': 'H5S_SCALAR'}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {1, 0},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"null space",
     D("'shape': {'class': 'H5S_NULL'}"),
     BKT_OK,
     BKT_D_NONE,
     1,
     {0, 0},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"extent 0",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [0]}"),
     BKT_OK,
     BKT_D_CHUNKED,
     1,
     {1, 0},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"contiguous reference",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9, 2]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4, "
       "2]}, 'creationProperties': {'layout': {'class': 'H5D_CONTIGUOUS_REF', 'file_uri': 'b/f.h5', "
       "'offset': 10, 'size': 72}}"),
     BKT_OK,
     BKT_D_CONTIGUOUS_REF,
     2,
     {9, 2},
     BKT_D_CONTIGUOUS,
     0,
     {0, 0}},
    {"reference at the top, as the specification has it",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': "
       "'b/f.h5', 'dims': [4], 'chunks': {'2': [40, 4], '0': [8, 16]}}"),
     BKT_OK,
     BKT_D_CHUNKED_REF,
     1,
     {4, 0},
     BKT_D_CHUNKED,
     1,
     {4, 0}},
    {"indirect, hyper_dims",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [8]}, "
       "'creationProperties': {'layout': {'class': 'H5D_CHUNKED_REF_INDIRECT', 'dims': [8], 'hyper_dims': "
       "[2], 'chunk_table': '" DSET_ID "'}}"),
     BKT_OK,
     BKT_D_CHUNKED_REF_INDIRECT,
     1,
     {2, 0},
     BKT_D_CHUNKED,
     1,
     {2, 0}},
    {"rank differs",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4, 4]}"),
     BKT_EFORMAT,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
    {"unknown class",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_STRANGE', 'dims': [4]}"),
     BKT_EUNSUP,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
    {"reference without file",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED_REF', 'dims': [4], "
       "'chunks': {}}"),
     BKT_EFORMAT,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
    {"bad chunk index",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': "
       "'b/f', 'dims': [4], 'chunks': {'0_1': [1, 2]}}"),
     BKT_EFORMAT,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
    {"negative offset",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': "
       "'b/f', 'dims': [4], 'chunks': {'0': [-1, 2]}}"),
     BKT_EFORMAT,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
    {"table that is a group",
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED_REF_INDIRECT', "
       "'dims': [4], 'chunk_table': '" ROOT_ID "'}"),
     BKT_EFORMAT,
     0,
     0,
     {0, 0},
     0,
     0,
     {0, 0}},
};

/* A chunk shape that would take too much memory is refused; the shapes that HSDS and we make are accepted. */
static void shapes_beyond_the_extent(void)
{
    static const struct {
        const char *body, *bad; /* bad: NULL where the shape is fine */
    } shapes[] = {
        {"'dims': [1]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4294967295]}", "no more than 1"},
        {"'dims': [1]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [2]}", NULL},
        {"'dims': [5]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [8]}", NULL},
        {"'dims': [5]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [33554432]}", "no more than 5"},
        {"'dims': [5], 'maxdims': [100]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [128]}", NULL},
        {"'dims': [5], 'maxdims': [100]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [33554432]}",
         "no more than 100"},
        {"'dims': [1], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [262144]}", NULL},
        {"'dims': [1], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1073741824]}",
         "2^32 - 1 bytes"},
        {"'dims': [1], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1073741823]}",
         "which has 1 now: more than 256 MiB"},
        {"'dims': [1], 'maxdims': [1073741823]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1073741823]}",
         "which has 1 now"},
        {"'dims': [0], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1073741823]}",
         "which has 0 now"},
        {"'dims': [536870912], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1073741823]}",
         NULL},
        {"'dims': [1], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [67108864]}", NULL},
        {"'dims': [1], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [67108865]}",
         "more than 256 MiB"},
        {"'dims': [1], 'maxdims': [0]}, 'creationProperties': {'filters': [{'class': "
         "'H5Z_FILTER_SCALEOFFSET', 'id': 6, 'name': "
         "'scaleoffset', 'scaleType': 2, 'scaleOffset': 0}]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': "
         "[268435456]}",
         NULL},
        {"'dims': [1], 'maxdims': [0]}, 'creationProperties': {'layout': {'class': 'H5D_CHUNKED_REF', "
         "'file_uri': 'b/k', 'dims': "
         "[268435456], 'chunks': {}}}",
         NULL},
        {"'dims': [1], 'maxdims': [0]}, 'creationProperties': {'layout': {'class': 'H5D_CHUNKED_REF', "
         "'file_uri': 'b/k', 'dims': "
         "[1073741823], 'chunks': {}}}",
         "more than 1024 MiB"},
        {"'dims': [0], 'maxdims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1000]}", NULL},
        {"'dims': [0]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [100]}", NULL},
        {"'dims': [4]}, 'creationProperties': {'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': 'b/k', "
         "'dims': "
         "[4294967295], 'chunks': {}}}",
         "no more than 4"},
    };
    for (size_t i = 0; i < BKT_COUNT(shapes); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf body = {0};
        struct bkt_err     err = {.n = 0};
        int                rc;
        if (bkt_buf_addf(&body, "'attributes': {}, 'type': 'H5T_STD_I32LE', 'shape': {'class': 'H5S_SIMPLE', %s", shapes[i].body) < 0)
            abort();
        struct bkt_object *o   = object_of(DSET_ID, bkt_buf_str(&body), &rc, &err);
        const char        *bad = o ? o->dset.bad : NULL;
        CHECK(o && !bad == !shapes[i].bad && (!bad || strstr(bad, shapes[i].bad)), "%s: %d, %s", shapes[i].body, rc, bad ? bad : "");
        bkt_object_free(o);
    }
}

static void every_layout_is_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(layouts); i++) {
        int rc;
        struct bkt_err err = {.n = 0};
        struct bkt_object *o = object_of(DSET_ID, layouts[i].body, &rc, &err);
        CHECK(rc == layouts[i].want, "%s: %d %s", layouts[i].what, rc, err.n ? err.frame[0].msg : "");
        if (o) {
            const struct bkt_layout *l = &o->dset.layout;
            CHECK(l->cls == layouts[i].cls && l->rank == layouts[i].rank &&
                      memcmp(l->dims, layouts[i].dims, sizeof layouts[i].dims) == 0,
                  "%s: class %d, rank %u, %" PRIu64, layouts[i].what, (int)l->cls, l->rank, l->dims[0]);
            CHECK(l->user_cls == layouts[i].user && l->user_rank == layouts[i].user_rank &&
                      memcmp(l->user_dims, layouts[i].user_dims, sizeof layouts[i].user_dims) == 0,
                  "%s: for the user %d, rank %u", layouts[i].what, (int)l->user_cls, l->user_rank);
            CHECK(!o->dset.bad, "%s: %s", layouts[i].what, o->dset.bad);
        }
        bkt_object_free(o);
    }
}

static void chunk_references_are_found_by_coordinate(void)
{
    struct bkt_object *o =
        must(DSET_ID, D("'shape': {'class': 'H5S_SIMPLE', 'dims': [90, 90]}, 'layout': {'class': "
                        "'H5D_CHUNKED_REF', 'file_uri': 'b/f.h5', 'dims': [4, 4],"
                        "'chunks': {'10_2': [40, 4], '0_0': [8, 16], '2_10': [99, 0], '2_9': [7, 1]}}"));
    static const struct {
        uint64_t coord[2], off;
        bool there;
    } want[] = {{{10, 2}, 40, true}, {{0, 0}, 8, true},   {{2, 10}, 99, true},
                {{2, 2}, 0, false},  {{10, 3}, 0, false}, {{0, 1}, 0, false}};
    for (size_t i = 0; i < BKT_COUNT(want); i++) {
        const struct bkt_chunk_ref *c = bkt_layout_find_chunk(&o->dset.layout, want[i].coord);
        CHECK((c != NULL) == want[i].there && (!c || c->offset == want[i].off), "%" PRIu64 "_%" PRIu64,
              want[i].coord[0], want[i].coord[1]);
    }
    bkt_object_free(o);
}

static void a_reference_to_another_type_spoils_the_data_only(void)
{
    struct bkt_object *o =
        must(DSET_ID, D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'creationProperties': {'layout': "
                        "{'class': 'H5D_CONTIGUOUS_REF', 'file_uri': 'b/f.h5', 'offset': 10, 'size': 72}}"));
    CHECK(o->dset.bad && strstr(o->dset.bad, "72"), "9 elements of 4 bytes are not 72");
    bkt_object_free(o);
}

/* ---- filters ---- */

static const struct {
    const char *json;
    int id;
    const char *name;
    int level;
} filters[] = {
    {"{'class': 'H5Z_FILTER_DEFLATE', 'id': 1, 'level': 9, 'name': 'gzip'}", 1, "gzip", 9},
    {"{'class': 'H5Z_FILTER_DEFLATE', 'level': 0}", 1, "gzip", 0},
    {"{'class': 'H5Z_FILTER_USER', 'name': 'lz4', 'level': 3, 'id': 32004}", 32004, "lz4", 3},
    {"{'class': 'H5Z_FILTER_USER', 'name': 'zstd'}", 32015, "zstd", -1},
    {"{'class': 'H5Z_FILTER_USER', 'name': 'mine'}", -1, "mine", -1},
    {"{'class': 'H5Z_FILTER_USER', 'id': 32013, 'name': 'zfp'}", 32013, "zfp", -1},
    {"'gzip'", 1, "gzip", -1},
    {"'H5Z_FILTER_SHUFFLE'", 2, "shuffle", -1},
    {"3", 3, "fletcher32", -1},
    {"'LZF'", 32000, "lzf", -1},
};

static void every_spelling_of_a_filter_is_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(filters); i++) {
        char *body = NULL;
        if (asprintf(&body,
                     "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SCALAR'}, 'creationProperties': "
                     "{'filters': [%s]}",
                     filters[i].json) < 0)
            abort();
        struct bkt_object *o = must(DSET_ID, body);
        const struct bkt_filter_desc *f = o->dset.filters;
        CHECK(o->dset.n_filters == 1 && f->id == filters[i].id && strcmp(f->name, filters[i].name) == 0,
              "%s: %d %s", filters[i].json, f->id, f->name);
        CHECK(f->has_level == (filters[i].level >= 0) &&
                  (!f->has_level || f->level == (unsigned)filters[i].level),
              "%s: level %u", filters[i].json, f->level);
        bkt_object_free(o);
        free(body);
    }
    struct bkt_object *o =
        must(DSET_ID,
             "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SCALAR'}, 'creationProperties': {'filters': ["
             "{'class': 'H5Z_FILTER_SZIP', 'id': 4, 'bitsPerPixel': 8, 'coding': 'H5_SZIP_NN_OPTION_MASK', "
             "'pixelsPerBlock': 16, 'pixelsPerScanline': 32},"
             "{'class': 'H5Z_FILTER_SCALEOFFSET', 'id': 6, 'scaleType': 'H5Z_SO_INT', 'scaleOffset': 4, "
             "'name': 'scaleoffset'},"
             "{'class': 'H5Z_FILTER_USER', 'id': 32001, 'parameters': [2, 2, 4294967295]}],"
             "'fillTime': 'H5D_FILL_TIME_NEVER', 'allocTime': 'H5D_ALLOC_TIME_INCR',"
             "'initializer': ['arange', '--start=5', '--step=-0.5']}");
    const struct bkt_filter_desc *f = o->dset.filters;
    CHECK(f[0].bits_per_pixel == 8 && f[0].coding == 32 && f[0].pixels_per_block == 16 &&
              f[0].pixels_per_scanline == 32,
          "szip");
    CHECK(f[1].scale_type == 2 && f[1].scale_offset == 4 && f[1].n_cd == 0, "scaleoffset");
    CHECK(f[2].n_cd == 3 && f[2].cd[2] == 4294967295U && strcmp(f[2].name, "blosc") == 0, "parameters");
    CHECK(o->dset.fill_time == 1 && o->dset.alloc_time == 3, "times");
    CHECK(o->dset.init == BKT_INIT_ARANGE && o->dset.arange_start == 5 && o->dset.arange_step == -0.5,
          "arange");
    bkt_object_free(o);
    o = must(DSET_ID, "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SCALAR'}, 'creationProperties': "
                      "{'initializer': ['chunklocator', '--h5path=/d']}");
    CHECK(o->dset.init == BKT_INIT_CHUNKLOCATOR &&
              strcmp(o->dset.init_text, "chunklocator --h5path=/d") == 0 && o->dset.fill_time == -1,
          "chunklocator");
    bkt_object_free(o);
}

int main(void)
{
    every_layout_is_read();
    shapes_beyond_the_extent();
    chunk_references_are_found_by_coordinate();
    a_reference_to_another_type_spoils_the_data_only();
    every_spelling_of_a_filter_is_read();
    return failures != 0;
}
