/* Changes of documents of domains and folders that other writers change at the same time. */
#pragma once

#include "base/bytes.h"
#include "storage/store.h"

/** Change a document: call @p once, which reads and stores it, again while other writers change it.  There is
 *  a random pause before each further try.
 *  @param once  BKT_EPRECOND: another writer was first
 *  @return its code; BKT_EPRECOND after many tries */
BKT_NODISCARD int bkt_doc_change(int (*once)(void *arg, struct bkt_err *err), void *arg, struct bkt_err *err);

/** The document @p was with a change.  @p now stays empty if nothing has to be stored. */
typedef int bkt_doc_change_fn(const struct bkt_buf *was, struct bkt_buf *now, void *arg, struct bkt_err *err);
/** As bkt_doc_change(), by a GET, @p change, and a PUT on condition that the document is still the same.
 *  @param path  of the domain or folder in the store */
BKT_NODISCARD int bkt_doc_rewrite(struct bkt_store *st, const char *path, bkt_doc_change_fn *change,
                                  void *arg, struct bkt_err *err);
