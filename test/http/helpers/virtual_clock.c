/* Time that a busy machine doesn't take: for tests linked with --wrap=clock_gettime,--wrap=epoll_wait.
 *
 * The monotonic clock stands still, except while the engine's thread waits for events, none come, and no
 * server (server.h) has work.  Then it advances by the time waited.  A thread of a client or a server that
 * isn't scheduled for two seconds costs no time; a delay of a server takes its exact time.  In a forked child
 * time is real. */
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "http/helpers/server.h"

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_epoll_wait(int fd, struct epoll_event *events, int most, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout);

static pid_t ours;

static void begin(void)
{
    struct timespec t = {0, 0};
    (void)__real_clock_gettime(CLOCK_MONOTONIC, &t);
    server_clock_start((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
    ours = getpid();
}

static bool is_virtual(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, begin);
    return getpid() == ours;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_MONOTONIC || !is_virtual())
        return __real_clock_gettime(id, t);
    uint64_t ms = server_clock();
    *t          = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    return 0;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
    if (timeout == 0 || !is_virtual())
        return __real_epoll_wait(fd, events, most, timeout);
    int wait = server_next(timeout < 0 ? 60000 : timeout);
    int n    = __real_epoll_wait(fd, events, most, wait ? wait : 1);
    if (n != 0 || !server_quiet())
        return n;
    n = __real_epoll_wait(fd, events, most, 0); /* bytes that a server sent before it was quiet */
    if (n == 0)
        server_pass((unsigned)wait);
    return n;
}
