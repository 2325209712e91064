/* An open domain: names -> store and root, objects fetched, parsed, shared and cached.
 *
 * A process has one struct bkt_domain for all opens of a domain with the same store and the same values of
 * those settings that matter (settings.h).  The first opener's values of the other settings count.
 * In folders, two names that lead to one domain through symbolic links share it, too.  It is refcounted.
 * Objects are refcounted, too: a cached object stays valid while it is referenced, even if the cache (bounded
 * by setting meta_cache) drops it.  All functions may be called from any thread. */
#pragma once

#include "schema/model/model.h"
#include "schema/name/uri.h"
#include "base/settings.h"
#include "storage/node_reads.h"

struct bkt_domain;

/* Opening is defined in schema/edit/open_domain.c: an open domain carries the changes of schema/edit. */

/** Open by name: resolve the bucket, read .domain.json and (v2 and v1) begin to fetch the root group.
 *  @return BKT_OK; BKT_ENOENT: no such domain; BKT_EUNSUP: it is a folder (the message explains how to list
 *          it); BKT_EACCES, … */
BKT_NODISCARD int bkt_domain_open(const char *name, const struct bkt_settings *set, struct bkt_domain **out,
                                  struct bkt_err *err);
/** The domain that stands for a plain HDF5 file: caches and settings, without a document and without objects.
 *  It can't be found by its name.
 *  @param store, key  of the file; the store is shared */
BKT_NODISCARD int bkt_domain_of_file(struct bkt_store *store, const char *key, const struct bkt_settings *set,
                                     struct bkt_domain **out, struct bkt_err *err);
/** As bkt_domain_open(), for a caller that also looks for a plain HDF5 file of that name.  If the domain does
 *  not exist, no further request looks for another object in its place. */
BKT_NODISCARD int bkt_domain_open_only(const char *name, const struct bkt_settings *set,
                                       struct bkt_domain **out, struct bkt_err *err);
/** Whether @p name is a domain, by one GET at most (none if local evidence shows that it isn't).  A domain
 *  found is kept open for a moment, so that the following open costs no second GET.
 *  @return 1; 0; or a negative code (a network failure).  With 0, @p err has the reason if the name has the
 *          scheme of a store or its store was asked */
int  bkt_domain_probe(const char *name, const struct bkt_settings *set, struct bkt_err *err);
/** Close the domain that a probe keeps open.  Processes that open a domain together call it first: each may
 *  have asked at another time, and found another domain of that name.  Also before bkt_store_shutdown(). */
void bkt_domain_forget_probe(void);
/** Whether bkt_domain_open() of @p name needs no request, since the domain is open already. */
bool bkt_domain_is_open(const char *name, const struct bkt_settings *set);
struct bkt_domain *bkt_domain_retain(struct bkt_domain *d); /* one more reference; gives back @p d */
void bkt_domain_close(struct bkt_domain *d); /* drops one reference; NULL is fine */
static inline void bkt_domain_closep(struct bkt_domain **d) { bkt_domain_close(*d); }

/* Parts of the domain; borrowed as long as the domain is held. */
struct bkt_store          *bkt_domain_store(struct bkt_domain *d);
const struct bkt_settings *bkt_domain_settings(struct bkt_domain *d); /* the first opener's */
/** The document.  It is changed in place under HDF5's lock, so only the thread that has this lock may read
 *  it. */
const struct bkt_domain_doc *bkt_domain_doc(struct bkt_domain *d);
const char                  *bkt_domain_name(struct bkt_domain *d); /* canonical: store uri + "/" + path */
const char                  *bkt_domain_path(struct bkt_domain *d); /* in its bucket */
const struct bkt_id         *bkt_domain_root(struct bkt_domain *d); /* of its root group */

/** A member, fetched and parsed unless it is cached; waits for a prefetch under way.  Release it with
 *  bkt_object_release().  BKT_ENOENT: a link to an object that isn't stored; the message names id and key. */
BKT_NODISCARD int bkt_domain_get(struct bkt_domain *d, const struct bkt_id *id, const struct bkt_object **out,
                                 struct bkt_err *err);

/** Begin to fetch those of @p ids that are neither cached nor under way; returns at once.  bkt_domain_get()
 *  reports failures. */
void bkt_domain_prefetch(struct bkt_domain *d, const struct bkt_id *ids, size_t n);

/** Begin a traversal of everything below a group: the members of each group that arrives are fetched ahead of
 *  it, within bounds.  It lasts until bkt_domain_unfollow() has been called as often.  No effect under
 *  setting read_ahead=0. */
void bkt_domain_follow(struct bkt_domain *d, const struct bkt_object *start);
/** Take back one bkt_domain_follow(). */
void bkt_domain_unfollow(struct bkt_domain *d);

/** From now on share objects that are read with other processes of this node, until one is changed here.
 *  @p n NULL: no longer. */
void bkt_domain_share(struct bkt_domain *d, struct bkt_node_reads *n);

/** A program opens the member of @p group that @p link, one of its links, leads to.  If members are opened in
 *  order, the next ones are fetched.  The calls of one domain must not overlap (HDF5's lock sees to that). */
void bkt_domain_walked(struct bkt_domain *d, const struct bkt_object *group, const struct bkt_link *link);
/** Whether members were opened since, so that bkt_domain_siblings() may find some. */
bool bkt_domain_is_walked(const struct bkt_domain *d);
/** The datasets that such a walk, which is at @p id, reaches next.  Returns their number, at most @p max. */
size_t bkt_domain_siblings(struct bkt_domain *d, const struct bkt_id *id, struct bkt_id *out, size_t max);

/** Hard links to @p id in the groups of the domain; the root group counts one for itself.  The first call
 *  fetches all groups, in waves. */
BKT_NODISCARD int bkt_domain_link_count(struct bkt_domain *d, const struct bkt_id *id, uint64_t *out,
                                        struct bkt_err *err);

/** Whether version 1 chunks may be too many to request or delete each possible chunk unseen.  Then all keys
 *  of the bucket are listed instead, since no list finds these chunks by themselves.
 *  @param grid  chunks per dimension, of @p rank entries */
bool bkt_v1_are_many(const uint64_t *grid, unsigned rank);

/** Requests for chunk objects that are under way at once: bounds their memory. */
#define BKT_REQUESTS_AT_ONCE 4096

/** Stored bytes and number of native chunk objects of one dataset, by LIST; cached.  Either output may be
 *  NULL.  If a LIST can't find them (version 1 keys, plain HTTP), HEADs are made for up to
 *  BKT_REQUESTS_AT_ONCE chunks in the grid, since a user who only wants a number shouldn't pay for more;
 *  beyond, BKT_EUNSUP.  BKT_EINVAL: not a dataset. */
BKT_NODISCARD int bkt_domain_chunk_usage(struct bkt_domain *d, const struct bkt_object *dset, uint64_t *bytes,
                                         uint64_t *n_chunks, struct bkt_err *err);

/** The store and key that a reference's file_uri names, under the policy of DESIGN.md ([I2]): the domain's
 *  own bucket, or a store that setting `allow` admits.  A remote domain never opens a local file or another
 *  host.
 *  @param store  borrowed from the domain, which keeps it open
 *  @param key    the caller's, free()
 *  @return BKT_OK; BKT_EACCES: not allowed; the message names the URI and the word for allow=; BKT_EINVAL: no
 *          reference can have this URI; … */
BKT_NODISCARD int bkt_domain_resolve_uri(struct bkt_domain *d, const char *file_uri, struct bkt_store **store,
                                         char **key, struct bkt_err *err);

/** The known version of such a file, for struct bkt_req: all readers while the domain is open read the same
 *  version, or fail.  Borrowed from the domain.
 *  @param stamp  recorded by the reference (bkt_is_stamp()); files of another stamp have another version.
 *                NULL: none */
BKT_NODISCARD int bkt_domain_version(struct bkt_domain *d, const struct bkt_store *store, const char *key,
                                     const char *stamp, struct bkt_version **out, struct bkt_err *err);
/** Call after cached data of the files was dropped: further reads take the present versions, except of files
 *  with a recorded stamp. */
void bkt_domain_forget_versions(struct bkt_domain *d);

/** Whether an external link of the domain may lead to @p uri, a domain's name with a scheme.  It may lead to
 *  the domain's own store and to stores that setting `allow` admits; from a local domain, anywhere on this
 *  machine.
 *  @return BKT_OK; BKT_EACCES: not allowed; the message has the word for allow=; BKT_ENOENT: a scheme that no
 *          store has */
BKT_NODISCARD int bkt_domain_may_link(struct bkt_domain *d, const char *uri, struct bkt_err *err);

/** The file that holds a link. */
struct bkt_link_from {
    const char *store_uri, *name; /* name: for the message */
    const char *allow;            /* setting `allow`, or NULL */
    bool local;                   /* a file of this machine */
};
/** As bkt_domain_may_link(), for a link in any file. */
BKT_NODISCARD int bkt_link_allowed(const struct bkt_link_from *from, const char *uri, struct bkt_err *err);

/** An object of a higher layer that is kept per domain (the chunk cache).  attach: the existing one, or the
 *  one that @p make returns; any thread, one attachment per domain.  @p release is called when the domain
 *  closes.  NULL: make() failed. */
void *bkt_domain_attach(struct bkt_domain *d, void *(*make)(struct bkt_domain *d),
                        void (*release)(void *what));
void *bkt_domain_attached(struct bkt_domain *d); /* NULL: none yet */

/** Advisory ACL check for setting `user`; BKT_OK when no user is set.  @p need: BKT_ACL_… bits. */
BKT_NODISCARD int bkt_domain_check_acl(struct bkt_domain *d, unsigned need, struct bkt_err *err);

/* ---- recording of stored objects, for a snapshot (snapshot_serve.c) ---- */

/** From now on remember the JSON of objects that are stored in the domain, BKT_SNAPSHOT_MAX of it at most. */
void bkt_domain_record(struct bkt_domain *d);
/** The number of objects whose JSON is remembered. */
size_t bkt_domain_n_recorded(const struct bkt_domain *d);
/** The version stored last, borrowed; false: unknown. */
bool bkt_domain_recorded(const struct bkt_domain *d, const struct bkt_id *id, const char **etag,
                         const void **json, size_t *n);
