/* Exchanges that wait for their time: in that order, whatever order they came in, and cheap enough for
 * thousands. */
#include "helpers/store_testing.h"

#include "storage/http/engine_impl.h"

#define N 20000u
#define LOG_N 15u /* 2^15 > N */

static struct bkt_xfer x[N];
static uint32_t        seed = 1;

static uint64_t random_time(void)
{
    seed = seed * 1664525U + 1013904223U;
    return 1 + (seed >> 8) % 5000; /* many have the same */
}

static void check_order(struct bkt_delay *d, unsigned n, const char *what)
{
    uint64_t before = 0;
    unsigned taken  = 0, wrong = 0;
    for (struct bkt_xfer *one; (one = bkt_delay_take(d)); taken++) {
        wrong += one->not_before_ms < before || one->next || one->prev;
        before = one->not_before_ms;
    }
    CHECK(taken == n && !wrong && !d->first, "%s: %u of %u, %u out of order", what, taken, n, wrong);
}

static void in_order(const char *what, uint64_t (*time_of)(unsigned i))
{
    struct bkt_delay d = {0};
    for (unsigned i = 0; i < N; i++) {
        x[i].not_before_ms = time_of(i);
        bkt_delay_add(&d, &x[i]);
    }
    CHECK(d.steps == N - 1, "%s: %llu steps to add %u", what, (unsigned long long)d.steps, N);
    check_order(&d, N, what);
    CHECK(d.steps <= 2ULL * N * LOG_N, "%s: %llu steps, at most %llu", what, (unsigned long long)d.steps, 2ULL * N * LOG_N);
}

static uint64_t ascending(unsigned i) { return i + 1; }
static uint64_t descending(unsigned i) { return N - i; }
static uint64_t anyhow(unsigned i) { return (void)i, random_time(); }
static uint64_t alike(unsigned i) { return (void)i, 7; }

/* As the engine has it: some come due, are sent, and come back for later. */
static void comes_and_goes(void)
{
    struct bkt_delay d    = {0};
    uint64_t         now  = 0;
    unsigned         back = 0;
    for (unsigned i = 0; i < N; i++) {
        x[i].not_before_ms = random_time();
        bkt_delay_add(&d, &x[i]);
    }
    while (back < 2 * N) {
        for (now++; d.first && d.first->not_before_ms <= now; back++) {
            struct bkt_xfer *one = bkt_delay_take(&d);
            CHECK(one->not_before_ms == now, "%llu at %llu", (unsigned long long)one->not_before_ms, (unsigned long long)now);
            one->not_before_ms = now + random_time();
            bkt_delay_add(&d, one);
        }
    }
    CHECK(d.steps <= 2ULL * (back + N) * LOG_N, "%llu steps for %u", (unsigned long long)d.steps, back);
    check_order(&d, N, "what is left");
}

int main(void)
{
    struct bkt_delay none = {0};
    CHECK(!bkt_delay_take(&none), "nothing in it");
    in_order("ascending", ascending);
    in_order("descending", descending);
    in_order("in any order", anyhow);
    in_order("all at once", alike);
    comes_and_goes();
    return failures != 0;
}
