/* Copies a domain's objects and chunks, within a store or into another. */
#pragma once

#include "tools/bucket/bucket_names.h"

struct bkt_domain_copy {
    uint64_t       n_objects, n_chunks, bytes;
    uint64_t       n_refs; /* datasets whose data stay in files that other stores hold */
    uint64_t       n_raw;  /* datasets whose data stay in the raw files of H5Pset_external() */
    struct bkt_id  root;   /* out: of the copy */
    struct bkt_buf doc;    /* out: the copy's document, to be stored last; bkt_buf_fini() */
    void (*progress)(const struct bkt_domain_copy *c); /* called now and then; may be NULL */
};

/** Copy all objects of @p src to @p to's store.  c->doc is the document that makes a domain of them, with the
 *  same owner and access list; the caller stores it.  If the store already has the old root's ids, objects
 *  get ids of a new root; links, committed types, chunk tables and references are changed accordingly.  A
 *  failure or interruption (interrupt.h) leaves nothing, or unreferenced objects at worst.
 *  @return BKT_OK; BKT_ECANCEL; BKT_EUNSUP: too many chunks in a store that can't be listed; … */
BKT_NODISCARD int bkt_domain_copy(struct bkt_domain *src, const struct bkt_bucket_place *to,
                                  struct bkt_domain_copy *c, struct bkt_err *err);
