#include "tools/load/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/cli/tool.h"
#include "tools/share/processes.h"
#include "tools/source/hdf5_glue.h"
#include "vol/copy/copier.h"
#include "vol/core/vol.h"
#include "vol/dataset/raw_files.h"

#define BLOCK                                                                                                \
    ((uint64_t)4 << 20) /* bytes of a block of a dataset that has no chunks; as a request of download */

static bool is_inside(hid_t dset)
{
    BKT_CLEANUP(h5_closep) hid_t dcpl = H5Dget_create_plist(dset);
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    if (dcpl < 0 || H5Pget_external_count(dcpl) > 0 || (o && bkt_is_external(o)))
        return false;
    H5D_layout_t layout = H5Pget_layout(dcpl);
    return layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS;
}

bool parts_possible(hid_t from, hid_t to)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    hssize_t n = space < 0 || H5Sget_simple_extent_ndims(space) < 1 ? 0 : H5Sget_simple_extent_npoints(space);
    bool fits = type >= 0 && n > 0 && (uint64_t)n >= PARTS_LEAST / bkt_max_u64(H5Tget_size(type), 1) &&
                bkt_copier_is_plain(type) && is_inside(from) && is_inside(to);
    H5D_space_status_t status = H5D_SPACE_STATUS_PART_ALLOCATED;
    if (fits && H5Dget_space_status(from, &status) < 0)
        status = H5D_SPACE_STATUS_PART_ALLOCATED;
    (void)H5Eclear2(H5E_DEFAULT);
    return fits && status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

/* ---- the list ---- */

static bool shape(hid_t dset, struct bkt_written *w)
{
    const struct bkt_dset *ds = &bkt_vobj_of_id(dset)->obj->dset;
    const struct bkt_layout *lay = &ds->layout;
    struct bkt_blocks b;
    uint64_t all = 1;
    hsize_t dims[H5S_MAX_RANK];
    w->rank = ds->space.rank;
    for (unsigned d = 0; d < w->rank; d++)
        dims[d] = ds->space.dims[d];
    bool chunks = lay->rank == w->rank && lay->cls != BKT_D_CONTIGUOUS_REF;
    bkt_blocks_begin(&b, w->rank, dims, NULL, bkt_max_u64(BLOCK / bkt_max_u64(ds->type->size, 1), 1));
    for (unsigned d = 0; d < w->rank; d++) {
        w->cdims[d] = chunks ? lay->dims[d] : b.step[d];
        w->grid[d] = w->cdims[d] ? bkt_ceil_div(dims[d], w->cdims[d]) : 0;
        if (!w->grid[d] || !bkt_mul_u64(all, w->grid[d], &all))
            return false;
    }
    return true;
}

int parts_list(hid_t dset, hid_t from, struct bkt_written *w, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written grid = {.v = NULL};
    hsize_t hi[H5S_MAX_RANK] = {0}, lo[H5S_MAX_RANK] = {0};
    if (!shape(dset, &grid))
        BKT_FAIL(err, BKT_EFORMAT, "a dataset's chunk grid is impossible");
    if (bkt_written_listable(from) && bkt_written_list(from, w)) {
        if (w->no_grid) {
            w->n = 0;
            return BKT_OK;
        }
        if (bkt_written_regrid(w, &grid) == BKT_OK) {
            (void)bkt_written_hole(w, hi); /* sorts, each once */
            return BKT_OK;
        }
        bkt_written_fini(w);
    }
    *w = grid;
    memset(&grid, 0, sizeof grid);
    for (unsigned d = 0; d < w->rank; d++)
        hi[d] = w->grid[d] - 1;
    int rc = bkt_written_cells(w, lo, hi);
    return rc < 0 ? BKT_ERR(err, rc, "a dataset has too many chunks for a list of them") : BKT_OK;
}

uint64_t parts_chunk_bytes(const struct bkt_written *w, size_t elem_size)
{
    uint64_t n = elem_size;
    for (unsigned d = 0; d < w->rank; d++)
        if (!bkt_mul_u64(n, w->cdims[d], &n))
            return UINT64_MAX;
    return n;
}

uint64_t parts_share(uint64_t total)
{
    return bkt_min_u64(BKT_TOOL_BLOCK, bkt_max_u64(total / (2 * bkt_processes_size()), PARTS_LEAST));
}

size_t parts_next(const struct bkt_written *w, size_t i, uint64_t bytes, uint64_t share)
{
    uint64_t n = bkt_max_u64(share / bkt_max_u64(bytes, 1), 1);
    return (size_t)bkt_min_u64(w->n - i, bkt_min_u64(n, PARTS_CHUNKS));
}

/* ---- as bytes ---- */

int parts_emit(const struct bkt_written *w, size_t i, size_t n, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_le(out, 1, w->rank));
    for (unsigned d = 0; d < w->rank; d++) {
        BKT_PASS(bkt_buf_add_le(out, 8, w->cdims[d]));
        BKT_PASS(bkt_buf_add_le(out, 8, w->grid[d]));
    }
    BKT_PASS(bkt_buf_add_le(out, 4, n));
    for (; n > 0; i++, n--) {
        BKT_PASS(bkt_buf_add_le(out, 8, w->v[i].index));
        BKT_PASS(bkt_buf_add_le(out, 8, w->v[i].size));
        BKT_PASS(bkt_buf_add_le(out, 4, w->v[i].mask));
    }
    return BKT_OK;
}

int parts_parse(struct bkt_rd *r, struct bkt_written *w, struct bkt_err *err)
{
    uint64_t all = 1;
    bool good = (w->rank = (unsigned)bkt_rd_le(r, 1)) <= H5S_MAX_RANK;
    for (unsigned d = 0; good && d < w->rank; d++) {
        w->cdims[d] = bkt_rd_le(r, 8);
        w->grid[d] = bkt_rd_le(r, 8);
        good = w->cdims[d] && w->grid[d] && bkt_mul_u64(all, w->grid[d], &all);
    }
    uint64_t n = good ? bkt_rd_le(r, 4) : 0;
    good = good && r->ok && n <= bkt_rd_left(r) / 20;
    w->v = good ? calloc((size_t)n + 1, sizeof *w->v) : NULL;
    if (good && !w->v)
        BKT_NOMEM(err);
    for (; good && w->n < n; w->n++) {
        w->v[w->n].index = bkt_rd_le(r, 8);
        w->v[w->n].size = bkt_rd_le(r, 8);
        w->v[w->n].mask = (uint32_t)bkt_rd_le(r, 4);
        good = w->v[w->n].index < all;
    }
    return good && r->ok ? BKT_OK : BKT_ERR(err, BKT_EFORMAT, "a malformed part of a dataset");
}

int parts_emit_text(struct bkt_buf *out, const char *text)
{
    size_t n = strlen(text);
    BKT_PASS(bkt_buf_add_le(out, 4, n));
    return bkt_buf_add(out, text, n);
}

int parts_parse_text(struct bkt_rd *r, char **out, struct bkt_err *err)
{
    size_t n = (size_t)bkt_rd_le(r, 4);
    const char *text = bkt_rd_take(r, n);
    if (!text)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed text of another process");
    *out = strndup(text, n);
    return *out ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int parts_parse_id(struct bkt_rd *r, struct bkt_id *out, struct bkt_err *err)
{
    char text[BKT_ID_LEN + 1] = "";
    const char *id = bkt_rd_take(r, BKT_ID_LEN);
    if (id)
        memcpy(text, id, BKT_ID_LEN);
    if (!bkt_id_set(out, text))
        BKT_FAIL(err, BKT_EFORMAT, "a malformed id in a message of another process");
    return BKT_OK;
}
