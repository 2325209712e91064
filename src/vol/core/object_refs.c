/* Objects as HDF5 sees them: their identity, and references to them. */
#define XXH_INLINE_ALL
#include "vol/core/object_refs.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "vol/core/hid.h"
#include "vol/core/token.h"
#include "vol/core/vol.h"

H5O_type_t bkt_object_type(const struct bkt_object *obj)
{
    static const H5O_type_t types[] = {[BKT_GROUP] = H5O_TYPE_GROUP,
                                       [BKT_DATASET] = H5O_TYPE_DATASET,
                                       [BKT_DATATYPE] = H5O_TYPE_NAMED_DATATYPE};
    return types[obj->kind];
}

/* Set by bkt_vobj_identify() around its call of HDF5: its result needs no number of links, which may be
 * costly to find.  HDF5's global lock guards it. */
static bool identify_only;

int bkt_vobj_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token, struct bkt_err *err)
{
    H5O_info2_t info;
    identify_only = true;
    int rc = BKT_PASS_H5(err, H5Oget_info3(obj, &info, H5O_INFO_BASIC), "asking for an object's token");
    identify_only = false;
    BKT_PASS(rc);
    *fileno = info.fileno;
    *token = info.token;
    return BKT_OK;
}

int bkt_vobj_info(struct bkt_vobj *o, unsigned fields, H5O_info2_t *out, struct bkt_err *err)
{
    const struct bkt_object *obj = o->obj;
    memset(out, 0, sizeof *out);
    if (fields & H5O_INFO_BASIC) {
        uint64_t rc = 1;
        if (!identify_only)
            BKT_PASS(bkt_domain_link_count(o->file->dom, &obj->id, &rc, err));
        out->fileno = o->file->fileno;
        out->type = bkt_object_type(obj);
        out->rc = (unsigned)rc + obj->extra_refs +
                  (unsigned)(obj->kind == BKT_DATATYPE && obj->uses > 0 ? obj->uses : 0);
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

/* HDF5 passes a reference's target to a connector only to open it or to get its name; this records the
 * question.  HDF5's global lock guards it. */
static struct asked {
    const struct bkt_vobj *in;
    H5O_token_t token;
} * asked;

int bkt_vobj_ref_id(const H5R_ref_t *ref, struct bkt_vobj *in_file, struct bkt_id *out)
{
    struct asked a = {NULL, {{0}}};
    asked = &a;
    (void)BKT_PASS_H5(NULL, H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, NULL, 0),
                      "H5Rget_obj_name");
    asked = NULL;
    return a.in && bkt_vobj_is_in_file_of(in_file, a.in) && bkt_token_id(in_file->file->dom, &a.token, out)
               ? BKT_OK
               : BKT_ENOENT;
}

bool bkt_vobj_is_only_asked(const struct bkt_vobj *obj, const H5VL_loc_params_t *loc)
{
    if (!asked || loc->type != H5VL_OBJECT_BY_TOKEN)
        return false;
    *asked = (struct asked){obj, *loc->loc_data.loc_by_token.token};
    return true;
}

/* H5Rcreate_object() makes the connector look up a name; here it is called for an id that is known already.
 * HDF5's global lock guards it. */
static const struct bkt_id *lookup_answer;

const struct bkt_id *bkt_vobj_lookup_answer(void)
{
    return lookup_answer;
}

int bkt_vobj_root_id(struct bkt_vobj *in_file, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *root = NULL;
    BKT_PASS(bkt_file_root(in_file->file, H5I_GROUP, &root, err));
    return bkt_vobj_register(root, out, err);
}

bool bkt_ref_is_null(const H5R_ref_t *ref)
{
    static const H5R_ref_t null;
    return memcmp(ref->u.__data, null.u.__data, sizeof null.u.__data) == 0;
}

static herr_t create(hid_t loc, hid_t region, const char *attr, H5R_ref_t *out)
{
    return attr         ? H5Rcreate_attr(loc, ".", attr, H5P_DEFAULT, out)
           : region < 0 ? H5Rcreate_object(loc, ".", H5P_DEFAULT, out)
                        : H5Rcreate_region(loc, ".", region, H5P_DEFAULT, out);
}

int bkt_vobj_ref_make(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, const char *attr,
                      H5R_ref_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_vobj_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc = BKT_PASS_H5(err, create(loc, region, attr, out), "making a reference");
    lookup_answer = NULL;
    return rc;
}

int bkt_vobj_ref_make_old(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, unsigned char *out,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_vobj_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc =
        BKT_PASS_H5(err, H5Rcreate(out, loc, ".", H5R_DATASET_REGION, region), "making a region reference");
    lookup_answer = NULL;
    return rc;
}

/* ---- stored -> H5R_ref_t ---- */

static int stand_in(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_file_root(in_file->file, H5I_FILE, &o, err));
    free(o->path);
    o->path    = strdup(r->name);
    o->outside = strdup(r->file);
    if (!o->path || !o->outside) {
        bkt_vobj_free(o);
        BKT_NOMEM(err);
    }
    return bkt_vobj_register(o, out, err);
}

int bkt_outside_ref(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t region, H5R_ref_t *out,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t loc = H5I_INVALID_HID; /* the reference holds it */
    BKT_PASS(stand_in(in_file, r, &loc, err));
    return BKT_PASS_H5(err, create(loc, region, r->kind == BKT_REGION_ATTR ? r->attr : NULL, out),
                       "making a reference into another file");
}

void bkt_outside_token(const struct bkt_vobj *o, H5O_token_t *out)
{
    XXH64_hash_t h = XXH3_64bits(o->path, strlen(o->path));
    h              = XXH3_64bits_withSeed(o->outside, strlen(o->outside), h);
    memset(out, 0, sizeof *out);
    bkt_put_le(out->__data, sizeof h, h ? h : 1);
}

/* ---- H5R_ref_t -> stored ---- */

int bkt_outside_text(ssize_t (*ask)(const H5R_ref_t *ref, char *buf, size_t size), const H5R_ref_t *ref,
                     const char *what, char **out, struct bkt_err *err)
{
    ssize_t n = 0;
    BKT_PASS(BKT_PASS_H5(err, n = ask(ref, NULL, 0), what));
    *out = calloc(1, (size_t)n + 1);
    BKT_NEED(err, *out);
    return BKT_PASS_H5(err, ask(ref, *out, (size_t)n + 1), what);
}

ssize_t bkt_ref_object_name(const H5R_ref_t *ref, char *buf, size_t size)
{
    return H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, buf, size);
}

int bkt_outside_describe(const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err)
{
    BKT_PASS(bkt_outside_text(H5Rget_file_name, ref, "asking for the file of a reference", &r->file, err));
    BKT_PASS(
        bkt_outside_text(bkt_ref_object_name, ref, "asking for the object of a reference", &r->name, err));
    BKT_FAIL_IF(err, !*r->name, BKT_EUNSUP,
                "reference to an object in %s: the object has no name in that file", r->file);
    return BKT_OK;
}

/* The form of paths in HDF5's links: single slashes, and no slash at the end. */
static char *link_path_of(const char *path)
{
    char *out = strdup(path);
    size_t n = 0;
    for (const char *p = path; out && *p; p++)
        if (*p != '/' || n == 0 || out[n - 1] != '/')
            out[n++] = *p;
    if (!out)
        return NULL;
    if (n > 1 && out[n - 1] == '/')
        n--;
    out[n] = '\0';
    return out;
}

int bkt_link_soft(struct bkt_link *l, const char *target, struct bkt_err *err)
{
    l->cls = BKT_L_SOFT;
    l->path = link_path_of(target);
    return BKT_MADE(err, l->path);
}

/* An external link's value in the form of H5Lcreate_external() and H5Lget_val(): version and flags (0),
 * file, object. */
static int external_value(struct bkt_link *l, const char *value, size_t n, struct bkt_err *err)
{
    const char *file = value + 1;
    size_t nf = strnlen(file, n - 1);
    const char *path = file + nf + 1;
    l->cls = BKT_L_EXTERNAL;
    l->file = strdup(file);
    l->path = strndup(path, n - 2 - nf);
    return BKT_MADE(err, l->file && l->path);
}

static bool is_external_value(const char *value, size_t n)
{
    size_t nf = n > 1 ? strnlen(value + 1, n - 1) : 0;
    return n > 3 && value[0] == 0 && nf > 0 && nf + 2 < n && strnlen(value + nf + 2, n - nf - 2) < n - nf - 2;
}

int bkt_link_user(struct bkt_link *l, int type, const void *value, size_t n, struct bkt_err *err)
{
    if (type == H5L_TYPE_EXTERNAL && is_external_value(value, n))
        return external_value(l, value, n, err);
    BKT_FAIL_IF(err, type < H5L_TYPE_UD_MIN || H5Lis_registered((H5L_type_t)type) <= 0, BKT_EINVAL,
                "links of class %d: the class is not registered with HDF5", type);
    l->cls = BKT_L_USER;
    l->ud_type = type;
    return bkt_buf_add(&l->ud, value, n) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
}
