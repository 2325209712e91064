/* load --extend by the processes of an mpirun: all of them open sources and compare them with the domain; the
 * first one adds them, in their order. */
#ifndef GATHER_SHARED_H
#define GATHER_SHARED_H

#include "tools/load/gather/gather_plan.h"

/** Report that a source doesn't fit. */
typedef void agg_refuse_fn(struct load *l, const char *source, const struct bkt_err *why, int *failed);
/** Add sources[first + 1] .. sources[n - 1] to the domain, which has sources[first].  The first process only.
 * @param failed  counts sources that don't fit */
BKT_NODISCARD int agg_shared_add(struct agg *a, char **sources, int first, int n, bool is_new,
                                 agg_refuse_fn *refuse, int *failed, struct bkt_err *err);

/** The other processes: work until the first one ends.  @p l: options and settings are set. */
BKT_NODISCARD int agg_shared_serve(struct load *l, char **sources, int n, const char *domain, hid_t fapl,
                                   struct bkt_err *err);

#endif
