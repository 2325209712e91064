/* Names of samples on the command line, and their records.
 *
 *   00:uid:digest:dataset:row:shape      a record, of any grammar
 *   [BRANCH:]COLUMN                      all samples of a column
 *   [BRANCH:]COLUMN/SAMPLE[/SUBSAMPLE]   one sample; of a nested column, all or one of its subsamples */
#pragma once

#include "base/bytes.h"
#include "base/list.h"
#include "samples/names/repository_names.h"

struct selection {
    struct bkt_strs records, names; /* one name for each record, as it would be given */
};

/** Append the samples of one argument.
 *  @param names  NULL: the repository has none, and only records can be given
 *  @return BKT_OK; BKT_ENOENT: the repository lacks the branch, column or sample; BKT_EINVAL; BKT_EFORMAT;
 * ... */
BKT_NODISCARD int selection_add(struct selection *s, struct bkt_repository_names *names, const char *arg,
                                struct bkt_err *err);
void selection_fini(struct selection *s);

/** Whether a text begins like a record. */
bool selection_is_record(const char *arg);

/** The name of a sample: COLUMN/SAMPLE[/SUBSAMPLE]. */
BKT_NODISCARD int selection_name(const struct bkt_named_sample *s, struct bkt_buf *out);

/** Append the lines of a file that are not empty; "-" is standard input. */
BKT_NODISCARD int sample_lines(const char *name, struct bkt_strs *out, struct bkt_err *err);
/** Append a whole file. */
BKT_NODISCARD int sample_file(const char *name, struct bkt_buf *out, struct bkt_err *err);
