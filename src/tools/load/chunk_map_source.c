/* load --chunk-map: locations out of a JSON file (schema/json/chunk_locations.h) instead
 * of HDF5's own index. */
#include "tools/load/chunk_map_source.h"

#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"
#include "vol/convert/rebuild.h"
#include "vol/vfd/store_driver.h"

int load_map_read(const char *name, const struct bkt_settings *set, struct bkt_chunk_map *out,
                  struct bkt_err *err)
{
    struct bkt_store                        *st   = NULL;
    BKT_CLEANUP(bkt_freep) char             *uri  = source_uri(name);
    BKT_CLEANUP(bkt_freep) char             *key  = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    if (!uri)
        BKT_NOMEM(err);
    BKT_PASS(vfd_open_store(uri, set, &st, &key, err));
    uint64_t size = 0;
    int      rc   = bkt_store_head(st, key, &size, err);
    if (rc == BKT_OK && size) /* by a range, since the size of objects that others wrote is limited */
        rc = bkt_store_get(st, key, 0, size, &json, err);
    bkt_store_close(st);
    if (rc == BKT_OK)
        rc = bkt_chunk_map_parse(json.ptr, json.len, out, err);
    if (rc < 0)
        BKT_FAIL(err, rc, "%s", name);
    return BKT_OK;
}

/* ---- a dataset's survey ---- */

static int take_segments(const struct bkt_map_dset *d, struct survey *s, struct bkt_err *err)
{
    s->segs  = calloc(d->n_segs + 1, sizeof *s->segs);
    s->names = calloc(d->n_segs + 1, sizeof *s->names);
    if (!s->segs || !s->names)
        BKT_NOMEM(err);
    for (size_t i = 0; i < d->n_segs; i++) {
        if (d->segs[i].file_uri && !(s->names[s->n_names] = source_uri(d->segs[i].file_uri)))
            BKT_NOMEM(err);
        s->segs[s->n_segs++] = (struct source_seg){d->segs[i].file_uri ? s->names[s->n_names] : NULL, "",
                                                   d->segs[i].offset, d->segs[i].size};
        s->n_names += d->segs[i].file_uri != NULL;
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
    if (!s->chunks)
        BKT_NOMEM(err);
    for (size_t i = 0; i < d->n_chunks; i++) {
        const struct bkt_map_chunk *c = &d->chunks[i];
        s->has_masks |= c->mask != 0;
        s->chunks[i] = (struct survey_chunk){c->index, c->offset, c->size, c->mask};
    }
    s->n_chunks = d->n_chunks;
    s->kind     = s->n_chunks ? BKT_MAP_CHUNKED : BKT_MAP_NONE;
    return BKT_OK;
}

/* ---- a domain of the map alone ---- */

int load_map_source(const struct bkt_chunk_map *m, const struct bkt_settings *set, struct source **out,
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
        if (!p->uri)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int make_dataset(struct load *l, const struct bkt_map_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s     = {0};
    BKT_CLEANUP(h5_closep) hid_t           type  = H5I_INVALID_HID;
    BKT_CLEANUP(h5_closep) hid_t           dcpl  = H5I_INVALID_HID;
    BKT_CLEANUP(h5_closep) hid_t           lcpl  = H5Pcreate(H5P_LINK_CREATE);
    BKT_CLEANUP(h5_closep) hid_t           space = H5I_INVALID_HID;
    if (!d->type.len || !d->creation.len)
        BKT_FAIL(err, BKT_EFORMAT, "the map has neither type nor creation list; name the file as well");
    BKT_PASS(bkt_rebuild_encoded_type(&d->type, &type, err));
    BKT_PASS(bkt_rebuild_encoded_dcpl(&d->creation, &dcpl, err));
    if (H5Pset_create_intermediate_group(lcpl, 1) < 0)
        return h5_fail(err, "making a link creation list");
    BKT_PASS(bkt_convert_space(&d->space, &space, err));
    BKT_PASS(load_map_survey(d, &s, err));
    BKT_CLEANUP(h5_closep)
    hid_t dst = bkt_filters_create(l->dst, d->path, type, space, lcpl, dcpl, H5I_INVALID_HID);
    if (dst < 0)
        return h5_fail(err, "making a dataset");
    int rc = load_link_survey(l, &s, d->item_size, dst, d->path, err);
    if (rc == 0)
        load_tell(l, d->path, "no data: they can't be referred to, and no file is given to copy them from");
    progress_add(l->progress, 0, 0, 1);
    return rc < 0 ? rc : BKT_OK;
}

int load_map_all(struct load *l, struct bkt_err *err)
{
    for (size_t i = 0; i < l->map->n_dsets; i++)
        BKT_TRY(err, make_dataset(l, &l->map->dsets[i], err), "%s", l->map->dsets[i].path);
    return BKT_OK;
}
