/* make_sparse make FILE    extents that no program writes whole, with a few values in them
 * make_sparse check FILE   whether they are there, and nothing else is stored
 * make_sparse make-filled, check-filled FILE
 *                          with a fill value that HDF5's own files must hold in every chunk
 * make_sparse far FILE     numbers, a few chunks of 2^46
 * make_sparse fields FILE  a compound of 1100 numbers and a reference; its comment is 10000 times `c`
 * make_sparse raw FILE X   100 numbers in the raw file X, from byte 16 on
 * make_sparse wide FILE X  rows that are longer than one read; X: 0, or the place where the values differ,
 *                          row-major */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 1000000, CHUNK = 100, N = 3, COLUMNS = 3 << 20, N_PLAIN = 3, N_FORMS = 4 };

static const hsize_t places[N][2] = {{3, 5}, {777777, 12}, {SIDE - 1, SIDE - 1}};

static struct form {
    const char *name, *fill;
    int         kind; /* of the written contents */
    hsize_t     side;
} forms[N_FORMS] = {
    {"texts", NULL, 's', SIDE}, {"lists", NULL, 'l', SIDE}, {"references", NULL, 'r', SIDE}, {"filled", "a fill", 's', 1600}};

static hid_t type_of(const struct form *f)
{
    hid_t t = f->kind == 'l' ? H5Tvlen_create(H5T_STD_I32LE) : H5Tcopy(f->kind == 's' ? H5T_C_S1 : H5T_STD_REF);
    if (f->kind == 's' && H5Tset_size(t, H5T_VARIABLE) < 0)
        exit(1);
    return t;
}

/* One element, or that it can't be selected. */
static hid_t at(hid_t space, const struct form *f, size_t i)
{
    hsize_t where[2] = {places[i][0] % f->side, places[i][1] % f->side};
    if (H5Sselect_elements(space, H5S_SELECT_SET, 1, where) < 0)
        exit(1);
    return space;
}

static int make_dataset(hid_t file, struct form *f)
{
    const hsize_t dims[2] = {f->side, f->side}, max[2] = {f->side, H5S_UNLIMITED}, chunk[2] = {CHUNK, CHUNK};
    int           numbers[N] = {7, 8, 9};
    hid_t         t = type_of(f), s = H5Screate_simple(2, dims, max), one = H5Screate(H5S_SCALAR), p = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Pset_chunk(p, 2, chunk) < 0 || (f->fill && H5Pset_fill_value(p, t, &f->fill) < 0))
        return 1;
    hid_t d = H5Dcreate2(file, f->name, t, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (size_t i = 0; i < N; i++) {
        static const char *texts[N] = {"one", "", "three"};
        hvl_t              list     = {i + 1, numbers};
        H5R_ref_t          ref;
        if (H5Rcreate_object(file, "/", H5P_DEFAULT, &ref) < 0)
            return 1;
        const void *v = f->kind == 's' ? (const void *)&texts[i] : f->kind == 'l' ? (const void *)&list : (const void *)&ref;
        if (H5Dwrite(d, t, one, at(s, f, i), H5P_DEFAULT, v) < 0 || H5Rdestroy(&ref) < 0)
            return 1;
    }
    return H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(one) < 0 || H5Sclose(s) < 0 || H5Tclose(t) < 0;
}

static int is_right(const struct form *f, size_t i, void *v)
{
    static const char *texts[N] = {"one", "", "three"};
    char               name[20] = "";
    const char        *text;
    hvl_t              list;
    memcpy(&text, v, sizeof text);
    memcpy(&list, v, sizeof list);
    if (f->kind == 's')
        return text && strcmp(text, texts[i]) == 0;
    if (f->kind == 'l')
        return list.len == i + 1 && ((int *)list.p)[i] == 7 + (int)i;
    return H5Rget_obj_name(v, H5P_DEFAULT, name, sizeof name) > 0 && strcmp(name, "/") == 0;
}

static int check(hid_t file, struct form *f)
{
    hid_t   d = H5Dopen2(file, f->name, H5P_DEFAULT), s = H5Dget_space(d), one = H5Screate(H5S_SCALAR), t = type_of(f);
    hsize_t n = 0;
    char    v[sizeof(H5R_ref_t)];
    for (size_t i = 0; i < N; i++)
        if (H5Dread(d, t, one, at(s, f, i), H5P_DEFAULT, v) < 0 || !is_right(f, i, v))
            return printf("%s: value %zu is wrong\n", f->name, i);
    if (!f->fill && (H5Dget_num_chunks(d, H5S_ALL, &n) < 0 || n > N))
        return printf("%s: %llu chunks are stored, %d were written\n", f->name, (unsigned long long)n, N);
    hsize_t where[2] = {1, 1};
    if (f->fill && (H5Sselect_elements(s, H5S_SELECT_SET, 1, where) < 0 || H5Dread(d, t, one, s, H5P_DEFAULT, v) < 0 ||
                    strcmp(*(char **)v, f->fill) != 0))
        return printf("%s: the fill value is wrong\n", f->name);
    return H5Dclose(d) < 0 || H5Sclose(s) < 0 || H5Sclose(one) < 0 || H5Tclose(t) < 0;
}

static int wide(hid_t file, int other)
{
    const hsize_t dims[2] = {2, COLUMNS}, chunk[2] = {2, COLUMNS / 4};
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    int          *v = calloc(2 * COLUMNS, sizeof *v);
    if (!v || H5Pset_chunk(p, 2, chunk) < 0 || H5Pset_deflate(p, 1) < 0)
        return 1;
    for (int i = 0; i < 2 * COLUMNS; i++)
        v[i] = i / 1000;
    v[COLUMNS + 5] += other; /* in the block that comes first, in the last row */
    v[COLUMNS - 7] += other;
    hid_t d = H5Dcreate2(file, "wide", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    int   rc = H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 || H5Dclose(d) < 0;
    free(v);
    return rc || H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

enum { N_FAR = 12 }; /* more than load --link lists without a chunk table */

static int far(hid_t file)
{
    const hsize_t dims[2] = {(hsize_t)1 << 40, (hsize_t)1 << 22}, max[2] = {H5S_UNLIMITED, (hsize_t)1 << 22}, chunk[2] = {1, 65536};
    hid_t         s = H5Screate_simple(2, dims, max), p = H5Pcreate(H5P_DATASET_CREATE), one = H5Screate(H5S_SCALAR);
    if (H5Pset_chunk(p, 2, chunk) < 0)
        return 1;
    hid_t d = H5Dcreate2(file, "far", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < N_FAR; i++) {
        const hsize_t at[2] = {dims[0] / N_FAR * (hsize_t)i, (hsize_t)i * 77777};
        if (H5Sselect_elements(s, H5S_SELECT_SET, 1, at) < 0 || H5Dwrite(d, H5T_NATIVE_INT, one, s, H5P_DEFAULT, &i) < 0)
            return 1;
    }
    return H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(one) < 0 || H5Sclose(s) < 0;
}

enum { N_FIELDS = 1100, FIELD_BYTES = 4, REF_BYTES = 8 };

static int fields(hid_t file)
{
    const size_t size = N_FIELDS * FIELD_BYTES + REF_BYTES;
    char         name[16], v[N_FIELDS * FIELD_BYTES + REF_BYTES];
    hid_t        t = H5Tcreate(H5T_COMPOUND, size), s = H5Screate(H5S_SCALAR);
    for (int i = 0; i < N_FIELDS; i++) {
        snprintf(name, sizeof name, "%d", i);
        memcpy(v + i * FIELD_BYTES, &i, FIELD_BYTES);
        if (H5Tinsert(t, name, (size_t)i * FIELD_BYTES, H5T_NATIVE_INT) < 0)
            return 1;
    }
    if (H5Tinsert(t, "to", size - REF_BYTES, H5T_STD_REF_OBJ) < 0 || H5Rcreate(v + size - REF_BYTES, file, "/", H5R_OBJECT, -1) < 0)
        return 1;
    hid_t d = H5Dcreate2(file, "fields", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    char  said[10001];
    memset(said, 'c', sizeof said - 1);
    said[sizeof said - 1] = 0;
    if (H5Oset_comment(d, said) < 0)
        return 1;
    return H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 || H5Dclose(d) < 0 || H5Tclose(t) < 0 || H5Sclose(s) < 0;
}

static int raw(hid_t file, const char *name)
{
    const hsize_t n = 100;
    int           v[100];
    hid_t         s = H5Screate_simple(1, &n, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    for (int i = 0; i < 100; i++)
        v[i] = i;
    if (H5Pset_external(p, name, 16, H5F_UNLIMITED) < 0)
        return 1;
    hid_t d = H5Dcreate2(file, "raw", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    return H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 || H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

static int each(hid_t file, int (*act)(hid_t file, struct form *f), size_t from, size_t to)
{
    for (; from < to; from++)
        if (act(file, &forms[from]))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    int (*made_by)(hid_t) = strcmp(mode, "far") == 0 ? far : strcmp(mode, "fields") == 0 ? fields : NULL;
    bool        new  = strncmp(mode, "check", 5) != 0, filled = strstr(mode, "-filled") != NULL;
    if (argc < 3)
        return 2;
    hid_t f = new ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        return 1;
    int rc = argc == 4 && strcmp(mode, "raw") == 0 ? raw(f, argv[3]) : argc == 4 ? wide(f, atoi(argv[3])) : made_by ? made_by(f) : each(f, new ? make_dataset : check, filled ? N_PLAIN : 0, filled ? N_FORMS : N_PLAIN);
    return rc || H5Fclose(f) < 0;
}
