#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/cmocka_includes.h"
#include "base/os/pool.h"
#include "helpers/sanitizer.h"

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
        work[i] = (struct work){{.run = run}, i};
        bkt_pool_submit(&work[i].job);
    }
}

static void check_all(void)
{
    bkt_pool_shutdown(); /* finishes the queued jobs */
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

/* Several threads add jobs of both kinds.  So many workers run that they take from each other's queues; no
 * job is lost or run twice. */
static void *submit_part(void *arg)
{
    for (int i = *(int *)arg; i < N; i += 4) {
        work[i] = (struct work){{.run = run}, i};
        if (i % 3)
            bkt_pool_submit(&work[i].job);
        else
            bkt_pool_submit_small(&work[i].job);
        if (i % 97 == 0)
            usleep(300); /* workers fall asleep */
    }
    return NULL;
}

static void many_threads_share_many_workers(void **state)
{
    (void)state;
    pthread_t t[4];
    int       from[4] = {0, 1, 2, 3};
    bkt_pool_size(64);
    for (int round = 0; round < 4; round++) {
        atomic_store(&done, 0);
        atomic_store(&sum, 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&t[i], NULL, submit_part, &from[i]), 0);
        for (int i = 0; i < 4; i++)
            (void)pthread_join(t[i], NULL);
        /* a shutdown does not help a job that no worker was woken for */
        for (int i = 0; i < 30000 && atomic_load(&done) < N; i++)
            usleep(1000);
        assert_int_equal(atomic_load(&done), N);
        check_all();
    }
    bkt_pool_size(4);
}

/* Two jobs at once with one thread idle: the second must not wait behind the first. */
static atomic_int met;
static void meet(struct bkt_job *job)
{
    (void)job;
    atomic_fetch_add(&met, 1);
    for (int i = 0; i < 60000 && atomic_load(&met) % 2; i++)
        usleep(1000);
    atomic_fetch_add(&done, atomic_load(&met) % 2 == 0);
}

static void idle_threads_are_not_counted_twice(void **state)
{
    (void)state;
    struct bkt_job one = {.run = run}, two[2] = {{.run = meet}, {.run = meet}};
    struct work    w   = {one, 0};
    bkt_pool_size(2);
    atomic_store(&done, 0);
    bkt_pool_submit(&w.job); /* starts one thread, which is idle soon */
    while (!atomic_load(&done))
        usleep(1000);
    usleep(20000);
    atomic_store(&done, 0);
    bkt_pool_submit(&two[0]);
    bkt_pool_submit(&two[1]);
    bkt_pool_shutdown();
    bkt_pool_size(4);
    assert_int_equal(atomic_load(&done), 2);
}

/* Small jobs: the thread that is at one of them does the others too, unless they pile up. */
enum { MANY = 100, PILE = 16 }; /* as many may wait for it; a worker that comes for more runs them all */
static atomic_int gate, begun;
static void wait_at_gate(struct bkt_job *job)
{
    (void)job;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&gate))
        usleep(1000);
}

static void small_jobs_are_left_to_one_thread(void **state)
{
    (void)state;
    struct bkt_job closed = {.run = wait_at_gate};
    atomic_store(&done, 0);
    atomic_store(&sum, 0);
    atomic_store(&gate, 0);
    atomic_store(&begun, 0);
    for (int i = 0; i < N; i++)
        work[i] = (struct work){{.run = run}, i};
    bkt_pool_submit_small(&closed);
    while (!atomic_load(&begun))
        usleep(1000);
    for (int i = 0; i < 10; i++)
        bkt_pool_submit_small(&work[i].job);
    assert_int_equal(atomic_load(&done), 0); /* nobody was woken */
    for (int i = 10; i < MANY; i++)
        bkt_pool_submit_small(&work[i].job);
    while (atomic_load(&done) < MANY - PILE) /* others were, for so many: else this ends with the test's time */
        usleep(1000);
    bkt_pool_submit_small(&work[MANY].job);
    bkt_pool_submit(&work[MANY + 1].job); /* a worker that comes for it finds the small jobs first */
    while (atomic_load(&done) < MANY + 2)
        usleep(1000);
    atomic_store(&gate, 1);
    for (int i = MANY + 2; i < N; i++)
        (i % 3 ? bkt_pool_submit_small : bkt_pool_submit)(&work[i].job);
    check_all();
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
#if UNDER_TSAN
    skip(); /* ThreadSanitizer's runtime cannot start threads in a child of a process with threads */
#endif
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

/* Jobs that the parent has queued behind others that hold all threads. */
enum { HELD = 8 };
static pid_t      parent;
static atomic_int holding, let_go, foreign;
static void       hold(struct bkt_job *job)
{
    (void)job;
    atomic_fetch_add(&foreign, getpid() != parent);
    atomic_fetch_add(&holding, 1);
    while (getpid() == parent && !atomic_load(&let_go))
        usleep(1000);
}

static void a_forked_child_runs_none_of_the_parents_jobs(void **state)
{
    static struct bkt_job jobs[HELD];
    int                   status = -1;
    (void)state;
#if UNDER_TSAN
    skip(); /* ThreadSanitizer's runtime cannot start threads in a child of a process with threads */
#endif
    parent = getpid();
    for (int i = 0; i < HELD; i++) {
        jobs[i] = (struct bkt_job){.run = hold};
        bkt_pool_submit(&jobs[i]);
    }
    while (atomic_load(&holding) < 4)
        usleep(1000);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        submit_all();
        bkt_pool_shutdown();
        _exit(atomic_load(&foreign) ? 2 : atomic_load(&done) == N ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    atomic_store(&let_go, 1);
    bkt_pool_shutdown();
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&holding), HELD);
}

/* Threads that go on submitting while the pool ends, and ends again: each job runs, once. */
static atomic_int over;
static void      *submit_until_over(void *arg)
{
    struct work *mine = arg;
    int          n    = 0;
    while (n < N / 4 && !atomic_load(&over)) {
        mine[n] = (struct work){{.run = run}, 1};
        bkt_pool_submit(&mine[n++].job);
    }
    return (void *)(intptr_t)n;
}

static void submitting_beside_the_end_loses_no_job(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        pthread_t t[4];
        intptr_t  all = 0;
        atomic_store(&over, 0);
        atomic_store(&done, 0);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&t[i], NULL, submit_until_over, &work[i * N / 4]), 0);
        for (int i = 0; i < 20; i++)
            bkt_pool_shutdown();
        atomic_store(&over, 1);
        for (size_t i = 0; i < 4; i++) {
            void *n;
            assert_int_equal(pthread_join(t[i], &n), 0);
            all += (intptr_t)n;
        }
        bkt_pool_shutdown();
        assert_int_equal(atomic_load(&done), all);
    }
}

int main(void)
{
    bkt_pool_size(4);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job_runs_once_and_it_starts_again),
                                       cmocka_unit_test(many_threads_share_many_workers),
                                       cmocka_unit_test(small_jobs_are_left_to_one_thread),
                                       cmocka_unit_test(a_waiting_thread_can_help),
                                       cmocka_unit_test(idle_threads_are_not_counted_twice),
                                       cmocka_unit_test(a_forked_child_has_a_pool_of_its_own),
                                       cmocka_unit_test(submitting_beside_the_end_loses_no_job),
                                       cmocka_unit_test(a_forked_child_runs_none_of_the_parents_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
