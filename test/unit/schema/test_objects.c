/* Groups, datasets and domains: links and their order, creation properties, layouts, filters, ACLs, broken
 * JSON. */
#include "check.h"
#include "value.h"

static struct bkt_object *must(const char *id, const char *body)
{
    int rc;
    struct bkt_err err = {.n = 0};
    struct bkt_object *o = object_of(id, body, &rc, &err);
    CHECK(o, "%s: %d %s", body, rc, err.n ? err.frame[0].msg : "");
    if (!o)
        exit(1);
    return o;
}

/* ---- links ---- */

static const struct {
    const char *name;
    enum bkt_link_class cls;
    const char *id, *path, *file;
} links[] = {
    {"broken", BKT_L_OTHER, "", NULL, NULL},         {"classless", BKT_L_HARD, DSET_ID, NULL, NULL},
    {"custom", BKT_L_OTHER, "", NULL, NULL},         {"e09", BKT_L_EXTERNAL, "", "/a", "/home/x.h5"},
    {"e10", BKT_L_EXTERNAL, "", "/a", "x.h5"},       {"espec", BKT_L_EXTERNAL, "", "/a", "y.h5"},
    {"hard", BKT_L_HARD, DSET_ID, NULL, NULL},       {"nofile", BKT_L_OTHER, "", "/a", NULL},
    {"nothing", BKT_L_OTHER, "", NULL, NULL},        {"soft", BKT_L_SOFT, "", "../g/x", NULL},
    {"\303\251\351", BKT_L_HARD, V1_ID, NULL, NULL},
};

static void every_form_of_a_link_is_read(void)
{
    struct bkt_object *o = must(
        ROOT_ID,
        "'attributes': {}, 'links': {"
        "'soft': {'class': 'H5L_TYPE_SOFT', 'h5path': '../g/x', 'created': 5},"
        "'hard': {'class': 'H5L_TYPE_HARD', 'id': '" DSET_ID "', 'created': 5},"
        "'e09': {'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a', 'h5domain': '/home/x.h5', 'created': 1.25},"
        "'e10': {'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a', 'file': 'x.h5', 'h5domain': 'old', 'created': "
        "9},"
        "'espec': {'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a', 'domain': 'y.h5'},"
        "'classless': {'id': '" DSET_ID "'},"
        "'\\u00e9\\udce9': {'class': 'H5L_TYPE_HARD', 'id': '" V1_ID "', 'created': 'never'},"
        "'broken': {'class': 'H5L_TYPE_HARD', 'id': '../../etc'},"
        "'nofile': {'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a'},"
        "'custom': {'class': 'H5L_TYPE_USER_DEFINED'},"
        "'nothing': 7}");
    const struct bkt_links *l = &o->group.links;
    CHECK(l->n == BKT_COUNT(links), "%zu links", l->n);
    for (size_t i = 0; i < l->n && i < BKT_COUNT(links); i++) {
        const struct bkt_link *k = &l->v[i];
        CHECK(strcmp(k->name, links[i].name) == 0 && k->cls == links[i].cls, "%zu: %s, class %d", i, k->name,
              (int)k->cls);
        CHECK(strcmp(k->id.text, links[i].id) == 0, "%s: %s", k->name, k->id.text);
        CHECK(!links[i].path || (k->path && strcmp(k->path, links[i].path) == 0), "%s: path", k->name);
        CHECK(!links[i].file || (k->file && strcmp(k->file, links[i].file) == 0), "%s: file", k->name);
        CHECK(bkt_links_find(l, k->name) == k, "%s is found by name", k->name);
    }
    CHECK(!bkt_links_find(l, "zzz") && !bkt_links_find(l, "") && !bkt_links_find(l, "har"), "no such links");
    /* by time, equal times as they stand in the JSON */
    static const char *const order[] = {"espec",   "classless", "\303\251\351", "broken", "nofile", "custom",
                                        "nothing", "e09",       "soft",         "hard",   "e10"};
    for (size_t i = 0; i < l->n && i < BKT_COUNT(order); i++)
        CHECK(strcmp(l->v[l->order[i]].name, order[i]) == 0, "place %zu: %s, want %s", i,
              l->v[l->order[i]].name, order[i]);
    bkt_object_free(o);
}

static void groups_may_lack_what_is_required(void)
{
    struct bkt_object *o = must(ROOT_ID, "'x': 1");
    CHECK(o->kind == BKT_GROUP && o->group.links.n == 0 && o->attrs.n == 0, "empty");
    CHECK(o->created == 1.5 && o->modified == 2 && strcmp(o->root.text, ROOT_ID) == 0, "times and root");
    CHECK(o->track_order == 0 && o->track_times == -1 && o->attr_max_compact == -1, "nothing given");
    bkt_object_free(o);
}

static void the_last_of_duplicate_keys_wins(void)
{
    struct bkt_object *o =
        must(ROOT_ID, "'links': {}, 'links': {'a': {'h5path': 'x'}, 'a': {'h5path': 'y'}}");
    CHECK(o->group.links.n == 1 && strcmp(o->group.links.v[0].path, "y") == 0, "as in Python");
    bkt_object_free(o);
}

/* ---- creation properties ---- */

static void creation_properties_come_in_two_shapes(void)
{
    struct bkt_object *o = must(ROOT_ID, "'creationProperties': {'CreateOrder': 1}");
    CHECK(o->track_order == 3 && o->attr_track_order == 3 && o->cpl.len == 0, "h5pyd: links and attributes");
    bkt_object_free(o);
    o = must(ROOT_ID, "'creationProperties': 'AAEC/w=='");
    char *hex = hex_of(&o->cpl);
    CHECK(strcmp(hex, "000102ff") == 0 && o->track_order == 0, "REST VOL: %s", hex);
    free(hex);
    bkt_object_free(o);
    o = must(
        ROOT_ID,
        "'creationProperties': {'attributeCreationOrder': 'H5P_CRT_ORDER_TRACKED', 'trackTimes': 'false',"
        "'attributePhaseChange': {'maxCompact': 0, 'minDense': 0}}");
    CHECK(o->track_order == 0 && o->attr_track_order == 1 && o->track_times == 0, "tracked");
    CHECK(o->attr_max_compact == 0 && o->attr_min_dense == 0, "phase change");
    bkt_object_free(o);
    o = must(ROOT_ID,
             "'creationProperties': {'attributeCreationOrder': 'H5P_CRT_ORDER_INDEXED', 'trackTimes': true}");
    CHECK(o->attr_track_order == 3 && o->track_times == 1, "indexed means tracked, too");
    bkt_object_free(o);
}

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
     D("'shape': {'class': 'H5S_SIMPLE', 'dims': [9, 9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': "
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

/* ---- documents ---- */

static const struct {
    const char *what, *json;
} broken[] = {
    {"empty", ""},
    {"no object", "[]"},
    {"a word", "true"},
    {"cut", "{'id': '" ROOT_ID "'"},
    {"two documents", "{} {}"},
    {"no id", "{'links': {}}"},
    {"bad id", "{'id': 'g-1'}"},
    {"another id", "{'id': '" V1_ID "'}"},
    {"links that are none", "{'id': '" ROOT_ID "', 'links': []}"},
    {"attributes that are none", "{'id': '" ROOT_ID "', 'attributes': 5}"},
    {"an attribute without type",
     "{'id': '" ROOT_ID "', 'attributes': {'a': {'shape': {'class': 'H5S_SCALAR'}}}}"},
    {"properties that are none", "{'id': '" ROOT_ID "', 'creationProperties': [1]}"},
    {"properties that are not base64", "{'id': '" ROOT_ID "', 'creationProperties': '***'}"},
    {"invalid UTF-8", "{'id': '" ROOT_ID "', 'x': '\xff'}"},
    {"a NUL in a name", "{'id': '" ROOT_ID "', 'links': {'a\\u0000b': {}}}"},
    {"unknown token", "{'id': '" ROOT_ID "', 'x': nan}"},
    {"escape at the end", "{'x\\"},
    {"surrogate at the end", "{'x\\ud8"},
    {"token at the end", "NaN"},
    {"digits at the end", "{'x': 12345678901234567890123"},
};

static void broken_documents_are_errors(void)
{
    struct bkt_id expect;
    CHECK(bkt_id_set(&expect, ROOT_ID), "id");
    for (size_t i = 0; i < BKT_COUNT(broken); i++) {
        struct bkt_object *o = NULL;
        struct bkt_err err = {.n = 0};
        char *json = json_of(broken[i].json);
        size_t n = strlen(json);
        char *exact = malloc(n + 1); /* n bytes and no more, for sanitizers; malloc(0) may be NULL */
        memcpy(exact, json, n);
        char *fit = n ? realloc(exact, n) : exact;
        int rc = bkt_object_parse(fit, n, &expect, &o, &err);
        CHECK(rc == BKT_EFORMAT && !o && err.n && err.frame[0].msg[0], "%s: %d", broken[i].what, rc);
        bkt_object_free(o);
        free(fit);
        free(json);
    }
}

static void depth_is_bounded(void)
{
    size_t n = 1000000;
    char *deep = malloc(n);
    memset(deep, '[', n);
    memcpy(deep, "{\"a\":", 5);
    struct bkt_object *o = NULL;
    CHECK(bkt_object_parse(deep, n, NULL, &o, NULL) == BKT_EFORMAT, "a million brackets");
    free(deep);
}

static void domains_are_read_and_folders_told_apart(void)
{
    struct bkt_domain_doc d;
    static const char text[] =
        "{'root': '" ROOT_ID
        "', 'owner': 'admin', 'acls': {'admin': {'create': true, 'read': true, 'update': true,"
        "'delete': true, 'readACL': true, 'updateACL': true}, 'joe': {'create': false, 'read': true, "
        "'domain': 'b/x.h5'},"
        "'default': {}, 'odd': 5}, 'created': 1795205648.09, 'lastModified': 1795205648}";
    char *json = json_of(text);
    CHECK(bkt_domain_doc_parse(json, strlen(json), &d, NULL) == BKT_OK, "parse");
    free(json);
    CHECK(strcmp(d.root.text, ROOT_ID) == 0 && strcmp(d.owner, "admin") == 0 && d.created == 1795205648.09,
          "keys");
    CHECK(d.n_acls == 4 && d.acls[0].allow == 63 && d.acls[1].allow == BKT_ACL_READ && d.acls[2].allow == 0,
          "acls");
    bkt_domain_doc_fini(&d);
    CHECK(bkt_domain_doc_parse("{\"owner\": \"a\", \"acls\": {}}", 26, &d, NULL) == BKT_OK &&
              d.root.text[0] == 0,
          "a folder");
    bkt_domain_doc_fini(&d);
    static const char *const bad[] = {"{'root': 'x'}", "{'root': 5}", "{'root': '" DSET_ID "'}",
                                      "{'acls': []}", "{'owner': 5}"};
    for (size_t i = 0; i < BKT_COUNT(bad); i++) {
        json = json_of(bad[i]);
        CHECK(bkt_domain_doc_parse(json, strlen(json), &d, NULL) == BKT_EFORMAT, "%s", bad[i]);
        free(json);
    }
}

static void stored_elements_are_walked_within_bounds(void)
{
    static const unsigned char data[] = {2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 9, 0, 0, 0, 'x'};
    struct bkt_type str = {.cls = BKT_T_STRING, .is_var = true, .var_string = true};
    struct bkt_rd r = bkt_rd_of(data, sizeof data);
    CHECK(bkt_value_skip(&str, &r, NULL) == BKT_OK && bkt_rd_left(&r) == 9, "ab");
    CHECK(bkt_value_skip(&str, &r, NULL) == BKT_OK && bkt_rd_left(&r) == 5, "empty");
    CHECK(bkt_value_skip(&str, &r, NULL) == BKT_EFORMAT, "nine bytes are not there");
    struct bkt_type huge = {.cls = BKT_T_ARRAY, .is_var = true, .base = &str, .n_elems = UINT64_MAX};
    r = bkt_rd_of(data, sizeof data);
    CHECK(bkt_value_skip(&huge, &r, NULL) == BKT_EFORMAT, "an array without end");
}

static const struct {
    const char *text;
    int want;
    enum bkt_region kind;
    unsigned rank;
    size_t n;
    uint64_t last;
} regions[] = {
    {"", BKT_OK, BKT_REGION_NULL, 0, 0, 0},
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_ALL'}", BKT_OK, BKT_REGION_ALL, 0, 0, 0},
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_POINTS', 'selection': [[1, 2], [3, 4]]}", BKT_OK,
     BKT_REGION_POINTS, 2, 2, 4},
    {"{'id': 'datasets/" DSET_ID "', 'select_type': 'H5S_SEL_POINTS', 'selection': [1, 9]}", BKT_OK,
     BKT_REGION_POINTS, 1, 2, 9},
    {"{'id': '" DSET_ID
     "', 'select_type': 'H5S_SEL_HYPERSLABS', 'selection': [[[0, 0], [1, 2]], [[5, 5], [5, 6]]]}",
     BKT_OK, BKT_REGION_BLOCKS, 2, 2, 6},
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_HYPERSLABS', 'selection': [[[0, 0]]]}", BKT_EFORMAT, 0, 0,
     0, 0},
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_POINTS', 'selection': [[1, 2], [3]]}", BKT_EFORMAT, 0, 0,
     0, 0},
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_POINTS'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'id': '" ROOT_ID "', 'select_type': 'H5S_SEL_ALL'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'id': '" DSET_ID "'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'file': 'b.h5', 'name': '/d', 'shape': [6, 8], 'select_type': 'H5S_SEL_POINTS', 'selection': [[1, 2], [3, 4]]}", BKT_OK,
     BKT_REGION_POINTS, 2, 2, 4},
    {"{'file': 'b.h5', 'name': '/d'}", BKT_OK, BKT_REGION_OBJECT, 0, 0, 0},
    {"{'file': 'b.h5', 'name': '/d', 'attr': 'a'}", BKT_OK, BKT_REGION_ATTR, 0, 0, 0},
    {"{'file': 'b.h5'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'file': 7, 'name': '/d'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'name': '/d'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'file': 'b.h5', 'name': '/d', 'shape': [-1], 'select_type': 'H5S_SEL_ALL'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"{'file': 'b.h5', 'name': '/d', 'select_type': 'H5S_SEL_ALL'}", BKT_EFORMAT, 0, 0, 0, 0},
    {"garbage", BKT_EFORMAT, 0, 0, 0, 0},
};

/* What is read of these is written as it was. */
static const char *const outside[] = {
    "{'file':'b.h5','name':'/d'}",
    "{'file':'b.h5','name':'/d','attr':'\\u00e4'}",
    "{'file':'\\u00e4 \\udc80.h5','name':'/a \\\\ b'}",
    "{'file':'b.h5','name':'/d','shape':[6,8],'select_type':'H5S_SEL_HYPERSLABS','selection':[[[1,2],[3,5]]]}",
    "{'file':'b.h5','name':'/d','shape':[],'select_type':'H5S_SEL_ALL'}",
};

static void references_into_other_files_are_written_as_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(outside); i++) {
        struct bkt_regref r;
        struct bkt_buf    out  = {0};
        char             *json = json_of(outside[i]);
        CHECK(bkt_regref_parse(json, strlen(json), &r, NULL) == BKT_OK && r.file, "%s", outside[i]);
        CHECK(bkt_regref_emit(&r, &out, NULL) == BKT_OK && strcmp(bkt_buf_str(&out), json) == 0, "%s: %s", json, bkt_buf_str(&out));
        bkt_regref_fini(&r);
        bkt_buf_fini(&out);
        free(json);
    }
}

static void regions_are_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(regions); i++) {
        struct bkt_regref r;
        char stored[256] = {0};
        char *json = json_of(regions[i].text);
        memcpy(stored, json, strlen(json));
        free(json);
        int rc = bkt_regref_parse(stored, sizeof stored, &r, NULL);
        CHECK(rc == regions[i].want, "%s: %d", regions[i].text, rc);
        if (rc != BKT_OK)
            continue;
        size_t n = r.n * r.rank * (r.kind == BKT_REGION_BLOCKS ? 2 : 1);
        CHECK(r.kind == regions[i].kind && r.rank == regions[i].rank && r.n == regions[i].n,
              "%s: rank %u, %zu", regions[i].text, r.rank, r.n);
        CHECK(n == 0 || r.coords[n - 1] == regions[i].last, "%s", regions[i].text);
        bkt_regref_fini(&r);
    }
}

int main(void)
{
    every_form_of_a_link_is_read();
    references_into_other_files_are_written_as_read();
    groups_may_lack_what_is_required();
    the_last_of_duplicate_keys_wins();
    creation_properties_come_in_two_shapes();
    every_layout_is_read();
    chunk_references_are_found_by_coordinate();
    a_reference_to_another_type_spoils_the_data_only();
    every_spelling_of_a_filter_is_read();
    broken_documents_are_errors();
    depth_is_bounded();
    domains_are_read_and_folders_told_apart();
    stored_elements_are_walked_within_bounds();
    regions_are_read();
    return failures != 0;
}
