/* One source into one domain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/edit.h"
#include "tools/bucket/bucket_names.h"
#include "tools/bucket/snapshots.h"
#include "tools/load/flatten_vds.h"
#include "tools/load/load_domain.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/rebuild.h"
#include "vol/copy/copier.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/open/pointer_leave.h"
#include "vol/vfd/store_driver.h"

int load_map_read(const char *name, const struct bkt_settings *set, struct bkt_chunk_map *out,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_store_closep) struct bkt_store *st = NULL;
    BKT_CLEANUP(bkt_freep) char             *uri  = source_uri(name);
    BKT_CLEANUP(bkt_freep) char             *key  = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    BKT_NEED(err, uri);
    BKT_PASS(bkt_vfd_open_store(uri, set, &st, &key, err));
    uint64_t size = 0;
    BKT_TRY(err, bkt_store_head(st, key, &size, err), "%s", name);
    if (size) /* by a range, since the size of objects that others wrote is limited */
        BKT_TRY(err, bkt_store_get(st, key, 0, size, &json, err), "%s", name);
    BKT_TRY(err, bkt_chunk_map_parse(json.ptr, json.len, out, err), "%s", name);
    return BKT_OK;
}

/* ---- a dataset's survey ---- */

static int take_segments(const struct bkt_map_dset *d, struct survey *s, struct bkt_err *err)
{
    s->segs = calloc(d->n_segs + 1, sizeof *s->segs);
    BKT_NEED(err, s->segs);
    for (size_t i = 0; i < d->n_segs; i++) {
        char *uri = d->segs[i].file_uri ? source_uri(d->segs[i].file_uri) : NULL;
        if (d->segs[i].file_uri && bkt_strs_take(&s->names, uri) < 0)
            BKT_NOMEM(err);
        s->segs[s->n_segs++] = (struct source_seg){uri, "", d->segs[i].offset, d->segs[i].size};
    }
    return BKT_OK;
}

int load_map_survey(const struct bkt_map_dset *d, struct survey *s, struct bkt_err *err)
{
    memset(s, 0, sizeof *s);
    s->kind = d->kind;
    s->rank = d->space.rank;
    memcpy(s->dims, d->space.dims, sizeof s->dims);
    memcpy(s->cdims, d->cdims, sizeof s->cdims);
    memcpy(s->grid, d->grid, sizeof s->grid);
    s->addr = d->offset, s->size = d->size;
    if (d->kind == BKT_MAP_EXTERNAL)
        return take_segments(d, s, err);
    if (d->kind != BKT_MAP_CHUNKED)
        return BKT_OK;
    s->chunks = calloc(d->n_chunks + 1, sizeof *s->chunks);
    BKT_NEED(err, s->chunks);
    memcpy(s->chunks, d->chunks, d->n_chunks * sizeof *s->chunks);
    s->n_chunks = d->n_chunks;
    s->kind     = s->n_chunks ? BKT_MAP_CHUNKED : BKT_MAP_NONE;
    return BKT_OK;
}

/* ---- a domain of the map alone ---- */

static int load_map_source(const struct bkt_chunk_map *m, const struct bkt_settings *set, struct source **out,
                    struct bkt_err *err)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s || !(s->name = strdup("chunk map")) || !(s->parts = calloc(m->n_files + 1, sizeof *s->parts))) {
        source_close(s);
        BKT_NOMEM(err);
    }
    s->set  = set;
    s->file = s->fapl = H5I_INVALID_HID;
    *out    = s;
    for (size_t i = 0; i < m->n_files; i++) {
        const struct bkt_map_file *f    = &m->files[i];
        bool                       last = i + 1 == m->n_files;
        struct source_part        *p    = &s->parts[s->n_parts++];
        *p = (struct source_part){.uri = source_uri(f->uri), .start = f->start, .file_size = f->size,
                                  .size = last ? UINT64_MAX - f->start : m->files[i + 1].start - f->start};
        (void)snprintf(p->etag, sizeof p->etag, "%s", f->etag ? f->etag : "");
        BKT_NEED(err, p->uri);
    }
    return BKT_OK;
}

static int make_dataset(struct load_job *l, const struct bkt_map_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s     = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID, dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    BKT_FAIL_IF(err, !d->type.len || !d->creation.len, BKT_EFORMAT,
                "the map has neither type nor creation list; name the file as well");
    BKT_PASS(bkt_rebuild_encoded_type(&d->type, &type, err));
    BKT_PASS(bkt_rebuild_encoded_dcpl(&d->creation, &dcpl, err));
    if (H5Pset_create_intermediate_group(lcpl, 1) < 0)
        return h5_fail(err, "making a link creation list");
    BKT_PASS(bkt_convert_space(&d->space, &space, err));
    BKT_PASS(load_map_survey(d, &s, err));
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dst = bkt_filters_create(l->dst, d->path, type, space, lcpl, dcpl, H5I_INVALID_HID);
    if (dst < 0)
        return h5_fail(err, "making a dataset");
    int rc = load_link_survey(l, &s, d->item_size, dst, d->path, err);
    if (rc == 0)
        load_report(l, d->path, "no data: they can't be referred to, and no file is given to copy them from");
    progress_add(l->progress, 0, 0, 1);
    return rc < 0 ? rc : BKT_OK;
}

/* Make all datasets of l->map, with the groups above them. */
static int load_map_all(struct load_job *l, struct bkt_err *err)
{
    for (size_t i = 0; i < l->map->n_dsets; i++)
        BKT_TRY(err, make_dataset(l, &l->map->dsets[i], err), "%s", l->map->dsets[i].path);
    return BKT_OK;
}

void load_report(void *arg, const char *path, const char *what)
{
    struct load_job *l = arg;
    progress_note(l->progress, "%s: %s", path, what);
}

/* ---- hooks of the copier ---- */

static int shape(void *arg, hid_t src, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err)
{
    struct load_job *l = arg;
    BKT_PASS(interrupt_check(err));
    if (!l->o->flatten || l->o->no_data || l->src->file < 0)
        return BKT_OK;
    return load_flat_shape(l, src, path, space, dcpl, err);
}

/* Counts the remaining work for the time to go: objects, and bytes that are copied. */
static herr_t count_work(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    const struct load_job *l = arg;
    l->progress->total += PROGRESS_OBJECT;
    if (info->type == H5O_TYPE_DATASET && !l->o->link && !l->o->no_data) {
        BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
        l->progress->total += dset < 0 ? 0 : H5Dget_storage_size(dset);
    }
    return interrupt_check(NULL) < 0;
}

static void expect(struct load_job *l)
{
    if (l->progress->tty && l->src->file >= 0)
        (void)H5Ovisit3(l->src->file, H5_INDEX_NAME, H5_ITER_NATIVE, count_work, l, H5O_INFO_BASIC);
    (void)H5Eclear2(H5E_DEFAULT);
}

static int data(void *arg, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    struct load_job *l = arg;
    BKT_PASS(interrupt_check(err));
    if (l->progress->tty && !l->o->link)
        l->due = l->progress->bytes + H5Dget_storage_size(src);
    int rc = l->flat ? load_flat_link(l, dst, path, err) : l->o->link ? load_link(l, src, dst, path, err) : 0;
    if (rc == 0) {
        rc = load_shared_wait(l, src, dst, path, err);
        rc = rc ? rc : load_chunks(l, src, dst, path, err);
        l->n_copied += rc >= 0;
    }
    return rc;
}

static void done(void *arg, const char *path, H5I_type_t type)
{
    struct load_job *l = arg;
    uint64_t rest = l->due > l->progress->bytes ? l->due - l->progress->bytes
                                                : 0; /* copied by elements: not counted yet */
    progress_add(l->progress, rest, 0, 1);
    if (type == H5I_DATASET)
        progress_line(l->progress, "%s", path);
}

static void left_out(void *arg, const char *path, const char *attr, const struct bkt_err *why)
{
    struct load_job *l = arg;
    l->n_left_out++;
    progress_note(l->progress, "%s%s%s: left out: %s%s%s", path, attr ? ": attribute " : "", attr ? attr : "",
                  why->n > 1 ? why->frame[1].msg : "", why->n > 1 ? ": " : "",
                  why->n ? why->frame[0].msg : "it can't be read");
}

/* ---- what an interrupted load left ---- */

/* Deletes the objects of a domain that was never completed. */
static void sweep(struct bkt_store *st, const struct bkt_id *root)
{
    if (bkt_id_is_v2(root) && bkt_remove_tree(st, root, NULL) < 0)
        bkt_trace(BKT_TRACE_STORE, "objects of an interrupted load below %s could not be deleted",
                  root->text);
}

/* Beside .domain.json, or where it will be: the root id of a load that has begun, or the journal of an
 * append. */
static int journal_key(struct bkt_domain *d, struct bkt_buf *key)
{
    return bkt_buf_addf(key, "%s/" BKT_LOAD_JOURNAL, bkt_domain_path(d));
}

int load_journal_read(struct load_job *l, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, journal_key(l->file->dom, &key));
    int rc = bkt_store_get(bkt_domain_store(l->file->dom), bkt_buf_str(&key), 0, BKT_WHOLE, out, err);
    if (rc != BKT_ENOENT && rc != BKT_EACCES) /* S3 refuses a missing key to users who may not list */
        return rc;
    bkt_err_clear(err);
    return BKT_OK;
}

int load_journal_write(struct load_job *l, const char *text, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, journal_key(l->file->dom, &key));
    l->journal = true;
    return bkt_store_put(bkt_domain_store(l->file->dom), bkt_buf_str(&key), text, strlen(text), NULL, NULL,
                         NULL, err);
}

/* Whether a stored document names that root: then its load was killed after all was stored. */
static bool is_in_force(struct bkt_domain *d, const struct bkt_id *root)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, doc = {0};
    if (bkt_domain_doc_key(bkt_domain_path(d), &key) < 0)
        return true;
    int rc = bkt_store_get(bkt_domain_store(d), bkt_buf_str(&key), 0, BKT_WHOLE, &doc, NULL);
    return rc == BKT_OK ? strstr(bkt_buf_str(&doc), root->text) != NULL : rc != BKT_ENOENT;
}

static int begin_new(struct load_job *l, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf old = {0};
    struct bkt_id                            left;
    BKT_PASS(load_journal_read(l, &old, err));
    if (bkt_id_set(&left, bkt_buf_str(&old)) && !is_in_force(l->file->dom, &left))
        sweep(bkt_domain_store(l->file->dom), &left); /* its load never finished: nothing refers to its
                                                         objects */
    return load_journal_write(l, bkt_domain_root(l->file->dom)->text, err);
}

static void journal_drop(struct bkt_domain *d)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (journal_key(d, &key) < 0 || bkt_key_delete(bkt_domain_store(d), bkt_buf_str(&key), NULL) < 0)
        bkt_trace(BKT_TRACE_STORE, "%s could not be deleted", bkt_buf_str(&key));
}

static bool wants_snapshot(const struct load_job *l)
{
    struct bkt_domain *d = l->file->dom;
    const char        *use = bkt_domain_settings(d)->snapshot;
    return !l->o->no_snapshot && !(use && strcmp(use, "no") == 0) && bkt_id_is_v2(bkt_domain_root(d)) &&
           !bkt_store_is_local(bkt_domain_store(d));
}

/* ---- opening ---- */

/* The bytes before the first byte of HDF5. */
static int copy_user_block(struct load_job *l, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    BKT_CLEANUP(bkt_hid_closep)
    hid_t fcpl = l->src->file < 0 ? H5I_INVALID_HID : H5Fget_create_plist(l->src->file);
    hsize_t                                  size  = 0;
    if (l->src->file >= 0 && (fcpl < 0 || H5Pget_userblock(fcpl, &size) < 0))
        return h5_fail(err, "asking for the size of the user block");
    if (size == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, size > BKT_USERBLOCK_MAX, BKT_EUNSUP,
                "%s: its user block has %llu bytes; a domain's has at most %u", l->src->name,
                (unsigned long long)size, BKT_USERBLOCK_MAX);
    BKT_PASS_MEM(err, bkt_buf_resize(&bytes, (size_t)size));
    struct source_read all = {0, size, bytes.ptr};
    BKT_TRY(err, source_read(l->src, &all, 1, err), "%s: its user block can't be read", l->src->name);
    return bkt_file_user_block_set(l->file->name, l->file->dom, size, &bytes, err);
}

static int create(struct load_job *l, const char *domain, hid_t fapl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t fcpl = l->src->file < 0 ? H5Pcreate(H5P_FILE_CREATE) : h5_creation_list(l->src->file);
    if (fcpl < 0)
        return h5_fail(err, "asking for the file's creation list");
    l->dst = H5Fcreate(domain, l->o->force ? H5F_ACC_TRUNC : H5F_ACC_EXCL, fcpl, fapl);
    if (l->dst >= 0)
        return BKT_OK;
    int rc = h5_fail(err, domain);
    if (!l->o->force && bkt_domain_probe(domain, l->set, NULL) == 1) {
        bkt_err_clear(err);
        BKT_FAIL(err, BKT_EEXIST, "%s exists; --force replaces it, --append adds to it", domain);
    }
    return rc;
}

int load_target(struct load_job *l, const char *domain, hid_t fapl, bool *is_new, struct bkt_err *err)
{
    l->dst = l->o->append ? H5Fopen(domain, H5F_ACC_RDWR, fapl) : H5I_INVALID_HID;
    (void)H5Eclear2(H5E_DEFAULT);
    *is_new = l->dst < 0;
    if (*is_new)
        BKT_PASS(create(l, domain, fapl, err));
    l->file = bkt_vobj_of_id(l->dst)->file;
    if (wants_snapshot(l))
        bkt_domain_record(l->file->dom);
    if (!*is_new)
        return BKT_OK;
    BKT_PASS(begin_new(l, err));
    return copy_user_block(l, err);
}

struct bkt_copier_options load_copier_options(struct load_job *l)
{
    return (struct bkt_copier_options){.hooks = {.arg = l,
                                                 .fail = h5_fail,
                                                 .check = interrupt_check,
                                                 .shape = shape,
                                                 .data = data,
                                                 .report = load_report,
                                                 .open_beside = load_open_beside,
                                                 .connector = h5_start,
                                                 .done = done,
                                                 .left_out = l->o->ignore ? left_out : NULL},
                                       .refs = BKT_REFS_FOLLOW,
                                       .no_data = l->o->no_data};
}

static int copy_all(struct load_job *l, struct bkt_err *err)
{
    struct bkt_copier_options o = load_copier_options(l);
    o.merge               = l->o->append;
    expect(l);
    return l->src->file < 0 ? load_map_all(l, err) : bkt_copier_tree(l->src->file, l->dst, &o, err);
}

/* A load that failed half-way must not appear. */
static void abandon(struct load_job *l, bool is_new)
{
    struct bkt_domain *d    = bkt_domain_retain(l->file->dom);
    struct bkt_id      root = *bkt_domain_root(d);
    bkt_domain_discard(d);
    bkt_hid_closep(&l->dst);
    if (is_new)
        sweep(bkt_domain_store(d), &root);
    if (l->journal)
        journal_drop(d);
    bkt_domain_close(d);
}

/* ---- the snapshot ---- */

/* Makes a snapshot if it pays for a reader of all of a new domain.  An existing snapshot is renewed, since
 * the load has changed the domain.  The domain is stored already, so failing to make a snapshot is only a
 * warning. */
static void take_snapshot(struct load_job *l, bool is_new)
{
    struct bkt_domain   *d   = l->file->dom;
    struct bkt_err       err = {.n = 0};
    struct snapshot_report reported;
    struct snapshot_domain of = {bkt_domain_store(d), bkt_domain_path(d), bkt_domain_root(d)};
    size_t               n = bkt_domain_n_recorded(d);
    if (is_new ? !bkt_snapshot_pays(n, 0) : !bkt_domain_doc(d)->snapshot.objects)
        return;
    int rc = snapshot_make(&of, d, !is_new, is_new ? n : 0, &reported, &err);
    if (rc == BKT_OK)
        bkt_trace(BKT_TRACE_STORE, "snapshot of %llu objects, %llu of them read again",
                  (unsigned long long)reported.n_objects, (unsigned long long)reported.n_read);
    else if (rc != BKT_ECANCEL && rc != BKT_EUNSUP) /* no warning if it doesn't pay or would be too large */
        progress_note(l->progress, "h5bucket: %s: loaded, but without a snapshot: %s", bkt_domain_path(d),
                      bkt_err_reason(&err, rc));
}

static int finish(struct load_job *l, bool is_new, struct bkt_err *err)
{
    if (H5Fflush(l->dst, H5F_SCOPE_GLOBAL) < 0) {
        int rc     = h5_fail(err, "storing the domain");
        l->journal = l->journal && is_new; /* some of an append may be stored: the journal restores the
                                              earlier extents */
        abandon(l, is_new);
        return rc;
    }
    if (l->journal)
        journal_drop(l->file->dom);
    if (wants_snapshot(l))
        take_snapshot(l, is_new);
    bkt_hid_closep(&l->dst);
    return BKT_OK;
}

int load_end(struct load_job *l, int rc, bool is_new, struct bkt_err *err)
{
    if (rc == BKT_OK)
        rc = finish(l, is_new, err);
    else if (l->dst >= 0 && l->file)
        abandon(l, is_new);
    source_close(l->src);
    return rc;
}

int load_made(struct load_job *l, const char *domain, hid_t fapl, int (*fill)(void *arg, struct bkt_err *err),
              void *arg, struct bkt_err *err)
{
    static const struct bkt_chunk_map nothing = {0};
    bool is_new = true;
    int  rc     = load_map_source(&nothing, l->set, &l->src, err);
    rc = rc ? rc : load_target(l, domain, fapl, &is_new, err);
    rc = rc ? rc : fill(arg, err);
    return load_end(l, rc, is_new, err);
}

int load_one(struct load_job *l, const char *source, const char *domain, hid_t fapl, struct bkt_err *err)
{
    bool is_new = true;
    int rc = source ? source_open(source, l->o->driver, l->set, &l->src, err)
                    : load_map_source(l->map, l->set, &l->src, err);
    rc = rc ? rc : load_target(l, domain, fapl, &is_new, err);
    rc = rc ? rc : load_shared_begin(l, is_new, err);
    rc = rc ? rc : copy_all(l, err);
    rc = rc ? rc : load_shared_share(l, err);
    load_shared_free(l->shared);
    load_flat_free(l->flat);
    return load_end(l, rc, is_new, err);
}
