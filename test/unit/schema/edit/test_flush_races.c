/* Two writers of one domain: the changes of both are there after both have flushed. */
#include "unit/schema/edit/flush_testing.h"

static void different_names_both_win(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id      root = *bkt_domain_root(d);
    (void)get(e, &root);
    (void)get(e, &ds);
    link_it(d, &root, "mine", &ds);
    link_it(e, &root, "yours", &b);
    set_attr(d, &ds, "x", 1, ATTR_CREATE);
    set_attr(e, &ds, "y", 2, ATTR_CREATE);
    OK(bkt_edit_extent(d, &ds, (uint64_t[]){30}, err));
    OK(bkt_edit_extent(e, &ds, (uint64_t[]){25}, err));
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    const struct bkt_object *o = get(e, &root), *p = get(e, &ds);
    CHECK(o->group.links.n == 4 && bkt_links_find(&o->group.links, "mine"), "e sees both without being asked to");
    CHECK(attr_value(p, "x") == 1 && attr_value(p, "y") == 2 && p->dset.space.dims[0] == 30, "attributes and extent");
    CHECK(count(e, &ds) == 2, "counted: %d", (int)count(e, &ds));
    CHECK(get(d, &root)->group.links.n == 3, "d has not looked");
    OK(bkt_domain_refresh(d, &root, err));
    CHECK(get(d, &root)->group.links.n == 4 && bkt_links_find(&get(d, &root)->group.links, "yours"), "now it has");
    o = fresh_look(&root, &f);
    CHECK(o->group.links.n == 4, "%zu links stored", o->group.links.n);
    CHECK(fresh_look(&ds, &f)->dset.space.dims[0] == 30, "the larger extent");
    close_all(d, e, f);
}

/* Every flush of the later writer fails, until its change is taken back. */
static void the_same_name_has_one_winner(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    (void)get(e, &b);
    link_it(d, &b, "n", &a);
    link_it(e, &b, "n", &ds);
    link_it(e, &b, "also", &ds);
    set_attr(d, &b, "v", 1, ATTR_CREATE);
    set_attr(e, &b, "v", 2, ATTR_CREATE);
    set_attr(e, &b, "w", 3, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    for (int i = 0; i < 3; i++)
        FAILS(BKT_EEXIST, "'/b/n', 'attribute v of /b'", bkt_domain_flush(e, err));
    const struct bkt_object *o = fresh_look(&b, &f);
    CHECK(strcmp(bkt_links_find(&o->group.links, "n")->id.text, a.text) == 0 && attr_value(o, "v") == 1,
          "theirs stays");
    CHECK(bkt_links_find(&o->group.links, "also") && attr_value(o, "w") == 3,
          "what did not collide is written");
    o = get(e, &b);
    CHECK(strcmp(bkt_links_find(&o->group.links, "n")->id.text, ds.text) == 0 && attr_value(o, "v") == 2,
          "ours is kept");
    CHECK(count(e, &ds) == 3 && count(e, &a) == 1, "links are counted as they are here: %d, %d",
          (int)count(e, &ds), (int)count(e, &a));
    unlink_it(e, &b, "n");
    FAILS(BKT_EEXIST, "attribute v of /b", bkt_domain_flush(e, err));
    OK(bkt_edit_attr_delete(e, &b, "v", err));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "given up");
    o = get(e, &b);
    CHECK(strcmp(bkt_links_find(&o->group.links, "n")->id.text, a.text) == 0 && attr_value(o, "v") == 1,
          "now theirs is seen");
    CHECK(count(e, &ds) == 2 && count(e, &a) == 2, "and counted: %d, %d", (int)count(e, &ds),
          (int)count(e, &a));
    bkt_domain_close(f);
    o = fresh_look(&b, &f);
    CHECK(strcmp(bkt_links_find(&o->group.links, "n")->id.text, a.text) == 0 && attr_value(o, "v") == 1,
          "and stays");
    close_all(d, e, f);
}

/* The other writer may give its object up as well; or ours gets another name. */
static void a_name_becomes_free(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    link_it(d, &b, "n", &a);
    link_it(d, &b, "m", &a);
    set_attr(d, &b, "v", 1, ATTR_CREATE);
    link_it(e, &b, "n", &ds);
    link_it(e, &b, "m", &ds);
    set_attr(e, &b, "v", 2, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    FAILS(BKT_EEXIST, "/b/n", bkt_domain_flush(e, err));
    unlink_it(d, &b, "n");
    OK(bkt_domain_flush(d, err));
    link_it(e, &b, "other", &ds);
    unlink_it(e, &b, "m");
    OK(bkt_edit_attr_rename(e, &b, "v", "mine", err));
    OK(bkt_domain_flush(e, err));
    const struct bkt_links *l = &fresh_look(&b, &f)->group.links;
    CHECK(strcmp(bkt_links_find(l, "n")->id.text, ds.text) == 0 &&
              strcmp(bkt_links_find(l, "other")->id.text, ds.text) == 0,
          "ours");
    CHECK(strcmp(bkt_links_find(l, "m")->id.text, a.text) == 0, "theirs");
    CHECK(attr_value(get(f, &b), "v") == 1 && attr_value(get(f, &b), "mine") == 2, "both");
    close_all(d, e, f);
}

/* Both made a group with the same members, a dataset, an attribute and a soft link, and each something of its
 * own. */
static void equal_things_are_one(void)
{
    struct bkt_id a, b, ds, g[2], m[2], own[2];
    struct bkt_domain *d[2] = {sample(&a, &b, &ds)}, *f;
    d[1] = open_other(name);
    for (int i = 0; i < 2; i++) {
        struct bkt_link soft = {.name = strdup("soft"), .cls = BKT_L_SOFT, .path = strdup("/a/data")};
        g[i] = add_group(d[i]);
        link_it(d[i], &b, "g", &g[i]);
        m[i] = add_dset(d[i], 10 + (uint64_t)i * 7);
        link_it(d[i], &g[i], "m", &m[i]);
        OK(bkt_edit_link(d[i], &g[i], &soft, err));
        set_attr(d[i], &g[i], "same", 5, ATTR_CREATE);
        set_attr(d[i], &m[i], "same", 6, ATTR_CREATE);
        set_attr(d[i], &m[i], i ? "second" : "first", i, ATTR_CREATE);
        own[i] = add_group(d[i]);
        link_it(d[i], &g[i], i ? "second" : "first", &own[i]);
        if (i) /* another link to the same */
            link_it(d[i], &a, "again", &m[i]);
    }
    const struct bkt_object *held = NULL;
    OK(bkt_domain_get(d[1], &m[1], &held, err));
    OK(bkt_domain_flush(d[0], err));
    OK(bkt_domain_flush(d[1], err));
    CHECK(strcmp(held->id.text, m[0].text) == 0 && held->dset.space.dims[0] == 17,
          "it is theirs, with %d elements", (int)held->dset.space.dims[0]);
    CHECK(!bkt_domain_is_dirty(d[1]), "all is stored");
    CHECK(strcmp(get(d[1], &m[1])->id.text, m[0].text) == 0 && get(d[1], &m[1]) == held,
          "the old id still finds it");
    CHECK(!is_in_store(d[1], &m[1]) && !is_in_store(d[1], &g[1]) && is_in_store(d[1], &own[1]),
          "ours is deleted");
    CHECK(count(d[1], &m[0]) == 2 && count(d[1], &g[0]) == 1 && count(d[1], &own[0]) == 1 &&
              count(d[1], &own[1]) == 1,
          "counts %d %d", (int)count(d[1], &m[0]), (int)count(d[1], &g[0]));
    const struct bkt_object *o = fresh_look(&g[0], &f);
    CHECK(o->group.links.n == 4 && attr_value(o, "same") == 5, "%zu links", o->group.links.n);
    CHECK(strcmp(bkt_links_find(&o->group.links, "second")->id.text, own[1].text) == 0, "its own");
    o = get(f, &m[0]);
    CHECK(o->dset.space.dims[0] == 17 && attr_value(o, "same") == 6 && attr_value(o, "first") == 0 &&
              attr_value(o, "second") == 1,
          "the dataset has all");
    CHECK(strcmp(bkt_links_find(&get(f, &a)->group.links, "again")->id.text, m[0].text) == 0,
          "the other link leads there, too");
    bkt_object_release(held);
    close_all(d[0], d[1], f);
}

/* A dataset of another type, space or filter is not the same. */
static void unequal_things_are_not(void)
{
    for (int what = 0; what < 4; what++) {
        struct bkt_id a, b, ds, m[2];
        struct bkt_domain *d[2] = {sample(&a, &b, &ds)}, *f;
        d[1] = open_other(name);
        for (int i = 0; i < 2; i++) {
            m[i] = what == 3 && i ? add_group(d[i]) : add_dset(d[i], 10);
            struct bkt_object *o = bkt_edit_new_object(d[i], &m[i]);
            if (i && what == 0)
                o->dset.type->size = 8;
            if (i && what == 1)
                o->dset.space.maxdims[0] = 10;
            if (i && what == 2)
                o->dset.layout.dims[0] = o->dset.layout.user_dims[0] = 5;
            link_it(d[i], &b, "m", &m[i]);
        }
        OK(bkt_domain_flush(d[0], err));
        FAILS(BKT_EEXIST, "/b/m", bkt_domain_flush(d[1], err));
        FAILS(BKT_EEXIST, "/b/m", bkt_domain_flush(d[1], err));
        CHECK(strcmp(bkt_links_find(&fresh_look(&b, &f)->group.links, "m")->id.text, m[0].text) == 0,
              "theirs stays");
        unlink_it(d[1], &b, "m");
        OK(bkt_domain_flush(d[1], err));
        CHECK(!is_in_store(d[1], &m[1]), "what was given up is deleted");
        close_all(d[0], d[1], f);
    }
}

/* An object moved to a name that another writer has taken stays where it was. */
static void moved_to_a_taken_name(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    link_it(d, &b, "n", &a);
    OK(bkt_domain_flush(d, err));
    link_it(e, &b, "n", &ds);
    unlink_it(e, &a, "data");
    FAILS(BKT_EEXIST, "/b/n", bkt_domain_flush(e, err));
    CHECK(bkt_links_find(&fresh_look(&a, &f)->group.links, "data"), "its old link is stored");
    link_it(e, &b, "free", &ds);
    unlink_it(e, &b, "n");
    OK(bkt_domain_flush(e, err));
    bkt_domain_close(f);
    CHECK(!bkt_links_find(&fresh_look(&a, &f)->group.links, "data"), "until it has a new one");
    close_all(d, e, f);
}

/* The same within one group, which gains and loses by one PUT. */
static void renamed_to_a_taken_name(void)
{
    for (int how = 0; how < 2; how++) {
        struct bkt_id a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
        link_it(d, &a, "n", &b);
        OK(bkt_domain_flush(d, err));
        link_it(e, &a, "n", &ds);
        unlink_it(e, &a, "data");
        if (how) /* the old name is another's by now */
            link_it(e, &a, "data", &b);
        for (int i = 0; i < 2; i++) {
            FAILS(BKT_EEXIST, "/a/n", bkt_domain_flush(e, err));
            const struct bkt_link *l = bkt_links_find(&fresh_look(&a, &f)->group.links, "data");
            CHECK(l && strcmp(l->id.text, ds.text) == 0, "%d: its old link is stored", how);
            bkt_domain_close(f);
        }
        link_it(e, &a, "free", &ds);
        unlink_it(e, &a, "n");
        OK(bkt_domain_flush(e, err));
        const struct bkt_links *l = &fresh_look(&a, &f)->group.links;
        CHECK(bkt_links_find(l, "free") && (bkt_links_find(l, "data") != NULL) == how, "%d: until it has a new one", how);
        close_all(d, e, f);
    }
}

/* An object that is refused holds up only links and objects that depend on it. */
static void one_object_is_refused(void)
{
    for (int fresh = 0; fresh < 2; fresh++) {
        struct bkt_id a, b, ds, g, bad, good;
        struct bkt_domain *d = sample(&a, &b, &ds), *f;
        if (fresh) {
            bkt_domain_close(d);
            (void)snprintf(name, sizeof name, "mem:flush%u/y.h5", ++serial);
            d = create(name, false);
            a = b = *bkt_domain_root(d);
        }
        g = add_group(d);
        bad = add_dset(d, 10);
        good = add_dset(d, 10);
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        CHECK(bkt_id_key(&bad, &key) == BKT_OK, "no key");
        with_faults(
            d,
            &(struct bkt_fault){.op = BKT_PUT, .key_part = bkt_buf_str(&key), .times = 2, .code = BKT_EACCES},
            1);
        link_it(d, &a, "g", &g);
        link_it(d, &g, "bad", &bad);
        link_it(d, &g, "good", &good);
        link_it(d, &b, "bad too", &bad);
        set_attr(d, &b, "x", 1, ATTR_CREATE);
        for (int i = 0; i < 2; i++)
            FAILS(BKT_EACCES, "/bad", bkt_domain_flush(d, err));
        CHECK(bkt_domain_is_dirty(d), "kept");
        const struct bkt_links *l = &fresh_look(&g, &f)->group.links;
        CHECK(l->n == 1 && bkt_links_find(l, "good") && get(f, &good),
              "the other one is there, and no link to nothing");
        CHECK(attr_value(get(f, &b), "x") == 1 && !bkt_links_find(&get(f, &b)->group.links, "bad too"),
              "and all else");
        bkt_domain_close(f);
        OK(bkt_domain_flush(d, err));
        CHECK(!bkt_domain_is_dirty(d), "stored in the end");
        CHECK(fresh_look(&g, &f)->group.links.n == 2 && get(f, &bad), "all of it");
        CHECK(bkt_links_find(&get(f, &b)->group.links, "bad too"), "also the other link");
        close_all(d, NULL, f);
    }
}

/* An object that another writer has deleted holds up nothing else, and its changes are reported once. */
static void deleted_by_another(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id      root = *bkt_domain_root(d), g;
    (void)get(d, &ds);
    OK(bkt_edit_unlink(e, &root, "a", err));
    OK(bkt_domain_flush(e, err));
    set_attr(d, &ds, "x", 1, ATTR_CREATE);
    set_attr(d, &a, "x", 1, ATTR_CREATE);
    set_attr(d, &b, "y", 2, ATTR_CREATE);
    g = add_group(d);
    link_it(d, &root, "g", &g);
    FAILS(BKT_ENOENT, "deleted by another writer", bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d), "reported once");
    OK(bkt_domain_flush(d, err));
    CHECK(bkt_links_find(&fresh_look(&root, &f)->group.links, "g"), "the others are stored");
    CHECK(get(f, &g)->kind == BKT_GROUP && attr_value(get(f, &b), "y") == 2, "all of them");
    struct bkt_attr late = int_attr("late", 3);
    FAILS(BKT_ENOENT, "has no", bkt_edit_attr(d, &ds, &late, err));
    bkt_attr_fini(&late);
    close_all(d, e, f);
}

/* It may be the last group that has the moved object: its earlier links stay. */
static void moved_into_what_another_deleted(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id      root = *bkt_domain_root(d);
    (void)get(d, &b);
    OK(bkt_edit_unlink(e, &root, "b", err));
    OK(bkt_domain_flush(e, err));
    link_it(d, &b, "data", &ds);
    OK(bkt_edit_unlink(d, &a, "data", err));
    FAILS(BKT_ENOENT, "can't be written", bkt_domain_flush(d, err));
    CHECK(bkt_domain_is_dirty(d), "kept");
    CHECK(bkt_links_find(&fresh_look(&a, &f)->group.links, "data"), "it is where it was");
    close_all(d, e, f);
}

/* A store that is empty for a while, as a folder that isn't mounted: that is not mistaken for deletions. */
static void nothing_is_there_for_a_while(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    (void)get(e, &ds);
    (void)get(e, &b);
    with_faults(e, &(struct bkt_fault){.op = -1, .times = 5, .code = BKT_ENOENT},
                1); /* of each of two the look at the document is the second */
    set_attr(e, &ds, "y", 1, ATTR_CREATE);
    set_attr(e, &b, "y", 1, ATTR_CREATE);
    FAILS(BKT_ENOENT, "can't be written", bkt_domain_flush(e, err));
    FAILS(BKT_ENOENT, "can't be written", bkt_domain_flush(e, err)); /* the document is there again, but so is the object */
    CHECK(bkt_domain_is_dirty(e), "nothing is given up");
    OK(bkt_domain_flush(e, err));
    CHECK(attr_value(fresh_look(&ds, &f), "y") == 1 && attr_value(get(f, &b), "y") == 1, "it is stored in the end");
    close_all(d, e, f);
}

static void replaced_and_removed(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    set_attr(d, &b, "old", 1, ATTR_CREATE);
    set_attr(d, &b, "keep", 1, ATTR_CREATE);
    link_it(d, &b, "one", &ds);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    (void)get(e, &b);
    OK(bkt_edit_attr_rename(d, &b, "old", "new", err));
    set_attr(e, &b, "keep", 5, ATTR_REPLACE);
    OK(bkt_edit_unlink(e, &b, "one", err));
    link_it(e, &b, "one", &a); /* removed and made again: not the same */
    set_attr(d, &b, "keep", 6, ATTR_REPLACE);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    const struct bkt_object *o = fresh_look(&b, &f);
    CHECK(attr_value(o, "new") == 1 && !bkt_attrs_find(&o->attrs, "old") && attr_value(o, "keep") == 5, "the last one holds");
    CHECK(strcmp(bkt_links_find(&o->group.links, "one")->id.text, a.text) == 0, "replaced");
    OK(bkt_edit_attr_delete(e, &b, "new", err));
    FAILS(BKT_ENOENT, "'new'", bkt_edit_attr_delete(e, &b, "new", err));
    OK(bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(f, &b, err));
    CHECK(!bkt_attrs_find(&get(f, &b)->attrs, "new"), "deleted");
    close_all(d, e, f);
}

static void unknown_objects_stay(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d   = sample(&a, &b, &ds), *f;
    struct bkt_buf     key = {0}, text = {0};
    char              *json = json_of("'strange': {'n': NaN, 'big': 123456789012345678901234567890, 't': '\\udcff'}, 'links'");
    if (bkt_id_key(&b, &key) < 0)
        abort();
    OK(bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, &text, err));
    const char *at    = strstr(bkt_buf_str(&text), "\"links\"");
    char       *whole = NULL;
    if (!at || asprintf(&whole, "%.*s%s%s", (int)(at - bkt_buf_str(&text)), bkt_buf_str(&text), json, at + 7) < 0)
        abort();
    OK(bkt_store_put(d->store, bkt_buf_str(&key), whole, strlen(whole), NULL, NULL, NULL, err));
    set_attr(d, &b, "mine", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    bkt_buf_clear(&text);
    OK(bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, &text, err));
    json[strlen(json) - 9] = 0;
    CHECK(strstr(bkt_buf_str(&text), json), "%s lacks %s", bkt_buf_str(&text), json);
    CHECK(attr_value(fresh_look(&b, &f), "mine") == 1, "and ours");
    free(json);
    free(whole);
    bkt_buf_fini(&key);
    bkt_buf_fini(&text);
    close_all(d, NULL, f);
}

static void stored_text(struct bkt_domain *d, const struct bkt_id *id, const struct bkt_buf *put, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    CHECK(bkt_id_key(id, &key) == BKT_OK, "no key");
    if (put)
        OK(bkt_store_put(d->store, bkt_buf_str(&key), put->ptr, put->len, NULL, NULL, NULL, err));
    bkt_buf_clear(out);
    OK(bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, out, err));
}

/* A value that is set replaces the stored value alone, whatever its form, as long as the attribute is the
 * same one.  One that another writer made again, of another type, is replaced as a whole. */
static void a_value_is_replaced_alone(void)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0}, other = {0};
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    set_attr(d, &b, "v", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    stored_text(d, &b, NULL, &text);
    const char *at = strstr(bkt_buf_str(&text), "\"value\": 1");
    CHECK(at, "%s", bkt_buf_str(&text));
    if (!at || bkt_buf_addf(&other, "%.*s\"value\": \"BwAAAAAAAAA=\", \"encoding\": \"base64\", \"note\": \"kept\"%s",
                            (int)(at - bkt_buf_str(&text)), bkt_buf_str(&text), at + 10) < 0)
        abort();
    stored_text(d, &b, &other, &text);
    e = open_other(name);
    CHECK(attr_value(get(e, &b), "v") == 7, "as it was changed: %d", (int)attr_value(get(e, &b), "v"));
    set_attr(e, &b, "v", 8, ATTR_REPLACE);
    OK(bkt_domain_flush(e, err));
    stored_text(e, &b, NULL, &text);
    CHECK(strstr(bkt_buf_str(&text), "\"value\": 8, \"note\": \"kept\""), "%s", bkt_buf_str(&text));
    CHECK(!strstr(bkt_buf_str(&text), "base64"), "%s", bkt_buf_str(&text));

    f = open_other(name);
    struct bkt_attr small = int_attr("v", 5);
    small.type->size = 4;
    OK(bkt_edit_attr_delete(f, &b, "v", err));
    CHECK(bkt_buf_resize(&small.value, 4) == BKT_OK, "no memory");
    OK(bkt_edit_attr(f, &b, &small, err));
    OK(bkt_domain_flush(f, err));
    set_attr(e, &b, "v", 9, ATTR_REPLACE);
    OK(bkt_domain_flush(e, err));
    bkt_domain_close(f);
    CHECK(attr_value(fresh_look(&b, &f), "v") == 9, "type and value are ours again");
    close_all(d, e, f);
}

/* Another writer may replace an attribute's type and keep its time: HSDS does so when it replaces one. */
static void narrow_type(struct bkt_domain *d, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0}, other = {0};
    stored_text(d, id, NULL, &text);
    char *v = strstr(bkt_buf_str(&text), "\"v\"");
    char *type = v ? strstr(v, "H5T_STD_I64LE") : NULL;
    CHECK(type, "%s", bkt_buf_str(&text));
    if (!type || bkt_buf_addf(&other, "%.*sH5T_STD_I32LE%s", (int)(type - bkt_buf_str(&text)),
                              bkt_buf_str(&text), type + 13) < 0)
        abort();
    stored_text(d, id, &other, &text);
}

static void a_value_for_another_type(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    set_attr(d, &b, "v", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    for (int again = 0; again < 2; again++) {
        e = open_other(name);
        CHECK(attr_value(get(e, &b), "v") == (again ? 1LL << 40 : 1), "it is there");
        narrow_type(d, &b);
        set_attr(e, &b, "v", 1LL << 40, ATTR_REPLACE);
        if (again)
            OK(bkt_domain_refresh(e, &b, err));
        CHECK(attr_value(get(e, &b), "v") == 1LL << 40, "ours is seen");
        OK(bkt_domain_flush(e, err));
        const struct bkt_attr *v = bkt_attrs_find(&fresh_look(&b, &f)->attrs, "v");
        CHECK(v && !v->bad && v->type->size == 8 && attr_value(get(f, &b), "v") == 1LL << 40,
              "%s: type and value are ours", again ? "refreshed" : "flushed");
        bkt_domain_close(f);
        bkt_domain_close(e);
    }
    bkt_domain_close(d);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    different_names_both_win();
    the_same_name_has_one_winner();
    a_name_becomes_free();
    equal_things_are_one();
    unequal_things_are_not();
    moved_to_a_taken_name();
    renamed_to_a_taken_name();
    one_object_is_refused();
    deleted_by_another();
    moved_into_what_another_deleted();
    nothing_is_there_for_a_while();
    replaced_and_removed();
    unknown_objects_stay();
    a_value_is_replaced_alone();
    a_value_for_another_type();
    domains_end();
    return failures ? 1 : 0;
}
