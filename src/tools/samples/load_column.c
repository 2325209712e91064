/* h5bucket load --column=COLUMN REPOSITORY DOMAIN.
 *
 * 1. The samples' records come from the repository's names.
 * 2. Each file is opened by HDF5's native connector.  The places of its collections' chunks are listed, and
 * those of the samples become rows of a chunk table.
 * 3. The domain is made, with a dataset whose layout refers to that table. */
#include "tools/samples/load_column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/records.h"
#include "samples/repository.h"
#include "tools/samples/sample_choice.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"

struct item {
    struct h5bucket_record r;
    uint64_t               at;    /* row of the domain's dataset */
    bool                   empty; /* it has no elements, and so no chunks */
};
struct column {
    struct load_job *l;
    const char      *repository, *name;
    hid_t            fapl;       /* the connector's; borrowed */
    struct selection sel;
    struct item     *items;      /* by place, those without elements last */
    size_t           n, n_stored;
    struct h5bucket_record lead; /* of the first sample that has elements */
    struct bkt_strs names;       /* of files: name and ETag of each */
    struct load_row *rows;
    size_t           n_rows, cap_rows;
    hid_t            type, dcpl; /* of the first collection */
    hid_t            first;      /* that collection, which stays open as the others are compared with it */
    struct source   *first_src;
    unsigned         rank;       /* of a collection, and its dimensions, chunks, and chunks per dimension */
    uint64_t         dims[BKT_MAX_RANK], cdims[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    uint64_t         per_sample; /* chunks */
    bool             fixed;      /* all samples have the shape of the first */
    int              sample_rank;
};

static void fini(struct column *c)
{
    bkt_strs_fini(&c->names);
    free(c->rows);
    free(c->items);
    bkt_hid_closep(&c->type);
    bkt_hid_closep(&c->dcpl);
    bkt_hid_closep(&c->first);
    source_close(c->first_src);
    selection_fini(&c->sel);
}

/* ---- records ---- */

static int by_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->empty != y->empty)
        return x->empty ? 1 : -1;
    int uid = x->r.format != y->r.format ? x->r.format - y->r.format : strcmp(x->r.uid, y->r.uid);
    if (uid)
        return uid;
    if (x->r.dataset != y->r.dataset)
        return x->r.dataset < y->r.dataset ? -1 : 1;
    return x->r.row < y->r.row ? -1 : x->r.row > y->r.row;
}

static int parse_all(struct column *c, struct bkt_err *err)
{
    uint64_t elements;
    c->n     = c->sel.records.n;
    c->items = calloc(c->n + 1, sizeof *c->items);
    BKT_NEED(err, c->items);
    for (size_t i = 0; i < c->n; i++) {
        struct item *it   = &c->items[i];
        const char  *text = c->sel.records.v[i];
        it->at = i;
        BKT_FAIL_IF(err,
                    bkt_sample_record_parse(text, strlen(text), &it->r, NULL) < 0 ||
                        !bkt_sample_record_elements(&it->r, &elements),
                    BKT_EUNSUP, "sample %s lies in no HDF5 file; its record is %s", c->sel.names.v[i], text);
        it->empty = elements == 0;
        if (!it->empty && !c->n_stored++)
            c->lead = it->r;
    }
    BKT_FAIL_IF(err, !c->n_stored, BKT_EUNSUP, "none of its samples has elements");
    return BKT_OK;
}

static int check_all(struct column *c, struct bkt_err *err)
{
    c->fixed       = true;
    c->sample_rank = c->lead.rank;
    for (size_t i = 0; i < c->n; i++) {
        const struct item *it = &c->items[i];
        BKT_FAIL_IF(err, it->r.rank != c->lead.rank || (!it->empty && it->r.format != c->lead.format),
                    BKT_EUNSUP, "sample %s has another rank or backend than others", c->sel.names.v[i]);
        c->fixed = c->fixed && memcmp(it->r.shape, c->lead.shape, (size_t)it->r.rank * sizeof(hsize_t)) == 0;
    }
    qsort(c->items, c->n, sizeof *c->items, by_place);
    return BKT_OK;
}

static int find_samples(struct column *c, struct bkt_err *err)
{
    struct bkt_repository_names *names = NULL;
    const char       *rest  = strchr(c->name, ':');
    int rc = bkt_repository_names_open(c->repository, c->l->set, &names, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, rc, "%s has no LMDB files with names of columns", c->repository);
    BKT_PASS(rc);
    rc = strchr(rest ? rest : c->name, '/')
             ? BKT_ERR(err, BKT_EINVAL, "%s: a whole column is loaded; name it alone", c->name)
             : selection_add(&c->sel, names, c->name, err);
    bkt_repository_names_close(names);
    BKT_PASS(rc);
    BKT_FAIL_IF(err, !c->sel.records.n, BKT_EUNSUP, "it has no samples");
    BKT_PASS(parse_all(c, err));
    return check_all(c, err);
}

/* ---- places of chunks ---- */

static int take_first(struct column *c, hid_t dset, const struct survey *s, struct bkt_err *err)
{
    c->type = H5Dget_type(dset);
    c->dcpl = H5Dget_create_plist(dset);
    if (c->type < 0 || c->dcpl < 0)
        return h5_unreadable(err, "asking for a collection's type and filters");
    c->rank       = s->rank;
    c->per_sample = 1;
    memcpy(c->dims, s->dims, sizeof c->dims);
    memcpy(c->cdims, s->cdims, sizeof c->cdims);
    for (unsigned d = 0; d < s->rank; d++) {
        c->grid[d] = bkt_ceil_div(s->dims[d], s->cdims[d]);
        BKT_FAIL_IF(err, d && !bkt_mul_u64(c->per_sample, c->grid[d], &c->per_sample), BKT_EFORMAT,
                    "collection: more than 2^64 chunks");
    }
    return BKT_OK;
}

/* Collections without a stored chunk have no survey of chunks; their rows have none either. */
static int compare(struct column *c, hid_t dset, const struct survey *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    const bool alike = s->rank == c->rank && H5Tequal(type, c->type) > 0;
    const int agree = alike ? bkt_filters_agree(dset, c->first, err) : 0;
    BKT_PASS(agree);
    bool same = agree > 0;
    for (unsigned d = 0; same && d < s->rank; d++)
        same = s->cdims[d] == c->cdims[d] && (d == 0 || s->dims[d] == c->dims[d]);
    BKT_FAIL_IF(err, !same, BKT_EUNSUP, "its collections differ in type, filters, chunks or dimensions");
    return BKT_OK;
}

static int add_row(struct column *c, const struct item *it, const struct bkt_file_chunk *k,
                   const struct source_part *part, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_list_room(&c->rows, c->n_rows, &c->cap_rows, sizeof *c->rows));
    char *const *name = c->names.v + c->names.n - 2;
    c->rows[c->n_rows++] = (struct load_row){it->at * c->per_sample + k->index % c->per_sample,
                                             k->offset - part->start,
                                             k->size,
                                             k->mask,
                                             name[0],
                                             name[1]};
    return BKT_OK;
}

static size_t first_chunk(const struct survey *s, uint64_t index)
{
    size_t low = 0, high = s->n_chunks;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->chunks[mid].index < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Whether the sample lies in its collection. */
static bool is_inside(const struct column *c, const struct h5bucket_record *r, uint64_t rows)
{
    uint64_t n;
    if (r->row >= rows || !bkt_sample_record_elements(r, &n))
        return false;
    if (r->format == 0 && c->rank == 2)
        return n <= c->dims[1];
    if (c->rank != (unsigned)r->rank + 1 && !(r->rank == 0 && c->rank == 1))
        return false;
    for (int i = 0; i < r->rank; i++)
        if (r->shape[i] > c->dims[i + 1])
            return false;
    return true;
}

static int add_samples(struct column *c, struct source *src, const struct survey *s, const struct item *from,
                       size_t n, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t begin = from[i].r.row * c->per_sample, end = begin + c->per_sample;
        BKT_FAIL_IF(err, !is_inside(c, &from[i].r, s->dims[0]), BKT_EFORMAT,
                    "sample %s: its collection has no such row or shape", c->sel.names.v[from[i].at]);
        for (size_t k = first_chunk(s, begin); k < s->n_chunks && s->chunks[k].index < end; k++) {
            const struct source_part *part = source_part_of(src, s->chunks[k].offset, s->chunks[k].size);
            BKT_FAIL_IF(err, !part, BKT_EFORMAT, "sample %s: a chunk lies outside the file",
                        c->sel.names.v[from[i].at]);
            BKT_PASS(add_row(c, &from[i], &s->chunks[k], part, err));
        }
    }
    return BKT_OK;
}

/* The samples of one collection. */
static int add_collection(struct column *c, struct source *src, const struct item *from, size_t n,
                          struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    char                                   name[16];
    (void)snprintf(name, sizeof name, "/%u", from->r.dataset);
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(src->file, name, H5P_DEFAULT);
    if (dset < 0)
        return h5_unreadable(err, "opening a collection");
    BKT_PASS(survey_dataset(src, dset, &s, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    /* also without a stored chunk */
    int rank =
        dcpl < 0 || H5Pget_layout(dcpl) != H5D_CHUNKED ? -1 : H5Pget_chunk(dcpl, BKT_MAX_RANK, s.cdims);
    BKT_FAIL_IF(err, rank < 1 || (unsigned)rank != s.rank || s.cdims[0] != 1, BKT_EUNSUP,
                "collection %u is not chunked by samples", from->r.dataset);
    if (c->rank == 0)
        BKT_PASS(take_first(c, dset, &s, err));
    if (c->first < 0)
        c->first = bkt_hid_take(&dset);
    else
        BKT_PASS(compare(c, dset, &s, err));
    return add_samples(c, src, &s, from, n, err);
}

static int add_file(struct column *c, struct source *src, const struct item *from, size_t n,
                    struct bkt_err *err)
{
    BKT_FAIL_IF(err, src->n_parts != 1, BKT_EUNSUP, "it is more than one file");
    BKT_PASS(load_part_uris(c->l, src, &c->names, err));
    BKT_PASS_MEM(err, bkt_strs_add(&c->names, src->parts[0].etag));
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && from[i + k].r.dataset == from[i].r.dataset;)
            k++;
        BKT_PASS(add_collection(c, src, from + i, k, err));
    }
    return interrupt_check(err);
}

/* `data` is below the repository's folder, or below `.hangar`; the first file that is found decides. */
static int open_source(const struct column *c, const struct h5bucket_record *r, const char **data,
                       struct source **out, struct bkt_err *err)
{
    size_t n  = strlen(c->repository);
    int    rc = BKT_ENOENT;
    while (n > 1 && c->repository[n - 1] == '/')
        n--;
    for (size_t i = 0; i < BKT_SAMPLE_PLACES; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
        if (*data && *data != bkt_sample_places[i])
            continue;
        bkt_err_clear(err);
        BKT_PASS_MEM(err, bkt_buf_addf(&name, "%.*s/%s/0%d/%s.hdf5", (int)n, c->repository,
                                       bkt_sample_places[i], r->format, r->uid));
        rc = source_open(bkt_buf_str(&name), "sec2", c->l->set, out, err);
        if (rc == BKT_OK) {
            *data = bkt_sample_places[i];
            return rc;
        }
        BKT_FAIL_IF(err, H5Fis_accessible(bkt_buf_str(&name), c->fapl) > 0, BKT_EUNSUP,
                    "%s is a domain, whose chunk objects hold several samples each; get the domains as "
                    "plain files "
                    "(h5bucket get) to load a column of them",
                    bkt_buf_str(&name));
    }
    return rc;
}

static int add_all(struct column *c, struct bkt_err *err)
{
    const char *data = NULL;
    for (size_t i = 0, k; i < c->n_stored; i += k) {
        const struct h5bucket_record *r = &c->items[i].r;
        struct source *src = NULL;
        for (k = 1; i + k < c->n_stored && strcmp(c->items[i + k].r.uid, r->uid) == 0;)
            k++;
        BKT_TRY(err, open_source(c, r, &data, &src, err), "file 0%d/%s", r->format, r->uid);
        int rc = add_file(c, src, &c->items[i], k, err);
        if (rc == BKT_OK && !c->first_src)
            c->first_src = src;
        else
            source_close(src);
        BKT_FAIL_IF(err, rc < 0, rc, "file 0%d/%s", r->format, r->uid);
    }
    return BKT_OK;
}

/* ---- the domain ---- */

/* The shape of the dataset and of its chunks. */
static unsigned shape_of(const struct column *c, hsize_t dims[BKT_MAX_RANK], uint64_t cdims[BKT_MAX_RANK])
{
    const struct h5bucket_record *r = &c->lead;
    uint64_t n      = 1;
    bool     flat   = r->format == 0 && c->rank == 2;
    bool as_one =
        c->fixed && bkt_sample_record_elements(r, &n) && flat && c->per_sample == 1 && n == c->dims[1];
    unsigned rank   = as_one ? (unsigned)r->rank + 1 : c->rank;
    bool     exact  = c->fixed && !flat && c->rank == (unsigned)r->rank + 1;
    dims[0]  = c->n;
    cdims[0] = 1;
    for (unsigned d = 1; d < rank; d++) {
        dims[d]  = as_one || exact ? r->shape[d - 1] : c->dims[d];
        cdims[d] = as_one ? r->shape[d - 1] : c->cdims[d];
    }
    /* As many chunks as the collection has, or the table's rows have other places. */
    for (unsigned d = 1; d < rank && exact; d++)
        if (dims[d] < cdims[d] || bkt_ceil_div(dims[d], cdims[d]) != c->grid[d]) {
            memcpy(dims + 1, c->dims + 1, (rank - 1) * sizeof *dims);
            break;
        }
    return rank;
}

static int make_samples(struct column *c, bool *shapes, struct bkt_err *err)
{
    hsize_t dims[BKT_MAX_RANK];
    uint64_t cdims[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    unsigned rank = shape_of(c, dims, cdims);
    *shapes = rank != (unsigned)c->sample_rank + 1;
    for (unsigned d = 0; d < rank; d++) {
        grid[d] = bkt_ceil_div(dims[d], cdims[d]);
        *shapes |= d > 0 && d <= (unsigned)c->sample_rank && (!c->fixed || dims[d] != c->lead.shape[d - 1]);
    }
    struct load_rows rows = {c->n_rows, load_row_at, c->rows};
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple((int)rank, dims, NULL);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Pcopy(c->dcpl);
    if (space < 0 || dcpl < 0 || H5Pset_chunk(dcpl, (int)rank, cdims) < 0)
        return h5_fail(err, "making the dataset of samples");
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = bkt_filters_create(c->l->dst, "samples", c->type, space, H5P_DEFAULT, dcpl, c->first);
    if (dset < 0)
        return h5_fail(err, "making the dataset of samples");
    const int agree = bkt_filters_agree(dset, c->first, err);
    BKT_PASS(agree);
    BKT_FAIL_IF(err, !agree, BKT_EUNSUP, "its filters get other parameters in a dataset of this shape");
    qsort(c->rows, c->n_rows, sizeof *c->rows, bkt_by_u64);
    struct load_grid g = {rank, cdims, grid, grid};
    return load_link_rows(c->l, dset, &g, &rows, err);
}

static int make_shapes(const struct column *c, struct bkt_err *err)
{
    const hsize_t                   dims[2] = {c->n, (hsize_t)c->sample_rank};
    size_t                          width   = (size_t)c->sample_rank;
    BKT_CLEANUP(bkt_freep) int64_t *v       = calloc(c->n * width + 1, sizeof *v);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(2, dims, NULL);
    BKT_NEED(err, v);
    for (size_t i = 0; i < c->n; i++)
        for (size_t d = 0; d < width; d++)
            v[c->items[i].at * width + d] = (int64_t)c->items[i].r.shape[d];
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = H5Dcreate2(c->l->dst, "shapes", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dset < 0 || (width && H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0))
        return h5_fail(err, "making the dataset of shapes");
    return BKT_OK;
}

static int make_names(const struct column *c, struct bkt_err *err)
{
    const hsize_t                n     = c->n;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &n, NULL);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(H5T_C_S1);
    BKT_CLEANUP(bkt_freep) char *v     = NULL;
    size_t                       size  = 1;
    for (size_t i = 0; i < c->n; i++) {
        size_t len = strlen(strchr(c->sel.names.v[i], '/') + 1);
        size = len > size ? len : size;
    }
    v = calloc(c->n ? c->n : 1, size);
    BKT_NEED(err, v);
    for (size_t i = 0; i < c->n; i++) {
        const char *name = strchr(c->sel.names.v[i], '/') + 1;
        memcpy(v + i * size, name, strlen(name));
    }
    if (H5Tset_size(type, size) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)
        return h5_fail(err, "making the names' type");
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = H5Dcreate2(c->l->dst, "names", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dset < 0 || H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
        return h5_fail(err, "making the dataset of names");
    return BKT_OK;
}

static int make_all(struct column *c, struct bkt_err *err)
{
    bool shapes = false;
    BKT_PASS(add_all(c, err));
    BKT_PASS(make_samples(c, &shapes, err));
    if (shapes)
        BKT_PASS(make_shapes(c, err));
    return make_names(c, err);
}

static int fill(void *column, struct bkt_err *err)
{
    struct column *c = column;
    BKT_TRY(err, make_all(c, err), "column %s", c->name);
    return BKT_OK;
}

int load_column(struct load_job *l, const char *repository, const char *column, const char *domain,
                hid_t fapl, struct bkt_err *err)
{
    BKT_CLEANUP(fini) struct column     c = {.l = l, .repository = repository, .name = column, .fapl = fapl,
                                             .type = -1, .dcpl = -1, .first = -1};
    BKT_TRY(err, find_samples(&c, err), "column %s", column);
    return load_made(l, domain, fapl, fill, &c, err);
}
