/* For programs whose calls must all succeed: a failing call is printed with HDF5's error stack, and ends the
 * program. */
#ifndef BKT_MUST_SUCCEED_H
#define BKT_MUST_SUCCEED_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "helpers/check.h"

static inline void die(const char *what)
{
    (void)fprintf(stderr, "%s failed\n", what);
    (void)H5Eprint2(H5E_DEFAULT, stderr);
    (void)fflush(NULL);
    _exit(1);
}
static inline int64_t try_it(int64_t got, const char *what)
{
    if (got < 0)
        die(what);
    return got;
}
#define TRY(call) try_it((call), #call)

/* Whether a long test takes a sample (sample.py). */
static inline bool sampled(void)
{
    const char *s = getenv("BKT_SAMPLE");
    return s && *s;
}

#endif
