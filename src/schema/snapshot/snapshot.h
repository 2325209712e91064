/* A domain's snapshot: the JSON of all its objects in one object.  A program that walks through a domain
 * takes a few requests instead of one for each object.  The snapshot shows the time when `h5bucket snapshot`
 * made it, and need not be kept up to date.  It has each object's ETag.  An object of the snapshot is used
 * only if a LIST of the domain's keys still shows that ETag: a list page covers a thousand objects.  HSDS and
 * other writers need not know of the snapshot.
 *
 * Stored as db/<root>/.h5bucket-snapshot, a key that HSDS ignores and deletes with the domain.  .domain.json
 * has key "h5snapshot" if there is one.  The form: a line of text,
 *     h5bucket snapshot 1 OBJECTS KEYS BYTES CUTS
 * and BYTES bytes as a zlib stream: CUTS keys, a line each, between which the domain's keys are listed in
 * parts; then OBJECTS times a line "ID LENGTH ETAG" and LENGTH bytes of JSON and a line's end. */
#pragma once

#include "schema/model/model.h"
#include "base/settings.h"
#include "storage/store.h"

/* bytes of JSON: they are kept in memory, so no more than meta_cache's default */
#define BKT_SNAPSHOT_MAX  (64u << 20)
#define BKT_SNAPSHOT_PAGE 1000u       /* keys that S3 lists in one answer */

struct bkt_snapshot; /* parsed; not locked */

/** Append the key of the snapshot of the domain with that root (version 2) to @p out. */
BKT_NODISCARD int bkt_snapshot_key(const struct bkt_id *root, struct bkt_buf *out);

/** Make a snapshot of the domain @p root from bytes; no object counts as current yet.  bkt_snapshot_free().
 *  BKT_EFORMAT: not a snapshot, or more than BKT_SNAPSHOT_MAX. */
BKT_NODISCARD int bkt_snapshot_parse(const void *p, size_t n, const struct bkt_id *root,
                                     struct bkt_snapshot **out, struct bkt_err *err);
void              bkt_snapshot_free(struct bkt_snapshot *s);

/** The number of its objects, and of those that are current. */
size_t bkt_snapshot_count(const struct bkt_snapshot *s, size_t *n_current);
/** Keys that cut the domain's keys into parts of about BKT_SNAPSHOT_PAGE; borrowed. */
const char *const *bkt_snapshot_cuts(const struct bkt_snapshot *s, size_t *n);

/** An entry of a list: the object is current if the entry's ETag is the one in the snapshot.  For
 *  bkt_store_list_parts(); @p arg is the snapshot. */
int bkt_snapshot_listed(const struct bkt_listed *e, void *arg);
/** Take all objects as current (setting snapshot=trust). */
void bkt_snapshot_trust(struct bkt_snapshot *s);

/** Take a current object out: true once for each.  Its JSON and ETag are borrowed from the snapshot. */
bool bkt_snapshot_take(struct bkt_snapshot *s, const struct bkt_id *id, const void **json, size_t *n,
                       const char **etag);

/** Whether a snapshot saves more than it costs, for a program that needs so many objects of a domain with so
 *  many keys.  Without keys (0), they needn't be listed. */
bool bkt_snapshot_pays(uint64_t objects, uint64_t keys);

/** Read the snapshot of a domain and compare it with a list of the domain's keys, unless @p trust declares
 *  that nothing has changed.  Blocks.
 *  @param hint  the document's: with its cuts the list begins before the snapshot is there; may be NULL
 *  @param stop  once true, the call may end early (BKT_ECANCEL); may be NULL
 *  @return BKT_OK; BKT_ENOENT: no snapshot; … */
BKT_NODISCARD int bkt_snapshot_load(struct bkt_store *st, const struct bkt_id *root, bool trust,
                                    const struct bkt_snapshot_hint *hint, const atomic_bool *stop,
                                    struct bkt_snapshot **out, struct bkt_err *err);

/* ---- making one ---- */

struct bkt_snapshot_out {
    struct bkt_buf cuts, objects;
    uint64_t       n_cuts, n_objects, n_keys;
};
/** Count one key of the domain, in the order of a list, and make a cut of it if one is due. */
BKT_NODISCARD int bkt_snapshot_count_key(struct bkt_snapshot_out *o, const char *key);
/** Add an object.  BKT_EUNSUP: the snapshot would exceed BKT_SNAPSHOT_MAX. */
BKT_NODISCARD int bkt_snapshot_add(struct bkt_snapshot_out *o, const struct bkt_id *id, const char *etag,
                                   const void *json, size_t n, struct bkt_err *err);
/** The stored form, appended to @p out.  BKT_EUNSUP: with the keys it exceeds BKT_SNAPSHOT_MAX; BKT_ENOMEM */
BKT_NODISCARD int bkt_snapshot_emit(const struct bkt_snapshot_out *o, struct bkt_buf *out,
                                    struct bkt_err *err);
void              bkt_snapshot_out_fini(struct bkt_snapshot_out *o);
/** Append the document @p json of a domain to @p out, with the hint about this snapshot (NULL: without a
 *  hint).  All other keys stay. */
BKT_NODISCARD int bkt_snapshot_note(const void *json, size_t n, const struct bkt_snapshot_out *o,
                                    struct bkt_buf *out, struct bkt_err *err);
