/* Chunks one by one: H5Dget_chunk_info, H5Dchunk_iter, H5Dread_chunk and the like, as far as they mean something here.
 *
 * Offsets are those of the stored chunks, which for native chunk objects may be larger or smaller than the chunks that
 * the program asked for when it created the dataset. */
#include <hdf5.h>

#include <H5VLnative.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"
#include "num.h"
#include "trace.h"

typedef int op_fn(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err);

static int chunked_io(struct bkt_vobj *o, struct bkt_dsetio **io, struct bkt_err *err)
{
    enum bkt_layout_class cls = o->obj->dset.layout.user_cls;
    if (cls != BKT_D_CHUNKED && cls != BKT_D_CHUNKED_REF && cls != BKT_D_CHUNKED_REF_INDIRECT)
        BKT_FAIL(err, BKT_EINVAL, "not a chunked dataset");
    return bkt_dataset_io(o, io, err);
}

/* ---- all of them ---- */

struct chunk {
    uint64_t              coord[BKT_MAX_RANK];
    struct bkt_chunk_info info;
};

static int keep(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct bkt_vobj *o    = arg;
    unsigned         rank = o->obj->dset.layout.rank;
    BKT_PASS(bkt_buf_add(&o->chunks, coord, rank * sizeof *coord));
    return bkt_buf_add(&o->chunks, info, sizeof *info);
}

static size_t record(const struct bkt_vobj *o) { return o->obj->dset.layout.rank * sizeof(uint64_t) + sizeof(struct bkt_chunk_info); }

/* Asked for once per open dataset: H5Dget_chunk_info() comes for each index in turn. */
static int list_chunks(struct bkt_vobj *o, size_t *n, struct bkt_err *err)
{
    struct bkt_dsetio *io;
    BKT_PASS(chunked_io(o, &io, err));
    if (!o->has_chunks) {
        bkt_buf_clear(&o->chunks);
        BKT_PASS(bkt_chunk_iter(io, keep, o, err));
        o->has_chunks = true;
    }
    *n = o->chunks.len / record(o);
    return BKT_OK;
}

static void chunk_at(const struct bkt_vobj *o, size_t i, struct chunk *out)
{
    size_t               rank = o->obj->dset.layout.rank;
    const unsigned char *p    = o->chunks.ptr + i * record(o);
    memcpy(out->coord, p, rank * sizeof out->coord[0]);
    memcpy(&out->info, p + rank * sizeof out->coord[0], sizeof out->info);
}

static void offset_of(const struct bkt_vobj *o, const uint64_t *coord, hsize_t *offset)
{
    for (unsigned i = 0; i < o->obj->dset.layout.rank; i++)
        offset[i] = coord[i] * o->obj->dset.layout.dims[i];
}

/* A chunk object has no address. */
static haddr_t address_of(const struct bkt_chunk_info *info)
{
    return info->exists && info->offset != BKT_WHOLE ? (haddr_t)info->offset : HADDR_UNDEF;
}

static int num_chunks(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    size_t n = 0;
    (void)dxpl;
    BKT_PASS(list_chunks(o, &n, err));
    *a->get_num_chunks.nchunks = n;
    return BKT_OK;
}

static int info_by_idx(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    H5VL_native_dataset_get_chunk_info_by_idx_t *q = &a->get_chunk_info_by_idx;
    struct chunk c;
    size_t       n = 0;
    (void)dxpl;
    BKT_PASS(list_chunks(o, &n, err));
    if (q->chk_index >= n)
        BKT_FAIL(err, BKT_EINVAL, "chunk number %llu of %zu", (unsigned long long)q->chk_index, n);
    chunk_at(o, (size_t)q->chk_index, &c);
    if (q->offset)
        offset_of(o, c.coord, q->offset);
    if (q->filter_mask)
        *q->filter_mask = c.info.filter_mask;
    if (q->addr)
        *q->addr = address_of(&c.info);
    if (q->size)
        *q->size = c.info.size;
    return BKT_OK;
}

static int iterate(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    struct chunk c;
    size_t       n  = 0;
    int          rc = 0;
    (void)dxpl;
    BKT_PASS(list_chunks(o, &n, err));
    for (size_t i = 0; rc == 0 && i < n; i++) {
        hsize_t offset[BKT_MAX_RANK];
        chunk_at(o, i, &c);
        offset_of(o, c.coord, offset);
        rc = a->chunk_iter.op(offset, c.info.filter_mask, address_of(&c.info), c.info.size, a->chunk_iter.op_data);
    }
    if (rc < 0)
        BKT_FAIL(err, BKT_ECANCEL, "the program's callback failed");
    return rc;
}

/* ---- one ---- */

static int coord_of(const struct bkt_vobj *o, const hsize_t *offset, uint64_t *coord, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    for (unsigned i = 0; i < d->layout.rank; i++) {
        if (offset[i] >= d->space.dims[i])
            BKT_FAIL(err, BKT_EINVAL, "offset %llu in dimension %u of %llu", (unsigned long long)offset[i], i,
                     (unsigned long long)d->space.dims[i]);
        coord[i] = offset[i] / d->layout.dims[i];
    }
    return BKT_OK;
}

static int locate(struct bkt_vobj *o, const hsize_t *offset, uint64_t *coord, struct bkt_chunk_info *info, struct bkt_err *err)
{
    struct bkt_dsetio *io;
    memset(info, 0, sizeof *info);
    BKT_PASS(chunked_io(o, &io, err));
    BKT_PASS(coord_of(o, offset, coord, err));
    return bkt_chunk_locate(io, coord, info, err);
}

static int info_by_coord(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    H5VL_native_dataset_get_chunk_info_by_coord_t *q = &a->get_chunk_info_by_coord;
    struct bkt_chunk_info info;
    uint64_t              coord[BKT_MAX_RANK];
    (void)dxpl;
    BKT_PASS(locate(o, q->offset, coord, &info, err));
    if (q->filter_mask)
        *q->filter_mask = info.exists ? info.filter_mask : 0;
    if (q->addr)
        *q->addr = address_of(&info);
    if (q->size)
        *q->size = info.exists ? info.size : 0;
    return BKT_OK;
}

static int chunk_storage_size(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    struct bkt_chunk_info info;
    uint64_t              coord[BKT_MAX_RANK];
    (void)dxpl;
    BKT_PASS(locate(o, a->get_chunk_storage_size.offset, coord, &info, err));
    *a->get_chunk_storage_size.size = info.exists ? info.size : 0;
    return BKT_OK;
}

/* What a program does with the bytes rests on the property list: chunk shape and filters must be those shown there. */
static int check_direct(const struct bkt_vobj *o, struct bkt_err *err)
{
    const struct bkt_dset   *d = &o->obj->dset;
    const struct bkt_layout *l = &d->layout;
    if (l->cls == BKT_D_CHUNKED && (d->n_filters > 0 || d->type->is_var))
        BKT_FAIL(err, BKT_EUNSUP, "direct chunk reading: chunks are stored in HSDS's own form, not in that of the filters");
    if (l->user_rank != l->rank || memcmp(l->user_dims, l->dims, l->rank * sizeof l->dims[0]) != 0)
        BKT_FAIL(err, BKT_EUNSUP, "direct chunk reading: stored chunks have another shape than the dataset shows");
    return BKT_OK;
}

static int chunk_read(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf raw = {0};
    struct bkt_dsetio *io;
    uint64_t           coord[BKT_MAX_RANK];
    (void)dxpl;
    BKT_PASS(chunked_io(o, &io, err));
    BKT_PASS(check_direct(o, err));
    BKT_PASS(coord_of(o, a->chunk_read.offset, coord, err));
    BKT_PASS(bkt_chunk_read_raw(io, coord, &raw, &a->chunk_read.filters, err));
    if (raw.len)
        memcpy(a->chunk_read.buf, raw.ptr, raw.len);
    return BKT_OK;
}

/* ---- others ---- */

/* The data lie in other files or in none. */
static int get_offset(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    (void)o, (void)dxpl, (void)err;
    *a->get_offset.offset = HADDR_UNDEF;
    return BKT_OK;
}

static void *count_alloc(size_t size, void *sum)
{
    *(hsize_t *)sum += size;
    return malloc(size);
}

/* Reads and counts what reading allocates: only the values know. */
static int vlen_buf_size(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, hid_t dxpl, struct bkt_err *err)
{
    H5VL_native_dataset_get_vlen_buf_size_t *q = &a->get_vlen_buf_size;
    BKT_CLEANUP(bkt_hid_closep) hid_t counting = H5Pcreate(H5P_DATASET_XFER);
    BKT_CLEANUP(bkt_hid_closep) hid_t mem      = H5I_INVALID_HID;
    hssize_t n = H5Sget_select_npoints(q->space_id);
    hid_t    block = H5S_ALL;
    hsize_t  sum = 0, dim;
    size_t   bytes;

    (void)dxpl;
    if (n < 0 || counting < 0 || H5Pset_vlen_mem_manager(counting, count_alloc, &sum, NULL, NULL) < 0)
        return bkt_h5err_capture(err, "counting variable-length data");
    *q->size = 0;
    if (n == 0)
        return BKT_OK;
    dim = (hsize_t)n;
    mem = H5Screate_simple(1, &dim, NULL);
    BKT_CLEANUP(bkt_freep) void *buf = bkt_mul_size((size_t)n, H5Tget_size(q->type_id), &bytes) ? calloc(1, bytes) : NULL;
    if (mem < 0 || !buf)
        BKT_NOMEM(err);
    block = mem;
    BKT_PASS(bkt_dataset_read(1, &o, &q->type_id, &block, &q->space_id, counting, &buf, err));
    if (H5Treclaim(q->type_id, mem, H5P_DEFAULT, buf) < 0)
        return bkt_h5err_capture(err, "freeing variable-length data");
    *q->size = sum;
    return BKT_OK;
}

int bkt_dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    static op_fn *const ops[] = {[H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE]  = chunk_storage_size,
                                 [H5VL_NATIVE_DATASET_GET_NUM_CHUNKS]          = num_chunks,
                                 [H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX]   = info_by_idx,
                                 [H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD] = info_by_coord,
                                 [H5VL_NATIVE_DATASET_CHUNK_READ]              = chunk_read,
                                 [H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE]       = vlen_buf_size,
                                 [H5VL_NATIVE_DATASET_GET_OFFSET]              = get_offset,
                                 [H5VL_NATIVE_DATASET_CHUNK_ITER]              = iterate};
    size_t op = (size_t)args->op_type;
    if (args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE)
        return bkt_h5err_readonly(err, "writing a chunk");
    if (args->op_type < 0 || op >= BKT_COUNT(ops) || !ops[op])
        BKT_FAIL(err, BKT_EUNSUP, "dataset operation %d (H5VLnative.h) has no meaning in a bucket", args->op_type);
    return ops[op](o, args->args, dxpl, err);
}
