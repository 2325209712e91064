/* Domains made and changed: the state seen at once, the state stored by a flush, the counts. */
#include "unit/schema/edit/edit_testing.h"
#include "helpers/xorshift.h"


static struct bkt_stats before;
static void             mark(void) { bkt_stats_get(&before); }
static uint64_t         puts_since(void)
{
    struct bkt_stats now;
    bkt_stats_get(&now);
    return now.put - before.put;
}

static int count_keys(const struct bkt_listed *e, void *arg)
{
    (void)e;
    ++*(size_t *)arg;
    return BKT_OK;
}

static size_t stored(struct bkt_domain *d, const char *prefix)
{
    size_t n = 0;
    OK(bkt_store_list(bkt_domain_store(d), prefix, "", count_keys, &n, err));
    return n;
}

static void a_domain_is_made_and_read_again(void)
{
    struct bkt_domain *d    = create("mem:edit1/home/a.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), ds = add_dset(d, 20);
    CHECK(stored(d, "") == 0, "nothing is stored before the first flush");
    link_it(d, &root, "g", &g);
    link_it(d, &g, "data", &ds);
    link_it(d, &root, "same", &ds);
    set_attr(d, &g, "answer", 42, ATTR_CREATE);
    OK(bkt_edit_comment(d, &ds, "h\xc3\xa9llo", err));
    CHECK(count(d, &ds) == 2 && count(d, &g) == 1 && count(d, &root) == 1, "counts");
    CHECK(get(d, &root)->group.links.n == 2 && attr_value(get(d, &g), "answer") == 42, "seen at once");

    struct bkt_domain *same = open_it("mem:edit1/home/a.h5");
    CHECK(same == d, "one domain per process, stored or not");
    bkt_domain_close(same);
    mark();
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 5, "root, group, dataset, folder, document: %d", (int)puts_since());
    CHECK(!bkt_domain_is_dirty(d), "clean");
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 5, "nothing twice");
    bkt_domain_close(d);

    d = open_it("mem:edit1/home/a.h5");
    CHECK(strcmp(bkt_domain_root(d)->text, root.text) == 0, "the same root");
    const struct bkt_object *o = get(d, &ds);
    CHECK(o->kind == BKT_DATASET && o->dset.space.dims[0] == 20 && o->dset.space.maxdims[0] == BKT_UNLIMITED, "dataset");
    CHECK(o->comment && strcmp(o->comment, "h\xc3\xa9llo") == 0, "comment");
    CHECK(attr_value(get(d, &g), "answer") == 42, "attribute");
    CHECK(count(d, &ds) == 2, "counts are found again");
    CHECK(strcmp(bkt_domain_doc(d)->owner, "admin") == 0 && bkt_domain_doc(d)->n_acls == 1, "owner");
    bkt_domain_close(d);
}

static void names_and_order(void)
{
    struct bkt_domain *d    = create("mem:edit2/n.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    static const char *const names[] = {"m", "a", "z", "b", "y", "c"};
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        link_it(d, &root, names[i], &g);
    struct bkt_link twice = hard("z", &g);
    FAILS(BKT_EEXIST, "'z'", bkt_edit_link(d, &root, &twice, err));
    bkt_link_fini(&twice);
    OK(bkt_edit_unlink(d, &root, "z", err));
    FAILS(BKT_ENOENT, "'z'", bkt_edit_unlink(d, &root, "z", err));
    link_it(d, &root, "z", &g);
    for (int pass = 0; pass < 2; pass++) {
        const struct bkt_links  *l         = bkt_links_settle(&get(d, &root)->group.links);
        static const char *const sorted[]  = {"a", "b", "c", "m", "y", "z"};
        static const char *const created[] = {"m", "a", "b", "y", "c", "z"};
        static const uint32_t    numbers[] = {0, 1, 3, 4, 5, 6};
        bool                     stored    = pass > 0; /* no numbers are stored if no order is tracked */
        CHECK(l->n == 6, "six links");
        for (size_t i = 0; i < 6; i++) {
            CHECK(strcmp(l->v[i].name, sorted[i]) == 0, "place %zu by name is %s", i, l->v[i].name);
            CHECK(strcmp(l->v[l->order[i]].name, created[i]) == 0 && l->v[l->order[i]].seq == (stored ? i : numbers[i]), "place %zu is %s", i,
                  l->v[l->order[i]].name);
        }
        OK(bkt_domain_flush(d, err));
        bkt_domain_close(d);
        d = open_it("mem:edit2/n.h5");
    }
    bkt_domain_close(d);
}

/* ---- many ---- */

#define MANY 2000

static uint32_t rnd_state = 12345;
static uint32_t rnd(void) { return xorshift32(&rnd_state); }

static void check_order(const struct bkt_links *l, unsigned mult)
{
    (void)bkt_links_settle(l);
    for (size_t i = 0; i < l->n; i++) {
        char want[32];
        (void)snprintf(want, sizeof want, "n%08x", (unsigned)i * mult);
        const struct bkt_link *x = &l->v[l->order[i]];
        if (strcmp(x->name, want) != 0 || x->seq != i || (i && strcmp(l->v[i - 1].name, l->v[i].name) >= 0)) {
            CHECK(false, "place %zu: %s", i, x->name);
            return;
        }
    }
}

static void each_object_is_written_once(void)
{
    struct bkt_domain *d    = create("mem:edit3/many.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), one = add_group(d);
    link_it(d, &root, "one", &one);
    mark();
    for (unsigned i = 0; i < MANY; i++) {
        char          name[32];
        struct bkt_id g = add_group(d);
        (void)snprintf(name, sizeof name, "n%08x", i * 2654435761U); /* in no order */
        CHECK(!bkt_links_find(&get(d, &one)->group.links, name), "not there yet");
        link_it(d, &one, name, &g);
        set_attr(d, &one, name, i, ATTR_CREATE);
        if (bkt_links_find(&get(d, &one)->group.links, name) == NULL || count(d, &g) != 1)
            CHECK(false, "%s is not found", name);
    }
    check_order(&get(d, &one)->group.links, 2654435761U);
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == MANY + 3, "%d PUTs", (int)puts_since());
    bkt_domain_close(d);

    d                            = open_it("mem:edit3/many.h5");
    const struct bkt_object *o   = get(d, &one);
    const struct bkt_object *all = bkt_object_retain(o);
    CHECK(o->group.links.n == MANY && o->attrs.n == MANY, "all there");
    check_order(&o->group.links, 2654435761U);
    mark();
    for (unsigned i = 0; i < MANY; i += 2) {
        char name[32];
        (void)snprintf(name, sizeof name, "n%08x", i * 2654435761U);
        OK(bkt_edit_attr_delete(d, &one, name, err));
        set_attr(d, &one, name, -2, ATTR_CREATE);
    }
    CHECK(o->attrs.n == MANY && attr_value(o, "n00000000") == -2, "made again");
    (void)bkt_attrs_settle(&o->attrs);
    CHECK(strcmp(o->attrs.v[o->attrs.order[0]].name, "n9e3779b1") == 0, "the others are the first now");
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 1, "one object changed: %d", (int)puts_since());
    bkt_object_release(all);
    bkt_domain_close(d);
}

/* ---- removing ---- */

static void objects_deleted_before_the_flush_are_never_written(void)
{
    struct bkt_domain *d    = create("mem:edit4/r.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), loose = add_group(d), ds = add_dset(d, 3);
    link_it(d, &root, "g", &g);
    link_it(d, &g, "self", &g);
    for (int i = 0; i < 100; i++) {
        struct bkt_id x = add_group(d);
        char          name[16];
        (void)snprintf(name, sizeof name, "x%d", i);
        link_it(d, &g, name, &x);
        OK(bkt_edit_unlink(d, &g, name, err));
        const struct bkt_object *o = NULL;
        CHECK(bkt_domain_get(d, &x, &o, NULL) == BKT_ENOENT, "gone at once");
    }
    const struct bkt_object *held = NULL;
    OK(bkt_domain_get(d, &ds, &held, err));
    mark();
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 3, "root, g, document: %d", (int)puts_since());
    const struct bkt_object *o = NULL;
    CHECK(bkt_domain_get(d, &loose, &o, NULL) == BKT_ENOENT, "nobody held it");
    link_it(d, &root, "late", &ds); /* held without a link, and linked later */
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 5, "it and the root: %d", (int)puts_since());
    bkt_object_release(held);
    bkt_domain_close(d);
}

static void a_tree_goes_with_its_last_link(void)
{
    char path[] = "/tmp/bkt-edit-XXXXXX", name[64];
    CHECK(mkdtemp(path) != NULL, "%s", path);
    (void)snprintf(name, sizeof name, "file://%s/t.h5", path);
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), sub = add_group(d), ds = add_dset(d, 3), two = add_dset(d, 3);
    link_it(d, &root, "g", &g);
    link_it(d, &g, "sub", &sub);
    link_it(d, &sub, "ds", &ds);
    link_it(d, &sub, "two", &two);
    link_it(d, &root, "two", &two);
    OK(bkt_domain_flush(d, err));
    char chunk[128];
    (void)snprintf(chunk, sizeof chunk, "db/%.17s/d/%.18s/0", ds.text + 2, ds.text + 20);
    OK(bkt_store_put(bkt_domain_store(d), chunk, "x", 1, NULL, NULL, NULL, err));
    size_t all = stored(d, "");
    bkt_domain_close(d);

    d                            = open_it(name);
    const struct bkt_object *held = NULL;
    OK(bkt_domain_get(d, &sub, &held, err));
    OK(bkt_edit_unlink(d, &root, "g", err));
    OK(bkt_domain_flush(d, err));
    CHECK(stored(d, "") == all - 1, "only g has gone, as sub is held: %zu of %zu", stored(d, ""), all);
    CHECK(count(d, &two) == 2 && held->group.links.n == 2, "sub lives");
    bkt_object_release(held);
    OK(bkt_domain_flush(d, err)); /* nothing else has changed */
    CHECK(stored(d, "") == all - 4, "sub, ds and its chunk: %zu of %zu", stored(d, ""), all);
    CHECK(count(d, &two) == 1 && count(d, &ds) == 0, "counts");
    OK(bkt_edit_refcount(d, &two, 1, err));
    OK(bkt_edit_unlink(d, &root, "two", err));
    OK(bkt_domain_flush(d, err));
    CHECK(stored(d, "") == all - 4 && get(d, &two)->extra_refs == 1, "kept by its reference count");
    release_all();
    OK(bkt_edit_refcount(d, &two, -1, err));
    OK(bkt_domain_flush(d, err));
    CHECK(stored(d, "") == all - 5, "now it goes");
    bkt_domain_close(d);
    OK(bkt_domain_delete(name, &set, false, err));
    (void)snprintf(name, sizeof name, "rm -r %s", path);
    CHECK(system(name) == 0, "%s", name);
}

static void deep_and_wide(void)
{
    struct bkt_domain *d    = create("mem:edit5/deep.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), top = add_group(d), at = top;
    link_it(d, &root, "top", &top);
    for (unsigned i = 0; i < 5 * MANY; i++) {
        struct bkt_id g = add_group(d);
        link_it(d, &at, "down", &g);
        at = g;
    }
    for (unsigned i = 0; i < 2 * MANY; i++) {
        struct bkt_id g = add_group(d);
        char          name[16];
        (void)snprintf(name, sizeof name, "%x", rnd());
        struct bkt_link l = hard(name, &g);
        if (bkt_edit_link(d, &top, &l, NULL) < 0)
            bkt_link_fini(&l);
    }
    OK(bkt_edit_unlink(d, &root, "top", err));
    OK(bkt_domain_flush(d, err)); /* some were stored already (flush_pressure.c) */
    CHECK(bkt_map_count(d->edits->changes) == 0 && stored(d, "db/") == 1, "only the root is left: %zu", stored(d, "db/"));
    bkt_domain_close(d);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    a_domain_is_made_and_read_again();
    names_and_order();
    each_object_is_written_once();
    objects_deleted_before_the_flush_are_never_written();
    a_tree_goes_with_its_last_link();
    deep_and_wide();
    domains_end();
    return failures ? 1 : 0;
}
