/* The functions of filters that the connector lacks.
 *
 * HDF5 has no public call that returns them.  Its libraries have a function H5Z_find() that does, but no
 * installed header declares it.  So it is looked up at run time, and its answer is checked before use.  It
 * knows the filters that the program has registered (h5py's and PyTables' packages of filters do so) and
 * the plugins that HDF5 has loaded.  In addition HDF5's search path for plugins is walked as HDF5 does
 * it.  Each shared library that declares itself a filter plugin is tried, until one has the id. */
#include "vol/core/filters.h"

#include <H5PLextern.h>
#include <H5VLconnector.h>
#include <dirent.h>
#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/trace.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"

/* ---- in HDF5's table ---- */

/* The form since 1.14.4.  Earlier forms take only the id and return the class: called like this, they look
 * for id 1, `true`, and leave *cls alone. */
typedef herr_t find_fn(bool optional, H5Z_filter_t id, const H5Z_class2_t **cls);

/* The entry for @p id in HDF5's table of filters, which holds registered and loaded ones.  False: no
 *  entry, or the table can't be read. */
static bool plugin_class(int id, H5Z_class2_t *out)
{
    static const H5Z_class2_t untouched;
    const H5Z_class2_t       *cls = &untouched;
    find_fn                  *find;
    void                     *p = dlsym(RTLD_DEFAULT, "H5Z_find");
    if (!p)
        return false;
    memcpy(&find, &p, sizeof find); /* ISO C has no cast from object to function pointers */
    if (find(true, id, &cls) < 0 || !cls || cls == &untouched || cls->version != H5Z_CLASS_T_VERS ||
        cls->id != id)
        return false;
    *out = *cls;
    return true;
}

/* ---- in plugins ---- */

/* Filled and read under HDF5's own lock: bkt_dsetio_open() runs in callbacks only. */
static struct plugin {
    void             *handle;
    const H5Z_class2_t *cls;
    struct plugin    *next;
} *plugins;
static char *walked; /* the search path that `plugins` was made from */

void bkt_plugin_close_all(void)
{
    while (plugins) {
        struct plugin *p = plugins;
        plugins          = p->next;
        (void)dlclose(p->handle);
        free(p);
    }
    free(walked);
    walked = NULL;
}

static const H5Z_class2_t *filter_class(void *handle)
{
    H5PL_type_t (*type)(void);
    const void *(*info)(void);
    void *t = dlsym(handle, "H5PLget_plugin_type"), *i = dlsym(handle, "H5PLget_plugin_info");
    if (!t || !i)
        return NULL;
    memcpy(&type, &t, sizeof type);
    memcpy(&info, &i, sizeof info);
    return type() == H5PL_TYPE_FILTER ? info() : NULL;
}

static void try_library(const char *dir, const char *file)
{
    BKT_CLEANUP(bkt_freep) char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, file) < 0) {
        path = NULL;
        return;
    }
    void          *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct plugin *p      = handle ? calloc(1, sizeof *p) : NULL;
    if (p)
        p->cls = filter_class(handle);
    if (!p || !p->cls || !p->cls->filter) {
        if (handle)
            (void)dlclose(handle);
        free(p);
        return;
    }
    p->handle = handle;
    p->next   = plugins;
    plugins   = p;
    bkt_trace(BKT_TRACE_VOL, "filter plugin %s: id %d, %s", path, p->cls->id,
              p->cls->name ? p->cls->name : "");
}

static void try_folder(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, "lib", 3) == 0 && strstr(e->d_name, ".so"))
            try_library(dir, e->d_name);
    (void)closedir(d);
}

/* The search path as one text, with newlines between folders; NULL: out of memory. */
static char *search_path(unsigned *n)
{
    struct bkt_buf text = {0};
    char           dir[4096];
    if (H5PLsize(n) < 0)
        *n = 0;
    for (unsigned i = 0; i < *n; i++) {
        ssize_t len = H5PLget(i, dir, sizeof dir);
        if (len > 0 && (size_t)len < sizeof dir && bkt_buf_addf(&text, "%s\n", dir) < 0) {
            bkt_buf_fini(&text);
            return NULL;
        }
    }
    return text.ptr ? bkt_buf_steal(&text) : strdup("");
}

/* Plugins in use stay open, so a changed path only adds plugins. */
static void walk(void)
{
    unsigned n;
    char    *path = search_path(&n), *rest = path, *dir;
    if (!path || (walked && strcmp(walked, path) == 0)) {
        free(path);
        return;
    }
    free(walked);
    walked = strdup(path);
    while ((dir = strsep(&rest, "\n")) != NULL)
        if (*dir)
            try_folder(dir);
    free(path);
}

bkt_filter_fn *bkt_plugin_find(int id, const char *name)
{
    unsigned       mask = 0;
    H5Z_class2_t   cls;
    bkt_filter_fn *fn = id > 0 && plugin_class(id, &cls) ? cls.filter : NULL;
    (void)name;
    if (fn || id <= 0 || H5PLget_loading_state(&mask) < 0 || !(mask & H5PL_FILTER_PLUGIN))
        return fn;
    walk();
    for (const struct plugin *p = plugins; p; p = p->next)
        if (p->cls->id == id)
            return p->cls->filter;
    return NULL;
}

#define OWN_IDS H5Z_FILTER_RESERVED /* HDF5's own ids are below, and can't be registered again */

/* ---- a filter of a list ---- */

/* The keys of the schema for some filters' parameters, besides the parameters themselves */
static void named_parameters(struct bkt_filter_desc *f)
{
    f->bits_per_pixel = f->coding = f->pixels_per_block = f->pixels_per_scanline = f->scale_type =
        f->scale_offset = -1;
    if (f->id == H5Z_FILTER_DEFLATE && f->n_cd > 0) {
        f->has_level = true;
        f->level     = f->cd[0];
    }
    if (f->id == H5Z_FILTER_SZIP && f->n_cd >= 2) {
        f->coding           = f->cd[0];
        f->pixels_per_block = f->cd[1];
        f->bits_per_pixel   = f->n_cd >= 4 ? (int64_t)f->cd[2] : -1;
        f->pixels_per_scanline = f->n_cd >= 4 ? (int64_t)f->cd[3] : -1;
    }
    if (f->id == H5Z_FILTER_SCALEOFFSET && f->n_cd >= 2) {
        f->scale_type   = f->cd[0];
        f->scale_offset = f->cd[1];
    }
}

int bkt_convert_from_filter(hid_t id, unsigned i, struct bkt_filter_desc *f, struct bkt_err *err)
{
    unsigned flags = 0, none;
    size_t   n     = 0;
    BKT_NEED_H5(err, H5Pget_filter2(id, i, &flags, &n, &none, 0, NULL, NULL) >= 0,
                "asking about a creation property list");
    f->cd = calloc(n + 1, sizeof *f->cd);
    BKT_NEED(err, f->cd);
    f->n_cd = n;
    f->id   = (int)H5Pget_filter2(id, i, &flags, &n, f->cd, sizeof f->h5name, f->h5name, NULL);
    BKT_NEED_H5(err, f->id >= 0, "asking about a creation property list");
    memcpy(f->name, f->h5name, sizeof f->name - 1);
    f->flags    = (int64_t)flags;
    f->optional = (flags & H5Z_FLAG_OPTIONAL) != 0;
    named_parameters(f);
    return BKT_OK;
}

int bkt_convert_from_filters(hid_t dcpl, struct bkt_filter_desc **out, size_t *n, struct bkt_err *err)
{
    int count = H5Pget_nfilters(dcpl);
    BKT_NEED_H5(err, count >= 0, "asking about a creation property list");
    *n = 0;
    BKT_NEED(err, (*out = calloc((size_t)count + 1, sizeof **out)));
    while (*n < (size_t)count) {
        unsigned i = (unsigned)(*n)++;
        BKT_PASS(bkt_convert_from_filter(dcpl, i, &(*out)[i], err));
    }
    return BKT_OK;
}

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
    return id >= OWN_IDS && H5Zfilter_avail(id) > 0 && plugin_class(id, cls) &&
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

static void add(uint64_t *sum, const void *p, size_t n) { *sum = bkt_digest(p, n, *sum); }

static bool add_type(uint64_t *sum, hid_t type)
{
    size_t                            n    = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t copy = H5Tcopy(type); /* turns a committed type into a transient one */
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
    *sum = 0;
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
        if (ours) /* also for a plain file: the connector gets the list before HDF5 does */
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

static int filters_in(hid_t dcpl, struct filters *l, struct bkt_err *err)
{
    int rc = bkt_convert_from_filters(dcpl, &l->own, &l->n, err);
    l->v = l->own;
    return rc;
}

static int filters_of(hid_t dset, struct filters *l, struct bkt_err *err)
{
    const struct bkt_vobj *o = bkt_vobj_of_id(dset);
    if (o) {
        *l = (struct filters){o->obj->dset.filters, o->obj->dset.n_filters, NULL};
        return BKT_OK;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    BKT_NEED_H5(err, dcpl >= 0, "asking about a dataset");
    return filters_in(dcpl, l, err);
}

/* HSDS's lists seldom have parameters; readers compute the same values as HDF5. */
static bool is_open(const struct bkt_filter_desc *f) { return f->flags < 0 && f->n_cd == 0; }

static bool agree(const struct filters *x, const struct filters *y)
{
    bool ok = x->n == y->n;
    for (size_t i = 0; ok && i < x->n; i++)
        ok = same(&x->v[i], &y->v[i]) ||
             (x->v[i].id == y->v[i].id && (is_open(&x->v[i]) || is_open(&y->v[i])));
    return ok;
}

int bkt_filters_agree(hid_t a, hid_t b, struct bkt_err *err)
{
    BKT_CLEANUP(filters_fini) struct filters x = {.n = 0}, y = {.n = 0};
    BKT_PASS(filters_of(a, &x, err));
    BKT_PASS(filters_of(b, &y, err));
    return agree(&x, &y);
}

int bkt_filters_agree_lists(hid_t a, hid_t b, struct bkt_err *err)
{
    BKT_CLEANUP(filters_fini) struct filters x = {.n = 0}, y = {.n = 0};
    BKT_PASS(filters_in(a, &x, err));
    BKT_PASS(filters_in(b, &y, err));
    return agree(&x, &y);
}
