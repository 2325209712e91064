/* Parts of objects, one after the other, as one object: a dataset whose bytes lie in several files. */
#pragma once

#include "storage/store.h"

struct bkt_concat_file {
    struct bkt_store *store;      /* borrowed, must outlive the joined store; NULL: a part of zeros */
    const char       *key, *etag; /* etag: If-Match for every range; NULL: none.  Copied */
    uint64_t          off, size;
    struct bkt_version *version;  /* as in struct bkt_req, must outlive the joined store; may be NULL */
};
/** Open a read-only store with one object, whatever the key: the parts in order.  A request becomes one
 * request for each part that it touches.
 * @return BKT_OK; BKT_EINVAL: longer than 2^63 bytes; BKT_ENOMEM */
BKT_NODISCARD int bkt_concat_open(const struct bkt_concat_file *parts, size_t n, struct bkt_store **out,
                                  struct bkt_err *err);
