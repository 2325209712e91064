/* The clock of all programs here. */
#pragma once

#include <time.h>

/** Seconds of a clock that never goes back. */
static inline double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
