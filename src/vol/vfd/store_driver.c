#include "vol/vfd/store_driver_impl.h"

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
#include "vol/vfd/store_driver_ahead.h"

#define LONG_READ ((uint64_t)512 << 10) /* a longer read goes past the pages, unless they have it */
#define KEEP      ((uint64_t)64 << 20)  /* bytes of pages that are kept of a file */
#define DRIVER_ID ((H5FD_class_value_t)0x1b5)

/* The driver's part of an access list. */
struct vfd_info {
    struct bkt_vfd_shared *own;
};

static void shared_release(struct bkt_vfd_shared *s)
{
    if (!s || --s->refs)
        return;
    bkt_settings_fini(&s->set);
    free(s->base);
    free(s);
}

static struct bkt_vfd_shared *shared_new(const char *base, const struct bkt_settings *set)
{
    struct bkt_vfd_shared *s = calloc(1, sizeof *s);
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

static void *info_of(struct bkt_vfd_shared *s)
{
    struct vfd_info *info = malloc(sizeof *info);
    if (!info)
        return NULL;
    s->refs++;
    info->own = s;
    return info;
}

static hid_t driver = H5I_INVALID_HID;

/* ---- reading ---- */

static struct bkt_req range(struct bkt_vfd_file *f, uint64_t off, uint64_t len, void *dst)
{
    return (struct bkt_req){.op = BKT_GET, .key = f->key, .off = off, .len = len, .dst = dst,
                            .if_match = bkt_version_condition(&f->version), .version = &f->version};
}

static int read_long(struct bkt_vfd_file *f, uint64_t off, uint64_t len, unsigned char *to,
                     struct bkt_err *err)
{
    size_t                                 n    = (size_t)bkt_ceil_div(len, f->part);
    BKT_CLEANUP(bkt_freep) struct bkt_req *reqs = calloc(n, sizeof *reqs);
    BKT_NEED(err, reqs);
    for (size_t i = 0; i < n; i++)
        reqs[i] = range(f, off + i * f->part, bkt_min_u64(f->part, len - i * f->part), to + i * f->part);
    int rc = bkt_store_perform(f->st, reqs, n, err);
    for (size_t i = 0; i < n; i++)
        bkt_req_fini(&reqs[i]);
    return rc;
}

/* ---- HDF5's side ---- */

/* The first bytes of the file are here: make the cache and the foresight that read the rest. */
static int begin(struct bkt_vfd_file *f, const unsigned char *first, uint64_t n, struct bkt_err *err)
{
    f->pages = bkt_page_cache_new(f->st, f->key, &f->version, f->size, KEEP);
    f->fore = f->pages ? bkt_foresight_new(f->pages, f->size) : NULL;
    BKT_NEED(err, f->fore && bkt_page_cache_put_first(f->pages, first, n) >= 0);
    return BKT_OK;
}

static int start_expected(struct bkt_vfd_file *f, struct bkt_vfd_expected *e, struct bkt_err *err)
{
    f->st = e->st, f->key = e->key, f->size = e->size, f->version = e->version;
    int rc = begin(f, e->first, e->n, err);
    free(e->first);
    return rc;
}

/* HDF5 opens a file once more to find out that it is open: no request is needed. */
static int start_twin(struct bkt_vfd_file *f, const struct bkt_vfd_file *twin, struct bkt_err *err)
{
    unsigned char first[BKT_PAGE_SIZE];
    BKT_PASS(bkt_vfd_open_store(f->name, &f->shared->set, &f->st, &f->key, err));
    f->size = twin->size;
    f->version = twin->version;
    return begin(f, first, bkt_page_cache_copy(twin->pages, 0, sizeof first, first), err);
}

static int start(struct bkt_vfd_file *f, const struct bkt_settings *set, struct bkt_err *err)
{
    struct bkt_vfd_expected e;
    BKT_CLEANUP(bkt_freep) unsigned char *first = NULL;
    f->part                                     = set->part_size;
    const struct bkt_vfd_file *twin = bkt_vfd_open_twin(f->shared, f->name);
    if (twin && !bkt_store_is_local(twin->st))
        return start_twin(f, twin, err);
    int taken = bkt_vfd_take_expected(f->name, &e, err);
    if (taken)
        return taken < 0 ? taken : start_expected(f, &e, err);
    BKT_PASS(bkt_vfd_open_store(f->name, set, &f->st, &f->key, err));
    BKT_NEED(err, (first = malloc(BKT_VFD_FIRST)));
    struct bkt_req req = range(f, 0, BKT_VFD_FIRST, first);
    req.may_be_short   = true;
    uint64_t n = 0;
    (void)bkt_store_perform(f->st, &req, 1, NULL);
    int rc = bkt_vfd_first(f->name, &req, &n, &f->size, err);
    bkt_req_fini(&req);
    return rc < 0 ? rc : begin(f, first, n, err);
}

static void file_free(struct bkt_vfd_file *f)
{
    if (!f)
        return;
    bkt_foresight_free(f->fore);
    bkt_page_cache_free(f->pages);
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
static int check_members(const struct bkt_vfd_file *f, const char *name, struct bkt_err *err)
{
    unsigned n = 0;
    for (const struct bkt_vfd_file *o = vfd_all_open; o; o = o->other)
        n += o->shared == f->shared;
    BKT_FAIL_IF(err, n >= BKT_VFD_MEMBERS, BKT_EUNSUP, "%s: more than %u files of a family", name,
                BKT_VFD_MEMBERS);
    return BKT_OK;
}

static int open_named(struct bkt_vfd_file *f, const char *name, unsigned flags, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_FAIL_IF(err, flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT), BKT_EUNSUP,
                "%s: an HDF5 file in a store is opened read-only; `h5bucket load` makes a domain "
                "of it, which can be written",
                name);
    BKT_PASS(check_members(f, name, err));
    BKT_PASS(bkt_vfd_store_name(f->shared->base, &f->shared->set, name, &full, err));
    BKT_NEED(err, (f->name = strdup(bkt_buf_str(&full))));
    return start(f, &f->shared->set, err);
}

/* HDF5 forgets why a link's file could not be opened.  Under HDF5's lock. */
static struct bkt_err refusal;

int bkt_vfd_take_refusal(struct bkt_err *err)
{
    int rc = refusal.n ? bkt_err_copy(err, refusal.code, &refusal) : BKT_OK;
    bkt_err_clear(&refusal);
    return rc;
}

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    struct bkt_err         err  = {.n = 0};
    const struct vfd_info *info = H5Pget_driver_info(fapl);
    struct bkt_vfd_file *f = info ? calloc(1, sizeof *f) : NULL;
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
        bkt_err_clear(&refusal); /* of another of a link's names */
        f->other = vfd_all_open;
        vfd_all_open = f;
        return &f->pub;
    }
    file_free(f);
    if (rc != BKT_ENOENT)
        refusal = err;
    (void)bkt_h5err_publish(&err, rc);
    return NULL;
}

static void *fapl_get(H5FD_t *file)
{
    return info_of(((struct bkt_vfd_file *)file)->shared);
}

static void *fapl_copy(const void *info) { return info_of(((const struct vfd_info *)info)->own); }

static herr_t fapl_free(void *info)
{
    shared_release(((struct vfd_info *)info)->own);
    free(info);
    return 0;
}

static herr_t vfd_close(H5FD_t *file)
{
    struct bkt_vfd_file **at = &vfd_all_open;
    while (*at && *at != (struct bkt_vfd_file *)file)
        at = &(*at)->other;
    if (*at)
        *at = (*at)->other;
    file_free((struct bkt_vfd_file *)file);
    return 0;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b)
{
    const struct bkt_vfd_file *x = (const struct bkt_vfd_file *)a, *y = (const struct bkt_vfd_file *)b;
    int order = strcmp(x->name, y->name);
    /* a file that was replaced between two opens is another file */
    return order ? order : strcmp(x->version.etag, y->version.etag);
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
    return ((const struct bkt_vfd_file *)file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    ((struct bkt_vfd_file *)file)->eoa = addr;
    return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct bkt_vfd_file *)file)->size;
}

static herr_t vfd_get_handle(H5FD_t *file, hid_t fapl, void **handle)
{
    (void)fapl;
    *handle = file;
    return 0;
}

static enum bkt_fore_type type_of(H5FD_mem_t type)
{
    switch (type) {
    case H5FD_MEM_SUPER:
        return BKT_FORE_SUPER;
    case H5FD_MEM_OHDR:
        return BKT_FORE_HEADER;
    case H5FD_MEM_DRAW:
        return BKT_FORE_RAW;
    default:
        return BKT_FORE_OTHER;
    }
}

static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, void *buf)
{
    struct bkt_vfd_file *f = (struct bkt_vfd_file *)file;
    struct bkt_err   err = {.n = 0};
    int              rc  = BKT_OK;
    (void)dxpl;
    if (f->record && type == H5FD_MEM_DRAW) {
        *f->record = (struct bkt_vfd_recorded){f->record->n + 1, addr, size};
        return 0;
    }
    uint64_t n = addr < f->size ? bkt_min_u64(size, f->size - addr) : 0;
    memset((unsigned char *)buf + n, 0,
           size - (size_t)n); /* zeros behind the end, as from HDF5's own drivers */
    if (n > LONG_READ && (n > KEEP / 4 || bkt_page_cache_state(f->pages, addr, n) == BKT_PAGE_ABSENT))
        rc = read_long(f, addr, n, buf, &err);
    else if (n)
        rc = bkt_foresight_read(f->fore, type_of(type), addr, n, buf, &err);
    if (rc == BKT_OK)
        return 0;
    f->failed = rc;
    return bkt_h5err_publish(&err, rc);
}

static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, const void *buf)
{
    (void)file, (void)type, (void)dxpl, (void)addr, (void)size, (void)buf;
    return -1;
}

/* HDF5 calls this unless locking is off.  The lock is shared, while a writer's is exclusive.  Files elsewhere
 * have no locks, but HDF5 obeys a superblock's mark "open for writing" only if a driver has them. */
static herr_t vfd_lock(H5FD_t *file, hbool_t rw)
{
    struct bkt_vfd_file *f = (struct bkt_vfd_file *)file;
    struct bkt_err   err = {.n = 0};
    (void)rw; /* the file is never opened for writing */
    if (strncasecmp(f->name, "file:///", 8) != 0)
        return 0;
    f->lock = open(f->name + strlen("file://"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->lock >= 0 && (flock(f->lock, LOCK_SH | LOCK_NB) == 0 || (errno == ENOSYS && f->may_not_lock)))
        return 0;
    return bkt_h5err_publish(&err,
                             BKT_ERR(&err, BKT_EIO, "unable to lock file, errno = %d, error message = '%s'",
                                     errno, strerror(errno)));
}

static herr_t vfd_unlock(H5FD_t *file)
{
    struct bkt_vfd_file *f = (struct bkt_vfd_file *)file;
    if (f->lock >= 0)
        (void)close(f->lock);
    f->lock = -1;
    return 0;
}

static const H5FD_class_t class = {
    .version = H5FD_CLASS_VERSION,
    .value = DRIVER_ID,
    .name = "h5bucket_store",
    .maxaddr = (((haddr_t)1) << (8 * sizeof(int64_t) - 1)) - 1,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct vfd_info),
    .fapl_get = fapl_get,
    .fapl_copy = fapl_copy,
    .fapl_free = fapl_free,
    .open = vfd_open,
    .close = vfd_close,
    .cmp = vfd_cmp,
    .query = vfd_query,
    .get_eoa = vfd_get_eoa,
    .set_eoa = vfd_set_eoa,
    .get_eof = vfd_get_eof,
    .get_handle = vfd_get_handle,
    .read = vfd_read,
    .write = vfd_write,
    .lock = vfd_lock,
    .unlock = vfd_unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

int bkt_vfd_set(hid_t fapl, const char *name, const struct bkt_settings *set, struct bkt_err *err)
{
    struct vfd_info info = {shared_new(name, set)};
    BKT_NEED(err, info.own);
    if (driver < 0 || H5Iis_valid(driver) <= 0)
        driver = H5FDregister(&class);
    bool set_up = driver >= 0 && H5Pset_driver(fapl, driver, &info) >= 0;
    shared_release(info.own);
    return set_up ? BKT_OK : BKT_ERR(err, BKT_EHDF5, "HDF5 refuses the file driver for stores");
}

bool bkt_vfd_is_driver(hid_t id)
{
    return id >= 0 && id == driver;
}

void bkt_vfd_term(void)
{
    hbool_t ending = false;
    bkt_vfd_expect_nothing();
    if (driver >= 0 && H5is_library_terminating(&ending) >= 0 && !ending)
        (void)H5FDunregister(driver); /* when HDF5 ends, it releases the driver itself */
    driver = H5I_INVALID_HID;
}
