/* Shared by the parts of test_random_tree.c: one side of the comparison, HDF5's own files or domains. */
#ifndef BKT_H5_RANDOM_TREE_H
#define BKT_H5_RANDOM_TREE_H

#include "h5tests/helpers/compare_write.h"
#include "h5tests/random/random_numbers.h"

enum { FILES = 4, OBJECTS = 6, ATTRS = 3, REFS = 3, DECISIONS = 64, PATH_ROOM = 1400 };

struct side {
    struct out *o;
    uint64_t    seed;
    bool        rw;
    hid_t       fapl;
    hid_t       at; /* references lead from there, and to objects in its file */
    hid_t       file[FILES]; /* a.h5 twice, b.h5, n.h5: the last one is a plain file on both sides */
    hid_t       obj[OBJECTS];
    int         added[OBJECTS]; /* references that H5Oincr_refcount() added */
    bool        by_path[OBJECTS]; /* so it was opened; for objects opened otherwise HDF5 looks for some name
                                     when a caller asks */
    bool        intact[OBJECTS];  /* and it has that path still: nothing was unlinked or moved since */
    hid_t       attr[ATTRS];
    bool        stale[ATTRS];     /* it may have been deleted */
    H5R_ref_t   ref[REFS];
    bool        has_ref[REFS];
    bool       *native_says;      /* in this call: found out on HDF5's side, for both (tree_hdf5_faults.c) */
    unsigned    asked;            /* how many of them */
    bool        broken;           /* HDF5's own file can't be walked any more */
    bool        pointers;         /* a type was committed whose values may have such */
    bool        unlinked;         /* something was deleted: references to it may find another object in its
                                     place, in HDF5's files */
};

/* How something was opened */
enum opened { BY_PATH, UNNAMED, BY_SEARCH };

struct tree_op {
    const char *name;
    unsigned    weight;
    void (*run)(struct side *s, struct rnd *r);
};

extern const struct tree_op file_ops[], link_ops[], walk_ops[], object_ops[], attr_ops[], old_ops[];

/* ---- drawn from r; both sides draw the same ---- */

/** One component of a name; mostly one of few, so that names meet. */
const char *some_name(struct rnd *r);
/** A path of one to three of them; one of four static buffers. */
const char *some_path(struct rnd *r);
/** A file or an object that is open; printed as "at f0" or "at o3". */
hid_t some_loc(struct side *s, struct rnd *r);
/** Place in s->obj that is free or was made so. */
unsigned free_slot(struct side *s, struct rnd *r);
/** Place of an open object, or of none (-1). */
int some_object(struct side *s, struct rnd *r);
/** A link creation list for a link of that name; H5Pclose(). */
hid_t some_lcpl(struct rnd *r, const char *path);
/** Names with other characters are UTF-8 in a domain, whatever the list has; so the test sets UTF-8, or
 *  leaves the call out. */
bool  is_ascii(const char *name);
H5_index_t      some_index(struct rnd *r, hid_t loc, const char *path, bool attrs);
H5_iter_order_t some_order(struct rnd *r);
/** A datatype for something at @p loc; H5Tclose(). */
hid_t some_type(struct side *s, struct rnd *r, hid_t loc);
/** All values of an attribute or a dataset. */
void write_values(struct side *s, struct rnd *r, hid_t of, hid_t type, hid_t space);

/* ---- calls that are left out: tree_hdf5_faults.c ---- */

/** Whether they lie in one; false if that can't be found out. */
bool same_file(hid_t a, hid_t b);
/** They lie in one file, which was opened twice.  HDF5 treats a committed type of the other handle as one of
 *  another file, and H5Lcreate_hard() refuses. */
bool other_handle(struct side *s, hid_t a, hid_t b);
/** There is a soft or external link on the way.  H5Ocopy() looks whether the name exists, and stumbles. */
bool through_link(struct side *s, hid_t loc, const char *path);
/** The path itself is one.  H5Ldelete_by_idx(), H5Lget_info_by_idx() and similar calls don't follow it. */
bool is_link(struct side *s, hid_t loc, const char *path);
/** After a link was made: once a group holds itself, links aren't counted any more.  HDF5 also counts those
 *  of groups that nothing leads to. */
void linked_now(struct side *s, hid_t loc, const char *path);
/** If a file is open for reading, HDF5 refuses a new link only after it has changed the group in memory.
 *  Then it can't close the file. */
bool may_link(const struct side *s);
/** A copy that HDF5 fails to make in its own files: links lead into the copy while it is made.  @p rc counts
 *  on HDF5's side. */
bool fails_natively(struct side *s, herr_t rc);
/** After H5Ocopy() that followed links, and when the file is opened again: if these led into the copied
 *  object, HDF5 may have a file that it can't walk.  The run ends. */
void walkable(struct side *s, hid_t loc);
/** Before the second handle of a file is closed: values of an open attribute stay with the handle that read
 *  them last, and HDF5 crashes. */
void values_dropped(struct side *s);
/** HDF5 knows a name of @p loc.  H5Lmove() to a place below an object without a name crashes. */
bool has_path(const struct side *s, hid_t loc);
/** After an unlink or a move.  References are dropped: in HDF5's files they find the object that comes to lie
 *  there. */
void names_changed(struct side *s);
/** A value refers to an object in the file of @p at: the object itself, or in HDF5's files one that lies
 *  there now. */
bool refers_to_something(struct side *s, hid_t at, hid_t type, const void *ref);

/* ---- said ---- */

/** "fails" or "succeeds"; true for the latter. */
bool gave(struct side *s, const char *call, long long result);
/** Kept in a slot, or closed, and its kind printed. */
void keep_object(struct side *s, struct rnd *r, const char *call, hid_t id, enum opened how);
/** Opened by a path from there: an object that no path leads to returns none. */
enum opened opened_at(const struct side *s, hid_t loc);
/* Lines in which a file and a domain may differ: HDF5 has lost the name of a moved object, */
#define HAS_NAME " has a name that leads there "
#define NO_NAME  " has none that leads there"
/* or a value that refers to a deleted object finds another one in its place. */
#define HAS_REF "what may be gone by now is a thing of type "
#define NO_REF  "what may be gone by now is "
void say_value(struct side *s, hid_t type, const unsigned char *p);
/** Type, space and values of an attribute. */
void say_attribute(struct side *s, hid_t attr);
/** Whether the name that HDF5 has for an object leads to it, and the name itself where @p exact. */
void say_name(struct side *s, const char *what, hid_t id, bool exact);
void say_links(struct side *s, hid_t file);
/** Everything below @p file. */
void say_everything(struct side *s, hid_t file);
void close_slot(struct side *s, unsigned slot);

void files_create(struct side *s);
void files_open(struct side *s);
/** All that is open, too. */
void files_close(struct side *s);
void files_delete(struct side *s);

#endif
