/* Chunk tables of `hsload --fastlink`. */
#ifndef CHUNKS_FILL_H
#define CHUNKS_FILL_H

#include <hdf5.h>

#include "base/err.h"

/** Make and store those chunk tables of a domain that are not stored yet.
 * @param fapl  of the connector
 * @param n     number of tables made
 * @return BKT_OK; BKT_EACCES: not writable, or the files may not be read (allow); … */
BKT_NODISCARD int chunks_fill(const char *domain, hid_t fapl, unsigned *n, struct bkt_err *err);

#endif
