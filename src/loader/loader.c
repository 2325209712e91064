/* The plugin that HDF5 loads.  A process may hold several libhdf5: Python's wheels bring their own, renamed,
 * and open them so that no other library sees their symbols.  So each libhdf5 gets a connector of its own: a
 * copy of the real connector in memory.  In the copy, the name of the needed library is replaced by the path
 * of the libhdf5 that asks.
 *
 * This file includes no header of HDF5, since it serves several versions. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

#define PLUGIN_TYPE_VOL 1            /* H5PL_TYPE_VOL of H5PLpublic.h */
#define DIRECTORY       "h5bucket"   /* beside this plugin's file: the real connectors */
#define MAX_CONNECTOR   (256L << 20) /* bytes; a real one has a few MiB */
#define MAX_LIBRARIES   16           /* libhdf5 in one process */

#define EXPORTED        __attribute__((visibility("default")))
EXPORTED int H5PLget_plugin_type(void);
EXPORTED const void *H5PLget_plugin_info(void);

/* A libhdf5 and its connector. */
struct served {
    const void *base; /* where the libhdf5 is loaded */
    char *path;       /* of the libhdf5: another may be loaded at the same place later */
    void *connector;
};
static struct served served[MAX_LIBRARIES];
static size_t n_served;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* HDF5's error stack can't be reached without HDF5's functions. */
__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
    va_list args;
    char text[3 * PATH_MAX];
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)fprintf(stderr, "h5bucket: %s\n", text);
}

/* ---- which connector ---- */

typedef int64_t hdf5_id; /* hid_t of all versions that have connectors */

struct version {
    unsigned major, minor, release;
};

/* The name of the connector for that HDF5: all versions of one ABI share one. */
static void name_of(struct version v, char *name, size_t n)
{
    if (v.major < 2)
        (void)snprintf(name, n, "hdf5-%u.%u.so", v.major, v.minor);
    else
        (void)snprintf(name, n, "hdf5-%u.so", v.major);
}

/* H5get_libversion(), without a change of HDF5's error stack: HDF5 asks for plugins after its own connector
 * failed, and the stack has the reason. */
static bool ask_version(void *library, struct version *v)
{
    int (*ask)(unsigned *, unsigned *, unsigned *) = NULL;
    hdf5_id (*hold)(void) = NULL;
    int (*restore)(hdf5_id) = NULL;
    *(void **)&ask = dlsym(library, "H5get_libversion");
    *(void **)&hold = dlsym(library, "H5Eget_current_stack");
    *(void **)&restore = dlsym(library, "H5Eset_current_stack");
    if (!ask || !hold || !restore)
        return false;
    hdf5_id held = hold();
    bool known = ask(&v->major, &v->minor, &v->release) >= 0;
    if (held >= 0)
        (void)restore(held);
    return known;
}

static bool version_of(const char *path, struct version *v)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    bool known = false;
    if (!library) {
        complain("%s: the program has HDF5 linked in statically, so that no plugin can use it; link it with "
                 "libhdf5.so "
                 "(`h5cc -shlib`)",
                 path);
        return false;
    }
    known = ask_version(library, v);
    if (!known)
        complain("%s: a plugin was asked for, but this library has no H5get_libversion()", path);
    (void)dlclose(library);
    return known;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_connector(const struct dirent *e)
{
    return strncmp(e->d_name, "hdf5-", 5) == 0 && strstr(e->d_name, ".so");
}

/* The versions of HDF5 for which there is a connector in @p dir, as text. */
static void list_connectors(const char *dir, char *text, size_t size)
{
    struct dirent **list = NULL;
    int n = scandir(dir, &list, is_connector, by_name);
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < n; i++) {
        int len = (int)(strstr(list[i]->d_name, ".so") - list[i]->d_name) - 5;
        if (used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", " : "", len, list[i]->d_name + 5);
        free(list[i]);
    }
    free(list);
    if (n <= 0)
        (void)snprintf(text, size, "none");
}

/* Packages link to one file from the plugin directories of several HDF5s, so links are followed. */
static int open_connector(const char *libhdf5)
{
    Dl_info me;
    struct version v;
    char here[PATH_MAX], path[PATH_MAX], name[32], others[256];
    if (!version_of(libhdf5, &v))
        return -1;
    if (!dladdr(&served, &me) || !me.dli_fname)
        return -1;
    if (!realpath(me.dli_fname, here)) {
        complain("%s: %s; name the plugin's folder by a whole path", me.dli_fname, strerror(errno));
        return -1;
    }
    name_of(v, name, sizeof name);
    if (snprintf(path, sizeof path, "%.*s/" DIRECTORY "/%s", (int)(strrchr(here, '/') - here), here, name) >=
        (int)sizeof path) {
        complain("%s: the path is too long", here);
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    path[strlen(path) - strlen(name) - 1] = 0;
    list_connectors(path, others, sizeof others);
    complain("%s: HDF5 %u.%u.%u has no connector in %s, which has connectors for HDF5: %s; "
             "install another HDF5, or build vol-bucket with this one (-DHDF5_ROOT=...)",
             libhdf5, v.major, v.minor, v.release, path, others);
    return -1;
}

/* ---- a copy for one libhdf5 ---- */

static void *read_whole(int fd, size_t *size)
{
    struct stat st;
    char *bytes = NULL;
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAX_CONNECTOR ||
        !(bytes = malloc((size_t)st.st_size)))
        return NULL;
    *size = (size_t)st.st_size;
    if (bkt_read_at(fd, bytes, *size, 0))
        return bytes;
    free(bytes);
    return NULL;
}

/* A file without a name: in memory, or, if that is refused, unlinked in the directory for temporary files. */
static int nameless_file(void)
{
    char path[PATH_MAX];
    const char *dir = getenv("TMPDIR");
    int fd = memfd_create("h5bucket", MFD_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (snprintf(path, sizeof path, "%s/h5bucket-XXXXXX", dir && *dir ? dir : "/tmp") >= (int)sizeof path)
        return -1;
    if ((fd = mkostemp(path, O_CLOEXEC)) >= 0)
        (void)unlink(path);
    return fd;
}

/* Put @p libhdf5 where the connector's list of needed libraries has the name that was reserved for it.
 * Programs that change such lists (patchelf) may leave the old one in the file. */
static bool name_library(char *bytes, size_t size, const char *libhdf5)
{
    static const char begin[] = BKT_LOADER_MARK;
    char *end = bytes + size;
    size_t room = 0;
    for (char *at = memmem(bytes, size, begin, sizeof begin - 1); at;
         at = memmem(at + room, (size_t)(end - at) - room, begin, sizeof begin - 1)) {
        room = strnlen(at, (size_t)(end - at));
        if (room < strlen(libhdf5)) {
            room = 0;
            break;
        }
        memset(at, 0, room);
        memcpy(at, libhdf5, strlen(libhdf5));
    }
    if (room == 0)
        complain("%s: the connector has no place for this path; install HDF5 in a folder with a shorter name",
                 libhdf5);
    return room != 0;
}

/* A program that is linked with HDF5 may hold copies of HDF5's variables, which count for all.  So its
 * symbols come first, unless another libhdf5 than the one that asks is in global scope: then the needed
 * library comes first. */
static int scope_for(const void *base)
{
    Dl_info other;
    void *global = dlsym(RTLD_DEFAULT, "H5open");
    return global && dladdr(global, &other) && other.dli_fbase != base ? RTLD_DEEPBIND : 0;
}

/* A path to the file that leads to no library yet.  The dynamic linker takes a path that it knows for the
 * same library, although the file behind it is another. */
static void new_path(int fd, char *path, size_t size)
{
    void *known = NULL;
    size_t used = (size_t)snprintf(path, size, "/proc/self/fd/");
    do {
        (void)snprintf(path + used, size - used, "%d", fd);
        if ((known = dlopen(path, RTLD_LAZY | RTLD_NOLOAD))) {
            (void)dlclose(known);
            used += (size_t)snprintf(path + used, size - used, "./");
        }
    } while (known && used + 16 < size);
}

static void *load_copy(const char *bytes, size_t size, const void *base, const char *libhdf5)
{
    char path[PATH_MAX];
    void *connector = NULL;
    int fd = nameless_file();
    if (fd < 0 || !bkt_write_at(fd, bytes, size, 0)) {
        complain("%s: no memory and no disk space for its copy of the connector", libhdf5);
    } else {
        new_path(fd, path, sizeof path);
        if (!(connector = dlopen(path, RTLD_NOW | RTLD_LOCAL | scope_for(base))))
            complain("%s: its connector can't be loaded: %s", libhdf5, dlerror());
    }
    if (fd >= 0)
        (void)close(fd);
    return connector;
}

static void *load_connector(const void *base, const char *libhdf5)
{
    size_t size = 0;
    void *connector = NULL;
    int fd = open_connector(libhdf5);
    if (fd < 0)
        return NULL;
    char *bytes = read_whole(fd, &size);
    (void)close(fd);
    if (!bytes)
        complain("the connector for %s can't be read; install it again", libhdf5);
    else if (name_library(bytes, size, libhdf5))
        connector = load_copy(bytes, size, base, libhdf5);
    free(bytes);
    return connector;
}

/* ---- HDF5's entry points ---- */

static void *connector_of(const void *base, const char *libhdf5)
{
    for (size_t i = 0; i < n_served; i++)
        if (served[i].base == base && strcmp(served[i].path, libhdf5) == 0)
            return served[i].connector;
    if (n_served == MAX_LIBRARIES) {
        complain("%s: more than %d libraries of HDF5 in one process", libhdf5, MAX_LIBRARIES);
        return NULL;
    }
    char *path = strdup(libhdf5);
    void *connector = path ? load_connector(base, libhdf5) : NULL;
    if (!connector) {
        free(path);
        return NULL;
    }
    served[n_served++] = (struct served){base, path, connector};
    return connector;
}

int H5PLget_plugin_type(void)
{
    return PLUGIN_TYPE_VOL;
}

const void *H5PLget_plugin_info(void)
{
    Dl_info asks;
    char libhdf5[PATH_MAX];
    const void *(*info)(void) = NULL;
    if (!dladdr(__builtin_return_address(0), &asks) || !realpath(asks.dli_fname, libhdf5))
        return NULL;
    (void)pthread_mutex_lock(&lock);
    void *connector = connector_of(asks.dli_fbase, libhdf5);
    (void)pthread_mutex_unlock(&lock);
    if (connector)
        *(const void **)&info = dlsym(connector, "H5PLget_plugin_info");
    return info ? info() : NULL;
}

/* HDF5 unloads the plugin when it ends, in the order of its own choice: with the loader go its connectors. */
__attribute__((destructor)) static void unload(void)
{
    for (size_t i = 0; i < n_served; i++) {
        (void)dlclose(served[i].connector);
        free(served[i].path);
    }
    n_served = 0;
}
