/* load --extend: many sources into one domain. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/load/load_domain.h"
#include "tools/load/shared_copy.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver_ahead.h"

enum {
    GATHER_NOTHING,
    GATHER_ROWS,
    GATHER_VALUES,
    GATHER_COPY
}; /* of a dataset; COPY: the first process reads it */

/* The sources of a load. */
struct sources {
    char **v;
    int n, first; /* the first one that can be opened, and fits */
    bool is_new;  /* the domain is made from the first one */
    int *failed;  /* counts sources that don't fit */
};

/* Prints the error from the outside in: dataset, attempted action, root cause. */
static void refuse(struct load_job *l, const struct sources *s, int i, const struct bkt_err *why)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    int rc = why->n ? BKT_OK : bkt_buf_add_str(&text, ": can't be opened");
    for (unsigned k = why->n; k-- > 0 && rc == BKT_OK;)
        rc = bkt_buf_addf(&text, ": %s", why->frame[k].msg);
    progress_note(l->progress, "%s: refused%s", s->v[i], bkt_buf_str(&text));
    ++*s->failed;
}

/* A file that doesn't fit is reported and left out; any other error ends the load. */
static int added(struct load_job *l, const struct sources *s, int i, int rc, const struct bkt_err *why,
                 struct bkt_err *err)
{
    if (rc < 0 && rc != BKT_EINVAL)
        return bkt_err_copy(err, rc, why);
    if (rc < 0) {
        refuse(l, s, i, why);
        return BKT_OK;
    }
    progress_add(l->progress, 0, 0, 1);
    progress_line(l->progress, "%s", s->v[i]);
    return BKT_OK;
}

static int open_next(struct load_job *l, const char *source, struct bkt_err *err)
{
    source_close(l->src);
    l->src = NULL;
    return source_open(source, l->o->driver, l->set, &l->src, err);
}

/* ---- a source's result ---- */

static int emit_rows(const struct gather_dset *d, struct bkt_buf *out)
{
    size_t bytes = d->fields.row;
    for (unsigned i = 0; i < d->rows.rank; i++)
        bytes *= (size_t)d->rows.count[i]; /* gather_rows_make() has checked it */
    BKT_PASS(shared_copy_say(out, NULL, "181", GATHER_ROWS, d->rows.n_chunks, d->rows.rank));
    for (unsigned i = 0; i < d->rows.rank; i++)
        BKT_PASS(shared_copy_say(out, NULL, "8", d->rows.count[i]));
    return bkt_buf_add(out, d->rows.v, bytes);
}

/* 1: appended; 0: the values are long, or pointers. */
static int emit_values(const struct gather_plan *a, const struct gather_dset *d, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t src = H5Dopen2(a->l->src->file, d->path, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src), space = H5Dget_space(src);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    uint64_t bytes = 0;
    if (n < 0 || bkt_convert_has_pointers(type) || !bkt_mul_u64((uint64_t)n, H5Tget_size(type), &bytes) ||
        bytes > BKT_TOOL_BLOCK)
        return 0;
    BKT_PASS(shared_copy_say(out, err, "18", GATHER_VALUES, bytes));
    size_t at = out->len;
    BKT_PASS_MEM(err, bkt_buf_resize(out, at + (size_t)bytes));
    if (n && H5Dread(src, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out->ptr + at) < 0) {
        (void)h5_fail(err, "its values can't be read");
        BKT_FAIL(err, BKT_EINVAL, "%s", d->path);
    }
    return 1;
}

static int emit_source(struct gather_plan *a, struct bkt_buf *out, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        const struct gather_dset *d = &a->dsets[i];
        BKT_PASS(shared_copy_say(out, err, "8", d->n));
        if (d->grows && d->table >= 0 && emit_rows(d, out) < 0)
            BKT_NOMEM(err);
        int done = !d->grows || d->table >= 0 ? d->grows : emit_values(a, d, out, err);
        BKT_PASS(done);
        if (!done)
            BKT_PASS(shared_copy_say(out, err, "1", d->grows ? GATHER_COPY : GATHER_NOTHING));
    }
    return BKT_OK;
}

/* A source that doesn't fit is a result, too. */
static int look_at(struct gather_plan *a, const char *source, uint64_t i, struct bkt_buf *out,
                   struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = open_next(a->l, source, &why);
    rc = rc ? rc : gather_check(a, &why);
    rc = rc ? rc : shared_copy_say(out, &why, "41", i, true);
    rc = rc ? rc : emit_source(a, out, &why);
    if (rc == BKT_OK)
        return rc;
    if (rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(err, rc, &why);
    bkt_buf_clear(out);
    BKT_PASS(shared_copy_say(out, err, "41", i, false));
    return bkt_err_pack(&why, out) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
}

/* ---- the first process ---- */

struct gather {
    struct gather_plan *a;
    struct gather_plan look; /* for this process's units; in the first one another view of the domain */
    const struct sources *sources;
    int next;                /* the source to be added */
    struct bkt_buf *results; /* of sources whose turn has not come */
    /* of another process */
    struct load_job *l;
    const char *domain;
    hid_t fapl;
    struct bkt_domain *d;
};

static int parse_rows(struct gather_dset *d, struct bkt_rd *r, struct bkt_err *err)
{
    uint64_t n = d->fields.row;
    bool fits = true;
    gather_rows_free(d);
    d->rows.n_chunks = (size_t)bkt_rd_le(r, 8);
    d->rows.rank = (unsigned)bkt_rd_le(r, 1);
    for (unsigned i = 0; fits && i < d->rows.rank; i++) {
        fits = i < BKT_MAX_RANK;
        d->rows.count[fits ? i : 0] = bkt_rd_le(r, 8);
        fits = fits && bkt_mul_u64(n, d->rows.count[i], &n);
    }
    const void *p = fits && n <= bkt_rd_left(r) ? bkt_rd_take(r, (size_t)n) : NULL;
    BKT_FAIL_IF_MALFORMED(err, !p, "rows");
    BKT_NEED(err, (d->rows.v = malloc((size_t)n + 1)));
    memcpy(d->rows.v, p, (size_t)n);
    return BKT_OK;
}

/* @p copies: gets whether this process has to read values of the source */
static int parse_source(struct gather_plan *a, struct bkt_rd *r, bool *copies, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_dsets; i++) {
        struct gather_dset *d = &a->dsets[i];
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
        BKT_FAIL_IF_MALFORMED(
            err, !r->ok || d->grows != (kind != GATHER_NOTHING) || (d->table >= 0) != (kind == GATHER_ROWS),
            "result");
    }
    return BKT_OK;
}

static int store(struct gather *g, struct bkt_rd *r, struct bkt_err *err)
{
    struct load_job *l = g->a->l;
    bool copies = false;
    BKT_PASS(parse_source(g->a, r, &copies, err));
    source_close(l->src);
    l->src = NULL;
    if (copies && source_open(g->sources->v[g->next], l->o->driver, l->set, &l->src, err) < 0)
        return BKT_EINVAL;
    return gather_store(g->a, err);
}

static int add_next(struct gather *g, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = BKT_EINVAL;
    (void)bkt_rd_le(r, 4);
    if (bkt_rd_le(r, 1)) {
        rc = store(g, r, &why);
    } else {
        size_t n = bkt_rd_left(r);
        const char *text = bkt_rd_take(r, n);
        bkt_err_unpack(&why, rc, text, n);
    }
    for (size_t i = 0; i < g->a->n_dsets; i++)
        g->a->dsets[i].values = NULL;
    return added(g->a->l, g->sources, g->next, rc, &why, err);
}

/* Results wait for their turn. */
static int take_result(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct gather *g = arg;
    struct bkt_rd head = *result;
    uint64_t i = bkt_rd_le(&head, 4);
    BKT_FAIL_IF_MALFORMED(
        err, !head.ok || i >= (uint64_t)g->sources->n || i < (uint64_t)g->next || g->results[i].len,
        "result");
    size_t n = bkt_rd_left(result);
    BKT_PASS_MEM(err, bkt_buf_add(&g->results[i], bkt_rd_take(result, n), n));
    while (g->next < g->sources->n && g->results[g->next].len) {
        struct bkt_buf *b = &g->results[g->next];
        struct bkt_rd r = bkt_rd_of(b->ptr, b->len);
        int rc = add_next(g, &r, err);
        bkt_buf_fini(b);
        BKT_PASS(rc);
        g->next++;
    }
    return BKT_OK;
}

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct gather *g = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    BKT_FAIL_IF_MALFORMED(err, !unit->ok || i >= (uint64_t)g->sources->n || !g->look.l, "unit of work");
    BKT_PASS(interrupt_check(err));
    return look_at(&g->look, g->sources->v[i], i, result, err);
}

static int put_sources(struct gather *g, struct bkt_share *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    const int first = g->sources->first;
    BKT_PASS(shared_copy_say(&news, err, "14i", g->sources->is_new, (uint64_t)first,
                             bkt_domain_root(g->a->l->file->dom)));
    BKT_PASS(bkt_share_news(&news, err));
    for (int i = first + 1; i < g->sources->n; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
        BKT_PASS(interrupt_check(err));
        /* a slow source holds up the others' results, which take memory */
        while (i - g->next > 8 * (int)bkt_processes_size())
            BKT_PASS(bkt_share_turn(s, err));
        BKT_PASS(shared_copy_say(&unit, err, "4", (uint64_t)i));
        BKT_PASS(bkt_share_put(s, &unit, err));
    }
    return BKT_OK;
}

/* The first process looks at its own sources through a load of its own: gather_store() needs the other one's
 * state. */
static int begin_look(struct gather *g, struct load_job *look, const char *opened, struct bkt_err *err)
{
    BKT_PASS(source_open(opened, look->o->driver, look->set, &look->src, err));
    BKT_PASS(gather_begin(&g->look, look, look->o->extend, err));
    return gather_open(&g->look, err);
}

/* Add the sources behind the first one to the domain, which has that one.  The first process only. */
static int add_shared(struct gather_plan *a, const struct sources *sources, struct bkt_err *err)
{
    struct load_job look = *a->l;
    struct gather g = {.a = a, .sources = sources, .next = sources->first + 1};
    struct bkt_share s = {.work = work, .take = take_result, .arg = &g, .check = interrupt_check};
    look.src = NULL;
    g.results = calloc((size_t)sources->n, sizeof *g.results);
    BKT_NEED(err, g.results);
    /* other processes find the datasets in the store */
    int rc = bkt_chunks_flush(a->l->file->dom, err);
    if (rc == BKT_OK && sources->is_new)
        rc = bkt_domain_flush_early(a->l->file->dom, err);
    rc = rc ? rc : begin_look(&g, &look, sources->v[sources->first], err);
    rc = rc ? rc : bkt_share_begin(&s, err);
    rc = rc ? rc : put_sources(&g, &s, err);
    rc = bkt_share_finish(&s, rc, err);
    gather_fini(&g.look);
    source_close(look.src);
    for (int i = 0; i < sources->n; i++)
        bkt_buf_fini(&g.results[i]);
    free(g.results);
    return rc;
}

/* ---- the others ---- */

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct gather *g = arg;
    struct load_job *l = g->l;
    struct bkt_id root;
    bool is_new = bkt_rd_le(news, 1);
    uint64_t first = bkt_rd_le(news, 4);
    BKT_PASS(shared_copy_parse_id(news, &root, err));
    BKT_FAIL_IF_MALFORMED(err, first >= (uint64_t)g->sources->n, "news");
    l->reported_allow = true; /* by the first process */
    BKT_PASS(source_open(g->sources->v[first], l->o->driver, l->set, &l->src, err));
    if (is_new)
        BKT_PASS(bkt_domain_open_unseen(g->domain, l->set, &root, &g->d, err));
    l->dst = H5Fopen(g->domain, is_new ? H5F_ACC_RDWR : H5F_ACC_RDONLY, g->fapl);
    if (l->dst < 0)
        return h5_fail(err, g->domain);
    l->file = bkt_vobj_of_id(l->dst)->file;
    BKT_PASS(gather_begin(&g->look, l, l->o->extend, err));
    return gather_open(&g->look, err);
}

int gather_shared_serve(struct load_job *l, char **sources, int n, const char *domain, hid_t fapl,
                        struct bkt_err *err)
{
    const struct sources all = {.v = sources, .n = n};
    struct gather g = {.l = l, .sources = &all, .domain = domain, .fapl = fapl};
    const struct bkt_share_other s = {.work = work, .news = on_news, .arg = &g};
    int rc = bkt_share_serve(&s, err);
    gather_fini(&g.look);
    if (g.d)
        bkt_domain_discard(g.d); /* the first process stores the domain */
    bkt_hid_closep(&l->dst);
    source_close(l->src);
    bkt_domain_close(g.d);
    return rc;
}

/* ---- this process alone ---- */

/* Growing datasets are appended later, like any other file's; the others are copied from the first file. */
static int data(void *arg, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    unsigned dim;
    (void)dst, (void)err;
    return gather_grows(arg, src, path, &dim);
}

static void report(void *arg, const char *path, const char *what)
{
    load_report(((struct gather_plan *)arg)->l, path, what);
}

static int open_beside(void *arg, const char *name, hid_t *out, struct bkt_err *err)
{
    return load_open_beside(((struct gather_plan *)arg)->l, name, out, err);
}

static int make(struct gather_plan *a, struct bkt_err *err)
{
    struct bkt_copier_options o = load_copier_options(a->l);
    o.hooks.arg           = a;
    o.hooks.shape = gather_shape;
    o.hooks.data          = data;
    o.hooks.report = report;
    o.hooks.open_beside   = open_beside;
    o.hooks.done          = NULL;
    return bkt_copier_tree(a->l->src->file, a->l->dst, &o, err);
}

static int add(struct gather_plan *a, const struct sources *s, int i, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = gather_check(a, &why);
    return added(a->l, s, i, rc ? rc : gather_store(a, &why), &why, err);
}

/* Tries sources from s->first on until one can be opened, and reports the others. */
static int open_first(struct load_job *l, struct sources *s, struct bkt_err *err)
{
    for (; s->first < s->n; s->first++) {
        struct bkt_err why = {.n = 0};
        int rc = open_next(l, s->v[s->first], &why);
        if (rc == BKT_OK)
            return rc;
        if (rc == BKT_ENOMEM || s->first + 1 == s->n) /* none can be opened */
            return bkt_err_copy(err, rc, &why);
        refuse(l, s, s->first, &why);
    }
    BKT_FAIL(err, BKT_EINVAL, "no source");
}

/* Begins to fetch the sources behind number @p i, of the first @p n; *upto: the last one requested. */
static void expect(const struct load_job *l, const struct sources *s, int n, int i, int *upto)
{
    for (*upto = *upto > i ? *upto : i; *upto + 1 < n && *upto < i + (int)l->o->jobs; ++*upto)
        bkt_vfd_expect(s->v[*upto + 1], l->set);
}

static int add_all(struct gather_plan *a, const struct sources *s, struct bkt_err *err)
{
    const int first = s->first, before = *s->failed;
    const bool shared = bkt_processes_several() && s->n - first > 1;
    const int alone = shared ? first + 1 : s->n; /* sources that this process adds by itself */
    int upto = first;
    a->l->progress->total = (uint64_t)s->n * PROGRESS_OBJECT;
    for (int i = first; i < alone; i++) {
        struct bkt_err why = {.n = 0};
        BKT_PASS(interrupt_check(err));
        expect(a->l, s, alone, i, &upto);
        if (i > first && open_next(a->l, s->v[i], &why) < 0) {
            refuse(a->l, s, i, &why);
            continue;
        }
        BKT_PASS(add(a, s, i, err));
        BKT_FAIL_IF(err, i == first && *s->failed > before && s->is_new, BKT_EUNSUP,
                    "the first file can't be appended to its own domain; nothing is made");
    }
    if (shared)
        BKT_PASS(add_shared(a, s, err));
    return gather_end(a, err);
}

static int measure_names(struct gather_plan *a, const struct sources *s, struct bkt_err *err)
{
    for (int i = 0; i < s->n; i++) {
        BKT_CLEANUP(bkt_freep) char *uri = source_uri(s->v[i]);
        BKT_NEED(err, uri);
        a->longest = bkt_max_u64(a->longest, strlen(uri));
    }
    return BKT_OK;
}

/* Makes the domain from the first source that can be opened, or opens the existing domain with the first
 * source that fits. */
static int begin(struct gather_plan *a, struct load_job *l, struct sources *s, struct bkt_err *err)
{
    for (;;) {
        struct bkt_err why = {.n = 0};
        BKT_PASS(gather_begin(a, l, l->o->extend, err));
        BKT_PASS(measure_names(a, s, err));
        if (s->is_new)
            BKT_PASS(make(a, err));
        int rc = gather_open(a, &why);
        if (rc == BKT_OK)
            return s->is_new ? BKT_OK : gather_begin_append(a, err);
        if (rc != BKT_EINVAL || s->is_new || s->first + 1 == s->n)
            return bkt_err_copy(err, rc, &why);
        refuse(l, s, s->first, &why);
        gather_fini(a);
        s->first++;
        BKT_PASS(open_first(l, s, err));
    }
}

int load_gathered(struct load_job *l, char **sources, int n, const char *domain, hid_t fapl, int *failed,
                  struct bkt_err *err)
{
    BKT_CLEANUP(gather_fini) struct gather_plan a = {.l = l};
    struct sources s = {.v = sources, .n = n, .is_new = true, .failed = failed};
    int rc = open_first(l, &s, err);
    rc = rc ? rc : load_target(l, domain, fapl, &s.is_new, err);
    rc = rc ? rc : begin(&a, l, &s, err);
    rc = rc ? rc : add_all(&a, &s, err);
    gather_fini(&a);
    bkt_vfd_expect_nothing();
    return load_end(l, rc, s.is_new, err);
}
