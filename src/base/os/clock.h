/* Clocks: one that only goes forward, and the time of day. */
#pragma once

#include <stdint.h>
#include <time.h>

/** Whole seconds since some moment before the process began. */
static inline time_t bkt_seconds_now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/** As bkt_seconds_now(), in milliseconds; never 0. */
static inline uint64_t bkt_ms_now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

/** As bkt_seconds_now(), with the fraction of the second. */
static inline double bkt_clock_now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/** As bkt_clock_now(), also while the machine is suspended. */
static inline double bkt_clock_always(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/** Seconds since the epoch, for time stamps. */
static inline double bkt_time_of_day(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
