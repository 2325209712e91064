/* Records of samples: text <-> struct h5bucket_record.
 *
 * Records come from outside.  After parsing, the uid is a file's name without folders.  Each dimension and
 * the number of elements are less than 2^63. */
#pragma once

#include "base/err.h"
#include "samples/h5bucket_samples.h"

/** Whether @p uid has only letters, digits, `_` and `-`, at least one, and less than H5BUCKET_UID_MAX. */
bool bkt_uid_ok(const char *uid, size_t n);

/** h5bucket_record_parse() without HDF5's error stack.  BKT_EINVAL: not a record. */
int bkt_sample_record_parse(const char *text, size_t n, struct h5bucket_record *out, struct bkt_err *err);
/** h5bucket_record_emit() without HDF5's error stack.  BKT_EINVAL: the record has no such text; BKT_ENOMEM */
int bkt_sample_record_emit(const struct h5bucket_record *r, int grammar, char text[H5BUCKET_RECORD_MAX],
                           struct bkt_err *err);

/** The number of elements, 1 for a scalar.  False: it does not fit. */
bool bkt_sample_record_elements(const struct h5bucket_record *r, uint64_t *out);

#define BKT_SAMPLE_RECORD_SHOWN 128
/** A record's bytes for messages: cut, and without control characters. */
const char *bkt_sample_record_show(const char *text, size_t n, char out[BKT_SAMPLE_RECORD_SHOWN]);
