/* A check that prints the expected value and goes on; main() returns whether there were failures. */
#ifndef BKT_TEST_CHECK_H
#define BKT_TEST_CHECK_H

#include <stdio.h>

static int failures __attribute__((unused));

/* On stderr: nothing is lost where a child ends by _exit(). */
#define CHECK(cond, ...)                                                                                     \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            failures++;                                                                                      \
            (void)fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);                                 \
            (void)fprintf(stderr, __VA_ARGS__);                                                              \
            (void)fputc('\n', stderr);                                                                       \
        }                                                                                                    \
    } while (0)

#endif
