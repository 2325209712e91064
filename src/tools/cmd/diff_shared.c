#include "tools/cmd/diff_shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "tools/load/parts.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"

/* A line of the output: a difference, or a dataset that is under way. */
struct line {
    char *path;
    const char *what; /* a constant; NULL: a dataset */
    char *text;
    size_t left; /* of a dataset: blocks without a result, and 1 until all are put */
    uint64_t bad, first, elems;
    struct bkt_blocks *whole;
};
struct bkt_diff_shared {
    struct bkt_share s;
    struct bkt_diff *d;
    struct line *v;
    size_t n, cap, printed; /* lines before `printed` are done */
    bool printing;
};

/* ---- lines ---- */

static void line_fini(struct line *l)
{
    free(l->path);
    free(l->text);
    free(l->whole);
    *l = (struct line){.what = ""};
}

static void print(struct bkt_diff *d, struct line *l)
{
    if (l->what)
        bkt_diff_tell(d, l->path, l->what, "%s", l->text);
    else if (l->bad)
        bkt_diff_tell_data(d, l->path, l->whole, l->bad, l->first, l->elems);
    line_fini(l);
}

static void print_done(struct bkt_diff_shared *x)
{
    x->printing = true;
    while (x->printed < x->n && (x->v[x->printed].what || !x->v[x->printed].left))
        print(x->d, &x->v[x->printed++]);
    x->printing = false;
    if (x->printed == x->n) /* no dataset is under way, so no number is in use */
        x->printed = x->n = 0;
}

static struct line *add_line(struct bkt_diff_shared *x, const char *path)
{
    char *copy = strdup(path);
    if (!copy || bkt_list_room(&x->v, x->n, &x->cap, sizeof *x->v) < 0) {
        free(copy);
        return NULL;
    }
    x->v[x->n] = (struct line){.path = copy};
    return &x->v[x->n++];
}

bool bkt_diff_shared_keeps(struct bkt_diff *d, const char *path, const char *what, const char *text)
{
    struct bkt_diff_shared *x = d->shared;
    if (!x || x->printing || x->printed == x->n)
        return false;
    char *copy = strdup(text);
    struct line *l = copy ? add_line(x, path) : NULL;
    if (!l) {
        free(copy);
        return false; /* better now than never */
    }
    l->what = what;
    l->text = copy;
    return true;
}

int bkt_diff_shared_dataset(struct bkt_diff *d, const char *path, const struct bkt_blocks *whole,
                            uint64_t elems, size_t *number)
{
    struct bkt_blocks *copy = malloc(sizeof *copy);
    struct line *l = copy ? add_line(d->shared, path) : NULL;
    if (!l) {
        free(copy);
        BKT_NOMEM(d->err);
    }
    *copy = *whole;
    l->left = 1;
    l->elems = elems;
    l->whole = copy;
    *number = d->shared->n - 1;
    return BKT_OK;
}

static void found(struct line *l, uint64_t bad, uint64_t first)
{
    l->left--;
    if (bad)
        l->first = l->bad ? bkt_min_u64(l->first, first) : first;
    l->bad += bad;
}

void bkt_diff_shared_done(struct bkt_diff *d, size_t number, uint64_t bad, uint64_t first)
{
    found(&d->shared->v[number], bad, first);
    print_done(d->shared);
}

/* ---- units ---- */

int bkt_diff_shared_block(struct bkt_diff *d, size_t number, const struct bkt_blocks *at)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    struct line *l = &d->shared->v[number];
    int rc = bkt_buf_add_le(&unit, 8, number);
    rc = rc < 0 ? rc : parts_emit_text(&unit, l->path);
    rc = rc < 0 ? rc : bkt_buf_add_le(&unit, 1, at->rank);
    for (unsigned i = 0; i < at->rank && rc == BKT_OK; i++) {
        rc = bkt_buf_add_le(&unit, 8, at->at[i]);
        rc = rc < 0 ? rc : bkt_buf_add_le(&unit, 8, at->count[i]);
    }
    if (rc < 0)
        BKT_NOMEM(d->err);
    l->left++;
    return bkt_share_put(&d->shared->s, &unit, d->err);
}

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct bkt_diff *d = arg;
    BKT_CLEANUP(bkt_freep) char *path = NULL;
    struct bkt_blocks at = {.n = 1};
    uint64_t number = bkt_rd_le(unit, 8), bad = 0, first = 0;
    BKT_PASS(parts_parse_text(unit, &path, err));
    at.rank = (unsigned)bkt_rd_le(unit, 1);
    bool good = at.rank <= H5S_MAX_RANK;
    for (unsigned i = 0; good && i < at.rank; i++) {
        at.at[i] = bkt_rd_le(unit, 8);
        at.count[i] = bkt_rd_le(unit, 8);
        good = bkt_mul_u64(at.n, at.count[i], &at.n);
    }
    if (!good || !unit->ok)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed unit of work");
    struct bkt_err *was = d->err;
    d->err = err;
    int rc = bkt_diff_one_block(d, path, &at, &bad, &first);
    d->err = was;
    if (rc < 0)
        BKT_FAIL(err, rc, "%s", path);
    if (bkt_buf_add_le(result, 8, number) < 0 || bkt_buf_add_le(result, 8, bad) < 0 ||
        bkt_buf_add_le(result, 8, first) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int take(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_diff *d = arg;
    struct bkt_diff_shared *x = d->shared;
    uint64_t number = bkt_rd_le(r, 8), bad = bkt_rd_le(r, 8), first = bkt_rd_le(r, 8);
    if (!r->ok || number >= x->n || x->v[number].what || !x->v[number].left)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed result");
    found(&x->v[number], bad, first);
    print_done(x);
    return BKT_OK;
}

int bkt_diff_shared_begin(struct bkt_diff *d)
{
    if (!bkt_processes_several())
        return BKT_OK;
    d->shared = calloc(1, sizeof *d->shared);
    if (!d->shared)
        BKT_NOMEM(d->err);
    d->shared->d = d;
    d->shared->s = (struct bkt_share){.work = work, .take = take, .arg = d, .most = bkt_processes_size()};
    return bkt_share_begin(&d->shared->s, d->err);
}

int bkt_diff_shared_end(struct bkt_diff *d, int rc)
{
    struct bkt_diff_shared *x = d->shared;
    if (!x)
        return rc;
    rc = bkt_share_finish(&x->s, rc, d->err);
    print_done(x); /* after a failure, differences up to there */
    for (; x->printed < x->n; x->printed++)
        line_fini(&x->v[x->printed]);
    free(x->v);
    free(x);
    d->shared = NULL;
    return rc;
}

/* ---- the other processes ---- */

struct other {
    struct bkt_diff *d;
    int (*open)(struct bkt_diff *d);
};

static int work_of_other(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct other *o = arg;
    if (o->d->fa < 0 || o->d->fb < 0) {
        o->d->err = err;
        BKT_PASS(o->open(o->d));
    }
    return work(o->d, unit, result, err);
}

int bkt_diff_shared_serve(struct bkt_diff *d, int (*open)(struct bkt_diff *d))
{
    struct bkt_err err = {.n = 0};
    struct other o = {.d = d, .open = open};
    const struct bkt_share_other s = {.work = work_of_other, .arg = &o};
    int rc = bkt_share_serve(&s, &err);
    return rc < 0 ? bkt_tool_error(d->t, NULL, &err) : BKT_EXIT_OK;
}
