/* One dataset opened for input, as reading and writing share it. */
#ifndef BKT_DSETIO_H
#define BKT_DSETIO_H

#include <pthread.h>

#include "chunk/dataset/chunk_cache.h"
#include "chunk/chunk.h"
#include "chunk/select/grid.h"

struct bkt_map;

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
};

/** A file that references point into. */
struct bkt_chunk_file {
    char             *uri, *key;
    struct bkt_store *store; /* the domain's */
    bool              own_store; /* pieces of several files, joined */
    char             *etag;  /* If-Match for every range; NULL: not recorded */
    struct bkt_version *version; /* compared if no ETag is recorded; NULL: not compared */
    uint64_t          space; /* cache number of its ranges */
    struct bkt_cache *cache; /* the cache of `hold`; NULL: there is none */
    struct bkt_cname *hold;  /* holder of `space` */
    uint64_t          base;  /* position of the file's first byte in that space */
    unsigned          rank;  /* order of first use; ranges are sorted by it */
    bool              object; /* a chunk object of the domain whose bytes are the elements: it may be absent */
};

enum bkt_where { BKT_AT_NONE, BKT_AT_OBJECTS, BKT_AT_CONTIGUOUS, BKT_AT_CHUNKS, BKT_AT_TABLE };

struct bkt_dsetio {
    struct bkt_domain         *dom;
    const struct bkt_object   *obj;
    char                      *path;  /* path that the program used, for messages; NULL: unknown */
    const struct bkt_dset     *ds;
    const struct bkt_settings *set;
    struct bkt_cache          *cache; /* NULL: there is none */
    uint64_t                   space; /* cache number of its decoded chunks */
    uint64_t                   slice_space; /* cache number of parts of its chunk objects: chunk n begins at
                                               n * chunk_bytes */
    struct bkt_cname          *holds[2];    /* holders of both numbers */
    uint64_t                   space_dims[BKT_MAX_RANK]; /* the extent that both number chunks in */
    enum bkt_where             where;
    bool                       var;
    size_t                     elem_size;   /* fixed-size types */
    unsigned                   rank;        /* of the grid; 1 for a scalar */
    uint64_t                   cdims[BKT_MAX_RANK];
    uint64_t                   chunk_elems;
    size_t                     chunk_bytes; /* decoded; fixed-size types */
    struct bkt_hsds_codec      codec;       /* OBJECTS */
    struct bkt_pipeline        pipe;        /* references */
    bool                       filtered;    /* references: the whole chunk is needed to decode any of it */
    struct bkt_centry         *fill;        /* one element, stored form; NULL: bad_fill */
    bool                       zero_fill;
    struct bkt_pattern         pattern;     /* not guarded by the lock */
    struct bkt_err             bad;         /* code != 0: why no element can be read */
    struct bkt_err             bad_fill;    /* why a missing chunk can't be filled */
    pthread_mutex_t            lock;        /* guards what follows */
    struct bkt_map            *files;       /* uri -> struct bkt_chunk_file */
    struct bkt_dsetio         *table;
    struct bkt_table_first    *first;       /* the table's first chunk, under way; NULL: not requested */
    bool                       shared;      /* bkt_dsetio_share(): doesn't keep the domain open */
    struct bkt_found_chunk    *found;       /* TABLE: the chunks in place of a table, by index; NULL: there
                                               are none */
    size_t                     n_found;
    bool                       hdf5;        /* OBJECTS: chunk objects hold the output of HDF5's own filters
                                               (pipe) */
    /* For callers that only ask where chunks lie; set right after opening. */
    bool                       places_only; /* files are named, not opened: nothing can be read */
    /* Called for each chunk with an impossible place, which is left out then; NULL: the first such chunk is
     * an error. */
    void (*bad_place)(const uint64_t *coord, const struct bkt_err *why, void *arg);
    void                      *bad_arg;
};

/** "dataset /v (d-…) chunk 3_4", for messages. */
struct bkt_chunk_label {
    char text[BKT_ID_LEN + 250];
};
/** "dataset /v (d-…)" */
struct bkt_chunk_label bkt_dsetio_label(const struct bkt_dsetio *io);
struct bkt_chunk_label bkt_chunk_label(const struct bkt_dsetio *io, const uint64_t *coord);

/** Call if the extent may have changed in place: entries cached under numbers of the old extent are no longer
 *  found. */
void bkt_dsetio_follow(struct bkt_dsetio *io);

/** A copy for structs that belong to the domain itself: it retains neither the domain nor the dataset.  Only
 *  for datasets stored as chunk objects. */
BKT_NODISCARD int bkt_dsetio_share(const struct bkt_dsetio *io, struct bkt_dsetio **out, struct bkt_err *err);

/* ---- hsds_codec_of.c, hsds_encode.c, pipeline_of.c ---- */
/** The codec that HSDS uses for a native dataset's filter list (hsds_codec.c). */
void bkt_codec_of(const struct bkt_dset *ds, const struct bkt_settings *set, size_t chunk_bytes, struct bkt_hsds_codec *out);
/** Encode n bytes of elements (fixed-size, or serialised) as HSDS would store them.  Replaces the content of
 *  @p out. */
BKT_NODISCARD int bkt_hsds_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, const void *src, size_t n,
                                  struct bkt_buf *out, struct bkt_err *err);
/** HDF5's pipeline of chunks in HDF5 files.  Missing parameters are derived from the type and the chunk. */
BKT_NODISCARD int bkt_pipeline_of(const struct bkt_dset *ds, uint64_t chunk_elems, bkt_filter_find *find, void *arg,
                                  struct bkt_pipeline *out, struct bkt_err *err);
/* ---- fill.c ---- */
/** One element of zeros in stored form. */
BKT_NODISCARD int bkt_zero_element(const struct bkt_type *t, struct bkt_buf *out);
/** The values of elements @p first .. +n-1 of the chunk at @p coord if the chunk isn't stored. */
void bkt_fill_run(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t first, uint64_t n, unsigned char *dst);
/** Check that a native chunk that isn't stored has values. */
BKT_NODISCARD int bkt_fill_check(const struct bkt_dsetio *io, const uint64_t *coord, bool native, struct bkt_err *err);

/* ---- var_index.c ---- */
/** Find where each element of a decoded variable-length chunk begins.  Takes @p bytes over. */
BKT_NODISCARD int bkt_var_index(const struct bkt_dsetio *io, struct bkt_buf *bytes, struct bkt_centry **out, struct bkt_err *err);

/* ---- chunk/read/references.c, reference_table.c, table_walk.c ---- */
struct bkt_loc {
    struct bkt_chunk_file *file; /* NULL: unallocated */
    uint64_t               off, size;
    uint32_t               mask;
};
struct bkt_locate { /* the chunks of one dataset whose places are wanted */
    struct bkt_dsetio *io;
    const uint64_t    *coords; /* n * io->rank, in grid order */
    size_t             n;
    struct bkt_loc    *out;
};
/** Find the places of reference chunks.  The chunk tables of all @p n datasets are read as one plan. */
BKT_NODISCARD int bkt_locate(struct bkt_locate *q, size_t n, struct bkt_err *err);
/** Check that the range can hold a chunk; BKT_EFORMAT: it can't. */
BKT_NODISCARD int bkt_locate_check(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t off, uint64_t size,
                                   struct bkt_err *err);
/** The mask of filters that were left out of a chunk of @p size stored bytes: the @p recorded ones, and a
 *  checksum for which there are no bytes. */
uint32_t bkt_locate_mask(const struct bkt_dsetio *io, uint32_t recorded, uint64_t size);
/** A file by URI, under the domain's policy; looked up once per URI.  Borrowed from @p io.
 *  @p etag: the file's ETag or stamp (model.h) when it was linked; NULL or "": unknown.  BKT_EPRECOND: the
 *  file has changed. */
BKT_NODISCARD int bkt_locate_file(struct bkt_dsetio *io, const char *uri, size_t n_uri, const char *etag,
                                  struct bkt_chunk_file **out, struct bkt_err *err);
/** The file, or the joined pieces of files, that the layout names. */
BKT_NODISCARD int bkt_locate_layout_file(struct bkt_dsetio *io, struct bkt_chunk_file **out, struct bkt_err *err);
void              bkt_chunk_file_free(void *file);
/** @p grid: chunks per dimension; reduced to the size of the chunk table, beyond which no chunk is allocated.
 *  @p some: false: the table is empty. */
BKT_NODISCARD int bkt_chunk_table_clip(struct bkt_dsetio *io, uint64_t *grid, bool *some, struct bkt_err *err);
/** All chunks of a dataset that isn't stored as objects, in grid order.  @p grid: chunks per dimension; it is
 *  changed. */
BKT_NODISCARD int bkt_chunk_table_each(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg, struct bkt_err *err);
/* ---- reference_table_first.c: of a dataset that is found by a chunk table ---- */
/** Put the received first chunk of the table into the cache; io->table was just opened. */
void bkt_table_first_keep(struct bkt_dsetio *io);
/** Wait for the request and forget it. */
void bkt_table_first_free(struct bkt_dsetio *io);
/** The rows of chunk tables; called by bkt_locate(). */
BKT_NODISCARD int bkt_chunk_table_rows(struct bkt_locate *q, size_t n, struct bkt_err *err);

/** As bkt_read_run() of @p n > 0 reads, without read-ahead: for reads that no program asked for. */
BKT_NODISCARD int bkt_read_now(struct bkt_read *reads, size_t n, struct bkt_err *err);
/** Whether a read only fills the caches. */
static inline bool bkt_read_is_blind(const struct bkt_read *r) { return !r->dst && !bkt_dsetio_is_var(r->io); }
/** Cancel the jobs of a dataset and wait for their end.  For a domain: bkt_ahead_stop() (chunk.h). */
void bkt_ahead_forget(struct bkt_dsetio *io);

#endif
