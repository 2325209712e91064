#include "samples/collections.h"

#include <string.h>

#include "base/num.h"

#define CHUNK_MAX     255000  /* bytes of a chunk of format 00, and the smallest chunk cache */
#define WHOLE_MAX     1048576 /* bytes: a sample of format 01 that is smaller is one chunk */
#define SLOTS_A_CHUNK 100

static const struct {
    unsigned rows;
    uint64_t cache_max; /* bytes */
} formats[] = {{250, 100000000}, {100, 250000000}};

/* ---- chunks of format 01, by the rule of PyTables ---- */

#define EXPECTED_ROWS 10000
#define CHUNK_UNIT    (24 * 8192) /* bytes; doubled each time that ten times as much is expected */
#define MEGABYTES_MAX 10000000

/* Bytes of a chunk, if a step of the first dimension has @p row bytes. */
static uint64_t chunk_target(uint64_t row)
{
    uint64_t all, mb = bkt_mul_u64(row, EXPECTED_ROWS, &all) ? all >> 20 : MEGABYTES_MAX;
    uint64_t target = CHUNK_UNIT;
    for (mb = bkt_min_u64(mb, MEGABYTES_MAX); mb >= 10; mb /= 10)
        target *= 2;
    return target;
}

/* Elements of a step of the dimension before @p from. */
static uint64_t behind(const struct bkt_collections *c, int from)
{
    uint64_t n = 1;
    for (int i = from; i < c->rank; i++)
        n *= c->shape[i];
    return n;
}

/* Dimensions shrink to 1 from the first one on, until the next one only has to be cut. */
static void chunk_of_large(struct bkt_collections *c)
{
    uint64_t room = bkt_max_u64(chunk_target(c->item * behind(c, 1)) / c->item, 1);
    int cut = 0;
    while (cut < c->rank - 1 && behind(c, cut + 1) > room)
        cut++;
    for (int i = 0; i < c->rank; i++)
        c->chunk[i + 1] = i < cut ? 1 : bkt_max_u64(c->shape[i], 1);
    c->chunk[cut + 1] = bkt_max_u64(bkt_min_u64(room / behind(c, cut + 1), c->shape[cut]), 1);
}

/* A scalar is stored as a sample of one element. */
static void lay_out_01(struct bkt_collections *c)
{
    c->dims = c->rank ? c->rank + 1 : 2;
    c->chunk[1] = c->extent[1] = 1;
    if (c->elements * c->item < WHOLE_MAX)
        for (int i = 0; i < c->rank; i++)
            c->chunk[i + 1] = bkt_max_u64(c->shape[i], 1); /* HDF5 has no chunk without elements */
    else
        chunk_of_large(c);
    for (int i = 1; i <= c->rank; i++)
        c->extent[i] = bkt_max_u64(bkt_ceil_div(c->shape[i - 1], c->chunk[i]), 1) * c->chunk[i];
}

/* ---- both formats ---- */

static void lay_out_00(struct bkt_collections *c)
{
    c->dims = 2;
    c->extent[1] = bkt_max_u64(c->elements, 1);
    c->chunk[1] = bkt_min_u64(bkt_max_u64(CHUNK_MAX / c->item, 1), c->extent[1]);
}

static bool is_prime(uint64_t n)
{
    if (n < 4 || n % 2 == 0)
        return n == 2 || n == 3;
    for (uint64_t i = 3; i * i <= n; i += 2)
        if (n % i == 0)
            return false;
    return true;
}

/* Format 00 counts the chunks that the cache can hold, and format 01 all chunks that a file can have. */
static void propose_cache(struct bkt_collections *c)
{
    uint64_t chunks = 1, room = c->elements * c->item * c->rows;
    c->chunk_bytes = c->item;
    for (int i = 1; i < c->dims; i++) {
        c->chunk_bytes *= c->chunk[i];
        chunks *= bkt_ceil_div(c->extent[i], c->chunk[i]);
    }
    room = c->format == 0 ? bkt_max_u64(room, CHUNK_MAX) : chunks * c->chunk_bytes * c->rows;
    c->rdcc_nbytes = bkt_min_u64(room, formats[c->format].cache_max);
    chunks = c->format == 0 ? bkt_ceil_div(c->rdcc_nbytes, c->chunk_bytes) : chunks * EXPECTED_ROWS;
    c->rdcc_nslots = chunks * SLOTS_A_CHUNK;
    while (!is_prime(c->rdcc_nslots))
        c->rdcc_nslots++;
}

/* The padding of format 01 adds less than a chunk in each dimension, so it at most doubles it. */
static bool count_elements(struct bkt_collections *c)
{
    uint64_t n = 1, bytes;
    for (int i = 0; i < c->rank; i++)
        if (!bkt_mul_u64(n, bkt_max_u64(c->shape[i], 1), &n))
            return false;
    if (!bkt_mul_u64(n, c->item, &bytes) || bytes > (uint64_t)INT64_MAX >> 16)
        return false;
    for (int i = 0; i < c->rank; i++)
        n = c->shape[i] ? n : 0;
    c->elements = n;
    return true;
}

int bkt_collections_init(struct bkt_collections *c, int format, int rank, const hsize_t *shape, size_t item,
                         struct bkt_err *err)
{
    int most = format == 0 ? H5S_MAX_RANK : H5S_MAX_RANK - 1;
    if (format < 0 || (size_t)format >= BKT_COUNT(formats))
        BKT_FAIL(err, BKT_EINVAL, "backend %d: samples are written in format 0 or 1", format);
    if (rank < 0 || rank > most)
        BKT_FAIL(err, BKT_EINVAL, "schema of rank %d: samples of format %02d have 0 to %d dimensions", rank,
                 format, most);
    if (item == 0 || item > CHUNK_MAX)
        BKT_FAIL(err, BKT_EINVAL, "schema: elements of %zu bytes; they have 1 to %d", item, CHUNK_MAX);
    *c = (struct bkt_collections){.format = format, .rank = rank, .item = item, .rows = formats[format].rows};
    for (int i = 0; i < rank; i++)
        c->shape[i] = shape[i];
    if (!count_elements(c))
        BKT_FAIL(err, BKT_EINVAL,
                 "schema: its shape has too many elements; a sample has less than 2^47 bytes");
    c->extent[0] = c->rows;
    c->chunk[0] = 1;
    if (format == 0)
        lay_out_00(c);
    else
        lay_out_01(c);
    propose_cache(c);
    return BKT_OK;
}

int bkt_collections_fits(const struct bkt_collections *c, bool variable, const hsize_t *shape,
                         uint64_t *elements, struct bkt_err *err)
{
    *elements = 1;
    for (int i = 0; i < c->rank; i++) {
        if (shape[i] > c->shape[i] || (!variable && shape[i] != c->shape[i]))
            BKT_FAIL(err, BKT_EINVAL, "sample: dimension %d is %llu, and the schema's %s %llu", i,
                     (unsigned long long)shape[i], variable ? "largest is" : "is",
                     (unsigned long long)c->shape[i]);
        *elements *= shape[i];
    }
    return BKT_OK;
}

void bkt_collections_block(const struct bkt_collections *c, unsigned row, const hsize_t *shape,
                           hsize_t *start, hsize_t *count)
{
    memset(start, 0, (size_t)c->dims * sizeof *start);
    start[0] = row;
    count[0] = count[1] = 1;
    for (int i = 0; i < c->rank; i++)
        if (c->format == 0)
            count[1] *= shape[i];
        else
            count[i + 1] = shape[i];
}
