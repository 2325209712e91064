/* The stores that a reference may name (DESIGN.md, [I2]).
 *
 * A file_uri is data from another person.  It is taken apart into a store URI and a key.  The domain's own
 * bucket is always allowed.  Another store is allowed if a word of the setting `allow` is a prefix of the
 * target, compared by whole path components.  A domain that is not local never reaches a local file, whatever
 * `allow` has. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/os/thread.h"
#include "base/url.h"
#include "schema/domain/domain_impl.h"

enum place { PLACE_NAMED, PLACE_S3, PLACE_WEB }; /* NAMED: a bucket beside the domain's own */
struct target {
    enum place  place;
    const char *rest; /* bucket/key, or host/path */
    const char *scheme;
};

static const struct {
    const char *prefix, *scheme;
    enum place  place;
} forms[] = {
    {"s3://", "s3://", PLACE_S3},
    {"file://", "", PLACE_NAMED},
    {"https://", "https://", PLACE_WEB},
    {"http://", "http://", PLACE_WEB},
};

static struct target take_apart(const char *uri)
{
    for (size_t i = 0; i < BKT_COUNT(forms); i++)
        if (strncasecmp(uri, forms[i].prefix, strlen(forms[i].prefix)) == 0)
            return (struct target){forms[i].place, uri + strlen(forms[i].prefix), forms[i].scheme};
    return (struct target){PLACE_NAMED, uri, ""};
}

/* No empty, "." or ".." component, and only printable characters. */
static bool is_clean(const char *path)
{
    for (const char *s = path;; s++) {
        size_t n = strcspn(s, "/");
        if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
            return false;
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
                return false;
        s += n;
        if (!*s)
            return true;
    }
}

/* prefix equals text, or ends where a component of text does. */
static bool has_prefix(const char *text, const char *prefix, size_t n)
{
    while (n && prefix[n - 1] == '/')
        n--;
    return n && strncmp(text, prefix, n) == 0 && (text[n] == 0 || text[n] == '/');
}

/* @param what  the target in the form of @p allow */
static bool is_allowed(const char *allow, const char *what, bool target_local)
{
    for (const char *s = allow; s && *s;) {
        size_t n = strcspn(s, " ,\t\n");
        if (n == 1 && *s == '*' ? !target_local : has_prefix(what, s, n))
            return true;
        s += n + strspn(s + n, " ,\t\n");
    }
    return false;
}

/* The name by which references call the domain's own bucket. */
static bool is_own_name(const struct bkt_domain *d, const char *name, size_t n)
{
    const char *uri  = bkt_store_uri(d->store);
    const char *last = strrchr(uri, '/');
    last             = last ? last + 1 : strchr(uri, ':') + 1; /* mem:name */
    if (n && strlen(last) == n && memcmp(last, name, n) == 0)
        return true;
    /* https://bucket.s3.…: S3 addressed by host name, read as a plain web server */
    const char *host = strstr(uri, "://") ? strstr(uri, "://") + 3 : "";
    return n && strncmp(uri, "http", 4) == 0 && strncmp(host, name, n) == 0 && host[n] == '.';
}

static int refuse(const char *whose, const char *uri, const char *what, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EACCES,
             "reference to %s: not in the bucket of %s; to allow it, put %s into the setting allow "
             "(H5BUCKET_ALLOW)",
             uri, whose, what);
}

/* The store that @p uri names, opened once per domain. */
static int other_store(struct bkt_domain *d, const char *uri, struct bkt_store **out, struct bkt_err *err)
{
    BKT_HOLD(&d->lock);
    *out = bkt_map_get(d->stores, uri, strlen(uri));
    if (*out)
        return BKT_OK;
    BKT_PASS(bkt_store_open(uri, &d->set, out, err));
    if (bkt_map_set(&d->stores, uri, strlen(uri), *out, NULL) < 0) {
        bkt_store_close(*out);
        BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* Append the target's URI; its first store_n bytes are the store's. */
static int target_uri(const struct bkt_domain *d, const struct target *t, size_t bucket_n,
                      struct bkt_buf *what, size_t *store_n, bool *local)
{
    const char *uri   = bkt_store_uri(d->store);
    const char *slash = strrchr(uri, '/');
    *local            = false;
    if (t->place != PLACE_NAMED) {
        BKT_PASS(bkt_buf_addf(what, "%s%.*s", t->scheme, (int)bucket_n, t->rest));
    } else if (bkt_store_is_directory(d->store)) { /* the sibling directory */
        *local = true;
        BKT_PASS(bkt_buf_addf(what, "%.*s/%.*s", (int)(slash - uri), uri, (int)bucket_n, t->rest));
    } else {
        BKT_PASS(bkt_buf_addf(what, "%s%.*s", strncmp(uri, "mem:", 4) == 0 ? "mem:" : "s3://", (int)bucket_n,
                              t->rest));
    }
    *store_n = what->len;
    return bkt_buf_add_str(what, t->rest + bucket_n);
}

static int resolve(struct bkt_domain *d, const char *uri, struct target *t, struct bkt_store **store,
                   char **key, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf what = {0};
    size_t      n   = strcspn(t->rest, "/"), store_n;
    const char *own = bkt_store_uri(d->store), *in_own = NULL;
    bool        local;
    BKT_PASS_MEM(err, target_uri(d, t, n, &what, &store_n, &local));
    const char *full = bkt_buf_str(&what);
    /* A web server's own bucket may be a folder of it; in Azure's spelling a host precedes the bucket. */
    size_t host_n = t->place == PLACE_WEB ? n : 0;
    bool   azure  = host_n > 22 && strncmp(t->rest + n - 22, ".blob.core.windows.net", 22) == 0;
    if (has_prefix(full, own, strlen(own)))
        in_own = full + strlen(own) + (own[strlen(own) - 1] != '/'); /* file:/// is the root directory */
    else if (t->place != PLACE_WEB && is_own_name(d, t->rest, n))
        in_own = t->rest + n + 1;
    else if (azure && is_own_name(d, t->rest + n + 1, strcspn(t->rest + n + 1, "/")))
        in_own = t->rest + n + 1 + strcspn(t->rest + n + 1, "/") + 1;
    /* An explicit rule for S3 beats a local directory of the same name. */
    bool elsewhere = strncmp(full, own, store_n) != 0 || own[store_n] != 0;
    bool by_rule = t->place == PLACE_S3 && elsewhere && bkt_store_is_local(d->store) &&
                   is_allowed(d->set.allow, full, false);
    if (in_own && *in_own && !by_rule && !d->of_file) {
        *store = d->store;
        *key   = strdup(in_own);
        return BKT_MADE(err, *key);
    }
    if (!(in_own && d->of_file) && !is_allowed(d->set.allow, full, local)) {
        BKT_CLEANUP(bkt_freep) char *base = strndup(full, store_n);
        return refuse(d->name, uri, base ? base : full, err);
    }
    *key = strdup(full + store_n + 1);
    BKT_NEED(err, *key && bkt_buf_resize(&what, store_n) >= 0);
    int rc = other_store(d, bkt_buf_str(&what), store, err);
    if (rc < 0) {
        free(*key);
        *key = NULL;
        BKT_FAIL(err, rc, "reference to %s", uri);
    }
    return BKT_OK;
}

/* Make a web address uniform: host in lower case, path without escapes. */
static int tidy_web(char *rest, struct bkt_err *err)
{
    size_t n = strcspn(rest, "/");
    BKT_FAIL_IF(err, memchr(rest, '@', n) || strpbrk(rest, "?#"), BKT_EACCES,
                "reference to a web address with user, query or fragment: not allowed");
    for (size_t i = 0; i < n; i++)
        if (rest[i] >= 'A' && rest[i] <= 'Z')
            rest[i] = (char)(rest[i] + 32);
    BKT_FAIL_IF(err, !bkt_name_decode(rest + n), BKT_EACCES,
                "reference to a web address with a malformed %% escape: not allowed");
    return BKT_OK;
}

/* file:///path: a file of this machine outside the domain's folder.  Only for a domain of this machine, and
 * only if `allow` has it. */
static int resolve_local(struct bkt_domain *d, const char *uri, struct bkt_store **store, char **key,
                         struct bkt_err *err)
{
    const char *own = bkt_store_uri(d->store), *path = uri + 7, *slash = strrchr(path, '/');
    BKT_FAIL_IF(err, !bkt_store_is_directory(d->store), BKT_EACCES,
                "reference to %s: only a domain on this machine may refer to files on it", uri);
    BKT_FAIL_IF(err, !is_clean(path + 1), BKT_EINVAL,
                "reference to \"%.200s\": empty, \".\" or \"..\" components", BKT_SHOWN(uri));
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0}; /* its scheme is in lower case */
    BKT_NEED(err, bkt_buf_addf(&full, "file://%s", path) >= 0);
    BKT_CLEANUP(bkt_freep)
    char *dir = strndup(bkt_buf_str(&full), (size_t)(slash - uri) + (slash == path));
    BKT_NEED(err, dir);
    if (has_prefix(bkt_buf_str(&full), own, strlen(own))) {
        const char *in_own = bkt_buf_str(&full) + strlen(own);
        *store             = d->store;
        *key               = strdup(in_own + strspn(in_own, "/"));
        return BKT_MADE(err, *key);
    }
    if (!is_allowed(d->set.allow, bkt_buf_str(&full), true))
        return refuse(d->name, uri, dir, err);
    BKT_PASS(other_store(d, dir, store, err));
    *key = strdup(slash + 1);
    return BKT_MADE(err, *key);
}

int bkt_domain_resolve_uri(struct bkt_domain *d, const char *file_uri, struct bkt_store **store, char **key,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = strdup(file_uri);
    *store = NULL, *key = NULL;
    BKT_NEED(err, uri);
    if (strncasecmp(uri, "file:///", 8) == 0)
        return resolve_local(d, uri, store, key, err);
    struct target t = take_apart(uri);
    if (t.place == PLACE_WEB)
        BKT_PASS(tidy_web(uri + (t.rest - uri), err)); /* the path as in the server's keys */
    BKT_FAIL_IF(err, !strchr(t.rest, '/') || !is_clean(t.rest), BKT_EINVAL,
                "reference to \"%.200s\": not of the form bucket/key, s3://bucket/key or "
                "https://host/path, or with empty, \".\" or \"..\" components",
                file_uri);
    return resolve(d, file_uri, &t, store, key, err);
}

/* First character of the names in d->versions: whether a reference recorded the version. */
enum { ANY = '-', STAMPED = '+' };

int bkt_domain_version(struct bkt_domain *d, const struct bkt_store *store, const char *key,
                       const char *stamp, struct bkt_version **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    BKT_NEED(err, bkt_buf_addf(&name, "%c%s", stamp ? STAMPED : ANY, stamp ? stamp : "") >= 0 &&
                      bkt_buf_add(&name, "", 1) >= 0 && bkt_buf_add_str(&name, bkt_store_uri(store)) >= 0 &&
                      bkt_buf_add(&name, "", 1) >= 0 && bkt_buf_add_str(&name, key) >= 0);
    BKT_HOLD(&d->lock);
    *out = bkt_map_make(&d->versions, name.ptr, name.len, sizeof **out);
    return BKT_MADE(err, *out);
}

void bkt_domain_forget_versions(struct bkt_domain *d)
{
    BKT_HOLD(&d->lock);
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->versions, &at);)
        if (*at.key == ANY)
            bkt_version_forget(at.value);
}

int bkt_link_allowed(const struct bkt_link_from *from, const char *uri, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *copy = strdup(strncasecmp(uri, "hsds+s3://", 10) == 0 ? uri + 5 : uri);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf what  = {0};
    BKT_NEED(err, copy);
    struct target t = take_apart(copy);
    if (strncasecmp(copy, "file://", 7) == 0) {
        if (from->local)
            return BKT_OK; /* as for HDF5's own external links */
        BKT_FAIL(err, BKT_EACCES,
                 "link to \"%.200s\": only a domain on this machine may refer to files on it",
                 BKT_SHOWN(uri));
    }
    BKT_FAIL_IF(err, t.place == PLACE_NAMED, BKT_ENOENT, "link to \"%.200s\": unknown scheme",
                BKT_SHOWN(uri));
    if (t.place == PLACE_WEB)
        BKT_PASS(tidy_web(copy + (t.rest - copy), err));
    BKT_FAIL_IF(err, !strchr(t.rest, '/') || !is_clean(t.rest), BKT_EACCES,
                "link to \"%.200s\": not of the form s3://bucket/path or https://host/path, or with empty, "
                "\".\" or \"..\" components",
                BKT_SHOWN(uri));
    BKT_PASS_MEM(err, bkt_buf_addf(&what, "%s%s", t.scheme, t.rest));
    const char *full = bkt_buf_str(&what), *own = from->store_uri;
    if (has_prefix(full, own, strlen(own)) || is_allowed(from->allow, full, false))
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) char *base = strndup(full, strlen(t.scheme) + strcspn(t.rest, "/"));
    return refuse(from->name, uri, base ? base : full, err);
}

int bkt_domain_may_link(struct bkt_domain *d, const char *uri, struct bkt_err *err)
{
    const struct bkt_link_from from = {.store_uri = bkt_store_uri(d->store),
                                       .local = bkt_store_is_local(d->store),
                                       .allow = d->set.allow,
                                       .name = d->name};
    return bkt_link_allowed(&from, uri, err);
}
