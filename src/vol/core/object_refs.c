/* Objects as HDF5 sees them: their identity, and references to them. */
#include "vol/core/object_refs.h"

#include <stdlib.h>
#include <string.h>

#include "vol/core/file_handle.h"
#include "vol/core/token.h"

H5O_type_t bkt_object_type(const struct bkt_object *obj)
{
    static const H5O_type_t types[] = {[BKT_GROUP] = H5O_TYPE_GROUP,
                                       [BKT_DATASET] = H5O_TYPE_DATASET,
                                       [BKT_DATATYPE] = H5O_TYPE_NAMED_DATATYPE};
    return types[obj->kind];
}

/* Set by bkt_object_identify() around its call of HDF5: its result needs no number of links, which may be
 * costly to find.  HDF5's global lock guards it. */
static bool identify_only;

int bkt_object_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token, struct bkt_err *err)
{
    H5O_info2_t info;
    identify_only = true;
    int rc = PASS_ON(err, H5Oget_info3(obj, &info, H5O_INFO_BASIC), "asking for an object's token");
    identify_only = false;
    BKT_PASS(rc);
    *fileno = info.fileno;
    *token = info.token;
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

int bkt_object_of_ref(const H5R_ref_t *ref, struct bkt_vobj *in_file, struct bkt_id *out)
{
    struct asked a = {NULL, {{0}}};
    asked = &a;
    H5E_BEGIN_TRY
    {
        (void)H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, NULL, 0);
    }
    H5E_END_TRY
    asked = NULL;
    return a.in && bkt_vobj_is_in_file_of(in_file, a.in) && bkt_token_id(in_file->file->dom, &a.token, out)
               ? BKT_OK
               : BKT_ENOENT;
}

bool bkt_object_is_only_asked(const struct bkt_vobj *obj, const H5VL_loc_params_t *loc)
{
    if (!asked || loc->type != H5VL_OBJECT_BY_TOKEN)
        return false;
    *asked = (struct asked){obj, *loc->loc_data.loc_by_token.token};
    return true;
}

/* H5Rcreate_object() makes us look up a name; here it is called for an id that is known already.  HDF5's
 * global lock guards it. */
static const struct bkt_id *lookup_answer;

const struct bkt_id *bkt_object_lookup_answer(void)
{
    return lookup_answer;
}

int bkt_object_root_id(struct bkt_vobj *in_file, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *root = NULL;
    BKT_PASS(bkt_file_root(in_file->file, H5I_GROUP, &root, err));
    *out = bkt_vobj_register(root, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

static int make_any_ref(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, const char *attr,
                        H5R_ref_t *out, struct bkt_err *err)
{
    hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_object_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc = PASS_ON(err,
                     attr         ? H5Rcreate_attr(loc, ".", attr, H5P_DEFAULT, out)
                     : region < 0 ? H5Rcreate_object(loc, ".", H5P_DEFAULT, out)
                                  : H5Rcreate_region(loc, ".", region, H5P_DEFAULT, out),
                     "making a reference");
    lookup_answer = NULL;
    (void)H5Idec_ref(loc);
    return rc;
}

int bkt_object_make_old_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region,
                               unsigned char *out, struct bkt_err *err)
{
    hid_t loc = H5I_INVALID_HID;
    BKT_PASS(bkt_object_root_id(in_file, &loc, err));
    lookup_answer = id;
    int rc = PASS_ON(err, H5Rcreate(out, loc, ".", H5R_DATASET_REGION, region), "making a region reference");
    lookup_answer = NULL;
    (void)H5Idec_ref(loc);
    return rc;
}

int bkt_object_make_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, H5R_ref_t *out,
                           struct bkt_err *err)
{
    return make_any_ref(in_file, id, region, NULL, out, err);
}

int bkt_object_make_attr_ref(struct bkt_vobj *in_file, const struct bkt_id *id, const char *attr,
                             H5R_ref_t *out, struct bkt_err *err)
{
    return make_any_ref(in_file, id, H5I_INVALID_HID, attr, out, err);
}

int bkt_object_make_ref(struct bkt_vobj *in_file, const struct bkt_id *id, H5R_ref_t *out,
                        struct bkt_err *err)
{
    return make_any_ref(in_file, id, H5I_INVALID_HID, NULL, out, err);
}
