/* Names on the command line that may be those of plain HDF5 files, in a store or on this machine. */
#pragma once

#include <hdf5.h>

#include "base/err.h"
#include "base/settings.h"
#include "vol/plain/remote_file.h"

struct plain_file {
    const char       *name;  /* as given; borrowed */
    struct bkt_remote r;
    hid_t             file;  /* of HDF5's native connector; < 0: not open */
    char             *inner; /* the object in the file that the name goes on to, else "/"; once it is open */
    char             *uri;   /* the file's name for messages; once it is open */
};
/** Facts about the file, beside its objects. */
struct plain_facts {
    uint64_t size;                    /* bytes */
    double   modified;                /* seconds since the epoch; 0: unknown */
    char     etag[BKT_ETAG_MAX];      /* "": unknown */
    unsigned superblock;              /* version */
    size_t   addr_bytes, size_bytes;  /* of addresses and sizes */
    uint64_t user_block, free_bytes;  /* bytes */
};

/** Begin to fetch the first bytes of the file, while the caller asks for a domain of that name.  Files of
 * this machine need no request.  @p p: plain_file_fini() */
BKT_NODISCARD int plain_file_ask(const char *name, const struct bkt_settings *set, struct plain_file *p,
                                 struct bkt_err *err);
/** Whether the name is that of an HDF5 file.  Waits for the request. */
bool plain_file_is(struct plain_file *p, const struct bkt_settings *set);
/** Open the file, after no domain could be opened for the reason @p rc, @p why.
 * @param info    the connector's info string (bkt_tool_info())
 * @param inside  the name may go on inside the file: FILE/g1/x
 * @return BKT_OK; @p rc, with its reason: the file does not exist; BKT_EHDF5: HDF5 refuses it; … */
BKT_NODISCARD int plain_file_instead(struct plain_file *p, const struct bkt_settings *set, const char *info,
                                     bool inside, int rc, const struct bkt_err *why, struct bkt_err *err);
/** Facts about an open file. */
BKT_NODISCARD int plain_file_facts(const struct plain_file *p, struct plain_facts *out, struct bkt_err *err);
/** Close the file; cancels a request for it. */
void plain_file_fini(struct plain_file *p);
