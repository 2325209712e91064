/* Initializer "chunklocator": `hsload --fastlink` writes it in place of a chunk table.  At the first read
 * HSDS runs a program that looks for the chunks in the HDF5 file and stores the table.  Here the client
 * looks, and stores nothing. */
#ifndef BKT_CHUNK_LOCATOR_H
#define BKT_CHUNK_LOCATOR_H

#include "vol/core/vol.h"

/** If the chunk table of dataset @p o isn't stored and chunklocator is to make it: open the HDF5 file in
 *  place, by ranges, and give the locations to @p io.  Otherwise do nothing.  The rule of references
 *  decides which files may be opened.
 *  @return BKT_OK; BKT_EACCES: not allowed; BKT_EFORMAT: that dataset of the file has another shape, or no
 *  chunks */
BKT_NODISCARD int bkt_chunk_locator_run(struct bkt_vobj *o, struct bkt_dsetio *io, struct bkt_err *err);

#endif
