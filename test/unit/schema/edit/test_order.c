/* Numbers in the order of creation: as HDF5 gives them, whatever happens in between, and as they are read
 * again. */
#include "unit/schema/edit/edit_testing.h"
#include "helpers/xorshift.h"


#define SLOTS 12

/* HDF5's result: the number of each name, -1 if it is absent. */
struct expected {
    int64_t number[SLOTS];
    int64_t next;
    size_t  n;
};

static const char *const names[SLOTS] = {"m", "a", "z", "b", "y", "c", "x", "d", "w", "e", "v", "f"};

static uint32_t rnd_state = 4711;
static uint32_t rnd(uint32_t below) { return xorshift32(&rnd_state) % below; }

static void expect_add(struct expected *x, unsigned i) { x->number[i] = x->next++, x->n++; }
static void expect_remove(struct expected *x, unsigned i)
{
    x->number[i] = -1;
    if (--x->n == 0)
        x->next = 0;
}

static struct bkt_id add_tracked(struct bkt_domain *d)
{
    struct bkt_id      id = {{0}};
    struct bkt_object *o  = bkt_object_make(BKT_GROUP);
    o->track_order = o->attr_track_order = 3;
    OK(bkt_edit_add(d, o, &id, err));
    return id;
}

static void compare(struct bkt_domain *d, const struct bkt_id *id, const struct expected *l, const struct expected *a, const char *when)
{
    const struct bkt_object *o     = get(d, id);
    const struct bkt_links  *links = bkt_links_settle(&o->group.links);
    const struct bkt_attrs  *attrs = bkt_attrs_settle(&o->attrs);
    CHECK(links->n == l->n && links->next == l->next, "%s: %zu links, next %u, not %d", when, links->n, links->next, (int)l->next);
    CHECK(attrs->n == a->n && attrs->next == a->next, "%s: %zu attributes, next %u, not %d", when, attrs->n, attrs->next, (int)a->next);
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct bkt_link *x = bkt_links_find(links, names[i]);
        const struct bkt_attr *y = bkt_attrs_find(attrs, names[i]);
        CHECK((x ? (int64_t)x->seq : -1) == l->number[i], "%s: link %s is %d, not %d", when, names[i], x ? (int)x->seq : -1, (int)l->number[i]);
        CHECK((y ? (int64_t)y->seq : -1) == a->number[i], "%s: attribute %s is %d, not %d", when, names[i], y ? (int)y->seq : -1,
              (int)a->number[i]);
    }
    for (size_t i = 1; i < links->n; i++)
        CHECK(links->v[links->order[i - 1]].seq < links->v[links->order[i]].seq, "%s: place %zu", when, i);
}

static void change_link(struct bkt_domain *d, const struct bkt_id *g, struct expected *x)
{
    unsigned i = rnd(SLOTS), k = rnd(4);
    if (x->number[i] < 0) {
        struct bkt_link l = k ? hard(names[i], bkt_domain_root(d))
                              : (struct bkt_link){.name = strdup(names[i]), .cls = BKT_L_USER, .ud_type = 70};
        OK(bkt_edit_link(d, g, &l, err));
        expect_add(x, i);
    } else {
        OK(bkt_edit_unlink(d, g, names[i], err));
        expect_remove(x, i);
    }
}

static void change_attr(struct bkt_domain *d, const struct bkt_id *g, struct expected *x)
{
    unsigned i = rnd(SLOTS), to = rnd(SLOTS);
    if (x->number[i] < 0) {
        set_attr(d, g, names[i], i, ATTR_CREATE);
        expect_add(x, i);
    } else if (x->number[to] < 0) { /* keeps its number */
        OK(bkt_edit_attr_rename(d, g, names[i], names[to], err));
        x->number[to] = x->number[i];
        x->number[i]  = -1;
    } else if (rnd(3) == 0) {
        set_attr(d, g, names[i], 100 + i, ATTR_REPLACE);
    } else {
        OK(bkt_edit_attr_delete(d, g, names[i], err));
        expect_remove(x, i);
    }
}

static void numbers_are_hdf5s(void)
{
    struct bkt_domain *d    = create("mem:order1/a.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_tracked(d);
    struct expected    l    = {.n = 0}, a = {.n = 0};
    memset(l.number, 0xff, sizeof l.number);
    memset(a.number, 0xff, sizeof a.number);
    link_it(d, &root, "g", &g);
    for (unsigned step = 0; step < 2000; step++) {
        char when[32];
        (void)snprintf(when, sizeof when, "step %u", step);
        /* now few, now many */
        if (step % 500 < 30 && l.n && a.n && rnd(2))
            for (unsigned i = 0; i < SLOTS; i++)
                if (l.number[i] >= 0) {
                    OK(bkt_edit_unlink(d, &g, names[i], err));
                    expect_remove(&l, i);
                }
        change_link(d, &g, &l);
        change_attr(d, &g, &a);
        compare(d, &g, &l, &a, when);
        if (rnd(5) == 0)
            OK(bkt_domain_flush(d, err));
        if (rnd(15) == 0) {
            OK(bkt_domain_flush(d, err));
            bkt_domain_close(d);
            d = open_it("mem:order1/a.h5");
            compare(d, &g, &l, &a, when);
        }
        if (failures)
            break;
    }
    bkt_domain_close(d);
}

/* Two writers that meet: stored links keep their numbers, later ones get the next numbers, and both see the
 * same in the end. */
static void writers_meet(void)
{
    struct bkt_domain *d    = create("mem:order2/a.h5", false), *e, *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_tracked(d);
    link_it(d, &root, "g", &g);
    for (unsigned i = 0; i < 4; i++)
        link_it(d, &g, names[i], &root);
    OK(bkt_domain_flush(d, err));
    e = open_other("mem:order2/a.h5");
    (void)get(e, &g);
    OK(bkt_edit_unlink(d, &g, names[1], err)); /* 0 2 3, then 4 */
    link_it(d, &g, names[4], &root);
    OK(bkt_edit_unlink(e, &g, names[3], err)); /* and meanwhile 3 goes, 4 comes here as well */
    link_it(e, &g, names[5], &root);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    f = open_other("mem:order2/a.h5");
    const struct bkt_links *seen[] = {&get(e, &g)->group.links, &get(f, &g)->group.links};
    for (size_t i = 0; i < BKT_COUNT(seen); i++) {
        const struct bkt_links *l      = bkt_links_settle(seen[i]);
        static const uint32_t   want[] = {0, UINT32_MAX, 2, UINT32_MAX, 4, 5};
        CHECK(l->n == 4 && l->next == 6, "%zu links, next %u", l->n, l->next);
        for (size_t k = 0; k < BKT_COUNT(want); k++) {
            const struct bkt_link *x = bkt_links_find(l, names[k]);
            CHECK((x ? x->seq : UINT32_MAX) == want[k], "%zu: %s is %d", i, names[k], x ? (int)x->seq : -1);
        }
    }
    OK(bkt_domain_refresh(d, &g, err));
    CHECK(bkt_links_settle(&get(d, &g)->group.links)->next == 6, "refreshed");
    bkt_domain_close(d);
    bkt_domain_close(e);
    bkt_domain_close(f);
}

/* Numbers that make no sense are ignored; a link without a number follows the one before. */
static void numbers_are_put(void)
{
    int                rc;
    struct bkt_err     err = {.n = 0};
    struct bkt_object *o   = object_of(ROOT_ID,
                                       "'creationProperties': {'CreateOrder': 1}, 'attributes': {}, 'h5nextlink': 3, 'links': {"
                                       "'a': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x', 'created': 1},"
                                       "'b': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x', 'created': 2, 'h5order': 7},"
                                       "'c': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x', 'created': 3, 'h5order': 7},"
                                       "'d': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x', 'created': 4, 'h5order': 99999999999},"
                                       "'e': {'class': 'H5L_TYPE_SOFT', 'h5path': '/x', 'created': 5, 'h5order': 'x'}}",
                                       &rc, &err);
    static const uint32_t want[] = {0, 7, 8, 9, 10};
    CHECK(o != NULL, "%d", rc);
    for (size_t i = 0; o && i < BKT_COUNT(want); i++)
        CHECK(o->group.links.v[i].seq == want[i], "%s is %u", o->group.links.v[i].name, o->group.links.v[i].seq);
    CHECK(o && o->group.links.next == 11, "next");
    bkt_object_free(o);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    numbers_are_hdf5s();
    writers_meet();
    numbers_are_put();
    domains_end();
    return failures ? 1 : 0;
}
