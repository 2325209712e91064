/* Findings of `h5bucket doctor`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tools/bucket/bucket_names.h"
#include "tools/cli/tool.h"

/** OK: as it should be; NOTE: works, but a user may want to know; WARN: programs lose something; BAD:
 * programs fail. */
enum finding_state { FINDING_OK, FINDING_NOTE, FINDING_WARN, FINDING_BAD };

struct finding {
    const char *about; /* a word; a constant */
    enum finding_state state;
    struct bkt_buf text;   /* the finding */
    struct bkt_buf remedy; /* what to do; empty: nothing */
};
struct findings {
    struct finding *v;
    size_t n, cap;
    bool short_of_memory;
};
void findings_fini(struct findings *f); /* it is empty afterwards */

/** Add a finding; printf's form. */
void finding_add(struct findings *f, const char *about, enum finding_state state, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Set the remedy of the last finding. */
void finding_remedy(struct findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Add a failure with the messages of @p err. */
void finding_failed(struct findings *f, const char *about, enum finding_state state,
                    const struct bkt_err *err);


/* ---- check_store.c ---- */
/** The store of @p name, the object there, latency, clock; with @p write also conditional PUTs.  Objects that
 * are made for the check are deleted. */
void check_store(struct findings *f, const struct bkt_tool *t, const char *name, bool write);
