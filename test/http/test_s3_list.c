/* S3's lists over the wire: of keys and of uploads, in pages; and false ones that must be refused. */
#include "http/helpers/s3_testing.h"

static char body[4096];

static void pages(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    bool second = strstr(r->target, "continuation-token=t%2F%2B1") != NULL;
    a->headers  = "Content-Type: application/xml\r\n";
    (void)snprintf(body, sizeof body,
                   "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                   "<IsTruncated>%s</IsTruncated>%s<Prefix>a%%20b%%2F</Prefix>"
                   "<Contents><Key>a+b%%2F%d%%2B</Key><Size>%d</Size><ETag>&quot;e%d&quot;</ETag>"
                   "<LastModified>2015-10-21T07:28:00.000Z</LastModified><Owner><ID>x</ID></Owner></Contents>"
                   "<CommonPrefixes><Prefix>a+b%%2Fdir%d%%2F</Prefix></CommonPrefixes>"
                   "<EncodingType>url</EncodingType></ListBucketResult>",
                   second ? "false" : "true", second ? "" : "<NextContinuationToken>t/+1</NextContinuationToken>",
                   second + 1, second + 10, second, second);
    a->body = body;
    a->len  = strlen(body);
}

static int collect(const struct bkt_listed *e, void *arg)
{
    char  *out = arg;
    size_t n   = strlen(out);
    (void)snprintf(out + n, 4096 - n, "%s %d %lu %.0f %s;", e->key, e->is_prefix, (unsigned long)e->size, e->mtime, e->etag);
    return BKT_OK;
}
static int stop_at_once(const struct bkt_listed *e, void *arg)
{
    (void)e;
    ++*(int *)arg;
    return BKT_ECANCEL;
}

static void lists_are_paged(void)
{
    char              out[4096] = "";
    struct server    *s         = server_start(pages, NULL);
    struct bkt_store *st        = open_s3(s, "");
    struct bkt_err    err       = {0};
    struct seen       r         = {0};
    (void)stats_since();
    CHECK(bkt_store_list(st, "a b/", "/", collect, out, &err) == BKT_OK, "%s", first_line(&err));
    CHECK(strcmp(out, "a b/1+ 0 10 1445412480 \"e0\";a b/dir0/ 1 0 0 ;a b/2+ 0 11 1445412480 \"e1\";a b/dir1/ 1 0 0 ;") == 0,
          "%s", out);
    struct bkt_stats d = stats_since();
    CHECK(d.list == 1 && d.get == 0 && d.attempts == 2, "counted %lu lists", (unsigned long)d.list);
    CHECK(server_seen(s, 0, &r) && strcmp(r.target, "/buck?delimiter=%2F&encoding-type=url&list-type=2&prefix=a%20b%2F") == 0,
          "%s", r.target);
    CHECK(server_seen(s, 1, &r) && strstr(r.target, "/buck?continuation-token=t%2F%2B1&delimiter="), "%s", r.target);
    int calls = 0;
    CHECK(bkt_store_list(st, "", "", stop_at_once, &calls, &err) == BKT_ECANCEL && calls == 1, "%d calls", calls);
    bkt_store_close(st);
    server_stop(s);
}

/* Two pages of uploads, with one that lies elsewhere; the answer to a DELETE: the upload is gone. */
static void uploads(const struct seen *r, struct answer *a, void *arg)
{
    const bool *stuck  = arg;
    bool        second = strstr(r->target, "key-marker=a%2Fone&prefix=a%2F&upload-id-marker=u%2F1&uploads=") != NULL && !*stuck;
    if (strcmp(r->method, "DELETE") == 0) {
        answer_error(a, strstr(r->target, "denied") ? 403 : 404, strstr(r->target, "denied") ? "AccessDenied" : "NoSuchUpload", NULL);
        return;
    }
    (void)snprintf(body, sizeof body, "<ListMultipartUploadsResult><IsTruncated>%s</IsTruncated><NextKeyMarker>a%%2Fone</NextKeyMarker>"
                   "<NextUploadIdMarker>u/1</NextUploadIdMarker><EncodingType>url</EncodingType><Upload><Key>%s</Key>"
                   "<UploadId>u/%d</UploadId></Upload><Upload><Key>b%%2Felsewhere</Key><UploadId>x</UploadId></Upload>"
                   "</ListMultipartUploadsResult>", second ? "false" : "true", second ? "a%2Ftwo" : "a%2Fone", second + 1);
    a->body = body;
    a->len  = strlen(body);
}

static int collect_upload(const struct bkt_upload *u, void *arg)
{
    char  *out = arg;
    size_t n   = strlen(out);
    (void)snprintf(out + n, 4096 - n, "%s %s;", u->key, u->id);
    return BKT_OK;
}

static void uploads_are_listed_and_given_up(void)
{
    char              out[4096] = "";
    bool              stuck     = false;
    struct server    *s         = server_start(uploads, &stuck);
    struct bkt_store *st        = open_s3(s, "");
    struct bkt_err    err       = {0};
    struct seen       r         = {0};
    CHECK(bkt_store_uploads(st, "a/", collect_upload, out, &err) == BKT_OK && server_count(s) == 2, "%s", first_line(&err));
    CHECK(strcmp(out, "a/one u/1;a/two u/2;") == 0, "%s", out);
    CHECK(server_seen(s, 0, &r) && strcmp(r.target, "/buck?encoding-type=url&prefix=a%2F&uploads=") == 0, "%s", r.target);
    CHECK(bkt_store_abort(st, "a/one", "u/1", &err) == BKT_OK, "one that is gone: %s", first_line(&err));
    CHECK(server_seen(s, 2, &r) && strcmp(r.method, "DELETE") == 0 && strcmp(r.target, "/buck/a/one?uploadId=u%2F1") == 0, "%s", r.target);
    CHECK(bkt_store_abort(st, "a/denied", "u/1", &err) == BKT_EACCES && strstr(first_line(&err), "a/denied"), "%s", first_line(&err));
    stuck = true;
    bkt_err_clear(&err);
    out[0] = 0;
    CHECK(bkt_store_uploads(st, "a/", collect_upload, out, &err) == BKT_EFORMAT && strstr(first_line(&err), "but not where"), "%s",
          first_line(&err));
    bkt_store_close(st);
    server_stop(s);
    st     = open_store("mem:no-uploads", "");
    out[0] = 0;
    CHECK(bkt_store_uploads(st, "", collect_upload, out, NULL) == BKT_OK && !*out, "a store without");
    bkt_store_close(st);
}

static void text(const struct seen *r, struct answer *a, void *arg)
{
    const char *const *xml = arg;
    (void)r;
    a->body = *xml;
    a->len  = strlen(*xml);
}

static void hostile_lists_are_refused(void)
{
    static char deep[4000];
    size_t      n = (size_t)snprintf(deep, sizeof deep, "<ListBucketResult>");
    while (n + 4 < sizeof deep)
        n += (size_t)snprintf(deep + n, sizeof deep - n, "<a>");
    (void)snprintf(deep + n - 40, 40, "</ListBucketResult>");
    static const struct {
        const char *what, *xml, *says;
    } cases[] = {
        {"empty", "", "not a document"},
        {"garbage", "hello", "'hello'"},
        {"cut", "<ListBucketResult><Contents><Key>db/x/a</Key>", "'<ListBucketResult>"},
        {"HTML", "<html><body/></html>", "not a document"},
        {"an error", "<Error><Code>InternalError</Code></Error>", "InternalError"},
        {"not closed", "<ListBucketResult><Contents></ListBucketResult>", "answer is not valid XML (mismatched tag)"},
        {"entities", "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><ListBucketResult>&b;</ListBucketResult>",
         "not a document"},
        {"deep", deep, "deep"},
        {"another prefix", "<ListBucketResult><Contents><Key>db/x/1</Key></Contents><Contents><Key>db/y/1</Key></Contents>"
                           "</ListBucketResult>", "outside it"},
        {"no token", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "not where"},
        {"one token for ever",
         "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
         "not where"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char              out[4096] = "";
        const char       *xml       = cases[i].xml;
        struct server    *s         = server_start(text, &xml);
        struct bkt_store *st        = open_s3(s, "anonymous=yes");
        struct bkt_err    err       = {0};
        int               rc        = bkt_store_list(st, "db/x/", "", collect, out, &err);
        CHECK(!strstr(out, "db/y"), "%s: %s", cases[i].what, out);
        CHECK(rc == BKT_EFORMAT && strstr(first_line(&err), cases[i].says), "%s: %s (%s)", cases[i].what,
              bkt_err_text(rc), first_line(&err));
        bkt_store_close(st);
        server_stop(s);
    }
}

int main(void)
{
    (void)setenv("HOME", "/nonexistent", 1);
    (void)setenv("AWS_ACCESS_KEY_ID", "AKTEST", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "very-secret", 1);
    lists_are_paged();
    uploads_are_listed_and_given_up();
    hostile_lists_are_refused();
    bkt_store_shutdown();
    return failures != 0;
}
