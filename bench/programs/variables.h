/* 60 variables of 100 x 100 values with 20 attributes each, for make_data and make_plain. */
#ifndef BENCH_VARIABLES_H
#define BENCH_VARIABLES_H

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE_TEXT 24 /* bytes of an attribute */

static int variable_attributes(hid_t dset, hid_t type, hid_t scalar, int i)
{
    char name[32], text[VARIABLE_TEXT];
    int  rc = 0;
    for (int k = 0; rc >= 0 && k < 20; k++) {
        memset(text, 0, sizeof text);
        snprintf(name, sizeof name, "attribute_%02d", k);
        snprintf(text, sizeof text, "value %d of %d", k, i);
        hid_t a = H5Acreate2(dset, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
        rc      = H5Awrite(a, type, text);
        H5Aclose(a);
    }
    return rc;
}

/* @p dcpl: gets the chunks' shape.  Negative: HDF5 failed. */
static int make_variables(hid_t file, hid_t dcpl)
{
    char          name[32];
    const hsize_t dims[] = {100, 100};
    int           rc     = 0;
    hid_t         space = H5Screate_simple(2, dims, NULL), scalar = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, VARIABLE_TEXT);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Pset_chunk(dcpl, 2, dims);
    for (int i = 0; rc >= 0 && i < 60; i++) {
        snprintf(name, sizeof name, "var%02d", i);
        hid_t dset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        rc         = variable_attributes(dset, type, scalar, i);
        H5Dclose(dset);
    }
    H5Tclose(type);
    H5Sclose(scalar);
    H5Sclose(space);
    return rc;
}

#endif
