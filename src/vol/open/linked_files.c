/* Files that an open file keeps open since its external links led to them.  They are searched here. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "schema/name/uri.h"
#include "vol/open/file_calls.h"
#include "vol/open/linked_files.h"
#include "vol/open/mounted_files.h"
#include "vol/plain/plain_file.h"
#include "vol/plain/remote_file.h"

/* A file that external links of another one led to. */
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
    bkt_vobj_forget_id(e->native);
    bkt_vobj_drop_id(e->fapl);
    free(e->name);
    free(e->where);
    free(e);
}

void bkt_file_drop_links(struct bkt_file *f)
{
    bkt_file_drop_mounts(f);
    while (f->exts) {
        struct bkt_ext *e = f->exts;
        f->exts           = e->next;
        ext_free(e);
    }
}

/* ---- the search for the file behind an external link ----
 *
 * HDF5's own search (H5F_prefix_open_file) in terms of stores, and the settings of the link access list
 * (H5Pset_elink_prefix, _acc_flags, _fapl, _cb). */

/* Where such a file is looked for, and how it is opened. */
struct access {
    char prefix[1024]; /* H5Pset_elink_prefix; "" none */
    const char *env;   /* $HDF5_EXT_PREFIX, or NULL; borrowed */
    unsigned flags;    /* H5F_ACC_RDWR or 0 */
    bool flags_given;  /* the program set `flags`; else opened as the file that holds the link, if
                         possible */
    hid_t fapl;        /* H5Pset_elink_fapl, owned; H5I_INVALID_HID: as for that file */
};
/* One of the two is set. */
struct found {
    struct bkt_file *domain; /* one reference */
    hid_t native;            /* a plain HDF5 file */
};

/* The search for one file. */
struct search {
    struct bkt_file *f; /* holds the link */
    const struct access *how;
    struct found *found;
    bool local;
};

/* ---- one name ---- */

/* The settings of a file: those of the program's list (H5Pset_elink_fapl) if it is one for this connector,
 * else f's.  @p own: bkt_settings_fini() if it is returned */
static int settings_for(const struct search *s, struct bkt_settings *own, const struct bkt_settings **set,
                        struct bkt_err *err)
{
    *set = bkt_domain_settings(s->f->dom);
    if (s->how->fapl < 0 || !bkt_file_fapl_has_connector(s->how->fapl))
        return BKT_OK;
    *set = own;
    return bkt_file_settings(s->how->fapl, own, err);
}

static int open_with(const struct search *s, const char *as, const struct bkt_settings *set, unsigned flags,
                     struct bkt_err *err)
{
    return bkt_file_open_domain(as, flags, s->how->fapl >= 0 ? s->how->fapl : s->f->fapl, set,
                                &s->found->domain, err);
}

/* A child is opened with the parent's access.  If it can't be written (a read-only folder, another owner's
 * bucket), it is opened for reading, unless the program set the access itself. */
static int open_domain(const struct search *s, const char *as, const struct bkt_settings *set,
                       struct bkt_err *err)
{
    int rc = open_with(s, as, set, s->how->flags, err);
    if (rc != BKT_EACCES || !(s->how->flags & H5F_ACC_RDWR) || s->how->flags_given)
        return rc;
    bkt_err_clear(err);
    return open_with(s, as, set, H5F_ACC_RDONLY, err);
}

static int open_plain(const struct search *s, const char *as, struct bkt_err *err)
{
    struct bkt_err quiet = {.n = 0};
    bool write = (s->how->flags & H5F_ACC_RDWR) != 0;
    if (s->how->flags_given)
        return bkt_native_linked(as, s->how->flags, s->how->fapl, &s->found->native, err);
    int rc =
        write ? bkt_native_linked(as, H5F_ACC_RDWR, s->how->fapl, &s->found->native, &quiet) : BKT_EACCES;
    return rc == BKT_OK || rc == BKT_ENOENT
               ? rc
               : bkt_native_linked(as, H5F_ACC_RDONLY, s->how->fapl, &s->found->native, err);
}

/* A domain, or a plain file in a store: both are asked for at once. */
static int open_remote(const struct search *s, const char *as, const struct bkt_settings *set,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_remote_fini) struct bkt_remote r;
    unsigned flags = s->how->flags_given ? s->how->flags : H5F_ACC_RDONLY;
    BKT_PASS(bkt_remote_find(as, set, &r, err));
    bkt_remote_ask(&r, s->how->fapl, set);
    struct bkt_err why = {.n = 0};
    int rc = open_domain(s, as, set, &why);
    if (rc < 0 && bkt_remote_instead(&r, rc) && !bkt_remote_is_local(&r)) {
        int plain = bkt_remote_open(&r, flags, s->how->fapl, set, &s->found->native, err);
        if (plain != BKT_ENOENT)
            return plain;
        bkt_err_clear(err);
    }
    return rc == BKT_OK || rc == BKT_ENOENT ? rc : bkt_err_copy(err, rc, &why);
}

/* A local domain's link may also name a plain HDF5 file (beside it, or anywhere on this machine, as in
 * HDF5).  A remote domain never makes the connector open a local file. */
static int try_name(const struct search *s, const char *as, struct bkt_err *err)
{
    struct bkt_settings own;
    const struct bkt_settings *set = NULL;
    BKT_PASS(settings_for(s, &own, &set, err));
    int rc = open_remote(s, as, set, err);
    if (set == &own)
        bkt_settings_fini(&own);
    return rc == BKT_ENOENT && s->local ? open_plain(s, as, err) : rc;
}

/* ---- which names ---- */

static int absolute(const char *path, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_str(out, "file://"));
    return bkt_name_absolute(path, out, NULL);
}

static int in_bucket(const struct search *s, const char *name, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s%s%s", bkt_store_uri(bkt_domain_store(s->f->dom)), *name == '/' ? "" : "/",
                        name);
}

/* The folder of the domain that holds the link: "home/joe/" for home/joe/a.h5. */
static int beside(const struct search *s, const char *name, struct bkt_buf *out)
{
    const char *self = bkt_domain_name(s->f->dom);
    const char *slash = strrchr(self, '/');
    BKT_PASS(bkt_buf_add(out, self, slash ? (size_t)(slash - self) + 1 : 0));
    return bkt_buf_add_str(out, name);
}

static int try_beside(const struct search *s, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    BKT_PASS_MEM(err, beside(s, name, &b));
    return try_name(s, bkt_buf_str(&b), err);
}

/* A prefix comes from the program.  For a domain in a folder it is treated as in HDF5; elsewhere, like the
 * link itself. */
static int try_prefix(const struct search *s, const char *prefix, size_t n, const char *name,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf both = {0}, as = {0};
    if (n == 0)
        return BKT_ENOENT;
    BKT_PASS_MEM(err, bkt_buf_addf(&both, "%.*s%s%s", (int)n, prefix, prefix[n - 1] == '/' ? "" : "/", name));
    const char *path = bkt_buf_str(&both);
    if (bkt_name_is_uri(path)) {
        BKT_PASS(bkt_domain_may_link(s->f->dom, path, err));
        return try_name(s, path, err);
    }
    int rc = s->local ? absolute(path, &as) : *path == '/' ? in_bucket(s, path, &as) : beside(s, path, &as);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc < 0 ? BKT_ENOENT : try_name(s, bkt_buf_str(&as), err);
}

/* $HDF5_EXT_PREFIX: several prefixes, with colons between them; s3://bucket counts as one. */
static int try_prefixes(const struct search *s, const char *list, const char *name, struct bkt_err *err)
{
    int rc = BKT_ENOENT;
    while (list && *list && rc == BKT_ENOENT) {
        size_t n = strcspn(list, ":");
        if (strncmp(list + n, "://", 3) == 0)
            n += 3 + strcspn(list + n + 3, ":");
        rc = try_prefix(s, list, n, name, err);
        list += n + (list[n] == ':');
    }
    return rc;
}

/* If the domain's folder is a symbolic link, search beside its target. */
static int try_resolved(const struct search *s, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf as = {0};
    const char *dir = bkt_domain_name(s->f->dom);
    const char *at = strncmp(dir, "file://", 7) == 0 ? dir + 7 : dir;
    BKT_CLEANUP(bkt_freep) char *real = realpath(at, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    if (!slash || strcmp(real, at) == 0)
        return BKT_ENOENT;
    BKT_PASS_MEM(err, bkt_buf_addf(&as, "file://%.*s/%s", (int)(slash - real), real, name));
    return try_name(s, bkt_buf_str(&as), err);
}

/* Try the name itself.  HDF5 then goes on with the last component, as if it were the whole name. */
static int try_absolute(const struct search *s, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
    BKT_NEED(err, in_bucket(s, name, &a) >= 0 && bkt_buf_addf(&b, "file://%s", name) >= 0);
    int rc = try_name(s, bkt_buf_str(&a), err);
    if (rc == BKT_ENOENT && s->local && strcmp(bkt_buf_str(&a), bkt_buf_str(&b)) != 0)
        rc = try_name(s, bkt_buf_str(&b), err);
    return rc;
}

static int try_relative(const struct search *s, const char *name, struct bkt_err *err)
{
    int rc = try_prefixes(s, s->how->env, name, err);
    if (rc == BKT_ENOENT)
        rc = try_prefix(s, s->how->prefix, strlen(s->how->prefix), name, err);
    if (rc == BKT_ENOENT)
        rc = try_beside(s, name, err);
    if (rc == BKT_ENOENT && s->local)
        rc = try_prefix(s, "./", 2, name, err);
    return rc == BKT_ENOENT && s->local ? try_resolved(s, name, err) : rc;
}

/* Look for the file @p name of a link in @p f: under the name itself if it is absolute, under the prefixes,
 * and beside f.  For a domain in a folder of this machine, also from the working folder and beside the file
 * that f's name leads to.
 * @return BKT_OK: @p found is the caller's; BKT_ENOENT, @p err untouched: not found; BKT_EACCES: the link
 * must not be followed (DESIGN.md, [I2]) */
static int search_file(struct bkt_file *f, const char *name, const struct access *how, struct found *found,
                       struct bkt_err *err)
{
    struct search s = {f, how, found, bkt_store_is_local(bkt_domain_store(f->dom))};
    *found = (struct found){NULL, H5I_INVALID_HID};
    if (strncmp(name, "hdf5://", 7) == 0)
        name += 6;
    else if (strncmp(name, "hdf5:/", 6) == 0)
        name += 5;
    if (bkt_name_is_uri(name)) { /* the text of a domain's author decides nothing about other stores [I2] */
        BKT_PASS(bkt_domain_may_link(f->dom, name, err));
        return try_name(&s, name, err);
    }
    int rc = BKT_ENOENT;
    if (*name == '/') {
        rc = try_absolute(&s, name, err);
        name = strrchr(name, '/') + 1;
    }
    return rc == BKT_ENOENT && *name ? try_relative(&s, name, err) : rc;
}

/* ---- the link access list ---- */

static bool is_link_list(hid_t lapl)
{
    return lapl != H5P_DEFAULT && lapl >= 0 && H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0;
}

/* The program's callback may check each link that is followed, refuse it, and change how its file is
 * opened. */
static int ask_program(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct access *how,
                       struct bkt_err *err)
{
    H5L_elink_traverse_t fn = NULL;
    void *arg = NULL;
    unsigned flags = how->flags;
    BKT_NEED_H5(err, H5Pget_elink_cb(lapl, &fn, &arg) >= 0, "H5Pget_elink_cb");
    if (!fn)
        return BKT_OK;
    if (how->fapl < 0)
        how->fapl = H5Pcopy(f->fapl);
    BKT_NEED_H5(err, how->fapl >= 0, "copying the file access list");
    BKT_FAIL_IF(err, fn(f->name, l->group, l->file, l->object, &flags, how->fapl, arg) < 0, BKT_ECANCEL,
                "external link to '%s': the program's callback (H5Pset_elink_cb) refused it", l->file);
    BKT_FAIL_IF(err, flags & (H5F_ACC_TRUNC | H5F_ACC_EXCL), BKT_EINVAL,
                "external link to '%s': the program's callback asks for a file to be created", l->file);
    how->flags_given = how->flags_given || flags != how->flags;
    how->flags = flags & H5F_ACC_RDWR;
    return BKT_OK;
}

static void access_fini(struct access *how)
{
    bkt_vobj_drop_id(how->fapl);
    how->fapl = H5I_INVALID_HID;
}

/* Fill @p how from the link access list @p lapl, for a link in @p f; its callback (H5Pset_elink_cb) is
 * called.
 * @param lapl  any list; H5P_DEFAULT, and a list that is not a link access list, have no effect
 * @return BKT_OK: access_fini(); BKT_ECANCEL: the callback refused */
static int take_list(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct access *how,
                     struct bkt_err *err)
{
    *how = (struct access){
        .fapl = H5I_INVALID_HID, .flags = f->flags & H5F_ACC_RDWR, .env = getenv("HDF5_EXT_PREFIX")};
    unsigned given = H5F_ACC_DEFAULT;
    hid_t listed = H5P_DEFAULT;
    if (!is_link_list(lapl))
        return BKT_OK;
    BKT_NEED_H5(err,
                H5Pget_elink_prefix(lapl, how->prefix, sizeof how->prefix) >= 0 &&
                    H5Pget_elink_acc_flags(lapl, &given) >= 0 && (listed = H5Pget_elink_fapl(lapl)) >= 0,
                "reading the link access list");
    if (listed != H5P_DEFAULT)
        how->fapl = listed;
    if (given != H5F_ACC_DEFAULT) {
        how->flags = given & H5F_ACC_RDWR;
        how->flags_given = true;
    }
    int rc = ask_program(f, l, lapl, how, err);
    if (rc < 0)
        access_fini(how);
    return rc;
}

/* ---- external files ---- */

/* The program has closed the id more than once.  HDF5 has then stored the file, or does so with its last
 * object. */
static bool is_gone(const struct bkt_ext *e)
{
    return e->native >= 0 && H5Iis_valid(e->native) <= 0;
}

static int flush_plain(const struct bkt_ext *e, struct bkt_err *err)
{
    BKT_TRY(err, BKT_PASS_H5(err, H5Fflush(e->native, H5F_SCOPE_LOCAL), "H5Fflush"),
            "flushing plain HDF5 file %s", e->name);
    return BKT_OK;
}

static bool is_unused(const struct bkt_ext *e)
{
    if (e->domain)
        return e->domain->refs == 1 && !bkt_domain_is_dirty(e->domain->dom) &&
               !bkt_chunks_dirty(e->domain->dom);
    return e->native >= 0 && (is_gone(e) || H5Fget_obj_count(e->native, H5F_OBJ_ALL) == 1);
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
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    for (struct bkt_mount *m = f->mounts; m; m = m->next)
        bkt_err_keep_first(&rc, err, fn(m->child, &why), &why);
    for (struct bkt_ext *e = f->exts; e; e = e->next) {
        int one = e->domain ? fn(e->domain, &why) : BKT_OK;
        if (e->native >= 0 && e->flags & H5F_ACC_RDWR && !is_gone(e))
            one = flush_plain(e, &why);
        bkt_err_keep_first(&rc, err, one, &why);
    }
    return rc;
}

bool bkt_file_leads_to(const struct bkt_file *f, const struct bkt_file *to)
{
    bool found = f == to;
    for (const struct bkt_mount *m = f->mounts; m && !found; m = m->next)
        found = bkt_file_leads_to(m->child, to);
    for (const struct bkt_ext *e = f->exts; e && !found; e = e->next)
        found = e->domain && bkt_file_leads_to(e->domain, to);
    return found;
}

/* Takes over the found file, and the list. */
static int ext_add(struct bkt_file *f, const char *name, char *where, struct access *how,
                   const struct found *found, struct bkt_err *err)
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
    bkt_vobj_keep_id(e->native);
    e->flags  = how->flags;
    e->next   = f->exts;
    f->exts   = e;
    f->drop_links = bkt_file_drop_links;
    how->fapl = H5I_INVALID_HID;
    return BKT_OK;
}

static bool is_same(const struct bkt_ext *e, const char *name, const char *where, const struct access *how)
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

/* The file is the first of the list afterwards, which begins with the last one used. */
static int find(struct bkt_file *f, const char *name, struct access *how, struct bkt_err *err)
{
    struct bkt_ext **p = &f->exts;
    char *where = NULL;
    struct found found;
    BKT_PASS_MEM(err, asprintf(&where, "%s\n%s", how->env ? how->env : "", how->prefix));
    while (*p && (is_gone(*p) || !is_same(*p, name, where, how)))
        p = &(*p)->next;
    struct bkt_ext *e = *p;
    if (e) {
        *p = e->next;
        e->next = f->exts;
        f->exts = e;
        free(where);
        return BKT_OK;
    }
    close_plain(f, name);
    int rc = search_file(f, name, how, &found, err);
    if (rc == BKT_OK)
        return ext_add(f, name, where, how, &found, err);
    free(where);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_ENOENT, "external link to '%s': no such domain or file beside %s",
                name, f->name);
    return rc;
}

/* As find(), and gives the file.  @p how: released in any case */
static int find_file(struct bkt_file *f, const char *name, struct access *how, struct bkt_file **domain,
                     hid_t *native, struct bkt_err *err)
{
    int rc = find(f, name, how, err);
    access_fini(how);
    BKT_PASS(rc);
    assert(f->exts); /* for clang's analyzer */
    *domain = f->exts->domain;
    *native = f->exts->native;
    return BKT_OK;
}

int bkt_file_follow(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct bkt_file **domain,
                    hid_t *native, struct bkt_err *err)
{
    struct access how;
    BKT_PASS(take_list(f, l, lapl, &how, err));
    return find_file(f, l->file, &how, domain, native, err);
}

int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix,
                    struct bkt_file **domain, hid_t *native, struct bkt_err *err)
{
    struct access how = {.fapl = H5I_INVALID_HID, .flags = f->flags & H5F_ACC_RDWR, .env = env};
    (void)snprintf(how.prefix, sizeof how.prefix, "%s", prefix);
    return find_file(f, name, &how, domain, native, err);
}

int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain, hid_t *native,
                      struct bkt_err *err)
{
    return bkt_file_follow(f, &(struct bkt_ext_link){.file = name}, H5P_DEFAULT, domain, native, err);
}
