/* To be preloaded: this machine's clock is $BKT_TEST_DAYS days ahead. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    int (*next)(clockid_t, struct timespec *);
    const char *days = getenv("BKT_TEST_DAYS");
    void       *p    = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&next, &p, sizeof next);
    int rc = next(clock, t);
    if (clock == CLOCK_REALTIME && days)
        t->tv_sec += 86400 * strtol(days, NULL, 10);
    return rc;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
