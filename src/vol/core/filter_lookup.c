/* The functions of filters that aren't ours.
 *
 * HDF5 has no public call that returns them.  Its libraries have a function H5Z_find() that does, but no
 * installed header declares it.  So it is looked up at run time, and its answer is checked before use.  It
 * knows the filters that the program has registered (h5py's and PyTables' packages of filters do so) and
 * the plugins that HDF5 has loaded.  In addition HDF5's search path for plugins is walked as HDF5 does
 * it.  Each shared library that declares itself a filter plugin is tried, until one has the id. */
#include "vol/core/filter_lookup.h"

#include <hdf5.h>

#include <H5PLextern.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"

/* ---- in HDF5's table ---- */

/* The form since 1.14.4.  Earlier forms take only the id and return the class: called like this, they look
 * for id 1, `true`, and leave *cls alone. */
typedef herr_t find_fn(bool optional, H5Z_filter_t id, const H5Z_class2_t **cls);

bool bkt_plugin_class(int id, H5Z_class2_t *out)
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

bkt_filter_fn *bkt_plugin_find(int id, const char *name, void *arg)
{
    unsigned       mask = 0;
    H5Z_class2_t   cls;
    bkt_filter_fn *fn   = id > 0 && bkt_plugin_class(id, &cls) ? cls.filter : NULL;
    (void)name, (void)arg;
    if (fn || id <= 0 || H5PLget_loading_state(&mask) < 0 || !(mask & H5PL_FILTER_PLUGIN))
        return fn;
    walk();
    for (const struct plugin *p = plugins; p; p = p->next)
        if (p->cls->id == id)
            return p->cls->filter;
    return NULL;
}
