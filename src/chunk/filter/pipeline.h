/* Decoding a stored chunk: by HDF5's own filter pipeline for chunks in HDF5 files, by HSDS's fixed compressor
 * + shuffle for native chunk objects (hsds_codec.c).  Pure: bytes in, bytes out, any thread, no HDF5. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* HDF5's registered filter ids (https://github.com/HDFGroup/hdf5_plugins, H5Zpublic.h) */
enum bkt_filter_id {
    BKT_FILTER_DEFLATE     = 1,
    BKT_FILTER_SHUFFLE     = 2,
    BKT_FILTER_FLETCHER32  = 3,
    BKT_FILTER_SZIP        = 4,
    BKT_FILTER_NBIT        = 5,
    BKT_FILTER_SCALEOFFSET = 6,
    BKT_FILTER_BZIP2       = 307,
    BKT_FILTER_LZF         = 32000,
    BKT_FILTER_BLOSC       = 32001,
    BKT_FILTER_SNAPPY      = 32003,
    BKT_FILTER_LZ4         = 32004,
    BKT_FILTER_BITSHUFFLE  = 32008,
    BKT_FILTER_ZSTD        = 32015,
};

/** A filter of an HDF5 plugin, or one that the program registered, found by vol: the type of H5Z_func_t
 *  (H5Zdevelop.h), without its header.  Called with H5Z_FLAG_REVERSE to decode.  *buf is malloc'ed and may be
 *  replaced.  Gives the new length, 0 on failure. */
typedef size_t bkt_filter_fn(unsigned flags, size_t n_cd, const unsigned cd[], size_t n_bytes,
                             size_t *buf_size, void **buf);

struct bkt_filter {
    int            id;
    unsigned       flags; /* H5Z_FLAG_OPTIONAL = 1 */
    unsigned      *cd;    /* client data values as HDF5 stores them; owned by the pipeline */
    size_t         n_cd;
    size_t         elem_size; /* of the pipeline, for filters whose client data lack it */
    char           name[48];
    bkt_filter_fn *fn;    /* for ids without code in this build; NULL otherwise */
};

#define BKT_PIPELINE_MAX 32 /* H5Z_MAX_NFILTERS */
struct bkt_pipeline {
    struct bkt_filter f[BKT_PIPELINE_MAX]; /* in the order in which they are applied when writing */
    unsigned          n;
    size_t elem_size; /* bytes of one stored element, set before filters are added; 0: not known */
    /* One of its filters is a plugin's or the program's (fn).  Such a filter need not be thread-safe, and may
     * call HDF5: to allocate, or to report an error.  A thread-safe HDF5 would then wait for its lock, which
     * the program's thread holds while it waits for this connector.  So only the program's thread calls such
     * filters, without any of our locks held: chunks with such filters are decoded and encoded by the thread
     * that waits for them, and not by workers. */
    bool              by_caller;
    bool              unchecked; /* checksums are left unread (H5Pset_edc_check) */
};

/** Set the function of a filter of the pipeline; NULL: it has none. */
void bkt_filter_set(struct bkt_pipeline *p, struct bkt_filter *f, bkt_filter_fn *fn);
/** Take the functions of another pipeline with the same filters. */
void bkt_pipeline_follow(struct bkt_pipeline *to, const struct bkt_pipeline *from);

/** Free the filters' data.  The pipeline is empty then. */
void bkt_pipeline_fini(struct bkt_pipeline *p);
/** Append a filter.  @p cd (@p n_cd client values) and @p name (NULL: HDF5's for @p id) are copied.
 *  BKT_EFORMAT: there are BKT_PIPELINE_MAX already; BKT_ENOMEM. */
BKT_NODISCARD int bkt_pipeline_add(struct bkt_pipeline *p, int id, unsigned flags, const unsigned *cd,
                                   size_t n_cd, const char *name, struct bkt_err *err);

/** Whether this build decodes the filter without a plugin. */
bool bkt_filter_builtin(int id);
/** Whether this build decodes all filters of the pipeline without a plugin. */
bool bkt_pipeline_builtin(const struct bkt_pipeline *p);
/** "deflate", "shuffle", …; NULL when unknown. */
const char *bkt_filter_name(int id);

/** Whether any filter of it changes a chunk's length by more than a checksum. */
bool bkt_pipeline_compresses(const struct bkt_pipeline *p);
/** Whether @p n stored bytes that begin with the @p n_head at @p head can be the pipeline's output for a
 *  chunk of @p n_dst bytes, as far as lengths show.  True if the filters are a plugin's or the program's. */
bool bkt_pipeline_may_give(const struct bkt_pipeline *p, const void *head, size_t n_head, size_t n,
                           size_t n_dst);

/** Undo HDF5's pipeline on one chunk.
 * @param p        filters; at least cd values for nbit, scaleoffset, szip (others have sensible defaults)
 * @param mask     bit i set: filter i was skipped for this chunk (HDF5's filter_mask)
 * @param in,n_in  stored bytes; borrowed, not changed
 * @param dst      gets exactly @p n_dst bytes
 * @return BKT_OK; BKT_EFORMAT: corrupt (checksum mismatch, wrong length; the message names the filter);
 *         BKT_EUNSUP: no decoder and no plugin for the filter (named, with id); BKT_ENOMEM */
BKT_NODISCARD int bkt_pipeline_decode(const struct bkt_pipeline *p, uint32_t mask, const void *in,
                                      size_t n_in, void *dst, size_t n_dst, struct bkt_err *err);

/** Undo one filter that this build has code for.  Its elem_size counts if its client data lack that.
 * @param dst   has room for @p room bytes; its first *n are set
 * @return BKT_OK; BKT_EFORMAT: corrupt; BKT_ERANGE: more than @p room bytes; BKT_EUNSUP: no code for the
 * filter; BKT_ENOMEM */
BKT_NODISCARD int bkt_filter_decode(const struct bkt_filter *f, const void *in, size_t n_in, void *dst,
                                    size_t room, size_t *n, struct bkt_err *err);

/** Decode one LZ4 block without any frame, to exactly @p n bytes.  BKT_EFORMAT:
 * corrupt, or another length. */
BKT_NODISCARD int bkt_lz4_block(const void *in, size_t n_in, void *dst, size_t n, struct bkt_err *err);

/** As bkt_pipeline_decode(), but if the last step would be to undo the byte shuffle of elements of
 *  p->elem_size bytes, that step is left to the caller (bkt_unshuffle_part()), which can write straight to
 *  the elements' places.
 *  @param planes  set to whether that is so; NULL: that step is done, too */
BKT_NODISCARD int bkt_pipeline_decode_planes(const struct bkt_pipeline *p, uint32_t mask, const void *in,
                                             size_t n_in, void *dst, size_t n_dst, bool *planes,
                                             struct bkt_err *err);

/** Apply HDF5's pipeline to one chunk.
 * @param out   gets the stored bytes (replacing what is there)
 * @param mask  gets a bit for each optional filter that could not be applied or would only have made the
 *         chunk longer
 * @return BKT_OK; BKT_EUNSUP: a filter that is not optional can't be applied, or has no encoder and no
 *         plugin; BKT_ENOMEM */
BKT_NODISCARD int bkt_pipeline_encode(const struct bkt_pipeline *p, const void *in, size_t n_in,
                                      struct bkt_buf *out, uint32_t *mask, struct bkt_err *err);

/** Check that each filter that isn't optional has an encoder.  BKT_EUNSUP names one that has none. */
BKT_NODISCARD int bkt_pipeline_check(const struct bkt_pipeline *p, struct bkt_err *err);

/** The codec of a native chunk object, which HSDS derives from the list of filters. */
struct bkt_hsds_codec {
    bool   compressed;     /* the list holds a compressor: blosc frame, or a bare zlib stream (pre-2020) */
    bool   zlib;           /* that compressor is deflate/gzip: a bare zlib stream is possible */
    int shuffle; /* 0 none, 1 byte (of compressed chunks only, as in HSDS 0.9), 2 bit (12-byte header +
                    bitshuffle-LZ4 blocks) */
    size_t elem_size;      /* packed element size; 0 for variable-length (shuffle is ignored) */
    size_t max_out;        /* refuse to inflate beyond this many bytes */
};

/** Decode a fixed-size native chunk object into dst (exactly n_dst bytes; another length is BKT_EFORMAT). */
BKT_NODISCARD int bkt_hsds_decode(const struct bkt_hsds_codec *c, const void *in, size_t n_in, void *dst,
                                  size_t n_dst, struct bkt_err *err);
/** Decode a native chunk object of variable-length elements: the length is not known beforehand. */
BKT_NODISCARD int bkt_hsds_decode_var(const struct bkt_hsds_codec *c, const void *in, size_t n_in,
                                      struct bkt_buf *out, struct bkt_err *err);

/** out[i*es+j] = in[j*n+i]: undo HDF5's byte shuffle of n_bytes/es elements; a tail of n_bytes%es bytes is
 *  copied. in and out must not overlap. */
void bkt_unshuffle(const void *in, void *out, size_t n_bytes, size_t es);
/** As bkt_unshuffle(), for `count` elements of n, beginning with the one whose first byte @p in points to. */
void bkt_unshuffle_part(const void *in, size_t n, void *out, size_t count, size_t es);
/** As bkt_unshuffle_part(), with stores that bypass the processor's cache: for memory that is not read soon.
 * @return false: not possible here for such elements, at such a place, or for so few; nothing was done */
bool bkt_unshuffle_past(const void *in, size_t n, void *out, size_t count, size_t es);
/** Call after the last of these stores, before other threads are notified. */
void bkt_unshuffle_fence(void);
/** HDF5's byte shuffle: the inverse of bkt_unshuffle(). */
void bkt_shuffle(const void *in, void *out, size_t n_bytes, size_t es);
