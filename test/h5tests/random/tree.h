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
    /* the object was opened by a path; for other objects HDF5 looks for a name when a caller asks */
    bool        by_path[OBJECTS];
    bool        intact[OBJECTS];  /* the object still has its path: nothing was unlinked or moved since */
    hid_t       attr[ATTRS];
    bool        stale[ATTRS];     /* the attribute may have been deleted */
    H5R_ref_t   ref[REFS];
    bool        has_ref[REFS];
    bool       *native_says;      /* answers of HDF5's side in this call, for both (tree_hdf5_faults.c) */
    unsigned    asked;            /* number of these answers */
    bool        broken;           /* HDF5's own file can't be walked any more */
    bool        pointers;         /* a type was committed whose values may have pointers */
    /* an object was deleted: in HDF5's files, references to it may find another object in its place */
    bool        unlinked;
};

/* The way in which an object was opened */
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
/** A path of one to three such names; one of four static buffers. */
const char *some_path(struct rnd *r);
/** A file or an object that is open; printed as "at f0" or "at o3". */
hid_t some_loc(struct side *s, struct rnd *r);
/** A place in s->obj that is free, or was made free. */
unsigned free_slot(struct side *s, struct rnd *r);
/** The place of an open object; -1: no object is open. */
int some_object(struct side *s, struct rnd *r);
/** A link creation list for a link of that name; H5Pclose(). */
hid_t some_lcpl(struct rnd *r, const char *path);
/** Names with other characters are UTF-8 in a domain, whatever the list has; so the test sets UTF-8, or
 *  leaves the call out. */
bool  is_ascii(const char *name);
H5_index_t      some_index(struct rnd *r, hid_t loc, const char *path, bool attrs);
H5_iter_order_t some_order(struct rnd *r);
/** A datatype for an object at @p loc; H5Tclose(). */
hid_t some_type(struct side *s, struct rnd *r, hid_t loc);
/** All values of an attribute or a dataset. */
void write_values(struct side *s, struct rnd *r, hid_t of, hid_t type, hid_t space);

/* ---- calls that are left out: tree_hdf5_faults.c ---- */

/** Whether @p a and @p b lie in one file; false if that can't be found out. */
bool same_file(hid_t a, hid_t b);
/** Whether @p a and @p b lie in one file, which was opened twice.  HDF5 treats a committed type of the other
 *  handle as one of another file, and H5Lcreate_hard() refuses. */
bool other_handle(struct side *s, hid_t a, hid_t b);
/** Whether a soft or external link lies on @p path.  H5Ocopy() looks whether the name exists, and fails. */
bool through_link(struct side *s, hid_t loc, const char *path);
/** Whether @p path itself is a soft or external link.  H5Ldelete_by_idx(), H5Lget_info_by_idx() and similar
 * calls don't follow it. */
bool is_link(struct side *s, hid_t loc, const char *path);
/** Call after a link was made.  Once a group holds itself, links aren't counted any more: HDF5 also counts
 *  links of groups that nothing leads to. */
void linked_now(struct side *s, hid_t loc, const char *path);
/** If a file is open for reading, HDF5 refuses a new link only after it has changed the group in memory.
 *  Then it can't close the file. */
bool may_link(const struct side *s);
/** Whether HDF5 fails to make a copy in its own files, since links lead into the copy while it is made.
 *  @p rc: the result on HDF5's side. */
bool fails_natively(struct side *s, herr_t rc);
/** Call after an H5Ocopy() that followed links, and when the file is opened again.  If the links led into the
 *  copied object, HDF5 may have a file that it can't walk.  Then the run ends. */
void walkable(struct side *s, hid_t loc);
/** Call before the second handle of a file is closed.  Values of an open attribute stay with the handle that
 *  read them last, and HDF5 crashes. */
void values_dropped(struct side *s);
/** Whether HDF5 knows a name of @p loc.  H5Lmove() to a place below an object without a name crashes. */
bool has_path(const struct side *s, hid_t loc);
/** Call after an unlink or a move.  References are dropped: in HDF5's files they find the object that comes to
 *  lie in that place. */
void names_changed(struct side *s);
/** Whether a value refers to an object in the file of @p at.  In HDF5's files that may be another object,
 *  which lies in the same place now. */
bool refers_to_something(struct side *s, hid_t at, hid_t type, const void *ref);

/* ---- printed ---- */

/** Print "fails" or "succeeds"; true: the call succeeded. */
bool gave(struct side *s, const char *call, long long result);
/** Keep the object in a slot or close it, and print its kind. */
void keep_object(struct side *s, struct rnd *r, const char *call, hid_t id, enum opened how);
/** The way in which a path from @p loc opens objects: an object that no path leads to has no name. */
enum opened opened_at(const struct side *s, hid_t loc);
/* Lines in which a file and a domain may differ: HDF5 has lost the name of a moved object, */
#define HAS_NAME " has a name that leads there "
#define NO_NAME  " has none that leads there"
/* or a value that refers to a deleted object finds another one in its place. */
#define HAS_REF "what may be gone by now is a thing of type "
#define NO_REF  "what may be gone by now is "
void say_value(struct side *s, hid_t type, const unsigned char *p);
/** Print type, space and values of an attribute. */
void say_attribute(struct side *s, hid_t attr);
/** Print whether HDF5's name for an object leads to the object.  @p exact: print the name, too. */
void say_name(struct side *s, const char *what, hid_t id, bool exact);
void say_links(struct side *s, hid_t file);
/** Print everything below @p file. */
void say_everything(struct side *s, hid_t file);
void close_slot(struct side *s, unsigned slot);

void files_create(struct side *s);
void files_open(struct side *s);
/** Close the files and all open objects. */
void files_close(struct side *s);
void files_delete(struct side *s);

#endif
