/* See parquet.h: the footer, and which pages belong to which column. */
#include "tools/kerchunk/format/parquet.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "chunk/filter/pipeline.h"
#include "tools/kerchunk/format/thrift.h"

enum parquet_type { PARQUET_INT32 = 1, PARQUET_INT64 = 2, PARQUET_BYTE_ARRAY = 6 };
enum parquet_codec { PARQUET_PLAIN_BYTES = 0, PARQUET_SNAPPY = 1, PARQUET_ZSTD = 6, PARQUET_LZ4_RAW = 7 };

struct parquet_column {
    struct parquet_table *table;
    const unsigned char *file; /* n bytes */
    size_t n;
    int64_t type, codec;
    bool optional;        /* values may be null */
    uint64_t at;          /* of the first page */
    uint64_t end;         /* of the pages */
    uint64_t n_rows;      /* to be read */
    struct parquet_value *out; /* n_rows of them */
    /* while reading */
    struct parquet_value *dict;
    uint64_t n_dict, done;
};

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2, PAGE_DATA_2 = 3 };
enum { ENC_PLAIN = 0, ENC_PLAIN_DICTIONARY = 2, ENC_RLE = 3, ENC_RLE_DICTIONARY = 8 };

struct page {
    int64_t type, size, stored; /* bytes decoded and in the file */
    int64_t n, encoding, levels_encoding;
    int64_t levels, repeats; /* version 2: bytes of levels before the values */
    bool uncompressed;       /* version 2: the values aren't compressed */
};

/* ---- headers ---- */

static void data_header(struct thrift *t, struct page *p, bool second)
{
    struct thrift_field f = {THRIFT_STOP, 0};
    while (thrift_next(t, &f)) {
        if (thrift_take_int(t, &f, 1, &p->n) || thrift_take_int(t, &f, second ? 4 : 2, &p->encoding) ||
            (!second && thrift_take_int(t, &f, 3, &p->levels_encoding)) ||
            (second && (thrift_take_int(t, &f, 5, &p->levels) || thrift_take_int(t, &f, 6, &p->repeats))))
            continue;
        if (f.id == 7 && second && (f.type == THRIFT_TRUE || f.type == THRIFT_FALSE))
            p->uncompressed = f.type == THRIFT_FALSE;
        else
            thrift_skip(t, f.type);
    }
}

static int page_header(struct parquet_column *c, struct page *p, struct bkt_err *err)
{
    struct thrift t = {bkt_rd_of(c->file + c->at, (size_t)(c->end - c->at)), 0};
    struct thrift_field f = {THRIFT_STOP, 0};
    *p = (struct page){.type = -1, .levels_encoding = ENC_RLE};
    while (thrift_next(&t, &f)) {
        if (thrift_take_int(&t, &f, 1, &p->type) || thrift_take_int(&t, &f, 2, &p->size) ||
            thrift_take_int(&t, &f, 3, &p->stored))
            continue;
        if ((f.id == 5 || f.id == 7 || f.id == 8) && f.type == THRIFT_STRUCT)
            data_header(&t, p, f.id == 8);
        else
            thrift_skip(&t, f.type);
    }
    c->at = c->end - bkt_rd_left(&t.rd);
    BKT_FAIL_IF(err,
                !t.rd.ok || p->size < 0 || p->size > (int64_t)PARQUET_PAGE_MAX || p->stored < 0 ||
                    (uint64_t)p->stored > c->end - c->at || p->n < 0 || p->levels < 0 || p->repeats != 0 ||
                    p->levels > p->stored || p->levels > p->size,
                BKT_EFORMAT, "parquet: a malformed page header");
    return BKT_OK;
}

/* ---- bytes of a page ---- */

static int decompress(const struct parquet_column *c, const unsigned char *in, size_t n, unsigned char *out,
                      size_t size, struct bkt_err *err)
{
    struct bkt_filter f = {.id = c->codec == PARQUET_SNAPPY ? BKT_FILTER_SNAPPY : BKT_FILTER_ZSTD};
    size_t got;
    if (c->codec == PARQUET_LZ4_RAW)
        return bkt_lz4_block(in, n, out, size, err);
    BKT_PASS(bkt_filter_decode(&f, in, n, out, size, &got, err));
    return got == size ? BKT_OK
                       : BKT_ERR(err, BKT_EFORMAT, "parquet: a page of %zu bytes, not %zu", got, size);
}

/* The decoded page, kept by the table: levels of version 2 first, which are never compressed. */
static int page_bytes(struct parquet_column *c, const struct page *p, struct bkt_rd *out, struct bkt_err *err)
{
    const unsigned char *in = c->file + c->at;
    struct parquet_table *t = c->table;
    size_t front = (size_t)p->levels, n = (size_t)p->stored, size = (size_t)p->size;
    c->at += n;
    if (c->codec == PARQUET_PLAIN_BYTES || p->uncompressed) {
        BKT_FAIL_IF(err, n != size, BKT_EFORMAT, "parquet: a plain page of %zu bytes, not %zu", n, size);
        *out = bkt_rd_of(in, n);
        return BKT_OK;
    }
    BKT_FAIL_IF(err, t->bytes + size > PARQUET_BYTES_MAX, BKT_EUNSUP,
                "parquet: pages of more than %llu bytes", (unsigned long long)PARQUET_BYTES_MAX);
    BKT_PASS_MEM(err, bkt_list_room(&t->pages, t->n_pages, &t->cap_pages, sizeof *t->pages));
    struct bkt_buf *page = &t->pages[t->n_pages++];
    *page = (struct bkt_buf){0};
    BKT_PASS_MEM(err, bkt_buf_resize(page, size));
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
    struct thrift t = {r->rd, 0};
    uint64_t h = thrift_varint(&t);
    r->rd = t.rd;
    r->packed = h & 1;
    r->left = r->packed ? (h >> 1) * 8 : h >> 1;
    r->n_bits = 0, r->bits = 0;
    if (h >> 1 > PARQUET_ROWS_MAX || h >> 1 == 0)
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

static void plain_value(const struct parquet_column *c, struct bkt_rd *rd, struct parquet_value *v)
{
    if (c->type == PARQUET_BYTE_ARRAY) {
        v->n = (size_t)bkt_rd_le(rd, 4);
        v->p = rd->ok ? bkt_rd_take(rd, v->n) : NULL;
    } else {
        uint64_t x = bkt_rd_le(rd, c->type == PARQUET_INT32 ? 4 : 8);
        v->i = c->type == PARQUET_INT32 ? (int32_t)(uint32_t)x : (int64_t)x;
    }
}

static int take_dictionary(struct parquet_column *c, const struct page *p, struct bkt_rd *rd,
                           struct bkt_err *err)
{
    BKT_FAIL_IF(err, c->dict || (p->encoding != ENC_PLAIN && p->encoding != ENC_PLAIN_DICTIONARY), BKT_EUNSUP,
                "parquet: a second dictionary, or one that is not plain");
    if ((uint64_t)p->n > bkt_rd_left(rd) ||
        (uint64_t)p->n > PARQUET_ROWS_MAX) /* a value takes 4 bytes or more */
        BKT_FAIL(err, BKT_EFORMAT, "parquet: a dictionary of %lld values", (long long)p->n);
    c->dict = calloc((size_t)p->n + 1, sizeof *c->dict);
    BKT_NEED(err, c->dict);
    for (c->n_dict = 0; c->n_dict < (uint64_t)p->n && rd->ok; c->n_dict++)
        plain_value(c, rd, &c->dict[c->n_dict]);
    return rd->ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: the dictionary ends within a value");
}

/* Marks the nulls of the page's rows. */
static int take_levels(const struct parquet_column *c, const struct page *p, struct bkt_rd *rd,
                       struct parquet_value *out, struct bkt_err *err)
{
    struct runs r = {.width = 1};
    if (!c->optional)
        return p->levels ? BKT_ERR(err, BKT_EFORMAT, "parquet: levels of a column without nulls") : BKT_OK;
    BKT_FAIL_IF(err, p->levels_encoding != ENC_RLE, BKT_EUNSUP,
                "parquet: levels of another encoding than RLE");
    size_t n = p->type == PAGE_DATA_2 ? (size_t)p->levels : (size_t)bkt_rd_le(rd, 4);
    BKT_FAIL_IF(err, !rd->ok || n > bkt_rd_left(rd), BKT_EFORMAT, "parquet: levels behind the page's end");
    r.rd = bkt_rd_of(bkt_rd_take(rd, n), n);
    for (int64_t i = 0; i < p->n && r.rd.ok; i++)
        out[i].null = next_value(&r) == 0;
    return r.rd.ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: levels end too early");
}

static int take_values(struct parquet_column *c, const struct page *p, struct bkt_rd *rd,
                       struct parquet_value *out, struct bkt_err *err)
{
    const bool dict = p->encoding == ENC_PLAIN_DICTIONARY || p->encoding == ENC_RLE_DICTIONARY;
    struct runs r = {.left = 0};
    BKT_FAIL_IF(err, !dict && p->encoding != ENC_PLAIN, BKT_EUNSUP,
                "parquet: encoding %lld; plain and dictionaries are known", (long long)p->encoding);
    if (dict) {
        r.width = bkt_rd_left(rd) ? (unsigned)bkt_rd_le(rd, 1) : 0;
        r.rd = *rd;
        BKT_FAIL_IF(err, r.width > 32, BKT_EFORMAT, "parquet: places of %u bits", r.width);
    }
    for (int64_t i = 0; i < p->n && rd->ok; i++) {
        if (out[i].null)
            continue;
        if (!dict) {
            plain_value(c, rd, &out[i]);
            continue;
        }
        uint64_t k = next_value(&r);
        BKT_FAIL_IF(err, !r.rd.ok || k >= c->n_dict, BKT_EFORMAT,
                    "parquet: a place outside of the dictionary");
        out[i] = c->dict[k];
    }
    return rd->ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: a page ends within a value");
}

static int take_page(struct parquet_column *c, struct bkt_err *err)
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
    BKT_FAIL_IF(err, (uint64_t)p.n > c->n_rows - c->done, BKT_EFORMAT, "parquet: more values than rows");
    struct parquet_value *out = c->out + c->done;
    c->done += (uint64_t)p.n;
    BKT_PASS(take_levels(c, &p, &rd, out, err));
    return take_values(c, &p, &rd, out, err);
}

/* Read the pages of a column of a row group.  BKT_EFORMAT, BKT_EUNSUP. */
static int column_read(struct parquet_column *c, struct bkt_err *err)
{
    int rc = BKT_OK;
    c->dict = NULL, c->n_dict = c->done = 0;
    BKT_FAIL_IF(
        err,
        (c->type != PARQUET_INT32 && c->type != PARQUET_INT64 && c->type != PARQUET_BYTE_ARRAY) ||
            (c->codec != PARQUET_PLAIN_BYTES && c->codec != PARQUET_SNAPPY && c->codec != PARQUET_ZSTD &&
             c->codec != PARQUET_LZ4_RAW),
        BKT_EUNSUP,
        "parquet: type %lld or codec %lld; INT32, INT64, BYTE_ARRAY and zstd, snappy, LZ4_RAW are known",
        (long long)c->type, (long long)c->codec);
    while (c->done < c->n_rows && rc == BKT_OK)
        rc =
            c->at < c->end ? take_page(c, err) : BKT_ERR(err, BKT_EFORMAT, "parquet: fewer values than rows");
    free(c->dict);
    return rc;
}

/* ---- which pages belong to which column ---- */

#define COLUMNS_MAX 64
#define NAME_MAX_PQ 64

struct element { /* of the schema, behind its root */
    char name[NAME_MAX_PQ];
    int64_t repetition;
};
struct footer {
    struct parquet_table *table;
    const char *const *names;
    size_t n_names;
    struct element columns[COLUMNS_MAX];
    size_t n_columns;
    int64_t n_rows;
    uint64_t done; /* rows of earlier row groups */
    uint64_t seen; /* columns of this row group: a bit per name */
    const unsigned char *file;
    size_t n; /* bytes of the file before the footer */
    bool nested;
};

void parquet_table_fini(struct parquet_table *t)
{
    for (size_t i = 0; t->columns && i < t->n_columns; i++)
        free(t->columns[i]);
    free(t->columns);
    for (size_t i = 0; i < t->n_pages; i++)
        bkt_buf_fini(&t->pages[i]);
    free(t->pages);
    memset(t, 0, sizeof *t);
}

/* ---- the schema ---- */

static void read_name(struct thrift *t, char out[NAME_MAX_PQ])
{
    size_t n;
    const void *p = thrift_binary(t, &n);
    if (p && n < NAME_MAX_PQ) {
        memcpy(out, p, n);
        out[n] = 0;
    }
}

static void read_element(struct thrift *t, struct footer *f, bool root)
{
    struct element e = {.repetition = 0};
    struct thrift_field at = {THRIFT_STOP, 0};
    int64_t kids = 0;
    while (thrift_next(t, &at)) {
        if (at.id == 4 && at.type == THRIFT_BINARY)
            read_name(t, e.name);
        else if (!thrift_take_int(t, &at, 3, &e.repetition) && !thrift_take_int(t, &at, 5, &kids))
            thrift_skip(t, at.type);
    }
    if (root)
        return;
    f->nested |= kids != 0 || e.repetition > 1 || f->n_columns == COLUMNS_MAX;
    if (f->n_columns < COLUMNS_MAX)
        f->columns[f->n_columns++] = e;
}

static void read_schema(struct thrift *t, struct footer *f)
{
    enum thrift_type entry;
    uint64_t n = thrift_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        if (thrift_is(t, entry, THRIFT_STRUCT))
            read_element(t, f, i == 0);
}

/* ---- row groups ---- */

struct chunk { /* a column of a row group */
    char name[NAME_MAX_PQ];
    int64_t type, codec, stored, data, dictionary;
    bool elsewhere;
};

static void read_path(struct thrift *t, char out[NAME_MAX_PQ])
{
    enum thrift_type entry;
    uint64_t n = thrift_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        if (entry == THRIFT_BINARY && n == 1)
            read_name(t, out);
        else
            thrift_skip(t, entry);
}

static void read_metadata(struct thrift *t, struct chunk *c)
{
    struct thrift_field f = {THRIFT_STOP, 0};
    while (thrift_next(t, &f)) {
        if (thrift_take_int(t, &f, 1, &c->type) || thrift_take_int(t, &f, 4, &c->codec) ||
            thrift_take_int(t, &f, 7, &c->stored) || thrift_take_int(t, &f, 9, &c->data) ||
            thrift_take_int(t, &f, 11, &c->dictionary))
            continue;
        if (f.id == 3 && f.type == THRIFT_LIST)
            read_path(t, c->name);
        else
            thrift_skip(t, f.type);
    }
}

static void read_chunk(struct thrift *t, struct chunk *c)
{
    struct thrift_field f = {THRIFT_STOP, 0};
    *c = (struct chunk){.type = -1};
    while (thrift_next(t, &f)) {
        if (f.id == 3 && f.type == THRIFT_STRUCT) {
            read_metadata(t, c);
        } else {
            c->elsewhere |= f.id == 1;
            thrift_skip(t, f.type);
        }
    }
}

static bool is_optional(const struct footer *f, const char *name)
{
    for (size_t i = 0; i < f->n_columns; i++)
        if (strcmp(f->columns[i].name, name) == 0)
            return f->columns[i].repetition == 1;
    return false;
}

static int take_chunk(struct footer *f, const struct chunk *c, uint64_t n_rows, struct bkt_err *err)
{
    size_t k = 0;
    while (k < f->n_names && strcmp(f->names[k], c->name) != 0)
        k++;
    if (k == f->n_names)
        return BKT_OK;
    BKT_FAIL_IF(err, f->seen >> k & 1, BKT_EFORMAT, "parquet: column %s is there twice in a row group",
                c->name);
    f->seen |= (uint64_t)1 << k;
    uint64_t begin =
        c->dictionary > 0 && c->dictionary < c->data ? (uint64_t)c->dictionary : (uint64_t)c->data;
    BKT_FAIL_IF(err,
                c->elsewhere || c->data < 4 || c->stored < 0 || begin > f->n ||
                    (uint64_t)c->stored > f->n - begin,
                BKT_EFORMAT, "parquet: column %s lies outside of the file", c->name);
    if (!f->table->columns[k] &&
        !(f->table->columns[k] = calloc((size_t)f->n_rows + 1, sizeof(struct parquet_value))))
        BKT_NOMEM(err);
    struct parquet_column col = {.table = f->table,
                                 .file = f->file,
                                 .n = f->n,
                                 .type = c->type,
                                 .codec = c->codec,
                                 .optional = is_optional(f, c->name),
                                 .at = begin,
                                 .end = begin + (uint64_t)c->stored,
                                 .n_rows = n_rows,
                                 .out = f->table->columns[k] + f->done};
    BKT_TRY(err, column_read(&col, err), "column %s", c->name);
    return BKT_OK;
}

/* The columns come before the number of rows, so the group is read twice. */
static int take_group(struct thrift *t, struct footer *f, struct bkt_err *err)
{
    struct thrift ahead = *t;
    struct thrift_field at = {THRIFT_STOP, 0};
    int64_t n_rows = -1;
    f->seen = 0;
    while (thrift_next(&ahead, &at))
        if (!thrift_take_int(&ahead, &at, 3, &n_rows))
            thrift_skip(&ahead, at.type);
    BKT_FAIL_IF(err, !ahead.rd.ok || n_rows < 0 || (uint64_t)n_rows > (uint64_t)f->n_rows - f->done,
                BKT_EFORMAT, "parquet: a row group with more rows than the file");
    for (at = (struct thrift_field){THRIFT_STOP, 0}; thrift_next(t, &at);) {
        enum thrift_type entry;
        uint64_t n =
            thrift_is(t, at.type, at.id == 1 ? THRIFT_LIST : THRIFT_STOP) ? thrift_list(t, &entry) : 0;
        for (uint64_t i = 0; i < n && t->rd.ok; i++) {
            struct chunk c;
            if (!thrift_is(t, entry, THRIFT_STRUCT))
                continue;
            read_chunk(t, &c);
            if (t->rd.ok)
                BKT_PASS(take_chunk(f, &c, (uint64_t)n_rows, err));
        }
    }
    f->done += (uint64_t)n_rows;
    return BKT_OK;
}

static int take_groups(struct thrift *t, struct footer *f, struct bkt_err *err)
{
    enum thrift_type entry;
    uint64_t n = thrift_list(t, &entry);
    BKT_FAIL_IF(err, f->n_rows < 0 || (uint64_t)f->n_rows > PARQUET_ROWS_MAX, BKT_EFORMAT,
                "parquet: %lld rows; at most %llu are read", (long long)f->n_rows,
                (unsigned long long)PARQUET_ROWS_MAX);
    BKT_FAIL_IF(err, f->nested || entry != THRIFT_STRUCT, BKT_EUNSUP,
                "parquet: columns in columns, repeated ones, or more than %d", COLUMNS_MAX);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        BKT_PASS(take_group(t, f, err));
    BKT_FAIL_IF(err, f->done != (uint64_t)f->n_rows, BKT_EFORMAT,
                "parquet: row groups with fewer rows than the file");
    return BKT_OK;
}

/* ---- the file ---- */

static int read_footer(struct footer *f, const unsigned char *p, size_t n, struct bkt_err *err)
{
    struct thrift t = {bkt_rd_of(p, n), 0};
    struct thrift_field at = {THRIFT_STOP, 0};
    bool groups = false;
    f->n_rows = -1;
    while (thrift_next(&t, &at)) {
        if (at.id == 2 && at.type == THRIFT_LIST)
            read_schema(&t, f);
        else if (!groups && thrift_take_int(&t, &at, 3, &f->n_rows)) /* columns have room for these */
            continue;
        else if (at.id == 4 && at.type == THRIFT_LIST && !groups) {
            groups = true; /* fields come in ascending order */
            BKT_PASS(take_groups(&t, f, err));
        } else
            thrift_skip(&t, at.type);
    }
    return t.rd.ok && groups ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: a malformed footer");
}

int parquet_read(const void *p, size_t n, const char *const *names, size_t n_names, struct parquet_table *out,
                 struct bkt_err *err)
{
    const unsigned char *b = p;
    uint64_t len = n >= 12 ? bkt_get_le(b + n - 8, 4) : 0;
    *out = (struct parquet_table){.n_columns = n_names};
    out->columns =
        calloc(n_names + 1, sizeof *out->columns); /* NOLINT(bugprone-sizeof-expression): pointers */
    BKT_NEED(err, out->columns);
    BKT_FAIL_IF(err, n < 12 || memcmp(b, "PAR1", 4) != 0 || memcmp(b + n - 4, "PAR1", 4) != 0 || len > n - 12,
                BKT_EFORMAT, "not a Parquet file");
    struct footer f = {.table = out, .names = names, .n_names = n_names, .file = b, .n = n - 8 - (size_t)len};
    BKT_PASS(read_footer(&f, b + f.n, (size_t)len, err));
    out->n_rows = (uint64_t)f.n_rows;
    return BKT_OK;
}
