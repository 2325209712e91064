#include <stdlib.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/err.h"
#include "base/trace.h"

static int inner(struct bkt_err *err) { BKT_FAIL(err, BKT_ENOENT, "no %s", "thing"); }
static int outer(struct bkt_err *err)
{
    BKT_TRY(err, inner(err), "while doing %d", 7);
    return BKT_OK;
}

static void root_cause_comes_first(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    assert_int_equal(outer(&err), BKT_ENOENT);
    assert_int_equal(err.code, BKT_ENOENT);
    assert_int_equal(err.n, 2);
    assert_string_equal(err.frame[0].msg, "no thing");
    assert_string_equal(err.frame[1].msg, "while doing 7");
    assert_string_equal(err.frame[0].func, "inner");
    assert_int_equal(outer(NULL), BKT_ENOENT);
}

static void a_name_goes_before_the_root_cause(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    bkt_err_name(&err, BKT_EFORMAT, "chunk 0");
    assert_int_equal(err.code, BKT_EFORMAT);
    assert_string_equal(err.frame[0].msg, "chunk 0");
    bkt_err_clear(&err);
    assert_int_equal(outer(&err), BKT_ENOENT);
    bkt_err_name(&err, BKT_EFORMAT, "chunk\n1");
    assert_int_equal(err.n, 2);
    assert_int_equal(err.code, BKT_ENOENT);
    assert_string_equal(err.frame[0].msg, "chunk?1: no thing");
    assert_string_equal(err.frame[1].msg, "while doing 7");
    char text[3 * BKT_ERR_MSG];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    bkt_err_name(&err, BKT_EFORMAT, text);
    assert_int_equal(strlen(err.frame[0].msg), 290 + strlen(": chunk?1: no thing"));
    bkt_err_name(NULL, BKT_EFORMAT, text);
}

static void too_much_is_cut_not_overrun(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    char           text[3 * BKT_ERR_MSG];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < 2 * BKT_ERR_FRAMES; i++)
        BKT_ERR(&err, BKT_ENET - i, "%s", text);
    assert_int_equal(err.n, BKT_ERR_FRAMES);
    assert_int_equal(err.code, BKT_ENET);
    assert_int_equal(strlen(err.frame[0].msg), BKT_ERR_MSG - 1);
}

static void a_message_is_one_line(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    BKT_ERR(&err, BKT_ENET, "key '%s'", "a\nb\033[2J\177\xc3\xa4");
    assert_string_equal(err.frame[0].msg, "key 'a?b?[2J?\xc3\xa4'");
}

static void errors_travel_between_threads_as_copies(void **state)
{
    (void)state;
    struct bkt_err a = {.n = 0}, b = {.n = 0};
    (void)inner(&a);
    struct bkt_err *copy = bkt_err_dup(&a);
    assert_non_null(copy);
    assert_int_equal(bkt_err_copy(&b, BKT_ENOENT, copy), BKT_ENOENT);
    free(copy);
    assert_string_equal(b.frame[0].msg, "no thing");
    assert_null(bkt_err_dup(NULL));
    assert_int_equal(bkt_err_copy(&b, BKT_EIO, NULL), BKT_EIO);
    bkt_err_clear(&b);
    assert_int_equal(b.n, 0);
}

static void every_code_has_a_text(void **state)
{
    (void)state;
#define X(code, text) assert_string_equal(bkt_err_text(code), text);
    BKT_ERRORS(X)
#undef X
    assert_string_equal(bkt_err_text(12345), "unknown error");
}

static void trace_categories_are_checked(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    assert_int_equal(bkt_trace_set("store,http", &err), BKT_OK);
    assert_true(bkt_trace_on(BKT_TRACE_STORE));
    assert_true(bkt_trace_on(BKT_TRACE_HTTP));
    assert_false(bkt_trace_on(BKT_TRACE_VOL));
    assert_int_equal(bkt_trace_set("stor", &err), BKT_EINVAL);
    assert_non_null(strstr(err.frame[0].msg, "'stor'"));
    assert_int_equal(bkt_trace_set(NULL, NULL), BKT_OK);
    assert_false(bkt_trace_on(BKT_TRACE_STORE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(root_cause_comes_first),
                                       cmocka_unit_test(a_name_goes_before_the_root_cause),
                                       cmocka_unit_test(too_much_is_cut_not_overrun),
                                       cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(errors_travel_between_threads_as_copies), cmocka_unit_test(every_code_has_a_text),
                                       cmocka_unit_test(trace_categories_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
