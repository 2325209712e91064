/* A domain under another root: the ids of its objects become others, wherever they are named.
 *
 * Ids keep their length, so text and stored values are changed in place.  Ids of other domains stay as they
 * are.  Objects of version 1 get ids of version 2. */
#pragma once

#include "schema/model/model.h"

struct bkt_replace_ids {
    struct bkt_id from, to; /* root groups; `to` of version 2 */
};

/** BKT_ENOMEM */
BKT_NODISCARD int bkt_replace_ids_in_id(const struct bkt_replace_ids *r, struct bkt_id *id);
/** Replace all ids in @p n bytes. */
BKT_NODISCARD int bkt_replace_ids_in_bytes(const struct bkt_replace_ids *r, void *p, size_t n);
/** Replace the ids in an object's JSON, or in a domain's document; unknown keys are kept as they are. */
BKT_NODISCARD int bkt_replace_ids_in_json(const struct bkt_replace_ids *r, const void *json, size_t n,
                                          struct bkt_buf *out, struct bkt_err *err);
