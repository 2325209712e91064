/* h5bucket verify: uploads in parts that were never ended.  A server keeps and bills their parts, and shows
 * them in no list of objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/show/show.h"
#include "tools/verify/verify.h"

struct upload {
    char  *key, *id;
    double begun;
};
struct bkt_verify_uploads {
    struct upload *v;
    size_t         n, cap;
};

void bkt_verify_uploads_free(struct bkt_verify_uploads *u)
{
    for (size_t i = 0; u && i < u->n; i++) {
        free(u->v[i].key);
        free(u->v[i].id);
    }
    free(u ? u->v : NULL);
    free(u);
}

static int on_upload(const struct bkt_upload *u, void *arg)
{
    struct bkt_verify_uploads *l = arg;
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    struct upload *e = &l->v[l->n++];
    *e               = (struct upload){strdup(u->key), strdup(u->id), u->begun};
    return e->key && e->id ? BKT_OK : BKT_ENOMEM;
}

int bkt_verify_uploads_list(struct bkt_verify *v, struct bkt_store *st, const char *prefix,
                            struct bkt_verify_uploads **out)
{
    struct bkt_err             why = {.n = 0};
    struct bkt_verify_uploads *u   = *out = calloc(1, sizeof *u);
    int                        rc  = u ? bkt_store_uploads(st, prefix, on_upload, u, &why) : BKT_ENOMEM;
    if (rc == BKT_ENOMEM)
        return BKT_ERR(v->err, rc, "out of memory");
    if (rc < 0) /* many servers don't list them, or not for this user */
        bkt_verify_note(v, "uploads in parts", prefix, &why);
    return BKT_OK;
}

static int tell(struct bkt_verify *v, struct bkt_store *st, const struct upload *u)
{
    bool fresh = bkt_verify_is_fresh(v, st, u->begun) || (u->begun <= 0 && v->min_age > 0),
         removed = v->repair && !fresh;
    if (removed)
        BKT_PASS(bkt_store_abort(st, u->key, u->id, v->err));
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "upload", u->key);
        bkt_jout_str(&v->j, "upload_id", u->id);
    } else {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        bkt_show_name(&b, u->key);
        printf("%s: upload of %s was never completed%s\n", fresh ? "fresh" : "orphan", bkt_buf_str(&b),
               removed ? ": removed" : "");
    }
    bkt_verify_end_orphan(v, u->begun, fresh, removed);
    return BKT_OK;
}

/* db/xxxxxxxx-xxxxxxxx/...: of a tree that no domain has. */
static bool is_lost(const char *key, const struct bkt_map *used)
{
    return strlen(key) > 3 + BKT_TREE && bkt_is_tree(key + 3) && key[3 + BKT_TREE] == '/' &&
           !bkt_map_get(used, key + 3, BKT_TREE);
}

int bkt_verify_uploads(struct bkt_verify *v, struct bkt_store *st, const struct bkt_verify_uploads *u,
                       const struct bkt_map *used)
{
    for (size_t i = 0; i < u->n; i++)
        if (!used || is_lost(u->v[i].key, used))
            BKT_PASS(tell(v, st, &u->v[i]));
    return BKT_OK;
}
