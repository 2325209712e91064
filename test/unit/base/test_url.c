/* The parts of URLs that users see. */
#include <string.h>

#include "helpers/cmocka_includes.h"
#include "base/err.h"
#include "base/url.h"

static void secrets_are_hidden(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
        bool        bare;
    } cases[] = {
        {"http://user:pw@host:9000/x", "http://***@host:9000/x", false},
        {"no 'https://AKIA:se/cr+et@host/x': here", "no 'https://*** here", false},
        {"s3://TOKEN@bucket/key", "s3://***@bucket/key", false},
        {"two: s3://a:b@c/d, and HTTPS://e:f@g", "two: s3://***@c/d, and HTTPS://***@g", false},
        {"http://user:cut-pass", "http://***", false},
        {"http://user:1234567890", "http://***", false},
        {"http://u@h@host/", "http://***@host/", false},
        {"https://h/k?X-Amz-Signature=abc&x=1: HTTP 403", "https://h/k?***: HTTP 403", false},
        {"s3://b/k?versionId=7&X-Amz-Signature=abc", "s3://b/k?versionId=7&X-Amz-Signature=***", false},
        {"k?x-amz-security-token=abc&Signature=def&AWSAccessKeyId=ghi&sig=jkl", "k?x-amz-security-token=***&Signature=***&AWSAccessKeyId=***&sig=***",
         false},
        {"k?GoogleAccessId=abc&X-Goog-Credential=def&se=2030", "k?GoogleAccessId=***&X-Goog-Credential=***&se=2030", false},
        {"user:pw@host/x", "***@host/x", true},
        {"https://h#pass", "https://h#***", false},
        {"pw@host", "**@host", true}, /* never longer than it was */
        {"a.org, u:p@b.org s3://c:d@e", "a.org, ***@b.org s3://***@e", true},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char copy[200];
        assert_string_equal(bkt_url_shown(copy, sizeof copy, cases[i].text, cases[i].bare), cases[i].shown);
        (void)strcpy(copy, cases[i].text);
        assert_string_equal(bkt_url_shown(copy, sizeof copy, copy, cases[i].bare), cases[i].shown);
    }
}

static void all_else_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "x", "GET s3://bucket/db/a@b.h5: HTTP 404 NoSuchKey", "http://host:8080: no answer", "'http://127.0.0.1:9000' is odd",
        "https://host/a@b:c/d", "file:///a:b@c/d", "http://[::1]:9000/x", "http://host: a problem", "://", "x=1; y=2 & z", "https://host[:port][/path] is expected",
        "endpoint=https://host/base;region=eu", "s3://b/k?versionId=7", "a?b=c",
    };
    for (size_t i = 0; i < BKT_COUNT(texts); i++) {
        char copy[200];
        assert_string_equal(bkt_url_shown(copy, sizeof copy, texts[i], false), texts[i]);
    }
}

static void too_little_room_cuts(void **state)
{
    (void)state;
    char copy[12];
    assert_string_equal(bkt_url_shown(copy, sizeof copy, "http://me:secret@host", false), "http://***@");
    assert_string_equal(bkt_url_shown(copy, 1, "abc", false), "");
}

static void every_error_is_printable(void **state)
{
    (void)state;
    struct bkt_err err = {.n = 0};
    assert_int_equal(BKT_ERR(&err, BKT_EINVAL, "%s: no", "http://user:pw@host/x"), BKT_EINVAL);
    assert_string_equal(err.frame[0].msg, "http://***@host/x: no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(too_little_room_cuts),
        cmocka_unit_test(every_error_is_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
