/* Verification by several processes: units of chunks and names, and the reports about them. */
#include "tools/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/load/shared_copy.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"

enum { VERIFY_CHUNKS, VERIFY_NAME }; /* of a unit */
#define TEXTS 5                      /* of a report: word, kind, path, id, text */

/* Chunks of a dataset that can't be decoded since a file has changed. */
struct stale {
    char *path;
    uint64_t n;
    struct bkt_err err; /* of the first */
};
struct bkt_verify_shared {
    struct bkt_share s;
    int rc;                    /* of putting units */
    struct bkt_map *stale;     /* id -> struct stale */
    struct bkt_map *reported;  /* ids of datasets with a file that was reported as changed */
    struct bkt_map *unchecked; /* ids of datasets that were reported as not checked */
};

/* ---- a unit: chunks ---- */

void bkt_verify_shared_put(struct bkt_verify *v, const char *path, const struct bkt_object *o,
                           const struct bkt_sel *sel, size_t n, const uint64_t *cdims)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    int rc = v->shared->rc;
    rc = rc ? rc
            : shared_copy_say(&unit, v->err, "1tt14", VERIFY_CHUNKS, o->id.text, path, o->dset.space.rank, n);
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < o->dset.space.rank && rc == BKT_OK; d++)
            rc = shared_copy_say(&unit, v->err, "8", sel[i].rank ? sel[i].start[d] / cdims[d] : (uint64_t)0);
    v->shared->rc = rc ? rc : bkt_share_put(&v->shared->s, &unit, v->err);
}

void bkt_verify_shared_say(struct bkt_buf *out, const char *const texts[TEXTS])
{
    size_t had = out->len;
    for (size_t i = 0; i < TEXTS; i++)
        if (shared_copy_say(out, NULL, "t", texts[i] ? texts[i] : "") < 0) {
            bkt_buf_cut(out, had);
            return;
        }
}

/* numbers, then id and path, the reason of stale chunks, and reports */
static int emit_result(const struct bkt_verify *v, const char *id, const char *path, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf why = {0};
    BKT_PASS(bkt_err_pack(&v->stale, &why));
    BKT_PASS(shared_copy_say(out, NULL, "8888tt4", v->n_checked, v->n_unchecked, v->n_stale, v->n_problems,
                             id, path, why.len));
    BKT_PASS(bkt_buf_add(out, why.ptr, why.len));
    return bkt_buf_add(out, v->reported->ptr, v->reported->len);
}

static int check_chunks(struct bkt_verify *v, const char *id_text, const char *path, struct bkt_rd *unit,
                        struct bkt_buf *result, struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    struct bkt_id id;
    uint64_t rank = bkt_rd_le(unit, 1), n = bkt_rd_le(unit, 4);
    BKT_CLEANUP(bkt_freep)
    uint64_t *coords = unit->ok ? calloc((size_t)n + 1, (size_t)(rank + 1) * sizeof *coords) : NULL;
    BKT_FAIL_IF_MALFORMED(err, !unit->ok || !bkt_id_set(&id, id_text), "unit of work");
    BKT_NEED(err, coords);
    for (size_t i = 0; i < n * rank; i++)
        coords[i] = bkt_rd_le(unit, 8);
    BKT_PASS(bkt_domain_get(v->d, &id, &o, err));
    /* another writer may have changed the extent since the first process read it */
    bool same = unit->ok && o->kind == BKT_DATASET && !o->dset.bad && o->dset.space.rank == rank;
    if (same)
        bkt_verify_some_chunks(v, path, o, coords, (size_t)n);
    bkt_object_release(o);
    BKT_FAIL_IF(err, !same, BKT_EINVAL, "%s: another writer changes the dataset; run h5bucket verify again",
                path);
    return BKT_MADE(err, emit_result(v, id_text, path, result) >= 0);
}

/* Decode the chunks of a unit with a state of their own, which the result holds. */
static int work_on_chunks(struct bkt_tool *t, struct bkt_domain *d, struct bkt_rd *unit,
                          struct bkt_buf *result, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf reported = {0};
    const char *id = shared_copy_take_text(unit), *path = shared_copy_take_text(unit);
    struct bkt_verify v = {
        .t = t, .d = d, .deep = bkt_tool_has(t, "deep") > 0, .reported = &reported, .err = err};
    int rc = check_chunks(&v, id, path, unit, result, err);
    bkt_map_free(v.files, free);
    return rc;
}

/* ---- the first process ---- */

static void stale_free(void *p)
{
    struct stale *s = p;
    free(s->path);
    free(s);
}

static int note_stale(struct bkt_verify_shared *x, const char *id, const char *path, uint64_t n,
                      struct bkt_rd *why)
{
    struct stale *s = bkt_map_get(x->stale, id, strlen(id));
    size_t len = (size_t)bkt_rd_le(why, 4);
    const char *text = bkt_rd_take(why, len);
    if (!n)
        return BKT_OK;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s || !(s->path = strdup(path)) || bkt_map_set(&x->stale, id, strlen(id), s, NULL) < 0) {
            if (s)
                stale_free(s);
            return BKT_ENOMEM;
        }
        bkt_err_unpack(&s->err, BKT_EPRECOND, text, len);
    }
    s->n += n;
    return BKT_OK;
}

/* Each dataset is reported once as not checked. */
static int say_again(struct bkt_verify *v, const char *const t[TEXTS])
{
    if (strcmp(t[1], "unchecked") == 0) {
        if (bkt_map_get(v->shared->unchecked, t[3], strlen(t[3])))
            return BKT_OK;
        if (bkt_map_set(&v->shared->unchecked, t[3], strlen(t[3]), v, NULL) < 0)
            return BKT_ENOMEM;
    }
    v->n_problems += strncmp(t[0], "problem", 7) == 0;
    bkt_verify_say(v, t[0], t[1], t[2], t[3], t[4]);
    return BKT_OK;
}

static int take_reports(struct bkt_verify *v, struct bkt_rd *r, struct bkt_err *err)
{
    while (bkt_rd_left(r)) {
        const char *t[TEXTS];
        for (size_t i = 0; i < TEXTS; i++)
            t[i] = shared_copy_take_text(r);
        BKT_FAIL_IF_MALFORMED(err, !r->ok, "text");
        BKT_PASS_MEM(err, say_again(v, t));
    }
    return BKT_OK;
}

static int take_chunks(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_verify *v = arg;
    v->n_checked += bkt_rd_le(r, 8);
    v->n_unchecked += bkt_rd_le(r, 8);
    uint64_t n_stale = bkt_rd_le(r, 8);
    (void)bkt_rd_le(r, 8); /* problems are counted as they are printed */
    const char *id = shared_copy_take_text(r), *path = shared_copy_take_text(r);
    BKT_PASS_MEM(err, note_stale(v->shared, id, path, n_stale, r));
    BKT_FAIL_IF_MALFORMED(err, !r->ok, "result");
    return take_reports(v, r, err);
}

static int work_here(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct bkt_verify *v = arg;
    (void)bkt_rd_le(unit, 1);
    return work_on_chunks(v->t, v->d, unit, result, err);
}

int bkt_verify_shared_refs(struct bkt_verify *v, const struct bkt_reached *r, bool changed)
{
    if (changed && bkt_map_set(&v->shared->reported, r->id.text, BKT_ID_LEN, v, NULL) < 0)
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    return bkt_share_step(v->err);
}

static void report_stale(struct bkt_verify *v)
{
    const struct bkt_verify_shared *x = v->shared;
    struct bkt_map_at at = {0};
    while (bkt_map_walk(x->stale, &at)) {
        const struct stale *s = at.value;
        if (at.n > BKT_ID_LEN || bkt_map_get(x->reported, at.key, at.n))
            continue;
        bkt_verify_problem(v, "changed", s->path, at.key, "%s (%llu chunks)",
                           s->err.n ? s->err.frame[0].msg : "a file has changed", (unsigned long long)s->n);
    }
}

static int reach(struct bkt_verify *v, const char *name, int (*each)(const struct bkt_reached *r, void *arg))
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    struct bkt_share *s = &v->shared->s;
    BKT_PASS(shared_copy_say(&news, v->err, "t", name));
    int rc = bkt_share_begin(s, v->err);
    rc = rc ? rc : bkt_share_news(&news, v->err);
    rc = rc ? rc : bkt_verify_reach(v, each);
    return bkt_share_finish(s, rc < 0 ? rc : v->shared->rc, v->err);
}

int bkt_verify_shared_reach(struct bkt_verify *v, const char *name,
                            int (*each)(const struct bkt_reached *r, void *arg))
{
    struct bkt_verify_shared x = {.s = {.work = work_here, .take = take_chunks, .arg = v}};
    v->shared = &x;
    int rc = reach(v, name, each);
    if (rc == BKT_OK)
        report_stale(v);
    v->shared = NULL;
    bkt_map_free(x.stale, stale_free);
    bkt_map_free(x.reported, NULL);
    bkt_map_free(x.unchecked, NULL);
    return rc;
}

/* ---- domains ---- */

struct bkt_verify_names {
    struct bkt_share s;
    struct bkt_tool *t;
    struct bkt_jout *j;
    bkt_verify_name_fn *check;
    int exit_code;
};

/* Texts are printed by the process itself, and reach the first one's outputs. */
static int check_name(struct bkt_tool *t, bkt_verify_name_fn *check, struct bkt_rd *unit,
                      struct bkt_buf *result, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *json = NULL;
    const char *name = shared_copy_take_text(unit);
    size_t n = 0;
    struct bkt_jout j;
    BKT_FAIL_IF_MALFORMED(err, !unit->ok, "text");
    FILE *to = t->json ? open_memstream(&json, &n) : NULL;
    if (t->json && !to)
        BKT_NOMEM(err);
    bkt_jout_init(&j, to);
    j.depth = 1; /* in the list of all */
    j.kind[1] = '[';
    int exit_code = check(t, name, &j);
    bool ok = !to || fclose(to) == 0;
    BKT_NEED(err,
             ok && shared_copy_say(result, NULL, "1", exit_code) >= 0 && bkt_buf_add(result, json, n) >= 0);
    return BKT_OK;
}

static int work_on_name(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct bkt_verify_names *x = arg;
    (void)bkt_rd_le(unit, 1);
    return check_name(x->t, x->check, unit, result, err);
}

static int take_name(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_verify_names *x = arg;
    int code = (int)bkt_rd_le(r, 1);
    size_t n = bkt_rd_left(r);
    const char *p = bkt_rd_take(r, n);
    BKT_CLEANUP(bkt_freep) char *text = p ? strndup(p, n) : NULL;
    BKT_NEED(err, text);
    x->exit_code = code ? code : x->exit_code;
    bkt_jout_raw(x->j, text);
    return BKT_OK;
}

int bkt_verify_names_begin(struct bkt_tool *t, struct bkt_jout *j, bkt_verify_name_fn *check,
                           struct bkt_verify_names **out, struct bkt_err *err)
{
    *out = NULL;
    if (!bkt_processes_several())
        return BKT_OK;
    struct bkt_verify_names *n = calloc(1, sizeof *n);
    BKT_NEED(err, n);
    *n = (struct bkt_verify_names){
        .s = {.work = work_on_name, .take = take_name, .arg = n, .most = 2 * (size_t)bkt_processes_size()},
        .t = t,
        .j = j,
        .check = check};
    *out = n;
    return bkt_share_begin(&n->s, err);
}

int bkt_verify_names_put(struct bkt_verify_names *n, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    BKT_PASS(shared_copy_say(&unit, err, "1t", VERIFY_NAME, name));
    return bkt_share_put(&n->s, &unit, err);
}

int bkt_verify_names_end(struct bkt_verify_names *n, int rc, int *exit_code, struct bkt_err *err)
{
    if (!n)
        return rc;
    rc = bkt_share_finish(&n->s, rc, err);
    *exit_code = n->exit_code ? n->exit_code : *exit_code;
    free(n);
    return rc;
}

/* ---- the other processes ---- */

struct other {
    struct bkt_tool *t;
    bkt_verify_name_fn *check;
    struct bkt_domain *d;
};

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct other *o = arg;
    const char *name = shared_copy_take_text(news);
    struct bkt_settings set = o->t->set;
    char no[] = "no";
    set.snapshot = no; /* as in the first process */
    bkt_domain_close(o->d);
    o->d = NULL;
    BKT_FAIL_IF_MALFORMED(err, !news->ok, "text");
    return bkt_domain_open(name, &set, &o->d, err);
}

static int work_of_other(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct other *o = arg;
    uint64_t kind = bkt_rd_le(unit, 1);
    if (kind == VERIFY_NAME)
        return check_name(o->t, o->check, unit, result, err);
    BKT_FAIL_IF_MALFORMED(err, !o->d, "unit of work");
    return work_on_chunks(o->t, o->d, unit, result, err);
}

int bkt_verify_shared_serve(struct bkt_tool *t, bkt_verify_name_fn *check)
{
    struct bkt_err err = {.n = 0};
    struct other o = {.t = t, .check = check};
    const struct bkt_share_other s = {.work = work_of_other, .news = on_news, .arg = &o};
    int rc = bkt_share_serve(&s, &err);
    bkt_domain_close(o.d);
    return rc < 0 ? bkt_tool_error(t, NULL, &err) : BKT_EXIT_OK;
}
