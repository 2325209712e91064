/* Pure parts of HTTP and S3: headers, addresses, XML, also cut and mutated. */
#include "helpers/store_testing.h"

#include "storage/aws/xml.h"
#include "storage/http/request.h"
#include "storage/s3/address.h"
#include "storage/web/login.h"

static void content_range(void)
{
    static const struct {
        const char *text;
        bool        ok;
        uint64_t    first, last, total;
    } cases[] = {
        {"bytes 0-9/10", true, 0, 9, 10},
        {"Bytes 5-5/10", true, 5, 5, 10},
        {"bytes 0-9/*", true, 0, 9, UINT64_MAX},
        {"bytes */10", true, 0, 0, 10},
        {"bytes 0-18446744073709551614/18446744073709551615", true, 0, UINT64_MAX - 1, UINT64_MAX},
        {"bytes 0-10/10", false, 0, 0, 0},
        {"bytes 9-0/10", false, 0, 0, 0},
        {"bytes -1-5/10", false, 0, 0, 0},
        {"bytes 0-5", false, 0, 0, 0},
        {"bytes */*", false, 0, 0, 0},
        {"bytes 0-99999999999999999999/10", false, 0, 0, 0},
        {"bytes 0-5/10x", false, 0, 0, 0},
        {"bytes", false, 0, 0, 0},
        {"", false, 0, 0, 0},
        {"items 0-5/10", false, 0, 0, 0},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        uint64_t first, last, total;
        bool     ok = bkt_http_parse_range(cases[i].text, &first, &last, &total);
        CHECK(ok == cases[i].ok && (!ok || (first == cases[i].first && last == cases[i].last && total == cases[i].total)),
              "'%s'", cases[i].text);
    }
}

static void headers(void)
{
    struct bkt_http_reply r = {.length = UINT64_MAX, .total = UINT64_MAX};
    char                  longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    bkt_http_reply_header(&r, "CONTENT-LENGTH", "12");
    bkt_http_reply_header(&r, "etag", longer);
    CHECK(r.length == 12 && r.etag[0] == 0, "length %lu", (unsigned long)r.length);
    bkt_http_reply_header(&r, "ETag", "W/\"x\"");
    bkt_http_reply_header(&r, "Content-Length", "-1");
    bkt_http_reply_header(&r, "Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT");
    bkt_http_reply_header(&r, "Date", "nonsense");
    bkt_http_reply_header(&r, "x-amz-request-id", "R");
    CHECK(strcmp(r.etag, "W/\"x\"") == 0 && r.length == UINT64_MAX && r.mtime == 1445412480 && r.date == 0 &&
              strcmp(r.request_id, "R") == 0, "headers");
}

/* As GET, a list, a proxy and If-Match show them. */
static void etags(void)
{
    static const struct {
        const char *a, *b;
        bool        same;
    } cases[] = {
        {"\"x\"", "\"x\"", true},
        {"\"x\"", "x", true},
        {"W/\"x\"", "\"x\"", true},
        {"W/\"x\"", "x", true},
        {"\"x\"", "\"y\"", false},
        {"W/\"x\"", "W/\"y\"", false},
        {"\"x\"", "\"xy\"", false},
        {"x", "W", false},
        {"W/x", "x", true},
        {"", "", false},
        {"\"\"", "\"\"", false},
        {"\"", "\"", false},
        {"W/", "W/", false},
        {"\"x", "x", true},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        CHECK(bkt_etag_same(cases[i].a, cases[i].b) == cases[i].same && bkt_etag_same(cases[i].b, cases[i].a) == cases[i].same, "%s %s",
              cases[i].a, cases[i].b);
    size_t      n;
    const char *bare = bkt_etag_bare("W/\"0f-3\"", &n);
    CHECK(n == 4 && strncmp(bare, "0f-3", n) == 0, "%zu of %s", n, bare);
}

static void other_kinds_of_hosts(void)
{
    static const struct {
        bool        fips, dualstack;
        const char *want;
    } cases[] = {
        {true, false, "buck.s3-fips.us-gov-west-1.amazonaws.com"},
        {false, true, "buck.s3.dualstack.us-gov-west-1.amazonaws.com"},
        {true, true, "buck.s3-fips.dualstack.us-gov-west-1.amazonaws.com"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_s3_place p;
        struct bkt_buf      host = {0};
        CHECK(bkt_s3_place_init(&p, "buck", NULL, NULL, NULL) == BKT_OK, "buck");
        p.fips      = cases[i].fips;
        p.dualstack = cases[i].dualstack;
        CHECK(bkt_s3_place_host(&p, "us-gov-west-1", &host) == BKT_OK && strcmp(bkt_buf_str(&host), cases[i].want) == 0, "%s",
              bkt_buf_str(&host));
        bkt_buf_fini(&host);
        bkt_s3_place_fini(&p);
    }
}

static void other_kinds_of_buckets(void)
{
    static const struct {
        const char *bucket, *endpoint;
        int         want;
        const char *says;
    } cases[] = {
        {"arn:aws:s3:us-west-2:123456789012:accesspoint", NULL, BKT_EINVAL, "alias"},
        {"ap-qfqprnstn7aefdfbarligizwgyfouse1a-s3alias", NULL, BKT_OK, ""},
        {"buck--usw2-az1--x-s3", NULL, BKT_EUNSUP, "directory buckets"},
        {"buck--usw2-az1--x-s3", "http://127.0.0.1:9000", BKT_OK, ""}, /* another server's bucket */
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_s3_place p;
        struct bkt_err      err = {0};
        CHECK(bkt_s3_place_init(&p, cases[i].bucket, cases[i].endpoint, NULL, &err) == cases[i].want &&
                  strstr(first_line(&err), cases[i].says), "%s: %s", cases[i].bucket, first_line(&err));
        bkt_s3_place_fini(&p);
    }
}

static void addresses(void)
{
    static const struct {
        const char *bucket, *endpoint, *style, *region, *key, *want; /* NULL: refused */
    } cases[] = {
        {"buck", NULL, "auto", "eu-west-1", "k", "https://buck.s3.eu-west-1.amazonaws.com/k"},
        {"buck", "", NULL, "us-east-1", "a b/c", "https://buck.s3.us-east-1.amazonaws.com/a%20b/c"},
        {"buck", NULL, "path", "us-east-1", "k", "https://s3.us-east-1.amazonaws.com/buck/k"},
        {"bu.ck", NULL, "auto", "us-east-1", "k", "https://s3.us-east-1.amazonaws.com/bu.ck/k"},
        {"bu.ck", NULL, "virtual", "us-east-1", "k", "https://bu.ck.s3.us-east-1.amazonaws.com/k"},
        {"Buck_1", NULL, "auto", "us-east-1", "k", "https://s3.us-east-1.amazonaws.com/Buck_1/k"},
        {"buck", NULL, "auto", "cn-north-1", "k", "https://buck.s3.cn-north-1.amazonaws.com.cn/k"},
        {"buck", NULL, "auto", "us-gov-west-1", "k", "https://buck.s3.us-gov-west-1.amazonaws.com/k"},
        {"buck", NULL, "auto", "eusc-de-east-1", "k", "https://buck.s3.eusc-de-east-1.amazonaws.eu/k"},
        {"buck", NULL, "auto", "us-isob-east-1", "k", "https://buck.s3.us-isob-east-1.sc2s.sgov.gov/k"},
        {"buck", "http://127.0.0.1:9000", "auto", "x", "k", "http://127.0.0.1:9000/buck/k"},
        {"buck", "http://Host.example:9000/", "virtual", "x", "k", "http://buck.host.example:9000/k"},
        {"buck", "https://host.example:443/some/path/", "auto", "x", "k", "https://host.example/some/path/buck/k"},
        {"buck", "http://host.example:80", "path", "x", NULL, "http://host.example/buck"},
        {"buck", "HTTPS://host.example", "virtual", "x", NULL, "https://buck.host.example/"},
        {"buck", "host.example:9000", "auto", "x", "k", "https://host.example:9000/buck/k"},
        {"buck", "http://[::1]:9000", "auto", "x", "k", "http://[::1]:9000/buck/k"},
        {"buck", "ftp://host", "auto", "x", "k", NULL},
        {"buck", "http://user:pw@host", "auto", "x", "k", NULL},
        {"buck", "http://host?x", "auto", "x", "k", NULL},
        {"buck", "https://host/path?signature=pw", "auto", "x", "k", NULL},
        {"buck", "user:pw@host:9000", "auto", "x", "k", NULL},
        {"buck", "https://user:p?w:pw@host#pw", "auto", "x", "k", NULL},
        {"buck", "http://", "auto", "x", "k", NULL},
        {"", NULL, "auto", "x", "k", NULL},
        {"a..b", NULL, "auto", "x", "k", NULL},
        {".a", NULL, "auto", "x", "k", NULL},
        {"a/b", NULL, "auto", "x", "k", NULL},
        {"a b", NULL, "auto", "x", "k", NULL},
        {"a@b", NULL, "auto", "x", "k", NULL},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_s3_place p;
        struct bkt_err      err = {0};
        struct bkt_buf      url = {0}, host = {0}, path = {0};
        int rc = bkt_s3_place_init(&p, cases[i].bucket, cases[i].endpoint, cases[i].style, &err);
        CHECK(cases[i].want ? rc == BKT_OK : rc == BKT_EINVAL && err.n, "case %zu: %s", i, bkt_err_text(rc));
        CHECK(!strstr(first_line(&err), "pw"), "case %zu: %s", i, first_line(&err));
        if (rc < 0)
            continue;
        CHECK(bkt_s3_place_host(&p, cases[i].region, &host) == BKT_OK && bkt_s3_place_path(&p, cases[i].key, &path) == BKT_OK &&
                  bkt_buf_addf(&url, "%s://%s%s", p.scheme, bkt_buf_str(&host), bkt_buf_str(&path)) == BKT_OK, "memory");
        CHECK(cases[i].want && strcmp(bkt_buf_str(&url), cases[i].want) == 0, "case %zu: %s", i, bkt_buf_str(&url));
        bkt_buf_fini(&url);
        bkt_buf_fini(&host);
        bkt_buf_fini(&path);
        bkt_s3_place_fini(&p);
    }
    other_kinds_of_buckets();
    other_kinds_of_hosts();
    CHECK(bkt_s3_region_ok("eu-west-1") && !bkt_s3_region_ok("") && !bkt_s3_region_ok("a.b") && !bkt_s3_region_ok("-x"),
          "regions");
}

static const char list[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"u\"><Name>b</Name><EncodingType>url</EncodingType>"
    "<IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>"
    "<Contents><Key>a%2Fb%C3%A4%zz</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><ETag>\"x\"</ETag>"
    "<Size>434234</Size></Contents><CommonPrefixes><Prefix>p%2F</Prefix></CommonPrefixes></ListBucketResult>";
static const char error[] = "<Error><Code>NoSuchKey</Code><Message>The\nkey &amp; all</Message><Region>r-1</Region>"
                            "<RequestId>4442587FB7D0A2F9</RequestId></Error>";

static int collect(const struct bkt_listed *e, void *arg)
{
    char *out = arg;
    size_t n  = strlen(out);
    (void)snprintf(out + n, 500 - n, "%s %d %lu %.0f %s;", e->key, e->is_prefix, (unsigned long)e->size, e->mtime, e->etag);
    return BKT_OK;
}
static int ignore(const struct bkt_listed *e, void *arg)
{
    (void)arg;
    return e->key ? BKT_OK : BKT_EINVAL;
}

static void xml(void)
{
    char               out[500] = "";
    struct bkt_s3_page page     = {0};
    struct bkt_err     err      = {0};
    CHECK(bkt_s3_parse_list(list, strlen(list), collect, out, &page, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(strcmp(out, "a/b\xc3\xa4%zz 0 434234 1255369830 \"x\";p/ 1 0 0 ;") == 0, "%s", out);
    CHECK(page.truncated && strcmp(bkt_buf_str(&page.token), "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=") == 0, "token");
    char late[sizeof list + 20];
    (void)snprintf(late, sizeof late, "\xef\xbb\xbf \r\n \n%s", list); /* a server that had to wait */
    out[0] = 0;
    CHECK(bkt_s3_parse_list(late, strlen(late), collect, out, &page, &err) == BKT_OK && strstr(out, "434234"), "%s", first_line(&err));
    struct bkt_s3_error e;
    CHECK(bkt_s3_parse_error(error, strlen(error), &e) && strcmp(e.code, "NoSuchKey") == 0 &&
              strcmp(e.message, "The key & all") == 0 && strcmp(e.region, "r-1") == 0 &&
              strcmp(e.request_id, "4442587FB7D0A2F9") == 0, "%s '%s'", e.code, e.message);
    CHECK(!bkt_s3_parse_error("", 0, &e) && !bkt_s3_parse_error("<html/>", 7, &e) && !bkt_s3_parse_error(list, strlen(list), &e),
          "no errors");
    CHECK(bkt_s3_parse_error(error, 60, &e) && strcmp(e.code, "NoSuchKey") == 0, "a cut document still says its code");
    for (size_t n = 0; n < sizeof list - 1; n++) /* every cut is refused, none crashes */
        CHECK(bkt_s3_parse_list(list, n, ignore, NULL, &page, NULL) == BKT_EFORMAT, "cut at %zu", n);
    char     copy[sizeof list];
    unsigned seed = 1;
    for (int i = 0; i < 5000; i++) {
        memcpy(copy, list, sizeof list);
        for (int k = 0; k < 3; k++) {
            seed                             = seed * 1664525U + 1013904223U;
            copy[(seed >> 8) % (sizeof list - 1)] = (char)(seed >> 24);
        }
        int rc = bkt_s3_parse_list(copy, sizeof list - 1, ignore, NULL, &page, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT, "mutation %d: %s", i, bkt_err_text(rc));
        (void)bkt_s3_parse_error(copy, sizeof list - 1, &e);
    }
    bkt_buf_fini(&page.token);
}

static const char uploads[] =
    "<?xml version=\"1.0\"?><ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>b</Bucket>"
    "<KeyMarker/><UploadIdMarker/><NextKeyMarker>a+b%2F2</NextKeyMarker><NextUploadIdMarker>u%+2</NextUploadIdMarker>"
    "<EncodingType>url</EncodingType><MaxUploads>2</MaxUploads><IsTruncated>true</IsTruncated>"
    "<Upload><Key>a+b%2F1</Key><UploadId>u&amp;%1</UploadId><Initiator><ID>x</ID></Initiator><Owner><ID>x</ID></Owner>"
    "<StorageClass>STANDARD</StorageClass><Initiated>2009-10-12T17:50:30.000Z</Initiated></Upload>"
    "<Upload><Key>a+b%2F2</Key><UploadId>u%+2</UploadId></Upload><Upload><Key>no id</Key></Upload>"
    "<CommonPrefixes><Prefix>p</Prefix></CommonPrefixes></ListMultipartUploadsResult>";

static int collect_upload(const struct bkt_upload *u, void *arg)
{
    char  *out = arg;
    size_t n   = strlen(out);
    (void)snprintf(out + n, 500 - n, "%s %s %.0f;", u->key, u->id, u->begun);
    return BKT_OK;
}
static int stop_upload(const struct bkt_upload *u, void *arg)
{
    (void)u, (void)arg;
    return BKT_ECANCEL;
}

static void uploads_that_go_on(void)
{
    char                       out[500] = "";
    struct bkt_s3_uploads_page page     = {0};
    struct bkt_err             err      = {0};
    CHECK(bkt_s3_parse_uploads(uploads, strlen(uploads), collect_upload, out, &page, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(strcmp(out, "a b/1 u&%1 1255369830;a b/2 u%+2 0;") == 0, "%s", out);
    CHECK(page.truncated && strcmp(bkt_buf_str(&page.key), "a b/2") == 0 && strcmp(bkt_buf_str(&page.upload), "u%+2") == 0, "markers");
    CHECK(bkt_s3_parse_uploads(uploads, strlen(uploads), stop_upload, NULL, &page, NULL) == BKT_ECANCEL, "the caller's own end");
    CHECK(bkt_s3_parse_uploads(list, strlen(list), stop_upload, NULL, &page, &err) == BKT_EFORMAT, "another kind of list");
    for (size_t n = 0; n < sizeof uploads - 1; n++) {
        out[0] = 0;
        CHECK(bkt_s3_parse_uploads(uploads, n, collect_upload, out, &page, NULL) == BKT_EFORMAT, "cut at %zu", n);
    }
    bkt_buf_fini(&page.key);
    bkt_buf_fini(&page.upload);
}

/* By its begin and its end. */
static void documents_are_known(void)
{
    static const struct {
        const char *xml;
        bool        is;
    } cases[] = {
        {"<Root></Root>", true},
        {"<Root/>", true},
        {"<Root xmlns=\"x\" />", true},
        {"<?xml version=\"1.0\"?>\n<!-- a > b --><Root xmlns=\"x\"><a/></Root>\n", true},
        {"\xef\xbb\xbf \r\n<?xml version=\"1.0\"?>  <s3:Root><a>1</a></s3:Root>  ", true},
        {"", false},
        {"<", false},
        {"<Root", false},
        {"<Root>", false},
        {"<Root><a>", false},
        {"<Root></Roo", false},
        {"<Root></Other>", false},
        {"<Root><a></a>", false},
        {"<Roots></Roots>", false},
        {"<NoRoot></NoRoot>", false},
        {"<Error><Code>Root</Code></Error>", false},
        {"<!-- <Root></Root>", false},
        {"<html>Root</html>", false},
        {"x<Root></Root>", false},
        {"<Root></Root>x", false},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        CHECK(bkt_s3_is_document(cases[i].xml, strlen(cases[i].xml), "Root") == cases[i].is, "%s", cases[i].xml);
    CHECK(!bkt_s3_is_document(NULL, 0, "Root"), "nothing");
}

static void netrc(void)
{
    static const struct {
        const char *text, *user, *password; /* user NULL: no entry is found */
    } cases[] = {
        {"machine h login u password p", "u", "p"},
        {"machine H\n  login u\n  password p\n", "u", "p"},
        {"machine other login x password y machine h password p login u", "u", "p"},
        {"machine h login u password p machine h login x password y", "u", "p"},
        {"machine h login u account a password p", "u", "p"},
        {"machine h login u", "u", ""},
        {"machine h password p", "", "p"},
        {"machine h login u password #p", "u", "#p"},
        {"# machine h login x\nmachine h login u password p # the end\n", "u", "p"},
        {"machine h login \"u v\" password \"p\\\"q\\n\"", "u v", "p\"q\n"},
        {"machine h login u password \"p", "u", "p"},
        {"macdef m\nmachine h login x password y\n\nmachine h login u password p", "u", "p"},
        {"macdef m\r\nmachine h login x password y\r\n\r\nmachine h login u password p", "u", "p"},
        {"machine h nonsense login u password p", "u", "p"},
        {"default login x password y", NULL, ""},
        {"default login x password y machine h login u password p", "u", "p"},
        {"machine h machine other login x password y", NULL, ""},
        {"machine h default login x password y", NULL, ""},
        {"machine hh login x password y", NULL, ""},
        {"machine", NULL, ""},
        {"machine h login", NULL, ""},
        {"", NULL, ""},
        {"\"", NULL, ""},
        {"macdef", NULL, ""},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_buf user = {0}, password = {0};
        int            rc   = bkt_netrc_find(cases[i].text, "h", &user, &password);
        CHECK(rc == (cases[i].user ? BKT_OK : BKT_ENOENT), "'%s': %s", cases[i].text, bkt_err_text(rc));
        CHECK(!cases[i].user || (strcmp(bkt_buf_str(&user), cases[i].user) == 0 && strcmp(bkt_buf_str(&password), cases[i].password) == 0),
              "'%s': user '%s', password '%s'", cases[i].text, bkt_buf_str(&user), bkt_buf_str(&password));
        bkt_buf_fini(&user);
        bkt_buf_fini(&password);
    }
}

int main(void)
{
    netrc();
    documents_are_known();
    uploads_that_go_on();
    content_range();
    headers();
    etags();
    addresses();
    xml();
    return failures != 0;
}
