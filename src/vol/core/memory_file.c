#include "vol/core/memory_file.h"

#include <stdio.h>

#include "base/err.h"
#include "vol/core/hid.h"

hid_t bkt_native_in_memory(size_t step)
{
    static unsigned long made; /* HDF5's global lock guards it */
    char                 name[50];
    hid_t                f = H5I_INVALID_HID;
    (void)snprintf(name, sizeof name, "h5bucket-in-memory-%lu", ++made);
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl >= 0 && H5Pset_fapl_core(fapl, step, 0) >= 0 && H5Pset_vol(fapl, H5VL_NATIVE, NULL) >= 0)
        f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    return f;
}
