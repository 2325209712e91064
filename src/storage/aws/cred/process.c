/* credential_process: a program of the user that prints credentials as JSON.  Source: "Process credential
 * provider" in AWS's SDK guide.  No shell is involved. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/text/utf8.h"
#include "base/trace.h"
#include "storage/aws/cred/cred_impl.h"
#include "storage/stats.h"

#define TIMEOUT_MS 60000U /* the program may ask its user for a code.  botocore waits for ever, which a
                             background program must not do */
#define END_MS     5000U  /* time to end after it closed its output */
#define MAX_OUTPUT 65536U /* credentials take a few KiB */

/* ---- splitting ---- */

/* Copy one word from *p on, with its NUL, to *out, and advance both.  False: a quote does not end. */
static bool take_word(const char **p, char **out)
{
    char quote = 0;
    for (; **p && (quote || !strchr(" \t\r\n", **p)); (*p)++) {
        char c = **p;
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            continue;
        }
        /* within "…" a backslash quotes only special characters, as in a shell */
        if (c == '\\' && quote != '\'' && (*p)[1] && (!quote || strchr("\"\\$`", (*p)[1])))
            c = *++(*p);
        *(*out)++ = c;
    }
    *(*out)++ = 0;
    return !quote;
}

int bkt_cred_split(const char *command, char ***argv, struct bkt_err *err)
{
    size_t n = strlen(command);
    size_t most = n / 2 + 2; /* words, plus the NULL */
    char **v = malloc(most * sizeof *v + 2 * n + 2);
    BKT_NEED(err, v);
    char *out = (char *)(v + most);
    size_t words = 0;
    const char *p = command + strspn(command, " \t\r\n");
    while (*p) {
        v[words++] = out;
        if (!take_word(&p, &out)) {
            free(v);
            BKT_FAIL(err, BKT_EINVAL, "credential_process: a quote does not end");
        }
        p += strspn(p, " \t\r\n");
    }
    v[words] = NULL;
    *argv = v;
    if (words)
        return BKT_OK;
    free(v);
    *argv = NULL;
    BKT_FAIL(err, BKT_EINVAL, "credential_process is empty");
}

/* ---- running ---- */

struct child {
    pid_t pid;
    int fd[2]; /* its stdout and stderr; -1: closed */
    struct bkt_buf out[2];
};

static void child_fini(struct child *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->fd[i] >= 0)
            (void)close(c->fd[i]);
        bkt_secret_fini(&c->out[i]);
    }
}

static int spawn_with(struct child *c, char **argv, int out, int errors)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigemptyset(&all);
    /* threads of this library block signals, and programs ignore SIGPIPE; the child must inherit neither */
    (void)sigaddset(&all, SIGPIPE);
    (void)sigaddset(&all, SIGCHLD);
    if (posix_spawn_file_actions_init(&fa) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&at) != 0) {
        (void)posix_spawn_file_actions_destroy(&fa);
        return ENOMEM;
    }
    int e = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    e = e ? e : posix_spawn_file_actions_adddup2(&fa, out, 1);
    e = e ? e : posix_spawn_file_actions_adddup2(&fa, errors, 2);
    e = e ? e : posix_spawnattr_setsigmask(&at, &none);
    e = e ? e : posix_spawnattr_setsigdefault(&at, &all);
    e = e ? e : posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    e = e ? e : posix_spawnp(&c->pid, argv[0], &fa, &at, argv, environ);
    (void)posix_spawnattr_destroy(&at);
    (void)posix_spawn_file_actions_destroy(&fa);
    return e;
}

static int start(struct child *c, char **argv, struct bkt_err *err)
{
    int out[2], errors[2];
    BKT_FAIL_IF(err, pipe2(out, O_CLOEXEC) < 0, BKT_EIO, "credential_process: pipe: %s",
                strerrordesc_np(errno));
    if (pipe2(errors, O_CLOEXEC) < 0) {
        (void)close(out[0]);
        (void)close(out[1]);
        BKT_FAIL(err, BKT_EIO, "credential_process: pipe: %s", strerrordesc_np(errno));
    }
    int e = spawn_with(c, argv, out[1], errors[1]);
    (void)close(out[1]);
    (void)close(errors[1]);
    c->fd[0] = out[0];
    c->fd[1] = errors[0];
    BKT_FAIL_IF(err, e, BKT_EIO, "cannot run %.200s: %s", argv[0], strerrordesc_np(e));
    return BKT_OK;
}

/* Read the available output.  Keep only as much of stderr as a message needs. */
static int drain(struct child *c, int i, struct bkt_err *err)
{
    char part[2048];
    ssize_t n = read(c->fd[i], part, sizeof part);
    int rc = BKT_OK;
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        (void)close(c->fd[i]);
        c->fd[i] = -1;
    } else if (n > 0 && c->out[i].len + (size_t)n > MAX_OUTPUT) {
        rc = BKT_ERR(err, BKT_EFORMAT, "more than %u bytes of output", MAX_OUTPUT);
    } else if (n > 0 && (i == 0 || c->out[i].len < 1024) && bkt_secret_add(&c->out[i], part, (size_t)n) < 0) {
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    explicit_bzero(part, sizeof part);
    return rc;
}

/* Read until the child has closed its output.  A process that it left behind may keep stderr open. */
static int collect(const struct bkt_cred_place *pl, struct child *c, struct bkt_err *err)
{
    uint64_t until = bkt_ms_now() + TIMEOUT_MS;
    while (c->fd[0] >= 0) {
        struct pollfd p[2] = {{c->fd[0], POLLIN, 0}, {c->fd[1], POLLIN, 0}};
        BKT_FAIL_IF(err, atomic_load(&pl->cancel), BKT_ECANCEL, "cancelled");
        BKT_FAIL_IF(err, bkt_ms_now() >= until, BKT_ETIME, "no answer within %u s", TIMEOUT_MS / 1000);
        if (poll(p, 2, 50) < 0 && errno != EINTR) /* 50 ms: the longest delay before `cancel` is seen */
            BKT_FAIL(err, BKT_EIO, "poll: %s", strerrordesc_np(errno));
        for (int i = 0; i < 2; i++)
            if (c->fd[i] >= 0 && p[i].revents)
                BKT_PASS(drain(c, i, err));
    }
    return BKT_OK;
}

/* The child's exit status; -1: the application reaps all children itself. */
static int wait_for(const struct bkt_cred_place *pl, struct child *c, bool kill_it)
{
    uint64_t until = bkt_ms_now() + END_MS;
    for (;;) {
        int status;
        pid_t r = waitpid(c->pid, &status, WNOHANG);
        if (r == c->pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (r < 0 && errno != EINTR)
            return -1;
        if (kill_it || bkt_ms_now() > until || atomic_load(&pl->cancel))
            (void)kill(c->pid, SIGKILL);
        const struct timespec step = {0, 5000000}; /* 5 ms: most children end at once, or within some ms */
        (void)nanosleep(&step, NULL);
    }
}

static int run(const struct bkt_cred_place *pl, struct child *c, char **argv, struct bkt_err *err)
{
    BKT_PASS(start(c, argv, err));
    int rc = collect(pl, c, err);
    int status = wait_for(pl, c, rc < 0);
    if (rc < 0)
        return rc;
    if (status > 0) {
        char why[160];
        if (c->fd[1] >= 0) {
            struct pollfd p = {c->fd[1], POLLIN, 0};
            if (poll(&p, 1, 0) > 0)
                (void)drain(c, 1, NULL);
        }
        const char *said = bkt_buf_str(&c->out[1]);
        bkt_one_line(why, sizeof why, said, strcspn(said, "\r\n"));
        BKT_FAIL(err, BKT_EACCES, "%.100s ended with status %d%s%s", argv[0], status, *why ? ": " : "", why);
    }
    return BKT_OK;
}

int bkt_cred_from_process(struct bkt_cred_fetch *f, const char *command, const char *profile,
                          struct bkt_creds **out, struct bkt_err *err)
{
    BKT_CLEANUP(child_fini) struct child c = {.fd = {-1, -1}};
    BKT_CLEANUP(bkt_freep) char **argv = NULL;
    char source[200];
    (void)snprintf(source, sizeof source, "credential_process of profile %.100s", profile);
    f->asked = true;
    bkt_stats_add(BKT_STAT(cred_requests), 1);
    bkt_trace(BKT_TRACE_CRED, "running the %s", source);
    BKT_TRY(err, bkt_cred_split(command, &argv, err), "%s", source);
    BKT_TRY(err, run(f->place, &c, argv, err), "%s", source);
    return bkt_creds_from_json(c.out[0].ptr, c.out[0].len, "SessionToken", source, out, err);
}
