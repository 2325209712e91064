/* Values: stored form (model.h) -> JSON, as HSDS writes them in attributes.
 *
 * JSON can't express everything: bytes that aren't UTF-8, a NaN's sign and payload, a reference that is not
 * an id.  A value with such an element is stored as base64 of its bytes.  All other values come back from
 * their JSON byte by byte (value_read.c). */
#include <math.h>
#include <string.h>

#include "base/text/utf8.h"
#include "schema/json/reference_text.h"
#include "schema/json/schema_json.h"

/* Elements that are read from their stored form. */
struct stored {
    struct bkt_rd rd;
    bool near; /* a NaN may lose its sign and payload */
};

/* Reads the next element into JSON.  BKT_EFORMAT: JSON doesn't have it. */
typedef int decode_fn(const struct bkt_type *t, struct stored *s, json_t **out);
static decode_fn decode;

static uint64_t take_bits(const struct bkt_type *t, struct stored *s)
{
    return t->big_endian ? bkt_rd_be(&s->rd, (unsigned)t->size) : bkt_rd_le(&s->rd, (unsigned)t->size);
}

static int decode_integer(const struct bkt_type *t, struct stored *s, json_t **out)
{
    uint64_t v = take_bits(t, s);
    unsigned spare = 64 - (unsigned)t->size * 8;
    if (!t->is_signed)
        return bkt_json_give(bkt_json_new_u64(v), BKT_OK, out);
    return bkt_json_give(json_integer((json_int_t)((int64_t)(v << spare) >> spare)), BKT_OK, out);
}

static int decode_float(const struct bkt_type *t, struct stored *s, json_t **out)
{
    uint64_t bits = take_bits(t, s);
    double d;
    if (!bkt_real_of(bits, t->size, &d) || (isnan(d) && !s->near && bits != bkt_bits_of_real(NAN, t->size)))
        return BKT_EFORMAT;
    return bkt_json_give(bkt_json_new_real(d), BKT_OK, out);
}

/* ---- text and bytes ---- */

static int give_text(const void *p, size_t n, json_t **out)
{
    if (!bkt_utf8_is(p, n))
        return BKT_EFORMAT;
    return bkt_json_give(bkt_json_new_text(p, n), BKT_OK, out);
}

static const unsigned char *take_var(struct stored *s, size_t *n)
{
    *n = (size_t)bkt_rd_le(&s->rd, 4);
    if (!s->rd.ok || *n > INT32_MAX)
        return NULL;
    return bkt_rd_take(&s->rd, *n);
}

static int decode_text(const struct bkt_type *t, struct stored *s, json_t **out)
{
    size_t               n = t->size;
    const unsigned char *p = t->is_var ? take_var(s, &n) : bkt_rd_take(&s->rd, n);
    unsigned char        pad = t->cls == BKT_T_STRING && t->strpad == BKT_STR_SPACEPAD ? ' ' : 0;
    if (!p)
        return BKT_EFORMAT;
    while (!t->is_var && t->cls != BKT_T_OPAQUE && n && p[n - 1] == pad)
        n--;
    return give_text(p, n, out);
}

static int decode_reference(const struct bkt_type *t, struct stored *s, json_t **out)
{
    struct bkt_id id;
    BKT_CLEANUP(bkt_json_decrefp) json_t *text = NULL;
    BKT_PASS(decode_text(t, s, &text));
    if (bkt_ref_parse(json_string_value(text), json_string_length(text), &id, NULL) < 0)
        return BKT_EFORMAT;
    return bkt_json_give(BKT_TAKE(text), BKT_OK, out);
}

/* ---- composites ---- */

static int decode_enum(const struct bkt_type *t, struct stored *s, json_t **out)
{
    return decode_integer(t->base, s, out);
}

/* Lists in lists, as dims requires; UINT64_MAX: until all is read. */
static int decode_nested(const struct bkt_type *t, const uint64_t *dims, unsigned rank, struct stored *s,
                         json_t **out)
{
    if (rank == 0)
        return decode(t, s, out);
    BKT_CLEANUP(bkt_json_decrefp) json_t *list = json_array();
    for (uint64_t i = 0; i < dims[0] && (dims[0] != UINT64_MAX || bkt_rd_left(&s->rd)); i++) {
        json_t *one = NULL;
        BKT_PASS(decode_nested(t, dims + 1, rank - 1, s, &one));
        BKT_PASS(bkt_json_push(list, one));
    }
    return bkt_json_give(BKT_TAKE(list), BKT_OK, out);
}

static int decode_vlen(const struct bkt_type *t, struct stored *s, json_t **out)
{
    size_t               n;
    const unsigned char *p = take_var(s, &n);
    if (!p)
        return BKT_EFORMAT;
    struct stored inside = {bkt_rd_of(p, n), s->near};
    return decode_nested(t->base, &(uint64_t){UINT64_MAX}, 1, &inside, out);
}

static int decode_compound(const struct bkt_type *t, struct stored *s, json_t **out)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *list = json_array();
    for (size_t i = 0; i < t->n_fields; i++) {
        json_t *one = NULL;
        BKT_PASS(decode(t->fields[i].type, s, &one));
        BKT_PASS(bkt_json_push(list, one));
    }
    return bkt_json_give(BKT_TAKE(list), BKT_OK, out);
}

static int decode_array(const struct bkt_type *t, struct stored *s, json_t **out)
{
    return decode_nested(t->base, t->dims, t->rank, s, out);
}

static int decode(const struct bkt_type *t, struct stored *s, json_t **out)
{
    static decode_fn *const by_class[] = {
        [BKT_T_INTEGER] = decode_integer,   [BKT_T_FLOAT] = decode_float,
        [BKT_T_STRING] = decode_text,       [BKT_T_VLEN] = decode_vlen,
        [BKT_T_COMPOUND] = decode_compound, [BKT_T_ARRAY] = decode_array,
        [BKT_T_ENUM] = decode_enum,         [BKT_T_OPAQUE] = decode_text,
        [BKT_T_OBJREF] = decode_reference,  [BKT_T_REGREF] = decode_text,
    };
    decode_fn *fn = (size_t)t->cls < BKT_COUNT(by_class) ? by_class[t->cls] : NULL;
    int rc = fn && s->rd.ok ? fn(t, s, out) : BKT_EFORMAT;
    return rc == BKT_OK && !s->rd.ok ? (json_decref(*out), *out = NULL, BKT_EFORMAT) : rc;
}

/* ---- whole values ---- */

/* A value without elements: as many nested lists as the extent has, as in HSDS, up to 1,000 or 4 KB; for
 * {2^40, 0} one. */
static int decode_nothing(const struct bkt_type *type, const struct bkt_space *space, struct stored *s,
                          json_t **out)
{
    uint64_t lists = 1;
    for (unsigned i = 0; i < space->rank && space->dims[i] && lists <= 1000; i++)
        lists = space->dims[i] > 1000 ? 1001 : lists * space->dims[i];
    return lists > 1000 ? bkt_json_give(json_array(), BKT_OK, out)
                        : decode_nested(type, space->dims, space->rank, s, out);
}

static int emit(const struct bkt_type *type, const struct bkt_space *space, const struct bkt_buf *value,
                json_t **out, bool *base64, struct bkt_err *err)
{
    struct stored s = {.rd = bkt_rd_of(value->ptr, value->len)};
    struct bkt_rd walk = s.rd;
    uint64_t      n;
    json_t       *j = NULL;
    BKT_PASS(bkt_space_count(space, &n, err));
    for (uint64_t i = 0; i < n; i++)
        BKT_PASS(bkt_value_skip(type, &walk, BKT_VAR_NULL, err));
    BKT_FAIL_IF(err, bkt_rd_left(&walk), BKT_EINVAL,
                "a value has %zu bytes more than its type and shape take", bkt_rd_left(&walk));
    int rc = *base64 ? BKT_EFORMAT
             : n     ? decode_nested(type, space->dims, space->rank, &s, &j)
                     : decode_nothing(type, space, &s, &j);
    *base64 = rc == BKT_EFORMAT;
    if (*base64) {
        j  = bkt_json_new_base64(value);
        rc = j ? BKT_OK : BKT_ENOMEM;
    }
    BKT_PASS_MEM(err, rc);
    *out = j;
    return BKT_OK;
}

int bkt_value_emit(const struct bkt_type *type, const struct bkt_space *space, const struct bkt_buf *value,
                   json_t **out, bool *base64, struct bkt_nulls *nulls, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf rest = {0};
    if (!type->is_var || !bkt_value_has_null(type, value->ptr, value->len))
        return emit(type, space, value, out, base64, err);
    BKT_PASS_MEM(err, bkt_buf_add(&rest, value->ptr, value->len));
    BKT_PASS(bkt_nulls_take(type, rest.ptr, rest.len, nulls, err));
    return emit(type, space, &rest, out, base64, err);
}

int bkt_value_emit_near(const struct bkt_type *type, const struct bkt_space *space,
                        const struct bkt_buf *value, json_t **out)
{
    struct stored s = {.rd = bkt_rd_of(value->ptr, value->len), .near = true};
    *out = NULL;
    return decode_nested(type, space->dims, space->rank, &s, out);
}
