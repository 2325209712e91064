/* Two writers move two groups into each other: both stay in reach, and the later writer's flush fails. */
#include <pthread.h>
#include <unistd.h>

#include "unit/schema/edit/flush_testing.h"

static bool leads(struct bkt_domain *d, const struct bkt_id *group, const char *of, const struct bkt_id *to)
{
    const struct bkt_link *l = bkt_links_find(&get(d, group)->group.links, of);
    return l && strcmp(l->id.text, to->text) == 0;
}

static void move_it(struct bkt_domain *d, const struct bkt_id *from, const char *name_there,
                    const struct bkt_id *to, const char *as, const struct bkt_id *id)
{
    link_it(d, to, as, id);
    unlink_it(d, from, name_there);
}

static int reach(struct bkt_domain *d, const struct bkt_id *at, struct bkt_map **seen)
{
    const struct bkt_object *o = NULL;
    const struct bkt_link *l;
    if (bkt_map_get(*seen, at->text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(bkt_map_set(seen, at->text, BKT_ID_LEN, d, NULL));
    OK(bkt_domain_get(d, at, &o, err));
    for (size_t i = 0; o && (l = bkt_object_next_hard(o, &i));)
        BKT_PASS(reach(d, &l->id, seen));
    bkt_object_release(o);
    return BKT_OK;
}

/* Objects that a new reader finds from the root. */
static size_t n_in_reach(void)
{
    struct bkt_domain *f = open_other(name);
    struct bkt_map *seen = NULL;
    CHECK(reach(f, bkt_domain_root(f), &seen) == BKT_OK, "no memory");
    size_t n = bkt_map_count(seen);
    bkt_map_free(seen, NULL);
    bkt_domain_close(f);
    return n;
}

/* Groups a and b, each in a group of its own, which both writers have read: /a/a, /b/b; a has a dataset. */
struct two {
    struct bkt_domain *d, *e;
    struct bkt_id root, x, y, a, b, ds;
};

static struct two make_two(void)
{
    struct two t;
    t.d = sample(&t.x, &t.y, &t.ds);
    t.root = *bkt_domain_root(t.d);
    t.a = add_group(t.d);
    t.b = add_group(t.d);
    link_it(t.d, &t.x, "a", &t.a);
    link_it(t.d, &t.y, "b", &t.b);
    link_it(t.d, &t.a, "ds", &t.ds);
    unlink_it(t.d, &t.x, "data");
    OK(bkt_domain_flush(t.d, err));
    t.e = open_other(name);
    const struct bkt_id *all[] = {&t.root, &t.x, &t.y, &t.a, &t.b};
    for (size_t i = 0; i < BKT_COUNT(all); i++)
        (void)get(t.e, all[i]);
    release_all();
    CHECK(n_in_reach() == 6, "all are there: %zu", n_in_reach());
    return t;
}

/* The first writer has done everything before the other one flushes.  Then the later move is void. */
static void one_after_the_other(void)
{
    struct two t = make_two();
    struct bkt_domain *f;
    move_it(t.d, &t.x, "a", &t.b, "a", &t.a);
    move_it(t.e, &t.y, "b", &t.a, "b", &t.b);
    OK(bkt_domain_flush(t.d, err));
    FAILS(BKT_EPRECOND, "'/b/b'", bkt_domain_flush(t.e, err));
    OK(bkt_domain_flush(t.e, err));
    CHECK(!bkt_domain_is_dirty(t.e), "it is reported once");
    CHECK(n_in_reach() == 6, "all are in reach: %zu", n_in_reach());
    CHECK(leads(t.e, &t.y, "b", &t.b) && !leads(t.e, &t.a, "b", &t.b), "the later move is void here");
    (void)fresh_look(&t.y, &f);
    CHECK(leads(f, &t.y, "b", &t.b) && leads(f, &t.b, "a", &t.a) && get(f, &t.a)->group.links.n == 1,
          "and in the store");
    close_all(t.d, t.e, f);
}

/* The two groups lie in one group, whose PUTs meet. */
static void in_one_group(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name);
    struct bkt_id root = *bkt_domain_root(d);
    (void)get(e, &root), (void)get(e, &a), (void)get(e, &b);
    move_it(d, &root, "a", &b, "a", &a);
    move_it(e, &root, "b", &a, "b", &b);
    OK(bkt_domain_flush(d, err));
    FAILS(BKT_EPRECOND, "'/b'", bkt_domain_flush(e, err));
    OK(bkt_domain_flush(e, err));
    CHECK(n_in_reach() == 4, "all are in reach: %zu", n_in_reach());
    CHECK(leads(e, &root, "b", &b), "the later move is void");
    close_all(d, e, NULL);
}

static void *flush_beside(void *d)
{
    FAILS(BKT_EPRECOND, "b'", bkt_domain_flush(d, err));
    return NULL;
}

static void *flush_and_fail(void *d)
{
    FAILS(BKT_ENET, "other writers' moves", bkt_domain_flush(d, err));
    return flush_beside(d);
}

/* The later writer's last PUT waits until the first writer has done everything.
 * @param removed  the group that b has left is deleted, so b has no old place
 * @param cut      1: the look before that PUT fails once, 2: the look after it; 0: none */
static void at_the_same_time(bool removed, unsigned cut)
{
    struct two t = make_two();
    pthread_t thread;
    char key[160];
    struct bkt_fault rules[] = {
        {.op = BKT_PUT, .key_part = key, .hold = 2},
        {.op = BKT_GET, .key_part = t.x.text + 20, .skip = cut == 2, .times = 1, .code = BKT_ENET}};
    (void)snprintf(key, sizeof key, "%.18s%s", removed ? t.root.text + 2 : "",
                   removed ? ".group.json" : t.y.text + 20);
    key[17] = removed ? '/' : key[17];
    move_it(t.d, &t.x, "a", &t.b, "a", &t.a);
    move_it(t.e, &t.y, "b", &t.a, "b", &t.b);
    if (removed)
        unlink_it(t.e, &t.root, "b");
    with_faults(t.e, rules, cut ? 2 : 1);
    CHECK(pthread_create(&thread, NULL, cut ? flush_and_fail : flush_beside, t.e) == 0, "no thread");
    while (bkt_fault_hits(t.e->store, 0) == 0)
        (void)usleep(1000);
    OK(bkt_domain_flush(t.d, err));
    bkt_fault_release(t.e->store);
    CHECK(pthread_join(thread, NULL) == 0, "no end");
    OK(bkt_domain_flush(t.e, err));
    CHECK(n_in_reach() == (removed ? 5 : 6), "all are in reach: %zu", n_in_reach());
    close_all(t.d, t.e, NULL);
}

/* A third writer's move elsewhere stops nothing. */
static void moved_elsewhere(void)
{
    struct two t = make_two();
    move_it(t.d, &t.x, "a", &t.root, "moved", &t.a);
    move_it(t.e, &t.y, "b", &t.a, "b", &t.b);
    OK(bkt_domain_flush(t.d, err));
    OK(bkt_domain_flush(t.e, err));
    CHECK(n_in_reach() == 6, "all are in reach: %zu", n_in_reach());
    close_all(t.d, t.e, NULL);
}

/* A program may move a group into itself: HDF5 lets it. */
static void into_itself(void)
{
    struct two t = make_two();
    move_it(t.e, &t.y, "b", &t.b, "b", &t.b);
    OK(bkt_domain_flush(t.e, err));
    CHECK(n_in_reach() == 5, "it is out of reach: %zu", n_in_reach());
    close_all(t.d, t.e, NULL);
}

/* Three writers: a into b, b into c, c into a. */
static void three_in_a_ring(void)
{
    struct two t = make_two();
    struct bkt_id c = add_group(t.d);
    link_it(t.d, &t.root, "c", &c);
    OK(bkt_domain_flush(t.d, err));
    OK(bkt_domain_refresh(t.e, &t.root, err));
    struct bkt_domain *third = open_other(name);
    const struct bkt_id *all[] = {&t.root, &t.x, &t.y, &t.a, &t.b, &c};
    for (size_t i = 0; i < BKT_COUNT(all); i++)
        (void)get(third, all[i]), (void)get(t.e, all[i]);
    release_all();
    move_it(t.d, &t.x, "a", &t.b, "a", &t.a);
    move_it(t.e, &t.y, "b", &c, "b", &t.b);
    move_it(third, &t.root, "c", &t.a, "c", &c);
    OK(bkt_domain_flush(t.d, err));
    OK(bkt_domain_flush(t.e, err));
    FAILS(BKT_EPRECOND, "'/c'", bkt_domain_flush(third, err));
    CHECK(n_in_reach() == 7, "all are in reach: %zu", n_in_reach());
    close_all(t.d, t.e, third);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    one_after_the_other();
    in_one_group();
    at_the_same_time(false, 0);
    at_the_same_time(true, 0);
    at_the_same_time(false, 1);
    at_the_same_time(false, 2);
    moved_elsewhere();
    into_itself();
    three_in_a_ring();
    release_all();
    domains_end();
    return failures ? 1 : 0;
}
