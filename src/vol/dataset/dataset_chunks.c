/* Chunks one by one: H5Dget_chunk_info, H5Dchunk_iter, H5Dread_chunk and the like, as far as they have a
 * meaning here.
 *
 * A chunk object may hold several whole chunks of the requested shape (chunk_shape_rule.h; HSDS makes such
 * objects too).  Then those chunks are shown, and the size of each is the number of bytes that
 * H5Dread_chunk returns.  With elements of variable length, which H5Dread_chunk refuses, it is a share of the
 * object's bytes.  The same holds for partial chunks without filters, as HDF5 makes them.  All other chunks
 * are shown as they are stored. */
#include <hdf5.h>

#include <H5VLnative.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "chunk/list/raw_chunk.h"
#include "chunk/write/write.h"
#include "schema/model/hsds_view.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/shared_transfer.h"
#include "vol/open/permission_and_flush.h"

typedef int op_fn(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err);

static int chunked_io(struct bkt_vobj *o, struct bkt_dsetio **io, struct bkt_err *err)
{
    enum bkt_layout_class cls = o->obj->dset.layout.user_cls;
    BKT_FAIL_IF(err, cls != BKT_D_CHUNKED && cls != BKT_D_CHUNKED_REF && cls != BKT_D_CHUNKED_REF_INDIRECT,
                BKT_EINVAL, "not a chunked dataset");
    return bkt_dataset_io(o, io, err);
}

/* ---- which chunks are shown ---- */

static bool is_split(const struct bkt_vobj *o)
{
    const struct bkt_layout *l    = &o->obj->dset.layout;
    bool                     more = false;
    if (l->cls != BKT_D_CHUNKED || l->user_cls != BKT_D_CHUNKED || l->user_rank != l->rank)
        return false;
    for (unsigned i = 0; i < l->rank; i++) {
        if (!l->user_dims[i] || l->dims[i] % l->user_dims[i] != 0)
            return false;
        more = more || l->dims[i] > l->user_dims[i];
    }
    return more;
}

const uint64_t *bkt_dataset_chunk_shown(const struct bkt_vobj *o)
{
    return is_split(o) ? o->obj->dset.layout.user_dims : o->obj->dset.layout.dims;
}

struct chunk {
    uint64_t              coord[BKT_MAX_RANK]; /* in the grid that is shown */
    struct bkt_chunk_info info;
};

static void offset_of(const struct bkt_vobj *o, const uint64_t *coord, uint64_t *offset)
{
    for (unsigned i = 0; i < o->obj->dset.layout.rank; i++)
        offset[i] = coord[i] * bkt_dataset_chunk_shown(o)[i];
}

/* The bytes of an object that each of its chunks takes on average. */
static uint64_t share(const struct bkt_vobj *o, uint64_t bytes)
{
    const struct bkt_layout *l = &o->obj->dset.layout;
    uint64_t chunks = 1;
    for (unsigned i = 0; i < l->rank; i++)
        chunks *= l->dims[i] / l->user_dims[i];
    return bkt_ceil_div(bytes, chunks);
}

/* The size of a chunk that isn't shown as it is stored: the number of bytes that H5Dread_chunk returns. */
static int measure(struct bkt_vobj *o, struct chunk *c, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf raw = {0};
    uint64_t offset[BKT_MAX_RANK];
    bool skips_filters;
    offset_of(o, c->coord, offset);
    skips_filters = bkt_chunk_skips_filters(d, offset);
    if (!is_split(o) && !skips_filters)
        return BKT_OK;
    if (d->type->is_var) {
        c->info.size = is_split(o) ? share(o, c->info.size) : c->info.size;
        return BKT_OK;
    }
    if (!d->n_filters || skips_filters) {
        c->info.filter_mask = 0;
        c->info.size        = d->type->size;
        for (unsigned i = 0; i < d->layout.rank; i++)
            c->info.size *= d->layout.user_dims[i];
        return BKT_OK;
    }
    BKT_PASS(bkt_raw_chunk_read(o->io, offset, &raw, &c->info.filter_mask, err));
    c->info.size = raw.len;
    return BKT_OK;
}

/* ---- sizes that the program knows ---- */

/* Remember a reported size.  H5Dread_chunk() has no argument for the size of the buffer, so the program
 * relies on the reported size.  By the time of the read, the store or another writer may have another
 * chunk. */
static int report(struct bkt_vobj *o, const uint64_t *coord, uint64_t size, struct bkt_err *err)
{
    intptr_t n = size < INTPTR_MAX ? (intptr_t)size + 1 : INTPTR_MAX; /* never 0 */
    if ((!o->reported && !(o->reported = bkt_map_new())) ||
        bkt_map_put_number(o->reported, coord, o->obj->dset.layout.rank * sizeof *coord, n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* The size without filters, and as much as filters add to bytes that they can't make smaller.  A program that
 * did not ask for the size has that much room: otherwise it could not read its own chunks from HDF5's
 * files. */
static uint64_t room_unasked(const struct bkt_vobj *o)
{
    uint64_t n = o->obj->dset.type->size;
    for (unsigned i = 0; i < o->obj->dset.layout.rank; i++)
        if (!bkt_mul_u64(n, bkt_dataset_chunk_shown(o)[i], &n))
            return UINT64_MAX;
    return o->obj->dset.n_filters ? n + n / 64 + 1024 : n;
}

static int check_room(const struct bkt_vobj *o, const uint64_t *coord, size_t n, struct bkt_err *err)
{
    intptr_t reported =
        o->reported ? bkt_map_number(o->reported, coord, o->obj->dset.layout.rank * sizeof *coord) : 0;
    uint64_t room = reported ? (uint64_t)reported - 1 : room_unasked(o);
    if (n <= room)
        return BKT_OK;
    BKT_FAIL(err, BKT_EPRECOND,
             "a chunk of dataset %s has %zu bytes, %s %llu; ask for its size (H5Dget_chunk_storage_size) %s",
             o->obj->id.text, n, reported ? "and had" : "without filters", (unsigned long long)room,
             reported ? "again, and read it then" : "before it is read");
}

/* ---- all chunks ---- */

static int keep(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct bkt_vobj *o    = arg;
    unsigned         rank = o->obj->dset.layout.rank;
    BKT_PASS(bkt_buf_add(&o->chunks, coord, rank * sizeof *coord));
    return bkt_buf_add(&o->chunks, info, sizeof *info);
}

/* The chunks of a larger object that lie in the extent. */
static int keep_parts(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct bkt_vobj         *o = arg;
    const struct bkt_dset   *d = &o->obj->dset;
    const struct bkt_layout *l = &d->layout;
    uint64_t                 first[BKT_MAX_RANK], end[BKT_MAX_RANK], at[BKT_MAX_RANK];
    for (unsigned i = 0; i < l->rank; i++) {
        uint64_t all = bkt_ceil_div(d->space.dims[i], l->user_dims[i]);
        first[i] = at[i] = coord[i] * (l->dims[i] / l->user_dims[i]);
        end[i]           = bkt_min_u64(first[i] + l->dims[i] / l->user_dims[i], all);
        if (first[i] >= end[i])
            return BKT_OK;
    }
    for (bool more = true; more;) {
        BKT_PASS(keep(at, info, o));
        more = false;
        for (unsigned i = l->rank; i-- > 0 && !more;) {
            more = ++at[i] < end[i];
            if (!more)
                at[i] = first[i];
        }
    }
    return BKT_OK;
}

static size_t record(const struct bkt_vobj *o)
{
    return o->obj->dset.layout.rank * sizeof(uint64_t) + sizeof(struct bkt_chunk_info);
}

static int by_coord(const void *a, const void *b, void *rank)
{
    uint64_t x, y;
    for (unsigned i = 0; i < *(const unsigned *)rank; i++) {
        memcpy(&x, (const char *)a + i * sizeof x, sizeof x);
        memcpy(&y, (const char *)b + i * sizeof y, sizeof y);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Chunks are listed once per open dataset, until a write: H5Dget_chunk_info() is called for each index in
 * turn. */
static int list_chunks(struct bkt_vobj *o, size_t *n, struct bkt_err *err)
{
    struct bkt_dsetio *io;
    unsigned           rank = o->obj->dset.layout.rank;
    BKT_PASS(chunked_io(o, &io, err));
    if (!o->has_chunks || o->chunks_as_of != bkt_dataset_chunk_changes() || bkt_shared_is(o)) {
        BKT_PASS(bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err));
        bkt_buf_clear(&o->chunks);
        BKT_PASS(bkt_chunk_iter(io, is_split(o) ? keep_parts : keep, o, err));
        if (is_split(o) && o->chunks.len)
            qsort_r(o->chunks.ptr, o->chunks.len / record(o), record(o), by_coord, &rank);
        o->has_chunks   = true;
        o->chunks_as_of = bkt_dataset_chunk_changes();
    }
    *n = o->chunks.len / record(o);
    return BKT_OK;
}

static int chunk_at(struct bkt_vobj *o, size_t i, struct chunk *out, struct bkt_err *err)
{
    size_t               rank = o->obj->dset.layout.rank;
    const unsigned char *p    = o->chunks.ptr + i * record(o);
    memcpy(out->coord, p, rank * sizeof out->coord[0]);
    memcpy(&out->info, p + rank * sizeof out->coord[0], sizeof out->info);
    return measure(o, out, err);
}

/* The chunk's place in the object or file that holds it.  For programs (h5py), HADDR_UNDEF means a missing
 * chunk. */
static haddr_t address_of(const struct bkt_chunk_info *info)
{
    if (!info->exists)
        return HADDR_UNDEF;
    return info->offset == BKT_WHOLE ? 0 : (haddr_t)info->offset;
}

static int num_chunks(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    size_t n = 0;
    BKT_PASS(list_chunks(o, &n, err));
    *a->get_num_chunks.nchunks = n;
    return BKT_OK;
}

static int info_by_idx(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    H5VL_native_dataset_get_chunk_info_by_idx_t *q = &a->get_chunk_info_by_idx;
    struct chunk c;
    size_t       n = 0;
    BKT_PASS(list_chunks(o, &n, err));
    BKT_FAIL_IF(err, q->chk_index >= n, BKT_EINVAL, "chunk number %llu of %zu",
                (unsigned long long)q->chk_index, n);
    BKT_PASS(chunk_at(o, (size_t)q->chk_index, &c, err));
    BKT_PASS(report(o, c.coord, c.info.size, err));
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

static int iterate(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    struct chunk c;
    size_t       n  = 0;
    int          rc = 0;
    BKT_PASS(list_chunks(o, &n, err));
    for (size_t i = 0; rc == 0 && i < n && i < o->chunks.len / record(o); i++) { /* the callback may write */
        hsize_t offset[BKT_MAX_RANK];
        BKT_PASS(chunk_at(o, i, &c, err));
        BKT_PASS(report(o, c.coord, c.info.size, err));
        offset_of(o, c.coord, offset);
        rc = a->chunk_iter.op(offset, c.info.filter_mask, address_of(&c.info), c.info.size,
                              a->chunk_iter.op_data);
    }
    BKT_FAIL_IF(err, rc < 0, BKT_ECANCEL, "the program's callback failed");
    return rc;
}

/* ---- one chunk ---- */

static int coord_of(const struct bkt_vobj *o, const hsize_t *offset, uint64_t *coord, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    for (unsigned i = 0; i < d->layout.rank; i++) {
        BKT_FAIL_IF(err, offset[i] >= d->space.dims[i], BKT_EINVAL, "offset %llu in dimension %u of %llu",
                    (unsigned long long)offset[i], i, (unsigned long long)d->space.dims[i]);
        coord[i] = offset[i] / bkt_dataset_chunk_shown(o)[i];
    }
    return BKT_OK;
}

static int locate(struct bkt_vobj *o, const hsize_t *offset, struct bkt_chunk_info *info, struct bkt_err *err)
{
    const struct bkt_layout *l = &o->obj->dset.layout;
    struct bkt_dsetio       *io;
    struct chunk             c = {.info = {.exists = false}};
    uint64_t                 stored[BKT_MAX_RANK];
    BKT_PASS(chunked_io(o, &io, err));
    BKT_PASS(bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err));
    BKT_PASS(coord_of(o, offset, c.coord, err));
    for (unsigned i = 0; i < l->rank; i++)
        stored[i] = offset[i] / l->dims[i];
    BKT_PASS(bkt_chunk_locate(io, stored, &c.info, err));
    if (c.info.exists)
        BKT_PASS(measure(o, &c, err));
    *info = c.info;
    return report(o, c.coord, c.info.exists ? c.info.size : 0, err);
}

static int info_by_coord(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    H5VL_native_dataset_get_chunk_info_by_coord_t *q = &a->get_chunk_info_by_coord;
    struct bkt_chunk_info info;
    BKT_PASS(locate(o, q->offset, &info, err));
    if (q->filter_mask)
        *q->filter_mask = info.exists ? info.filter_mask : 0;
    if (q->addr)
        *q->addr = address_of(&info);
    if (q->size)
        *q->size = info.exists ? info.size : 0;
    return BKT_OK;
}

static int chunk_storage_size(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    struct bkt_chunk_info info;
    BKT_PASS(locate(o, a->get_chunk_storage_size.offset, &info, err));
    *a->get_chunk_storage_size.size = info.exists ? info.size : 0;
    return BKT_OK;
}

/* Whether elements are stored as they are, and shuffled only for the program.  The length is the same. */
static bool only_shuffled(const struct bkt_vobj *o)
{
    const struct bkt_dset *d = &o->obj->dset;
    return d->layout.cls == BKT_D_CHUNKED && !d->layout.hdf5_chunks && !d->type->is_var &&
           bkt_only_shuffled(d) && d->filters[0].aside;
}

/* A program interprets the bytes by the property list, and their number by H5Dget_chunk_storage_size().
 * The chunk must match both. */
static int check_direct(const struct bkt_vobj *o, struct bkt_err *err)
{
    const struct bkt_dset   *d = &o->obj->dset;
    const struct bkt_layout *l = &d->layout;
    if (is_split(o) || only_shuffled(o))
        return BKT_OK;
    BKT_FAIL_IF(err, l->cls == BKT_D_CHUNKED && !l->hdf5_chunks && (d->n_filters > 0 || d->type->is_var),
                BKT_EUNSUP,
                "direct chunk reading: chunks are stored in HSDS's form, not as the "
                "filters' output");
    BKT_FAIL_IF(err,
                l->user_rank != l->rank || memcmp(l->user_dims, l->dims, l->rank * sizeof l->dims[0]) != 0,
                BKT_EUNSUP,
                "direct chunk reading: the shape of stored chunks differs from the "
                "creation list's");
    return BKT_OK;
}

/* A chunk in HDF5's form holds elements of HDF5's size.  Padded compounds and references are stored with
 * another size. */
static int check_elements(struct bkt_vobj *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_file_type(o, o->obj->dset.type, &type, err));
    BKT_FAIL_IF(err, o->obj->dset.type->is_var || H5Tget_size(type) != o->obj->dset.type->size, BKT_EUNSUP,
                "chunks of dataset %s can't be moved as they are: its stored elements "
                "differ from HDF5's; read and write elements",
                o->obj->id.text);
    return BKT_OK;
}

static int chunk_read(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf raw = {0};
    struct bkt_dsetio *io;
    uint64_t coord[BKT_MAX_RANK];
    const hsize_t *offset = a->chunk_read.offset;
    BKT_PASS(chunked_io(o, &io, err));
    BKT_PASS(check_elements(o, err));
    BKT_PASS(check_direct(o, err));
    BKT_PASS(coord_of(o, offset, coord, err));
    BKT_PASS(bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err));
    if (is_split(o) || only_shuffled(o) || bkt_chunk_skips_filters(&o->obj->dset, offset))
        BKT_PASS(bkt_raw_chunk_read(io, offset, &raw, &a->chunk_read.filters, err));
    else
        BKT_PASS(bkt_chunk_read_raw(io, coord, &raw, &a->chunk_read.filters, err));
    size_t room = SIZE_MAX; /* the older call has no argument for it */
#if H5_VERSION_GE(2, 0, 0)
    if (a->chunk_read.buf_size) {
        room                    = *a->chunk_read.buf_size;
        *a->chunk_read.buf_size = raw.len;
    }
#endif
    if (room == SIZE_MAX)
        BKT_PASS(check_room(o, coord, raw.len, err));
    if (raw.len && raw.len <= room) /* H5Dread_chunk2 with too small a buffer reports the required size */
        memcpy(a->chunk_read.buf, raw.ptr, raw.len);
    return BKT_OK;
}

static int chunk_write(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    const H5VL_native_dataset_chunk_write_t *w = &a->chunk_write;
    struct bkt_dsetio *io;
    uint64_t coord[BKT_MAX_RANK];
    BKT_PASS(bkt_file_may_change(o->file, BKT_ACL_UPDATE, "writing a chunk", err));
    BKT_PASS(chunked_io(o, &io, err));
    BKT_PASS(check_elements(o, err));
    bkt_dataset_chunks_changed();
    BKT_PASS(bkt_raw_chunk_write(io, w->offset, w->filters, w->buf, w->size, err));
    BKT_PASS(bkt_shared_is(o) ? bkt_shared_store(o, err) : BKT_OK);
    if (is_split(o) || only_shuffled(o)) /* encoded again: the size may differ */
        return BKT_OK;
    for (unsigned i = 0; i < o->obj->dset.layout.rank; i++)
        coord[i] = w->offset[i] / bkt_dataset_chunk_shown(o)[i];
    return report(o, coord, w->size, err); /* the program knows it */
}

/* ---- other queries ---- */

/* The data lie in other files or in none, so there is no offset. */
static int get_offset(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    (void)o, (void)err;
    *a->get_offset.offset = HADDR_UNDEF;
    return BKT_OK;
}

static void *count_alloc(size_t size, void *sum)
{
    *(hsize_t *)sum += size;
    return malloc(size);
}

/* Only the values show their size, so this reads them and counts the allocations. */
static int vlen_buf_size(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *a, struct bkt_err *err)
{
    H5VL_native_dataset_get_vlen_buf_size_t *q = &a->get_vlen_buf_size;
    BKT_CLEANUP(bkt_hid_closep) hid_t counting = H5Pcreate(H5P_DATASET_XFER);
    BKT_CLEANUP(bkt_hid_closep) hid_t mem      = H5I_INVALID_HID;
    hssize_t n = H5Sget_select_npoints(q->space_id);
    hid_t    block = H5S_ALL;
    hsize_t  sum = 0, dim;
    size_t   bytes;

    BKT_NEED_H5(
        err, n >= 0 && counting >= 0 && H5Pset_vlen_mem_manager(counting, count_alloc, &sum, NULL, NULL) >= 0,
        "counting variable-length data");
    *q->size = 0;
    if (n == 0)
        return BKT_OK;
    dim = (hsize_t)n;
    mem = H5Screate_simple(1, &dim, NULL);
    BKT_CLEANUP(bkt_freep)
    void *buf = bkt_mul_size((size_t)n, H5Tget_size(q->type_id), &bytes) ? calloc(1, bytes) : NULL;
    BKT_NEED(err, mem >= 0 && buf);
    block = mem;
    BKT_PASS(bkt_dataset_read(
        &(struct bkt_io){1, false, &o, &q->type_id, &block, &q->space_id, counting, &buf, NULL}, err));
    BKT_PASS(BKT_PASS_H5(err, H5Treclaim(q->type_id, mem, H5P_DEFAULT, buf), "freeing variable-length data"));
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
                                 [H5VL_NATIVE_DATASET_CHUNK_WRITE]             = chunk_write,
                                 [H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE]       = vlen_buf_size,
                                 [H5VL_NATIVE_DATASET_GET_OFFSET]              = get_offset,
                                 [H5VL_NATIVE_DATASET_CHUNK_ITER]              = iterate};
    size_t op = (size_t)args->op_type;
    (void)dxpl;
    BKT_FAIL_IF(err, args->op_type < 0 || op >= BKT_COUNT(ops) || !ops[op], BKT_EUNSUP,
                "native dataset operation %d: not supported for domains", args->op_type);
    return ops[op](o, args->args, err);
}
