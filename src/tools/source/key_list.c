/* A domain's keys in the store; see key_list.h. */
#include "tools/source/key_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/dataset.h"

/* ---- keys ---- */

struct listing {
    size_t        prefix; /* length of "db/xxxxxxxx-xxxxxxxx/" */
    struct bkt_id root;
    int (*each)(const struct bkt_listed_key *s, void *arg);
    void *arg;
};

static bool is_chunk_name(const char *s)
{
    return *s && s[strspn(s, "0123456789_")] == 0 && *s != '_';
}

static void classify(const struct listing *sc, const char *key, struct bkt_listed_key *s)
{
    const char *rest = NULL;
    s->what = BKT_KEY_OTHER;
    if (bkt_id_of_key(&sc->root, key, &s->id)) {
        s->what = BKT_KEY_OBJECT;
    } else if (bkt_id_split_key(&sc->root, key, &s->id, &rest)) {
        s->tail = rest;
        if (*rest == 'p' && strchr(rest, '/'))
            rest = strchr(rest, '/') + 1;
        if (bkt_id_kind(&s->id) == BKT_DATASET && is_chunk_name(rest)) {
            s->what = BKT_KEY_CHUNK;
            s->chunk = rest;
        }
    }
    if (s->what == BKT_KEY_OTHER)
        s->id.text[0] = 0;
}

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct listing *sc = arg;
    struct bkt_listed_key s = {.entry = e};
    if (e->is_prefix || strlen(e->key) <= sc->prefix)
        return BKT_OK;
    classify(sc, e->key, &s);
    return sc->each(&s, sc->arg);
}

int bkt_key_list(struct bkt_store *st, const struct bkt_id *root,
                 int (*each)(const struct bkt_listed_key *s, void *arg), void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    struct listing sc = {.root = *root, .each = each, .arg = arg};
    BKT_FAIL_IF(err, !bkt_id_is_v2(root), BKT_EUNSUP,
                "objects of schema version 1 lie beside those of other domains, and can't "
                "be listed separately");
    BKT_PASS_MEM(err, bkt_id_key(root, &key));
    BKT_PASS(bkt_buf_resize(&key, key.len - strlen(".group.json")));
    sc.prefix = key.len;
    return bkt_store_list(st, bkt_buf_str(&key), "", on_listed, &sc, err);
}

/* ---- chunk objects of each dataset ---- */

static int add_use(const struct bkt_listed_key *s, void *arg)
{
    struct bkt_map **uses = arg;
    if (s->what != BKT_KEY_CHUNK)
        return BKT_OK;
    struct bkt_use *one = bkt_map_make(uses, s->id.text, BKT_ID_LEN, sizeof *one);
    if (!one)
        return BKT_ENOMEM;
    one->n++;
    one->bytes += s->entry->size;
    one->mtime = s->entry->mtime > one->mtime ? s->entry->mtime : one->mtime;
    return BKT_OK;
}

int bkt_uses_list(struct bkt_domain *d, struct bkt_map **out, struct bkt_err *err)
{
    BKT_NEED(err, (*out = bkt_map_new()));
    int rc = bkt_key_list(bkt_domain_store(d), bkt_domain_root(d), add_use, out, err);
    if (rc < 0)
        bkt_map_clear(out, free);
    return rc;
}

struct bkt_use bkt_uses_get(const struct bkt_map *uses, const struct bkt_id *dset)
{
    const struct bkt_use *one = bkt_map_get(uses, dset->text, BKT_ID_LEN);
    return one ? *one : (struct bkt_use){0, 0, 0};
}

/* ---- where the data lie ---- */

#define MAX_FILES 1000 /* named; more are counted */

static int add_file(struct bkt_extent_use *u, struct bkt_map **seen, const char *uri, uint64_t bytes)
{
    struct bkt_where_file *f = bkt_map_get(*seen, uri, strlen(uri));
    if (!f && u->n_files == MAX_FILES) {
        u->more_files++;
        return BKT_OK;
    }
    if (!f) {
        f  = &u->files[u->n_files];
        *f = (struct bkt_where_file){strdup(uri), 0, 0};
        if (!f->uri)
            return BKT_ENOMEM;
        u->n_files++;
        if (bkt_map_set(seen, uri, strlen(uri), f, NULL) < 0)
            return BKT_ENOMEM;
    }
    f->n++;
    f->bytes += bytes;
    return BKT_OK;
}

struct counting {
    struct bkt_extent_use *u;
    struct bkt_map        *seen;
};

static void counting_fini(struct counting *c) { bkt_map_free(c->seen, NULL); }

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct counting *c = arg;
    (void)coord;
    c->u->n++;
    c->u->bytes += info->size;
    return add_file(c->u, &c->seen, info->uri ? info->uri : "", info->size);
}

static int count_linked(struct bkt_domain *d, const struct bkt_object *o, struct bkt_extent_use *out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_dsetio_closep) struct bkt_dsetio *io = NULL;
    BKT_CLEANUP(counting_fini) struct counting        c  = {.u = out};
    const struct bkt_layout *l = &o->dset.layout;
    out->files = calloc(MAX_FILES, sizeof *out->files);
    BKT_NEED(err, out->files);
    if (l->cls == BKT_D_CONTIGUOUS_REF && l->file_uri) { /* known without checking the file */
        struct bkt_chunk_info one = {true, l->offset, l->size, 0, l->file_uri};
        return l->size ? on_chunk(NULL, &one, &c) : BKT_OK;
    }
    BKT_PASS(bkt_dsetio_open_places(d, o, NULL, NULL, &io, err));
    return bkt_chunk_iter(io, on_chunk, &c, err);
}

/* A forbidden reference, or a chunk table that is yet to be made, is reported, but isn't a failure. */
static int uncounted(struct bkt_extent_use *out, int rc, struct bkt_err *err, const struct bkt_err *why)
{
    if (rc != BKT_EACCES && rc != BKT_EUNSUP && rc != BKT_EFORMAT)
        return bkt_err_copy(err, rc, why);
    bkt_where_fini(out);
    out->linked = true;
    out->known  = false;
    out->why = strdup(bkt_err_reason(why, rc));
    return BKT_OK;
}

int bkt_where_count(struct bkt_domain *d, const struct bkt_object *o, const struct bkt_map *uses,
                    struct bkt_extent_use *out, struct bkt_err *err)
{
    *out        = (struct bkt_extent_use){.known = true};
    out->linked = bkt_layout_is_linked(&o->dset.layout);
    if (o->dset.layout.cls == BKT_D_NONE)
        return BKT_OK;
    struct bkt_err why = {.n = 0};
    if (out->linked) {
        int bad = count_linked(d, o, out, &why);
        return bad < 0 ? uncounted(out, bad, err, &why) : BKT_OK;
    }
    if (uses) {
        struct bkt_use u = bkt_uses_get(uses, &o->id);
        out->n           = u.n;
        out->bytes       = u.bytes;
        return BKT_OK;
    }
    int rc = bkt_domain_chunk_usage(d, o, &out->bytes, &out->n, &why);
    if (rc == BKT_OK)
        return BKT_OK;
    rc          = uncounted(out, rc, err, &why);
    out->linked = false;
    return rc;
}

void bkt_where_fini(struct bkt_extent_use *u)
{
    for (size_t i = 0; i < u->n_files; i++)
        free(u->files[i].uri);
    free(u->files);
    free(u->why);
    *u = (struct bkt_extent_use){.known = false};
}

uint64_t bkt_dset_logical(const struct bkt_dset *ds)
{
    uint64_t n = 0;
    if (ds->type->is_var || bkt_space_count(&ds->space, &n, NULL) < 0 || !bkt_mul_u64(n, ds->type->size, &n))
        return 0;
    return n;
}
