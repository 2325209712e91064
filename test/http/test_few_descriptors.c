/* A process that may open few files: requests wait for open ones to end, and none fails.  The server is a
 * process of its own, without that limit. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "http/helpers/server.h"

#define N 150

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)r, (void)arg;
    a->delay_ms = 300;
    a->body     = "some bytes";
    a->len      = 10;
}

static pid_t serve(unsigned *port)
{
    int fds[2];
    if (pipe(fds) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        struct server *s = server_start(handle, NULL);
        *port            = s ? server_port(s) : 0;
        if (write(fds[1], port, sizeof *port) != (ssize_t)sizeof *port)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(fds[1]);
    if (read(fds[0], port, sizeof *port) != (ssize_t)sizeof *port)
        *port = 0;
    (void)close(fds[0]);
    return pid;
}

/* Without a free file not even a thread to send requests starts; with one again it does. */
static void no_file_at_all(struct bkt_store *st)
{
    struct rlimit  now, none;
    struct bkt_req r   = {.op = BKT_GET, .key = "k", .len = BKT_WHOLE};
    struct bkt_err err = {0};
    (void)getrlimit(RLIMIT_NOFILE, &now);
    none          = now;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0, "the limit");
    int rc = bkt_store_perform(st, &r, 1, &err);
    CHECK(rc == BKT_ENET && strstr(first_line(&err), "I/O thread cannot be started"), "%s (%s)", bkt_err_text(rc), first_line(&err));
    CHECK(strstr(first_line(&err), "after 0 retries in 0 ms"), "%s", first_line(&err));
    CHECK(!strstr(first_line(&err), "network"), "no advice where nothing was sent: %s", first_line(&err));
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0, "the limit");
    bkt_req_fini(&r);
}

int main(void)
{
    unsigned       port = 0;
    pid_t          pid  = serve(&port);
    struct rlimit  few  = {30, 30};
    struct bkt_req r[N];
    struct bkt_err err = {0};
    char           uri[60];
    if (pid < 0 || !port || setrlimit(RLIMIT_NOFILE, &few) < 0)
        return 1;
    (void)snprintf(uri, sizeof uri, "http://127.0.0.1:%u", port);
    struct bkt_store *st = open_store(uri, "connections=64;test.hedge=0");
    no_file_at_all(st);
    memset(r, 0, sizeof r);
    for (int i = 0; i < N; i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "k", .len = BKT_WHOLE};
    int rc = bkt_store_perform(st, r, N, &err);
    CHECK(rc == BKT_OK, "%s (%s)", bkt_err_text(rc), first_line(&err));
    for (int i = 0; i < N; i++) {
        CHECK(rc < 0 || r[i].n == 10, "request %d: %lu bytes", i, (unsigned long)r[i].n);
        bkt_req_fini(&r[i]);
    }
    bkt_store_close(st);
    bkt_store_shutdown();
    (void)kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    return failures != 0;
}
