/* What a domain's references call a file. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"

/* A file in the domain's own bucket: by the form that HSDS knows as well, bucket/key. */
static int in_own(const char *own, const char *uri, char **out)
{
    size_t n = strlen(own);
    if (strncmp(own, "file://", 7) != 0 || strncmp(uri, own, n) != 0 || uri[n] != '/')
        return 0;
    const char *name = strrchr(own, '/') + 1;
    *out             = strdup(uri + (name - own));
    return *out ? 1 : BKT_ENOMEM;
}

/* Whether a reader with these settings may follow it; what to do if not is told once. */
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
    progress_note(l->progress, "note: the domain refers to %s; who reads it sets H5BUCKET_ALLOW=%.*s", uri, (int)n, uri);
    l->told_allow = true;
}

int load_file_uri(struct load *l, const char *uri, char **out, struct bkt_err *err)
{
    const char *own = bkt_store_uri(bkt_domain_store(l->file->dom));
    if (l->o->link_path && l->src->n_parts == 1 && strcmp(uri, l->src->parts[0].uri) == 0) /* not files that it refers to */
        uri = l->o->link_path;
    int rc = in_own(own, uri, out);
    if (rc < 0)
        BKT_NOMEM(err);
    if (strncasecmp(uri, "file:///", 8) == 0 && strncmp(own, "file:", 5) != 0)
        BKT_FAIL(err, BKT_EACCES, "%s: a domain in %s can't refer to a file of this machine; put the file into a bucket first, "
                 "say by --linkpath where it will be, or load without --link", uri, own);
    if (rc == 0 && !(*out = strdup(uri)))
        BKT_NOMEM(err);
    tell_allow(l, *out);
    return BKT_OK;
}
