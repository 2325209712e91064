/* See zarr_type.h. */
#include "tools/kerchunk/zarr_type.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text/utf8.h"
#include "samples/numpy_type.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

#define REMEDY "write the array with another dtype, and make the references again"

static int parse(const struct kerchunk_doc *d, unsigned depth, struct kerchunk_type *out,
                 struct bkt_err *err);

void kerchunk_type_fini(struct kerchunk_type *t)
{
    bkt_hid_closep(&t->h5);
}

struct letter { /* of a dtype's text, taken apart */
    bool big;
    char kind;
    uint64_t n;
    const char *rest;
};

/* ---- the types of one letter ---- */

static hid_t make_number(const struct letter *l, struct kerchunk_type *out)
{
    (void)out;
    return l->n > (l->kind == 'c' ? 16 : 8)
               ? H5I_INVALID_HID
               : bkt_numpy_of_letter(l->kind, l->n, l->big ? H5T_ORDER_BE : H5T_ORDER_LE);
}

static hid_t text_type(uint64_t n, H5T_cset_t set)
{
    hid_t t = n <= KERCHUNK_TYPE_MAX ? H5Tcopy(H5T_C_S1) : H5I_INVALID_HID;
    if (t >= 0 &&
        (H5Tset_size(t, n ? n : 1) < 0 || H5Tset_strpad(t, H5T_STR_NULLPAD) < 0 || H5Tset_cset(t, set) < 0))
        bkt_hid_closep(&t);
    return t;
}

static hid_t make_bytes(const struct letter *l, struct kerchunk_type *out)
{
    (void)out;
    return l->n ? text_type(l->n, H5T_CSET_ASCII) : H5I_INVALID_HID;
}

static hid_t make_unicode(const struct letter *l, struct kerchunk_type *out)
{
    out->form = KERCHUNK_UTF32;
    out->swap = l->big;
    return l->n && l->n <= KERCHUNK_TYPE_MAX / 4 ? text_type(4 * l->n, H5T_CSET_UTF8) : H5I_INVALID_HID;
}

static hid_t make_opaque(const struct letter *l, struct kerchunk_type *out)
{
    (void)out;
    return l->n && l->n <= KERCHUNK_TYPE_MAX ? H5Tcreate(H5T_OPAQUE, l->n) : H5I_INVALID_HID;
}

static hid_t make_object(const struct letter *l, struct kerchunk_type *out)
{
    (void)l;
    hid_t t = H5Tcopy(H5T_C_S1);
    out->form = KERCHUNK_VLEN_UTF8;
    if (t >= 0 && (H5Tset_size(t, H5T_VARIABLE) < 0 || H5Tset_cset(t, H5T_CSET_UTF8) < 0))
        bkt_hid_closep(&t);
    return t;
}

static const struct {
    const char *numpy, *cf;
} units[] = {{"[D]", "days"},          {"[h]", "hours"},         {"[m]", "minutes"},     {"[s]", "seconds"},
             {"[ms]", "milliseconds"}, {"[us]", "microseconds"}, {"[ns]", "nanoseconds"}};

static hid_t make_time(const struct letter *l, struct kerchunk_type *out)
{
    out->datetime = l->kind == 'M';
    for (size_t i = 0; i < BKT_COUNT(units); i++)
        if (strcmp(units[i].numpy, l->rest) == 0)
            out->units = units[i].cf;
    return l->n == 8 ? bkt_numpy_of_letter('i', 8, l->big ? H5T_ORDER_BE : H5T_ORDER_LE) : H5I_INVALID_HID;
}

static const struct {
    char kind;
    hid_t (*make)(const struct letter *l, struct kerchunk_type *out); /* negative: no such type */
    bool units;                                                 /* text may follow */
} kinds[] = {
    {'b', make_number, false},  {'i', make_number, false}, {'u', make_number, false},
    {'f', make_number, false},  {'c', make_number, false}, {'S', make_bytes, false},
    {'U', make_unicode, false}, {'V', make_opaque, false}, {'O', make_object, false},
    {'M', make_time, true},     {'m', make_time, true},
};

static bool take_apart(const char *text, struct letter *l)
{
    char *end = NULL;
    *l = (struct letter){.big = *text == '>'};
    text += *text && strchr("<>|=", *text);
    l->kind = *text;
    if (!l->kind)
        return false;
    text++;
    l->n = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    l->rest = isdigit((unsigned char)*text) ? end : text;
    return true;
}

static int parse_text(const char *text, struct kerchunk_type *out, struct bkt_err *err)
{
    struct letter l;
    if (take_apart(text, &l))
        for (size_t i = 0; i < BKT_COUNT(kinds); i++)
            if (kinds[i].kind == l.kind && (kinds[i].units || !*l.rest))
                out->h5 = kinds[i].make(&l, out);
    (void)H5Eclear2(H5E_DEFAULT);
    BKT_FAIL_IF(err, out->h5 < 0, BKT_EUNSUP, "dtype %.60s has no type in HDF5; " REMEDY, text);
    out->size = out->form == KERCHUNK_UTF32       ? (size_t)(4 * l.n)
                : out->form == KERCHUNK_VLEN_UTF8 ? 0
                                                  : H5Tget_size(out->h5);
    return BKT_OK;
}

/* ---- compounds ---- */

/* A member's dtype, with its own shape if it has one. */
static int member_type(const struct kerchunk_doc *m, unsigned depth, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(kerchunk_type_fini) struct kerchunk_type t = {.h5 = H5I_INVALID_HID};
    const struct kerchunk_doc *sub = m->first->next->next;
    hsize_t dims[H5S_MAX_RANK];
    unsigned n = 0;
    BKT_PASS(parse(m->first->next, depth + 1, &t, err));
    BKT_FAIL_IF(err, t.form != KERCHUNK_AS_IS, BKT_EUNSUP,
                "dtype: member %.60s is text of another form in HDF5; " REMEDY, m->first->text);
    for (const struct kerchunk_doc *d = sub ? sub->first : NULL; d; d = d->next, n++)
        BKT_FAIL_IF(err,
                    n >= H5S_MAX_RANK || !kerchunk_doc_size(d, &dims[n]) || dims[n] == 0 ||
                        dims[n] > KERCHUNK_TYPE_MAX,
                    BKT_EFORMAT, "dtype: member %.60s has an impossible shape", m->first->text);
    uint64_t size = t.size;
    for (unsigned i = 0; i < n; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(size, dims[i], &size) || size > KERCHUNK_TYPE_MAX, BKT_EUNSUP,
                    "dtype: more than %zu bytes in an element", KERCHUNK_TYPE_MAX);
    *out = n ? H5Tarray_create2(t.h5, n, dims) : H5Tcopy(t.h5);
    return *out < 0 ? h5_fail(err, "making a type") : BKT_OK;
}

static int add_member(const struct kerchunk_doc *m, unsigned depth, hid_t compound, size_t at, size_t *size,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t t = H5I_INVALID_HID;
    BKT_FAIL_IF(err,
                m->kind != KERCHUNK_LIST || m->n < 2 || m->n > 3 || m->first->kind != KERCHUNK_TEXT ||
                    !*m->first->text || (m->n == 3 && m->first->next->next->kind != KERCHUNK_LIST),
                BKT_EFORMAT, "dtype: a member that is not [name, dtype] or [name, dtype, shape]");
    BKT_PASS(member_type(m, depth, &t, err));
    *size = H5Tget_size(t);
    BKT_FAIL_IF(err, at + *size > KERCHUNK_TYPE_MAX, BKT_EUNSUP, "dtype: more than %zu bytes in an element",
                KERCHUNK_TYPE_MAX);
    if (compound >= 0 && H5Tinsert(compound, m->first->text, at, t) < 0)
        return h5_fail(err, "making a compound type");
    return BKT_OK;
}

static int parse_members(const struct kerchunk_doc *d, unsigned depth, struct kerchunk_type *out,
                         struct bkt_err *err)
{
    size_t total = 0, at = 0, size = 0;
    if (d->n > UINT16_MAX) /* also in HDF5's files; each new member is compared with all others */
        BKT_FAIL(err, BKT_EUNSUP, "dtype: more than %d members; " REMEDY, UINT16_MAX);
    for (const struct kerchunk_doc *m = d->first; m; m = m->next, total += size)
        BKT_PASS(add_member(m, depth, H5I_INVALID_HID, total, &size, err));
    BKT_FAIL_IF(err, !total, BKT_EFORMAT, "dtype: no members");
    out->h5 = H5Tcreate(H5T_COMPOUND, total);
    out->size = total;
    if (out->h5 < 0)
        return h5_fail(err, "making a compound type");
    for (const struct kerchunk_doc *m = d->first; m; m = m->next, at += size)
        BKT_PASS(add_member(m, depth, out->h5, at, &size, err));
    return BKT_OK;
}

static int parse(const struct kerchunk_doc *d, unsigned depth, struct kerchunk_type *out, struct bkt_err *err)
{
    if (d && d->kind == KERCHUNK_TEXT)
        return parse_text(d->text, out, err);
    if (!d || d->kind != KERCHUNK_LIST || depth > 8) /* members are parsed twice per level */
        BKT_FAIL(err, BKT_EFORMAT, "dtype: neither text nor a list of members, or nested more than 8 deep");
    return parse_members(d, depth, out, err);
}

int kerchunk_type_parse(const struct kerchunk_doc *d, struct kerchunk_type *out, struct bkt_err *err)
{
    *out = (struct kerchunk_type){.h5 = H5I_INVALID_HID};
    return parse(d, 0, out, err);
}

/* ---- values ---- */

bool kerchunk_utf32(const unsigned char *p, size_t n, bool swap, char *out, size_t room)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t c = swap ? bkt_get_be(p + 4 * i, 4) : bkt_get_le(p + 4 * i, 4);
        unsigned char u[4];
        if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
            return false;
        size_t k = bkt_utf8_put((uint32_t)c, u);
        if (at + k > room)
            return false;
        memcpy(out + at, u, k);
        at += k;
    }
    memset(out + at, 0, room - at);
    return true;
}

static bool real_of(const struct kerchunk_doc *d, double *out)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; d->kind == KERCHUNK_TEXT && i < BKT_COUNT(words); i++)
        if (strcmp(d->text, words[i].text) == 0) {
            *out = words[i].value;
            return true;
        }
    *out = d->kind == KERCHUNK_BOOL ? (double)d->i : d->real;
    return d->kind == KERCHUNK_INT || d->kind == KERCHUNK_REAL || d->kind == KERCHUNK_BOOL;
}

/* To the type and back: equal, or the value doesn't fit. */
static bool convert_exact(hid_t from, hid_t type, const void *value, size_t n, unsigned char *buf)
{
    unsigned char back[32];
    memcpy(buf, value, n);
    if (H5Tconvert(from, type, 1, buf, NULL, H5P_DEFAULT) < 0)
        return false;
    memcpy(back, buf, sizeof back);
    return H5Tconvert(type, from, 1, back, NULL, H5P_DEFAULT) >= 0 && memcmp(back, value, n) == 0;
}

bool kerchunk_type_number(hid_t type, const struct kerchunk_doc *d, void *out)
{
    unsigned char buf[32] = {0};
    double x;
    H5T_class_t cls = H5Tget_class(type);
    const hid_t from = d->is_u64 ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    const void *whole = d->is_u64 ? (const void *)&d->u : (const void *)&d->i;
    if (H5Tget_size(type) > 8 || !real_of(d, &x))
        return false;
    if (cls == H5T_FLOAT && d->kind != KERCHUNK_INT) {
        memcpy(buf, &x, sizeof x);
        if (H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, buf, NULL, H5P_DEFAULT) < 0)
            return false;
    } else if (d->kind == KERCHUNK_REAL || d->kind == KERCHUNK_TEXT) {
        if (!(fabs(x) < 0x1p63) || x != trunc(x)) /* NOLINT: exact on purpose */
            return false;
        int64_t i = (int64_t)x;
        if (!convert_exact(H5T_NATIVE_INT64, type, &i, sizeof i, buf))
            return false;
    } else if (cls == H5T_FLOAT) {
        memcpy(buf, whole, 8);
        if (H5Tconvert(from, type, 1, buf, NULL, H5P_DEFAULT) < 0)
            return false;
    } else if (!convert_exact(from, type, whole, 8, buf)) {
        return false;
    }
    memcpy(out, buf, H5Tget_size(type));
    return true;
}

static int fill_bytes(const struct kerchunk_type *t, const struct kerchunk_doc *fill, struct bkt_buf *out,
                      struct bkt_err *err)
{
    size_t size = H5Tget_size(t->h5);
    BKT_FAIL_IF(err,
                t->form == KERCHUNK_UTF32 ? bkt_buf_add_str(out, fill->text) < 0
                                          : bkt_base64_decode(fill->text, strlen(fill->text), out) < 0,
                BKT_EFORMAT, "fill_value: not base64");
    BKT_FAIL_IF(err, out->len > size || (out->len < size && H5Tget_class(t->h5) != H5T_STRING), BKT_EFORMAT,
                "fill_value: %zu bytes for an element of %zu", out->len, size);
    size_t had = out->len;
    BKT_PASS_MEM(err, bkt_buf_resize(out, size));
    memset(out->ptr + had, 0, size - had);
    return BKT_OK;
}

/* A number, or the two of a complex value. */
static int fill_numbers(const struct kerchunk_type *t, const struct kerchunk_doc *fill, struct bkt_buf *out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t part = H5I_INVALID_HID;
    size_t size = H5Tget_size(t->h5);
    H5T_class_t cls = H5Tget_class(t->h5);
    BKT_PASS_MEM(err, bkt_buf_resize(out, size));
    memset(out->ptr, 0, size);
    if (cls == H5T_INTEGER || cls == H5T_FLOAT) {
        if (kerchunk_type_number(t->h5, fill, out->ptr))
            return BKT_OK;
    } else if (cls == H5T_ENUM && (fill->kind == KERCHUNK_BOOL || fill->kind == KERCHUNK_INT) &&
               fill->i >= 0 && fill->i <= 1) {
        out->ptr[0] = (unsigned char)fill->i;
        return BKT_OK;
    } else if (cls == H5T_COMPOUND && fill->kind == KERCHUNK_LIST && fill->n == 2) {
        part = H5Tget_member_type(t->h5, 0);
        bool pair =
            H5Tget_nmembers(t->h5) == 2 && H5Tget_class(part) == H5T_FLOAT && 2 * H5Tget_size(part) == size;
        if (pair && kerchunk_type_number(part, fill->first, out->ptr) &&
            kerchunk_type_number(part, fill->first->next, out->ptr + size / 2))
            return BKT_OK;
    } else if (fill->kind == KERCHUNK_INT && fill->i == 0 && !fill->is_u64) {
        return BKT_OK;
    }
    BKT_FAIL(err, BKT_EFORMAT, "fill_value: not a value of the dtype");
}

int kerchunk_type_fill(const struct kerchunk_type *t, const struct kerchunk_doc *fill, struct bkt_buf *out,
                       struct bkt_err *err)
{
    H5T_class_t cls = H5Tget_class(t->h5);
    bkt_buf_clear(out);
    if (!fill || fill->kind == KERCHUNK_NULL)
        return BKT_OK;
    if (t->form == KERCHUNK_VLEN_UTF8) {
        BKT_FAIL_IF(
            err, fill->kind == KERCHUNK_TEXT ? *fill->text != 0 : fill->kind != KERCHUNK_INT || fill->i != 0,
            BKT_EUNSUP,
            "fill_value of strings of variable length; write the array with fill_value \"\" or null");
        return BKT_OK;
    }
    bool bytes = fill->kind == KERCHUNK_TEXT && cls != H5T_INTEGER && cls != H5T_FLOAT && cls != H5T_ENUM;
    BKT_PASS(bytes ? fill_bytes(t, fill, out, err) : fill_numbers(t, fill, out, err));
    for (size_t i = 0; i < out->len; i++)
        if (out->ptr[i])
            return BKT_OK;
    bkt_buf_clear(out);
    return BKT_OK;
}
