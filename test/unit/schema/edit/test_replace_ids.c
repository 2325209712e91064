/* A domain's objects under another root, and access lists that change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schema/json/acl.h"
#include "schema/json/documents.h"
#include "schema/json/replace_ids.h"

#define OLD   "1eba0da4-72913740"
#define NEW   "aaaaaaaa-bbbbbbbb"
#define ROOT  "g-" OLD "-9632-852cfa-19bfc8"
#define CHILD "-56e5-25125a-89ba79"
#define LIST_OF_TEXTS "\"type\": {\"class\": \"H5T_VLEN\", \"base\": {\"class\": \"H5T_STRING\", \"h5type\": \"AA==\"}}"

static struct bkt_replace_ids map(void)
{
    struct bkt_replace_ids r;
    assert_true(bkt_id_set(&r.from, ROOT));
    assert_true(bkt_id_set(&r.to, "g-" NEW "-2222-223333-333333"));
    return r;
}

static void becomes(const char *before, const char *after)
{
    struct bkt_replace_ids r = map();
    struct bkt_buf    out = {0};
    struct bkt_err    err = {.n = 0};
    int rc = bkt_replace_ids_in_json(&r, before, strlen(before), &out, &err);
    if (rc < 0)
        fail_msg("%s: %s", before, err.frame[0].msg);
    assert_string_equal(bkt_buf_str(&out), after);
    bkt_buf_fini(&out);
}

static void mentions_of_objects_are_changed(void **state)
{
    (void)state;
    becomes("{\"id\": \"" ROOT "\", \"root\": \"" ROOT "\"}",
            "{\"id\": \"g-" NEW "-2222-223333-333333\", \"root\": \"g-" NEW "-2222-223333-333333\"}");
    becomes("{\"links\": {\"a\": {\"id\": \"d-" OLD CHILD "\"}}}", "{\"links\": {\"a\": {\"id\": \"d-" NEW CHILD "\"}}}");
    becomes("{\"type\": {\"class\": \"H5T_COMPOUND\", \"fields\": [{\"name\": \"a\", \"type\": {\"id\": \"t-" OLD CHILD "\"}}]}}",
            "{\"type\": {\"class\": \"H5T_COMPOUND\", \"fields\": [{\"name\": \"a\", \"type\": {\"id\": \"t-" NEW CHILD "\"}}]}}");
    becomes("{\"creationProperties\": {\"layout\": {\"chunk_table\": \"d-" OLD CHILD "\"}}}",
            "{\"creationProperties\": {\"layout\": {\"chunk_table\": \"d-" NEW CHILD "\"}}}");
    becomes("{\"attributes\": {\"r\": {\"type\": {\"class\": \"H5T_REFERENCE\"}, \"value\": [[\"datasets/d-" OLD CHILD "\", \"\"]]}}}",
            "{\"attributes\": {\"r\": {\"type\": {\"class\": \"H5T_REFERENCE\"}, \"value\": [[\"datasets/d-" NEW CHILD "\", \"\"]]}}}");
    /* a region reference in a list: a text whose own type is a plain string */
    becomes("{\"attributes\": {\"r\": {" LIST_OF_TEXTS ", \"value\": [[\"{\\\"id\\\":\\\"d-" OLD CHILD "\\\"}\"]]}}}",
            "{\"attributes\": {\"r\": {" LIST_OF_TEXTS ", \"value\": [[\"{\\\"id\\\":\\\"d-" NEW CHILD "\\\"}\"]]}}}");
}

static void other_text_is_kept(void **state)
{
    static const char *const kept[] = {
        "{\"attributes\": {\"s\": {\"type\": {\"class\": \"H5T_STRING\"}, \"value\": \"d-" OLD CHILD "\"}}}",
        "{\"links\": {\"a\": {\"id\": \"d-12345678-12345678" CHILD "\"}}}", /* another domain's */
        "{\"links\": {\"d-" OLD CHILD "\": {\"h5path\": \"/d-" OLD CHILD "\"}}}",
        "{\"ours\": [1, 2.5, \"d-" OLD CHILD "\", {\"x\": NaN}], \"links\": 7, \"attributes\": [], \"type\": \"H5T_STD_I32LE\"}",
        "{\"attributes\": {\"r\": {\"type\": {\"class\": \"H5T_REFERENCE\"}, \"encoding\": \"base64\", \"value\": \"!\"}, \"b\": 5}}",
    };
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(kept); i++)
        becomes(kept[i], kept[i]);
}

static void bytes_are_changed_in_place(void **state)
{
    struct bkt_replace_ids r = map();
    char              text[] = "..d-" OLD CHILD "d-" OLD CHILD "|d-" OLD "-56e5";
    (void)state;
    assert_int_equal(bkt_replace_ids_in_bytes(&r, text, sizeof text - 1), BKT_OK);
    assert_string_equal(text, "..d-" NEW CHILD "d-" NEW CHILD "|d-" OLD "-56e5");
    assert_int_equal(bkt_replace_ids_in_bytes(&r, text, 0), BKT_OK);
}

static void version_1_becomes_version_2(void **state)
{
    struct bkt_replace_ids r = map();
    struct bkt_id     a, b;
    (void)state;
    assert_true(bkt_id_set(&r.from, "g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e"));
    assert_true(bkt_id_set(&a, "d-0568d8c5-a77e-11e4-9f7a-3c15c2da029f"));
    b = a;
    assert_int_equal(bkt_replace_ids_in_id(&r, &a), BKT_OK);
    assert_true(bkt_id_is_v2(&a) && bkt_id_kind(&a) == BKT_DATASET);
    assert_int_equal(bkt_replace_ids_in_id(&r, &b), BKT_OK);
    assert_string_equal(a.text, b.text);
    assert_int_equal(bkt_replace_ids_in_id(&r, &r.from), BKT_OK);
    assert_string_equal(r.from.text, r.to.text);
}

static void lists_change_and_the_rest_stays(void **state)
{
    static const char json[] = "{\"acls\": {\"ann\": {\"read\": true, \"domain\": \"x\"}}, \"more\": [1], \"lastModified\": 1.5}";
    const struct bkt_acl_change changes[] = {{.user = "ann", .grant = BKT_ACL_UPDATE, .revoke = BKT_ACL_READ},
                                             {.user = "bob", .grant = BKT_ACL_READ}};
    struct bkt_buf        out = {0};
    struct bkt_domain_doc doc;
    (void)state;
    assert_int_equal(bkt_acl_edit(json, strlen(json), changes, BKT_COUNT(changes), 7.25, &out, NULL), BKT_OK);
    assert_non_null(strstr(bkt_buf_str(&out), "{\"read\": false, \"domain\": \"x\", \"update\": true}"));
    assert_non_null(strstr(bkt_buf_str(&out), "\"more\": [1], \"lastModified\": 7.25"));
    assert_int_equal(bkt_domain_doc_parse(out.ptr, out.len, &doc, NULL), BKT_OK);
    assert_int_equal(bkt_domain_doc_allows(&doc, "ann"), BKT_ACL_UPDATE);
    assert_int_equal(bkt_domain_doc_allows(&doc, "bob"), BKT_ACL_READ);
    assert_int_equal(bkt_domain_doc_allows(&doc, "eve"), 0);
    bkt_domain_doc_fini(&doc);
    bkt_buf_fini(&out);
    const struct bkt_acl_change gone = {.user = "eve", .remove = true};
    assert_int_equal(bkt_acl_edit(json, strlen(json), &gone, 1, 7.25, &out, NULL), BKT_ENOENT);
    bkt_buf_fini(&out);
}

static void a_folder_inherits_its_parents_list(void **state)
{
    struct bkt_acl_entry  above[] = {{(char[]){"ted"}, BKT_ACL_READ | BKT_ACL_CREATE}, {(char[]){"nil"}, 0}, {(char[]){"default"}, BKT_ACL_ALL}};
    struct bkt_domain_doc parent  = {.acls = above, .n_acls = 3}, doc;
    struct bkt_buf        out     = {0};
    (void)state;
    assert_int_equal(bkt_folder_emit("joe", &parent, 5, &out, NULL), BKT_OK);
    assert_int_equal(bkt_domain_doc_parse(out.ptr, out.len, &doc, NULL), BKT_OK);
    assert_int_equal(doc.n_acls, 3);
    assert_string_equal(doc.owner, "joe");
    assert_int_equal(bkt_domain_doc_allows(&doc, "joe"), BKT_ACL_ALL);
    assert_int_equal(bkt_domain_doc_allows(&doc, "ted"), BKT_ACL_READ | BKT_ACL_CREATE);
    assert_int_equal(bkt_domain_doc_allows(&doc, "nil"), BKT_ACL_READ);
    bkt_domain_doc_fini(&doc);
    bkt_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mentions_of_objects_are_changed),
        cmocka_unit_test(other_text_is_kept),
        cmocka_unit_test(bytes_are_changed_in_place),
        cmocka_unit_test(version_1_becomes_version_2),
        cmocka_unit_test(lists_change_and_the_rest_stays),
        cmocka_unit_test(a_folder_inherits_its_parents_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
