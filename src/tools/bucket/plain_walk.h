/* Walking a plain HDF5 file as walk.h walks a domain: every link once, every object once. */
#pragma once

#include <hdf5.h>

#include "tools/bucket/walk.h"
#include "schema/model/model.h"
#include "tools/source/key_list.h"

struct plain_step {
    struct bkt_step    s;
    hid_t id; /* of the object; < 0: a soft or external link, or an object that can't be read */
    const H5O_info2_t *info; /* the same */
};

/** Walk objects by hard links from @p path, a group's members by name.
 * @param file    open, of HDF5's native connector
 * @param levels  depth: 0 the object alone, 1 its members, …
 * @param attrs   whether the attributes are read
 * @param each    a negative return stops the walk and is returned
 * @return BKT_OK even if objects can't be read: @p each gets the reason; BKT_ENOENT: @p
 * path names no object */
BKT_NODISCARD int plain_walk(hid_t file, const char *path, unsigned levels, bool attrs,
                             int (*each)(const struct plain_step *s, void *arg), void *arg,
                             struct bkt_err *err);

/** Count the chunks and bytes of an open dataset.  Data that are not chunked count as one chunk; those of
 *  other files (virtual) are left out.
 * @param uri  the name of the file that has it
 * @param out  bkt_where_fini() */
BKT_NODISCARD int plain_where(hid_t dset, const char *uri, struct bkt_extent_use *out, struct bkt_err *err);
