/* Calls on a file by programs that must succeed (must_succeed.h). */
#ifndef BKT_MUST_SUCCEED_FILE_H
#define BKT_MUST_SUCCEED_FILE_H

#include <stdlib.h>
#include <string.h>

#include "h5tests/helpers/must_succeed.h"

/** The file is open by the connector that $BKT_CONNECTOR names. */
static inline void expect_connector(hid_t file)
{
    char        name[64] = "native";
    const char *want     = getenv("BKT_CONNECTOR");
    TRY(H5VLget_connector_name(file, name, sizeof name));
    REQUIRE(!want || strcmp(name, want) == 0, "the connector is %s", name);
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
