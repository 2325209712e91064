#include "vol/dataset/fastlink_locator.h"

#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/plain/plain_chunks.h"
#include "base/num.h"
#include "base/trace.h"
#include "vol/vfd/store_driver.h"

struct found {
    const struct bkt_object *dset;
    struct bkt_found_chunk  *v;
    size_t                   n, cap;
};

/* The text behind @p option in "chunklocator --h5path=/d --filepath=x/f.h5 --bucket=b"; values may contain
 * blanks. */
static char *option_of(const char *words, const char *option)
{
    const char *at = strstr(words, option);
    if (!at)
        return NULL;
    at += strlen(option);
    const char *end = strstr(at, " --");
    return strndup(at, end ? (size_t)(end - at) : strlen(at));
}

/* Whether the whole table is stored, so that it needn't be made. */
static int is_stored(struct bkt_domain *dom, const struct bkt_object *table, bool *out, struct bkt_err *err)
{
    const struct bkt_dset *d    = &table->dset;
    uint64_t               want = 1, n = 0;
    for (unsigned i = 0; i < d->space.rank; i++)
        if (!bkt_mul_u64(want, bkt_ceil_div(d->space.dims[i], d->layout.dims[i]), &want))
            BKT_FAIL(err, BKT_EFORMAT, "chunk table %s is too large", table->id.text);
    struct bkt_err why = {.n = 0};
    int            rc  = bkt_domain_chunk_usage(dom, table, NULL, &n, &why);
    if (rc < 0 && rc != BKT_EUNSUP)
        return bkt_err_copy(err, rc, &why);
    *out = rc == BKT_OK && n >= want;
    return BKT_OK;
}

static int add_chunk(void *arg, const struct bkt_file_chunk *c)
{
    struct found *f = arg;
    if (f->n == f->cap) {
        size_t                  cap = f->cap ? f->cap * 2 : 64;
        struct bkt_found_chunk *v   = reallocarray(f->v, cap, sizeof *v);
        if (!v)
            return BKT_ENOMEM;
        f->v   = v;
        f->cap = cap;
    }
    f->v[f->n++] =
        (struct bkt_found_chunk){.index = c->index, .offset = c->addr, .size = c->size, .mask = c->mask};
    return BKT_OK;
}

/* The file's dataset must be cut as the layout says, or every location would belong to another chunk. */
static int check_shape(hid_t dset, const struct bkt_object *o, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    hsize_t                           chunk[H5S_MAX_RANK], dims[H5S_MAX_RANK];
    unsigned                          rank = o->dset.space.rank;
    if (dcpl < 0 || space < 0)
        return bkt_h5err_capture(err, "looking at a linked dataset");
    bool same = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Sget_simple_extent_ndims(space) == (int)rank &&
                H5Sget_simple_extent_dims(space, dims, NULL) >= 0 &&
                H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == (int)rank;
    for (unsigned i = 0; same && i < rank; i++)
        same = chunk[i] == o->dset.layout.dims[i] && dims[i] == o->dset.space.dims[i];
    if (!same)
        BKT_FAIL(err, BKT_EFORMAT, "%s: shape or chunks differ from dataset %s; link it again", name,
                 o->id.text);
    return BKT_OK;
}

static int list_chunks(const char *file, const char *path, const struct bkt_settings *set, struct found *f,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    BKT_CLEANUP(bkt_hid_closep) hid_t h5   = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5I_INVALID_HID;
    if (fapl < 0 || H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0) /* the default may be the connector itself */
        return bkt_h5err_capture(err, "making a file access list");
    BKT_PASS(vfd_set(fapl, file, set, err));
    H5E_BEGIN_TRY
    {
        h5 = H5Fopen(file, H5F_ACC_RDONLY, fapl);
        if (h5 >= 0)
            dset = H5Dopen2(h5, path, H5P_DEFAULT);
    }
    H5E_END_TRY
    if (dset < 0)
        return bkt_h5err_capture(err, h5 < 0 ? file : path);
    BKT_PASS(check_shape(dset, f->dset, path, err));
    return bkt_file_chunks(dset, add_chunk, f, err);
}

static int locate(struct bkt_vobj *o, struct bkt_dsetio *io, const char *words, struct bkt_err *err)
{
    const struct bkt_layout     *l    = &o->obj->dset.layout;
    BKT_CLEANUP(bkt_freep) char *path = option_of(words, "--h5path=");
    BKT_CLEANUP(bkt_freep) char *key  = NULL;
    struct bkt_store            *st   = NULL;
    struct found                 f    = {.dset = o->obj};
    if (!path || !l->file_uri)
        BKT_FAIL(err, BKT_EFORMAT, "no %s in layout and initializer \"%s\"", path ? "file_uri" : "--h5path",
                 words);
    BKT_PASS(bkt_domain_resolve_uri(o->file->dom, l->file_uri, &st, &key, err));
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    if (bkt_buf_addf(&name, "%s/%s", bkt_store_uri(st), key) < 0)
        BKT_NOMEM(err);
    bkt_trace(BKT_TRACE_VOL, "chunklocator: looking for the chunks of %s in %s", path, bkt_buf_str(&name));
    int rc = list_chunks(bkt_buf_str(&name), path, bkt_domain_settings(o->file->dom), &f, err);
    if (rc < 0) {
        free(f.v);
        BKT_FAIL(err, rc, "chunk locations in %s", bkt_buf_str(&name));
    }
    if (!f.v && !(f.v = calloc(1, sizeof *f.v))) /* a dataset without chunks is a valid answer */
        BKT_NOMEM(err);
    return bkt_dsetio_set_found(io, f.v, f.n, err);
}

int bkt_chunk_locator_run(struct bkt_vobj *o, struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_layout *l     = &o->obj->dset.layout;
    const struct bkt_object *table = NULL;
    bool                     stored = false;
    if (l->cls != BKT_D_CHUNKED_REF_INDIRECT)
        return BKT_OK;
    bkt_reference_table_first_begin(io);
    BKT_TRY(err, bkt_domain_get(o->file->dom, &l->chunk_table, &table, err), "chunk table of dataset %s",
            o->obj->id.text);
    int rc = BKT_OK;
    if (table->kind == BKT_DATASET && table->dset.init == BKT_INIT_CHUNKLOCATOR) {
        rc = is_stored(o->file->dom, table, &stored, err);
        if (rc == BKT_OK && !stored)
            rc = locate(o, io, table->dset.init_text, err);
    }
    bkt_object_release(table);
    if (rc < 0)
        BKT_FAIL(err, rc, "chunk table %s of dataset %s is not stored", l->chunk_table.text, o->obj->id.text);
    return BKT_OK;
}
