/* Emitted JSON parses to the same object, and has the form that HSDS 0.9 reads. */
#include "base/bytes.h"
#include "helpers/comma_locale.h"
#include "helpers/xorshift.h"
#include "schema/domain/domain.h"
#include "schema/jansson/json.h"
#include "schema/json/documents.h"
#include "schema/json/reference_text.h"
#include "schema/json/schema_json.h"
#include "unit/schema/json/json_testing.h"
#include "unit/schema/json/model_equal.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

/* H5Tencode of a compound of 8 bytes: "a", a big-endian integer of 4, and "b", 3 opaque bytes with tag "t" */
#define PADDED \
    "AwAWAgAACAAAAGEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQCQAABAAAAAAAIABiAAAAAA" \
    "AAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFQgAAAMAAAB0AAAAAAAAAA=="

static size_t n_objects, n_docs;

/* emit(parse(json)) parses to the same; the text comes back, to be freed. */
static char *round_trip(const char *what, const void *json, size_t n)
{
    struct bkt_object *a = NULL, *b = NULL;
    struct bkt_buf     text = {0};
    struct bkt_err     err  = {.n = 0};
    int                rc   = bkt_object_parse(json, n, NULL, &a, &err);
    if (rc == BKT_OK)
        rc = bkt_object_emit(a, &text, &err);
    if (rc == BKT_OK)
        rc = bkt_object_parse(text.ptr, text.len, NULL, &b, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", what, rc, err.n ? err.frame[0].msg : "");
    const char *differs = rc == BKT_OK ? object_differs(a, b) : NULL;
    CHECK(!differs, "%s: %s\n%.2000s\n%s", what, differs, (const char *)json, bkt_buf_str(&text));
    bkt_object_release(a);
    bkt_object_release(b);
    if (!text.ptr)
        return strdup("");
    return bkt_buf_steal(&text);
}

static char *emitted(const char *id, const char *body)
{
    char *text = NULL;
    if (asprintf(&text, "{'id': '%s', 'root': '" ROOT_ID "', 'created': 1.5, 'lastModified': 2, %s}", id, body) < 0)
        abort();
    char *json = json_of(text), *out = round_trip(body, json, strlen(json));
    free(json);
    free(text);
    return out;
}

/* Bodies, and words that must stand in the emitted text. */
static const struct {
    const char *id, *body, *says;
} form_cases[] = {
    {ROOT_ID, "'links': {}, 'attributes': {}", "'created': 1.5, 'lastModified': 2.0, 'links': {}, 'attributes': {}}"},
    {ROOT_ID, "'links': {'h': {'class': 'H5L_TYPE_HARD', 'id': '" DSET_ID "', 'created': 3.25}}, 'attributes': {}",
     "{'h': {'id': '" DSET_ID "', 'class': 'H5L_TYPE_HARD', 'created': 3.25}}"},
    {ROOT_ID, "'links': {'s': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x/\\u00e9', 'created': 3}}, 'attributes': {}",
     "'h5path': '/x/\\u00e9', 'class': 'H5L_TYPE_SOFT', 'created': 3.0"},
    {ROOT_ID, "'links': {'e': {'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a', 'file': '/o.h5', 'created': 3}}, 'attributes': {}",
     "'h5domain': '/o.h5'"},
    {ROOT_ID, "'links': {}, 'h5links': {'u': {'type': 187, 'data': 'AAEC', 'created': 5}}, 'attributes': {}",
     "'h5links': {'u': {'type': 187, 'data': 'AAEC', 'created': 5.0}}"},
    {ROOT_ID, "'links': {}, 'attributes': {}, 'creationProperties': {'CreateOrder': 1}", "'CreateOrder': 1"},
    {ROOT_ID, "'links': {}, 'attributes': {}, 'h5comment': 'c\\udcff', 'h5refcount': 3", "'h5comment': 'c\\udcff', 'h5refcount': 3"},
    {ROOT_ID, "'links': {}, 'attributes': {'\\ud83d\\ude00': {'type': 'H5T_STD_U64BE', 'shape': {'class': 'H5S_SCALAR'}, "
              "'value': 18446744073709551615, 'created': 1}}",
     "'\\ud83d\\ude00': {'type': {'class': 'H5T_INTEGER', 'base': 'H5T_STD_U64BE'}, 'shape': {'class': 'H5S_SCALAR'}, "
     "'value': 18446744073709551615, 'created': 1.0}"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F32LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4]}, "
              "'value': [NaN, -Infinity, 0.10000000149011612, -0.0], 'created': 1}}",
     "'value': [NaN, -Infinity, 0.10000000149011612, -0.0]"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F16LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [3]}, "
              "'value': [65504.0, 6e-08, 1.5], 'created': 1}}",
     "[65504.0, 5.9604644775390625e-08, 1.5]"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F64LE', 'shape': {'class': 'H5S_NULL'}, 'value': null, 'created': 1}}",
     "'shape': {'class': 'H5S_NULL'}, 'value': null"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F64LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [2, 0, 3]}, "
              "'value': [[], []], 'created': 1}}",
     "'value': [[], []]"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F64LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': "
              "[4611686018427387904, 0]}, 'value': [], 'created': 1}}",
     "'value': []"},
    /* a NaN's payload survives */
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': 'H5T_IEEE_F32LE', 'shape': {'class': 'H5S_SCALAR'}, "
              "'encoding': 'base64', 'value': 'AQDAfw==', 'created': 1}}",
     "'value': 'AQDAfw==', 'encoding': 'base64'"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': {'class': 'H5T_STRING', 'length': 4, 'strPad': 'H5T_STR_NULLPAD'}, "
              "'shape': {'class': 'H5S_SIMPLE', 'dims': [2]}, 'value': ['ab', '\\udcff'], 'created': 1}}",
     "'value': 'YWIAAP8AAAA=', 'encoding': 'base64'"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': {'class': 'H5T_VLEN', 'base': 'H5T_STD_I16'}, "
              "'shape': {'class': 'H5S_SCALAR'}, 'value': [1, -2], 'created': 1, 'charSet': 'H5T_CSET_UTF8'}}",
     "'value': [1, -2], 'charSet': 'H5T_CSET_UTF8'"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': {'class': 'H5T_ENUM', 'base': {'class': 'H5T_INTEGER', 'base': "
              "'H5T_STD_I8LE'}, 'mapping': {'FALSE': 0, 'TRUE': 1}}, 'shape': {'class': 'H5S_SCALAR'}, 'value': true, 'created': 1}}",
     "'mapping': {'FALSE': 0, 'TRUE': 1}}, 'shape': {'class': 'H5S_SCALAR'}, 'value': 1"},
    {ROOT_ID, "'links': {}, 'attributes': {'n': {'type': {'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_OBJ'}, "
              "'shape': {'class': 'H5S_SIMPLE', 'dims': [2]}, 'value': ['datasets/" DSET_ID "', ''], 'created': 1}}",
     "'value': ['datasets/" DSET_ID "', '']"},
    {DSET_ID, "'type': {'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I32BE'}, {'name': 'b', 'type': "
              "{'class': 'H5T_OPAQUE', 'size': 3, 'tag': 't'}}], 'h5type': '" PADDED "'}, 'shape': {'class': 'H5S_SIMPLE', "
              "'dims': [4, 3], 'maxdims': ['H5S_UNLIMITED', 3]}, 'attributes': {}, 'layout': {'class': 'H5D_CHUNKED', 'dims': "
              "[2, 3], 'chunk_encoding': 'hdf5'}",
     "'h5type': '" PADDED "'}, 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 3], 'maxdims': [0, 3]}"},
    {DSET_ID, "'type': 'H5T_STD_I32LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [0, 3], 'maxdims': [null, 0]}, 'attributes': {}",
     "'maxdims': [null, 0]"},
    {DSET_ID, "'type': 'H5T_STD_I32LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'attributes': {}, 'creationProperties': "
              "{'layout': {'class': 'H5D_CHUNKED', 'dims': [3]}, 'filters': ['H5Z_FILTER_SHUFFLE', {'id': 1, 'level': 4}, "
              "{'id': 32015, 'name': 'Zstandard compression: http://x', 'parameters': [3], 'flags': 1}, 400]}",
     "[{'class': 'H5Z_FILTER_SHUFFLE', 'id': 2, 'name': 'shuffle'}, {'class': 'H5Z_FILTER_DEFLATE', 'id': 1, 'level': 4, "
     "'name': 'gzip'}, {'class': 'H5Z_FILTER_ZSTD', 'id': 32015, 'name': 'zstd', 'flags': 1, 'parameters': [3]}, "
     "{'class': 'H5Z_FILTER_USER', 'id': 400, 'name': ''}], 'layout': {'class': 'H5D_CHUNKED', 'dims': [3]}}, 'layout': "
     "{'class': 'H5D_CHUNKED', 'dims': [3]}}"},
    {DSET_ID, "'type': 'H5T_IEEE_F64LE', 'shape': {'class': 'H5S_SCALAR'}, 'attributes': {}, 'creationProperties': {'fillValue': NaN, "
              "'fillTime': 'H5D_FILL_TIME_NEVER', 'allocTime': 'H5D_ALLOC_TIME_EARLY', 'h5plist': 'AQI=', 'trackTimes': 'false'}",
     "'h5plist': 'AQI=', 'fillValue': NaN, 'fillTime': 'H5D_FILL_TIME_NEVER', 'allocTime': 'H5D_ALLOC_TIME_EARLY', "
     "'layout': {'class': 'H5D_CONTIGUOUS'}}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1]}}"},
    /* a NaN whose sign and payload JSON can't express, as base64 in the old way, and beside the form that
     * h5pyd reads */
    {DSET_ID, "'type': 'H5T_IEEE_F32BE', 'shape': {'class': 'H5S_SCALAR'}, 'attributes': {}, 'creationProperties': {'fillValue': "
              "'/8AAAQ==', 'fillValue_encoding': 'base64'}",
     "'fillValue': NaN, 'h5fill': '/8AAAQ==', 'layout': {'class': 'H5D_CONTIGUOUS'}}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1]}}"},
    {DSET_ID, "'type': 'H5T_IEEE_F32BE', 'shape': {'class': 'H5S_SCALAR'}, 'attributes': {}, 'creationProperties': {'fillValue': "
              "NaN, 'h5fill': '/8AAAQ=='}",
     "'fillValue': NaN, 'h5fill': '/8AAAQ==', 'layout': {'class': 'H5D_CONTIGUOUS'}}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1]}}"},
    /* exact bytes of another value are ignored */
    {DSET_ID, "'type': 'H5T_IEEE_F32BE', 'shape': {'class': 'H5S_SCALAR'}, 'attributes': {}, 'creationProperties': {'fillValue': "
              "1.5, 'h5fill': '/8AAAQ=='}",
     "'fillValue': 1.5, 'layout': {'class': 'H5D_CONTIGUOUS'}}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [1]}}"},
    {DSET_ID, "'type': {'class': 'H5T_ARRAY', 'dims': [2], 'base': 'H5T_STD_U8LE'}, 'shape': {'class': 'H5S_NULL'}, 'attributes': "
              "{}, 'creationProperties': {'fillValue': 'AQI=', 'fillValue_encoding': 'base64'}",
     "'fillValue': 'AQI=', 'fillValue_encoding': 'base64', 'layout': {'class': 'H5D_CONTIGUOUS'}}}"},
    {DSET_ID, "'type': 'H5T_STD_I32LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [10]}, 'attributes': {}, 'layout': {'class': "
              "'H5D_CHUNKED', 'dims': [2]}, 'creationProperties': {'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': 'b/k', "
              "'dims': [2], 'chunks': {'3': [100, 8], '0': [20, 8]}}}",
     "'chunks': {'0': [20, 8], '3': [100, 8]}}}, 'layout': {'class': 'H5D_CHUNKED_REF', 'file_uri': 'b/k', 'dims': [2], "
     "'chunks': {'0': [20, 8], '3': [100, 8]}}"},
    {TYPE_ID, "'type': {'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F64BE'}, 'attributes': {}",
     "'type': {'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F64BE'}, 'attributes': {}}"},
};

static void forms(void)
{
    for (size_t i = 0; i < BKT_COUNT(form_cases); i++) {
        char *text = emitted(form_cases[i].id, form_cases[i].body), *says = json_of(form_cases[i].says);
        CHECK(strstr(text, says), "%s\nlacks %s", text, says);
        free(text);
        free(says);
    }
}

/* ---- text and numbers ---- */

static void any_text(void)
{
    static const char *const texts[] = {"", "plain", "\x01", "\x01\x01", "\x01NaN", "\"\\\b\f\n\r\t/\x7f", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                        "\xff\xfe", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf\xc2\x80", "a\xc3", "\xed\xa0\x80", "\xc0\x80"};
    for (size_t i = 0; i < BKT_COUNT(texts); i++) {
        struct bkt_buf text = {0}, back = {0}, key = {0};
        json_t *j = json_object(), *again = NULL;
        CHECK(bkt_json_set(j, "t", bkt_json_new_str(texts[i])) == BKT_OK, "%zu", i);
        CHECK(bkt_json_set_named(j, *texts[i] ? texts[i] : "k", json_true()) == BKT_OK, "%zu", i);
        CHECK(bkt_json_dump(j, &text, NULL) == BKT_OK, "%zu", i);
        for (size_t k = 0; k < text.len; k++)
            CHECK(text.ptr[k] >= 0x20 && text.ptr[k] < 0x7f, "ASCII only: %s", bkt_buf_str(&text));
        CHECK(bkt_json_load(text.ptr, text.len, &again, NULL) == BKT_OK && json_equal(j, again), "%zu: %s", i, bkt_buf_str(&text));
        CHECK(bkt_json_text(json_object_get(again, "t"), &back) == BKT_OK && back.len == strlen(texts[i]) &&
                  memcmp(bkt_buf_str(&back), texts[i], back.len) == 0, "%zu: %s", i, bkt_buf_str(&text));
        json_t *there = NULL;
        CHECK(bkt_json_get_named(again, *texts[i] ? texts[i] : "k", &there) == BKT_OK && json_is_true(there), "%zu: key", i);
        json_decref(j);
        json_decref(again);
        bkt_buf_fini(&text);
        bkt_buf_fini(&back);
        bkt_buf_fini(&key);
    }
}

static void numbers_in_any_locale(void)
{
    static const struct {
        double      v;
        const char *text;
    } reals[] = {{0.1, "0.1"}, {1e22, "1e+22"}, {5e-324, "4.94065645841247e-324"}, {1763776800.123456, "1763776800.123456"},
                 {2, "2.0"}, {-0.0, "-0.0"}, {1.7976931348623157e308, "1.7976931348623157e+308"}, {INFINITY, "Infinity"}};
    if (!set_comma_locale())
        (void)printf("skipped: no locale with a comma can be made\n");
    for (size_t i = 0; i < BKT_COUNT(reals); i++) {
        struct bkt_buf text = {0};
        json_t *j = json_array();
        CHECK(bkt_json_push(j, bkt_json_new_real(reals[i].v)) == BKT_OK && bkt_json_dump(j, &text, NULL) == BKT_OK, "%zu", i);
        char want[64];
        (void)snprintf(want, sizeof want, "[%s]", reals[i].text);
        CHECK(strcmp(bkt_buf_str(&text), want) == 0, "%s is not %s", bkt_buf_str(&text), want);
        json_decref(j);
        bkt_buf_fini(&text);
    }
    char stamp[BKT_ETAG_MAX];
    bkt_stamp(5, 1763776800.123456, stamp); /* it is stored, and compared with a recorded one */
    CHECK(strcmp(stamp, "stamp:5-1763776800.123456") == 0, "%s", stamp);
    (void)setlocale(LC_ALL, "C");
}

/* ---- values: what JSON has comes back byte by byte, and the rest is base64 ---- */

static const char *const value_types[] = {
    "{'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F16LE'}",
    "{'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F32BE'}",
    "{'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F64LE'}",
    "{'class': 'H5T_INTEGER', 'base': 'H5T_STD_U64BE'}",
    "{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_UTF8', 'strPad': 'H5T_STR_NULLPAD', 'length': 3}",
    "{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_ASCII', 'strPad': 'H5T_STR_SPACEPAD', 'length': 3}",
    "{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_UTF8', 'strPad': 'H5T_STR_NULLTERM', 'length': "
    "'H5T_VARIABLE'}",
    "{'class': 'H5T_OPAQUE', 'size': 4}",
    "{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_OBJ'}",
    "{'class': 'H5T_ENUM', 'base': {'class': 'H5T_INTEGER', 'base': 'H5T_STD_I8LE'}, 'mapping': {'a': 1}}",
    "{'class': 'H5T_VLEN', 'size': 'H5T_VARIABLE', 'base': {'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F16LE'}}",
    "{'class': 'H5T_ARRAY', 'dims': [1, 1], 'base': {'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F16LE'}}",
    "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': {'class': 'H5T_ARRAY', 'dims': [1], 'base': "
    "'H5T_STD_I8LE'}}]}",
    "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_IEEE_F16LE'}, {'name': 'b', 'type': "
    "{'class': 'H5T_VLEN', 'size': 'H5T_VARIABLE', 'base': {'class': 'H5T_VLEN', 'size': 'H5T_VARIABLE', "
    "'base': 'H5T_STD_I8LE'}}}]}",
};

static void random_element(const struct bkt_type *t, uint32_t *seed, struct bkt_buf *out)
{
    static const char dset[] = "datasets/" DSET_ID;
    static const char *const refs[] = {dset, "", "datasets/none", TYPE_ID};
    static const unsigned char bytes[] = {0,   0,   0xff, 0x7f, 0x7e, 0x7c, 0xfc, 0x80,
                                          ' ', ' ', 1,    '"',  'a',  0xc3, 0xa9, 0xed};
    size_t count_at = out->len, n = t->size;
    if (t->cls == BKT_T_COMPOUND || t->cls == BKT_T_ARRAY) {
        for (size_t i = 0; i < (t->cls == BKT_T_ARRAY ? t->n_elems : t->n_fields); i++)
            random_element(t->cls == BKT_T_ARRAY ? t->base : t->fields[i].type, seed, out);
        return;
    }
    if (t->is_var) {
        n = xorshift32(seed) % 4;
        CHECK(bkt_buf_add(out, "\0\0\0", 4) == BKT_OK, "memory");
    }
    for (size_t i = 0; t->cls == BKT_T_VLEN && i < n; i++)
        random_element(t->base, seed, out);
    for (size_t i = 0; t->cls != BKT_T_VLEN && i < n; i++)
        CHECK(bkt_buf_add(out, bytes + xorshift32(seed) % sizeof bytes, 1) == BKT_OK, "memory");
    if (t->is_var)
        bkt_put_le(out->ptr + count_at, 4, out->len - count_at - 4);
    if (t->cls == BKT_T_OBJREF && xorshift32(seed) % 8)
        (void)strncpy((char *)out->ptr + count_at, refs[xorshift32(seed) % BKT_COUNT(refs)], n);
}

static void value_comes_back(const struct bkt_type *t, const struct bkt_space *space, uint32_t *seed,
                             size_t *n_json)
{
    struct bkt_buf value = {0}, text = {0}, back = {0};
    struct bkt_err err = {.n = 0};
    struct bkt_nulls nulls = {.n_null = 0};
    json_t *j = json_object(), *one = NULL, *again = NULL;
    bool base64 = false;
    uint64_t n;
    CHECK(bkt_space_count(space, &n, NULL) == BKT_OK, "count");
    for (uint64_t i = 0; i < n; i++)
        random_element(t, seed, &value);
    CHECK(bkt_value_emit(t, space, &value, &one, &base64, &nulls, &err) == BKT_OK, "%s", err.frame[0].msg);
    CHECK(bkt_json_set(j, "value", one) == BKT_OK && bkt_json_dump(j, &text, NULL) == BKT_OK &&
              bkt_json_load(text.ptr, text.len, &again, NULL) == BKT_OK,
          "%s", bkt_buf_str(&text));
    CHECK(bkt_value_parse(t, space, json_object_get(again, "value"), base64 ? "base64" : NULL, &back, &err) ==
                  BKT_OK &&
              back.len == value.len && memcmp(back.ptr, value.ptr, value.len) == 0,
          "%s: %s", bkt_buf_str(&text), err.n ? err.frame[0].msg : "other bytes");
    *n_json += !base64;
    json_decref(j);
    json_decref(again);
    bkt_buf_fini(&value);
    bkt_buf_fini(&text);
    bkt_buf_fini(&back);
}

static void values(void)
{
    static const struct bkt_space spaces[] = {{.cls = BKT_S_SCALAR},
                                              {.cls = BKT_S_SIMPLE, .rank = 1, .dims = {1}},
                                              {.cls = BKT_S_SIMPLE, .rank = 2, .dims = {2, 1}}};
    uint32_t seed = 7;
    for (size_t i = 0; i < BKT_COUNT(value_types); i++) {
        char *text = json_of(value_types[i]);
        json_t *j = json_loads(text, 0, NULL);
        struct bkt_type *t = NULL;
        struct bkt_err err = {.n = 0};
        size_t n_json = 0;
        CHECK(bkt_type_parse(j, &t, &err) == BKT_OK, "%s: %s", text, err.n ? err.frame[0].msg : "");
        for (unsigned k = 0; t && k < 3000; k++)
            value_comes_back(t, &spaces[k % BKT_COUNT(spaces)], &seed, &n_json);
        CHECK(n_json > 100, "%s: %zu of 3000 values have a JSON form", text, n_json);
        bkt_type_free(t);
        json_decref(j);
        free(text);
    }
}

/* ---- the sample buckets ---- */

static void doc_round_trip(const char *path, const char *p, size_t n)
{
    struct bkt_domain_doc a = {.n_acls = 0}, b = {.n_acls = 0};
    struct bkt_buf        text = {0};
    CHECK(bkt_domain_doc_parse(p, n, &a, NULL) == BKT_OK && bkt_domain_doc_emit(&a, &text, NULL) == BKT_OK &&
              bkt_domain_doc_parse(text.ptr, text.len, &b, NULL) == BKT_OK, "%s", path);
    CHECK(strcmp(a.root.text, b.root.text) == 0 && same_text(a.owner, b.owner) && a.created == b.created &&
              a.modified == b.modified && a.n_acls == b.n_acls, "%s: %s", path, bkt_buf_str(&text));
    for (size_t i = 0; i < a.n_acls && i < b.n_acls; i++)
        CHECK(strcmp(a.acls[i].user, b.acls[i].user) == 0 && a.acls[i].allow == b.acls[i].allow, "%s", path);
    bkt_domain_doc_fini(&a);
    bkt_domain_doc_fini(&b);
    bkt_buf_fini(&text);
    n_docs++;
}

static void all_below(const char *dir)
{
    DIR           *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        char       *path = NULL;
        struct stat sb;
        size_t      n;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || asprintf(&path, "%s/%s", dir, e->d_name) < 0)
            continue;
        if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode)) {
            all_below(path);
        } else if (strcmp(e->d_name, ".domain.json") == 0) {
            char *p = slurp(path, &n);
            doc_round_trip(path, p, n);
            free(p);
        } else if (strstr(e->d_name, ".group.json") || strstr(e->d_name, ".dataset.json") || strstr(e->d_name, ".datatype.json") ||
                   (strlen(e->d_name) == 44 && strchr("gdt", e->d_name[6]))) {
            char *p = slurp(path, &n);
            free(round_trip(path, p, n));
            n_objects++;
            free(p);
        }
        free(path);
    }
    if (d)
        (void)closedir(d);
}

/* HSDS 0.9 takes references from creationProperties, its next version from the top: both have the same. */
static void both_layouts_agree(void)
{
    static const char *const bodies[] = {
        "'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [9]}, 'creationProperties': {'layout': "
        "{'class': 'H5D_CONTIGUOUS_REF', 'file_uri': 'b/f.h5', 'offset': 10, 'size': 36}}",
        "'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [4]}, 'creationProperties': {'layout': "
        "{'class': 'H5D_CHUNKED_REF', 'file_uri': 'b/f.h5', 'dims': [4], 'chunks': {'0': [40, 16], '2': [8, 16]}}}",
        "'shape': {'class': 'H5S_SIMPLE', 'dims': [9]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [8]}, 'creationProperties': {'layout': "
        "{'class': 'H5D_CHUNKED_REF_INDIRECT', 'dims': [8], 'hyper_dims': [4], 'chunk_table': '" DSET_ID "'}}",
    };
    for (size_t i = 0; i < BKT_COUNT(bodies); i++) {
        char *body = NULL;
        CHECK(asprintf(&body, "'type': 'H5T_STD_I32LE', 'attributes': {}, %s", bodies[i]) > 0, "memory");
        char         *text = emitted(DSET_ID, body);
        json_t       *j    = json_loads(text, 0, NULL), *top = json_object_get(j, "layout"), *v;
        json_t       *user = json_object_get(json_object_get(j, "creationProperties"), "layout");
        const char   *key;
        CHECK(json_object_size(user) > 2 && json_is_array(json_object_get(top, "dims")), "%s", text);
        json_object_foreach (user, key, v)
            CHECK(json_equal(json_object_get(top, key), v), "%s: %s", key, text);
        json_decref(j);
        free(text);
        free(body);
    }
}

int main(void)
{
    const char *fixtures = getenv("BKT_FIXTURES");
    forms();
    both_layouts_agree();
    any_text();
    numbers_in_any_locale();
    values();
    if (fixtures)
        all_below(fixtures);
    CHECK(!fixtures || (n_objects > 200 && n_docs > 10), "%zu objects, %zu documents", n_objects, n_docs);
    printf("%zu objects, %zu documents\n", n_objects, n_docs);
    return failures ? 1 : 0;
}
