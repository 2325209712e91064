/* TLS that ends in the middle: in the handshake, in an answer's header, in its body, whichever way the body's
 * length is given.
 *
 * Once: the request is sent again, and its result is right.  Each time: it is an error, or, for a change, a
 * look finds that it was done.  A part of a body is never taken for the whole.  The server is the scripted S3
 * behind TLS. */
#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "storage/aws/cred/cred_impl.h"
#include "http/helpers/fake_s3.h"
#include "helpers/sanitizer.h"
#include "http/helpers/tls_front.h"
#include "http/helpers/tls_races.h"

#define BIG (2 * 65536 + 77)

/* ---- where ---- */

enum form {
    LENGTH,
    CHUNKED,
    CLOSED,
    FORMS
}; /* the source of a body's length: Content-Length, chunks, the connection's end */
static const char *const forms[] = {"Content-Length", "chunks", "the connection's end"};

enum place { HANDSHAKE, NOTHING, HEADER, NO_BODY, HALF, ALMOST, ALL, PLACES };
static const char *const places[] = {"in the handshake",    "before the answer", "in the header",
                                     "behind the header",   "half-way",          "before the last byte",
                                     "behind the last byte"};
static const char *const hows[] = {"end", "part of a record", "reset", "close_notify"};

/* Set while connections that are left over look at it. */
struct scene {
    struct fake_s3 fake;
    const char *_Atomic method, *_Atomic part; /* the answers to these requests */
    _Atomic enum form form;
    _Atomic enum place place;
    _Atomic enum tls_cut_how how;
    atomic_uint times; /* so many of them are cut still */
    atomic_uint count; /* requests of that kind */
    char headers[700];
    char name[200];
};

/* In pieces. */
static void to_chunks(struct answer *a)
{
    size_t at = 0, piece = 1000;
    char *out = malloc(a->len + 16 * (a->len / piece + 2)), *p = out;
    for (; at < a->len; at += piece) {
        size_t n = a->len - at < piece ? a->len - at : piece;
        p += snprintf(p, 16, "%zx\r\n", n);
        memcpy(p, (const char *)a->body + at, n);
        memcpy(p + n, "\r\n", 2);
        p += n + 2;
    }
    memcpy(p, "0\r\n\r\n", 5);
    free(a->owned);
    a->body = a->owned = out;
    a->len = (size_t)(p + 5 - out);
}

static size_t body_bytes(const struct scene *s, size_t n)
{
    return s->place == HALF ? n / 2 : s->place == ALMOST ? n - (n > 0) : s->place == ALL ? n : 0;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    struct scene *s = arg;
    char cut[60] = "";
    fake_s3_handle(r, a, &s->fake);
    if (strcmp(r->method, s->method) != 0 || strstr(r->target, ".h5bucket") ||
        (s->part && !strstr(r->target, s->part)))
        return;
    s->count++;
    if (s->form == CHUNKED)
        to_chunks(a);
    if (s->form != LENGTH)
        a->announce = -2;
    if (s->place != HANDSHAKE && atomic_load(&s->times)) {
        atomic_fetch_sub(&s->times, 1);
        (void)snprintf(cut, sizeof cut, "X-Cut: %d %zu\r\n", s->place >= NO_BODY, body_bytes(s, a->len));
    }
    (void)snprintf(s->headers, sizeof s->headers, "%s%s%s", a->headers ? a->headers : "", cut,
                   s->form == CHUNKED ? "Transfer-Encoding: chunked\r\n" : "");
    a->headers = s->headers;
}

/* The handler's header has it. */
static bool is_cut(const char *head, size_t n, struct tls_cut *out, void *arg)
{
    struct scene *s = arg;
    int behind_header = 0;
    size_t k = 0;
    out->how = s->how;
    if (!head) {
        bool now = s->place == HANDSHAKE && atomic_load(&s->times);
        if (now)
            atomic_fetch_sub(&s->times, 1);
        return now;
    }
    const char *line = memmem(head, n, "\r\nX-Cut: ", 9), *end = memmem(head, n, "\r\n\r\n", 4);
    if (!line || !end || line > end || sscanf(line + 9, "%d %zu", &behind_header, &k) != 2)
        return false;
    out->at = behind_header ? (size_t)(end + 4 - head) + k : s->place == NOTHING ? 0 : 40;
    return true;
}

/* ---- requests ---- */

enum what { GET, GET_PART, GET_DST, LIST, HEAD, PUT, DELETE, BEGIN, PART, END, WHATS };
static const struct {
    const char *name, *method, *part;
    bool has_body, reads;
} whats[] = {
    [GET] = {"GET", "GET", "db/big", true, true},
    [GET_PART] = {"GET of a range", "GET", "db/big", true, true},
    [GET_DST] = {"GET to memory", "GET", "db/big", true, true},
    [LIST] = {"LIST", "GET", "list-type", true, true},
    [HEAD] = {"HEAD", "HEAD", "db/big", false, true},
    [PUT] = {"PUT", "PUT", "db/a", false, false},
    [DELETE] = {"DELETE", "DELETE", "db/a", false, false},
    [BEGIN] = {"begin of an upload", "POST", "uploads", true, false},
    [PART] = {"part of an upload", "PUT", "partNumber=2", false, false},
    [END] = {"end of an upload", "POST", "uploadId", true, false},
};

static unsigned char *big; /* BIG bytes */

static int list(struct bkt_store *st, const struct scene *s, struct bkt_err *err)
{
    unsigned n = 0;
    int rc = bkt_store_list(st, "db/", "", count_objects, &n, err);
    CHECK(n == (rc == BKT_OK ? 2 : 0), "%s: %u keys", s->name, n);
    return rc;
}

static int get(struct bkt_store *st, const struct scene *s, enum what what, struct bkt_err *err)
{
    static unsigned char to[BIG];
    uint64_t off = what == GET_PART ? 1000 : 0, len = what == GET_PART  ? 70000
                                                      : what == GET_DST ? BIG
                                                                        : BKT_WHOLE;
    struct bkt_req r = {
        .op = BKT_GET, .key = "db/big", .off = off, .len = len, .dst = what == GET_DST ? to : NULL};
    int rc = bkt_store_perform(st, &r, 1, err);
    size_t want = what == GET_PART ? 70000 : BIG;
    const void *got = what == GET_DST ? to : r.body.ptr;
    CHECK(rc < 0 || (r.n == want && memcmp(got, big + off, want) == 0), "%s: %zu bytes", s->name,
          (size_t)r.n);
    bkt_req_fini(&r);
    return rc;
}

static int change(struct bkt_store *st, struct scene *s, enum what what, struct bkt_err *err)
{
    const char *key = "db/a";
    if (what == DELETE) {
        int rc = bkt_store_delete(st, &key, 1, err);
        CHECK(rc < 0 || !fake_s3_find(&s->fake, key), "%s: it is there", s->name);
        return rc;
    }
    size_t n = what == PUT ? 5000 : BIG;
    int rc = bkt_store_put(st, key, big, n, NULL, NULL, NULL, err);
    const struct fake_object *o = fake_s3_find(&s->fake, key);
    CHECK(rc < 0 || (o && o->len == n && memcmp(o->data, big, n) == 0), "%s: it holds something else",
          s->name);
    return rc;
}

static int run(struct bkt_store *st, struct scene *s, enum what what, struct bkt_err *err)
{
    if (what == LIST)
        return list(st, s, err);
    if (what == HEAD) {
        struct bkt_req r = {.op = BKT_HEAD, .key = "db/big"};
        int rc = bkt_store_perform(st, &r, 1, err);
        CHECK(rc < 0 || r.size == BIG, "%s: size %zu", s->name, (size_t)r.size);
        bkt_req_fini(&r);
        return rc;
    }
    return what <= GET_DST ? get(st, s, what, err) : change(st, s, what, err);
}

/* ---- cases ---- */

/* Others are as good: an upload is many requests. */
static bool is_sample(enum what what, enum place place, int version)
{
    bool some = place == HANDSHAKE || place == HALF || place == ALL;
    return version == 2 ? some && what <= PUT : what < BEGIN || place == HEADER || some;
}

/* Whether a client can't notice there that something is missing, or nothing is. */
static bool is_left_out(enum what what, enum form form, enum place place, enum tls_cut_how how)
{
    if (form != LENGTH && !whats[what].has_body)
        return true;
    if (place == HANDSHAKE)
        return how == TLS_CUT_NOTIFY || form != LENGTH;
    if (place >= HALF && !whats[what].has_body)
        return true;
    if (place == NO_BODY && !whats[what].has_body)
        return true; /* that is all of it */
    if (place == ALL)
        return form != CLOSED || how == TLS_CUT_NOTIFY || how == TLS_CUT_RECORD;
    if (place == ALMOST && form == CHUNKED)
        return true;                                                    /* the line break that no client needs */
    return form == CLOSED && how == TLS_CUT_NOTIFY && place >= NO_BODY; /* an end like any other */
}

static void name_it(struct scene *s, enum what what, const char *times)
{
    (void)snprintf(s->name, sizeof s->name, "%s, length by %s, %s %s, %s", whats[what].name, forms[s->form],
                   hows[s->how], places[s->place], times);
}

/* db/a is there, and nothing is cut yet.  In the handshake: no connection is there. */
static struct bkt_store *arrange(struct scene *s, const char *settings, bool reads)
{
    struct bkt_err err = {0};
    struct bkt_store *st = open_store("s3://buck", settings);
    s->method = "-";
    atomic_store(&s->times, 0);
    CHECK((reads && fake_s3_find(&s->fake, "db/a")) ||
              bkt_store_put(st, "db/a", "old", 3, NULL, NULL, NULL, &err) == BKT_OK,
          "%s: %s", s->name, first_line(&err));
    if (s->place != HANDSHAKE)
        return st;
    bkt_store_close(st);
    bkt_store_shutdown();
    return open_store("s3://buck", settings);
}

static int run_with(struct scene *s, const char *settings, enum what what, unsigned times,
                    struct bkt_err *err)
{
    name_it(s, what, times == 1 ? "once" : "always");
    struct bkt_store *st = arrange(s, settings, whats[what].reads);
    s->method = whats[what].method;
    s->part = whats[what].part;
    s->count = 0;
    atomic_store(&s->times, times);
    int rc = run(st, s, what, err);
    bkt_store_close(st);
    return rc;
}

static void once(struct scene *s, const char *settings, enum what what)
{
    struct bkt_err err = {0};
    int rc = run_with(s, settings, what, 1, &err);
    CHECK(rc == BKT_OK, "%s: %s (%s)", s->name, bkt_err_text(rc), first_line(&err));
    CHECK(atomic_load(&s->times) == 0, "%s: nothing was cut", s->name);
    CHECK(!whats[what].reads || s->place == HANDSHAKE || s->count >= 2, "%s: it wasn't asked for again",
          s->name);
}

static void always(struct scene *s, const char *settings, enum what what)
{
    struct bkt_err err = {0};
    int rc = run_with(s, settings, what, UINT_MAX, &err);
    bool known = what == PUT || what == DELETE || what == END; /* a look shows it */
    CHECK(rc < 0 || (known && s->place != HANDSHAKE), "%s: it succeeded", s->name);
    CHECK((rc == BKT_OK) == !*first_line(&err), "%s: %s (%s)", s->name, bkt_err_text(rc), first_line(&err));
    CHECK(rc == BKT_OK || rc == BKT_ENET || rc == BKT_EFORMAT, "%s: %s (%s)", s->name, bkt_err_text(rc),
          first_line(&err));
}

/* The client for credentials, by one try. */
static void credentials(struct scene *s, const char *url, const char *ca)
{
    char *bundle = strdup(ca);
    struct bkt_cred_place place = {.ca_bundle = bundle};
    struct bkt_cred_http req = {
        .method = "GET", .url = url, .timeout_ms = 60000, .connect_ms = 60000, .tries = 1};
    struct bkt_buf body = {0};
    struct bkt_err err = {0};
    long status = 0;
    (void)snprintf(s->name, sizeof s->name, "credentials, %s, %s %s", forms[s->form], hows[s->how],
                   places[s->place]);
    s->method = "GET";
    s->part = "db/big";
    atomic_store(&s->times, 1);
    int rc = bkt_cred_http(&place, &req, &status, &body, &err);
    CHECK(rc == BKT_ENET && *first_line(&err), "%s: %s (%s), %zu bytes", s->name, bkt_err_text(rc),
          first_line(&err), body.len);
    bkt_secret_fini(&body);
    free(bundle);
}

static void run_all(struct scene *s, const char *settings, const char *url, const char *ca, int version)
{
    const char *sample = getenv("BKT_SAMPLE");
    unsigned    step   = FEWER(1, 11) > 1 ? 11 : sample && *sample ? 5 : 1;
    if (step > 1)
        printf("TLS 1.%d: one case in %u (a sample: ./check --all takes all)\n", version, step);
    /* Steps of 5, and of 11 in both versions together, come to each form, place and way to end. */
    for (unsigned i = step == 11 && version == 2 ? 5 : 0; i < FORMS * PLACES * 4; i += step) {
        s->form = i % FORMS;
        s->place = i / FORMS % PLACES;
        s->how = i / FORMS / PLACES;
        for (enum what what = 0; what < WHATS; what++)
            if (is_sample(what, s->place, version) && !is_left_out(what, s->form, s->place, s->how)) {
                once(s, settings, what);
                always(s, settings, what);
            }
        if (!is_left_out(GET, s->form, s->place, s->how))
            credentials(s, url, ca);
    }
}

static void test_version(struct server *server, struct scene *s, const char *dir, int version)
{
    char cert[200], key[200], ca[200], settings[500], url[100];
    struct bkt_err err = {0};
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    (void)snprintf(key, sizeof key, "%s/key.pem", dir);
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", dir);
    struct tls_front *f = tls_front_start(cert, key, version, server_port(server));
    if (!f)
        exit(1);
    tls_front_cut(f, is_cut, s);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/buck/db/big", tls_front_port(f));
    (void)snprintf(settings, sizeof settings,
                   "endpoint=https://127.0.0.1:%u;ca_bundle=%s;retries=2;test.backoff_ms=1;test.upload_part=65536",
                   tls_front_port(f), ca);
    struct bkt_store *st = open_store("s3://buck", settings);
    s->fake.no_meta = true; /* as other programs wrote it: it has no sum that would show a missing part */
    CHECK(bkt_store_put(st, "db/big", big, BIG, NULL, NULL, NULL, &err) == BKT_OK, "%s", first_line(&err));
    bkt_store_close(st);
    s->fake.no_meta = false;
    run_all(s, settings, url, ca, version);
    bkt_store_shutdown();
    tls_front_stop(f);
}

int main(void)
{
    char dir[] = "/tmp/bkt-cut-XXXXXX", command[1000];
    static struct scene s = {.method = "-"};
    const char *source = getenv("BKT_SOURCE");
    (void)setenv("AWS_ACCESS_KEY_ID", "a", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "b", 1);
    if (system("openssl version >/dev/null 2>&1") != 0)
        return skip("no openssl program");
    (void)snprintf(command, sizeof command, "'%s/test/s3/certificate.sh' '%s'", source ? source : ".",
                   mkdtemp(dir));
    struct server *server = system(command) == 0 ? server_start(handle, &s) : NULL;
    big = pattern(BIG);
    if (!server || !big)
        return 1;
    test_version(server, &s, dir, 3);
    test_version(server, &s, dir, 2);
    server_stop(server);
    fake_s3_fini(&s.fake);
    free(big);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) != 0 || failures != 0;
}
