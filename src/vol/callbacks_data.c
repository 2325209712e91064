/* Callbacks for attributes, datasets and committed types. */
#include <stdlib.h>

#include "base/trace.h"
#include "vol/callbacks.h"
#include "vol/calls/calls.h"
#include "vol/open/permission_and_flush.h"
#include "vol/path/path.h"

/* HDF5 leaves this check to the connector. */
static int check_list(hid_t list, hid_t class, const char *what, struct bkt_err *err)
{
    if (list == H5P_DEFAULT || (list > 0 && H5Pisa_class(list, class) > 0))
        return BKT_OK;
    (void)H5Eclear2(H5E_DEFAULT);
    BKT_FAIL(err, BKT_EINVAL, "property list of the call: it is not %s access property list", what);
}

/* ---- H5A ---- */

/* The object that the attributes belong to; *found is the caller's when it is not @p o itself. */
static int owner_of(struct bkt_vobj *o, const H5VL_loc_params_t *loc, struct bkt_vobj **owner,
                    struct bkt_vobj **found, struct bkt_err *err)
{
    const H5VL_loc_by_idx_t *idx = &loc->loc_data.loc_by_idx;
    *owner = o;
    if (loc->type == H5VL_OBJECT_BY_SELF)
        return BKT_OK;
    if (loc->type == H5VL_OBJECT_BY_IDX) /* the index is the attribute's, not a link's */
        BKT_PASS(bkt_path_open(o, idx->name, idx->lapl_id, found, err));
    else
        BKT_PASS(bkt_path_locate(o, loc, found, err));
    *owner = *found;
    return BKT_OK;
}

static int create_attr(struct bkt_vobj *o, const H5VL_loc_params_t *loc, const char *name, hid_t type,
                       hid_t space, hid_t acpl, hid_t aapl, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *found = NULL;
    struct bkt_vobj *owner;
    bkt_trace(BKT_TRACE_VOL, "attr_create %s", name);
    BKT_PASS(check_list(aapl, H5P_ATTRIBUTE_ACCESS, "an attribute", err));
    BKT_PASS(owner_of(o, loc, &owner, &found, err));
    return owner->ops->attr->create(owner, name, type, space, acpl, out, err);
}

BKT_CALLBACK_MADE(attr_create, create_attr(obj, loc, name, type, space, acpl, aapl, &o, &err), void *obj,
                  const H5VL_loc_params_t *loc, const char *name, hid_t type, hid_t space, hid_t acpl,
                  hid_t aapl)

static int open_attr(struct bkt_vobj *o, const H5VL_loc_params_t *loc, const char *name,
                     struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *found = NULL;
    struct bkt_vobj *owner;
    BKT_PASS(owner_of(o, loc, &owner, &found, err));
    return owner->ops->attr->open(
        owner, name, loc->type == H5VL_OBJECT_BY_IDX ? &loc->loc_data.loc_by_idx : NULL, out, err);
}

static void *attr_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t aapl, hid_t dxpl,
                       void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *out = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "attr_open %s %s", bkt_vobj_place(obj), name ? name : "(by index)");
    int rc = check_list(aapl, H5P_ATTRIBUTE_ACCESS, "an attribute", &err);
    rc = rc < 0 ? rc : open_attr(obj, loc, name, &out, &err);
    return bkt_call_made(rc, &out, &err);
}

static herr_t attr_read(void *obj, hid_t mem_type, void *buf, hid_t dxpl, void **req)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)req;
    bkt_trace(BKT_TRACE_VOL, "attr_read %s %s", bkt_vobj_place(o), o->attr_name ? o->attr_name : "");
    return bkt_call_done(o->ops->attr->read(o, mem_type, buf, dxpl, &err), &err);
}

static herr_t attr_write(void *obj, hid_t mem_type, const void *buf, hid_t dxpl, void **req)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)req;
    bkt_trace(BKT_TRACE_VOL, "attr_write %s %s", bkt_vobj_place(o), o->attr_name ? o->attr_name : "");
    return bkt_call_done(o->ops->attr->write(o, mem_type, buf, dxpl, &err), &err);
}

/* Two operations (information, name) may name an attribute by its object in place of an open attribute. */
static int get_of_attr(struct bkt_vobj *o, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *attr = NULL;
    bool info = args->op_type == H5VL_ATTR_GET_INFO;
    const H5VL_loc_params_t *loc = info                                  ? &args->args.get_info.loc_params
                                   : args->op_type == H5VL_ATTR_GET_NAME ? &args->args.get_name.loc_params
                                                                         : NULL;
    bkt_trace(BKT_TRACE_VOL, "attr_get %d %s", (int)args->op_type, bkt_vobj_place(o));
    if (loc && loc->type != H5VL_OBJECT_BY_SELF) {
        BKT_PASS(open_attr(o, loc, info ? args->args.get_info.attr_name : NULL, &attr, err));
        o = attr;
    }
    return o->ops->attr->get(o, args, err);
}

BKT_CALLBACK(attr_get, done, get_of_attr(obj, args, &err), void *obj, H5VL_attr_get_args_t *args)

static int specific_of_attr(struct bkt_vobj *o, const H5VL_loc_params_t *loc, H5VL_attr_specific_args_t *args,
                            struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *found = NULL;
    struct bkt_vobj *owner;
    bkt_trace(BKT_TRACE_VOL, "attr_specific %d %s", (int)args->op_type, bkt_vobj_place(o));
    BKT_PASS(owner_of(o, loc, &owner, &found, err));
    return owner->ops->attr->specific(owner, args, err);
}

BKT_CALLBACK(attr_specific, answer, specific_of_attr(obj, loc, args, &err), void *obj,
             const H5VL_loc_params_t *loc, H5VL_attr_specific_args_t *args)

BKT_CALLBACK(attr_optional, answer, ((void)obj, bkt_old_attr_call(args, &err)), void *obj,
             H5VL_optional_args_t *args)

herr_t bkt_call_close(void *obj, hid_t dxpl, void **req)
{
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "close %s", bkt_vobj_place(obj));
    return bkt_vobj_close(obj);
}

/* ---- H5D ---- */

int bkt_call_open(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t list,
                  H5I_type_t type, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL, *o = NULL;
    const char *what = type == H5I_GROUP     ? "a group"
                       : type == H5I_DATASET ? "a dataset"
                                             : "a committed datatype";
    const char *quote = type == H5I_DATASET ? "" : "'";
    if (loc->type != H5VL_OBJECT_BY_SELF) {
        BKT_PASS(bkt_path_locate(obj, loc, &at, err));
        obj = at;
    }
    BKT_PASS(bkt_path_open(obj, name, list, &o, err));
    BKT_FAIL_IF(err, o->type != type, BKT_EINVAL, "%s%s%s is not %s", quote, name, quote, what);
    *out = BKT_TAKE(o);
    return BKT_OK;
}

static int create_dataset(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t lcpl,
                          hid_t type, hid_t space, hid_t dcpl, hid_t dapl, struct bkt_vobj **out,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    bkt_trace(BKT_TRACE_VOL, "dataset_create %s", name ? name : "(anonymous)");
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    return at->ops->dataset->create(at, name, lcpl, type, space, dcpl, dapl, out, err);
}

BKT_CALLBACK_MADE(dataset_create, create_dataset(obj, loc, name, lcpl, type, space, dcpl, dapl, &o, &err),
                  void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t lcpl, hid_t type,
                  hid_t space, hid_t dcpl, hid_t dapl)

int bkt_call_keep_list(struct bkt_vobj *o, hid_t dapl, struct bkt_err *err)
{
    o->dapl = H5Pcopy(dapl);
    return o->dapl < 0 ? bkt_h5err_capture(err, "copying the access property list") : BKT_OK;
}

static int open_dataset(struct bkt_vobj *from, const H5VL_loc_params_t *loc, const char *name, hid_t dapl,
                        struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    bkt_trace(BKT_TRACE_VOL, "dataset_open %s", name);
    BKT_PASS(bkt_call_open(from, loc, name, dapl, H5I_DATASET, &o, err));
    if (dapl != H5P_DEFAULT && dapl != H5P_DATASET_ACCESS_DEFAULT)
        BKT_PASS(bkt_call_keep_list(o, dapl, err));
    *out = BKT_TAKE(o);
    return BKT_OK;
}

BKT_CALLBACK_MADE(dataset_open, open_dataset(obj, loc, name, dapl, &o, &err), void *obj,
                  const H5VL_loc_params_t *loc, const char *name, hid_t dapl)

/* The datasets of a call that have the same operations. */
struct same_kind {
    struct bkt_io io;
    struct bkt_vobj **dsets;
    hid_t *types; /* and the spaces behind them */
    void **bufs;
};

static void same_kind_fini(struct same_kind *s)
{
    free(s->dsets);
    free(s->types);
    free(s->bufs);
}

static int same_kind_init(struct same_kind *s, const struct bkt_io *io, const struct bkt_ops *ops,
                          struct bkt_err *err)
{
    *s = (struct same_kind){.dsets = calloc(io->n, sizeof(struct bkt_vobj *)),
                            .types = calloc(io->n, 3 * sizeof(hid_t)),
                            .bufs = calloc(io->n, sizeof(void *))};
    BKT_NEED(err, s->dsets && s->types && s->bufs);
    hid_t *in_memory = s->types + io->n, *in_file = in_memory + io->n;
    size_t n = 0;
    for (size_t i = 0; i < io->n; i++)
        if (io->dsets[i]->ops == ops) {
            s->dsets[n] = io->dsets[i];
            s->types[n] = io->mem_types[i];
            in_memory[n] = io->mem_spaces[i];
            in_file[n] = io->file_spaces[i];
            s->bufs[n++] = io->bufs[i];
        }
    s->io =
        (struct bkt_io){n, io->write, s->dsets, s->types, in_memory, in_file, io->dxpl, s->bufs, io->group};
    return BKT_OK;
}

/* Whether an earlier dataset of the call has the same operations. */
static bool is_repeated(const struct bkt_io *io, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (io->dsets[j]->ops == io->dsets[i]->ops)
            return true;
    return false;
}

/* Datasets of one kind go together, one kind after the other.  Writes keep their order: a later one may
 * replace elements of an earlier one in a file that both kinds reach. */
static int transfer_mixed(const struct bkt_io *io, struct bkt_err *err)
{
    for (size_t i = 0; i < io->n; i++) {
        if (io->write) {
            const struct bkt_io one = bkt_io_one(io, i);
            BKT_PASS(one.dsets[0]->ops->dataset->transfer(&one, err));
        } else if (!is_repeated(io, i)) {
            BKT_CLEANUP(same_kind_fini) struct same_kind same;
            BKT_PASS(same_kind_init(&same, io, io->dsets[i]->ops, err));
            BKT_PASS(io->dsets[i]->ops->dataset->transfer(&same.io, err));
        }
    }
    return BKT_OK;
}

static int transfer(const struct bkt_io *io, struct bkt_err *err)
{
    bool mixed = false;
    for (size_t i = 1; i < io->n; i++)
        mixed = mixed || io->dsets[i]->ops != io->dsets[0]->ops;
    if (mixed)
        return transfer_mixed(io, err);
    return io->n ? io->dsets[0]->ops->dataset->transfer(io, err) : BKT_OK;
}

static herr_t transfer_all(const struct bkt_io *io)
{
    struct bkt_err err;
    const char *doing = io->write ? "writing" : "reading";
    bkt_err_clear(&err);
    bkt_trace(BKT_TRACE_VOL, "dataset_%s %s%s", io->write ? "write" : "read",
              io->n ? bkt_vobj_place(io->dsets[0]) : "", io->n > 1 ? " and others" : "");
    int rc = transfer(io, &err);
    if (rc < 0 && io->n == 1)
        (void)BKT_ERR(&err, rc, "%s dataset %s", doing, bkt_vobj_place(io->dsets[0]));
    return bkt_call_done(rc, &err);
}

static herr_t dataset_read(size_t n, void *obj[], hid_t mem_type[], hid_t mem_space[], hid_t file_space[],
                           hid_t dxpl, void *buf[], void **req)
{
    (void)req;
    return transfer_all(&(struct bkt_io){n, false, (struct bkt_vobj **)obj, mem_type, mem_space, file_space,
                                         dxpl, buf, NULL});
}

static herr_t dataset_write(size_t n, void *obj[], hid_t mem_type[], hid_t mem_space[], hid_t file_space[],
                            hid_t dxpl, const void *buf[], void **req)
{
    (void)req;
    return transfer_all(&(struct bkt_io){n, true, (struct bkt_vobj **)obj, mem_type, mem_space, file_space,
                                         dxpl, (void **)buf, NULL});
}

static herr_t dataset_get(void *obj, H5VL_dataset_get_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "dataset_get %d %s", (int)args->op_type, bkt_vobj_place(o));
    return bkt_call_done(o->ops->dataset->get(o, args, &err), &err);
}

static int specific_of_dataset(struct bkt_vobj *o, H5VL_dataset_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_DATASET_SET_EXTENT:
        return o->ops->dataset->set_extent(o, args->args.set_extent.size, err);
    case H5VL_DATASET_FLUSH:
        return o->ops->flush(o, args->args.flush.dset_id, err);
    case H5VL_DATASET_REFRESH:
        return o->ops->refresh(o, err);
    default:
        BKT_UNKNOWN_OP(err, "dataset operation", args->op_type);
    }
}

static herr_t dataset_specific(void *obj, H5VL_dataset_specific_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "dataset_specific %d %s", (int)args->op_type, bkt_vobj_place(obj));
    int rc = specific_of_dataset(obj, args, &err);
    if (rc < 0)
        (void)BKT_ERR(&err, rc, "dataset %s", bkt_vobj_place(obj));
    return bkt_call_done(rc, &err);
}

static herr_t dataset_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)req;
    bkt_trace(BKT_TRACE_VOL, "dataset_optional %d %s", args->op_type, bkt_vobj_place(o));
    return bkt_call_answer(o->ops->dataset->optional(o, args, dxpl, &err), &err);
}

/* ---- H5T ---- */

static int commit(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t type,
                  hid_t lcpl, hid_t tcpl, hid_t tapl, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    BKT_PASS(check_list(tapl, H5P_DATATYPE_ACCESS, "a datatype", err));
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    return at->ops->datatype->commit(at, name, type, lcpl, tcpl, out, err);
}

BKT_CALLBACK_MADE(datatype_commit, commit(obj, loc, name, type, lcpl, tcpl, tapl, &o, &err), void *obj,
                  const H5VL_loc_params_t *loc, const char *name, hid_t type, hid_t lcpl, hid_t tcpl,
                  hid_t tapl)

static void *datatype_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t tapl, hid_t dxpl,
                           void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "datatype open %s", name);
    int rc = check_list(tapl, H5P_DATATYPE_ACCESS, "a datatype", &err);
    rc = rc < 0 ? rc : bkt_call_open(obj, loc, name, tapl, H5I_DATATYPE, &o, &err);
    return bkt_call_made(rc, &o, &err);
}

static int encode(struct bkt_vobj *o, void *buf, size_t *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_PASS(o->ops->datatype->type(o, &type, err));
    return H5Tencode(type, buf, n) < 0 ? bkt_h5err_capture(err, "H5Tencode") : BKT_OK;
}

static int get_of_datatype(struct bkt_vobj *o, H5VL_datatype_get_args_t *args, struct bkt_err *err)
{
    size_t n = args->args.get_binary.buf_size;
    switch (args->op_type) {
    case H5VL_DATATYPE_GET_BINARY_SIZE:
        return encode(o, NULL, args->args.get_binary_size.size, err);
    case H5VL_DATATYPE_GET_BINARY:
        return encode(o, args->args.get_binary.buf, &n, err);
    case H5VL_DATATYPE_GET_TCPL:
        return o->ops->datatype->tcpl(o, &args->args.get_tcpl.tcpl_id, err);
    default:
        BKT_UNKNOWN_OP(err, "datatype get operation", args->op_type);
    }
}

BKT_CALLBACK(datatype_get, done, get_of_datatype(obj, args, &err), void *obj, H5VL_datatype_get_args_t *args)

static int specific_of_datatype(struct bkt_vobj *o, H5VL_datatype_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_DATATYPE_FLUSH:
        return o->ops->flush(o, args->args.flush.type_id, err);
    case H5VL_DATATYPE_REFRESH:
        return o->ops->refresh(o, err);
    default:
        BKT_UNKNOWN_OP(err, "datatype operation", args->op_type);
    }
}

BKT_CALLBACK(datatype_specific, done, specific_of_datatype(obj, args, &err), void *obj,
             H5VL_datatype_specific_args_t *args)

const H5VL_attr_class_t bkt_attr_class = {
    .create = attr_create,
    .open = attr_open,
    .read = attr_read,
    .write = attr_write,
    .get = attr_get,
    .specific = attr_specific,
    .optional = attr_optional,
    .close = bkt_call_close,
};

const H5VL_dataset_class_t bkt_dataset_class = {
    .create = dataset_create,
    .open = dataset_open,
    .read = dataset_read,
    .write = dataset_write,
    .get = dataset_get,
    .specific = dataset_specific,
    .optional = dataset_optional,
    .close = bkt_call_close,
};

const H5VL_datatype_class_t bkt_datatype_class = {
    .commit = datatype_commit,
    .open = datatype_open,
    .get = datatype_get,
    .specific = datatype_specific,
    .close = bkt_call_close,
};
