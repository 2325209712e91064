/* See parquet.h: the footer, and which pages belong to which column. */
#include "tools/kerchunk/format/parquet.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/kerchunk/format/parquet_pages.h"
#include "tools/kerchunk/format/thrift.h"

#define COLUMNS_MAX 64
#define NAME_MAX_PQ 64

struct element { /* of the schema, behind its root */
    char name[NAME_MAX_PQ];
    int64_t repetition;
};
struct footer {
    struct pq_table *table;
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

void pq_table_fini(struct pq_table *t)
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

static void read_name(struct tc *t, char out[NAME_MAX_PQ])
{
    size_t n;
    const void *p = tc_binary(t, &n);
    if (p && n < NAME_MAX_PQ) {
        memcpy(out, p, n);
        out[n] = 0;
    }
}

static void read_element(struct tc *t, struct footer *f, bool root)
{
    struct element e = {.repetition = 0};
    struct tc_field at = {TC_STOP, 0};
    int64_t kids = 0;
    while (tc_next(t, &at)) {
        if (at.id == 3 && tc_is_int(at.type))
            e.repetition = tc_int(t);
        else if (at.id == 4 && at.type == TC_BINARY)
            read_name(t, e.name);
        else if (at.id == 5 && tc_is_int(at.type))
            kids = tc_int(t);
        else
            tc_skip(t, at.type);
    }
    if (root)
        return;
    f->nested |= kids != 0 || e.repetition > 1 || f->n_columns == COLUMNS_MAX;
    if (f->n_columns < COLUMNS_MAX)
        f->columns[f->n_columns++] = e;
}

static void read_schema(struct tc *t, struct footer *f)
{
    enum tc_type entry;
    uint64_t n = tc_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        if (entry == TC_STRUCT)
            read_element(t, f, i == 0);
        else
            tc_skip(t, entry);
}

/* ---- row groups ---- */

struct chunk { /* a column of a row group */
    char name[NAME_MAX_PQ];
    int64_t type, codec, stored, data, dictionary;
    bool elsewhere;
};

static void read_path(struct tc *t, char out[NAME_MAX_PQ])
{
    enum tc_type entry;
    uint64_t n = tc_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        if (entry == TC_BINARY && n == 1)
            read_name(t, out);
        else
            tc_skip(t, entry);
}

static void read_metadata(struct tc *t, struct chunk *c)
{
    struct tc_field f = {TC_STOP, 0};
    while (tc_next(t, &f)) {
        int64_t *to = f.id == 1 && tc_is_int(f.type)    ? &c->type
                      : f.id == 4 && tc_is_int(f.type)  ? &c->codec
                      : f.id == 7 && tc_is_int(f.type)  ? &c->stored
                      : f.id == 9 && tc_is_int(f.type)  ? &c->data
                      : f.id == 11 && tc_is_int(f.type) ? &c->dictionary
                                                        : NULL;
        if (to)
            *to = tc_int(t);
        else if (f.id == 3 && f.type == TC_LIST)
            read_path(t, c->name);
        else
            tc_skip(t, f.type);
    }
}

static void read_chunk(struct tc *t, struct chunk *c)
{
    struct tc_field f = {TC_STOP, 0};
    *c = (struct chunk){.type = -1};
    while (tc_next(t, &f)) {
        if (f.id == 3 && f.type == TC_STRUCT) {
            read_metadata(t, c);
        } else {
            c->elsewhere |= f.id == 1;
            tc_skip(t, f.type);
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
    if (f->seen >> k & 1)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: column %s is there twice in a row group", c->name);
    f->seen |= (uint64_t)1 << k;
    uint64_t begin =
        c->dictionary > 0 && c->dictionary < c->data ? (uint64_t)c->dictionary : (uint64_t)c->data;
    if (c->elsewhere || c->data < 4 || c->stored < 0 || begin > f->n || (uint64_t)c->stored > f->n - begin)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: column %s lies outside of the file", c->name);
    if (!f->table->columns[k] &&
        !(f->table->columns[k] = calloc((size_t)f->n_rows + 1, sizeof(struct pq_value))))
        BKT_NOMEM(err);
    struct pq_column col = {.table = f->table,
                            .file = f->file,
                            .n = f->n,
                            .type = c->type,
                            .codec = c->codec,
                            .optional = is_optional(f, c->name),
                            .at = begin,
                            .end = begin + (uint64_t)c->stored,
                            .n_rows = n_rows,
                            .out = f->table->columns[k] + f->done};
    BKT_TRY(err, pq_column_read(&col, err), "column %s", c->name);
    return BKT_OK;
}

/* The columns come before the number of rows, so the group is read twice. */
static int take_group(struct tc *t, struct footer *f, struct bkt_err *err)
{
    struct tc ahead = *t;
    struct tc_field at = {TC_STOP, 0};
    int64_t n_rows = -1;
    f->seen = 0;
    while (tc_next(&ahead, &at)) {
        if (at.id == 3 && tc_is_int(at.type))
            n_rows = tc_int(&ahead);
        else
            tc_skip(&ahead, at.type);
    }
    if (!ahead.rd.ok || n_rows < 0 || (uint64_t)n_rows > (uint64_t)f->n_rows - f->done)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: a row group with more rows than the file");
    for (at = (struct tc_field){TC_STOP, 0}; tc_next(t, &at);) {
        enum tc_type entry;
        uint64_t n = at.id == 1 && at.type == TC_LIST ? tc_list(t, &entry) : 0;
        if (!(at.id == 1 && at.type == TC_LIST))
            tc_skip(t, at.type);
        for (uint64_t i = 0; i < n && t->rd.ok; i++) {
            struct chunk c;
            if (entry != TC_STRUCT) {
                tc_skip(t, entry);
                continue;
            }
            read_chunk(t, &c);
            if (t->rd.ok)
                BKT_PASS(take_chunk(f, &c, (uint64_t)n_rows, err));
        }
    }
    f->done += (uint64_t)n_rows;
    return BKT_OK;
}

static int take_groups(struct tc *t, struct footer *f, struct bkt_err *err)
{
    enum tc_type entry;
    uint64_t n = tc_list(t, &entry);
    if (f->n_rows < 0 || (uint64_t)f->n_rows > PQ_ROWS_MAX)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: %lld rows; at most %llu are read", (long long)f->n_rows,
                 (unsigned long long)PQ_ROWS_MAX);
    if (f->nested || entry != TC_STRUCT)
        BKT_FAIL(err, BKT_EUNSUP, "parquet: columns in columns, repeated ones, or more than %d", COLUMNS_MAX);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        BKT_PASS(take_group(t, f, err));
    if (f->done != (uint64_t)f->n_rows)
        BKT_FAIL(err, BKT_EFORMAT, "parquet: row groups with fewer rows than the file");
    return BKT_OK;
}

/* ---- the file ---- */

static int read_footer(struct footer *f, const unsigned char *p, size_t n, struct bkt_err *err)
{
    struct tc t = {bkt_rd_of(p, n), 0};
    struct tc_field at = {TC_STOP, 0};
    bool groups = false;
    f->n_rows = -1;
    while (tc_next(&t, &at)) {
        if (at.id == 2 && at.type == TC_LIST)
            read_schema(&t, f);
        else if (at.id == 3 && tc_is_int(at.type) && !groups) /* columns have room for these */
            f->n_rows = tc_int(&t);
        else if (at.id == 4 && at.type == TC_LIST && !groups) {
            groups = true; /* fields come in ascending order */
            BKT_PASS(take_groups(&t, f, err));
        } else
            tc_skip(&t, at.type);
    }
    return t.rd.ok && groups ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "parquet: a malformed footer");
}

int pq_read(const void *p, size_t n, const char *const *names, size_t n_names, struct pq_table *out,
            struct bkt_err *err)
{
    const unsigned char *b = p;
    uint64_t len = n >= 12 ? bkt_get_le(b + n - 8, 4) : 0;
    *out = (struct pq_table){.n_columns = n_names};
    out->columns =
        calloc(n_names + 1, sizeof *out->columns); /* NOLINT(bugprone-sizeof-expression): pointers */
    if (!out->columns)
        BKT_NOMEM(err);
    if (n < 12 || memcmp(b, "PAR1", 4) != 0 || memcmp(b + n - 4, "PAR1", 4) != 0 || len > n - 12)
        BKT_FAIL(err, BKT_EFORMAT, "not a Parquet file");
    struct footer f = {.table = out, .names = names, .n_names = n_names, .file = b, .n = n - 8 - (size_t)len};
    BKT_PASS(read_footer(&f, b + f.n, (size_t)len, err));
    out->n_rows = (uint64_t)f.n_rows;
    return BKT_OK;
}
