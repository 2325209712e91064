/* h5bucket load --kerchunk: a domain of a kerchunk reference set. */
#pragma once

#include "tools/kerchunk/zarray.h"
#include "tools/load/load_domain.h"

/** Make the domain.  l: options, settings and progress are set.
 *  @param set_name  the set's name, see kerchunk_set_read() */
BKT_NODISCARD int load_kerchunk(struct load_job *l, const char *set_name, const char *domain, hid_t fapl,
                                struct bkt_err *err);

/* ---- steps ---- */

struct kerchunk_load {
    struct load_job *l;
    struct kerchunk_set set;
    bool set_is_remote;  /* local files aren't opened then */
    char **uris;         /* per set.urls: the name in the domain's references; NULL: not asked for yet */
    uint64_t n_chunks;   /* keys that are chunks of arrays */
    struct bkt_buf kept; /* inline chunks of arrays whose other chunks are referred to */
    uint32_t kept_url;   /* their file among set.urls, if there are any */
};

/** The name by which the domain's references call it; borrowed. */
BKT_NODISCARD int kerchunk_name(struct kerchunk_load *k, uint32_t url, const char **out, struct bkt_err *err);

/** Find the sizes of whole files among the array's references, by HEAD (array_values.c). */
BKT_NODISCARD int kerchunk_sizes(struct kerchunk_load *k, const struct kerchunk_array *a,
                                 struct bkt_err *err);

/** Decode the chunks and write their elements (array_values.c). */
BKT_NODISCARD int kerchunk_copy(struct kerchunk_load *k, const struct kerchunk_array *a, hid_t dset,
                                struct bkt_err *err);

/** Store .zattrs as attributes of an object (zattrs.c).  @p type: of the dataset, negative: a group. */
BKT_NODISCARD int kerchunk_attrs(struct kerchunk_load *k, hid_t object, const char *path,
                                 const struct kerchunk_doc *zattrs, const struct kerchunk_type *type,
                                 struct bkt_err *err);

/** A dataset with named dimensions, for kerchunk_scales(). */
struct kerchunk_named {
    char *path, **names; /* names: one per dimension; NULL: no name */
    unsigned rank;
    uint64_t dims[BKT_MAX_RANK];
};
void kerchunk_named_fini(struct kerchunk_named *v, size_t n);
/** Make dimension scales of the names, as netCDF-4 does (zattrs.c). */
BKT_NODISCARD int kerchunk_scales(struct kerchunk_load *k, const struct kerchunk_named *v, size_t n,
                                  struct bkt_err *err);
