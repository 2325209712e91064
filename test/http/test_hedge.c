/* Second requests keep to their bounds: connections, and requests.  The server holds answers until others
 * have come, or until their connection is given up.  So the same answers are late on a machine of any
 * speed. */
#include <stdatomic.h>

#include "helpers/store_testing.h"
#include "storage/http/engine.h"
#include "http/helpers/server.h"

#define SLOTS  16
#define N      200
#define LEN    3000
#define WARM   64
#define EVERY  17  /* a request in so many never gets its answer; 12 in all, fewer than there are connections */
#define STUCK  12
#define HEDGES 5 /* per cent */

static unsigned char *data;
enum { SIZE = N * LEN };

enum mode { PLAIN, SILENT, HALF, LATE };
static _Atomic int mode;
static atomic_bool known[N];

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, data, SIZE, "\"e\"");
    unsigned long first = strtoul(seen_header(r, "Range") + strlen("bytes="), NULL, 10), i = first / LEN;
    int           m     = atomic_load(&mode);
    if (i >= N || m == PLAIN)
        return;
    bool again = atomic_exchange(&known[i], true);
    if (m == LATE) { /* those after the first hundred: more than may be requested twice */
        a->delay_ms = r->index < 100 ? 0 : 500;
        return;
    }
    if (!again && i % EVERY == EVERY / 2) {
        a->silent = m == SILENT;
        a->cut    = a->len / 2;
        a->after  = STALL;
    } else if (r->index < SLOTS) {
        a->until = SLOTS;
    }
}

static struct bkt_req *ranges(size_t n, unsigned char *dst)
{
    struct bkt_req *r = calloc(n, sizeof *r);
    for (size_t i = 0; r && i < n; i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "o", .off = i * LEN, .len = LEN, .dst = dst + i * LEN};
    return r;
}

static void read_all(struct bkt_store *st, size_t n, const char *what)
{
    unsigned char  *dst = calloc(n, LEN);
    struct bkt_req *r   = ranges(n, dst);
    struct bkt_err  err = {0};
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s: %s", what, first_line(&err));
    CHECK(memcmp(dst, data, n * LEN) == 0, "%s: wrong bytes", what);
    for (size_t i = 0; i < n; i++)
        bkt_req_fini(&r[i]);
    free(r);
    free(dst);
}

static void start(enum mode m, struct server *s)
{
    for (size_t i = 0; i < N; i++)
        atomic_store(&known[i], false);
    server_reset(s);
    atomic_store(&mode, m);
    (void)stats_since();
    (void)bkt_engine_most_sockets();
}

/* All connections are busy, some hang, and the hanging requests are sent over others: never over more than
 * allowed.  The client reports its number of open ones: the server still counts one that was just given
 * up. */
static void connections_are_bounded(enum mode m, const char *what)
{
    struct server    *s  = server_start(handle, NULL);
    struct bkt_store *st = open_store(server_url(s), "connections=16;test.hedge=100;test.stall_ms=60000");
    bkt_store_shutdown(); /* connections to other servers */
    atomic_store(&mode, PLAIN);
    read_all(st, WARM, "to begin with");
    start(m, s);
    read_all(st, N, what);
    struct bkt_stats d    = stats_since();
    size_t           most = bkt_engine_most_sockets();
    CHECK(d.hedges >= STUCK, "%s: %lu of %d asked for again", what, (unsigned long)d.hedges, STUCK);
    CHECK(most == SLOTS, "%s: %zu connections at once, %d wanted", what, most, SLOTS);
    CHECK(d.get == N && d.retries == 0, "%s: %lu GETs", what, (unsigned long)d.get);
    bkt_store_close(st);
    server_stop(s);
}

/* If half of the answers are late, no more than knob hedge allows are requested twice. */
static void requests_are_bounded(void)
{
    struct server    *s  = server_start(handle, NULL);
    struct bkt_store *st = open_store(server_url(s), "test.hedge=5");
    start(LATE, s);
    read_all(st, N, "late");
    struct bkt_stats d = stats_since();
    CHECK(d.hedges <= N * HEDGES / 100 && server_count(s) <= N + N * HEDGES / 100, "%lu hedges, %u requests", (unsigned long)d.hedges,
          server_count(s));
    CHECK(d.get == N && d.attempts >= N && d.retries == 0, "%lu GETs", (unsigned long)d.get);
    bkt_store_close(st);
    server_stop(s);
}

int main(void)
{
    data = pattern(SIZE);
    connections_are_bounded(SILENT, "silent");
    connections_are_bounded(HALF, "half a body");
    requests_are_bounded();
    bkt_store_shutdown();
    free(data);
    return failures != 0;
}
