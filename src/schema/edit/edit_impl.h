/* Changes of a domain until they are flushed; inside src/schema.
 *
 * [E1] An object under change has one struct bkt_change, which holds a reference and a pin on the cached
 *      object.  The object itself is changed at once.
 * [E2] A new object is written whole.  A stored object is written as the version in the store with the
 *      deltas put on top.  A delta names what changed; its value is taken from the object when it is written.
 * [E3] A change is forgotten after it is written; failed changes stay. */
#pragma once

#include <jansson.h>
#include <sys/types.h>
#include <time.h>

#include "base/num.h"
#include "schema/domain/domain_impl.h"
#include "schema/edit/edit.h"

/** Change of a name since the object was written last. */
enum bkt_delta {
    BKT_DELTA_NONE,
    BKT_DELTA_ADD, /* it was not there */
    /* the name was there and has another value now, which replaces whatever is stored */
    BKT_DELTA_REPLACE,
    BKT_DELTA_VALUE, /* the attribute is the same one, with another value */
    BKT_DELTA_REMOVE
};

/** The stored link or attribute of a name that the program removed, or removed and made again. */
struct bkt_old_entry {
    struct bkt_id id; /* of a hard link: its target; of a deleted attribute: its committed type; else "" */
    double created; /* its time, by which it is recognised */
    double tried;   /* of the entry that a failed PUT may have stored in its place; 0: none */
};

/** Change of a dataset's extent. */
struct bkt_extent_change {
    /* it was `old`; after PUTs whose answers were lost, anything from `low` to `high` may be stored */
    bool resized;
    bool trimmed; /* elements within `from`, outside `to`, are gone */
    bool written; /* bkt_edit_written() */
    bool waits;   /* chunks that it grew for aren't stored yet */
    uint64_t old[BKT_MAX_RANK], low[BKT_MAX_RANK], high[BKT_MAX_RANK], from[BKT_MAX_RANK], to[BKT_MAX_RANK];
};

/** Why a delta wasn't put on top of the stored version.  It stays in the change, and in the object in
 *  memory. */
enum bkt_kept {
    BKT_KEPT_NOT = 0,
    BKT_KEPT_CLASH, /* another writer made another entry by that name */
    BKT_KEPT_WAITS, /* something else has to be stored before */
    BKT_KEPT_THEIRS /* the delta is void: the entry to be removed is another writer's, and stays */
};

/** A change while it is flushed. */
enum bkt_put_state {
    BKT_PUT_WAITS, /* for its text, or for the next attempt */
    BKT_PUT_READY, /* the text is complete for the PUT */
    BKT_PUT_LOST,  /* another writer changed the object first */
    BKT_PUT_DONE
};

/** The changes of one object that aren't stored yet.
 *    is_new   the PUT writes the whole object.  Deltas are noted only if `tried` is set, too: the store may
 *             have an earlier state of the object
 *    removed  the object is to be deleted; its other changes are void.  It can't have `keep`
 *    foreign, same   count during a flush only, and not for a removed object */
struct bkt_change {
    struct bkt_id id;
    struct bkt_object *obj; /* NULL: removed */
    bool is_new;            /* not stored yet, as far as is known */
    bool keep;              /* wanted without a link */
    bool removed;           /* to be deleted */
    bool tried;             /* a failed PUT may have reached the store */
    bool unclear;           /* so it may, and no answer reports that another writer was first */
    /* bytes that it takes up, roughly; serial: when it was touched last */
    uint64_t bytes, serial;
    bool comment;
    bool numbers; /* of links or attributes: a number that was given is unused now */
    int64_t refs; /* change of extra_refs */
    /* stands beside refs in the store: the writer, and which of its changes; "": no change yet */
    char refs_id[17];
    int64_t uses;                            /* change of uses */
    struct bkt_map *links, *attrs;           /* name -> enum bkt_delta; NULL: none */
    struct bkt_map *old_links, *old_attrs;   /* name -> struct bkt_old_entry; NULL: none */
    struct bkt_extent_change *extent;        /* NULL: unchanged */
    struct bkt_map *kept_links, *kept_attrs; /* name -> enum bkt_kept, as of the last attempt; NULL: none */
    /* name of a kept link that collided -> id of the other writer's target; NULL: none */
    struct bkt_map *theirs;
    struct bkt_map *renamed; /* an attribute's name -> char *, its name in the store; NULL: none */
    /* names of attributes whose deltas wait (merge_deltas.c), as of the last attempt; NULL: none */
    struct bkt_map *held;
    /* new attributes that another writer made as well, as of the last attempt; NULL: none */
    struct bkt_map *equal;
    /* targets of links whose names here are another writer's in the store; NULL: none */
    struct bkt_map *taken;
    bool reread; /* the stored version has names that the object in memory lacks */
    /* while it is flushed */
    struct bkt_buf text; /* the text of the PUT */
    char *etag;          /* of the version that the deltas are put on; NULL: to be read */
    bool foreign;        /* that version is another than the object's own */
    bool same;           /* text equals what is stored already */
    enum bkt_put_state state;
};

struct bkt_edits {
    struct bkt_id_source ids;           /* where ids of new objects come from, if `agreed` */
    bool agreed;                        /* agreed.h */
    struct bkt_map *changes;            /* id -> struct bkt_change */
    struct bkt_map *loose;              /* objects that lost their last link while they were held */
    double clock;                       /* the latest time stamp given out */
    const struct bkt_edit_hooks *hooks; /* NULL: none */
    /* ids of objects that got attributes with references once the domain was stored */
    struct bkt_map *namers;
    /* this process's objects that other writers' objects stand for, to be deleted once nothing stored names
     * them; with a reference to each, as it was */
    struct bkt_gone *doomed;
    size_t n_doomed, doomed_cap;
    struct bkt_ids disowned; /* types that count one use too many, once for each use */
    struct bkt_ids regained; /* types that count one use too few, likewise */
    /* stored elements may name an object of this process that another writer's object stands for */
    bool unnamed;
    /* new objects that could not be stored: no stored link may lead to them; NULL: none */
    struct bkt_map *absent;
    /* objects whose new links aren't stored: their old ones stay -> the group's struct bkt_change, or this
     * struct if several groups have such links; NULL: none */
    struct bkt_map *unmoved;
    /* groups that have moved, as of the flush under way, or of the last one if it could not remove the old
     * link or look at the store afterwards; ways: a group on the way to a new place -> struct bkt_id of the
     * group that leads to it */
    struct bkt_group_move *moves;
    size_t n_moves, moves_cap;
    struct bkt_map *ways;
    struct bkt_ids left; /* objects that have left removed groups, while groups that lose links are stored */
    bool left_known;     /* `left` is filled in */
    bool held; /* removed objects stay: one of them leads to such an object, as of the last attempt */
    uint64_t dirty_bytes, serial;
    /* this process's id among writers that change counts (0: not chosen yet); its changes of counts */
    uint64_t writer, n_counts;
    uint64_t spill_at; /* dirty_bytes from which on another attempt is worthwhile (flush_pressure.c) */
    bool spilling;
    bool doubt; /* bkt_edit_doubt() */
    /* the whole store is out of reach, so that further requests are useless now; as of the last
     * bkt_flush_some() */
    bool out_of_reach;
    /* much of it can only be stored in a flush's order, and be released afterwards */
    bool ordered;
    pid_t pid; /* the process that made the changes */
    /* ids of changed objects that other writers have deleted, for the report of the next flush of all */
    struct bkt_message_names gone;
    /* paths of groups whose moves are void, for the same report */
    struct bkt_message_names stayed;
    bool touched;  /* chunks were written since bkt_domain_drop_stale() looked */
    time_t looked; /* when bkt_domain_drop_stale() looked; 0: never */
    /* a domain that isn't stored yet */
    bool fresh, replace;    /* replace: replace whatever document is there */
    bool counted;           /* in bkt_registry_count_fresh() */
    char *old_etag;         /* of the document that it replaces; NULL: none */
    struct bkt_id old_root; /* whose objects are deleted once it is stored; "" none */
    char **folders;         /* paths of folders that lack a document, outermost first */
    size_t n_folders;
};

/** For struct bkt_domain; edit.c. */
extern const struct bkt_edit_ops bkt_edit_ops;
/** Whether the changes were made by the process that this one was forked from, which has to store them. */
bool bkt_edits_foreign(const struct bkt_domain *d);

/** Forget one object's deltas, and release the object. */
void              bkt_change_forget(struct bkt_domain *d, struct bkt_change *c);

/** A time stamp later than all before. */
double bkt_edit_now(struct bkt_edits *e);
/** The change of an object, begun if it has none.  BKT_EACCES: read-only; BKT_ENOENT; … */
BKT_NODISCARD int bkt_change_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out,
                                struct bkt_err *err);
/** Remove objects that are neither linked nor held, and objects that only those linked. */
BKT_NODISCARD int bkt_edit_sweep(struct bkt_domain *d, struct bkt_err *err);
/** Note that an object may have lost its last link, for the next sweep. */
BKT_NODISCARD int bkt_edit_loosen(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err);

/** An object or attribute of a committed type is made (@p by 1) or removed (-1): the type counts its uses.
 *  @param type  may be "", for a type that isn't committed */
BKT_NODISCARD int bkt_edit_use(struct bkt_domain *d, const struct bkt_id *type, int by, struct bkt_err *err);
/** As bkt_edit_use(), for all types of an object and its attributes. */
BKT_NODISCARD int bkt_edit_use_all(struct bkt_domain *d, const struct bkt_object *o, int by,
                                   struct bkt_err *err);
/** The attributes in c->equal, which are stored now, are another writer's, who has counted them.  So their
 *  types must not count this process's: bkt_edit_disown() corrects that.  If an answer was lost, one of them
 *  may be this process's after all: a type that counts too many is kept, with too few it could be deleted. */
void bkt_edit_equal(struct bkt_domain *d, const struct bkt_change *c);
/** Correct the uses of types that are counted once too often (bkt_edits.disowned), or too little.
 *  @param any  set if a count has changed, which must be stored now */
BKT_NODISCARD int bkt_edit_disown(struct bkt_domain *d, bool *any, struct bkt_err *err);

/** Before a flush: objects to be deleted that another writer has linked since the groups were read here stay
 *  after all, with everything that they lead to.  One LIST, unless nothing is to be deleted, or no other
 *  writer exists (setting writers).
 *  @return BKT_OK; else that can't be seen, and this flush must not delete anything */
BKT_NODISCARD int bkt_edit_spare(struct bkt_domain *d, struct bkt_err *err);

/** Read objects as they are stored, many at once; those that don't exist are left out.
 *  @param l      may grow meanwhile
 *  @param cache  an object whose version is in memory comes from there, with this process's changes
 *  @param fn     a negative code ends the walk; BKT_ENOMEM */
BKT_NODISCARD int bkt_edit_read_stored(struct bkt_domain *d, const struct bkt_ids *l, bool cache,
                                       int (*fn)(const struct bkt_object *o, void *arg), void *arg,
                                       struct bkt_err *err);

/** Whether a failure concerns all of a flush: the whole store is out of reach, or memory is short. */
static inline bool bkt_edit_is_outage(int rc)
{
    return rc == BKT_ENET || rc == BKT_ETIME || rc == BKT_EBUSY || rc == BKT_ENOMEM || rc == BKT_ECANCEL;
}

/* ---- link_targets.c ---- */

/** Whether no other writer has the object: no link to it is stored. */
bool bkt_edit_is_unseen(struct bkt_domain *d, const struct bkt_id *id);
/** Whether there may be other writers of the stored domain. */
bool bkt_edit_has_others(const struct bkt_domain *d);

/** Before links are stored: those whose targets another writer has deleted are removed.  The next flush of
 * all reports the targets.  A HEAD for each target that wasn't made here, and one for the domain; none if no
 *  other writer exists (setting writers).
 *  @param only_new  only links of new groups
 *  @return BKT_OK; BKT_ENET, BKT_ETIME, …: an outage; no link may be stored now; BKT_ENOMEM */
BKT_NODISCARD int bkt_edit_check_targets(struct bkt_domain *d, bool only_new, struct bkt_err *err);
/** Whether a group has hard links to objects that another writer may have deleted. */
bool bkt_edit_links_others(struct bkt_domain *d, const struct bkt_object *o);
/** Whether the store reports that the domain exists and the object doesn't; false if it reports neither. */
bool bkt_object_is_gone(struct bkt_domain *d, const struct bkt_id *id);

/* ---- edit.c ---- */

/** Remove a link whose target does not exist: the target is not removed in turn. */
BKT_NODISCARD int bkt_edit_drop_link(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                                     struct bkt_err *err);
/** A link of the object in memory isn't stored: note it as added. */
BKT_NODISCARD int bkt_change_note_link(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                                       struct bkt_err *err);
/** A link or an attribute of the object in memory is stored in its former state: note it as changed.  Call it
 *  before the link gets another target. */
BKT_NODISCARD int bkt_change_note_again(struct bkt_domain *d, const struct bkt_id *obj, bool link,
                                        const char *name, struct bkt_err *err);

/* ---- merge_deltas.c: pure ---- */

#define BKT_REFS_WHO 10 /* digits of refs_id that name the writer */

/** Put a change's deltas on top of @p stored (parsed JSON of the object, changed in place).  Deltas that
 *  collide with other writers' entries, or have to wait, are named in c->kept_links and c->kept_attrs.
 *  c->same is set if nothing had to be changed.
 *  @param new_links  apply only those links of a group's change that were not there before */
BKT_NODISCARD int bkt_replay(struct bkt_domain *d, struct bkt_change *c, json_t *stored, bool new_links,
                             struct bkt_err *err);

/** Whether the flush of a change takes this link of the stored group away. */
bool bkt_replay_takes_link(const struct bkt_change *c, const struct bkt_link *stored);
/** The PUT of a change has failed, or its answer was lost: its entries may be stored.
 *  @param lost  another writer was first, as far as is known */
void bkt_replay_tried(const struct bkt_change *c, bool lost);

/** An attribute has another name; its deltas are noted already.  BKT_ENOMEM: nothing is remembered. */
BKT_NODISCARD int bkt_renamed_note(struct bkt_change *c, const char *from, const char *to);
void bkt_renamed_forget(struct bkt_change *c, const char *name); /* the attribute is deleted */
void bkt_renamed_prune(struct bkt_change *c); /* forget those that have their new names in the store */

/* ---- extent.c ---- */

/** A PUT of the present extent has failed, or its answer was lost. */
void bkt_extent_tried(struct bkt_change *c);
/** The object in memory has become what the stored version @p stored and the change make together.  If it is
 *  made smaller than that from now on, it shrinks. */
void bkt_extent_seen(struct bkt_change *c, const struct bkt_space *stored);
/** A dataset's part of bkt_replay(). */
BKT_NODISCARD int bkt_replay_extent(const struct bkt_change *c, json_t *stored, struct bkt_err *err);

/* ---- merge_counts.c ---- */
/** The counts' part of bkt_replay(), if the change has a refs_id.  A change that a lost PUT has stored
 * already is not added twice.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_replay_counts(const struct bkt_change *c, json_t *stored);

/* ---- flush_pressure.c ---- */

/** Bytes that changes may take up before they are stored: with less than 1 MiB, each would be a PUT. */
static inline uint64_t bkt_edits_limit(const struct bkt_domain *d)
{
    return bkt_max_u64(d->set.meta_cache, 1u << 20);
}
/** Changes exceed that limit: store new objects that nobody holds, and those changes of other
 *  objects that may be stored in any order, so that they can be released.  Changes that can't be stored stay;
 *  the next flush reports them. */
void bkt_edit_spill(struct bkt_domain *d);

/* ---- flush_order.c, flush_wave.c, flush_doc.c ---- */

/** Whether a change's deltas give a group links: new links, or others in place of old ones. */
bool bkt_change_gains_links(const struct bkt_change *c);
/** Whether they take links from the group: removed or replaced ones. */
bool bkt_change_loses_links(const struct bkt_change *c);
/** Write objects in any order; @p v is used up.  Changes that are written are forgotten.
 *  @param gaining  of changes that lose links, too, write only the new links; afterwards the changes are
 *                  still due */
BKT_NODISCARD int bkt_flush_some(struct bkt_domain *d, struct bkt_change **v, size_t n, bool gaining,
                                 struct bkt_err *err);

/* ---- moved_links.c ---- */

/** Fill in edits->unmoved, before groups that lose links are stored.
 *  @param at_once  all of them are about to be stored: only links wait that other writers' entries keep from
 *                  being stored */
BKT_NODISCARD int bkt_unmoved_note(struct bkt_domain *d, bool at_once, struct bkt_err *err);
/** Forget it, after a flush. */
void bkt_unmoved_clear(struct bkt_edits *e);
/** Whether another change than @p c has a link to the object that isn't stored.  @p id may be NULL. */
bool bkt_unmoved_has(const struct bkt_domain *d, const struct bkt_change *c, const char *id);
/** Whether such an object, or one in c->taken, has left a group that was removed afterwards. */
bool bkt_unmoved_left_removed(const struct bkt_domain *d, const struct bkt_change *c);
/** The number of changes of links, and whether some wait. */
size_t bkt_unmoved_count(const struct bkt_domain *d, bool *waits);
/** After bkt_unmoved_note(at_once): whether all links that wait do so because of other writers' entries. */
bool bkt_unmoved_all_blocked(const struct bkt_domain *d);
/** Add an object to a set, and those that have moved into new groups below it.
 *  @param by  the value in the set; where another one is, struct bkt_edits replaces it */
BKT_NODISCARD int bkt_moved_add(struct bkt_domain *d, struct bkt_map **set, const struct bkt_id *to, void *by,
                                struct bkt_err *err);

/* ---- moved_groups.c: two writers move groups into each other ---- */

/** Before anything is stored: note the groups that move, and the ways to their new places.  Moves that an
 *  earlier flush has stored in part stay noted. */
BKT_NODISCARD int bkt_moves_note(struct bkt_domain *d, struct bkt_err *err);
/** Once new links are stored, and before old ones are removed: take back moves that would take groups out of
 *  reach.  No request if no group moves.
 *  @param any  set if there were some, which are changes to be stored now */
BKT_NODISCARD int bkt_moves_undo(struct bkt_domain *d, bool *any, struct bkt_err *err);
/** After old links were removed: groups that are out of reach get their old links back.  Moves whose old
 * links could not be removed stay noted. */
BKT_NODISCARD int bkt_moves_settle(struct bkt_domain *d, bool *any, struct bkt_err *err);
/** Forget them. */
void bkt_moves_clear(struct bkt_edits *e);

/* ---- rival_objects.c: several writers made an equal object ---- */

/** Find this process's objects whose links collided and that equal other writers' objects.  The other
 *  writers' objects stand for them from now on.
 *  @param any  set if there were some: what they have besides is to be stored now */
BKT_NODISCARD int bkt_rivals_adopt(struct bkt_domain *d, bool *any, struct bkt_err *err);
/** BKT_EEXIST, naming objects and paths, if other writers made other objects by a name; else BKT_OK. */
BKT_NODISCARD int bkt_rivals_report(struct bkt_domain *d, struct bkt_err *err);
/** bkt_edit_name_theirs() for a JSON value, which is replaced if it changes; only if there are aliases. */
BKT_NODISCARD int bkt_alias_json(const struct bkt_domain *d, json_t **j, struct bkt_err *err);
/** Another writer's object stands for @p was of this process: bkt_alias_settle() shall delete @p was. */
void bkt_alias_doom(struct bkt_domain *d, const struct bkt_object *was);
void bkt_alias_free_doomed(struct bkt_edits *e); /* the objects stay in the store */
/** The end of a flush: elements get the other writers' ids (hook alias), then this process's objects are
 *  deleted.
 *  @param stored  everything that names the other objects is stored; else the objects stay for another flush
 *  @return BKT_OK; the failure of that hook, after which the objects stay as well */
BKT_NODISCARD int bkt_alias_settle(struct bkt_domain *d, bool stored, struct bkt_err *err);

/** Links no longer wait for objects that could not be stored: every object is tried again. */
void bkt_absent_clear(struct bkt_edits *e);

/** The object in memory becomes the version in c->text, which was written, or read, as version @p etag, with
 *  changes of other writers.  The caller sets the object's own ETag. */
BKT_NODISCARD int bkt_change_adopt(struct bkt_domain *d, struct bkt_change *c, const char *etag,
                                   struct bkt_err *err);
/** Write the folders and the document of a new domain. */
BKT_NODISCARD int bkt_doc_write(struct bkt_domain *d, struct bkt_err *err);
/** Delete the objects of the domain that this new one has replaced. */
BKT_NODISCARD int bkt_doc_remove_old(struct bkt_domain *d, struct bkt_err *err);

/* ---- hsds_info.c ---- */

/** Part of a flush: delete what HSDS made of the domain's objects, if it exists and the objects have
 *  changed. */
BKT_NODISCARD int bkt_domain_drop_stale(struct bkt_domain *d, struct bkt_err *err);

/* ---- delete_stored.c ---- */

/** Delete all objects of a domain in the store of @p d.
 *  @param root  its root; another than that of @p d, unless @p d is to be deleted */
BKT_NODISCARD int bkt_remove_below(struct bkt_domain *d, const struct bkt_id *root, struct bkt_err *err);

/** Whether a deletion failed because the store refuses it, so that a retry is useless. */
bool bkt_edit_refused(int rc);

/** An object that is to be deleted, and the outcome. */
struct bkt_gone {
    const struct bkt_id     *id;
    const struct bkt_object *o; /* required for datasets of version 1; else may be NULL */
    int                      rc;
    struct bkt_err          *err; /* when rc < 0; bkt_gone_fini() */
};
/** Delete everything that the store has of @p n objects, many requests at once.  A refusal of the store
 *  doesn't stop the others.  Any other failure does, and the objects that weren't tried get the same
 *  failure. */
void bkt_remove_objects(struct bkt_store *st, struct bkt_gone *v, size_t n);
/** Free @p v and the errors; the objects are not released. */
void bkt_gone_fini(struct bkt_gone *v, size_t n);
