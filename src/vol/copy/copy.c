/* H5Ocopy: within a domain, from one to another, and between a domain and a plain HDF5 file that was
 * opened through this connector. */
#include "vol/copy/copy.h"

#include <string.h>

#include "vol/copy/copier_impl.h"
#include "vol/path/new_link.h"

/* ---- committed types of the destination that take the place of copies ---- */

/* With H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG: an existing committed type of the destination takes
 * the place of a copy.  As in HDF5, the search begins with the paths that
 * H5Padd_merge_committed_dtype_path() suggests.  If the program's callback (H5Pset_mcdt_search_cb) agrees,
 * it goes on with all objects that hard links lead to: types, and those of datasets and attributes. */

struct search {
    hid_t like, found;
};

/* Takes over the id. */
static bool is_it(struct search *s, hid_t type)
{
    if (type >= 0 && H5Iget_type(type) == H5I_DATATYPE && H5Tcommitted(type) > 0 &&
        H5Tequal(type, s->like) > 0) {
        s->found = type;
        return true;
    }
    bkt_hid_closep(&type);
    return false;
}

static herr_t of_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(obj, name, H5P_DEFAULT);
    (void)info;
    return attr >= 0 && is_it(arg, H5Aget_type(attr));
}

static herr_t of_object(hid_t start, const char *name, const H5O_info2_t *info, void *arg)
{
    struct search *s = arg;
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5Oopen(start, name, H5P_DEFAULT);
    if (obj < 0)
        return -1;
    if (info->type == H5O_TYPE_NAMED_DATATYPE && is_it(s, bkt_hid_hold(obj)))
        return 1;
    if (info->type == H5O_TYPE_DATASET && is_it(s, H5Dget_type(obj)))
        return 1;
    return H5Aiterate2(obj, H5_INDEX_NAME, H5_ITER_INC, NULL, of_attr, s);
}

/* The suggested paths.  Only the list's encoded form contains them. */
static int among_suggested(struct bkt_copier *c, hid_t top, struct search *s)
{
    static const char name[] =
        "merge committed dtype list"; /* HDF5's own, H5Opkg's H5O_CPY_MERGE_COMM_DT_LIST_NAME */
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    size_t n = 0;
    if (H5Pencode2(c->ocpypl, NULL, &n, H5P_DEFAULT) < 0)
        return bkt_copy_failed(c, "H5Pencode");
    if (bkt_buf_resize(&text, n) < 0)
        return BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
    if (H5Pencode2(c->ocpypl, text.ptr, &n, H5P_DEFAULT) < 0)
        return bkt_copy_failed(c, "H5Pencode");
    const char *p = memmem(text.ptr, n, name, sizeof name), *end = (const char *)text.ptr + n;
    for (p = p ? p + sizeof name : end; p < end && *p && s->found < 0;
         p += strnlen(p, (size_t)(end - p)) + 1) {
        H5O_info2_t info; /* a missing path is ignored */
        if (BKT_PASS_H5(NULL, H5Oget_info_by_name3(top, p, &info, H5O_INFO_BASIC, H5P_DEFAULT),
                        "H5Oget_info") >= 0)
            (void)BKT_PASS_H5(NULL, of_object(top, p, &info, s), "looking at a suggested datatype");
    }
    return BKT_OK;
}

static int ask_program(struct bkt_copier *c)
{
    H5O_mcdt_search_cb_t fn = NULL;
    void *data = NULL;
    if (c->ocpypl != H5P_DEFAULT && H5Pget_mcdt_search_cb(c->ocpypl, &fn, &data) < 0)
        return bkt_copy_failed(c, "H5Pget_mcdt_search_cb");
    H5O_mcdt_search_ret_t answer = fn ? fn(data) : H5O_MCDT_SEARCH_CONT;
    if (answer != H5O_MCDT_SEARCH_CONT && answer != H5O_MCDT_SEARCH_STOP)
        return BKT_ERR(c->err, BKT_ECANCEL, "the program's callback for committed datatypes failed");
    c->search_all = answer == H5O_MCDT_SEARCH_CONT;
    return BKT_OK;
}

int bkt_copy_merged(struct bkt_copier *c, hid_t type, hid_t *out)
{
    struct search s = {type, H5I_INVALID_HID};
    *out = H5I_INVALID_HID;
    if (!(c->o->flags & H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG))
        return BKT_OK;
    if (c->o->refs == BKT_REFS_KEPT) {
        *out = bkt_hid_hold(type);
        return *out < 0 ? bkt_copy_failed(c, "a committed datatype") : BKT_OK;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t top = H5Gopen2(c->root, "/", H5P_DEFAULT);
    if (top < 0)
        return bkt_copy_failed(c, "H5Gopen");
    if (c->ocpypl != H5P_DEFAULT)
        BKT_PASS(among_suggested(c, top, &s));
    if (s.found < 0 && !c->search_all)
        BKT_PASS(ask_program(c));
    if (s.found < 0 && c->search_all &&
        H5Ovisit3(top, H5_INDEX_NAME, H5_ITER_INC, of_object, &s, H5O_INFO_BASIC) < 0)
        return bkt_copy_failed(c, "looking for a committed datatype to merge with");
    *out = s.found;
    return BKT_OK;
}

/* ---- the call ---- */

/* An id for an object of either kind; the caller's. */
static int id_of(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    if (o->native_id >= 0) {
        *out = bkt_hid_hold(o->native_id);
        return *out < 0 ? bkt_h5err_capture(err, "H5Iinc_ref") : BKT_OK;
    }
    H5I_type_t type = o->type == H5I_FILE ? H5I_GROUP : o->type;
    return bkt_vobj_register(bkt_vobj_new(o->file, type, bkt_object_retain(o->obj), o->path), out, err);
}

/* HDF5 checks the name first.  Missing groups on the way are made afterwards: they are not part of the
 * copy, even if they lie above it, and no link leads there yet. */
static int may_have_name(struct bkt_vobj *dst, const char *name, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_new_link s;
    struct bkt_err why = {.n = 0};
    unsigned make = 0;
    if (lcpl != H5P_DEFAULT && H5Pget_create_intermediate_group(lcpl, &make) < 0)
        return bkt_h5err_capture(err, "reading the link creation list");
    int rc = bkt_new_link_find(dst, name, &(struct bkt_new_link_call){.what = "copying an object"}, &s, &why);
    if (rc == BKT_OK && s.group->native_id >= 0 && H5Lexists(s.group->native_id, s.name, H5P_DEFAULT) > 0)
        rc = BKT_ERR(&why, BKT_EEXIST, "%s exists", name);
    bkt_new_link_fini(&s);
    if (make && (rc == BKT_ENOENT || rc == BKT_EHDF5))
        return BKT_OK;
    return rc < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
}

int bkt_copy(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl, hid_t lcpl,
             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t from = H5I_INVALID_HID, to = H5I_INVALID_HID;
    bool same = src->file && dst->file && src->file->dom == dst->file->dom;
    struct bkt_copier_options o = {
        .refs = same ? BKT_REFS_KEPT : BKT_REFS_NULL, .sparse = true, .same_files = true};
    BKT_FAIL_IF(err, !name || !*name, BKT_EINVAL, "no name for the copy");
    if (ocpypl != H5P_DEFAULT && H5Pget_copy_object(ocpypl, &o.flags) < 0)
        return bkt_h5err_capture(err, "H5Pget_copy_object");
    BKT_PASS(may_have_name(dst, name, lcpl, err));
    BKT_PASS(id_of(src, &from, err));
    BKT_PASS(id_of(dst, &to, err));
    BKT_CLEANUP(bkt_copy_fini)
    struct bkt_copier c = {.o = &o,
                           .err = err,
                           .root = to,
                           .base = to,
                           .ocpypl = ocpypl,
                           .lcpl = lcpl,
                           .name = name,
                           .places = bkt_map_new(),
                           .ours = H5I_INVALID_HID};
    return c.places ? bkt_copy_as(&c, from, name) : BKT_ERR(c.err, BKT_ENOMEM, "out of memory");
}
