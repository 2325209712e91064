/* The files that HDF5 has open through the driver: the one behind an object, or the family, and its facts. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/domain/domain.h"
#include "storage/concat_store.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver_ahead.h"
#include "vol/vfd/store_driver_impl.h"

struct bkt_vfd_file *vfd_all_open;

struct bkt_vfd_file *bkt_vfd_open_twin(const struct bkt_vfd_shared *shared, const char *name)
{
    struct bkt_vfd_file *f = vfd_all_open;
    while (f && (f->shared != shared || !f->pages || strcmp(f->name, name) != 0))
        f = f->other;
    return f;
}

int bkt_vfd_stat(const char *name, const struct bkt_settings *set, uint64_t *size, char *etag, size_t n_etag,
                 struct bkt_err *err)
{
    struct bkt_store            *st  = NULL;
    BKT_CLEANUP(bkt_freep) char *key = NULL;
    for (const struct bkt_vfd_file *f = vfd_all_open; f; f = f->other)
        if (strcmp(f->name, name) == 0 && !bkt_store_is_local(f->st)) { /* known from its first answer */
            *size = f->size;
            (void)snprintf(etag, n_etag, "%s", f->version.etag);
            return BKT_OK;
        }
    BKT_PASS(bkt_vfd_open_store(name, set, &st, &key, err));
    struct bkt_req req = {.op = BKT_HEAD, .key = key};
    int rc = bkt_store_perform(st, &req, 1, err);
    if (rc == BKT_OK) {
        *size = req.size;
        if (bkt_store_is_directory(st))
            bkt_stamp(req.size, req.mtime, req.etag);
        (void)snprintf(etag, n_etag, "%s", req.etag);
    }
    bkt_req_fini(&req);
    bkt_store_close(st);
    return rc;
}

/* ---- the file behind an object ---- */

/* Whether HDF5 reads a file by the connector's driver itself.  False: a driver joins its files (a family). */
static bool is_ours(hid_t file)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Fget_access_plist(file);
    return bkt_vfd_is_driver(fapl < 0 ? fapl : H5Pget_driver(fapl));
}

/* Only the address is compared: another driver's handle is something else. */
static struct bkt_vfd_file *behind(hid_t object, bool alone)
{
    void *handle = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = vfd_all_open ? H5Iget_file_id(object) : H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t list = file < 0 || alone ? H5I_INVALID_HID : H5Fget_access_plist(file); /* a family needs one */
    if (file < 0 || BKT_PASS_H5(NULL, H5Fget_vfd_handle(file, alone ? H5P_DEFAULT : list, &handle),
                                "H5Fget_vfd_handle") < 0)
        return NULL;
    struct bkt_vfd_file *f = vfd_all_open;
    while (f && f != handle)
        f = f->other;
    return f && alone && !is_ours(file) ? NULL : f;
}

struct bkt_vfd_file *bkt_vfd_behind(hid_t object)
{
    return behind(object, true);
}

struct bkt_vfd_file *bkt_vfd_first_behind(hid_t object)
{
    return behind(object, false);
}

struct bkt_vfd_facts bkt_vfd_facts(struct bkt_vfd_file *f)
{
    return (struct bkt_vfd_facts){f->st,   f->key,  &f->version, f->size, bkt_store_is_directory(f->st),
                                  f->fore, f->pages};
}

int bkt_vfd_domain(struct bkt_vfd_file *f, struct bkt_domain **out, struct bkt_err *err)
{
    if (!f->dom)
        BKT_PASS(bkt_domain_of_file(f->st, f->key, &f->shared->set, &f->dom, err));
    *out = f->dom;
    return BKT_OK;
}

int bkt_vfd_linked_name(struct bkt_vfd_file *f, const char *name, struct bkt_buf *full, struct bkt_err *err)
{
    return bkt_vfd_store_name(f->shared->base, &f->shared->set, name, full, err);
}

void bkt_vfd_expect_linked(struct bkt_vfd_file *f, const char *full)
{
    if (!bkt_vfd_open_twin(f->shared, full))
        bkt_vfd_expect(full, &f->shared->set);
}

bool bkt_vfd_linked_exists(struct bkt_vfd_file *f, const char *full)
{
    uint64_t size;
    char etag[BKT_ETAG_MAX];
    int rc = bkt_vfd_stat(full, &f->shared->set, &size, etag, sizeof etag, NULL);
    return rc != BKT_ENOENT && rc != BKT_EINVAL;
}

void bkt_vfd_set_group(struct bkt_vfd_file *f, struct bkt_comm *c, struct bkt_node_reads *reads)
{
    f->group = c;
    f->reads = reads;
    bkt_page_cache_share(f->pages, reads);
}

struct bkt_comm *bkt_vfd_group(const struct bkt_vfd_file *f)
{
    return f->group;
}

/* A family's files share the list, and so do files behind links, which the call may have read, too. */
int bkt_vfd_failure(struct bkt_vfd_file *file)
{
    int rc = BKT_OK;
    for (struct bkt_vfd_file *f = vfd_all_open; f; f = f->other)
        if (f->shared == file->shared) {
            rc = rc < 0 ? rc : f->failed;
            f->failed = BKT_OK;
        }
    return rc;
}

void bkt_vfd_record(struct bkt_vfd_file *f, struct bkt_vfd_recorded *to)
{
    f->record = to;
}

/* ---- a family ---- */

/* HDF5 takes a family's name as a format of printf(), with the member's number.  Only the usual forms are
 * known here. */
static int member_name(const char *format, unsigned number, struct bkt_buf *out)
{
    const char *at = strchr(format, '%');
    if (!at || strchr(at + 1, '%'))
        return BKT_EUNSUP;
    size_t digits = strspn(at + 1, "0123456789");
    int width = digits <= 2 ? (int)strtol(at + 1, NULL, 10) : -1;
    char end = at[1 + digits];
    if (width < 0 || (end != 'd' && end != 'u') || (digits && at[1] != '0'))
        return BKT_EUNSUP;
    return bkt_buf_addf(out, "%.*s%0*u%s", (int)(at - format), format, width, number, at + digits + 2);
}

/* The open file of a member; NULL: it is not open. */
static struct bkt_vfd_file *member(struct bkt_vfd_file *first, const char *format, unsigned number)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, full = {0};
    if (member_name(format, number, &name) < 0 ||
        bkt_vfd_linked_name(first, bkt_buf_str(&name), &full, NULL) < 0)
        return NULL;
    return bkt_vfd_open_twin(first->shared, bkt_buf_str(&full));
}

/* A member is a part of @p each bytes, of which the file may have fewer. */
static size_t add_parts(struct bkt_concat_file *v, struct bkt_vfd_file *f, uint64_t each, bool is_last)
{
    struct bkt_vfd_facts facts = bkt_vfd_facts(f);
    uint64_t has = bkt_min_u64(facts.size, each);
    size_t n = 0;
    if (has)
        v[n++] = (struct bkt_concat_file){facts.st, facts.key, bkt_version_condition(facts.version),
                                          0,        has,       facts.version};
    if (!is_last && has < each)
        v[n++] = (struct bkt_concat_file){.size = each - has};
    return n;
}

static int join(struct bkt_vfd_file *first, const char *format, uint64_t each, struct bkt_store **st,
                uint64_t *size, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_concat_file *v = calloc(2 * BKT_VFD_MEMBERS + 2, sizeof *v);
    size_t n = 0;
    BKT_NEED(err, v);
    struct bkt_vfd_file *f = member(first, format, 0);
    if (f != first)
        return BKT_EUNSUP;
    for (unsigned i = 0; f && i < BKT_VFD_MEMBERS; i++) {
        struct bkt_vfd_file *next = member(first, format, i + 1);
        n += add_parts(v + n, f, each, !next);
        f = next;
    }
    for (size_t i = 0; i < n; i++)
        if (!bkt_add_u64(*size, v[i].size, size))
            return BKT_EUNSUP;
    return f ? BKT_EUNSUP : bkt_concat_open(v, n, st, err);
}

static bool is_family(hid_t file, uint64_t *each)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Fget_access_plist(file);
    BKT_CLEANUP(bkt_hid_closep) hid_t inner = H5I_INVALID_HID;
    hsize_t size = 0;
    if (fapl < 0 || H5Pget_driver(fapl) != H5FD_FAMILY || H5Pget_fapl_family(fapl, &size, &inner) < 0)
        return false;
    *each = size;
    return size > 0;
}

int bkt_vfd_family_of(hid_t object, struct bkt_vfd_file **first, struct bkt_store **st, uint64_t *size,
                      struct bkt_err *err)
{
    uint64_t each = 0;
    char format[4096];
    struct bkt_vfd_file *f = bkt_vfd_first_behind(object);
    *first = NULL;
    *size = 0;
    if (!f)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Iget_file_id(object);
    ssize_t n = file < 0 ? -1 : H5Fget_name(file, format, sizeof format);
    if (n <= 0 || (size_t)n >= sizeof format || !is_family(file, &each))
        return BKT_OK;
    int rc = join(f, format, each, st, size, err);
    if (rc == BKT_OK)
        *first = f;
    return rc == BKT_EUNSUP ? BKT_OK : rc;
}
