/* Flushes to stores that fail, that lose answers, and that die in the middle. */
#include "unit/schema/edit/flush_testing.h"
#include "storage/stats.h"

static void a_failed_change_is_kept(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    link_it(d, &root, "g", &g);
    link_it(d, &g, "again", &ds);
    set_attr(d, &ds, "v", 3, ATTR_CREATE);
    with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .key_part = ".group.json", .times = 1, .code = BKT_ENET}, 1);
    FAILS(BKT_ENET, "kept", bkt_domain_flush(d, err));
    CHECK(bkt_domain_is_dirty(d), "still to be written");
    CHECK(fresh_look(&root, &f)->group.links.n == 2, "no link to what isn't there");
    bkt_domain_close(f);
    set_attr(d, &g, "later", 4, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    CHECK(fresh_look(&root, &f)->group.links.n == 3 && attr_value(get(f, &g), "later") == 4, "the next flush writes it");
    CHECK(attr_value(get(f, &ds), "v") == 3, "and what was written stays so");
    close_all(d, NULL, f);
}

/* A reader that looks during a move finds the object twice rather than nowhere. */
static void a_moved_object_stays_in_reach(void)
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
    close_all(d, NULL, f);
    bkt_buf_fini(&key);
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
        set_attr(*e, &more[i], "v", 1, ATTR_CREATE);
        set_attr(d, &more[i], "w", 1, ATTR_CREATE);
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
    close_all(d, e, f);
}

/* But no further request is tried once the store is out of reach, whatever failed before: each would wait
 * until its deadline. */
static void out_of_reach_after_one_is_damaged(void)
{
    static const struct bkt_fault rules[] = {{.op = BKT_GET, .times = 1, .code = BKT_EACCES}, {.op = BKT_GET, .code = BKT_ENET}};
    struct bkt_id                 a, b, ds, more[3];
    struct bkt_domain            *d = sample(&a, &b, &ds), *e;
    three_changed_by_both(d, &e, more);
    with_faults(d, rules, 2);
    FAILS(BKT_EACCES, "can't be written", bkt_domain_flush(d, err));
    CHECK(bkt_fault_hits(d->store, 1) == 1, "%u requests to a store that doesn't answer", bkt_fault_hits(d->store, 1));
    close_all(d, e, NULL);
}

/* Every PUT's answer is lost once. */
static void lost_answers(void)
{
    for (unsigned k = 0; k < 3; k++) {
        struct bkt_id      a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *f;
        struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
        link_it(d, &root, "g", &g);
        set_attr(d, &ds, "v", 3, ATTR_CREATE);
        set_attr(d, &b, "w", 3, ATTR_CREATE);
        OK(bkt_edit_unlink(d, &root, "a", err));
        with_faults(d, &(struct bkt_fault){.op = BKT_PUT, .skip = k, .times = 1, .code = BKT_ENET, .carry_out = true}, 1);
        int rc = bkt_domain_flush(d, NULL);
        CHECK(rc == BKT_OK || rc == BKT_ENET, "%u: %d", k, rc);
        set_attr(d, &b, "x", 4, ATTR_CREATE);
        if (rc < 0) /* it changes once more before it is written again */
            set_attr(d, &g, "y", 5, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        const struct bkt_object *o = fresh_look(&root, &f);
        CHECK(o->group.links.n == 2 && bkt_links_find(&o->group.links, "g"), "%u: links", k);
        CHECK(get(f, &g)->kind == BKT_GROUP && (rc == BKT_OK || attr_value(get(f, &g), "y") == 5), "%u: new group", k);
        CHECK(attr_value(get(f, &b), "w") == 3 && attr_value(get(f, &b), "x") == 4, "%u: attributes", k);
        close_all(d, NULL, f);
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
    close_all(d, NULL, f);
}

/* Counts: the one change that must not be made twice. */
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
    close_all(d, e, f);
}

/* A domain is replaced, and the answer for its document is lost: the new document is not mistaken for another
 * writer's, to be replaced too. */
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
    link_it(d, &root, "h", &h); /* so that the document differs */
    OK(bkt_domain_flush(d, err));
    CHECK(!bkt_domain_is_dirty(d), "all is written");
    CHECK(strcmp((f = open_other(name))->doc.root.text, root.text) == 0, "it is ours");
    CHECK(get(f, &root)->group.links.n == 2 && get(f, &h)->kind == BKT_GROUP, "with all that is in it");
    close_all(d, NULL, f);
}

/* Writers that don't know that their extent was stored. */
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
        close_all(d, NULL, f);
    }
}

/* A writer that dies at its k-th PUT or DELETE: for any k the stored domain opens, and every link leads to an
 * object. */
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
        set_attr(d, &b, "before", 1, ATTR_CREATE);
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
        close_all(d, NULL, f);
        if (rc == BKT_OK)
            break;
        CHECK(k < 20, "it comes to an end");
    }
}

/* A store that refuses to delete: one flush reports that, all changes are stored, and the flushes after it
 * are not held up. */
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
        FAILS(codes[i], "stay in the store without a link", bkt_domain_flush(d, err));
        unsigned asked = bkt_fault_hits(d->store, 0);
        CHECK(asked > 0 && !bkt_domain_is_dirty(d), "%u were to be deleted, and nothing is left to be done", asked);
        f = open_other(name);
        CHECK(!bkt_links_find(&get(f, &root)->group.links, "a"), "the link is gone");
        bkt_domain_close(f);
        set_attr(d, &root, "after", 5, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        CHECK(bkt_fault_hits(d->store, 0) == asked, "they are not tried again");
        f = open_other(name);
        CHECK(attr_value(get(f, &root), "after") == 5, "what comes later is stored");
        close_all(d, NULL, f);
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

/* All removed objects are deleted at once: a store that answers no DELETE before all have come gets them
 * (else this never ends).  The next flush tries those that failed, and only those, again. */
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
    close_all(d, NULL, f);
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
        close_all(d, NULL, f);
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

/* bkt_domain_flush_new(): only objects that no link leads to yet; the flush after it writes the rest, and
 * nothing twice. */
static void new_objects_go_first(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), ds2 = add_dset(d, 5), loose = add_dset(d, 6);
    link_it(d, &g, "ds2", &ds2);
    link_it(d, &b, "g", &g);
    set_attr(d, &ds, "x", 1, ATTR_CREATE);
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
    close_all(d, NULL, f);
}

/* The same in a domain that is new itself: it doesn't exist before the flush, and later changes are written
 * again. */
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
    set_attr(d, &ds, "x", 1, ATTR_CREATE);
    late = add_dset(d, 4);
    link_it(d, &root, "late", &late);
    OK(bkt_domain_flush(d, err));
    CHECK(puts_since() == 4 && !bkt_domain_is_new(d), "two again, one new, the document");
    OK(bkt_domain_open(name, &other, &f, err));
    CHECK(walk_all(f, &root, 0) == 3 && attr_value(get(f, &ds), "x") == 1, "all of it");
    close_all(d, NULL, f);
    bkt_settings_fini(&other);
}

/* ---- objects that HSDS derived ---- */

static int leaf_is(const struct bkt_listed *e, void *arg)
{
    char       *text = arg;
    const char *leaf = strrchr(e->key, '/');
    if (leaf && leaf[1] == '.' && strcmp(leaf, "/.group.json") != 0)
        (void)snprintf(text + strlen(text), 100, "%s", leaf);
    return BKT_OK;
}

/* Leaves of the domain's root folder but its own document. */
static const char *beside_root(struct bkt_domain *d)
{
    static char text[1000];
    char        prefix[40];
    text[0] = 0;
    (void)snprintf(prefix, sizeof prefix, "db/%.17s/.", bkt_domain_root(d)->text + 2);
    OK(bkt_store_list(d->store, prefix, "", leaf_is, text, err));
    return text;
}

static void as_hsds(struct bkt_domain *d)
{
    static const char *const leaves[] = {".info.json", ".summary.json", ".h5bucket-snapshot"};
    for (size_t i = 0; i < BKT_COUNT(leaves); i++) {
        char key[60];
        (void)snprintf(key, sizeof key, "db/%.17s/%s", bkt_domain_root(d)->text + 2, leaves[i]);
        OK(bkt_store_put(d->store, key, "{}", 2, NULL, NULL, NULL, err));
    }
}

static uint64_t lists(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.list;
}

static void derived_objects_of_hsds_are_removed(void)
{
    struct bkt_id      a, b, ds;
    uint64_t           before = lists();
    struct bkt_domain *first  = sample(&a, &b, &ds), *d;
    CHECK(lists() == before, "nothing is looked for in a new domain");
    bkt_domain_close(first);
    d = open_it(name);
    as_hsds(d);
    before = lists();
    OK(bkt_domain_flush(d, err));
    CHECK(lists() == before, "nothing is looked for while nothing has changed");
    CHECK(strcmp(beside_root(d), "/.h5bucket-snapshot/.info.json/.summary.json") == 0, "%s", beside_root(d));
    set_attr(d, &a, "x", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    CHECK(strcmp(beside_root(d), "/.h5bucket-snapshot") == 0, "an attribute: %s", beside_root(d));
    as_hsds(d);
    before = lists();
    set_attr(d, &a, "y", 1, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    CHECK(lists() == before, "a flush that follows at once doesn't look again");
    d->edits->looked -= 2;
    bkt_domain_touched(d);
    OK(bkt_domain_flush(d, err));
    CHECK(strcmp(beside_root(d), "/.h5bucket-snapshot") == 0, "elements alone: %s", beside_root(d));

    const struct bkt_fault refused = {.op = BKT_DELETE, .key_part = ".summary.json", .code = BKT_EACCES};
    struct bkt_err         why     = {.n = 0};
    as_hsds(d);
    d->edits->looked -= 2;
    with_faults(d, &refused, 1);
    set_attr(d, &a, "z", 1, ATTR_CREATE);
    int rc = bkt_domain_flush(d, &why);
    CHECK(rc == BKT_EACCES && why.n && strstr(why.frame[why.n - 1].msg, ".summary.json beside its root group are out of date"), "%d %s", rc,
          why.n ? why.frame[why.n - 1].msg : "");
    struct bkt_domain *other = open_other(name);
    CHECK(attr_value(get(other, &a), "z") == 1, "the change is stored");
    OK(bkt_domain_flush(d, err));
    close_all(d, other, NULL);
}

/* Chunks alone are stored without a look at any object. */
static void elements_of_a_deleted_domain_are_reported(void)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    struct bkt_id root = *bkt_domain_root(d);
    bkt_domain_close(d);
    d = open_it(name);
    (void)get(d, &ds);
    e = open_other(name);
    bkt_domain_touched(d);
    OK(bkt_domain_flush(d, err));
    OK(bkt_remove_tree(e->store, &root, err));
    d->edits->looked -= 2;
    uint64_t before = lists();
    OK(bkt_domain_flush(d, err));
    CHECK(lists() == before, "nothing is looked for while nothing has changed");
    for (int i = 0; i < 2; i++) {
        bkt_domain_touched(d);
        FAILS(BKT_ENOENT, "deleted or replaced", bkt_domain_flush(d, err));
        OK(bkt_domain_flush(d, err));
    }
    close_all(d, e, NULL);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    a_failed_change_is_kept();
    a_moved_object_stays_in_reach();
    one_is_damaged();
    out_of_reach_after_one_is_damaged();
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
    derived_objects_of_hsds_are_removed();
    elements_of_a_deleted_domain_are_reported();
    domains_end();
    return failures ? 1 : 0;
}
