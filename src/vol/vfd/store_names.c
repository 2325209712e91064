/* Names of files that libhdf5 opens through the driver: the program's, and those that links in it name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schema/domain/domain.h"
#include "schema/name/uri.h"
#include "storage/store.h"
#include "vol/vfd/store_driver_impl.h"

static const char *const schemes[] = {"s3://", "hsds+s3://", "file:///", "https://", "http://", "mem:"};

bool bkt_vfd_takes(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(schemes); i++)
        if (strncasecmp(name, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

/* A bucket or directory is the store, and the rest is the key.  A web address is a store of its own. */
int bkt_vfd_open_store(const char *name, const struct bkt_settings *set, struct bkt_store **st, char **key,
                       struct bkt_err *err)
{
    const char *full  = strncasecmp(name, "hsds+s3://", 10) == 0 ? name + 5 : name;
    const char *rest  = strstr(full, "://");
    bool        local = strncasecmp(full, "file:", 5) == 0;
    if (strncasecmp(full, "http", 4) == 0)
        return bkt_url_open(full, set, st, key, err);
    rest              = rest ? rest + 3 : strchr(full, ':') ? strchr(full, ':') + 1 : full;
    const char *cut   = local ? strrchr(rest, '/') : strchr(rest, '/');
    BKT_FAIL_IF(err, !cut || !cut[1], BKT_EINVAL, "%s: the file's name is missing", name);
    BKT_CLEANUP(bkt_freep) char *uri = strndup(full, (size_t)(cut - full) + (local && cut == rest));
    *key                             = strdup(cut + 1);
    for (char *c = uri; c && *c && *c != ':'; c++) /* a store's scheme is in lower case */
        *c = (char)tolower((unsigned char)*c);
    int rc = uri && *key ? bkt_store_open(uri, set, st, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0) {
        free(*key);
        *key = NULL;
    }
    return rc;
}

/* The length of the store's part of a full name: "s3://bucket", "https://host", "file://". */
static size_t store_length(const char *full)
{
    const char *rest = strstr(full, "://");
    rest = rest ? rest + 3 : full + strcspn(full, ":");
    return (size_t)(rest - full) + strcspn(rest, "/");
}

/* The length of a full name up to the '/' of its last component, as libhdf5 sees it: it does not know a
 * query. */
static size_t folder_length(const char *full)
{
    const char *slash = strrchr(full, '/');
    return slash ? (size_t)(slash - full) + 1 : 0;
}

/* The last full name in @p name: libhdf5 puts its folders before any link's text. */
static const char *full_name_in(const char *name)
{
    const char *found = NULL;
    for (const char *p = name; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
        if (bkt_vfd_takes(p))
            found = p;
    return found;
}

static bool is_local(const char *full) { return strncasecmp(full, "file:", 5) == 0; }

/* @p path: in base's store, from its bucket or host, or from the folder of base if it is relative.  The file
 * system resolves names of this machine, since it knows symbolic links. */
static int in_store(const char *base, const char *path, struct bkt_buf *out)
{
    size_t store = store_length(base), query = strcspn(base, "?#");
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf whole = {0}, clean = {0};
    const char *at = base + store;
    size_t n = query > store ? query - store : 0;
    while (n && at[n - 1] != '/')
        n--;
    if (bkt_buf_addf(&whole, "%.*s%s", *path == '/' ? 0 : (int)n, at, path) < 0 ||
        bkt_buf_add(out, base, store) < 0)
        return BKT_ENOMEM;
    if (is_local(base))
        return bkt_buf_add_str(out, bkt_buf_str(&whole));
    int rc = bkt_name_clean(bkt_buf_str(&whole), &clean);
    if (rc < 0)
        return rc == BKT_EINVAL ? BKT_ENOENT : rc;
    return bkt_buf_addf(out, "%s%s", clean.len ? "/" : "", bkt_buf_str(&clean));
}

static int elsewhere(const char *base, const struct bkt_settings *set, const char *full, struct bkt_buf *out,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *store = strndup(base, store_length(base));
    if (!store)
        return BKT_ENOMEM;
    const struct bkt_link_from from = {
        .store_uri = store, .name = base, .allow = set->allow, .local = is_local(base)};
    BKT_PASS(bkt_link_allowed(&from, full, err));
    return bkt_buf_add_str(out, strncasecmp(full, "hsds+", 5) == 0 ? full + 5 : full);
}

int bkt_vfd_store_name(const char *base, const struct bkt_settings *set, const char *name,
                       struct bkt_buf *out, struct bkt_err *err)
{
    const char *full = full_name_in(name);
    size_t folder = folder_length(base);
    int rc;
    if (strcmp(name, base) == 0)
        rc = bkt_buf_add_str(out, base);
    else if (!full)
        rc = in_store(base, name, out);
    else if (strncmp(full, base, folder) == 0)
        rc = in_store(base, full + folder, out);
    else
        rc = elsewhere(base, set, full, out, err);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT && err && !err->n, rc, "%s: not a name in the store of %s", name, base);
    return rc;
}
