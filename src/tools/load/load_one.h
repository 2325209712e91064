/* One source into one domain: called by cmd_load.c. */
#ifndef LOAD_ONE_H
#define LOAD_ONE_H

#include "tools/load/chunk_map_source.h"
#include "vol/copy/copier.h"

/** Load a whole source into a new domain; @p source NULL: the content of l->map.
 *  @p l: options, settings and progress are set.  A failure leaves no domain. */
BKT_NODISCARD int load_one(struct load *l, const char *source, const char *domain, hid_t fapl,
                           struct bkt_err *err);

/** Load many sources into one domain, along l->o->extend.  @p failed: number of those that didn't fit; each
 *  is reported. */
BKT_NODISCARD int load_aggregate(struct load *l, char **sources, int n, const char *domain, hid_t fapl,
                                 int *failed, struct bkt_err *err);

/** The other processes: work until the first one ends.  @p l: options and settings are set. */
BKT_NODISCARD int agg_shared_serve(struct load *l, char **sources, int n, const char *domain, hid_t fapl,
                                   struct bkt_err *err);

/** Load a domain without a source: @p fill makes its content.  A failure leaves no domain. */
BKT_NODISCARD int load_made(struct load *l, const char *domain, hid_t fapl,
                            int (*fill)(void *arg, struct bkt_err *err), void *arg, struct bkt_err *err);

/* ---- steps of all ---- */
/** Open the domain to append to, or create it from l->src.  Sets l->dst and l->file. */
BKT_NODISCARD int load_target(struct load *l, const char *domain, hid_t fapl, bool *is_new,
                              struct bkt_err *err);
/** Store the domain, or after a failure drop what was made of it; close it and l->src.
 *  @param rc  the outcome so far; returned, unless storing fails */
BKT_NODISCARD int load_end(struct load *l, int rc, bool is_new, struct bkt_err *err);
struct bkt_copier_options load_copier_options(struct load *l);

/** The journal beside the domain's document until a load has ended: the root's id of a new domain, whose
 *  objects the next run deletes if this one is killed, or where an append began (gather_plan.h).  Empty:
 * there is none. */
BKT_NODISCARD int load_journal_read(struct load *l, struct bkt_buf *out, struct bkt_err *err);
BKT_NODISCARD int load_journal_write(struct load *l, const char *text, struct bkt_err *err);

#endif
