/* What one open file keeps open besides itself: files that its external links led to, and files mounted on it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "edit.h"
#include "native.h"
#include "write.h"

struct bkt_ext {
    char            *name;
    struct bkt_file *domain; /* one reference, or NULL */
    hid_t            native; /* or a plain HDF5 file */
    unsigned         flags;  /* H5F_ACC_RDWR: may be written, if it can be */
    struct bkt_ext  *next;
};

static void ext_free(struct bkt_ext *e)
{
    if (e->domain)
        bkt_file_release(e->domain);
    bkt_vobj_drop_id(e->native);
    free(e->name);
    free(e);
}

void bkt_file_drop_links(struct bkt_file *f)
{
    while (f->mounts) {
        struct bkt_mount *m = f->mounts;
        f->mounts           = m->next;
        bkt_file_release(m->child);
        free(m);
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
        return e->domain->refs == 1 && !bkt_domain_is_dirty(e->domain->dom) && !bkt_chunks_dirty(e->domain->dom);
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
        f = bkt_file_next(NULL); /* other files may have gone with it */
    }
}

int bkt_file_each_inner(struct bkt_file *f, int (*fn)(struct bkt_file *inner, struct bkt_err *err), struct bkt_err *err)
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
            one = PASS_ON(rc < 0 ? &also : err, H5Fflush(e->native, H5F_SCOPE_LOCAL), "flushing a plain HDF5 file");
        rc = rc < 0 ? rc : one;
    }
    return rc;
}

static int ext_add(struct bkt_file *f, const char *name, struct bkt_file *domain, hid_t native, unsigned flags, struct bkt_err *err)
{
    struct bkt_ext *e = calloc(1, sizeof *e);
    if (!e || !(e->name = strdup(name))) {
        free(e);
        if (domain)
            bkt_file_release(domain);
        if (native >= 0)
            (void)H5Fclose(native);
        BKT_NOMEM(err);
    }
    e->domain = domain;
    e->native = native;
    e->flags  = flags;
    e->next   = f->exts;
    f->exts   = e;
    return BKT_OK;
}

/* The folder that a relative name in @p f is resolved against: "home/joe" for the domain home/joe/a.h5. */
static int sibling(struct bkt_file *f, const char *prefix, const char *name, struct bkt_buf *out)
{
    const char *self  = bkt_domain_name(f->dom);
    const char *slash = strrchr(self, '/');
    size_t      dir   = slash ? (size_t)(slash - self) + 1 : 0;
    BKT_PASS(bkt_buf_add(out, self, dir));
    if (prefix && *prefix)
        BKT_PASS(bkt_buf_addf(out, "%s/", prefix));
    return bkt_buf_add_str(out, name);
}

/* A name as HSDS resolves it: absolute in the same bucket (facts 2.3). */
static int in_bucket(struct bkt_file *f, const char *name, struct bkt_buf *out)
{
    const char *uri = bkt_store_uri(bkt_domain_store(f->dom));
    return bkt_buf_addf(out, "%s%s", uri, name);
}

static bool has_scheme(const char *name)
{
    const char *at = strstr(name, "://");
    return at && !memchr(name, '/', (size_t)(at - name));
}

/* What the parent may be, the child may be; where it can't be written after all (a read-only folder, another's bucket) it can
 * still be read. */
static int open_domain(struct bkt_file *f, const char *as, unsigned flags, struct bkt_file **out, struct bkt_err *err)
{
    int rc = bkt_file_domain(as, flags, f->fapl, bkt_domain_settings(f->dom), out, err);
    if (rc != BKT_EACCES || !(flags & H5F_ACC_RDWR))
        return rc;
    bkt_err_clear(err);
    return bkt_file_domain(as, H5F_ACC_RDONLY, f->fapl, bkt_domain_settings(f->dom), out, err);
}

static int open_plain(const char *as, unsigned flags, hid_t *out, struct bkt_err *err)
{
    struct bkt_err quiet = {.n = 0};
    int            rc    = flags & H5F_ACC_RDWR ? bkt_native_file(as, H5F_ACC_RDWR, out, &quiet) : BKT_EACCES;
    return rc == BKT_OK || rc == BKT_ENOENT ? rc : bkt_native_file(as, H5F_ACC_RDONLY, out, err);
}

static int try_name(struct bkt_file *f, const char *as, const char *name, unsigned flags, struct bkt_err *err)
{
    struct bkt_file *domain = NULL;
    hid_t            native = H5I_INVALID_HID;
    struct bkt_err   quiet  = {.n = 0};
    int              rc     = open_domain(f, as, flags, &domain, &quiet);
    if (rc == BKT_ENOENT) {
        /* A local domain's link may name a plain HDF5 file (beside it, or anywhere on this machine, as in HDF5);
         * a remote domain never makes us open a local file. */
        bool local     = bkt_store_is_local(bkt_domain_store(f->dom));
        int  native_rc = local ? open_plain(as, flags, &native, err) : BKT_ENOENT;
        if (native_rc != BKT_ENOENT)
            rc = native_rc;
    } else if (rc < 0) {
        return bkt_err_copy(err, rc, &quiet);
    }
    return rc < 0 ? rc : ext_add(f, name, domain, native, flags, err);
}

static int try_names(struct bkt_file *f, const char *name, const char *prefix, unsigned flags, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
    int                                      rc = BKT_ENOENT;
    if (strncmp(name, "hdf5:/", 6) == 0 && !has_scheme(name))
        name += 5;
    else if (strncmp(name, "hdf5://", 7) == 0)
        name += 6;
    if (has_scheme(name)) { /* what a domain's author wrote decides nothing about other stores [I2] */
        BKT_PASS(bkt_domain_may_link(f->dom, name, err));
        return try_name(f, name, name, flags, err);
    }
    if (name[0] == '/') {
        if (in_bucket(f, name, &a) < 0)
            BKT_NOMEM(err);
        rc = try_name(f, bkt_buf_str(&a), name, flags, err);
        return rc == BKT_ENOENT && bkt_store_is_local(bkt_domain_store(f->dom)) ? try_name(f, name, name, flags, err) : rc;
    }
    if (sibling(f, prefix, name, &b) < 0)
        BKT_NOMEM(err);
    return try_name(f, bkt_buf_str(&b), name, flags, err);
}

/* H5Pset_elink_acc_flags, or as the file that holds the link. */
static unsigned access_flags(const struct bkt_file *f, hid_t lapl)
{
    unsigned flags = H5F_ACC_DEFAULT;
    if (lapl != H5P_DEFAULT && H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0 && H5Pget_elink_acc_flags(lapl, &flags) < 0)
        flags = H5F_ACC_DEFAULT;
    return (flags == H5F_ACC_DEFAULT ? f->flags : flags) & H5F_ACC_RDWR;
}

int bkt_file_external(struct bkt_file *f, const char *name, hid_t lapl, struct bkt_file **domain, hid_t *native, struct bkt_err *err)
{
    struct bkt_ext *e = f->exts;
    *domain           = NULL;
    *native           = H5I_INVALID_HID;
    unsigned flags = access_flags(f, lapl);
    while (e && (strcmp(e->name, name) != 0 || e->flags != flags))
        e = e->next;
    if (!e) {
        char        prefix[1024] = "";
        const char *env          = getenv("HDF5_EXT_PREFIX");
        if (env && *env)
            (void)snprintf(prefix, sizeof prefix, "%s", env);
        else if (lapl != H5P_DEFAULT && H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0)
            (void)H5Pget_elink_prefix(lapl, prefix, sizeof prefix);
        int rc = try_names(f, name, prefix, flags, err);
        if (rc == BKT_ENOENT)
            BKT_FAIL(err, BKT_ENOENT, "external link to '%s': no such domain or file beside %s", name, f->name);
        BKT_PASS(rc);
        e = f->exts; /* the newest is the first */
        assert(e);
        /* found under the name as stored, whatever was tried */
        char *as_stored = strdup(name);
        if (!as_stored)
            BKT_NOMEM(err);
        free(e->name);
        e->name = as_stored;
    }
    *domain = e->domain;
    *native = e->native;
    return BKT_OK;
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

int bkt_file_mount(struct bkt_file *f, const struct bkt_id *at, struct bkt_file *child, struct bkt_err *err)
{
    assert(f && child);
    for (const struct bkt_file *p = f; p; p = bkt_file_parent(p))
        if (p == child || p->dom == child->dom)
            BKT_FAIL(err, BKT_EINVAL, "mounting %s would make a cycle", child->name);
    if (bkt_file_mounted(f, at))
        BKT_FAIL(err, BKT_EEXIST, "%s: a file is mounted on that group already", f->name);
    if (bkt_file_parent(child))
        BKT_FAIL(err, BKT_EEXIST, "%s is mounted already", child->name);
    struct bkt_mount *m = calloc(1, sizeof *m);
    if (!m)
        BKT_NOMEM(err);
    m->at    = *at;
    m->child = child;
    child->refs++;
    m->next   = f->mounts;
    f->mounts = m;
    return BKT_OK;
}

int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err)
{
    for (struct bkt_mount **p = &f->mounts; *p; p = &(*p)->next)
        if (strcmp((*p)->at.text, at->text) == 0) {
            struct bkt_mount *m = *p;
            *p                  = m->next;
            bkt_file_release(m->child);
            free(m);
            return BKT_OK;
        }
    BKT_FAIL(err, BKT_ENOENT, "%s: nothing is mounted there", f->name);
}
