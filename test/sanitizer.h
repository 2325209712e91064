/* Which sanitizer a test was compiled with: gcc defines macros, clang has __has_feature. */
#ifndef BKT_TEST_SANITIZER_H
#define BKT_TEST_SANITIZER_H

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(UNDER_TSAN)
#define UNDER_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(UNDER_ASAN)
#define UNDER_ASAN 1
#endif

#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

/* A number of repetitions: a sanitizer makes each 10 to 40 times as slow, and finds faults with fewer of them.
 * ./check --all makes all of them. */
#ifdef BKT_NOT_FEWER
#define FEWER(n, slow) (n)
#else
#define FEWER(n, slow) (UNDER_TSAN || UNDER_ASAN ? (slow) : (n))
#endif

#endif
