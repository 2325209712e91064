/* Inline chunks of arrays whose other chunks lie in files: kerchunk puts chunks of few bytes into the set.
 *
 * They become a file of the domain, db/<root>/.h5bucket-inline, that references lead to like any other file.
 * HSDS ignores such keys and deletes them with the domain, as snapshots (schema/snapshot/snapshot.h). */
#include <string.h>

#include "schema/domain/domain.h"
#include "tools/bucket/names.h"
#include "tools/kerchunk/load_kerchunk.h"

static int key_of(const struct kc_load *k, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "db/%.17s/" BKT_KEPT_CHUNKS, bkt_domain_root(k->l->file->dom)->text + 2);
}

/* The file's name among those of the set; k->uris has a place for one more. */
static int begin(struct kc_load *k, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri = {0}, key = {0};
    if (key_of(k, &key) < 0 ||
        bkt_buf_addf(&uri, "%s/%s", bkt_store_uri(bkt_domain_store(k->l->file->dom)), bkt_buf_str(&key)) <
            0 ||
        bkt_strs_add(&k->set.urls, bkt_buf_str(&uri)) < 0)
        BKT_NOMEM(err);
    k->kept_url = (uint32_t)(k->set.urls.n - 1);
    return load_file_uri(k->l, bkt_buf_str(&uri), &k->uris[k->kept_url], err);
}

int kc_keep(struct kc_load *k, const struct kc_array *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_chunks; i++) {
        struct kc_ref *r = &k->set.refs[a->chunks[i].ref];
        if (r->url != KC_INLINE)
            continue;
        if (!k->kept.len)
            BKT_PASS(begin(k, err));
        size_t at = k->kept.len;
        if (bkt_buf_add(&k->kept, k->set.bytes.ptr + r->off, (size_t)r->len) < 0)
            BKT_NOMEM(err);
        r->url = k->kept_url;
        r->off = at;
    }
    return BKT_OK;
}

int kc_store_kept(struct kc_load *k, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (!k->kept.len)
        return BKT_OK;
    if (key_of(k, &key) < 0)
        BKT_NOMEM(err);
    return bkt_store_put(bkt_domain_store(k->l->file->dom), bkt_buf_str(&key), k->kept.ptr, k->kept.len, NULL,
                         NULL, NULL, err);
}
