/* The store that fails on demand hits the requests of its rules, and nothing else. */
#include "helpers/store_testing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/fault_store.h"

static int get(struct bkt_store *st, const char *key, bool may_be_short, struct bkt_req *out)
{
    *out = (struct bkt_req){.op = BKT_GET, .key = key, .len = 5, .may_be_short = may_be_short};
    return bkt_store_perform(st, out, 1, NULL);
}

/* A process that dies at its second PUT: started again, since this one has threads. */
static int dies(const char *uri, bool after)
{
    struct bkt_fault  rule = {.op = BKT_PUT, .skip = 1, .kill = after ? BKT_FAULT_KILL_AFTER : BKT_FAULT_KILL_BEFORE};
    struct bkt_store *st;
    if (bkt_fault_open(open_store(uri, ""), &rule, 1, &st, NULL) < 0)
        return 1;
    for (int i = 0; i < 3; i++)
        if (bkt_store_put(st, i ? "two" : "one", "x", 1, NULL, NULL, NULL, NULL) < 0)
            return 1;
    return 2;
}

static void killed(int when, bool is_there)
{
    char dir[] = "/tmp/bkt-fault-XXXXXX", uri[64];
    if (!mkdtemp(dir))
        exit(1);
    (void)snprintf(uri, sizeof uri, "file://%s", dir);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/proc/self/exe", "storage_fault", when == BKT_FAULT_KILL_AFTER ? "dies-after" : "dies-before", uri, (char *)NULL);
        _exit(3);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
    struct bkt_store *st = open_store(uri, "");
    CHECK(bkt_store_head(st, "one", NULL, NULL) == BKT_OK, "what was stored before");
    CHECK(bkt_store_head(st, "two", NULL, NULL) == (is_there ? BKT_OK : BKT_ENOENT), "the one at which it died");
    bkt_store_close(st);
    char cmd[80];
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    CHECK(system(cmd) == 0, "%s", cmd);
}

static void count(struct bkt_req *q) { *(int *)q->arg += q->rc == BKT_OK; }

/* Requests wait until all have come, or the test lets them go. */
static void held(void)
{
    static const struct bkt_fault rule = {.op = BKT_PUT, .hold = 3};
    for (int n = 2; n <= 4; n++) {
        struct bkt_store *st;
        struct bkt_req    r[4] = {{.key = NULL}};
        int               ended = 0;
        if (bkt_fault_open(open_store("mem:held", ""), &rule, 1, &st, NULL) < 0)
            exit(1);
        for (int i = 0; i < n; i++) {
            r[i] = (struct bkt_req){.op = BKT_PUT, .key = "a", .put = "x", .put_len = 1, .done = count, .arg = &ended};
            bkt_store_start(st, &r[i]);
            CHECK(ended == (i < 2 ? 0 : i + 1), "%d of %d have ended", ended, i + 1);
        }
        bkt_fault_release(st);
        CHECK(ended == n, "%d of %d have ended when they were let go", ended, n);
        for (int i = 0; i < n; i++)
            bkt_req_fini(&r[i]);
        bkt_store_close(st);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return dies(argv[2], strcmp(argv[1], "dies-after") == 0);
    static const struct bkt_fault rules[] = {
        {.op = BKT_GET, .key_part = "second", .skip = 1, .times = 1, .code = BKT_ENET},
        {.op = BKT_GET, .key_part = "cut", .cut = 2},
        {.op = BKT_GET, .key_part = "flip", .flip = 1, .flip_set = true},
        {.op = BKT_PUT, .key_part = "locked", .code = BKT_EACCES},
        {.op = -1, .key_part = "slow", .delay_ms = 30},
        {.op = BKT_PUT, .key_part = "lost", .times = 1, .code = BKT_ENET, .carry_out = true},
    };
    static const char *const keys[] = {"second", "cut", "flip", "slow", "plain"};
    struct bkt_store        *st, *mem = open_store("mem:fault", "");
    struct bkt_req           r = {0};
    if (bkt_fault_open(mem, rules, BKT_COUNT(rules), &st, NULL) < 0)
        return 1;
    for (size_t i = 0; i < BKT_COUNT(keys); i++) {
        r = (struct bkt_req){.op = BKT_PUT, .key = keys[i], .put = "hello", .put_len = 5};
        CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_OK, "put %s", keys[i]);
        bkt_req_fini(&r);
    }
    r = (struct bkt_req){.op = BKT_PUT, .key = "locked", .put = "x", .put_len = 1};
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_EACCES, "locked");
    bkt_req_fini(&r);
    static const int want[] = {BKT_OK, BKT_ENET, BKT_OK};
    for (size_t i = 0; i < BKT_COUNT(want); i++) {
        CHECK(get(st, "second", false, &r) == want[i], "get %zu: %s", i, bkt_err_text(r.rc));
        bkt_req_fini(&r);
    }
    CHECK(get(st, "cut", false, &r) == BKT_EFORMAT, "cut");
    bkt_req_fini(&r);
    CHECK(get(st, "cut", true, &r) == BKT_OK && r.n == 2 && r.body.len == 2, "cut, allowed");
    bkt_req_fini(&r);
    CHECK(get(st, "flip", false, &r) == BKT_OK && r.body.ptr[1] == (unsigned char)('e' ^ 0xff), "flip");
    bkt_req_fini(&r);
    double t0 = seconds();
    CHECK(get(st, "slow", false, &r) == BKT_OK && seconds() - t0 >= 0.03, "slow");
    bkt_req_fini(&r);
    CHECK(get(st, "plain", false, &r) == BKT_OK && memcmp(r.body.ptr, "hello", 5) == 0, "plain");
    bkt_req_fini(&r);
    r = (struct bkt_req){.op = BKT_PUT, .key = "lost", .put = "hello", .put_len = 5};
    CHECK(bkt_store_perform(st, &r, 1, NULL) == BKT_ENET && !r.etag[0], "its answer is lost");
    bkt_req_fini(&r);
    CHECK(get(st, "lost", false, &r) == BKT_OK, "but it was carried out");
    bkt_req_fini(&r);
    CHECK(bkt_fault_hits(st, 0) == 1 && bkt_fault_hits(st, 1) == 2 && bkt_fault_hits(st, 3) == 1, "hits");
    bkt_store_close(st);
    held();
    killed(BKT_FAULT_KILL_BEFORE, false);
    killed(BKT_FAULT_KILL_AFTER, true);
    bkt_store_shutdown();
    return failures != 0;
}
