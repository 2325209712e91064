/* The life of parsed objects, inside src/schema. */
#pragma once

#include "schema/model/model.h"

/** The number of references. */
unsigned bkt_object_refs(const struct bkt_object *o);
/** Bytes of memory that one block of @p n bytes takes; see bkt_object_bytes(). */
size_t bkt_block_bytes(size_t n);
/** Exchange the contents of two objects of one id: holders of one object see the other's contents. */
void bkt_object_swap(struct bkt_object *a, struct bkt_object *b);
/** Set the ETag.  "" and NULL: unknown. */
BKT_NODISCARD int bkt_object_set_etag(struct bkt_object *o, const char *etag);
