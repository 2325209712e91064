/* Datatypes -> HDF5's: encoded ones, and those of the model. */
#include <H5VLconnector.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/trace.h"
#include "vol/convert/convert.h"
#include "vol/convert/rebuild.h"

static int failed(struct bkt_err *err)
{
    return bkt_h5err_capture(err, "making a stored datatype");
}

/* ---- numbers ---- */

static herr_t set_order(hid_t id, const struct bkt_h5type *t)
{
    return H5Tset_order(id, t->order == BKT_H5_BE    ? H5T_ORDER_BE
                            : t->order == BKT_H5_VAX ? H5T_ORDER_VAX
                                                     : H5T_ORDER_LE);
}

static H5T_pad_t pad_of(unsigned pad)
{
    return pad ? H5T_PAD_ONE : H5T_PAD_ZERO;
}

/* Starts from a type of 8 bits, so that HDF5 has nothing to shorten. */
static herr_t set_bits(hid_t id, const struct bkt_h5type *t)
{
    return H5Tset_size(id, t->size) < 0 || H5Tset_precision(id, t->prec) < 0 ||
                   H5Tset_offset(id, t->offset) < 0 ||
                   H5Tset_pad(id, pad_of(t->lsb_pad), pad_of(t->msb_pad)) < 0 || set_order(id, t) < 0
               ? -1
               : 0;
}

static int integer(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_STD_I8LE);
    if (id < 0 || set_bits(id, t) < 0 || H5Tset_sign(id, t->is_signed ? H5T_SGN_2 : H5T_SGN_NONE) < 0)
        return failed(err);
    return bkt_hid_give(&id, out);
}

static int bitfield(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_STD_B8LE);
    if (id < 0 || set_bits(id, t) < 0)
        return failed(err);
    return bkt_hid_give(&id, out);
}

/* HDF5 demands that the fields fit at each step.  So they are set in a number that is large enough, which
 * is made small afterwards. */
static herr_t set_fields(hid_t id, const struct bkt_h5type *t)
{
    size_t large = t->size > 8 ? t->size : 8;
    return H5Tset_size(id, large) < 0 || H5Tset_precision(id, large * 8) < 0 ||
                   H5Tset_fields(id, t->spos, t->epos, t->esize, t->mpos, t->msize) < 0 ||
                   H5Tset_offset(id, t->offset) < 0 || H5Tset_precision(id, t->prec) < 0 ||
                   H5Tset_size(id, t->size) < 0
               ? -1
               : 0;
}

static int real(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    static const H5T_norm_t norms[] = {H5T_NORM_NONE, H5T_NORM_MSBSET, H5T_NORM_IMPLIED};
    /* VAX order needs a newer encoding, which a copy takes over from its source. */
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(t->order == BKT_H5_VAX ? H5T_VAX_F64 : H5T_IEEE_F64LE);
    if (id < 0 || set_fields(id, t) < 0 || H5Tset_ebias(id, t->ebias) < 0 ||
        H5Tset_norm(id, norms[t->norm]) < 0 || H5Tset_inpad(id, pad_of(t->in_pad)) < 0 ||
        H5Tset_pad(id, pad_of(t->lsb_pad), pad_of(t->msb_pad)) < 0 || set_order(id, t) < 0)
        return failed(err);
    return bkt_hid_give(&id, out);
}

static int time_value(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_UNIX_D32LE);
    if (id < 0 || H5Tset_size(id, t->size) < 0 || H5Tset_precision(id, t->prec) < 0 || set_order(id, t) < 0)
        return failed(err);
    return bkt_hid_give(&id, out);
}

/* ---- strings, opaque bytes, references ---- */

static int text(size_t size, unsigned strpad, bool utf8, hid_t *out, struct bkt_err *err)
{
    static const H5T_str_t pads[] = {[BKT_STR_NULLTERM] = H5T_STR_NULLTERM,
                                     [BKT_STR_NULLPAD] = H5T_STR_NULLPAD,
                                     [BKT_STR_SPACEPAD] = H5T_STR_SPACEPAD};
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_C_S1);
    BKT_NEED_H5(err,
                id >= 0 && H5Tset_size(id, size) >= 0 && H5Tset_strpad(id, pads[strpad]) >= 0 &&
                    H5Tset_cset(id, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) >= 0,
                "making a string type");
    return bkt_hid_give(&id, out);
}

static int string(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    return text(t->size, t->strpad, t->cset == BKT_CSET_UTF8, out, err);
}

static int bytes_of(size_t size, const char *tag, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcreate(H5T_OPAQUE, size);
    BKT_NEED_H5(err, id >= 0 && H5Tset_tag(id, tag) >= 0, "making an opaque type");
    return bkt_hid_give(&id, out);
}

static int opaque(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    return bytes_of(t->size, t->tag, out, err);
}

static int reference(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, t->ref == BKT_H5_REF_REGION || t->ref == BKT_H5_REF_ATTR, BKT_EUNSUP,
                "the encoded datatype has references without an HDF5 type");
    *out = H5Tcopy(t->ref == BKT_H5_REF_OLD_OBJECT   ? H5T_STD_REF_OBJ
                   : t->ref == BKT_H5_REF_OLD_REGION ? H5T_STD_REF_DSETREG
                                                     : H5T_STD_REF);
    return *out < 0 ? failed(err) : BKT_OK;
}

/* ---- types of types ---- */

static int enumeration(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    BKT_PASS(bkt_rebuild_type(t->base, &base, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tenum_create(base);
    if (id < 0)
        return failed(err);
    for (size_t i = 0; i < t->n_members; i++)
        BKT_NEED_H5(err, H5Tenum_insert(id, t->members[i].name, t->members[i].value) >= 0,
                    t->members[i].name);
    return bkt_hid_give(&id, out);
}

static int vlen(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    if (t->var_string)
        return text(H5T_VARIABLE, t->strpad, t->cset == BKT_CSET_UTF8, out, err);
    BKT_PASS(bkt_rebuild_type(t->base, &base, err));
    *out = H5Tvlen_create(base);
    return *out < 0 ? failed(err) : BKT_OK;
}

/* HDF5 multiplies without a check for overflow. */
static int array_of(hid_t base, unsigned rank, const hsize_t *dims, hid_t *out, struct bkt_err *err)
{
    size_t bytes = H5Tget_size(base);
    for (unsigned i = 0; i < rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_size(bytes, dims[i], &bytes) || bytes > UINT32_MAX, BKT_EFORMAT,
                    "array type of more than 4 GiB");
    *out = H5Tarray_create2(base, rank, dims);
    return *out < 0 ? bkt_h5err_capture(err, "making an array type") : BKT_OK;
}

static int array(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    hsize_t dims[BKT_MAX_RANK];
    for (unsigned i = 0; i < t->rank; i++)
        dims[i] = t->dims[i];
    BKT_PASS(bkt_rebuild_type(t->base, &base, err));
    return array_of(base, t->rank, dims, out, err);
}

/* ---- compounds ---- */

struct fields {
    const char **name; /* borrowed */
    hid_t *type;
    size_t *offset;
    size_t n;
};

static void fields_fini(struct fields *f)
{
    for (size_t i = 0; i < f->n; i++)
        bkt_hid_closep(&f->type[i]);
    free(f->name);
    free(f->type);
    free(f->offset);
}

/* Strings, sequences and references have other sizes in memory than in a file's type.  As in HDF5, the
 * fields behind them move. */
static int place_fields(const struct bkt_h5type *t, struct fields *f, size_t *size, struct bkt_err *err)
{
    size_t more = 0; /* modulo 2^64, since the size may shrink */
    BKT_CLEANUP(bkt_freep) const struct bkt_h5member **m = bkt_h5members_by_offset(t);
    BKT_NEED(err, m);
    for (size_t i = 0; i < t->n_members; i++) {
        size_t k = (size_t)(m[i] - t->members);
        f->offset[k] = m[i]->offset + more;
        more += H5Tget_size(f->type[k]) - m[i]->type->size;
    }
    *size = t->size + more;
    BKT_FAIL_IF(err, *size == 0 || *size > UINT32_MAX, BKT_EFORMAT,
                "the encoded datatype has a compound that is too large");
    return BKT_OK;
}

static int fields_init(struct fields *f, size_t n, struct bkt_err *err)
{
    f->name = calloc(n + 1, sizeof(char *));
    f->type = calloc(n + 1, sizeof *f->type);
    f->offset = calloc(n + 1, sizeof *f->offset);
    return BKT_MADE(err, f->name && f->type && f->offset);
}

static int insert_fields(const struct fields *f, size_t size, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcreate(H5T_COMPOUND, size);
    BKT_NEED_H5(err, id >= 0, "making a compound type");
    for (size_t i = 0; i < f->n; i++)
        BKT_NEED_H5(err, H5Tinsert(id, f->name[i], f->offset[i], f->type[i]) >= 0, f->name[i]);
    return bkt_hid_give(&id, out);
}

static int compound(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(fields_fini) struct fields f = {0};
    size_t size;
    BKT_PASS(fields_init(&f, t->n_members, err));
    for (; f.n < t->n_members; f.n++) {
        f.name[f.n] = t->members[f.n].name;
        BKT_TRY(err, bkt_rebuild_type(t->members[f.n].type, &f.type[f.n], err), "field '%s'", f.name[f.n]);
    }
    BKT_PASS(place_fields(t, &f, &size, err));
    return insert_fields(&f, size, out, err);
}

int bkt_rebuild_type(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    static int (*const classes[])(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err) = {
        [BKT_H5_INTEGER] = integer,   [BKT_H5_FLOAT] = real,          [BKT_H5_TIME] = time_value,
        [BKT_H5_STRING] = string,     [BKT_H5_BITFIELD] = bitfield,   [BKT_H5_OPAQUE] = opaque,
        [BKT_H5_COMPOUND] = compound, [BKT_H5_REFERENCE] = reference, [BKT_H5_ENUM] = enumeration,
        [BKT_H5_VLEN] = vlen,         [BKT_H5_ARRAY] = array};
    return classes[t->cls](t, out, err);
}

int bkt_rebuild_encoded_type(const struct bkt_buf *b, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5type_freep) struct bkt_h5type *t = NULL;
    BKT_PASS(bkt_h5type_parse(b->ptr, b->len, &t, err));
    return bkt_rebuild_type(t, out, err);
}

/* ---- types of the model ---- */

static int done(hid_t id, const char *what, hid_t *out, struct bkt_err *err)
{
    BKT_NEED_H5(err, id >= 0, what);
    *out = id;
    return BKT_OK;
}

/* H5T_STD_… and H5T_IEEE_… are variables, not constants, hence no static tables. */
static hid_t integer_type(const struct bkt_type *t)
{
    const hid_t types[2][4][2] = {
        {{H5T_STD_U8LE, H5T_STD_U8BE},
         {H5T_STD_U16LE, H5T_STD_U16BE},
         {H5T_STD_U32LE, H5T_STD_U32BE},
         {H5T_STD_U64LE, H5T_STD_U64BE}},
        {{H5T_STD_I8LE, H5T_STD_I8BE},
         {H5T_STD_I16LE, H5T_STD_I16BE},
         {H5T_STD_I32LE, H5T_STD_I32BE},
         {H5T_STD_I64LE, H5T_STD_I64BE}},
    };
    for (unsigned i = 0; i < 4; i++)
        if (t->size == (size_t)1 << i)
            return types[t->is_signed][i][t->big_endian];
    return H5I_INVALID_HID;
}

static int make_integer(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    hid_t std = integer_type(t);
    BKT_FAIL_IF(err, std < 0, BKT_EUNSUP, "integer type of %zu bytes: not supported", t->size);
    return done(H5Tcopy(std), "copying an integer type", out, err);
}

/* IEEE half precision has a predefined type from HDF5 1.14.4 on.  A type built by hand is equal to it and
 * works with every version.  Fields are set before the size: HDF5 checks that they fit. */
static int make_half(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(t->big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE);
    BKT_NEED_H5(err,
                id >= 0 && H5Tset_fields(id, 15, 10, 5, 0, 10) >= 0 && H5Tset_precision(id, 16) >= 0 &&
                    H5Tset_size(id, 2) >= 0 && H5Tset_ebias(id, 15) >= 0,
                "making a half-precision type");
    return bkt_hid_give(&id, out);
}

static int make_float(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    switch (t->size) {
        case 2:
            return make_half(t, out, err);
        case 4:
            return done(H5Tcopy(t->big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE), "copying a float type", out,
                        err);
        case 8:
            return done(H5Tcopy(t->big_endian ? H5T_IEEE_F64BE : H5T_IEEE_F64LE), "copying a float type", out,
                        err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "floating-point type of %zu bytes: not supported", t->size);
    }
}

static int make_string(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !t->var_string && t->size == 0, BKT_EFORMAT, "string type of 0 bytes");
    return text(t->var_string ? H5T_VARIABLE : t->size, t->strpad, t->cset == BKT_CSET_UTF8, out, err);
}

static int make_vlen(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_type(t->base, &base, err));
    return done(H5Tvlen_create(base), "making a variable-length type", out, err);
}

static int make_array(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_type(t->base, &base, err));
    return array_of(base, t->rank, t->dims, out, err);
}

static int make_enum(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    unsigned char value[8];
    BKT_FAIL_IF(err, t->base->cls != BKT_T_INTEGER, BKT_EFORMAT,
                "enumeration whose base type is not an integer");
    BKT_PASS(bkt_convert_type(t->base, &base, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tenum_create(base);
    BKT_NEED_H5(err, id >= 0, "making an enumeration type");
    for (size_t i = 0; i < t->n_members; i++) {
        (t->base->big_endian ? bkt_put_be : bkt_put_le)(value, (unsigned)t->base->size,
                                                        (uint64_t)t->members[i].value);
        BKT_NEED_H5(err, H5Tenum_insert(id, t->members[i].name, value) >= 0, t->members[i].name);
    }
    return bkt_hid_give(&id, out);
}

/* The compound's size is the sum of the fields' sizes in memory. */
static int make_compound(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(fields_fini) struct fields f = {0};
    size_t total = 0;
    BKT_PASS(fields_init(&f, t->n_fields, err));
    for (; f.n < t->n_fields; f.n++) {
        f.name[f.n] = t->fields[f.n].name;
        f.offset[f.n] = total;
        BKT_TRY(err, bkt_convert_type(t->fields[f.n].type, &f.type[f.n], err), "field '%s'", f.name[f.n]);
        total += H5Tget_size(f.type[f.n]);
    }
    BKT_FAIL_IF(err, total > UINT32_MAX, BKT_EFORMAT, "compound type of more than 4 GiB");
    return insert_fields(&f, total, out, err);
}

static int make_opaque(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    return bytes_of(t->size, t->tag ? t->tag : "", out, err);
}

static int make_ref(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    return done(H5Tcopy(t->cls == BKT_T_OBJREF ? H5T_STD_REF_OBJ : H5T_STD_REF_DSETREG),
                "copying a reference type", out, err);
}

typedef int make_fn(const struct bkt_type *t, hid_t *out, struct bkt_err *err);

int bkt_convert_type(const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    static make_fn *const makers[] = {
        [BKT_T_INTEGER] = make_integer, [BKT_T_FLOAT] = make_float,       [BKT_T_STRING] = make_string,
        [BKT_T_VLEN] = make_vlen,       [BKT_T_COMPOUND] = make_compound, [BKT_T_ARRAY] = make_array,
        [BKT_T_ENUM] = make_enum,       [BKT_T_OPAQUE] = make_opaque,     [BKT_T_OBJREF] = make_ref,
        [BKT_T_REGREF] = make_ref};
    BKT_FAIL_IF(err, t->bad, BKT_EFORMAT, "%s", t->bad);
    if (t->encoded.len)
        return bkt_rebuild_encoded_type(&t->encoded, out, err);
    BKT_FAIL_IF(err, (size_t)t->cls >= BKT_COUNT(makers), BKT_EUNSUP, "datatype class %d: not supported",
                (int)t->cls);
    return makers[t->cls](t, out, err);
}

static int keep_encoded(struct bkt_buf *b, hid_t type, struct bkt_err *err)
{
    size_t n = 0;
    BKT_PASS(BKT_PASS_H5(err, H5Tencode(type, NULL, &n), "encoding a datatype"));
    BKT_PASS_MEM(err, bkt_buf_resize(b, n));
    int rc = BKT_PASS_H5(err, H5Tencode(type, b->ptr, &n), "encoding a datatype");
    if (rc < 0)
        bkt_buf_clear(b);
    return rc;
}

/* H5VLget_file_type() makes ids that HDF5 doesn't list.  It gives sequences and references the form that
 * they have in a file.  So types with sequences are kept as bytes.  Types with references are made again:
 * HDF5 takes a sequence of references that it decodes for another type. */
int bkt_convert_keep_type(struct bkt_vobj *o, hid_t type, struct bkt_err *err)
{
    if (H5Tdetect_class(type, H5T_REFERENCE) > 0)
        return BKT_OK;
    if (bkt_convert_is_var(type))
        return keep_encoded(&o->encoded_type, type, err);
    return BKT_PASS_H5(err, o->file_type = H5VLget_file_type(o, H5VL_NATIVE, type), "H5VLget_file_type");
}

/* HDF5 decodes only bytes that HDF5 itself has encoded in this process. */
int bkt_convert_file_type(struct bkt_vobj *o, const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t made = H5I_INVALID_HID;
    if (o->file_type >= 0)
        return BKT_PASS_H5(err, *out = bkt_hid_hold(o->file_type), "H5Iinc_ref");
    if (o->encoded_type.len)
        return BKT_PASS_H5(err, *out = H5Tdecode(o->encoded_type.ptr), "decoding a datatype");
    BKT_FAIL_IF(err, !t, BKT_EINVAL, "object: it has no datatype");
    BKT_PASS(bkt_convert_type(t, &made, err));
    BKT_PASS(bkt_convert_keep_type(o, made, err));
    return bkt_hid_give(&made, out);
}

/* An object with a committed type holds a copy of that type, which describes its values.  The committed
 * type in the domain must equal the copy. */
static bool is_same_type(const struct bkt_object *named, hid_t file_type)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    return named->kind == BKT_DATATYPE && bkt_convert_type(named->type, &id, NULL) == BKT_OK &&
           H5Tequal(id, file_type) > 0;
}

/* A committed type is shown as the named object, so that H5Tcommitted() is true and tools find its path.
 * If it was deleted or changed, its users stay readable. */
int bkt_convert_shown_type(struct bkt_vobj *o, const struct bkt_type *t, hid_t *out, struct bkt_err *err)
{
    const struct bkt_object *named = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;

    BKT_PASS(bkt_convert_file_type(o, t, &file_type, err));
    if (t->committed.text[0]) {
        struct bkt_err why = {0};
        if (bkt_domain_get(o->file->dom, &t->committed, &named, &why) < 0)
            bkt_trace(BKT_TRACE_VOL, "committed type %s: %s", t->committed.text,
                      bkt_err_reason(&why, why.code));
        else if (!is_same_type(named, file_type)) {
            bkt_trace(BKT_TRACE_VOL, "committed type %s differs from the copies in its users",
                      t->committed.text);
            bkt_object_release(named);
            named = NULL;
        }
    }
    if (!named)
        return done(H5Tcopy(file_type), "copying a datatype", out, err);
    return bkt_vobj_register(bkt_vobj_new(o->file, H5I_DATATYPE, named, NULL), out, err);
}
