/* The target of cp and mv: DST, or a name in it if it is a folder. */
#pragma once

#include "tools/bucket/bucket_names.h"
#include "tools/cli/tool.h"

/** The source and the target of `cp SRC DST`.  @p from is a domain.  At @p to there is neither a domain nor a
 * folder, and setting user may create there.
 *  @param replace  replace a domain at @p to (its access list must allow that): bkt_copy_target.old */
struct bkt_copy_target {
    struct bkt_bucket_place from, to;
    struct bkt_doc     doc;  /* of from */
    struct bkt_domain *src;  /* open */
    struct bkt_doc     in_the_way; /* the document to be replaced: DOMAIN, or ABSENT */
    struct bkt_domain *old;  /* the domain to be replaced, open; or NULL */
};
/** Find both, and check that the source may be read and the target made.  BKT_EEXIST: @p to exists, and
 *  @p replace isn't set; BKT_EACCES, BKT_EINVAL (they are the same).  @p out is for bkt_copy_target_fini() in
 * any case. */
BKT_NODISCARD int bkt_copy_target_open(const struct bkt_tool *t, const char *from, const char *to,
                                       bool replace, struct bkt_copy_target *out, struct bkt_err *err);
void bkt_copy_target_fini(struct bkt_copy_target *target);
/** Store @p json as the new domain's document (its folders, too), on condition that no other writer was
 *  there since bkt_copy_target_open().  Then delete the objects of the replaced domain. */
BKT_NODISCARD int bkt_copy_target_put(const struct bkt_tool *t, struct bkt_copy_target *target,
                                      const struct bkt_buf *json, struct bkt_err *err);
