/* Open domains over stores in memory and in directories: requests made, objects shared, link counts, usage,
 * policy. */
#include "check.h"
#include "domain_impl.h"
#include "pool.h"
#include "stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct bkt_settings set;

static void put(struct bkt_store *st, const char *key, const char *text)
{
    char *json = json_of(text);
    struct bkt_req r = {.op = BKT_PUT, .key = key, .put = json, .put_len = strlen(json)};
    int rc = bkt_store_run(st, &r, 1, NULL);
    CHECK(rc == BKT_OK, "PUT %s: %d", key, rc);
    bkt_req_fini(&r);
    free(json);
}

static void put_object(struct bkt_store *st, const char *id, const char *body)
{
    struct bkt_id i;
    struct bkt_buf key = {0};
    char *text = NULL;
    if (!bkt_id_set(&i, id) || bkt_id_key(&i, &key) < 0 ||
        asprintf(&text,
                 "{'id': '%s', 'root': '" ROOT_ID "', 'created': 1, 'lastModified': 1, 'attributes': {}, %s}",
                 id, body) < 0)
        abort();
    put(st, bkt_buf_str(&key), text);
    bkt_buf_fini(&key);
    free(text);
}

#define G              "g-b03b24ef-69f244b6-acd9-4df97b-"
#define HARD(name, id) "'" name "': {'class': 'H5L_TYPE_HARD', 'id': '" id "'}"

/* Root with a (group), b (the same), d (dataset), lost (to nothing); a holds up (the root: a cycle) and d. */
static struct bkt_store *sample(const char *uri)
{
    struct bkt_store *st;
    if (bkt_store_open(uri, &set, &st, NULL) < 0)
        abort();
    put(st, "home/x.h5/.domain.json",
        "{'root': '" ROOT_ID
        "', 'owner': 'admin', 'acls': {'default': {'read': true}, 'joe': {'read': false}}}");
    put(st, "home/.domain.json", "{'owner': 'admin', 'acls': {}}");
    put_object(st, ROOT_ID,
               "'links': {" HARD("a", G "000001") ", " HARD("b", G "000001") ", " HARD(
                   "d", DSET_ID) ", " HARD("lost", G "0000ff") "}");
    put_object(st, G "000001",
               "'links': {" HARD("up", ROOT_ID) ", " HARD(
                   "d", DSET_ID) ", 's': {'class': 'H5L_TYPE_SOFT', 'h5path': 'x'}}");
    put_object(st, DSET_ID,
               "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 4]}, 'layout': "
               "{'class': 'H5D_CHUNKED', 'dims': [2, 4]}");
    put(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/0_0", "12345678");
    put(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/1_0", "123");
    put(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/.strange", "not a chunk");
    return st;
}

static struct bkt_stats before;
static uint64_t gets(void)
{
    struct bkt_stats now;
    bkt_stats_get(&now);
    CHECK(now.head == before.head && now.list == before.list, "no HEADs or LISTs: %" PRIu64 " %" PRIu64,
          now.head - before.head, now.list - before.list);
    uint64_t n = now.get - before.get;
    return n;
}
static void mark(void)
{
    bkt_stats_get(&before);
}

static struct bkt_domain *open_domain(const char *name)
{
    struct bkt_domain *d = NULL;
    struct bkt_err err = {.n = 0};
    int rc = bkt_domain_open(name, &set, &d, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", name, rc, err.n ? err.frame[0].msg : "");
    if (!d)
        exit(1);
    return d;
}

static const struct bkt_object *get(struct bkt_domain *d, const char *id)
{
    const struct bkt_object *o = NULL;
    struct bkt_err err = {.n = 0};
    struct bkt_id i;
    CHECK(bkt_id_set(&i, id), "%s", id);
    int rc = bkt_domain_get(d, &i, &o, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", id, rc, err.n ? err.frame[0].msg : "");
    if (!o)
        exit(1);
    return o;
}

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

static void hard_links_are_counted(void)
{
    static const struct {
        const char *id;
        uint64_t all, known;
    } want[] = {{ROOT_ID, 2, 1}, {G "000001", 2, 2}, {DSET_ID, 2, 1}, {G "0000ff", 1, 1}, {G "0000fe", 0, 0}};
    char *const own = set.link_count;
    for (int known = 0; known < 2; known++) {
        struct bkt_store *st = sample(known ? "mem:known" : "mem:all");
        set.link_count = known ? (char *)(uintptr_t) "known" : own;
        struct bkt_domain *d = open_domain(known ? "mem:known/home/x.h5" : "mem:all/home/x.h5");
        bkt_object_release(get(d, ROOT_ID));
        mark();
        for (size_t i = 0; i < BKT_COUNT(want); i++) {
            struct bkt_id id;
            uint64_t n = 99;
            CHECK(bkt_id_set(&id, want[i].id) && bkt_domain_link_count(d, &id, &n, NULL) == BKT_OK, "%s",
                  want[i].id);
            CHECK(n == (known ? want[i].known : want[i].all), "%s: %" PRIu64 " links", want[i].id, n);
        }
        CHECK(gets() == (known ? 0 : 2), "%" PRIu64 " GETs: the groups not read yet, once", gets());
        bkt_domain_close(d);
        bkt_store_close(st);
    }
    set.link_count = own;
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
    put(st, "8211e-g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e",
        "{'id': '" V1_ID "', 'root': '" V1_ID "', 'links': {}, 'attributes': {}}");
    put_object(st, "d-4ab77230-9c0e-11e6-8fdd-0242ac110005",
               "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 8]}, 'layout': "
               "{'class': 'H5D_CHUNKED', 'dims': [2, 2]}");
    put(st, "17674-c-4ab77230-9c0e-11e6-8fdd-0242ac110005_1_3", "1234");
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
static void *write_late(void *arg)
{
    const struct late *l = arg;
    const struct timespec t = {0, 50000000};
    (void)nanosleep(&t, NULL);
    put(l->st, l->key, l->text);
    return NULL;
}

static void objects_that_are_being_written_are_read_again(void)
{
    static const char *const halves[] = {"", "{'id': '" ROOT_ID "', 'links': {'a': {}"};
    for (size_t i = 0; i < BKT_COUNT(halves); i++) {
        struct bkt_store *st = sample(i ? "mem:late1" : "mem:late0");
        struct late l = {st, "db/b03b24ef-69f244b6/.group.json",
                         "{'id': '" ROOT_ID "', 'links': {}, 'attributes': {}}"};
        pthread_t t;
        put(st, l.key, halves[i]);
        struct bkt_domain *d = open_domain(i ? "mem:late1/home/x.h5" : "mem:late0/home/x.h5");
        (void)pthread_create(&t, NULL, write_late, &l);
        const struct bkt_object *o = get(d, ROOT_ID);
        CHECK(o->group.links.n == 0, "the whole one");
        bkt_object_release(o);
        (void)pthread_join(t, NULL);
        bkt_domain_close(d);
        bkt_store_close(st);
    }
    struct bkt_store *st = sample("mem:never");
    put(st, "db/b03b24ef-69f244b6/.group.json", "{'id': ");
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

/* ---- policy ---- */

/* want NULL: refused */
static const struct {
    const char *what, *domain, *allow, *uri, *store, *key;
} rules[] = {
    {"own bucket", "mem:pol", NULL, "pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket as S3", "mem:pol", NULL, "s3://pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket by file://", "mem:pol", NULL, "file://pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket in Azure's spelling", "mem:pol", NULL, "https://acct.blob.core.windows.net/pol/h5/f.h5",
     "mem:pol", "h5/f.h5"},
    {"another bucket", "mem:pol", NULL, "other/f.h5", NULL, NULL},
    {"another bucket, allowed", "mem:pol", "mem:x mem:other", "other/f.h5", "mem:other", "f.h5"},
    {"bucket with a longer name", "mem:pol", NULL, "pol-evil/f.h5", NULL, NULL},
    {"bucket with a longer name, another allowed", "mem:pol", "s3://good", "s3://good-evil/f.h5", NULL, NULL},
    {"S3, allowed", "mem:pol", "https://x, s3://good", "s3://good/f.h5", "s3://good", "f.h5"},
    {"S3, allowed below a prefix", "mem:pol", "s3://good/data/", "s3://good/data/f.h5", "s3://good",
     "data/f.h5"},
    {"S3, outside the prefix", "mem:pol", "s3://good/data", "s3://good/data2/f.h5", NULL, NULL},
    {"anything remote", "mem:pol", "*", "https://host/f.h5", "https://host", "f.h5"},
    {"host with a longer name", "mem:pol", "https://host", "https://host.evil/f.h5", NULL, NULL},
    {"host with a port", "mem:pol", "https://host", "https://host:81/f.h5", NULL, NULL},
    {"host as a user", "mem:pol", "*", "https://host@evil/f.h5", NULL, NULL},
    {"host in capitals, path escaped", "mem:pol", "https://host", "https://HOST/a%20b.h5", "https://host",
     "a b.h5"},
    {"escaped way up", "mem:pol", "https://host/a", "https://host/a/%2e%2e/f.h5", NULL, NULL},
    {"escaped NUL", "mem:pol", "*", "https://host/a%00", NULL, NULL},
    {"query", "mem:pol", "*", "https://host/a?b", NULL, NULL},
    {"way up", "mem:pol", "*", "pol/../f.h5", NULL, NULL},
    {"way up at once", "mem:pol", "*", "../pol/f.h5", NULL, NULL},
    {"absolute", "mem:pol", "*", "/etc/passwd", NULL, NULL},
    {"absolute by URI", "mem:pol", "* file:///", "file:///etc/passwd", NULL, NULL},
    {"a local file from a remote domain", "mem:pol", "file:///tmp", "file://tmp/f.h5", NULL, NULL},
    {"no key", "mem:pol", "*", "pol", NULL, NULL},
    {"empty key", "mem:pol", "*", "pol/", NULL, NULL},
    {"control characters", "mem:pol", "*", "pol/a\nb", NULL, NULL},
    {"empty", "mem:pol", "*", "", NULL, NULL},
    {"local: own", "file", NULL, "bk/ext/f.h5", "file://%s/bk", "ext/f.h5"},
    {"local: own as S3", "file", NULL, "s3://bk/ext/f.h5", "file://%s/bk", "ext/f.h5"},
    {"local: sibling", "file", NULL, "sib/f.h5", NULL, NULL},
    {"local: sibling, anything remote allowed", "file", "*", "sib/f.h5", NULL, NULL},
    {"local: sibling, allowed", "file", "file://%s/sib", "sib/f.h5", "file://%s/sib", "f.h5"},
    {"local: sibling, longer name", "file", "file://%s/si", "sib/f.h5", NULL, NULL},
    {"local: absolute", "file", "*", "file:///etc/hosts", NULL, NULL},
    {"local: absolute, allowed", "file", "file:///etc", "file:///etc/hosts", "file:///etc", "hosts"},
    {"local: absolute with a way up", "file", "file:///etc", "file:///etc/../etc/hosts", NULL, NULL},
    {"local: S3 of the same name, allowed", "file", "s3://bk", "s3://bk/ext/f.h5", "s3://bk", "ext/f.h5"},
};

static char dir[] = "/tmp/bkt-domain-XXXXXX";

static const char *with_dir(const char *text, char *out, size_t n)
{
    const char *at = text ? strstr(text, "%s") : NULL;
    if (!at)
        return text;
    (void)snprintf(out, n, "%.*s%s%s", (int)(at - text), text, dir, at + 2);
    return out;
}

static void check_rule(size_t i)
{
    char allow[512], want[512], name[512];
    struct bkt_store *store = NULL;
    char *key = NULL;
    struct bkt_err err = {.n = 0};
    const char *uri = with_dir(rules[i].store, want, sizeof want);
    set.allow = (char *)(uintptr_t)with_dir(rules[i].allow, allow, sizeof allow);
    struct bkt_domain *d = open_domain(with_dir(
        strcmp(rules[i].domain, "file") == 0 ? "%s/bk/home/x.h5" : "mem:pol/home/x.h5", name, sizeof name));
    set.allow = NULL;
    int rc = bkt_domain_resolve_uri(d, rules[i].uri, &store, &key, &err);
    CHECK(rc == (uri ? BKT_OK : BKT_EACCES), "%s: %d %s", rules[i].what, rc, err.n ? err.frame[0].msg : key);
    if (rc == BKT_OK && uri)
        CHECK(strcmp(bkt_store_uri(store), uri) == 0 && strcmp(key, rules[i].key) == 0, "%s: %s %s",
              rules[i].what, bkt_store_uri(store), key);
    free(key);
    bkt_domain_close(d);
}

/* Where external links may lead, of a domain in an S3 bucket, on a web server, in the root directory. */
static const struct {
    const char *what, *store, *allow, *uri;
    int         want;
} links[] = {
    {"own bucket", "s3://bk", NULL, "s3://bk/home/y.h5", BKT_OK},
    {"own bucket as HSDS spells it", "s3://bk", NULL, "HSDS+S3://bk/home/y.h5", BKT_OK},
    {"a local file", "s3://bk", NULL, "file:///home/y.h5", BKT_EACCES},
    {"a local file, anything remote allowed", "s3://bk", "*", "File:///home/y.h5", BKT_EACCES},
    {"a local file, allowed for local domains", "s3://bk", "file:///home", "file:///home/y.h5", BKT_EACCES},
    {"another bucket", "s3://bk", NULL, "s3://other/y.h5", BKT_EACCES},
    {"bucket with a longer name", "s3://bk", NULL, "s3://bk2/y.h5", BKT_EACCES},
    {"another bucket, allowed", "s3://bk", "s3://other", "S3://other/y.h5", BKT_OK},
    {"outside what is allowed", "s3://bk", "s3://other/a", "s3://other/a/../b/y.h5", BKT_EACCES},
    {"a host", "s3://bk", NULL, "http://127.0.0.1:8080/y.h5", BKT_EACCES},
    {"a host, allowed", "s3://bk", "https://[::1]:81", "https://[::1]:81/y.h5", BKT_OK},
    {"host with a longer name", "s3://bk", "https://host", "https://host.evil/y.h5", BKT_EACCES},
    {"host as a user", "s3://bk", "*", "https://host@evil/y.h5", BKT_EACCES},
    {"query", "s3://bk", "*", "https://host/y.h5?x", BKT_EACCES},
    {"no scheme of ours", "s3://bk", "*", "gopher://host/y.h5", BKT_ENOENT},
    {"own host", "https://host/data", NULL, "https://HOST/data/y.h5", BKT_OK},
    {"escaped way up", "https://host/data", NULL, "https://host/data/%2e%2e/y.h5", BKT_EACCES},
    {"local: a local file", "file:///", NULL, "file:///home/y.h5", BKT_OK},
    {"local: a bucket", "file:///", NULL, "s3://bk/y.h5", BKT_EACCES},
};

static void external_links_are_under_the_policy(void)
{
    for (size_t i = 0; i < BKT_COUNT(links); i++) {
        struct bkt_domain d   = {.name = (char *)(uintptr_t)"it", .set.allow = (char *)(uintptr_t)links[i].allow};
        struct bkt_err    err = {.n = 0};
        CHECK(bkt_store_open(links[i].store, &set, &d.store, &err) == BKT_OK, "%s: %s", links[i].what, err.frame[0].msg);
        if (!d.store)
            continue;
        int rc = bkt_domain_may_link(&d, links[i].uri, &err);
        CHECK(rc == links[i].want && (rc == BKT_OK || strstr(err.frame[0].msg, "//") || strstr(err.frame[0].msg, "user, query")), "%s: %d", links[i].what, rc);
        bkt_store_close(d.store);
    }
}

static void a_bucket_may_be_the_root_directory(void)
{
    struct bkt_domain d   = {.name = (char *)(uintptr_t)"it"};
    struct bkt_store *to  = NULL;
    char             *key = NULL;
    CHECK(bkt_store_open("file:///", &set, &d.store, NULL) == BKT_OK, "file:///");
    CHECK(d.store && bkt_domain_resolve_uri(&d, "home/f.h5", &to, &key, NULL) == BKT_OK && to == d.store &&
              strcmp(key, "home/f.h5") == 0, "%s", key ? key : "refused");
    free(key);
    bkt_store_close(d.store);
}

static void advice_on_acls(void)
{
    static const struct {
        const char *user;
        unsigned need;
        int want;
    } acls[] = {{NULL, BKT_ACL_DELETE, BKT_OK},
                {"ann", BKT_ACL_READ, BKT_OK},
                {"ann", BKT_ACL_UPDATE, BKT_EACCES},
                {"joe", BKT_ACL_READ, BKT_EACCES}};
    struct bkt_store *st = sample("mem:acl");
    for (size_t i = 0; i < BKT_COUNT(acls); i++) {
        set.user = (char *)(uintptr_t)acls[i].user;
        struct bkt_domain *d = open_domain("mem:acl/home/x.h5");
        CHECK(bkt_domain_check_acl(d, acls[i].need, NULL) == acls[i].want, "%s %u", acls[i].user,
              acls[i].need);
        bkt_domain_close(d);
    }
    set.user = NULL;
    bkt_store_close(st);
}

static void a_directory_needs_no_configuration(void)
{
    char cmd[600], name[300];
    (void)snprintf(cmd, sizeof cmd, "file://%s/bk", dir);
    struct bkt_store *st = sample(cmd);
    mark();
    (void)snprintf(name, sizeof name, "%s/bk/home/x.h5", dir);
    struct bkt_domain *d = open_domain(name);
    bkt_object_release(get(d, ROOT_ID));
    CHECK(gets() == 2, "%" PRIu64 " GETs", gets());
    CHECK(strcmp(bkt_domain_path(d), "home/x.h5") == 0 &&
              strcmp(bkt_store_uri(bkt_domain_store(d)), cmd) == 0,
          "%s in %s", bkt_domain_path(d), bkt_store_uri(bkt_domain_store(d)));
    bkt_domain_close(d);
    /* the nearest ancestor that holds the root group, not the nearest with a db */
    (void)snprintf(name, sizeof name, "%s/bk/home/db", dir);
    CHECK(mkdir(name, 0777) == 0, "mkdir");
    (void)snprintf(name, sizeof name, "%s/bk/home/x.h5", dir);
    d = open_domain(name);
    CHECK(strcmp(bkt_domain_path(d), "home/x.h5") == 0, "%s", bkt_domain_path(d));
    bkt_domain_close(d);
    bkt_store_close(st);
    /* a domain whose bucket is not above it */
    (void)snprintf(name, sizeof name, "mkdir -p %s/sib && cp -r %s/bk/home/x.h5 %s/sib/", dir, dir, dir);
    CHECK(system(name) == 0, "cp");
    struct bkt_err err = {.n = 0};
    (void)snprintf(name, sizeof name, "%s/sib/x.h5", dir);
    CHECK(bkt_domain_open(name, &set, &d, &err) == BKT_ENOENT && strstr(err.frame[0].msg, "root group"), "%s",
          err.frame[0].msg);
}

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
    struct bkt_err err = {.n = 0};
    if (bkt_settings_init(&set, NULL, &err) < 0 || !mkdtemp(dir)) {
        fprintf(stderr, "settings: %s\n", err.n ? err.frame[0].msg : "");
        return 1;
    }
    char sub[64], rm[64];
    (void)snprintf(sub, sizeof sub, "%s/bk", dir);
    if (mkdir(sub, 0777))
        return 1;
    opening_takes_two_gets_and_a_second_look_none();
    a_probe_costs_the_open_nothing();
    folders_and_absences_say_what_they_are();
    prefetched_objects_cost_one_get_each();
    the_cache_keeps_to_its_bound();
    hard_links_are_counted();
    chunks_are_added_up();
    objects_that_are_being_written_are_read_again();
    threads_share_a_domain(64 << 20);
    threads_share_a_domain(3000);
    a_directory_needs_no_configuration();
    struct bkt_store *pol = sample("mem:pol");
    for (size_t i = 0; i < BKT_COUNT(rules); i++)
        check_rule(i);
    bkt_store_close(pol);
    external_links_are_under_the_policy();
    a_bucket_may_be_the_root_directory();
    advice_on_acls();
    something_can_be_attached();
    bkt_domain_shutdown();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    CHECK(system(rm) == 0, "rm");
    return failures != 0;
}
