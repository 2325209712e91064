/* Lifetimes: many opens leak nothing.  H5close and a new start, fork, the plugin loaded and unloaded, two
 * files at once, a program that exits with everything open. */
#include <sys/wait.h>
#include <unistd.h>

#include "h5tests/helpers/compare.h"

static unsigned sum_of(const char *domain, const char *path)
{
    hid_t    f = open_domain(domain), d = H5Dopen2(f, path, H5P_DEFAULT), s = H5Dget_space(d);
    size_t   n = (size_t)H5Sget_simple_extent_npoints(s);
    int     *v = calloc(n, sizeof *v);
    unsigned sum = 0;
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s of %s: %s", path, domain, error_text());
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + (unsigned)v[i];
    free(v);
    H5Sclose(s);
    H5Dclose(d);
    H5Fclose(f);
    return sum;
}

static unsigned expected;

/* The program's, one for each processor, the I/O thread, and those that read ahead: they come as they are
 * needed, and stay. */
static unsigned most_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return 1 + (n < 1 ? 1 : n > 16 ? 16 : (unsigned)n) + 1 + 4;
}

static void no_leaks(void)
{
    expected     = sum_of("shapes.h5", "/d2_edge");
    unsigned fds = open_fds(), threads = most_threads();
    for (int i = 0; i < 30; i++)
        CHECK(sum_of("shapes.h5", "/d2_edge") == expected, "open %d reads something else", i);
    /* kept connections of a server may come and go */
    CHECK(open_fds() <= fds + (getenv("BKT_H5_BASE") ? 64 : 0), "%u file descriptors, were %u", open_fds(), fds);
    CHECK(live_threads(threads) <= threads, "%u threads, there may be %u", live_threads(threads), threads);
}

static void two_files(void)
{
    hid_t a = open_domain("groups.h5"), b = open_domain("shapes.h5"), c = open_domain("groups.h5"), native = open_twin("groups.h5");
    unsigned long na = 0, nb = 0, nc = 0;
    H5Fget_fileno(a, &na);
    H5Fget_fileno(b, &nb);
    H5Fget_fileno(c, &nc);
    CHECK(na != nb, "two domains have one file number");
    CHECK(na == nc, "one domain has two file numbers");
    CHECK(sum_of("shapes.h5", "/d2_edge") == expected, "with others open");
    H5Fclose(b);
    hid_t g = H5Gopen2(a, "/a", H5P_DEFAULT);
    H5Fclose(a);
    hid_t d = H5Dopen2(g, "ds1", H5P_DEFAULT);
    CHECK(d >= 0, "a group outlives its file's id: %s", error_text());
    H5Dclose(d);
    H5Gclose(g);
    H5Fclose(c);
    H5Fclose(native);
}

static void forked(void)
{
    hid_t f   = open_domain("shapes.h5");
    pid_t pid = fork();
    if (pid == 0) {
        hid_t d = H5Dopen2(f, "/d2_edge", H5P_DEFAULT);
        int  *v = calloc(37UL * 53, sizeof *v);
        alarm(200);
        bool same = d >= 0 && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
        unsigned sum = 0;
        for (size_t i = 0; i < 37UL * 53; i++)
            sum = sum * 31 + (unsigned)v[i];
        same = same && sum == expected && sum_of("shapes.h5", "/d2_edge") == expected;
        if (!same)
            printf("child: %s\n", error_text());
        fflush(stdout);
        _exit(same ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0, "the child of a fork can't read: status %d", status);
    hid_t d = H5Dopen2(f, "/d1_edge", H5P_DEFAULT);
    CHECK(d >= 0, "the parent goes on: %s", error_text());
    H5Dclose(d);
    H5Fclose(f);
}

static void closed_and_opened(void)
{
    for (int i = 0; i < 3; i++) {
        hid_t f = open_domain("groups.h5"), g = H5Gopen2(f, "/a", H5P_DEFAULT);
        (void)g; /* left open: H5close() closes it */
        CHECK(H5close() >= 0, "H5close with open objects");
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        CHECK(sum_of("shapes.h5", "/d2_edge") == expected, "after H5close");
        CHECK(H5close() >= 0, "H5close");
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        CHECK(live_threads(1) == 1, "%u threads live after H5close", live_threads(1));
    }
}

/* A plain file opened through the connector first, when no domain is open, then a domain: the 1.8 calls work
 * on both. */
static void plain_file_before_domain(void)
{
    hid_t fapl = fapl_ours(NULL), plain = H5Fopen(twin_name("groups.h5"), H5F_ACC_RDONLY, fapl);
    hid_t f = open_domain("shapes.h5");
    H5L_info1_t info;
    CHECK(H5Lget_info1(plain, "/a", &info, H5P_DEFAULT) >= 0, "plain file: %s", error_text());
    CHECK(H5Lget_info1(f, "/d2_edge", &info, H5P_DEFAULT) >= 0, "domain: %s", error_text());
    H5Fclose(f);
    CHECK(H5Lget_info1(plain, "/a", &info, H5P_DEFAULT) >= 0, "plain file alone: %s", error_text());
    H5Fclose(plain);
    H5Pclose(fapl);
}

/* Last: exit() with a file, a group and a dataset open must neither hang nor crash. */
static void exit_with_open_objects(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(200);
        hid_t f = open_domain("groups.h5");
        exit(f >= 0 && H5Gopen2(f, "/a", H5P_DEFAULT) >= 0 && H5Dopen2(f, "/a/ds1", H5P_DEFAULT) >= 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0, "exit with open objects: status %d", status);
}

int main(void)
{
    static const struct {
        const char *what;
        void (*run)(void);
    } cases[] = {{"many opens leak nothing", no_leaks},
                 {"several files at once", two_files},
                 {"fork", forked},
                 {"H5close and again", closed_and_opened},
                 {"a plain file before a domain", plain_file_before_domain},
                 {"exit with everything open", exit_with_open_objects}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int before = failures;
        cases[i].run();
        printf("%s %s\n", failures == before ? "ok  " : "FAIL", cases[i].what);
    }
    return failures != 0;
}
