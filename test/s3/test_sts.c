/* Credentials of profiles on a real server: a role assumed through its STS (session token and all), keys from
 * a file and from a program, and the messages about refused keys and roles. check_sts.sh made profiles and
 * role. */
#include "helpers/store_testing.h"

static int first_key(const struct bkt_listed *e, void *arg)
{
    char *key = arg;
    if (!key[0] && e->size > 0 && e->size < 100000 && strlen(e->key) < 1000)
        (void)snprintf(key, 1000, "%s", e->key);
    return BKT_OK;
}

static void reads(const char *settings)
{
    char              key[1000] = "";
    struct bkt_err    err       = {0};
    struct bkt_buf    out       = {0};
    struct bkt_store *st        = open_store("s3://hsopen", settings);
    CHECK(bkt_store_list(st, "db/", "", first_key, key, &err) == BKT_OK && key[0], "%s: list: %s", settings, first_line(&err));
    CHECK(bkt_store_get(st, key, 0, BKT_WHOLE, &out, &err) == BKT_OK && out.len > 0, "%s: get '%s': %s", settings, key,
          first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
}

static void refused(const char *settings, const char *says)
{
    struct bkt_err    err = {0};
    struct bkt_buf    out = {0};
    struct bkt_store *st  = open_store("s3://hsopen", settings);
    int               rc  = bkt_store_get(st, "x", 0, BKT_WHOLE, &out, &err);
    CHECK(rc == BKT_EACCES && strstr(first_line(&err), says), "%s: %d %s", settings, rc, first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
}

/* The role's policy allows reading only: so the role's keys are used, not those of its source. */
static void writes_not(void)
{
    struct bkt_req    r   = {.op = BKT_PUT, .key = "sts-must-not-write", .put = "x", .put_len = 1};
    struct bkt_err    err = {0};
    struct bkt_store *st  = open_store("s3://hsopen", "profile=role");
    CHECK(bkt_store_perform(st, &r, 1, &err) == BKT_EACCES && strstr(first_line(&err), ":role/"), "put: %s",
          first_line(&err));
    bkt_req_fini(&r);
    bkt_store_close(st);
}

int main(void)
{
    reads("profile=base");
    reads("profile=role");
    reads("profile=tool");
    writes_not();
    refused("profile=wrong", "HTTP 403");
    refused("profile=other", "HTTP 4");
    bkt_store_shutdown();
    (void)printf("%s\n", failures ? "failed" : "roles and profiles read the bucket");
    return failures != 0;
}
