/* Files that are mounted on groups of an open file (H5Fmount); they change the names of open objects. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vol/open/linked_files.h"
#include "vol/open/mounted_files.h"

/* Whether @p name lies below @p path, or (@p or_it) is equal to it. */
static bool is_below(const char *name, const char *path, bool or_it)
{
    size_t n = path && strcmp(path, "/") != 0 ? strlen(path) : 0;
    return name && path && strncmp(name, path, n) == 0 && (name[n] == '/' ? n || name[1] : or_it && !name[n]);
}

/* Objects that were opened below the mount point before have no name while a file is mounted there. */
static void hide(const struct bkt_file *parent, const struct bkt_mount *m, bool hidden)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == parent->dom ? f->objects : NULL; o; o = o->next)
            if (!o->by_mount && is_below(o->path, m->path, false) && (hidden || o->hidden))
                o->hidden = hidden ? o->hidden + 1 : o->hidden - 1;
}

/* Objects that were opened through the mount get their names in their own file. */
static void rename_child(const struct bkt_mount *m)
{
    for (struct bkt_vobj *o = m->child->objects; o; o = o->next)
        if (o->by_mount && is_below(o->path, m->path, true)) {
            char *rest = o->path + (strcmp(m->path, "/") != 0 ? strlen(m->path) : 0);
            if (*rest)
                memmove(o->path, rest, strlen(rest) + 1);
            else
                o->path[1] = 0;
            o->by_mount = false;
        }
}

static void mount_free(struct bkt_mount *m)
{
    rename_child(m);
    bkt_file_release(m->child);
    free(m->path);
    free(m);
}

void bkt_file_drop_mounts(struct bkt_file *f)
{
    while (f->mounts) {
        struct bkt_mount *m = f->mounts;
        f->mounts           = m->next;
        mount_free(m);
    }
}

struct bkt_file *bkt_file_mounted(const struct bkt_file *f, const struct bkt_id *id)
{
    for (const struct bkt_mount *m = f->mounts; m; m = m->next)
        if (strcmp(m->at.text, id->text) == 0)
            return m->child;
    return NULL;
}

struct bkt_file *bkt_file_parent(const struct bkt_file *child)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (const struct bkt_mount *m = f->mounts; m; m = m->next)
            if (m->child == child)
                return f;
    return NULL;
}

int bkt_file_mount(const struct bkt_vobj *group, struct bkt_file *child, struct bkt_err *err)
{
    struct bkt_file     *f  = group->file;
    const struct bkt_id *at = &group->obj->id;
    assert(f && child); /* for clang's analyzer */
    for (const struct bkt_file *p = f; p; p = bkt_file_parent(p))
        BKT_FAIL_IF(err, p == child || p->dom == child->dom, BKT_EINVAL, "mounting %s would make a cycle",
                    child->name);
    BKT_FAIL_IF(err, bkt_file_leads_to(child, f), BKT_EINVAL,
                "mounting %s would make a cycle: its external links keep %s open", child->name, f->name);
    BKT_FAIL_IF(err, bkt_file_mounted(f, at), BKT_EEXIST, "%s: a file is already mounted on this group",
                f->name);
    BKT_FAIL_IF(err, bkt_file_parent(child), BKT_EEXIST, "%s is mounted already", child->name);
    struct bkt_mount *m    = calloc(1, sizeof *m);
    char             *path = group->path ? strdup(group->path) : NULL;
    if (!m || (group->path && !path)) {
        free(m);
        free(path);
        BKT_NOMEM(err);
    }
    m->at    = *at;
    m->path  = path;
    m->child = child;
    child->refs++;
    m->next   = f->mounts;
    f->mounts = m;
    f->drop_links = bkt_file_drop_links;
    hide(f, m, true);
    return BKT_OK;
}

int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err)
{
    for (struct bkt_mount **p = &f->mounts; *p; p = &(*p)->next)
        if (strcmp((*p)->at.text, at->text) == 0) {
            struct bkt_mount *m = *p;
            *p                  = m->next;
            hide(f, m, false);
            mount_free(m);
            return BKT_OK;
        }
    BKT_FAIL(err, BKT_ENOENT, "%s: nothing is mounted there", f->name);
}
