/* Objects that one writer removes, and that another has linked or changed since the first one read them. */
#include "unit/schema/edit/flush_testing.h"
#include "schema/domain/object_cache.h"
#include "storage/store_impl.h"

#include <time.h>

static time_t set_back; /* seconds by which the time of day was set back */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = __real_clock_gettime(id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec -= set_back;
    return rc;
}

static bool is_there(struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_object *o  = NULL;
    int                      rc = bkt_domain_get(d, id, &o, NULL);
    if (rc == BKT_OK)
        bkt_object_release(o);
    return rc == BKT_OK;
}

/* Whether another process finds the object in the store. */
static bool is_stored(const struct bkt_id *id)
{
    struct bkt_domain *f  = open_other(name);
    bool               is = is_there(f, id);
    bkt_domain_close(f);
    return is;
}

/* Another writer of the open domain.  It has counted the links: one leads to object @p id. */
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

/* d moves the dataset before e removes the old link: into a new group, and into the root group. */
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

/* A group stays with all of its contents; other removed objects go. */
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
    release_all();
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

/* The other writer's version of a group still has the link that e removes; no writer has made it again. */
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

/* e has read a group again and changed it since it counted the links.  The group's links are looked at, too. */
static void read_again(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = counted(&ds);
    link_it(d, &b, "too", &ds);
    OK(bkt_domain_flush(d, err));
    release_all();
    bkt_objects_drop(e->objects, &b, false); /* as if others had needed its place in the cache */
    link_it(e, &b, "mine", &a);
    OK(bkt_domain_flush(e, err));
    unlink_it(e, &a, "data");
    OK(bkt_domain_flush(e, err));
    CHECK(is_stored(&ds), "the other's link leads to it");
    close_all(d, e, NULL);
}

/* e sees d's new link before its flush deletes: in a group that e reads again, and in a new group below it. */
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
    FAILS(BKT_ENET, "not all removed objects are deleted yet", bkt_domain_flush(e, err));
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

/* d has made the object and never counted links.  It looks at groups that were changed since then, also if the
 * clock, by which the store notes times, was set back meanwhile. */
static void linked_after_the_clock_was_set_back(void)
{
    struct bkt_id a, b, ds, own;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    bkt_domain_close(d);
    d = open_it(name);
    own = add_dset(d, 10);
    link_it(d, &b, "own", &own);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    set_back = 3600;
    link_it(e, &a, "theirs", &own);
    OK(bkt_domain_flush(e, err));
    unlink_it(d, &b, "own");
    OK(bkt_domain_flush(d, err));
    CHECK(is_stored(&own), "the other's link leads to it");
    set_back = 0;
    close_all(d, e, NULL);
}

static int no_list(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg, struct bkt_err *e)
{
    (void)st, (void)each, (void)arg;
    return BKT_ERR(e, BKT_EACCES, "LIST %s: 403", l->prefixes[0]);
}

/* Objects that another writer may want are not deleted; that is reported once. */
static void others_cannot_be_seen(void)
{
    struct bkt_id      a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *f;
    const struct bkt_store_ops *was   = d->store->ops;
    struct bkt_store_ops        blind = *was;
    blind.list       = no_list;
    blind.many_lists = false;
    d->store->ops    = &blind;
    unlink_it(d, &a, "data");
    set_attr(d, &b, "x", 1, ATTR_CREATE);
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
    linked_meanwhile();
    moved_meanwhile();
    a_tree_linked_meanwhile();
    changed_meanwhile();
    read_again();
    seen_meanwhile();
    looked_at_in_two_tries();
    its_type_stays();
    linked_after_the_clock_was_set_back();
    others_cannot_be_seen();
    domains_end();
    return failures ? 1 : 0;
}
