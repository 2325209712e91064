/* The two halves of h5bucket diff: objects (cmd_diff.c) and values (diff_value.c). */
#ifndef BKT_DIFF_H
#define BKT_DIFF_H

#include <hdf5.h>
#include <stdbool.h>

#include "tools/show/json_out.h"
#include "base/map.h"
#include "tools/cli/tool.h"

struct bkt_diff {
    struct bkt_tool *t;
    struct bkt_jout  j;
    bool             quiet, no_data;
    uint64_t         n;    /* differences */
    struct bkt_map  *seen; /* pairs of tokens that were compared */
    struct bkt_err  *err;
};

/** Report a difference.  @p what: a word for programs. */
void bkt_diff_tell(struct bkt_diff *d, const char *path, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** Compare the elements of two attributes or datasets of equal type and extent. */
BKT_NODISCARD int bkt_diff_attr(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name);
BKT_NODISCARD int bkt_diff_data(struct bkt_diff *d, hid_t a, hid_t b, const char *path);

#endif
