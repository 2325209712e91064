/* Two writers of one domain: what each has changed is there after both have flushed. */
#include "flush_testing.h"
#include "objects.h"
#include "store_impl.h"

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

/* ---- what one removes and the other has linked ---- */

static bool is_there(struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_object *o  = NULL;
    int                      rc = bkt_domain_get(d, id, &o, NULL);
    if (rc == BKT_OK)
        bkt_object_release(o);
    return rc == BKT_OK;
}

/* As others see it. */
static bool is_stored(const struct bkt_id *id)
{
    struct bkt_domain *f  = open_other(name);
    bool               is = is_there(f, id);
    bkt_domain_close(f);
    return is;
}

static void unlink_it(struct bkt_domain *d, const struct bkt_id *group, const char *of)
{
    let_go();
    OK(bkt_edit_unlink(d, group, of, err));
}

/* Another who has the domain open, and has counted the links, one to this object. */
static struct bkt_domain *counted(const struct bkt_id *id)
{
    struct bkt_domain *e = open_other(name);
    CHECK(count(e, id) == 1, "%d links", (int)count(e, id));
    return e;
}

/* e counts the links, then d makes one more. */
static void linked_meanwhile(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
    link_it(d, &b, "too", &ds);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &a, "data");
    OK(bkt_domain_flush(e, err));
    CHECK(is_stored(&ds), "the other's link leads to it");
    CHECK(is_there(e, &ds) && !bkt_domain_is_dirty(e), "here, too");
    OK(bkt_domain_refresh(e, &b, err));
    unlink_it(e, &b, "too");
    OK(bkt_domain_flush(e, err));
    CHECK(!is_stored(&ds) && is_stored(&b), "that was the last one");
    close_all(d, e, NULL);
}

/* By d, before e removes the link that there was: into a new group, and into the root. */
static void moved_meanwhile(void)
{
    for (int how = 0; how < 2; how++) {
        struct bkt_id      a, b, ds, to;
        struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
        struct bkt_id      root = *bkt_domain_root(d);
        to = how ? root : add_group(d);
        if (!how)
            link_it(d, &root, "new", &to);
        link_it(d, &to, "moved", &ds);
        unlink_it(d, &a, "data");
        OK(bkt_domain_flush(d, err));
        unlink_it(e, &a, "data");
        OK(bkt_domain_flush(e, err));
        CHECK(is_stored(&ds) && is_stored(&to), "%d: it is where it was moved to", how);
        close_all(d, e, NULL);
    }
}

/* A group stays with all that is in it; what else was removed goes. */
static void a_tree_linked_meanwhile(void)
{
    struct bkt_id      a, b, ds, in, deep, other;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    struct bkt_id      root = *bkt_domain_root(d);
    in    = add_group(d);
    deep  = add_dset(d, 3);
    other = add_dset(d, 3);
    link_it(d, &a, "in", &in);
    link_it(d, &in, "deep", &deep);
    link_it(d, &root, "other", &other);
    let_go();
    OK(bkt_domain_flush(d, err));
    e = counted(&deep);
    link_it(d, &b, "a, too", &a);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &root, "a");
    unlink_it(e, &root, "other");
    OK(bkt_domain_flush(e, err));
    CHECK(is_stored(&a) && is_stored(&ds) && is_stored(&in) && is_stored(&deep), "all of it");
    CHECK(!is_stored(&other), "but for what nobody wants");
    close_all(d, e, NULL);
}

/* The other's version of a group has the link that goes: that is none that anybody made since. */
static void changed_meanwhile(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
    link_it(d, &a, "b", &b);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &a, "data");
    OK(bkt_domain_flush(e, err));
    CHECK(!is_stored(&ds) && is_stored(&b), "nothing leads to it");
    close_all(d, e, NULL);
}

/* A version that was read anew and changed here since the links were counted: its links are looked at all the same. */
static void read_anew(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
    link_it(d, &b, "too", &ds);
    OK(bkt_domain_flush(d, err));
    let_go();
    bkt_objects_drop(e->objects, &b, false); /* as if others had needed its place in the cache */
    link_it(e, &b, "mine", &a);
    OK(bkt_domain_flush(e, err));
    unlink_it(e, &a, "data");
    OK(bkt_domain_flush(e, err));
    CHECK(is_stored(&ds), "the other's link leads to it");
    close_all(d, e, NULL);
}

/* The link comes here before the flush that deletes: by a group that is read anew, and in a new group of that. */
static void seen_meanwhile(void)
{
    for (int how = 0; how < 2; how++) {
        struct bkt_id      a, b, ds, to;
        struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
        struct bkt_id      root = *bkt_domain_root(d);
        unlink_it(e, &a, "data");
        to = how ? add_group(d) : b;
        if (how)
            link_it(d, &root, "new", &to);
        link_it(d, &to, "too", &ds);
        OK(bkt_domain_flush(d, err));
        OK(bkt_domain_refresh(e, how ? &root : &b, err));
        OK(bkt_domain_flush(e, err));
        CHECK(is_stored(&ds), "%d: the other's link leads to it", how);
        CHECK(is_there(e, &ds), "%d: here, too", how);
        close_all(d, e, NULL);
    }
}

/* A flush that could not look at all of it deletes nothing, and the next one knows no less. */
static void looked_at_in_two_tries(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
    struct bkt_id      root = *bkt_domain_root(d);
    link_it(d, &b, "a, too", &a);
    OK(bkt_domain_flush(d, err));
    unlink_it(e, &root, "a");
    with_faults(e, &(struct bkt_fault){.op = BKT_GET, .key_part = a.text + 20, .times = 1, .code = BKT_ENET}, 1);
    FAILS(BKT_ENET, "not all of what was removed is deleted yet", bkt_domain_flush(e, err));
    CHECK(is_stored(&a) && is_stored(&ds), "nothing is deleted");
    OK(bkt_domain_flush(e, err));
    CHECK(is_stored(&a) && is_stored(&ds), "it stays");
    close_all(d, e, NULL);
}

/* With a dataset its type stays, used once as before. */
static void its_type_stays(void)
{
    for (int linked = 0; linked < 2; linked++) {
        struct bkt_id      a, b, ds, type = {{0}}, of = {{0}};
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        struct bkt_id      root = *bkt_domain_root(d);
        struct bkt_object *t = bkt_object_make(BKT_DATATYPE), *o = bkt_object_make(BKT_DATASET);
        t->type = int_type(4);
        OK(bkt_edit_add(d, t, &type, err));
        link_it(d, &root, "type", &type);
        o->dset.type            = int_type(4);
        o->dset.type->committed = type;
        o->dset.space           = (struct bkt_space){.cls = BKT_S_SCALAR};
        o->dset.layout          = (struct bkt_layout){.cls = BKT_D_CHUNKED, .rank = 1, .dims = {1}, .user_cls = BKT_D_CONTIGUOUS};
        OK(bkt_edit_add(d, o, &of, err));
        link_it(d, &a, "of", &of);
        if (!linked)
            unlink_it(d, &root, "type");
        OK(bkt_domain_flush(d, err));
        CHECK(is_stored(&type), "used");
        e = counted(&of);
        int64_t uses = fresh_look(&type, &f)->uses;
        bkt_domain_close(f);
        link_it(d, &b, "of, too", &of);
        OK(bkt_domain_flush(d, err));
        unlink_it(e, &a, "of");
        OK(bkt_domain_flush(e, err));
        CHECK(is_stored(&of) && is_stored(&type), "both");
        CHECK(uses == 1 && fresh_look(&type, &f)->uses == uses, "%d uses", (int)fresh_look(&type, &f)->uses);
        close_all(d, e, f);
    }
}

static int no_list(struct bkt_store *st, const char *prefix, const char *delimiter, int (*each)(const struct bkt_listed *e, void *arg),
                   void *arg, struct bkt_err *e)
{
    (void)st, (void)delimiter, (void)each, (void)arg;
    return BKT_ERR(e, BKT_EACCES, "LIST %s: 403", prefix);
}

/* Nothing is deleted that somebody might want; that is told once. */
static void others_cannot_be_seen(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    const struct bkt_store_ops *was   = d->store->ops;
    struct bkt_store_ops        blind = *was;
    blind.list      = no_list;
    blind.list_each = NULL;
    d->store->ops   = &blind;
    unlink_it(d, &a, "data");
    set_attr(d, &b, "x", 1, BKT_ATTR_CREATE);
    FAILS(BKT_EACCES, "could not be deleted", bkt_domain_flush(d, err));
    d->store->ops = was;
    CHECK(is_stored(&ds), "left alone");
    CHECK(!bkt_links_find(&fresh_look(&a, &f)->group.links, "data") && attr_value(get(f, &b), "x") == 1, "all else is stored");
    OK(bkt_domain_flush(d, err));
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
    linked_meanwhile();
    moved_meanwhile();
    a_tree_linked_meanwhile();
    changed_meanwhile();
    read_anew();
    seen_meanwhile();
    looked_at_in_two_tries();
    its_type_stays();
    others_cannot_be_seen();
    domains_end();
    return failures ? 1 : 0;
}
