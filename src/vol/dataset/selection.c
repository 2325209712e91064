/* The selections of a read or a write, in the file and in memory.  Also moves elements between selected
 * memory and our own. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "vol/core/memory_file.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/dataset_calls.h"

/* ---- HDF5's selections as structs of chunk ---- */

static int get_extent(hid_t space, struct bkt_sel *sel, struct bkt_err *err)
{
    int rank = H5Sget_simple_extent_dims(space, sel->dims, NULL);
    BKT_NEED_H5(err, rank >= 0, "asking for a dataspace's extent");
    sel->rank = (unsigned)rank;
    return BKT_OK;
}

/* Turn a selection that was made on an older extent of the dataset into one of the current extent. */
static int onto_extent(hid_t space, hid_t extent, hid_t *out, struct bkt_err *err)
{
    hsize_t start[H5S_MAX_RANK] = {0}, dims[H5S_MAX_RANK];
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Scopy(extent);
    herr_t rc = id < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL) < 0 ? -1 : 0;
    if (rc >= 0)
        rc = H5Sget_select_type(space) == H5S_SEL_ALL
                 ? H5Sselect_hyperslab(id, H5S_SELECT_SET, start, NULL, dims, NULL)
                 : H5Sselect_copy(id, space);
    BKT_NEED_H5(err, rc >= 0, "moving a selection to the dataset's extent");
    return bkt_hid_give(&id, out);
}

/* H5Sget_regular_hyperslab() leaves out the selection's offset (H5Soffset_simple); the bounds include it. */
static int regular(hid_t space, struct bkt_sel *sel, struct bkt_err *err)
{
    hsize_t hi[H5S_MAX_RANK];
    bool    whole = true;

    BKT_NEED_H5(err,
                H5Sget_regular_hyperslab(space, sel->start, sel->stride, sel->count, sel->block) >= 0 &&
                    H5Sget_select_bounds(space, sel->start, hi) >= 0,
                "asking for a hyperslab");
    for (unsigned i = 0; i < sel->rank; i++) {
        if (sel->stride[i] == sel->block[i] || sel->count[i] == 1) {
            sel->count[i] *= sel->block[i];
            sel->stride[i] = sel->block[i] = 1;
        }
        whole = whole && sel->start[i] == 0 && sel->stride[i] == 1 && sel->count[i] == sel->dims[i];
    }
    sel->kind = whole ? BKT_SEL_ALL : BKT_SEL_HYPER;
    return BKT_OK;
}

static int add_runs(struct bkt_buf *runs, const hsize_t *off, const size_t *len, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_run *last = runs->len ? (struct bkt_run *)(void *)(runs->ptr + runs->len) - 1 : NULL;
        if (last && last->off + last->len == off[i]) {
            last->len += len[i];
            continue;
        }
        struct bkt_run run = {off[i], len[i]};
        BKT_PASS(bkt_buf_add(runs, &run, sizeof run));
    }
    return BKT_OK;
}

/* With element size 1, HDF5's byte sequences become sequences of elements. */
static int irregular(hid_t space, struct bkt_sel *sel, void **runs_out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf runs = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t iter = H5Ssel_iter_create(space, 1, 0);
    hsize_t  off[1024];
    size_t   len[1024], n, n_elems;
    uint64_t left = sel->n_elems;

    BKT_NEED_H5(err, iter >= 0, "iterating over a selection");
    while (left > 0) {
        BKT_NEED_H5(err,
                    H5Ssel_iter_get_seq_list(iter, BKT_COUNT(len), (size_t)bkt_min_u64(left, SIZE_MAX), &n,
                                             &n_elems, off, len) >= 0,
                    "iterating over a selection");
        BKT_FAIL_IF(err, n == 0 || n_elems == 0, BKT_EHDF5, "a selection ended before its last element");
        BKT_PASS_MEM(err, add_runs(&runs, off, len, n));
        left -= n_elems;
    }
    sel->kind   = BKT_SEL_RUNS;
    sel->n_runs = runs.len / sizeof(struct bkt_run);
    sel->runs   = bkt_buf_steal(&runs);
    *runs_out   = sel->runs;
    return BKT_OK;
}

static int selection_of(hid_t space, struct bkt_sel *sel, void **runs_out, struct bkt_err *err)
{
    htri_t    valid = H5Sselect_valid(space);
    hssize_t  n     = H5Sget_select_npoints(space);
    H5S_class_t cls = H5Sget_simple_extent_type(space);

    BKT_NEED_H5(err, valid >= 0 && n >= 0, "asking for a selection");
    BKT_FAIL_IF(err, !valid, BKT_EINVAL, "the selection reaches outside the dataspace's extent");
    sel->n_elems = cls == H5S_NULL ? 0 : (uint64_t)n;
    if (sel->n_elems == 0) {
        sel->kind = BKT_SEL_NONE;
        return BKT_OK;
    }
    switch (H5Sget_select_type(space)) {
        case H5S_SEL_ALL:
            sel->kind = BKT_SEL_ALL;
            return BKT_OK;
        case H5S_SEL_HYPERSLABS:
            if (H5Sis_regular_hyperslab(space) > 0)
                return regular(space, sel, err);
            return irregular(space, sel, runs_out, err);
        default:
            return irregular(space, sel, runs_out, err);
    }
}

static bool has_extent(const struct bkt_sel *sel, const struct bkt_space *s)
{
    unsigned rank = s->cls == BKT_S_SIMPLE ? s->rank : 0;
    return sel->rank == rank && memcmp(sel->dims, s->dims, rank * sizeof *s->dims) == 0;
}

/* All of an extent: HDF5 needn't be asked. */
static int all_of(const struct bkt_space *s, struct bkt_sel *sel, struct bkt_err *err)
{
    sel->rank = s->cls == BKT_S_SIMPLE ? s->rank : 0;
    for (unsigned d = 0; d < sel->rank; d++)
        sel->dims[d] = s->dims[d];
    BKT_FAIL_IF(err, bkt_space_count(s, &sel->n_elems, NULL) < 0, BKT_EFORMAT,
                "extent: 2^64 elements or more");
    sel->kind = sel->n_elems ? BKT_SEL_ALL : BKT_SEL_NONE;
    return BKT_OK;
}

int bkt_dsel_convert(hid_t space, const struct bkt_space *extent, struct bkt_sel *sel, void **runs_out,
                     struct bkt_err *err)
{
    *runs_out   = NULL;
    sel->runs   = NULL; /* the arrays' 1 KB shows where a box of some elements is read */
    sel->n_runs = 0;
    if (space == H5S_ALL && extent)
        return all_of(extent, sel, err);
    BKT_PASS(get_extent(space, sel, err));
    if (!extent || has_extent(sel, extent))
        return selection_of(space, sel, runs_out, err);
    unsigned asked = sel->rank;
    BKT_CLEANUP(bkt_hid_closep) hid_t there = H5I_INVALID_HID, moved = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_space(extent, &there, err));
    BKT_PASS(get_extent(there, sel, err));
    BKT_FAIL_IF(err, asked != sel->rank, BKT_EINVAL, "the file dataspace has %u dimensions, the dataset %u",
                asked, sel->rank);
    BKT_PASS(onto_extent(space, there, &moved, err));
    return selection_of(moved, sel, runs_out, err);
}

/* ---- the selections of a call ---- */

void bkt_dsel_fini(struct bkt_dsel *s)
{
    free(s->file_runs);
    free(s->mem_runs);
}

/* Whether a selection is one stretch of memory, and its beginning. */
static bool is_flat(const struct bkt_sel *s, uint64_t *at)
{
    uint64_t size = 1;
    bool     open = true; /* all faster dimensions are selected whole */
    *at = 0;
    if (s->kind == BKT_SEL_ALL)
        return true;
    if (s->kind == BKT_SEL_RUNS) {
        *at = s->n_runs == 1 ? s->runs[0].off : 0;
        return s->n_runs == 1;
    }
    for (unsigned i = s->rank; i-- > 0;) {
        if (s->count[i] > 1 && (s->stride[i] != 1 || !open))
            return false;
        if (s->block[i] != 1)
            return false;
        open = open && s->start[i] == 0 && s->count[i] == s->dims[i];
        *at += s->start[i] * size;
        size *= s->dims[i];
    }
    return true;
}

static int memory_selection(struct bkt_dsel *s, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    if (mem_space == H5S_ALL)
        mem_space = file_space;
    s->mem_space = mem_space;
    if (mem_space == H5S_ALL || mem_space == H5S_BLOCK) {
        s->flat        = true;
        s->mem.n_elems = s->file.n_elems;
        return BKT_OK;
    }
    BKT_TRY(err, bkt_dsel_convert(mem_space, NULL, &s->mem, &s->mem_runs, err), "memory selection");
    s->flat = s->mem.n_elems > 0 && is_flat(&s->mem, &s->flat_at);
    return BKT_OK;
}

int bkt_dsel_init(struct bkt_dsel *s, const struct bkt_vobj *dset, hid_t mem_space, hid_t file_space,
                  struct bkt_err *err)
{
    BKT_FAIL_IF(err, file_space == H5S_PLIST, BKT_EUNSUP,
                "a selection from the transfer property list (H5S_PLIST)");
    BKT_TRY(err, bkt_dsel_convert(file_space, &dset->obj->dset.space, &s->file, &s->file_runs, err),
            "file selection");
    BKT_PASS(memory_selection(s, mem_space, file_space, err));
    BKT_FAIL_IF(err, s->mem.n_elems != s->file.n_elems, BKT_EINVAL,
                "%llu elements selected in the file, %llu in memory", (unsigned long long)s->file.n_elems,
                (unsigned long long)s->mem.n_elems);
    return BKT_OK;
}

int bkt_dsel_move(hid_t iter, unsigned char *buf, unsigned char *packed, size_t n, bool out,
                  struct bkt_err *err)
{
    hsize_t off[512];
    size_t  len[512], n_seq, n_elems;
    while (n > 0) {
        BKT_NEED_H5(err, H5Ssel_iter_get_seq_list(iter, BKT_COUNT(len), n, &n_seq, &n_elems, off, len) >= 0,
                    "iterating over the memory selection");
        BKT_FAIL_IF(err, n_elems == 0, BKT_EHDF5, "the memory selection ended before its last element");
        for (size_t i = 0; i < n_seq; i++) {
            memcpy(out ? buf + off[i] : packed, out ? packed : buf + off[i], len[i]);
            packed += len[i];
        }
        n -= n_elems;
    }
    return BKT_OK;
}

bool bkt_dsel_has_transform(hid_t dxpl)
{
    ssize_t n = 0;
    if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT)
        return false;
    (void)BKT_PASS_H5(NULL, n = H5Pget_data_transform(dxpl, NULL, 0), "H5Pget_data_transform");
    return n > 0;
}

static hid_t dataset_in_memory(hid_t file, hid_t type, size_t n)
{
    hsize_t                           dim   = n;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &dim, NULL);
    return space < 0 ? space : H5Dcreate_anon(file, type, space, H5P_DEFAULT, H5P_DEFAULT);
}

/* No public call evaluates the expression, so HDF5 writes the elements with it to a file in memory. */
int bkt_dsel_transform(hid_t dxpl, hid_t mem_type, void *elems, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_alone(dxpl, &list, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t file = bkt_native_in_memory(1 << 20);
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = file < 0 ? file : dataset_in_memory(file, mem_type, n);
    BKT_NEED_H5(err,
                dset >= 0 && H5Dwrite(dset, mem_type, H5S_ALL, H5S_ALL, list, elems) >= 0 &&
                    H5Dread(dset, mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elems) >= 0,
                "the data transform");
    return BKT_OK;
}

/* ---- pieces that follow one another in selection order ---- */

/* Bytes of the connector's memory that a dataset's conversion takes, about: as much as scratch_pool.h keeps
 * for the next piece. */
#define SHORT_PIECE (16u << 20)

/* Pieces have up to @p most bytes if the selection isn't regular, or if a row of chunks is longer than
 * SHORT_PIECE.  Chunks that a cut divides are read again. */
uint64_t bkt_piece_elems(const struct bkt_sel *sel, const uint64_t *chunk_dims, size_t each, uint64_t most)
{
    uint64_t bytes = each;
    bool     fits  = sel->kind != BKT_SEL_RUNS && sel->rank && chunk_dims[0];
    for (unsigned d = 0; d < sel->rank && fits; d++) {
        uint64_t n = sel->kind == BKT_SEL_ALL ? sel->dims[d] : sel->count[d] * sel->block[d];
        fits       = bkt_mul_u64(bytes, d ? n : bkt_min_u64(chunk_dims[0], n), &bytes);
    }
    return bkt_max_u64((fits && bytes <= SHORT_PIECE ? SHORT_PIECE : most) / each, 1);
}

/* Selected places in one step of the cut dimension */
static uint64_t inner_places(const struct bkt_pieces *p)
{
    uint64_t inner = p->whole.block[p->dim];
    for (unsigned i = p->dim + 1; i < p->whole.rank; i++)
        inner *= p->n[i];
    return inner;
}

/* A regular selection is cut along the first dimension of which one step, with all faster dimensions whole,
 * fits. */
void bkt_pieces_init(struct bkt_pieces *p, const struct bkt_sel *sel, const uint64_t *chunk_dims,
                     uint64_t max)
{
    struct bkt_sel *w = &p->whole;
    memset(p, 0, sizeof *p);
    *w      = *sel;
    p->max  = max;
    p->done = sel->n_elems == 0;
    if (sel->kind == BKT_SEL_RUNS)
        return;
    for (unsigned i = 0; i < w->rank; i++) {
        if (w->kind == BKT_SEL_ALL) {
            w->start[i]  = 0;
            w->stride[i] = w->block[i] = 1;
            w->count[i]  = w->dims[i];
        }
        p->n[i] = w->count[i] * w->block[i];
    }
    if (w->rank == 0)
        return;
    uint64_t inner = 1;
    p->dim         = w->rank - 1;
    while (p->dim > 0 && bkt_mul_u64(inner, p->n[p->dim], &inner) && inner <= max)
        p->dim--;
    p->n[p->dim]    = w->count[p->dim];
    p->chunk        = chunk_dims[p->dim];
    p->whole_chunks = w->stride[p->dim] == 1 && p->chunk && max / p->chunk >= inner_places(p);
    for (unsigned i = 0; i < p->dim; i++)
        p->whole_chunks &= chunk_dims[i] == 1;
}

void bkt_pieces_fini(struct bkt_pieces *p) { free(p->runs); }

static int next_runs(struct bkt_pieces *p, struct bkt_sel *piece)
{
    const struct bkt_sel *w = &p->whole;
    uint64_t left = p->max;
    size_t   n    = 0, last = p->run;
    for (uint64_t sum = 0; last < w->n_runs && sum < p->max + p->used; last++)
        sum += w->runs[last].len;
    free(p->runs);
    p->runs = calloc(last - p->run + 1, sizeof *p->runs);
    if (!p->runs)
        return BKT_ENOMEM;
    piece->n_elems = 0;
    while (left > 0 && p->run < w->n_runs) {
        uint64_t take = bkt_min_u64(left, w->runs[p->run].len - p->used);
        p->runs[n++]  = (struct bkt_run){w->runs[p->run].off + p->used, take};
        p->used += take;
        left -= take;
        piece->n_elems += take;
        if (p->used == w->runs[p->run].len) {
            p->run++;
            p->used = 0;
        }
    }
    piece->runs   = p->runs;
    piece->n_runs = n;
    p->done       = p->run >= w->n_runs;
    return 1;
}

/* The number of steps of the cut dimension in the next piece. */
static uint64_t steps(const struct bkt_pieces *p)
{
    const struct bkt_sel *w = &p->whole;
    uint64_t at = p->at[p->dim], inner = inner_places(p);
    uint64_t n = inner < p->max ? p->max / inner : 1;
    if (n >= p->n[p->dim] - at)
        return p->n[p->dim] - at;
    if (w->stride[p->dim] == 1 && p->chunk > 1) {
        uint64_t end = (w->start[p->dim] + at + n) / p->chunk * p->chunk;
        if (end > w->start[p->dim] + at)
            n = end - w->start[p->dim] - at;
    }
    return n;
}

static void advance(struct bkt_pieces *p, uint64_t n)
{
    unsigned i = p->dim;
    p->at[i] += n;
    while (p->at[i] >= p->n[i]) {
        if (i == 0) {
            p->done = true;
            return;
        }
        p->at[i] = 0;
        p->at[--i]++;
    }
}

int bkt_pieces_next(struct bkt_pieces *p, struct bkt_sel *piece)
{
    const struct bkt_sel *w = &p->whole;
    if (p->done)
        return 0;
    *piece = *w;
    if (w->kind == BKT_SEL_RUNS)
        return next_runs(p, piece);
    if (w->rank == 0) {
        p->done = true;
        return 1;
    }
    uint64_t n  = steps(p);
    piece->kind = BKT_SEL_HYPER;
    for (unsigned i = 0; i < p->dim; i++) {
        piece->start[i]  = w->start[i] + p->at[i] / w->block[i] * w->stride[i] + p->at[i] % w->block[i];
        piece->stride[i] = piece->count[i] = piece->block[i] = 1;
    }
    piece->start[p->dim] = w->start[p->dim] + p->at[p->dim] * w->stride[p->dim];
    piece->count[p->dim] = n;
    piece->n_elems       = 1;
    for (unsigned i = 0; i < w->rank; i++)
        piece->n_elems *= piece->count[i] * piece->block[i];
    advance(p, n);
    return 1;
}
