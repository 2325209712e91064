/* Variable-length strings that are NULL, empty, or were never written, and sequences of no elements: compared
 * with HDF5's own files, in datasets, attributes and fill values, alone and inside other types. */
#include "h5tests/helpers/compare_write.h"

#define CHUNKED 1
#define DEFLATE 2

static hid_t string_type(void)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, H5T_VARIABLE);
    return t;
}

static const char *shown(const char *s) { return s ? s : "(null)"; }
static void        say_text(struct out *o, const char *what, const char *s) { say(o, "%s: %d '%s'", what, s != NULL, shown(s)); }

static hid_t new_strings(hid_t file, const char *name, hid_t type, hsize_t n, unsigned how, const void *fill)
{
    hsize_t max = H5S_UNLIMITED, chunk = 4;
    hid_t   s = H5Screate_simple(1, &n, how & CHUNKED ? &max : NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (how & CHUNKED)
        H5Pset_chunk(dcpl, 1, &chunk);
    if (how & DEFLATE)
        H5Pset_deflate(dcpl, 6);
    if (fill)
        H5Pset_fill_value(dcpl, type, fill);
    hid_t d = H5Dcreate2(file, name, type, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(s);
    return d;
}

static hid_t part(hid_t d, hsize_t from, hsize_t n)
{
    hid_t s = H5Dget_space(d);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &n, NULL);
    return s;
}

static void write_strings(hid_t d, hid_t type, hsize_t from, hsize_t n, const void *v, struct out *o)
{
    hid_t f = part(d, from, n), m = H5Screate_simple(1, &n, NULL);
    say_result(o, "writing", H5Dwrite(d, type, m, f, H5P_DEFAULT, v));
    H5Sclose(m);
    H5Sclose(f);
}

/* HDF5 1.14.5 crashes if it is asked for the size of elements that include fill values. */
static void say_strings(hid_t file, const char *name, bool size, struct out *o)
{
    hid_t    d = H5Dopen2(file, name, H5P_DEFAULT), t = string_type(), s = H5Dget_space(d);
    hssize_t n = H5Sget_simple_extent_npoints(s);
    char   **v = calloc((size_t)n + 1, sizeof *v);
    hsize_t  need = 0;
    say_result(o, name, H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (hssize_t i = 0; i < n; i++)
        say_text(o, name, v[i]);
    if (size)
        say_result(o, "size", H5Dvlen_get_buf_size(d, t, s, &need));
    say(o, "size %" PRIuHSIZE, need);
    H5Treclaim(t, s, H5P_DEFAULT, v);
    free(v);
    H5Sclose(s);
    H5Tclose(t);
    H5Dclose(d);
}

static const char *const words[] = {"", NULL, "x", NULL, "", "long enough", NULL, NULL, "y", ""};

/* ---- datasets of strings ---- */

static const char *const names[] = {"contiguous", "chunked", "deflated", "never", "none null", "all null"};

static void strings_read(hid_t file, struct out *o)
{
    for (size_t i = 0; i < COUNT(names); i++)
        say_strings(file, names[i], true, o);
}

static void strings(hid_t file, struct out *o)
{
    static const char *const no[] = {"", "", "a", ""}, *const all[] = {NULL, NULL, NULL, NULL};
    static const unsigned    how[] = {0, CHUNKED, CHUNKED | DEFLATE, CHUNKED, CHUNKED, CHUNKED};
    hid_t                    t     = string_type();
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t d = new_strings(file, names[i], t, i < 4 ? 14 : 4, how[i], NULL);
        if (i < 3)
            write_strings(d, t, 2, COUNT(words), words, o);
        if (i > 3)
            write_strings(d, t, 0, 4, i == 4 ? no : all, o);
        H5Dclose(d);
    }
    strings_read(file, o);
    H5Tclose(t);
}

/* A second program writes over some of the stored elements, and larger, and smaller ones. */
static void strings_again(hid_t file, struct out *o)
{
    hid_t t = string_type();
    strings(file, o);
    say_result(o, "flush", H5Fflush(file, H5F_SCOPE_LOCAL));
    for (size_t i = 0; i < 3; i++) {
        hid_t   d = H5Dopen2(file, names[i], H5P_DEFAULT);
        hsize_t n = 9, more = 20;
        write_strings(d, t, 1, 3, words, o);
        if (i > 0) {
            say_result(o, "smaller", H5Dset_extent(d, &n));
            say_result(o, "larger", H5Dset_extent(d, &more));
        }
        H5Dclose(d);
    }
    strings_read(file, o);
    H5Tclose(t);
}

/* ---- fill values ---- */

static const char *const fills[] = {"", "abc", NULL};

static void fills_read(hid_t file, struct out *o)
{
    char  name[16];
    hid_t t = string_type();
    for (size_t i = 0; i < COUNT(fills); i++) {
        H5D_fill_value_t how = H5D_FILL_VALUE_ERROR;
        char            *v   = NULL;
        snprintf(name, sizeof name, "fill %zu", i);
        say_strings(file, name, false, o);
        hid_t d = H5Dopen2(file, name, H5P_DEFAULT), p = H5Dget_create_plist(d);
        say(o, "%d defined %d", H5Pfill_value_defined(p, &how), how);
        say(o, "%d", H5Pget_fill_value(p, t, &v));
        say_text(o, "fill value", v); /* the list's own */
        H5Pclose(p);
        H5Dclose(d);
    }
    H5Tclose(t);
}

static void fill_values(hid_t file, struct out *o)
{
    char  name[16];
    hid_t t = string_type();
    for (size_t i = 0; i < COUNT(fills); i++) {
        snprintf(name, sizeof name, "fill %zu", i);
        hid_t d = new_strings(file, name, t, 4, CHUNKED, &fills[i]); /* one chunk: HDF5 can't fill in others in a read-only file */
        write_strings(d, t, 1, 2, words, o);
        H5Dclose(d);
    }
    fills_read(file, o);
    H5Tclose(t);
}

/* HDF5 refuses to create such a dataset, with a fill value or without. */
static void never_filled(hid_t file, struct out *o)
{
    hid_t t[] = {string_type(), H5Tvlen_create(H5T_NATIVE_INT), H5Tcreate(H5T_COMPOUND, 16), H5T_NATIVE_INT};
    hid_t s = H5Screate_simple(1, (hsize_t[]){3}, NULL);
    char name[32], fill[16] = {0};
    H5Tinsert(t[2], "s", 8, t[0]);
    for (int i = 0; i < 8; i++) {
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), type = t[i % 4], d = H5I_INVALID_HID;
        if (i >= 4)
            H5Pset_fill_value(dcpl, type, fill);
        H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
        snprintf(name, sizeof name, "never filled %d", i);
        say_result(o, name, d = H5Dcreate2(file, name, type, s, H5P_DEFAULT, dcpl, H5P_DEFAULT));
        if (d >= 0)
            H5Dclose(d);
        H5Pclose(dcpl);
    }
    H5Sclose(s);
    H5Tclose(t[2]), H5Tclose(t[1]), H5Tclose(t[0]);
}

/* ---- attributes ---- */

static void attribute_read(hid_t file, const char *name, struct out *o)
{
    char *v[COUNT(words)] = {NULL};
    hid_t a = H5Aopen(file, name, H5P_DEFAULT), t = string_type(), s = H5Aget_space(a);
    say_result(o, name, H5Aread(a, t, v));
    for (hssize_t i = 0; i < H5Sget_simple_extent_npoints(s); i++)
        say_text(o, name, v[i]);
    H5Treclaim(t, s, H5P_DEFAULT, v);
    H5Sclose(s);
    H5Tclose(t);
    H5Aclose(a);
}

static void attributes_read(hid_t file, struct out *o)
{
    static const char *const all[] = {"some", "bytes", "never", "scalar null", "scalar empty", "replaced"};
    for (size_t i = 0; i < COUNT(all); i++)
        attribute_read(file, all[i], o);
}

static void attribute(hid_t file, const char *name, hsize_t n, const char *const *v, struct out *o)
{
    hid_t t = string_type(), s = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    hid_t a = H5Acreate2(file, name, t, s, H5P_DEFAULT, H5P_DEFAULT);
    if (v)
        say_result(o, name, H5Awrite(a, t, v));
    H5Aclose(a);
    H5Sclose(s);
    H5Tclose(t);
}

static void attributes(hid_t file, struct out *o)
{
    static const char *const bytes[] = {"\xff\xfe", NULL, ""}, *const null = NULL, *const empty = "";
    hid_t                    t = string_type();
    attribute(file, "some", COUNT(words), words, o);
    attribute(file, "bytes", 3, bytes, o);
    attribute(file, "never", 2, NULL, o);
    attribute(file, "scalar null", 0, &null, o);
    attribute(file, "scalar empty", 0, &empty, o);
    attribute(file, "replaced", 3, words, o);
    say_result(o, "flush", H5Fflush(file, H5F_SCOPE_LOCAL));
    hid_t a = H5Aopen(file, "replaced", H5P_DEFAULT);
    say_result(o, "again", H5Awrite(a, t, words + 4));
    H5Aclose(a);
    attributes_read(file, o);
    H5Tclose(t);
}

/* ---- inside other types ---- */

struct row {
    int   n;
    char *s, *two[2];
    hvl_t list; /* of strings */
    hvl_t ints;
};

static hid_t row_type(void)
{
    hsize_t two = 2;
    hid_t   t = H5Tcreate(H5T_COMPOUND, sizeof(struct row)), s = string_type(), a = H5Tarray_create2(s, 1, &two), l = H5Tvlen_create(s);
    hid_t   i = H5Tvlen_create(H5T_NATIVE_INT);
    H5Tinsert(t, "n", HOFFSET(struct row, n), H5T_NATIVE_INT);
    H5Tinsert(t, "s", HOFFSET(struct row, s), s);
    H5Tinsert(t, "two", HOFFSET(struct row, two), a);
    H5Tinsert(t, "list", HOFFSET(struct row, list), l);
    H5Tinsert(t, "ints", HOFFSET(struct row, ints), i);
    H5Tclose(i);
    H5Tclose(l);
    H5Tclose(a);
    H5Tclose(s);
    return t;
}

static void say_row(struct out *o, const struct row *r)
{
    say(o, "row %d", r->n);
    say_text(o, "s", r->s);
    say_text(o, "two[0]", r->two[0]);
    say_text(o, "two[1]", r->two[1]);
    say(o, "list of %zu, at an address %d", r->list.len, r->list.p != NULL);
    for (size_t i = 0; r->list.p && i < r->list.len; i++)
        say_text(o, "in it", ((char **)r->list.p)[i]);
    say(o, "ints %zu, at an address %d", r->ints.len, r->ints.p != NULL);
}

static void rows_read(hid_t file, struct out *o)
{
    hid_t      t = row_type(), d = H5Dopen2(file, "rows", H5P_DEFAULT), s = H5Dget_space(d), a = H5Aopen(d, "row", H5P_DEFAULT);
    hid_t      scalar = H5Screate(H5S_SCALAR);
    struct row r[6], one;
    memset(r, 0, sizeof r);
    memset(&one, 0, sizeof one);
    say_result(o, "reading", H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    for (size_t i = 0; i < COUNT(r); i++)
        say_row(o, &r[i]);
    say_result(o, "attribute", H5Aread(a, t, &one));
    say_row(o, &one);
    H5Treclaim(t, s, H5P_DEFAULT, r);
    H5Treclaim(t, scalar, H5P_DEFAULT, &one);
    H5Sclose(scalar);
    H5Aclose(a);
    H5Sclose(s);
    H5Dclose(d);
    H5Tclose(t);
}

static void rows(hid_t file, struct out *o)
{
    char      *in[3] = {(char *)(uintptr_t)"", NULL, (char *)(uintptr_t)"in"}, *no[2] = {NULL, NULL};
    int        x      = 5;
    struct row r[3]   = {{1, in[0], {NULL, in[2]}, {3, in}, {0, &x}}, {2, NULL, {in[0], NULL}, {0, in}, {0, NULL}},
                         {3, in[2], {in[0], in[0]}, {2, no}, {1, &x}}};
    hid_t      t = row_type(), d = new_strings(file, "rows", t, 6, CHUNKED, NULL), scalar = H5Screate(H5S_SCALAR);
    hid_t      a = H5Acreate2(d, "row", t, scalar, H5P_DEFAULT, H5P_DEFAULT);
    write_strings(d, t, 1, 3, r, o);
    say_result(o, "attribute", H5Awrite(a, t, &r[0]));
    say_result(o, "flush", H5Fflush(file, H5F_SCOPE_LOCAL));
    /* one field of some rows: the others keep their values */
    hid_t some = H5Tcreate(H5T_COMPOUND, sizeof(int));
    int   n[3] = {7, 8, 9};
    H5Tinsert(some, "n", 0, H5T_NATIVE_INT);
    write_strings(d, some, 2, 3, n, o);
    H5Tclose(some);
    H5Sclose(scalar);
    H5Aclose(a);
    H5Dclose(d);
    rows_read(file, o);
    H5Tclose(t);
}

/* ---- copies ---- */

static void copies_read(hid_t file, struct out *o)
{
    say_strings(file, "copy", true, o);
    hid_t d = H5Dopen2(file, "copy", H5P_DEFAULT);
    attribute_read(d, "some", o);
    H5Dclose(d);
}

static void copies(hid_t file, struct out *o)
{
    hid_t t = string_type(), d = new_strings(file, "from", t, 12, CHUNKED | DEFLATE, NULL);
    write_strings(d, t, 0, COUNT(words), words, o);
    attribute(d, "some", COUNT(words), words, o);
    H5Dclose(d);
    say_result(o, "H5Ocopy", H5Ocopy(file, "from", file, "copy", H5P_DEFAULT, H5P_DEFAULT));
    copies_read(file, o);
    H5Tclose(t);
}

static const struct write_case cases[] = {
    {"a NULL string is another than an empty one, in datasets", strings, strings_read},
    {"over what is stored, and with other extents", strings_again, strings_read},
    {"fill values that are NULL or empty", fill_values, fills_read},
    {"values of variable length that shall never be filled in", never_filled, NULL},
    {"NULL and empty strings in attributes", attributes, attributes_read},
    {"inside compounds, arrays and sequences", rows, rows_read},
    {"copies keep them", copies, copies_read},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
