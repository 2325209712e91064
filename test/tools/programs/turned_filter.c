/* A filter plugin of HDF5's without built-in code in the connector: each byte is changed.  It allocates by
 * HDF5, as plugins do. */
#include <hdf5.h>

#include <H5PLextern.h>
#include <string.h>

static size_t turn(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *size, void **buf)
{
    unsigned char *to = H5allocate_memory(n, false);
    (void)flags, (void)n_cd, (void)cd;
    if (!to)
        return 0;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(((unsigned char *)*buf)[i] ^ 0x55);
    H5free_memory(*buf);
    *buf  = to;
    *size = n;
    return n;
}

static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 305, 1, 1, "turned", NULL, NULL, turn};

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &filter; }
