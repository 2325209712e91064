/* The connector, with every callback of its table recorded before it is passed on: the member of
 * H5VL_class_t, the operation, the kind of place.  HDF5 gets the plugin's own table under the plugin's name;
 * nothing else of it is changed. */
#ifndef BKT_H5_CALLBACKS_SEEN_H
#define BKT_H5_CALLBACKS_SEEN_H

#include <H5VLconnector.h>
#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

enum seen_kind {
    SEEN_MEMBER, /* which: offset in H5VL_class_t */
    SEEN_LOC,    /* H5VL_OBJECT_BY_… */
    SEEN_ATTR_GET,
    SEEN_ATTR_SPECIFIC,
    SEEN_DATASET_GET,
    SEEN_DATASET_SPECIFIC,
    SEEN_DATATYPE_GET,
    SEEN_DATATYPE_SPECIFIC,
    SEEN_FILE_GET,
    SEEN_FILE_SPECIFIC,
    SEEN_GROUP_GET,
    SEEN_GROUP_SPECIFIC,
    SEEN_LINK_CREATE,
    SEEN_LINK_GET,
    SEEN_LINK_SPECIFIC,
    SEEN_OBJECT_GET,
    SEEN_OBJECT_SPECIFIC,
    SEEN_KINDS
};

/** Give HDF5 the plugin of $HDF5_PLUGIN_PATH.  H5VLclose(), when all files are closed; negative: why was
 *  printed. */
hid_t seen_register(void);
void  seen_clear(void);
bool  seen(enum seen_kind kind, size_t which);
/** The plugin has no such callback at all: by its offset in H5VL_class_t. */
bool  seen_absent(size_t member);

#endif
