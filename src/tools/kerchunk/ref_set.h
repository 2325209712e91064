/* A kerchunk reference set in memory: the keys of a Zarr store of version 2, and where the bytes of each are.
 *
 * https://fsspec.github.io/kerchunk/spec.html.  All of a set is foreign input: sizes, counts and nesting are
 * checked, and no file but the set itself is opened here. */
#pragma once

#include "base/bytes.h"
#include "base/list.h"
#include "base/map.h"
#include "base/settings.h"

#define KERCHUNK_WHOLE UINT64_MAX /* length of a reference to a whole file */

/** One key of the Zarr store. */
struct kerchunk_ref {
    size_t key; /* offset in ref_set.bytes */
    uint32_t key_n;
    uint32_t url;      /* index in ref_set.urls; KERCHUNK_INLINE: the bytes are in ref_set.bytes */
    uint64_t off, len; /* of the file, or of ref_set.bytes */
    size_t order;      /* in the set: of two entries for a key the later one counts */
};
#define KERCHUNK_INLINE UINT32_MAX

struct kerchunk_set {
    struct bkt_buf bytes; /* keys and inline data */
    struct kerchunk_ref *refs; /* by key (bytes) after kerchunk_set_sort() */
    size_t n, cap;
    struct bkt_strs urls; /* each once */
    struct bkt_map *by_url;
};

#define KERCHUNK_SET_BYTES ((uint64_t)4 << 30) /* of a set's JSON, and of what its templates make */
#define KERCHUNK_SET_REFS  ((size_t)1 << 27)

/** Read a set by name: a path, file://, s3://, https://; a folder or a name ending in .parq: kerchunk's
 * Parquet layout.  @p out: kerchunk_set_fini(), also after a failure.
 *  @return BKT_OK, the set is sorted; BKT_EFORMAT: the message has the fault; BKT_EUNSUP; … */
BKT_NODISCARD int kerchunk_set_read(const char *name, const struct bkt_settings *set,
                                    struct kerchunk_set *out, struct bkt_err *err);
void kerchunk_set_fini(struct kerchunk_set *s);

/** Parse a set's JSON, version 0 or 1.  The set is sorted then. */
BKT_NODISCARD int kerchunk_set_parse(const void *json, size_t n, struct kerchunk_set *out,
                                     struct bkt_err *err);

/** Bytes of a file. */
struct kerchunk_range {
    const char *url; /* UTF-8 of url_n bytes */
    size_t url_n;
    uint64_t off, len; /* len KERCHUNK_WHOLE: the whole file */
};
/** Add a reference to a file; key and URL are copied.  BKT_EFORMAT: an impossible offset, length, key or URL,
 * or too many references; BKT_ENOMEM. */
BKT_NODISCARD int kerchunk_set_add_url(struct kerchunk_set *s, const char *key, size_t key_n,
                                       const struct kerchunk_range *range, struct bkt_err *err);
/** Add inline bytes, which are copied.  BKT_EFORMAT: an impossible key, or too many references or bytes;
 * BKT_ENOMEM. */
BKT_NODISCARD int kerchunk_set_add_inline(struct kerchunk_set *s, const char *key, size_t key_n,
                                          const void *p, size_t n, struct bkt_err *err);
/** Inline data as they stand in JSON: "base64:…", or the text's own bytes. */
BKT_NODISCARD int kerchunk_set_add_data(struct kerchunk_set *s, const char *key, size_t key_n,
                                        const char *text, size_t n, struct bkt_err *err);
/** Sort by key; of equal keys the last one stays. */
void kerchunk_set_sort(struct kerchunk_set *s);

static inline const char *kerchunk_ref_key(const struct kerchunk_set *s, const struct kerchunk_ref *r)
{
    return (const char *)s->bytes.ptr + r->key;
}
#define KERCHUNK_PATH_DEPTH 128 /* groups in groups */
/** Check an object's path.  BKT_EFORMAT: components that are empty, "." or "..", or too many. */
BKT_NODISCARD int kerchunk_path_check(const char *path, struct bkt_err *err);
/** The reference of a key; NULL: none. */
const struct kerchunk_ref *kerchunk_set_find(const struct kerchunk_set *s, const char *key, size_t n);
/** The first reference whose key is not less than @p key; s->n: none. */
size_t kerchunk_set_lower(const struct kerchunk_set *s, const char *key, size_t n);
