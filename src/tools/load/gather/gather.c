/* load --extend: many sources into one domain. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/load/gather/gather_shared.h"
#include "tools/load/load_one.h"
#include "tools/share/processes.h"
#include "tools/source/hdf5_glue.h"
#include "vol/vfd/store_driver_ahead.h"

static int shape(void *arg, hid_t src, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err)
{
    return agg_shape(arg, src, path, space, dcpl, err);
}

/* Growing datasets are appended later, like any other file's; the others are copied from the first file. */
static int data(void *arg, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    unsigned dim;
    (void)dst, (void)err;
    return agg_grows(arg, src, path, &dim);
}

static void tell(void *arg, const char *path, const char *what)
{
    load_tell(((struct agg *)arg)->l, path, what);
}

static int open_beside(void *arg, const char *name, hid_t *out, struct bkt_err *err)
{
    return load_open_beside(((struct agg *)arg)->l, name, out, err);
}

static int make(struct agg *a, struct bkt_err *err)
{
    struct bkt_copier_options o = load_copier_options(a->l);
    o.hooks.arg           = a;
    o.hooks.shape         = shape;
    o.hooks.data          = data;
    o.hooks.tell          = tell;
    o.hooks.open_beside   = open_beside;
    o.hooks.done          = NULL;
    return bkt_copier_tree(a->l->src->file, a->l->dst, &o, err);
}

/* Prints the error from the outside in: dataset, attempted action, root cause. */
static void refuse(struct load *l, const char *source, const struct bkt_err *why, int *failed)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    int rc = why->n ? BKT_OK : bkt_buf_add_str(&text, ": can't be opened");
    for (unsigned i = why->n; i-- > 0 && rc == BKT_OK;)
        rc = bkt_buf_addf(&text, ": %s", why->frame[i].msg);
    progress_note(l->progress, "%s: refused%s", source, bkt_buf_str(&text));
    ++*failed;
}

/* A file that doesn't fit is reported and left out; any other error ends the load. */
static int add(struct agg *a, const char *source, int *failed, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int            rc  = agg_add(a, &why);
    if (rc == BKT_EINVAL) {
        refuse(a->l, source, &why, failed);
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

/* Tries sources from *i on until one can be opened, and reports the others. */
static int open_first(struct load *l, char **sources, int n, int *i, int *failed, struct bkt_err *err)
{
    for (; *i < n; ++*i) {
        struct bkt_err why = {.n = 0};
        int            rc  = open_next(l, sources[*i], &why);
        if (rc == BKT_OK)
            return rc;
        if (rc == BKT_ENOMEM || *i + 1 == n) /* none can be opened */
            return bkt_err_copy(err, rc, &why);
        refuse(l, sources[*i], &why, failed);
    }
    BKT_FAIL(err, BKT_EINVAL, "no source");
}

/* Begins to fetch the sources behind number @p i; *upto: the last one requested. */
static void expect(const struct load *l, char **sources, int n, int i, int *upto)
{
    for (*upto = *upto > i ? *upto : i; *upto + 1 < n && *upto < i + (int)l->o->jobs; ++*upto)
        vfd_expect(sources[*upto + 1], l->set);
}

static int add_all(struct agg *a, char **sources, int first, int n, bool is_new, int *failed,
                   struct bkt_err *err)
{
    int before = *failed, upto = first;
    const bool shared = bkt_processes_several() && n - first > 1;
    const int alone = shared ? first + 1 : n; /* sources that this process adds by itself */
    a->l->progress->total = (uint64_t)n * PROGRESS_OBJECT;
    for (int i = first; i < alone; i++) {
        struct bkt_err why = {.n = 0};
        BKT_PASS(interrupt_check(err));
        expect(a->l, sources, alone, i, &upto);
        if (i > first && open_next(a->l, sources[i], &why) < 0) {
            refuse(a->l, sources[i], &why, failed);
            continue;
        }
        BKT_PASS(add(a, sources[i], failed, err));
        if (i == first && *failed > before && is_new)
            BKT_FAIL(err, BKT_EUNSUP, "the first file can't be appended to its own domain; nothing is made");
    }
    if (shared)
        BKT_PASS(agg_shared_add(a, sources, first, n, is_new, refuse, failed, err));
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

/* Makes the domain from the first source that can be opened, or opens the existing domain with the first
 * source that fits. */
static int begin(struct agg *a, struct load *l, char **sources, int n, int *first, bool is_new, int *failed,
                 struct bkt_err *err)
{
    for (;;) {
        struct bkt_err why = {.n = 0};
        BKT_PASS(agg_begin(a, l, l->o->extend, err));
        BKT_PASS(measure_names(a, sources, n, err));
        if (is_new)
            BKT_PASS(make(a, err));
        int rc = agg_open(a, &why);
        if (rc == BKT_OK)
            return is_new ? BKT_OK : agg_begin_append(a, err);
        if (rc != BKT_EINVAL || is_new || *first + 1 == n)
            return bkt_err_copy(err, rc, &why);
        refuse(l, sources[*first], &why, failed);
        agg_fini(a);
        ++*first;
        BKT_PASS(open_first(l, sources, n, first, failed, err));
    }
}

int load_aggregate(struct load *l, char **sources, int n, const char *domain, hid_t fapl, int *failed,
                   struct bkt_err *err)
{
    BKT_CLEANUP(agg_fini) struct agg a      = {.l = l};
    bool                             is_new = true;
    int                              first  = 0;
    int                              rc     = open_first(l, sources, n, &first, failed, err);
    if (rc == BKT_OK)
        rc = load_target(l, domain, fapl, &is_new, err);
    if (rc == BKT_OK)
        rc = begin(&a, l, sources, n, &first, is_new, failed, err);
    if (rc == BKT_OK)
        rc = add_all(&a, sources, first, n, is_new, failed, err);
    agg_fini(&a);
    vfd_expect_nothing();
    return load_end(l, rc, is_new, err);
}
