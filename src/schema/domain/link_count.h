/* Counter of the hard links to a domain's objects, kept right while the domain changes; inside src/schema.
 *
 * bkt_domain_link_count() is its question.  All functions may be called from any thread. */
#pragma once

#include "schema/model/model.h"

struct bkt_links_count;

/** No counts; NULL: out of memory. */
struct bkt_links_count *bkt_links_count_new(void);
void                    bkt_links_count_free(struct bkt_links_count *c); /* NULL is allowed */
/** For a new domain: all objects are made from now on, so every count is known. */
void bkt_links_count_begin(struct bkt_links_count *c);
/** For a new object: its count begins at 0, and is known from now on.  A group's links are counted.
 *  @param own  note that it was made here, for _is_own() */
BKT_NODISCARD int bkt_links_count_add(struct bkt_links_count *c, const struct bkt_object *o, bool own);
/** Note that later, while all is counted. */
BKT_NODISCARD int bkt_links_count_own(struct bkt_links_count *c, const struct bkt_id *id);
/** Whether that is noted. */
bool bkt_links_count_is_own(struct bkt_links_count *c, const struct bkt_id *id);
/** Such an object to which no link is stored: it was made since bkt_links_count_shown(). */
bool bkt_links_count_is_unseen(struct bkt_links_count *c, const struct bkt_id *id);
/** Links to the objects that were made here may be stored, so that other writers find them. */
void bkt_links_count_shown(struct bkt_links_count *c);
/** One link to @p id more or less. */
BKT_NODISCARD int bkt_links_count_change(struct bkt_links_count *c, const struct bkt_id *id, int by);
/** A group's links have been replaced, since another writer changed it. */
BKT_NODISCARD int bkt_links_count_merge(struct bkt_links_count *c, const struct bkt_links *was,
                                        const struct bkt_links *is);
/** The counted links of a group are those of its version @p etag, with changes made here since.  "" or NULL:
 *  the version is unknown. */
void bkt_links_count_version(struct bkt_links_count *c, const struct bkt_id *group, const char *etag);
/** A group has become version @p to.  If it was counted as version @p from, it counts as version @p to now;
 *  else links of other writers may have come between. */
void bkt_links_count_moved(struct bkt_links_count *c, const struct bkt_id *group, const char *from,
                           const char *to);
/** Whether a group that is stored as version @p etag may have links that aren't counted: another version was
 *  counted, or all groups were counted once and this one wasn't. */
bool bkt_links_count_is_stale(struct bkt_links_count *c, const struct bkt_id *group, const char *etag);
/** As long as all groups were never counted: the time at which the first object was made here, by the local
 *  clock as it is now.  Groups that were changed since may have links to such objects.  0: none was made, or
 *  all were counted. */
double bkt_links_count_since(struct bkt_links_count *c);
/** The links to an object that are counted so far, without a request. */
uint64_t bkt_links_count_known(struct bkt_links_count *c, const struct bkt_id *id);
/** Groups that are counted. */
size_t bkt_links_count_groups(struct bkt_links_count *c);
/** Forget all counts but those of objects that were made here.  @p own: these counts, too. */
void bkt_links_count_forget(struct bkt_links_count *c, bool own);
