/* H5T: committed types of domains */
#include "vol/convert/convert.h"
#include "vol/path/new_link.h"

static int new_type(hid_t type, hid_t tcpl, struct bkt_object **out, struct bkt_err *err)
{
    struct bkt_object *o = *out = bkt_object_make(BKT_DATATYPE);
    if (!o)
        BKT_NOMEM(err);
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
    static const char what[] = "committing a datatype";
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s = {NULL, NULL, false};
    struct bkt_object                         *o = NULL;
    if (name)
        BKT_PASS(bkt_spot_find(at, name, lcpl, H5P_DEFAULT, H5P_DEFAULT, what, &s, err));
    else
        BKT_PASS(bkt_change_begin(at->file, BKT_ACL_CREATE, what, err));
    if (name && s.group->ops != at->ops)
        return s.group->ops->datatype->commit(s.group, s.name, type, lcpl, tcpl, out, err);
    BKT_PASS(new_type(type, tcpl, &o, err));
    return name ? bkt_spot_put(&s, o, out, err) : bkt_spot_put_anonymous(at->file, o, out, err);
}

static int copy_type(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_type(o->obj->type, out, err);
}

static int get_tcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_gcpl(o, H5P_DATATYPE_CREATE, out, err);
}

const struct bkt_datatype_ops bkt_domain_datatype_ops = {
    .commit = commit, .type = copy_type, .tcpl = get_tcpl};
