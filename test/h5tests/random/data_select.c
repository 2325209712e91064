/* Selections for the random test of datasets: in the file, and as many elements in memory. */
#include "h5tests/random/data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void one_hyperslab(struct run *run, const struct dset *d, hid_t s, H5S_seloper_t op)
{
    hsize_t start[RANK], stride[RANK], count[RANK], block[RANK];
    for (int i = 0; i < d->rank; i++) {
        unsigned dim = (unsigned)d->dims[i];
        start[i]     = rnd_below(&run->r, dim);
        unsigned left = dim - (unsigned)start[i];
        block[i]     = left ? rnd_in(&run->r, 1, rnd_chance(&run->r, 40) ? left : left < 3 ? left : 3) : 0;
        stride[i]    = block[i] + rnd_below(&run->r, 4) + !block[i];
        count[i]     = !left ? 0 : 1 + rnd_below(&run->r, (unsigned)((left - block[i]) / stride[i]) + 1);
    }
    H5Sselect_hyperslab(s, op, start, stride, count, block);
    note(run, "%s", op == H5S_SELECT_SET ? "slab" : op == H5S_SELECT_OR ? "|" : op == H5S_SELECT_XOR ? "^" : op == H5S_SELECT_AND ? "&" : "-");
    for (int i = 0; i < d->rank; i++)
        note(run, "(%" PRIuHSIZE "+%" PRIuHSIZE "*%" PRIuHSIZE "x%" PRIuHSIZE ")", start[i], stride[i], count[i], block[i]);
    note(run, " ");
}

static void some_points(struct run *run, const struct dset *d, hid_t s)
{
    size_t   n  = rnd_in(&run->r, 1, rnd_chance(&run->r, 20) ? 300 : 20);
    hsize_t *at = malloc(n * RANK * sizeof *at);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < d->rank; k++)
            at[i * (size_t)d->rank + (size_t)k] = i && rnd_chance(&run->r, 5) ? at[(i - 1) * (size_t)d->rank + (size_t)k] :
                                                                                   rnd_below(&run->r, (unsigned)d->dims[k]);
    size_t first = rnd_chance(&run->r, 30) ? rnd_in(&run->r, 1, (unsigned)n) : n;
    H5Sselect_elements(s, H5S_SELECT_SET, first, at);
    if (first < n) /* in two parts */
        H5Sselect_elements(s, rnd_chance(&run->r, 50) ? H5S_SELECT_APPEND : H5S_SELECT_PREPEND, n - first, at + first * (size_t)d->rank);
    free(at);
    note(run, "%zu points ", n);
}

/* HDF5 1.14.5: slab(43+9*1x7) &(51+1*6x1), which leaves nothing, |(20+5*5x3) |(10+5*8x3) of 100 elements has
 * 24 elements, but 7 blocks of 3, and H5Dread goes beyond the extent.  Such a selection becomes all. */
static void mend_union(struct run *run, const struct dset *d, hid_t s)
{
    if (H5Sget_select_type(s) != H5S_SEL_HYPERSLABS)
        return;
    hssize_t n = H5Sget_select_hyper_nblocks(s), elements = 0;
    size_t numbers = 2 * (size_t)d->rank;
    hsize_t *blocks = calloc((size_t)n + 1, numbers * sizeof *blocks);
    H5Sget_select_hyper_blocklist(s, 0, (hsize_t)n, blocks);
    for (hssize_t i = 0; i < n; i++) {
        const hsize_t *first = blocks + (size_t)i * numbers, *last = first + d->rank;
        hssize_t one = 1;
        for (int k = 0; k < d->rank; k++)
            one *= (hssize_t)(last[k] - first[k] + 1);
        elements += one;
    }
    free(blocks);
    if (elements != H5Sget_select_npoints(s)) {
        H5Sselect_all(s);
        note(run, "HDF5 lost a block: all ");
    }
}

static void select_in_file(struct run *run, const struct dset *d, struct selection *s)
{
    struct rnd *r   = &run->r;
    unsigned    way = rnd_below(r, 100);
    s->file = s->fspace;
    if (d->rank == 0 || d->n == 0 || way < 25) {
        if (rnd_chance(r, 60))
            s->file = H5S_ALL;
        note(run, "all ");
    } else if (way < 28) {
        H5Sselect_none(s->fspace);
        note(run, "none ");
    } else if (way < 60) {
        one_hyperslab(run, d, s->fspace, H5S_SELECT_SET);
    } else if (way < 80) {
        one_hyperslab(run, d, s->fspace, H5S_SELECT_SET);
        for (unsigned i = rnd_in(r, 1, 3); i--;)
            one_hyperslab(run, d, s->fspace, RND_OF(r, ((const H5S_seloper_t[]){H5S_SELECT_OR, H5S_SELECT_XOR, H5S_SELECT_AND, H5S_SELECT_NOTB, H5S_SELECT_OR})));
        mend_union(run, d, s->fspace);
    } else {
        some_points(run, d, s->fspace);
    }
    if (s->file == s->fspace && H5Sget_select_type(s->fspace) != H5S_SEL_ALL && d->rank && rnd_chance(r, 8)) {
        hssize_t off[RANK];
        note(run, "moved by");
        for (int i = 0; i < d->rank; i++) {
            off[i] = (hssize_t)rnd_below(r, 5) - 2;
            note(run, " %" PRIdHSIZE, off[i]);
        }
        note(run, " ");
        H5Soffset_simple(s->fspace, off);
        s->moved = true;
        hsize_t lo[RANK], hi[RANK]; /* HDF5 reads points one behind the end */
        bool    out = H5Sget_select_bounds(s->fspace, lo, hi) < 0;
        for (int i = 0; i < d->rank && !out; i++)
            out = hi[i] >= d->dims[i];
        memset(off, 0, sizeof off);
        if (out && H5Sget_select_type(s->fspace) == H5S_SEL_POINTS)
            H5Soffset_simple(s->fspace, off);
    }
}

/* In another order than one after the other. */
static void points_in_memory(struct run *run, struct selection *s)
{
    s->mem_n       = s->n + rnd_below(&run->r, 5);
    hsize_t  dims  = s->mem_n, *at = malloc(s->mem_n * sizeof *at);
    for (size_t i = 0; i < s->mem_n; i++)
        at[i] = i;
    for (size_t i = s->mem_n; i-- > 1;) {
        size_t  k = rnd_below(&run->r, (unsigned)i + 1);
        hsize_t t = at[i];
        at[i]     = at[k];
        at[k]     = t;
    }
    s->mspace = H5Screate_simple(1, &dims, NULL);
    H5Sselect_elements(s->mspace, H5S_SELECT_SET, s->n, at);
    free(at);
}

static void table_in_memory(struct run *run, struct selection *s)
{
    size_t a = rnd_in(&run->r, 1, 7);
    while (s->n % a)
        a--;
    size_t  b       = s->n / a;
    hsize_t step    = rnd_in(&run->r, 1, 3);
    hsize_t dims[3] = {a * 2 + 1, 2, b * step + rnd_below(&run->r, 4)}, start[3] = {1, rnd_below(&run->r, 2), 0}, stride[3] = {2, 1, step},
            count[3] = {a, 1, b};
    s->mspace = H5Screate_simple(3, dims, NULL);
    s->mem_n  = (size_t)(dims[0] * dims[1] * dims[2]);
    H5Sselect_hyperslab(s->mspace, H5S_SELECT_SET, start, stride, count, NULL);
}

/* A union of single elements, in a table: as many as in the file, and not in runs. */
static void union_in_memory(struct run *run, struct selection *s)
{
    hsize_t        dims[2] = {0, rnd_in(&run->r, 1, 12)}, one[2] = {1, 1};
    size_t         left = s->n;
    dims[0]             = s->n * 2 / dims[1] + 1;
    s->mem_n            = (size_t)(dims[0] * dims[1]);
    unsigned char *in   = calloc(1, s->mem_n);
    s->mspace           = H5Screate_simple(2, dims, NULL);
    while (left) {
        size_t k = rnd_below(&run->r, (unsigned)s->mem_n);
        while (in[k])
            k = (k + 1) % s->mem_n;
        in[k] = 1;
        left--;
    }
    H5Sselect_none(s->mspace);
    for (size_t k = 0; k < s->mem_n; k++)
        if (in[k])
            H5Sselect_hyperslab(s->mspace, H5S_SELECT_OR, (hsize_t[]){k / dims[1], k % dims[1]}, NULL, one, NULL);
    free(in);
}

static void select_in_memory(struct run *run, const struct dset *d, struct selection *s)
{
    struct rnd *r   = &run->r;
    unsigned    way = rnd_below(r, 100);
    if (s->n == 0 || d->cls != H5S_SIMPLE || way < 20) { /* as in the file */
        s->mspace = H5Scopy(s->fspace);
        s->mem_n  = d->n;
        s->mem    = rnd_chance(r, 50) && !s->moved ? H5S_ALL : s->mspace;
        if (s->moved) { /* HDF5 1.14.5 writes beyond the buffer where both are */
            const hssize_t none[RANK] = {0};
            H5Soffset_simple(s->mspace, none);
        }
        note(run, "memory %s", s->mem == H5S_ALL ? "H5S_ALL" : "alike");
        return;
    }
    if (way < 30 && H5Sselect_valid(s->fspace) > 0) {
        hsize_t dims = s->mem_n = s->n;
        s->mspace               = H5Screate_simple(1, &dims, NULL);
        s->mem                  = H5S_BLOCK;
        note(run, "memory H5S_BLOCK");
        return;
    }
    if (way < 50) {
        points_in_memory(run, s);
        note(run, "memory points");
    } else if (way < 60 && s->n <= 150) {
        union_in_memory(run, s);
        note(run, "memory a union");
    } else if (way < 75) {
        table_in_memory(run, s);
        note(run, "memory of 3 dimensions");
    } else {
        hsize_t start = rnd_below(r, 4), n = s->n, dims = s->mem_n = s->n + start + rnd_below(r, 4);
        s->mspace = H5Screate_simple(1, &dims, NULL);
        H5Sselect_hyperslab(s->mspace, H5S_SELECT_SET, &start, NULL, &n, NULL);
        note(run, "memory from %" PRIuHSIZE, start);
    }
    s->mem = s->mspace;
    if (rnd_chance(r, 2)) {
        H5Sselect_all(s->mspace);
        note(run, ", all of it");
    }
}

void random_selection(struct run *run, const struct dset *d, struct selection *s)
{
    memset(s, 0, sizeof *s);
    s->fspace = random_space(d);
    select_in_file(run, d, s);
    s->n = (size_t)H5Sget_select_npoints(s->fspace);
    select_in_memory(run, d, s);
    s->ok = H5Sselect_valid(s->fspace) > 0 && H5Sselect_valid(s->mspace) > 0 && H5Sget_select_npoints(s->mspace) == (hssize_t)s->n;
    note(run, "\n");
}

void selection_end(struct selection *s)
{
    H5Sclose(s->fspace);
    H5Sclose(s->mspace);
}
