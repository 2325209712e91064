#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/os/scratch_pool.h"

#define N 40
static const size_t sizes[] = {1, 40000, 300000, 1 << 20, (1 << 20) + 1, (2 << 20) - 64, 2 << 20, 9 << 20};

struct held {
    unsigned char *p;
    size_t         n;
    unsigned char  with;
};

static void fill(struct held *h, size_t n, unsigned with)
{
    *h = (struct held){bkt_scratch_take(n), n, (unsigned char)with};
    assert_non_null(h->p);
    assert_int_equal((uintptr_t)h->p % 64, 0);
    memset(h->p, h->with, n);
}

static void check_and_give(struct held *h)
{
    for (size_t i = 0; i < h->n; i += i + 4096 < h->n ? 4096 : 1)
        if (h->p[i] != h->with)
            fail_msg("byte %zu of %zu belongs to somebody else", i, h->n);
    bkt_scratch_give(h->p);
}

/* Each block belongs to one holder, in whatever sequence they come and go. */
static void blocks_do_not_overlap(void **state)
{
    struct held h[N];
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++)
            fill(&h[i], sizes[(i + round) % (sizeof sizes / sizeof *sizes)], i);
        for (unsigned i = round % 2; i < N; i += 2)
            check_and_give(&h[i]);
        for (unsigned i = round % 2; i < N; i += 2)
            fill(&h[i], sizes[i % (sizeof sizes / sizeof *sizes)], 100 + i);
        for (unsigned i = 0; i < N; i++)
            check_and_give(&h[round == 1 ? N - 1 - i : i]);
    }
}

static void taken_memory_outlives_a_shutdown(void **state)
{
    struct held h[12];
    (void)state;
    for (unsigned i = 0; i < 12; i++)
        fill(&h[i], 1 << 20, i);
    for (unsigned i = 0; i < 12; i += 3)
        check_and_give(&h[i]);
    bkt_scratch_shutdown();
    for (unsigned i = 0; i < 12; i++)
        if (i % 3)
            check_and_give(&h[i]);
    bkt_scratch_shutdown();
}

/* A block that was given back is used again. */
static void memory_is_used_again(void **state)
{
    struct held h;
    (void)state;
    fill(&h, 1 << 20, 1);
    void *first = h.p;
    check_and_give(&h);
    fill(&h, 1 << 20, 2);
    assert_ptr_equal(h.p, first);
    check_and_give(&h);
    bkt_scratch_give(NULL);
    assert_null(bkt_scratch_take(SIZE_MAX - 10));
}

static void *hammer(void *arg)
{
    unsigned with = *(unsigned *)arg;
    for (unsigned i = 0; i < 300; i++) {
        struct held h[3];
        for (unsigned k = 0; k < 3; k++)
            fill(&h[k], sizes[(i + k + with) % 6], with);
        for (unsigned k = 0; k < 3; k++)
            check_and_give(&h[k]);
    }
    return NULL;
}

static void threads_share_it(void **state)
{
    pthread_t t[4];
    unsigned  with[4] = {1, 2, 3, 4};
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, hammer, &with[i]), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    bkt_scratch_shutdown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap), cmocka_unit_test(taken_memory_outlives_a_shutdown),
        cmocka_unit_test(memory_is_used_again), cmocka_unit_test(threads_share_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
