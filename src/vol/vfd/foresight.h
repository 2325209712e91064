/* What libhdf5 will ask for next in a remote file, fetched before it asks.
 *
 * The structures that arrive are looked at (format_scan.h), and those that they name are fetched side by
 * side, as far as the program's behaviour makes them likely.  Guesses have a budget for each relation (a
 * group's members, nodes of an index, ...): it grows with the guesses that were asked for, and shrinks when
 * others were dropped unasked.  A program that opens one object by its path gets that path; one that walks
 * over two neighbours gets the others, too. */
#ifndef FORESIGHT_H
#define FORESIGHT_H

#include "vol/vfd/format_scan.h"
#include "vol/vfd/page_cache.h"

struct foresight;

/** What libhdf5 says that it reads; its other types are FORE_OTHER. */
enum fore_type { FORE_SUPER, FORE_HEADER, FORE_RAW, FORE_OTHER };

/** @param cache  borrowed for its life
 *  @param size   of the file, bytes
 *  @return NULL: out of memory */
struct foresight *foresight_new(struct page_cache *cache, uint64_t size);
void foresight_free(struct foresight *f);

/** Read bytes for libhdf5.  off + len is within the file. */
BKT_NODISCARD int foresight_read(struct foresight *f, enum fore_type type, uint64_t off, uint64_t len,
                                 void *to, struct bkt_err *err);

/** Sums of this process, for tests. */
struct fore_counts {
    uint64_t known, unknown; /* structures that libhdf5 asked for: found before, and the others */
    uint64_t round_trips, requests, bytes; /* of the files that were closed; page_cache.h */
};
struct fore_counts foresight_counts(void);

#endif
