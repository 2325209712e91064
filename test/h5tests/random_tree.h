/* What the parts of test_random_tree.c share: one side of the comparison, HDF5's own files or domains. */
#ifndef BKT_H5_RANDOM_TREE_H
#define BKT_H5_RANDOM_TREE_H

#include "compare_write.h"
#include "random.h"

enum { FILES = 4, OBJECTS = 6, ATTRS = 3, REFS = 3, PATH_ROOM = 1400 };

struct side {
    struct out *o;
    uint64_t    seed;
    bool        rw;
    hid_t       fapl;
    hid_t       at; /* references lead from there, and to what is in its file */
    hid_t       file[FILES]; /* a.h5 twice, b.h5, n.h5: the last one is a plain file on both sides */
    hid_t       obj[OBJECTS];
    int         added[OBJECTS]; /* references that H5Oincr_refcount() added */
    hid_t       attr[ATTRS];
    H5R_ref_t   ref[REFS];
    bool        has_ref[REFS];
};

struct tree_op {
    const char *name;
    unsigned    weight;
    bool        changes;
    void (*run)(struct side *s, struct rnd *r);
};

extern const struct tree_op file_ops[], link_ops[], walk_ops[], object_ops[], attr_ops[], old_ops[];

/* ---- drawn from r; both sides draw the same ---- */

/** One component of a name; mostly of few, so that names meet. */
const char *some_name(struct rnd *r);
/** A path of one to three of them; one of four static buffers. */
const char *some_path(struct rnd *r);
/** A file or an object that is open; said as "at f0" or "at o3". */
hid_t some_loc(struct side *s, struct rnd *r);
/** Place in s->obj that is free or was made so. */
unsigned free_slot(struct side *s, struct rnd *r);
/** Place of an open object, or of none (-1). */
int some_object(struct side *s, struct rnd *r);
/** A link creation list for a link of that name; H5Pclose(). */
hid_t some_lcpl(struct rnd *r, const char *path);
/** Names of other characters are UTF-8 in a domain, whatever the list said; so the test says so, or leaves the call out. */
bool  is_ascii(const char *name);
H5_index_t      some_index(struct rnd *r, hid_t loc, const char *path, bool attrs);
H5_iter_order_t some_order(struct rnd *r);
/** A datatype; H5Tclose(). */
hid_t some_type(struct side *s, struct rnd *r);
/** A value of a type, in memory: from malloc(), given back by H5Treclaim() or free(). */
void fill_value(struct side *s, struct rnd *r, hid_t type, unsigned char *p);

/* ---- said ---- */

/** "fails" or "succeeds"; true for the latter. */
bool gave(struct side *s, const char *call, long long result);
/** Kept in a slot, or closed, and said what it is. */
void keep_object(struct side *s, struct rnd *r, const char *call, hid_t id);
void say_value(struct side *s, hid_t type, const unsigned char *p);
/** Type, space and values of an attribute. */
void say_attribute(struct side *s, hid_t attr);
/** Whether the name that HDF5 has for an object leads to it. */
bool say_name(struct side *s, const char *what, hid_t id);
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
