/* Making snapshots; see snapshots.h. */
#include "tools/bucket/snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "schema/domain/doc_rewrite.h"
#include "schema/json/documents.h"
#include "tools/bucket/bucket_names.h"
#include "tools/cli/tool.h"
#include "tools/source/key_list.h"

struct gather {
    struct bkt_store         *st;
    const struct bkt_domain  *known;
    struct bkt_snapshot      *old;
    uint64_t                  pays_for; /* objects; 0: however many keys there are */
    struct bkt_snapshot_out   out;
    size_t                    n_read;
    struct bkt_req            req[BKT_TOOL_BATCH];
    struct bkt_id             id[BKT_TOOL_BATCH];
    char                     *key[BKT_TOOL_BATCH];
    size_t                    n;
    struct bkt_err           *err;
};

static int read_batch(struct gather *g)
{
    int rc = BKT_OK;
    for (size_t i = 0; i < g->n; i++)
        g->req[i] = (struct bkt_req){.op = BKT_GET, .key = g->key[i], .len = BKT_WHOLE};
    (void)bkt_store_perform(g->st, g->req, g->n, NULL);
    for (size_t i = 0; i < g->n; i++) {
        const struct bkt_req *r = &g->req[i];
        /* an object that was deleted since it was listed does no harm */
        if (rc == BKT_OK && r->rc < 0 && r->rc != BKT_ENOENT)
            rc = bkt_err_copy(g->err, r->rc, r->err);
        if (rc == BKT_OK && r->rc == BKT_OK && r->etag[0])
            rc = bkt_snapshot_add(&g->out, &g->id[i], r->etag, bkt_buf_str(&r->body), r->body.len, g->err);
        bkt_req_fini(&g->req[i]);
        free(g->key[i]);
    }
    g->n_read += g->n;
    g->n = 0;
    return rc;
}

/* Whether the JSON of the listed version is known: stored by this process, or in the earlier snapshot. */
static bool have(struct gather *g, const struct bkt_listed_key *s, const char **etag, const void **json,
                 size_t *n)
{
    if (g->known && bkt_domain_recorded(g->known, &s->id, etag, json, n) &&
        bkt_etag_same(*etag, s->entry->etag))
        return true;
    return g->old && bkt_snapshot_listed(s->entry, g->old) == BKT_OK &&
           bkt_snapshot_take(g->old, &s->id, json, n, etag);
}

static int on_listed(const struct bkt_listed_key *s, void *arg)
{
    struct gather *g = arg;
    const char    *etag;
    const void    *json;
    size_t         n;
    if (bkt_snapshot_count_key(&g->out, s->entry->key) < 0)
        return BKT_ERR(g->err, BKT_ENOMEM, "out of memory");
    if (g->pays_for && !bkt_snapshot_pays(g->pays_for, g->out.n_keys))
        return BKT_ECANCEL;
    if (s->what != BKT_KEY_OBJECT)
        return BKT_OK;
    if (have(g, s, &etag, &json, &n))
        return bkt_snapshot_add(&g->out, &s->id, etag, json, n, g->err);
    g->id[g->n]  = s->id;
    g->key[g->n] = strdup(s->entry->key);
    if (!g->key[g->n])
        return BKT_ERR(g->err, BKT_ENOMEM, "out of memory");
    return ++g->n == BKT_TOOL_BATCH ? read_batch(g) : BKT_OK;
}

struct noted {
    const struct snapshot_domain *of;
    const struct bkt_snapshot_out *o; /* NULL: the note about a snapshot goes */
};

static int change_note(const struct bkt_buf *was, struct bkt_buf *now, void *arg, struct bkt_err *err)
{
    const struct noted *n = arg;
    BKT_CLEANUP(bkt_domain_doc_fini) struct bkt_domain_doc doc = {.n_acls = 0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(n->of->path, &key));
    BKT_TRY(err, bkt_domain_doc_parse(was->ptr, was->len, &doc, err), "%s", bkt_buf_str(&key));
    BKT_FAIL_IF(err, strcmp(doc.root.text, n->of->root->text) != 0, BKT_EEXIST,
                "%s: another writer has replaced the domain", n->of->path);
    if (!n->o && !doc.snapshot.objects)
        return BKT_OK;
    BKT_PASS(bkt_snapshot_note(was->ptr, was->len, n->o, now, err));
    if (now->len == was->len && memcmp(now->ptr, was->ptr, now->len) == 0)
        bkt_buf_clear(now);
    return BKT_OK;
}

/* Notes in the domain's document that it has a snapshot, or (NULL) that it has none. */
static int note(const struct snapshot_domain *of, const struct bkt_snapshot_out *o, struct bkt_err *err)
{
    return bkt_doc_rewrite(of->store, of->path, change_note, &(struct noted){of, o}, err);
}

static int make(struct gather *g, const struct snapshot_domain *of, bool use_old,
                struct snapshot_report *reported, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, text = {0}, old = {0};
    BKT_PASS_MEM(err, bkt_snapshot_key(of->root, &key));
    /* an unreadable one is made again */
    if (use_old && bkt_store_get(g->st, bkt_buf_str(&key), 0, BKT_WHOLE, &old, NULL) == BKT_OK &&
        bkt_snapshot_parse(old.ptr, old.len, of->root, &g->old, NULL) < 0)
        g->old = NULL;
    BKT_PASS(bkt_key_list(g->st, of->root, on_listed, g, err));
    BKT_PASS(read_batch(g));
    if (g->pays_for && !bkt_snapshot_pays(g->out.n_objects, g->out.n_keys))
        return BKT_ECANCEL;
    BKT_PASS(bkt_snapshot_emit(&g->out, &text, err));
    BKT_PASS(bkt_store_put(g->st, bkt_buf_str(&key), text.ptr, text.len, NULL, NULL, NULL, err));
    if (reported)
        *reported = (struct snapshot_report){g->out.n_objects, g->out.n_keys, text.len, g->n_read};
    return note(of, &g->out, err);
}

int snapshot_make(const struct snapshot_domain *of, const struct bkt_domain *known, bool old,
                  uint64_t pays_for, struct snapshot_report *reported, struct bkt_err *err)
{
    struct gather *g = calloc(1, sizeof *g);
    BKT_NEED(err, g);
    g->st = of->store;
    g->known    = known;
    g->pays_for = pays_for;
    g->err      = err;
    int rc = make(g, of, old, reported, err);
    for (size_t i = 0; i < g->n; i++)
        free(g->key[i]);
    bkt_snapshot_out_fini(&g->out);
    bkt_snapshot_free(g->old);
    free(g);
    return rc;
}

int snapshot_drop(const struct snapshot_domain *of, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_snapshot_key(of->root, &key));
    BKT_PASS(note(of, NULL, err));
    return bkt_key_delete(of->store, bkt_buf_str(&key), err);
}
