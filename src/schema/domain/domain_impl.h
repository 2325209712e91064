/* The members of an open domain; inside src/schema. */
#pragma once

#include <pthread.h>

#include "schema/domain/domain.h"
#include "base/map.h"
#include "schema/domain/object_cache.h"

struct bkt_links_count; /* link_count.c */
struct bkt_siblings;    /* prefetch_in_order.c */
struct bkt_edits;       /* edit.c */

/* Folders above a domain; each costs a request.  A key of S3 has 1,024 bytes, so deeper paths are rare. */
#define BKT_FOLDERS_MAX 64

struct bkt_domain {
    struct bkt_domain *next; /* registry */
    unsigned           refs; /* under the registry's lock */
    /* key in the registry: name, and settings that matter */
    char              *id;
    char              *name, *path;
    struct bkt_settings    set;
    struct bkt_store      *store;
    bool                   of_file; /* bkt_domain_of_file(): the store may have this one file only */
    struct bkt_domain_doc  doc;
    unsigned granted; /* BKT_ACL_… bits that the document gives setting user */
    struct bkt_objects    *objects;
    struct bkt_links_count *links;
    struct bkt_siblings    *siblings; /* prefetch_in_order.c; NULL: not used yet */
    bool recording;                   /* snapshot_serve.c: stored objects are recorded */
    struct bkt_map *recorded;         /* id -> the version stored last */
    uint64_t recorded_bytes;
    struct bkt_edits       *edits; /* edit_impl.h; used by the one thread that changes the domain */

    pthread_mutex_t lock; /* guards the following members */
    void           *attached;
    void (*detach)(void *what);
    struct bkt_map *stores; /* named by references: URI -> struct bkt_store */
    struct bkt_map *versions; /* of files that references name (reference_policy.c) -> struct bkt_version */
    struct bkt_map *usage;  /* dataset id -> struct bkt_usage */
};

/* ---- defined in schema/edit, which stands above: the changes that a domain carries ---- */
/** No changes; NULL: out of memory. */
struct bkt_edits *bkt_edits_new(void);
void              bkt_edits_free(struct bkt_domain *d); /* with changes that weren't flushed */
/** Whether the changes were made by the process that this one was forked from, which has to store them. */
bool bkt_edits_foreign(const struct bkt_domain *d);
/** The object that stands for @p id; @p id itself if no other object does. */
const struct bkt_id *bkt_alias_of(const struct bkt_domain *d, const struct bkt_id *id);

/** NULL is fine. */
void bkt_siblings_free(struct bkt_siblings *s);
/** snapshot_serve.c: a version of an object was stored.  For a domain that records. */
void bkt_domain_record_one(struct bkt_domain *d, const struct bkt_id *id, const char *etag,
                           const struct bkt_buf *json);
/** domain.c: the parts of opening that making and deleting share. */
/** An empty domain of that name, which must not be open; settings are copied.  A domain that only a probe
 * keeps open is closed.  bkt_domain_destroy().
 *  @param busy  the code if a program has it open */
BKT_NODISCARD int bkt_domain_new(const char *name, const struct bkt_name *n, const struct bkt_settings *set,
                                 int busy, struct bkt_domain **out, struct bkt_err *err);
/** Note what store and document allow; call again after the access list in doc has changed. */
void bkt_domain_note_rights(struct bkt_domain *d);
/** Fill in all members of an open domain besides store, path and doc. */
BKT_NODISCARD int bkt_domain_open_parts(struct bkt_domain *d, struct bkt_err *err);
/** Put a domain into the registry; if it is there already, @p out is the registered one.
 *  @param rc  of filling it in; a failure is returned, and @p d destroyed */
BKT_NODISCARD int bkt_registry_add(struct bkt_domain *d, int rc, struct bkt_domain **out);
/** Free a domain that is not in the registry, with all changes that were not flushed.  NULL is allowed. */
void               bkt_domain_destroy(struct bkt_domain *d);
/** Find the domain of @p n in its store: store, path and doc are filled in. */
BKT_NODISCARD int bkt_domain_locate(struct bkt_domain *d, const struct bkt_name *n, struct bkt_err *err);
/** Whether a program has the domain of that key open.  A domain that only a probe keeps open is closed. */
bool bkt_registry_has(const char *id);
/** Count domains that aren't stored yet, which can be found in the registry only. */
void bkt_registry_count_fresh(int by);

/** Counter of hard links. */
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
/** As long as all groups were never counted: the local time at which the first object was made here.  Groups
 *  that were changed since may have links to such objects.  0: none was made, or all were counted. */
double bkt_links_count_since(struct bkt_links_count *c);
/** The links to an object that are counted so far, without a request. */
uint64_t bkt_links_count_known(struct bkt_links_count *c, const struct bkt_id *id);
/** Groups that are counted. */
size_t bkt_links_count_groups(struct bkt_links_count *c);
/** Forget all counts but those of objects that were made here.  @p own: these counts, too. */
void bkt_links_count_forget(struct bkt_links_count *c, bool own);
