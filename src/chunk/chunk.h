/* Reading a dataset: one request is one plan, however many chunks it touches.
 *
 *   selection x chunk grid -> the touched chunks, the part of each  (grid.c)
 *   chunk -> store, key, offset, length, filters                    (chunk/read/references.c)
 *   ranges, merged and split, many in flight                        (read.c)
 *   decode on workers while others still arrive                     (pipeline.h)
 *   scatter into the caller's buffer, straight where it can be
 *
 * No HDF5 in here: vol hands selections and filter plugins down as structs of chunk.
 *
 * This is the layer's header for readers: it declares functions of several folders, under the names of their
 * files.  Writers include chunk/write/write.h, too. */
#pragma once

#include <stdatomic.h>

#include "base/number_kernels.h"
#include "chunk/filter/pipeline.h"
#include "chunk/select/selection.h"
#include "schema/domain/domain.h"
#include "schema/model/model.h"

/* ---- datasets opened for their elements: dataset/dataset.c ---- */

/** The I/O side of a dataset, whose description is a struct bkt_dset (model.h): where the elements lie, how
 * chunks are encoded, and the numbers under which the caches keep them.  An open handle of a dataset has one.
 * Reads, writes and questions about chunks take it, under the name `io`.  (vol's struct bkt_io is one call of
 * H5Dread() or H5Dwrite().) */
struct bkt_dsetio;

/** Find code for a filter that this build doesn't decode.  Called on the program's thread only.  NULL: not
 *  found.  (vol asks HDF5 and its plugin path.) */
typedef bkt_filter_fn *bkt_filter_find(int id, const char *name);

/** Prepare to read one dataset.
 * @param dom   its domain; retained by the result
 * @param obj   the dataset; retained by the result
 * @return BKT_OK; BKT_EINVAL: not a dataset; BKT_ENOMEM.  Nothing is fetched.  Senseless layouts, filters
 *         that can't be decoded and the like are errors of the read that needs them, so that metadata can be
 *         shown */
BKT_NODISCARD int bkt_dsetio_open(struct bkt_domain *dom, const struct bkt_object *obj, bkt_filter_find *find,
                                  struct bkt_dsetio **out, struct bkt_err *err);
void              bkt_dsetio_close(struct bkt_dsetio *io); /* NULL is fine */
static inline void bkt_dsetio_closep(struct bkt_dsetio **io) { bkt_dsetio_close(*io); }
/** The program's name for the dataset, for messages.  The first name stays.  NULL is fine. */
void bkt_dsetio_name(struct bkt_dsetio *io, const char *path);

/** Search again for filters that had no code when the dataset was opened: the program may have registered
 *  them since. */
void bkt_dsetio_find(struct bkt_dsetio *io, bkt_filter_find *find);

/** Bytes of one element in memory that bkt_read_datasets() delivers for fixed-size types: the packed stored
 * element. 0: elements have variable size. */
size_t bkt_dsetio_elem_size(const struct bkt_dsetio *io);
bool   bkt_dsetio_is_var(const struct bkt_dsetio *io); /* a read makes slices */

/** One element of variable size, in stored form (model.h). */
struct bkt_slice {
    const unsigned char *p;
    size_t               n;
};

/* ---- reads: ahead/read_datasets.c, read/read.c ---- */

struct bkt_read {
    struct bkt_dsetio    *io;
    const struct bkt_sel *file; /* in the dataset's current extent (its rank and dims are checked) */
    /* fixed-size types: packed stored elements go to dst[mem] */
    /* where in dst, in elements; NULL: contiguous from dst[0], in selection order */
    const struct bkt_sel *mem;
    void                 *dst;      /* NULL: the read only fills the caches */
    const struct bkt_recast *recast; /* conversion on the way to dst, whose elements then have recast->dst
                                        bytes; NULL: elements stay as they are stored */
    /* variable-size types: n_elems slices in selection order (dst and mem unused), made by
     * bkt_read_datasets(). They and the bytes they point to are valid until bkt_read_fini(), which must
     * follow every successful read of such a type.  An element that isn't stored is the fill value, or zeros
     * and counts of 0 */
    struct bkt_slice     *slices;
    void                 *impl;
    bool                  unchecked; /* HDF5's checksums are not compared (H5Pset_edc_check); the result isn't
                                        kept then */
    uint64_t              of; /* this read is a piece of a selection of so many elements, and no chunk lies in
                                 two pieces; 0: not a piece */
    uint64_t touched;         /* result: chunks of the selection */
    atomic_uint_fast64_t missing;   /* result: those that aren't stored; one may count more than once */
    atomic_bool          *cancel;   /* may be NULL; once true, no more requests are begun, and answers are
                                       thrown away */
};

/** Read @p n datasets' selections as one plan.  A missing chunk is the fill value.
 * @return BKT_OK; the code of the first failure, whose message names dataset, chunk, key or file and offset.
 *         dst is then undefined.  All requests have ended when it returns. */
BKT_NODISCARD int bkt_read_datasets(struct bkt_read *reads, size_t n, struct bkt_err *err);
void              bkt_read_fini(struct bkt_read *r); /* NULL, and a read without slices, are fine */

/* ---- places of chunks: read/reference_table.c, read/references.c ---- */

/** Request the first chunk of the dataset's chunk table, while the caller gets the table's JSON.  That saves
 *  a round trip if the table has one chunk.  Does nothing if there is no table, in a folder, or with
 *  read_ahead=0. */
void bkt_reference_table_first_begin(struct bkt_dsetio *io);

/** Set the chunks of an H5D_CHUNKED_REF_INDIRECT dataset whose chunk table isn't stored (initializer
 *  chunklocator, hsload --fastlink).  From now on these are its chunks, in the file that the layout names.
 *  @param chunks  n of them, in any order; taken over (free()), also on failure
 *  @return BKT_OK; BKT_EFORMAT: an index outside of the grid, or twice */
BKT_NODISCARD int bkt_dsetio_set_found(struct bkt_dsetio *io, struct bkt_file_chunk *chunks, size_t n,
                                       struct bkt_err *err);
/** Add chunks to those that are known.  From now on the places of all other chunks are unknown, so the caller
 * adds those of all chunks that a read touches.  Nothing is read ahead, until bkt_dsetio_set_found() has
 * been called.
 * @param chunks  n of them, in any order, borrowed; size 0: the chunk doesn't exist
 * @return as bkt_dsetio_set_found(); BKT_ENOMEM */
BKT_NODISCARD int bkt_dsetio_add_found(struct bkt_dsetio *io, const struct bkt_file_chunk *chunks, size_t n,
                                       struct bkt_err *err);
/** The chunks that a selection touches, as far as they are known. */
struct bkt_touched {
    uint64_t  n, missing; /* chunks; those of them that are known not to exist */
    uint64_t  n_unknown;  /* chunks whose places are unknown */
    uint64_t *coords;     /* of the first unknown chunks, at most `most`; free() */
    size_t    n_coords;
};
/** Compare a selection with the known chunks of a dataset that has them by bkt_dsetio_set_found() or
 * bkt_dsetio_add_found().  On failure out->coords is NULL. */
BKT_NODISCARD int bkt_dsetio_touched(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most,
                                     struct bkt_touched *out, struct bkt_err *err);
/** Set the file that holds all references of the dataset, in place of the one that its layout names.
 * BKT_ENOMEM.
 * @param store, version  borrowed, they outlive @p io; all answers must have the version; version may be
 *     NULL */
BKT_NODISCARD int bkt_dsetio_set_file(struct bkt_dsetio *io, struct bkt_store *store, const char *key,
                                      struct bkt_version *version, struct bkt_err *err);

/** Bytes of the file of bkt_dsetio_set_file() that the caller has already, from its first byte on.  The cache
 *  keeps them, unless it has them.
 *  @param read  copies @p n bytes to @p to, and returns the number of those that are there */
void bkt_dsetio_know_first(struct bkt_dsetio *io, size_t n, uint64_t (*read)(void *arg, size_t n, void *to),
                           void *arg);

/* ---- single chunks, for H5Dget_chunk_info and the like: list/chunk_info.c ---- */

struct bkt_chunk_info {
    bool     exists;
    uint64_t offset;      /* in the file referred to; BKT_WHOLE for a native chunk object (no address) */
    uint64_t size;        /* stored bytes */
    uint32_t filter_mask;
    const char *uri;      /* the file's name in the layout or the chunk table; owned by the dsetio; NULL for a
                             native chunk object */
};
/** The place of the chunk with grid coordinate @p coord.  Requests a HEAD for a native chunk.  BKT_EINVAL:
 * the coordinate is outside the extent. */
BKT_NODISCARD int bkt_chunk_locate(struct bkt_dsetio *io, const uint64_t *coord, struct bkt_chunk_info *out,
                                   struct bkt_err *err);
/** Called for each chunk.  A negative code ends the walk, which fails with this code. */
typedef int bkt_chunk_fn(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg);
/** All existing chunks, in grid order; native ones by LIST.  The time depends on the number of chunks, or of
 *  stored rows of a chunk table, and not on the size of the grid. */
BKT_NODISCARD int bkt_chunk_iter(struct bkt_dsetio *io, bkt_chunk_fn *each, void *arg, struct bkt_err *err);
/** The stored bytes of the chunk, unchanged; @p out gets them in place of its contents.  BKT_EINVAL: the
 * coordinate is outside the extent; BKT_ENOENT: the chunk isn't stored. */
BKT_NODISCARD int bkt_chunk_read_raw(struct bkt_dsetio *io, const uint64_t *coord, struct bkt_buf *out,
                                     uint32_t *filter_mask, struct bkt_err *err);
/** Bytes that the dataset occupies: the sizes of its references, or bkt_domain_chunk_usage().  @p bytes and
 * @p n_chunks may be NULL. */
BKT_NODISCARD int bkt_dsetio_storage_size(struct bkt_dsetio *io, uint64_t *bytes, uint64_t *n_chunks,
                                          struct bkt_err *err);

/* ---- read-ahead, and what caches hold: ahead/jobs.c, ahead/predict.c, write/write_cache.c ---- */

/** Jobs of read-ahead, waiting or under way.  Read without their lock, to be cheap. */
extern atomic_size_t bkt_ahead_jobs;
static inline bool bkt_ahead_any(void)
{
    return atomic_load(&bkt_ahead_jobs) != 0;
}
/** Cancel the jobs of a domain, and wait for their end. */
void bkt_ahead_cancel(struct bkt_domain *dom);
/** Stop all read-ahead in a domain: before it is closed, and before it is written to. */
static inline void bkt_ahead_stop(struct bkt_domain *dom)
{
    if (bkt_ahead_any())
        bkt_ahead_cancel(dom);
}
/** End the threads that read ahead; they start again on demand.  Call it before bkt_domain_forget_probe(). */
void bkt_ahead_shutdown(void);

/** Forget the decoded chunks of a domain and the written chunks that are stored, and stop reading ahead: for
 *  a refresh, after another process wrote, and after data were moved.  Chunks that aren't stored stay. */
void bkt_chunks_forget_stored(struct bkt_domain *dom);
