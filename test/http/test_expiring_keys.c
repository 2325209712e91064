/* Keys in a profile's file that expire, or are replaced by others, while a store is open.  If the server
 * refuses keys, by any of its answers, the file is read again.  If the file has other keys, the request is
 * repeated with them. */
#include <unistd.h>

#include "helpers/store_testing.h"
#include "http/helpers/s3_testing.h"

static char           dir[] = "/tmp/bkt-keys-XXXXXX", file[64], body[] = "0123456789abcdef";
static const char    *good;   /* the keys that the server takes */
static int            status; /* and its answer to all others */
static const char    *code;

static const char    *role;   /* that the machine has; NULL: none */

/* A machine's own credentials. */
static void handle_metadata(const struct seen *r, struct answer *a)
{
    static const char keys[] = "{\"Code\":\"Success\",\"AccessKeyId\":\"ROLE\",\"SecretAccessKey\":\"z\",\"Token\":\"t\","
                               "\"Expiration\":\"2100-01-01T00:00:00Z\"}";
    const char       *text   = strcmp(r->method, "PUT") == 0 ? "token" : strstr(r->target, role ? role : "/") ? keys : role;
    a->body = text;
    a->len  = strlen(text);
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    if (strncmp(r->target, "/latest/", 8) == 0) {
        if (role)
            handle_metadata(r, a);
        else
            answer_error(a, 404, "", NULL);
        return;
    }
    static char  upload[] = "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
    static char  done[]   = "<?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>";
    const char  *text     = strstr(r->target, "uploads=") ? upload : strcmp(r->method, "POST") == 0 ? done : body;
    (void)arg;
    if (!strstr(seen_header(r, "Authorization"), good)) {
        answer_error(a, status, strcmp(r->method, "HEAD") == 0 ? "" : code, NULL);
        if (strcmp(r->method, "HEAD") == 0)
            a->len = 0;
        return;
    }
    a->headers = "ETag: \"e\"\r\n";
    if (strcmp(r->method, "PUT") == 0)
        return;
    a->body    = text;
    a->len     = strlen(text);
}

static void keys(const char *id, const char *secret)
{
    FILE *f = fopen(file, "w");
    if (!f || fprintf(f, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", id, secret) < 0 || fclose(f) != 0)
        exit(1);
}

static int run(struct bkt_store *st, enum bkt_op op, size_t len, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *bytes = calloc(1, len + 1);
    struct bkt_req               r = {.op = op, .key = "k", .len = BKT_WHOLE, .put = bytes, .put_len = len, .if_match = len ? "\"e\"" : NULL};
    int rc = bkt_store_perform(st, &r, 1, err);
    bkt_req_fini(&r);
    return rc;
}

/* The process forgets what it knows of the server. */
static struct bkt_store *open_new(struct server *s)
{
    bkt_store_shutdown();
    return open_s3(s, "test.conditional=quoted;test.upload_part=5M");
}

static void replaced_keys_are_found(void)
{
    enum { LONG = 6 << 20 }; /* in two parts: HEAD, begin, parts, end, HEAD */
    static const struct {
        const char *what;
        int         status;
        const char *code;
        enum bkt_op op;
        size_t      len;
        unsigned    requests; /* with the refused one */
    } cases[] = {
        {"expired", 400, "ExpiredToken", BKT_GET, 0, 2},
        {"expired, MinIO", 403, "InvalidTokenId", BKT_GET, 0, 2},
        {"unknown", 403, "InvalidAccessKeyId", BKT_PUT, 16, 2},
        {"another secret", 403, "SignatureDoesNotMatch", BKT_GET, 0, 2},
        {"denied", 403, "AccessDenied", BKT_PUT, 16, 2},
        {"no authority", 401, "Unauthorized", BKT_GET, 0, 2},
        {"not a word", 403, "", BKT_HEAD, 0, 2},
        {"not a word, with 400", 400, "", BKT_HEAD, 0, 2},
        {"at the first look of an upload", 403, "AccessDenied", BKT_PUT, LONG, 7},
    };
    struct server *s = server_start(handle, NULL);
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err    err = {0};
        struct bkt_store *st  = open_new(s);
        good                  = "OLD";
        keys("OLD", "x");
        CHECK(run(st, BKT_GET, 0, &err) == BKT_OK, "%s: %s", cases[i].what, first_line(&err));
        unsigned before = server_count(s);
        keys("NEW", "y");
        good   = "NEW";
        status = cases[i].status, code = cases[i].code;
        CHECK(run(st, cases[i].op, cases[i].len, &err) == BKT_OK && !err.n, "%s: %s", cases[i].what, first_line(&err));
        CHECK(server_count(s) - before == cases[i].requests, "%s: %u requests", cases[i].what, server_count(s) - before);
        bkt_store_close(st);
    }
    server_stop(s);
}

/* The file has no other keys: one request, the server's own words, and a new look at once when the file has
 * changed. */
static void the_same_keys_are_not_tried_again(void)
{
    static const struct {
        int         status;
        const char *code, *says;
    } cases[] = {
        {400, "ExpiredToken", "renew the credentials"},
        {403, "AccessDenied", "signed with credentials from profile default"},
    };
    struct server *s = server_start(handle, NULL);
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_store *st = open_new(s);
        good                 = "NEW";
        status = cases[i].status, code = cases[i].code;
        keys("OLD", "x");
        for (unsigned k = 0; k < 2; k++) {
            struct bkt_err err    = {0};
            unsigned       before = server_count(s);
            CHECK(run(st, BKT_GET, 0, &err) == BKT_EACCES && strstr(first_line(&err), cases[i].says) && err.n == 1, "%s", first_line(&err));
            CHECK(server_count(s) - before == 1, "%s: %u requests", code, server_count(s) - before);
        }
        keys("NEW", "y");
        struct bkt_err err = {0};
        CHECK(run(st, BKT_GET, 0, &err) == BKT_OK, "%s: %s", code, first_line(&err));
        bkt_store_close(st);
    }
    server_stop(s);
}

/* A program that replaces the file removes it for a moment.  If the keys were only doubted, they are not
 * given up for the state found then: no keys, or the machine's own role.  And the file is looked at again. */
static void the_file_is_away(void)
{
    struct server *s = server_start(handle, NULL);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "false", 1);
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_url(s), 1);
    for (unsigned k = 0; k < 2; k++) {
        struct bkt_err    err = {0};
        struct bkt_store *st  = open_new(s);
        keys("OLD", "x");
        good   = "OLD";
        status = 403, code = "AccessDenied";
        role = k ? "some-role" : NULL;
        CHECK(run(st, BKT_GET, 0, &err) == BKT_OK, "%s", first_line(&err));
        CHECK(unlink(file) == 0, "the file can't be removed");
        good = "NEW";
        CHECK(run(st, BKT_GET, 0, &err) == BKT_EACCES && strstr(first_line(&err), "AccessDenied") && err.n == 1, "%s", first_line(&err));
        bkt_err_clear(&err);
        good = "OLD"; /* it was for another reason */
        CHECK(run(st, BKT_GET, 0, &err) == BKT_OK, "role %u: %s", k, first_line(&err));
        keys("NEW", "y");
        good = "NEW";
        (void)usleep(1100000); /* each source is asked once a second */
        CHECK(run(st, BKT_GET, 0, &err) == BKT_OK, "role %u: %s", k, first_line(&err));
        bkt_store_close(st);
    }
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    server_stop(s);
}

int main(void)
{
    char cmd[100];
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(file, sizeof file, "%s/credentials", dir);
    (void)setenv("HOME", dir, 1);
    (void)setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", file, 1);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    (void)unsetenv("AWS_PROFILE");
    replaced_keys_are_found();
    the_same_keys_are_not_tried_again();
    the_file_is_away();
    bkt_store_shutdown();
    (void)snprintf(cmd, sizeof cmd, "rm -r '%s'", dir);
    return system(cmd) != 0 || failures != 0;
}
