/* H5Dwrite and H5Dwrite_multi: one plan for all datasets of a call.
 *
 * If the program's elements are in stored form already, they go straight from its memory.  Else they are
 * gathered and converted in the connector's memory, in pieces if there are many. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "chunk/write/write.h"
#include "vol/convert/values_to_memory.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/shared_transfer.h"
#include "vol/open/permission_and_flush.h"

struct job {
    struct bkt_vobj *o;
    const unsigned char *buf;
    size_t               mem_size; /* of one of the program's elements */
    bool                 straight, transform;
    struct bkt_conversion types; /* `file_type`: the job's own id */
    struct bkt_value_tree conv;
    struct bkt_dsel      sel;
    hid_t                iter;     /* neither straight nor flat: place of the next elements */
};

/* Elements in stored form, for the chunk layer. */
struct staged {
    struct bkt_stored stored;
    struct bkt_slice *slices; /* types with variable parts: the elements in `stored` */
};

static void staged_fini(struct staged *s)
{
    free(s->stored.packed);
    bkt_stored_fini(&s->stored);
    free(s->slices);
}

static void job_fini(struct job *j)
{
    bkt_value_tree_fini(&j->conv);
    bkt_hid_closep(&j->types.file_type);
    bkt_hid_closep(&j->iter);
    bkt_dsel_fini(&j->sel);
}

/* Most programs have zeros behind a string's NUL, and then all bytes are as they are stored. */
static bool has_tails(const struct job *j)
{
    const struct bkt_type *t = j->o->obj->dset.type;
    return j->conv.tails && !(j->sel.flat && bkt_tails_are_zero(t, j->buf + j->sel.flat_at * j->mem_size,
                                                                (size_t)j->sel.file.n_elems));
}

static int job_init(struct job *j, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    struct bkt_dsetio *io;
    j->types.file_type = j->iter = j->conv.file = j->conv.mem = H5I_INVALID_HID;
    BKT_PASS(bkt_file_may_change(j->o->file, BKT_ACL_UPDATE, "writing to a dataset", err));
    BKT_PASS(bkt_dsel_init(&j->sel, j->o, mem_space, file_space, err));
    BKT_PASS(bkt_dataset_io(j->o, &io, err));
    /* HDF5 checks the content of sequences when it converts them */
    if (j->sel.file.n_elems == 0 && j->o->obj->dset.type->is_var)
        return BKT_OK;
    j->types.t = j->o->obj->dset.type;
    BKT_PASS(bkt_convert_file_type(j->o, j->types.t, &j->types.file_type, err));
    j->mem_size = H5Tget_size(j->types.mem_type);
    BKT_NEED_H5(err, j->mem_size, "asking for a type's size");
    BKT_PASS(bkt_value_tree_init_store(&j->conv, &j->types, err));
    if (j->sel.file.n_elems == 0) /* even then the types have to fit */
        return BKT_OK;
    BKT_FAIL_IF(err, !j->buf, BKT_EINVAL, "no buffer given");
    j->straight =
        !j->transform && j->conv.kind == BKT_TREE_COPY && !j->o->obj->dset.type->is_var && !has_tails(j);
    return BKT_OK;
}

/* ---- through the connector's memory ---- */

/* n elements of the selection, from number `first` on, in a row; *ours is memory to free. */
static int gather(struct job *j, uint64_t first, size_t n, const unsigned char **out, unsigned char **ours,
                  struct bkt_err *err)
{
    size_t bytes;
    *ours = NULL;
    *out  = j->sel.flat ? j->buf + (j->sel.flat_at + first) * j->mem_size : NULL;
    if (j->sel.flat && !j->transform)
        return BKT_OK;
    if (j->iter < 0 && !j->sel.flat)
        j->iter = H5Ssel_iter_create(j->sel.mem_space, j->mem_size, 0);
    if (j->iter < 0 && !j->sel.flat)
        return bkt_h5err_capture(err, "iterating over the memory selection");
    *ours = bkt_mul_size(n, j->mem_size, &bytes) ? malloc(bytes) : NULL;
    BKT_FAIL_IF(err, !*ours, BKT_ENOMEM, "no memory for %zu elements to convert", n);
    if (j->sel.flat)
        memcpy(*ours, *out, bytes);
    else
        BKT_PASS(bkt_dsel_move(j->iter, (unsigned char *)j->buf, *ours, n, false,
                               err)); /* only reads the program's buffer */
    *out = *ours;
    return j->transform ? bkt_dsel_transform(j->types.dxpl, j->types.mem_type, *ours, n, err) : BKT_OK;
}

static int slice(size_t n, struct staged *s, struct bkt_err *err)
{
    s->slices = calloc(n, sizeof *s->slices);
    BKT_NEED(err, s->slices);
    for (size_t i = 0, from = 0; i < n; from = s->stored.end[i++])
        s->slices[i] = (struct bkt_slice){s->stored.bytes.ptr + from, s->stored.end[i] - from};
    return BKT_OK;
}

/* For stored fields that the program's type lacks: their stored values stay. */
static int with_old(struct job *j, const struct bkt_sel *file, const unsigned char *from, struct staged *s,
                    struct bkt_err *err)
{
    size_t size = j->o->obj->dset.type->size, n = (size_t)file->n_elems;
    BKT_CLEANUP(bkt_freep) unsigned char *now = size ? calloc(n, size) : NULL;
    struct bkt_read read = {.io = j->o->io, .file = file, .dst = now};
    BKT_FAIL_IF(err, size && !now, BKT_ENOMEM, "no memory for %zu elements to convert", n);
    BKT_PASS(bkt_read_datasets(&read, 1, err));
    struct bkt_value_column old = {.slices = size ? NULL : read.slices, .base = now, .stride = size};
    int rc = bkt_value_tree_store(&j->conv, &j->types, from, n, &old, &s->stored, err);
    bkt_read_fini(&read);
    return rc;
}

/* The elements of @p file, a piece of the job's selection that begins at its element
 * `first`, in stored form */
static int stage(struct job *j, const struct bkt_sel *file, uint64_t first, struct staged *s,
                 struct bkt_err *err)
{
    const struct bkt_type *t = j->o->obj->dset.type;
    size_t                 n = (size_t)file->n_elems, bytes;
    const unsigned char   *from;
    unsigned char         *ours = NULL;
    if (!t->is_var) {
        s->stored.packed = bkt_mul_size(n, t->size, &bytes) ? malloc(bytes ? bytes : 1) : NULL;
        BKT_FAIL_IF(err, !s->stored.packed, BKT_ENOMEM, "no memory for %zu elements to convert", n);
    }
    int rc = gather(j, first, n, &from, &ours, err);
    if (rc == BKT_OK)
        rc = j->conv.partial ? with_old(j, file, from, s, err)
                             : bkt_value_tree_store(&j->conv, &j->types, from, n, NULL, &s->stored, err);
    free(ours);
    return rc == BKT_OK && t->is_var ? slice(n, s, err) : rc;
}

static struct bkt_write staged_write(const struct job *j, const struct bkt_sel *file, const struct staged *s)
{
    return (struct bkt_write){.io = j->o->io, .file = file, .src = s->stored.packed, .slices = s->slices};
}

static size_t each_bytes(const struct job *j)
{
    size_t stored = j->o->obj->dset.type->is_var ? BKT_VAR_BYTES_WRITTEN : j->o->obj->dset.type->size;
    size_t each   = stored > j->mem_size ? stored : j->mem_size;
    return each ? each : 1;
}

/* ---- the plan ---- */

static bool in_pieces(const struct job *j)
{
    return !j->straight && j->sel.file.n_elems > BKT_CONVERT_PIECE / each_bytes(j);
}

static int add(struct job *j, struct bkt_write *w, struct staged *s, struct bkt_err *err)
{
    if (j->straight) {
        *w = (struct bkt_write){.io   = j->o->io,
                                .file = &j->sel.file,
                                .mem  = j->sel.flat ? NULL : &j->sel.mem,
                                .src  = j->buf + (j->sel.flat ? j->sel.flat_at * j->mem_size : 0)};
        return BKT_OK;
    }
    BKT_PASS(stage(j, &j->sel.file, 0, s, err));
    *w = staged_write(j, &j->sel.file, s);
    return BKT_OK;
}

/* The parts of a job, one after the other: each is written by itself. */
struct parts {
    struct job *job;
    bool pieces, done;
    struct bkt_pieces p;
    struct bkt_sel piece;
    uint64_t first; /* element of the selection that the next piece begins with */
};

static void parts_init(struct parts *p, struct job *j)
{
    const uint64_t *chunk = j->o->obj->dset.layout.dims;
    *p = (struct parts){
        .job = j, .done = j->sel.file.n_elems == 0, .pieces = j->sel.file.n_elems > 0 && in_pieces(j)};
    if (p->pieces)
        bkt_pieces_init(&p->p, &j->sel.file, chunk,
                        bkt_piece_elems(&j->sel.file, chunk, each_bytes(j), BKT_CONVERT_PIECE));
}

static void parts_fini(struct parts *p)
{
    if (p->pieces)
        bkt_pieces_fini(&p->p);
}

/* 1: @p w is the next part; 0: the job has no further part; else a failure */
static int parts_next(struct parts *p, struct bkt_write *w, struct staged *s, struct bkt_err *err)
{
    if (p->done)
        return 0;
    if (!p->pieces) {
        p->done = true;
        BKT_PASS(add(p->job, w, s, err));
        return 1;
    }
    int more = bkt_pieces_next(&p->p, &p->piece);
    BKT_PASS_MEM(err, more);
    p->done = !more;
    if (!more)
        return 0;
    BKT_PASS(stage(p->job, &p->piece, p->first, s, err));
    *w = staged_write(p->job, &p->piece, s);
    p->first += p->piece.n_elems;
    return 1;
}

static int run_in_pieces(struct job *j, struct bkt_err *err)
{
    BKT_CLEANUP(parts_fini) struct parts parts;
    parts_init(&parts, j);
    for (int more = 1; more;) {
        BKT_CLEANUP(staged_fini) struct staged s = {.slices = NULL};
        struct bkt_write w;
        BKT_PASS(more = parts_next(&parts, &w, &s, err));
        if (more)
            BKT_PASS(bkt_write_datasets(&w, 1, err));
    }
    return BKT_OK;
}

static int run_together(struct job *jobs, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_write *writes = calloc(n, sizeof *writes);
    BKT_CLEANUP(bkt_freep) struct staged    *staged = calloc(n, sizeof *staged);
    size_t                                   m      = 0;
    int rc = BKT_MADE(err, writes && staged);
    for (size_t i = 0; rc == BKT_OK && i < n; i++)
        if (jobs[i].sel.file.n_elems > 0 && !in_pieces(&jobs[i])) {
            rc = add(&jobs[i], &writes[m], &staged[m], err);
            m++;
        }
    if (rc == BKT_OK && m > 0)
        rc = bkt_write_datasets(writes, m, err);
    for (size_t i = 0; i < m; i++)
        staged_fini(&staged[i]);
    return rc;
}

/* Whether a dataset occurs twice in one call. */
static bool has_twice(const struct job *jobs, size_t n)
{
    struct bkt_map *seen  = n > 1 ? bkt_map_new() : NULL;
    bool            twice = n > 1 && !seen;
    for (size_t i = 0; seen && !twice && i < n; i++) {
        const char *id = jobs[i].o->obj->id.text;
        twice = bkt_map_get(seen, id, BKT_ID_LEN) || bkt_map_put(seen, id, BKT_ID_LEN, seen, NULL) < 0;
    }
    bkt_map_free(seen, NULL);
    return twice;
}

static int run_some(struct job *jobs, size_t n, struct bkt_err *err)
{
    BKT_PASS(run_together(jobs, n, err));
    for (size_t i = 0; i < n; i++)
        if (jobs[i].sel.file.n_elems > 0 && in_pieces(&jobs[i]))
            BKT_PASS(run_in_pieces(&jobs[i], err));
    return BKT_OK;
}

static int run_jobs(struct job *jobs, size_t n, struct bkt_err *err)
{
    if (!has_twice(jobs, n))
        return run_some(jobs, n, err);
    for (size_t i = 0; i < n; i++) /* as if by one call after another */
        BKT_PASS(run_some(&jobs[i], 1, err));
    return BKT_OK;
}

/* ---- several processes ---- */

/* A process that fails goes on without elements, so that the others end. */
static int run_one_collective(struct bkt_comm *c, struct job *j, struct bkt_err *err)
{
    BKT_CLEANUP(parts_fini) struct parts parts;
    uint64_t any = 1;
    int rc = BKT_OK;
    parts_init(&parts, j);
    while (any) {
        BKT_CLEANUP(staged_fini) struct staged s = {.slices = NULL};
        struct bkt_write w;
        struct bkt_err why = {.n = 0};
        int more = rc < 0 ? 0 : parts_next(&parts, &w, &s, &why);
        bkt_err_keep_first(&rc, err, more < 0 ? more : BKT_OK, &why);
        any = more > 0;
        int got = bkt_comm_reduce(c, BKT_COMM_MAX, &any, 1, &why);
        if (got == BKT_OK && any)
            got = bkt_collective_write(c, j->o->io, more > 0 ? &w : NULL, &why);
        any = got == BKT_OK && any;
        bkt_err_keep_first(&rc, err, got, &why);
    }
    return rc;
}

static int run_collective(struct bkt_comm *c, struct job *jobs, size_t n, int rc, struct bkt_err *err)
{
    BKT_PASS(bkt_comm_agree(c, rc, err));
    for (size_t i = 0; i < n; i++)
        BKT_PASS(bkt_comm_agree(c, run_one_collective(c, &jobs[i], err), err));
    return BKT_OK;
}

static unsigned long changes; /* of any dataset's chunks, in this process */

void bkt_dataset_chunks_changed(void)
{
    changes++;
}

unsigned long bkt_dataset_chunk_changes(void)
{
    return changes;
}

int bkt_dataset_write_all(const struct bkt_io *io, struct bkt_err *err)
{
    bool transform = bkt_dsel_has_transform(io->dxpl);
    struct job *jobs = calloc(io->n ? io->n : 1, sizeof *jobs);
    size_t      n    = 0;
    int         rc   = jobs ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (; rc == BKT_OK && n < io->n; n++) {
        jobs[n] =
            (struct job){.o = io->dsets[n],
                         .types = {.in_file = io->dsets[n], .mem_type = io->mem_types[n], .dxpl = io->dxpl},
                         .buf = io->bufs[n],
                         .transform = transform};
        rc = job_init(&jobs[n], io->mem_spaces[n], io->file_spaces[n], err);
    }
    bkt_dataset_chunks_changed();
    if (io->group)
        rc = run_collective(io->group, jobs, n, rc, err);
    else if (rc == BKT_OK && n > 0)
        rc = run_jobs(jobs, n, err);
    for (size_t i = 0; i < n; i++)
        job_fini(&jobs[i]);
    free(jobs);
    return rc;
}
