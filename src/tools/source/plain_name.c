#include "tools/source/plain_name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/name/uri.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"
#include "vol/plain/plain_file.h"
#include "vol/vfd/store_driver.h"

/* The path of a file of this machine; NULL: the name is another one. */
static const char *local_path(const struct plain_file *p)
{
    if (p->r.full)
        return strncmp(p->r.full, "file://", 7) == 0 ? p->r.full + 7 : NULL;
    return bkt_name_has_scheme(p->name) ? NULL : p->name;
}

static bool is_file(const char *path)
{
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

/* A name with a '/' at its end is a folder's. */
static bool may_be_file(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n > 0 && name[n - 1] != '/' && strcmp(name, ".") != 0;
}

int plain_file_ask(const char *name, const struct bkt_settings *set, struct plain_file *p,
                   struct bkt_err *err)
{
    *p = (struct plain_file){.name = name, .file = H5I_INVALID_HID};
    if (!may_be_file(name))
        return BKT_OK;
    BKT_PASS(bkt_remote_find(name, set, &p->r, err));
    bkt_remote_ask(&p->r, H5P_DEFAULT, set);
    return BKT_OK;
}

bool plain_file_is(struct plain_file *p, const struct bkt_settings *set)
{
    const char *path = local_path(p);
    if (!may_be_file(p->name) || (path && !is_file(path)))
        return false;
    return path ? bkt_native_is_plain(path) : bkt_remote_is_hdf5(&p->r, H5P_DEFAULT, set);
}

/* ---- opening ---- */

static int open_it(struct plain_file *p, const char *inner, const struct bkt_settings *set,
                   struct bkt_err *err)
{
    const char *path = local_path(p);
    if (path && !is_file(path))
        return BKT_ENOENT;
    if (path)
        BKT_PASS(bkt_native_file(path, H5F_ACC_RDONLY, H5I_INVALID_HID, &p->file, err));
    else
        BKT_PASS(bkt_remote_open(&p->r, H5F_ACC_RDONLY, H5P_DEFAULT, set, &p->file, err));
    p->inner = strdup(inner);
    p->uri   = strdup(p->r.full ? p->r.full : p->name);
    return BKT_MADE(err, p->inner && p->uri);
}

/* The part of a name that can't be cut off: scheme and bucket or host. */
static size_t root_of(const char *name)
{
    const char *sep = bkt_name_has_scheme(name) ? strstr(name, "://") : NULL;
    return sep ? (size_t)(sep - name) + 3 + strcspn(sep + 3, "/") + 1 : 1;
}

/* Looks for a file whose name @p p's goes on from.  An address with a query is one file's. */
static int open_above(struct plain_file *p, const struct bkt_settings *set, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up    = strdup(p->name);
    size_t                       least = root_of(p->name);
    BKT_NEED(err, up);
    for (char *cut = strrchr(up, '/'); !strchr(up, '?') && cut && (size_t)(cut - up) > least;
         cut = strrchr(up, '/')) {
        struct plain_file at;
        *cut   = 0;
        int rc = plain_file_ask(up, set, &at, err);
        rc     = rc < 0 ? rc : open_it(&at, p->name + (cut - up), set, err);
        if (rc == BKT_OK) {
            at.name = p->name;
            plain_file_fini(p);
            *p = at;
            return BKT_OK;
        }
        plain_file_fini(&at);
        if (rc != BKT_ENOENT)
            return rc;
        bkt_err_clear(err);
    }
    return BKT_ENOENT;
}

int plain_file_instead(struct plain_file *p, const struct bkt_settings *set, const char *info, bool inside,
                       int rc, const struct bkt_err *why, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    struct bkt_err               no   = {.n = 0};
    if (!local_path(p) && !bkt_remote_instead(&p->r, rc))
        return bkt_err_copy(err, rc, why);
    BKT_PASS(h5_start(info, &fapl, err));
    int plain = may_be_file(p->name) ? open_it(p, "/", set, &no) : BKT_ENOENT;
    bool is_address = rc == BKT_EINVAL && no.n > 0; /* of a web server, with a query: not a domain's */
    if (plain == BKT_ENOENT && inside && !is_address) {
        struct bkt_err above = {.n = 0};
        if (open_above(p, set, &above) == BKT_OK)
            return BKT_OK;
    }
    if (plain == BKT_ENOENT && !is_address)
        return bkt_err_copy(err, rc, why);
    return plain < 0 ? bkt_err_copy(err, plain, &no) : BKT_OK;
}

void plain_file_fini(struct plain_file *p)
{
    bkt_hid_closep(&p->file);
    bkt_remote_fini(&p->r);
    free(p->inner);
    free(p->uri);
    p->inner = p->uri = NULL;
}

/* ---- facts ---- */

static void from_store(const struct plain_file *p, struct plain_facts *out)
{
    struct bkt_version v;
    struct bkt_vfd_file *f = bkt_vfd_behind(p->file);
    const char        *path = local_path(p);
    struct stat        sb;
    hsize_t            size = 0;
    if (H5Fget_filesize(p->file, &size) >= 0)
        out->size = size;
    if (f) {
        struct bkt_vfd_facts facts = bkt_vfd_facts(f);
        out->size              = facts.size;
        if (bkt_version_get(facts.version, &v)) {
            out->modified = v.mtime;
            memcpy(out->etag, v.etag, sizeof out->etag);
        }
    } else if (path && stat(path, &sb) == 0) {
        out->size     = (uint64_t)sb.st_size;
        out->modified = (double)sb.st_mtim.tv_sec;
    }
}

int plain_file_facts(const struct plain_file *p, struct plain_facts *out, struct bkt_err *err)
{
    H5F_info2_t                  info;
    hsize_t                      block = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t fcpl = H5Fget_create_plist(p->file);
    *out = (struct plain_facts){.size = 0};
    if (fcpl < 0 || H5Fget_info2(p->file, &info) < 0 || H5Pget_userblock(fcpl, &block) < 0 ||
        H5Pget_sizes(fcpl, &out->addr_bytes, &out->size_bytes) < 0)
        return h5_fail(err, "asking about a file");
    hssize_t free_bytes = H5Fget_freespace(p->file);
    out->superblock     = info.super.version;
    out->user_block     = block;
    out->free_bytes     = free_bytes > 0 ? (uint64_t)free_bytes : 0;
    from_store(p, out);
    return BKT_OK;
}
