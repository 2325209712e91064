/* The parts of h5bucket get: a domain's content as an HDF5 file (cmd_get.c), and a plain file as it is
 * (get_file.c). */
#ifndef BKT_GET_H
#define BKT_GET_H

#include "tools/cli/tool.h"
#include "tools/source/plain_name.h"

struct bkt_got {
    uint64_t bytes, kept; /* of the file; those that an earlier download had brought */
};

/** Download the plain file in a store whose first bytes were asked for (plain_file_ask()).  The next call
 * goes on with a download that fails.
 * @param file  the new name
 * @param out   set on success */
BKT_NODISCARD int bkt_get_file(struct bkt_tool *t, struct plain_file *p, const char *file,
                               struct bkt_got *out, struct bkt_err *err);

#endif
