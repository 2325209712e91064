/* load --link: a dataset's layout becomes references to where its bytes lie. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "schema/edit/edit.h"
#include "tools/load/load_domain.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver.h"

/* ---- names of files, in a domain's references and in HDF5's own ---- */

/* Names a file in the domain's own bucket by the form that HSDS knows as well: bucket/key. */
static int in_own(const char *own, const char *uri, char **out)
{
    size_t n = strlen(own);
    if (strncmp(own, "file://", 7) != 0 || strncmp(uri, own, n) != 0 || uri[n] != '/')
        return 0;
    const char *name = strrchr(own, '/') + 1;
    *out             = strdup(uri + (name - own));
    return *out ? 1 : BKT_ENOMEM;
}

/* If a reader with these settings may not follow the reference, prints once how to allow it.  A URI that no
 * reader can follow is an error. */
static int check_reader(struct load_job *l, const char *uri, struct bkt_err *err)
{
    struct bkt_err               why   = {.n = 0};
    struct bkt_store            *store = NULL;
    BKT_CLEANUP(bkt_freep) char *key   = NULL;
    int rc = bkt_domain_resolve_uri(l->file->dom, uri, &store, &key, &why);
    if (rc == BKT_EINVAL)
        return bkt_err_copy(err, rc, &why);
    if (l->reported_allow || rc != BKT_EACCES)
        return BKT_OK;
    const char *slash = strrchr(uri, '/'), *bucket = strstr(uri, "://");
    bucket            = bucket ? strchr(bucket + 3, '/') : NULL;
    size_t n = strncmp(uri, "file:", 5) == 0 || !bucket ? (size_t)(slash - uri) : (size_t)(bucket - uri);
    progress_note(l->progress, "note: the domain refers to %s; its readers must set H5BUCKET_ALLOW=%.*s", uri,
                  (int)n, uri);
    l->reported_allow = true;
    return BKT_OK;
}

int load_file_uri(struct load_job *l, const char *uri, char **out, struct bkt_err *err)
{
    const struct bkt_store *st = bkt_domain_store(l->file->dom);
    const char *own = bkt_store_uri(st);
    if (l->o->link_path && l->src->n_parts == 1 &&
        strcmp(uri, l->src->parts[0].uri) == 0) /* not for files that the source refers to */
        uri = l->o->link_path;
    int rc = in_own(own, uri, out);
    BKT_PASS_MEM(err, rc);
    BKT_FAIL_IF(err, strncasecmp(uri, "file:///", 8) == 0 && !bkt_store_is_directory(st), BKT_EACCES,
                "%s: a domain in %s can't refer to a local file; put the file into a bucket first, "
                "give its future name by --linkpath, or load without --link",
                uri, own);
    if (rc == 0 && !(*out = strdup(uri)))
        BKT_NOMEM(err);
    rc = check_reader(l, *out, err);
    if (rc < 0) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static int open_as(struct load_job *l, const char *name, hid_t *out, struct bkt_err *err)
{
    struct source *s = NULL;
    BKT_PASS(source_open(name, NULL, l->set, &s, err));
    *out   = s->file;
    int rc = H5Iinc_ref(s->file) < 0 ? h5_fail(err, name) : BKT_OK;
    source_close(s);
    return rc;
}

/* Looks beside the source, and on this machine also where HDF5 would look.  A source elsewhere never makes
 * the tool open a file of another place [I2]. */
int load_open_beside(void *load, const char *name, hid_t *out, struct bkt_err *err)
{
    struct load_job *l = load;
    const char *path = bkt_name_local_path(l->src->name), *from = path ? path : l->src->name;
    bool local = !bkt_vfd_takes(from);
    const char  *slash = strrchr(from, '/');
    BKT_FAIL_IF(err, bkt_vfd_takes(name) || (*name == '/' && !local), BKT_EACCES,
                "%s isn't opened for what %s refers to", name, from);
    if (*name == '/')
        return open_as(l, name, out, err);
    BKT_CLEANUP(bkt_freep) char *beside = NULL;
    struct bkt_err               first  = {.n = 0};
    BKT_PASS_MEM(err, asprintf(&beside, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, name));
    int rc = open_as(l, beside, out, &first);
    return rc == BKT_OK || (local && open_as(l, name, out, NULL) == BKT_OK) ? BKT_OK
                                                                            : bkt_err_copy(err, rc, &first);
}

/* ---- references ---- */

#define LISTED_MAX                                                                                           \
    256 /* chunks that are listed in the layout itself, 8 KiB of JSON: a table costs a reader two round      \
           trips */

int load_part_uris(struct load_job *l, const struct source *s, struct bkt_strs *out, struct bkt_err *err)
{
    for (size_t k = 0; k < s->n_parts; k++) {
        char *uri = NULL;
        BKT_PASS(load_file_uri(l, s->parts[k].uri, &uri, err));
        BKT_PASS_MEM(err, bkt_strs_take(out, uri));
    }
    return BKT_OK;
}

/* No chunk of a new dataset is stored yet, so its layout can still change. */
static int new_dset(const struct load_job *l, hid_t dst, struct bkt_dset **out, struct bkt_err *err)
{
    struct bkt_object *o = bkt_edit_new_object(l->file->dom, &bkt_vobj_of_id(dst)->obj->id);
    BKT_FAIL_IF(err, !o || o->kind != BKT_DATASET, BKT_EINVAL, "the dataset is stored already");
    *out = &o->dset;
    return BKT_OK;
}

static char *dup_or_null(const char *s) { return s && *s ? strdup(s) : NULL; }

static int set_segments(struct load_job *l, struct bkt_layout *lay, const struct source_seg *segs, size_t n,
                        struct bkt_err *err)
{
    lay->segments = calloc(n + 1, sizeof *lay->segments);
    BKT_NEED(err, lay->segments);
    for (size_t i = 0; i < n; i++) {
        struct bkt_segment *s = &lay->segments[lay->n_segments++];
        s->offset = segs[i].off, s->size = segs[i].size;
        s->etag = dup_or_null(segs[i].etag);
        if (segs[i].uri)
            BKT_PASS(load_file_uri(l, segs[i].uri, &s->file_uri, err));
    }
    return BKT_OK;
}

static int link_pieces(struct load_job *l, const struct source_seg *segs, size_t n, uint64_t size, hid_t dst,
                       struct bkt_err *err)
{
    struct bkt_dset *ds;
    BKT_PASS(new_dset(l, dst, &ds, err));
    struct bkt_layout *lay = &ds->layout;
    lay->cls               = BKT_D_CONTIGUOUS_REF;
    lay->size              = size;
    lay->hdf5_chunks       = false;
    if (n != 1 || !segs[0].uri)
        return set_segments(l, lay, segs, n, err);
    lay->offset    = segs[0].off;
    lay->file_etag = dup_or_null(segs[0].etag);
    return load_file_uri(l, segs[0].uri, &lay->file_uri, err);
}

static int link_contiguous(struct load_job *l, const struct survey *s, hid_t dst, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct source_seg *segs = NULL;
    size_t                                    n    = 0;
    BKT_PASS(source_map(l->src, s->addr, s->size, &segs, &n, err));
    return link_pieces(l, segs, n, s->size, dst, err);
}

/* ---- chunked ---- */

/* If chunks lie in two files at once, their offsets count in all files joined. */
static int link_joined(struct load_job *l, struct bkt_layout *lay, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct source_seg *segs = calloc(2 * l->src->n_parts + 1, sizeof *segs);
    size_t                                    n    = 0;
    BKT_NEED(err, segs);
    for (size_t i = 0; i < l->src->n_parts; i++) {
        const struct source_part *p    = &l->src->parts[i];
        bool                      last = i + 1 == l->src->n_parts;
        uint64_t                  used = bkt_min_u64(p->file_size, p->size);
        segs[n++] = (struct source_seg){p->uri, p->etag, 0, used};
        if (!last && used < p->size)
            segs[n++] = (struct source_seg){NULL, NULL, 0, p->size - used};
    }
    return set_segments(l, lay, segs, n, err);
}

struct placed { /* the places of a dataset's chunks in the source's files */
    const struct survey      *s;
    const struct source      *src;
    bool                      straddle, several;
    const struct source_part *only;
    struct bkt_strs           names; /* names of the parts in the domain, if there are several */
};

static void get_row(void *arg, size_t i, struct load_row *out)
{
    const struct placed       *p  = arg;
    const struct bkt_file_chunk *c = &p->s->chunks[i];
    const struct source_part *at = p->straddle ? NULL : source_part_of(p->src, c->offset, c->size);
    *out = (struct load_row){c->index, at ? c->offset - at->start : c->offset, c->size, c->mask, NULL, NULL};
    if (at && p->several) {
        out->uri  = p->names.v[at - p->src->parts];
        out->etag = at->etag;
    }
}

static void placed_fini(struct placed *p) { bkt_strs_fini(&p->names); }

static int list_chunks(struct bkt_layout *lay, struct placed *p, struct bkt_err *err)
{
    const struct survey *s = p->s;
    lay->cls               = BKT_D_CHUNKED_REF;
    lay->chunks            = calloc(s->n_chunks + 1, sizeof *lay->chunks);
    lay->chunk_coords      = calloc(s->n_chunks * s->rank + 1, sizeof *lay->chunk_coords);
    BKT_NEED(err, lay->chunks && lay->chunk_coords);
    for (size_t i = 0; i < s->n_chunks; i++) {
        struct load_row r;
        get_row(p, i, &r);
        lay->chunks[i] = (struct bkt_chunk_ref){r.off, r.size, r.mask};
        for (unsigned d = s->rank; d-- > 0; r.index /= s->grid[d])
            lay->chunk_coords[i * s->rank + d] = r.index % s->grid[d];
    }
    lay->n_chunks = s->n_chunks;
    return BKT_OK;
}

static int place(const struct load_job *l, const struct survey *s, struct placed *p, struct bkt_err *err)
{
    for (size_t i = 0; i < s->n_chunks; i++) {
        const struct source_part *at = source_part_of(l->src, s->chunks[i].offset, s->chunks[i].size);
        p->straddle |= !at;
        p->several |= at && p->only && at != p->only;
        p->only = at ? at : p->only;
    }
    BKT_FAIL_IF(err, p->straddle && l->src->parts[0].start != 0, BKT_EUNSUP,
                "a chunk lies in two files that don't follow each other");
    return BKT_OK;
}

static int table_of(struct load_job *l, struct placed *p, const struct bkt_dset *ds, struct bkt_id *id,
                    struct bkt_err *err)
{
    const struct survey *s = p->s;
    struct load_rows     rows = {s->n_chunks, get_row, p};
    uint64_t max[BKT_MAX_RANK];
    struct load_grid g = {s->rank, s->cdims, s->grid, max};
    for (unsigned d = 0; d < s->rank; d++)
        max[d] = ds->space.maxdims[d] == BKT_UNLIMITED ? BKT_UNLIMITED
                                                       : bkt_ceil_div(ds->space.maxdims[d], s->cdims[d]);
    if (p->several)
        BKT_PASS(load_part_uris(l, l->src, &p->names, err));
    return load_table(l, &g, &rows, id, err);
}

static int link_chunked(struct load_job *l, const struct survey *s, hid_t dst, struct bkt_err *err)
{
    BKT_CLEANUP(placed_fini) struct placed p = {.s = s, .src = l->src};
    struct bkt_id    id = {.text = ""};
    struct bkt_dset *ds;
    BKT_PASS(new_dset(l, dst, &ds, err));
    BKT_PASS(place(l, s, &p, err));
    bool table = s->n_chunks > LISTED_MAX || (p.several && !p.straddle) || l->o->extend;
    if (table)
        BKT_PASS(table_of(l, &p, ds, &id, err));
    BKT_PASS(new_dset(l, dst, &ds, err));
    struct bkt_layout *lay = &ds->layout;
    load_set_table(lay, &(struct load_grid){.rank = s->rank, .cdims = s->cdims}, &id);
    if (p.straddle) {
        BKT_PASS(link_joined(l, lay, err));
    } else if (!p.several && p.only) {
        lay->file_etag = dup_or_null(p.only->etag);
        BKT_PASS(load_file_uri(l, p.only->uri, &lay->file_uri, err));
    }
    return table ? BKT_OK : list_chunks(lay, &p, err);
}

int load_link_table(struct load_job *l, hid_t dst, const struct load_grid *g, const struct load_rows *rows,
                    struct bkt_err *err)
{
    struct bkt_id    id;
    struct bkt_dset *ds;
    BKT_PASS(new_dset(l, dst, &ds, err));
    BKT_PASS(load_table(l, g, rows, &id, err));
    BKT_PASS(new_dset(l, dst, &ds, err));
    load_set_table(&ds->layout, g, &id);
    return BKT_OK;
}

int load_link_rows(struct load_job *l, hid_t dst, const struct load_grid *g, const struct load_rows *rows,
                   struct bkt_err *err)
{
    BKT_PASS(load_link_table(l, dst, g, rows, err));
    l->n_linked++;
    progress_add(l->progress, 0, rows->n, 1);
    return BKT_OK;
}

int load_link_survey(struct load_job *l, const struct survey *s, size_t elem_size, hid_t dst,
                     const char *path, struct bkt_err *err)
{
    struct bkt_dset *ds;
    int              rc = BKT_OK;
    if (s->kind == BKT_MAP_NONE || s->kind == BKT_MAP_VIRTUAL)
        return 1;
    if (s->kind == BKT_MAP_COMPACT)
        return 0;
    BKT_PASS(new_dset(l, dst, &ds, err));
    if (ds->type->is_var || ds->type->size != elem_size) {
        load_report(l, path, "copied: a domain stores this type in another form");
        return 0;
    }
    uint64_t n;
    BKT_PASS(bkt_space_count(&ds->space, &n, err));
    if (s->kind == BKT_MAP_CHUNKED)
        rc = link_chunked(l, s, dst, err);
    else if (s->size != n * elem_size)
        return load_report(l, path, "copied: its storage and its elements differ in size"), 0;
    else if (s->kind == BKT_MAP_EXTERNAL)
        rc = link_pieces(l, s->segs, s->n_segs, s->size, dst, err);
    else
        rc = link_contiguous(l, s, dst, err);
    if (rc < 0)
        return rc;
    l->n_linked++;
    progress_add(l->progress, 0, s->n_chunks, 0);
    return 1;
}

int load_link(struct load_job *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s    = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    if (type < 0)
        return h5_unreadable(err, "asking for a datatype");
    const int agree = bkt_filters_agree(src, dst, err);
    BKT_PASS(agree);
    if (!agree) {
        load_report(l, path, "copied: HDF5 sets other filter parameters in the copy");
        return 0;
    }
    const struct bkt_map_dset *mapped = l->map ? bkt_chunk_map_find(l->map, path) : NULL;
    BKT_PASS(mapped ? load_map_survey(mapped, &s, err) : survey_dataset(l->src, src, &s, err));
    if (s.kind != BKT_MAP_NONE && s.kind != BKT_MAP_VIRTUAL && s.kind != BKT_MAP_COMPACT &&
        bkt_convert_has_pointers(type)) {
        load_report(l, path,
                    bkt_convert_is_var(type) ? "copied: variable-length values are in the file's heaps, and "
                                               "can't be referred to"
                                             : "copied: references to objects have another form in a domain");
        return 0;
    }
    return load_link_survey(l, &s, H5Tget_size(type), dst, path, err);
}

/* ---- by copy: stored chunks are read many at a time, and stored again as they are ---- */

/* Bytes of chunks in memory at once, besides those that the connector holds: fewer take longer, more take
 * more memory. */
#define BATCH_BYTES ((uint64_t)64 << 20)

struct batch {
    const struct bkt_file_chunk *chunks;
    size_t                     n;
    struct source_read        *reads;
    unsigned char             *bytes;
};

static void batch_fini(struct batch *b)
{
    free(b->reads);
    free(b->bytes);
}

static int read_batch(struct load_job *l, struct batch *b, struct bkt_err *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < b->n; i++)
        BKT_FAIL_IF(err, !bkt_add_u64(total, b->chunks[i].size, &total), BKT_EFORMAT,
                    "chunks of more than 2^64 bytes");
    b->reads = calloc(b->n + 1, sizeof *b->reads);
    b->bytes = malloc((size_t)total + 1);
    BKT_NEED(err, b->reads && b->bytes);
    uint64_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->reads[i] = (struct source_read){b->chunks[i].offset, b->chunks[i].size, b->bytes + at};
        at += b->chunks[i].size;
    }
    int rc = source_read(l->src, b->reads, b->n, err);
    return rc < 0 && rc != BKT_ENOMEM && rc != BKT_ECANCEL ? BKT_EFORMAT
                                                           : rc; /* unreadable, whatever the reason */
}

static herr_t write_chunk(const struct survey *s, hid_t dst, const struct bkt_file_chunk *c,
                          const void *bytes)
{
    hsize_t  offset[BKT_MAX_RANK];
    uint64_t left = c->index;
    for (unsigned d = s->rank; d-- > 0; left /= s->grid[d])
        offset[d] = left % s->grid[d] * s->cdims[d];
    return H5Dwrite_chunk(dst, H5P_DEFAULT, c->mask, offset, (size_t)c->size, bytes);
}

int load_move_chunks(struct load_job *l, const struct survey *s, hid_t dst, size_t at, size_t n,
                     struct bkt_err *err)
{
    BKT_CLEANUP(batch_fini) struct batch b = {.chunks = s->chunks + at, .n = n};
    BKT_PASS(read_batch(l, &b, err));
    for (size_t i = 0; i < n; i++)
        if (write_chunk(s, dst, &b.chunks[i], b.reads[i].to) < 0) {
            if (at + i == 0) { /* stored in another shape or form here: copied by elements */
                (void)H5Eclear2(H5E_DEFAULT);
                return 0;
            }
            return h5_fail(err, "storing a chunk");
        }
    return 1;
}

/* If data can't be copied because a file is missing, the copy keeps the reference to it. */
static int load_external(struct load_job *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    if (!s.missing)
        return 0;
    load_report(l, path, "not copied but linked: a file of its external data is missing");
    return load_link(l, src, dst, path, err);
}

int load_chunks(struct load_job *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s    = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(src);
    if (type < 0 || dcpl < 0)
        return h5_unreadable(err, "asking for a datatype");
    if (H5Pget_external_count(dcpl) > 0)
        return load_external(l, src, dst, path, err);
    if (H5Pget_layout(dcpl) != H5D_CHUNKED || bkt_convert_has_pointers(type))
        return 0;
    const int agree = bkt_filters_agree(src, dst, err);
    if (agree <= 0)
        return agree;
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    for (size_t i = 0; i < s.n_chunks;) {
        size_t   n     = 0;
        uint64_t bytes = 0;
        while (i + n < s.n_chunks && n < BKT_TOOL_BATCH &&
               (n == 0 || bytes + s.chunks[i + n].size <= BATCH_BYTES))
            bytes += s.chunks[i + n++].size;
        BKT_PASS(interrupt_check(err));
        int rc = load_move_chunks(l, &s, dst, i, n, err);
        if (rc <= 0)
            return rc;
        progress_add(l->progress, bytes, n, 0);
        i += n;
    }
    return 1;
}
