/* Places of a dataset's chunks, by HDF5's index.
 *
 * A short index is listed whole.  So is a long one that the program seems to read much of.  In any other
 * index only the paths to the wanted chunks are read.  H5Dget_chunk_info_by_coord() walks over the whole
 * index, so the place comes from H5Dread_chunk(), while the driver only records HDF5's range. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "chunk/read/references.h"
#include "vol/dataset/plain/plain_read.h"
#include "vol/plain/plain_chunks.h"
#include "vol/vfd/foresight.h"

#define LIST_ALWAYS 4096 /* chunks in the grid: their index is read in one or two round trips */
#define LOOK_UP_MAX 32   /* chunks of one read that are looked up: each takes a round trip, or more */
#define ASKED_MAX   256  /* chunks that are looked up before the whole index is listed */

/* ---- the whole index ---- */

static int list_all(struct bkt_plain_dataset *s, struct bkt_err *err)
{
    /* The number of chunks that the file has room for: each has an entry of 8 bytes, or lies in a row with
     * the others. */
    size_t n, most = (size_t)(s->size / bkt_max_u64(bkt_min_u64(s->v.io->chunk_bytes, 8), 1) + 1);
    struct bkt_file_chunk *v;
    bkt_foresight_expect_index(s->fore, BKT_FORE_INDEX_WHOLE);
    int rc = bkt_file_chunks_found(s->dset, most, &v, &n, err);
    bkt_foresight_expect_index(s->fore, BKT_FORE_INDEX_UNKNOWN);
    BKT_PASS(rc);
    bkt_plain_counts.listed++;
    BKT_PASS(bkt_dsetio_set_found(s->v.io, v, n, err));
    s->complete = true;
    if (n == 0) /* nothing was ever written, which has rules of its own */
        s->way = BKT_PLAIN_NATIVE;
    return BKT_OK;
}

/* ---- single chunks ---- */

/* HDF5 fails in the same way if a chunk doesn't exist and if its index can't be read;
 * only the text differs. */
static herr_t see_missing(unsigned n, const H5E_error2_t *e, void *arg)
{
    (void)n;
    if (e->desc && strcmp(e->desc, "chunk storage is not allocated") == 0)
        *(bool *)arg = true;
    return 0;
}

static int stored_size(struct bkt_plain_dataset *s, const hsize_t *at, hsize_t *size, struct bkt_err *err)
{
    bool   missing = false;
    herr_t rc;
    *size = 0;
    H5E_BEGIN_TRY
    {
        rc = H5Dget_chunk_storage_size(s->dset, at, size);
        if (rc < 0) {
            (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, see_missing, &missing);
            (void)H5Eclear2(H5E_DEFAULT);
        }
    }
    H5E_END_TRY
    if (rc >= 0 && *size == 0)
        s->way = BKT_PLAIN_NATIVE; /* nothing was ever written */
    BKT_FAIL_IF(err, rc < 0 && !missing, BKT_EHDF5, "HDF5 can't find a chunk");
    *size = missing ? 0 : *size;
    return BKT_OK;
}

static int look_up(struct bkt_plain_dataset *s, const uint64_t *coord, struct bkt_file_chunk *out,
                   struct bkt_err *err)
{
    const struct bkt_dset *d = &s->v.obj->dset;
    struct bkt_vfd_recorded seen = {.n = 0};
    hsize_t                at[BKT_MAX_RANK], size;
    bool                   partial = false;
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < d->space.rank; i++) {
        at[i]      = coord[i] * d->layout.dims[i];
        out->index = out->index * bkt_ceil_div(d->space.dims[i], d->layout.dims[i]) + coord[i];
        partial |= at[i] + d->layout.dims[i] > d->space.dims[i];
    }
    bkt_plain_counts.looked_up++;
    BKT_PASS(stored_size(s, at, &size, err));
    if (!size)
        return BKT_OK;
    BKT_PASS(bkt_reference_check(s->v.io, coord, 0, size, err));
    BKT_CLEANUP(bkt_freep) void *unused = malloc(size);
    BKT_NEED(err, unused);
    bkt_vfd_record(s->file, &seen);
    int rc = BKT_PASS_H5(err, H5Dread_chunk(s->dset, H5P_DEFAULT, at, &out->mask, unused), "H5Dread_chunk");
    bkt_vfd_record(s->file, NULL);
    if (rc == BKT_OK && (seen.n != 1 || seen.len != size))
        rc = BKT_ERR(err, BKT_EHDF5, "HDF5 reads a chunk in an unexpected way");
    out->offset = seen.off;
    out->size   = seen.len;
    if (s->unfiltered_edges && partial)
        out->mask = d->n_filters < 32 ? (UINT32_C(1) << d->n_filters) - 1 : UINT32_MAX;
    return rc;
}

static int look_up_all(struct bkt_plain_dataset *s, const struct bkt_touched *t, struct bkt_err *err)
{
    unsigned rank = s->v.obj->dset.space.rank;
    BKT_CLEANUP(bkt_freep) struct bkt_file_chunk *v = calloc(t->n_coords + 1, sizeof *v);
    BKT_NEED(err, v);
    int rc = BKT_OK;
    bkt_foresight_expect_index(s->fore, t->n_coords > 1 ? BKT_FORE_INDEX_UNKNOWN : BKT_FORE_INDEX_PATH);
    for (size_t i = 0; rc == BKT_OK && i < t->n_coords; i++)
        rc = look_up(s, t->coords + i * rank, &v[i], err);
    bkt_foresight_expect_index(s->fore, BKT_FORE_INDEX_UNKNOWN);
    BKT_PASS(rc);
    s->n_asked += t->n_coords;
    return bkt_dsetio_add_found(s->v.io, v, t->n_coords, err);
}

/* ---- a selection ---- */

static int touched_by(struct bkt_plain_dataset *s, hid_t file_space, struct bkt_touched *out,
                      struct bkt_err *err)
{
    struct bkt_sel sel;
    BKT_CLEANUP(bkt_freep) void *runs = NULL;
    memset(&sel, 0, sizeof sel);
    BKT_FAIL_IF(err, file_space == H5S_PLIST, BKT_EUNSUP,
                "selection from the transfer list: no chunks are looked up for it");
    BKT_PASS(bkt_dsel_convert(file_space, &s->v.obj->dset.space, &sel, &runs, err));
    return bkt_dsetio_touched(s->v.io, &sel, LOOK_UP_MAX, out, err);
}

int bkt_plain_dataset_locate(struct bkt_plain_dataset *s, hid_t file_space, bool *native, struct bkt_err *err)
{
    struct bkt_touched t = {.n = 0};
    int rc = BKT_OK;
    *native = s->way == BKT_PLAIN_NATIVE;
    if (s->way != BKT_PLAIN_CHUNKED || (s->complete && !s->leaves_missing))
        return BKT_OK;
    if (!s->complete && s->n_grid <= LIST_ALWAYS)
        rc = list_all(s, err);
    if (rc == BKT_OK)
        rc = touched_by(s, file_space, &t, err);
    if (rc == BKT_OK && t.n_unknown &&
        (!s->looks_up || s->n_grid <= LIST_ALWAYS || t.n_unknown > LOOK_UP_MAX ||
         s->n_asked + t.n_unknown > ASKED_MAX)) {
        free(t.coords);
        rc = list_all(s, err);
        if (rc == BKT_OK)
            rc = touched_by(s, file_space, &t, err);
    } else if (rc == BKT_OK && t.n_unknown)
        rc = look_up_all(s, &t, err);
    *native = s->way == BKT_PLAIN_NATIVE || (s->leaves_missing && t.missing);
    free(t.coords);
    return rc;
}
