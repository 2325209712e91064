/* Removing objects: from memory when the last link goes, from the store by the next flush. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "base/list.h"
#include "base/num.h"
#include "schema/model/object_life.h"
#include "schema/json/schema_json.h"
#include "base/trace.h"

/* Keys deleted at once: as many as S3 lists in one answer.  storage/s3/delete_objects.c makes requests of
 * them. */
#define WAVE       1000

/* Objects asked for ahead of the one that is looked at: members of a group that is removed. */
#define AHEAD      256
#define LISTS      256   /* datasets whose keys are listed side by side */
#define LISTED_MAX 16384 /* keys of these datasets, 2 MB; datasets with more are listed in their turn */

/* ---- in memory ---- */

int bkt_edit_loosen(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    if (bkt_map_set(&d->edits->loose, id->text, BKT_ID_LEN, d, NULL) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_edit_on_remove(struct bkt_domain *d,
                        void (*fn)(struct bkt_domain *d, const struct bkt_id *id, void *arg), void *arg)
{
    d->edits->on_remove     = fn;
    d->edits->on_remove_arg = arg;
}

/* The members of a removed group lose a link each. */
static int loosen_members(struct bkt_domain *d, const struct bkt_object *o, struct bkt_err *err)
{
    if (o->kind != BKT_GROUP)
        return BKT_OK;
    const struct bkt_links *l = bkt_links_settle(&o->group.links);
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].cls != BKT_L_HARD)
            continue;
        if (bkt_links_count_change(d->links, &l->v[i].id, -1) < 0)
            BKT_NOMEM(err);
        BKT_PASS(bkt_edit_loosen(d, &l->v[i].id, err));
    }
    return BKT_OK;
}

/* The chunks of a version 1 dataset can't be listed: deleting them needs its layout. */
static bool needs_layout(const struct bkt_object *o)
{
    return o->kind == BKT_DATASET && !bkt_id_is_v2(&o->id);
}

static int remove_now(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, id, &c, err));
    BKT_PASS(loosen_members(d, c->obj, err));
    BKT_PASS(bkt_edit_use_all(d, c->obj, -1, err));
    if (d->edits->on_remove)
        d->edits->on_remove(d, id, d->edits->on_remove_arg);
    bool stored = !c->is_new || c->tried ||
                  c->obj->kind == BKT_DATASET; /* chunks may be written before their dataset is */
    bkt_objects_drop(d->objects, id, stored);
    if (!needs_layout(c->obj) || !stored) {
        bkt_object_release(c->obj);
        c->obj = NULL;
    }
    c->removed = true;
    if (!stored)
        bkt_change_forget(d, c);
    return BKT_OK;
}

enum fate { FATE_STAYS, FATE_HELD, FATE_GOES };

static int fate_of(struct bkt_domain *d, const struct bkt_id *id, enum fate *out, struct bkt_err *err)
{
    const struct bkt_object *o    = NULL;
    struct bkt_change       *c    = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    struct bkt_err           why  = {.n = 0};
    uint64_t                 n;
    *out = FATE_STAYS;
    if (c && (c->removed || c->keep))
        return BKT_OK;
    BKT_PASS(bkt_domain_link_count(d, id, &n, err));
    if (n)
        return BKT_OK;
    int rc = bkt_objects_get(d->objects, id, &o, &why);
    if (rc == BKT_ENOENT)
        return BKT_OK;
    if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    bool used = o->kind == BKT_DATATYPE && o->uses != 0; /* an unknown count may mean uses */
    if (!o->extra_refs && !used) /* references of the cache, of this function, and of a change */
        *out = bkt_object_refs(o) > (c ? 3U : 2U) ? FATE_HELD : FATE_GOES;
    bkt_object_release(o);
    return BKT_OK;
}

/* Take all loose ones; the map is empty afterwards. */
static int take_loose(struct bkt_edits *e, struct bkt_ids *out)
{
    out->n = 0;
    BKT_PASS(bkt_ids_add_keys(out, e->loose));
    bkt_map_clear(&e->loose, NULL);
    return BKT_OK;
}

/* Whether the object may be removed, as far as that is known without reading it. */
static bool may_go(struct bkt_domain *d, const struct bkt_id *id)
{
    uint64_t n;
    return !bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN) &&
           bkt_domain_link_count(d, id, &n, NULL) == BKT_OK && n == 0;
}

/* One round: removals may loosen other objects.  Held objects stay on the list @p held. */
static int sweep_round(struct bkt_domain *d, const struct bkt_ids *round, struct bkt_map **held,
                       struct bkt_err *err)
{
    size_t ahead = 0;
    int    rc    = BKT_OK;
    for (size_t i = 0; i < round->n; i++) {
        const struct bkt_id *id   = &round->v[i];
        enum fate            fate = FATE_HELD;
        for (; rc == BKT_OK && ahead < round->n && ahead < i + AHEAD; ahead++)
            if (may_go(d, &round->v[ahead]))
                bkt_domain_prefetch(d, &round->v[ahead], 1);
        if (rc == BKT_OK)
            rc = fate_of(d, id, &fate, err);
        if (rc == BKT_OK && fate == FATE_GOES)
            rc = remove_now(d, id, err);
        if (fate == FATE_HELD && bkt_map_set(held, id->text, BKT_ID_LEN, d, NULL) < 0 && rc == BKT_OK)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    return rc;
}

/* Groups are nested without limit, so this works in rounds, without recursion. */
int bkt_edit_sweep(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids round = {0};
    struct bkt_edits *e  = d->edits;
    int               rc = BKT_OK;
    if (bkt_map_count(e->loose) == 0)
        return BKT_OK;
    bkt_siblings_free(d->siblings); /* references of a walk alone don't count as held */
    d->siblings          = NULL;
    struct bkt_map *held = NULL;
    while (rc == BKT_OK && bkt_map_count(e->loose) > 0) {
        if (take_loose(e, &round) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        else
            rc = sweep_round(d, &round, &held, err);
    }
    for (struct bkt_map_at at = {0}; bkt_map_walk(held, &at);)
        if (bkt_map_set(&e->loose, at.key, at.n, at.value, NULL) < 0 && rc == BKT_OK)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_map_free(held, NULL);
    return rc;
}

void bkt_edit_let_go(struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    uint64_t                 n = 1;
    if (d->edits->agreed) /* others may still hold it: a flush looks */
        return;
    bool counted = (c && c->is_new) || bkt_map_get(d->edits->loose, id->text, BKT_ID_LEN); /* reads nothing */
    int  rc = counted && !bkt_edits_foreign(d) ? bkt_domain_link_count(d, id, &n, NULL) : BKT_OK;
    if (rc == BKT_OK && n == 0 && bkt_edit_loosen(d, id, NULL) == BKT_OK)
        rc = bkt_edit_sweep(d, NULL);
    if (rc < 0)
        bkt_trace(BKT_TRACE_SCHEMA, "%s: objects without a link are looked for by the next flush", d->name);
}

/* ---- in the store ---- */

bool bkt_edit_refused(int rc) { return rc == BKT_EACCES || rc == BKT_EUNSUP; }

static int delete_keys(struct bkt_store *st, const struct bkt_strs *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->n; i += WAVE)
        BKT_PASS(bkt_store_delete(st, (const char *const *)k->v + i, k->n - i < WAVE ? k->n - i : WAVE, err));
    return BKT_OK;
}

static int collect_key(const struct bkt_listed *e, void *arg) { return bkt_strs_add(arg, e->key); }

static int delete_prefix(struct bkt_store *st, const char *prefix, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs k = {0};
    BKT_PASS(bkt_store_list(st, prefix, "", collect_key, &k, err));
    return delete_keys(st, &k, err);
}

int bkt_remove_tree(struct bkt_store *st, const struct bkt_id *root, struct bkt_err *err)
{
    char prefix[64];
    if (!bkt_id_is_v2(root))
        BKT_FAIL(err, BKT_EINVAL, "objects of version 1 have no tree");
    (void)snprintf(prefix, sizeof prefix, "db/%.17s/", root->text + 2);
    return delete_prefix(st, prefix, err);
}

struct v1_chunks {
    const char     *id; /* the dataset's, behind its letter */
    struct bkt_strs keys;
};

/* Keys are: hash, '-', 'c', partition, id, '_', place */
static int collect_v1_chunk(const struct bkt_listed *e, void *arg)
{
    struct v1_chunks *c  = arg;
    const char *at =
        strlen(e->key) > 6 && e->key[5] == '-' && e->key[6] == 'c' ? strstr(e->key + 7, c->id) : NULL;
    return at && at[strlen(c->id)] == '_' && !strchr(e->key, '/') ? bkt_strs_add(&c->keys, e->key) : BKT_OK;
}

/* Each key begins with a hash of its own, so the whole bucket is listed. */
static int delete_v1_listed(struct bkt_store *st, const struct bkt_id *id, struct bkt_err *err)
{
    struct v1_chunks c  = {.id = id->text + 1};
    int              rc = bkt_store_list(st, "", "", collect_v1_chunk, &c, err);
    rc                  = rc < 0 ? rc : delete_keys(st, &c.keys, err);
    bkt_strs_fini(&c.keys);
    return rc;
}

/* Delete every possible chunk, unseen.  If these are too many, a list of the bucket shows which exist. */
static int delete_v1_chunks(struct bkt_store *st, const struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs k  = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key   = {0};
    const struct bkt_layout *l                     = &o->dset.layout;
    uint64_t                 at[BKT_MAX_RANK] = {0}, grid[BKT_MAX_RANK];
    if (l->cls != BKT_D_CHUNKED)
        return BKT_OK;
    for (unsigned i = 0; i < l->rank; i++) {
        uint64_t extent = o->dset.space.rank ? o->dset.space.dims[i] : 1;
        grid[i]         = extent / l->dims[i] + (extent % l->dims[i] != 0);
        if (!grid[i])
            return BKT_OK;
    }
    if (bkt_v1_are_many(grid, l->rank))
        return delete_v1_listed(st, &o->id, err);
    for (unsigned i = 0; i < l->rank;) {
        bkt_buf_clear(&key);
        if (bkt_chunk_key(&o->id, l, at, &key) < 0 || bkt_strs_add(&k, bkt_buf_str(&key)) < 0)
            BKT_NOMEM(err);
        if (k.n == WAVE) {
            BKT_PASS(delete_keys(st, &k, err));
            bkt_strs_fini(&k);
        }
        for (i = 0; i < l->rank && ++at[i] == grid[i]; i++)
            at[i] = 0;
    }
    return delete_keys(st, &k, err);
}

/* The prefix of all keys of a dataset of version 2. */
static void dataset_prefix(const struct bkt_id *id, char *out, size_t n)
{
    (void)snprintf(out, n, "db/%.17s/d/%.18s/", id->text + 2, id->text + 20);
}

/* ---- many objects ---- */

struct many {
    struct bkt_store *st;
    struct bkt_gone  *v;
    size_t            n;
    /* keys of datasets, listed before their turn: of v[listed_from] and later ones */
    struct bkt_strs   listed[LISTS];
    size_t            listed_from, n_listed;
    bool              one_by_one;
    struct bkt_strs   keys;
    size_t            of[WAVE]; /* the object of each key */
    struct bkt_req    reqs[WAVE];
    struct bkt_gone  *failed; /* the first object whose failure ends the work */
};

static void note_failure(struct many *m, struct bkt_gone *g, int rc, const struct bkt_err *err)
{
    if (g->rc == BKT_OK) {
        g->rc  = rc;
        g->err = bkt_err_dup(err);
    }
    if (!m->failed && !bkt_edit_refused(rc))
        m->failed = g;
}

static void delete_collected(struct many *m)
{
    size_t n = m->keys.n;
    for (size_t i = 0; i < n; i++)
        m->reqs[i] = (struct bkt_req){.op = BKT_DELETE, .key = m->keys.v[i]};
    (void)bkt_store_run(m->st, m->reqs, n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (m->reqs[i].rc < 0)
            note_failure(m, &m->v[m->of[i]], m->reqs[i].rc, m->reqs[i].err);
        bkt_req_fini(&m->reqs[i]);
    }
    bkt_strs_fini(&m->keys);
}

static int collect(struct many *m, size_t i, const char *key)
{
    BKT_PASS(bkt_strs_add(&m->keys, key));
    m->of[m->keys.n - 1] = i;
    if (m->keys.n == WAVE)
        delete_collected(m);
    return BKT_OK;
}

/* Running lists for v[from] and later ones. */
struct lists {
    struct many *m;
    size_t       from, n, at, n_keys;
    size_t       of[LISTS]; /* the dataset of each prefix */
    char         prefix[LISTS][64];
    const char  *prefixes[LISTS];
    bool         full;
};

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct lists *l = arg;
    for (; strncmp(e->key, l->prefix[l->at], strlen(l->prefix[l->at])) != 0; l->at++)
        if (l->at + 1 == l->n)
            return BKT_EFORMAT;
    l->full = l->n_keys++ == LISTED_MAX;
    return l->full ? BKT_ERANGE : bkt_strs_add(&l->m->listed[l->of[l->at] - l->from], e->key);
}

static bool has_prefix(const struct bkt_gone *g)
{
    return bkt_id_kind(g->id) == BKT_DATASET && bkt_id_is_v2(g->id);
}

/* List datasets side by side.  Those whose lists fail, or have very many keys, are left to their turn. */
static void list_ahead(struct many *m, size_t from)
{
    struct lists *l = malloc(sizeof *l);
    if (!l)
        return;
    for (size_t i = 0; i < m->n_listed; i++)
        bkt_strs_fini(&m->listed[i]);
    l->m    = m;
    l->from = from;
    l->n = l->at = l->n_keys = 0;
    l->full     = false;
    size_t until = from;
    for (; until < m->n && until < from + LISTS; until++)
        if (has_prefix(&m->v[until])) {
            dataset_prefix(m->v[until].id, l->prefix[l->n], sizeof l->prefix[0]);
            l->prefixes[l->n] = l->prefix[l->n];
            l->of[l->n++]     = until;
        }
    m->n_listed = 0;
    if (l->n < 2) {
        free(l);
        return;
    }
    int rc         = bkt_store_list_each(m->st, l->prefixes, l->n, on_listed, l, NULL);
    m->one_by_one  = rc < 0 && !l->full;
    m->listed_from = from;
    m->n_listed    = (rc < 0 ? l->of[l->at] : until) - from;
    for (size_t i = m->n_listed; i < until - from; i++)
        bkt_strs_fini(&m->listed[i]);
    free(l);
}

static int list_dataset(struct many *m, size_t i, struct bkt_strs *keys, struct bkt_err *err)
{
    char prefix[64];
    if (!m->one_by_one && i >= m->listed_from + m->n_listed)
        list_ahead(m, i);
    if (i < m->listed_from + m->n_listed) {
        struct bkt_strs *listed = &m->listed[i - m->listed_from];
        *keys   = *listed;
        *listed = (struct bkt_strs){0};
        return BKT_OK;
    }
    dataset_prefix(m->v[i].id, prefix, sizeof prefix);
    return bkt_store_list(m->st, prefix, "", collect_key, keys, err);
}

static int collect_object(struct many *m, size_t i, struct bkt_err *err)
{
    const struct bkt_gone                   *g   = &m->v[i];
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs k = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (g->o && needs_layout(g->o))
        BKT_PASS(delete_v1_chunks(m->st, g->o, err));
    if (!has_prefix(g)) {
        if (bkt_id_key(g->id, &key) < 0 || collect(m, i, bkt_buf_str(&key)) < 0)
            BKT_NOMEM(err);
        return BKT_OK;
    }
    BKT_PASS(list_dataset(m, i, &k, err));
    for (size_t at = 0; at < k.n; at++) {
        if (m->failed) /* not everything is tried */
            return bkt_err_copy(err, m->failed->rc, m->failed->err);
        if (collect(m, i, k.v[at]) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

void bkt_remove_objects(struct bkt_store *st, struct bkt_gone *v, size_t n)
{
    struct bkt_err err = {.n = 0};
    struct many   *m   = calloc(1, sizeof *m);
    size_t         i   = 0;
    int            rc  = m ? BKT_OK : BKT_ERR(&err, BKT_ENOMEM, "out of memory");
    if (m) {
        m->st = st;
        m->v  = v;
        m->n  = n;
        for (; i < n && !m->failed; i++) {
            bkt_err_clear(&err);
            if ((rc = collect_object(m, i, &err)) < 0)
                note_failure(m, &v[i], rc, &err);
        }
        delete_collected(m);
        for (size_t k = 0; k < m->n_listed; k++)
            bkt_strs_fini(&m->listed[k]);
    }
    const struct bkt_gone *bad = m ? m->failed : NULL;
    for (; i < n; i++) { /* objects that weren't tried */
        v[i].rc  = bad ? bad->rc : rc;
        v[i].err = bkt_err_dup(bad && bad->err ? bad->err : &err);
    }
    free(m);
}

void bkt_gone_fini(struct bkt_gone *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].err);
    free(v);
}
