/* Shared by copy.c and copy_data.c. */
#ifndef BKT_COPY_IMPL_H
#define BKT_COPY_IMPL_H

#include "vol/convert/convert.h"
#include "base/map.h"

/** Identity of an object: its token, and its file (external links may lead to other files). */
struct bkt_copied {
    H5O_token_t   token;
    unsigned long fileno;
};

struct bkt_copy_later; /* copy.c */

struct copy {
    unsigned        flags;
    hid_t           ocpypl, lcpl; /* as the program gave them */
    unsigned        depth;        /* of the object that is being copied */
    bool            search_all;   /* search the whole destination for committed types (copy_merge.c) */
    bool            same_file; /* references mean the same at both ends */
    hid_t           root;      /* destination location */
    const char     *name;      /* from root, the name that base gets at the end */
    struct bkt_map *places;    /* struct bkt_copied -> struct bkt_copy_place */
    hid_t           base;      /* the object that was copied without a name, and holds the one being copied */
    struct bkt_buf  path;      /* of the object being copied, from base: ".", "./a" */
    unsigned        nested;    /* groups within groups that are being filled on the stack */
    struct bkt_copy_later *first, **last; /* base's groups that are to be filled afterwards, in this order */
    struct bkt_err *err;
};

/** Capture HDF5's message of the call that failed just now. */
int  bkt_copy_failed(const struct copy *c, const char *what);
/** The type for the copy: if @p type is a committed type, its copy, else @p type itself.  The caller's. */
int bkt_copy_type(struct copy *c, hid_t type, hid_t *out);

/** Copy one object and link it as @p name.  If it was copied before, it is linked only.  NULL: no link
 *  leads to it yet. */
int bkt_copy_object(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, unsigned depth);
/** Copy an object that wasn't copied yet; when the copy is complete, link it as @p name in the
 *  destination. */
int bkt_copy_as(struct copy *c, hid_t from, const char *name);
/** The copy of @p from: location and name, both valid until another object is copied.  *name NULL: not
 *  copied yet. */
int bkt_copy_find(struct copy *c, hid_t from, struct bkt_copied *what, hid_t *loc, const char **name);

/* ---- copy_merge.c ---- */
/** A committed type of the destination that can stand for @p type; negative: there is none.  The caller's. */
int bkt_copy_merged(struct copy *c, hid_t type, hid_t *out);

/* ---- copy_refs.c ---- */
/** Whether values of that type are references whose targets are to be copied. */
bool bkt_copy_expands(const struct copy *c, hid_t type);
/** Replace @p n references that were read from @p from by references to the copies. */
int bkt_copy_expand(struct copy *c, hid_t from, hid_t type, void *buf, size_t n);

/* ---- copy_data.c ---- */
/** In a domain, give the next link or attribute of @p to that number in the order of creation.  HDF5's
 *  copies have the numbers of the source. */
int bkt_copy_number(struct copy *c, hid_t to, bool links, int64_t number);
/** All attributes, or a dataset's elements, from one open object to another, by public calls. */
int bkt_copy_attrs(struct copy *c, hid_t from, hid_t to, hid_t cpl);
int bkt_copy_data(struct copy *c, hid_t from, hid_t to, hid_t dcpl);
/** Our object behind an id; NULL: HDF5's connector answers for the id. */
const struct bkt_vobj *bkt_copy_ours(hid_t id);
/** Whether a dataset's elements lie in external files, which its creation list @p dcpl names. */
bool bkt_copy_is_outside(hid_t dset, hid_t dcpl);

#endif
