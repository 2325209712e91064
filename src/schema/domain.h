/* An open domain: names -> store and root, objects fetched, parsed, shared and cached.
 *
 * One struct bkt_domain per domain and process, however often it is opened with the same store and with the same values of those
 * settings that matter (settings.h; of the others the first opener's count), in folders also through symbolic links; refcounted.
 * Objects are refcounted too; a cached object stays valid while referenced even when the cache (bounded by setting meta_cache) lets it
 * go.  All functions may be called from any thread. */
#ifndef BKT_DOMAIN_H
#define BKT_DOMAIN_H

#include "model.h"
#include "settings.h"
#include "store.h"

/* ---- what a file name means ---- */
struct bkt_name {
    char *store_uri;   /* "s3://bucket", "file:///dir", "https://host"; the store to open */
    char *path;        /* domain path inside it, no leading or trailing '/': "home/b.h5" */
    bool  search;      /* directories and https: store_uri is where the name starts; the bucket is the nearest
                          ancestor that holds the root group (path is then relative to the ancestor found) */
    bool  local;       /* nothing but this machine is touched */
    bool  create;      /* of bkt_name_parse_new() (edit.h): what it names may be absent */
    bool  any;         /* of bkt_name_parse_any(): a bucket alone will do */
    bool  probe;       /* whether there is a domain is all that is asked: no request is spent on telling what there is instead */
};
/** Take a name as given to H5Fopen apart.
 *  BKT_ENOENT: it can't be ours by local evidence (e.g. a plain path that is no directory with .domain.json
 *  and no default bucket): no network was touched; BKT_EINVAL: ours but malformed. */
BKT_NODISCARD int bkt_name_parse(const char *name, const struct bkt_settings *set, struct bkt_name *out,
                                 struct bkt_err *err);
/** The same, and of a bucket, whose path is "". */
BKT_NODISCARD int bkt_name_parse_any(const char *name, const struct bkt_settings *set, struct bkt_name *out,
                                     struct bkt_err *err);
/** Cut a path in a store to that of the folder above, which is "" for the bucket itself; false: it was that. */
bool              bkt_name_up(char *path);
/** Release what is in @p n; the struct itself is the caller's. */
void              bkt_name_fini(struct bkt_name *n);
/** Whether @p name begins with the scheme of a store, so that no other driver or connector can mean it.  No network. */
bool              bkt_name_has_scheme(const char *name);

/* ---- domains ---- */
struct bkt_domain;

/** Open by name: resolves the bucket, reads .domain.json and (v2 and v1) begins to fetch the root group.
 * @return BKT_OK; BKT_ENOENT no such domain; BKT_EUNSUP it is a folder (the message says so and how to list it);
 *         BKT_EACCES, … */
BKT_NODISCARD int bkt_domain_open(const char *name, const struct bkt_settings *set, struct bkt_domain **out,
                                  struct bkt_err *err);
/** Whether @p name is a domain, by one GET at most (none when local evidence says no): 1, 0, or a negative code
 *  (a network failure).  With 0 @p err tells why if the name has the scheme of a store, and so is nobody else's.  A domain found
 *  is kept open for a moment so that the open that follows costs no second GET. */
int  bkt_domain_probe(const char *name, const struct bkt_settings *set, struct bkt_err *err);
struct bkt_domain *bkt_domain_retain(struct bkt_domain *d); /* one more reference; gives back @p d */
void bkt_domain_close(struct bkt_domain *d); /* drops one reference; NULL is fine */
/** Let go of what a probe keeps open; before bkt_store_shutdown(). */
void bkt_domain_shutdown(void);

/** What belongs to the domain; borrowed for as long as it is held.  The path is that in its bucket. */
struct bkt_store            *bkt_domain_store(struct bkt_domain *d);
const struct bkt_settings   *bkt_domain_settings(struct bkt_domain *d);
const struct bkt_domain_doc *bkt_domain_doc(struct bkt_domain *d);
const char                  *bkt_domain_name(struct bkt_domain *d); /* canonical: store uri + "/" + path */
const char                  *bkt_domain_path(struct bkt_domain *d);
const struct bkt_id         *bkt_domain_root(struct bkt_domain *d);

/** A member, fetched and parsed unless cached; waits for a prefetch under way.  Give back with bkt_object_release().
 *  BKT_ENOENT: a link to an object that isn't stored: the message names id and key. */
BKT_NODISCARD int bkt_domain_get(struct bkt_domain *d, const struct bkt_id *id, const struct bkt_object **out,
                                 struct bkt_err *err);
const struct bkt_object *bkt_object_retain(const struct bkt_object *o);
void                     bkt_object_release(const struct bkt_object *o);

/** Begin to fetch those of @p ids that are neither cached nor under way; returns at once.  Failures show at get. */
void bkt_domain_prefetch(struct bkt_domain *d, const struct bkt_id *ids, size_t n);

/** A traversal of everything below a group begins: the members of each group that arrives are fetched ahead of it, within
 *  bounds, until as many calls of bkt_domain_unfollow().  Nothing under setting prefetch=no. */
void bkt_domain_follow(struct bkt_domain *d, const struct bkt_object *start);
void bkt_domain_unfollow(struct bkt_domain *d);

/** Someone opens the member of @p group that @p link, one of its links, leads to: when members are opened in order, the
 *  next ones are fetched.  The calls of one domain must not overlap (HDF5's lock sees to that). */
void bkt_domain_walked(struct bkt_domain *d, const struct bkt_object *group, const struct bkt_link *link);
/** The datasets that such a walk, which stands at @p id, comes to next; gives their number, at most @p max. */
size_t bkt_domain_siblings(struct bkt_domain *d, const struct bkt_id *id, struct bkt_id *out, size_t max);

/** Hard links to @p id in the groups of the domain, the root group counting one for itself (setting link_count:
 *  all groups, fetched in waves, once; or those known so far). */
BKT_NODISCARD int bkt_domain_link_count(struct bkt_domain *d, const struct bkt_id *id, uint64_t *out,
                                        struct bkt_err *err);

/** Whether chunks of version 1, whose keys no list finds by themselves, may be so many that all keys of the bucket are listed rather
 *  than each chunk that there may be asked for, or deleted unseen.
 *  @param grid  chunks per dimension, of @p rank entries */
bool bkt_v1_are_many(const uint64_t *grid, unsigned rank);

/** Stored bytes and number of native chunk objects of one dataset, by LIST; cached.  Either output may be NULL.
 *  Where LIST can't tell (version 1 keys, plain HTTP) by HEADs, for up to 4096 chunks in the grid; BKT_EUNSUP beyond. */
BKT_NODISCARD int bkt_domain_chunk_usage(struct bkt_domain *d, const struct bkt_object *dset, uint64_t *bytes,
                                         uint64_t *n_chunks, struct bkt_err *err);

/** The store and key that a reference's file_uri names, under the policy of DESIGN.md ([I2]): the domain's own
 *  bucket, or a store that setting `allow` admits; a remote domain never opens a local file or another host.
 *  @p key (caller's, free()).  The store is borrowed from the domain (kept open with it).  BKT_EACCES: not allowed, the
 *  message names the URI and what to put into allow=. */
BKT_NODISCARD int bkt_domain_resolve_uri(struct bkt_domain *d, const char *file_uri, struct bkt_store **store, char **key,
                                         struct bkt_err *err);

/** What is known of the version of such a file, for struct bkt_req: all that read it while the domain is open read the same one, or
 *  fail.  Borrowed from the domain.
 *  @param stamp  what the reference recorded of it (bkt_is_stamp()): those of another stamp have another version; NULL: nothing */
BKT_NODISCARD int bkt_domain_version(struct bkt_domain *d, const struct bkt_store *store, const char *key, const char *stamp,
                                     struct bkt_version **out, struct bkt_err *err);
/** After what was cached of them is dropped: whoever reads on reads what there is now, but for files of which a stamp is recorded. */
void bkt_domain_forget_versions(struct bkt_domain *d);

/** Whether an external link of the domain may lead to @p uri, a domain's name with a scheme: one in the domain's own store
 *  or in one that setting `allow` admits; from a local domain, any on this machine.  BKT_OK; BKT_EACCES: not allowed, the
 *  message says what to put into allow=; BKT_ENOENT: a scheme that no store has. */
BKT_NODISCARD int bkt_domain_may_link(struct bkt_domain *d, const char *uri, struct bkt_err *err);

/** What a higher layer keeps per domain (the chunk cache).  attach: the one there is, or what @p make gives; any thread,
 *  one attachment per domain; @p release is called when the domain closes.  NULL: make() failed. */
void *bkt_domain_attach(struct bkt_domain *d, void *(*make)(struct bkt_domain *d), void (*release)(void *what));
void *bkt_domain_attached(struct bkt_domain *d); /* NULL: none yet */

/** Advisory ACL check for setting `user`; BKT_OK when no user is set.  @p need: BKT_ACL_… bits. */
BKT_NODISCARD int bkt_domain_check_acl(struct bkt_domain *d, unsigned need, struct bkt_err *err);

#endif
