/* A chunk table's first chunk, requested beside the table's JSON: the table's id alone gives both keys.  The
 * request is a guess.  A wrong guess costs one request, whose result is ignored; the read then requests what
 * it needs. */
#include <stdlib.h>
#include <string.h>

#include "storage/store.h"
#include "chunk/dataset/dataset.h"
#include "base/num.h"

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
    if (bkt_chunk_object_is_plain(table) && r->body.len <= table->chunk_bytes && (e = slice_of(&r->body)))
        bkt_cache_put(table->cache, table->slice_space, 0, e);
    else if (r->size == r->body.len && bkt_chunk_object_read(table, &r->body, &e, NULL) == BKT_OK)
        bkt_cache_put(table->cache, table->space, 0, e);
    bkt_cache_entry_release(e);
}

void bkt_reference_table_first_keep(struct bkt_dsetio *io)
{
    if (!io->first)
        return;
    if (io->first->generation == bkt_fork_generation() && is_of(io->table, io->first)) {
        bkt_await(&io->first->get);
        keep(io->table, &io->first->get.req);
    }
    bkt_reference_table_first_free(io);
}

void bkt_reference_table_first_free(struct bkt_dsetio *io)
{
    struct bkt_reference_table_first *f = io->first;
    io->first                 = NULL;
    if (!f || f->generation != bkt_fork_generation())
        return;
    bkt_await_fini(&f->get);
    bkt_buf_fini(&f->key);
    free(f);
}
