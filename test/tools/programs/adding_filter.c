/* Filter plugins that put parameters of their own beside those of the dataset when HDF5 makes one, as
 * bitshuffle does: 0, 5 and the size of an element, in front (310), or with BEHIND behind (311).  With NAMED
 * the name is a sentence (312), and they come behind, too.  Each byte is changed by a value computed from the
 * parameters: with other parameters the elements are wrong, and no call fails. */
#include <hdf5.h>

#include <H5PLextern.h>
#include <string.h>

#ifdef NAMED
#define NAME "adding filter; a name that is a sentence, and longer than most"
enum { ID = 312 };
#elif defined BEHIND
enum { ID = 311 };
#else
enum { ID = 310 };
#endif
#ifndef NAME
#define NAME "adding"
#endif
enum { OWN = 3, MOST = 20 };

static herr_t set_local(hid_t dcpl, hid_t type, hid_t space)
{
    unsigned flags, cd[MOST + OWN], own[OWN] = {0, 5, (unsigned)H5Tget_size(type)};
    size_t   n = MOST;
    (void)space;
    if (H5Pget_filter_by_id2(dcpl, ID, &flags, &n, cd, 0, NULL, NULL) < 0 || n > MOST)
        return -1;
    if (ID == 310)
        memmove(cd + OWN, cd, n * sizeof *cd);
    memcpy(ID == 310 ? cd : cd + n, own, sizeof own);
    return H5Pmodify_filter(dcpl, ID, flags, n + OWN, cd);
}

static size_t turn(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *size, void **buf)
{
    unsigned by = 0x55;
    (void)flags, (void)size;
    for (size_t i = 0; i < n_cd; i++)
        by = by * 31 + cd[i];
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)*buf)[i] ^= (unsigned char)by;
    return n;
}

static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, ID, 1, 1, NAME, NULL, set_local, turn};

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &filter; }
