/* Shared by the files of this folder: the objects behind HDF5's ids, and the ways from HDF5's terms to the
 * model's.  One file per VOL class holds that class's callbacks; connector.c is the table of them all.
 *
 * Errors: helpers fill a struct bkt_err.  The outermost callback publishes it after every cleanup has run
 * (h5err.h), because any HDF5 call in between would wipe it. */
#ifndef BKT_VOL_H
#define BKT_VOL_H

#include <hdf5.h>

#include "chunk/chunk.h"
#include "schema/domain/domain.h"
#include "vol/core/native_header.h"
#include "vol/core/h5err.h"

/** One open file: the result of an H5Fopen, shared by every object opened through it. */
struct bkt_file {
    struct bkt_domain *dom;
    char              *name;    /* as the program gave it */
    unsigned           flags;   /* H5F_ACC_… */
    unsigned long      fileno;  /* same for every open of one domain in this process */
    hid_t              fapl;    /* copy of the access list it was opened with */
    uint64_t           user_block; /* H5Pget_userblock(): bytes that a program finds in the file of that name */
    unsigned           refs;    /* objects and the file handle itself; HDF5 serialises us */
    bool               old_calls; /* native_header.h */
    bool               asked_for; /* by the program, not by an external link only */
    bool               closing;   /* the program has closed all of it; false again if its last flush fails */
    bool               lost;      /* its changes are lost as the process ends; reported once */
    bool               no_attrs_hint; /* H5Fset_dset_no_attrs_hint: kept, without effect; the same for all of one domain */
    struct bkt_vobj   *handle;  /* the object behind the file's id; NULL once it is closed */
    struct bkt_mount  *mounts;  /* linked_files.c */
    struct bkt_ext    *exts;    /* files that external links led to, kept open with this one */
    struct bkt_vobj   *objects; /* open objects, for H5Fget_obj_ids */
};

/** The object behind an id of the connector. */
struct bkt_vobj {
    unsigned char            face[BKT_FACE_BYTES]; /* first, see native_header.h */
    bool                     has_face;
    H5I_type_t               type; /* H5I_FILE, GROUP, DATASET, DATATYPE, ATTR */
    struct bkt_file         *file; /* holds one reference; NULL only for objects of native files (native_id) */
    const struct bkt_object *obj;  /* retained; the root group for a file; the owner for an attribute */
    char                    *path; /* absolute path it was opened by, for H5Iget_name; NULL unknown (by token) */
    bool                     by_mount;     /* `path` leads through the mount of its file */
    unsigned                 hidden;       /* mounts that cover the path: if > 0, it has no name */
    struct bkt_vobj         *next, **prev; /* file->objects, or bkt_vobj_plain() */
    hid_t                    native_id;    /* of a plain HDF5 file (vol/plain/plain_file.h): everything is passed on to this id;
                                              H5I_INVALID_HID otherwise */
    char                    *outside; /* FILE: stands for the object `path` of the file of this name (foreign_ref.h) */
    char                    *called;  /* FILE, plain: the name by which it is known; NULL: HDF5's */
    /* DATASET */
    struct bkt_dsetio *io;
    hid_t              dapl;
    bool               fill_checked; /* readable although never written, or was written */
    bool               was_written;  /* some of it, for certain */
    struct bkt_buf     chunks;     /* dataset_chunks.c: existing chunks, listed once */
    bool               has_chunks;
    unsigned long      chunks_as_of; /* the state of the chunks when they were listed */
    struct bkt_map    *told;       /* the size that the program got for each chunk it asked for; NULL: none */
    /* DATASET, DATATYPE, ATTR: made on first use, see convert.h */
    hid_t              file_type;
    /* ATTR */
    char            *attr_name;
    double           attr_created; /* distinguishes it from a later attribute of that name */
    bool             no_number;    /* bkt_vobj_no_number() */
    struct bkt_attr *attr_gone;    /* its last state, if this process deleted it; else NULL */
};

/** New object; takes over the reference to @p obj, adds one to @p file. NULL: out of memory (obj released). */
struct bkt_vobj *bkt_vobj_new(struct bkt_file *file, H5I_type_t type, const struct bkt_object *obj, const char *path);
void             bkt_vobj_free(struct bkt_vobj *o);
static inline void bkt_vobj_freep(struct bkt_vobj **o) { bkt_vobj_free(*o); }
/** The first open object of plain HDF5 files (native_id); the others follow by `next`. */
struct bkt_vobj *bkt_vobj_plain(void);
/** An attribute without a number in the order of creation: made by H5Acreate2() on an object that doesn't
 *  keep that order. */
void             bkt_vobj_no_number(struct bkt_vobj *attr);
/** Whether an object open on this attribute has no number.  In HDF5 all of them share this, until the last
 *  is closed. */
bool             bkt_vobj_has_no_number(const struct bkt_domain *dom, const struct bkt_object *obj, const struct bkt_attr *a);
/** Give up an id that we hold; negative is fine.  If the program ends with objects open, HDF5 closes every
 *  id by itself, ours before or while our callbacks run: no id may be closed twice then. */
void bkt_vobj_drop_id(hid_t id);
/** An id for one of our objects, for handing to the program's callbacks; takes over @p o, also on failure
 *  (negative). */
hid_t bkt_vobj_register(struct bkt_vobj *o, struct bkt_err *err);
/** The HDF5 id type for an object of the model. */
H5I_type_t bkt_vobj_type_of(const struct bkt_object *obj);

/* ---- path.c: from a location and a name to an object ---- */
/** Follow @p path (absolute or relative to @p from) through hard, soft and external links and mounts.
 * @param out  a new object of the type found; BKT_ENOENT when a component does not exist (the message names
 *         it) */
BKT_NODISCARD int bkt_path_open(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **out, struct bkt_err *err);
/** The object that H5VL_loc_params_t points to: by self, name, index or token.  A new object. */
BKT_NODISCARD int bkt_path_locate(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_vobj **out, struct bkt_err *err);
/** The group that holds the last component of @p path, for link calls.  The last component itself is not
 * followed.
 * @param name  that component, without the slashes that may follow it; the caller's (free()).  "" if the
 * path has no component: "/" */
BKT_NODISCARD int bkt_path_parent(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **group, char **name,
                                  struct bkt_err *err);

/** Check an access list of a call: a link access list, or a list of groups, datasets, types or attributes,
 *  which is also a link access list.  H5P_DEFAULT is fine.
 *  @param n_links  the number of soft and external links that may be followed; left alone by a default
 *  list
 *  @return BKT_OK; BKT_EINVAL */
BKT_NODISCARD int bkt_path_check_lapl(hid_t lapl, size_t *n_links, struct bkt_err *err);

/* ---- object_calls.c ---- */
/** A reference value for reading into H5T_STD_REF memory: H5Rcreate_object() by id (object_calls.c keeps the LOOKUP
 *  answer). */
BKT_NODISCARD int bkt_object_make_ref(struct bkt_vobj *in_file, const struct bkt_id *id, H5R_ref_t *out, struct bkt_err *err);
/** The same for a dataset region: H5Rcreate_region(); @p region is the dataset's dataspace with its selection. */
BKT_NODISCARD int bkt_object_make_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, H5R_ref_t *out,
                                         struct bkt_err *err);

/** The same for an attribute: H5Rcreate_attr(). */
BKT_NODISCARD int bkt_object_make_attr_ref(struct bkt_vobj *in_file, const struct bkt_id *id, const char *attr, H5R_ref_t *out,
                                           struct bkt_err *err);

/* ---- callbacks, by class ---- */
/** Entries of bkt_vol_class, with the arguments of H5VLconnector.h.  A callback that makes or opens
 *  something returns a struct bkt_vobj that HDF5 closes, or NULL; the others return a herr_t.  On failure
 *  the reason is on HDF5's error stack.  Nothing is asynchronous: the last argument stays as it was. */
void  *bkt_vol_attr_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, void **);
void  *bkt_vol_attr_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t bkt_vol_attr_read(void *, hid_t, void *, hid_t, void **);
herr_t bkt_vol_attr_write(void *, hid_t, const void *, hid_t, void **);
herr_t bkt_vol_attr_get(void *, H5VL_attr_get_args_t *, hid_t, void **);
herr_t bkt_vol_attr_specific(void *, const H5VL_loc_params_t *, H5VL_attr_specific_args_t *, hid_t, void **);
herr_t bkt_vol_attr_optional(void *, H5VL_optional_args_t *, hid_t, void **);
herr_t bkt_vol_attr_close(void *, hid_t, void **);

/** Callbacks of datasets. */
void  *bkt_vol_dataset_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, hid_t, void **);
void  *bkt_vol_dataset_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t bkt_vol_dataset_read(size_t, void *[], hid_t[], hid_t[], hid_t[], hid_t, void *[], void **);
herr_t bkt_vol_dataset_write(size_t, void *[], hid_t[], hid_t[], hid_t[], hid_t, const void *[], void **);
herr_t bkt_vol_dataset_get(void *, H5VL_dataset_get_args_t *, hid_t, void **);
herr_t bkt_vol_dataset_specific(void *, H5VL_dataset_specific_args_t *, hid_t, void **);
herr_t bkt_vol_dataset_optional(void *, H5VL_optional_args_t *, hid_t, void **);
herr_t bkt_vol_dataset_close(void *, hid_t, void **);

/** Callbacks of committed types. */
void  *bkt_vol_datatype_commit(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, void **);
void  *bkt_vol_datatype_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t bkt_vol_datatype_get(void *, H5VL_datatype_get_args_t *, hid_t, void **);
herr_t bkt_vol_datatype_specific(void *, H5VL_datatype_specific_args_t *, hid_t, void **);
herr_t bkt_vol_datatype_close(void *, hid_t, void **);

/** Callbacks of files. */
void  *bkt_vol_file_create(const char *, unsigned, hid_t, hid_t, hid_t, void **);
void  *bkt_vol_file_open(const char *, unsigned, hid_t, hid_t, void **);
herr_t bkt_vol_file_get(void *, H5VL_file_get_args_t *, hid_t, void **);
herr_t bkt_vol_file_specific(void *, H5VL_file_specific_args_t *, hid_t, void **);
herr_t bkt_vol_file_optional(void *, H5VL_optional_args_t *, hid_t, void **);
herr_t bkt_vol_file_close(void *, hid_t, void **);

/** Callbacks of groups. */
void  *bkt_vol_group_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, void **);
void  *bkt_vol_group_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t bkt_vol_group_get(void *, H5VL_group_get_args_t *, hid_t, void **);
herr_t bkt_vol_group_specific(void *, H5VL_group_specific_args_t *, hid_t, void **);
herr_t bkt_vol_group_optional(void *, H5VL_optional_args_t *, hid_t, void **);
herr_t bkt_vol_group_close(void *, hid_t, void **);

/** Callbacks of links. */
herr_t bkt_vol_link_create(H5VL_link_create_args_t *, void *, const H5VL_loc_params_t *, hid_t, hid_t, hid_t, void **);
herr_t bkt_vol_link_copy(void *, const H5VL_loc_params_t *, void *, const H5VL_loc_params_t *, hid_t, hid_t, hid_t, void **);
herr_t bkt_vol_link_move(void *, const H5VL_loc_params_t *, void *, const H5VL_loc_params_t *, hid_t, hid_t, hid_t, void **);
herr_t bkt_vol_link_get(void *, const H5VL_loc_params_t *, H5VL_link_get_args_t *, hid_t, void **);
herr_t bkt_vol_link_specific(void *, const H5VL_loc_params_t *, H5VL_link_specific_args_t *, hid_t, void **);

/** Callbacks of objects of any kind. */
void  *bkt_vol_object_open(void *, const H5VL_loc_params_t *, H5I_type_t *, hid_t, void **);
herr_t bkt_vol_object_copy(void *, const H5VL_loc_params_t *, const char *, void *, const H5VL_loc_params_t *, const char *, hid_t,
                           hid_t, hid_t, void **);
herr_t bkt_vol_object_get(void *, const H5VL_loc_params_t *, H5VL_object_get_args_t *, hid_t, void **);
herr_t bkt_vol_object_specific(void *, const H5VL_loc_params_t *, H5VL_object_specific_args_t *, hid_t, void **);
herr_t bkt_vol_object_optional(void *, const H5VL_loc_params_t *, H5VL_optional_args_t *, hid_t, void **);

/** Callbacks of tokens. */
herr_t bkt_vol_token_cmp(void *, const H5O_token_t *, const H5O_token_t *, int *);
herr_t bkt_vol_token_to_str(void *, H5I_type_t, const H5O_token_t *, char **);
herr_t bkt_vol_token_from_str(void *, H5I_type_t, const char *, H5O_token_t *);

extern const H5VL_class_t bkt_vol_class;

#endif
