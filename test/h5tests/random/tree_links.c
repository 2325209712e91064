/* Random calls on the tree: links. */
#include "h5tests/random/tree.h"

static void hard(struct side *s, struct rnd *r)
{
    hid_t       from = some_loc(s, r);
    const char *a    = some_path(r);
    hid_t       to   = rnd_chance(r, 15) ? H5L_SAME_LOC : some_loc(s, r);
    const char *b    = some_path(r);
    hid_t       p    = some_lcpl(r, b);
    say(s->o, "'%s' '%s'", a, b);
    if (may_link(s) && (to == H5L_SAME_LOC || !other_handle(s, from, to)) &&
        gave(s, "H5Lcreate_hard", H5Lcreate_hard(from, a, to, b, p, H5P_DEFAULT)))
        linked_now(s, to == H5L_SAME_LOC ? from : to, b);
    H5Pclose(p);
}

static void soft(struct side *s, struct rnd *r)
{
    const char *a   = some_path(r);
    hid_t       loc = some_loc(s, r);
    const char *b   = some_path(r);
    hid_t       p   = some_lcpl(r, b);
    say(s->o, "'%s' '%s'", a, b);
    if (may_link(s))
        gave(s, "H5Lcreate_soft", H5Lcreate_soft(a, loc, b, p, H5P_DEFAULT));
    H5Pclose(p);
}

static void external(struct side *s, struct rnd *r)
{
    static const char *const files[] = {"b.h5", "b.h5", "a.h5", "none.h5", ""};
    const char              *file = RND_OF(r, files), *a = some_path(r);
    hid_t                    loc = some_loc(s, r);
    const char              *b   = some_path(r);
    hid_t                    p   = some_lcpl(r, b);
    say(s->o, "%s '%s' '%s'", file, a, b);
    if (may_link(s))
        gave(s, "H5Lcreate_external", H5Lcreate_external(file, a, loc, b, p, H5P_DEFAULT));
    H5Pclose(p);
}

static void copied_or_moved(struct side *s, struct rnd *r, bool copy)
{
    bool        same = rnd_chance(r, 10), first = rnd_chance(r, 50);
    hid_t       from = same && first ? H5L_SAME_LOC : some_loc(s, r);
    const char *a    = some_path(r);
    hid_t       to   = same && !first ? H5L_SAME_LOC : some_loc(s, r);
    const char *b    = some_path(r);
    hid_t       p    = some_lcpl(r, b);
    say(s->o, "'%s' '%s'", a, b);
    hid_t at = to == H5L_SAME_LOC ? from : to;
    if (copy && may_link(s) && gave(s, "H5Lcopy", H5Lcopy(from, a, to, b, p, H5P_DEFAULT)))
        linked_now(s, at, b);
    if (!copy && may_link(s) && has_path(s, at)) {
        if (gave(s, "H5Lmove", H5Lmove(from, a, to, b, p, H5P_DEFAULT)))
            linked_now(s, at, b);
        names_changed(s);
    }
    H5Pclose(p);
}

static void copied(struct side *s, struct rnd *r) { copied_or_moved(s, r, true); }
static void moved(struct side *s, struct rnd *r) { copied_or_moved(s, r, false); }

static void deleted(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    say(s->o, "'%s'", path);
    gave(s, "H5Ldelete", H5Ldelete(loc, path, H5P_DEFAULT));
    names_changed(s);
}

static const char *some_group(struct rnd *r) { return rnd_chance(r, 50) ? "." : some_path(r); }

static void deleted_by_idx(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_group(r);
    H5_index_t      index = some_index(r, loc, path, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 6);
    say(s->o, "'%s' %d %d %llu", path, index, order, (unsigned long long)n);
    if (is_link(s, loc, path))
        return;
    gave(s, "H5Ldelete_by_idx", H5Ldelete_by_idx(loc, path, index, order, n, H5P_DEFAULT));
    names_changed(s);
}

/* Whether links are numbered in the group that holds @p name: a link that is moved or copied from such a
 * group into another has its number still, in HDF5's files. */
static bool numbered(hid_t loc, const char *name)
{
    char     in[3 * PATH_ROOM];
    unsigned flags = 0;
    (void)snprintf(in, sizeof in, "%s", name);
    size_t n = strlen(in);
    while (n && in[n - 1] == '/')
        n--;
    while (n && in[n - 1] != '/')
        n--;
    in[n]   = 0;
    hid_t g = H5Gopen2(loc, n ? in : ".", H5P_DEFAULT), p = g >= 0 ? H5Gget_create_plist(g) : g;
    if (p >= 0)
        H5Pget_link_creation_order(p, &flags);
    if (p >= 0)
        H5Pclose(p);
    if (g >= 0)
        H5Gclose(g);
    return flags != 0;
}

static void say_link(struct side *s, bool in_order, const H5L_info2_t *l)
{
    say(s->o, "type %d order %d set %d size %zu", l->type, in_order && l->corder_valid, l->cset, l->type == H5L_TYPE_HARD ? 0 : l->u.val_size);
}

static void say_value_of_link(struct side *s, const char *call, herr_t rc, const char *value, const H5L_info2_t *l)
{
    unsigned    flags = 0;
    const char *file = "", *path = "";
    if (!gave(s, call, rc))
        return;
    say_bytes(s->o, "value", value, strnlen(value, PATH_ROOM));
    if (l->type == H5L_TYPE_EXTERNAL && gave(s, "H5Lunpack_elink_val", H5Lunpack_elink_val(value, l->u.val_size, &flags, &file, &path)))
        say(s->o, "%s '%s' %u", file, path, flags);
}

static void looked_at(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    H5L_info2_t info = {0};
    char        value[2 * PATH_ROOM] = "";
    say(s->o, "'%s'", path);
    say(s->o, "exists %d", H5Lexists(loc, path, H5P_DEFAULT));
    if (!strstr(path, "/.")) /* HDF5 finds "." behind a link that leads nowhere */
        say(s->o, "object exists %d", H5Oexists_by_name(loc, path, H5P_DEFAULT) > 0); /* below a dataset HDF5 fails */
    if (gave(s, "H5Lget_info", H5Lget_info2(loc, path, &info, H5P_DEFAULT)))
        say_link(s, numbered(loc, path), &info);
    say_value_of_link(s, "H5Lget_val", H5Lget_val(loc, path, value, rnd_chance(r, 80) ? sizeof value : 3, H5P_DEFAULT), value, &info);
}

static void looked_at_by_idx(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_group(r);
    H5_index_t      index = some_index(r, loc, path, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 6);
    H5L_info2_t     info  = {0};
    char            name[PATH_ROOM] = "", value[2 * PATH_ROOM] = "";
    size_t          room = rnd_chance(r, 80) ? sizeof name : rnd_below(r, 4);
    say(s->o, "'%s' %d %d %llu", path, index, order, (unsigned long long)n);
    if (is_link(s, loc, path))
        return;
    ssize_t len = H5Lget_name_by_idx(loc, path, index, order, n, room ? name : NULL, room, H5P_DEFAULT);
    say(s->o, "name %zd '%s'", len < 0 ? -1 : len, name);
    if (gave(s, "H5Lget_info_by_idx", H5Lget_info_by_idx2(loc, path, index, order, n, &info, H5P_DEFAULT)))
        say_link(s, index == H5_INDEX_CRT_ORDER, &info);
    say_value_of_link(s, "H5Lget_val_by_idx", H5Lget_val_by_idx(loc, path, index, order, n, value, sizeof value, H5P_DEFAULT), value, &info);
}

static void say_group_info(struct side *s, const char *call, herr_t rc, const H5G_info_t *g)
{
    if (gave(s, call, rc))
        say(s->o, "%llu links, mounted %d", (unsigned long long)g->nlinks, g->mounted);
}

static void group_info(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_group(r);
    H5_index_t      index = some_index(r, loc, path, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 4);
    H5G_info_t      info  = {0};
    say(s->o, "'%s' %d %d %llu", path, index, order, (unsigned long long)n);
    say_group_info(s, "H5Gget_info", H5Gget_info(loc, &info), &info);
    say_group_info(s, "H5Gget_info_by_name", H5Gget_info_by_name(loc, path, &info, H5P_DEFAULT), &info);
    say_group_info(s, "H5Gget_info_by_idx", H5Gget_info_by_idx(loc, path, index, order, n, &info, H5P_DEFAULT), &info);
}

const struct tree_op link_ops[] = {
    {"H5Lcreate_hard", 8, hard},
    {"H5Lcreate_soft", 5, soft},
    {"H5Lcreate_external", 5, external},
    {"H5Lcopy", 4, copied},
    {"H5Lmove", 7, moved},
    {"H5Ldelete", 7, deleted},
    {"H5Ldelete_by_idx", 3, deleted_by_idx},
    {"links by name", 6, looked_at},
    {"links by number", 6, looked_at_by_idx},
    {"H5Gget_info", 4, group_info},
    {0},
};

/* ---- walks ---- */

struct walk {
    struct side *s;
    unsigned     left;    /* calls until it stops */
    int          give;    /* its return value then */
    bool         deletes; /* each link that it sees */
    unsigned     calls;
};

static int next(struct walk *w)
{
    if (++w->calls > 3000) /* hard links made a tree that is large */
        return 7;
    return w->left && --w->left == 0 ? w->give : 0;
}

static herr_t on_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    struct walk *w = arg;
    say(w->s->o, "link '%s'", name);
    say_link(w->s, numbered(g, name), info);
    if (w->deletes && w->calls % 2 == 0)
        gave(w->s, "H5Ldelete", H5Ldelete(g, name, H5P_DEFAULT));
    if (w->deletes)
        names_changed(w->s);
    return next(w);
}

static herr_t on_object(hid_t g, const char *name, const H5O_info2_t *info, void *arg)
{
    struct walk *w = arg;
    (void)g;
    say(w->s->o, "object '%s' type %d links %u attributes %llu", name, info->type, w->s->o->uncounted ? 0 : info->rc,
        (unsigned long long)info->num_attrs);
    return next(w);
}

static struct walk some_walk(struct side *s, struct rnd *r)
{
    static const int gives[] = {1, 5, -1};
    struct walk      w       = {.s = s};
    if (rnd_chance(r, 40)) {
        w.left = rnd_in(r, 1, 5);
        w.give = RND_OF(r, gives);
    }
    return w;
}

static void ended(struct side *s, const char *call, herr_t rc) { say(s->o, "%s gives %d", call, rc < 0 ? -1 : rc); }

static bool new_style(hid_t loc)
{
    unsigned flags = 0;
    hid_t    p     = H5Iget_type(loc) == H5I_GROUP ? H5Gget_create_plist(loc) : H5I_INVALID_HID;
    if (p >= 0) {
        H5Pget_link_creation_order(p, &flags);
        H5Pclose(p);
    }
    return flags != 0;
}

static void iterated(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_group(r);
    H5_index_t      index = some_index(r, loc, path, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         at    = rnd_chance(r, 70) ? 0 : rnd_below(r, 5);
    struct walk     w     = some_walk(s, r);
    say(s->o, "'%s' %d %d from %llu", path, index, order, (unsigned long long)at);
    herr_t rc = H5Literate_by_name2(loc, path, index, order, &at, on_link, &w, H5P_DEFAULT);
    ended(s, "H5Literate_by_name", rc);
    if (rc >= 0)
        say(s->o, "at %llu", (unsigned long long)at);
    if (rc > 0)
        ended(s, "and on", H5Literate_by_name2(loc, path, index, order, &at, on_link, &w, H5P_DEFAULT));
    w         = some_walk(s, r);
    w.deletes = s->rw && rnd_chance(r, 15) && new_style(loc);
    ended(s, "H5Literate", H5Literate2(loc, H5_INDEX_NAME, order, NULL, on_link, &w));
}

static void visited(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_group(r);
    H5_iter_order_t order = some_order(r);
    struct walk     w     = some_walk(s, r);
    say(s->o, "'%s' %d", path, order);
    ended(s, "H5Lvisit_by_name", H5Lvisit_by_name2(loc, path, H5_INDEX_NAME, order, on_link, &w, H5P_DEFAULT));
    w = some_walk(s, r);
    ended(s, "H5Ovisit_by_name", H5Ovisit_by_name3(loc, path, H5_INDEX_NAME, order, on_object, &w, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS, H5P_DEFAULT));
    w = some_walk(s, r);
    if (rnd_chance(r, 50))
        ended(s, "H5Lvisit", H5Lvisit2(loc, H5_INDEX_NAME, order, on_link, &w));
    else
        ended(s, "H5Ovisit", H5Ovisit3(loc, H5_INDEX_NAME, order, on_object, &w, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
}

static herr_t count_op(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g, (void)name, (void)info;
    ++*(unsigned *)arg;
    return 0;
}

void say_links(struct side *s, hid_t file)
{
    struct walk w = {.s = s};
    ended(s, "visiting links", H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, on_link, &w));
}

/* H5_ITER_NATIVE is the order of the storage: only the number is compared. */
static void native_order(struct side *s, struct rnd *r)
{
    hid_t    loc = some_loc(s, r);
    unsigned n   = 0;
    ended(s, "H5Literate", H5Literate2(loc, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, count_op, &n));
    say(s->o, "%u links", n);
}

const struct tree_op walk_ops[] = {
    {"H5Literate", 6, iterated},
    {"H5Lvisit, H5Ovisit", 4, visited},
    {"H5Literate, native order", 2, native_order},
    {0},
};
