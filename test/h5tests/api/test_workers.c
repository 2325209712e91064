/* Workers compress chunks while the program goes on.  Our program has functions with the names of the
 * compressors' own, which record the calling thread. */
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define CHUNK (64u << 10) /* elements: 256 KiB */
#define N     64

static pthread_t   program;
static atomic_uint by_program, by_workers;

__attribute__((visibility("default"))) int   isal_deflate_stateless(void *stream);
__attribute__((visibility("default"))) void *libdeflate_alloc_compressor(int level);

/* Until the workers have done as many; not seen within a minute they never will. */
static void await_workers(unsigned n, const char *what)
{
    for (unsigned ms = 0; ms < 60000 && atomic_load(&by_workers) < n; ms++)
        (void)usleep(1000);
    if (atomic_load(&by_workers) >= n)
        return;
    printf("%s: the workers have compressed %u chunks, the program's thread %u\n", what, atomic_load(&by_workers), atomic_load(&by_program));
    (void)fflush(NULL);
    _exit(1); /* not by HDF5's handlers: we may be inside of it */
}

/* The program's thread may help while it waits, but not before a worker has begun. */
static void note(void)
{
    if (!pthread_equal(pthread_self(), program)) {
        atomic_fetch_add(&by_workers, 1);
        return;
    }
    atomic_fetch_add(&by_program, 1);
    await_workers(1, "when the program's thread compresses, too");
}

static void *real(const char *library, const char *name)
{
    void *lib = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *f = lib ? dlsym(lib, name) : NULL;
    if (!f) {
        printf("%s has no %s\n", library, name);
        exit(1);
    }
    return f;
}

int isal_deflate_stateless(void *stream)
{
    int (*f)(void *);
    void *p = real("libisal.so.2", __func__);
    memcpy(&f, &p, sizeof f);
    note();
    return f(stream);
}

void *libdeflate_alloc_compressor(int level)
{
    void *(*f)(int);
    void *p = real("libdeflate.so.0", __func__);
    memcpy(&f, &p, sizeof f);
    note();
    return f(level);
}

static void write_part(hid_t d, unsigned first, unsigned n_chunks)
{
    hsize_t start = (hsize_t)first * CHUNK, n = (hsize_t)n_chunks * CHUNK;
    hid_t   s = H5Dget_space(d), m = H5Screate_simple(1, &n, NULL);
    int    *v = malloc((size_t)n * sizeof *v);
    for (hsize_t i = 0; v && i < n; i++)
        v[i] = (int)((start + i) * 2654435761u >> 12);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &start, NULL, &n, NULL);
    CHECK(v && H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v) >= 0, "%s", error_text());
    free(v);
    H5Sclose(m);
    H5Sclose(s);
}

/* While the program computes, or does anything else outside HDF5. */
static void chunk_by_chunk(hid_t f, const char *name, unsigned level)
{
    hid_t d = make_dataset(f, name, &(struct made){.dims = {N * CHUNK}, .chunk = {CHUNK}, .deflate = level});
    atomic_store(&by_program, 0);
    atomic_store(&by_workers, 0);
    for (unsigned i = 0; i < N; i++)
        write_part(d, i, 1);
    await_workers(N / 2, "after the writes, and before a flush");
    CHECK(!atomic_load(&by_program), "%s: H5Dwrite itself compressed %u chunks", name, atomic_load(&by_program));
    CHECK(H5Dclose(d) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(atomic_load(&by_program) + atomic_load(&by_workers) == N, "%u and %u chunks compressed", atomic_load(&by_program),
          atomic_load(&by_workers));
}

static void all_at_once(hid_t f, const char *name, unsigned level)
{
    hid_t d = make_dataset(f, name, &(struct made){.dims = {N * CHUNK}, .chunk = {CHUNK}, .deflate = level});
    atomic_store(&by_program, 0);
    atomic_store(&by_workers, 0);
    write_part(d, 0, N);
    CHECK(H5Dclose(d) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(atomic_load(&by_workers) && atomic_load(&by_program) + atomic_load(&by_workers) == N, "%u and %u chunks compressed",
          atomic_load(&by_program), atomic_load(&by_workers));
}

int main(void)
{
    char connector[32] = "", dir[] = "/tmp/h5workers.XXXXXX", name[100], cmd[100];
    program = pthread_self();
    if (!mkdtemp(dir))
        return 1;
    snprintf(name, sizeof name, "file://%s/d.h5", dir);
    hid_t fapl = fapl_ours("test.write_cache=64M"), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0 && H5VLget_connector_name(f, connector, sizeof connector) > 0 && strcmp(connector, "bucket") == 0, "served by '%s'", connector);
    chunk_by_chunk(f, "steps, level 1", 1);
    chunk_by_chunk(f, "steps, level 6", 6);
    all_at_once(f, "level 1", 1);
    all_at_once(f, "level 6", 6);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    H5Pclose(fapl);
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    CHECK(system(cmd) == 0, "%s", cmd);
    return failures != 0;
}
