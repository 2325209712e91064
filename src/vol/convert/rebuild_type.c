/* Datatypes: from an encoding to HDF5's. */
#include <stdlib.h>

#include "base/num.h"
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
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

static int bitfield(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_STD_B8LE);
    if (id < 0 || set_bits(id, t) < 0)
        return failed(err);
    *out = bkt_hid_take(&id);
    return BKT_OK;
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
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

static int time_value(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_UNIX_D32LE);
    if (id < 0 || H5Tset_size(id, t->size) < 0 || H5Tset_precision(id, t->prec) < 0 || set_order(id, t) < 0)
        return failed(err);
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

/* ---- strings, opaque bytes, references ---- */

static int text(const struct bkt_h5type *t, size_t size, hid_t *out, struct bkt_err *err)
{
    static const H5T_str_t pads[] = {[BKT_STR_NULLTERM] = H5T_STR_NULLTERM,
                                     [BKT_STR_NULLPAD] = H5T_STR_NULLPAD,
                                     [BKT_STR_SPACEPAD] = H5T_STR_SPACEPAD};
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcopy(H5T_C_S1);
    if (id < 0 || H5Tset_size(id, size) < 0 || H5Tset_strpad(id, pads[t->strpad]) < 0 ||
        H5Tset_cset(id, t->cset == BKT_CSET_UTF8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) < 0)
        return failed(err);
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

static int string(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    return text(t, t->size, out, err);
}

static int opaque(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcreate(H5T_OPAQUE, t->size);
    if (id < 0 || H5Tset_tag(id, t->tag) < 0)
        return failed(err);
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

static int reference(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    if (t->ref == BKT_H5_REF_REGION || t->ref == BKT_H5_REF_ATTR)
        BKT_FAIL(err, BKT_EUNSUP, "the encoded datatype has references without an HDF5 type");
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
        if (H5Tenum_insert(id, t->members[i].name, t->members[i].value) < 0)
            return bkt_h5err_capture(err, t->members[i].name);
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

static int vlen(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    if (t->var_string)
        return text(t, H5T_VARIABLE, out, err);
    BKT_PASS(bkt_rebuild_type(t->base, &base, err));
    *out = H5Tvlen_create(base);
    return *out < 0 ? failed(err) : BKT_OK;
}

static int array(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5I_INVALID_HID;
    hsize_t dims[BKT_MAX_RANK];
    size_t bytes;
    BKT_PASS(bkt_rebuild_type(t->base, &base, err));
    bytes = H5Tget_size(base);
    for (unsigned i = 0; i < t->rank; i++) {
        dims[i] = t->dims[i];
        if (!bkt_mul_size(bytes, t->dims[i], &bytes) || bytes > UINT32_MAX)
            BKT_FAIL(err, BKT_EFORMAT, "the encoded datatype has an array of too many elements");
    }
    *out = H5Tarray_create2(base, t->rank, dims);
    return *out < 0 ? failed(err) : BKT_OK;
}

/* ---- compounds ---- */

struct fields {
    hid_t *type;
    size_t *offset, *place; /* place: in the order of offsets */
    size_t n;
};

static void fields_fini(struct fields *f)
{
    for (size_t i = 0; i < f->n; i++)
        bkt_hid_closep(&f->type[i]);
    free(f->type);
    free(f->offset);
    free(f->place);
}

static int by_offset(const void *a, const void *b, void *members)
{
    const struct bkt_h5member *m = members;
    size_t x = m[*(const size_t *)a].offset, y = m[*(const size_t *)b].offset;
    return x < y ? -1 : x > y;
}

/* Strings, sequences and references have other sizes in memory than in a file's type.  As in HDF5, the
 * fields behind them move. */
static int place_fields(const struct bkt_h5type *t, struct fields *f, size_t *size, struct bkt_err *err)
{
    size_t more = 0; /* modulo 2^64, since the size may shrink */
    for (size_t i = 0; i < t->n_members; i++)
        f->place[i] = i;
    qsort_r(f->place, t->n_members, sizeof *f->place, by_offset, t->members);
    for (size_t i = 0; i < t->n_members; i++) {
        const struct bkt_h5member *m = &t->members[f->place[i]];
        f->offset[f->place[i]] = m->offset + more;
        more += H5Tget_size(f->type[f->place[i]]) - m->type->size;
    }
    *size = t->size + more;
    if (*size == 0 || *size > UINT32_MAX)
        BKT_FAIL(err, BKT_EFORMAT, "the encoded datatype has a compound that is too large");
    return BKT_OK;
}

static int make_fields(const struct bkt_h5type *t, struct fields *f, struct bkt_err *err)
{
    f->type = calloc(t->n_members, sizeof *f->type);
    f->offset = calloc(t->n_members, sizeof *f->offset);
    f->place = calloc(t->n_members, sizeof *f->place);
    if (!f->type || !f->offset || !f->place)
        BKT_NOMEM(err);
    for (; f->n < t->n_members; f->n++)
        BKT_TRY(err, bkt_rebuild_type(t->members[f->n].type, &f->type[f->n], err), "field '%s'",
                t->members[f->n].name);
    return BKT_OK;
}

static int compound(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(fields_fini) struct fields f = {0};
    size_t size;
    BKT_PASS(make_fields(t, &f, err));
    BKT_PASS(place_fields(t, &f, &size, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Tcreate(H5T_COMPOUND, size);
    if (id < 0)
        return failed(err);
    for (size_t i = 0; i < f.n; i++)
        if (H5Tinsert(id, t->members[i].name, f.offset[i], f.type[i]) < 0)
            return bkt_h5err_capture(err, t->members[i].name);
    *out = bkt_hid_take(&id);
    return BKT_OK;
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
