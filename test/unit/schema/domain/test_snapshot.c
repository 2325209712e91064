/* A domain's snapshot: each object in it comes out once, and only while it is current; anything else is
 * refused. */
#include <zlib.h>

#include "schema/json/documents.h"
#include "schema/snapshot/snapshot.h"
#include "unit/schema/json/json_testing.h"

#define G1 "g-b03b24ef-69f244b6-56e5-25125a-89ba70"
#define T1 "t-b03b24ef-69f244b6-56e5-25125a-89ba71"
#define KEY(rest) "db/b03b24ef-69f244b6/" rest

static const struct one {
    const char *id, *key, *etag, *json;
} objects[] = {
    {ROOT_ID, KEY(".group.json"), "\"aa-1\"", "{\"a\": 1}\n"},
    {DSET_ID, KEY("d/56e5-25125a-89ba79/.dataset.json"), "\"bb 2\"", "{\"b\":\n2}"},
    {G1, KEY("g/56e5-25125a-89ba70/.group.json"), "cc", ""},
    {T1, KEY("t/56e5-25125a-89ba71/.datatype.json"), "\"dd\"", "{}"},
};

static struct bkt_id id_of(const char *text)
{
    struct bkt_id id;
    CHECK(bkt_id_set(&id, text), "%s", text);
    return id;
}

static void emit_snapshot(struct bkt_buf *out, size_t more_keys)
{
    struct bkt_snapshot_out o = {.n_keys = 0};
    for (size_t i = 0; i < BKT_COUNT(objects); i++) {
        struct bkt_id id = id_of(objects[i].id);
        CHECK(bkt_snapshot_count_key(&o, objects[i].key) == BKT_OK, "key");
        CHECK(bkt_snapshot_add(&o, &id, objects[i].etag, objects[i].json, strlen(objects[i].json), NULL) == BKT_OK, "add");
    }
    for (size_t i = 0; i < more_keys; i++) {
        char key[80];
        (void)snprintf(key, sizeof key, KEY("t/x/%08zu"), i);
        CHECK(bkt_snapshot_count_key(&o, key) == BKT_OK, "key");
    }
    CHECK(bkt_snapshot_emit(&o, out, NULL) == BKT_OK, "emit");
    bkt_snapshot_out_fini(&o);
}

static void list(struct bkt_snapshot *s, const char *key, const char *etag)
{
    struct bkt_listed e = {key, false, 1, 1, etag, false, 1};
    CHECK(bkt_snapshot_listed(&e, s) == BKT_OK, "listed");
}

static void check_taken(struct bkt_snapshot *s, const struct one *x, bool want)
{
    const void   *json = NULL;
    const char   *etag = NULL;
    size_t        n    = 0;
    struct bkt_id id   = id_of(x->id);
    bool          got  = bkt_snapshot_take(s, &id, &json, &n, &etag);
    CHECK(got == want, "%s: taken %d, want %d", x->id, got, want);
    if (got)
        CHECK(n == strlen(x->json) && memcmp(json, x->json, n) == 0 && strcmp(etag, x->etag) == 0, "%s: %.*s %s", x->id, (int)n,
              (const char *)json, etag);
}

static void test_current(void)
{
    struct bkt_buf       b    = {0};
    struct bkt_snapshot *s    = NULL;
    struct bkt_err       err  = {.n = 0};
    struct bkt_id        root = id_of(ROOT_ID);
    size_t               n, current;
    emit_snapshot(&b, 2000);
    CHECK(bkt_snapshot_parse(b.ptr, b.len, &root, &s, &err) == BKT_OK, "%s", err.n ? err.frame[0].msg : "");
    if (!s)
        return;
    const char *const *cuts = bkt_snapshot_cuts(s, &n);
    CHECK(n == 2 && strcmp(cuts[0], cuts[1]) < 0, "%zu cuts of 2004 keys", n);
    list(s, objects[0].key, "aa-1");     /* without quotes */
    list(s, objects[1].key, "\"bb 2\"");
    list(s, objects[2].key, "\"other\"");
    list(s, KEY("g/56e5-25125a-89ba99/.group.json"), "\"ee\""); /* not in it */
    list(s, KEY("d/56e5-25125a-89ba79/0_0"), "\"bb 2\"");
    list(s, "elsewhere", "");
    CHECK(bkt_snapshot_count(s, &current) == 4 && current == 2, "%zu are current", current);
    check_taken(s, &objects[0], true);
    check_taken(s, &objects[0], false); /* once */
    check_taken(s, &objects[1], true);
    check_taken(s, &objects[2], false); /* changed */
    check_taken(s, &objects[3], false); /* not listed */
    bkt_snapshot_free(s);
    CHECK(bkt_snapshot_parse(b.ptr, b.len, &root, &s, NULL) == BKT_OK, "again");
    bkt_snapshot_trust(s);
    check_taken(s, &objects[2], true);
    check_taken(s, &objects[3], true);
    bkt_snapshot_free(s);
    struct bkt_id other = id_of("g-b03b24ef-69f244b7-38b3-ac67e1-7acc3f");
    CHECK(bkt_snapshot_parse(b.ptr, b.len, &other, &s, NULL) == BKT_EFORMAT, "another domain's");
    bkt_buf_fini(&b);
}

static void parse_text(const char *head, const void *text, size_t n, int want)
{
    struct bkt_buf       b    = {0};
    struct bkt_snapshot *s    = NULL;
    struct bkt_id        root = id_of(ROOT_ID);
    uLongf               size = compressBound(n);
    CHECK(bkt_buf_add_str(&b, head) == BKT_OK && bkt_buf_reserve(&b, size) == BKT_OK, "room");
    CHECK(compress(b.ptr + b.len, &size, text, n) == Z_OK, "compress");
    b.len += size;
    int rc = bkt_snapshot_parse(b.ptr, b.len, &root, &s, NULL);
    CHECK(rc == want || (want == BKT_OK && rc == BKT_EFORMAT), "%s: %d, want %d", head, rc, want);
    if (rc == BKT_OK)
        bkt_snapshot_free(s);
    bkt_buf_fini(&b);
}

static void test_malformed(void)
{
    static const char good[] = DSET_ID " 2 \"e\"\n{}\n";
    static const struct {
        const char *head, *text;
    } bad[] = {
        {"", good},
        {"h5bucket snapshot 2 1 1 48 0\n", good},
        {"h5bucket snapshot 1 1 1 4900000000 0\n", good},       /* too large to try */
        {"h5bucket snapshot 1 18446744073709551615 1 48 0\n", good},
        {"h5bucket snapshot 1 1 1 48 18446744073709551615\n", good},
        {"h5bucket snapshot 1 1 1 49 0\n", good},               /* more than it has */
        {"h5bucket snapshot 1 1 1 47 0\n", good},               /* less */
        {"h5bucket snapshot 1 2 1 48 0\n", good},               /* one is missing */
        {"h5bucket snapshot 1 0 1 48 0\n", good},               /* one too many */
        {"h5bucket snapshot 1 1 1 48 1\n", good},               /* no cut */
        {"h5bucket snapshot 1 1 1 48 0\n", DSET_ID " 3 \"e\"\n{}\n"},
        {"h5bucket snapshot 1 1 1 48 0\n", DSET_ID " 1 \"e\"\n{}\n"},
        {"h5bucket snapshot 1 1 1 45 0\n", DSET_ID " 2 \n{}\n"}, /* no ETag */
        {"h5bucket snapshot 1 1 1 48 0\n", V1_ID " 2 \"e\"\n{}\n"},
        {"h5bucket snapshot 1 1 1 67 0\n", DSET_ID " 18446744073709551615 \"e\"\n{}\n"},
    };
    for (size_t i = 0; i < BKT_COUNT(bad); i++)
        parse_text(bad[i].head, bad[i].text, strlen(bad[i].text), BKT_EFORMAT);
    struct bkt_buf       b    = {0};
    struct bkt_snapshot *s    = NULL;
    struct bkt_id        root = id_of(ROOT_ID);
    uLongf               size = compressBound(strlen(good));
    CHECK(bkt_buf_add_str(&b, "h5bucket snapshot 1 1 1 48 0\n") == BKT_OK && bkt_buf_reserve(&b, size) == BKT_OK, "room");
    CHECK(compress(b.ptr + b.len, &size, (const unsigned char *)good, strlen(good)) == Z_OK, "compress");
    CHECK(bkt_snapshot_parse(b.ptr, b.len + size, &root, &s, NULL) == BKT_OK, "the one without a fault");
    bkt_snapshot_free(s);
    bkt_buf_fini(&b);
    /* whatever is changed in it, it is refused, or read as something else, and nothing breaks */
    char     text[sizeof good];
    uint32_t seed = 1;
    for (unsigned round = 0; round < 3000; round++) {
        memcpy(text, good, sizeof good);
        for (unsigned k = 0; k <= round % 3; k++) {
            seed = seed * 1664525U + 1013904223U;
            text[(seed >> 8) % (sizeof good - 1)] = (char)(seed >> 24);
        }
        parse_text("h5bucket snapshot 1 1 1 48 0\n", text, sizeof good - 1, BKT_OK);
    }
    CHECK(bkt_snapshot_parse(NULL, 0, &root, &s, NULL) == BKT_EFORMAT, "nothing");
}

static void test_note(void)
{
    struct bkt_buf        b   = {0};
    struct bkt_domain_doc doc = {.n_acls = 0};
    static const char     json[] = "{\"root\": \"" ROOT_ID "\", \"unknown\": [1]}";
    struct bkt_snapshot_out o = {.n_objects = 7, .n_keys = 9, .n_cuts = 2};
    CHECK(bkt_buf_add_str(&o.cuts, "a\nb\n") == BKT_OK && bkt_snapshot_note(json, strlen(json), &o, &b, NULL) == BKT_OK, "note");
    bkt_snapshot_out_fini(&o);
    CHECK(strstr(bkt_buf_str(&b), "\"unknown\"") != NULL, "%s", bkt_buf_str(&b));
    CHECK(bkt_domain_doc_parse(b.ptr, b.len, &doc, NULL) == BKT_OK && doc.snapshot.objects == 7 && doc.snapshot.keys == 9, "%s",
          bkt_buf_str(&b));
    CHECK(doc.snapshot.n_cuts == 2 && strcmp(doc.snapshot.cuts[1], "b") == 0, "%s", bkt_buf_str(&b));
    bkt_domain_doc_fini(&doc);
    struct bkt_buf c = {0};
    CHECK(bkt_snapshot_note(b.ptr, b.len, NULL, &c, NULL) == BKT_OK && !strstr(bkt_buf_str(&c), "h5snapshot"), "%s", bkt_buf_str(&c));
    bkt_buf_fini(&b);
    bkt_buf_fini(&c);
}

int main(void)
{
    test_current();
    test_malformed();
    test_note();
    return failures != 0;
}
