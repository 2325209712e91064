#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm.h"
#include "pool.h"

#define N 5000
struct work {
    struct bkt_job job; /* first */
    int            n;
};
static struct work work[N];
static atomic_int  done, sum;

static void run(struct bkt_job *job)
{
    struct work *w = (struct work *)job;
    atomic_fetch_add(&sum, w->n);
    atomic_fetch_add(&done, 1);
}

static void submit_all(void)
{
    atomic_store(&done, 0);
    atomic_store(&sum, 0);
    for (int i = 0; i < N; i++) {
        work[i] = (struct work){{run, NULL}, i};
        bkt_pool_submit(&work[i].job);
    }
}

static void check_all(void)
{
    bkt_pool_shutdown(); /* finishes what is queued */
    assert_int_equal(atomic_load(&done), N);
    assert_int_equal(atomic_load(&sum), N * (N - 1) / 2);
}

static void every_job_runs_once_and_it_starts_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        submit_all();
        check_all();
    }
}

static void a_waiting_thread_can_help(void **state)
{
    (void)state;
    submit_all();
    while (bkt_pool_help())
        ;
    check_all();
    assert_int_equal(bkt_pool_help(), 0);
}

static void a_forked_child_has_a_pool_of_its_own(void **state)
{
    (void)state;
    submit_all();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        submit_all();
        bkt_pool_shutdown();
        _exit(atomic_load(&done) >= N ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    check_all();
}

int main(void)
{
    bkt_pool_size(4);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job_runs_once_and_it_starts_again), cmocka_unit_test(a_waiting_thread_can_help),
                                       cmocka_unit_test(a_forked_child_has_a_pool_of_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
