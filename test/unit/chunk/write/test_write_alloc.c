/* Memory that runs out, at every allocation of a session of writing in turn.  Nothing crashes, hangs or leaks
 * (a sanitizer checks).  A call that returned BKT_OK has been carried out; a failed call has done nothing by
 * half.  With memory again the next flush stores everything.  Jansson's own allocations are counted, too. */
#include <stdatomic.h>

#include <jansson.h>

#include "schema/domain/domain_impl.h"
#include "chunk/dataset/dataset.h"
#include "schema/edit/edit.h"
#include "base/os/pool.h"
#include "helpers/sanitizer.h"
#include "unit/chunk/write/write_testing.h"

static atomic_long countdown; /* 0: never fails */
static atomic_long more;      /* so many after that fail as well */

static bool fails(void)
{
    long was = atomic_load(&countdown);
    while (was > 0 && !atomic_compare_exchange_weak(&countdown, &was, was == 1 ? -1 : was - 1))
        ;
    return was == 1 || (was == -1 && atomic_fetch_sub(&more, 1) > 0);
}
#include "helpers/failing_alloc.h"

enum { ROWS = 8, COLS = 12, A = 2000, B = 3000 };
static const uint64_t whole[] = {ROWS, COLS}, less[] = {5, 7};

struct session {
    struct world   w;
    struct model   m;
    struct bkt_id  id, root, old;
    int            write_a, attr, link, unlink, write_b, resize, read;
    bool           read_right;
};

/* ---- before ---- */

static void begin(struct session *s, const char *name, const char *filters)
{
    uint64_t cdims[] = {3, 5};
    memset(s, 0, sizeof *s);
    s->m = (struct model){.n = 3, .rank = 2, .dims = {ROWS, COLS}};
    world_open(&s->w, name, "");
    model_make(&s->w, &s->m, cdims, filters, *filters);
    s->id             = world_id(3);
    s->root           = *bkt_domain_root(s->w.dom);
    struct bkt_err err = {0};
    struct bkt_link l = {.name = strdup("old"), .cls = BKT_L_HARD}, d = {.name = strdup("d"), .cls = BKT_L_HARD, .id = s->id};
    CHECK(bkt_edit_add(s->w.dom, bkt_object_make(BKT_GROUP), &s->old, &err) == BKT_OK, "%s", story(&err));
    l.id = s->old;
    CHECK(bkt_edit_link(s->w.dom, &s->root, &l, &err) == BKT_OK && bkt_edit_link(s->w.dom, &s->root, &d, &err) == BKT_OK, "%s", story(&err));
    struct bkt_dsetio *io  = open_io(&s->w, 3);
    struct bkt_sel     all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {ROWS, COLS}, .n_elems = (uint64_t)ROWS * COLS};
    CHECK(model_write(&s->m, io, &all, 1000, &err) == BKT_OK && bkt_chunks_flush(s->w.dom, &err) == BKT_OK &&
              bkt_domain_flush(s->w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_dsetio_close(io);
    bkt_chunks_forget_stored(s->w.dom);
}

/* ---- while memory is short ---- */

static int write_block(struct bkt_dsetio *io, uint64_t from, uint64_t rows, int32_t base)
{
    int32_t          v[ROWS * COLS];
    struct bkt_sel   sel = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {io->ds->space.dims[0], io->ds->space.dims[1]}, .start = {from, 1},
                            .stride = {1, 1}, .count = {1, 1}, .block = {rows, 4}, .n_elems = rows * 4};
    struct bkt_write wr  = {.io = io, .file = &sel, .src = v};
    for (uint64_t i = 0; i < rows * 4; i++)
        v[i] = base + (int32_t)((from + i / 4) * COLS + 1 + i % 4);
    return bkt_write_datasets(&wr, 1, NULL);
}

static int set_attr(struct session *s)
{
    struct bkt_attr a = {.name = strdup("x"), .type = calloc(1, sizeof *a.type), .space = {.cls = BKT_S_SCALAR}, .has_value = true};
    unsigned char   v[8] = {42};
    int             rc   = a.name && a.type && bkt_buf_add(&a.value, v, 8) == BKT_OK ? BKT_OK : BKT_ENOMEM;
    if (a.type)
        *a.type = (struct bkt_type){.cls = BKT_T_INTEGER, .size = 8, .is_signed = true};
    if (rc == BKT_OK)
        rc = bkt_edit_attr(s->w.dom, &s->id, &a, NULL);
    if (rc < 0) {
        free(a.name);
        free(a.type);
        bkt_buf_fini(&a.value);
    }
    return rc;
}

static int add_group(struct session *s)
{
    struct bkt_object *o = bkt_object_make(BKT_GROUP);
    struct bkt_link    l = {.cls = BKT_L_HARD};
    int                rc = o ? bkt_edit_add(s->w.dom, o, &l.id, NULL) : BKT_ENOMEM;
    if (rc < 0 || !(l.name = strdup("g")))
        return BKT_ENOMEM;
    rc = bkt_edit_link(s->w.dom, &s->root, &l, NULL);
    free(l.name); /* NULL when it was taken */
    return rc;
}

static bool may_be(int32_t got, uint64_t i, uint64_t j, const struct session *s, bool cut)
{
    int32_t at = (int32_t)(i * COLS + j);
    bool    a = i < 6 && j >= 1 && j < 5, b = i >= 4 && i < 6 && j >= 1 && j < 5;
    if (cut && (i >= less[0] || j >= less[1]))
        return got == WORLD_FILL;
    if (b && s->write_b == BKT_OK)
        return got == B + at;
    if (b && got == B + at)
        return true;
    if (a && s->write_a == BKT_OK)
        return got == A + at;
    return got == 1000 + at || (a && got == A + at);
}

static bool read_all(const struct session *s, struct bkt_dsetio *io, int *rc)
{
    int32_t         v[ROWS * COLS];
    const uint64_t *d   = io->ds->space.dims;
    struct bkt_sel  all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {d[0], d[1]}, .n_elems = d[0] * d[1]};
    struct bkt_read r   = {.io = io, .file = &all, .dst = v};
    bool            ok  = true;
    *rc                 = bkt_read_datasets(&r, 1, NULL);
    for (uint64_t i = 0; *rc == BKT_OK && i < d[0]; i++)
        for (uint64_t j = 0; j < d[1]; j++)
            ok = ok && may_be(v[i * d[1] + j], i, j, s, false);
    bkt_read_fini(&r);
    return ok;
}

static int flush(struct bkt_domain *dom, struct bkt_err *err)
{
    int rc = bkt_chunks_trim(dom, err);
    if (rc == BKT_OK)
        rc = bkt_chunks_flush(dom, err);
    return rc == BKT_OK ? bkt_domain_flush(dom, err) : rc;
}

static void run(struct session *s)
{
    const struct bkt_object *o  = NULL;
    struct bkt_dsetio       *io = NULL;
    s->write_a = s->attr = s->link = s->unlink = s->write_b = s->resize = s->read = BKT_ENOMEM;
    if (bkt_domain_get(s->w.dom, &s->id, &o, NULL) < 0)
        return;
    int opened = bkt_dsetio_open(s->w.dom, o, NULL, &io, NULL);
    bkt_object_release(o);
    if (opened < 0)
        return;
    s->write_a    = write_block(io, 0, 6, A);
    s->attr       = set_attr(s);
    s->link       = add_group(s);
    s->unlink     = bkt_edit_unlink(s->w.dom, &s->root, "old", NULL);
    (void)flush(s->w.dom, NULL);
    s->write_b    = write_block(io, 4, 2, B);
    s->read_right = read_all(s, io, &s->read);
    s->resize     = bkt_chunks_resize(io, less, NULL);
    (void)flush(s->w.dom, NULL);
    bkt_dsetio_close(io);
}

/* ---- after ---- */

static void look(struct session *s, const char *name, long n)
{
    static uint64_t          differs;
    struct bkt_err           err  = {0};
    struct world             v    = {0};
    char                    *path = text("mem:%s/d.h5", name);
    const struct bkt_object *root = NULL, *g = NULL;
    int                      rc;
    if (bkt_settings_init(&v.set, "", &err) < 0)
        abort();
    v.set.max_object -= ++differs;
    CHECK(bkt_domain_open(path, &v.set, &v.dom, &err) == BKT_OK && bkt_domain_get(v.dom, &s->root, &root, &err) == BKT_OK, "%ld: %s", n,
          story(&err));
    struct bkt_dsetio *io = open_io(&v, 3);
    const uint64_t    *d  = io->ds->space.dims;
    CHECK(memcmp(d, s->resize == BKT_OK ? less : whole, sizeof whole) == 0, "%ld: resize said %d, and it is %d x %d", n, s->resize, (int)d[0],
          (int)d[1]);
    CHECK(read_all(s, io, &rc) && rc == BKT_OK, "%ld: values (%d %d %d)", n, rc, s->write_a, s->write_b);
    CHECK(s->attr < 0 || bkt_attrs_find(&io->obj->attrs, "x"), "%ld: attribute", n);
    const struct bkt_link *l = bkt_links_find(&root->group.links, "g");
    CHECK(l ? bkt_domain_get(v.dom, &l->id, &g, &err) == BKT_OK : s->link < 0, "%ld: link", n);
    bkt_object_release(g);
    CHECK(s->unlink < 0 || !bkt_links_find(&root->group.links, "old"), "%ld: unlinked", n);
    g = NULL;
    CHECK(!bkt_links_find(&root->group.links, "old") || bkt_domain_get(v.dom, &s->old, &g, &err) == BKT_OK, "%ld: a link to nothing", n);
    bkt_object_release(g);
    bkt_object_release(root);
    CHECK(bkt_chunks_resize(io, less, &err) == BKT_OK && bkt_chunks_resize(io, whole, &err) == BKT_OK, "%ld: %s", n, story(&err));
    int32_t         all[ROWS * COLS];
    struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {ROWS, COLS}, .n_elems = (uint64_t)ROWS * COLS};
    struct bkt_read r   = {.io = io, .file = &sel, .dst = all};
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "%ld: %s", n, story(&err));
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < COLS; j++)
            CHECK(may_be(all[i * COLS + j], i, j, s, true), "%ld: cut off, and seen again: %d", n, all[i * COLS + j]);
    bkt_read_fini(&r);
    bkt_dsetio_close(io);
    bkt_domain_close(v.dom);
    bkt_settings_fini(&v.set);
    free(path);
}

/* Whether there were as many allocations. */
static bool one(long n, long then, const char *filters)
{
    struct session s;
    struct bkt_err err  = {0};
    char          *name = text("alloc-%zu-%ld-%ld", strlen(filters), n, then);
    begin(&s, name, filters);
    atomic_store(&more, then);
    atomic_store(&countdown, n);
    run(&s);
    bool reached = atomic_exchange(&countdown, 0) == -1;
    atomic_store(&more, 0);
    CHECK(s.read < 0 || s.read_right, "%ld: values read in between", n);
    int rc = flush(s.w.dom, &err);
    CHECK(rc == BKT_OK, "%ld: with memory again: %d %s", n, rc, story(&err));
    look(&s, name, n);
    world_close(&s.w);
    free(s.m.v);
    free(name);
    return reached;
}

int main(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    static const char *const filters[] = {"", SHUFFLE_GZIP};
    for (int i = 0; i < 4; i++) { /* one that fails; many in a row */
        long n = 1;
        while (n < 20000 && one(n, i < 2 ? 0 : n % 40, filters[i % 2]))
            n += FEWER(1, 11);
        CHECK(n > 100 && n < 20000, "%ld allocations", n);
        printf("%ld allocations\n", n);
    }
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
