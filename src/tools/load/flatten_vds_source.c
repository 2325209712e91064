/* One source of a virtual dataset: its file, and its chunks' places in the virtual dataset. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "tools/cli/interrupt.h"
#include "tools/load/flatten_vds.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver.h"

/* ---- the file ---- */

static int try_open(struct load_flat *f, const char *folder, size_t n, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_PASS_MEM(err,
                 bkt_buf_addf(&full, "%.*s%s%s", (int)n, folder, n && folder[n - 1] != '/' ? "/" : "", name));
    bkt_err_clear(err);
    return source_open(bkt_buf_str(&full), NULL, f->l->set, &f->src, err);
}

/* HDF5_VDS_PREFIX, a list of folders in which "${ORIGIN}" is the loaded file's own. */
static int try_prefixes(struct load_flat *f, const char *own, size_t own_n, const char *name,
                        struct bkt_err *err)
{
    static const char origin[] = "${ORIGIN}";
    const char       *at       = getenv("HDF5_VDS_PREFIX");
    int               rc       = BKT_ENOENT;
    for (; at && *at && rc < 0; at += *at == ':') {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf folder = {0};
        size_t n = strcspn(at, ":"),
               skip = strncmp(at, origin, sizeof origin - 1) == 0 ? sizeof origin - 1 : 0;
        BKT_PASS_MEM(err, bkt_buf_addf(&folder, "%.*s%.*s", skip ? (int)own_n : 0, own,
                                       (int)(n - bkt_min_u64(n, skip)), at + skip));
        if (folder.len)
            rc = try_open(f, bkt_buf_str(&folder), folder.len, name, err);
        at += n;
    }
    return rc;
}

/* Looks in HDF5's order: an absolute name as it is; else the name in the prefixes, beside the virtual
 * dataset's file, and as it is. */
static int find_file(struct load_flat *f, const char *name, struct bkt_err *err)
{
    const char *own = f->l->src->name, *slash = strrchr(own, '/');
    size_t      n        = slash ? (size_t)(slash - own) + 1 : 0;
    bool absolute = *name == '/' || bkt_vfd_takes(name);
    int         rc       = absolute ? try_open(f, "", 0, name, err) : BKT_ENOENT;
    if (rc == BKT_OK || bkt_vfd_takes(name))
        return rc;
    if (absolute)
        name = strrchr(name, '/') + 1;
    rc = try_prefixes(f, own, n, name, err);
    if (rc < 0 && rc != BKT_ENOMEM)
        rc = try_open(f, own, n, name, err);
    return rc < 0 && n && !absolute && rc != BKT_ENOMEM ? try_open(f, "", 0, name, err) : rc;
}

int load_flat_open(struct load_flat *f, const char *file, struct bkt_err *err)
{
    if (f->file && strcmp(f->file, file) == 0)
        return BKT_OK;
    source_close(f->src);
    free(f->file);
    f->src = NULL;
    f->file = NULL;
    if (strcmp(file, ".") != 0)
        BKT_TRY(err, find_file(f, file, err), "source file %s", file);
    const struct source *s = f->src ? f->src : f->l->src;
    f->first = f->names.n;
    BKT_PASS(load_part_uris(f->l, s, &f->names, err));
    for (size_t i = 0; i < s->n_parts; i++)
        BKT_PASS_MEM(err, bkt_strs_add(&f->names, s->parts[i].etag));
    f->file = strdup(file);
    return BKT_MADE(err, f->file);
}

/* ---- boxes ---- */

struct slab { /* count[d] runs of block[d] places, stride[d] apart, in each dimension */
    unsigned rank;
    hsize_t  start[BKT_MAX_RANK], stride[BKT_MAX_RANK], count[BKT_MAX_RANK], block[BKT_MAX_RANK];
};
struct box {
    unsigned rank;
    hsize_t  start[BKT_MAX_RANK], count[BKT_MAX_RANK];
};
struct pair { /* a mapping's selections, and one box of either that belong together */
    struct slab    vs, ss;
    struct box     v, s;
    struct survey *at;
    int to[BKT_MAX_RANK]; /* virtual dimension -> the source's; -1: one step that the source doesn't have */
    uint64_t       cdims[BKT_MAX_RANK];  /* the source's chunk */
};

static hsize_t total(const struct slab *s, unsigned d) { return s->count[d] * s->block[d]; }

/* Gets the selection within its bounds, if it has no other elements. */
static int one_box(hid_t space, struct slab *b, struct bkt_err *err)
{
    hsize_t  end[BKT_MAX_RANK];
    uint64_t n = 1;
    if (H5Sget_select_bounds(space, b->start, end) < 0)
        return h5_fail(err, "asking a mapping for its bounds");
    for (unsigned d = 0; d < b->rank; d++) {
        b->count[d] = 1;
        b->block[d] = b->stride[d] = end[d] - b->start[d] + 1;
        BKT_FAIL_IF(err, !bkt_mul_u64(n, b->block[d], &n), BKT_EFORMAT, "mapping: 2^64 elements or more");
    }
    BKT_FAIL_IF(err, n != (uint64_t)H5Sget_select_npoints(space), BKT_EUNSUP,
                "a mapping selects neither a box nor a regular pattern of boxes");
    return BKT_OK;
}

static int slab_of(hid_t space, const struct survey *whole, struct slab *b, struct bkt_err *err)
{
    if (whole && H5Sget_select_type(space) == H5S_SEL_ALL) { /* kept without the source's extent */
        b->rank = whole->rank;
        for (unsigned d = 0; d < b->rank; d++) {
            b->start[d] = 0, b->count[d] = 1;
            b->block[d] = b->stride[d] = whole->dims[d];
        }
        return BKT_OK;
    }
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0)
        return h5_fail(err, "asking a mapping for its rank");
    b->rank = (unsigned)rank;
    if (rank == 0 || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0)
        return one_box(space, b, err);
    if (H5Sget_regular_hyperslab(space, b->start, b->stride, b->count, b->block) < 0)
        return h5_fail(err, "asking a mapping for its selection");
    for (unsigned d = 0; d < b->rank; d++)
        if (b->count[d] == 1 || b->stride[d] == b->block[d]) {
            b->block[d] *= b->count[d];
            b->stride[d] = b->block[d];
            b->count[d]  = 1;
        }
    return BKT_OK;
}

/* Matches dimensions, from the fastest on; those of one step may be missing on the other side. */
static int match(struct pair *p, struct bkt_err *err)
{
    unsigned i = p->vs.rank, j = p->ss.rank;
    while (i || j) {
        if (i && j && total(&p->vs, i - 1) == total(&p->ss, j - 1))
            p->to[--i] = (int)--j;
        else if (i && total(&p->vs, i - 1) == 1)
            p->to[--i] = -1;
        else if (j && total(&p->ss, j - 1) == 1 &&
                 (p->at->kind == BKT_MAP_CONTIGUOUS || p->at->cdims[j - 1] <= 1))
            --j;
        else
            BKT_FAIL(err, BKT_EUNSUP, "a mapping changes the shape of its box");
    }
    return BKT_OK;
}

/* A contiguous source is one chunk, if the mapped part of it lies in one run. */
static int chunk_shape(struct pair *p, struct bkt_err *err)
{
    const struct survey *s = p->at;
    for (unsigned d = 0; d < s->rank; d++) {
        bool inside = p->s.start[d] + p->s.count[d] <= s->dims[d];
        bool whole  = p->s.start[d] == 0 && p->s.count[d] == s->dims[d];
        BKT_FAIL_IF(err, !inside, BKT_EUNSUP, "a mapping reaches beyond its source's extent");
        BKT_FAIL_IF(err, s->kind == BKT_MAP_CONTIGUOUS && d > 0 && !whole, BKT_EUNSUP,
                    "the mapped part of a contiguous source is not contiguous");
        p->cdims[d] = s->kind == BKT_MAP_CONTIGUOUS ? p->s.count[d] : s->cdims[d];
        BKT_FAIL_IF(err, p->cdims[d] == 0, BKT_EUNSUP, "nothing is stored in a source without chunks");
    }
    return BKT_OK;
}

static int aligned(struct load_flat *f, const struct pair *p, struct bkt_err *err)
{
    for (unsigned i = 0; i < f->rank; i++) {
        int      j    = p->to[i];
        uint64_t c    = j < 0 ? 1 : p->cdims[j], vend = p->v.start[i] + p->v.count[i];
        bool last = vend == f->dims[i] &&
                    (f->max[i] == f->dims[i] || j < 0 || p->s.start[j] + p->s.count[j] == p->at->dims[j]);
        bool     from = j >= 0 && p->at->kind != BKT_MAP_CONTIGUOUS && p->s.start[j] % c != 0;
        if (!f->known)
            f->cdims[i] = c;
        BKT_FAIL_IF(err, f->cdims[i] != c, BKT_EUNSUP, "its sources have chunks of different shapes");
        BKT_FAIL_IF(err, f->max[i] != H5S_UNLIMITED && c > f->max[i], BKT_EUNSUP,
                    "a source's chunks are larger than the virtual dataset's maximum");
        BKT_FAIL_IF(err, p->v.start[i] % c != 0 || from || (p->v.count[i] % c != 0 && !last), BKT_EUNSUP,
                    "a mapping doesn't begin and end at chunk borders in dimension %u", i);
        f->grid[i] = bkt_ceil_div(f->dims[i], c);
    }
    return BKT_OK;
}

/* ---- rows ---- */

static int add_row(struct load_flat *f, const uint64_t *vcoord, const struct bkt_file_chunk *c,
                   struct bkt_err *err)
{
    const struct source      *s    = f->src ? f->src : f->l->src;
    const struct source_part *part = source_part_of(s, c->offset, c->size);
    uint64_t                  index = 0;
    BKT_FAIL_IF(err, !part, BKT_EUNSUP, "a source's chunk lies in two files");
    for (unsigned i = 0; i < f->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(index, f->grid[i], &index) || !bkt_add_u64(index, vcoord[i], &index),
                    BKT_EFORMAT, "the chunk grid is too large");
    BKT_PASS_MEM(err, bkt_list_room(&f->rows, f->n_rows, &f->cap, sizeof *f->rows));
    char *const *name = f->names.v + f->first + (part - s->parts);
    f->rows[f->n_rows++] =
        (struct load_row){index, c->offset - part->start, c->size, c->mask, *name, name[s->n_parts]};
    return BKT_OK;
}

/* One chunk of a chunked source, if the mapping has it; counted in *n. */
static int add_chunk(struct load_flat *f, const struct pair *p, const struct bkt_file_chunk *c, uint64_t *n,
                     struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK] = {0}, v[BKT_MAX_RANK], rest = c->index;
    for (unsigned j = p->s.rank; j-- > 0; rest /= p->at->grid[j]) {
        coord[j]    = rest % p->at->grid[j];
        uint64_t at = coord[j] * p->cdims[j];
        if (at < p->s.start[j] || at >= p->s.start[j] + p->s.count[j])
            return BKT_OK;
    }
    for (unsigned i = 0; i < f->rank; i++) {
        int j = p->to[i];
        v[i]  = p->v.start[i] / f->cdims[i] + (j < 0 ? 0 : coord[j] - p->s.start[j] / p->cdims[j]);
    }
    ++*n;
    return add_row(f, v, c, err);
}

static int add_contiguous(struct load_flat *f, const struct pair *p, uint64_t elem, uint64_t *n,
                          struct bkt_err *err)
{
    uint64_t v[BKT_MAX_RANK], row = elem;
    for (unsigned d = 1; d < p->s.rank; d++)
        row *= p->s.count[d]; /* no more than the source's size, which HDF5 has checked */
    struct bkt_file_chunk c = {.offset = p->at->addr, .size = row};
    if (p->s.rank) {
        c.offset += p->s.start[0] * row;
        c.size *= p->s.count[0];
    }
    for (unsigned i = 0; i < f->rank; i++)
        v[i] = p->v.start[i] / f->cdims[i];
    ++*n;
    return add_row(f, v, &c, err);
}

/* Elements that were never stored will read as the virtual dataset's fill value, which must be the source's.
 * An undefined one counts as zeros, since any elements will do.  1, 0, BKT_ENOMEM */
static int same_fill(hid_t a, hid_t b, hid_t type, struct bkt_err *err)
{
    size_t                                size = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) unsigned char *x = calloc(2, size);
    BKT_NEED(err, x);
    if (bkt_convert_fill_of(a, type, x) < 0 || bkt_convert_fill_of(b, type, x + size) < 0) {
        (void)H5Eclear2(H5E_DEFAULT);
        return 0;
    }
    return memcmp(x, x + size, size) == 0;
}

static int add_rows(struct load_flat *f, struct pair *p, hid_t dcpl, struct bkt_err *err)
{
    uint64_t want = 1, n = 0;
    for (unsigned i = 0; i < f->rank; i++)
        want *= bkt_ceil_div(p->v.count[i], f->cdims[i]);
    if (p->at->kind == BKT_MAP_CONTIGUOUS)
        BKT_PASS(add_contiguous(f, p, H5Tget_size(f->type), &n, err));
    for (size_t i = 0; i < p->at->n_chunks; i++)
        BKT_PASS(add_chunk(f, p, &p->at->chunks[i], &n, err));
    const int same = n == want ? 1 : same_fill(f->dcpl, dcpl, f->type, err);
    BKT_PASS(same);
    BKT_FAIL_IF(err, !same, BKT_EUNSUP, "a source has another fill value, and chunks that aren't stored");
    return BKT_OK;
}

/* One box of the virtual dataset and the source's that belongs to it. */
static int add_box(struct load_flat *f, struct pair *p, hid_t dcpl, struct bkt_err *err)
{
    BKT_PASS(chunk_shape(p, err));
    BKT_PASS(aligned(f, p, err));
    const int agree = f->known ? bkt_filters_agree_lists(f->made, dcpl, err) : 1;
    BKT_PASS(agree);
    BKT_FAIL_IF(err, !agree, BKT_EUNSUP, "its sources have different filters");
    if (!f->known)
        f->made = H5Pcopy(dcpl);
    f->known = true;
    return f->made < 0 ? h5_fail(err, "copying a creation list") : add_rows(f, p, dcpl, err);
}

/* Adds all boxes: in dimensions from @p i on, a run of either side is cut where a run of the other side
 * ends. */
static int add_boxes(struct load_flat *f, struct pair *p, unsigned i, hid_t dcpl, struct bkt_err *err)
{
    if (i == f->rank)
        return add_box(f, p, dcpl, err);
    const struct slab *v = &p->vs, *s = &p->ss;
    int                j = p->to[i];
    for (hsize_t at = 0, n; at < total(v, i); at += n) {
        hsize_t in_v      = at % v->block[i];
        n                 = v->block[i] - in_v;
        p->v.start[i]     = v->start[i] + at / v->block[i] * v->stride[i] + in_v;
        if (j >= 0) {
            hsize_t in_s  = at % s->block[j];
            n             = bkt_min_u64(n, s->block[j] - in_s);
            p->s.start[j] = s->start[j] + at / s->block[j] * s->stride[j] + in_s;
            p->s.count[j] = n;
        }
        p->v.count[i] = n;
        BKT_PASS(interrupt_check(err));
        BKT_PASS(add_boxes(f, p, i + 1, dcpl, err));
    }
    return BKT_OK;
}

int load_flat_add(struct load_flat *f, hid_t vspace, hid_t srcspace, hid_t dset, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s    = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset), dcpl = H5Dget_create_plist(dset);
    struct pair                            p    = {.at = &s};
    if (type < 0 || dcpl < 0)
        return h5_fail(err, "asking for a source's type");
    BKT_FAIL_IF(err, H5Tequal(type, f->type) <= 0, BKT_EUNSUP, "a source has another datatype");
    BKT_PASS(survey_dataset(f->src ? f->src : f->l->src, dset, &s, err));
    BKT_FAIL_IF(err, s.kind != BKT_MAP_CHUNKED && s.kind != BKT_MAP_CONTIGUOUS && s.kind != BKT_MAP_NONE,
                BKT_EUNSUP, "a source is %s",
                s.kind == BKT_MAP_VIRTUAL   ? "virtual itself"
                : s.kind == BKT_MAP_COMPACT ? "compact"
                                            : "in external files");
    BKT_PASS(slab_of(vspace, NULL, &p.vs, err));
    BKT_PASS(slab_of(srcspace, &s, &p.ss, err));
    BKT_FAIL_IF(err, p.vs.rank != f->rank, BKT_EFORMAT, "a mapping has another rank than the dataset");
    BKT_FAIL_IF(err, s.rank != p.ss.rank, BKT_EUNSUP, "a source has %u dimensions, its mapping %u", s.rank,
                p.ss.rank);
    BKT_PASS(match(&p, err));
    p.v.rank = p.vs.rank, p.s.rank = p.ss.rank;
    for (unsigned d = 0; d < p.s.rank; d++)
        p.s.start[d] = p.ss.start[d], p.s.count[d] = 1;
    return add_boxes(f, &p, 0, dcpl, err);
}
