/* Selections, as vol hands them down. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schema/model/model.h"

struct bkt_run {
    uint64_t off, len; /* elements; off is row-major in the extent */
};
enum bkt_sel_kind { BKT_SEL_NONE, BKT_SEL_ALL, BKT_SEL_HYPER, BKT_SEL_RUNS };
/** A selection in an extent, in the order in which HDF5 iterates over it. */
struct bkt_sel {
    enum bkt_sel_kind kind;
    unsigned          rank;                /* of the extent; 0: scalar */
    uint64_t          dims[BKT_MAX_RANK];  /* the extent */
    /* HYPER: regular, as H5Sselect_hyperslab takes it */
    uint64_t          start[BKT_MAX_RANK], stride[BKT_MAX_RANK], count[BKT_MAX_RANK], block[BKT_MAX_RANK];
    struct bkt_run   *runs;                /* RUNS: in selection order; the caller's */
    size_t            n_runs;
    uint64_t          n_elems;             /* number of selected elements */
};
