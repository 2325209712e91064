/* Shared by the parts of h5bucket verify. */
#pragma once

#include "base/map.h"
#include "chunk/select/selection.h"
#include "tools/bucket/bucket_names.h"
#include "tools/bucket/walk.h"
#include "tools/cli/tool.h"
#include "tools/show/json_out.h"

struct bkt_dsetio;

/** Problems of one dataset that are reported each. */
#define BKT_VERIFY_REPORTED 100

/** A file that references point into; the store is asked once. */
struct bkt_verify_file {
    int      rc;
    uint64_t size;
    char     etag[BKT_ETAG_MAX], stamp[BKT_ETAG_MAX];
};

struct bkt_verify {
    struct bkt_tool   *t;
    struct bkt_domain *d;
    struct bkt_jout    j;
    bool               deep, repair;
    bool only_domain;           /* several processes check this domain together */
    double             min_age; /* seconds */
    uint64_t n_objects, n_chunks, n_refs, n_checked, n_unchecked, n_problems, n_orphans, n_fresh, n_removed;
    uint64_t           n_changed; /* number of reports of a changed file */
    /* chunks of the dataset under way that can't be decoded since a file has changed; the first error */
    uint64_t           n_stale;
    struct bkt_err     stale;
    struct bkt_map    *files;   /* URI -> struct bkt_verify_file */
    bool               is_listed; /* false: the domain can't be listed */
    struct bkt_map    *listed;  /* id -> struct listed (verify_orphans.c) */
    struct bkt_map    *reached; /* id -> struct reached */
    struct bkt_strays {
        struct bkt_stray *v; /* verify_orphans.c */
        size_t            n, cap;
    } strays;
    /* the processes of an mpirun decode chunks; NULL: only this one does */
    struct bkt_verify_shared *shared;
    struct bkt_buf *reported;    /* reports go there as bytes; NULL: they are printed */
    const char        *snapshot; /* none, current, outdated, missing, malformed; made or removed by repair */
    struct bkt_err    *err;
};

/** Report a problem.  @p kind: a word for programs: missing, malformed, reference, changed, chunk, … */
void bkt_verify_problem(struct bkt_verify *v, const char *kind, const char *path, const char *id,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** As bkt_verify_problem(), with the messages of @p why. */
void bkt_verify_failed(struct bkt_verify *v, const char *kind, const char *path, const char *id,
                       const struct bkt_err *why);
/** Report a raw file that differs from what the dataset expects.  It doesn't count as a problem, since HDF5
 *  makes the file when something is written. */
void bkt_verify_raw(struct bkt_verify *v, const char *path, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Report something that could not be checked; by itself it isn't a problem. */
void bkt_verify_note(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why);
/** Report data of an object that could not be checked; with --deep, which promises to check all data, that is
 *  a problem. */
void bkt_verify_unchecked(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why);

/** Print a report, or append it to v->reported.  @p word: "problem", … */
void bkt_verify_say(struct bkt_verify *v, const char *word, const char *kind, const char *path,
                    const char *id, const char *text);
/** Check a dataset's references: each lies inside its file, and the file is unchanged (verify_refs.c). */
void bkt_verify_refs(struct bkt_verify *v, const char *path, const struct bkt_object *o);
/** Decode every chunk.  If its values are references, the objects they name are needed too. */
void bkt_verify_chunks(struct bkt_verify *v, const struct bkt_reached *r);
/** Decode @p n chunks of a dataset.  @p coords: places in the grid, one after the other. */
void bkt_verify_some_chunks(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                            const uint64_t *coords, size_t n);
/** Report chunks that bkt_verify_chunks() found stale, unless bkt_verify_refs() has reported a changed file
 *  since (@p changed: the number before it). */
void bkt_verify_stale(struct bkt_verify *v, const struct bkt_reached *r, uint64_t changed);
/** Note all objects of the domain that stored values name as needed. */
int bkt_verify_named(const struct bkt_verify *v, const struct bkt_reached *r, const void *p, size_t n);

/** List all keys of the domain before anything is followed, so that an object written later doesn't count as
 *  an orphan. */
int bkt_verify_list(struct bkt_verify *v);
/** Note a needed object. */
int bkt_verify_reached(struct bkt_verify *v, const struct bkt_object *o);
/** bkt_reach(), and from the listed objects that a program keeps without a link.  After a problem nothing is
 *  removed, so these are not looked for. */
BKT_NODISCARD int bkt_verify_reach(struct bkt_verify *v,
                                   int (*each)(const struct bkt_reached *r, void *arg));
/** Report chunk objects of impossible size, as far as that can be found without reading them.  Note chunk
 *  objects outside of their dataset's extent for bkt_verify_orphans(). */
int  bkt_verify_sizes(struct bkt_verify *v);
void bkt_verify_strays_fini(struct bkt_strays *s);
/** Report listed objects that aren't needed; remove them if that is requested and they are old enough. */
int bkt_verify_orphans(struct bkt_verify *v);

/** Uploads in parts that were begun and not ended. */
struct bkt_verify_uploads {
    struct bkt_verify_upload {
        char  *key, *id;
        double begun;
    }     *v;
    size_t n, cap;
};
/** List uploads in parts of keys that begin with @p prefix (verify_bucket.c).  If they can't be listed, that
 * is reported, and isn't a failure.
 * @param out  zeroed; bkt_verify_uploads_fini(), whatever is returned */
int bkt_verify_uploads_list(struct bkt_verify *v, struct bkt_store *st, const char *prefix,
                            struct bkt_verify_uploads *out);
void bkt_verify_uploads_fini(struct bkt_verify_uploads *u);
/** Report uploads, and abort them if that is requested and they are old enough.  With @p used: only those
 *  whose tree isn't in it. */
int bkt_verify_uploads(struct bkt_verify *v, struct bkt_store *st, const struct bkt_verify_uploads *u,
                       const struct bkt_map *used);

/** Check that the domain's snapshot exists and matches the stored objects; with --deep, byte by byte
 *  (verify_orphans.c). */
int bkt_verify_snapshot(struct bkt_verify *v);
/** Make the snapshot again unless v->snapshot is current or none; in a directory, where it is of no use,
 * remove it.  Sets v->snapshot. */
int bkt_verify_snapshot_repair(struct bkt_verify *v);

/** Check for object trees of the bucket that no domain has (verify_bucket.c). */
int bkt_verify_bucket(struct bkt_verify *v, const struct bkt_bucket_place *p);
/** Whether an object stored at @p stored, by the store's own clock, may be a working writer's. */
bool bkt_verify_is_fresh(const struct bkt_verify *v, struct bkt_store *st, double stored);
/** Something that nothing needs. */
struct bkt_orphan {
    struct bkt_store *st;
    double            modified; /* when the youngest part of it was stored */
    bool              fresh, removed;
};
/** Remove it if that is requested and it is old enough: all keys below @p prefix, or @p key (either may be
 *  NULL).  Sets fresh and removed.  In JSON this begins the object that reports it. */
int bkt_verify_orphan(struct bkt_verify *v, struct bkt_orphan *o, const char *prefix, const char *key);
/** Count it, and end the report; @p fmt: as text. */
void bkt_verify_end_orphan(struct bkt_verify *v, const struct bkt_orphan *o, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- the processes of an mpirun: they share the chunks of one domain (--deep), or the domains that -r
 * finds ---- */
/** bkt_verify_reach() of the domain @p name, by the first process.  Chunks that @p each puts are decoded by
 *  all. */
BKT_NODISCARD int bkt_verify_shared_reach(struct bkt_verify *v, const char *name,
                                          int (*each)(const struct bkt_reached *r, void *arg));
/** Let chunks be decoded.  bkt_verify_shared_reach() returns failures.
 *  @param sel    their elements
 *  @param cdims  shape of a chunk */
void bkt_verify_shared_put(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                           const struct bkt_sel *sel, size_t n, const uint64_t *cdims);
/** The references of a dataset are checked.  @p changed: a changed file was reported, so its stale chunks are
 *  not reported again */
BKT_NODISCARD int bkt_verify_shared_refs(struct bkt_verify *v, const struct bkt_reached *r, bool changed);
/** Append a report as bytes. */
void bkt_verify_shared_say(struct bkt_buf *out, const char *const texts[5]);

/* ---- the domains of a folder ---- */

/** Check one domain: an exit code. */
typedef int bkt_verify_name_fn(struct bkt_tool *t, const char *name, struct bkt_jout *j);

struct bkt_verify_names;
/** Begin.  NULL in *out: this process is alone. */
BKT_NODISCARD int bkt_verify_names_begin(struct bkt_tool *t, struct bkt_jout *j, bkt_verify_name_fn *check,
                                         struct bkt_verify_names **out, struct bkt_err *err);
/** Let any of the processes check the domain @p name, which is copied.  A failure so far is returned, too. */
BKT_NODISCARD int bkt_verify_names_put(struct bkt_verify_names *n, const char *name, struct bkt_err *err);
/** Wait for all.  @p n: NULL is fine; @p exit_code: gets the code of a domain with problems */
BKT_NODISCARD int bkt_verify_names_end(struct bkt_verify_names *n, int rc, int *exit_code,
                                       struct bkt_err *err);

/** The other processes: work until the first one ends. */
int bkt_verify_shared_serve(struct bkt_tool *t, bkt_verify_name_fn *check);
