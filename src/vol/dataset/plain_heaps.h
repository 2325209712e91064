/* Elements with variable-length parts, or with region references, hold addresses of global heap collections
 * (HDF5 File Format Specification, III.E).  HDF5 reads one collection after the other.  Here all collections
 * that a selection names are fetched side by side, before HDF5 reads. */
#ifndef BKT_PLAIN_HEAPS_H
#define BKT_PLAIN_HEAPS_H

#include "vol/dataset/plain_read.h"

/** @param addr  bytes of an address in the file
 *  @return false: the form of such elements in the file isn't known */
bool bkt_heap_spots_of(hid_t type, unsigned addr, struct bkt_heap_spots *out);
void bkt_heap_spots_fini(struct bkt_heap_spots *s);

/* Bytes of the smallest collection, which is also the usual one; of the largest that is read here; before a
 * collection's first object, and before an object's data. */
#define BKT_HEAP_SMALLEST ((uint64_t)4096)
#define BKT_HEAP_LARGEST  ((uint64_t)16 << 20)
#define BKT_HEAP_HEAD     16
/** Bytes of the collection at @p at in the file; 0: its head isn't here, or isn't that of a collection, or it
 *  is too large, or reaches beyond the file's end. */
uint64_t bkt_heap_size(const struct bkt_shadow *s, uint64_t at);

/** Elements in stored form. */
struct bkt_heap_elems {
    unsigned char *p;
    uint64_t       n; /* elements that were put there */
};
/** Fetch the bytes that HDF5 will read for the selection, within a budget: the chunks, and the collections that
 *  they name.  The places of the chunks are known.  Damaged elements are left to HDF5.
 *  @param raw  NULL, or room for all elements, which go there in selection order; raw->n shows whether any
 *              are missing.  If none is, bkt_sequences_give() fetches the collections. */
BKT_NODISCARD int bkt_heaps_fetch(struct bkt_shadow *s, const struct bkt_sel *sel, struct bkt_heap_elems *raw,
                                  struct bkt_err *err);

/** Make the program's values of stored elements of a simple shadow.  Their collections are fetched meanwhile,
 *  some MiB ahead.
 *  @param to     @p n values, packed
 *  @param given  false: HDF5 has to read the elements, and nothing was given; also on failure */
BKT_NODISCARD int bkt_sequences_give(const struct bkt_shadow *s, const unsigned char *stored, size_t n, hid_t dxpl,
                                     unsigned char *to, bool *given, struct bkt_err *err);

/** Read dataset @p i of the call by the native connector, in pieces whose bytes are fetched first. */
BKT_NODISCARD int bkt_heaps_read(struct bkt_shadow *s, const struct bkt_io *io, size_t i, struct bkt_err *err);

#endif
