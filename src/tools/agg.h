/* Many files into one domain (`load --extend`): datasets grow along one dimension, file after file.
 *
 * The dimension is one that the files have: the name of a dimension scale, or a number, meant for the datasets of the highest
 * rank and all that have the same extent there.  Or it is a new leading one, of which each file is one step.
 * The first file makes the domain; from every other one, and from all that are added in later runs:
 *   - a dataset with that dimension is appended: by reference where --link and its chunks allow it (whole chunks of one
 *     shape), by copy otherwise; its other dimensions, type, filters and chunks must be those of the first file;
 *   - any other dataset must hold the same values as the first file's;
 *   - attributes, links and groups stay as the first file had them;
 *   - a file that misses a dataset, has one more, or doesn't fit is named and left out as a whole.
 * What is in the domain already is not touched: extents and chunk tables grow. */
#ifndef AGG_H
#define AGG_H

#include "load.h"

struct agg_dset { /* one dataset of the domain */
    char    *path;
    hid_t    dst, table;     /* table: its chunk table when it is linked; H5I_INVALID_HID: copied */
    bool     grows, leading; /* leading: the growing dimension is none of the files' */
    unsigned dim;            /* which grows, in the domain */
    uint64_t at;             /* extent so far along it */
    uint64_t cdims[BKT_MAX_RANK]; /* linked: chunk shape in the domain */
    uint64_t room;           /* rows that the table has along dim */
    uint64_t n;              /* checked: how many steps the file under way adds */
};
struct agg {
    struct load     *l;      /* of the file under way */
    const char      *name;   /* of the dimension */
    size_t           longest; /* bytes that the longest name of a source given now has, absolute */
    struct agg_dset *dsets;
    size_t           n_dsets;
    bool             leading;
    unsigned         number; /* dimension by number; UINT_MAX: by name */
    unsigned         rank;   /* by number: the highest rank in the first file, */
    uint64_t         steps;  /* and the extent of the dimension there: what has the same grows too */
};

struct agg_visit {
    struct agg     *a;
    struct bkt_err *err;
    int             rc;
};

/** Look at the first file, to know what the dimension's name means. */
BKT_NODISCARD int agg_begin(struct agg *a, struct load *first, const char *name, struct bkt_err *err);
/** Shapes of a dataset of the first file in the domain: for tree_hooks.prepare and .data. */
BKT_NODISCARD int agg_shape(struct agg *a, hid_t src, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err);
/** The domain is there, made from the first file's metadata (tree_copy() with agg_shape()), or since long: open what is in it. */
BKT_NODISCARD int agg_open(struct agg *a, struct bkt_err *err);
/** Add the file a->l->src: BKT_EINVAL with the reason when it doesn't fit; nothing is changed then. */
BKT_NODISCARD int agg_add(struct agg *a, struct bkt_err *err);
/** Cut what was grown ahead. */
BKT_NODISCARD int agg_end(struct agg *a, struct bkt_err *err);
void              agg_fini(struct agg *a);

/* ---- agg_fit.c ---- */
/** Along which dimension of the file a dataset grows: true and *dim, or false. */
bool agg_grows(const struct agg *a, hid_t src, const char *path, unsigned *dim);
/** Whether a file's dataset fits one of the domain; sets d->n. */
BKT_NODISCARD int agg_fit(const struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err);
/** The chunk shape that a dataset of a file has or would have, and whether its steps fill whole chunks. */
bool agg_chunk_shape(hid_t src, unsigned rank, const hsize_t *dims, uint64_t *cdims);

/* ---- agg_rows.c ---- */
/** Append by reference, by copy. */
BKT_NODISCARD int agg_link(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err);
BKT_NODISCARD int agg_copy(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err);

#endif
