/* Region references of the old kind (H5T_STD_REF_DSETREG, H5R_DATASET_REGION of HDF5 1.8).
 *
 * Their 12 bytes are a place in a file's heap.  There HDF5 finds an object's address and a selection.
 * H5Rget_region() reads the dataset's extent at that address.  With native_header.h the file is one in
 * memory.  So a dataset that is referred to gets a shadow there, an empty dataset of the same extent.  The
 * shadow's address stands for the dataset in old references (token.c). */
#pragma once

#include "vol/core/vol.h"

/** The shadow of a dataset with its present extent, made on first use, as a token; false:
 * old calls are off. */
bool bkt_region_shadow_token(const struct bkt_object *dset, H5O_token_t *out);

/** H5Rcreate() and H5Rcreate_object() both ask for an object's place.  Only H5Rcreate() asks before for the
 *  connector's class, and only H5Rcreate() must get the shadow.  H5Rcreate_object() asks before for the size
 *  of a token.  The state is the process's; the thread that has HDF5's lock changes and reads it.  The order
 *  is that of the HDF5 versions of native_header.h; other versions have no shadows. */
void bkt_region_shadow_was_asked_for_class(void);
void bkt_region_shadow_was_asked_for_token_size(void); /* no old call follows */
bool bkt_region_shadow_is_old_call(void);              /* HDF5 asked for the class last */

/** The 12 bytes for a stored region reference (its text, see reference_text.h); zeros for a null reference.
 * If its dataset was deleted, they are made up, and lead nowhere. */
BKT_NODISCARD int bkt_region_shadow_handle(struct bkt_vobj *in_file, const struct bkt_slice *text,
                                           unsigned char out[H5R_DSET_REG_REF_BUF_SIZE], struct bkt_err *err);
/** The text for such 12 bytes, appended to @p out; nothing for zeros.  BKT_EINVAL: they lead to no dataset of
 * the domain, or old calls are off and the bytes unknown; BKT_EHDF5; BKT_ENOMEM. */
BKT_NODISCARD int bkt_region_shadow_text(struct bkt_vobj *in_file,
                                         const unsigned char handle[H5R_DSET_REG_REF_BUF_SIZE],
                                         struct bkt_buf *out, struct bkt_err *err);
