/* A dataset in parts, which several processes copy: chunks of the grid in which a domain stores it. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "base/err.h"
#include "schema/model/model.h"
#include "vol/copy/written_chunks.h"

/** Bytes of a dataset from which on its copy is shared; smaller ones take less time than their sharing. */
#define SHARED_COPY_LEAST ((uint64_t)1 << 20)
/** Chunks of a part at most. */
#define SHARED_COPY_CHUNKS 256

/** Whether the copy of a dataset can be shared: its elements have no pointers and lie in the file or domain,
 *  SHARED_COPY_LEAST bytes of them or more. */
bool shared_copy_possible(hid_t from, hid_t to);

/** Whether a stored chunk of a plain file's dataset has the shape and filters of a chunk object of a
 *  domain's. */
bool shared_copy_same_chunks(hid_t file, hid_t domain);

/** List the chunks to be copied, by index, in the grid of @p dset, which is a domain's: its chunk objects, or
 *  blocks of a few MiB if it has no chunks of its own.
 *  @param from  the dataset to be copied, the same or another: chunks without stored elements are left out
 *  @param w     all zero; bkt_written_fini() */
BKT_NODISCARD int shared_copy_list(hid_t dset, hid_t from, struct bkt_written *w, struct bkt_err *err);
/** The number of chunks of the part that begins with chunk number @p i.
 *  @param bytes  of a chunk in memory
 *  @param share  bytes that a part should have (shared_copy_share()) */
size_t shared_copy_next(const struct bkt_written *w, size_t i, uint64_t bytes, uint64_t share);
/** Bytes of a part, so that several processes get parts of @p total bytes. */
uint64_t shared_copy_share(uint64_t total);
/** Bytes of a chunk in memory. */
uint64_t shared_copy_chunk_bytes(const struct bkt_written *w, size_t elem_size);

/** Chunks of a list that shared_copy_say() has added.
 *  @param w  all zero; bkt_written_fini(), whatever is returned.  BKT_EFORMAT */
BKT_NODISCARD int shared_copy_parse(struct bkt_rd *r, struct bkt_written *w, struct bkt_err *err);

/** Take the id of an object.  BKT_EFORMAT */
BKT_NODISCARD int shared_copy_parse_id(struct bkt_rd *r, struct bkt_id *out, struct bkt_err *err);

/** Add to a message.  @p kinds: 1 unsigned, as a byte; 4, 8 uint64_t, as so many bytes; t a text; i a struct
 *  bkt_id *; w, size_t: chunks i .. +n-1 of a list.  BKT_ENOMEM is reported. */
BKT_NODISCARD int shared_copy_say(struct bkt_buf *out, struct bkt_err *err, const char *kinds, ...);
/** Take a text of a message, borrowed from it.  A malformed one is "", and r->ok is false. */
const char *shared_copy_take_text(struct bkt_rd *r);
