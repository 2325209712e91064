/* H5Ocopy: values of datasets and attributes. */
#include <stdlib.h>
#include <string.h>

#include <H5VLconnector.h>

#include "bkt_config.h"
#include "vol/dataset/extent_blocks.h"
#include "vol/copy/copy_impl.h"
#include "vol/dataset/dataset_calls.h"
#include "schema/edit/edit.h"
#include "vol/dataset/raw_files.h"
#include "vol/plain/plain_chunks.h"
#include "vol/convert/kept_filters.h"
#include "base/num.h"

/* Bytes of a dataset in memory at a time: bounds memory; larger strips are not faster to a bucket. */
#define STRIP ((size_t)16 << 20)

/* ---- the memory type ---- */

static bool has_references(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

static bool has_pointers(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    bool        has = cls == H5T_VLEN || cls == H5T_REFERENCE || H5Tis_variable_str(type) > 0;
    if (cls == H5T_ARRAY) {
        BKT_CLEANUP(bkt_hid_closep) hid_t of = H5Tget_super(type);
        has = has_pointers(of);
    }
    for (int i = 0; !has && cls == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m = H5Tget_member_type(type, (unsigned)i);
        has = has_pointers(m);
    }
    return has;
}

static hid_t without_references(hid_t type);

static herr_t keep_fields(hid_t to, hid_t type, int *kept)
{
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t m     = H5Tget_member_type(type, (unsigned)i);
        BKT_CLEANUP(bkt_hid_closep) hid_t field = without_references(m);
        char *name = field >= 0 ? H5Tget_member_name(type, (unsigned)i) : NULL;
        if (field < 0)
            continue;
        herr_t rc = name ? H5Tinsert(to, name, H5Tget_member_offset(type, (unsigned)i), field) : -1;
        (void)H5free_memory(name);
        if (rc < 0)
            return -1;
        ++*kept;
    }
    return 0;
}

/* A type with the fields that can be copied into another file; reference fields stay null.  Negative:
 * there are none. */
static hid_t without_references(hid_t type)
{
    int kept = 0;
    if (!has_references(type))
        return H5Tcopy(type);
    if (H5Tget_class(type) != H5T_COMPOUND)
        return H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t out = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
    if (out < 0 || keep_fields(out, type, &kept) < 0 || kept == 0)
        return H5I_INVALID_HID;
    return bkt_hid_take(&out);
}

/* Within the same file references keep their meaning.  *out negative: no value is copied. */
static hid_t memory_type(const struct copy *c, hid_t type)
{
    return c->same_file || bkt_copy_expands(c, type) ? H5Tcopy(type) : without_references(type);
}

/* ---- chunks ---- */

/* The stored chunks of a chunked dataset: for each its size, and its beginning in the dataset. */
struct chunks {
    unsigned       rank;
    hsize_t        dims[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    struct bkt_buf list;
    size_t         n;
};

static void chunks_fini(struct chunks *k) { bkt_buf_fini(&k->list); }

static const hsize_t *chunk_at(const struct chunks *k, size_t i) { return (const hsize_t *)(const void *)k->list.ptr + i * (k->rank + 1); }

static int keep(struct chunks *k, const hsize_t *offset, hsize_t size)
{
    k->n++;
    BKT_PASS(bkt_buf_add(&k->list, &size, sizeof size));
    return bkt_buf_add(&k->list, offset, k->rank * sizeof *offset);
}

static int on_ours(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    (void)mask, (void)addr;
    return size == 0 || keep(arg, offset, size) == BKT_OK ? H5_ITER_CONT : H5_ITER_ERROR;
}

static int on_plain(void *arg, const struct bkt_file_chunk *c)
{
    struct chunks *k    = arg;
    uint64_t       left = c->index;
    hsize_t        offset[H5S_MAX_RANK];
    for (unsigned d = k->rank; d-- > 0;) {
        uint64_t grid = bkt_ceil_div(k->dims[d], k->shape[d]);
        offset[d]     = left % grid * k->shape[d];
        left /= grid;
    }
    return keep(k, offset, c->size);
}

/* Our object behind an id; NULL: HDF5's connector answers for the id. */
const struct bkt_vobj *bkt_copy_ours(hid_t id)
{
    char name[16] = "";
    if (H5VLget_connector_name(id, name, sizeof name) < 0 || strcmp(name, BKT_CONNECTOR_NAME) != 0)
        return NULL;
    const struct bkt_vobj *o = H5VLobject(id);
    return o && o->native_id < 0 ? o : NULL;
}

static int list_chunks(const struct copy *c, hid_t from, hid_t dcpl, hid_t space, struct chunks *k)
{
    const struct bkt_vobj *o    = bkt_copy_ours(from);
    int                    rank = H5Sget_simple_extent_dims(space, k->dims, NULL);
    if (rank <= 0 || H5Pget_chunk(dcpl, H5S_MAX_RANK, k->shape) != rank)
        return bkt_copy_failed(c, "asking for the chunks of a dataset");
    k->rank = (unsigned)rank;
    if (!o) /* H5Dchunk_iter() reports some of them wrong (plain_chunks.c) */
        return bkt_file_chunks(from, on_plain, k, c->err);
    for (unsigned d = 0; d < k->rank; d++)
        k->shape[d] = bkt_dataset_chunk_shown(o)[d];
    return H5Dchunk_iter(from, H5P_DEFAULT, on_ours, k) < 0 ? bkt_copy_failed(c, "H5Dchunk_iter") : BKT_OK;
}

static int on_object(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct chunks *k = arg;
    hsize_t        offset[H5S_MAX_RANK];
    for (unsigned d = 0; d < k->rank; d++)
        offset[d] = coord[d] * k->shape[d];
    return keep(k, offset, info->size);
}

/* The stored chunks of a contiguous dataset in a domain, whose elements lie in chunk objects. */
static int list_objects(const struct copy *c, hid_t from, hid_t space, struct chunks *k)
{
    struct bkt_vobj   *o = (struct bkt_vobj *)(uintptr_t)bkt_copy_ours(from);
    struct bkt_dsetio *io;
    int                rank = H5Sget_simple_extent_dims(space, k->dims, NULL);
    if (!o || rank <= 0 || o->obj->dset.layout.cls != BKT_D_CHUNKED)
        return BKT_OK;
    k->rank = (unsigned)rank;
    memcpy(k->shape, o->obj->dset.layout.dims, k->rank * sizeof *k->shape);
    BKT_PASS(bkt_dataset_io(o, &io, c->err));
    return bkt_chunk_iter(io, on_object, k, c->err);
}

static bool are_all(const struct chunks *k)
{
    uint64_t all = 1;
    for (unsigned d = 0; d < k->rank; d++)
        if (!bkt_mul_u64(all, bkt_ceil_div(k->dims[d], k->shape[d]), &all))
            return false;
    return k->n >= all;
}

/* Copy a chunk as it is stored.  0: its form is unknown to HDF5. */
static int move_chunk(struct copy *c, hid_t from, hid_t to, const hsize_t *chunk, bool first, struct bkt_buf *buf)
{
    uint32_t mask = 0;
    herr_t   rc;
    if (chunk[0] > SIZE_MAX || bkt_buf_resize(buf, (size_t)chunk[0]) < 0)
        return BKT_ERR(c->err, BKT_ENOMEM, "no memory for a chunk of %llu bytes", (unsigned long long)chunk[0]);
    H5E_BEGIN_TRY
    {
        rc = H5Dread_chunk(from, H5P_DEFAULT, chunk + 1, &mask, buf->ptr);
    }
    H5E_END_TRY
    if (rc < 0 && first)
        return 0;
    if (rc < 0)
        return bkt_copy_failed(c, "H5Dread_chunk");
    return H5Dwrite_chunk(to, H5P_DEFAULT, mask, chunk + 1, (size_t)chunk[0], buf->ptr) < 0 ? bkt_copy_failed(c, "H5Dwrite_chunk") : 1;
}

/* 1: done; 0: the chunks have to be read and written */
static int move_chunks(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t dcpl, const struct chunks *k)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf buf = {0};
    if (H5Pget_nfilters(dcpl) <= 0 || has_pointers(type) || !bkt_filters_agree(from, to))
        return 0;
    for (size_t i = 0; i < k->n; i++) {
        int rc = move_chunk(c, from, to, chunk_at(k, i), i == 0, &buf);
        if (rc <= 0)
            return rc;
    }
    return 1;
}

/* ---- values ---- */

struct values {
    hid_t type, space;
    void *buf;
};

static void values_fini(struct values *v)
{
    if (v->buf && has_pointers(v->type))
        (void)H5Treclaim(v->type, v->space, H5P_DEFAULT, v->buf);
    free(v->buf);
    v->buf = NULL;
}

/* Read and write @p n elements between equal selections of both spaces. */
static int move_elements(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space, hsize_t n)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5Screate_simple(1, &n, NULL);
    struct values v = {.type = type, .space = mem};
    size_t        bytes;
    int           rc = BKT_OK;
    if (mem < 0 || !bkt_mul_size((size_t)n, H5Tget_size(type), &bytes) || !(v.buf = calloc(1, bytes ? bytes : 1)))
        rc = BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    else if (H5Dread(from, type, mem, space, H5P_DEFAULT, v.buf) < 0)
        rc = bkt_copy_failed(c, "H5Dread");
    else if (bkt_copy_expands(c, type) && (rc = bkt_copy_expand(c, from, type, v.buf, (size_t)n)) < 0)
        ; /* already reported */
    else if (H5Dwrite(to, type, mem, space, H5P_DEFAULT, v.buf) < 0)
        rc = bkt_copy_failed(c, "H5Dwrite");
    values_fini(&v);
    return rc;
}

/* Copy the whole dataset.  @p k: the chunks, of rank 0 if there are none. */
static int copy_blocks(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space, unsigned rank, const hsize_t *dims,
                       const struct chunks *k)
{
    struct bkt_blocks b;
    size_t            size = H5Tget_size(type);
    bkt_blocks_begin(&b, rank, dims, k->rank ? k->shape : NULL, STRIP / (size ? size : 1));
    do {
        if (rank && H5Sselect_hyperslab(space, H5S_SELECT_SET, b.at, NULL, b.count, NULL) < 0)
            return bkt_copy_failed(c, "H5Sselect_hyperslab");
        BKT_PASS(move_elements(c, from, to, type, space, b.n));
    } while (bkt_blocks_next(&b));
    return BKT_OK;
}

/* Chunks read and written at once; more are not faster.  Their selection is a union of boxes. */
#define TOGETHER 256

/* If only some chunks are stored: copy these. */
static int copy_boxes(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space, const struct chunks *k)
{
    hsize_t n = 0, count[H5S_MAX_RANK];
    size_t  size = H5Tget_size(type);
    for (size_t i = 0, boxes = 0; i < k->n; i++) {
        const hsize_t *start = chunk_at(k, i) + 1;
        hsize_t        elems = 1;
        for (unsigned d = 0; d < k->rank; d++) {
            count[d] = k->dims[d] - start[d] < k->shape[d] ? k->dims[d] - start[d] : k->shape[d];
            elems *= count[d];
        }
        if (H5Sselect_hyperslab(space, boxes++ ? H5S_SELECT_OR : H5S_SELECT_SET, start, NULL, count, NULL) < 0)
            return bkt_copy_failed(c, "H5Sselect_hyperslab");
        n += elems;
        if (i + 1 < k->n && boxes < TOGETHER && n < STRIP / (size ? size : 1))
            continue;
        BKT_PASS(move_elements(c, from, to, type, space, n));
        n = boxes = 0;
    }
    return BKT_OK;
}

bool bkt_copy_is_outside(hid_t dset, hid_t dcpl)
{
    const struct bkt_vobj *o = bkt_copy_ours(dset);
    return H5Pget_external_count(dcpl) > 0 && (!o || bkt_is_external(o));
}

int bkt_copy_data(struct copy *c, hid_t from, hid_t to, hid_t dcpl)
{
    BKT_CLEANUP(chunks_fini) struct chunks k = {.rank = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = type < 0 ? type : memory_type(c, type);
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    hsize_t            dims[BKT_MAX_RANK];
    if (type < 0 || space < 0)
        return bkt_copy_failed(c, "opening a dataset");
    hssize_t n    = H5Sget_simple_extent_npoints(space);
    int      rank = H5Sget_simple_extent_dims(space, dims, NULL);
    bool     none = H5Pget_external_count(dcpl) == 0 && H5Pget_layout(dcpl) != H5D_VIRTUAL &&
                H5Dget_space_status(from, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED;
    if (bkt_copy_is_outside(from, dcpl) && bkt_copy_is_outside(to, dcpl)) /* both refer to the same files */
        return BKT_OK;
    if (mem < 0 || n <= 0 || none || H5Pget_layout(dcpl) == H5D_VIRTUAL)
        return BKT_OK;
    if (H5Pget_layout(dcpl) == H5D_CHUNKED) {
        BKT_PASS(list_chunks(c, from, dcpl, space, &k));
        int moved = move_chunks(c, from, to, type, dcpl, &k);
        if (moved != 0)
            return moved < 0 ? moved : BKT_OK;
        if (!are_all(&k))
            return copy_boxes(c, from, to, mem, space, &k);
    } else if (status == H5D_SPACE_STATUS_PART_ALLOCATED) {
        BKT_PASS(list_objects(c, from, space, &k));
        if (k.rank && !are_all(&k))
            return copy_boxes(c, from, to, mem, space, &k);
        k.rank = 0;
    }
    return rank < 0 ? bkt_copy_failed(c, "asking for an extent") : copy_blocks(c, from, to, mem, space, (unsigned)rank, dims, &k);
}

/* ---- attributes ---- */

static int copy_value(struct copy *c, hid_t from, hid_t to, hid_t type, hid_t space)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = memory_type(c, type);
    BKT_CLEANUP(values_fini) struct values v = {.type = mem, .space = space};
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t   bytes;
    if (n <= 0 || mem < 0)
        return BKT_OK;
    if (!bkt_mul_size((size_t)n, H5Tget_size(mem), &bytes) || !(v.buf = calloc(1, bytes)))
        return BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    if (H5Aread(from, mem, v.buf) < 0)
        return bkt_copy_failed(c, "H5Aread");
    if (bkt_copy_expands(c, type))
        BKT_PASS(bkt_copy_expand(c, from, type, v.buf, (size_t)n));
    return H5Awrite(to, mem, v.buf) < 0 ? bkt_copy_failed(c, "H5Awrite") : BKT_OK;
}

struct attr_copy {
    struct copy *c;
    hid_t        to;
    bool         numbered;
    int          rc;
};

static int copy_attr(struct copy *c, hid_t attr, hid_t to_obj, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t full = H5Aget_type(attr), space = H5Aget_space(attr), acpl = H5Aget_create_plist(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID, to = H5I_INVALID_HID;
    if (full < 0 || space < 0 || acpl < 0)
        return bkt_copy_failed(c, name);
    BKT_PASS(bkt_copy_type(c, full, &type));
    to = H5Acreate2(to_obj, name, type, space, acpl, H5P_DEFAULT);
    return to < 0 ? bkt_copy_failed(c, name) : copy_value(c, attr, to, full, space);
}

static herr_t each_attr(hid_t from, const char *name, const H5A_info_t *info, void *arg)
{
    struct attr_copy *a = arg;
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(from, name, H5P_DEFAULT);
    a->rc = attr < 0 ? bkt_copy_failed(a->c, name) : BKT_OK;
    if (a->rc == BKT_OK && a->numbered && info->corder_valid)
        a->rc = bkt_copy_number(a->c, a->to, false, info->corder);
    a->rc = a->rc < 0 ? a->rc : copy_attr(a->c, attr, a->to, name);
    return a->rc < 0 ? -1 : 0;
}

int bkt_copy_number(struct copy *c, hid_t to, bool links, int64_t number)
{
    const struct bkt_vobj *o = bkt_copy_ours(to);
    return o ? bkt_edit_number(o->file->dom, &o->obj->id, links, number, c->err) : BKT_OK;
}

int bkt_copy_attrs(struct copy *c, hid_t from, hid_t to, hid_t cpl)
{
    struct attr_copy       a     = {.c = c, .to = to};
    const struct bkt_vobj *o     = bkt_copy_ours(from);
    unsigned               order = 0;
    if (c->flags & H5O_COPY_WITHOUT_ATTR_FLAG)
        return BKT_OK;
    (void)H5Pget_attr_creation_order(cpl, &order);
    a.numbered     = order & H5P_CRT_ORDER_TRACKED;
    H5_index_t idx = a.numbered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Aiterate2(from, idx, H5_ITER_INC, NULL, each_attr, &a) < 0 && a.rc == BKT_OK)
        return bkt_copy_failed(c, "H5Aiterate");
    return a.rc == BKT_OK && a.numbered && o ? bkt_copy_number(c, to, false, o->obj->attrs.next) : a.rc;
}
