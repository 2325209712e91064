/* PUT over the wire: the kind of server, lost answers, other writers, uploads in parts. */
#include <pthread.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "http/helpers/fake_s3.h"
#include "http/helpers/s3_testing.h"

static int put(struct bkt_store *st, const char *text, const char *match, const char *none, char *etag, struct bkt_err *err)
{
    return bkt_store_put(st, "db/a", text, strlen(text), match, none, etag, err);
}

/* ---- the kinds ---- */

static void the_kind_of_server_is_found_out(void)
{
    static const struct {
        enum fake_kind kind;
        const char    *settings;
        int            want;   /* of the PUTs whose condition holds */
        unsigned       probes; /* PUTs */
        const char    *says;
    } cases[] = {
        {FAKE_QUOTED, "anonymous=yes", BKT_OK, 5, ""},
        {FAKE_BARE, "anonymous=yes", BKT_OK, 6, ""},
        {FAKE_DENIES, "anonymous=yes", BKT_OK, 7, ""}, /* two once more, beside the object */
        {FAKE_REFUSES, "anonymous=yes", BKT_EUNSUP, 2, "refuses If-None-Match"},
        {FAKE_DEAF, "anonymous=yes", BKT_EUNSUP, 5, "ignores If-None-Match"},
        {FAKE_HALF, "anonymous=yes", BKT_EUNSUP, 5, "ignores If-Match"},
        {FAKE_BARE, "anonymous=yes;test.conditional=bare", BKT_OK, 0, ""},
        {FAKE_QUOTED, "anonymous=yes;test.conditional=quoted", BKT_OK, 0, ""},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct fake_s3    f    = {.kind = cases[i].kind};
        struct server    *s    = server_start(fake_s3_handle, &f);
        struct bkt_store *st   = open_s3(s, cases[i].settings), *st2 = open_s3(s, cases[i].settings);
        struct bkt_err    err  = {0};
        char              e[BKT_ETAG_MAX] = "";
        int               rc   = put(st, "one", NULL, "*", e, &err);
        CHECK(rc == cases[i].want && strstr(first_line(&err), cases[i].says), "case %zu: %s", i, first_line(&err));
        CHECK(rc == BKT_OK || strstr(first_line(&err), "writers=one"), "case %zu: %s", i, first_line(&err));
        if (rc == BKT_OK) {
            CHECK(put(st, "two", NULL, "*", NULL, NULL) == BKT_EPRECOND, "case %zu: it exists", i);
            CHECK(put(st2, "two", e, NULL, e, NULL) == BKT_OK, "case %zu: the right ETag", i);
            CHECK(put(st2, "three", e, NULL, NULL, NULL) == BKT_OK, "case %zu: the next ETag", i);
            CHECK(put(st2, "four", e, NULL, NULL, NULL) == BKT_EPRECOND, "case %zu: an old ETag", i);
        }
        CHECK(f.probes == cases[i].probes, "case %zu: %u PUTs to find out", i, f.probes);
        bkt_store_close(st);
        bkt_store_close(st2);
        CHECK(fake_s3_count(&f) == (rc == BKT_OK), "case %zu: nothing is left behind", i);
        bkt_store_shutdown();
        server_stop(s);
        fake_s3_fini(&f);
    }
}

static void one_writer_sends_no_condition(void)
{
    struct fake_s3    f  = {.kind = FAKE_REFUSES};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, "anonymous=yes;writers=one");
    char              e[BKT_ETAG_MAX];
    CHECK(put(st, "one", NULL, "*", e, NULL) == BKT_OK && put(st, "two", e, NULL, NULL, NULL) == BKT_OK && !f.probes, "PUT");
    struct bkt_req del = {.op = BKT_DELETE, .key = "db/a", .if_match = e};
    CHECK(bkt_store_perform(st, &del, 1, NULL) == BKT_OK && fake_s3_count(&f) == 0, "DELETE");
    bkt_req_fini(&del);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    fake_s3_fini(&f);
}

/* While the test of the server is under way, other requests wait for its result. */
static void many_ask_at_once(void)
{
    enum { N = 40 };
    static char       key[N][16];
    struct bkt_req    r[N];
    struct fake_s3    f   = {.kind = FAKE_BARE};
    struct server    *s   = server_start(fake_s3_handle, &f);
    struct bkt_store *st  = open_s3(s, "anonymous=yes");
    struct bkt_err    err = {0};
    memset(r, 0, sizeof r);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key[i], sizeof key[i], "k/%d", i);
        r[i] = (struct bkt_req){.op = BKT_PUT, .key = key[i], .put = key[i], .put_len = 3, .if_none_match = "*"};
    }
    CHECK(bkt_store_perform(st, r, N, &err) == BKT_OK && f.probes == 6, "%s, %u", first_line(&err), f.probes);
    for (int i = 0; i < N; i++)
        bkt_req_fini(&r[i]);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    fake_s3_fini(&f);
}

/* Two rounds of requests, or three.  No request waits for another of its round (else this never ends). */
static void it_takes_few_rounds(void)
{
    for (int i = 0; i < 2; i++) {
        struct fake_s3    f   = {.kind = i ? FAKE_BARE : FAKE_QUOTED, .rounds = true};
        struct server    *s   = server_start(fake_s3_handle, &f);
        struct bkt_store *st  = open_s3(s, "anonymous=yes");
        struct bkt_err    err = {0};
        CHECK(put(st, "one", NULL, "*", NULL, &err) == BKT_OK && f.probes == (i ? 6 : 5), "%s, %u", first_line(&err), f.probes);
        bkt_store_close(st);
        bkt_store_shutdown();
        server_stop(s);
        fake_s3_fini(&f);
    }
}

/* A writer may announce its PUTs: then the test of the server comes before the first PUT, if there will be
 * any. */
static void it_is_found_out_ahead(void)
{
    struct fake_s3    f   = {.kind = FAKE_QUOTED};
    struct server    *s   = server_start(fake_s3_handle, &f);
    struct bkt_store *st  = open_s3(s, "anonymous=yes;writers=one");
    struct bkt_err    err = {0};
    bkt_store_will_write(st, "db/a");
    bkt_store_close(st);
    CHECK(!f.probes, "one writer needs no conditions");
    st = open_s3(s, "anonymous=yes");
    bkt_store_will_write(st, "db/a");
    bkt_store_will_write(st, "db/b");
    bkt_store_close(st); /* waits for requests under way */
    CHECK(f.probes == 5 && fake_s3_count(&f) == 0 && server_count(s) == 7, "%u PUTs, %u requests", f.probes, server_count(s));
    st = open_s3(s, "anonymous=yes");
    bkt_store_will_write(st, "db/a");
    CHECK(put(st, "one", NULL, "*", NULL, &err) == BKT_OK && server_count(s) == 8, "%s: %u requests", first_line(&err), server_count(s));
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    fake_s3_fini(&f);
}

static void nobody_there(void)
{
    char url[64], set[200];
    int  fd = server_nobody(url, sizeof url);
    (void)snprintf(set, sizeof set, "endpoint=%s;anonymous=yes;retries=0", url);
    struct bkt_store *st  = open_store("s3://buck", set);
    struct bkt_err    err = {0};
    for (int i = 0; i < 2; i++)
        CHECK(put(st, "one", NULL, "*", NULL, &err) == BKT_ENET, "a dead server is not a verdict: %s",
              first_line(&err));
    bkt_store_close(st);
    bkt_store_shutdown();
    (void)close(fd);
}

/* ---- answers that prove nothing ---- */

enum { PLAIN, IF_NEW, IF_SAME };

static const struct {
    const char       *name;
    int               how;
    struct fake_fault fault;
    bool              no_meta, random_etag;
    int               want;
    const char       *holds;   /* the object in the end */
    unsigned          applied; /* how often a PUT of ours changed it, the first version not counted */
} cases[] = {
    {"lost answer", PLAIN, {1, 1, true, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost answer, new", IF_NEW, {1, 1, true, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost answer, changed", IF_SAME, {1, 1, true, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost answer, no metadata", IF_SAME, {1, 1, true, 0, false, NULL, NULL}, true, false, BKT_OK, "new", 1},
    {"lost answer, no MD5", IF_SAME, {1, 1, true, 0, false, NULL, NULL}, false, true, BKT_OK, "new", 1},
    {"lost answer, none left", IF_SAME, {1, 9, true, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost before", PLAIN, {1, 1, false, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost before, new", IF_NEW, {1, 1, false, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost before, changed", IF_SAME, {1, 1, false, 0, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"lost before, always", IF_SAME, {1, 9, false, 0, false, NULL, NULL}, false, false, BKT_ENET, "old", 0},
    {"500 after all", IF_SAME, {1, 1, true, 500, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"500 and nothing", IF_SAME, {1, 1, false, 500, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"500 for who lost", IF_SAME, {1, 1, false, 500, true, NULL, NULL}, false, false, BKT_EPRECOND, "other", 0},
    {"500 for who lost, new", IF_NEW, {1, 1, false, 500, true, NULL, NULL}, false, false, BKT_EPRECOND, "other", 0},
    {"500 for ever", IF_SAME, {1, 9, false, 500, false, NULL, NULL}, false, false, BKT_ENET, "old", 0},
    {"409 for who lost", IF_SAME, {1, 1, false, 409, true, NULL, NULL}, false, false, BKT_EPRECOND, "other", 0},
    {"409 and nothing", IF_SAME, {1, 1, false, 409, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"409 for ever", IF_SAME, {1, 9, false, 409, false, NULL, NULL}, false, false, BKT_EPRECOND, "old", 0},
    {"503", IF_SAME, {1, 2, false, 503, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"503 of a gateway", IF_SAME, {1, 1, true, 503, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"520 after all", IF_SAME, {1, 1, true, 520, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"524 and nothing", IF_SAME, {1, 1, false, 524, false, NULL, NULL}, false, false, BKT_OK, "new", 1},
    {"404", IF_SAME, {1, 1, false, 404, false, NULL, NULL}, false, false, BKT_EPRECOND, "old", 0},
    {"403", IF_SAME, {1, 1, false, 403, false, NULL, NULL}, false, false, BKT_EACCES, "old", 0},
    {"arrived and replaced", IF_SAME, {1, 1, true, 0, true, NULL, NULL}, false, false, BKT_EPRECOND, "other", 1},
    {"overtaken, unconditional", PLAIN, {1, 1, false, 500, true, NULL, NULL}, false, false, BKT_OK, "new", 1},
};

static void run_case(size_t i)
{
    struct fake_s3 f = {.no_meta = cases[i].no_meta, .random_etag = cases[i].random_etag};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, "anonymous=yes;test.conditional=quoted");
    char              e[BKT_ETAG_MAX] = "", after[BKT_ETAG_MAX] = "";
    struct bkt_err    err             = {0};
    if (cases[i].how == IF_SAME)
        CHECK(put(st, "old", NULL, NULL, e, NULL) == BKT_OK, "%s: put", cases[i].name);
    f.writes = f.applied = 0;
    f.fault              = cases[i].fault;
    int rc = put(st, "new", cases[i].how == IF_SAME ? e : NULL, cases[i].how == IF_NEW ? "*" : NULL, after, &err);
    CHECK(rc == cases[i].want, "%s: %s (%s)", cases[i].name, bkt_err_text(rc), first_line(&err));
    CHECK(rc == BKT_OK || first_line(&err)[0], "%s: no story", cases[i].name);
    struct fake_object *o = fake_s3_find(&f, "db/a");
    CHECK(o ? strcmp(o->data, cases[i].holds) == 0 : !*cases[i].holds, "%s: it holds '%s'", cases[i].name, o ? o->data : "");
    CHECK(f.applied == cases[i].applied, "%s: carried out %u times", cases[i].name, f.applied);
    CHECK(rc < 0 || (o && strcmp(after, o->etag) == 0), "%s: ETag '%s'", cases[i].name, after);
    f.fault = (struct fake_fault){0};
    CHECK(rc < 0 || put(st, "more", after, NULL, NULL, NULL) == BKT_OK, "%s: one can go on with that ETag", cases[i].name);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

static void a_put_without_etag_in_its_answer(void)
{
    struct fake_s3    f  = {.no_etag = true};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, "anonymous=yes;test.conditional=quoted");
    char              e[BKT_ETAG_MAX];
    CHECK(put(st, "old", NULL, "*", e, NULL) == BKT_OK && put(st, "new", e, NULL, e, NULL) == BKT_OK && f.applied == 2, "ETag");
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

static void answer_bare(const struct seen *r, struct answer *a, void *arg)
{
    fake_s3_handle(r, a, arg);
    a->headers = "";
}

/* No ETag, no metadata, ever: the stored object is known by its length. */
static void a_server_that_shows_nothing(void)
{
    struct fake_s3    f   = {0};
    struct server    *s   = server_start(answer_bare, &f);
    struct bkt_store *st  = open_s3(s, "anonymous=yes;writers=one");
    struct bkt_err    err = {0};
    CHECK(put(st, "old", NULL, NULL, NULL, &err) == BKT_OK && f.applied == 1, "a new object: %s", first_line(&err));
    CHECK(put(st, "longer", NULL, NULL, NULL, &err) == BKT_OK && f.applied == 2, "another: %s", first_line(&err));
    f.fault = (struct fake_fault){.nth = f.writes + 1, .status = 200, .body = ""};
    CHECK(put(st, "the longest", NULL, NULL, NULL, &err) == BKT_OK && f.applied == 3, "one that isn't stored at first: %s", first_line(&err));
    f.fault = (struct fake_fault){.nth = f.writes + 1, .times = 99, .status = 200};
    CHECK(put(st, "THE LONGEST", NULL, NULL, NULL, &err) < 0 && f.applied == 3, "an error inside");
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

/* ---- uploads ---- */

#define BIG (5 * 65536 + 77)

static const struct {
    const char       *name;
    const char       *match, *none;
    struct fake_fault fault;
    int               want;
    bool              is_new; /* the object is the new one in the end */
} uploads[] = {
    {"six parts", NULL, NULL, {0}, BKT_OK, true},
    {"of an object that exists", NULL, "*", {0}, BKT_EPRECOND, false},
    {"of an object that has changed", "\"abc\"", NULL, {0}, BKT_EPRECOND, false},
    {"a part fails once", NULL, NULL, {3, 1, false, 500, false, "partNumber", NULL}, BKT_OK, true},
    {"a part's answer is lost", NULL, NULL, {2, 1, true, 0, false, "partNumber", NULL}, BKT_OK, true},
    {"parts fail for good", NULL, NULL, {2, 99, false, 500, false, "partNumber", NULL}, BKT_ENET, false},
    {"a part is refused", NULL, NULL, {2, 1, false, 403, false, "partNumber", NULL}, BKT_EACCES, false},
    {"no begin", NULL, NULL, {1, 1, false, 403, false, "uploads", NULL}, BKT_EACCES, false},
    {"the end's answer is lost", NULL, NULL, {1, 1, true, 0, false, "?uploadId", NULL}, BKT_OK, true},
    {"the end fails once", NULL, NULL, {1, 1, false, 500, false, "?uploadId", NULL}, BKT_OK, true},
    {"the end is done though it says 500", NULL, NULL, {1, 9, true, 500, false, "?uploadId", NULL}, BKT_OK, true},
    {"the end fails for good", NULL, NULL, {1, 9, false, 500, false, "?uploadId", NULL}, BKT_ENET, false},
    {"the end loses the race", NULL, NULL, {1, 1, false, 412, false, "?uploadId", NULL}, BKT_EPRECOND, false},
    {"the end says 200 and fails once", NULL, NULL, {1, 1, false, 200, false, "?uploadId", NULL}, BKT_OK, true},
    {"the end says 200 and fails for good", NULL, NULL, {1, 9, false, 200, false, "?uploadId", NULL}, BKT_ENET, false},
    {"the end says 200 and nothing", NULL, NULL, {1, 9, false, 200, false, "?uploadId", ""}, BKT_ENET, false},
    {"the end says 200 and half of it", NULL, NULL, {1, 9, false, 200, false, "?uploadId", "<CompleteMultipartUploadRes"},
     BKT_ENET, false},
    {"the end says 200 and something else", NULL, NULL, {1, 9, false, 200, false, "?uploadId", "<html>fine</html>"}, BKT_ENET,
     false},
    {"half an answer of what was done", NULL, NULL, {1, 9, true, 200, false, "?uploadId", "<Complete"}, BKT_OK, true},
    {"the upload is gone", NULL, NULL, {1, 1, false, 404, false, "?uploadId", NULL}, BKT_ENET, false},
};

static void run_upload(size_t i, const char *settings)
{
    unsigned char    *data = pattern(BIG);
    struct fake_s3    f    = {0};
    struct server    *s    = server_start(fake_s3_handle, &f);
    struct bkt_store *st   = open_s3(s, settings);
    char              e[BKT_ETAG_MAX] = "";
    struct bkt_err    err             = {0};
    CHECK(put(st, "old", NULL, NULL, NULL, NULL) == BKT_OK, "put");
    f.writes = 0;
    f.fault  = uploads[i].fault;
    int rc   = bkt_store_put(st, "db/a", data, BIG, uploads[i].match, uploads[i].none, e, &err);
    CHECK(rc == uploads[i].want, "%s: %s (%s)", uploads[i].name, bkt_err_text(rc), first_line(&err));
    struct fake_object *o      = fake_s3_find(&f, "db/a");
    bool                is_new = o && o->len == BIG && memcmp(o->data, data, BIG) == 0;
    CHECK(o && is_new == uploads[i].is_new, "%s: %zu bytes", uploads[i].name, o ? o->len : 0);
    CHECK(rc < 0 || (o && strcmp(e, o->etag) == 0), "%s: ETag %s", uploads[i].name, e);
    CHECK(!f.upload_id[0], "%s: an upload was left behind", uploads[i].name);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
    free(data);
}

static void a_part_without_etag(void)
{
    unsigned char    *data = pattern(BIG);
    struct fake_s3    f    = {.no_etag = true};
    struct server    *s    = server_start(fake_s3_handle, &f);
    struct bkt_store *st   = open_s3(s, "anonymous=yes;test.conditional=quoted;test.upload_part=65536");
    struct bkt_err    err  = {0};
    int               rc   = bkt_store_put(st, "db/a", data, BIG, NULL, NULL, NULL, &err);
    CHECK(rc == BKT_EFORMAT && strstr(first_line(&err), "an ETag and no body"), "%s (%s)", bkt_err_text(rc), first_line(&err));
    CHECK(!fake_s3_find(&f, "db/a") && !f.upload_id[0], "nothing is left");
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
    free(data);
}

/* ---- signatures ---- */

static void bodies_are_hashed_where_nothing_else_protects_them(void)
{
    static const struct {
        const char *settings, *want;
    } hashes[] = {
        {"", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"test.sign_payload=yes", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"test.sign_payload=no", "UNSIGNED-PAYLOAD"},
    };
    (void)setenv("AWS_ACCESS_KEY_ID", "AKTEST", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "very-secret", 1);
    for (size_t i = 0; i < BKT_COUNT(hashes); i++) {
        struct fake_s3    f = {0};
        struct server    *s = server_start(fake_s3_handle, &f);
        struct seen       r = {0};
        char              set[200];
        (void)snprintf(set, sizeof set, "endpoint=%s;%s", server_url(s), hashes[i].settings);
        struct bkt_store *st = open_store("s3://buck", set);
        CHECK(put(st, "abc", NULL, NULL, NULL, NULL) == BKT_OK && server_seen(s, 0, &r), "put");
        CHECK(strcmp(seen_header(&r, "x-amz-content-sha256"), hashes[i].want) == 0, "case %zu", i);
        CHECK(strstr(seen_header(&r, "Authorization"), "x-amz-meta-h5bucket-put"), "the PUT's id is signed");
        CHECK(!*seen_header(&r, "Expect") && !*seen_header(&r, "Transfer-Encoding"), "sent at once");
        bkt_store_close(st);
        server_stop(s);
        fake_s3_fini(&f);
    }
    bkt_store_shutdown();
}

/* Only requests that read are sent a second time when the answer is late. */
static void late(const struct seen *r, struct answer *a, void *arg)
{
    unsigned *puts = arg;
    bool      put  = strcmp(r->method, "PUT") == 0;
    *puts += put;
    a->headers  = "ETag: \"e\"\r\n";
    a->body     = put ? NULL : "abc";
    a->len      = put ? 0 : 3;
    a->delay_ms = put || strstr(r->target, "late") ? 600 : 0;
}
static void late_puts_are_waited_for(void)
{
    unsigned          puts = 0;
    struct server    *s    = server_start(late, &puts);
    struct bkt_store *st   = open_s3(s, "anonymous=yes;test.conditional=quoted;test.hedge=100");
    struct bkt_req    r[40], both[2];
    memset(r, 0, sizeof r);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "k", .len = BKT_WHOLE};
    CHECK(bkt_store_perform(st, r, BKT_COUNT(r), NULL) == BKT_OK, "what is usual");
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        bkt_req_fini(&r[i]);
    (void)stats_since();
    both[0] = (struct bkt_req){.op = BKT_PUT, .key = "p", .put = "abc", .put_len = 3, .if_none_match = "*"};
    both[1] = (struct bkt_req){.op = BKT_GET, .key = "late", .len = BKT_WHOLE};
    CHECK(bkt_store_perform(st, both, 2, NULL) == BKT_OK, "what is late");
    CHECK(stats_since().hedges == 1, "the GET is sent twice");
    bkt_req_fini(&both[0]);
    bkt_req_fini(&both[1]);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
    CHECK(puts == 1, "%u PUTs", puts); /* none of the server's threads counts any more */
}

/* A done() that starts the next PUT runs on the I/O thread, where nothing is hashed. */
struct chain {
    struct bkt_store *st;
    pthread_mutex_t   lock;
    pthread_cond_t    end;
    int               left, rc;
    struct bkt_req    req;
    unsigned char    *data;
};
static void next_in_chain(struct bkt_req *r)
{
    struct chain *c = r->arg;
    (void)pthread_mutex_lock(&c->lock);
    c->rc     = r->rc < 0 ? r->rc : c->rc;
    bool more = --c->left > 0;
    if (!more)
        (void)pthread_cond_signal(&c->end);
    (void)pthread_mutex_unlock(&c->lock);
    if (more)
        bkt_store_start(c->st, r);
}
static void puts_that_follow_each_other(void)
{
    struct fake_s3 f = {0};
    struct server *s = server_start(fake_s3_handle, &f);
    struct chain   c = {.st = open_s3(s, "anonymous=yes;test.sign_payload=yes"), .left = 20, .data = pattern(200000)};
    (void)pthread_mutex_init(&c.lock, NULL);
    (void)pthread_cond_init(&c.end, NULL);
    c.req = (struct bkt_req){.op = BKT_PUT, .key = "big", .put = c.data, .put_len = 200000, .done = next_in_chain, .arg = &c};
    bkt_store_start(c.st, &c.req);
    (void)pthread_mutex_lock(&c.lock);
    while (c.left)
        (void)pthread_cond_wait(&c.end, &c.lock);
    (void)pthread_mutex_unlock(&c.lock);
    bkt_store_close(c.st);
    CHECK(c.rc == BKT_OK && f.applied == 20, "%s, %u", bkt_err_text(c.rc), f.applied);
    bkt_req_fini(&c.req);
    (void)pthread_cond_destroy(&c.end);
    (void)pthread_mutex_destroy(&c.lock);
    server_stop(s);
    fake_s3_fini(&f);
    free(c.data);
}

int main(void)
{
    the_kind_of_server_is_found_out();
    one_writer_sends_no_condition();
    many_ask_at_once();
    it_takes_few_rounds();
    it_is_found_out_ahead();
    nobody_there();
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        run_case(i);
    a_put_without_etag_in_its_answer();
    a_server_that_shows_nothing();
    for (size_t i = 0; i < BKT_COUNT(uploads); i++) {
        run_upload(i, "anonymous=yes;test.conditional=quoted;test.upload_part=65536");
        run_upload(i, "anonymous=yes;test.conditional=quoted;test.upload_part=65536;test.sign_payload=yes");
    }
    a_part_without_etag();
    late_puts_are_waited_for();
    puts_that_follow_each_other();
    bodies_are_hashed_where_nothing_else_protects_them();
    bkt_store_shutdown();
    return failures != 0;
}
