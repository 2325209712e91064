/* Names on the command line; see bucket_names.h. */
#include "tools/bucket/bucket_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/os/clock.h"
#include "schema/json/acl.h"
#include "schema/json/documents.h"
#include "schema/name/pointer_file.h"
#include "tools/cli/tool.h"
#include "tools/source/plain_name.h"

/* Objects of version 1 at a bucket's top before its listing is given up: 20 lists, one after the other. */
#define MAX_FLAT 20000

/* ---- where ---- */

static bool is_dir(const char *path)
{
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

static void strip(char *path)
{
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
}

/* The longest existing part of @p path, resolved; *rest: the rest, a part of @p path. */
static char *resolve(char *path, const char **rest)
{
    size_t n = strlen(path);
    *rest    = path + n;
    for (;;) {
        char  keep = path[n];
        path[n]    = 0;
        char *abs  = realpath(n ? path : ".", NULL);
        path[n]    = keep;
        if (abs || n == 0)
            return abs;
        while (n > 0 && path[n - 1] != '/')
            n--;
        *rest = path + n;
        while (n > 1 && path[n - 1] == '/')
            n--;
    }
}

static bool has_dots(const char *path)
{
    for (const char *s = path; *s; s += strcspn(s, "/"), s += strspn(s, "/"))
        if (strncmp(s, "..", 2) == 0 && (s[2] == '/' || s[2] == 0))
            return true;
    return false;
}

/* @p of_others: as for bkt_bucket_link(). */
static int refuse_link(const char *path, bool of_others, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf abs = {0};
    int rc = bkt_name_absolute(path, &abs, NULL);
    BKT_PASS_MEM(err, rc == BKT_EIO ? bkt_buf_add_str(&abs, path) : rc);
    BKT_CLEANUP(bkt_freep) char *tidied = strdup(bkt_buf_str(&abs));
    BKT_NEED(err, tidied);
    strip(tidied);
    size_t n = bkt_bucket_link(tidied, of_others);
    BKT_FAIL_IF(err, n && of_others, BKT_EACCES,
                "%.*s is a symbolic link of another user; to follow such links, set links=follow "
                "(H5BUCKET_LINKS)",
                (int)n, tidied);
    BKT_FAIL_IF(err, n, BKT_EACCES,
                "%.*s is a symbolic link, and nothing is deleted through one; name its "
                "target",
                (int)n, tidied);
    return BKT_OK;
}

static bool follows_links(const struct bkt_settings *set)
{
    return set->links && strcmp(set->links, "follow") == 0;
}

/* An existing directory, or a name below one. */
static int open_local(const char *name, const char *path, const struct bkt_settings *set,
                      struct bkt_bucket_place *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char             *copy = strdup(*path ? path : "."), *abs = NULL, *bucket = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri  = {0};
    const char                              *rest = "";
    BKT_NEED(err, copy);
    strip(copy);
    if (!follows_links(set))
        BKT_PASS(refuse_link(copy, true, err));
    abs = resolve(copy, &rest);
    BKT_FAIL_IF(err, !abs || has_dots(rest), BKT_ENOENT, "%s: no such file or directory", name);
    BKT_FAIL_IF(err, !is_dir(abs), BKT_ENOENT, "%s is a plain file, neither a folder nor a domain",
                *rest ? abs : name);
    BKT_NEED(err, (bucket = strdup(strcmp(abs, "/") == 0 ? "" : abs)));
    (void)bkt_bucket_find(bucket);
    const char *dir = *bucket ? bucket : "/", *in = abs + strlen(bucket);
    in += *in == '/';
    if (bkt_buf_addf(&uri, "file://%s", dir) < 0 ||
        asprintf(&out->path, "%s%s%s", in, *in && *rest ? "/" : "", rest) < 0) {
        out->path = NULL;
        BKT_NOMEM(err);
    }
    return bkt_store_open(bkt_buf_str(&uri), set, &out->store, err);
}

/* The default bucket as a directory. */
static const char *local_bucket(const struct bkt_settings *set)
{
    const char *b = set->bucket ? set->bucket : "";
    return strncmp(b, "file://", 7) == 0 ? b + 7 : *b == '/' || *b == '.' ? b : NULL;
}

static int open_in_dir(const char *name, const char *dir, const char *path, const struct bkt_settings *set,
                       struct bkt_bucket_place *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char             *abs = realpath(dir, NULL);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri = {0}, clean = {0};
    BKT_FAIL_IF(err, !abs, BKT_ENOENT, "%s: no such directory (the default bucket)", dir);
    BKT_FAIL_IF(err, has_dots(path), BKT_EINVAL, "%s: \"..\" leads out of the bucket", name);
    BKT_NEED(err, bkt_name_clean(path, &clean) >= 0 && bkt_buf_addf(&uri, "file://%s", abs) >= 0 &&
                      (out->path = strdup(bkt_buf_str(&clean))));
    return bkt_store_open(bkt_buf_str(&uri), set, &out->store, err);
}

/* Everything else. */
static int open_named(const char *name, const struct bkt_settings *set, struct bkt_bucket_place *out,
                      struct bkt_err *err)
{
    struct bkt_name n = {0};
    BKT_PASS(bkt_name_parse(name, set, BKT_NAME_BUCKET, &n, err));
    int rc = bkt_store_open(n.store_uri, set, &out->store, err);
    if (rc == BKT_OK) {
        out->path = n.path;
        n.path    = NULL;
    }
    bkt_name_fini(&n);
    return rc;
}

static bool has_scheme(const char *name)
{
    const char *sep = strstr(name, ":/");
    return sep && !memchr(name, '/', (size_t)(sep - name));
}

static int open_any(const char *name, const struct bkt_settings *set, struct bkt_bucket_place *out,
                    struct bkt_err *err)
{
    const char *dir = local_bucket(set);
    if (strncasecmp(name, "file://", 7) == 0)
        return open_local(name, name + 7, set, out, err);
    if (dir && (strncasecmp(name, "hdf5:/", 6) == 0 || !has_scheme(name)))
        return open_in_dir(name, dir, has_scheme(name) ? name + 6 : name, set, out, err);
    if (has_scheme(name) || (set->bucket && *set->bucket))
        return open_named(name, set, out, err);
    return open_local(name, name, set, out, err);
}

int bkt_bucket_place_open(const char *name, const struct bkt_settings *set, struct bkt_bucket_place *out,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    *out = (struct bkt_bucket_place){NULL, NULL};
    int rc = bkt_pointer_follow(name, set, &target, err);
    if (rc >= 0)
        rc = open_any(rc ? bkt_buf_str(&target) : name, set, out, err);
    if (rc < 0)
        bkt_bucket_place_fini(out);
    return rc < 0 ? rc : BKT_OK;
}

int bkt_bucket_place_may_delete(const char *name, const struct bkt_settings *set, struct bkt_err *err)
{
    bool scheme = strncasecmp(name, "file://", 7) == 0;
    if (!scheme && (has_scheme(name) || (set->bucket && *set->bucket)))
        return BKT_OK;
    return refuse_link(name + (scheme ? 7 : 0), false, err);
}

int bkt_bucket_place_writable(const struct bkt_bucket_place *p, struct bkt_err *err)
{
    return bkt_store_need_writable(p->store, err);
}

void bkt_bucket_place_fini(struct bkt_bucket_place *p)
{
    bkt_store_close(p->store);
    free(p->path);
    *p = (struct bkt_bucket_place){NULL, NULL};
}

char *bkt_bucket_place_name(const struct bkt_store *st, const char *path)
{
    const char *uri = bkt_store_uri(st);
    char       *name;
    return asprintf(&name, "%s%s%s", uri, *path && uri[strlen(uri) - 1] != '/' ? "/" : "", path) < 0 ? NULL
                                                                                                     : name;
}

bool bkt_bucket_place_is_hdf5(struct bkt_store *st, const char *path)
{
    const size_t                             n    = sizeof BKT_HDF5_SIGNATURE - 1;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf head = {0};
    return *path && bkt_store_get(st, path, 0, n, &head, NULL) == BKT_OK && head.len == n &&
           memcmp(head.ptr, BKT_HDF5_SIGNATURE, n) == 0;
}

int bkt_bucket_place_absent(const struct bkt_bucket_place *p, const char *name, const char *what,
                            struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *full = bkt_bucket_place_name(p->store, p->path);
    if (bkt_bucket_place_is_hdf5(p->store,
                                 p->path)) /* the verb fails anyhow: one more request names the remedy */
        BKT_FAIL(err, BKT_ENOENT,
                 "%s is a plain HDF5 file in a store, not a domain; `h5bucket load --link` makes a domain "
                 "that refers to it",
                 name);
    BKT_FAIL_IF(err, !full || strcmp(full, name) == 0, BKT_ENOENT, "%s: %s", name, what);
    BKT_FAIL(err, BKT_ENOENT, "%s (%s): %s", name, full, what);
}

/* ---- documents ---- */

void bkt_doc_fini(struct bkt_doc *d)
{
    bkt_domain_doc_fini(&d->doc);
    bkt_buf_fini(&d->json);
    *d = (struct bkt_doc){.what = BKT_IS_ABSENT};
}

static void take(struct bkt_req *req, struct bkt_doc *d)
{
    d->rc = req->rc;
    if (req->rc == BKT_ENOENT) {
        d->rc = BKT_OK;
    } else if (req->rc < 0) {
        (void)bkt_err_copy(&d->why, req->rc, req->err);
    } else {
        bkt_buf_move(&d->json, &req->body);
        memcpy(d->etag, req->etag, sizeof d->etag);
        d->rc   = bkt_domain_doc_parse(d->json.ptr, d->json.len, &d->doc, &d->why);
        d->what = d->doc.root.text[0] ? BKT_IS_DOMAIN : BKT_IS_FOLDER;
        if (d->rc < 0)
            (void)BKT_ERR(&d->why, d->rc, "%s", req->key);
    }
}

void bkt_docs_get(struct bkt_store *st, char *const *paths, size_t n, struct bkt_doc *out)
{
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    bool fits = bkt_reqs_init(&reqs, n) == BKT_OK;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; fits && i < n; i++) {
        reqs.v[i] = (struct bkt_req){.op = BKT_GET, .len = BKT_WHOLE};
        fits      = bkt_domain_doc_key(paths[i], &reqs.keys[i]) == BKT_OK;
    }
    if (fits)
        bkt_reqs_perform(st, &reqs);
    for (size_t i = 0; i < n; i++)
        if (fits)
            take(&reqs.v[i], &out[i]);
        else
            out[i].rc = BKT_ERR(&out[i].why, BKT_ENOMEM, "out of memory");
}

int bkt_doc_put(struct bkt_store *st, const char *path, const struct bkt_buf *json, const char *etag,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(path, &key));
    return bkt_store_put(st, bkt_buf_str(&key), json->ptr, json->len, etag && *etag ? etag : NULL,
                         etag ? NULL : "*", NULL, err);
}

int bkt_key_delete(struct bkt_store *st, const char *key, struct bkt_err *err)
{
    return bkt_store_delete(st, &key, 1, err);
}

int bkt_doc_delete(struct bkt_store *st, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(path, &key));
    return bkt_key_delete(st, bkt_buf_str(&key), err);
}

/* A load under way, or a killed one, makes no folder of the name of its domain. */
static int on_key(const struct bkt_listed *e, void *arg)
{
    if (strcmp(bkt_base_name(e->key), BKT_LOAD_JOURNAL) == 0)
        return BKT_OK;
    *(bool *)arg = true;
    return BKT_ECANCEL; /* one is enough */
}

int bkt_doc_get(struct bkt_store *st, const char *path, struct bkt_doc *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    bool  some = false;
    char *one  = (char *)(uintptr_t)path; /* not changed */
    bkt_docs_get(st, &one, 1, out);
    if (out->rc < 0)
        return bkt_err_copy(err, out->rc, &out->why);
    if (out->what != BKT_IS_ABSENT)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_addf(&prefix, "%s%s", path, *path ? "/" : ""));
    int rc = bkt_store_list(st, bkt_buf_str(&prefix), "/", on_key, &some, err);
    if (some || !*path) {
        bkt_err_clear(err);
        out->what = BKT_IS_PREFIX;
        return BKT_OK;
    }
    return rc == BKT_EUNSUP ? (bkt_err_clear(err), BKT_OK) : rc;
}

/* Looks for a domain in which the name goes on. */
static int find_above(struct bkt_bucket_place *p, struct bkt_doc *doc, char **inner, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up = strdup(p->path);
    BKT_NEED(err, up);
    while (doc->what == BKT_IS_ABSENT && bkt_name_up(up) && *up) {
        struct bkt_doc above;
        bkt_docs_get(p->store, &up, 1, &above);
        if (above.what != BKT_IS_DOMAIN) {
            bkt_doc_fini(&above);
            continue;
        }
        bkt_doc_fini(doc);
        *doc   = above;
        *inner = strdup(p->path + strlen(up));
        BKT_NEED(err, *inner);
        p->path[strlen(up)] = 0;
    }
    return BKT_OK;
}

int bkt_bucket_place_find(struct bkt_bucket_place *p, struct plain_file *plain,
                          const struct bkt_settings *set, struct bkt_doc *doc, char **inner,
                          struct bkt_err *err)
{
    *inner = NULL;
    BKT_PASS(bkt_doc_get(p->store, p->path, doc, err));
    if (doc->what == BKT_IS_DOMAIN) {
        *inner = strdup("/");
        return BKT_MADE(err, *inner);
    }
    if (doc->what != BKT_IS_FOLDER && plain_file_is(plain, set))
        return BKT_ENOENT;
    return find_above(p, doc, inner, err);
}

int bkt_doc_may(const struct bkt_domain_doc *doc, const char *path, const struct bkt_settings *set,
                unsigned need, struct bkt_err *err)
{
    if (bkt_domain_doc_lets(doc, set->user, need))
        return BKT_OK;
    BKT_FAIL(err, BKT_EACCES, "%s: its access list denies this to user %s (setting user)",
             path && *path ? path : "/", set->user);
}

/* ---- lists ---- */

struct listing {
    size_t flat;
    int (*each)(const char *path, void *arg);
    void       *arg;
};

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct listing *l = arg;
    size_t          n = strlen(e->key);
    if (!e->is_prefix) {
        l->flat += n > 8 && e->key[5] == '-' && e->key[7] == '-' && strchr("gdtc", e->key[6]);
        return l->flat > MAX_FLAT ? BKT_EUNSUP : BKT_OK;
    }
    if (n == 0 || strcmp(e->key, "db/") == 0) /* the objects */
        return BKT_OK;
    char *path = strndup(e->key, n - 1);
    int   rc   = path ? l->each(path, l->arg) : BKT_ENOMEM;
    free(path);
    return rc;
}

int bkt_bucket_place_list(struct bkt_store *st, const char *path, int (*each)(const char *path, void *arg),
                          void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&prefix, "%s%s", path, *path ? "/" : ""));
    struct listing l = {.each = each, .arg = arg};
    int rc = bkt_store_list(st, bkt_buf_str(&prefix), "/", on_listed, &l, err);
    BKT_FAIL_IF(err, rc == BKT_EUNSUP && l.flat > MAX_FLAT, rc,
                "%s holds too many objects of schema version 1 at its top level to be listed; name "
                "a folder in it",
                bkt_store_uri(st));
    BKT_FAIL_IF(err, rc == BKT_EUNSUP, rc,
                "a folder on a plain web server can't be listed; name a domain in it");
    return rc;
}

/* ---- folders ---- */

/* The nearest folder above @p path that has a document: out->what is FOLDER (or DOMAIN, which the caller has
 *  to judge); ABSENT: no folder has one.  @p up: its path (free()), may be NULL. */
static int folder_above(struct bkt_store *st, const char *path, struct bkt_doc *out, char **up,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *at = strdup(path);
    *out = (struct bkt_doc){.what = BKT_IS_ABSENT};
    BKT_NEED(err, at);
    for (char *cut; out->what == BKT_IS_ABSENT && (cut = strrchr(at, '/')) != NULL;) {
        *cut = 0;
        bkt_docs_get(st, &at, 1, out);
        if (out->rc < 0)
            return bkt_err_copy(err, out->rc, &out->why);
    }
    if (up) {
        *up = at;
        at  = NULL;
    }
    return BKT_OK;
}

int bkt_folder_may_create(struct bkt_store *st, const char *path, const struct bkt_settings *set,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0};
    BKT_CLEANUP(bkt_freep) char             *up    = NULL;
    BKT_PASS(folder_above(st, path, &above, &up, err));
    BKT_FAIL_IF(err, above.what == BKT_IS_DOMAIN, BKT_EEXIST, "%s is a domain, not a folder", up);
    return above.what == BKT_IS_FOLDER ? bkt_doc_may(&above.doc, up, set, BKT_ACL_CREATE, err) : BKT_OK;
}

static int make_one(struct bkt_store *st, const char *path, const char *owner, const struct bkt_settings *set,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json  = {0};
    BKT_PASS(folder_above(st, path, &above, NULL, err));
    const struct bkt_domain_doc *parent = above.what == BKT_IS_FOLDER ? &above.doc : NULL;
    if (!owner)
        owner = set->user && *set->user ? set->user : parent && parent->owner ? parent->owner : "admin";
    BKT_PASS(bkt_folder_emit(owner, parent, bkt_time_of_day(), &json, err));
    int rc = bkt_doc_put(st, path, &json, NULL, err);
    if (rc == BKT_EPRECOND)
        bkt_err_clear(err); /* another program has just made it */
    return rc == BKT_EPRECOND ? BKT_OK : rc;
}

int bkt_folder_make(struct bkt_store *st, const char *path, const char *owner, const struct bkt_settings *set,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up   = NULL;
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0}, own = {0};
    char *one = (char *)(uintptr_t)path; /* not changed */
    bkt_docs_get(st, &one, 1, &own);
    if (own.rc < 0)
        return bkt_err_copy(err, own.rc, &own.why);
    BKT_FAIL_IF(err, own.what == BKT_IS_DOMAIN, BKT_EEXIST, "%s is a domain", path);
    if (own.what == BKT_IS_FOLDER || !*path)
        return BKT_OK;
    BKT_PASS(bkt_folder_may_create(st, path, set, err));
    BKT_PASS(folder_above(st, path, &above, &up, err));
    /* from the topmost without a document down to the last */
    for (const char *end = path + (up && above.what == BKT_IS_FOLDER ? strlen(up) + 1 : 0); end;) {
        end                             = strchr(end, '/');
        BKT_CLEANUP(bkt_freep) char *at = end ? strndup(path, (size_t)(end - path)) : strdup(path);
        BKT_NEED(err, at);
        BKT_PASS(make_one(st, at, owner, set, err));
        end = end ? end + 1 : NULL;
    }
    return BKT_OK;
}
