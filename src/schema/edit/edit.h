/* Changing a domain.
 *
 * In the process: an object under change stays in the object cache and changes in place.  bkt_domain_get()
 * and every holder of the object see the change at once.  One thread at a time makes the calls: HDF5's lock
 * sees to that, and a tool has one thread.  Readers on other threads must not look at an object while it is
 * changed.  Pointers into an object (its links, attributes, the arrays v and order) are valid until the
 * object's next change, flush or refresh.
 *
 * In the store: changes are kept per object as deltas (this link added, that attribute set, this extent)
 * until bkt_domain_flush().  A flush puts the deltas on top of the version that is stored then, by
 * conditional PUTs.  If another writer was faster, the object is read again, the deltas are put on top of
 * that version, and the PUT is repeated.  So two writers that touch different links, attributes or extents
 * both win.
 *
 * Two writers may make equal entries by one name: equal attributes, equal links, or links to new objects of
 * equal type, space and properties.  Then the earlier writer's object stands for the later writer's, with
 * everything that the later one wrote and added.  If the two entries differ, the later writer loses: each of
 * its flushes fails with BKT_EEXIST and names the entry, while everything else is written.  That ends when
 * one of the writers removes or renames its entry.
 *
 * Keys that are unknown here are kept.  After any other failure, changes that aren't written stay for the
 * next flush.  They hold up only those changes that depend on them.
 *
 * A reader of the store never sees a link to an absent object.  New objects are written first, then the
 * stored groups that link them, a new domain's .domain.json last.  Removed objects are deleted after their
 * last link.  Chunks are the caller's: written before a flush that lets an extent grow, deleted after a flush
 * that lets it shrink. */
#pragma once

#include "schema/domain/domain.h"

/** Names for a message, as many as fit. */
struct bkt_message_names {
    size_t n;
    char text[360];
};
/** Add a name; a name that doesn't fit is only counted. */
void bkt_message_names_add(struct bkt_message_names *names, const char *name);

struct bkt_agreed; /* agreed.h */

/* ---- domains ---- */

struct bkt_new_domain {
    bool               truncate; /* replace an existing domain; else that is BKT_EEXIST */
    struct bkt_object *root; /* the root group's attributes and creation properties (bkt_object_make(); taken,
                                even on failure); NULL: none */
    const struct bkt_agreed *agreed; /* agreed.h: several processes make it together; NULL: this one alone */
    const char *owner; /* NULL: setting user, else the owner of the folder that it is in, else "admin" */
};
/** Create and open a domain with an empty root group.  Nothing is stored before the first flush.  Then the
 *  domain appears at once, with the folders above it that have no document yet.  A domain that it replaces
 *  stays as it is until that moment, and is deleted afterwards.  In directories: if no bucket (a folder with
 *  an object tree in db/) is above the domain, the directory that holds the domain becomes the bucket.
 *  @return BKT_OK; BKT_EEXIST: a domain, a folder or a file of that name exists; BKT_ENOENT: no such
 *          directory; BKT_EBUSY: the domain to be replaced is open in this process; BKT_EACCES: the store is
 *          read-only, or the folder's ACL refuses; … */
BKT_NODISCARD int bkt_domain_create(const char *name, const struct bkt_settings *set,
                                    const struct bkt_new_domain *how, struct bkt_domain **out,
                                    struct bkt_err *err);

/** Open a domain that another process of the program is making: its objects are stored, but nobody finds
 *  them.  As long as it is open, bkt_domain_open() of its name finds it in this process.
 *  @param name  as for bkt_domain_create() there
 *  @param root  of the other process's domain
 *  @param out   bkt_domain_close(); its document is never stored by this process */
BKT_NODISCARD int bkt_domain_open_unseen(const char *name, const struct bkt_settings *set,
                                         const struct bkt_id *root, struct bkt_domain **out,
                                         struct bkt_err *err);

/** Name beside the place of a document, where the document is kept while a domain of version 1 is deleted.
 *  If the deletion was cut off, storing that document again and deleting the domain completes it: objects are
 *  deleted in an order in which the remaining ones can still be found. */
#define BKT_DELETE_MARK ".h5bucket-rm"

/** Delete a domain, its document first.
 *  @param keep_data  delete only the document, since other domains share the objects
 *  @return BKT_OK; BKT_ENOENT; BKT_EACCES; BKT_EUNSUP: it is a folder; BKT_EBUSY: it is open in this
 *          process */
BKT_NODISCARD int bkt_domain_delete(const char *name, const struct bkt_settings *set, bool keep_data,
                                    struct bkt_err *err);

/** Delete all objects of an open domain, but not its document, which is gone already or leads to other
 *  objects. */
BKT_NODISCARD int bkt_domain_delete_objects(struct bkt_domain *d, struct bkt_err *err);
/** Delete all objects of the (version 2) domain with that root. */
BKT_NODISCARD int bkt_remove_tree(struct bkt_store *st, const struct bkt_id *root, struct bkt_err *err);

/** Whether the domain may be written at all: its store isn't read-only, and its ACL grants it.  BKT_EACCES
 *  names the reason.
 *  @param acl_need  BKT_ACL_… bits */
BKT_NODISCARD int bkt_domain_may_write(struct bkt_domain *d, unsigned acl_need, struct bkt_err *err);

/** Whether the store accepts objects of the open domain, as far as that is known without a request
 *  (bkt_store_may_put()). */
BKT_NODISCARD int bkt_domain_may_store(const struct bkt_domain *d, struct bkt_err *err);

/** Write all changes, many at a time.  Objects that are neither linked nor held are left out, or removed.
 *  @return BKT_OK; BKT_EEXIST: see above; else the first failure.  After a failure nothing is forgotten and
 *          all else is written: flush again */
BKT_NODISCARD int bkt_domain_flush(struct bkt_domain *d, struct bkt_err *err);
/** Write new objects only.  Nothing that is stored leads to them before bkt_domain_flush(), so this may
 *  happen while their chunks are under way. */
BKT_NODISCARD int bkt_domain_flush_new(struct bkt_domain *d, struct bkt_err *err);
/** As bkt_domain_flush(), for one object that is stored already; used to keep the order of extents and
 *  chunks.  For a new object the call does nothing and returns BKT_OK.  The next bkt_domain_flush() reports
 *  names that collide. */
BKT_NODISCARD int bkt_domain_flush_object(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);
/** Call before bkt_domain_flush().
 *  @param doubt  something else of the domain could not be stored just now, so that an object which isn't
 *                found may be out of reach.  Then this flush doesn't count it as deleted by another writer,
 *                which would drop its changes */
void bkt_edit_doubt(struct bkt_domain *d, bool doubt);
/** Whether the last call found the whole store out of reach, so that further requests are useless for now. */
bool bkt_domain_out_of_reach(const struct bkt_domain *d);
/** The paths of objects that aren't stored, as many as fit; for a message. */
void bkt_domain_name_unstored(struct bkt_domain *d, struct bkt_message_names *out);
/** Append the path of an object; its id if no group in memory leads to it. */
BKT_NODISCARD int bkt_domain_path_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_buf *out);
/** Note whether chunks that the dataset's extent grew for are missing: then that extent waits.  The layer
 *  that knows the chunks calls this before each flush. */
void bkt_edit_extent_waits(struct bkt_domain *d, const struct bkt_id *dset, bool waits);
/** Whether changes exceed setting meta_cache by so much that bkt_domain_flush_early() should be called once
 *  no change is half made.  Only that call can store and release changes of links and extents.  Changes that
 *  can be stored in any order are stored by this one. */
bool bkt_domain_is_full(struct bkt_domain *d);
/** As bkt_domain_flush(), but nothing is deleted, a new domain stays unseen, and the next flush reports names
 *  that collide.  Chunks have to be stored before. */
BKT_NODISCARD int bkt_domain_flush_early(struct bkt_domain *d, struct bkt_err *err);
/** Whether the store has no document of the domain yet, so that nobody finds its stored objects. */
bool bkt_domain_is_new(const struct bkt_domain *d);
/** Whether there are changes that no flush has written yet. */
bool bkt_domain_is_dirty(struct bkt_domain *d);
/** Forget all changes that aren't written, e.g. of a new domain whose creation failed half way.  Objects are
 *  read again when they are asked for; ids of new objects become invalid. */
void bkt_domain_discard(struct bkt_domain *d);

/** Read an object again to see what is stored now (H5Orefresh, H5Drefresh).  Unflushed changes stay on top.
 *  Holders see the fresh contents in the same struct. */
BKT_NODISCARD int bkt_domain_refresh(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);

/* ---- objects ---- */

/** Add a new object, which is in memory until a flush; bkt_domain_get() finds it.  It is written when
 *  something links it (or refers to it, see bkt_edit_keep()).  It is dropped when nothing links it and nobody
 *  holds it.
 *  @param o   from bkt_object_make(), filled in; taken, even on failure.  If its id is "", one is chosen, in
 *            the domain's version; root, created, modified are set where they are 0
 *  @param id  receives its id; may be NULL */
BKT_NODISCARD int bkt_edit_add(struct bkt_domain *d, struct bkt_object *o, struct bkt_id *id,
                               struct bkt_err *err);
/** The object itself as long as it has not been stored.  Its maker may complete it (a dataset's layout, …)
 *  before the first flush, but not its links and attributes.  NULL: it is stored, or wasn't made here. */
struct bkt_object *bkt_edit_new_object(struct bkt_domain *d, const struct bkt_id *id);
/** Keep an object although no link leads to it, e.g. a chunk table: flush writes it and never removes it. */
BKT_NODISCARD int bkt_edit_keep(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_err *err);
/** A holder has released the object (H5Oclose).  If no link leads to it, it is removed now rather than by the
 *  next flush, so that links to its members are counted correctly. */
void bkt_edit_released(struct bkt_domain *d, const struct bkt_id *obj);
/** The functions of the layer that keeps elements of datasets. */
struct bkt_edit_hooks {
    /** An object was removed, whichever call removed it. */
    void (*removed)(struct bkt_domain *d, const struct bkt_id *id);
    /** Another writer's equal dataset comes to stand for this process's.  The function puts the elements of
     *  @p ours into @p theirs, and stores them, before it returns.  A failure leaves everything as it is, for
     *  the next flush.
     *  @param theirs  as it is stored, in no cache, with an extent that has room for ours */
    int (*adopt)(struct bkt_domain *d, const struct bkt_object *ours, const struct bkt_object *theirs,
                 struct bkt_err *err);
    /** Called after `adopt`, when everything else that can be stored is stored.  The function replaces ids
     *  among the written elements by those of the objects that stand for them now (bkt_edit_name_theirs()),
     *  and stores the elements, before it returns.  As long as it fails, the objects that these ids name
     *  stay. */
    int (*alias)(struct bkt_domain *d, struct bkt_err *err);
};
/** Set the functions that changes of a domain call.
 *  @param hooks  static, with all functions; one struct per domain */
void bkt_edit_hook(struct bkt_domain *d, const struct bkt_edit_hooks *hooks);
/** In stored elements (or any text), replace ids that other writers' objects stand for by theirs, in place.
 *  Returns whether there were some. */
bool bkt_edit_name_theirs(const struct bkt_domain *d, void *p, size_t n);
/** As bkt_edit_name_theirs(), for one id: if another writer's object stands for it, it becomes that
 *  object's id. */
void bkt_edit_stand_in(const struct bkt_domain *d, struct bkt_id *id);

/** Add a link.
 *  @param l  its contents are taken on success (then zeroed); created 0: now
 *  @return BKT_OK; BKT_EEXIST: the name is taken; BKT_EINVAL: the name is empty, or has a '/'; … */
BKT_NODISCARD int bkt_edit_link(struct bkt_domain *d, const struct bkt_id *group, struct bkt_link *l,
                                struct bkt_err *err);
/** Remove a link.  An object without links (bkt_domain_link_count() 0) is removed once it has no holder, at
 *  once or by a later flush.  So are the members of such a group.  To move a link, add the new one first. */
BKT_NODISCARD int bkt_edit_unlink(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                                  struct bkt_err *err);
/** H5Oincr_refcount(), H5Odecr_refcount(): references besides the links, which bkt_domain_link_count() leaves
 *  out. */
BKT_NODISCARD int bkt_edit_refcount(struct bkt_domain *d, const struct bkt_id *obj, int by,
                                    struct bkt_err *err);

/** Create an attribute.  @p a: its contents are taken on success (then zeroed).  BKT_EEXIST: the name is
 * taken; BKT_EINVAL: no name or type; BKT_EUNSUP: the value is too large; … */
BKT_NODISCARD int bkt_edit_attr(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_attr *a,
                                struct bkt_err *err);
/** Replace an attribute's value.  @p value: in stored form of its type; taken on success.  @p name must not
 * lie in the object, which may be stored early.  BKT_ENOENT: no such attribute; BKT_EUNSUP: too large */
BKT_NODISCARD int bkt_edit_attr_value(struct bkt_domain *d, const struct bkt_id *obj, const char *name,
                                      struct bkt_buf *value, struct bkt_err *err);
/** Delete an attribute.  BKT_ENOENT: no such attribute. */
BKT_NODISCARD int bkt_edit_attr_delete(struct bkt_domain *d, const struct bkt_id *obj, const char *name,
                                       struct bkt_err *err);
/** Rename an attribute.  BKT_ENOENT: there is no @p from; BKT_EEXIST: @p to is taken. */
BKT_NODISCARD int bkt_edit_attr_rename(struct bkt_domain *d, const struct bkt_id *obj, const char *from,
                                       const char *to, struct bkt_err *err);
/** Set a new extent.  If several writers change it, a dimension that they let grow becomes as large as the
 *  largest wish.  A dimension that they shrink becomes what the last writer wants.  After a shrink
 *  bkt_dset.trim records what is left in stored chunks, until bkt_edit_trimmed(); before then the dataset
 *  must not grow again.  (bkt_chunks_resize() of the chunk layer does all that.)
 *  @param dims  rank entries; BKT_EINVAL: beyond maxdims */
BKT_NODISCARD int bkt_edit_extent(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims,
                                  struct bkt_err *err);
/** Undo a shrink after which no chunk has been touched: the dataset has the extent @p dims and the mark
 *  @p trim (NULL: none) again.  If the smaller extent is stored already, the next flush
 * lets it grow again. */
BKT_NODISCARD int bkt_edit_extent_undo(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims,
                                       const uint64_t *trim, struct bkt_err *err);
/** Note that chunks hold nothing outside the extent any more. */
BKT_NODISCARD int bkt_edit_trimmed(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err);
/** Whether the store may not know of the last bkt_edit_trimmed() yet. */
bool bkt_edit_trim_waits(const struct bkt_domain *d, const struct bkt_id *dset);
/** Note that something was written to the dataset, which nothing shows any more once it has shrunk.  For a
 *  caller that shrinks a dataset without a fill value (H5Pset_fill_value(…, NULL)): HDF5 reads such a dataset
 *  only if it was ever written. */
BKT_NODISCARD int bkt_edit_written(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err);
/** The link or attribute that is made next gets @p number in the order of creation, or its own number if that
 *  is larger.
 *  @param links  of a group's links; else of an object's attributes */
BKT_NODISCARD int bkt_edit_number(struct bkt_domain *d, const struct bkt_id *obj, bool links, int64_t number,
                                  struct bkt_err *err);
/** Set the comment of an object.
 *  @param text  NULL or "": no comment */
BKT_NODISCARD int bkt_edit_comment(struct bkt_domain *d, const struct bkt_id *obj, const char *text,
                                   struct bkt_err *err);

/** Note that elements of the domain were written: the next flush counts as one that changes something. */
void bkt_domain_touched(struct bkt_domain *d);
