/* Datatypes as H5Tencode writes them: a message number, a version, and the object header message of a
 * datatype (versions 1 to 4). */
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"
#include "base/num.h"

#define MESSAGE 3 /* H5O_DTYPE_ID */

struct head {
    unsigned version;
    uint32_t flags; /* the class's own 24 bits */
    unsigned depth;
};

static int parse(struct bkt_rd *r, unsigned depth, struct bkt_h5type **out, struct bkt_err *err);

static int cut_off(struct bkt_err *err)
{
    return BKT_ERR(err, BKT_EFORMAT, "the encoded datatype is cut off");
}

/* ---- names ---- */

/* Up to a NUL within the bytes; before version 3 the name fills a multiple of 8 bytes. */
static int take_name(struct bkt_rd *r, const struct head *h, char **out, struct bkt_err *err)
{
    const unsigned char *end = r->ok ? memchr(r->p, '\0', bkt_rd_left(r)) : NULL;
    if (!end)
        return cut_off(err);
    size_t n = (size_t)(end - r->p), room = h->version >= 3 ? n + 1 : (n + 8) / 8 * 8;
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "the encoded datatype has a member without a name");
    const char *name = bkt_rd_take(r, room);
    if (!name)
        return cut_off(err);
    *out = strdup(name);
    return BKT_MADE(err, *out);
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static int no_twins(const struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) const char **names = calloc(t->n_members + 1, sizeof *names);
    BKT_NEED(err, names);
    for (size_t i = 0; i < t->n_members; i++)
        names[i] = t->members[i].name;
    qsort(names, t->n_members, sizeof *names, by_name);
    for (size_t i = 1; i < t->n_members; i++)
        BKT_FAIL_IF(err, strcmp(names[i - 1], names[i]) == 0, BKT_EFORMAT,
                    "the encoded datatype has two members \"%.60s\"", names[i]);
    return BKT_OK;
}

/* ---- numbers ---- */

static int take_bits(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    t->order = h->flags & 1 ? BKT_H5_BE : BKT_H5_LE;
    t->lsb_pad = h->flags >> 1 & 1;
    t->msb_pad = h->flags >> 2 & 1;
    t->offset = (unsigned)bkt_rd_le(r, 2);
    t->prec = (unsigned)bkt_rd_le(r, 2);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, t->size > BKT_H5_NUMBER_MAX, BKT_EUNSUP,
                "the encoded datatype has a number of %zu bytes; the limit is %d", t->size,
                BKT_H5_NUMBER_MAX);
    BKT_FAIL_IF(err, t->prec == 0 || t->offset + t->prec > t->size * 8, BKT_EFORMAT,
                "the encoded datatype has a number of %u bits from bit %u on in %zu bytes", t->prec,
                t->offset, t->size);
    return BKT_OK;
}

static int integer(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    t->is_signed = h->flags >> 3 & 1;
    return take_bits(r, h, t, err);
}

static bool overlap(unsigned a, unsigned na, unsigned b, unsigned nb)
{
    return a < b + nb && b < a + na;
}

/* HDF5 gathers an exponent in 64 bits without a check. */
static int check_fields(const struct bkt_h5type *t, struct bkt_err *err)
{
    unsigned end = t->offset + t->prec;
    BKT_FAIL_IF(err,
                t->esize == 0 || t->msize == 0 || t->esize > 64 || t->spos >= end ||
                    t->epos + t->esize > end || t->mpos + t->msize > end ||
                    overlap(t->spos, 1, t->epos, t->esize) || overlap(t->spos, 1, t->mpos, t->msize) ||
                    overlap(t->epos, t->esize, t->mpos, t->msize),
                BKT_EFORMAT,
                "the encoded datatype has a floating-point number whose fields overlap or lie outside of it");
    return BKT_OK;
}

static int real(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_PASS(take_bits(r, h, t, err));
    bool vax = h->version >= 3 && (h->flags & 0x40);
    t->in_pad = h->flags >> 3 & 1;
    t->norm = h->flags >> 4 & 3;
    t->spos = h->flags >> 8 & 0xff;
    t->epos = (unsigned)bkt_rd_le(r, 1);
    t->esize = (unsigned)bkt_rd_le(r, 1);
    t->mpos = (unsigned)bkt_rd_le(r, 1);
    t->msize = (unsigned)bkt_rd_le(r, 1);
    t->ebias = (uint32_t)bkt_rd_le(r, 4);
    if (!r->ok)
        return cut_off(err);
    if (t->norm == 3 || (vax && (t->order != BKT_H5_BE ||
                                 t->size % 2))) /* HDF5 swaps VAX numbers by two bytes at a time */
        BKT_FAIL(err, BKT_EFORMAT, "the encoded datatype has a floating-point number of an unknown form");
    if (vax)
        t->order = BKT_H5_VAX;
    return check_fields(t, err);
}

static int time_value(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    t->order = h->flags & 1 ? BKT_H5_BE : BKT_H5_LE;
    t->prec = (unsigned)bkt_rd_le(r, 2);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, t->size > BKT_H5_NUMBER_MAX || t->prec == 0 || t->prec > t->size * 8, BKT_EFORMAT,
                "the encoded datatype has a time of %u bits in %zu bytes", t->prec, t->size);
    return BKT_OK;
}

/* ---- strings, opaque bytes, references ---- */

static int text_form(unsigned pad, unsigned cset, struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_FAIL_IF(err, pad > BKT_STR_SPACEPAD || cset > BKT_CSET_UTF8, BKT_EFORMAT,
                "the encoded datatype has a string of padding %u and character set %u", pad, cset);
    t->strpad = (enum bkt_strpad)pad;
    t->cset = (enum bkt_cset)cset;
    return BKT_OK;
}

static int string(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    (void)r;
    return text_form(h->flags & 0xf, h->flags >> 4 & 0xf, t, err);
}

/* The tag may fill its room to the last byte, without a NUL. */
static int opaque(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    size_t n = h->flags & 0xff;
    const char *tag = bkt_rd_take(r, n);
    if (!tag)
        return cut_off(err);
    t->tag = strndup(tag, n);
    return BKT_MADE(err, t->tag);
}

static int reference(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    unsigned kind = h->flags & 0xf, version = h->flags >> 4 & 0xf;
    (void)r;
    BKT_FAIL_IF(err, kind > BKT_H5_REF_ATTR || (kind >= BKT_H5_REF_OBJECT && version != 1), BKT_EFORMAT,
                "the encoded datatype has a reference of kind %u, version %u", kind, version);
    t->ref = (enum bkt_h5_ref)kind;
    return BKT_OK;
}

/* ---- types of types ---- */

static unsigned bytes_of(uint64_t limit)
{
    unsigned n = 1;
    while (limit >>= 8)
        n++;
    return n;
}

/* The array's size must be the product of the dimensions and the base's size. */
static int check_array(const struct bkt_h5type *t, struct bkt_err *err)
{
    uint64_t bytes = t->base->size;
    for (unsigned i = 0; i < t->rank; i++)
        BKT_FAIL_IF(err, t->dims[i] == 0 || !bkt_mul_u64(bytes, t->dims[i], &bytes), BKT_EFORMAT,
                    "the encoded datatype has an array with a dimension of 0, or too many elements");
    BKT_FAIL_IF(err, t->rank == 0 || t->rank > BKT_MAX_RANK || bytes != t->size, BKT_EFORMAT,
                "the encoded datatype has an array of %u dimensions whose size is not that of its elements",
                t->rank);
    return BKT_OK;
}

/* In version 1 a member may be an array by itself. */
static int old_array(struct bkt_h5type **type, const struct bkt_h5type *dims, struct bkt_err *err)
{
    uint64_t bytes = (*type)->size;
    for (unsigned i = 0; i < dims->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(bytes, dims->dims[i], &bytes) || bytes > UINT32_MAX, BKT_EFORMAT,
                    "the encoded datatype has an array of too many elements");
    struct bkt_h5type *a = calloc(1, sizeof *a);
    BKT_NEED(err, a);
    *a = *dims;
    a->cls = BKT_H5_ARRAY;
    a->size = (size_t)bytes;
    a->base = *type;
    *type = a;
    return check_array(a, err);
}

static int take_old_dims(struct bkt_rd *r, struct bkt_h5type *dims, struct bkt_err *err)
{
    dims->rank = (unsigned)bkt_rd_le(r, 1);
    (void)bkt_rd_take(r, 11); /* reserved, and a permutation that was never used */
    for (unsigned i = 0; i < 4; i++)
        dims->dims[i] = (uint32_t)bkt_rd_le(r, 4);
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, dims->rank > 4, BKT_EFORMAT, "the encoded datatype has a member of %u dimensions",
                dims->rank);
    return BKT_OK;
}

static int member(struct bkt_rd *r, const struct head *h, const struct bkt_h5type *t, struct bkt_h5member *m,
                  struct bkt_err *err)
{
    struct bkt_h5type dims = {.rank = 0};
    BKT_PASS(take_name(r, h, &m->name, err));
    m->offset = (size_t)bkt_rd_le(r, h->version >= 3 ? bytes_of(t->size) : 4);
    if (h->version == 1)
        BKT_PASS(take_old_dims(r, &dims, err));
    BKT_PASS(parse(r, h->depth + 1, &m->type, err));
    if (dims.rank)
        BKT_PASS(old_array(&m->type, &dims, err));
    BKT_FAIL_IF(err, m->offset > t->size || m->type->size > t->size - m->offset, BKT_EFORMAT,
                "the encoded datatype has a member \"%.60s\" that lies outside of it", m->name);
    return BKT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct bkt_h5member *const *x = a, *const *y = b;
    return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

const struct bkt_h5member **bkt_h5members_by_offset(const struct bkt_h5type *t)
{
    const struct bkt_h5member **m = calloc(t->n_members + 1, sizeof(void *));
    for (size_t i = 0; m && i < t->n_members; i++)
        m[i] = &t->members[i];
    if (m)
        qsort(m, t->n_members, sizeof(void *), by_offset);
    return m;
}

static int no_overlaps(const struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) const struct bkt_h5member **m = bkt_h5members_by_offset(t);
    BKT_NEED(err, m);
    for (size_t i = 1; i < t->n_members; i++)
        BKT_FAIL_IF(err, m[i]->offset < m[i - 1]->offset + m[i - 1]->type->size, BKT_EFORMAT,
                    "the encoded datatype has members \"%.60s\" and \"%.60s\" that overlap", m[i - 1]->name,
                    m[i]->name);
    return BKT_OK;
}

/* A member takes 13 bytes at least, so more members than the bytes can hold are refused. */
static int make_members(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    size_t n = h->flags & 0xffff;
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT,
                "the encoded datatype has a compound or an enumeration without members");
    if (n > bkt_rd_left(r))
        return cut_off(err);
    t->members = calloc(n, sizeof *t->members);
    BKT_NEED(err, t->members);
    t->n_members = n;
    return BKT_OK;
}

static int compound(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_PASS(make_members(r, h, t, err));
    for (size_t i = 0; i < t->n_members; i++)
        BKT_PASS(member(r, h, t, &t->members[i], err));
    BKT_PASS(no_twins(t, err));
    return no_overlaps(t, err);
}

static int enumeration(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    BKT_PASS(parse(r, h->depth + 1, &t->base, err));
    BKT_FAIL_IF(err, t->base->cls != BKT_H5_INTEGER || t->base->size != t->size, BKT_EFORMAT,
                "the encoded datatype has an enumeration of another size than its integers");
    BKT_PASS(make_members(r, h, t, err));
    for (size_t i = 0; i < t->n_members; i++)
        BKT_PASS(take_name(r, h, &t->members[i].name, err));
    BKT_PASS(no_twins(t, err));
    for (size_t i = 0; i < t->n_members; i++) {
        const void *value = bkt_rd_take(r, t->size);
        if (!value)
            return cut_off(err);
        t->members[i].value = malloc(t->size);
        BKT_NEED(err, t->members[i].value);
        memcpy(t->members[i].value, value, t->size);
    }
    return BKT_OK;
}

static int vlen(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    unsigned kind = h->flags & 0xf;
    BKT_FAIL_IF(err, kind > 1, BKT_EFORMAT, "the encoded datatype has a sequence of kind %u", kind);
    t->var_string = kind == 1;
    if (t->var_string)
        BKT_PASS(text_form(h->flags >> 4 & 0xf, h->flags >> 8 & 0xf, t, err));
    BKT_PASS(parse(r, h->depth + 1, &t->base, err));
    BKT_FAIL_IF(err, t->var_string && t->base->size != 1, BKT_EFORMAT,
                "the encoded datatype has a string of characters of %zu bytes", t->base->size);
    return BKT_OK;
}

static int array(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err)
{
    t->rank = (unsigned)bkt_rd_le(r, 1);
    BKT_FAIL_IF(err, r->ok && t->rank > BKT_MAX_RANK, BKT_EFORMAT,
                "the encoded datatype has an array of %u dimensions", t->rank);
    if (h->version < 3)
        (void)bkt_rd_take(r, 3);
    for (unsigned i = 0; r->ok && i < t->rank; i++)
        t->dims[i] = (uint32_t)bkt_rd_le(r, 4);
    if (h->version < 3)
        (void)bkt_rd_take(r, (size_t)t->rank * 4); /* a permutation that was never used */
    if (!r->ok)
        return cut_off(err);
    BKT_PASS(parse(r, h->depth + 1, &t->base, err));
    return check_array(t, err);
}

typedef int class_fn(struct bkt_rd *r, const struct head *h, struct bkt_h5type *t, struct bkt_err *err);

static int parse(struct bkt_rd *r, unsigned depth, struct bkt_h5type **out, struct bkt_err *err)
{
    static class_fn *const classes[] = {
        [BKT_H5_INTEGER] = integer,   [BKT_H5_FLOAT] = real,          [BKT_H5_TIME] = time_value,
        [BKT_H5_STRING] = string,     [BKT_H5_BITFIELD] = take_bits,  [BKT_H5_OPAQUE] = opaque,
        [BKT_H5_COMPOUND] = compound, [BKT_H5_REFERENCE] = reference, [BKT_H5_ENUM] = enumeration,
        [BKT_H5_VLEN] = vlen,         [BKT_H5_ARRAY] = array};
    BKT_FAIL_IF(err, depth >= BKT_TYPE_DEPTH, BKT_EFORMAT, "the encoded datatype nests deeper than %d levels",
                BKT_TYPE_DEPTH);
    uint32_t word = (uint32_t)bkt_rd_le(r, 4);
    size_t size = (size_t)bkt_rd_le(r, 4);
    struct head h = {word >> 4 & 0xf, word >> 8, depth};
    unsigned cls = word & 0xf;
    if (!r->ok)
        return cut_off(err);
    BKT_FAIL_IF(err, h.version < 1 || h.version > 4 || cls >= BKT_COUNT(classes), BKT_EUNSUP,
                "the encoded datatype has a part of class %u, version %u, which is unknown here", cls,
                h.version);
    BKT_FAIL_IF(err, size == 0, BKT_EFORMAT, "the encoded datatype has a part of 0 bytes");
    struct bkt_h5type *t = *out = calloc(1, sizeof *t);
    BKT_NEED(err, t);
    t->cls = (enum bkt_h5_class)cls;
    t->size = size;
    return classes[cls](r, &h, t, err);
}

int bkt_h5type_parse(const void *p, size_t n, struct bkt_h5type **out, struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(p, n);
    *out = NULL;
    BKT_FAIL_IF(err, bkt_rd_le(&r, 1) != MESSAGE || bkt_rd_le(&r, 1) != 0 || !r.ok, BKT_EFORMAT,
                "the bytes are not a datatype as HDF5 encodes it");
    return parse(&r, 0, out, err);
}

void bkt_h5type_free(struct bkt_h5type *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_members; i++) {
        free(t->members[i].name);
        free(t->members[i].value);
        bkt_h5type_free(t->members[i].type);
    }
    free(t->members);
    free(t->tag);
    bkt_h5type_free(t->base);
    free(t);
}

bool bkt_h5type_has_pointers(const struct bkt_h5type *t)
{
    if (t->cls == BKT_H5_VLEN || t->cls == BKT_H5_REFERENCE || (t->base && bkt_h5type_has_pointers(t->base)))
        return true;
    for (size_t i = 0; i < t->n_members; i++)
        if (t->members[i].type && bkt_h5type_has_pointers(t->members[i].type))
            return true;
    return false;
}
