/* The sums of objects' bytes: one wrong bit, on the way or where the object lies, never counts as data. */
#include <limits.h>

#include "base/crc32c.h"
#include "helpers/store_testing.h"
#include "http/helpers/fake_s3.h"
#include "http/helpers/s3_testing.h"

#define TEXT "0123456789 and some more bytes"
#define LEN  30 /* of TEXT */

#define SETTINGS "anonymous=yes;retries=4;test.conditional=quoted;test.hedge=0"

/* ---- PUT ---- */

static void puts_say_their_sum(void)
{
    struct fake_s3    f  = {0};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, SETTINGS);
    struct seen       seen;
    CHECK(bkt_store_put(st, "db/a", "123456789", 9, NULL, NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(server_seen(s, 0, &seen) && strcmp(seen_header(&seen, "x-amz-meta-h5bucket-crc32c"), "e3069283") == 0, "no metadata");
    CHECK(strcmp(seen_header(&seen, "x-amz-checksum-crc32c"), "4waSgw==") == 0, "'%s'", seen_header(&seen, "x-amz-checksum-crc32c"));
    CHECK(server_count(s) == 1 && f.summed == 1, "%u requests", server_count(s));
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

/* The answer of a server that refuses S3's header; it gets the header once. */
static const struct {
    int         status;
    const char *code;
} refusals[] = {{501, "NotImplemented"}, {400, "InvalidRequest"}, {400, "InvalidArgument"}, {400, "UnknownChecksum"}};

static void a_header_that_is_refused_is_not_sent_again(size_t i)
{
    struct fake_s3    f  = {.sums = refusals[i].status, .sums_code = refusals[i].code};
    struct server    *s  = server_start(fake_s3_handle, &f);
    struct bkt_store *st = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    struct bkt_buf    out = {0};
    CHECK(bkt_store_put(st, "db/a", TEXT, LEN, NULL, NULL, NULL, &err) == BKT_OK, "%s: %s", refusals[i].code, first_line(&err));
    CHECK(bkt_store_put(st, "db/b", TEXT, LEN, NULL, "*", NULL, &err) == BKT_OK, "%s: %s", refusals[i].code, first_line(&err));
    struct bkt_store *other = open_s3(s, SETTINGS);
    CHECK(bkt_store_put(other, "db/c", TEXT, LEN, NULL, NULL, NULL, &err) == BKT_OK, "%s: %s", refusals[i].code, first_line(&err));
    CHECK(server_count(s) == 4 && f.summed == 1, "%s: %u requests, %u with a sum", refusals[i].code, server_count(s), f.summed);
    f.flip_gets = 1; /* our own metadata is there nevertheless */
    CHECK(bkt_store_get(st, "db/b", 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len == LEN && memcmp(out.ptr, TEXT, LEN) == 0, "%s",
          first_line(&err));
    CHECK(server_count(s) == 6, "%u requests", server_count(s));
    bkt_buf_fini(&out);
    bkt_store_close(other);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

static void bytes_that_arrive_wrong_are_sent_again(void)
{
    struct fake_s3    f   = {.flip_puts = 1};
    struct server    *s   = server_start(fake_s3_handle, &f);
    struct bkt_store *st  = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    CHECK(bkt_store_put(st, "db/a", TEXT, LEN, NULL, NULL, NULL, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(server_count(s) == 2 && strcmp(fake_s3_find(&f, "db/a")->data, TEXT) == 0, "%u requests", server_count(s));
    f.flip_puts = 99;
    CHECK(bkt_store_put(st, "db/a", "other", 5, NULL, NULL, NULL, &err) < 0 && strstr(first_line(&err), "BadDigest"), "%s",
          first_line(&err));
    CHECK(strcmp(fake_s3_find(&f, "db/a")->data, TEXT) == 0, "it holds '%s'", fake_s3_find(&f, "db/a")->data);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

static void uploads_have_the_sum_of_the_whole(void)
{
    enum { BIG = 3 * 65536 + 77 };
    unsigned char    *data = pattern(BIG);
    struct fake_s3    f    = {0};
    struct server    *s    = server_start(fake_s3_handle, &f);
    struct bkt_store *st   = open_s3(s, SETTINGS ";test.upload_part=65536");
    struct bkt_err    err  = {0};
    struct bkt_buf    out  = {0};
    char              want[12];
    (void)snprintf(want, sizeof want, "%08x", bkt_crc32c_by_tables(0, data, BIG));
    CHECK(bkt_store_put(st, "db/a", data, BIG, NULL, NULL, NULL, &err) == BKT_OK, "%s", first_line(&err));
    struct fake_object *o = fake_s3_find(&f, "db/a");
    CHECK(o && strcmp(o->sum, want) == 0 && f.summed == 0, "sum '%s', not %s; %u parts with one", o ? o->sum : "", want, f.summed);
    f.flip_gets = 1;
    CHECK(bkt_store_get(st, "db/a", 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len == BIG && memcmp(out.ptr, data, BIG) == 0, "%s",
          first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
    free(data);
}

/* ---- GET ---- */

enum form { WHOLE, RANGE, POURED, LONGER, PART };

static const struct {
    const char *name;
    enum form   form;
    bool        rest;  /* damaged where it lies, not on the way */
    unsigned    flips; /* answers with a wrong bit */
    bool        foreign; /* another writer's: no sum */
    int         want;
    unsigned    requests;
} gets[] = {
    {"whole", WHOLE, false, 0, false, BKT_OK, 1},
    {"whole, wrong once", WHOLE, false, 1, false, BKT_OK, 2},
    {"whole, wrong for ever", WHOLE, false, UINT_MAX, false, BKT_EFORMAT, 3},
    {"whole, damaged at rest", WHOLE, true, 0, false, BKT_EFORMAT, 3},
    {"whole, another writer's", WHOLE, false, 1, true, BKT_OK, 1},
    {"a range that is all, wrong once", RANGE, false, 1, false, BKT_OK, 2},
    {"a range that is all, damaged at rest", RANGE, true, 0, false, BKT_EFORMAT, 3},
    {"a range poured, wrong once", POURED, false, 1, false, BKT_OK, 2},
    {"a range poured, damaged at rest", POURED, true, 0, false, BKT_EFORMAT, 3},
    {"a range longer than all, wrong once", LONGER, false, 1, false, BKT_OK, 2},
    {"a range longer than all, damaged at rest", LONGER, true, 0, false, BKT_EFORMAT, 3},
    {"a part", PART, false, 1, false, BKT_OK, 1},
};

static char poured[LEN + 1];

static void pour(void *arg, uint64_t at, const void *p, size_t n)
{
    (void)arg;
    if (at + n <= LEN)
        memcpy(poured + at, p, n);
}

static void get(size_t i)
{
    struct fake_s3    f   = {.no_meta = gets[i].foreign};
    struct server    *s   = server_start(fake_s3_handle, &f);
    struct bkt_store *st  = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    char              to[2 * LEN] = "", sums[2][12];
    enum form         form = gets[i].form;
    struct bkt_req    r    = {.op = BKT_GET, .key = "db/a", .len = form == WHOLE ? BKT_WHOLE : form == PART ? LEN - 1 : form == LONGER ? LEN + 9 : LEN,
                              .may_be_short = form == LONGER, .dst = form == RANGE || form == PART || form == LONGER ? to : NULL,
                              .sink = form == POURED ? pour : NULL};
    CHECK(bkt_store_put(st, "db/a", TEXT, LEN, NULL, NULL, NULL, NULL) == BKT_OK, "%s: put", gets[i].name);
    struct fake_object *o = fake_s3_find(&f, "db/a");
    (void)snprintf(sums[0], sizeof sums[0], "%08x", bkt_crc32c_by_tables(0, o->data, LEN));
    if (gets[i].rest)
        o->data[7] ^= 1;
    (void)snprintf(sums[1], sizeof sums[1], "%08x", bkt_crc32c_by_tables(0, o->data, LEN));
    f.flip_gets     = gets[i].flips;
    unsigned before = server_count(s);
    int rc = bkt_store_perform(st, &r, 1, &err);
    CHECK(rc == gets[i].want, "%s: %s (%s)", gets[i].name, bkt_err_text(rc), first_line(&err));
    CHECK(server_count(s) - before == gets[i].requests, "%s: %u requests", gets[i].name, server_count(s) - before);
    const char *got = form == WHOLE ? bkt_buf_str(&r.body) : form == POURED ? poured : to;
    if (rc == BKT_OK && form != PART && !gets[i].foreign)
        CHECK(r.n == LEN && memcmp(got, TEXT, LEN) == 0, "%s: '%.*s'", gets[i].name, LEN, got);
    if (rc < 0)
        CHECK(strstr(first_line(&err), "db/a") && strstr(first_line(&err), sums[0]) && (!gets[i].rest || strstr(first_line(&err), sums[1])),
              "%s: %s", gets[i].name, first_line(&err));
    bkt_req_fini(&r);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

static void an_empty_object_that_was_none_is_damaged(void)
{
    struct fake_s3    f   = {0};
    struct server    *s   = server_start(fake_s3_handle, &f);
    struct bkt_store *st  = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    struct bkt_buf    out = {0};
    CHECK(bkt_store_put(st, "db/e", "", 0, NULL, NULL, NULL, NULL) == BKT_OK && bkt_store_get(st, "db/e", 0, BKT_WHOLE, &out, &err) == BKT_OK,
          "empty: %s", first_line(&err));
    CHECK(bkt_store_put(st, "db/a", TEXT, LEN, NULL, NULL, NULL, NULL) == BKT_OK, "put");
    fake_s3_find(&f, "db/a")->len = 0;
    CHECK(bkt_store_get(st, "db/a", 0, BKT_WHOLE, &out, &err) == BKT_EFORMAT && strstr(first_line(&err), "db/a"), "%s", first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    server_stop(s);
    fake_s3_fini(&f);
}

/* ---- a body that breaks off is continued ---- */

struct broken {
    unsigned char *data;
    size_t         len;
    char           headers[200];
    unsigned       flips;
};

static void break_off(const struct seen *r, struct answer *a, void *arg)
{
    struct broken *b     = arg;
    unsigned long  first = 0;
    const char    *range = seen_header(r, "Range");
    a->body              = b->data;
    a->len               = b->len;
    a->headers           = b->headers;
    if (sscanf(range, "bytes=%lu-", &first) == 1) { /* the rest */
        char text[300];
        (void)snprintf(text, sizeof text, "%sContent-Range: bytes %lu-%zu/%zu\r\n", b->headers, first, b->len - 1, b->len);
        a->status  = 206;
        a->len     = b->len - first;
        a->owned   = malloc(a->len + sizeof text);
        a->body    = memcpy(a->owned, b->data + first, a->len);
        a->headers = strcpy((char *)a->owned + a->len, text); /* NOLINT: it fits */
        if (b->flips) {
            b->flips--;
            ((char *)a->owned)[a->len - 1] ^= 1;
        }
        return;
    }
    if (r->index == 0) {
        a->cut   = b->len / 3;
        a->after = RESET;
    }
}

static void the_rest_of_a_body_is_summed_as_well(unsigned flips)
{
    enum { N = 200000 };
    struct broken b = {.data = pattern(N), .len = N, .flips = flips};
    (void)snprintf(b.headers, sizeof b.headers, "ETag: \"v\"\r\nx-amz-meta-h5bucket-crc32c: %08x\r\n", bkt_crc32c_by_tables(0, b.data, N));
    struct server    *s   = server_start(break_off, &b);
    struct bkt_store *st  = open_s3(s, SETTINGS);
    struct bkt_err    err = {0};
    struct bkt_buf    out = {0};
    CHECK(bkt_store_get(st, "db/a", 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len == N && memcmp(out.ptr, b.data, N) == 0, "%s",
          first_line(&err));
    CHECK(server_count(s) == 2 + flips, "%u requests", server_count(s));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    server_stop(s);
    free(b.data);
}

int main(void)
{
    puts_say_their_sum();
    for (size_t i = 0; i < BKT_COUNT(refusals); i++)
        a_header_that_is_refused_is_not_sent_again(i);
    bytes_that_arrive_wrong_are_sent_again();
    uploads_have_the_sum_of_the_whole();
    for (size_t i = 0; i < BKT_COUNT(gets); i++)
        get(i);
    an_empty_object_that_was_none_is_damaged();
    the_rest_of_a_body_is_summed_as_well(0);
    the_rest_of_a_body_is_summed_as_well(1);
    bkt_store_shutdown();
    return failures != 0;
}
