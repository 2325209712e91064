/* Filters of the program's own (H5Zregister): the connector calls them as HDF5 does, on the program's thread,
 * where they may call HDF5.  A chunk's stored form shows whether they were called, as often as for HDF5's own
 * file. */
#include "h5tests/helpers/compare_write.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID      305
#define CHUNK   (16u << 10) /* elements */
#define REFUSED 0x5eed0bad  /* a chunk that begins with it can't be encoded */

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static pthread_t program;
static unsigned  elsewhere; /* calls on other threads */
static unsigned  calls, calls_again;
static bool      broken;    /* nothing can be encoded */
static hid_t     asked = H5I_INVALID_HID; /* a dataset of one element that the filter reads each time */

/* The type's size and the chunk's elements, as a filter learns them. */
static herr_t set_local(hid_t dcpl, hid_t type, hid_t space)
{
    hsize_t  dims[2] = {1, 1};
    unsigned cd[2]   = {(unsigned)H5Tget_size(type), 0}, flags;
    (void)space;
    H5Pget_chunk(dcpl, 2, dims);
    cd[1] = (unsigned)(dims[0] * dims[1]);
    size_t n = 0;
    H5Pget_filter_by_id2(dcpl, ID, &flags, &n, NULL, 0, NULL, NULL);
    return H5Pmodify_filter(dcpl, ID, flags, 2, cd);
}

static size_t complain(const char *what)
{
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_PLINE, H5E_CALLBACK, "%s", what);
    return 0;
}

/* 8 bytes in front, and each byte turned; by memory of HDF5's. */
static size_t turn(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *size, void **buf)
{
    static const unsigned char head[] = {'t', 'u', 'r', 'n', 'e', 'd', '\r', '\n'};
    bool     back = flags & H5Z_FLAG_REVERSE;
    unsigned first;
    elsewhere += !pthread_equal(pthread_self(), program);
    calls++;
    int one;
    if (asked >= 0 && H5Dread(asked, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one) < 0)
        return complain("nothing to read");
    if (n_cd != 2)
        return complain("set_local was not called");
    memcpy(&first, *buf, n < sizeof first ? n : sizeof first);
    if (back && (n < sizeof head || memcmp(*buf, head, sizeof head) != 0 || n - sizeof head != (size_t)cd[0] * cd[1]))
        return complain("not turned");
    if (!back && (broken || first == REFUSED))
        return complain("refused");
    size_t         len = back ? n - sizeof head : n + sizeof head;
    unsigned char *to = H5allocate_memory(len, false), *from = *buf;
    if (!back)
        memcpy(to, head, sizeof head);
    for (size_t i = 0; i < n - (back ? sizeof head : 0); i++)
        to[back ? i : i + sizeof head] = from[back ? i + sizeof head : i] ^ 0x55;
    H5free_memory(*buf);
    *buf  = to;
    *size = len;
    return len;
}

/* The same in another place. */
static size_t turn_again(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *size, void **buf)
{
    calls_again++;
    return turn(flags, n_cd, cd, n, size, buf);
}

static const H5Z_class2_t filter       = {H5Z_CLASS_T_VERS, ID, 1, 1, "turned", NULL, set_local, turn},
                          filter_again = {H5Z_CLASS_T_VERS, ID, 1, 1, "turned", NULL, set_local, turn_again};

/* ---- as HDF5 does it ---- */

static hid_t turned(const hsize_t *chunk, unsigned flags, bool deflated)
{
    const unsigned any = 0;
    hid_t          p   = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 2, chunk);
    if (deflated)
        H5Pset_shuffle(p);
    H5Pset_filter(p, ID, flags, 1, &any);
    if (deflated)
        H5Pset_deflate(p, 1);
    return p;
}

/* @param bytes  their stored forms are compared as well, which differ from HDF5's if we deflate */
static void say_chunks(struct out *o, hid_t d, bool bytes)
{
    hsize_t n = 0;
    H5Dget_num_chunks(d, H5S_ALL, &n);
    say(o, "%llu chunks", (unsigned long long)n);
    for (hsize_t i = 0; i < n; i++) {
        hsize_t  at[2] = {0, 0}, size = 0;
        unsigned mask  = 0;
        uint32_t left  = 0;
        haddr_t  addr;
        H5Dget_chunk_info(d, H5S_ALL, i, at, &mask, &addr, &size);
        say(o, "(%llu, %llu): without %u", (unsigned long long)at[0], (unsigned long long)at[1], mask);
        if (!bytes)
            continue;
        unsigned char *raw = must(malloc((size_t)size + 1));
        say_result(o, "as stored", H5Dread_chunk(d, H5P_DEFAULT, at, &left, raw));
        say_bytes(o, "bytes", raw, (size_t)size);
        free(raw);
    }
}

static void say_values(struct out *o, hid_t d, const char *what)
{
    hid_t    s = H5Dget_space(d);
    hssize_t n = H5Sget_simple_extent_npoints(s);
    int     *v = must(calloc((size_t)n + 1, sizeof *v));
    say_result(o, what, H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_bytes(o, what, v, (size_t)n * sizeof *v);
    free(v);
    H5Sclose(s);
}

static void write_box(struct out *o, hid_t d, hsize_t row, hsize_t col, hsize_t rows, hsize_t cols, int base)
{
    const hsize_t start[] = {row, col}, count[] = {rows, cols};
    hid_t         file = H5Dget_space(d), mem = H5Screate_simple(2, count, NULL);
    int          *v = must(malloc((size_t)(rows * cols) * sizeof *v));
    for (hsize_t i = 0; i < rows * cols; i++)
        v[i] = base + (int)i;
    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    say_result(o, "writing a box", H5Dwrite(d, H5T_NATIVE_INT, mem, file, H5P_DEFAULT, v));
    free(v);
    H5Sclose(mem);
    H5Sclose(file);
}

static const hsize_t chunk[] = {64, CHUNK / 64}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED};

static hid_t new_turned(hid_t f, const char *name, unsigned flags, bool deflated)
{
    const hsize_t dims[] = {4 * chunk[0], 3 * chunk[1]};
    hid_t s = H5Screate_simple(2, dims, most), p = turned(chunk, flags, deflated), d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, p,
                                                                                              H5P_DEFAULT);
    H5Pclose(p);
    H5Sclose(s);
    return d;
}

static void change(hid_t f, struct out *o, const char *name, bool deflated)
{
    const hsize_t less[] = {100, 300}, more[] = {200, 700}, whole[] = {0, 0};
    hid_t         d = new_turned(f, name, H5Z_FLAG_MANDATORY, deflated);
    say_result(o, "creating", d);
    write_box(o, d, 0, 0, 4 * chunk[0], 3 * chunk[1], 1); /* whole chunks */
    say_values(o, d, "all");
    say_result(o, "flushing", H5Fflush(f, H5F_SCOPE_LOCAL));
    write_box(o, d, 10, 10, 100, 300, 1000000); /* parts of them, over stored chunks */
    say_values(o, d, "with a box");
    say_result(o, "shrinking", H5Dset_extent(d, less));
    say_result(o, "growing", H5Dset_extent(d, more));
    say_values(o, d, "shrunk and grown");
    say_result(o, "copying", H5Ocopy(f, name, f, deflated ? "copy, deflated" : "copy", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "closing", H5Dclose(d));
    d = H5Dopen2(f, name, H5P_DEFAULT);
    say_chunks(o, d, !deflated);
    unsigned char *raw  = must(malloc(CHUNK * sizeof(int) + 4096));
    uint32_t       mask = 0;
    hsize_t        size = 0;
    H5Dget_chunk_storage_size(d, whole, &size);
    say_result(o, "reading a chunk", H5Dread_chunk(d, H5P_DEFAULT, whole, &mask, raw));
    say_result(o, "storing it elsewhere", H5Dwrite_chunk(d, H5P_DEFAULT, mask, chunk, (size_t)size, raw));
    free(raw);
    say_values(o, d, "with it");
    H5Dclose(d);
}

static void changes(hid_t f, struct out *o)
{
    change(f, o, "d", false);
    change(f, o, "deflated", true);
}

static void chunks_stored(hid_t f, struct out *o)
{
    hid_t d = H5Dopen2(f, "d", H5P_DEFAULT);
    say_chunks(o, d, true);
    H5Dclose(d);
}

static void optional(hid_t f, struct out *o)
{
    hid_t d = new_turned(f, "optional", H5Z_FLAG_OPTIONAL, false);
    write_box(o, d, 0, 0, chunk[0], 2 * chunk[1], (int)REFUSED);
    write_box(o, d, chunk[0], 0, chunk[0], chunk[1], 7);
    H5Dclose(d);
    d = H5Dopen2(f, "optional", H5P_DEFAULT);
    say_values(o, d, "values");
    say_chunks(o, d, true);
    H5Dclose(d);
}

/* Decoding fails, with words of the filter's own on HDF5's stack. */
static void garbage(hid_t f, struct out *o)
{
    const hsize_t at[] = {0, 0};
    char          bytes[100] = "no such thing";
    hid_t         d = new_turned(f, "garbage", H5Z_FLAG_MANDATORY, false);
    say_result(o, "storing garbage", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof bytes, bytes));
    H5Dclose(d);
    d = H5Dopen2(f, "garbage", H5P_DEFAULT);
    int *v = must(calloc(4 * 3 * CHUNK, sizeof *v));
    say_result(o, "reading it", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    free(v);
    say_result(o, "storing a whole one again", H5Ldelete(f, "garbage", H5P_DEFAULT));
    H5Dclose(d);
}

/* A checksum that is wrong, and one that isn't checked. */
static void corrupt(hid_t f, struct out *o)
{
    const hsize_t dims[] = {2 * chunk[0], chunk[1]}, at[] = {0, 0};
    unsigned char raw[CHUNK * sizeof(int) + 4];
    uint32_t      mask = 0;
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE), x = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_chunk(p, 2, chunk);
    H5Pset_shuffle(p);
    H5Pset_fletcher32(p);
    hid_t d = H5Dcreate2(f, "corrupt", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    write_box(o, d, 0, 0, dims[0], dims[1], 1);
    H5Fflush(f, H5F_SCOPE_LOCAL);
    say_result(o, "reading a chunk", H5Dread_chunk(d, H5P_DEFAULT, at, &mask, raw));
    raw[5] ^= 0x10;
    say_result(o, "storing it with another bit", H5Dwrite_chunk(d, H5P_DEFAULT, mask, at, sizeof raw, raw));
    H5Dclose(d);
    say_result(o, "flushing", H5Fflush(f, H5F_SCOPE_LOCAL));
    d      = H5Dopen2(f, "corrupt", H5P_DEFAULT);
    int *v = must(calloc(2 * CHUNK, sizeof *v));
    say_result(o, "reading", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Pset_edc_check(x, H5Z_DISABLE_EDC);
    say_result(o, "reading it unchecked", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, x, v));
    say_bytes(o, "values", v, 2 * CHUNK * sizeof *v);
    if (o->ours) /* HDF5's chunk cache has it now */
        FAILS(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "fletcher32");
    free(v);
    H5Dclose(d);
    say_result(o, "unlinking", H5Ldelete(f, "corrupt", H5P_DEFAULT));
    H5Pclose(x);
    H5Pclose(p);
    H5Sclose(s);
}

/* More than the cache keeps, twice: whole chunks pass the cache, others are put over stored ones. */
static void many(hid_t f, struct out *o)
{
    const hsize_t dims[] = {32 * chunk[0], 8 * chunk[1]};
    hid_t         d = new_turned(f, "many", H5Z_FLAG_MANDATORY, false);
    H5Dset_extent(d, dims);
    write_box(o, d, 0, 0, dims[0], dims[1], 1);
    write_box(o, d, 1, 1, dims[0] - 2, dims[1] - 2, 77);
    for (hsize_t row = 0; row < dims[0]; row += 50)
        write_box(o, d, row, 3, 40, dims[1] - 7, (int)row);
    say_values(o, d, "many");
    H5Dclose(d);
}

static const struct write_case cases[] = {
    {"chunks through a filter of the program's", changes, chunks_stored},
    {"one that is optional", optional, NULL},
    {"what it can't decode", garbage, NULL},
    {"a wrong checksum", corrupt, NULL},
    {"more than is kept in memory", many, NULL},
};

/* ---- cases without a native counterpart ---- */

/* A chunk that can't be encoded stays in memory and is stored when it can.  The filter reports an error for
 * each chunk, and HDF5's error stack has fewer places; our message is there all the same. */
static void refuses(hid_t f)
{
    hid_t      d = new_turned(f, "refused", H5Z_FLAG_MANDATORY, false);
    struct out o = {.ours = true};
    H5Dset_extent(d, (hsize_t[]){40 * chunk[0], 3 * chunk[1]});
    for (hsize_t i = 0; i < 40; i++)
        write_box(&o, d, i * chunk[0], 0, chunk[0], chunk[1], 3);
    broken = true;
    FAILS(H5Fflush(f, H5F_SCOPE_LOCAL), "filter turned can't be applied to the chunk");
    broken = false;
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "once it can: %s", error_text());
    CHECK(H5Dclose(d) >= 0, "closing: %s", error_text());
    free(o.text);
}

static void set_one(const char *name, hsize_t col, int v)
{
    hid_t fapl = fapl_ours(NULL), f = H5Fopen(name, H5F_ACC_RDWR, fapl), d = H5Dopen2(f, "shared", H5P_DEFAULT), s = H5Dget_space(d),
          m = H5Screate(H5S_SCALAR);
    H5Sselect_elements(s, H5S_SELECT_SET, 1, (hsize_t[]){0, col});
    if (H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) < 0 || H5Fclose(f) < 0 || H5Dclose(d) < 0)
        _exit(1);
    H5Sclose(s);
    H5Sclose(m);
    H5Pclose(fapl);
}

/* A dataset that is open already. */
static void registered_late(const char *name)
{
    hid_t fapl = fapl_ours("chunk_cache=0"), f = H5Fopen(name, H5F_ACC_RDWR, fapl), d = H5Dopen2(f, "refused", H5P_DEFAULT),
          m = H5Screate(H5S_SCALAR);
    int   one = 0;
    FAILS(H5Zunregister(ID), "still using it"); /* HDF5 asks us for the filters of open datasets */
    H5Dclose(d);
    CHECK(H5Zunregister(ID) >= 0, "%s", error_text());
    d       = H5Dopen2(f, "refused", H5P_DEFAULT);
    hid_t s = H5Dget_space(d);
    H5Sselect_elements(s, H5S_SELECT_SET, 1, (hsize_t[]){0, 1});
    FAILS(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &one), "H5Zregister");
    FAILS(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &one), "H5Zregister");
    CHECK(H5Zregister(&filter) >= 0, "%s", error_text());
    CHECK(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &one) >= 0 && one == 4, "read with it: %d, %s", one, error_text());
    one = 44;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &one) >= 0, "written with it: %s", error_text());
    H5Sclose(m);
    H5Sclose(s);
    H5Dclose(d);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    H5Pclose(fapl);
}

static int read_one(hid_t d, hsize_t row, hsize_t col)
{
    hid_t s = H5Dget_space(d), m = H5Screate(H5S_SCALAR);
    int   v = -1;
    H5Sselect_elements(s, H5S_SELECT_SET, 1, (hsize_t[]){row, col});
    CHECK(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) >= 0, "reading one: %s", error_text());
    H5Sclose(m);
    H5Sclose(s);
    return v;
}

static void write_one(hid_t d, hsize_t row, hsize_t col, int v)
{
    hid_t s = H5Dget_space(d), m = H5Screate(H5S_SCALAR);
    H5Sselect_elements(s, H5S_SELECT_SET, 1, (hsize_t[]){row, col});
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) >= 0, "writing one: %s", error_text());
    H5Sclose(m);
    H5Sclose(s);
}

/* Chunks are kept after a dataset is closed, and so is the filter that it had then. */
static void registered_again(const char *name)
{
    static unsigned char raw[CHUNK * sizeof(int) + 8];
    hid_t fapl = fapl_ours("chunk_cache=0"), f = H5Fopen(name, H5F_ACC_RDWR, fapl),
          d = new_turned(f, "again", H5Z_FLAG_MANDATORY, false);
    uint32_t mask = 0;
    struct out o  = {.ours = true};
    write_box(&o, d, 0, 0, 4 * chunk[0], chunk[1], 1);
    CHECK(H5Dread_chunk(d, H5P_DEFAULT, (hsize_t[]){0, 0}, &mask, raw) >= 0, "%s", error_text());
    H5Dclose(d);
    H5Fclose(f);
    CHECK(H5Zunregister(ID) >= 0, "%s", error_text());
    f = H5Fopen(name, H5F_ACC_RDWR, fapl);
    d = H5Dopen2(f, "again", H5P_DEFAULT);
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, (hsize_t[]){0, chunk[1]}, sizeof raw, raw) >= 0, "%s", error_text());
    CHECK(H5Zregister(&filter) >= 0, "%s", error_text());
    CHECK(read_one(d, 0, chunk[1] + 3) == 4, "a chunk that was there before its filter");
    write_one(d, 0, chunk[1] + 3, 44);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    H5Dclose(d);
    CHECK(H5Zunregister(ID) >= 0 && H5Zregister(&filter_again) >= 0, "%s", error_text());
    calls = calls_again = 0;
    d = H5Dopen2(f, "again", H5P_DEFAULT);
    write_one(d, chunk[0], 0, 55);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(calls && calls_again == calls, "the filter's new function was called %u times of %u", calls_again, calls);
    CHECK(read_one(d, 0, chunk[1] + 3) == 44 && read_one(d, chunk[0], 0) == 55, "values through both");
    H5Dclose(d);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    CHECK(H5Zunregister(ID) >= 0 && H5Zregister(&filter) >= 0, "%s", error_text());
    free(o.text);
    H5Pclose(fapl);
}

/* A filter that reads from the same file, while chunks that it encoded are on their way. */
static void reads_itself(const char *name)
{
    static unsigned char raw[CHUNK * sizeof(int) + 8];
    hid_t fapl = fapl_ours("chunk_cache=0"), f = H5Fopen(name, H5F_ACC_RDWR, fapl), s = H5Screate(H5S_SCALAR),
          one = H5Dcreate2(f, "one", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), d = new_turned(f, "reads", H5Z_FLAG_MANDATORY, false);
    struct out o    = {.ours = true};
    uint32_t   mask = 0;
    write_one(d, 0, 0, 3);
    CHECK(H5Dread_chunk(d, H5P_DEFAULT, (hsize_t[]){0, 0}, &mask, raw) >= 0, "%s", error_text());
    asked = one;
    write_box(&o, d, 0, chunk[1], 4 * chunk[0], 2 * chunk[1], 1);
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, (hsize_t[]){chunk[0], 0}, sizeof raw, raw) >= 0, "%s", error_text());
    CHECK(read_one(d, chunk[0], 0) == 3, "a chunk that the program encoded");
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, (hsize_t[]){2 * chunk[0], 0}, sizeof raw, raw) >= 0, "%s", error_text());
    write_one(d, 2 * chunk[0], 1, 5);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(read_one(d, 2 * chunk[0], 0) == 3 && read_one(d, 2 * chunk[0], 1) == 5, "one that was written over");
    asked = H5I_INVALID_HID;
    H5Dclose(d);
    H5Dclose(one);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    free(o.text);
    H5Sclose(s);
    H5Pclose(fapl);
}

/* Two writers of one chunk: the second finds it changed, and puts its element over the other's version. */
static void loses_a_race(hid_t f, const char *name)
{
    hid_t d = new_turned(f, "shared", H5Z_FLAG_MANDATORY, false), s = H5Dget_space(d), m = H5Screate(H5S_SCALAR);
    int   v = 1, got[3] = {0};
    H5Fflush(f, H5F_SCOPE_LOCAL);
    for (hsize_t i = 0; i < 3; i++) { /* known by then, so that the next is stored on condition */
        H5Sselect_elements(s, H5S_SELECT_SET, 1, (hsize_t[]){0, i});
        if (i == 2) {
            int   status = -1;
            pid_t child  = fork();
            if (child == 0) {
                set_one(name, 5, 55);
                _exit(0);
            }
            CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the other writer: %d", status);
        }
        v = (int)i + 11;
        CHECK(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    }
    H5Sselect_elements(s, H5S_SELECT_SET, 3, (hsize_t[]){0, 0, 0, 2, 0, 5});
    hid_t three = H5Screate_simple(1, (hsize_t[]){3}, NULL);
    CHECK(H5Dread(d, H5T_NATIVE_INT, three, s, H5P_DEFAULT, got) >= 0, "%s", error_text());
    CHECK(got[0] == 11 && got[1] == 13 && got[2] == 55, "both writers' elements: %d %d %d", got[0], got[1], got[2]);
    H5Sclose(three);
    H5Sclose(m);
    H5Sclose(s);
    H5Dclose(d);
}

/* A file of HDF5's with such chunks. */
static void make_plain(const char *name)
{
    struct out o    = {.text = NULL};
    hid_t      fapl = fapl_native(), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), d = new_turned(f, "d", H5Z_FLAG_MANDATORY, true);
    write_box(&o, d, 0, 0, 200, 500, 9);
    free(o.text);
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
}

/* Its bytes become the one chunk object of a dataset in the bucket. */
static void put_plain(const struct out *o, const char *name, char *uri, size_t n_uri)
{
    static unsigned char bytes[1 << 20];
    const char          *bucket = getenv("BKT_H5_WRITE");
    FILE                *in     = fopen(name, "rb");
    hsize_t              n      = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    char                 key[100];
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "bytes.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), s = H5Screate_simple(1, &n, NULL);
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 1, &n);
    hid_t d = H5Dcreate2(f, "bytes", H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    CHECK(in && n && n < sizeof bytes && H5Dwrite(d, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0, "%s", error_text());
    chunk_key(d, key, sizeof key);
    snprintf(uri, n_uri, "%.*s/%s", (int)strcspn(bucket + 5, "/") + 5, bucket, key);
    if (in)
        fclose(in);
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    H5Pclose(fapl);
}

/* Chunks in a file that is referred to; several of them come in one range. */
static void referred_to(const struct out *o)
{
    const char *tool = getenv("BKT_TOOL"), *to = new_name(o, "referring.h5"), *plain = new_name(&(struct out){.ours = false}, "plain.h5");
    char        cmd[20000], from[9000];
    make_plain(plain);
    snprintf(from, sizeof from, "%s", plain);
    if (strncmp(to, "s3:", 3) == 0)
        put_plain(o, plain, from, sizeof from);
    snprintf(cmd, sizeof cmd, "'%s' load --link '%s' '%s'", tool, from, to);
    CHECK(tool && system(cmd) == 0, "%s", cmd);
    hid_t fapl = fapl_ours("allow=file:///"), f = H5Fopen(to, H5F_ACC_RDONLY, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT);
    int  *v    = must(calloc(12 * CHUNK, sizeof *v));
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s", error_text());
    CHECK(v[0] == 9 && v[499] == 508 && v[3 * chunk[1]] == 509, "values referred to: %d %d %d", v[0], v[499], v[3 * chunk[1]]);
    free(v);
    H5Dclose(d);
    H5Fclose(f);
    H5Fdelete(to, fapl);
    H5Fdelete(new_name(o, "bytes.h5"), fapl);
    H5Eclear2(H5E_DEFAULT);
    H5Pclose(fapl);
    unlink(plain);
}

static void alone(const struct out *o)
{
    const char *name = new_name(o, "alone.h5");
    hid_t       fapl = new_fapl(o), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    refuses(f);
    loses_a_race(f, name);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    registered_late(name);
    registered_again(name);
    reads_itself(name);
    H5Fdelete(name, fapl);
    H5Pclose(fapl);
    referred_to(o);
}

int main(void)
{
    program = pthread_self();
    if (H5Zregister(&filter) < 0)
        return 1;
    compare_write_extra(alone, &(struct out){.ours = true});
    int rc = compare_write_main(cases, COUNT(cases));
    if (elsewhere)
        printf("the filter was called %u times on other threads than the program's\n", elsewhere);
    return rc || elsewhere;
}
