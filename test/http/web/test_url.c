/* One file by its address: the address as it is sent and as it is shown, HEADs, odd servers. */
#include "http/helpers/url_testing.h"

#define SIZE 50000
static unsigned char *data;

/* The file that is replaced. */
static struct {
    const char *etag, *modified;
    size_t      size;
} file;

static void answer_part(const struct seen *r, struct answer *a, const char *range, size_t at, size_t n)
{
    (void)r;
    a->status = 206, a->body = data + at, a->len = n, a->headers = range;
}

static void answer_file(const struct seen *r, struct answer *a)
{
    static char        head[400];
    char              *range = NULL;
    unsigned long long from  = strtoull(seen_header(r, "Range") + strlen("bytes="), &range, 10), to = strtoull(range + 1, NULL, 10);
    to = to >= file.size ? file.size - 1 : to;
    (void)snprintf(head, sizeof head, "Content-Range: bytes %llu-%llu/%zu\r\n%s%s", from, to, file.size, file.etag, file.modified);
    if (from < file.size) {
        answer_part(r, a, head, from, to - from + 1);
        return;
    }
    (void)snprintf(head, sizeof head, "Content-Range: bytes */%zu\r\n", file.size);
    a->status = 416, a->headers = head;
}

static unsigned asked;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    const char *t = r->target;
    (void)arg;
    if (strcmp(r->method, "GET") != 0)
        a->status = 403;
    else if (strcmp(t, "/deaf") == 0)
        a->body = data, a->len = SIZE;
    else if (strcmp(t, "/now-and-then") == 0 && asked++ % 3 != 2)
        answer_object(r, a, data, SIZE, "\"e\"");
    else if (strcmp(t, "/now-and-then") == 0)
        a->body = data, a->len = SIZE, a->announce = asked % 2 ? -2 : -1;
    else if (strcmp(t, "/at-first") == 0 && asked++ == 0)
        answer_object(r, a, data, SIZE, "\"e\"");
    else if (strcmp(t, "/at-first") == 0)
        a->body = data, a->len = SIZE;
    else if (strcmp(t, "/unquoted") == 0)
        answer_object(r, a, data, SIZE, "e");
    else if (strcmp(t, "/huge") == 0)
        a->body = data, a->len = SIZE, a->announce = INT64_C(1) << 40, a->after = STALL;
    else if (strcmp(t, "/unsized") == 0)
        a->body = data, a->len = SIZE, a->announce = -2;
    else if (strcmp(t, "/star") == 0)
        answer_part(r, a, "Content-Range: bytes 100-199/*\r\n", 100, 100);
    else if (strcmp(t, "/other") == 0)
        answer_part(r, a, "Content-Range: bytes 200-299/50000\r\n", 200, 100);
    else if (strcmp(t, "/unnamed") == 0)
        answer_part(r, a, "", 100, 100);
    else if (strcmp(t, "/page") == 0)
        a->body = "<html>", a->len = 6, a->headers = "Content-Type: Text/HTML\r\n";
    else if (strcmp(t, "/file") == 0)
        answer_file(r, a);
    else if (strstr(r->target, "denied"))
        answer_error(a, 403, "AccessDenied", "<X/>");
    else if (strstr(r->target, "empty"))
        answer_object(r, a, data, 0, "\"e\"");
    else
        answer_object(r, a, data, SIZE, "\"e\"");
}

/* ---- addresses ---- */

static const struct {
    const char *path, *sent, *key;
} paths[] = {
    {"/f.h5", "/f.h5", "f.h5"},
    {"/a/b/f.h5", "/a/b/f.h5", "f.h5"},
    {"/a/../f.h5", "/a/../f.h5", "f.h5"},
    {"/a%2Fb/%7Ef.h5?X-Amz-Signature=ab%2Fc%3D&X-Amz-Date=1+2", "/a%2Fb/%7Ef.h5?X-Amz-Signature=ab%2Fc%3D&X-Amz-Date=1+2", "%7Ef.h5?***"},
    {"/f.h5?sig=a/b=", "/f.h5?sig=a/b=", "f.h5?***"},
    {"/f.h5#part", "/f.h5", "f.h5"},
    {"/f.h5?token=x#part", "/f.h5?token=x", "f.h5?***"},
    {"/my file \xc3\xa4.h5", "/my%20file%20%C3%A4.h5", "my%20file%20%C3%A4.h5"},
    {"/datafile/17/", "/datafile/17/", "17/"},
    {"//f.h5", "//f.h5", "f.h5"},
    {"/?id=7", "/?id=7", "?***"},
    {"?id=7", "/?id=7", "?***"},
};

static void addresses_are_sent_as_they_are(struct server *s)
{
    for (size_t i = 0; i < BKT_COUNT(paths); i++) {
        char             *key = NULL;
        struct seen      *r   = malloc(sizeof *r);
        struct bkt_store *st  = open_url(url_of(s, paths[i].path), "", &key);
        struct bkt_buf    out = {0};
        server_reset(s);
        CHECK(bkt_store_get(st, key, 5, 100, &out, NULL) == BKT_OK && out.len == 100 && memcmp(out.ptr, data + 5, 100) == 0,
              "%s: not read", paths[i].path);
        CHECK(server_seen(s, 0, r) && strcmp(r->target, paths[i].sent) == 0, "%s: '%s' was sent", paths[i].path, r->target);
        CHECK(strcmp(key, paths[i].key) == 0, "%s: key '%s'", paths[i].path, key);
        CHECK(!strchr(bkt_store_uri(st), '?') && strncmp(bkt_store_uri(st), server_url(s), strlen(server_url(s))) == 0, "%s",
              bkt_store_uri(st));
        bkt_buf_fini(&out);
        bkt_store_close(st);
        free(key);
        free(r);
    }
}

static void odd_addresses_are_refused(void)
{
    static const char *const urls[] = {"https://user:pw@host/f.h5", "https://host", "https://host/", "ftp://host/f.h5", "https:///f.h5",
                                       "http://host:port/f.h5?sig=pw", "https://ho st/f.h5", "s3://b/f.h5", "https://user@host/f.h5"};
    struct bkt_settings      set;
    if (bkt_settings_init(&set, "", NULL) < 0)
        exit(1);
    for (size_t i = 0; i < BKT_COUNT(urls); i++) {
        struct bkt_err    err = {0};
        struct bkt_store *st  = NULL;
        char             *key = NULL;
        int               rc  = bkt_url_open(urls[i], &set, &st, &key, &err);
        CHECK(rc == BKT_EINVAL && !st && !key && *first_line(&err) && !strstr(first_line(&err), "pw"), "%s: %s", urls[i],
              first_line(&err));
    }
    bkt_settings_fini(&set);
}

/* ---- requests ---- */

static void a_head_is_a_get_of_one_byte(struct server *s)
{
    static const struct {
        const char *path;
        uint64_t    size;
        int         rc;
    } cases[] = {{"/f.h5", SIZE, BKT_OK}, {"/empty.h5", 0, BKT_OK}, {"/denied.h5", 0, BKT_EACCES}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char             *key = NULL;
        struct bkt_store *st  = open_url(url_of(s, cases[i].path), "", &key);
        struct bkt_req    r   = {.op = BKT_HEAD, .key = key};
        struct bkt_err    err = {0};
        server_reset(s);
        int rc = bkt_store_perform(st, &r, 1, &err);
        CHECK(rc == cases[i].rc && server_count(s) == 1, "%s: %s, %u requests", cases[i].path, first_line(&err), server_count(s));
        CHECK(rc < 0 || (r.size == cases[i].size && (!r.size || r.mtime > 0)), "%s: %lu bytes", cases[i].path, (unsigned long)r.size);
        CHECK(rc < 0 || r.size == 0 || strcmp(r.etag, "\"e\"") == 0, "%s: ETag %s", cases[i].path, r.etag);
        CHECK(rc == BKT_OK || strstr(first_line(&err), "AccessDenied"), "%s", first_line(&err));
        bkt_req_fini(&r);
        bkt_store_close(st);
        free(key);
    }
}

static void messages_hide_the_query(struct server *s)
{
    char             *key = NULL;
    struct bkt_store *st  = open_url(url_of(s, "/denied.h5?X-Amz-Signature=pw&other=pw"), "", &key);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    CHECK(bkt_store_get(st, key, 0, 10, &out, &err) == BKT_EACCES, "not denied");
    CHECK(strstr(first_line(&err), "/denied.h5?***") && strstr(first_line(&err), "HTTP 403") && !strstr(first_line(&err), "pw"), "%s",
          first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

/* ---- servers ---- */

static const struct {
    const char *path;
    uint64_t    off, len;
    bool        may_be_short;
    int         rc;
    uint64_t    n, size;
    unsigned    requests;
    const char *says;
} odd[] = {
    {"/deaf", 0, BKT_WHOLE, false, BKT_OK, SIZE, SIZE, 1, ""},
    {"/deaf", 0, SIZE, false, BKT_OK, SIZE, SIZE, 1, ""},
    {"/deaf", 0, 2 * SIZE, true, BKT_OK, SIZE, SIZE, 1, ""},
    {"/deaf", 0, 100, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/deaf", 100, SIZE, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/huge", 0, 100, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/huge", 5, 100, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/unsized", 0, 2 * SIZE, true, BKT_OK, SIZE, SIZE, 1, ""},
    {"/unsized", 0, SIZE, true, BKT_OK, SIZE, SIZE, 1, ""},
    {"/unsized", 0, SIZE - 1, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/unsized", 100, 100, true, BKT_EUNSUP, 0, 0, 1, "the server ignores ranges"},
    {"/star", 100, 100, true, BKT_OK, 100, UINT64_MAX, 1, ""},
    {"/other", 100, 100, false, BKT_EFORMAT, 0, 0, 3, "another range than requested"},
    {"/unnamed", 100, 100, false, BKT_EFORMAT, 0, 0, 3, "Content-Range is missing"},
    {"/page", 0, 100, true, BKT_EACCES, 0, 0, 1, "a web page, not with the file"},
    {"/page", 0, BKT_WHOLE, false, BKT_EACCES, 0, 0, 1, "a web page, not with the file"},
    {"/f.h5", SIZE, 10, true, BKT_ERANGE, 0, 0, 1, "past the object's end"},
    {"/f.h5", SIZE - 10, 100, true, BKT_OK, 10, SIZE, 1, ""},
};

static void odd_servers(struct server *s)
{
    for (size_t i = 0; i < BKT_COUNT(odd); i++) {
        char             *key = NULL;
        struct bkt_store *st  = open_url(url_of(s, odd[i].path), "", &key);
        struct bkt_req    r   = {.op = BKT_GET, .key = key, .off = odd[i].off, .len = odd[i].len, .may_be_short = odd[i].may_be_short};
        struct bkt_err    err = {0};
        server_reset(s);
        int rc = bkt_store_perform(st, &r, 1, &err);
        CHECK(rc == odd[i].rc && server_count(s) == odd[i].requests && strstr(first_line(&err), odd[i].says), "odd %zu: %s (%s), %u requests",
              i, bkt_err_text(rc), first_line(&err), server_count(s));
        CHECK(rc < 0 || (r.n == odd[i].n && r.size == odd[i].size && memcmp(r.body.ptr, data + odd[i].off, r.n) == 0),
              "odd %zu: %lu bytes of %lu", i, (unsigned long)r.n, (unsigned long)r.size);
        bkt_req_fini(&r);
        bkt_store_close(st);
        free(key);
    }
}

/* The first answers have their ranges, and later ones sometimes don't. */
static void some_ranges_are_ignored(struct server *s)
{
    char             *key = NULL;
    struct bkt_store *st  = open_url(url_of(s, "/now-and-then"), "", &key);
    server_reset(s);
    for (unsigned i = 0; i < 6; i++) {
        struct bkt_buf out = {0};
        struct bkt_err err = {0};
        CHECK(bkt_store_get(st, key, 100 * i, 100, &out, &err) == BKT_OK && out.len == 100 &&
                  memcmp(out.ptr, data + (size_t)100 * i, 100) == 0,
              "range %u: %s", i, first_line(&err));
        bkt_buf_fini(&out);
    }
    CHECK(server_count(s) == 8, "%u requests", server_count(s));
    bkt_store_close(st);
    free(key);
}

/* A message that is cut would lose its end. */
static void ignored_ranges_are_reported_in_full(struct server *s)
{
    struct bkt_buf out = {0};
    struct bkt_err err = {0};
    char *key = NULL;
    struct bkt_store *st = open_url(url_of(s, "/at-first"), "", &key);
    asked = 0;
    CHECK(bkt_store_get(st, key, 0, 100, &out, &err) == BKT_OK, "%s", first_line(&err));
    server_reset(s);
    CHECK(bkt_store_get(st, key, 100, 100, &out, &err) == BKT_EFORMAT &&
              strstr(first_line(&err), "the server ignores ranges now and then; it begins with '"),
          "%s", first_line(&err));
    CHECK(server_count(s) == 3, "%u requests", server_count(s));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

/* A server whose ETags have no quotes gets them back so.  @p learned: the store has seen one before;
 * otherwise the ETag is one that was written down. */
static void unquoted_etags_fit(struct server *s, bool learned)
{
    char *key = NULL;
    struct bkt_store *st = open_url(url_of(s, "/unquoted"), "", &key);
    struct bkt_req one = {.op = BKT_GET, .key = key, .len = 100};
    struct bkt_req other = {.op = BKT_GET, .key = key, .off = 100, .len = 100, .if_match = "e"};
    struct bkt_req replaced = {.op = BKT_GET, .key = key, .off = 100, .len = 100, .if_match = "d"};
    struct bkt_err err = {0};
    if (learned)
        CHECK(bkt_store_perform(st, &one, 1, &err) == BKT_OK && strcmp(one.etag, "e") == 0, "'%s' %s",
              one.etag, first_line(&err));
    server_reset(s);
    CHECK(bkt_store_perform(st, &other, 1, &err) == BKT_OK && memcmp(other.body.ptr, data + 100, 100) == 0,
          "%s", first_line(&err));
    CHECK(server_count(s) == (learned ? 1 : 2), "%u requests", server_count(s));
    CHECK(bkt_store_perform(st, &replaced, 1, &err) == BKT_EPRECOND, "another ETag fits");
    bkt_req_fini(&one);
    bkt_req_fini(&other);
    bkt_req_fini(&replaced);
    bkt_store_close(st);
    free(key);
}

#define MONDAY  "Last-Modified: Mon, 19 Oct 2015 07:28:00 GMT\r\n"
#define TUESDAY "Last-Modified: Tue, 20 Oct 2015 07:28:00 GMT\r\n"

static const struct {
    const char *before, *before_modified, *after, *after_modified;
    size_t      size;
    int         rc;
} changes[] = {
    {"", MONDAY, "", MONDAY, SIZE, BKT_OK},
    {"", MONDAY, "", TUESDAY, SIZE, BKT_EPRECOND},
    {"", MONDAY, "", MONDAY, SIZE + 1, BKT_EPRECOND},
    {"", MONDAY, "", MONDAY, SIZE / 2 + 50, BKT_EPRECOND}, /* shorter: ends in the range */
    {"", MONDAY, "", MONDAY, 10, BKT_EPRECOND},            /* ends before the range */
    {"", "", "", "", SIZE, BKT_OK},
    {"", "", "", "", SIZE - 1, BKT_EPRECOND},
    {"ETag: W/\"1\"\r\n", MONDAY, "ETag: W/\"1\"\r\n", MONDAY, SIZE, BKT_OK},
    {"ETag: W/\"1\"\r\n", MONDAY, "ETag: W/\"2\"\r\n", MONDAY, SIZE, BKT_EPRECOND},
    {"ETag: \"1\"\r\n", MONDAY, "ETag: \"2\"\r\n", MONDAY, SIZE, BKT_EPRECOND},
    {"ETag: \"1\"\r\n", MONDAY, "", TUESDAY, SIZE, BKT_EPRECOND},
    {"ETag: \"\"\r\n", MONDAY, "ETag: \"\"\r\n", MONDAY, SIZE, BKT_OK}, /* names no version */
    {"ETag: W/\"\"\r\n", MONDAY, "ETag: W/\"\"\r\n", TUESDAY, SIZE, BKT_EPRECOND},
};

/* @p match: the request names the ETag of the first answer. */
static void read_changed(struct server *s, size_t i, bool match)
{
    char             *key   = NULL;
    struct seen      *r     = malloc(sizeof *r);
    struct bkt_store *st    = open_url(url_of(s, "/file"), "", &key);
    struct bkt_req    one   = {.op = BKT_GET, .key = key, .len = 100, .may_be_short = true};
    struct bkt_req    other = {.op = BKT_GET, .key = key, .off = SIZE / 2, .len = 100};
    struct bkt_err    err   = {0};
    file.size = SIZE, file.etag = changes[i].before, file.modified = changes[i].before_modified;
    CHECK(bkt_store_perform(st, &one, 1, &err) == BKT_OK && one.size == SIZE, "change %zu: %s", i,
          first_line(&err));
    file.size = changes[i].size, file.etag = changes[i].after, file.modified = changes[i].after_modified;
    other.if_match = match ? one.etag : NULL;
    server_reset(s);
    int rc = bkt_store_perform(st, &other, 1, &err);
    CHECK(rc == changes[i].rc && (rc == BKT_OK || strstr(first_line(&err), "replaced while it was open; open it again")),
          "change %zu: %s (%s)", i, bkt_err_text(rc), first_line(&err));
    CHECK(server_seen(s, 0, r) && !strstr(seen_header(r, "If-Match"), "W/"), "a weak ETag was sent");
    bkt_req_fini(&one);
    bkt_req_fini(&other);
    bkt_store_close(st);
    free(key);
    free(r);
}

static void replaced_files_are_noticed(struct server *s)
{
    for (size_t i = 0; i < BKT_COUNT(changes); i++) {
        read_changed(s, i, false);
        if (changes[i].before[0] && changes[i].after[0] && !strstr(changes[i].before, "\"\""))
            read_changed(s, i, true);
    }
}

int main(void)
{
    data             = pattern(2 * SIZE);
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    addresses_are_sent_as_they_are(s);
    odd_addresses_are_refused();
    a_head_is_a_get_of_one_byte(s);
    messages_hide_the_query(s);
    odd_servers(s);
    some_ranges_are_ignored(s);
    ignored_ranges_are_reported_in_full(s);
    unquoted_etags_fit(s, true);
    unquoted_etags_fit(s, false);
    replaced_files_are_noticed(s);
    bkt_store_shutdown();
    server_stop(s);
    free(data);
    return failures != 0;
}
