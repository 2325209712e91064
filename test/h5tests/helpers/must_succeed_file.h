/* Calls on a file by programs that must succeed (must_succeed.h). */
#ifndef BKT_MUST_SUCCEED_FILE_H
#define BKT_MUST_SUCCEED_FILE_H

#include <stdlib.h>
#include <string.h>

#include "h5tests/helpers/must_succeed.h"

/** The file is open by connector @p want. */
static inline void require_connector(hid_t file, const char *want)
{
    char name[64] = "native";
    TRY(H5VLget_connector_name(file, name, sizeof name));
    REQUIRE(strcmp(name, want) == 0, "the connector is %s", name);
}

/** The file is open by the connector that $BKT_CONNECTOR names. */
static inline void expect_connector(hid_t file)
{
    const char *want = getenv("BKT_CONNECTOR");
    if (want)
        require_connector(file, want);
}

/** A dataset to be made.  If a member is 0, the value in its comment counts. */
struct made {
    hid_t      type;                      /* H5T_STD_I32LE */
    int        rank;                      /* 1 */
    hsize_t    dims[2], max[2], chunk[2]; /* max as dims; not chunked */
    const int *fill;                      /* HDF5's */
    bool       shuffle;                   /* no */
    unsigned   deflate;                   /* no; else the level */
    H5Z_filter_t filter;                  /* no other filter */
};

/** An open dataset. */
static inline hid_t make_dataset(hid_t at, const char *name, const struct made *m)
{
    int   rank = m->rank ? m->rank : 1;
    hid_t s = TRY(H5Screate_simple(rank, m->dims, m->max[0] ? m->max : NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    if (m->chunk[0])
        TRY(H5Pset_chunk(p, rank, m->chunk));
    if (m->fill)
        TRY(H5Pset_fill_value(p, H5T_NATIVE_INT, m->fill));
    if (m->shuffle)
        TRY(H5Pset_shuffle(p));
    if (m->deflate)
        TRY(H5Pset_deflate(p, m->deflate));
    if (m->filter)
        TRY(H5Pset_filter(p, m->filter, H5Z_FLAG_MANDATORY, 0, NULL));
    hid_t d = TRY(H5Dcreate2(at, name, m->type ? m->type : H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
    return d;
}

/** Every @p step th of a row of elements, @p n of them. */
static inline void write_elements(hid_t d, hid_t type, hsize_t from, hsize_t step, hsize_t n, const void *values)
{
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, &step, &n, NULL));
    TRY(H5Dwrite(d, type, m, s, H5P_DEFAULT, values));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
}

static inline void write_element(hid_t d, hid_t type, hsize_t at, const void *value) { write_elements(d, type, at, 1, 1, value); }

/** @p base, @p base + @p step, and so on.  To be freed. */
static inline int *numbers_from(hsize_t n, int base, int step)
{
    int *v = calloc(n, sizeof *v);
    REQUIRE(v, "memory");
    for (hsize_t i = 0; i < n; i++)
        v[i] = base + (int)i * step;
    return v;
}

/** These numbers as @p n elements of a row, from @p from on. */
static inline void write_numbers(hid_t d, hsize_t from, hsize_t n, int base, int step)
{
    int *v = numbers_from(n, base, step);
    write_elements(d, H5T_NATIVE_INT, from, 1, n, v);
    free(v);
}

/** These numbers as all @p n elements, by H5S_ALL. */
static inline void write_all_numbers(hid_t d, hsize_t n, int base, int step)
{
    int *v = numbers_from(n, base, step);
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    free(v);
}

/** Made, if it is missing. */
static inline void set_attr(hid_t at, const char *name, int value)
{
    hid_t s = TRY(H5Screate(H5S_SCALAR));
    hid_t a = H5Aexists(at, name) > 0 ? TRY(H5Aopen(at, name, H5P_DEFAULT))
                                      : TRY(H5Acreate2(at, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT, &value));
    TRY(H5Aclose(a));
    TRY(H5Sclose(s));
}

/** -1: missing. */
static inline int get_attr(hid_t at, const char *name)
{
    int value = -1;
    if (TRY(H5Aexists(at, name)) == 0)
        return -1;
    hid_t a = TRY(H5Aopen(at, name, H5P_DEFAULT));
    TRY(H5Aread(a, H5T_NATIVE_INT, &value));
    TRY(H5Aclose(a));
    return value;
}

#endif
