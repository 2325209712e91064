#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/map.h"

static int   values[20000];
static int   n_freed;
static void  count_free(void *v) { n_freed += v != NULL; }
static size_t key_of(char *buf, size_t size, int i) { return (size_t)snprintf(buf, size, "key-%d", i * 7919); }

static void many_keys_come_and_go(void **state)
{
    (void)state;
    struct bkt_map *m = bkt_map_new();
    char            k[32];
    for (int i = 0; i < 20000; i++)
        assert_int_equal(bkt_map_put(m, k, key_of(k, sizeof k, i), &values[i], NULL), BKT_OK);
    for (int i = 0; i < 20000; i += 2)
        assert_ptr_equal(bkt_map_del(m, k, key_of(k, sizeof k, i)), &values[i]);
    assert_int_equal(bkt_map_count(m), 10000);
    for (int i = 0; i < 20000; i++)
        assert_ptr_equal(bkt_map_get(m, k, key_of(k, sizeof k, i)), i % 2 ? &values[i] : NULL);
    /* deleting and adding for ever must not fill the table */
    for (int i = 0; i < 200000; i++) {
        assert_int_equal(bkt_map_put(m, &i, sizeof i, &values[0], NULL), BKT_OK);
        assert_ptr_equal(bkt_map_del(m, &i, sizeof i), &values[0]);
    }
    bkt_map_free(m, count_free);
    assert_int_equal(n_freed, 10000);
    bkt_map_free(NULL, NULL);
}

static void order_of_insertion_is_kept(void **state)
{
    (void)state;
    struct bkt_map *m = bkt_map_new();
    char            k[32];
    for (int i = 0; i < 100; i++)
        assert_int_equal(bkt_map_put(m, k, key_of(k, sizeof k, i), &values[i], NULL), BKT_OK);
    (void)bkt_map_del(m, k, key_of(k, sizeof k, 50));
    void *old = NULL;
    assert_int_equal(bkt_map_put(m, k, key_of(k, sizeof k, 10), &values[1000], &old), BKT_OK);
    assert_ptr_equal(old, &values[10]);
    int         i = 0;
    for (struct bkt_map_at at = {0}; bkt_map_walk(m, &at);) {
        if (i == 50)
            i++;
        assert_ptr_equal(at.value, i == 10 ? &values[1000] : &values[i]);
        i++;
    }
    assert_int_equal(i, 100);
    bkt_map_free(m, NULL);
}

static void a_text_has_one_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t      n, place;
    } cases[] = {{"ab", 2, 0}, {"abc", 3, 1}, {"abc", 2, 0}, {"", 0, 2}, {"abc", 3, 1}, {"x", 0, 2}};
    struct bkt_map *by   = bkt_map_new();
    struct bkt_strs list = {0};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        size_t place = SIZE_MAX;
        assert_int_equal(bkt_map_place(&by, &list, cases[i].text, cases[i].n, &place), BKT_OK);
        assert_int_equal(place, cases[i].place);
    }
    assert_int_equal(list.n, 3);
    assert_string_equal(list.v[0], "ab");
    assert_string_equal(list.v[2], "");
    assert_int_equal(bkt_map_number(by, "abcd", 4), 0);
    bkt_map_free(by, NULL);
    bkt_strs_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_come_and_go), cmocka_unit_test(order_of_insertion_is_kept),
        cmocka_unit_test(a_text_has_one_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
