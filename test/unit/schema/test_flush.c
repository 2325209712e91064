/* Two writers of one domain; stores that fail, that lose answers, and that die in the middle of a flush. */
#include "edit_testing.h"

#include "fault.h"
#include "pool.h"

static unsigned serial;
static char     name[64];

/* A domain of two groups and a dataset in a store of its own, flushed. */
static struct bkt_domain *sample(struct bkt_id *a, struct bkt_id *b, struct bkt_id *ds)
{
    (void)snprintf(name, sizeof name, "mem:flush%u/x.h5", ++serial);
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d);
    *a  = add_group(d);
    *b  = add_group(d);
    *ds = add_dset(d, 10);
    link_it(d, &root, "a", a);
    link_it(d, &root, "b", b);
    link_it(d, a, "data", ds);
    OK(bkt_domain_flush(d, err));
    return d;
}

/* All that the domain does from now on passes these rules. */
static void with_faults(struct bkt_domain *d, const struct bkt_fault *rules, size_t n)
{
    struct bkt_store *st = NULL;
    OK(bkt_fault_open(d->store, rules, n, &st, err));
    d->store = st;
}

static const struct bkt_object *fresh_look(const struct bkt_id *id, struct bkt_domain **other)
{
    *other = open_other(name);
    return get(*other, id);
}

/* ---- races ---- */

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
    bkt_domain_close(f);
    bkt_domain_close(d);
    bkt_domain_close(e);
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
    bkt_domain_close(d);
    bkt_domain_close(e);
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
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
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
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
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
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
}

/* Three datasets that both have changed, @p e first, so that @p d has to read them. */
static void three_changed_by_both(struct bkt_domain *d, struct bkt_domain **e, struct bkt_id more[3])
{
    struct bkt_id root = *bkt_domain_root(d);
    for (int i = 0; i < 3; i++) {
        more[i] = add_dset(d, 10);
        link_it(d, &root, (char[]){(char)('p' + i), 0}, &more[i]);
    }
    OK(bkt_domain_flush(d, err));
    *e = open_other(name);
    for (int i = 0; i < 3; i++) {
        set_attr(*e, &more[i], "v", 1, BKT_ATTR_CREATE);
        set_attr(d, &more[i], "w", 1, BKT_ATTR_CREATE);
    }
    OK(bkt_domain_flush(*e, err));
}

/* An object that can't be read keeps none of the others from being stored. */
static void one_is_damaged(void)
{
    struct bkt_id      a, b, ds, more[3];
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    three_changed_by_both(d, &e, more);
    with_faults(d, &(struct bkt_fault){.op = BKT_GET, .key_part = more[1].text + 20, .code = BKT_EACCES}, 1);
    FAILS(BKT_EACCES, "can't be written", bkt_domain_flush(d, err));
    FAILS(BKT_EACCES, "can't be written", bkt_domain_flush(d, err));
    CHECK(attr_value(fresh_look(&more[0], &f), "w") == 1 && attr_value(get(f, &more[2]), "w") == 1, "the others are stored");
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
}

/* But no more is tried once the store is out of reach, whatever failed before: each would wait until its deadline. */
static void out_of_reach_after_one_is_damaged(void)
{
    static const struct bkt_fault rules[] = {{.op = BKT_GET, .times = 1, .code = BKT_EACCES}, {.op = BKT_GET, .code = BKT_ENET}};
    struct bkt_id                 a, b, ds, more[3];
    struct bkt_domain            *d = sample(&a, &b, &ds), *e;
    three_changed_by_both(d, &e, more);
    with_faults(d, rules, 2);
    FAILS(BKT_EACCES, "can't be written", bkt_domain_flush(d, err));
    CHECK(bkt_fault_hits(d->store, 1) == 1, "%u requests to a store that doesn't answer", bkt_fault_hits(d->store, 1));
    bkt_domain_close(e);
    bkt_domain_close(d);
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
    bkt_domain_close(d);
    bkt_domain_close(e);
    bkt_domain_close(f);
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
    bkt_domain_close(d);
    bkt_domain_close(f);
}

/* ---- failures ---- */

static void what_fails_is_kept(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    link_it(d, &root, "g", &g);
    link_it(d, &g, "again", &ds);
    set_attr(d, &ds, "v", 3, BKT_ATTR_CREATE);
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .key_part = ".group.json", .times = 1, .code = BKT_ENET}, 1);
    FAILS(BKT_ENET, "kept", bkt_domain_flush(d, err));
    CHECK(bkt_domain_is_dirty(d), "still to be written");
    CHECK(fresh_look(&root, &f)->group.links.n == 2, "no link to what isn't there");
    bkt_domain_close(f);
    set_attr(d, &g, "later", 4, BKT_ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    CHECK(fresh_look(&root, &f)->group.links.n == 3 && attr_value(get(f, &g), "later") == 4, "the next flush writes it");
    CHECK(attr_value(get(f, &ds), "v") == 3, "and what was written stays so");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* Every PUT's answer is lost once. */
/* Whoever looks while something is moved finds it twice rather than nowhere. */
static void what_is_moved_stays_in_reach(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_buf     key = {0};
    link_it(d, &b, "moved", &ds);
    OK(bkt_edit_unlink(d, &a, "data", err));
    struct bkt_err     why = {.n = 0};
    if (bkt_id_key(&b, &key) < 0)
        abort();
    const struct bkt_fault rule = {.op = BKT_PUT, .key_part = bkt_buf_str(&key), .times = 1, .code = BKT_ENET};
    with_faults(d, &rule, 1);
    CHECK(bkt_domain_flush(d, &why) == BKT_ENET, "flush");
    CHECK(bkt_links_find(&fresh_look(&a, &f)->group.links, "data"), "it is where it was");
    bkt_domain_close(f);
    OK(bkt_domain_flush(d, err));
    CHECK(fresh_look(&a, &f)->group.links.n == 0 && bkt_links_find(&get(f, &b)->group.links, "moved"), "it has moved");
    bkt_domain_close(f);
    bkt_domain_close(d);
    bkt_buf_fini(&key);
}

static void lost_answers(void)
{
    for (unsigned k = 0; k < 3; k++) {
        struct bkt_id      a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *f;
        struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
        link_it(d, &root, "g", &g);
        set_attr(d, &ds, "v", 3, BKT_ATTR_CREATE);
        set_attr(d, &b, "w", 3, BKT_ATTR_CREATE);
        OK(bkt_edit_unlink(d, &root, "a", err));
        with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .skip = k, .times = 1, .code = BKT_ENET, .carry_out = true}, 1);
        int rc = bkt_domain_flush(d, NULL);
        CHECK(rc == BKT_OK || rc == BKT_ENET, "%u: %d", k, rc);
        set_attr(d, &b, "x", 4, BKT_ATTR_CREATE);
        if (rc < 0) /* it changes once more before it is written again */
            set_attr(d, &g, "y", 5, BKT_ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        const struct bkt_object *o = fresh_look(&root, &f);
        CHECK(o->group.links.n == 2 && bkt_links_find(&o->group.links, "g"), "%u: links", k);
        CHECK(get(f, &g)->kind == BKT_GROUP && (rc == BKT_OK || attr_value(get(f, &g), "y") == 5), "%u: new group", k);
        CHECK(attr_value(get(f, &b), "w") == 3 && attr_value(get(f, &b), "x") == 4, "%u: attributes", k);
        bkt_domain_close(f);
        bkt_domain_close(d);
    }
}

/* Answers lost so that the PUT is sent again below, and loses against itself. */
static void losing_against_oneself(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    link_it(d, &root, "g", &g);
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .times = 2, .code = BKT_EPRECOND, .carry_out = true}, 1);
    OK(bkt_domain_flush(d, err));
    CHECK(fresh_look(&root, &f)->group.links.n == 3, "once");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* Counts: the one thing that must not be done twice. */
static void lost_answers_count_once(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .times = 2, .code = BKT_ENET, .carry_out = true}, 1);
    OK(bkt_edit_refcount(d, &ds, 1, err));
    FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
    e = open_other(name);
    OK(bkt_edit_refcount(e, &ds, 5, err)); /* another writer, on top of that */
    OK(bkt_domain_flush(e, err));
    OK(bkt_edit_refcount(d, &ds, 2, err));
    FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
    OK(bkt_domain_flush(d, err));
    CHECK(fresh_look(&ds, &f)->extra_refs == 8, "%u references", fresh_look(&ds, &f)->extra_refs);
    CHECK(get(d, &ds)->extra_refs == 8, "%u in memory", get(d, &ds)->extra_refs);
    OK(bkt_edit_refcount(d, &ds, 1, err));
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .times = 1, .code = BKT_ENET, .carry_out = true}, 1);
    FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
    OK(bkt_edit_refcount(d, &ds, -1, err)); /* it comes to nothing, but not in the store */
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(f);
    CHECK(fresh_look(&ds, &f)->extra_refs == 8, "%u references", get(f, &ds)->extra_refs);
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
}

/* A domain is replaced, and the answer for its document is lost: it is not taken for somebody else's, to be replaced too. */
static void lost_document(bool truncate)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    bkt_domain_close(d);
    if (!truncate)
        (void)snprintf(name, sizeof name, "mem:flush%u/new.h5", serial);
    d                  = create(name, truncate);
    struct bkt_id root = *bkt_domain_root(d), g = add_group(d), h;
    link_it(d, &root, "g", &g);
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .key_part = ".domain.json", .times = 1, .code = BKT_ENET, .carry_out = true}, 1);
    FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
    h = add_group(d);
    link_it(d, &root, "h", &h); /* so that the document says something else */
    OK(bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d), "all is written");
    CHECK(strcmp((f = open_other(name))->doc.root.text, root.text) == 0, "it is ours");
    CHECK(get(f, &root)->group.links.n == 2 && get(f, &h)->kind == BKT_GROUP, "with all that is in it");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* Writers who don't know that their extent was stored. */
static void lost_extents(void)
{
    for (uint64_t last = 5; last <= 40; last += 5) {
        struct bkt_id      a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *f; /* 10 */
        with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .times = 2, .code = BKT_ENET, .carry_out = true}, 1);
        OK(bkt_edit_extent(d, &ds, (uint64_t[]){30}, err));
        FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
        OK(bkt_edit_extent(d, &ds, (uint64_t[]){7}, err));
        FAILS(BKT_ENET, "lost", bkt_domain_flush(d, err));
        OK(bkt_edit_extent(d, &ds, (uint64_t[]){last}, err));
        OK(bkt_domain_flush(d, err));
        uint64_t now = fresh_look(&ds, &f)->dset.space.dims[0];
        CHECK(now == last, "%d became %d", (int)last, (int)now);
        bkt_domain_close(f);
        bkt_domain_close(d);
    }
}

/* A writer that dies at its k-th PUT or DELETE: whatever k, what is stored opens, and every link leads to something. */
static size_t walk_all(struct bkt_domain *d, const struct bkt_id *id, unsigned depth)
{
    const struct bkt_object *o = NULL;
    size_t                   n = 1;
    OK(bkt_domain_get(d, id, &o, err));
    if (!o || o->kind != BKT_GROUP || depth > 5) {
        bkt_object_release(o);
        return n;
    }
    for (size_t i = 0; i < o->group.links.n; i++)
        if (o->group.links.v[i].cls == BKT_L_HARD)
            n += walk_all(d, &o->group.links.v[i].id, depth + 1);
    bkt_object_release(o);
    return n;
}

static void dying_at_every_request(void)
{
    for (unsigned k = 0;; k++) {
        struct bkt_id      a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *f;
        struct bkt_id      root = *bkt_domain_root(d);
        set_attr(d, &b, "before", 1, BKT_ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        struct bkt_id g = add_group(d), h = add_group(d), ds2 = add_dset(d, 5);
        link_it(d, &g, "h", &h);
        link_it(d, &h, "ds2", &ds2);
        link_it(d, &root, "g", &g);
        link_it(d, &b, "moved", &ds); /* a move: added, then removed */
        OK(bkt_edit_unlink(d, &a, "data", err));
        OK(bkt_edit_unlink(d, &root, "a", err));
        struct bkt_fault dead[] = {{.op = BKT_PUT, .skip = k, .code = BKT_ENET},
                                   {.op = BKT_DELETE, .skip = k > 6 ? k - 6 : 0, .code = BKT_ENET}};
        with_faults(d, dead, 2);
        int rc = bkt_domain_flush(d, NULL);
        f      = open_other(name);
        size_t n = walk_all(f, bkt_domain_root(f), 0);
        CHECK(n >= 4, "%u: %zu objects", k, n);
        CHECK(attr_value(get(f, &b), "before") == 1, "%u: what was flushed stays", k);
        CHECK(get(f, &ds)->kind == BKT_DATASET, "%u: what moves is never out of reach", k);
        bkt_domain_close(f);
        bkt_domain_close(d);
        if (rc == BKT_OK)
            break;
        CHECK(k < 20, "it comes to an end");
    }
}

/* A store that lets nothing be deleted: one flush says so, all changes are stored, and the flushes after it are not held up. */
static void deletions_are_refused(void)
{
    static const int codes[] = {BKT_EACCES, BKT_EUNSUP};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct bkt_id      a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *f;
        struct bkt_id      root = *bkt_domain_root(d);
        OK(bkt_domain_flush(d, err));
        with_faults(d, &(struct bkt_fault){.op = BKT_DELETE, .code = codes[i]}, 1);
        OK(bkt_edit_unlink(d, &root, "a", err));
        FAILS(codes[i], "stays in the store", bkt_domain_flush(d, err));
        unsigned asked = bkt_fault_hits(d->store, 0);
        CHECK(asked > 0 && !bkt_domain_is_dirty(d), "%u were to be deleted, and nothing is left to be done", asked);
        f = open_other(name);
        CHECK(!bkt_links_find(&get(f, &root)->group.links, "a"), "the link is gone");
        bkt_domain_close(f);
        set_attr(d, &root, "after", 5, BKT_ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        CHECK(bkt_fault_hits(d->store, 0) == asked, "they are not tried again");
        f = open_other(name);
        CHECK(attr_value(get(f, &root), "after") == 5, "what comes later is stored");
        bkt_domain_close(f);
        bkt_domain_close(d);
    }
}

/* A deletion that only failed is tried again. */
static void deletions_fail(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds);
    struct bkt_id      root = *bkt_domain_root(d);
    OK(bkt_domain_flush(d, err));
    with_faults(d, &(struct bkt_fault){.op = BKT_DELETE, .times = 1, .code = BKT_ENET}, 1);
    OK(bkt_edit_unlink(d, &root, "a", err));
    FAILS(BKT_ENET, "deleted yet", bkt_domain_flush(d, err));
    CHECK(bkt_domain_is_dirty(d), "it is still to be deleted");
    OK(bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d), "it is deleted");
    bkt_domain_close(d);
}

/* Whatever was removed is deleted all at once: a store that answers no DELETE before all have come gets them (else this never
 * ends).  Of those that fail, and only of those, there is something left to be done by the next flush. */
static void deletions_go_together(bool fail)
{
    enum { GROUPS = 40, N = GROUPS + 3 }; /* the others are datasets */
    const struct bkt_fault held  = {.op = BKT_DELETE, .hold = N};
    const struct bkt_fault two[] = {{.op = BKT_DELETE, .skip = 5, .times = 2, .code = BKT_ENET}, {.op = BKT_DELETE}};
    struct bkt_id      a, b, ds, ids[N];
    struct bkt_domain *d    = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d);
    char               member[16];
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(member, sizeof member, "m%u", i);
        ids[i] = i < GROUPS ? add_group(d) : add_dset(d, 10);
        link_it(d, &root, member, &ids[i]);
    }
    OK(bkt_domain_flush(d, err));
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(member, sizeof member, "m%u", i);
        OK(bkt_edit_unlink(d, &root, member, err));
    }
    with_faults(d, fail ? two : &held, fail ? 2 : 1);
    if (fail) {
        FAILS(BKT_ENET, "deleted yet", bkt_domain_flush(d, err));
        CHECK(bkt_domain_is_dirty(d) && bkt_fault_hits(d->store, 1) == N - 2, "%u were deleted", bkt_fault_hits(d->store, 1));
    }
    OK(bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d) && bkt_fault_hits(d->store, fail) == N, "%u were deleted in the end", bkt_fault_hits(d->store, fail));
    f = open_other(name);
    for (unsigned i = 0; i < N; i++)
        FAILS(BKT_ENOENT, "", bkt_domain_refresh(f, &ids[i], err));
    CHECK(walk_all(f, bkt_domain_root(f), 0) == 4, "the others are there");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* A new domain is there at once, or not at all. */
static void a_new_domain_dies(void)
{
    for (unsigned k = 0; k < 6; k++) {
        (void)snprintf(name, sizeof name, "mem:flush%u/y.h5", ++serial);
        struct bkt_domain *d = create(name, false);
        struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), ds = add_dset(d, 3);
        link_it(d, &root, "g", &g);
        link_it(d, &g, "d", &ds);
        with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .skip = k, .code = BKT_ENET}, 1);
        int                rc = bkt_domain_flush(d, NULL);
        struct bkt_domain *f  = NULL;
        struct bkt_settings other;
        OK(bkt_settings_copy(&other, &set, err));
        other.max_object -= 77;
        int there = bkt_domain_open(name, &other, &f, NULL);
        CHECK(there == (rc == BKT_OK ? BKT_OK : BKT_ENOENT), "%u: %d after %d", k, there, rc);
        CHECK(rc == (k < 4 ? BKT_ENET : BKT_OK), "%u: %d", k, rc);
        if (f)
            CHECK(walk_all(f, bkt_domain_root(f), 0) == 3, "all of it");
        bkt_domain_close(f);
        bkt_domain_close(d);
        bkt_settings_fini(&other);
    }
}

static uint64_t puts_since(void)
{
    static uint64_t  last;
    struct bkt_stats now;
    bkt_stats_get(&now);
    uint64_t n = now.put - last;
    last       = now.put;
    return n;
}

/* bkt_domain_flush_new(): only what nobody finds yet; the flush after it writes the rest, and nothing twice. */
static void new_objects_go_first(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), ds2 = add_dset(d, 5), loose = add_dset(d, 6);
    link_it(d, &g, "ds2", &ds2);
    link_it(d, &b, "g", &g);
    set_attr(d, &ds, "x", 1, BKT_ATTR_CREATE);
    (void)puts_since();
    OK(bkt_domain_flush_new(d, err));
    CHECK(puts_since() == 2, "a group and a dataset");
    CHECK(fresh_look(&ds2, &f)->dset.space.dims[0] == 5 && get(f, &b)->group.links.n == 0, "nothing leads to it");
    CHECK(get(f, &ds)->attrs.n == 0 && bkt_domain_get(f, &loose, &(const struct bkt_object *){NULL}, NULL) == BKT_ENOENT, "the rest waits");
    bkt_domain_close(f);
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 2, "the group that links them and the attribute");
    f = open_other(name);
    CHECK(walk_all(f, &root, 0) == 6, "all of it");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

/* The same in a domain that is new itself: it isn't there before the flush, and what changed since is written again. */
static void new_objects_of_a_new_domain(void)
{
    (void)snprintf(name, sizeof name, "mem:flush%u/z.h5", ++serial);
    struct bkt_domain *d = create(name, false), *f = NULL;
    struct bkt_id      root = *bkt_domain_root(d), ds = add_dset(d, 3), late;
    struct bkt_settings other;
    OK(bkt_settings_copy(&other, &set, err));
    other.max_object -= 78;
    link_it(d, &root, "ds", &ds);
    (void)puts_since();
    OK(bkt_domain_flush_new(d, err));
    CHECK(puts_since() == 2 && bkt_domain_is_new(d), "root and dataset");
    CHECK(bkt_domain_open(name, &other, &f, NULL) == BKT_ENOENT, "nobody sees it");
    set_attr(d, &ds, "x", 1, BKT_ATTR_CREATE);
    late = add_dset(d, 4);
    link_it(d, &root, "late", &late);
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 4 && !bkt_domain_is_new(d), "two again, one new, the document");
    OK(bkt_domain_open(name, &other, &f, err));
    CHECK(walk_all(f, &root, 0) == 3 && attr_value(get(f, &ds), "x") == 1, "all of it");
    bkt_domain_close(f);
    bkt_domain_close(d);
    bkt_settings_fini(&other);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    different_names_both_win();
    the_same_name_has_one_winner();
    deleted_by_another();
    moved_into_what_another_deleted();
    nothing_is_there_for_a_while();
    one_is_damaged();
    out_of_reach_after_one_is_damaged();
    replaced_and_removed();
    what_nobody_knows_stays();
    what_fails_is_kept();
    what_is_moved_stays_in_reach();
    lost_answers();
    losing_against_oneself();
    lost_answers_count_once();
    lost_document(false);
    lost_document(true);
    lost_extents();
    dying_at_every_request();
    deletions_are_refused();
    deletions_fail();
    deletions_go_together(false);
    deletions_go_together(true);
    a_new_domain_dies();
    new_objects_go_first();
    new_objects_of_a_new_domain();
    bkt_domain_shutdown();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
    return failures ? 1 : 0;
}
