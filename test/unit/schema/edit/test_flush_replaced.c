/* Two writers of one domain: one replaces or deletes what the other replaces, deletes or links. */
#include "unit/schema/edit/flush_testing.h"

static const char *target(struct bkt_domain *d, const struct bkt_id *group, const char *of)
{
    const struct bkt_link *l = bkt_links_find(&get(d, group)->group.links, of);
    return l ? l->id.text : "";
}

/* The link /b/n and the attribute v of /b are stored.  Both writers replace them by others. */
static struct bkt_domain *with_entries(struct bkt_id *a, struct bkt_id *b, struct bkt_id *ds, struct bkt_domain **other)
{
    struct bkt_domain *d = sample(a, b, ds);
    link_it(d, b, "n", ds);
    set_attr(d, b, "v", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    *other = open_other(name);
    (void)get(*other, b);
    return d;
}

static void replace(struct bkt_domain *d, const struct bkt_id *b, const struct bkt_id *to, int64_t v)
{
    unlink_it(d, b, "n");
    link_it(d, b, "n", to);
    OK(bkt_edit_attr_delete(d, b, "v", err));
    set_attr(d, b, "v", v, ATTR_CREATE);
}

static void two_replacements_have_one_winner(void)
{
    struct bkt_id      a, b, ds, mine;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    replace(d, &b, &a, 2);
    mine = add_dset(e, 10);
    replace(e, &b, &mine, 3);
    OK(bkt_domain_flush(d, err));
    for (int i = 0; i < 3; i++)
        FAILS(BKT_EEXIST, "'/b/n', 'attribute v of /b'", bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(strcmp(target(f, &b, "n"), a.text) == 0 && attr_value(get(f, &b), "v") == 2, "theirs stays");
    CHECK(strcmp(target(e, &b, "n"), mine.text) == 0 && attr_value(get(e, &b), "v") == 3, "ours is kept");
    unlink_it(e, &b, "n");
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_domain_flush(e, err));
    CHECK(strcmp(target(e, &b, "n"), a.text) == 0 && attr_value(get(e, &b), "v") == 2, "now theirs is seen");
    unlink_it(e, &b, "n");
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_domain_flush(e, err));
    bkt_domain_close(f);
    (void)fresh_look(&b, &f);
    CHECK(!*target(f, &b, "n") && attr_value(get(f, &b), "v") == -1, "and can be removed");
    close_all(d, e, f);
}

static void equal_replacements_are_one(void)
{
    struct bkt_id      a, b, ds, m[2];
    struct bkt_domain *d[2] = {with_entries(&a, &b, &ds, &d[1])}, *f;
    for (int i = 0; i < 2; i++) {
        m[i] = add_dset(d[i], 10 + (uint64_t)i * 7);
        replace(d[i], &b, &m[i], 5);
    }
    OK(bkt_domain_flush(d[0], err));
    OK(bkt_domain_flush(d[1], err));
    (void)fresh_look(&b, &f);
    CHECK(strcmp(target(f, &b, "n"), m[0].text) == 0 && strcmp(target(d[1], &b, "n"), m[0].text) == 0, "theirs");
    CHECK(get(f, &m[0])->dset.space.dims[0] == 17 && attr_value(get(f, &b), "v") == 5, "with what ours has");
    CHECK(!is_in_store(f, &m[1]), "ours is deleted");
    close_all(d[0], d[1], f);
}

/* The second writer knows nothing of what it would delete. */
static void a_removal_leaves_a_replacement(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    replace(d, &b, &a, 2);
    unlink_it(e, &b, "n");
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    (void)fresh_look(&b, &f);
    CHECK(strcmp(target(f, &b, "n"), a.text) == 0 && attr_value(get(f, &b), "v") == 2, "theirs stays");
    CHECK(strcmp(target(e, &b, "n"), a.text) == 0 && attr_value(get(e, &b), "v") == 2, "and is seen");
    CHECK(count(e, &a) == 2 && count(e, &ds) == 1, "counts: %d, %d", (int)count(e, &a), (int)count(e, &ds));
    close_all(d, e, f);
}

/* An object that a PUT without an answer has stored belongs to this process, also if it is replaced once more. */
static void a_lost_answer_is_not_a_rival(void)
{
    for (int again = 0; again < 2; again++) {
        struct bkt_id          a, b, ds;
        struct bkt_domain     *e, *d = with_entries(&a, &b, &ds, &e), *f;
        const struct bkt_fault lost  = {.op = BKT_PUT, .times = 1, .code = BKT_ETIME, .carry_out = true};
        with_faults(d, &lost, 1);
        replace(d, &b, &a, 2);
        FAILS(BKT_ETIME, "", bkt_domain_flush(d, err));
        if (again)
            replace(d, &b, &ds, 3);
        OK(bkt_domain_flush(d, err));
        (void)fresh_look(&b, &f);
        CHECK(strcmp(target(f, &b, "n"), again ? ds.text : a.text) == 0 && attr_value(get(f, &b), "v") == 2 + again,
              "the last change");
        close_all(d, e, f);
    }
}

/* A link that is moved within a group onto a name that the other writer has replaced keeps its old name. */
static void moved_onto_a_replaced_name(void)
{
    struct bkt_id      a, b, ds, m;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    m = add_group(d);
    link_it(d, &b, "m", &m);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &b, err));
    unlink_it(d, &b, "n");
    link_it(d, &b, "n", &a);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &b, "n");
    link_it(e, &b, "n", &m);
    unlink_it(e, &b, "m");
    FAILS(BKT_EEXIST, "/b/n", bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(strcmp(target(f, &b, "n"), a.text) == 0 && strcmp(target(f, &b, "m"), m.text) == 0, "in reach by its old name");
    close_all(d, e, f);
}

/* The same for attributes. */
static void renamed_onto_a_replaced_name(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    set_attr(d, &b, "m", 7, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &b, err));
    OK(bkt_edit_attr_delete(d, &b, "v", err));
    set_attr(d, &b, "v", 2, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_edit_attr_rename(e, &b, "m", "v", err));
    FAILS(BKT_EEXIST, "attribute v of /b", bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(attr_value(get(f, &b), "v") == 2 && attr_value(get(f, &b), "m") == 7, "stored by its old name");
    close_all(d, e, f);
}

/* Two groups exchange links, by way of another name. */
static void links_are_exchanged(void)
{
    struct bkt_id a, b, ds, m;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    m = add_dset(d, 5);
    link_it(d, &a, "m", &m);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &a, err));
    link_it(e, &a, "t", &m);
    unlink_it(e, &a, "m");
    link_it(e, &a, "m", &ds);
    unlink_it(e, &b, "n");
    link_it(e, &b, "n", &m);
    unlink_it(e, &a, "t");
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    (void)fresh_look(&b, &f);
    CHECK(strcmp(target(f, &b, "n"), m.text) == 0 && strcmp(target(f, &a, "m"), ds.text) == 0, "exchanged");
    close_all(d, e, f);
}

/* One writer removes two links, the other has put the second one's object in the place of the first one's. */
static void a_spared_link_keeps_its_object(void)
{
    struct bkt_id a, b, ds, t, u;
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    t = add_dset(d, 3);
    u = add_dset(d, 4);
    link_it(d, &b, "x", &t);
    link_it(d, &b, "y", &u);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    (void)get(e, &b);
    release_all();
    unlink_it(d, &b, "x");
    link_it(d, &b, "x", &u);
    unlink_it(d, &b, "y");
    unlink_it(e, &b, "x");
    unlink_it(e, &b, "y");
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    const char *to = target(f, &b, "x");
    CHECK(strcmp(to, u.text) == 0 && is_in_store(f, &u), "the link leads to its object");
    close_all(d, e, f);
}

/* A removal met another writer's attribute in a refresh: from then on that attribute is seen and changed. */
static void a_refresh_ends_a_removal(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_edit_attr_delete(d, &b, "v", err));
    set_attr(d, &b, "v", 2, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &b, err));
    CHECK(attr_value(get(e, &b), "v") == 2, "theirs is seen");
    set_attr(e, &b, "v", 9, ATTR_REPLACE);
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(attr_value(get(f, &b), "v") == 9, "and written: %d", (int)attr_value(get(f, &b), "v"));
    close_all(d, e, f);
}

/* Equal entries of both writers are one, which a refresh shows: its removal is stored. */
static void an_equal_entry_is_removed(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    struct bkt_domain *both[] = {d, e};
    for (int i = 0; i < 2; i++) {
        link_it(both[i], &b, "m", &a);
        set_attr(both[i], &b, "w", 5, ATTR_CREATE);
    }
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &b, err));
    unlink_it(e, &b, "m");
    OK(bkt_edit_attr_delete(e, &b, "w", err));
    OK(bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(!*target(f, &b, "m") && attr_value(get(f, &b), "w") == -1, "removed");
    CHECK(count(e, &a) == 1, "%d links", (int)count(e, &a));
    close_all(d, e, f);
}

/* One entry clashes and stays; others of the same object, which were replaced as well, are forgotten. */
static void stored_changes_are_forgotten_beside_a_clash(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *e, *d = with_entries(&a, &b, &ds, &e), *f;
    for (int i = 0; i < 20; i++) {
        char n[16];
        (void)snprintf(n, sizeof n, "w%d", i);
        set_attr(d, &b, n, i, ATTR_CREATE);
        link_it(d, &b, n, &ds);
    }
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_refresh(e, &b, err));
    replace(d, &b, &a, 2);
    OK(bkt_domain_flush(d, err));
    struct bkt_id mine = add_dset(e, 6);
    replace(e, &b, &mine, 3);
    for (int i = 0; i < 20; i++) {
        char n[16];
        (void)snprintf(n, sizeof n, "w%d", i);
        OK(bkt_edit_attr_delete(e, &b, n, err));
        set_attr(e, &b, n, 100 + i, ATTR_CREATE);
        unlink_it(e, &b, n);
        link_it(e, &b, n, &a);
    }
    FAILS(BKT_EEXIST, "/b/n", bkt_domain_flush(e, err));
    (void)fresh_look(&b, &f);
    CHECK(attr_value(get(f, &b), "w7") == 107 && strcmp(target(f, &b, "w7"), a.text) == 0, "stored");
    unlink_it(e, &b, "n");
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "given up");
    close_all(d, e, f);
}

/* The answer to a PUT is lost.  The stored entry is then removed for good. */
static void a_lost_answer_is_removed(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    const struct bkt_fault lost = {.op = BKT_PUT, .times = 1, .code = BKT_ETIME, .carry_out = true};
    with_faults(d, &lost, 1);
    link_it(d, &b, "new", &ds);
    FAILS(BKT_ETIME, "", bkt_domain_flush(d, err));
    unlink_it(d, &b, "new");
    link_it(d, &b, "new", &a);
    unlink_it(d, &b, "new");
    OK(bkt_domain_flush(d, err));
    (void)fresh_look(&b, &f);
    CHECK(!*target(f, &b, "new") && !*target(d, &b, "new"), "gone");
    close_all(d, NULL, f);
}

/* The answer to a PUT is lost.  The stored entry is then changed, or removed and made again. */
static void a_lost_answer_is_changed(void)
{
    for (int made_again = 0; made_again < 2; made_again++)
        for (int refreshed = 0; refreshed < 2; refreshed++) {
            struct bkt_id a, b, ds;
            struct bkt_domain *d = sample(&a, &b, &ds), *f;
            const struct bkt_fault lost = {.op = BKT_PUT, .times = 1, .code = BKT_ETIME, .carry_out = true};
            with_faults(d, &lost, 1);
            link_it(d, &b, "n", &ds);
            set_attr(d, &b, "v", 1, ATTR_CREATE);
            FAILS(BKT_ETIME, "", bkt_domain_flush(d, err));
            if (made_again)
                replace(d, &b, &a, 2);
            else
                set_attr(d, &b, "v", 2, ATTR_REPLACE);
            if (refreshed)
                OK(bkt_domain_refresh(d, &b, err));
            CHECK(attr_value(get(d, &b), "v") == 2, "%d %d: seen here", made_again, refreshed);
            OK(bkt_domain_flush(d, err));
            (void)fresh_look(&b, &f);
            CHECK(strcmp(target(f, &b, "n"), made_again ? a.text : ds.text) == 0 && attr_value(get(f, &b), "v") == 2,
                  "%d %d: the last change, not %d", made_again, refreshed, (int)attr_value(get(f, &b), "v"));
            close_all(d, NULL, f);
        }
}

/* A PUT fails, and another writer makes entries by the same names.  They are not the ones that are taken back. */
static void a_failed_entry_is_taken_back(void)
{
    for (int made_again = 0; made_again < 2; made_again++) {
        struct bkt_id a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
        const struct bkt_fault fails = {.op = BKT_PUT, .times = 1, .code = BKT_ENET};
        with_faults(d, &fails, 1);
        link_it(d, &b, "n", &ds);
        set_attr(d, &b, "v", 1, ATTR_CREATE);
        FAILS(BKT_ENET, "", bkt_domain_flush(d, err));
        link_it(e, &b, "n", &a);
        set_attr(e, &b, "v", 3, ATTR_CREATE);
        OK(bkt_domain_flush(e, err));
        unlink_it(d, &b, "n");
        OK(bkt_edit_attr_delete(d, &b, "v", err));
        if (made_again) {
            link_it(d, &b, "n", &ds);
            set_attr(d, &b, "v", 2, ATTR_CREATE);
            FAILS(BKT_EEXIST, "'/b/n', 'attribute v of /b'", bkt_domain_flush(d, err));
        } else {
            OK(bkt_domain_flush(d, err));
            CHECK(strcmp(target(d, &b, "n"), a.text) == 0 && attr_value(get(d, &b), "v") == 3, "theirs is seen");
        }
        (void)fresh_look(&b, &f);
        CHECK(strcmp(target(f, &b, "n"), a.text) == 0 && attr_value(get(f, &b), "v") == 3, "%d: theirs stays", made_again);
        close_all(d, e, f);
    }
}

/* ---- links to objects that the other writer has deleted ---- */

enum how { WITHIN_A_GROUP, TO_ANOTHER_GROUP, TO_A_NEW_GROUP, ONE_MORE_LINK, HOWS };

static void no_link_leads_to_a_deleted_object(bool early)
{
    for (enum how how = 0; how < HOWS; how++) {
        struct bkt_id      a, b, ds, x, group;
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        x = add_group(d);
        link_it(d, &b, "x", &x);
        OK(bkt_domain_flush(d, err));
        e = open_other(name);
        (void)get(e, &x);
        group = how == WITHIN_A_GROUP ? b : how == TO_A_NEW_GROUP ? add_group(e) : a;
        if (how == TO_A_NEW_GROUP)
            link_it(e, &b, "new", &group);
        link_it(e, &group, "there", &x);
        if (how != ONE_MORE_LINK)
            unlink_it(e, &b, "x");
        set_attr(e, &a, "v", 1, ATTR_CREATE);
        release_all();
        unlink_it(d, &b, "x");
        OK(bkt_domain_flush(d, err));
        CHECK(!is_in_store(d, &x), "deleted");
        if (early)
            OK(bkt_domain_flush_new(e, err)); /* as beside chunks */
        FAILS(BKT_ENOENT, x.text, bkt_domain_flush(e, err));
        OK(bkt_domain_flush(e, err));
        CHECK(!bkt_domain_is_dirty(e) && !*target(e, &group, "there"), "%d: the link is dropped", how);
        (void)fresh_look(&group, &f);
        CHECK(!*target(f, &group, "there") && attr_value(get(f, &a), "v") == 1, "%d: all else is stored", how);
        close_all(d, e, f);
    }
}

/* With one writer nobody else can have deleted anything, and a store that can't say isn't taken for an empty one. */
static void targets_are_asked_for_only_when_needed(void)
{
    for (int one = 0; one < 2; one++) {
        struct bkt_id          a, b, ds;
        struct bkt_domain     *d     = sample(&a, &b, &ds), *e, *f;
        const struct bkt_fault count_them = {.op = BKT_HEAD, .code = BKT_EACCES};
        bkt_domain_close(d);
        free(set.writers);
        set.writers = strdup(one ? "one" : "many");
        e           = open_other(name);
        with_faults(e, &count_them, 1);
        link_it(e, &b, "more", &ds);
        OK(bkt_domain_flush(e, err));
        CHECK(bkt_fault_hits(e->store, 0) == (one ? 0 : 1), "%u requests", bkt_fault_hits(e->store, 0));
        (void)fresh_look(&b, &f);
        CHECK(strcmp(target(f, &b, "more"), ds.text) == 0, "stored");
        close_all(NULL, e, f);
    }
    free(set.writers);
    set.writers = strdup("many");
}

/* An outage leaves open whether the target exists: nothing is stored before that is known. */
static void an_outage_does_not_stand_for_a_target(void)
{
    for (int doc = 0; doc < 2; doc++) {
        struct bkt_id a, b, ds, x;
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        x = add_group(d);
        link_it(d, &b, "x", &x);
        OK(bkt_domain_flush(d, err));
        e = open_other(name);
        (void)get(e, &x);
        link_it(e, &a, "there", &x);
        set_attr(e, &a, "v", 1, ATTR_CREATE);
        release_all();
        unlink_it(d, &b, "x");
        OK(bkt_domain_flush(d, err));
        const struct bkt_fault late = {.op = BKT_HEAD,
                                       .key_part = doc ? ".domain.json" : NULL,
                                       .skip = !doc,
                                       .times = 1,
                                       .code = BKT_ETIME};
        with_faults(e, &late, 1);
        FAILS(BKT_ETIME, "whether the targets of new links still exist", bkt_domain_flush(e, err));
        CHECK(bkt_fault_hits(e->store, 0) == 1 && bkt_domain_is_dirty(e), "%u requests",
              bkt_fault_hits(e->store, 0));
        (void)fresh_look(&a, &f);
        CHECK(!*target(f, &a, "there"), "%d: a link to a deleted object is stored", doc);
        bkt_domain_close(f);
        FAILS(BKT_ENOENT, x.text, bkt_domain_flush(e, err));
        (void)fresh_look(&a, &f);
        CHECK(!*target(f, &a, "there") && attr_value(get(f, &a), "v") == 1, "%d: all else is stored", doc);
        close_all(d, e, f);
    }
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    two_replacements_have_one_winner();
    equal_replacements_are_one();
    a_removal_leaves_a_replacement();
    a_lost_answer_is_not_a_rival();
    moved_onto_a_replaced_name();
    renamed_onto_a_replaced_name();
    links_are_exchanged();
    a_spared_link_keeps_its_object();
    a_refresh_ends_a_removal();
    an_equal_entry_is_removed();
    stored_changes_are_forgotten_beside_a_clash();
    a_lost_answer_is_removed();
    a_lost_answer_is_changed();
    a_failed_entry_is_taken_back();
    no_link_leads_to_a_deleted_object(false);
    no_link_leads_to_a_deleted_object(true);
    targets_are_asked_for_only_when_needed();
    an_outage_does_not_stand_for_a_target();
    domains_end();
    return failures ? 1 : 0;
}
