/* Conversion of stored elements to elements of the program's type, and back.  A tree is made once per read
 * or write (conversion_tree.c) and run over columns of elements (values_to_memory.c, values_from_memory.c).
 *
 * Only leaves go through H5Tconvert, many elements at a time; most numbers go through kernels
 * instead (number_kernels.h).  Compounds, arrays, sequences, strings and references are walked here.  So
 * bytes of a compound that no field fills stay as they are.  Memory for sequences comes from the right
 * allocator at once.  References become the kind that the program asked for; HDF5 converts references of
 * native files only. */
#pragma once

#include "base/number_kernels.h"
#include "vol/convert/convert.h"

/** Elements that are converted at a time: bounds the buffer; larger ones are not faster. */
#define BKT_CONVERT_BATCH 16384

enum bkt_value_tree_kind {
    BKT_TREE_SKIP,   /* a stored field that the program does not ask for */
    BKT_TREE_COPY,   /* same bytes on both sides */
    BKT_TREE_LEAF,   /* H5Tconvert */
    BKT_TREE_STRING, /* variable-length string -> char * */
    BKT_TREE_VLEN,   /* -> hvl_t */
    BKT_TREE_COMPOUND,
    BKT_TREE_ARRAY,
    BKT_TREE_OBJ_REF, /* -> H5T_STD_REF_OBJ, 8 bytes */
    BKT_TREE_NEW_REF, /* -> H5T_STD_REF, H5R_ref_t */
    BKT_TREE_REG_REF  /* -> H5T_STD_REF_DSETREG, 12 bytes */
};

struct bkt_value_tree {
    enum bkt_value_tree_kind kind;
    const struct bkt_type *t;        /* the stored type; borrowed */
    size_t src, dst; /* bytes of one packed stored element (0: variable), and of one in memory */
    hid_t                  file, mem; /* LEAF; the tree's own ids */
    bool                   has_number; /* LEAF: `number` does the same as H5Tconvert, unless the program
                                          has a callback */
    struct bkt_recast_step number;
    bool                   store;    /* memory -> stored */
    bool                   partial;  /* leaves some bytes of an element as they were: in memory, or (store)
                                        stored ones */
    struct bkt_value_tree *child;    /* VLEN, ARRAY: one; COMPOUND: one for each stored field */
    size_t                 n_child;
    bool                   tails;    /* store: strings in it end with a NUL, and bytes behind the NUL
                                        become zeros */
    size_t                 offset;   /* of this field in the program's compound */
};

/** Make the tree for reading elements.  The stored type is borrowed for as long as the tree lives.
 *  @return BKT_OK; BKT_EINVAL: the types don't convert; the message names them; BKT_EFORMAT: a stored type
 *  of 0 bytes.  bkt_value_tree_fini(), also after a failure. */
BKT_NODISCARD int bkt_value_tree_init(struct bkt_value_tree *c, const struct bkt_conversion *v,
                                      struct bkt_err *err);
/** As bkt_value_tree_init(), a tree of one leaf: HDF5 converts whole elements, of any type without pointers
 *  and references.  The stored type is opaque, of the size of the file's type. */
BKT_NODISCARD int bkt_value_tree_init_whole(struct bkt_value_tree *c, const struct bkt_conversion *v,
                                            struct bkt_err *err);
/** As bkt_value_tree_init(), for writing. */
BKT_NODISCARD int bkt_value_tree_init_store(struct bkt_value_tree *c, const struct bkt_conversion *v,
                                            struct bkt_err *err);
void bkt_value_tree_fini(struct bkt_value_tree *c);

/** Stored elements: slices of one element each, or packed elements, `stride` bytes apart. */
struct bkt_value_column {
    const struct bkt_slice *slices; /* NULL: packed */
    const unsigned char    *base;
    size_t                  stride;
    bool                    scratch; /* packed: may be converted where they are */
};
/** Convert @p n elements to @p dst, packed.  On failure no memory that was allocated for them remains.
 *  @param v  as the tree was made for; other transfer lists are possible */
BKT_NODISCARD int bkt_value_tree_apply(const struct bkt_value_tree *c, const struct bkt_conversion *v,
                                       const struct bkt_value_column *col, size_t n, void *dst,
                                       struct bkt_err *err);

/** The program's elements -> stored form.
 * @param old  for a partial tree: the n elements as they are stored now; else NULL
 * @param out  zeros, but for `packed`, with room for n elements of fixed size */
BKT_NODISCARD int bkt_value_tree_store(const struct bkt_value_tree *c, const struct bkt_conversion *v,
                                       const void *src, size_t n, const struct bkt_value_column *old,
                                       struct bkt_stored *out, struct bkt_err *err);

/** Memory for @p n elements of @p size bytes, zeros, the caller's (free()); NULL: out of memory, in @p
 *  err. */
void *bkt_value_tree_room(size_t n, size_t size, struct bkt_err *err);
/** Copy @p n elements of @p size bytes from number @p first on to places that are @p dstride bytes apart. */
void bkt_value_column_copy(const struct bkt_value_column *col, size_t first, size_t n, size_t size,
                           unsigned char *dst, size_t dstride);
/** The column of @p n elements that are stored one after the other.
 *  @param elems  NULL before; the slices of a variable type, the caller's (free()), also after a failure
 *  @return BKT_OK; BKT_EFORMAT: there are fewer bytes */
BKT_NODISCARD int bkt_value_column_of(const struct bkt_type *t, const struct bkt_slice *stored, size_t n,
                                      struct bkt_value_column *out, struct bkt_slice **elems,
                                      struct bkt_err *err);
/** Cut @p count elements of type @p t off @p rd. */
BKT_NODISCARD int bkt_value_column_cut(const struct bkt_type *t, struct bkt_rd *rd, size_t count,
                                       struct bkt_slice *out, struct bkt_err *err);
/** Cut @p n arrays of type @p t into their elements. */
BKT_NODISCARD int bkt_value_column_cut_arrays(const struct bkt_type *t, const struct bkt_slice *arrays,
                                              size_t n, struct bkt_slice *out, struct bkt_err *err);
/** Cut a field of type @p t off each of @p n elements, of which @p rest is left. */
BKT_NODISCARD int bkt_value_column_cut_field(const struct bkt_type *t, size_t n, struct bkt_slice *rest,
                                             struct bkt_slice *field, struct bkt_err *err);

/** A tree's run over columns of elements, shared by values_to_memory.c and values_from_memory.c. */
struct bkt_value_tree_pass {
    struct bkt_vobj *in_file;
    hid_t dxpl;
    struct bkt_err *err;
    bool asks; /* H5Pset_type_conv_cb */
    /* to memory */
    H5MM_allocate_t alloc;
    H5MM_free_t release;
    void *alloc_info, *release_info;
    struct bkt_buf blocks; /* void *: the memory given to the program's sequences so far */
    struct bkt_buf refs;   /* H5R_ref_t: the references made so far */
};
/** Convert a column of elements, in the direction of the tree, to places that are @p dstride bytes apart.
 * Stored elements that are made here have a fixed size; those with variable parts are put together in
 * values_from_memory.c. */
typedef int bkt_value_tree_fn(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                              const struct bkt_value_column *col, size_t n, unsigned char *dst,
                              size_t dstride);
bkt_value_tree_fn bkt_value_tree_column;
/** The elements of @p n arrays, side by side in a column.
 *  @param total  gets their number
 *  @param owned  NULL before; memory for the column, the caller's (free()), also after a failure */
BKT_NODISCARD int bkt_value_tree_array_elements(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                                                const struct bkt_value_column *col, size_t n,
                                                struct bkt_value_column *out, size_t *total, void **owned);
/** The program's references -> stored ids (values_from_memory.c). */
bkt_value_tree_fn bkt_value_tree_put_obj_ref, bkt_value_tree_put_new_ref;

/* ---- values_from_memory.c: bytes behind the NUL of strings that end with one ---- */
/** Whether values of @p t contain such strings of fixed size. */
bool bkt_has_tails(const struct bkt_type *t);
/** Write zeros behind the NULs in @p n stored elements of fixed size, @p stride bytes apart. */
void bkt_tails_clear(const struct bkt_type *t, unsigned char *p, size_t stride, size_t n);
/** Whether bkt_tails_clear() would change nothing in @p n packed elements. */
bool bkt_tails_are_zero(const struct bkt_type *t, const unsigned char *p, size_t n);

/* ---- conversion_numbers.c ---- */
/** The step by which numbers of type @p from become numbers of type @p to.  It does exactly the same as @p
 *  fn, HDF5's function for the two (H5Tfind).  False: HDF5 has to convert. */
bool bkt_value_tree_number(hid_t from, hid_t to, H5T_conv_t fn, struct bkt_recast_step *out);
/* ---- conversion_tree.c ---- */
/** The whole tree as a recast (free()); false: it needs HDF5, or more steps than a recast has. */
bool bkt_value_tree_recast(const struct bkt_value_tree *c, struct bkt_recast **out);
/** Whether the program has a callback for values that don't fit (H5Pset_type_conv_cb): then HDF5 converts
 *  everything. */
bool bkt_value_tree_asks(hid_t dxpl);

/* ---- vol/convert/references.c: references that are stored as text (reference_text.h) ---- */
/** Text -> H5R_ref_t.  *made: false for a null reference, else *out is set. */
BKT_NODISCARD int bkt_convert_region(struct bkt_vobj *in_file, const struct bkt_slice *text, H5R_ref_t *out,
                                     bool *made, struct bkt_err *err);
/** H5R_ref_t -> text, appended; nothing for a null reference.  BKT_EUNSUP: it leads to an object of
 *  another file that has no name. */
BKT_NODISCARD int bkt_convert_from_ref(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_buf *out,
                                       struct bkt_err *err);
struct bkt_regref; /* reference_text.h */
/** A selection in the form of a region reference: sets r->kind and the members after it, not r->dset.
 *  bkt_regref_fini(), also after a failure. */
BKT_NODISCARD int bkt_convert_from_region(hid_t space, struct bkt_regref *r, struct bkt_err *err);
/** H5R_ref_t -> the id of an object; "" for a null reference.  BKT_EUNSUP: it leads into another file;
 * BKT_EINVAL: to no object of the domain. */
BKT_NODISCARD int bkt_convert_from_obj_ref(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_id *out,
                                           struct bkt_err *err);
/** Text -> a region reference of the old kind, for region_shadow.h; zeros for a null reference.  BKT_ENOENT,
 * without a message: its dataset was deleted; BKT_EFORMAT: it has no region of this file; … */
BKT_NODISCARD int bkt_convert_old_region(struct bkt_vobj *in_file, const struct bkt_slice *text,
                                         unsigned char out[H5R_DSET_REG_REF_BUF_SIZE], struct bkt_err *err);
