/* One file by its address: the address as it is sent and as it is shown, HEADs, odd servers. */
#include "http/helpers/url_testing.h"

#define SIZE 50000
static unsigned char *data;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    if (strcmp(r->method, "GET") != 0)
        a->status = 403;
    else if (strstr(r->target, "denied"))
        answer_error(a, 403, "AccessDenied", "<X/>");
    else if (strstr(r->target, "empty"))
        answer_object(r, a, data, 0, "\"e\"");
    else
        answer_object(r, a, data, SIZE, "\"e\"");
}

/* ---- addresses ---- */

static const struct {
    const char *path, *sent, *key;
} paths[] = {
    {"/f.h5", "/f.h5", "f.h5"},
    {"/a/b/f.h5", "/a/b/f.h5", "f.h5"},
    {"/a/../f.h5", "/a/../f.h5", "f.h5"},
    {"/a%2Fb/%7Ef.h5?X-Amz-Signature=ab%2Fc%3D&X-Amz-Date=1+2", "/a%2Fb/%7Ef.h5?X-Amz-Signature=ab%2Fc%3D&X-Amz-Date=1+2", "%7Ef.h5?***"},
    {"/f.h5?sig=a/b=", "/f.h5?sig=a/b=", "f.h5?***"},
    {"/f.h5#part", "/f.h5", "f.h5"},
    {"/f.h5?token=x#part", "/f.h5?token=x", "f.h5?***"},
    {"/my file \xc3\xa4.h5", "/my%20file%20%C3%A4.h5", "my%20file%20%C3%A4.h5"},
    {"/datafile/17/", "/datafile/17/", "17/"},
    {"//f.h5", "//f.h5", "f.h5"},
    {"/?id=7", "/?id=7", "?***"},
    {"?id=7", "/?id=7", "?***"},
};

static void addresses_are_sent_as_they_are(struct server *s)
{
    for (size_t i = 0; i < BKT_COUNT(paths); i++) {
        char             *key = NULL;
        struct seen      *r   = malloc(sizeof *r);
        struct bkt_store *st  = open_url(url_of(s, paths[i].path), "", &key);
        struct bkt_buf    out = {0};
        server_reset(s);
        CHECK(bkt_store_get(st, key, 5, 100, &out, NULL) == BKT_OK && out.len == 100 && memcmp(out.ptr, data + 5, 100) == 0,
              "%s: not read", paths[i].path);
        CHECK(server_seen(s, 0, r) && strcmp(r->target, paths[i].sent) == 0, "%s: '%s' was sent", paths[i].path, r->target);
        CHECK(strcmp(key, paths[i].key) == 0, "%s: key '%s'", paths[i].path, key);
        CHECK(!strchr(bkt_store_uri(st), '?') && strncmp(bkt_store_uri(st), server_url(s), strlen(server_url(s))) == 0, "%s",
              bkt_store_uri(st));
        bkt_buf_fini(&out);
        bkt_store_close(st);
        free(key);
        free(r);
    }
}

static void odd_addresses_are_refused(void)
{
    static const char *const urls[] = {"https://user:pw@host/f.h5", "https://host", "https://host/", "ftp://host/f.h5", "https:///f.h5",
                                       "http://host:port/f.h5?sig=pw", "https://ho st/f.h5", "s3://b/f.h5", "https://user@host/f.h5"};
    struct bkt_settings      set;
    if (bkt_settings_init(&set, "", NULL) < 0)
        exit(1);
    for (size_t i = 0; i < BKT_COUNT(urls); i++) {
        struct bkt_err    err = {0};
        struct bkt_store *st  = NULL;
        char             *key = NULL;
        int               rc  = bkt_url_open(urls[i], &set, &st, &key, &err);
        CHECK(rc == BKT_EINVAL && !st && !key && *first_line(&err) && !strstr(first_line(&err), "pw"), "%s: %s", urls[i],
              first_line(&err));
    }
    bkt_settings_fini(&set);
}

/* ---- requests ---- */

static void a_head_is_a_get_of_one_byte(struct server *s)
{
    static const struct {
        const char *path;
        uint64_t    size;
        int         rc;
    } cases[] = {{"/f.h5", SIZE, BKT_OK}, {"/empty.h5", 0, BKT_OK}, {"/denied.h5", 0, BKT_EACCES}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char             *key = NULL;
        struct bkt_store *st  = open_url(url_of(s, cases[i].path), "", &key);
        struct bkt_req    r   = {.op = BKT_HEAD, .key = key};
        struct bkt_err    err = {0};
        server_reset(s);
        int rc = bkt_store_run(st, &r, 1, &err);
        CHECK(rc == cases[i].rc && server_count(s) == 1, "%s: %s, %u requests", cases[i].path, first_line(&err), server_count(s));
        CHECK(rc < 0 || (r.size == cases[i].size && (!r.size || r.mtime > 0)), "%s: %lu bytes", cases[i].path, (unsigned long)r.size);
        CHECK(rc < 0 || r.size == 0 || strcmp(r.etag, "\"e\"") == 0, "%s: ETag %s", cases[i].path, r.etag);
        CHECK(rc == BKT_OK || strstr(first_line(&err), "AccessDenied"), "%s", first_line(&err));
        bkt_req_fini(&r);
        bkt_store_close(st);
        free(key);
    }
}

static void messages_hide_the_query(struct server *s)
{
    char             *key = NULL;
    struct bkt_store *st  = open_url(url_of(s, "/denied.h5?X-Amz-Signature=pw&other=pw"), "", &key);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    CHECK(bkt_store_get(st, key, 0, 10, &out, &err) == BKT_EACCES, "not denied");
    CHECK(strstr(first_line(&err), "/denied.h5?***") && strstr(first_line(&err), "HTTP 403") && !strstr(first_line(&err), "pw"), "%s",
          first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

int main(void)
{
    data             = pattern(SIZE);
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    addresses_are_sent_as_they_are(s);
    odd_addresses_are_refused();
    a_head_is_a_get_of_one_byte(s);
    messages_hide_the_query(s);
    bkt_store_shutdown();
    server_stop(s);
    free(data);
    return failures != 0;
}
