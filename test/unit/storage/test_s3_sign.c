/* SigV4 against AWS's published vectors: the general signing test suite (header signing) and the examples in
 * the S3 API reference ("Authenticating Requests: Using the Authorization Header"); then cases that the
 * vectors do not cover. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "helpers/cmocka_includes.h"
#include "storage/aws/sigv4.h"

/* Rules of other services than S3: a path that is sent is percent-encoded once more for the signature; and /./, /../
 * and // are resolved before; x-amz-content-sha256 isn't signed; nor is the token. */
enum { E = 1, N = 2, H = 4, L = 8 };
#define BKT_SIGN_S3 0
#define TOKEN_A "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
#define TOKEN_B                                                                                              \
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTf" \
    "lfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HF" \
    "vlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr" \
    "4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
#define ALNUM "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

#define MAX_PAIRS 4
struct vector {
    const char          *name, *method, *path;
    struct bkt_sign_pair params[MAX_PAIRS], headers[MAX_PAIRS];
    const char          *body, *token;
    unsigned             flags;
    const char          *signature;
};

/* 20150830T123600Z, us-east-1, service "service" */
static const struct vector suite[] = {
    {"get-header-key-duplicate", "GET", "/", {{0}}, {{"My-Header1", "value2"}, {"My-Header1", "value2"},
     {"My-Header1", "value1"}}, "", NULL, E | N | H,
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {"get-header-value-multiline", "GET", "/", {{0}}, {{"My-Header1", "value1 value2 value3"}}, "", NULL, E | N | H,
     "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
    {"get-header-value-order", "GET", "/", {{0}}, {{"My-Header1", "value4"}, {"My-Header1", "value1"},
     {"My-Header1", "value3"}, {"My-Header1", "value2"}}, "", NULL, E | N | H,
     "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
    {"get-header-value-trim", "GET", "/", {{0}}, {{"My-Header1", " value1"},
     {"My-Header2", " \"a   b   c\""}}, "", NULL, E | N | H,
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"get-relative-normalized", "GET", "/example/..", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-relative-relative-normalized", "GET", "/example1/example2/../..", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-relative-relative-unnormalized", "GET", "/example1/example2/../..", {{0}}, {{0}}, "", NULL, E | H,
     "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b"},
    {"get-relative-unnormalized", "GET", "/example/..", {{0}}, {{0}}, "", NULL, E | H,
     "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282"},
    {"get-slash-dot-slash-normalized", "GET", "/./", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-slash-dot-slash-unnormalized", "GET", "/./", {{0}}, {{0}}, "", NULL, E | H,
     "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145"},
    {"get-slash-normalized", "GET", "//", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-slash-pointless-dot-normalized", "GET", "/./example", {{0}}, {{0}}, "", NULL, E | N | H,
     "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
    {"get-slash-pointless-dot-unnormalized", "GET", "/./example", {{0}}, {{0}}, "", NULL, E | H,
     "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff"},
    {"get-slash-unnormalized", "GET", "//", {{0}}, {{0}}, "", NULL, E | H,
     "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e"},
    {"get-slashes-normalized", "GET", "//example//", {{0}}, {{0}}, "", NULL, E | N | H,
     "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
    {"get-slashes-unnormalized", "GET", "//example//", {{0}}, {{0}}, "", NULL, E | H,
     "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"},
    {"get-space-normalized", "GET", "/example space/", {{0}}, {{0}}, "", NULL, E | N | H,
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
    {"get-space-unnormalized", "GET", "/example space/", {{0}}, {{0}}, "", NULL, E | H,
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
    {"get-unreserved", "GET", "/-._~" ALNUM, {{0}}, {{0}}, "", NULL, E | N | H,
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8", "GET", "/\341\210\264", {{0}}, {{0}}, "", NULL, E | N | H,
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-vanilla", "GET", "/", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-empty-query-key", "GET", "/", {{"Param1", "value1"}}, {{0}}, "", NULL, E | N | H,
     "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query", "GET", "/", {{0}}, {{0}}, "", NULL, E | N | H,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-encoded", "GET", "/", {{"Param-3", "Value3"}, {"Param", "Value2"},
     {"\341\210\264", "Value1"}}, {{0}}, "", NULL, E | N | H,
     "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
    {"get-vanilla-query-order-key-case", "GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}},
     {{0}}, "", NULL, E | N | H,
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-unreserved", "GET", "/", {{"-._~" ALNUM, "-._~" ALNUM}}, {{0}}, "", NULL, E | N | H,
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query", "GET", "/", {{"\341\210\264", "bar"}}, {{0}}, "", NULL, E | N | H,
     "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-vanilla-with-session-token", "GET", "/", {{0}}, {{0}}, "", TOKEN_A, E | N | H,
     "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
    {"post-header-key-case", "POST", "/", {{0}}, {{0}}, "", NULL, E | N | H,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-header-key-sort", "POST", "/", {{0}}, {{"My-Header1", "value1"}}, "", NULL, E | N | H,
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
    {"post-header-value-case", "POST", "/", {{0}}, {{"My-Header1", "VALUE1"}}, "", NULL, E | N | H,
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"post-sts-header-after", "POST", "/", {{0}}, {{0}}, "", TOKEN_B, E | N | H | L,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-sts-header-before", "POST", "/", {{0}}, {{0}}, "", TOKEN_B, E | N | H,
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
    {"post-vanilla", "POST", "/", {{0}}, {{0}}, "", NULL, E | N | H,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-vanilla-empty-query-value", "POST", "/", {{"Param1", "value1"}}, {{0}}, "", NULL, E | N | H,
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-vanilla-query", "POST", "/", {{"Param1", "value1"}}, {{0}}, "", NULL, E | N | H,
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-x-www-form-urlencoded", "POST", "/", {{0}}, {{"Content-Type", "application/x-www-form-urlencoded"},
     {"Content-Length", "13"}}, "Param1=value1", NULL, E | N,
     "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
    {"post-x-www-form-urlencoded-parameters", "POST", "/", {{0}},
     {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}, {"Content-Length", "13"}}, "Param1=value1", NULL, E | N,
     "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"},
};

/* 20130524T000000Z, us-east-1, s3, bucket examplebucket */
static const struct vector s3[] = {
    {"get-object-range", "GET", "/test.txt", {{0}}, {{"Range", "bytes=0-9"}}, "", NULL, BKT_SIGN_S3,
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"put-object", "PUT", "/test%24file.text", {{0}},
     {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
     "Welcome to Amazon S3.", NULL, BKT_SIGN_S3, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"get-bucket-lifecycle", "GET", "/", {{"lifecycle", ""}}, {{0}}, "", NULL, BKT_SIGN_S3,
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"list-objects", "GET", "/", {{"max-keys", "2"}, {"prefix", "J"}}, {{0}}, "", NULL, BKT_SIGN_S3,
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static char *dup(const char *s)
{
    char *p = s ? strdup(s) : NULL;
    assert_true(!s || p);
    return p;
}

static struct bkt_creds creds_of(const char *id, const char *secret, const char *token)
{
    return (struct bkt_creds){.access_key = dup(id), .secret_key = dup(secret), .session_token = dup(token)};
}

static void creds_fini(struct bkt_creds *c)
{
    free(c->access_key);
    free(c->secret_key);
    free(c->session_token);
}

static size_t count(const struct bkt_sign_pair *p)
{
    size_t n = 0;
    while (n < MAX_PAIRS && p[n].name)
        n++;
    return n;
}

/* Resolve the path by RFC 3986 section 5.2.4, and remove empty segments.  A '/' at the end stays. */
static void normalize(const char *path, struct bkt_buf *out)
{
    bool dir = true;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        dir      = n == 0 || (n == 1 && p[0] == '.') || (n == 2 && memcmp(p, "..", 2) == 0);
        if (n == 2 && dir) {
            while (out->len && out->ptr[out->len - 1] != '/')
                bkt_buf_cut(out, out->len - 1);
            bkt_buf_cut(out, out->len - (out->len > 0));
        } else if (!dir) {
            assert_int_equal(bkt_buf_addf(out, "/%.*s", (int)n, p), BKT_OK);
        }
        p += n;
        if (*p == '/') {
            dir = true;
            p++;
        }
    }
    if (dir || !out->len)
        assert_int_equal(bkt_buf_add_str(out, "/"), BKT_OK);
}

/* The path as it is signed. */
static void signed_path(const struct vector *v, struct bkt_buf *out)
{
    struct bkt_buf plain = {0};
    if (v->flags & N)
        normalize(v->path, &plain);
    else
        assert_int_equal(bkt_buf_add_str(&plain, v->path), BKT_OK);
    assert_int_equal(v->flags & E ? bkt_percent_encode(out, bkt_buf_str(&plain), plain.len, "/")
                                  : bkt_buf_add_str(out, bkt_buf_str(&plain)), BKT_OK);
    bkt_buf_fini(&plain);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The parameters in canonical form, as the store sends them. */
static void query_of(const struct bkt_sign_pair *p, size_t n, struct bkt_buf *out)
{
    struct bkt_buf b[MAX_PAIRS] = {{0}};
    const char    *v[MAX_PAIRS] = {0};
    for (size_t i = 0; i < n; i++) {
        assert_true(bkt_percent_encode(&b[i], p[i].name, strlen(p[i].name), "") == BKT_OK &&
                    bkt_buf_add_str(&b[i], "\1") == BKT_OK && /* for the order by names */
                    bkt_percent_encode(&b[i], p[i].value, strlen(p[i].value), "") == BKT_OK);
        v[i] = bkt_buf_str(&b[i]);
    }
    qsort(v, n, sizeof *v, by_text);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(bkt_buf_addf(out, "%s%.*s=%s", i ? "&" : "", (int)strcspn(v[i], "\1"), v[i], strchr(v[i], 1) + 1), BKT_OK);
    for (size_t i = 0; i < n; i++)
        bkt_buf_fini(&b[i]);
}

/* The headers in canonical form: names in small letters, single blanks in values, values of one name joined. */
static size_t headers_of(const struct vector *v, struct bkt_buf *names, struct bkt_buf *values, struct bkt_sign_pair *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count(v->headers); i++) {
        const char *text = v->headers[i].value;
        bool        more = n && strcasecmp(v->headers[i].name, bkt_buf_str(&names[n - 1])) == 0;
        n += !more;
        for (const char *p = v->headers[i].name; *p && !more; p++)
            assert_int_equal(bkt_buf_addf(&names[n - 1], "%c", *p >= 'A' && *p <= 'Z' ? *p + 32 : *p), BKT_OK);
        if (more)
            assert_int_equal(bkt_buf_add_str(&values[n - 1], ","), BKT_OK);
        for (const char *p = text + strspn(text, " "); *p; p++)
            if (*p != ' ' || (p[1] && p[1] != ' '))
                assert_int_equal(bkt_buf_add(&values[n - 1], p, 1), BKT_OK);
        out[n - 1] = (struct bkt_sign_pair){bkt_buf_str(&names[n - 1]), bkt_buf_str(&values[n - 1])};
    }
    return n;
}

static void check(const struct vector *v, struct bkt_sign_input in, struct bkt_creds *creds, struct bkt_sign_key *cache)
{
    char                   hash[BKT_SHA256_HEX];
    struct bkt_sign_output out = {0};
    struct bkt_err         err = {0};
    assert_int_equal(bkt_sha256_hex(v->body, strlen(v->body), hash), BKT_OK);
    struct bkt_buf   query = {0}, path = {0}, names[MAX_PAIRS] = {{0}}, values[MAX_PAIRS] = {{0}};
    struct bkt_sign_pair headers[MAX_PAIRS];
    struct bkt_creds used = *creds;
    signed_path(v, &path);
    query_of(v->params, count(v->params), &query);
    if (v->flags & L)
        used.session_token = NULL;
    in.method       = v->method;
    in.path         = bkt_buf_str(&path);
    in.query        = bkt_buf_str(&query);
    in.headers      = headers;
    in.n_headers    = headers_of(v, names, values, headers);
    in.payload_hash = hash;
    in.creds        = &used;
    in.no_sha256    = v->flags & H;
    assert_int_equal(bkt_sign(&in, cache, &out, &err), BKT_OK);
    const char *got = strstr(bkt_buf_str(&out.authorization), "Signature=");
    assert_non_null(got);
    if (strcmp(got + 10, v->signature) != 0) {
        struct bkt_buf canonical = {0};
        assert_int_equal(bkt_sign_canonical(&in, &canonical, NULL), BKT_OK);
        fail_msg("%s: signature %s, should be %s; canonical request:\n%s", v->name, got + 10, v->signature,
                 bkt_buf_str(&canonical));
    }
    for (size_t i = 0; i < MAX_PAIRS; i++) {
        bkt_buf_fini(&names[i]);
        bkt_buf_fini(&values[i]);
    }
    bkt_buf_fini(&path);
    bkt_buf_fini(&query);
    bkt_sign_output_fini(&out);
}

static void suite_vectors(void **state)
{
    struct bkt_sign_key cache = {0};
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(suite); i++) {
        struct bkt_creds creds = creds_of("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", suite[i].token);
        check(&suite[i],
              (struct bkt_sign_input){.host = "example.amazonaws.com", .now = 1440938160, .region = "us-east-1", .service = "service"},
              &creds, &cache);
        creds_fini(&creds);
    }
    bkt_sign_key_wipe(&cache);
}

static void s3_vectors(void **state)
{
    struct bkt_creds creds = creds_of("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL);
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(s3); i++)
        check(&s3[i],
              (struct bkt_sign_input){
                  .host = "examplebucket.s3.amazonaws.com", .now = 1369353600, .region = "us-east-1", .service = "s3"},
              &creds, NULL);
    creds_fini(&creds);
}

static struct bkt_sign_input plain_input(const struct bkt_creds *creds)
{
    return (struct bkt_sign_input){.method = "GET", .host = "h", .path = "/", .payload_hash = BKT_UNSIGNED_PAYLOAD,
                                   .now = 1369353600, .region = "us-east-1", .service = "s3", .creds = creds};
}

/* The one line of AWS's example that has the header, and the steps before it. */
static void whole_header(void **state)
{
    struct bkt_creds       creds = creds_of("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL);
    struct bkt_sign_pair   range = {"range", "bytes=0-9"};
    struct bkt_sign_input  in    = plain_input(&creds);
    struct bkt_sign_output out   = {0};
    struct bkt_buf         canonical = {0}, string = {0};
    (void)state;
    in.host = "examplebucket.s3.amazonaws.com";
    in.path = "/test.txt";
    in.headers = &range;
    in.n_headers = 1;
    in.payload_hash = BKT_SHA256_EMPTY;
    assert_int_equal(bkt_sign(&in, NULL, &out, NULL), BKT_OK);
    assert_string_equal(bkt_buf_str(&out.authorization),
                        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    assert_string_equal(out.amz_date, "20130524T000000Z");
    assert_int_equal(bkt_sign_canonical(&in, &canonical, NULL), BKT_OK);
    assert_int_equal(bkt_sign_string(&in, &canonical, &string, NULL), BKT_OK);
    assert_string_equal(bkt_buf_str(&string),
                        "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n"
                        "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
    bkt_buf_fini(&canonical);
    bkt_buf_fini(&string);
    bkt_sign_output_fini(&out);
    creds_fini(&creds);
}

static void canonical_is(const struct bkt_sign_input *in, const char *want)
{
    struct bkt_buf got = {0};
    assert_int_equal(bkt_sign_canonical(in, &got, NULL), BKT_OK);
    if (strstr(bkt_buf_str(&got), want) == NULL)
        fail_msg("no \"%s\" in:\n%s", want, bkt_buf_str(&got));
    bkt_buf_fini(&got);
}

/* S3 signs the path and the query as they are sent. */
static void paths_and_queries(void **state)
{
    static const struct {
        const char *path, *query, *canonical;
    } cases[] = {
        {"/a//b/../c/./%20%25", "", "GET\n/a//b/../c/./%20%25\n\n"},
        {"", NULL, "GET\n/\n\n"},
        {"/k", "delimiter=%2F&list-type=2&prefix=a%2Fb", "\ndelimiter=%2F&list-type=2&prefix=a%2Fb\n"},
        {"/k", "uploads=", "\nuploads=\n"},
    };
    struct bkt_creds      creds = creds_of("A", "S", NULL);
    struct bkt_sign_input in    = plain_input(&creds);
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        in.path  = cases[i].path;
        in.query = cases[i].query;
        canonical_is(&in, cases[i].canonical);
    }
    creds_fini(&creds);
}

static void token_is_signed(void **state)
{
    struct bkt_creds      creds = creds_of("A", "S", "T/1==");
    struct bkt_sign_input in    = plain_input(&creds);
    (void)state;
    canonical_is(&in, "x-amz-security-token:T/1==\n");
    canonical_is(&in, "\nhost;x-amz-content-sha256;x-amz-date;x-amz-security-token\nUNSIGNED-PAYLOAD");
    creds_fini(&creds);
}

static void refused(const struct bkt_sign_input *in)
{
    struct bkt_sign_output out = {0};
    struct bkt_err         err = {0};
    assert_int_equal(bkt_sign(in, NULL, &out, &err), BKT_EINVAL);
    assert_int_equal(err.n, 1);
    assert_null(strstr(err.frame[0].msg, "SECRET"));
    bkt_sign_output_fini(&out);
}

static void bad_input(void **state)
{
    static const struct {
        const char *id, *secret, *token;
    } bad[] = {
        {"", "SECRET", NULL}, {"A", "", NULL}, {NULL, "SECRET", NULL}, {"A\nB", "SECRET", NULL}, {"A/B", "SECRET", NULL},
        {"A", "SECRET", "t\r\nx: y"},
    };
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(bad); i++) {
        struct bkt_creds      creds = creds_of(bad[i].id, bad[i].secret, bad[i].token);
        struct bkt_sign_input in    = plain_input(&creds);
        refused(&in);
        creds_fini(&creds);
    }
    struct bkt_creds     creds = creds_of("A", "SECRET", NULL);
    struct bkt_sign_pair evil  = {"x-amz-meta", "a\nb: c"};
    struct bkt_sign_input base = plain_input(&creds), in = base;
    in.headers = &evil, in.n_headers = 1;
    refused(&in);
    in = base, in.host = "h\r\nx: y";
    refused(&in);
    in = base, in.region = "us/east";
    refused(&in);
    in = base, in.now = -1;
    refused(&in);
    in = base, in.creds = NULL;
    refused(&in);
    creds_fini(&creds);
    char *huge = malloc(5000);
    assert_non_null(huge);
    memset(huge, 'x', 4999);
    huge[4999] = 0;
    creds      = creds_of("A", huge, NULL);
    in         = plain_input(&creds);
    refused(&in);
    creds_fini(&creds);
    free(huge);
}

/* A cached key serves its own day, region, service and secret only. */
static void key_cache(void **state)
{
    struct bkt_creds      one = creds_of("A", "S1", NULL), two = creds_of("A", "S2", NULL);
    struct bkt_sign_input in[5];
    struct bkt_sign_key   cache = {0};
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(in); i++)
        in[i] = plain_input(&one);
    in[1].creds  = &two;
    in[2].now   += 86400;
    in[3].region = "eu-west-1";
    in[4].service = "sts";
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < BKT_COUNT(in); i++) {
            struct bkt_sign_output a = {0}, b = {0};
            assert_int_equal(bkt_sign(&in[i], &cache, &a, NULL), BKT_OK);
            assert_int_equal(bkt_sign(&in[i], NULL, &b, NULL), BKT_OK);
            assert_string_equal(bkt_buf_str(&a.authorization), bkt_buf_str(&b.authorization));
            unsigned char before[32];
            memcpy(before, cache.key, 32);
            assert_int_equal(bkt_sign(&in[i], &cache, &a, NULL), BKT_OK);
            assert_memory_equal(before, cache.key, 32);
            bkt_sign_output_fini(&a);
            bkt_sign_output_fini(&b);
        }
    bkt_sign_key_wipe(&cache);
    assert_false(cache.set);
    creds_fini(&one);
    creds_fini(&two);
}

static void hashes_and_encoding(void **state)
{
    char           hex[BKT_SHA256_HEX];
    struct bkt_buf b = {0};
    (void)state;
    assert_int_equal(bkt_sha256_hex(NULL, 0, hex), BKT_OK);
    assert_string_equal(hex, BKT_SHA256_EMPTY);
    assert_int_equal(bkt_sha256_hex("abc", 3, hex), BKT_OK); /* FIPS 180-2, B.1 */
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(bkt_percent_encode(&b, "a b+c/\xc3\xbc~*'()!%", 15, "/"), BKT_OK);
    assert_string_equal(bkt_buf_str(&b), "a%20b%2Bc/%C3%BC~%2A%27%28%29%21%25");
    bkt_buf_clear(&b);
    assert_int_equal(bkt_percent_encode(&b, "a/b", 3, ""), BKT_OK);
    assert_string_equal(bkt_buf_str(&b), "a%2Fb");
    bkt_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_vectors),   cmocka_unit_test(s3_vectors),          cmocka_unit_test(whole_header),
        cmocka_unit_test(paths_and_queries), cmocka_unit_test(token_is_signed),   cmocka_unit_test(bad_input),
        cmocka_unit_test(key_cache),       cmocka_unit_test(hashes_and_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
