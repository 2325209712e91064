#include "vol/core/native_header.h"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <string.h>

#include "base/err.h"
#include "base/trace.h"
#include "vol/core/hid.h"

/* The number of bytes of each kind of native object that hold the place of its file; never more than the
 * object has. */
static const struct {
    H5I_type_t type;
    size_t     bytes;
    size_t whole; /* of an object of a plain file.  Among all open attributes, HDF5 looks for one of
                     the name that is to be opened, and shares it.  Attributes of ours with a header of
                     that file are searched too: they must be complete. */
} kinds[] = {{H5I_FILE, 64, 64},
             {H5I_GROUP, 32, 32},
             {H5I_DATASET, 24, 24},
             {H5I_DATATYPE, 72, 0},
             {H5I_ATTR, 64, 104}};
_Static_assert(BKT_NATIVE_HEADER_BYTES >= 104, "a whole attribute has room");

/* The file stays open while one of the connector's files is: old region references lie in its heap
 * (region_shadow.h). */
static struct {
    unsigned char bytes[BKT_COUNT(kinds)][BKT_NATIVE_HEADER_BYTES];
    void               *file;
    void *type; /* stays open: code that checks whether a datatype is committed follows a pointer of it */
    const H5VL_class_t *cls; /* HDF5's own */
    unsigned            users;
} held; /* HDF5's global lock guards it, and at_close */
static void (*at_close)(void);

static void *make_file(void)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl < 0 || H5Pset_fapl_core(fapl, 4096, 0) < 0 || H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0)
        return NULL;
    return H5VLfile_create("h5bucket-in-memory", H5F_ACC_TRUNC, H5P_FILE_CREATE_DEFAULT, fapl,
                           H5P_DATASET_XFER_DEFAULT, NULL);
}

/* One anonymous object of each kind */
static bool make_objects(void **o)
{
    H5VL_loc_params_t in_file  = {.obj_type = H5I_FILE, .type = H5VL_OBJECT_BY_SELF};
    H5VL_loc_params_t in_group = {.obj_type = H5I_GROUP, .type = H5VL_OBJECT_BY_SELF};
    hid_t             dx = H5P_DATASET_XFER_DEFAULT, lc = H5P_LINK_CREATE_DEFAULT;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_NATIVE_INT);
    if (space >= 0 && type >= 0) {
        o[1] = H5VLgroup_create(o[0], &in_file, H5VL_NATIVE, NULL, lc, H5P_GROUP_CREATE_DEFAULT,
                                H5P_GROUP_ACCESS_DEFAULT, dx, NULL);
        o[2] = H5VLdataset_create(o[0], &in_file, H5VL_NATIVE, NULL, lc, type, space,
                                  H5P_DATASET_CREATE_DEFAULT, H5P_DATASET_ACCESS_DEFAULT, dx, NULL);
        o[3] = H5VLdatatype_commit(o[0], &in_file, H5VL_NATIVE, NULL, type, lc, H5P_DATATYPE_CREATE_DEFAULT,
                                   H5P_DATATYPE_ACCESS_DEFAULT, dx, NULL);
        if (o[1])
            o[4] = H5VLattr_create(o[1], &in_group, H5VL_NATIVE, "a", type, space,
                                   H5P_ATTRIBUTE_CREATE_DEFAULT, H5P_ATTRIBUTE_ACCESS_DEFAULT, dx, NULL);
    }
    return o[1] && o[2] && o[3] && o[4];
}

static void close_objects(void **o)
{
    hid_t dx = H5P_DATASET_XFER_DEFAULT;
    if (o[4])
        (void)H5VLattr_close(o[4], H5VL_NATIVE, dx, NULL);
    if (o[2])
        (void)H5VLdataset_close(o[2], H5VL_NATIVE, dx, NULL);
    if (o[1])
        (void)H5VLgroup_close(o[1], H5VL_NATIVE, dx, NULL);
}

static bool copy_headers(void)
{
    void *o[BKT_COUNT(kinds)] = {0}; /* in the order of kinds */
    o[0] = held.file;
    bool ok                   = make_objects(o);
    for (size_t i = 0; ok && i < BKT_COUNT(kinds); i++)
        memcpy(held.bytes[i], o[i], kinds[i].bytes);
    close_objects(o);
    held.type = o[3];
    return ok;
}

static void close_file(void)
{
    if (held.type)
        (void)H5VLdatatype_close(held.type, H5VL_NATIVE, H5P_DATASET_XFER_DEFAULT, NULL);
    if (held.file)
        (void)H5VLfile_close(held.file, H5VL_NATIVE, H5P_DATASET_XFER_DEFAULT, NULL);
    held.type = held.file = NULL;
    held.cls = NULL; /* the library may be closed and opened again, with its classes elsewhere */
}

/* Limited to the tried versions, 1.14 and 2.2, and to those between them, which have the same layout. */
bool bkt_native_header_is_wanted(void)
{
    unsigned major = 0, minor = 0, release = 0;
    return H5get_libversion(&major, &minor, &release) >= 0 &&
           ((major == 1 && minor == 14) || (major == 2 && minor <= 2));
}

void bkt_native_header_acquire(bool wanted)
{
    held.users++;
    if (held.cls || !wanted)
        return;
    held.file = make_file();
    if (held.file && copy_headers() &&
        H5VLintrospect_get_conn_cls(held.file, H5VL_NATIVE, H5VL_GET_CONN_LVL_TERM, &held.cls) >= 0 &&
        held.cls)
        return;
    (void)H5Eclear2(H5E_DEFAULT);
    bkt_trace(BKT_TRACE_VOL, "calls of HDF5's older API will be refused: no native objects to show");
    close_file();
}

void bkt_native_header_at_close(void (*fn)(void))
{
    at_close = fn;
}

void bkt_native_header_release(void)
{
    if (!held.users || --held.users > 0)
        return;
    if (at_close)
        at_close();
    close_file();
}

void *bkt_native_header_file(void)
{
    return held.cls ? held.file : NULL;
}

/* H5Ddebug (h5ls -a calls it) prints the addresses of any dataset's storage without asking for its
 * connector: it follows the pointer behind a native dataset's location and name.  Here that pointer leads
 * to a blank description.  It describes a compact dataset (H5D_COMPACT is 0), for which nothing is
 * printed. */
#define SHARED_AT 48
/* Flushing a native file visits all datasets that lie in it, including those with a copied header.  It
 * leaves a dataset alone whose description says that it is being closed. */
#define CLOSING_AT 8
static const unsigned char blank[16384] = {[CLOSING_AT] = 1};

bool bkt_native_header_put(unsigned char out[BKT_NATIVE_HEADER_BYTES], H5I_type_t type, bool wanted)
{
    const void *description = blank;
    bool        put         = false;
    memset(out, 0, BKT_NATIVE_HEADER_BYTES);
    if (type == H5I_DATASET)
        memcpy(out + SHARED_AT, &description, sizeof description);
    for (size_t i = 0; wanted && held.cls && i < BKT_COUNT(kinds); i++)
        if (kinds[i].type == type) {
            memcpy(out, held.bytes[i], kinds[i].bytes);
            put = true;
        }
    return put;
}

void bkt_native_header_copy(unsigned char out[BKT_NATIVE_HEADER_BYTES], H5I_type_t type, const void *native)
{
    for (size_t i = 0; native && i < BKT_COUNT(kinds); i++)
        if (kinds[i].type == type)
            memcpy(out, native, kinds[i].whole);
}

const H5VL_class_t *bkt_native_header_class(void)
{
    return held.cls;
}
