/* HDF5's types and fill values as Zarr's. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text/utf8.h"
#include "tools/kerchunk/export/export.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

static int dtype(hid_t type, unsigned depth, struct bkt_buf *out, const char **why, struct bkt_err *err);

/* ---- numbers ---- */

static bool is_full(hid_t type)
{
    size_t n = H5Tget_size(type);
    return H5Tget_precision(type) == 8 * n && H5Tget_offset(type) == 0;
}

static char order_of(hid_t type)
{
    H5T_order_t o = H5Tget_order(type);
    return H5Tget_size(type) == 1 ? '|' : o == H5T_ORDER_LE ? '<' : o == H5T_ORDER_BE ? '>' : 0;
}

/* Whether it is numpy's float of that size. */
static bool is_ieee(hid_t type)
{
    size_t sign, epos, esize, mpos, msize, n = H5Tget_size(type);
    if (H5Tget_fields(type, &sign, &epos, &esize, &mpos, &msize) < 0 || H5Tget_norm(type) != H5T_NORM_IMPLIED)
        return false;
    size_t e = n == 2 ? 5 : n == 4 ? 8 : n == 8 ? 11 : 0;
    return e && esize == e && msize == 8 * n - 1 - e && mpos == 0 && epos == msize && sign == 8 * n - 1 &&
           H5Tget_ebias(type) == ((size_t)1 << (e - 1)) - 1;
}

/* The letters of a number's dtype; 0: numpy has no such number. */
static char number_kind(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    size_t n = H5Tget_size(type);
    if ((cls != H5T_INTEGER && cls != H5T_FLOAT) || !is_full(type) || !order_of(type) || n > 8 ||
        (n & (n - 1)) != 0)
        return 0;
    if (cls == H5T_FLOAT)
        return is_ieee(type) ? 'f' : 0;
    return H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
}

static bool is_bool(hid_t type)
{
    signed char v[2] = {-1, -1};
    if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
        return false;
    bool yes = H5Tenum_valueof(type, "FALSE", &v[0]) >= 0 && H5Tenum_valueof(type, "TRUE", &v[1]) >= 0 &&
               v[0] == 0 && v[1] == 1;
    (void)H5Eclear2(H5E_DEFAULT);
    return yes;
}

/* ---- compounds ---- */

/* The pair r, i of two equal floats, as h5py stores complex numbers. */
static bool is_complex(hid_t type)
{
    char *a = H5Tget_nmembers(type) == 2 ? H5Tget_member_name(type, 0) : NULL,
         *b = a ? H5Tget_member_name(type, 1) : NULL;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t ta = b ? H5Tget_member_type(type, 0) : -1, tb = b ? H5Tget_member_type(type, 1) : -1;
    bool yes = b && strcmp(a, "r") == 0 && strcmp(b, "i") == 0 && H5Tequal(ta, tb) > 0 &&
               number_kind(ta) == 'f' && H5Tget_size(ta) >= 4 && H5Tget_member_offset(type, 0) == 0;
    (void)H5free_memory(a);
    (void)H5free_memory(b);
    return yes;
}

/* [name, dtype] or [name, dtype, shape] */
static int member(hid_t type, unsigned i, unsigned depth, struct bkt_buf *out, const char **why,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t t = H5Tget_member_type(type, i);
    BKT_CLEANUP(bkt_hid_closep) hid_t base = t >= 0 && H5Tget_class(t) == H5T_ARRAY ? H5Tget_super(t) : -1;
    hsize_t dims[H5S_MAX_RANK];
    int rank = base < 0 ? 0 : H5Tget_array_dims2(t, dims);
    char *name = H5Tget_member_name(type, i);
    if (t < 0 || !name || rank < 0)
        return h5_fail(err, "asking for a member");
    int rc = bkt_buf_addf(out, "%s[", i ? ", " : "");
    rc = rc ? rc : bkt_utf8_quote(out, name, strlen(name));
    (void)H5free_memory(name);
    rc = rc ? rc : bkt_buf_add_str(out, ", ");
    BKT_PASS_MEM(err, rc);
    rc = dtype(base < 0 ? t : base, depth + 1, out, why, err);
    for (int d = 0; d < rank && rc > 0; d++)
        BKT_PASS_MEM(err, bkt_buf_addf(out, "%s%llu", d ? ", " : ", [", (unsigned long long)dims[d]));
    return rc > 0 && bkt_buf_add_str(out, rank ? "]]" : "]") < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
                                                                 : rc;
}

static int compound(hid_t type, unsigned depth, struct bkt_buf *out, const char **why, struct bkt_err *err)
{
    int n = H5Tget_nmembers(type), rc = 1;
    size_t end = 0; /* of the members before */
    if (is_complex(type)) {
        BKT_CLEANUP(bkt_hid_closep) hid_t part = H5Tget_member_type(type, 0);
        return bkt_buf_addf(out, "\"%cc%zu\"", order_of(part), H5Tget_size(type)) < 0
                   ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
                   : 1;
    }
    if (depth > 8) {
        *why = "compounds that are nested too deep";
        return 0;
    }
    BKT_PASS_MEM(err, bkt_buf_add_str(out, "["));
    for (int i = 0; i < n && rc > 0; i++) {
        size_t at = H5Tget_member_offset(type, (unsigned)i);
        if (at < end) {
            *why = "members of its type stand in another order than their bytes, which a dtype can't express";
            return 0;
        }
        end = at + 1;
        rc = member(type, (unsigned)i, depth, out, why, err);
    }
    return rc > 0 && bkt_buf_add_str(out, "]") < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : rc;
}

/* ---- all ---- */

static const struct {
    H5T_class_t cls;
    const char *why;
} none[] = {
    {H5T_REFERENCE, "references have no dtype"},
    {H5T_VLEN, "sequences of variable length have no codec of the same bytes"},
    {H5T_BITFIELD, "bit fields have no dtype"},
    {H5T_TIME, "HDF5's times have no dtype"},
    {H5T_ARRAY, "elements that are arrays have no dtype"},
};

static int dtype(hid_t type, unsigned depth, struct bkt_buf *out, const char **why, struct bkt_err *err)
{
    H5T_class_t cls = H5Tget_class(type);
    char kind = number_kind(type);
    int rc = BKT_OK;
    for (size_t i = 0; i < BKT_COUNT(none); i++)
        if (none[i].cls == cls) {
            *why = none[i].why;
            return 0;
        }
    if (cls == H5T_COMPOUND)
        return compound(type, depth, out, why, err);
    if (cls == H5T_ENUM && is_bool(type)) {
        rc = bkt_buf_add_str(out, "\"|b1\"");
    } else if (cls == H5T_ENUM) {
        BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
        return dtype(base, depth + 1, out, why, err);
    } else if (cls == H5T_STRING && H5Tis_variable_str(type) > 0) {
        if (depth) {
            *why = "strings of variable length in a compound have no dtype";
            return 0;
        }
        rc = bkt_buf_add_str(out, "\"|O\"");
    } else if (cls == H5T_STRING && depth && H5Tget_strpad(type) == H5T_STR_SPACEPAD) {
        *why = "text that is padded by blanks has no dtype in a compound";
        return 0;
    } else if (cls == H5T_STRING || cls == H5T_OPAQUE) {
        rc = bkt_buf_addf(out, "\"|%c%zu\"", cls == H5T_STRING ? 'S' : 'V', H5Tget_size(type));
    } else if (kind) {
        rc = bkt_buf_addf(out, "\"%c%c%zu\"", order_of(type), kind, H5Tget_size(type));
    } else {
        *why = "numpy has no such number";
        return 0;
    }
    return rc < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : 1;
}

int zarr_dtype(hid_t type, struct bkt_buf *out, hid_t *mem, const char **why, struct bkt_err *err)
{
    *mem = H5Tcopy(type);
    /* HDF5 sorts the members where it closes gaps, so the dtype is that of the packed type */
    if (*mem < 0 || (H5Tget_class(type) == H5T_COMPOUND && H5Tpack(*mem) < 0))
        return h5_fail(err, "making a type");
    int rc = dtype(*mem, 0, out, why, err);
    /* numpy's text ends with zeros */
    bool text = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    if (rc > 0 && text && H5Tset_strpad(*mem, H5T_STR_NULLPAD) < 0)
        return h5_fail(err, "making a type");
    return rc;
}

static int add_real(double v, bool quoted, struct bkt_buf *out)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    const char *q = quoted ? "\"" : "";
    if (isfinite(v))
        return bkt_buf_add_real(out, v);
    return bkt_buf_addf(out, "%s%s%s", q, words[isnan(v) ? 0 : v > 0 ? 1 : 2], q);
}

int zarr_number(hid_t type, const void *p, bool quoted, struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char buf[16] = {0};
    size_t n = H5Tget_size(type);
    bool real = H5Tget_class(type) == H5T_FLOAT, sign = H5Tget_sign(type) != H5T_SGN_NONE;
    double d;
    uint64_t u;
    BKT_FAIL_IF(err, n > 16, BKT_EUNSUP, "number of %zu bytes: the limit is 16", n);
    memcpy(buf, p, n);
    if (H5Tconvert(type,
                   real   ? H5T_NATIVE_DOUBLE
                   : sign ? H5T_NATIVE_INT64
                          : H5T_NATIVE_UINT64,
                   1, buf, NULL, H5P_DEFAULT) < 0)
        return h5_fail(err, "converting a number");
    memcpy(&d, buf, sizeof d);
    memcpy(&u, buf, sizeof u);
    int rc = real   ? add_real(d, quoted, out)
             : sign ? bkt_buf_addf(out, "%" PRId64, (int64_t)u)
                    : bkt_buf_addf(out, "%" PRIu64, u);
    return BKT_MADE(err, rc >= 0);
}

/* A value in the dtype's JSON: numbers; texts and compounds as base64. */
static int fill_text(hid_t mem, const unsigned char *v, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t part = H5I_INVALID_HID;
    H5T_class_t cls = H5Tget_class(mem);
    size_t n = H5Tget_size(mem);
    int rc;
    if (cls == H5T_INTEGER || cls == H5T_FLOAT)
        return zarr_number(mem, v, true, out, err);
    if (cls == H5T_ENUM && is_bool(mem))
        rc = bkt_buf_add_str(out, *v ? "true" : "false");
    else if (cls == H5T_ENUM) {
        part = H5Tget_super(mem);
        return zarr_number(part, v, true, out, err);
    } else if (cls == H5T_COMPOUND && is_complex(mem)) {
        part = H5Tget_member_type(mem, 0);
        rc = bkt_buf_add_str(out, "[");
        BKT_PASS(zarr_number(part, v, true, out, err));
        rc = rc < 0 ? rc : bkt_buf_add_str(out, ", ");
        BKT_PASS(zarr_number(part, v + n / 2, true, out, err));
        rc = rc < 0 ? rc : bkt_buf_add_str(out, "]");
    } else {
        rc = bkt_buf_add_str(out, "\"");
        rc = rc < 0 ? rc : bkt_base64_encode(v, n, out);
        rc = rc < 0 ? rc : bkt_buf_add_str(out, "\"");
    }
    return BKT_MADE(err, rc >= 0);
}

int zarr_fill(hid_t dcpl, hid_t mem, struct bkt_buf *out, struct bkt_err *err)
{
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    size_t n = H5Tget_size(mem);
    BKT_CLEANUP(bkt_freep) unsigned char *v = calloc(1, n + 1);
    BKT_NEED(err, v);
    if (H5Tis_variable_str(mem) > 0) {
        BKT_CLEANUP(bkt_freep) char *text = NULL;
        if (H5Pfill_value_defined(dcpl, &defined) >= 0 && defined == H5D_FILL_VALUE_USER_DEFINED &&
            H5Pget_fill_value(dcpl, mem, &text) < 0)
            return h5_fail(err, "asking for the fill value");
        return bkt_utf8_quote(out, text ? text : "", text ? strlen(text) : 0) < 0
                   ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
                   : BKT_OK;
    }
    if (H5Pfill_value_defined(dcpl, &defined) < 0 ||
        (defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(dcpl, mem, v) < 0))
        return h5_fail(err, "asking for the fill value");
    return fill_text(mem, v, out, err);
}
