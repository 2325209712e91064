/* The keys of a domain of version 2 in the store: one LIST shows all objects and chunks. */
#pragma once

#include "base/map.h"
#include "schema/domain/domain.h"

enum bkt_key_kind { BKT_KEY_OBJECT, BKT_KEY_CHUNK, BKT_KEY_OTHER };
struct bkt_listed_key {
    enum bkt_key_kind what;
    struct bkt_id            id;    /* the object; a chunk's dataset; "" for another key */
    const char              *chunk; /* CHUNK: its name, "0_3" */
    const char *tail; /* CHUNK: the key behind the dataset's own folder: the name, or "p7/0_3" */
    const struct bkt_listed *entry; /* borrowed */
};
/** Call @p each for all keys.  @p root: of version 2.  BKT_EUNSUP: version 1, whose objects lie among those
 *  of other domains, or a store without lists. */
BKT_NODISCARD int bkt_key_list(struct bkt_store *st, const struct bkt_id *root,
                               int (*each)(const struct bkt_listed_key *s, void *arg), void *arg,
                               struct bkt_err *err);

/** Chunk objects of a dataset. */
struct bkt_use {
    uint64_t n, bytes;
    double   mtime;
};
/** Count the chunk objects of each dataset by one LIST.
 *  @param out  id -> struct bkt_use; NULL after a failure; bkt_map_clear() by free() */
BKT_NODISCARD int bkt_uses_list(struct bkt_domain *d, struct bkt_map **out, struct bkt_err *err);
/** All is 0 for a dataset without chunk objects. */
struct bkt_use bkt_uses_get(const struct bkt_map *uses, const struct bkt_id *dset);

/** The places of a dataset's data. */
struct bkt_where_file {
    char    *uri;
    uint64_t n, bytes;
};
struct bkt_extent_use {
    bool                   known;  /* false: they can't be counted; `why` has the reason */
    char                  *why;
    bool                   linked; /* chunks in files; else chunk objects */
    uint64_t               n, bytes;
    struct bkt_where_file *files;  /* the first of them, in order of first use */
    size_t                 n_files, more_files; /* more_files: beyond those kept */
};
/** Count chunks and bytes.  @p uses: bkt_uses_list()'s; NULL: the store is asked.  BKT_OK also if the numbers
 * are unknown. */
BKT_NODISCARD int bkt_where_count(struct bkt_domain *d, const struct bkt_object *dset,
                                  const struct bkt_map *uses, struct bkt_extent_use *out,
                                  struct bkt_err *err);
void              bkt_where_fini(struct bkt_extent_use *u);

/** Bytes of the dataset's elements, decoded; 0 for types of variable size. */
uint64_t bkt_dset_logical(const struct bkt_dset *ds);
