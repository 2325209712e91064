/* Plain HTTP: redirects, missing sizes, objects too large, no HEADs, refused requests. */
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "http/helpers/server.h"

static unsigned char *data;
#define SIZE 50000

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    const char *other = arg;
    static char head[300];
    const char *t = r->target;
    if (strcmp(t, "/base/moved") == 0) {
        a->status  = 302;
        a->headers = "Location: /base/here?x=1\r\n";
    } else if (strcmp(t, "/base/here?x=1") == 0 || strcmp(t, "/base/o") == 0 || strcmp(t, "/base/a%20%C3%A4%25") == 0) {
        answer_object(r, a, data, SIZE, NULL);
    } else if (strcmp(t, "/base/away") == 0) {
        (void)snprintf(head, sizeof head, "Location: %s/base/o\r\n", other);
        a->status  = 301;
        a->headers = head;
    } else if (strcmp(t, "/base/file") == 0) {
        a->status  = 301;
        a->headers = "Location: file:///etc/passwd\r\n";
    } else if (strcmp(t, "/base/loop") == 0) {
        a->status  = 307;
        a->headers = "Location: loop\r\n";
    } else if (strcmp(t, "/base/unsized") == 0) {
        a->body = data, a->len = SIZE, a->announce = -2;
    } else if (strcmp(t, "/base/huge") == 0) {
        a->body = data, a->len = SIZE, a->announce = INT64_C(1) << 50, a->after = CLOSE;
    } else if (strcmp(t, "/base/nothing") == 0) {
        a->status = 204;
    } else if (strcmp(t, "/base/accepted") == 0) {
        a->status = 202, a->body = data, a->len = SIZE;
    } else if (strcmp(t, "/base/part") == 0) {
        a->status = 206, a->body = data, a->len = 100, a->headers = "Content-Range: bytes 0-99/*\r\n";
    } else if (strcmp(t, "/base/short") == 0) { /* less than its own Content-Range has, once */
        a->status = 206, a->body = data + 100, a->len = r->index ? 100 : 40, a->headers = "Content-Range: bytes 100-199/*\r\n";
    } else if (strcmp(t, "/base/deaf") == 0) {
        a->body = data, a->len = SIZE, a->headers = "ETag: \"new\"\r\n";
    } else if (strcmp(t, "/base/unchanged") == 0) {
        a->status = 304;
    } else if (strcmp(t, "/base/gzip") == 0) {
        answer_object(r, a, data, SIZE, NULL);
        CHECK(!*seen_header(r, "Accept-Encoding"), "an encoding is asked for");
    } else {
        a->status = 404;
    }
}

static const struct {
    const char *what, *key;
    uint64_t    off, len;
    int         want;
    unsigned    requests;
    const char *says;
} cases[] = {
    {"whole", "o", 0, BKT_WHOLE, BKT_OK, 1, NULL},
    {"range", "o", 100, 1000, BKT_OK, 1, NULL},
    {"odd key", "a \xc3\xa4%", 0, BKT_WHOLE, BKT_OK, 1, NULL},
    {"redirect on the same server", "moved", 7, 1000, BKT_OK, 2, NULL},
    {"redirect to another server", "away", 0, BKT_WHOLE, BKT_EACCES, 1, "another server"},
    {"redirect to a file", "file", 0, BKT_WHOLE, BKT_EACCES, 1, "another server"},
    {"redirects without end", "loop", 0, BKT_WHOLE, BKT_EINVAL, 6, "too many redirects"},
    {"size not said", "unsized", 0, BKT_WHOLE, BKT_OK, 1, NULL},
    {"range of a body whose size is not said", "unsized", 30000, 20000, BKT_OK, 1, NULL},
    {"past the end of a body whose size is not said", "unsized", 50000, 10, BKT_ERANGE, 1, NULL},
    {"larger than is allowed", "huge", 0, BKT_WHOLE, BKT_EFORMAT, 1, "meta_cache"},
    {"no content for a whole", "nothing", 0, BKT_WHOLE, BKT_EFORMAT, 3, "HTTP 204"},
    {"no content for a range", "nothing", 0, 10, BKT_EFORMAT, 3, "HTTP 204"},
    {"accepted", "accepted", 0, SIZE, BKT_EFORMAT, 3, "HTTP 202"},
    {"a part that nobody asked for", "part", 0, BKT_WHOLE, BKT_EFORMAT, 3, "unknown size"},
    {"way up", "a/../../o", 0, BKT_WHOLE, BKT_EINVAL, 0, "'..'"},
    {"absent", "nope", 0, BKT_WHOLE, BKT_ENOENT, 1, "HTTP 404"},
    {"no encoding", "gzip", 0, BKT_WHOLE, BKT_OK, 1, NULL},
};

/* Answers that don't fit the request. */
static void odd_answers(struct server *s, struct bkt_store *st)
{
    static const struct {
        const char *key, *match, *none;
        uint64_t    len;
        int         want;
        const char *says;
    } odd[] = {
        {"short", NULL, NULL, 1000, BKT_OK, ""},
        {"deaf", "\"old\"", NULL, 1000, BKT_EPRECOND, "ignores If-Match"},
        {"deaf", "\"old\"", NULL, BKT_WHOLE, BKT_EPRECOND, "ignores If-Match"},
        {"deaf", "W/\"new\"", NULL, 1000, BKT_OK, ""},
        {"unchanged", NULL, NULL, BKT_WHOLE, BKT_EFORMAT, "304"},
        {"unchanged", NULL, "\"e\"", BKT_WHOLE, BKT_ENOTMOD, ""},
    };
    for (size_t i = 0; i < BKT_COUNT(odd); i++) {
        struct bkt_req r   = {.op = BKT_GET, .key = odd[i].key, .off = odd[i].len == BKT_WHOLE ? 0 : 100, .len = odd[i].len,
                              .may_be_short = true, .if_match = odd[i].match, .if_none_match = odd[i].none};
        struct bkt_err err = {0};
        server_reset(s);
        int rc = bkt_store_perform(st, &r, 1, &err);
        uint64_t n  = strcmp(odd[i].key, "short") == 0 ? 100 : 1000;
        CHECK(rc == odd[i].want && strstr(first_line(&err), odd[i].says), "odd %zu: %s (%s)", i, bkt_err_text(rc), first_line(&err));
        CHECK(rc < 0 || (r.n == n && memcmp(r.body.ptr, data + 100, n) == 0), "odd %zu: %lu bytes", i, (unsigned long)r.n);
        bkt_req_fini(&r);
    }
}

/* The thread that moves all bytes would wait for it. */
static void ca_bundle_is_a_file(void)
{
    static const char *const odd[] = {"/dev/zero", "/tmp", "fifo"};
    for (size_t i = 0; i < BKT_COUNT(odd); i++) {
        char                set_text[100], fifo[] = "/tmp/bkt_fifoXXXXXX";
        bool                is_fifo = strcmp(odd[i], "fifo") == 0;
        struct bkt_settings set;
        struct bkt_err      err = {0};
        struct bkt_store   *st  = NULL;
        if (is_fifo && (close(mkstemp(fifo)) < 0 || unlink(fifo) < 0 || mkfifo(fifo, 0600) < 0))
            exit(1);
        (void)snprintf(set_text, sizeof set_text, "ca_bundle=%s", is_fifo ? fifo : odd[i]);
        if (bkt_settings_init(&set, set_text, NULL) < 0)
            exit(1);
        int rc = bkt_store_open("https://host/x", &set, &st, &err);
        CHECK(rc == BKT_EINVAL && strstr(first_line(&err), "ca_bundle"), "%s: %s", odd[i], first_line(&err));
        bkt_settings_fini(&set);
        if (is_fifo)
            (void)unlink(fifo);
    }
}

static void messages_have_no_secrets(void)
{
    static const char *const uris[] = {"https://user:pw@host/x", "http://host/x?signature=pw", "https://host/x#pw",
                                       "https://u:p/pw@host/pw?"};
    struct bkt_settings      set;
    if (bkt_settings_init(&set, "", NULL) < 0)
        exit(1);
    for (size_t i = 0; i < BKT_COUNT(uris); i++) {
        struct bkt_err    err = {0};
        struct bkt_store *st  = NULL;
        int               rc  = bkt_store_open(uris[i], &set, &st, &err);
        CHECK(rc == BKT_EINVAL && !strstr(first_line(&err), "pw"), "%s", first_line(&err));
    }
    bkt_settings_fini(&set);
}

int main(void)
{
    data             = pattern(SIZE);
    struct server *o = server_start(handle, NULL);
    struct server *s = o ? server_start(handle, (void *)(uintptr_t)server_url(o)) : NULL;
    char           uri[100];
    if (!s)
        return 1;
    (void)snprintf(uri, sizeof uri, "%s/base/", server_url(s));
    struct bkt_store *st = open_store(uri, "retries=2;test.backoff_ms=1;test.max_object=1000000");
    CHECK(bkt_store_is_readonly(st) && !bkt_store_is_local(st), "kind");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_req r   = {.op = BKT_GET, .key = cases[i].key, .off = cases[i].off, .len = cases[i].len};
        struct bkt_err err = {0};
        server_reset(s);
        int rc = bkt_store_perform(st, &r, 1, &err);
        size_t n  = cases[i].len == BKT_WHOLE ? SIZE : (size_t)cases[i].len;
        CHECK(rc == cases[i].want && server_count(s) == cases[i].requests, "%s: %s (%s), %u requests", cases[i].what,
              bkt_err_text(rc), first_line(&err), server_count(s));
        CHECK(rc < 0 || (r.n == n && memcmp(r.body.ptr, data + cases[i].off, n) == 0), "%s: wrong bytes", cases[i].what);
        CHECK(!cases[i].says || strstr(first_line(&err), cases[i].says), "%s: %s", cases[i].what, first_line(&err));
        bkt_req_fini(&r);
    }
    odd_answers(s, st);
    messages_have_no_secrets();
    ca_bundle_is_a_file();
    CHECK(server_count(o) == 0, "the other server was asked %u times", server_count(o));
    struct bkt_req put = {.op = BKT_PUT, .key = "x", .put = "x", .put_len = 1};
    CHECK(bkt_store_perform(st, &put, 1, NULL) == BKT_EACCES, "put");
    bkt_req_fini(&put);
    CHECK(bkt_store_list(st, "", "", NULL, NULL, NULL) == BKT_EUNSUP, "list");
    uint64_t size = 0;
    CHECK(bkt_store_head(st, "o", &size, NULL) == BKT_OK && size == SIZE, "head: %lu", (unsigned long)size);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    server_stop(o);
    free(data);
    return failures != 0;
}
