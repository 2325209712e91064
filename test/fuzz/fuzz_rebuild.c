/* HDF5's values made of encodings, and HDF5's use of them: 't' a datatype, 's' a dataspace, 'p' a property
 * list. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/rebuild.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* To a number and back, as a read does it */
static void convert(hid_t t)
{
    size_t size = H5Tget_size(t), wide = size > 8 ? size : 8;
    if (wide > 1 << 16 || H5Tdetect_class(t, H5T_VLEN) > 0 || H5Tdetect_class(t, H5T_STRING) > 0 ||
        H5Tdetect_class(t, H5T_REFERENCE) > 0)
        return;
    void *buf = calloc(2, wide), *bkg = calloc(2, wide);
    if (!buf || !bkg)
        abort();
    memset(buf, 0x5a, 2 * wide);
    (void)H5Tconvert(t, H5T_NATIVE_DOUBLE, 2, buf, bkg, H5P_DEFAULT);
    (void)H5Tconvert(H5T_NATIVE_INT, t, 2, buf, bkg, H5P_DEFAULT);
    free(buf);
    free(bkg);
}

static void use_type(const struct bkt_buf *b)
{
    unsigned char code[4096];
    size_t n = sizeof code;
    hid_t t = H5I_INVALID_HID;
    if (bkt_rebuild_encoded_type(b, &t, NULL) < 0)
        return;
    (void)H5Tencode(t, code, &n);
    convert(t);
    (void)H5Tclose(t);
}

static void use_space(const struct bkt_buf *b)
{
    hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
    hid_t s = H5I_INVALID_HID;
    if (bkt_rebuild_encoded_space(b, &s, NULL) < 0)
        return;
    if (H5Sselect_valid(s) > 0 && H5Sget_select_npoints(s) > 0)
        (void)H5Sget_select_bounds(s, lo, hi);
    (void)H5Sclose(s);
}

/* With a buffer on the stack as HDF5's tools have it */
static void ask_dcpl(hid_t l)
{
    hsize_t dims[H5S_MAX_RANK], bytes;
    char name[200];
    off_t off;
    unsigned flags, values[20], config;
    (void)H5Pget_chunk(l, H5S_MAX_RANK, dims);
    for (int i = 0; i < H5Pget_nfilters(l); i++) {
        size_t n = 20;
        (void)H5Pget_filter2(l, (unsigned)i, &flags, &n, values, sizeof name, name, &config);
    }
    for (int i = 0; i < H5Pget_external_count(l); i++)
        (void)H5Pget_external(l, (unsigned)i, sizeof name, name, &off, &bytes);
}

static void use_list(const struct bkt_buf *b)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    hid_t id = H5I_INVALID_HID;
    hid_t cls = H5P_DATATYPE_CREATE;
    if (bkt_h5plist_parse(b->ptr, b->len, &l, NULL) < 0)
        return;
    if (l.cls != BKT_H5_DATATYPE_LIST)
        cls = l.cls == BKT_H5_DATASET_LIST ? H5P_DATASET_CREATE
              : l.cls == BKT_H5_FILE_LIST  ? H5P_FILE_CREATE
                                           : H5P_GROUP_CREATE;
    if (bkt_rebuild_plist(&l, cls, &id, NULL) < 0)
        return;
    if (l.cls == BKT_H5_DATASET_LIST)
        ask_dcpl(id);
    size_t n = 0;
    (void)H5Pencode2(id, NULL, &n, H5P_DEFAULT);
    (void)H5Pclose(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bkt_buf b = {0};
    if (size < 2)
        return 0;
    if (bkt_buf_add(&b, data + 1, size - 1) < 0)
        abort();
    H5E_BEGIN_TRY
    {
        if (data[0] == 't')
            use_type(&b);
        else if (data[0] == 's')
            use_space(&b);
        else
            use_list(&b);
    }
    H5E_END_TRY
    bkt_buf_fini(&b);
    return 0;
}
