/* Chunk tables: datasets of {offset, size[, file_uri][, file_etag][, filter_mask]}, chunked and compressed,
 * without a link.  HSDS finds the first three fields by their places. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/edit/edit.h"
#include "tools/load/load_domain.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"
#include "vol/core/token.h"
#include "vol/dataset/extent_blocks.h"

/* ROWS_PER_CHUNK: rows of a chunk of the table; more make the chunk that a reader needs longer if offsets
 * don't compress. */
#define SLAB_ROWS      ((uint64_t)1 << 17) /* rows that are written at once; more take more memory, and no
                                              less time */
#define CHUNK_BYTES    ((uint64_t)1 << 20) /* bytes of a chunk at most, for rows with long names of files */
#define ROWS_PER_CHUNK 16384u

struct table {
    struct load_fields f;
    hid_t type, dset;
    unsigned rank;
    uint64_t chunk[BKT_MAX_RANK];
};

static void table_fini(struct table *t)
{
    bkt_hid_closep(&t->dset);
    bkt_hid_closep(&t->type);
}

static void measure(struct load_fields *f, const struct load_rows *rows)
{
    f->size_n = 4;
    for (size_t i = 0; i < rows->n; i++) {
        struct load_row r;
        rows->get(rows->arg, i, &r);
        f->uri_n = bkt_max_u64(f->uri_n, r.uri ? strlen(r.uri) : 0);
        f->etag_n = bkt_max_u64(f->etag_n, r.etag ? strlen(r.etag) : 0);
        f->size_n = r.size > INT32_MAX ? 8 : f->size_n;
        f->mask_n = r.mask ? 4 : f->mask_n;
    }
}

static herr_t insert_text(hid_t type, const char *name, size_t at, size_t size)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t text = H5Tcopy(H5T_C_S1);
    if (H5Tset_size(text, size) < 0 || H5Tset_strpad(text, H5T_STR_NULLPAD) < 0)
        return -1;
    return H5Tinsert(type, name, at, text);
}

static int make_type(struct table *t, struct bkt_err *err)
{
    struct load_fields *f = &t->f;
    f->size = 8;
    f->uri = f->size + f->size_n;
    f->etag = f->uri + f->uri_n;
    f->mask = f->etag + f->etag_n;
    f->row = f->mask + f->mask_n;
    t->type = H5Tcreate(H5T_COMPOUND, f->row);
    if (t->type < 0 || H5Tinsert(t->type, "offset", 0, H5T_STD_I64LE) < 0 ||
        H5Tinsert(t->type, "size", f->size, f->size_n == 8 ? H5T_STD_I64LE : H5T_STD_I32LE) < 0 ||
        (f->uri_n && insert_text(t->type, "file_uri", f->uri, f->uri_n) < 0) ||
        (f->etag_n && insert_text(t->type, "file_etag", f->etag, f->etag_n) < 0) ||
        (f->mask_n && H5Tinsert(t->type, "filter_mask", f->mask, H5T_STD_U32LE) < 0))
        return h5_fail(err, "making a chunk table's type");
    return BKT_OK;
}

/* 0: the type has no such member. */
static size_t find_field(hid_t type, const char *name, size_t *at)
{
    int i = H5Tget_member_index(type, name);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t member = i < 0 ? H5I_INVALID_HID : H5Tget_member_type(type, (unsigned)i);
    *at = i < 0 ? 0 : H5Tget_member_offset(type, (unsigned)i);
    return i < 0 ? 0 : H5Tget_size(member);
}

bool load_fields_of(hid_t type, struct load_fields *out)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t first = H5Tget_member_type(type, 0),
          second = H5Tget_member_type(type, 1);
    *out = (struct load_fields){.off = H5Tget_member_offset(type, 0),
                                .size = H5Tget_member_offset(type, 1),
                                .size_n = second < 0 ? 0 : H5Tget_size(second),
                                .row = H5Tget_size(type)};
    out->uri_n = find_field(type, "file_uri", &out->uri);
    out->etag_n = find_field(type, "file_etag", &out->etag);
    out->mask_n = find_field(type, "filter_mask", &out->mask);
    bool good = first >= 0 && H5Tget_size(first) == 8 && (out->size_n == 4 || out->size_n == 8) &&
                (out->mask_n == 0 || out->mask_n == 4);
    (void)H5Eclear2(H5E_DEFAULT);
    return good;
}

/* The last dimensions whole, as far as they fit. */
static void choose_chunk(struct table *t, const struct load_grid *g)
{
    uint64_t left = bkt_max_u64(bkt_min_u64(ROWS_PER_CHUNK, CHUNK_BYTES / t->f.row), 1);
    for (unsigned d = t->rank; d-- > 0;) {
        t->chunk[d] = bkt_max_u64(g->max[d] == BKT_UNLIMITED ? left : bkt_min_u64(g->n[d], left), 1);
        left        = bkt_max_u64(left / t->chunk[d], 1);
    }
}

static int create(struct load_job *l, struct table *t, const struct load_grid *g, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple((int)t->rank, g->n, g->max);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || dcpl < 0 || H5Pset_chunk(dcpl, (int)t->rank, t->chunk) < 0 || H5Pset_shuffle(dcpl) < 0 ||
        H5Pset_deflate(dcpl, 4) < 0)
        return h5_fail(err, "making a chunk table");
    t->dset = H5Dcreate_anon(l->dst, t->type, space, dcpl, H5P_DEFAULT);
    return t->dset < 0 ? h5_fail(err, "making a chunk table") : BKT_OK;
}

void load_put_row(const struct load_fields *f, const struct load_row *r, unsigned char *to)
{
    bkt_put_le(to + f->off, 8, r->off);
    bkt_put_le(to + f->size, (unsigned)f->size_n, r->size);
    if (f->uri_n && r->uri)
        memcpy(to + f->uri, r->uri, strlen(r->uri));
    if (f->etag_n && r->etag)
        memcpy(to + f->etag, r->etag, strlen(r->etag));
    if (f->mask_n)
        bkt_put_le(to + f->mask, 4, r->mask);
}

/* Rows in the order of the blocks they lie in; 16 bytes for each. */
struct placed_row {
    uint64_t block;
    size_t   row;
};

static int by_block(const void *a, const void *b)
{
    const struct placed_row *x = a, *y = b;
    return x->block != y->block ? (x->block < y->block ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

static void place_of(const struct bkt_blocks *b, uint64_t index, hsize_t *at)
{
    for (unsigned d = b->rank; d-- > 0; index /= b->dims[d])
        at[d] = index % b->dims[d];
}

/* One block of the table, whose rows are those of @p p, @p n of them. */
static int fill_block(const struct table *t, const struct bkt_blocks *b, const struct load_rows *rows,
                      const struct placed_row *p, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned char *buf = calloc((size_t)b->n, t->f.row);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(t->dset);
    const hsize_t                         all   = b->n;
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5Screate_simple(1, &all, NULL);
    BKT_NEED(err, buf);
    for (size_t i = 0; i < n; i++) {
        struct load_row r;
        hsize_t         at[BKT_MAX_RANK];
        uint64_t        to = 0;
        rows->get(rows->arg, p[i].row, &r);
        place_of(b, r.index, at);
        for (unsigned d = 0; d < b->rank; d++)
            to = to * b->count[d] + (at[d] - b->at[d]);
        load_put_row(&t->f, &r, buf + to * t->f.row);
    }
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, b->at, NULL, b->count, NULL) < 0 ||
        H5Dwrite(t->dset, t->type, mem, space, H5P_DEFAULT, buf) < 0)
        return h5_fail(err, "writing a chunk table");
    return BKT_OK;
}

/* Writes blocks of whole chunks of the table, only those with rows: a grid may be far larger than the number
 * of its chunks. */
static int fill(const struct table *t, const uint64_t *grid, const struct load_rows *rows,
                struct bkt_err *err)
{
    struct bkt_blocks b;
    hsize_t at[BKT_MAX_RANK];
    uint64_t          all = 1;
    for (unsigned d = 0; d < t->rank; d++)
        BKT_FAIL_IF(err, !bkt_mul_u64(all, grid[d], &all), BKT_EINVAL, "chunk table: more than 2^64 rows");
    if (!rows->n)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) struct placed_row *p = calloc(rows->n, sizeof *p);
    BKT_NEED(err, p);
    bkt_blocks_begin(&b, t->rank, grid, t->chunk, SLAB_ROWS);
    bool in_order = true;
    for (size_t i = 0; i < rows->n; i++) {
        struct load_row r;
        rows->get(rows->arg, i, &r);
        place_of(&b, r.index, at);
        p[i]     = (struct placed_row){bkt_blocks_number(&b, at), i};
        in_order = in_order && (i == 0 || p[i].block >= p[i - 1].block);
    }
    if (!in_order)
        qsort(p, rows->n, sizeof *p, by_block);
    for (size_t i = 0, n; i < rows->n; i += n) {
        for (n = 1; i + n < rows->n && p[i + n].block == p[i].block;)
            n++;
        bkt_blocks_goto(&b, p[i].block);
        BKT_PASS(fill_block(t, &b, rows, p + i, n, err));
    }
    return BKT_OK;
}

static int begin(struct load_job *l, struct table *t, const struct load_grid *g, const struct load_rows *rows,
                 struct bkt_id *out, struct bkt_err *err)
{
    measure(&t->f, rows);
    BKT_PASS(make_type(t, err));
    choose_chunk(t, g);
    BKT_PASS(create(l, t, g, err));
    *out = bkt_vobj_of_id(t->dset)->obj->id;
    return bkt_edit_keep(l->file->dom, out, err);
}

int load_table(struct load_job *l, const struct load_grid *g, const struct load_rows *rows,
               struct bkt_id *out, struct bkt_err *err)
{
    BKT_CLEANUP(table_fini) struct table t = {.type = -1, .dset = -1, .rank = g->rank};
    BKT_PASS(begin(l, &t, g, rows, out, err));
    return fill(&t, g->n, rows, err);
}

void load_row_at(void *rows, size_t i, struct load_row *out)
{
    *out = ((const struct load_row *)rows)[i];
}

int load_table_empty(struct load_job *l, const struct load_grid *g, struct load_row *widest,
                     struct bkt_id *out, hid_t *dset, struct bkt_err *err)
{
    BKT_CLEANUP(table_fini) struct table t = {.type = -1, .dset = -1, .rank = g->rank};
    struct load_rows rows = {1, load_row_at, widest};
    BKT_PASS(begin(l, &t, g, &rows, out, err));
    *dset  = t.dset;
    t.dset = H5I_INVALID_HID;
    return BKT_OK;
}

int load_open_id(struct load_job *l, const struct bkt_id *id, hid_t *out, struct bkt_err *err)
{
    H5O_token_t token;
    bkt_token_of(id, &token);
    *out = H5Oopen_by_token(l->dst, token);
    return *out < 0 ? h5_fail(err, "opening a chunk table") : BKT_OK;
}
