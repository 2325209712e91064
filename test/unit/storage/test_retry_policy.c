/* The table of retried failures, and the limits on how often and how long. */
#include "helpers/store_testing.h"

#include "storage/http/retry_policy.h"

static const struct {
    enum bkt_wire        wire;
    long                 status;
    enum bkt_retry_class want;
} classes[] = {
    {BKT_WIRE_OK, 200, BKT_RETRY_NO},       {BKT_WIRE_OK, 206, BKT_RETRY_NO},      {BKT_WIRE_OK, 301, BKT_RETRY_NO},
    {BKT_WIRE_OK, 400, BKT_RETRY_NO},       {BKT_WIRE_OK, 403, BKT_RETRY_NO},      {BKT_WIRE_OK, 404, BKT_RETRY_NO},
    {BKT_WIRE_OK, 408, BKT_RETRY_YES},      {BKT_WIRE_OK, 409, BKT_RETRY_NO},      {BKT_WIRE_OK, 412, BKT_RETRY_NO},
    {BKT_WIRE_OK, 416, BKT_RETRY_NO},       {BKT_WIRE_OK, 429, BKT_RETRY_YES},     {BKT_WIRE_OK, 500, BKT_RETRY_YES},
    {BKT_WIRE_OK, 501, BKT_RETRY_NO},       {BKT_WIRE_OK, 502, BKT_RETRY_YES},     {BKT_WIRE_OK, 503, BKT_RETRY_YES},
    {BKT_WIRE_OK, 504, BKT_RETRY_YES},      {BKT_WIRE_OK, 505, BKT_RETRY_NO},      {BKT_WIRE_STOPPED, 200, BKT_RETRY_NO},
    {BKT_WIRE_OK, 507, BKT_RETRY_NO},       {BKT_WIRE_OK, 520, BKT_RETRY_YES},     {BKT_WIRE_OK, 522, BKT_RETRY_YES},
    {BKT_WIRE_OK, 524, BKT_RETRY_YES},      {BKT_WIRE_OK, 526, BKT_RETRY_NO},
    {BKT_WIRE_STOPPED, 503, BKT_RETRY_YES}, {BKT_WIRE_RESET, 0, BKT_RETRY_YES},    {BKT_WIRE_RESET, 200, BKT_RETRY_YES},
    {BKT_WIRE_SHORT, 206, BKT_RETRY_YES},   {BKT_WIRE_STALL, 0, BKT_RETRY_YES},   {BKT_WIRE_CONNECT, 0, BKT_RETRY_FEW},
    {BKT_WIRE_SLOW, 206, BKT_RETRY_YES},    {BKT_WIRE_CROWDED, 0, BKT_RETRY_YES},
    {BKT_WIRE_DEADLINE, 0, BKT_RETRY_NO},   {BKT_WIRE_DEADLINE, 503, BKT_RETRY_NO}, {BKT_WIRE_FATAL, 0, BKT_RETRY_NO},
};

static const struct {
    const char             *what;
    struct bkt_retry_policy p;
    unsigned                tries, few;
    enum bkt_retry_class    class;
    uint64_t                after, spent, rnd;
    bool                    want;
    uint64_t                wait;
} steps[] = {
    {"no", {8, 50, 1000}, 0, 0, BKT_RETRY_NO, 0, 0, 0, false, 0},
    {"first, luckiest", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 0, 0, 0, true, 0},
    {"first, unluckiest", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 0, 0, 50, true, 50},
    {"full jitter wraps", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 0, 0, 51, true, 0},
    {"it doubles", {8, 50, 1000}, 3, 0, BKT_RETRY_YES, 0, 0, 400, true, 400},
    {"up to 10 s", {100, 50, 100000}, 60, 0, BKT_RETRY_YES, 0, 0, 10000, true, 10000},
    {"and no more", {100, 50, 100000}, 60, 0, BKT_RETRY_YES, 0, 0, 10001, true, 0},
    {"the last one", {8, 50, 1000}, 7, 0, BKT_RETRY_YES, 0, 0, 0, true, 0},
    {"one too many", {8, 50, 1000}, 8, 0, BKT_RETRY_YES, 0, 0, 0, false, 0},
    {"none allowed", {0, 50, 1000}, 0, 0, BKT_RETRY_YES, 0, 0, 0, false, 0},
    {"no back-off", {8, 0, 1000}, 5, 0, BKT_RETRY_YES, 0, 0, 77, true, 0},
    {"few: second", {8, 50, 1000}, 1, 1, BKT_RETRY_FEW, 0, 0, 0, true, 0},
    {"few: third", {8, 50, 1000}, 2, 2, BKT_RETRY_FEW, 0, 0, 0, false, 0},
    {"few among many", {8, 50, 1000}, 5, 1, BKT_RETRY_FEW, 0, 0, 0, true, 0},
    {"Retry-After counts", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 700, 0, 3, true, 700},
    {"Retry-After past the deadline", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 700, 300, 3, false, 0},
    {"the deadline has passed", {8, 50, 1000}, 0, 0, BKT_RETRY_YES, 0, 1000, 0, false, 0},
};

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(classes); i++)
        CHECK(bkt_retry_classify(classes[i].wire, classes[i].status) == classes[i].want, "wire %d status %ld",
              (int)classes[i].wire, classes[i].status);
    for (size_t i = 0; i < BKT_COUNT(steps); i++) {
        struct bkt_retry r    = {.started_ms = 5000, .tries = steps[i].tries, .few = steps[i].few};
        uint64_t         wait = 0;
        bool got = bkt_retry_next(&steps[i].p, &r, steps[i].class, steps[i].after, 5000 + steps[i].spent, steps[i].rnd, &wait);
        CHECK(got == steps[i].want && wait == steps[i].wait, "%s: %d, %lu ms", steps[i].what, got, (unsigned long)wait);
        CHECK(r.tries == steps[i].tries + got, "%s: %u tries", steps[i].what, r.tries);
    }
    struct bkt_retry_policy p = {8, 50, 1000};
    struct bkt_retry        r = {.started_ms = 5000, .moved = 3 * BKT_RETRY_SLOWEST - 1};
    uint64_t                wait;
    CHECK(bkt_retry_time(&p, &r) == 3000, "%lu ms where bytes have moved", (unsigned long)bkt_retry_time(&p, &r));
    CHECK(bkt_retry_next(&p, &r, BKT_RETRY_YES, 0, 7900, 0, &wait), "they put the deadline off");
    CHECK(!bkt_retry_next(&p, &r, BKT_RETRY_YES, 0, 8000, 0, &wait), "but not for ever");
    r.moved = 32U << 20; /* a part of an upload: two hours on the slowest line, but waiting moves nothing */
    CHECK(!bkt_retry_next(&p, &r, BKT_RETRY_YES, 1000, 5000, 0, &wait), "Retry-After past the deadline");
    CHECK(bkt_retry_next(&p, &r, BKT_RETRY_YES, 999, 5000, 0, &wait) && wait == 999, "before it: %lu ms", (unsigned long)wait);
    return failures != 0;
}
