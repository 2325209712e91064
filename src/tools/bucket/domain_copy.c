/* Copies a domain; see domain_copy.h.
 *
 * Chunk objects are copied unchanged, many at a time.  JSON is rewritten if ids change.  Only values that
 * name objects (references in datasets) are decoded, and written through the chunk layer into a domain that
 * has a hidden name until all is there. */
#include "tools/bucket/domain_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit.h"
#include "tools/cli/interrupt.h"
#include "vol/core/filters.h"
#include "schema/json/replace_ids.h"
#include "tools/source/key_list.h"
#include "schema/snapshot/snapshot.h"
#include "tools/cli/tool.h"
#include "schema/edit/userblock.h"
#include "tools/bucket/walk.h"
#include "chunk/write/write.h"

struct item {
    char *from; /* key */
    char *to;
    bool  is_json;
};
struct job {
    struct bkt_domain      *src;
    struct bkt_store       *from, *to;
    const struct bkt_bucket_place *place;
    struct bkt_replace_ids map;
    bool new_ids;
    struct bkt_domain_copy *c;
    struct item             v[BKT_TOOL_BATCH];
    size_t                  n;
    uint64_t                bytes; /* of v */
    struct bkt_ids          last;  /* groups, copied after all else */
    struct bkt_ids          refs;  /* datasets whose values name objects */
    struct bkt_err         *err;
};

/* ---- a batch ---- */

/* Makes the bytes to be stored from the bytes read. */
static int change(const struct job *j, const struct item *it, const struct bkt_req *in, struct bkt_buf *out,
                  struct bkt_err *err)
{
    if (!it->is_json || !j->new_ids)
        return BKT_OK;
    BKT_TRY(err, bkt_replace_ids_in_json(&j->map, in->body.ptr, in->body.len, out, err), "%s", it->from);
    return BKT_OK;
}

static int put_all(struct job *j, struct bkt_req *in)
{
    struct bkt_req out[BKT_TOOL_BATCH];
    struct bkt_buf changed[BKT_TOOL_BATCH];
    int            rc = BKT_OK;
    size_t         n  = 0;
    memset(out, 0, sizeof out);
    memset(changed, 0, sizeof changed);
    for (size_t i = 0; rc == BKT_OK && i < j->n; i++) {
        if (in[i].rc == BKT_ENOENT)
            continue; /* deleted since it was listed */
        rc = change(j, &j->v[i], &in[i], &changed[i], j->err);
        const struct bkt_buf *b = changed[i].ptr ? &changed[i] : &in[i].body;
        out[n++] = (struct bkt_req){
            .op = BKT_PUT, .key = j->v[i].to, .put = b->ptr ? b->ptr : (const void *)"", .put_len = b->len};
        j->c->bytes += b->len;
        *(j->v[i].is_json ? &j->c->n_objects : &j->c->n_chunks) += 1;
    }
    rc = rc ? rc : bkt_store_perform(j->to, out, n, j->err);
    for (size_t i = 0; i < BKT_TOOL_BATCH; i++) {
        bkt_req_fini(&out[i]);
        bkt_buf_fini(&changed[i]);
    }
    return rc;
}

static void items_clear(struct job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        free(j->v[i].from);
        free(j->v[i].to);
    }
    j->n     = 0;
    j->bytes = 0;
}

static int flush(struct job *j)
{
    struct bkt_req in[BKT_TOOL_BATCH];
    int            rc = interrupt_check(j->err);
    if (rc < 0)
        return rc;
    memset(in, 0, sizeof in);
    for (size_t i = 0; i < j->n; i++)
        in[i] = (struct bkt_req){.op = BKT_GET, .key = j->v[i].from, .len = BKT_WHOLE};
    if (j->n)
        (void)bkt_store_perform(j->from, in, j->n, NULL);
    for (size_t i = 0; rc == BKT_OK && i < j->n; i++)
        if (in[i].rc < 0 && in[i].rc != BKT_ENOENT)
            rc = bkt_err_copy(j->err, in[i].rc, in[i].err);
    if (rc == BKT_OK && j->n)
        rc = put_all(j, in);
    for (size_t i = 0; i < j->n; i++)
        bkt_req_fini(&in[i]);
    items_clear(j);
    if (rc == BKT_OK && j->c->progress)
        j->c->progress(j->c);
    return rc;
}

/* @p tail: for a chunk, the part of the key behind the object's own folder; NULL: the object's JSON */
static int add(struct job *j, const struct bkt_id *id, const char *from, const char *tail, uint64_t size)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf to = {0};
    struct bkt_id                            new = *id;
    if (bkt_replace_ids_in_id(&j->map, &new) < 0 || bkt_id_key(j->new_ids ? &new : id, &to) < 0)
        BKT_NOMEM(j->err);
    if (tail) {
        to.len -= strlen(".dataset.json");
        if (bkt_buf_add_str(&to, tail) < 0)
            BKT_NOMEM(j->err);
    }
    struct item *it = &j->v[j->n++];
    *it = (struct item){strdup(from), bkt_buf_steal(&to), tail == NULL};
    if (!it->from || !it->to)
        BKT_NOMEM(j->err);
    j->bytes += size;
    return j->n == BKT_TOOL_BATCH || j->bytes >= bkt_settings_in_flight(bkt_domain_settings(j->src))
               ? flush(j)
               : BKT_OK;
}

/* ---- which objects ---- */

/* Walks all reachable objects, to find the datasets that need care. */
static int look(const struct bkt_reached *r, void *arg)
{
    struct job *j = arg;
    if (!r->obj)
        return bkt_err_copy(j->err, r->why->code, r->why);
    if (r->obj->kind != BKT_DATASET)
        return BKT_OK;
    const struct bkt_layout *l = &r->obj->dset.layout;
    j->c->n_refs += bkt_layout_is_linked(l);
    j->c->n_raw += l->external;
    if (j->new_ids && !bkt_layout_is_linked(l) && l->cls != BKT_D_NONE &&
        bkt_type_has_refs(r->obj->dset.type) && bkt_ids_add(&j->refs, &r->id) < 0)
        BKT_NOMEM(j->err);
    return BKT_OK;
}

static int on_listed(const struct bkt_listed_key *s, void *arg)
{
    struct job *j = arg;
    if (s->what == BKT_KEY_OTHER && strcmp(strrchr(s->entry->key, '/') + 1, BKT_KEPT_CHUNKS) == 0)
        BKT_FAIL(j->err, BKT_EINVAL,
                 "%s holds chunks that references name by this bucket; h5bucket get and load copy them",
                 s->entry->key); /* not BKT_EUNSUP, which means a store without lists */
    if (s->what == BKT_KEY_OTHER)
        return BKT_OK; /* statistics of the old tree */
    if (s->what == BKT_KEY_CHUNK && bkt_ids_have(&j->refs, &s->id))
        return BKT_OK;
    if (s->what == BKT_KEY_OBJECT && bkt_id_kind(&s->id) == BKT_GROUP)
        return BKT_MADE(j->err, bkt_ids_add(&j->last, &s->id) >= 0);
    return add(j, &s->id, s->entry->key, s->what == BKT_KEY_CHUNK ? s->tail : NULL, s->entry->size);
}

/* Copies groups; the root comes last, whatever the order in which they were found. */
static int copy_groups(struct job *j)
{
    const struct bkt_id *root = bkt_domain_root(j->src);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < j->last.n; i++) {
            BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
            if ((strcmp(j->last.v[i].text, root->text) == 0) != (pass == 1))
                continue;
            if (bkt_id_key(&j->last.v[i], &key) < 0)
                BKT_NOMEM(j->err);
            BKT_PASS(add(j, &j->last.v[i], bkt_buf_str(&key), NULL, 4096));
        }
        BKT_PASS(flush(j));
    }
    return BKT_OK;
}

/* ---- references ---- */

/* Elements of variable size that are read at once: fewer take longer, more take more memory. */
#define ELEMENTS 65536u

static int move_values(const struct job *j, struct bkt_dsetio *in, struct bkt_dsetio *out,
                       const struct bkt_sel *sel)
{
    struct bkt_read                  r   = {.io = in, .file = sel};
    BKT_CLEANUP(bkt_freep) void     *mem = NULL;
    if (!bkt_dsetio_is_var(in) && !(r.dst = mem = malloc((size_t)sel->n_elems * bkt_dsetio_elem_size(in))))
        return BKT_ERR(j->err, BKT_ENOMEM, "out of memory");
    BKT_PASS(bkt_read_datasets(&r, 1, j->err));
    int rc = BKT_OK;
    if (mem)
        rc = bkt_replace_ids_in_bytes(&j->map, mem, (size_t)sel->n_elems * bkt_dsetio_elem_size(in));
    /* the slices may lie in a shared chunk: copied before they change */
    struct bkt_slice *slices = r.slices ? calloc((size_t)sel->n_elems, sizeof *slices) : NULL;
    struct bkt_buf    all    = {0};
    for (uint64_t i = 0; rc == BKT_OK && r.slices && i < sel->n_elems; i++)
        rc = slices ? bkt_buf_add(&all, r.slices[i].p, r.slices[i].n) : BKT_ENOMEM;
    if (rc == BKT_OK && r.slices)
        rc = bkt_replace_ids_in_bytes(&j->map, all.ptr, all.len);
    size_t at = 0;
    for (uint64_t i = 0; rc == BKT_OK && r.slices && i < sel->n_elems; at += r.slices[i].n, i++)
        slices[i] = (struct bkt_slice){all.ptr + at, r.slices[i].n};
    struct bkt_write w = {.io = out, .file = sel, .src = mem, .slices = slices};
    rc = rc < 0 ? BKT_ERR(j->err, rc, "out of memory") : bkt_write_datasets(&w, 1, j->err);
    bkt_read_fini(&r);
    free(slices);
    bkt_buf_fini(&all);
    return rc;
}

/* The whole extent, in slabs along the first dimension. */
static int rewrite(const struct job *j, struct bkt_dsetio *in, struct bkt_dsetio *out,
                   const struct bkt_space *space)
{
    struct bkt_sel sel = {.kind = BKT_SEL_ALL, .rank = space->rank, .n_elems = 1};
    uint64_t       row = 1;
    for (unsigned i = 0; i < space->rank; i++) {
        sel.dims[i] = sel.count[i] = space->dims[i];
        sel.stride[i] = sel.block[i] = 1;
        row = i ? row * space->dims[i] : 1;
    }
    if (space->cls != BKT_S_SIMPLE || space->rank == 0)
        return move_values(j, in, out, &sel);
    uint64_t most = bkt_dsetio_is_var(in)
                        ? ELEMENTS
                        : BKT_TOOL_BLOCK / (bkt_dsetio_elem_size(in) ? bkt_dsetio_elem_size(in) : 1);
    uint64_t rows = row && most / row ? most / row : 1;
    sel.kind      = BKT_SEL_HYPER;
    for (uint64_t at = 0; row && at < space->dims[0]; at += rows) {
        sel.start[0] = at;
        sel.count[0] = space->dims[0] - at < rows ? space->dims[0] - at : rows;
        sel.n_elems  = sel.count[0] * row;
        BKT_PASS(move_values(j, in, out, &sel));
    }
    return BKT_OK;
}

static int rewrite_one(const struct job *j, struct bkt_domain *dst, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *a = NULL, *b = NULL;
    BKT_CLEANUP(bkt_dsetio_closep) struct bkt_dsetio *in = NULL, *out = NULL;
    struct bkt_id new = *id;
    BKT_PASS(bkt_replace_ids_in_id(&j->map, &new));
    BKT_PASS(bkt_domain_get(j->src, id, &a, j->err));
    BKT_PASS(bkt_domain_get(dst, &new, &b, j->err));
    BKT_PASS(bkt_dsetio_open(j->src, a, bkt_plugin_find, &in, j->err));
    BKT_PASS(bkt_dsetio_open(dst, b, bkt_plugin_find, &out, j->err));
    BKT_PASS(rewrite(j, in, out, &a->dset.space));
    return bkt_chunks_flush(dst, j->err);
}

/* ---- the document ---- */

/* Makes the copy's document: the source's, with the new root. */
static int make_doc(const struct job *j, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0}, from = {0};
    BKT_PASS_MEM(j->err, bkt_domain_doc_key(bkt_domain_path(j->src), &from));
    BKT_PASS(bkt_store_get(j->from, bkt_buf_str(&from), 0, BKT_WHOLE, &json, j->err));
    if (bkt_domain_doc(j->src)->snapshot.objects) { /* its snapshot is of other objects, under other ETags */
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf with = {0};
        bkt_buf_move(&with, &json);
        BKT_PASS(bkt_snapshot_note(with.ptr, with.len, NULL, &json, j->err));
    }
    if (j->new_ids)
        return bkt_replace_ids_in_json(&j->map, json.ptr, json.len, out, j->err);
    bkt_buf_move(out, &json);
    return BKT_OK;
}

/* Copies a user block that is a separate object, to which no object's JSON leads. */
static int copy_user_block(const struct job *j)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, bytes = {0};
    uint64_t                                 size;
    if (!bkt_domain_doc(j->src)->user.apart)
        return BKT_OK;
    BKT_PASS(bkt_userblock_load(j->src, &size, &bytes, j->err));
    if (bkt_userblock_key(&j->map.to, &key) < 0)
        return BKT_ERR(j->err, BKT_ENOMEM, "out of memory");
    return bkt_store_put(j->to, bkt_buf_str(&key), bytes.ptr, bytes.len, NULL, NULL, NULL, j->err);
}

/* Copies values that name objects, through a domain with a name that nobody else uses. */
static int copy_references(const struct job *j)
{
    BKT_CLEANUP(bkt_freep) char *path = NULL, *name = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf doc = {0};
    struct bkt_domain           *dst  = NULL;
    if (!j->refs.n)
        return BKT_OK;
    if (asprintf(&path, "%s.part-%.8s", j->place->path, j->map.to.text + 2) < 0) {
        path = NULL;
        return BKT_ERR(j->err, BKT_ENOMEM, "out of memory");
    }
    name = bkt_bucket_place_name(j->to, path);
    BKT_PASS(make_doc(j, &doc));
    BKT_PASS(bkt_doc_put(j->to, path, &doc, NULL, j->err));
    struct bkt_settings set = *bkt_domain_settings(j->src);
    set.user                = NULL; /* the right to make the copy was checked before */
    int rc = name ? bkt_domain_open(name, &set, &dst, j->err) : BKT_ERR(j->err, BKT_ENOMEM, "out of memory");
    for (size_t i = 0; rc == BKT_OK && i < j->refs.n; i++)
        rc = rewrite_one(j, dst, &j->refs.v[i]);
    bkt_domain_close(dst);
    int gone = bkt_doc_delete(j->to, path, j->err);
    return rc < 0 ? rc : gone;
}

/* ---- all of it ---- */

/* Looks for an object at the key first: with setting writers=one a PUT has no condition, and would overwrite
 * it. */
static int look_first(const struct job *j, const char *key, struct bkt_err *err)
{
    if (strcmp(bkt_domain_settings(j->src)->writers, "one") != 0)
        return BKT_OK;
    int rc = bkt_store_head(j->to, key, NULL, err);
    if (rc == BKT_ENOENT)
        bkt_err_clear(err);
    return rc == BKT_OK ? BKT_EPRECOND : rc == BKT_ENOENT ? BKT_OK : rc;
}

/* Claims the old ids if the store has nothing under the old root.  Its group is stored first, which keeps
 * other writers from choosing these ids, too. */
static int claim(struct job *j, bool *mine)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, json = {0};
    const struct bkt_id                     *root = bkt_domain_root(j->src);
    struct bkt_err                           why  = {.n = 0};
    *mine = false;
    if (!bkt_id_is_v2(root))
        return BKT_OK;
    if (bkt_id_key(root, &key) < 0)
        BKT_NOMEM(j->err);
    BKT_PASS(bkt_store_get(j->from, bkt_buf_str(&key), 0, BKT_WHOLE, &json, j->err));
    int rc = look_first(j, bkt_buf_str(&key), &why);
    rc = rc ? rc : bkt_store_put(j->to, bkt_buf_str(&key), json.ptr, json.len, NULL, "*", NULL, &why);
    *mine  = rc == BKT_OK;
    return rc == BKT_OK || rc == BKT_EPRECOND ? BKT_OK : bkt_err_copy(j->err, rc, &why);
}

static int choose_ids(struct job *j)
{
    bool mine;
    BKT_PASS(claim(j, &mine));
    j->new_ids = !mine;
    j->map = (struct bkt_replace_ids){*bkt_domain_root(j->src), *bkt_domain_root(j->src)};
    return BKT_MADE(j->err, mine || bkt_id_new_root(true, NULL, &j->map.to) == BKT_OK);
}

static int copy_all(struct job *j)
{
    BKT_PASS(choose_ids(j));
    BKT_PASS(bkt_reach(j->src, look, j, j->err));
    struct bkt_err why = {.n = 0};
    int rc = bkt_key_list(j->from, bkt_domain_root(j->src), on_listed, j, &why);
    if (rc == BKT_EUNSUP) /* version 1, and stores without lists */
        rc = bkt_reach_keys(j->src, &j->refs, on_listed, j, j->err);
    else if (rc < 0 && !(j->err && j->err->n))
        (void)bkt_err_copy(j->err, rc, &why);
    BKT_PASS(rc);
    BKT_PASS(flush(j));
    BKT_PASS(copy_user_block(j));
    BKT_PASS(copy_groups(j));
    BKT_PASS(copy_references(j));
    j->c->root = j->map.to;
    return make_doc(j, &j->c->doc);
}

int bkt_domain_copy(struct bkt_domain *src, const struct bkt_bucket_place *to, struct bkt_domain_copy *c,
                    struct bkt_err *err)
{
    struct job *j = calloc(1, sizeof *j);
    BKT_NEED(err, j);
    *j = (struct job){
        .src = src, .from = bkt_domain_store(src), .to = to->store, .place = to, .c = c, .err = err};
    int rc = copy_all(j);
    if (rc < 0 && j->map.to.text[0]) /* no other program knows these objects */
        (void)!bkt_remove_tree(j->to, &j->map.to, NULL);
    items_clear(j);
    bkt_ids_fini(&j->last);
    bkt_ids_fini(&j->refs);
    free(j);
    return rc;
}
