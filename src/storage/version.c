/* Versions of an object: ETags, and what stands in for them. */
#include <string.h>

#include "storage/store_impl.h"

const char *bkt_etag_bare(const char *etag, size_t *n)
{
    etag += strncmp(etag, "W/", 2) == 0 ? 2 : 0;
    etag += *etag == '"';
    *n = strcspn(etag, "\"");
    return etag;
}

bool bkt_etag_same(const char *a, const char *b)
{
    size_t      n, m;
    const char *x = bkt_etag_bare(a, &n), *y = bkt_etag_bare(b, &m);
    return n && n == m && memcmp(x, y, n) == 0;
}

bool bkt_version_get(const struct bkt_version *v, struct bkt_version *out)
{
    bkt_state_lock();
    *out = *v;
    bkt_state_unlock();
    return out->known;
}

const char *bkt_version_condition(const struct bkt_version *v)
{
    return v->etag[0] && strncmp(v->etag, "W/", 2) != 0 ? v->etag : NULL;
}

void bkt_version_forget(struct bkt_version *v)
{
    bkt_state_lock();
    v->known = false;
    bkt_state_unlock();
}

/* ETags alone decide, if both are known.  Otherwise a change shows in size and time, if the server sends
 * these. */
static bool same_version(const struct bkt_version *v, const struct bkt_req *req)
{
    bool reported = v->size != UINT64_MAX && req->size != UINT64_MAX && v->mtime != 0 && req->mtime != 0;
    if (v->etag[0] && req->etag[0])
        return bkt_etag_same(v->etag, req->etag);
    if (v->etag[0] && !reported) /* this answer lacks the ETag that others have */
        return false;
    return (v->size == req->size || v->size == UINT64_MAX || req->size == UINT64_MAX) &&
           (v->mtime == req->mtime || v->mtime == 0 || req->mtime == 0);
}

bool bkt_version_fits(struct bkt_version *v, const struct bkt_req *req)
{
    bkt_state_lock();
    bool same = !v->known || same_version(v, req);
    if (!v->known) {
        *v = (struct bkt_version){.known = true, .size = req->size, .mtime = req->mtime};
        memcpy(v->etag, req->etag, sizeof v->etag);
    }
    bkt_state_unlock();
    return same;
}
