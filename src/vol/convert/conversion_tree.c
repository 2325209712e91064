/* Pairing a stored type with the program's: which field goes where, and how each leaf converts.  Most leaves
 * are numbers (conversion_numbers.c). */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"

void bkt_value_tree_fini(struct bkt_value_tree *c)
{
    for (size_t i = 0; i < c->n_child; i++)
        bkt_value_tree_fini(&c->child[i]);
    free(c->child);
    bkt_hid_closep(&c->file);
    bkt_hid_closep(&c->mem);
    memset(c, 0, sizeof *c);
    c->file = c->mem = H5I_INVALID_HID;
}

static int no_path(const struct bkt_value_tree *c, hid_t mem, struct bkt_err *err)
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

static int match(struct bkt_value_tree *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                 bool store, struct bkt_err *err);

static int make_children(struct bkt_value_tree *c, size_t n, struct bkt_err *err)
{
    c->child = calloc(n ? n : 1, sizeof *c->child);
    BKT_NEED(err, c->child);
    for (size_t i = 0; i < n; i++)
        c->child[i].file = c->child[i].mem = H5I_INVALID_HID;
    c->n_child = n;
    return BKT_OK;
}

static H5T_conv_t find_path(const struct bkt_value_tree *c, hid_t file, hid_t mem)
{
    H5T_cdata_t *cdata = NULL;
    H5T_conv_t fn = NULL;
    (void)BKT_PASS_H5(NULL, (fn = H5Tfind(c->store ? mem : file, c->store ? file : mem, &cdata)) ? 0 : -1,
                      "H5Tfind");
    return fn;
}

static int field_index(hid_t compound, const char *name)
{
    int i = -1;
    (void)BKT_PASS_H5(NULL, i = H5Tget_member_index(compound, name), "H5Tget_member_index");
    return i;
}

/* HDF5's encoding of a type comes from the store.  It must not make H5Tconvert() follow pointers. */
static bool is_leaf_class(hid_t file)
{
    H5T_class_t cls = H5Tget_class(file);
    return cls != H5T_NO_CLASS && cls != H5T_VLEN && cls != H5T_REFERENCE && cls != H5T_COMPOUND &&
           cls != H5T_ARRAY && H5Tis_variable_str(file) <= 0;
}

static int make_leaf(struct bkt_value_tree *c, hid_t file, hid_t mem, H5T_conv_t fn, struct bkt_err *err)
{
    c->kind = BKT_TREE_LEAF;
    c->has_number = c->store ? bkt_value_tree_number(mem, file, fn, &c->number)
                             : bkt_value_tree_number(file, mem, fn, &c->number);
    c->file = H5Tcopy(file);
    c->mem = H5Tcopy(mem);
    return c->file < 0 || c->mem < 0 ? bkt_h5err_capture(err, "copying datatypes") : BKT_OK;
}

static int match_leaf(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !is_leaf_class(file) || c->src != H5Tget_size(file), BKT_EFORMAT,
                "HDF5's encoding of the stored type does not fit the schema's description of it");
    c->tails = c->store && bkt_has_tails(c->t);
    htri_t same = H5Tequal(file, mem);
    BKT_NEED_H5(err, same >= 0, "comparing datatypes");
    if (same && c->src == c->dst) {
        c->kind = BKT_TREE_COPY;
        return BKT_OK;
    }
    H5T_conv_t fn = find_path(c, file, mem);
    return fn ? make_leaf(c, file, mem, fn, err) : no_path(c, mem, err);
}

static int match_string(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(mem) != H5T_STRING || H5Tis_variable_str(mem) <= 0)
        return no_path(c, mem, err);
    BKT_FAIL_IF(err, H5Tget_cset(file) != H5Tget_cset(mem), BKT_EINVAL,
                "HDF5 doesn't convert between ASCII and UTF-8 strings; request the stored "
                "character set");
    c->kind = BKT_TREE_STRING;
    return BKT_OK;
}

/* Base types of sequences and arrays */
static int match_base(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fbase = H5Tget_super(file);
    BKT_CLEANUP(bkt_hid_closep) hid_t mbase = H5Tget_super(mem);
    BKT_NEED_H5(err, fbase >= 0 && mbase >= 0, "asking for a base type");
    BKT_PASS(make_children(c, 1, err));
    BKT_PASS(match(&c->child[0], c->t->base, fbase, mbase, c->store, err));
    c->tails = c->child[0].tails;
    return BKT_OK;
}

static int match_vlen(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    if (H5Tget_class(file) != H5T_VLEN || H5Tget_class(mem) != H5T_VLEN)
        return no_path(c, mem, err);
    c->kind = BKT_TREE_VLEN;
    return match_base(c, file, mem, err);
}

static int match_array(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    if (H5Tget_class(file) != H5T_ARRAY || H5Tget_class(mem) != H5T_ARRAY)
        return no_path(c, mem, err);
    int  rank = H5Tget_array_ndims(mem);
    bool same = rank == (int)c->t->rank && H5Tget_array_dims2(mem, dims) >= 0;
    for (int i = 0; same && i < rank; i++)
        same = dims[i] == c->t->dims[i];
    BKT_FAIL_IF(err, !same, BKT_EINVAL, "stored and requested arrays have different dimensions");
    c->kind = BKT_TREE_ARRAY;
    BKT_PASS(match_base(c, file, mem, err));
    c->partial = c->child[0].partial;
    if (c->child[0].kind == BKT_TREE_COPY && c->src == c->dst)
        c->kind = BKT_TREE_COPY;
    return BKT_OK;
}

static int match_field(struct bkt_value_tree *c, size_t i, hid_t file, hid_t mem, unsigned mi,
                       struct bkt_err *err)
{
    const struct bkt_field *field = &c->t->fields[i];
    struct bkt_value_tree *child = &c->child[i];
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
static bool is_packed(const struct bkt_value_tree *c)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n_child; i++) {
        if (c->child[i].kind != BKT_TREE_COPY || c->child[i].offset != at)
            return false;
        at += c->child[i].src;
    }
    return !c->partial && at == c->src && c->src == c->dst;
}

/* Match by name, as HDF5 does; fields of only one side are left alone. */
static int match_compound(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    size_t filled = 0;
    if (H5Tget_class(file) != H5T_COMPOUND || H5Tget_class(mem) != H5T_COMPOUND)
        return no_path(c, mem, err);
    c->kind = BKT_TREE_COMPOUND;
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
        c->kind = BKT_TREE_COPY;
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
static int match_ref(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err)
{
    bool same = is_ref(mem, H5Tget_size(file));
    BKT_FAIL_IF(err, (c->t->cls == BKT_T_OBJREF) != is_ref(file, H5R_OBJ_REF_BUF_SIZE), BKT_EFORMAT,
                "HDF5's encoding of the stored type does not fit the schema's description of it");
    if (is_ref(mem, sizeof(H5R_ref_t)))
        c->kind = BKT_TREE_NEW_REF;
    else if (same && c->t->cls == BKT_T_OBJREF)
        c->kind = BKT_TREE_OBJ_REF;
    else if (same)
        c->kind = BKT_TREE_REG_REF;
    else
        return no_path(c, mem, err);
    return BKT_OK;
}

typedef int match_fn(struct bkt_value_tree *c, hid_t file, hid_t mem, struct bkt_err *err);

static int match(struct bkt_value_tree *c, const struct bkt_type *t, hid_t file_type, hid_t mem_type,
                 bool store, struct bkt_err *err)
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
    BKT_FAIL_IF(err, c->src == 0 && !t->is_var, BKT_EFORMAT, "stored type: it has 0 bytes");
    if (H5Tget_class(file_type) == H5T_REFERENCE)
        return match_ref(c, file_type, mem_type, err);
    if (t->cls == BKT_T_STRING && t->var_string)
        return match_string(c, file_type, mem_type, err);
    if ((size_t)t->cls < BKT_COUNT(by_class) && by_class[t->cls])
        return by_class[t->cls](c, file_type, mem_type, err);
    return match_leaf(c, file_type, mem_type, err);
}

int bkt_value_tree_init(struct bkt_value_tree *c, const struct bkt_conversion *v, struct bkt_err *err)
{
    return match(c, v->t, v->file_type, v->mem_type, false, err);
}

/* HDF5 leaves bytes of a compound alone that no field fills. */
int bkt_value_tree_init_whole(struct bkt_value_tree *c, const struct bkt_conversion *v, struct bkt_err *err)
{
    *c = (struct bkt_value_tree){.t = v->t,
                                 .src = v->t->size,
                                 .dst = H5Tget_size(v->mem_type),
                                 .file = H5I_INVALID_HID,
                                 .mem = H5I_INVALID_HID};
    htri_t same = H5Tequal(v->file_type, v->mem_type);
    BKT_NEED_H5(err, same >= 0 && c->dst, "comparing datatypes");
    c->kind = BKT_TREE_COPY;
    if (same)
        return BKT_OK;
    H5T_conv_t fn = find_path(c, v->file_type, v->mem_type);
    BKT_FAIL_IF(err, !fn, BKT_EINVAL, "the stored type does not convert to the requested type");
    c->partial = H5Tdetect_class(v->mem_type, H5T_COMPOUND) > 0;
    return make_leaf(c, v->file_type, v->mem_type, fn, err);
}

int bkt_value_tree_init_store(struct bkt_value_tree *c, const struct bkt_conversion *v, struct bkt_err *err)
{
    return match(c, v->t, v->file_type, v->mem_type, true, err);
}

/* ---- whole elements in one step ---- */

static bool add_step(struct bkt_recast *r, struct bkt_recast_step s)
{
    struct bkt_recast_step *last = r->n ? &r->step[r->n - 1] : NULL;
    bool copied = !s.fn && s.from_swapped == s.to_swapped;
    if (copied && last && !last->fn && last->from_swapped == last->to_swapped &&
        last->src + last->from_size == s.src &&
        last->dst + last->to_size == s.dst) { /* fields that stay neighbours */
        last->from_size = last->to_size += s.from_size;
        return true;
    }
    if (r->n == BKT_RECAST_STEPS)
        return false;
    r->step[r->n++] = s;
    return true;
}

static bool add_conv(struct bkt_recast *r, const struct bkt_value_tree *c, size_t src, size_t dst,
                     size_t count)
{
    struct bkt_recast_step s = c->number;
    if (c->kind == BKT_TREE_COPY)
        s = (struct bkt_recast_step){.from_size = c->src * count, .to_size = c->src * count, .count = 1};
    else if (c->kind == BKT_TREE_LEAF && c->has_number)
        s.count = count;
    else if (c->kind == BKT_TREE_ARRAY && count == 1)
        return c->child[0].kind <= BKT_TREE_LEAF &&
               add_conv(r, &c->child[0], src, dst, (size_t)c->t->n_elems);
    else if (c->kind == BKT_TREE_COMPOUND && count == 1) {
        for (size_t i = 0; i < c->n_child; i++)
            if (c->child[i].kind != BKT_TREE_SKIP &&
                !add_conv(r, &c->child[i], src + c->t->fields[i].offset, dst + c->child[i].offset, 1))
                return false;
        return true;
    } else
        return false;
    s.src = src, s.dst = dst;
    return add_step(r, s);
}

bool bkt_value_tree_recast(const struct bkt_value_tree *c, struct bkt_recast **out)
{
    bool fits = c->src && c->src <= BKT_RECAST_ELEM && c->dst <= BKT_RECAST_ELEM && !c->store;
    *out      = fits ? calloc(1, sizeof **out) : NULL;
    if (!*out)
        return false;
    (*out)->src = c->src;
    (*out)->dst = c->dst;
    if (add_conv(*out, c, 0, 0, 1))
        return true;
    free(*out);
    *out = NULL;
    return false;
}

bool bkt_value_tree_asks(hid_t dxpl)
{
    H5T_conv_except_func_t fn   = NULL;
    void                  *data = NULL;
    if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT)
        return false;
    return H5Pget_type_conv_cb(dxpl, &fn, &data) < 0 || fn != NULL;
}
