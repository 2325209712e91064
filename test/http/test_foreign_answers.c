/* Answers that aren't S3's: a page, an error inside a 200, another object.  None of them counts as data, as a
 * missing object, or as a finished change; a single one does no harm. */
#include "helpers/store_testing.h"
#include "http/helpers/fake_s3.h"
#include "http/helpers/s3_testing.h"

#define OLD "old data, 23 bytes long"
#define BAD "bad data, 23 bytes long"
#define NEW "new data"

#define PAGE   "<html><head><title>Sorry</title></head></html>"
#define FAILED "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>so it is</Message></Error>"

#define SLOW     "<Error><Code>RequestTimeout</Code><Message>too slow</Message></Error>"
#define CONFLICT "<Error><Code>ConditionalRequestConflict</Code><Message>wait</Message></Error>"

#define SETTINGS "anonymous=yes;test.conditional=quoted;test.hedge=0"

static int put(struct bkt_store *st, const char *key, const char *text, const char *match, char *etag, struct bkt_err *err)
{
    return bkt_store_put(st, key, text, strlen(text), match, NULL, etag, err);
}

/* ---- one request ---- */

enum what { PUT, PUT_SAME, DELETE, DELETE_SAME, GET, GET_SAME, GET_PART, HEAD, LIST, GET_NONE, HEAD_NONE };

static const struct {
    const char     *name;
    enum what       what;
    struct fake_odd odd;
    int             want;
    unsigned        requests;
    const char     *says;  /* part of the message */
    const char     *holds; /* the object in the end; NULL: no object */
} cases[] = {
    {"PUT, an error inside",
     PUT,
     {.method = "PUT", .times = 1, .status = 200, .body = FAILED},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, an error inside, for ever",
     PUT,
     {.method = "PUT", .status = 200, .body = FAILED},
     BKT_EFORMAT,
     6,
     "InternalError",
     OLD},
    {"PUT, an error inside, though done",
     PUT,
     {.method = "PUT", .status = 200, .body = FAILED, .carry_out = true},
     BKT_OK,
     2,
     "",
     NEW},
    {"PUT, an error with an ETag",
     PUT,
     {.method = "PUT", .times = 1, .status = 200, .headers = "ETag: \"x\"\r\n", .body = FAILED},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, no ETag", PUT_SAME, {.method = "PUT", .times = 1, .status = 200}, BKT_OK, 3, "", NEW},
    {"PUT, no ETag, for ever", PUT_SAME, {.method = "PUT", .status = 200}, BKT_EFORMAT, 6, "HTTP 200", OLD},
    {"PUT, no ETag, though done",
     PUT_SAME,
     {.method = "PUT", .status = 200, .carry_out = true},
     BKT_OK,
     2,
     "",
     NEW},
    {"PUT, a page", PUT_SAME, {.method = "PUT", .times = 1, .status = 200, .body = PAGE}, BKT_OK, 3, "", NEW},
    {"PUT, 202",
     PUT,
     {.method = "PUT", .times = 1, .status = 202, .headers = "ETag: \"x\"\r\n"},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, 204 for ever", PUT, {.method = "PUT", .status = 204}, BKT_EFORMAT, 6, "HTTP 204", OLD},
    {"PUT, a page that says 404",
     PUT_SAME,
     {.method = "PUT", .times = 1, .status = 404, .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, 412 without a condition",
     PUT,
     {.method = "PUT", .times = 1, .status = 412, .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, 409 without a condition",
     PUT,
     {.method = "PUT", .times = 1, .status = 409, .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, 416", PUT, {.method = "PUT", .times = 1, .status = 416, .body = PAGE}, BKT_OK, 3, "", NEW},
    {"PUT, 304", PUT, {.method = "PUT", .times = 1, .status = 304}, BKT_OK, 3, "", NEW},
    {"PUT, a page that says 400",
     PUT_SAME,
     {.method = "PUT", .times = 1, .status = 400, .headers = "Content-Type: text/html\r\n", .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, a page that says 405",
     PUT_SAME,
     {.method = "PUT", .times = 1, .status = 405, .headers = "Content-Type: text/html\r\n", .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, a page that says 501",
     PUT_SAME,
     {.method = "PUT", .times = 1, .status = 501, .headers = "Content-Type: text/html\r\n", .body = PAGE},
     BKT_OK,
     3,
     "",
     NEW},
    {"PUT, a status of a gateway",
     PUT_SAME,
     {.method = "PUT", .times = 1, .status = 460},
     BKT_OK,
     3,
     "",
     NEW},

    {"DELETE, an error inside",
     DELETE,
     {.method = "DELETE", .times = 1, .status = 200, .body = FAILED},
     BKT_OK,
     3,
     "",
     NULL},
    {"DELETE, an error inside, for ever",
     DELETE,
     {.method = "DELETE", .status = 200, .body = FAILED},
     BKT_EFORMAT,
     6,
     "InternalError",
     OLD},
    {"DELETE, an error inside, though done",
     DELETE,
     {.method = "DELETE", .status = 200, .body = FAILED, .carry_out = true},
     BKT_OK,
     2,
     "",
     NULL},
    {"DELETE, a page that says 404",
     DELETE,
     {.method = "DELETE", .times = 1, .status = 404, .body = PAGE},
     BKT_OK,
     3,
     "",
     NULL},
    {"DELETE, that page for ever",
     DELETE,
     {.method = "DELETE", .status = 404, .body = PAGE},
     BKT_ENET,
     6,
     "Sorry",
     OLD},
    {"DELETE, 412", DELETE, {.method = "DELETE", .times = 1, .status = 412}, BKT_OK, 3, "", NULL},
    {"DELETE of a version, an error inside",
     DELETE_SAME,
     {.method = "DELETE", .times = 1, .status = 200, .body = FAILED},
     BKT_OK,
     4,
     "",
     NULL},
    {"DELETE of a version, a conflict",
     DELETE_SAME,
     {.method = "DELETE", .times = 1, .status = 409, .body = CONFLICT},
     BKT_OK,
     4,
     "",
     NULL},
    {"DELETE of a version, a conflict for ever",
     DELETE_SAME,
     {.method = "DELETE", .status = 409, .body = CONFLICT},
     BKT_EPRECOND,
     7,
     "ConditionalRequestConflict",
     OLD},
    {"DELETE of a version, too slow for ever",
     DELETE_SAME,
     {.method = "DELETE", .status = 409, .body = SLOW},
     BKT_EPRECOND,
     10,
     "RequestTimeout",
     OLD},

    {"GET, a page", GET, {.method = "GET", .times = 1, .status = 200, .body = PAGE}, BKT_OK, 2, "", OLD},
    {"GET, a page for ever",
     GET,
     {.method = "GET", .status = 200, .body = PAGE},
     BKT_EFORMAT,
     3,
     "Sorry",
     OLD},
    {"GET, an error inside",
     GET,
     {.method = "GET", .times = 1, .status = 200, .body = FAILED},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET, a page as long as the object",
     GET,
     {.method = "GET", .times = 1, .status = 200, .body = BAD},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET, another object", GET_SAME, {.method = "GET", .times = 1, .instead = "db/b"}, BKT_OK, 2, "", OLD},
    {"GET, another object for ever",
     GET_SAME,
     {.method = "GET", .instead = "db/b"},
     BKT_EPRECOND,
     3,
     "has changed",
     OLD},
    {"GET, no ETag where one was asked for",
     GET_SAME,
     {.method = "GET", .status = 200, .body = BAD},
     BKT_EFORMAT,
     3,
     "ETag",
     OLD},
    {"GET, a weak form of the ETag",
     GET_SAME,
     {.method = "GET", .status = 200, .headers = "ETag: W/\"#\"\r\n", .body = OLD},
     BKT_OK,
     1,
     "",
     OLD},
    {"GET of a part, another range",
     GET_PART,
     {.method = "GET",
      .times = 1,
      .status = 206,
      .headers = "ETag: \"x\"\r\nContent-Range: bytes 0-5/23\r\n",
      .body = "bad da"},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET of a part, a longer body than the range",
     GET_PART,
     {.method = "GET",
      .times = 1,
      .status = 206,
      .headers = "ETag: \"x\"\r\nContent-Range: bytes 4-5/23\r\n",
      .body = "bad da"},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET of a part, none said",
     GET_PART,
     {.method = "GET", .status = 206, .headers = "ETag: \"x\"\r\n", .body = "bad da"},
     BKT_EFORMAT,
     3,
     "Content-Range",
     OLD},
    {"GET, 416 though all was asked for",
     GET,
     {.method = "GET", .times = 1, .status = 416, .body = PAGE},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET of a part, a page that says 416",
     GET_PART,
     {.method = "GET", .times = 1, .status = 416, .body = PAGE},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET, 304", GET, {.method = "GET", .times = 1, .status = 304}, BKT_OK, 2, "", OLD},
    {"GET, 412", GET, {.method = "GET", .times = 1, .status = 412}, BKT_OK, 2, "", OLD},
    {"GET, 409", GET, {.method = "GET", .times = 1, .status = 409}, BKT_OK, 2, "", OLD},
    {"GET, 202",
     GET,
     {.method = "GET", .times = 1, .status = 202, .headers = "ETag: \"x\"\r\n", .body = BAD},
     BKT_OK,
     2,
     "",
     OLD},

    {"GET, a page that says 404",
     GET,
     {.method = "GET", .times = 1, .status = 404, .body = PAGE},
     BKT_OK,
     2,
     "",
     OLD},
    {"GET, that page for ever",
     GET,
     {.method = "GET", .status = 404, .body = PAGE},
     BKT_ENET,
     3,
     "Sorry",
     OLD},
    {"GET, 404 without a word",
     GET,
     {.method = "GET", .status = 404, .headers = "x-amz-request-id: R7\r\n"},
     BKT_ENET,
     3,
     "request id R7",
     OLD},
    {"GET, another error that says 404",
     GET,
     {.method = "GET", .status = 404, .body = "<Error><Code>NoSuchThing</Code></Error>"},
     BKT_ENET,
     3,
     "NoSuchThing",
     OLD},
    {"GET, no bucket",
     GET,
     {.method = "GET", .status = 404, .body = "<Error><Code>NoSuchBucket</Code></Error>"},
     BKT_EINVAL,
     1,
     "NoSuchBucket",
     OLD},
    {"GET, a status of a firewall", GET, {.method = "GET", .times = 1, .status = 418}, BKT_OK, 2, "", OLD},
    {"GET, a firewall's page for ever",
     GET,
     {.method = "GET", .status = 418, .body = PAGE},
     BKT_ENET,
     3,
     "Sorry",
     OLD},
    {"GET, 410", GET, {.method = "GET", .times = 1, .status = 410, .body = PAGE}, BKT_OK, 2, "", OLD},
    {"GET of nothing", GET_NONE, {.method = NULL}, BKT_ENOENT, 1, "NoSuchKey", OLD},

    {"HEAD, 404 without a mark",
     HEAD,
     {.method = "HEAD", .times = 1, .status = 404, .headers = "Content-Type: text/html\r\n"},
     BKT_OK,
     3,
     "",
     OLD},
    {"HEAD, 404 without a mark, of nothing",
     HEAD_NONE,
     {.method = "HEAD", .status = 404, .headers = "Server: x\r\n"},
     BKT_ENOENT,
     2,
     "NoSuchKey",
     OLD},
    {"HEAD, a status of a gateway", HEAD, {.method = "HEAD", .times = 1, .status = 444}, BKT_OK, 2, "", OLD},
    {"HEAD of nothing", HEAD_NONE, {.method = NULL}, BKT_ENOENT, 1, "HTTP 404", OLD},
    {"HEAD, 404 of S3's",
     HEAD_NONE,
     {.method = "HEAD", .status = 404, .headers = "x-amz-request-id: R7\r\n"},
     BKT_ENOENT,
     1,
     "R7",
     OLD},
    {"HEAD without an ETag", HEAD, {.method = "HEAD", .times = 1, .status = 200}, BKT_OK, 2, "", OLD},
    {"HEAD, 412", HEAD, {.method = "HEAD", .times = 1, .status = 412}, BKT_OK, 2, "", OLD},

    {"LIST, a page", LIST, {.method = "GET", .times = 1, .status = 200, .body = PAGE}, BKT_OK, 2, "", OLD},
    {"LIST, a page for ever",
     LIST,
     {.method = "GET", .status = 200, .body = PAGE},
     BKT_EFORMAT,
     3,
     "Sorry",
     OLD},
    {"LIST, an error inside",
     LIST,
     {.method = "GET", .times = 1, .status = 200, .body = FAILED},
     BKT_OK,
     2,
     "",
     OLD},
    {"LIST, nothing", LIST, {.method = "GET", .times = 1, .status = 200}, BKT_OK, 2, "", OLD},
    {"LIST, cut short",
     LIST,
     {.method = "GET", .times = 1, .status = 200, .body = "<ListBucketResult><Contents>"},
     BKT_OK,
     2,
     "",
     OLD},
    {"LIST, a page that says 404",
     LIST,
     {.method = "GET", .times = 1, .status = 404, .body = PAGE},
     BKT_OK,
     2,
     "",
     OLD},
};

static int list(struct bkt_store *st, const char *name, struct bkt_err *err)
{
    unsigned n  = 0;
    int      rc = bkt_store_list(st, "db/", "", count_objects, &n, err);
    CHECK(n == (rc == BKT_OK ? 2 : 0), "%s: %u keys", name, n);
    return rc;
}

static int run(struct bkt_store *st, size_t i, const char *etag, struct bkt_err *err)
{
    enum what      what = cases[i].what;
    bool           part = what == GET_PART, same = what == GET_SAME || what == PUT_SAME || what == DELETE_SAME;
    struct bkt_req r    = {.op       = what <= PUT_SAME ? BKT_PUT : what <= DELETE_SAME ? BKT_DELETE : what == HEAD || what == HEAD_NONE ? BKT_HEAD
                                                                                                                                   : BKT_GET,
                           .key      = what == GET_NONE || what == HEAD_NONE ? "db/none" : "db/a",
                           .off      = part ? 4 : 0,
                           .len      = part ? 6 : BKT_WHOLE,
                           .put      = NEW,
                           .put_len  = strlen(NEW),
                           .if_match = same ? etag : NULL};
    int rc = bkt_store_perform(st, &r, 1, err);
    const char    *want = part ? &OLD[4] : OLD;
    if (rc == BKT_OK && r.op == BKT_GET)
        CHECK(r.n == (part ? 6 : strlen(OLD)) && memcmp(r.body.ptr, want, r.n) == 0, "%s: other bytes", cases[i].name);
    if (rc == BKT_OK && r.op == BKT_HEAD)
        CHECK(r.size == strlen(OLD) && r.etag[0], "%s: size %lu, ETag %s", cases[i].name, (unsigned long)r.size, r.etag);
    bkt_req_fini(&r);
    return rc;
}

static void run_case(size_t i)
{
    struct fake_s3    f  = {0};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, SETTINGS);
    char              e[BKT_ETAG_MAX] = "", headers[200];
    struct bkt_err    err             = {0};
    CHECK(put(st, "db/b", BAD, NULL, NULL, NULL) == BKT_OK && put(st, "db/a", OLD, NULL, e, NULL) == BKT_OK, "%s: put", cases[i].name);
    f.odd = cases[i].odd;
    if (f.odd.headers && strchr(f.odd.headers, '#')) { /* this ETag */
        (void)snprintf(headers, sizeof headers, "ETag: W/%s\r\n", e);
        f.odd.headers = headers;
    }
    unsigned before = server_count(s);
    int      rc     = cases[i].what == LIST ? list(st, cases[i].name, &err) : run(st, i, e, &err);
    CHECK(rc == cases[i].want, "%s: %s (%s)", cases[i].name, bkt_err_text(rc), first_line(&err));
    CHECK(strstr(first_line(&err), cases[i].says) && (rc == BKT_OK) == !err.n, "%s: %s", cases[i].name, first_line(&err));
    CHECK(server_count(s) - before == cases[i].requests, "%s: %u requests", cases[i].name, server_count(s) - before);
    struct fake_object *o = fake_s3_find(&f, "db/a");
    CHECK(cases[i].holds ? o && strcmp(o->data, cases[i].holds) == 0 : !o, "%s: it holds '%s'", cases[i].name, o ? o->data : "nothing");
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

/* A server that never shows an ETag is read as it is. */
static void answer_without_etag(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, OLD, strlen(OLD), NULL);
}

static void servers_without_etags_are_read(void)
{
    struct server    *s  = server_start(answer_without_etag, NULL);
    struct bkt_store *st = open_s3(s, SETTINGS);
    for (int i = 0; i < 2; i++) {
        struct bkt_buf out = {0};
        struct bkt_err err = {0};
        CHECK(bkt_store_get(st, "db/a", 4, 6, &out, &err) == BKT_OK && out.len == 6 && memcmp(out.ptr, &OLD[4], 6) == 0, "%s", first_line(&err));
        bkt_buf_fini(&out);
    }
    bkt_store_close(st);
    server_stop(s);
}

/* A PUT fails, the HEAD that looks for it gets a 404 without S3's mark, and the GET that makes sure another:
 * then it is sent again, under its condition. */
struct absent {
    struct fake_s3 f;
    unsigned puts, bare;
};

static void answer_absent(const struct seen *r, struct answer *a, void *arg)
{
    struct absent *x = arg;
    bool is_put = strcmp(r->method, "PUT") == 0;
    x->puts += is_put;
    x->bare += is_put && (!strstr(r->headers, "If-None-Match: *") || strstr(r->headers, "Range:"));
    fake_s3_handle(r, a, &x->f);
}

static void a_repeated_put_keeps_its_condition(void)
{
    struct absent     x   = {.f = {.odd = {.method = "HEAD", .status = 404, .headers = "Server: x\r\n"},
                                   .fault = {.nth = 1, .status = 500}}};
    struct server    *s   = server_start(answer_absent, &x);
    struct bkt_store *st  = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    CHECK(bkt_store_put(st, "db/a", NEW, strlen(NEW), NULL, "*", NULL, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(x.puts == 2 && !x.bare && x.f.odd.count == 1, "%u PUTs, %u without condition, %u HEADs", x.puts, x.bare, x.f.odd.count);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&x.f);
}

/* ---- several requests ---- */

#define BIG (3 * 65536 + 77)

static const struct {
    const char     *name;
    struct fake_odd odd;
    int             want;
    const char     *says;
} uploads[] = {
    {"begin, an error inside", {.method = "POST", .part = "uploads=", .times = 1, .status = 200, .body = FAILED}, BKT_OK, ""},
    {"begin, a page for ever", {.method = "POST", .part = "uploads=", .status = 200, .body = PAGE}, BKT_EFORMAT, "Sorry"},
    {"begin, nothing", {.method = "POST", .part = "uploads=", .times = 1, .status = 200}, BKT_OK, ""},
    {"part, an error inside", {.method = "PUT", .part = "partNumber=2", .times = 1, .status = 200, .body = FAILED}, BKT_OK, ""},
    {"part, an error inside, for ever", {.method = "PUT", .part = "partNumber=2", .status = 200, .body = FAILED}, BKT_EFORMAT, "InternalError"},
    {"part, no ETag", {.method = "PUT", .part = "partNumber=1", .times = 1, .status = 200, .carry_out = true}, BKT_OK, ""},
    {"part, a page that says 404", {.method = "PUT", .part = "partNumber=1", .times = 1, .status = 404, .body = PAGE}, BKT_OK, ""},
    {"end, an error inside", {.method = "POST", .part = "?uploadId", .times = 1, .status = 200, .body = FAILED}, BKT_OK, ""},
    {"end, an error inside, for ever", {.method = "POST", .part = "?uploadId", .status = 200, .body = FAILED}, BKT_ENET, "InternalError"},
    {"end, a page though done", {.method = "POST", .part = "?uploadId", .status = 200, .body = PAGE, .carry_out = true}, BKT_OK, ""},
    {"end, an ETag and nothing", {.method = "POST", .part = "?uploadId", .times = 1, .status = 200, .headers = "ETag: \"x\"\r\n"}, BKT_OK,
     ""},
    {"end, a page that says 404, though done", {.method = "POST", .part = "?uploadId", .status = 404, .body = PAGE, .carry_out = true}, BKT_OK,
     ""},
};

static void run_upload(size_t i)
{
    unsigned char    *data = pattern(BIG);
    struct fake_s3    f    = {.odd = uploads[i].odd};
    struct server    *s    = server_start(fake_s3_handle, &f);
    struct bkt_store *st   = open_s3(s, SETTINGS ";test.upload_part=65536");
    struct bkt_err    err  = {0};
    char              e[BKT_ETAG_MAX] = "";
    CHECK(put(st, "db/a", OLD, NULL, NULL, NULL) == BKT_OK, "%s: put", uploads[i].name);
    int                 rc = bkt_store_put(st, "db/a", data, BIG, NULL, NULL, e, &err);
    struct fake_object *o  = fake_s3_find(&f, "db/a");
    CHECK(rc == uploads[i].want && strstr(first_line(&err), uploads[i].says), "%s: %s (%s)", uploads[i].name, bkt_err_text(rc), first_line(&err));
    bool is_new = o && o->len == BIG && memcmp(o->data, data, BIG) == 0;
    CHECK(o && is_new == (rc == BKT_OK) && (is_new || strcmp(o->data, OLD) == 0), "%s: it holds %zu bytes", uploads[i].name, o ? o->len : 0);
    CHECK(rc < 0 || (o && strcmp(e, o->etag) == 0), "%s: ETag %s", uploads[i].name, e);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
    free(data);
}

/* DeleteObjects is answered with something else, and so is the first DELETE of one key that follows. */
static void many_are_deleted_in_the_end(void)
{
    static const char *const keys[] = {"db/a", "db/b", "db/c"};
    struct fake_s3           f      = {.odd = {.method = "DELETE", .times = 1, .status = 200, .body = FAILED}};
    struct server           *s      = server_start(fake_s3_handle, &f);
    struct bkt_store        *st     = open_s3(s, SETTINGS);
    struct bkt_err           err    = {0};
    for (size_t i = 0; i < BKT_COUNT(keys); i++)
        CHECK(put(st, keys[i], OLD, NULL, NULL, NULL) == BKT_OK, "put");
    f.fault = (struct fake_fault){.nth = 1, .times = 9, .status = 200, .part = "delete=", .body = FAILED};
    f.writes = 0;
    CHECK(bkt_store_delete(st, keys, BKT_COUNT(keys), &err) == BKT_OK, "%s", first_line(&err));
    CHECK(fake_s3_count(&f) == 0 && f.odd.count == 4, "%u are left, %u DELETEs", fake_s3_count(&f), f.odd.count);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        run_case(i);
    servers_without_etags_are_read();
    a_repeated_put_keeps_its_condition();
    for (size_t i = 0; i < BKT_COUNT(uploads); i++)
        run_upload(i);
    many_are_deleted_in_the_end();
    bkt_store_shutdown();
    return failures != 0;
}
