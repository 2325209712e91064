/* H5Dread and H5Dread_multi: one plan for all datasets of a call.
 *
 * Each dataset goes one of three ways: stored elements straight into the program's buffer; the same and then
 * converted there; or into memory of our own, converted and spread, in pieces where there is much of it. */
#include "dataset.h"

#include <stdlib.h>
#include <string.h>

#include "convert_value.h"
#include "num.h"

#define PIECE (64U << 20) /* bytes of our own memory that one dataset's conversion takes, about */
#define VAR_GUESS 64      /* bytes per element of variable size, for cutting pieces */

enum way { STRAIGHT, IN_PLACE, STAGED };

struct job {
    struct bkt_vobj *o;
    hid_t            mem_type, mem_space, dxpl; /* borrowed; mem_space of H5S_ALL is resolved */
    unsigned char   *buf;
    enum way         way;
    struct bkt_conv  conv;
    struct bkt_sel   file, mem;
    void            *file_runs, *mem_runs;
    bool             flat; /* memory is one stretch, from element flat_at */
    uint64_t         flat_at;
    hid_t            iter, back_iter; /* STAGED, not flat: where in memory the next elements go, and come from */
};

static void job_fini(struct job *j)
{
    bkt_conv_fini(&j->conv);
    bkt_hid_closep(&j->iter);
    bkt_hid_closep(&j->back_iter);
    free(j->file_runs);
    free(j->mem_runs);
}

/* Whether a selection is one stretch of memory, and where it begins. */
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

static int memory_selection(struct job *j, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    if (mem_space == H5S_ALL)
        mem_space = file_space;
    j->mem_space = mem_space;
    if (mem_space == H5S_ALL || mem_space == H5S_BLOCK) {
        j->flat        = true;
        j->mem.n_elems = j->file.n_elems;
        return BKT_OK;
    }
    BKT_TRY(err, bkt_convert_selection(mem_space, mem_space, &j->mem, &j->mem_runs, err), "memory selection");
    j->flat = j->mem.n_elems > 0 && is_flat(&j->mem, &j->flat_at);
    return BKT_OK;
}

static int selections(struct job *j, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t extent = H5I_INVALID_HID;
    if (file_space == H5S_PLIST)
        BKT_FAIL(err, BKT_EUNSUP, "a selection from the transfer property list (H5S_PLIST)");
    BKT_PASS(bkt_convert_space(&j->o->obj->dset.space, &extent, err));
    BKT_TRY(err, bkt_convert_selection(file_space, extent, &j->file, &j->file_runs, err), "file selection");
    BKT_PASS(memory_selection(j, mem_space, file_space, err));
    if (j->mem.n_elems != j->file.n_elems)
        BKT_FAIL(err, BKT_EINVAL, "%llu elements selected in the file, %llu in memory", (unsigned long long)j->file.n_elems,
                 (unsigned long long)j->mem.n_elems);
    return BKT_OK;
}

static int job_init(struct job *j, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    const struct bkt_type *t = j->o->obj->dset.type;
    struct bkt_dsetio     *io;
    hid_t                  file_type;

    j->iter = j->back_iter = j->conv.file = j->conv.mem = H5I_INVALID_HID;
    BKT_PASS(selections(j, mem_space, file_space, err));
    if (j->file.n_elems == 0)
        return BKT_OK;
    if (!j->buf)
        BKT_FAIL(err, BKT_EINVAL, "no buffer given");
    BKT_PASS(bkt_dataset_io(j->o, &io, err));
    BKT_PASS(bkt_convert_file_type(j->o, &file_type, err));
    BKT_PASS(bkt_conv_init(&j->conv, t, file_type, j->mem_type, err));
    j->way = STAGED;
    if (j->conv.kind == BKT_CONV_COPY)
        j->way = STRAIGHT;
    else if (j->conv.kind == BKT_CONV_LEAF && !j->conv.partial && j->conv.dst >= j->conv.src && j->flat)
        j->way = IN_PLACE;
    return BKT_OK;
}

/* ---- what goes into our own memory ---- */

/* Copy n packed elements to the stretches of memory that come next (out), or from there. */
static int transfer(hid_t iter, unsigned char *buf, unsigned char *packed, size_t n, bool out, struct bkt_err *err)
{
    hsize_t off[512];
    size_t  len[512], n_seq, n_elems;
    while (n > 0) {
        if (H5Ssel_iter_get_seq_list(iter, BKT_COUNT(len), n, &n_seq, &n_elems, off, len) < 0)
            return bkt_h5err_capture(err, "iterating over the memory selection");
        if (n_elems == 0)
            BKT_FAIL(err, BKT_EHDF5, "the memory selection ended before its last element");
        for (size_t i = 0; i < n_seq; i++) {
            memcpy(out ? buf + off[i] : packed, out ? packed : buf + off[i], len[i]);
            packed += len[i];
        }
        n -= n_elems;
    }
    return BKT_OK;
}

static int open_iters(struct job *j, struct bkt_err *err)
{
    if (j->iter >= 0)
        return BKT_OK;
    j->iter = H5Ssel_iter_create(j->mem_space, j->conv.dst, 0);
    if (j->conv.partial)
        j->back_iter = H5Ssel_iter_create(j->mem_space, j->conv.dst, 0);
    if (j->iter < 0 || (j->conv.partial && j->back_iter < 0))
        return bkt_h5err_capture(err, "iterating over the memory selection");
    return BKT_OK;
}

/* n elements of the selection from number `first` on, read into col, go to the program. */
static int deliver(struct job *j, const struct bkt_column *col, uint64_t first, size_t n, struct bkt_err *err)
{
    size_t bytes;
    if (j->flat)
        return bkt_conv_run(&j->conv, j->o, col, n, j->buf + (j->flat_at + first) * j->conv.dst, j->dxpl, err);
    if (!bkt_mul_size(n, j->conv.dst, &bytes))
        BKT_NOMEM(err);
    BKT_CLEANUP(bkt_freep) unsigned char *packed = calloc(1, bytes);
    if (!packed)
        BKT_NOMEM(err);
    BKT_PASS(open_iters(j, err));
    if (j->conv.partial)
        BKT_PASS(transfer(j->back_iter, j->buf, packed, n, false, err));
    BKT_PASS(bkt_conv_run(&j->conv, j->o, col, n, packed, j->dxpl, err));
    return transfer(j->iter, j->buf, packed, n, true, err);
}

static int staged_piece(struct job *j, const struct bkt_sel *piece, uint64_t first, struct bkt_err *err)
{
    struct bkt_read read = {.io = j->o->io, .file = piece};
    size_t          n = (size_t)piece->n_elems, bytes = 0;
    BKT_CLEANUP(bkt_freep) unsigned char *tmp = NULL;

    if (j->conv.src) {
        tmp = bkt_mul_size(n, j->conv.src, &bytes) ? malloc(bytes) : NULL;
        if (!tmp)
            BKT_FAIL(err, BKT_ENOMEM, "no memory for %zu elements to convert", n);
        read.dst = tmp;
    }
    int rc = bkt_read_run(&read, 1, err);
    if (rc == BKT_OK) {
        struct bkt_column col = {.slices = j->conv.src ? NULL : read.slices, .base = tmp, .stride = j->conv.src};
        rc = deliver(j, &col, first, n, err);
    }
    bkt_read_fini(&read);
    return rc;
}

static int run_staged(struct job *j, struct bkt_err *err)
{
    size_t each = j->conv.src ? (j->conv.src > j->conv.dst ? j->conv.src : j->conv.dst) : VAR_GUESS;
    BKT_CLEANUP(bkt_pieces_fini) struct bkt_pieces p;
    struct bkt_sel piece;
    uint64_t       first = 0;

    bkt_pieces_init(&p, &j->file, j->o->obj->dset.layout.dims, PIECE / each ? PIECE / each : 1);
    for (int more; (more = bkt_pieces_next(&p, &piece)) != 0; first += piece.n_elems) {
        if (more < 0)
            BKT_NOMEM(err);
        BKT_PASS(staged_piece(j, &piece, first, err));
    }
    return BKT_OK;
}

/* ---- the plan ---- */

static bool fits_one_piece(const struct job *j)
{
    uint64_t each = j->conv.src ? j->conv.src + j->conv.dst : VAR_GUESS;
    return j->file.n_elems <= PIECE / each;
}

static int add_read(struct job *j, struct bkt_read *read, struct bkt_err *err)
{
    size_t bytes;
    memset(read, 0, sizeof *read);
    read->io   = j->o->io;
    read->file = &j->file;
    if (j->way != STAGED) {
        read->mem = j->flat ? NULL : &j->mem;
        read->dst = j->buf + (j->flat ? j->flat_at * j->conv.dst : 0);
        return BKT_OK;
    }
    if (j->conv.src) {
        read->dst = bkt_mul_size((size_t)j->file.n_elems, j->conv.src, &bytes) ? malloc(bytes) : NULL;
        if (!read->dst)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* After the bytes have come */
static int finish(struct job *j, struct bkt_read *read, struct bkt_err *err)
{
    if (j->way == STRAIGHT)
        return BKT_OK;
    if (j->way == IN_PLACE)
        return H5Tconvert(j->conv.file, j->conv.mem, (size_t)j->file.n_elems, read->dst, NULL, j->dxpl) < 0
                   ? bkt_h5err_capture(err, "converting values")
                   : BKT_OK;
    struct bkt_column col = {.slices = j->conv.src ? NULL : read->slices, .base = read->dst, .stride = j->conv.src};
    return deliver(j, &col, 0, (size_t)j->file.n_elems, err);
}

static int run_jobs(struct job *jobs, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_read *reads = calloc(n, sizeof *reads);
    BKT_CLEANUP(bkt_freep) struct job     **whose = calloc(n, sizeof(struct job *));
    size_t m  = 0;
    int    rc = reads && whose ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");

    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        if (jobs[i].file.n_elems == 0 || (jobs[i].way == STAGED && !fits_one_piece(&jobs[i])))
            continue;
        rc       = add_read(&jobs[i], &reads[m], err);
        whose[m++] = &jobs[i];
    }
    if (rc == BKT_OK && m > 0)
        rc = bkt_read_run(reads, m, err);
    for (size_t i = 0; rc == BKT_OK && i < m; i++)
        rc = finish(whose[i], &reads[i], err);
    for (size_t i = 0; i < m; i++) {
        if (whose[i]->way == STAGED)
            free(reads[i].dst);
        bkt_read_fini(&reads[i]);
    }
    for (size_t i = 0; rc == BKT_OK && i < n; i++)
        if (jobs[i].file.n_elems > 0 && jobs[i].way == STAGED && !fits_one_piece(&jobs[i]))
            rc = run_staged(&jobs[i], err);
    return rc;
}

static int check_transfer(hid_t dxpl, struct bkt_err *err)
{
    ssize_t n;
    if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT)
        return BKT_OK;
    H5E_BEGIN_TRY
    {
        n = H5Pget_data_transform(dxpl, NULL, 0);
    }
    H5E_END_TRY
    if (n > 0)
        BKT_FAIL(err, BKT_EUNSUP, "a data transform (H5Pset_data_transform); read first, then compute");
    return BKT_OK;
}

int bkt_dataset_read(size_t count, struct bkt_vobj *dsets[], const hid_t mem_types[], const hid_t mem_spaces[],
                     const hid_t file_spaces[], hid_t dxpl, void *bufs[], struct bkt_err *err)
{
    BKT_PASS(check_transfer(dxpl, err));
    struct job *jobs = calloc(count ? count : 1, sizeof *jobs);
    size_t      n    = 0;
    int         rc   = jobs ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");

    for (; rc == BKT_OK && n < count; n++) {
        jobs[n] = (struct job){.o = dsets[n], .mem_type = mem_types[n], .dxpl = dxpl, .buf = bufs[n]};
        rc      = job_init(&jobs[n], mem_spaces[n], file_spaces[n], err);
    }
    if (rc == BKT_OK && count > 0)
        rc = run_jobs(jobs, n, err);
    for (size_t i = 0; i < n; i++)
        job_fini(&jobs[i]);
    free(jobs);
    return rc;
}
