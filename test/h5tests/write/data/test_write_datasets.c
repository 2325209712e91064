/* Datasets: created in every layout, written by every kind of selection, filtered, by the chunk. */
#include <math.h>

#include "h5tests/helpers/compare_write.h"
#include "h5tests/write/data/chunked_list.h"

static hid_t simple(int rank, const hsize_t *dims, const hsize_t *max) { return H5Screate_simple(rank, dims, max); }

static void fill_ints(int *v, size_t n, int first)
{
    for (size_t i = 0; i < n; i++)
        v[i] = first + (int)i;
}

static void layouts(hid_t f, struct out *o)
{
    const hsize_t dims[] = {20, 30}, chunk[] = {7, 8};
    const struct {
        const char *name;
        H5D_layout_t layout;
    } rows[] = {{"compact", H5D_COMPACT}, {"contiguous", H5D_CONTIGUOUS}, {"chunked", H5D_CHUNKED}};
    int data[600];
    fill_ints(data, 600, 1000);
    hid_t s = simple(2, dims, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        hid_t p = H5Pcreate(H5P_DATASET_CREATE);
        if (rows[i].layout == H5D_CHUNKED)
            H5Pset_chunk(p, 2, chunk);
        H5Pset_layout(p, rows[i].layout);
        hid_t d = H5Dcreate2(f, rows[i].name, H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
        say_result(o, rows[i].name, d);
        say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
        H5Dclose(d);
        H5Pclose(p);
    }
    H5Sclose(s);
}

static void senseless_calls(hid_t f, struct out *o)
{
    const hsize_t dims[] = {20}, max[] = {H5S_UNLIMITED}, big[] = {30}, c2[] = {4, 4};
    hid_t s = simple(1, dims, NULL), u = simple(1, dims, max), p = chunked(1, big), q = chunked(2, c2);
    say_result(o, "chunks larger than the extent", H5Dcreate2(f, "a", H5T_STD_I8LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    say_result(o, "chunks of another rank", H5Dcreate2(f, "b", H5T_STD_I8LE, s, H5P_DEFAULT, q, H5P_DEFAULT));
    say_result(o, "contiguous without end", H5Dcreate2(f, "c", H5T_STD_I8LE, u, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "in a missing group", H5Dcreate2(f, "x/d", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "the same name", H5Dcreate2(f, "d", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hsize_t more[] = {21};
    say_result(o, "extending what is contiguous", H5Dset_extent(d, more));
    H5Dclose(d);
    H5Pclose(p);
    H5Pclose(q);
    H5Sclose(s);
    H5Sclose(u);
}

static void selections(hid_t f, struct out *o)
{
    const hsize_t dims[] = {20, 30}, chunk[] = {7, 8};
    int           data[600];
    hid_t s = simple(2, dims, NULL), p = chunked(2, chunk);
    int   fill = -7;
    H5Pset_fill_value(p, H5T_NATIVE_INT, &fill);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    fill_ints(data, 600, 0);
    hsize_t start[] = {1, 2}, stride[] = {3, 4}, count[] = {5, 6}, block[] = {2, 3};
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
    hsize_t n = 180;
    hid_t   m = simple(1, &n, NULL);
    say_result(o, "hyperslab", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, data));
    hsize_t points[] = {19, 29, 0, 0, 10, 10, 0, 1, 19, 0};
    H5Sselect_elements(s, H5S_SELECT_SET, 5, points);
    hsize_t five = 5;
    hid_t   m5   = simple(1, &five, NULL);
    say_result(o, "points", H5Dwrite(d, H5T_NATIVE_INT, m5, s, H5P_DEFAULT, data + 300));
    hsize_t a0[] = {0, 0}, a1[] = {3, 3}, b0[] = {15, 20};
    H5Sselect_hyperslab(s, H5S_SELECT_SET, a0, NULL, a1, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_OR, b0, NULL, a1, NULL);
    say_result(o, "a union, the same in memory", H5Dwrite(d, H5T_NATIVE_INT, s, s, H5P_DEFAULT, data));
    H5Sselect_none(s);
    say_result(o, "nothing", H5Dwrite(d, H5T_NATIVE_INT, s, s, H5P_DEFAULT, NULL));
    H5Sselect_hyperslab(s, H5S_SELECT_SET, a0, NULL, a1, NULL);
    say_result(o, "fewer in memory", H5Dwrite(d, H5T_NATIVE_INT, m5, s, H5P_DEFAULT, data));
    short small[180];
    for (int i = 0; i < 180; i++)
        small[i] = (short)(-i);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block);
    say_result(o, "converted", H5Dwrite(d, H5T_NATIVE_SHORT, m, s, H5P_DEFAULT, small));
    int back[600] = {0};
    H5Sselect_all(s);
    say_result(o, "reading before any flush", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    say_bytes(o, "what was written", back, sizeof back);
    H5Dclose(d);
    H5Sclose(s);
    H5Sclose(m);
    H5Sclose(m5);
    H5Pclose(p);
}

static void no_dimensions(hid_t f, struct out *o)
{
    hid_t  s = H5Screate(H5S_SCALAR), n = H5Screate(H5S_NULL);
    hid_t  d = H5Dcreate2(f, "scalar", H5T_IEEE_F64LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t  e = H5Dcreate2(f, "null", H5T_IEEE_F64LE, n, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    double v = 3.25;
    say_result(o, "scalar", H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
    say_result(o, "null", H5Dwrite(e, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
    const hsize_t zero[] = {0, 4}, max[] = {H5S_UNLIMITED, 4}, chunk[] = {2, 2};
    hid_t z = simple(2, zero, max), p = chunked(2, chunk);
    hid_t g = H5Dcreate2(f, "empty", H5T_STD_I16LE, z, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "empty", H5Dwrite(g, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
    H5Dclose(d);
    H5Dclose(e);
    H5Dclose(g);
    H5Sclose(s);
    H5Sclose(n);
    H5Sclose(z);
    H5Pclose(p);
}

static void filters(hid_t f, struct out *o)
{
    const hsize_t dims[] = {100, 40}, chunk[] = {30, 16};
    static int    data[4000];
    hid_t         s = simple(2, dims, NULL);
    for (int i = 0; i < 4000; i++)
        data[i] = i % 97;
    for (int i = 0; i < 6; i++) {
        static const char *names[] = {"deflate", "shuffle+deflate", "fletcher32", "shuffle", "scaleoffset", "nbit"};
        hid_t              p       = chunked(2, chunk);
        if (i == 1 || i == 3)
            H5Pset_shuffle(p);
        if (i <= 1)
            H5Pset_deflate(p, 6);
        if (i == 2)
            H5Pset_fletcher32(p);
        if (i == 4)
            H5Pset_scaleoffset(p, H5Z_SO_INT, 0);
        if (i == 5)
            H5Pset_nbit(p);
        hid_t d = H5Dcreate2(f, names[i], H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
        say_result(o, names[i], d);
        say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
        H5Dclose(d);
        H5Pclose(p);
    }
    H5Sclose(s);
}

/* Chunks of 64 KiB lie alone in their objects; smaller ones lie together and are shown apart. */
static void chunks(hid_t f, struct out *o)
{
    const hsize_t dims[] = {256, 256}, chunk[] = {128, 128}, at[] = {128, 0}, off[] = {1, 0};
    static int    data[128 * 128], back[128 * 128];
    hid_t         s = simple(2, dims, NULL), p = chunked(2, chunk);
    hid_t         d = H5Dcreate2(f, "raw", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    uint32_t      mask = 9;
    hsize_t       n = 9, size = 0;
    fill_ints(data, COUNT(data), 500);
    say_result(o, "write_chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof data, data));
    say_result(o, "at no chunk's corner", H5Dwrite_chunk(d, H5P_DEFAULT, 0, off, sizeof data, data));
    say_result(o, "read_chunk", H5Dread_chunk(d, H5P_DEFAULT, at, &mask, back));
    say_bytes(o, "chunk", back, sizeof back);
    say_result(o, "count", H5Dget_num_chunks(d, H5S_ALL, &n));
    H5Dget_chunk_storage_size(d, at, &size);
    say(o, "%" PRIuHSIZE " chunks, %" PRIuHSIZE " bytes, mask %u", n, size, mask);
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    H5Dget_space_status(d, &status);
    say(o, "status %d size %" PRIuHSIZE, status, H5Dget_storage_size(d));
    H5Dclose(d);
    H5Pset_deflate(p, 1);
    d = H5Dcreate2(f, "masked", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "a chunk that was not deflated", H5Dwrite_chunk(d, H5P_DEFAULT, 1, at, sizeof data, data));
    H5Dget_chunk_storage_size(d, at, &size);
    say_result(o, "its mask", H5Dread_chunk(d, H5P_DEFAULT, at, &mask, back));
    say(o, "size %" PRIuHSIZE, size);
    CHECK(mask == 1 || !o->ours, "the mask of what was not deflated is %u", mask);
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
}

static void small_chunks(hid_t f, struct out *o)
{
    const hsize_t dims[] = {12, 8}, chunk[] = {4, 4};
    int           data[16], back[16] = {0};
    hid_t         s = simple(2, dims, NULL), p = chunked(2, chunk);
    hid_t         d = H5Dcreate2(f, "small", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (hsize_t i = 0; i < 3; i++)
        for (hsize_t k = 0; k < 2; k++) {
            const hsize_t at[] = {4 * i, 4 * k};
            fill_ints(data, 16, (int)(100 * i + 10 * k));
            say_result(o, "write_chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof data, data));
        }
    hsize_t n = 0;
    H5Dget_num_chunks(d, H5S_ALL, &n);
    for (hsize_t i = 0; i < n; i++) {
        hsize_t  offset[2], size = 0;
        unsigned mask = 9;
        H5Dget_chunk_info(d, H5S_ALL, i, offset, &mask, NULL, &size);
        say(o, "chunk at %" PRIuHSIZE " %" PRIuHSIZE ": %" PRIuHSIZE " bytes, mask %u", offset[0], offset[1], size, mask);
        say_result(o, "reading it", H5Dread_chunk(d, H5P_DEFAULT, offset, &mask, back));
        say_bytes(o, "chunk", back, 8 * sizeof *back);
    }
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
}

static void several_at_once(hid_t f, struct out *o)
{
    const hsize_t dims[] = {50};
    hid_t         s = simple(1, dims, NULL), ds[3], types[3], spaces[3];
    static double data[3][50];
    const void   *bufs[3];
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        ds[i]     = H5Dcreate2(f, name, i == 1 ? H5T_STD_I16BE : H5T_IEEE_F64LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        types[i]  = H5T_NATIVE_DOUBLE;
        spaces[i] = H5S_ALL;
        bufs[i]   = data[i];
        for (int k = 0; k < 50; k++)
            data[i][k] = i * 100 + k;
    }
    say_result(o, "writing three", H5Dwrite_multi(3, ds, types, spaces, spaces, H5P_DEFAULT, bufs));
    for (int i = 0; i < 3; i++)
        H5Dclose(ds[i]);
    H5Sclose(s);
}

struct pair {
    int    a;
    double b;
};

/* A program that knows only some fields leaves the others alone. */
static void fields(hid_t f, struct out *o)
{
    const hsize_t dims[] = {10};
    hid_t         s = simple(1, dims, NULL), t = H5Tcreate(H5T_COMPOUND, sizeof(struct pair)), only = H5Tcreate(H5T_COMPOUND, 8);
    struct pair   v[10];
    double        b[10];
    memset(v, 0, sizeof v); /* the padding too: HDF5 keeps it */
    for (int i = 0; i < 10; i++) {
        v[i].a = i;
        v[i].b = i * 0.5;
        b[i]   = -i;
    }
    H5Tinsert(t, "a", HOFFSET(struct pair, a), H5T_NATIVE_INT);
    H5Tinsert(t, "b", HOFFSET(struct pair, b), H5T_NATIVE_DOUBLE);
    H5Tinsert(only, "b", 0, H5T_NATIVE_DOUBLE);
    hid_t d = H5Dcreate2(f, "d", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "whole", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "one field", H5Dwrite(d, only, H5S_ALL, H5S_ALL, H5P_DEFAULT, b));
    memset(v, 0, sizeof v);
    H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    for (int i = 0; i < 10; i++)
        say(o, "%d %g", v[i].a, v[i].b);
    H5Dclose(d);
    H5Tclose(t);
    H5Tclose(only);
    H5Sclose(s);
}

static void transforms(hid_t f, struct out *o)
{
    const hsize_t dims[] = {6, 4}, chunk[] = {4, 4}, start[] = {1, 1}, count[] = {3, 2};
    double        v[24];
    float         w[24] = {0};
    hid_t         s = simple(2, dims, NULL), p = chunked(2, chunk), x = H5Pcreate(H5P_DATASET_XFER);
    hid_t         d = H5Dcreate2(f, "d", H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < 24; i++)
        v[i] = i;
    H5Pset_data_transform(x, "2*x+1");
    say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, x, v));
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    say_result(o, "a part of it", H5Dwrite(d, H5T_NATIVE_DOUBLE, s, s, x, v));
    say(o, "what was written is as before: %g", v[5]);
    H5Pset_data_transform(x, "(x-1)/2");
    say_result(o, "reading", H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, x, w));
    say_bytes(o, "values", w, sizeof w);
    memset(w, 0, sizeof w);
    say_result(o, "reading a part", H5Dread(d, H5T_NATIVE_FLOAT, s, s, x, w));
    say_bytes(o, "values", w, sizeof w);
    H5Dclose(d);
    H5Pclose(p);
    H5Pclose(x);
    H5Sclose(s);
}

static void strings(hid_t f, struct out *o)
{
    const hsize_t dims[]  = {4};
    const char   *words[] = {"one", "", "drei und noch mehr", "vier"};
    hid_t         s = simple(1, dims, NULL), t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, H5T_VARIABLE);
    hid_t d = H5Dcreate2(f, "words", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "strings", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, words));
    hsize_t two = 2;
    hid_t   m   = simple(1, &two, NULL);
    H5Sselect_elements(s, H5S_SELECT_SET, 2, (const hsize_t[]){3, 0});
    say_result(o, "two of them", H5Dwrite(d, t, m, s, H5P_DEFAULT, words + 1));
    int   n[]   = {7, 8, 9};
    hvl_t v[4]  = {{3, n}, {0, NULL}, {1, n + 2}, {2, n}};
    hid_t vt    = H5Tvlen_create(H5T_NATIVE_INT), e;
    H5Sselect_all(s);
    e = H5Dcreate2(f, "lists", vt, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "lists", H5Dwrite(e, vt, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Dclose(d);
    H5Dclose(e);
    H5Tclose(t);
    H5Tclose(vt);
    H5Sclose(s);
    H5Sclose(m);
}

static void read_strings(hid_t f, struct out *o)
{
    char *words[4] = {0};
    hvl_t v[4]     = {{0, NULL}};
    hid_t d = H5Dopen2(f, "words", H5P_DEFAULT), e = H5Dopen2(f, "lists", H5P_DEFAULT), t = H5Dget_type(d), s = H5Dget_space(d);
    hid_t vt = H5Tvlen_create(H5T_NATIVE_INT);
    say_result(o, "words", H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, words));
    say_result(o, "lists", H5Dread(e, vt, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < 4; i++) {
        say(o, "'%s'", words[i] ? words[i] : "(none)");
        say_bytes(o, "list", v[i].p, v[i].len * sizeof(int));
    }
    H5Treclaim(t, s, H5P_DEFAULT, words);
    H5Treclaim(vt, s, H5P_DEFAULT, v);
    H5Tclose(t);
    H5Tclose(vt);
    H5Sclose(s);
    H5Dclose(d);
    H5Dclose(e);
}

static void anonymous(hid_t f, struct out *o)
{
    const hsize_t dims[] = {3};
    int           data[] = {1, 2, 3};
    hid_t s = simple(1, dims, NULL), d = H5Dcreate_anon(f, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
    hid_t lost = H5Dcreate_anon(f, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    say_result(o, "writing what goes", H5Dwrite(lost, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    say_result(o, "linking", H5Olink(d, f, "d", H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(d);
    H5Dclose(lost);
    /* deleted and made again under the same name */
    say_result(o, "deleting", H5Ldelete(f, "d", H5P_DEFAULT));
    d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "the new one is empty", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    say_bytes(o, "values", data, sizeof data);
    H5Dclose(d);
    H5Sclose(s);
}

/* Before anything was written, and after some was.  Elements that nothing fills have no value: HDF5 returns
 * the bytes of the file or the buffer.  Whether space is allocated is not compared: a domain stores only
 * written chunks, however early the allocation time. */
static void say_filled(struct out *o, hid_t d, const char *when, bool known, unsigned first, unsigned n)
{
    unsigned char v[6] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
    say_result(o, when, H5Dread(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_bytes(o, "values", v + (known ? 0 : first), known ? sizeof v : n);
}

/* Fill value: undefined, set, default. */
static void time_pair(hid_t f, struct out *o, H5D_layout_t layout, int fill, H5D_fill_time_t ft, H5D_alloc_time_t at)
{
    const hsize_t       dims[] = {6}, max[] = {H5S_UNLIMITED}, chunk[] = {4}, two[] = {2}, from[] = {3};
    const unsigned char value = 7, some[] = "ab";
    hid_t s = simple(1, dims, layout == H5D_CHUNKED ? max : NULL), p = H5Pcreate(H5P_DATASET_CREATE), mem = simple(1, two, NULL);
    char  name[96];
    H5Pset_layout(p, layout);
    if (layout == H5D_CHUNKED)
        H5Pset_chunk(p, 1, chunk);
    if (fill)
        H5Pset_fill_value(p, H5T_NATIVE_UCHAR, fill == 1 ? &value : NULL);
    H5Pset_fill_time(p, ft);
    H5Pset_alloc_time(p, at);
    snprintf(name, sizeof name, "layout%d-value%d-fill%d-alloc%d", layout, fill, ft, at);
    hid_t d = H5Dcreate2(f, name, H5T_STD_U8LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, name, d);
    if (d >= 0) {
        const bool known = fill != 2 && ft != H5D_FILL_TIME_NEVER;
        say_filled(o, d, "reading what nobody wrote", known, 0, 0);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, from, NULL, two, NULL);
        say_result(o, "writing some", H5Dwrite(d, H5T_NATIVE_UCHAR, mem, s, H5P_DEFAULT, some));
        say_filled(o, d, "reading what was written", known, 3, 2);
        if (!known) /* say_file() reads all of it */
            H5Dwrite(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, "abcdef");
        H5Dclose(d);
    }
    H5Sclose(mem);
    H5Pclose(p);
    H5Sclose(s);
}

static void times(hid_t f, struct out *o)
{
    for (int layout = H5D_COMPACT; layout <= H5D_CHUNKED; layout++)
        for (int fill = 0; fill < 3; fill++)
            for (int ft = H5D_FILL_TIME_ALLOC; ft <= H5D_FILL_TIME_IFSET; ft++)
                for (int at = H5D_ALLOC_TIME_DEFAULT; at <= H5D_ALLOC_TIME_INCR; at++)
                    time_pair(f, o, (H5D_layout_t)layout, fill, (H5D_fill_time_t)ft, (H5D_alloc_time_t)at);
}

/* Memory with a border of earlier values; more elements than are converted at a time. */
#define TALL 300
#define WIDE 211

static void say_framed(struct out *o, const char *what, hid_t d, hid_t type)
{
    static const hsize_t dims[] = {TALL + 2, WIDE + 3}, start[] = {1, 2}, count[] = {TALL, WIDE};
    size_t               size = H5Tget_size(type), n = (size_t)(dims[0] * dims[1]) * size;
    unsigned char       *buf = malloc(n);
    hid_t                mem = simple(2, dims, NULL);
    memset(buf, 0x5a, n);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, start, NULL, count, NULL);
    say_result(o, what, H5Dread(d, type, mem, H5S_ALL, H5P_DEFAULT, buf));
    uint64_t sum = 14695981039346656037U;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ buf[i]) * 1099511628211U;
    say(o, "%s %llx", what, (unsigned long long)sum);
    free(buf);
    H5Sclose(mem);
}

static void frames(hid_t f, struct out *o)
{
    static const double odd[] = {0.0, -0.0, 1e300, -1e300, 3.4028235e38, 3.40282356e38, 3.4028236e38, 1e-40, 1e-50, 5e-324, 1.0 / 3,
                                 16777217};
    const hsize_t dims[] = {TALL, WIDE}, chunk[] = {64, 64};
    struct pair  *v = calloc(TALL * WIDE, sizeof *v);
    double       *x = calloc(TALL * WIDE, sizeof *x);
    float        *y = calloc(TALL * WIDE, sizeof *y);
    hid_t s = simple(2, dims, NULL), p = chunked(2, chunk), t = H5Tcreate(H5T_COMPOUND, sizeof *v), part = H5Tcreate(H5T_COMPOUND, 16);
    for (int i = 0; i < TALL * WIDE; i++) {
        x[i]   = i % 5 ? i * 0.37 : odd[i / 5 % 12] * (i % 2 ? 1 : -1);
        v[i].a = i;
        v[i].b = x[i];
    }
    x[4] = NAN, x[9] = INFINITY;
    H5Tinsert(t, "a", HOFFSET(struct pair, a), H5T_NATIVE_INT);
    H5Tinsert(t, "b", HOFFSET(struct pair, b), H5T_NATIVE_DOUBLE);
    H5Tinsert(part, "b", 4, H5T_NATIVE_FLOAT); /* with bytes around it that no field fills */
    hid_t d = H5Dcreate2(f, "double", H5T_IEEE_F64LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    hid_t c = H5Dcreate2(f, "compound", t, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
    H5Dwrite(c, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    say_framed(o, "float64", d, H5T_NATIVE_DOUBLE);
    say_framed(o, "float64 as float32", d, H5T_NATIVE_FLOAT);
    say_framed(o, "float64 as int16", d, H5T_NATIVE_SHORT);
    say_framed(o, "float64 as int64", d, H5T_NATIVE_LLONG);
    say_framed(o, "a field", c, part);
    say_result(o, "without a frame", H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, y));
    say_bytes(o, "values", y, 2000);
    H5Dclose(c);
    H5Dclose(d);
    H5Tclose(part);
    H5Tclose(t);
    H5Pclose(p);
    H5Sclose(s);
    free(v);
    free(x);
    free(y);
}

/* Faults that test_random_data.c found. */
static void where_nothing_is_selected(hid_t f, struct out *o)
{
    const hsize_t dims[] = {6}, max[] = {H5S_UNLIMITED}, four[] = {4};
    hid_t         s = simple(1, dims, max), none = H5Scopy(s), p = chunked(1, four), text = H5Tcopy(H5T_C_S1);
    int           v[6] = {0};
    H5Sselect_none(none);
    hid_t d = H5Dcreate2(f, "ints", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "writing no text as integers", H5Dwrite(d, text, none, none, H5P_DEFAULT, v));
    say_result(o, "reading no integers as text", H5Dread(d, text, none, none, H5P_DEFAULT, v));
    say_result(o, "reading no integers", H5Dread(d, H5T_NATIVE_INT, none, none, H5P_DEFAULT, v));
    H5Dclose(d);
    H5Pset_fill_value(p, H5T_NATIVE_INT, NULL);
    d = H5Dcreate2(f, "undefined", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "reading what was never written", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_result(o, "reading nothing of it", H5Dread(d, H5T_NATIVE_INT, none, none, H5P_DEFAULT, v));
    say_result(o, "writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
    H5Sclose(none);
    H5Tclose(text);
}

static const struct write_case cases[] = {
    {"every layout is kept", layouts, NULL},
    {"what makes no sense is refused", senseless_calls, NULL},
    {"every kind of selection is written", selections, NULL},
    {"scalar, null and empty datasets", no_dimensions, NULL},
    {"filters", filters, NULL},
    {"chunks are written as they are", chunks, NULL},
    {"small chunks are shown one by one", small_chunks, NULL},
    {"several datasets at once", several_at_once, NULL},
    {"fields that a program doesn't know stay", fields, NULL},
    {"data transforms", transforms, NULL},
    {"converted into a frame", frames, NULL},
    {"strings and lists", strings, read_strings},
    {"what nothing links goes", anonymous, NULL},
    {"fill and allocation times are kept", times, NULL},
    {"types fit also where nothing is selected", where_nothing_is_selected, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
