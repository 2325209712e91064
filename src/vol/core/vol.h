/* Shared by the files of this folder: the objects behind HDF5's ids, and the ways from HDF5's terms to the
 * model's.  The callbacks are in vol/callbacks*.c; connector.c is the table of them all.
 *
 * Errors: helpers fill a struct bkt_err.  The outermost callback publishes it after every cleanup has run
 * (h5err.h), because any HDF5 call in between would wipe it. */
#pragma once

#include <hdf5.h>

#include "chunk/chunk.h"
#include "schema/domain/domain.h"
#include "vol/core/h5err.h"
#include "vol/core/native_header.h"
#include "vol/core/ops.h"

/** One open file: the result of an H5Fopen, shared by every object opened through it. */
struct bkt_file {
    struct bkt_domain *dom;
    char *name;            /* as the program gave it */
    unsigned flags;        /* H5F_ACC_… */
    unsigned long fileno;  /* same for every open of one domain in this process */
    hid_t fapl;            /* copy of the access list it was opened with; without its group */
    bool atomic;           /* H5Fset_mpi_atomicity(): kept; each chunk is read and stored whole in any case */
    bool reads_together;   /* H5Pset_all_coll_metadata_ops() */
    struct bkt_comm *comm; /* processes that opened it together (vol/parallel); NULL: this one alone */
    struct bkt_node_reads *shared_reads; /* by processes of this node; NULL: none */
    uint64_t user_block; /* H5Pget_userblock(): bytes that a program finds in the file of that name */
    unsigned refs;       /* objects and the file handle itself; guarded by HDF5's global lock */
    bool old_calls;      /* native_header.h */
    bool asked_for;      /* by the program, not by an external link only */
    bool closing;        /* the program has closed all of it; false again if its last flush fails */
    bool lost;           /* its changes are lost as the process ends; reported once */
    bool no_attrs_hint;  /* H5Fset_dset_no_attrs_hint: kept, without effect; the same for all of one domain */
    struct bkt_vobj *handle;  /* the object behind the file's id; NULL once it is closed */
    struct bkt_mount *mounts; /* mounted_files.c */
    struct bkt_ext *exts;     /* files that external links led to, kept open with this one */
    /* releases `mounts` and `exts`; set with the first one, else NULL */
    void (*drop_links)(struct bkt_file *f);
    struct bkt_vobj *objects; /* open objects, for H5Fget_obj_ids */
    struct bkt_file *next;    /* bkt_file_next() */
};

/** The object behind an id of the connector. */
struct bkt_vobj {
    unsigned char native_header[BKT_NATIVE_HEADER_BYTES]; /* first, see native_header.h */
    bool has_native_header;
    H5I_type_t type;              /* H5I_FILE, GROUP, DATASET, DATATYPE, ATTR */
    const struct bkt_ops *ops;    /* of its kind of file */
    struct bkt_file *file;        /* holds one reference; NULL: not in a domain */
    const struct bkt_object *obj; /* retained; the root group for a file; the owner for an attribute */
    char *path;      /* absolute path it was opened by, for H5Iget_name; NULL unknown (by token) */
    bool by_mount;   /* `path` leads through the mount of its file */
    unsigned hidden; /* mounts that cover the path: if > 0, it has no name */
    struct bkt_vobj *next, **prev; /* file->objects, or bkt_vobj_plain() */
    hid_t native_id;               /* bkt_plain_ops: the object behind it; else H5I_INVALID_HID */
    char *outside; /* FILE: stands for the object `path` of the file of this name (object_refs.h) */
    char *called;  /* FILE, plain: the name by which it is known; NULL: HDF5's */
    bool mdc_held; /* bkt_vobj_mdc_holder() */
    /* DATASET */
    struct bkt_dsetio *io;
    hid_t dapl;
    bool fill_checked; /* readable although never written, or was written */
    bool was_written;  /* some of it, for certain */
    bool was_blank;    /* no chunk of it was stored, in the state blank_as_of of the chunks */
    unsigned long blank_as_of;
    bool whole_values; /* HDF5 converts elements whole (bkt_value_tree_init_whole()) */
    /* plain: the dataset as chunk reads it (plain_read.h); NULL: not made yet */
    struct bkt_vobj *plain_dataset;
    void (*plain_dataset_free)(struct bkt_vobj *v);
    struct bkt_buf chunks; /* dataset_chunks.c: existing chunks, listed once */
    bool has_chunks;
    unsigned long chunks_as_of; /* the state of the chunks when they were listed */
    struct bkt_map *reported;   /* the size that the program got for each chunk it asked for; NULL: none */
    /* DATASET, DATATYPE, ATTR: made on first use, at most one of them; bkt_convert_file_type() */
    hid_t file_type;             /* not listed by HDF5 */
    struct bkt_buf encoded_type; /* HDF5's encoding of it; empty: none */
    /* ATTR */
    char *attr_name;
    double attr_created;        /* distinguishes it from a later attribute of that name */
    bool unnumbered;            /* bkt_vobj_set_unnumbered() */
    struct bkt_attr *attr_gone; /* its last state, if this process deleted it; else NULL */
};

/** New object; takes over the reference to @p obj, adds one to @p file. NULL: out
 * of memory (obj released). */
struct bkt_vobj *bkt_vobj_new(struct bkt_file *file, H5I_type_t type, const struct bkt_object *obj,
                              const char *path);
/** New object outside of domains.  NULL: out of memory. */
struct bkt_vobj *bkt_vobj_new_plain(const struct bkt_ops *ops, H5I_type_t type);
/** Free an object and all that it holds; the last one of a file closes the file.  NULL is allowed. */
void             bkt_vobj_free(struct bkt_vobj *o);
/** The handle that keeps account of H5Odisable_mdc_flushes() for the object of @p o: itself, or another one
 *  in any open of the file; NULL: flushes are enabled.  If it closes, another handle follows. */
struct bkt_vobj *bkt_vobj_mdc_holder(struct bkt_vobj *o);
static inline void bkt_vobj_freep(struct bkt_vobj **o) { bkt_vobj_free(*o); }
/** The first open object outside of domains; the others follow by `next`. */
struct bkt_vobj *bkt_vobj_plain(void);
/** The object at @p obj; NULL: it is another connector's. */
struct bkt_vobj *bkt_vobj_find(const void *obj);
/** Whether @p obj, which may be another connector's, is an object of this connector, in the same domain or
 *  plain file as @p o. */
bool             bkt_vobj_is_in_file_of(const struct bkt_vobj *o, const void *obj);
/** Its place, for messages. */
static inline const char *bkt_vobj_place(const struct bkt_vobj *o)
{
    return o->path ? o->path : o->obj ? o->obj->id.text : "(in another file)";
}
/** Mark an attribute that has no number in the order of creation: made by H5Acreate2() on an object that
 *  doesn't keep that order. */
void bkt_vobj_set_unnumbered(struct bkt_vobj *attr);
/** Whether an object open on this attribute has no number.  In HDF5 all of them share this, until the last
 *  is closed. */
bool bkt_attr_is_unnumbered(const struct bkt_domain *dom, const struct bkt_object *obj,
                            const struct bkt_attr *a);
/** Give up an id that the connector holds; a negative one is ignored.  If the program ends with objects open,
 *  HDF5 closes every id by itself, before or while the connector's callbacks run.  No id may be closed twice
 *  then. */
void bkt_vobj_drop_id(hid_t id);
/** Hold an id of HDF5's connector between calls.  It gets one more reference than needed: H5Fget_obj_ids()
 *  lists the id, and it has to survive a program that closes it.  bkt_vobj_forget_id() gives both references
 *  back, if the id is still valid. */
void bkt_vobj_keep_id(hid_t id);
void bkt_vobj_forget_id(hid_t id);
/** Make an id for @p o, to be handed to the program's callbacks; takes over @p o, also on failure.
 *  @p o NULL is reported as BKT_ENOMEM. */
BKT_NODISCARD int bkt_vobj_register(struct bkt_vobj *o, hid_t *out, struct bkt_err *err);
/** The object of a domain behind an id; borrowed.  NULL: HDF5's connector answers, for @p id as it is
 *  afterwards. */
struct bkt_vobj *bkt_vobj_behind(hid_t *id);
static inline struct bkt_vobj *bkt_vobj_of_id(hid_t id) { return bkt_vobj_behind(&id); }
/** Whether @p id is an object of this connector in a plain file, which passes calls on to HDF5's own. */
bool bkt_vobj_id_is_plain(hid_t id);
/** The HDF5 id type for an object of the model. */
H5I_type_t bkt_vobj_type_of(const struct bkt_object *obj);

/** The connector, for HDF5.  The same each time. */
const H5VL_class_t *bkt_vol_class(void);

/** Takes over @p dom, also on failure.  @p fapl is copied.  One reference for the caller. */
BKT_NODISCARD int bkt_file_new(struct bkt_domain *dom, const char *name, unsigned flags, hid_t fapl,
                               struct bkt_file **out, struct bkt_err *err);
/** Give a reference back; the last one closes the file and all that it keeps open. */
void bkt_file_release(struct bkt_file *f);

/** The open file after @p f; NULL begins and ends. */
struct bkt_file *bkt_file_next(const struct bkt_file *f);

/** The root group of @p f as a new object of type @p type (H5I_FILE or H5I_GROUP). */
BKT_NODISCARD int bkt_file_root(struct bkt_file *f, H5I_type_t type, struct bkt_vobj **out,
                                struct bkt_err *err);
