/* A dataset in parts, and the load of one file by the processes of an mpirun. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "tools/cli/tool.h"
#include "tools/load/load_domain.h"
#include "tools/load/shared_copy.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"
#include "vol/dataset/raw_files.h"

#define BLOCK                                                                                                \
    ((uint64_t)4 << 20) /* bytes of a block of a dataset that has no chunks; as a request of download */

static bool is_inside(hid_t dset)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    if (dcpl < 0 || H5Pget_external_count(dcpl) > 0 || (o && bkt_is_external(o)))
        return false;
    H5D_layout_t layout = H5Pget_layout(dcpl);
    return layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS;
}

bool shared_copy_possible(hid_t from, hid_t to)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    hssize_t n = space < 0 || H5Sget_simple_extent_ndims(space) < 1 ? 0 : H5Sget_simple_extent_npoints(space);
    bool fits = type >= 0 && n > 0 && (uint64_t)n >= SHARED_COPY_LEAST / bkt_max_u64(H5Tget_size(type), 1) &&
                !bkt_convert_has_pointers(type) && is_inside(from) && is_inside(to);
    H5D_space_status_t status = H5D_SPACE_STATUS_PART_ALLOCATED;
    if (fits && H5Dget_space_status(from, &status) < 0)
        status = H5D_SPACE_STATUS_PART_ALLOCATED;
    (void)H5Eclear2(H5E_DEFAULT);
    return fits && status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

bool shared_copy_same_chunks(hid_t file, hid_t domain)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(file);
    const struct bkt_layout *lay = &bkt_vobj_of_id(domain)->obj->dset.layout;
    hsize_t chunk[H5S_MAX_RANK];
    int rank = dcpl < 0 || H5Pget_layout(dcpl) != H5D_CHUNKED ? -1 : H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
    return rank > 0 && (unsigned)rank == lay->rank && bkt_filters_agree(file, domain, NULL) > 0 &&
           memcmp(chunk, lay->dims, (size_t)rank * sizeof *chunk) == 0;
}

/* ---- the list ---- */

static bool shape(hid_t dset, struct bkt_written *w)
{
    const struct bkt_dset *ds = &bkt_vobj_of_id(dset)->obj->dset;
    const struct bkt_layout *lay = &ds->layout;
    struct bkt_blocks b;
    uint64_t all = 1;
    w->rank = ds->space.rank;
    bool chunks = lay->rank == w->rank && lay->cls != BKT_D_CONTIGUOUS_REF;
    bkt_blocks_begin(&b, w->rank, ds->space.dims, NULL,
                     bkt_max_u64(BLOCK / bkt_max_u64(ds->type->size, 1), 1));
    for (unsigned d = 0; d < w->rank; d++) {
        w->cdims[d] = chunks ? lay->dims[d] : b.step[d];
        w->grid[d] = w->cdims[d] ? bkt_ceil_div(ds->space.dims[d], w->cdims[d]) : 0;
        if (!w->grid[d] || !bkt_mul_u64(all, w->grid[d], &all))
            return false;
    }
    return true;
}

int shared_copy_list(hid_t dset, hid_t from, struct bkt_written *w, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written grid = {.v = NULL};
    hsize_t hi[H5S_MAX_RANK] = {0}, lo[H5S_MAX_RANK] = {0};
    BKT_FAIL_IF(err, !shape(dset, &grid), BKT_EFORMAT, "a dataset's chunk grid is impossible");
    if (bkt_written_listable(from) && bkt_written_list(from, w)) {
        if (w->no_grid) {
            w->n = 0;
            return BKT_OK;
        }
        if (bkt_written_regrid(w, &grid) == BKT_OK) {
            (void)bkt_written_hole(w, hi); /* sorts, each once */
            return BKT_OK;
        }
        bkt_written_fini(w);
    }
    *w = grid;
    memset(&grid, 0, sizeof grid);
    for (unsigned d = 0; d < w->rank; d++)
        hi[d] = w->grid[d] - 1;
    int rc = bkt_written_cells(w, lo, hi);
    return rc < 0 ? BKT_ERR(err, rc, "a dataset has too many chunks for a list of them") : BKT_OK;
}

uint64_t shared_copy_chunk_bytes(const struct bkt_written *w, size_t elem_size)
{
    uint64_t n = elem_size;
    for (unsigned d = 0; d < w->rank; d++)
        if (!bkt_mul_u64(n, w->cdims[d], &n))
            return UINT64_MAX;
    return n;
}

uint64_t shared_copy_share(uint64_t total)
{
    return bkt_min_u64(BKT_TOOL_BLOCK, bkt_max_u64(total / (2 * bkt_processes_size()), SHARED_COPY_LEAST));
}

size_t shared_copy_next(const struct bkt_written *w, size_t i, uint64_t bytes, uint64_t share)
{
    uint64_t n = bkt_max_u64(share / bkt_max_u64(bytes, 1), 1);
    return (size_t)bkt_min_u64(w->n - i, bkt_min_u64(n, SHARED_COPY_CHUNKS));
}

/* ---- as bytes ---- */

static int emit_list(const struct bkt_written *w, size_t i, size_t n, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_le(out, 1, w->rank));
    for (unsigned d = 0; d < w->rank; d++) {
        BKT_PASS(bkt_buf_add_le(out, 8, w->cdims[d]));
        BKT_PASS(bkt_buf_add_le(out, 8, w->grid[d]));
    }
    BKT_PASS(bkt_buf_add_le(out, 4, n));
    for (; n > 0; i++, n--) {
        BKT_PASS(bkt_buf_add_le(out, 8, w->v[i].index));
        BKT_PASS(bkt_buf_add_le(out, 8, w->v[i].size));
        BKT_PASS(bkt_buf_add_le(out, 4, w->v[i].mask));
    }
    return BKT_OK;
}

int shared_copy_parse(struct bkt_rd *r, struct bkt_written *w, struct bkt_err *err)
{
    uint64_t all = 1;
    bool good = (w->rank = (unsigned)bkt_rd_le(r, 1)) <= H5S_MAX_RANK;
    for (unsigned d = 0; good && d < w->rank; d++) {
        w->cdims[d] = bkt_rd_le(r, 8);
        w->grid[d] = bkt_rd_le(r, 8);
        good = w->cdims[d] && w->grid[d] && bkt_mul_u64(all, w->grid[d], &all);
    }
    uint64_t n = good ? bkt_rd_le(r, 4) : 0;
    good = good && r->ok && n <= bkt_rd_left(r) / 20;
    w->v = good ? calloc((size_t)n + 1, sizeof *w->v) : NULL;
    if (good && !w->v)
        BKT_NOMEM(err);
    for (; good && w->n < n; w->n++) {
        w->v[w->n].index = bkt_rd_le(r, 8);
        w->v[w->n].size = bkt_rd_le(r, 8);
        w->v[w->n].mask = (uint32_t)bkt_rd_le(r, 4);
        good = w->v[w->n].index < all;
    }
    BKT_FAIL_IF_MALFORMED(err, !good || !r->ok, "part of a dataset");
    return BKT_OK;
}

static int emit(struct bkt_buf *out, const char *kinds, va_list ap)
{
    for (; *kinds; kinds++)
        if (*kinds == 'w') {
            const struct bkt_written *w = va_arg(ap, const struct bkt_written *);
            size_t i = va_arg(ap, size_t);
            BKT_PASS(emit_list(w, i, va_arg(ap, size_t), out));
        } else if (*kinds == 't') {
            const char *text = va_arg(ap, const char *);
            size_t n = strlen(text) + 1;
            BKT_PASS(bkt_buf_add_le(out, 4, n));
            BKT_PASS(bkt_buf_add(out, text, n));
        } else if (*kinds == 'i') {
            BKT_PASS(bkt_buf_add(out, va_arg(ap, const struct bkt_id *)->text, BKT_ID_LEN));
        } else {
            uint64_t v = *kinds == '1' ? va_arg(ap, unsigned) : va_arg(ap, uint64_t);
            BKT_PASS(bkt_buf_add_le(out, (unsigned)(*kinds - '0'), v));
        }
    return BKT_OK;
}

int shared_copy_say(struct bkt_buf *out, struct bkt_err *err, const char *kinds, ...)
{
    va_list ap;
    va_start(ap, kinds);
    int rc = emit(out, kinds, ap);
    va_end(ap);
    return BKT_MADE(err, rc >= 0);
}

const char *shared_copy_take_text(struct bkt_rd *r)
{
    size_t n = (size_t)bkt_rd_le(r, 4);
    const char *text = bkt_rd_take(r, n);
    r->ok = text && n && !text[n - 1];
    return r->ok ? text : "";
}

int shared_copy_parse_id(struct bkt_rd *r, struct bkt_id *out, struct bkt_err *err)
{
    char text[BKT_ID_LEN + 1] = "";
    const char *id = bkt_rd_take(r, BKT_ID_LEN);
    if (id)
        memcpy(text, id, BKT_ID_LEN);
    BKT_FAIL_IF_MALFORMED(err, !bkt_id_set(out, text), "id");
    return BKT_OK;
}

enum { PART_STORED, PART_ELEMENTS }; /* of a unit: chunks as they are stored; elements */

struct waiting {
    char *path;
    struct bkt_id id; /* in the domain */
    bool stored;      /* its chunks are moved as they are stored */
};
struct load_shared {
    struct waiting *v;
    size_t n, cap;
    /* of this process: the dataset of the last unit */
    char *path;
    hid_t src, dst;
    /* of another process than the first */
    const char *source, *domain;
    hid_t fapl;
    struct bkt_domain *d;
};

static void close_last(struct load_shared *p)
{
    bkt_hid_closep(&p->src);
    bkt_hid_closep(&p->dst);
    free(p->path);
    p->path = NULL;
}

void load_shared_free(struct load_shared *p)
{
    if (!p)
        return;
    close_last(p);
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].path);
    free(p->v);
    free(p);
}

static struct load_shared *make(void)
{
    struct load_shared *p = calloc(1, sizeof *p);
    if (p)
        p->src = p->dst = H5I_INVALID_HID;
    return p;
}

int load_shared_begin(struct load_job *l, bool is_new, struct bkt_err *err)
{
    const struct load_options *o = l->o;
    if (!bkt_processes_several() || o->with_others || !is_new || o->link || o->no_data || o->ignore ||
        l->src->file < 0)
        return BKT_OK;
    l->shared = make();
    return BKT_MADE(err, l->shared);
}

int load_shared_wait(struct load_job *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    struct load_shared *p = l->shared;
    if (!p || *path != '/' || !shared_copy_possible(src, dst))
        return 0;
    char *copy = strdup(path);
    if (!copy || bkt_list_room(&p->v, p->n, &p->cap, sizeof *p->v) < 0) {
        free(copy);
        BKT_NOMEM(err);
    }
    p->v[p->n++] = (struct waiting){copy, bkt_vobj_of_id(dst)->obj->id, shared_copy_same_chunks(src, dst)};
    return 1;
}

/* ---- units ---- */

static int put_stored(struct load_job *l, struct bkt_share *sh, const struct waiting *x, hid_t src,
                      struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    uint64_t total = 0;
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    w.rank = s.rank;
    if (s.n_chunks && !(w.v = calloc(s.n_chunks, sizeof *w.v)))
        BKT_NOMEM(err);
    memcpy(w.cdims, s.cdims, sizeof w.cdims);
    memcpy(w.grid, s.grid, sizeof w.grid);
    for (; w.n < s.n_chunks; w.n++) {
        const struct bkt_file_chunk *c = &s.chunks[w.n];
        w.v[w.n] = (struct bkt_written_chunk){.index = c->index, .size = c->size, .mask = c->mask};
        BKT_FAIL_IF(err, !bkt_add_u64(total, c->size, &total), BKT_EFORMAT, "chunks of more than 2^64 bytes");
    }
    for (size_t i = 0, n; i < w.n; i += n) {
        uint64_t bytes = w.v[i].size;
        for (n = 1;
             i + n < w.n && n < SHARED_COPY_CHUNKS && bytes + w.v[i + n].size <= shared_copy_share(total);
             n++)
            bytes += w.v[i + n].size;
        bkt_buf_clear(&unit);
        BKT_PASS(shared_copy_say(&unit, err, "1itw", PART_STORED, &x->id, x->path, &w, i, n));
        for (size_t k = i; k < i + n; k++) /* so that other processes need not read the source's index */
            BKT_PASS(shared_copy_say(&unit, err, "8", s.chunks[k].offset));
        BKT_PASS(bkt_share_put(sh, &unit, err));
    }
    return BKT_OK;
}

static int put_elements(struct bkt_share *sh, const struct waiting *x, hid_t src, hid_t dst,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    BKT_PASS(shared_copy_list(dst, src, &w, err));
    uint64_t bytes = shared_copy_chunk_bytes(&w, H5Tget_size(type)), total = UINT64_MAX;
    (void)bkt_mul_u64(bytes, w.n, &total);
    for (size_t i = 0, n; i < w.n; i += n) {
        n = shared_copy_next(&w, i, bytes, shared_copy_share(total));
        bkt_buf_clear(&unit);
        BKT_PASS(shared_copy_say(&unit, err, "1itw", PART_ELEMENTS, &x->id, x->path, &w, i, n));
        BKT_PASS(bkt_share_put(sh, &unit, err));
    }
    return BKT_OK;
}

/* ---- work ---- */

/* Open the datasets of a unit, unless the last unit had the same. */
static int open_both(struct load_job *l, const char *path, const struct bkt_id *id, struct bkt_err *err)
{
    struct load_shared *p = l->shared;
    if (p->path && strcmp(p->path, path) == 0)
        return BKT_OK;
    close_last(p);
    p->src = H5Dopen2(l->src->file, path, H5P_DEFAULT);
    if (p->src < 0)
        return h5_unreadable(err, path);
    BKT_PASS(load_open_id(l, id, &p->dst, err));
    p->path = strdup(path);
    return BKT_MADE(err, p->path);
}

static int copy_elements(struct load_job *l, const struct bkt_written *w, struct bkt_err *err)
{
    struct bkt_copier_options o = load_copier_options(l);
    return bkt_copier_chunks(l->shared->src, l->shared->dst, w, &o, NULL, NULL, err);
}

static int copy_stored(struct load_job *l, const struct bkt_written *w, struct bkt_rd *unit,
                       struct bkt_err *err)
{
    struct survey s = {.kind = BKT_MAP_CHUNKED, .rank = w->rank, .n_chunks = w->n};
    BKT_CLEANUP(bkt_freep) struct bkt_file_chunk *chunks = calloc(w->n + 1, sizeof *chunks);
    BKT_NEED(err, chunks);
    memcpy(s.cdims, w->cdims, sizeof s.cdims);
    memcpy(s.grid, w->grid, sizeof s.grid);
    for (size_t i = 0; i < w->n; i++)
        chunks[i] = (struct bkt_file_chunk){w->v[i].index, bkt_rd_le(unit, 8), w->v[i].size, w->v[i].mask};
    BKT_FAIL_IF_MALFORMED(err, !unit->ok, "part of a dataset");
    s.chunks = chunks;
    int rc = load_move_chunks(l, &s, l->shared->dst, 0, s.n_chunks, err);
    return rc == 0 ? copy_elements(l, w, err) : rc;
}

/* The chunks of a unit are stored when it ends.  H5Dflush() would store the document, too. */
static int store_chunks(struct load_job *l, int rc, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int stored = bkt_chunks_flush_dataset(l->file->dom, &bkt_vobj_of_id(l->shared->dst)->obj->id, &why);
    return rc >= 0 && stored < 0 ? bkt_err_copy(err, stored, &why) : rc;
}

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct load_job *l = arg;
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    struct bkt_id id;
    uint64_t kind = bkt_rd_le(unit, 1), bytes = 0;
    BKT_PASS(interrupt_check(err));
    BKT_PASS(shared_copy_parse_id(unit, &id, err));
    const char *path = shared_copy_take_text(unit);
    BKT_PASS(shared_copy_parse(unit, &w, err));
    BKT_TRY(err, open_both(l, path, &id, err), "%s", path);
    int rc = kind == PART_STORED ? copy_stored(l, &w, unit, err) : copy_elements(l, &w, err);
    rc = store_chunks(l, rc, err);
    BKT_FAIL_IF(err, rc < 0, rc, "%s", path);
    for (size_t i = 0; i < w.n; i++)
        bytes += w.v[i].size;
    return shared_copy_say(result, err, "84", bytes, w.n);
}

static int take(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct load_job *l = arg;
    uint64_t bytes = bkt_rd_le(result, 8), chunks = bkt_rd_le(result, 4);
    BKT_FAIL_IF_MALFORMED(err, !result->ok, "result");
    progress_add(l->progress, bytes, chunks, 0);
    return BKT_OK;
}

/* ---- the first process ---- */

static int put_all(struct load_job *l, struct bkt_share *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    const struct load_shared *p = l->shared;
    BKT_PASS(shared_copy_say(&news, err, "i", bkt_domain_root(l->file->dom)));
    BKT_PASS(bkt_share_news(&news, err));
    for (size_t i = 0; i < p->n; i++) {
        BKT_CLEANUP(bkt_hid_closep)
        hid_t src = H5Dopen2(l->src->file, p->v[i].path, H5P_DEFAULT),
              dst = H5I_INVALID_HID;
        if (src < 0)
            return h5_unreadable(err, p->v[i].path);
        BKT_PASS(interrupt_check(err));
        BKT_PASS(load_open_id(l, &p->v[i].id, &dst, err));
        BKT_TRY(err,
                p->v[i].stored ? put_stored(l, s, &p->v[i], src, err)
                               : put_elements(s, &p->v[i], src, dst, err),
                "%s", p->v[i].path);
    }
    return BKT_OK;
}

int load_shared_share(struct load_job *l, struct bkt_err *err)
{
    struct bkt_share s = {.work = work,
                          .take = take,
                          .arg = l,
                          .most = 2 * (size_t)bkt_processes_size(),
                          .check = interrupt_check};
    if (!l->shared || !l->shared->n)
        return BKT_OK;
    /* other processes find the datasets in the store; nobody finds the domain yet */
    BKT_PASS(bkt_chunks_flush(l->file->dom, err));
    BKT_PASS(bkt_domain_flush_early(l->file->dom, err));
    int rc = bkt_share_begin(&s, err);
    rc = bkt_share_finish(&s, rc < 0 ? rc : put_all(l, &s, err), err);
    close_last(l->shared);
    return rc;
}

/* ---- the others ---- */

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct load_job *l = arg;
    struct load_shared *p = l->shared;
    struct bkt_id root;
    BKT_PASS(shared_copy_parse_id(news, &root, err));
    BKT_PASS(source_open(p->source, l->o->driver, l->set, &l->src, err));
    BKT_PASS(bkt_domain_open_unseen(p->domain, l->set, &root, &p->d, err));
    l->dst = H5Fopen(p->domain, H5F_ACC_RDWR, p->fapl);
    if (l->dst < 0)
        return h5_fail(err, p->domain);
    l->file = bkt_vobj_of_id(l->dst)->file;
    return BKT_OK;
}

int load_shared_serve(struct load_job *l, const char *source, const char *domain, hid_t fapl,
                      struct bkt_err *err)
{
    struct bkt_share_other s = {.work = work, .news = on_news, .arg = l};
    struct load_shared *p = l->shared = make();
    BKT_NEED(err, p);
    p->source = source, p->domain = domain, p->fapl = fapl;
    int rc = bkt_share_serve(&s, err);
    struct bkt_domain *d = p->d;
    load_shared_free(p);
    l->shared = NULL;
    if (d)
        bkt_domain_discard(d); /* the first process stores what is left */
    bkt_hid_closep(&l->dst);
    source_close(l->src);
    bkt_domain_close(d);
    return rc;
}
