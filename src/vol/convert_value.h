/* How stored elements become elements of the program's type: a tree made once per read (convert_match.c), run over
 * columns of elements (convert_value.c).
 *
 * Only leaves go through H5Tconvert, many elements at a time; compounds, arrays, sequences, strings and references are
 * walked here.  So bytes of a compound that no field fills stay as they are, memory for sequences comes from the right
 * allocator at once, and references become what the program asked for: HDF5 converts references of native files only. */
#ifndef BKT_CONVERT_VALUE_H
#define BKT_CONVERT_VALUE_H

#include "convert.h"

enum bkt_conv_kind {
    BKT_CONV_SKIP,     /* a stored field that the program does not ask for */
    BKT_CONV_COPY,     /* same bytes on both sides */
    BKT_CONV_LEAF,     /* H5Tconvert */
    BKT_CONV_STRING,   /* variable-length string -> char * */
    BKT_CONV_VLEN,     /* -> hvl_t */
    BKT_CONV_COMPOUND,
    BKT_CONV_ARRAY,
    BKT_CONV_OBJ_REF,  /* -> H5T_STD_REF_OBJ, 8 bytes */
    BKT_CONV_NEW_REF,  /* -> H5T_STD_REF, H5R_ref_t */
    BKT_CONV_REG_REF   /* -> H5T_STD_REF_DSETREG, 12 bytes */
};

struct bkt_conv {
    enum bkt_conv_kind     kind;
    const struct bkt_type *t;        /* the stored type; borrowed */
    size_t                 src, dst; /* bytes of one packed stored element (0: variable), and of one in memory */
    hid_t                  file, mem; /* LEAF; our own */
    bool                   partial;  /* leaves some bytes of an element in memory as they were */
    struct bkt_conv       *child;    /* VLEN, ARRAY: one; COMPOUND: one for each stored field */
    size_t                 n_child;
    size_t                 offset;   /* of this field in the program's compound */
};

/** @p t and @p file_type are borrowed for as long as the tree lives.  BKT_EINVAL: types that don't convert; named */
BKT_NODISCARD int bkt_conv_init(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                                struct bkt_err *err);
void              bkt_conv_fini(struct bkt_conv *c);

/** Stored elements: slices of one element each, or packed ones at @p stride bytes from one another. */
struct bkt_column {
    const struct bkt_slice *slices; /* NULL: packed */
    const unsigned char    *base;
    size_t                  stride;
};
/** Convert @p n elements to @p dst, packed.  On failure nothing that was allocated for them remains.
 *  @param in_file  for references;  @param dxpl  for H5Tconvert and the memory manager */
BKT_NODISCARD int bkt_conv_run(const struct bkt_conv *c, struct bkt_vobj *in_file, const struct bkt_column *col, size_t n,
                               void *dst, hid_t dxpl, struct bkt_err *err);

/** convert_region.c: the text of a stored region reference -> H5R_ref_t; *made: it is no null reference, *out is set. */
BKT_NODISCARD int bkt_convert_region(struct bkt_vobj *in_file, const struct bkt_slice *text, H5R_ref_t *out, bool *made,
                                     struct bkt_err *err);
#endif
