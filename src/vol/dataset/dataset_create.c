/* Datasets: creating them, and changing their extent. */
#include <string.h>

#include "base/bytes.h"
#include "base/os/comm.h"
#include "base/trace.h"
#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "schema/model/chunk_shape_rule.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/virtual.h"
#include "vol/open/permission_and_flush.h"
#include "vol/parallel/together.h"
#include "vol/path/new_link.h"

/* Translate the program's request to the model's terms.  HDF5 itself judges whether it is valid
 * (plist_from_h5.c). */
static int describe(struct bkt_vobj *in_file, hid_t type, hid_t space, hid_t dcpl, hid_t dapl,
                    struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_from_type(in_file, type, &o->dset.type, err));
    BKT_PASS(bkt_convert_from_space(space, &o->dset.space, err));
    BKT_PASS(bkt_convert_type(o->dset.type, &file_type, err));
    BKT_PASS(bkt_convert_from_dcpl(in_file, dcpl, type, file_type, space, o, err));
    o->dset.layout.external = bkt_external_wanted(in_file, dcpl, dapl, o->dset.type, file_type);
    return bkt_layout_choose(&o->dset, err);
}

static int new_dataset(struct bkt_vobj *in_file, hid_t type, hid_t space, hid_t dcpl, hid_t dapl,
                       struct bkt_object **out, struct bkt_err *err)
{
    *out = bkt_object_make(BKT_DATASET);
    BKT_NEED(err, *out);
    int rc = describe(in_file, type, space, dcpl, dapl, *out, err);
    if (rc < 0)
        bkt_object_free(*out);
    return rc;
}

/* Complete a new object for HDF5: its access list, and the fact that none of it is stored. */
static int begin(struct bkt_vobj *o, hid_t dapl, struct bkt_err *err)
{
    struct bkt_dsetio *io = NULL;
    if (dapl != H5P_DEFAULT && dapl != H5P_DATASET_ACCESS_DEFAULT && (o->dapl = H5Pcopy(dapl)) < 0)
        return bkt_h5err_capture(err, "copying the access property list");
    if (bkt_is_virtual(o))
        return BKT_OK;
    BKT_PASS(bkt_dataset_io(o, &io, err));
    bkt_chunks_new(io);
    return BKT_OK;
}

int bkt_dataset_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl,
                       hid_t dapl, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *made = NULL;
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    struct bkt_object *o = NULL;
    struct bkt_new_link_call call = {.what = "creating a dataset", .lcpl = lcpl, .lapl = dapl, .ocpl = dcpl};
    BKT_PASS(bkt_new_link_find(at, name, &call, &s, err));
    if (s.group && s.group->ops != at->ops)
        return s.group->ops->dataset->create(s.group, s.name, lcpl, type, space, dcpl, dapl, out, err);
    BKT_PASS(new_dataset(s.group ? s.group : at, type, space, dcpl, dapl, &o, err));
    BKT_PASS(bkt_new_link_make(&s, at, o, &made, err));
    BKT_PASS(begin(made, dapl, err));
    BKT_PASS(bkt_new_link_show(&s, made, err));
    *out = BKT_TAKE(made);
    return BKT_OK;
}

/* ---- extent ---- */

static bool is_smaller(const struct bkt_space *s, const hsize_t *dims)
{
    for (unsigned i = 0; i < s->rank; i++)
        if (dims[i] < s->dims[i])
            return true;
    return false;
}

/* HDF5 allows a change for chunked datasets and for datasets with external files. */
static int may_change(struct bkt_vobj *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    if (o->obj->dset.layout.user_cls == BKT_D_CHUNKED)
        return BKT_OK;
    BKT_PASS(bkt_convert_dcpl(o, &dcpl, err));
    BKT_FAIL_IF(err, H5Pget_external_count(dcpl) <= 0, BKT_EINVAL,
                "only a chunked dataset, or one with external files, can be extended");
    return BKT_OK;
}

struct resize {
    struct bkt_vobj *o;
    struct bkt_dsetio *io;
    uint64_t dims[BKT_MAX_RANK];
};

/* Processes that act together keep no elements in memory: chunks that were cut are stored now, once.  If they
 * can't be, they stay in memory, and the next flush reports it. */
static int resize(void *arg, struct bkt_err *err)
{
    const struct resize *r = arg;
    struct bkt_err why = {.n = 0};
    if (bkt_is_virtual(r->o)) { /* no chunks could be cut */
        BKT_PASS(bkt_edit_extent(r->o->file->dom, &r->o->obj->id, r->dims, err));
        return bkt_edit_trimmed(r->o->file->dom, &r->o->obj->id, err);
    }
    BKT_PASS(bkt_chunks_resize(r->io, r->dims, err));
    if (r->o->file->comm && bkt_chunks_flush_dataset(r->o->file->dom, &r->o->obj->id, &why) < 0)
        bkt_trace(BKT_TRACE_VOL, "chunks at the new border aren't stored yet: %s",
                  bkt_err_reason(&why, why.code));
    return BKT_OK;
}

/* The part that each process does for itself before the change.  If changes take up too much memory, they are
 * stored here, which may show other writers' extents.
 * @param dims  the program's, which may change
 * @param same  receives whether the extent is that already */
static int prepare(struct bkt_vobj *o, uint64_t *dims, struct bkt_dsetio **io, bool *same,
                   struct bkt_err *err)
{
    const struct bkt_dset *d = &o->obj->dset;
    uint64_t before[BKT_MAX_RANK];
    BKT_FAIL_IF(err, d->space.cls != BKT_S_SIMPLE, BKT_EINVAL,
                "a dataset without dimensions can't be extended");
    memcpy(before, d->space.dims, d->space.rank * sizeof *before);
    BKT_PASS(bkt_file_begin_change(o->file, BKT_ACL_UPDATE, "changing a dataset's extent", err));
    bkt_chunks_follow_extent(dims, before, d->space.dims, d->space.rank);
    *same = memcmp(d->space.dims, dims, d->space.rank * sizeof *dims) == 0;
    if (*same) /* even then HDF5 refuses the call for a dataset that can't change */
        return bkt_is_virtual(o) ? BKT_OK : may_change(o, err);
    if (bkt_is_virtual(o))
        return bkt_virtual_holds(o, dims, err);
    BKT_FAIL_IF(err, d->layout.cls != BKT_D_CHUNKED, BKT_EUNSUP,
                "the extent of a dataset whose data are in other files can't be changed");
    BKT_PASS(may_change(o, err));
    BKT_PASS(bkt_dataset_io(o, io, err));
    return is_smaller(&d->space, dims) ? bkt_dataset_note_written(o, err) : BKT_OK;
}

/* Whether all processes ask for the same.  Otherwise some would have changed the extent already when one
 * fails. */
static int compare(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err)
{
    uint64_t v[2 * (BKT_MAX_RANK + 1)] = {bkt_digest(o->obj->id.text, BKT_ID_LEN, 0)};
    enum { HALF = BKT_COUNT(v) / 2 };
    for (unsigned i = 0; i < o->obj->dset.space.rank; i++)
        v[i + 1] = dims[i];
    for (unsigned i = 0; i < HALF; i++)
        v[HALF + i] = ~v[i];
    BKT_PASS(bkt_comm_reduce(o->file->comm, BKT_COMM_MAX, v, BKT_COUNT(v), err)); /* largest and smallest */
    for (unsigned i = 0; i < HALF; i++)
        BKT_FAIL_IF(err, v[i] != ~v[HALF + i], BKT_EINVAL,
                    "%s: processes ask for different extents; let all processes of the communicator "
                    "call H5Dset_extent for one dataset, with the same dimensions",
                    o->file->name);
    return BKT_OK;
}

int bkt_dataset_set_extent(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err)
{
    struct resize r = {.o = o};
    bool same = false;
    memcpy(r.dims, dims, o->obj->dset.space.rank * sizeof *dims);
    BKT_PASS(bkt_comm_agree(o->file->comm, prepare(o, r.dims, &r.io, &same, err), err));
    BKT_PASS(compare(o, r.dims, err));
    if (same)
        return BKT_OK;
    bkt_dataset_chunks_changed();
    return bkt_together(o->file->comm, resize, &r, NULL, err);
}
