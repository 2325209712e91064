/* Preloaded into a writer of plain files: the process is killed at its nth pwrite(), HDF5's way of writing.
 *   BKT_TEST_PUT  n, from 1
 *   BKT_TEST_DO   before, after
 *   BKT_TEST_HIT  a file that is made when it happens */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_uint count;

static bool is_nth(const char **what)
{
    const char *n = getenv("BKT_TEST_PUT"), *hit = getenv("BKT_TEST_HIT");
    *what = getenv("BKT_TEST_DO");
    if (!n || !*what || atomic_fetch_add(&count, 1) + 1 != (unsigned)strtoul(n, NULL, 10))
        return false;
    int fd = hit ? open(hit, O_CREAT | O_WRONLY | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        (void)close(fd);
    return true;
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    const char *what;
    bool nth = is_nth(&what);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    if (nth && strcmp(what, "before") == 0)
        (void)raise(SIGKILL);
    ssize_t rc = real(fd, p, n, at);
    if (nth)
        (void)raise(SIGKILL);
    return rc;
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite64(fd, p, n, at);
}
