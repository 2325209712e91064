/* Many files into one domain (`load --extend`): datasets grow along one dimension, file after file.
 *
 * The dimension is one that the files have: the name of a dimension scale, or a number.  A number is meant
 * for the datasets of the highest rank, and for all that have the same extent there.  Or it is a new leading
 * dimension, of which each file is one step.  The first file makes the domain.  For every other file, also in
 * later runs:
 *   - a dataset with that dimension is appended, like coordinate variables: by reference if --link and its
 *     chunks allow it (whole chunks of one shape), otherwise by copy; its other dimensions, type, filters and
 *     chunks must be those of the first file;
 *   - any other dataset must hold the same values as the first file's;
 *   - attributes, links and groups stay as the first file had them; attributes that say what values mean
 *     (gather_fit.c) must be the same in both;
 *   - a file that misses a dataset, has one more, can't be read or doesn't fit is named and left out as a
 *     whole.
 * The existing content of the domain isn't touched: only extents and chunk tables grow.
 *
 * An append that is killed can leave some extents grown and others not.  So the earlier extents are in a
 * journal beside the domain's document (load_journal_write()) until all is stored.  The next append restores
 * them first. */
#pragma once

#include "tools/load/load_domain.h"

struct gather_rows { /* rows of a chunk table for one file; may be empty */
    unsigned       rank;
    hsize_t        count[BKT_MAX_RANK]; /* the block that they fill */
    unsigned char *v;
    size_t         n_chunks;
};
struct gather_dset { /* one dataset of the domain */
    char             *path;
    hid_t             dst, table;     /* table: its chunk table if it is linked; H5I_INVALID_HID: copied */
    bool              grows, leading; /* leading: the files don't have the growing dimension */
    unsigned          dim;            /* the growing dimension, in the domain */
    uint64_t          at;             /* place of the next file along it */
    uint64_t          before;         /* extent along it before the current file */
    uint64_t          cdims[BKT_MAX_RANK]; /* linked: chunk shape in the domain */
    uint64_t          room;           /* rows that the table has along dim */
    struct load_fields fields;        /* linked */
    /* the current file, if it fits */
    uint64_t          n;              /* number of steps it adds */
    struct gather_rows rows;          /* linked */
    const void *values;               /* copied: all of its values, n_values bytes; NULL: read them */
    size_t n_values;
};
struct gather_plan {
    struct load_job *l;      /* of the current file */
    const char      *name;   /* of the dimension */
    size_t           longest; /* bytes of the longest absolute name of a source given now */
    struct gather_dset *dsets;
    size_t           n_dsets;
    bool             leading;
    unsigned         number; /* dimension by number; UINT_MAX: by name */
    unsigned         rank;   /* by number: the highest rank in the first file, */
    uint64_t         steps;  /* and the extent of the dimension there: datasets with the same extent grow
                                too */
};

struct gather_visit {
    struct gather_plan *a;
    struct bkt_err *err;
    int             rc;
};

/** Look at the first file, to find the meaning of the dimension's name. */
BKT_NODISCARD int gather_begin(struct gather_plan *a, struct load_job *first, const char *name,
                               struct bkt_err *err);
/** Set the shapes of a dataset of the first file in the domain: for bkt_copier_hooks.shape. */
BKT_NODISCARD int gather_shape(void *arg, hid_t src, const char *path, hid_t *space, hid_t *dcpl,
                               struct bkt_err *err);
/** Open the datasets of the domain, which was made from the first file's metadata (bkt_copier_tree() with
 *  gather_shape()), or exists since earlier. */
BKT_NODISCARD int gather_open(struct gather_plan *a, struct bkt_err *err);
/** Call before the first file is added to an existing domain: restores the extents from before an unfinished
 *  append, and reports that; then begins an append. */
BKT_NODISCARD int gather_begin_append(struct gather_plan *a, struct bkt_err *err);
/** Check that the file a->l->src fits, which changes nothing; sets n and rows of each dataset.  BKT_EINVAL,
 * with the reason: it doesn't fit, or can't be read; BKT_ECANCEL; BKT_ENOMEM. */
BKT_NODISCARD int gather_check(struct gather_plan *a, struct bkt_err *err);
/** Add what n and rows (and `values`) say.  They may come from gather_check() in another process; then
 * a->l->src is needed only for values to be read.  BKT_EINVAL: values can't be read, and no extent has
 * grown. */
BKT_NODISCARD int gather_store(struct gather_plan *a, struct bkt_err *err);
/** Cut the extents that were grown ahead. */
BKT_NODISCARD int gather_end(struct gather_plan *a, struct bkt_err *err);
void gather_fini(struct gather_plan *a);

/* ---- gather_fit.c ---- */
/** Find the dimension of the file along which a dataset grows: true and *dim, or false. */
bool gather_grows(const struct gather_plan *a, hid_t src, const char *path, unsigned *dim);
/** Check that a file's dataset fits the domain's; sets d->n and d->rows. */
BKT_NODISCARD int gather_fit(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err);
/** The chunk shape that a dataset of a file has or would have, and whether its steps fill whole chunks. */
bool gather_chunk_shape(hid_t src, unsigned rank, const hsize_t *dims, uint64_t *cdims);

/** Free the rows that refer to a file's dataset. */
void gather_rows_free(struct gather_dset *d);
/** Append by reference (d->rows). */
BKT_NODISCARD int gather_link(struct gather_plan *a, struct gather_dset *d, struct bkt_err *err);
/** Append by copy.  BKT_EINVAL: the values of @p src can't be read. */
BKT_NODISCARD int gather_copy(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err);
/** Append d->values.  BKT_EFORMAT: they have another size. */
BKT_NODISCARD int gather_copy_values(struct gather_plan *a, struct gather_dset *d, struct bkt_err *err);

/* ---- gather.c ---- */

/** Load many sources into one domain, along l->o->extend.  @p failed: number of those that didn't fit; each
 *  is reported. */
BKT_NODISCARD int load_gathered(struct load_job *l, char **sources, int n, const char *domain, hid_t fapl,
                                int *failed, struct bkt_err *err);

/** The other processes: work until the first one ends.  @p l: options and settings are set. */
BKT_NODISCARD int gather_shared_serve(struct load_job *l, char **sources, int n, const char *domain,
                                      hid_t fapl, struct bkt_err *err);
