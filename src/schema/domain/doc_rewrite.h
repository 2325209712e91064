/* Changes of documents of domains and folders that other writers change at the same time. */
#pragma once

#include "base/bytes.h"
#include "storage/store.h"

/** Read a document, and store it on condition that it is still the same.
 *  @param version  the ETag of what was read; stays "" without one
 *  @return BKT_EPRECOND: another writer was first */
typedef int bkt_doc_change_once(void *arg, char version[BKT_ETAG_MAX], struct bkt_err *err);
/** Change a document: call @p once again while other writers change it.  There is a random pause before each
 *  further try.
 *  @return its code; BKT_EPRECOND after many tries, or a few if the version is always the same */
BKT_NODISCARD int bkt_doc_change(bkt_doc_change_once *once, void *arg, struct bkt_err *err);

/** The document @p was with a change.  @p now stays empty if nothing has to be stored. */
typedef int bkt_doc_change_fn(const struct bkt_buf *was, struct bkt_buf *now, void *arg, struct bkt_err *err);
/** As bkt_doc_change(), by a GET, @p change, and a PUT on condition that the document is still the same.
 *  @param path  of the domain or folder in the store */
BKT_NODISCARD int bkt_doc_rewrite(struct bkt_store *st, const char *path, bkt_doc_change_fn *change,
                                  void *arg, struct bkt_err *err);
