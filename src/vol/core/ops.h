/* Operations of HDF5's objects: a table for each kind of file.
 *
 * A callback (vol/callbacks*.c) finds the object of a call, and calls the object's table once.  An external
 * link may lead to an object in another kind of file.  A further kind of file needs
 *   - handles: bkt_vobj_new_plain() with its table, and private members in struct bkt_vobj where necessary;
 *   - code that opens or creates such a file (open/file_calls.c), and code that follows external links into
 *     it (open/linked_files.c, path/path.c);
 *   - all entries below.  An entry may be NULL only if its comment permits NULL.
 * Table of domains: connector.c; of plain HDF5 files: plain/plain_objects.c.
 *
 * An entry returns a bkt code and fills @p err, except where its comment has another rule.  The arguments are
 * HDF5's (H5VLconnector.h).  A new object is the caller's.  `o` is the object itself: names and indices of
 * H5VL_loc_params_t have been followed already. */
#pragma once

#include <hdf5.h>

#include <H5VLnative.h>

#include "base/err.h"

struct bkt_comm;
struct bkt_vobj;
struct bkt_link;

/** The subject of a link call: a group, and a link in it. */
struct bkt_link_place {
    struct bkt_vobj *group;
    const char *path;             /* as the program gave it; NULL: by index */
    const H5VL_loc_by_idx_t *idx; /* NULL: by name */
    char *name; /* "" or ".": the group itself; NULL: by index, where only HDF5 knows the name */
    /* domains: NULL if the group has no such link; valid until the group changes */
    const struct bkt_link *link;
};

/** The place of a new link: the group, and the name in it. */
struct bkt_new_link {
    struct bkt_vobj *group;
    char *name;     /* one component */
    bool name_utf8; /* H5Pset_char_encoding */
};

/** The arguments of H5Dread_multi() or H5Dwrite_multi(); all borrowed. */
struct bkt_io {
    size_t n;
    bool write; /* the buffers are only read */
    struct bkt_vobj *const *dsets;
    const hid_t *mem_types, *mem_spaces, *file_spaces;
    hid_t dxpl;
    void *const *bufs;
    struct bkt_comm *group; /* the processes that make the call together; NULL: each for itself, or not known
                               yet (dataset/shared_transfer.h).  Datasets of several groups have none: a
                               process that fails at the first must not make the others wait at the second. */
};
/** The call for one of its datasets. */
static inline struct bkt_io bkt_io_one(const struct bkt_io *io, size_t i)
{
    return (struct bkt_io){
        1,        io->write,    io->dsets + i, io->mem_types + i, io->mem_spaces + i, io->file_spaces + i,
        io->dxpl, io->bufs + i, io->group};
}

/** H5Oopen and the like, from @p o; an attribute stands for its owner, a file for its root group. */
struct bkt_open_ops {
    int (*by_name)(struct bkt_vobj *o, const char *path, hid_t lapl, struct bkt_vobj **out,
                   struct bkt_err *err);
    int (*by_idx)(struct bkt_vobj *group, const H5VL_loc_by_idx_t *at, struct bkt_vobj **out,
                  struct bkt_err *err);
    int (*by_token)(struct bkt_vobj *o, const H5O_token_t *token, struct bkt_vobj **out, struct bkt_err *err);
    int (*by_self)(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err);
};

struct bkt_attr_ops {
    int (*create)(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                  struct bkt_vobj **out, struct bkt_err *err);
    /** By index if @p idx is given. */
    int (*open)(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx, struct bkt_vobj **out,
                struct bkt_err *err);
    int (*read)(struct bkt_vobj *attr, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err);
    int (*write)(struct bkt_vobj *attr, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err);
    /** H5VLattr_get().  @p attr is the attribute itself; the location in @p args is ignored. */
    int (*get)(struct bkt_vobj *attr, H5VL_attr_get_args_t *args, struct bkt_err *err);
    /** > 0: the return value of the program's callback */
    int (*specific)(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err);
};

struct bkt_dataset_ops {
    /** Create a dataset.  @p name: a path from @p at; NULL: anonymous; also for commit() and for groups. */
    int (*create)(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl,
                  hid_t dapl, struct bkt_vobj **out, struct bkt_err *err);
    /** All datasets of the call are of this kind. */
    int (*transfer)(const struct bkt_io *io, struct bkt_err *err);
    int (*get)(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err);
    int (*set_extent)(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err);
    /** > 0: the return value of the program's callback */
    int (*optional)(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);
};

struct bkt_datatype_ops {
    int (*commit)(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl,
                  struct bkt_vobj **out, struct bkt_err *err);
    int (*type)(struct bkt_vobj *o, hid_t *out, struct bkt_err *err); /* a new id */
    int (*tcpl)(struct bkt_vobj *o, hid_t *out, struct bkt_err *err);
};

struct bkt_file_ops {
    /** All but H5VL_FILE_GET_OBJ_COUNT and _OBJ_IDS. */
    int (*get)(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);
    int (*flush)(struct bkt_vobj *o, H5F_scope_t scope, struct bkt_err *err);
    int (*reopen)(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err);
    int (*optional)(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);
};

struct bkt_group_ops {
    int (*create)(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                  struct bkt_vobj **out, struct bkt_err *err);
    int (*gcpl)(struct bkt_vobj *o, hid_t *out, struct bkt_err *err);
    int (*info)(struct bkt_vobj *o, H5G_info_t *out, struct bkt_err *err);
};

struct bkt_link_ops {
    /** Fill p->link and p->name, if this kind uses them.  A missing link is not yet an error. */
    int (*find)(struct bkt_link_place *p, struct bkt_err *err);
    /** The link must exist; if @p removing (for the message), the program must be allowed to remove it. */
    int (*check)(struct bkt_link_place *p, const char *removing, struct bkt_err *err);
    int (*get)(struct bkt_link_place *p, H5VL_link_get_args_t *args, struct bkt_err *err);
    int (*exists)(struct bkt_link_place *p, hbool_t *exists, struct bkt_err *err);
    /** The value of the program's callback, or a negative code; -1 without a message: the callback failed. */
    herr_t (*iterate)(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err);
    /** Remove a link.  @p to: the link was moved there; NULL: deleted. */
    int (*remove)(struct bkt_link_place *p, const struct bkt_new_link *to, struct bkt_err *err);
    /** For links that are copied between kinds of files.  read() describes a link in @p l (bkt_link_fini()).
     *  put() makes a link of @p l, and takes it over, also on failure.  Hard links are refused before. */
    int (*read)(struct bkt_link_place *p, struct bkt_link *l, struct bkt_err *err);
    int (*put)(struct bkt_new_link *to, struct bkt_link *l, hid_t lcpl, struct bkt_err *err);
    /** Within a kind. */
    int (*copy)(struct bkt_link_place *p, struct bkt_new_link *to, hid_t lcpl, struct bkt_err *err);
    /** No link has that name yet, and the group can hold one.  @p path: for the message */
    int (*is_free)(const struct bkt_new_link *s, const char *path, struct bkt_err *err);
    /** Soft and user-defined links. */
    int (*create)(struct bkt_new_link *s, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err);
    /** Make a hard link to @p target, an object of this kind, but perhaps in another file. */
    int (*hard)(struct bkt_new_link *s, struct bkt_vobj *target, hid_t lcpl, struct bkt_err *err);
    /** H5Gget_objinfo() on a link that is not followed.  1: *out is set; 0: the object is asked instead. */
    int (*stat)(struct bkt_link_place *p, H5G_stat_t *out, struct bkt_err *err);
};

struct bkt_object_ops {
    /** H5VL_OBJECT_GET_FILE: an object that HDF5 has an id for, or makes one for. */
    int (*file)(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err);
    /** All but H5VL_OBJECT_GET_FILE. */
    int (*get)(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err);
    /** Answers from the header of an object at @p loc that can't be opened; HDF5 looks at no more for these
     * calls. NULL: such an object has no answers. */
    int (*get_unopened)(struct bkt_vobj *at, const H5VL_loc_params_t *loc, H5VL_object_get_args_t *args,
                        struct bkt_err *err);
    int (*token_unopened)(struct bkt_vobj *at, const H5VL_loc_params_t *loc, H5O_token_t *out,
                          struct bkt_err *err);
    int (*native_info_unopened)(struct bkt_vobj *at, const H5VL_loc_params_t *loc,
                                const H5VL_native_object_get_native_info_t *args, struct bkt_err *err);
    /** The token of an object.  @p old: for H5Rcreate() of HDF5 1.8. */
    int (*token)(struct bkt_vobj *o, bool old, H5O_token_t *out, struct bkt_err *err);
    /** Whether a link leads to an object.  @p depth: of soft links that led here; if > 0, a missing link is
     *  an answer and not an error. */
    int (*exists)(struct bkt_link_place *p, hid_t lapl, unsigned depth, hbool_t *out, struct bkt_err *err);
    herr_t (*visit)(struct bkt_vobj *o, const H5VL_object_visit_args_t *a,
                    struct bkt_err *err); /* as link.iterate */
    int (*change_refs)(struct bkt_vobj *o, int delta, struct bkt_err *err);
    int (*get_comment)(struct bkt_vobj *o, H5VL_native_object_get_comment_t *a, struct bkt_err *err);
    int (*set_comment)(struct bkt_vobj *o, const char *text, struct bkt_err *err);
    /** NULL: objects have no header, all is zero. */
    int (*native_info)(struct bkt_vobj *o, H5VL_native_object_get_native_info_t *a, struct bkt_err *err);
    /** H5Odisable_mdc_flushes() and H5Oenable_mdc_flushes(), H5Oare_mdc_flushes_disabled(). */
    int (*hold_mdc)(struct bkt_vobj *o, bool hold, struct bkt_err *err);
    int (*is_mdc_held)(struct bkt_vobj *o, hbool_t *out, struct bkt_err *err);
    int (*stat)(struct bkt_vobj *o, H5G_stat_t *out, struct bkt_err *err);
    /** H5Ocopy() within this kind of file; NULL: copied by public calls (vol/copy). */
    int (*copy)(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl, hid_t lcpl,
                struct bkt_err *err);
};

struct bkt_token_ops {
    /** The text of a token; the caller's (free()). */
    int (*to_str)(struct bkt_vobj *o, const H5O_token_t *token, char **out, struct bkt_err *err);
    int (*from_str)(struct bkt_vobj *o, const char *text, H5O_token_t *out, struct bkt_err *err);
};

struct bkt_ops {
    const struct bkt_open_ops *open;
    const struct bkt_attr_ops *attr;
    const struct bkt_dataset_ops *dataset;
    const struct bkt_datatype_ops *datatype;
    const struct bkt_file_ops *file;
    const struct bkt_group_ops *group;
    const struct bkt_link_ops *link;
    const struct bkt_object_ops *object;
    const struct bkt_token_ops *token;
    /** Whether @p b, of the same kind, is in the same file; @p local: in the same open of it. */
    bool (*is_same_file)(const struct bkt_vobj *a, const struct bkt_vobj *b, bool local);
    /** Whether objects may be created in the file of @p o; the change begins now.  @p
     * what: for the message */
    int (*may_create)(struct bkt_vobj *o, const char *what, struct bkt_err *err);
    /** H5Oflush and the like.  @p id: the program's, for its callback (H5Pset_object_flush_cb) */
    int (*flush)(struct bkt_vobj *o, hid_t id, struct bkt_err *err);
    int (*refresh)(struct bkt_vobj *o, struct bkt_err *err);
};

/** Objects of domains, and of plain HDF5 files. */
extern const struct bkt_ops bkt_domain_ops, bkt_plain_ops;
extern const struct bkt_open_ops bkt_domain_open_ops;
extern const struct bkt_attr_ops bkt_domain_attr_ops, bkt_plain_attr_ops;
extern const struct bkt_dataset_ops bkt_domain_dataset_ops, bkt_plain_dataset_ops;
/** Reads and writes of plain files; defined above, in vol/dataset. */
BKT_NODISCARD int bkt_plain_transfer(const struct bkt_io *io, struct bkt_err *err);
extern const struct bkt_datatype_ops bkt_domain_datatype_ops, bkt_plain_datatype_ops;
extern const struct bkt_file_ops bkt_domain_file_ops;
extern const struct bkt_group_ops bkt_domain_group_ops;
extern const struct bkt_link_ops bkt_domain_link_ops;
extern const struct bkt_object_ops bkt_domain_object_ops;
extern const struct bkt_token_ops bkt_domain_token_ops;
