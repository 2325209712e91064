/* H5Ocopy: within a domain, from one to another, and between a domain and a plain HDF5 file that was
 * opened through this connector.  All work is done by HDF5's public calls on ids of either kind, so each
 * end behaves as for any program. */
#include "vol/copy/copy_impl.h"

#include <stdlib.h>
#include <string.h>

#include "vol/copy/copy.h"
#include "vol/dataset/raw_files.h"
#include "vol/convert/kept_filters.h"
#include "vol/core/object_refs.h"
#include "vol/path/new_link.h"

/* The place of the copy of an object */
struct bkt_copy_place {
    hid_t base; /* held: the copy of the call's object, of a reference's target, or of a committed type */
    char *path; /* from base; ".": base itself */
};

static void place_free(void *arg)
{
    struct bkt_copy_place *p = arg;
    bkt_hid_closep(&p->base);
    free(p->path);
    free(p);
}

int bkt_copy_failed(const struct copy *c, const char *what)
{
    char where[320];
    (void)snprintf(where, sizeof where, "copying %.100s%.100s: %.100s", c->name, bkt_buf_str(&c->path) + (c->path.len > 0), what);
    return bkt_h5err_capture(c->err, where);
}

static int no_memory(const struct copy *c) { return BKT_ERR(c->err, BKT_ENOMEM, "out of memory"); }

/* ---- objects copied already ---- */

static struct bkt_copy_place *place_of(struct copy *c, hid_t from, struct bkt_copied *what, int *rc)
{
    memset(what, 0, sizeof *what); /* the map compares it as bytes */
    *rc = bkt_object_identify(from, &what->fileno, &what->token, c->err);
    return *rc < 0 ? NULL : bkt_map_get(c->places, what, sizeof *what);
}

/* @p self: the copy, if no link leads to it yet; H5I_INVALID_HID: it is at the present path. */
static int remember(struct copy *c, const struct bkt_copied *what, hid_t self)
{
    struct bkt_copy_place *p    = calloc(1, sizeof *p);
    hid_t                  base = self < 0 ? c->base : self;
    if (!p || !(p->path = strdup(self < 0 ? bkt_buf_str(&c->path) : ".")) || bkt_map_put(c->places, what, sizeof *what, p, NULL) < 0) {
        if (p)
            free(p->path);
        free(p);
        return no_memory(c);
    }
    p->base = bkt_hid_hold(base);
    return p->base < 0 ? bkt_copy_failed(c, "H5Iinc_ref") : BKT_OK;
}

static int link_again(struct copy *c, const struct bkt_copy_place *p, hid_t dst, const char *name, hid_t lcpl)
{
    herr_t rc = strcmp(p->path, ".") == 0 ? H5Olink(p->base, dst, name, lcpl, H5P_DEFAULT)
                                          : H5Lcreate_hard(p->base, p->path, dst, name, lcpl, H5P_DEFAULT);
    return rc < 0 ? bkt_copy_failed(c, "H5Olink") : BKT_OK;
}

/* ---- committed types ---- */

static int commit(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, hid_t *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(from), tcpl = H5Tget_create_plist(from);
    if (type < 0 || tcpl < 0)
        return bkt_copy_failed(c, "H5Tcopy");
    herr_t rc = name ? H5Tcommit2(dst, name, type, lcpl, tcpl, H5P_DEFAULT) : H5Tcommit_anon(dst, type, tcpl, H5P_DEFAULT);
    if (rc < 0)
        return bkt_copy_failed(c, "H5Tcommit");
    *out = bkt_hid_take(&type);
    return BKT_OK;
}

static void copy_comment(hid_t from, hid_t to)
{
    ssize_t n = H5Oget_comment(from, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *text = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    if (text && H5Oget_comment(from, text, (size_t)n + 1) > 0)
        (void)H5Oset_comment(to, text);
    (void)H5Eclear2(H5E_DEFAULT);
}

static int copy_committed(struct copy *c, hid_t from, const struct bkt_copied *what, hid_t dst, const char *name, hid_t lcpl, hid_t *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5I_INVALID_HID, tcpl = H5I_INVALID_HID;
    BKT_PASS(bkt_copy_merged(c, from, &to));
    bool fresh = to < 0;
    if (fresh)
        BKT_PASS(commit(c, from, dst, name, lcpl, &to));
    else if (name && H5Olink(to, dst, name, lcpl, H5P_DEFAULT) < 0)
        return bkt_copy_failed(c, "H5Olink");
    BKT_PASS(remember(c, what, name ? H5I_INVALID_HID : to)); /* before its attributes: an attribute may
                                                                 have this very type */
    tcpl = H5Tget_create_plist(from);
    if (fresh) {
        copy_comment(from, to);
        BKT_PASS(bkt_copy_attrs(c, from, to, tcpl));
    }
    *out = bkt_hid_take(&to);
    return BKT_OK;
}

int bkt_copy_type(struct copy *c, hid_t type, hid_t *out)
{
    struct bkt_copied what;
    int         rc;
    if (H5Tcommitted(type) <= 0) {
        *out = bkt_hid_hold(type);
        return *out < 0 ? bkt_copy_failed(c, "a datatype") : BKT_OK;
    }
    struct bkt_copy_place *p = place_of(c, type, &what, &rc);
    BKT_PASS(rc);
    if (!p)
        return copy_committed(c, type, &what, c->root, NULL, H5P_DEFAULT, out);
    if (strcmp(p->path, ".") == 0)
        *out = bkt_hid_hold(p->base);
    else
        *out = H5Topen2(p->base, p->path, H5P_DEFAULT);
    return *out < 0 ? bkt_copy_failed(c, "the copy of a committed datatype") : BKT_OK;
}

/* ---- objects ---- */

int bkt_copy_find(struct copy *c, hid_t from, struct bkt_copied *what, hid_t *loc, const char **name)
{
    int                     rc;
    const struct bkt_copy_place *p = place_of(c, from, what, &rc);
    *loc  = p ? p->base : H5I_INVALID_HID;
    *name = p ? p->path : NULL;
    return rc;
}

/* H5Dcreate refuses chunks that are longer than the dataset can get, unless a dimension is 0 at first.
 * Such a dataset is created with a dimension of 0. */
static hid_t space_to_begin_with(hid_t space, hid_t dcpl, bool *grows)
{
    hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int     rank = H5Pget_layout(dcpl) == H5D_CHUNKED ? H5Sget_simple_extent_dims(space, dims, max) : 0;
    *grows       = false;
    if (rank > 0 && H5Pget_chunk(dcpl, rank, chunk) != rank)
        return H5I_INVALID_HID;
    for (int i = 0; i < rank; i++)
        if (dims[i] > 0 && max[i] != H5S_UNLIMITED && chunk[i] > max[i]) {
            dims[i] = 0;
            *grows  = true;
        }
    return *grows ? H5Screate_simple(rank, dims, max) : H5Scopy(space);
}

static herr_t grow(hid_t dset, hid_t space)
{
    hsize_t dims[H5S_MAX_RANK];
    return H5Sget_simple_extent_dims(space, dims, NULL) < 0 ? -1 : H5Dset_extent(dset, dims);
}

/* As in HDF5, the copy of a dataset with external files has the same files.  If these can't be reached
 * from the destination, the copy gets the elements. */
static hid_t create_copy(hid_t from, hid_t dst, const char *name, hid_t type, hid_t space, hid_t lcpl, hid_t dcpl)
{
    const struct bkt_vobj *o    = bkt_copy_ours(dst);
    bool                   here = !o || strncmp(bkt_store_uri(bkt_domain_store(o->file->dom)), "file:", 5) == 0;
    bool                   was  = bkt_external_inside(!here || !bkt_copy_is_outside(from, dcpl));
    bool                   grows;
    BKT_CLEANUP(bkt_hid_closep) hid_t first = space_to_begin_with(space, dcpl, &grows);
    hid_t to = first < 0 ? first : bkt_filters_create(dst, name, type, first, lcpl, dcpl, from);
    (void)bkt_external_inside(was);
    if (to < 0 || !grows || grow(to, space) >= 0)
        return to;
    H5Dclose(to);
    return H5I_INVALID_HID;
}

static int copy_dataset(struct copy *c, hid_t from, const struct bkt_copied *what, hid_t dst, const char *name, hid_t lcpl)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t full = H5Dget_type(from), space = H5Dget_space(from), dcpl = H5Dget_create_plist(from);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID, to = H5I_INVALID_HID;
    if (full < 0 || space < 0 || dcpl < 0)
        return bkt_copy_failed(c, "opening a dataset");
    BKT_PASS(bkt_copy_type(c, full, &type));
    to = create_copy(from, dst, name, type, space, lcpl, dcpl);
    if (to < 0)
        return bkt_copy_failed(c, "H5Dcreate");
    BKT_PASS(remember(c, what, name ? H5I_INVALID_HID : to));
    BKT_PASS(bkt_copy_data(c, from, to, dcpl));
    copy_comment(from, to);
    return bkt_copy_attrs(c, from, to, dcpl);
}

static int copy_datatype(struct copy *c, hid_t from, const struct bkt_copied *what, hid_t dst, const char *name, hid_t lcpl)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5I_INVALID_HID;
    return copy_committed(c, from, what, dst, name, lcpl, &to);
}

struct member_copy {
    struct copy *c;
    hid_t        to;
    unsigned     depth;
    int          rc;
};

static int copy_link_as_is(struct copy *c, hid_t from, const char *name, const H5L_info2_t *info, hid_t to, hid_t lcpl)
{
    BKT_CLEANUP(bkt_freep) char *val = calloc(1, info->u.val_size + 1);
    const char *file = NULL, *path = NULL;
    herr_t      rc   = -1;
    if (!val)
        return no_memory(c);
    if (H5Lget_val(from, name, val, info->u.val_size, H5P_DEFAULT) < 0)
        return bkt_copy_failed(c, "H5Lget_val");
    if (info->type == H5L_TYPE_SOFT)
        rc = H5Lcreate_soft(val, to, name, lcpl, H5P_DEFAULT);
    else if (info->type != H5L_TYPE_EXTERNAL)
        rc = H5Lcreate_ud(to, name, info->type, val, info->u.val_size, lcpl, H5P_DEFAULT);
    else if (H5Lunpack_elink_val(val, info->u.val_size, NULL, &file, &path) >= 0)
        rc = H5Lcreate_external(file, path, to, name, lcpl, H5P_DEFAULT);
    return rc < 0 ? bkt_copy_failed(c, "making a link") : BKT_OK;
}

static int copy_link(struct member_copy *m, hid_t from, const char *name, const H5L_info2_t *info)
{
    struct copy *c      = m->c;
    unsigned     expand = info->type == H5L_TYPE_SOFT       ? H5O_COPY_EXPAND_SOFT_LINK_FLAG
                          : info->type == H5L_TYPE_EXTERNAL ? H5O_COPY_EXPAND_EXT_LINK_FLAG
                                                            : 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), obj = H5I_INVALID_HID;
    if (lcpl < 0 || H5Pset_char_encoding(lcpl, info->cset) < 0)
        return bkt_copy_failed(c, "a link creation list");
    htri_t leads = info->type != H5L_TYPE_HARD && c->flags & expand ? H5Oexists_by_name(from, name, H5P_DEFAULT) : 0;
    if (leads < 0)
        return bkt_copy_failed(c, "H5Oexists_by_name");
    if (info->type != H5L_TYPE_HARD && leads == 0)
        return copy_link_as_is(c, from, name, info, m->to, lcpl);
    obj = H5Oopen(from, name, H5P_DEFAULT);
    return obj < 0 ? bkt_copy_failed(c, "H5Oopen") : bkt_copy_object(c, obj, m->to, name, lcpl, m->depth + 1);
}

static herr_t copy_member(hid_t from, const char *name, const H5L_info2_t *info, void *arg)
{
    struct member_copy *m    = arg;
    size_t              keep = m->c->path.len;
    m->rc = bkt_buf_addf(&m->c->path, "/%s", name) < 0 ? no_memory(m->c) : BKT_OK;
    if (m->rc == BKT_OK && info->corder_valid)
        m->rc = bkt_copy_number(m->c, m->to, true, info->corder);
    m->rc = m->rc < 0 ? m->rc : copy_link(m, from, name, info);
    bkt_buf_cut(&m->c->path, keep);
    return m->rc < 0 ? -1 : 0;
}

static int copy_members(struct copy *c, hid_t from, hid_t to, hid_t gcpl, unsigned depth)
{
    struct member_copy m     = {c, to, depth, BKT_OK};
    unsigned           order = 0;
    H5G_info_t         info  = {.max_corder = 0};
    (void)H5Pget_link_creation_order(gcpl, &order);
    bool       numbered = order & H5P_CRT_ORDER_TRACKED;
    H5_index_t idx      = numbered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Literate2(from, idx, H5_ITER_INC, NULL, copy_member, &m) < 0 && m.rc == BKT_OK)
        return bkt_copy_failed(c, "H5Literate");
    if (m.rc == BKT_OK && numbered && H5Gget_info(from, &info) < 0)
        return bkt_copy_failed(c, "H5Gget_info");
    return m.rc == BKT_OK && numbered ? bkt_copy_number(c, to, true, info.max_corder) : m.rc;
}

/* ---- groups within groups ---- */

#define NESTED 32 /* groups within groups: each level takes stack, here and in HDF5, which calls us back */

struct bkt_copy_later {
    struct bkt_copy_later *next;
    hid_t                  from, to, gcpl;
    unsigned               depth;
    bool                   members; /* false: only the attributes are left to copy */
    char                  *path;
};

static void later_free(struct bkt_copy_later *l)
{
    bkt_hid_closep(&l->from);
    bkt_hid_closep(&l->to);
    bkt_hid_closep(&l->gcpl);
    free(l->path);
    free(l);
}

static int put_off(struct copy *c, hid_t from, hid_t to, hid_t gcpl, unsigned depth, bool members)
{
    struct bkt_copy_later *l = malloc(sizeof *l);
    if (!l)
        return no_memory(c);
    *l       = (struct bkt_copy_later){NULL, bkt_hid_hold(from), bkt_hid_hold(to), bkt_hid_hold(gcpl), depth, members,
                                     strdup(bkt_buf_str(&c->path))};
    *c->last = l;
    c->last  = &l->next;
    if (!l->path)
        return no_memory(c);
    return l->from < 0 || l->to < 0 || l->gcpl < 0 ? bkt_copy_failed(c, "holding a group") : BKT_OK;
}

/* Attributes come last, as in HDF5: so if their references lead to members, the members aren't copied a
 * second time. */
static int fill_now(struct copy *c, hid_t from, hid_t to, hid_t gcpl, unsigned depth, bool members)
{
    struct bkt_copy_later **last = c->last;
    c->nested++;
    int rc = members ? copy_members(c, from, to, gcpl, depth) : BKT_OK;
    c->nested--;
    BKT_PASS(rc);
    return c->last != last ? put_off(c, from, to, gcpl, depth, false) : bkt_copy_attrs(c, from, to, gcpl);
}

static int fill_group(struct copy *c, hid_t from, hid_t to, hid_t gcpl, unsigned depth)
{
    bool members = depth == 0 || !(c->flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG);
    copy_comment(from, to);
    return c->nested >= NESTED ? put_off(c, from, to, gcpl, depth, members) : fill_now(c, from, to, gcpl, depth, members);
}

/* Fill the postponed groups; groups that one postpones itself follow it at once.  After a failure the list
 * is only freed. */
static int fill_rest(struct copy *c, int rc)
{
    unsigned depth = c->depth;
    while (c->first) {
        struct bkt_copy_later *l = c->first, **last = c->last;
        c->first                 = NULL;
        c->last                  = &c->first;
        c->depth                 = l->depth;
        bkt_buf_cut(&c->path, 0);
        if (rc == BKT_OK)
            rc = bkt_buf_add_str(&c->path, l->path) < 0 ? no_memory(c) : fill_now(c, l->from, l->to, l->gcpl, l->depth, l->members);
        if (l->next) {
            *c->last = l->next;
            c->last  = last;
        }
        later_free(l);
    }
    c->depth = depth;
    return rc;
}

static int copy_group(struct copy *c, hid_t from, const struct bkt_copied *what, hid_t dst, const char *name, hid_t lcpl, unsigned depth)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t gcpl = H5Gget_create_plist(from), to = H5I_INVALID_HID;
    if (gcpl >= 0)
        to = name ? H5Gcreate2(dst, name, lcpl, gcpl, H5P_DEFAULT) : H5Gcreate_anon(dst, gcpl, H5P_DEFAULT);
    if (to < 0)
        return bkt_copy_failed(c, "H5Gcreate");
    BKT_PASS(remember(c, what, name ? H5I_INVALID_HID : to));
    if (name)
        return fill_group(c, from, to, gcpl, depth);
    struct copy above = *c;
    c->base           = to;
    c->path           = (struct bkt_buf){0};
    c->first          = NULL;
    c->last           = &c->first;
    int rc            = bkt_buf_add_str(&c->path, ".") < 0 ? no_memory(c) : fill_group(c, from, to, gcpl, depth);
    rc                = fill_rest(c, rc);
    bkt_buf_fini(&c->path);
    c->base  = above.base;
    c->path  = above.path;
    c->first = above.first;
    c->last  = above.last;
    return rc;
}

static int copy_new(struct copy *c, hid_t from, const struct bkt_copied *what, hid_t dst, const char *name, hid_t lcpl, unsigned depth)
{
    switch (H5Iget_type(from)) {
        case H5I_GROUP:
        case H5I_FILE:
            return copy_group(c, from, what, dst, name, lcpl, depth);
        case H5I_DATASET:
            return copy_dataset(c, from, what, dst, name, lcpl);
        case H5I_DATATYPE:
            return copy_datatype(c, from, what, dst, name, lcpl);
        default:
            return BKT_ERR(c->err, BKT_EUNSUP, "copying %s%s: an object of unknown kind", c->name,
                           bkt_buf_str(&c->path) + (c->path.len > 0));
    }
}

int bkt_copy_object(struct copy *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, unsigned depth)
{
    struct bkt_copied what;
    int               rc;
    struct bkt_copy_place *p = place_of(c, from, &what, &rc);
    BKT_PASS(rc);
    if (p)
        return link_again(c, p, dst, name, lcpl);
    unsigned above = c->depth;
    c->depth       = depth;
    rc             = copy_new(c, from, &what, dst, name, lcpl, depth);
    c->depth       = above;
    return rc;
}

/* ---- the call ---- */

/* An id for an object of either kind; the caller's. */
static int id_of(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    if (o->native_id >= 0) {
        *out = bkt_hid_hold(o->native_id);
        return *out < 0 ? bkt_h5err_capture(err, "H5Iinc_ref") : BKT_OK;
    }
    H5I_type_t       type = o->type == H5I_FILE ? H5I_GROUP : o->type;
    struct bkt_vobj *mine = bkt_vobj_new(o->file, type, bkt_object_retain(o->obj), o->path);
    if (!mine)
        BKT_NOMEM(err);
    *out = bkt_vobj_register(mine, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

/* HDF5 checks the name first.  Missing groups on the way are made afterwards: they are not part of the
 * copy, even if they lie above it, and no link leads there yet. */
static int may_have_name(struct bkt_vobj *dst, const char *name, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_spot s;
    struct bkt_err  why  = {.n = 0};
    unsigned        make = 0;
    if (lcpl != H5P_DEFAULT && H5Pget_create_intermediate_group(lcpl, &make) < 0)
        return bkt_h5err_capture(err, "reading the link creation list");
    int rc = bkt_spot_find(dst, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, "copying an object", &s, &why);
    if (rc == BKT_OK && s.group->native_id >= 0 && H5Lexists(s.group->native_id, s.name, H5P_DEFAULT) > 0)
        rc = BKT_ERR(&why, BKT_EEXIST, "%s exists", name);
    bkt_spot_fini(&s);
    if (make && (rc == BKT_ENOENT || rc == BKT_EHDF5))
        return BKT_OK;
    return rc < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
}

/* No link leads to the copy until it is complete.  So the copy is not part of what is copied, and vanishes
 * on failure. */
int bkt_copy_as(struct copy *c, hid_t from, const char *name)
{
    struct bkt_copied            what;
    const struct bkt_copy_place *p     = NULL;
    const char                  *above = c->name;
    c->name                            = name;
    int rc                        = bkt_copy_object(c, from, c->root, NULL, H5P_DEFAULT, c->depth);
    if (rc == BKT_OK)
        p = place_of(c, from, &what, &rc);
    if (p)
        rc = link_again(c, p, c->root, name, c->lcpl);
    c->name = above;
    return rc;
}

int bkt_copy(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl, hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t from = H5I_INVALID_HID, to = H5I_INVALID_HID;
    bool        same = src->file && dst->file && src->file->dom == dst->file->dom;
    struct copy c    = {.err = err, .ocpypl = ocpypl, .lcpl = lcpl, .name = name, .same_file = same};
    if (!name || !*name)
        BKT_FAIL(err, BKT_EINVAL, "no name for the copy");
    if (ocpypl != H5P_DEFAULT && H5Pget_copy_object(ocpypl, &c.flags) < 0)
        return bkt_h5err_capture(err, "H5Pget_copy_object");
    BKT_PASS(may_have_name(dst, name, lcpl, err));
    BKT_PASS(id_of(src, &from, err));
    BKT_PASS(id_of(dst, &to, err));
    c.root   = to;
    c.places = bkt_map_new();
    int rc   = c.places ? bkt_copy_as(&c, from, name) : no_memory(&c);
    bkt_map_free(c.places, place_free);
    return rc;
}
