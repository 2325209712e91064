/* Whether a type as HDF5 encodes it and the schema's description beside it are of the same bytes.
 *
 * The description gives the layout of the bytes in the store.  HDF5's type is the program's view: it may have
 * gaps, or be of a class that the schema has no name for and describes as opaque bytes (see
 * vol/convert/type_from_h5.c).  Members, sizes and byte orders must agree.  Otherwise some bytes of an
 * element would never be filled, or be misread. */
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"

static int disagree(struct bkt_err *err, const char *what)
{
    return BKT_ERR(err, BKT_EFORMAT, "the type and its encoding (h5type) disagree: %s", what);
}

static bool is_number(const struct bkt_h5type *h)
{
    return h->cls == BKT_H5_INTEGER || h->cls == BKT_H5_FLOAT || h->cls == BKT_H5_TIME ||
           h->cls == BKT_H5_BITFIELD;
}

static int integer(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_INTEGER && h->cls != BKT_H5_BITFIELD)
        return disagree(err, "one is an integer, the other has another class");
    if (h->size != t->size)
        return disagree(err, "integers of different sizes");
    if ((h->order == BKT_H5_BE) != t->big_endian)
        return disagree(err, "integers of different byte orders");
    return h->is_signed == t->is_signed ? BKT_OK : disagree(err, "one integer is signed, the other is not");
}

/* bits of sign, exponent and mantissa, and the exponent's bias, of the schema's numbers */
static bool is_ieee(const struct bkt_h5type *h)
{
    static const struct {
        size_t size;
        unsigned exponent, mantissa;
        uint32_t bias;
    } forms[] = {{2, 5, 10, 15}, {4, 8, 23, 127}, {8, 11, 52, 1023}};
    for (size_t i = 0; i < BKT_COUNT(forms); i++)
        if (h->size == forms[i].size)
            return h->offset == 0 && h->prec == h->size * 8 && h->mpos == 0 &&
                   h->msize == forms[i].mantissa && h->epos == h->msize && h->esize == forms[i].exponent &&
                   h->spos == h->epos + h->esize && h->ebias == forms[i].bias;
    return false;
}

static int real(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_FLOAT || !is_ieee(h))
        return disagree(err, "one is an IEEE floating-point number, the other is not");
    if (h->size != t->size)
        return disagree(err, "floating-point numbers of different sizes");
    return (h->order == BKT_H5_BE) == t->big_endian
               ? BKT_OK
               : disagree(err, "floating-point numbers of different byte orders");
}

/* References without a form in the schema are stored as text. */
static int string(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (t->var_string && h->cls == BKT_H5_REFERENCE && h->ref != BKT_H5_REF_OLD_OBJECT)
        return BKT_OK;
    if (t->var_string ? h->cls != BKT_H5_VLEN || !h->var_string : h->cls != BKT_H5_STRING)
        return disagree(err, "one is a string of fixed length, the other is not, or has another class");
    if (!t->var_string && h->size != t->size)
        return disagree(err, "strings of different lengths");
    if (h->cset != t->cset)
        return disagree(err, "strings of different character sets");
    return h->strpad == t->strpad ? BKT_OK : disagree(err, "strings of different padding");
}

static int vlen(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_VLEN || h->var_string)
        return disagree(err, "one is a sequence, the other has another class");
    return bkt_h5type_match(h->base, t->base, err);
}

static int array(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    bool same = h->cls == BKT_H5_ARRAY && h->rank == t->rank;
    for (unsigned i = 0; same && i < t->rank; i++)
        same = h->dims[i] == t->dims[i];
    return same ? bkt_h5type_match(h->base, t->base, err) : disagree(err, "arrays of different dimensions");
}

/* ---- compounds: stored in the order of offsets ---- */

static int compound(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_COMPOUND)
        return disagree(err, "one is a compound, the other has another class");
    BKT_FAIL_IF(err, h->n_members != t->n_fields, BKT_EFORMAT,
                "the type and its encoding (h5type) disagree: %zu fields, and %zu", t->n_fields,
                h->n_members);
    BKT_CLEANUP(bkt_freep) const struct bkt_h5member **m = bkt_h5members_by_offset(h);
    BKT_NEED(err, m);
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct bkt_field *f = &t->fields[i];
        BKT_FAIL_IF(err, strcmp(m[i]->name, f->name) != 0, BKT_EFORMAT,
                    "the type and its encoding (h5type) disagree: field %zu is \"%.60s\", and \"%.60s\"", i,
                    f->name, m[i]->name);
        BKT_TRY(err, bkt_h5type_match(m[i]->type, f->type, err), "field \"%.60s\"", f->name);
    }
    return BKT_OK;
}

/* ---- enumerations ---- */

static bool same_value(const struct bkt_h5type *base, const unsigned char *value, int64_t v)
{
    unsigned bytes = (unsigned)base->size, spare = 64 - bytes * 8;
    uint64_t bits = (base->order == BKT_H5_BE ? bkt_get_be : bkt_get_le)(value, bytes);
    return bits == (uint64_t)v << spare >> spare;
}

static int by_name(const void *a, const void *b)
{
    const struct bkt_enum_member *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* By name, since the order of a JSON object's members may have been lost. */
static int enumeration(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_ENUM || h->n_members != t->n_members)
        return disagree(err, "one is an enumeration, the other is not, or has other members");
    BKT_PASS(integer(h->base, t->base, err));
    BKT_CLEANUP(bkt_freep) const struct bkt_enum_member **names = calloc(t->n_members + 1, sizeof(void *));
    BKT_NEED(err, names);
    for (size_t i = 0; i < t->n_members; i++)
        names[i] = &t->members[i];
    qsort(names, t->n_members, sizeof(void *), by_name);
    for (size_t i = 0; i < h->n_members; i++) {
        struct bkt_enum_member key = {.name = h->members[i].name}, *wanted = &key;
        const struct bkt_enum_member **m = bsearch(&wanted, names, t->n_members, sizeof(void *), by_name);
        BKT_FAIL_IF(err, !m || !same_value(h->base, h->members[i].value, (*m)->value), BKT_EFORMAT,
                    "the type and its encoding (h5type) disagree: enumeration member \"%.60s\"", key.name);
    }
    return BKT_OK;
}

/* ---- bytes ---- */

/* An opaque type, or a type without a name in the schema. */
static int opaque(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    if (h->cls != BKT_H5_OPAQUE && h->cls != BKT_H5_ENUM && !is_number(h))
        return disagree(err, "one is a number or opaque, the other has another class");
    if (h->size != t->size)
        return disagree(err, "opaque bytes of different lengths");
    return BKT_OK;
}

static int reference(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    bool object = t->cls == BKT_T_OBJREF;
    if (h->cls == BKT_H5_REFERENCE && (h->ref == BKT_H5_REF_OLD_OBJECT) == object)
        return BKT_OK;
    return disagree(err, object ? "one is an object reference, the other is not"
                                : "one is a region reference, the other is not");
}

int bkt_h5type_match(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err)
{
    static int (*const by_class[])(const struct bkt_h5type *h, const struct bkt_type *t,
                                   struct bkt_err *err) = {
        [BKT_T_INTEGER] = integer,  [BKT_T_FLOAT] = real,        [BKT_T_STRING] = string,
        [BKT_T_VLEN] = vlen,        [BKT_T_COMPOUND] = compound, [BKT_T_ARRAY] = array,
        [BKT_T_ENUM] = enumeration, [BKT_T_OPAQUE] = opaque,     [BKT_T_OBJREF] = reference,
        [BKT_T_REGREF] = reference};
    if ((size_t)t->cls >= BKT_COUNT(by_class))
        return disagree(err, "the type has no class");
    return by_class[t->cls](h, t, err);
}
