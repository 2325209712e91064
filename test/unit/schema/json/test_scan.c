/* Our scanner (json_scan.h, link_scan.c) against jansson: the same tree, the same object, or an error of both, for
 * every document. */
#include "unit/schema/json/json_testing.h"
#include "unit/schema/json/scan_same.h"
#include "helpers/xorshift.h"

static uint32_t rnd(uint32_t below)
{
    static uint32_t state = 2463534242u;
    return xorshift32(&state) % below;
}

static void same_bytes_of(const char *text, size_t n)
{
    char *exact = malloc(n ? n : 1); /* of exactly this size, so that a sanitizer notices any access outside */
    if (!exact)
        abort();
    memcpy(exact, text, n);
    const char *what = ways_differ(exact, n);
    CHECK(!what, "%s: %.*s", what, (int)n, text);
    free(exact);
}

static bool takes(const char *text)
{
    struct bkt_links links = {0};
    struct bkt_aside aside = {"links", bkt_links_scan, &links, false};
    json_t          *j     = NULL;
    int              rc    = bkt_json_document(text, strlen(text), &aside, &j, NULL);
    json_decref(j);
    bkt_links_fini(&links);
    return rc == BKT_OK;
}

/* ---- tokens and their places ---- */

static const char *const values[] = {
    "0", "-0", "1", "-1", "007", "1.", ".5", "1.5", "-0.0", "1e5", "1E+5", "1e-400", "1e400", "-1e400", "1e", "1e+", "0x10", "1763800000.1234567",
    "123456789012345678", "1234567890123456789", "-12345678901234567", "-123456789012345678", "9223372036854775807", "18446744073709551616",
    "123456789012345678901234567890", "00000000000000000001", "NaN", "Infinity", "-Infinity", "nan", "NaNx", "-NaN", "true", "false", "null", "True", "nul",
    "truex", "true1", "[]", "[ ]", "{}", "{ }", "[1, 2]", "[1, 2,]", "[1 2]", "[,]", "{'a': 1}", "{'a': 1,}", "{'a' 1}", "{a: 1}", "{'a': 1, 'a': 2}",
    "[[[[[[]]]]]]", "'x'", "''", "'\\u0001'", "'\\u0001x'", "'x\\u0001'", "'\\u0000'", "'a\\u0000b'", "'\\u0001\\u0001'", "'\x01'", "'\x1f'", "'\x7f'",
    "'\n'", "'\\n\\t\\r\\b\\f\\/\\\\'", "'\\x'", "'\\'", "'\\u12'", "'\\u00e9'", "'\\uFFFF'", "'\\ud83d\\ude00'", "'\\ude00\\ud83d'", "'\\ud83d'",
    "'\\ud83dx'", "'\\ud83d\\u0041'", "'\\ud83d\\ud83d\\ude00'", "'\\udce9'", "'\\udcc3\\udca9'", "'\\udbff\\udfff'", "'\\udbff\\udfff\\udce9'",
    "'\xc3\xa9'", "'\xc3'", "'\xa9'", "'\xc0\xaf'", "'\xe2\x82\xac'", "'\xe0\x80\xaf'", "'\xed\xa0\x80'", "'\xf0\x9f\x98\x80'", "'\xf4\x8f\xbf\xbf'",
    "'\xf4\x8f\xbf\xbf\xc3\xa9'", "'\xf4\x90\x80\x80'", "'\xf8\x88\x80\x80\x80'", "'\xff'", "'12345678'", "'1234567\x01'", "'1234567\\\\'",
    "'1234567\xc3\xa9'", "'a long text, of more than eight characters, with a \\u00e9 in it'",
};
static const char *const links[] = {
    "{'id': '" DSET_ID "', 'class': 'H5L_TYPE_HARD', 'created': 1763800000.1234567}", "{'id': '" DSET_ID "'}", "{'id': 'datasets/" DSET_ID "'}",
    "{'id': '" DSET_ID "', 'created': 5}", "{'created': 3, 'id': '" V1_ID "'}", "{'id': 'x'}", "{'id': ''}", "{'id': null}", "{'id': 5}",
    "{'class': 'H5L_TYPE_HARD'}", "{'class': 'H5L_TYPE_HARD', 'h5path': '/a'}", "{'class': 'H5L_TYPE_HARD', 'id': '" DSET_ID "', 'h5path': '/a'}",
    "{'class': 'H5L_TYPE_SOFT', 'h5path': '/a/b'}", "{'h5path': '../c'}", "{'h5path': '/\\u00e9'}", "{'h5path': '/\xc3\xa9'}", "{'h5path': 'a\\u0000b'}",
    "{'h5path': 5}", "{'class': 'H5L_TYPE_SOFT'}", "{'class': 'H5L_TYPE_SOFT', 'h5path': '/a', 'h5domain': '/x'}", "{'h5path': '/a', 'h5domain': '/x'}",
    "{'h5path': '/a', 'file': 'f', 'h5domain': '/x'}", "{'h5path': '/a', 'domain': '/x'}", "{'h5path': '/a', 'file': null}",
    "{'h5path': '/a', 'file': null, 'domain': 'd'}", "{'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a', 'file': 'f'}",
    "{'class': 'H5L_TYPE_EXTERNAL', 'h5path': '/a'}", "{'class': 'H5L_TYPE_EXTERNAL', 'file': 'f'}", "{'class': 'H5L_TYPE_USER_DEFINED', 'id': '" DSET_ID "'}",
    "{'class': 'H5L_TYPE_OTHER'}", "{'class': 5, 'id': '" DSET_ID "'}", "{'class': null, 'id': '" DSET_ID "'}", "{}", "{ }", "[]", "5", "'x'", "null",
    "{'id': '" DSET_ID "', 'charSet': 'H5T_CSET_UTF8'}", "{'id': '" DSET_ID "', 'charSet': 'H5T_CSET_ASCII'}", "{'id': '" DSET_ID "', 'h5order': 7}",
    "{'id': '" DSET_ID "', 'h5order': -1}", "{'id': '" DSET_ID "', 'h5order': 2.0}", "{'id': '" DSET_ID "', 'h5order': 2.5}",
    "{'id': '" DSET_ID "', 'h5order': 3000000000}", "{'id': '" DSET_ID "', 'h5order': 2147483647}", "{'id': '" DSET_ID "', 'h5order': '3'}",
    "{'id': '" DSET_ID "', 'created': 'x'}", "{'id': '" DSET_ID "', 'created': NaN}", "{'id': '" DSET_ID "', 'created': 1e400}",
    "{'id': '" DSET_ID "', 'created': -1}", "{'id': '" DSET_ID "', 'id': '" V1_ID "'}", "{'id': '" DSET_ID "', 'more': [1, {'a': 2}]}",
    "{'id': '" DSET_ID "', 'i\\u0064': '" V1_ID "'}", "{'i\\u0064': '" V1_ID "'}", "{'id': '" DSET_ID "',}", "{'id': '" DSET_ID "'", "{'id' '" DSET_ID "'}",
    "{'id': '\\u0064" "-b03b24ef-69f244b6-56e5-25125a-89ba79'}", "{'id': '" DSET_ID "', 'created': 12345678901234567890}",
};
static const char *const names[] = {
    "a", "b", "c", "d000001", "d000002", "", "a name", "\\u0061", "\\u00e9", "\xc3\xa9", "\\udce9", "\\udcc3\\udca9", "\\ud800", "\\u0001", "\\u0001x",
    "x\\u0001", "\\u0000", "a\\u0000", "\\\\", "\\\"", "\x01", "\xff", "\xf4\x8f\xbf\xbf", "\\udbff\\udfff", "\xf0\x9f\x98\x80", "\\ud83d\\ude00",
};
static const char *const spaces[] = {"", "", "", " ", "  ", "\n", "\t\r\n ", "\v", "\xc2\xa0"};
#define ANY(table) (table)[rnd(BKT_COUNT(table))]
/* mostly right ones */
static const char *space(void) { return rnd(12) ? spaces[rnd(4)] : ANY(spaces); }

static void add(struct bkt_buf *out, const char *text)
{
    char *json = json_of(text);
    if (bkt_buf_add_str(out, json) < 0)
        abort();
    free(json);
}

static void add_members(struct bkt_buf *out, const char *const *table, size_t n)
{
    add(out, "{");
    for (uint32_t i = 0, count = rnd(8); i < count; i++) {
        add(out, i && rnd(60) ? "," : "");
        add(out, space());
        add(out, "'");
        add(out, rnd(3) ? names[rnd(5)] : ANY(names));
        add(out, rnd(80) ? "'" : "");
        add(out, space());
        add(out, rnd(80) ? ":" : "");
        add(out, space());
        add(out, rnd(2) ? table[rnd(6)] : table[rnd((uint32_t)n)]);
        add(out, space());
    }
    add(out, rnd(60) ? "}" : "");
}

static void made_documents(void)
{
    unsigned fast = 0;
    for (unsigned i = 0; i < 4000; i++) {
        struct bkt_buf doc = {0};
        add(&doc, space());
        add(&doc, "{'id': '" ROOT_ID "', 'links': ");
        add_members(&doc, links, BKT_COUNT(links));
        add(&doc, ", 'attributes': {}");
        if (!rnd(4)) {
            add(&doc, ", 'h5links': {'a': {'type': 65}, 'u': {'type': 70, 'data': 'AAEC'}}");
        } else if (!rnd(3)) {
            add(&doc, ", 'more': ");
            add_members(&doc, values, BKT_COUNT(values));
        }
        add(&doc, rnd(100) ? "" : ", 'links': {}");
        add(&doc, rnd(100) ? "}" : "");
        add(&doc, rnd(100) ? space() : ANY(values));
        fast += takes(bkt_buf_str(&doc));
        same_bytes_of(bkt_buf_str(&doc), doc.len);
        bkt_buf_fini(&doc);
    }
    CHECK(fast > 700 && fast < 3900, "%u of 4000 by the scanner", fast); /* both sides are seen */
}

/* Each alone, so that no other one hides it. */
static void one_at_a_time(void)
{
    for (size_t i = 0; i < BKT_COUNT(values) + BKT_COUNT(links) + BKT_COUNT(names); i++) {
        size_t         k   = i < BKT_COUNT(values) ? 0 : i < BKT_COUNT(values) + BKT_COUNT(links) ? 1 : 2;
        struct bkt_buf doc = {0};
        add(&doc, "{'id': '" ROOT_ID "', 'links': {'");
        add(&doc, k == 2 ? names[i - BKT_COUNT(values) - BKT_COUNT(links)] : "n");
        add(&doc, "': ");
        add(&doc, k == 1 ? links[i - BKT_COUNT(values)] : links[0]);
        add(&doc, "}, 'x': ");
        add(&doc, k == 0 ? values[i] : "1");
        add(&doc, "}");
        same_bytes_of(bkt_buf_str(&doc), doc.len);
        for (size_t cut = i % 5; cut < doc.len; cut += 5)
            same_bytes_of(bkt_buf_str(&doc), cut);
        bkt_buf_fini(&doc);
    }
}

static void documents_are_taken(void)
{
    static const struct {
        const char *doc;
        bool        fast;
    } docs[] = {
        {"{}", true},
        {" {'links': {'a': {'id': '" DSET_ID "'}, '\\u00e9': {'h5path': '/\\u00e9', 'more': [NaN]}}} ", true},
        {"{'a': [1, 2.5, -Infinity, 12345678901234567890, 'x', null, true, {'b': {}}]}", true},
        {"{'links': null}", false},
        {"{'links': {}, 'links': {}}", false},
        {"{'a': '\\u0000'}", true},
        {"{'a': 1e999}", true},
        {"{'\\u0000': 1}", false},
        {"[]", false},
        {"", false},
        {"{} x", false},
    };
    for (size_t i = 0; i < BKT_COUNT(docs); i++) {
        char *json = json_of(docs[i].doc);
        CHECK(takes(json) == docs[i].fast, "%s", json);
        same_bytes_of(json, strlen(json));
        free(json);
    }
}

/* The message has the place and the fault. */
static void faults_are_named(void)
{
    static const struct {
        const char *doc, *says;
    } docs[] = {
        {"", "the object is empty"},
        {"[]", "not a JSON object"},
        {"[1,", "not JSON at byte 3 of 3: the end is missing"},
        {"5", "not JSON at byte 0 of 1: expected '{'"},
        {"{} x", "not JSON at byte 3 of 4: text after the end"},
        {"{'a': tru}", "not JSON at byte 6 of 10: not a value"},
        {"{'a': 01}", "not JSON at byte 6 of 9: not a value"},
        {"{'a': 1", "not JSON at byte 6 of 7: not a value"},
        {"{'a' 1}", "not JSON at byte 5 of 7: expected ':' after a name"},
        {"{'a': 1 'b'}", "not JSON at byte 8 of 12: expected ','"},
        {"{'a': 'x", "not JSON at byte 8 of 8: a string without end"},
        {"{'a': '\\x'}", "not JSON at byte 7 of 11: an unknown escape"},
        {"{'a': '\n'}", "a control character in a string"},
        {"{'a': '\xff'}", "a byte that is not UTF-8"},
        {"{'\\u0000': 1}", "a name with a NUL"},
    };
    for (size_t i = 0; i < BKT_COUNT(docs); i++) {
        struct bkt_err e    = {.n = 0};
        json_t        *j    = NULL;
        char          *json = json_of(docs[i].doc);
        CHECK(bkt_json_load(json, strlen(json), &j, &e) == BKT_EFORMAT && strstr(e.frame[0].msg, docs[i].says), "%s: %s", json, e.frame[0].msg);
        free(json);
    }
}

static void depths(void)
{
    for (unsigned depth = 100; depth < 2100; depth += 170) {
        struct bkt_buf doc = {0};
        add(&doc, "{'id': '" ROOT_ID "', 'links': {'a': {'id': '" DSET_ID "', 'x': ");
        for (unsigned i = 0; i < depth; i++)
            add(&doc, "[");
        for (unsigned i = 0; i < depth; i++)
            add(&doc, "]");
        add(&doc, "}}}");
        same_bytes_of(bkt_buf_str(&doc), doc.len);
        bkt_buf_fini(&doc);
    }
}

/* In any sequence of names and times, with two of one name now and then. */
static void many_links(void)
{
    for (unsigned round = 0; round < 8; round++) {
        struct bkt_buf doc = {0};
        add(&doc, "{'id': '" ROOT_ID "', 'links': {");
        for (unsigned i = 0; i < 2000; i++) {
            unsigned name = round % 4 == 0 ? i : round % 4 == 1 ? 1999 - i : round % 4 == 2 ? i * 7919 % 2000 : rnd(100000);
            if (bkt_buf_addf(&doc, "%s\"d%u\": {\"id\": \"" DSET_ID "\", \"created\": %u.%u}", i ? "," : "", name, round % 2 ? rnd(1000) : i, rnd(100)) < 0)
                abort();
        }
        add(&doc, "}}");
        CHECK(takes(bkt_buf_str(&doc)), "round %u", round);
        same_bytes_of(bkt_buf_str(&doc), doc.len);
        bkt_buf_fini(&doc);
    }
}

int main(void)
{
    documents_are_taken();
    one_at_a_time();
    faults_are_named();
    depths();
    many_links();
    made_documents();
    return failures != 0;
}
