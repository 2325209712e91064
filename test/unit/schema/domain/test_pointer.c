#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/domain/domain.h"
#include "schema/name/pointer_file.h"

static char dir[]  = "/tmp/bkt_pointerXXXXXX";
static char path[64];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof path, "%s/a.nc", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static void write_file(const void *p, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void a_written_pointer_is_read(void **state)
{
    (void)state;
    static const char *const names[] = {"s3://bucket/a b/ü.h5", "hsds+s3://b/x.h5", "hdf5://home/x.h5", "/home/x.h5", "file:///d/x.h5"};
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        struct bkt_buf text = {0}, got = {0};
        assert_int_equal(bkt_pointer_emit(names[i], &text, NULL), BKT_OK);
        write_file(text.ptr, text.len);
        assert_int_equal(bkt_pointer_read(path, &got, NULL), 1);
        assert_string_equal(bkt_buf_str(&got), names[i]);
        bkt_buf_fini(&text);
        bkt_buf_fini(&got);
    }
}

static void a_name_is_parsed_through_it(void **state)
{
    (void)state;
    struct bkt_settings set = {0};
    struct bkt_name     n;
    struct bkt_buf      text = {0};
    assert_int_equal(bkt_pointer_emit("s3://bucket/home/x.h5", &text, NULL), BKT_OK);
    write_file(text.ptr, text.len);
    bkt_buf_fini(&text);
    assert_int_equal(bkt_name_parse(path, &set, BKT_NAME_OPEN, &n, NULL), BKT_OK);
    assert_string_equal(n.store_uri, "s3://bucket");
    assert_string_equal(n.path, "home/x.h5");
    bkt_name_fini(&n);
    /* a pointer to itself, or to another, is not followed */
    assert_int_equal(bkt_pointer_emit(path, &text, NULL), BKT_OK);
    write_file(text.ptr, text.len);
    bkt_buf_fini(&text);
    assert_int_equal(bkt_name_parse(path, &set, BKT_NAME_OPEN, &n, NULL), BKT_ENOENT);
}

static void a_relative_path_counts_from_its_folder(void **state)
{
    (void)state;
    static const struct {
        const char *target, *bucket, *want; /* want: within the folder, or as it is */
    } cases[] = {
        {"x.h5", NULL, "/x.h5"},       {"../y/x.h5", "", "/../y/x.h5"}, {"x.h5", "mybucket", "x.h5"},
        {"/x.h5", NULL, "/x.h5"},      {"hdf5:/x.h5", NULL, "hdf5:/x.h5"}, {"s3://b/x.h5", NULL, "s3://b/x.h5"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        char                want[128];
        bool                beside = *cases[i].want == '/' && *cases[i].target != '/';
        struct bkt_settings set    = {.bucket = (char *)(uintptr_t)cases[i].bucket};
        struct bkt_buf      text = {0}, got = {0};
        (void)snprintf(want, sizeof want, "%s%s", beside ? dir : "", cases[i].want);
        assert_int_equal(bkt_pointer_emit(cases[i].target, &text, NULL), BKT_OK);
        write_file(text.ptr, text.len);
        assert_int_equal(bkt_pointer_follow(path, &set, &got, NULL), 1);
        assert_string_equal(bkt_buf_str(&got), want);
        bkt_buf_fini(&text);
        bkt_buf_fini(&got);
    }
}

#define HEAD "\x89HDF\r\n\x1a\nh5bucket 1\n"
static void other_files_and_bad_ones(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const char *text;
        size_t      n;
        int         want;
    } cases[] = {
#define CASE(what, text, want) {what, text, sizeof(text) - 1, want}
        CASE("empty", "", 0),
        CASE("an HDF5 file", "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\x04\0\x10\0", 0),
        CASE("another version", "\x89HDF\r\n\x1a\nh5bucket 2\ns3://b/x\n", 0),
        CASE("no name", HEAD, BKT_EFORMAT),
        CASE("two lines", HEAD "s3://b/x\ns3://b/y\n", BKT_EFORMAT),
        CASE("control character", HEAD "s3://b/x\x01\n", BKT_EFORMAT),
        CASE("NUL", HEAD "s3://b/x\0y\n", BKT_EFORMAT),
        CASE("a web server", HEAD "https://evil.example/x.h5\n", BKT_EFORMAT),
        CASE("a web server, shouted", HEAD "HTTP://evil.example/x.h5\n", BKT_EFORMAT),
        CASE("fine", HEAD "s3://b/x\n", 1),
        CASE("no newline", HEAD "s3://b/x", 1),
        CASE("DOS newline", HEAD "s3://b/x\r\n", 1),
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_buf got = {0};
        struct bkt_err err = {.n = 0};
        write_file(cases[i].text, cases[i].n);
        int rc = bkt_pointer_read(path, &got, &err);
        if (rc != cases[i].want || (rc < 0) != (err.n > 0))
            fail_msg("%s: gave %d, want %d", cases[i].what, rc, cases[i].want);
        if (rc == 1)
            assert_string_equal(bkt_buf_str(&got), "s3://b/x");
        bkt_buf_fini(&got);
    }
    char long_one[8192];
    memset(long_one, 'x', sizeof long_one);
    memcpy(long_one, HEAD, sizeof HEAD - 1);
    struct bkt_buf got = {0};
    write_file(long_one, sizeof long_one);
    assert_int_equal(bkt_pointer_read(path, &got, NULL), BKT_EFORMAT);
    assert_int_equal(bkt_pointer_read(dir, &got, NULL), 0);
    assert_int_equal(bkt_pointer_read("/nonexistent/x", &got, NULL), 0);
    assert_int_equal(bkt_pointer_emit("http://x/y", &got, NULL), BKT_EINVAL);
    assert_int_equal(bkt_pointer_emit("a\nb", &got, NULL), BKT_EFORMAT);
    bkt_buf_fini(&got);
}

static void overwrite(size_t at, const char *text)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

static void a_user_block_lies_before_it(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {512, 1024, 65536};
    for (size_t i = 0; i < BKT_COUNT(sizes); i++) {
        struct bkt_buf           got = {0}, bytes = {0};
        uint64_t                 size  = 0;
        struct bkt_pointer_block block = {.size = sizes[i], .bytes = "header", .n = 6};
        assert_int_equal(bkt_pointer_write(path, "s3://b/x", &block, true, NULL), BKT_OK);
        assert_int_equal(bkt_pointer_userblock(path), sizes[i]);
        overwrite(1, "EADERS of MATLAB"); /* as a program does that knows of no pointers */
        overwrite(sizes[i] - 1, "!");
        assert_int_equal(bkt_pointer_read(path, &got, NULL), 1);
        assert_string_equal(bkt_buf_str(&got), "s3://b/x");
        assert_int_equal(bkt_pointer_userblock_read(path, &size, &bytes, NULL), BKT_OK);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(bytes.len, sizes[i]);
        assert_memory_equal(bytes.ptr, "hEADERS of MATLAB\0", 18);
        assert_int_equal(bkt_pointer_reblock(path, &(struct bkt_pointer_block){.size = 2048}, NULL), BKT_OK);
        bkt_buf_clear(&got);
        bkt_buf_clear(&bytes);
        assert_int_equal(bkt_pointer_read(path, &got, NULL), 1);
        assert_string_equal(bkt_buf_str(&got), "s3://b/x");
        assert_int_equal(bkt_pointer_userblock_read(path, &size, &bytes, NULL), BKT_OK);
        assert_true(size == 2048 && bytes.len == 0);
        bkt_buf_fini(&got);
        bkt_buf_fini(&bytes);
    }
    assert_int_equal(bkt_pointer_write(path, "s3://b/x", NULL, true, NULL), BKT_OK);
    assert_int_equal(bkt_pointer_userblock(path), 0);
}

/* It is never seen half-written: a reader that has it open reads the old one to the end. */
static void a_user_block_is_changed_at_once(void **state)
{
    (void)state;
    struct bkt_buf  got = {0};
    struct stat     sb;
    struct rlimit   was, small;
    char            link[PATH_MAX], old[sizeof HEAD + 20] = "";
    const struct bkt_pointer_block block = {.size = 512}, large = {.size = 65536};
    assert_int_equal(bkt_pointer_write(path, "s3://b/x", NULL, true, NULL), BKT_OK);
    assert_int_equal(chmod(path, 0640), 0);
    (void)snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink(path, link), 0);
    int fd = open(path, O_RDONLY);
    assert_int_equal(bkt_pointer_reblock(link, &block, NULL), BKT_OK);
    assert_true(read(fd, old, sizeof old) == (ssize_t)strlen(HEAD "s3://b/x\n") && strcmp(old, HEAD "s3://b/x\n") == 0);
    assert_int_equal(close(fd), 0);
    assert_true(lstat(link, &sb) == 0 && S_ISLNK(sb.st_mode) && stat(path, &sb) == 0 && (sb.st_mode & 07777) == 0640);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0); /* the disk is full */
    (void)signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){4096, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(bkt_pointer_reblock(path, &large, NULL), BKT_EIO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(bkt_pointer_read(path, &got, NULL), 1);
    assert_string_equal(bkt_buf_str(&got), "s3://b/x");
    assert_int_equal(bkt_pointer_userblock(path), 512);
    bkt_buf_fini(&got);
}

/* A pointer counts only at the places where HDF5 looks, and not behind an HDF5 file's signature. */
static void elsewhere_it_is_not_a_pointer(void **state)
{
    (void)state;
    static const size_t places[] = {1, 511, 1536, 2047};
    static const char   nothing[4096];
    for (size_t i = 0; i < BKT_COUNT(places); i++) {
        write_file(nothing, sizeof nothing);
        overwrite(places[i], HEAD "s3://b/x\n");
        assert_false(bkt_pointer_is(path));
    }
    write_file(nothing, sizeof nothing);
    overwrite(512, "\x89HDF\r\n\x1a\n");
    overwrite(1024, HEAD "s3://b/x\n");
    assert_false(bkt_pointer_is(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_user_block_lies_before_it),
                                       cmocka_unit_test(a_user_block_is_changed_at_once),
                                       cmocka_unit_test(elsewhere_it_is_not_a_pointer),
                                       cmocka_unit_test(a_written_pointer_is_read),
                                       cmocka_unit_test(a_name_is_parsed_through_it),
                                       cmocka_unit_test(a_relative_path_counts_from_its_folder),
                                       cmocka_unit_test(other_files_and_bad_ones)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
