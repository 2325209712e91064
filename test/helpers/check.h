/* Checks and ends of all test programs that do not use cmocka.
 *
 * CHECK prints the failed condition and the actual value, and goes on; main() returns whether there were
 * failures.  REQUIRE ends the program with 1 instead.  A test that can't run returns skip("the reason"), which
 * CTest shows as skipped.  In a forked child `failures` counts on from the parent's. */
#ifndef BKT_TEST_CHECK_H
#define BKT_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/** Failed checks of this process, those of all its files together. */
__attribute__((weak)) int failures;

/** Failures that are printed; later ones are only counted. */
enum { CHECKS_PRINTED = 100 };

/* On stderr, which keeps no buffer: a child that ends by _exit() loses no text. */
#define CHECK_PRINT(cond, ...)                                                                               \
    do {                                                                                                     \
        (void)fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, cond);                                      \
        (void)fprintf(stderr, __VA_ARGS__);                                                                  \
        (void)fputc('\n', stderr);                                                                           \
    } while (0)

#define CHECK(cond, ...)                                                                                     \
    do {                                                                                                     \
        if (!(cond) && failures++ < CHECKS_PRINTED)                                                          \
            CHECK_PRINT(#cond, __VA_ARGS__);                                                                 \
    } while (0)

#define REQUIRE(cond, ...)                                                                                   \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            CHECK_PRINT(#cond, __VA_ARGS__);                                                                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/** The exit code of a test that can't run here. */
static inline int skip(const char *why)
{
    (void)printf("skipped: %s\n", why);
    return 77;
}

#endif
