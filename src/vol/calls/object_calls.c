/* Committed types of domains, and objects of domains: the calls of H5T and H5O. */
#include <string.h>

#include "vol/calls/calls.h"
#include "vol/convert/convert.h"
#include "vol/convert/region_shadow.h"
#include "vol/core/object_refs.h"
#include "vol/core/token.h"
#include "vol/core/vol.h"
#include "vol/open/permission_and_flush.h"
#include "vol/path/iterate.h"
#include "vol/path/new_link.h"
#include "vol/path/path.h"

/* ---- committed types ---- */

static int new_type(hid_t type, hid_t tcpl, struct bkt_object **out, struct bkt_err *err)
{
    struct bkt_object *o = *out = bkt_object_make(BKT_DATATYPE);
    BKT_NEED(err, o);
    int rc = bkt_convert_from_type(NULL, type, &o->type, err);
    if (rc == BKT_OK && tcpl != H5P_DEFAULT && tcpl != H5P_DATATYPE_CREATE_DEFAULT)
        rc = bkt_convert_from_ocpl(tcpl, o, err);
    if (rc < 0)
        bkt_object_free(o);
    return rc;
}

static int commit(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl,
                  struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    struct bkt_object                         *o = NULL;
    struct bkt_new_link_call call = {.what = "committing a datatype", .lcpl = lcpl};
    BKT_PASS(bkt_new_link_find(at, name, &call, &s, err));
    if (s.group && s.group->ops != at->ops)
        return s.group->ops->datatype->commit(s.group, s.name, type, lcpl, tcpl, out, err);
    BKT_PASS(new_type(type, tcpl, &o, err));
    return bkt_new_link_put(&s, at, o, out, err);
}

static int copy_type(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_type(o->obj->type, out, err);
}

static int get_tcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_object_ocpl(o->obj, H5P_DATATYPE_CREATE, out, err);
}

const struct bkt_datatype_ops bkt_domain_datatype_ops = {
    .commit = commit, .type = copy_type, .tcpl = get_tcpl};

/* ---- objects: get ---- */

static int get_file(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    *out = o->outside ? o : o->file->handle;
    if (*out)
        return BKT_OK;
    /* the program closed the file id but not the object: HDF5 makes an id for a new handle */
    BKT_PASS(bkt_file_root(o->file, H5I_FILE, out, err));
    o->file->handle = *out;
    return BKT_OK;
}

static int find_name(struct bkt_vobj *o, struct bkt_buf *out, struct bkt_err *err);

static int get_name(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf found = {0};
    const char *name = o->hidden ? "" : o->path;
    if (!name) {
        BKT_PASS(find_name(o, &found, err));
        name = bkt_buf_str(&found);
    }
    *args->args.get_name.name_len = strlen(name);
    if (args->args.get_name.buf && args->args.get_name.buf_size)
        (void)snprintf(args->args.get_name.buf, args->args.get_name.buf_size, "%s", name);
    return BKT_OK;
}

/* An object opened by token or reference has no path of its own: as in HDF5, search for one. */
struct search {
    const struct bkt_id *id;
    struct bkt_buf *out;
};

static herr_t is_it(hid_t start, const char *name, const H5L_info2_t *info, void *arg)
{
    struct search *s = arg;
    H5O_token_t t;
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
    struct search s = {&o->obj->id, out};
    if (strcmp(o->obj->id.text, bkt_domain_root(o->file->dom)->text) == 0)
        return BKT_MADE(err, bkt_buf_add_str(out, "/") >= 0);
    BKT_PASS(bkt_file_root(o->file, H5I_GROUP, &root, err));
    H5VL_link_iterate_args_t a = {true, H5_INDEX_NAME, H5_ITER_INC, NULL, is_it, &s};
    herr_t r = bkt_iterate_links(root, &a, err);
    bkt_vobj_free(root);
    return r < 0 ? (err && err->n ? err->code : BKT_EFORMAT) : BKT_OK;
}

static int get(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_OBJECT_GET_NAME:
        return get_name(o, args, err);
    case H5VL_OBJECT_GET_INFO:
        return bkt_vobj_info(o, args->args.get_info.fields, args->args.get_info.oinfo, err);
    case H5VL_OBJECT_GET_TYPE:
        if (args->args.get_type.obj_type) /* HDF5 passes a program's NULL on */
            *args->args.get_type.obj_type = bkt_object_type(o->obj);
        return BKT_OK;
    case H5VL_OBJECT_GET_FILE:
    default:
        BKT_UNKNOWN_OP(err, "object get operation", args->op_type);
    }
}

/* The target of a reference may be deleted, or never existed: it has no name then. */
static int name_of_token(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_object_get_args_t *args,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    struct bkt_err why = {.n = 0};
    int rc = bkt_path_locate(obj, loc, &o, &why);
    if (rc == BKT_OK)
        return o->ops->object->get(o, args, err);
    if (rc != BKT_ENOENT && rc != BKT_EINVAL)
        return bkt_err_copy(err, rc, &why);
    *args->args.get_name.name_len = 0;
    if (args->args.get_name.buf && args->args.get_name.buf_size)
        args->args.get_name.buf[0] = '\0';
    return BKT_OK;
}

int bkt_vobj_query(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_object_get_args_t *args,
                   struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    bool name = args->op_type == H5VL_OBJECT_GET_NAME;
    if (bkt_vobj_is_only_asked(obj, loc))
        return BKT_ENOENT;
    if (args->op_type == H5VL_OBJECT_GET_FILE)
        return obj->ops->object->file(obj, (struct bkt_vobj **)args->args.get_file.file, err);
    if (name && obj->outside) /* known without opening the file */
        return get_name(obj, args, err);
    if (name && loc->type == H5VL_OBJECT_BY_TOKEN)
        return name_of_token(obj, loc, args, err);
    struct bkt_err why = {.n = 0};
    int rc = bkt_path_locate(obj, loc, &o, &why);
    if (rc == BKT_OK)
        return o->ops->object->get(o, args, err);
    if (obj->ops->object->get_unopened && obj->ops->object->get_unopened(obj, loc, args, NULL) == BKT_OK)
        return BKT_OK;
    return bkt_err_copy(err, rc, &why);
}

/* ---- tokens ---- */

static int get_token(struct bkt_vobj *o, bool old, H5O_token_t *out, struct bkt_err *err)
{
    (void)err;
    if (!old || !bkt_region_shadow_token(o->obj, out))
        bkt_token_of(&o->obj->id, out);
    return BKT_OK;
}

static int answer_lookup(struct bkt_vobj *obj, const struct bkt_id *answer, H5O_token_t *out, bool old,
                         struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    unsigned char address[8];
    bkt_token_of(answer, out);
    bkt_token_address(answer, address); /* HDF5 keeps no more than the address, and the kind of a deleted
                                           object can't be found by trying */
    if (!old || bkt_id_kind(answer) != BKT_DATASET)
        return BKT_OK;
    BKT_PASS(bkt_domain_get(obj->file->dom, answer, &o, err));
    (void)bkt_region_shadow_token(o, out);
    bkt_object_release(o);
    return BKT_OK;
}

int bkt_vobj_lookup(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5O_token_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    const struct bkt_id *answer = bkt_vobj_lookup_answer();
    bool old = bkt_region_shadow_is_old_call();
    if (obj->outside) {
        bkt_outside_token(obj, out);
        return BKT_OK;
    }
    if (answer)
        return answer_lookup(obj, answer, out, old, err);
    struct bkt_err why = {.n = 0};
    int rc = bkt_path_locate(obj, loc, &o, &why);
    if (rc == BKT_OK)
        return o->ops->object->token(o, old, out, err);
    if (obj->ops->object->token_unopened && obj->ops->object->token_unopened(obj, loc, out, NULL) == BKT_OK)
        return BKT_OK;
    return bkt_err_copy(err, rc, &why);
}

/* ---- existence ---- */

/* H5Oexists_by_name as in HDF5: for a soft or external link that leads to no object the answer is no.  A
 * missing link, or a missing group on the way to one, is an error. */
static int exists(struct bkt_link_place *p, hid_t lapl, unsigned depth, hbool_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    struct bkt_err why = {.n = 0};
    const char *file = p->group->file->name;
    size_t most;
    BKT_PASS(bkt_path_check_lapl(lapl, &most, err));
    if (!p->link)
        return depth ? BKT_OK : BKT_ERR(err, BKT_ENOENT, "%s: no link '%s'", file, p->path);
    BKT_FAIL_IF(err, p->link->cls == BKT_L_SOFT && p->link->path && depth >= most, BKT_EFORMAT,
                "%s: more than %zu soft links on the way to '%s' (see H5Pset_nlinks)", file, most, p->path);
    if (p->link->cls == BKT_L_SOFT && p->link->path)
        return bkt_vobj_exists_at(p->group, p->link->path, lapl, depth + 1, out, err);
    bool external = p->link->cls == BKT_L_EXTERNAL;
    int rc = bkt_path_open(p->group, p->name, lapl, &o, &why);
    *out = rc == BKT_OK;
    bool absent = rc == BKT_ENOENT || (rc == BKT_EFORMAT && external); /* a cycle of links */
    return rc == BKT_OK || absent ? BKT_OK : bkt_err_copy(err, rc, &why);
}

int bkt_vobj_exists_at(struct bkt_vobj *from, const char *path, hid_t lapl, unsigned depth, hbool_t *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    BKT_PASS(bkt_link_place_at(from, path, lapl, &p, err));
    *out = !p.name[0] || strcmp(p.name, ".") == 0;
    return *out ? BKT_OK : p.group->ops->object->exists(&p, lapl, depth, out, err);
}

/* ---- changes ---- */

/* H5Oincr_refcount, H5Odecr_refcount */
static int change_refs(struct bkt_vobj *o, int delta, struct bkt_err *err)
{
    BKT_PASS(bkt_file_begin_change(o->file, BKT_ACL_UPDATE, "changing a reference count", err));
    return bkt_edit_refcount(o->file->dom, &o->obj->id, delta, err);
}

static int get_comment(struct bkt_vobj *o, H5VL_native_object_get_comment_t *a, struct bkt_err *err)
{
    const char *text = o->obj->comment ? o->obj->comment : "";
    size_t n = strlen(text) + 1;
    (void)err;
    if (a->buf) /* as in HDF5, without a NUL if there is no room for one; h5dump relies on it */
        memcpy(a->buf, text, n < a->buf_size ? n : a->buf_size);
    if (a->comment_len)
        *a->comment_len = n - 1;
    return BKT_OK;
}

static int set_comment(struct bkt_vobj *o, const char *text, struct bkt_err *err)
{
    if ((!text || !*text) && !o->obj->comment) /* no change, so it is allowed even in a read-only file */
        return BKT_OK;
    BKT_PASS(bkt_file_begin_change(o->file, BKT_ACL_UPDATE, "setting a comment", err));
    return bkt_edit_comment(o->file->dom, &o->obj->id, text, err);
}

/* ---- H5Odisable_mdc_flushes ---- */

/* SWMR writers hold an object back in the cache of HDF5's own files while they change it.  A domain has no
 * such cache: changes are stored by flushes.  The calls only keep account, as HDF5 does. */
static int hold_mdc(struct bkt_vobj *o, bool hold, struct bkt_err *err)
{
    struct bkt_vobj *holder = bkt_vobj_mdc_holder(o);
    BKT_FAIL_IF(err, hold == (holder != NULL), BKT_EINVAL, "%s: flushes of its metadata are %s already",
                bkt_vobj_place(o), hold ? "disabled" : "enabled");
    (hold ? o : holder)->mdc_held = hold;
    return BKT_OK;
}

static int is_mdc_held(struct bkt_vobj *o, hbool_t *out, struct bkt_err *err)
{
    (void)err;
    *out = bkt_vobj_mdc_holder(o) != NULL;
    return BKT_OK;
}

const struct bkt_object_ops bkt_domain_object_ops = {.file = get_file,
                                                     .get = get,
                                                     .token = get_token,
                                                     .exists = exists,
                                                     .visit = bkt_iterate_objects,
                                                     .change_refs = change_refs,
                                                     .get_comment = get_comment,
                                                     .set_comment = set_comment,
                                                     .hold_mdc = hold_mdc,
                                                     .is_mdc_held = is_mdc_held,
                                                     .stat = bkt_vobj_stat};
