/* How many requests a server gets at once (pace.c), by the answers it gives. */
#include "base/os/clock.h"
#include "helpers/store_testing.h"

#include "storage/http/engine_impl.h"

#define CHUNK (1u << 20)

static struct bkt_pace pace;
static struct bkt_net  net = {.connections = 256, .pace = &pace};

/* Begin PUTs of chunks until no more may begin; their number. */
static unsigned begin_all(struct bkt_engine_host *h)
{
    unsigned        n = 0;
    struct bkt_xfer x = {.net = &net, .method = "PUT", .put_len = CHUNK};
    for (; n < 1000 && bkt_pace_may_begin(h, &x); n++) {
        h->active++;
        bkt_pace_begun(h, &x);
    }
    return n;
}

/* Answer one request with a body @p ms after it was sent. */
static void answer_after(struct bkt_engine_host *h, const char *method, long status, uint64_t ms)
{
    struct bkt_xfer x = {.net = &net, .method = method, .put_len = CHUNK, .status = status, .upload_ms = 1, .sent_ms = 2, .first_ms = 2 + ms};
    bkt_pace_end(h, &x);
    h->active--;
}

static void answer(struct bkt_engine_host *h, long status)
{
    answer_after(h, "PUT", status, 1);
}

/* The server takes 100 requests at once; chunks begin with 128.  No more are sent until it has answered
 * many. */
static void a_server_that_bears_a_hundred(void)
{
    struct bkt_engine_host h = {0};
    bkt_pace_init(&h);
    CHECK(begin_all(&h) == 128, "%u are under way", h.active);
    for (int i = 0; i < 28; i++)
        answer(&h, 503);
    CHECK(begin_all(&h) == 0, "%u are under way", h.active);
    for (int i = 0; i < 100; i++) {
        answer(&h, 200);
        CHECK(begin_all(&h) == 1 && h.active == 100, "after %d answers %u are under way", i + 1, h.active);
    }
    for (int i = 0; i < 100 * 28 * 3; i++) {
        answer(&h, 200);
        (void)begin_all(&h);
    }
    CHECK(h.active == 128 && h.window <= 0, "it bears more by now: %u", h.active);
}

/* Long work of a server proves nothing about its line: connections that were seen to help stay. */
static void many_are_deleted(void)
{
    struct bkt_engine_host h = {0};
    bkt_pace_init(&h);
    for (int i = 0; i < 400; i++) {
        (void)begin_all(&h);
        answer_after(&h, "PUT", 200, 30);
    }
    (void)begin_all(&h);
    unsigned most = h.active;
    CHECK(most == 256, "%u are under way", most);
    for (int i = 0; i < 1000; i++) {
        answer_after(&h, "POST", 200, 1000);
        (void)begin_all(&h);
    }
    CHECK(h.active == most, "%u are under way after that", h.active);
    for (int i = 0; i < 1000; i++) { /* a PUT that takes as long does prove something */
        answer_after(&h, "PUT", 200, 1000);
        (void)begin_all(&h);
    }
    CHECK(h.limit < most, "there are still %u", h.limit);
}

/* The number of connections that are opened for @p waiting GETs, if the server answers each after @p ms by
 * https: as many as save time in spite of their handshakes. */
static unsigned opened_for(unsigned waiting, uint64_t ms)
{
    struct bkt_engine_host h = {.tls = true, .moved_ms = UINT64_MAX};
    bkt_pace_init(&h);
    h.gets.first_ms   = (double)ms;
    struct bkt_xfer x = {.net = &net, .method = "GET", .small = true};
    for (h.n_waiting = waiting; h.n_waiting && bkt_pace_may_begin(&h, &x); h.n_waiting--) {
        h.active++;
        atomic_fetch_add(&h.at[0].kept, 1);
        bkt_pace_begun(&h, &x);
    }
    unsigned opened = h.active;
    for (unsigned kept = 200; atomic_load(&h.at[0].kept) < kept;) /* those that are open cost nothing */
        atomic_fetch_add(&h.at[0].kept, 1);
    for (; h.n_waiting && bkt_pace_may_begin(&h, &x); h.n_waiting--)
        h.active++;
    CHECK(h.n_waiting == 0 || h.active == 128, "%u wait beside idle connections", h.n_waiting);
    return opened;
}

static void connections_follow_from_what_they_save(void)
{
    unsigned n;
    CHECK((n = opened_for(1, 30)) == 1, "%u", n);
    CHECK((n = opened_for(12, 30)) == 12, "%u", n);
    CHECK((n = opened_for(115, 30)) == 59, "%u", n);
    CHECK((n = opened_for(115, 5)) == 24, "%u", n);
    CHECK((n = opened_for(10000, 30)) == 128, "%u", n);
    CHECK((n = opened_for(115, 0)) == 59, "%u: none was answered yet", n);
    struct bkt_engine_host h = {.tls = true, .moved_ms = bkt_ms_now() - 1000, .active = 20, .n_waiting = 10};
    struct bkt_xfer x = {.net = &net, .method = "GET", .small = true};
    bkt_pace_init(&h);
    h.gets.first_ms = 1;
    CHECK(bkt_pace_may_begin(&h, &x), "none of 20 has ended for a second");
}

/* GETs of small objects are answered after @p ms; over a new connection: @p more later. */
static void answer_gets(struct bkt_engine_host *h, int n, bool opened, uint64_t ms, uint64_t more)
{
    for (; n > 0; n--) {
        struct bkt_xfer x   = {.net = &net, .method = "GET", .small = true, .waiting = true, .status = 200, .opened = opened};
        uint64_t now = bkt_ms_now();
        x.begun_ms          = now - ms - more;
        x.asked_ms          = now - ms;
        h->waiting++;
        h->active++;
        bkt_pace_first_byte(h, &x);
        bkt_pace_end(h, &x);
        h->active--;
    }
}

/* Connections that are being opened delay each other's first answers.  That does not count against them. */
static void connecting_says_nothing_about_the_server(void)
{
    struct bkt_engine_host h = {0};
    bkt_pace_init(&h);
    struct bkt_xfer x = {.net = &net, .method = "GET", .small = true};
    answer_gets(&h, 100, true, 30, 500);
    CHECK(h.gets.first_ms < 40 && h.late_ms < 100, "a first byte after %.0f ms, late after %d", h.gets.first_ms, (int)h.late_ms);
    h.active = 128;
    CHECK(bkt_pace_may_begin(&h, &x) && h.limit == 128, "twice as many: %u", h.limit);
    h.active = 0;
    answer_gets(&h, 200, true, 300, 300); /* by a processor that is busy with handshakes */
    CHECK(h.limit == 128, "while connections are opened: %u", h.limit);
    answer_gets(&h, 200, false, 30, 0);
    CHECK(h.limit == 128, "then it answers as before: %u", h.limit);
    answer_gets(&h, 300, false, 300, 0);
    CHECK(h.limit == 64, "it answers late, whatever is opened: %u", h.limit);
    CHECK(!h.wanted, "and gets no more");
}

/* A server that closes connections now and then, or late requests that are sent again, hide nothing. */
static void a_few_new_connections_hide_nothing(void)
{
    struct bkt_engine_host h = {0};
    bkt_pace_init(&h);
    struct bkt_xfer x = {.net = &net, .method = "GET", .small = true};
    answer_gets(&h, 100, false, 30, 0);
    h.active = 128;
    (void)bkt_pace_may_begin(&h, &x);
    h.active = 0;
    CHECK(h.limit == 128, "%u", h.limit);
    for (int i = 0; i < 20; i++) {
        answer_gets(&h, 1, true, 300, 20);
        answer_gets(&h, 24, false, 300, 0);
    }
    CHECK(h.limit == 64, "%u", h.limit);
}

int main(void)
{
    connecting_says_nothing_about_the_server();
    a_few_new_connections_hide_nothing();
    connections_follow_from_what_they_save();
    a_server_that_bears_a_hundred();
    many_are_deleted();
    return failures != 0;
}
