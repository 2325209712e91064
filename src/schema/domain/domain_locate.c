/* The place of a domain: its document, and the bucket that holds its objects. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/os/beneath.h"
#include "schema/domain/domain_impl.h"
#include "schema/json/documents.h"
#include "schema/name/bucket_dir.h"
#include "schema/name/pointer_file.h"

/* The name of an HDF5 file in a bucket is a common mistake.  Since nothing opens anyhow, a further request is
 * made to name the remedy. */
static int no_domain(struct bkt_store *st, const char *path, const char *key, bool look, struct bkt_err *err)
{
    const size_t                             n    = sizeof BKT_HDF5_SIGNATURE - 1;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf head = {0};
    BKT_FAIL_IF(err,
                look && err && *path && bkt_store_get(st, path, 0, n, &head, NULL) == BKT_OK &&
                    head.len == n && memcmp(head.ptr, BKT_HDF5_SIGNATURE, n) == 0,
                BKT_ENOENT,
                "%s/%s is a plain HDF5 file in a store, not a domain; `h5bucket load --link` makes a domain "
                "that refers to it",
                bkt_store_uri(st), path);
    BKT_FAIL(err, BKT_ENOENT, "no domain%s %s in %s (no object %s)", look ? "" : " or HDF5 file", path,
             bkt_store_uri(st), key);
}

/* S3's keys have at most 1,024 bytes.  A plain file's own key may be that long. */
static bool is_too_long(int rc, const struct bkt_buf *key)
{
    return rc == BKT_EINVAL && key->len > 1024;
}

static int get_doc(struct bkt_store *st, const char *key, struct bkt_buf *json, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_req_fini)
    struct bkt_req req = {.op = BKT_GET, .key = key, .len = BKT_WHOLE, .guess = true};
    BKT_PASS(bkt_store_perform(st, &req, 1, err));
    bkt_buf_move(json, &req.body);
    return BKT_OK;
}

/* Read and parse .domain.json below @p path of @p st.  If it isn't there, look for another object of that
 * name. */
static int load_doc(struct bkt_store *st, const char *path, bool look, struct bkt_domain_doc *doc,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, json = {0};
    int rc;
    BKT_PASS_MEM(err, bkt_domain_doc_key(path, &key));
    for (unsigned tries = 1;; tries++) {
        struct bkt_err why = {.n = 0};
        bkt_buf_clear(&json);
        rc = get_doc(st, bkt_buf_str(&key), &json, &why);
        if (rc == BKT_ENOENT || is_too_long(rc, &key))
            return no_domain(st, path, bkt_buf_str(&key), look, err);
        if (rc == BKT_OK)
            rc = bkt_domain_doc_parse(json.ptr, json.len, doc, &why);
        if (rc != BKT_EFORMAT || !bkt_objects_pause(st, tries)) {
            (void)bkt_err_copy(err, rc, &why);
            break;
        }
    }
    BKT_TRY(err, rc, "%s in %s", bkt_buf_str(&key), bkt_store_uri(st));
    return BKT_OK;
}

/* Set the place where the domain's bucket was found: `up` is the ancestor, a prefix of path. */
static int set_place(struct bkt_domain *d, const struct bkt_name *n, const char *up, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri = {0};
    const char *rest = n->path + strlen(up);
    bkt_store_close(d->store);
    d->store = NULL;
    BKT_PASS_MEM(err, bkt_buf_addf(&uri, "%s%s%s", n->store_uri,
                                   *up && n->store_uri[strlen(n->store_uri) - 1] != '/' ? "/" : "", up));
    BKT_PASS(bkt_store_open(bkt_buf_str(&uri), &d->set, &d->store, err));
    d->path = strdup(rest + (*rest == '/'));
    BKT_NEED(err, d->path);
    return BKT_OK;
}

/* Whether the domain's folder is reached from bucket @p up without a link, or links may be followed. */
static bool is_straight(const struct bkt_domain *d, const char *up, const char *rest)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf dir = {0};
    if ((d->set.links && strcmp(d->set.links, "follow") == 0) || bkt_buf_addf(&dir, "/%s", up) < 0)
        return true;
    int  fd       = open(bkt_buf_str(&dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool straight = fd < 0 || bkt_beneath_link(fd, rest + (*rest == '/')) == 0;
    if (fd >= 0)
        (void)close(fd);
    return straight;
}

/* Directories: the nearest ancestor of the domain that holds its root group. */
static int find_local(struct bkt_domain *d, const struct bkt_name *n, const char *key, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char             *up   = strdup(n->path);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf file = {0};
    BKT_NEED(err, up);
    while (bkt_name_up(up)) {
        bkt_buf_clear(&file);
        BKT_PASS_MEM(err, bkt_buf_addf(&file, "/%s%s%s", up, *up ? "/" : "", key));
        if (access(bkt_buf_str(&file), F_OK) == 0 && is_straight(d, up, n->path + strlen(up)))
            return set_place(d, n, up, err);
    }
    BKT_FAIL(err, BKT_ENOENT, "/%s: no directory above it holds its root group %s", n->path, key);
}

/* The name may lead through symbolic links into a bucket elsewhere, as the program wants it.  But it must not
 * lead through links that another user has put into a bucket. */
static int find_resolved(struct bkt_domain *d, const struct bkt_name *n, const char *key, struct bkt_err *err)
{
    struct bkt_err                           quiet = {.n = 0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path  = {0};
    int                                      rc    = find_local(d, n, key, &quiet);
    if (rc == BKT_ENOENT && bkt_buf_addf(&path, "/%s", n->path) < 0)
        BKT_NOMEM(err);
    BKT_CLEANUP(bkt_freep) char *real = rc == BKT_ENOENT ? realpath(bkt_buf_str(&path), NULL) : NULL;
    struct bkt_name              as   = *n;
    if (!real || strcmp(real, bkt_buf_str(&path)) == 0)
        return rc < 0 ? bkt_err_copy(err, rc, &quiet) : rc;
    size_t strange =
        d->set.links && strcmp(d->set.links, "follow") == 0 ? 0 : bkt_bucket_link(bkt_buf_str(&path), true);
    BKT_FAIL_IF(err, strange, BKT_EACCES,
                "%s: %.*s is a symbolic link of another user; to follow such links, set "
                "links=follow (H5BUCKET_LINKS)",
                bkt_buf_str(&path), (int)strange, bkt_buf_str(&path));
    as.path = real + 1;
    return find_local(d, &as, key, err);
}

/* Web servers: all ancestors are asked for the root group at once; deeper paths are cut off at the top. */
static int find_remote(struct bkt_domain *d, const struct bkt_name *n, const char *key, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up = strdup(n->path);
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs ups = {0};
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    int rc = BKT_ENOENT;
    BKT_NEED(err, up);
    while (ups.n < BKT_FOLDERS_MAX && bkt_name_up(up))
        BKT_PASS_MEM(err, bkt_strs_add(&ups, up));
    BKT_PASS_MEM(err, bkt_reqs_init(&reqs, ups.n));
    for (size_t i = 0; i < ups.n; i++) {
        reqs.v[i] = (struct bkt_req){.op = BKT_GET, .len = BKT_WHOLE};
        BKT_PASS_MEM(err, bkt_buf_addf(&reqs.keys[i], "%s%s%s", ups.v[i], *ups.v[i] ? "/" : "", key));
    }
    bkt_reqs_perform(d->store, &reqs);
    for (size_t i = 0; i < ups.n; i++) {
        const struct bkt_req *r = &reqs.v[i];
        if (r->rc == BKT_OK)
            return set_place(d, n, ups.v[i], err);
        if (r->rc != BKT_ENOENT && r->rc != BKT_EACCES)
            rc = bkt_err_copy(err, r->rc, r->err);
    }
    BKT_FAIL_IF(err, rc == BKT_ENOENT, rc, "%s/%s: no folder above it holds its root group %s", n->store_uri,
                n->path, key);
    return rc;
}

/* Read the document at the place of the name, then find its bucket. */
int bkt_domain_locate(struct bkt_domain *d, const struct bkt_name *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri = {0}, key = {0};
    bool own_dir = n->search && n->local; /* a store of its own: the bucket's directory isn't known yet */
    BKT_PASS_MEM(err, bkt_buf_addf(&uri, "%s%s", n->store_uri, own_dir ? n->path : ""));
    BKT_PASS(bkt_store_open(bkt_buf_str(&uri), &d->set, &d->store, err));
    BKT_PASS(load_doc(d->store, own_dir ? "" : n->path, n->use != BKT_NAME_PROBE, &d->doc, err));
    BKT_FAIL_IF(err, !d->doc.root.text[0], BKT_EUNSUP,
                "%s/%s is a folder, not a domain; `h5bucket ls` lists what is in it",
                own_dir ? "" : n->store_uri, n->path);
    if (!n->search) {
        d->path = strdup(n->path);
        return BKT_MADE(err, d->path);
    }
    BKT_PASS_MEM(err, bkt_id_key(&d->doc.root, &key));
    return n->local ? find_resolved(d, n, bkt_buf_str(&key), err) : find_remote(d, n, bkt_buf_str(&key), err);
}
