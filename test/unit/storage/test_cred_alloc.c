/* Signing and the credential chain when memory runs out: the n-th allocation fails, for every n.  Nothing
 * crashes or leaks (a sanitizer checks), no half result comes out, and the code is BKT_ENOMEM. */
#include "unit/storage/cred_testing.h"

static _Thread_local long left = -1; /* this thread's allocations until one fails; negative: none does */
static bool               fails(void)
{
    return left >= 0 && left-- == 0;
}
#include "helpers/failing_alloc.h"

void *__real_reallocarray(void *p, size_t n, size_t size);
int   __real_vasprintf(char **out, const char *fmt, va_list ap);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
int   __wrap_vasprintf(char **out, const char *fmt, va_list ap);

void *__wrap_reallocarray(void *p, size_t n, size_t size) { return fails() ? NULL : __real_reallocarray(p, n, size); }
int   __wrap_vasprintf(char **out, const char *fmt, va_list ap) { return fails() ? -1 : __real_vasprintf(out, fmt, ap); }

static struct bkt_settings settings;

static int fetch_once(const char **what)
{
    struct bkt_cred_place pl;
    struct bkt_creds     *c = NULL;
    enum bkt_cred_from    from;
    int                   rc = bkt_cred_place_init(&pl, &settings, NULL);
    if (rc == BKT_OK) {
        struct bkt_err err = {0};
        rc                 = bkt_cred_fetch(&pl, &c, &from, &err);
        if (rc < 0 && rc != BKT_ENOMEM)
            print_message("%s\n", err.n ? err.frame[0].msg : "");
        bkt_cred_place_fini(&pl);
    }
    if ((rc == BKT_OK) != (c != NULL) || (c && (!c->access_key || !c->secret_key || !c->source)))
        *what = "half a result";
    bkt_creds_unref(c);
    return rc;
}

static int sign_once(const char **what)
{
    char                        id[] = "A", secret[] = "S", token[] = "T";
    const struct bkt_sign_pair  p[]   = {{"b", "1"}, {"a", "2"}};
    const struct bkt_creds      creds = {.access_key = id, .secret_key = secret, .session_token = token};
    const struct bkt_sign_input in = {.method = "GET", .host = "h", .path = "/p", .query = "x=1&y&b=1&a=2",
                                      .headers = p, .n_headers = 2, .payload_hash = BKT_UNSIGNED_PAYLOAD, .now = 1,
                                      .region = "r", .service = "s3", .creds = &creds};
    struct bkt_sign_output      out = {0};
    int                         rc  = bkt_sign(&in, NULL, &out, NULL);
    if (rc == BKT_OK && !strstr(bkt_buf_str(&out.authorization), "Signature="))
        *what = "half a signature";
    bkt_sign_output_fini(&out);
    return rc;
}

static int region_once(const char **what)
{
    char *region = NULL;
    int   rc     = bkt_cred_of_profile(&settings, BKT_CRED_REGION, &region, NULL);
    if (rc == BKT_OK && (!region || strcmp(region, "eu-north-1") != 0))
        *what = "no region";
    free(region);
    return rc;
}

static void run_out(int (*once)(const char **what), int least)
{
    long n, ok = 0;
    for (n = 0; n < 3000 && !ok; n++) {
        const char *what = NULL;
        left             = n;
        int rc           = once(&what);
        ok               = left >= 0; /* it got by without the n-th */
        left             = -1;
        if (rc != (ok ? BKT_OK : BKT_ENOMEM) || what)
            fail_msg("allocation %ld: %d, %s", n, rc, what ? what : "another code");
    }
    assert_true(ok);
    assert_true(n >= least && n <= 2999);
}

static void runs(const char *info, int least)
{
    assert_int_equal(bkt_settings_init(&settings, info, NULL), BKT_OK);
    run_out(fetch_once, least);
    bkt_settings_fini(&settings);
}

static void signing(void **state)
{
    (void)state;
    run_out(sign_once, 4);
}

static void files_and_roles(void **state)
{
    char url[200];
    (void)state;
    (void)setenv("AWS_REGION", "eu-north-1", 1);
    (void)setenv("AWS_ENDPOINT_URL_STS", server_url(world.server), 1);
    write_file("token", "web");
    write_file("credentials", "[base]\naws_access_key_id=BASE\naws_secret_access_key=secret-of-BASE\naws_session_token=t\n");
    write_file("config", "[default]\nregion = eu-north-1\n[profile role]\nrole_arn=r\nsource_profile=base\nexternal_id=e\n"
                         "[profile web]\nrole_arn=w\nweb_identity_token_file=~/.aws/token\n"
                         "[profile run]\ncredential_process=printf '{\"Version\":1,\"AccessKeyId\":\"P\",\\n"
                         "\"SecretAccessKey\":\"s\"}'\n");
    runs("profile=base", 10);
    runs("profile=role", 20);
    runs("profile=web", 15);
    runs("profile=run", 10);
    assert_int_equal(bkt_settings_init(&settings, NULL, NULL), BKT_OK);
    run_out(region_once, 5);
    bkt_settings_fini(&settings);
    (void)snprintf(url, sizeof url, "%s/ecs", server_url(world.server));
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "x", 1);
    runs(NULL, 10);
    (void)unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_url(world.server), 1);
    runs(NULL, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(signing, world_clean),
        cmocka_unit_test_teardown(files_and_roles, world_clean),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
