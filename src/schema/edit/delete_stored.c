/* Deleting in the store: objects, and domains with all their objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "schema/edit/edit_impl.h"
#include "schema/name/bucket_dir.h"

/* Keys deleted at once: as many as S3 lists in one answer.  storage/s3/changes.c makes requests of
 * them. */
#define WAVE       1000

#define LISTS      256   /* datasets whose keys are listed side by side */
#define LISTED_MAX 16384 /* keys of these datasets, 2 MB; datasets with more are listed in their turn */

/* ---- in the store ---- */

bool bkt_edit_refused(int rc)
{
    return rc == BKT_EACCES || rc == BKT_EUNSUP;
}

static int delete_keys(struct bkt_store *st, const struct bkt_strs *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->n; i += WAVE)
        BKT_PASS(bkt_store_delete(st, (const char *const *)k->v + i, k->n - i < WAVE ? k->n - i : WAVE, err));
    return BKT_OK;
}

static int collect_key(const struct bkt_listed *e, void *arg)
{
    return bkt_strs_add(arg, e->key);
}

int bkt_remove_tree(struct bkt_store *st, const struct bkt_id *root, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs k = {0};
    char prefix[64];
    BKT_FAIL_IF(err, !bkt_id_is_v2(root), BKT_EINVAL, "objects of version 1 have no tree");
    (void)snprintf(prefix, sizeof prefix, "db/%.17s/", root->text + 2);
    BKT_PASS(bkt_store_list(st, prefix, "", collect_key, &k, err));
    return delete_keys(st, &k, err);
}

struct v1_chunks {
    const char *id; /* the dataset's, behind its letter */
    struct bkt_strs keys;
};

/* Keys are: hash, '-', 'c', partition, id, '_', place */
static int collect_v1_chunk(const struct bkt_listed *e, void *arg)
{
    struct v1_chunks *c = arg;
    const char *at =
        strlen(e->key) > 6 && e->key[5] == '-' && e->key[6] == 'c' ? strstr(e->key + 7, c->id) : NULL;
    return at && at[strlen(c->id)] == '_' && !strchr(e->key, '/') ? bkt_strs_add(&c->keys, e->key) : BKT_OK;
}

/* Each key begins with a hash of its own, so the whole bucket is listed. */
static int delete_v1_listed(struct bkt_store *st, const struct bkt_id *id, struct bkt_err *err)
{
    struct v1_chunks c = {.id = id->text + 1};
    int rc = bkt_store_list(st, "", "", collect_v1_chunk, &c, err);
    rc = rc < 0 ? rc : delete_keys(st, &c.keys, err);
    bkt_strs_fini(&c.keys);
    return rc;
}

/* Delete every possible chunk, unseen.  If these are too many, a list of the bucket shows which exist. */
static int delete_v1_chunks(struct bkt_store *st, const struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs k = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    const struct bkt_layout *l = &o->dset.layout;
    uint64_t at[BKT_MAX_RANK] = {0}, grid[BKT_MAX_RANK];
    if (l->cls != BKT_D_CHUNKED)
        return BKT_OK;
    for (unsigned i = 0; i < l->rank; i++) {
        uint64_t extent = o->dset.space.rank ? o->dset.space.dims[i] : 1;
        grid[i] = extent / l->dims[i] + (extent % l->dims[i] != 0);
        if (!grid[i])
            return BKT_OK;
    }
    if (bkt_v1_are_many(grid, l->rank))
        return delete_v1_listed(st, &o->id, err);
    for (unsigned i = 0; i < l->rank;) {
        bkt_buf_clear(&key);
        BKT_NEED(err, bkt_chunk_key(&o->id, l, at, &key) >= 0 && bkt_strs_add(&k, bkt_buf_str(&key)) >= 0);
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
    struct bkt_gone *v;
    size_t n;
    /* datasets that are listed side by side: their prefixes and places in v; at: the one under way */
    char prefix[LISTS][64];
    const char *prefixes[LISTS];
    size_t dset[LISTS], n_dsets, at;
    /* their keys, one dataset's behind the other's; next: of the next dataset up to v[until - 1] */
    struct bkt_strs listed;
    size_t next, until;
    bool full, one_by_one;
    struct bkt_strs keys;
    size_t of[WAVE]; /* the object of each key */
    struct bkt_req reqs[WAVE];
    struct bkt_gone *failed; /* the first object whose failure ends the work */
};

static void note_failure(struct many *m, struct bkt_gone *g, int rc, const struct bkt_err *err)
{
    if (g->rc == BKT_OK) {
        g->rc = rc;
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
    (void)bkt_store_perform(m->st, m->reqs, n, NULL);
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

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct many *m = arg;
    for (; strncmp(e->key, m->prefix[m->at], strlen(m->prefix[m->at])) != 0; m->at++)
        if (m->at + 1 == m->n_dsets)
            return BKT_EFORMAT;
    m->full = m->listed.n == LISTED_MAX;
    return m->full ? BKT_ERANGE : bkt_strs_add(&m->listed, e->key);
}

static bool has_prefix(const struct bkt_gone *g)
{
    return bkt_id_kind(g->id) == BKT_DATASET && bkt_id_is_v2(g->id);
}

/* List datasets side by side.  Those whose lists fail, or have very many keys, are left to their turn. */
static void list_ahead(struct many *m, size_t from)
{
    size_t until = from;
    bkt_strs_fini(&m->listed);
    m->n_dsets = m->at = m->next = 0;
    m->until = from;
    m->full = false;
    for (; until < m->n && until < from + LISTS; until++)
        if (has_prefix(&m->v[until])) {
            dataset_prefix(m->v[until].id, m->prefix[m->n_dsets], sizeof m->prefix[0]);
            m->prefixes[m->n_dsets] = m->prefix[m->n_dsets];
            m->dset[m->n_dsets++] = until;
        }
    if (m->n_dsets < 2)
        return;
    int rc = bkt_store_list_each(m->st, m->prefixes, m->n_dsets, on_listed, m, NULL);
    m->one_by_one = rc < 0 && !m->full;
    m->until = rc < 0 ? m->dset[m->at] : until;
}

static int collect_dataset(struct many *m, size_t i, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs own = {0};
    const struct bkt_strs *keys = &m->listed;
    size_t first = 0, *at = &m->next;
    char prefix[64];
    dataset_prefix(m->v[i].id, prefix, sizeof prefix);
    if (!m->one_by_one && i >= m->until)
        list_ahead(m, i);
    if (i >= m->until) {
        BKT_PASS(bkt_store_list(m->st, prefix, "", collect_key, &own, err));
        keys = &own;
        at = &first;
    }
    for (; *at < keys->n && strncmp(keys->v[*at], prefix, strlen(prefix)) == 0; ++*at) {
        if (m->failed) /* not everything is tried */
            return bkt_err_copy(err, m->failed->rc, m->failed->err);
        BKT_PASS_MEM(err, collect(m, i, keys->v[*at]));
    }
    return BKT_OK;
}

static int collect_object(struct many *m, size_t i, struct bkt_err *err)
{
    const struct bkt_gone *g = &m->v[i];
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (has_prefix(g))
        return collect_dataset(m, i, err);
    if (g->o && g->o->kind == BKT_DATASET) /* of version 1: its chunks have no list */
        BKT_PASS(delete_v1_chunks(m->st, g->o, err));
    BKT_NEED(err, bkt_id_key(g->id, &key) >= 0 && collect(m, i, bkt_buf_str(&key)) >= 0);
    return BKT_OK;
}

void bkt_remove_objects(struct bkt_store *st, struct bkt_gone *v, size_t n)
{
    struct bkt_err err = {.n = 0};
    struct many *m = calloc(1, sizeof *m);
    size_t i = 0;
    int rc = BKT_MADE(&err, m);
    if (m) {
        m->st = st;
        m->v = v;
        m->n = n;
        for (; i < n && !m->failed; i++) {
            bkt_err_clear(&err);
            if ((rc = collect_object(m, i, &err)) < 0)
                note_failure(m, &v[i], rc, &err);
        }
        delete_collected(m);
        bkt_strs_fini(&m->listed);
    }
    const struct bkt_gone *bad = m ? m->failed : NULL;
    for (; i < n; i++) { /* objects that weren't tried */
        v[i].rc = bad ? bad->rc : rc;
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

/* ---- domains ---- */

/* Objects found by following links, each once, in the order in which they were found. */
struct found {
    struct bkt_map *seen;
    struct bkt_ids ids;
};

static void found_fini(struct found *f)
{
    bkt_map_free(f->seen, NULL);
    bkt_ids_fini(&f->ids);
}

static int find_one(struct found *f, const struct bkt_id *id)
{
    if (bkt_map_get(f->seen, id->text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(bkt_ids_add(&f->ids, id));
    return bkt_map_set(&f->seen, id->text, BKT_ID_LEN, f, NULL);
}

/* The objects that an object of version 1 leads to. */
static int find_members(const struct bkt_object *o, struct found *f)
{
    const struct bkt_link *l;
    const struct bkt_id *type;
    size_t pos = 0;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        BKT_PASS(find_one(f, &l->id));
    while ((type = bkt_object_next_type(o, &pos)))
        BKT_PASS(find_one(f, type));
    return o->kind == BKT_DATASET && o->dset.layout.chunk_table.text[0]
               ? find_one(f, &o->dset.layout.chunk_table)
               : BKT_OK;
}

/* Objects of version 1 that are fetched, and deleted, together.  Smaller waves wait more often for their last
 * request. */
#define V1_WAVE 1024

/* Fetch the found objects first .. first+n-1, and find those that they lead to.  Ids of missing objects are
 * cleared. */
static int find_v1_wave(struct bkt_domain *d, struct found *f, size_t first, size_t n, struct bkt_err *err)
{
    struct bkt_id ids[V1_WAVE]; /* the list may move */
    memcpy(ids, f->ids.v + first, n * sizeof *ids);
    bkt_objects_prefetch(d->objects, ids, n);
    for (size_t i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
        BKT_PASS(bkt_objects_find(d->objects, bkt_alias_of(d, &ids[i]), &o, err));
        if (o)
            BKT_PASS_MEM(err, find_members(o, f));
        else
            f->ids.v[first + i].text[0] = 0;
    }
    return BKT_OK;
}

/* Only a dataset's layout shows the places of its chunks; for other objects the key is enough. */
static int remove_v1_wave(struct bkt_domain *d, const struct bkt_id *ids, size_t n, struct bkt_err *err)
{
    struct bkt_gone *gone = calloc(n, sizeof *gone);
    size_t m = 0;
    int rc = BKT_OK;
    BKT_NEED(err, gone);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        bool is_dataset = ids[i].text[0] && bkt_id_kind(&ids[i]) == BKT_DATASET;
        gone[m] = (struct bkt_gone){.id = &ids[i]};
        if (is_dataset)
            rc = bkt_objects_find(d->objects, bkt_alias_of(d, &ids[i]), &gone[m].o, err);
        m += ids[i].text[0] && (!is_dataset || gone[m].o);
    }
    if (rc == BKT_OK)
        bkt_remove_objects(d->store, gone, m);
    for (size_t i = 0; i < m; i++) {
        bool deleted = rc == BKT_OK && gone[i].rc == BKT_OK;
        bkt_object_release(gone[i].o);
        if (deleted)
            bkt_objects_drop(d->objects, gone[i].id, false);
        else if (rc == BKT_OK)
            rc = bkt_err_copy(err, gone[i].rc, gone[i].err);
    }
    bkt_gone_fini(gone, m);
    return rc;
}

/* Handle the found objects *first .. to-1; the objects that they lead to follow them.  *first becomes the
 * first of those. */
static int find_v1_level(struct bkt_domain *d, struct found *f, size_t *first, struct bkt_err *err)
{
    const size_t to = f->ids.n;
    for (size_t n; *first < to; *first += n) {
        n = to - *first < V1_WAVE ? to - *first : V1_WAVE;
        BKT_PASS(find_v1_wave(d, f, *first, n, err));
    }
    return BKT_OK;
}

static int remove_v1_level(struct bkt_domain *d, const struct found *f, size_t from, size_t to,
                           struct bkt_err *err)
{
    for (size_t n; from < to; from += n) {
        n = to - from < V1_WAVE ? to - from : V1_WAVE;
        BKT_PASS(remove_v1_wave(d, f->ids.v + from, n, err));
    }
    return BKT_OK;
}

/* Objects of version 1 are scattered, and only links lead to them.  Those furthest from the root group are
 * deleted first.  So if the deletion is cut off, the remaining objects can be found from there again. */
static int remove_v1(struct bkt_domain *d, const struct bkt_id *root, struct bkt_err *err)
{
    BKT_CLEANUP(found_fini) struct found f = {.seen = NULL};
    BKT_CLEANUP(bkt_freep) size_t *levels = NULL; /* the first object of each distance from the root group */
    size_t n = 0, cap = 0, at = 0;
    BKT_PASS_MEM(err, find_one(&f, root));
    while (at < f.ids.n) {
        BKT_PASS_MEM(err, bkt_list_room(&levels, n, &cap, sizeof *levels));
        levels[n++] = at;
        BKT_PASS(find_v1_level(d, &f, &at, err));
    }
    for (size_t to = f.ids.n; n-- > 0; to = levels[n])
        BKT_PASS(remove_v1_level(d, &f, levels[n], to, err));
    return BKT_OK;
}

int bkt_remove_below(struct bkt_domain *d, const struct bkt_id *root, struct bkt_err *err)
{
    return bkt_id_is_v2(root) ? bkt_remove_tree(d->store, root, err) : remove_v1(d, root, err);
}

int bkt_domain_delete_objects(struct bkt_domain *d, struct bkt_err *err)
{
    return bkt_remove_below(d, &d->doc.root, err);
}

static int delete_doc(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(d->path, &key));
    const char *one = bkt_buf_str(&key);
    return bkt_store_delete(d->store, &one, 1, err);
}

/* The document of a version 1 domain is kept beside its place until all objects are gone, since only it leads
 * to them. */
static int keep_doc(struct bkt_domain *d, bool keep, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, mark = {0}, json = {0};
    const char *s = *d->path ? "/" : "";
    BKT_NEED(err, bkt_domain_doc_key(d->path, &key) >= 0 &&
                      bkt_buf_addf(&mark, "%s%s" BKT_DELETE_MARK, d->path, s) >= 0);
    const char *one = bkt_buf_str(&mark);
    if (!keep)
        return bkt_store_delete(d->store, &one, 1, err);
    BKT_PASS(bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, &json, err));
    return bkt_store_put(d->store, one, json.ptr, json.len, NULL, NULL, NULL, err);
}

static int delete_domain(struct bkt_domain *d, const struct bkt_name *n, bool keep_data, struct bkt_err *err)
{
    BKT_PASS(bkt_domain_locate(d, n, err));
    BKT_PASS(bkt_domain_open_parts(d, err));
    BKT_PASS(bkt_domain_may_write(d, BKT_ACL_DELETE, err));
    const bool v1 = !keep_data && !bkt_id_is_v2(&d->doc.root);
    if (v1)
        BKT_PASS(keep_doc(d, true, err));
    BKT_PASS(delete_doc(d, err));
    if (!keep_data)
        BKT_PASS(bkt_domain_delete_objects(d, err));
    return v1 ? keep_doc(d, false, err) : BKT_OK;
}

/* Nothing is deleted through a link, whatever the settings: its maker may mean harm. */
static int refuse_link(const struct bkt_name *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (!n->search || !n->local)
        return BKT_OK; /* the store refuses it */
    BKT_PASS_MEM(err, bkt_buf_addf(&path, "/%s", n->path));
    size_t link = bkt_bucket_link(bkt_buf_str(&path), false);
    BKT_FAIL_IF(err, link, BKT_EACCES,
                "%s: %.*s is a symbolic link, and nothing is deleted through one; name its "
                "target",
                bkt_buf_str(&path), (int)link, bkt_buf_str(&path));
    return BKT_OK;
}

int bkt_domain_delete(const char *name, const struct bkt_settings *set, bool keep_data, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    struct bkt_domain *d = NULL;
    BKT_PASS(bkt_name_parse(name, set, BKT_NAME_OPEN, &n, err));
    BKT_PASS(refuse_link(&n, err));
    BKT_PASS(bkt_domain_new(&bkt_edit_ops, name, &n, set, BKT_EBUSY, &d, err));
    int rc = delete_domain(d, &n, keep_data, err);
    bkt_domain_destroy(d);
    return rc;
}
