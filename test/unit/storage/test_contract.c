/* One contract, two local backends: every claim is checked on memory and on a directory. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/store_testing.h"

#include "base/os/pool.h"

static const char *which; /* for messages */
static char        dir[] = "/tmp/bkt-store-XXXXXX";

static int del(struct bkt_store *st, const char *key, const char *match)
{
    struct bkt_req r  = {.op = BKT_DELETE, .key = key, .if_match = match};
    int rc = bkt_store_perform(st, &r, 1, NULL);
    bkt_req_fini(&r);
    return rc;
}

static void ranges(struct bkt_store *st)
{
    static const struct {
        uint64_t    off, len;
        bool        may_be_short;
        int         want;
        const char *text;
    } cases[] = {
        {0, BKT_WHOLE, false, BKT_OK, "0123456789"}, {0, 10, false, BKT_OK, "0123456789"},
        {3, 4, false, BKT_OK, "3456"},               {9, 1, false, BKT_OK, "9"},
        {5, 6, false, BKT_EFORMAT, ""},              {5, 600, true, BKT_OK, "56789"},
        {10, 1, true, BKT_ERANGE, ""},               {11, 1, false, BKT_ERANGE, ""},
        {UINT64_MAX - 5, 3, true, BKT_ERANGE, ""},   {UINT64_MAX - 1, 3, true, BKT_EINVAL, ""},
        {0, 0, true, BKT_EINVAL, ""},                {1, BKT_WHOLE, true, BKT_EINVAL, ""},
    };
    CHECK(put_text(st, "r", "0123456789", NULL, NULL, NULL) == BKT_OK, "put");
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        for (int into = 0; into < (cases[i].len == BKT_WHOLE ? 1 : 2); into++) {
            char           dst[700] = "";
            struct bkt_req r = {.op = BKT_GET, .key = "r", .off = cases[i].off, .len = cases[i].len,
                                .may_be_short = cases[i].may_be_short, .dst = into ? dst : NULL};
            int rc = bkt_store_perform(st, &r, 1, NULL);
            const char *got = into ? dst : bkt_buf_str(&r.body);
            CHECK(rc == cases[i].want, "%s case %zu: %s", which, i, bkt_err_text(rc));
            CHECK(rc < 0 || (r.n == strlen(cases[i].text) && memcmp(got, cases[i].text, r.n) == 0 && r.size == 10),
                  "%s case %zu: '%s'", which, i, got);
            CHECK(rc == BKT_OK || r.err, "%s case %zu: no story", which, i);
            bkt_req_fini(&r);
        }
    CHECK(put_text(st, "empty", "", NULL, NULL, NULL) == BKT_OK, "put");
    struct bkt_buf out = {0};
    CHECK(bkt_store_get(st, "empty", 0, BKT_WHOLE, &out, NULL) == BKT_OK && out.len == 0, "%s: empty object", which);
    CHECK(bkt_store_get(st, "empty", 0, 1, &out, NULL) == BKT_ERANGE, "%s: range of an empty object", which);
    CHECK(bkt_store_get(st, "nope", 0, BKT_WHOLE, &out, NULL) == BKT_ENOENT, "%s: absent", which);
    uint64_t size = 0;
    CHECK(bkt_store_head(st, "r", &size, NULL) == BKT_OK && size == 10, "%s: head", which);
    CHECK(bkt_store_head(st, "nope", &size, NULL) == BKT_ENOENT, "%s: head of what is absent", which);
    bkt_buf_fini(&out);
}

static void conditions(struct bkt_store *st)
{
    char a[BKT_ETAG_MAX], b[BKT_ETAG_MAX], c[BKT_ETAG_MAX];
    CHECK(put_text(st, "c/x", "one", NULL, "*", a) == BKT_OK, "%s: create", which);
    CHECK(put_text(st, "c/x", "two", NULL, "*", NULL) == BKT_EPRECOND, "%s: create twice", which);
    CHECK(put_text(st, "c/x", "two", a, NULL, b) == BKT_OK && strcmp(a, b) != 0, "%s: update", which);
    CHECK(put_text(st, "c/x", "three", a, NULL, NULL) == BKT_EPRECOND, "%s: a lost race", which);
    CHECK(put_text(st, "c/none", "x", a, NULL, NULL) == BKT_EPRECOND, "%s: update of what is absent", which);
    struct bkt_req r = {.op = BKT_GET, .key = "c/x", .len = BKT_WHOLE, .if_none_match = b};
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_ENOTMOD && strcmp(r.etag, b) == 0, "%s: not modified",
          which);
    r.if_none_match = a;
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_OK && strcmp(bkt_buf_str(&r.body), "two") == 0,
          "%s: modified", which);
    r.if_none_match = NULL;
    r.if_match      = a;
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_EPRECOND && !r.body.len, "%s: If-Match", which);
    bkt_req_fini(&r);
    CHECK(put_text(st, "c/x", "tw0", b, NULL, c) == BKT_OK && strcmp(b, c) != 0, "%s: same size, other bytes", which);
    CHECK(del(st, "c/x", b) == BKT_EPRECOND && del(st, "c/x", c) == BKT_OK, "%s: delete", which);
    CHECK(del(st, "c/x", NULL) == BKT_OK && del(st, "c/x", c) == BKT_EPRECOND, "%s: delete what is gone", which);
    r = (struct bkt_req){.op = BKT_GET, .key = "c/x", .len = BKT_WHOLE, .if_match = "a\r\nb: c"};
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_EINVAL, "%s: a header in an ETag", which);
    bkt_req_fini(&r);
}

static int collect(const struct bkt_listed *e, void *arg)
{
    char  *out = arg;
    size_t n   = strlen(out);
    (void)snprintf(out + n, 4096 - n, "%s%s", n ? " " : "", e->key);
    if (!e->is_prefix && (e->size != 1 || !*e->etag || e->mtime < 1e9))
        (void)snprintf(out, 4096, "bad entry %s", e->key);
    return BKT_OK;
}

static int get_same(struct bkt_store *st, uint64_t off, struct bkt_version *v)
{
    char           byte;
    struct bkt_req r  = {.op = BKT_GET, .key = "v/x", .off = off, .len = 1, .dst = &byte, .version = v};
    int rc = bkt_store_perform(st, &r, 1, NULL);
    bkt_req_fini(&r);
    return rc;
}

/* A reader with several requests gets bytes of one version, or an error. */
static void versions(struct bkt_store *st)
{
    struct bkt_version v = {.known = false}, other = v;
    CHECK(put_text(st, "v/x", "one", NULL, NULL, NULL) == BKT_OK, "%s: put", which);
    CHECK(get_same(st, 0, &v) == BKT_OK && get_same(st, 1, &v) == BKT_OK, "%s: the same one", which);
    CHECK(put_text(st, "v/x", "two", NULL, NULL, NULL) == BKT_OK, "%s: put", which);
    CHECK(get_same(st, 2, &v) == BKT_EPRECOND && get_same(st, 0, &v) == BKT_EPRECOND, "%s: replaced, of the same length", which);
    CHECK(get_same(st, 0, &other) == BKT_OK, "%s: who begins now has the new one", which);
    bkt_version_forget(&v);
    CHECK(get_same(st, 0, &v) == BKT_OK && get_same(st, 1, &v) == BKT_OK, "%s: begun again", which);
}

static void lists(struct bkt_store *st)
{
    static const char *const keys[] = {"l/a", "l/b/c", "l/b/d", "l/b.x", "l/b0", "l/z/y/x", "m"};
    static const struct {
        const char *prefix, *delimiter, *want;
    } cases[] = {
        {"l/", "", "l/a l/b.x l/b/c l/b/d l/b0 l/z/y/x"}, {"l/", "/", "l/a l/b.x l/b/ l/b0 l/z/"},
        {"l/b", "/", "l/b.x l/b/ l/b0"},                  {"l/b/", "/", "l/b/c l/b/d"},
        {"l", "/", "l/"},                                 {"l/z", "", "l/z/y/x"},
        {"nothing/", "", ""},                             {"l/a", "", "l/a"},
        {"l/a/", "", ""},                                 {"../", "", ""},
        {"m", "/", "m"},
    };
    for (size_t i = 0; i < BKT_COUNT(keys); i++)
        CHECK(put_text(st, keys[i], "x", NULL, NULL, NULL) == BKT_OK, "put");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char           out[4096] = "";
        struct bkt_err err       = {0};
        int rc = bkt_store_list(st, cases[i].prefix, cases[i].delimiter, collect, out, &err);
        CHECK(rc == BKT_OK && strcmp(out, cases[i].want) == 0, "%s, prefix '%s' delimiter '%s': %s '%s'", which,
              cases[i].prefix, cases[i].delimiter, first_line(&err), out);
    }
    CHECK(bkt_store_list(st, "", "x", collect, NULL, NULL) == BKT_EINVAL, "%s: odd delimiter", which);
    static const char *const prefixes[] = {"l/z", "l/b/", "nothing/", "l/b"};
    for (size_t n = 0; n <= BKT_COUNT(prefixes); n++) {
        char           out[4096] = "", want[4096] = "";
        struct bkt_err err       = {0};
        int            rc        = bkt_store_list_each(st, prefixes, n, collect, out, &err);
        for (size_t i = 0; i < n; i++)
            CHECK(bkt_store_list(st, prefixes[i], "", collect, want, NULL) == BKT_OK, "list");
        CHECK(rc == BKT_OK && strcmp(out, want) == 0, "%s, %zu prefixes: %s '%s'", which, n, first_line(&err), out);
    }
}

static void keys(struct bkt_store *st, bool is_file)
{
    static const struct {
        const char *key;
        int         file, mem;
    } cases[] = {
        {"", BKT_EINVAL, BKT_EINVAL},           {"/abs", BKT_EINVAL, BKT_EINVAL},   {"../up", BKT_EINVAL, BKT_ENOENT},
        {"a/../../up", BKT_EINVAL, BKT_ENOENT}, {"a//b", BKT_EINVAL, BKT_ENOENT},   {"a/", BKT_EINVAL, BKT_ENOENT},
        {"./a", BKT_EINVAL, BKT_ENOENT},        {"a/..", BKT_EINVAL, BKT_ENOENT},   {".h5bucket/tmp/x", BKT_EINVAL, BKT_ENOENT},
        {"sub", BKT_ENOENT, BKT_ENOENT},        {"sub/k/below", BKT_ENOENT, BKT_ENOENT}, {"...", BKT_ENOENT, BKT_ENOENT},
    };
    CHECK(put_text(st, "sub/k", "v", NULL, NULL, NULL) == BKT_OK, "put");
    struct bkt_buf out = {0};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        int rc = bkt_store_get(st, cases[i].key, 0, BKT_WHOLE, &out, NULL);
        CHECK(rc == (is_file ? cases[i].file : cases[i].mem), "%s: '%s' gave %s", which, cases[i].key, bkt_err_text(rc));
    }
    CHECK(put_text(st, "odd \xc3\xa4%41+?#\\k", "v", NULL, NULL, NULL) == BKT_OK, "%s: odd key", which);
    CHECK(bkt_store_get(st, "odd \xc3\xa4%41+?#\\k", 0, 1, &out, NULL) == BKT_OK && out.ptr[0] == 'v', "%s: odd key", which);
    if (is_file)
        CHECK(put_text(st, "sub/k/below", "v", NULL, NULL, NULL) == BKT_EIO, "a file is no directory");
    bkt_buf_fini(&out);
}

static void batches(struct bkt_store *st)
{
    enum { N = 500 };
    static char    key[N][16];
    struct bkt_req r[N];
    struct bkt_err err = {0};
    memset(r, 0, sizeof r);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key[i], sizeof key[i], "b/%d", i);
        r[i] = (struct bkt_req){.op = BKT_PUT, .key = key[i], .put = key[i], .put_len = strlen(key[i])};
    }
    CHECK(bkt_store_perform(st, r, N, &err) == BKT_OK, "%s: %s", which, first_line(&err));
    for (int i = 0; i < N; i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = i == 77 ? "b/none" : key[i], .len = BKT_WHOLE};
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, N, &err) == BKT_ENOENT && strstr(first_line(&err), "b/none"),
          "%s: the first failure", which);
    struct bkt_stats d = stats_since();
    CHECK(d.get == N && d.failures == 0 && d.attempts == 0, "%s: counted %lu", which, (unsigned long)d.get);
    for (int i = 0; i < N; i++) {
        CHECK(i == 77 || (r[i].rc == BKT_OK && strcmp(bkt_buf_str(&r[i].body), key[i]) == 0), "%s: %d", which, i);
        bkt_req_fini(&r[i]);
    }
    CHECK(bkt_store_perform(st, NULL, 0, NULL) == BKT_OK, "an empty batch");
}

/* Jobs of the pool that wait for the store, whose work runs in the pool. */
struct waiter {
    struct bkt_job    job;
    struct bkt_store *st;
    atomic_int       *left;
    int               rc;
};
static void wait_in_pool(struct bkt_job *job)
{
    struct waiter *w = (struct waiter *)job;
    struct bkt_req r[8];
    memset(r, 0, sizeof r);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "b/1", .len = BKT_WHOLE};
    w->rc = bkt_store_perform(w->st, r, BKT_COUNT(r), NULL);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        bkt_req_fini(&r[i]);
    atomic_fetch_sub(w->left, 1);
}
static void pool_threads_may_wait(struct bkt_store *st)
{
    enum { N = 50 };
    static struct waiter w[N];
    atomic_int           left = N;
    for (int i = 0; i < N; i++) {
        w[i] = (struct waiter){{.run = wait_in_pool}, st, &left, 1};
        bkt_pool_submit(&w[i].job);
    }
    for (int i = 0; i < 20000 && atomic_load(&left); i++)
        (void)usleep(10000);
    CHECK(atomic_load(&left) == 0, "%s: %d jobs hang", which, atomic_load(&left));
    bkt_pool_shutdown();
    for (int i = 0; i < N; i++)
        CHECK(w[i].rc == BKT_OK, "%s: job %d: %s", which, i, bkt_err_text(w[i].rc));
}

/* Read, add one, write if unchanged: no increment may be lost. */
static void *increment(void *arg)
{
    struct bkt_store *st = arg;
    for (int i = 0; i < 25;) {
        struct bkt_req r = {.op = BKT_GET, .key = "counter", .len = BKT_WHOLE};
        char           text[32];
        if (bkt_store_perform(st, &r, 1, NULL) != BKT_OK)
            return (void *)1;
        (void)snprintf(text, sizeof text, "%d", (int)strtol(bkt_buf_str(&r.body), NULL, 10) + 1);
        int rc = put_text(st, "counter", text, r.etag, NULL, NULL);
        bkt_req_fini(&r);
        if (rc != BKT_OK && rc != BKT_EPRECOND)
            return (void *)1;
        i += rc == BKT_OK;
    }
    return NULL;
}
static void updates_are_atomic(struct bkt_store *st)
{
    pthread_t t[4];
    void     *bad = NULL;
    CHECK(put_text(st, "counter", "0", NULL, NULL, NULL) == BKT_OK, "put");
    for (int i = 0; i < 4; i++)
        (void)pthread_create(&t[i], NULL, increment, st);
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(t[i], &bad);
        CHECK(!bad, "%s: thread %d failed", which, i);
    }
    struct bkt_buf out = {0};
    CHECK(bkt_store_get(st, "counter", 0, BKT_WHOLE, &out, NULL) == BKT_OK && strcmp(bkt_buf_str(&out), "100") == 0,
          "%s: counted to %s", which, bkt_buf_str(&out));
    bkt_buf_fini(&out);
}

static void conveniences(struct bkt_store *st)
{
    enum { N = 1100 };
    static char        key[N][16];
    static const char *keys[N];
    char               etag[BKT_ETAG_MAX];
    struct bkt_err     err = {0};
    CHECK(bkt_store_put(st, "w/x", "ab", 2, NULL, "*", etag, &err) == BKT_OK && *etag, "%s: %s", which, first_line(&err));
    CHECK(bkt_store_put(st, "w/x", "abc", 3, etag, NULL, etag, &err) == BKT_OK, "%s: %s", which, first_line(&err));
    CHECK(bkt_store_put(st, "w/x", "abd", 3, etag, NULL, NULL, &err) == BKT_OK, "%s: %s", which, first_line(&err));
    CHECK(bkt_store_put(st, "w/x", "abe", 3, etag, NULL, NULL, &err) == BKT_EPRECOND && err.n, "%s: an old version", which);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key[i], sizeof key[i], "w/%d", i);
        keys[i] = key[i];
        CHECK(i % 100 || bkt_store_put(st, key[i], "", 0, NULL, NULL, NULL, NULL) == BKT_OK, "%s: put", which);
    }
    CHECK(bkt_store_delete(st, keys, N, &err) == BKT_OK && bkt_store_delete(st, keys, 0, &err) == BKT_OK, "%s", which);
    for (int i = 0; i < N; i += 100)
        CHECK(bkt_store_head(st, key[i], NULL, NULL) == BKT_ENOENT, "%s: %s is still there", which, key[i]);
    keys[1] = "/bad";
    CHECK(bkt_store_head(st, "w/x", NULL, NULL) == BKT_OK, "%s: it was not named", which);
    keys[2] = "w/x";
    CHECK(bkt_store_delete(st, keys, 3, NULL) == BKT_EINVAL && bkt_store_head(st, "w/x", NULL, NULL) == BKT_ENOENT,
          "%s: the others are deleted", which);
}

static void opening(void)
{
    static const struct {
        const char *uri;
        int         want;
    } cases[] = {
        {"file:///nonexistent/dir", BKT_ENOENT}, {"file://relative", BKT_EINVAL}, {"file:///etc/passwd", BKT_ENOENT},
        {"ftp://host", BKT_EINVAL},              {"/plain", BKT_EINVAL},          {"", BKT_EINVAL},
        {"s3://", BKT_EINVAL},                   {"s3://a/b", BKT_EINVAL},        {"s3://..", BKT_EINVAL},
        {"https://", BKT_EINVAL},                {"https://u@h/", BKT_EINVAL},    {"http://h/?q", BKT_EINVAL},
    };
    struct bkt_settings set;
    CHECK(bkt_settings_init(&set, "", NULL) == BKT_OK, "settings");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_store *st;
        struct bkt_err    err = {0};
        int               rc  = bkt_store_open(cases[i].uri, &set, &st, &err);
        CHECK(rc == cases[i].want && !st && err.n, "'%s': %s", cases[i].uri, bkt_err_text(rc));
    }
    bkt_settings_fini(&set);
}

/* A sparse file takes no room on the disk and all the memory. */
static void large_objects_are_not_read_whole(const char *uri)
{
    struct bkt_store *st   = open_store(uri, "test.max_object=4096");
    char              five[5000] = "";
    struct bkt_req    put  = {.op = BKT_PUT, .key = "large", .put = five, .put_len = sizeof five};
    struct bkt_buf    out  = {0};
    struct bkt_err    err  = {0};
    CHECK(bkt_store_perform(st, &put, 1, NULL) == BKT_OK, "put");
    CHECK(bkt_store_get(st, "large", 0, BKT_WHOLE, &out, &err) == BKT_EFORMAT && strstr(err.frame[0].msg, "meta_cache"), "%s",
          err.frame[0].msg);
    CHECK(bkt_store_get(st, "large", 100, 4900, &out, NULL) == BKT_OK && out.len == 4900, "a range is what was asked for");
    bkt_buf_fini(&out);
    bkt_req_fini(&put);
    put = (struct bkt_req){.op = BKT_DELETE, .key = "large"};
    CHECK(bkt_store_perform(st, &put, 1, NULL) == BKT_OK, "delete");
    bkt_req_fini(&put);
    bkt_store_close(st);
}

/* The caller has it back: it may hold anything from now on. */
static void count_end(struct bkt_req *r)
{
    ++*(int *)r->arg;
    r->rc = BKT_OK;
}

static void a_refused_request_ends_once(const char *uri)
{
    int               ends = 0;
    struct bkt_store *st   = open_store(uri, "");
    struct bkt_req    r    = {.op = BKT_HEAD, .key = "/r", .done = count_end, .arg = &ends};
    bkt_store_start(st, &r);
    bkt_store_close(st); /* waits for all that is under way */
    CHECK(ends == 1, "%s: it ended %d times", which, ends);
    bkt_req_fini(&r);
}

static void all(const char *uri, bool is_file)
{
    which                = is_file ? "directory" : "memory";
    struct bkt_store *st = open_store(uri, "");
    CHECK(bkt_store_is_local(st) && !bkt_store_is_readonly(st), "%s", which);
    CHECK(uri[strlen(uri) - 1] != '/' || bkt_store_uri(st)[strlen(bkt_store_uri(st)) - 1] != '/', "%s", bkt_store_uri(st));
    ranges(st);
    conditions(st);
    versions(st);
    conveniences(st);
    lists(st);
    keys(st, is_file);
    batches(st);
    if (is_file)
        large_objects_are_not_read_whole(uri);
    a_refused_request_ends_once(uri);
    pool_threads_may_wait(st);
    updates_are_atomic(st);
    int n = 0, m = 0;
    CHECK(bkt_store_list(st, "", "", count_listed, &n, NULL) == BKT_OK && n > 500, "%s: %d keys", which, n);
    bkt_store_close(st);
    st = open_store(uri, "");
    CHECK(bkt_store_list(st, "", "", count_listed, &m, NULL) == BKT_OK && m == n, "%s: %d keys after opening again", which, m);
    bkt_store_close(st);
}

int main(void)
{
    char uri[64], cmd[64];
    if (!mkdtemp(dir))
        return 1;
    opening();
    all("mem:contract", false);
    (void)snprintf(uri, sizeof uri, "file://%s/", dir);
    all(uri, true);
    bkt_store_close(NULL);
    bkt_store_shutdown();
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd) != 0 || failures != 0;
}
