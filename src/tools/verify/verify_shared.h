/* h5bucket verify by the processes of an mpirun.  They share the chunks of one domain (--deep), or the
 * domains that -r finds. */
#ifndef BKT_VERIFY_SHARED_H
#define BKT_VERIFY_SHARED_H

#include "chunk/select/selection.h"
#include "tools/verify/verify.h"

/* ---- the chunks of one domain ---- */

/** bkt_reach() of the domain @p name, by the first process.  Chunks that @p each puts are decoded by all. */
BKT_NODISCARD int bkt_verify_shared_reach(struct bkt_verify *v, const char *name,
                                          int (*each)(const struct bkt_reached *r, void *arg));
/** Let chunks be decoded.  bkt_verify_shared_reach() returns failures.
 *  @param sel    their elements
 *  @param cdims  shape of a chunk */
void bkt_verify_shared_put(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                           const struct bkt_sel *sel, size_t n, const uint64_t *cdims);
/** The references of a dataset are checked.  @p changed: a changed file was reported, so its stale chunks are
 *  not reported again */
BKT_NODISCARD int bkt_verify_shared_refs(struct bkt_verify *v, const struct bkt_reached *r, bool changed);
/** Append a report as bytes. */
void bkt_verify_shared_say(struct bkt_buf *out, const char *const texts[5]);

/* ---- the domains of a folder ---- */

/** Check one domain: an exit code. */
typedef int bkt_verify_name_fn(struct bkt_tool *t, const char *name, struct bkt_jout *j);

struct bkt_verify_names;
/** Begin.  NULL in *out: this process is alone. */
BKT_NODISCARD int bkt_verify_names_begin(struct bkt_tool *t, struct bkt_jout *j, bkt_verify_name_fn *check,
                                         struct bkt_verify_names **out, struct bkt_err *err);
BKT_NODISCARD int bkt_verify_names_put(struct bkt_verify_names *n, const char *name, struct bkt_err *err);
/** Wait for all.  @p n: NULL is fine; @p exit_code: gets the code of a domain with problems */
BKT_NODISCARD int bkt_verify_names_end(struct bkt_verify_names *n, int rc, int *exit_code,
                                       struct bkt_err *err);

/** The other processes: work until the first one ends. */
int bkt_verify_shared_serve(struct bkt_tool *t, bkt_verify_name_fn *check);

#endif
