/* TLS: an unknown certificate is refused, without a second try; one that ca_bundle vouches for is accepted, if its name
 * is right.  The server is `openssl s_server`, which serves files by HTTP/1.0. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char dir[] = "/tmp/bkt-tls-XXXXXX";

static int shell(const char *text)
{
    char cmd[600];
    (void)snprintf(cmd, sizeof cmd, "cd %s && %s", dir, text);
    return system(cmd);
}

/* Gives back its pid and port. */
static pid_t serve(unsigned *port)
{
    int fds[2];
    if (pipe(fds) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)dup2(fds[1], 1);
        if (!freopen("/dev/null", "w", stderr))
            _exit(127);
        (void)close(fds[0]);
        if (chdir(dir) == 0)
            (void)execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-WWW", "-cert", "cert.pem", "-key",
                         "key.pem", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    FILE *f = fdopen(fds[0], "r");
    char  line[200];
    *port = 0;
    while (f && !*port && fgets(line, sizeof line, f))
        if (sscanf(line, "ACCEPT 127.0.0.1:%u", port) != 1)
            *port = 0;
    /* the pipe stays open: the server goes on writing to it */
    return pid;
}

static void check(const char *what, const char *host, unsigned port, const char *settings, int want, const char *says)
{
    char uri[100];
    (void)snprintf(uri, sizeof uri, "https://%s:%u", host, port);
    struct bkt_store *st  = open_store(uri, settings);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    (void)stats_since();
    int rc = bkt_store_get(st, "file", 0, BKT_WHOLE, &out, &err);
    CHECK(rc == want, "%s: %s (%s)", what, bkt_err_text(rc), first_line(&err));
    CHECK(rc < 0 || strcmp(bkt_buf_str(&out), "over TLS\n") == 0, "%s: '%s'", what, bkt_buf_str(&out));
    CHECK(!says || strstr(first_line(&err), says), "%s: %s", what, first_line(&err));
    CHECK(stats_since().attempts == 1, "%s: not one attempt", what);
    bkt_buf_fini(&out);
    bkt_store_close(st);
}

int main(void)
{
    char ca[100];
    if (system("openssl version >/dev/null 2>&1") != 0) {
        (void)printf("skipped: no openssl program\n");
        return 77;
    }
    if (!mkdtemp(dir) ||
        shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
              "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem >/dev/null 2>&1 && echo 'over TLS' >file"))
        return 1;
    unsigned port;
    pid_t    pid = serve(&port);
    if (pid < 0 || !port) {
        (void)printf("the server does not start\n");
        return 1;
    }
    (void)snprintf(ca, sizeof ca, "retries=1;ca_bundle=%s/cert.pem", dir);
    check("a certificate that we trust", "localhost", port, ca, BKT_OK, NULL);
    check("the wrong name", "127.0.0.1", port, ca, BKT_ENET, "ca_bundle");
    check("an unknown certificate", "localhost", port, "retries=3", BKT_ENET, "ca_bundle");
    check("no such CA file", "localhost", port, "ca_bundle=/nonexistent/ca.pem", BKT_ENET, "ca_bundle");
    bkt_store_shutdown();
    (void)kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    (void)shell("rm -f key.pem cert.pem file");
    (void)rmdir(dir);
    return failures != 0;
}
