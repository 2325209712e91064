/* Tails: bytes behind the first NUL of fixed strings that end with one (H5T_STR_NULLTERM).
 *
 * They are not part of the value.  HSDS has no strings that end with a NUL: it serves all bytes, and JSON
 * shows them.  So tails are stored as zeros.  Strings padded with NULs or spaces keep their bytes, as in
 * HDF5: in these a NUL may be text. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"

/* One string; false: the walk ends. */
typedef bool tail_fn(unsigned char *s, size_t size);

static bool clear(unsigned char *s, size_t size)
{
    unsigned char *end = memchr(s, 0, size);
    if (end)
        memset(end, 0, size - (size_t)(end - s));
    return true;
}

static bool is_zero(unsigned char *s, size_t size)
{
    unsigned char *end = memchr(s, 0, size);
    return !end || memcmp(end, end + 1, size - (size_t)(end - s) - 1) == 0;
}

static bool has_tail(const struct bkt_type *t)
{
    return t->cls == BKT_T_STRING && !t->is_var && t->strpad == BKT_STR_NULLTERM;
}

bool bkt_has_tails(const struct bkt_type *t)
{
    bool any = has_tail(t);
    if (t->cls == BKT_T_ARRAY || t->cls == BKT_T_VLEN)
        return bkt_has_tails(t->base);
    for (size_t f = 0; !any && t->cls == BKT_T_COMPOUND && f < t->n_fields; f++)
        any = bkt_has_tails(t->fields[f].type);
    return any;
}

/* Types of fixed size only */
static bool walk(const struct bkt_type *t, unsigned char *p, size_t stride, size_t n, tail_fn *fn)
{
    bool go = true;
    if (t->cls == BKT_T_ARRAY && stride == t->size)
        return walk(t->base, p, t->base->size, n * (size_t)t->n_elems, fn);
    if (t->cls == BKT_T_ARRAY)
        for (size_t i = 0; go && i < n; i++)
            go = walk(t->base, p + i * stride, t->base->size, (size_t)t->n_elems, fn);
    else if (t->cls == BKT_T_COMPOUND)
        for (size_t f = 0; go && f < t->n_fields; f++)
            go = walk(t->fields[f].type, p + t->fields[f].offset, stride, n, fn);
    else if (has_tail(t))
        for (size_t i = 0; go && i < n; i++)
            go = fn(p + i * stride, t->size);
    return go;
}

void bkt_tails_clear(const struct bkt_type *t, unsigned char *p, size_t stride, size_t n)
{
    (void)walk(t, p, stride, n, clear);
}

bool bkt_tails_are_zero(const struct bkt_type *t, const unsigned char *p, size_t n)
{
    return walk(t, (unsigned char *)p, t->size, n, is_zero); /* reads it only */
}

/* Pairing a stored type with the program's: which field goes where, and how each leaf converts. */

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

static int no_path(const struct bkt_conv *c, hid_t mem, struct bkt_err *err)
{
    static const char *const stored[] = {
        "integer", "floating-point", "string", "variable-length",  "compound",
        "array",   "enumeration",    "opaque", "object reference", "region reference"};
    static const char *const asked[] = {"integer",     "floating-point",  "time",     "string",
                                        "bitfield",    "opaque",          "compound", "reference",
                                        "enumeration", "variable-length", "array",    "complex"};
    int         cls = (int)H5Tget_class(mem);
    const char *in  = (size_t)c->t->cls < BKT_COUNT(stored) ? stored[c->t->cls] : "unknown";
    const char *out = cls >= 0 && (size_t)cls < BKT_COUNT(asked) ? asked[cls] : "unknown";
    BKT_FAIL_IF(err, c->store, BKT_EINVAL, "%s values of the program do not convert to stored %s", out, in);
    BKT_FAIL(err, BKT_EINVAL, "stored %s values do not convert to the requested %s type", in, out);
}

static int match(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type, bool store,
                 struct bkt_err *err);

static int make_children(struct bkt_conv *c, size_t n, struct bkt_err *err)
{
    c->child = calloc(n ? n : 1, sizeof *c->child);
    BKT_NEED(err, c->child);
    for (size_t i = 0; i < n; i++)
        c->child[i].file = c->child[i].mem = H5I_INVALID_HID;
    c->n_child = n;
    return BKT_OK;
}

static H5T_conv_t find_path(const struct bkt_conv *c, hid_t file, hid_t mem)
{
    H5T_cdata_t *cdata = NULL;
    H5T_conv_t   fn;
    H5E_BEGIN_TRY
    {
        fn = c->store ? H5Tfind(mem, file, &cdata) : H5Tfind(file, mem, &cdata);
    }
    H5E_END_TRY
    return fn;
}

static int field_index(hid_t compound, const char *name)
{
    int i = -1;
    (void)PASS_ON(NULL, i = H5Tget_member_index(compound, name), "H5Tget_member_index");
    return i;
}

/* HDF5's encoding of a type comes from the store.  It must not make H5Tconvert() follow pointers. */
static bool is_leaf_class(hid_t file)
{
    H5T_class_t cls = H5Tget_class(file);
    return cls != H5T_NO_CLASS && cls != H5T_VLEN && cls != H5T_REFERENCE && cls != H5T_COMPOUND &&
           cls != H5T_ARRAY && H5Tis_variable_str(file) <= 0;
}

static int match_leaf(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !is_leaf_class(file) || c->src != H5Tget_size(file), BKT_EFORMAT,
                "HDF5's encoding of the stored type does not fit the schema's description of it");
    c->tails = c->store && bkt_has_tails(c->t);
    htri_t same = H5Tequal(file, mem);
    BKT_NEED_H5(err, same >= 0, "comparing datatypes");
    if (same && c->src == c->dst) {
        c->kind = BKT_CONV_COPY;
        return BKT_OK;
    }
    H5T_conv_t fn = find_path(c, file, mem);
    if (!fn)
        return no_path(c, mem, err);
    c->kind       = BKT_CONV_LEAF;
    c->has_number =
        c->store ? bkt_conv_number(mem, file, fn, &c->number) : bkt_conv_number(file, mem, fn, &c->number);
    c->file = H5Tcopy(file);
    c->mem  = H5Tcopy(mem);
    return c->file < 0 || c->mem < 0 ? bkt_h5err_capture(err, "copying datatypes") : BKT_OK;
}

static int match_string(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(mem) != H5T_STRING || H5Tis_variable_str(mem) <= 0)
        return no_path(c, mem, err);
    BKT_FAIL_IF(err, H5Tget_cset(file) != H5Tget_cset(mem), BKT_EINVAL,
                "HDF5 doesn't convert between ASCII and UTF-8 strings; request the stored "
                "character set");
    c->kind = BKT_CONV_STRING;
    return BKT_OK;
}

/* Base types of sequences and arrays */
static int match_base(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fbase = H5Tget_super(file);
    BKT_CLEANUP(bkt_hid_closep) hid_t mbase = H5Tget_super(mem);
    BKT_NEED_H5(err, fbase >= 0 && mbase >= 0, "asking for a base type");
    BKT_PASS(make_children(c, 1, err));
    BKT_PASS(match(&c->child[0], c->t->base, fbase, mbase, c->store, err));
    c->tails = c->child[0].tails;
    return BKT_OK;
}

static int match_vlen(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(file) != H5T_VLEN || H5Tget_class(mem) != H5T_VLEN)
        return no_path(c, mem, err);
    c->kind = BKT_CONV_VLEN;
    return match_base(c, file, mem, err);
}

static int match_array(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    if (H5Tget_class(file) != H5T_ARRAY || H5Tget_class(mem) != H5T_ARRAY)
        return no_path(c, mem, err);
    int  rank = H5Tget_array_ndims(mem);
    bool same = rank == (int)c->t->rank && H5Tget_array_dims2(mem, dims) >= 0;
    for (int i = 0; same && i < rank; i++)
        same = dims[i] == c->t->dims[i];
    BKT_FAIL_IF(err, !same, BKT_EINVAL, "stored and requested arrays have different dimensions");
    c->kind = BKT_CONV_ARRAY;
    BKT_PASS(match_base(c, file, mem, err));
    c->partial = c->child[0].partial;
    if (c->child[0].kind == BKT_CONV_COPY && c->src == c->dst)
        c->kind = BKT_CONV_COPY;
    return BKT_OK;
}

static int match_field(struct bkt_conv *c, size_t i, hid_t file, hid_t mem, unsigned mi, struct bkt_err *err)
{
    const struct bkt_field *field = &c->t->fields[i];
    struct bkt_conv        *child = &c->child[i];
    int fi = field_index(
        file, field->name); /* stored in order of offset, which may differ from the order of members */
    BKT_FAIL_IF(err, fi < 0, BKT_EFORMAT, "field '%s' is not in HDF5's encoding of the type", field->name);
    BKT_CLEANUP(bkt_hid_closep) hid_t ftype = H5Tget_member_type(file, (unsigned)fi);
    BKT_CLEANUP(bkt_hid_closep) hid_t mtype = H5Tget_member_type(mem, mi);
    BKT_NEED_H5(err, ftype >= 0 && mtype >= 0, "asking for a field's type");
    BKT_TRY(err, match(child, field->type, ftype, mtype, c->store, err), "field '%s'", field->name);
    child->offset = H5Tget_member_offset(mem, mi);
    return BKT_OK;
}

/* Whether the program's compound equals the stored one, which has no gaps, byte for byte. */
static bool is_packed(const struct bkt_conv *c)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n_child; i++) {
        if (c->child[i].kind != BKT_CONV_COPY || c->child[i].offset != at)
            return false;
        at += c->child[i].src;
    }
    return !c->partial && at == c->src && c->src == c->dst;
}

/* Match by name, as HDF5 does; fields of only one side are left alone. */
static int match_compound(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    size_t filled = 0;
    if (H5Tget_class(file) != H5T_COMPOUND || H5Tget_class(mem) != H5T_COMPOUND)
        return no_path(c, mem, err);
    c->kind = BKT_CONV_COMPOUND;
    BKT_PASS(make_children(c, c->t->n_fields, err));
    for (size_t i = 0; i < c->n_child; i++) {
        int mi = field_index(mem, c->t->fields[i].name);
        if (mi < 0) {
            c->child[i].t   = c->t->fields[i].type;
            c->child[i].src = c->child[i].t->is_var ? 0 : c->child[i].t->size;
            c->partial      = c->partial || c->store;
            continue;
        }
        BKT_PASS(match_field(c, i, file, mem, (unsigned)mi, err));
        filled += c->child[i].dst;
        c->partial = c->partial || c->child[i].partial;
        c->tails   = c->tails || c->child[i].tails;
    }
    c->partial = c->partial || (!c->store && filled < c->dst);
    if (is_packed(c)) /* One copy is faster than a copy of each field. */
        c->kind = BKT_CONV_COPY;
    return BKT_OK;
}

/* HDF5 takes references of one kind for different types if they belong to different files; their sizes
 * identify the kind. */
static bool is_ref(hid_t type, size_t size)
{
    return H5Tget_class(type) == H5T_REFERENCE && H5Tget_size(type) == size;
}

/* References are stored as an id or as text.  The program's are of the kind that HDF5's own type of the
 * stored ones has, or of the new kind. */
static int match_ref(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    bool same = is_ref(mem, H5Tget_size(file));
    BKT_FAIL_IF(err, (c->t->cls == BKT_T_OBJREF) != is_ref(file, H5R_OBJ_REF_BUF_SIZE), BKT_EFORMAT,
                "HDF5's encoding of the stored type does not fit the schema's description of it");
    if (is_ref(mem, sizeof(H5R_ref_t)))
        c->kind = BKT_CONV_NEW_REF;
    else if (same && c->t->cls == BKT_T_OBJREF)
        c->kind = BKT_CONV_OBJ_REF;
    else if (same)
        c->kind = BKT_CONV_REG_REF;
    else
        return no_path(c, mem, err);
    return BKT_OK;
}

typedef int match_fn(struct bkt_conv *c, hid_t file, hid_t mem, struct bkt_err *err);

static int match(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type, bool store,
                 struct bkt_err *err)
{
    static match_fn *const by_class[] = {
        [BKT_T_VLEN] = match_vlen, [BKT_T_COMPOUND] = match_compound, [BKT_T_ARRAY] = match_array};
    memset(c, 0, sizeof *c);
    c->file = c->mem = H5I_INVALID_HID;
    c->store = store;
    c->t     = t;
    c->src   = t->is_var ? 0 : t->size;
    c->dst   = H5Tget_size(mem_type);
    if (c->dst == 0)
        return bkt_h5err_capture(err, "asking for a datatype's size");
    BKT_FAIL_IF(err, c->src == 0 && !t->is_var, BKT_EFORMAT, "a stored type of 0 bytes");
    if (H5Tget_class(file_type) == H5T_REFERENCE)
        return match_ref(c, file_type, mem_type, err);
    if (t->cls == BKT_T_STRING && t->var_string)
        return match_string(c, file_type, mem_type, err);
    if ((size_t)t->cls < BKT_COUNT(by_class) && by_class[t->cls])
        return by_class[t->cls](c, file_type, mem_type, err);
    return match_leaf(c, file_type, mem_type, err);
}

int bkt_conv_init(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                  struct bkt_err *err)
{
    return match(c, t, file_type, mem_type, false, err);
}

/* HDF5 leaves bytes of a compound alone that no field fills. */
int bkt_conv_init_whole(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                        struct bkt_err *err)
{
    *c = (struct bkt_conv){.t = t,
                           .src = t->size,
                           .dst = H5Tget_size(mem_type),
                           .file = H5I_INVALID_HID,
                           .mem = H5I_INVALID_HID};
    htri_t same = H5Tequal(file_type, mem_type);
    BKT_NEED_H5(err, same >= 0 && c->dst, "comparing datatypes");
    c->kind = same ? BKT_CONV_COPY : BKT_CONV_LEAF;
    if (same)
        return BKT_OK;
    H5T_conv_t fn = find_path(c, file_type, mem_type);
    BKT_FAIL_IF(err, !fn, BKT_EINVAL, "the stored type does not convert to the requested type");
    c->partial    = H5Tdetect_class(mem_type, H5T_COMPOUND) > 0;
    c->has_number = bkt_conv_number(file_type, mem_type, fn, &c->number);
    c->file       = H5Tcopy(file_type);
    c->mem        = H5Tcopy(mem_type);
    return c->file < 0 || c->mem < 0 ? bkt_h5err_capture(err, "copying datatypes") : BKT_OK;
}

int bkt_conv_init_store(struct bkt_conv *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                        struct bkt_err *err)
{
    return match(c, t, file_type, mem_type, true, err);
}
