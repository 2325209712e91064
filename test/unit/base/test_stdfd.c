#include "helpers/cmocka_includes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

/* The descriptors of a program that was started without those in @p without; its exit status. */
static int run_without(unsigned without)
{
    char c    = 'x';
    bool bad  = false;
    int  zero = fcntl(open("/dev/zero", O_RDWR), F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        bad |= without & 1u << i ? close(i) != 0 && errno != EBADF : dup2(zero, i) != i;
    bkt_stdfd_take();
    for (int i = 0; i < 3; i++) {
        bool    took = (without & 1u << i) != 0;
        ssize_t n    = i ? write(i, &c, 1) : read(i, &c, 1);
        bad |= took ? n != -1 || errno != EBADF : n != 1; /* as if it were closed, or as it was */
        bad |= fcntl(i, F_GETFD) != (took ? FD_CLOEXEC : 0);
    }
    int next = open("/dev/null", O_RDONLY);
    bad |= next < 3;
    return bad;
}

static void those_that_are_closed_are_taken(void **state)
{
    (void)state;
    for (unsigned without = 0; without < 8; without++) {
        int   status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(run_without(without));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("without %u: status %d", without, status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_that_are_closed_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
