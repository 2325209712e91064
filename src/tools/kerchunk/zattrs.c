/* .zattrs as HDF5 attributes: numbers, texts and flat lists of them.  Other values become their JSON as text.
 */
#include "tools/kerchunk/zattrs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/source/hdf5_glue.h"

/* Those that netCDF's conventions want in the variable's own type. */
static const char *const as_variable[] = {"_FillValue",  "missing_value", "valid_min", "valid_max",
                                          "valid_range", "flag_values",   "flag_masks"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

bool kc_attr_is_reserved(const char *name)
{
    static const char *const reserved[] = {"_ARRAY_DIMENSIONS",   "CLASS",          "NAME",
                                           "DIMENSION_LIST",      "REFERENCE_LIST", "_Netcdf4Dimid",
                                           "_Netcdf4Coordinates", "_NCProperties",  "_nc3_strict"};
    return is_one_of(name, reserved, BKT_COUNT(reserved));
}

static int put(hid_t object, const char *name, hid_t type, hid_t space, const void *value,
               struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attr < 0 || (value && H5Awrite(attr, type, value) < 0) ? h5_fail(err, "making an attribute")
                                                                  : BKT_OK;
}

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

/* A text as netCDF-4 stores one: of its own length. */
static int put_text(hid_t object, const char *name, const char *text, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    size_t n = strlen(text);
    if (H5Tset_size(type, n ? n : 1) < 0 ||
        H5Tset_cset(type, is_ascii(text) ? H5T_CSET_ASCII : H5T_CSET_UTF8) < 0)
        return h5_fail(err, "making an attribute's type");
    return put(object, name, type, space, text, err);
}

static int put_texts(hid_t object, const char *name, const struct kc_doc *list, struct bkt_err *err)
{
    const hsize_t n = list->n;
    BKT_CLEANUP(h5_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    BKT_CLEANUP(bkt_freep) const char **v = calloc(list->n + 1, sizeof *v);
    size_t i = 0;
    if (!v)
        BKT_NOMEM(err);
    for (const struct kc_doc *d = list->first; d; d = d->next)
        v[i++] = d->text;
    if (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        return h5_fail(err, "making an attribute's type");
    return put(object, name, type, space, v, err);
}

static bool is_number(const struct kc_doc *d)
{
    return d->kind == KC_INT || d->kind == KC_REAL || d->kind == KC_BOOL;
}

/* Every value fits the type; values of 8 bytes at most. */
static bool all_fit(hid_t type, const struct kc_doc *first, const struct kc_doc *end, unsigned char *out)
{
    size_t size = H5Tget_size(type), i = 0;
    for (const struct kc_doc *d = first; d != end; d = d->next)
        if (!kc_type_number(type, d, out + size * i++))
            return false;
    return true;
}

/* A number or a flat list of numbers, in the first type that holds all of them. */
static int put_numbers(hid_t object, const char *name, const struct kc_doc *d, hid_t own, struct bkt_err *err)
{
    const hsize_t n = d->kind == KC_LIST ? d->n : 1;
    const struct kc_doc *first = d->kind == KC_LIST ? d->first : d,
                        *end = d->kind == KC_LIST ? NULL : d->next;
    BKT_CLEANUP(bkt_freep) unsigned char *v = calloc((size_t)n + 1, 8);
    BKT_CLEANUP(h5_closep)
    hid_t space = d->kind == KC_LIST ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    bool real = false, flag = true;
    if (!v)
        BKT_NOMEM(err);
    for (const struct kc_doc *m = first; m != end; m = m->next)
        real |= m->kind == KC_REAL, flag &= m->kind == KC_BOOL;
    const hid_t types[] = {own, flag ? H5T_STD_I8LE : H5I_INVALID_HID, real ? H5I_INVALID_HID : H5T_STD_I64LE,
                           real ? H5I_INVALID_HID : H5T_STD_U64LE, H5T_IEEE_F64LE};
    for (size_t i = 0; i < BKT_COUNT(types); i++)
        if (types[i] >= 0 && all_fit(types[i], first, end, v))
            return put(object, name, types[i], space, v, err);
    BKT_FAIL(err, BKT_EFORMAT, "numbers beyond 64 bits");
}

static int put_json(hid_t object, const char *name, const struct kc_doc *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (kc_doc_write(d, &text) < 0)
        BKT_NOMEM(err);
    return put_text(object, name, bkt_buf_str(&text), err);
}

/* The variable's type for attributes that want it. */
static hid_t own_type(const char *name, const struct kc_type *type)
{
    H5T_class_t cls = type ? H5Tget_class(type->h5) : H5T_NO_CLASS;
    bool yes = (cls == H5T_INTEGER || cls == H5T_FLOAT) && H5Tget_size(type->h5) <= 8;
    return yes && is_one_of(name, as_variable, BKT_COUNT(as_variable)) ? type->h5 : H5I_INVALID_HID;
}

static int put_value(hid_t object, const char *name, const struct kc_doc *d, const struct kc_type *type,
                     struct bkt_err *err)
{
    bool numbers = d->kind == KC_LIST && d->n, texts = numbers;
    for (const struct kc_doc *m = d->kind == KC_LIST ? d->first : NULL; m; m = m->next) {
        numbers &= is_number(m);
        texts &= m->kind == KC_TEXT;
    }
    if (is_number(d) || numbers)
        return put_numbers(object, name, d, own_type(name, type), err);
    if (d->kind == KC_TEXT)
        return put_text(object, name, d->text, err);
    if (texts)
        return put_texts(object, name, d, err);
    if (d->kind == KC_LIST && !d->n) {
        BKT_CLEANUP(h5_closep) hid_t space = H5Screate(H5S_NULL);
        return put(object, name, H5T_IEEE_F64LE, space, NULL, err);
    }
    return put_json(object, name, d, err);
}

/* CF's units of datetime64 and timedelta64. */
static int put_time(struct kc_load *k, hid_t object, const char *path, const struct kc_doc *zattrs,
                    const struct kc_type *type, struct bkt_err *err)
{
    char text[64];
    if (!type->units) {
        load_tell(k->l, path, "numbers of a unit of time that CF lacks");
        return BKT_OK;
    }
    if (kc_doc_get(zattrs, "units"))
        return BKT_OK;
    (void)snprintf(text, sizeof text, "%s%s", type->units, type->datetime ? " since 1970-01-01" : "");
    BKT_PASS(put_text(object, "units", text, err));
    return type->datetime && !kc_doc_get(zattrs, "calendar")
               ? put_text(object, "calendar", "proleptic_gregorian", err)
               : BKT_OK;
}

int kc_attrs(struct kc_load *k, hid_t object, const char *path, const struct kc_doc *zattrs,
             const struct kc_type *type, struct bkt_err *err)
{
    if (zattrs && zattrs->kind != KC_OBJECT)
        BKT_FAIL(err, BKT_EFORMAT, ".zattrs: not an object");
    for (const struct kc_doc *d = zattrs ? zattrs->first : NULL; d; d = d->next) {
        if (kc_attr_is_reserved(d->key) || kc_doc_get(zattrs, d->key) != d)
            continue;
        BKT_TRY(err,
                *d->key ? put_value(object, d->key, d, type, err)
                        : BKT_ERR(err, BKT_EFORMAT, "an empty name"),
                "attribute %.100s", d->key);
    }
    return type && (type->units || type->datetime) ? put_time(k, object, path, zattrs, type, err) : BKT_OK;
}
