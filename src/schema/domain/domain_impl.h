/* The members of an open domain; inside src/schema. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "schema/domain/domain.h"
#include "schema/domain/link_count.h"
#include "schema/domain/object_cache.h"

struct bkt_siblings; /* prefetch_in_order.c */
struct bkt_edits;    /* of schema/edit */

/** What an open domain asks of the changes that it carries.  schema/edit has the functions, and passes them
 * to each function that opens a domain. */
struct bkt_edit_ops {
    struct bkt_edits *(*make)(void);    /* no changes; NULL: out of memory */
    void (*free)(struct bkt_domain *d); /* with changes that weren't flushed; d->edits may be NULL */
    /* whether the changes were made by the process that this one was forked from, which has to store them */
    bool (*foreign)(const struct bkt_domain *d);
    /* add the objects that changes hold, also those without a link to them; BKT_ENOMEM */
    int (*held)(const struct bkt_domain *d, struct bkt_ids *out);
};

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
    const struct bkt_edit_ops *edit_ops;
    struct bkt_edits *edits; /* edit_impl.h; used by the one thread that changes the domain */
    /* ids that this process made -> struct bkt_id of the objects that stand for them now; NULL: none */
    struct bkt_map *alias;

    pthread_mutex_t lock; /* guards the following members */
    void           *attached;
    void (*detach)(void *what);
    struct bkt_map *stores; /* named by references: URI -> struct bkt_store */
    struct bkt_map *versions; /* of files that references name (reference_policy.c) -> struct bkt_version */
    struct bkt_map *usage;  /* dataset id -> struct bkt_usage */
};

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
BKT_NODISCARD int bkt_domain_new(const struct bkt_edit_ops *ops, const char *name, const struct bkt_name *n,
                                 const struct bkt_settings *set, int busy, struct bkt_domain **out,
                                 struct bkt_err *err);
/** bkt_domain_open(); @p only: bkt_domain_open_only(). */
BKT_NODISCARD int bkt_registry_open(const struct bkt_edit_ops *ops, const char *name, bool only,
                                    const struct bkt_settings *set, struct bkt_domain **out,
                                    struct bkt_err *err);
/** bkt_domain_probe(). */
int bkt_registry_probe(const struct bkt_edit_ops *ops, const char *name, const struct bkt_settings *set,
                       struct bkt_err *err);
/** bkt_domain_of_file(). */
BKT_NODISCARD int bkt_domain_for_file(const struct bkt_edit_ops *ops, struct bkt_store *store,
                                      const char *key, const struct bkt_settings *set,
                                      struct bkt_domain **out, struct bkt_err *err);
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
