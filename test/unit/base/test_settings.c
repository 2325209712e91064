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
        {"test.part_size=99999999999999999999", {"part_size", NULL, NULL}},
        {"test.part_size=16777216T", {"part_size", NULL, NULL}},
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
    assert_int_equal(bkt_settings_init(&s, "test.part_size=2M;chunk_cache=3g;meta_cache=0", NULL), BKT_OK);
    assert_int_equal(s.part_size, 2U << 20);
    assert_int_equal(s.chunk_cache, 3ULL << 30);
    assert_int_equal(s.meta_cache, 0);
    bkt_settings_fini(&s);
}

/* In each place the name is an error, and the message describes the replacement. */
static void a_removed_setting_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *name, *variable, *now;
    } cases[] = {
        {"hedge", "H5BUCKET_HEDGE", "5 per cent"},            {"io_threads", "H5BUCKET_IO_THREADS", "four processors"},
        {"in_flight", "H5BUCKET_IN_FLIGHT", "chunk_cache"},   {"write_cache", "H5BUCKET_WRITE_CACHE", "chunk_cache"},
        {"stall_ms", "H5BUCKET_STALL_MS", "deadline_ms"},     {"connect_ms", "H5BUCKET_CONNECT_MS", "deadline_ms"},
        {"max_object", "H5BUCKET_MAX_OBJECT", "meta_cache"},  {"prefetch", "H5BUCKET_PREFETCH", "read_ahead"},
        {"backoff_ms", "H5BUCKET_BACKOFF_MS", "50 ms"},
        {"part_size", "H5BUCKET_PART_SIZE", "8 MiB"},         {"upload_part", "H5BUCKET_UPLOAD_PART", "32 MiB"},
        {"merge_gap", "H5BUCKET_MERGE_GAP", "speed"},         {"near", "H5BUCKET_NEAR", "reads"},
        {"huge_pages", "H5BUCKET_HUGE_PAGES", "huge pages"},  {"conditional", "H5BUCKET_CONDITIONAL", "test"},
        {"sign_payload", "H5BUCKET_SIGN_PAYLOAD", "https"},   {"link_count", "H5BUCKET_LINK_COUNT", "all groups"},
        {"shuffle_only", "H5BUCKET_SHUFFLE_ONLY", "raw"},     {"native_calls", "H5BUCKET_NATIVE_CALLS", "HDF5 1.14"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        for (int way = 0; way < 3; way++) {
            struct bkt_settings s;
            struct bkt_err      err = {.n = 0};
            char                pair[64];
            (void)snprintf(pair, sizeof pair, "%s=1", cases[i].name);
            write_config(way == 0 ? pair : "");
            if (way == 1)
                (void)setenv(cases[i].variable, "1", 1);
            assert_int_equal(bkt_settings_init(&s, way == 2 ? pair : "", &err), BKT_EINVAL);
            (void)unsetenv(cases[i].variable);
            if (!strstr(err.frame[0].msg, "removed") || !strstr(err.frame[0].msg, cases[i].now) ||
                !strstr(err.frame[0].msg, way == 0 ? file : way == 1 ? cases[i].variable : "info string"))
                fail_msg("%s, way %d: %s", cases[i].name, way, err.frame[0].msg);
        }
}

static void values_follow_from_others(void **state)
{
    (void)state;
    static const struct {
        const char *info;
        uint64_t    connect_ms, stall_ms, write_cache, in_flight, max_object;
    } cases[] = {
        {"", 10000, 20000, 96U << 20, 96U << 20, 256U << 20},
        {"deadline_ms=1000;chunk_cache=0;meta_cache=0", 3000, 3000, 16U << 20, 16U << 20, 256U << 20},
        {"deadline_ms=86400000;chunk_cache=3G;meta_cache=1G", 600000, 600000, 3ULL << 30, 1U << 30, 4ULL << 30},
        {"test.connect_ms=1;test.stall_ms=2;test.write_cache=3;test.in_flight=4;test.max_object=4096", 1, 2, 3, 4, 4096},
    };
    write_config("");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_settings s;
        assert_int_equal(bkt_settings_init(&s, cases[i].info, NULL), BKT_OK);
        assert_int_equal(bkt_settings_connect_ms(&s), cases[i].connect_ms);
        assert_int_equal(bkt_settings_stall_ms(&s), cases[i].stall_ms);
        assert_int_equal(bkt_settings_write_cache(&s), cases[i].write_cache);
        assert_int_equal(bkt_settings_in_flight(&s), cases[i].in_flight);
        assert_int_equal(bkt_settings_max_object(&s), cases[i].max_object);
        bkt_settings_fini(&s);
    }
}

static void knobs_of_tests_have_one_variable(void **state)
{
    (void)state;
    struct bkt_settings s;
    struct bkt_err      err = {.n = 0};
    write_config("");
    (void)setenv("H5BUCKET_TEST", "near=0,conditional=bare,in_flight=2M", 1);
    assert_int_equal(bkt_settings_init(&s, "test.in_flight=3M", NULL), BKT_OK);
    assert_int_equal(s.near, 0);
    assert_int_equal(s.in_flight, 3U << 20);
    assert_string_equal(s.conditional, "bare");
    bkt_settings_fini(&s);
    (void)setenv("H5BUCKET_TEST", "connections=2", 1);
    assert_int_equal(bkt_settings_init(&s, "", &err), BKT_EINVAL);
    assert_non_null(strstr(err.frame[0].msg, "H5BUCKET_TEST"));
    (void)unsetenv("H5BUCKET_TEST");
}

static int count_row(const struct bkt_setting_row *row, void *arg)
{
    assert_null(strstr(row->name, "test."));
    ++*(unsigned *)arg;
    return BKT_OK;
}

static void there_are_few_settings(void **state)
{
    (void)state;
    struct bkt_settings s;
    unsigned            n = 0;
    write_config("");
    assert_int_equal(bkt_settings_init(&s, "", NULL), BKT_OK);
    assert_int_equal(bkt_settings_each(&s, count_row, &n), BKT_OK);
    assert_in_range(n, 20, 26);
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
    assert_int_equal(bkt_settings_init(&s, "endpoint=http://user:secret@host/x;bucket=key:secret@b;user=me@there.org;token=h.org:secret, x:9:secret", NULL), BKT_OK);
    FILE *to = open_memstream(&text, &n);
    bkt_settings_print(to, &s, false);
    (void)fclose(to);
    check_no_secret(text, "endpoint = http://***@host/x\n");
    check_no_secret(text, "bucket = ***@b\n");
    check_no_secret(text, "user = me@there.org\n");
    check_no_secret(text, "token = h.org:***, x:9:***\n");
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
    struct bkt_err err = {.n = 0};
    assert_int_equal(bkt_settings_init(&s, "token h.org:secret", &err), BKT_EINVAL);
    check_no_secret(err.frame[0].msg, "'token'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(later_sources_win, setup),       cmocka_unit_test_setup(first_environment_variable_wins, setup),
        cmocka_unit_test_setup(mistakes_are_named, setup),      cmocka_unit_test_setup(sizes_take_suffixes, setup),
        cmocka_unit_test_setup(a_named_config_file_must_exist, setup),
        cmocka_unit_test_setup(a_removed_setting_says_so, setup), cmocka_unit_test_setup(values_follow_from_others, setup),
        cmocka_unit_test_setup(knobs_of_tests_have_one_variable, setup), cmocka_unit_test_setup(there_are_few_settings, setup),
        cmocka_unit_test_setup(only_a_file_is_read, setup),     cmocka_unit_test_setup(secrets_are_not_shown, setup),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
