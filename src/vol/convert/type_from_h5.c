/* HDF5 datatypes -> types of the model.
 *
 * The model's type says how the bytes are stored, in terms of HSDS.  If that is less than HDF5's type
 * (padding, bitfields, odd floats, ...), HDF5's own encoding is stored beside it.  To find out, HDF5's
 * type is made from the model's again and compared. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "base/num.h"
#include "vol/core/object_refs.h"
#include "vol/convert/rebuild.h"
#include "vol/core/token.h"

#define MAX_DEPTH 32

static int from_depth(hid_t type, unsigned depth, struct bkt_type **out, struct bkt_err *err);

static int failed(struct bkt_err *err) { return bkt_h5err_capture(err, "asking about a datatype"); }

static int set_size(struct bkt_type *t, hid_t type, struct bkt_err *err)
{
    t->size = H5Tget_size(type);
    return t->size ? BKT_OK : failed(err);
}

/* Bytes that the schema has no name for */
static int as_bytes(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    (void)depth;
    t->cls = BKT_T_OPAQUE;
    t->tag = strdup("");
    BKT_NEED(err, t->tag);
    return set_size(t, type, err);
}

/* Whether the bytes, taken as an integer of all their bits, have the same value: HSDS reads them so. */
static bool says_its_value(hid_t type, size_t size)
{
    H5T_pad_t low, high;
    if (H5Tget_precision(type) == size * 8)
        return true;
    return H5Tget_offset(type) == 0 &&
           !(H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2) &&
           H5Tget_pad(type, &low, &high) >= 0 && high == H5T_PAD_ZERO;
}

/* Integers that don't use all bits are stored as bytes, unless all bits together have the same value: HSDS
 * would show another one. */
static int from_integer(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    H5T_order_t order = H5Tget_order(type);
    BKT_PASS(set_size(t, type, err));
    if ((t->size & (t->size - 1)) != 0 || t->size > 8 || (order != H5T_ORDER_LE && order != H5T_ORDER_BE) ||
        !says_its_value(type, t->size))
        return as_bytes(type, depth, t, err);
    t->cls        = BKT_T_INTEGER;
    t->big_endian = order == H5T_ORDER_BE;
    t->is_signed  = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    return BKT_OK;
}

static int from_float(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    BKT_PASS(set_size(t, type, err));
    for (int big = 0; big < 2 && (t->size == 2 || t->size == 4 || t->size == 8); big++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t std = H5I_INVALID_HID;
        t->cls        = BKT_T_FLOAT;
        t->is_signed  = true;
        t->big_endian = big != 0;
        BKT_PASS(bkt_convert_type(t, &std, err));
        if (H5Tequal(std, type) > 0)
            return BKT_OK;
    }
    t->is_signed = t->big_endian = false;
    return as_bytes(type, depth, t, err);
}

static int from_string(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    static const enum bkt_strpad pads[] = {[H5T_STR_NULLTERM] = BKT_STR_NULLTERM,
                                           [H5T_STR_NULLPAD] = BKT_STR_NULLPAD,
                                           [H5T_STR_SPACEPAD] = BKT_STR_SPACEPAD};
    int pad = H5Tget_strpad(type);
    (void)depth;
    t->cls        = BKT_T_STRING;
    t->var_string = t->is_var = H5Tis_variable_str(type) > 0;
    t->strpad     = pad >= 0 && (size_t)pad < BKT_COUNT(pads) ? pads[pad] : BKT_STR_NULLPAD;
    t->cset       = H5Tget_cset(type) == H5T_CSET_UTF8 ? BKT_CSET_UTF8 : BKT_CSET_ASCII;
    return t->is_var ? BKT_OK : set_size(t, type, err);
}

static int from_opaque(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    char *tag = H5Tget_tag(type);
    (void)depth;
    if (!tag)
        return failed(err);
    t->cls = BKT_T_OPAQUE;
    t->tag = strdup(tag);
    (void)H5free_memory(tag);
    BKT_NEED(err, t->tag);
    return set_size(t, type, err);
}

static int encode(hid_t type, struct bkt_type *t, struct bkt_err *err);

/* HSDS has a form for references to objects only.  Other references are stored as text that describes
 * their target (reference_text.h).  HDF5's type is stored beside that text's type at any depth, so that the
 * text is not taken for a string (replace_ids.h). */
static int from_reference(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    (void)depth;
    if (H5Tget_size(type) ==
        H5R_OBJ_REF_BUF_SIZE) { /* the old kind; H5Tequal() also compares the files of two types */
        t->cls  = BKT_T_OBJREF;
        t->size = 48;
        return BKT_OK;
    }
    t->cls        = BKT_T_STRING;
    t->var_string = t->is_var = true;
    t->cset       = BKT_CSET_UTF8;
    return encode(type, t, err);
}

static int add_member(hid_t type, unsigned i, struct bkt_type *t, struct bkt_err *err)
{
    unsigned char           value[8];
    struct bkt_enum_member *m    = &t->members[i];
    char                   *name = H5Tget_member_name(type, i);
    if (!name)
        return failed(err);
    m->name = strdup(name);
    (void)H5free_memory(name);
    BKT_NEED(err, m->name);
    t->n_members++;
    if (H5Tget_member_value(type, i, value) < 0)
        return failed(err);
    uint64_t bits = (t->big_endian ? bkt_get_be : bkt_get_le)(value, (unsigned)t->size);
    unsigned up   = 64 - (unsigned)t->size * 8;
    m->value      = t->is_signed ? (int64_t)(bits << up) >> up : (int64_t)bits;
    return BKT_OK;
}

static int from_enum(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    int n = H5Tget_nmembers(type);
    if (base < 0 || n < 0)
        return failed(err);
    BKT_FAIL_IF(err, n == 0, BKT_EINVAL, "enumeration: it has no members");
    BKT_PASS(from_depth(base, depth + 1, &t->base, err));
    if (t->base->cls != BKT_T_INTEGER) {
        bkt_type_free(t->base);
        t->base = NULL;
        return as_bytes(type, depth, t, err);
    }
    t->cls  = BKT_T_ENUM;
    t->size = t->base->size, t->is_signed = t->base->is_signed, t->big_endian = t->base->big_endian;
    t->members = calloc((size_t)n, sizeof *t->members);
    BKT_NEED(err, t->members);
    for (int i = 0; i < n; i++)
        BKT_PASS(add_member(type, (unsigned)i, t, err));
    return BKT_OK;
}

static int from_vlen(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    if (base < 0)
        return failed(err);
    t->cls    = BKT_T_VLEN;
    t->is_var = true;
    return from_depth(base, depth + 1, &t->base, err);
}

static int from_array(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    hsize_t dims[H5S_MAX_RANK];
    int     rank = H5Tget_array_ndims(type);
    if (base < 0 || rank <= 0 || H5Tget_array_dims2(type, dims) < 0)
        return failed(err);
    t->cls     = BKT_T_ARRAY;
    t->rank    = (unsigned)rank;
    t->n_elems = 1;
    BKT_PASS(from_depth(base, depth + 1, &t->base, err));
    t->is_var = t->base->is_var;
    for (int i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        BKT_FAIL_IF(err, !bkt_mul_u64(t->n_elems, dims[i], &t->n_elems), BKT_EINVAL,
                    "array type: too many elements");
    }
    BKT_FAIL_IF(err, !t->is_var && !bkt_mul_size((size_t)t->n_elems, t->base->size, &t->size), BKT_EINVAL,
                "array type: larger than memory can hold");
    return BKT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct bkt_member *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : x->index < y->index ? -1 : 1;
}

struct bkt_member *bkt_convert_members(hid_t type, size_t n)
{
    struct bkt_member *m = calloc(n + 1, sizeof *m);
    for (unsigned i = 0; m && i < n; i++)
        m[i] = (struct bkt_member){H5Tget_member_offset(type, i), i};
    if (m)
        qsort(m, n, sizeof *m, by_offset);
    return m;
}

static int add_field(hid_t type, unsigned i, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    struct bkt_field *f    = &t->fields[t->n_fields];
    char             *name = H5Tget_member_name(type, i);
    BKT_CLEANUP(bkt_hid_closep) hid_t member = H5Tget_member_type(type, i);
    if (!name || member < 0) {
        (void)H5free_memory(name);
        return failed(err);
    }
    f->name = strdup(name);
    (void)H5free_memory(name);
    BKT_NEED(err, f->name);
    t->n_fields++;
    BKT_TRY(err, from_depth(member, depth + 1, &f->type, err), "field '%s'", f->name);
    f->offset = t->size;
    t->is_var |= f->type->is_var;
    t->size += f->type->size;
    return BKT_OK;
}

/* In order of offset, so that a packed compound's bytes are the ones that HDF5 stores. */
static int from_compound(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    int n = H5Tget_nmembers(type);
    if (n < 0)
        return failed(err);
    BKT_FAIL_IF(err, n == 0, BKT_EINVAL, "compound type: it has no fields");
    t->cls    = BKT_T_COMPOUND;
    t->fields = calloc((size_t)n, sizeof *t->fields);
    BKT_CLEANUP(bkt_freep) struct bkt_member *order = bkt_convert_members(type, (size_t)n);
    BKT_NEED(err, t->fields && order);
    for (int i = 0; i < n; i++)
        BKT_PASS(add_field(type, order[i].index, depth, t, err));
    return BKT_OK;
}

typedef int from_fn(hid_t type, unsigned depth, struct bkt_type *t, struct bkt_err *err);

static int from_depth(hid_t type, unsigned depth, struct bkt_type **out, struct bkt_err *err)
{
    static from_fn *const from[] = {
        [H5T_INTEGER] = from_integer,   [H5T_FLOAT] = from_float,         [H5T_TIME] = as_bytes,
        [H5T_STRING] = from_string,     [H5T_BITFIELD] = from_integer,    [H5T_OPAQUE] = from_opaque,
        [H5T_COMPOUND] = from_compound, [H5T_REFERENCE] = from_reference, [H5T_ENUM] = from_enum,
        [H5T_VLEN] = from_vlen,         [H5T_ARRAY] = from_array};
    int cls = (int)H5Tget_class(type);
    if (cls < 0)
        return failed(err);
    BKT_FAIL_IF(err, (size_t)cls >= BKT_COUNT(from) || !from[cls], BKT_EUNSUP,
                "datatype class %d: not supported", cls);
    BKT_FAIL_IF(err, depth >= MAX_DEPTH, BKT_EUNSUP, "datatype: nested deeper than %d levels", MAX_DEPTH);
    struct bkt_type *t = *out = calloc(1, sizeof *t); /* the caller's, also when this fails */
    BKT_NEED(err, t);
    BKT_PASS(from[cls](type, depth, t, err));
    if (t->is_var)
        t->size = 0;
    return BKT_OK;
}

/* ---- types without pointers ---- */

bool bkt_convert_is_var(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    if (cls == H5T_VLEN || H5Tis_variable_str(type) > 0)
        return true;
    if (cls == H5T_ARRAY) {
        BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
        return bkt_convert_is_var(base);
    }
    for (int i = 0; cls == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
        if (bkt_convert_is_var(m))
            return true;
    }
    return cls == H5T_NO_CLASS;
}

bool bkt_convert_has_pointers(hid_t type)
{
    return H5Tdetect_class(type, H5T_REFERENCE) > 0 || bkt_convert_is_var(type);
}

/* ---- whether the model's type holds everything ---- */

static bool same_name(hid_t a, hid_t b, unsigned i)
{
    char *x = H5Tget_member_name(a, i), *y = H5Tget_member_name(b, i);
    bool  same = x && y && strcmp(x, y) == 0;
    (void)H5free_memory(x);
    (void)H5free_memory(y);
    return same;
}

/* H5Tequal() ignores the order of members, but H5Tget_member_name() shows it. */
static bool same_order(hid_t a, hid_t b)
{
    H5T_class_t cls = H5Tget_class(a);
    if (cls == H5T_VLEN || cls == H5T_ARRAY) {
        BKT_CLEANUP(bkt_hid_closep) hid_t x = H5Tget_super(a);
        BKT_CLEANUP(bkt_hid_closep) hid_t y = H5Tget_super(b);
        return same_order(x, y);
    }
    if (cls != H5T_COMPOUND && cls != H5T_ENUM)
        return true;
    int n = H5Tget_nmembers(a);
    for (int i = 0; i < n; i++) {
        if (!same_name(a, b, (unsigned)i))
            return false;
        if (cls == H5T_ENUM)
            continue;
        BKT_CLEANUP(bkt_hid_closep) hid_t x = H5Tget_member_type(a, (unsigned)i);
        BKT_CLEANUP(bkt_hid_closep) hid_t y = H5Tget_member_type(b, (unsigned)i);
        if (!same_order(x, y))
            return false;
    }
    return true;
}

static int says_it_all(const struct bkt_type *t, hid_t type, bool *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t again = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_type(t, &again, err));
    *out = H5Tequal(again, type) > 0 && same_order(again, type);
    return BKT_OK;
}

/* Bytes that a reader couldn't use are refused here. */
static int check_encoded(const struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5type_freep) struct bkt_h5type *exact = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t again = H5I_INVALID_HID;
    BKT_PASS(bkt_h5type_parse(t->encoded.ptr, t->encoded.len, &exact, err));
    BKT_PASS(bkt_h5type_match(exact, t, err));
    return bkt_rebuild_type(exact, &again, err);
}

static int encode(hid_t type, struct bkt_type *t, struct bkt_err *err)
{
    size_t n = 0;
    /* a copy, since the encoding of a committed type would be marked as committed */
    BKT_CLEANUP(bkt_hid_closep) hid_t transient = H5Tcopy(type);
    BKT_NEED_H5(err, transient >= 0 && H5Tencode(transient, NULL, &n) >= 0, "encoding a datatype");
    BKT_PASS_MEM(err, bkt_buf_resize(&t->encoded, n));
    BKT_PASS(BKT_PASS_H5(err, H5Tencode(transient, t->encoded.ptr, &n), "encoding a datatype"));
    BKT_TRY(err, check_encoded(t, err), "a datatype that can't be stored");
    return BKT_OK;
}

static int from_type(hid_t type, struct bkt_type **out, struct bkt_err *err)
{
    bool enough = false;
    BKT_PASS(from_depth(type, 0, out, err));
    BKT_NEED(err, *out);
    BKT_PASS(says_it_all(*out, type, &enough, err));
    return enough ? BKT_OK : encode(type, *out, err);
}

/* If @p type is a committed type of the same domain, get its id.  Its users count as uses of it once they are
 * made (bkt_edit_use()); until then the program holds it. */
static int committed_id(struct bkt_vobj *in_file, hid_t type, struct bkt_id *id, struct bkt_err *err)
{
    if (!in_file || H5Tcommitted(type) <= 0)
        return BKT_OK;
    unsigned long fileno;
    H5O_token_t   token;
    BKT_PASS(bkt_vobj_identify(type, &fileno, &token, err));
    if (fileno != in_file->file->fileno)
        return BKT_OK;
    BKT_FAIL_IF(err, !bkt_token_id(in_file->file->dom, &token, id), BKT_ENOENT,
                "the committed datatype is not in the domain any more");
    return BKT_OK;
}

int bkt_convert_from_type(struct bkt_vobj *in_file, hid_t type, struct bkt_type **out, struct bkt_err *err)
{
    struct bkt_type *t  = NULL;
    int              rc = from_type(type, &t, err);
    if (rc == BKT_OK)
        rc = committed_id(in_file, type, &t->committed, err);
    if (rc < 0) {
        bkt_type_free(t);
        return rc;
    }
    *out = t;
    return BKT_OK;
}
