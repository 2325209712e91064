/* Objects out of a domain's snapshot, from a server: which are requested, and which aren't any more once they
 * were changed. */
#include "helpers/store_testing.h"
#include "helpers/sanitizer.h"
#include "http/helpers/server.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/domain/domain.h"
#include "schema/domain/object_cache.h"
#include "base/os/pool.h"
#include "schema/snapshot/snapshot.h"

#define ROOT "g-00000001-00000002-8888-888988-88888a"
#define N    300 /* groups besides the root */

static struct bkt_buf snapshot;
static atomic_uint    asked[N]; /* counted by the server's threads, which may handle given-up requests late */
static atomic_uint    lists;
static atomic_uint    changed_from; /* groups from here on have another ETag than in the snapshot */
static atomic_uint    delay_ms;     /* of the lists */
static atomic_bool    held;         /* lists aren't answered */

static void id_of(unsigned n, struct bkt_id *id)
{
    memset(id, 0, sizeof *id);
    (void)snprintf(id->text, sizeof id->text, "g-00000001-00000002-0000-%06x-abcdef", n);
}

static size_t group_json(unsigned n, const char *name, char *to, size_t room)
{
    struct bkt_id id;
    id_of(n, &id);
    return (size_t)snprintf(to, room, "{\"id\":\"%s\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"links\":"
                            "{\"%s\":{\"h5path\":\"/\",\"class\":\"H5L_TYPE_SOFT\",\"created\":1}}}", id.text, name);
}

static void make_snapshot(void)
{
    struct bkt_snapshot_out o = {.n_keys = 0};
    struct bkt_id           id;
    char                    json[500], etag[20];
    for (unsigned i = 0; i < N; i++) {
        size_t n = group_json(i, "in_snapshot", json, sizeof json);
        id_of(i, &id);
        (void)snprintf(etag, sizeof etag, "\"%u\"", i);
        CHECK(bkt_snapshot_add(&o, &id, etag, json, n, NULL) == BKT_OK, "add");
    }
    o.n_keys = N;
    CHECK(bkt_snapshot_emit(&o, &snapshot, NULL) == BKT_OK, "emit");
    bkt_snapshot_out_fini(&o);
}

static bool is_held(const struct seen *req, void *arg)
{
    (void)req, (void)arg;
    return atomic_load(&held);
}

static void answer_list(struct answer *a)
{
    struct bkt_buf s  = {0};
    int            rc = bkt_buf_addf(&s, "<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (unsigned i = 0; i < N && rc == BKT_OK; i++)
        rc = bkt_buf_addf(&s, "<Contents><Key>db/00000001-00000002/g/0000-%06x-abcdef/.group.json</Key><ETag>&quot;%u%s&quot;</ETag>"
                              "<Size>1</Size></Contents>", i, i, i >= changed_from ? "x" : "");
    CHECK(rc == BKT_OK && bkt_buf_addf(&s, "</ListBucketResult>") == BKT_OK, "out of memory");
    lists++;
    *a = (struct answer){.status = 200, .headers = "", .body = s.ptr, .len = s.len, .announce = -1, .cut = SIZE_MAX, .owned = s.ptr,
                         .delay_ms = delay_ms, .hold = is_held};
}

static bool group_of(const char *target, unsigned *n)
{
    static const char before[] = "/bucket/db/00000001-00000002/g/0000-", after[] = "-abcdef/.group.json";
    char             *end      = NULL;
    if (strncmp(target, before, sizeof before - 1) != 0)
        return false;
    *n = (unsigned)strtoul(target + sizeof before - 1, &end, 16);
    return *n < N && strcmp(end, after) == 0;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static char json[500]; /* the handler runs for one request at a time; the body is copied if owned */
    unsigned    n;
    (void)arg;
    if (strstr(r->target, "list-type=2")) {
        answer_list(a);
    } else if (strstr(r->target, ".h5bucket-snapshot")) {
        a->body = snapshot.ptr;
        a->len  = snapshot.len;
    } else if (group_of(r->target, &n)) {
        asked[n]++;
        a->len   = group_json(n, "requested", json, sizeof json);
        a->body  = a->owned = strdup(json);
    } else {
        answer_error(a, 404, "NoSuchKey", "");
    }
}

static unsigned requests(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < N; i++)
        sum += asked[i];
    return sum;
}

/* Given-up requests included. */
static void forget(void)
{
    while (!server_quiet())
        (void)usleep(1000);
    for (unsigned i = 0; i < N; i++)
        asked[i] = 0;
    lists        = 0;
    changed_from = N;
    delay_ms     = 0;
}

static const struct bkt_snapshot_hint hint = {.objects = N, .keys = N};

static struct bkt_objects *begin(struct bkt_store *st, bool trust)
{
    struct bkt_id       root;
    struct bkt_objects *c = bkt_objects_new(st, 1u << 20, 1u << 20);
    CHECK(c && bkt_id_set(&root, ROOT), "a cache");
    bkt_objects_snapshot(c, &root, &hint, trust);
    return c;
}

static const char *get(struct bkt_objects *c, unsigned n)
{
    static char              name[20];
    const struct bkt_object *o = NULL;
    struct bkt_err           err = {.n = 0};
    struct bkt_id            id;
    id_of(n, &id);
    CHECK(bkt_objects_get(c, &id, &o, &err) == BKT_OK, "%u: %s", n, err.n ? err.frame[0].msg : "");
    if (!o)
        return "";
    (void)snprintf(name, sizeof name, "%s", o->group.links.n ? o->group.links.v[0].name : "");
    bkt_object_release(o);
    return name;
}

static void prefetch(struct bkt_objects *c, unsigned from, unsigned to)
{
    struct bkt_id ids[N];
    for (unsigned i = from; i < to; i++)
        id_of(i, &ids[i]);
    bkt_objects_prefetch(c, ids + from, to - from);
}

/* All that is current comes from the snapshot, all else from the server. */
static void test_mixed(struct bkt_store *st)
{
    forget();
    changed_from          = 200;
    struct bkt_objects *c = begin(st, false);
    prefetch(c, 0, N);
    for (unsigned i = 0; i < N; i++)
        CHECK(strcmp(get(c, i), i < 200 ? "in_snapshot" : "requested") == 0, "%u", i);
    CHECK(requests() == 100 && lists == 1, "%u requests, %u lists", requests(), lists);
    bkt_objects_free(c);
}

/* Few objects aren't worth it. */
static void test_few(struct bkt_store *st)
{
    forget();
    struct bkt_objects *c = begin(st, false);
    prefetch(c, 0, 10);
    for (unsigned i = 0; i < 10; i++)
        CHECK(strcmp(get(c, i), "requested") == 0, "%u", i);
    CHECK(requests() == 10 && lists == 0, "%u requests, %u lists", requests(), lists);
    bkt_objects_free(c);
}

/* An object that was loaded, changed or refreshed here is never taken from it again. */
static void test_once(struct bkt_store *st)
{
    struct bkt_id id;
    forget();
    struct bkt_objects *c = begin(st, false);
    prefetch(c, 0, 250);
    for (unsigned i = 0; i < 250; i++)
        (void)get(c, i);
    CHECK(requests() == 0 && atomic_load(&lists) == 1, "%u requests, %u lists", requests(), atomic_load(&lists));
    id_of(7, &id);
    bkt_objects_drop(c, &id, false);
    CHECK(strcmp(get(c, 7), "requested") == 0 && requests() == 1, "a refreshed object is asked for");
    id_of(260, &id); /* not held by any caller yet */
    bkt_objects_pin(c, &id, true);
    bkt_objects_pin(c, &id, false);
    CHECK(strcmp(get(c, 260), "requested") == 0 && requests() == 2, "a changed object is asked for");
    CHECK(strcmp(get(c, 261), "in_snapshot") == 0, "its neighbour isn't");
    bkt_objects_free(c);
}

/* A change before the list has come: the order of the two is not known. */
static void test_change_meanwhile(struct bkt_store *st)
{
    struct bkt_id id;
    forget();
    held                  = true;
    struct bkt_objects *c = begin(st, false);
    bkt_objects_expect(c, N);
    id_of(3, &id);
    bkt_objects_pin(c, &id, true);
    bkt_objects_pin(c, &id, false);
    held = false;
    for (unsigned i = 0; i < 10; i++)
        CHECK(strcmp(get(c, i), "requested") == 0, "%u", i);
    bkt_objects_free(c);
}

/* Closed at once, while it is on its way, with and without objects that wait for it. */
static void test_closed_early(struct bkt_store *st)
{
    for (unsigned i = 0; i < 2; i++) {
        forget();
        delay_ms              = 100;
        struct bkt_objects *c = begin(st, false);
        bkt_objects_expect(c, N);
        if (i)
            prefetch(c, 0, 50);
        bkt_objects_free(c);
        CHECK(requests() == 0, "%u requests", requests());
    }
}

/* The thread that reads it stays with the parent: a child requests each object itself. */
static void test_fork(struct bkt_store *st)
{
#if UNDER_TSAN
    (void)st;
    (void)puts("not tested: fork (ThreadSanitizer's runtime cannot start threads in a child of a process with threads)");
#else
    forget();
    held                  = true;
    struct bkt_objects *c = begin(st, false);
    prefetch(c, 0, N);
    while (atomic_load(&lists) == 0) /* AddressSanitizer's runtime hangs in the child when a thread is just starting */
        (void)usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        CHECK(strcmp(get(c, 5), "requested") == 0, "in the child");
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    held = false;
    CHECK(strcmp(get(c, 6), "in_snapshot") == 0, "in the parent");
    bkt_objects_free(c);
#endif
}

static void test_trust(struct bkt_store *st)
{
    forget();
    changed_from          = 0;
    struct bkt_objects *c = begin(st, true);
    prefetch(c, 0, N);
    for (unsigned i = 0; i < N; i++)
        CHECK(strcmp(get(c, i), "in_snapshot") == 0, "%u", i);
    CHECK(requests() == 0 && lists == 0, "%u requests, %u lists", requests(), lists);
    bkt_objects_free(c);
}

int main(void)
{
    struct server *s = server_start(handle, NULL);
    char           set[200];
    if (!s)
        return 1;
    (void)snprintf(set, sizeof set, "endpoint=%s;anonymous=yes;region=us-east-1;retries=1;test.backoff_ms=1;test.hedge=0", server_url(s));
    struct bkt_store *st = open_store("s3://bucket", set);
    make_snapshot();
    test_mixed(st);
    test_few(st);
    test_once(st);
    test_change_meanwhile(st);
    test_closed_early(st);
    test_trust(st);
    test_fork(st);
    bkt_store_close(st);
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    server_stop(s);
    bkt_buf_fini(&snapshot); /* its threads send it */
    return failures != 0;
}
