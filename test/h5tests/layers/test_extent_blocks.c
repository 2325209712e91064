/* Blocks cover an extent, each element once, begin at borders of chunks and stay within their bound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vol/dataset/extent_blocks.h"
#include "helpers/store_testing.h"

struct form {
    unsigned rank;
    hsize_t  dims[4], chunk[4]; /* chunk[0] == 0: none */
    uint64_t elems;
    size_t   blocks; /* how many there are */
};

static uint64_t product(unsigned rank, const hsize_t *v)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < rank; d++)
        n *= v[d];
    return n;
}

/* Count each element of the block; whether it has been counted before. */
static bool mark(const struct form *f, const struct bkt_blocks *b, unsigned char *seen)
{
    bool again = false;
    for (uint64_t i = 0; i < b->n; i++) {
        uint64_t rest = i, place = 0, stride = 1;
        for (unsigned d = f->rank; d-- > 0; rest /= b->count[d]) {
            place += (b->at[d] + rest % b->count[d]) * stride;
            stride *= f->dims[d];
        }
        again |= seen[place];
        seen[place] = 1;
    }
    return again;
}

static void run(const struct form *f)
{
    bool              chunked = f->chunk[0] > 0;
    uint64_t          all = product(f->rank, f->dims), most = f->elems, found = 0;
    size_t            n    = 0;
    unsigned char    *seen = calloc(all, 1);
    struct bkt_blocks b;
    if (chunked && product(f->rank, f->chunk) > most)
        most = product(f->rank, f->chunk);
    most = most ? most : 1;
    bkt_blocks_begin(&b, f->rank, f->dims, chunked ? f->chunk : NULL, f->elems);
    CHECK(bkt_blocks_all(&b) == f->blocks, "%llu blocks are reported",
          (unsigned long long)bkt_blocks_all(&b));
    do {
        struct bkt_blocks same = b;
        hsize_t           last[4];
        for (unsigned d = 0; d < f->rank; d++)
            last[d] = b.at[d] + b.count[d] - 1;
        CHECK(bkt_blocks_number(&b, b.at) == n && bkt_blocks_number(&b, last) == n, "block %zu has another number", n);
        memset(same.at, 0xff, sizeof same.at), memset(same.count, 0xff, sizeof same.count), same.n = 0;
        bkt_blocks_goto(&same, n);
        CHECK(same.n == b.n && !memcmp(same.at, b.at, f->rank * sizeof *b.at) && !memcmp(same.count, b.count, f->rank * sizeof *b.at),
              "block %zu isn't found by its number", n);
        CHECK(b.n <= most && b.n == product(f->rank, b.count), "a block of %llu", (unsigned long long)b.n);
        for (unsigned d = 0; d < f->rank && chunked; d++)
            CHECK(b.at[d] % f->chunk[d] == 0, "dimension %u: a block cuts a chunk", d);
        CHECK(!mark(f, &b, seen), "an element comes twice");
        n++;
    } while (bkt_blocks_next(&b));
    for (uint64_t i = 0; i < all; i++)
        found += seen[i];
    CHECK(found == all && n == f->blocks, "%llu of %llu elements in %zu blocks, %zu are enough", (unsigned long long)found,
          (unsigned long long)all, n, f->blocks);
    free(seen);
}

int main(void)
{
    static const struct form forms[] = {
        {0, {0}, {0}, 10, 1},
        {1, {100}, {0}, 30, 4},
        {1, {100}, {0}, 0, 100},
        {2, {10, 10}, {0}, 1000, 1},
        {2, {10, 10}, {0}, 35, 4},
        {3, {1, 40, 50}, {0}, 100, 20}, /* one row of the first dimension is everything */
        {3, {2, 3, 50}, {0}, 20, 18},
        {2, {10, 10}, {4, 4}, 16, 9},
        {2, {10, 10}, {4, 4}, 5, 9}, /* a chunk is the least */
        {2, {10, 10}, {4, 4}, 40, 6},
        {2, {3, 100}, {8, 7}, 21, 15}, /* the chunk is longer than the extent */
        {4, {2, 3, 4, 5}, {1, 2, 3, 4}, 60, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int before = failures;
        run(&forms[i]);
        if (failures > before)
            printf("form %zu\n", i);
    }
    return failures > 0;
}
