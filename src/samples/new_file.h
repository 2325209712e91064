/* New files of a repository: their collections and attributes, by the rules of the format. */
#pragma once

#include "samples/h5bucket_samples.h"
#include "samples/sample_filters.h"

/* ---- the rules of both formats: how many collections a file has, their extents and chunks, and where a
 * sample lies in them.  Pure: no HDF5 but its types.
 *
 * Format 00 keeps each sample flat, in a row of 250 x P elements, P elements being the schema's.  Format 01
 * keeps its dimensions, in 100 rows, and each dimension is padded to whole chunks. ---- */

#define BKT_COLLECTIONS 100 /* datasets "0" to "99" of a file; the last one is never filled */

struct bkt_collections {
    int format; /* 0 or 1 */
    int rank;   /* of the schema's samples */
    hsize_t shape[H5S_MAX_RANK];
    uint64_t item;     /* bytes of an element */
    uint64_t elements; /* of the largest sample; 0: samples have no elements */
    unsigned rows;     /* samples in a collection */
    int dims;          /* of a dataset, whose first one is the row */
    hsize_t extent[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    uint64_t chunk_bytes;
    uint64_t rdcc_nbytes, rdcc_nslots; /* the chunk cache that the format's attributes propose */
};
#define BKT_RDCC_W0 0.75

/** The collections for samples of up to @p shape, of elements of @p item bytes.
 *  @return BKT_OK; BKT_EINVAL: no such format, a rank or shape that HDF5's datasets can't have */
BKT_NODISCARD int bkt_collections_init(struct bkt_collections *c, int format, int rank, const hsize_t *shape,
                                       size_t item, struct bkt_err *err);

/** Check the shape of a sample, and count its elements.
 *  @param variable  it may be smaller than the schema's
 *  @return BKT_OK; BKT_EINVAL: it doesn't fit; the message names the dimension */
BKT_NODISCARD int bkt_collections_fits(const struct bkt_collections *c, bool variable, const hsize_t *shape,
                                       uint64_t *elements, struct bkt_err *err);

/** The block of a dataset that holds a sample of @p shape in @p row: c->dims starts and counts. */
void bkt_collections_block(const struct bkt_collections *c, unsigned row, const hsize_t *shape,
                           hsize_t *start, hsize_t *count);

/* ---- files ---- */

/** The form of all files of a writer. */
struct bkt_sample_form {
    struct bkt_collections rules;
    struct bkt_sample_filters filters;
    hid_t type; /* of elements, in files and in memory */
    int number; /* numpy's, of that type */
    bool plain; /* plain HDF5 files with SWMR, else domains */
    bool sync;  /* a flush of a plain file reaches the disk */
    bool in_bucket; /* names without a scheme are in the default bucket */
};

/** The form that a schema and the repository's settings ask for.
 *  @return BKT_OK; BKT_EINVAL, BKT_EUNSUP: the message names the member of the schema */
BKT_NODISCARD int bkt_sample_form_init(struct bkt_sample_form *form,
                                       const struct h5bucket_samples_schema *schema,
                                       const struct h5bucket_repository *repo, struct bkt_err *err);
/** Members that are zero are left alone, but for the type: H5I_INVALID_HID. */
void bkt_sample_form_fini(struct bkt_sample_form *form);

/** Create a file under a new uid, with empty collections, and store it.
 *  @param uid   gets the uid
 *  @param file  gets the open file, owned by the caller
 *  @return BKT_OK; BKT_EUNSUP: a plain file is asked for outside of a folder; BKT_EIO, BKT_EHDF5: it can't be
 *          created, and nothing of it is left unless that fails, too */
BKT_NODISCARD int bkt_sample_file_create(const struct h5bucket_repository *repo,
                                         const struct bkt_sample_form *form, char uid[H5BUCKET_UID_MAX],
                                         hid_t *file, struct bkt_err *err);

/** Write the place of the next sample into the file's attributes, and store the file. */
BKT_NODISCARD int bkt_sample_file_flush(hid_t file, const struct bkt_sample_form *form, unsigned collection,
                                        unsigned row, struct bkt_err *err);
