/* The inside of struct bkt_dsetio (chunk.h), which reading and writing share. */
#pragma once

#include <pthread.h>

#include "chunk/chunk.h"
#include "chunk/dataset/chunk_cache.h"
#include "chunk/select/grid.h"

struct bkt_map;
struct bkt_dsetio;

#define BKT_TASK_COST_MIN (64u << 10) /* bytes that a task counts for at least: bounds the number of tasks */

/** The pattern in which a program reads a dataset (predict.c); zeros at first. */
struct bkt_pattern {
    bool           known;   /* `last` is set */
    struct bkt_sel last;    /* regular */
    int64_t        step[BKT_MAX_RANK];
    unsigned       hits;    /* how many times the step was the same */
    unsigned       misses;  /* predictions in a row that the program didn't use: each doubles the number of
                               hits required */
    uint64_t       posted;  /* number of steps behind `last` for which jobs were made */
    unsigned       depth;   /* steps to be ahead at most */
    bool           late;    /* the program had to wait for a job */
    void (*forget)(struct bkt_dsetio *io); /* cancels the jobs of the dataset and waits for their end;
                                              NULL: there are no jobs */
};

/** A file that references point into. */
struct bkt_chunk_file {
    char *uri, *key;
    struct bkt_store *store;     /* the domain's */
    bool own_store;              /* pieces of several files, joined */
    char *etag;                  /* If-Match for every range; NULL: not recorded */
    struct bkt_version *version; /* compared if no ETag is recorded; NULL: not compared */
    uint64_t space;              /* cache number of its ranges */
    struct bkt_cache *cache;     /* the cache of `hold`; NULL: not cached */
    struct bkt_cache_name *hold; /* holder of `space` */
    uint64_t base;               /* position of the file's first byte in that space */
    bool object; /* a chunk object of the domain whose bytes are the elements: it may be absent */
};

enum bkt_where { BKT_AT_NONE, BKT_AT_OBJECTS, BKT_AT_CONTIGUOUS, BKT_AT_CHUNKS, BKT_AT_TABLE };

/** Called for a chunk with an impossible place, which is left out then. */
typedef void bkt_bad_place_fn(const uint64_t *coord, const struct bkt_err *why, void *arg);

/** See chunk.h.  `where` decides which members have a meaning. */
struct bkt_dsetio {
    struct bkt_domain *dom;
    const struct bkt_object *obj;
    char *path; /* path that the program used, for messages; NULL: unknown */
    const struct bkt_dset *ds;
    const struct bkt_settings *set;
    struct bkt_cache *cache; /* NULL: not cached */
    uint64_t space;          /* cache number of its decoded chunks */
    /* cache number of parts of its chunk objects: chunk n begins at n * chunk_bytes */
    uint64_t slice_space;
    struct bkt_cache_name *holds[2];   /* holders of both numbers */
    uint64_t space_dims[BKT_MAX_RANK]; /* the extent that both number chunks in */
    enum bkt_where where;
    bool var;
    size_t elem_size; /* fixed-size types */
    unsigned rank;    /* of the grid; 1 for a scalar */
    uint64_t cdims[BKT_MAX_RANK];
    uint64_t chunk_elems;
    size_t chunk_bytes;           /* decoded; fixed-size types */
    struct bkt_hsds_codec codec;  /* OBJECTS */
    struct bkt_pipeline pipe;     /* references */
    bool filtered;                /* references: the whole chunk is needed to decode any of it */
    struct bkt_cache_entry *fill; /* one element, stored form; NULL: bad_fill */
    bool zero_fill;
    struct bkt_pattern pattern; /* not guarded by the lock */
    struct bkt_err bad;         /* code != 0: why no element can be read */
    struct bkt_err bad_fill;    /* why a missing chunk can't be filled */
    pthread_mutex_t lock;       /* guards what follows */
    struct bkt_map *files;      /* uri -> struct bkt_chunk_file */
    struct bkt_dsetio *table;
    struct bkt_reference_table_first *first;   /* the table's first chunk, under way; NULL: not requested */
    void (*first_free)(struct bkt_dsetio *io); /* if `first` is set: waits for the request, and forgets it */
    bool shared;                               /* bkt_dsetio_share(): doesn't keep the domain open */
    /* TABLE: the chunks in place of a table, by index; NULL: no chunk */
    struct bkt_file_chunk *found;
    size_t n_found;
    bool found_partly;            /* `found` has only the chunks that reads asked for so far */
    struct bkt_chunk_file *given; /* the file of all references, among `files`; NULL: the layout names it */
    /* OBJECTS: chunk objects hold the output of HDF5's own filters (pipe) */
    bool hdf5;
    /* of bkt_dsetio_open_places() */
    bool places_only;
    bkt_bad_place_fn *bad_place;
    void *bad_arg;
};

/** As bkt_dsetio_open(), for a caller that only asks where chunks lie (bkt_chunk_iter()): files are named and
 *  not opened, so they need not be accessible, and nothing can be read.
 *  @param bad  called with @p arg; NULL: the first chunk with an impossible place is an error */
BKT_NODISCARD int bkt_dsetio_open_places(struct bkt_domain *dom, const struct bkt_object *obj,
                                         bkt_bad_place_fn *bad, void *arg, struct bkt_dsetio **out,
                                         struct bkt_err *err);

/** The coordinate of a chunk by its number, row-major in the grid of all chunks.  False: the extent has no
 * such chunk. */
bool bkt_chunk_coord(const struct bkt_dsetio *io, uint64_t number, uint64_t *coord);

/** A text for messages. */
struct bkt_chunk_label {
    char text[BKT_ID_LEN + 250];
};
/** "dataset /v (d-…)" */
struct bkt_chunk_label bkt_dsetio_label(const struct bkt_dsetio *io);
/** "dataset /v (d-…) chunk 3_4" */
struct bkt_chunk_label bkt_chunk_label(const struct bkt_dsetio *io, const uint64_t *coord);

/** Call if the extent may have changed in place: entries cached under numbers of the old extent are no longer
 *  found. */
void bkt_dsetio_follow(struct bkt_dsetio *io);

/** A copy for structs that belong to the domain itself: it retains neither the domain nor the dataset.  Only
 *  for datasets stored as chunk objects. */
BKT_NODISCARD int bkt_dsetio_share(const struct bkt_dsetio *io, struct bkt_dsetio **out, struct bkt_err *err);

/** Check that a selection is of the dataset's present extent; BKT_EINVAL: it isn't. */
BKT_NODISCARD int bkt_dsetio_check_extent(const struct bkt_dsetio *io, const struct bkt_sel *sel,
                                          struct bkt_err *err);
/** The part of the chunk at @p coord within the extent, as a selection; n_elems 0: it lies outside. */
void bkt_chunk_select(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_sel *s);
/** Replace the list of filters by that of another dataset.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_dset_copy_filters(const struct bkt_dset *from, struct bkt_dset *to);
/** HDF5's pipeline of chunks in HDF5 files.  Missing parameters are derived from the type and the chunk. */
BKT_NODISCARD int bkt_pipeline_of(const struct bkt_dset *ds, uint64_t chunk_elems, bkt_filter_find *find,
                                  struct bkt_pipeline *out, struct bkt_err *err);
/* ---- fill.c ---- */
/** The values of elements @p first .. +n-1 of the chunk at @p coord if the chunk isn't stored. */
void bkt_fill_run(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t first, uint64_t n,
                  unsigned char *dst);
/** Check that a native chunk that isn't stored has values. */
BKT_NODISCARD int bkt_fill_check(const struct bkt_dsetio *io, const uint64_t *coord, bool native,
                                 struct bkt_err *err);

/** Take a stored chunk, whose object has @p size bytes.  A negative code ends the walk, and is its result. */
typedef int bkt_chunk_key_fn(const uint64_t *coord, uint64_t size, void *arg);
/** Call @p each for the coordinates of all stored chunks, also outside of the extent, in the order of the
 *  list.  For version 1 this lists all of the bucket. */
BKT_NODISCARD int bkt_chunk_keys_each(struct bkt_dsetio *io, bkt_chunk_key_fn *each, void *arg,
                                      struct bkt_err *err);

void bkt_chunk_file_free(void *file); /* as a struct bkt_chunk_file */

/** Whether the stored bytes are the elements. */
bool bkt_chunk_object_is_unencoded(const struct bkt_dsetio *io);
/** Decode fixed-size elements: chunk_bytes bytes.  @p pipe: the dataset's own filters, or a copy of them. */
BKT_NODISCARD int bkt_chunk_object_decode(const struct bkt_dsetio *io, const struct bkt_pipeline *pipe,
                                          const void *in, size_t n, void *dst, struct bkt_err *err);
/** Decode elements of fixed or variable size.  @p stored may be taken over. */
BKT_NODISCARD int bkt_chunk_object_read(const struct bkt_dsetio *io, struct bkt_buf *stored,
                                        struct bkt_cache_entry **out, struct bkt_err *err);
/** Encode @p n bytes of elements (fixed-size types: chunk_bytes), and append them to @p out. */
BKT_NODISCARD int bkt_chunk_object_encode(const struct bkt_dsetio *io, const void *src, size_t n,
                                          struct bkt_buf *out, struct bkt_err *err);
/** Wrap the output of HDF5's filters for storing: adds a header if @p mask or the bytes need one
 *  (DESIGN.md). */
BKT_NODISCARD int bkt_chunk_object_wrap(const struct bkt_dsetio *io, const void *p, size_t n, uint32_t mask,
                                        struct bkt_buf *out, struct bkt_err *err);
#define BKT_CHUNK_OBJECT_HEAD 12 /* bytes of the header */
/** The length of the header (0: the bytes have no header), and its mask. */
size_t bkt_chunk_object_head(const void *p, size_t n, uint32_t *mask);
#define BKT_CHUNK_OBJECT_LOOK 16 /* bytes that bkt_chunk_object_is_hsds() needs */
/** Whether HSDS stored the chunk object, by its own rule and not by HDF5's filters.  Such an object is
 *  reported as a chunk without filters.
 *  @p head: the first @p n_head bytes of @p n; BKT_CHUNK_OBJECT_LOOK of them are enough. */
bool bkt_chunk_object_is_hsds(const struct bkt_dsetio *io, const void *head, size_t n_head, size_t n);
/** Turn a chunk object without a header into the result of H5Dread_chunk.  If HSDS stored it, the result is
 *  the elements, and the mask of no filter. */
BKT_NODISCARD int bkt_chunk_object_as_hdf5(const struct bkt_dsetio *io, struct bkt_buf *b, uint32_t *mask,
                                           struct bkt_err *err);
/** The filter mask that means "no filter was applied". */
uint32_t bkt_chunk_object_no_filter(const struct bkt_dsetio *io);
