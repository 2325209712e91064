/* Attributes, comments, datasets. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "vol/convert/kept_filters.h"
#include "tools/tree/tree_impl.h"

struct attr_names {
    char      **v;
    size_t      n;
};

static void names_fini(struct attr_names *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
}

static herr_t list_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct attr_names *a = arg;
    char             **v = reallocarray(a->v, a->n + 1, sizeof *v);
    (void)obj, (void)info;
    if (!v)
        return -1;
    a->v       = v;
    v[a->n]    = strdup(name);
    return v[a->n] ? (a->n++, 0) : -1;
}

/* All elements of an attribute or a dataset's block: read, translate, write. */
struct value {
    struct tree_mem mem;
    hid_t           space;
    size_t          n;
    void           *in, *out;
};

static void value_fini(struct value *v)
{
    if (v->in)
        tree_reclaim(&v->mem, v->space, v->in, v->out != v->in ? v->out : NULL, v->n);
    if (v->out != v->in)
        free(v->out);
    free(v->in);
    tree_mem_fini(&v->mem);
}

static int copy_value(struct tree *t, hid_t src, hid_t dst, hid_t type, hid_t space, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(value_fini) struct value v = {.mem = {-1, -1, false, false}, .space = space};
    hssize_t                             n = H5Sget_simple_extent_npoints(space);
    BKT_PASS(tree_mem_of(t, type, &v.mem, err));
    if (n <= 0)
        return BKT_OK;
    v.n   = (size_t)n;
    v.in  = calloc(v.n, H5Tget_size(v.mem.in));
    v.out = v.mem.has_ref ? calloc(v.n, H5Tget_size(v.mem.out)) : v.in;
    if (!v.in || !v.out)
        BKT_NOMEM(err);
    if (H5Aread(src, v.mem.in, v.in) < 0)
        return h5_unreadable(err, "reading an attribute");
    if (v.mem.has_ref)
        BKT_PASS(tree_translate(t, &v.mem, path, v.in, v.out, v.n, err));
    return H5Awrite(dst, v.mem.out, v.out) < 0 ? h5_fail(err, "writing an attribute") : BKT_OK;
}

static int one_attribute(struct tree *t, hid_t src_obj, hid_t dst_obj, const char *name, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t src   = H5Aopen(src_obj, name, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t type  = src < 0 ? -1 : H5Aget_type(src);
    BKT_CLEANUP(h5_closep) hid_t space = src < 0 ? -1 : H5Aget_space(src);
    BKT_CLEANUP(h5_closep) hid_t acpl  = src < 0 ? -1 : H5Aget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t made  = H5I_INVALID_HID;
    if (type < 0 || space < 0 || acpl < 0)
        return h5_unreadable(err, "opening an attribute");
    if (t->o->merge && H5Aexists(dst_obj, name) > 0)
        return BKT_OK;
    BKT_PASS(tree_type(t, type, &made, err));
    BKT_CLEANUP(h5_closep) hid_t dst = H5Acreate2(dst_obj, name, made, space, acpl, H5P_DEFAULT);
    if (dst < 0)
        return h5_fail(err, "making an attribute");
    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    if (H5Tdetect_class(type, H5T_REFERENCE) <= 0)
        return copy_value(t, src, dst, type, space, path, err);
    if (!path) {
        tree_tell(t, name, "references of a committed type that no link leads to are left out");
        return BKT_OK;
    }
    return tree_postpone(t, path, name, err);
}

/* An unreadable attribute is left out, or is a failure. */
static int attribute_or_not(struct tree *t, hid_t src, hid_t dst, const char *name, const char *path, struct bkt_err *err)
{
    int rc = one_attribute(t, src, dst, name, path, err);
    if (rc == BKT_OK)
        return rc;
    if (!tree_leaves_out(t, path ? path : "", name, rc, err))
        BKT_FAIL(err, rc, "attribute %s", name);
    if (H5Aexists(dst, name) > 0 && H5Adelete(dst, name) < 0)
        return h5_fail(err, name);
    return BKT_OK;
}

static void comment(hid_t src, hid_t dst, const struct tree *t, const char *path)
{
    ssize_t                      n    = H5Oget_comment(src, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *text = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    if (n > 0 && (!text || H5Oget_comment(src, text, (size_t)n + 1) < 0 || H5Oset_comment(dst, text) < 0))
        tree_tell(t, path, "its comment is left out");
    (void)H5Eclear2(H5E_DEFAULT);
}

static int all_attributes(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(names_fini) struct attr_names names = {0};
    H5O_info2_t                               info;
    hsize_t                                   at    = 0;
    unsigned                                  order = 0;
    H5I_type_t                                type  = H5Iget_type(src);
    BKT_CLEANUP(h5_closep) hid_t cpl = type == H5I_DATASET    ? H5Dget_create_plist(src)
                                       : type == H5I_DATATYPE ? H5Tget_create_plist(src)
                                                              : H5Gget_create_plist(src);
    comment(src, dst, t, path ? path : "");
    if (H5Oget_info3(src, &info, H5O_INFO_NUM_ATTRS) < 0 || cpl < 0 || H5Pget_attr_creation_order(cpl, &order) < 0)
        return h5_unreadable(err, "asking for attributes");
    if (info.num_attrs == 0)
        return BKT_OK;
    if (H5Aiterate2(src, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, &at, list_attr, &names) < 0)
        return h5_unreadable(err, "listing attributes");
    for (size_t i = 0; i < names.n; i++)
        BKT_PASS(attribute_or_not(t, src, dst, names.v[i], path, err));
    return BKT_OK;
}

int tree_attributes(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    int rc = all_attributes(t, src, dst, path, err);
    return rc < 0 && tree_leaves_out(t, path ? path : "", NULL, rc, err) ? BKT_OK : rc;
}

/* ---- datasets ---- */

int tree_dataset(struct tree *t, hid_t src, hid_t dst_group, const char *name, const char *path, hid_t lcpl, hid_t *out,
                 struct bkt_err *err)
{
    const struct tree_hooks     *h     = &t->o->hooks;
    BKT_CLEANUP(h5_closep) hid_t type  = H5Dget_type(src);
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(src);
    BKT_CLEANUP(h5_closep) hid_t dcpl  = H5Dget_create_plist(src);
    BKT_CLEANUP(h5_closep) hid_t made  = H5I_INVALID_HID;
    if (type < 0 || space < 0 || dcpl < 0)
        return h5_unreadable(err, "opening a dataset");
    BKT_PASS(tree_type(t, type, &made, err));
    if (h->shape)
        BKT_PASS(h->shape(h->arg, src, path, &space, &dcpl, err));
    *out = bkt_filters_create(dst_group, name, made, space, lcpl, dcpl, H5I_INVALID_HID);
    if (*out < 0)
        return h5_fail(err, "making a dataset");
    if (t->o->no_data || H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    int rc = h->data ? h->data(h->arg, src, *out, path, err) : 0;
    if (rc)
        return rc < 0 ? rc : BKT_OK;
    if (H5Tdetect_class(type, H5T_REFERENCE) > 0)
        return tree_postpone(t, path, NULL, err);
    return tree_data(t, src, *out, path, err);
}

int tree_write_pending(struct tree *t, const struct tree_pending *p, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t src = H5Oopen(t->src, p->path, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t dst = H5Oopen(t->dst, p->path, H5P_DEFAULT);
    if (src < 0 || dst < 0)
        return h5_fail(err, "opening an object again");
    if (!p->attr)
        return tree_data(t, src, dst, p->path, err);
    BKT_CLEANUP(h5_closep) hid_t a     = H5Aopen(src, p->attr, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t b     = H5Aopen(dst, p->attr, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t type  = a < 0 ? -1 : H5Aget_type(a);
    BKT_CLEANUP(h5_closep) hid_t space = a < 0 ? -1 : H5Aget_space(a);
    if (b < 0 || type < 0 || space < 0)
        return h5_fail(err, "opening an attribute again");
    BKT_TRY(err, copy_value(t, a, b, type, space, p->path, err), "attribute %s", p->attr);
    return BKT_OK;
}
