#include "vol/plain/plain_file.h"

#include <string.h>
#include <sys/stat.h>

#include "vol/open/file_calls.h"
#include "schema/name/pointer_file.h"

static const char prefix[] = "native:";

static const char *plain_path(const char *name, bool *said)
{
    *said = strncmp(name, prefix, sizeof prefix - 1) == 0;
    if (*said)
        return name + sizeof prefix - 1;
    return strncmp(name, "file://", 7) == 0 ? name + 7 : name;
}

/* The list must choose the native connector explicitly, or HDF5 would call this connector again
 * (HDFGroup/hdf5 issue 2764). */
static hid_t native_fapl(hid_t like)
{
    hid_t fapl = like >= 0 ? H5Pcopy(like) : H5Pcreate(H5P_FILE_ACCESS);
    /* the close degree is handled here, as the ids open in the file are our own (H5Pset_fclose_degree) */
    if (fapl >= 0 && (H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0 || H5Pset_fclose_degree(fapl, H5F_CLOSE_DEFAULT) < 0)) {
        (void)H5Pclose(fapl);
        return H5I_INVALID_HID;
    }
    return fapl;
}

static bool is_hdf5(const char *path, hid_t fapl)
{
    htri_t yes = 0;
    return PASS_ON(NULL, yes = H5Fis_accessible(path, fapl), "H5Fis_accessible") == BKT_OK && yes > 0;
}

/* The image is opened in place of any file of that name; HDF5 doesn't read the name's files then. */
static bool has_image(hid_t fapl)
{
    size_t size = 0;
    return fapl >= 0 && H5Pget_file_image(fapl, NULL, &size) >= 0 && size > 0;
}

bool bkt_native_is_plain(const char *name)
{
    bool        said;
    const char *path = plain_path(name, &said);
    hid_t       fapl = said || !bkt_pointer_is(path) ? native_fapl(H5I_INVALID_HID) : H5I_INVALID_HID;
    bool        yes  = fapl >= 0 && is_hdf5(path, fapl);
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return yes;
}

/* A driver that the program chose may use other files than the one of that name: only HDF5 can try. */
static bool may_be_file(const char *path, hid_t fapl)
{
    struct stat st;
    hid_t       driver  = fapl >= 0 ? H5Pget_driver(fapl) : H5FD_SEC2;
    bool        drivers = driver != H5FD_SEC2 && driver != H5FD_MPIO;
    return !strstr(path, "://") && (drivers || (stat(path, &st) == 0 && S_ISREG(st.st_mode)));
}

int bkt_native_file(const char *name, unsigned flags, hid_t like, hid_t *out, struct bkt_err *err)
{
    bool        said;
    const char *path = plain_path(name, &said);
    if (!said && bkt_pointer_is(path))
        return BKT_ENOENT;
    if (!may_be_file(path, like)) {
        if (said)
            BKT_FAIL(err, BKT_EINVAL, "%s: no such file", path);
        return BKT_ENOENT;
    }
    hid_t fapl = native_fapl(like);
    int   rc   = BKT_OK;
    *out       = H5I_INVALID_HID;
    if (fapl < 0)
        rc = bkt_h5err_capture(err, "H5Pset_vol");
    else if (!said && !has_image(like) && !is_hdf5(path, fapl))
        rc = BKT_ENOENT;
    else
        rc = PASS_ON(err, *out = H5Fopen(path, flags, fapl), "opening a plain HDF5 file");
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return rc;
}

/* Whether the file is not meant to be stored under its name: it is in memory only, or its driver comes
 * from the program (h5py's driver for Python's files). */
static bool is_programs_own(hid_t fapl)
{
    size_t  step;
    hbool_t keeps  = true;
    hid_t   driver = fapl == H5P_DEFAULT ? H5FD_SEC2 : H5Pget_driver(fapl);
    if (driver == H5FD_SEC2)
        return false;
    if (driver == H5FD_CORE)
        return H5Pget_fapl_core(fapl, &step, &keeps) >= 0 && !keeps;
    const hid_t stored[] = {H5FD_LOG, H5FD_STDIO, H5FD_FAMILY, H5FD_MULTI, H5FD_SPLITTER, H5FD_ONION, H5FD_DIRECT, H5FD_MPIO};
    for (size_t i = 0; i < BKT_COUNT(stored); i++)
        if (driver == stored[i])
            return false;
    return true;
}

int bkt_native_create(const char *name, unsigned flags, hid_t fcpl, hid_t like, hid_t *out, struct bkt_err *err)
{
    bool         said;
    const char  *path = plain_path(name, &said);
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    if (!said && !is_programs_own(like))
        return BKT_ENOENT;
    hid_t fapl = native_fapl(like == H5P_DEFAULT ? H5I_INVALID_HID : like);
    /* attributes of more than 64 KiB need HDF5 1.8's object headers; domains accept such attributes */
    if (said && fapl >= 0 && H5Pget_libver_bounds(fapl, &low, &high) >= 0 && low < H5F_LIBVER_V18)
        (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, high);
    /* a connector gets more flags than H5Fcreate() accepts */
    flags &= H5F_ACC_TRUNC | H5F_ACC_EXCL;
    *out   = H5I_INVALID_HID;
    int rc = fapl < 0 ? bkt_h5err_capture(err, "H5Pset_vol")
                      : PASS_ON(err, *out = H5Fcreate(path, flags, fcpl, fapl), "creating a plain HDF5 file");
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return rc;
}

int bkt_native_delete(const char *name, struct bkt_err *err)
{
    bool        said;
    const char *path = plain_path(name, &said);
    hid_t       fapl = native_fapl(H5I_INVALID_HID);
    int         rc   = fapl < 0 ? bkt_h5err_capture(err, "H5Pset_vol") : PASS_ON(err, H5Fdelete(path, fapl), "deleting a plain HDF5 file");
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return rc;
}

int bkt_native_wrap(hid_t *id, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_vobj *o = bkt_vobj_new(NULL, H5Iget_type(*id), NULL, NULL);
    if (!o) {
        (void)H5Idec_ref(*id);
        *id = H5I_INVALID_HID;
        BKT_NOMEM(err);
    }
    if (o->has_face) /* the face of its own file, whose heap holds its region references */
        bkt_face_copy(o->face, o->type, H5VLobject(*id));
    o->native_id = *id;
    *id          = H5I_INVALID_HID;
    *out         = o;
    return BKT_OK;
}

/* H5Oopen() accepts only this class.  The settings for links in a group's or dataset's list are copied
 * into such a list. */
static hid_t link_list(hid_t lapl)
{
    char                 where[1024] = "";
    size_t               nlinks       = 16;
    unsigned             flags        = H5F_ACC_DEFAULT;
    H5L_elink_traverse_t fn           = NULL;
    void                *arg          = NULL;
    hid_t                out          = H5Pcreate(H5P_LINK_ACCESS), fapl = H5Pget_elink_fapl(lapl);
    bool                 ok = out >= 0 && fapl >= 0 && H5Pget_nlinks(lapl, &nlinks) >= 0 && H5Pset_nlinks(out, nlinks) >= 0 &&
              H5Pget_elink_prefix(lapl, where, sizeof where) >= 0 && (!*where || H5Pset_elink_prefix(out, where) >= 0) &&
              H5Pget_elink_acc_flags(lapl, &flags) >= 0 && H5Pset_elink_acc_flags(out, flags) >= 0 &&
              H5Pget_elink_cb(lapl, &fn, &arg) >= 0 && (!fn || H5Pset_elink_cb(out, fn, arg) >= 0) &&
              (fapl == H5P_DEFAULT || H5Pset_elink_fapl(out, fapl) >= 0);
    if (fapl > 0)
        (void)H5Pclose(fapl);
    if (ok || out < 0)
        return out;
    (void)H5Pclose(out);
    return H5I_INVALID_HID;
}

int bkt_native_open(hid_t loc, const char *path, hid_t lapl, hid_t *out, struct bkt_err *err)
{
    hid_t links = H5P_DEFAULT;
    if (lapl != H5P_DEFAULT && lapl >= 0 && H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0)
        BKT_PASS(PASS_ON(err, links = link_list(lapl), "copying a link access list"));
    int rc = PASS_ON(err, *out = H5Oopen(loc, path, links), "opening an object of a plain HDF5 file");
    if (links != H5P_DEFAULT)
        (void)H5Pclose(links);
    return rc;
}

int bkt_native_open_by_idx(hid_t loc, const H5VL_loc_by_idx_t *at, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(PASS_ON(err, id = H5Oopen_by_idx(loc, ".", at->idx_type, at->order, at->n, H5P_DEFAULT),
                     "opening an object of a plain HDF5 file by index"));
    return bkt_native_wrap(&id, out, err);
}

int bkt_native_open_by_token(hid_t loc, const H5O_token_t *token, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(PASS_ON(err, id = H5Oopen_by_token(loc, *token), "opening an object of a plain HDF5 file by token"));
    return bkt_native_wrap(&id, out, err);
}

int bkt_native_file_get(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    H5VL_file_get_name_args_t *name = &args->args.get_name;
    ssize_t                    n;
    switch (args->op_type) {
        case H5VL_FILE_GET_CONT_INFO:
            *args->args.get_cont_info.info = (H5VL_file_cont_info_t){H5VL_CONTAINER_INFO_VERSION, 0, 8, 0};
            return BKT_OK;
        case H5VL_FILE_GET_FAPL:
            return PASS_ON(err, args->args.get_fapl.fapl_id = H5Fget_access_plist(o->native_id), "H5Fget_access_plist");
        case H5VL_FILE_GET_FCPL:
            return PASS_ON(err, args->args.get_fcpl.fcpl_id = H5Fget_create_plist(o->native_id), "H5Fget_create_plist");
        case H5VL_FILE_GET_FILENO:
            return PASS_ON(err, H5Fget_fileno(o->native_id, args->args.get_fileno.fileno), "H5Fget_fileno");
        case H5VL_FILE_GET_INTENT:
            return PASS_ON(err, H5Fget_intent(o->native_id, args->args.get_intent.flags), "H5Fget_intent");
        case H5VL_FILE_GET_NAME:
            n = o->called ? (ssize_t)strlen(o->called) : 0;
            if (!o->called)
                BKT_PASS(PASS_ON(err, n = H5Fget_name(o->native_id, name->buf, name->buf_size), "H5Fget_name"));
            else if (name->buf && name->buf_size)
                (void)snprintf(name->buf, name->buf_size, "%s", o->called);
            *name->file_name_len = (size_t)n;
            return BKT_OK;
        case H5VL_FILE_GET_OBJ_COUNT:
            return bkt_file_obj_count(o, args, err); /* the program's ids, not those of HDF5's connector behind them */
        case H5VL_FILE_GET_OBJ_IDS:
            return bkt_file_obj_ids(o, args, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "file get operation %d on a plain HDF5 file", (int)args->op_type);
    }
}

int bkt_native_reopen(struct bkt_vobj *o, H5VL_file_specific_args_t *args, struct bkt_err *err)
{
    hid_t            id  = H5I_INVALID_HID;
    struct bkt_vobj *out = NULL;
    BKT_PASS(PASS_ON(err, id = H5Freopen(o->native_id), "H5Freopen"));
    BKT_PASS(bkt_native_wrap(&id, &out, err));
    *args->args.reopen.file = out;
    return BKT_OK;
}

int bkt_native_group_get(struct bkt_vobj *o, H5VL_group_get_args_t *args, struct bkt_err *err)
{
    return PASS_ON(err, args->args.get_gcpl.gcpl_id = H5Gget_create_plist(o->native_id), "H5Gget_create_plist");
}

int bkt_native_group_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, struct bkt_vobj **out,
                            struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(PASS_ON(
        err, id = name ? H5Gcreate2(at->native_id, name, lcpl, gcpl, gapl) : H5Gcreate_anon(at->native_id, gcpl, gapl), "H5Gcreate"));
    return bkt_native_wrap(&id, out, err);
}

int bkt_native_datatype_commit(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, struct bkt_vobj **out,
                               struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(PASS_ON(err, id = H5Tcopy(type), "H5Tcopy"));
    int rc = PASS_ON(err,
                     name ? H5Tcommit2(at->native_id, name, id, lcpl, tcpl, H5P_DEFAULT)
                          : H5Tcommit_anon(at->native_id, id, tcpl, H5P_DEFAULT),
                     "H5Tcommit");
    if (rc == BKT_OK)
        return bkt_native_wrap(&id, out, err);
    (void)H5Tclose(id);
    return rc;
}

/* The target of a new hard link: by name from its location, or the location itself. */
static int create_hard(hid_t at, const char *name, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_vobj         *cur = args->args.hard.curr_obj;
    const H5VL_loc_params_t *loc = &args->args.hard.curr_loc_params;
    hid_t                    from = cur && cur->native_id >= 0 ? cur->native_id : at;
    if (cur && cur->native_id < 0)
        BKT_FAIL(err, BKT_EINVAL, "a hard link cannot lead from a plain HDF5 file to a domain");
    return PASS_ON(err,
                   loc->type == H5VL_OBJECT_BY_NAME
                       ? H5Lcreate_hard(from, loc->loc_data.loc_by_name.name, at, name, lcpl, H5P_DEFAULT)
                       : H5Olink(from, at, name, lcpl, H5P_DEFAULT),
                   "H5Lcreate_hard");
}

int bkt_native_link_create(struct bkt_vobj *at, const char *name, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_LINK_CREATE_HARD:
            return create_hard(at->native_id, name, args, lcpl, err);
        case H5VL_LINK_CREATE_SOFT:
            return PASS_ON(err, H5Lcreate_soft(args->args.soft.target, at->native_id, name, lcpl, H5P_DEFAULT), "H5Lcreate_soft");
        case H5VL_LINK_CREATE_UD:
            return PASS_ON(err,
                           H5Lcreate_ud(at->native_id, name, args->args.ud.type, args->args.ud.buf, args->args.ud.buf_size, lcpl,
                                        H5P_DEFAULT),
                           "H5Lcreate_ud");
        default:
            BKT_FAIL(err, BKT_EUNSUP, "creating a link of kind %d", (int)args->op_type);
    }
}

int bkt_native_link_delete(struct bkt_vobj *group, const char *last, struct bkt_err *err)
{
    return PASS_ON(err, H5Ldelete(group->native_id, last, H5P_DEFAULT), "H5Ldelete");
}

static int get_by_name(hid_t g, const char *last, H5VL_link_get_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_LINK_GET_INFO:
            return PASS_ON(err, H5Lget_info2(g, last, args->args.get_info.linfo, H5P_DEFAULT), "H5Lget_info");
        case H5VL_LINK_GET_VAL:
            return PASS_ON(err, H5Lget_val(g, last, args->args.get_val.buf, args->args.get_val.buf_size, H5P_DEFAULT), "H5Lget_val");
        case H5VL_LINK_GET_NAME:
        default:
            BKT_FAIL(err, BKT_EINVAL, "a link's name can only be requested by index");
    }
}

int bkt_native_link_get(struct bkt_vobj *group, const char *last, const H5VL_loc_params_t *loc, H5VL_link_get_args_t *args,
                        struct bkt_err *err)
{
    hid_t g = group->native_id;
    if (loc->type == H5VL_OBJECT_BY_NAME)
        return get_by_name(g, last, args, err);
    const H5VL_loc_by_idx_t *at = &loc->loc_data.loc_by_idx;
    ssize_t                  n;
    switch (args->op_type) {
        case H5VL_LINK_GET_INFO:
            return PASS_ON(err, H5Lget_info_by_idx2(g, ".", at->idx_type, at->order, at->n, args->args.get_info.linfo, H5P_DEFAULT),
                           "H5Lget_info_by_idx");
        case H5VL_LINK_GET_VAL:
            return PASS_ON(err,
                           H5Lget_val_by_idx(g, ".", at->idx_type, at->order, at->n, args->args.get_val.buf, args->args.get_val.buf_size,
                                             H5P_DEFAULT),
                           "H5Lget_val_by_idx");
        case H5VL_LINK_GET_NAME:
            BKT_PASS(PASS_ON(err,
                             n = H5Lget_name_by_idx(g, ".", at->idx_type, at->order, at->n, args->args.get_name.name,
                                                    args->args.get_name.name_size, H5P_DEFAULT),
                             "H5Lget_name_by_idx"));
            *args->args.get_name.name_len = (size_t)n;
            return BKT_OK;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "link get operation %d", (int)args->op_type);
    }
}

/* A walk that HDF5 makes on the program's behalf. */
struct walk {
    H5L_iterate2_t         link_op;
    H5O_iterate2_t         object_op;
    void                  *op_data;
    struct bkt_h5err_print print;
};

static herr_t call_link_op(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct walk *w = arg;
    bkt_h5err_unmute(&w->print);
    herr_t rc = w->link_op(group, name, info, w->op_data);
    bkt_h5err_mute(&w->print);
    return rc;
}

static herr_t call_object_op(hid_t obj, const char *name, const H5O_info2_t *info, void *arg)
{
    struct walk *w = arg;
    bkt_h5err_unmute(&w->print);
    herr_t rc = w->object_op(obj, name, info, w->op_data);
    bkt_h5err_mute(&w->print);
    return rc;
}

herr_t bkt_native_link_iterate(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err)
{
    struct walk w = {.link_op = a->op, .op_data = a->op_data};
    (void)err; /* the program's callback or HDF5 has left its own message */
    bkt_h5err_mute(&w.print);
    herr_t rc = a->recursive ? H5Lvisit2(group->native_id, a->idx_type, a->order, call_link_op, &w)
                             : H5Literate2(group->native_id, a->idx_type, a->order, a->idx_p, call_link_op, &w);
    bkt_h5err_unmute(&w.print);
    return rc;
}

int bkt_native_link_exists(struct bkt_vobj *group, const char *last, hbool_t *exists, struct bkt_err *err)
{
    htri_t r = 1;
    if (*last)
        BKT_PASS(PASS_ON(err, r = H5Lexists(group->native_id, last, H5P_DEFAULT), "H5Lexists"));
    *exists = r > 0;
    return BKT_OK;
}

int bkt_native_object_exists(struct bkt_vobj *group, const char *last, bool may_miss, hbool_t *exists, struct bkt_err *err)
{
    htri_t r = 1;
    if (may_miss)
        BKT_PASS(PASS_ON(err, r = H5Lexists(group->native_id, last, H5P_DEFAULT), "H5Lexists"));
    if (r > 0)
        BKT_PASS(PASS_ON(err, r = H5Oexists_by_name(group->native_id, last, H5P_DEFAULT), "H5Oexists_by_name"));
    *exists = r > 0;
    return BKT_OK;
}

int bkt_native_object_get(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err)
{
    H5O_info2_t      info;
    ssize_t          n;
    hid_t            file;
    struct bkt_vobj *wrapped;
    switch (args->op_type) {
        case H5VL_OBJECT_GET_FILE:
            BKT_PASS(PASS_ON(err, file = H5Iget_file_id(o->native_id), "H5Iget_file_id"));
            wrapped = bkt_file_of_native(file); /* HDF5 finds the program's id by it, if there is one */
            if (wrapped)
                bkt_vobj_drop_id(file);
            else
                BKT_PASS(bkt_native_wrap(&file, &wrapped, err));
            *args->args.get_file.file = wrapped;
            return BKT_OK;
        case H5VL_OBJECT_GET_NAME:
            BKT_PASS(PASS_ON(err, n = H5Iget_name(o->native_id, args->args.get_name.buf, args->args.get_name.buf_size), "H5Iget_name"));
            *args->args.get_name.name_len = (size_t)n;
            return BKT_OK;
        case H5VL_OBJECT_GET_TYPE:
            BKT_PASS(PASS_ON(err, H5Oget_info3(o->native_id, &info, H5O_INFO_BASIC), "H5Oget_info"));
            *args->args.get_type.obj_type = info.type;
            return BKT_OK;
        case H5VL_OBJECT_GET_INFO:
            return PASS_ON(err, H5Oget_info3(o->native_id, args->args.get_info.oinfo, args->args.get_info.fields), "H5Oget_info");
        default:
            BKT_FAIL(err, BKT_EUNSUP, "object get operation %d", (int)args->op_type);
    }
}

herr_t bkt_native_object_visit(struct bkt_vobj *o, const H5VL_object_visit_args_t *a, struct bkt_err *err)
{
    struct walk w = {.object_op = a->op, .op_data = a->op_data};
    (void)err;
    bkt_h5err_mute(&w.print);
    herr_t rc = H5Ovisit3(o->native_id, a->idx_type, a->order, call_object_op, &w, a->fields);
    bkt_h5err_unmute(&w.print);
    return rc;
}
