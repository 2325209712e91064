/* The name of a file in a domain's references, and the place of a file that HDF5's own references name. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/source/hdf5_glue.h"
#include "tools/load/load_domain.h"
#include "vol/vfd/store_driver.h"

/* Names a file in the domain's own bucket by the form that HSDS knows as well: bucket/key. */
static int in_own(const char *own, const char *uri, char **out)
{
    size_t n = strlen(own);
    if (strncmp(own, "file://", 7) != 0 || strncmp(uri, own, n) != 0 || uri[n] != '/')
        return 0;
    const char *name = strrchr(own, '/') + 1;
    *out             = strdup(uri + (name - own));
    return *out ? 1 : BKT_ENOMEM;
}

/* If a reader with these settings may not follow the reference, prints once how to allow it. */
static void tell_allow(struct load *l, const char *uri)
{
    struct bkt_err               err   = {.n = 0};
    struct bkt_store            *store = NULL;
    BKT_CLEANUP(bkt_freep) char *key   = NULL;
    if (l->told_allow || bkt_domain_resolve_uri(l->file->dom, uri, &store, &key, &err) != BKT_EACCES)
        return;
    const char *slash = strrchr(uri, '/'), *bucket = strstr(uri, "://");
    bucket            = bucket ? strchr(bucket + 3, '/') : NULL;
    size_t n = strncmp(uri, "file:", 5) == 0 || !bucket ? (size_t)(slash - uri) : (size_t)(bucket - uri);
    progress_note(l->progress, "note: the domain refers to %s; its readers must set H5BUCKET_ALLOW=%.*s", uri,
                  (int)n, uri);
    l->told_allow = true;
}

int load_file_uri(struct load *l, const char *uri, char **out, struct bkt_err *err)
{
    const char *own = bkt_store_uri(bkt_domain_store(l->file->dom));
    if (l->o->link_path && l->src->n_parts == 1 &&
        strcmp(uri, l->src->parts[0].uri) == 0) /* not for files that the source refers to */
        uri = l->o->link_path;
    int rc = in_own(own, uri, out);
    if (rc < 0)
        BKT_NOMEM(err);
    if (strncasecmp(uri, "file:///", 8) == 0 && strncmp(own, "file:", 5) != 0)
        BKT_FAIL(err, BKT_EACCES,
                 "%s: a domain in %s can't refer to a local file; put the file into a bucket first, "
                 "give its future name by --linkpath, or load without --link",
                 uri, own);
    if (rc == 0 && !(*out = strdup(uri)))
        BKT_NOMEM(err);
    tell_allow(l, *out);
    return BKT_OK;
}

static int open_as(struct load *l, const char *name, hid_t *out, struct bkt_err *err)
{
    struct source *s = NULL;
    BKT_PASS(source_open(name, NULL, l->set, &s, err));
    *out   = s->file;
    int rc = H5Iinc_ref(s->file) < 0 ? h5_fail(err, name) : BKT_OK;
    source_close(s);
    return rc;
}

/* Looks beside the source, and on this machine also where HDF5 would look.  A source elsewhere never makes us
 * open a file of another place [I2]. */
int load_open_beside(void *load, const char *name, hid_t *out, struct bkt_err *err)
{
    struct load *l     = load;
    const char  *from  = strncmp(l->src->name, "file:///", 8) == 0 ? l->src->name + 7 : l->src->name;
    bool         local = !vfd_takes(from);
    const char  *slash = strrchr(from, '/');
    if (vfd_takes(name) || (*name == '/' && !local))
        BKT_FAIL(err, BKT_EACCES, "%s isn't opened for what %s refers to", name, from);
    if (*name == '/')
        return open_as(l, name, out, err);
    BKT_CLEANUP(bkt_freep) char *beside = NULL;
    struct bkt_err               first  = {.n = 0};
    if (asprintf(&beside, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, name) < 0)
        BKT_NOMEM(err);
    int rc = open_as(l, beside, out, &first);
    return rc == BKT_OK || (local && open_as(l, name, out, NULL) == BKT_OK) ? BKT_OK
                                                                            : bkt_err_copy(err, rc, &first);
}
