/* Random calls on datasets: chunks as they are stored. */
#include "h5tests/random/data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool some_chunk(struct run *run, const struct dset *d, hsize_t *at, size_t *bytes)
{
    *bytes = H5Tget_size(d->type);
    if (H5Pget_layout(d->dcpl) != H5D_CHUNKED || d->n == 0 || d->var || has_class(d->type, H5T_COMPOUND))
        return false;
    for (int i = 0; i < d->rank; i++) {
        at[i] = d->chunk[i] * rnd_below(&run->r, (unsigned)((d->dims[i] + d->chunk[i] - 1) / d->chunk[i]));
        *bytes *= (size_t)d->chunk[i];
        note(run, "%c%" PRIuHSIZE, i ? ',' : '(', at[i]);
    }
    note(run, ") ");
    return true;
}

static void chunk_known(struct dset *d, const hsize_t *at)
{
    hid_t   s = random_space(d);
    hsize_t count[RANK];
    bool    edge = false;
    for (int i = 0; i < d->rank; i++) {
        count[i] = d->dims[i] - at[i] < d->chunk[i] ? d->dims[i] - at[i] : d->chunk[i];
        edge     = edge || count[i] < d->chunk[i];
    }
    H5Sselect_hyperslab(s, H5S_SELECT_SET, at, NULL, count, NULL);
    if (edge && !d->known) { /* elements outside show when the dataset grows */
        all_unknown(d);
        memset(d->known, 1, d->n);
    }
    now_known(d, s, (size_t)H5Sget_select_npoints(s));
    H5Sclose(s);
}

/* HDF5 forgets the filter mask that it gets here (1.14.5 can't read any filtered chunk that was written so).
 * So the written bytes are the output of its filters, or no filter is used. */
static void write_chunk(struct run *run)
{
    struct dset *d = any_dset(run);
    hsize_t      at[RANK];
    size_t       bytes;
    long long    rc[SIDES];
    note_dset(run, "H5Dwrite_chunk", d);
    if (!some_chunk(run, d, at, &bytes) || H5Pget_nfilters(d->dcpl) > 0)
        return;
    if (rnd_chance(&run->r, 4) && at[0] + 1 != d->dims[0]) /* HDF5 takes the first place behind the end */
        at[0]++;
    size_t         n   = bytes / H5Tget_size(d->type);
    unsigned char *buf = calloc(1, bytes);
    random_values(run, d, d->type, buf, n);
    EACH(i) { rc[i] = H5Dwrite_chunk(d->id[i], H5P_DEFAULT, 0, at, bytes, buf); }
    if (both(run, "H5Dwrite_chunk", rc))
        chunk_known(d, at);
    free(buf);
}

/* The bytes that HDF5 made of a chunk go into another one. */
static void move_chunk(struct run *run)
{
    struct dset *d = any_dset(run);
    hsize_t      from[RANK], to[RANK], size = 0;
    size_t       bytes;
    unsigned     opts = 0;
    uint32_t     mask = 0;
    long long    rc[SIDES];
    note_dset(run, "H5Dread_chunk, H5Dwrite_chunk", d);
    if (!some_chunk(run, d, from, &bytes) || !some_chunk(run, d, to, &bytes) || H5Pget_chunk_opts(d->dcpl, &opts) < 0 || opts ||
        d->known)
        return;
    if (H5Dget_chunk_storage_size(d->id[0], from, &size) < 0 || !size)
        return;
    unsigned char *buf = calloc(1, (size_t)size);
    if (H5Dread_chunk(d->id[0], H5P_DEFAULT, from, &mask, buf) >= 0 && mask == 0) {
        EACH(i) { rc[i] = H5Dwrite_chunk(d->id[i], H5P_DEFAULT, 0, to, (size_t)size, buf); }
        if (both(run, "H5Dwrite_chunk", rc))
            chunk_known(d, to);
    }
    free(buf);
}

static void read_chunk(struct run *run)
{
    struct dset *d = any_dset(run);
    hsize_t      at[RANK], size[SIDES] = {0};
    size_t       bytes;
    uint32_t     mask[SIDES] = {0};
    long long    rc[SIDES];
    note_dset(run, "H5Dread_chunk", d);
    if (!some_chunk(run, d, at, &bytes) || d->known || H5Pget_nfilters(d->dcpl))
        return;
    unsigned char *buf[SIDES];
    EACH(i) { rc[i] = H5Dget_chunk_storage_size(d->id[i], at, &size[i]); }
    if (rc[0] < 0 || rc[1] < 0 || !size[0] || !size[1])
        return; /* not stored, or not alone */
    EACH(i)
    {
        buf[i] = calloc(1, (size_t)size[i]);
        rc[i]  = H5Dread_chunk(d->id[i], H5P_DEFAULT, at, &mask[i], buf[i]);
    }
    if (rc[0] >= 0 && both(run, "H5Dread_chunk", rc) && (size[0] != size[1] || mask[0] != mask[1]))
        differ(run, "the chunk has %" PRIuHSIZE " bytes, mask %u natively, %" PRIuHSIZE ", %u in the domain", size[0], mask[0], size[1],
            mask[1]);
    free(buf[0]);
    free(buf[1]);
}

/* The existing chunks: in a domain, all that share a chunk object with a written one.  If room for all is
 * allocated at once, or with the first, HDF5 has them all.  A smaller extent makes it store chunks at the
 * border that it had read, though they were never written. */
static void ask_chunks(struct run *run)
{
    struct dset     *d    = any_dset(run);
    H5D_alloc_time_t when = H5D_ALLOC_TIME_DEFAULT;
    unsigned         opts = 0;
    hsize_t          n[SIDES] = {0}, at[RANK] = {0}, size[SIDES];
    haddr_t          addr;
    unsigned         mask[SIDES] = {0};
    long long        rc[SIDES];
    note_dset(run, "H5Dget_num_chunks", d);
    if (d->more || H5Pget_layout(d->dcpl) != H5D_CHUNKED || H5Pget_alloc_time(d->dcpl, &when) < 0 ||
        when != H5D_ALLOC_TIME_INCR || H5Pget_chunk_opts(d->dcpl, &opts) < 0 || opts)
        return;
    EACH(i) { rc[i] = H5Dget_num_chunks(d->id[i], H5S_ALL, &n[i]); }
    if (both(run, "H5Dget_num_chunks", rc) && n[0] > n[1])
        differ(run, "%" PRIuHSIZE " chunks natively, %" PRIuHSIZE " in the domain", n[0], n[1]);
    for (unsigned left = 300; d->n && left && !run->differs; left--) {
        EACH(i) { rc[i] = H5Dget_chunk_info_by_coord(d->id[i], at, &mask[i], &addr, &size[i]); }
        if (both(run, "H5Dget_chunk_info_by_coord", rc) && size[0] && !size[1])
            differ(run, "chunk at %" PRIuHSIZE ",%" PRIuHSIZE " has %" PRIuHSIZE " bytes natively, %" PRIuHSIZE " in the domain", at[0], at[1],
                size[0], size[1]);
        int k = d->rank - 1;
        while (k >= 0 && (at[k] += d->chunk[k]) >= d->dims[k])
            at[k--] = 0;
        if (k < 0)
            return;
    }
}

void chunk_call(struct run *run)
{
    static void (*const calls_[])(struct run *run) = {write_chunk, write_chunk, move_chunk, read_chunk, ask_chunks};
    RND_OF(&run->r, calls_)(run);
}
