/* Records of samples: the three grammars, and texts that are not a record. */
#include <h5bucket_samples.h>
#include <inttypes.h>
#include <string.h>

#include "helpers/check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct good {
    const char *text;
    int format;
    const char *uid;
    bool has_digest;
    uint64_t digest;
    uint32_t dataset, row;
    int rank;
    hsize_t shape[4];
    int grammar;
};
/* The first two are the specification's, with the fields that it lists (of the second the record's own number). */
static const struct good goods[] = {
    {"00:rlUK3C:8067007c0f05c359:16:105:10 10", 0, "rlUK3C", true, 0x8067007c0f05c359, 16, 105, 2, {10, 10}, 5},
    {"00:rlUK3C:b89f873d3d153a9c:8:199:20 2 3", 0, "rlUK3C", true, 0xb89f873d3d153a9c, 8, 199, 3, {20, 2, 3}, 5},
    {"01:w8fz2k_-:0000000000000001:0:0:224 224 3", 1, "w8fz2k_-", true, 1, 0, 0, 3, {224, 224, 3}, 5},
    {"00:a:ffffffffffffffff:4294967295:4294967295:", 0, "a", true, UINT64_MAX, UINT32_MAX, UINT32_MAX, 0, {0}, 5},
    {"01:a:ef46db3751d8e999:99:99:0 5", 1, "a", true, 0xef46db3751d8e999, 99, 99, 2, {0, 5}, 5},
    {"00:a:ef46db3751d8e999:0:0:9223372036854775807", 0, "a", true, 0xef46db3751d8e999, 0, 0, 1, {INT64_MAX}, 5},
    {"00:rlUK3C$8067007c0f05c359$16 105*10 10", 0, "rlUK3C", true, 0x8067007c0f05c359, 16, 105, 2, {10, 10}, 4},
    {"01:rlUK3C$8067007c0f05c359$16 105*", 1, "rlUK3C", true, 0x8067007c0f05c359, 16, 105, 0, {0}, 4},
    {"00:rlUK3C$16 105*10 10", 0, "rlUK3C", false, 0, 16, 105, 2, {10, 10}, 2},
    {"01:rlUK3C$0 0*", 1, "rlUK3C", false, 0, 0, 0, 0, {0}, 2},
};

static void test_good(const struct good *g)
{
    struct h5bucket_record r;
    char text[H5BUCKET_RECORD_MAX];
    CHECK(h5bucket_record_parse(g->text, strlen(g->text), &r) >= 0, "%s", g->text);
    CHECK(r.format == g->format && strcmp(r.uid, g->uid) == 0, "%s: %d, %s", g->text, r.format, r.uid);
    CHECK(r.has_digest == g->has_digest && r.digest == g->digest, "%s: %016" PRIx64, g->text, r.digest);
    CHECK(r.dataset == g->dataset && r.row == g->row, "%s: %u, %u", g->text, r.dataset, r.row);
    CHECK(r.rank == g->rank && memcmp(r.shape, g->shape, (size_t)g->rank * sizeof *r.shape) == 0, "%s: rank %d", g->text, r.rank);
    CHECK(h5bucket_record_emit(&r, g->grammar, text) >= 0 && strcmp(text, g->text) == 0, "%s became %s", g->text, text);
}

#define D "8067007c0f05c359"
#define S32 "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
#define S63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

/* Records with the byte where parsing ends, and a word of the message. */
static const struct {
    const char *text;
    int at;
    const char *word;
} bads[] = {
    {"", 0, "format code"},
    {"0", 0, "format code"},
    {"10:u:" D ":0:0:1", 0, "format code"},
    {"02:u:" D ":0:0:1", 0, "format code"},
    {"00", 2, "':'"},
    {"00:", 3, "uid"},
    {"00::" D ":0:0:1", 3, "uid"},
    {"00:../x:" D ":0:0:1", 3, "uid"},
    {"00:a/b:" D ":0:0:1", 4, "':' or '$'"},
    {"00:a.b:" D ":0:0:1", 4, "':' or '$'"},
    {"00:\xc3\xa9:" D ":0:0:1", 3, "uid"},
    {"00:" S63 "l:" D ":0:0:1", 67, "uid"},
    {"00:u:8067007c0f05c35:0:0:1", 20, "16 digits"},
    {"00:u:" D "0:0:0:1", 21, "more than 16"},
    {"00:u:8067007C0f05c359:0:0:1", 12, "16 digits"},
    {"00:u::0:0:1", 5, "16 digits"},
    {"00:u:" D ":-1:0:1", 22, "number"},
    {"00:u:" D ":+1:0:1", 22, "number"},
    {"00:u:" D ": 1:0:1", 22, "number"},
    {"00:u:" D ":01:0:1", 22, "leading zeros"},
    {"00:u:" D ":4294967296:0:1", 22, "too large"},
    {"00:u:" D ":0:99999999999999999999999:1", 24, "too large"},
    {"00:u:" D ":0:0", 25, "':'"},
    {"00:u:" D ":0:0:x", 26, "number"},
    {"00:u:" D ":0:0:-1", 26, "number"},
    {"00:u:" D ":0:0: 1", 26, "number"},
    {"00:u:" D ":0:0:1 ", 28, "number"},
    {"00:u:" D ":0:0:1  1", 28, "number"},
    {"00:u:" D ":0:0:1,1", 27, "blank"},
    {"00:u:" D ":0:0:1\n", 27, "blank"},
    {"00:u:" D ":0:0:9223372036854775808", 26, "too large"},
    {"00:u:" D ":0:0:4294967296 4294967296", 47, "too many elements"},
    {"00:u:" D ":0:0:0 4294967296 4294967296", 49, "too many elements"},
    {"00:u:" D ":0:0:" S32 " 1", 90, "too many dimensions"},
    {"00:u$" D "$0:0*1", 23, "blank"},
    {"00:u$" D "$0 0:1", 25, "'*'"},
    {"00:u$" D "0$0 0*1", 21, "more than 16"},
    {"00:u$" D "$0 0*1$", 27, "blank"},
    {"00:u$-1 0*1", 5, "number"},
    {"00:u$0 -1*1", 7, "number"},
    {"00:u$0  1*1", 7, "number"},
    {"00:u*0 1*1", 4, "':' or '$'"},
};

/* The innermost message. */
static herr_t keep_text(unsigned n, const H5E_error2_t *e, void *to)
{
    if (n == 0)
        (void)snprintf(to, 600, "%s", e->desc);
    return 0;
}

static void check_bad(const char *text, size_t n, int at, const char *word)
{
    struct h5bucket_record r;
    char got[600] = "", place[32];
    (void)snprintf(place, sizeof place, ": byte %d: ", at);
    herr_t rc = h5bucket_record_parse(text, n, &r);
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, got);
    CHECK(rc < 0, "'%s' was parsed", text);
    CHECK(strstr(got, place) && strstr(got, word), "'%s': byte %d and %s are expected in: %s", text, at, word, got);
}

static void test_long(void)
{
    char text[400] = "00:u:" D ":0:0:1";
    while (strlen(text) < 260)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), " 1");
    check_bad(text, 256, 255, "at most 255");
    struct h5bucket_record r = {.uid = "u", .has_digest = true, .rank = H5S_MAX_RANK};
    for (int i = 0; i < r.rank; i++)
        r.shape[i] = i < 3 ? 1000000 : 1;
    CHECK(h5bucket_record_emit(&r, 5, text) >= 0, "32 dimensions");
    for (int i = 0; i < r.rank; i++)
        r.shape[i] = i == 1 ? 0 : 10;
    CHECK(h5bucket_record_emit(&r, 5, text) < 0, "10^31 elements beside none");
}

static void test_no_text(void)
{
    char text[H5BUCKET_RECORD_MAX];
    struct h5bucket_record ok = {.uid = "u", .rank = 0}, r = ok;
    CHECK(h5bucket_record_emit(&ok, 2, text) >= 0 && strcmp(text, "00:u$0 0*") == 0, "%s", text);
    CHECK(h5bucket_record_emit(&ok, 5, text) < 0, "a record of v0.5 without a digest");
    CHECK(h5bucket_record_emit(&ok, 3, text) < 0, "grammar 3");
    r.format = 2;
    CHECK(h5bucket_record_emit(&r, 2, text) < 0, "format 2");
    r = ok;
    r.uid[0] = '/';
    CHECK(h5bucket_record_emit(&r, 2, text) < 0, "a uid with a slash");
    memset(r.uid, 'u', sizeof r.uid);
    CHECK(h5bucket_record_emit(&r, 2, text) < 0, "a uid without an end");
    r = ok;
    r.rank = -1;
    CHECK(h5bucket_record_emit(&r, 2, text) < 0, "a negative rank");
    r.rank = H5S_MAX_RANK + 1;
    CHECK(h5bucket_record_emit(&r, 2, text) < 0, "a rank of 33");
}

int main(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < LENGTH(goods); i++)
        test_good(&goods[i]);
    for (size_t i = 0; i < LENGTH(bads); i++)
        check_bad(bads[i].text, strlen(bads[i].text), bads[i].at, bads[i].word);
    test_long();
    test_no_text();
    return failures != 0;
}
