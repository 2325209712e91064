/* h5bucket verify: finds objects of a domain in the store that nothing in it needs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/list.h"
#include "base/num.h"
#include "base/os/clock.h"
#include "tools/bucket/snapshots.h"
#include "tools/show/show.h"
#include "tools/source/key_list.h"
#include "tools/verify/verify.h"

struct listed { /* by id: an object, and the chunks of a dataset */
    bool     json;
    uint64_t n_chunks, bytes;
    double   newest;
};
struct reached { /* a needed dataset's grid, for chunks outside it */
    enum bkt_kind         kind;
    enum bkt_layout_class cls;
    uint64_t              chunk_bytes; /* that every chunk object must have; 0: not known */
    uint64_t              n_bad;
    unsigned              rank;
    uint64_t              grid[];
};

static int on_key(const struct bkt_listed_key *s, void *arg)
{
    struct bkt_verify *v = arg;
    if (s->what == BKT_KEY_OTHER)
        return BKT_OK;
    struct listed *l = bkt_map_make(&v->listed, s->id.text, BKT_ID_LEN, sizeof *l);
    if (!l)
        return BKT_ENOMEM;
    l->json |= s->what == BKT_KEY_OBJECT;
    l->n_chunks += s->what == BKT_KEY_CHUNK;
    v->n_chunks += s->what == BKT_KEY_CHUNK;
    l->bytes += s->entry->size;
    l->newest = s->entry->stored > l->newest ? s->entry->stored : l->newest;
    return BKT_OK;
}

int bkt_verify_list(struct bkt_verify *v)
{
    struct bkt_err why = {.n = 0};
    v->is_listed       = true;
    int rc = bkt_key_list(bkt_domain_store(v->d), bkt_domain_root(v->d), on_key, v, &why);
    if (rc != BKT_EUNSUP)
        return rc < 0 ? bkt_err_copy(v->err, rc, &why) : BKT_OK;
    bkt_map_clear(&v->listed, free);
    v->is_listed = false;
    bkt_verify_note(v, "/", bkt_domain_root(v->d)->text, &why);
    return BKT_OK;
}

/* Size of an unencoded chunk object, the same for all; 0: chunks are encoded, or of variable size. */
static uint64_t unencoded_bytes(const struct bkt_dset *ds)
{
    uint64_t n = ds->type ? ds->type->size : 0;
    if (ds->bad || !ds->type || ds->type->is_var || ds->n_filters || ds->layout.cls != BKT_D_CHUNKED)
        return 0;
    for (unsigned i = 0; i < ds->layout.rank; i++)
        if (!bkt_mul_u64(n, ds->layout.dims[i], &n))
            return 0;
    return n;
}

int bkt_verify_reached(struct bkt_verify *v, const struct bkt_object *o)
{
    unsigned        rank = o->kind == BKT_DATASET ? o->dset.layout.rank : 0;
    struct reached *r    = malloc(sizeof *r + rank * sizeof *r->grid);
    if (!r || bkt_map_set(&v->reached, o->id.text, BKT_ID_LEN, r, NULL) < 0) {
        free(r);
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    }
    *r = (struct reached){
        .kind = o->kind, .cls = o->kind == BKT_DATASET ? o->dset.layout.cls : BKT_D_NONE, .rank = rank};
    r->chunk_bytes = o->kind == BKT_DATASET ? unencoded_bytes(&o->dset) : 0;
    for (unsigned i = 0; i < rank; i++)
        r->grid[i] = i < o->dset.space.rank && o->dset.layout.dims[i]
                         ? bkt_ceil_div(o->dset.space.dims[i], o->dset.layout.dims[i])
                         : 1;
    return BKT_OK;
}

int bkt_verify_reach(struct bkt_verify *v, int (*each)(const struct bkt_reached *r, void *arg))
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids others = {0};
    struct bkt_map_at at = {0};
    BKT_PASS(bkt_reach(v->d, each, v, v->err));
    while (!v->n_problems && bkt_map_walk(v->listed, &at)) {
        struct bkt_id id = {{0}};
        memcpy(id.text, at.key, BKT_ID_LEN);
        if (((const struct listed *)at.value)->json && !bkt_map_get(v->reached, id.text, BKT_ID_LEN))
            BKT_PASS_MEM(v->err, bkt_ids_add(&others, &id));
    }
    return bkt_reach_kept(v->d, &others, each, v, v->err);
}

/* ---- removing ---- */

/* Whether an object is too young to be removed.  If this machine's clock is ahead, a new object would seem
 * old.  The answer's Date may be ahead too, if a proxy makes it; so the earlier of both counts.  With min_age
 * 0 the age doesn't matter, even if the server, which reports whole seconds, seems to have stored the object
 * in the future. */
bool bkt_verify_is_fresh(const struct bkt_verify *v, struct bkt_store *st, double stored)
{
    int64_t ahead = v->min_age > 0 ? bkt_store_ahead(st) : 0;
    return v->min_age > 0 && bkt_time_of_day() + (double)(ahead < 0 ? ahead : 0) - stored < v->min_age;
}

struct removal {
    struct bkt_verify *v;
    struct bkt_store  *st;
    bool               fresh;
    struct bkt_strs    keys;
};

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct removal *r = arg;
    if (bkt_verify_is_fresh(r->v, r->st, e->stored)) {
        r->fresh = true;
        return BKT_ECANCEL;
    }
    return bkt_strs_add(&r->keys, e->key);
}

static void removal_fini(struct removal *r) { bkt_strs_fini(&r->keys); }

/* Delete a tree or an object's folder, unless something in it is younger than min_age: then *fresh. */
static int delete_old(struct bkt_verify *v, struct bkt_store *st, const char *prefix, bool *fresh)
{
    BKT_CLEANUP(removal_fini) struct removal r = {.v = v, .st = st};
    int rc = bkt_store_list(st, prefix, "", on_listed, &r, v->err);
    *fresh = r.fresh;
    if (r.fresh) {
        bkt_err_clear(v->err);
        return BKT_OK;
    }
    return rc < 0 ? rc : bkt_store_delete(st, (const char *const *)r.keys.v, r.keys.n, v->err);
}

/* ---- orphans ---- */

int bkt_verify_orphan(struct bkt_verify *v, struct bkt_orphan *o, const char *prefix, const char *key)
{
    o->fresh   = bkt_verify_is_fresh(v, o->st, o->modified);
    o->removed = v->repair && !o->fresh;
    if (o->removed && prefix) {
        BKT_PASS(delete_old(v, o->st, prefix, &o->fresh));
        o->removed = !o->fresh;
    }
    if (o->removed && key)
        BKT_PASS(bkt_key_delete(o->st, key, v->err));
    bkt_jout_open(&v->j, NULL, '{');
    return BKT_OK;
}

void bkt_verify_end_orphan(struct bkt_verify *v, const struct bkt_orphan *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    va_end(ap);
    v->n_fresh += o->fresh;
    v->n_orphans += !o->fresh;
    v->n_removed += o->removed;
    bkt_jout_members(&v->j, "modified:r fresh:b removed:b", o->modified, o->fresh, o->removed);
    bkt_jout_close(&v->j);
    if (!v->t->json)
        printf("%s: %s%s\n", o->fresh ? "fresh" : "orphan", text ? text : "", o->removed ? ": removed" : "");
}

static int report(struct bkt_verify *v, const struct bkt_id *id, const struct listed *l)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    struct bkt_orphan o = {.st = bkt_domain_store(v->d), .modified = l->newest};
    if (bkt_id_key(id, &key) < 0)
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    while (key.len && key.ptr[key.len - 1] != '/')
        bkt_buf_cut(&key, key.len - 1);
    BKT_PASS(bkt_verify_orphan(v, &o, bkt_buf_str(&key), NULL));
    bkt_jout_members(&v->j, "id:s object:b chunks:n bytes:n", id->text, l->json, l->n_chunks, l->bytes);
    bkt_verify_end_orphan(v, &o, "%s%s, %llu chunks, %llu bytes", id->text, l->json ? "" : " (chunks only)",
                          (unsigned long long)l->n_chunks, (unsigned long long)l->bytes);
    return BKT_OK;
}

/* Chunks of needed datasets outside of the extent, or of a layout that has none. */
struct bkt_stray {
    struct bkt_id id;
    char         *key;
    uint64_t      size;
    double        mtime;
};

void bkt_verify_strays_fini(struct bkt_strays *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].key);
    free(s->v);
    *s = (struct bkt_strays){NULL, 0, 0};
}

static bool is_stray(const struct reached *r, const char *name)
{
    if (r->cls != BKT_D_CHUNKED)
        return true;
    for (unsigned i = 0; i < r->rank; i++) {
        char *end;
        if (*name < '0' || *name > '9' || strtoull(name, &end, 10) >= r->grid[i] ||
            *end != (i + 1 < r->rank ? '_' : 0))
            return true;
        name = end + 1;
    }
    return false;
}

static int note_stray(struct bkt_verify *v, const struct bkt_listed_key *s)
{
    struct bkt_strays *l = &v->strays;
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    l->v[l->n] = (struct bkt_stray){s->id, strdup(s->entry->key), s->entry->size, s->entry->mtime};
    return l->v[l->n].key ? (l->n++, BKT_OK) : BKT_ENOMEM;
}

static int on_sized(const struct bkt_listed_key *s, void *arg)
{
    struct bkt_verify *v = arg;
    struct reached *r = s->what == BKT_KEY_CHUNK ? bkt_map_get(v->reached, s->id.text, BKT_ID_LEN) : NULL;
    if (!r)
        return BKT_OK;
    if (is_stray(r, s->chunk))
        return note_stray(v, s);
    if (s->entry->size == 0 && r->n_bad++ < BKT_VERIFY_REPORTED)
        bkt_verify_problem(v, "chunk", "", s->id.text, "chunk %s is empty", s->chunk);
    else if (s->entry->size && r->chunk_bytes && s->entry->size != r->chunk_bytes &&
             r->n_bad++ < BKT_VERIFY_REPORTED)
        bkt_verify_problem(v, "chunk", "", s->id.text, "chunk %s has %llu bytes instead of %llu", s->chunk,
                           (unsigned long long)s->entry->size, (unsigned long long)r->chunk_bytes);
    return BKT_OK;
}

int bkt_verify_sizes(struct bkt_verify *v)
{
    if (!v->is_listed)
        return BKT_OK;
    int rc = bkt_key_list(bkt_domain_store(v->d), bkt_domain_root(v->d), on_sized, v, v->err);
    return rc == BKT_ENOMEM ? BKT_ERR(v->err, rc, "out of memory") : rc;
}

static int report_stray(struct bkt_verify *v, const struct bkt_stray *s)
{
    const char *chunk = bkt_base_name(s->key);
    struct bkt_orphan o     = {.st = bkt_domain_store(v->d), .modified = s->mtime};
    BKT_PASS(bkt_verify_orphan(v, &o, NULL, s->key));
    bkt_jout_members(&v->j, "id:s chunk:s bytes:n", s->id.text, chunk, s->size);
    bkt_verify_end_orphan(v, &o, "chunk %s of %s lies outside of its extent", chunk, s->id.text);
    return BKT_OK;
}

int bkt_verify_orphans(struct bkt_verify *v)
{
    struct bkt_map_at at = {0};
    while (bkt_map_walk(v->listed, &at)) {
        struct bkt_id id = {{0}};
        memcpy(id.text, at.key, BKT_ID_LEN);
        if (!bkt_map_get(v->reached, id.text, BKT_ID_LEN))
            BKT_PASS(report(v, &id, at.value));
    }
    for (size_t i = 0; i < v->strays.n; i++)
        BKT_PASS(report_stray(v, &v->strays.v[i]));
    return BKT_OK;
}

/* ---- the domain's snapshot: whether it matches the stored objects ---- */

/* Objects of a snapshot that counts as current, with what is stored in their place. */
struct compare {
    struct bkt_verify *v;
    struct bkt_req     req[BKT_TOOL_BATCH];
    struct bkt_buf     key[BKT_TOOL_BATCH];
    const void        *json[BKT_TOOL_BATCH];
    size_t             n_json[BKT_TOOL_BATCH], n;
    size_t             n_wrong;
};

static int compare_batch(struct compare *c)
{
    int rc = BKT_OK;
    for (size_t i = 0; i < c->n; i++)
        c->req[i] = (struct bkt_req){.op = BKT_GET, .key = bkt_buf_str(&c->key[i]), .len = BKT_WHOLE};
    (void)bkt_store_perform(bkt_domain_store(c->v->d), c->req, c->n, NULL);
    for (size_t i = 0; i < c->n; i++) {
        const struct bkt_req *r = &c->req[i];
        /* an object that was deleted does no harm; a damaged one was reported when it was reached */
        if (r->rc < 0 && r->rc != BKT_ENOENT && r->rc != BKT_EFORMAT && rc == BKT_OK)
            rc = bkt_err_copy(c->v->err, r->rc, r->err);
        c->n_wrong += r->rc == BKT_OK &&
                      (r->body.len != c->n_json[i] || memcmp(r->body.ptr, c->json[i], c->n_json[i]) != 0);
        bkt_req_fini(&c->req[i]);
        bkt_buf_fini(&c->key[i]);
    }
    c->n = 0;
    return rc;
}

/* Compares all objects byte by byte: one under an ETag that is still current, but with other bytes, would be
 * taken for the stored object. */
static int compare_all(struct bkt_verify *v, struct bkt_snapshot *s, size_t *n_wrong)
{
    BKT_CLEANUP(bkt_freep) struct compare *c   = calloc(1, sizeof *c);
    struct bkt_map_at                      at  = {0};
    int                                    rc  = BKT_OK;
    BKT_NEED(v->err, c);
    c->v = v;
    while (rc == BKT_OK && bkt_map_walk(v->reached, &at)) {
        struct bkt_id one = {.text = ""};
        const char   *etag;
        memcpy(one.text, at.key, BKT_ID_LEN);
        if (!bkt_snapshot_take(s, &one, &c->json[c->n], &c->n_json[c->n], &etag))
            continue;
        if (bkt_id_key(&one, &c->key[c->n++]) < 0)
            rc = BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
        else if (c->n == BKT_TOOL_BATCH)
            rc = compare_batch(c);
    }
    int last = compare_batch(c);
    *n_wrong = c->n_wrong;
    return rc < 0 ? rc : last;
}

/* Finds the problem to report; *harmless: it only costs time. */
static int look(struct bkt_verify *v, char *why, size_t room, bool *harmless)
{
    struct bkt_snapshot *s   = NULL;
    struct bkt_err       err = {.n = 0};
    size_t               n, n_current, n_wrong = 0;
    *harmless = false;
    int rc    = bkt_snapshot_load(bkt_domain_store(v->d), bkt_domain_root(v->d), false, NULL, NULL, &s, &err);
    if (rc == BKT_ENOENT) {
        v->snapshot = "missing";
        (void)snprintf(why, room, "the document names a snapshot that does not exist");
        return BKT_OK;
    }
    if (rc == BKT_EFORMAT) {
        v->snapshot = "malformed";
        (void)snprintf(why, room, "%s", bkt_err_reason(&err, rc));
        return BKT_OK;
    }
    if (rc < 0)
        return bkt_err_copy(v->err, rc, &err);
    n = bkt_snapshot_count(s, &n_current);
    if (v->deep)
        rc = compare_all(v, s, &n_wrong);
    bkt_snapshot_free(s);
    *harmless   = n_wrong == 0;
    v->snapshot = n_wrong ? "malformed" : n_current < n || n_current < v->n_objects ? "outdated" : "current";
    if (n_wrong)
        (void)snprintf(why, room, "%zu objects in the snapshot differ from the stored objects with the same "
                       "ETags", n_wrong);
    else
        (void)snprintf(why, room, "%zu of %llu objects in the snapshot are up to date", n_current,
                       (unsigned long long)v->n_objects);
    return rc;
}

int bkt_verify_snapshot(struct bkt_verify *v)
{
    char why[BKT_ERR_MSG] = "";
    bool harmless;
    v->snapshot = "none";
    if (!bkt_domain_doc(v->d)->snapshot.objects || !bkt_id_is_v2(bkt_domain_root(v->d)) || !v->is_listed)
        return BKT_OK;
    BKT_PASS(look(v, why, sizeof why, &harmless));
    if (strcmp(v->snapshot, "current") == 0 || v->repair)
        return BKT_OK;
    if (!harmless) {
        bkt_verify_problem(v, "snapshot", "", bkt_domain_root(v->d)->text,
                           "%s (h5bucket snapshot remakes it)", why);
        return BKT_OK;
    }
    struct bkt_err note = {.n = 0};
    (void)BKT_ERR(&note, BKT_EPRECOND, "%s; the others are read one by one (h5bucket snapshot remakes it)",
                  why);
    bkt_verify_note(v, "", bkt_domain_root(v->d)->text, &note);
    return BKT_OK;
}

int bkt_verify_snapshot_repair(struct bkt_verify *v)
{
    struct snapshot_domain of = {bkt_domain_store(v->d), bkt_domain_path(v->d), bkt_domain_root(v->d)};
    if (strcmp(v->snapshot, "current") == 0 || strcmp(v->snapshot, "none") == 0)
        return BKT_OK;
    if (bkt_store_is_local(of.store)) { /* of no use there */
        BKT_PASS(snapshot_drop(&of, v->err));
        v->snapshot = "removed";
        return BKT_OK;
    }
    BKT_PASS(snapshot_make(&of, NULL, strcmp(v->snapshot, "outdated") == 0, 0, NULL, v->err));
    v->snapshot = "made";
    return BKT_OK;
}
