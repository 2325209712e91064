/* Files for bench/load: make_linked FILE CHUNKS | --list FILE | --many FOLDER FILES CHUNKS */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PER_CHUNK 4

static int count(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    (void)offset, (void)mask, (void)addr, (void)size;
    ++*(size_t *)arg;
    return H5_ITER_CONT;
}

/* The time that HDF5 itself takes to list them. */
static int list(const char *name)
{
    size_t n    = 0;
    hid_t  file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t  dset = H5Dopen2(file, "d", H5P_DEFAULT);
    int    rc   = H5Dchunk_iter(dset, H5P_DEFAULT, count, &n) < 0;
    printf("%zu\n", n);
    (void)H5Dclose(dset);
    (void)H5Fclose(file);
    return rc;
}

static int make(const char *name, hsize_t chunks, hsize_t per_chunk)
{
    hsize_t dims = chunks * per_chunk, at;
    int    *v    = calloc(per_chunk, sizeof *v);
    hid_t   fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &dims, NULL);
    if (!v || H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) < 0 || H5Pset_chunk(dcpl, 1, &per_chunk) < 0)
        return 1;
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t dset = H5Dcreate2(file, "d", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int   rc   = dset < 0;
    for (hsize_t i = 0; i < chunks && !rc; i++) {
        for (hsize_t k = 0; k < per_chunk; k++)
            v[k] = (int)i;
        at = i * per_chunk;
        rc = H5Dwrite_chunk(dset, H5P_DEFAULT, 0, &at, per_chunk * sizeof *v, v) < 0;
    }
    free(v);
    (void)H5Dclose(dset), (void)H5Fclose(file), (void)H5Sclose(space), (void)H5Pclose(dcpl), (void)H5Pclose(fapl);
    return rc;
}

static int many(const char *folder, unsigned long files, hsize_t chunks)
{
    for (unsigned long i = 0; i < files; i++) {
        char name[4096];
        (void)snprintf(name, sizeof name, "%s/f%05lu.h5", folder, i);
        if (make(name, chunks, 200) != 0) /* large enough to be linked */
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--many") == 0)
        return many(argv[2], strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    if (argc != 3)
        return 2;
    return strcmp(argv[1], "--list") == 0 ? list(argv[2]) : make(argv[1], strtoull(argv[2], NULL, 10), PER_CHUNK);
}
