#include "vol/dataset/extent_blocks.h"

#include <string.h>

#include "base/num.h"

static void measure(struct bkt_blocks *b)
{
    b->n = 1;
    for (unsigned d = 0; d < b->rank; d++)
        b->n *= b->count[d] = bkt_min_u64(b->step[d], b->dims[d] - b->at[d]);
}

/* The last dimension grows first. */
void bkt_blocks_begin(struct bkt_blocks *b, unsigned rank, const hsize_t *dims, const hsize_t *chunk,
                      uint64_t elems)
{
    uint64_t n = 1;
    memset(b, 0, sizeof *b);
    b->rank = rank;
    for (unsigned d = 0; d < rank; d++) {
        b->dims[d] = dims[d];
        b->step[d] = chunk ? bkt_min_u64(chunk[d], dims[d]) : 1;
        n *= b->step[d];
    }
    for (unsigned d = rank; n && d-- > 0 && n < elems;) {
        uint64_t times = bkt_min_u64(elems / n, bkt_ceil_div(dims[d], b->step[d]));
        uint64_t step  = bkt_min_u64(b->step[d] * times, dims[d]);
        if (times > 1) {
            n          = n / b->step[d] * step;
            b->step[d] = step;
        }
    }
    measure(b);
}

bool bkt_blocks_next(struct bkt_blocks *b)
{
    for (unsigned d = b->rank; d-- > 0;) {
        b->at[d] += b->step[d];
        if (b->at[d] < b->dims[d]) {
            measure(b);
            return true;
        }
        b->at[d] = 0;
    }
    return false;
}

uint64_t bkt_blocks_number(const struct bkt_blocks *b, const hsize_t *at)
{
    uint64_t n = 0;
    for (unsigned d = 0; d < b->rank; d++)
        n = n * bkt_ceil_div(b->dims[d], b->step[d]) + at[d] / b->step[d];
    return n;
}

uint64_t bkt_blocks_all(const struct bkt_blocks *b)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < b->rank; d++)
        n *= bkt_ceil_div(b->dims[d], b->step[d]);
    return n;
}

void bkt_blocks_goto(struct bkt_blocks *b, uint64_t number)
{
    for (unsigned d = b->rank; d-- > 0;) {
        uint64_t n = bkt_ceil_div(b->dims[d], b->step[d]);
        b->at[d]   = number % n * b->step[d];
        number /= n;
    }
    measure(b);
}
