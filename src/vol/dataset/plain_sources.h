/* Sources of virtual datasets in plain HDF5 files in stores, which one call reads together. */
#ifndef BKT_PLAIN_SOURCES_H
#define BKT_PLAIN_SOURCES_H

#include "vol/core/vol.h"

/** Sources that stay open, so that their indexes need not be read again. */
struct bkt_kept_source {
    struct bkt_kept_source *next;
    char *file, *name; /* as the mapping names them */
    hid_t in;          /* the file */
    struct bkt_vobj o; /* a handle of the dataset, which is o.native_id */
};
struct bkt_kept_sources {
    struct bkt_kept_source *first;
    size_t n;
};
struct bkt_kept_source *bkt_kept_find(const struct bkt_kept_sources *k, const char *file, const char *name);
/** Takes over the ids, also after a failure. */
BKT_NODISCARD int bkt_kept_add(struct bkt_kept_sources *k, const char *file, const char *name, hid_t in,
                               hid_t dset, struct bkt_err *err);
void bkt_kept_close(struct bkt_kept_sources *k);

/** Reads that were put off. */
struct bkt_sources {
    struct bkt_pending *v;
    size_t n, cap;
    hid_t mem_type, dxpl; /* borrowed */
    void *buf;
    struct bkt_kept_sources *kept; /* borrowed; NULL: none */
};
void bkt_sources_init(struct bkt_sources *s, hid_t mem_type, hid_t dxpl, void *buf,
                      struct bkt_kept_sources *kept);
/** Reads that were put off and not done are dropped. */
void bkt_sources_fini(struct bkt_sources *s);
/** Put off a read.  Takes over the ids of the dataset, and of the selections in memory and in it. */
BKT_NODISCARD int bkt_sources_add(struct bkt_sources *s, hid_t *dset, hid_t *mem, hid_t *src,
                                  struct bkt_err *err);
/** Before other elements are put into @p mem: make reads that go to the same places. */
BKT_NODISCARD int bkt_sources_before(struct bkt_sources *s, hid_t mem, struct bkt_err *err);
/** Make all of them, side by side. */
BKT_NODISCARD int bkt_sources_read(struct bkt_sources *s, struct bkt_err *err);

#endif
