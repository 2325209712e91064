/* h5bucket verify: its parts share this. */
#ifndef BKT_VERIFY_H
#define BKT_VERIFY_H

#include "jout.h"
#include "map.h"
#include "place.h"
#include "tool.h"
#include "walk.h"

struct bkt_dsetio;

/** A file that references point into, asked about once. */
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
    double             min_age; /* seconds */
    uint64_t           n_objects, n_chunks, n_refs, n_checked, n_unchecked, n_problems, n_orphans, n_fresh, n_removed;
    uint64_t           n_changed; /* times that a changed file was told of */
    uint64_t           n_stale;   /* chunks of the dataset under way that can't be decoded because a file has changed, */
    struct bkt_err     stale;     /* and why the first can't */
    struct bkt_map    *files;   /* URI -> struct bkt_verify_file */
    struct bkt_map    *listed;  /* id -> struct listed (verify_orphans.c); NULL: can't be listed */
    struct bkt_map    *reached; /* id -> struct reached */
    struct bkt_strays *strays;  /* verify_orphans.c */
    const char        *snapshot; /* none, current, outdated, missing, malformed; made or removed by repair */
    struct bkt_err    *err;
};

/** Tell of something wrong.  @p kind: a word for programs: missing, malformed, reference, changed, chunk, … */
void bkt_verify_problem(struct bkt_verify *v, const char *kind, const char *path, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/** Tell of a raw file that isn't as the dataset expects it: no problem, HDF5 makes it when something is written. */
void bkt_verify_raw(struct bkt_verify *v, const char *path, const char *id, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Something that could not be looked at: no problem by itself. */
void bkt_verify_note(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why);
/** Data of an object that could not be looked at: with --deep, which claims to look at all of them, a problem. */
void bkt_verify_unchecked(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why);

/** References of a dataset: every one inside its file, and the file unchanged (verify_refs.c). */
void bkt_verify_refs(struct bkt_verify *v, const char *path, const struct bkt_object *o);
/** Every chunk decoded; what its values name is needed too, where they are references. */
void bkt_verify_chunks(struct bkt_verify *v, const struct bkt_reached *r);
/** Chunks that bkt_verify_chunks() found stale, where bkt_verify_refs() has told of no changed file since (@p changed before it). */
void bkt_verify_stale(struct bkt_verify *v, const struct bkt_reached *r, uint64_t changed);
/** All objects of the domain that stored values name. */
int bkt_verify_named(const struct bkt_verify *v, const struct bkt_reached *r, const void *p, size_t n);

/** All that the store lists for the domain, before anything is followed: what is written later is no orphan. */
int bkt_verify_list(struct bkt_verify *v);
/** An object that is needed. */
int bkt_verify_reached(struct bkt_verify *v, const struct bkt_object *o);
/** Chunk objects whose size can't be right are problems, as far as that can be told without reading them; those that lie
 *  outside of their dataset's extent are noted for bkt_verify_orphans(). */
int  bkt_verify_sizes(struct bkt_verify *v);
void bkt_verify_strays_free(struct bkt_strays *s);
/** What is listed and not needed: told, removed where that is wanted and it is old enough. */
int bkt_verify_orphans(struct bkt_verify *v);

/** Uploads in parts of keys that begin with @p prefix (verify_uploads.c); what can't be listed is told, and no failure.
 * @param out  bkt_verify_uploads_free(), whatever is returned */
struct bkt_verify_uploads;
int  bkt_verify_uploads_list(struct bkt_verify *v, struct bkt_store *st, const char *prefix, struct bkt_verify_uploads **out);
void bkt_verify_uploads_free(struct bkt_verify_uploads *u);
/** They are told, given up where that is wanted and they are old enough; with @p used those only whose tree isn't in it. */
int  bkt_verify_uploads(struct bkt_verify *v, struct bkt_store *st, const struct bkt_verify_uploads *u, const struct bkt_map *used);

/** The domain's snapshot: whether it is there, and says what is stored; with --deep, byte by byte (verify_snapshot.c). */
int bkt_verify_snapshot(struct bkt_verify *v);
int bkt_verify_snapshot_repair(struct bkt_verify *v);

/** Object trees of the bucket that no domain has (verify_bucket.c). */
int bkt_verify_bucket(struct bkt_verify *v, const struct bkt_place *p);
/** Whether what was stored at @p mtime, by the store's own clock, may be of a writer at work. */
bool bkt_verify_is_fresh(const struct bkt_verify *v, struct bkt_store *st, double mtime);
/** An orphan was told of, and what became of it: it counts, and in JSON this ends the object that tells of it.
 * @param modified  when the youngest part of it was stored */
void bkt_verify_end_orphan(struct bkt_verify *v, double modified, bool fresh, bool removed);
/** Delete a tree or an object's folder, unless something in it is younger than min_age: then *fresh. */
int bkt_verify_delete(struct bkt_verify *v, struct bkt_store *st, const char *prefix, bool *fresh);

#endif
