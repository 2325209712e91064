/* Pages of one file in a store, in memory or on their way.  One thread uses a cache at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "storage/node_reads.h"
#include "storage/store.h"

#define BKT_PAGE_SIZE  ((uint64_t)4096)
#define BKT_PAGE_NONE  UINT32_MAX
#define BKT_PAGE_KINDS 16 /* of guesses; numbered by the caller */

struct bkt_page_cache;

struct bkt_page_counts {
    uint64_t requests, bytes;
    uint64_t unasked[BKT_PAGE_KINDS]; /* bytes of guesses that the program has not asked for yet, by kind */
    uint64_t wasted[BKT_PAGE_KINDS];  /* bytes of them that were dropped unasked */
    unsigned under_way;           /* requests */
    unsigned round_trips; /* the longest chain of requests: each began after the request before it had
                             arrived */
};

/** Make the cache of one file's pages.
 *  @param st, key, version  borrowed for the cache's life; an answer of another version is an error
 *  @param size   of the file, bytes
 *  @param limit  bytes of pages to keep, at most
 *  @return NULL: out of memory */
struct bkt_page_cache *bkt_page_cache_new(struct bkt_store *st, const char *key, struct bkt_version *version,
                                          uint64_t size, uint64_t limit);
/** Share requests with other processes of this node from now on.  @p n: borrowed for the cache's life */
void bkt_page_cache_share(struct bkt_page_cache *c, struct bkt_node_reads *n);
/** Waits for all requests. */
void bkt_page_cache_free(struct bkt_page_cache *c);

/** Borrowed; they change with every call. */
const struct bkt_page_counts *bkt_page_cache_counts(const struct bkt_page_cache *c);

/** Keep the file's first bytes, which the caller has read.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_page_cache_put_first(struct bkt_page_cache *c, const unsigned char *p, uint64_t n);

/** Begin to fetch all pages of off .. +len-1 that are neither here nor on their way.  BKT_ENOMEM.
 *  @param guess  the program has not asked for the pages: a failure is not reported, and the program's own
 *                read asks again */
BKT_NODISCARD int bkt_page_cache_fetch(struct bkt_page_cache *c, uint64_t off, uint64_t len, bool guess);
/** Count pages of a guess as unasked, until the program asks for them.  Other pages that the same request
 *  brings are not counted. */
void bkt_page_cache_expect(struct bkt_page_cache *c, uint64_t off, uint64_t len, unsigned kind);

enum bkt_page_state { BKT_PAGE_HERE, BKT_PAGE_COMING, BKT_PAGE_ABSENT };
/** The state of a range: that of its first page that is not here. */
enum bkt_page_state bkt_page_cache_state(struct bkt_page_cache *c, uint64_t off, uint64_t len);

/** Attach a number to the request that brings the first missing page of the range, which is BKT_PAGE_COMING.
 * When the request arrives, the number is reported (BKT_PAGE_NONE: no number is reported).  @p next: the
 * number that waits there already, or BKT_PAGE_NONE; the caller keeps the chain. */
void bkt_page_cache_chain(struct bkt_page_cache *c, uint64_t off, uint64_t len, uint32_t number,
                          uint32_t *next);

/** Called with the first number of a chain, after the request has brought its pages or has failed. */
typedef void bkt_page_arrived(void *arg, uint32_t number);

/** Take over the requests that have arrived.  Does not wait. */
void bkt_page_cache_poll(struct bkt_page_cache *c, bkt_page_arrived *arrived, void *arg);

/** Wait until off .. +len-1 is here; absent pages are fetched.  The program asked for it: its pages no longer
 *  count as guesses. */
BKT_NODISCARD int bkt_page_cache_ask(struct bkt_page_cache *c, uint64_t off, uint64_t len,
                                     bkt_page_arrived *arrived, void *arg, struct bkt_err *err);

/** Copy bytes from @p off on that are here without a gap, at most @p len.  Returns their number. */
uint64_t bkt_page_cache_copy(struct bkt_page_cache *c, uint64_t off, uint64_t len, void *to);
/** The bytes from @p off on in place, until the cache is asked for something else.  NULL: not all are here,
 * or they came by several requests. */
const void *bkt_page_cache_view(const struct bkt_page_cache *c, uint64_t off, uint64_t len);

/** The number of pages of this MiB of the file that the program has asked for. */
unsigned bkt_page_cache_density(const struct bkt_page_cache *c, uint64_t off);
