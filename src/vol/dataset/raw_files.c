/* Reading and writing the raw files of H5Pset_external(). */
#include "vol/dataset/raw_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "schema/json/documents.h"
#include "schema/name/uri.h"
#include "vol/convert/convert.h"
#include "vol/core/memory_file.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/dataset_calls.h"

#define ORIGIN "${ORIGIN}"

/* One raw file: its name in the creation list, and its place. */
struct raw {
    char   *name; /* a path or a URI */
    off_t   off;
    hsize_t size; /* H5F_UNLIMITED: the rest */
};
struct raws {
    struct raw *v;
    size_t      n;
    bool        local; /* all are paths of this machine */
};

/* Raw files elsewhere: the dataset in the form of one that refers to their segments. */
struct segmented {
    struct bkt_object *obj;
    struct bkt_dsetio *io;
};

static bool inside; /* HDF5's global lock guards it */

bool bkt_external_inside(bool on)
{
    bool was = inside;
    inside   = on;
    return was;
}

static void raws_fini(struct raws *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->v[i].name);
    free(r->v);
}

/* ---- names ---- */

/* The domain's folder, with a trailing slash: a path if it is on this machine, else a URI. */
static int folder_of(struct bkt_domain *dom, bool local, struct bkt_buf *out)
{
    const char *self  = bkt_domain_name(dom);
    const char *slash = strrchr(self, '/');
    if (local && strncmp(self, "file://", 7) == 0)
        self += 7;
    return bkt_buf_add(out, self, slash && slash >= self ? (size_t)(slash - self) + 1 : 0);
}

/* The prefix of names, in HDF5's order of preference; "": none. */
static void prefix_of(hid_t dapl, char *out, size_t n)
{
    const char *env = getenv("HDF5_EXTFILE_PREFIX");
    *out            = '\0';
    if (env && *env)
        (void)snprintf(out, n, "%s", env);
    else if (dapl >= 0 && H5Pget_efile_prefix(dapl, out, n) < 0)
        *out = '\0';
    if (strcmp(out, ".") == 0)
        *out = '\0';
}

static int add_prefix(struct bkt_domain *dom, bool local, const char *prefix, struct bkt_buf *out)
{
    if (strncmp(prefix, ORIGIN, strlen(ORIGIN)) == 0) {
        BKT_PASS(folder_of(dom, local, out));
        prefix += strlen(ORIGIN);
        prefix += *prefix == '/';
    }
    BKT_PASS(bkt_buf_add_str(out, prefix));
    return out->len && ((const char *)out->ptr)[out->len - 1] != '/' ? bkt_buf_add_str(out, "/") : BKT_OK;
}

/* The name counted from the working folder, as in HDF5; absolute, so that HDF5 puts no prefix before it. */
static int local_name(struct bkt_domain *dom, const char *prefix, const char *name, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (strncmp(name, "file://", 7) == 0)
        name += 7;
    if (*name != '/' && *prefix)
        BKT_PASS(add_prefix(dom, true, prefix, &path));
    BKT_PASS(bkt_buf_add_str(&path, name));
    return bkt_name_absolute(bkt_buf_str(&path), out, NULL);
}

/* "a/./b/../c" -> "a/c", as bkt_name_clean(); but slashes at either end are parts of a key, and steps that
 * lead out of the bucket stay: they are refused when the name is resolved. */
static void resolve_steps(char *path)
{
    char *to = path, *floor = path;
    for (char *s = path; *s;) {
        size_t n = strcspn(s, "/"), step = n + (s[n] == '/');
        bool   up = n == 2 && s[0] == '.' && s[1] == '.';
        if (up && to > floor) {
            for (to--; to > floor && to[-1] != '/'; to--)
                ;
        } else if (!(n == 1 && *s == '.') && (n || to == path)) {
            memmove(to, s, step);
            to += step;
            floor = up ? to : floor;
        }
        s += step;
    }
    *to = '\0';
}

/* The name in the bucket: from its root, or from the domain's folder.  A prefix follows the same rule as a
 * name. */
static int remote_name(struct bkt_domain *dom, const char *prefix, const char *name, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (!bkt_name_is_uri(name)) {
        if (*name != '/' && *prefix)
            BKT_PASS(add_prefix(dom, false, prefix, &path));
        BKT_PASS(bkt_buf_add_str(&path, name));
        name = bkt_buf_str(&path);
    }
    if (!bkt_name_is_uri(name)) {
        if (*name == '/')
            BKT_PASS(bkt_buf_addf(out, "%s", bkt_store_uri(bkt_domain_store(dom))));
        else
            BKT_PASS(folder_of(dom, false, out));
    }
    BKT_PASS(bkt_buf_add_str(out, name));
    BKT_CLEANUP(bkt_freep) char *uri = strdup(bkt_buf_str(out));
    if (!uri)
        return BKT_ENOMEM;
    char *rest = strstr(uri, "://");
    rest       = rest ? strchr(rest + 3, '/') : NULL;
    if (rest)
        resolve_steps(rest + 1);
    bkt_buf_clear(out);
    return bkt_buf_add_str(out, uri);
}

/* The files of the creation list @p dcpl, for an object of the domain that is accessed with @p dapl.  A
 * list with a URI in it is not left to HDF5. */
static int list(struct bkt_domain *dom, hid_t dapl, hid_t dcpl, struct raws *r, struct bkt_err *err)
{
    char prefix[1024], name[4096];
    int  n   = H5Pget_external_count(dcpl);
    r->v     = calloc(n > 0 ? (size_t)n : 1, sizeof *r->v);
    r->local = bkt_store_is_directory(bkt_domain_store(dom));
    BKT_FAIL_IF(err, n <= 0, BKT_EFORMAT,
                "its layout refers to external files, but its creation list has none");
    BKT_NEED(err, r->v);
    prefix_of(dapl, prefix, sizeof prefix);
    for (; r->n < (size_t)n; r->n++) {
        struct raw *one = &r->v[r->n];
        BKT_NEED_H5(err, H5Pget_external(dcpl, (unsigned)r->n, sizeof name, name, &one->off, &one->size) >= 0,
                    "asking for an external file");
        name[sizeof name - 1] = '\0';
        BKT_NEED(err, (one->name = strdup(name)));
        bool uri = bkt_name_is_uri(name) ? strncmp(name, "file://", 7) != 0
                                         : *name != '/' && bkt_name_is_uri(prefix);
        r->local = r->local && !uri;
    }
    for (size_t i = 0; i < r->n; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
        int rc = r->local ? local_name(dom, prefix, r->v[i].name, &full)
                          : remote_name(dom, prefix, r->v[i].name, &full);
        BKT_FAIL_IF(err, rc < 0, rc, "external file %s: its name can't be resolved", r->v[i].name);
        free(r->v[i].name);
        BKT_NEED(err, (r->v[i].name = strdup(bkt_buf_str(&full))));
    }
    return BKT_OK;
}

/* ---- on this machine ---- */

static hid_t twin_list(const struct raws *r)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (size_t i = 0; i < r->n; i++)
        if (dcpl < 0 || H5Pset_external(dcpl, r->v[i].name, r->v[i].off, r->v[i].size) < 0)
            return H5I_INVALID_HID;
    return bkt_hid_take(&dcpl);
}

/* A dataset of HDF5's own over the same raw files.  The present extent is its largest one: HDF5 creates no
 * such dataset whose further dimensions may grow, although those of one that has lost columns may. */
static int twin(struct bkt_vobj *o, const struct raws *r, hid_t *file, hid_t *dset, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = twin_list(r);
    BKT_CLEANUP(bkt_hid_closep) hid_t type  = H5I_INVALID_HID;
    struct bkt_space now = o->obj->dset.space;
    memcpy(now.maxdims, now.dims, sizeof now.maxdims);
    BKT_NEED_H5(err, dcpl >= 0, "naming external files");
    BKT_PASS(bkt_convert_file_type(o, o->obj->dset.type, &type, err));
    BKT_PASS(bkt_convert_space(&now, &space, err));
    *file = bkt_native_in_memory(4096);
    BKT_NEED_H5(err, *file >= 0, "making a file in memory");
    return BKT_PASS_H5(err, *dset = H5Dcreate2(*file, "raw", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT),
                       "opening external files");
}

/* HDF5 doesn't report which file failed. */
static int blame(const struct raws *r, bool write, int rc, struct bkt_err *err)
{
    for (size_t i = 0; rc < 0 && i < r->n; i++)
        if (access(r->v[i].name, write ? W_OK : R_OK) != 0)
            return BKT_ERR(err, rc, "external file %s can't be %s", r->v[i].name, write ? "written" : "read");
    return rc;
}

static int transfer_local(const struct raws *r, const struct bkt_io *io, struct bkt_err *err)
{
    hid_t type = io->mem_types[0], mem = io->mem_spaces[0], in_file = io->file_spaces[0];
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5I_INVALID_HID, dset = H5I_INVALID_HID, dxpl = H5I_INVALID_HID;
    BKT_PASS(twin(io->dsets[0], r, &file, &dset, err));
    BKT_PASS(bkt_xfer_alone(io->dxpl, &dxpl, err));
    int rc = io->write ? BKT_PASS_H5(err, H5Dwrite(dset, type, mem, in_file, dxpl, io->bufs[0]),
                                     "writing external files")
                       : BKT_PASS_H5(err, H5Dread(dset, type, mem, in_file, dxpl, io->bufs[0]),
                                     "reading external files");
    return blame(r, io->write, rc, err);
}

/* ---- elsewhere ---- */

struct at {
    struct bkt_store   *st;
    char               *key;
    struct bkt_version *known; /* state of the file when it was last checked; NULL: on this machine */
    bool                ask;
    struct bkt_req      req;
};

static void ats_fini(struct at *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bkt_req_fini(&a[i].req);
        free(a[i].key);
    }
    free(a);
}

static int add_segment(struct bkt_layout *l, const char *uri, const char *etag, uint64_t off, uint64_t size)
{
    struct bkt_segment *s = &l->segments[l->n_segments];
    if (!size)
        return BKT_OK;
    l->n_segments++;
    *s = (struct bkt_segment){.offset = off, .size = size, .file_uri = uri ? strdup(uri) : NULL,
                              .etag = etag && *etag ? strdup(etag) : NULL};
    return (uri && !s->file_uri) || (etag && *etag && !s->etag) ? BKT_ENOMEM : BKT_OK;
}

/* The file's bytes, and zeros behind its end, as HDF5 reads it.  If a file is missing, reading from it is
 * the error. */
static int add_file(struct bkt_layout *l, const struct raw *r, const struct at *a, uint64_t want,
                    struct bkt_err *err)
{
    uint64_t off = (uint64_t)r->off, there = want;
    if (a->req.rc < 0 && a->req.rc != BKT_ENOENT)
        return bkt_err_copy(err, a->req.rc, a->req.err);
    if (a->req.rc == BKT_OK && a->req.size != UINT64_MAX)
        there = a->req.size > off ? bkt_min_u64(a->req.size - off, want) : 0;
    /* a file of this machine may be written while it is read */
    const char *etag = bkt_store_is_local(a->st) ? NULL : a->req.etag;
    int         rc   = add_segment(l, r->name, etag, off, there);
    rc               = rc < 0 ? rc : add_segment(l, NULL, NULL, 0, want - there);
    return rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
}

/* The place of a file, and its remembered state.  That state is kept apart from the state of a file that
 * references name, since all reads of such a file must see one version. */
static int place(const struct bkt_vobj *o, const char *uri, bool again, struct at *a, struct bkt_err *err)
{
    struct bkt_version             was;
    BKT_CLEANUP(bkt_freep) char *name = NULL;
    BKT_PASS(bkt_domain_resolve_uri(o->file->dom, uri, &a->st, &a->key, err));
    a->ask = true;
    a->req = (struct bkt_req){.op = BKT_HEAD, .key = a->key};
    if (bkt_store_is_local(a->st))
        return BKT_OK;
    if (asprintf(&name, "/%s", a->key) < 0) { /* no key begins with a slash */
        name = NULL;
        BKT_NOMEM(err);
    }
    BKT_PASS(bkt_domain_version(o->file->dom, a->st, name, NULL, &a->known, err));
    a->ask = again || !bkt_version_get(a->known, &was) || !was.etag[0];
    if (a->ask) {
        bkt_version_forget(a->known);
        a->req.version = a->known;
    } else {
        a->req.size = was.size;
        memcpy(a->req.etag, was.etag, sizeof a->req.etag);
    }
    return BKT_OK;
}

/* Ask for all files in the store of the first one. */
static int ask_store(struct at *a, size_t n, struct bkt_err *err)
{
    const struct bkt_store                *st   = a->st;
    BKT_CLEANUP(bkt_freep) struct bkt_req *reqs = calloc(n, sizeof *reqs);
    size_t                                 m    = 0;
    BKT_NEED(err, reqs);
    for (size_t i = 0; i < n; i++)
        if (a[i].ask && a[i].st == st)
            reqs[m++] = a[i].req;
    (void)bkt_store_perform(a->st, reqs, m, NULL);
    for (size_t i = 0, k = 0; i < n && k < m; i++)
        if (a[i].ask && a[i].st == st) {
            a[i].req = reqs[k++];
            a[i].ask = false;
        }
    return BKT_OK;
}

/* The states of the files, as of the first check since the domain was opened.  They are checked again if
 * they are on this machine, have no ETag, or are wanted `again`. */
static int look_at_all(const struct bkt_vobj *o, const struct raws *r, bool again, struct at *a,
                       struct bkt_err *err)
{
    for (size_t i = 0; i < r->n; i++)
        BKT_PASS(place(o, r->v[i].name, again, &a[i], err));
    for (size_t i = 0; i < r->n; i++)
        if (a[i].ask)
            BKT_PASS(ask_store(a + i, r->n - i, err));
    return BKT_OK;
}

static int set_segments(const struct bkt_vobj *o, const struct raws *r, bool again, struct bkt_layout *l,
                        struct bkt_err *err)
{
    uint64_t   left = l->size;
    struct at *a    = calloc(r->n + 1, sizeof *a);
    l->segments     = calloc(2 * r->n + 2, sizeof *l->segments);
    int rc = a && l->segments ? look_at_all(o, r, again, a, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->n && rc == BKT_OK && left; i++) {
        uint64_t want = r->v[i].size == H5F_UNLIMITED ? left : bkt_min_u64(r->v[i].size, left);
        rc            = add_file(l, &r->v[i], &a[i], want, err);
        left -= want;
    }
    ats_fini(a, a ? r->n : 0);
    BKT_FAIL_IF(err, rc == BKT_OK && left, BKT_EFORMAT, "its external files are shorter than the dataset");
    return rc;
}

/* The same dataset in the form of one that refers to segments of files. */
static int refer(const struct bkt_vobj *o, const struct raws *r, bool again, struct bkt_object *obj,
                 struct bkt_err *err)
{
    struct bkt_dset   *d = &obj->dset;
    struct bkt_layout *l = &d->layout;
    uint64_t           n;
    BKT_PASS(bkt_space_count(&d->space, &n, err));
    l->cls         = BKT_D_CONTIGUOUS_REF;
    l->external    = false;
    l->may_change  = true;
    l->hdf5_chunks = false;
    l->rank        = d->space.rank ? d->space.rank : 1;
    l->dims[0]     = 1;
    for (unsigned i = 0; i < d->space.rank; i++)
        l->dims[i] = bkt_max_u64(d->space.dims[i], 1);
    BKT_FAIL_IF(err, !bkt_mul_u64(n, d->type->size, &l->size), BKT_EFORMAT,
                "the dataset's size does not fit 64 bits");
    return set_segments(o, r, again, l, err);
}

static void segmented_fini(struct segmented *p)
{
    bkt_dsetio_close(p->io);
    bkt_object_release(p->obj);
}

/* A plain dataset's object has no JSON. */
static int same_object(const struct bkt_object *from, struct bkt_object **out, struct bkt_err *err)
{
    struct bkt_object *o = bkt_object_make(BKT_DATASET);
    if (!o || bkt_type_copy(from->dset.type, &o->dset.type) < 0) {
        bkt_object_release(o);
        BKT_NOMEM(err);
    }
    o->id         = from->id;
    o->dset.space = from->dset.space;
    *out          = o;
    return BKT_OK;
}

static int open_segmented(struct bkt_vobj *o, const struct raws *r, bool again, struct segmented *p,
                          struct bkt_err *err)
{
    static double version; /* identifies the cached data of joined segments */
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t        type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_file_type(o, o->obj->dset.type, &type, err));
    BKT_FAIL_IF(err, o->obj->dset.type->size != H5Tget_size(type), BKT_EUNSUP,
                "remote external files can't be read for a type with gaps");
    if (o->whole_values) {
        BKT_PASS(same_object(o->obj, &p->obj, err));
    } else {
        BKT_PASS(bkt_object_emit(o->obj, &json, err));
        BKT_PASS(bkt_object_parse(json.ptr, json.len, &o->obj->id, &p->obj, err));
    }
    p->obj->modified = version += 1;
    BKT_PASS(refer(o, r, again, p->obj, err));
    return bkt_dsetio_open(o->file->dom, p->obj, NULL, &p->io, err);
}

/* Whether a file ends before its part of the extent does: no request beyond its end would show that it has
 * grown. */
static bool ends_early(const struct bkt_layout *l)
{
    for (size_t i = 0; i < l->n_segments; i++)
        if (!l->segments[i].file_uri)
            return true;
    return false;
}

static int read_segmented(const struct raws *r, bool again, const struct bkt_io *io, struct bkt_err *err)
{
    struct bkt_vobj                       *o = io->dsets[0];
    BKT_CLEANUP(segmented_fini) struct segmented p = {.io = NULL};
    BKT_PASS(open_segmented(o, r, again, &p, err));
    if (!again && ends_early(&p.obj->dset.layout))
        return BKT_EPRECOND;
    struct bkt_vobj as = *o, *one = &as; /* its type has an id already, so that the copy gets no new id */
    struct bkt_io   on  = *io;
    on.dsets            = &one;
    as.obj              = p.obj;
    as.io               = p.io;
    return bkt_dataset_read(&on, err);
}

/* Other programs may have written the files since the last check, and HDF5 would see that.  Then they are
 * checked again. */
static int transfer_elsewhere(const struct raws *r, const struct bkt_io *io, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    BKT_FAIL_IF(err, io->write, BKT_EUNSUP,
                "its data are in external raw files (H5Pset_external), %s: they can be written only if the "
                "domain and all these files are in local folders; without H5Pset_external the elements are "
                "stored in the domain",
                r->v[0].name);
    int rc = read_segmented(r, false, io, &why);
    if (rc == BKT_EPRECOND || rc == BKT_ENOENT)
        return read_segmented(r, true, io, err);
    return rc < 0 ? bkt_err_copy(err, rc, &why) : rc;
}

/* Raw files in a bucket can't be written, so a program that means to create them would have no place for
 * its elements. */
static bool none_is_there(const struct bkt_vobj *at, hid_t dapl, hid_t dcpl)
{
    BKT_CLEANUP(raws_fini) struct raws r   = {.v = NULL};
    struct bkt_err                     err = {.n = 0}; /* ignored: a read will report it */
    if (list(at->file->dom, dapl, dcpl, &r, &err) < 0 || r.local)
        return false;
    struct at *a    = calloc(r.n + 1, sizeof *a);
    bool       none = a && look_at_all(at, &r, true, a, &err) == BKT_OK;
    for (size_t i = 0; i < r.n && none; i++)
        none = a[i].req.rc == BKT_ENOENT;
    ats_fini(a, a ? r.n : 0);
    return none;
}

/* ---- for callers that only need the files' places ---- */

int bkt_external_each(struct bkt_domain *dom, const struct bkt_object *obj, bkt_external_fn *each, void *arg,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    BKT_CLEANUP(raws_fini) struct raws r   = {.v = NULL};
    uint64_t                           left;
    BKT_PASS(bkt_space_count(&obj->dset.space, &left, err));
    BKT_FAIL_IF(err, !bkt_mul_u64(left, obj->dset.type->size, &left), BKT_EFORMAT,
                "the dataset's size does not fit 64 bits");
    BKT_PASS(bkt_convert_object_ocpl(obj, H5P_DATASET_CREATE, &dcpl, err));
    BKT_PASS(list(dom, H5I_INVALID_HID, dcpl, &r, err));
    for (size_t i = 0; i < r.n; i++) {
        struct bkt_external_file f = {.name = r.v[i].name, .local = r.local, .offset = (uint64_t)r.v[i].off};
        f.size = r.v[i].size == H5F_UNLIMITED ? left : bkt_min_u64(r.v[i].size, left);
        left -= f.size;
        BKT_PASS(each(&f, arg));
    }
    return BKT_OK;
}

/* ---- for the callbacks ---- */

bool bkt_external_wanted(const struct bkt_vobj *at, hid_t dcpl, hid_t dapl, const struct bkt_type *t,
                         hid_t file_type)
{
    return !inside && !t->is_var && H5Pget_layout(dcpl) == H5D_CONTIGUOUS &&
           H5Pget_external_count(dcpl) > 0 && H5Tdetect_class(file_type, H5T_REFERENCE) <= 0 &&
           !none_is_there(at, dapl, dcpl);
}

int bkt_external_transfer(const struct bkt_io *io, struct bkt_err *err)
{
    const struct bkt_vobj            *o    = io->dsets[0];
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    BKT_CLEANUP(raws_fini) struct raws r   = {.v = NULL};
    BKT_PASS(bkt_convert_dcpl(io->dsets[0], &dcpl, err));
    BKT_PASS(list(o->file->dom, o->dapl, dcpl, &r, err));
    return r.local ? transfer_local(&r, io, err) : transfer_elsewhere(&r, io, err);
}

int bkt_external_read_plain(struct bkt_vobj *plain, hid_t dset, const struct bkt_io *io, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t dapl = H5Dget_access_plist(dset);
    BKT_CLEANUP(raws_fini) struct raws r   = {.v = NULL};
    struct bkt_io                      one = *io;
    BKT_NEED_H5(err, dcpl >= 0 && dapl >= 0, "asking for external files");
    one.dsets = &plain;
    BKT_PASS(list(plain->file->dom, dapl, dcpl, &r, err));
    return transfer_elsewhere(&r, &one, err);
}

int bkt_external_size(struct bkt_vobj *o, uint64_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_file_type(o, o->obj->dset.type, &type, err));
    BKT_PASS(bkt_space_count(&o->obj->dset.space, out, err));
    BKT_FAIL_IF(err, !bkt_mul_u64(*out, H5Tget_size(type), out), BKT_EFORMAT,
                "the dataset's size does not fit 64 bits");
    return BKT_OK;
}
