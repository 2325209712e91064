/* Many new objects without a flush: they go to the store as memory fills, unseen, and each about once. */
#include "edit_testing.h"

#include "fault.h"
#include "pool.h"

enum { PARENTS = 50, EACH = 200 };

static uint64_t puts_sent(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.put;
}

static void many(const char *name, bool fresh)
{
    struct bkt_domain *d    = create(name, false), *f = NULL;
    struct bkt_id      root = *bkt_domain_root(d), last = {{0}};
    uint64_t           most = 0, before, first;
    if (!fresh)
        OK(bkt_domain_flush(d, err));
    before = puts_sent();
    for (int p = 0; p < PARENTS; p++) {
        struct bkt_id parent = add_group(d);
        char          n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        link_it(d, &root, n, &parent);
        for (int i = 0; i < EACH; i++) {
            last = i % 2 ? add_group(d) : add_dset(d, 10);
            (void)snprintf(n, sizeof n, "m%d", i);
            link_it(d, &parent, n, &last);
            set_attr(d, &last, "i", p * EACH + i, BKT_ATTR_CREATE);
            most = bkt_domain_dirty_bytes(d) > most ? bkt_domain_dirty_bytes(d) : most;
        }
    }
    CHECK(most < 2 * set.meta_cache, "%" PRIu64 " bytes of changes", most);
    first = puts_sent() - before;
    CHECK(first > PARENTS * EACH / 2, "%" PRIu64 " objects are stored", first);
    int there = bkt_domain_open(name, &set, &f, NULL);
    CHECK(fresh || there == BKT_OK, "%d", there);
    bkt_domain_close(f);
    f = NULL;
    if (!fresh) {
        f = open_other(name);
        CHECK(get(f, &root)->group.links.n == 0, "nothing leads to them yet");
        bkt_domain_close(f);
    }
    OK(bkt_domain_flush(d, err));
    CHECK(bkt_domain_dirty_bytes(d) == 0 && !bkt_domain_is_dirty(d), "%" PRIu64 " bytes are left", bkt_domain_dirty_bytes(d));
    uint64_t sent = puts_sent() - before;
    CHECK(sent < PARENTS * (EACH + 1) * 11 / 10, "%" PRIu64 " PUTs for %d objects", sent, PARENTS * (EACH + 1));
    f = open_other(name);
    CHECK(get(f, &root)->group.links.n == PARENTS, "%zu groups", get(f, &root)->group.links.n);
    for (int p = 0; p < PARENTS; p++) {
        char n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        const struct bkt_link *l = bkt_links_find(&get(f, &root)->group.links, n);
        struct bkt_id          g = l->id;
        CHECK(get(f, &g)->group.links.n == EACH, "%s has %zu members", n, get(f, &g)->group.links.n);
        for (int i = 0; i < EACH; i += 37) {
            (void)snprintf(n, sizeof n, "m%d", i);
            struct bkt_id m = bkt_links_find(&get(f, &g)->group.links, n)->id;
            CHECK(attr_value(get(f, &m), "i") == p * EACH + i && count(f, &m) == 1, "%s", n);
        }
    }
    bkt_domain_close(f);
    for (int p = 0; p < PARENTS; p += 7) { /* what was let go and comes back is counted once */
        char n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        struct bkt_id g = bkt_links_find(&get(d, &root)->group.links, n)->id, m = bkt_links_find(&get(d, &g)->group.links, "m5")->id;
        CHECK(count(d, &g) == 1 && count(d, &m) == 1 && get(d, &g)->group.links.n == EACH, "%s counts %d", n, (int)count(d, &m));
    }
    /* what was stored early is as good as new: it can be removed again */
    const struct bkt_link *l = bkt_links_find(&get(d, &root)->group.links, "p7");
    struct bkt_id          g = l->id;
    OK(bkt_edit_unlink(d, &root, "p7", err));
    OK(bkt_domain_flush(d, err));
    f                        = open_other(name);
    const struct bkt_object *o = NULL;
    CHECK(bkt_domain_get(f, &g, &o, NULL) == BKT_ENOENT, "removed");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* A group with so many members, each with an attribute. */
static void fill(struct bkt_domain *d, const struct bkt_id *g, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct bkt_id m = add_group(d);
        char          n[20];
        (void)snprintf(n, sizeof n, "m%d", i);
        link_it(d, g, n, &m);
        set_attr(d, &m, "i", i, BKT_ATTR_CREATE);
    }
}

static void all_there(const char *name, const struct bkt_id *g, int n)
{
    struct bkt_domain *f = open_other(name);
    CHECK(get(f, g)->group.links.n == (size_t)n, "%zu members of %d", get(f, g)->group.links.n, n);
    for (int i = 0; i < n; i++) {
        char member[20];
        (void)snprintf(member, sizeof member, "m%d", i);
        const struct bkt_link *l = bkt_links_find(&get(f, g)->group.links, member);
        CHECK(l && attr_value(get(f, &l->id), "i") == i, "%s", member);
    }
    bkt_domain_close(f);
}

/* A store that is away for a while, with every answer lost or nothing carried out: all is kept, nothing is there twice, and
 * what can be stored again goes there. */
static void store_away(const char *name, bool carry_out)
{
    struct bkt_domain *d    = create(name, false);
    struct bkt_store  *st   = NULL;
    unsigned           told = 0;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    link_it(d, &root, "g", &g);
    OK(bkt_domain_flush(d, err));
    struct bkt_fault away = {.op = BKT_PUT, .times = 4000, .code = BKT_ENET, .carry_out = carry_out};
    OK(bkt_fault_open(d->store, &away, 1, &st, err));
    d->store = st;
    fill(d, &g, 0, 2000);
    CHECK(bkt_fault_hits(st, 0) > 0 && bkt_domain_dirty_bytes(d) > 2 * set.meta_cache, "kept: %" PRIu64, bkt_domain_dirty_bytes(d));
    while (told < 100 && bkt_domain_flush(d, NULL) == BKT_ENET)
        told++;
    CHECK(told > 0 && told < 100 && bkt_fault_hits(st, 0) == 4000, "%u flushes fail", told);
    fill(d, &g, 2000, 2500);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 2500);
    uint64_t before = puts_sent(), most = 0;
    for (int i = 2500; i < 6000; i++) {
        fill(d, &g, i, i + 1);
        most = bkt_domain_dirty_bytes(d) > most ? bkt_domain_dirty_bytes(d) : most;
    }
    CHECK(most < 2 * set.meta_cache && puts_sent() - before > 1000, "within bounds again: %" PRIu64, most);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 6000);
    bkt_domain_close(d);
}

/* What a group links that itself isn't linked yet is no less wanted, also when all links of the domain are counted anew. */
static void members_of_a_held_group(void)
{
    const char        *name = "mem:spill5/x.h5";
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d), old = add_group(d);
    link_it(d, &root, "old", &old);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    d                            = open_it(name);
    const struct bkt_object *held = NULL;
    struct bkt_id            g    = add_group(d);
    OK(bkt_domain_get(d, &g, &held, err));
    fill(d, &g, 0, 1000);
    OK(bkt_edit_unlink(d, &root, "old", err)); /* counts */
    OK(bkt_domain_flush(d, err));
    CHECK(get(d, &g)->group.links.n == 1000, "%zu", get(d, &g)->group.links.n);
    link_it(d, &root, "g", &g);
    bkt_object_release(held);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 1000);
    bkt_domain_close(d);
}

int main(void)
{
    OK(bkt_settings_init(&set, "meta_cache=1M", err));
    members_of_a_held_group();
    store_away("mem:spill3/x.h5", false);
    store_away("mem:spill4/x.h5", true);
    many("mem:spill1/x.h5", true);
    many("mem:spill2/x.h5", false);
    bkt_domain_shutdown();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
    return failures ? 1 : 0;
}
