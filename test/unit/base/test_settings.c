#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/cmocka_includes.h"
#include "base/settings.h"

static char dir[] = "/tmp/bkt_settingsXXXXXX";
static char file[64];

static void write_config(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    (void)setenv("H5BUCKET_CONFIG", file, 1);
}

static int setup(void **state)
{
    (void)state;
    if (!strstr(dir, "XXXXXX"))
        return 0;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file, sizeof file, "%s/config", dir);
    return clearenv();
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(dir);
}

static void later_sources_win(void **state)
{
    (void)state;
    struct bkt_settings s;
    write_config("# a comment\n\n connections = 10 \nretries=3\nregion = from-file\nallow= s3://a  s3://b \n");
    (void)setenv("H5BUCKET_RETRIES", "4", 1);
    (void)setenv("AWS_DEFAULT_REGION", "from-env", 1);
    assert_int_equal(bkt_settings_init(&s, "region=from-info; stats=yes;", NULL), BKT_OK);
    assert_int_equal(s.connections, 10);
    assert_int_equal(s.retries, 4);
    assert_string_equal(s.region, "from-info");
    assert_string_equal(s.allow, "s3://a  s3://b");
    assert_true(s.stats);
    assert_int_equal(s.chunk_cache, 96U << 20);
    struct bkt_settings copy;
    assert_int_equal(bkt_settings_copy(&copy, &s, NULL), BKT_OK);
    bkt_settings_fini(&s);
    assert_string_equal(copy.region, "from-info");
    assert_null(copy.bucket);
    bkt_settings_fini(&copy);
}

static void first_environment_variable_wins(void **state)
{
    (void)state;
    struct bkt_settings s;
    write_config("");
    (void)setenv("AWS_S3_GATEWAY", "http://third", 1);
    (void)setenv("AWS_ENDPOINT_URL", "http://second", 1);
    assert_int_equal(bkt_settings_init(&s, NULL, NULL), BKT_OK);
    assert_string_equal(s.endpoint, "http://second");
    bkt_settings_fini(&s);
    (void)unsetenv("AWS_S3_GATEWAY");
    (void)unsetenv("AWS_ENDPOINT_URL");
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *info, *says[3];
    } cases[] = {
        {"conections=5", {"'conections'", "the connector's info string", NULL}},
        {"connections=five", {"connections", "'five'", NULL}},
        {"connections=0", {"from 1 to 1024", NULL, NULL}},
        {"connections=-1", {"'-1'", NULL, NULL}},
        {"part_size=99999999999999999999", {"part_size", NULL, NULL}},
        {"part_size=16777216T", {"part_size", NULL, NULL}},
        {"stats=maybe", {"stats", "yes or no", NULL}},
        {"addressing=both", {"addressing", "'both'", NULL}},
        {"justaword", {"'justaword'", "key=value", NULL}},
    };
    write_config("");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_settings s;
        struct bkt_err      err = {.n = 0};
        assert_int_equal(bkt_settings_init(&s, cases[i].info, &err), BKT_EINVAL);
        for (size_t j = 0; j < 3 && cases[i].says[j]; j++)
            if (!strstr(err.frame[0].msg, cases[i].says[j]))
                fail_msg("%s: '%s' does not say %s", cases[i].info, err.frame[0].msg, cases[i].says[j]);
    }
    struct bkt_settings s;
    struct bkt_err      err = {.n = 0};
    assert_int_equal(bkt_settings_init(&s, "nothing=1", &err), BKT_EINVAL);
    assert_non_null(strstr(err.frame[0].msg, "connections"));
    assert_non_null(strstr(err.frame[0].msg, "trace"));
}

static void sizes_take_suffixes(void **state)
{
    (void)state;
    struct bkt_settings s;
    write_config("");
    assert_int_equal(bkt_settings_init(&s, "part_size=2M;chunk_cache=3g;meta_cache=0", NULL), BKT_OK);
    assert_int_equal(s.part_size, 2U << 20);
    assert_int_equal(s.chunk_cache, 3ULL << 30);
    assert_int_equal(s.meta_cache, 0);
    bkt_settings_fini(&s);
}

static void a_named_config_file_must_exist(void **state)
{
    (void)state;
    struct bkt_settings s;
    struct bkt_err      err = {.n = 0};
    (void)setenv("H5BUCKET_CONFIG", "/nonexistent/config", 1);
    assert_int_equal(bkt_settings_init(&s, NULL, &err), BKT_EINVAL);
    assert_non_null(strstr(err.frame[0].msg, "/nonexistent/config"));
}

/* A FIFO without a writer, /dev/zero, a folder: files that would block us, or never end.  /dev/null is an
 * empty file. */
static void only_a_file_is_read(void **state)
{
    (void)state;
    char fifo[64 + 8];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const odd[] = {fifo, "/dev/zero", dir};
    for (size_t i = 0; i < BKT_COUNT(odd); i++) {
        struct bkt_settings s;
        struct bkt_err      err = {.n = 0};
        (void)setenv("H5BUCKET_CONFIG", odd[i], 1);
        (void)alarm(20);
        assert_int_equal(bkt_settings_init(&s, NULL, &err), BKT_EINVAL);
        assert_non_null(strstr(err.frame[0].msg, odd[i]));
    }
    (void)alarm(0);
    (void)unlink(fifo);
    struct bkt_settings s;
    (void)setenv("H5BUCKET_CONFIG", "/dev/null", 1);
    assert_int_equal(bkt_settings_init(&s, NULL, NULL), BKT_OK);
    bkt_settings_fini(&s);
}

static void check_no_secret(const char *text, const char *has)
{
    assert_null(strstr(text, "secret"));
    assert_non_null(strstr(text, has));
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    struct bkt_settings s;
    char               *text = NULL;
    size_t              n    = 0;
    write_config("");
    assert_int_equal(bkt_settings_init(&s, "endpoint=http://user:secret@host/x;bucket=key:secret@b;user=me@there.org", NULL), BKT_OK);
    FILE *to = open_memstream(&text, &n);
    bkt_settings_print(to, &s, false);
    (void)fclose(to);
    check_no_secret(text, "endpoint = http://***@host/x\n");
    check_no_secret(text, "bucket = ***@b\n");
    check_no_secret(text, "user = me@there.org\n");
    assert_string_equal(s.endpoint, "http://user:secret@host/x"); /* used memory stays whole */
    free(text);
    bkt_settings_fini(&s);
    static const char *const bad[] = {"anonymous=http://me:secret@h", "retries=https://h/x?sig=secret", "http://me:secret@h",
                                      "writers=me:secret@host", "endpoint=http://me:1;secret@h"};
    for (size_t i = 0; i < BKT_COUNT(bad); i++) {
        struct bkt_err err = {.n = 0};
        assert_int_equal(bkt_settings_init(&s, bad[i], &err), BKT_EINVAL);
        check_no_secret(err.frame[0].msg, "**");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(later_sources_win, setup),       cmocka_unit_test_setup(first_environment_variable_wins, setup),
        cmocka_unit_test_setup(mistakes_are_named, setup),      cmocka_unit_test_setup(sizes_take_suffixes, setup),
        cmocka_unit_test_setup(a_named_config_file_must_exist, setup),
        cmocka_unit_test_setup(only_a_file_is_read, setup),     cmocka_unit_test_setup(secrets_are_not_shown, setup),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
