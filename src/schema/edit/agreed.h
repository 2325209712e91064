/* A domain that several processes change together, as one program.
 *
 * All of them make the same changes in memory, in the same order.  Ids of new objects and time stamps then
 * follow from a seed, so they are equal in all processes without a message.  A flush is made by one process
 * and repeated by the others with its outcomes (storage/recorded_requests.h); before that, they compare
 * their changes.  vol/parallel does both: nothing here knows how processes exchange messages. */
#pragma once

#include "schema/edit/edit.h"

/** The origin of new ids and time stamps, equal in all processes. */
struct bkt_agreed {
    uint64_t seed[2];
    double clock; /* seconds since the epoch; later time stamps follow it */
};

/** From now on the domain's new ids and time stamps follow from @p a.  Nothing is stored early any more, nor
 * read ahead.  A newer seed replaces an earlier one, since some of the processes may still have the domain
 * open and others not. */
void bkt_edit_agree(struct bkt_domain *d, const struct bkt_agreed *a);
/** Whether bkt_edit_agree() was called for the domain. */
bool bkt_edit_is_agreed(const struct bkt_domain *d);

/** Progress of ids and time stamps.  The larger numbers of two processes are right for both. */
struct bkt_progress {
    uint64_t ids, clock;
};
/** The progress of the domain in this process. */
struct bkt_progress bkt_edit_progress(const struct bkt_domain *d);
/** Set the domain's progress. */
void bkt_edit_catch_up(struct bkt_domain *d, struct bkt_progress p);

/** Append a record for each changed object, by id, for a comparison with other processes.  A record is the
 * object's id, a digest of 8 bytes, and words for people, ended by a NUL. */
BKT_NODISCARD int bkt_edit_fingerprint(struct bkt_domain *d, struct bkt_buf *out, struct bkt_err *err);
/** Compare two fingerprints.  @p out gets a description of the first difference; it stays empty if they are
 * equal.  @p mine, @p theirs: names for the two processes */
BKT_NODISCARD int bkt_edit_compare(const struct bkt_buf *a, const char *mine, const struct bkt_buf *b,
                                   const char *theirs, struct bkt_buf *out);
