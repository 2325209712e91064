/* A clock that only goes forward. */
#ifndef BKT_CLOCK_H
#define BKT_CLOCK_H

#include <time.h>

/** Whole seconds since some moment before the process began. */
static inline time_t bkt_seconds_now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

#endif
