/* The requests of one process are recorded, and their outcomes are played in another: here the second store
 * stands for the other process's view of the same bucket, and has nothing in it. */
#include "helpers/store_testing.h"
#include "storage/recorded_requests.h"

static uint64_t requests(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.get + s.head + s.put + s.del + s.list;
}

static int append(const struct bkt_listed *e, void *arg)
{
    struct bkt_buf *out = arg;
    return bkt_buf_addf(out, "%s=%llu;", e->key, (unsigned long long)e->size);
}

/* All that a process does; its observations go to @p out. */
static void session(struct bkt_store *st, const char *last, struct bkt_buf *out)
{
    char           etag[BKT_ETAG_MAX] = "";
    struct bkt_buf body               = {0};
    struct bkt_err err                = {.n = 0};
    CHECK(put_text(st, "a/new", "first", NULL, "*", etag) == BKT_OK, "a new object");
    CHECK(put_text(st, "a/new", "second", NULL, "*", NULL) == BKT_EPRECOND, "a new object, again");
    CHECK(bkt_store_get(st, "a/new", 0, BKT_WHOLE, &body, NULL) == BKT_OK, "GET");
    CHECK(bkt_buf_addf(out, "%s %s ", etag, bkt_buf_str(&body)) == BKT_OK, "memory");
    CHECK(put_text(st, "a/new", last, etag, NULL, NULL) == BKT_OK, "replaced: '%s'", last);
    CHECK(bkt_store_get(st, "a/new", 1, 2, &body, NULL) == BKT_OK, "a range");
    CHECK(bkt_buf_addf(out, "%s ", bkt_buf_str(&body)) == BKT_OK, "memory");
    CHECK(bkt_store_get(st, "a/none", 0, BKT_WHOLE, &body, &err) == BKT_ENOENT, "a missing object");
    CHECK(bkt_buf_addf(out, "%s ", first_line(&err)) == BKT_OK, "memory");
    CHECK(bkt_store_list(st, "a/", "", append, out, NULL) == BKT_OK, "LIST");
    bkt_buf_fini(&body);
}

static struct bkt_recording *copy_of(const struct bkt_recording *t)
{
    struct bkt_buf   bytes = {0};
    struct bkt_recording *copy = bkt_recording_new(false);
    REQUIRE(copy && bkt_recording_emit(t, &bytes) == BKT_OK &&
                bkt_recording_parse(copy, &bytes, NULL) == BKT_OK,
            "a copy of a recording");
    bkt_buf_fini(&bytes);
    return copy;
}

static void same_session(const struct bkt_recording *t, const char *expected)
{
    struct bkt_store *st = open_store("mem:recording", "");
    struct bkt_recording *copy = copy_of(t);
    struct bkt_buf    out    = {0};
    uint64_t          before = requests();
    bkt_recording_play(copy);
    CHECK(bkt_recording_is_on(), "a recording is played");
    session(st, "third", &out);
    bkt_recording_stop(copy);
    CHECK(requests() == before, "%llu requests were sent", (unsigned long long)(requests() - before));
    CHECK(strcmp(bkt_buf_str(&out), expected) == 0, "played: %s, recorded: %s", bkt_buf_str(&out), expected);
    bkt_buf_fini(&out);
    bkt_recording_free(copy);
    bkt_store_close(st);
}

/* Another process puts something else: it learns that somebody was first, once; then its PUT is sent. */
static void another_put(const struct bkt_recording *t)
{
    struct bkt_store *st = open_store("mem:recording", "");
    struct bkt_recording *copy = copy_of(t);
    bkt_recording_play(copy);
    CHECK(put_text(st, "a/new", "fourth", NULL, NULL, NULL) == BKT_EPRECOND, "other bytes than the recorded ones");
    CHECK(put_text(st, "a/new", "fourth", NULL, NULL, NULL) == BKT_OK, "the same, tried again");
    CHECK(put_text(st, "a/own", "mine", NULL, "*", NULL) == BKT_OK,
          "an object that the recording doesn't have");
    bkt_recording_stop(copy);
    struct bkt_buf body = {0};
    CHECK(bkt_store_get(st, "a/own", 0, BKT_WHOLE, &body, NULL) == BKT_OK && strcmp(bkt_buf_str(&body), "mine") == 0, "it is stored");
    bkt_buf_fini(&body);
    bkt_recording_free(copy);
    bkt_store_close(st);
}

static void malformed(const struct bkt_recording *t)
{
    struct bkt_buf bytes = {0};
    REQUIRE(bkt_recording_emit(t, &bytes) == BKT_OK && bytes.len > 20, "a recording's bytes");
    for (size_t n = 1; n < bytes.len; n++) {
        struct bkt_buf   cut  = {0};
        struct bkt_recording *copy = bkt_recording_new(false);
        CHECK(bkt_buf_add(&cut, bytes.ptr, n) == BKT_OK, "memory");
        int rc = bkt_recording_parse(copy, &cut, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT, "%zu of %zu bytes: %d", n, bytes.len, rc);
        bkt_recording_free(copy);
        bkt_buf_fini(&cut);
    }
    memset(bytes.ptr, 0xff, 8);
    struct bkt_recording *copy = bkt_recording_new(false);
    CHECK(bkt_recording_parse(copy, &bytes, NULL) == BKT_EFORMAT, "a senseless length");
    bkt_recording_free(copy);
    bkt_buf_fini(&bytes);
}

int main(void)
{
    struct bkt_store *st = open_store("mem:recording", "");
    struct bkt_recording *t = bkt_recording_new(true);
    struct bkt_buf    out = {0};
    bkt_recording_record(t);
    session(st, "third", &out);
    bkt_recording_stop(t);
    CHECK(!bkt_recording_is_on(), "the recording has stopped");
    same_session(t, bkt_buf_str(&out));
    another_put(t);
    malformed(t);
    bkt_buf_fini(&out);
    bkt_recording_free(t);
    bkt_store_close(st);
    bkt_store_shutdown();
    (void)puts(failures ? "FAILED" : "ok");
    return failures != 0;
}
