/* Objects of a plain HDF5 file as those of the model, for the verbs that show them. */
#ifndef PLAIN_OBJECT_H
#define PLAIN_OBJECT_H

#include <hdf5.h>

#include "schema/model/model.h"
#include "tools/source/key_list.h"

/** The object of the model for an open object of HDF5's native connector.
 * @param info   of the object, with H5O_INFO_BASIC and H5O_INFO_TIME
 * @param attrs  whether the attributes are read
 * @param out    bkt_object_release().  The id is the object's address in the file.  A group has no links.
 *               Attributes that hold references have no value
 * @return BKT_OK; BKT_EUNSUP: HDF5 has a kind of object that the model lacks; BKT_EHDF5 */
BKT_NODISCARD int plain_object(hid_t obj, const H5O_info2_t *info, bool attrs, struct bkt_object **out,
                               struct bkt_err *err);

/** Count the chunks and bytes of an open dataset.  Data that are not chunked count as one chunk; those of
 *  other files (virtual) are left out.
 * @param uri  the name of the file that has it
 * @param out  bkt_where_fini() */
BKT_NODISCARD int plain_where(hid_t dset, const char *uri, struct bkt_extent_use *out, struct bkt_err *err);

#endif
