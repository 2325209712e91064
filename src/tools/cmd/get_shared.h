/* h5bucket get by the processes of an mpirun: all of them fetch and decode, the first one writes the file. So
 * the file may lie on a disk that only that process's node has. */
#pragma once

#include <hdf5.h>

#include "tools/cli/tool.h"
#include "tools/source/download.h"
#include "vol/copy/copier.h"

/** A copy of a domain's datasets, in the first process. */
struct bkt_get_shared;
/** Begin.  NULL in *out: this process is alone. */
BKT_NODISCARD int bkt_get_shared_begin(const struct bkt_copier_options *o, struct bkt_get_shared **out,
                                       struct bkt_err *err);
/** 1: the dataset's elements will be written by other calls of this header; 0: copy them now. */
BKT_NODISCARD int bkt_get_shared_dataset(struct bkt_get_shared *g, hid_t src, hid_t dst, const char *path,
                                         struct bkt_err *err);
/** Write what is left.  @p rc: the outcome so far */
BKT_NODISCARD int bkt_get_shared_end(struct bkt_get_shared *g, int rc, struct bkt_err *err);

/** As download_run() of the file @p name, in the first process. */
BKT_NODISCARD int bkt_get_shared_download(const struct download *d, const char *name, struct part_file *p,
                                          struct bkt_err *err);

/** The other processes: fetch until the first one ends. */
int bkt_get_shared_serve(struct bkt_tool *t);
