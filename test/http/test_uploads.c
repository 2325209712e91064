/* Uploads and the I/O thread: how many connections they get, and how long they may take.  Time is made here
 * (helpers/virtual_clock.c). */
#include "helpers/store_testing.h"
#include "http/helpers/s3_testing.h"

#define SETTINGS "anonymous=yes;test.conditional=quoted"

static _Atomic unsigned answer_ms, each_ms;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static double free_at; /* one at a time, as on a line that is full */
    double        now = seconds();
    (void)arg, (void)r;
    free_at     = (free_at > now ? free_at : now) + each_ms / 1000.0;
    a->delay_ms = answer_ms + (unsigned)((free_at - now) * 1000 + 0.5);
    a->headers  = "ETag: \"e\"\r\n";
}

/* The most connections that @p n PUTs had. */
static unsigned put_many(unsigned n, size_t len, const char *settings)
{
    struct server    *s  = server_start(handle, NULL);
    struct bkt_store *st = open_s3(s, settings);
    struct bkt_req   *r  = calloc(n, sizeof *r);
    unsigned char    *p  = pattern(len);
    struct bkt_err    err = {0};
    for (unsigned i = 0; i < n; i++)
        r[i] = (struct bkt_req){.op = BKT_PUT, .key = "db/o", .put = p, .put_len = len};
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(stats_since().attempts == n && server_count(s) == n, "%u requests for %u PUTs", server_count(s), n);
    for (unsigned i = 0; i < n; i++)
        bkt_req_fini(&r[i]);
    unsigned most = server_most_connections(s);
    free(p);
    free(r);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    return most;
}

static void many_small_ones_get_more_connections(void)
{
    answer_ms     = 30;
    unsigned most = put_many(1500, 300, SETTINGS ";connections=256");
    CHECK(most > 64 && most <= 256, "%u connections", most);
    most = put_many(600, 300, SETTINGS ";connections=40");
    CHECK(most <= 40, "%u connections where 40 are allowed", most);
    answer_ms = 0;
}

static void chunks_have_more_from_the_start(void)
{
    answer_ms     = 30;
    unsigned most = put_many(100, 300000, SETTINGS ";connections=256");
    CHECK(most > 64 && most <= 100, "%u connections", most);
    most = put_many(100, 300000, SETTINGS ";connections=40");
    CHECK(most <= 40, "%u connections where 40 are allowed", most);
    answer_ms = 0;
}

/* Twice as many at once take twice as long each: that is not a gain. */
static void a_full_line_gets_no_more(void)
{
    each_ms       = 4;
    unsigned most = put_many(700, 300, SETTINGS ";connections=256");
    CHECK(most > 64 && most <= 128, "%u connections", most);
    each_ms = 0;
}

/* One PUT to a server that takes @p piece bytes each @p ms. */
static int put_slowly(size_t len, size_t piece, unsigned ms, const char *settings, struct bkt_stats *counted, struct bkt_err *err)
{
    struct server    *s  = server_start(handle, NULL);
    struct bkt_store *st = open_s3(s, settings);
    unsigned char    *p  = pattern(len);
    server_read_slowly(s, piece, ms);
    (void)stats_since();
    int rc   = bkt_store_put(st, "db/o", p, len, NULL, NULL, NULL, err);
    *counted = stats_since();
    free(p);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    return rc;
}

/* Sent bytes lie in the system's memory at once and then leave it for seconds: that is not a stall, and no
 * deadline ends it. */
static void a_moving_upload_is_left_alone(void)
{
    struct bkt_stats d;
    struct bkt_err   err = {0};
    double           t0  = seconds();
    int rc =
        put_slowly(200000, 5000, 30, SETTINGS ";test.stall_ms=1200;deadline_ms=1200;retries=0", &d, &err);
    CHECK(rc == BKT_OK && d.attempts == 1, "%s, %lu attempts", first_line(&err), (unsigned long)d.attempts);
    CHECK(seconds() - t0 > 2, "it took %.2f s only, which shows nothing", seconds() - t0);
}

static void a_stuck_upload_is_ended(void)
{
    struct bkt_stats d;
    struct bkt_err   err = {0};
    double           t0  = seconds();
    int rc = put_slowly(400000, 1, 1500, SETTINGS ";test.stall_ms=400;deadline_ms=20000;retries=0", &d, &err);
    CHECK(rc < 0 && strstr(first_line(&err), "stalled"), "%s (%s)", bkt_err_text(rc), first_line(&err));
    CHECK(seconds() - t0 < 20, "took %.2f s", seconds() - t0);
}

/* A trickle does not count as progress that puts the deadline off for long. */
static void a_trickle_ends_at_its_deadline(void)
{
    struct bkt_stats d;
    struct bkt_err   err = {0};
    int rc =
        put_slowly(4000000, 100, 100, SETTINGS ";test.stall_ms=60000;deadline_ms=1000;retries=0", &d, &err);
    CHECK(rc == BKT_ETIME, "%s (%s)", bkt_err_text(rc), first_line(&err));
}

int main(void)
{
    a_moving_upload_is_left_alone();
    a_stuck_upload_is_ended();
    a_trickle_ends_at_its_deadline();
    many_small_ones_get_more_connections();
    chunks_have_more_from_the_start();
    a_full_line_gets_no_more();
    return failures != 0;
}
