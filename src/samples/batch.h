/* A batch of samples on its way: resolved records, their places, and the bytes that were read. */
#pragma once

#include "samples/repository.h"

/** One sample of a batch. */
struct bkt_item {
    struct h5bucket_sample *sample;    /* the program's; gets status and error */
    struct h5bucket_record  record;
    struct bkt_item *same; /* an earlier one with the same record, whose bytes are copied; NULL: none */
    struct bkt_sample_file *file;      /* borrowed; NULL: not found yet */
    struct bkt_sample_dset *dset;
    bool                    flat;      /* stored as a row of elements, whatever its shape */
    uint64_t                n;         /* elements */
    size_t                  bytes;     /* as stored */
    size_t                  out_bytes; /* in the program's type */
    bool                    converts;  /* the program's type differs from the stored one */
    unsigned char          *at;        /* the stored bytes: the program's buffer, or `staged` */
    unsigned char          *staged;    /* owned; NULL: read straight into the program's buffer */
    uint64_t                digest;    /* of the stored bytes */
    int                     rc;        /* BKT_OK, or the sample has failed */
};

/** A batch.  `type`: of elements in memory; negative: as stored. */
struct bkt_sample_batch {
    struct h5bucket_repository *repo;
    hid_t                       type;
    size_t                      type_size;
    struct bkt_item            *items;
    size_t                      n;
    struct bkt_item           **todo; /* items to be read now */
    size_t                      n_todo;
};

/** Let one sample fail with @p err; its error names the record. */
void bkt_item_fail(struct bkt_item *it, int rc, const struct bkt_err *err);

/** Read the stored bytes of all items in `todo` by as few calls of HDF5 as possible.  Items that can't be
 * read fail. */
void bkt_sample_batch_read(struct bkt_sample_batch *b);

/** Compute and compare the digests of all items in `todo` that were read, on worker threads if they are long.
 * Items with another digest fail. */
void bkt_sample_batch_verify(struct bkt_sample_batch *b);

/** The digest of a sample: xxh64 with seed 0 of its @p n bytes, as they are stored.  @p p may be NULL if n is
 * 0. */
uint64_t bkt_sample_digest(const void *p, size_t n);
