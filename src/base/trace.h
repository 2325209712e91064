/* Traces, switched on by H5BUCKET_TRACE=category,…: one line to stderr for each event, with the seconds since
 * start and the thread.  Traces have no secrets: callers pass keys and status codes, not headers or signed
 * URLs. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum bkt_trace_cat {
    BKT_TRACE_VOL    = 1 << 0,
    BKT_TRACE_SCHEMA = 1 << 1,
    BKT_TRACE_CHUNK  = 1 << 2,
    BKT_TRACE_STORE  = 1 << 3,
    BKT_TRACE_HTTP   = 1 << 4,
    BKT_TRACE_CRED   = 1 << 5,
};

#define BKT_TRACE_NAMES "vol, schema, chunk, store, http, cred, all"

/** Enable the categories; NULL or "": none.  BKT_EINVAL: an unknown name; the message lists the known
 * ones. */
BKT_NODISCARD int bkt_trace_set(const char *categories, struct bkt_err *err);
/** Whether the category is enabled; any thread. */
bool              bkt_trace_on(enum bkt_trace_cat cat);
/** Print a line if the category is enabled; any thread.  It is cut at 1 KiB; secrets in URLs are masked. */
void bkt_trace(enum bkt_trace_cat cat, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
