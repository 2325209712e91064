#include "tools/source/data_locations.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"
#include "vol/plain/plain_chunks.h"
#include "vol/vfd/store_driver.h"

void survey_fini(struct survey *s)
{
    bkt_strs_fini(&s->names);
    free(s->segs);
    free(s->chunks);
    memset(s, 0, sizeof *s);
}

/* ---- chunks ---- */

struct collect {
    struct survey *s;
    size_t         cap;
    bool           in_order;
};

static int one_chunk(void *arg, const struct bkt_file_chunk *at)
{
    struct collect *c = arg;
    struct survey  *s = c->s;
    BKT_PASS(bkt_list_room(&s->chunks, s->n_chunks, &c->cap, sizeof *s->chunks));
    c->in_order &= s->n_chunks == 0 || at->index > s->chunks[s->n_chunks - 1].index;
    s->chunks[s->n_chunks++] = *at;
    return BKT_OK;
}

static int survey_chunks(hid_t dset, hid_t dcpl, struct survey *s, struct bkt_err *err)
{
    struct collect c = {.s = s, .in_order = true};
    if (H5Pget_chunk(dcpl, BKT_MAX_RANK, s->cdims) != (int)s->rank)
        return h5_fail(err, "asking for the chunk shape");
    for (unsigned d = 0; d < s->rank; d++)
        s->grid[d] = bkt_ceil_div(s->dims[d], s->cdims[d]);
    BKT_PASS(bkt_file_chunks(dset, one_chunk, &c, err));
    if (!c.in_order)
        qsort(s->chunks, s->n_chunks, sizeof *s->chunks, bkt_by_u64);
    s->kind = s->n_chunks ? BKT_MAP_CHUNKED : BKT_MAP_NONE;
    return BKT_OK;
}

/* ---- external files ---- */

static int add_seg(struct survey *s, const char *uri, const char *etag, uint64_t off, uint64_t size,
                   struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_list_room(&s->segs, s->n_segs, &s->cap_segs, sizeof *s->segs));
    s->segs[s->n_segs++] = (struct source_seg){uri, etag, off, size};
    return BKT_OK;
}

/* The rules of H5Pset_efile_prefix() and HDF5_EXTFILE_PREFIX: the prefix goes before names that are not
 * absolute,
 * "${ORIGIN}" in front of it is the HDF5 file's own folder. */
static int external_name(const struct source *src, const char *name, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full   = {0};
    const char                              *prefix = getenv("HDF5_EXTFILE_PREFIX");
    const char                              *origin = "${ORIGIN}";
    int                                      rc     = BKT_OK;
    if (prefix && (!*prefix || strcmp(prefix, ".") == 0))
        prefix = NULL;
    const char *folder_end = strrchr(src->name, '/');
    bool remote = bkt_vfd_takes(src->name); /* a bucket has no current folder: beside the file */
    if (*name != '/' && !bkt_vfd_takes(name) && (prefix || remote)) {
        if (!prefix || strncmp(prefix, origin, strlen(origin)) == 0) {
            rc     = folder_end ? bkt_buf_add(&full, src->name, (size_t)(folder_end - src->name))
                                : bkt_buf_add_str(&full, ".");
            prefix = prefix ? prefix + strlen(origin) : "";
        }
        rc = rc ? rc : bkt_buf_addf(&full, "%s/", prefix);
    }
    BKT_NEED(err, rc >= 0 && bkt_buf_add_str(&full, name) >= 0 && (*out = source_uri(bkt_buf_str(&full))));
    return BKT_OK;
}

/* One segment, up to where the file ends; HDF5 reads zeros behind that. */
static int external_segment(const struct source *src, const char *name, uint64_t off, uint64_t want,
                            struct survey *s, struct bkt_err *err)
{
    uint64_t size = 0;
    char    *etag = calloc(1, BKT_ETAG_MAX), *uri = NULL;
    BKT_PASS_MEM(err, bkt_strs_take(&s->names, etag));
    BKT_PASS(external_name(src, name, &uri, err));
    BKT_PASS_MEM(err, bkt_strs_take(&s->names, uri));
    int rc = bkt_vfd_stat(uri, src->set, &size, etag, BKT_ETAG_MAX, err);
    if (rc == BKT_ENOENT) { /* a reader of the data will get the error */
        bkt_err_clear(err);
        s->missing = uri;
        return add_seg(s, uri, NULL, off, want, err);
    }
    BKT_FAIL_IF(err, rc < 0, rc, "external file %s", name);
    uint64_t there = size > off ? bkt_min_u64(size - off, want) : 0;
    if (there)
        BKT_PASS(add_seg(s, uri, etag, off, there, err));
    return there < want ? add_seg(s, NULL, NULL, 0, want - there, err) : BKT_OK;
}

static int survey_external(const struct source *src, hid_t dset, hid_t dcpl, struct survey *s,
                           struct bkt_err *err)
{
    int                          n    = H5Pget_external_count(dcpl);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    uint64_t                     left = H5Tget_size(type);
    for (unsigned d = 0; d < s->rank; d++)
        BKT_FAIL_IF(err, !bkt_mul_u64(left, s->dims[d], &left), BKT_EFORMAT,
                    "the dataset's size does not fit 64 bits");
    s->size = left;
    for (int i = 0; i < n && left; i++) {
        char    name[4096];
        off_t   off  = 0;
        hsize_t size = 0;
        if (H5Pget_external(dcpl, (unsigned)i, sizeof name, name, &off, &size) < 0)
            return h5_fail(err, "asking for an external file");
        name[sizeof name - 1] = 0;
        uint64_t m = size == H5F_UNLIMITED ? left : bkt_min_u64(size, left);
        BKT_PASS(external_segment(src, name, (uint64_t)off, m, s, err));
        left -= m;
    }
    if (left)
        BKT_PASS(add_seg(s, NULL, NULL, 0, left, err));
    s->kind = s->n_segs ? BKT_MAP_EXTERNAL : BKT_MAP_NONE;
    return BKT_OK;
}

static int survey_contiguous(hid_t dset, struct survey *s)
{
    haddr_t addr = H5Dget_offset(dset);
    (void)H5Eclear2(H5E_DEFAULT);
    s->size = H5Dget_storage_size(dset);
    s->addr = addr;
    s->kind = addr == HADDR_UNDEF || s->size == 0 ? BKT_MAP_NONE : BKT_MAP_CONTIGUOUS;
    return BKT_OK;
}

int survey_dataset(const struct source *src, hid_t dset, struct survey *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    memset(out, 0, sizeof *out);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, out->dims, NULL);
    if (dcpl < 0 || rank < 0)
        return h5_unreadable(err, "looking at a dataset");
    out->rank = (unsigned)rank;
    H5D_layout_t layout = H5Pget_layout(dcpl);
    if (layout == H5D_VIRTUAL)
        out->kind = BKT_MAP_VIRTUAL;
    else if (layout == H5D_COMPACT)
        out->kind = BKT_MAP_COMPACT;
    if (layout == H5D_VIRTUAL || layout == H5D_COMPACT || H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    int rc;
    if (layout == H5D_CHUNKED)
        rc = survey_chunks(dset, dcpl, out, err);
    else if (H5Pget_external_count(dcpl) > 0)
        rc = survey_external(src, dset, dcpl, out, err);
    else
        rc = survey_contiguous(dset, out);
    if (rc < 0)
        survey_fini(out);
    return rc < 0 && rc != BKT_ENOMEM && rc != BKT_ECANCEL ? BKT_EFORMAT : rc;
}
