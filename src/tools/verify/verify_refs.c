/* h5bucket verify: references into files, and chunks decoded. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "chunk/read/references.h"
#include "tools/show/show.h"
#include "tools/verify/verify.h"
#include "vol/core/filters.h"
#include "vol/dataset/raw_files.h"

/* ---- files ---- */

/* The references of one object into one file. */
struct file_use {
    const char *uri; /* as stored */
    struct bkt_store *store;
    const char *key;
    const char *etag; /* the version that they name; NULL: any */
    uint64_t n, end;  /* their number; the byte behind the last one referred to */
};

static struct bkt_verify_file *file_of(struct bkt_verify *v, const struct file_use *u)
{
    struct bkt_verify_file *f = bkt_map_get(v->files, u->uri, strlen(u->uri));
    if (f)
        return f;
    if (!(f = bkt_map_make(&v->files, u->uri, strlen(u->uri), sizeof *f)))
        return NULL;
    struct bkt_req req = {.op = BKT_HEAD, .key = u->key};
    f->rc = bkt_store_perform(u->store, &req, 1, NULL);
    f->size            = req.size;
    memcpy(f->etag, req.etag, sizeof f->etag);
    bkt_stamp(req.size, req.mtime, f->stamp);
    bkt_req_fini(&req);
    return f;
}

/* Whether two recorded ETags or stamps name one version; "" and "" also do. */
static bool same_version(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || bkt_etag_same(a, b);
}

/* Checks that the file reaches far enough, and has the version that the references name. */
static void check_file(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                       const struct file_use *u)
{
    const struct bkt_verify_file *f = file_of(v, u);
    if (!f || f->rc < 0)
        bkt_verify_problem(v, "reference", path, o->id.text, "%s: %s", u->uri,
                           bkt_err_text(f ? f->rc : BKT_ENOMEM));
    else if (f->size != UINT64_MAX && u->end > f->size)
        bkt_verify_problem(v, "reference", path, o->id.text,
                           "references reach to byte %llu of %s, which has %llu", (unsigned long long)u->end,
                           u->uri, (unsigned long long)f->size);
    const char *now = !f || f->rc < 0 ? "" : u->etag && bkt_is_stamp(u->etag) ? f->stamp : f->etag;
    if (!u->etag || !*u->etag || !*now || same_version(u->etag, now))
        return;
    v->n_changed++;
    bkt_verify_problem(v, "changed", path, o->id.text,
                       "%s changed since it was linked (it was %s, now %s) "
                       "and has %llu reference%s into it; link it again",
                       u->uri, u->etag, now, (unsigned long long)u->n, u->n == 1 ? "" : "s");
}

struct reach {
    uint64_t end, n; /* the byte behind the last one referred to; number of references */
};
struct walk {
    struct bkt_verify       *v;
    const char              *path;
    const struct bkt_object *o;
    struct bkt_dsetio       *io;
    struct bkt_map          *ends; /* URI -> struct reach */
    uint64_t                 bad;
};

static void on_bad_place(const uint64_t *coord, const struct bkt_err *why, void *arg)
{
    struct walk *w = arg;
    (void)coord;
    if (w->bad++ < BKT_VERIFY_REPORTED)
        bkt_verify_failed(w->v, "reference", w->path, w->o->id.text, why);
}

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct walk *w       = arg;
    const char  *uri     = info->uri ? info->uri : "";
    uint64_t     end = UINT64_MAX;
    struct reach *reaches = bkt_map_make(&w->ends, uri, strlen(uri), sizeof *reaches);
    (void)coord;
    w->v->n_refs++;
    if (!reaches)
        return BKT_ENOMEM;
    (void)bkt_add_u64(info->offset, info->size, &end);
    reaches->end = bkt_max_u64(reaches->end, end);
    reaches->n++;
    return BKT_OK;
}

static bool same_file(const struct bkt_segment *a, const struct bkt_segment *b)
{
    return a->file_uri && b->file_uri && strcmp(a->file_uri, b->file_uri) == 0 &&
           same_version(a->etag ? a->etag : "", b->etag ? b->etag : "");
}

/* Computes the reach of segment i and of all others in the same version of the same file.  False: an earlier
 * segment has done that. */
static bool reach_of(const struct bkt_layout *l, size_t i, uint64_t *n, uint64_t *last)
{
    *n = *last = 0;
    for (size_t k = 0; k < l->n_segments; k++) {
        uint64_t end = UINT64_MAX;
        if (!same_file(&l->segments[i], &l->segments[k]))
            continue;
        if (k < i)
            return false;
        (void)bkt_add_u64(l->segments[k].offset, l->segments[k].size, &end);
        *last = l->segments[k].size ? bkt_max_u64(*last, end) : *last;
        ++*n;
    }
    return true;
}

static void check_segments(struct bkt_verify *v, const char *path, const struct bkt_object *o)
{
    const struct bkt_layout *l = &o->dset.layout;
    for (size_t i = 0; i < l->n_segments; i++) {
        BKT_CLEANUP(bkt_freep) char *key = NULL;
        struct bkt_err               err = {.n = 0};
        struct file_use u = {.uri = l->segments[i].file_uri, .etag = l->segments[i].etag};
        if (!u.uri)
            continue;
        v->n_refs++;
        if (!reach_of(l, i, &u.n, &u.end))
            continue; /* reported with an earlier one */
        if (bkt_domain_resolve_uri(v->d, u.uri, &u.store, &key, &err) < 0) {
            bkt_verify_unchecked(v, path, o->id.text, &err);
            continue;
        }
        u.key = key;
        check_file(v, path, o, &u);
    }
}

/* Reports a failure to reach the files.  A forbidden reference isn't a fault of the domain. */
static void failed(struct bkt_verify *v, const char *path, const struct bkt_object *o, int rc,
                   const struct bkt_err *why)
{
    if (rc == BKT_EACCES || rc == BKT_EUNSUP)
        bkt_verify_unchecked(v, path, o->id.text, why);
    else
        bkt_verify_failed(v, rc == BKT_EPRECOND ? "changed" : "reference", path, o->id.text, why);
    v->n_changed += rc == BKT_EPRECOND;
}

/* Checks every file with chunks, even if others fail. */
static void check_ends(const struct walk *w)
{
    struct bkt_map_at at = {0};
    while (bkt_map_walk(w->ends, &at)) {
        struct bkt_chunk_file       *f;
        const struct reach          *r   = at.value;
        struct bkt_store            *st  = NULL;
        struct bkt_err               err = {.n = 0};
        BKT_CLEANUP(bkt_freep) char *key = NULL;
        int rc = bkt_reference_file(w->io, at.key, at.n, w->o->dset.layout.file_etag, &f, &err);
        if (rc == BKT_OK) /* by the table's row, or the layout */
            rc = bkt_domain_resolve_uri(w->v->d, at.key, &st, &key, &err);
        if (rc < 0)
            failed(w->v, w->path, w->o, rc, &err);
        else
            check_file(w->v, w->path, w->o, &(struct file_use){at.key, st, key, f->etag, r->n, r->end});
    }
}

/* Checks that the table has a row for each chunk.  Without a row, a chunk silently reads
 * as the fill value. */
static void check_table(const struct walk *w)
{
    const struct bkt_object *t  = NULL;
    const struct bkt_dset   *ds = &w->o->dset;
    if (w->io->where != BKT_AT_TABLE || bkt_domain_get(w->v->d, &ds->layout.chunk_table, &t, NULL) < 0)
        return;
    for (unsigned i = 0; t->kind == BKT_DATASET && i < w->io->rank && i < t->dset.space.rank; i++) {
        uint64_t want = bkt_ceil_div(ds->space.dims[i], w->io->cdims[i]);
        if (t->dset.space.dims[i] < want) {
            bkt_verify_problem(w->v, "reference", w->path, w->o->id.text,
                               "chunk table %s has %llu rows in dimension %u, but the dataset has %llu "
                               "chunks; the missing ones read as fill values",
                               t->id.text, (unsigned long long)t->dset.space.dims[i], i,
                               (unsigned long long)want);
            break;
        }
    }
    bkt_object_release(t);
}

/* ---- raw files ---- */

static int on_raw(const struct bkt_external_file *r, void *arg)
{
    struct walk                  *w   = arg;
    struct bkt_verify            *v   = w->v;
    struct bkt_store             *st  = NULL;
    struct bkt_verify_file        now = {.rc = BKT_OK}, *f = &now;
    struct bkt_err                err = {.n = 0};
    struct stat                   sb;
    BKT_CLEANUP(bkt_freep) char  *key = NULL;
    if (!r->size)
        return BKT_OK;
    v->n_refs++;
    if (r->local) {
        now.rc   = stat(r->name, &sb) == 0 ? BKT_OK : BKT_ENOENT;
        now.size = now.rc == BKT_OK ? (uint64_t)sb.st_size : 0;
    } else if (bkt_domain_resolve_uri(v->d, r->name, &st, &key, &err) < 0) {
        bkt_verify_unchecked(v, w->path, w->o->id.text, &err);
        return BKT_OK;
    } else if (!(f = file_of(v, &(struct file_use){.uri = r->name, .store = st, .key = key}))) {
        return BKT_ENOMEM;
    }
    if (f->rc < 0)
        bkt_verify_raw(v, w->path, w->o->id.text, "raw file %s: %s", r->name, bkt_err_text(f->rc));
    else if (f->size != UINT64_MAX && r->offset + r->size > f->size)
        bkt_verify_raw(v, w->path, w->o->id.text,
                       "raw file %s has %llu bytes, but the dataset needs %llu from byte %llu on; missing "
                       "bytes read as zeros",
                       r->name, (unsigned long long)f->size, (unsigned long long)r->size,
                       (unsigned long long)r->offset);
    return BKT_OK;
}

static void check_raw(struct bkt_verify *v, const char *path, const struct bkt_object *o)
{
    struct walk    w   = {.v = v, .path = path, .o = o};
    struct bkt_err err = {.n = 0};
    int            rc  = bkt_external_each(v->d, o, on_raw, &w, &err);
    if (rc < 0)
        failed(v, path, o, rc, &err);
}

void bkt_verify_refs(struct bkt_verify *v, const char *path, const struct bkt_object *o)
{
    struct bkt_err err = {.n = 0};
    struct walk    w   = {.v = v, .path = path, .o = o};
    if (o->dset.layout.external)
        check_raw(v, path, o);
    if (!bkt_layout_is_linked(&o->dset.layout))
        return;
    int rc = bkt_dsetio_open_places(v->d, o, on_bad_place, &w, &w.io, &err);
    if (rc == BKT_OK)
        rc = bkt_chunk_iter(w.io, on_chunk, &w, &err);
    if (w.bad > BKT_VERIFY_REPORTED)
        bkt_verify_problem(v, "reference", path, o->id.text, "and %llu more chunks",
                           (unsigned long long)(w.bad - BKT_VERIFY_REPORTED));
    if (rc < 0)
        failed(v, path, o, rc, &err);
    else
        check_table(&w);
    if (rc == BKT_OK && o->dset.layout.n_segments)
        check_segments(v, path, o);
    else if (rc == BKT_OK)
        check_ends(&w);
    bkt_dsetio_close(w.io);
    bkt_map_free(w.ends, free);
}

/* ---- chunks ---- */

/* Chunks read at once, within bkt_settings_in_flight(); as many as the default of setting connections.  More
 * take more memory. */
#define MOST 256

struct deep {
    struct bkt_verify *v;
    const struct bkt_reached *reached;
    bool               named; /* values name objects */
    const char        *path;
    const struct bkt_object *o;
    struct bkt_dsetio *io;
    struct bkt_sel     sel[MOST];
    size_t             n;
    uint64_t           bytes;
    unsigned           bad; /* problems reported of this dataset */
    uint64_t           unchecked; /* of others, before it */
};

/* The part of the extent that a chunk covers. */
static void select_chunk(const struct deep *d, const uint64_t *coord, struct bkt_sel *s)
{
    const struct bkt_space *sp = &d->o->dset.space;
    *s                         = (struct bkt_sel){.kind = BKT_SEL_HYPER, .rank = sp->rank, .n_elems = 1};
    if (sp->cls != BKT_S_SIMPLE || sp->rank == 0)
        s->kind = BKT_SEL_ALL;
    for (unsigned i = 0; i < s->rank; i++) {
        uint64_t len = d->io->cdims[i];
        s->dims[i]   = sp->dims[i];
        s->start[i]  = coord[i] * len;
        s->count[i]  = bkt_min_u64(len, sp->dims[i] - s->start[i]);
        s->stride[i] = s->block[i] = 1;
        s->n_elems *= s->count[i];
    }
}

int bkt_verify_named(const struct bkt_verify *v, const struct bkt_reached *r, const void *p, size_t n)
{
    const struct bkt_id *root = bkt_domain_root(v->d);
    for (const char *s = p; n >= BKT_ID_LEN; s++, n--) {
        char          text[BKT_ID_LEN + 1] = {0};
        struct bkt_id id, of;
        if (s[1] != '-' || (*s != 'g' && *s != 'd' && *s != 't'))
            continue;
        memcpy(text, s, BKT_ID_LEN);
        /* another domain's objects are not asked for */
        if (bkt_id_set(&id, text) && bkt_id_root(&id, &of) && strcmp(of.text, root->text) == 0 &&
            bkt_map_get(v->listed, id.text, BKT_ID_LEN))
            BKT_PASS(bkt_reach_also(r, &id));
    }
    return BKT_OK;
}

static int note_named(const struct deep *d, const struct bkt_read *r)
{
    if (!r->slices)
        return bkt_verify_named(d->v, d->reached, r->dst,
                                (size_t)r->file->n_elems * bkt_dsetio_elem_size(d->io));
    for (uint64_t i = 0; i < r->file->n_elems; i++)
        BKT_PASS(bkt_verify_named(d->v, d->reached, r->slices[i].p, r->slices[i].n));
    return BKT_OK;
}

static int read_some(struct deep *d, const struct bkt_sel *sel, size_t n, struct bkt_err *err)
{
    struct bkt_read r[MOST];
    int             rc = BKT_OK;
    memset(r, 0, n * sizeof *r);
    for (size_t i = 0; i < n; i++) {
        r[i].io   = d->io;
        r[i].file = &sel[i];
        if (!bkt_dsetio_is_var(d->io) &&
            !(r[i].dst = malloc((size_t)sel[i].n_elems * bkt_dsetio_elem_size(d->io) + 1)))
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    rc = rc ? rc : bkt_read_datasets(r, n, err);
    const bool done = rc == BKT_OK;
    for (size_t i = 0; i < n; i++) {
        if (rc == BKT_OK && d->named && note_named(d, &r[i]) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        if (done)
            bkt_read_fini(&r[i]);
        free(r[i].dst);
    }
    return rc;
}

/* Reads all chunks together; if that fails, one by one. */
static void check_all(struct deep *d)
{
    struct bkt_err err = {.n = 0};
    bool           all = d->n == 0 || read_some(d, d->sel, d->n, &err) == BKT_OK;
    for (size_t i = 0; !all && i < d->n; i++) {
        bkt_err_clear(&err);
        int rc = read_some(d, &d->sel[i], 1, &err);
        if (rc == BKT_EUNSUP || rc == BKT_EACCES) {
            if (d->v->n_unchecked++ == d->unchecked) /* the first of this dataset */
                bkt_verify_unchecked(d->v, d->path, d->o->id.text, &err);
            d->v->n_checked--;
        } else if (rc == BKT_EPRECOND) { /* the file's report covers all */
            if (d->v->n_stale++ == 0)
                (void)bkt_err_copy(&d->v->stale, rc, &err);
        } else if (rc < 0 && (d->bad++ < BKT_VERIFY_REPORTED ||
                              d->io->where == BKT_AT_OBJECTS)) { /* each of these is an object of its own */
            bkt_verify_failed(d->v, "chunk", d->path, d->o->id.text, &err);
        }
    }
    d->v->n_checked += d->n;
}

/* Chunks whose values name objects are read here: the walk needs the names. */
static void flush(struct deep *d)
{
    if (d->v->shared && !d->named)
        bkt_verify_shared_put(d->v, d->path, d->o, d->sel, d->n, d->io->cdims);
    else
        check_all(d);
    d->n     = 0;
    d->bytes = 0;
}

static int on_deep(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct deep *d = arg;
    (void)info;
    select_chunk(d, coord, &d->sel[d->n++]);
    d->bytes += d->io->chunk_bytes + info->size;
    if (d->n == MOST || d->bytes >= bkt_settings_in_flight(bkt_domain_settings(d->v->d)))
        flush(d);
    return BKT_OK;
}

static void deep_freep(struct deep **d)
{
    if (*d)
        bkt_dsetio_close((*d)->io);
    free(*d);
}

static int deep_open(struct bkt_verify *v, const char *path, const struct bkt_object *o, struct deep **out,
                     struct bkt_err *err)
{
    struct deep *d = *out = calloc(1, sizeof *d);
    BKT_NEED(err, d);
    *d = (struct deep){.v = v, .path = path, .o = o, .unchecked = v->n_unchecked};
    return bkt_dsetio_open(v->d, o, bkt_plugin_find, &d->io, err);
}

void bkt_verify_some_chunks(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                            const uint64_t *coords, size_t n)
{
    BKT_CLEANUP(deep_freep) struct deep *d = NULL;
    struct bkt_err err = {.n = 0};
    int rc = deep_open(v, path, o, &d, &err);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        select_chunk(d, coords + i * o->dset.space.rank, &d->sel[d->n++]);
        if (d->n < MOST && i + 1 < n)
            continue;
        check_all(d);
        d->n = 0;
    }
    if (rc < 0)
        failed(v, path, o, rc, &err);
}

void bkt_verify_stale(struct bkt_verify *v, const struct bkt_reached *r, uint64_t changed)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_say_err(&b, &v->stale);
    if (v->n_stale && v->n_changed == changed)
        bkt_verify_problem(v, "changed", r->path, r->id.text, "%s (%llu chunks)", bkt_buf_str(&b),
                           (unsigned long long)v->n_stale);
    v->n_stale = 0;
    bkt_err_clear(&v->stale);
}

static void skip_place(const uint64_t *coord, const struct bkt_err *why, void *arg)
{
    (void)coord, (void)why, (void)arg;
}

void bkt_verify_chunks(struct bkt_verify *v, const struct bkt_reached *r)
{
    /* the places of chunks; impossible ones have been reported by bkt_verify_refs() */
    BKT_CLEANUP(bkt_dsetio_closep) struct bkt_dsetio *places = NULL;
    BKT_CLEANUP(deep_freep) struct deep              *d      = NULL;
    const struct bkt_object *o   = r->obj;
    struct bkt_err           err = {.n = 0};
    if (o->dset.layout.cls == BKT_D_NONE)
        return;
    int rc = deep_open(v, r->path, o, &d, &err);
    rc = rc ? rc : bkt_dsetio_open_places(v->d, o, skip_place, NULL, &places, &err);
    if (rc == BKT_OK) {
        d->reached = r;
        d->named = v->is_listed && bkt_type_has_refs(o->dset.type);
        rc = bkt_chunk_iter(places, on_deep, d, &err);
    }
    if (d && d->io && d->n)
        flush(d);
    if (rc < 0)
        failed(v, r->path, o, rc, &err);
}
