/* The S3 store on a real server: signing, odd keys, conditions, lists of several pages, addressing, errors. */
#include <unistd.h>

#include "helpers/store_testing.h"
#include "storage/stats.h"

static char prefix[40];

static struct bkt_store *open_with(const char *uri, const char *settings) { return open_store(uri, settings); }

static char *key_of(const char *name)
{
    static char key[8][300];
    static int  i;
    i = (i + 1) % 8;
    (void)snprintf(key[i], sizeof key[i], "%s/%s", prefix, name);
    return key[i];
}

static int put(struct bkt_store *st, const char *key, const void *p, size_t n, const char *none, char *etag)
{
    struct bkt_req r   = {.op = BKT_PUT, .key = key, .put = p, .put_len = n, .if_none_match = none};
    struct bkt_err err = {0};
    int rc = bkt_store_perform(st, &r, 1, &err);
    if (rc < 0 && rc != BKT_EPRECOND)
        (void)printf("PUT %s: %s\n", key, first_line(&err));
    if (etag)
        memcpy(etag, r.etag, sizeof r.etag);
    bkt_req_fini(&r);
    return rc;
}

static void odd_keys(struct bkt_store *st, const char *what)
{
    static const char *const names[] = {"plain", "a b", "a+b", "a%41b", "q?x=1#f", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a//b",
                                        "~-._!$&'()*,;=:@", "\"<>|^`{}\\", "tr/ail/"};
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        const char    *key = key_of(names[i]);
        struct bkt_buf out = {0};
        struct bkt_err err = {0};
        CHECK(put(st, key, key, strlen(key), NULL, NULL) == BKT_OK, "%s: put '%s'", what, names[i]);
        CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, &err) == BKT_OK && strcmp(bkt_buf_str(&out), key) == 0,
              "%s: get '%s': %s", what, names[i], first_line(&err));
        CHECK(bkt_store_get(st, key, 2, 3, &out, &err) == BKT_OK && out.len == 3 && memcmp(out.ptr, key + 2, 3) == 0,
              "%s: range of '%s': %s", what, names[i], first_line(&err));
        struct bkt_req del = {.op = BKT_DELETE, .key = key};
        CHECK(bkt_store_perform(st, &del, 1, &err) == BKT_OK, "%s: delete '%s': %s", what, names[i],
              first_line(&err));
        bkt_req_fini(&del);
        CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, NULL) == BKT_ENOENT, "%s: '%s' is still there", what, names[i]);
        bkt_buf_fini(&out);
    }
}

static void conditions(struct bkt_store *st)
{
    char        etag[BKT_ETAG_MAX];
    const char *key = key_of("cond");
    CHECK(put(st, key, "0123456789", 10, "*", etag) == BKT_OK && etag[0] == '"', "create: etag %s", etag);
    CHECK(put(st, key, "again", 5, "*", NULL) == BKT_EPRECOND, "create twice");
    static const struct {
        enum bkt_op op;
        uint64_t    off, len;
        bool        match, none, wrong;
        int         want;
    } cases[] = {
        {BKT_GET, 0, BKT_WHOLE, true, false, false, BKT_OK},   {BKT_GET, 0, 4, true, false, true, BKT_EPRECOND},
        {BKT_GET, 0, 4, false, true, false, BKT_ENOTMOD},      {BKT_GET, 0, 4, false, true, true, BKT_OK},
        {BKT_HEAD, 0, 0, false, false, false, BKT_OK},         {BKT_HEAD, 0, 0, false, true, false, BKT_ENOTMOD},
        {BKT_GET, 10, 4, false, false, false, BKT_ERANGE},     {BKT_GET, 8, 4, false, false, false, BKT_EFORMAT},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        const char    *e = cases[i].wrong ? "\"00000000000000000000000000000000\"" : etag;
        struct bkt_req r = {.op = cases[i].op, .key = key, .off = cases[i].off, .len = cases[i].len,
                            .if_match = cases[i].match ? e : NULL, .if_none_match = cases[i].none ? e : NULL};
        struct bkt_err err = {0};
        int rc = bkt_store_perform(st, &r, 1, &err);
        CHECK(rc == cases[i].want, "case %zu: %s (%s)", i, bkt_err_text(rc), first_line(&err));
        CHECK(rc < 0 || (r.size == 10 && r.mtime > 1e9 && strcmp(r.etag, etag) == 0), "case %zu: size %lu", i,
              (unsigned long)r.size);
        bkt_req_fini(&r);
    }
    struct bkt_req del = {.op = BKT_DELETE, .key = key};
    CHECK(bkt_store_perform(st, &del, 1, NULL) == BKT_OK, "delete");
    bkt_req_fini(&del);
}

static int count(const struct bkt_listed *e, void *arg)
{
    int *n = arg;
    n[e->is_prefix]++;
    if (!e->is_prefix && (e->size != 1 || e->mtime < 1e9 || e->etag[0] != '"'))
        n[2]++;
    return BKT_OK;
}

enum { N = 1050 };
static void run_all(struct bkt_store *st, enum bkt_op op)
{
    static char           key[N][80];
    static struct bkt_req r[N];
    struct bkt_err        err = {0};
    memset(r, 0, sizeof r);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key[i], sizeof key[i], "%s/list a+/%d/x&<%d", prefix, i % 3, i);
        r[i] = (struct bkt_req){.op = op, .key = key[i], .put = "x", .put_len = op == BKT_PUT};
    }
    CHECK(bkt_store_perform(st, r, N, &err) == BKT_OK, "%s", first_line(&err));
    for (int i = 0; i < N; i++)
        bkt_req_fini(&r[i]);
}

static void lists(struct bkt_store *st)
{
    run_all(st, BKT_PUT);
    int            n[3] = {0}, m[3] = {0}, k[3] = {0};
    struct bkt_err err = {0};
    CHECK(bkt_store_list(st, key_of("list a+/"), "", count, n, &err) == BKT_OK && n[0] == N && n[1] == 0 && n[2] == 0,
          "%d keys, %d odd; %s", n[0], n[2], first_line(&err));
    CHECK(bkt_store_list(st, key_of("list a+/"), "/", count, m, &err) == BKT_OK && m[0] == 0 && m[1] == 3,
          "%d prefixes; %s", m[1], first_line(&err));
    CHECK(bkt_store_list(st, key_of("list a+/1/"), "/", count, k, &err) == BKT_OK && k[0] == N / 3 && k[1] == 0,
          "%d keys; %s", k[0], first_line(&err));
    struct bkt_stats was, is;
    bkt_stats_get(&was);
    run_all(st, BKT_DELETE);
    bkt_stats_get(&is);
    CHECK(is.del - was.del == (N + 249) / 250, "%d requests for %d keys", (int)(is.del - was.del), N);
    n[0] = n[1] = 0;
    CHECK(bkt_store_list(st, key_of("list a+/"), "", count, n, &err) == BKT_OK && n[0] == 0, "%d keys are left", n[0]);
}

static void refusals(const char *public_uri)
{
    static const struct {
        const char *uri, *settings;
        int         want;
        const char *says;
    } cases[] = {
        {"s3://hsopen", "anonymous=yes", BKT_EACCES, "sent unsigned"},
        {"s3://no-such-bucket-here", "", BKT_EINVAL, "NoSuchBucket"},
    };
    struct bkt_buf out = {0};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_store *st  = open_with(cases[i].uri, cases[i].settings);
        struct bkt_err    err = {0};
        int               rc  = bkt_store_get(st, "home/x", 0, BKT_WHOLE, &out, &err);
        CHECK(rc == cases[i].want && strstr(first_line(&err), cases[i].says), "%s: %s (%s)", cases[i].uri,
              bkt_err_text(rc), first_line(&err));
        bkt_store_close(st);
    }
    struct bkt_store *st = open_with(public_uri, "anonymous=yes");
    CHECK(bkt_store_get(st, "home/test_user1/fx/groups.h5/.domain.json", 0, BKT_WHOLE, &out, NULL) == BKT_OK && out.len > 2,
          "a public bucket");
    bkt_store_close(st);
    char *secret = strdup(getenv("AWS_SECRET_ACCESS_KEY"));
    (void)setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
    bkt_store_shutdown();
    st                 = open_with("s3://hsopen", "");
    struct bkt_err err = {0};
    int            rc  = bkt_store_get(st, "home/x", 0, BKT_WHOLE, &out, &err);
    /* radosgw calls it AccessDenied when its STS is on, as it is for s3_sts; without, SignatureDoesNotMatch
     * as AWS does */
    CHECK(rc == BKT_EACCES && strstr(first_line(&err), "HTTP 403") && strstr(first_line(&err), "environment") &&
              !strstr(first_line(&err), "wrong;"), "wrong secret: %s (%s)", bkt_err_text(rc), first_line(&err));
    bkt_store_close(st);
    (void)setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    free(secret);
    bkt_store_shutdown();
    bkt_buf_fini(&out);
}

int main(void)
{
    const char *endpoint = getenv("AWS_ENDPOINT_URL"), *tls = getenv("BKT_S3_TLS_ENDPOINT"), *ca = getenv("BKT_S3_CA");
    if (!endpoint || !tls || !ca || !getenv("AWS_SECRET_ACCESS_KEY"))
        return skip("no radosgw was started");
    (void)snprintf(prefix, sizeof prefix, "storage-test-%d", (int)getpid());
    struct bkt_store *st = open_with("s3://hsopen", "");
    odd_keys(st, "path style");
    conditions(st);
    lists(st);
    bkt_store_close(st);
    char        set[300];
    const char *port = strrchr(endpoint, ':');
    (void)snprintf(set, sizeof set, "addressing=virtual;endpoint=%.*s://localhost%s", (int)strcspn(endpoint, ":"),
                   endpoint, port ? port : "");
    st = open_with("s3://hsopen", set);
    odd_keys(st, "bucket in the host name");
    bkt_store_close(st);
    (void)snprintf(set, sizeof set, "endpoint=%s;ca_bundle=%s", tls, ca);
    st = open_with("s3://hsopen", set);
    odd_keys(st, "TLS");
    bkt_store_close(st);
    refusals("s3://hspublic");
    bkt_store_shutdown();
    return failures != 0;
}
