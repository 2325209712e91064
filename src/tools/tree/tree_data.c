/* A dataset's data: stored chunks as they are, or elements in blocks. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/tree/diff.h"
#include "tools/cli/interrupt.h"
#include "vol/convert/kept_filters.h"
#include "base/num.h"
#include "tools/cli/tool.h"
#include "tools/tree/tree_impl.h"

#define MAX_BOXES   256 /* of one selection: HDF5 joins them one by one; a block with more of them is moved as a whole */

/* ---- stored chunks ---- */

/* Stored bytes mean the same on both sides: neither references nor heap addresses are in them. */
static bool is_plain(hid_t type)
{
    return H5Tdetect_class(type, H5T_REFERENCE) <= 0 && !tree_is_var(type);
}

/* False: not possible this way. */
static bool move_chunks(const struct tree *t, hid_t src, hid_t dst)
{
    BKT_CLEANUP(h5_closep) hid_t                  dcpl  = H5Dget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t                  type  = H5Dget_type(src);
    BKT_CLEANUP(tree_chunks_fini) struct tree_chunks c  = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf      bytes = {0};
    hsize_t                                       at[H5S_MAX_RANK];
    unsigned                                      opts  = 0;
    /* Chunks of an HDF5 file have been moved by the `data` hook, if possible: H5Dchunk_iter() is wrong about
     * some.  With chunk options HDF5 would take our chunks at the edge, which are filtered, for unfiltered
     * ones. */
    if (t->o->src_native || H5Pget_layout(dcpl) != H5D_CHUNKED || H5Pget_chunk_opts(dcpl, &opts) < 0 || opts || !is_plain(type) ||
        !bkt_filters_agree(src, dst))
        return false;
    if (!tree_chunks_list(src, false, &c) || c.other_shape)
        return false;
    for (size_t i = 0; i < c.n; i++) {
        uint32_t mask = c.v[i].mask;
        if (interrupt_check(NULL) < 0)
            return false; /* move_simple() reports it */
        tree_chunk_offset(&c, c.v[i].index, at);
        if (bkt_buf_resize(&bytes, (size_t)c.v[i].size) < 0 || H5Dread_chunk(src, H5P_DEFAULT, at, &mask, bytes.ptr) < 0 ||
            H5Dwrite_chunk(dst, H5P_DEFAULT, mask, at, (size_t)c.v[i].size, bytes.ptr) < 0) {
            (void)H5Eclear2(H5E_DEFAULT); /* a filter that one side lacks, an unsuitable index: copied by
                                             elements */
            return false;
        }
    }
    return true;
}

/* ---- blocks of elements ---- */

struct io {
    struct tree     *t;
    hid_t            src, dst, space, block; /* block: the memory's */
    struct tree_mem  mem;
    const char      *path;
    size_t           n;
    bool             no_holes; /* unwritten elements can't be read: HDF5 would have to put the fill value into
                                  a heap first */
};

static int move_block(const struct io *io, struct bkt_err *err)
{
    size_t                       a  = H5Tget_size(io->mem.in), b = H5Tget_size(io->mem.out);
    BKT_CLEANUP(bkt_freep) void *in  = calloc(io->n ? io->n : 1, a ? a : 1);
    BKT_CLEANUP(bkt_freep) void *out = io->mem.has_ref ? calloc(io->n ? io->n : 1, b ? b : 1) : NULL;
    int                          rc  = BKT_OK;
    if (!in || (io->mem.has_ref && !out))
        BKT_NOMEM(err);
    if (H5Dread(io->src, io->mem.in, io->block, io->space, H5P_DEFAULT, in) < 0)
        return h5_unreadable(err, "reading data");
    if (out)
        rc = tree_translate(io->t, &io->mem, io->path, in, out, io->n, err);
    if (rc == BKT_OK && H5Dwrite(io->dst, io->mem.out, io->block, io->space, H5P_DEFAULT, out ? out : in) < 0)
        rc = h5_fail(err, "writing data");
    tree_reclaim(&io->mem, io->block, in, out, io->n);
    return rc;
}

/* Moves the elements selected in io->space. */
static int move_selected(struct io *io, struct bkt_err *err)
{
    hssize_t n = H5Sget_select_npoints(io->space);
    int      rc = interrupt_check(err);
    if (rc < 0)
        return rc;
    io->n     = (size_t)n;
    io->block = n < 0 ? -1 : H5Screate_simple(1, &(hsize_t){(hsize_t)n}, NULL);
    rc        = io->block < 0 ? h5_fail(err, "selecting a block") : move_block(io, err);
    h5_closep(&io->block);
    return rc;
}

static int move_whole(struct io *io, const struct bkt_blocks *b, struct bkt_err *err)
{
    if (b->rank && H5Sselect_hyperslab(io->space, H5S_SELECT_SET, b->at, NULL, b->count, NULL) < 0)
        return h5_fail(err, "selecting a block");
    return move_selected(io, err);
}

bool tree_fill_of(hid_t dset, hid_t type, void *out)
{
    BKT_CLEANUP(h5_closep) hid_t dcpl = H5Dget_create_plist(dset);
    H5D_fill_value_t             kind;
    return dcpl >= 0 && H5Pfill_value_defined(dcpl, &kind) >= 0 && kind != H5D_FILL_VALUE_UNDEFINED &&
           H5Pget_fill_value(dcpl, type, out) >= 0;
}

/* Whether an unwritten element is the same on both sides: then it needn't be copied.  If no value was ever
 * given for it on either side (reading fails), it is the same, too. */
static bool fills_agree(struct io *io, const hsize_t *at)
{
    size_t                       a = H5Tget_size(io->mem.in), b = H5Tget_size(io->mem.out);
    BKT_CLEANUP(bkt_freep) char *x = calloc(1, a + 1), *y = calloc(1, b + 1);
    BKT_CLEANUP(h5_closep) hid_t one = H5Screate(H5S_SCALAR);
    if (!x || !y || a != b || one < 0 || H5Sselect_elements(io->space, H5S_SELECT_SET, 1, at) < 0)
        return false;
    bool here    = H5Dread(io->src, io->mem.in, one, io->space, H5P_DEFAULT, x) >= 0;
    bool there   = H5Dread(io->dst, io->mem.out, one, io->space, H5P_DEFAULT, y) >= 0;
    io->no_holes = !here && io->mem.is_var;
    here         = here || (io->no_holes && tree_fill_of(io->src, io->mem.in, x));
    bool same = here == there && (memcmp(x, y, a) == 0 || (here && !io->mem.has_ref && bkt_diff_same(io->mem.in, x, y)));
    if (here && io->mem.is_var)
        (void)H5Treclaim(io->mem.in, one, H5P_DEFAULT, x);
    if (there && io->mem.is_var)
        (void)H5Treclaim(io->mem.out, one, H5P_DEFAULT, y);
    (void)H5Eclear2(H5E_DEFAULT);
    return same;
}

/* Selects @p n chunks of one block, neighbours along the last dimension as one box.  False: too many
 * boxes. */
static bool select_chunks(const struct io *io, const struct tree_chunks *c, const hsize_t *dims, const struct tree_chunk *v, size_t n)
{
    const unsigned last = c->rank - 1;
    unsigned       boxes = 0;
    for (size_t i = 0, k; i < n; i += k) {
        hsize_t at[H5S_MAX_RANK], count[H5S_MAX_RANK];
        tree_chunk_offset(c, v[i].index, at);
        for (k = 1; i + k < n && v[i + k].index == v[i].index + k && v[i + k].index % c->grid[last] != 0;)
            k++;
        for (unsigned d = 0; d <= last; d++)
            count[d] = bkt_min_u64(d == last ? k * c->cdims[d] : c->cdims[d], dims[d] - at[d]);
        if (++boxes > MAX_BOXES || H5Sselect_hyperslab(io->space, i ? H5S_SELECT_OR : H5S_SELECT_SET, at, NULL, count, NULL) < 0)
            return false;
    }
    return true;
}

/* Moves @p n chunks of one block.  If they are many boxes, the whole block is moved; if unwritten elements
 * can't be read, some chunks at once. */
static int move_chosen(struct io *io, const struct bkt_blocks *b, const struct tree_chunks *c, const struct tree_chunk *v, size_t n,
                       struct bkt_err *err)
{
    const size_t most = io->no_holes ? MAX_BOXES : n;
    for (size_t k = 0; k < n; k += most) {
        size_t m = bkt_min_u64(most, n - k);
        BKT_PASS(select_chunks(io, c, b->dims, v + k, m) ? move_selected(io, err) : move_whole(io, b, err));
    }
    return BKT_OK;
}

/* Only the chunks that are stored.  1: done, 0: not possible, negative: failed. */
static int move_stored(struct io *io, unsigned rank, const hsize_t *dims, uint64_t elems, struct bkt_err *err)
{
    BKT_CLEANUP(tree_chunks_fini) struct tree_chunks c = {.v = NULL};
    struct bkt_blocks                                b;
    hsize_t                                          hole[H5S_MAX_RANK] = {0};
    if (!tree_chunks_listable(io->src, io->t->o->src_native) || !tree_chunks_list(io->src, io->t->o->src_native, &c) ||
        (!c.no_grid && !tree_chunks_hole(&c, hole)) || !fills_agree(io, hole))
        return 0;
    if (c.no_grid)
        return 1;
    bkt_blocks_begin(&b, rank, dims, c.cdims, elems);
    tree_chunks_to_blocks(&c, &b);
    for (size_t i = 0, n; i < c.n; i += n) {
        n = tree_chunks_of_block(&c, i);
        bkt_blocks_goto(&b, c.v[i].block);
        BKT_PASS(move_chosen(io, &b, &c, c.v + i, n, err));
    }
    return 1;
}

static int move_simple(struct io *io, hid_t dcpl, struct bkt_err *err)
{
    struct bkt_blocks b;
    const uint64_t    elems = BKT_TOOL_BLOCK / H5Tget_size(io->mem.in);
    hsize_t           dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int               rank = H5Sget_simple_extent_dims(io->space, dims, NULL);
    if (rank < 0)
        return h5_fail(err, "asking for an extent");
    for (int d = 0; d < rank; d++)
        if (dims[d] == 0)
            return BKT_OK;
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == rank;
    bkt_blocks_begin(&b, (unsigned)rank, dims, chunked ? chunk : NULL, elems);
    bool look = bkt_blocks_all(&b) > 1 || (chunked && io->mem.is_var && io->t->o->src_native);
    int  rc   = look ? move_stored(io, b.rank, dims, elems, err) : 0;
    if (rc != 0)
        return rc < 0 ? rc : BKT_OK;
    do {
        BKT_PASS(move_whole(io, &b, err));
    } while (bkt_blocks_next(&b));
    return BKT_OK;
}

int tree_data(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type  = H5Dget_type(src);
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(src);
    BKT_CLEANUP(h5_closep) hid_t dcpl  = H5Dget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t made  = H5Dget_create_plist(dst);
    struct io                    io    = {.t = t, .src = src, .dst = dst, .space = space, .block = -1, .path = path};
    io.mem.in = io.mem.out = -1;
    if (type < 0 || space < 0 || dcpl < 0)
        return h5_unreadable(err, "opening a dataset");
    if (made < 0)
        return h5_fail(err, "opening a dataset");
    if (H5Pget_layout(made) == H5D_VIRTUAL) /* its data lie in other datasets */
        return BKT_OK;
    H5D_space_status_t status;
    if (H5Dget_space_status(src, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED && H5Pget_external_count(dcpl) == 0)
        return BKT_OK;
    (void)H5Eclear2(H5E_DEFAULT);
    if (move_chunks(t, src, dst))
        return BKT_OK;
    int rc = tree_mem_of(t, type, &io.mem, err);
    if (rc == BKT_OK)
        rc = move_simple(&io, dcpl, err);
    tree_mem_fini(&io.mem);
    return rc;
}
