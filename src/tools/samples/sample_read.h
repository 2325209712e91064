/* Samples read in batches, each verified. */
#ifndef SAMPLE_READ_H
#define SAMPLE_READ_H

#include "tools/samples/sample.h"

#define SAMPLE_BATCH 256 /* samples that are read side by side */

/** Find a sample's size before memory is reserved for it: of its collection, not only of its record.
 *  @param bytes  as stored */
BKT_NODISCARD int sample_measure(struct sample_tool *s, const char *record, size_t *bytes,
                                 struct bkt_err *err);

/** Read @p n records, as many side by side as memory allows.  @p each is called for each, in order; a
 * negative return ends this and is returned.
 *  @param i  the number of the record; the sample's buffer is valid during the call, if its status is not
 * negative */
BKT_NODISCARD int sample_read_each(struct sample_tool *s, char *const *records, size_t n,
                                   int (*each)(void *arg, size_t i, const struct h5bucket_sample *sample),
                                   void *arg, struct bkt_err *err);

#endif
