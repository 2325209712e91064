/* Credentials of roles: assumed with the keys of another profile, or by a web identity. */
#include "unit/storage/cred_look.h"

static void assume_role(void **state)
{
    (void)state;
    (void)setenv("AWS_REGION", "eu-north-1", 1);
    set_url("AWS_ENDPOINT_URL_STS", "");
    write_file("credentials", "[base]\n" KEYS("BASE"));
    write_file("config", "[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nexternal_id = e x\n"
                         "role_session_name = me\nduration_seconds = 900\n"
                         "[profile chained]\nrole_arn = arn:2\nsource_profile = role\n"
                         "[profile self]\nrole_arn = arn:3\nsource_profile = self\n" KEYS("SELF"));
    struct found f = look("profile=role");
    is_key(&f, "STS1", "role arn:aws:iam::1:role/r (profile role)");
    assert_string_equal(f.token, "tok+en==");
    assert_string_equal(form, "Action=AssumeRole&DurationSeconds=900&ExternalId=e%20x&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
                              "&RoleSessionName=me&Version=2011-06-15");
    f = look("profile=chained");
    is_key(&f, "STS3", "arn:2");
    assert_non_null(strstr(form, "RoleSessionName=vol-bucket-"));
    f = look("profile=self");
    is_key(&f, "STS4", "arn:3");
}

static void assume_role_wrong(void **state)
{
    static const struct {
        const char *profile;
        int         rc;
        const char *says;
    } cases[] = {
        {"profile=a", BKT_EINVAL, "refer to each other"},
        {"profile=alone", BKT_EINVAL, "without source_profile"},
        {"profile=both", BKT_EINVAL, "both source_profile and credential_source"},
        {"profile=gone", BKT_EINVAL, "its source_profile nobody does not exist"},
        {"profile=void", BKT_EINVAL, "its source_profile empty has no credentials"},
        {"profile=keyless", BKT_EINVAL, "its own source_profile but has no keys"},
        {"profile=odd", BKT_EINVAL, "credential_source 'Moon'"},
        {"profile=env", BKT_EACCES, "credential_source Environment has no credentials"},
        {"profile=deep0", BKT_EINVAL, "more than"},
    };
    (void)state;
    set_url("AWS_ENDPOINT_URL", "");
    write_file("config",
               "[profile a]\nrole_arn=x\nsource_profile=b\n[profile b]\nrole_arn=x\nsource_profile=c\n"
               "[profile c]\nrole_arn=x\nsource_profile=a\n[profile alone]\nrole_arn=x\n"
               "[profile both]\nrole_arn=x\nsource_profile=a\ncredential_source=Environment\n"
               "[profile gone]\nrole_arn=x\nsource_profile=nobody\n[profile empty]\nregion=r\n"
               "[profile void]\nrole_arn=x\nsource_profile=empty\n[profile keyless]\nrole_arn=x\nsource_profile=keyless\n"
               "[profile odd]\nrole_arn=x\ncredential_source=Moon\n[profile env]\nrole_arn=x\ncredential_source=Environment\n"
               "[profile deep0]\nrole_arn=x\nsource_profile=deep1\n[profile deep1]\nrole_arn=x\nsource_profile=deep2\n"
               "[profile deep2]\nrole_arn=x\nsource_profile=deep3\n[profile deep3]\nrole_arn=x\nsource_profile=deep4\n"
               "[profile deep4]\nrole_arn=x\nsource_profile=deep5\n[profile deep5]\nrole_arn=x\nsource_profile=deep6\n"
               "[profile deep6]\nrole_arn=x\nsource_profile=deep7\n[profile deep7]\nrole_arn=x\nsource_profile=deep8\n"
               "[profile deep8]\nrole_arn=x\nsource_profile=deep9\n[profile deep9]\nrole_arn=x\nsource_profile=empty\n");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct found f = look(cases[i].profile);
        is_failure(&f, cases[i].rc, cases[i].says);
    }
    assert_int_equal(server_count(world.server), 0);
}

static void credential_sources(void **state)
{
    (void)state;
    (void)setenv("AWS_REGION", "eu-north-1", 1);
    set_url("AWS_ENDPOINT_URL_STS", "/");
    write_file("config", "[profile env]\nrole_arn=e\ncredential_source=Environment\n"
                         "[profile ecs]\nrole_arn=c\ncredential_source=EcsContainer\n");
    (void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret-of-ENV", 1);
    struct found f = look("profile=env");
    is_key(&f, "STS1", "role e");
    set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/ecs");
    f = look("profile=ecs");
    is_key(&f, "STS3", "role c"); /* ECS2 signed it */
}

static void sts_refuses(void **state)
{
    static const char denied[] = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you\n"
                                 "today</Message></Error><RequestId>1</RequestId></ErrorResponse>";
    static const struct {
        int         status;
        const char *body;
        int         rc;
        const char *says;
        unsigned    requests;
    } cases[] = {
        {403, denied, BKT_EACCES, "HTTP 403 AccessDenied not you today", 1},
        {403, "", BKT_EACCES, "HTTP 403", 1},
        {301, "", BKT_EACCES, "HTTP 301", 1},
        {503, "<Err", BKT_ENET, "HTTP 503", 3},
        {200, "", BKT_EFORMAT, "not valid XML", 1},
        {200, "<a>", BKT_EFORMAT, "not valid XML", 1},
        {200, "<a/>", BKT_EFORMAT, "no credentials", 1},
        {200, "<a><Credentials><AccessKeyId>A</AccessKeyId></Credentials></a>", BKT_EFORMAT, "no credentials", 1},
        {200, "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", BKT_EFORMAT, "not valid XML", 1},
        {200, "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", BKT_EFORMAT, "not valid XML", 1},
        {200, "<a><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>TOPSECRET</SecretAccessKey><SessionToken>TOPSECRET"
              "</SessionToken><Expiration>never</Expiration></Credentials></a>", BKT_EFORMAT, "Expiration", 1},
        {200, "<a><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>TOPSECRET</SecretAccessKey><SessionToken>TOPSECRET"
              "</SessionToken><Expiration>2001-01-01T00:00:00Z</Expiration></Credentials></a>", BKT_EACCES, "ended", 1},
    };
    (void)state;
    set_url("AWS_ENDPOINT_URL_STS", "");
    write_file("credentials", "[base]\n" KEYS("BASE"));
    write_file("config", "[profile role]\nrole_arn = r\nsource_profile = base\n");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        world.status = cases[i].status;
        world.body   = cases[i].body;
        server_reset(world.server);
        struct found f = look("profile=role");
        is_failure(&f, cases[i].rc, cases[i].says);
        assert_int_equal(server_count(world.server), cases[i].requests);
    }
    (void)setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1", 1);
    struct found f = look("profile=role");
    is_failure(&f, BKT_ENET, "http://127.0.0.1:1");
    (void)setenv("AWS_ENDPOINT_URL_STS", "gopher://x", 1);
    f = look("profile=role");
    is_failure(&f, BKT_EINVAL, "gopher");
    (void)unsetenv("AWS_ENDPOINT_URL_STS");
    (void)setenv("AWS_REGION", "evil.com/x", 1);
    f = look("profile=role");
    is_failure(&f, BKT_EINVAL, "is not a region");
}

/* Broken off anywhere: an error, never half a key. */
static void sts_cut_short(void **state)
{
    (void)state;
    (void)setenv("AWS_REGION", "eu-north-1", 1);
    set_url("AWS_ENDPOINT_URL_STS", "");
    write_file("credentials", "[base]\n" KEYS("BASE"));
    write_file("config", "[profile role]\nrole_arn = r\nsource_profile = base\n");
    world.cut      = 300;
    struct found f = look("profile=role");
    is_failure(&f, BKT_ENET, "POST http://127.0.0.1");
    assert_int_equal(server_count(world.server), 3);
}

static void web_identity(void **state)
{
    char path[128];
    (void)state;
    path_of("token", path);
    set_url("AWS_ENDPOINT_URL_STS", "");
    write_file("token", "a.web+token\n");
    (void)setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    struct found f = look(NULL);
    is_failure(&f, BKT_EINVAL, "AWS_ROLE_ARN is not");
    (void)setenv("AWS_ROLE_ARN", "arn:w", 1);
    (void)setenv("AWS_ROLE_SESSION_NAME", "sess", 1);
    f = look(NULL);
    is_key(&f, "STS1", "role arn:w by web identity (environment)");
    assert_string_equal(form, "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aw&RoleSessionName=sess&Version=2011-06-15"
                              "&WebIdentityToken=a.web%2Btoken");
    (void)unlink(path);
    f = look(NULL);
    is_failure(&f, BKT_EACCES, path);
    write_file("token", "\n");
    f = look(NULL);
    is_failure(&f, BKT_EFORMAT, "empty");
    (void)unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    write_file("token", "t2");
    write_file("config", "[profile web]\nrole_arn = arn:p\nweb_identity_token_file = ~/.aws/token\n");
    f = look("profile=web");
    is_key(&f, "STS2", "role arn:p by web identity (profile web)");
    assert_non_null(strstr(form, "WebIdentityToken=t2"));
}

#define T(f) cmocka_unit_test_teardown(f, world_clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(assume_role),
        T(assume_role_wrong),
        T(credential_sources),
        T(sts_refuses),
        T(sts_cut_short),
        T(web_identity),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
