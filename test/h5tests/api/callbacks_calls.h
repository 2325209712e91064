/* Calls of HDF5's that reach each operation of a connector; the table of them is in test_callbacks.c. */
#ifndef BKT_H5_CALLBACKS_CALLS_H
#define BKT_H5_CALLBACKS_CALLS_H

#include <H5VLconnector_passthru.h>

#include "h5tests/helpers/compare_write.h"

struct things {
    hid_t fapl, file, group, dset, attr, type;
};

static void open_things(const struct out *o, struct things *t)
{
    hsize_t n = 4, max = H5S_UNLIMITED, chunk = 2;
    int     v[4] = {1, 2, 3, 4};
    hid_t   s = H5Screate_simple(1, &n, &max), dcpl = H5Pcreate(H5P_DATASET_CREATE), gcpl = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_chunk(dcpl, 1, &chunk);
    H5Pset_attr_creation_order(dcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    t->fapl  = new_fapl(o);
    t->file  = H5Fcreate(new_name(o, "cb.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, t->fapl);
    t->group = H5Gcreate2(t->file, "g", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    t->dset  = H5Dcreate2(t->file, "d", H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    t->attr  = H5Acreate2(t->dset, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
    t->type  = H5Tcopy(H5T_STD_I16BE);
    CHECK(H5Dwrite(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Awrite(t->attr, H5T_NATIVE_INT, v) >= 0 &&
              H5Tcommit2(t->file, "t", t->type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
              H5Lcreate_soft("/d", t->group, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0 && H5Fflush(t->file, H5F_SCOPE_LOCAL) >= 0,
          "%s", error_text());
    H5Pclose(gcpl);
    H5Pclose(dcpl);
    H5Sclose(s);
}

static void close_things(const struct out *o, struct things *t)
{
    H5Tclose(t->type);
    H5Aclose(t->attr);
    H5Dclose(t->dset);
    H5Gclose(t->group);
    H5Fclose(t->file);
    H5Fdelete(new_name(o, "cb.h5"), t->fapl);
    H5Pclose(t->fapl);
}

/* The kind of an id, and whether it could be closed. */
static void say_id(struct out *o, hid_t id)
{
    say(o, "id of type %d, closed %d", id < 0 ? -1 : (int)H5Iget_type(id), id < 0 ? -1 : H5Idec_ref(id));
    H5Eclear2(H5E_DEFAULT);
}

#define CALL(name) static void name(const struct things *t, struct out *o)

/* ---- attributes ---- */
static herr_t one_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    (void)obj;
    say(arg, "%s of %" PRIuHSIZE " bytes", name, info->data_size);
    return 0;
}
CALL(attr_create)
{
    hid_t s = H5Screate(H5S_SCALAR);
    say_id(o, H5Acreate2(t->group, "new", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT));
    say_id(o, H5Acreate_by_name(t->file, "g", "new2", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(s);
}
CALL(attr_open)
{
    say_id(o, H5Aopen(t->dset, "a", H5P_DEFAULT));
    say_id(o, H5Aopen_by_name(t->file, "d", "a", H5P_DEFAULT, H5P_DEFAULT));
    say_id(o, H5Aopen_by_idx(t->file, "d", H5_INDEX_CRT_ORDER, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT));
}
CALL(attr_read)
{
    int v[4] = {0};
    say(o, "%d", H5Aread(t->attr, H5T_NATIVE_INT, v));
    say_bytes(o, "read", v, sizeof v);
}
CALL(attr_write)
{
    int v[4] = {9, 8, 7, 6};
    say(o, "%d", H5Awrite(t->attr, H5T_NATIVE_INT, v));
}
CALL(attr_acpl) { say_id(o, H5Aget_create_plist(t->attr)); }
CALL(attr_info)
{
    H5A_info_t a = {0}, b = {0}, c = {0};
    say(o, "%d %d", H5Aget_info(t->attr, &a), H5Aget_info_by_name(t->file, "d", "a", &b, H5P_DEFAULT));
    say(o, "%d", H5Aget_info_by_idx(t->file, "d", H5_INDEX_NAME, H5_ITER_INC, 0, &c, H5P_DEFAULT));
    say(o, "%" PRIuHSIZE " %" PRIuHSIZE " %u", a.data_size, b.data_size, c.corder);
}
CALL(attr_name)
{
    char name[8] = "", name2[8] = "";
    say(o, "%zd %s", H5Aget_name(t->attr, sizeof name, name), name);
    say(o, "%zd", H5Aget_name_by_idx(t->file, "d", H5_INDEX_NAME, H5_ITER_INC, 0, name2, sizeof name2, H5P_DEFAULT));
    say(o, "%s", name2);
}
CALL(attr_space) { say_id(o, H5Aget_space(t->attr)); }
CALL(attr_storage) { say(o, "%" PRIuHSIZE, H5Aget_storage_size(t->attr)); }
CALL(attr_type) { say_id(o, H5Aget_type(t->attr)); }
CALL(attr_delete) { say(o, "%d %d", H5Adelete(t->dset, "a"), H5Aexists(t->dset, "a")); }
CALL(attr_delete_idx) { say(o, "%d", H5Adelete_by_idx(t->file, "d", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 0, H5P_DEFAULT)); }
CALL(attr_exists) { say(o, "%d %d", H5Aexists(t->dset, "a"), H5Aexists_by_name(t->file, "d", "b", H5P_DEFAULT)); }
CALL(attr_iter)
{
    hsize_t at = 0;
    say(o, "%d", H5Aiterate2(t->dset, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, one_attr, o));
    say(o, "%d", H5Aiterate_by_name(t->file, "d", H5_INDEX_NAME, H5_ITER_DEC, NULL, one_attr, o, H5P_DEFAULT));
}
CALL(attr_rename) { say(o, "%d %d", H5Arename(t->dset, "a", "b"), H5Arename_by_name(t->file, "d", "b", "c", H5P_DEFAULT)); }

/* ---- datasets ---- */
CALL(dataset_create)
{
    hid_t s = H5Screate(H5S_SCALAR);
    say_id(o, H5Dcreate2(t->group, "new", H5T_IEEE_F64LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t d = H5Dcreate_anon(t->file, H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "%d", H5Olink(d, t->group, "anonymous", H5P_DEFAULT, H5P_DEFAULT));
    say_id(o, d);
    H5Sclose(s);
}
CALL(dataset_open) { say_id(o, H5Dopen2(t->file, "d", H5P_DEFAULT)); }
CALL(dataset_read)
{
    int   v[4] = {0}, w[4] = {0};
    hsize_t n = 4;
    hid_t   s = H5Screate_simple(1, &n, NULL), more = H5Dcreate2(t->file, "more", H5T_STD_I32BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   ds[2] = {t->dset, more}, types[2] = {H5T_NATIVE_INT, H5T_NATIVE_INT}, all[2] = {H5S_ALL, H5S_ALL};
    void *to[2] = {v, w};
    say(o, "%d", H5Dread_multi(2, ds, types, all, all, H5P_DEFAULT, to));
    say_bytes(o, "read", v, sizeof v);
    say_bytes(o, "read", w, sizeof w);
    H5Dclose(more);
    H5Sclose(s);
    say(o, "%d", H5Dread(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_bytes(o, "read", v, sizeof v);
}
CALL(dataset_write)
{
    int         v[4] = {5, 6, 7, 8};
    hid_t       type = H5T_NATIVE_INT, all = H5S_ALL, d = t->dset;
    const void *from = v;
    say(o, "%d", H5Dwrite_multi(1, &d, &type, &all, &all, H5P_DEFAULT, &from));
    say(o, "%d", H5Dwrite(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
}
CALL(dataset_dapl) { say_id(o, H5Dget_access_plist(t->dset)); }
CALL(dataset_dcpl) { say_id(o, H5Dget_create_plist(t->dset)); }
CALL(dataset_space) { say_id(o, H5Dget_space(t->dset)); }
CALL(dataset_status)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    say(o, "%d %d", H5Dget_space_status(t->dset, &status), status);
}
CALL(dataset_storage) { say(o, "%d", H5Dget_storage_size(t->dset) >= 16); }
CALL(dataset_type) { say_id(o, H5Dget_type(t->dset)); }
CALL(dataset_extent)
{
    hsize_t n = 7;
    say(o, "%d", H5Dset_extent(t->dset, &n));
    n = 3;
    say(o, "%d", H5Dset_extent(t->dset, &n));
}
CALL(dataset_flush) { say(o, "%d", H5Dflush(t->dset)); }
CALL(dataset_refresh) { say(o, "%d", H5Drefresh(t->dset)); }

/* ---- committed types ---- */
CALL(type_commit)
{
    hid_t type = H5Tcopy(H5T_STD_U8LE), other = H5Tcopy(H5T_STD_U16LE);
    say(o, "%d", H5Tcommit2(t->group, "t2", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    say(o, "%d %d", H5Tcommit_anon(t->file, other, H5P_DEFAULT, H5P_DEFAULT), H5Tcommitted(other));
    say(o, "%d", H5Olink(other, t->group, "t3", H5P_DEFAULT, H5P_DEFAULT));
    say_id(o, other);
    say_id(o, type);
}
CALL(type_open) { say_id(o, H5Topen2(t->file, "t", H5P_DEFAULT)); }
CALL(type_binary) /* HDF5 asks a committed type for its encoded form when it is opened */
{
    size_t n    = 0;
    hid_t  type = H5Topen2(t->file, "t", H5P_DEFAULT);
    say(o, "%d %zu %d", H5Tencode(type, NULL, &n), n, H5Tequal(type, H5T_STD_I16BE));
    say_id(o, type);
}
CALL(type_tcpl) { say_id(o, H5Tget_create_plist(t->type)); }
CALL(type_flush) { say(o, "%d", H5Tflush(t->type)); }
CALL(type_refresh) { say(o, "%d", H5Trefresh(t->type)); }

/* ---- files ---- */
CALL(file_create)
{
    (void)t;
    say_id(o, H5Fcreate(new_name(o, "new.h5"), H5F_ACC_EXCL, H5P_DEFAULT, t->fapl));
    say_id(o, H5Fcreate(new_name(o, "new.h5"), H5F_ACC_EXCL, H5P_DEFAULT, t->fapl));
    say(o, "%d", H5Fdelete(new_name(o, "new.h5"), t->fapl));
}
CALL(file_open) { say_id(o, H5Fopen(new_name(o, "cb.h5"), H5F_ACC_RDWR, t->fapl)); }
CALL(file_cont)
{
    H5O_info2_t info;
    H5R_ref_t   ref; /* asks for a token's size */
    say(o, "%d", H5Rcreate_object(t->file, "d", H5P_DEFAULT, &ref));
    say(o, "%d", H5Oget_info3(t->dset, &info, H5O_INFO_BASIC));
    H5Rdestroy(&ref);
}
CALL(file_fapl) { say_id(o, H5Fget_access_plist(t->file)); }
CALL(file_fcpl) { say_id(o, H5Fget_create_plist(t->file)); }
CALL(file_no)
{
    unsigned long a = 1, b = 2;
    hid_t         again = H5Freopen(t->file);
    say(o, "%d %d same %d", H5Fget_fileno(t->file, &a), H5Fget_fileno(again, &b), a == b);
    say_id(o, again);
}
CALL(file_intent)
{
    unsigned flags = 77;
    say(o, "%d %u", H5Fget_intent(t->file, &flags), flags);
}
CALL(file_name)
{
    char name[8300] = "";
    say(o, "%d", H5Fget_name(t->dset, name, sizeof name) == (ssize_t)strlen(new_name(o, "cb.h5")));
    say(o, "%d", strcmp(name, new_name(o, "cb.h5")));
}
CALL(file_count) { say(o, "%zd %zd", H5Fget_obj_count(t->file, H5F_OBJ_ALL), H5Fget_obj_count(t->file, H5F_OBJ_DATASET)); }
CALL(file_ids)
{
    hid_t ids[8];
    say(o, "%zd", H5Fget_obj_ids(t->file, H5F_OBJ_DATASET | H5F_OBJ_ATTR, 8, ids));
}
CALL(file_flush) { say(o, "%d %d", H5Fflush(t->file, H5F_SCOPE_LOCAL), H5Fflush(t->dset, H5F_SCOPE_GLOBAL)); }
CALL(file_reopen) { say_id(o, H5Freopen(t->file)); }
CALL(file_accessible)
{
    say(o, "%d", H5Fis_accessible(new_name(o, "cb.h5"), t->fapl));
    say(o, "%d", H5Fis_accessible(new_name(o, "no such file.h5"), t->fapl) > 0);
}
CALL(file_delete)
{
    H5Fclose(H5Fcreate(new_name(o, "gone.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, t->fapl));
    say(o, "%d", H5Fdelete(new_name(o, "gone.h5"), t->fapl));
    say(o, "%d", H5Fdelete(new_name(o, "gone.h5"), t->fapl) < 0);
}
/* HDF5 itself asks only where it converts references, which is done here without it. */
CALL(file_equal)
{
    hid_t                     vol = H5VLget_connector_id(t->file), again = H5Freopen(t->file);
    hid_t                     other = H5Fcreate(new_name(o, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, t->fapl);
    hbool_t                   same[2] = {false, true};
    H5VL_file_specific_args_t args = {.op_type = H5VL_FILE_IS_EQUAL, .args.is_equal = {H5VLobject(again), &same[0]}};
    say(o, "%d", H5VLfile_specific(H5VLobject(t->file), vol, &args, H5P_DEFAULT, NULL));
    args.args.is_equal.obj2      = H5VLobject(other);
    args.args.is_equal.same_file = &same[1];
    say(o, "%d", H5VLfile_specific(H5VLobject(t->file), vol, &args, H5P_DEFAULT, NULL));
    say(o, "%d %d", same[0], same[1]);
    H5VLclose(vol);
    say_id(o, again);
    say_id(o, other);
    H5Fdelete(new_name(o, "other.h5"), t->fapl);
}

/* ---- groups ---- */
CALL(group_create)
{
    say_id(o, H5Gcreate2(t->group, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t g = H5Gcreate_anon(t->file, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "%d", H5Olink(g, t->group, "anonymous", H5P_DEFAULT, H5P_DEFAULT));
    say_id(o, g);
}
CALL(group_open) { say_id(o, H5Gopen2(t->file, "g", H5P_DEFAULT)); }
CALL(group_gcpl) { say_id(o, H5Gget_create_plist(t->group)); }
CALL(group_info)
{
    H5G_info_t a = {0}, b = {0}, c = {0};
    say(o, "%d %d", H5Gget_info(t->group, &a), H5Gget_info_by_name(t->file, "g", &b, H5P_DEFAULT));
    say(o, "%d", H5Gget_info_by_idx(t->file, "/", H5_INDEX_NAME, H5_ITER_INC, 1, &c, H5P_DEFAULT));
    say(o, "%" PRIuHSIZE " %" PRIuHSIZE " %" PRIuHSIZE " mounted %d", a.nlinks, b.nlinks, c.nlinks, a.mounted);
}
CALL(group_mount)
{
    hid_t       child = H5Fcreate(new_name(o, "child.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, t->fapl);
    H5G_info_t  info  = {0};
    hid_t       deep  = H5Gcreate2(child, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const char *at    = "g";
    H5Gclose(deep);
    say(o, "mount %d", H5Fmount(t->file, at, child, H5P_DEFAULT));
    say(o, "twice %d", H5Fmount(t->file, at, child, H5P_DEFAULT) < 0);
    say_id(o, H5Gopen2(t->file, "g/deep", H5P_DEFAULT));
    hid_t root = H5Gopen2(t->file, "g", H5P_DEFAULT);
    say(o, "%d mounted %d links %" PRIuHSIZE, H5Gget_info(root, &info), info.mounted, info.nlinks);
    H5Gclose(root);
    say(o, "unmount %d", H5Funmount(t->file, at));
    say(o, "twice %d", H5Funmount(t->file, at) < 0);
    say(o, "its own again %d", H5Lexists(t->file, "g/soft", H5P_DEFAULT));
    say(o, "mounted from the group %d %d", H5Fmount(t->group, ".", child, H5P_DEFAULT), H5Funmount(t->group, "."));
    H5Eclear2(H5E_DEFAULT);
    say_id(o, child);
    H5Fdelete(new_name(o, "child.h5"), t->fapl);
}
CALL(group_flush) { say(o, "%d", H5Gflush(t->group)); }
CALL(group_refresh) { say(o, "%d", H5Grefresh(t->group)); }

/* ---- links ---- */
static herr_t one_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g;
    say(arg, "%s %d", name, info->type);
    return 0;
}
CALL(link_hard) { say(o, "%d", H5Lcreate_hard(t->file, "d", t->group, "hard", H5P_DEFAULT, H5P_DEFAULT)); }
CALL(link_soft) { say(o, "%d", H5Lcreate_soft("nowhere", t->group, "soft2", H5P_DEFAULT, H5P_DEFAULT)); }
CALL(link_ud)
{
    char        back[64] = "";
    const char *file = NULL, *path = NULL;
    unsigned    flags = 7;
    say(o, "%d", H5Lcreate_external("other.h5", "/x", t->group, "ext", H5P_DEFAULT, H5P_DEFAULT));
    say(o, "%d", H5Lget_val(t->group, "ext", back, sizeof back, H5P_DEFAULT));
    say(o, "%d %u %s %s", H5Lunpack_elink_val(back, sizeof back, &flags, &file, &path), flags, file ? file : "", path ? path : "");
}
CALL(link_copy) { say(o, "%d", H5Lcopy(t->file, "d", t->group, "copied", H5P_DEFAULT, H5P_DEFAULT)); }
CALL(link_move) { say(o, "%d %d", H5Lmove(t->file, "d", t->group, "moved", H5P_DEFAULT, H5P_DEFAULT), H5Lexists(t->file, "d", H5P_DEFAULT)); }
CALL(link_info)
{
    H5L_info2_t a = {0}, b = {0};
    say(o, "%d %d", H5Lget_info2(t->group, "soft", &a, H5P_DEFAULT),
        H5Lget_info_by_idx2(t->file, "g", H5_INDEX_CRT_ORDER, H5_ITER_INC, 0, &b, H5P_DEFAULT));
    say(o, "%d %zu %d %d", a.type, a.u.val_size, b.type, b.corder_valid);
}
CALL(link_name)
{
    char name[8] = "";
    say(o, "%zd", H5Lget_name_by_idx(t->file, "/", H5_INDEX_NAME, H5_ITER_DEC, 0, name, sizeof name, H5P_DEFAULT));
    say(o, "%s", name);
}
CALL(link_val)
{
    char a[8] = "", b[8] = "";
    say(o, "%d %s", H5Lget_val(t->group, "soft", a, sizeof a, H5P_DEFAULT), a);
    say(o, "%d", H5Lget_val_by_idx(t->file, "g", H5_INDEX_NAME, H5_ITER_INC, 0, b, sizeof b, H5P_DEFAULT));
    say(o, "%s", b);
}
CALL(link_delete)
{
    say(o, "%d", H5Ldelete(t->group, "soft", H5P_DEFAULT));
    say(o, "%d", H5Ldelete_by_idx(t->file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
}
CALL(link_exists) { say(o, "%d %d", H5Lexists(t->file, "g/soft", H5P_DEFAULT), H5Lexists(t->file, "g/none", H5P_DEFAULT)); }
CALL(link_iter)
{
    say(o, "%d", H5Literate2(t->file, H5_INDEX_NAME, H5_ITER_INC, NULL, one_link, o));
    say(o, "%d", H5Literate_by_name2(t->file, "g", H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, one_link, o, H5P_DEFAULT));
    say(o, "%d", H5Lvisit2(t->file, H5_INDEX_NAME, H5_ITER_DEC, one_link, o));
    say(o, "%d", H5Lvisit_by_name2(t->file, "g", H5_INDEX_NAME, H5_ITER_INC, one_link, o, H5P_DEFAULT));
}

/* ---- objects ---- */
static herr_t one_object(hid_t obj, const char *name, const H5O_info2_t *info, void *arg)
{
    (void)obj;
    say(arg, "%s %d %u", name, info->type, info->rc);
    return 0;
}
CALL(object_open)
{
    H5O_info2_t info;
    say_id(o, H5Oopen(t->file, "g", H5P_DEFAULT));
    say_id(o, H5Oopen_by_idx(t->file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
    say(o, "%d", H5Oget_info3(t->dset, &info, H5O_INFO_BASIC));
    say_id(o, H5Oopen_by_token(t->file, info.token));
}
CALL(object_copy) { say(o, "%d", H5Ocopy(t->file, "d", t->group, "copy", H5P_DEFAULT, H5P_DEFAULT)); }
CALL(object_file) { say_id(o, H5Iget_file_id(t->dset)); }
CALL(object_name)
{
    char      a[16] = "", b[16] = "";
    H5R_ref_t ref;
    say(o, "%zd %s", H5Iget_name(t->group, a, sizeof a), a);
    say(o, "%d", H5Rcreate_object(t->file, "d", H5P_DEFAULT, &ref));
    say(o, "%zd %s", H5Rget_obj_name(&ref, H5P_DEFAULT, b, sizeof b), b);
    H5Rdestroy(&ref);
}
CALL(object_type)
{
    H5R_ref_t  ref;
    H5O_type_t type = H5O_TYPE_UNKNOWN;
    say(o, "%d", H5Rcreate_object(t->file, "g", H5P_DEFAULT, &ref));
    say(o, "%d %d", H5Rget_obj_type3(&ref, H5P_DEFAULT, &type), type);
    H5Rdestroy(&ref);
}
CALL(object_info)
{
    H5O_info2_t a = {0}, b = {0}, c = {0};
    say(o, "%d %d", H5Oget_info3(t->dset, &a, H5O_INFO_ALL), H5Oget_info_by_name3(t->file, "g", &b, H5O_INFO_BASIC, H5P_DEFAULT));
    say(o, "%d", H5Oget_info_by_idx3(t->file, "/", H5_INDEX_NAME, H5_ITER_INC, 2, &c, H5O_INFO_NUM_ATTRS, H5P_DEFAULT));
    say(o, "%d %u %" PRIuHSIZE " %d %u", a.type, a.rc, a.num_attrs, b.type, b.rc);
}
CALL(object_refs)
{
    H5O_info2_t info = {0};
    say(o, "%d %d", H5Oincr_refcount(t->dset), H5Oget_info3(t->dset, &info, H5O_INFO_BASIC));
    say(o, "%u %d", info.rc, H5Odecr_refcount(t->dset));
}
CALL(object_exists) { say(o, "%d %d", H5Oexists_by_name(t->file, "g/soft", H5P_DEFAULT), H5Oexists_by_name(t->file, "d", H5P_DEFAULT)); }
CALL(object_lookup)
{
    H5R_ref_t ref;
    say(o, "%d", H5Rcreate_object(t->file, "g", H5P_DEFAULT, &ref));
    say_id(o, H5Ropen_object(&ref, H5P_DEFAULT, H5P_DEFAULT));
    H5Rdestroy(&ref);
}
CALL(object_visit)
{
    say(o, "%d", H5Ovisit3(t->file, H5_INDEX_NAME, H5_ITER_INC, one_object, o, H5O_INFO_BASIC));
    say(o, "%d", H5Ovisit_by_name3(t->file, "g", H5_INDEX_NAME, H5_ITER_INC, one_object, o, H5O_INFO_BASIC, H5P_DEFAULT));
}
CALL(object_flush) { say(o, "%d", H5Oflush(t->group)); }
CALL(object_refresh) { say(o, "%d", H5Orefresh(t->group)); }

/* ---- the rest ---- */
CALL(any_optional) { say(o, "%d", H5Oset_comment(t->group, "x")); }
static herr_t one_name(hid_t obj, const char *name, void *arg) { return (void)obj, say(arg, "%s", name), 0; }
CALL(attr_old) { say(o, "%d", H5Aiterate1(t->dset, NULL, one_name, o)); }
CALL(dataset_chunks)
{
    hsize_t n = 0;
    say(o, "%d %" PRIuHSIZE, H5Dget_num_chunks(t->dset, H5S_ALL, &n), n);
}
CALL(file_size)
{
    hsize_t n = 0;
    say(o, "%d %d", H5Fget_filesize(t->file, &n), n > 0);
}
CALL(group_old)
{
    H5G_stat_t s = {.type = 99};
    say(o, "%d %d", H5Gget_objinfo(t->file, "g", true, &s), s.type);
}
CALL(tokens)
{
    H5O_info2_t a = {0}, b = {0};
    H5O_token_t back = {0};
    char       *text = NULL;
    int         cmp  = 7;
    say(o, "%d %d", H5Oget_info3(t->dset, &a, H5O_INFO_BASIC), H5Oget_info_by_name3(t->file, "d", &b, H5O_INFO_BASIC, H5P_DEFAULT));
    say(o, "%d %d", H5Otoken_cmp(t->file, &a.token, &b.token, &cmp), cmp);
    say(o, "%d", H5Otoken_to_str(t->file, &a.token, &text));
    say(o, "%d", text ? H5Otoken_from_str(t->file, text, &back) : -1);
    say(o, "%d %d", H5Otoken_cmp(t->file, &a.token, &back, &cmp), cmp);
    H5free_memory(text);
}
CALL(introspect)
{
    uint64_t flags  = 0;
    hbool_t  native = false;
    say(o, "%d", H5VLobject_is_native(t->file, &native));
    CHECK(native, "HDF5's older calls are not served"); /* ours as well (src/vol/core/native_header.h) */
    say(o, "%d", H5VLquery_optional(t->file, H5VL_SUBCLS_OBJECT, 0, &flags));
    say(o, "%d", H5Pget_vol_cap_flags(t->fapl, &flags));
}
CALL(infos) /* the string after the connector's name: into a list, compared, and out again */
{
    hid_t vol  = H5VLget_connector_id_by_name(o->ours ? "bucket" : "native"), a = H5Pcreate(H5P_FILE_ACCESS), b;
    void *info = NULL;
    if (o->ours) {
        char text[64] = "", *p = NULL;
        CHECK(H5VLconnector_str_to_info("writers=one", vol, &info) >= 0 && info, "%s", error_text());
        CHECK(H5Pset_vol(a, vol, info) >= 0 && H5Pequal(a, b = H5Pcopy(a)) > 0 && H5Pclose(b) >= 0, "%s", error_text());
        CHECK(H5VLconnector_info_to_str(info, vol, &p) >= 0 && p && snprintf(text, sizeof text, "%s", p) && !strcmp(text, "writers=one"),
              "info comes back as '%s'", text);
        H5free_memory(p);
        void *given = NULL;
        CHECK(H5Pget_vol_info(a, &given) >= 0 && given && strcmp(given, "writers=one") == 0, "the list's info");
        free(given); /* HDF5's manual has no other way */
        CHECK(H5Pget_vol_info(a, &given) >= 0 && H5VLfree_connector_info(vol, given) >= 0, "the list's info again");
        H5VLfree_connector_info(vol, info);
    }
    (void)t;
    H5Pclose(a);
    H5VLclose(vol);
}
CALL(unknown_optional) /* of no class */
{
    H5VL_optional_args_t args = {.op_type = 5000};
    hid_t                vol  = H5VLget_connector_id(t->file);
    if (o->ours) { /* HDF5's own has no such callback */
        herr_t rc = H5VLoptional(H5VLobject(t->file), vol, &args, H5P_DEFAULT, NULL);
        const char *why = error_text();
        CHECK(rc < 0 && strstr(why, "optional operation 5000: not supported"), "%d, %s", rc, why);
    }
    H5VLclose(vol);
    H5Eclear2(H5E_DEFAULT);
}
/* Without requests, HDF5's asynchronous calls are done when they return. */
CALL(asynchronous)
{
    hid_t   es   = H5EScreate();
    int     v[4] = {0};
    size_t  left = 9, count = 9;
    hbool_t bad  = true;
    say(o, "%d", H5Dread_async(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v, es));
    say_bytes(o, "read", v, sizeof v);
    say(o, "%d %zu", H5ESget_count(es, &count), count);
    say(o, "%d %zu %d", H5ESwait(es, H5ES_WAIT_FOREVER, &left, &bad), left, bad);
    say(o, "%d", H5ESclose(es));
}
/* Sequences are stored with their dataset, not as blobs. */
CALL(sequences)
{
    int     v[2] = {4, 5};
    hvl_t   in = {2, v}, back = {0};
    hsize_t one = 1; /* of a scalar HDF5's own crashes below */
    hid_t   type = H5Tvlen_create(H5T_NATIVE_INT), s = H5Screate_simple(1, &one, NULL);
    hid_t   d = H5Dcreate2(t->file, "lists", type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t need = 0;
    say(o, "%d", H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &in));
    say(o, "%d", H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &back));
    say(o, "%zu %d", back.len, back.p ? ((int *)back.p)[1] : -1);
    say(o, "%d", H5Dvlen_get_buf_size(d, type, s, &need));
    say(o, "%" PRIuHSIZE, need);
    say(o, "%d", H5Dvlen_reclaim(type, s, H5P_DEFAULT, &back));
    say(o, "%zu %d", back.len, back.p != NULL);
    H5Dclose(d);
    H5Sclose(s);
    H5Tclose(type);
}
CALL(no_optional)
{
    H5VL_optional_args_t args = {.op_type = 5000};
    say(o, "%d", H5VLlink_optional_op(t->file, "d", H5P_DEFAULT, &args, H5P_DEFAULT, H5ES_NONE) < 0);
    say(o, "%d", H5VLdatatype_optional_op(t->type, &args, H5P_DEFAULT, H5ES_NONE) < 0);
    H5Eclear2(H5E_DEFAULT);
}
CALL(plain_call) { say(o, "%d", H5Lexists(t->file, "d", H5P_DEFAULT)); }

#endif
