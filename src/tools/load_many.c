/* load --extend: many sources into one domain. */
#include <stdlib.h>
#include <string.h>

#include "agg.h"
#include "h5.h"
#include "load_one.h"
#include "num.h"

static int shape(void *arg, hid_t src, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err)
{
    return agg_shape(arg, src, path, space, dcpl, err);
}

/* What grows is appended like any other file's; what doesn't is copied from the first. */
static int data(void *arg, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    unsigned dim;
    (void)dst, (void)err;
    return agg_grows(arg, src, path, &dim);
}

static void tell(void *arg, const char *path, const char *what) { load_tell(((struct agg *)arg)->l, path, what); }

static int make(struct agg *a, struct bkt_err *err)
{
    struct tree_options o = load_tree_options(a->l);
    o.hooks.arg           = a;
    o.hooks.shape         = shape;
    o.hooks.data          = data;
    o.hooks.tell          = tell;
    o.hooks.prepare       = NULL;
    o.hooks.done          = NULL;
    return tree_copy(a->l->src->file, a->l->dst, &o, err);
}

/* One that doesn't fit is told and left out; anything else ends the load. */
static int add(struct agg *a, const char *source, int *failed, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int            rc  = agg_add(a, &why);
    if (rc == BKT_EINVAL) {
        progress_note(a->l->progress, "%s: refused: %s%s%s", source, why.n > 1 ? why.frame[1].msg : "", why.n > 1 ? ": " : "",
                      why.frame[0].msg);
        ++*failed;
        return BKT_OK;
    }
    if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    progress_add(a->l->progress, 0, 0, 1);
    progress_line(a->l->progress, "%s", source);
    return BKT_OK;
}

static int open_next(struct load *l, const char *source, struct bkt_err *err)
{
    source_close(l->src);
    l->src = NULL;
    return source_open(source, l->o->driver, l->set, &l->src, err);
}

static int add_all(struct agg *a, char **sources, int n, bool is_new, int *failed, struct bkt_err *err)
{
    a->l->progress->total = (uint64_t)n * PROGRESS_OBJECT;
    for (int i = 0; i < n; i++) {
        struct bkt_err why = {.n = 0};
        BKT_PASS(interrupt_check(err));
        if (i && open_next(a->l, sources[i], &why) < 0) {
            progress_note(a->l->progress, "%s: refused: %s", sources[i], why.n ? why.frame[0].msg : "can't be opened");
            ++*failed;
            continue;
        }
        BKT_PASS(add(a, sources[i], failed, err));
        if (i == 0 && *failed && is_new)
            BKT_FAIL(err, BKT_EUNSUP, "the first file can't be appended to its own domain: nothing is made");
    }
    return agg_end(a, err);
}

static int measure_names(struct agg *a, char **sources, int n, struct bkt_err *err)
{
    for (int i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_freep) char *uri = source_uri(sources[i]);
        if (!uri)
            BKT_NOMEM(err);
        a->longest = bkt_max_u64(a->longest, strlen(uri));
    }
    return BKT_OK;
}

int load_aggregate(struct load *l, char **sources, int n, const char *domain, hid_t fapl, int *failed, struct bkt_err *err)
{
    BKT_CLEANUP(agg_fini) struct agg a      = {.l = l};
    bool                             is_new = true;
    int                              rc     = open_next(l, sources[0], err);
    if (rc == BKT_OK)
        rc = agg_begin(&a, l, l->o->extend, err);
    if (rc == BKT_OK)
        rc = measure_names(&a, sources, n, err);
    if (rc == BKT_OK)
        rc = load_target(l, domain, fapl, &is_new, err);
    if (rc == BKT_OK && is_new)
        rc = make(&a, err);
    if (rc == BKT_OK)
        rc = agg_open(&a, err);
    if (rc == BKT_OK)
        rc = add_all(&a, sources, n, is_new, failed, err);
    agg_fini(&a);
    if (rc == BKT_OK)
        rc = load_finish(l, is_new, err);
    else if (l->dst >= 0 && l->file)
        load_abandon(l, is_new);
    source_close(l->src);
    return rc;
}
