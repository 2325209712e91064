/* Files on the command line: lines, and whole contents. */
#ifndef SAMPLE_LINES_H
#define SAMPLE_LINES_H

#include "base/bytes.h"
#include "base/list.h"

/** Append the lines of a file that are not empty; "-" is standard input. */
BKT_NODISCARD int sample_lines(const char *name, struct bkt_strs *out, struct bkt_err *err);
/** Append a whole file. */
BKT_NODISCARD int sample_file(const char *name, struct bkt_buf *out, struct bkt_err *err);

#endif
