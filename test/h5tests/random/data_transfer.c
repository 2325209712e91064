/* Reading and writing in the random test of datasets, and the elements that HDF5 defines. */
#include "h5tests/random/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the elements that HDF5 defines ---- */

static herr_t ones(const void **src, size_t *size, void *arg)
{
    static const unsigned char one[4096] = {[0 ... 4095] = 1};
    size_t                    *left      = arg;
    *src                                 = one;
    *size                                = *left < sizeof one ? *left : sizeof one;
    *left -= *size;
    return 0;
}

void now_known(struct dset *d, hid_t fspace, size_t n)
{
    if (d->known && n)
        H5Dscatter(ones, &n, H5T_NATIVE_UCHAR, fspace, d->known);
}

void all_unknown(struct dset *d) { d->known = d->n ? calloc(1, d->n) : malloc(1); }

struct bytes {
    const unsigned char *p;
    size_t               n;
};
static herr_t give(const void **src, size_t *size, void *arg)
{
    struct bytes *b = arg;
    *src            = b->p;
    *size           = b->n;
    return 0;
}

/* For each element of the memory: 0 is not selected, 1 gets a defined value, 2 gets a value that HDF5 leaves
 * undefined. */
static unsigned char *expected_bytes(const struct dset *d, const struct selection *s)
{
    unsigned char *got = calloc(1, s->mem_n + 1), *of = malloc(s->n + 1);
    memset(of, 1, s->n + 1);
    if (d->known && s->n)
        H5Dgather(s->fspace, d->known, H5T_NATIVE_UCHAR, s->n, of, NULL, NULL);
    for (size_t i = 0; d->known && i < s->n; i++)
        of[i] = of[i] ? 1 : 2;
    struct bytes b = {of, s->n};
    if (s->n)
        H5Dscatter(give, &b, H5T_NATIVE_UCHAR, s->mspace, got);
    free(of);
    return got;
}

/* ---- reading ---- */

struct read {
    struct dset     *d;
    struct selection s;
    hid_t            type;
    unsigned char   *buf[SIDES];
};

static bool has_other_fields(hid_t mem, hid_t file)
{
    bool other = false;
    for (unsigned i = 0; H5Tget_class(mem) == H5T_COMPOUND && H5Tget_class(file) == H5T_COMPOUND && !other && i < (unsigned)H5Tget_nmembers(mem);
         i++) {
        char *name = H5Tget_member_name(mem, i);
        other      = H5Tget_member_index(file, name) < 0;
        H5free_memory(name);
    }
    H5Eclear2(H5E_DEFAULT);
    return other;
}

static void read_begin(struct run *run, struct read *x)
{
    x->type = random_mem_type(run, x->d->type);
    /* If nothing is stored, HDF5 returns zeros for strings without converting them, and for fields that only
     * the memory has. */
    if (!x->d->full && (H5Tget_class(x->d->type) == H5T_STRING || has_other_fields(x->type, x->d->type))) {
        H5Tclose(x->type);
        x->type = H5Tcopy(x->d->type);
    }
    note_type(run, "as", x->type);
    bool   var   = is_var(x->type);
    size_t size  = H5Tget_size(x->type);
    x->d->cached = true;
    random_selection(run, x->d, &x->s);
    EACH(i)
    {
        x->buf[i] = malloc(x->s.mem_n * size + 1);
        memset(x->buf[i], var ? 0 : 0x5a, x->s.mem_n * size + 1);
    }
}

/* Whether the results of reading it must be the same: HDF5 also fails if it meets values that it leaves
 * undefined. */
static bool both_read(struct run *run, const char *call, const long long rc[SIDES], const struct read *x, size_t n)
{
    bool defined = true;
    for (size_t k = 0; k < n && defined; k++) {
        if (!x[k].s.ok)
            break;
        unsigned char *got = expected_bytes(x[k].d, &x[k].s);
        defined            = !memchr(got, 2, x[k].s.mem_n);
        free(got);
    }
    if (defined || (rc[0] >= 0 && rc[1] >= 0))
        return both(run, call, rc);
    H5Eclear2(H5E_DEFAULT);
    return false;
}

static void compare_values(struct run *run, const struct read *x)
{
    size_t         size = H5Tget_size(x->type);
    unsigned char *got = expected_bytes(x->d, &x->s);
    for (size_t i = 0; i < x->s.mem_n && !run->differs; i++) {
        const unsigned char *a = x->buf[0] + i * size, *b = x->buf[1] + i * size;
        if (got[i] == 0 && memcmp(a, b, size) != 0)
            differ(run, "element %zu of the memory was not selected, and changed", i);
        if (got[i] == 1 && !same_values(x->type, a, b)) {
            char text[2][100] = {"", ""};
            for (size_t k = 0; k < size && k < 32; k++) {
                snprintf(text[0] + 2 * k, 3, "%02x", a[k]);
                snprintf(text[1] + 2 * k, 3, "%02x", b[k]);
            }
            differ(run, "element %zu of the memory (%s of %s) is %s natively, %s in the domain", i, x->d->name,
                H5Tget_class(x->d->type) == H5T_COMPOUND ? "compounds" : "values", text[0], text[1]);
        }
    }
    free(got);
}

static void read_end(struct read *x, bool reclaim)
{
    hsize_t n     = x->s.mem_n;
    hid_t   space = n ? H5Screate_simple(1, &n, NULL) : H5I_INVALID_HID;
    EACH(i)
    {
        if (reclaim && n && is_var(x->type))
            H5Treclaim(x->type, space, H5P_DEFAULT, x->buf[i]);
        free(x->buf[i]);
    }
    if (n)
        H5Sclose(space);
    selection_end(&x->s);
    H5Tclose(x->type);
}

void read_some(struct run *run)
{
    struct read x = {.d = any_dset(run)};
    note_dset(run, "H5Dread", x.d);
    read_begin(run, &x);
    hid_t     dxpl = random_dxpl(run, x.d, x.type, true);
    long long rc[SIDES];
    EACH(i) { rc[i] = H5Dread(x.d->id[i], x.type, x.s.mem, x.s.file, dxpl, x.buf[i]); }
    bool ok = both_read(run, "H5Dread", rc, &x, 1);
    if (ok)
        compare_values(run, &x);
    read_end(&x, ok);
    H5Pclose(dxpl);
}

void compare_whole(struct run *run, struct dset *d)
{
    struct read x = {.d = d, .type = H5Tcopy(d->type), .s = {H5S_ALL, H5S_ALL, .n = d->n, .mem_n = d->n, .ok = true}};
    long long   rc[SIDES];
    x.s.fspace = random_space(d);
    x.s.mspace = random_space(d);
    d->cached  = true;
    EACH(i)
    {
        x.buf[i] = calloc(d->n + 1, H5Tget_size(d->type));
        rc[i]    = H5Dread(d->id[i], d->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.buf[i]);
    }
    bool ok = both_read(run, "H5Dread of the whole dataset", rc, &x, 1);
    if (ok)
        compare_values(run, &x);
    read_end(&x, ok);
    if (!run->differs)
        compare_attributes(run, d);
}

/* In one file: HDF5's own connector refuses several files (and crashes).  Nor can it read a chunked dataset
 * twice in a call. */
static unsigned several(struct run *run, struct dset **d)
{
    unsigned n = 0, taken = 0, want = rnd_in(&run->r, 1, 4);
    for (unsigned i = 0; i < want; i++) {
        unsigned k = rnd_below(&run->r, (unsigned)run->n);
        if (!(taken & 1U << k) && (n == 0 || run->d[k].file == d[0]->file))
            d[n++] = &run->d[k];
        taken |= 1U << k;
    }
    return n;
}

void read_several(struct run *run)
{
    struct dset *d[4];
    struct read  x[4];
    unsigned     n = several(run, d);
    hid_t        ids[SIDES][4], types[4], mem[4], file[4];
    void        *bufs[SIDES][4];
    bool         fit = true, var = false; /* as below */
    size_t       size = 1;
    long long    rc[SIDES];
    for (unsigned k = 0; k < n; k++) {
        x[k].d = d[k];
        note_dset(run, "H5Dread_multi", d[k]);
        read_begin(run, &x[k]);
        types[k] = x[k].type;
        mem[k]   = x[k].s.mem;
        file[k]  = x[k].s.file;
        EACH(i)
        {
            ids[i][k]  = d[k]->id[i];
            bufs[i][k] = x[k].buf[i];
        }
    }
    for (unsigned k = 0; k < n; k++) {
        size_t one = largest_element(d[k], types[k]);
        fit        = fit && x[k].s.ok;
        var        = var || d[k]->var;
        size       = one > size ? one : size;
    }
    hid_t dxpl = random_buffers(run, size, var);
    EACH(i) { rc[i] = fit ? H5Dread_multi(n, ids[i], types, mem, file, dxpl, bufs[i]) : -1; }
    H5Pclose(dxpl);
    bool ok = both_read(run, "H5Dread_multi", rc, x, n);
    for (unsigned k = 0; k < n; k++) {
        if (ok)
            compare_values(run, &x[k]);
        read_end(&x[k], ok);
    }
}

/* ---- writing ---- */

struct write {
    struct dset     *d;
    struct selection s;
    hid_t            type;
    unsigned char   *buf;
};

static void write_begin(struct run *run, struct write *x)
{
    x->type = random_mem_type(run, x->d->type);
    if (!x->d->full && H5Tget_class(x->type) == H5T_COMPOUND) { /* HDF5 leaves the fill value out of fields that a first write doesn't have */
        H5Tclose(x->type);
        x->type = H5Tcopy(x->d->type);
    }
    note_type(run, "as", x->type);
    random_selection(run, x->d, &x->s);
    size_t n = x->s.mem_n < x->s.n ? x->s.n : x->s.mem_n;
    x->buf   = calloc(n + 1, H5Tget_size(x->type));
    random_values(run, x->d, x->type, x->buf, n);
}

/* HDF5 leaves the rest of a compound undefined that was never written whole. */
static void written(const struct write *x)
{
    if (H5Tget_class(x->d->type) == H5T_COMPOUND && H5Tget_nmembers(x->type) < H5Tget_nmembers(x->d->type))
        return;
    now_known(x->d, x->s.fspace, x->s.n);
    x->d->once = is_nested(x->d->type) && x->s.n;
    x->d->full = x->d->full || (x->s.n == x->d->n && H5Sget_select_type(x->s.fspace) == H5S_SEL_ALL);
}

static void write_end(struct write *x)
{
    hsize_t n = x->s.mem_n < x->s.n ? x->s.n : x->s.mem_n;
    if (n && is_var(x->type)) {
        hid_t space = H5Screate_simple(1, &n, NULL);
        H5Treclaim(x->type, space, H5P_DEFAULT, x->buf);
        H5Sclose(space);
    }
    free(x->buf);
    selection_end(&x->s);
    H5Tclose(x->type);
}

void write_some(struct run *run)
{
    struct write x = {.d = any_dset(run)};
    if (x.d->once)
        return;
    note_dset(run, "H5Dwrite", x.d);
    write_begin(run, &x);
    if (is_nested(x.d->type) && H5Sget_select_type(x.s.fspace) == H5S_SEL_POINTS) { /* the same dataset twice */
        write_end(&x);
        return;
    }
    hid_t     dxpl = random_dxpl(run, x.d, x.type, false);
    long long rc[SIDES];
    EACH(i) { rc[i] = H5Dwrite(x.d->id[i], x.type, x.s.mem, x.s.file, dxpl, x.buf); }
    if (both(run, "H5Dwrite", rc))
        written(&x);
    write_end(&x);
    H5Pclose(dxpl);
}

void write_several(struct run *run)
{
    struct dset *d[4];
    struct write x[4];
    unsigned     n = several(run, d);
    hid_t        ids[SIDES][4], types[4], mem[4], file[4];
    const void  *bufs[4];
    bool         fit = true; /* HDF5 crashes where only some do */
    size_t       size = 1;
    long long    rc[SIDES];
    for (unsigned k = 0; k < n; k++) {
        x[k].d = d[k];
        if (d[k]->once)
            n = k;
    }
    for (unsigned k = 0; k < n; k++) {
        note_dset(run, "H5Dwrite_multi", d[k]);
        write_begin(run, &x[k]);
        types[k] = x[k].type;
        mem[k]   = x[k].s.mem;
        file[k]  = x[k].s.file;
        bufs[k]  = x[k].buf;
        EACH(i) { ids[i][k] = d[k]->id[i]; }
    }
    for (unsigned k = 0; k < n; k++)
        fit = fit && x[k].s.ok && !(is_nested(x[k].d->type) && H5Sget_select_type(x[k].s.fspace) == H5S_SEL_POINTS);
    /* If references are among several datasets, HDF5 mistakes the leftovers of another dataset's conversion
     * for the references that they are written over. */
    for (unsigned k = 0; k < n; k++)
        fit = fit && (n == 1 || !has_class(x[k].d->type, H5T_REFERENCE));
    for (unsigned k = 0; k < n; k++) {
        size_t one = largest_element(d[k], types[k]);
        size       = one > size ? one : size;
    }
    hid_t dxpl = random_buffers(run, size, false);
    EACH(i) { rc[i] = fit ? H5Dwrite_multi(n, ids[i], types, mem, file, dxpl, bufs) : -1; }
    H5Pclose(dxpl);
    bool ok = both(run, "H5Dwrite_multi", rc);
    for (unsigned k = 0; k < n; k++) {
        if (ok)
            written(&x[k]);
        write_end(&x[k]);
    }
}
