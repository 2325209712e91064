/* Names of domains and buckets, as programs give them to HDF5 or the tool: a store, and a path in it. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/settings.h"

enum bkt_name_use {
    BKT_NAME_OPEN,
    BKT_NAME_PROBE, /* whether there is a domain: no request is made to find out what is there instead */
    /* a domain that doesn't have to exist yet: for a plain path, the directory that would hold the domain
     * must exist (BKT_ENOENT), and no other file may be in the domain's place (BKT_EEXIST) */
    BKT_NAME_CREATE,
    BKT_NAME_BUCKET /* of a domain or of a bucket, whose path is "" */
};
struct bkt_name {
    char *store_uri;   /* "s3://bucket", "file:///dir", "https://host"; the store to open */
    char *path;        /* domain path inside it, no leading or trailing '/': "home/b.h5" */
    bool  search;      /* directories and https: store_uri is where the name starts; the bucket is the nearest
                          ancestor that holds the root group (path is then relative to the ancestor found) */
    bool  local;       /* no other machine is touched */
    enum bkt_name_use use;
};
/** Take apart a name as given to H5Fopen.
 *  @return BKT_OK; BKT_ENOENT: local evidence shows without a request that the name is not a domain's
 *          (e.g. a plain path that isn't a directory with .domain.json, without a default bucket);
 *          BKT_EINVAL: it is a domain's, but malformed */
BKT_NODISCARD int bkt_name_parse(const char *name, const struct bkt_settings *set, enum bkt_name_use use,
                                 struct bkt_name *out, struct bkt_err *err);
/** The path in file:///path, the scheme in any case; NULL: the name is another one.  Borrowed. */
const char *bkt_name_local_path(const char *name);
/** The full name of the plain HDF5 file that @p name may mean instead of a domain: "s3://bucket/key" or
 *  "https://host/path" as the program wrote it, or "file:///path".  Pointer files and the default bucket are
 *  followed.  Appended to @p out.  No network.
 *  @return BKT_OK; BKT_ENOENT: a plain path without a default bucket; BKT_ENOMEM, … */
BKT_NODISCARD int bkt_name_of_file(const char *name, const struct bkt_settings *set, struct bkt_buf *out,
                                   struct bkt_err *err);
/** Append a path without empty and "." components, and with ".." resolved: a//./b/../c/ -> a/c.
 *  @param out  empty before
 *  @return BKT_OK; BKT_EINVAL: ".." leads above the top; BKT_ENOMEM */
BKT_NODISCARD int bkt_name_clean(const char *path, struct bkt_buf *out);
/** Append a path of this machine, counted from the working directory; else it stays as it is written.
 *  @return BKT_OK; BKT_EIO: the working directory is unknown; BKT_ENOMEM */
BKT_NODISCARD int bkt_name_absolute(const char *path, struct bkt_buf *out, struct bkt_err *err);
/** realpath() of a path whose last component may be absent; free().  NULL: it has none. */
char *bkt_name_real(const char *path);
/** Decode each %xx in place, so that %2e%2e is recognised later.  False: malformed, or a NUL. */
bool bkt_name_decode(char *s);
/** Shorten a path in a store to that of the folder above, which is "" for the bucket itself.  False: it was
 *  "". */
bool              bkt_name_up(char *path);
/** Release the members of @p n; the struct itself is the caller's. */
void              bkt_name_fini(struct bkt_name *n);
/** Whether @p name begins with the scheme of a store, so that it can't be meant for another driver or
 *  connector.  No network. */
bool              bkt_name_has_scheme(const char *name);
/** Whether a path in a bucket is db or below it.  That folder holds the objects of all domains, and no tool
 *  looks for domains there. */
bool bkt_name_is_reserved(const char *path);
#define BKT_NAME_RESERVED "%s: the folder db of a bucket holds the objects of all domains"
/** Whether it begins with any scheme: "://" comes before the first slash. */
bool bkt_name_is_uri(const char *name);
