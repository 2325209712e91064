#include <signal.h>

#include "helpers/cmocka_includes.h"
#include "base/os/thread.h"

static void *mask_here(void *out)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, out);
    return out;
}

/* A handler of the program's must never run on a thread of ours, except for faults.  The program's own mask
 * must stay the same. */
static void a_thread_blocks_all_signals_and_its_maker_none_more(void **state)
{
    static const int some[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE}, faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    pthread_t t;
    sigset_t before, after, in_thread;
    void *out;
    (void)state;
    (void)sigemptyset(&in_thread);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(bkt_thread_start(&t, mask_here, &in_thread), 0);
    assert_int_equal(pthread_join(t, &out), 0);
    assert_ptr_equal(out, &in_thread);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        assert_int_equal(sigismember(&in_thread, some[i]), 1);
        assert_int_equal(sigismember(&after, some[i]), sigismember(&before, some[i]));
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_int_equal(sigismember(&in_thread, faults[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_blocks_all_signals_and_its_maker_none_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
