/* The answers of H5Pget_mpio_actual_io_mode() and the calls like it.  HDF5 keeps them as properties of the
 * transfer list.
 *
 * Type conversion, transforms and filters don't prevent collective access.  But a program that turns
 * selection I/O off (H5Pset_selection_io) asks for HDF5's older way, in which they do: then each process
 * moves its elements for itself.  Reports of selection I/O use HDF5's words: "selection" for elements moved
 * as one selection, "vector" for a list of encoded chunks, "scalar" for the older way. */
#pragma once

#include "vol/dataset/dataset_calls.h"

/** Why a call with a collective list is not collective: bits of H5D_mpio_no_collective_cause_t. */
struct bkt_mpio_causes {
    uint32_t here, anywhere; /* in this process, in any */
    bool datasets_differ;    /* between processes; each of them moves its elements for itself */
};

/** Find the causes before a call.  Collective if io->group is set.
 *  @param out  gets zeros if the program can't ask for a report: without the mpio driver, or with HDF5's
 *      default list
 *  @return BKT_OK; a failure of the exchange */
BKT_NODISCARD int bkt_mpio_find_causes(const struct bkt_io *io, struct bkt_mpio_causes *out,
                                       struct bkt_err *err);
/** Note in the program's transfer list how a call has moved its elements. */
void bkt_mpio_report(const struct bkt_io *io, const struct bkt_mpio_causes *causes);
