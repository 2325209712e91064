/* Numbers of one type read and written as another: the results of our own conversions, on workers, against
 * HDF5. */
#include <math.h>

#include "h5tests/helpers/compare_write.h"

#define TALL 150
#define WIDE 211

static const char *const names[] = {"i8", "u16be", "i32", "i32be", "u64", "i64be", "f32", "f32be", "f64", "f64be"};
#define N_TYPES COUNT(names)

static hid_t stored_type(size_t i)
{
    const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U16BE,  H5T_STD_I32LE,  H5T_STD_I32BE,  H5T_STD_U64LE,
                           H5T_STD_I64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
    return types[i];
}

static hid_t memory_type(size_t i)
{
    const hid_t types[] = {H5T_NATIVE_SCHAR, H5T_NATIVE_USHORT, H5T_NATIVE_INT,   H5T_NATIVE_UINT,
                           H5T_NATIVE_LLONG, H5T_NATIVE_ULLONG, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE};
    return types[i];
}
#define N_MEMORY 8

static double odd(size_t i)
{
    static const double v[] = {0,   -0.0, 1e300, -1e300, 3.4028235e38, 3.4028236e38, 1e-40, 5e-324, 1.0 / 3, 16777217, 2147483648.0,
                               0.5, -0.5, 255.5, 65536,  -32769,       1.5,          2.5,   1e19,   -1e19,   127.99};
    return i % 7 ? (double)i * 0.37 - 500 : v[i / 7 % COUNT(v)];
}

/* Reads the selection of @p space into the middle of memory of another shape; the bytes around are looked at,
 * too. */
static void say_read(struct out *o, const char *what, hid_t d, hid_t type, hid_t space, const hsize_t *shape, hid_t dxpl)
{
    const hsize_t  dims[] = {shape[0] + 3, shape[1] + 2}, start[] = {2, 1};
    size_t         n      = (size_t)(dims[0] * dims[1]) * H5Tget_size(type);
    unsigned char *buf    = malloc(n);
    hid_t          mem    = H5Screate_simple(2, dims, NULL);
    memset(buf, 0x5a, n);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, start, NULL, shape, NULL);
    say_result(o, what, H5Dread(d, type, mem, space, dxpl, buf));
    say_bytes(o, what, buf, n);
    free(buf);
    H5Sclose(mem);
}

static void say_reads(struct out *o, const char *what, hid_t d, hid_t type, hid_t dxpl)
{
    const hsize_t all[] = {TALL, WIDE}, start[] = {3, 5}, stride[] = {7, 3}, count[] = {20, 60}, block[] = {2, 1}, some[] = {40, 60};
    hid_t         space = H5Dget_space(d);
    say_read(o, what, d, type, space, all, dxpl);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    say_read(o, what, d, type, space, some, dxpl);
    H5Sclose(space);
}

/* HDF5 rounds a number behind a denormal one of another byte order differently from elsewhere, so the borders
 * of its pieces matter.  So data of the other order have no such numbers. */
static bool is_tiny(double v) { return v != 0 && fabs(v) < 1e-37; }

/* Half of the chunks aren't stored, and some were compressed. */
static hid_t new_numbers(hid_t f, const char *name, hid_t type, int filter)
{
    const hsize_t dims[] = {TALL, WIDE}, chunk[] = {40, 50}, half[] = {TALL / 2, WIDE}, none[] = {0, 0};
    double       *v = malloc(TALL * WIDE * sizeof *v), fill = -99.5;
    hid_t         s = H5Screate_simple(2, dims, NULL), m = H5Screate_simple(2, half, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    for (size_t i = 0; i < TALL * WIDE; i++)
        v[i] = H5Tget_order(type) == H5T_ORDER_BE && is_tiny(odd(i)) ? 0 : odd(i);
    if (H5Tget_class(type) == H5T_FLOAT)
        v[3] = NAN, v[5] = INFINITY, v[8] = -INFINITY;
    H5Pset_chunk(p, 2, chunk);
    H5Pset_fill_value(p, H5T_NATIVE_DOUBLE, &fill);
    if (filter)
        H5Pset_shuffle(p);
    if (filter > 1)
        H5Pset_deflate(p, 1);
    hid_t d = H5Dcreate2(f, name, type, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, none, NULL, half, NULL);
    H5Dwrite(d, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, v);
    H5Pclose(p);
    H5Sclose(m);
    H5Sclose(s);
    free(v);
    return d;
}

static void made(hid_t f, struct out *o)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        hid_t d = new_numbers(f, names[i], stored_type(i), (int)i % 3);
        say_result(o, names[i], d);
        H5Dclose(d);
    }
}

static void as_others(hid_t f, struct out *o)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        hid_t d = H5Dopen2(f, names[i], H5P_DEFAULT);
        for (size_t k = 0; k < N_MEMORY; k++)
            say_reads(o, names[i], d, memory_type(k), H5P_DEFAULT);
        say_reads(o, names[i], d, H5T_IEEE_F64BE, H5P_DEFAULT);
        H5Dclose(d);
    }
}

/* ---- compounds ---- */

struct all {
    int32_t n;
    double  x, v[3];
    int16_t flag;
    char    text[6];
    float   y;
};

static hid_t whole_record(void)
{
    hsize_t three = 3;
    hid_t   t = H5Tcreate(H5T_COMPOUND, sizeof(struct all)), v = H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &three), s = H5Tcopy(H5T_C_S1);
    H5Tset_size(s, 6);
    H5Tinsert(t, "n", HOFFSET(struct all, n), H5T_NATIVE_INT);
    H5Tinsert(t, "x", HOFFSET(struct all, x), H5T_NATIVE_DOUBLE);
    H5Tinsert(t, "v", HOFFSET(struct all, v), v);
    H5Tinsert(t, "flag", HOFFSET(struct all, flag), H5T_NATIVE_SHORT);
    H5Tinsert(t, "text", HOFFSET(struct all, text), s);
    H5Tinsert(t, "y", HOFFSET(struct all, y), H5T_NATIVE_FLOAT);
    H5Tclose(v);
    H5Tclose(s);
    return t;
}

/* Fields in another order, converted, with bytes between them that nothing fills */
static hid_t some_fields(void)
{
    hsize_t three = 3;
    hid_t   t = H5Tcreate(H5T_COMPOUND, 60), v = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three), s = H5Tcopy(H5T_C_S1);
    H5Tset_size(s, 6);
    H5Tinsert(t, "text", 1, s);
    H5Tinsert(t, "v", 8, v);
    H5Tinsert(t, "n", 24, H5T_STD_I64BE);
    H5Tinsert(t, "x", 36, H5T_NATIVE_DOUBLE);
    H5Tinsert(t, "y", 45, H5T_NATIVE_DOUBLE);
    H5Tclose(v);
    H5Tclose(s);
    return t;
}

static void records(hid_t f, struct out *o)
{
    const hsize_t dims[] = {TALL, WIDE}, chunk[] = {40, 50};
    struct all   *v = calloc(TALL * WIDE, sizeof *v);
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE), t = whole_record(), some = some_fields();
    for (size_t i = 0; i < TALL * WIDE; i++)
        v[i] = (struct all){(int32_t)i - 9, odd(i), {odd(i + 1), odd(i + 2), -odd(i)}, (int16_t)i, "text", (float)i / 3};
    H5Pset_chunk(p, 2, chunk);
    hid_t d = H5Dcreate2(f, "records", t, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "writing", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    say_reads(o, "some fields", d, some, H5P_DEFAULT);
    H5Dclose(d);
    H5Tclose(t);
    H5Tclose(some);
    H5Pclose(p);
    H5Sclose(s);
    free(v);
}

static void read_records(hid_t f, struct out *o)
{
    hid_t d = H5Dopen2(f, "records", H5P_DEFAULT), some = some_fields();
    say_reads(o, "some fields", d, some, H5P_DEFAULT);
    H5Tclose(some);
    H5Dclose(d);
}

/* ---- a program that wants to be asked ---- */

static H5T_conv_ret_t ask(H5T_conv_except_t what, hid_t from, hid_t to, void *src, void *dst, void *arg)
{
    unsigned *times = arg;
    (void)from, (void)src;
    if ((size_t)what < 8)
        times[what]++;
    if (what != H5T_CONV_EXCEPT_RANGE_HI)
        return H5T_CONV_UNHANDLED;
    memset(dst, 0x11, H5Tget_size(to));
    return H5T_CONV_HANDLED;
}

static void asked(hid_t f, struct out *o)
{
    unsigned times[8] = {0};
    hid_t    dxpl = H5Pcreate(H5P_DATASET_XFER), d = new_numbers(f, "asked", H5T_NATIVE_DOUBLE, 1);
    H5Pset_type_conv_cb(dxpl, ask, times);
    say_reads(o, "as int", d, H5T_NATIVE_INT, dxpl);
    say_reads(o, "as float", d, H5T_NATIVE_FLOAT, dxpl);
    short  few[4] = {300, -300, 5, 7};
    hsize_t four = 4;
    hid_t  s = H5Screate_simple(1, &four, NULL), b = H5Dcreate2(f, "bytes", H5T_NATIVE_SCHAR, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "writing", H5Dwrite(b, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, dxpl, few));
    for (int i = 0; i < 8; i++)
        say(o, "exception %d: %s", i, times[i] ? "asked" : "not"); /* how often depends on pieces */
    H5Dclose(b);
    H5Sclose(s);
    H5Dclose(d);
    H5Pclose(dxpl);
}

/* ---- values that were never written ---- */

static H5T_conv_ret_t count_and_refuse(H5T_conv_except_t kind, hid_t from, hid_t to, void *a, void *b, void *calls)
{
    (void)kind, (void)from, (void)to, (void)a, (void)b;
    ++*(int *)calls;
    return H5T_CONV_ABORT;
}

static hid_t one_member(hid_t base, const void *value)
{
    hid_t t = H5Tenum_create(base);
    H5Tenum_insert(t, "one", value);
    return t;
}

/* An enum without a member 0: the program is asked about zeros that are stored, but not if nothing is. */
static void unwritten_enums(hid_t f, struct out *o)
{
    const short   le = 1, be = 256;
    const int     hundred = 100;
    const hsize_t n = 8, chunk = 4, start = 1;
    hid_t         s = H5Screate_simple(1, &n, NULL), dxpl = H5Pcreate(H5P_DATASET_XFER);
    hid_t         t = one_member(H5T_STD_I16BE, H5Tget_order(H5T_NATIVE_SHORT) == H5T_ORDER_LE ? &le : &be);
    hid_t         m = one_member(H5T_NATIVE_INT, &hundred);
    for (int k = 0; k < 24; k++) {
        int           got[8] = {9, 9, 9, 9, 9, 9, 9, 9}, some[8] = {100, 100, 100, 100, 100, 100, 100, 100}, calls = 0;
        const hsize_t written = (const hsize_t[]){0, 2, 6}[k % 3];
        const int     form = k / 3 % 4;
        char          name[24];
        hid_t         p = H5Pcreate(H5P_DATASET_CREATE);
        if (form == 0)
            H5Pset_layout(p, H5D_COMPACT);
        if (form >= 2)
            H5Pset_chunk(p, 1, &chunk);
        if (form == 3)
            H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
        if (k >= 12)
            H5Pset_fill_value(p, m, &hundred);
        snprintf(name, sizeof name, "enum %d", k);
        hid_t d = H5Dcreate2(f, name, t, s, H5P_DEFAULT, p, H5P_DEFAULT), part = H5Screate_simple(1, &written, NULL);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, &start, NULL, &written, NULL);
        if (written)
            H5Dwrite(d, m, part, s, H5P_DEFAULT, some);
        H5Sselect_all(s);
        H5Pset_type_conv_cb(dxpl, count_and_refuse, &calls);
        herr_t rc = H5Dread(d, m, H5S_ALL, H5S_ALL, dxpl, got);
        say(o, "form %d, fill value %d, %d written: %d, asked %d", form, k >= 12, (int)written, rc < 0 ? -1 : 0, calls);
        for (int i = 0; i < 8 && rc >= 0; i++)
            say(o, "%d", got[i]);
        H5Sclose(part);
        H5Dclose(d);
        H5Pclose(p);
    }
    H5Eclear2(H5E_DEFAULT);
    H5Tclose(m);
    H5Tclose(t);
    H5Sclose(s);
    H5Pclose(dxpl);
}

static const struct write_case cases[] = {
    {"every type is written and read as every other", made, as_others},
    {"fields are converted where the program has them", records, read_records},
    {"a program that asks gets a report of what doesn't fit", asked, NULL},
    {"a program that asks gets no report of what was never written", unwritten_enums, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
