#include "tools/source/hdf5_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/num.h"
#include "schema/domain/domain.h"
#include "schema/model/model.h"
#include "schema/name/pointer_file.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver.h"

char *source_uri(const char *name)
{
    if (bkt_vfd_takes(name))
        return strdup(strncmp(name, "hsds+", 5) == 0 ? name + 5 : name);
    BKT_CLEANUP(bkt_freep) char *real = realpath(name, NULL);
    BKT_CLEANUP(bkt_freep) char *cwd  = !real && *name != '/' ? getcwd(NULL, 0) : NULL;
    char                        *uri  = NULL;
    if (asprintf(&uri, "file://%s%s%s", real ? "" : cwd ? cwd : "", cwd ? "/" : "", real ? real : name) < 0)
        return NULL;
    return uri;
}

/* ---- parts ---- */

static int add_part(struct source *s, const char *name, uint64_t start, uint64_t size, struct bkt_err *err)
{
    struct source_part *p = reallocarray(s->parts, s->n_parts + 1, sizeof *p);
    BKT_NEED(err, p);
    s->parts = p;
    p += s->n_parts;
    *p = (struct source_part){.uri = source_uri(name), .start = start, .size = size};
    BKT_NEED(err, p->uri);
    s->n_parts++;
    return bkt_vfd_stat(p->uri, s->set, &p->file_size, p->etag, sizeof p->etag, err);
}

static bool exists(const char *name, const struct bkt_settings *set)
{
    uint64_t size;
    char     etag[96];
    return bkt_vfd_takes(name) ? bkt_vfd_stat(name, set, &size, etag, sizeof etag, NULL) == BKT_OK
                               : access(name, F_OK) == 0;
}

/* ---- opening ---- */

static int member_list(const char *name, const struct bkt_settings *set, hid_t *out, struct bkt_err *err)
{
    *out = h5_native_list();
    if (*out < 0)
        return h5_fail(err, "making an access list");
    if (bkt_vfd_takes(name) && !bkt_name_local_path(name))
        return bkt_vfd_set(*out, name, set, err);
    return H5Pset_fapl_sec2(*out) < 0 ? h5_fail(err, "making an access list") : BKT_OK;
}

/* file:///x is /x for HDF5's own driver. */
static const char *local_name(const char *name)
{
    const char *path = bkt_name_local_path(name);
    return path ? path : name;
}

/* @p set: whether HDF5 took the driver for s->fapl */
static int open_with(struct source *s, herr_t set, const char *what, struct bkt_err *err)
{
    if (s->fapl < 0 || set < 0)
        return h5_fail(err, what);
    return h5_open_native(local_name(s->name), s->fapl, &s->file, err);
}

static int open_plain(struct source *s, hid_t member, struct bkt_err *err)
{
    s->fapl = H5Pcopy(member);
    BKT_PASS(open_with(s, 0, "making an access list", err));
    return add_part(s, s->name, 0, UINT64_MAX, err);
}

static bool family_member(const char *format, unsigned i, char **out)
{
    const char *at  = strchr(format, '%');
    size_t      len = 0;
    while (at && (at[1 + len] == '0' || (at[1 + len] >= '1' && at[1 + len] <= '9')))
        len++;
    if (!at || (at[1 + len] != 'd' && at[1 + len] != 'u' && at[1 + len] != 'x'))
        return false;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf spec = {0}, all = {0};
    if (bkt_buf_addf(&spec, "%.*s", (int)len, at + 1) < 0)
        return false;
    bool zero  = spec.len && spec.ptr[0] == '0';
    int  width = (int)strtol(bkt_buf_str(&spec), NULL, 10);
    bool hex   = at[1 + len] == 'x';
    int  rc    = bkt_buf_addf(&all, "%.*s", (int)(at - format), format);
    if (rc == BKT_OK)
        rc = hex ? (zero ? bkt_buf_addf(&all, "%0*x", width, i) : bkt_buf_addf(&all, "%*x", width, i))
                 : (zero ? bkt_buf_addf(&all, "%0*u", width, i) : bkt_buf_addf(&all, "%*u", width, i));
    if (rc < 0 || bkt_buf_add_str(&all, at + len + 2) < 0)
        return false;
    *out = bkt_buf_steal(&all);
    return *out != NULL;
}

/* A family's members are all as long as the first, but for the last. */
static int open_family(struct source *s, hid_t member, struct bkt_err *err)
{
    s->fapl = h5_native_list();
    BKT_PASS(open_with(s, H5Pset_fapl_family(s->fapl, H5F_FAMILY_DEFAULT, member),
                       "making an access list for a family", err));
    hsize_t size = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Fget_access_plist(s->file);
    if (fapl < 0 || H5Pget_fapl_family(fapl, &size, NULL) < 0 || size == 0)
        return h5_fail(err, "asking for a family's member size");
    for (unsigned i = 0;; i++) {
        BKT_CLEANUP(bkt_freep) char *name = NULL;
        BKT_FAIL_IF(err, !family_member(local_name(s->name), i, &name), BKT_EINVAL,
                    "%s: a family's name must have one %%d", s->name);
        if (!exists(name, s->set))
            return BKT_OK;
        BKT_PASS(add_part(s, name, i * size, size, err));
    }
}

static int by_start(const void *a, const void *b)
{
    const struct source_part *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int multi_parts(struct source *s, struct bkt_err *err)
{
    H5FD_mem_t map[H5FD_MEM_NTYPES];
    hid_t      fapls[H5FD_MEM_NTYPES];
    char      *names[H5FD_MEM_NTYPES];
    haddr_t    addrs[H5FD_MEM_NTYPES];
    hbool_t    relax;
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Fget_access_plist(s->file);
    if (fapl < 0 || H5Pget_fapl_multi(fapl, map, fapls, names, addrs, &relax) < 0)
        return h5_fail(err, "asking for the members of a multi file");
    int rc = BKT_OK;
    for (int t = H5FD_MEM_SUPER; t < H5FD_MEM_NTYPES; t++) {
        int                                      m    = map[t] == H5FD_MEM_DEFAULT ? t : (int)map[t];
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
        const char                              *at   = names[m] ? strstr(names[m], "%s") : NULL;
        bool                                     seen = !names[m];
        for (size_t i = 0; i < s->n_parts; i++)
            seen |= s->parts[i].start == addrs[m];
        if (seen || rc < 0)
            continue;
        rc = at ? bkt_buf_addf(&name, "%.*s%s%s", (int)(at - names[m]), names[m], local_name(s->name), at + 2)
                : bkt_buf_add_str(&name, names[m]);
        if (rc == BKT_OK && exists(bkt_buf_str(&name), s->set))
            rc = add_part(s, bkt_buf_str(&name), addrs[m], UINT64_MAX, err);
    }
    for (int t = 0; t < H5FD_MEM_NTYPES; t++) {
        if (fapls[t] > 0)
            (void)H5Pclose(fapls[t]);
        free(names[t]);
    }
    qsort(s->parts, s->n_parts, sizeof *s->parts, by_start);
    for (size_t i = 0; i + 1 < s->n_parts; i++)
        s->parts[i].size = s->parts[i + 1].start - s->parts[i].start;
    return rc;
}

static int open_split(struct source *s, hid_t member, struct bkt_err *err)
{
    s->fapl = h5_native_list();
    BKT_PASS(open_with(s, H5Pset_fapl_split(s->fapl, "-m.h5", member, "-r.h5", member),
                       "making an access list for a split file", err));
    return multi_parts(s, err);
}

static int open_multi(struct source *s, hid_t member, struct bkt_err *err)
{
    hid_t      fapls[H5FD_MEM_NTYPES];
    H5FD_mem_t map[H5FD_MEM_NTYPES];
    haddr_t    addrs[H5FD_MEM_NTYPES];
    char       text[H5FD_MEM_NTYPES][16];
    const char *names[H5FD_MEM_NTYPES], letters[] = "Xsbrglo";
    for (int t = 0; t < H5FD_MEM_NTYPES; t++) { /* what HDF5's own tools take for a multi file */
        fapls[t] = member, map[t] = H5FD_MEM_DEFAULT, names[t] = text[t];
        (void)snprintf(text[t], sizeof text[t], "%%s-%c.h5", letters[t]);
        addrs[t] = (haddr_t)(t > 0 ? t - 1 : 0) * (HADDR_MAX / (H5FD_MEM_NTYPES - 1));
    }
    s->fapl = h5_native_list();
    BKT_PASS(open_with(s, H5Pset_fapl_multi(s->fapl, map, fapls, names, addrs, true),
                       "making an access list for a multi file", err));
    return multi_parts(s, err);
}

typedef int open_fn(struct source *s, hid_t member, struct bkt_err *err);
static const struct {
    const char *name;
    open_fn    *open;
} drivers[] = {{"sec2", open_plain}, {"family", open_family}, {"split", open_split}, {"multi", open_multi}};

static bool has_member(const struct source *s, const char *end)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    return bkt_buf_addf(&name, "%s%s", local_name(s->name), end) == BKT_OK &&
           exists(bkt_buf_str(&name), s->set);
}

static const char *guess(const struct source *s)
{
    if (has_member(s, "-m.h5"))
        return "split";
    if (has_member(s, "-s.h5"))
        return "multi";
    return NULL;
}

static int open_by(const char *driver, struct source *s, hid_t member, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(drivers); i++)
        if (strcmp(drivers[i].name, driver) == 0)
            return drivers[i].open(s, member, err);
    BKT_FAIL(err, BKT_EINVAL, "unknown file driver %s; use sec2, family, split or multi", driver);
}

/* Opens the file as its name says.  If that file doesn't exist, tries the files beside it. */
static int open_found(struct source *s, hid_t member, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    if (strchr(s->name, '%') && !exists(local_name(s->name), s->set))
        return open_by("family", s, member, err);
    int rc = open_by("sec2", s, member, &why); /* no check before: that would be a request */
    if (rc == BKT_OK || rc == BKT_ENOMEM)
        return rc < 0 ? bkt_err_copy(err, rc, &why) : rc;
    const char *other = exists(local_name(s->name), s->set) ? NULL : guess(s);
    if (!other)
        return bkt_err_copy(err, rc, &why);
    bkt_hid_closep(&s->fapl);
    return open_by(other, s, member, err);
}

int source_open(const char *name, const char *driver, const struct bkt_settings *set, struct source **out,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t member = H5I_INVALID_HID;
    int pointer = strstr(name, "://") ? 0 : bkt_pointer_follow(name, set, &target, err);
    if (pointer < 0)
        return pointer;
    struct source *s = calloc(1, sizeof *s);
    if (!s || !(s->name = strdup(pointer ? bkt_buf_str(&target) : name))) {
        free(s);
        BKT_NOMEM(err);
    }
    s->set  = set;
    s->file = s->fapl = H5I_INVALID_HID;
    int rc = member_list(s->name, set, &member, err);
    if (rc == BKT_OK)
        rc = driver ? open_by(driver, s, member, err) : open_found(s, member, err);
    if (rc < 0) {
        source_close(s);
        if (bkt_domain_probe(name, set, NULL) != 1)
            return rc;
        bkt_err_clear(err);
        BKT_FAIL(err, BKT_EINVAL,
                 "%s is a domain, not an HDF5 file: h5bucket cp copies it, and ls -v shows its chunks", name);
    }
    *out = s;
    return BKT_OK;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    bkt_hid_closep(&s->file);
    bkt_hid_closep(&s->fapl);
    for (size_t i = 0; i < s->n_parts; i++) {
        bkt_store_close(s->parts[i].store);
        free(s->parts[i].key);
        free(s->parts[i].uri);
    }
    free(s->parts);
    free(s->name);
    free(s);
}

/* ---- addresses ---- */

static const struct source_part *part_at(const struct source *s, uint64_t addr)
{
    for (size_t i = s->n_parts; i-- > 0;)
        if (addr >= s->parts[i].start && addr - s->parts[i].start < s->parts[i].size)
            return &s->parts[i];
    return NULL;
}

const struct source_part *source_part_of(const struct source *s, uint64_t addr, uint64_t size)
{
    const struct source_part *p = part_at(s, addr);
    return p && size <= p->size - (addr - p->start) ? p : NULL;
}

int source_map(const struct source *s, uint64_t addr, uint64_t size, struct source_seg **segs, size_t *n,
               struct bkt_err *err)
{
    while (size) {
        const struct source_part *p = part_at(s, addr);
        BKT_FAIL_IF(err, !p, BKT_EFORMAT, "%s: address %llu is outside its files", s->name,
                    (unsigned long long)addr);
        uint64_t           off = addr - p->start, m = bkt_min_u64(size, p->size - off);
        struct source_seg *v   = reallocarray(*segs, *n + 1, sizeof *v);
        BKT_NEED(err, v);
        *segs     = v;
        v[(*n)++] = (struct source_seg){p->uri, p->etag, off, m};
        addr += m, size -= m;
    }
    return BKT_OK;
}

/* ---- reading past HDF5 ---- */

/* Requests for pieces of the source, each of one of its files. */
struct piece_requests {
    struct bkt_req *v;
    struct bkt_store **stores; /* of each request */
    size_t n, cap;
};

static void piece_requests_fini(struct piece_requests *r)
{
    for (size_t i = 0; i < r->n; i++)
        bkt_req_fini(&r->v[i]);
    free(r->v);
    free(r->stores);
}

/* Adds a request for the bytes at the begin of @p left that lie in one file, and takes them off. */
static int add_request(struct source *s, struct source_read *left, struct piece_requests *r,
                       struct bkt_err *err)
{
    const struct source_part *found = part_at(s, left->addr);
    BKT_FAIL_IF(err, r->n == r->cap, BKT_EFORMAT, "%s: overlapping chunks", s->name);
    BKT_FAIL_IF(err, !found, BKT_EFORMAT, "%s: address %llu is outside its files", s->name,
                (unsigned long long)left->addr);
    struct source_part *p = &s->parts[found - s->parts];
    if (!p->store)
        BKT_PASS(bkt_vfd_open_store(p->uri, s->set, &p->store, &p->key, err));
    uint64_t off = left->addr - p->start, n = bkt_min_u64(left->size, p->size - off);
    r->stores[r->n] = p->store;
    r->v[r->n++] = (struct bkt_req){.op = BKT_GET,
                                    .key = p->key,
                                    .off = off,
                                    .len = n,
                                    .dst = left->to,
                                    .if_match = *p->etag && !bkt_is_stamp(p->etag) ? p->etag : NULL};
    left->addr += n, left->size -= n;
    left->to = (unsigned char *)left->to + n;
    return BKT_OK;
}

/* Requests of one store are run together. */
static int run_runs(const struct piece_requests *r, struct bkt_err *err)
{
    for (size_t i = 0, m; i < r->n; i += m) {
        for (m = 1; i + m < r->n && r->stores[i + m] == r->stores[i];)
            m++;
        BKT_PASS(bkt_store_perform(r->stores[i], r->v + i, m, err));
    }
    return BKT_OK;
}

int source_read(struct source *s, const struct source_read *reads, size_t n, struct bkt_err *err)
{
    /* more pieces than there are files to straddle: chunks lie in each other */
    const size_t cap = n + s->n_parts + 1;
    BKT_CLEANUP(piece_requests_fini)
    struct piece_requests r = {calloc(cap, sizeof *r.v), calloc(cap, sizeof(struct bkt_store *)), 0, cap};
    BKT_NEED(err, r.v && r.stores);
    for (size_t i = 0; i < n; i++)
        for (struct source_read left = reads[i]; left.size;)
            BKT_PASS(add_request(s, &left, &r, err));
    return run_runs(&r, err);
}
