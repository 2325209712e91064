#include "tools/load/gather/gather_shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "tools/load/parts.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"
#include "vol/copy/copier.h"

enum {
    GATHER_NOTHING,
    GATHER_ROWS,
    GATHER_VALUES,
    GATHER_COPY
}; /* of a dataset; COPY: the first process reads it */

/* ---- a source's result ---- */

static int emit_rows(const struct agg_dset *d, struct bkt_buf *out)
{
    size_t bytes = d->fields.row;
    for (unsigned i = 0; i < d->rows.rank; i++)
        bytes *= (size_t)d->rows.count[i]; /* agg_rows_make() has checked it */
    BKT_PASS(bkt_buf_add_le(out, 1, GATHER_ROWS));
    BKT_PASS(bkt_buf_add_le(out, 8, d->rows.n_chunks));
    BKT_PASS(bkt_buf_add_le(out, 1, d->rows.rank));
    for (unsigned i = 0; i < d->rows.rank; i++)
        BKT_PASS(bkt_buf_add_le(out, 8, d->rows.count[i]));
    return bkt_buf_add(out, d->rows.v, bytes);
}

/* 1: appended; 0: the values are long, or pointers. */
static int emit_values(const struct agg *a, const struct agg_dset *d, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t src = H5Dopen2(a->l->src->file, d->path, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(src), space = H5Dget_space(src);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    uint64_t bytes = 0;
    if (n < 0 || !bkt_copier_is_plain(type) || !bkt_mul_u64((uint64_t)n, H5Tget_size(type), &bytes) ||
        bytes > BKT_TOOL_BLOCK)
        return 0;
    if (bkt_buf_add_le(out, 1, GATHER_VALUES) < 0 || bkt_buf_add_le(out, 8, bytes) < 0)
        BKT_NOMEM(err);
    size_t at = out->len;
    if (bkt_buf_resize(out, at + (size_t)bytes) < 0)
        BKT_NOMEM(err);
    if (n && H5Dread(src, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out->ptr + at) < 0) {
        (void)h5_fail(err, "its values can't be read");
        BKT_FAIL(err, BKT_EINVAL, "%s", d->path);
    }
    return 1;
}

static int emit_source(struct agg *a, struct bkt_buf *out, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        const struct agg_dset *d = &a->dsets[i];
        int rc = bkt_buf_add_le(out, 8, d->n);
        if (rc == BKT_OK && !d->grows)
            rc = bkt_buf_add_le(out, 1, GATHER_NOTHING);
        else if (rc == BKT_OK && d->table >= 0)
            rc = emit_rows(d, out);
        else if (rc == BKT_OK) {
            int done = emit_values(a, d, out, err);
            if (done < 0)
                return done;
            rc = done ? BKT_OK : bkt_buf_add_le(out, 1, GATHER_COPY);
        }
        if (rc < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int result_head(struct bkt_buf *out, uint64_t i, bool fits)
{
    bkt_buf_clear(out);
    BKT_PASS(bkt_buf_add_le(out, 4, i));
    return bkt_buf_add_le(out, 1, fits);
}

/* A source that doesn't fit is a result, too. */
static int look_at(struct agg *a, const char *source, uint64_t i, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    source_close(a->l->src);
    a->l->src = NULL;
    int rc = source_open(source, a->l->o->driver, a->l->set, &a->l->src, &why);
    if (rc == BKT_OK)
        rc = agg_check(a, &why);
    if (rc == BKT_OK)
        rc = result_head(out, i, true) < 0 ? BKT_ENOMEM : emit_source(a, out, &why);
    if (rc == BKT_OK)
        return rc;
    if (rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(err, rc, &why);
    if (result_head(out, i, false) < 0 || bkt_err_pack(&why, out) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* ---- the first process ---- */

struct gather {
    struct agg *a;
    struct agg look; /* this process's own units: another view of the domain */
    char **sources;
    int n, next; /* next: the source to be added */
    int *failed;
    agg_refuse_fn *refuse;
    struct bkt_buf *results; /* of sources whose turn has not come */
};

static int parse_rows(struct agg_dset *d, struct bkt_rd *r, struct bkt_err *err)
{
    uint64_t n = d->fields.row;
    bool fits = true;
    agg_rows_free(d);
    d->rows.n_chunks = (size_t)bkt_rd_le(r, 8);
    d->rows.rank = (unsigned)bkt_rd_le(r, 1);
    for (unsigned i = 0; fits && i < d->rows.rank; i++) {
        fits = i < BKT_MAX_RANK;
        d->rows.count[fits ? i : 0] = bkt_rd_le(r, 8);
        fits = fits && bkt_mul_u64(n, d->rows.count[i], &n);
    }
    const void *p = fits && n <= bkt_rd_left(r) ? bkt_rd_take(r, (size_t)n) : NULL;
    if (!p)
        BKT_FAIL(err, BKT_EFORMAT, "malformed rows of another process");
    if (!(d->rows.v = malloc((size_t)n + 1)))
        BKT_NOMEM(err);
    memcpy(d->rows.v, p, (size_t)n);
    return BKT_OK;
}

/* @p copies: gets whether this process has to read values of the source */
static int parse_source(struct agg *a, struct bkt_rd *r, bool *copies, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        struct agg_dset *d = &a->dsets[i];
        d->n = bkt_rd_le(r, 8);
        d->values = NULL;
        uint64_t kind = bkt_rd_le(r, 1);
        if (kind == GATHER_ROWS)
            BKT_PASS(parse_rows(d, r, err));
        if (kind == GATHER_VALUES) {
            d->n_values = (size_t)bkt_rd_le(r, 8);
            d->values = bkt_rd_take(r, d->n_values);
        }
        *copies |= kind == GATHER_COPY;
        if (!r->ok || d->grows != (kind != GATHER_NOTHING) || (d->table >= 0) != (kind == GATHER_ROWS))
            BKT_FAIL(err, BKT_EFORMAT, "a malformed result of another process");
    }
    return BKT_OK;
}

static int store(struct gather *g, struct bkt_rd *r, struct bkt_err *err)
{
    struct load *l = g->a->l;
    bool copies = false;
    BKT_PASS(parse_source(g->a, r, &copies, err));
    source_close(l->src);
    l->src = NULL;
    if (copies && source_open(g->sources[g->next], l->o->driver, l->set, &l->src, err) < 0)
        return BKT_EINVAL;
    return agg_store(g->a, err);
}

static int add_next(struct gather *g, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    struct load *l = g->a->l;
    const char *source = g->sources[g->next];
    int rc = BKT_EINVAL;
    (void)bkt_rd_le(r, 4);
    if (bkt_rd_le(r, 1)) {
        rc = store(g, r, &why);
    } else {
        size_t n = bkt_rd_left(r);
        const char *text = bkt_rd_take(r, n);
        if (n && text && !text[n - 1])
            bkt_err_unpack(&why, rc, text, n);
    }
    for (size_t i = 0; i < g->a->n_dsets; i++)
        g->a->dsets[i].values = NULL;
    if (rc < 0 && rc != BKT_EINVAL)
        return bkt_err_copy(err, rc, &why);
    if (rc < 0) {
        g->refuse(l, source, &why, g->failed);
        return BKT_OK;
    }
    progress_add(l->progress, 0, 0, 1);
    progress_line(l->progress, "%s", source);
    return BKT_OK;
}

/* Results wait for their turn. */
static int take(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct gather *g = arg;
    struct bkt_rd head = *result;
    uint64_t i = bkt_rd_le(&head, 4);
    if (!head.ok || i >= (uint64_t)g->n || i < (uint64_t)g->next || g->results[i].len)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed result of another process");
    size_t n = bkt_rd_left(result);
    if (bkt_buf_add(&g->results[i], bkt_rd_take(result, n), n) < 0)
        BKT_NOMEM(err);
    while (g->next < g->n && g->results[g->next].len) {
        struct bkt_buf *b = &g->results[g->next];
        struct bkt_rd r = bkt_rd_of(b->ptr, b->len);
        int rc = add_next(g, &r, err);
        bkt_buf_fini(b);
        BKT_PASS(rc);
        g->next++;
    }
    return BKT_OK;
}

static int work_here(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct gather *g = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    return look_at(&g->look, g->sources[i], i, result, err);
}

static int put_all(struct gather *g, struct bkt_share *s, int first, bool is_new, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    if (bkt_buf_add_le(&news, 1, is_new) < 0 || bkt_buf_add_le(&news, 4, (unsigned)first) < 0 ||
        bkt_buf_add(&news, bkt_domain_root(g->a->l->file->dom)->text, BKT_ID_LEN) < 0)
        BKT_NOMEM(err);
    BKT_PASS(bkt_share_news(s, &news, err));
    for (int i = first + 1; i < g->n; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
        BKT_PASS(interrupt_check(err));
        /* a slow source holds up the others' results, which take memory */
        while (i - g->next > 8 * (int)bkt_processes_size())
            BKT_PASS(bkt_share_turn(s, err));
        if (bkt_buf_add_le(&unit, 4, (unsigned)i) < 0)
            BKT_NOMEM(err);
        BKT_PASS(bkt_share_put(s, &unit, err));
    }
    return BKT_OK;
}

/* The first process looks at its own sources through a load of its own: agg_store() needs the other one's
 * state. */
static int begin_look(struct gather *g, struct load *look, const char *opened, struct bkt_err *err)
{
    BKT_PASS(source_open(opened, look->o->driver, look->set, &look->src, err));
    BKT_PASS(agg_begin(&g->look, look, look->o->extend, err));
    return agg_open(&g->look, err);
}

int agg_shared_add(struct agg *a, char **sources, int first, int n, bool is_new, agg_refuse_fn *refuse,
                   int *failed, struct bkt_err *err)
{
    struct load look = *a->l;
    struct gather g = {
        .a = a, .sources = sources, .n = n, .next = first + 1, .failed = failed, .refuse = refuse};
    struct bkt_share s = {
        .work = work_here, .take = take, .arg = &g, .most = bkt_processes_size(), .check = interrupt_check};
    look.src = NULL;
    g.results = calloc((size_t)n, sizeof *g.results);
    if (!g.results)
        BKT_NOMEM(err);
    /* other processes find the datasets in the store */
    int rc = bkt_chunks_flush(a->l->file->dom, err);
    if (rc == BKT_OK && is_new)
        rc = bkt_domain_flush_early(a->l->file->dom, err);
    if (rc == BKT_OK)
        rc = begin_look(&g, &look, sources[first], err);
    if (rc == BKT_OK)
        rc = bkt_share_begin(&s, err);
    if (rc == BKT_OK)
        rc = put_all(&g, &s, first, is_new, err);
    rc = bkt_share_finish(&s, rc, err);
    agg_fini(&g.look);
    source_close(look.src);
    for (int i = 0; i < n; i++)
        bkt_buf_fini(&g.results[i]);
    free(g.results);
    return rc;
}

/* ---- the others ---- */

struct other {
    struct agg a;
    struct load *l;
    char **sources;
    int n;
    const char *domain;
    hid_t fapl;
    struct bkt_domain *d;
};

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct other *o = arg;
    struct load *l = o->l;
    struct bkt_id root;
    bool is_new = bkt_rd_le(news, 1);
    uint64_t first = bkt_rd_le(news, 4);
    BKT_PASS(parts_parse_id(news, &root, err));
    if (first >= (uint64_t)o->n)
        BKT_FAIL(err, BKT_EFORMAT, "malformed news of the first process");
    l->told_allow = true; /* by the first process */
    BKT_PASS(source_open(o->sources[first], l->o->driver, l->set, &l->src, err));
    if (is_new)
        BKT_PASS(bkt_domain_open_unseen(o->domain, l->set, &root, &o->d, err));
    l->dst = H5Fopen(o->domain, is_new ? H5F_ACC_RDWR : H5F_ACC_RDONLY, o->fapl);
    if (l->dst < 0)
        return h5_fail(err, o->domain);
    l->file = load_vobj(l->dst)->file;
    BKT_PASS(agg_begin(&o->a, l, l->o->extend, err));
    return agg_open(&o->a, err);
}

static int work_for_first(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct other *o = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    if (!unit->ok || i >= (uint64_t)o->n || !o->a.l)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed unit of work");
    BKT_PASS(interrupt_check(err));
    return look_at(&o->a, o->sources[i], i, result, err);
}

int agg_shared_serve(struct load *l, char **sources, int n, const char *domain, hid_t fapl,
                     struct bkt_err *err)
{
    struct other o = {.l = l, .sources = sources, .n = n, .domain = domain, .fapl = fapl};
    const struct bkt_share_other s = {.work = work_for_first, .news = on_news, .arg = &o};
    int rc = bkt_share_serve(&s, err);
    agg_fini(&o.a);
    if (o.d)
        bkt_domain_discard(o.d); /* the first process stores the domain */
    h5_closep(&l->dst);
    source_close(l->src);
    bkt_domain_close(o.d);
    return rc;
}
