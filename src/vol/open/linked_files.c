/* Files that an open file keeps open: files that its external links led to, and files mounted on it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vol/open/external_search.h"
#include "schema/edit/edit.h"
#include "chunk/write/write.h"

struct bkt_ext {
    char            *name;   /* as stored in the link */
    char            *where;  /* the prefixes under which it was searched */
    hid_t            fapl;   /* the program's list for it, or H5I_INVALID_HID */
    struct bkt_file *domain; /* one reference, or NULL */
    hid_t            native; /* or a plain HDF5 file */
    unsigned         flags;  /* H5F_ACC_RDWR: opened for writing, if possible */
    struct bkt_ext  *next;
};

static void ext_free(struct bkt_ext *e)
{
    if (e->domain)
        bkt_file_release(e->domain);
    bkt_vobj_drop_id(e->native);
    bkt_vobj_drop_id(e->fapl);
    free(e->name);
    free(e->where);
    free(e);
}

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

void bkt_file_drop_links(struct bkt_file *f)
{
    while (f->mounts) {
        struct bkt_mount *m = f->mounts;
        f->mounts           = m->next;
        mount_free(m);
    }
    while (f->exts) {
        struct bkt_ext *e = f->exts;
        f->exts           = e->next;
        ext_free(e);
    }
}

/* ---- external files ---- */

static bool is_unused(const struct bkt_ext *e)
{
    if (e->domain)
        return e->domain->refs == 1 && !bkt_domain_is_dirty(e->domain->dom) &&
               !bkt_chunks_dirty(e->domain->dom);
    return e->native >= 0 && H5Fget_obj_count(e->native, H5F_OBJ_ALL) == 1;
}

void bkt_file_drop_unused(void)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f;) {
        struct bkt_ext **p = &f->exts;
        while (*p && !is_unused(*p))
            p = &(*p)->next;
        if (!*p) {
            f = bkt_file_next(f);
            continue;
        }
        struct bkt_ext *e = *p;
        *p                = e->next;
        ext_free(e);
        f = bkt_file_next(NULL); /* closing it may have closed other files */
    }
}

int bkt_file_each_inner(struct bkt_file *f, int (*fn)(struct bkt_file *inner, struct bkt_err *err),
                        struct bkt_err *err)
{
    struct bkt_err also = {.n = 0};
    int            rc   = BKT_OK;
    for (struct bkt_mount *m = f->mounts; m; m = m->next) {
        int one = fn(m->child, rc < 0 ? &also : err);
        rc      = rc < 0 ? rc : one;
    }
    for (struct bkt_ext *e = f->exts; e; e = e->next) {
        int one = e->domain ? fn(e->domain, rc < 0 ? &also : err) : BKT_OK;
        if (e->native >= 0 && e->flags & H5F_ACC_RDWR)
            one = PASS_ON(rc < 0 ? &also : err, H5Fflush(e->native, H5F_SCOPE_LOCAL),
                          "flushing a plain HDF5 file");
        rc = rc < 0 ? rc : one;
    }
    return rc;
}

/* Takes over the found file, and the list. */
static int ext_add(struct bkt_file *f, const char *name, char *where, struct bkt_ext_how *how,
                   const struct bkt_ext_found *found, struct bkt_err *err)
{
    struct bkt_ext *e = calloc(1, sizeof *e);
    if (!e || !(e->name = strdup(name))) {
        free(e);
        free(where);
        if (found->domain)
            bkt_file_release(found->domain);
        bkt_vobj_drop_id(found->native);
        BKT_NOMEM(err);
    }
    e->where  = where;
    e->fapl   = how->fapl;
    e->domain = found->domain;
    e->native = found->native;
    e->flags  = how->flags;
    e->next   = f->exts;
    f->exts   = e;
    how->fapl = H5I_INVALID_HID;
    return BKT_OK;
}

static bool is_same(const struct bkt_ext *e, const char *name, const char *where,
                    const struct bkt_ext_how *how)
{
    if (strcmp(e->name, name) != 0 || strcmp(e->where, where) != 0 || e->flags != how->flags)
        return false;
    return (e->fapl < 0 && how->fapl < 0) ||
           (e->fapl >= 0 && how->fapl >= 0 && H5Pequal(e->fapl, how->fapl) > 0);
}

/* If a plain file is open already, HDF5 returns it as it was opened first.  So an unused one is closed
 * before it is opened in another way. */
static void close_plain(struct bkt_file *f, const char *name)
{
    for (struct bkt_ext **p = &f->exts; *p;) {
        struct bkt_ext *e = *p;
        if (e->native < 0 || strcmp(e->name, name) != 0 || !is_unused(e)) {
            p = &e->next;
            continue;
        }
        *p = e->next;
        ext_free(e);
    }
}

static int find(struct bkt_file *f, const char *name, struct bkt_ext_how *how, struct bkt_err *err)
{
    struct bkt_ext      *e     = f->exts;
    char                *where = NULL;
    struct bkt_ext_found found;
    BKT_PASS_MEM(err, asprintf(&where, "%s\n%s", how->env ? how->env : "", how->prefix));
    while (e && !is_same(e, name, where, how))
        e = e->next;
    if (e) { /* move it to the front: the list begins with the last one used */
        struct bkt_ext **p = &f->exts;
        while (*p != e)
            p = &(*p)->next;
        *p      = e->next;
        e->next = f->exts;
        f->exts = e;
        free(where);
        return BKT_OK;
    }
    close_plain(f, name);
    int rc = bkt_ext_search(f, name, how, &found, err);
    if (rc == BKT_OK)
        return ext_add(f, name, where, how, &found, err);
    free(where);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_ENOENT, "external link to '%s': no such domain or file beside %s",
                name, f->name);
    return rc;
}

int bkt_file_follow(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct bkt_file **domain,
                    hid_t *native, struct bkt_err *err)
{
    struct bkt_ext_how how;
    BKT_PASS(bkt_ext_how(f, l, lapl, &how, err));
    int rc = find(f, l->file, &how, err);
    bkt_ext_how_fini(&how);
    BKT_PASS(rc);
    assert(f->exts);
    *domain = f->exts->domain;
    *native = f->exts->native;
    return BKT_OK;
}

int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix,
                    struct bkt_file **domain, hid_t *native, struct bkt_err *err)
{
    struct bkt_ext_how how = {.fapl = H5I_INVALID_HID, .flags = f->flags & H5F_ACC_RDWR, .env = env};
    (void)snprintf(how.prefix, sizeof how.prefix, "%s", prefix);
    BKT_PASS(find(f, name, &how, err));
    *domain = f->exts->domain;
    *native = f->exts->native;
    return BKT_OK;
}

int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain, hid_t *native,
                      struct bkt_err *err)
{
    return bkt_file_follow(f, &(struct bkt_ext_link){.file = name}, H5P_DEFAULT, domain, native, err);
}

/* ---- mounts ---- */

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
    assert(f && child);
    for (const struct bkt_file *p = f; p; p = bkt_file_parent(p))
        BKT_FAIL_IF(err, p == child || p->dom == child->dom, BKT_EINVAL, "mounting %s would make a cycle",
                    child->name);
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
