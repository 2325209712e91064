/* One dataset opened for input: what the files of this folder share. */
#ifndef BKT_DSETIO_H
#define BKT_DSETIO_H

#include <pthread.h>

#include "cache.h"
#include "chunk.h"
#include "grid.h"

struct bkt_map;

/** How a program reads a dataset (ahead.c); zeros at first. */
struct bkt_pattern {
    bool           known;   /* `last` is set */
    struct bkt_sel last;    /* regular */
    int64_t        step[BKT_MAX_RANK];
    unsigned       hits;    /* times that the step was the same */
    unsigned       misses;  /* predictions in a row that nobody used: each doubles the hits that are asked for */
    uint64_t       posted;  /* steps behind `last` that jobs were made for */
    unsigned       depth;   /* how many to be ahead at most */
    bool           late;    /* the program had to wait for one of them */
};

/** A file that references point into. */
struct bkt_chunk_file {
    char             *uri, *key;
    struct bkt_store *store; /* the domain's */
    bool              own_store; /* pieces of several files, joined */
    char             *etag;  /* If-Match for every range, where one is recorded; NULL: none */
    struct bkt_version *version; /* compared where no ETag is recorded; NULL: not */
    uint64_t          space; /* of its ranges in the cache */
    struct bkt_cache *cache; /* that of `hold`; NULL: none */
    struct bkt_cname *hold;  /* of `space` */
    uint64_t          base;  /* in that space, of the file's first byte */
    unsigned          rank;  /* order of first use: what ranges are sorted by */
    bool              object; /* a chunk object of the domain whose bytes are the elements: it may be absent */
};

enum bkt_where { BKT_AT_NONE, BKT_AT_OBJECTS, BKT_AT_CONTIGUOUS, BKT_AT_CHUNKS, BKT_AT_TABLE };

struct bkt_dsetio {
    struct bkt_domain         *dom;
    const struct bkt_object   *obj;
    char                      *path;  /* that the program came by, for messages; NULL: unknown */
    const struct bkt_dset     *ds;
    const struct bkt_settings *set;
    struct bkt_cache          *cache; /* NULL: none */
    uint64_t                   space; /* of its decoded chunks in the cache */
    uint64_t                   slice_space; /* of parts of its chunk objects: chunk n begins at n * chunk_bytes */
    struct bkt_cname          *holds[2];    /* of both */
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
    struct bkt_pattern         pattern;     /* how the program reads it; not under the lock */
    struct bkt_err             bad;         /* code != 0: why no element can be read */
    struct bkt_err             bad_fill;    /* why a missing chunk can't be filled */
    pthread_mutex_t            lock;        /* guards what follows */
    struct bkt_map            *files;       /* uri -> struct bkt_chunk_file */
    struct bkt_dsetio         *table;
    struct bkt_table_first    *first;       /* of the table, on its way; NULL: not requested */
    bool                       shared;      /* bkt_dsetio_share(): doesn't keep the domain open */
    struct bkt_found_chunk    *found;       /* TABLE: what stands for the table, by index; NULL: nothing does */
    size_t                     n_found;
    bool                       hdf5;        /* OBJECTS: chunk objects hold what HDF5's own filters made (pipe) */
    /* For who only asks where chunks lie; set right after opening. */
    bool                       places_only; /* files are named, not opened: nothing can be read */
    void (*bad_place)(const uint64_t *coord, const struct bkt_err *why, void *arg); /* told of each chunk whose place can't be
                                               right, which is left out then; NULL: the first of them is an error */
    void                      *bad_arg;
};

/** "dataset /v (d-…) chunk 3_4", for messages. */
struct bkt_chunk_label {
    char text[BKT_ID_LEN + 250];
};
/** "dataset /v (d-…)" */
struct bkt_chunk_label bkt_dsetio_label(const struct bkt_dsetio *io);
struct bkt_chunk_label bkt_chunk_label(const struct bkt_dsetio *io, const uint64_t *coord);

/** The extent may have become another one in place: what is cached under numbers of the old one is not found any more. */
void bkt_dsetio_follow(struct bkt_dsetio *io);

/** A copy for what belongs to the domain itself: it keeps neither the domain nor the dataset.  Chunk objects only. */
BKT_NODISCARD int bkt_dsetio_share(const struct bkt_dsetio *io, struct bkt_dsetio **out, struct bkt_err *err);

/* ---- codec_of.c, hsds_encode.c, pipeline_of.c ---- */
/** What a native dataset's filter list comes down to in HSDS (hsds_codec.c). */
void bkt_codec_of(const struct bkt_dset *ds, const struct bkt_settings *set, size_t chunk_bytes, struct bkt_hsds_codec *out);
/** What HSDS would store of n bytes of elements (fixed-size, or serialised), replacing what is in @p out. */
BKT_NODISCARD int bkt_hsds_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, const void *src, size_t n,
                                  struct bkt_buf *out, struct bkt_err *err);
/** HDF5's pipeline of chunks in HDF5 files, parameters completed from the type and the chunk where the list is silent. */
BKT_NODISCARD int bkt_pipeline_of(const struct bkt_dset *ds, uint64_t chunk_elems, bkt_filter_find *find, void *arg,
                                  struct bkt_pipeline *out, struct bkt_err *err);
/* ---- fill.c ---- */
/** One element of zeros in stored form. */
BKT_NODISCARD int bkt_zero_element(const struct bkt_type *t, struct bkt_buf *out);
/** What elements @p first .. +n-1 of the chunk at @p coord read as when the chunk isn't stored. */
void bkt_fill_run(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t first, uint64_t n, unsigned char *dst);
/** Whether a native chunk that isn't stored can be made up at all. */
BKT_NODISCARD int bkt_fill_check(const struct bkt_dsetio *io, const uint64_t *coord, bool native, struct bkt_err *err);

/* ---- var.c ---- */
/** Find where each element of a decoded variable-length chunk begins; takes @p bytes over. */
BKT_NODISCARD int bkt_var_index(const struct bkt_dsetio *io, struct bkt_buf *bytes, struct bkt_centry **out, struct bkt_err *err);

/* ---- locate.c, chunk_table.c, table_walk.c ---- */
struct bkt_loc {
    struct bkt_chunk_file *file; /* NULL: unallocated */
    uint64_t               off, size;
    uint32_t               mask;
};
struct bkt_locate { /* one dataset's question */
    struct bkt_dsetio *io;
    const uint64_t    *coords; /* n * io->rank, in grid order */
    size_t             n;
    struct bkt_loc    *out;
};
/** Where reference chunks lie.  Chunk tables of all questions are read as one plan. */
BKT_NODISCARD int bkt_locate(struct bkt_locate *q, size_t n, struct bkt_err *err);
/** Whether that range can hold a chunk at all; BKT_EFORMAT: it can't. */
BKT_NODISCARD int bkt_locate_check(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t off, uint64_t size,
                                   struct bkt_err *err);
/** The filters that were left out of a chunk of @p size stored bytes: those @p recorded with it, and a checksum that there is no room
 *  for. */
uint32_t bkt_locate_mask(const struct bkt_dsetio *io, uint32_t recorded, uint64_t size);
/** A file by URI, under the domain's policy; asked once per URI.  Borrowed from @p io.
 *  @p etag: what the file's was when it was linked, or its stamp (model.h); NULL or "": unknown.  BKT_EPRECOND: it changed. */
BKT_NODISCARD int bkt_locate_file(struct bkt_dsetio *io, const char *uri, size_t n_uri, const char *etag,
                                  struct bkt_chunk_file **out, struct bkt_err *err);
/** The file, or the joined pieces of files, that the layout itself names. */
BKT_NODISCARD int bkt_locate_layout_file(struct bkt_dsetio *io, struct bkt_chunk_file **out, struct bkt_err *err);
void              bkt_chunk_file_free(void *file);
/** @p grid: chunks per dimension, becomes no larger than the chunk table: nothing is allocated beyond it.
 *  @p some: false: the table is empty. */
BKT_NODISCARD int bkt_chunk_table_clip(struct bkt_dsetio *io, uint64_t *grid, bool *some, struct bkt_err *err);
/** All chunks of a dataset that isn't stored as objects, in grid order; @p grid, chunks per dimension, changes. */
BKT_NODISCARD int bkt_chunk_table_each(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg, struct bkt_err *err);
/* ---- table_first.c: of a dataset that is found by a chunk table ---- */
/** Put what came of the table's first chunk into the cache; io->table was just opened. */
void bkt_table_first_keep(struct bkt_dsetio *io);
/** Wait for the request and forget it. */
void bkt_table_first_free(struct bkt_dsetio *io);
/** The rows of chunk tables; called by bkt_locate(). */
BKT_NODISCARD int bkt_chunk_table_rows(struct bkt_locate *q, size_t n, struct bkt_err *err);

#endif
