/* Samples by record: the files of Hangar's HDF5 backends 00 and 01, plain or as domains, in a folder or a
 * bucket.
 *
 * A repository holds files `data/00/<uid>.hdf5` and `data/01/<uid>.hdf5`.  A file holds collections (datasets
 * "0", "1", ...), and each of their rows holds a sample.  A record names a file, a collection, a row, the
 * shape and the digest of one sample.  docs/samples.md shows programs.
 *
 * Link with libh5bucket_samples and HDF5; the plugin must be on HDF5's plugin path (HDF5_PLUGIN_PATH).  A
 * failure returns a negative value or NULL, with the reason on HDF5's error stack.  One thread at a time may
 * use a repository and its writers. */
#ifndef H5BUCKET_SAMPLES_H
#define H5BUCKET_SAMPLES_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define H5BUCKET_RECORD_MAX 256 /* bytes of a record with its NUL */
#define H5BUCKET_UID_MAX    64  /* bytes of a file's uid with its NUL */

/* ---- repositories ---- */

typedef struct h5bucket_repository h5bucket_repository;

/** Open a repository.  Nothing is requested yet; files are opened when a record first names them, and stay
 *  open.
 *  @param name  `s3://bucket/repository`, `https://...` or a folder: the folder that holds `data`, or
 *               `.hangar/data`
 *  @param info  settings as for H5Pset_fapl_bucket() (h5bucket.h), NULL or "" for none.  Besides
 *               `backend=file`: new files are plain HDF5 files, in a folder only; `backend=domain`, the
 *               default: they are domains
 *  @return to be closed with h5bucket_repository_close(), or NULL */
h5bucket_repository *h5bucket_repository_open(const char *name, const char *info);

/** Close a repository and its files.  Writers are closed before.  NULL is allowed. */
herr_t h5bucket_repository_close(h5bucket_repository *repository);

/* ---- records ---- */

/** A sample's place.  `shape` has `rank` numbers, none for a scalar. */
struct h5bucket_record {
    int      format; /* 0: backend 00, samples are flat; 1: backend 01 */
    char     uid[H5BUCKET_UID_MAX];
    bool     has_digest; /* records of v0.2 have none */
    uint64_t digest;     /* xxh64 of the sample's bytes, as they are stored */
    uint32_t dataset, row;
    int      rank;
    hsize_t  shape[H5S_MAX_RANK];
};

/** Parse @p n bytes of a record: `00:uid:digest:dataset:row:shape`, `00:uid$digest$dataset row*shape`, or
 *  `00:uid$dataset row*shape`.  An error names the byte where parsing ended. */
herr_t h5bucket_record_parse(const char *text, size_t n, struct h5bucket_record *out);

/** Write a record's text.
 *
 *  @param grammar  5: that of Hangar v0.5; 4: v0.4; 2: v0.2, which leaves out the digest
 *  @param text     the text and a NUL */
herr_t h5bucket_record_emit(const struct h5bucket_record *record, int grammar,
                            char text[H5BUCKET_RECORD_MAX]);

/* ---- reading ---- */

/** A sample of a batch.  `buffer` holds `size` bytes and gets the sample's elements in C order. */
struct h5bucket_sample {
    const char *record;     /* with a NUL */
    void       *buffer;
    size_t      size;
    herr_t      status;     /* result: non-negative, or negative, and `error` has the reason */
    char        error[512];
};

/** Parse a record, and find the type of its elements.
 *
 *  @param type    gets the type as it is stored, for H5Tclose(); may be NULL, and then no file is opened
 *  @param fields  gets the record's fields; may be NULL */
herr_t h5bucket_sample_info(h5bucket_repository *repository, const char *record, hid_t *type,
                            struct h5bucket_record *fields);

/** Read one sample, and compare its digest.
 *
 *  @param type    of elements in @p buffer; negative: as they are stored
 *  @param size    bytes of @p buffer, at least the number of elements times the size of @p type */
herr_t h5bucket_sample_read(h5bucket_repository *repository, const char *record, hid_t type, void *buffer,
                            size_t size);

/** Read many samples side by side, each with its own record and buffer, in any order, from any files.  A
 * sample that fails leaves undefined bytes in its buffer, and all others are read.
 *
 *  @param type  of elements in all buffers; negative: as each sample is stored
 *  @return negative if a sample failed, or none could be read */
herr_t h5bucket_sample_read_many(h5bucket_repository *repository, size_t n, struct h5bucket_sample samples[],
                                 hid_t type);

/* ---- writing ---- */

/** Samples of a writer: the elements' type, and the shape of each sample or (variable) the largest one. */
struct h5bucket_samples_schema {
    hid_t       type; /* a number or boolean type of numpy's */
    int         rank;
    hsize_t     shape[H5S_MAX_RANK];
    bool        variable;
    int         backend;   /* 0 or 1 */
    const char *complib;   /* "blosc:blosclz", "blosc:lz4", "blosc:lz4hc", "blosc:zlib", "blosc:zstd", "lzf",
                              "gzip", "none";   NULL: Hangar's default, also for the next two */
    int         complevel; /* 0 to 9, of blosc and gzip */
    const char *shuffle;   /* "none", "byte", or for blosc "bit"; NULL: "byte" for all compressors */
};

typedef struct h5bucket_samples h5bucket_samples;

/** Begin to append samples, in new files with new uids.  Many writers may append to a repository at once.
 *
 *  @return to be closed with h5bucket_samples_close(), or NULL */
h5bucket_samples *h5bucket_samples_open(h5bucket_repository *repository,
                                        const struct h5bucket_samples_schema *schema);

/** Append one sample.
 *
 *  @param sample  its elements in C order, of the schema's type; may be NULL if it has none
 *  @param shape   of the schema's rank; NULL: the schema's
 *  @param record  gets the sample's record, valid for readers after a flush; may be NULL */
herr_t h5bucket_samples_append(h5bucket_samples *samples, const void *sample, const hsize_t *shape,
                               char record[H5BUCKET_RECORD_MAX]);

/** Store all appended samples.  They stay readable even if this program is killed afterwards. */
herr_t h5bucket_samples_flush(h5bucket_samples *samples);

/** Flush and close.  If it fails, the writer stays open.  NULL is allowed. */
herr_t h5bucket_samples_close(h5bucket_samples *samples);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
