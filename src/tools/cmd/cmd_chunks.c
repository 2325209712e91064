/* h5bucket chunks FILE [DATASET...]: chunk-location JSON (schema/json/chunk_locations.h) on stdout. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "schema/json/chunk_locations.h"
#include "tools/cli/tool.h"
#include "tools/load/load_domain.h"
#include "tools/show/json_out.h"
#include "tools/source/data_locations.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

/* ---- --fill: the chunk tables that `hsload --fastlink` left to be made at the first read ---- */

struct fill {
    struct load_job l; /* for load_open_id() */
    struct bkt_err *err;
    int             rc;
    unsigned        n;
};
struct rows {
    unsigned char  *v;
    struct load_fields f;
    unsigned        rank;
    const uint64_t *cdims;
    hsize_t         grid[BKT_MAX_RANK];
};

static int put_row(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct rows *r     = arg;
    uint64_t     index = 0;
    (void)mask;
    for (unsigned d = 0; d < r->rank; d++) {
        uint64_t at = offset[d] / r->cdims[d];
        if (at >= r->grid[d])
            return H5_ITER_CONT;
        index = index * r->grid[d] + at;
    }
    if (r->f.size_n < 8 && size > INT32_MAX)
        return H5_ITER_ERROR;
    load_put_row(&r->f, &(struct load_row){.off = addr, .size = size}, r->v + index * r->f.row);
    return H5_ITER_CONT;
}

static int write_table(struct fill *f, hid_t dset, const struct bkt_dset *ds, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t table = H5I_INVALID_HID;
    BKT_PASS(load_open_id(&f->l, &ds->layout.chunk_table, &table, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(table), space = H5Dget_space(table);
    struct rows r = {.cdims = ds->layout.dims};
    hssize_t    n    = H5Sget_simple_extent_npoints(space);
    int         rank = H5Sget_simple_extent_dims(space, r.grid, NULL);
    BKT_FAIL_IF(err, rank <= 0 || n < 0 || !load_fields_of(type, &r.f) || H5Tget_nmembers(type) != 2,
                BKT_EUNSUP, "the chunk table doesn't have hsload's form");
    r.rank                                 = (unsigned)rank;
    BKT_CLEANUP(bkt_freep) unsigned char *v = calloc((size_t)n + 1, r.f.row);
    r.v                                    = v;
    BKT_NEED(err, v);
    if (H5Dchunk_iter(dset, H5P_DEFAULT, put_row, &r) < 0)
        return h5_fail(err, "looking for the chunks");
    return H5Dwrite(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0
               ? h5_fail(err, "storing the chunk table")
               : BKT_OK;
}

static int fill_one(struct fill *f, hid_t dset, struct bkt_err *err)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    const struct bkt_dset   *ds    = &o->obj->dset;
    const struct bkt_object *table = NULL;
    if (ds->layout.cls != BKT_D_CHUNKED_REF_INDIRECT)
        return BKT_OK;
    BKT_PASS(bkt_domain_get(f->l.file->dom, &ds->layout.chunk_table, &table, err));
    bool     wanted = table->kind == BKT_DATASET && table->dset.init == BKT_INIT_CHUNKLOCATOR;
    uint64_t stored = 0;
    int      rc     = wanted ? bkt_domain_chunk_usage(f->l.file->dom, table, NULL, &stored, err) : BKT_OK;
    bkt_object_release(table);
    if (rc < 0 || !wanted || stored)
        return rc;
    BKT_PASS(write_table(f, dset, ds, err));
    f->n++;
    return BKT_OK;
}

static herr_t fill_at(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct fill *f = arg;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    f->rc = dset < 0 ? h5_fail(f->err, name) : fill_one(f, dset, f->err);
    if (f->rc < 0)
        f->rc = BKT_ERR(f->err, f->rc, "/%s", name);
    return f->rc < 0 ? -1 : 0;
}

/* Make and store those chunk tables of a domain that are not stored yet.
 * @param fapl  of the connector
 * @param n     number of tables made
 * @return BKT_OK; BKT_EACCES: not writable, or the files may not be read (allow); … */
static int fill_tables(const char *domain, hid_t fapl, unsigned *n, struct bkt_err *err)
{
    struct fill f = {.err = err};
    f.l.dst       = H5Fopen(domain, H5F_ACC_RDWR, fapl);
    if (f.l.dst < 0)
        return h5_fail(err, domain);
    f.l.file = bkt_vobj_of_id(f.l.dst)->file;
    if (H5Ovisit3(f.l.dst, H5_INDEX_NAME, H5_ITER_INC, fill_at, &f, H5O_INFO_BASIC) < 0 && f.rc >= 0)
        f.rc = h5_fail(err, "going through the domain");
    if (f.rc >= 0 && H5Fflush(f.l.dst, H5F_SCOPE_GLOBAL) < 0)
        f.rc = h5_fail(err, "storing chunk tables");
    bkt_hid_closep(&f.l.dst);
    *n = f.n;
    return f.rc;
}

/* ---- the locations ---- */

static const struct bkt_opt opts[] = {
    {0, "fill", NULL,
     "FILE is a domain: make the chunk tables that hsload --fastlink leaves to the first "
     "read",
     NULL},
    {'f', "filedriver", "DRIVER", "the file's driver; default: derived from its name",
     "sec2 family split multi"},
};

struct job {
    struct source  *src;
    struct bkt_jout out;
    struct bkt_err *err;
    int             rc;
};

static void write_chunks(struct bkt_jout *j, const struct survey *s)
{
    bkt_jout_dims(j, "chunk", s->cdims, s->rank);
    bkt_jout_open(j, "chunks", '{');
    for (size_t i = 0; i < s->n_chunks; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        const struct bkt_file_chunk *c = &s->chunks[i];
        uint64_t coord[BKT_MAX_RANK], left = c->index, v[3] = {c->offset, c->size, c->mask};
        for (unsigned d = s->rank; d-- > 0; left /= s->grid[d])
            coord[d] = left % s->grid[d];
        for (unsigned d = 0; d < s->rank; d++)
            if (bkt_buf_addf(&key, "%s%llu", d ? "_" : "", (unsigned long long)coord[d]) < 0)
                return;
        bkt_jout_dims(j, bkt_buf_str(&key), v, c->mask ? 3 : 2);
    }
    bkt_jout_close(j);
}

static void write_segments(struct bkt_jout *j, const struct survey *s)
{
    bkt_jout_open(j, "segments", '[');
    for (size_t i = 0; i < s->n_segs; i++) {
        bkt_jout_open(j, NULL, '[');
        bkt_jout_url(j, NULL, s->segs[i].uri);
        bkt_jout_u64(j, NULL, s->segs[i].off);
        bkt_jout_u64(j, NULL, s->segs[i].size);
        bkt_jout_close(j);
    }
    bkt_jout_close(j);
}

static int write_encoded(struct bkt_jout *j, const char *key, hid_t id, bool is_type, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf raw = {0}, text = {0};
    size_t                                   n   = 0;
    herr_t rc = is_type ? H5Tencode(id, NULL, &n) : H5Pencode2(id, NULL, &n, H5P_DEFAULT);
    if (rc < 0 || bkt_buf_resize(&raw, n) < 0 ||
        (is_type ? H5Tencode(id, raw.ptr, &n) : H5Pencode2(id, raw.ptr, &n, H5P_DEFAULT)) < 0 ||
        bkt_base64_encode(raw.ptr, n, &text) < 0)
        return h5_fail(err, "encoding a type or a creation list");
    bkt_jout_str(j, key, bkt_buf_str(&text));
    return BKT_OK;
}

static void write_space(struct bkt_jout *j, hid_t space)
{
    hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, max);
    if (H5Sget_simple_extent_type(space) == H5S_NULL || rank < 0)
        return;
    bkt_jout_dims(j, "shape", dims, (unsigned)rank);
    if (memcmp(dims, max, (size_t)rank * sizeof *dims) != 0)
        bkt_jout_dims(j, "maxshape", max, (unsigned)rank);
}

static int write_dataset(struct job *job, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(job->src->file, path, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = dset < 0 ? -1 : H5Dget_type(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = dset < 0 ? -1 : H5Dget_space(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = dset < 0 ? -1 : H5Dget_create_plist(dset);
    BKT_CLEANUP(survey_fini) struct survey s     = {0};
    struct bkt_jout                       *j     = &job->out;
    if (type < 0 || space < 0 || dcpl < 0)
        return h5_fail(err, path);
    BKT_TRY(err, survey_dataset(job->src, dset, &s, err), "%s", path);
    bkt_jout_open(j, path, '{');
    bkt_jout_str(j, "layout", bkt_map_kind_name(s.kind));
    write_space(j, space);
    bkt_jout_u64(j, "item_size", H5Tget_size(type));
    BKT_PASS(write_encoded(j, "type", type, true, err));
    BKT_PASS(write_encoded(j, "creation", dcpl, false, err));
    if (s.kind == BKT_MAP_CHUNKED)
        write_chunks(j, &s);
    if (s.kind == BKT_MAP_EXTERNAL)
        write_segments(j, &s);
    if (s.kind == BKT_MAP_CONTIGUOUS)
        bkt_jout_members(j, "offset:n size:n", s.addr, s.size);
    bkt_jout_close(j);
    return BKT_OK;
}

static herr_t visit(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct job                              *job  = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    (void)root;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    job->rc = bkt_buf_addf(&path, "/%s", name);
    if (job->rc == BKT_OK)
        job->rc = write_dataset(job, bkt_buf_str(&path), job->err);
    return job->rc < 0 ? -1 : 0;
}

static void write_files(struct bkt_jout *j, const struct source *src)
{
    bkt_jout_open(j, "files", '[');
    for (size_t i = 0; i < src->n_parts; i++) {
        const struct source_part *p = &src->parts[i];
        bkt_jout_open(j, NULL, '{');
        bkt_jout_members(j, "uri:u start:n size:n", p->uri, p->start, p->file_size);
        if (*p->etag)
            bkt_jout_str(j, "etag", p->etag);
        bkt_jout_close(j);
    }
    bkt_jout_close(j);
}

static int write_all(struct job *job, char **names, int n, struct bkt_err *err)
{
    struct bkt_jout *j = &job->out;
    for (int i = 0; i < n; i++) { /* before anything is printed */
        BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(job->src->file, names[i], H5P_DEFAULT);
        if (dset < 0)
            return h5_fail(err, names[i]);
    }
    bkt_jout_init(j, stdout);
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "format:s version:n", BKT_CHUNK_MAP_FORMAT, (uint64_t)BKT_CHUNK_MAP_VERSION);
    write_files(j, job->src);
    bkt_jout_open(j, "datasets", '{');
    for (int i = 0; i < n; i++)
        BKT_PASS(write_dataset(job, names[i], err));
    if (n == 0 && H5Ovisit3(job->src->file, H5_INDEX_NAME, H5_ITER_INC, visit, job, H5O_INFO_BASIC) < 0)
        return job->rc < 0 ? job->rc : h5_fail(err, "going through the file");
    bkt_jout_close(j);
    bkt_jout_close(j);
    return BKT_OK;
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_CLEANUP(source_closep) struct source *src = NULL;
    unsigned n = 0;
    BKT_PASS(bkt_tool_start(t, &fapl, &t->err));
    if (bkt_tool_has(t, "fill")) {
        BKT_PASS(fill_tables(t->args[0], fapl, &n, &t->err));
        printf(t->json ? "{\"chunk_tables\": %u}\n" : "%u chunk tables made\n", n);
        return BKT_EXIT_OK;
    }
    BKT_PASS(source_open(t->args[0], bkt_tool_opt(t, "filedriver"), &t->set, &src, &t->err));
    struct job job = {.src = src, .err = &t->err, .rc = BKT_OK};
    BKT_PASS(write_all(&job, t->args + 1, t->n_args - 1, &t->err));
    return fflush(stdout) == 0 ? BKT_EXIT_OK : bkt_tool_fail(t, "stdout: the output can't be written");
}

const struct bkt_verb bkt_verb_chunks = {
    .name = "chunks",
    .args = "FILE [DATASET...]",
    .min_args = 1,
    .max_args = -1,
    .help = "write the locations of an HDF5 file's data, as JSON for load --chunk-map",
    .text = "FILE is a path, or an s3:// or https:// name. Only its metadata are read. Without DATASET, the\n"
            "output has all datasets that can be reached from the root group. chunk_locations.h in\n"
            "src/schema/json describes the form of the JSON:\n\n"
            "  {\"format\": \"h5bucket-chunks\", \"version\": 1,\n"
            "   \"files\": [{\"uri\": ..., \"start\": 0, \"size\": ..., \"etag\": ...}],\n"
            "   \"datasets\": {\"/a\": {\"layout\": \"chunked\", \"shape\": [100], \"chunk\": [10],\n"
            "                       \"item_size\": 4, \"type\": ..., \"creation\": ...,\n"
            "                       \"chunks\": {\"0\": [offset, size],\n"
            "                                  \"1\": [offset, size, filter mask]}}}}",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .json = true,
    .run = run,
};
