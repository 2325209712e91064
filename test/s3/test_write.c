/* Writing on a real server: conditions, many writers, uploads in parts; and the same behind a proxy that
 * loses answers. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/store_testing.h"

static char prefix[40];

static const char *key_of(const char *name)
{
    static char key[8][120];
    static int  i;
    i = (i + 1) % 8;
    (void)snprintf(key[i], sizeof key[i], "%s/%s", prefix, name);
    return key[i];
}

static int put(struct bkt_store *st, const char *key, const char *text, const char *match, const char *none, char *etag)
{
    struct bkt_err err = {0};
    int            rc  = bkt_store_put(st, key, text, strlen(text), match, none, etag, &err);
    if (rc < 0 && rc != BKT_EPRECOND)
        (void)printf("PUT %s: %s\n", key, first_line(&err));
    return rc;
}

static void conditions(struct bkt_store *st)
{
    char        a[BKT_ETAG_MAX] = "", b[BKT_ETAG_MAX] = "";
    const char *key = key_of("cond");
    CHECK(put(st, key, "one", NULL, "*", a) == BKT_OK && *a, "create");
    CHECK(put(st, key, "two", NULL, "*", NULL) == BKT_EPRECOND, "create twice");
    CHECK(put(st, key, "two", a, NULL, b) == BKT_OK && strcmp(a, b) != 0, "replace");
    CHECK(put(st, key, "three", a, NULL, NULL) == BKT_EPRECOND, "replace an old version");
    CHECK(put(st, key_of("none"), "x", a, NULL, NULL) == BKT_EPRECOND, "replace what is absent");
    struct bkt_req del = {.op = BKT_DELETE, .key = key, .if_match = a};
    CHECK(bkt_store_perform(st, &del, 1, NULL) == BKT_EPRECOND, "delete an old version");
    bkt_req_fini(&del);
    del.if_match = b;
    CHECK(bkt_store_perform(st, &del, 1, NULL) == BKT_OK && bkt_store_head(st, key, NULL, NULL) == BKT_ENOENT,
          "delete");
    bkt_req_fini(&del);
}

static void one_of_many_creates(struct bkt_store *st)
{
    enum { N = 24, ROUNDS = 10 };
    for (int k = 0; k < ROUNDS; k++) {
        char           name[20], text[N][16];
        struct bkt_req r[N];
        int            won = 0, lost = 0;
        (void)snprintf(name, sizeof name, "race/%d", k);
        const char *key = key_of(name);
        memset(r, 0, sizeof r);
        for (int i = 0; i < N; i++) {
            (void)snprintf(text[i], sizeof text[i], "%d", i);
            r[i] = (struct bkt_req){.op = BKT_PUT, .key = key, .put = text[i], .put_len = strlen(text[i]), .if_none_match = "*"};
        }
        (void)bkt_store_perform(st, r, N, NULL);
        struct bkt_buf out = {0};
        CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, NULL) == BKT_OK, "get");
        for (int i = 0; i < N; i++) {
            won += r[i].rc == BKT_OK;
            lost += r[i].rc == BKT_EPRECOND;
            CHECK(r[i].rc == BKT_OK || r[i].rc == BKT_EPRECOND, "%s", r[i].err ? first_line(r[i].err) : "?");
            CHECK(r[i].rc < 0 || strcmp(bkt_buf_str(&out), text[i]) == 0, "%s is there, %s said it won", bkt_buf_str(&out), text[i]);
            bkt_req_fini(&r[i]);
        }
        CHECK(won == 1 && lost == N - 1, "%d won, %d lost", won, lost);
        bkt_buf_fini(&out);
    }
}

/* Each writer adds lines of its own to one object, if they are not there yet, as the layers above do with
 * their changes. */
static int add_lines(struct bkt_store *st, const char *key, int writer, int n)
{
    for (int i = 0; i < n;) {
        char                                     line[32];
        struct bkt_req                           r    = {.op = BKT_GET, .key = key, .len = BKT_WHOLE};
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
        struct bkt_err                           err  = {0};
        (void)snprintf(line, sizeof line, "<%d.%d>", writer, i);
        int rc = bkt_store_perform(st, &r, 1, &err);
        if (rc == BKT_OK && !strstr(bkt_buf_str(&r.body), line)) {
            if (bkt_buf_addf(&text, "%s%s", bkt_buf_str(&r.body), line) < 0)
                return 1;
            rc = put(st, key, bkt_buf_str(&text), r.etag, NULL, NULL);
        }
        bkt_req_fini(&r);
        if (rc < 0 && rc != BKT_EPRECOND) {
            (void)printf("writer %d: %s\n", writer, first_line(&err));
            return 1;
        }
        i += rc == BKT_OK;
    }
    return 0;
}

static void many_writers(const char *settings, int n, int each)
{
    const char       *key = key_of("lines");
    struct bkt_store *st  = open_store("s3://hsopen", settings);
    CHECK(put(st, key, "", NULL, NULL, NULL) == BKT_OK, "put");
    bkt_store_close(st);
    bkt_store_shutdown();
    (void)fflush(stdout);
    pid_t pid[16];
    for (int i = 0; i < n; i++)
        if ((pid[i] = fork()) == 0) { /* again: a sanitizer wants no threads after fork */
            char who[12], times[12];
            (void)snprintf(who, sizeof who, "%d", i);
            (void)snprintf(times, sizeof times, "%d", each);
            (void)execl("/proc/self/exe", "s3_write", settings, key, who, times, (char *)NULL);
            _exit(127);
        }
    for (int i = 0; i < n; i++) {
        int status = 1;
        CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0, "writer %d: %d", i, status);
    }
    struct bkt_buf out = {0};
    st                 = open_store("s3://hsopen", settings);
    CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, NULL) == BKT_OK, "get");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < each; k++) {
            char line[32];
            (void)snprintf(line, sizeof line, "<%d.%d>", i, k);
            const char *at = strstr(bkt_buf_str(&out), line);
            CHECK(at && !strstr(at + 1, line), "%s: line %s is %s", settings, line, at ? "there twice" : "lost");
        }
    bkt_buf_fini(&out);
    bkt_store_close(st);
}

static void large_objects(const char *settings, size_t n, bool spoilt)
{
    char              set[400], e[BKT_ETAG_MAX] = "";
    unsigned char    *data = pattern(n);
    const char       *key  = key_of("large");
    struct bkt_err    err  = {0};
    struct bkt_buf    out  = {0};
    (void)snprintf(set, sizeof set, "test.upload_part=5M;%s", settings);
    struct bkt_store *st = open_store("s3://hsopen", set);
    (void)stats_since();
    int rc = bkt_store_put(st, key, data, n, NULL, "*", e, &err);
    CHECK(rc == BKT_OK && strstr(e, "-3"), "%s: ETag %s, of three parts", first_line(&err), e);
    struct bkt_stats d = stats_since();
    CHECK(d.put == 1 && d.bytes_out >= n && (spoilt || d.bytes_out < n + 4096), "%lu PUTs, %lu bytes", (unsigned long)d.put,
          (unsigned long)d.bytes_out);
    CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len == n && memcmp(out.ptr, data, n) == 0, "%s",
          first_line(&err));
    CHECK(bkt_store_put(st, key, data, n, NULL, "*", NULL, &err) == BKT_EPRECOND, "it exists");
    data[7] ^= 1;
    CHECK(bkt_store_put(st, key, data, n, e, NULL, e, &err) == BKT_OK, "with its ETag: %s", first_line(&err));
    data[9] ^= 1;
    CHECK(bkt_store_put(st, key, data, n, "\"00\"", NULL, NULL, &err) == BKT_EPRECOND, "with another");
    data[9] ^= 1;
    CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len == n && memcmp(out.ptr, data, n) == 0, "%s",
          first_line(&err));
    CHECK(bkt_store_delete(st, &key, 1, NULL) == BKT_OK, "delete");
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(data);
}

static int remove_it(const struct bkt_listed *e, void *arg)
{
    const char *key = e->key;
    return bkt_store_delete(arg, &key, 1, NULL);
}

/* s3_write SETTINGS KEY WRITER N */
static int one_writer(char **argv)
{
    struct bkt_store *st = open_store("s3://hsopen", argv[1]);
    int               rc = add_lines(st, argv[2], atoi(argv[3]), atoi(argv[4])); /* NOLINT(cert-err34-c): our own numbers */
    bkt_store_close(st);
    bkt_store_shutdown();
    return rc;
}

int main(int argc, char **argv)
{
    if (argc == 5)
        return one_writer(argv);
    const char *endpoint = getenv("AWS_ENDPOINT_URL"), *proxy = getenv("BKT_PROXY");
    char        set[400];
    if (!endpoint)
        return skip("no radosgw was started");
    (void)snprintf(prefix, sizeof prefix, "write-test-%d", (int)getpid());
    struct bkt_store *st = open_store("s3://hsopen", "");
    conditions(st);
    one_of_many_creates(st);
    bkt_store_close(st);
    large_objects("", 11 << 20, false);
    (void)snprintf(set, sizeof set, "endpoint=%s;ca_bundle=%s", getenv("BKT_S3_TLS_ENDPOINT"), getenv("BKT_S3_CA"));
    large_objects(set, 11 << 20, false);
    many_writers("", 8, 12);
    if (proxy) { /* which loses every fifth answer to a PUT */
        (void)snprintf(set, sizeof set, "endpoint=%s;test.backoff_ms=5", proxy);
        many_writers(set, 4, 12);
        large_objects(set, 11 << 20, true);
    }
    st = open_store("s3://hsopen", "");
    CHECK(bkt_store_list(st, prefix, "", remove_it, st, NULL) == BKT_OK, "clean up");
    bkt_store_close(st);
    bkt_store_shutdown();
    return failures != 0;
}
