/* Reads of datasets in plain HDF5 files that the connector's file driver reads from a store.
 *
 * HDF5's native connector opens the file and parses its metadata.  The elements are read by chunk, as those
 * of references: all ranges side by side, decoded by workers, read ahead, cached.  A struct
 * bkt_plain_dataset stands for the dataset there.  Its elements are opaque to chunk.  HDF5 converts them with
 * the real types, so each type is read as HDF5 itself reads it.
 *
 * If chunk can't read a dataset exactly as HDF5 does, the native connector reads it through the driver. */
#pragma once

#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/virtual.h"
#include "vol/vfd/foresight.h"
#include "vol/vfd/store_driver.h"

/** The addresses in elements of one type, as they are stored. */
struct bkt_heap_addresses {
    size_t size;                      /* bytes of a stored element */
    size_t *at, n, cap;               /* offsets of heap addresses in it */
    struct bkt_heap_addresses *inner; /* elements of sequences that hold addresses themselves */
    size_t n_inner, cap_inner;
};
/** The dataset that chunk reads in place of a plain one; dataset_read.c uses `v` as any other handle. */
struct bkt_plain_dataset {
    struct bkt_vobj v;          /* first member */
    hid_t dset;                 /* of the native connector; borrowed */
    struct bkt_vfd_file *file;  /* borrowed: the dataset keeps it open */
    struct bkt_foresight *fore; /* the file's, as are its pages */
    struct bkt_page_cache *pages;
    struct bkt_store *family;        /* NULL, or the files of which `file` is the first */
    uint64_t size;                   /* bytes of the file, or of the family */
    bool native;                     /* only the native connector can read it */
    bool external;                   /* its elements are in raw files, which only we may open */
    bool is_virtual;                 /* its elements are in other datasets */
    struct bkt_kept_sources sources; /* is_virtual */
    struct bkt_file in;              /* external: has the domain of the file */
    bool chunked;
    bool complete;        /* all chunks' places are known */
    bool leaves_missing;  /* HDF5 leaves memory as it is where a chunk doesn't exist */
    bool looks_up;        /* places of single chunks can be looked up */
    bool unfiltered_edges; /* partial chunks skip the filters */
    bool heaps;           /* elements hold heap addresses, so HDF5 converts them (plain_heaps.h) */
    bool heaps_elsewhere; /* heaps: few lie between the chunks (plain_heaps.c) */
    struct bkt_heap_addresses addresses; /* heaps: the places of these addresses */
    unsigned addr_bytes, size_bytes;     /* heaps: of addresses and sizes in the file */
    uint64_t user_block;                 /* heaps: bytes; addresses count from its end */
    bool simple, text; /* heaps: an element is one sequence of values without pointers; it is a string */
    size_t base;       /* simple: bytes of one such value */
    uint64_t header;   /* address, without the user block */
    uint64_t n_grid;   /* chunks in the grid */
    uint64_t n_asked;  /* chunks whose places were looked up */
};

/** The struct of a dataset, made on first use; borrowed.  NULL in @p out: another driver reads its file.  If
 *  only the native connector can read the dataset, its struct has `native`. */
BKT_NODISCARD int bkt_plain_dataset_of(struct bkt_vobj *plain, struct bkt_plain_dataset **out,
                                       struct bkt_err *err);

/** Find the places of all chunks that a selection touches.  @p native: set if only the native connector can
 *  read the selection. */
BKT_NODISCARD int bkt_plain_dataset_locate(struct bkt_plain_dataset *s, hid_t file_space, bool *native,
                                           struct bkt_err *err);

/** Whether HDF5 itself is asked after such an error: its result counts. */
static inline bool bkt_plain_is_format(int rc)
{
    return rc == BKT_EFORMAT || rc == BKT_EUNSUP || rc == BKT_EINVAL || rc == BKT_EHDF5 || rc == BKT_ERANGE;
}

/** Sums of this process, for tests. */
struct bkt_plain_counts {
    uint64_t by_chunk, by_native, by_heaps, by_sequences, by_sources; /* datasets read, of files in stores */
    uint64_t listed, looked_up;   /* indexes listed whole; chunks looked up */
};
extern struct bkt_plain_counts bkt_plain_counts; /* under HDF5's lock */
