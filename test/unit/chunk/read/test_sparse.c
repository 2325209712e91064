/* Grids of 2^50 chunks of which a few are stored, behind a chunk table that is as sparse: code that goes
 * through the whole grid never ends. */
#include "base/num.h"
#include "unit/chunk/read/bucket_in_memory.h"

enum { N = 1, TABLE_N = 2, ROWS = 4, COLUMNS = 8, ROW = 12, PER_CHUNK = ROWS * COLUMNS };

static const uint64_t dims[2] = {UINT64_C(1) << 36, UINT64_C(1) << 20}; /* chunks of 1 x 64 */
static const uint64_t grid[2] = {UINT64_C(1) << 36, UINT64_C(1) << 14};

struct seen {
    uint64_t v[8][2], sizes, n;
};

/* Chunks in grid order, which lie in two chunks of the table beside each other and in one far off. */
static const uint64_t there[][2] = {{0, 0}, {0, 9}, {1, 7}, {1, 8}, {(UINT64_C(1) << 36) - 1, (UINT64_C(1) << 14) - 1}};

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct seen *s = arg;
    CHECK(info->exists && s->n < 8, "chunk %llu_%llu", (unsigned long long)coord[0], (unsigned long long)coord[1]);
    memcpy(s->v[s->n++ % 8], coord, sizeof s->v[0]);
    s->sizes += info->size;
    return BKT_OK;
}

static void put_row(unsigned char *chunk, unsigned i)
{
    unsigned char *row = chunk + (there[i][0] % ROWS * COLUMNS + there[i][1] % COLUMNS) * ROW;
    bkt_put_le(row, 8, UINT64_C(1000) * i);
    bkt_put_le(row + 8, 4, 256);
}

/* Each of the table's chunks with all rows of `there` that lie in it. */
static void put_far_table(struct world *w, const char *fill)
{
    const char *type = "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"o\",\"type\":\"H5T_STD_I64LE\"},"
                       "{\"name\":\"s\",\"type\":\"H5T_STD_I32LE\"}]}";
    put_dataset(w, TABLE_N, type, 2, grid, "{\"class\":\"H5D_CHUNKED\",\"dims\":[4,8]}", fill);
    for (unsigned i = 0; i < BKT_COUNT(there); i++) {
        unsigned char chunk[PER_CHUNK * ROW] = {0};
        for (unsigned k = 0; k < BKT_COUNT(there); k++)
            if (there[k][0] / ROWS == there[i][0] / ROWS && there[k][1] / COLUMNS == there[i][1] / COLUMNS)
                put_row(chunk, k);
        char *at = text("%llu_%llu", (unsigned long long)(there[i][0] / ROWS), (unsigned long long)(there[i][1] / COLUMNS));
        char *key = chunk_key(TABLE_N, at);
        put_object(w, key, chunk, sizeof chunk);
        free(key);
        free(at);
    }
}

static void put_all(struct world *w, const char *fill)
{
    struct bkt_id table = world_id(TABLE_N);
    char *cpl = text("\"layout\":{\"class\":\"H5D_CHUNKED_REF_INDIRECT\",\"file_uri\":\"sparse/f.h5\",\"dims\":[1,64],"
                     "\"chunk_table\":\"%s\"},\"fillValue\":%d", table.text, WORLD_FILL);
    put_far_table(w, fill);
    put_dataset(w, N, I32, 2, dims, "{\"class\":\"H5D_CHUNKED\",\"dims\":[1,64]}", cpl);
    free(cpl);
}

static void few_of_many(void)
{
    struct world   w;
    struct seen    s   = {.n = 0};
    struct bkt_err err = {0};
    uint64_t       bytes = 0, n = 0;
    world_open(&w, "sparse", "meta_cache=1M");
    put_all(&w, "");
    struct bkt_dsetio *io     = open_io(&w, N);
    uint64_t           before = gets();
    CHECK(bkt_chunk_iter(io, on_chunk, &s, &err) == BKT_OK, "%s", story(&err));
    CHECK(s.n == BKT_COUNT(there) && memcmp(s.v, there, sizeof there) == 0, "%llu chunks, or in another order", (unsigned long long)s.n);
    CHECK(s.sizes == 256 * BKT_COUNT(there), "%llu bytes", (unsigned long long)s.sizes);
    CHECK(gets() - before == 4, "%llu GETs for a table and its 3 chunks", (unsigned long long)(gets() - before));
    CHECK(bkt_dsetio_storage_size(io, &bytes, &n, NULL) == BKT_OK && bytes == s.sizes && n == s.n, "its size");
    bkt_dsetio_close(io);
    world_close(&w);
}

/* Rows that aren't stored would have a meaning: then there are as many chunks as the grid has. */
static void a_fill_value(void)
{
    struct world   w;
    struct seen    s   = {.n = 0};
    struct bkt_err err = {0};
    world_open(&w, "sparse2", "meta_cache=1M");
    put_all(&w, "\"fillValue\":[5,256]");
    struct bkt_dsetio *io = open_io(&w, N);
    CHECK(bkt_chunk_iter(io, on_chunk, &s, &err) == BKT_EUNSUP && strstr(story(&err), "fill value"), "%s", story(&err));
    bkt_dsetio_close(io);
    world_close(&w);
}

int main(void)
{
    few_of_many();
    a_fill_value();
    return failures != 0;
}
