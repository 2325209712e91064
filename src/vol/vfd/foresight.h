/* Structures of a remote file are fetched before libhdf5 asks for them.
 *
 * The scanner looks at each structure that arrives (format_scan.h).  The structures that it names are fetched
 * side by side, if the program's reads make them likely.  Each relation (a group's members, nodes of an
 * index, ...) has a budget of guesses.  The budget grows when guesses are asked for, and shrinks when guesses
 * are dropped unasked.  If a program opens one object by its path, the path is fetched.  If a program walks
 * over two neighbours, the others are fetched, too. */
#pragma once

#include "vol/vfd/format_scan.h"
#include "vol/vfd/page_cache.h"

struct bkt_foresight;

/** The type that libhdf5 gives for a read; its other types are BKT_FORE_OTHER. */
enum bkt_fore_type { BKT_FORE_SUPER, BKT_FORE_HEADER, BKT_FORE_RAW, BKT_FORE_OTHER };

/** Make the reader of one file.
 *  @param cache  borrowed until bkt_foresight_free()
 *  @param size   of the file, bytes
 *  @return NULL: out of memory */
struct bkt_foresight *bkt_foresight_new(struct bkt_page_cache *cache, uint64_t size);
void bkt_foresight_free(struct bkt_foresight *f); /* NULL is allowed; counts are kept */

/** Read bytes for libhdf5.  off + len is within the file. */
BKT_NODISCARD int bkt_foresight_read(struct bkt_foresight *f, enum bkt_fore_type type, uint64_t off,
                                     uint64_t len, void *to, struct bkt_err *err);

/** Begin to fetch the index of a dataset, which libhdf5 will read.
 *  @param header  address of its object header, without the user block */
void bkt_foresight_begin_index(struct bkt_foresight *f, uint64_t header);

/** How libhdf5 goes through indexes of chunks from now on. */
enum bkt_fore_index {
    BKT_FORE_INDEX_UNKNOWN, /* its reads show that */
    BKT_FORE_INDEX_WHOLE,   /* it lists them: all nodes below each node that it asks for are fetched */
    BKT_FORE_INDEX_PATH     /* it looks for one chunk: neighbours show nothing, and no others are fetched */
};
/** Set the way in which indexes are read from now on. */
void bkt_foresight_expect_index(struct bkt_foresight *f, enum bkt_fore_index index);

/** A range of the file, in bytes. */
struct bkt_fore_range {
    uint64_t off, len;
};
/** Begin to fetch ranges that libhdf5 will read, side by side.  Ranges behind the file's end are cut.
 *  @param r  @p n of them, sorted here by place */
BKT_NODISCARD int bkt_foresight_begin(struct bkt_foresight *f, struct bkt_fore_range *r, size_t n,
                                      struct bkt_err *err);
/** As bkt_foresight_begin(), and wait for the ranges. */
BKT_NODISCARD int bkt_foresight_fetch(struct bkt_foresight *f, struct bkt_fore_range *r, size_t n,
                                      struct bkt_err *err);

/** Sums of this process, for tests. */
struct bkt_fore_counts {
    uint64_t known, unknown; /* structures that libhdf5 asked for: found before, and the others */
    uint64_t round_trips, requests, bytes; /* of the files that were closed; page_cache.h */
};
/** The sums so far, for tests; HDF5's lock guards them. */
struct bkt_fore_counts bkt_foresight_counts(void);
