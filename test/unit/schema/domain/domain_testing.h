/* A sample domain in any store, and the counts for tests of open domains. */
#ifndef BKT_DOMAIN_TESTING_H
#define BKT_DOMAIN_TESTING_H

#include "unit/schema/json/json_testing.h"
#include "schema/domain/domain_impl.h"
#include "unit/schema/domain/domains_end.h"
#include "base/os/pool.h"
#include "storage/stats.h"

static inline void put_json(struct bkt_store *st, const char *key, const char *text)
{
    char *json = json_of(text);
    struct bkt_req r = {.op = BKT_PUT, .key = key, .put = json, .put_len = strlen(json)};
    int rc = bkt_store_perform(st, &r, 1, NULL);
    CHECK(rc == BKT_OK, "PUT %s: %d", key, rc);
    bkt_req_fini(&r);
    free(json);
}

static inline void put_object(struct bkt_store *st, const char *id, const char *body)
{
    struct bkt_id i;
    struct bkt_buf key = {0};
    char *text = NULL;
    if (!bkt_id_set(&i, id) || bkt_id_key(&i, &key) < 0 ||
        asprintf(&text,
                 "{'id': '%s', 'root': '" ROOT_ID "', 'created': 1, 'lastModified': 1, 'attributes': {}, %s}",
                 id, body) < 0)
        abort();
    put_json(st, bkt_buf_str(&key), text);
    bkt_buf_fini(&key);
    free(text);
}

#define G              "g-b03b24ef-69f244b6-acd9-4df97b-"
#define HARD(name, id) "'" name "': {'class': 'H5L_TYPE_HARD', 'id': '" id "'}"

/* Root with a (group), b (the same), d (dataset), lost (to nothing); a holds up (the root: a cycle) and d. */
static inline struct bkt_store *sample(const char *uri)
{
    struct bkt_store *st;
    if (bkt_store_open(uri, &set, &st, NULL) < 0)
        abort();
    put_json(st, "home/x.h5/.domain.json",
        "{'root': '" ROOT_ID
        "', 'owner': 'admin', 'acls': {'default': {'read': true}, 'joe': {'read': false}}}");
    put_json(st, "home/.domain.json", "{'owner': 'admin', 'acls': {}}");
    put_object(st, ROOT_ID,
               "'links': {" HARD("a", G "000001") ", " HARD("b", G "000001") ", " HARD(
                   "d", DSET_ID) ", " HARD("lost", G "0000ff") "}");
    put_object(st, G "000001",
               "'links': {" HARD("up", ROOT_ID) ", " HARD(
                   "d", DSET_ID) ", 's': {'class': 'H5L_TYPE_SOFT', 'h5path': 'x'}}");
    put_object(st, DSET_ID,
               "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 4]}, 'layout': "
               "{'class': 'H5D_CHUNKED', 'dims': [2, 4]}");
    put_json(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/0_0", "12345678");
    put_json(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/1_0", "123");
    put_json(st, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/.strange", "not a chunk");
    return st;
}

static struct bkt_stats before;
static inline uint64_t gets(void)
{
    struct bkt_stats now;
    bkt_stats_get(&now);
    CHECK(now.head == before.head && now.list == before.list, "no HEADs or LISTs: %" PRIu64 " %" PRIu64,
          now.head - before.head, now.list - before.list);
    uint64_t n = now.get - before.get;
    return n;
}
static inline void mark(void)
{
    bkt_stats_get(&before);
}

static inline struct bkt_domain *open_domain(const char *name)
{
    struct bkt_domain *d = NULL;
    struct bkt_err err = {.n = 0};
    int rc = bkt_domain_open(name, &set, &d, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", name, rc, err.n ? err.frame[0].msg : "");
    if (!d)
        exit(1);
    return d;
}

static inline const struct bkt_object *get(struct bkt_domain *d, const char *id)
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

/* The common beginning of these programs. */
static inline bool domains_begin(void)
{
    struct bkt_err err = {.n = 0};
    if (bkt_settings_init(&set, NULL, &err) == BKT_OK)
        return true;
    fprintf(stderr, "settings: %s\n", err.n ? err.frame[0].msg : "");
    return false;
}

#endif
