/* Groups, datasets and domains: links and their order, creation properties, ACLs, broken
 * JSON. */
#include "schema/json/documents.h"
#include "schema/json/reference_text.h"
#include "unit/schema/json/object_testing.h"

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
    /* by time; equal times in the order of the JSON */
    static const char *const order[] = {"espec",   "classless", "\303\251\351", "broken", "nofile", "custom",
                                        "nothing", "e09",       "soft",         "hard",   "e10"};
    for (size_t i = 0; i < l->n && i < BKT_COUNT(order); i++)
        CHECK(strcmp(l->v[l->order[i]].name, order[i]) == 0, "place %zu: %s, want %s", i,
              l->v[l->order[i]].name, order[i]);
    bkt_object_free(o);
}

/* Programs take the value of a soft link, or of an external one, for text that ends. */
static void user_defined_links_are_of_their_kinds(void)
{
    static const struct {
        const char *type;
        bool        user;
    } cases[] = {{"0", false}, {"1", false}, {"63", false}, {"64", true}, {"255", true}, {"256", false}, {"-1", false}, {"'1'", false}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char body[120];
        (void)snprintf(body, sizeof body, "'links': {}, 'h5links': {'u': {'type': %s, 'data': 'QUJD'}}", cases[i].type);
        struct bkt_object *o = must(ROOT_ID, body);
        CHECK(o->group.links.n == 1 && o->group.links.v[0].cls == (cases[i].user ? BKT_L_USER : BKT_L_OTHER), "type %s", cases[i].type);
        bkt_object_free(o);
    }
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

static void domains_and_folders_are_distinguished(void)
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
    CHECK(bkt_value_skip(&str, &r, BKT_VAR_NULL, NULL) == BKT_OK && bkt_rd_left(&r) == 9, "ab");
    CHECK(bkt_value_skip(&str, &r, BKT_VAR_NULL, NULL) == BKT_OK && bkt_rd_left(&r) == 5, "empty");
    CHECK(bkt_value_skip(&str, &r, BKT_VAR_NULL, NULL) == BKT_EFORMAT, "nine bytes are not there");
    struct bkt_type huge = {.cls = BKT_T_ARRAY, .is_var = true, .base = &str, .n_elems = UINT64_MAX};
    r = bkt_rd_of(data, sizeof data);
    CHECK(bkt_value_skip(&huge, &r, BKT_VAR_NULL, NULL) == BKT_EFORMAT, "an array without end");
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
    {"{'id': '" DSET_ID "', 'select_type': 'H5S_SEL_HYPERSLABS', 'selection': [[[0, 5], [1, 2]]]}", BKT_EFORMAT, 0, 0,
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

/* Values read from these are written as they were. */
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
    user_defined_links_are_of_their_kinds();
    references_into_other_files_are_written_as_read();
    groups_may_lack_what_is_required();
    the_last_of_duplicate_keys_wins();
    creation_properties_come_in_two_shapes();
    broken_documents_are_errors();
    depth_is_bounded();
    domains_and_folders_are_distinguished();
    stored_elements_are_walked_within_bounds();
    regions_are_read();
    return failures != 0;
}
