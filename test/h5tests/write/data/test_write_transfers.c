/* Elements on other ways: transfer lists with a selection, chunks one by one, memory to memory, selections made of
 * others, several files in one call. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"
#include "h5tests/write/data/chunked_list.h"

/* ---- transfer lists ---- */

static void write_transfers(hid_t f, struct out *o)
{
    hsize_t n = 10, chunk = 4, start = 2, count = 3, stride = 2, one = 1;
    int     v[10], w[10];
    hid_t   s = H5Screate_simple(1, &n, NULL), p = H5Pcreate(H5P_DATASET_CREATE), x = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_chunk(p, 1, &chunk);
    H5Pset_chunk_opts(p, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    H5Pset_deflate(p, 3);
    H5Pset_fletcher32(p);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "H5Dcreate", d);
    for (int i = 0; i < 10; i++)
        v[i] = i * 3;
    unsigned opts = 0;
    hid_t    got = H5Dget_create_plist(d);
    H5Pget_chunk_opts(got, &opts);
    say(o, "options %u", opts);
    H5Pclose(got);
    say_result(o, "H5Pset_buffer", H5Pset_buffer(x, 16, NULL, NULL));
    say_result(o, "H5Pset_preserve", H5Pset_preserve(x, true));
    say_result(o, "H5Pset_edc_check", H5Pset_edc_check(x, H5Z_DISABLE_EDC));
    say_result(o, "H5Pset_hyper_vector_size", H5Pset_hyper_vector_size(x, 8));
    say_result(o, "H5Pset_btree_ratios", H5Pset_btree_ratios(x, 0.1, 0.5, 0.9));
    say_result(o, "H5Pset_selection_io", H5Pset_selection_io(x, H5D_SELECTION_IO_MODE_ON));
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, x, v));
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, x, w));
    say_bytes(o, "values", w, sizeof w);
    /* a selection in the list: HDF5's own code only reads it from there (and crashes without one) */
    say_result(o, "selection", H5Pset_dataset_io_hyperslab_selection(x, 1, H5S_SELECT_SET, &start, &stride, &count, &one));
    if (o->ours) {
        CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_PLIST, x, w) < 0 && strstr(error_text(), "H5S_PLIST"), "H5S_PLIST is read");
        CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_PLIST, x, w) < 0 && strstr(error_text(), "H5S_PLIST"), "H5S_PLIST is written");
    }
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread, H5S_BLOCK", H5Dread(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_ALL, x, w));
    say_bytes(o, "values", w, sizeof w);
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    H5Dget_space_status(d, &status);
    hsize_t chunks = 0, offset = 0, size = 0;
    unsigned mask = 0;
    haddr_t  addr = 0;
    say_result(o, "H5Dget_num_chunks", H5Dget_num_chunks(d, H5S_ALL, &chunks));
    say(o, "status %d chunks %llu", status, (unsigned long long)chunks);
    for (hsize_t i = 0; i < 4; i++) {
        hsize_t at = i * 4 + 1;
        say_result(o, "H5Dget_chunk_info", H5Dget_chunk_info(d, H5S_ALL, i, &offset, &mask, &addr, &size));
        say(o, "at %llu mask %u", (unsigned long long)offset, mask);
        if (i == 3) /* HDF5 looks it up beyond the end of its index */
            continue;
        say_result(o, "H5Dget_chunk_info_by_coord", H5Dget_chunk_info_by_coord(d, &at, &mask, &addr, &size));
        say_result(o, "H5Dget_chunk_storage_size", H5Dget_chunk_storage_size(d, &at, &size));
    }
    H5Dclose(d);
    H5Pclose(x);
    H5Pclose(p);
    H5Sclose(s);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- chunks, one after the other ---- */

struct visit {
    struct out *o;
    int         left;
};

static int one_chunk(const hsize_t *at, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct visit *v = arg;
    say(v->o, "chunk at %" PRIuHSIZE " %" PRIuHSIZE " mask %u size %" PRIuHSIZE, at[0], at[1], mask, size);
    (void)addr; /* an object of its own lies at no address */
    return --v->left == 0;
}

/* 64 KiB, so that each is stored by itself, and its stored size is the one that HDF5 returns. */
static void chunks(hid_t f, struct out *o)
{
    const hsize_t dims[] = {384, 256}, chunk[] = {128, 128}, start[] = {130, 0}, count[] = {200, 100};
    static int    v[384 * 256];
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 2, chunk);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    for (int i = 0; i < 2; i++) {
        struct visit all = {o, 99}, some = {o, 1};
        hsize_t      n = 0;
        say_result(o, "H5Dget_num_chunks", H5Dget_num_chunks(d, H5S_ALL, &n));
        say(o, "%" PRIuHSIZE " chunks", n);
        say_result(o, "H5Dchunk_iter", H5Dchunk_iter(d, H5P_DEFAULT, one_chunk, &all));
        say_result(o, "H5Dchunk_iter, stopped", H5Dchunk_iter(d, H5P_DEFAULT, one_chunk, &some));
        say(o, "%d and %d left", all.left, some.left);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, s, s, H5P_DEFAULT, v));
        H5Fflush(f, H5F_SCOPE_LOCAL);
    }
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
}

/* ---- elements from one piece of memory to another ---- */

static herr_t give_two(const void **src, size_t *bytes, void *arg)
{
    int **next = arg;
    *src       = *next;
    *bytes     = 2 * sizeof **next;
    *next += 2;
    return 0;
}

static herr_t take(const void *buf, size_t bytes, void *arg)
{
    say_bytes(arg, "gathered", buf, bytes);
    return 0;
}

static void memory(hid_t f, struct out *o)
{
    const hsize_t n = 8, start = 1, stride = 2, count = 4;
    int           v[8], w[8] = {0}, bytes[3] = {0}, fill = 7;
    hid_t         s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &n, NULL), vl = H5Tvlen_create(H5T_NATIVE_INT);
    hid_t         d = H5Dcreate2(f, "d", H5T_STD_I32BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 8; i++)
        v[i] = i * i;
    H5Sselect_hyperslab(m, H5S_SELECT_SET, &start, &stride, &count, NULL);
    say_result(o, "H5Dfill", H5Dfill(&fill, H5T_NATIVE_INT, v, H5T_NATIVE_INT, m));
    int *next = v;
    say_result(o, "H5Dscatter", H5Dscatter(give_two, &next, H5T_NATIVE_INT, m, w));
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, m, m, H5P_DEFAULT, w));
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w));
    say_result(o, "H5Dgather", H5Dgather(m, w, H5T_NATIVE_INT, sizeof bytes, bytes, take, o));
    H5Dclose(d);
    /* memory that a read allocated */
    hvl_t  in[8] = {{0, NULL}}, back[8] = {{0, NULL}};
    hsize_t need = 0;
    for (int i = 0; i < 8; i++)
        in[i] = (hvl_t){(size_t)i % 4, v};
    d = H5Dcreate2(f, "lists", vl, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, vl, H5S_ALL, H5S_ALL, H5P_DEFAULT, in));
    say_result(o, "H5Dvlen_get_buf_size", H5Dvlen_get_buf_size(d, vl, m, &need));
    say(o, "%" PRIuHSIZE " bytes", need);
    say_result(o, "H5Dread", H5Dread(d, vl, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    for (int i = 0; i < 8; i++)
        say_bytes(o, "list", back[i].p, back[i].len * sizeof(int));
    say_result(o, "H5Dvlen_reclaim", H5Dvlen_reclaim(vl, s, H5P_DEFAULT, back));
    say(o, "%d", back[3].p == NULL);
    H5Dclose(d);
    H5Tclose(vl);
    H5Sclose(m);
    H5Sclose(s);
}

/* ---- spaces that were put together otherwise ---- */

static void combined(hid_t f, struct out *o)
{
    const hsize_t dims[] = {12, 10}, start[] = {1, 1}, start2[] = {5, 3}, size[] = {6, 6}, chunk[] = {5, 4};
    const hssize_t by[] = {-1, 0};
    unsigned char v[120], code[500];
    size_t        len = sizeof code;
    hid_t         a = H5Screate_simple(2, dims, NULL), b = H5Scopy(a), p = H5Pcreate(H5P_DATASET_CREATE), fapl = new_fapl(o);
    for (int i = 0; i < 120; i++)
        v[i] = (unsigned char)(i + 1);
    H5Pset_chunk(p, 2, chunk);
    H5Sselect_hyperslab(a, H5S_SELECT_SET, start, NULL, size, NULL);
    H5Sselect_hyperslab(b, H5S_SELECT_SET, start2, NULL, size, NULL);
    hid_t both = H5Scombine_select(a, H5S_SELECT_XOR, b), more = H5Scombine_hyperslab(a, H5S_SELECT_OR, start2, NULL, size, NULL);
    H5Smodify_select(b, H5S_SELECT_NOTB, a);
    say_result(o, "H5Sencode2", H5Sencode2(more, code, &len, fapl));
    hid_t back = H5Sdecode(code);
    H5Sselect_adjust(back, by);
    H5Soffset_simple(a, by);
    const struct {
        const char *name;
        hid_t       space;
    } rows[] = {{"exclusive or", both}, {"or", more}, {"not", b}, {"decoded and moved", back}, {"offset", a}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char w[120] = {0};
        hid_t d = H5Dcreate2(f, rows[i].name, H5T_STD_U8LE, b, H5P_DEFAULT, p, H5P_DEFAULT);
        say_result(o, rows[i].name, H5Dwrite(d, H5T_NATIVE_UCHAR, rows[i].space, rows[i].space, H5P_DEFAULT, v));
        say_result(o, "reading", H5Dread(d, H5T_NATIVE_UCHAR, rows[i].space, rows[i].space, H5P_DEFAULT, w));
        say_bytes(o, "values", w, sizeof w);
        H5Dclose(d);
    }
    H5Sclose(both);
    H5Sclose(more);
    H5Sclose(back);
    H5Sclose(a);
    H5Sclose(b);
    H5Pclose(p);
    H5Pclose(fapl);
}

/* ---- datasets of several files in one call, which HDF5 refuses for its own files ---- */

enum { FILES = 3, EACH = 10 };

static hid_t numbers(hid_t f, int first)
{
    const hsize_t n = EACH, chunk = 4;
    int           v[EACH];
    hid_t         s = H5Screate_simple(1, &n, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 1, &chunk);
    hid_t d = H5Dcreate2(f, "numbers", H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < EACH; i++)
        v[i] = first + i;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s", error_text());
    H5Pclose(p);
    H5Sclose(s);
    return d;
}

static void check_numbers(hid_t d, int first, const char *when)
{
    int v[EACH] = {0};
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s: %s", when, error_text());
    for (int i = 0; i < EACH; i++)
        CHECK(v[i] == first + i, "%s: number %d is %d, not %d", when, i, v[i], first + i);
}

/* The same dataset twice: the later one's elements are there. */
static void twice_in_one(hid_t d)
{
    const hsize_t n = 6, at[] = {2, 4};
    int           v[2][6] = {{100, 101, 102, 103, 104, 105}, {200, 201, 202, 203, 204, 205}}, got[EACH] = {0};
    hid_t         m = H5Screate_simple(1, &n, NULL), s[2], ds[] = {d, d}, ms[] = {m, m}, types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT};
    const void   *from[] = {v[0], v[1]};
    for (int k = 0; k < 2; k++) {
        s[k] = H5Dget_space(d);
        H5Sselect_hyperslab(s[k], H5S_SELECT_SET, &at[k], NULL, &n, NULL);
    }
    CHECK(H5Dwrite_multi(2, ds, types, ms, s, H5P_DEFAULT, from) >= 0, "%s", error_text());
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0, "%s", error_text());
    CHECK(got[2] == 100 && got[3] == 101 && got[4] == 200 && got[9] == 205, "%d %d %d %d", got[2], got[3], got[4], got[9]);
    H5Sclose(s[0]);
    H5Sclose(s[1]);
    H5Sclose(m);
}

static void several_files(const struct out *o)
{
    struct out  plain = {.ours = false};
    char        names[FILES][8500];
    hid_t       f[FILES], d[FILES], fapl = new_fapl(o), all[FILES] = {H5S_ALL, H5S_ALL, H5S_ALL};
    hid_t       types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT, H5T_NATIVE_INT}, wrong[] = {H5T_NATIVE_INT, H5T_C_S1};
    int         v[FILES][EACH], got[FILES][EACH] = {{0}};
    const void *from[FILES];
    void       *to[FILES];
    snprintf(names[0], sizeof names[0], "%s", new_name(o, "first.h5"));
    snprintf(names[1], sizeof names[1], "native:%s", new_name(&plain, "plain.h5"));
    snprintf(names[2], sizeof names[2], "%s", new_name(o, "second.h5"));
    for (int k = 0; k < FILES; k++) {
        f[k] = H5Fcreate(names[k], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        CHECK(f[k] >= 0, "%s: %s", names[k], error_text());
        d[k]    = numbers(f[k], 100 * k);
        from[k] = v[k];
        to[k]   = got[k];
        for (int i = 0; i < EACH; i++)
            v[k][i] = 1000 * (k + 1) + i;
    }
    hid_t domains[] = {d[0], d[2]};
    CHECK(H5Dwrite_multi(2, domains, wrong, all, all, H5P_DEFAULT, from) < 0, "numbers as strings");
    for (int k = 0; k < FILES; k++)
        check_numbers(d[k], 100 * k, "one of them can't be converted");
    CHECK(H5Dread_multi(FILES, d, types, all, all, H5P_DEFAULT, to) >= 0, "%s", error_text());
    for (int k = 0; k < FILES; k++)
        CHECK(got[k][0] == 100 * k && got[k][EACH - 1] == 100 * k + EACH - 1, "%d .. %d", got[k][0], got[k][EACH - 1]);
    CHECK(H5Dwrite_multi(FILES, d, types, all, all, H5P_DEFAULT, from) >= 0, "%s", error_text());
    for (int k = 0; k < FILES; k++) {
        H5Dclose(d[k]);
        H5Fclose(f[k]);
        f[k] = H5Fopen(names[k], H5F_ACC_RDWR, fapl);
        d[k] = H5Dopen2(f[k], "numbers", H5P_DEFAULT);
        check_numbers(d[k], 1000 * (k + 1), names[k]);
    }
    twice_in_one(d[0]);
    for (int k = 0; k < FILES; k++) {
        H5Dclose(d[k]);
        H5Fclose(f[k]);
        H5Fdelete(names[k], fapl);
    }
    H5Pclose(fapl);
    H5Eclear2(H5E_DEFAULT);
}

static int say_chunk(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    (void)addr;
    say(arg, "chunk at %llu,%llu mask %u %s", (unsigned long long)offset[0], (unsigned long long)offset[1],
        mask, size ? "has bytes" : "is empty");
    return 0;
}

/* A program reads the chunks' places, and then the elements there: each element must lie in a chunk. */
static void chunks_of_texts(hid_t f, struct out *o)
{
    static const char *const text[6 * 5] = {"a", "", NULL, "longer", "e"};
    const hsize_t dims[] = {6, 5}, shape[] = {4, 2};
    hsize_t at[2], n = 0, size = 0;
    hid_t t = H5Tcopy(H5T_C_S1), s = H5Screate_simple(2, dims, NULL), p = chunked(2, shape);
    H5Tset_size(t, H5T_VARIABLE);
    hid_t d = H5Dcreate2(f, "texts", t, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, text));
    for (int again = 0; again < 2; again++) {
        say_result(o, "H5Dget_num_chunks", H5Dget_num_chunks(d, H5S_ALL, &n));
        say(o, "%llu chunks", (unsigned long long)n);
        for (hsize_t i = 0; i < n; i++) {
            say_result(o, "H5Dget_chunk_info", H5Dget_chunk_info(d, H5S_ALL, i, at, NULL, NULL, &size));
            say(o, "%llu,%llu %d", (unsigned long long)at[0], (unsigned long long)at[1], size > 0);
        }
        say_result(o, "H5Dchunk_iter", H5Dchunk_iter(d, H5P_DEFAULT, say_chunk, o));
        H5Dclose(d);
        d = H5Dopen2(f, "texts", H5P_DEFAULT);
    }
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
    H5Tclose(t);
}

static const struct write_case cases[] = {
    {"chunks of texts are shown in the program's shape", chunks_of_texts, NULL},
    {"transfer lists, selections in them, single chunks", write_transfers, NULL},
    {"chunks are gone through", chunks, NULL},
    {"scattered, gathered, filled and reclaimed", memory, NULL},
    {"selections made of others", combined, NULL},
};

int main(void)
{
    struct out o = {.ours = true};
    compare_write_extra(several_files, &o);
    return compare_write_main(cases, COUNT(cases));
}
