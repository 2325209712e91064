/* Written chunks, kept per open domain within bkt_settings_write_cache().  They are dirty until they are
 * stored, and afterwards clean and useful to readers and later writes.  Inside src/chunk.
 *
 * A chunk's elements are a struct bkt_cache_entry.  They are changed in place only while nobody else holds
 * them, so an encoder or reader that retained them sees one version.  `mask` has a bit for each element
 * written since the chunk was last stored.  The other elements come from the stored object ("base").  It is
 * fetched when it is needed: to store a partly written chunk, or to read it.
 *
 *   base     unknown   nobody looked
 *            absent    not stored, or believed so: then the chunk is stored on condition that this is true
 *            known     elements merged into e; etag is that of the version
 *
 * One task at a time works on a chunk: it loads the base, encodes and stores (store_task.c).  The lock guards
 * everything here, also the elements while they are changed.  Encoding and transfers run without the lock. */
#pragma once

#include "base/os/fork.h"
#include "base/os/window.h"
#include "chunk/dataset/dataset.h"
#include "chunk/write/write.h"

struct bkt_store_task;
struct bkt_write_cache;

enum bkt_base { BKT_BASE_UNKNOWN, BKT_BASE_ABSENT, BKT_BASE_KNOWN };

/** Elements of variable size written over a chunk, until they are serialised. */
struct bkt_wvar {
    struct bkt_buf bytes;
    struct bkt_wvar_el {
        size_t at, n;
    } *el;           /* chunk_elems; meaningful where the mask has a bit and `fresh` too */
    size_t wasted;   /* bytes no longer used by any element */
    uint64_t *fresh; /* bit per element: set: it is in `bytes`, not yet in e */
};

enum bkt_wlist_kind {
    BKT_LIST_IDLE, /* clean, or a task works on it */
    BKT_LIST_PART, /* to be stored, written in part */
    BKT_LIST_FULL, /* to be stored, wholly written */
    BKT_LISTS
};

/** The written chunks of one dataset. */
struct bkt_wset {
    struct bkt_write_cache *cache;
    struct bkt_id id;
    struct bkt_dsetio *io;  /* its own copy, which doesn't keep the domain open */
    struct bkt_map *chunks; /* coordinate -> struct bkt_wchunk */
    /* cache numbers of its chunks, and of parts of them, from the first write on */
    uint64_t space, slice_space;
    uint64_t space_dims[BKT_MAX_RANK]; /* the extent that both number chunks in */
    bool is_new;                       /* everything stored of it was stored by this process */
    /* chunks that this process stored: hashes of coordinates; NULL: nothing, or `stored` has them */
    uint32_t *few;
    size_t n_few, few_cap;
    uint64_t *stored; /* the same for many chunks: a bit for each hash; NULL: not used */
    unsigned users;   /* write plans under way */
    uint64_t cost;    /* bytes of memory, with io */
    uint64_t serial;  /* of the last write that asked for it */
    /* chunks were written again just after they had been stored: no chunk is stored early any more */
    bool again;
    bool untrimmed;               /* chunks left by a shrink couldn't be deleted */
    bool marked;                  /* a shrink was stored with a mark, which a flush may have removed since */
    uint64_t known[BKT_MAX_RANK]; /* extent within which chunks may be stored */
};

struct bkt_wchunk {
    struct bkt_wset *ws;
    struct bkt_wchunk *prev, *next; /* in its list: written longest ago first */
    struct bkt_cache_entry *e;      /* elements; NULL: not there yet */
    uint64_t *mask;                 /* chunk_elems bits; NULL: all clear */
    uint64_t n_dirty;               /* bits set */
    bool whole;                     /* every element was written: no condition, no base */
    bool complete;                  /* all elements of e are valid */
    /* not complete, but all elements of e were valid for a version that was stored before */
    bool outdated;
    enum bkt_wlist_kind list; /* the list that it is in */
    enum bkt_base base;
    char etag[BKT_ETAG_MAX];
    struct bkt_wvar *over; /* variable-size types */
    /* encoded by the program, stored unchanged; e has the decoded elements, or is NULL */
    struct bkt_buf raw;
    bool is_raw;
    struct bkt_store_task *task;
    int rc; /* why it could not be stored or loaded */
    struct bkt_err *err;
    /* not 0: stored before a flush or the filling cache asked for it; number of flushes at that time, plus 1
     * */
    uint64_t early;
    uint64_t cost;    /* bytes of memory counted */
    uint64_t coord[]; /* ws->io->rank */
};

struct bkt_wlist { /* written longest ago first */
    struct bkt_wchunk *head, *tail;
};
struct bkt_write_cache {
    struct bkt_window window;   /* chunks under way; its lock guards everything here */
    struct bkt_forkguard guard; /* of that lock */
    struct bkt_domain *dom;     /* not retained: it outlives this struct */
    struct bkt_cache *cache;
    struct bkt_map *sets; /* dataset id -> struct bkt_wset */
    struct bkt_map *refs; /* ids of datasets with references that were ever written to; NULL: empty */
    struct bkt_wlist list[BKT_LISTS];
    uint64_t limit;   /* bytes */
    uint64_t used;    /* bytes of all chunks kept */
    uint64_t n_dirty; /* bytes of chunks to be stored and not under way */
    uint64_t n_flushes;
    uint64_t n_spaces;
    uint64_t n_asked;       /* counts requests for sets */
    size_t trim_at;         /* at so many sets, unused ones are freed */
    bool any_untrimmed;     /* some set's */
    struct bkt_job freeing; /* a task of the window */
    bool is_freeing;
    pid_t pid;
};

/* ---- write_cache.c, write_cache_read.c; bkt_wchunk_reserve(): chunk/write/write.c ---- */
/** The domain's cache of written chunks; made on first use if @p make.  NULL: not made yet, or out of
 *  memory. */
struct bkt_write_cache *bkt_write_cache_of(struct bkt_domain *dom, bool make);
/** The domain's write cache, with its lock held until bkt_write_cache_leave(); NULL: the domain has none. */
struct bkt_write_cache *bkt_write_cache_enter(struct bkt_domain *dom);
/** For BKT_CLEANUP. */
static inline void bkt_write_cache_leave(struct bkt_write_cache **d)
{
    if (*d)
        (void)pthread_mutex_unlock(&(*d)->window.lock);
}
/** bkt_write_cache_get(), bkt_write_cache_prepare() and bkt_write_cache_space() are the members of struct
 * bkt_overlay, for reads.  They take the lock. */
struct bkt_cache_entry *bkt_write_cache_get(const struct bkt_dsetio *io, const uint64_t *coord);
BKT_NODISCARD int  bkt_write_cache_prepare(struct bkt_target *t, struct bkt_err *err);
bool               bkt_write_cache_space(struct bkt_dsetio *io);
/** Whether the dataset was written to. */
bool bkt_write_cache_knows(const struct bkt_dsetio *io);
/** Free the clean chunks of all of the domain's datasets. */
void bkt_write_cache_drop_clean(struct bkt_domain *dom);

/** The dataset's set; made on first use.  Called with the lock held.  NULL: out of memory. */
struct bkt_wset *bkt_wset_of(struct bkt_write_cache *d, const struct bkt_dsetio *io);
/** The dataset's set; NULL: nothing was written to it.  Called with the lock held. */
struct bkt_wset *bkt_wset_find(struct bkt_write_cache *d, const struct bkt_id *id);
/** Note that a dataset is written to.  A dataset with references is remembered even after its set is freed.
 *  BKT_ENOMEM. */
BKT_NODISCARD int bkt_write_cache_note_refs(struct bkt_write_cache *d, const struct bkt_object *o);

/** Take over the functions of the program's filters from the newly opened dataset, since the program
 *  registers and unregisters filters at any time.  Lock held; released while tasks are waited for. */
void             bkt_wset_follow(struct bkt_wset *ws, const struct bkt_dsetio *io);
void             bkt_wset_respace(struct bkt_wset *ws); /* new cache numbers: older cache entries are no
                                                           longer found */
void             bkt_wset_wait(struct bkt_wset *ws); /* for its tasks under way; lock held */
void             bkt_wset_drop(struct bkt_wset *ws); /* frees its chunks, written or not; waits for tasks
                                                        under way */
void bkt_wset_free(void *set); /* a struct bkt_wset, which must not be in a map */

/** Whether this process has stored any chunk of it. */
bool bkt_wset_any_stored(const struct bkt_wset *ws);
/** Note that a chunk was stored, and so may exist from now on. */
void bkt_wset_note_stored(struct bkt_wset *ws, const uint64_t *coord);

/** The chunk at @p coord (one number per dimension, in chunks), owned by the set; NULL: it isn't in
 *  memory. */
struct bkt_wchunk *bkt_wchunk_find(const struct bkt_wset *ws, const uint64_t *coord);
/** Make a chunk that isn't there yet, without memory for its elements; owned by the set.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_wchunk_make(struct bkt_wset *ws, const uint64_t *coord, struct bkt_wchunk **out,
                                  struct bkt_err *err);
/** Free elements written over a chunk; NULL is fine. */
void               bkt_wvar_free(struct bkt_wvar *o);
/** Remove the chunk from its list and map, and free it.  No task may work on it. */
void bkt_wchunk_drop(struct bkt_wchunk *c);
/** Forget its content.  No task may store what the program encoded. */
void bkt_wchunk_clear(struct bkt_wchunk *c);
/** The chunk, made if needed.  Waits for room, and for a task that stores what the program encoded. */
BKT_NODISCARD int bkt_wchunk_reserve(struct bkt_wset *ws, const uint64_t *coord, struct bkt_wchunk **out,
                                     struct bkt_err *err);
/** Whether the chunk has anything to store. */
bool bkt_wchunk_is_dirty(const struct bkt_wchunk *c);
/** Call after each change: puts the chunk at the end of its state's list, and counts its memory again. */
void bkt_wchunk_settle(struct bkt_wchunk *c);
/** Makes its elements writable; allocates them, not initialised, if there are none. */
BKT_NODISCARD int bkt_wchunk_open(struct bkt_wchunk *c, struct bkt_err *err);
/** Mark elements off .. off+n-1 as written. */
BKT_NODISCARD int bkt_wchunk_mark(struct bkt_wchunk *c, uint64_t off, uint64_t n, struct bkt_err *err);
/** Replace the bytes that the program encoded by the elements.  Lock held; released while it waits, or while
 *  the program's filters are called. */
BKT_NODISCARD int bkt_wchunk_unraw(struct bkt_wchunk *c, struct bkt_err *err);
/** Check that unwritten elements of a chunk that isn't stored have a value.  Rows of a chunk table that was
 *  to be made at the first read have none; rows beyond the table's extent don't matter. */
BKT_NODISCARD int bkt_wchunk_fill_check(const struct bkt_wchunk *c, struct bkt_err *err);
/** If all elements that there can be are marked, the chunk becomes whole. */
void bkt_wchunk_check_whole(struct bkt_wchunk *c);
/** Number of elements of the chunk that can ever be inside the dataset. */
uint64_t bkt_chunk_reach(const struct bkt_dsetio *io, const uint64_t *coord);
/** Free clean chunks, and the elements of chunks that are encoded and under way, until @p need more bytes
 *  fit.  False: they don't fit. */
bool bkt_write_cache_make_room(struct bkt_write_cache *d, uint64_t need);
/** Sets its last failure; BKT_OK: clears it. */
void bkt_wchunk_note(struct bkt_wchunk *c, int rc, const struct bkt_err *err);

/* ---- overlay.c ---- */
/** Put base's elements (NULL: the fill value) where the masks have no bit.  Then c is complete. */
BKT_NODISCARD int bkt_wchunk_merge(struct bkt_wchunk *c, struct bkt_cache_entry *base, struct bkt_err *err);
/** Variable-size elements: e becomes all elements, with the written ones.  c must be complete or whole. */
BKT_NODISCARD int bkt_wchunk_serialise(struct bkt_wchunk *c, struct bkt_err *err);

/* ---- chunks that could not be stored ---- */
/** After a flush of one set, or (NULL) of all: extents of datasets with failed chunks have to wait, extents
 * of the others don't.  Lock held. */
void bkt_unstored_note(struct bkt_write_cache *d, const struct bkt_wset *ws);

/* ---- move_written.c ---- */
/** Hook adopt (edit.h): elements written to @p ours are stored in @p theirs. */
BKT_NODISCARD int bkt_chunks_adopt(struct bkt_domain *dom, const struct bkt_object *ours,
                                   const struct bkt_object *theirs, struct bkt_err *err);
/** Hook alias (edit.h): written references name the other writers' objects that replace this process's. */
BKT_NODISCARD int bkt_chunks_name_theirs(struct bkt_domain *dom, struct bkt_err *err);

/* ---- store_task.c ---- */
/** Begin to load a chunk, and to store it if @p store.  Called with the lock held, which is released
 *  during the call.  The chunk must not have a task.  Failures are noted in the chunk. */
void bkt_store_task_begin(struct bkt_wchunk *c, bool store);
bool bkt_store_task_is_raw(
    const struct bkt_store_task *t); /* whether it has only the stored bytes, not the elements */
/** Bytes of memory that the task holds besides the chunk's elements. */
uint64_t bkt_store_task_bytes(const struct bkt_store_task *t);
/** Free the elements of a chunk that is being stored, if the encoded bytes are enough.  Lock held.  False:
 *  they aren't.  Only for writers: a reader that has found the chunk complete takes its elements later. */
bool bkt_store_task_shed(struct bkt_wchunk *c);
/** The stored version is unknown from now on.  Readers still find the written elements, put over the version
 *  that was known. */
void bkt_wchunk_forget_base(struct bkt_wchunk *c);
/** Store the oldest chunks in the background, as many as the cache's filling requires.  Lock held; released
 *  during the call. */
void bkt_store_tasks_push(struct bkt_write_cache *d);
/** Wait until @p need more bytes fit: until other chunks are stored, never for all of them.  Lock held. */
BKT_NODISCARD int bkt_store_tasks_wait_room(struct bkt_write_cache *d, uint64_t need, struct bkt_err *err);
/** Help the workers and wait until a task has ended.  Lock held. */
void bkt_store_tasks_wait(struct bkt_write_cache *d);
