/* Domains made and changed: what one sees at once, what is stored after a flush, what is counted. */
#include "edit_testing.h"

#include "pool.h"

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
    set_attr(d, &g, "answer", 42, BKT_ATTR_CREATE);
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
        CHECK(l->n == 6, "six links");
        for (size_t i = 0; i < 6; i++) {
            CHECK(strcmp(l->v[i].name, sorted[i]) == 0, "place %zu by name is %s", i, l->v[i].name);
            CHECK(strcmp(l->v[l->order[i]].name, created[i]) == 0 && l->v[l->order[i]].seq == i, "place %zu is %s", i,
                  l->v[l->order[i]].name);
        }
        OK(bkt_domain_flush(d, err));
        bkt_domain_close(d);
        d = open_it("mem:edit2/n.h5");
    }
    bkt_domain_close(d);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    a_domain_is_made_and_read_again();
    names_and_order();
    bkt_domain_shutdown();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
    return failures ? 1 : 0;
}
