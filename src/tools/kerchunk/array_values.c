/* An array that HDF5's filters can't decode: its chunks are decoded here and written as elements. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/domain/domain.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

/* ---- sizes and bytes of chunks, under the policy of the domain's references ---- */

#define STORED_MAX (KERCHUNK_CHUNK_MAX + KERCHUNK_CHUNK_MAX / 8) /* bytes of an encoded chunk */

/* Requests to one store. */
struct batch {
    struct bkt_store *store;
    struct bkt_reqs reqs;
    size_t *of; /* per request: the chunk's place in the caller's list */
};

static void batch_fini(struct batch *b)
{
    bkt_reqs_fini(&b->reqs);
    free(b->of);
    *b = (struct batch){.store = NULL};
}

/* The store and key of a chunk's file. */
static int place_of(struct kerchunk_load *k, const struct kerchunk_ref *r, struct bkt_store **store,
                    char **key, struct bkt_err *err)
{
    const char *name;
    BKT_PASS(kerchunk_name(k, r->url, &name, err));
    return bkt_domain_resolve_uri(k->l->file->dom, name, store, key, err);
}

static int run(struct batch *b, struct bkt_err *err)
{
    if (!b->reqs.n)
        return BKT_OK;
    bkt_reqs_perform(b->store, &b->reqs);
    for (size_t i = 0; i < b->reqs.n; i++)
        if (b->reqs.v[i].rc < 0)
            return bkt_err_copy(err, b->reqs.v[i].rc, b->reqs.v[i].err);
    return BKT_OK;
}

/* A kind of requests for chunks. */
struct question {
    bool (*concerns)(const struct kerchunk_ref *r); /* whether this chunk needs the request */
    void (*ask)(struct bkt_req *q, const struct kerchunk_ref *r);
    int (*take)(struct kerchunk_load *k, const struct kerchunk_chunk *c, size_t i, struct bkt_req *q,
                void *arg, struct bkt_err *err); /* the answer for c[i] */
};

/* Runs the requests for those of @p n chunks that need one, as many at once as lie in one store.
 * @p arg: for take() */
static int each(struct kerchunk_load *k, const struct kerchunk_chunk *c, size_t n,
                const struct question *what, void *arg, struct bkt_err *err)
{
    for (size_t at = 0; at < n;) {
        BKT_CLEANUP(batch_fini) struct batch b = {.of = calloc(BKT_TOOL_BATCH, sizeof *b.of)};
        size_t m = 0;
        BKT_NEED(err, b.of && bkt_reqs_init(&b.reqs, BKT_TOOL_BATCH) >= 0);
        for (; at < n && m < BKT_TOOL_BATCH; at++) {
            const struct kerchunk_ref *r = &k->set.refs[c[at].ref];
            struct bkt_store *store = NULL;
            BKT_CLEANUP(bkt_freep) char *key = NULL;
            if (!what->concerns(r))
                continue;
            BKT_PASS(place_of(k, r, &store, &key, err));
            if (m && store != b.store)
                break;
            b.store = store;
            BKT_PASS_MEM(err, bkt_buf_add_str(&b.reqs.keys[m], key));
            what->ask(&b.reqs.v[m], r);
            b.of[m++] = at;
        }
        b.reqs.n = m;
        int rc = run(&b, err);
        for (size_t i = 0; i < m && rc == BKT_OK; i++)
            rc = what->take(k, c, b.of[i], &b.reqs.v[i], arg, err);
        BKT_PASS(rc);
        BKT_PASS(interrupt_check(err));
    }
    return BKT_OK;
}

/* ---- sizes ---- */

static bool is_whole(const struct kerchunk_ref *r)
{
    return r->url != KERCHUNK_INLINE && r->len == KERCHUNK_WHOLE;
}

static void ask_size(struct bkt_req *q, const struct kerchunk_ref *r)
{
    (void)r;
    q->op = BKT_HEAD;
}

static int take_size(struct kerchunk_load *k, const struct kerchunk_chunk *c, size_t i, struct bkt_req *q,
                     void *arg, struct bkt_err *err)
{
    (void)arg;
    BKT_FAIL_IF(err, q->size > INT64_MAX, BKT_EUNSUP, "%s: its server doesn't send its size",
                k->set.urls.v[k->set.refs[c[i].ref].url]);
    k->set.refs[c[i].ref].len = q->size;
    return BKT_OK;
}

int kerchunk_sizes(struct kerchunk_load *k, const struct kerchunk_array *a, struct bkt_err *err)
{
    static const struct question size = {is_whole, ask_size, take_size};
    return each(k, a->chunks, a->n_chunks, &size, NULL, err);
}

/* ---- bytes ---- */

static bool is_elsewhere(const struct kerchunk_ref *r)
{
    return r->url != KERCHUNK_INLINE && r->len > 0;
}

static void ask_bytes(struct bkt_req *q, const struct kerchunk_ref *r)
{
    q->op = BKT_GET;
    q->off = r->off;
    q->len = r->len;
}

static int take_bytes(struct kerchunk_load *k, const struct kerchunk_chunk *c, size_t i, struct bkt_req *q,
                      void *arg, struct bkt_err *err)
{
    struct bkt_buf *out = arg;
    BKT_FAIL_IF(err, q->body.len != k->set.refs[c[i].ref].len, BKT_EFORMAT, "%s: it ends within a chunk",
                k->set.urls.v[k->set.refs[c[i].ref].url]);
    bkt_buf_move(&out[i], &q->body);
    return BKT_OK;
}

static int fetch(struct kerchunk_load *k, const struct kerchunk_chunk *c, size_t n, struct bkt_buf *out,
                 struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct kerchunk_ref *r = &k->set.refs[c[i].ref];
        BKT_FAIL_IF(err, r->len > STORED_MAX, BKT_EFORMAT,
                    "chunk of %llu stored bytes: at most %llu can be copied", (unsigned long long)r->len,
                    (unsigned long long)STORED_MAX);
        if (r->url == KERCHUNK_INLINE && bkt_buf_add(&out[i], k->set.bytes.ptr + r->off, (size_t)r->len) < 0)
            BKT_NOMEM(err);
    }
    static const struct question bytes = {is_elsewhere, ask_bytes, take_bytes};
    return each(k, c, n, &bytes, out, err);
}

/* ---- elements ---- */

#define CHUNKS_AT_ONCE 64 /* chunks that are fetched at once, if they fit in BKT_TOOL_BLOCK */

struct values {
    const struct kerchunk_array *a;
    hid_t dset, file, mem; /* the spaces of the dataset and of a chunk */
    struct bkt_buf other;  /* elements in another order or form */
    char **strings;        /* VLEN_UTF8 */
};

static void values_fini(struct values *v)
{
    bkt_hid_closep(&v->file);
    bkt_hid_closep(&v->mem);
    bkt_buf_fini(&v->other);
    free(v->strings);
}

static int begin(struct values *v, struct bkt_err *err)
{
    v->file = H5Dget_space(v->dset);
    v->mem = v->a->rank ? H5Screate_simple((int)v->a->rank, v->a->chunk, NULL) : H5Screate(H5S_SCALAR);
    if (v->file < 0 || v->mem < 0)
        return h5_fail(err, "making a dataspace");
    return BKT_OK;
}

/* Select the part of the chunk that lies in the array, on both sides. */
static int select_part(struct values *v, uint64_t index, struct bkt_err *err)
{
    const struct kerchunk_array *a = v->a;
    hsize_t start[BKT_MAX_RANK], count[BKT_MAX_RANK], zero[BKT_MAX_RANK] = {0};
    for (unsigned d = a->rank; d-- > 0; index /= a->grid[d]) {
        start[d] = index % a->grid[d] * a->chunk[d];
        count[d] = bkt_min_u64(a->chunk[d], a->dims[d] - start[d]);
    }
    if (a->rank && (H5Sselect_hyperslab(v->file, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
                    H5Sselect_hyperslab(v->mem, H5S_SELECT_SET, zero, NULL, count, NULL) < 0))
        return h5_fail(err, "selecting a chunk's elements");
    return BKT_OK;
}

/* From the first index running fastest to the last one. */
static void to_rows(const struct kerchunk_array *a, const unsigned char *in, unsigned char *out)
{
    const size_t size = a->type.size;
    uint64_t at[BKT_MAX_RANK] = {0}, step[BKT_MAX_RANK] = {0}, from = 0;
    for (unsigned d = 0; d < a->rank; d++)
        step[d] = d ? step[d - 1] * a->chunk[d - 1] : 1;
    for (uint64_t i = 0; i < a->chunk_elements; i++) {
        memcpy(out + i * size, in + from * size, size);
        for (unsigned d = a->rank; d-- > 0;) {
            from += step[d];
            if (++at[d] < a->chunk[d])
                break;
            from -= step[d] * a->chunk[d];
            at[d] = 0;
        }
    }
}

static void exchange(struct bkt_buf *a, struct bkt_buf *b)
{
    struct bkt_buf was = *a;
    *a = *b, *b = was;
}

static int reorder(struct values *v, struct bkt_buf *bytes, struct bkt_err *err)
{
    const struct kerchunk_array *a = v->a;
    BKT_FAIL_IF(err, bytes->len != a->chunk_elements * a->type.size, BKT_EFORMAT,
                "chunk: %zu bytes decoded, it should have %llu", bytes->len,
                (unsigned long long)(a->chunk_elements * a->type.size));
    if (!a->column_order)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_resize(&v->other, bytes->len));
    to_rows(a, bytes->ptr, v->other.ptr);
    exchange(bytes, &v->other);
    return BKT_OK;
}

static int to_utf8(struct values *v, struct bkt_buf *bytes, struct bkt_err *err)
{
    const size_t size = v->a->type.size;
    BKT_PASS_MEM(err, bkt_buf_resize(&v->other, bytes->len));
    for (size_t at = 0; at < bytes->len; at += size) {
        size_t n = size / 4; /* numpy: zeros at the end are not part of the text */
        while (n && bkt_get_le(bytes->ptr + at + 4 * (n - 1), 4) == 0)
            n--;
        BKT_FAIL_IF(err,
                    !kerchunk_utf32(bytes->ptr + at, n, v->a->type.swap, (char *)v->other.ptr + at, size),
                    BKT_EFORMAT, "text that is not Unicode");
    }
    exchange(bytes, &v->other);
    return BKT_OK;
}

/* vlen-utf8: the number of strings, and each one's length and bytes; v->strings gets them with a NUL behind
 * each. */
static int to_strings(struct values *v, const struct bkt_buf *bytes, struct bkt_err *err)
{
    struct bkt_rd rd = bkt_rd_of(bytes->ptr, bytes->len);
    const uint64_t n = v->a->chunk_elements;
    size_t at = 0;
    BKT_FAIL_IF(err, bytes->len < 4 || bkt_rd_le(&rd, 4) != n || bkt_rd_left(&rd) / 4 < n, BKT_EFORMAT,
                "vlen-utf8: not a chunk of %llu strings", (unsigned long long)n);
    if (bkt_buf_resize(&v->other, bytes->len) < 0) /* a length of 4 bytes makes way for a NUL */
        BKT_NOMEM(err);
    if (!v->strings && !(v->strings = calloc((size_t)n, sizeof *v->strings)))
        BKT_NOMEM(err);
    for (uint64_t i = 0; i < n; i++) {
        size_t len = (size_t)bkt_rd_le(&rd, 4);
        const void *text = rd.ok ? bkt_rd_take(&rd, len) : NULL;
        BKT_FAIL_IF(err, !text || memchr(text, 0, len), BKT_EFORMAT, "vlen-utf8: string %llu %s",
                    (unsigned long long)i,
                    text ? "has a NUL, which HDF5's strings can't have" : "ends behind the chunk");
        v->strings[i] = (char *)v->other.ptr + at;
        memcpy(v->strings[i], text, len);
        v->strings[i][len] = 0;
        at += len + 1;
    }
    return BKT_OK;
}

static int write_chunk(struct values *v, const struct kerchunk_chunk *c, const struct bkt_buf *stored,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    const struct kerchunk_array *a = v->a;
    const bool strings = a->type.form == KERCHUNK_VLEN_UTF8;
    BKT_PASS(kerchunk_codecs_decode(&a->codecs, stored->ptr, stored->len,
                                    strings ? KERCHUNK_CHUNK_MAX : a->chunk_elements * a->type.size, &bytes,
                                    err));
    if (strings) {
        BKT_PASS(to_strings(v, &bytes, err));
    } else {
        BKT_PASS(reorder(v, &bytes, err));
        if (a->type.form == KERCHUNK_UTF32)
            BKT_PASS(to_utf8(v, &bytes, err));
    }
    BKT_PASS(select_part(v, c->index, err));
    const void *from = strings ? (const void *)v->strings : bytes.ptr;
    return H5Dwrite(v->dset, a->type.h5, v->mem, v->file, H5P_DEFAULT, from) < 0
               ? h5_fail(err, "writing its elements")
               : BKT_OK;
}

static int write_batch(struct kerchunk_load *k, struct values *v, const struct kerchunk_chunk *c, size_t n,
                       struct bkt_err *err)
{
    struct bkt_buf stored[CHUNKS_AT_ONCE] = {{0}};
    int rc = fetch(k, c, n, stored, err);
    for (size_t i = 0; i < n && rc == BKT_OK; i++) {
        const struct kerchunk_ref *r = &k->set.refs[c[i].ref];
        rc = write_chunk(v, &c[i], &stored[i], err);
        if (rc < 0)
            rc = BKT_ERR(err, rc, "%.*s", (int)bkt_min_u64(r->key_n, 200), kerchunk_ref_key(&k->set, r));
        progress_add(k->l->progress, stored[i].len, 1, 0);
    }
    for (size_t i = 0; i < n; i++)
        bkt_buf_fini(&stored[i]);
    return rc;
}

int kerchunk_copy(struct kerchunk_load *k, const struct kerchunk_array *a, hid_t dset, struct bkt_err *err)
{
    BKT_CLEANUP(values_fini)
    struct values v = {.a = a, .dset = dset, .file = H5I_INVALID_HID, .mem = H5I_INVALID_HID};
    if (!a->n_chunks)
        return BKT_OK;
    BKT_FAIL_IF(err, a->chunk_elements > KERCHUNK_CHUNK_MAX / (a->type.size ? a->type.size : sizeof(char *)),
                BKT_EUNSUP, "a chunk of more than %llu bytes can't be copied",
                (unsigned long long)KERCHUNK_CHUNK_MAX);
    BKT_PASS(begin(&v, err));
    BKT_PASS(kerchunk_sizes(k, a, err));
    for (size_t i = 0, n; i < a->n_chunks; i += n) {
        uint64_t bytes = 0;
        for (n = 0; n < CHUNKS_AT_ONCE && i + n < a->n_chunks && (n == 0 || bytes < BKT_TOOL_BLOCK); n++)
            bytes += bkt_min_u64(k->set.refs[a->chunks[i + n].ref].len, KERCHUNK_CHUNK_MAX);
        BKT_PASS(write_batch(k, &v, a->chunks + i, n, err));
    }
    k->l->n_copied++;
    return BKT_OK;
}
