/* Compares two values, element by element if their bytes aren't enough. */
#include "vol/copy/same_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "vol/convert/convert.h"
#include "vol/core/hid.h"
#include "vol/core/object_refs.h"

static bool same(hid_t type, const char *a, const char *b);

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether @p ref leads to the object that its file has under @p name.  An object may have many names. */
static bool is_named(const H5R_ref_t *ref, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t o = *name ? H5Ropen_object((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT) : H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t p = o < 0 ? H5I_INVALID_HID : H5Oopen(o, name, H5P_DEFAULT);
    H5O_info2_t x, y;
    int cmp = 1;
    if (p < 0 || H5Oget_info3(o, &x, H5O_INFO_BASIC) < 0 || H5Oget_info3(p, &y, H5O_INFO_BASIC) < 0 ||
        H5Otoken_cmp(o, &x.token, &y.token, &cmp) < 0)
        return false;
    return cmp == 0;
}

/* A selection's elements, in runs */
struct runs {
    hid_t iter;
    hsize_t off[64];
    size_t len[64], n, i;
};

static void runs_fini(struct runs *r)
{
    if (r->iter >= 0)
        (void)H5Ssel_iter_close(r->iter);
}

/* Whether there are more elements; if so, sets off[i] and len[i]. */
static bool go_on(struct runs *r)
{
    size_t elems = 0;
    while (r->i < r->n && r->len[r->i] == 0)
        r->i++;
    if (r->i < r->n)
        return true;
    r->i = 0;
    return H5Ssel_iter_get_seq_list(r->iter, BKT_COUNT(r->len), SIZE_MAX, &r->n, &elems, r->off, r->len) >=
               0 &&
           r->n > 0;
}

static bool same_extent(hid_t x, hid_t y)
{
    hsize_t a[H5S_MAX_RANK] = {0}, b[H5S_MAX_RANK] = {0};
    return H5Sget_simple_extent_dims(x, a, NULL) == H5Sget_simple_extent_dims(y, b, NULL) &&
           memcmp(a, b, sizeof a) == 0;
}

/* Whether both select the same elements, however the selections were made; points in the same sequence.  HDF5
 * 1.14's own operations on selections crash, or read beyond memory, if the selections have nothing, or all,
 * in common. */
static bool same_region(const H5R_ref_t *a, const H5R_ref_t *b)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t x = H5Ropen_region((H5R_ref_t *)(uintptr_t)a, H5P_DEFAULT, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t y = H5Ropen_region((H5R_ref_t *)(uintptr_t)b, H5P_DEFAULT, H5P_DEFAULT);
    hssize_t n = x < 0 || y < 0 ? -1 : H5Sget_select_npoints(x);
    if (n < 0)
        return x < 0 && y < 0; /* neither can be opened: compare their names */
    if (n != H5Sget_select_npoints(y) || !same_extent(x, y))
        return false;
    BKT_CLEANUP(runs_fini) struct runs p = {.iter = n ? H5Ssel_iter_create(x, 1, 0) : -1};
    BKT_CLEANUP(runs_fini) struct runs q = {.iter = n ? H5Ssel_iter_create(y, 1, 0) : -1};
    for (size_t left = (size_t)n, k; left > 0; left -= k) {
        if (!go_on(&p) || !go_on(&q) || p.off[p.i] != q.off[q.i])
            return false;
        k = p.len[p.i] < q.len[q.i] ? p.len[p.i] : q.len[q.i];
        p.off[p.i] += k, p.len[p.i] -= k;
        q.off[q.i] += k, q.len[q.i] -= k;
    }
    return true;
}

typedef ssize_t name_getter(const H5R_ref_t *ref, char *buf, size_t size);

/* A name of any length, for free(); "" if HDF5 reports no name.  HDF5 may search the file for a name, so a
 * second call is made only if the name is long. */
static char *name_of(const H5R_ref_t *ref, name_getter *get)
{
    char room[1024] = "";
    ssize_t n = get(ref, room, sizeof room);
    if (n < (ssize_t)sizeof room)
        return strdup(room);
    char *name = calloc(1, (size_t)n + 1);
    if (name)
        (void)get(ref, name, (size_t)n + 1);
    return name;
}

static bool same_attr(const H5R_ref_t *a, const H5R_ref_t *b)
{
    BKT_CLEANUP(bkt_freep) char *x = name_of(a, H5Rget_attr_name), *y = name_of(b, H5Rget_attr_name);
    return x && y && *x && strcmp(x, y) == 0;
}

/* Whether both refer to the same part of the object. */
static bool same_part(const H5R_ref_t *a, const H5R_ref_t *b)
{
    switch (H5Rget_type(a)) {
    case H5R_DATASET_REGION1:
    case H5R_DATASET_REGION2:
        return same_region(a, b);
    case H5R_ATTR:
        return same_attr(a, b);
    default:
        return true;
    }
}

/* References: the same kind to a place of the same name, and the same part of it. */
static bool same_reference(const char *a, const char *b)
{
    H5R_ref_t ra, rb;
    memcpy(&ra, a, sizeof ra);
    memcpy(&rb, b, sizeof rb);
    bool za = bkt_ref_is_null(&ra), zb = bkt_ref_is_null(&rb);
    if (za || zb)
        return za == zb;
    if (H5Rget_type(&ra) != H5Rget_type(&rb))
        return false;
    BKT_CLEANUP(bkt_freep) char *na = name_of(&ra, bkt_ref_object_name);
    BKT_CLEANUP(bkt_freep) char *nb = name_of(&rb, bkt_ref_object_name);
    bool is =
        na && nb && (strcmp(na, nb) == 0 || is_named(&rb, na) || is_named(&ra, nb)) && same_part(&ra, &rb);
    (void)H5Eclear2(H5E_DEFAULT);
    return is;
}

static bool same_many(hid_t type, const char *a, const char *b, size_t n)
{
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < n; i++)
        if (!same(type, a + i * size, b + i * size))
            return false;
    return true;
}

static bool same_members(hid_t type, const char *a, const char *b)
{
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
        size_t at = H5Tget_member_offset(type, (unsigned)i);
        if (!same(m, a + at, b + at))
            return false;
    }
    return true;
}

static bool same_list(hid_t type, const char *a, const char *b)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    hvl_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x.len == y.len && same_many(base, x.p, y.p, x.len);
}

static bool same_array(hid_t type, const char *a, const char *b)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    size_t size = H5Tget_size(base);
    return same_many(base, a, b, size ? H5Tget_size(type) / size : 0);
}

static bool same(hid_t type, const char *a, const char *b)
{
    switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
        return same_members(type, a, b);
    case H5T_ARRAY:
        return same_array(type, a, b);
    case H5T_VLEN:
        return same_list(type, a, b);
    case H5T_REFERENCE:
        return same_reference(a, b);
    case H5T_STRING:
        if (H5Tis_variable_str(type) > 0) {
            const char *x, *y;
            memcpy(&x, a, sizeof x);
            memcpy(&y, b, sizeof y);
            return same_text(x, y);
        }
        if (H5Tget_strpad(type) == H5T_STR_NULLTERM) /* in domains zeros follow the NUL */
            return strncmp(a, b, H5Tget_size(type)) == 0;
        return memcmp(a, b, H5Tget_size(type)) == 0;
    default:
        return memcmp(a, b, H5Tget_size(type)) == 0;
    }
}

bool bkt_same_value(hid_t type, const void *a, const void *b)
{
    return same(type, a, b);
}

bool bkt_same_fill_of(hid_t dset, hid_t type, void *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    return dcpl >= 0 && bkt_convert_fill_of(dcpl, type, out) > 0;
}
