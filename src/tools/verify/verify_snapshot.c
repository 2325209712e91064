/* h5bucket verify: checks that the domain's snapshot matches the stored objects. */
#include <stdlib.h>
#include <string.h>

#include "tools/bucket/snapshots.h"
#include "tools/verify/verify.h"

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
    (void)bkt_store_run(bkt_domain_store(c->v->d), c->req, c->n, NULL);
    for (size_t i = 0; i < c->n; i++) {
        const struct bkt_req *r = &c->req[i];
        /* deleted meanwhile, which does no harm; a damaged object was reported when it was reached */
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
    if (!c)
        BKT_NOMEM(v->err);
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
        (void)snprintf(why, room, "%s", err.n ? err.frame[0].msg : bkt_err_text(rc));
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
    struct bkt_store    *st   = bkt_domain_store(v->d);
    const struct bkt_id *root = bkt_domain_root(v->d);
    if (strcmp(v->snapshot, "current") == 0 || strcmp(v->snapshot, "none") == 0)
        return BKT_OK;
    if (bkt_store_is_local(st)) { /* of no use there */
        BKT_PASS(snapshot_drop(st, bkt_domain_path(v->d), root, v->err));
        v->snapshot = "removed";
        return BKT_OK;
    }
    BKT_PASS(snapshot_make(st, bkt_domain_path(v->d), root, NULL, strcmp(v->snapshot, "outdated") == 0, 0,
                           NULL, v->err));
    v->snapshot = "made";
    return BKT_OK;
}
