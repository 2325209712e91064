/* Types, values, dataspaces and property lists for the random test of datasets. */
#include "h5tests/random/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5tests/helpers/type_zoo.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- types ---- */

static hid_t number(struct run *run)
{
    const hid_t types[] = {H5T_STD_I8LE, H5T_STD_U8BE, H5T_STD_I16LE, H5T_STD_U16BE, H5T_STD_I32LE, H5T_STD_I32BE, H5T_STD_U32LE,
        H5T_STD_I64LE, H5T_STD_U64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
    return H5Tcopy(RND_OF(&run->r, types));
}

hid_t random_type(struct run *run)
{
    if (rnd_chance(&run->r, 45))
        return number(run);
    const struct zoo_type *z = &zoo[rnd_below(&run->r, (unsigned)zoo_size)];
    note(run, "[%s] ", z->name);
    return z->make();
}

static hid_t some_fields(struct run *run, hid_t type)
{
    int    n = H5Tget_nmembers(type);
    size_t at = 0;
    hid_t  t = H5Tcreate(H5T_COMPOUND, H5Tget_size(type) * 2 + 8);
    for (int i = n - 1; i >= 0; i--) {
        if (i > 0 && rnd_chance(&run->r, 40))
            continue;
        hid_t m    = H5Tget_member_type(type, (unsigned)i);
        char *name = H5Tget_member_name(type, (unsigned)i);
        H5Tinsert(t, name, at, m);
        at += H5Tget_size(m) + rnd_below(&run->r, 3);
        H5free_memory(name);
        H5Tclose(m);
    }
    return t;
}

static hid_t other_type(struct run *run, hid_t type);

static hid_t other_parts(struct run *run, hid_t type, H5T_class_t cls)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t   of = H5Tget_super(type), as = other_type(run, of), t;
    if (cls == H5T_ARRAY)
        H5Tget_array_dims2(type, dims);
    t = cls == H5T_VLEN ? H5Tvlen_create(as) : H5Tarray_create2(as, (unsigned)H5Tget_array_ndims(type), dims);
    H5Tclose(of);
    H5Tclose(as);
    return t;
}

static hid_t other_type(struct run *run, hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    unsigned    way = rnd_below(&run->r, 100);
    if (way < 35)
        return H5Tcopy(type);
    if (way < 60) {
        hid_t t = H5Tget_native_type(type, H5T_DIR_ASCEND);
        if (t >= 0)
            return t;
    }
    if (way < 63 && !is_var(type))
        return random_type(run); /* mostly refused */
    if (cls == H5T_INTEGER || cls == H5T_FLOAT || cls == H5T_ENUM)
        return number(run);
    if (cls == H5T_COMPOUND)
        return some_fields(run, type);
    if ((cls == H5T_VLEN || cls == H5T_ARRAY) && rnd_chance(&run->r, 60))
        return other_parts(run, type, cls);
    if (cls == H5T_STRING && H5Tis_variable_str(type) <= 0) {
        hid_t t = H5Tcopy(type);
        H5Tset_size(t, rnd_in(&run->r, 1, 12));
        H5Tset_strpad(t, (H5T_str_t)rnd_below(&run->r, 3));
        return t;
    }
    return H5Tcopy(type);
}

/* HDF5 rounds unusual floats by a function whose result depends on the elements before (1.14.5). */
hid_t random_mem_type(struct run *run, hid_t type)
{
    hid_t t     = other_type(run, type);
    bool  plain = H5Tget_class(type) == H5T_FLOAT || H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_ENUM;
    if (!has_class(type, H5T_FLOAT) && !has_class(t, H5T_FLOAT))
        return t;
    if (H5Tequal(t, type) > 0 || (plain && H5Tcompiler_conv(t, type) > 0 && H5Tcompiler_conv(type, t) > 0) ||
        (H5Tget_class(type) == H5T_COMPOUND && H5Tget_size(t) < H5Tget_size(type)))
        return t;
    H5Tclose(t);
    return H5Tcopy(type);
}

bool has_class(hid_t type, H5T_class_t cls) { return H5Tdetect_class(type, cls) > 0; }

bool is_var(hid_t type)
{
    if (has_class(type, H5T_VLEN) || has_class(type, H5T_REFERENCE))
        return true;
    if (H5Tget_class(type) == H5T_STRING)
        return H5Tis_variable_str(type) > 0;
    bool var = false;
    if (H5Tget_class(type) == H5T_ARRAY) {
        hid_t of = H5Tget_super(type);
        var      = is_var(of);
        H5Tclose(of);
    }
    for (int i = 0; !var && H5Tget_class(type) == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        hid_t m = H5Tget_member_type(type, (unsigned)i);
        var     = is_var(m);
        H5Tclose(m);
    }
    return var;
}

bool is_nested(hid_t type)
{
    H5T_class_t cls    = H5Tget_class(type);
    bool        nested = false;
    if (cls == H5T_ARRAY || cls == H5T_VLEN) {
        hid_t of = H5Tget_super(type);
        nested   = cls == H5T_VLEN ? is_var(of) : is_nested(of);
        H5Tclose(of);
    }
    for (int i = 0; !nested && cls == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        hid_t m = H5Tget_member_type(type, (unsigned)i);
        nested  = is_nested(m);
        H5Tclose(m);
    }
    return nested;
}

/* ---- values ---- */

static void clear_unused(hid_t type, unsigned char *p, size_t n);

static void clear_fields(hid_t type, unsigned char *p)
{
    for (unsigned i = 0; i < (unsigned)H5Tget_nmembers(type); i++) {
        hid_t m = H5Tget_member_type(type, i);
        clear_unused(m, p + H5Tget_member_offset(type, i), 1);
        H5Tclose(m);
    }
}

static void clear_bits(hid_t type, unsigned char *p)
{
    size_t      size = H5Tget_size(type), first = (size_t)H5Tget_offset(type), used = H5Tget_precision(type);
    H5T_order_t order = H5Tget_order(type);
    if (used >= 8 * size || order == H5T_ORDER_VAX)
        return;
    for (size_t bit = 0; bit < 8 * size; bit++)
        if (bit < first || bit >= first + used)
            p[order == H5T_ORDER_BE ? size - 1 - bit / 8 : bit / 8] &= (unsigned char)~(1U << bit % 8);
}

static void clear_unused(hid_t type, unsigned char *p, size_t n)
{
    size_t      size = H5Tget_size(type), one;
    H5T_class_t cls  = H5Tget_class(type);
    hid_t       of;
    for (size_t i = 0; i < n; i++, p += size) {
        if (cls == H5T_COMPOUND) {
            clear_fields(type, p);
        } else if (cls == H5T_ARRAY) {
            of  = H5Tget_super(type);
            one = H5Tget_size(of);
            clear_unused(of, p, size / one);
            H5Tclose(of);
        } else if (cls == H5T_INTEGER || cls == H5T_FLOAT || cls == H5T_BITFIELD) {
            clear_bits(type, p);
        }
    }
}

/* 0 .. 15; floats in halves, too. */
static void small_values(hid_t type, void *buf, size_t n, unsigned seed)
{
    size_t       size = H5Tget_size(type), room = size < sizeof(double) ? sizeof(double) : size;
    bool         real = H5Tget_class(type) == H5T_FLOAT;
    signed char *v    = calloc(n + 1, 1);
    double      *as   = calloc(n + 1, room);
    zoo_fill(H5T_NATIVE_SCHAR, v, n, seed);
    for (size_t i = 0; i < n; i++)
        as[i] = real ? (v[i] & 15) / 2.0 : v[i] & 15;
    H5Tconvert(H5T_NATIVE_DOUBLE, type, n, as, NULL, H5P_DEFAULT);
    memcpy(buf, as, n * size);
    free(v);
    free(as);
}

void random_values(struct run *run, const struct dset *d, hid_t type, void *buf, size_t n)
{
    H5T_class_t cls  = H5Tget_class(type);
    unsigned    seed = (unsigned)rnd_next(&run->r);
    if (d->small && (cls == H5T_INTEGER || cls == H5T_FLOAT)) {
        small_values(type, buf, n, seed);
        return;
    }
    zoo_fill(type, buf, n, seed);
    if (!d->exact)
        clear_unused(type, buf, n);
}

static bool same_fields(hid_t type, const unsigned char *a, const unsigned char *b)
{
    bool same = true;
    for (unsigned i = 0; same && i < (unsigned)H5Tget_nmembers(type); i++) {
        hid_t  m  = H5Tget_member_type(type, i);
        size_t at = H5Tget_member_offset(type, i);
        same      = same_values(m, a + at, b + at);
        H5Tclose(m);
    }
    return same;
}

static bool same_parts(hid_t type, const unsigned char *a, const unsigned char *b, size_t n)
{
    hid_t  of   = H5Tget_super(type);
    size_t size = H5Tget_size(of);
    bool   same = true;
    for (size_t i = 0; same && i < n; i++)
        same = same_values(of, a + i * size, b + i * size);
    H5Tclose(of);
    return same;
}

static size_t parts(hid_t array)
{
    hid_t  of = H5Tget_super(array);
    size_t n  = H5Tget_size(array) / H5Tget_size(of);
    H5Tclose(of);
    return n;
}

/* The bytes of a long double that it does not use have no defined value after a conversion. */
static bool same_float(hid_t type, const unsigned char *a, const unsigned char *b, size_t size)
{
    unsigned char c[2][32];
    if (size > sizeof c[0])
        return memcmp(a, b, size) == 0;
    memcpy(c[0], a, size);
    memcpy(c[1], b, size);
    clear_bits(type, c[0]);
    clear_bits(type, c[1]);
    return memcmp(c[0], c[1], size) == 0;
}

bool same_values(hid_t type, const void *a, const void *b)
{
    size_t      size = H5Tget_size(type);
    const char *s, *t;
    hvl_t       v, w;
    switch (H5Tget_class(type)) {
        case H5T_STRING:
            if (H5Tis_variable_str(type) <= 0)
                return memcmp(a, b, size) == 0;
            memcpy(&s, a, sizeof s);
            memcpy(&t, b, sizeof t);
            return s && t ? strcmp(s, t) == 0 : s == t;
        case H5T_VLEN:
            memcpy(&v, a, sizeof v);
            memcpy(&w, b, sizeof w);
            return v.len == w.len && (v.len == 0 || same_parts(type, v.p, w.p, v.len));
        case H5T_FLOAT:
            return same_float(type, a, b, size);
        case H5T_ARRAY:
            return same_parts(type, a, b, parts(type));
        case H5T_COMPOUND:
            return same_fields(type, a, b);
        case H5T_REFERENCE: /* only null ones are written */
        default:
            return memcmp(a, b, size) == 0;
    }
}

/* ---- shapes ---- */

static const unsigned longest[RANK + 1] = {1, 200, 30, 11, 6};

static size_t elements(const struct dset *d)
{
    size_t n = d->cls != H5S_NULL;
    for (int i = 0; i < d->rank; i++)
        n *= (size_t)d->dims[i];
    return n;
}

void random_shape(struct run *run, struct dset *d)
{
    struct rnd *r    = &run->r;
    unsigned    kind = rnd_below(r, 100);
    bool        big  = rnd_chance(r, 4) && !is_var(d->type) && H5Tget_size(d->type) <= 8;
    d->cls           = kind < 4 ? H5S_NULL : kind < 10 ? H5S_SCALAR : H5S_SIMPLE;
    d->rank          = d->cls != H5S_SIMPLE ? 0 : big ? (int)rnd_in(r, 1, 2) : (int)rnd_in(r, 1, RANK);
    d->limit         = big ? 200000 : LIMIT;
    for (int i = 0; i < d->rank; i++) {
        unsigned most = big ? (d->rank == 1 ? 150000 : 380) : longest[d->rank];
        d->dims[i]    = rnd_chance(r, 4) ? 0 : rnd_in(r, 1, most);
        d->max[i]     = rnd_chance(r, 45) ? d->dims[i] : rnd_chance(r, 50) ? H5S_UNLIMITED : d->dims[i] + rnd_below(r, most);
        d->chunk[i]   = big ? rnd_in(r, most / 40, most / 2) : rnd_in(r, 1, rnd_chance(r, 15) ? most * 2 : most / 2 + 1);
    }
    d->n = elements(d);
}

hid_t random_space(const struct dset *d)
{
    return d->cls == H5S_SIMPLE ? H5Screate_simple(d->rank, d->dims, d->max) : H5Screate(d->cls);
}

/* ---- property lists ---- */

/* Of the dataset's type, or converted from another one. */
static void fill_value(struct run *run, hid_t dcpl, const struct dset *d)
{
    bool           other = rnd_chance(&run->r, 20) && !has_class(d->type, H5T_COMPOUND);
    hid_t          as    = other ? random_mem_type(run, d->type) : H5Tcopy(d->type);
    unsigned char *v     = calloc(1, H5Tget_size(as));
    random_values(run, d, as, v, 1);
    note_type(run, "fill value as", as);
    if (is_var(as)) /* of another kind: refused, or of no length */
        memset(v, 0, H5Tget_size(as));
    H5Pset_fill_value(dcpl, as, v);
    H5Tclose(as);
    free(v);
}

hid_t random_dcpl(struct run *run, struct dset *d)
{
    struct rnd *r = &run->r;
    hid_t       p = H5Pcreate(H5P_DATASET_CREATE);
    bool        grows = false;
    for (int i = 0; i < d->rank; i++)
        grows = grows || d->max[i] != d->dims[i];
    unsigned way = rnd_below(r, 100);
    d->exact     = true;
    if (d->rank && (grows ? way < 95 : way < 55)) {
        H5Pset_chunk(p, d->rank, d->chunk);
        note(run, "chunked ");
        for (int i = 0; i < d->rank; i++)
            note(run, "%c%" PRIuHSIZE, i ? 'x' : ' ', d->chunk[i]);
        note(run, " ");
        random_filters(run, p, d);
        if (rnd_chance(r, 15) && !d->var) {
            H5Pset_chunk_opts(p, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
            note(run, "partial chunks unfiltered ");
        }
    } else if (rnd_chance(r, 40)) {
        H5Pset_layout(p, rnd_chance(r, 60) ? H5D_COMPACT : H5D_CONTIGUOUS);
        note(run, "layout %d ", H5Pget_layout(p));
    }
    way = rnd_below(r, 100);
    if (way < 45 && !d->var) { /* HDF5 can't read those of variable length in a file opened read-only, nor
                                  copy them into another */
        fill_value(run, p, d);
    } else if (way < 52 && !is_nested(d->type) && !(d->var && H5Pget_layout(p) == H5D_CONTIGUOUS)) {
        H5Pset_fill_value(p, d->type, NULL);
        note(run, "fill undefined ");
    }
    if (rnd_chance(r, 30)) {
        H5Pset_fill_time(p, (H5D_fill_time_t)rnd_below(r, 3));
        H5D_fill_time_t t;
        H5Pget_fill_time(p, &t);
        note(run, "fill time %d ", t);
    }
    if (rnd_chance(r, 30)) {
        H5Pset_alloc_time(p, (H5D_alloc_time_t)rnd_below(r, 4));
        H5D_alloc_time_t t;
        H5Pget_alloc_time(p, &t);
        note(run, "alloc time %d ", t);
    }
    if (d->var && H5Pget_layout(p) == H5D_CONTIGUOUS) { /* HDF5 frees the existing pointer when it writes,
                                                           whatever it is */
        H5Pset_fill_time(p, H5D_FILL_TIME_ALLOC);
        H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    }
    return p;
}

hid_t random_dapl(struct run *run)
{
    hid_t p = H5Pcreate(H5P_DATASET_ACCESS);
    unsigned slots = rnd_in(&run->r, 1, 20), bytes = rnd_below(&run->r, 5000);
    if (rnd_chance(&run->r, 40))
        H5Pset_chunk_cache(p, slots, bytes, 0.5);
    return p;
}

/* It transforms no others. */
static bool is_native(hid_t type)
{
    const hid_t types[] = {H5T_NATIVE_SCHAR, H5T_NATIVE_SHORT, H5T_NATIVE_INT, H5T_NATIVE_LONG, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE};
    for (size_t i = 0; i < COUNT(types); i++)
        if (H5Tequal(type, types[i]) > 0)
            return true;
    return false;
}

static void *some_memory(size_t n, void *arg)
{
    (void)arg;
    return malloc(n);
}
static void no_memory(void *p, void *arg)
{
    (void)arg;
    free(p);
}

/* Values that don't fit become 7, or end the call. */
static H5T_conv_ret_t on_conv(H5T_conv_except_t what, hid_t from, hid_t to, void *src, void *dst, void *arg)
{
    (void)what, (void)from, (void)src;
    if (*(const int *)arg == H5T_CONV_HANDLED) {
        memset(dst, 0, H5Tget_size(to));
        *(unsigned char *)dst = 7;
    }
    return *(const int *)arg;
}

/* @param size  of an element, in memory or in the file */
hid_t random_buffers(struct run *run, size_t size, bool var)
{
    struct rnd *r = &run->r;
    hid_t       p = H5Pcreate(H5P_DATASET_XFER);
    if (rnd_chance(r, 20)) {
        size_t n = size * rnd_in(r, 1, 9);
        n += rnd_below(r, (unsigned)size);
        H5Pset_buffer(p, n, NULL, NULL);
        note(run, "buffer %zu ", n);
    }
    if (rnd_chance(r, 10))
        H5Pset_edc_check(p, H5Z_DISABLE_EDC);
    if (rnd_chance(r, 10))
        H5Pset_hyper_vector_size(p, rnd_in(r, 2, 40));
    if (rnd_chance(r, 20) && var)
        H5Pset_vlen_mem_manager(p, some_memory, NULL, no_memory, NULL);
    return p;
}

size_t largest_element(const struct dset *d, hid_t type)
{
    size_t size = H5Tget_size(type) > H5Tget_size(d->type) ? H5Tget_size(type) : H5Tget_size(d->type);
    return size * (d->var ? 4 : 1); /* in a file they are larger */
}

hid_t random_dxpl(struct run *run, const struct dset *d, hid_t type, bool reads)
{
    struct rnd *r   = &run->r;
    hid_t       p   = random_buffers(run, largest_element(d, type), d->var);
    H5T_class_t cls = H5Tget_class(type);
    if (rnd_chance(r, 8)) {
        static const int ways[] = {H5T_CONV_UNHANDLED, H5T_CONV_HANDLED, H5T_CONV_ABORT};
        /* an abort only where the program reads: HDF5 keeps a part of the bytes written until then */
        const int       *way    = &ways[rnd_below(r, reads ? 3 : 2)];
        H5Pset_type_conv_cb(p, on_conv, (void *)(uintptr_t)way);
        note(run, "with a callback that says %d ", *way);
    }
    /* HDF5 transforms the elements that it reads, but not the fill values of chunks that were never stored.
     * The result for an integer that is too large afterwards depends on the compiler. */
    if (rnd_chance(r, 6) && (cls == H5T_FLOAT || (cls == H5T_INTEGER && d->small)) && (!reads || d->full) && is_native(type)) {
        static const char *const text[] = {"x+1", "2*x", "x/3", "(x+5)*2", "1.5*x"};
        const char              *t      = RND_OF(r, text);
        H5Pset_data_transform(p, t);
        note(run, "transform %s ", t);
    }
    return p;
}
