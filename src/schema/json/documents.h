/* The schema's JSON documents, of objects and of domains: bytes <-> model.  Emitted bytes are as HSDS 0.9
 * reads them; parsing them gives the same model.  BKT_EFORMAT names the key in the JSON that is wrong. */
#pragma once

#include "schema/model/model.h"

/** Parse the JSON of an object.
 *  @param expect  the id that the object must have
 *  @param out     the caller's, for bkt_object_free() */
BKT_NODISCARD int bkt_object_parse(const void *json, size_t n, const struct bkt_id *expect,
                                   struct bkt_object **out, struct bkt_err *err);
/** Parse .domain.json into @p out, which is empty after a failure.  BKT_EFORMAT; BKT_ENOMEM. */
BKT_NODISCARD int bkt_domain_doc_parse(const void *json, size_t n, struct bkt_domain_doc *out,
                                       struct bkt_err *err);

/** bkt_object_emit() and bkt_domain_doc_emit() append to @p out. */
BKT_NODISCARD int bkt_object_emit(const struct bkt_object *o, struct bkt_buf *out, struct bkt_err *err);
BKT_NODISCARD int bkt_domain_doc_emit(const struct bkt_domain_doc *d, struct bkt_buf *out,
                                      struct bkt_err *err);
/** As the schema spells it: H5D_CHUNKED, …; NULL for BKT_D_NONE. */
const char *bkt_layout_name(enum bkt_layout_class c);
