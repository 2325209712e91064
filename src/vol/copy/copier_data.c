/* The copier: a dataset's data, by stored chunks as they are, or by elements. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier_impl.h"
#include "vol/copy/same_value.h"
#include "vol/copy/written_chunks.h"
#include "vol/dataset/raw_files.h"

/* Bytes of a dataset in memory at a time: bounds memory; more is not faster to a bucket. */
#define STRIP ((uint64_t)16 << 20)
/* Boxes of one selection: HDF5 joins them one by one, and more at once are not faster. */
#define MAX_BOXES 256
/* Chunks within the bounds of a selection: HDF5 looks at each of them, stored or not. */
#define MAX_CELLS 65536.0

bool bkt_copy_is_outside(hid_t dset, hid_t dcpl)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    return H5Pget_external_count(dcpl) > 0 && (!o || bkt_is_external(o));
}

struct data {
    struct bkt_copier *c;
    hid_t from, to, space, dcpl; /* space: of the file, selected as needed */
    H5D_space_status_t status;   /* of `from` */
    struct bkt_copy_values v;
    const char *path;
    unsigned rank;
    hsize_t dims[H5S_MAX_RANK];
    bool chunked, outside;
    struct bkt_buf *read; /* elements go there instead of `to`, */
    struct bkt_rd *wrote; /* or come from there instead of `from` */
};

static void data_fini(struct data *d)
{
    bkt_copy_values_fini(&d->v);
    bkt_hid_closep(&d->space);
    bkt_hid_closep(&d->dcpl);
}

/* ---- stored chunks ---- */

/* Whether chunks are moved as they are stored. */
static bool may_move(const struct data *d)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(d->from);
    return d->chunked && (!d->c->o->sparse || H5Pget_nfilters(d->dcpl) > 0) &&
           !bkt_convert_has_pointers(type) && bkt_written_fits(d->from, d->to);
}

/* False: not possible this way. */
static bool move_chunks(const struct data *d)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf buf = {0};
    hsize_t at[H5S_MAX_RANK];
    int rc = BKT_OK;
    if (!may_move(d) || !bkt_written_list(d->from, &w) || (w.other_shape && !bkt_vobj_of_id(d->to)))
        return false;
    for (size_t i = 0; rc == BKT_OK && i < w.n; i++) {
        uint32_t mask = w.v[i].mask;
        if (bkt_copy_check(d->c, NULL) < 0 || bkt_buf_resize(&buf, (size_t)w.v[i].size) < 0)
            return false; /* move_elements() reports it */
        bkt_written_offset(&w, w.v[i].index, at);
        /* it fails with a filter that one side lacks, or an unsuitable index */
        rc = BKT_PASS_H5(NULL, H5Dread_chunk(d->from, H5P_DEFAULT, at, &mask, buf.ptr), "H5Dread_chunk");
        if (rc == BKT_OK)
            rc = BKT_PASS_H5(NULL, H5Dwrite_chunk(d->to, H5P_DEFAULT, mask, at, (size_t)w.v[i].size, buf.ptr),
                             "H5Dwrite_chunk");
    }
    return rc == BKT_OK;
}

/* ---- elements ---- */

/* The elements of this step are those that another process has read. */
static int take_read(struct data *d)
{
    size_t n = d->v.n * H5Tget_size(d->v.in);
    const void *p = bkt_rd_take(d->wrote, n);
    BKT_FAIL_IF(d->c->err, !p, BKT_EFORMAT, "elements of a part are missing");
    memcpy(d->v.from, p, n);
    return BKT_OK;
}

static int transfer(struct data *d, hid_t mem)
{
    if (d->wrote)
        BKT_PASS(take_read(d));
    else if (H5Dread(d->from, d->v.in, mem, d->space, H5P_DEFAULT, d->v.from) < 0)
        return bkt_copy_unreadable(d->c, "reading data");
    if (d->read)
        return BKT_MADE(d->c->err, bkt_buf_add(d->read, d->v.from, d->v.n * H5Tget_size(d->v.in)) >= 0);
    BKT_PASS(bkt_copy_translate(d->c, &d->v, d->path));
    return H5Dwrite(d->to, d->v.out, mem, d->space, H5P_DEFAULT, d->v.to) < 0
               ? bkt_copy_failed(d->c, "writing data")
               : BKT_OK;
}

/* Moves the elements that are selected in d->space. */
static int move_selected(struct data *d)
{
    hssize_t n = H5Sget_select_npoints(d->space);
    BKT_PASS(bkt_copy_check(d->c, d->c->err));
    BKT_CLEANUP(bkt_hid_closep)
    hid_t mem = n < 0 ? H5I_INVALID_HID : H5Screate_simple(1, &(hsize_t){(hsize_t)n}, NULL);
    if (mem < 0)
        return bkt_copy_failed(d->c, "selecting a block");
    int rc = bkt_copy_values_room(d->c, &d->v, mem, (size_t)n);
    if (rc == BKT_OK)
        rc = transfer(d, mem);
    bkt_copy_values_drop(&d->v);
    return rc;
}

/* Whether an unwritten element is the same on both sides: then it needn't be copied.  If no value was ever
 * given for it on either side (reading fails), it is the same, too.  The fill value of a creation list is the
 * same for both.  But an unwritten string is NULL or empty, and files have zeros beyond their end. */
static bool fills_agree(const struct data *d, const hsize_t *at)
{
    if (!d->v.has_pointers && !d->outside)
        return true;
    size_t a = H5Tget_size(d->v.in), b = H5Tget_size(d->v.out);
    BKT_CLEANUP(bkt_freep) char *x = calloc(1, a + 1), *y = calloc(1, b + 1);
    BKT_CLEANUP(bkt_hid_closep) hid_t one = H5Screate(H5S_SCALAR);
    if (!x || !y || a != b || one < 0 || H5Sselect_elements(d->space, H5S_SELECT_SET, 1, at) < 0)
        return false;
    bool here = BKT_PASS_H5(NULL, H5Dread(d->from, d->v.in, one, d->space, H5P_DEFAULT, x), "H5Dread") >= 0;
    bool there = BKT_PASS_H5(NULL, H5Dread(d->to, d->v.out, one, d->space, H5P_DEFAULT, y), "H5Dread") >= 0;
    if (!here && d->v.has_pointers) /* in a file open for reading only HDF5 has no place for the fill value */
        here = bkt_same_fill_of(d->from, d->v.in, x);
    bool same = here == there &&
                (memcmp(x, y, a) == 0 || (here && !d->v.translated && bkt_same_value(d->v.in, x, y)));
    if (here && d->v.has_pointers)
        (void)H5Treclaim(d->v.in, one, H5P_DEFAULT, x);
    if (there && d->v.has_pointers)
        (void)H5Treclaim(d->v.out, one, H5P_DEFAULT, y);
    (void)H5Eclear2(H5E_DEFAULT);
    return same;
}

/* Adds a box to the selection: chunk number @p i, and its neighbours along the last dimension that are on the
 * list, too.  Returns the number of these chunks; 0: HDF5 refuses. */
static size_t select_box(const struct data *d, const struct bkt_written *w, size_t i, bool first,
                         uint64_t most, uint64_t *elems)
{
    const unsigned last = w->rank - 1;
    hsize_t at[H5S_MAX_RANK], count[H5S_MAX_RANK];
    uint64_t n = 1;
    size_t k = 1;
    bkt_written_offset(w, w->v[i].index, at);
    for (unsigned x = 0; x < last; x++)
        n *= count[x] = bkt_min_u64(w->cdims[x], d->dims[x] - at[x]);
    while (i + k < w->n && w->v[i + k].index == w->v[i].index + k && w->v[i + k].index % w->grid[last] != 0 &&
           *elems + (k + 1) * n * w->cdims[last] <= most)
        k++;
    n *= count[last] = bkt_min_u64(k * w->cdims[last], d->dims[last] - at[last]);
    *elems += n;
    return H5Sselect_hyperslab(d->space, first ? H5S_SELECT_SET : H5S_SELECT_OR, at, NULL, count, NULL) < 0
               ? 0
               : k;
}

/* The bounds of a selection, in chunks */
struct bounds {
    hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
};

/* Whether chunk number @p i may be selected, too; if so, the bounds grow. */
static bool is_near(const struct bkt_written *w, size_t i, bool first, struct bounds *b)
{
    struct bounds with = *b;
    double n = 1;
    bkt_written_offset(w, w->v[i].index, first ? with.lo : with.hi);
    for (unsigned d = 0; d < w->rank; d++) {
        hsize_t at = (first ? with.lo[d] : with.hi[d]) / w->cdims[d];
        with.lo[d] = first ? at : bkt_min_u64(b->lo[d], at);
        with.hi[d] = first ? at : bkt_max_u64(b->hi[d], at);
        n *= (double)(with.hi[d] - with.lo[d] + 1);
    }
    if (first || n <= MAX_CELLS)
        *b = with;
    return first || n <= MAX_CELLS;
}

/* The chunks of a list, in its order. */
static int move_listed(struct data *d, const struct bkt_written *w, uint64_t most)
{
    for (size_t i = 0; i < w->n;) {
        struct bounds bounds = {{0}, {0}};
        uint64_t elems = 0;
        for (unsigned boxes = 0;
             i < w->n && boxes < MAX_BOXES && elems < most && is_near(w, i, boxes == 0, &bounds); boxes++) {
            size_t k = select_box(d, w, i, boxes == 0, most, &elems);
            if (k == 0)
                return bkt_copy_failed(d->c, "selecting chunks");
            i += k;
        }
        BKT_PASS(move_selected(d));
    }
    return BKT_OK;
}

/* Only the chunks that are stored.  1: done, 0: not possible, negative: failed. */
static int move_stored(struct data *d, uint64_t most)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    hsize_t hole[H5S_MAX_RANK] = {0};
    if (!bkt_written_list(d->from, &w) || (!w.no_grid && !bkt_written_hole(&w, hole)) ||
        !fills_agree(d, hole))
        return 0;
    if (!w.no_grid)
        BKT_PASS(move_listed(d, &w, most));
    return 1;
}

/* Elements in memory at a time; one at least, however large it is. */
static uint64_t most_elements(const struct data *d)
{
    return bkt_max_u64(STRIP / bkt_max_u64(H5Tget_size(d->v.in), 1), 1);
}

/* Whether it is worth the requests to look for elements that were never written. */
static bool looks_for_holes(const struct data *d, const struct bkt_blocks *b)
{
    const bool large = bkt_blocks_all(b) > 1, native = !bkt_vobj_of_id(d->from);
    if (d->outside)
        return large;
    if (!d->chunked)
        return d->status != H5D_SPACE_STATUS_ALLOCATED &&
               (d->c->o->sparse || (large && bkt_written_listable(d->from)));
    return d->c->o->sparse || !d->v.has_pointers || ((large || native) && bkt_written_listable(d->from));
}

static int move_elements(struct data *d)
{
    struct bkt_blocks b;
    hsize_t chunk[H5S_MAX_RANK];
    const uint64_t most = most_elements(d);
    const bool has = d->chunked && H5Pget_chunk(d->dcpl, H5S_MAX_RANK, chunk) == (int)d->rank;
    bkt_blocks_begin(&b, d->rank, d->dims, has ? chunk : NULL, most);
    int rc = looks_for_holes(d, &b) ? move_stored(d, most) : 0;
    if (rc != 0)
        return rc < 0 ? rc : BKT_OK;
    if (d->rank == 0 && H5Sselect_all(d->space) < 0)
        return bkt_copy_failed(d->c, "selecting a block");
    do {
        if (b.rank && H5Sselect_hyperslab(d->space, H5S_SELECT_SET, b.at, NULL, b.count, NULL) < 0)
            return bkt_copy_failed(d->c, "selecting a block");
        BKT_PASS(move_selected(d));
    } while (bkt_blocks_next(&b));
    return BKT_OK;
}

/* Whether there is nothing to copy: nothing was ever written, or the elements lie in other datasets or in
 * files that both refer to. */
static bool is_done(struct data *d, hid_t made)
{
    if (H5Pget_layout(made) == H5D_VIRTUAL ||
        (d->c->o->same_files && d->outside && bkt_copy_is_outside(d->to, d->dcpl)))
        return true;
    if (BKT_PASS_H5(NULL, H5Dget_space_status(d->from, &d->status), "H5Dget_space_status") < 0)
        d->status = H5D_SPACE_STATUS_PART_ALLOCATED;
    return d->status == H5D_SPACE_STATUS_NOT_ALLOCATED && H5Pget_external_count(d->dcpl) == 0;
}

int bkt_copy_data(struct bkt_copier *c, hid_t from, hid_t to, const char *path)
{
    BKT_CLEANUP(data_fini)
    struct data d = {.c = c,
                     .from = from,
                     .to = to,
                     .path = path,
                     .v = {.in = -1, .out = -1},
                     .space = H5Dget_space(from),
                     .dcpl = H5Dget_create_plist(from)};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(from), made = H5Dget_create_plist(to);
    int rank = d.space < 0 ? -1 : H5Sget_simple_extent_dims(d.space, d.dims, NULL);
    if (type < 0 || rank < 0 || d.dcpl < 0)
        return bkt_copy_unreadable(c, "opening a dataset");
    if (made < 0)
        return bkt_copy_failed(c, "opening a dataset");
    d.rank = (unsigned)rank;
    d.chunked = H5Pget_layout(d.dcpl) == H5D_CHUNKED;
    d.outside = bkt_copy_is_outside(from, d.dcpl);
    if (H5Sget_simple_extent_npoints(d.space) <= 0 || is_done(&d, made) || move_chunks(&d))
        return BKT_OK;
    BKT_PASS(bkt_copy_values_of(c, type, &d.v));
    return d.v.in < 0 ? BKT_OK : move_elements(&d);
}

int bkt_copier_chunks(hid_t from, hid_t to, const struct bkt_written *w, const struct bkt_copier_options *o,
                      struct bkt_buf *read, struct bkt_rd *wrote, struct bkt_err *err)
{
    const hid_t shown = from < 0 ? to : from;
    struct bkt_copier c = {.o = o, .err = err, .root = to < 0 ? from : to};
    BKT_CLEANUP(data_fini)
    struct data d = {.c = &c,
                     .from = from,
                     .to = to,
                     .path = "",
                     .v = {.in = H5I_INVALID_HID, .out = H5I_INVALID_HID},
                     .space = H5Dget_space(shown),
                     .dcpl = H5I_INVALID_HID,
                     .read = read,
                     .wrote = wrote};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(shown);
    int rank = d.space < 0 ? -1 : H5Sget_simple_extent_dims(d.space, d.dims, NULL);
    if (type < 0 || rank < 0 || (unsigned)rank != w->rank)
        return bkt_copy_unreadable(&c, "opening a dataset");
    d.rank = (unsigned)rank;
    BKT_PASS(bkt_copy_values_of(&c, type, &d.v));
    return d.v.in < 0 ? BKT_OK : move_listed(&d, w, most_elements(&d));
}
