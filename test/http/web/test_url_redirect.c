/* One file by its address, which redirects to a signed address on another server: the requests to each server,
 * expiry, cookies, replaced files. */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"
#include "helpers/sanitizer.h"
#include "http/helpers/url_testing.h"
#include "storage/store.h"

#define SIZE 50000
#define MANY 16
static unsigned char *data;

/* The servers: the first one redirects to the second one, whose name is "localhost". */
static struct server *first, *second;
static struct {
    int         valid;   /* the signature that the second server takes */
    int         signs;   /* the signature that the first server makes; 0: the valid one */
    int         refuses; /* the status for another signature */
    bool        moves;   /* it redirects another signature to the valid one */
    bool        waits;   /* the first server answers late */
    int         own;     /* not 0: the first server's status instead of a redirect */
    const char *etag;
    atomic_uint cookies; /* of both servers, seen where they do not belong */
} now;

static char longer[3000]; /* a long path whose bytes must stay as they are */

static void go(struct answer *a, const char *host, const struct server *to, const char *path, const char *cookie)
{
    static char head[4][4000];
    static int  i;
    char       *text = head[i++ % 4];
    (void)snprintf(text, sizeof head[0], "Location: http://%s:%u%s\r\n%s%s%s", host, server_port(to), path, cookie ? "Set-Cookie: " : "",
                   cookie ? cookie : "", cookie ? "\r\n" : "");
    a->status  = 302;
    a->headers = text;
}

static void handle_first(const struct seen *r, struct answer *a, void *arg)
{
    const char *cookie = seen_header(r, "Cookie"), *t = r->target;
    char        path[100];
    (void)arg;
    (void)snprintf(path, sizeof path, "/signed?sig=pw%d", now.signs ? now.signs : now.valid);
    now.cookies += strstr(cookie, "theirs") != NULL;
    a->delay_ms = now.waits ? 500 : 0;
    if (now.own) {
        answer_error(a, now.own, "NoWay", "");
        a->delay_ms = 300; /* meanwhile all requests have begun */
    } else if (strcmp(t, "/f.h5") == 0) {
        go(a, "localhost", second, path, NULL);
    } else if (strcmp(t, "/loop") == 0) {
        a->status = 307, a->headers = "Location: loop\r\n";
    } else if (strcmp(t, "/back") == 0) {
        go(a, "127.0.0.1", first, "/private", "ours=pw; Path=/; HttpOnly");
    } else if (strcmp(t, "/private") == 0 && strcmp(cookie, "ours=pw") == 0) {
        answer_object(r, a, data, SIZE, now.etag);
    } else if (strcmp(t, "/private") == 0) {
        go(a, "localhost", second, "/login", NULL);
    } else if (strcmp(t, "/page") == 0) {
        go(a, "localhost", second, "/form", NULL);
    } else if (strcmp(t, "/secret") == 0) {
        a->status = 302, a->headers = "Location: http://u:pw@localhost/x\r\n";
    } else if (strcmp(t, "/long") == 0) {
        go(a, "localhost", second, longer, NULL);
    } else if (strcmp(t, "/local") == 0) {
        a->status = 302, a->headers = "Location: file:///etc/passwd\r\n";
    } else {
        a->status = 404;
    }
}

static void handle_second(const struct seen *r, struct answer *a, void *arg)
{
    const char *sig = strstr(r->target, "/signed?sig=pw");
    char        moved[100];
    (void)arg;
    (void)snprintf(moved, sizeof moved, "/signed?sig=pw%d", now.valid);
    now.cookies += strstr(seen_header(r, "Cookie"), "ours") != NULL;
    if (strcmp(r->target, "/login") == 0)
        go(a, "127.0.0.1", first, "/back", "theirs=pw");
    else if (strcmp(r->target, "/form") == 0)
        a->headers = "Content-Type: text/html; charset=utf-8\r\n", a->body = "<html>", a->len = 6;
    else if (sig && strtol(sig + strlen("/signed?sig=pw"), NULL, 10) == now.valid)
        answer_object(r, a, data, SIZE, now.etag);
    else if (strcmp(r->target, longer) == 0)
        answer_object(r, a, data, SIZE, now.etag);
    else if (sig && now.moves)
        go(a, "localhost", second, moved, NULL);
    else
        answer_error(a, now.refuses, "ExpiredToken", "");
}

static void reset(void)
{
    now.valid++;
    now.signs = now.own = 0;
    now.moves = now.waits = false;
    now.refuses         = 403;
    now.etag            = "\"one\"";
    server_reset(first);
    server_reset(second);
}

/* Read one range and compare the numbers of requests since the last call. */
static void read_one(struct bkt_store *st, const char *key, int want, unsigned n_first, unsigned n_second, const char *what)
{
    struct bkt_buf out = {0};
    struct bkt_err err = {0};
    int            rc  = bkt_store_get(st, key, 1000, 500, &out, &err);
    CHECK(rc == want && server_count(first) == n_first && server_count(second) == n_second, "%s: %s (%s), %u and %u requests", what,
          bkt_err_text(rc), first_line(&err), server_count(first), server_count(second));
    CHECK(rc < 0 || (out.len == 500 && memcmp(out.ptr, data + 1000, 500) == 0), "%s: wrong bytes", what);
    CHECK(!strstr(first_line(&err), "pw"), "%s", first_line(&err));
    bkt_buf_fini(&out);
    server_reset(first);
    server_reset(second);
}

static void read_many(struct bkt_store *st, const char *key, int want, unsigned n_first, unsigned most_second, const char *what)
{
    struct bkt_req r[MANY];
    for (size_t i = 0; i < MANY; i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = key, .off = i * 100, .len = 100};
    (void)bkt_store_perform(st, r, MANY, NULL);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(r[i].rc == want, "%s: request %zu: %s", what, i, first_line(r[i].err));
        CHECK(r[i].rc < 0 || (r[i].n == 100 && memcmp(r[i].body.ptr, data + i * 100, 100) == 0), "%s: request %zu: wrong bytes", what, i);
        bkt_req_fini(&r[i]);
    }
    CHECK(server_count(first) == n_first && server_count(second) <= most_second, "%s: %u and %u requests", what, server_count(first),
          server_count(second));
    server_reset(first);
    server_reset(second);
}

/* ---- tests ---- */

static void the_target_is_remembered_until_it_expires(void)
{
    static const int refusals[] = {400, 401, 403, 404, 410};
    char            *key        = NULL;
    reset();
    struct bkt_store *st = open_url(url_of(first, "/f.h5"), "", &key);
    read_one(st, key, BKT_OK, 1, 1, "the first range");
    for (size_t i = 0; i < BKT_COUNT(refusals); i++) {
        read_one(st, key, BKT_OK, 0, 1, "a later range");
        now.valid++;
        now.refuses = refusals[i];
        read_one(st, key, BKT_OK, 1, 2, "a range after expiry");
    }
    now.valid++;
    read_many(st, key, BKT_OK, 1, 2 * MANY, "many ranges after expiry");
    now.signs = now.valid++; /* it makes only signatures that are out of date */
    read_one(st, key, BKT_ENOENT, 1, 2, "no valid address");
    now.signs = 0;
    read_one(st, key, BKT_OK, 1, 1, "an address again");
    now.moves = true;
    now.valid++;
    read_one(st, key, BKT_OK, 1, 2, "the address redirects now");
    read_one(st, key, BKT_OK, 0, 1, "after that");
    bkt_store_close(st);
    free(key);
}

static void one_of_many_asks(void)
{
    char *key = NULL;
    reset();
    struct bkt_store *st = open_url(url_of(first, "/f.h5"), "", &key);
    read_many(st, key, BKT_OK, 1, MANY, "many ranges at once");
    bkt_store_close(st);
    free(key);
    now.own = 403;
    st      = open_url(url_of(first, "/f.h5"), "", &key);
    read_many(st, key, BKT_EACCES, 1, 0, "a refusal for all");
    now.own = 0;
    read_one(st, key, BKT_OK, 1, 1, "no refusal any more");
    bkt_store_close(st);
    free(key);
}

/* The request that asks is cancelled, and another one takes its place. */
static void others_go_on_without_the_first(void)
{
    char       *key  = NULL;
    atomic_bool stop = false;
    reset();
    struct bkt_store *st   = open_url(url_of(first, "/f.h5"), "", &key);
    struct bkt_req    r[3] = {{.op = BKT_GET, .key = key, .len = 100, .cancel = &stop}, {.op = BKT_GET, .key = key, .len = 100},
                              {.op = BKT_HEAD, .key = key}};
    atomic_store(&stop, true);
    (void)bkt_store_perform(st, r, 3, NULL);
    CHECK(r[0].rc == BKT_ECANCEL && r[1].rc == BKT_OK && r[2].rc == BKT_OK && r[2].size == SIZE, "%s, %s, %s", bkt_err_text(r[0].rc),
          bkt_err_text(r[1].rc), bkt_err_text(r[2].rc));
    for (size_t i = 0; i < 3; i++)
        bkt_req_fini(&r[i]);
    bkt_store_close(st);
    free(key);
}

static void addresses_in_redirects_stay_as_they_are(void)
{
    char  *key = NULL;
    size_t n   = (size_t)snprintf(longer, sizeof longer, "/a%%2fb//c%%2B%%7e+d;e=f?X-Amz-Credential=pw%%2Fus-east-1&sig=a%%2Fb%%3D&x=y/z+pw");
    memset(longer + n, 'x', sizeof longer - 1 - n);
    reset();
    struct bkt_store *st = open_url(url_of(first, "/long"), "", &key);
    read_one(st, key, BKT_OK, 1, 1, "a long address");
    bkt_store_close(st);
    free(key);
}

/* The request that asks stays with the parent: the child's own asks again. */
static void a_forked_child_asks_itself(void)
{
    char *key    = NULL;
    int   status = -1;
    reset();
    now.waits             = true;
    struct bkt_store *st  = open_url(url_of(first, "/f.h5"), "", &key);
    struct bkt_await  w   = {.req = {.op = BKT_GET, .key = key, .len = 100}};
    bkt_await_start(NULL, st, &w);
    while (server_count(first) == 0)
        (void)usleep(1000);
    pid_t pid = fork();
    if (pid == 0) {
        struct bkt_buf out = {0};
        (void)alarm(60);
        _exit(bkt_store_get(st, key, 0, 100, &out, NULL) == BKT_OK && memcmp(out.ptr, data, 100) == 0 ? 0 : 1);
    }
    bkt_await(&w);
    CHECK(w.req.rc == BKT_OK, "the parent's request: %s", bkt_err_text(w.req.rc));
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the child's request: %d", status);
    CHECK(server_count(first) == 2, "%u requests", server_count(first));
    bkt_await_fini(&w);
    bkt_store_close(st);
    free(key);
}

static void a_replaced_file_is_not_mixed(void)
{
    static const char *const etags[] = {"\"two\"", "W/\"two\"", NULL};
    for (size_t i = 0; i < BKT_COUNT(etags); i++) {
        struct bkt_err err = {0};
        struct bkt_buf out = {0};
        char          *key = NULL;
        reset();
        now.etag             = etags[i] && etags[i][0] == 'W' ? "W/\"one\"" : "\"one\"";
        struct bkt_store *st = open_url(url_of(first, "/f.h5"), "", &key);
        read_one(st, key, BKT_OK, 1, 1, "the first version");
        now.valid++;
        now.etag = etags[i];
        int rc   = bkt_store_get(st, key, 0, 10, &out, &err);
        if (etags[i])
            CHECK(rc == BKT_EPRECOND && strstr(first_line(&err), "replaced while it was open; open it again"), "%s: %s", etags[i],
                  first_line(&err));
        else
            CHECK(rc == BKT_OK, "without an ETag: %s", first_line(&err)); /* size and time are the same */
        bkt_buf_fini(&out);
        bkt_store_close(st);
        free(key);
    }
}

static void cookies_go_where_they_belong(void)
{
    char *key = NULL;
    reset();
    struct bkt_store *st = open_url(url_of(first, "/private"), "", &key);
    read_one(st, key, BKT_OK, 3, 1, "a login");
    read_one(st, key, BKT_OK, 1, 0, "after the login");
    read_many(st, key, BKT_OK, MANY, 0, "many after the login");
    CHECK(now.cookies == 0, "%u cookies went to another server", now.cookies);
    bkt_store_close(st);
    free(key);
}

static void some_redirects_are_refused(void)
{
    static const struct {
        const char *path, *says;
        int         rc;
        unsigned    n_first, n_second;
    } cases[] = {{"/loop", "too many redirects", BKT_EINVAL, 11, 0},
                 {"/local", "only redirects to http(s)", BKT_EACCES, 1, 0},
                 {"/secret", "only redirects to http(s)", BKT_EACCES, 1, 0},
                 {"/page", "web page", BKT_EACCES, 1, 1},
                 {"/nothing", "HTTP 404", BKT_ENOENT, 1, 0}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {0};
        struct bkt_buf out = {0};
        char          *key = NULL;
        reset();
        struct bkt_store *st = open_url(url_of(first, cases[i].path), "", &key);
        int               rc = bkt_store_get(st, key, 0, 10, &out, &err);
        CHECK(rc == cases[i].rc && strstr(first_line(&err), cases[i].says) && !strstr(first_line(&err), "pw"), "%s: %s", cases[i].path,
              first_line(&err));
        CHECK(server_count(first) == cases[i].n_first && server_count(second) == cases[i].n_second, "%s: %u and %u requests",
              cases[i].path, server_count(first), server_count(second));
        bkt_buf_fini(&out);
        bkt_store_close(st);
        free(key);
    }
}

/* A failure at the end of a redirect names that server, without the query. */
static void messages_name_the_server(void)
{
    struct bkt_err err = {0};
    struct bkt_buf out = {0};
    char          *key = NULL, name[60];
    reset();
    now.signs            = -1;
    struct bkt_store *st = open_url(url_of(first, "/f.h5"), "", &key);
    (void)snprintf(name, sizeof name, "/f.h5 at http://localhost:%u: HTTP 403 ExpiredToken", server_port(second));
    CHECK(bkt_store_get(st, key, 0, 10, &out, &err) == BKT_EACCES && strstr(first_line(&err), name), "%s", first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

int main(void)
{
    char trace[] = "/tmp/bkt-redirect-XXXXXX", text[200000] = "";
    int  fd = mkstemp(trace), err = dup(STDERR_FILENO);
    data    = pattern(SIZE);
    first   = server_start(handle_first, NULL);
    second  = server_start(handle_second, NULL);
    if (fd < 0 || !first || !second || unlink(trace) < 0 || dup2(fd, STDERR_FILENO) < 0)
        return 1;
    if (bkt_trace_set("all", NULL) < 0)
        return 1;
    the_target_is_remembered_until_it_expires();
    one_of_many_asks();
    others_go_on_without_the_first();
    addresses_in_redirects_stay_as_they_are();
    if (UNDER_TSAN)
        (void)printf("skipped: ThreadSanitizer starts no threads in a forked child\n");
    else
        a_forked_child_asks_itself();
    a_replaced_file_is_not_mixed();
    cookies_go_where_they_belong();
    some_redirects_are_refused();
    messages_name_the_server();
    bkt_store_shutdown();
    (void)dup2(err, STDERR_FILENO);
    CHECK(pread(fd, text, sizeof text - 1, 0) > 1000 && strstr(text, "redirected to http://localhost:") && !strstr(text, "pw"),
          "the trace: %.300s", strstr(text, "pw") ? strstr(text, "pw") - 100 : text);
    for (char *rest = NULL, *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        if (strncmp(l, "h5bucket", 8) != 0) /* a failure's message went there, too */
            (void)fprintf(stderr, "%s\n", l);
    (void)close(fd);
    server_stop(first);
    server_stop(second);
    free(data);
    return failures != 0;
}
