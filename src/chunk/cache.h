/* What was fetched and decoded, kept per open domain within setting chunk_cache, least recently used out first.
 *
 * One ordered tree holds both kinds, told apart by `space`, a number per dataset version or per file:
 *   decoded chunks    pos = row-major place in the chunk grid; found exactly
 *   ranges of files   pos = offset in the file; found by coverage
 * Entries are immutable once put, shared and refcounted: what a reader holds stays valid when evicted. */
#ifndef BKT_CACHE_H
#define BKT_CACHE_H

#include <stdatomic.h>

#include "domain.h"

struct bkt_cache;

struct bkt_centry {
    unsigned char *data;    /* len bytes; NULL when missing */
    size_t         len;
    bool           missing; /* a chunk that isn't stored */
    size_t        *starts;  /* variable-size elements: n_starts+1 offsets in data; else NULL */
    size_t         n_starts;
    bool           pooled;  /* data is scratch memory */
    /* the cache's own */
    atomic_uint        refs;
    uint64_t           space, pos;
    struct bkt_centry *kid[2], *prev, *next;
    uint32_t           prio;
    bool               kept;
};

/** An entry of the caller's with @p len bytes of room, not yet in any cache; NULL: out of memory. */
struct bkt_centry *bkt_centry_new(size_t len);
/** The same in scratch memory, however short: for bytes that no cache will keep. */
struct bkt_centry *bkt_centry_scratch(size_t len);
struct bkt_centry *bkt_centry_retain(struct bkt_centry *e);
void               bkt_centry_release(struct bkt_centry *e); /* NULL is fine */

/** The domain's cache, made on first use; NULL: out of memory.  Dies with the domain. */
struct bkt_cache *bkt_cache_of(struct bkt_domain *dom);
/** The number that stands for a name; 0: out of memory (then nothing is cached under it).  It is the same for who asks
 *  again as long as somebody holds it or entries are kept under it; later it may be another, never one that stood for
 *  something else.  @p hold gets what holds it, for bkt_cache_let_go(); what it held before is let go. */
struct bkt_cname;
uint64_t bkt_cache_space(struct bkt_cache *c, const void *name, size_t n, struct bkt_cname **hold);
void     bkt_cache_let_go(struct bkt_cache *c, struct bkt_cname **hold); /* *hold may be NULL, and is then */
/** How many names are remembered: at most twice those that are held or have entries, or 1024; for tests. */
size_t   bkt_cache_n_names(struct bkt_cache *c);
uint64_t bkt_cache_limit(const struct bkt_cache *c);
/** What reading ahead remembers of the domain; for who holds `busy`. */
struct bkt_ahead_note {
    atomic_flag   busy; /* HDF5 calls us from one thread at a time; what others do is not learned from */
    struct bkt_id last; /* dataset read ahead of a walk over a group */
    size_t        skip; /* reads until it is worth looking again */
};
/** The cache's own; never NULL. */
struct bkt_ahead_note *bkt_cache_ahead(struct bkt_cache *c);

/** What else is kept per domain beside the cache (dirty.h): the one there is, or what @p make(arg) gives; @p release is
 *  called when the domain closes.  NULL: none, @p make being NULL or having failed. */
void *bkt_cache_beside(struct bkt_cache *c, void *(*make)(void *arg), void *arg, void (*release)(void *what));

/** Keep @p e under (space, pos); the caller keeps its own reference.  Does nothing when it is larger than the cache. */
void bkt_cache_put(struct bkt_cache *c, uint64_t space, uint64_t pos, struct bkt_centry *e);
/** The entry at exactly (space, pos), retained; or NULL. */
struct bkt_centry *bkt_cache_get(struct bkt_cache *c, uint64_t space, uint64_t pos);
/** An entry that holds bytes pos .. pos+len-1, retained, from byte *delta on; put together when several entries
 *  cover them; or NULL. */
struct bkt_centry *bkt_cache_cover(struct bkt_cache *c, uint64_t space, uint64_t pos, size_t len, size_t *delta);
/** Length of the entry that holds byte pos-1; 0: there is none. */
uint64_t           bkt_cache_before(struct bkt_cache *c, uint64_t space, uint64_t pos);
/** Drop the entries that begin at one of pos .. pos+len-1: what they were read from has changed. */
void               bkt_cache_forget(struct bkt_cache *c, uint64_t space, uint64_t pos, uint64_t len);
/** Let go of entries of the space at positions from .. from+n-1. */
void               bkt_cache_drop(struct bkt_cache *c, uint64_t space, uint64_t from, uint64_t n);
void               bkt_cache_clear(struct bkt_cache *c);

#endif
