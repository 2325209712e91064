/* The parts of h5bucket info: domains (cmd_info.c) and plain HDF5 files (info_file.c). */
#ifndef BKT_INFO_H
#define BKT_INFO_H

#include "tools/cli/tool.h"
#include "tools/show/json_out.h"
#include "tools/source/plain_name.h"

/** Count a plain file's objects and print the record, after no domain could be opened.
 * @param rc, why  the reason for that
 * @return an exit code; a failure was reported */
int bkt_info_file(struct bkt_tool *t, struct plain_file *p, int rc, const struct bkt_err *why,
                  struct bkt_jout *j);

#endif
