/* The two halves of h5bucket diff: objects, and blocks that processes share (cmd_diff.c); values
 * (diff_value.c). */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "base/map.h"
#include "tools/cli/tool.h"
#include "tools/show/json_out.h"
#include "vol/dataset/extent_blocks.h"

struct bkt_diff {
    struct bkt_tool *t;
    bool             quiet, no_data;
    uint64_t         n;    /* differences */
    struct bkt_map  *seen; /* pairs of tokens that were compared */
    struct bkt_err  *err;
    hid_t fa, fb;                   /* both files */
    struct bkt_diff_shared *shared; /* NULL: this process is alone */
    struct bkt_diff_pair *pair;     /* diff_value.c: the dataset of the last block that was shared */
};

/** Report a difference.  @p what: a word for programs.  Gives BKT_OK. */
int bkt_diff_report(struct bkt_diff *d, const char *path, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** Report different elements of a dataset.
 *  @param whole  its extent
 *  @param bad    number of different elements, of @p n
 *  @param first  the first of them, row-major */
void bkt_diff_report_data(struct bkt_diff *d, const char *path, const struct bkt_blocks *whole, uint64_t bad,
                          uint64_t first, uint64_t n);

/** Compare one block of the dataset @p path in both files.
 *  @param at     at, count and n are set
 *  @param bad    gets the number of different elements
 *  @param first  gets the first of them, row-major in the dataset, if there is one */
BKT_NODISCARD int bkt_diff_one_block(struct bkt_diff *d, const char *path, const struct bkt_blocks *at,
                                     uint64_t *bad, uint64_t *first);
/** Close the pair of datasets that bkt_diff_one_block() opened last; there may be none. */
void bkt_diff_pair_free(struct bkt_diff *d);

/** bkt_diff_attr() and bkt_diff_data() compare the elements of two attributes or datasets of equal type and
 * extent.  Differences are reported, and are not a failure. */
BKT_NODISCARD int bkt_diff_attr(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name);
BKT_NODISCARD int bkt_diff_data(struct bkt_diff *d, hid_t a, hid_t b, const char *path);

/* ---- by the processes of an mpirun: blocks of datasets are compared by all of them.  The first one prints
 * the differences, in the order of one process alone. ---- */
/** A dataset whose blocks are shared: its number.  BKT_ENOMEM */
BKT_NODISCARD int bkt_diff_shared_dataset(struct bkt_diff *d, const char *path,
                                          const struct bkt_blocks *whole, uint64_t elems, size_t *number);
/** Put one of its blocks, which any process compares.  The failure of an earlier block is returned, too. */
BKT_NODISCARD int bkt_diff_shared_block(struct bkt_diff *d, size_t number, const struct bkt_blocks *at);
/** All its blocks are put.  @p bad, @p first: differences that were found without them */
void bkt_diff_shared_done(struct bkt_diff *d, size_t number, uint64_t bad, uint64_t first);
