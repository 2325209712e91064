/* Random bytes of the system, for ids, names, jitter and seeds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Fill @p n bytes, at most 256.  False: the system has no random bytes. */
bool bkt_random_bytes(void *p, size_t n);
/** 64 random bits.  If the system has no random bytes, they come from the clock.  So they serve for names and
 *  pauses, and not for ids that must be unique. */
uint64_t bkt_random(void);
