/* H5D_CHUNKED_REF_INDIRECT: rows {offset, size[, file_uri]} of a dataset in the same domain, one per chunk.
 * Fields count by position, whatever their names and widths.  Only the wanted rows are read, for all datasets
 * of a plan together. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/fork.h"
#include "chunk/dataset/dataset.h"
#include "chunk/read/read.h"
#include "chunk/read/references.h"
#include "storage/store.h"

/* ---- the first chunk ---- */

/* A chunk table's first chunk, requested beside the table's JSON: the table's id alone gives both keys.  The
 * request is a guess.  A wrong guess costs one request, whose result is ignored; the read then requests what
 * it needs. */

/* Rows of a chunk of a table that `load` made (tools/load/chunk_table_write.c) */
#define LOADED_ROWS (UINT64_C(1) << 14)
#define FIRST_BYTES (UINT64_C(1) << 18) /* bytes requested of the chunk; compressed ones are shorter */

struct bkt_reference_table_first {
    struct bkt_await get;
    struct bkt_buf   key;
    unsigned generation; /* bkt_fork_generation(): a forked child has no thread that would end the request */
};

static int key_of(const struct bkt_id *table, const struct bkt_layout *l, struct bkt_buf *out)
{
    const uint64_t coord[BKT_MAX_RANK] = {0};
    return bkt_chunk_key(table, l, coord, out);
}

static bool is_one_chunk(const struct bkt_dsetio *io)
{
    uint64_t rows = 1;
    for (unsigned d = 0; d < io->rank; d++)
        if (!bkt_mul_u64(rows, bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]), &rows))
            return false;
    return rows && rows <= LOADED_ROWS;
}

static void first_free(struct bkt_dsetio *io)
{
    struct bkt_reference_table_first *f = io->first;
    io->first = NULL;
    if (f->generation != bkt_fork_generation())
        return;
    bkt_await_fini(&f->get);
    bkt_buf_fini(&f->key);
    free(f);
}

void bkt_reference_table_first_begin(struct bkt_dsetio *io)
{
    struct bkt_store       *st = bkt_domain_store(io->dom);
    const struct bkt_layout l  = {.rank = io->rank};
    if (io->where != BKT_AT_TABLE || io->bad.code || io->first || io->table || !io->set->read_ahead ||
        !io->cache || bkt_store_is_local(st) || !is_one_chunk(io))
        return;
    struct bkt_reference_table_first *f = calloc(1, sizeof *f);
    if (!f || key_of(&io->ds->layout.chunk_table, &l, &f->key) < 0) {
        if (f)
            bkt_buf_fini(&f->key);
        free(f);
        return;
    }
    f->get.req = (struct bkt_req){
        .op = BKT_GET, .key = bkt_buf_str(&f->key), .len = FIRST_BYTES, .may_be_short = true};
    f->generation = bkt_fork_generation();
    bkt_await_start(NULL, st, &f->get);
    io->first = f;
    io->first_free = first_free;
}

static bool is_of(const struct bkt_dsetio *table, const struct bkt_reference_table_first *f)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    return table->where == BKT_AT_OBJECTS && table->cache && table->space && table->slice_space &&
           key_of(&table->obj->id, &table->ds->layout, &key) == BKT_OK &&
           strcmp(bkt_buf_str(&key), bkt_buf_str(&f->key)) == 0;
}

/* A cache entry of the beginning of a chunk object whose bytes are the elements. */
static struct bkt_cache_entry *slice_of(const struct bkt_buf *got)
{
    struct bkt_cache_entry *e = bkt_cache_entry_new(got->len);
    if (e)
        memcpy(e->data, got->ptr, got->len);
    return e;
}

static void keep(struct bkt_dsetio *table, struct bkt_req *r)
{
    struct bkt_cache_entry *e = NULL;
    if (r->rc != BKT_OK || !r->body.len)
        return;
    if (bkt_chunk_object_is_unencoded(table) && r->body.len <= table->chunk_bytes && (e = slice_of(&r->body)))
        bkt_cache_put(table->cache, table->slice_space, 0, e);
    else if (r->size == r->body.len && bkt_chunk_object_read(table, &r->body, &e, NULL) == BKT_OK)
        bkt_cache_put(table->cache, table->space, 0, e);
    bkt_cache_entry_release(e);
}

/* Put the received first chunk of the table into the cache; io->table was just opened. */
static void reference_table_first_keep(struct bkt_dsetio *io)
{
    if (!io->first)
        return;
    if (io->first->generation == bkt_fork_generation() && is_of(io->table, io->first)) {
        bkt_await(&io->first->get);
        keep(io->table, &io->first->get.req);
    }
    first_free(io);
}

/* ---- rows ---- */

/* Names of the connector's fields, behind those of HSDS, which finds its own by place: a chunk's filter mask,
 * its file's ETag or stamp. */
#define FIELD_MASK "filter_mask"
#define FIELD_ETAG "file_etag"

struct rows {
    struct bkt_references_find *q;
    struct bkt_sel     sel;
    size_t            *where;   /* index of each chunk's row among the rows read; SIZE_MAX: beyond the
                                   table */
    unsigned char     *fixed;   /* n_elems elements */
    struct bkt_run    *runs;
};

static void rows_fini(struct rows *r)
{
    free(r->where);
    free(r->fixed);
    free(r->runs);
}

static int check_table(const struct bkt_object *o, struct bkt_err *err)
{
    BKT_FAIL_IF(err, o->kind != BKT_DATASET, BKT_EFORMAT, "chunk table %s is not a dataset", o->id.text);
    const struct bkt_type *t = o->dset.type;
    BKT_FAIL_IF(err, o->dset.layout.cls == BKT_D_CHUNKED_REF_INDIRECT, BKT_EFORMAT,
                "chunk table %s has a chunk table itself", o->id.text);
    BKT_FAIL_IF(err, t->cls != BKT_T_COMPOUND || t->n_fields < 2, BKT_EFORMAT,
                "chunk table %s: elements are not {offset, size[, file_uri]}", o->id.text);
    for (size_t i = 0; i < 2; i++)
        BKT_FAIL_IF(err,
                    t->fields[i].type->cls != BKT_T_INTEGER || !t->fields[i].type->size ||
                        t->fields[i].type->size > 8,
                    BKT_EFORMAT, "chunk table %s: field %s is not an integer", o->id.text, t->fields[i].name);
    for (size_t i = 2; i < t->n_fields; i++) {
        bool mask = strcmp(t->fields[i].name, FIELD_MASK) == 0;
        BKT_FAIL_IF(err,
                    mask ? t->fields[i].type->cls != BKT_T_INTEGER || t->fields[i].type->size != 4
                         : t->fields[i].type->cls != BKT_T_STRING,
                    BKT_EFORMAT, "chunk table %s: field %s is not %s", o->id.text, t->fields[i].name,
                    mask ? "an integer of 4 bytes" : "a string");
    }
    return BKT_OK;
}

static int open_table(struct bkt_dsetio *io, struct bkt_err *err)
{
    int                      rc = BKT_OK;
    const struct bkt_object *o  = NULL;
    (void)pthread_mutex_lock(&io->lock);
    if (!io->table) {
        rc = bkt_domain_get(io->dom, &io->ds->layout.chunk_table, &o, err);
        if (rc == BKT_OK)
            rc = check_table(o, err);
        if (rc == BKT_OK)
            rc = bkt_dsetio_open(io->dom, o, NULL, &io->table, err);
        if (rc == BKT_OK)
            reference_table_first_keep(io);
        bkt_object_release(o);
    }
    (void)pthread_mutex_unlock(&io->lock);
    BKT_FAIL_IF(err, rc < 0, rc, "chunk table of dataset %s", io->obj->id.text);
    BKT_FAIL_IF(err, io->table->rank != io->rank || io->table->ds->space.cls != BKT_S_SIMPLE, BKT_EFORMAT,
                "chunk table %s has rank %u, dataset %s has %u", io->table->obj->id.text, io->table->rank,
                io->obj->id.text, io->rank);
    return BKT_OK;
}

int bkt_reference_table_clip(struct bkt_dsetio *io, uint64_t *grid, bool *some, struct bkt_err *err)
{
    *some = true;
    BKT_PASS(open_table(io, err));
    for (unsigned d = 0; d < io->rank; d++) {
        grid[d] = bkt_min_u64(grid[d], io->table->ds->space.dims[d]);
        *some &= grid[d] > 0;
    }
    return BKT_OK;
}

/* Selects the wanted rows, of which there are @p n_in: a run for each stretch of neighbours. */
static int select_rows(struct rows *r, size_t n_in, struct bkt_err *err)
{
    const struct bkt_references_find *q = r->q;
    r->runs                    = malloc(n_in * sizeof *r->runs);
    BKT_NEED(err, r->runs);
    r->sel.kind = BKT_SEL_RUNS;
    r->sel.runs = r->runs;
    for (size_t i = 0; i < q->n; i++) {
        uint64_t at = 0;
        if (r->where[i] == SIZE_MAX)
            continue;
        for (unsigned d = 0; d < q->io->rank; d++)
            at = at * r->sel.dims[d] + q->coords[i * q->io->rank + d];
        struct bkt_run *last = r->sel.n_runs ? &r->runs[r->sel.n_runs - 1] : NULL;
        if (last && last->off + last->len == at)
            last->len++;
        else
            r->runs[r->sel.n_runs++] = (struct bkt_run){at, 1};
        r->where[i] = r->sel.n_elems++;
    }
    return BKT_OK;
}

/* Chooses the rows to read of one table; n_elems 0: none. */
static int plan_rows(struct rows *r, struct bkt_err *err)
{
    const struct bkt_references_find *q = r->q;
    BKT_PASS(open_table(q->io, err));
    const struct bkt_space *s    = &q->io->table->ds->space;
    size_t                  n_in = 0;
    r->sel.rank                  = s->rank;
    memcpy(r->sel.dims, s->dims, sizeof r->sel.dims);
    r->where = malloc(q->n * sizeof *r->where);
    BKT_NEED(err, r->where);
    for (size_t i = 0; i < q->n; i++) {
        r->where[i] = 0;
        for (unsigned d = 0; d < s->rank; d++)
            if (q->coords[i * s->rank + d] >= s->dims[d]) /* chunks beyond the table are unallocated */
                r->where[i] = SIZE_MAX;
        n_in += r->where[i] != SIZE_MAX;
    }
    if (!n_in) {
        r->sel.kind = BKT_SEL_NONE;
        return BKT_OK;
    }
    BKT_PASS(select_rows(r, n_in, err));
    size_t es = q->io->table->elem_size;
    if (!q->io->table->var) {
        if (r->sel.n_elems > SIZE_MAX / es || !(r->fixed = malloc((size_t)r->sel.n_elems * es)))
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int take_int(struct bkt_rd *r, const struct bkt_type *t, uint64_t *out)
{
    unsigned n = (unsigned)t->size;
    uint64_t v = t->big_endian ? bkt_rd_be(r, n) : bkt_rd_le(r, n);
    if (!r->ok || (t->is_signed && v >> (n * 8 - 1) & 1))
        return BKT_EFORMAT;
    *out = v;
    return BKT_OK;
}

static int take_uri(struct bkt_rd *r, const struct bkt_type *t, const char **uri, size_t *n)
{
    *n   = t->var_string ? (size_t)bkt_rd_le(r, 4) : t->size;
    if (t->var_string && *n == BKT_VAR_NULL)
        *n = 0;
    *uri = bkt_rd_take(r, *n);
    if (!r->ok)
        return BKT_EFORMAT;
    while (*n && ((*uri)[*n - 1] == 0 || (!t->var_string && (*uri)[*n - 1] == ' ')))
        --*n;
    return BKT_OK;
}

/* The fields behind offset and size. */
struct row_text {
    const char *uri, *etag;
    size_t      n_uri, n_etag;
};

static int take_fields(struct bkt_rd *r, const struct bkt_type *t, struct bkt_reference *out,
                       struct row_text *x)
{
    for (size_t i = 2; i < t->n_fields; i++) {
        const struct bkt_field *f = &t->fields[i];
        uint64_t                mask;
        const char             *text;
        size_t                  n;
        if (f->type->cls == BKT_T_INTEGER) {
            BKT_PASS(take_int(r, f->type, &mask));
            out->mask = (uint32_t)mask;
            continue;
        }
        BKT_PASS(take_uri(r, f->type, &text, &n));
        if (strcmp(f->name, FIELD_ETAG) == 0)
            x->etag = text, x->n_etag = n;
        else if (i == 2)
            x->uri = text, x->n_uri = n;
    }
    return BKT_OK;
}

static int parse_row(const struct bkt_references_find *q, size_t i, const void *p, size_t n,
                     struct bkt_err *err)
{
    const struct bkt_dsetio *table = q->io->table;
    const struct bkt_type   *t     = table->ds->type;
    struct bkt_rd            r     = bkt_rd_of(p, n);
    struct bkt_reference          *out   = &q->out[i];
    struct row_text          x     = {NULL, NULL, 0, 0};
    const uint64_t          *coord = q->coords + i * q->io->rank;
    BKT_FAIL_IF(err,
                take_int(&r, t->fields[0].type, &out->off) < 0 ||
                    take_int(&r, t->fields[1].type, &out->size) < 0,
                BKT_EFORMAT, "%s: chunk table %s has a negative offset or size",
                bkt_chunk_label(q->io, coord).text, table->obj->id.text);
    if (!out->size)
        return BKT_OK;
    BKT_FAIL_IF(err, take_fields(&r, t, out, &x) < 0, BKT_EFORMAT, "%s: chunk table %s: row is cut off",
                bkt_chunk_label(q->io, coord).text, table->obj->id.text);
    if (!x.n_uri && (q->io->ds->layout.file_uri || q->io->ds->layout.n_segments))
        return bkt_reference_layout_file(q->io, &out->file, err);
    BKT_FAIL_IF(err, !x.n_uri, BKT_EFORMAT, "%s: neither layout nor chunk table %s names a file",
                bkt_chunk_label(q->io, coord).text, table->obj->id.text);
    char etag[BKT_ETAG_MAX] = "";
    if (x.n_etag >= sizeof etag) /* without the ETag, bytes of another version would be accepted */
        BKT_FAIL(err, BKT_EFORMAT, "%s: chunk table %s: an ETag of %zu bytes",
                 bkt_chunk_label(q->io, coord).text, table->obj->id.text, x.n_etag);
    if (x.n_etag)
        memcpy(etag, x.etag, x.n_etag);
    return bkt_reference_file(q->io, x.uri, x.n_uri, etag, &out->file, err);
}

static int parse_rows(const struct rows *r, const struct bkt_slice *slices, struct bkt_err *err)
{
    size_t es = r->q->io->table->elem_size;
    for (size_t i = 0; i < r->q->n; i++) {
        size_t w = r->where[i];
        if (w == SIZE_MAX)
            continue;
        const void              *p   = r->fixed ? r->fixed + w * es : slices[w].p;
        const struct bkt_dsetio *io  = r->q->io;
        struct bkt_err           why = {.n = 0};
        int rc = parse_row(r->q, i, p, r->fixed ? es : slices[w].n, io->bad_place ? &why : err);
        if (rc == BKT_EFORMAT && io->bad_place) {
            io->bad_place(r->q->coords + i * io->rank, &why, io->bad_arg);
            r->q->out[i].file = NULL;
            rc                = BKT_OK;
        } else if (rc < 0 && io->bad_place) {
            return bkt_err_copy(err, rc, &why);
        }
        BKT_PASS(rc);
    }
    return BKT_OK;
}

static int read_rows(struct rows *rows, struct bkt_read *reads, size_t n, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        BKT_PASS(plan_rows(&rows[i], err));
        reads[i].io   = rows[i].q->io->table;
        reads[i].file = &rows[i].sel;
        reads[i].dst  = rows[i].fixed;
    }
    BKT_TRY(err, bkt_read_now(reads, n, err), "chunk table of dataset %s", rows[0].q->io->obj->id.text);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(parse_rows(&rows[i], reads[i].slices, err));
    return BKT_OK;
}

int bkt_reference_table_rows(struct bkt_references_find *q, size_t n, struct bkt_err *err)
{
    struct rows     *rows  = calloc(n, sizeof *rows);
    struct bkt_read *reads = calloc(n, sizeof *reads);
    size_t           n_rows = 0;
    int              rc     = BKT_ENOMEM;
    for (size_t i = 0; rows && i < n; i++)
        if (q[i].io->where == BKT_AT_TABLE && !q[i].io->found && q[i].n)
            rows[n_rows++].q = &q[i];
    if (rows && reads)
        rc = n_rows ? read_rows(rows, reads, n_rows, err) : BKT_OK;
    else
        (void)BKT_ERR(err, rc, "out of memory");
    for (size_t i = 0; i < n_rows; i++) {
        if (reads)
            bkt_read_fini(&reads[i]);
        rows_fini(&rows[i]);
    }
    free(rows);
    free(reads);
    return rc;
}
