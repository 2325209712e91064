/* Open domains over stores in memory: requests made, objects shared, link counts, usage, threads. */
#include "unit/schema/domain/domain_testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "schema/domain/object_cache_impl.h"

static void opening_takes_two_gets_and_a_second_look_none(void)
{
    struct bkt_store *st = sample("mem:open");
    mark();
    struct bkt_domain *d = open_domain("mem:open/home/x.h5"), *again = open_domain("mem:open/home/x.h5/");
    CHECK(d == again, "one domain per name");
    bkt_domain_close(again);
    const struct bkt_object *root = get(d, ROOT_ID), *same = get(d, ROOT_ID);
    CHECK(root == same && root->group.links.n == 4, "one object per id");
    bkt_object_release(same);
    CHECK(gets() == 2, "%" PRIu64 " GETs: the domain and its root group", gets());
    const struct bkt_object *ds = get(d, DSET_ID);
    CHECK(gets() == 3, "one more");
    struct bkt_domain *kept = d;
    bkt_domain_close(kept);
    CHECK(root->group.links.n == 4 && ds->dset.layout.dims[0] == 2, "objects outlive their domain");
    bkt_object_release(root);
    bkt_object_release(ds);
    bkt_store_close(st);
}

static void a_probe_costs_the_open_nothing(void)
{
    struct bkt_store *st = sample("mem:probe");
    mark();
    CHECK(bkt_domain_probe("mem:probe/home/x.h5", &set, NULL) == 1, "a domain");
    struct bkt_domain *d = open_domain("mem:probe/home/x.h5");
    bkt_object_release(get(d, ROOT_ID));
    CHECK(gets() == 2, "%" PRIu64 " GETs for probe, open and root", gets());
    bkt_domain_close(d);
    mark();
    CHECK(bkt_domain_probe("mem:probe/home", &set, NULL) == 0, "a folder");
    CHECK(bkt_domain_probe("mem:probe/none.h5", &set, NULL) == 0, "nothing");
    CHECK(gets() == 2, "one GET each");
    mark();
    CHECK(bkt_domain_probe("/no/such/thing.h5", &set, NULL) == 0 &&
              bkt_domain_probe("gs://b/x", &set, NULL) == 0 &&
              bkt_domain_probe("hdf5://x", &set, NULL) == 0 && bkt_domain_probe("", &set, NULL) == 0,
          "not ours");
    CHECK(gets() == 0, "and nothing was asked");
    bkt_store_close(st);
}

/* Settings of speed and the like make no second file, whose changes would not be seen; settings of access and
 * contents do. */
static void some_settings_make_another_file(void)
{
    struct bkt_store   *st    = sample("mem:same");
    struct bkt_domain  *d     = open_domain("mem:same/home/x.h5"), *e = NULL;
    struct bkt_settings other = {0};
    CHECK(bkt_settings_copy(&other, &set, NULL) == BKT_OK && bkt_settings_equal(&set, &other), "a copy");
    other.chunk_cache += 1;
    other.retries += 1;
    CHECK(!bkt_settings_equal(&set, &other), "not the same");
    CHECK(bkt_domain_open("mem:same/home/x.h5", &other, &e, NULL) == BKT_OK && e == d &&
              bkt_domain_settings(e)->chunk_cache == set.chunk_cache,
          "the same file, the first opener's settings");
    bkt_domain_close(e);
    other.user = strdup("ann");
    CHECK(bkt_domain_open("mem:same/home/x.h5", &other, &e, NULL) == BKT_OK && e != d, "another file");
    bkt_domain_close(e);
    bkt_domain_close(d);
    mark();
    CHECK(bkt_domain_probe("mem:same/home/x.h5", &set, NULL) == 1 &&
              bkt_domain_open("mem:same/home/x.h5", &other, &e, NULL) == BKT_OK,
          "a probe, and an open with other settings");
    CHECK(bkt_domain_settings(e)->chunk_cache == other.chunk_cache, "a probe is no opener");
    bkt_domain_close(e);
    free(other.user);
    other.user = NULL;
    CHECK(bkt_domain_probe("mem:same/home/x.h5", &set, NULL) == 1 &&
              bkt_domain_open("mem:same/home/x.h5", &other, &e, NULL) == BKT_OK,
          "and with some that don't matter");
    CHECK(bkt_domain_settings(e)->chunk_cache == other.chunk_cache, "a probe is no opener");
    bkt_domain_close(e);
    bkt_settings_fini(&other);
    bkt_store_close(st);
}

static void folders_and_absences_say_what_they_are(void)
{
    struct bkt_store *st = sample("mem:folder");
    struct bkt_domain *d = NULL;
    struct bkt_err err = {.n = 0};
    CHECK(bkt_domain_open("mem:folder/home", &set, &d, &err) == BKT_EUNSUP &&
              strstr(err.frame[0].msg, "folder"),
          "%s", err.frame[0].msg);
    bkt_err_clear(&err);
    CHECK(bkt_domain_open("mem:folder/home/y.h5", &set, &d, &err) == BKT_ENOENT &&
              strstr(err.frame[0].msg, "home/y.h5"),
          "%s", err.frame[0].msg);
    d = open_domain("mem:folder/home/x.h5");
    struct bkt_id id;
    const struct bkt_object *o = NULL;
    CHECK(bkt_id_set(&id, G "0000ff"), "id");
    for (int i = 0; i < 2; i++) {
        bkt_err_clear(&err);
        int rc = bkt_domain_get(d, &id, &o, &err);
        CHECK(rc == BKT_ENOENT && err.n == 2 && strstr(err.frame[1].msg, G "0000ff") &&
                  strstr(err.frame[1].msg, "db/b03b24ef-69f244b6/g/acd9-4df97b-0000ff/.group.json"),
              "%d %s", rc, err.n > 1 ? err.frame[1].msg : "");
    }
    bkt_domain_close(d);
    bkt_store_close(st);
}

static void prefetched_objects_cost_one_get_each(void)
{
    struct bkt_store *st = sample("mem:pre");
    struct bkt_id ids[101];
    for (int i = 0; i < 100; i++) {
        char id[64];
        (void)snprintf(id, sizeof id, G "%06x", 0x100 + i);
        put_object(st, id, "'links': {}");
        CHECK(bkt_id_set(&ids[i], id), "id");
    }
    CHECK(bkt_id_set(&ids[100], G "0000ff"), "id");
    struct bkt_domain *d = open_domain("mem:pre/home/x.h5");
    bkt_object_release(get(d, ROOT_ID));
    mark();
    bkt_domain_prefetch(d, ids, 101);
    bkt_domain_prefetch(d, ids, 101);
    for (int i = 0; i < 100; i++)
        bkt_object_release(get(d, ids[i].text));
    const struct bkt_object *o = NULL;
    CHECK(bkt_domain_get(d, &ids[100], &o, NULL) == BKT_ENOENT, "a failure shows at get");
    CHECK(gets() == 101, "%" PRIu64, gets());
    bkt_domain_close(d);
    bkt_store_close(st);
}

static void the_cache_keeps_to_its_bound(void)
{
    struct bkt_store *st = sample("mem:small");
    set.meta_cache = 0;
    struct bkt_domain *d = open_domain("mem:small/home/x.h5");
    const struct bkt_object *root = get(d, ROOT_ID);
    mark();
    bkt_object_release(get(d, G "000001"));
    bkt_object_release(get(d, G "000001"));
    CHECK(gets() == 2, "nothing is kept: %" PRIu64, gets());
    CHECK(root->group.links.n == 4, "what is held stays");
    bkt_object_release(root);
    bkt_domain_close(d);
    set.meta_cache = 64 << 20;
    bkt_store_close(st);
}

enum { MEMBERS = 1500 };

/* A group of so many, and a cache with room for some 400 of them, and the root. */
static struct bkt_store *long_sample(const char *uri, struct bkt_id *ids)
{
    struct bkt_store *st    = sample(uri);
    struct bkt_buf    links = {0};
    for (int i = 0; i < MEMBERS; i++) {
        (void)snprintf(ids[i].text, sizeof ids[i].text, G "%06x", 0x100 + i);
        put_object(st, ids[i].text, "'links': {}");
        if (bkt_buf_addf(&links, "%s'm%06d': {'id': '%s'}", i ? ", " : "'links': {", i, ids[i].text) < 0)
            abort();
    }
    if (bkt_buf_add_str(&links, "}") < 0)
        abort();
    put_object(st, ROOT_ID, bkt_buf_str(&links));
    bkt_buf_fini(&links);
    set.meta_cache = 1 << 20;
    return st;
}

/* Get members from .. until-1 in order, each when the requests under way have ended.  Returns how many were
 * requested before. */
static unsigned go_through(struct bkt_domain *d, const struct bkt_id *ids, int from, int until)
{
    struct bkt_objects *c     = d->objects;
    unsigned            ahead = 0;
    for (int i = from; i < until; i++) {
        bkt_object_release(get(d, ids[i].text));
        (void)pthread_mutex_lock(&c->lock);
        while (c->in_flight)
            (void)pthread_cond_wait(&c->change, &c->lock);
        ahead += i + 1 < MEMBERS && bkt_map_get(c->entries, ids[i + 1].text, BKT_ID_LEN);
        (void)pthread_mutex_unlock(&c->lock);
    }
    return ahead;
}

/* Members seen before fill the cache; the walk still fetches as much ahead. */
static void a_traversal_keeps_ahead_when_the_cache_is_full(void)
{
    struct bkt_id            ids[MEMBERS];
    struct bkt_store        *st   = long_sample("mem:long", ids);
    struct bkt_domain       *d    = open_domain("mem:long/home/x.h5");
    const struct bkt_object *root = get(d, ROOT_ID);
    mark();
    bkt_domain_follow(d, root);
    unsigned ahead = go_through(d, ids, 0, MEMBERS);
    bkt_domain_unfollow(d);
    CHECK(ahead == MEMBERS - 1, "the next one was asked for before it was wanted: %u of %d times", ahead, MEMBERS - 1);
    CHECK(gets() == MEMBERS, "%" PRIu64 " GETs", gets());
    bkt_object_release(root);
    bkt_domain_close(d);
    set.meta_cache = 64 << 20;
    bkt_store_close(st);
}

static void set_busy(struct bkt_objects *c, bool busy)
{
    (void)pthread_mutex_lock(&c->lock);
    c->follow_busy = busy;
    (void)pthread_mutex_unlock(&c->lock);
}

/* The thread that asks ahead isn't let on for a while. */
static void a_traversal_that_was_faster_is_overtaken_again(void)
{
    enum { ALONE = 700 };
    struct bkt_id            ids[MEMBERS];
    struct bkt_store        *st   = long_sample("mem:fast", ids);
    struct bkt_domain       *d    = open_domain("mem:fast/home/x.h5");
    const struct bkt_object *root = get(d, ROOT_ID);
    mark();
    set_busy(d->objects, true);
    bkt_domain_follow(d, root);
    unsigned ahead = go_through(d, ids, 0, ALONE);
    CHECK(ahead == 0, "%u were asked for ahead: the test tests nothing", ahead);
    set_busy(d->objects, false);
    ahead = go_through(d, ids, ALONE, MEMBERS);
    bkt_domain_unfollow(d);
    CHECK(ahead == MEMBERS - ALONE - 1, "the next one was asked for before it was wanted: %u of %d times", ahead, MEMBERS - ALONE - 1);
    CHECK(gets() == MEMBERS, "%" PRIu64 " GETs: none for what was passed", gets());
    bkt_object_release(root);
    bkt_domain_close(d);
    set.meta_cache = 64 << 20;
    bkt_store_close(st);
}

static void hard_links_are_counted(void)
{
    static const struct {
        const char *id;
        uint64_t    n;
    } want[] = {{ROOT_ID, 2}, {G "000001", 2}, {DSET_ID, 2}, {G "0000ff", 1}, {G "0000fe", 0}};
    struct bkt_store  *st = sample("mem:all");
    struct bkt_domain *d  = open_domain("mem:all/home/x.h5");
    bkt_object_release(get(d, ROOT_ID));
    mark();
    for (size_t i = 0; i < BKT_COUNT(want); i++) {
        struct bkt_id id;
        uint64_t      n = 99;
        CHECK(bkt_id_set(&id, want[i].id) && bkt_domain_link_count(d, &id, &n, NULL) == BKT_OK, "%s", want[i].id);
        CHECK(n == want[i].n, "%s: %" PRIu64 " links", want[i].id, n);
    }
    CHECK(gets() == 2, "%" PRIu64 " GETs: the groups not read yet, once", gets());
    bkt_domain_close(d);
    bkt_store_close(st);
}

static void chunks_are_added_up(void)
{
    struct bkt_store *st = sample("mem:use");
    struct bkt_domain *d = open_domain("mem:use/home/x.h5");
    const struct bkt_object *ds = get(d, DSET_ID);
    uint64_t bytes = 0, n = 0;
    for (int i = 0; i < 2; i++)
        CHECK(bkt_domain_chunk_usage(d, ds, &bytes, &n, NULL) == BKT_OK && bytes == 11 && n == 2,
              "%" PRIu64 " %" PRIu64, bytes, n);
    bkt_object_release(ds);
    put_json(st, "8211e-g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e",
        "{'id': '" V1_ID "', 'root': '" V1_ID "', 'links': {}, 'attributes': {}}");
    put_object(st, "d-4ab77230-9c0e-11e6-8fdd-0242ac110005",
               "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 8]}, 'layout': "
               "{'class': 'H5D_CHUNKED', 'dims': [2, 2]}");
    put_json(st, "17674-c-4ab77230-9c0e-11e6-8fdd-0242ac110005_1_3", "1234");
    ds = get(d, "d-4ab77230-9c0e-11e6-8fdd-0242ac110005");
    CHECK(bkt_domain_chunk_usage(d, ds, &bytes, &n, NULL) == BKT_OK && bytes == 4 && n == 1,
          "version 1: %" PRIu64 " %" PRIu64, bytes, n);
    bkt_object_release(ds);
    bkt_object_release(get(d, V1_ID));
    bkt_domain_close(d);
    bkt_store_close(st);
}

/* ---- HSDS's directory driver writes in place ---- */

struct late {
    struct bkt_store *st;
    const char *key, *text;
};
static _Atomic(const struct late *) late; /* an object that is written whole while its reader pauses */

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    const struct late *l = atomic_exchange(&late, NULL);
    if (!l)
        return __real_nanosleep(t, left);
    put_json(l->st, l->key, l->text);
    return 0;
}

static void objects_that_are_being_written_are_read_again(void)
{
    static const char *const halves[] = {"", "{'id': '" ROOT_ID "', 'links': {'a': {}"};
    for (size_t i = 0; i < BKT_COUNT(halves); i++) {
        struct bkt_store *st = sample(i ? "mem:late1" : "mem:late0");
        struct late l = {st, "db/b03b24ef-69f244b6/.group.json",
                         "{'id': '" ROOT_ID "', 'links': {}, 'attributes': {}}"};
        put_json(st, l.key, halves[i]);
        atomic_store(&late, &l);
        struct bkt_domain *d = open_domain(i ? "mem:late1/home/x.h5" : "mem:late0/home/x.h5");
        const struct bkt_object *o = get(d, ROOT_ID);
        CHECK(o->group.links.n == 0 && !atomic_load(&late), "the whole one, which came after a pause");
        bkt_object_release(o);
        bkt_domain_close(d);
        bkt_store_close(st);
    }
    struct bkt_store *st = sample("mem:never");
    put_json(st, "db/b03b24ef-69f244b6/.group.json", "{'id': ");
    struct bkt_domain *d = open_domain("mem:never/home/x.h5");
    struct bkt_id id;
    const struct bkt_object *o = NULL;
    struct bkt_err err = {.n = 0};
    CHECK(bkt_id_set(&id, ROOT_ID) && bkt_domain_get(d, &id, &o, &err) == BKT_EFORMAT, "cut for good");
    CHECK(err.n == 2 && strstr(err.frame[1].msg, "db/b03b24ef-69f244b6/.group.json"), "the key is named");
    bkt_domain_close(d);
    bkt_store_close(st);
}

/* ---- threads ---- */

static atomic_uint wrong;
static void *read_many(void *arg)
{
    struct bkt_domain *d = arg;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 40; i++) {
            char text[64];
            struct bkt_id id;
            const struct bkt_object *o = NULL;
            uint64_t n;
            (void)snprintf(text, sizeof text, G "%06x", 0x100 + (i * 7 + round) % 44);
            if (!bkt_id_set(&id, text))
                abort();
            if (i % 5 == 0)
                bkt_domain_prefetch(d, &id, 1);
            int rc = bkt_domain_get(d, &id, &o, NULL);
            if (rc != ((i * 7 + round) % 44 < 40 ? BKT_OK : BKT_ENOENT) ||
                (o && strcmp(o->id.text, text) != 0))
                atomic_fetch_add(&wrong, 1);
            if (round == 3 && bkt_domain_link_count(d, &id, &n, NULL) < 0)
                atomic_fetch_add(&wrong, 1);
            bkt_object_release(o);
        }
    struct bkt_domain *again = NULL;
    if (bkt_domain_open("mem:many/home/x.h5", &set, &again, NULL) < 0 || again != d)
        atomic_fetch_add(&wrong, 1);
    bkt_domain_close(again);
    return NULL;
}

static void threads_share_a_domain(uint64_t cache)
{
    struct bkt_store *st = sample("mem:many");
    pthread_t t[6];
    for (int i = 0; i < 40; i++) {
        char id[64];
        (void)snprintf(id, sizeof id, G "%06x", 0x100 + i);
        put_object(st, id, "'links': {}");
    }
    set.meta_cache = cache;
    struct bkt_domain *d = open_domain("mem:many/home/x.h5");
    for (size_t i = 0; i < BKT_COUNT(t); i++)
        CHECK(pthread_create(&t[i], NULL, read_many, d) == 0, "thread");
    for (size_t i = 0; i < BKT_COUNT(t); i++)
        (void)pthread_join(t[i], NULL);
    CHECK(atomic_load(&wrong) == 0, "%u wrong answers with a cache of %" PRIu64, atomic_load(&wrong), cache);
    bkt_domain_close(d);
    set.meta_cache = 64 << 20;
    bkt_store_close(st);
}

/* ---- objects that others keep with a domain ---- */

static int attached_free;
static void *make_attachment(struct bkt_domain *d)
{
    return d;
}
static void free_attachment(void *p)
{
    attached_free += p != NULL;
}

static void something_can_be_attached(void)
{
    struct bkt_store *st = sample("mem:att");
    struct bkt_domain *d = open_domain("mem:att/home/x.h5");
    CHECK(!bkt_domain_attached(d) && bkt_domain_attach(d, make_attachment, free_attachment) == d &&
              bkt_domain_attached(d) == d,
          "attach");
    (void)bkt_domain_retain(d);
    bkt_domain_close(d);
    CHECK(attached_free == 0, "still open");
    bkt_domain_close(d);
    CHECK(attached_free == 1, "released once");
    bkt_store_close(st);
}

int main(void)
{
    if (!domains_begin())
        return 1;
    opening_takes_two_gets_and_a_second_look_none();
    a_probe_costs_the_open_nothing();
    some_settings_make_another_file();
    folders_and_absences_say_what_they_are();
    prefetched_objects_cost_one_get_each();
    the_cache_keeps_to_its_bound();
    a_traversal_keeps_ahead_when_the_cache_is_full();
    a_traversal_that_was_faster_is_overtaken_again();
    hard_links_are_counted();
    chunks_are_added_up();
    objects_that_are_being_written_are_read_again();
    threads_share_a_domain(64 << 20);
    threads_share_a_domain(3000);
    something_can_be_attached();
    domains_end();
    return failures != 0;
}
