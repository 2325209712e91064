#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "helpers/cmocka_includes.h"
#include "base/num.h"

static void buffers_grow_and_end_in_nul(void **state)
{
    (void)state;
    struct bkt_buf b = {0};
    assert_string_equal(bkt_buf_str(&b), "");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(bkt_buf_addf(&b, "%d,", i), BKT_OK);
    assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(bkt_buf_str(&b)), b.len);
    bkt_buf_cut(&b, 4);
    assert_string_equal(bkt_buf_str(&b), "0,1,");
    bkt_buf_cut(&b, 100);
    assert_int_equal(b.len, 4);
    assert_int_equal(bkt_buf_resize(&b, 0), BKT_OK);
    assert_string_equal(bkt_buf_str(&b), "");
    bkt_buf_fini(&b);
    assert_null(b.ptr);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct bkt_buf b = {0};
    assert_int_equal(bkt_buf_add_str(&b, "kept"), BKT_OK);
    assert_int_equal(bkt_buf_reserve(&b, SIZE_MAX - 2), BKT_ENOMEM);
    assert_string_equal(bkt_buf_str(&b), "kept");
    bkt_buf_fini(&b);
    uint64_t u = 7;
    assert_false(bkt_mul_u64(UINT64_MAX / 2, 3, &u));
    assert_false(bkt_add_u64(UINT64_MAX, 1, &u));
    assert_int_equal(u, 7);
    assert_true(bkt_mul_u64(UINT32_MAX, UINT32_MAX, &u));
    assert_int_equal(bkt_ceil_div(UINT64_MAX, UINT64_MAX), 1);
    assert_int_equal(bkt_ceil_div(0, 3), 0);
    assert_int_equal(bkt_ceil_div(7, 3), 3);
}

static void reader_stops_at_the_end_for_good(void **state)
{
    (void)state;
    const unsigned char bytes[] = {1, 2, 3, 4, 5};
    struct bkt_rd       r       = bkt_rd_of(bytes, sizeof bytes);
    assert_int_equal(bkt_rd_le(&r, 2), 0x0201);
    assert_int_equal(bkt_rd_be(&r, 2), 0x0304);
    assert_true(r.ok);
    assert_int_equal(bkt_rd_le(&r, 4), 0);
    assert_false(r.ok);
    assert_null(bkt_rd_take(&r, 1)); /* though one byte is left */
    r = bkt_rd_of(NULL, 0);
    assert_int_equal(bkt_rd_left(&r), 0);
    unsigned char out[8];
    bkt_put_be(out, 8, 0x0102030405060708);
    assert_int_equal(bkt_get_le(out, 8), 0x0807060504030201);
}

/* RFC 4648 section 10, and texts that must be refused */
static void base64_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *coded;
    } good[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    static const char *const bad[] = {"Z", "Zg==Zg", "Zm9v!", "Z\x80", "====A"};
    for (size_t i = 0; i < BKT_COUNT(good); i++) {
        struct bkt_buf a = {0}, b = {0};
        assert_int_equal(bkt_base64_encode(good[i].plain, strlen(good[i].plain), &a), BKT_OK);
        assert_string_equal(bkt_buf_str(&a), good[i].coded);
        assert_int_equal(bkt_base64_decode(good[i].coded, strlen(good[i].coded), &b), BKT_OK);
        assert_string_equal(bkt_buf_str(&b), good[i].plain);
        bkt_buf_fini(&a);
        bkt_buf_fini(&b);
    }
    for (size_t i = 0; i < BKT_COUNT(bad); i++) {
        struct bkt_buf b = {0};
        assert_int_equal(bkt_base64_decode(bad[i], strlen(bad[i]), &b), BKT_EFORMAT);
        bkt_buf_fini(&b);
    }
    struct bkt_buf b = {0};
    assert_int_equal(bkt_base64_decode(" Zm 9v\n", 7, &b), BKT_OK);
    assert_string_equal(bkt_buf_str(&b), "foo");
    bkt_buf_fini(&b);
    unsigned char all[256], *copy;
    for (unsigned i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    struct bkt_buf c = {0}, d = {0};
    assert_int_equal(bkt_base64_encode(all, 256, &c), BKT_OK);
    assert_int_equal(bkt_base64_decode(bkt_buf_str(&c), c.len, &d), BKT_OK);
    assert_int_equal(d.len, 256);
    copy = bkt_buf_steal(&d);
    assert_memory_equal(copy, all, 256);
    free(copy);
    bkt_buf_fini(&c);
}

static void halves_round_to_even(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x7c00; bits++) { /* each finite number, and the middle between it and the next */
        double v = 0, next = 0;
        assert_true(bkt_real_of(bits, 2, &v) && bkt_real_of(bits + 1, 2, &next));
        assert_int_equal(bkt_half_of(v), bits);
        assert_int_equal(bkt_half_of(-v), 0x8000 | bits);
        if (bits == 0x7bff)
            next = 65536;
        assert_int_equal(bkt_half_of((v + next) / 2), bits + bits % 2);
        assert_int_equal(bkt_half_of(nextafter((v + next) / 2, 0)), bits);
        assert_int_equal(bkt_half_of(nextafter((v + next) / 2, 1e9)), bits + 1);
    }
    assert_int_equal(bkt_half_of(NAN), 0x7e00);
    assert_int_equal(bkt_half_of(-1e300), 0xfc00);
}

static void reals_have_their_bits(void **state)
{
    static const struct {
        double v;
        uint64_t bits[3]; /* in 2, 4 and 8 bytes */
    } reals[] = {{-0.0, {0x8000, 0x80000000, 0x8000000000000000}},
                 {1.5, {0x3e00, 0x3fc00000, 0x3ff8000000000000}},
                 {INFINITY, {0x7c00, 0x7f800000, 0x7ff0000000000000}},
                 {NAN, {0x7e00, 0x7fc00000, 0x7ff8000000000000}},
                 {-0x1.fffffefffffffp127,
                  {0xfc00, 0xff7fffff, 0xc7efffffefffffff}}, /* the last one that is not too large for 4 */
                 {-0x1.ffffffp127, {0xfc00, 0xff800000, 0xc7effffff0000000}}};
    (void)state;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(bkt_bits_of_real(reals[i].v, 2U << k), reals[i].bits[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(buffers_grow_and_end_in_nul),
                                       cmocka_unit_test(impossible_sizes_are_refused),
                                       cmocka_unit_test(reader_stops_at_the_end_for_good),
                                       cmocka_unit_test(base64_vectors),
                                       cmocka_unit_test(halves_round_to_even),
                                       cmocka_unit_test(reals_have_their_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
