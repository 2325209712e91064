/* Zeros that are not a value of the type, or look different in memory. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/type_zoo.h"

static hid_t some_enum(hid_t base)
{
    hid_t t = H5Tenum_create(base);
    for (int i = 0; i < 2; i++) {
        int v = 3 + i;
        H5Tconvert(H5T_NATIVE_INT, base, 1, &v, NULL, H5P_DEFAULT);
        H5Tenum_insert(t, i ? "four" : "three", &v);
    }
    return t;
}

static hid_t both_in_one(hid_t number, hid_t text)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, H5Tget_size(number) + H5Tget_size(text));
    H5Tinsert(t, "number", 0, number);
    H5Tinsert(t, "text", H5Tget_size(number), text);
    return t;
}

static void say_read(struct out *o, const char *what, hid_t d, hid_t mem, hsize_t from, hsize_t n)
{
    unsigned char v[200];
    hid_t         space = H5Dget_space(d), at = H5Screate_simple(1, (hsize_t[]){2 * n}, NULL);
    memset(v, 0x77, sizeof v);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &n, NULL);
    H5Sselect_hyperslab(at, H5S_SELECT_SET, (hsize_t[]){1}, (hsize_t[]){2}, &n, NULL);
    say_result(o, what, H5Dread(d, mem, at, space, H5P_DEFAULT, v));
    say_bytes(o, "every second", v, 2 * n * H5Tget_size(mem));
    memset(v, 0x77, sizeof v);
    H5Sselect_hyperslab(at, H5S_SELECT_SET, (hsize_t[]){0}, NULL, &n, NULL);
    say_result(o, what, H5Dread(d, mem, at, space, H5P_DEFAULT, v));
    say_bytes(o, "in a row", v, n * H5Tget_size(mem));
    H5Sclose(at);
    H5Sclose(space);
}

/* HDF5 2.x doesn't convert the zeros of a missing chunk, whatever else was written; 1.14 and the connector
 * don't as long as nothing was.  So of a dataset in chunks of 2 only the written chunk is compared. */
static void say_written(struct out *o, const char *what, hid_t d, hid_t mem, hsize_t from, hsize_t n, bool chunked)
{
    bool only_there = H5_VERS_MAJOR >= 2 && chunked;
    say_read(o, what, d, mem, only_there ? 2 : from, only_there ? 2 : n);
}

static void zeros_of(hid_t f, struct out *o, const char *name, hid_t type, hid_t mem)
{
    for (int way = 0; way < 6; way++) {
        char  leaf[64];
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, (hsize_t[]){6}, NULL), one = H5Screate(H5S_SCALAR);
        if (way % 3 == 1)
            H5Pset_chunk(dcpl, 1, (hsize_t[]){2});
        if (way % 3 == 2)
            H5Pset_layout(dcpl, H5D_COMPACT);
        if (way >= 3)
            H5Pset_fill_value(dcpl, type, (char[50]){0});
        snprintf(leaf, sizeof leaf, "%s %d", name, way);
        hid_t d = H5Dcreate2(f, leaf, type, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        say_result(o, leaf, d);
        say_read(o, "never written", d, mem, 1, 4);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){2}, NULL, (hsize_t[]){1}, NULL);
        say_result(o, "writing", H5Dwrite(d, type, one, s, H5P_DEFAULT, "\003\0xyz      "));
        say_written(o, "one written", d, mem, 0, 4, way == 1);
        say_written(o, "elsewhere", d, mem, 4, 2, way == 1);
        H5Dclose(d);
        H5Sclose(s);
        H5Sclose(one);
        H5Pclose(dcpl);
    }
}

static void zeros(hid_t f, struct out *o)
{
    hid_t number = some_enum(H5T_STD_I16LE), wide = some_enum(H5T_STD_I32BE), spaces = zoo_text(5, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
    hid_t nulls = zoo_text(7, H5T_STR_NULLPAD, H5T_CSET_ASCII), other = zoo_text(6, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
    hid_t file = both_in_one(number, nulls), mem = both_in_one(wide, spaces);
    zeros_of(f, o, "enum", number, wide);
    zeros_of(f, o, "the same enum", number, number);
    zeros_of(f, o, "spaces", spaces, nulls);
    zeros_of(f, o, "to spaces", nulls, spaces);
    zeros_of(f, o, "longer", spaces, other);
    zeros_of(f, o, "compound", file, mem);
    H5Tclose(number), H5Tclose(wide), H5Tclose(spaces), H5Tclose(nulls), H5Tclose(other), H5Tclose(file), H5Tclose(mem);
}

static void zeros_again(hid_t f, struct out *o)
{
    hid_t wide = some_enum(H5T_STD_I32BE), d = H5Dopen2(f, "enum 1", H5P_DEFAULT);
    say_written(o, "stored", d, wide, 0, 6, true);
    H5Dclose(d);
    H5Tclose(wide);
}

/* ---- members of the program's type that the dataset lacks, and gaps ---- */

/* The stored type: a number, and for vl a sequence. */
static hid_t stored_row(bool vl)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 24), v = H5Tvlen_create(H5T_NATIVE_INT);
    H5Tinsert(t, "number", 0, H5T_NATIVE_INT);
    if (vl)
        H5Tinsert(t, "list", 8, v);
    H5Tclose(v);
    return t;
}

static hid_t new_row(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(t, "number", 0, H5T_STD_I32BE);
    H5Tinsert(t, "new", 8, H5T_NATIVE_DOUBLE);
    return t;
}

static void lacking_one(hid_t f, struct out *o, int way, bool vl)
{
    static const H5D_layout_t layouts[] = {H5D_CONTIGUOUS, H5D_CHUNKED, H5D_COMPACT};
    char name[32], fill[24] = {9};
    hid_t type = stored_row(vl), mem = new_row(), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t s = H5Screate_simple(1, (hsize_t[]){6}, NULL), one = H5Screate(H5S_SCALAR);
    H5Pset_layout(dcpl, layouts[way % 3]);
    if (way % 3 == 1)
        H5Pset_chunk(dcpl, 1, (hsize_t[]){6});
    if (way % 6 >= 3)
        H5Pset_fill_value(dcpl, type, fill);
    if (way >= 6)
        H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    snprintf(name, sizeof name, "lacking %d %d", way, vl);
    hid_t d = H5Dcreate2(f, name, type, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    say_result(o, name, d);
    say_read(o, "never written", d, mem, 1, 4);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){2}, NULL, (hsize_t[]){1}, NULL);
    say_result(o, "writing", H5Dwrite(d, mem, one, s, H5P_DEFAULT, "\0\0\0\7nothing here"));
    say_read(o, "one written", d, mem, 1, 4);
    H5Dclose(d);
    H5Sclose(one), H5Sclose(s), H5Pclose(dcpl), H5Tclose(mem), H5Tclose(type);
}

static void lacking(hid_t f, struct out *o)
{
    for (int way = 0; way < 12; way++)
        for (int vl = 0; vl < 2; vl++)
            lacking_one(f, o, way, vl);
}

static void lacking_again(hid_t f, struct out *o)
{
    hid_t mem = new_row();
    for (int way = 0; way < 12; way += 3) {
        char name[32];
        snprintf(name, sizeof name, "lacking %d 0", way);
        hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
        say_read(o, name, d, mem, 1, 4);
        H5Dclose(d);
    }
    H5Tclose(mem);
}

static const struct write_case cases[] = {
    {"members and gaps in memory, for datasets that were never written and others", lacking, lacking_again},
    {"zeros that are not a value, or look different", zeros, zeros_again},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
