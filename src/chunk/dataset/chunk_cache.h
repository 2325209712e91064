/* Fetched and decoded data, kept per open domain within setting chunk_cache; the least recently used is
 * evicted first.
 *
 * One ordered tree holds both kinds.  Their `space` differs, a number per dataset version or per file:
 *   decoded chunks    pos = row-major place in the chunk grid; found exactly
 *   ranges of files   pos = offset in the file; found by coverage
 * Entries are immutable once put, shared and refcounted: a reader's entry stays valid when it is evicted. */
#pragma once

#include <stdatomic.h>

#include "schema/domain/domain.h"

struct bkt_cache;
struct bkt_cache_name; /* holds the number of a name */

struct bkt_cache_entry {
    unsigned char *data;    /* len bytes; NULL when missing */
    size_t         len;
    bool           missing; /* a chunk that isn't stored */
    size_t        *starts;  /* variable-size elements: n_starts+1 offsets in data; else NULL */
    size_t         n_starts;
    bool           pooled;  /* data is scratch memory */
    /* used by the cache only */
    atomic_uint        refs;
    uint64_t           space, pos;
    struct bkt_cache_entry *kid[2], *prev, *next;
    uint32_t           prio;
    bool               kept;
};

/** A new entry of @p len bytes, owned by the caller and not yet in any cache; NULL: out of memory. */
struct bkt_cache_entry *bkt_cache_entry_new(size_t len);
/** A new entry in scratch memory, however short: for bytes that no cache will keep. */
struct bkt_cache_entry *bkt_cache_entry_scratch(size_t len);
struct bkt_cache_entry *bkt_cache_entry_retain(struct bkt_cache_entry *e); /* returns e */
void               bkt_cache_entry_release(struct bkt_cache_entry *e); /* NULL is fine */
/** A new entry for @p n elements of variable size: with room in `starts`, without data. */
struct bkt_cache_entry *bkt_cache_entry_indexed(size_t n);
static inline void bkt_cache_entry_releasep(struct bkt_cache_entry **e)
{
    bkt_cache_entry_release(*e);
}
/** Move an entry out of a variable: *e becomes NULL. */
static inline struct bkt_cache_entry *bkt_cache_entry_take(struct bkt_cache_entry **e)
{
    struct bkt_cache_entry *taken = *e;
    *e = NULL;
    return taken;
}

/** The domain's cache, made on first use; NULL: out of memory.  Freed with the domain. */
struct bkt_cache *bkt_cache_of(struct bkt_domain *dom);
/** The number of a name; 0: out of memory (then nothing is cached under it).  The number stays the same as
 *  long as a holder or entries exist; later it may be another one, but never the number of another name.
 *  @p hold gets the holder, for bkt_cache_release(); the previous content of @p hold is released. */
uint64_t bkt_cache_space(struct bkt_cache *c, const void *name, size_t n, struct bkt_cache_name **hold);
/** Release a holder of a name.  *hold may be NULL, and becomes NULL. */
void bkt_cache_release(struct bkt_cache *c, struct bkt_cache_name **hold);
/** Number of remembered names: at most twice those that have holders or entries, or 1024; for tests. */
size_t   bkt_cache_n_names(struct bkt_cache *c);
uint64_t bkt_cache_limit(const struct bkt_cache *c); /* bytes: setting chunk_cache */
/** Notes of read-ahead about the domain; only for the thread that holds `busy`. */
struct bkt_ahead_note {
    /* HDF5 calls from one thread at a time; read-ahead learns nothing from reads of other threads */
    atomic_flag   busy;
    struct bkt_id last; /* last dataset read ahead of a walk over a group */
    size_t        skip; /* reads until the next look */
};
/** The notes of this cache; never NULL. */
struct bkt_ahead_note *bkt_cache_ahead(struct bkt_cache *c);

/** A layer of written elements over the stored chunks (write_cache.h), kept per domain beside the cache. */
struct bkt_dsetio;
struct bkt_target;
struct bkt_overlay {
    void *(*make)(struct bkt_domain *dom); /* NULL: out of memory */
    void (*release)(void *layer);          /* called when the domain closes */
    /** The elements of a written chunk, retained; NULL: it wasn't written. */
    struct bkt_cache_entry *(*get)(const struct bkt_dsetio *io, const uint64_t *coord);
    /** Complete the chunks of the target that were only partly written. */
    int (*prepare)(struct bkt_target *t, struct bkt_err *err);
    /** Set the current cache numbers of the dataset's chunks.  False: none of its chunks was written, so
     *  the layer has nothing for its reads. */
    bool (*space)(struct bkt_dsetio *io);
};
/** The existing layer, or else a new layer by @p made.  NULL: there is no layer, and @p made is NULL or has
 *  failed. */
void *bkt_cache_layer(struct bkt_cache *c, const struct bkt_overlay *made, struct bkt_domain *dom);
/** The table of the existing layer; NULL: there is no layer, or @p c is NULL. */
const struct bkt_overlay *bkt_cache_overlay(struct bkt_cache *c);
/** Whether any dataset of the domain was ever written to by this process, so that chunks may wait. */
static inline bool bkt_chunks_written(struct bkt_domain *dom)
{
    struct bkt_cache *c = bkt_domain_attached(dom);
    return c && bkt_cache_overlay(c);
}

/** Keep @p e under (space, pos).  The caller keeps its own reference.  Does nothing if @p e is larger than
 *  the cache. */
void bkt_cache_put(struct bkt_cache *c, uint64_t space, uint64_t pos, struct bkt_cache_entry *e);
/** The entry at exactly (space, pos), retained; or NULL. */
struct bkt_cache_entry *bkt_cache_get(struct bkt_cache *c, uint64_t space, uint64_t pos);
/** An entry that holds bytes pos .. pos+len-1, retained, from byte *delta on; put together when several
 * entries cover them; or NULL. */
struct bkt_cache_entry *bkt_cache_cover(struct bkt_cache *c, uint64_t space, uint64_t pos, size_t len,
                                        size_t *delta);
/** Length of the entry that holds byte pos-1; 0: no entry. */
uint64_t           bkt_cache_before(struct bkt_cache *c, uint64_t space, uint64_t pos);
/** Forget the entries of the space that begin at one of from .. from+n-1: their source has changed. */
void bkt_cache_forget_range(struct bkt_cache *c, uint64_t space, uint64_t from, uint64_t n);
/** Forget all entries.  Names keep their numbers, and the layer stays. */
void bkt_cache_forget_all(struct bkt_cache *c);
