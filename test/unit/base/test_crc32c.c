#include <stdlib.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/crc32c.h"
#include "helpers/xorshift.h"

typedef uint32_t sum_fn(uint32_t sum, const void *p, size_t n);
static sum_fn *const ways[] = {bkt_crc32c, bkt_crc32c_by_tables};

/* RFC 3720, B.4, as numbers; the check value of catalogues of CRCs. */
static void known_sums(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; i++) {
        up[i]   = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ways[i](0, "", 0), 0);
        assert_int_equal(ways[i](0, "123456789", 9), 0xe3069283);
        assert_int_equal(ways[i](0, zeros, 32), 0x8a9136aa);
        assert_int_equal(ways[i](0, ones, 32), 0x62a8ab43);
        assert_int_equal(ways[i](0, up, 32), 0x46dd794e);
        assert_int_equal(ways[i](0, down, 32), 0x113fdb5c);
    }
}

/* Bit by bit, as the definition has it. */
static uint32_t slowly(const unsigned char *p, size_t n)
{
    uint32_t c = ~UINT32_C(0);
    for (size_t i = 0; i < 8 * n; i++) {
        c ^= (uint32_t)(p[i / 8] >> i % 8 & 1);
        c = c & 1 ? c >> 1 ^ 0x82f63b78U : c >> 1;
    }
    return ~c;
}

static uint64_t rnd(void)
{
    static uint64_t x = 88172645463325252U;
    return xorshift64(&x);
}

static void all_ways_agree(void **state)
{
    (void)state;
    size_t         room = 40000;
    unsigned char *p    = malloc(room);
    assert_non_null(p);
    for (size_t i = 0; i < room; i++)
        p[i] = (unsigned char)rnd();
    for (int i = 0; i < 600; i++) {
        size_t   at = rnd() % 64, n = rnd() % (i % 3 ? 200 : room - 64), cut = n ? rnd() % n : 0;
        uint32_t want = slowly(p + at, n);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(ways[k](0, p + at, n), want);
            assert_int_equal(ways[k](ways[k](0, p + at, cut), p + at + cut, n - cut), want);
        }
    }
    free(p);
}

static void instructions_are_used_where_there_are_any(void **state)
{
    (void)state;
#if defined __x86_64__
    assert_int_equal(bkt_crc32c_is_fast(), __builtin_cpu_supports("sse4.2") != 0);
#endif
}

static void text_is_eight_digits(void **state)
{
    (void)state;
    uint32_t sum = 7;
    assert_true(bkt_crc32c_parse("e3069283", &sum));
    assert_int_equal(sum, 0xe3069283);
    assert_true(bkt_crc32c_parse("E306928F", &sum));
    assert_int_equal(sum, 0xe306928f);
    static const char *const bad[] = {"", "e306928", "e30692833", "e306928g", "0xe30692", " e306928", "-e306928", "e3069283,e3069283"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(bkt_crc32c_parse(bad[i], &sum));
    assert_int_equal(sum, 0xe306928f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(all_ways_agree),
        cmocka_unit_test(instructions_are_used_where_there_are_any),
        cmocka_unit_test(text_is_eight_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
