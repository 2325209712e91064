/* The connector's own optional operation of files: whether a call failed because no server answered.
 *
 * A library of the program may be another copy of the connector's code than the plugin is.  So it asks
 * through HDF5. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

/** Make the operation known to HDF5 when the connector starts, unless another copy of it has; negative: HDF5
 *  refused. */
herr_t bkt_outage_register(void);

/** Whether @p args is this operation. */
bool bkt_outage_is_asked(const H5VL_optional_args_t *args);
/** Answer it: true if the last call of this connector that failed in this thread has met an outage. */
void bkt_outage_answer(H5VL_optional_args_t *args);

/** Ask the connector of an open file about the last failure, if bkt_h5err_is_on_stack() showed one.  False:
 *  no outage, or another connector's file.  HDF5's error stack is lost. */
bool bkt_outage_ask(hid_t file);
