#include "vol/vfd/store_driver.h"

#include <H5FDdevelop.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "vol/core/h5err.h"
#include "schema/domain/domain.h"
#include "base/num.h"
#include "storage/store.h"
#include "vol/vfd/foresight.h"
#include "vol/vfd/page_cache.h"
#include "vol/vfd/store_driver_ahead.h"
#include "vol/vfd/store_names.h"

#define LONG_READ ((uint64_t)512 << 10) /* a longer read goes past the pages, unless they have it */
#define KEEP      ((uint64_t)64 << 20)  /* bytes of pages that are kept of a file */
#define MEMBERS   1024u                 /* of a family, at most: as many as a process may open on disk */
#define DRIVER_ID  ((H5FD_class_value_t)0x1b5) /* and the number behind it */

struct vfd_file {
    H5FD_t            pub; /* must be first for HDF5 */
    struct bkt_store *st;
    char             *name, *key;
    uint64_t          size, part; /* part: knob part_size */
    struct bkt_version version; /* of all answers */
    haddr_t           eoa;
    struct page_cache *pages;
    struct foresight  *fore;
    struct vfd_shared *shared;
    int               lock;         /* descriptor that holds the lock; -1: none */
    bool              may_not_lock; /* true: a file system without locks is accepted */
    struct vfd_file  *other;        /* list of all open files */
    struct bkt_domain *dom;         /* vfd_domain(); NULL: not needed yet */
    struct bkt_comm *group;         /* NULL: this process alone */
    struct bkt_node_reads *reads;   /* shared by processes of this node; NULL: none */
    struct vfd_recorded *record;    /* NULL: raw data are read */
    int failed;                     /* code of the last read that failed since vfd_failure(), or BKT_OK */
};
static struct vfd_file *all_open; /* under HDF5's lock */

/* Shared by access lists and files: the file that the program opened, and how. */
struct vfd_shared {
    unsigned            refs; /* under HDF5's lock */
    struct bkt_settings set;
    char               *base; /* links in other files of the list are resolved from it (store_names.h) */
};
/* The driver's part of an access list. */
struct vfd_info {
    struct vfd_shared *own;
};

static void shared_release(struct vfd_shared *s)
{
    if (!s || --s->refs)
        return;
    bkt_settings_fini(&s->set);
    free(s->base);
    free(s);
}

static struct vfd_shared *shared_new(const char *base, const struct bkt_settings *set)
{
    struct vfd_shared *s = calloc(1, sizeof *s);
    if (!s || bkt_settings_copy(&s->set, set, NULL) < 0) {
        free(s);
        return NULL;
    }
    s->refs = 1;
    s->base = strdup(base);
    if (s->base)
        return s;
    shared_release(s);
    return NULL;
}

static void *info_of(struct vfd_shared *s)
{
    struct vfd_info *info = malloc(sizeof *info);
    if (!info)
        return NULL;
    s->refs++;
    info->own = s;
    return info;
}

static hid_t drivers[2] = {H5I_INVALID_HID, H5I_INVALID_HID}; /* for stores elsewhere, on this machine */

static const char *const schemes[] = {"s3://", "hsds+s3://", "file:///", "https://", "http://", "mem:"};

bool vfd_takes(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(schemes); i++)
        if (strncasecmp(name, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static bool is_folder(const struct bkt_store *st)
{
    return strncmp(bkt_store_uri(st), "file:", 5) == 0;
}

/* A bucket or directory is the store, and the rest is the key.  A web address is a store of its own. */
int vfd_open_store(const char *name, const struct bkt_settings *set, struct bkt_store **st, char **key,
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
    int rc = uri && *key ? bkt_store_open(uri, set, st, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0) {
        free(*key);
        *key = NULL;
    }
    return rc;
}

int vfd_stat(const char *name, const struct bkt_settings *set, uint64_t *size, char *etag, size_t n_etag,
             struct bkt_err *err)
{
    struct bkt_store            *st  = NULL;
    BKT_CLEANUP(bkt_freep) char *key = NULL;
    for (const struct vfd_file *f = all_open; f; f = f->other)
        if (strcmp(f->name, name) == 0 && !bkt_store_is_local(f->st)) { /* known from its first answer */
            *size = f->size;
            (void)snprintf(etag, n_etag, "%s", f->version.etag);
            return BKT_OK;
        }
    BKT_PASS(vfd_open_store(name, set, &st, &key, err));
    struct bkt_req req = {.op = BKT_HEAD, .key = key};
    int            rc  = bkt_store_run(st, &req, 1, err);
    if (rc == BKT_OK) {
        *size = req.size;
        if (is_folder(st))
            bkt_stamp(req.size, req.mtime, req.etag);
        (void)snprintf(etag, n_etag, "%s", req.etag);
    }
    bkt_req_fini(&req);
    bkt_store_close(st);
    return rc;
}

/* ---- reading ---- */

static struct bkt_req range(struct vfd_file *f, uint64_t off, uint64_t len, void *dst)
{
    return (struct bkt_req){.op = BKT_GET, .key = f->key, .off = off, .len = len, .dst = dst,
                            .if_match = bkt_version_condition(&f->version), .version = &f->version};
}

static int read_long(struct vfd_file *f, uint64_t off, uint64_t len, unsigned char *to, struct bkt_err *err)
{
    size_t                                 n    = (size_t)bkt_ceil_div(len, f->part);
    BKT_CLEANUP(bkt_freep) struct bkt_req *reqs = calloc(n, sizeof *reqs);
    BKT_NEED(err, reqs);
    for (size_t i = 0; i < n; i++)
        reqs[i] = range(f, off + i * f->part, bkt_min_u64(f->part, len - i * f->part), to + i * f->part);
    int rc = bkt_store_run(f->st, reqs, n, err);
    for (size_t i = 0; i < n; i++)
        bkt_req_fini(&reqs[i]);
    return rc;
}

/* ---- HDF5's side ---- */

/* The first bytes of the file are here: make the cache and the foresight that read the rest. */
static int begin(struct vfd_file *f, const unsigned char *first, uint64_t n, struct bkt_err *err)
{
    f->pages = page_cache_new(f->st, f->key, &f->version, f->size, KEEP);
    f->fore  = f->pages ? foresight_new(f->pages, f->size) : NULL;
    BKT_NEED(err, f->fore && page_cache_put_first(f->pages, first, n) >= 0);
    return BKT_OK;
}

static int start_expected(struct vfd_file *f, struct vfd_expected *e, struct bkt_err *err)
{
    f->st = e->st, f->key = e->key, f->size = e->size, f->version = e->version;
    int rc = begin(f, e->first, e->n, err);
    free(e->first);
    return rc;
}

/* The file, if it is open for links of the same program's file. */
static struct vfd_file *open_twin(const struct vfd_shared *shared, const char *name)
{
    struct vfd_file *f = all_open;
    while (f && (f->shared != shared || !f->pages || strcmp(f->name, name) != 0))
        f = f->other;
    return f;
}

/* HDF5 opens a file once more to find out that it is open: no request is needed. */
static int start_twin(struct vfd_file *f, const struct vfd_file *twin, struct bkt_err *err)
{
    unsigned char first[PAGE_SIZE];
    BKT_PASS(vfd_open_store(f->name, &f->shared->set, &f->st, &f->key, err));
    f->size = twin->size;
    f->version = twin->version;
    return begin(f, first, page_cache_copy(twin->pages, 0, sizeof first, first), err);
}

static int start(struct vfd_file *f, const struct bkt_settings *set, struct bkt_err *err)
{
    struct vfd_expected                   e;
    BKT_CLEANUP(bkt_freep) unsigned char *first = NULL;
    f->part                                     = set->part_size;
    const struct vfd_file *twin = open_twin(f->shared, f->name);
    if (twin && !bkt_store_is_local(twin->st))
        return start_twin(f, twin, err);
    int taken = vfd_take_expected(f->name, &e, err);
    if (taken)
        return taken < 0 ? taken : start_expected(f, &e, err);
    BKT_PASS(vfd_open_store(f->name, set, &f->st, &f->key, err));
    BKT_NEED(err, (first = malloc(VFD_FIRST)));
    struct bkt_req req = range(f, 0, VFD_FIRST, first);
    req.may_be_short   = true;
    int rc             = bkt_store_run(f->st, &req, 1, err);
    f->size            = req.size;
    uint64_t n = req.n;
    bkt_req_fini(&req);
    if (rc < 0)
        return rc;
    BKT_FAIL_IF(err, f->size == UINT64_MAX, BKT_EUNSUP, "%s: the server does not report its length", f->name);
    return begin(f, first, n, err);
}

static void file_free(struct vfd_file *f)
{
    if (!f)
        return;
    foresight_free(f->fore);
    page_cache_free(f->pages);
    bkt_node_reads_free(f->reads);
    bkt_comm_close(f->group);
    if (f->lock >= 0)
        (void)close(f->lock);
    bkt_domain_close(f->dom);
    bkt_store_close(f->st);
    shared_release(f->shared);
    free(f->name);
    free(f->key);
    free(f);
}

/* Whether a file system without locks is accepted, by the rules of HDF5's own driver for the list and the
 * environment. */
static bool takes_no_lock(hid_t fapl)
{
    const char *said = getenv("HDF5_USE_FILE_LOCKING");
    hbool_t     use, may = false;
    if (said && strcmp(said, "BEST_EFFORT") == 0)
        return true;
    if (said && (strcmp(said, "TRUE") == 0 || strcmp(said, "1") == 0))
        return false;
    return H5Pget_file_locking(fapl, &use, &may) >= 0 && may;
}

/* A server that answers every name has members of a family without end. */
static int check_members(const struct vfd_file *f, const char *name, struct bkt_err *err)
{
    unsigned n = 0;
    for (const struct vfd_file *o = all_open; o; o = o->other)
        n += o->shared == f->shared;
    BKT_FAIL_IF(err, n >= MEMBERS, BKT_EUNSUP, "%s: more than %u files of a family", name, MEMBERS);
    return BKT_OK;
}

static int open_named(struct vfd_file *f, const char *name, unsigned flags, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_FAIL_IF(err, flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT), BKT_EUNSUP,
                "%s: an HDF5 file in a store is opened read-only; `h5bucket load` makes a domain "
                "of it, which can be written",
                name);
    BKT_PASS(check_members(f, name, err));
    BKT_PASS(store_name_of(f->shared->base, &f->shared->set, name, &full, err));
    BKT_NEED(err, (f->name = strdup(bkt_buf_str(&full))));
    return start(f, &f->shared->set, err);
}

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    struct bkt_err         err  = {.n = 0};
    const struct vfd_info *info = H5Pget_driver_info(fapl);
    struct vfd_file       *f    = info ? calloc(1, sizeof *f) : NULL;
    int                    rc   = BKT_ENOMEM;
    (void)maxaddr;
    if (f) {
        f->lock   = -1;
        f->shared = info->own;
        f->shared->refs++;
        f->may_not_lock = takes_no_lock(fapl);
        rc = open_named(f, name, flags, &err);
    }
    if (rc == BKT_OK) {
        f->other = all_open;
        all_open = f;
        return &f->pub;
    }
    file_free(f);
    err.code = rc;
    (void)bkt_h5err_publish(&err);
    return NULL;
}

static void *fapl_get(H5FD_t *file) { return info_of(((struct vfd_file *)file)->shared); }

static void *fapl_copy(const void *info) { return info_of(((const struct vfd_info *)info)->own); }

static herr_t fapl_free(void *info)
{
    shared_release(((struct vfd_info *)info)->own);
    free(info);
    return 0;
}

static herr_t vfd_close(H5FD_t *file)
{
    struct vfd_file **at = &all_open;
    while (*at && *at != (struct vfd_file *)file)
        at = &(*at)->other;
    if (*at)
        *at = (*at)->other;
    file_free((struct vfd_file *)file);
    return 0;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b)
{
    const struct vfd_file *x = (const struct vfd_file *)a, *y = (const struct vfd_file *)b;
    int order = strcmp(x->name, y->name);
    return order ? order
                 : strcmp(x->version.etag,
                          y->version.etag); /* a file that was replaced meanwhile is another one */
}

static herr_t vfd_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

static haddr_t vfd_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct vfd_file *)file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    ((struct vfd_file *)file)->eoa = addr;
    return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct vfd_file *)file)->size;
}

static herr_t vfd_get_handle(H5FD_t *file, hid_t fapl, void **handle)
{
    (void)fapl;
    *handle = file;
    return 0;
}

static enum fore_type type_of(H5FD_mem_t type)
{
    switch (type) {
    case H5FD_MEM_SUPER: return FORE_SUPER;
    case H5FD_MEM_OHDR: return FORE_HEADER;
    case H5FD_MEM_DRAW: return FORE_RAW;
    default: return FORE_OTHER;
    }
}

static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, void *buf)
{
    struct vfd_file *f   = (struct vfd_file *)file;
    struct bkt_err   err = {.n = 0};
    int              rc  = BKT_OK;
    (void)dxpl;
    if (f->record && type == H5FD_MEM_DRAW) {
        *f->record = (struct vfd_recorded){f->record->n + 1, addr, size};
        return 0;
    }
    uint64_t n = addr < f->size ? bkt_min_u64(size, f->size - addr) : 0;
    memset((unsigned char *)buf + n, 0,
           size - (size_t)n); /* zeros behind the end, as from HDF5's own drivers */
    if (n > LONG_READ && (n > KEEP / 4 || page_cache_state(f->pages, addr, n) == PAGE_ABSENT))
        rc = read_long(f, addr, n, buf, &err);
    else if (n)
        rc = foresight_read(f->fore, type_of(type), addr, n, buf, &err);
    err.code = rc;
    if (rc < 0)
        f->failed = rc;
    return rc < 0 ? bkt_h5err_publish(&err) : 0;
}

static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, const void *buf)
{
    (void)file, (void)type, (void)dxpl, (void)addr, (void)size, (void)buf;
    return -1;
}

/* HDF5 calls this unless locking is off.  The lock is shared, while a writer's is exclusive. */
static herr_t vfd_lock(H5FD_t *file, hbool_t rw)
{
    struct vfd_file *f   = (struct vfd_file *)file;
    struct bkt_err   err = {.n = 0};
    (void)rw; /* the file is never opened for writing */
    f->lock = open(f->name + strlen("file://"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->lock >= 0 && (flock(f->lock, LOCK_SH | LOCK_NB) == 0 || (errno == ENOSYS && f->may_not_lock)))
        return 0;
    err.code = BKT_ERR(&err, BKT_EIO, "unable to lock file, errno = %d, error message = '%s'", errno,
                       strerror(errno));
    return bkt_h5err_publish(&err);
}

static herr_t vfd_unlock(H5FD_t *file)
{
    struct vfd_file *f = (struct vfd_file *)file;
    if (f->lock >= 0)
        (void)close(f->lock);
    f->lock = -1;
    return 0;
}

#define VFD_CLASS                                                                                            \
    .version = H5FD_CLASS_VERSION, .maxaddr = (((haddr_t)1) << (8 * sizeof(int64_t) - 1)) - 1,               \
    .fc_degree = H5F_CLOSE_WEAK, .fapl_size = sizeof(struct vfd_info), .fapl_get = fapl_get,                 \
    .fapl_copy = fapl_copy, .fapl_free = fapl_free, .open = vfd_open, .close = vfd_close, .cmp = vfd_cmp,    \
    .query = vfd_query, .get_eoa = vfd_get_eoa, .set_eoa = vfd_set_eoa, .get_eof = vfd_get_eof,              \
    .get_handle = vfd_get_handle, .read = vfd_read, .write = vfd_write, .fl_map = H5FD_FLMAP_DICHOTOMY

/* Remote stores have no locks, but HDF5 obeys a superblock's mark "open for writing" only if a driver has
 * them. */
static herr_t no_lock(H5FD_t *file, hbool_t rw)
{
    (void)file, (void)rw;
    return 0;
}

static herr_t no_unlock(H5FD_t *file)
{
    (void)file;
    return 0;
}

static const H5FD_class_t classes[2] = {
    {VFD_CLASS, .value = DRIVER_ID, .name = "h5bucket_store", .lock = no_lock, .unlock = no_unlock},
    {VFD_CLASS, .value = DRIVER_ID + 1, .name = "h5bucket_local", .lock = vfd_lock, .unlock = vfd_unlock},
};

int vfd_set(hid_t fapl, const char *name, const struct bkt_settings *set, struct bkt_err *err)
{
    struct vfd_info info  = {shared_new(name, set)};
    size_t          which = strncasecmp(name, "file:///", 8) == 0;
    BKT_NEED(err, info.own);
    if (drivers[which] < 0 || H5Iis_valid(drivers[which]) <= 0)
        drivers[which] = H5FDregister(&classes[which]);
    bool set_up = drivers[which] >= 0 && H5Pset_driver(fapl, drivers[which], &info) >= 0;
    shared_release(info.own);
    return set_up ? BKT_OK : BKT_ERR(err, BKT_EHDF5, "HDF5 refuses the file driver for stores");
}

/* ---- the file behind an object ---- */

/* Whether HDF5 reads a file by our driver itself, and not by one that joins files of ours (a family). */
static bool is_ours(hid_t file)
{
    hid_t fapl = H5Fget_access_plist(file), driver = fapl < 0 ? fapl : H5Pget_driver(fapl);
    if (fapl >= 0)
        (void)H5Pclose(fapl);
    return driver >= 0 && (driver == drivers[0] || driver == drivers[1]);
}

/* Only the address is compared: another driver's handle is something else. */
static struct vfd_file *behind(hid_t object, bool alone)
{
    void            *handle = NULL;
    hid_t            file   = all_open ? H5Iget_file_id(object) : H5I_INVALID_HID;
    struct vfd_file *f      = file < 0 ? NULL : all_open;
    hid_t list = f && !alone ? H5Fget_access_plist(file) : H5P_DEFAULT; /* a family needs one */
    if (file >= 0 && PASS_ON(NULL, H5Fget_vfd_handle(file, list, &handle), "H5Fget_vfd_handle") < 0)
        f = NULL;
    if (list > 0)
        (void)H5Pclose(list);
    while (f && f != handle)
        f = f->other;
    if (f && alone && !is_ours(file))
        f = NULL;
    if (file >= 0)
        (void)H5Idec_ref(file);
    return f;
}

struct vfd_file *vfd_behind(hid_t object)
{
    return behind(object, true);
}

struct vfd_file *vfd_first_behind(hid_t object)
{
    return behind(object, false);
}

struct vfd_file *vfd_open_link(struct vfd_file *f, const char *full)
{
    return open_twin(f->shared, full);
}

struct vfd_facts vfd_facts(struct vfd_file *f)
{
    return (struct vfd_facts){f->st, f->key, &f->version, f->size, is_folder(f->st)};
}

int vfd_domain(struct vfd_file *f, struct bkt_domain **out, struct bkt_err *err)
{
    if (!f->dom)
        BKT_PASS(bkt_domain_of_file(f->st, f->key, &f->shared->set, &f->dom, err));
    *out = f->dom;
    return BKT_OK;
}

int vfd_fetch(struct vfd_file *f, struct fore_range *r, size_t n, struct bkt_err *err)
{
    return foresight_fetch(f->fore, r, n, err);
}

int vfd_begin(struct vfd_file *f, struct fore_range *r, size_t n, struct bkt_err *err)
{
    return foresight_begin(f->fore, r, n, err);
}

void vfd_begin_index(struct vfd_file *f, uint64_t header)
{
    foresight_begin_index(f->fore, header);
}

void vfd_index(struct vfd_file *f, int index)
{
    foresight_index(f->fore, (enum fore_index)index);
}

bool vfd_is_under_way(struct vfd_file *f, uint64_t off, uint64_t len)
{
    return page_cache_state(f->pages, off, len) != PAGE_ABSENT;
}

uint64_t vfd_peek(struct vfd_file *f, uint64_t off, uint64_t len, void *to)
{
    return page_cache_copy(f->pages, off, len, to);
}

const void *vfd_view(struct vfd_file *f, uint64_t off, uint64_t len)
{
    return page_cache_view(f->pages, off, len);
}

int vfd_linked_name(struct vfd_file *f, const char *name, struct bkt_buf *full, struct bkt_err *err)
{
    return store_name_of(f->shared->base, &f->shared->set, name, full, err);
}

void vfd_expect_linked(struct vfd_file *f, const char *full)
{
    if (!open_twin(f->shared, full))
        vfd_expect(full, &f->shared->set);
}

void vfd_set_group(struct vfd_file *f, struct bkt_comm *c, struct bkt_node_reads *reads)
{
    f->group = c;
    f->reads = reads;
    page_cache_share(f->pages, reads);
}

struct bkt_comm *vfd_group(const struct vfd_file *f)
{
    return f->group;
}

/* A family's files share the list, and so do files behind links, which the call may have read, too. */
int vfd_failure(struct vfd_file *file)
{
    int rc = BKT_OK;
    for (struct vfd_file *f = all_open; f; f = f->other)
        if (f->shared == file->shared) {
            rc = rc < 0 ? rc : f->failed;
            f->failed = BKT_OK;
        }
    return rc;
}

void vfd_record(struct vfd_file *f, struct vfd_recorded *to) { f->record = to; }

void vfd_term(void)
{
    hbool_t ending = false;
    vfd_expect_nothing();
    for (size_t i = 0; i < BKT_COUNT(drivers); i++) {
        if (drivers[i] >= 0 && H5is_library_terminating(&ending) >= 0 && !ending)
            (void)H5FDunregister(drivers[i]); /* when HDF5 ends, it releases the driver itself */
        drivers[i] = H5I_INVALID_HID;
    }
}
