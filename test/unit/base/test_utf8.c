#include <string.h>

#include "base/text/utf8.h"
#include "helpers/cmocka_includes.h"

static void sequences_and_their_imitations_are_distinguished(void **state)
{
    static const struct {
        const char *bytes;
        size_t len; /* 0: none */
        uint32_t cp;
    } cases[] = {{"a", 1, 'a'},
                 {"\xc2\x80", 2, 0x80},
                 {"\xdf\xbf", 2, 0x7ff},
                 {"\xe0\xa0\x80", 3, 0x800},
                 {"\xef\xbf\xbf", 3, 0xffff},
                 {"\xf0\x90\x80\x80", 4, 0x10000},
                 {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
                 {"\x80", 0, 0},
                 {"\xc1\xbf", 0, 0},
                 /* too long a form */ {"\xe0\x9f\xbf", 0, 0},
                 {"\xf0\x8f\xbf\xbf", 0, 0},
                 {"\xed\xa0\x80", 0, 0},
                 /* a surrogate */ {"\xf4\x90\x80\x80", 0, 0},
                 {"\xf8\x88\x80\x80", 0, 0},
                 {"\xc3", 0, 0},
                 {"\xe2\x82", 0, 0}};
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        uint32_t cp = 0;
        assert_int_equal(bkt_utf8_at((const unsigned char *)cases[i].bytes, strlen(cases[i].bytes), &cp),
                         cases[i].len);
        assert_int_equal(cp, cases[i].cp);
        assert_int_equal(bkt_utf8_is(cases[i].bytes, strlen(cases[i].bytes)), cases[i].len > 0);
    }
    assert_true(bkt_utf8_is("a\0b", 3));
    assert_true(bkt_utf8_is("", 0));
}

static void any_bytes_become_a_json_string_in_ascii(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *json;
    } cases[] = {{"", 0, "\"\""},
                 {"plain text", 10, "\"plain text\""},
                 {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
                 {"\b\f\n\r\t\x01\x7f", 7, "\"\\b\\f\\n\\r\\t\\u0001\\u007f\""},
                 {"a\0b", 3, "\"a\\u0000b\""},
                 {"gr\xc3\xbc\xc3\x9f", 6, "\"gr\\u00fc\\u00df\""},
                 {"\xf0\x9f\x8c\x8d!", 5, "\"\\ud83c\\udf0d!\""},
                 {"latin-\xfc", 7, "\"latin-\\udcfc\""},
                 {"\xe2\x82", 2, "\"\\udce2\\udc82\""}};
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0};
        assert_int_equal(bkt_utf8_quote(&out, cases[i].bytes, cases[i].n), BKT_OK);
        assert_string_equal(bkt_buf_str(&out), cases[i].json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sequences_and_their_imitations_are_distinguished),
                                       cmocka_unit_test(any_bytes_become_a_json_string_in_ascii)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
