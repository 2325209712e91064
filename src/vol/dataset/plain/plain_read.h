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
/** The way in which the elements are read. */
enum bkt_plain_way {
    BKT_PLAIN_NATIVE,   /* only HDF5's native connector can read them */
    BKT_PLAIN_VIRTUAL,  /* they are in other datasets */
    BKT_PLAIN_EXTERNAL, /* they are in raw files of a file in a store: HDF5 would look for these files here */
    BKT_PLAIN_CONTIGUOUS, /* by chunk, as the bytes of one range of the file */
    BKT_PLAIN_CHUNKED     /* by chunk */
};
/** The form of stored elements.  All but the first may hold addresses of heaps, whose bytes are fetched
 * before HDF5 reads (plain_heaps.h). */
enum bkt_plain_elements {
    BKT_PLAIN_FIXED,     /* all of an element lies in the dataset */
    BKT_PLAIN_STRINGS,   /* one string of variable length each: also read without HDF5 (plain_sequences.c) */
    BKT_PLAIN_SEQUENCES, /* one sequence each, of values without addresses: as strings */
    BKT_PLAIN_ADDRESSES  /* any other form, and references: HDF5 reads them */
};
/** The dataset that chunk reads in place of a plain one; dataset_read.c uses `v` as any other handle. */
struct bkt_plain_dataset {
    struct bkt_vobj v;          /* first member */
    hid_t dset;                 /* of the native connector; borrowed */
    struct bkt_vfd_file *file;  /* borrowed: the dataset keeps it open */
    struct bkt_foresight *fore; /* the file's, as are its pages */
    struct bkt_page_cache *pages;
    struct bkt_store *family; /* NULL, or the files of which `file` is the first */
    uint64_t size;            /* bytes of the file, or of the family */
    uint64_t header;          /* address of the object, without the user block */
    enum bkt_plain_way way;
    enum bkt_plain_elements elements;
    struct bkt_kept_sources sources; /* VIRTUAL */
    struct bkt_file in;              /* EXTERNAL: has the domain of the file */
    bool leaves_missing;             /* HDF5 leaves memory as it is where a chunk doesn't exist */
    /* CHUNKED */
    bool complete;         /* all chunks' places are known */
    bool looks_up;         /* places of single chunks can be looked up */
    bool unfiltered_edges; /* partial chunks skip the filters */
    uint64_t n_grid;       /* chunks in the grid */
    uint64_t n_asked;      /* chunks whose places were looked up */
    /* elements with addresses */
    struct bkt_heap_addresses addresses; /* the places of addresses in an element */
    unsigned addr_bytes, size_bytes;     /* of addresses and sizes in the file */
    uint64_t user_block;                 /* bytes; addresses count from its end */
    bool heaps_elsewhere;                /* few collections lie between the chunks (plain_heaps.c) */
    size_t base;                         /* STRINGS, SEQUENCES: bytes of one value */
};

/** Whether plain_sequences.c can make the program's values. */
static inline bool bkt_plain_is_sequence(const struct bkt_plain_dataset *s)
{
    return s->elements == BKT_PLAIN_STRINGS || s->elements == BKT_PLAIN_SEQUENCES;
}

/** The struct of a dataset, made on first use; borrowed.  NULL in @p out: another driver reads its file.  If
 *  only the native connector can read the dataset, its way is BKT_PLAIN_NATIVE. */
BKT_NODISCARD int bkt_plain_dataset_of(struct bkt_vobj *plain, struct bkt_plain_dataset **out,
                                       struct bkt_err *err);

/** Find the places of all chunks that a selection touches.  @p native: set if only the native connector can
 *  read the selection. */
BKT_NODISCARD int bkt_plain_dataset_locate(struct bkt_plain_dataset *s, hid_t file_space, bool *native,
                                           struct bkt_err *err);

/** Read dataset @p i of the call, a virtual one (plain_virtual.c).  @p native: set if only the native
 * connector can read it; then nothing was read. */
BKT_NODISCARD int bkt_plain_virtual_read(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i,
                                         bool *native, struct bkt_err *err);

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
