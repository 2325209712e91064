/* Values: JSON -> stored form (model.h).
 *
 * The JSON is written by programs that use numpy, so it is looser than its type.  A scalar may be a list of
 * one, an empty string or sequence the number 0, an enum true or false, a float an integer or a word.  Binary
 * data may be base64 of the stored form.  A value that doesn't fit its type is an error, and is never cut or
 * clamped. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "schema/json/schema_json.h"

typedef int encode_fn(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err);
static encode_fn encode;

static int grow(struct bkt_buf *out, size_t n, unsigned char **at, struct bkt_err *err)
{
    size_t was = out->len;
    BKT_FAIL_IF(err, n > BKT_VALUE_MAX || was > BKT_VALUE_MAX - n, BKT_EFORMAT,
                "the value has more than %u MiB", BKT_VALUE_MAX >> 20);
    BKT_PASS_MEM(err, bkt_buf_resize(out, was + n));
    *at = out->ptr + was;
    return BKT_OK;
}

static void put_number(const struct bkt_type *t, unsigned char *at, uint64_t bits)
{
    if (t->big_endian)
        bkt_put_be(at, (unsigned)t->size, bits);
    else
        bkt_put_le(at, (unsigned)t->size, bits);
}

/* ---- numbers ---- */

static int encode_integer(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_num v;
    unsigned char *at;
    if (json_is_boolean(j))
        v = (struct bkt_num){.kind = BKT_NUM_INT, .mag = json_is_true(j)};
    else if (!bkt_json_num(j, &v))
        BKT_FAIL(err, BKT_EFORMAT, "a value of integer type is not a number");
    if (v.kind == BKT_NUM_REAL) {
        BKT_FAIL_IF(err, !(fabs(v.real) < 18446744073709551616.0) || v.real != trunc(v.real), BKT_EFORMAT,
                    "%g is not a value of an integer type", v.real);
        v.neg = v.real < 0;
        v.mag = (uint64_t)fabs(v.real);
    }
    unsigned bits = (unsigned)t->size * 8 - t->is_signed;
    uint64_t max  = UINT64_MAX >> (64 - bits);
    BKT_FAIL_IF(err, v.huge || (v.neg && v.mag ? !t->is_signed || v.mag - 1 > max : v.mag > max), BKT_EFORMAT,
                "%s%" PRIu64 "%s does not fit a%s integer of %zu bytes", v.neg ? "-" : "", v.mag,
                v.huge ? " or more" : "", t->is_signed ? " signed" : "n unsigned", t->size);
    BKT_PASS(grow(out, t->size, &at, err));
    put_number(t, at, v.neg ? -v.mag : v.mag);
    return BKT_OK;
}

static bool float_of(const json_t *j, double *out)
{
    struct bkt_num v;
    if (json_is_boolean(j)) {
        *out = json_is_true(j);
        return true;
    }
    if (bkt_json_num(j, &v)) {
        *out = v.real;
        return true;
    }
    return json_is_string(j) && bkt_json_strtod(json_string_value(j), out); /* "nan", "-inf" */
}

static int encode_float(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    double d;
    unsigned char *at;
    BKT_FAIL_IF(err, !float_of(j, &d), BKT_EFORMAT, "a value of float type is not a number");
    BKT_PASS(grow(out, t->size, &at, err));
    put_number(t, at, bkt_bits_of_real(d, t->size));
    return BKT_OK;
}

/* ---- text and bytes ---- */

static bool is_zero(const json_t *j) { return json_is_integer(j) && json_integer_value(j) == 0; }

/* A count of bytes, to be patched by end_var() when they are there. */
static int begin_var(struct bkt_buf *out, size_t *count_at, struct bkt_err *err)
{
    unsigned char *at;
    *count_at = out->len;
    return grow(out, 4, &at, err);
}
static int end_var(struct bkt_buf *out, size_t count_at, struct bkt_err *err)
{
    size_t n = out->len - count_at - 4;
    BKT_FAIL_IF(err, n > INT32_MAX, BKT_EFORMAT, "a variable-length element takes %zu bytes", n);
    bkt_put_le(out->ptr + count_at, 4, n);
    return BKT_OK;
}

/* n bytes as one element: of fixed size with padding, or with their count. */
static int put_bytes(const struct bkt_type *t, const void *p, size_t n, struct bkt_buf *out,
                     struct bkt_err *err)
{
    unsigned char *at;
    size_t         count_at;
    if (t->is_var) {
        BKT_PASS(begin_var(out, &count_at, err));
        BKT_PASS(grow(out, n, &at, err));
        if (n)
            memcpy(at, p, n);
        return end_var(out, count_at, err);
    }
    BKT_FAIL_IF(err, n > t->size, BKT_EFORMAT, "%zu bytes of text do not fit %zu", n, t->size);
    BKT_PASS(grow(out, t->size, &at, err));
    if (n)
        memcpy(at, p, n);
    memset(at + n, t->cls == BKT_T_STRING && t->strpad == BKT_STR_SPACEPAD ? ' ' : 0, t->size - n);
    return BKT_OK;
}

/* Strings, opaque data and object references are text in JSON; 0 and null mean an empty one. */
static int encode_text(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    struct bkt_id id;
    if (!is_zero(j) && !json_is_null(j)) {
        BKT_FAIL_IF(err, !bkt_json_is_text(j), BKT_EFORMAT, "a value of %s type is not a string",
                    t->cls == BKT_T_STRING   ? "string"
                    : t->cls == BKT_T_OPAQUE ? "opaque"
                                             : "reference");
        BKT_PASS_MEM(err, bkt_json_text(j, &text));
    }
    if (t->cls == BKT_T_OBJREF)
        BKT_PASS(bkt_ref_parse(text.ptr, text.len, &id, err));
    return put_bytes(t, text.ptr, text.len, out, err);
}

/* HSDS 1.0 writes a region as an object; it is kept as its JSON text (reference_text.h). */
static int encode_region(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    if (!json_is_object(j))
        return encode_text(t, j, out, err);
    BKT_CLEANUP(bkt_freep) char *text = json_dumps(j, JSON_COMPACT);
    BKT_NEED(err, text);
    return put_bytes(t, text, strlen(text), out, err);
}

/* ---- composites ---- */

static int encode_enum(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    if (!json_is_string(j) || !bkt_json_is_text(j))
        return encode_integer(t->base, j, out, err);
    BKT_CLEANUP(bkt_freep) char *name = NULL;
    unsigned char               *at;
    BKT_PASS(bkt_json_dup(j, "enum value", &name, err));
    for (size_t i = 0; i < t->n_members; i++)
        if (strcmp(t->members[i].name, name) == 0) {
            BKT_PASS(grow(out, t->size, &at, err));
            put_number(t, at, (uint64_t)t->members[i].value);
            return BKT_OK;
        }
    BKT_FAIL(err, BKT_EFORMAT, "\"%.60s\" is not a member of the enum type", name);
}

static int encode_vlen(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    size_t count_at;
    BKT_PASS(begin_var(out, &count_at, err));
    BKT_FAIL_IF(err, !json_is_array(j) && !is_zero(j) && !json_is_null(j), BKT_EFORMAT,
                "a value of variable-length type is not a list");
    for (size_t i = 0; i < json_array_size(j); i++)
        BKT_PASS(encode(t->base, json_array_get(j, i), out, err));
    return end_var(out, count_at, err);
}

static int encode_compound(const struct bkt_type *t, const json_t *j, struct bkt_buf *out,
                           struct bkt_err *err)
{
    BKT_FAIL_IF(err, !json_is_object(j) && json_array_size(j) != t->n_fields, BKT_EFORMAT,
                "a compound of %zu fields is stored as %s (%zu entries)", t->n_fields,
                json_is_array(j) ? "a list" : "another JSON value", json_array_size(j));
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct bkt_field *f = &t->fields[i];
        const json_t           *v = json_is_object(j) ? json_object_get(j, f->name) : json_array_get(j, i);
        BKT_FAIL_IF(err, !v, BKT_EFORMAT, "compound field \"%s\" has no value", f->name);
        BKT_TRY(err, encode(f->type, v, out, err), "compound field \"%s\"", f->name);
    }
    return BKT_OK;
}

/* Nested lists of the given extent around elements of type t. */
static int encode_nested(const struct bkt_type *t, const uint64_t *dims, unsigned rank, const json_t *j,
                         struct bkt_buf *out, struct bkt_err *err)
{
    if (rank == 0)
        return encode(t, j, out, err);
    BKT_FAIL_IF(err, !json_is_array(j) || json_array_size(j) != dims[0], BKT_EFORMAT,
                "%s (%zu entries) instead of a list of %" PRIu64 " values",
                json_is_array(j) ? "a list" : "another JSON value", json_array_size(j), dims[0]);
    for (size_t i = 0; i < json_array_size(j); i++)
        BKT_PASS(encode_nested(t, dims + 1, rank - 1, json_array_get(j, i), out, err));
    return BKT_OK;
}

/* Whether one element of this type is a list in JSON. */
static bool is_list_type(const struct bkt_type *t)
{
    return t->cls == BKT_T_COMPOUND || t->cls == BKT_T_VLEN || t->cls == BKT_T_ARRAY;
}

/* Some writers give the elements of a multi-dimensional value in one flat list. */
static bool is_flat(const struct bkt_type *t, unsigned rank, uint64_t n, const json_t *j)
{
    return rank > 1 && !is_list_type(t) && json_array_size(j) == n && n &&
           !json_is_array(json_array_get(j, 0));
}

static int encode_array(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    if (is_flat(t->base, t->rank, t->n_elems, j))
        return encode_nested(t->base, &t->n_elems, 1, j, out, err);
    return encode_nested(t->base, t->dims, t->rank, j, out, err);
}

static int encode(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    static encode_fn *const by_class[] = {
        [BKT_T_INTEGER] = encode_integer, [BKT_T_FLOAT] = encode_float,       [BKT_T_STRING] = encode_text,
        [BKT_T_VLEN] = encode_vlen,       [BKT_T_COMPOUND] = encode_compound, [BKT_T_ARRAY] = encode_array,
        [BKT_T_ENUM] = encode_enum,       [BKT_T_OPAQUE] = encode_text,       [BKT_T_OBJREF] = encode_text,
        [BKT_T_REGREF] = encode_region,
    };
    encode_fn *fn = (size_t)t->cls < BKT_COUNT(by_class) ? by_class[t->cls] : NULL;
    BKT_FAIL_IF(err, !fn, BKT_EUNSUP, "values of this type have no JSON form");
    return fn(t, j, out, err);
}

/* ---- whole values ---- */

/* A scalar may be wrapped into a list of one; if an element is a list itself, look inside. */
static const json_t *unwrap_scalar(const struct bkt_type *t, const json_t *j)
{
    const json_t *only = json_array_size(j) == 1 ? json_array_get(j, 0) : NULL;
    if (!only)
        return j;
    switch (t->cls) {
    case BKT_T_COMPOUND:
        return json_is_array(only) && (t->n_fields > 1 || !is_list_type(t->fields[0].type)) ? only : j;
    case BKT_T_ARRAY:
        return json_is_array(only) && (t->dims[0] > 1 || (t->rank == 1 && !is_list_type(t->base))) ? only : j;
    case BKT_T_VLEN: return json_is_array(only) && !is_list_type(t->base) ? only : j;
    default: return only;
    }
}

static int decode_base64(const struct bkt_type *t, uint64_t n, const json_t *j, struct bkt_buf *out,
                         struct bkt_err *err)
{
    size_t was = out->len;
    BKT_FAIL_IF(err, !json_is_string(j) || !bkt_json_is_text(j), BKT_EFORMAT,
                "encoding is base64, but the value is not a string");
    BKT_PASS(bkt_json_base64(j, "the value", out, err));
    struct bkt_rd r = bkt_rd_of(out->ptr + was, out->len - was);
    BKT_FAIL_IF(err, !t->is_var && (t->size == 0 || n > bkt_rd_left(&r) / t->size), BKT_EFORMAT,
                "the value has %zu bytes, too few for %" PRIu64 " elements of %zu bytes", bkt_rd_left(&r), n,
                t->size);
    if (!t->is_var)
        return bkt_buf_resize(out, was + (size_t)n * t->size);
    for (uint64_t i = 0; i < n; i++)
        BKT_PASS(bkt_value_skip(t, &r, 0, err));
    /* HSDS leaves zeros behind arrays of variable-length strings */
    return bkt_buf_resize(out, out->len - bkt_rd_left(&r));
}

int bkt_value_parse(const struct bkt_type *type, const struct bkt_space *space, const json_t *value,
                    const char *encoding, struct bkt_buf *out, struct bkt_err *err)
{
    uint64_t n;
    BKT_PASS(bkt_space_count(space, &n, err));
    if (n == 0)
        return bkt_buf_resize(out, out->len);
    if (encoding && strcasecmp(encoding, "base64") == 0)
        return decode_base64(type, n, value, out, err);
    if (space->rank == 0)
        return encode(type, unwrap_scalar(type, value), out, err);
    if (is_flat(type, space->rank, n, value))
        return encode_nested(type, &n, 1, value, out, err);
    if (n == 1 && !json_is_array(value))
        return encode(type, value, out, err);
    return encode_nested(type, space->dims, space->rank, value, out, err);
}
