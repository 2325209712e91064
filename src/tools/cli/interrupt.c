#include "tools/cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int (*also)(struct bkt_err *err);

static void stop(int sig)
{
    static const char text[] = "\nh5bucket: stopping; press Ctrl-C again to stop at once\n";
    caught                   = sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

void interrupt_catch(void)
{
    struct sigaction a = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART}, before;
    (void)sigemptyset(&a.sa_mask);
    (void)sigaction(SIGINT, &a, NULL);
    (void)sigaction(SIGTERM, &a, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
        (void)sigaction(SIGHUP, &a, NULL);
}

void interrupt_also(int (*fn)(struct bkt_err *err))
{
    also = fn;
}

void interrupt_ignore(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

int interrupt_check(struct bkt_err *err)
{
    BKT_FAIL_IF(err, caught, BKT_ECANCEL, "stopped by %s",
                caught == SIGTERM  ? "SIGTERM"
                : caught == SIGHUP ? "SIGHUP"
                                   : "Ctrl-C");
    return also ? also(err) : BKT_OK;
}

int interrupt_status(void) { return caught ? 128 + caught : 0; }
