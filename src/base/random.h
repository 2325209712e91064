/* Random bytes of the system, for ids, names, jitter and seeds; random pauses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Fill @p n bytes, at most 256.  False: the system has no random bytes. */
bool bkt_random_bytes(void *p, size_t n);
/** 64 random bits.  If the system has no random bytes, they come from the clock.  So they serve for names and
 *  pauses, and not for ids that must be unique. */
uint64_t bkt_random(void);
/** Sleep for a random time, since another writer was first: of writers that all try again at once, all but
 * one lose.  Spread over eight tries, about eight of them succeed, so that 16 writers need two such spans.
 * The longest time is at most 5 s: after a stop of the store, a writer must not be late.
 *  @param losses   in a row, before this one; the first three double the longest time
 *  @param seconds  duration of a try; a store is never taken to be faster than a directory */
void bkt_random_pause(unsigned losses, double seconds);
