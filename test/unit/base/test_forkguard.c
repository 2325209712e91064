#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helpers/cmocka_includes.h"
#include "base/os/fork.h"

static struct shared {
    struct bkt_forkguard guard;
    pthread_mutex_t      lock;
    int                  a, b; /* equal if no thread holds the lock */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool stop;

/* Holds the lock nearly always. */
static void *busy(void *arg)
{
    const struct timespec pause = {0, 200000};
    (void)arg;
    while (!atomic_load(&stop)) {
        (void)pthread_mutex_lock(&shared.lock);
        shared.a++;
        (void)nanosleep(&pause, NULL);
        shared.b++;
        (void)pthread_mutex_unlock(&shared.lock);
    }
    return NULL;
}

static int child_finds_it_whole(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(200);
        (void)pthread_mutex_lock(&shared.lock);
        _exit(shared.a == shared.b ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return status;
}

static void a_lock_in_use_is_free_in_the_child(void **state)
{
    (void)state;
    pthread_t t;
    bkt_forkguard_add(&shared.guard, &shared.lock, NULL);
    assert_int_equal(pthread_create(&t, NULL, busy, NULL), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(child_finds_it_whole(), 0);
    atomic_store(&stop, true);
    (void)pthread_join(t, NULL);
    bkt_forkguard_remove(&shared.guard);
}

/* Not touched any more once it is removed: its lock may be held across fork(). */
static void a_removed_lock_is_left_alone(void **state)
{
    (void)state;
    struct bkt_forkguard other;
    pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
    bkt_forkguard_add(&other, &lock, NULL);
    bkt_forkguard_add(&shared.guard, &shared.lock, NULL);
    bkt_forkguard_remove(&other);
    (void)pthread_mutex_lock(&lock);
    assert_int_equal(child_finds_it_whole(), 0);
    (void)pthread_mutex_unlock(&lock);
    bkt_forkguard_remove(&shared.guard);
}

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

/* Holds one lock nearly always, and waits for the other one then. */
static void *busy_inside(void *arg)
{
    const struct timespec pause = {0, 200000};
    (void)arg;
    while (!atomic_load(&stop)) {
        (void)pthread_mutex_lock(&shared.lock);
        (void)nanosleep(&pause, NULL);
        (void)pthread_mutex_lock(&inner);
        (void)pthread_mutex_unlock(&inner);
        (void)pthread_mutex_unlock(&shared.lock);
    }
    return NULL;
}

/* fork() takes it after all others, whichever came first: else each would wait for the other for ever. */
static void holders_of_others_may_wait_for_the_last(void **state)
{
    struct bkt_forkguard last;
    pthread_t            t;
    (void)state;
    atomic_store(&stop, false);
    bkt_forkguard_add(&shared.guard, &shared.lock, NULL);
    bkt_forkguard_add_last(&last, &inner, NULL);
    assert_int_equal(pthread_create(&t, NULL, busy_inside, NULL), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(child_finds_it_whole(), 0);
    atomic_store(&stop, true);
    (void)pthread_join(t, NULL);
    bkt_forkguard_remove(&last);
    bkt_forkguard_remove(&shared.guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock_in_use_is_free_in_the_child),
                                       cmocka_unit_test(a_removed_lock_is_left_alone),
                                       cmocka_unit_test(holders_of_others_may_wait_for_the_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
