/* Uploads and the I/O thread: how many connections they get, and how long they may take. */
#include <unistd.h>

#include "check.h"
#include "server.h"

static _Atomic unsigned answer_ms, hold_us;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg, (void)r;
    if (hold_us) /* one at a time, as on a line that is full */
        (void)usleep(hold_us);
    a->delay_ms = answer_ms;
    a->headers  = "ETag: \"e\"\r\n";
}

static struct bkt_store *open_s3(struct server *s, const char *more)
{
    char set[400];
    (void)snprintf(set, sizeof set, "endpoint=%s;anonymous=yes;conditional=quoted;%s", server_url(s), more);
    return open_store("s3://buck", set);
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
    CHECK(bkt_store_run(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
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
    unsigned most = put_many(1500, 300, "connections=256");
    CHECK(most > 64 && most <= 256, "%u connections", most);
    most = put_many(600, 300, "connections=40");
    CHECK(most <= 40, "%u connections where 40 are allowed", most);
    answer_ms = 0;
}

/* Twice as many at once take twice as long each: that was no gain.  A machine whose speed changes meanwhile gets another try. */
static void a_full_line_gets_no_more(void)
{
    unsigned most = UINT32_MAX;
    hold_us       = 1500;
    for (int i = 0; i < 3 && most > 128; i++)
        most = put_many(700, 300, "connections=256");
    CHECK(most <= 128, "%u connections", most);
    hold_us = 0;
}

int main(void)
{
    many_small_ones_get_more_connections();
    a_full_line_gets_no_more();
    return failures != 0;
}
