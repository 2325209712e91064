#include "tools/bucket/plain_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_object.h"

struct walk {
    unsigned levels;
    bool     attrs;
    int (*each)(const struct plain_step *s, void *arg);
    void           *arg;
    struct bkt_err *err;
    struct bkt_map *met; /* token -> path, owned */
};

/* ---- links ---- */

struct members {
    struct bkt_link *v;
    size_t           n, cap;
};

static void members_fini(struct members *m)
{
    for (size_t i = 0; i < m->n; i++)
        bkt_link_fini(&m->v[i]);
    free(m->v);
}

static int take_target(hid_t group, const H5L_info2_t *info, struct bkt_link *l)
{
    const char *file = NULL, *path = NULL;
    unsigned    flags;
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, info->u.val_size + 1);
    if (!value)
        return BKT_ENOMEM;
    if (H5Lget_val(group, l->name, value, info->u.val_size, H5P_DEFAULT) < 0)
        return BKT_OK; /* shown without a target */
    if (info->type == H5L_TYPE_SOFT)
        path = value;
    else if (H5Lunpack_elink_val(value, info->u.val_size, &flags, &file, &path) < 0)
        return BKT_OK;
    l->path = strdup(path);
    l->file = file ? strdup(file) : NULL;
    return l->path && (!file || l->file) ? BKT_OK : BKT_ENOMEM;
}

static herr_t one_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct members *m = arg;
    if (bkt_list_room(&m->v, m->n, &m->cap, sizeof *m->v) < 0)
        return -1;
    struct bkt_link *l = &m->v[m->n];
    *l = (struct bkt_link){.name = strdup(name), .cls = BKT_L_OTHER};
    if (!l->name)
        return -1;
    m->n++;
    if (info->type == H5L_TYPE_HARD)
        l->cls = BKT_L_HARD;
    if (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL) {
        l->cls = info->type == H5L_TYPE_SOFT ? BKT_L_SOFT : BKT_L_EXTERNAL;
        return take_target(group, info, l) < 0 ? -1 : 0;
    }
    return 0;
}

/* ---- objects ---- */

static int visit(struct walk *w, hid_t loc, const char *name, const char *path, const struct bkt_link *link,
                 unsigned depth);

static int visit_member(struct walk *w, hid_t group, const char *path, const struct bkt_link *l,
                        unsigned depth)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf sub = {0};
    if (bkt_link_path(path, l->name, &sub) < 0)
        BKT_NOMEM(w->err);
    if (l->cls == BKT_L_HARD)
        return visit(w, group, l->name, bkt_buf_str(&sub), l, depth + 1);
    struct plain_step s = {.s = {.path = bkt_buf_str(&sub), .link = l}, .id = H5I_INVALID_HID};
    return w->each(&s, w->arg);
}

static int visit_members(struct walk *w, hid_t group, const char *path, unsigned depth)
{
    BKT_CLEANUP(members_fini) struct members m = {0};
    hsize_t                                  at = 0;
    if (depth >= BKT_WALK_DEPTH)
        BKT_FAIL(w->err, BKT_EUNSUP, "groups are nested deeper than %d: %s", BKT_WALK_DEPTH, path);
    if (H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, &at, one_link, &m) < 0)
        return h5_fail(w->err, path);
    for (size_t i = 0; i < m.n; i++)
        BKT_PASS(visit_member(w, group, path, &m.v[i], depth));
    return BKT_OK;
}

static int note(struct walk *w, const H5O_token_t *token, const char *path)
{
    char *keep = strdup(path);
    if (keep && bkt_map_put(w->met, token, sizeof *token, keep, NULL) == BKT_OK)
        return BKT_OK;
    free(keep);
    BKT_NOMEM(w->err);
}

/* Apart, so that the error's room isn't on the stack at every level. */
static __attribute__((noinline)) int cannot(struct walk *w, const char *path, const struct bkt_link *link,
                                            struct bkt_err *why)
{
    struct plain_step s = {.s = {.path = path, .link = link, .why = why}, .id = H5I_INVALID_HID};
    return w->each(&s, w->arg);
}

static __attribute__((noinline)) int show(struct walk *w, hid_t id, const H5O_info2_t *info, const char *path,
                                          const struct bkt_link *link, const char *same)
{
    struct bkt_err     why = {.n = 0};
    struct bkt_object *o   = NULL;
    int rc = plain_object(id, info, w->attrs && !same, &o, &why);
    if (rc < 0)
        return rc == BKT_ENOMEM ? bkt_err_copy(w->err, rc, &why) : cannot(w, path, link, &why);
    struct plain_step s = {.s = {.path = path, .link = link, .obj = o, .same = same}, .id = id, .info = info};
    rc = w->each(&s, w->arg);
    bkt_object_release(o);
    return rc;
}

static __attribute__((noinline)) int no_object(struct walk *w, const char *path, const struct bkt_link *link)
{
    struct bkt_err why = {.n = 0};
    (void)h5_fail(&why, path);
    return cannot(w, path, link, &why);
}

static int visit(struct walk *w, hid_t loc, const char *name, const char *path, const struct bkt_link *link,
                 unsigned depth)
{
    H5O_info2_t                  info;
    BKT_CLEANUP(h5_closep) hid_t id = H5Oopen(loc, name, H5P_DEFAULT);
    if (id < 0 || H5Oget_info3(id, &info, H5O_INFO_BASIC | H5O_INFO_TIME | H5O_INFO_NUM_ATTRS) < 0)
        return no_object(w, path, link);
    const char *same = bkt_map_get(w->met, &info.token, sizeof info.token);
    BKT_PASS(show(w, id, &info, path, link, same));
    if (same)
        return BKT_OK;
    BKT_PASS(note(w, &info.token, path));
    return info.type == H5O_TYPE_GROUP && depth < w->levels ? visit_members(w, id, path, depth) : BKT_OK;
}

int plain_walk(hid_t file, const char *path, unsigned levels, bool attrs,
               int (*each)(const struct plain_step *s, void *arg), void *arg, struct bkt_err *err)
{
    struct walk w = {.levels = levels, .attrs = attrs, .each = each, .arg = arg, .err = err};
    BKT_CLEANUP(h5_closep) hid_t at = H5Oopen(file, path, H5P_DEFAULT);
    if (at < 0) {
        (void)h5_fail(err, path);
        return BKT_ENOENT;
    }
    if (!(w.met = bkt_map_new()))
        BKT_NOMEM(err);
    int rc = visit(&w, file, path, path, NULL, 0);
    bkt_map_free(w.met, free);
    return rc;
}
