/* Random calls on the tree: HDF5's older forms of them. */
#include "h5tests/random/tree.h"

static herr_t on_member(hid_t g, const char *name, void *arg)
{
    (void)g;
    say(arg, "has '%s'", name);
    return 0;
}

static void looked_at(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    H5G_stat_t  stat = {0};
    char        name[PATH_ROOM] = "";
    bool        follow = rnd_chance(r, 60);
    int         at     = (int)rnd_below(r, 2);
    hsize_t     n      = 0, i = rnd_below(r, 4);
    /* Without following the last link, HDF5 goes along the path twice.  If an external link leads back into the same file,
     * the second time begins at a root group whose file was closed at the end of the first. */
    follow = through_link(s, loc, path) || follow;
    say(s->o, "'%s' follow %d", path, follow);
    if (gave(s, "H5Gget_objinfo", H5Gget_objinfo(loc, path, follow, &stat)))
        say(s->o, "type %d links %u length %zu", stat.type, s->o->uncounted ? 0 : stat.nlink, stat.linklen);
    if (gave(s, "H5Gget_linkval", H5Gget_linkval(loc, path, sizeof name, name)))
        say(s->o, "'%s'", name);
    if (gave(s, "H5Gget_num_objs", H5Gget_num_objs(loc, &n)))
        say(s->o, "%llu", (unsigned long long)n);
    ssize_t len = H5Gget_objname_by_idx(loc, i, name, sizeof name);
    say(s->o, "number %llu: %zd '%s'", (unsigned long long)i, len < 0 ? -1 : len, len < 0 ? "" : name);
    say(s->o, "type %d", H5Gget_objtype_by_idx(loc, i));
    gave(s, "H5Giterate", H5Giterate(loc, path, &at, on_member, s->o));
    int c = H5Gget_comment(loc, path, sizeof name, name);
    say(s->o, "comment %d %s", c < 0 ? -1 : c, c > 0 ? name : "");
}

static void changed(struct side *s, struct rnd *r)
{
    hid_t       loc = some_loc(s, r);
    const char *a = some_path(r), *b = some_path(r);
    say(s->o, "'%s' '%s'", a, b);
    if (!is_ascii(a) || !is_ascii(b))
        return;
    switch (rnd_below(r, 6)) {
        case 0:
            if (may_link(s) && has_path(s, loc) && gave(s, "H5Gmove", H5Gmove(loc, a, b)))
                linked_now(s, loc, b);
            names_changed(s);
            break;
        case 1:
            gave(s, "H5Gunlink", H5Gunlink(loc, a));
            names_changed(s);
            break;
        case 2:
            if (may_link(s) && gave(s, "H5Glink", H5Glink(loc, H5L_TYPE_HARD, a, b)))
                linked_now(s, loc, b);
            break;
        case 3:
            if (may_link(s))
                gave(s, "H5Glink, soft", H5Glink(loc, H5L_TYPE_SOFT, a, b));
            break;
        case 4: gave(s, "H5Gset_comment", H5Gset_comment(loc, a, b)); break;
        default: keep_object(s, r, "H5Gcreate1", H5Gcreate1(loc, a, 0), opened_at(s, loc)); break;
    }
}

static herr_t on_attr(hid_t obj, const char *name, void *arg)
{
    (void)obj;
    say(arg, "attribute '%s'", name);
    return 0;
}

static bool attributes_ordered(hid_t loc)
{
    struct rnd any = {0};
    for (int i = 0; i < 20; i++)
        if (some_index(&any, loc, ".", true) == H5_INDEX_CRT_ORDER)
            return true;
    return false;
}

static void attributes(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *name = some_name(r);
    unsigned    at   = rnd_below(r, 2), i = rnd_below(r, 3);
    int         n    = H5Aget_num_attrs(loc);
    say(s->o, "'%s' %d attributes", name, n < 0 ? -1 : n);
    /* without an order of creation they come in the order of HDF5's messages, which use the places that
     * became free first */
    if (!attributes_ordered(loc))
        return;
    gave(s, "H5Aiterate1", H5Aiterate1(loc, &at, on_attr, s->o));
    hid_t a = rnd_chance(r, 50) ? H5Aopen_name(loc, name) : H5Aopen_idx(loc, i);
    if (gave(s, "H5Aopen_name", a))
        H5Aclose(a);
}

const struct tree_op old_ops[] = {
    {"H5Gget_objinfo and its kin", 5, looked_at},
    {"H5Gmove and its kin", 4, changed},
    {"H5Aiterate1 and its kin", 3, attributes},
    {0},
};
