/* Walking a domain: every link once, every object once, many fetches at a time. */
#pragma once

#include "base/map.h"
#include "schema/domain/domain.h"
#include "tools/source/key_list.h"

/** Groups nest as deep as the data say.  Each is entered once, and the depth is bounded, since each takes 0.3
 *  KiB of stack. */
#define BKT_WALK_DEPTH 1000

/** One link met.  Borrowed for the call. */
struct bkt_step {
    const char              *path; /* in the domain, absolute */
    const struct bkt_link   *link; /* NULL: where the walk began */
    const struct bkt_object *obj;  /* of a hard link; NULL: another link, or it can't be read */
    const char *same; /* of a hard link: the path by which its object was met before; NULL: the first time */
    const struct bkt_err    *why;  /* why a hard link's object can't be read; else NULL */
};

/** Walk objects by hard links from @p start: a group's members by name, each object's own members only once.
 *  Groups are fetched ahead, level by level, as far as the cache (setting meta_cache) holds them.
 *  @param levels  depth: 0 the object alone, 1 its members, …
 *  @param each    a negative return stops the walk and is returned
 *  @return BKT_OK even if objects can't be read: @p each gets the reason */
BKT_NODISCARD int bkt_walk(struct bkt_domain *d, const struct bkt_id *start, const char *path,
                           unsigned levels, int (*each)(const struct bkt_step *s, void *arg), void *arg,
                           struct bkt_err *err);

/** Note by which path an object was met first; free() frees the map's values.  BKT_ENOMEM */
int bkt_walk_note(struct bkt_map **met, const void *key, size_t n, const char *path, struct bkt_err *err);

/** An object that a walk reached.  Borrowed for the call. */
struct bkt_reached {
    struct bkt_id            id, from; /* from: the object that needs it; "": the domain */
    const char              *path; /* the link by which it was found; "": none (a chunk table, a type) */
    const struct bkt_object *obj;  /* NULL: it can't be read */
    const struct bkt_err    *why;  /* why it can't be read; else NULL */
    void                    *walk; /* for bkt_reach_also() */
};
/** Call it within @p each: the current object needs @p id, too. */
BKT_NODISCARD int bkt_reach_also(const struct bkt_reached *r, const struct bkt_id *id);
/** Call @p each for every reachable object, once, level by level.  Objects are reached by hard links, and as
 *  chunk table or committed type of a reachable object.
 *  @param each  a negative return stops the walk and is returned
 *  @return BKT_OK even if objects can't be read; BKT_ENOMEM */
BKT_NODISCARD int bkt_reach(struct bkt_domain *d, int (*each)(const struct bkt_reached *r, void *arg),
                            void *arg, struct bkt_err *err);

/** As bkt_reach(), from the objects @p among that a program keeps without a link (H5Oincr_refcount), and
 * finds by their tokens.  An object that doesn't exist, or isn't well-formed, isn't kept; one that can't be
 * read may be.  @p each gets objects that bkt_reach() has reached, too. */
BKT_NODISCARD int bkt_reach_kept(struct bkt_domain *d, const struct bkt_ids *among,
                                 int (*each)(const struct bkt_reached *r, void *arg), void *arg,
                                 struct bkt_err *err);

/** As bkt_key_list() of a domain whose keys can't be listed: those of every reachable object, and of the
 * chunk objects of a dataset after it.  They have no time and no ETag, and objects the size of their JSON.
 *  @param without  datasets whose chunks are left out; NULL: none */
BKT_NODISCARD int bkt_reach_keys(struct bkt_domain *d, const struct bkt_ids *without,
                                 int (*each)(const struct bkt_listed_key *s, void *arg), void *arg,
                                 struct bkt_err *err);

/** The object at a path, or with an id ("g-…").  Soft links are followed within the domain.  BKT_ENOENT:
 *  names the missing part; BKT_EUNSUP: an external link on the way. */
BKT_NODISCARD int bkt_walk_find(struct bkt_domain *d, const char *path, struct bkt_id *out,
                                struct bkt_err *err);
