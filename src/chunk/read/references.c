/* The places of reference chunks, and the files that hold them. */
#include "chunk/read/references.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/os/thread.h"
#include "storage/concat_store.h"

#define FILTER_MORE (1u << 20) /* bytes, besides four times the chunk: a limit against malicious documents */

/* A file of this machine has no ETag that a copy of its folder would keep.  Its size and time of change
 * replace it. */
static int check_stamp(struct bkt_store *st, const char *uri, const char *key, struct bkt_version *version,
                       const char *stamp, struct bkt_err *err)
{
    struct bkt_req req = {.op = BKT_HEAD, .key = key, .version = version};
    char           now[BKT_ETAG_MAX];
    int rc = bkt_store_perform(st, &req, 1, err);
    bkt_stamp(req.size, req.mtime, now);
    bkt_req_fini(&req);
    if (rc < 0 || strcmp(now, stamp) == 0)
        return rc;
    bkt_version_forget(version); /* the changed version is never read, and the linked one may come back */
    BKT_FAIL(err, BKT_EPRECOND, "%s changed since it was linked; link it again", uri);
}

/* Set the version that all bytes of a part must have: the version of the recorded @p etag (an ETag or a
 * stamp).  Without @p etag, the first answer's version counts, unless the file @p may_change. */
static int pin(struct bkt_dsetio *io, const char *uri, const char *etag, bool may_change,
               struct bkt_concat_file *p, struct bkt_err *err)
{
    bool recorded = etag && *etag, stamp = recorded && bkt_is_stamp(etag);
    p->etag = recorded && !stamp ? etag : NULL;
    if (p->etag || (!recorded && may_change))
        return BKT_OK;
    BKT_PASS(bkt_domain_version(io->dom, p->store, p->key, stamp ? etag : NULL, &p->version, err));
    return stamp ? check_stamp(p->store, uri, p->key, p->version, etag, err) : BKT_OK;
}

/* Join the segments that the layout names into one file. */
static int join(struct bkt_dsetio *io, struct bkt_chunk_file *f, struct bkt_err *err)
{
    const struct bkt_layout                       *l     = &io->ds->layout;
    BKT_CLEANUP(bkt_freep) struct bkt_concat_file *parts = calloc(l->n_segments + 1, sizeof *parts);
    char                                         **keys  = calloc(l->n_segments + 1, sizeof *keys);
    int rc = BKT_MADE(err, parts && keys);
    for (size_t i = 0; i < l->n_segments && rc == BKT_OK; i++) {
        const struct bkt_segment *s = &l->segments[i];
        parts[i] = (struct bkt_concat_file){.off = s->offset, .size = s->size};
        if (!s->file_uri)
            continue;
        rc = bkt_domain_resolve_uri(io->dom, s->file_uri, &parts[i].store, &keys[i], err);
        parts[i].key = keys[i];
        if (rc == BKT_OK)
            rc = pin(io, s->file_uri, s->etag, l->may_change, &parts[i], err);
    }
    if (rc == BKT_OK)
        rc = bkt_concat_open(parts, l->n_segments, &f->store, err);
    f->own_store = rc == BKT_OK;
    for (size_t i = 0; keys && i < l->n_segments; i++)
        free(keys[i]);
    free(keys);
    if (rc == BKT_OK && !(f->key = strdup(io->obj->id.text)))
        BKT_NOMEM(err);
    return rc;
}

#define SEGMENTS "segments" /* the name of the joined pieces among the files */

/* Cached bytes of a file belong to the linked version, since another dataset may have been linked to another
 * version. */
static void reference_file_space(const struct bkt_dsetio *io, struct bkt_chunk_file *f, const char *etag)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    int rc = bkt_buf_addf(&name, "%s %s %s", bkt_store_uri(f->store), f->key, etag ? etag : "");
    if (rc == BKT_OK && f->own_store) /* joined pieces, named as the dataset that joins them */
        rc = bkt_buf_addf(&name, " %.6f", io->obj->modified);
    if (rc == BKT_OK)
        f->space = bkt_cache_space(io->cache, name.ptr, name.len, &f->hold);
    f->cache = io->cache;
}

/* Put a file among the dataset's, unless @p rc has failed already.  Takes @p f over. */
static int keep_file(struct bkt_dsetio *io, struct bkt_chunk_file *f, const char *etag, struct bkt_slice name,
                     int rc, struct bkt_err *err)
{
    if (rc == BKT_OK && io->cache && f->store)
        reference_file_space(io, f, etag);
    if (rc == BKT_OK && bkt_map_put(io->files, name.p, name.n, f, NULL) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        bkt_chunk_file_free(f);
    return rc;
}

static int open_file(struct bkt_dsetio *io, struct bkt_chunk_file *f, const char *etag, struct bkt_err *err)
{
    struct bkt_concat_file all = {.etag = etag};
    if (!io->places_only) {
        if (io->ds->layout.n_segments)
            return join(io, f, err);
        BKT_PASS(bkt_domain_resolve_uri(io->dom, f->uri, &f->store, &f->key, err));
        all = (struct bkt_concat_file){.store = f->store, .key = f->key};
        BKT_PASS(pin(io, f->uri, etag, false, &all, err));
        f->version = all.version;
    }
    BKT_NEED(err, !all.etag || (f->etag = strdup(all.etag)));
    return BKT_OK;
}

static int file_new(struct bkt_dsetio *io, const char *uri, const char *etag, struct bkt_slice name,
                    struct bkt_chunk_file **out, struct bkt_err *err)
{
    struct bkt_chunk_file *f = calloc(1, sizeof *f);
    if (!f || !(f->uri = strdup(uri))) {
        free(f);
        BKT_NOMEM(err);
    }
    BKT_PASS(keep_file(io, f, etag, name, open_file(io, f, etag, err), err));
    *out = f;
    return BKT_OK;
}

int bkt_reference_file(struct bkt_dsetio *io, const char *uri, size_t n_uri, const char *etag,
                       struct bkt_chunk_file **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}; /* its URI, and its version, since rows of a chunk
                                                            table may name several */
    int                                      rc   = BKT_OK;
    n_uri = strnlen(uri, n_uri); /* rows are padded with zeros */
    if (bkt_buf_add(&name, uri, n_uri) < 0 || bkt_buf_add(&name, "", 1) < 0 ||
        (etag && bkt_buf_add_str(&name, etag) < 0))
        BKT_NOMEM(err);
    (void)pthread_mutex_lock(&io->lock);
    *out = bkt_map_get(io->files, name.ptr, name.len);
    if (!*out)
        rc = file_new(io, bkt_buf_str(&name), etag, (struct bkt_slice){name.ptr, name.len}, out, err);
    (void)pthread_mutex_unlock(&io->lock);
    BKT_FAIL_IF(err, rc < 0, rc, "dataset %s: a file that it refers to can't be used", io->obj->id.text);
    return BKT_OK;
}

int bkt_reference_layout_file(struct bkt_dsetio *io, struct bkt_chunk_file **out, struct bkt_err *err)
{
    const char *uri = io->ds->layout.n_segments ? SEGMENTS : io->ds->layout.file_uri;
    *out = io->given;
    if (io->given)
        return BKT_OK;
    BKT_FAIL_IF(err, !uri || !*uri, BKT_EFORMAT, "dataset %s: layout has no file_uri", io->obj->id.text);
    return bkt_reference_file(io, uri, strlen(uri), io->ds->layout.file_etag, out, err);
}

/* ---- chunks that another folder found (HDF5's own index, a chunk locator), and their file ---- */

/* Chunks in the grid; UINT64_MAX: more than the type can count. */
static uint64_t grid_total(const struct bkt_dsetio *io)
{
    uint64_t total = 1;
    for (unsigned d = 0; d < io->rank; d++)
        if (!bkt_mul_u64(total, bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]), &total))
            return UINT64_MAX;
    return total;
}

/* Check sorted chunks.  False: @p bad is the number of a chunk that the dataset can't have. */
static bool are_in_grid(const struct bkt_dsetio *io, const struct bkt_file_chunk *v, size_t n, uint64_t *bad)
{
    uint64_t total = grid_total(io);
    for (size_t i = 0; i < n; i++)
        if (total == UINT64_MAX || v[i].index >= total || (i && v[i].index == v[i - 1].index)) {
            *bad = v[i].index;
            return false;
        }
    return true;
}

/* Takes @p v over. */
static int replace(struct bkt_dsetio *io, struct bkt_file_chunk *v, size_t n, bool partly,
                   struct bkt_err *err)
{
    uint64_t bad;
    if (n)
        qsort(v, n, sizeof *v, bkt_by_u64);
    if (!are_in_grid(io, v, n, &bad)) {
        free(v);
        BKT_FAIL(err, BKT_EFORMAT, "dataset %s has no chunk number %llu", io->obj->id.text,
                 (unsigned long long)bad);
    }
    BKT_HOLD(&io->lock);
    free(io->found);
    io->found        = v;
    io->n_found      = n;
    io->found_partly = partly;
    return BKT_OK;
}

int bkt_dsetio_set_found(struct bkt_dsetio *io, struct bkt_file_chunk *chunks, size_t n, struct bkt_err *err)
{
    return replace(io, chunks, n, false, err);
}

int bkt_dsetio_add_found(struct bkt_dsetio *io, const struct bkt_file_chunk *chunks, size_t n,
                         struct bkt_err *err)
{
    struct bkt_file_chunk *v = reallocarray(NULL, io->n_found + n + 1, sizeof *v);
    BKT_NEED(err, v);
    if (io->n_found)
        memcpy(v, io->found, io->n_found * sizeof *v);
    if (n)
        memcpy(v + io->n_found, chunks, n * sizeof *v);
    return replace(io, v, io->n_found + n, true, err);
}

static const struct bkt_file_chunk *find(const struct bkt_dsetio *io, const uint64_t *coord)
{
    struct bkt_file_chunk want = {.index = 0};
    for (unsigned d = 0; d < io->rank; d++)
        want.index = want.index * bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]) + coord[d];
    return io->n_found ? bsearch(&want, io->found, io->n_found, sizeof want, bkt_by_u64) : NULL;
}

/* The place that bkt_dsetio_set_found() or bkt_dsetio_add_found() gave; called by bkt_references_find().
 *  @param out  its file is left alone; all of it if the chunk doesn't exist */
static int found_place(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_reference *out,
                       struct bkt_err *err)
{
    const struct bkt_file_chunk *c = find(io, coord);
    BKT_FAIL_IF(err, !c && io->found_partly, BKT_EFORMAT, "%s: its place in the file is unknown",
                bkt_chunk_label(io, coord).text);
    if (c)
        *out = (struct bkt_reference){NULL, c->offset, c->size, c->mask};
    return BKT_OK;
}

static int touch(const struct bkt_dsetio *io, const struct bkt_grid *g, size_t most, struct bkt_touched *out,
                 struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    BKT_NEED(err, (out->coords = calloc(most + 1, io->rank * sizeof *out->coords)));
    for (uint64_t k = 0; k < g->n_chunks; k++) {
        bkt_grid_coord(g, k, coord);
        const struct bkt_file_chunk *c = find(io, coord);
        bool unknown = !c && io->found_partly;
        out->missing += !unknown && (!c || !c->size);
        out->n_unknown += unknown;
        if (unknown && out->n_coords < most)
            memcpy(out->coords + out->n_coords++ * io->rank, coord, io->rank * sizeof *coord);
    }
    return BKT_OK;
}

int bkt_dsetio_touched(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most,
                       struct bkt_touched *out, struct bkt_err *err)
{
    struct bkt_grid g;
    memset(out, 0, sizeof *out);
    if (io->bad.code)
        return bkt_err_copy(err, io->bad.code, &io->bad);
    if (file->kind == BKT_SEL_NONE || !file->n_elems)
        return BKT_OK;
    bkt_grid_none(&g);
    int rc = bkt_grid_init(&g, file, io->cdims, err);
    out->n = rc == BKT_OK ? g.n_chunks : 0;
    bool all = !io->found_partly && io->n_found == grid_total(io); /* every chunk is known to exist */
    if (rc == BKT_OK && !all)
        rc = touch(io, &g, most, out, err);
    bkt_grid_fini(&g);
    return rc;
}

/* ---- the file ---- */

int bkt_dsetio_set_file(struct bkt_dsetio *io, struct bkt_store *store, const char *key,
                        struct bkt_version *version, struct bkt_err *err)
{
    struct bkt_chunk_file *f = calloc(1, sizeof *f);
    BKT_NEED(err, f);
    f->store = store;
    f->key   = strdup(key);
    f->uri   = strdup(key);
    f->version = version;
    const char *etag = version ? bkt_version_condition(version) : NULL;
    if (etag)
        f->etag = strdup(etag);
    int rc = BKT_MADE(err, f->key && f->uri && (!etag || f->etag));
    BKT_PASS(keep_file(io, f, etag, (struct bkt_slice){(const void *)"", 1}, rc, err));
    io->given = f;
    return BKT_OK;
}

void bkt_dsetio_know_first(struct bkt_dsetio *io, size_t n, uint64_t (*read)(void *arg, size_t n, void *to),
                           void *arg)
{
    const struct bkt_chunk_file *f = io->given;
    size_t                       delta;
    if (!f || !f->space || n > io->set->chunk_cache / 8)
        return;
    struct bkt_cache_entry *e = bkt_cache_cover(io->cache, f->space, f->base, 1, &delta);
    if (!e && (e = bkt_cache_entry_new(n)) != NULL) {
        e->len = bkt_min_u64(read(arg, n, e->data), n);
        if (e->len)
            bkt_cache_put(io->cache, f->space, f->base, e);
    }
    bkt_cache_entry_release(e);
}

/* ---- places in the layout itself, or in a chunk table ---- */

static int locate_contiguous(struct bkt_references_find *q, struct bkt_err *err)
{
    const struct bkt_layout *l = &q->io->ds->layout;
    for (size_t i = 0; l->size && i < q->n; i++) {
        uint64_t end;
        /* if the size differs, the file's type is padded or of another size, so no element lies where it
         * seems to */
        BKT_FAIL_IF(err, l->size != q->io->chunk_bytes, BKT_EFORMAT,
                    "dataset %s: a reference of %llu bytes, but the data take %zu", q->io->obj->id.text,
                    (unsigned long long)l->size, q->io->chunk_bytes);
        BKT_FAIL_IF(err, !bkt_add_u64(l->offset, l->size, &end), BKT_EFORMAT,
                    "dataset %s: a reference to the impossible offset %llu", q->io->obj->id.text,
                    (unsigned long long)l->offset);
        BKT_PASS(bkt_reference_layout_file(q->io, &q->out[i].file, err));
        q->out[i].off  = l->offset;
        q->out[i].size = l->size;
    }
    return BKT_OK;
}

/* The place of a chunk in the layout's file; size 0 stays if the chunk doesn't exist. */
typedef int place_fn(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_reference *out,
                     struct bkt_err *err);

static int listed_place(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_reference *out,
                        struct bkt_err *err)
{
    const struct bkt_chunk_ref *c = bkt_layout_find_chunk(&io->ds->layout, coord);
    (void)err;
    if (c)
        *out = (struct bkt_reference){NULL, c->offset, c->size, c->mask};
    return BKT_OK;
}

static int locate_by(struct bkt_references_find *q, place_fn *place, struct bkt_err *err)
{
    struct bkt_chunk_file *file = NULL;
    for (size_t i = 0; i < q->n; i++) {
        struct bkt_reference at = {.file = NULL};
        BKT_PASS(place(q->io, q->coords + i * q->io->rank, &at, err));
        if (!at.size)
            continue;
        if (!file)
            BKT_PASS(bkt_reference_layout_file(q->io, &file, err));
        at.file   = file;
        q->out[i] = at;
    }
    return BKT_OK;
}

/* If nothing compresses, HSDS wants references to a chunk without its checksum.  Then 4 bytes are certainly
 * missing, so the filter is skipped. */
uint32_t bkt_reference_mask(const struct bkt_dsetio *io, uint32_t recorded, uint64_t size)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < io->pipe.n; i++)
        if (io->pipe.f[i].id == BKT_FILTER_FLETCHER32)
            mask |= UINT32_C(1) << i;
        else if (io->pipe.f[i].id != BKT_FILTER_SHUFFLE)
            return recorded;
    return size == io->chunk_bytes ? recorded | mask : recorded;
}

int bkt_reference_check(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t off, uint64_t size,
                        struct bkt_err *err)
{
    uint64_t end;
    BKT_FAIL_IF(err, !bkt_add_u64(off, size, &end) || end > INT64_MAX, BKT_EFORMAT,
                "%s: a reference to the impossible offset %llu, %llu bytes", bkt_chunk_label(io, coord).text,
                (unsigned long long)off, (unsigned long long)size);
    /* no filter makes a chunk much longer: reserve no memory for impossible sizes */
    BKT_FAIL_IF(err, io->filtered && size / 4 > io->chunk_bytes + FILTER_MORE, BKT_EFORMAT,
                "%s: a reference of %llu bytes to a chunk of %zu", bkt_chunk_label(io, coord).text,
                (unsigned long long)size, io->chunk_bytes);
    /* hsload leaves fletcher32 out of the filter list: its 4 bytes behind the chunk are still there */
    BKT_FAIL_IF(err, !io->filtered && size != io->chunk_bytes && (io->given || size - 4 != io->chunk_bytes),
                BKT_EFORMAT, "%s: a reference of %llu bytes to an unfiltered chunk of %zu",
                bkt_chunk_label(io, coord).text, (unsigned long long)size, io->chunk_bytes);
    return BKT_OK;
}

/* Finds impossible sizes before anything is fetched. */
static int check(const struct bkt_references_find *q, struct bkt_err *err)
{
    const struct bkt_dsetio *io = q->io;
    for (size_t i = 0; i < q->n; i++) {
        struct bkt_reference *l     = &q->out[i];
        const uint64_t *coord = q->coords + i * io->rank;
        struct bkt_err  why   = {.n = 0};
        if (!l->file)
            continue;
        if (!io->given)
            l->mask = bkt_reference_mask(io, l->mask, l->size);
        if (!io->bad_place) {
            BKT_PASS(bkt_reference_check(io, coord, l->off, l->size, err));
        } else if (bkt_reference_check(io, coord, l->off, l->size, &why) < 0) {
            io->bad_place(coord, &why, io->bad_arg);
            l->file = NULL;
        }
    }
    return BKT_OK;
}

int bkt_references_find(struct bkt_references_find *q, size_t n, struct bkt_err *err)
{
    bool tables = false;
    for (size_t i = 0; i < n; i++) {
        memset(q[i].out, 0, q[i].n * sizeof *q[i].out);
        if (q[i].io->where == BKT_AT_CONTIGUOUS)
            BKT_PASS(locate_contiguous(&q[i], err));
        else if (q[i].io->where == BKT_AT_CHUNKS)
            BKT_PASS(locate_by(&q[i], listed_place, err));
        else if (q[i].io->where == BKT_AT_TABLE && q[i].io->found)
            BKT_PASS(locate_by(&q[i], found_place, err));
        tables |= q[i].io->where == BKT_AT_TABLE && !q[i].io->found;
    }
    if (tables)
        BKT_PASS(bkt_reference_table_rows(q, n, err));
    for (size_t i = 0; i < n; i++)
        BKT_PASS(check(&q[i], err));
    return BKT_OK;
}
