#include "vol/plain/plain_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/name/pointer_file.h"
#include "vol/core/hid.h"
#include "vol/parallel/group.h"
#include "vol/vfd/store_driver.h"

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
hid_t bkt_native_fapl(hid_t like)
{
    hid_t fapl = like >= 0 ? H5Pcopy(like) : H5Pcreate(H5P_FILE_ACCESS);
    /* the close degree is handled here, as the ids open in the file are the connector's
     * (H5Pset_fclose_degree) */
    if (fapl >= 0 &&
        (H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0 || H5Pset_fclose_degree(fapl, H5F_CLOSE_DEFAULT) < 0)) {
        (void)H5Pclose(fapl);
        return H5I_INVALID_HID;
    }
    return fapl;
}

static bool is_hdf5(const char *path, hid_t fapl)
{
    htri_t yes = 0;
    return BKT_PASS_H5(NULL, yes = H5Fis_accessible(path, fapl), "H5Fis_accessible") == BKT_OK && yes > 0;
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
    BKT_CLEANUP(bkt_hid_closep)
    hid_t fapl = said || !bkt_pointer_is(path) ? bkt_native_fapl(H5I_INVALID_HID) : H5I_INVALID_HID;
    return fapl >= 0 && is_hdf5(path, fapl);
}

/* A driver that the program chose may use other files than the one of that name: only HDF5 can try. */
static bool may_be_file(const char *path, hid_t fapl)
{
    struct stat st;
    hid_t       driver  = fapl >= 0 ? H5Pget_driver(fapl) : H5FD_SEC2;
    bool drivers = driver != H5FD_SEC2 && !bkt_group_is_wanted(fapl);
    return !strstr(path, "://") && (drivers || (stat(path, &st) == 0 && S_ISREG(st.st_mode)));
}

/* HDF5 takes a file that its driver can't open for missing, and looks for the name elsewhere. */
static bool can_read(const char *path, hid_t fapl)
{
    return H5Pget_driver(fapl) != H5FD_SEC2 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* @p any: a file of another format is for HDF5 to refuse. */
static int open_native(const char *name, bool any, unsigned flags, hid_t like, hid_t *out,
                       struct bkt_err *err)
{
    bool        said;
    const char *path = plain_path(name, &said);
    if (!said && bkt_pointer_is(path))
        return BKT_ENOENT;
    if (!may_be_file(path, like)) {
        BKT_FAIL_IF(err, said, BKT_EINVAL, "%s: no such file", path);
        return BKT_ENOENT;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = bkt_native_fapl(like);
    *out = H5I_INVALID_HID;
    BKT_NEED_H5(err, fapl >= 0, "H5Pset_vol");
    if (!said && !has_image(like) && !(any ? can_read(path, fapl) : is_hdf5(path, fapl)))
        return BKT_ENOENT;
    return BKT_PASS_H5(err, *out = H5Fopen(path, flags, fapl), "opening a plain HDF5 file");
}

int bkt_native_file(const char *name, unsigned flags, hid_t like, hid_t *out, struct bkt_err *err)
{
    return open_native(name, false, flags, like, out, err);
}

int bkt_native_linked(const char *name, unsigned flags, hid_t like, hid_t *out, struct bkt_err *err)
{
    return open_native(name, true, flags, like, out, err);
}

/* Whether the file is not meant to be stored under its name: it is in memory only, or its driver comes
 * from the program (h5py's driver for Python's files). */
static bool is_programs_own(const char *name, hid_t fapl)
{
    size_t  step;
    hbool_t keeps  = true;
    hid_t   driver = fapl == H5P_DEFAULT ? H5FD_SEC2 : H5Pget_driver(fapl);
    if (driver == H5FD_SEC2)
        return false;
    if (bkt_group_is_wanted(fapl)) /* a build without MPI has no ids of such drivers */
        return bkt_group_is_subfiled(name, fapl);
    if (driver == H5FD_CORE)
        return H5Pget_fapl_core(fapl, &step, &keeps) >= 0 && !keeps;
    const hid_t stored[] = {H5FD_LOG,      H5FD_STDIO, H5FD_FAMILY, H5FD_MULTI,
                            H5FD_SPLITTER, H5FD_ONION, H5FD_DIRECT};
    for (size_t i = 0; i < BKT_COUNT(stored); i++)
        if (driver == stored[i])
            return false;
    return true;
}

int bkt_native_create(const char *name, unsigned flags, hid_t fcpl, hid_t like, hid_t *out,
                      struct bkt_err *err)
{
    bool         said;
    const char  *path = plain_path(name, &said);
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    if (!said && !is_programs_own(name, like))
        return BKT_ENOENT;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t fapl = bkt_native_fapl(like == H5P_DEFAULT ? H5I_INVALID_HID : like);
    *out = H5I_INVALID_HID;
    BKT_NEED_H5(err, fapl >= 0, "H5Pset_vol");
    /* attributes of more than 64 KiB need HDF5 1.8's object headers; domains accept such attributes */
    if (said && H5Pget_libver_bounds(fapl, &low, &high) >= 0 && low < H5F_LIBVER_V18)
        (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, high);
    /* a connector gets more flags than H5Fcreate() accepts */
    flags &= H5F_ACC_TRUNC | H5F_ACC_EXCL;
    return BKT_PASS_H5(err, *out = H5Fcreate(path, flags, fcpl, fapl), "creating a plain HDF5 file");
}

int bkt_native_delete(const char *name, struct bkt_err *err)
{
    bool        said;
    const char *path = plain_path(name, &said);
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = bkt_native_fapl(H5I_INVALID_HID);
    BKT_NEED_H5(err, fapl >= 0, "H5Pset_vol");
    return BKT_PASS_H5(err, H5Fdelete(path, fapl), "deleting a plain HDF5 file");
}

int bkt_native_wrap(hid_t *id, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_vobj *o = bkt_vobj_new_plain(&bkt_plain_ops, H5Iget_type(*id));
    if (!o) {
        (void)H5Idec_ref(*id);
        *id = H5I_INVALID_HID;
        BKT_NOMEM(err);
    }
    if (o->has_native_header) /* the header of its own file, whose heap holds its region references */
        bkt_native_header_copy(o->native_header, o->type, H5VLobject(*id));
    o->native_id = *id;
    bkt_vobj_keep_id(*id);
    *id          = H5I_INVALID_HID;
    *out         = o;
    return BKT_OK;
}

static hid_t shown_for(struct bkt_vobj *o)
{
    struct bkt_vobj *same = NULL;
    hid_t held = bkt_hid_hold(o->native_id), shown = H5I_INVALID_HID;
    if (held < 0 || !bkt_vfd_behind(o->native_id))
        return held;
    return bkt_native_wrap(&held, &same, NULL) == BKT_OK && bkt_vobj_register(same, &shown, NULL) == BKT_OK
               ? shown
               : bkt_hid_hold(o->native_id);
}

void bkt_native_walk_begin(struct bkt_native_walk *w, struct bkt_vobj *start, const void *asked)
{
    w->asked = asked;
    w->shown = shown_for(start);
    bkt_h5err_mute(&w->print);
}

const void *bkt_native_walk_call(struct bkt_native_walk *w)
{
    bkt_h5err_unmute(&w->print);
    return w->asked;
}

herr_t bkt_native_walk_back(struct bkt_native_walk *w, herr_t rc)
{
    bkt_h5err_mute(&w->print);
    return rc;
}

herr_t bkt_native_walk_end(struct bkt_native_walk *w, herr_t rc, const char *what, struct bkt_err *err)
{
    if (rc < 0) /* the handles that are closed now would take HDF5's message along */
        rc = bkt_h5err_capture_native(err, what);
    bkt_h5err_unmute(&w->print);
    hid_t reported = bkt_h5err_hold();
    bkt_vobj_drop_id(w->shown);
    bkt_h5err_restore(reported);
    return rc;
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
    BKT_CLEANUP(bkt_hid_closep) hid_t out = H5Pcreate(H5P_LINK_ACCESS);
    hid_t fapl = H5Pget_elink_fapl(lapl);
    bool ok = out >= 0 && fapl >= 0 && H5Pget_nlinks(lapl, &nlinks) >= 0 && H5Pset_nlinks(out, nlinks) >= 0 &&
              H5Pget_elink_prefix(lapl, where, sizeof where) >= 0 &&
              (!*where || H5Pset_elink_prefix(out, where) >= 0) &&
              H5Pget_elink_acc_flags(lapl, &flags) >= 0 && H5Pset_elink_acc_flags(out, flags) >= 0 &&
              H5Pget_elink_cb(lapl, &fn, &arg) >= 0 && (!fn || H5Pset_elink_cb(out, fn, arg) >= 0) &&
              (fapl == H5P_DEFAULT || H5Pset_elink_fapl(out, fapl) >= 0);
    if (fapl > 0)
        (void)H5Pclose(fapl);
    return ok ? bkt_hid_take(&out) : H5I_INVALID_HID;
}

int bkt_native_open(hid_t loc, const char *path, hid_t lapl, hid_t *out, struct bkt_err *err)
{
    struct bkt_err said = {.n = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t links = H5I_INVALID_HID;
    if (lapl != H5P_DEFAULT && lapl >= 0 && H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0)
        BKT_PASS(BKT_PASS_H5(err, links = link_list(lapl), "copying a link access list"));
    (void)bkt_vfd_take_refusal(NULL); /* of an earlier call */
    int rc = BKT_PASS_NATIVE(&said, *out = H5Oopen(loc, path, links < 0 ? H5P_DEFAULT : links),
                             "opening an object of a plain HDF5 file");
    if (rc < 0 && bkt_vfd_take_refusal(err) == BKT_OK)
        return bkt_err_copy(err, rc, &said);
    return rc;
}
