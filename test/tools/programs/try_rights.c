/* try_rights DOMAIN: try everything that a program can do with a domain, and print a line for each: "NAME yes" or
 * "NAME no: MESSAGE".
 *
 * DOMAIN has a dataset "d" of 4 integers that can grow, an attribute "a", and a group "g".  tool_access.py
 * compares the output with the domain's access list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

static herr_t keep(unsigned n, const H5E_error2_t *e, void *arg)
{
    if (n == 0)
        snprintf(arg, 1024, "%s", e->desc ? e->desc : "");
    return 0;
}

static void report(const char *what, long long result)
{
    char why[1024] = "";
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep, why);
    (void)H5Eclear2(H5E_DEFAULT);
    printf("%s %s%s\n", what, result >= 0 ? "yes" : "no: ", result >= 0 ? "" : why);
}

static void close_any(hid_t id)
{
    if (id >= 0 && H5Idec_ref(id) < 0)
        exit(3);
}

static void change(hid_t f)
{
    const hsize_t more[] = {6};
    int           v[4]   = {5, 6, 7, 8};
    hid_t         s = H5Screate(H5S_SCALAR), d = H5Dopen2(f, "d", H5P_DEFAULT), id;
    report("make-group", id = H5Gcreate2(f, "new-group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    close_any(id);
    report("make-dataset",
           id = H5Dcreate2(f, "new-dataset", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    close_any(id);
    report("make-attribute", id = H5Acreate2(f, "new-attribute", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    close_any(id);
    report("make-link", H5Lcreate_hard(f, "d", f, "new-link", H5P_DEFAULT, H5P_DEFAULT));
    report("copy", H5Ocopy(f, "g", f, "new-copy", H5P_DEFAULT, H5P_DEFAULT));
    report("write", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    report("resize", H5Dset_extent(d, more));
    id = H5Aopen(f, "a", H5P_DEFAULT);
    report("write-attribute", H5Awrite(id, H5T_NATIVE_INT, v));
    close_any(id);
    report("comment", H5Oset_comment(f, "said"));
    report("rename-attribute", H5Arename(f, "a", "b"));
    report("rename-link", H5Lmove(f, "g", f, "renamed", H5P_DEFAULT, H5P_DEFAULT));
    report("delete-attribute", H5Adelete_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
    report("delete-link", H5Ldelete_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT));
    close_any(d);
    H5Sclose(s);
}

/* The objects on which rights are tried. */
static int make_domain(const char *name)
{
    const hsize_t dims[] = {4}, max[] = {H5S_UNLIMITED};
    const int     v[]    = {1, 2, 3, 4};
    hid_t f = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, dims, max), one = H5Screate(H5S_SCALAR);
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 1, dims);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    hid_t a = H5Acreate2(f, "a", H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT);
    bool  ok = H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Awrite(a, H5T_NATIVE_INT, v) >= 0;
    close_any(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    close_any(a);
    close_any(d);
    H5Pclose(p);
    H5Sclose(s);
    H5Sclose(one);
    return ok && H5Fclose(f) >= 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int   v[4];
    hid_t f, d;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (argc == 3 && strcmp(argv[1], "make") == 0)
        return make_domain(argv[2]);
    if (argc != 2)
        return 2;
    report("open", f = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT));
    d = f < 0 ? H5I_INVALID_HID : H5Dopen2(f, "d", H5P_DEFAULT);
    report("read", f < 0 ? -1 : H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    close_any(d);
    close_any(f);
    report("open-to-write", f = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT));
    if (f >= 0) {
        change(f);
        report("flush", H5Fflush(f, H5F_SCOPE_GLOBAL));
        close_any(f);
    }
    report("replace", f = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    close_any(f);
    report("remove", H5Fdelete(argv[1], H5P_DEFAULT));
    return 0;
}
