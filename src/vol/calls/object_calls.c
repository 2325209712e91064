/* H5O */
#include "vol/calls/object_calls.h"
#include "vol/core/token.h"

#include <stdlib.h>
#include <string.h>

#include "vol/open/permission_and_flush.h"
#include "vol/convert/convert.h"
#include "vol/copy/copy.h"
#include "vol/open/file_calls.h"
#include "vol/path/iterate.h"
#include "vol/calls/link.h"
#include "vol/plain/plain_file.h"
#include "vol/path/foreign_ref.h"
#include "vol/old_api/region_shadow.h"
#include "base/trace.h"

static const H5O_type_t object_types[] = {
    [BKT_GROUP] = H5O_TYPE_GROUP, [BKT_DATASET] = H5O_TYPE_DATASET, [BKT_DATATYPE] = H5O_TYPE_NAMED_DATATYPE};

/* Set by bkt_object_identify() around its call of HDF5: its result needs no number of links, which may be
 * costly to find.  HDF5's global lock guards it. */
static bool identify_only;

int bkt_object_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token, struct bkt_err *err)
{
    H5O_info2_t info;
    identify_only = true;
    int rc        = PASS_ON(err, H5Oget_info3(obj, &info, H5O_INFO_BASIC), "asking for an object's token");
    identify_only = false;
    BKT_PASS(rc);
    *fileno = info.fileno;
    *token  = info.token;
    return BKT_OK;
}

int bkt_object_info(struct bkt_vobj *o, unsigned fields, H5O_info2_t *out, struct bkt_err *err)
{
    const struct bkt_object *obj = o->obj;
    memset(out, 0, sizeof *out);
    if (fields & H5O_INFO_BASIC) {
        uint64_t rc = 1;
        if (!identify_only)
            BKT_PASS(bkt_domain_link_count(o->file->dom, &obj->id, &rc, err));
        out->fileno = o->file->fileno;
        out->type   = object_types[obj->kind];
        out->rc     = (unsigned)rc + obj->extra_refs + (unsigned)(obj->kind == BKT_DATATYPE && obj->uses > 0 ? obj->uses : 0);
        bkt_token_of(&obj->id, &out->token);
    }
    if (fields & H5O_INFO_TIME && obj->track_times != 0) {
        out->btime = (time_t)obj->created;
        out->mtime = out->ctime = out->atime = (time_t)obj->modified;
    }
    if (fields & H5O_INFO_NUM_ATTRS)
        out->num_attrs = obj->attrs.n;
    return BKT_OK;
}

/* H5Oopen() of a dataset may come with a dataset access list, which is a link access list too. */
static int keep_dapl(struct bkt_vobj *o, const H5VL_loc_params_t *loc, struct bkt_err *err)
{
    hid_t list = loc->type == H5VL_OBJECT_BY_NAME  ? loc->loc_data.loc_by_name.lapl_id
                 : loc->type == H5VL_OBJECT_BY_IDX ? loc->loc_data.loc_by_idx.lapl_id
                                                   : H5P_DEFAULT;
    if (o->native_id >= 0 || o->type != H5I_DATASET || list <= 0 || list == H5P_LINK_ACCESS_DEFAULT ||
        H5Pisa_class(list, H5P_DATASET_ACCESS) <= 0)
        return BKT_OK;
    o->dapl = H5Pcopy(list);
    return o->dapl < 0 ? bkt_h5err_capture(err, "copying the access property list") : BKT_OK;
}

static int object_open(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    int rc = keep_dapl(o, loc, err);
    if (rc < 0)
        bkt_vobj_free(o);
    else
        *out = o;
    return rc;
}

void *bkt_vol_object_open(void *obj, const H5VL_loc_params_t *loc, H5I_type_t *type, hid_t dxpl, void **req)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_vobj *o   = NULL;
    (void)dxpl, (void)req;
    if (object_open(obj, loc, &o, &err) < 0) {
        (void)bkt_h5err_publish(&err);
        return NULL;
    }
    bkt_trace(BKT_TRACE_VOL, "object open %s", o->path ? o->path : o->obj ? o->obj->id.text : "(plain)");
    *type = o->type;
    return o;
}

/* ---- get ---- */

static int get_file(struct bkt_vobj *o, void **out, struct bkt_err *err)
{
    if (o->file->handle) {
        *out = o->file->handle;
        return BKT_OK;
    }
    /* the program closed the file id but not the object: HDF5 makes an id for a new handle */
    struct bkt_vobj *f = NULL;
    BKT_PASS(bkt_file_root(o->file, H5I_FILE, &f, err));
    o->file->handle = f;
    *out            = f;
    return BKT_OK;
}

static int find_name(struct bkt_vobj *o, struct bkt_buf *out, struct bkt_err *err);

static int get_name(struct bkt_vobj *o, char *buf, size_t size, size_t *len, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf found = {0};
    const char                              *name  = o->hidden ? "" : o->path;
    if (!name) {
        BKT_PASS(find_name(o, &found, err));
        name = bkt_buf_str(&found);
    }
    *len = strlen(name);
    if (buf && size)
        (void)snprintf(buf, size, "%s", name);
    return BKT_OK;
}

/* An object opened by token or reference has no path of its own: as in HDF5, search for one. */
struct search {
    const struct bkt_id *id;
    struct bkt_buf      *out;
};

static herr_t is_it(hid_t start, const char *name, const H5L_info2_t *info, void *arg)
{
    struct search *s = arg;
    H5O_token_t    t;
    (void)start;
    if (info->type != H5L_TYPE_HARD)
        return 0;
    bkt_token_of(s->id, &t);
    if (memcmp(&t, &info->u.token, sizeof t) != 0)
        return 0;
    return bkt_buf_addf(s->out, "/%s", name) < 0 ? -1 : 1;
}

static int find_name(struct bkt_vobj *o, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_vobj *root = NULL;
    struct search    s    = {&o->obj->id, out};
    if (strcmp(o->obj->id.text, bkt_domain_root(o->file->dom)->text) == 0)
        return bkt_buf_add_str(out, "/") < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
    BKT_PASS(bkt_file_root(o->file, H5I_GROUP, &root, err));
    H5VL_link_iterate_args_t a = {true, H5_INDEX_NAME, H5_ITER_INC, NULL, is_it, &s};
    herr_t                   r = bkt_iterate_links(root, &a, err);
    bkt_vobj_free(root);
    return r < 0 ? (err && err->n ? err->code : BKT_EFORMAT) : BKT_OK;
}

/* HDF5 passes a reference's target to a connector only to open it or to get its name; this records the
 * question.  HDF5's global lock guards it. */
static struct asked {
    const struct bkt_vobj *in;
    H5O_token_t            token;
} *asked;

int bkt_object_of_ref(const H5R_ref_t *ref, struct bkt_vobj *in_file, struct bkt_id *out)
{
    struct asked a = {NULL, {{0}}};
    asked          = &a;
    H5E_BEGIN_TRY
    {
        (void)H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, NULL, 0);
    }
    H5E_END_TRY
    asked = NULL;
    return a.in && a.in->native_id < 0 && bkt_file_is_one(in_file, a.in) && bkt_token_id(in_file->file->dom, &a.token, out) ? BKT_OK
                                                                                                                             : BKT_ENOENT;
}

static int object_get(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_object_get_args_t *args, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    int              rc;
    if (asked && loc->type == H5VL_OBJECT_BY_TOKEN) {
        *asked = (struct asked){obj, *loc->loc_data.loc_by_token.token};
        return BKT_ENOENT;
    }
    if (args->op_type == H5VL_OBJECT_GET_FILE && (obj->outside || obj->called)) {
        *args->args.get_file.file = obj;
        return BKT_OK;
    }
    if (args->op_type == H5VL_OBJECT_GET_FILE && obj->native_id < 0)
        return get_file(obj, args->args.get_file.file, err);
    if (args->op_type == H5VL_OBJECT_GET_NAME && obj->outside) /* known without opening the file */
        return get_name(obj, args->args.get_name.buf, args->args.get_name.buf_size, args->args.get_name.name_len, err);
    if (args->op_type == H5VL_OBJECT_GET_NAME && loc->type == H5VL_OBJECT_BY_TOKEN && obj->native_id < 0) {
        struct bkt_err why = {.n = 0};
        rc                 = bkt_path_locate(obj, loc, &o, &why);
        if (rc == BKT_ENOENT || rc == BKT_EINVAL) { /* the reference's target was deleted, or never
                                                       existed, and so has no name */
            *args->args.get_name.name_len = 0;
            if (args->args.get_name.buf && args->args.get_name.buf_size)
                args->args.get_name.buf[0] = '\0';
            return BKT_OK;
        }
        if (rc < 0)
            return bkt_err_copy(err, rc, &why);
    } else
        BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    if (o->native_id >= 0)
        rc = bkt_native_object_get(o, args, err);
    else if (args->op_type == H5VL_OBJECT_GET_NAME)
        rc = get_name(o, args->args.get_name.buf, args->args.get_name.buf_size, args->args.get_name.name_len, err);
    else if (args->op_type == H5VL_OBJECT_GET_INFO)
        rc = bkt_object_info(o, args->args.get_info.fields, args->args.get_info.oinfo, err);
    else if (args->op_type == H5VL_OBJECT_GET_TYPE)
        rc = (*args->args.get_type.obj_type = object_types[o->obj->kind], BKT_OK);
    else
        rc = BKT_ERR(err, BKT_EUNSUP, "object get operation %d", (int)args->op_type);
    bkt_vobj_free(o);
    return rc;
}

herr_t bkt_vol_object_get(void *obj, const H5VL_loc_params_t *loc, H5VL_object_get_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return object_get(obj, loc, args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

/* ---- references ---- */

/* H5Rcreate_object() makes us look up a name; here it is called for an id that is known already.  HDF5's
 * global lock guards it. */
static const struct bkt_id *lookup_answer;

int bkt_object_root_id(struct bkt_vobj *in_file, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *root = NULL;
    BKT_PASS(bkt_file_root(in_file->file, H5I_GROUP, &root, err));
    *out = bkt_vobj_register(root, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

static int make_any_ref(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, const char *attr, H5R_ref_t *out,
                        struct bkt_err *err)
{
    hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_object_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc        = PASS_ON(err,
                            attr         ? H5Rcreate_attr(loc, ".", attr, H5P_DEFAULT, out)
                            : region < 0 ? H5Rcreate_object(loc, ".", H5P_DEFAULT, out)
                                         : H5Rcreate_region(loc, ".", region, H5P_DEFAULT, out),
                            "making a reference");
    lookup_answer = NULL;
    (void)H5Idec_ref(loc);
    return rc;
}

int bkt_object_make_old_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, unsigned char *out,
                               struct bkt_err *err)
{
    hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_object_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc        = PASS_ON(err, H5Rcreate(out, loc, ".", H5R_DATASET_REGION, region), "making a region reference");
    lookup_answer = NULL;
    (void)H5Idec_ref(loc);
    return rc;
}

int bkt_object_make_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, H5R_ref_t *out, struct bkt_err *err)
{
    return make_any_ref(in_file, id, region, NULL, out, err);
}

int bkt_object_make_attr_ref(struct bkt_vobj *in_file, const struct bkt_id *id, const char *attr, H5R_ref_t *out,
                             struct bkt_err *err)
{
    return make_any_ref(in_file, id, H5I_INVALID_HID, attr, out, err);
}

int bkt_object_make_ref(struct bkt_vobj *in_file, const struct bkt_id *id, H5R_ref_t *out, struct bkt_err *err)
{
    return make_any_ref(in_file, id, H5I_INVALID_HID, NULL, out, err);
}

/* ---- specific ---- */

static int answer_lookup(struct bkt_vobj *obj, H5O_token_t *out, bool old, struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    unsigned char            address[8];
    bkt_token_of(lookup_answer, out);
    bkt_token_address(lookup_answer, address); /* HDF5 keeps no more than the address, and the kind of a
                                                  deleted object can't be found by trying */
    if (!old || bkt_id_kind(lookup_answer) != BKT_DATASET)
        return BKT_OK;
    BKT_PASS(bkt_domain_get(obj->file->dom, lookup_answer, &o, err));
    (void)bkt_shadow_token(o, out);
    bkt_object_release(o);
    return BKT_OK;
}

static int lookup(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5O_token_t *out, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    bool old = bkt_shadow_is_old_call();
    if (obj->outside) {
        bkt_outside_token(obj, out);
        return BKT_OK;
    }
    if (lookup_answer)
        return answer_lookup(obj, out, old, err);
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    H5O_info2_t info;
    int         rc = BKT_OK;
    if (o->native_id < 0 && !(old && bkt_shadow_token(o->obj, out)))
        bkt_token_of(&o->obj->id, out);
    else if (o->native_id >= 0 && (rc = PASS_ON(err, H5Oget_info3(o->native_id, &info, H5O_INFO_BASIC), "H5Oget_info")) == BKT_OK)
        *out = info.token;
    bkt_vobj_free(o);
    return rc;
}

/* H5Oexists_by_name as in HDF5: for a soft or external link that leads to no object the answer is no.  A
 * missing link, or a missing group on the way to one, is an error. */
static int exists_at(struct bkt_vobj *from, const char *path, hid_t lapl, unsigned depth, hbool_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {0};
    size_t most = 16;
    BKT_PASS(bkt_path_check_lapl(lapl, &most, err));
    BKT_PASS(bkt_link_place_at(from, path, lapl, &p, err));
    *out = !p.name[0] || strcmp(p.name, ".") == 0;
    if (*out)
        return BKT_OK;
    if (p.group->native_id >= 0)
        return bkt_native_object_exists(p.group, p.name, depth > 0, out, err);
    if (!p.link)
        return depth ? BKT_OK : BKT_ERR(err, BKT_ENOENT, "%s: no link '%s'", p.group->file->name, path);
    if (p.link->cls == BKT_L_SOFT && p.link->path && depth >= most)
        BKT_FAIL(err, BKT_EFORMAT, "%s: more than %zu soft links on the way to '%s' (see H5Pset_nlinks)", p.group->file->name, most, path);
    if (p.link->cls == BKT_L_SOFT && p.link->path)
        return exists_at(p.group, p.link->path, lapl, depth + 1, out, err);
    struct bkt_err   quiet    = {.n = 0};
    struct bkt_vobj *o        = NULL;
    bool             external = p.link->cls == BKT_L_EXTERNAL;
    int              rc       = bkt_path_open(p.group, p.name, lapl, &o, &quiet);
    bkt_vobj_free(o);
    *out        = rc == BKT_OK;
    bool absent = rc == BKT_ENOENT || (rc == BKT_EFORMAT && external); /* a cycle of links */
    return rc == BKT_OK || absent ? BKT_OK : bkt_err_copy(err, rc, &quiet);
}

/* H5Oincr_refcount, H5Odecr_refcount */
static int change_refs(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, int delta, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    if (o->native_id >= 0)
        return PASS_ON(err, delta < 0 ? H5Odecr_refcount(o->native_id) : H5Oincr_refcount(o->native_id), "changing a reference count");
    BKT_PASS(bkt_change_may(o->file, BKT_ACL_UPDATE, "changing a reference count", err));
    bkt_change_relieve(o->file);
    return bkt_edit_refcount(o->file->dom, &o->obj->id, delta, err);
}

static int exists(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, hbool_t *out, struct bkt_err *err)
{
    if (loc->type == H5VL_OBJECT_BY_NAME)
        return exists_at(obj, loc->loc_data.loc_by_name.name, loc->loc_data.loc_by_name.lapl_id, 0, out, err);
    struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    bkt_vobj_free(o);
    *out = true;
    return BKT_OK;
}

static herr_t visit(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const H5VL_object_visit_args_t *a, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    herr_t ret = o->native_id >= 0 ? bkt_native_object_visit(o, a, err) : bkt_iterate_objects(o, a, err);
    bkt_vobj_free(o);
    return ret;
}

herr_t bkt_vol_object_specific(void *obj, const H5VL_loc_params_t *loc, H5VL_object_specific_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    herr_t         ret;
    (void)dxpl, (void)req;
    switch (args->op_type) {
        case H5VL_OBJECT_EXISTS:
            ret = exists(obj, loc, args->args.exists.exists, &err);
            break;
        case H5VL_OBJECT_LOOKUP:
            ret = lookup(obj, loc, args->args.lookup.token_ptr, &err);
            break;
        case H5VL_OBJECT_VISIT:
            ret = visit(obj, loc, &args->args.visit, &err);
            break;
        case H5VL_OBJECT_FLUSH:
            ret = bkt_change_flush_object(obj, args->args.flush.obj_id, &err);
            break;
        case H5VL_OBJECT_REFRESH:
            ret = bkt_change_refresh(obj, &err);
            break;
        case H5VL_OBJECT_CHANGE_REF_COUNT:
            ret = change_refs(obj, loc, args->args.change_rc.delta, &err);
            break;
        default:
            ret = BKT_ERR(&err, BKT_EUNSUP, "object operation %d", (int)args->op_type);
    }
    return ret < 0 && err.n ? bkt_h5err_publish(&err) : ret < 0 ? -1 : ret;
}

/* ---- optional ---- */

static int get_comment(struct bkt_vobj *o, H5VL_native_object_get_comment_t *a, struct bkt_err *err)
{
    if (o->native_id >= 0) {
        ssize_t n = 0;
        BKT_PASS(PASS_ON(err, n = H5Oget_comment(o->native_id, a->buf, a->buf_size), "H5Oget_comment"));
        *a->comment_len = (size_t)n;
        return BKT_OK;
    }
    const char *text = o->obj->comment ? o->obj->comment : "";
    size_t      n    = strlen(text) + 1;
    if (a->buf) /* as in HDF5, without a NUL if there is no room for one; h5dump relies on it */
        memcpy(a->buf, text, n < a->buf_size ? n : a->buf_size);
    if (a->comment_len)
        *a->comment_len = n - 1;
    return BKT_OK;
}

static int set_comment(struct bkt_vobj *o, const char *text, struct bkt_err *err)
{
    if (o->native_id >= 0)
        return PASS_ON(err, H5Oset_comment(o->native_id, text), "H5Oset_comment");
    if ((!text || !*text) && !o->obj->comment) /* no change, so it is allowed even in a read-only file */
        return BKT_OK;
    BKT_PASS(bkt_change_may(o->file, BKT_ACL_UPDATE, "setting a comment", err));
    bkt_change_relieve(o->file);
    return bkt_edit_comment(o->file->dom, &o->obj->id, text, err);
}

static int object_optional(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, int op, H5VL_native_object_optional_args_t *a,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    switch (op) {
        case H5VL_NATIVE_OBJECT_GET_COMMENT:
            BKT_PASS(bkt_path_locate(obj, loc, &o, err));
            return get_comment(o, &a->get_comment, err);
        case H5VL_NATIVE_OBJECT_SET_COMMENT:
            BKT_PASS(bkt_path_locate(obj, loc, &o, err));
            return set_comment(o, a->set_comment.comment, err);
        case H5VL_NATIVE_OBJECT_GET_NATIVE_INFO:
            /* header and metadata sizes: an object of the schema has no header, but H5Oget_info1 and
             * h5stat ask for them */
            memset(a->get_native_info.ninfo, 0, sizeof *a->get_native_info.ninfo);
            if (obj->native_id < 0)
                return BKT_OK;
            BKT_PASS(bkt_path_locate(obj, loc, &o, err));
            return PASS_ON(err, H5Oget_native_info(o->native_id, a->get_native_info.ninfo, a->get_native_info.fields),
                           "H5Oget_native_info");
        default:
            BKT_FAIL(err, BKT_EUNSUP, "native object operation %d has no meaning in a bucket", op);
    }
}

herr_t bkt_vol_object_optional(void *obj, const H5VL_loc_params_t *loc, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return object_optional(obj, loc, args->op_type, args->args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

static int object_copy(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, const char *sname, struct bkt_vobj *dst,
                       const H5VL_loc_params_t *dloc, const char *dname, hid_t ocpypl, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_vobj *at = NULL, *from = NULL, *to = NULL;
    int              rc = bkt_path_locate(src, sloc, &at, err);
    rc                  = rc < 0 ? rc : bkt_path_open(at, sname, H5P_DEFAULT, &from, err);
    rc                  = rc < 0 ? rc : bkt_path_locate(dst, dloc, &to, err);
    if (rc == BKT_OK && to->native_id < 0)
        rc = bkt_change_may(to->file, BKT_ACL_CREATE, "copying an object into a domain", err);
    struct bkt_h5err_print print;
    bkt_h5err_mute(&print);
    if (rc == BKT_OK && to->native_id >= 0 && from->native_id >= 0)
        rc = H5Ocopy(from->native_id, ".", to->native_id, dname, ocpypl, lcpl) < 0 ? bkt_h5err_capture(err, "H5Ocopy") : BKT_OK;
    else if (rc == BKT_OK)
        rc = bkt_copy(from, to, dname, ocpypl, lcpl, err);
    bkt_h5err_unmute(&print);
    bkt_vobj_free(at);
    bkt_vobj_free(from);
    bkt_vobj_free(to);
    return rc;
}

herr_t bkt_vol_object_copy(void *src, const H5VL_loc_params_t *sloc, const char *sname, void *dst, const H5VL_loc_params_t *dloc,
                           const char *dname, hid_t ocpypl, hid_t lcpl, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return object_copy(src, sloc, sname, dst, dloc, dname, ocpypl, lcpl, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}
