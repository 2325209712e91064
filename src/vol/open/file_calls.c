/* H5F: opening, creating and deleting files, and questions about domains. */
#include "vol/open/file_calls.h"

#include <H5VLconnector.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/pool.h"
#include "base/trace.h"
#include "bkt_config.h"
#include "storage/stats.h"
#include "vol/connector_info.h"
#include "vol/convert/convert.h"
#include "vol/convert/region_shadow.h"
#include "vol/open/linked_files.h"
#include "vol/open/permission_and_flush.h"
#include "vol/open/pointer_leave.h"
#include "vol/open/ros3_list.h"
#include "vol/parallel/group.h"
#include "vol/plain/plain_file.h"
#include "vol/plain/remote_file.h"

/* ---- opening ---- */

/* An open file.  If it may be changed, its changes are stored at the latest when the process ends. */
static int new_file(struct bkt_domain *dom, const char *name, unsigned flags, hid_t fapl,
                    struct bkt_file **out, struct bkt_err *err)
{
    if (flags & H5F_ACC_RDWR)
        bkt_file_watch_exit();
    return bkt_file_new(dom, name, flags, fapl, out, err);
}

/* The ACL must permit some kind of change.  Each call is checked again by its own kind. */
static int may_change_something(struct bkt_domain *dom, struct bkt_err *err)
{
    static const unsigned kinds[] = {BKT_ACL_UPDATE, BKT_ACL_CREATE, BKT_ACL_DELETE};
    struct bkt_err        first   = {.n = 0};
    for (size_t i = 0; i < BKT_COUNT(kinds); i++)
        if (bkt_domain_may_write(dom, kinds[i], i == 0 ? &first : NULL) == BKT_OK)
            return BKT_OK;
    return bkt_err_copy(err, first.code, &first);
}

/* Opened for writing: refusals that can be foreseen are reported now.  A bucket's policy shows only at a
 * PUT, so its refusal is reported by the first flush. */
static int may_write(struct bkt_domain *dom, const char *name, struct bkt_err *err)
{
    int rc = may_change_something(dom, err);
    rc     = rc == BKT_OK ? bkt_domain_may_store(dom, err) : rc;
    BKT_FAIL_IF(err, rc < 0, rc, "%s can't be opened for writing", name);
    return BKT_OK;
}

int bkt_file_open_domain(const char *name, unsigned flags, hid_t fapl, const struct bkt_settings *set,
                         struct bkt_file **out, struct bkt_err *err)
{
    struct bkt_domain *dom = NULL;
    BKT_PASS(bkt_domain_open_only(name, set, &dom, err));
    int rc = bkt_domain_check_acl(dom, BKT_ACL_READ, err);
    rc     = rc == BKT_OK && flags & H5F_ACC_RDWR ? may_write(dom, name, err) : rc;
    if (rc < 0) {
        bkt_domain_close(dom);
        return rc;
    }
    BKT_PASS(new_file(dom, name, flags, fapl, out, err));
    if (flags & H5F_ACC_RDWR)
        bkt_file_pointer_take(name, dom);
    (*out)->user_block = bkt_file_pointer_block(name);
    return BKT_OK;
}

/* Another handle on a domain already open (H5Freopen); one reference for the caller. */
static int new_handle(struct bkt_file *f, struct bkt_file **out, struct bkt_err *err)
{
    struct bkt_domain *dom = NULL;
    BKT_PASS(bkt_domain_open(f->name, bkt_domain_settings(f->dom), &dom, err));
    BKT_PASS(new_file(dom, f->name, f->flags, f->fapl, out, err));
    (*out)->user_block = f->user_block;
    return BKT_OK;
}

int bkt_file_settings(hid_t fapl, struct bkt_settings *set, struct bkt_err *err)
{
    void *info = NULL;
    if (fapl != H5P_DEFAULT && H5Pget_vol_info(fapl, &info) < 0)
        return bkt_h5err_capture(err, "asking the file access list for the connector's info");
    int rc = bkt_settings_init(set, info, err);
    (void)bkt_info_free(info);
    if (rc < 0)
        return rc;
    if (set->stats)
        bkt_stats_at_exit();
    bkt_pool_size((size_t)set->workers);
    rc = bkt_trace_set(set->trace, err);
    if (rc < 0)
        bkt_settings_fini(set);
    return rc;
}

/* As bkt_file_settings(), with the hints of the processes' MPI_Info. */
static int file_settings(hid_t fapl, struct bkt_comm *c, struct bkt_settings *set, struct bkt_err *err)
{
    BKT_PASS(bkt_file_settings(fapl, set, err));
    int rc = bkt_group_hints(c, set, err);
    if (rc < 0)
        bkt_settings_fini(set);
    return rc;
}

/* With HDF5_VOL_CONNECTOR=bucket this connector gets every file, including a program's plain HDF5 files. */
static int plain_open(const struct bkt_file_call *c, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    hid_t fapl = c->fapl == H5P_DEFAULT ? H5I_INVALID_HID : c->fapl;
    BKT_PASS(bkt_native_file(c->name, c->flags, fapl, &id, err));
    bkt_trace(BKT_TRACE_VOL, "%s is a plain HDF5 file: passed on to HDF5", c->name);
    return bkt_native_wrap(&id, out, err);
}

/* The object for the program's new file id; takes over the reference to @p f. */
static int hand_out(struct bkt_file *f, struct bkt_vobj **out, struct bkt_err *err)
{
    assert(f); /* for clang's analyzer */
    int rc = bkt_file_settle_degree(f, err);
    rc     = rc < 0 ? rc : bkt_file_root(f, H5I_FILE, out, err);
    f->handle    = rc == BKT_OK ? *out : NULL;
    f->asked_for = rc == BKT_OK;
    bkt_file_release(f);
    return rc;
}

const struct bkt_file_opener *bkt_file_opener;

/* As bkt_native_wrap(); the file is known by @p name. */
static int wrap_as(hid_t *id, const char *name, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_PASS(bkt_native_wrap(id, out, err));
    if (((*out)->called = strdup(name)))
        return BKT_OK;
    bkt_vobj_free(*out);
    BKT_NOMEM(err);
}

static int open_otherwise(const char *name, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(bkt_file_opener->open(bkt_file_opener->arg, name, &id, err));
    return wrap_as(&id, name, out, err);
}

/* Called after no domain could be opened, for the reason @p rc, @p why. */
static int remote_open(const struct bkt_file_call *c, const struct bkt_settings *set, struct bkt_remote *r,
                       int rc, const struct bkt_err *why, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_err no = {.n = 0};
    hid_t          id = H5I_INVALID_HID;
    int plain = bkt_remote_instead(r, rc) ? bkt_remote_open(r, c->flags, c->fapl, set, &id, &no) : BKT_ENOENT;
    bool is_address = rc == BKT_EINVAL && no.n > 0; /* of a web server, with a query: not a domain's */
    if (plain == BKT_ENOENT && !is_address)
        return bkt_err_copy(err, rc, why);
    if (plain < 0)
        return bkt_err_copy(err, plain, &no);
    bkt_trace(BKT_TRACE_VOL, "%s is a plain HDF5 file: %s", c->name, r->full);
    return strcmp(c->name, r->full) == 0 ? bkt_native_wrap(&id, out, err) : wrap_as(&id, c->name, out, err);
}

/* The name is that of a domain, or of a plain file in a store: both are asked for at once.  @p name: the
 * connector's form of the program's name */
static int open_in_store(const struct bkt_file_call *c, const char *name, const struct bkt_settings *set,
                         struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_remote_fini) struct bkt_remote r;
    struct bkt_file *f   = NULL;
    struct bkt_err   why = {.n = 0};
    BKT_PASS(bkt_remote_find(name, set, &r, err));
    if (bkt_remote_is_kept(&r, set) && !(c->flags & H5F_ACC_RDWR))
        return remote_open(c, set, &r, BKT_ENOENT, &why, out, err);
    if (!(c->flags & H5F_ACC_RDWR))
        bkt_remote_ask(&r, c->fapl, set);
    int rc = bkt_file_open_domain(name, c->flags, c->fapl, set, &f, &why);
    return rc == BKT_OK ? hand_out(f, out, err) : remote_open(c, set, &r, rc, &why, out, err);
}

int bkt_file_open_alone(const struct bkt_file_call *c, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_settings set;
    if (bkt_file_opener)
        return open_otherwise(c->name, out, err);
    BKT_PASS(file_settings(c->fapl, c->comm, &set, err));
    bkt_trace(BKT_TRACE_VOL, "file open %s flags %#x", c->name, c->flags);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf as = {0};
    int rc = plain_open(c, out, err);
    if (rc == BKT_ENOENT && (rc = bkt_ros3_take(c->fapl, c->name, &set, &as, err)) == BKT_OK)
        rc = open_in_store(c, as.len ? bkt_buf_str(&as) : c->name, &set, out, err);
    bkt_settings_fini(&set);
    return rc;
}

/* ---- creating ---- */

/* Takes over the members of @p how. */
static int new_domain(const char *name, unsigned flags, const struct bkt_settings *set,
                      struct bkt_new_domain *how, hsize_t user_block, struct bkt_domain **dom,
                      struct bkt_err *err)
{
    int rc = bkt_file_pointer_may(name, flags, set, err);
    if (rc < 0) {
        bkt_object_free(how->root);
        return rc;
    }
    BKT_PASS(bkt_domain_create(name, set, how, dom, err));
    rc = user_block ? bkt_userblock_store(*dom, user_block, NULL, 0, err) : BKT_OK;
    rc = rc < 0 ? rc : bkt_file_pointer_leave(name, set, *dom, user_block, err);
    if (rc < 0)
        bkt_domain_close(*dom);
    return rc;
}

/* The root group gets the file's creation list, without the user block, which is stored elsewhere
 * (userblock.h). */
static int creation_list(hid_t fcpl, struct bkt_object *root, hsize_t *user_block, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t list = fcpl == H5P_DEFAULT ? H5Pcreate(H5P_FILE_CREATE) : H5Pcopy(fcpl);
    BKT_NEED_H5(err, list >= 0 && H5Pget_userblock(list, user_block) >= 0 && H5Pset_userblock(list, 0) >= 0,
                "the file creation list");
    return bkt_convert_from_ocpl(list, root, err);
}

static int domain_create(const struct bkt_file_call *c, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_settings   set;
    struct bkt_domain    *dom  = NULL;
    struct bkt_file      *f    = NULL;
    hsize_t               user = 0;
    struct bkt_new_domain how = {
        .truncate = (c->flags & H5F_ACC_TRUNC) != 0, .root = bkt_object_make(BKT_GROUP), .agreed = c->agreed};
    BKT_NEED(err, how.root);
    int rc = creation_list(c->fcpl, how.root, &user, err);
    rc = rc < 0 ? rc : file_settings(c->fapl, c->comm, &set, err);
    if (rc < 0) {
        bkt_object_free(how.root);
        return rc;
    }
    bkt_file_drop_unused();
    rc = new_domain(c->name, c->flags, &set, &how, user, &dom, err);
    bkt_settings_fini(&set);
    BKT_PASS(rc);
    BKT_PASS(new_file(dom, c->name, H5F_ACC_RDWR | (c->flags & H5F_ACC_SWMR_WRITE), c->fapl, &f, err));
    f->user_block = user;
    return hand_out(f, out, err);
}

/* A new file becomes a domain, unless its name begins with "native:". */
int bkt_file_create_alone(const struct bkt_file_call *c, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    int rc = bkt_native_create(c->name, c->flags, c->fcpl, c->fapl, &id, err);
    if (rc != BKT_ENOENT)
        return rc < 0 ? rc : bkt_native_wrap(&id, out, err);
    return domain_create(c, out, err);
}

/* ---- what HDF5 asks about a domain ---- */

typedef int file_get_fn(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);

static int get_cont_info(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    bkt_region_shadow_was_asked_for_token_size();
    (void)o, (void)err;
    args->args.get_cont_info.info->version       = H5VL_CONTAINER_INFO_VERSION;
    args->args.get_cont_info.info->feature_flags = 0;
    args->args.get_cont_info.info->token_size    = 8; /* the part of a token that references and old calls
                                                         keep, see token.c */
    args->args.get_cont_info.info->blob_id_size  = 0;
    return BKT_OK;
}

static int get_fapl(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcopy(o->file->fapl);
    BKT_NEED_H5(err, id >= 0, "copying the file access list");
    if (o->file->comm)
        BKT_PASS(bkt_group_put_in(o->file->comm, id, err));
    args->args.get_fapl.fapl_id = bkt_hid_take(&id);
    return BKT_OK;
}

static int get_fcpl(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    hid_t *list = &args->args.get_fcpl.fcpl_id;
    BKT_PASS(bkt_convert_object_ocpl(o->obj, H5P_FILE_CREATE, list, err));
    if (H5Pset_userblock(*list, o->file->user_block) >= 0)
        return BKT_OK;
    (void)bkt_h5err_capture(err, "the file creation list");
    bkt_vobj_drop_id(*list);
    return BKT_EHDF5;
}

static int get_fileno(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    (void)err;
    *args->args.get_fileno.fileno = o->file->fileno;
    return BKT_OK;
}

static int get_intent(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    (void)err;
    *args->args.get_intent.flags = o->file->flags & (H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE | H5F_ACC_SWMR_READ);
    return BKT_OK;
}

static int get_name(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    H5VL_file_get_name_args_t *a    = &args->args.get_name;
    const char                *name = o->outside ? o->outside : o->file->name;
    (void)err;
    *a->file_name_len = strlen(name);
    if (a->buf && a->buf_size)
        (void)snprintf(a->buf, a->buf_size, "%s", name);
    return BKT_OK;
}

static file_get_fn *const file_get_ops[] = {
    [H5VL_FILE_GET_CONT_INFO] = get_cont_info, [H5VL_FILE_GET_FAPL] = get_fapl,
    [H5VL_FILE_GET_FCPL] = get_fcpl,           [H5VL_FILE_GET_FILENO] = get_fileno,
    [H5VL_FILE_GET_INTENT] = get_intent,       [H5VL_FILE_GET_NAME] = get_name,
};

static int get(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    size_t op = (size_t)args->op_type;
    if (op >= BKT_COUNT(file_get_ops) || !file_get_ops[op])
        BKT_UNKNOWN_OP(err, "file get operation", args->op_type);
    return file_get_ops[op](o, args, err);
}

/* ---- whether a file can be opened ---- */

bool bkt_file_fapl_has_connector(hid_t fapl)
{
    hid_t id = H5I_INVALID_HID, ours = H5VLget_connector_id_by_value((H5VL_class_value_t)BKT_CONNECTOR_VALUE);
    int   cmp = 1;
    if (ours >= 0 && H5Pget_vol_id(fapl, &id) >= 0 && H5VLcmp_connector_cls(&cmp, id, ours) < 0)
        cmp = 1;
    if (id >= 0)
        (void)H5VLclose(id);
    if (ours >= 0)
        (void)H5VLclose(ours);
    return cmp == 0;
}

/* Whether the program runs with HDF5_VOL_CONNECTOR=bucket, so that this connector gets plain HDF5 files as
 * well.  If HDF5 asks only because its own connector could not open a file, a yes would send the file back
 * to HDF5. */
static bool is_default_connector(void)
{
    return bkt_file_fapl_has_connector(H5P_FILE_ACCESS_DEFAULT);
}

/* As bkt_domain_probe(), for plain files in stores as well.  A plain file counts where opening would take it:
 * the open that follows doesn't ask for a domain again. */
static int ask_store(const char *name, hid_t fapl, const struct bkt_settings *set, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_remote_fini) struct bkt_remote r;
    struct bkt_err why = {.n = 0};
    BKT_PASS(bkt_remote_find(name, set, &r, err));
    bkt_remote_ask(&r, fapl, set);
    int rc = bkt_domain_probe(name, set, &why);
    int failed = rc < 0 ? rc : why.n ? why.code : BKT_ENOENT;
    if (rc != 1 && bkt_remote_instead(&r, failed) && bkt_remote_is_hdf5(&r, fapl, set)) {
        bkt_remote_keep(&r);
        return 1;
    }
    /* a name with a scheme can't be meant for another connector */
    if (rc < 0 || (rc == 0 && why.n && bkt_name_has_scheme(name)))
        (void)bkt_err_copy(err, failed, &why);
    return rc;
}

static int ask_accessible(H5VL_file_specific_args_t *args, struct bkt_err *err)
{
    struct bkt_settings set;
    const char *name = args->args.is_accessible.filename;
    hid_t       fapl = args->args.is_accessible.fapl_id;
    *args->args.is_accessible.accessible = false;
    if (bkt_remote_at_work())
        return BKT_OK;
    BKT_PASS(bkt_file_settings(fapl, &set, err));
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf as = {0};
    int rc = bkt_ros3_take(fapl, name, &set, &as, err);
    rc     = rc < 0 ? rc : ask_store(as.len ? bkt_buf_str(&as) : name, fapl, &set, err);
    bkt_trace(BKT_TRACE_VOL, "is %s ours? %s", name, rc == 1 ? "yes" : rc == 0 ? "no" : "can't say");
    bkt_settings_fini(&set);
    if (rc < 0)
        return rc;
    *args->args.is_accessible.accessible = rc == 1 || (is_default_connector() && bkt_native_is_plain(name));
    return BKT_OK;
}

/* HDF5 asks after its own connector failed, and holds an error on its stack for the case that the connector
 * refuses.  For an s3:// name that error is "no such file", whatever the server answered.  So the connector's
 * reason is added. */
int bkt_file_accessible_alone(H5VL_file_specific_args_t *args, struct bkt_err *err)
{
    hid_t held = bkt_h5err_hold();
    int   rc   = ask_accessible(args, err);
    bkt_h5err_restore(held);
    if (rc == BKT_OK && err->n && !*args->args.is_accessible.accessible)
        (void)bkt_h5err_publish(err, rc);
    return rc;
}

/* ---- another handle, and deletion ---- */

static int reopen(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_comm *c = o->file->comm, *twin = NULL;
    struct bkt_file *f = NULL;
    BKT_PASS(c ? c->ops->dup(c, &twin, err) : BKT_OK);
    int rc = bkt_comm_agree(c, new_handle(o->file, &f, err), err);
    if (rc < 0 || !f) {
        bkt_file_release(f);
        bkt_comm_close(twin);
        return rc;
    }
    f->comm = twin;
    f->reads_together = o->file->reads_together;
    f->atomic = o->file->atomic;
    return hand_out(f, out, err);
}

int bkt_file_delete_alone(const char *name, hid_t fapl, struct bkt_err *err)
{
    struct bkt_settings set;
    if (bkt_native_is_plain(name))
        return bkt_native_delete(name, err);
    BKT_PASS(bkt_file_settings(fapl, &set, err));
    bkt_trace(BKT_TRACE_VOL, "file delete %s", name);
    bkt_file_drop_unused();
    int rc = bkt_domain_delete(name, &set, false, err);
    if (rc == BKT_OK)
        bkt_file_pointer_remove(name, &set);
    bkt_settings_fini(&set);
    return rc;
}

const struct bkt_file_ops bkt_domain_file_ops = {
    .get = get, .flush = bkt_file_flush_scope, .reopen = reopen, .optional = bkt_file_optional};
