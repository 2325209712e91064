/* Requests that are sent again, how often, and the kept part of a body that broke off. */
#include "helpers/store_testing.h"
#include "http/helpers/server.h"

#define SIZE 100000
#define ETAG "\"e1\""

enum step {
    END = 0,
    OBJECT,       /* as it should be */
    CUT,          /* 40000 body bytes, then the connection closes */
    CUT_RESET,    /* the same with RST */
    CUT_STALL,    /* the same, then silence */
    CUT_OTHER,    /* the same of an object with another ETag */
    CUT_UNKNOWN,  /* the same without an ETag */
    HANG_UP,      /* no byte, RST */
    SILENT,       /* no byte, silence */
    GARBAGE,      /* no HTTP */
    LONG_REASON,  /* 503, and 3,000 characters of why in its first line */
    WRONG_RANGE, NO_RANGE, BAD_RANGE, LESS_RANGE, LONG_RANGE, OTHER_416,
    MORE_THAN_RANGE, /* the whole object, with the header of a part, and no length */
    IGNORES_RANGE,
    RETRY_AFTER, RETRY_AFTER_LONG,
};

struct script {
    const int     *steps;
    unsigned char *data;
};

static void partial(const struct seen *r, struct answer *a, const struct script *s, const char *etag, enum after after)
{
    answer_object(r, a, s->data, SIZE, etag);
    if (a->status == 200 || a->status == 206) {
        a->cut   = 40000;
        a->after = after;
    }
}

static void range_answer(struct answer *a, const struct script *s, const char *range, size_t n)
{
    static char head[200];
    (void)snprintf(head, sizeof head, "ETag: " ETAG "\r\n%s%s%s", range ? "Content-Range: " : "", range ? range : "",
                   range ? "\r\n" : "");
    a->status  = 206;
    a->headers = head;
    a->body    = s->data;
    a->len     = n;
}

static void say_at_length(struct answer *a)
{
    static char head[3100];
    a->raw   = true;
    a->body  = head;
    a->len   = (size_t)snprintf(head, sizeof head, "HTTP/1.1 503 %03000d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 7);
    a->after = CLOSE;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    struct script *s    = arg;
    int            step = OBJECT;
    for (unsigned i = 0; i <= r->index && s->steps[i]; i++)
        step = s->steps[i];
    struct seen plain = *r;
    switch (step) {
    case CUT: partial(r, a, s, ETAG, CLOSE); return;
    case CUT_RESET: partial(r, a, s, ETAG, RESET); return;
    case CUT_STALL: partial(r, a, s, ETAG, STALL); return;
    case CUT_OTHER: partial(r, a, s, "\"e0\"", CLOSE); return;
    case CUT_UNKNOWN: partial(r, a, s, NULL, CLOSE); return;
    case HANG_UP: a->silent = true, a->after = RESET; return;
    case SILENT: a->silent = true, a->after = STALL; return;
    case GARBAGE: a->raw = true, a->body = "hello, this is no HTTP\r\n\r\n", a->len = 26; return;
    case LONG_REASON: say_at_length(a); return;
    case WRONG_RANGE: range_answer(a, s, "bytes 0-4999/100000", 5000); return;
    case LESS_RANGE: range_answer(a, s, "bytes 1000-1999/100000", 1000), a->body = s->data + 1000; return;
    case NO_RANGE: range_answer(a, s, NULL, 5000); return;
    case LONG_RANGE: range_answer(a, s, "bytes 1000-2999/100000", 5000); return;
    case MORE_THAN_RANGE:
        range_answer(a, s, "bytes 1000-5999/100000", SIZE);
        a->announce = -2, a->after = CLOSE;
        return;
    case OTHER_416: a->status = 416, a->headers = "Content-Range: bytes */100000\r\n"; return;
    case BAD_RANGE: range_answer(a, s, "bytes 1000--5/x", 5000); return;
    case IGNORES_RANGE: plain.headers[0] = 0, answer_object(&plain, a, s->data, SIZE, ETAG); return;
    case RETRY_AFTER: a->status = 503, a->headers = "Retry-After: 1\r\n"; return;
    case RETRY_AFTER_LONG: a->status = 503, a->headers = "Retry-After: 100\r\n"; return;
    default: break;
    }
    if (step >= 100)
        a->status = step;
    else
        answer_object(r, a, s->data, SIZE, ETAG);
}

#define WHOLE 0, BKT_WHOLE
#define PART  1000, 5000

static const struct {
    const char *what;
    uint64_t    off, len;
    int         steps[12];
    int         want;
    unsigned    requests;
    const char *says;  /* part of the message, or NULL */
    const char *range; /* Range header of the last request */
} cases[] = {
    {"clean whole", WHOLE, {OBJECT}, BKT_OK, 1, NULL, ""},
    {"clean range", PART, {OBJECT}, BKT_OK, 1, NULL, "bytes=1000-5999"},
    {"408 then fine", WHOLE, {408, OBJECT}, BKT_OK, 2, NULL, ""},
    {"429 then fine", WHOLE, {429, OBJECT}, BKT_OK, 2, NULL, ""},
    {"500 then fine", WHOLE, {500, OBJECT}, BKT_OK, 2, NULL, ""},
    {"502 then fine", PART, {502, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"503 twice then fine", WHOLE, {503, 503, OBJECT}, BKT_OK, 3, NULL, ""},
    {"504 then fine", WHOLE, {504, OBJECT}, BKT_OK, 2, NULL, ""},
    {"503 for ever is given up after 3 retries", WHOLE, {503}, BKT_EBUSY, 4, "HTTP 503", ""},
    {"500 for ever is given up after 3 retries", WHOLE, {500}, BKT_ENET, 4, "given up after 3 retries", ""},
    {"404 is never sent again", WHOLE, {404, OBJECT}, BKT_ENOENT, 1, "HTTP 404", ""},
    {"403 is never sent again", WHOLE, {403, OBJECT}, BKT_EACCES, 1, "HTTP 403", ""},
    {"401 is never sent again", WHOLE, {401, OBJECT}, BKT_EACCES, 1, "HTTP 401", ""},
    {"400 is never sent again", WHOLE, {400, OBJECT}, BKT_EINVAL, 1, "HTTP 400", ""},
    {"501 is never sent again", WHOLE, {501, OBJECT}, BKT_EUNSUP, 1, "HTTP 501", ""},
    {"505 is never sent again", WHOLE, {505, OBJECT}, BKT_ENET, 1, "HTTP 505", ""},
    {"reset before any byte", WHOLE, {HANG_UP, OBJECT}, BKT_OK, 2, NULL, ""},
    {"resets for ever", WHOLE, {HANG_UP}, BKT_ENET, 4, "connection broken", ""},
    {"short body goes on where it broke", WHOLE, {CUT, OBJECT}, BKT_OK, 2, NULL, "bytes=40000-"},
    {"short body twice", WHOLE, {CUT, CUT, OBJECT}, BKT_OK, 3, NULL, "bytes=80000-"},
    {"reset in the body", WHOLE, {CUT_RESET, OBJECT}, BKT_OK, 2, NULL, NULL},
    {"stall in the body", WHOLE, {CUT_STALL, OBJECT}, BKT_OK, 2, NULL, "bytes=40000-"},
    {"503 after a short body keeps what came", WHOLE, {CUT, 503, OBJECT}, BKT_OK, 3, NULL, "bytes=40000-"},
    {"no ETag: from the start", WHOLE, {CUT_UNKNOWN, OBJECT}, BKT_OK, 2, NULL, ""},
    {"the object changed: from the start", WHOLE, {CUT_OTHER, OBJECT}, BKT_OK, 3, NULL, ""},
    {"the rest is sent whole", WHOLE, {CUT, IGNORES_RANGE}, BKT_OK, 2, NULL, "bytes=40000-"},
    {"silence", WHOLE, {SILENT, OBJECT}, BKT_OK, 2, NULL, ""},
    {"silence for ever", PART, {SILENT}, BKT_ENET, 4, "no byte for 100 ms", "bytes=1000-5999"},
    {"no HTTP is not asked again", WHOLE, {GARBAGE, OBJECT}, BKT_ENET, 1, "HTTP/0.9", ""},
    {"a status line of any length", WHOLE, {LONG_REASON, OBJECT}, BKT_OK, 2, NULL, ""},
    {"another range than asked, once", PART, {WRONG_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"another range than asked", PART, {WRONG_RANGE}, BKT_EFORMAT, 4, "another range", "bytes=1000-5999"},
    {"206 without Content-Range, once", PART, {NO_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"206 without Content-Range", PART, {NO_RANGE}, BKT_EFORMAT, 4, "Content-Range", "bytes=1000-5999"},
    {"206 with a bad Content-Range, once", PART, {BAD_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"206 with a bad Content-Range", PART, {BAD_RANGE}, BKT_EFORMAT, 4, "Content-Range", "bytes=1000-5999"},
    {"206 of another length than its range", PART, {LONG_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"always", PART, {LONG_RANGE}, BKT_EFORMAT, 4, "Content-Length and Content-Range differ", "bytes=1000-5999"},
    {"206 of more bytes than its range, once", PART, {MORE_THAN_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"206 of more bytes than its range", PART, {MORE_THAN_RANGE}, BKT_EFORMAT, 4, "more bytes", "bytes=1000-5999"},
    {"409 once", WHOLE, {409, OBJECT}, BKT_OK, 2, NULL, ""},
    {"409 for ever", WHOLE, {409}, BKT_ENET, 3, "HTTP 409", ""},
    {"412 without a condition, once", WHOLE, {412, OBJECT}, BKT_OK, 2, NULL, ""},
    {"412 without a condition", PART, {412}, BKT_ENET, 3, "no condition", "bytes=1000-5999"},
    {"304 without a condition, once", WHOLE, {304, OBJECT}, BKT_OK, 2, NULL, ""},
    {"416 without a range, once", WHOLE, {416, OBJECT}, BKT_OK, 2, NULL, ""},
    {"416 without a range", WHOLE, {416}, BKT_ENET, 3, "the request has no range", ""},
    {"416 for what the object has, once", PART, {OTHER_416, OBJECT}, BKT_OK, 2, NULL, "bytes=1000-5999"},
    {"201 once", WHOLE, {201, OBJECT}, BKT_OK, 2, NULL, ""},
    {"less than asked: the rest is asked for", PART, {LESS_RANGE, OBJECT}, BKT_OK, 2, NULL, "bytes=2000-5999"},
    {"the server ignores ranges", PART, {IGNORES_RANGE}, BKT_OK, 1, NULL, "bytes=1000-5999"},
    {"Retry-After is honoured", WHOLE, {RETRY_AFTER, OBJECT}, BKT_OK, 2, NULL, ""},
    {"Retry-After past the deadline gives up at once", WHOLE, {RETRY_AFTER_LONG, OBJECT}, BKT_EBUSY, 1, "503", ""},
};

static void run_case(size_t i, bool into_dst)
{
    struct script     s   = {cases[i].steps, pattern(SIZE)};
    struct server    *srv = server_start(handle, &s);
    struct bkt_store *st  = srv ? open_store(server_url(srv), "retries=3;test.backoff_ms=2;test.stall_ms=100;deadline_ms=20000") : NULL;
    if (!st)
        exit(1);
    unsigned char *dst = malloc(SIZE);
    struct bkt_req req = {.op = BKT_GET, .key = "o", .off = cases[i].off, .len = cases[i].len};
    struct bkt_err err = {0};
    req.dst            = into_dst ? dst : NULL;
    double         t0  = seconds();
    (void)stats_since();
    int rc = bkt_store_perform(st, &req, 1, &err);
    struct bkt_stats     d  = stats_since();
    const char          *w  = cases[i].what;
    size_t               n  = cases[i].len == BKT_WHOLE ? SIZE : (size_t)cases[i].len;
    const unsigned char *p  = into_dst ? dst : req.body.ptr;
    CHECK(rc == cases[i].want && req.rc == rc, "%s: gave %s (%s), want %s", w, bkt_err_text(rc), first_line(&err),
          bkt_err_text(cases[i].want));
    CHECK(server_count(srv) == cases[i].requests, "%s: %u requests, want %u", w, server_count(srv), cases[i].requests);
    CHECK(d.get == 1 && d.attempts == cases[i].requests && d.retries == cases[i].requests - 1,
          "%s: counted %lu attempts, %lu retries", w, (unsigned long)d.attempts, (unsigned long)d.retries);
    CHECK(d.failures == (rc < 0 && rc != BKT_ENOENT), "%s: %lu failures", w, (unsigned long)d.failures);
    CHECK(rc < 0 || (req.n == n && memcmp(p, s.data + cases[i].off, n) == 0), "%s: wrong bytes, n %lu", w,
          (unsigned long)req.n);
    CHECK(rc < 0 || (req.size == SIZE && strcmp(req.etag, ETAG) == 0), "%s: size %lu, etag %s", w,
          (unsigned long)req.size, req.etag);
    CHECK(!cases[i].says || strstr(first_line(&err), cases[i].says), "%s: says '%s'", w, first_line(&err));
    CHECK(rc == BKT_OK || err.n == 1, "%s: %u frames", w, err.n);
    struct seen last;
    if (server_seen(srv, cases[i].requests - 1, &last)) {
        const char *range = seen_header(&last, "Range");
        CHECK(!cases[i].range || strcmp(range, cases[i].range) == 0, "%s: asked for '%s', want '%s'", w, range,
              cases[i].range);
    }
    CHECK(strcmp(w, "Retry-After is honoured") != 0 || seconds() - t0 >= 0.99, "%s: after %.2f s", w, seconds() - t0);
    CHECK(seconds() - t0 < 10, "%s: took %.1f s", w, seconds() - t0);
    bkt_req_fini(&req);
    bkt_store_close(st);
    server_stop(srv);
    free(dst);
    free(s.data);
}

/* A server that is restarted in the middle of a program, or a name that can't be looked up for a moment. */
static void a_server_that_was_there_is_waited_for(void)
{
    static const int steps[] = {OBJECT, 0};
    struct script     s    = {steps, pattern(SIZE)};
    struct server    *srv  = server_start(handle, &s);
    struct bkt_store *st   = open_store(server_url(srv), "retries=5;test.backoff_ms=2;test.hedge=0");
    struct bkt_buf    body = {0};
    struct bkt_err    err  = {0};
    CHECK(bkt_store_get(st, "o", 0, BKT_WHOLE, &body, &err) == BKT_OK, "%s", first_line(&err));
    server_stop(srv);
    (void)stats_since();
    int rc = bkt_store_get(st, "o", 0, BKT_WHOLE, &body, &err);
    CHECK(rc == BKT_ENET && strstr(first_line(&err), "cannot connect"), "%s (%s)", bkt_err_text(rc), first_line(&err));
    unsigned attempts = (unsigned)stats_since().attempts;
    CHECK(attempts == 6, "%u attempts", attempts);
    bkt_buf_fini(&body);
    bkt_store_close(st);
    free(s.data);
}

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        run_case(i, false);
        if (cases[i].len != BKT_WHOLE)
            run_case(i, true);
    }
    a_server_that_was_there_is_waited_for();
    bkt_store_shutdown();
    return failures != 0;
}
