/* Snapshots of domains (schema/snapshot/snapshot.h), made, kept up and removed by the tool. */
#pragma once

#include "schema/domain/domain.h"
#include "schema/snapshot/snapshot.h"

struct snapshot_report {
    uint64_t n_objects, n_keys, bytes, n_read; /* n_read: objects that had to be read */
};

/** The domain of a snapshot; borrowed. */
struct snapshot_domain {
    struct bkt_store *store;
    const char *path; /* of the domain in the store */
    const struct bkt_id *root;
};
/** Gather the JSON of all objects, store it, and note it in the domain's document.
 *
 *  JSON recorded by @p known (bkt_domain_record()), or in the earlier snapshot, is taken from there as far as
 *  a list shows the same ETag.
 *  @param old       false: the earlier snapshot is not trusted
 *  @param known     may be NULL
 *  @param pays_for  BKT_ECANCEL, and nothing is stored, if a snapshot doesn't pay for a reader of so many
 *                   objects; 0: make it anyhow */
BKT_NODISCARD int snapshot_make(const struct snapshot_domain *of, const struct bkt_domain *known, bool old,
                                uint64_t pays_for, struct snapshot_report *reported, struct bkt_err *err);
/** Remove the snapshot, and the note of it. */
BKT_NODISCARD int snapshot_drop(const struct snapshot_domain *of, struct bkt_err *err);
