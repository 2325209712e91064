/* write_counts FILE
 * groups|attributes|datasets|chunks|deflate|large|append|partial|refused|external|deep|filled|emptied|bulk|
 * bulk_deflate N: writes a new file (emptied: the one of filled) in one of some ways, as a program that knows
 * nothing of connectors would. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5tests/helpers/must_succeed.h"

static int groups(hid_t file, long n)
{
    for (long i = 0; i < n; i++) {
        char  name[32];
        hid_t g;
        snprintf(name, sizeof name, "g%05ld", i);
        TRY(g = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        TRY(H5Gclose(g));
    }
    return 0;
}

static int attributes(hid_t file, long n)
{
    hid_t s = H5Screate(H5S_SCALAR);
    for (long i = 0; i < n; i++) {
        char  name[32];
        hid_t a;
        int   v = (int)i;
        snprintf(name, sizeof name, "a%05ld", i);
        TRY(a = H5Acreate2(file, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
        TRY(H5Awrite(a, H5T_NATIVE_INT, &v));
        TRY(H5Aclose(a));
    }
    H5Sclose(s);
    return 0;
}

static int level; /* of deflate; 0: none */

static hid_t dataset(hid_t file, const char *name, hsize_t rows, hsize_t chunk, hid_t *space)
{
    hsize_t max = H5S_UNLIMITED;
    hid_t   p   = H5Pcreate(H5P_DATASET_CREATE);
    *space      = H5Screate_simple(1, &rows, &max);
    H5Pset_chunk(p, 1, &chunk);
    if (level)
        H5Pset_deflate(p, (unsigned)level);
    hid_t d = H5Dcreate2(file, name, H5T_STD_I32LE, *space, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Pclose(p);
    return d;
}

static int datasets(hid_t file, long n)
{
    for (long i = 0; i < n; i++) {
        char  name[32];
        hid_t s, d;
        int   v[4] = {1, 2, 3, (int)i};
        snprintf(name, sizeof name, "d%05ld", i);
        TRY(d = dataset(file, name, 4, 4, &s));
        TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        TRY(H5Dclose(d));
        H5Sclose(s);
    }
    return 0;
}

#define CHUNK 65536

/* Whole chunks, one H5Dwrite */
static int chunks(hid_t file, long n)
{
    hid_t s, d;
    int  *v = calloc((size_t)n * CHUNK, sizeof *v);
    for (long i = 0; v && i < n * CHUNK; i++)
        v[i] = (int)i;
    TRY(d = dataset(file, "x", (hsize_t)n * CHUNK, CHUNK, &s));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    H5Sclose(s);
    free(v);
    return 0;
}

static int deflate(hid_t file, long n)
{
    level = 1;
    return chunks(file, n);
}

/* In MiB, since the program began: getrusage() also counts the memory of the process that started it. */
static long most_memory(void)
{
    char  line[200];
    long  kib = -1;
    FILE *f   = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (f)
        (void)fclose(f);
    return kib / 1024;
}

/* n chunks of 1 MiB, one after the other; prints the most memory that took, in MiB */
static int bulk(hid_t file, long n)
{
    const hsize_t step = 4 * CHUNK;
    hid_t         s, d, m = H5Screate_simple(1, &step, NULL);
    int          *v = calloc(step, sizeof *v);
    TRY(d = dataset(file, "x", (hsize_t)n * step, step, &s));
    for (hsize_t at = 0; v && at < (hsize_t)n * step; at += step) {
        for (hsize_t i = 0; i < step; i++)
            v[i] = (int)(at + i);
        TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &step, NULL));
        TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
    }
    TRY(H5Dclose(d));
    TRY(H5Fflush(file, H5F_SCOPE_LOCAL));
    printf("%ld\n", most_memory());
    H5Sclose(s);
    H5Sclose(m);
    free(v);
    return 0;
}

static int bulk_deflate(hid_t file, long n)
{
    level = 1;
    return bulk(file, n);
}

/* Whole chunks, 1,024 elements at a time */
static int partial(hid_t file, long n)
{
    hid_t         s, d, m;
    const hsize_t step = 1024;
    int           v[1024];
    TRY(d = dataset(file, "x", (hsize_t)n * CHUNK, CHUNK, &s));
    m = H5Screate_simple(1, &step, NULL);
    for (hsize_t at = 0; at < (hsize_t)n * CHUNK; at += step) {
        for (int i = 0; i < 1024; i++)
            v[i] = (int)at + i;
        TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &step, NULL));
        TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
    }
    TRY(H5Dclose(d));
    H5Sclose(s);
    H5Sclose(m);
    return 0;
}

/* Rows of 1,024 appended one by one, a flush every 100 */
static int append(hid_t file, long n)
{
    hid_t         s, d, m;
    const hsize_t step = 1024;
    int           v[1024];
    TRY(d = dataset(file, "x", 0, CHUNK, &s));
    m = H5Screate_simple(1, &step, NULL);
    for (hsize_t i = 0; i < (hsize_t)n; i++) {
        hsize_t now = (i + 1) * step, at = i * step;
        for (int k = 0; k < 1024; k++)
            v[k] = (int)at + k;
        TRY(H5Dset_extent(d, &now));
        H5Sclose(s);
        TRY(s = H5Dget_space(d));
        TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &step, NULL));
        TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
        if ((i + 1) % 100 == 0)
            TRY(H5Fflush(file, H5F_SCOPE_LOCAL));
    }
    TRY(H5Dclose(d));
    H5Sclose(s);
    H5Sclose(m);
    return 0;
}

/* n groups made, stored and deleted again by a user who may not delete: one flush fails, those after it
 * don't. */
static int refused(hid_t file, long n)
{
    char name[32];
    if (groups(file, n) || H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
        return 1;
    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof name, "g%05ld", i);
        TRY(H5Ldelete(file, name, H5P_DEFAULT));
    }
    herr_t first = H5Fflush(file, H5F_SCOPE_LOCAL); /* its error is printed */
    return first >= 0 || H5Gclose(H5Gcreate2(file, "after", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) < 0 ||
           H5Fflush(file, H5F_SCOPE_LOCAL) < 0;
}

/* A dataset in n raw files, each of which is there, read twice. */
static int external(hid_t file, long n)
{
    hid_t   p = H5Pcreate(H5P_DATASET_CREATE), d;
    hsize_t all = (hsize_t)n;
    int    *v = calloc((size_t)n, sizeof *v);
    for (long i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "raw%ld", i);
        TRY(H5Pset_external(p, name, 0, sizeof *v));
    }
    hid_t s = H5Screate_simple(1, &all, NULL);
    TRY(d = H5Dcreate2(file, "x", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    for (int k = 0; k < 2; k++) {
        TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        for (long i = 0; i < n; i++)
            if (v[i] != i)
                return fprintf(stderr, "element %ld is %d\n", i, v[i]), 1;
    }
    TRY(H5Dclose(d));
    free(v);
    return H5Pclose(p) < 0 || H5Sclose(s) < 0;
}

/* Groups within each other, made by the name of the last. */
static int deep(hid_t file, long n)
{
    char  path[400] = "";
    hid_t lcpl      = H5Pcreate(H5P_LINK_CREATE), g;
    for (long i = 0; i < n && i < 40; i++)
        snprintf(path + strlen(path), sizeof path - strlen(path), "%sg%ld", i ? "/" : "", i);
    TRY(H5Pset_create_intermediate_group(lcpl, 1));
    TRY(g = H5Gcreate2(file, path, lcpl, H5P_DEFAULT, H5P_DEFAULT));
    return H5Gclose(g) < 0 || H5Pclose(lcpl) < 0;
}

/* n datasets in a group, and that group deleted by a program that opens the file. */
static int filled(hid_t file, long n)
{
    hid_t g;
    TRY(g = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return datasets(g, n) || H5Gclose(g) < 0;
}

static int emptied(hid_t file, long n)
{
    (void)n;
    TRY(H5Ldelete(file, "g", H5P_DEFAULT));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(hid_t file, long n);
    } ways[] = {{"groups", groups}, {"attributes", attributes}, {"datasets", datasets},
                {"chunks", chunks}, {"partial", partial},       {"append", append},
                {"deflate", deflate}, {"large", chunks},       {"refused", refused},
                {"external", external}, {"deep", deep},         {"filled", filled},
                {"emptied", emptied},   {"bulk", bulk},         {"bulk_deflate", bulk_deflate}};
    if (argc != 4)
        return 2;
    hid_t file = strcmp(argv[2], "emptied") == 0 ? H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT)
                                                 : H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int   rc   = file < 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !rc; i++)
        if (strcmp(ways[i].name, argv[2]) == 0)
            rc = ways[i].run(file, strtol(argv[3], NULL, 10));
    return rc || H5Fclose(file) < 0;
}
