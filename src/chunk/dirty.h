/* Chunks that were written: kept per open domain within setting write_cache, dirty until they are stored, clean and
 * useful to readers and later writes after that.  Inside src/chunk.
 *
 * A chunk's elements are a struct bkt_centry, changed in place only while nobody else holds it: an encoder or a reader that
 * retained it sees one version.  `mask` has a bit for each element written since the chunk was last stored.  What is not in
 * the mask comes from the stored object ("base"), fetched when it is needed: to store a chunk of which only a part was
 * written, or to read it.
 *
 *   base     unknown   nobody looked
 *            absent    not stored (or believed so: then it is stored on condition that this is true)
 *            known     elements merged into e, etag says of which version
 *
 * One task at a time works on a chunk: loads its base, encodes, stores (wtask.c).  The lock guards everything here,
 * including the elements while they are changed; encoding and transfers run without it. */
#ifndef BKT_DIRTY_H
#define BKT_DIRTY_H

#include "dsetio.h"
#include "pool.h"
#include "write.h"

struct bkt_wtask;
struct bkt_dirty;

enum bkt_base { BKT_BASE_UNKNOWN, BKT_BASE_ABSENT, BKT_BASE_KNOWN };

/** Elements of variable size written over a chunk, until they are serialised. */
struct bkt_over {
    struct bkt_buf bytes;
    struct bkt_over_el {
        size_t at, n;
    } *el; /* chunk_elems; meaningful where the mask has a bit and `fresh` too */
    size_t    wasted; /* bytes that no element uses any more */
    uint64_t *fresh; /* bit per element: it is in here, not yet in e */
};

enum bkt_dlist_kind {
    BKT_LIST_IDLE, /* clean, or a task works on it */
    BKT_LIST_PART, /* to be stored, written in part */
    BKT_LIST_FULL, /* to be stored, wholly written */
    BKT_LISTS
};

/** A dataset that is written to. */
struct bkt_wset {
    struct bkt_dirty  *dirty;
    struct bkt_id      id;
    struct bkt_dsetio *io;      /* its own, which doesn't keep the domain open */
    struct bkt_map    *chunks;  /* coordinate -> struct bkt_dchunk */
    uint64_t           space, slice_space; /* what its chunks and parts of them are cached under from the first write on */
    uint64_t           space_dims[BKT_MAX_RANK]; /* the extent that both number chunks in */
    bool               is_new;  /* nothing is stored of it that we did not store ourselves */
    uint32_t          *few;     /* what we stored: hashes of coordinates; NULL: nothing, or `stored` has them */
    size_t             n_few, few_cap;
    uint64_t          *stored;  /* the same for many: a bit for each hash; NULL: none */
    unsigned           users;   /* plans of a write under way */
    uint64_t           cost;    /* bytes of memory, with io */
    uint64_t           serial;  /* of the write that asked for it last */
    bool               again;   /* chunks were written again just after they had been stored: none is stored early any more */
    bool               untrimmed; /* what a shrink has left couldn't be cleared up */
    uint64_t           known[BKT_MAX_RANK]; /* extent within which chunks may be stored */
};

struct bkt_dchunk {
    struct bkt_wset   *ws;
    struct bkt_dchunk *prev, *next; /* in its list: written longest ago first */
    struct bkt_centry *e;           /* elements; NULL: none yet */
    uint64_t          *mask;        /* chunk_elems bits; NULL: none */
    uint64_t           n_dirty;     /* bits set */
    bool               whole;       /* every element was written: no condition, no base */
    bool               complete;    /* all elements of e hold */
    bool               outdated;    /* not complete, but all elements of e held for a version that was stored before */
    enum bkt_dlist_kind list;       /* the one that it is in */
    enum bkt_base      base;
    char               etag[BKT_ETAG_MAX];
    struct bkt_over   *over;        /* variable-size types */
    struct bkt_buf     raw;         /* encoded by the program, to be stored as it is; e is what it decodes to, or NULL */
    bool               is_raw;
    struct bkt_wtask  *task;
    int                rc;          /* why it could not be stored (or loaded) */
    struct bkt_err    *err;
    uint64_t           early;       /* stored before a flush or the cache's filling asked for it: after so many flushes, plus 1 */
    uint64_t           cost;        /* bytes of memory counted */
    uint64_t           coord[];     /* ws->io->rank */
};

struct bkt_dlist { /* written longest ago first */
    struct bkt_dchunk *head, *tail;
};
struct bkt_dirty {
    pthread_mutex_t    lock;
    pthread_cond_t     wake;
    struct bkt_jobs    mine;     /* for the program's thread (struct bkt_pipeline, by_caller) */
    struct bkt_domain *dom;      /* not retained: it outlives us */
    struct bkt_cache  *cache;
    struct bkt_map    *sets;     /* dataset id -> struct bkt_wset */
    struct bkt_map *refs;        /* ids of datasets with references that were ever written to; NULL: none */
    struct bkt_dlist   list[BKT_LISTS];
    uint64_t           limit;    /* bytes */
    uint64_t           used;     /* by all chunks kept */
    uint64_t           n_dirty;  /* bytes of chunks to be stored and not under way */
    uint64_t           in_flight; /* bytes of chunks under way */
    size_t             n_tasks;
    uint64_t           n_events; /* tasks that have ended, or need less memory, ever */
    uint64_t           n_flushes;
    uint64_t           n_spaces;
    uint64_t           n_asked;  /* for sets, ever */
    size_t             trim_at;  /* so many sets are too many */
    bool               any_untrimmed; /* a set's */
    struct bkt_job     letting_go; /* counted in n_tasks */
    bool               is_letting_go;
    pid_t              pid;
};

/* ---- dirty.c, dirty_read.c; bkt_dchunk_reserve(): write.c ---- */
/** The domain's, made on first use when @p make; NULL: there is none, or out of memory. */
struct bkt_dirty *bkt_dirty_of(struct bkt_domain *dom, bool make);
/** The dataset's, made on first use; called with the lock held.  NULL: out of memory. */
struct bkt_wset *bkt_wset_of(struct bkt_dirty *d, const struct bkt_dsetio *io);
struct bkt_wset *bkt_wset_find(struct bkt_dirty *d, const struct bkt_id *id);
/** A dataset is written to: one with references is remembered, also when its set is let go.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_dirty_note_refs(struct bkt_dirty *d, const struct bkt_object *o);

/** The functions of others' filters as the dataset, opened anew, has them: the program registers and unregisters them as it likes;
 *  lock held, let go where there are tasks to wait for. */
void             bkt_wset_follow(struct bkt_wset *ws, const struct bkt_dsetio *io);
void             bkt_wset_respace(struct bkt_wset *ws); /* what was cached of it is no longer found */
void             bkt_wset_wait(struct bkt_wset *ws); /* for what is under way; lock held */
void             bkt_wset_drop(struct bkt_wset *ws); /* its chunks, written or not; waits for those under way */
void             bkt_wset_free(struct bkt_wset *ws); /* it is in no map any more */

/** Whether anything was stored of it by us. */
bool bkt_wset_any_stored(const struct bkt_wset *ws);
/** A chunk was stored: it may be there from now on. */
void bkt_wset_note_stored(struct bkt_wset *ws, const uint64_t *coord);

/** The chunk at @p coord (one number per dimension, in chunks), the set's own; NULL: nothing of it is in memory. */
struct bkt_dchunk *bkt_dchunk_find(const struct bkt_wset *ws, const uint64_t *coord);
/** Begin one that isn't there yet, without memory for its elements; the set's own.  BKT_ENOMEM. */
BKT_NODISCARD int  bkt_dchunk_make(struct bkt_wset *ws, const uint64_t *coord, struct bkt_dchunk **out, struct bkt_err *err);
/** What was written over a chunk that is on its way; NULL is fine. */
void               bkt_over_free(struct bkt_over *o);
void               bkt_dchunk_free(struct bkt_dchunk *c); /* only that; it is in no list any more */
/** Out of its list and map, freed.  No task works on it. */
void bkt_dchunk_drop(struct bkt_dchunk *c);
/** Its content is of no interest any more; no raw task works on it. */
void bkt_dchunk_clear(struct bkt_dchunk *c);
/** The chunk, made where needed; waits for room, and for a task that stores what the program encoded. */
BKT_NODISCARD int bkt_dchunk_reserve(struct bkt_wset *ws, const uint64_t *coord, struct bkt_dchunk **out, struct bkt_err *err);
/** Whether there is something to store. */
bool bkt_dchunk_is_dirty(const struct bkt_dchunk *c);
/** Put into the list that its state asks for, at its end, and count its memory anew: after each change. */
void bkt_dchunk_settle(struct bkt_dchunk *c);
/** Its elements, in memory that may be changed; made (not initialised) when there are none. */
BKT_NODISCARD int bkt_dchunk_open(struct bkt_dchunk *c, struct bkt_err *err);
/** Elements off .. off+n-1 are written. */
BKT_NODISCARD int bkt_dchunk_mark(struct bkt_dchunk *c, uint64_t off, uint64_t n, struct bkt_err *err);
/** Decode what the program encoded, and keep that beside it.  Lock held, let go of while others' filters are called: then no task may be
 *  at work on the chunk. */
BKT_NODISCARD int bkt_dchunk_decode_raw(struct bkt_dchunk *c, struct bkt_err *err);
/** What the program encoded becomes elements; lock held, let go of where that takes waiting or others' filters. */
BKT_NODISCARD int bkt_dchunk_unraw(struct bkt_dchunk *c, struct bkt_err *err);
/** Whether the elements that nobody wrote, in a chunk that isn't stored, have a value.  Rows of a chunk table that was to be made
 *  at the first read have none, but those beyond its extent don't matter. */
BKT_NODISCARD int bkt_dchunk_fill_check(const struct bkt_dchunk *c, struct bkt_err *err);
/** All that are marked: are they all there are?  Then it becomes whole. */
void bkt_dchunk_check_whole(struct bkt_dchunk *c);
/** Elements of the chunk that can ever be inside the dataset. */
uint64_t bkt_chunk_reach(const struct bkt_dsetio *io, const uint64_t *coord);
/** Clean chunks are let go, and the elements of what is encoded and under way, until @p need more bytes fit; false: they don't. */
bool bkt_dirty_make_room(struct bkt_dirty *d, uint64_t need);
void bkt_dchunk_note(struct bkt_dchunk *c, int rc, const struct bkt_err *err); /* its last failure; BKT_OK: none */

/* ---- merge.c, single.c ---- */
/** Put base's elements (NULL: what isn't stored reads as) where the masks have no bit; c is complete then. */
BKT_NODISCARD int bkt_dchunk_merge(struct bkt_dchunk *c, struct bkt_centry *base, struct bkt_err *err);
/** Variable-size: e becomes all elements, with what was written; needs a complete chunk or a whole one. */
BKT_NODISCARD int bkt_dchunk_serialise(struct bkt_dchunk *c, struct bkt_err *err);

/** All chunk objects within @p grid that are stored, in grid order. */
BKT_NODISCARD int bkt_chunk_list(struct bkt_dsetio *io, const uint64_t *grid, bkt_chunk_fn *each, void *arg, struct bkt_err *err);

/** The coordinates of all that are stored, wherever they lie, as they are listed; for version 1 with all that the bucket holds. */
BKT_NODISCARD int bkt_chunk_each_key(struct bkt_dsetio *io, int (*each)(const uint64_t *coord, void *arg), void *arg,
                                     struct bkt_err *err);

/* ---- stored.c: what a chunk object holds ---- */
/** Whether the bytes are the elements. */
bool bkt_stored_is_plain(const struct bkt_dsetio *io);
/** Fixed-size elements, chunk_bytes of them.  @p pipe: the dataset's own filters, or a copy of them. */
BKT_NODISCARD int bkt_stored_decode(const struct bkt_dsetio *io, const struct bkt_pipeline *pipe, const void *in, size_t n, void *dst,
                                    struct bkt_err *err);
/** Elements of either kind; @p stored may be taken over. */
BKT_NODISCARD int bkt_stored_read(const struct bkt_dsetio *io, struct bkt_buf *stored, struct bkt_centry **out, struct bkt_err *err);
/** @p n bytes of elements (for fixed-size types chunk_bytes) into what is stored, appended to @p out. */
BKT_NODISCARD int bkt_stored_encode(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out, struct bkt_err *err);
/** What HDF5's filters made, to be stored: with a header where @p mask (or the bytes) need one (DESIGN.md). */
BKT_NODISCARD int bkt_stored_wrap(const struct bkt_dsetio *io, const void *p, size_t n, uint32_t mask, struct bkt_buf *out,
                                  struct bkt_err *err);
/** The header's length (0: none) and mask. */
#define BKT_STORED_HEAD 12
size_t bkt_stored_head(const void *p, size_t n, uint32_t *mask);
/** Whether HSDS stored the chunk object: by its own rule, not by HDF5's filters.  Then it shows as a chunk without filters.
 *  @p head: the first @p n_head bytes of @p n; BKT_STORED_LOOK of them are enough. */
#define BKT_STORED_LOOK 16
bool bkt_stored_is_hsds(const struct bkt_dsetio *io, const void *head, size_t n_head, size_t n);
/** What H5Dread_chunk gives of a chunk object without a header: where HSDS stored it, the elements, and the mask of no filter. */
BKT_NODISCARD int bkt_stored_as_hdf5(const struct bkt_dsetio *io, struct bkt_buf *b, uint32_t *mask, struct bkt_err *err);
/** The filter mask that says that no filter was applied. */
uint32_t bkt_stored_no_filter(const struct bkt_dsetio *io);

/* ---- behind.c ---- */
/** After a flush, of one set or (NULL) of all: extents of datasets with chunks that failed wait, those of
 * others don't; lock held. */
void bkt_dirty_note_behind(struct bkt_dirty *d, const struct bkt_wset *ws);

/* ---- adopt.c ---- */
/** As bkt_adopt_fn (edit.h): what was written to @p ours is stored in @p theirs. */
BKT_NODISCARD int bkt_chunks_adopt(struct bkt_domain *dom, const struct bkt_object *ours,
                                   const struct bkt_object *theirs, void *arg, struct bkt_err *err);
/** As bkt_alias_fn (edit.h): references in all that was written name the objects that stand for ours. */
BKT_NODISCARD int bkt_chunks_name_theirs(struct bkt_domain *dom, void *arg, struct bkt_err *err);

/* ---- wtask.c ---- */
/** Begin to load (and, when @p store, to store) a chunk; called with the lock held, which is let go meanwhile.  The chunk
 *  has no task.  Failures show in the chunk. */
void bkt_wtask_begin(struct bkt_dchunk *c, bool store);
bool bkt_wtask_is_raw(const struct bkt_wtask *t); /* it has only what is stored, not the elements */
/** Bytes of memory that it holds besides the chunk's elements. */
uint64_t bkt_wtask_bytes(const struct bkt_wtask *t);
/** Let go of a chunk's elements while it is being stored, where what is stored will do; lock held.  False: it can't.
 *  Only for who writes: a read that has found the chunk complete takes its elements later. */
bool bkt_wtask_shed(struct bkt_dchunk *c);
/** Store the oldest in the background as far as the cache's filling asks for it; lock held, let go meanwhile. */
void bkt_dirty_push(struct bkt_dirty *d);
/** Wait until @p need more bytes fit: for other chunks to be stored, never for all; lock held. */
BKT_NODISCARD int bkt_dirty_wait_room(struct bkt_dirty *d, uint64_t need, struct bkt_err *err);
/** Wait (helping the workers) until something has ended; lock held. */
void bkt_dirty_wait(struct bkt_dirty *d);

/* ---- dirty_read.c: what readers ask ---- */
struct bkt_target;
/** Chunks of the target that were written in part only are completed. */
BKT_NODISCARD int bkt_dirty_prepare(struct bkt_target *t, struct bkt_err *err);
/** The chunk's elements, if it was written, retained; else NULL. */
struct bkt_centry *bkt_dirty_get(const struct bkt_dsetio *io, const uint64_t *coord);
/** Whether the dataset was written to. */
bool bkt_dirty_knows(const struct bkt_dsetio *io);
/** Let go of what is stored (all of the domain's datasets). */
void bkt_dirty_drop_clean(struct bkt_domain *dom);
/** What the dataset's chunks are cached under now. */
void bkt_dirty_space(struct bkt_dsetio *io);

#endif
