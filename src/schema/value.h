/* Stored values that have a structure of their own. */
#ifndef BKT_VALUE_H
#define BKT_VALUE_H

#include "model.h"

/** A dataset region, as HSDS 1.0 spells it in JSON:
 *  {"id": "d-…", "select_type": "H5S_SEL_…", "selection": …}.  A stored BKT_T_REGREF element holds that text. */
enum bkt_region { BKT_REGION_NULL, BKT_REGION_NONE, BKT_REGION_ALL, BKT_REGION_POINTS, BKT_REGION_BLOCKS };
struct bkt_regref {
    enum bkt_region kind;
    struct bkt_id   dset;
    unsigned        rank;
    size_t          n;      /* points or blocks */
    uint64_t       *coords; /* POINTS: n * rank; BLOCKS: n * 2 * rank, first corner, then opposite corner (inclusive) */
};
/** @p p: one element's bytes (NUL padding is fine; empty: null reference).  BKT_EFORMAT. */
BKT_NODISCARD int bkt_regref_parse(const void *p, size_t n, struct bkt_regref *out, struct bkt_err *err);
void              bkt_regref_fini(struct bkt_regref *r);

#endif
