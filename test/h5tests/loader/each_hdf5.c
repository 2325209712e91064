/* each_hdf5.c DOMAIN-FOLDER LIBRARY...: each libhdf5, opened as Python opens a wheel's (RTLD_LOCAL), makes a
 * domain of its own by the loader and reads it again.  All are open at once, and used in turn.  Nothing here
 * is linked with HDF5, unless the program was built with EACH_IS_LINKED. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t hid_t; /* as in H5Ipublic.h of all versions served */
enum { MOST = 8, TRUNC = 2, RDONLY = 0, DEFAULT = 0, ALL = 0 };

static int failures;

static void check(int ok, const char *what, const char *which)
{
    if (!ok) {
        printf("%s: %s\n", which, what);
        failures++;
    }
}

struct hdf5 {
    const char *path;
    void *library;
    hid_t file;
    char name[4096];
};

static void *symbol(const struct hdf5 *h, const char *name)
{
    void *s = dlsym(h->library, name);
    if (!s) {
        printf("%s: no %s\n", h->path, name);
        exit(1);
    }
    return s;
}

/* In a program that is itself linked with HDF5, a library's variables would otherwise be the program's. */
#ifdef EACH_IS_LINKED
#define SCOPE RTLD_DEEPBIND
extern int H5open(void);
#else
#define SCOPE 0
#endif

#define CALL(h, ret, name, ...) (*(ret(*)())symbol(h, name))(__VA_ARGS__)

static hid_t id(const struct hdf5 *h, const char *name)
{
    return *(hid_t *)symbol(h, name);
}

static void start(struct hdf5 *h, const char *folder, int number)
{
    unsigned major = 0, minor = 0, release = 0;
    h->library = dlopen(h->path, RTLD_NOW | RTLD_LOCAL | SCOPE);
    if (!h->library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    check(CALL(h, int, "H5open") >= 0, "H5open", h->path);
    check(CALL(h, int, "H5get_libversion", &major, &minor, &release) >= 0, "H5get_libversion", h->path);
    (void)snprintf(h->name, sizeof h->name, "%s/of%d.h5", folder, number);
    printf("%s is HDF5 %u.%u.%u\n", h->path, major, minor, release);
}

static void write_domain(struct hdf5 *h, int32_t value)
{
    uint64_t dims[1] = {1};
    int rank = 1;
    h->file = CALL(h, hid_t, "H5Fcreate", h->name, (unsigned)TRUNC, (hid_t)DEFAULT, (hid_t)DEFAULT);
    check(h->file > 0, "H5Fcreate", h->path);
    hid_t space = CALL(h, hid_t, "H5Screate_simple", rank, dims, NULL);
    hid_t set = CALL(h, hid_t, "H5Dcreate2", h->file, "value", id(h, "H5T_STD_I32BE_g"), space,
                     (hid_t)DEFAULT, (hid_t)DEFAULT, (hid_t)DEFAULT);
    check(set > 0, "H5Dcreate2", h->path);
    check(CALL(h, int, "H5Dwrite", set, id(h, "H5T_NATIVE_INT32_g"), (hid_t)ALL, (hid_t)ALL, (hid_t)DEFAULT,
               &value) >= 0,
          "H5Dwrite", h->path);
    check(CALL(h, int, "H5Dclose", set) >= 0 && CALL(h, int, "H5Sclose", space) >= 0, "closing", h->path);
}

static void read_domain(struct hdf5 *h, int32_t want)
{
    int32_t value = 0;
    hid_t file = CALL(h, hid_t, "H5Fopen", h->name, (unsigned)RDONLY, (hid_t)DEFAULT);
    check(file > 0, "H5Fopen", h->path);
    hid_t set = CALL(h, hid_t, "H5Dopen2", file, "value", (hid_t)DEFAULT);
    check(CALL(h, int, "H5Dread", set, id(h, "H5T_NATIVE_INT32_g"), (hid_t)ALL, (hid_t)ALL, (hid_t)DEFAULT,
               &value) >= 0,
          "H5Dread", h->path);
    check(value == want, "another value than it wrote", h->path);
    check(CALL(h, int, "H5Dclose", set) >= 0 && CALL(h, int, "H5Fclose", file) >= 0, "closing", h->path);
}

/* A file that is absent: the connector's own message must be on the error stack of the library that asked. */
static int noted(unsigned n, const void *error, void *arg)
{
    (void)n, (void)error;
    ++*(int *)arg;
    return 0;
}

static void fail_to_open(struct hdf5 *h)
{
    int n = 0;
    CALL(h, int, "H5Eset_auto2", (hid_t)0, NULL, NULL);
    check(CALL(h, hid_t, "H5Fopen", "/nonexistent/file.h5", (unsigned)RDONLY, (hid_t)DEFAULT) < 0,
          "an absent file opens", h->path);
    CALL(h, int, "H5Ewalk2", (hid_t)0, 0, noted, &n);
    check(n > 0, "no error on the stack", h->path);
}

static void close_all(struct hdf5 *h, int n)
{
    for (int i = 0; i < n; i++)
        check(CALL(&h[i], int, "H5Fclose", h[i].file) >= 0, "H5Fclose", h[i].path);
}

int main(int argc, char **argv)
{
    struct hdf5 h[MOST] = {{0}};
    int n = argc - 2;
    if (n < 1 || n > MOST)
        return 2;
#ifdef EACH_IS_LINKED
    check(H5open() >= 0, "H5open", "the program's own HDF5");
#endif
    for (int i = 0; i < n; i++) {
        h[i].path = argv[i + 2];
        start(&h[i], argv[1], i);
    }
    for (int round = 0; round < 2; round++) { /* the second time after H5close(), which unloads the plugin */
        for (int i = 0; i < n; i++)
            write_domain(&h[i], 100 * i + round);
        close_all(h, n);
        for (int i = n; i-- > 0;)
            read_domain(&h[i], 100 * i + round);
        for (int i = 0; i < n; i++) {
            fail_to_open(&h[i]);
            check(CALL(&h[i], int, "H5close") >= 0, "H5close", h[i].path);
        }
        for (int i = 0; round == 0 && i < n; i++)
            check(CALL(&h[i], int, "H5open") >= 0, "H5open again", h[i].path);
    }
    printf(failures ? "%d failures\n" : "each of %d was served\n", failures ? failures : n);
    return failures > 0;
}
