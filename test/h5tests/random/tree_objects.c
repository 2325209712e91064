/* Random calls on the tree: objects, made, opened, copied, named and referred to. */
#include "h5tests/random/tree.h"

enum opened opened_at(const struct side *s, hid_t loc) { return has_path(s, loc) ? BY_PATH : BY_SEARCH; }

void keep_object(struct side *s, struct rnd *r, const char *call, hid_t id, enum opened how)
{
    bool keep = rnd_chance(r, 60);
    if (!gave(s, call, id))
        return;
    say(s->o, "it is of type %d", H5Iget_type(id));
    if (!keep) {
        gave(s, "H5Oclose", H5Oclose(id));
        return;
    }
    unsigned slot = free_slot(s, r);
    s->obj[slot]     = id;
    s->by_path[slot] = how != BY_SEARCH; /* an object without a name gets one with its first link */
    s->intact[slot]  = how == BY_PATH;
    say(s->o, "kept as o%u", slot);
}

/* ---- made ---- */

static void some_object_plist(struct rnd *r, hid_t p)
{
    unsigned order = rnd_below(r, 3);
    if (order)
        H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | (order == 2 ? H5P_CRT_ORDER_INDEXED : 0));
    if (rnd_chance(r, 20))
        H5Pset_attr_phase_change(p, 2, 1);
    if (rnd_chance(r, 20))
        H5Pset_obj_track_times(p, false);
}

static hid_t some_gcpl(struct rnd *r)
{
    hid_t    p     = H5Pcreate(H5P_GROUP_CREATE);
    unsigned order = rnd_below(r, 4);
    if (order)
        H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | (order == 2 ? H5P_CRT_ORDER_INDEXED : 0));
    if (rnd_chance(r, 20))
        H5Pset_link_phase_change(p, 2, 1);
    some_object_plist(r, p);
    return p;
}

static void group(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    hid_t       lcpl = some_lcpl(r, path), p = some_gcpl(r);
    say(s->o, "'%s'", path);
    bool anon = rnd_chance(r, 12);
    keep_object(s, r, "H5Gcreate", anon ? H5Gcreate_anon(loc, p, H5P_DEFAULT) : H5Gcreate2(loc, path, lcpl, p, H5P_DEFAULT),
        anon ? UNNAMED : opened_at(s, loc));
    H5Pclose(p);
    H5Pclose(lcpl);
}

static void dataset(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    hid_t       lcpl = some_lcpl(r, path), p = H5Pcreate(H5P_DATASET_CREATE), type = some_type(s, r, loc);
    hsize_t     n = rnd_in(r, 1, 5), chunk = 2;
    hid_t       space = rnd_chance(r, 20) ? H5Screate(H5S_NULL) : rnd_chance(r, 40) ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    if (H5Sget_simple_extent_type(space) == H5S_SIMPLE && rnd_chance(r, 50))
        H5Pset_chunk(p, 1, &chunk);
    some_object_plist(r, p);
    say(s->o, "'%s'", path);
    bool  anon = rnd_chance(r, 12);
    hid_t d    = anon ? H5Dcreate_anon(loc, type, space, p, H5P_DEFAULT) : H5Dcreate2(loc, path, type, space, lcpl, p, H5P_DEFAULT);
    if (d >= 0 && rnd_chance(r, 50) && H5Sget_simple_extent_npoints(space) > 0)
        write_values(s, r, d, type, space);
    keep_object(s, r, "H5Dcreate", d, anon ? UNNAMED : opened_at(s, loc));
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(p);
    H5Pclose(lcpl);
}

static void type_committed(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    hid_t       lcpl = some_lcpl(r, path), p = H5Pcreate(H5P_DATATYPE_CREATE), from = some_type(s, r, loc), type = H5Tcopy(from);
    some_object_plist(r, p);
    H5T_class_t cls = H5Tget_class(type);
    s->pointers |= cls == H5T_VLEN || cls == H5T_STRING || cls == H5T_COMPOUND || cls == H5T_REFERENCE;
    say(s->o, "'%s'", path);
    bool   anon = rnd_chance(r, 12);
    herr_t rc   = anon ? H5Tcommit_anon(loc, type, p, H5P_DEFAULT) : H5Tcommit2(loc, path, type, lcpl, p, H5P_DEFAULT);
    if (rc >= 0)
        keep_object(s, r, "H5Tcommit", type, anon ? UNNAMED : opened_at(s, loc));
    else {
        gave(s, "H5Tcommit", rc);
        H5Tclose(type);
    }
    H5Tclose(from);
    H5Pclose(p);
    H5Pclose(lcpl);
}

/* ---- opened ---- */

static void opened(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    say(s->o, "'%s'", path);
    switch (rnd_below(r, 6)) {
        case 0:
            keep_object(s, r, "H5Gopen", H5Gopen2(loc, path, H5P_DEFAULT), opened_at(s, loc));
            break;
        case 1:
            keep_object(s, r, "H5Dopen", H5Dopen2(loc, path, H5P_DEFAULT), opened_at(s, loc));
            break;
        case 2:
            keep_object(s, r, "H5Topen", H5Topen2(loc, path, H5P_DEFAULT), opened_at(s, loc));
            break;
        default:
            keep_object(s, r, "H5Oopen", H5Oopen(loc, path, H5P_DEFAULT), opened_at(s, loc));
            break;
    }
}

static void opened_by_idx(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = rnd_chance(r, 50) ? "." : some_path(r);
    H5_index_t      index = some_index(r, loc, path, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 5);
    say(s->o, "'%s' %d %d %llu", path, index, order, (unsigned long long)n);
    keep_object(s, r, "H5Oopen_by_idx", H5Oopen_by_idx(loc, path, index, order, n, H5P_DEFAULT), opened_at(s, loc));
}

static void say_info(struct side *s, const char *call, herr_t rc, const H5O_info2_t *i)
{
    if (gave(s, call, rc))
        say(s->o, "type %d links %u attributes %llu", i->type, s->o->uncounted ? 0 : i->rc, (unsigned long long)i->num_attrs);
}

static void info(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r), where = H5I_INVALID_HID;
    const char     *path  = some_path(r), *other = some_path(r), *in = rnd_chance(r, 50) ? "." : some_path(r);
    H5_index_t      index = some_index(r, loc, in, false);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 5);
    H5O_info2_t     a = {0}, b = {0};
    unsigned        fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS;
    int             cmp    = 99;
    say(s->o, "'%s' '%s' '%s' %llu", path, other, in, (unsigned long long)n);
    say_info(s, "H5Oget_info_by_idx", H5Oget_info_by_idx3(loc, in, index, order, n, &a, fields, H5P_DEFAULT), &a);
    say_info(s, "H5Oget_info", H5Oget_info3(loc, &a, fields), &a);
    herr_t one = H5Oget_info_by_name3(loc, path, &a, fields, H5P_DEFAULT), two = H5Oget_info_by_name3(loc, other, &b, fields, H5P_DEFAULT);
    say_info(s, "H5Oget_info_by_name", one, &a);
    say_info(s, "H5Oget_info_by_name", two, &b);
    if (one < 0)
        return;
    if (two >= 0 && a.fileno == b.fileno && gave(s, "H5Otoken_cmp", H5Otoken_cmp(loc, &a.token, &b.token, &cmp)))
        say(s->o, "equal %d", cmp == 0);
    if (two >= 0)
        say(s->o, "in one file %d", a.fileno == b.fileno);
    H5O_info2_t top = {0};
    where           = rnd_chance(r, 50) ? loc : s->file[0];
    if (H5Oget_info3(where, &top, H5O_INFO_BASIC) >= 0 && top.fileno == a.fileno) {
        hid_t id = H5Oopen_by_token(where, a.token);
        if (id >= 0)
            say_name(s, "opened by token", id, false);
        keep_object(s, r, "H5Oopen_by_token", id, BY_SEARCH);
    }
}

static void closed(struct side *s, struct rnd *r)
{
    int slot = some_object(s, r);
    if (slot >= 0)
        close_slot(s, (unsigned)slot);
}

static void linked(struct side *s, struct rnd *r)
{
    int         slot = some_object(s, r);
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r);
    hid_t       p    = some_lcpl(r, path);
    say(s->o, "'%s'", path);
    if (slot >= 0 && may_link(s) && gave(s, "H5Olink", H5Olink(s->obj[slot], loc, path, p, H5P_DEFAULT)))
        linked_now(s, loc, path);
    H5Pclose(p);
}

static void counts(struct side *s, struct rnd *r)
{
    int slot = some_object(s, r);
    if (slot < 0)
        return;
    if (s->added[slot] == 0 || rnd_chance(r, 50)) {
        if (gave(s, "H5Oincr_refcount", H5Oincr_refcount(s->obj[slot])))
            s->added[slot]++;
    } else if (gave(s, "H5Odecr_refcount", H5Odecr_refcount(s->obj[slot])))
        s->added[slot]--;
    H5O_info2_t a = {0};
    say_info(s, "H5Oget_info", H5Oget_info3(s->obj[slot], &a, H5O_INFO_BASIC), &a);
}

static void comments(struct side *s, struct rnd *r)
{
    static const char *const texts[] = {"", "short", "caf\xc3\xa9 \"x\" \\ \n", NULL, "a longer comment that goes on and on and on and on and on"};
    char        text[128] = "";
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r), *comment = RND_OF(r, texts);
    size_t      room = rnd_chance(r, 70) ? sizeof text : rnd_below(r, 5);
    say(s->o, "'%s' '%s'", path, comment ? comment : "none");
    if (rnd_chance(r, 60)) {
        if (rnd_chance(r, 50))
            gave(s, "H5Oset_comment_by_name", H5Oset_comment_by_name(loc, path, comment, H5P_DEFAULT));
        else
            gave(s, "H5Oset_comment", H5Oset_comment(loc, comment));
    }
    ssize_t n = H5Oget_comment_by_name(loc, path, room ? text : NULL, room, H5P_DEFAULT);
    say(s->o, "comment %zd '%s'", n < 0 ? -1 : n, n < 0 ? "" : text);
    n = H5Oget_comment(loc, text, sizeof text);
    say(s->o, "comment %zd '%s'", n < 0 ? -1 : n, n < 0 ? "" : text);
}

struct contents {
    unsigned objects;
    bool     chunked_refs; /* a chunked dataset of references, which HDF5 can't copy out of its cache */
};

static herr_t count_op(hid_t g, const char *name, const H5O_info2_t *i, void *arg)
{
    struct contents *c = arg;
    if (i->type == H5O_TYPE_DATASET) {
        hid_t d = H5Dopen2(g, name, H5P_DEFAULT), t = H5Dget_type(d), p = H5Dget_create_plist(d);
        c->chunked_refs |= H5Tget_class(t) == H5T_REFERENCE && H5Pget_layout(p) == H5D_CHUNKED;
        H5Pclose(p);
        H5Tclose(t);
        H5Dclose(d);
    }
    return ++c->objects > 60;
}

static void copied(struct side *s, struct rnd *r)
{
    static const unsigned flags[] = {H5O_COPY_SHALLOW_HIERARCHY_FLAG, H5O_COPY_EXPAND_SOFT_LINK_FLAG, H5O_COPY_EXPAND_EXT_LINK_FLAG,
                                     H5O_COPY_EXPAND_REFERENCE_FLAG, H5O_COPY_WITHOUT_ATTR_FLAG, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG};
    hid_t       from = some_loc(s, r);
    const char *a    = rnd_chance(r, 20) ? "." : some_path(r);
    hid_t       to   = some_loc(s, r);
    const char *b    = some_path(r);
    hid_t       lcpl = some_lcpl(r, b), p = H5Pcreate(H5P_OBJECT_COPY);
    unsigned    with = 0;

    struct contents in_it = {0, false};
    for (size_t i = 0; i < COUNT(flags); i++)
        with |= rnd_chance(r, 20) ? flags[i] : 0;
    if (s->pointers && !same_file(from, to)) /* HDF5 finds such types different, always */
        with &= ~(unsigned)H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG;
    if (s->unlinked) /* to a deleted object: in HDF5's files it may still exist */
        with &= ~(unsigned)H5O_COPY_EXPAND_REFERENCE_FLAG;
    H5Ovisit_by_name3(from, a, H5_INDEX_NAME, H5_ITER_INC, count_op, &in_it, H5O_INFO_BASIC, H5P_DEFAULT);
    H5Pset_copy_object(p, with);
    H5Eclear2(H5E_DEFAULT);
    say(s->o, "'%s' '%s' flags %x, %u objects", a, b, with, in_it.objects);
    /* It doubles where something is copied into itself; of a file for reading HDF5 leaves something open. */
    H5I_type_t in = H5Iget_type(to);
    if (in_it.objects <= 60 && !in_it.chunked_refs && s->rw && in != H5I_DATATYPE && in != H5I_DATASET && !through_link(s, to, b)) {
        bool   follows = with & (H5O_COPY_EXPAND_SOFT_LINK_FLAG | H5O_COPY_EXPAND_EXT_LINK_FLAG);
        herr_t rc      = s->o->ours && follows ? 0 : H5Ocopy(from, a, to, b, p, lcpl);
        if (follows && fails_natively(s, rc))
            rc = -1;
        else if (follows && s->o->ours)
            rc = H5Ocopy(from, a, to, b, p, lcpl);
        gave(s, "H5Ocopy", rc);
        /* HDF5 counts links to types wrong, and links to targets of several references */
        s->o->uncounted |= (with & (H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG | H5O_COPY_EXPAND_REFERENCE_FLAG)) != 0;
        if (follows)
            walkable(s, to);
    }
    H5Pclose(p);
    H5Pclose(lcpl);
}

/* ---- lists ---- */

static void plist(struct side *s, struct rnd *r)
{
    int slot = some_object(s, r);
    if (slot < 0)
        return;
    hid_t    id = s->obj[slot], p = H5I_INVALID_HID;
    unsigned a = 0, b = 0;
    hbool_t  times = 0;
    switch (H5Iget_type(id)) {
        case H5I_GROUP:
            p = H5Gget_create_plist(id);
            H5Pget_link_creation_order(p, &a);
            say(s->o, "order of links %u", a);
            break;
        case H5I_DATASET:
            p = H5Dget_create_plist(id);
            say(s->o, "layout %d", H5Pget_layout(p));
            break;
        case H5I_DATATYPE:
            p = H5Tget_create_plist(id);
            say(s->o, "committed %d", H5Tcommitted(id));
            say_type(s->o, id);
            break;
        default:
            break;
    }
    if (!gave(s, "the creation list", p))
        return;
    H5Pget_attr_creation_order(p, &a);
    H5Pget_obj_track_times(p, &times);
    say(s->o, "order of attributes %u", a);
    if (a && H5Pget_attr_phase_change(p, &a, &b) >= 0) /* HDF5's first format has no place for these */
        say(s->o, "phase %u %u times %d", a, b, times);
    H5Pclose(p);
}

/* ---- names ---- */

/* HDF5 gives a moved object the name by which it was moved, "//a" too. */
static void one_slash(char *name)
{
    char *to = name;
    for (const char *p = name; *p; p++)
        if (*p != '/' || to == name || to[-1] != '/')
            *to++ = *p;
    *to = 0;
}

/* HDF5 may return the earlier name of a moved or deleted object: if only that name doesn't lead there, it is
 * not a difference. */
void say_name(struct side *s, const char *what, hid_t id, bool exact)
{
    char    name[3 * PATH_ROOM] = "";
    ssize_t n     = H5Iget_name(id, name, sizeof name);
    hid_t   again = n > 0 ? H5Oopen(id, name, H5P_DEFAULT) : H5I_INVALID_HID;
    H5O_info2_t a = {0}, b = {0};
    int     cmp = 1;
    if (again >= 0 && H5Oget_info3(again, &a, H5O_INFO_BASIC) >= 0 && H5Oget_info3(id, &b, H5O_INFO_BASIC) >= 0 && a.fileno == b.fileno)
        H5Otoken_cmp(id, &a.token, &b.token, &cmp);
    one_slash(name);
    say(s->o, "%s%s%s", what, cmp ? NO_NAME : HAS_NAME, cmp || !exact ? "" : name);
    if (again >= 0)
        H5Oclose(again);
    H5Eclear2(H5E_DEFAULT);
}

static void named(struct side *s, struct rnd *r)
{
    int  slot = some_object(s, r);
    char name[8];
    if (slot < 0)
        return;
    bool by_path = s->by_path[slot], type = H5Iget_type(s->obj[slot]) == H5I_DATATYPE;
    say_name(s, "it", s->obj[slot], by_path && (s->intact[slot] || !type)); /* for types it may forget the move */
    if (rnd_chance(r, 20) && s->intact[slot])
        say(s->o, "its length %zd", H5Iget_name(s->obj[slot], name, 3));
}

/* ---- references ---- */

static void reference_made(struct side *s, struct rnd *r)
{
    unsigned    slot = rnd_below(r, REFS);
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r), *name = some_name(r);
    H5R_ref_t   ref  = {0};
    herr_t      rc   = -1;
    hsize_t     n = 4, start = 1, count = 2;
    hid_t       space = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    say(s->o, "'%s' '%s'", path, name);
    switch (rnd_below(r, 3)) {
        case 0:
            gave(s, "H5Rcreate_object", rc = H5Rcreate_object(loc, path, H5P_DEFAULT, &ref));
            break;
        case 1:
            gave(s, "H5Rcreate_region", rc = H5Rcreate_region(loc, path, space, H5P_DEFAULT, &ref));
            break;
        default:
            gave(s, "H5Rcreate_attr", rc = H5Rcreate_attr(loc, path, name, H5P_DEFAULT, &ref));
            break;
    }
    H5Sclose(space);
    if (rc < 0)
        return;
    if (s->has_ref[slot])
        gave(s, "H5Rdestroy", H5Rdestroy(&s->ref[slot]));
    s->ref[slot]     = ref;
    s->has_ref[slot] = true;
    say(s->o, "kept as r%u", slot);
}

static void reference_used(struct side *s, struct rnd *r)
{
    unsigned slot = rnd_below(r, REFS);
    if (!s->has_ref[slot])
        return;
    H5R_ref_t  *ref  = &s->ref[slot];
    H5R_type_t  kind = H5Rget_type(ref);
    H5O_type_t  type = H5O_TYPE_UNKNOWN;
    char        name[PATH_ROOM] = "";
    say(s->o, "r%u of kind %d", slot, kind);
    if (gave(s, "H5Rget_obj_type3", H5Rget_obj_type3(ref, H5P_DEFAULT, &type)))
        say(s->o, "type %d", type);
    say(s->o, "H5Rget_file_name %d", H5Rget_file_name(ref, NULL, 0) > 0);
    if (kind == H5R_ATTR && gave(s, "H5Rget_attr_name", H5Rget_attr_name(ref, name, sizeof name)))
        say(s->o, "'%s'", name);
    hid_t id = H5Ropen_object(ref, H5P_DEFAULT, H5P_DEFAULT);
    if (id >= 0) {
        say_name(s, "opened by reference", id, false);
        ssize_t n = H5Rget_obj_name(ref, H5P_DEFAULT, name, sizeof name);
        say(s->o, "H5Rget_obj_name %d", n < 0 ? -1 : n > 0);
    }
    keep_object(s, r, "H5Ropen_object", id, BY_SEARCH);
    if (kind == H5R_ATTR) {
        hid_t a = H5Ropen_attr(ref, H5P_DEFAULT, H5P_DEFAULT);
        if (gave(s, "H5Ropen_attr", a)) {
            say_attribute(s, a);
            H5Aclose(a);
        }
    }
    if (kind == H5R_DATASET_REGION2 && type == H5O_TYPE_DATASET) { /* HDF5 looks at anything else as if it were one, and crashes */
        hid_t space = H5Ropen_region(ref, H5P_DEFAULT, H5P_DEFAULT);
        if (gave(s, "H5Ropen_region", space)) {
            say_space(s->o, space);
            say(s->o, "%lld selected", (long long)H5Sget_select_npoints(space));
            H5Sclose(space);
        }
    }
    for (unsigned i = 0; i < REFS; i++)
        if (s->has_ref[i])
            say(s->o, "equals r%u %d", i, H5Requal(ref, &s->ref[i]));
}

const struct tree_op object_ops[] = {
    {"H5Gcreate", 16, group},
    {"H5Dcreate", 8, dataset},
    {"H5Tcommit", 6, type_committed},
    {"opening", 9, opened},
    {"H5Oopen_by_idx", 4, opened_by_idx},
    {"H5Oget_info", 7, info},
    {"H5Oclose", 7, closed},
    {"H5Olink", 4, linked},
    {"H5Oincr_refcount, H5Odecr_refcount", 2, counts},
    {"comments", 4, comments},
    {"H5Ocopy", 6, copied},
    {"creation lists", 4, plist},
    {"H5Iget_name", 6, named},
    {"making a reference", 4, reference_made},
    {"using a reference", 5, reference_used},
    {0},
};
