/* Providers at work: renewal before and after the end, one fetch for all callers, refusals of a server,
 * shutdown. */
#include <pthread.h>
#include <sys/wait.h>

#include "unit/storage/cred_testing.h"
#include "helpers/sanitizer.h"

static void nap(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* The clock by which providers count milliseconds stands still, except for the time that a test lets pass,
 * however slow the machine is. */
static atomic_long passed_ms;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    long ms = atomic_load(&passed_ms);
    if (id != CLOCK_MONOTONIC)
        return __real_clock_gettime(id, t);
    *t = (struct timespec){1000 + ms / 1000, ms % 1000 * 1000000};
    return 0;
}

static void let_pass(long ms) { atomic_fetch_add(&passed_ms, ms); }

static void until_asked(unsigned times)
{
    while (server_count(world.server) < times)
        nap(1);
}

static struct bkt_cred *container_provider(void)
{
    char url[200];
    (void)snprintf(url, sizeof url, "%s/ecs", server_url(world.server));
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    return provider(NULL);
}

/* The key that peek() or get() gives; "" for later, "!" for a failure. */
static const char *key_of(int rc, const struct bkt_creds *c)
{
    static _Thread_local char text[64];
    (void)snprintf(text, sizeof text, "%s", rc == BKT_OK ? c->access_key : rc == BKT_CRED_LATER ? "" : "!");
    if (rc == BKT_OK)
        bkt_creds_unref(c);
    return text;
}
static const char *peeked(struct bkt_cred *p)
{
    const struct bkt_creds *c  = NULL;
    int                     rc = bkt_cred_peek(p, &c, NULL);
    return key_of(rc, c);
}
static const char *got(struct bkt_cred *p)
{
    const struct bkt_creds *c  = NULL;
    int                     rc = cred_get(p, &c, NULL);
    return key_of(rc, c);
}

/* Until the background is done. */
static void until_peeked(struct bkt_cred *p, const char *key)
{
    while (strcmp(peeked(p), key) != 0)
        nap(1);
}

static void first_use(void **state)
{
    (void)state;
    struct bkt_cred *p = container_provider();
    char             source[100];
    bkt_cred_source(p, source, sizeof source);
    assert_string_equal(source, "");
    assert_string_equal(peeked(p), "");
    assert_int_equal(server_count(world.server), 0); /* peek alone asks no source */
    assert_string_equal(got(p), "ECS1");
    assert_string_equal(peeked(p), "ECS1");
    assert_string_equal(got(p), "ECS1");
    assert_int_equal(server_count(world.server), 1);
    bkt_cred_source(p, source, sizeof source);
    assert_non_null(strstr(source, "container endpoint"));
    bkt_cred_close(p);
}

/* Within five minutes of the end the old ones serve while a thread fetches others. */
static void renewed_before_end(void **state)
{
    (void)state;
    world.lives        = 1000;
    struct bkt_cred *p = container_provider();
    assert_string_equal(got(p), "ECS1");
    atomic_store(&bkt_cred_clock_shift, 690);
    assert_string_equal(peeked(p), "ECS1");
    nap(50);
    assert_int_equal(server_count(world.server), 1); /* not due yet */
    atomic_store(&world_holds, true);
    atomic_store(&bkt_cred_clock_shift, 710);
    assert_string_equal(peeked(p), "ECS1");
    assert_string_equal(got(p), "ECS1"); /* does not wait for it either */
    until_asked(2);
    assert_string_equal(got(p), "ECS1");
    atomic_store(&world_holds, false);
    until_peeked(p, "ECS2");
    assert_int_equal(server_count(world.server), 2);
    bkt_cred_close(p);
}

/* A renewal that fails does no harm until the end, and is not tried all the time. */
static void renewal_fails(void **state)
{
    (void)state;
    world.lives        = 1000;
    struct bkt_cred *p = container_provider();
    assert_string_equal(got(p), "ECS1");
    atomic_store(&bkt_cred_clock_shift, 800);
    world.status = 404;
    assert_string_equal(peeked(p), "ECS1");
    until_asked(2);
    let_pass(9000); /* renewals in the background are 10 s apart */
    for (int i = 0; i < 20; i++) {
        assert_string_equal(peeked(p), "ECS1");
        nap(5);
    }
    assert_int_equal(server_count(world.server), 2);
    atomic_store(&bkt_cred_clock_shift, 1001); /* their end: now callers must wait, and hear of it */
    assert_string_equal(got(p), "!");
    assert_string_equal(peeked(p), "!");
    unsigned n = server_count(world.server);
    for (int i = 0; i < 10; i++)
        assert_string_equal(peeked(p), "!");
    assert_int_equal(server_count(world.server), n);
    world.status = 0;
    let_pass(999); /* a failure is kept for a second */
    assert_string_equal(peeked(p), "!");
    let_pass(1);
    assert_string_equal(peeked(p), "");
    assert_string_equal(got(p), "ECS2");
    bkt_cred_close(p);
}

static void ended_while_unused(void **state)
{
    (void)state;
    world.lives        = 1000;
    struct bkt_cred *p = container_provider();
    assert_string_equal(got(p), "ECS1");
    atomic_store(&bkt_cred_clock_shift, 5000);
    assert_string_equal(peeked(p), "");
    assert_string_equal(got(p), "ECS2");
    bkt_cred_close(p);
}

/* ---- many callers ---- */

#define CALLERS 12
struct caller {
    pthread_t        thread;
    struct bkt_cred *p;
    char             key[64];
};

static void *call(void *arg)
{
    struct caller *c = arg;
    (void)snprintf(c->key, sizeof c->key, "%s", got(c->p));
    return NULL;
}

/* All at once, while the server holds its answer to the @p asked-th request. */
static void all_get(struct bkt_cred *p, const char *key, unsigned asked)
{
    struct caller c[CALLERS];
    atomic_store(&world_holds, true);
    for (int i = 0; i < CALLERS; i++) {
        c[i] = (struct caller){.p = p};
        assert_int_equal(pthread_create(&c[i].thread, NULL, call, &c[i]), 0);
    }
    until_asked(asked);
    nap(20);
    atomic_store(&world_holds, false);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(c[i].thread, NULL), 0);
    for (int i = 0; i < CALLERS; i++)
        assert_string_equal(c[i].key, key);
}

static void one_fetch_for_all(void **state)
{
    (void)state;
    struct bkt_cred *p = container_provider();
    all_get(p, "ECS1", 1);
    assert_int_equal(server_count(world.server), 1);
    atomic_store(&bkt_cred_clock_shift, 5000);
    all_get(p, "ECS2", 2);
    assert_int_equal(server_count(world.server), 2);
    atomic_store(&bkt_cred_clock_shift, 10000);
    world.status = 404;
    all_get(p, "!", 3);
    assert_int_equal(server_count(world.server), 3);
    bkt_cred_close(p);
}

/* ---- callbacks ---- */

struct reported {
    pthread_mutex_t  lock;
    pthread_cond_t   cond;
    struct bkt_cred *again; /* not NULL: want() once more from within */
    int              calls, rc;
    char             key[64], why[BKT_ERR_MSG];
};

static void on_ready(void *arg, int rc, const struct bkt_err *err)
{
    struct reported *t = arg;
    (void)pthread_mutex_lock(&t->lock);
    struct bkt_cred *again = t->again;
    t->again               = NULL;
    t->rc                  = rc;
    t->calls++;
    if (rc < 0 && err && err->n)
        (void)snprintf(t->why, sizeof t->why, "%s", err->frame[0].msg);
    (void)pthread_cond_broadcast(&t->cond);
    (void)pthread_mutex_unlock(&t->lock);
    if (again)
        bkt_cred_want(again, on_ready, t);
}

static void wait_reported(struct reported *t, int calls)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 200;
    (void)pthread_mutex_lock(&t->lock);
    while (t->calls < calls && pthread_cond_timedwait(&t->cond, &t->lock, &until) == 0) {
    }
    int n = t->calls;
    (void)pthread_mutex_unlock(&t->lock);
    assert_int_equal(n, calls);
}

#define REPORTED {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER}

static void want(void **state)
{
    struct reported t = REPORTED;
    (void)state;
    struct bkt_cred *p = container_provider();
    atomic_store(&world_holds, true);
    for (int i = 0; i < 50; i++)
        bkt_cred_want(p, on_ready, &t);
    until_asked(1);
    assert_string_equal(peeked(p), "");
    assert_int_equal(t.calls, 0);
    atomic_store(&world_holds, false);
    wait_reported(&t, 50);
    assert_int_equal(t.rc, BKT_OK);
    assert_string_equal(peeked(p), "ECS1");
    assert_int_equal(server_count(world.server), 1);
    bkt_cred_want(p, on_ready, &t); /* there already: reported at once */
    assert_int_equal(t.calls, 51);
    bkt_cred_close(p);
}

static void want_fails(void **state)
{
    struct reported t = REPORTED;
    (void)state;
    struct bkt_cred *p = container_provider();
    world.status       = 403;
    world.body         = "{}";
    t.again            = p; /* and asks again from within the callback */
    bkt_cred_want(p, on_ready, &t);
    wait_reported(&t, 2);
    assert_int_equal(t.rc, BKT_EACCES);
    assert_non_null(strstr(t.why, "HTTP 403"));
    bkt_cred_close(p);
}

/* ---- refused by a server ---- */

/* The fetch that gave the present keys; 0: no keys. */
static uint64_t fetch_of(struct bkt_cred *p, uint64_t *same_as)
{
    const struct bkt_creds *c = NULL;
    if (bkt_cred_peek(p, &c, NULL) != BKT_OK)
        return 0;
    uint64_t fetch = c->fetch;
    *same_as       = c->same_as;
    bkt_creds_unref(c);
    return fetch;
}

static void refused(void **state)
{
    (void)state;
    uint64_t         same = 0, first;
    struct bkt_cred *p    = container_provider();
    assert_string_equal(got(p), "ECS1");
    first = fetch_of(p, &same);
    assert_int_equal(same, first);
    assert_false(bkt_cred_refused(p, first, true)); /* too young: the source has no others yet */
    let_pass(999);
    assert_false(bkt_cred_refused(p, first, true));
    assert_string_equal(peeked(p), "ECS1");
    let_pass(1);
    assert_false(bkt_cred_refused(p, first, false)); /* for another reason, maybe: no reason to ask a server */
    assert_true(bkt_cred_refused(p, first + 1, true)); /* not these */
    assert_string_equal(peeked(p), "ECS1");
    assert_true(bkt_cred_refused(p, first, true));
    assert_string_equal(peeked(p), "");
    assert_true(bkt_cred_refused(p, first, true)); /* another request's word about the same */
    assert_string_equal(got(p), "ECS2");
    assert_true(fetch_of(p, &same) > first && same > first);
    assert_true(bkt_cred_refused(p, first, true)); /* one that was long under way: others are there */
    assert_string_equal(peeked(p), "ECS2");
    bkt_cred_close(p);
    (void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
    p = provider(NULL);
    assert_string_equal(got(p), "ENV");
    let_pass(1000);
    assert_false(bkt_cred_refused(p, fetch_of(p, &same), true)); /* the environment will give the same */
    assert_string_equal(peeked(p), "ENV");
    bkt_cred_close(p);
}

/* Another program renews the file: it is read again, however soon, and unchanged keys are recognised. */
static void file_changes(void **state)
{
    (void)state;
    uint64_t same = 0, first;
    write_file("credentials", "[default]\naws_access_key_id=F1\naws_secret_access_key=x\n");
    struct bkt_cred *p = provider(NULL);
    assert_string_equal(got(p), "F1");
    first = fetch_of(p, &same);
    assert_true(bkt_cred_refused(p, first, true));
    assert_string_equal(peeked(p), "");
    assert_string_equal(got(p), "F1");
    assert_true(fetch_of(p, &same) > first && same == first);
    write_file("credentials", "[default]\naws_access_key_id=F2\naws_secret_access_key=x\n");
    assert_string_equal(got(p), "F1");
    assert_true(bkt_cred_refused(p, fetch_of(p, &same), true));
    assert_string_equal(got(p), "F2");
    write_file("credentials", "[default]\naws_access_key_id=F2\naws_secret_access_key=y\n");
    first = fetch_of(p, &same);
    assert_true(bkt_cred_refused(p, first, false)); /* denied: by others, maybe; the same key with another secret is one */
    assert_string_equal(got(p), "F2");
    assert_true(fetch_of(p, &same) > first && same > first);
    bkt_cred_close(p);
}

/* The file can't be read as it is being written, or is away for a while. */
static void file_is_broken(void **state)
{
    (void)state;
    uint64_t same = 0;
    write_file("credentials", "[default]\naws_access_key_id=B1\naws_secret_access_key=x\n");
    struct bkt_cred *p = provider(NULL);
    assert_string_equal(got(p), "B1");
    write_file("credentials", "[default]\naws_access_key_id=B2\n");
    assert_true(bkt_cred_refused(p, fetch_of(p, &same), false));
    assert_string_equal(got(p), "B1"); /* they may be right after all */
    assert_true(bkt_cred_refused(p, fetch_of(p, &same), true));
    assert_string_equal(got(p), "!");
    write_file("credentials", "[default]\naws_access_key_id=B2\naws_secret_access_key=x\n");
    assert_string_equal(got(p), "B2"); /* a failure of files is not held against them */
    bkt_cred_close(p);
}

/* ---- providers ---- */

static void shared_and_apart(void **state)
{
    (void)state;
    write_file("credentials", "[default]\naws_access_key_id=D\naws_secret_access_key=x\n"
                              "[other]\naws_access_key_id=O\naws_secret_access_key=x\n");
    struct bkt_cred *a = provider(NULL), *b = provider(NULL), *c = provider("profile=other");
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_string_equal(got(a), "D");
    assert_string_equal(got(c), "O");
    (void)setenv("AWS_ACCESS_KEY_ID", "E", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
    struct bkt_cred *d = provider(NULL);
    assert_ptr_not_equal(a, d);
    assert_string_equal(got(d), "E");
    assert_string_equal(got(a), "D"); /* as things were when it was opened */
    bkt_cred_close(a);
    bkt_cred_close(c);
    bkt_cred_close(d);
    bkt_cred_shutdown(); /* b is open and goes on */
    assert_string_equal(peeked(b), "");
    assert_string_equal(got(b), "D");
    bkt_cred_close(b);
    bkt_cred_close(NULL);
}

/* Kept after the last close, so that the next store does not ask again. */
static void outlives_close(void **state)
{
    (void)state;
    struct bkt_cred *p = container_provider();
    assert_string_equal(got(p), "ECS1");
    bkt_cred_close(p);
    p = container_provider();
    assert_string_equal(peeked(p), "ECS1");
    assert_int_equal(server_count(world.server), 1);
    bkt_cred_close(p);
}

/* It doesn't wait for an answer, which comes only afterwards here. */
static void shutdown_under_way(void **state)
{
    struct reported t = REPORTED;
    (void)state;
    struct bkt_cred *p = container_provider();
    atomic_store(&world_holds, true);
    bkt_cred_want(p, on_ready, &t);
    until_asked(1);
    bkt_cred_shutdown();
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.rc, BKT_ECANCEL);
    world_settle();
    atomic_store(&world_holds, false);
    assert_string_equal(got(p), "ECS2");
    bkt_cred_close(p);
}

static void shutdown_ends_process(void **state)
{
    struct reported t = REPORTED;
    (void)state;
    write_file("config", "[default]\ncredential_process = sleep 3000\n");
    struct bkt_cred *p = provider(NULL);
    bkt_cred_want(p, on_ready, &t);
    nap(100);
    bkt_cred_shutdown();
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.rc, BKT_ECANCEL);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    bkt_cred_close(p);
}

#if !UNDER_TSAN /* its runtime cannot start threads in the child of a threaded process */
/* A child has no thread of its parent's: it fetches for itself. */
static void forked_while_fetching(void **state)
{
    struct reported t = REPORTED;
    char        tool[128], text[400];
    int         status;
    (void)state;
    path_of("tool", tool);
    (void)snprintf(text, sizeof text,
                   "[default]\ncredential_process = sh -c ': >%s; sleep 0.3; echo "
                   "{\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"P\\\",\\\"SecretAccessKey\\\":\\\"s\\\"}'\n", tool);
    write_file("config", text);
    struct bkt_cred *p = provider(NULL);
    bkt_cred_want(p, on_ready, &t);
    while (access(tool, F_OK) < 0) /* it has begun */
        nap(1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(200);
        bool ok = strcmp(got(p), "P") == 0;
        bkt_cred_shutdown();
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    wait_reported(&t, 1);
    assert_string_equal(peeked(p), "P");
    bkt_cred_close(p);
}

#endif

#define T(f) cmocka_unit_test_teardown(f, world_clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(first_use),          T(renewed_before_end),    T(renewal_fails), T(ended_while_unused), T(one_fetch_for_all),
        T(want),               T(want_fails),            T(refused),       T(file_changes),       T(file_is_broken),     T(shared_and_apart),
        T(outlives_close),     T(shutdown_under_way),    T(shutdown_ends_process),
#if !UNDER_TSAN
        T(forked_while_fetching),
#endif
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
