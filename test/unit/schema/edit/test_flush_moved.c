/* Objects that are moved or removed while another writer takes their new names: none gets out of reach. */
#include <time.h>

#include "schema/domain/object_cache.h"
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

static void replace_it(struct bkt_domain *d, const struct bkt_id *group, const char *of,
                       const struct bkt_id *id)
{
    unlink_it(d, group, of);
    link_it(d, group, of, id);
}

/* sample(), with the links /b/n and /b/m to datasets, and another writer that has read all of it. */
static struct bkt_domain *with_two(struct bkt_id *a, struct bkt_id *b, struct bkt_id *ds,
                                   struct bkt_id two[2], struct bkt_domain **other)
{
    struct bkt_domain *d = sample(a, b, ds);
    for (int i = 0; i < 2; i++) {
        two[i] = add_dset(d, 3);
        link_it(d, b, i ? "m" : "n", &two[i]);
    }
    OK(bkt_domain_flush(d, err));
    *other = open_other(name);
    (void)get(*other, bkt_domain_root(d)), (void)get(*other, a), (void)get(*other, b);
    release_all();
    return d;
}

/* The new name is in another group, in the place of a link that the other writer has replaced. */
static void moved_to_another_group(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    replace_it(d, &b, "n", &a);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &b, "n");
    move_it(e, &a, "data", &b, "n", &ds);
    for (int i = 0; i < 2; i++) {
        FAILS(BKT_EEXIST, "'/b/n'", bkt_domain_flush(e, err));
        (void)fresh_look(&a, &f);
        CHECK(leads(f, &a, "data", &ds) && leads(f, &b, "n", &a), "%d: it is where it was", i);
        bkt_domain_close(f);
    }
    move_it(e, &b, "n", &b, "free", &ds);
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    (void)fresh_look(&b, &f);
    CHECK(leads(f, &b, "free", &ds) && get(f, &a)->group.links.n == 0, "moved in the end");
    close_all(d, e, f);
}

/* The place of one moved object is the new place of the next one. */
static void a_chain_of_moves(bool within)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id from = within ? b : a;
    const char *as = within ? "o" : "data";
    if (within) {
        link_it(d, &b, "o", &ds);
        unlink_it(d, &a, "data");
        OK(bkt_domain_flush(d, err));
        OK(bkt_domain_refresh(e, &b, err));
    }
    link_it(d, &b, "taken", &a);
    OK(bkt_domain_flush(d, err));
    move_it(e, &b, "n", &b, "taken", &two[0]);
    move_it(e, &b, "m", &b, "n", &two[1]);
    move_it(e, &from, as, &b, "m", &ds);
    FAILS(BKT_EEXIST, "'/b/taken'", bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(leads(f, &b, "n", &two[0]) && leads(f, &b, "m", &two[1]) && leads(f, &from, as, &ds),
          "all are in reach");
    bkt_domain_close(f);
    unlink_it(d, &b, "taken");
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    (void)fresh_look(&b, &f);
    CHECK(leads(f, &b, "taken", &two[0]) && leads(f, &b, "n", &two[1]) && leads(f, &b, "m", &ds) &&
              !bkt_links_find(&get(f, &from)->group.links, as),
          "moved in the end");
    close_all(d, e, f);
}

/* The new group's own name is taken; a name of a group that stays, or of one that is deleted later. */
static void moved_into_a_new_group(bool replaced)
{
    struct bkt_id a, b, ds, two[2], g;
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    g = add_group(e);
    if (replaced)
        replace_it(d, &b, "n", &two[1]);
    else
        link_it(d, &b, "new", &two[1]);
    OK(bkt_domain_flush(d, err));
    if (replaced)
        unlink_it(e, &b, "n");
    link_it(e, &b, replaced ? "n" : "new", &g);
    move_it(e, &a, "data", &g, "data", &ds);
    for (int i = 0; i < 2; i++) {
        FAILS(BKT_EEXIST, replaced ? "'/b/n'" : "'/b/new'", bkt_domain_flush(e, err));
        (void)fresh_look(&a, &f);
        CHECK(leads(f, &a, "data", &ds), "%d: it is where it was", i);
        bkt_domain_close(f);
    }
    close_all(d, e, NULL);
}

/* The new group was made without a link before the domain itself was stored. */
static void moved_into_a_group_without_a_link(void)
{
    (void)snprintf(name, sizeof name, "mem:flush%u/x.h5", ++serial);
    struct bkt_domain *d, *e = create(name, false), *f;
    struct bkt_id root = *bkt_domain_root(e), ds = add_dset(e, 3), g = add_group(e);
    (void)get(e, &g);
    link_it(e, &root, "data", &ds);
    OK(bkt_domain_flush(e, err));
    d = open_other(name);
    link_it(d, &root, "new", &ds);
    OK(bkt_domain_flush(d, err));
    link_it(e, &root, "new", &g);
    link_it(e, &g, "data", &ds);
    OK(bkt_edit_unlink(e, &root, "data", err));
    FAILS(BKT_EEXIST, "'/new'", bkt_domain_flush(e, err));
    (void)fresh_look(&root, &f);
    CHECK(leads(f, &root, "data", &ds), "it is where it was");
    close_all(d, e, f);
}

static void moved_out_of_a_removed_group(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id root = *bkt_domain_root(d);
    link_it(d, &b, "taken", &two[0]);
    OK(bkt_domain_flush(d, err));
    move_it(e, &a, "data", &b, "taken", &ds);
    unlink_it(e, &root, "a");
    FAILS(BKT_EEXIST, "'/b/taken'", bkt_domain_flush(e, err));
    (void)fresh_look(&root, &f);
    CHECK(leads(f, &root, "a", &a) && leads(f, &a, "data", &ds), "it is where it was");
    bkt_domain_close(f);
    move_it(e, &b, "taken", &b, "free", &ds);
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    (void)fresh_look(&root, &f);
    CHECK(leads(f, &b, "free", &ds) && !bkt_links_find(&get(f, &root)->group.links, "a"), "moved in the end");
    close_all(d, e, f);
}

/* The group that has the colliding link is removed. */
static void a_clash_is_removed_with_its_group(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id root = *bkt_domain_root(d);
    link_it(d, &b, "x", &ds);
    OK(bkt_domain_flush(d, err));
    link_it(e, &b, "x", &a);
    FAILS(BKT_EEXIST, "'/b/x'", bkt_domain_flush(e, err));
    unlink_it(e, &root, "b");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&root, &f);
    CHECK(get(f, &root)->group.links.n == 1 && leads(f, &a, "data", &ds), "gone");
    close_all(d, e, f);
}

/* Ours hides the other writer's link, and is given up: that link keeps its object. */
static void a_hidden_link_keeps_its_object(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id x = add_dset(e, 5);
    link_it(e, &b, "x", &x);
    OK(bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(d, &b, err));
    link_it(d, &a, "x", &x);
    OK(bkt_domain_flush(d, err));
    link_it(e, &a, "x", &ds);
    FAILS(BKT_EEXIST, "'/a/x'", bkt_domain_flush(e, err));
    unlink_it(e, &b, "x");
    unlink_it(e, &a, "x");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&a, &f);
    CHECK(leads(f, &a, "x", &x) && is_in_store(f, &x), "the link leads to its object");
    close_all(d, e, f);
}

/* This writer has made the object, and never counted the domain's links. */
static void ours_is_linked_by_another(bool read)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id x = add_dset(e, 5);
    link_it(e, &b, "x", &x);
    OK(bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(d, &b, err));
    link_it(d, &a, "x", &x);
    OK(bkt_domain_flush(d, err));
    if (read)
        (void)get(e, &a);
    unlink_it(e, &b, "x");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&a, &f);
    CHECK(leads(f, &a, "x", &x) && is_in_store(f, &x), "the link leads to its object");
    close_all(d, e, f);
}

/* A removed group stays, since the other writer has linked it: with all links that it had. */
static void a_kept_group_keeps_its_members(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id root = *bkt_domain_root(d);
    link_it(d, &a, "again", &b);
    OK(bkt_domain_flush(d, err));
    CHECK(count(e, &two[0]) == 1, "counted");
    unlink_it(e, &b, "n");
    unlink_it(e, &root, "b");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(leads(f, &a, "again", &b) && leads(f, &b, "n", &two[0]) && leads(f, &b, "m", &two[1]), "linked");
    CHECK(is_in_store(f, &two[0]) && is_in_store(f, &two[1]), "all are there");
    close_all(d, e, f);
}

/* So do objects that were made by the writer that removed the group, and that have another link. */
static void a_kept_group_is_counted_again(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id root = *bkt_domain_root(d), own = add_dset(e, 4);
    link_it(e, &a, "own", &own);
    link_it(e, &b, "own", &own);
    OK(bkt_domain_flush(e, err));
    CHECK(count(e, &b) == 1, "counted");
    OK(bkt_domain_refresh(d, &a, err));
    link_it(d, &a, "again", &b);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &root, "b");
    OK(bkt_domain_flush(e, err));
    CHECK(count(e, &own) == 2, "%d links", (int)count(e, &own));
    unlink_it(e, &a, "own");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(leads(f, &b, "own", &own) && is_in_store(f, &own), "the link leads to its object");
    close_all(d, e, f);
}

/* A group that was evicted and read again has a link of the other writer's, which wasn't counted. */
static void a_group_is_read_again(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e), *f;
    struct bkt_id root = *bkt_domain_root(d);
    CHECK(count(e, &ds) == 1, "counted");
    link_it(d, &b, "too", &ds);
    OK(bkt_domain_flush(d, err));
    bkt_objects_drop(e->objects, &b, false);
    link_it(e, &root, "ds", &ds);
    unlink_it(e, &root, "b");
    unlink_it(e, &a, "data");
    CHECK(count(e, &ds) == 1, "one is left: %d", (int)count(e, &ds));
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&root, &f);
    CHECK(leads(f, &root, "ds", &ds) && is_in_store(f, &ds), "it is there");
    close_all(d, e, f);
}

/* The other writer has changed a group whose members this writer has made; it was evicted and read again. */
static void members_of_an_evicted_group_are_removed(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id root = *bkt_domain_root(d), own = add_dset(e, 4), kept = add_dset(e, 4);
    CHECK(count(e, &ds) == 1, "counted");
    link_it(e, &b, "own", &own);
    link_it(e, &b, "kept", &kept);
    link_it(e, &a, "kept", &kept);
    OK(bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(d, &b, err));
    OK(bkt_edit_comment(d, &b, "theirs", err));
    OK(bkt_domain_flush(d, err));
    release_all();
    bkt_objects_drop(e->objects, &b, false);
    unlink_it(e, &root, "b");
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&root, &f);
    CHECK(!is_in_store(f, &b) && !is_in_store(f, &own) && is_in_store(f, &kept), "no orphan is left");
    close_all(d, e, f);
}

/* ---- objects that the other writer has deleted ---- */

/* Also one that this writer has made, in an earlier flush. */
static void our_object_is_deleted(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id x = add_dset(e, 5);
    link_it(e, &b, "x", &x);
    OK(bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(d, &b, err));
    unlink_it(d, &b, "x");
    OK(bkt_domain_flush(d, err));
    link_it(e, &a, "x", &x);
    FAILS(BKT_ENOENT, x.text, bkt_domain_flush(e, err));
    (void)fresh_look(&a, &f);
    CHECK(!bkt_links_find(&get(f, &a)->group.links, "x"), "no link leads to nothing");
    close_all(d, e, f);
}

/* A collision is reported first. */
static void a_deleted_object_beside_a_clash(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e);
    link_it(e, &a, "n", &two[0]);
    link_it(e, &a, "x", &b);
    unlink_it(d, &b, "n");
    link_it(d, &a, "x", &ds);
    OK(bkt_domain_flush(d, err));
    FAILS(BKT_EEXIST, "'/a/x'", bkt_domain_flush(e, err));
    unlink_it(e, &a, "x");
    FAILS(BKT_ENOENT, two[0].text, bkt_domain_flush(e, err));
    OK(bkt_domain_flush(e, err));
    close_all(d, e, NULL);
}

/* The group in which a link had to wait is deleted: its changes are reported once. */
static void a_group_with_a_waiting_link_is_deleted(void)
{
    struct bkt_id a, b, ds, two[2];
    struct bkt_domain *e, *d = with_two(&a, &b, &ds, two, &e);
    struct bkt_id root = *bkt_domain_root(d);
    link_it(d, &b, "taken", &b);
    OK(bkt_domain_flush(d, err));
    move_it(e, &a, "data", &b, "taken", &ds);
    FAILS(BKT_EEXIST, "'/b/taken'", bkt_domain_flush(e, err));
    link_it(d, &root, "ds", &ds);
    unlink_it(d, &root, "a");
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &b, "taken");
    FAILS(BKT_ENOENT, a.text, bkt_domain_flush(e, err));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "reported once");
    close_all(d, e, NULL);
}

/* ---- many groups ---- */

/* Processor seconds of a flush that replaces N_MANY groups in each of @p n groups. */
static double time_of_replacing(int n)
{
    enum { N_MANY = 2000 };
    struct bkt_id in[2], ds, g;
    struct bkt_domain *d = sample(&in[0], &in[1], &ds);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < N_MANY * n; i++) {
            char as[16];
            (void)snprintf(as, sizeof as, "g%d", i);
            g = add_group(d);
            if (again)
                unlink_it(d, &in[i % n], as);
            link_it(d, &in[i % n], as, &g);
        }
        release_all();
        if (!again)
            OK(bkt_domain_flush(d, err));
    }
    clock_t from = clock();
    OK(bkt_domain_flush(d, err));
    double took = (double)(clock() - from) / CLOCKS_PER_SEC;
    bkt_domain_close(d);
    return took;
}

/* Whether a link waits must not take a look at all changes, for each link. */
static void many_groups_are_replaced(void)
{
    double one = time_of_replacing(1), two = time_of_replacing(2);
    CHECK(two < 8 * one, "twice as many take %.3f s instead of %.3f s", two, one);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    moved_to_another_group();
    a_chain_of_moves(false);
    a_chain_of_moves(true);
    moved_into_a_new_group(false);
    moved_into_a_new_group(true);
    moved_into_a_group_without_a_link();
    moved_out_of_a_removed_group();
    a_clash_is_removed_with_its_group();
    a_hidden_link_keeps_its_object();
    ours_is_linked_by_another(false);
    ours_is_linked_by_another(true);
    a_kept_group_keeps_its_members();
    a_kept_group_is_counted_again();
    a_group_is_read_again();
    members_of_an_evicted_group_are_removed();
    our_object_is_deleted();
    a_deleted_object_beside_a_clash();
    a_group_with_a_waiting_link_is_deleted();
    many_groups_are_replaced();
    release_all();
    domains_end();
    return failures ? 1 : 0;
}
