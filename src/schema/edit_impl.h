/* What changes of a domain are kept as until they are flushed; inside src/schema.
 *
 * [E1] An object under change has one struct bkt_change, which holds a reference and a pin on the cached object; the object
 *      itself is changed at once.
 * [E2] A new object is written whole.  One that is stored is written as the version in the store with the deltas put on
 *      top; a delta names what changed, its value is taken from the object when it is written.
 * [E3] After it is written a change is forgotten; what failed stays. */
#ifndef BKT_EDIT_IMPL_H
#define BKT_EDIT_IMPL_H

#include <jansson.h>
#include <sys/types.h>
#include <time.h>

#include "domain_impl.h"
#include "edit.h"

/** What happened to a name since the object was written last. */
enum bkt_delta {
    BKT_DELTA_NONE,
    BKT_DELTA_ADD,     /* it was not there */
    BKT_DELTA_REPLACE, /* it was there, and is another now; whatever is stored gives way */
    BKT_DELTA_REMOVE
};

/** What happened to a dataset's extent. */
struct bkt_extent_change {
    bool     resized; /* it was `old`; with PUTs whose answers were lost, anything from `low` to `high` may be stored */
    bool     trimmed; /* what lay within `from`, outside `to`, is gone */
    bool     written; /* bkt_edit_written() */
    bool waits;       /* chunks that it grew for aren't stored yet */
    uint64_t old[BKT_MAX_RANK], low[BKT_MAX_RANK], high[BKT_MAX_RANK], from[BKT_MAX_RANK], to[BKT_MAX_RANK];
};

/** Why a delta wasn't put on top of what is stored.  It stays in the change, and in the object in memory. */
enum bkt_kept {
    BKT_KEPT_NOT = 0,
    BKT_KEPT_CLASH, /* another writer made something else by that name */
    BKT_KEPT_WAITS  /* something else has to be stored before */
};

struct bkt_change {
    struct bkt_id      id;
    struct bkt_object *obj;     /* NULL: removed */
    bool               is_new;  /* not stored yet, as far as is known */
    bool               keep;    /* wanted without a link */
    bool               removed; /* to be deleted */
    bool               tried;   /* a PUT failed that may have reached the store */
    uint64_t           bytes, serial; /* what it takes up, roughly; when it was last touched */
    bool               comment;
    bool               numbers; /* of links or attributes: one that was given is not in use any more */
    int64_t            refs;    /* change of extra_refs */
    char               refs_id[17]; /* which stands beside it in the store: who, and which of his changes; "" no change yet */
    int64_t            uses;    /* change of uses */
    struct bkt_map    *links, *attrs; /* name -> enum bkt_delta; NULL: none */
    struct bkt_extent_change *extent; /* NULL: unchanged */
    struct bkt_map *kept_links, *kept_attrs; /* name -> enum bkt_kept, as of the last try; NULL: none */
    struct bkt_map *theirs; /* name of a kept link that collided -> id that theirs leads to; NULL: none */
    struct bkt_map *renamed; /* an attribute's name -> char *, the one that it has in the store; NULL: none */
    struct bkt_map
        *held; /* names of attributes whose deltas wait (renamed.c), as of the last try; NULL: none */
    struct bkt_map
        *equal; /* new attributes that another writer made as well, as of the last try; NULL: none */
    struct bkt_map *taken;  /* where links lead that were given a name here which is another's in what is
                               stored; NULL: none */
    bool reread;            /* what is stored has names that the object in memory lacks */
    /* while it is flushed */
    struct bkt_buf     text;    /* what is PUT */
    char              *etag;    /* of the version that the deltas are put on; NULL: to be read */
    bool               foreign; /* that version is another than the object's own */
    bool               ready;   /* text is what is to be PUT */
    bool same;                  /* text says what is stored already */
    bool               lost;    /* somebody else changed it first */
    bool               done;
};

struct bkt_doomed {
    struct bkt_id id;
    const struct bkt_object *o; /* as it was; a reference */
};

struct bkt_edits {
    struct bkt_map *changes; /* id -> struct bkt_change */
    struct bkt_map *loose;   /* ids that lost their last link while somebody held them */
    double          clock;   /* the latest time stamp given out */
    void (*on_remove)(struct bkt_domain *d, const struct bkt_id *id, void *arg);
    void *on_remove_arg;
    bkt_adopt_fn *on_adopt;
    bkt_alias_fn *on_alias;
    void *on_adopt_arg;
    struct bkt_map *alias; /* ids of ours that others' objects stand for now -> struct bkt_id; NULL: none */
    struct bkt_map
        *namers; /* objects that were given attributes with references, once the domain was stored: id
                    -> struct bkt_id; NULL: none */
    struct bkt_doomed
        *doomed; /* objects of ours that others' stand for, to be deleted once nothing stored names them */
    size_t n_doomed, doomed_cap;
    struct bkt_ids disowned; /* types that count too many, one each time */
    bool unnamed; /* elements that are stored may name one of ours that another's has come to stand for */
    struct bkt_map
        *absent; /* new objects that could not be stored: no stored link may lead to them; NULL: none */
    struct bkt_map
        *unmoved; /* objects whose new links could not be stored: their old ones stay; NULL: none */
    uint64_t dirty_bytes, serial;
    uint64_t writer, n_counts; /* who we are among those who change counts (0: not chosen yet); our changes of that kind */
    uint64_t spill_at; /* dirty_bytes from which on it is worth trying again (spill.c) */
    bool     spilling;
    bool doubt; /* bkt_edit_doubt() */
    bool out_of_reach; /* the store as a whole, so that nothing more is worth trying; as of the last
                          bkt_flush_some() */
    bool     ordered; /* much of it can only be stored in a flush's order, and then be let go */
    pid_t    pid;     /* whose changes they are */
    struct bkt_names
        gone; /* ids of changed objects that others have deleted, to be told by the next flush of all */
    bool     touched; /* chunks were written since bkt_domain_drop_stale() looked, */
    time_t   looked;  /* which it did then; 0: never */
    /* a domain that isn't stored yet */
    bool           fresh, replace; /* replace: whatever document is there */
    bool           counted;        /* in bkt_registry_count_fresh() */
    char          *old_etag; /* of the document that it replaces; NULL: none */
    struct bkt_id  old_root; /* whose objects go when it is stored; "" none */
    char         **folders;  /* paths of folders that lack a document, outermost first */
    size_t         n_folders;
};

/** No changes; NULL: out of memory. */
struct bkt_edits *bkt_edits_new(void);
void              bkt_edits_free(struct bkt_domain *d); /* with what wasn't flushed */
/** Forget one object's deltas; the object is let go. */
void              bkt_change_forget(struct bkt_domain *d, struct bkt_change *c);

/** A time stamp later than all given out before. */
double bkt_edit_now(struct bkt_edits *e);
/** The change of an object, begun if there was none.  BKT_EACCES: read-only; BKT_ENOENT; … */
BKT_NODISCARD int bkt_change_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out, struct bkt_err *err);
/** Remove what nobody links and nobody holds, and what only that linked. */
BKT_NODISCARD int bkt_edit_sweep(struct bkt_domain *d, struct bkt_err *err);
/** The count of an object may have come down to nothing: to be looked at. */
BKT_NODISCARD int bkt_edit_loosen(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);

/** Something of a committed type is made (@p by 1) or goes (-1): the type counts that.  @p type may be "", a type that isn't committed. */
BKT_NODISCARD int bkt_edit_use(struct bkt_domain *d, const struct bkt_id *type, int by, struct bkt_err *err);
/** The same for all types that an object and its attributes have. */
BKT_NODISCARD int bkt_edit_use_all(struct bkt_domain *d, const struct bkt_object *o, int by, struct bkt_err *err);
/** The attributes in c->equal, which are stored now, are another writer's, who has counted that: their types
 * don't count ours, once bkt_edit_disown() has seen to it. */
void bkt_edit_equal(struct bkt_domain *d, const struct bkt_change *c);
/** @p any  set where there were some: to be stored now */
BKT_NODISCARD int bkt_edit_disown(struct bkt_domain *d, bool *any, struct bkt_err *err);

/* ---- spare.c ---- */

/** Before a flush: what is to be deleted, and was linked by another writer since the groups were read here, stays after all, with what
 *  it leads to.  One LIST, unless nothing is to be deleted, or nobody else writes (setting writers).
 *  @return BKT_OK; else it can't be seen, and nothing may be deleted by this flush */
BKT_NODISCARD int bkt_edit_spare(struct bkt_domain *d, struct bkt_err *err);

/** A link that the object in memory has isn't stored: it is noted as one to be added. */
BKT_NODISCARD int bkt_change_note_link(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                                       struct bkt_err *err);
/** A link or an attribute that the object in memory has is stored as it was before: it is noted as changed.
 */
BKT_NODISCARD int bkt_change_note_again(struct bkt_domain *d, const struct bkt_id *obj, bool link,
                                        const char *name, struct bkt_err *err);

/* ---- replay.c: pure ---- */

#define BKT_REFS_WHO 10 /* digits of refs_id that tell who */

/** Put a change's deltas on top of @p stored (parsed JSON of the object, changed in place).  Those that
 * collide with what others made, or have to wait, are named in c->kept_links and c->kept_attrs; c->same tells
 * that nothing was to be done.
 * @param new_links  of a group's change the links that were not there, and nothing else */
BKT_NODISCARD int bkt_replay(struct bkt_edits *e, struct bkt_change *c, json_t *stored, bool new_links,
                             struct bkt_err *err);

/** Whether an attribute that the object in memory has as a new one can be stored by its name: @p stored has
 * none of that name, or says the same; true also where it isn't new. */
BKT_NODISCARD int bkt_replay_compare(struct bkt_edits *e, struct bkt_change *c, const char *name,
                                     const json_t *stored, bool *fits, struct bkt_err *err);

/* ---- renamed.c ---- */

/** An attribute has another name; its deltas are noted already.  BKT_ENOMEM: nothing is remembered. */
BKT_NODISCARD int bkt_renamed_note(struct bkt_change *c, const char *from, const char *to);
void bkt_renamed_forget(struct bkt_change *c, const char *name); /* it is deleted */
/** The name that it has in the store; NULL: the same, or none. */
const char *bkt_renamed_from(const struct bkt_change *c, const char *name, size_t n);
void bkt_renamed_prune(struct bkt_change *c); /* those that have their new names in the store */
/** Part of bkt_replay(): c->held, those that have to wait. */
BKT_NODISCARD int bkt_renamed_hold(struct bkt_edits *e, struct bkt_change *c, const json_t *stored,
                                   struct bkt_err *err);

/* ---- extent.c ---- */

/** A PUT of the extent as it is now has failed, or seemed to. */
void bkt_extent_tried(struct bkt_change *c);
/** A dataset's part of bkt_replay(). */
BKT_NODISCARD int bkt_replay_extent(const struct bkt_change *c, json_t *stored, struct bkt_err *err);

/* ---- spill.c ---- */

/** Where changes take up more than setting meta_cache: store new objects that nobody holds, and changes of others that may be
 *  stored in any order, so that they can be let go.  What can't be stored stays; the next flush tells. */
void bkt_edit_spill(struct bkt_domain *d);
/** Whether there are changes that another process made, which this one was forked from: they are that one's to store. */
bool bkt_edits_foreign(const struct bkt_domain *d);
/** BKT_EACCES, with the story, when there are such changes. */
BKT_NODISCARD int bkt_edits_own(struct bkt_domain *d, struct bkt_err *err);

/* ---- flush.c, flush_wave.c, flush_doc.c ---- */

/** Whether its deltas give a group links: new ones, or others in place of old ones. */
bool bkt_change_gains_links(const struct bkt_change *c);
/** Whether they take links from it: those that are removed or replaced. */
bool bkt_change_loses_links(const struct bkt_change *c);
/** Write objects in any order; @p v is used up.  Those that are through are forgotten.
 * @param gaining  of those that lose links, too, the new links alone, after which they are not through */
BKT_NODISCARD int bkt_flush_some(struct bkt_domain *d, struct bkt_change **v, size_t n, bool gaining,
                                 struct bkt_err *err);
/** Whether there is something in it that could be stored now: all but an extent that waits for chunks. */
bool bkt_change_is_due(const struct bkt_change *c);
/** What was stored of it is forgotten; all of it, unless something was kept. */
void bkt_change_through(struct bkt_domain *d, struct bkt_change *c);

/* ---- rival.c: several writers made the same thing ---- */

/** Objects of ours whose links collided, and that others' objects equal: those stand for them from now on.
 *  @param any  whether there were some: what they have besides is to be stored now */
BKT_NODISCARD int bkt_rivals_adopt(struct bkt_domain *d, bool *any, struct bkt_err *err);
/** BKT_EEXIST, naming objects and paths, where others made something else by a name; else BKT_OK. */
BKT_NODISCARD int bkt_rivals_tell(struct bkt_domain *d, struct bkt_err *err);
/** All ids in @p n bytes of text that others' objects stand for become theirs; whether there were some. */
bool bkt_alias_bytes(const struct bkt_edits *e, void *p, size_t n);
/** The same in a value of JSON, replaced where that changes it. */
BKT_NODISCARD int bkt_alias_json(const struct bkt_edits *e, json_t **j, struct bkt_err *err);
/** The object that stands for @p id; itself where none does. */
const struct bkt_id *bkt_alias_of(const struct bkt_domain *d, const struct bkt_id *id);
/** An object is given an attribute: one with references may name what others' objects come to stand for. */
BKT_NODISCARD int bkt_alias_note_attr(struct bkt_edits *e, const struct bkt_id *obj, const struct bkt_attr *a,
                                      struct bkt_err *err);
/** Another's object stands for ours, which was @p was: it is to be deleted by bkt_alias_settle(). */
void bkt_alias_doom(struct bkt_domain *d, const struct bkt_id *ours, const struct bkt_object *was);
void bkt_alias_free_doomed(struct bkt_edits *e); /* they stay in the store */
/** The end of a flush: elements name theirs (bkt_alias_fn), then ours are deleted.
 * @param stored  all that names theirs is; else ours stay for another flush
 * @return BKT_OK; what on_alias found, then ours stay as well */
BKT_NODISCARD int bkt_alias_settle(struct bkt_domain *d, bool stored, struct bkt_err *err);

/* ---- absent.c: what can't be stored holds up only what depends on it ---- */

/** New objects that are in @p d's changes after all were tried: links to them wait, also those that were just
 * stored. */
BKT_NODISCARD int bkt_absent_note(struct bkt_domain *d, struct bkt_err *err);
/** Objects that gained a link which isn't stored: the links that they are to lose wait. */
BKT_NODISCARD int bkt_unmoved_note(struct bkt_domain *d, struct bkt_err *err);
/** Every object has its chance again. */
void bkt_absent_clear(struct bkt_edits *e);

/** The object in memory becomes what is in c->text: what was written, or read, as version @p etag, with what others had put there.  Its
 *  own ETag is the caller's to set. */
BKT_NODISCARD int bkt_change_adopt(struct bkt_domain *d, struct bkt_change *c, const char *etag, struct bkt_err *err);
/** Whether the store says that the domain is there, and the object isn't; false also where it says nothing. */
bool bkt_object_is_gone(struct bkt_domain *d, const struct bkt_id *id);
/** Folders and the document of a new domain. */
BKT_NODISCARD int bkt_doc_write(struct bkt_domain *d, struct bkt_err *err);
/** Delete the objects of the domain that a new one has replaced. */
BKT_NODISCARD int bkt_doc_remove_old(struct bkt_domain *d, struct bkt_err *err);

/* ---- stale.c ---- */

/** Part of a flush: delete what HSDS made of the domain's objects, where it is there and they have changed. */
BKT_NODISCARD int bkt_domain_drop_stale(struct bkt_domain *d, struct bkt_err *err);

/* ---- create.c ---- */

/** Delete all objects of a version 1 domain in the store of @p d, whose root is @p root: another than that of @p d, or @p d is to go. */
BKT_NODISCARD int bkt_remove_v1(struct bkt_domain *d, const struct bkt_id *root, struct bkt_err *err);

/* ---- remove.c ---- */

/** A failure to delete that another try won't change: the store refuses it. */
bool bkt_edit_refused(int rc);

/** An object that is to be deleted, and what became of that. */
struct bkt_gone {
    const struct bkt_id     *id;
    const struct bkt_object *o; /* needed for datasets of version 1; else may be NULL */
    int                      rc;
    struct bkt_err          *err; /* when rc < 0; bkt_gone_fini() */
};
/** Delete all that the store has of @p n objects, many requests at once.  All are tried that the store refuses; another failure
 *  is the end, and those not tried yet have it too. */
void bkt_remove_objects(struct bkt_store *st, struct bkt_gone *v, size_t n);
void bkt_gone_fini(struct bkt_gone *v, size_t n);

#endif
