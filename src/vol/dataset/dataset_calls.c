/* Datasets of domains: the places of their elements, transfers to and from datasets whose elements lie
 * elsewhere, and queries.  For creating see dataset_create.c, for reading dataset_read.c, for writing
 * dataset_write.c, for chunks dataset_chunks.c. */
#include "vol/dataset/dataset_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/comm.h"
#include "base/num.h"
#include "base/trace.h"
#include "chunk/dataset/dataset.h"
#include "chunk/write/write.h"
#include "vol/convert/convert.h"
#include "vol/core/filters.h"
#include "vol/core/vol.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/shared_transfer.h"
#include "vol/dataset/virtual.h"
#include "vol/open/permission_and_flush.h"
#include "vol/plain/plain_chunks.h"
#include "vol/vfd/store_driver.h"

/* ---- chunk tables that aren't stored: chunks are looked up in the file (initializer chunklocator) ---- */

/* The text behind @p option in "chunklocator --h5path=/d --filepath=x/f.h5 --bucket=b"; values may contain
 * blanks. */
static char *option_of(const char *words, const char *option)
{
    const char *at = strstr(words, option);
    if (!at)
        return NULL;
    at += strlen(option);
    const char *end = strstr(at, " --");
    return strndup(at, end ? (size_t)(end - at) : strlen(at));
}

/* Whether the whole table is stored, so that it needn't be made. */
static int is_stored(struct bkt_domain *dom, const struct bkt_object *table, bool *out, struct bkt_err *err)
{
    const struct bkt_dset *d    = &table->dset;
    uint64_t               want = 1, n = 0;
    for (unsigned i = 0; i < d->space.rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(want, bkt_ceil_div(d->space.dims[i], d->layout.dims[i]), &want),
                    BKT_EFORMAT, "chunk table %s is too large", table->id.text);
    struct bkt_err why = {.n = 0};
    int            rc  = bkt_domain_chunk_usage(dom, table, NULL, &n, &why);
    if (rc < 0 && rc != BKT_EUNSUP)
        return bkt_err_copy(err, rc, &why);
    *out = rc == BKT_OK && n >= want;
    return BKT_OK;
}

/* The file's dataset must be cut as the layout says, or every location would belong to another chunk. */
static int check_shape(hid_t dset, const struct bkt_object *o, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    hsize_t                           chunk[H5S_MAX_RANK], dims[H5S_MAX_RANK];
    unsigned                          rank = o->dset.space.rank;
    BKT_NEED_H5(err, dcpl >= 0 && space >= 0, "looking at a linked dataset");
    bool same = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Sget_simple_extent_ndims(space) == (int)rank &&
                H5Sget_simple_extent_dims(space, dims, NULL) >= 0 &&
                H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == (int)rank;
    same = same && memcmp(chunk, o->dset.layout.dims, rank * sizeof *chunk) == 0 &&
           memcmp(dims, o->dset.space.dims, rank * sizeof *dims) == 0;
    BKT_FAIL_IF(err, !same, BKT_EFORMAT, "%s: shape or chunks differ from dataset %s; link it again", name,
                o->id.text);
    return BKT_OK;
}

/* @p v: @p n of the chunks of @p o, the caller's */
static int list_chunks(const struct bkt_object *o, const char *file, const char *path,
                       const struct bkt_settings *set, struct bkt_file_chunk **v, size_t *n,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    BKT_CLEANUP(bkt_hid_closep) hid_t h5 = H5I_INVALID_HID, dset = H5I_INVALID_HID;
    if (fapl < 0 || H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0) /* the default may be the connector itself */
        return bkt_h5err_capture(err, "making a file access list");
    BKT_PASS(bkt_vfd_set(fapl, file, set, err));
    BKT_PASS(BKT_PASS_H5(err, h5 = H5Fopen(file, H5F_ACC_RDONLY, fapl), file));
    BKT_PASS(BKT_PASS_H5(err, dset = H5Dopen2(h5, path, H5P_DEFAULT), path));
    BKT_PASS(check_shape(dset, o, path, err));
    return bkt_file_chunks_found(dset, SIZE_MAX, v, n, err);
}

static int locate(struct bkt_vobj *o, struct bkt_dsetio *io, const char *words, struct bkt_err *err)
{
    const struct bkt_layout     *l    = &o->obj->dset.layout;
    BKT_CLEANUP(bkt_freep) char *path = option_of(words, "--h5path=");
    BKT_CLEANUP(bkt_freep) char *key  = NULL;
    struct bkt_store            *st   = NULL;
    struct bkt_file_chunk *v = NULL;
    size_t n = 0;
    BKT_FAIL_IF(err, !path || !l->file_uri, BKT_EFORMAT, "no %s in layout and initializer \"%s\"",
                path ? "file_uri" : "--h5path", words);
    BKT_PASS(bkt_domain_resolve_uri(o->file->dom, l->file_uri, &st, &key, err));
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&name, "%s/%s", bkt_store_uri(st), key));
    bkt_trace(BKT_TRACE_VOL, "chunklocator: looking for the chunks of %s in %s", path, bkt_buf_str(&name));
    BKT_TRY(err,
            list_chunks(o->obj, bkt_buf_str(&name), path, bkt_domain_settings(o->file->dom), &v, &n, err),
            "chunk locations in %s", bkt_buf_str(&name));
    return bkt_dsetio_set_found(io, v, n, err);
}

/* If the chunk table of dataset @p o isn't stored and chunklocator is to make it: open the HDF5 file in
 *  place, by ranges, and give the locations to @p io.  Otherwise do nothing.  The rule of references
 *  decides which files may be opened.
 *  @return BKT_OK; BKT_EACCES: not allowed; BKT_EFORMAT: that dataset of the file has another shape, or no
 *  chunks */
static int chunk_locator_run(struct bkt_vobj *o, struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_layout *l     = &o->obj->dset.layout;
    const struct bkt_object *table = NULL;
    bool                     stored = false;
    if (l->cls != BKT_D_CHUNKED_REF_INDIRECT)
        return BKT_OK;
    bkt_reference_table_first_begin(io);
    BKT_TRY(err, bkt_domain_get(o->file->dom, &l->chunk_table, &table, err), "chunk table of dataset %s",
            o->obj->id.text);
    int rc = BKT_OK;
    if (table->kind == BKT_DATASET && table->dset.init == BKT_INIT_CHUNKLOCATOR) {
        rc = is_stored(o->file->dom, table, &stored, err);
        if (rc == BKT_OK && !stored)
            rc = locate(o, io, table->dset.init_text, err);
    }
    bkt_object_release(table);
    BKT_FAIL_IF(err, rc < 0, rc, "chunk table %s of dataset %s is not stored", l->chunk_table.text,
                o->obj->id.text);
    return BKT_OK;
}

/* ---- where elements lie ---- */

/* Operations of a dataset whose elements are not in its own chunks.  Such datasets are read and written one
 * by one. */
struct elsewhere {
    int (*transfer)(const struct bkt_io *io, struct bkt_err *err);
    /** Bytes; NULL: 0, as in HDF5, since the sources have the storage. */
    int (*size)(struct bkt_vobj *o, uint64_t *out, struct bkt_err *err);
};

static const struct elsewhere *elsewhere_of(const struct bkt_vobj *o)
{
    static const struct elsewhere in_datasets = {bkt_virtual_transfer, NULL};
    static const struct elsewhere in_files = {bkt_external_transfer, bkt_external_size};
    return bkt_is_virtual(o) ? &in_datasets : bkt_is_external(o) ? &in_files : NULL;
}

int bkt_dataset_io(struct bkt_vobj *o, struct bkt_dsetio **out, struct bkt_err *err)
{
    if (o->io)
        bkt_dsetio_find(o->io, bkt_plugin_find);
    if (!o->io) {
        BKT_TRY(err, bkt_dsetio_open(o->file->dom, o->obj, bkt_plugin_find, &o->io, err), "dataset %s",
                bkt_vobj_place(o));
        bkt_dsetio_name(o->io, o->path);
        int rc = chunk_locator_run(o, o->io, err);
        if (rc < 0) {
            bkt_dsetio_close(o->io);
            o->io = NULL;
            return rc;
        }
    }
    *out = o->io;
    return BKT_OK;
}

/* The bytes and the number of stored chunks, so the dataset is stored first. */
static int stored_size(struct bkt_vobj *o, uint64_t *bytes, uint64_t *n, struct bkt_err *err)
{
    struct bkt_dsetio *io;
    BKT_PASS(bkt_dataset_io(o, &io, err));
    BKT_PASS(bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err));
    return bkt_dsetio_storage_size(io, bytes, n, err);
}

static int space_status(struct bkt_vobj *o, H5D_space_status_t *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    uint64_t bytes = 0, n = 0, all = d->space.cls == BKT_S_NULL ? 0 : 1;
    *out = H5D_SPACE_STATUS_ALLOCATED;
    if (elsewhere_of(o)) /* mappings count as allocated, and so do files, whatever they contain */
        return BKT_OK;
    BKT_PASS(stored_size(o, &bytes, &n, err));
    for (unsigned i = 0; i < d->space.rank; i++)
        if (!bkt_mul_u64(all, bkt_ceil_div(d->space.dims[i], d->layout.dims[i]), &all))
            all = UINT64_MAX;
    *out = n == 0    ? H5D_SPACE_STATUS_NOT_ALLOCATED
           : n < all ? H5D_SPACE_STATUS_PART_ALLOCATED
                     : H5D_SPACE_STATUS_ALLOCATED;
    return BKT_OK;
}

/* ---- reading and writing ---- */

/* H5S_PLIST stands for a selection inside the transfer list (H5Pset_dataset_io_hyperslab_selection).  Only
 * HDF5's own code can read that selection. */
static int check_spaces(const struct bkt_io *io, struct bkt_err *err)
{
    for (size_t i = 0; i < io->n; i++)
        BKT_FAIL_IF(err, io->file_spaces[i] == H5S_PLIST, BKT_EUNSUP,
                    "H5S_PLIST: give the selection as a dataspace");
    return BKT_OK;
}

static bool selects_nothing(const struct bkt_vobj *o, hid_t file_space)
{
    const struct bkt_space *s = &o->obj->dset.space;
    if (file_space != H5S_ALL)
        return H5Sget_select_npoints(file_space) == 0;
    bool none = s->cls == BKT_S_NULL;
    for (unsigned i = 0; i < s->rank; i++)
        none = none || s->dims[i] == 0;
    return none;
}

/* Whether elements that were never written would get a fill value, but none is defined. */
static int has_no_fill(struct bkt_vobj *o, bool *out, struct bkt_err *err)
{
    const struct bkt_dset            *d    = &o->obj->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    H5D_fill_value_t                  kind = H5D_FILL_VALUE_DEFAULT;
    *out                                   = false;
    if (d->has_fill || !o->obj->cpl.len || d->fill_time == H5D_FILL_TIME_NEVER ||
        d->alloc_time == H5D_ALLOC_TIME_EARLY || d->layout.user_cls == BKT_D_COMPACT ||
        d->layout.cls != BKT_D_CHUNKED || bkt_is_external(o))
        return BKT_OK;
    BKT_PASS(bkt_convert_dcpl(o, &dcpl, err));
    BKT_PASS(BKT_PASS_H5(err, H5Pfill_value_defined(dcpl, &kind), "asking for the fill value"));
    *out = kind == H5D_FILL_VALUE_UNDEFINED;
    return BKT_OK;
}

/* As HDF5 reports it in parallel programs: space that was to be allocated when the dataset was made is
 * allocated, though nothing is stored yet. */
static int shown_space_status(struct bkt_vobj *o, H5D_space_status_t *out, struct bkt_err *err)
{
    *out = H5D_SPACE_STATUS_ALLOCATED;
    return o->file->comm && o->obj->dset.alloc_time == H5D_ALLOC_TIME_EARLY ? BKT_OK
                                                                            : space_status(o, out, err);
}

/* As in HDF5, elements that were never written can't be read if their fill value is undefined, unless the
 * selection is empty. */
static int check_written(struct bkt_vobj *o, hid_t file_space, struct bkt_err *err)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    bool               none;
    if (o->fill_checked || o->obj->dset.written || selects_nothing(o, file_space))
        return BKT_OK;
    BKT_PASS(has_no_fill(o, &none, err));
    if (none)
        BKT_PASS(space_status(o, &status, err));
    BKT_FAIL_IF(err, status == H5D_SPACE_STATUS_NOT_ALLOCATED, BKT_ENOENT,
                "it was never written, and it has no fill value; write it, or set one "
                "(H5Pset_fill_value)");
    o->fill_checked = true;
    return BKT_OK;
}

int bkt_dataset_note_written(struct bkt_vobj *o, struct bkt_err *err)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_NOT_ALLOCATED;
    bool               none;
    if (o->obj->dset.written)
        return BKT_OK;
    BKT_PASS(has_no_fill(o, &none, err));
    struct bkt_err why = {.n = 0};
    int rc = none ? space_status(o, &status, &why) : BKT_OK;
    if (rc == BKT_EACCES ||
        rc == BKT_EUNSUP) /* the question was refused: the dataset may have been written */
        status = H5D_SPACE_STATUS_ALLOCATED;
    else if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    return status == H5D_SPACE_STATUS_NOT_ALLOCATED ? BKT_OK
                                                    : bkt_edit_written(o->file->dom, &o->obj->id, err);
}

static int on_key(const uint64_t *coord, uint64_t size, void *any)
{
    (void)coord, (void)size;
    *(bool *)any = true;
    return BKT_ECANCEL;
}

/* Chunks that are asked for one by one, where no list finds them; of more it is taken that one is stored. */
#define MOST_HEADS 64

static bool are_few(const struct bkt_dset *d)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < d->space.rank; i++)
        if (!bkt_mul_u64(n, bkt_ceil_div(d->space.dims[i], d->layout.dims[i]), &n))
            return false;
    return n <= MOST_HEADS;
}

/* Whether any chunk is stored.  The first page of a list has the answer. */
static int any_chunk(struct bkt_vobj *o, bool *out, struct bkt_err *err)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_NOT_ALLOCATED;
    struct bkt_dsetio *io;
    BKT_PASS(bkt_dataset_io(o, &io, err));
    BKT_PASS(bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err));
    *out = false;
    int rc = bkt_id_is_v2(&o->obj->id) ? bkt_chunk_keys_each(io, on_key, out, err) : BKT_EUNSUP;
    if (rc == BKT_EUNSUP && are_few(&o->obj->dset)) {
        bkt_err_clear(err);
        rc = space_status(o, &status, err);
    }
    *out = *out || status != H5D_SPACE_STATUS_NOT_ALLOCATED;
    return *out && rc == BKT_ECANCEL ? BKT_OK : rc;
}

/* If the store refuses the question, the dataset may have been written. */
int bkt_dataset_was_written(struct bkt_vobj *o, bool *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    struct bkt_err why = {.n = 0};
    bool early = d->alloc_time == H5D_ALLOC_TIME_EARLY || d->layout.user_cls == BKT_D_COMPACT;
    bool known = o->was_blank && o->blank_as_of == bkt_dataset_chunk_changes() && !bkt_shared_is(o);
    *out = !known;
    if (known)
        return BKT_OK;
    if (!o->was_written && !early && d->layout.cls == BKT_D_CHUNKED && !elsewhere_of(o)) {
        int rc = any_chunk(o, out, &why);
        if (rc == BKT_EACCES || rc == BKT_EUNSUP)
            *out = true;
        else if (rc < 0)
            return bkt_err_copy(err, rc, &why);
    }
    o->was_written = *out;
    o->was_blank = !*out;
    o->blank_as_of = bkt_dataset_chunk_changes();
    return BKT_OK;
}

static int transfer_together(const struct bkt_io *io, struct bkt_err *err)
{
    int rc = check_spaces(io, err);
    BKT_PASS(bkt_comm_agree(io->group, rc, err));
    if (io->write)
        return bkt_dataset_write_all(io, err);
    for (size_t i = 0; io->group && i < io->n; i++)
        BKT_PASS(bkt_shared_hand_on(io->group, io, i, err));
    for (size_t i = 0; i < io->n; i++)
        BKT_PASS(check_written(io->dsets[i], io->file_spaces[i], err));
    return bkt_dataset_read(io, err);
}

static int transfer_one(const struct bkt_io *io, struct bkt_err *err)
{
    struct bkt_vobj        *o  = io->dsets[0];
    const struct elsewhere *at = elsewhere_of(o);
    if (!at)
        return transfer_together(io, err);
    BKT_PASS(check_spaces(io, err));
    if (io->write)
        BKT_PASS(bkt_file_may_change(o->file, BKT_ACL_UPDATE, "writing to a dataset", err));
    return at->transfer(io, err);
}

/* If no dataset has its elements elsewhere, all are read or written together. */
static int transfer_here(const struct bkt_io *io, struct bkt_err *err)
{
    bool alone = false;
    for (size_t i = 0; i < io->n; i++)
        alone = alone || elsewhere_of(io->dsets[i]);
    if (!alone)
        return transfer_together(io, err);
    for (size_t i = 0; i < io->n; i++) {
        const struct bkt_io one = bkt_io_one(io, i);
        BKT_PASS(bkt_comm_agree(io->group, transfer_one(&one, err), err));
    }
    return BKT_OK;
}

static int transfer(const struct bkt_io *io, struct bkt_err *err)
{
    return bkt_shared_concerns(io) ? bkt_shared_transfer(io, transfer_here, err) : transfer_here(io, err);
}

/* ---- queries ---- */

/* H5Pget_chunk_cache() must report the values of a chunked dataset: those of its own list, else the
 * file's.  The numbers have no other use here (chunk_cache, write_cache). */
static herr_t fill_chunk_cache(const struct bkt_vobj *o, hid_t dapl)
{
    size_t slots, bytes, file_slots, file_bytes;
    double w0, file_w0;
    if (H5Pget(dapl, "rdcc_nslots", &slots) < 0 || H5Pget(dapl, "rdcc_nbytes", &bytes) < 0 ||
        H5Pget(dapl, "rdcc_w0", &w0) < 0 ||
        H5Pget_cache(o->file->fapl, NULL, &file_slots, &file_bytes, &file_w0) < 0)
        return -1;
    return H5Pset_chunk_cache(dapl, slots == H5D_CHUNK_CACHE_NSLOTS_DEFAULT ? file_slots : slots,
                              bytes == H5D_CHUNK_CACHE_NBYTES_DEFAULT ? file_bytes : bytes,
                              w0 < 0 ? file_w0 : w0);
}

static int get_dapl(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = o->dapl >= 0 ? H5Pcopy(o->dapl) : H5Pcreate(H5P_DATASET_ACCESS);
    enum bkt_layout_class layout = o->obj->dset.layout.user_cls;
    bool chunked = layout != BKT_D_COMPACT && layout != BKT_D_CONTIGUOUS && layout != BKT_D_CONTIGUOUS_REF &&
                   layout != BKT_D_NONE && layout != BKT_D_VIRTUAL;
    if (id < 0 || (chunked && fill_chunk_cache(o, id) < 0))
        return bkt_h5err_capture(err, "copying the access property list");
    args->args.get_dapl.dapl_id = bkt_hid_take(&id);
    return BKT_OK;
}

static int storage_size(struct bkt_vobj *o, hsize_t *out, struct bkt_err *err)
{
    const struct elsewhere *at = elsewhere_of(o);
    uint64_t bytes = 0, n = 0;
    *out = 0;
    if (!at)
        BKT_PASS(stored_size(o, &bytes, &n, err));
    else if (at->size)
        BKT_PASS(at->size(o, &bytes, err));
    *out = bytes;
    return BKT_OK;
}

static int get_dcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_file_type(o, o->obj->dset.type, &type, err));
    BKT_PASS(bkt_convert_dcpl(o, out, err));
    bkt_filters_mark(*out, type);
    return BKT_OK;
}

static int get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    hid_t *space = &args->args.get_space.space_id;
    switch (args->op_type) {
        case H5VL_DATASET_GET_DAPL:
            return get_dapl(o, args, err);
        case H5VL_DATASET_GET_DCPL:
            return get_dcpl(o, &args->args.get_dcpl.dcpl_id, err);
        case H5VL_DATASET_GET_SPACE:
            return bkt_is_virtual(o) ? bkt_virtual_space(o, space, err)
                                     : bkt_convert_space(&o->obj->dset.space, space, err);
        case H5VL_DATASET_GET_SPACE_STATUS:
            return shown_space_status(o, args->args.get_space_status.status, err);
        case H5VL_DATASET_GET_STORAGE_SIZE:
            return storage_size(o, args->args.get_storage_size.storage_size, err);
        case H5VL_DATASET_GET_TYPE:
            return bkt_convert_shown_type(o, o->obj->dset.type, &args->args.get_type.type_id, err);
        default:
            BKT_UNKNOWN_OP(err, "dataset get operation", args->op_type);
    }
}

const struct bkt_dataset_ops bkt_domain_dataset_ops = {.create     = bkt_dataset_create,
                                                   .transfer   = transfer,
                                                   .get        = get,
                                                   .set_extent = bkt_dataset_set_extent,
                                                   .optional   = bkt_dataset_optional};
