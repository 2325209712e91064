#include "tools/tree/tree_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/model/model.h"

struct named { /* a link as it was listed */
    char      *name;
    H5L_info2_t info;
};
struct listing {
    struct named *v;
    size_t        n, cap;
};

void tree_tell(const struct tree *t, const char *path, const char *fmt, ...)
{
    char    text[512];
    va_list ap;
    if (!t->o->hooks.tell)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    t->o->hooks.tell(t->o->hooks.arg, path, text);
}

bool tree_leaves_out(const struct tree *t, const char *path, const char *attr, int rc, struct bkt_err *err)
{
    if (rc != BKT_EFORMAT || !t->o->hooks.left_out)
        return false;
    t->o->hooks.left_out(t->o->hooks.arg, path, attr, err);
    bkt_err_clear(err);
    return true;
}

/* ---- places ---- */

static void place_free(void *v)
{
    struct tree_place *p = v;
    h5_closep(&p->held);
    free(p->path);
    free(p);
}

struct tree_place *tree_place_of(const struct tree *t, hid_t obj)
{
    H5O_info2_t info;
    if (H5Oget_info3(obj, &info, H5O_INFO_BASIC) < 0)
        return NULL;
    return bkt_map_get(t->places, &info.token, sizeof info.token);
}

/* @p held: taken over when no path is given. */
static int remember(struct tree *t, hid_t src, const char *path, hid_t held, struct bkt_err *err)
{
    H5O_info2_t        info;
    struct tree_place *p = calloc(1, sizeof *p);
    if (!p || (path && !(p->path = strdup(path)))) {
        free(p);
        BKT_NOMEM(err);
    }
    p->held = path ? H5I_INVALID_HID : held;
    int rc  = H5Oget_info3(src, &info, H5O_INFO_BASIC) < 0 ? h5_unreadable(err, "asking for an object's token")
                                                          : bkt_map_put(t->places, &info.token, sizeof info.token, p, NULL);
    if (rc < 0)
        place_free(p);
    return rc;
}

int tree_postpone(struct tree *t, const char *path, const char *attr, struct bkt_err *err)
{
    struct tree_pending *v = reallocarray(t->pending, t->n_pending + 1, sizeof *v);
    if (!v)
        BKT_NOMEM(err);
    t->pending         = v;
    v[t->n_pending]    = (struct tree_pending){strdup(path), attr ? strdup(attr) : NULL};
    if (!v[t->n_pending].path || (attr && !v[t->n_pending].attr))
        BKT_NOMEM(err);
    t->n_pending++;
    return BKT_OK;
}

/* ---- committed types ---- */

static int copy_type(struct tree *t, hid_t src, hid_t group, const char *name, const char *path, hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t tcpl = H5Tget_create_plist(src);
    hid_t                        copy = H5Tcopy(src);
    herr_t                       rc   = -1;
    if (copy < 0 || tcpl < 0) {
        h5_closep(&copy);
        return h5_unreadable(err, "reading a committed datatype");
    }
    rc = name ? H5Tcommit2(group, name, copy, lcpl, tcpl, H5P_DEFAULT) : H5Tcommit_anon(group, copy, tcpl, H5P_DEFAULT);
    if (rc < 0) {
        rc = h5_fail(err, "committing a datatype");
        h5_closep(&copy);
        return rc;
    }
    int code = remember(t, src, path, copy, err); /* before its attributes, since one may be of this very
                                                     type */
    if (code < 0) {
        h5_closep(&copy);
        return code;
    }
    code = tree_attributes(t, src, copy, path, err);
    if (path)
        h5_closep(&copy); /* else it is held until a link is made */
    return code;
}

int tree_type(struct tree *t, hid_t src_type, hid_t *out, struct bkt_err *err)
{
    *out = H5I_INVALID_HID;
    if (H5Tcommitted(src_type) <= 0) {
        *out = H5Tcopy(src_type);
        return *out < 0 ? h5_fail(err, "copying a datatype") : BKT_OK;
    }
    struct tree_place *p = tree_place_of(t, src_type);
    if (!p) { /* its link comes later, or never: committed without a link */
        BKT_PASS(copy_type(t, src_type, t->dst, NULL, NULL, H5P_DEFAULT, err));
        p = tree_place_of(t, src_type);
    }
    if (p && p->path)
        *out = H5Topen2(t->dst, p->path, H5P_DEFAULT);
    else if (p && p->held >= 0 && H5Iinc_ref(p->held) > 0)
        *out = p->held;
    return *out < 0 ? h5_fail(err, "finding the copy of a committed datatype") : BKT_OK;
}

/* ---- links ---- */

static herr_t list_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct listing *l = arg;
    (void)group;
    if (l->n == l->cap) {
        size_t        cap = l->cap ? l->cap * 2 : 16;
        struct named *v   = reallocarray(l->v, cap, sizeof *v);
        if (!v)
            return -1;
        l->v = v, l->cap = cap;
    }
    l->v[l->n].info = *info;
    l->v[l->n].name = strdup(name);
    return l->v[l->n].name ? (l->n++, 0) : -1;
}

static void listing_fini(struct listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
}

static hid_t no_traversal(const char *name, hid_t group, const void *value, size_t n, hid_t lapl, hid_t dxpl)
{
    (void)name, (void)group, (void)value, (void)n, (void)lapl, (void)dxpl;
    return H5I_INVALID_HID;
}

/* HDF5 makes links of a class only while the class is registered. */
static int user_link(hid_t group, const struct named *l, const void *value, hid_t lcpl, struct bkt_err *err)
{
    H5L_class_t cls = {.version = H5L_LINK_CLASS_T_VERS, .id = l->info.type, .comment = "h5bucket",
                       .trav_func = no_traversal};
    bool registered = H5Lis_registered(l->info.type) > 0;
    if (!registered && H5Lregister(&cls) < 0)
        return h5_fail(err, "registering a link class");
    herr_t rc = H5Lcreate_ud(group, l->name, l->info.type, value, l->info.u.val_size, lcpl, H5P_DEFAULT);
    int    code = rc < 0 ? h5_fail(err, "making a user-defined link") : BKT_OK;
    if (!registered)
        (void)H5Lunregister(l->info.type);
    return code;
}

static int value_link(hid_t src, hid_t dst, const struct named *l, hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, l->info.u.val_size + 1);
    const char                  *file, *object;
    if (!value)
        BKT_NOMEM(err);
    if (H5Lget_val(src, l->name, value, l->info.u.val_size, H5P_DEFAULT) < 0)
        return h5_unreadable(err, "reading a link");
    herr_t rc;
    if (l->info.type == H5L_TYPE_SOFT) {
        rc = H5Lcreate_soft(value, dst, l->name, lcpl, H5P_DEFAULT);
    } else if (l->info.type == H5L_TYPE_EXTERNAL) {
        rc = H5Lunpack_elink_val(value, l->info.u.val_size, NULL, &file, &object);
        rc = rc < 0 ? rc : H5Lcreate_external(file, object, dst, l->name, lcpl, H5P_DEFAULT);
    } else {
        return user_link(dst, l, value, lcpl, err);
    }
    return rc < 0 ? h5_fail(err, "making a link") : BKT_OK;
}

/* ---- groups ---- */

static int copy_group(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err);

static int new_group(struct tree *t, hid_t src, hid_t at, const char *name, const char *path, hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t gcpl = H5Gget_create_plist(src);
    if (gcpl < 0)
        return h5_unreadable(err, "opening a group");
    BKT_CLEANUP(h5_closep) hid_t dst = H5Gcreate2(at, name, lcpl, gcpl, H5P_DEFAULT);
    if (dst < 0)
        return h5_fail(err, "making a group");
    BKT_PASS(remember(t, src, path, H5I_INVALID_HID, err)); /* before its members: they may link back */
    return copy_group(t, src, dst, path, err);
}

static int new_object(struct tree *t, hid_t obj, hid_t dst, const char *name, const char *path, hid_t lcpl, struct bkt_err *err)
{
    H5I_type_t type = H5Iget_type(obj);
    int        rc;
    if (type == H5I_GROUP) {
        rc = new_group(t, obj, dst, name, path, lcpl, err);
    } else if (type == H5I_DATATYPE) {
        rc = copy_type(t, obj, dst, name, path, lcpl, err);
    } else if (type == H5I_DATASET) {
        BKT_CLEANUP(h5_closep) hid_t made = H5I_INVALID_HID;
        rc = tree_dataset(t, obj, dst, name, path, lcpl, &made, err);
        if (rc == BKT_OK)
            rc = remember(t, obj, path, H5I_INVALID_HID, err);
        if (rc == BKT_OK)
            rc = tree_attributes(t, obj, made, path, err);
    } else {
        BKT_FAIL(err, BKT_EUNSUP, "%s: an object of an unknown kind", path);
    }
    if (rc == BKT_OK && t->o->hooks.done)
        t->o->hooks.done(t->o->hooks.arg, path, type);
    return rc;
}

static int hard_link(struct tree *t, hid_t src, hid_t dst, const char *name, const char *path, hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t obj = H5Oopen(src, name, H5P_DEFAULT);
    if (obj < 0)
        return h5_unreadable(err, "opening an object");
    struct tree_place *p = tree_place_of(t, obj);
    if (!p)
        return new_object(t, obj, dst, name, path, lcpl, err);
    if (p->path)
        return H5Lcreate_hard(t->dst, p->path, dst, name, lcpl, H5P_DEFAULT) < 0 ? h5_fail(err, "making a hard link") : BKT_OK;
    if (H5Olink(p->held, dst, name, lcpl, H5P_DEFAULT) < 0)
        return h5_fail(err, "linking a committed datatype");
    h5_closep(&p->held);
    p->path = strdup(path);
    return p->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* If the name is taken, a group is filled up, and any other object stays unchanged. */
static int merge(struct tree *t, hid_t src, hid_t dst, const struct named *l, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t a = l->info.type == H5L_TYPE_HARD ? H5Oopen(src, l->name, H5P_DEFAULT) : H5I_INVALID_HID;
    BKT_CLEANUP(h5_closep) hid_t b = a >= 0 ? H5Oopen(dst, l->name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (b < 0 || H5Iget_type(a) != H5I_GROUP || H5Iget_type(b) != H5I_GROUP) {
        tree_tell(t, path, "is in the domain already and stays as it is");
        return b >= 0 && !tree_place_of(t, a) ? remember(t, a, path, H5I_INVALID_HID, err) : BKT_OK;
    }
    if (tree_place_of(t, a))
        return BKT_OK;
    BKT_PASS(remember(t, a, path, H5I_INVALID_HID, err));
    return copy_group(t, a, b, path, err);
}

/* Handles an object of which a part could not be read or stored.  If it is left out, it is deleted, so that
 * no half stays. */
static int without(struct tree *t, hid_t dst, const char *name, const char *path, int rc, struct bkt_err *err)
{
    if (!tree_leaves_out(t, path, NULL, rc, err))
        BKT_FAIL(err, rc, "%s", path);
    if (H5Lexists(dst, name, H5P_DEFAULT) > 0 && H5Ldelete(dst, name, H5P_DEFAULT) < 0)
        return h5_fail(err, path);
    return BKT_OK;
}

static int one_link(struct tree *t, hid_t src, hid_t dst, const struct named *l, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_CLEANUP(h5_closep) hid_t             lcpl = H5Pcreate(H5P_LINK_CREATE);
    if (bkt_link_path(path, l->name, &full) < 0)
        BKT_NOMEM(err);
    if (lcpl < 0 || H5Pset_char_encoding(lcpl, l->info.cset) < 0)
        return h5_fail(err, "making a link creation list");
    if (t->o->merge && H5Lexists(dst, l->name, H5P_DEFAULT) > 0)
        return merge(t, src, dst, l, bkt_buf_str(&full), err);
    int rc = l->info.type == H5L_TYPE_HARD ? hard_link(t, src, dst, l->name, bkt_buf_str(&full), lcpl, err)
                                           : value_link(src, dst, l, lcpl, err);
    return rc < 0 ? without(t, dst, l->name, bkt_buf_str(&full), rc, err) : BKT_OK;
}

#define MAX_DEPTH 4000 /* depth of groups; each takes 0.8 KiB of stack */

static int copy_members(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(listing_fini) struct listing l     = {0};
    H5G_info_t                               info;
    BKT_CLEANUP(h5_closep) hid_t             gcpl  = H5I_INVALID_HID;
    unsigned                                 order = 0;
    BKT_CLEANUP(h5_closep) hid_t             from  = H5Gopen2(src, H5Iget_type(src) == H5I_FILE ? "/" : ".", H5P_DEFAULT);
    hsize_t                                  at    = 0;
    if (from < 0 || H5Gget_info(from, &info) < 0 || (gcpl = H5Gget_create_plist(from)) < 0 ||
        H5Pget_link_creation_order(gcpl, &order) < 0)
        return h5_unreadable(err, "opening a group");
    BKT_PASS(tree_attributes(t, from, dst, path, err));
    if (H5Literate2(from, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, &at, list_link, &l) < 0)
        return h5_unreadable(err, "listing a group"); /* listed members have no copies yet: the group stays
                                                         empty */
    for (size_t i = 0; i < l.n; i++)
        BKT_PASS(one_link(t, from, dst, &l.v[i], path, err));
    return BKT_OK;
}

static int copy_group(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    if (t->depth >= MAX_DEPTH)
        BKT_FAIL(err, BKT_EUNSUP, "groups are nested deeper than %d", MAX_DEPTH);
    t->depth++;
    int rc = copy_members(t, src, dst, path, err);
    t->depth--;
    return rc < 0 && tree_leaves_out(t, path, NULL, rc, err) ? BKT_OK : rc;
}

static void tree_fini(struct tree *t)
{
    bkt_map_free(t->places, place_free);
    for (size_t i = 0; i < t->n_pending; i++) {
        free(t->pending[i].path);
        free(t->pending[i].attr);
    }
    free(t->pending);
    tree_outside_fini(t);
}

static int write_pending(struct tree *t, const struct tree_pending *p, struct bkt_err *err)
{
    if (t->o->hooks.left_out && H5Lexists(t->dst, p->path, H5P_DEFAULT) <= 0 && strcmp(p->path, "/") != 0)
        return BKT_OK; /* it was left out meanwhile */
    int rc = tree_write_pending(t, p, err);
    if (rc == BKT_OK || (p->attr && tree_leaves_out(t, p->path, p->attr, rc, err)))
        return BKT_OK;
    if (p->attr)
        BKT_FAIL(err, rc, "%s", p->path);
    return without(t, t->dst, p->path, p->path, rc, err);
}

int tree_copy(hid_t src, hid_t dst, const struct tree_options *o, struct bkt_err *err)
{
    BKT_CLEANUP(tree_fini) struct tree t    = {.src = src, .dst = dst, .o = o, .places = bkt_map_new()};
    BKT_CLEANUP(h5_closep) hid_t       root = H5Oopen(src, H5Iget_type(src) == H5I_FILE ? "/" : ".", H5P_DEFAULT);
    if (!t.places)
        BKT_NOMEM(err);
    if (root < 0)
        return h5_fail(err, "opening the root group");
    BKT_PASS(remember(&t, root, "/", H5I_INVALID_HID, err));
    BKT_PASS(copy_group(&t, root, dst, "/", err));
    for (size_t i = 0; i < t.n_pending; i++)
        BKT_PASS(write_pending(&t, &t.pending[i], err));
    return BKT_OK;
}
