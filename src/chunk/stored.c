/* What a chunk object holds, both ways.
 *
 *   fixed-size elements   as HSDS stores them (hsds_codec.c), or, where the layout says so ("chunk_encoding": "hdf5"), what
 *                         HDF5's filters make of the chunk (filter.h)
 *   variable size         the serialised elements, and which strings are NULL (value_null.c), compressed by HSDS's rule
 *
 * HSDS has no place for HDF5's filter mask: which filters were left out for one chunk.  A chunk with a mask has a header in
 * front: 8 bytes of magic and the mask.  It is told by its bytes alone, so it is one object and one PUT, and a chunk without a
 * mask, which is nearly every one, costs nothing.  A chunk that would begin with the magic by itself gets the header too,
 * with mask 0.  HSDS, which can't express such chunks, finds them corrupt rather than wrong. */
#include <stdlib.h>
#include <string.h>

#include "dirty.h"
#include "value.h"

#define HEAD BKT_STORED_HEAD
static const unsigned char magic[8] = {0x89, 'B', 'K', 'T', 'm', '\r', '\n', 0x1a};

size_t bkt_stored_head(const void *p, size_t n, uint32_t *mask)
{
    *mask = 0;
    if (n < HEAD || memcmp(p, magic, sizeof magic) != 0)
        return 0;
    *mask = (uint32_t)bkt_get_le((const unsigned char *)p + sizeof magic, 4);
    return HEAD;
}

int bkt_stored_wrap(const void *p, size_t n, uint32_t mask, struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char head[HEAD];
    uint32_t      other;
    bool          needed = mask || bkt_stored_head(p, n, &other);
    memcpy(head, magic, sizeof magic);
    bkt_put_le(head + sizeof magic, 4, mask);
    if ((needed && bkt_buf_add(out, head, sizeof head) < 0) || bkt_buf_add(out, p, n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

bool bkt_stored_is_plain(const struct bkt_dsetio *io)
{
    const struct bkt_hsds_codec *c = &io->codec;
    if (io->hdf5)
        return io->pipe.n == 0;
    return !io->var && !c->compressed && c->shuffle != 2 && (c->shuffle != 1 || c->shuffle_only_is_raw);
}

/* ---- decode ---- */

int bkt_stored_decode(const struct bkt_dsetio *io, const struct bkt_pipeline *pipe, const void *in, size_t n, void *dst,
                      struct bkt_err *err)
{
    if (!io->hdf5)
        return bkt_hsds_decode(&io->codec, in, n, dst, io->chunk_bytes, err);
    uint32_t mask;
    size_t   head = pipe->n ? bkt_stored_head(in, n, &mask) : 0;
    return bkt_pipeline_decode(pipe, head ? mask : 0, (const unsigned char *)in + head, n - head, dst, io->chunk_bytes, err);
}

int bkt_stored_read(const struct bkt_dsetio *io, struct bkt_buf *stored, struct bkt_centry **out, struct bkt_err *err)
{
    if (io->var) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        if (io->codec.compressed)
            BKT_PASS(bkt_hsds_decode_var(&io->codec, stored->ptr, stored->len, &b, err));
        else
            bkt_buf_move(&b, stored);
        return bkt_var_index(io, &b, out, err);
    }
    struct bkt_centry *e = bkt_centry_new(io->chunk_bytes);
    if (!e)
        BKT_NOMEM(err);
    int rc = bkt_stored_decode(io, &io->pipe, stored->ptr, stored->len, e->data, err);
    if (rc < 0) {
        bkt_centry_release(e);
        return rc;
    }
    *out = e;
    return BKT_OK;
}

/* ---- encode ---- */

static int encode_hdf5(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    uint32_t                                 mask, other;
    BKT_PASS(bkt_pipeline_encode(&io->pipe, src, n, &b, &mask, err));
    if (mask || bkt_stored_head(b.ptr, b.len, &other))
        return bkt_stored_wrap(b.ptr, b.len, mask, out, err);
    bkt_buf_fini(out);
    bkt_buf_move(out, &b);
    return BKT_OK;
}

static int encode_nulls(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf     plain = {0};
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls nulls = {.n_empty = 0};
    if (bkt_buf_add(&plain, src, n) < 0)
        BKT_NOMEM(err);
    BKT_PASS(bkt_nulls_take(io->ds->type, plain.ptr, plain.len, &nulls, err));
    BKT_PASS(bkt_nulls_append(&nulls, &plain, err));
    return bkt_hsds_encode(io->ds, &io->codec, plain.ptr, plain.len, out, err);
}

int bkt_stored_encode(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    if (io->var && bkt_value_has_null(io->ds->type, src, n))
        return encode_nulls(io, src, n, out, err);
    if (io->hdf5)
        return encode_hdf5(io, src, n, out, err);
    return bkt_hsds_encode(io->ds, &io->codec, src, n, out, err);
}
