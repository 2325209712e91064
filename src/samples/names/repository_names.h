/* Names in a repository: branches, columns and samples, from its files branch.lmdb, ref.lmdb and hash.lmdb.
 *
 * The files are fetched whole.  A branch leads to a commit, a commit lists columns and samples with their
 * digests, and a digest leads to a record or a column's schema. */
#pragma once

#include "base/bytes.h"
#include "base/list.h"
#include "base/settings.h"
#include "samples/h5bucket_samples.h"
#include "samples/names/lmdb_file.h"

struct bkt_branch {
    char *name, *commit; /* commit: "" for a branch without commits */
};
struct bkt_repository_names {
    struct bkt_lmdb   *ref, *hash;
    struct bkt_branch *branches; /* by name */
    size_t             n_branches;
    char              *head;     /* the branch that was last checked out; "": unknown */
};
struct bkt_sample_column {
    const char *name, *schema; /* schema: its digest */
    bool        nested;
    size_t      first, n;      /* samples of the commit */
};
struct bkt_named_sample {
    const char *column, *sample,
        *sub; /* sub: NULL in a flat column.  A name that is a number begins with '#' */
    const char *digest;
};
/** Columns and samples of one commit, by name, numbers first and in their order. */
struct bkt_commit {
    struct bkt_buf           text; /* the bytes to which the other members point */
    struct bkt_sample_column *columns;
    size_t                   n_columns;
    struct bkt_named_sample *samples;
    size_t                   n_samples;
};
struct bkt_sample_column_schema {
    char    type[32], backend[16]; /* "": not given */
    bool    variable, has_shape;
    int     rank;
    hsize_t shape[H5S_MAX_RANK];
};

/** Fetch and open the files.
 *  @return BKT_OK; BKT_ENOENT: the repository has no such files; BKT_EFORMAT: they are damaged; ... */
BKT_NODISCARD int bkt_repository_names_open(const char *repository, const struct bkt_settings *set,
                                            struct bkt_repository_names **out, struct bkt_err *err);
void bkt_repository_names_close(struct bkt_repository_names *names); /* NULL is allowed */

/** Read the commit of a branch; bkt_commit_fini() also after a failure.
 *  @param branch  NULL: the head
 *  @return BKT_OK; BKT_ENOENT: no such branch; BKT_EFORMAT: its commit is missing or damaged */
BKT_NODISCARD int bkt_repository_names_commit(struct bkt_repository_names *names, const char *branch,
                                              struct bkt_commit *out, struct bkt_err *err);
void bkt_commit_fini(struct bkt_commit *c);

/** The column of a name, or NULL. */
const struct bkt_sample_column *bkt_commit_column(const struct bkt_commit *c, const char *name);
/** The sample of a name, or NULL.  A number may be given without its '#'.
 *  @param sub  NULL: of a flat column */
const struct bkt_named_sample *bkt_commit_sample(const struct bkt_commit *c,
                                                 const struct bkt_sample_column *column, const char *sample,
                                                 const char *sub);

/** The record behind a sample's digest. */
BKT_NODISCARD int bkt_repository_names_record(struct bkt_repository_names *names, const char *digest,
                                              char record[H5BUCKET_RECORD_MAX], struct bkt_err *err);
/** The schema behind a column's digest. */
BKT_NODISCARD int bkt_repository_names_schema(struct bkt_repository_names *names, const char *digest,
                                              struct bkt_sample_column_schema *out, struct bkt_err *err);
/** Whether a record is one of an HDF5 file, which the others of a repository are not. */
bool bkt_sample_record_in_hdf5(const char *record);

/** Read a commit's list, as it is stored: for tests.  @p out as of bkt_repository_names_commit(). */
BKT_NODISCARD int bkt_commit_parse(const void *blosc, size_t n, struct bkt_commit *out, struct bkt_err *err);
