/* Shared by the files of the copier and H5Ocopy. */
#pragma once

#include "base/map.h"
#include "vol/copy/copier.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"

/** Identity of an object: its token, and its file (external links may lead to other files). */
struct bkt_copied {
    H5O_token_t   token;
    unsigned long fileno;
};
struct bkt_copy_group; /* copier.c */

struct bkt_copy_pending { /* a value with references: written when all objects are there */
    char *path, *attr;    /* attr NULL: the dataset's data */
    hid_t from, to;       /* attributes of a copy without a link; H5I_INVALID_HID: those at path */
};
struct bkt_copy_outside { /* a file that references lead into */
    char *name;
    hid_t file; /* H5I_INVALID_HID: it can't be opened */
};
struct bkt_copier {
    const struct bkt_copier_options *o;
    struct bkt_err                  *err;
    hid_t                            src, root; /* src: FOLLOW only; root: the destination's location */
    hid_t                            ocpypl, lcpl; /* H5Ocopy: as the program gave them */
    const char                      *name;       /* H5Ocopy: from root, the name that base gets at the end */
    bool search_all;                             /* copy.c: search all of the destination */
    struct bkt_map                  *places;     /* struct bkt_copied -> struct place (copier_places.c) */
    hid_t                            base; /* holds the present copy: root, or a copy without a name */
    struct bkt_buf                   path; /* of the object being copied, from base: "/a", "./a" */
    unsigned                         depth; /* of that object */
    struct bkt_copy_group           *top;   /* the innermost group that is being filled */
    struct bkt_copy_pending         *pending;
    size_t                           n_pending, cap_pending;
    struct bkt_copy_outside         *outside;
    size_t                           n_outside, cap_outside;
    hid_t                            ours; /* access list of our connector; negative: not made yet */
};

/* ---- copier.c ---- */
/** Record HDF5's message of the call that failed just now. */
int bkt_copy_failed(const struct bkt_copier *c, const char *what);
/** As bkt_copy_failed(), for a call that reads the source. */
int bkt_copy_unreadable(const struct bkt_copier *c, const char *what);
/** The code for a failed call that read the source: BKT_EFORMAT in place of BKT_EHDF5, if a tool copies.  The
 *  tool leaves unreadable parts out, if its user wants that. */
int bkt_copy_source_rc(const struct bkt_copier *c, int rc);
/** Whether the copy goes on: call between steps.  Negative: it ends. */
BKT_NODISCARD int bkt_copy_check(const struct bkt_copier *c, struct bkt_err *err);
/** Report a message about the object at @p path. */
void bkt_copy_report(const struct bkt_copier *c, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** After a failure with @p rc: whether something can't be read, and is left out.  If so, that has been
 *  reported, and the error is clear. */
bool bkt_copy_leaves_out(const struct bkt_copier *c, const char *path, const char *attr, int rc);

/** Copy an object, and when it is complete, link it as @p name in the destination.  NULL: the name that HDF5
 *  gives a copy made for a reference's sake. */
BKT_NODISCARD int bkt_copy_as(struct bkt_copier *c, hid_t from, const char *name);
/** Give the next link or attribute of @p to that number in the order of creation, if it lies in a domain. */
BKT_NODISCARD int bkt_copy_number(const struct bkt_copier *c, hid_t to, bool links, int64_t number);
void bkt_copy_fini(struct bkt_copier *c);

/** Names of links or attributes, with their numbers in the order of creation. */
struct bkt_copy_names {
    struct bkt_copy_name {
        char       *name;
        H5L_info2_t info; /* of an attribute: corder and corder_valid only */
    } *v;
    size_t n, cap;
};
/** Add a copy of the name. 0; -1: out of memory, which ends HDF5's iterations. */
int  bkt_copy_names_add(struct bkt_copy_names *l, const char *name, const H5L_info2_t *info);
void bkt_copy_names_fini(struct bkt_copy_names *l);

/* ---- copier_places.c ---- */
/** The copy of @p from: location and name, both valid until another object is copied.  *name NULL: not
 *  copied yet. */
BKT_NODISCARD int bkt_copy_find(const struct bkt_copier *c, hid_t from, hid_t *loc, const char **name);
/** The type for the copy: if @p type is a committed type, its copy, else @p type itself.  The caller's. */
BKT_NODISCARD int bkt_copy_type(struct bkt_copier *c, hid_t type, hid_t *out);
/** Record that @p from is copied.  @p self: the copy, if no link leads to it yet; H5I_INVALID_HID: it is at
 *  the present path. */
BKT_NODISCARD int bkt_copy_remember(struct bkt_copier *c, hid_t from, hid_t self);
/** Remove the record of @p from: its copy could not be completed. */
void bkt_copy_forget(struct bkt_copier *c, hid_t from);
/** Make another link to the object @p path at @p loc, a place of bkt_copy_find(). */
BKT_NODISCARD int bkt_copy_link_again(const struct bkt_copier *c, hid_t loc, const char *path, hid_t dst,
                                      const char *name, hid_t lcpl);
/** Copy a committed type that was not copied yet, to @p name, or without a link.  @p out: the caller's. */
BKT_NODISCARD int bkt_copy_committed(struct bkt_copier *c, hid_t from, hid_t dst, const char *name,
                                     hid_t lcpl, hid_t *out);
void bkt_copy_places_fini(struct bkt_copier *c);

/* ---- copier_object.c ---- */
/** Copy the comment and all attributes.  @p cpl: the creation list of @p from.  @p named: links lead to the
 *  copy already. */
BKT_NODISCARD int bkt_copy_attributes(struct bkt_copier *c, hid_t from, hid_t to, hid_t cpl, bool named);
/** Make the dataset.  @p out: the caller's, also after a failure. */
BKT_NODISCARD int bkt_copy_dataset(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl,
                                   hid_t *out);
/** Copy the elements of a dataset, or postpone that. */
BKT_NODISCARD int bkt_copy_elements(struct bkt_copier *c, hid_t from, hid_t to);
/** Write a value that was postponed. */
BKT_NODISCARD int bkt_copy_write_pending(struct bkt_copier *c, const struct bkt_copy_pending *p);
void              bkt_copy_pending_fini(struct bkt_copier *c);

/* ---- copier_value.c ---- */
/** Values in memory, as they are read and as they are written. */
struct bkt_copy_values {
    hid_t  in, out; /* types: equal unless references are translated; negative: nothing is copied */
    bool   translated, has_pointers;
    hid_t  space; /* borrowed */
    size_t n;
    void  *from, *to;
};
/** Find the memory types for a stored type. */
BKT_NODISCARD int bkt_copy_values_of(const struct bkt_copier *c, hid_t stored, struct bkt_copy_values *v);
/** Make room for @p n values; @p space: their dataspace in memory. */
BKT_NODISCARD int bkt_copy_values_room(const struct bkt_copier *c, struct bkt_copy_values *v, hid_t space,
                                       size_t n);
/** Translate the values that were read to those to be written. */
BKT_NODISCARD int bkt_copy_translate(struct bkt_copier *c, struct bkt_copy_values *v, const char *path);
/** Free the values; the types stay. */
void bkt_copy_values_drop(struct bkt_copy_values *v);
void bkt_copy_values_fini(struct bkt_copy_values *v);
/** Make the reference @p from again, for the object @p name at @p loc. */
herr_t bkt_copy_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to);

/* ---- copier_outside.c ---- */
/** Translate the reference @p from, which leads into another file, @p file, to the one to be written;
 *  H5Rdestroy(). */
BKT_NODISCARD int bkt_copy_outside(struct bkt_copier *c, const H5R_ref_t *from, const char *file,
                                   H5R_ref_t *to, struct bkt_err *err);
void              bkt_copy_outside_fini(struct bkt_copier *c);

/* ---- copier_data.c ---- */
/** Copy the elements of @p from to @p to, which has the same extent. */
BKT_NODISCARD int bkt_copy_data(struct bkt_copier *c, hid_t from, hid_t to, const char *path);
/** Whether a dataset's elements lie in external files, which its creation list @p dcpl names. */
bool bkt_copy_is_outside(hid_t dset, hid_t dcpl);

/* ---- copy.c ---- */
/** A committed type of the destination that can stand for @p type; negative: there is no such type.  The
 *  caller's. */
BKT_NODISCARD int bkt_copy_merged(struct bkt_copier *c, hid_t type, hid_t *out);
