/* The sources of credentials, and the messages if they have none. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/trace.h"
#include "storage/stats.h"
#include "storage/store.h"
#include "unit/storage/cred_look.h"

/* ---- environment and files ---- */

static void environment(void **state)
{
    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    struct found f = look(NULL);
    is_failure(&f, BKT_EINVAL, "AWS_SECRET_ACCESS_KEY is not");
    (void)setenv("AWS_SECRET_ACCESS_KEY", "TOPSECRET", 1);
    f = look(NULL);
    is_key(&f, "ENV", "environment variables");
    assert_string_equal(f.token, "");
    (void)setenv("AWS_SESSION_TOKEN", "T", 1);
    f = look(NULL);
    assert_string_equal(f.token, "T");
    (void)setenv("AWS_SESSION_TOKEN", "TOPSECRET\n", 1);
    f = look(NULL);
    is_failure(&f, BKT_EFORMAT, "invalid characters");
}

static void profiles(void **state)
{
    (void)state;
    write_file("credentials", "[default]\n" KEYS("DEF") "[dev]\n" KEYS("DEV") "aws_session_token = devtoken\n");
    write_file("config", "[default]\nregion = eu-north-1\n[profile conf]\n" KEYS("CONF") "[profile empty]\nregion = r\n"
                         "[profile half]\naws_access_key_id = HALF\n");
    struct found f = look(NULL);
    is_key(&f, "DEF", "profile default in ");
    assert_non_null(strstr(f.source, "/.aws/credentials"));
    (void)setenv("AWS_PROFILE", "dev", 1);
    f = look(NULL);
    is_key(&f, "DEV", "profile dev");
    assert_string_equal(f.token, "devtoken");
    f = look("profile=conf");
    is_key(&f, "CONF", "/.aws/config");
    f = look("profile=half");
    is_failure(&f, BKT_EINVAL, "aws_access_key_id without aws_secret_access_key");
    f = look("profile=nobody");
    is_failure(&f, BKT_EINVAL, "profile nobody is neither in");
    f = look("profile=empty");
    is_failure(&f, BKT_EACCES, "profile empty (no keys");
    /* a profile that is named in a setting counts more than keys in the environment, one in the environment
     * less */
    (void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
    f = look(NULL);
    is_key(&f, "ENV", "environment");
    f = look("profile=conf");
    is_key(&f, "CONF", "profile conf");
}

static void other_files(void **state)
{
    char path[128];
    (void)state;
    write_file("token", "[default]\n" KEYS("ELSE"));
    path_of("token", path);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    struct found f = look(NULL);
    is_key(&f, "ELSE", path);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/token", 1);
    f = look(NULL);
    is_key(&f, "ELSE", path);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", world.home, 1);
    f = look(NULL);
    is_failure(&f, BKT_EIO, "not a file");
    path_of("fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int keep = open(path, O_RDWR); /* its contents would be read */
    assert_true(keep >= 0 && write(keep, "[default]\n" KEYS("FIFO"), strlen("[default]\n" KEYS("FIFO"))) > 0);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    f = look(NULL);
    is_failure(&f, BKT_EIO, "not a file");
    (void)unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    (void)setenv("AWS_CONFIG_FILE", path, 1);
    f = look(NULL);
    is_failure(&f, BKT_EIO, "not a file");
    (void)close(keep);
    (void)unlink(path);
}

static void region_and_endpoint(void **state)
{
    struct bkt_settings set;
    char               *text = NULL;
    (void)state;
    write_file("config", "[default]\nregion = eu-north-1\n[profile x]\nregion = r-x\nservices = s\n[services s]\n"
                         "s3 =\n  endpoint_url = http://s3\n");
    assert_int_equal(bkt_settings_init(&set, NULL, NULL), BKT_OK);
    assert_int_equal(bkt_cred_of_profile(&set, BKT_CRED_REGION, &text, NULL), BKT_OK);
    assert_string_equal(text, "eu-north-1");
    free(text);
    assert_int_equal(bkt_cred_of_profile(&set, BKT_CRED_ENDPOINT, &text, NULL), BKT_OK);
    assert_null(text);
    bkt_settings_fini(&set);
    assert_int_equal(bkt_settings_init(&set, "profile=x", NULL), BKT_OK);
    assert_int_equal(bkt_cred_of_profile(&set, BKT_CRED_REGION, &text, NULL), BKT_OK);
    assert_string_equal(text, "r-x");
    free(text);
    assert_int_equal(bkt_cred_of_profile(&set, BKT_CRED_ENDPOINT, &text, NULL), BKT_OK);
    assert_string_equal(text, "http://s3");
    free(text);
    (void)setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
    assert_int_equal(bkt_cred_of_profile(&set, BKT_CRED_ENDPOINT, &text, NULL), BKT_OK);
    assert_null(text);
    bkt_settings_fini(&set);
}

static void aws_own_hosts(void **state)
{
    static const struct {
        const char *fips, *dualstack, *settings, *endpoint;
    } cases[] = {
        {NULL, NULL, "", "https://buck.s3-fips.us-gov-west-1.amazonaws.com"}, /* the profile's */
        {"false", "TRUE", "", "https://buck.s3.dualstack.us-gov-west-1.amazonaws.com"},
        {NULL, "true", "anonymous=yes", "https://buck.s3-fips.dualstack.us-east-1.amazonaws.com"},
        {"true", "true", "endpoint=http://127.0.0.1:9000", "http://127.0.0.1:9000"},
    };
    (void)state;
    write_file("config", "[default]\nregion = us-gov-west-1\nuse_fips_endpoint = true\nrole_arn = arn\nsource_profile = keys\n"
                         "[profile keys]\n" KEYS("SRC"));
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_settings    set;
        struct bkt_store      *st = NULL;
        struct bkt_store_facts facts;
        (void)(cases[i].fips ? setenv("AWS_USE_FIPS_ENDPOINT", cases[i].fips, 1) : unsetenv("AWS_USE_FIPS_ENDPOINT"));
        (void)(cases[i].dualstack ? setenv("AWS_USE_DUALSTACK_ENDPOINT", cases[i].dualstack, 1) : 0);
        assert_int_equal(bkt_settings_init(&set, cases[i].settings, NULL), BKT_OK);
        assert_int_equal(bkt_store_open("s3://buck", &set, &st, NULL), BKT_OK);
        bkt_store_facts(st, &facts);
        assert_string_equal(facts.endpoint, cases[i].endpoint);
        bkt_store_close(st);
        bkt_settings_fini(&set);
    }
    (void)setenv("https_proxy", "http://127.0.0.1:1", 1); /* nobody is asked */
    struct found f = look(NULL);
    is_failure(&f, BKT_ENET, "sts-fips.us-gov-west-1.amazonaws.com");
    (void)unsetenv("https_proxy");
}

/* Keys of the environment need no profile, so a store opens without one that can't be read.  The trace has
 * the reason for which its endpoint and its region are not used. */
static void an_unread_profile_is_traced(void **state)
{
    char name[] = "/tmp/bkt-cred-trace-XXXXXX", text[2000];
    int fd = mkstemp(name), err = dup(STDERR_FILENO);
    struct bkt_store *st = NULL;
    struct bkt_settings set;
    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    (void)setenv("AWS_CONFIG_FILE", world.home, 1);
    assert_int_equal(bkt_settings_init(&set, NULL, NULL), BKT_OK);
    assert_int_equal(bkt_trace_set("cred", NULL), BKT_OK);
    assert_true(fd >= 0 && unlink(name) == 0 && dup2(fd, STDERR_FILENO) >= 0);
    int rc = bkt_store_open("s3://bucket-name", &set, &st, NULL);
    (void)dup2(err, STDERR_FILENO);
    assert_int_equal(bkt_trace_set("", NULL), BKT_OK);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    (void)close(fd);
    (void)close(err);
    assert_int_equal(rc, BKT_OK);
    assert_non_null(strstr(text, "region isn't used: "));
    assert_non_null(strstr(text, "endpoint isn't used: "));
    assert_non_null(strstr(text, "not a file"));
    bkt_store_close(st);
    bkt_settings_fini(&set);
}

static void nothing_found(void **state)
{
    (void)state;
    struct found f = look(NULL);
    is_failure(&f, BKT_EACCES, "AWS_NO_SIGN_REQUEST=1");
    is_failure(&f, BKT_EACCES, "environment (no AWS_ACCESS_KEY_ID");
    is_failure(&f, BKT_EACCES, "web identity");
    is_failure(&f, BKT_EACCES, "profile default");
    is_failure(&f, BKT_EACCES, "container endpoint");
    is_failure(&f, BKT_EACCES, "EC2 metadata (AWS_EC2_METADATA_DISABLED)");
    assert_int_equal(server_count(world.server), 0);
}

static void not_supported(void **state)
{
    (void)state;
    write_file("config", "[profile sso]\nsso_session = corp\nsso_account_id = 1\n[profile mfa]\nrole_arn = a\n"
                         "source_profile = sso\nmfa_serial = m\n[profile login]\nlogin_session = x\n");
    struct found f = look("profile=sso");
    is_failure(&f, BKT_EUNSUP, "aws configure export-credentials --profile sso");
    f = look("profile=mfa");
    is_failure(&f, BKT_EUNSUP, "MFA");
    f = look("profile=login");
    is_failure(&f, BKT_EUNSUP, "not supported");
}

/* ---- programs ---- */

static void run_tool(const char *script, int rc, const char *says)
{
    char path[128], config[300];
    path_of("tool", path);
    write_file("tool", script);
    assert_int_equal(chmod(path, 0700), 0);
    (void)snprintf(config, sizeof config, "[default]\ncredential_process = '%s' --flag \"two words\"\n", path);
    write_file("config", config);
    struct found f = look(NULL);
    if (rc == BKT_OK)
        is_key(&f, says, "credential_process of profile default");
    else
        is_failure(&f, rc, says);
}

static void process(void **state)
{
    (void)state;
    run_tool("#!/bin/sh\n[ \"$1|$2|$#\" = '--flag|two words|2' ] || exit 9\n"
             "echo noise >&2\necho '{\"Version\": 1, \"AccessKeyId\": \"PROC\", \"SecretAccessKey\": \"s\"}'\n",
             BKT_OK, "PROC");
    run_tool("#!/bin/sh\necho 'please log in' >&2\nexit 3\n", BKT_EACCES, "status 3: please log in");
    run_tool("#!/bin/sh\nkill -9 $$\n", BKT_EACCES, "status 137");
    run_tool("#!/bin/sh\necho TOPSECRET\n", BKT_EFORMAT, "not a JSON object");
    run_tool("#!/bin/sh\nexit 0\n", BKT_EFORMAT, "not a JSON object");
    run_tool("#!/bin/sh\nhead -c 100000 /dev/zero\n", BKT_EFORMAT, "more than 65536 bytes");
    run_tool("#!/bin/sh\nhead -c 100000 /dev/zero >&2\necho '{\"Version\":1,\"AccessKeyId\":\"LOUD\",\"SecretAccessKey\":\"s\"}'",
             BKT_OK, "LOUD");
    run_tool("#!/no/such/interpreter\n", BKT_EIO, "cannot run");
    write_file("config", "[default]\ncredential_process = /no/such/tool\n");
    struct found f = look(NULL);
    is_failure(&f, BKT_EIO, "cannot run /no/such/tool");
    write_file("config", "[default]\ncredential_process = 'oops\n");
    f = look(NULL);
    is_failure(&f, BKT_EINVAL, "quote");
}

/* A program that runs without standard input, output or errors: programs that it starts have all three, and
 * their output comes here. */
static void process_without_standard_files(void **state)
{
    (void)state;
    for (unsigned without = 1; without < 8; without++) {
        int kept[3];
        (void)fflush(NULL);
        for (int i = 0; i < 3; i++) {
            kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
            if (kept[i] >= 0 && without & 1u << i)
                (void)close(i);
        }
        write_file("tool", "#!/bin/sh\n[ -z \"$(cat)\" ] && echo noise >&2 || exit 4\n"
                           "echo '{\"Version\": 1, \"AccessKeyId\": \"PROC\", \"SecretAccessKey\": \"s\"}'\n");
        char path[128], config[300];
        path_of("tool", path);
        (void)chmod(path, 0700);
        (void)snprintf(config, sizeof config, "[default]\ncredential_process = '%s'\n", path);
        write_file("config", config);
        struct found f = look(NULL);
        for (int i = 0; i < 3; i++)
            if (kept[i] >= 0) {
                (void)dup2(kept[i], i);
                (void)close(kept[i]);
            }
        is_key(&f, "PROC", "credential_process of profile default");
    }
}

/* ---- containers and EC2 ---- */

static void container(void **state)
{
    char path[128];
    (void)state;
    set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/ecs/creds?x=TOPSECRET");
    struct found f = look(NULL);
    is_key(&f, "ECS1", "container endpoint http://127.0.0.1");
    assert_null(strstr(f.source, "TOPSECRET"));
    world.want_authorization = "Basic abc";
    f                        = look(NULL);
    is_failure(&f, BKT_EACCES, "HTTP 401");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc", 1);
    f = look(NULL);
    is_key(&f, "ECS2", "container");
    path_of("auth", path);
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path, 1);
    f = look(NULL);
    is_failure(&f, BKT_EACCES, path);
    world.want_authorization = "from-file";
    write_file("auth", "from-file\n");
    f = look(NULL);
    is_key(&f, "ECS3", "container");
    write_file("auth", "TOPSECRET\r\nX: y");
    f = look(NULL);
    is_failure(&f, BKT_EINVAL, "line breaks");
    (void)unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/x", 1);
    f = look(NULL);
    is_failure(&f, BKT_EINVAL, "FULL_URI");
    (void)setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.com/", 1);
    f = look(NULL);
    is_failure(&f, BKT_EINVAL, "RELATIVE_URI");
}

static void container_refuses(void **state)
{
    static const struct {
        int         status;
        const char *body;
        int         rc;
        const char *says;
    } cases[] = {
        {500, "", BKT_ENET, "HTTP 500"},      {302, "", BKT_EACCES, "HTTP 302"},
        {200, "", BKT_EFORMAT, "object"},     {200, "{\"AccessKeyId\":\"TOPSECRET", BKT_EFORMAT, "end"},
        {200, "{}", BKT_EFORMAT, "lacks"},    {404, "{\"message\":\"no\nrole\"}", BKT_EACCES, "no role"},
    };
    (void)state;
    set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/ecs");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        world.status   = cases[i].status;
        world.body     = cases[i].body;
        struct found f = look(NULL);
        is_failure(&f, cases[i].rc, cases[i].says);
    }
    world.status = 0;
    char *huge   = malloc((2U << 20) + 1);
    assert_non_null(huge);
    memset(huge, ' ', 2U << 20);
    huge[2U << 20] = 0;
    world.body     = huge;
    struct found f = look(NULL);
    is_failure(&f, BKT_EFORMAT, "longer than");
    world.body = NULL;
    free(huge);
    world.fail_first = 2;
    f                = look(NULL);
    is_key(&f, "ECS1", "container");
}

/* The statuses that are repeated for data are repeated for credentials, and no others. */
static void container_repeats(void **state)
{
    static const struct {
        int status;
        unsigned requests;
    } cases[] = {{408, 3}, {429, 3}, {500, 3}, {503, 3}, {501, 1}, {403, 1}, {599, 1}};
    struct bkt_stats before, after;
    (void)state;
    set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/ecs");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        world.fail_first = cases[i].requests == 1 ? 1 : 2;
        world.fail_status = cases[i].status;
        bkt_stats_get(&before);
        struct found f = look(NULL);
        bkt_stats_get(&after);
        if (after.cred_requests - before.cred_requests != cases[i].requests)
            fail_msg("HTTP %d: %u requests", cases[i].status,
                     (unsigned)(after.cred_requests - before.cred_requests));
        if ((f.rc == BKT_OK) != (cases[i].requests > 1))
            fail_msg("HTTP %d: %d", cases[i].status, f.rc);
    }
}

static void ec2(void **state)
{
    struct bkt_stats before, after;
    (void)state;
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", "/");
    bkt_stats_get(&before);
    struct found f = look(NULL);
    bkt_stats_get(&after);
    is_key(&f, "IMDS1", "EC2 instance metadata (IMDSv2), role my-role");
    assert_int_equal(server_count(world.server), 3);
    assert_int_equal(after.cred_requests - before.cred_requests, 3);
    world.no_role = true;
    f             = look(NULL);
    is_failure(&f, BKT_EACCES, "no role is attached");
    world.no_token = true; /* it must not fall back to IMDSv1 */
    f              = look(NULL);
    is_failure(&f, BKT_EACCES, "HTTP 403, no token");
    world.no_token = false;
    world.body     = "a token\r\nX: y";
    f              = look(NULL);
    is_failure(&f, BKT_EFORMAT, "token is empty or malformed");
    world.body = "../../evil?";
    f          = look(NULL);
    is_failure(&f, BKT_EFORMAT, "not a role name");
    world.body = NULL;
    atomic_store(&world_holds, true);
    atomic_store(&impatient, true);
    f = look(NULL);
    is_failure(&f, BKT_EACCES, "(no answer)");
    assert_int_equal(given_ms, 1000);
    world_settle();
    atomic_store(&world_holds, false);
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);
    f = look(NULL);
    is_failure(&f, BKT_EACCES, "http://127.0.0.1:1 (no answer)");
}

/* The first that has something is taken; the later ones are not asked. */
static void order(void **state)
{
    char path[128];
    (void)state;
    path_of("token", path);
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", "");
    set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/ecs");
    set_url("AWS_ENDPOINT_URL_STS", "");
    write_file("token", "t");
    write_file("credentials", "[default]\n" KEYS("FILE"));
    (void)setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    (void)setenv("AWS_ROLE_ARN", "arn:w", 1);
    (void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
    struct found f = look(NULL);
    is_key(&f, "ENV", "environment variables");
    assert_int_equal(server_count(world.server), 0);
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    f = look(NULL);
    is_key(&f, "STS1", "web identity");
    (void)unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    f = look(NULL);
    is_key(&f, "FILE", "profile default");
    write_file("credentials", "");
    f = look(NULL);
    is_key(&f, "ECS2", "container");
    (void)unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    f = look(NULL);
    is_key(&f, "IMDS3", "EC2");
}

#define T(f) cmocka_unit_test_teardown(f, world_clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(environment),
        T(profiles),
        T(other_files),
        T(region_and_endpoint),
        T(aws_own_hosts),
        T(nothing_found),
        T(not_supported),
        T(an_unread_profile_is_traced),
        T(process),
        T(process_without_standard_files),
        T(container),
        T(container_refuses),
        T(container_repeats),
        T(ec2),
        T(order),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
