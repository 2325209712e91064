#include "vol/convert/kept_filters.h"

#include <stdlib.h>
#include <string.h>

#include <H5VLconnector.h>

#include "vol/convert/convert.h"
#include "vol/core/filter_lookup.h"

#define OWN_IDS H5Z_FILTER_RESERVED /* HDF5's own ids are below, and can't be registered anew */

/* ---- HDF5's table of filters ---- */

struct bkt_filters_held {
    unsigned     n;
    H5Z_class2_t was[H5Z_MAX_NFILTERS];
};

static H5Z_filter_t id_of(hid_t dcpl, int i)
{
    unsigned flags = 0, config;
    size_t   n_cd  = 0;
    return H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_cd, NULL, 0, NULL, &config);
}

/* Whether the filter takes part in making a dataset, and its class.  The first call loads a plugin. */
static bool interferes(H5Z_filter_t id, H5Z_class2_t *cls)
{
    return id >= OWN_IDS && H5Zfilter_avail(id) > 0 && bkt_plugin_class(id, cls) &&
           (cls->set_local || cls->can_apply);
}

struct bkt_filters_held *bkt_filters_hold(hid_t dcpl)
{
    int                      n = H5Pget_nfilters(dcpl);
    struct bkt_filters_held *h = n > 0 && n <= H5Z_MAX_NFILTERS ? calloc(1, sizeof *h) : NULL;
    for (int i = 0; h && i < n; i++) {
        H5Z_class2_t *was = &h->was[h->n], quiet;
        if (!interferes(id_of(dcpl, i), was))
            continue;
        quiet                 = *was;
        quiet.encoder_present = 1;
        quiet.can_apply       = NULL;
        quiet.set_local       = NULL;
        h->n += H5Zregister(&quiet) >= 0;
    }
    return h;
}

void bkt_filters_release(struct bkt_filters_held *h)
{
    for (unsigned i = 0; h && i < h->n; i++)
        (void)H5Zregister(&h->was[i]);
    free(h);
}

/* ---- the mark ---- */

/* A property of the list; HDF5 copies it with the list, and doesn't encode it. */
#define MARK "h5bucket filters"

struct mark {
    uint64_t               sum; /* of everything that the parameters may depend on */
    const struct bkt_dset *source;
};

static void add(uint64_t *sum, const void *p, size_t n) /* FNV-1a */
{
    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
}

static bool add_type(uint64_t *sum, hid_t type)
{
    size_t                            n    = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t copy = H5Tcopy(type); /* turns a committed type into a plain one */
    if (copy < 0 || H5Tencode(copy, NULL, &n) < 0)
        return false;
    BKT_CLEANUP(bkt_freep) void *bytes = calloc(1, n + 1);
    if (!bytes || H5Tencode(copy, bytes, &n) < 0)
        return false;
    add(sum, bytes, n);
    return true;
}

static bool add_filter(uint64_t *sum, hid_t dcpl, int i)
{
    struct bkt_filter_desc f  = {.id = -1};
    bool                   ok = bkt_convert_from_filter(dcpl, (unsigned)i, &f, NULL) == BKT_OK;
    add(sum, &f.id, sizeof f.id);
    add(sum, &f.n_cd, sizeof f.n_cd);
    if (ok)
        add(sum, f.cd, f.n_cd * sizeof *f.cd);
    free(f.cd);
    return ok;
}

static bool sum_of(hid_t dcpl, hid_t type, uint64_t *sum)
{
    hsize_t chunk[H5S_MAX_RANK];
    int n = H5Pget_nfilters(dcpl),
        rank = H5Pget_layout(dcpl) == H5D_CHUNKED ? H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) : -1;
    *sum = 0xcbf29ce484222325u;
    if (rank <= 0 || n <= 0)
        return false;
    add(sum, chunk, (size_t)rank * sizeof *chunk);
    for (int i = 0; i < n; i++)
        if (!add_filter(sum, dcpl, i))
            return false;
    return add_type(sum, type);
}

static void mark(hid_t dcpl, hid_t type, const struct bkt_dset *source)
{
    struct mark m = {.source = source};
    H5E_BEGIN_TRY
    {
        if (sum_of(dcpl, type, &m.sum)) {
            if (H5Pexist(dcpl, MARK) > 0)
                (void)H5Pset(dcpl, MARK, &m);
            else
                (void)H5Pinsert2(dcpl, MARK, sizeof m, &m, NULL, NULL, NULL, NULL, NULL, NULL);
        }
    }
    H5E_END_TRY
}

void bkt_filters_mark(hid_t dcpl, hid_t type)
{
    H5Z_class2_t cls;
    int          n = H5Pget_nfilters(dcpl);
    for (int i = 0; i < n; i++)
        if (interferes(id_of(dcpl, i), &cls)) {
            mark(dcpl, type, NULL);
            return;
        }
}

bool bkt_filters_marked(hid_t dcpl, hid_t type, const struct bkt_dset **source)
{
    struct mark m;
    uint64_t    sum;
    *source = NULL;
    if (H5Pexist(dcpl, MARK) <= 0 || H5Pget(dcpl, MARK, &m) < 0 || !sum_of(dcpl, type, &sum) || sum != m.sum)
        return false;
    *source = m.source;
    return true;
}

void bkt_filters_unmark(hid_t dcpl)
{
    if (H5Pexist(dcpl, MARK) > 0)
        (void)H5Premove(dcpl, MARK);
}

/* ---- lists ---- */

static herr_t modify(hid_t list, const struct bkt_filter_desc *f, unsigned flags)
{
    return H5Pmodify_filter(list, f->id, flags, f->n_cd, f->n_cd ? f->cd : NULL);
}

herr_t bkt_filters_relax(hid_t dcpl)
{
    int n = H5Pget_nfilters(dcpl);
    for (int i = 0; i < n; i++) {
        struct bkt_filter_desc f  = {.id = -1};
        herr_t                 rc = bkt_convert_from_filter(dcpl, (unsigned)i, &f, NULL) < 0 ? -1 : 0;
        if (rc >= 0 && !f.optional && H5Zfilter_avail(f.id) <= 0)
            rc = modify(dcpl, &f, (unsigned)f.flags | H5Z_FLAG_OPTIONAL);
        free(f.cd);
        if (rc < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

static bool same(const struct bkt_filter_desc *a, const struct bkt_filter_desc *b)
{
    return a->id == b->id && a->n_cd == b->n_cd &&
           (!a->n_cd || memcmp(a->cd, b->cd, a->n_cd * sizeof *a->cd) == 0);
}

static herr_t put_back(hid_t list, hid_t dcpl, int i)
{
    struct bkt_filter_desc is = {.id = -1}, was = {.id = -1};
    herr_t                 rc = -1;
    if (bkt_convert_from_filter(list, (unsigned)i, &is, NULL) == BKT_OK &&
        bkt_convert_from_filter(dcpl, (unsigned)i, &was, NULL) == BKT_OK && is.id == was.id)
        rc = same(&is, &was) && is.flags == was.flags ? 0 : modify(list, &was, (unsigned)was.flags);
    free(is.cd);
    free(was.cd);
    return rc;
}

herr_t bkt_filters_put_back(hid_t list, hid_t dcpl)
{
    int n = H5Pget_nfilters(dcpl);
    if (n < 0 || n != H5Pget_nfilters(list))
        return -1;
    for (int i = 0; i < n; i++)
        if (put_back(list, dcpl, i) < 0)
            return -1;
    return 0;
}

hid_t bkt_filters_create(hid_t loc, const char *name, hid_t type, hid_t space, hid_t lcpl, hid_t dcpl,
                         hid_t source)
{
    const struct bkt_vobj *from = source >= 0 ? bkt_vobj_of_id(source) : NULL;
    const bool ours = bkt_hid_is_ours(loc), in_domain = bkt_vobj_of_id(loc);
    struct bkt_filters_held *held = NULL;
    hid_t made = H5I_INVALID_HID, list = H5Pcopy(dcpl);
    if (list >= 0 &&
        (in_domain || bkt_filters_relax(list) >= 0)) { /* in a domain the flags stay unchanged, too */
        if (ours) /* also for a plain file: our connector gets the list before HDF5 does */
            mark(list, type, from ? &from->obj->dset : NULL);
        else
            bkt_filters_unmark(list); /* HDF5 keeps the list with the dataset */
        held = bkt_filters_hold(list);
        made = name ? H5Dcreate2(loc, name, type, space, lcpl, list, H5P_DEFAULT)
                    : H5Dcreate_anon(loc, type, space, list, H5P_DEFAULT);
    }
    hid_t why = made < 0 ? bkt_h5err_hold() : H5I_INVALID_HID;
    bkt_filters_release(held);
    bkt_hid_closep(&list);
    bkt_h5err_restore(why);
    return made;
}

/* ---- filters of datasets ---- */

struct filters {
    const struct bkt_filter_desc *v;
    size_t                        n;
    struct bkt_filter_desc       *own; /* v, if it isn't the model's */
};

static void filters_fini(struct filters *l)
{
    for (size_t i = 0; l->own && i < l->n; i++)
        free(l->own[i].cd);
    free(l->own);
}

static bool filters_of(hid_t dset, struct filters *l)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    if (o) {
        *l = (struct filters){o->obj->dset.filters, o->obj->dset.n_filters, NULL};
        return true;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    int                               n    = dcpl < 0 ? -1 : H5Pget_nfilters(dcpl);
    if (n < 0 || !(l->own = calloc((size_t)n + 1, sizeof *l->own)))
        return false;
    l->v = l->own;
    while (l->n < (size_t)n) {
        unsigned i = (unsigned)l->n++;
        if (bkt_convert_from_filter(dcpl, i, &l->own[i], NULL) < 0)
            return false;
    }
    return true;
}

/* HSDS's lists seldom have parameters; readers compute the same values as HDF5. */
static bool is_open(const struct bkt_filter_desc *f) { return f->flags < 0 && f->n_cd == 0; }

bool bkt_filters_agree(hid_t a, hid_t b)
{
    BKT_CLEANUP(filters_fini) struct filters x = {.n = 0}, y = {.n = 0};
    bool                                     ok = filters_of(a, &x) && filters_of(b, &y) && x.n == y.n;
    for (size_t i = 0; ok && i < x.n; i++)
        ok = same(&x.v[i], &y.v[i]) || (x.v[i].id == y.v[i].id && (is_open(&x.v[i]) || is_open(&y.v[i])));
    return ok;
}
