/* Changing a domain.
 *
 * In the process: an object under change stays in the object cache and changes in place, so bkt_domain_get()
 * and whoever holds the object see it at once.  The calls are made by one thread at a time (HDF5's lock sees
 * to that; a tool has one thread); readers on other threads must not look at an object while it is changed.
 * Pointers into an object (its links, attributes, the arrays v and order) are valid until its next change,
 * flush or refresh.
 *
 * In the store: changes are kept per object as deltas (this link added, that attribute set, this extent)
 * until bkt_domain_flush(), which puts them on top of the version that is stored then, by conditional PUTs.
 * When somebody else was faster the object is read again, the deltas are put on top of that, and the PUT
 * repeats: two writers that touch different links, attributes or extents both win.  Where both made the same
 * thing by one name (equal attributes; links that say the same; objects of equal type, space and properties)
 * the earlier one's object stands for the later one's, with what the later one wrote and added.  Where they
 * differ the later one loses: each flush fails with BKT_EEXIST and names it, all else is written, until the
 * later one takes it back (removes or renames it), or the earlier one does.  Keys that we don't know are
 * kept.  Any other failure keeps what isn't written for the next flush, and holds up nothing but what depends
 * on it.
 *
 * Nobody who reads the store sees a link to something absent: new objects are written first, then the stored
 * groups that link them, a new domain's .domain.json last; what is removed is deleted after its last link.
 * Chunks are the caller's: written before a flush that lets an extent grow, deleted after one that lets it
 * shrink. */
#ifndef BKT_EDIT_H
#define BKT_EDIT_H

#include "domain.h"

/** Names for a message, as many as fit. */
struct bkt_names {
    size_t n;
    char text[360];
};
/** One more; where it doesn't fit it is counted only. */
void bkt_names_add(struct bkt_names *names, const char *name);

/* ---- domains ---- */

/** Where a name would be created: as bkt_name_parse(), but nothing has to be there yet.  Plain paths: the directory that
 *  would hold it must exist (BKT_ENOENT), and no other file be in its place (BKT_EEXIST). */
BKT_NODISCARD int bkt_name_parse_new(const char *name, const struct bkt_settings *set, struct bkt_name *out,
                                     struct bkt_err *err);

struct bkt_new_domain {
    bool               truncate; /* replace a domain that exists; else that is BKT_EEXIST */
    struct bkt_object *root;     /* the root group's attributes and creation properties (bkt_object_make(); taken, even on
                                    failure); NULL: none */
    const char        *owner;    /* NULL: setting user, else the owner of the folder that it is in, else "admin" */
};
/** A new domain with an empty root group, open.  Nothing is stored before the first flush; then it appears at once, with the
 *  folders above it that have no document yet.  A domain that it replaces stays as it is until that moment, and is deleted
 *  after it.  Directories: with no bucket (a folder with an object tree in db/) above it, the directory that holds it
 *  becomes the bucket.
 * @return BKT_OK; BKT_EEXIST: there is one, or a folder or a file of that name; BKT_ENOENT: no such directory; BKT_EBUSY:
 *         to be replaced, but open in this process; BKT_EACCES: read-only store, or the folder's ACL says no; … */
BKT_NODISCARD int bkt_domain_create(const char *name, const struct bkt_settings *set, const struct bkt_new_domain *how,
                                    struct bkt_domain **out, struct bkt_err *err);

/** Beside the place of a document: what it was, while a domain of version 1 is deleted.  Where the deletion was cut off, who stores that
 *  document again and deletes the domain ends it: objects go in an order in which those that are left can be found. */
#define BKT_DELETE_MARK ".h5bucket-rm"

/** Delete a domain, its document first.  @p keep_data: only the document (others share its objects).
 *  BKT_ENOENT; BKT_EACCES; BKT_EUNSUP: a folder; BKT_EBUSY: open in this process. */
BKT_NODISCARD int bkt_domain_delete(const char *name, const struct bkt_settings *set, bool keep_data, struct bkt_err *err);

/** Delete all objects of an open domain, not its document: that is gone, or leads to others by now. */
BKT_NODISCARD int bkt_domain_delete_objects(struct bkt_domain *d, struct bkt_err *err);
/** The same for the (version 2) domain with that root. */
BKT_NODISCARD int bkt_remove_tree(struct bkt_store *st, const struct bkt_id *root, struct bkt_err *err);

/** Whether the domain may be written at all: not in a read-only store, not denied by its ACL (@p acl_need: BKT_ACL_… bits).
 *  BKT_EACCES says which. */
BKT_NODISCARD int bkt_domain_may_write(struct bkt_domain *d, unsigned acl_need, struct bkt_err *err);

/** Whether the store takes what belongs to the open domain, as far as that is known without a request (bkt_store_may_put()). */
BKT_NODISCARD int bkt_domain_may_store(const struct bkt_domain *d, struct bkt_err *err);

/** Write all changes, many at a time.  What isn't linked and isn't held by anybody is left out, or removed.
 *  BKT_EEXIST: see above; else what failed first: nothing is forgotten, all else is written, flush again. */
BKT_NODISCARD int bkt_domain_flush(struct bkt_domain *d, struct bkt_err *err);
/** Write new objects only: nothing that is stored leads to them before bkt_domain_flush(), so it may be done while their
 *  chunks are under way. */
BKT_NODISCARD int bkt_domain_flush_new(struct bkt_domain *d, struct bkt_err *err);
/** As bkt_domain_flush(), for one object that is stored already; for the order of extents and chunks.  A new object waits for
 *  bkt_domain_flush(): BKT_OK, nothing done.  Names that collide are told by the next bkt_domain_flush(). */
BKT_NODISCARD int bkt_domain_flush_object(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);
/** Before bkt_domain_flush(): whether something else of the domain could not be stored just now, so that an object which isn't found may
 *  be out of reach.  In this flush it doesn't count as deleted by others, which would drop its changes. */
void bkt_edit_doubt(struct bkt_domain *d, bool doubt);
/** Whether the last call found the store as a whole out of reach, so that nothing more is worth trying now.
 */
bool bkt_domain_out_of_reach(const struct bkt_domain *d);
/** The paths of what isn't stored, or as many as fit; for a message. */
void bkt_domain_name_unstored(struct bkt_domain *d, struct bkt_names *out);
/** The path of an object, appended; where no group in memory leads to it, its id. */
BKT_NODISCARD int bkt_domain_path_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_buf *out);
/** Whether chunks that the dataset's extent grew for are missing: then that extent waits.  For whoever knows
 * the chunks, before each flush. */
void bkt_edit_extent_waits(struct bkt_domain *d, const struct bkt_id *dset, bool waits);
/** Whether changes take up so much more than setting meta_cache that bkt_domain_flush_early() should be called, when nobody has a
 *  change half made: links and extents, which only it can store and let go of.  Stores first what can be in any order. */
bool bkt_domain_is_full(struct bkt_domain *d);
/** As bkt_domain_flush(), but nothing is deleted, a new domain stays unseen, and names that collide are told by the next flush.
 *  Chunks have to be stored before. */
BKT_NODISCARD int bkt_domain_flush_early(struct bkt_domain *d, struct bkt_err *err);
/** Whether the store has no document of it yet: nobody finds what is stored of it. */
bool bkt_domain_is_new(const struct bkt_domain *d);
/** Whether there are changes that no flush has written yet. */
bool bkt_domain_is_dirty(struct bkt_domain *d);
/** Bytes that the changes take up, roughly; a caller may flush when it is much. */
uint64_t bkt_domain_dirty_bytes(struct bkt_domain *d);
/** Forget all changes that aren't written, e.g. of a new domain whose creation failed half way.  The objects are read again
 *  when they are asked for; ids of new ones are gone. */
void bkt_domain_discard(struct bkt_domain *d);

/** See what is stored now (H5Orefresh, H5Drefresh): the object is read again, unflushed changes stay on top.  Holders see the
 *  fresh contents in the same struct. */
BKT_NODISCARD int bkt_domain_refresh(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);

/* ---- objects ---- */

/** A new object, in memory until flush; bkt_domain_get() finds it.  It is written when something links it (or refers to it,
 *  see bkt_edit_keep()), and dropped when nothing does and nobody holds it.
 * @param o   from bkt_object_make(), filled in; taken, even on failure.  id "": one is chosen, in the domain's version;
 *            root, created, modified are set where they are 0
 * @param id  its id; may be NULL */
BKT_NODISCARD int bkt_edit_add(struct bkt_domain *d, struct bkt_object *o, struct bkt_id *id, struct bkt_err *err);
/** The object itself as long as it has not been stored: whoever made it may complete it (a dataset's layout, …) before the
 *  first flush, but not links and attributes.  NULL: it is stored, or not one of ours. */
struct bkt_object *bkt_edit_new_object(struct bkt_domain *d, const struct bkt_id *id);
/** It is wanted even though no link leads to it, e.g. a chunk table: flush writes it and never removes it. */
BKT_NODISCARD int bkt_edit_keep(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_err *err);
/** Somebody who held it doesn't any more (H5Oclose): where no link leads to it, it goes now, rather than with the next flush, so that
 *  its members' links are counted as they are. */
void bkt_edit_let_go(struct bkt_domain *d, const struct bkt_id *obj);
/** Who keeps something about objects (their chunks) is told of each that is removed, by whatever call; one per domain. */
void bkt_edit_on_remove(struct bkt_domain *d, void (*fn)(struct bkt_domain *d, const struct bkt_id *id, void *arg), void *arg);

/** Who keeps elements of datasets is called when another writer's equal dataset comes to stand for ours:
 * those of @p ours are to be put into @p theirs, and stored, before this returns.  A failure leaves all as it
 * is, for the next flush.  One per domain.
 * @param theirs  as it is stored, in nobody's cache, with an extent that has room for ours */
typedef int bkt_adopt_fn(struct bkt_domain *d, const struct bkt_object *ours, const struct bkt_object *theirs,
                         void *arg, struct bkt_err *err);
/** Called after it, when all else is stored that can be: ids among the elements that were written have to
 * become those of the objects that stand for them now (bkt_edit_name_theirs()), and be stored, before this
 * returns.  As long as it fails, the objects that they named stay. */
typedef int bkt_alias_fn(struct bkt_domain *d, void *arg, struct bkt_err *err);
void bkt_edit_on_adopt(struct bkt_domain *d, bkt_adopt_fn *adopt, bkt_alias_fn *alias, void *arg);
/** Ids in stored elements (or any text) that other writers' objects stand for become theirs, in place;
 * whether there were some. */
bool bkt_edit_name_theirs(const struct bkt_domain *d, void *p, size_t n);
/** The same for one id: where another writer's object stands for it, that one's. */
void bkt_edit_stand_in(const struct bkt_domain *d, struct bkt_id *id);

/** Add a link.  @p l: its contents are taken on success (then zeroed); created 0: now.  BKT_EEXIST: the name is taken;
 *  BKT_EINVAL: empty, or with a '/'. */
BKT_NODISCARD int bkt_edit_link(struct bkt_domain *d, const struct bkt_id *group, struct bkt_link *l, struct bkt_err *err);
/** Remove a link.  The object whose last link it was (bkt_domain_link_count() 0, with setting link_count=known only objects
 *  of this session) goes when nobody holds it any more, at once or at a later flush; so do the members of such a group.
 *  To move a link, add it first. */
BKT_NODISCARD int bkt_edit_unlink(struct bkt_domain *d, const struct bkt_id *group, const char *name, struct bkt_err *err);
/** H5Oincr_refcount(), H5Odecr_refcount(): links that are none, which bkt_domain_link_count() leaves out. */
BKT_NODISCARD int bkt_edit_refcount(struct bkt_domain *d, const struct bkt_id *obj, int by, struct bkt_err *err);

enum bkt_attr_how {
    BKT_ATTR_CREATE, /* BKT_EEXIST when there is one */
    BKT_ATTR_REPLACE /* an existing one's value and type, its place kept; BKT_ENOENT */
};
/** @p a: its contents are taken on success (then zeroed). */
BKT_NODISCARD int bkt_edit_attr(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_attr *a, enum bkt_attr_how how,
                                struct bkt_err *err);
BKT_NODISCARD int bkt_edit_attr_delete(struct bkt_domain *d, const struct bkt_id *obj, const char *name, struct bkt_err *err);
BKT_NODISCARD int bkt_edit_attr_rename(struct bkt_domain *d, const struct bkt_id *obj, const char *from, const char *to,
                                       struct bkt_err *err);
/** New extent, rank entries.  BKT_EINVAL: beyond maxdims. When writers meet, what they let grow is as large as the largest
 *  wanted it, and what they shrink as the last one wanted it.
 *  What a smaller one leaves in stored chunks is recorded with it (bkt_dset.trim), until bkt_edit_trimmed(): before then it
 *  must not grow again.  (The chunk layer's bkt_chunks_resize() does all that.) */
BKT_NODISCARD int bkt_edit_extent(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims, struct bkt_err *err);
/** It shrank, and no chunk has been touched: it has the extent @p dims and the mark @p trim (NULL: none) again, as before.
 *  The smaller one may be stored; then the next flush lets it grow again. */
BKT_NODISCARD int bkt_edit_extent_undo(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims, const uint64_t *trim,
                                       struct bkt_err *err);
/** Chunks hold nothing outside the extent any more. */
BKT_NODISCARD int bkt_edit_trimmed(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err);
/** Something was written to it, which nothing will tell any more once it has shrunk.  For who shrinks one without a fill value
 *  (H5Pset_fill_value(…, NULL)): HDF5 reads it then, and as long as nothing was ever written it doesn't. */
BKT_NODISCARD int bkt_edit_written(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err);
/** What is made next gets @p number in the order of creation, or what it would get anyway if that is larger.
 *  @param links  of a group's links; else of an object's attributes */
BKT_NODISCARD int bkt_edit_number(struct bkt_domain *d, const struct bkt_id *obj, bool links, int64_t number, struct bkt_err *err);
/** NULL or "": none. */
BKT_NODISCARD int bkt_edit_comment(struct bkt_domain *d, const struct bkt_id *obj, const char *text, struct bkt_err *err);

/* ---- ids ---- */

/** A random id of a new root group, and of an object in the domain of @p root. */
BKT_NODISCARD int bkt_id_new_root(bool v2, struct bkt_id *out);
BKT_NODISCARD int bkt_id_new(const struct bkt_id *root, enum bkt_kind kind, struct bkt_id *out);

/** Elements of the domain were written: the next flush counts as one that changes something. */
void bkt_domain_touched(struct bkt_domain *d);

#endif
