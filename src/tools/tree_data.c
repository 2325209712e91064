/* A dataset's data: stored chunks as they are, or elements in blocks. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "buf.h"
#include "interrupt.h"
#include "tree_impl.h"

#define BLOCK_BYTES ((uint64_t)16 << 20)

/* ---- stored chunks ---- */

struct chunk {
    hsize_t  offset[H5S_MAX_RANK];
    hsize_t  size;
    unsigned mask;
};
struct chunks {
    struct chunk *v;
    size_t        n, cap;
    unsigned      rank;
};

static int list_chunk(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct chunks *c = arg;
    (void)addr;
    if (c->n == c->cap) {
        size_t        cap = c->cap ? c->cap * 2 : 64;
        struct chunk *v   = reallocarray(c->v, cap, sizeof *v);
        if (!v)
            return H5_ITER_ERROR;
        c->v = v, c->cap = cap;
    }
    memcpy(c->v[c->n].offset, offset, c->rank * sizeof *offset);
    c->v[c->n].mask   = mask;
    c->v[c->n++].size = size;
    return H5_ITER_CONT;
}

static void chunks_fini(struct chunks *c) { free(c->v); }

/* Stored bytes mean the same on both sides: neither references nor heap addresses are in them. */
static bool is_plain(hid_t type)
{
    return H5Tdetect_class(type, H5T_REFERENCE) <= 0 && !tree_is_var(type);
}

/* False: not possible this way. */
static bool move_chunks(const struct tree *t, hid_t src, hid_t dst)
{
    BKT_CLEANUP(h5_closep) hid_t              dcpl = H5Dget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t              type = H5Dget_type(src);
    BKT_CLEANUP(chunks_fini) struct chunks    c    = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    hsize_t                                   dims[H5S_MAX_RANK];
    unsigned                                  opts = 0;
    /* Of an HDF5 file chunks were moved by the `data` hook, where that is possible: H5Dchunk_iter() is wrong about some.  With options
     * HDF5 would take chunks of ours at the edge, which are filtered, for what isn't. */
    if (t->o->src_native || H5Pget_layout(dcpl) != H5D_CHUNKED || H5Pget_chunk_opts(dcpl, &opts) < 0 || opts || !is_plain(type))
        return false;
    int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    c.rank   = rank < 0 ? 0 : (unsigned)rank;
    if (rank <= 0 || H5Dchunk_iter(src, H5P_DEFAULT, list_chunk, &c) < 0) {
        (void)H5Eclear2(H5E_DEFAULT);
        return false;
    }
    for (size_t i = 0; i < c.n; i++) {
        uint32_t mask = c.v[i].mask;
        if (interrupt_check(NULL) < 0)
            return false; /* move_simple() says so */
        if (bkt_buf_resize(&bytes, (size_t)c.v[i].size) < 0 || H5Dread_chunk(src, H5P_DEFAULT, c.v[i].offset, &mask, bytes.ptr) < 0 ||
            H5Dwrite_chunk(dst, H5P_DEFAULT, mask, c.v[i].offset, (size_t)c.v[i].size, bytes.ptr) < 0) {
            (void)H5Eclear2(H5E_DEFAULT); /* filters that one side lacks, an index that can't: by elements, then */
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
        return h5_fail(err, "reading data");
    if (out)
        rc = tree_translate(io->t, &io->mem, io->path, in, out, io->n, err);
    if (rc == BKT_OK && H5Dwrite(io->dst, io->mem.out, io->block, io->space, H5P_DEFAULT, out ? out : in) < 0)
        rc = h5_fail(err, "writing data");
    tree_reclaim(&io->mem, io->block, in, out, io->n);
    return rc;
}

static int move_simple(struct io *io, hid_t dcpl, struct bkt_err *err)
{
    struct bkt_blocks b;
    hsize_t           dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int               rank = H5Sget_simple_extent_dims(io->space, dims, NULL);
    if (rank < 0)
        return h5_fail(err, "asking for an extent");
    for (int d = 0; d < rank; d++)
        if (dims[d] == 0)
            return BKT_OK;
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == rank;
    bkt_blocks_begin(&b, (unsigned)rank, dims, chunked ? chunk : NULL, BLOCK_BYTES / H5Tget_size(io->mem.in));
    do {
        BKT_PASS(interrupt_check(err));
        BKT_CLEANUP(h5_closep) hid_t mem = H5Screate_simple(1, &(hsize_t){b.n}, NULL);
        if (mem < 0 || (rank && H5Sselect_hyperslab(io->space, H5S_SELECT_SET, b.at, NULL, b.count, NULL) < 0))
            return h5_fail(err, "selecting a block");
        io->n = (size_t)b.n, io->block = mem;
        BKT_PASS(move_block(io, err));
    } while (bkt_blocks_next(&b));
    return BKT_OK;
}

int tree_data(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type  = H5Dget_type(src);
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(src);
    BKT_CLEANUP(h5_closep) hid_t dcpl  = H5Dget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t made  = H5Dget_create_plist(dst);
    struct io                    io    = {.t = t, .src = src, .dst = dst, .space = space, .mem = {-1, -1, false, false}, .path = path};
    if (type < 0 || space < 0 || dcpl < 0 || made < 0)
        return h5_fail(err, "opening a dataset");
    if (H5Pget_layout(made) == H5D_VIRTUAL) /* its data are other datasets' */
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
