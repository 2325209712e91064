/* The readers behind the credential chain: INI, JSON, times, commands, URLs; in odd, hostile and mutated
 * forms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "storage/aws/cred/cred_impl.h"

/* ---- INI ---- */

static const char config_text[] =
    "\xef\xbb\xbf# a comment\r\n"
    "lost = before any section\n"
    "[default]\r\n"
    "region = us-west-1\r\n"
    "Output=json\n"
    "; another\n"
    "[profile dev]\n"
    "  region   =   eu-central-1   # a comment behind a blank\n"
    "credential_process = tool --a=b#c 'x y'\n"
    "   --more\n"
    "s3 =\n"
    "  addressing_style = path\n"
    "\tendpoint_url=http://nested:1\n"
    "plain = v\n"
    "no equals sign here\n"
    "= no name\n"
    "empty =\n"
    "[profile \"with space\"]\n"
    "region = r2\n"
    "[ profile\ttabbed ]\n"
    "region=r3\n"
    "[services s]\n"
    "s3 =\n"
    "  endpoint_url = http://s3:9000\n"
    "sts =\n"
    "  endpoint_url = http://sts:9000\n"
    "[profile ends]\n"
    "services = s\n"
    "endpoint_url = http://all\n"
    "[profile all]\n"
    "endpoint_url = http://all\n"
    "[profile dev]\n"
    "region = later-wins\n"
    "[broken\n"
    "region = nowhere\n"
    "[foo]\n"
    "region = not-a-profile\n"
    "[profile last]\n"
    "region = no-newline";

static const char credentials_text[] = "[default]\n"
                                       "aws_access_key_id = A1\n"
                                       "aws_secret_access_key=S/1+x=;#y\n"
                                       "[dev]\n"
                                       "AWS_ACCESS_KEY_ID=A2\n"
                                       "plain = from-credentials\n"
                                       "[profile lenient]\n"
                                       "aws_access_key_id=A3\n"
                                       "[two words]\n"
                                       "aws_access_key_id=A4\n";

static void ini_load(struct bkt_aws_config *c)
{
    assert_int_equal(bkt_aws_config_parse(c, config_text, sizeof config_text - 1, false, NULL), BKT_OK);
    assert_int_equal(bkt_aws_config_parse(c, credentials_text, sizeof credentials_text - 1, true, NULL), BKT_OK);
}

static void ini_values(void **state)
{
    static const struct {
        const char *profile, *key, *value; /* NULL: absent */
    } cases[] = {
        {"default", "region", "us-west-1"},
        {"default", "output", "json"},
        {"default", "lost", NULL},
        {"default", "aws_access_key_id", "A1"},
        {"default", "aws_secret_access_key", "S/1+x=;#y"},
        {"dev", "region", "later-wins"},
        {"dev", "credential_process", "tool --a=b#c 'x y'\n--more"},
        {"dev", "s3.addressing_style", "path"},
        {"dev", "s3.endpoint_url", "http://nested:1"},
        {"dev", "s3", NULL},
        {"dev", "plain", "from-credentials"},
        {"dev", "aws_access_key_id", "A2"},
        {"dev", "empty", NULL},
        {"dev", "no equals sign here", NULL},
        {"dev", "", NULL},
        {"with space", "region", "r2"},
        {"tabbed", "region", "r3"},
        {"two words", "aws_access_key_id", "A4"},
        {"lenient", "aws_access_key_id", "A3"},
        {"foo", "region", NULL},
        {"broken", "region", NULL},
        {"last", "region", "no-newline"},
        {"nobody", "region", NULL},
    };
    struct bkt_aws_config c = {0};
    (void)state;
    ini_load(&c);
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        const char *v = bkt_aws_config_profile(&c, cases[i].profile, cases[i].key);
        if (!v != !cases[i].value || (v && strcmp(v, cases[i].value) != 0))
            fail_msg("%s, %s: '%s', should be '%s'", cases[i].profile, cases[i].key, v ? v : "(absent)",
                     cases[i].value ? cases[i].value : "(absent)");
    }
    assert_non_null(bkt_aws_config_find(&c, "profile", "ends", NULL));
    assert_null(bkt_aws_config_find(&c, "profile", "foo", NULL));
    assert_true(bkt_aws_config_find(&c, "profile", "dev", "plain")->from_credentials);
    assert_false(bkt_aws_config_find(&c, "profile", "dev", "region")->from_credentials);
    assert_true(bkt_aws_config_has_prefix(&c, "dev", "credential_"));
    assert_false(bkt_aws_config_has_prefix(&c, "dev", "sso_"));
    assert_string_equal(bkt_aws_config_find(&c, "services", "s", "sts.endpoint_url")->value, "http://sts:9000");
    assert_null(bkt_aws_config_find(&c, "services", "", "sts.endpoint_url"));
    assert_string_equal(bkt_aws_config_endpoint(&c, "ends", "s3"), "http://s3:9000");
    assert_string_equal(bkt_aws_config_endpoint(&c, "ends", "sts"), "http://sts:9000");
    assert_string_equal(bkt_aws_config_endpoint(&c, "ends", "ec2"), "http://all");
    assert_string_equal(bkt_aws_config_endpoint(&c, "all", "s3"), "http://all");
    assert_null(bkt_aws_config_endpoint(&c, "dev", "s3"));
    bkt_aws_config_fini(&c);
}

static void ini_default_profile(void **state)
{
    static const char     text[] = "[profile default]\nregion = strong\n[default]\nregion = weak\noutput = weak\n";
    struct bkt_aws_config c      = {0};
    (void)state;
    assert_int_equal(bkt_aws_config_parse(&c, text, sizeof text - 1, false, NULL), BKT_OK);
    assert_string_equal(bkt_aws_config_profile(&c, "default", "region"), "strong");
    assert_null(bkt_aws_config_profile(&c, "default", "output"));
    bkt_aws_config_fini(&c);
}

/* ---- mutation ---- */

static uint64_t random_state = 88172645463325252U;
static unsigned next_random(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % below);
}

/* A heap copy without a NUL, so that a read past its end is noticed. */
static char *mutate(const char *text, size_t n, const char *with, size_t *out_n)
{
    size_t cut = next_random(4) ? n : next_random((unsigned)n + 1);
    char  *p   = malloc(cut ? cut : 1);
    assert_non_null(p);
    memcpy(p, text, cut);
    for (unsigned k = next_random(6); cut && k > 0; k--)
        p[next_random((unsigned)cut)] = next_random(3) ? with[next_random((unsigned)strlen(with))] : (char)next_random(256);
    *out_n = cut;
    return p;
}

static void ini_mutated(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct bkt_aws_config c = {0};
        size_t                n;
        char                 *p = mutate(config_text, sizeof config_text - 1, "[]=\n\r \t#;\"'", &n);
        assert_int_equal(bkt_aws_config_parse(&c, p, n, i & 1, NULL), BKT_OK);
        assert_int_equal(bkt_aws_config_parse(&c, p, n, !(i & 1), NULL), BKT_OK);
        for (size_t k = 0; k < c.n; k++) {
            assert_non_null(c.v[k].section);
            assert_true(!c.v[k].key == !c.v[k].value);
        }
        (void)bkt_aws_config_profile(&c, "dev", "region");
        (void)bkt_aws_config_endpoint(&c, "ends", "s3");
        bkt_aws_config_fini(&c);
        free(p);
    }
}

/* ---- JSON ---- */

#define N_FIELDS 3
static int json(const char *text, size_t n, struct bkt_cred_json_field f[N_FIELDS])
{
    f[0] = (struct bkt_cred_json_field){.name = "a"};
    f[1] = (struct bkt_cred_json_field){.name = "b"};
    f[2] = (struct bkt_cred_json_field){.name = "c"};
    /* exactly as long as it is */
    char *p = malloc(n ? n : 1);
    assert_non_null(p);
    memcpy(p, text, n);
    int rc = bkt_cred_json_fields(p, n, f, N_FIELDS, NULL);
    free(p);
    return rc;
}

static void json_good(void **state)
{
    static const struct {
        const char *text, *a, *b; /* NULL: not present */
        bool        a_text;
    } cases[] = {
        {"{}", NULL, NULL, false},
        {" {\"a\" : \"x\" , \"b\":1.5e3 }\n", "x", "1.5e3", true},
        {"{\"a\":null,\"b\":true}", NULL, "true", false},
        {"{\"a\":\"\",\"b\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "", "\"\\/\b\f\n\r\t", true},
        {"{\"a\":\"\\u0041\\u00fc\\u20AC\\uD83D\\uDE00\"}", "A\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", NULL, true},
        {"{\"a\":\"one\",\"a\":\"two\"}", "two", NULL, true},
        {"{\"a\":\"one\",\"a\":null}", NULL, NULL, false},
        {"{\"x\":{\"a\":\"inner\",\"y\":[1,\"]\",{}]},\"a\":\"outer\"}", "outer", NULL, true},
        {"{\"\\u0061\":\"by escape\"}", "by escape", NULL, true},
        {"{\"a\":{\"b\":\"no\"}}", NULL, NULL, false},
        {"{\"a\":[\"no\"],\"b\":-1}", NULL, "-1", false},
    };
    struct bkt_cred_json_field f[N_FIELDS];
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        assert_int_equal(json(cases[i].text, strlen(cases[i].text), f), BKT_OK);
        const char *want[2] = {cases[i].a, cases[i].b};
        for (int k = 0; k < 2; k++)
            if (f[k].present != (want[k] != NULL) || (want[k] && strcmp(bkt_buf_str(&f[k].value), want[k]) != 0))
                fail_msg("%s: %s is '%s'", cases[i].text, f[k].name, bkt_buf_str(&f[k].value));
        assert_int_equal(f[0].text, cases[i].a_text);
        assert_false(f[2].present);
        bkt_cred_json_fields_fini(f, N_FIELDS);
    }
}

static void json_bad(void **state)
{
    static const char *const cases[] = {
        "", " ", "[]", "\"a\"", "{", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"x", "{\"a\":\"x\"", "{\"a\":\"x\",",
        "{\"a\":\"x\",}", "{\"a\":\"x\"}}", "{\"a\":\"x\"} {}", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}",
        "{\"a\":}", "{\"a\":,}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\ud800\"}", "{\"a\":\"\\ud800\\u0041\"}", "{\"a\":\"\\udc00\"}", "{\"a\":\"\n\"}", "{\"a\":[}",
        "{\"a\":[1}", "{\"a\":{]}", "{\"a\":[\"}", "\xff\xfe{\"a\":1}",
        "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
    };
    struct bkt_cred_json_field f[N_FIELDS];
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        if (json(cases[i], strlen(cases[i]), f) != BKT_EFORMAT)
            fail_msg("accepted: %s", cases[i]);
        assert_null(f[0].value.ptr);
    }
    assert_int_equal(json("{\"a\":\"x\0y\"}", 11, f), BKT_EFORMAT);
    /* the message has the place, not the content */
    struct bkt_err err = {0};
    assert_int_equal(bkt_cred_json_fields("{\"a\":\"SECRET\" x", 15, f, N_FIELDS, &err), BKT_EFORMAT);
    assert_null(strstr(err.frame[0].msg, "SECRET"));
    assert_non_null(strstr(err.frame[0].msg, "byte 14"));
}

static void json_mutated(void **state)
{
    static const char seed[] = "{\"a\": \"x\\u00e4\\ud83d\\ude00\\n\", \"b\": [1, {\"c\": \"d\\\"\"}, null], \"c\": -1e5, "
                               "\"d\": true, \"a\": \"again\"}";
    struct bkt_cred_json_field f[N_FIELDS];
    int                   good = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t n;
        char  *p  = mutate(seed, sizeof seed - 1, "{}[]\",:\\u0", &n);
        int    rc = json(p, n, f);
        assert_true(rc == BKT_OK || rc == BKT_EFORMAT);
        good += rc == BKT_OK;
        bkt_cred_json_fields_fini(f, N_FIELDS);
        free(p);
    }
    assert_true(good >= 1 && good <= 19999);
}

/* ---- the rest ---- */

static void times(void **state)
{
    static const struct {
        const char *text;
        int64_t     at; /* -1: no time */
    } cases[] = {
        {"2013-05-24T00:00:00Z", 1369353600}, {"2013-05-24t00:00:00z", 1369353600},
        {"2013-05-24 00:00:00", 1369353600}, {"2013-05-24T00:00:00.123456Z", 1369353600},
        {"2013-05-24T02:00:00+02:00", 1369353600}, {"2013-05-23T19:30:00-0430", 1369353600},
        {"2013-05-24T01:00:00+01", 1369353600}, {"2038-01-19T03:14:08Z", 2147483648}, {"1970-01-01T00:00:00Z", 0},
        {"", -1}, {"2013-05-24", -1}, {"2013-05-24T00:00Z", -1}, {"2013-13-24T00:00:00Z", -1}, {"2013-05-24T24:00:00Z", -1},
        {"2013-05-24T00:00:00Zx", -1}, {"2013-05-24T00:00:00+1", -1}, {"2013-05-24T00:00:00+01:0", -1},
        {"1369353600", -1}, {"13-05-24T00:00:00Z", -1}, {"1960-05-24T00:00:00Z", -1}, {"2013-05-24T00:00:00+99:00", -1},
    };
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        int64_t at = -1;
        bool    ok = bkt_cred_time(cases[i].text, &at);
        if (ok != (cases[i].at >= 0) || (ok && at != cases[i].at))
            fail_msg("%s: %d, %lld", cases[i].text, ok, (long long)at);
    }
}

static void commands(void **state)
{
    static const struct {
        const char *command;
        const char *words[5];
    } cases[] = {
        {"a", {"a"}},
        {"  a\tb\n c ", {"a", "b", "c"}},
        {"'/opt/my tool' --x=\"y z\"", {"/opt/my tool", "--x=y z"}},
        {"a '' \"\"", {"a", "", ""}},
        {"a\\ b \"\\\"q\\\"\" \"\\n\" '\\n'", {"a b", "\"q\"", "\\n", "\\n"}},
        {"a$HOME `id` ~ *", {"a$HOME", "`id`", "~", "*"}},
        {"x'y'\"z\"", {"xyz"}},
        {"end\\", {"end\\"}},
    };
    static const char *const bad[] = {"", "  ", "a 'b", "a \"b\\\"", "\""};
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char **argv = NULL;
        assert_int_equal(bkt_cred_split(cases[i].command, &argv, NULL), BKT_OK);
        for (size_t k = 0; k < BKT_COUNT(cases[i].words); k++) {
            const char *want = cases[i].words[k];
            if (!want != !argv[k] || (want && strcmp(want, argv[k]) != 0))
                fail_msg("%s: word %zu is '%s'", cases[i].command, k, argv[k] ? argv[k] : "(none)");
            if (!want)
                break;
        }
        free(argv);
    }
    for (size_t i = 0; i < BKT_COUNT(bad); i++) {
        char **argv = NULL;
        assert_int_equal(bkt_cred_split(bad[i], &argv, NULL), BKT_EINVAL);
        assert_null(argv);
    }
    for (int i = 0; i < 4000; i++) {
        size_t n;
        char  *p    = mutate("tool 'a b' \"c \\\" d\" e\\ f --g=h i j", 35, "'\"\\ \t", &n);
        char  *text = strndup(p, n), **argv = NULL;
        assert_non_null(text);
        int rc = bkt_cred_split(text, &argv, NULL);
        assert_true(rc == BKT_OK ? argv && argv[0] : rc == BKT_EINVAL && !argv);
        free(argv);
        free(text);
        free(p);
    }
}

/* Plain http only to where no network lies between. */
static void container_urls(void **state)
{
    static const char *const good[] = {
        "https://example.com/x", "http://127.0.0.1/x", "http://127.9.9.9:81/x?y", "http://localhost/x", "http://[::1]:80/x",
        "http://169.254.170.2/x", "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1/credentials",
        "http://[fd00:ec2:0:0::23]/x",
    };
    static const char *const bad[] = {
        "http://example.com/x", "http://10.0.0.1/", "http://169.254.169.254/x", "http://127.0.0.1@evil.com/",
        "http://127.0.0.1.evil.com/", "http://localhost.evil.com/", "ftp://127.0.0.1/", "file:///etc/passwd", "", "x",
        "http://[fd00:ec2::24]/", "http://[::2]/", "//127.0.0.1/", "http://", "http://0.0.0.0/", "http://1270.0.0.1/",
    };
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(good); i++)
        if (!bkt_cred_full_uri_ok(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < BKT_COUNT(bad); i++)
        if (bkt_cred_full_uri_ok(bad[i]))
            fail_msg("accepted: %s", bad[i]);
}

static void answers(void **state)
{
    static const struct {
        const char *token_name, *text;
        int         rc;
        const char *says;
    } cases[] = {
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"T\",\"Expiration\":\"2999-01-01T00:00:00Z\"}",
         BKT_OK, ""},
        {"Token", "{\"Code\":\"Success\",\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\"}", BKT_OK, ""},
        {"SessionToken", "{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"SessionToken\":\"T\"}", BKT_OK, ""},
        {"SessionToken", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\"}", BKT_EFORMAT, "Version"},
        {"SessionToken", "{\"Version\":2,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\"}", BKT_EFORMAT, "Version"},
        {"Token", "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"no trust\"}", BKT_EACCES, "no trust"},
        {"Token", "{\"AccessKeyId\":\"A\"}", BKT_EFORMAT, "SecretAccessKey"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"\"}", BKT_EFORMAT, "missing"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":7}", BKT_EFORMAT, "SecretAccessKey"},
        {"Token", "{\"AccessKeyId\":\"A\\r\\nX: y\",\"SecretAccessKey\":\"S\"}", BKT_EFORMAT, "invalid characters"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"t\\nx\"}", BKT_EFORMAT, "invalid characters"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Expiration\":\"soon\"}", BKT_EFORMAT, "Expiration"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Expiration\":5}", BKT_EFORMAT, "Expiration"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Expiration\":\"2001-01-01T00:00:00Z\"}", BKT_EACCES, "ended"},
        {"Token", "<html>", BKT_EFORMAT, "object"},
        {"Token", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECR", BKT_EFORMAT, "end"},
    };
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_creds *c   = NULL;
        struct bkt_err    err = {0};
        int rc = bkt_creds_from_json(cases[i].text, strlen(cases[i].text), cases[i].token_name, "src", &c, &err);
        if (rc != cases[i].rc || (rc < 0 && !strstr(err.frame[0].msg, cases[i].says)))
            fail_msg("%s: %d, %s", cases[i].text, rc, err.n ? err.frame[0].msg : "");
        assert_true((rc == BKT_OK) == (c != NULL));
        if (c)
            assert_string_equal(c->secret_key, "S");
        bkt_creds_unref(c);
    }
}

static void secrets_grow(void **state)
{
    struct bkt_buf b = {0};
    (void)state;
    for (int i = 0; i < 5000; i++)
        assert_int_equal(bkt_secret_addf(&b, "%d,", i % 10), BKT_OK);
    assert_int_equal(b.len, 10000);
    assert_memory_equal(b.ptr, "0,1,2,", 6);
    assert_memory_equal(b.ptr + 9996, "8,9,", 5);
    bkt_secret_fini(&b);
    assert_null(b.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ini_values),   cmocka_unit_test(ini_default_profile), cmocka_unit_test(ini_mutated),
        cmocka_unit_test(json_good),    cmocka_unit_test(json_bad),            cmocka_unit_test(json_mutated),
        cmocka_unit_test(times),        cmocka_unit_test(commands),            cmocka_unit_test(container_urls),
        cmocka_unit_test(answers),      cmocka_unit_test(secrets_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
