/* Plain HDF5 files with datasets of every kind, and a web server for them.  A read goes through the connector's
 * table of plain datasets, beside a read by HDF5 alone. */
#ifndef BKT_TEST_PLAIN_FILES_H
#define BKT_TEST_PLAIN_FILES_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"

/** A made-up failure ends the test. */
void must_do(herr_t rc, const char *what);
hid_t must_id(hid_t id, const char *what);

/** A file of HDF5's own connector, whose format lies between the two versions. */
hid_t plain_new(const char *path, H5F_libver_t low, H5F_libver_t high);

/** The parts of a dataset. */
struct plain_form {
    const char *name;
    unsigned    rank;
    hsize_t     dims[3], max[3], chunk[3]; /* chunk[0] = 0: contiguous; 1: compact; max[0] = 0: as dims */
};
extern const struct plain_form plain_forms[];
extern const size_t            plain_forms_n;

struct plain_filters {
    const char *name;
    int         ids[3];    /* H5Z_FILTER_…; 0: no more */
    unsigned    mask;      /* every other chunk is stored with this filter mask, from the raw bytes */
    bool unfiltered_edges;
};
extern const struct plain_filters plain_filters[];
extern const size_t               plain_filters_n;

struct plain_fill {
    const char      *name;
    int              value; /* 0: the default, 1: a value, -1: undefined */
    H5D_fill_time_t  when;
    H5D_alloc_time_t alloc;
    unsigned         written; /* of 8 parts of the rows */
};
extern const struct plain_fill plain_fills[];
extern const size_t            plain_fills_n;

/** Make a dataset, and write some of it.  False: HDF5 has no such dataset (contiguous with filters). */
bool plain_dataset(hid_t file, const char *name, hid_t type, const struct plain_form *form,
                   const struct plain_filters *filters, const struct plain_fill *fill);

/** Serve a file from now on, under any name but those with ".raw": they have the 36 bytes 0..9a..z, and those
 * with "refused", which are HTTP 403.  The server begins with the first call. */
const char *plain_serve(const char *path);
/** Serve the files of a folder from now on, at most 32 of them; others don't exist.  Returns the address of
 * the folder.  NULL: no folder any more. */
const char *plain_serve_folder(const char *folder);
/** End the server. */
void plain_serve_end(void);
/** GETs since the last call. */
unsigned plain_requests(void);
/** From now on no request is answered before its wave has come whole: each wave ends with the request of that
 *  number, counted from here.  Requests that come one after another wait for ever.  NULL: as usual. */
void plain_waves(const unsigned *ends, size_t n);
/** Make the server misbehave: from the next request on it serves another version; 0 bytes: as usual. */
void plain_replace(bool replaced);

/** Open the URL through our driver, and by HDF5's connector. */
hid_t plain_open(const char *url, const struct bkt_settings *set);
/** As H5Dread_multi() of the connector. */
int plain_read(size_t n, const hid_t *dsets, const hid_t *mem_types, const hid_t *mem_spaces, const hid_t *file_spaces,
               hid_t dxpl, void **bufs);
/** The same for one dataset that stays open, as a handle of ours. */
struct bkt_vobj *plain_handle(hid_t dset); /* of the native connector, which the caller closes later */
void plain_handle_free(struct bkt_vobj *o);
int plain_read_by(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf);

#endif
