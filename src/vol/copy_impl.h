/* What copy.c and copy_data.c share. */
#ifndef BKT_COPY_IMPL_H
#define BKT_COPY_IMPL_H

#include "convert.h"
#include "map.h"

struct copy {
    unsigned        flags;
    bool            same_file; /* references mean the same at both ends */
    hid_t           root;      /* destination location: paths of copies begin there */
    bool            has_top;
    H5O_token_t     top;       /* within a file: the copy itself, which may stand among what is copied */
    struct bkt_map *places;    /* token of what is copied -> struct bkt_place */
    struct bkt_buf  path;      /* of what is being copied, from root */
    struct bkt_err *err;
};

/** What HDF5 says of the call that failed just now. */
int  bkt_copy_failed(const struct copy *c, const char *what);
/** The type for the copy: of a committed one its copy, else the type itself.  The caller's. */
int bkt_copy_type(struct copy *c, hid_t type, hid_t *out);

/* ---- copy_data.c ---- */
int bkt_copy_attrs(struct copy *c, hid_t from, hid_t to, hid_t cpl);
int bkt_copy_data(struct copy *c, hid_t from, hid_t to, hid_t dcpl);

#endif
