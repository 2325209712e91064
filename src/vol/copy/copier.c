/* The copier: links, groups and the objects in them.  Groups within groups are filled from a list, so
 * nesting takes no stack. */
#include "vol/copy/copier_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "schema/edit/edit.h"
#include "vol/core/object_refs.h"

struct bkt_copy_group {
    struct bkt_copy_group *above;
    hid_t from, to, gcpl;
    unsigned depth;
    bool made; /* by this copy: false for the root, and for a group that is filled up */
    bool has_attrs;
    bool numbered;     /* its links have numbers, and are listed */
    size_t path_above; /* length of the path of the group above */
    struct bkt_copy_names links;
    size_t next;
};

/* ---- messages ---- */

int bkt_copy_failed(const struct bkt_copier *c, const char *what)
{
    char where[320];
    if (c->o->hooks.fail)
        return c->o->hooks.fail(c->err, what);
    (void)snprintf(where, sizeof where, "copying %.100s%.100s: %.100s", c->name,
                   bkt_buf_str(&c->path) + (c->path.len > 0), what);
    return bkt_h5err_capture(c->err, where);
}

int bkt_copy_source_rc(const struct bkt_copier *c, int rc)
{
    return rc == BKT_EHDF5 && c->o->hooks.fail ? BKT_EFORMAT : rc;
}

int bkt_copy_unreadable(const struct bkt_copier *c, const char *what)
{
    return bkt_copy_source_rc(c, bkt_copy_failed(c, what));
}

int bkt_copy_check(const struct bkt_copier *c, struct bkt_err *err)
{
    return c->o->hooks.check ? c->o->hooks.check(err) : BKT_OK;
}

void bkt_copy_report(const struct bkt_copier *c, const char *path, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!c->o->hooks.report)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->o->hooks.report(c->o->hooks.arg, path, text);
}

bool bkt_copy_leaves_out(const struct bkt_copier *c, const char *path, const char *attr, int rc)
{
    if (rc != BKT_EFORMAT || !c->o->hooks.left_out)
        return false;
    c->o->hooks.left_out(c->o->hooks.arg, path, attr, c->err);
    bkt_err_clear(c->err);
    return true;
}

/* ---- names ---- */

int bkt_copy_names_add(struct bkt_copy_names *l, const char *name, const H5L_info2_t *info)
{
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return -1;
    l->v[l->n] = (struct bkt_copy_name){strdup(name), *info};
    return l->v[l->n].name ? (l->n++, 0) : -1;
}

void bkt_copy_names_fini(struct bkt_copy_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
}

int bkt_copy_number(const struct bkt_copier *c, hid_t to, bool links, int64_t number)
{
    const struct bkt_vobj *o = c->o->merge ? NULL : bkt_vobj_of_id(to);
    return o ? bkt_edit_number(o->file->dom, &o->obj->id, links, number, c->err) : BKT_OK;
}

/* ---- groups ---- */

static herr_t list_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)group;
    return bkt_copy_names_add(arg, name, info);
}

static void group_free(struct bkt_copy_group *g)
{
    bkt_copy_names_fini(&g->links);
    bkt_hid_closep(&g->from);
    bkt_hid_closep(&g->to);
    bkt_hid_closep(&g->gcpl);
    free(g);
}

static void group_freep(struct bkt_copy_group **g)
{
    if (*g)
        group_free(*g);
}

/* The members to copy; if they can't be listed, the group stays empty. */
static int list_members(struct bkt_copier *c, struct bkt_copy_group *g)
{
    unsigned order = 0;
    if (g->depth > 0 && c->o->flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG)
        return BKT_OK;
    if (H5Pget_link_creation_order(g->gcpl, &order) < 0 ||
        H5Literate2(g->from, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC,
                    NULL, list_link, &g->links) < 0)
        return bkt_copy_unreadable(c, "listing a group");
    g->numbered = order & H5P_CRT_ORDER_TRACKED;
    return BKT_OK;
}

/* As in HDF5, attributes come last if their references lead to more objects: members aren't copied a second
 * time then. */
static int begin_group(struct bkt_copier *c, struct bkt_copy_group *g)
{
    if (!(c->o->flags & H5O_COPY_EXPAND_REFERENCE_FLAG)) {
        g->has_attrs = true;
        BKT_PASS(bkt_copy_attributes(c, g->from, g->to, g->gcpl, true));
    }
    int rc = list_members(c, g);
    if (rc == BKT_OK || !bkt_copy_leaves_out(c, bkt_buf_str(&c->path), NULL, rc))
        return rc;
    bkt_copy_names_fini(&g->links);
    g->links = (struct bkt_copy_names){0};
    return BKT_OK;
}

/* The creation list of a group.  HDF5's list of a group in a file has the places of its links there, which
 * would be those of the copy, too; HDF5's encoding of the list is without them. */
static hid_t list_of(hid_t group)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t gcpl = H5Gget_create_plist(group);
    BKT_CLEANUP(bkt_freep) char *code = NULL;
    size_t n = 0;
    if (gcpl < 0 || H5Pencode2(gcpl, NULL, &n, H5P_DEFAULT) < 0 || !(code = malloc(n)) ||
        H5Pencode2(gcpl, code, &n, H5P_DEFAULT) < 0)
        return H5I_INVALID_HID;
    return H5Pdecode(code);
}

/* Open a group that is to be filled.  @p out: group_freep(), also after a failure. */
static int open_group(const struct bkt_copier *c, hid_t from, size_t path_above, struct bkt_copy_group **out)
{
    struct bkt_copy_group *g = *out = calloc(1, sizeof *g);
    if (!g)
        BKT_NOMEM(c->err);
    *g = (struct bkt_copy_group){
        .above = c->top, .to = H5I_INVALID_HID, .depth = c->depth, .path_above = path_above};
    g->from = H5Iget_type(from) == H5I_FILE ? H5Gopen2(from, "/", H5P_DEFAULT) : bkt_hid_hold(from);
    g->gcpl = g->from < 0 ? H5I_INVALID_HID : list_of(g->from);
    return g->gcpl < 0 ? bkt_copy_unreadable(c, "opening a group") : BKT_OK;
}

/* Put an existing group on the list of those that are being filled. */
static int push_group(struct bkt_copier *c, hid_t from, hid_t to, size_t path_above)
{
    BKT_CLEANUP(group_freep) struct bkt_copy_group *g = NULL;
    BKT_PASS(open_group(c, from, path_above, &g));
    if ((g->to = bkt_hid_hold(to)) < 0)
        return bkt_copy_failed(c, "holding a group");
    BKT_PASS(begin_group(c, g));
    c->top = BKT_TAKE(g);
    return BKT_OK;
}

static int end_group(struct bkt_copier *c, const struct bkt_copy_group *g)
{
    H5G_info_t info;
    if (g->numbered && H5Gget_info(g->from, &info) < 0)
        return bkt_copy_failed(c, "asking for a group's links");
    if (g->numbered)
        BKT_PASS(bkt_copy_number(c, g->to, true, info.max_corder));
    c->depth = g->depth;
    if (!g->has_attrs)
        BKT_PASS(bkt_copy_attributes(c, g->from, g->to, g->gcpl, true));
    if (g->made && c->o->hooks.done)
        c->o->hooks.done(c->o->hooks.arg, bkt_buf_str(&c->path), H5I_GROUP);
    return BKT_OK;
}

static int fill(struct bkt_copier *c, const struct bkt_copy_group *until);

/* A group without a name holds everything that is copied into it. */
static int fill_nameless(struct bkt_copier *c, struct bkt_copy_group **g)
{
    const hid_t base = c->base;
    struct bkt_buf path = c->path;
    struct bkt_copy_group *top = c->top;
    c->base = (*g)->to;
    c->path = (struct bkt_buf){0};
    int rc = bkt_buf_add_str(&c->path, ".") < 0 ? BKT_ERR(c->err, BKT_ENOMEM, "out of memory")
                                                  : begin_group(c, *g);
    if (rc == BKT_OK) {
        c->top = *g;
        *g = NULL;
        rc = fill(c, top);
    }
    bkt_buf_fini(&c->path);
    c->base = base;
    c->path = path;
    return rc;
}

static int copy_group(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl,
                      size_t path_above)
{
    BKT_CLEANUP(group_freep) struct bkt_copy_group *g = NULL;
    BKT_PASS(open_group(c, from, path_above, &g));
    g->made = true;
    g->to =
        name ? H5Gcreate2(dst, name, lcpl, g->gcpl, H5P_DEFAULT) : H5Gcreate_anon(dst, g->gcpl, H5P_DEFAULT);
    if (g->to < 0)
        return bkt_copy_failed(c, "making a group");
    /* before its members: they may link back */
    BKT_PASS(bkt_copy_remember(c, from, name ? H5I_INVALID_HID : g->to));
    if (!name)
        return fill_nameless(c, &g);
    BKT_PASS(begin_group(c, g));
    c->top = BKT_TAKE(g);
    return BKT_OK;
}

/* ---- objects ---- */

static int copy_dataset(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5I_INVALID_HID, dcpl = H5I_INVALID_HID;
    BKT_PASS(bkt_copy_dataset(c, from, dst, name, lcpl, &to));
    BKT_PASS(bkt_copy_remember(c, from, name ? H5I_INVALID_HID : to));
    int rc = bkt_copy_elements(c, from, to);
    if (rc < 0) {
        bkt_copy_forget(c, from);
        return rc;
    }
    dcpl = H5Dget_create_plist(from);
    return dcpl < 0 ? bkt_copy_unreadable(c, "opening a dataset")
                    : bkt_copy_attributes(c, from, to, dcpl, name != NULL);
}

/* Copy an object that wasn't copied yet.  A group with a name is filled later, by fill(). */
static int copy_new(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl,
                    size_t path_above)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    H5I_type_t kind = H5Iget_type(from);
    int rc;
    if (kind == H5I_GROUP || kind == H5I_FILE)
        return copy_group(c, from, dst, name, lcpl, path_above);
    if (kind == H5I_DATASET)
        rc = copy_dataset(c, from, dst, name, lcpl);
    else if (kind == H5I_DATATYPE)
        rc = bkt_copy_committed(c, from, dst, name, lcpl, &type);
    else
        BKT_FAIL(c->err, BKT_EUNSUP, "%s: an object of an unknown kind", bkt_buf_str(&c->path));
    if (rc == BKT_OK && c->o->hooks.done)
        c->o->hooks.done(c->o->hooks.arg, bkt_buf_str(&c->path), kind);
    return rc;
}

/* The name that HDF5 gives to a copy made for a reference.  HDF5 puts the copy's address into the name, so
 * each copy has another name.  Here the first copy has the source's token as a number.  Further copies have
 * the time, which other writers rarely share.  Processes that act together count on from the token, since
 * they must agree. */
static int numbered_name(const struct bkt_copier *c, hid_t from, char *name, size_t size)
{
    H5O_info2_t info;
    struct timespec now;
    uint64_t n = 0, next;
    htri_t taken;
    BKT_PASS(bkt_vobj_identify(from, &info.fileno, &info.token, c->err));
    for (size_t i = 8; i > 0; i--)
        n = n << 8 | info.token.__data[i - 1];
    const struct bkt_vobj *to = H5VLobject(c->root);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    next =
        to && to->file && to->file->comm ? n + 1 : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    do {
        (void)snprintf(name, size, "/~obj_pointed_by_%llu", (unsigned long long)n);
        taken = H5Lexists(c->root, name, H5P_DEFAULT);
        n = next++;
    } while (taken > 0);
    return taken < 0 ? bkt_copy_failed(c, "looking for a free name") : BKT_OK;
}

/* No link leads to the copy until it is complete.  So the copy is not a part of its own source, and
 * vanishes on failure. */
int bkt_copy_as(struct bkt_copier *c, hid_t from, const char *name)
{
    hid_t loc;
    char numbered[64];
    const char *path, *above = c->name;
    const unsigned depth = c->depth;
    c->name = name ? name : "the object of a reference";
    int rc = copy_new(c, from, c->root, NULL, H5P_DEFAULT, 0);
    c->depth = depth;
    if (rc == BKT_OK)
        rc = bkt_copy_find(c, from, &loc, &path);
    if (rc == BKT_OK && !path)
        rc = BKT_ERR(c->err, BKT_EINVAL, "%s: not copied", c->name);
    if (rc == BKT_OK && !name)
        rc = numbered_name(c, from, numbered, sizeof numbered);
    if (rc == BKT_OK)
        rc = bkt_copy_link_again(c, loc, path, c->root, name ? name : numbered, c->lcpl);
    c->name = above;
    return rc;
}

/* ---- links ---- */

static hid_t no_traversal(const char *name, hid_t group, const void *value, size_t n, hid_t lapl, hid_t dxpl)
{
    (void)name, (void)group, (void)value, (void)n, (void)lapl, (void)dxpl;
    return H5I_INVALID_HID;
}

/* HDF5 makes links of a class only while the class is registered. */
static herr_t user_link(hid_t to, const struct bkt_copy_name *l, const void *value, hid_t lcpl)
{
    H5L_class_t cls = {.version = H5L_LINK_CLASS_T_VERS,
                       .id = l->info.type,
                       .comment = "vol-bucket",
                       .trav_func = no_traversal};
    bool registered = H5Lis_registered(l->info.type) > 0;
    if (!registered && H5Lregister(&cls) < 0)
        return -1;
    herr_t rc = H5Lcreate_ud(to, l->name, l->info.type, value, l->info.u.val_size, lcpl, H5P_DEFAULT);
    if (!registered) {
        hid_t held = rc < 0 ? bkt_h5err_hold() : H5I_INVALID_HID;
        (void)H5Lunregister(l->info.type);
        bkt_h5err_restore(held);
    }
    return rc;
}

static int value_link(const struct bkt_copier *c, const struct bkt_copy_group *g,
                      const struct bkt_copy_name *l, hid_t lcpl)
{
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, l->info.u.val_size + 1);
    const char *file = NULL, *path = NULL;
    herr_t rc = -1;
    if (!value)
        BKT_NOMEM(c->err);
    if (H5Lget_val(g->from, l->name, value, l->info.u.val_size, H5P_DEFAULT) < 0)
        return bkt_copy_unreadable(c, "reading a link");
    if (l->info.type == H5L_TYPE_SOFT)
        rc = H5Lcreate_soft(value, g->to, l->name, lcpl, H5P_DEFAULT);
    else if (l->info.type != H5L_TYPE_EXTERNAL)
        rc = user_link(g->to, l, value, lcpl);
    else if (H5Lunpack_elink_val(value, l->info.u.val_size, NULL, &file, &path) >= 0)
        rc = H5Lcreate_external(file, path, g->to, l->name, lcpl, H5P_DEFAULT);
    return rc < 0 ? bkt_copy_failed(c, "making a link") : BKT_OK;
}

static int object_link(struct bkt_copier *c, const struct bkt_copy_group *g, const struct bkt_copy_name *l,
                       hid_t lcpl, size_t above)
{
    hid_t loc;
    const char *path;
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5Oopen(g->from, l->name, H5P_DEFAULT);
    if (obj < 0)
        return bkt_copy_unreadable(c, "opening an object");
    BKT_PASS(bkt_copy_find(c, obj, &loc, &path));
    return path ? bkt_copy_link_again(c, loc, path, g->to, l->name, lcpl)
                : copy_new(c, obj, g->to, l->name, lcpl, above);
}

/* If the name is taken, a group is filled up, and any other object stays unchanged. */
static int merge(struct bkt_copier *c, const struct bkt_copy_group *g, const struct bkt_copy_name *l,
                 size_t above)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t a = l->info.type == H5L_TYPE_HARD ? H5Oopen(g->from, l->name, H5P_DEFAULT) : H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t b = a >= 0 ? H5Oopen(g->to, l->name, H5P_DEFAULT) : H5I_INVALID_HID;
    bool groups = b >= 0 && H5Iget_type(a) == H5I_GROUP && H5Iget_type(b) == H5I_GROUP;
    hid_t loc;
    const char *path = NULL;
    if (!groups)
        bkt_copy_report(c, bkt_buf_str(&c->path), "is in the domain already and stays as it is");
    if (b >= 0)
        BKT_PASS(bkt_copy_find(c, a, &loc, &path));
    if (b < 0 || path)
        return BKT_OK;
    BKT_PASS(bkt_copy_remember(c, a, H5I_INVALID_HID));
    return groups ? push_group(c, a, b, above) : BKT_OK;
}

/* Whether the object that a soft or external link leads to is copied instead of the link. */
static int expands(const struct bkt_copier *c, const struct bkt_copy_group *g, const struct bkt_copy_name *l,
                   bool *out)
{
    unsigned flag = l->info.type == H5L_TYPE_SOFT       ? H5O_COPY_EXPAND_SOFT_LINK_FLAG
                    : l->info.type == H5L_TYPE_EXTERNAL ? H5O_COPY_EXPAND_EXT_LINK_FLAG
                                                        : 0;
    htri_t leads = c->o->flags & flag ? H5Oexists_by_name(g->from, l->name, H5P_DEFAULT) : 0;
    *out = leads > 0;
    return leads < 0 ? bkt_copy_unreadable(c, "following a link") : BKT_OK;
}

static int copy_link(struct bkt_copier *c, const struct bkt_copy_group *g, const struct bkt_copy_name *l,
                     size_t above)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    bool leads;
    if (lcpl < 0 || H5Pset_char_encoding(lcpl, l->info.cset) < 0)
        return bkt_copy_failed(c, "making a link creation list");
    if (c->o->merge && H5Lexists(g->to, l->name, H5P_DEFAULT) > 0)
        return merge(c, g, l, above);
    if (l->info.corder_valid)
        BKT_PASS(bkt_copy_number(c, g->to, true, l->info.corder));
    BKT_PASS(expands(c, g, l, &leads));
    return leads || l->info.type == H5L_TYPE_HARD ? object_link(c, g, l, lcpl, above)
                                                  : value_link(c, g, l, lcpl);
}

/* Handles an object of which a part could not be read or stored.  If it is left out, it is deleted, so that
 * no half stays. */
static int without(const struct bkt_copier *c, hid_t dst, const char *name, const char *path, int rc)
{
    if (!bkt_copy_leaves_out(c, path, NULL, rc))
        return c->o->hooks.fail ? BKT_ERR(c->err, rc, "%s", path) : rc;
    if (H5Lexists(dst, name, H5P_DEFAULT) > 0 && H5Ldelete(dst, name, H5P_DEFAULT) < 0)
        return bkt_copy_failed(c, path);
    return BKT_OK;
}

static int next_link(struct bkt_copier *c, struct bkt_copy_group *g)
{
    const struct bkt_copy_name *l = &g->links.v[g->next++];
    const size_t above = c->path.len;
    const bool slash = above > 0 && bkt_buf_str(&c->path)[above - 1] == '/';
    if (bkt_buf_addf(&c->path, "%s%s", slash ? "" : "/", l->name) < 0)
        BKT_NOMEM(c->err);
    c->depth = g->depth + 1;
    int rc = bkt_copy_check(c, c->err);
    if (rc == BKT_OK)
        rc = copy_link(c, g, l, above);
    if (rc < 0)
        rc = without(c, g->to, l->name, bkt_buf_str(&c->path), rc);
    if (c->top == g)
        bkt_buf_cut(&c->path, above);
    return rc;
}

/* Fill the groups on the list that lie below @p until.  After a failure they are only taken off the list. */
static int fill(struct bkt_copier *c, const struct bkt_copy_group *until)
{
    int rc = BKT_OK;
    while (c->top != until) {
        struct bkt_copy_group *g = c->top;
        if (rc == BKT_OK && g->next < g->links.n) {
            rc = next_link(c, g);
            continue;
        }
        if (rc == BKT_OK)
            rc = end_group(c, g);
        if (rc < 0 && g->made && c->o->hooks.fail)
            (void)BKT_ERR(c->err, rc, "%s", bkt_buf_str(&c->path));
        bkt_buf_cut(&c->path, g->path_above);
        c->top = g->above;
        group_free(g);
    }
    return rc;
}

/* ---- all of a file ---- */

void bkt_copy_fini(struct bkt_copier *c)
{
    bkt_copy_places_fini(c);
    bkt_copy_pending_fini(c);
    bkt_copy_outside_fini(c);
    bkt_buf_fini(&c->path);
}

static int write_pending(struct bkt_copier *c, const struct bkt_copy_pending *p)
{
    if (c->o->hooks.left_out && p->to < 0 && H5Lexists(c->root, p->path, H5P_DEFAULT) <= 0 &&
        strcmp(p->path, "/") != 0)
        return BKT_OK; /* it was left out after it was noted */
    int rc = bkt_copy_write_pending(c, p);
    if (rc == BKT_OK || (p->attr && bkt_copy_leaves_out(c, p->path, p->attr, rc)))
        return BKT_OK;
    return p->attr ? BKT_ERR(c->err, rc, "%s", p->path) : without(c, c->root, p->path, p->path, rc);
}

int bkt_copier_tree(hid_t src, hid_t dst, const struct bkt_copier_options *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_copy_fini)
    struct bkt_copier c = {.o = o,
                           .err = err,
                           .src = src,
                           .root = dst,
                           .base = dst,
                           .places = bkt_map_new(),
                           .ours = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_hid_closep)
    hid_t root = H5Gopen2(src, H5Iget_type(src) == H5I_FILE ? "/" : ".", H5P_DEFAULT);
    BKT_NEED(err, c.places && bkt_buf_add_str(&c.path, "/") >= 0);
    if (root < 0)
        return bkt_copy_failed(&c, "opening the root group");
    BKT_PASS(bkt_copy_remember(&c, root, H5I_INVALID_HID));
    BKT_PASS(push_group(&c, root, dst, 1));
    BKT_PASS(fill(&c, NULL));
    for (size_t i = 0; i < c.n_pending; i++)
        BKT_PASS(write_pending(&c, &c.pending[i]));
    return BKT_OK;
}
