/* Stored values that have a structure of their own. */
#pragma once

#include "schema/model/model.h"

/** The target of a reference that is stored as text.  A dataset region has the form that HSDS 1.0 gives it in
 *  JSON: {"id": "d-…", "select_type": "H5S_SEL_…", "selection": …}; a stored BKT_T_REGREF element holds that
 *  text.  References of type H5T_STD_REF are stored likewise, with "datasets/d-…" for an object and {"id": …,
 *  "attr": name} for an attribute.  A reference into another file has {"file": its name, "name": path there}
 *  in place of the id, and a region has the "shape" of its dataset. */
enum bkt_region {
    BKT_REGION_NULL,
    BKT_REGION_NONE,
    BKT_REGION_ALL,
    BKT_REGION_POINTS,
    BKT_REGION_BLOCKS,
    BKT_REGION_OBJECT,
    BKT_REGION_ATTR,
    /* selections that the others can't express (unlimited counts): "h5space", base64 of H5Sencode bytes, one
     * of the connector's keys */
    BKT_REGION_ENCODED
};
struct bkt_regref {
    enum bkt_region kind;
    struct bkt_id   dset;   /* the dataset; OBJECT, ATTR: any object; "" in another file */
    char           *file;   /* name of another file; NULL: the value's own */
    char           *name;   /* with file: the object's path there */
    unsigned        n_dims; /* with file, of a region: the dataset's extents */
    uint64_t        dims[BKT_MAX_RANK];
    char           *attr;   /* ATTR: its name */
    struct bkt_buf  space;  /* ENCODED */
    unsigned        rank;
    size_t          n;      /* points or blocks */
    /* POINTS: n * rank; BLOCKS: n * 2 * rank, first corner, then opposite corner (inclusive) */
    uint64_t *coords;
};
/** Parse a region reference in stored form.
 *  @param p  the element's bytes (NUL padding is fine; empty: null reference)
 *  @return BKT_OK; BKT_EFORMAT; BKT_ENOMEM */
BKT_NODISCARD int bkt_regref_parse(const void *p, size_t n, struct bkt_regref *out, struct bkt_err *err);
void              bkt_regref_fini(struct bkt_regref *r);
/** The text of one, appended; nothing for a null reference. */
BKT_NODISCARD int bkt_regref_emit(const struct bkt_regref *r, struct bkt_buf *out, struct bkt_err *err);

/* ---- strings that are NULL (model.h) ---- */
bool bkt_type_has_strings(const struct bkt_type *t); /* of variable length, anywhere in it */
/** Whether one of the elements in these @p n bytes has a NULL. */
bool bkt_value_has_null(const struct bkt_type *t, const void *p, size_t n);

/** A mark for each empty string of some elements: is it NULL? */
struct bkt_nulls {
    struct bkt_buf bits;            /* one for each empty string, as they are stored, lowest first */
    uint64_t       n_empty, n_null; /* n_empty: NULL or "" */
    bool           all;
};
/** Make every NULL an empty string, and list them in @p out, which is empty before; free it by
 *  bkt_nulls_fini(). */
BKT_NODISCARD int bkt_nulls_take(const struct bkt_type *t, void *p, size_t n, struct bkt_nulls *out,
                                 struct bkt_err *err);
/** The reverse.  Returns the number of empty strings. */
uint64_t          bkt_nulls_put(const struct bkt_type *t, void *p, size_t n, const struct bkt_nulls *nulls);
static inline void bkt_nulls_fini(struct bkt_nulls *x)
{
    bkt_buf_fini(&x->bits);
}
/** Append the bytes that follow a chunk's elements. */
BKT_NODISCARD int bkt_nulls_append(const struct bkt_nulls *x, struct bkt_buf *out, struct bkt_err *err);
/** Give the elements of a chunk their NULLs: its first @p elements of @p n bytes are elements.
 *  BKT_EFORMAT. */
BKT_NODISCARD int bkt_nulls_read(const struct bkt_type *t, void *p, size_t n, size_t elements,
                                 struct bkt_err *err);
