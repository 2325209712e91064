/* The places of a dataset's chunks, and the codecs that decode them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/dataset.h"
#include "schema/domain/domain.h"
#include "tools/kerchunk/export/export.h"
#include "tools/kerchunk/zarr_codecs.h"
#include "tools/source/data_locations.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"
#include "vol/dataset/dataset_calls.h"

#define ZARR_CHUNKS_MAX ((size_t)1 << 26)

void zarr_places_fini(struct zarr_places *p)
{
    free(p->v);
    bkt_buf_fini(&p->codecs);
}

/* Bytes of all elements; 0: none, or beyond 64 bits. */
static uint64_t all_bytes(const struct zarr_places *p, size_t elem_size)
{
    uint64_t n = elem_size;
    for (unsigned d = 0; d < p->rank; d++)
        if (!bkt_mul_u64(n, p->dims[d], &n))
            return 0;
    return n;
}

/* The first reason counts. */
static void refuse(struct zarr_places *p, const char *why)
{
    if (!p->why[0])
        (void)snprintf(p->why, sizeof p->why, "%s", why);
}

static int add(struct zarr_export *x, struct zarr_places *p, uint64_t index, const char *url, uint64_t off,
               uint64_t len, struct bkt_err *err)
{
    struct zarr_chunk c = {.index = index, .off = off, .len = len};
    BKT_FAIL_IF(err, p->n >= ZARR_CHUNKS_MAX, BKT_EUNSUP, "more than %zu chunks", ZARR_CHUNKS_MAX);
    BKT_PASS_MEM(err, bkt_map_place(&x->by_url, &x->urls, url, strlen(url), &c.url));
    BKT_PASS_MEM(err, bkt_list_room(&p->v, p->n, &p->cap, sizeof *p->v));
    p->v[p->n++] = c;
    return BKT_OK;
}

/* ---- codecs ---- */

static unsigned value(const unsigned *cd, size_t n_cd, size_t i, unsigned otherwise)
{
    return i < n_cd ? cd[i] : otherwise;
}

static bool add_codec(struct zarr_places *p, int filter, const unsigned *cd, size_t n_cd, size_t elem_size)
{
    const struct {
        int filter;
        const char *id, *key;
        unsigned otherwise;
    } one[] = {{BKT_FILTER_DEFLATE, "zlib", "level", 6},
               {BKT_FILTER_SHUFFLE, "shuffle", "elementsize", (unsigned)elem_size},
               {BKT_FILTER_ZSTD, "zstd", "level", 3},
               {BKT_FILTER_BZIP2, "bz2", "level", 9}};
    struct bkt_buf *b = &p->codecs;
    const char *blosc = kerchunk_blosc_name(value(cd, n_cd, 6, 0)), *sep = b->len ? ", " : "";
    if (filter == BKT_FILTER_FLETCHER32)
        return bkt_buf_addf(b, "%s{\"id\": \"fletcher32\"}", sep) == BKT_OK;
    if (filter == BKT_FILTER_BLOSC) /* a frame has its own block size */
        return bkt_buf_addf(b,
                            "%s{\"id\": \"blosc\", \"cname\": \"%s\", \"clevel\": %u, \"shuffle\": %u, "
                            "\"blocksize\": 0}",
                            sep, blosc ? blosc : "lz4", value(cd, n_cd, 4, 5),
                            value(cd, n_cd, 5, 1)) == BKT_OK;
    for (size_t i = 0; i < BKT_COUNT(one); i++)
        if (one[i].filter == filter)
            return bkt_buf_addf(b, "%s{\"id\": \"%s\", \"%s\": %u}", sep, one[i].id, one[i].key,
                                value(cd, n_cd, 0, one[i].otherwise)) == BKT_OK;
    return false;
}

static void refuse_filter(struct zarr_places *p, int filter)
{
    char why[120];
    const char *name = bkt_filter_name(filter);
    (void)snprintf(why, sizeof why,
                   "numcodecs has no codec with the bytes of filter %d%s%s; h5repack can change it", filter,
                   name ? " " : "", name ? name : "");
    refuse(p, why);
}

/* ---- a domain ---- */

struct walk {
    struct zarr_export *x;
    struct zarr_places *p;
    struct bkt_dsetio *io;
    const char *own; /* the domain's store */
    struct bkt_err *err;
};

static bool index_of(const struct zarr_places *p, const uint64_t *coord, uint64_t *out)
{
    *out = 0;
    for (unsigned d = 0; d < p->rank; d++) {
        if (coord[d] >= p->grid[d])
            return false;
        *out = *out * p->grid[d] + coord[d];
    }
    return true;
}

/* A file that references name, as a URL: bucket/key is in the domain's own bucket, or in one beside it. */
static int url_of(const struct walk *w, const char *uri, struct bkt_buf *out)
{
    if (strstr(uri, "://"))
        return bkt_buf_add_str(out, uri);
    return bkt_buf_addf(out, "%.*s%s", (int)(strrchr(w->own, '/') + 1 - w->own), w->own, uri);
}

static int on_reference(const uint64_t *coord, const struct bkt_chunk_info *c, void *arg)
{
    struct walk *w = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf url = {0};
    uint64_t index;
    if (!c->exists || !index_of(w->p, coord, &index))
        return BKT_OK;
    if (c->filter_mask)
        refuse(w->p, "a chunk skips filters, which Zarr can't express; h5repack writes it again");
    if (!c->uri)
        refuse(w->p, "its bytes lie in pieces of several files");
    if (w->p->why[0] || !c->uri)
        return BKT_OK;
    BKT_PASS_MEM(w->err, url_of(w, c->uri, &url));
    return add(w->x, w->p, index, bkt_buf_str(&url), c->offset, c->size, w->err);
}

/* Keeps the size as len until the object's form is known. */
static int on_object(const uint64_t *coord, uint64_t size, void *arg)
{
    struct walk *w = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, url = {0};
    uint64_t index;
    if (!index_of(w->p, coord, &index))
        return BKT_OK;
    BKT_NEED(w->err, bkt_chunk_key(&w->io->obj->id, &w->io->ds->layout, coord, &key) >= 0 &&
                         bkt_buf_addf(&url, "%s/%s", w->own, bkt_buf_str(&key)) >= 0);
    return add(w->x, w->p, index, bkt_buf_str(&url), 0, size, w->err);
}

enum form { FORM_UNENCODED, FORM_FILTERS, FORM_BLOSC, FORM_ZLIB, FORM_OTHER };

/* The form of an object by its first bytes; *head: bytes before HDF5's. */
static enum form form_of(const struct bkt_dsetio *io, const struct bkt_req *q, uint64_t size, size_t *head)
{
    uint32_t mask = 0;
    *head = 0;
    if (io->hdf5) {
        *head = bkt_chunk_object_head(q->body.ptr, q->body.len, &mask);
        return mask || (!*head && bkt_chunk_object_is_hsds(io, q->body.ptr, q->body.len, (size_t)size))
                   ? FORM_OTHER
                   : FORM_FILTERS;
    }
    if (io->codec.shuffle == 2 || q->body.len < BKT_CHUNK_OBJECT_LOOK)
        return FORM_OTHER;
    if (q->body.ptr[0] == 2)
        return FORM_BLOSC;
    return io->codec.zlib && (q->body.ptr[0] & 15) == 8 ? FORM_ZLIB : FORM_OTHER;
}

/* Looks at the first bytes of @p n objects from @p at on. */
static int look(struct walk *w, size_t at, size_t n, enum form *all)
{
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    BKT_PASS_MEM(w->err, bkt_reqs_init(&reqs, n));
    for (size_t i = 0; i < n; i++) {
        reqs.v[i] = (struct bkt_req){
            .op = BKT_GET, .len = BKT_CHUNK_OBJECT_LOOK, .may_be_short = true, .small = true};
        BKT_PASS_MEM(w->err,
                     bkt_buf_add_str(&reqs.keys[i], w->x->urls.v[w->p->v[at + i].url] + strlen(w->own) + 1));
    }
    bkt_reqs_perform(bkt_domain_store(w->io->dom), &reqs);
    for (size_t i = 0; i < n; i++) {
        struct zarr_chunk *c = &w->p->v[at + i];
        size_t head;
        if (reqs.v[i].rc < 0)
            return bkt_err_copy(w->err, reqs.v[i].rc, reqs.v[i].err);
        enum form f = form_of(w->io, &reqs.v[i], c->len, &head);
        *all = at + i == 0 || *all == f ? f : FORM_OTHER;
        c->off = head;
        c->len = head ? c->len - head : BKT_WHOLE;
    }
    return BKT_OK;
}

static void use_filters(struct walk *w)
{
    for (unsigned i = 0; i < w->io->pipe.n; i++) {
        const struct bkt_filter *f = &w->io->pipe.f[i];
        if (!add_codec(w->p, f->id, f->cd, f->n_cd, w->io->elem_size))
            refuse_filter(w->p, f->id);
    }
}

static void use_form(struct walk *w, enum form form)
{
    static const unsigned as_hsds[7] = {2, 2, 1, 0, 5, 0, 1};
    if (form == FORM_FILTERS)
        use_filters(w);
    else if (form == FORM_BLOSC)
        (void)add_codec(w->p, BKT_FILTER_BLOSC, as_hsds, 7, 1);
    else if (form == FORM_ZLIB &&
             (w->io->codec.shuffle != 1 || add_codec(w->p, BKT_FILTER_SHUFFLE, NULL, 0, w->io->elem_size)))
        (void)add_codec(w->p, BKT_FILTER_DEFLATE, NULL, 0, 1);
    else if (form != FORM_ZLIB)
        refuse(
            w->p,
            "its chunk objects have several forms, or skip filters; h5bucket get and load write them again");
}

static int objects(struct walk *w)
{
    enum form form = w->io->hdf5 ? FORM_FILTERS : FORM_BLOSC;
    BKT_PASS(bkt_chunk_keys_each(w->io, on_object, w, w->err));
    if (bkt_chunk_object_is_unencoded(w->io)) {
        for (size_t i = 0; i < w->p->n; i++) {
            if (w->p->v[i].len != w->io->chunk_bytes)
                refuse(w->p, "a chunk object has another size than its elements");
            w->p->v[i].len = BKT_WHOLE;
        }
        return BKT_OK;
    }
    for (size_t at = 0, n; at < w->p->n; at += n) {
        n = (size_t)bkt_min_u64(w->p->n - at, BKT_TOOL_BATCH);
        BKT_PASS(look(w, at, n, &form));
    }
    use_form(w, form);
    return BKT_OK;
}

/* By an opening of its own: the files need not be accessible, and nothing is read. */
static int references(struct walk *w, const struct bkt_object *o)
{
    struct bkt_dsetio *io = NULL;
    int rc = bkt_dsetio_open_places(w->io->dom, o, NULL, NULL, &io, w->err);
    if (rc == BKT_OK)
        rc = bkt_chunk_iter(io, on_reference, w, w->err);
    bkt_dsetio_close(io);
    return rc;
}

static const char *odd_dataset(const struct bkt_dset *ds)
{
    const struct bkt_layout *l = &ds->layout;
    bool edges = false; /* chunks that the extent cuts */
    for (unsigned d = 0; d < l->rank && ds->space.rank; d++)
        edges |= l->dims[d] && ds->space.dims[d] % l->dims[d] != 0; /* a virtual dataset's may be 0 */
    return ds->bad                     ? "its data can't be read"
           : ds->trim                  ? "an unfinished shrink; open the domain for writing once"
           : ds->init != BKT_INIT_NONE ? "its chunks are made when it is first read"
           : l->external               ? "its data lie in raw files"
           : l->n_segments             ? "its bytes lie in pieces of several files"
           : l->chunk_opts && ds->n_filters && edges
               ? "chunks at its end have no filters, which Zarr can't express"
           : l->cls != BKT_D_CHUNKED && l->cls != BKT_D_CONTIGUOUS_REF && l->cls != BKT_D_CHUNKED_REF &&
                   l->cls != BKT_D_CHUNKED_REF_INDIRECT
               ? "its layout has no chunks"
               : NULL;
}

static int of_domain(struct walk *w, struct bkt_vobj *o, size_t elem_size)
{
    const struct bkt_dset *ds = &o->obj->dset;
    struct zarr_places *p = w->p;
    const char *odd = odd_dataset(ds);
    BKT_PASS(bkt_dataset_io(o, &w->io, w->err));
    for (unsigned d = 0; d < p->rank; d++)
        p->chunk[d] = ds->layout.rank == p->rank && !odd ? ds->layout.dims[d] : bkt_max_u64(p->dims[d], 1);
    for (unsigned d = 0; d < p->rank; d++)
        p->grid[d] = bkt_ceil_div(p->dims[d], p->chunk[d]);
    if (odd || w->io->var || w->io->elem_size != elem_size) {
        refuse(p, odd ? odd : "its elements have another form in a domain");
        return BKT_OK;
    }
    w->own = bkt_store_uri(bkt_domain_store(w->io->dom));
    if (strncmp(w->own, "mem:", 4) == 0)
        refuse(p, "its domain lies in memory");
    if (ds->layout.cls == BKT_D_CHUNKED)
        return objects(w);
    if (ds->layout.cls == BKT_D_CONTIGUOUS_REF) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf url = {0};
        uint64_t full = all_bytes(p, elem_size);
        if (!ds->layout.file_uri || ds->layout.size != full)
            refuse(p, "its storage and its elements differ in size");
        else if (url_of(w, ds->layout.file_uri, &url) < 0)
            BKT_NOMEM(w->err);
        return p->why[0] || !full ? BKT_OK
                                  : add(w->x, p, 0, bkt_buf_str(&url), ds->layout.offset, full, w->err);
    }
    use_filters(w);
    return references(w, o->obj);
}

/* ---- a plain file ---- */

static int add_addr(struct zarr_export *x, struct zarr_places *p, uint64_t index, uint64_t addr,
                    uint64_t size, struct bkt_err *err)
{
    const struct source_part *part = source_part_of(x->src, addr, size);
    if (!part) {
        refuse(p, "its bytes lie in pieces of several files");
        return BKT_OK;
    }
    return add(x, p, index, part->uri, addr - part->start, size, err);
}

static int file_filters(hid_t dset, struct zarr_places *p, size_t elem_size, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    int n = dcpl < 0 ? -1 : H5Pget_nfilters(dcpl);
    unsigned opts = 0;
    for (int i = 0; i < n; i++) {
        unsigned cd[32], flags, config;
        size_t n_cd = BKT_COUNT(cd);
        int id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_cd, cd, 0, NULL, &config);
        if (id < 0)
            return h5_fail(err, "asking for a filter");
        if (!add_codec(p, id, cd, bkt_min_u64(n_cd, BKT_COUNT(cd)), elem_size))
            refuse_filter(p, id);
    }
    if (n > 0 && H5Pget_chunk_opts(dcpl, &opts) >= 0 && opts)
        refuse(p, "chunks at its end may have no filters, which Zarr can't express");
    return n < 0 ? h5_fail(err, "asking for filters") : BKT_OK;
}

static int of_file(struct zarr_export *x, hid_t dset, size_t elem_size, struct zarr_places *p,
                   struct bkt_err *err)
{
    static const char *const why[] = {[BKT_MAP_COMPACT] = "its data lie in its header",
                                      [BKT_MAP_EXTERNAL] = "its data lie in raw files",
                                      [BKT_MAP_VIRTUAL] = "it is virtual"};
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    BKT_PASS(survey_dataset(x->src, dset, &s, err));
    for (unsigned d = 0; d < p->rank; d++) {
        p->chunk[d] = s.kind == BKT_MAP_CHUNKED ? s.cdims[d] : bkt_max_u64(p->dims[d], 1);
        p->grid[d] = bkt_ceil_div(p->dims[d], p->chunk[d]);
    }
    if ((size_t)s.kind < BKT_COUNT(why) && why[s.kind])
        refuse(p, why[s.kind]);
    if (s.kind == BKT_MAP_CONTIGUOUS && s.size != all_bytes(p, elem_size))
        refuse(p, "its storage and its elements differ in size");
    if (s.kind == BKT_MAP_CHUNKED)
        BKT_PASS(file_filters(dset, p, elem_size, err));
    for (size_t i = 0; i < s.n_chunks; i++)
        if (s.chunks[i].mask)
            refuse(p, "a chunk skips filters, which Zarr can't express; h5repack writes it again");
    if (p->why[0])
        return BKT_OK;
    if (s.kind == BKT_MAP_CONTIGUOUS)
        return add_addr(x, p, 0, s.addr, s.size, err);
    for (size_t i = 0; i < s.n_chunks; i++)
        BKT_PASS(add_addr(x, p, s.chunks[i].index, s.chunks[i].offset, s.chunks[i].size, err));
    return BKT_OK;
}

int zarr_places(struct zarr_export *x, hid_t dset, size_t elem_size, struct zarr_places *out,
                struct bkt_err *err)
{
    struct bkt_vobj *o = x->src ? NULL : bkt_vobj_of_id(dset);
    struct walk w = {.x = x, .p = out, .err = err};
    int rc = o        ? of_domain(&w, o, elem_size)
             : x->src ? of_file(x, dset, elem_size, out, err)
                      : BKT_ERR(err, BKT_EUNSUP, "not of this domain");
    if (rc < 0)
        return rc;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    if (H5Tget_class(type) == H5T_STRING && H5Tget_strpad(type) == H5T_STR_SPACEPAD)
        refuse(out, "its text is padded by blanks, which numpy would keep");
    if (x->src && H5Tget_size(type) != elem_size)
        refuse(out, "members of its type have gaps, which a dtype of Zarr can't have");
    return BKT_OK;
}
