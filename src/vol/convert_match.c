/* Pairing a stored type with the program's: which field goes where, and how each leaf converts. */
#include <stdlib.h>
#include <string.h>

#include "convert_value.h"

void bkt_conv_fini(struct bkt_conv *c)
{
    for (size_t i = 0; i < c->n_child; i++)
        bkt_conv_fini(&c->child[i]);
    free(c->child);
    bkt_hid_closep(&c->file);
    bkt_hid_closep(&c->mem);
    memset(c, 0, sizeof *c);
    c->file = c->mem = H5I_INVALID_HID;
}

static int no_path(const struct bkt_type *t, hid_t mem, struct bkt_err *err)
{
    static const char *const stored[] = {"integer",  "floating-point", "string", "variable-length", "compound", "array",
                                         "enumeration", "opaque",      "object reference", "region reference", "encoded"};
    static const char *const asked[]  = {"integer",   "floating-point", "time", "string", "bitfield", "opaque",
                                         "compound", "reference",      "enumeration", "variable-length", "array", "complex"};
    int cls = (int)H5Tget_class(mem);
    BKT_FAIL(err, BKT_EINVAL, "stored %s values do not convert to the %s type asked for",
             (size_t)t->cls < BKT_COUNT(stored) ? stored[t->cls] : "unknown",
             cls >= 0 && (size_t)cls < BKT_COUNT(asked) ? asked[cls] : "unknown");
}

static int make_children(struct bkt_conv *c, size_t n, struct bkt_err *err)
{
    c->child = calloc(n ? n : 1, sizeof *c->child);
    if (!c->child)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        c->child[i].file = c->child[i].mem = H5I_INVALID_HID;
    c->n_child = n;
    return BKT_OK;
}

static bool has_path(hid_t file, hid_t mem)
{
    H5T_cdata_t *cdata = NULL;
    H5T_conv_t   fn;
    H5E_BEGIN_TRY
    {
        fn = H5Tfind(file, mem, &cdata);
    }
    H5E_END_TRY
    return fn != NULL;
}

static int field_index(hid_t compound, const char *name)
{
    int i;
    H5E_BEGIN_TRY
    {
        i = H5Tget_member_index(compound, name);
    }
    H5E_END_TRY
    return i;
}

static int match_leaf(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    htri_t same = H5Tequal(file, mem);
    if (same < 0)
        return bkt_h5err_capture(err, "comparing datatypes");
    if (same && c->src == c->dst) {
        c->kind = BKT_CONV_COPY;
        return BKT_OK;
    }
    if (c->t->cls == BKT_T_ENCODED && (H5Tdetect_class(file, H5T_VLEN) > 0 || H5Tdetect_class(file, H5T_REFERENCE) > 0 ||
                                       c->src != H5Tget_size(file)))
        BKT_FAIL(err, BKT_EUNSUP, "an encoded datatype with variable-length or reference parts");
    if (!has_path(file, mem))
        return no_path(c->t, mem, err);
    c->kind    = BKT_CONV_LEAF;
    c->partial = H5Tget_class(mem) == H5T_COMPOUND;
    c->file    = H5Tcopy(file);
    c->mem     = H5Tcopy(mem);
    return c->file < 0 || c->mem < 0 ? bkt_h5err_capture(err, "copying datatypes") : BKT_OK;
}

static int match_string(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(mem) != H5T_STRING || H5Tis_variable_str(mem) <= 0)
        return no_path(c->t, mem, err);
    if (H5Tget_cset(file) != H5Tget_cset(mem))
        BKT_FAIL(err, BKT_EINVAL, "HDF5 doesn't convert between ASCII and UTF-8 strings: ask for the stored character set");
    c->kind = BKT_CONV_STRING;
    return BKT_OK;
}

/* Base types of sequences and arrays */
static int match_base(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fbase = H5Tget_super(file);
    BKT_CLEANUP(bkt_hid_closep) hid_t mbase = H5Tget_super(mem);
    if (fbase < 0 || mbase < 0)
        return bkt_h5err_capture(err, "asking for a base type");
    BKT_PASS(make_children(c, 1, err));
    return bkt_conv_init(&c->child[0], c->t->base, fbase, mbase, err);
}

static int match_vlen(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(mem) != H5T_VLEN)
        return no_path(c->t, mem, err);
    c->kind = BKT_CONV_VLEN;
    return match_base(c, file, mem, err);
}

static int match_array(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    if (H5Tget_class(mem) != H5T_ARRAY)
        return no_path(c->t, mem, err);
    int  rank = H5Tget_array_ndims(mem);
    bool same = rank == (int)c->t->rank && H5Tget_array_dims2(mem, dims) >= 0;
    for (int i = 0; same && i < rank; i++)
        same = dims[i] == c->t->dims[i];
    if (!same)
        BKT_FAIL(err, BKT_EINVAL, "stored arrays and those asked for have different dimensions");
    c->kind = BKT_CONV_ARRAY;
    BKT_PASS(match_base(c, file, mem, err));
    c->partial = c->child[0].partial;
    return BKT_OK;
}

static int match_field(struct bkt_conv *c, hid_t file, unsigned fi, hid_t mem, unsigned mi, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t ftype = H5Tget_member_type(file, fi);
    BKT_CLEANUP(bkt_hid_closep) hid_t mtype = H5Tget_member_type(mem, mi);
    struct bkt_conv *child = &c->child[fi];
    if (ftype < 0 || mtype < 0)
        return bkt_h5err_capture(err, "asking for a field's type");
    BKT_TRY(err, bkt_conv_init(child, c->t->fields[fi].type, ftype, mtype, err), "field '%s'", c->t->fields[fi].name);
    child->offset = H5Tget_member_offset(mem, mi);
    return BKT_OK;
}

/* By name, as HDF5 does; fields of only one side are left alone. */
static int match_compound(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    size_t filled = 0;
    if (H5Tget_class(mem) != H5T_COMPOUND)
        return no_path(c->t, mem, err);
    c->kind = BKT_CONV_COMPOUND;
    BKT_PASS(make_children(c, c->t->n_fields, err));
    for (size_t i = 0; i < c->n_child; i++) {
        int mi = field_index(mem, c->t->fields[i].name);
        if (mi < 0) {
            c->child[i].t   = c->t->fields[i].type;
            c->child[i].src = c->child[i].t->is_var ? 0 : c->child[i].t->size;
            continue;
        }
        BKT_PASS(match_field(c, file, (unsigned)i, mem, (unsigned)mi, err));
        filled += c->child[i].dst;
        c->partial = c->partial || c->child[i].partial;
    }
    c->partial = c->partial || filled < c->dst;
    return BKT_OK;
}

static int match_ref(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    hid_t old = c->t->cls == BKT_T_OBJREF ? H5T_STD_REF_OBJ : H5T_STD_REF_DSETREG;
    (void)file;
    if (H5Tequal(mem, H5T_STD_REF) > 0)
        c->kind = BKT_CONV_NEW_REF;
    else if (H5Tequal(mem, old) > 0)
        c->kind = c->t->cls == BKT_T_OBJREF ? BKT_CONV_OBJ_REF : BKT_CONV_REG_REF;
    else
        return no_path(c->t, mem, err);
    return BKT_OK;
}

typedef int match_fn(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err);

int bkt_conv_init(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type, struct bkt_err *err)
{
    static match_fn *const match[] = {[BKT_T_VLEN] = match_vlen, [BKT_T_COMPOUND] = match_compound, [BKT_T_ARRAY] = match_array,
                                      [BKT_T_OBJREF] = match_ref, [BKT_T_REGREF] = match_ref};
    memset(c, 0, sizeof *c);
    c->file = c->mem = H5I_INVALID_HID;
    c->t    = t;
    c->src  = t->is_var ? 0 : t->size;
    c->dst  = H5Tget_size(mem_type);
    if (c->dst == 0)
        return bkt_h5err_capture(err, "asking for a datatype's size");
    if (c->src == 0 && !t->is_var)
        BKT_FAIL(err, BKT_EFORMAT, "a stored type of 0 bytes");
    if (t->cls == BKT_T_STRING && t->var_string)
        return match_string(c, file_type, mem_type, err);
    if ((size_t)t->cls < BKT_COUNT(match) && match[t->cls])
        return match[t->cls](c, file_type, mem_type, err);
    return match_leaf(c, file_type, mem_type, err);
}
