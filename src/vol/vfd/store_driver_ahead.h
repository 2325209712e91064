/* The first bytes of files that will be opened soon, fetched in the background (store_driver.c). */
#pragma once

#include "base/settings.h"
#include "storage/store.h"

/* Bytes fetched when a file is opened.  Metadata at the front of a file mostly fit, and a first value's chunk
 * may still come before a MiB has been fetched.  bench/tuning.md has other sizes. */
#define BKT_VFD_FIRST ((uint64_t)512 << 10)

/** Judge the answered request for a file's first bytes.  An empty file has no bytes, and HDF5 refuses it.
 * @param n, size  the bytes that arrived, and the file's
 * @return BKT_OK, the request's failure, or BKT_EUNSUP: the size is not known */
BKT_NODISCARD int bkt_vfd_first(const char *name, const struct bkt_req *r, uint64_t *n, uint64_t *size,
                                struct bkt_err *err);

/** Begin to fetch the first BKT_VFD_FIRST bytes of a file in a remote store, unless that has begun already
 * with the same settings.  Failures are reported when the file is opened.
 * @param name  as it will be given to vfd_open(); names of this machine's files are left alone
 * @param set   borrowed for the call */
void bkt_vfd_expect(const char *name, const struct bkt_settings *set);

struct bkt_vfd_expected {
    struct bkt_store *st; /* the taker's, like all members */
    char             *key;
    unsigned char    *first;
    uint64_t          n, size;
    struct bkt_version version;
};
/** Wait for the fetched bytes of the file.  1: @p out is the caller's; 0: the file was not expected; or the
 *  code of the failed request. */
int bkt_vfd_take_expected(const char *name, struct bkt_vfd_expected *out, struct bkt_err *err);
/** Wait for them; the file stays expected, unless the request failed.  BKT_OK also if the file was not
 * expected, as when its name is malformed: the driver reports that. */
BKT_NODISCARD int bkt_vfd_expected_wait(const char *name, struct bkt_err *err);
/** Whether the fetched bytes have HDF5's signature at one of the places where a file may begin.  Waits for
 *  them; the file stays expected.  False: it was not expected, or could not be fetched, too. */
bool bkt_vfd_expected_is_hdf5(const char *name);
/** Keep the fetched bytes for an open that follows within seconds; later they are fetched again. */
void bkt_vfd_expect_soon(const char *name);
/** Whether they are kept so, fetched with these settings. */
bool bkt_vfd_is_expected_soon(const char *name, const struct bkt_settings *set);
/** Cancel the request of a file that will not be opened. */
void bkt_vfd_expect_not(const char *name);

/** Drop the bytes of files that were never opened. */
void bkt_vfd_expect_nothing(void);
