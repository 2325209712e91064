/* DELETEs of one call: one request for many, and its replacement if the server doesn't know that request. */
#include "helpers/store_testing.h"
#include "http/helpers/server.h"
#include "storage/stats.h"

#define SOME 3
#define MANY 600

/* The answer to a POST; 200 without a body: all are deleted. */
struct script {
    const char *what;
    int         status;
    const char *body;   /* NULL: all are deleted; else this */
    unsigned    single; /* DELETEs of one key that follow */
    unsigned    posts;  /* of the second try */
    const char *says;   /* in the error of key 1; NULL: it is deleted */
};

static struct {
    const struct script *script;
    atomic_uint          posts, singles, keys;
    char                 last[2000]; /* body of the last POST */
    char                 md5[60];
} now;

static unsigned count_of(const char *text, size_t n, const char *what)
{
    unsigned    found = 0;
    const char *p     = text;
    while ((p = memmem(p, n - (size_t)(p - text), what, strlen(what))))
        found++, p++;
    return found;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    if (strcmp(r->method, "DELETE") == 0) {
        now.singles++;
        a->status = 204;
        return;
    }
    if (strcmp(r->method, "POST") != 0 || strcmp(r->target, "/buck?delete=") != 0) {
        answer_error(a, 400, "InvalidRequest", NULL);
        return;
    }
    now.posts++;
    now.keys += count_of(r->body, r->body_len, "<Key>");
    (void)snprintf(now.last, sizeof now.last, "%.*s", (int)r->body_len, (const char *)r->body);
    (void)snprintf(now.md5, sizeof now.md5, "%s", seen_header(r, "Content-MD5"));
    a->status = now.script->status;
    a->body   = now.script->body ? now.script->body : "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
    a->len    = strlen(a->body);
}

/* Keys 0 .. n-1; the first failure's code, each request's outcome in reqs. */
static int delete_all(struct bkt_store *st, struct bkt_req *reqs, char (*keys)[24], size_t n, struct bkt_err *err)
{
    memset(reqs, 0, n * sizeof *reqs);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "a&<%zu", i);
        reqs[i] = (struct bkt_req){.op = BKT_DELETE, .key = keys[i]};
    }
    now.posts = now.singles = now.keys = 0;
    return bkt_store_perform(st, reqs, n, err);
}

static void fini_all(struct bkt_req *reqs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bkt_req_fini(&reqs[i]);
}

#define ERROR(key, code) "<DeleteResult><Error><Key>" key "</Key><Code>" code "</Code><Message>so it is</Message></Error></DeleteResult>"

static const struct script scripts[] = {
    {"all are deleted", 200, NULL, 0, 1, NULL},
    {"those that are named, too", 200, "<DeleteResult><Deleted><Key>a&amp;&lt;1</Key></Deleted></DeleteResult>", 0, 1, NULL},
    {"one may not be deleted", 200, ERROR("a&amp;&lt;1", "AccessDenied"), 0, 1, "a&<1: AccessDenied (so it is)"},
    {"one went wrong and is tried again", 200, ERROR("a&amp;&lt;1", "InternalError"), 1, 1, NULL},
    {"one isn't there", 200, ERROR("a&amp;&lt;1", "NoSuchKey"), 0, 1, NULL},
    {"an error of a key that was not asked for", 200, ERROR("other", "AccessDenied"), SOME, 0, NULL},
    {"not implemented", 501, "<Error><Code>NotImplemented</Code></Error>", SOME, 0, NULL},
    {"not allowed", 405, "<Error><Code>MethodNotAllowed</Code></Error>", SOME, 0, NULL},
    {"a bad request", 400, "<Error><Code>MalformedXML</Code></Error>", SOME, 0, NULL},
    {"refused as such", 403, "<Error><Code>AccessDenied</Code></Error>", SOME, 1, NULL},
    {"no XML", 200, "deleted!", SOME, 0, NULL},
    {"an empty answer", 200, "", SOME, 0, NULL},
    {"XML that is cut off", 200, "<DeleteResult><Error><Key>a&amp;&lt;1</Key><Code>AccessDenied</Code></Error>", SOME, 0, NULL},
    {"another answer", 200, "<ListBucketResult></ListBucketResult>", SOME, 0, NULL},
};

static void answers(struct server *s)
{
    for (size_t i = 0; i < BKT_COUNT(scripts); i++) {
        const struct script *x = &scripts[i];
        char                 set[200], keys[SOME][24];
        struct bkt_req       reqs[SOME];
        struct bkt_err       err = {0};
        (void)snprintf(set, sizeof set, "endpoint=%s;retries=0;anonymous=yes", server_url(s));
        struct bkt_store *st = open_store("s3://buck", set);
        now.script           = x;
        int rc               = delete_all(st, reqs, keys, SOME, &err);
        CHECK(now.posts == 1 && now.keys == SOME && now.singles == x->single, "%s: %u requests with %u keys, %u of one", x->what, now.posts,
              now.keys, now.singles);
        CHECK(strstr(now.last, "<Quiet>true</Quiet>") && strstr(now.last, "<Key>a&#38;&#60;1</Key>") && strlen(now.md5) == 24, "%s: sent %s",
              x->what, now.last);
        CHECK(rc == (x->says ? BKT_EACCES : BKT_OK) && (!x->says || strstr(first_line(&err), x->says)), "%s: %d %s", x->what, rc,
              first_line(&err));
        for (size_t k = 0; k < SOME; k++)
            CHECK(reqs[k].rc == (k == 1 && x->says ? BKT_EACCES : BKT_OK), "%s: key %zu: %d", x->what, k, reqs[k].rc);
        fini_all(reqs, SOME);
        (void)delete_all(st, reqs, keys, SOME, NULL);
        CHECK(now.posts == x->posts, "%s: again %u requests for many, %u wanted", x->what, now.posts, x->posts);
        fini_all(reqs, SOME);
        bkt_store_close(st);
    }
}

/* A server in trouble doesn't get a request for each key in addition.  But 500 may also mean that it doesn't
 * know this request. */
static void trouble(struct server *s)
{
    static const struct {
        struct script answer;
        bool          known; /* many were deleted before */
        int           want;
    } cases[] = {
        {{"slow down", 503, "<Error><Code>SlowDown</Code></Error>", 0, 1, "SlowDown"}, false, BKT_EBUSY},
        {{"too many", 429, "<Error><Code>TooManyRequests</Code></Error>", 0, 1, "TooManyRequests"}, false, BKT_EBUSY},
        {{"an error at first", 500, "<Error><Code>InternalError</Code></Error>", SOME, 0, ""}, false, BKT_OK},
        {{"an error later", 500, "<Error><Code>InternalError</Code></Error>", 0, 1, "InternalError"}, true, BKT_ENET},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        const struct script *x = &cases[i].answer;
        char                 set[200], keys[SOME][24];
        struct bkt_req       reqs[SOME];
        struct bkt_err       err = {0};
        (void)snprintf(set, sizeof set, "endpoint=%s;retries=1;test.backoff_ms=1;anonymous=yes", server_url(s));
        struct bkt_store *st = open_store("s3://buck", set);
        now.script           = &scripts[0];
        if (cases[i].known) {
            CHECK(delete_all(st, reqs, keys, SOME, NULL) == BKT_OK, "%s: before", x->what);
            fini_all(reqs, SOME);
        }
        now.script = x;
        int rc     = delete_all(st, reqs, keys, SOME, &err);
        CHECK(rc == cases[i].want && strstr(first_line(&err), x->says), "%s: %d %s", x->what, rc, first_line(&err));
        CHECK(now.posts == 2 && now.singles == x->single, "%s: %u requests, %u of one", x->what, now.posts, now.singles);
        for (size_t k = 0; k < SOME; k++)
            CHECK(reqs[k].rc == cases[i].want, "%s: key %zu: %d", x->what, k, reqs[k].rc);
        fini_all(reqs, SOME);
        now.script = &scripts[0];
        CHECK(delete_all(st, reqs, keys, SOME, NULL) == BKT_OK && now.posts == x->posts, "%s: then %u requests", x->what, now.posts);
        fini_all(reqs, SOME);
        bkt_store_close(st);
    }
}

static void numbers(struct server *s)
{
    static char           keys[MANY][24];
    static struct bkt_req reqs[MANY];
    struct bkt_err        err = {0};
    struct bkt_stats      was, is;
    char                  set[200];
    (void)snprintf(set, sizeof set, "endpoint=%s;retries=0;anonymous=yes", server_url(s));
    struct bkt_store *st = open_store("s3://buck", set);
    now.script           = &scripts[0];
    bkt_stats_get(&was);
    CHECK(delete_all(st, reqs, keys, MANY, &err) == BKT_OK && now.posts == 3 && now.keys == MANY && !now.singles, "%d keys: %u, %s", MANY,
          now.posts, first_line(&err));
    bkt_stats_get(&is);
    CHECK(is.del - was.del == 3, "%d requests are counted, 3 wanted", (int)(is.del - was.del));
    fini_all(reqs, MANY);
    CHECK(delete_all(st, reqs, keys, 1, NULL) == BKT_OK && !now.posts && now.singles == 1, "a single key goes as it is");
    fini_all(reqs, 1);
    const char *odd[] = {"a\x01", "b", "\xff", "c d", " e", "f "};
    now.posts = now.singles = now.keys = 0;
    CHECK(bkt_store_delete(st, odd, 6, NULL) == BKT_OK && now.posts == 1 && now.keys == 2 && now.singles == 4,
          "a key that XML can't say goes by itself: %u, %u", now.posts, now.singles);
    struct bkt_req pair[2] = {{.op = BKT_DELETE, .key = "x"}, {.op = BKT_HEAD, .key = "y"}};
    now.posts = now.singles = 0;
    (void)bkt_store_perform(st, pair, 2, NULL);
    CHECK(!now.posts && now.singles == 1, "other requests don't go along");
    fini_all(pair, 2);
    bkt_store_close(st);
}

int main(void)
{
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    answers(s);
    trouble(s);
    numbers(s);
    bkt_store_shutdown();
    server_stop(s);
    return failures != 0;
}
