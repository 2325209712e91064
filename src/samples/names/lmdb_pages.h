/* The pages of an LMDB file, checked before liblmdb sees them: it trusts each number in them. */
#ifndef BKT_SAMPLES_LMDB_PAGES_H
#define BKT_SAMPLES_LMDB_PAGES_H

#include <stddef.h>

#include "base/err.h"

/** Check all pages that a reader of the main database can reach: page numbers, kinds, places and lengths of
 * nodes, order of keys, equal depth, no page in two places.  Then write both meta pages anew, without a list
 * of free pages.
 *
 *  @param bytes  the file's bytes, a copy that no other program changes; aligned to 8
 *  @return BKT_OK; BKT_EFORMAT: not an LMDB file, cut or damaged; BKT_EUNSUP: of another kind of machine;
 * BKT_ENOMEM */
BKT_NODISCARD int bkt_lmdb_check(unsigned char *bytes, size_t n, struct bkt_err *err);

#endif
