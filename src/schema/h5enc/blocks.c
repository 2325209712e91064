/* The work that a union of blocks makes for HDF5.
 *
 * HDF5 keeps a union as stretches of the first dimension, each with stretches of the next one below it, and
 * so on.  A stretch begins or ends wherever a block does.  So 10,000 rows that cross 10,000 columns become
 * 100 million stretches.  Blocks that HDF5 has listed are parts of one stretch each in every dimension. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/h5enc/h5enc.h"

struct sweep {
    unsigned        rank;
    const uint64_t *coords;
    uint64_t        left; /* steps */
};

static uint64_t first_of(const struct sweep *s, size_t block, unsigned dim)
{
    return s->coords[block * 2 * s->rank + dim];
}

static uint64_t last_of(const struct sweep *s, size_t block, unsigned dim)
{
    return s->coords[(block * 2 + 1) * s->rank + dim];
}

static bool spend(struct sweep *s, uint64_t steps)
{
    bool enough = steps <= s->left;
    s->left -= enough ? steps : s->left;
    return enough;
}

struct order {
    const struct sweep *s;
    unsigned            dim;
};

static int by_first(const void *a, const void *b, void *arg)
{
    const struct order *o = arg;
    uint64_t x = first_of(o->s, *(const size_t *)a, o->dim), y = first_of(o->s, *(const size_t *)b, o->dim);
    return x < y ? -1 : x > y;
}

/* The beginnings of a dimension's stretches, in order; @p cut has room for two of each block. */
static size_t cut(const struct sweep *s, unsigned dim, const size_t *blocks, size_t n, uint64_t *cuts)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        cuts[2 * i]     = first_of(s, blocks[i], dim);
        cuts[2 * i + 1] = last_of(s, blocks[i], dim) + 1;
    }
    qsort(cuts, 2 * n, sizeof *cuts, bkt_by_u64);
    for (size_t i = 0; i < 2 * n; i++)
        if (k == 0 || cuts[k - 1] != cuts[i])
            cuts[k++] = cuts[i];
    return k;
}

static int dimension(struct sweep *s, unsigned dim, size_t *blocks, size_t n);

/* The blocks that reach over each stretch. */
static int stretches(struct sweep *s, unsigned dim, const size_t *blocks, size_t n, uint64_t *cuts,
                     size_t *over, size_t *below)
{
    size_t n_cuts = cut(s, dim, blocks, n, cuts), m = 0, next = 0;
    for (size_t c = 0; c + 1 < n_cuts; c++) {
        size_t kept = 0;
        for (size_t i = 0; i < m; i++)
            if (last_of(s, over[i], dim) >= cuts[c])
                over[kept++] = over[i];
        while (next < n && first_of(s, blocks[next], dim) <= cuts[c])
            over[kept++] = blocks[next++];
        m = kept;
        memcpy(below, over, m * sizeof *over);
        if (!spend(s, m))
            return BKT_ERANGE;
        BKT_PASS(dimension(s, dim + 1, below, m));
    }
    return BKT_OK;
}

static int dimension(struct sweep *s, unsigned dim, size_t *blocks, size_t n)
{
    if (n <= 1)
        return BKT_OK;
    if (!spend(s, n))
        return BKT_ERANGE;
    if (dim + 1 == s->rank)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) uint64_t *cuts  = calloc(n, 2 * sizeof *cuts);
    BKT_CLEANUP(bkt_freep) size_t   *over  = calloc(n, sizeof *over);
    BKT_CLEANUP(bkt_freep) size_t   *below = calloc(n, sizeof *below);
    if (!cuts || !over || !below)
        return BKT_ENOMEM;
    qsort_r(blocks, n, sizeof *blocks, by_first, &(struct order){s, dim});
    return stretches(s, dim, blocks, n, cuts, over, below);
}

static int look_at_corners(unsigned rank, size_t n, const uint64_t *coords, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < rank; d++) {
            uint64_t first = coords[i * 2 * rank + d], last = coords[(i * 2 + 1) * rank + d];
            BKT_FAIL_IF(err, last < first || last >= INT64_MAX, BKT_EFORMAT,
                        "the stored selection has a block from %llu to %llu in dimension %u",
                        (unsigned long long)first, (unsigned long long)last, d);
        }
    return BKT_OK;
}

int bkt_h5blocks_check(unsigned rank, size_t n, const uint64_t *coords, uint64_t *spare, struct bkt_err *err)
{
    struct sweep s = {.rank = rank, .coords = coords};
    uint64_t     fair;
    BKT_PASS(look_at_corners(rank, n, coords, err));
    BKT_FAIL_IF(err, !bkt_mul_u64(n, 2 * (uint64_t)rank, &fair) || !bkt_add_u64(fair, *spare, &s.left),
                BKT_EFORMAT, "the stored selection has %zu blocks, more than a dataset has elements", n);
    BKT_CLEANUP(bkt_freep) size_t *blocks = calloc(n + 1, sizeof *blocks);
    BKT_NEED(err, blocks);
    for (size_t i = 0; i < n; i++)
        blocks[i] = i;
    int rc = dimension(&s, 0, blocks, n);
    *spare = s.left < *spare ? s.left : *spare;
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, BKT_EFORMAT,
                "the stored selection has %zu blocks that cross each other too often; "
                "store blocks that do not overlap",
                n);
    return BKT_OK;
}
