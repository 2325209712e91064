/* S3 over the wire: addresses, regions, errors, conditions, keys, credentials that expire. */
#include "http/helpers/s3_testing.h"

static unsigned char data[] = "0123456789abcdef";

struct fake {
    handler_fn *handle;
    const char *text;
    int         status;
};

static void object(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    if (strcmp(r->method, "PUT") == 0)
        a->headers = "ETag: \"e\"\r\n";
    else
        answer_object(r, a, data, 16, "\"e\"");
}

static int get(struct bkt_store *st, const char *key, struct bkt_err *err)
{
    struct bkt_req r  = {.op = BKT_GET, .key = key, .len = BKT_WHOLE};
    int rc = bkt_store_perform(st, &r, 1, err);
    CHECK(rc < 0 || (r.n == 16 && memcmp(r.body.ptr, data, 16) == 0), "%s: wrong bytes", key);
    bkt_req_fini(&r);
    return rc;
}

/* ---- sent requests ---- */

static void odd_keys_are_sent_as_they_are(void)
{
    static const struct {
        const char *key, *target;
    } cases[] = {
        {"plain/key.txt", "/buck/plain/key.txt"},
        {"a b", "/buck/a%20b"},
        {"a+b", "/buck/a%2Bb"},
        {"a%41b", "/buck/a%2541b"},
        {"q?x=1#frag", "/buck/q%3Fx%3D1%23frag"},
        {"\xc3\xa4\xe2\x82\xac", "/buck/%C3%A4%E2%82%AC"},
        {"a//b/", "/buck/a//b/"},
        {"a/../b/./c", "/buck/a/../b/./c"},
        {"..", "/buck/.."},
        {"~-._!$&'()*,;=:@", "/buck/~-._%21%24%26%27%28%29%2A%2C%3B%3D%3A%40"},
        {"\\\"<>|^`{}\x01\x7f", "/buck/%5C%22%3C%3E%7C%5E%60%7B%7D%01%7F"},
    };
    struct server    *s  = server_start(object, NULL);
    struct bkt_store *st = open_s3(s, "anonymous=yes");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {0};
        struct seen    r   = {0};
        CHECK(get(st, cases[i].key, &err) == BKT_OK, "%s: %s", cases[i].key, first_line(&err));
        CHECK(server_seen(s, (unsigned)i, &r) && strcmp(r.target, cases[i].target) == 0, "%s: sent %s", cases[i].key,
              r.target);
        CHECK(!*seen_header(&r, "Authorization"), "unsigned");
    }
    bkt_store_close(st);
    server_stop(s);
}

static void requests_are_signed(void)
{
    (void)setenv("AWS_ACCESS_KEY_ID", "AKTEST", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "very-secret", 1);
    (void)setenv("AWS_SESSION_TOKEN", "tok", 1);
    struct server    *s  = server_start(object, NULL);
    struct bkt_store *st = open_s3(s, "region=eu-west-9;requester_pays=yes");
    struct bkt_err    err = {0};
    struct seen       r   = {0};
    CHECK(get(st, "k", &err) == BKT_OK, "%s", first_line(&err));
    CHECK(server_count(s) == 1 && server_seen(s, 0, &r), "one request");
    const char *auth = seen_header(&r, "Authorization");
    CHECK(strstr(auth, "Credential=AKTEST/") && strstr(auth, "/eu-west-9/s3/aws4_request") && strstr(auth, "x-amz-request-payer"),
          "Authorization: %s", auth);
    CHECK(strcmp(seen_header(&r, "x-amz-security-token"), "tok") == 0, "token");
    CHECK(strcmp(seen_header(&r, "x-amz-request-payer"), "requester") == 0, "payer");
    CHECK(strlen(seen_header(&r, "x-amz-content-sha256")) == 64, "payload hash");
    CHECK(!strstr(r.headers, "very-secret"), "no secret is sent");
    struct bkt_req put = {.op = BKT_PUT, .key = "p", .put = "abc", .put_len = 3};
    CHECK(bkt_store_perform(st, &put, 1, &err) == BKT_OK && server_seen(s, 1, &r) && server_count(s) == 2,
          "put: %s", first_line(&err));
    CHECK(strcmp(seen_header(&r, "x-amz-content-sha256"),
                 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0, "payload hash of a PUT");
    bkt_req_fini(&put);
    bkt_store_close(st);
    server_stop(s);
    (void)unsetenv("AWS_SESSION_TOKEN");
}

/* ---- conditions ---- */

static void put_and_delete(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    bool exists = strstr(r->target, "there") != NULL;
    bool fails  = (exists && strcmp(seen_header(r, "If-None-Match"), "*") == 0) ||
                 (*seen_header(r, "If-Match") && (!exists || strcmp(seen_header(r, "If-Match"), "\"e\"") != 0));
    if (fails)
        answer_error(a, 412, "PreconditionFailed", NULL);
    else if (strcmp(r->method, "DELETE") == 0)
        a->status = 204;
    else if (strcmp(r->method, "HEAD") == 0)
        a->headers = "ETag: \"e\"\r\n";
    else
        a->headers = "ETag: \"new\"\r\n";
}

static void conditions_reach_the_server(void)
{
    static const struct {
        enum bkt_op op;
        const char *key, *match, *none;
        int         want;
    } cases[] = {
        {BKT_PUT, "absent", NULL, NULL, BKT_OK},       {BKT_PUT, "absent", NULL, "*", BKT_OK},
        {BKT_PUT, "there", NULL, "*", BKT_EPRECOND},   {BKT_PUT, "there", "\"e\"", NULL, BKT_OK},
        {BKT_PUT, "there", "\"x\"", NULL, BKT_EPRECOND}, {BKT_PUT, "absent", "\"e\"", NULL, BKT_EPRECOND},
        {BKT_DELETE, "there", "\"e\"", NULL, BKT_OK},  {BKT_DELETE, "there", "\"x\"", NULL, BKT_EPRECOND},
        {BKT_DELETE, "absent", NULL, NULL, BKT_OK},
    };
    struct server    *s  = server_start(put_and_delete, NULL);
    struct bkt_store *st = open_s3(s, "anonymous=yes;test.conditional=quoted");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_req r = {.op = cases[i].op, .key = cases[i].key, .if_match = cases[i].match,
                            .if_none_match = cases[i].none, .put = "xy", .put_len = cases[i].op == BKT_PUT ? 2 : 0};
        int rc = bkt_store_perform(st, &r, 1, NULL);
        CHECK(rc == cases[i].want, "case %zu: %s", i, bkt_err_text(rc));
        CHECK(rc < 0 || cases[i].op != BKT_PUT || strcmp(r.etag, "\"new\"") == 0, "case %zu: etag %s", i, r.etag);
        bkt_req_fini(&r);
    }
    /* a DELETE with a condition looks first, and is not sent if the condition fails */
    CHECK(server_count(s) == BKT_COUNT(cases) + 1, "412 is never sent again: %u requests", server_count(s));
    bkt_store_close(st);
    server_stop(s);
    s  = server_start(object, NULL);
    st = open_s3(s, "anonymous=yes");
    static const struct {
        enum bkt_op op;
        uint64_t    off, len;
        const char *match, *none;
        int         want;
        uint64_t    n;
    } reads[] = {
        {BKT_GET, 0, BKT_WHOLE, "\"e\"", NULL, BKT_OK, 16},     {BKT_GET, 0, 4, "\"x\"", NULL, BKT_EPRECOND, 0},
        {BKT_GET, 0, BKT_WHOLE, NULL, "\"e\"", BKT_ENOTMOD, 0}, {BKT_GET, 0, 4, NULL, "\"x\"", BKT_OK, 4},
        {BKT_GET, 16, 1, NULL, NULL, BKT_ERANGE, 0},            {BKT_GET, 10, 10, NULL, NULL, BKT_EFORMAT, 0},
        {BKT_HEAD, 0, 0, NULL, NULL, BKT_OK, 0},                {BKT_HEAD, 0, 0, NULL, "\"e\"", BKT_ENOTMOD, 0},
    };
    for (size_t i = 0; i < BKT_COUNT(reads); i++) {
        struct bkt_req r = {.op = reads[i].op, .key = "k", .off = reads[i].off, .len = reads[i].len,
                            .if_match = reads[i].match, .if_none_match = reads[i].none};
        int rc = bkt_store_perform(st, &r, 1, NULL);
        CHECK(rc == reads[i].want && (rc < 0 || r.n == reads[i].n), "read %zu: %s, %lu bytes", i, bkt_err_text(rc),
              (unsigned long)r.n);
        CHECK((rc < 0 && rc != BKT_ERANGE) || r.size == 16, "read %zu: size %lu", i, (unsigned long)r.size);
        CHECK(rc < 0 || r.mtime == 1445412480, "read %zu: mtime %f", i, r.mtime);
        bkt_req_fini(&r);
    }
    struct bkt_req r = {.op = BKT_GET, .key = "k", .off = 10, .len = 10, .may_be_short = true};
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_OK && r.n == 6 && r.body.len == 6, "%lu bytes",
          (unsigned long)r.n);
    bkt_req_fini(&r);
    bkt_store_close(st);
    server_stop(s);
}

/* ---- answers ---- */

static void fixed(const struct seen *r, struct answer *a, void *arg)
{
    const struct fake *f = arg;
    (void)r;
    answer_error(a, f->status, f->text, NULL);
}

static void errors_say_what_to_do(void)
{
    static const struct {
        int         status;
        const char *code;
        int         want;
        const char *says;
    } cases[] = {
        {404, "NoSuchKey", BKT_ENOENT, "NoSuchKey"},
        {404, "NoSuchBucket", BKT_EINVAL, "the bucket does not exist"},
        {403, "AccessDenied", BKT_EACCES, "sent unsigned"},
        {403, "AccessDenied", BKT_EACCES, "request id REQ1"},
        {403, "SignatureDoesNotMatch", BKT_EACCES, "the secret key is wrong"},
        {403, "QuotaExceeded", BKT_EACCES, "used up"},
        {403, "InvalidObjectState", BKT_EACCES, "restore it first"},
        {507, "XMinioStorageFull", BKT_ENET, "no room left"},
        {400, "InvalidRequest", BKT_EINVAL, "about InvalidRequest"},
        {301, "PermanentRedirect", BKT_EINVAL, "another region"},
        {405, "MethodNotAllowed", BKT_EUNSUP, "MethodNotAllowed"},
        {409, "ConditionalRequestConflict", BKT_ENET, "Conflict"},
        {404, "NotFound", BKT_ENET, "NoSuchKey"}, /* not S3's */
        {503, "SlowDown", BKT_EBUSY, "given up after 2 retries"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct fake       f   = {.status = cases[i].status, .text = cases[i].code};
        struct server    *s   = server_start(fixed, &f);
        struct bkt_store *st  = open_s3(s, "anonymous=yes");
        struct bkt_err    err = {0};
        int               rc  = get(st, "k?", &err);
        CHECK(rc == cases[i].want && strstr(first_line(&err), cases[i].says), "%s: %s, '%s'", cases[i].code,
              bkt_err_text(rc), first_line(&err));
        CHECK(strstr(first_line(&err), "GET s3://buck/k?: HTTP "), "%s", first_line(&err));
        CHECK(server_count(s) == (cases[i].status == 503 || rc == BKT_ENET ? cases[i].status == 507 ? 1 : 3 : 1), "%s: %u requests", cases[i].code, server_count(s));
        bkt_store_close(st);
        server_stop(s);
    }
}

/* A web server before the S3 server wants https. */
struct elsewhere {
    int         status;
    const char *addressing, *location, *says, *says_not;
};

static void elsewhere(const struct seen *r, struct answer *a, void *arg)
{
    static _Thread_local char headers[200];
    const struct elsewhere   *e = arg;
    (void)r;
    (void)snprintf(headers, sizeof headers, "Content-Type: text/html\r\nLocation: %s\r\n", e->location);
    a->status  = e->status;
    a->headers = headers;
    a->body    = "<html>moved</html>";
    a->len     = strlen(a->body);
}

static void a_moved_endpoint_is_named(void)
{
    static struct elsewhere cases[] = {
        {301, "path", "https://minio.example.org/buck/k", "endpoint to https://minio.example.org,", "region"},
        {302, "path", "https://minio.example.org/buck/k", "endpoint to https://minio.example.org,", "region"},
        {307, "path", "https://minio.example.org/buck/k", "endpoint to https://minio.example.org,", "region"},
        {308, "path", "https://minio.example.org/buck/k", "endpoint to https://minio.example.org,", "region"},
        {308, "virtual", "https://buck.minio.example.org/k", "endpoint to https://minio.example.org,", "buck.minio"},
        {308, "virtual", "https://bucket.example.org/k", "endpoint to https://bucket.example.org,", "region"},
        {302, "path", "/login", "HTTP 302", "endpoint"}, /* no other server */
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct server *s = server_start(elsewhere, &cases[i]);
        char           set[200];
        (void)snprintf(set, sizeof set, "anonymous=yes;addressing=%s;endpoint=http://localhost%s", cases[i].addressing,
                       strrchr(server_url(s), ':'));
        struct bkt_store *st  = open_s3(s, set);
        struct bkt_err    err = {0};
        int               rc  = get(st, "k", &err);
        CHECK(rc < 0 && strstr(first_line(&err), cases[i].says) && !strstr(first_line(&err), cases[i].says_not) &&
                  server_count(s) == 1, "%zu: %s", i, first_line(&err));
        bkt_store_close(st);
        server_stop(s);
    }
}

static int ignore(const struct bkt_listed *e, void *arg)
{
    (void)e, (void)arg;
    return BKT_OK;
}

static int ignore_upload(const struct bkt_upload *u, void *arg)
{
    (void)u, (void)arg;
    return BKT_OK;
}

static void a_refusal_names_the_permission(void)
{
    struct fake       f    = {.status = 403, .text = "AccessDenied"};
    struct server    *s    = server_start(fixed, &f);
    struct bkt_store *st   = open_s3(s, "anonymous=yes");
    const char       *key  = "k";
    struct bkt_err    err[6] = {{0}};
    const struct {
        const char *says;
        int         rc;
    } cases[] = {
        {"also reports missing keys as 403", get(st, "k", &err[0])},
        {"s3:PutObject", bkt_store_put(st, "k", "abc", 3, NULL, NULL, NULL, &err[1])},
        {"s3:DeleteObject", bkt_store_delete(st, &key, 1, &err[2])},
        {"s3:ListBucket here", bkt_store_list(st, "x", "", ignore, NULL, &err[3])},
        {"s3:ListBucketMultipartUploads", bkt_store_uploads(st, "x", ignore_upload, NULL, &err[4])},
        {"s3:AbortMultipartUpload", bkt_store_abort(st, "k", "id", &err[5])},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        CHECK(cases[i].rc == BKT_EACCES && strstr(first_line(&err[i]), cases[i].says), "%s: %d, '%s'", cases[i].says, cases[i].rc,
              first_line(&err[i]));
    bkt_store_close(st);
    server_stop(s);
}

/* Not the fault of the request, or no fault at all. */
static void odd_ways_to_say_it(const struct seen *r, struct answer *a, void *arg)
{
    const struct fake *f = arg;
    if (strcmp(r->method, "DELETE") == 0)
        answer_error(a, r->index ? 404 : 500, r->index ? "NoSuchKey" : "InternalError", NULL);
    else if (r->index < (unsigned)f->status)
        answer_error(a, 400, "RequestTimeout", NULL);
    else if (strcmp(r->method, "PUT") == 0)
        a->headers = "ETag: \"new\"\r\n";
    else
        answer_object(r, a, data, 16, "\"e\"");
}

static void a_missing_object_counts_as_deleted(void)
{
    struct fake       f   = {.status = 0};
    struct server    *s   = server_start(odd_ways_to_say_it, &f);
    struct bkt_store *st  = open_s3(s, "anonymous=yes");
    struct bkt_err    err = {0};
    const char       *key = "k";
    for (int i = 0; i < 2; i++)
        CHECK(bkt_store_delete(st, &key, 1, &err) == BKT_OK && !err.n, "%s", first_line(&err));
    CHECK(server_count(s) == 3, "%u requests", server_count(s));
    bkt_store_close(st);
    server_stop(s);
}

static void a_server_that_waited_too_long_is_asked_again(void)
{
    for (int times = 1; times < 5; times++) {
        struct fake       f   = {.status = times};
        struct server    *s   = server_start(odd_ways_to_say_it, &f);
        struct bkt_store *st  = open_s3(s, "anonymous=yes");
        struct bkt_err    err = {0};
        int rc = times % 2 ? bkt_store_put(st, "k", "abc", 3, NULL, NULL, NULL, &err) : get(st, "k", &err);
        CHECK(times < 4 ? rc == BKT_OK : rc == BKT_EINVAL && strstr(first_line(&err), "RequestTimeout"), "%d: %s (%s)", times,
              bkt_err_text(rc), first_line(&err));
        bkt_store_close(st);
        server_stop(s);
    }
}

static const char *region_of(const struct seen *r) { return strstr(seen_header(r, "Authorization"), "/eu-north-7/"); }

static void by_document(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    if (region_of(r))
        answer_object(r, a, data, 16, "\"e\"");
    else
        answer_error(a, 400, "AuthorizationHeaderMalformed", "<Region>eu-north-7</Region>");
}
static void by_header(const struct seen *r, struct answer *a, void *arg)
{
    by_document(r, a, arg);
    if (a->status == 400) {
        a->status  = 301;
        a->len     = 0;
        a->headers = "x-amz-bucket-region: eu-north-7\r\nLocation: http://127.0.0.1:1/elsewhere\r\n";
    }
}
static void in_circles(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_error(a, 301, "PermanentRedirect", NULL);
    a->headers = r->index % 2 ? "x-amz-bucket-region: eu-one-1\r\n" : "x-amz-bucket-region: eu-two-2\r\n";
}
static void evil_region(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg, (void)r;
    answer_error(a, 400, "AuthorizationHeaderMalformed", "<Region>evil.example.org/x</Region>");
}

/* AWS names the region in refusals as well. */
static void refused_in_place(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg, (void)r;
    answer_error(a, 403, "AccessDenied", NULL);
    a->headers = "x-amz-bucket-region: us-east-1\r\n";
}

static void region_is_found(void)
{
    static const struct {
        const char *what;
        handler_fn *handle;
        int         want;
        unsigned    requests, later;
    } cases[] = {
        {"in the document", by_document, BKT_OK, 2, 1},
        {"in a header", by_header, BKT_OK, 2, 1},
        {"in circles", in_circles, BKT_EINVAL, 4, 0},
        {"the same one", refused_in_place, BKT_EACCES, 1, 0},
        {"no region's name", evil_region, BKT_EINVAL, 1, 0},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct server    *s   = server_start(cases[i].handle, NULL);
        struct bkt_store *st  = open_s3(s, "region=us-east-1");
        struct bkt_err    err = {0};
        int               rc  = get(st, "k", &err);
        CHECK(rc == cases[i].want && server_count(s) == cases[i].requests, "%s: %s (%s), %u requests", cases[i].what,
              bkt_err_text(rc), first_line(&err), server_count(s));
        server_reset(s);
        if (cases[i].later) {
            struct bkt_store *again = open_s3(s, ""); /* known in the process */
            CHECK(get(st, "k", NULL) == BKT_OK && get(again, "k", NULL) == BKT_OK && server_count(s) == 2,
                  "%s: later %u requests", cases[i].what, server_count(s));
            bkt_store_close(again);
        }
        bkt_store_close(st);
        server_stop(s);
        bkt_store_shutdown();
    }
}

/* ---- clock and credentials ---- */

static void skewed(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    /* the server lives in 2040 */
    if (strncmp(seen_header(r, "x-amz-date"), "20400101T", 9) == 0) {
        answer_object(r, a, data, 16, "\"e\"");
        return;
    }
    answer_error(a, 403, "RequestTimeTooSkewed", NULL);
    a->headers = "Date: Sun, 01 Jan 2040 12:00:00 GMT\r\n";
}

static void clock_is_set_by_the_server(void)
{
    struct server    *s   = server_start(skewed, NULL);
    struct bkt_store *st  = open_s3(s, "");
    struct bkt_err    err = {0};
    CHECK(get(st, "k", &err) == BKT_OK && server_count(s) == 2, "%s, %u requests", first_line(&err), server_count(s));
    CHECK(get(st, "k", &err) == BKT_OK && server_count(s) == 3, "%s, %u requests", first_line(&err), server_count(s));
    int64_t off = bkt_store_ahead(st) + (int64_t)time(NULL) - 2209032000; /* noon of that day; how long the test takes is left out */
    CHECK(off >= 0 && off < 3600, "%lld s", (long long)off);
    struct bkt_req head = {.op = BKT_HEAD, .key = "k"};
    CHECK(bkt_store_perform(st, &head, 1, NULL) == BKT_OK, "head");
    bkt_req_fini(&head);
    bkt_store_close(st);
    server_stop(s);
}

static void expired(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    if (strcmp(seen_header(r, "x-amz-security-token"), r->index == 0 ? "token-1" : "token-2") == 0)
        answer_object(r, a, data, 16, "\"e\"");
    else
        answer_error(a, 400, "ExpiredToken", NULL);
}

static void expired_credentials_are_renewed(void)
{
    char dir[] = "/tmp/bkt-s3-XXXXXX", config[128], cmd[256], text[1024];
    if (!mkdtemp(dir))
        exit(1);
    (void)snprintf(config, sizeof config, "%s/config", dir);
    (void)snprintf(text, sizeof text,
                   "[default]\ncredential_process = sh -c 'echo x >>%s/n; n=$(wc -l <%s/n); printf "
                   "\"{\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"AK$n\\\",\\\"SecretAccessKey\\\":\\\"s\\\","
                   "\\\"SessionToken\\\":\\\"token-$n\\\"}\"'\n", dir, dir);
    FILE *f = fopen(config, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        exit(1);
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    (void)setenv("AWS_CONFIG_FILE", config, 1);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    bkt_store_shutdown();
    struct server    *s   = server_start(expired, NULL);
    struct bkt_store *st  = open_s3(s, "");
    struct bkt_err    err = {0};
    CHECK(get(st, "k", &err) == BKT_OK && server_count(s) == 1, "%s, %u requests", first_line(&err), server_count(s));
    struct timespec nap = {1, 200000000}; /* objects fetched within the last second are not fetched again */
    (void)nanosleep(&nap, NULL);
    CHECK(get(st, "k", &err) == BKT_OK && server_count(s) == 3, "%s, %u requests", first_line(&err), server_count(s));
    CHECK(get(st, "k", &err) == BKT_OK && server_count(s) == 4, "%s, %u requests", first_line(&err), server_count(s));
    bkt_store_close(st);
    (void)setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    bkt_store_shutdown();
    st      = open_s3(s, "");
    int rc  = get(st, "k", &err);
    CHECK(rc == BKT_EACCES && server_count(s) == 4, "no credentials: %s, %u requests", bkt_err_text(rc), server_count(s));
    bkt_store_close(st);
    server_stop(s);
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    if (system(cmd) != 0)
        failures++;
    (void)setenv("AWS_ACCESS_KEY_ID", "AKTEST", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "very-secret", 1);
    bkt_store_shutdown();
}

int main(void)
{
    (void)setenv("HOME", "/nonexistent", 1);
    odd_keys_are_sent_as_they_are();
    requests_are_signed();
    conditions_reach_the_server();
    errors_say_what_to_do();
    a_moved_endpoint_is_named();
    a_refusal_names_the_permission();
    a_missing_object_counts_as_deleted();
    a_server_that_waited_too_long_is_asked_again();
    region_is_found();
    clock_is_set_by_the_server();
    expired_credentials_are_renewed();
    bkt_store_shutdown();
    return failures != 0;
}
