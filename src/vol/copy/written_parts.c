/* Finds the blocks of a dataset that hold data, if its elements lie in other datasets (H5Pset_virtual) or raw
 * files (H5Pset_external).
 *
 * If a file's absence or length isn't certain, the result is "unknown". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/raw_files.h"
#include "base/num.h"
#include "vol/copy/written_chunks.h"
#include "vol/core/hid.h"
#include "vol/dataset/virtual.h"

#define BLOCK ((uint64_t)16 << 20) /* bytes; smaller blocks find more holes and take longer */

/* A grid for it, of blocks that lie in one piece row-major. */
static bool make_grid(hid_t dset, size_t size, struct bkt_written *c)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, c->dims, NULL);
    uint64_t                     left = size ? BLOCK / size : 0, all = 1;
    c->rank = rank > 0 ? (unsigned)rank : 0;
    for (unsigned d = c->rank; d-- > 0;) {
        c->cdims[d] = bkt_min_u64(c->dims[d], left ? left : 1);
        c->grid[d] = c->cdims[d] ? bkt_ceil_div(c->dims[d], c->cdims[d]) : 0;
        left = c->cdims[d] < c->dims[d] ? 1 : left / (c->cdims[d] ? c->cdims[d] : 1);
        if (!c->grid[d] || !bkt_mul_u64(all, c->grid[d], &all))
            return false;
    }
    return rank > 0;
}

/* ---- virtual datasets ---- */

/* Adds the part of an existing source: all within its bounds counts as stored, unless the source is blank. */
static int add_part(hid_t part, bool blank, void *arg)
{
    struct bkt_written *c = arg;
    hsize_t             lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
    if (blank || H5Sget_select_npoints(part) == 0)
        return BKT_OK;
    if (H5Sget_select_bounds(part, lo, hi) < 0)
        return BKT_EHDF5;
    for (unsigned d = 0; d < c->rank; d++) {
        lo[d] /= c->cdims[d];
        hi[d] = bkt_min_u64(hi[d] / c->cdims[d], c->grid[d] - 1);
        if (lo[d] > hi[d])
            return BKT_OK; /* beyond the extent */
    }
    return bkt_written_cells(c, lo, hi);
}

static bool is_absent(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 && errno == ENOENT;
}

/* The places where HDF5 looks for a file called @p name for the plain file @p self: by that name, and beside
 * that file. */
struct places {
    char *path[3];
};

static void places_fini(struct places *p)
{
    for (size_t i = 0; i < BKT_COUNT(p->path); i++)
        free(p->path[i]);
}

static char *beside(const char *self, const char *name)
{
    const char *slash = strrchr(self, '/');
    char *path = NULL;
    return asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - self) : 0, self, name) < 0 ? NULL : path;
}

static bool places_of(const char *self, const char *name, struct places *p)
{
    const char *leaf = strrchr(name, '/');
    *p = (struct places){{strdup(name), beside(self, name), beside(self, leaf ? leaf + 1 : name)}};
    return p->path[0] && p->path[1] && p->path[2];
}

/* Whether HDF5 finds no file of that name, wherever it looks. */
static bool is_missing(const struct places *p)
{
    return is_absent(p->path[0]) && is_absent(p->path[1]) && is_absent(p->path[2]);
}

/* The only file that HDF5 finds; NULL: several. */
static const char *found(const struct places *p)
{
    struct stat first, st;
    const char *out = NULL;
    for (size_t i = 0; i < BKT_COUNT(p->path); i++) {
        if (stat(p->path[i], &st) < 0)
            continue;
        if (out && (st.st_dev != first.st_dev || st.st_ino != first.st_ino))
            return NULL;
        first = st;
        out = p->path[i];
    }
    return out;
}

/* Whether a source is certain to have no stored elements.  @p path: NULL for a source in the same file. */
static bool is_blank_source(hid_t dset, hid_t dcpl, const char *path, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t self = H5Iget_file_id(dset),
          fapl = self < 0 ? -1 : H5Fget_access_plist(self), type = H5Dget_type(dset), file = -1, source = -1;
    if (path && fapl >= 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    if (fapl < 0 || type < 0 || (path && file < 0))
        return false;
    source = H5Dopen2(path ? file : self, name, H5P_DEFAULT);
    bool blank = source >= 0 && bkt_virtual_is_blank(source, dcpl, type);
    (void)H5Eclear2(H5E_DEFAULT);
    return blank;
}

static int add_source(hid_t dset, hid_t dcpl, const char *self, const struct bkt_mapping *m,
                      struct bkt_written *c)
{
    BKT_CLEANUP(places_fini) struct places p = {{NULL}};
    bool same = strcmp(m->file, ".") == 0;
    if (!same && !places_of(self, m->file, &p))
        return BKT_ENOMEM;
    if (!same && is_missing(&p))
        return BKT_OK;
    const char *path = same ? NULL : found(&p);
    return add_part(m->vspace, (same || path) && is_blank_source(dset, dcpl, path, m->dset), c);
}

/* The file of @p dset, if it is one of this machine under its own name, and no variable says where its
 * sources are. */
static char *file_of(hid_t dset)
{
    struct stat                  st;
    ssize_t                      n    = H5Fget_name(dset, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    char                        *out  = NULL;
    if (name && H5Fget_name(dset, name, (size_t)n + 1) == n && lstat(name, &st) == 0 && S_ISREG(st.st_mode) &&
        !getenv("HDF5_VDS_PREFIX"))
        out = strdup(name);
    return out;
}

static bool parts_of_file(hid_t dset, hid_t dcpl, struct bkt_written *c)
{
    BKT_CLEANUP(bkt_freep) char *self = file_of(dset);
    struct bkt_mapping          *m    = NULL;
    size_t                       n    = 0;
    if (!self || bkt_mappings_load(dcpl, &m, &n, NULL) < 0)
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = !m[i].v.unlimited && add_source(dset, dcpl, self, &m[i], c) == BKT_OK;
    bkt_mappings_free(m, n);
    return ok;
}

/* ---- raw files ---- */

struct raw_parts {
    struct bkt_written *c;
    size_t              size; /* of an element */
    uint64_t            at;   /* bytes of the dataset that the files so far hold */
    size_t n_there, n_absent; /* files */
};

/* The block that element number @p i lies in. */
static uint64_t block_of(const struct raw_parts *p, uint64_t i)
{
    const struct bkt_written *c     = p->c;
    uint64_t                  index = 0, scale = 1;
    for (unsigned d = c->rank; d-- > 0; i /= c->dims[d]) {
        index += i % c->dims[d] / c->cdims[d] * scale;
        scale *= c->grid[d];
    }
    return index;
}

/* Beyond a file's end HDF5 reads zeros.  It refuses to read an absent file. */
static int add_raw(const struct bkt_external_file *f, void *arg)
{
    struct raw_parts *p = arg;
    struct stat st = {.st_size = 0};
    bool absent = f->local && is_absent(f->name);
    if (!f->local || (!absent && stat(f->name, &st) < 0))
        return BKT_EUNSUP;
    *(absent ? &p->n_absent : &p->n_there) += f->size > 0;
    uint64_t there =
        (uint64_t)st.st_size > f->offset ? bkt_min_u64((uint64_t)st.st_size - f->offset, f->size) : 0;
    if (there)
        BKT_PASS(bkt_written_range(p->c, block_of(p, p->at / p->size),
                                   block_of(p, (p->at + there - 1) / p->size)));
    p->at += f->size;
    return BKT_OK;
}

static bool raw_of_file(hid_t dcpl, struct raw_parts *p)
{
    char     name[4096];
    uint64_t left = p->size;
    for (unsigned d = 0; d < p->c->rank; d++)
        if (!bkt_mul_u64(left, p->c->dims[d], &left))
            return false;
    for (int i = 0; i < H5Pget_external_count(dcpl); i++) {
        off_t                    offset = 0;
        hsize_t                  size   = 0;
        if (getenv("HDF5_EXTFILE_PREFIX") ||
            H5Pget_external(dcpl, (unsigned)i, sizeof name, name, &offset, &size) < 0)
            return false;
        name[sizeof name - 1] = '\0';
        struct bkt_external_file f = {
            .name = name, .local = true, .offset = (uint64_t)offset, .size = bkt_min_u64(size, left)};
        left -= f.size;
        if (add_raw(&f, p) < 0)
            return false;
    }
    return true;
}

/* ---- either ---- */

bool bkt_written_parts(hid_t dset, struct bkt_vobj *o, hid_t dcpl, struct bkt_written *c)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    struct raw_parts             p    = {.c = c, .size = type < 0 ? 0 : H5Tget_size(type)};
    bool                         ok;
    if (!make_grid(dset, p.size, c))
        return false;
    if (H5Pget_layout(dcpl) == H5D_VIRTUAL)
        ok = o ? bkt_virtual_each(o, add_part, c, NULL) == BKT_OK : parts_of_file(dset, dcpl, c);
    else
        ok = o ? bkt_external_each(o->file->dom, o->obj, add_raw, &p, NULL) == BKT_OK : raw_of_file(dcpl, &p);
    ok = ok && !(p.n_absent && p.n_there);
    c->absent = ok && p.n_absent;
    c->no_grid = ok && c->n == 0;
    return ok;
}
