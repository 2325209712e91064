#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/list.h"

static void arrays_grow_and_keep_what_they_hold(void **state)
{
    uint64_t *v   = NULL;
    size_t    cap = 0;
    (void)state;
    for (size_t n = 0; n < 5000; n++) {
        assert_int_equal(bkt_list_room(&v, n, &cap, sizeof *v), BKT_OK);
        assert_true(cap > n);
        v[n] = n * n;
    }
    for (uint64_t n = 0; n < 5000; n++)
        assert_true(v[n] == n * n);
    uint64_t *before = v;
    assert_int_equal(bkt_list_room(&v, 4999, &cap, sizeof *v), BKT_OK);
    assert_ptr_equal(v, before); /* there is room */
    free(v);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    char  *v   = malloc(1), *before = v;
    size_t cap = SIZE_MAX / 2 + 1, some = SIZE_MAX / 32;
    (void)state;
    assert_int_equal(bkt_list_room(&v, cap, &cap, 1), BKT_ENOMEM);
    assert_int_equal(bkt_list_room(&v, some, &some, 64), BKT_ENOMEM);
    assert_ptr_equal(v, before);
    assert_true(some == SIZE_MAX / 32);
    free(v);
}

static void strings_are_copied_taken_and_sorted(void **state)
{
    struct bkt_strs l       = {0};
    char            text[8] = "b";
    (void)state;
    bkt_strs_sort(&l);
    assert_int_equal(bkt_strs_add(&l, text), BKT_OK);
    text[0] = 'x';
    assert_int_equal(bkt_strs_add(&l, "\xff"), BKT_OK);
    assert_int_equal(bkt_strs_take(&l, strdup("a")), BKT_OK);
    assert_int_equal(bkt_strs_take(&l, NULL), BKT_ENOMEM);
    assert_int_equal(l.n, 3);
    bkt_strs_sort(&l);
    assert_string_equal(l.v[0], "a");
    assert_string_equal(l.v[1], "b");
    assert_string_equal(l.v[2], "\xff");
    bkt_strs_fini(&l);
    assert_int_equal(l.n, 0);
    assert_null(l.v);
    bkt_strs_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_grow_and_keep_what_they_hold),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(strings_are_copied_taken_and_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
