/* h5bucket snapshot: all metadata of a domain in one object, for those who walk through it; see schema/snapshot.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "scan.h"
#include "show.h"
#include "snapshot.h"
#include "tool.h"

#define BATCH     256 /* objects read at once */
#define MAX_TRIES 20  /* changes of the document that others may make meanwhile */

struct gather {
    struct bkt_store       *st;
    struct bkt_snapshot_out out;
    struct bkt_req          req[BATCH];
    struct bkt_id           id[BATCH];
    char                   *key[BATCH];
    size_t                  n;
    struct bkt_err         *err;
};

static int read_batch(struct gather *g)
{
    int rc = BKT_OK;
    for (size_t i = 0; i < g->n; i++)
        g->req[i] = (struct bkt_req){.op = BKT_GET, .key = g->key[i], .len = BKT_WHOLE};
    (void)bkt_store_run(g->st, g->req, g->n, NULL);
    for (size_t i = 0; i < g->n; i++) {
        const struct bkt_req *r = &g->req[i];
        if (rc == BKT_OK && r->rc < 0 && r->rc != BKT_ENOENT) /* deleted meanwhile: no harm */
            rc = bkt_err_copy(g->err, r->rc, r->err);
        if (rc == BKT_OK && r->rc == BKT_OK && r->etag[0])
            rc = bkt_snapshot_add(&g->out, &g->id[i], r->etag, bkt_buf_str(&r->body), r->body.len, g->err);
        bkt_req_fini(&g->req[i]);
        free(g->key[i]);
    }
    g->n = 0;
    return rc;
}

static int on_scanned(const struct bkt_scanned *s, void *arg)
{
    struct gather *g = arg;
    if (bkt_snapshot_count_key(&g->out, s->entry->key) < 0)
        return BKT_ERR(g->err, BKT_ENOMEM, "out of memory");
    if (s->what != BKT_SCAN_OBJECT)
        return BKT_OK;
    g->id[g->n]  = s->id;
    g->key[g->n] = strdup(s->entry->key);
    if (!g->key[g->n])
        return BKT_ERR(g->err, BKT_ENOMEM, "out of memory");
    return ++g->n == BATCH ? read_batch(g) : BKT_OK;
}

/* Say in the domain's document that there is a snapshot, or that there is none. */
static int note(const struct bkt_place *p, const struct bkt_settings *set, uint64_t objects, uint64_t keys, struct bkt_err *err)
{
    for (unsigned tries = 1;; tries++) {
        BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0}, key = {0};
        BKT_PASS(bkt_doc_get(p->store, p->path, &doc, err));
        if (doc.what != BKT_IS_DOMAIN)
            BKT_FAIL(err, BKT_ENOENT, "%s: no such domain", p->path);
        BKT_PASS(bkt_doc_may(&doc.doc, p->path, set, BKT_ACL_UPDATE, err));
        if (doc.doc.snapshot_objects == objects && doc.doc.snapshot_keys == keys)
            return BKT_OK;
        BKT_PASS(bkt_snapshot_note(doc.json.ptr, doc.json.len, objects, keys, &json, err));
        if (bkt_buf_addf(&key, "%s%s.domain.json", p->path, *p->path ? "/" : "") < 0)
            BKT_NOMEM(err);
        int rc = bkt_store_put(p->store, bkt_buf_str(&key), json.ptr, json.len, doc.etag[0] ? doc.etag : NULL, NULL, NULL, err);
        if (rc != BKT_EPRECOND || tries == MAX_TRIES)
            return rc;
        bkt_err_clear(err);
    }
}

static int make(struct bkt_tool *t, const struct bkt_place *p, const struct bkt_id *root, struct gather *g, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, text = {0};
    g->st  = p->store;
    g->err = err;
    BKT_PASS(bkt_scan(p->store, root, on_scanned, g, err));
    BKT_PASS(read_batch(g));
    BKT_PASS(bkt_snapshot_emit(&g->out, &text, err));
    if (bkt_snapshot_key(root, &key) < 0)
        BKT_NOMEM(err);
    BKT_PASS(bkt_store_put(p->store, bkt_buf_str(&key), text.ptr, text.len, NULL, NULL, NULL, err));
    if (bkt_tool_has(t, "verbose"))
        printf("%" PRIu64 " objects, %" PRIu64 " keys, %zu bytes\n", g->out.n_objects, g->out.n_keys, text.len);
    return note(p, &t->set, g->out.n_objects, g->out.n_keys, err);
}

static int drop(struct bkt_tool *t, const struct bkt_place *p, const struct bkt_id *root, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (bkt_snapshot_key(root, &key) < 0)
        BKT_NOMEM(err);
    const char *one = bkt_buf_str(&key);
    BKT_PASS(note(p, &t->set, 0, 0, err));
    return bkt_store_delete(p->store, &one, 1, err);
}

static int work(struct bkt_tool *t, struct gather *g, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_place_fini) struct bkt_place p   = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
    BKT_PASS(bkt_place_open(t->args[0], &t->set, &p, err));
    BKT_PASS(bkt_doc_get(p.store, p.path, &doc, err));
    if (doc.what != BKT_IS_DOMAIN)
        BKT_FAIL(err, BKT_ENOENT, "%s: no such domain", t->args[0]);
    BKT_PASS(bkt_doc_may(&doc.doc, p.path, &t->set, BKT_ACL_UPDATE, err));
    if (!bkt_id_is_v2(&doc.doc.root))
        BKT_FAIL(err, BKT_EUNSUP, "%s: objects of schema version 1 can't be listed, so a snapshot of them can't be checked", t->args[0]);
    if (bkt_store_is_readonly(p.store))
        BKT_FAIL(err, BKT_EACCES, "%s can't be written to", bkt_store_uri(p.store));
    if (bkt_store_is_local(p.store) && !bkt_tool_has(t, "remove"))
        BKT_FAIL(err, BKT_EUNSUP, "%s: a folder's objects are read without round trips; snapshots are for buckets", t->args[0]);
    return bkt_tool_has(t, "remove") ? drop(t, &p, &doc.doc.root, err) : make(t, &p, &doc.doc.root, g, err);
}

static int run(struct bkt_tool *t)
{
    struct bkt_err err = {.n = 0};
    struct gather *g   = calloc(1, sizeof *g);
    if (!g)
        return bkt_tool_fail(t, "out of memory");
    int rc = work(t, g, &err);
    for (size_t i = 0; i < g->n; i++)
        free(g->key[i]);
    bkt_snapshot_out_fini(&g->out);
    free(g);
    return rc < 0 ? bkt_tool_error(t, t->args[0], &err) : BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {0, "remove", NULL, "remove the snapshot", NULL},
    {'v', "verbose", NULL, "tell what was gathered", NULL},
};
const struct bkt_verb bkt_verb_snapshot = {
    .name = "snapshot", .args = "DOMAIN", .min_args = 1, .max_args = 1,
    .help = "gather a domain's metadata in one object, so that walking through it takes few requests",
    .text = "Programs that walk through a domain of many objects (h5ls -r, h5dump -H, opening thousands of small datasets) ask\n"
            "for each of them. With a snapshot they read one object and list the domain's keys, a request for a thousand\n"
            "objects: whatever a list shows to be unchanged is taken from the snapshot, all else is read as ever. So a snapshot\n"
            "is never wrong; one that is out of date helps less, until it is made anew. Setting snapshot=trust leaves out the\n"
            "list, for domains that are never changed; snapshot=no leaves out the snapshot.\n\n"
            "  h5bucket snapshot s3://b/home/run7.h5",
    .opts = opts, .n_opts = BKT_COUNT(opts), .run = run,
};
