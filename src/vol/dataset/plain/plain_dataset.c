/* The struct of a plain dataset: the form of its stored elements, and HDF5's facts about it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "vol/core/filters.h"
#include "vol/dataset/plain/plain_read.h"
#include "vol/vfd/store_driver.h"
#include "vol/vfd/store_driver_ahead.h"

/* ---- stored elements that hold addresses ----
 *
 * H5Dget_type() returns the form in memory, where parts of variable length have another size.  HDF5 moves the
 * members of a compound by the difference, in the order of their offsets. */

static void heap_addresses_fini(struct bkt_heap_addresses *s)
{
    for (size_t i = 0; i < s->n_inner; i++)
        heap_addresses_fini(&s->inner[i]);
    free(s->inner);
    free(s->at);
    *s = (struct bkt_heap_addresses){.n = 0};
}

#define LEVELS 4 /* of sequences in sequences */

/* The search for addresses in a type. */
struct walk {
    unsigned               addr;
    struct bkt_heap_addresses *out;
    unsigned               level;
};

static bool note_address(struct walk *w, size_t at)
{
    if (bkt_list_room(&w->out->at, w->out->n, &w->out->cap, sizeof *w->out->at) < 0)
        return false;
    w->out->at[w->out->n++] = at;
    return true;
}

/* Note the addresses in an element of @p type at offset @p at, which takes *size bytes.  False: not known. */
static bool stored_form(struct walk *w, hid_t type, size_t at, size_t *size);

/* Sequences: a length, an address, an index.  Their elements lie in the heap. */
static bool sequence(struct walk *w, hid_t type, size_t at, size_t *size)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t base = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : H5I_INVALID_HID;
    *size = 4 + w->addr + 4;
    if (!note_address(w, at + 4))
        return false;
    if (base < 0 || w->level == LEVELS)
        return true;
    struct bkt_heap_addresses inner = {.n = 0};
    struct walk           deeper = {w->addr, &inner, w->level + 1};
    bool ok = stored_form(&deeper, base, 0, &inner.size);
    if (!ok || (!inner.n && !inner.n_inner) ||
        bkt_list_room(&w->out->inner, w->out->n_inner, &w->out->cap_inner, sizeof inner) < 0) {
        heap_addresses_fini(&inner);
        return true; /* only this level is fetched */
    }
    w->out->inner[w->out->n_inner++] = inner;
    return true;
}

static bool array(struct walk *w, hid_t type, size_t at, size_t *size)
{
    hsize_t  dims[H5S_MAX_RANK];
    size_t   n = 1, one = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    int rank = H5Tget_array_dims2(type, dims);
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    if (rank < 0 || n > 4096) /* too many to note each */
        return false;
    for (size_t i = 0; i < n; i++)
        if (!stored_form(w, base, at + i * one, &one))
            return false;
    *size = n * one;
    return true;
}

static bool compound(struct walk *w, hid_t type, size_t at, size_t *size)
{
    int n = H5Tget_nmembers(type);
    BKT_CLEANUP(bkt_freep) struct bkt_member *m = n < 0 ? NULL : bkt_convert_members(type, (size_t)n);
    size_t shrunk = 0, one = 0;
    if (!m)
        return false;
    for (int i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t t = H5Tget_member_type(type, m[i].index);
        if (t < 0 || !stored_form(w, t, at + m[i].offset - shrunk, &one))
            return false;
        shrunk += H5Tget_size(t) - one; /* modulo 2^64: strings grow */
    }
    *size = H5Tget_size(type) - shrunk;
    return true;
}

static bool stored_form(struct walk *w, hid_t type, size_t at, size_t *size)
{
    H5T_class_t cls = H5Tget_class(type);
    *size           = H5Tget_size(type);
    if (cls == H5T_VLEN || H5Tis_variable_str(type) > 0)
        return sequence(w, type, at, size);
    if (cls == H5T_ARRAY)
        return array(w, type, at, size);
    if (cls == H5T_COMPOUND)
        return compound(w, type, at, size);
    if (cls != H5T_REFERENCE)
        return cls != H5T_NO_CLASS;
    if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
        *size = w->addr;
        return true;
    }
    *size = w->addr + 4;
    return H5Tequal(type, H5T_STD_REF_DSETREG) > 0 && note_address(w, at);
}

/* @param addr  bytes of an address in the file
 * @return false: the form of such elements in the file isn't known */
static bool heap_addresses_of(hid_t type, unsigned addr, struct bkt_heap_addresses *out)
{
    struct walk w = {addr, out, 1};
    *out = (struct bkt_heap_addresses){.n = 0};
    bool ok = addr >= 2 && addr <= 8 && stored_form(&w, type, 0, &out->size) && out->size;
    if (!ok)
        heap_addresses_fini(out);
    return ok;
}

/* ---- HDF5's facts about the dataset ---- */

/* Find the facts that lead to heap addresses in stored elements.  s->addresses.size remains 0 if the form of
 * the elements isn't known. */
static int take_heap_addresses(struct bkt_plain_dataset *s, hid_t type, struct bkt_err *err)
{
    size_t  addr = 0, size = 0;
    hsize_t block = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Iget_file_id(s->dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t fcpl = file < 0 ? file : H5Fget_create_plist(file);
    BKT_NEED_H5(err,
                fcpl >= 0 && H5Pget_sizes(fcpl, &addr, &size) >= 0 && H5Pget_userblock(fcpl, &block) >= 0,
                "asking for the sizes of addresses");
    s->addr_bytes = (unsigned)addr;
    s->size_bytes = (unsigned)size;
    s->user_block = block;
    s->elements = BKT_PLAIN_ADDRESSES;
    if (H5Tis_variable_str(type) > 0) {
        s->elements = BKT_PLAIN_STRINGS;
        s->base = 1;
    } else if (H5Tget_class(type) == H5T_VLEN) {
        BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
        s->base = bkt_convert_has_pointers(base) ? 0 : H5Tget_size(base);
        s->elements = s->base ? BKT_PLAIN_SEQUENCES : BKT_PLAIN_ADDRESSES;
    }
    if (size <= 8)
        (void)heap_addresses_of(type, s->addr_bytes, &s->addresses);
    return BKT_OK;
}

static struct bkt_type *opaque(size_t size)
{
    struct bkt_type *t = calloc(1, sizeof *t);
    if (t) {
        t->cls  = BKT_T_OPAQUE;
        t->size = size;
    }
    return t;
}

/* HDF5's own filters refuse parameters that they would not have written, also ones that decoding does not
 * need. */
static bool is_refused(const struct bkt_filter_desc *f)
{
    if (f->id == H5Z_FILTER_DEFLATE)
        return f->n_cd != 1 || f->cd[0] > 9;
    return f->id == H5Z_FILTER_SHUFFLE && (f->n_cd != 1 || f->cd[0] == 0);
}

static int take_filters(struct bkt_plain_dataset *s, hid_t dcpl, struct bkt_dset *d, struct bkt_err *err)
{
    BKT_PASS(bkt_convert_from_filters(dcpl, &d->filters, &d->n_filters, err));
    for (size_t i = 0; i < d->n_filters; i++)
        if (is_refused(&d->filters[i]))
            s->way = BKT_PLAIN_NATIVE;
    return BKT_OK;
}

/* A dataset without a fill value has zeros.  If HDF5 never writes fill values, it doesn't return any for
 * missing chunks either. */
static int take_fill(struct bkt_plain_dataset *s, hid_t dcpl, hid_t type, struct bkt_dset *d,
                     struct bkt_err *err)
{
    H5D_fill_value_t kind;
    H5D_fill_time_t  when;
    BKT_NEED_H5(err, H5Pfill_value_defined(dcpl, &kind) >= 0 && H5Pget_fill_time(dcpl, &when) >= 0,
                "asking for the fill value");
    s->leaves_missing = when == H5D_FILL_TIME_NEVER || kind == H5D_FILL_VALUE_UNDEFINED;
    d->has_fill       = kind == H5D_FILL_VALUE_USER_DEFINED;
    if (!d->has_fill)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_resize(&d->fill, d->type->size));
    return BKT_PASS_H5(err, H5Pget_fill_value(dcpl, type, d->fill.ptr), "asking for the fill value");
}

static int take_chunks(struct bkt_plain_dataset *s, hid_t dcpl, struct bkt_dset *d, struct bkt_err *err)
{
    const uint64_t *cdims = d->layout.dims;
    unsigned opts = 0;
    if (H5Pget_chunk(dcpl, BKT_MAX_RANK, d->layout.dims) != (int)d->space.rank ||
        H5Pget_chunk_opts(dcpl, &opts) < 0)
        return bkt_h5err_capture(err, "asking for the chunks' shape");
    s->unfiltered_edges = opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    s->n_grid           = 1;
    d->layout.cls       = BKT_D_CHUNKED_REF_INDIRECT;
    for (unsigned i = 0; i < d->space.rank; i++)
        if (!cdims[i] || !bkt_mul_u64(s->n_grid, bkt_ceil_div(d->space.dims[i], cdims[i]), &s->n_grid))
            s->way = BKT_PLAIN_NATIVE;
    return take_filters(s, dcpl, d, err);
}

static int take_contiguous(struct bkt_plain_dataset *s, struct bkt_dset *d, struct bkt_err *err)
{
    haddr_t at = HADDR_UNDEF;
    hsize_t n  = 0;
    uint64_t elems;
    (void)BKT_PASS_H5(NULL, (at = H5Dget_offset(s->dset)) == HADDR_UNDEF ? -1 : 0, "H5Dget_offset");
    BKT_PASS(BKT_PASS_H5(err, (n = H5Dget_storage_size(s->dset), 0), "H5Dget_storage_size"));
    BKT_PASS(bkt_space_count(&d->space, &elems, err));
    if (at == HADDR_UNDEF || !n || !bkt_mul_u64(elems, d->type->size, &elems) || elems != n)
        s->way = BKT_PLAIN_NATIVE;
    d->layout.cls    = BKT_D_CONTIGUOUS_REF;
    d->layout.offset = at;
    d->layout.size   = n;
    for (unsigned i = 0; i < d->space.rank; i++)
        d->layout.dims[i] = bkt_max_u64(d->space.dims[i], 1);
    return BKT_OK;
}

/* The id is only a name in messages and in the cache, whose entries are those of one file.  HDF5's address of
 * the object identifies it. */
static int take_name(struct bkt_plain_dataset *s, struct bkt_object *o, struct bkt_err *err)
{
    H5O_info2_t info;
    uint64_t    at = 0;
    char        path[512];
    BKT_PASS(
        BKT_PASS_H5(err, H5Oget_info3(s->dset, &info, H5O_INFO_BASIC), "asking for an object's address"));
    memcpy(&at, &info.token, sizeof at);
    s->header = at;
    (void)snprintf(o->id.text, sizeof o->id.text, "at %" PRIu64, at);
    ssize_t n = H5Iget_name(s->dset, path, sizeof path);
    s->v.path = n > 0 ? strdup(path) : NULL;
    return BKT_OK;
}

/* libhdf5 would look for raw files on this machine.  A file elsewhere must not make it do that. */
static int take_domain(struct bkt_plain_dataset *s, struct bkt_err *err)
{
    s->way = bkt_vfd_facts(s->file).is_local ? BKT_PLAIN_NATIVE : BKT_PLAIN_EXTERNAL;
    s->v.file   = &s->in;
    return bkt_vfd_domain(s->file, &s->in.dom, err);
}

/* The way that the form of the elements and the creation list allow.  Other facts may still show that only
 * HDF5 can read them. */
static enum bkt_plain_way way_of(const struct bkt_plain_dataset *s, const struct bkt_dset *d, hid_t dcpl)
{
    const H5D_layout_t layout = H5Pget_layout(dcpl);
    enum bkt_plain_way way = layout == H5D_CHUNKED      ? BKT_PLAIN_CHUNKED
                             : layout == H5D_CONTIGUOUS ? BKT_PLAIN_CONTIGUOUS
                             : layout == H5D_VIRTUAL    ? BKT_PLAIN_VIRTUAL
                                                        : BKT_PLAIN_NATIVE;
    if (d->space.cls == BKT_S_NULL || !d->type->size)
        return BKT_PLAIN_NATIVE;
    if (way == BKT_PLAIN_CONTIGUOUS && H5Pget_external_count(dcpl) > 0)
        way = BKT_PLAIN_EXTERNAL;
    bool needs_cache =
        way == BKT_PLAIN_EXTERNAL || way == BKT_PLAIN_VIRTUAL || s->elements != BKT_PLAIN_FIXED;
    return s->family && needs_cache ? BKT_PLAIN_NATIVE : way; /* the driver's cache is the first file's */
}

static int take_all(struct bkt_plain_dataset *s, struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Dget_create_plist(s->dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(s->dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t type  = H5Dget_type(s->dset);
    struct bkt_dset *d = &o->dset;
    BKT_NEED_H5(err, dcpl >= 0 && space >= 0 && type >= 0, "asking about a dataset");
    BKT_PASS(bkt_convert_keep_type(&s->v, type, err));
    BKT_PASS(bkt_convert_from_space(space, &d->space, err));
    if (bkt_convert_has_pointers(type)) /* elements hold addresses, which only HDF5 follows */
        BKT_PASS(take_heap_addresses(s, type, err));
    bool fixed = s->elements == BKT_PLAIN_FIXED;
    BKT_NEED(err, (d->type = opaque(fixed ? H5Tget_size(type) : s->addresses.size)));
    s->way = way_of(s, d, dcpl);
    if (s->way == BKT_PLAIN_NATIVE)
        return BKT_OK;
    BKT_PASS(take_name(s, o, err));
    if (s->way == BKT_PLAIN_VIRTUAL)
        return BKT_OK;
    if (fixed)
        BKT_PASS(take_fill(s, dcpl, type, d, err));
    if (s->way == BKT_PLAIN_EXTERNAL)
        return take_domain(s, err);
    d->layout.rank = bkt_max_u64(d->space.rank, 1);
    return s->way == BKT_PLAIN_CHUNKED ? take_chunks(s, dcpl, d, err) : take_contiguous(s, d, err);
}

/* ---- the struct ---- */

/* A page buffer of raw data would keep the bytes that a look-up leaves in HDF5's memory. */
static bool may_look_up(hid_t dset)
{
    size_t   bytes = 1;
    unsigned meta, raw;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Iget_file_id(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = file < 0 ? file : H5Fget_access_plist(file);
    return fapl >= 0 && H5Pget_page_buffer_size(fapl, &bytes, &meta, &raw) >= 0 && bytes == 0;
}

static uint64_t first_bytes(void *arg, size_t n, void *to)
{
    return bkt_page_cache_copy(arg, 0, n, to);
}

static int open_io(struct bkt_plain_dataset *s, struct bkt_err *err)
{
    struct bkt_domain *dom;
    struct bkt_vfd_facts f = bkt_vfd_facts(s->file);
    BKT_PASS(bkt_vfd_domain(s->file, &dom, err));
    BKT_PASS(bkt_dsetio_open(dom, s->v.obj, bkt_plugin_find, &s->v.io, err));
    bkt_dsetio_name(s->v.io, s->v.path);
    if (s->family)
        BKT_PASS(bkt_dsetio_set_file(s->v.io, s->family, f.key, NULL, err));
    else {
        BKT_PASS(bkt_dsetio_set_file(s->v.io, f.st, f.key, f.version, err));
        bkt_dsetio_know_first(s->v.io, bkt_min_u64(BKT_VFD_FIRST, f.size), first_bytes, s->pages);
        s->looks_up = s->way == BKT_PLAIN_CHUNKED && may_look_up(s->dset);
    }
    return s->way == BKT_PLAIN_CHUNKED ? bkt_dsetio_add_found(s->v.io, NULL, 0, err) : BKT_OK;
}

static void dataset_free(struct bkt_vobj *v)
{
    bkt_kept_close(&((struct bkt_plain_dataset *)v)->sources);
    bkt_dsetio_close(v->io);
    bkt_store_close(((struct bkt_plain_dataset *)v)->family);
    bkt_object_release(v->obj);
    bkt_vobj_drop_id(v->file_type);
    bkt_buf_fini(&v->encoded_type);
    heap_addresses_fini(&((struct bkt_plain_dataset *)v)->addresses);
    free(v->path);
    free(v);
}

static int make(struct bkt_plain_dataset *s, struct bkt_err *err)
{
    struct bkt_object *o = bkt_object_make(BKT_DATASET);
    BKT_NEED(err, o);
    s->v.obj = o;
    BKT_PASS(take_all(s, o, err));
    return s->way == BKT_PLAIN_CHUNKED || s->way == BKT_PLAIN_CONTIGUOUS ? open_io(s, err) : BKT_OK;
}

int bkt_plain_dataset_of(struct bkt_vobj *plain, struct bkt_plain_dataset **out, struct bkt_err *err)
{
    *out = (struct bkt_plain_dataset *)plain->plain_dataset;
    struct bkt_vfd_file *file = *out ? NULL : bkt_vfd_behind(plain->native_id);
    struct bkt_store *family = NULL;
    uint64_t size = 0;
    if (!*out && !file)
        BKT_PASS(bkt_vfd_family_of(plain->native_id, &file, &family, &size, err));
    if (!file)
        return BKT_OK;
    struct bkt_vfd_facts facts = bkt_vfd_facts(file);
    struct bkt_plain_dataset *s = calloc(1, sizeof *s);
    if (!s) {
        bkt_store_close(family);
        BKT_NOMEM(err);
    }
    s->file = file;
    s->family = family;
    s->size = family ? size : facts.size;
    s->fore = facts.fore;
    s->pages = facts.pages;
    s->dset = plain->native_id;
    s->v.file_type    = s->v.native_id = s->v.dapl = H5I_INVALID_HID;
    s->v.type         = H5I_DATASET;
    s->v.was_written  = true; /* elements that were never written are converted, too, unless HDF5 reads all */
    s->v.whole_values = true;
    int rc = make(s, err);
    if (rc < 0) {
        dataset_free(&s->v);
        return rc;
    }
    plain->plain_dataset = &s->v;
    plain->plain_dataset_free = dataset_free;
    *out               = s;
    return BKT_OK;
}
