/* The sanitizer of this build: gcc defines macros, clang has __has_feature. */
#pragma once

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define BKT_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define BKT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(BKT_TSAN)
#define BKT_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(BKT_ASAN)
#define BKT_ASAN 1
#endif

#ifndef BKT_TSAN
#define BKT_TSAN 0
#endif
#ifndef BKT_ASAN
#define BKT_ASAN 0
#endif
