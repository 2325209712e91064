/* Elements with variable-length parts, or with region references, hold addresses of global heap collections
 * (HDF5 File Format Specification, III.E).  HDF5 reads one collection after the other.  Here all collections
 * that a selection names are fetched side by side, before HDF5 reads. */
#pragma once

#include "vol/dataset/plain/plain_read.h"

/* Bytes of the smallest collection, which is also the usual one; of the largest that is read here; before a
 * collection's first object, and before an object's data. */
#define BKT_HEAP_SMALLEST ((uint64_t)4096)
#define BKT_HEAP_LARGEST  ((uint64_t)16 << 20)
#define BKT_HEAP_HEAD     16
/** Bytes of the collection at @p at in the file; 0: its head isn't here, or isn't that of a collection, or it
 *  is too large, or reaches beyond the file's end. */
uint64_t bkt_heap_size(const struct bkt_plain_dataset *s, uint64_t at);

struct bkt_sequences;

/** Make the program's values of stored elements (BKT_PLAIN_STRINGS, BKT_PLAIN_SEQUENCES).
 *  @param n   elements
 *  @param to  room for as many values, packed */
BKT_NODISCARD int bkt_sequences_new(const struct bkt_plain_dataset *s, size_t n, hid_t dxpl,
                                    unsigned char *to, struct bkt_sequences **out, struct bkt_err *err);
/** Elements from number @p first on, each once.  Elements that come in order are given at once, if their
 *  collections are here or on their way.  Others are kept.
 *  @param given  the number of the first elements that need no collections any more */
BKT_NODISCARD int bkt_sequences_take(struct bkt_sequences *q, size_t first, const unsigned char *stored,
                                     size_t n, size_t *given, struct bkt_err *err);
/** Before the caller fetches other bytes of the file. */
void bkt_sequences_pause(struct bkt_sequences *q);
/** Give the elements that were kept.  Their collections are fetched during the call, some MiB ahead.
 *  @param given  false: HDF5 has to read the elements */
BKT_NODISCARD int bkt_sequences_end(struct bkt_sequences *q, bool *given, struct bkt_err *err);
/** Values that were given are freed, unless all were given. */
void bkt_sequences_free(struct bkt_sequences *q);

/** Read dataset @p i of the call by the native connector, in pieces whose bytes are fetched first. */
BKT_NODISCARD int bkt_heaps_read(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i,
                                 struct bkt_err *err);
