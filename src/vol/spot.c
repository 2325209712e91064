#include "spot.h"

#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "native.h"

void bkt_spot_fini(struct bkt_spot *s)
{
    bkt_vobj_free(s->group);
    free(s->name);
    *s = (struct bkt_spot){NULL, NULL, false};
}

static int spot_at(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_spot *s, struct bkt_err *err)
{
    const char *last = NULL;
    BKT_PASS(bkt_path_parent(from, path, lapl, &s->group, &last, err));
    s->name = strndup(last, strcspn(last, "/"));
    if (!s->name)
        BKT_NOMEM(err);
    if (s->group->native_id >= 0)
        return BKT_OK;
    if (s->group->obj->kind != BKT_GROUP)
        BKT_FAIL(err, BKT_EINVAL, "%s: '%s' would lie in what is no group", s->group->file->name, path);
    if (!s->name[0] || strcmp(s->name, ".") == 0 || bkt_links_find(&s->group->obj->group.links, s->name))
        BKT_FAIL(err, BKT_EEXIST, "%s: '%s' exists already", s->group->file->name, path);
    return BKT_OK;
}

/* ---- missing groups ---- */

static int make_group(struct bkt_vobj *from, const char *path, hid_t lapl, bool utf8, const char *what, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s    = {NULL, NULL, utf8};
    struct bkt_vobj                           *made = NULL;
    BKT_PASS(spot_at(from, path, lapl, &s, err));
    if (s.group->native_id >= 0) {
        int rc = bkt_native_group_create(s.group, s.name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, &made, err);
        bkt_vobj_free(made);
        return rc;
    }
    BKT_PASS(bkt_change_may(s.group->file, BKT_ACL_CREATE, what, err));
    struct bkt_object *group = bkt_object_make(BKT_GROUP);
    if (!group)
        BKT_NOMEM(err);
    return bkt_spot_put(&s, group, NULL, err);
}

/* All that are missing before the last component. */
static int make_groups(struct bkt_vobj *from, const char *path, hid_t lapl, bool utf8, const char *what, struct bkt_err *err)
{
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    while (end && path[end - 1] != '/')
        end--;
    for (size_t i = strspn(path, "/"); i < end; i += strspn(path + i, "/")) {
        struct bkt_vobj *o     = NULL;
        struct bkt_err   quiet = {.n = 0};
        i += strcspn(path + i, "/");
        BKT_CLEANUP(bkt_freep) char *head = strndup(path, i);
        if (!head)
            BKT_NOMEM(err);
        int rc = bkt_path_open(from, head, lapl, &o, &quiet);
        bkt_vobj_free(o);
        if (rc == BKT_ENOENT)
            rc = make_group(from, head, lapl, utf8, what, err);
        else if (rc < 0)
            (void)bkt_err_copy(err, rc, &quiet);
        BKT_PASS(rc);
    }
    return BKT_OK;
}

/* ---- finding ---- */

static int read_lcpl(hid_t lcpl, bool *groups, bool *utf8, struct bkt_err *err)
{
    unsigned   make = 0;
    H5T_cset_t cset = H5T_CSET_ASCII;
    if (lcpl != H5P_DEFAULT && (H5Pget_create_intermediate_group(lcpl, &make) < 0 || H5Pget_char_encoding(lcpl, &cset) < 0))
        return bkt_h5err_capture(err, "reading the link creation list");
    *groups = make != 0;
    *utf8   = cset == H5T_CSET_UTF8;
    return BKT_OK;
}

static int find(struct bkt_vobj *from, const char *path, hid_t lcpl, hid_t lapl, const char *what, struct bkt_spot *s,
                struct bkt_err *err)
{
    struct bkt_err first = {.n = 0};
    bool           groups = false;
    BKT_PASS(read_lcpl(lcpl, &groups, &s->name_utf8, err));
    int rc = spot_at(from, path, lapl, s, &first);
    if (rc == BKT_ENOENT && groups) {
        bool utf8 = s->name_utf8;
        bkt_spot_fini(s);
        s->name_utf8 = utf8;
        BKT_PASS(make_groups(from, path, lapl, utf8, what, err));
        BKT_PASS(spot_at(from, path, lapl, s, err));
    } else if (rc < 0)
        return bkt_err_copy(err, rc, &first);
    return s->group->native_id >= 0 ? BKT_OK : bkt_change_may(s->group->file, BKT_ACL_CREATE, what, err);
}

int bkt_spot_find(struct bkt_vobj *from, const char *path, hid_t lcpl, hid_t lapl, const char *what, struct bkt_spot *out,
                  struct bkt_err *err)
{
    *out   = (struct bkt_spot){NULL, NULL, false};
    int rc = find(from, path, lcpl, lapl, what, out, err);
    if (rc < 0)
        bkt_spot_fini(out);
    return rc;
}

/* ---- putting ---- */

int bkt_spot_link(struct bkt_spot *s, struct bkt_link *l, struct bkt_err *err)
{
    l->name      = strdup(s->name);
    l->name_utf8 = s->name_utf8;
    int rc       = l->name ? bkt_edit_link(s->group->file->dom, &s->group->obj->id, l, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        bkt_link_fini(l);
    return rc;
}

static int show(struct bkt_file *f, const struct bkt_id *id, const char *path, struct bkt_vobj **out, struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    BKT_PASS(bkt_domain_get(f->dom, id, &o, err));
    *out = bkt_vobj_new(f, bkt_vobj_type_of(o), o, path);
    return *out ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_spot_put(struct bkt_spot *s, struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    struct bkt_link                          l    = {.cls = BKT_L_HARD};
    struct bkt_vobj                         *made = NULL;
    const char                              *base = s->group->path;
    if (base && bkt_buf_addf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base, s->name) < 0) {
        bkt_object_free(o);
        BKT_NOMEM(err);
    }
    BKT_PASS(bkt_edit_add(s->group->file->dom, o, &l.id, err));
    BKT_PASS(show(s->group->file, &l.id, base ? bkt_buf_str(&path) : NULL, &made, err)); /* holds it, until it is linked */
    int rc = bkt_spot_link(s, &l, err);
    if (rc == BKT_OK && out) {
        *out = made;
        made = NULL;
    }
    bkt_vobj_free(made);
    return rc;
}

int bkt_spot_put_anonymous(struct bkt_file *f, struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_id id;
    BKT_PASS(bkt_edit_add(f->dom, o, &id, err));
    return show(f, &id, NULL, out, err);
}
