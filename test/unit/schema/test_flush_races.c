/* Two writers of one domain: what each has changed is there after both have flushed. */
#include "flush_testing.h"

static void different_names_both_win(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id      root = *bkt_domain_root(d);
    (void)get(e, &root);
    (void)get(e, &ds);
    link_it(d, &root, "mine", &ds);
    link_it(e, &root, "yours", &b);
    set_attr(d, &ds, "x", 1, BKT_ATTR_CREATE);
    set_attr(e, &ds, "y", 2, BKT_ATTR_CREATE);
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

static void the_same_name_has_one_winner(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name);
    (void)get(e, &b);
    link_it(d, &b, "n", &a);
    link_it(e, &b, "n", &ds);
    link_it(e, &b, "also", &ds);
    set_attr(d, &b, "v", 1, BKT_ATTR_CREATE);
    set_attr(e, &b, "v", 2, BKT_ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    FAILS(BKT_EEXIST, "'n', 'v'", bkt_domain_flush(e, err));
    const struct bkt_object *o = get(e, &b);
    CHECK(strcmp(bkt_links_find(&o->group.links, "n")->id.text, a.text) == 0, "theirs stays");
    CHECK(bkt_links_find(&o->group.links, "also") && attr_value(o, "v") == 1, "what did not collide is written");
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "and told once");
    close_all(d, e, NULL);
}

/* What somebody else has deleted holds up nothing else, and its changes are told of once. */
static void deleted_by_another(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id      root = *bkt_domain_root(d), g;
    (void)get(d, &ds);
    OK(bkt_edit_unlink(e, &root, "a", err));
    OK(bkt_domain_flush(e, err));
    set_attr(d, &ds, "x", 1, BKT_ATTR_CREATE);
    set_attr(d, &a, "x", 1, BKT_ATTR_CREATE);
    set_attr(d, &b, "y", 2, BKT_ATTR_CREATE);
    g = add_group(d);
    link_it(d, &root, "g", &g);
    FAILS(BKT_ENOENT, "deleted by somebody else", bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d), "told once");
    OK(bkt_domain_flush(d, err));
    CHECK(bkt_links_find(&fresh_look(&root, &f)->group.links, "g"), "the others are stored");
    CHECK(get(f, &g)->kind == BKT_GROUP && attr_value(get(f, &b), "y") == 2, "all of them");
    struct bkt_attr late = int_attr("late", 3);
    FAILS(BKT_ENOENT, "has no", bkt_edit_attr(d, &ds, &late, BKT_ATTR_CREATE, err));
    bkt_attr_fini(&late);
    close_all(d, e, f);
}

/* It may be the last group that has what was moved into it: the links that were there before stay. */
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

/* A store that has nothing any more for a while, as a folder that isn't mounted: that is not taken for deletions. */
static void nothing_is_there_for_a_while(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    (void)get(e, &ds);
    (void)get(e, &b);
    with_faults(e, &(struct bkt_fault){.op = -1, .times = 3, .code = BKT_ENOENT}, 1); /* the look at the document is the second */
    set_attr(e, &ds, "y", 1, BKT_ATTR_CREATE);
    set_attr(e, &b, "y", 1, BKT_ATTR_CREATE);
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
    set_attr(d, &b, "old", 1, BKT_ATTR_CREATE);
    set_attr(d, &b, "keep", 1, BKT_ATTR_CREATE);
    link_it(d, &b, "one", &ds);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    (void)get(e, &b);
    OK(bkt_edit_attr_rename(d, &b, "old", "new", err));
    set_attr(e, &b, "keep", 5, BKT_ATTR_REPLACE);
    OK(bkt_edit_unlink(e, &b, "one", err));
    link_it(e, &b, "one", &a); /* removed and made again: not the same */
    set_attr(d, &b, "keep", 6, BKT_ATTR_REPLACE);
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

static void what_nobody_knows_stays(void)
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
    set_attr(d, &b, "mine", 1, BKT_ATTR_CREATE);
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

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    different_names_both_win();
    the_same_name_has_one_winner();
    deleted_by_another();
    moved_into_what_another_deleted();
    nothing_is_there_for_a_while();
    replaced_and_removed();
    what_nobody_knows_stays();
    domains_end();
    return failures ? 1 : 0;
}
