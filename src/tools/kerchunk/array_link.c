/* An array whose chunks HDF5's filters can decode: the domain refers to them where they are. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/domain/domain.h"
#include "tools/bucket/names.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/source/hdf5_glue.h"

static int key_of(const struct kc_load *k, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "db/%.17s/" BKT_KEPT_CHUNKS, bkt_domain_root(k->l->file->dom)->text + 2);
}

/* The file's name among those of the set; k->uris has a place for one more. */
static int begin_kept(struct kc_load *k, struct bkt_err *err)
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

static int keep(struct kc_load *k, const struct kc_array *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_chunks; i++) {
        struct kc_ref *r = &k->set.refs[a->chunks[i].ref];
        if (r->url != KC_INLINE)
            continue;
        if (!k->kept.len)
            BKT_PASS(begin_kept(k, err));
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

/* ---- references ---- */

const char *kc_must_copy(const struct kc_load *k, const struct kc_array *a)
{
    const char *why = kc_array_differs(a);
    if (why)
        return why;
    if (a->rank == 0 && a->codecs.n)
        return "a scalar with codecs";
    size_t inside = 0;
    for (size_t i = 0; i < a->n_chunks; i++)
        inside += k->set.refs[a->chunks[i].ref].url == KC_INLINE;
    return inside && inside == a->n_chunks ? "chunks in the set itself" : NULL;
}

/* Without filters each chunk has its size. */
static int check_sizes(const struct kc_load *k, const struct kc_array *a, struct bkt_err *err)
{
    const uint64_t full = a->chunk_elements * a->type.size;
    for (size_t i = 0; i < a->n_chunks; i++) {
        const struct kc_ref *r = &k->set.refs[a->chunks[i].ref];
        if (r->len == 0 || (a->codecs.n == 0 && r->len != full))
            BKT_FAIL(err, BKT_EFORMAT, "%.*s: %llu bytes for a chunk of %llu",
                     (int)bkt_min_u64(r->key_n, 200), kc_ref_key(&k->set, r), (unsigned long long)r->len,
                     (unsigned long long)full);
    }
    return BKT_OK;
}

struct placed {
    const struct kc_load *k;
    const struct kc_array *a;
};

static void get_row(void *arg, size_t i, struct load_row *out)
{
    const struct placed *p = arg;
    const struct kc_ref *r = &p->k->set.refs[p->a->chunks[i].ref];
    *out = (struct load_row){p->a->chunks[i].index, r->off, r->len, 0, p->k->uris[r->url], NULL};
}

static int link_many(struct kc_load *k, const struct kc_array *a, hid_t dset, struct bkt_err *err)
{
    struct placed p = {k, a};
    struct load_rows rows = {a->n_chunks, get_row, &p};
    for (size_t i = 0; i < a->n_chunks; i++) {
        const char *name;
        BKT_PASS(kc_name(k, k->set.refs[a->chunks[i].ref].url, &name, err));
    }
    return load_link_rows(k->l, dset, a->rank, a->chunk, a->grid, &rows, err);
}

/* All chunks lie in one file. */
static int link_one(struct kc_load *k, const struct kc_array *a, hid_t dset, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini)
    struct survey s = {.rank = a->rank, .kind = a->whole ? BKT_MAP_CONTIGUOUS : BKT_MAP_CHUNKED};
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    const struct kc_ref *r = &k->set.refs[a->chunks[0].ref];
    BKT_PASS(kc_uri(k, r->url, &uri, err));
    struct source_part part = {.uri = uri, .size = UINT64_MAX, .file_size = UINT64_MAX};
    struct source src = {
        .name = uri, .parts = &part, .n_parts = 1, .set = k->l->set, .file = H5I_INVALID_HID};
    struct source *old = k->l->src;
    memcpy(s.dims, a->dims, sizeof s.dims);
    memcpy(s.cdims, a->chunk, sizeof s.cdims);
    memcpy(s.grid, a->grid, sizeof s.grid);
    s.addr = r->off, s.size = r->len;
    if (!a->whole && !(s.chunks = calloc(a->n_chunks, sizeof *s.chunks)))
        BKT_NOMEM(err);
    for (size_t i = 0; !a->whole && i < a->n_chunks; i++, s.n_chunks++) {
        r = &k->set.refs[a->chunks[i].ref];
        s.chunks[i] = (struct survey_chunk){a->chunks[i].index, r->off, r->len, 0};
    }
    k->l->src = &src;
    int rc = load_link_survey(k->l, &s, H5Tget_size(a->type.h5), dset, a->path, err);
    k->l->src = old;
    if (rc == 0)
        BKT_FAIL(err, BKT_EUNSUP, "references can't lead to its chunks");
    return rc < 0 ? rc : BKT_OK;
}

int kc_link(struct kc_load *k, const struct kc_array *a, hid_t dset, struct bkt_err *err)
{
    bool one = true;
    if (!a->n_chunks)
        return BKT_OK;
    BKT_PASS(kc_sizes(k, a, err));
    BKT_PASS(check_sizes(k, a, err));
    BKT_PASS(keep(k, a, err));
    for (size_t i = 1; i < a->n_chunks && one; i++)
        one = k->set.refs[a->chunks[i].ref].url == k->set.refs[a->chunks[0].ref].url;
    return one ? link_one(k, a, dset, err) : link_many(k, a, dset, err);
}
