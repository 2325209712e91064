/* See parquet_pages.h. */
#include "tools/kerchunk/format/parquet_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "chunk/filter/pipeline.h"
#include "tools/kerchunk/format/thrift.h"

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2, PAGE_DATA_2 = 3 };
enum { ENC_PLAIN = 0, ENC_PLAIN_DICTIONARY = 2, ENC_RLE = 3, ENC_RLE_DICTIONARY = 8 };

struct page {
    int64_t type, size, stored; /* bytes decoded and in the file */
    int64_t n, encoding, levels_encoding;
    int64_t levels, repeats; /* version 2: bytes of levels before the values */
    bool plain;              /* version 2: the values aren't compressed */
};

/* ---- headers ---- */

static void data_header(struct tc *t, struct page *p, bool second)
{
    struct tc_field f = {TC_STOP, 0};
    while (tc_next(t, &f)) {
        if (f.id == 1 && tc_is_int(f.type))
            p->n = tc_int(t);
        else if (f.id == (second ? 4 : 2) && tc_is_int(f.type))
            p->encoding = tc_int(t);
        else if (f.id == 3 && tc_is_int(f.type) && !second)
            p->levels_encoding = tc_int(t);
        else if (f.id == 5 && tc_is_int(f.type) && second)
            p->levels = tc_int(t);
        else if (f.id == 6 && tc_is_int(f.type) && second)
            p->repeats = tc_int(t);
        else if (f.id == 7 && second && (f.type == TC_TRUE || f.type == TC_FALSE))
            p->plain = f.type == TC_FALSE;
        else
            tc_skip(t, f.type);
    }
}

static int page_header(struct pq_column *c, struct page *p, struct bkt_err *err)
{
    struct tc t = {bkt_rd_of(c->file + c->at, (size_t)(c->end - c->at)), 0};
    struct tc_field f = {TC_STOP, 0};
    *p = (struct page){.type = -1, .levels_encoding = ENC_RLE};
    while (tc_next(&t, &f)) {
        if (f.id == 1 && tc_is_int(f.type))
            p->type = tc_int(&t);
        else if (f.id == 2 && tc_is_int(f.type))
            p->size = tc_int(&t);
        else if (f.id == 3 && tc_is_int(f.type))
            p->stored = tc_int(&t);
        else if ((f.id == 5 || f.id == 7 || f.id == 8) && f.type == TC_STRUCT)
            data_header(&t, p, f.id == 8);
        else
            tc_skip(&t, f.type);
    }
    c->at = c->end - bkt_rd_left(&t.rd);
    if (!t.rd.ok || p->size < 0 || p->size > (int64_t)PQ_PAGE_MAX || p->stored < 0 ||
        (uint64_t)p->stored > c->end - c->at || p->n < 0 || p->levels < 0 || p->repeats != 0 ||
        p->levels > p->stored || p->levels > p->size)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: a malformed page header");
    return BKT_OK;
}

/* ---- bytes of a page ---- */

static int decompress(const struct pq_column *c, const unsigned char *in, size_t n, unsigned char *out,
                      size_t size, struct bkt_err *err)
{
    struct bkt_filter f = {.id = c->codec == PQ_SNAPPY ? BKT_FILTER_SNAPPY : BKT_FILTER_ZSTD};
    size_t got;
    if (c->codec == PQ_LZ4_RAW)
        return bkt_lz4_block(in, n, out, size, err);
    BKT_PASS(bkt_filter_decode(&f, in, n, out, size, &got, err));
    return got == size ? BKT_OK
                       : BKT_ERR(err, BKT_EFORMAT, "parquet: a page of %zu bytes, not %zu", got, size);
}

/* The decoded page, kept by the table: levels of version 2 first, which are never compressed. */
static int page_bytes(struct pq_column *c, const struct page *p, struct bkt_rd *out, struct bkt_err *err)
{
    const unsigned char *in = c->file + c->at;
    struct pq_table *t = c->table;
    size_t front = (size_t)p->levels, n = (size_t)p->stored, size = (size_t)p->size;
    c->at += n;
    if (c->codec == PQ_PLAIN_BYTES || p->plain) {
        if (n != size)
            BKT_FAIL(err, BKT_EFORMAT, "parquet: a plain page of %zu bytes, not %zu", n, size);
        *out = bkt_rd_of(in, n);
        return BKT_OK;
    }
    if (t->bytes + size > PQ_BYTES_MAX)
        BKT_FAIL(err, BKT_EUNSUP, "parquet: pages of more than %llu bytes", (unsigned long long)PQ_BYTES_MAX);
    if (bkt_list_room(&t->pages, t->n_pages, &t->cap_pages, sizeof *t->pages) < 0)
        BKT_NOMEM(err);
    struct bkt_buf *page = &t->pages[t->n_pages++];
    *page = (struct bkt_buf){0};
    if (bkt_buf_resize(page, size) < 0)
        BKT_NOMEM(err);
    t->bytes += size;
    if (front)
        memcpy(page->ptr, in, front);
    if (size > front)
        BKT_PASS(decompress(c, in + front, n - front, page->ptr + front, size - front, err));
    *out = bkt_rd_of(page->ptr, size);
    return BKT_OK;
}

/* ---- runs of levels and of places in the dictionary ---- */

struct runs {
    struct bkt_rd rd;
    unsigned width; /* bits of a value, at most 32 */
    uint64_t left;  /* values of the present run */
    bool packed;
    uint64_t value, bits; /* of a run; bits that are read but not used yet */
    unsigned n_bits;
};

static void next_run(struct runs *r)
{
    struct tc t = {r->rd, 0};
    uint64_t h = tc_varint(&t);
    r->rd = t.rd;
    r->packed = h & 1;
    r->left = r->packed ? (h >> 1) * 8 : h >> 1;
    r->n_bits = 0, r->bits = 0;
    if (h >> 1 > PQ_ROWS_MAX || h >> 1 == 0)
        r->rd.ok = false;
    if (!r->packed)
        r->value = r->width ? bkt_rd_le(&r->rd, (r->width + 7) / 8) : 0;
}

static uint64_t next_value(struct runs *r)
{
    if (!r->left)
        next_run(r);
    if (!r->rd.ok)
        return 0;
    r->left--;
    if (!r->packed)
        return r->value;
    while (r->n_bits < r->width) {
        r->bits |= bkt_rd_le(&r->rd, 1) << r->n_bits;
        r->n_bits += 8;
    }
    uint64_t v = r->bits & (((uint64_t)1 << r->width) - 1);
    r->bits >>= r->width;
    r->n_bits -= r->width;
    return v;
}

/* ---- values ---- */

static void plain_value(const struct pq_column *c, struct bkt_rd *rd, struct pq_value *v)
{
    if (c->type == PQ_BYTE_ARRAY) {
        v->n = (size_t)bkt_rd_le(rd, 4);
        v->p = rd->ok ? bkt_rd_take(rd, v->n) : NULL;
    } else {
        uint64_t x = bkt_rd_le(rd, c->type == PQ_INT32 ? 4 : 8);
        v->i = c->type == PQ_INT32 ? (int32_t)(uint32_t)x : (int64_t)x;
    }
}

static int take_dictionary(struct pq_column *c, const struct page *p, struct bkt_rd *rd, struct bkt_err *err)
{
    if (c->dict || (p->encoding != ENC_PLAIN && p->encoding != ENC_PLAIN_DICTIONARY))
        BKT_FAIL(err, BKT_EUNSUP, "parquet: a second dictionary, or one that is not plain");
    if ((uint64_t)p->n > bkt_rd_left(rd) || (uint64_t)p->n > PQ_ROWS_MAX) /* a value takes 4 bytes or more */
        BKT_FAIL(err, BKT_EFORMAT, "parquet: a dictionary of %lld values", (long long)p->n);
    c->dict = calloc((size_t)p->n + 1, sizeof *c->dict);
    if (!c->dict)
        BKT_NOMEM(err);
    for (c->n_dict = 0; c->n_dict < (uint64_t)p->n && rd->ok; c->n_dict++)
        plain_value(c, rd, &c->dict[c->n_dict]);
    return rd->ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: the dictionary ends within a value");
}

/* Marks the nulls of the page's rows. */
static int take_levels(const struct pq_column *c, const struct page *p, struct bkt_rd *rd,
                       struct pq_value *out, struct bkt_err *err)
{
    struct runs r = {.width = 1};
    if (!c->optional)
        return p->levels ? BKT_ERR(err, BKT_EFORMAT, "parquet: levels of a column without nulls") : BKT_OK;
    if (p->levels_encoding != ENC_RLE)
        BKT_FAIL(err, BKT_EUNSUP, "parquet: levels of another encoding than RLE");
    size_t n = p->type == PAGE_DATA_2 ? (size_t)p->levels : (size_t)bkt_rd_le(rd, 4);
    if (!rd->ok || n > bkt_rd_left(rd))
        BKT_FAIL(err, BKT_EFORMAT, "parquet: levels behind the page's end");
    r.rd = bkt_rd_of(bkt_rd_take(rd, n), n);
    for (int64_t i = 0; i < p->n && r.rd.ok; i++)
        out[i].null = next_value(&r) == 0;
    return r.rd.ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: levels end too early");
}

static int take_values(struct pq_column *c, const struct page *p, struct bkt_rd *rd, struct pq_value *out,
                       struct bkt_err *err)
{
    const bool dict = p->encoding == ENC_PLAIN_DICTIONARY || p->encoding == ENC_RLE_DICTIONARY;
    struct runs r = {.left = 0};
    if (!dict && p->encoding != ENC_PLAIN)
        BKT_FAIL(err, BKT_EUNSUP, "parquet: encoding %lld; plain and dictionaries are known",
                 (long long)p->encoding);
    if (dict) {
        r.width = bkt_rd_left(rd) ? (unsigned)bkt_rd_le(rd, 1) : 0;
        r.rd = *rd;
        if (r.width > 32)
            BKT_FAIL(err, BKT_EFORMAT, "parquet: places of %u bits", r.width);
    }
    for (int64_t i = 0; i < p->n && rd->ok; i++) {
        if (out[i].null)
            continue;
        if (!dict) {
            plain_value(c, rd, &out[i]);
            continue;
        }
        uint64_t k = next_value(&r);
        if (!r.rd.ok || k >= c->n_dict)
            BKT_FAIL(err, BKT_EFORMAT, "parquet: a place outside of the dictionary");
        out[i] = c->dict[k];
    }
    return rd->ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: a page ends within a value");
}

static int take_page(struct pq_column *c, struct bkt_err *err)
{
    struct page p;
    struct bkt_rd rd;
    BKT_PASS(page_header(c, &p, err));
    bool data = p.type == PAGE_DATA || p.type == PAGE_DATA_2;
    if (!data && p.type != PAGE_DICTIONARY) {
        c->at += (uint64_t)p.stored;
        return BKT_OK;
    }
    BKT_PASS(page_bytes(c, &p, &rd, err));
    if (!data)
        return take_dictionary(c, &p, &rd, err);
    if ((uint64_t)p.n > c->n_rows - c->done)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: more values than rows");
    struct pq_value *out = c->out + c->done;
    c->done += (uint64_t)p.n;
    BKT_PASS(take_levels(c, &p, &rd, out, err));
    return take_values(c, &p, &rd, out, err);
}

int pq_column_read(struct pq_column *c, struct bkt_err *err)
{
    int rc = BKT_OK;
    c->dict = NULL, c->n_dict = c->done = 0;
    if ((c->type != PQ_INT32 && c->type != PQ_INT64 && c->type != PQ_BYTE_ARRAY) ||
        (c->codec != PQ_PLAIN_BYTES && c->codec != PQ_SNAPPY && c->codec != PQ_ZSTD &&
         c->codec != PQ_LZ4_RAW))
        BKT_FAIL(
            err, BKT_EUNSUP,
            "parquet: type %lld or codec %lld; INT32, INT64, BYTE_ARRAY and zstd, snappy, LZ4_RAW are known",
            (long long)c->type, (long long)c->codec);
    while (c->done < c->n_rows && rc == BKT_OK)
        rc =
            c->at < c->end ? take_page(c, err) : BKT_ERR(err, BKT_EFORMAT, "parquet: fewer values than rows");
    free(c->dict);
    return rc;
}
