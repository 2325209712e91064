/* New files of a repository: their collections and attributes, by the rules of the format. */
#ifndef BKT_SAMPLES_NEW_FILE_H
#define BKT_SAMPLES_NEW_FILE_H

#include "samples/collections.h"
#include "samples/filters.h"
#include "samples/h5bucket_samples.h"

/** The form of all files of a writer. */
struct bkt_sample_form {
    struct bkt_collections rules;
    struct bkt_sample_filters filters;
    hid_t type; /* of elements, in files and in memory */
    int number; /* numpy's, of that type */
    bool plain; /* plain HDF5 files with SWMR, else domains */
    bool sync;  /* a flush of a plain file reaches the disk */
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

#endif
