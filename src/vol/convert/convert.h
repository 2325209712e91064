/* Conversion of types, dataspaces, values and property lists between the model and HDF5. */
#pragma once

#include "vol/core/hid.h"
#include "vol/core/vol.h"

/** The datatype that HDF5 shows for a stored type; a new id (H5Tclose).
 *  Compounds are packed in stored order; object references are H5T_STD_REF_OBJ; strings keep pad and set. */
BKT_NODISCARD int bkt_convert_type(const struct bkt_type *t, hid_t *out, struct bkt_err *err);

/** The datatype of a dataset or attribute; the caller's (H5Idec_ref), for the time of a call.  Between calls
 * a program must not find it by H5Fget_obj_ids(), since the program could close it.
 *  @param t  its stored type */
BKT_NODISCARD int bkt_convert_file_type(struct bkt_vobj *o, const struct bkt_type *t, hid_t *out,
                                        struct bkt_err *err);
/** Keep a copy of @p type as the datatype of @p o, for bkt_convert_file_type().  A type with references is
 *  not kept. */
BKT_NODISCARD int bkt_convert_keep_type(struct bkt_vobj *o, hid_t type, struct bkt_err *err);
/** The result of H5Dget_type and H5Aget_type: a new id; the named datatype if the type is a committed one. */
BKT_NODISCARD int bkt_convert_shown_type(struct bkt_vobj *o, const struct bkt_type *t, hid_t *out,
                                         struct bkt_err *err);

/** HDF5's dataspace; @p out: a new id. */
BKT_NODISCARD int bkt_convert_space(const struct bkt_space *s, hid_t *out, struct bkt_err *err);

/** Creation property lists as created; new ids. */
BKT_NODISCARD int bkt_convert_dcpl(struct bkt_vobj *dset, hid_t *out, struct bkt_err *err);
/** Set the fill value of @p d in the list @p id. */
BKT_NODISCARD int bkt_convert_set_fill(hid_t id, struct bkt_vobj *in_file, const struct bkt_dset *d,
                                       hid_t file_type, struct bkt_err *err);
/** The fill value of a creation list, as a value of @p type in memory.  HDF5's own reads of unwritten
 * elements can't replace this: they fail for a value of variable length in a file that is open for reading
 * only.
 *  @param out  a value for H5Treclaim(), if 1 is returned; else unchanged
 *  @return 1; 0: the fill value is undefined; negative: HDF5 can't say, the reason is on its stack */
int bkt_convert_fill_of(hid_t dcpl, hid_t type, void *out);
/** As bkt_convert_dcpl(), from an object of the model.  @p in_file: for references in the fill value. */
BKT_NODISCARD int bkt_convert_object_dcpl(struct bkt_vobj *in_file, const struct bkt_object *o,
                                          hid_t file_type, hid_t *out, struct bkt_err *err);
/** A new list of class @p plist_class from the stored list.  Without one it has the properties that every
 * object has, and the order of a group's links. */
BKT_NODISCARD int bkt_convert_object_ocpl(const struct bkt_object *o, hid_t plist_class, hid_t *out,
                                          struct bkt_err *err);

/** A conversion between stored elements and the program's, in either direction.  All of it is borrowed. */
struct bkt_conversion {
    struct bkt_vobj *in_file; /* for references; NULL: the elements have none */
    const struct bkt_type *t; /* the stored type */
    hid_t file_type;          /* the result of bkt_convert_type() for it */
    hid_t mem_type;           /* the program's */
    hid_t dxpl;               /* transfer list: for H5Tconvert and the memory manager */
};
/** Stored elements -> the program's buffer.
 * @param stored   n elements in stored form, one after the other
 * @param buf      element i goes to buf + i * size(mem_type)
 * Variable-length memory comes from the transfer list's manager, so that H5Treclaim works. */
BKT_NODISCARD int bkt_convert_values(const struct bkt_conversion *v, const struct bkt_slice *stored, size_t n,
                                     void *buf, struct bkt_err *err);
/* ---- HDF5's -> the model's ---- */

/** The form in which values of an HDF5 type are stored; the caller's, bkt_type_free().  `encoded` is set
 * if that form holds less than HDF5's type.
 * @param in_file  the object that will hold the type: a committed datatype of the same domain sets
 * `committed`.  NULL: taken as not committed
 * @return BKT_OK; BKT_EINVAL: values can't have this type (no fields, no members); BKT_EUNSUP: an unknown
 * class */
BKT_NODISCARD int bkt_convert_from_type(struct bkt_vobj *in_file, hid_t type, struct bkt_type **out,
                                        struct bkt_err *err);
/** A member of a compound: its offset in bytes, and its number in HDF5. */
struct bkt_member {
    size_t offset;
    unsigned index;
};
/** A compound's members in the order of their offsets; the caller's (free()).  NULL: out of memory.
 *  @param n  H5Tget_nmembers() */
struct bkt_member *bkt_convert_members(hid_t type, size_t n);
/** Whether the type has variable-length lists or strings anywhere.  Variable-length strings inside others
 *  aren't what H5Tdetect_class() calls variable-length.  True also for an invalid id. */
bool bkt_convert_is_var(hid_t type);
/** Whether stored bytes of the type have a meaning in one file only: there are references or heap
 *  addresses in them.  True also for an invalid id. */
bool bkt_convert_has_pointers(hid_t type);
/** The extent of a dataspace.  BKT_EUNSUP: as bkt_space_check(); BKT_EHDF5. */
BKT_NODISCARD int bkt_convert_from_space(hid_t space, struct bkt_space *out, struct bkt_err *err);

/** Copy a dataset creation property list into @p o, a dataset whose type and space are set: filters, fill
 *  value, times, orders, and the requested layout (user_cls, user_rank, user_dims).  `cpl` is set if these
 *  hold less than the list.  How the chunks are stored is decided elsewhere (chunk_shape_rule.h).  Filters
 *  are asked for their parameters, unless the list is marked as that of a dataset of this type
 *  (core/filters.h).
 *  @param in_file  for references in the fill value
 *  @param type  as the program gave it
 *  @param file_type  o->dset.type as HDF5's
 *  @return BKT_OK; BKT_EHDF5: HDF5 itself would refuse to create this (filter not available, chunks larger
 *  than the extent, ...) */
BKT_NODISCARD int bkt_convert_from_dcpl(struct bkt_vobj *in_file, hid_t dcpl, hid_t type, hid_t file_type,
                                        hid_t space, struct bkt_object *o, struct bkt_err *err);
/** As bkt_convert_from_dcpl(), for groups (also the root group, from the file's creation list) and committed
 * datatypes. */
BKT_NODISCARD int bkt_convert_from_ocpl(hid_t ocpl, struct bkt_object *o, struct bkt_err *err);

/** The program's elements -> stored form; types of fixed size are packed.  See values_to_memory.h for large
 *  numbers of elements.
 *  @param old  the elements as they are stored now: fields that @p mem_type lacks keep their values.  NULL:
 *              such fields become zeros */
BKT_NODISCARD int bkt_convert_store(const struct bkt_conversion *v, const void *src, size_t n,
                                    const struct bkt_buf *old, struct bkt_buf *out, struct bkt_err *err);

/** Elements in stored form.  Those of fixed size are packed.  Of those with variable parts, element i ends at
 *  bytes.ptr + end[i], where the next one begins. */
struct bkt_stored {
    void *packed;         /* fixed size: the caller's memory for them; else NULL */
    struct bkt_buf bytes; /* variable parts */
    size_t        *end;
};
/** Free `bytes` and `end`. */
void bkt_stored_fini(struct bkt_stored *s);
