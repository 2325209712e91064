/* Attributes that define the meaning of a dataset's values.  If files differ in them, their values can't
 * follow each other. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/source/hdf5_glue.h"

/* Attributes of the CF conventions and netCDF's user guide: "hours since 2020-01-01" isn't "hours since
 * 2020-01-02". */
static const char *const meaning[] = {"units",      "calendar",      "scale_factor", "add_offset",
                                      "_FillValue", "missing_value", "_Unsigned"};

static int append_text(hid_t attr, hid_t type, hid_t space, size_t n, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char **v  = calloc(n + 1, sizeof *v);
    int                           rc = BKT_OK;
    if (!v)
        BKT_NOMEM(err);
    if (n && H5Aread(attr, type, v) < 0)
        return h5_fail(err, "reading an attribute");
    for (size_t i = 0; i < n && rc == BKT_OK; i++)
        rc = bkt_buf_add(out, v[i] ? v[i] : "", v[i] ? strlen(v[i]) + 1 : 1);
    (void)H5Treclaim(type, space, H5P_DEFAULT, v);
    return rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
}

static int append_fixed(hid_t attr, hid_t type, size_t n, bool text, struct bkt_buf *out, struct bkt_err *err)
{
    size_t                       size = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) char *v    = calloc(n + 1, size + 1);
    if (!v)
        BKT_NOMEM(err);
    if (n && H5Aread(attr, type, v) < 0)
        return h5_fail(err, "reading an attribute");
    for (size_t i = 0; i < n; i++) {
        const char *one = v + i * size;
        size_t      len = text ? strnlen(one, size) : size;
        while (text && len && one[len - 1] == ' ')
            len--;
        if (bkt_buf_add(out, one, len) < 0 || (text && bkt_buf_add(out, "", 1) < 0))
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* Reads text as NUL-ended strings, however it is stored, and numbers as @p as, or in their own type. */
static int value_of(hid_t obj, const char *name, hid_t *as, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t attr  = H5Aopen(obj, name, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t type  = attr < 0 ? -1 : H5Aget_type(attr);
    BKT_CLEANUP(h5_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
    hssize_t                     n     = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (type < 0 || n < 0)
        return h5_fail(err, "reading an attribute");
    if (H5Tget_class(type) == H5T_STRING)
        return H5Tis_variable_str(type) > 0 ? append_text(attr, type, space, (size_t)n, out, err)
                                            : append_fixed(attr, type, (size_t)n, true, out, err);
    if (H5Tget_class(type) != H5T_INTEGER && H5Tget_class(type) != H5T_FLOAT)
        return BKT_OK; /* no values of these attributes: not compared */
    if (*as < 0)
        *as = H5Tcopy(type);
    return append_fixed(attr, *as, (size_t)n, false, out, err);
}

int agg_attrs_fit(hid_t src, hid_t dst, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(meaning); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
        BKT_CLEANUP(h5_closep) hid_t             as = H5I_INVALID_HID;
        htri_t has = H5Aexists(src, meaning[i]), had = H5Aexists(dst, meaning[i]);
        if (has < 0 || had < 0)
            return h5_fail(err, "looking for an attribute");
        if (has != had)
            BKT_FAIL(err, BKT_EINVAL, "attribute %s is %s", meaning[i],
                     has ? "not in the domain" : "in the domain only");
        if (!has)
            continue;
        BKT_PASS(value_of(src, meaning[i], &as, &a, err));
        BKT_PASS(value_of(dst, meaning[i], &as, &b, err));
        if (a.len != b.len || (a.len && memcmp(a.ptr, b.ptr, a.len) != 0))
            BKT_FAIL(err, BKT_EINVAL, "attribute %s differs from the domain's", meaning[i]);
    }
    return BKT_OK;
}
