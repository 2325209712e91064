/* h5bucket verify: finds objects of a domain in the store that nothing in it needs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "base/os/clock.h"
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

static int on_scanned(const struct bkt_scanned *s, void *arg)
{
    struct bkt_verify *v = arg;
    if (s->what == BKT_SCAN_OTHER)
        return BKT_OK;
    struct listed *l = bkt_map_get(v->listed, s->id.text, BKT_ID_LEN);
    if (!l) {
        l = calloc(1, sizeof *l);
        if (!l || bkt_map_put(v->listed, s->id.text, BKT_ID_LEN, l, NULL) < 0) {
            free(l);
            return BKT_ENOMEM;
        }
    }
    l->json |= s->what == BKT_SCAN_OBJECT;
    l->n_chunks += s->what == BKT_SCAN_CHUNK;
    v->n_chunks += s->what == BKT_SCAN_CHUNK;
    l->bytes += s->entry->size;
    l->newest = s->entry->mtime > l->newest ? s->entry->mtime : l->newest;
    return BKT_OK;
}

int bkt_verify_list(struct bkt_verify *v)
{
    struct bkt_err why = {.n = 0};
    v->listed          = bkt_map_new();
    if (!v->listed)
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    int rc = bkt_scan(bkt_domain_store(v->d), bkt_domain_root(v->d), on_scanned, v, &why);
    if (rc != BKT_EUNSUP)
        return rc < 0 ? bkt_err_copy(v->err, rc, &why) : BKT_OK;
    bkt_map_free(v->listed, free);
    v->listed = NULL;
    bkt_verify_note(v, "/", bkt_domain_root(v->d)->text, &why);
    return BKT_OK;
}

/* Size of an unencoded chunk object, the same for all; 0: chunks are encoded, or of variable size. */
static uint64_t plain_bytes(const struct bkt_dset *ds)
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
    if (!r || bkt_map_put(v->reached, o->id.text, BKT_ID_LEN, r, NULL) < 0) {
        free(r);
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    }
    *r = (struct reached){
        .kind = o->kind, .cls = o->kind == BKT_DATASET ? o->dset.layout.cls : BKT_D_NONE, .rank = rank};
    r->chunk_bytes = o->kind == BKT_DATASET ? plain_bytes(&o->dset) : 0;
    for (unsigned i = 0; i < rank; i++)
        r->grid[i] = i < o->dset.space.rank && o->dset.layout.dims[i]
                         ? bkt_ceil_div(o->dset.space.dims[i], o->dset.layout.dims[i])
                         : 1;
    return BKT_OK;
}

/* ---- removing ---- */

/* Whether an object is too young to be removed.  If this machine's clock is ahead, a new object would seem
 * old.  The answer's Date may be ahead too, if a proxy makes it; so the earlier of both counts.  With min_age
 * 0 the age doesn't matter, even if the server, which reports whole seconds, seems to have stored the object
 * in the future. */
bool bkt_verify_is_fresh(const struct bkt_verify *v, struct bkt_store *st, double mtime)
{
    int64_t ahead = bkt_store_ahead(st);
    return v->min_age > 0 && bkt_time_of_day() + (double)(ahead < 0 ? ahead : 0) - mtime < v->min_age;
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
    if (bkt_verify_is_fresh(r->v, r->st, e->mtime)) {
        r->fresh = true;
        return BKT_ECANCEL;
    }
    return bkt_strs_add(&r->keys, e->key);
}

static void removal_fini(struct removal *r) { bkt_strs_fini(&r->keys); }

int bkt_verify_delete(struct bkt_verify *v, struct bkt_store *st, const char *prefix, bool *fresh)
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

void bkt_verify_end_orphan(struct bkt_verify *v, double modified, bool fresh, bool removed)
{
    v->n_fresh += fresh;
    v->n_orphans += !fresh;
    v->n_removed += removed;
    if (!v->t->json)
        return;
    bkt_jout_real(&v->j, "modified", modified);
    bkt_jout_bool(&v->j, "fresh", fresh);
    bkt_jout_bool(&v->j, "removed", removed);
    bkt_jout_close(&v->j);
}

static int tell(struct bkt_verify *v, const struct bkt_id *id, const struct listed *l)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    bool fresh = bkt_verify_is_fresh(v, bkt_domain_store(v->d), l->newest), removed = false;
    if (bkt_id_key(id, &key) < 0)
        return BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    while (key.len && key.ptr[key.len - 1] != '/')
        bkt_buf_cut(&key, key.len - 1);
    if (v->repair && !fresh) {
        int rc = bkt_verify_delete(v, bkt_domain_store(v->d), bkt_buf_str(&key), &fresh);
        if (rc < 0)
            return rc;
        removed = !fresh;
    }
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "id", id->text);
        bkt_jout_bool(&v->j, "object", l->json);
        bkt_jout_u64(&v->j, "chunks", l->n_chunks);
        bkt_jout_u64(&v->j, "bytes", l->bytes);
    } else {
        printf("%s: %s%s, %llu chunks, %llu bytes%s\n", fresh ? "fresh" : "orphan", id->text,
               l->json ? "" : " (chunks only)", (unsigned long long)l->n_chunks, (unsigned long long)l->bytes,
               removed ? ": removed" : "");
    }
    bkt_verify_end_orphan(v, l->newest, fresh, removed);
    return BKT_OK;
}

/* Chunks of needed datasets outside of the extent, or of a layout that has none. */
struct stray {
    struct bkt_id id;
    char         *key;
    uint64_t      size;
    double        mtime;
};
struct bkt_strays {
    struct stray *v;
    size_t        n, cap;
};

void bkt_verify_strays_free(struct bkt_strays *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        free(s->v[i].key);
    free(s ? s->v : NULL);
    free(s);
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

static int note_stray(struct bkt_verify *v, const struct bkt_scanned *s)
{
    struct bkt_strays *l = v->strays;
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    l->v[l->n] = (struct stray){s->id, strdup(s->entry->key), s->entry->size, s->entry->mtime};
    return l->v[l->n].key ? (l->n++, BKT_OK) : BKT_ENOMEM;
}

#define MOST_TOLD 100 /* chunks of one dataset */

static int on_sized(const struct bkt_scanned *s, void *arg)
{
    struct bkt_verify *v = arg;
    struct reached    *r = s->what == BKT_SCAN_CHUNK ? bkt_map_get(v->reached, s->id.text, BKT_ID_LEN) : NULL;
    if (!r)
        return BKT_OK;
    if (is_stray(r, s->chunk))
        return note_stray(v, s);
    if (s->entry->size == 0 && r->n_bad++ < MOST_TOLD)
        bkt_verify_problem(v, "chunk", "", s->id.text, "chunk %s is empty", s->chunk);
    else if (s->entry->size && r->chunk_bytes && s->entry->size != r->chunk_bytes && r->n_bad++ < MOST_TOLD)
        bkt_verify_problem(v, "chunk", "", s->id.text, "chunk %s has %llu bytes instead of %llu", s->chunk,
                           (unsigned long long)s->entry->size, (unsigned long long)r->chunk_bytes);
    return BKT_OK;
}

int bkt_verify_sizes(struct bkt_verify *v)
{
    if (!v->listed)
        return BKT_OK;
    v->strays = calloc(1, sizeof *v->strays);
    int rc =
        v->strays ? bkt_scan(bkt_domain_store(v->d), bkt_domain_root(v->d), on_sized, v, v->err) : BKT_ENOMEM;
    return rc == BKT_ENOMEM ? BKT_ERR(v->err, rc, "out of memory") : rc;
}

static int tell_stray(struct bkt_verify *v, const struct stray *s)
{
    const char *chunk = strrchr(s->key, '/');
    bool fresh = bkt_verify_is_fresh(v, bkt_domain_store(v->d), s->mtime), removed = v->repair && !fresh;
    const char *one   = s->key;
    chunk             = chunk ? chunk + 1 : s->key;
    if (removed)
        BKT_PASS(bkt_store_delete(bkt_domain_store(v->d), &one, 1, v->err));
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "id", s->id.text);
        bkt_jout_str(&v->j, "chunk", chunk);
        bkt_jout_u64(&v->j, "bytes", s->size);
    } else {
        printf("%s: chunk %s of %s lies outside of its extent%s\n", fresh ? "fresh" : "orphan", chunk,
               s->id.text, removed ? ": removed" : "");
    }
    bkt_verify_end_orphan(v, s->mtime, fresh, removed);
    return BKT_OK;
}

int bkt_verify_orphans(struct bkt_verify *v)
{
    size_t      pos = 0, n;
    const void *key;
    void       *value;
    while (v->listed && bkt_map_next(v->listed, &pos, &key, &n, &value)) {
        struct bkt_id id = {{0}};
        memcpy(id.text, key, BKT_ID_LEN);
        if (!bkt_map_get(v->reached, id.text, BKT_ID_LEN))
            BKT_PASS(tell(v, &id, value));
    }
    for (size_t i = 0; v->strays && i < v->strays->n; i++)
        BKT_PASS(tell_stray(v, &v->strays->v[i]));
    return BKT_OK;
}
