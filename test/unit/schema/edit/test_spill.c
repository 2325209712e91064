/* Many new objects without a flush: they go to the store as memory fills, unseen, and each about once. */
#include "unit/schema/edit/edit_testing.h"

#include <sys/wait.h>
#include <unistd.h>

#include "helpers/fault_store.h"
#include "helpers/sanitizer.h"

#define OWN_MEMORY (!UNDER_TSAN && !UNDER_ASAN) /* a sanitizer's memory is in it */

enum { PARENTS = 15, EACH = 200 }; /* three times what fits in meta_cache */

static uint64_t puts_sent(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.put;
}

/* PARENTS groups with EACH members.  The most bytes of changes that were in memory. */
static uint64_t make_many(struct bkt_domain *d)
{
    struct bkt_id root = *bkt_domain_root(d);
    uint64_t      most = 0;
    for (int p = 0; p < PARENTS; p++) {
        struct bkt_id parent = add_group(d);
        char          n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        link_it(d, &root, n, &parent);
        for (int i = 0; i < EACH; i++) {
            struct bkt_id m = i % 2 ? add_group(d) : add_dset(d, 10);
            (void)snprintf(n, sizeof n, "m%d", i);
            link_it(d, &parent, n, &m);
            set_attr(d, &m, "i", p * EACH + i, ATTR_CREATE);
            most = d->edits->dirty_bytes > most ? d->edits->dirty_bytes : most;
        }
    }
    return most;
}

/* Before the flush, another process finds no object by a path. */
static void stored_objects_are_unseen(const char *name, bool fresh)
{
    struct bkt_domain *f     = NULL;
    int                there = bkt_domain_open(name, &set, &f, NULL);
    CHECK(fresh || there == BKT_OK, "%d", there);
    bkt_domain_close(f);
    if (fresh)
        return;
    f = open_other(name);
    CHECK(get(f, bkt_domain_root(f))->group.links.n == 0, "nothing leads to them yet");
    bkt_domain_close(f);
}

static void all_members_are_stored(const char *name)
{
    struct bkt_domain *f    = open_other(name);
    struct bkt_id      root = *bkt_domain_root(f);
    CHECK(get(f, &root)->group.links.n == PARENTS, "%zu groups", get(f, &root)->group.links.n);
    for (int p = 0; p < PARENTS; p++) {
        char n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        const struct bkt_link *l = bkt_links_find(&get(f, &root)->group.links, n);
        struct bkt_id          g = l->id;
        CHECK(get(f, &g)->group.links.n == EACH, "%s has %zu members", n, get(f, &g)->group.links.n);
        for (int i = 0; i < EACH; i += 37) {
            (void)snprintf(n, sizeof n, "m%d", i);
            struct bkt_id m = bkt_links_find(&get(f, &g)->group.links, n)->id;
            CHECK(attr_value(get(f, &m), "i") == p * EACH + i && count(f, &m) == 1, "%s", n);
        }
    }
    bkt_domain_close(f);
}

static void an_evicted_object_is_counted_once(struct bkt_domain *d)
{
    struct bkt_id root = *bkt_domain_root(d);
    for (int p = 0; p < PARENTS; p += 7) {
        char n[20];
        (void)snprintf(n, sizeof n, "p%d", p);
        struct bkt_id g = bkt_links_find(&get(d, &root)->group.links, n)->id, m = bkt_links_find(&get(d, &g)->group.links, "m5")->id;
        CHECK(count(d, &g) == 1 && count(d, &m) == 1 && get(d, &g)->group.links.n == EACH, "%s counts %d", n, (int)count(d, &m));
    }
}

static void an_object_stored_early_can_be_removed(const char *name, struct bkt_domain *d)
{
    struct bkt_id            root = *bkt_domain_root(d), g = bkt_links_find(&get(d, &root)->group.links, "p7")->id;
    const struct bkt_object *o    = NULL;
    OK(bkt_edit_unlink(d, &root, "p7", err));
    OK(bkt_domain_flush(d, err));
    struct bkt_domain *f = open_other(name);
    CHECK(bkt_domain_get(f, &g, &o, NULL) == BKT_ENOENT, "removed");
    bkt_domain_close(f);
}

static void many(const char *name, bool fresh)
{
    struct bkt_domain *d = create(name, false);
    if (!fresh)
        OK(bkt_domain_flush(d, err));
    uint64_t before = puts_sent(), most = make_many(d), first = puts_sent() - before;
    CHECK(most < 2 * set.meta_cache, "%" PRIu64 " bytes of changes", most);
    CHECK(first > PARENTS * EACH / 2, "%" PRIu64 " objects are stored", first);
    stored_objects_are_unseen(name, fresh);
    OK(bkt_domain_flush(d, err));
    CHECK(d->edits->dirty_bytes == 0 && !bkt_domain_is_dirty(d), "%" PRIu64 " bytes are left", d->edits->dirty_bytes);
    uint64_t sent = puts_sent() - before;
    CHECK(sent < PARENTS * (EACH + 1) * 11 / 10, "%" PRIu64 " PUTs for %d objects", sent, PARENTS * (EACH + 1));
    all_members_are_stored(name);
    an_evicted_object_is_counted_once(d);
    an_object_stored_early_can_be_removed(name, d);
    bkt_domain_close(d);
}

/* A group with so many members, each with an attribute. */
static void fill(struct bkt_domain *d, const struct bkt_id *g, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct bkt_id m = add_group(d);
        char          n[20];
        (void)snprintf(n, sizeof n, "m%d", i);
        link_it(d, g, n, &m);
        set_attr(d, &m, "i", i, ATTR_CREATE);
    }
}

static void all_there(const char *name, const struct bkt_id *g, int n)
{
    struct bkt_domain *f = open_other(name);
    CHECK(get(f, g)->group.links.n == (size_t)n, "%zu members of %d", get(f, g)->group.links.n, n);
    for (int i = 0; i < n; i++) {
        char member[20];
        (void)snprintf(member, sizeof member, "m%d", i);
        const struct bkt_link *l = bkt_links_find(&get(f, g)->group.links, member);
        CHECK(l && attr_value(get(f, &l->id), "i") == i, "%s", member);
    }
    bkt_domain_close(f);
}

/* A store that is away for a while, with every answer lost or nothing carried out: all changes are kept,
 * nothing is stored twice, and as soon as the store takes changes they go there. */
static void store_away(const char *name, bool carry_out)
{
    struct bkt_domain *d    = create(name, false);
    struct bkt_store  *st   = NULL;
    unsigned reported = 0;
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d);
    link_it(d, &root, "g", &g);
    OK(bkt_domain_flush(d, err));
    struct bkt_fault away = {.op = BKT_PUT, .times = 4000, .code = BKT_ENET, .carry_out = carry_out};
    OK(bkt_fault_open(d->store, &away, 1, &st, err));
    d->store = st;
    fill(d, &g, 0, 2000);
    CHECK(bkt_fault_hits(st, 0) > 0 && d->edits->dirty_bytes > 2 * set.meta_cache, "kept: %" PRIu64, d->edits->dirty_bytes);
    while (reported < 100 && bkt_domain_flush(d, NULL) == BKT_ENET)
        reported++;
    CHECK(reported > 0 && reported < 100 && bkt_fault_hits(st, 0) == 4000, "%u flushes fail", reported);
    fill(d, &g, 2000, 2500);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 2500);
    uint64_t before = puts_sent(), most = 0;
    for (int i = 2500; i < 6000; i++) {
        fill(d, &g, i, i + 1);
        most = d->edits->dirty_bytes > most ? d->edits->dirty_bytes : most;
    }
    CHECK(most < 2 * set.meta_cache && puts_sent() - before > 1000, "within bounds again: %" PRIu64, most);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 6000);
    bkt_domain_close(d);
}

/* Members of a group that itself isn't linked yet are wanted as well, also when all links of the domain are
 * counted again. */
static void members_of_a_held_group(void)
{
    const char        *name = "mem:spill5/x.h5";
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d), old = add_group(d);
    link_it(d, &root, "old", &old);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    d                            = open_it(name);
    const struct bkt_object *held = NULL;
    struct bkt_id            g    = add_group(d);
    OK(bkt_domain_get(d, &g, &held, err));
    fill(d, &g, 0, 1000);
    OK(bkt_edit_unlink(d, &root, "old", err)); /* counts */
    OK(bkt_domain_flush(d, err));
    CHECK(get(d, &g)->group.links.n == 1000, "%zu", get(d, &g)->group.links.n);
    link_it(d, &root, "g", &g);
    bkt_object_release(held);
    OK(bkt_domain_flush(d, err));
    all_there(name, &g, 1000);
    bkt_domain_close(d);
}

/* ---- changes of stored objects ---- */

enum { OLD = FEWER(6000, 3000) }; /* 34 MB, if all stayed in memory */

static void store_members(const char *name, struct bkt_id *ids)
{
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d);
    for (int i = 0; i < OLD; i++) {
        char n[20];
        (void)snprintf(n, sizeof n, "o%d", i);
        ids[i] = i % 2 ? add_group(d) : add_dset(d, 10);
        link_it(d, &root, n, &ids[i]);
        set_attr(d, &ids[i], "i", -5, ATTR_CREATE);
    }
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
}

/* The memory of this process, whoever allocated it. */
static uint64_t resident(void)
{
    unsigned long total = 0, pages = 0;
    FILE         *f     = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%lu %lu", &total, &pages) != 2)
        pages = 0;
    if (f)
        (void)fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* An attribute of each of many stored objects, without a flush. */
static void attributes_of_stored(const char *name, const struct bkt_id *ids)
{
    struct bkt_domain *d = open_it(name), *f;
    uint64_t           before = puts_sent(), start = resident(), most = 0, grown = 0;
    for (int i = 0; i < OLD; i++) {
        if (i % 3)
            set_attr(d, &ids[i], "i", i, ATTR_REPLACE);
        else
            set_attr(d, &ids[i], "new", i, ATTR_CREATE);
        most  = d->edits->dirty_bytes > most ? d->edits->dirty_bytes : most;
        grown = i % 64 ? grown : resident() > start + grown ? resident() - start : grown;
    }
    CHECK(most < 2 * set.meta_cache, "%" PRIu64 " bytes of changes", most);
    CHECK(!OWN_MEMORY || grown < 12 << 20, "%" PRIu64 " bytes more than before", grown);
    CHECK(puts_sent() - before > OLD * 3 / 4, "%" PRIu64 " are stored", puts_sent() - before);
    OK(bkt_domain_flush(d, err));
    CHECK(puts_sent() - before == OLD, "each is written once, not %" PRIu64 " times", puts_sent() - before);
    bkt_domain_close(d);
    f = open_other(name);
    for (int i = 0; i < OLD; i += 7) {
        const struct bkt_object *o = get(f, &ids[i]);
        CHECK(attr_value(o, i % 3 ? "i" : "new") == i && (i % 3 || attr_value(o, "i") == -5), "object %d", i);
    }
    bkt_domain_close(f);
}

/* Links: in the order of a flush.  Half of the groups lose the members that the other half gains. */
static void links_of_stored(const char *name, const struct bkt_id *ids)
{
    struct bkt_domain *d = open_it(name), *f;
    uint64_t           most = 0;
    unsigned           early = 0;
    struct bkt_id      leaf = ids[0];
    for (int i = 1; i < OLD; i += 2) {
        struct bkt_id m = add_group(d);
        link_it(d, &ids[i], "leaf", &leaf);
        link_it(d, &ids[i], "made", &m);
        set_attr(d, &m, "i", i, ATTR_CREATE);
        most = d->edits->dirty_bytes > most ? d->edits->dirty_bytes : most;
        if (bkt_domain_is_full(d)) {
            early++;
            OK(bkt_domain_flush_early(d, err));
        }
        if (early && i % 1001 == 0) { /* another opening finds the targets of all links */
            f = open_other(name);
            for (int k = 1; k <= i; k += 22) {
                const struct bkt_link *l = bkt_links_find(&get(f, &ids[k])->group.links, "made");
                struct bkt_id          is = l ? l->id : leaf; /* the group may go from the cache when another comes */
                CHECK(!l || attr_value(get(f, &is), "i") == k, "group %d", k);
            }
            bkt_domain_close(f);
        }
    }
    CHECK(early > (OWN_MEMORY ? 3 : 0) && most < 3 * set.meta_cache, "%u times, %" PRIu64 " bytes of changes", early, most);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    f = open_other(name);
    for (int i = 1; i < OLD; i += 2)
        CHECK(get(f, &ids[i])->group.links.n == 2, "group %d", i);
    bkt_domain_close(f);
}

/* Names that collide are reported by the next flush, though they were found before. */
static void a_clash_is_reported(const char *name, const struct bkt_id *ids)
{
    struct bkt_domain *d = open_it(name), *f = open_other(name);
    set_attr(d, &ids[9], "mine", 1, ATTR_CREATE);
    set_attr(f, &ids[9], "mine", 2, ATTR_CREATE);
    OK(bkt_domain_flush(f, err));
    for (int i = 10; i < OLD * 2 / 3; i++)
        set_attr(d, &ids[i], i % 3 ? "i" : "new", i + 1, ATTR_REPLACE);
    FAILS(BKT_EEXIST, "mine", bkt_domain_flush(d, err));
    FAILS(BKT_EEXIST, "mine", bkt_domain_flush(d, err));
    OK(bkt_edit_attr_delete(d, &ids[9], "mine", err));
    OK(bkt_domain_flush(d, err));
    CHECK(attr_value(get(d, &ids[9]), "mine") == 2, "theirs stays");
    bkt_domain_close(f);
    bkt_domain_close(d);
}

static void stored_ones(void)
{
    struct bkt_id *ids = calloc(OLD, sizeof *ids);
    if (!ids)
        abort();
    store_members("mem:spill6/x.h5", ids);
    attributes_of_stored("mem:spill6/x.h5", ids);
    links_of_stored("mem:spill6/x.h5", ids);
    a_clash_is_reported("mem:spill6/x.h5", ids);
    free(ids);
}

/* ---- a forked child ---- */

/* In the child: none of the parent's changes is stored, whatever the child does. */
static int in_child(struct bkt_domain *d, const char *name, const struct bkt_id *root, const struct bkt_id *old)
{
    uint64_t           before = puts_sent();
    struct bkt_domain *own    = NULL;
    struct bkt_attr    a      = int_attr("child", 1);
    struct bkt_object *o      = bkt_object_make(BKT_GROUP);
    for (int i = 0; i < 3; i++) {
        OK(bkt_domain_flush(d, err));
        OK(bkt_domain_flush_new(d, err));
        OK(bkt_domain_flush_early(d, err));
        OK(bkt_domain_flush_object(d, old, err));
        bkt_edit_spill(d);
    }
    CHECK(!bkt_domain_is_dirty(d) && !bkt_domain_is_full(d), "what is dirty is the parent's");
    FAILS(BKT_EACCES, "fork", bkt_edit_attr(d, old, &a, err));
    FAILS(BKT_EACCES, "fork", bkt_edit_add(d, o, NULL, err));
    FAILS(BKT_EACCES, "fork", bkt_domain_may_write(d, 0, err));
    CHECK(puts_sent() == before, "%" PRIu64 " PUTs", puts_sent() - before);
    OK(bkt_domain_open(name, &set, &own, err)); /* as the store has it, to be changed */
    CHECK(own && own != d && get(own, root)->group.links.n == 1, "the child's own");
    OK(bkt_edit_attr(own, old, &a, err));
    OK(bkt_domain_flush(own, err));
    CHECK(puts_sent() == before + 1, "%" PRIu64 " PUTs", puts_sent() - before);
    bkt_domain_close(own);
    bkt_domain_close(d);
    (void)fflush(stdout);
    return failures;
}

static uint64_t objects_stored(const char *dir)
{
    char     command[200];
    unsigned n = 0;
    (void)snprintf(command, sizeof command, "find %s/db -name '.*.json' | wc -l", dir);
    FILE *p = popen(command, "re");
    if (!p || fscanf(p, "%u", &n) != 1)
        n = 0;
    if (p)
        (void)pclose(p);
    return n;
}

static void forked(void)
{
    char dir[] = "/tmp/bkt-s-spill-XXXXXX", name[80], command[80];
    CHECK(mkdtemp(dir) != NULL, "%s", dir);
    (void)snprintf(name, sizeof name, "file://%s/f.h5", dir);
    set.meta_cache          = 64 << 20; /* until there are changes: the bound is passed in the child only */
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d), old = add_group(d);
    link_it(d, &root, "old", &old);
    OK(bkt_domain_flush(d, err));
    uint64_t stored = objects_stored(dir);
    fill(d, &root, 0, 600);
    set_attr(d, &old, "parent", 1, ATTR_CREATE);
    CHECK(objects_stored(dir) == stored, "%" PRIu64 " objects", objects_stored(dir));
    d->set.meta_cache = 1;
    d->edits->spill_at = 0;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_child(d, name, &root, &old) ? 1 : 0);
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "child: %x", (unsigned)status);
    CHECK(objects_stored(dir) == stored, "%" PRIu64 " objects, not %" PRIu64, objects_stored(dir), stored);
    OK(bkt_domain_flush(d, err));
    CHECK(objects_stored(dir) == stored + 600, "all of the parent's");
    struct bkt_domain *f = open_other(name);
    CHECK(attr_value(get(f, &old), "child") == 1 && attr_value(get(f, &old), "parent") == 1, "of both");
    bkt_domain_close(f);
    bkt_domain_close(d);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0, "%s", command);
}

int main(void)
{
    OK(bkt_settings_init(&set, "meta_cache=1M;fsync=no", err));
#if UNDER_TSAN
    (void)puts("not under ThreadSanitizer, which cannot start threads in the child of a threaded process: a forked child");
    (void)forked;
#else
    forked();
    set.meta_cache = 1 << 20;
#endif
    stored_ones();
    members_of_a_held_group();
    store_away("mem:spill3/x.h5", false);
    store_away("mem:spill4/x.h5", true);
    many("mem:spill1/x.h5", true);
    many("mem:spill2/x.h5", false);
    domains_end();
    return failures ? 1 : 0;
}
