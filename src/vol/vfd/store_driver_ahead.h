/* The first bytes of files that will be opened soon, fetched meanwhile (store_driver.c). */
#ifndef VFD_AHEAD_H
#define VFD_AHEAD_H

#include "base/settings.h"
#include "storage/store.h"

#define VFD_FIRST ((uint64_t)1 << 20) /* bytes fetched when a file is opened; other sizes don't save requests */

/** Begin to fetch the first VFD_FIRST bytes of a file in a remote store.  Failures are reported when the
 * file is opened.
 * @param name  as it will be given to vfd_open(); names of this machine's files are left alone
 * @param set   borrowed for the call */
void vfd_expect(const char *name, const struct bkt_settings *set);

struct vfd_expected {
    struct bkt_store *st; /* the taker's, like all members */
    char             *key;
    unsigned char    *first;
    uint64_t          n, size;
    char              etag[BKT_ETAG_MAX];
};
/** Wait for the fetched bytes of the file.  False: the file was not expected, or could not be fetched. */
bool vfd_take_expected(const char *name, struct vfd_expected *out);

/** Drop the bytes of files that were never opened. */
void vfd_expect_nothing(void);

#endif
