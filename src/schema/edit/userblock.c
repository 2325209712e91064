#include "schema/edit/userblock.h"

#include <string.h>

#include "schema/domain/doc_rewrite.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

#define INLINE 2048u        /* bytes in the document, which each open reads: 2.7 KB of base64 */
#define INLINE_V1 (1u << 20)   /* version 1 has no place for a separate object */

int bkt_userblock_key(const struct bkt_id *root, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "db/%.17s/.h5bucket-userblock", root->text + 2);
}

/* ---- reading ---- */

bool bkt_userblock_is_blank(struct bkt_domain *d)
{
    const struct bkt_userblock *u = &d->doc.user;
    return u->size && !u->apart && !u->bytes.len;
}

static int load_apart(struct bkt_domain *d, const struct bkt_userblock *u, struct bkt_buf *bytes,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    uint64_t                                 n   = 0;
    BKT_FAIL_IF(err, !bkt_id_is_v2(&d->doc.root), BKT_EFORMAT,
                "%s: .domain.json refers to a user block object, which version 1 doesn't "
                "have",
                d->name);
    BKT_PASS_MEM(err, bkt_userblock_key(&d->doc.root, &key));
    int rc = bkt_store_head(d->store, bkt_buf_str(&key), &n, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EFORMAT, "%s: the user block is missing: no object %s", d->name,
                bkt_buf_str(&key));
    BKT_PASS(rc);
    BKT_FAIL_IF(err, n == 0 || n > u->size || n > BKT_USERBLOCK_MAX, BKT_EFORMAT,
                "%s: the user block has %llu bytes, but %s has %llu", d->name, (unsigned long long)u->size,
                bkt_buf_str(&key), (unsigned long long)n);
    return bkt_store_get(d->store, bkt_buf_str(&key), 0, n, bytes, err);
}

int bkt_userblock_load(struct bkt_domain *d, uint64_t *size, struct bkt_buf *bytes, struct bkt_err *err)
{
    const struct bkt_userblock *u = &d->doc.user;
    *size                         = u->size;
    BKT_FAIL_IF(err, u->bad, BKT_EFORMAT, "%s: h5userblock in its .domain.json is malformed", d->name);
    if (u->apart)
        return load_apart(d, u, bytes, err);
    return bkt_buf_add(bytes, bkt_buf_str(&u->bytes), u->bytes.len) < 0
               ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
               : BKT_OK;
}

/* ---- writing ---- */

struct new_block {
    const struct bkt_domain *d;
    const struct bkt_userblock *u;
};

/* The document @p was, with this block and its other contents. */
static int change(const struct bkt_buf *was, struct bkt_buf *now, void *arg, struct bkt_err *err)
{
    const struct new_block *b = arg;
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_load(was->ptr, was->len, &j, err));
    const char *root = bkt_json_word(j, "root");
    BKT_FAIL_IF(err, !root || strcmp(root, b->d->doc.root.text) != 0, BKT_EEXIST,
                "%s: another writer has replaced the domain", b->d->name);
    (void)json_object_del(j, "h5userblock");
    if (b->u->size && bkt_userblock_emit(b->u, j) < 0)
        BKT_NOMEM(err);
    return bkt_json_dump(j, now, err);
}

/* The bytes first: a document never names bytes that aren't there. */
static int store(struct bkt_domain *d, const struct bkt_userblock *u, const void *bytes, size_t n,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key  = {0};
    bool                                     gone = d->doc.user.apart && !u->apart;
    if ((u->apart || gone) && bkt_userblock_key(&d->doc.root, &key) < 0)
        BKT_NOMEM(err);
    const char *one = bkt_buf_str(&key);
    if (u->apart)
        BKT_PASS(bkt_store_put(d->store, one, bytes, n, NULL, NULL, NULL, err));
    if (!d->edits->fresh)
        BKT_PASS(bkt_doc_rewrite(d->store, d->path, change, &(struct new_block){d, u}, err));
    return gone ? bkt_store_delete(d->store, &one, 1, err) : BKT_OK;
}

int bkt_userblock_store(struct bkt_domain *d, uint64_t size, const void *bytes, size_t n, struct bkt_err *err)
{
    bool                 v2 = bkt_id_is_v2(&d->doc.root);
    struct bkt_userblock u  = {.size = size};
    BKT_FAIL_IF(err, !bkt_userblock_fits(size) || n > size, BKT_EINVAL,
                "a user block must have 512, 1024, 2048, ... bytes, not %llu", (unsigned long long)size);
    n       = bkt_userblock_used(bytes, n);
    u.apart = n > (v2 ? INLINE : INLINE_V1);
    BKT_FAIL_IF(err, u.apart && (!v2 || n > BKT_USERBLOCK_MAX), BKT_EUNSUP,
                "%s: its user block has %zu bytes; %s has at most %u", d->name, n,
                v2 ? "a domain" : "version 1", v2 ? BKT_USERBLOCK_MAX : INLINE_V1);
    if (!u.apart && n && bkt_buf_add(&u.bytes, bytes, n) < 0)
        BKT_NOMEM(err);
    int rc = store(d, &u, bytes, n, err);
    if (rc < 0) {
        bkt_buf_fini(&u.bytes);
        return rc;
    }
    bkt_buf_fini(&d->doc.user.bytes);
    d->doc.user = u;
    return BKT_OK;
}
