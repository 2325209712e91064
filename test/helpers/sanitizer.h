/* The sanitizer that a test was compiled with, and fewer repetitions under one. */
#ifndef BKT_TEST_SANITIZER_H
#define BKT_TEST_SANITIZER_H

#include "../../src/base/os/sanitizer.h" /* some programs here see no layer's include path */

#define UNDER_TSAN BKT_TSAN
#define UNDER_ASAN BKT_ASAN

/* A number of repetitions.  A sanitizer makes each repetition 10 to 40 times as slow, and finds faults with
 * fewer of them.  ./check --all makes all of them. */
#ifdef BKT_NOT_FEWER
#define FEWER(n, slow) (n)
#else
#define FEWER(n, slow) (UNDER_TSAN || UNDER_ASAN ? (slow) : (n))
#endif

#endif
