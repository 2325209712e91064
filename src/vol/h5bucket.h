/* Choose the bucket connector from a program, instead of by HDF5_VOL_CONNECTOR.  The plugin must be on HDF5's
 * plugin path (HDF5_PLUGIN_PATH); nothing has to be linked. */
#ifndef H5BUCKET_H
#define H5BUCKET_H

#include <hdf5.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Make files opened with @p fapl_id go through the bucket connector.
 *
 *  @param fapl_id  file access property list
 *  @param info     settings as "key=value;key=value" (docs/settings.md), NULL or "" for none; they win over
 *          the environment
 *  @return non-negative, or negative with HDF5's error stack filled: plugin not found, an unknown key
 *  @see H5Pset_vol, H5VLregister_connector_by_name in HDF5's reference manual */
static inline herr_t H5Pset_fapl_bucket(hid_t fapl_id, const char *info)
{
    void  *parsed = NULL;
    herr_t rc     = -1;
    hid_t  vol    = H5VLregister_connector_by_name("bucket", H5P_DEFAULT);
    if (vol < 0)
        return -1;
    if (!info || !*info || H5VLconnector_str_to_info(info, vol, &parsed) >= 0)
        rc = H5Pset_vol(fapl_id, vol, parsed);
    if (parsed)
        (void)H5VLfree_connector_info(vol, parsed);
    (void)H5VLclose(vol);
    return rc;
}

#ifdef __cplusplus
}
#endif

#endif
