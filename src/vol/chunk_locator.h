/* Initializer "chunklocator": what `hsload --fastlink` leaves of a chunk table.  HSDS runs a program at the
 * first read that looks for the chunks in the HDF5 file and stores the table; here the client looks, and stores nothing. */
#ifndef BKT_CHUNK_LOCATOR_H
#define BKT_CHUNK_LOCATOR_H

#include "vol.h"

/** If the chunk table of dataset @p o isn't stored and is to be made by chunklocator: open the HDF5 file in place, by ranges, and
 *  give the locations to @p io.  Otherwise nothing.  Which files may be opened is the rule of references.
 * @return BKT_OK; BKT_EACCES: not allowed; BKT_EFORMAT: that dataset of the file has another shape, or no chunks */
BKT_NODISCARD int bkt_chunk_locator_run(struct bkt_vobj *o, struct bkt_dsetio *io, struct bkt_err *err);

#endif
