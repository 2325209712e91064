/* H5Dread and H5Dread_multi: one plan for all datasets of a call.
 *
 * Each dataset goes one of three ways.  STRAIGHT: into the program's buffer, as stored or recast on the
 * way (number_kernels.h).  IN_PLACE: into the program's buffer, and then converted there.  STAGED: into
 * the connector's memory, then converted and spread, in pieces if it is large. */
#include "vol/dataset/dataset_calls.h"

#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"
#include "chunk/dataset/dataset.h"
#include "base/num.h"
#include "base/os/scratch_pool.h"

/* BKT_CONVERT_PIECE where no requests wait: as much as scratch_pool.h keeps. */
#define PIECE_LOCAL (16U << 20)

enum way { STRAIGHT, IN_PLACE, STAGED };

struct job {
    struct bkt_vobj *o;
    unsigned char   *buf;
    enum way         way;
    bool             transform; /* H5Pset_data_transform */
    bool             unchecked; /* H5Pset_edc_check */
    bool             unwritten; /* never written, and without a fill value: zeros, even after conversion */
    bool blank;                 /* never written: bytes that the conversion leaves alone become zeros */
    struct bkt_conversion types; /* `file_type`: only during job_init() */
    struct bkt_value_tree conv;
    struct bkt_recast *recast; /* STRAIGHT: NULL: as stored */
    struct bkt_dsel  sel;
    hid_t            iter, back_iter; /* STAGED, not flat: places in memory of the next elements, and of
                                         their old values */
};

static void job_fini(struct job *j)
{
    bkt_value_tree_fini(&j->conv);
    free(j->recast);
    bkt_hid_closep(&j->iter);
    bkt_hid_closep(&j->back_iter);
    bkt_dsel_fini(&j->sel);
}

static int job_init(struct job *j, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    const struct bkt_type *t = j->o->obj->dset.type;
    struct bkt_dsetio     *io;
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;

    j->iter = j->back_iter = j->conv.file = j->conv.mem = H5I_INVALID_HID;
    BKT_PASS(bkt_dsel_init(&j->sel, j->o, mem_space, file_space, err));
    if (j->sel.file.n_elems == 0 &&
        t->is_var) /* HDF5 checks the content of sequences when it converts them */
        return BKT_OK;
    BKT_PASS(bkt_convert_file_type(j->o, t, &file_type, err));
    j->types.t = t;
    j->types.file_type = file_type;
    BKT_PASS(j->o->whole_values ? bkt_value_tree_init_whole(&j->conv, &j->types, err)
                                : bkt_value_tree_init(&j->conv, &j->types, err));
    if (j->sel.file.n_elems == 0) /* even then the types have to fit */
        return BKT_OK;
    BKT_FAIL_IF(err, !j->buf, BKT_EINVAL, "no buffer given");
    BKT_PASS(bkt_dataset_io(j->o, &io, err));
    j->way = STAGED;
    if (j->transform)
        return BKT_OK;
    if (j->conv.kind == BKT_TREE_COPY)
        j->way = STRAIGHT;
    else if (!bkt_value_tree_asks(j->types.dxpl) && bkt_value_tree_recast(&j->conv, &j->recast))
        j->way = STRAIGHT;
    else if (j->conv.kind == BKT_TREE_LEAF && !j->conv.partial && j->conv.dst >= j->conv.src && j->sel.flat)
        j->way = IN_PLACE;
    return BKT_OK;
}

/* ---- elements that go into the connector's memory ---- */

static int open_iters(struct job *j, struct bkt_err *err)
{
    if (j->iter >= 0)
        return BKT_OK;
    j->iter = H5Ssel_iter_create(j->sel.mem_space, j->conv.dst, 0);
    if (j->conv.partial)
        j->back_iter = H5Ssel_iter_create(j->sel.mem_space, j->conv.dst, 0);
    if (j->iter < 0 || (j->conv.partial && j->back_iter < 0))
        return bkt_h5err_capture(err, "iterating over the memory selection");
    return BKT_OK;
}

/* Whether converted elements own memory to be freed: then either all elements are delivered, or none. */
static bool gives(const struct bkt_value_tree *c)
{
    bool any =
        !c->src || c->kind == BKT_TREE_STRING || c->kind == BKT_TREE_VLEN || c->kind == BKT_TREE_NEW_REF;
    for (size_t i = 0; !any && i < c->n_child; i++)
        any = gives(&c->child[i]);
    return any;
}

static bool is_zero(const unsigned char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Whether conversion changes zeros: for an enum without such a member, or a string that is padded with
 * spaces. */
static int zeros_change(const struct job *j, bool *out, struct bkt_err *err)
{
    size_t room = j->conv.src > j->conv.dst ? j->conv.src : j->conv.dst;
    BKT_CLEANUP(bkt_freep) unsigned char *one = calloc(2, room);
    BKT_NEED(err, one);
    struct bkt_value_column col = {.base = one, .stride = j->conv.src, .scratch = true};
    BKT_PASS(bkt_value_tree_apply(&j->conv, &j->types, &col, 1, one + room, err));
    *out = !is_zero(one + room, j->conv.dst);
    return BKT_OK;
}

/* If a dataset was never written and its fill value isn't set, HDF5 returns zeros without converting them. So
 * it doesn't call the program's function for conversions.  @p raw: n bytes as they are stored */
static int see_unwritten(struct job *j, const unsigned char *raw, size_t n, struct bkt_err *err)
{
    bool written = true, matters = bkt_value_tree_asks(j->types.dxpl);
    if (j->unwritten || j->transform || j->o->was_written || j->o->obj->dset.has_fill || !j->conv.src || !n ||
        !is_zero(raw, n))
        return BKT_OK;
    if (!matters)
        BKT_PASS(zeros_change(j, &matters, err));
    if (matters)
        BKT_PASS(bkt_dataset_was_written(j->o, &written, err));
    j->unwritten = !written;
    return BKT_OK;
}

/* As long as a dataset was never written, HDF5 fills whole elements in memory with the fill value: also
 * members that the dataset doesn't have, and gaps.  With H5D_FILL_TIME_NEVER it leaves memory alone. */
static int see_blank(struct job *j, struct bkt_read *read, struct bkt_err *err)
{
    bool written = true;
    uint64_t missing = atomic_load(&read->missing);
    if (!j->conv.partial || j->blank || j->transform || j->o->was_written || missing == 0 ||
        j->o->obj->dset.fill_time == H5D_FILL_TIME_NEVER)
        return BKT_OK;
    if (missing < read->touched) { /* another chunk is there */
        j->o->was_written = true;
        return BKT_OK;
    }
    BKT_PASS(bkt_dataset_was_written(j->o, &written, err));
    j->blank = !written;
    return BKT_OK;
}

/* Elements that went straight into the program's memory, as see_blank() has it: they own no memory. */
static int fill_whole(const struct job *j, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_freep) void *one = calloc(1, j->conv.dst);
    BKT_NEED(err, one);
    BKT_PASS(bkt_convert_dcpl(j->o, &dcpl, err));
    BKT_NEED_H5(err, bkt_convert_fill_of(dcpl, j->types.mem_type, one) >= 0, "asking for the fill value");
    hsize_t n = j->sel.file.n_elems;
    size_t at = j->sel.flat ? j->sel.flat_at : 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t flat = j->sel.flat ? H5Screate_simple(1, &n, NULL) : H5I_INVALID_HID;
    return BKT_PASS_H5(err,
                       H5Dfill(one, j->types.mem_type, j->buf + at * j->conv.dst, j->types.mem_type,
                               j->sel.flat ? flat : j->sel.mem_space),
                       "filling memory");
}

/* Deliver the next n elements, through @p packed, to their places in the selection. */
static int deliver_some(struct job *j, const struct bkt_value_column *col, size_t n, unsigned char *packed,
                        struct bkt_err *err)
{
    if (j->unwritten) {
        memset(packed, 0, n * j->conv.dst);
        return bkt_dsel_move(j->iter, j->buf, packed, n, true, err);
    }
    if (j->conv.partial && j->blank)
        memset(packed, 0, n * j->conv.dst);
    else if (j->conv.partial)
        BKT_PASS(bkt_dsel_move(j->back_iter, j->buf, packed, n, false, err));
    BKT_PASS(bkt_value_tree_apply(&j->conv, &j->types, col, n, packed, err));
    if (j->transform)
        BKT_PASS(bkt_dsel_transform(j->types.dxpl, j->types.mem_type, packed, n, err));
    return bkt_dsel_move(j->iter, j->buf, packed, n, true, err);
}

/* Deliver n elements of the selection from number `first` on, which were read into col, to the program. */
static int deliver(struct job *j, const struct bkt_value_column *col, uint64_t first, size_t n,
                   struct bkt_err *err)
{
    if (j->sel.flat) {
        unsigned char *to = j->buf + (j->sel.flat_at + first) * j->conv.dst;
        if (j->unwritten || j->blank)
            memset(to, 0, n * j->conv.dst);
        if (j->unwritten)
            return BKT_OK;
        BKT_PASS(bkt_value_tree_apply(&j->conv, &j->types, col, n, to, err));
        return j->transform ? bkt_dsel_transform(j->types.dxpl, j->types.mem_type, to, n, err) : BKT_OK;
    }
    size_t batch = !j->transform && !gives(&j->conv) && n > BKT_CONVERT_BATCH ? BKT_CONVERT_BATCH : n, bytes;
    BKT_NEED(err, bkt_mul_size(batch, j->conv.dst, &bytes));
    BKT_CLEANUP(bkt_freep) unsigned char *packed = calloc(1, bytes);
    BKT_NEED(err, packed);
    BKT_PASS(open_iters(j, err));
    for (size_t i = 0; i < n; i += batch) {
        size_t            k    = n - i < batch ? n - i : batch;
        struct bkt_value_column part = *col;
        part.base += col->slices ? 0 : i * col->stride;
        BKT_PASS(deliver_some(j, &part, k, packed, err));
    }
    return BKT_OK;
}

static size_t piece_bytes(const struct job *j)
{
    return bkt_store_is_local(bkt_domain_store(j->o->io->dom)) ? PIECE_LOCAL : BKT_CONVERT_PIECE;
}

/* ---- the plan ---- */

static bool fits_one_piece(const struct job *j)
{
    uint64_t each = j->conv.src ? j->conv.src + j->conv.dst : BKT_VAR_BYTES_READ;
    return j->sel.file.n_elems <= piece_bytes(j) / each;
}

static int add_read(struct job *j, const struct bkt_sel *file, struct bkt_read *read, struct bkt_err *err)
{
    size_t n = (size_t)file->n_elems, bytes;
    *read = (struct bkt_read){.io = j->o->io, .file = file, .unchecked = j->unchecked};
    if (j->way != STAGED) {
        read->mem = j->sel.flat ? NULL : &j->sel.mem;
        read->dst = j->buf + (j->sel.flat ? j->sel.flat_at * j->conv.dst : 0);
        read->recast = j->recast;
    } else if (j->conv.src) {
        read->dst = bkt_mul_size(n, j->conv.src, &bytes) ? bkt_scratch_take(bytes) : NULL;
        BKT_FAIL_IF(err, !read->dst, BKT_ENOMEM, "no memory for %zu elements to convert", n);
    }
    return BKT_OK;
}

/* Called after the bytes have arrived.  @p first: the number of the first element in the job's selection */
static int finish(struct job *j, struct bkt_read *read, uint64_t first, struct bkt_err *err)
{
    size_t n = (size_t)read->file->n_elems;
    BKT_PASS(see_blank(j, read, err));
    if (j->way == STRAIGHT)
        return j->blank ? fill_whole(j, err) : BKT_OK;
    BKT_PASS(see_unwritten(j, read->dst, n * j->conv.src, err));
    if (j->way == IN_PLACE && !j->unwritten)
        return H5Tconvert(j->conv.file, j->conv.mem, n, read->dst, NULL, j->types.dxpl) < 0
                   ? bkt_h5err_capture(err, "converting values")
                   : BKT_OK;
    struct bkt_value_column col = {.slices = j->conv.src ? NULL : read->slices,
                                   .base = read->dst,
                                   .stride = j->conv.src,
                                   .scratch = true};
    return deliver(j, &col, first, n, err);
}

static void end_read(const struct job *j, struct bkt_read *read)
{
    if (j->way == STAGED)
        bkt_scratch_give(read->dst);
    bkt_read_fini(read);
}

static int staged_piece(struct job *j, const struct bkt_sel *piece, bool whole_chunks, uint64_t first,
                        struct bkt_err *err)
{
    struct bkt_read read;
    int rc = add_read(j, piece, &read, err);
    read.of = whole_chunks ? j->sel.file.n_elems : 0;
    rc = rc < 0 ? rc : bkt_read_datasets(&read, 1, err);
    rc = rc < 0 ? rc : finish(j, &read, first, err);
    end_read(j, &read);
    return rc;
}

static int run_staged(struct job *j, struct bkt_err *err)
{
    size_t each = j->conv.src ? (j->conv.src > j->conv.dst ? j->conv.src : j->conv.dst) : BKT_VAR_BYTES_READ;
    BKT_CLEANUP(bkt_pieces_fini) struct bkt_pieces p;
    struct bkt_sel piece;
    uint64_t       first = 0;

    const uint64_t *chunk = j->o->obj->dset.layout.dims;
    bkt_pieces_init(&p, &j->sel.file, chunk, bkt_piece_elems(&j->sel.file, chunk, each, piece_bytes(j)));
    for (int more; (more = bkt_pieces_next(&p, &piece)) != 0; first += piece.n_elems) {
        BKT_PASS_MEM(err, more);
        BKT_PASS(staged_piece(j, &piece, p.whole_chunks, first, err));
    }
    return BKT_OK;
}

static int run_jobs(struct job *jobs, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_read *reads = calloc(n, sizeof *reads);
    BKT_CLEANUP(bkt_freep) struct job     **whose = calloc(n, sizeof(struct job *));
    size_t m  = 0;
    int    rc = reads && whose ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");

    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        if (jobs[i].sel.file.n_elems == 0 || (jobs[i].way == STAGED && !fits_one_piece(&jobs[i])))
            continue;
        rc       = add_read(&jobs[i], &jobs[i].sel.file, &reads[m], err);
        whose[m++] = &jobs[i];
    }
    if (rc == BKT_OK && m > 0)
        rc = bkt_read_datasets(reads, m, err);
    for (size_t i = 0; rc == BKT_OK && i < m; i++)
        rc = finish(whose[i], &reads[i], 0, err);
    for (size_t i = 0; i < m; i++)
        end_read(whose[i], &reads[i]);
    for (size_t i = 0; rc == BKT_OK && i < n; i++)
        if (jobs[i].sel.file.n_elems > 0 && jobs[i].way == STAGED && !fits_one_piece(&jobs[i]))
            rc = run_staged(&jobs[i], err);
    return rc;
}

int bkt_dataset_read(const struct bkt_io *io, struct bkt_err *err)
{
    bool transform = bkt_dsel_has_transform(io->dxpl),
         unchecked = io->dxpl != H5P_DEFAULT && io->dxpl != H5P_DATASET_XFER_DEFAULT &&
                     H5Pget_edc_check(io->dxpl) == H5Z_DISABLE_EDC;
    struct job *jobs = calloc(io->n ? io->n : 1, sizeof *jobs);
    size_t      n    = 0;
    int         rc   = jobs ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");

    for (; rc == BKT_OK && n < io->n; n++) {
        struct job *j = &jobs[n]; /* zeros */
        j->o         = io->dsets[n];
        j->types = (struct bkt_conversion){.in_file = j->o, .mem_type = io->mem_types[n], .dxpl = io->dxpl};
        j->buf       = io->bufs[n];
        j->transform = transform;
        j->unchecked = unchecked;
        rc           = job_init(&jobs[n], io->mem_spaces[n], io->file_spaces[n], err);
    }
    if (rc == BKT_OK && n > 0)
        rc = run_jobs(jobs, n, err);
    for (size_t i = 0; i < n; i++)
        job_fini(&jobs[i]);
    free(jobs);
    return rc;
}
