/* What the random test of datasets calls.  Everything that a call needs is drawn before either side does it. */
#include "random_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

struct dset *any_dset(struct run *run) { return &run->d[rnd_below(&run->r, (unsigned)run->n)]; }

void note_dset(struct run *run, const char *call, const struct dset *d)
{
    note(run, "%s of %s in file %d ", call, *d->name ? d->name : "(unlinked)", d->file);
}

void note_type(struct run *run, const char *word, hid_t type)
{
    static const char *const classes[] = {"int", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "vlen", "array"};
    H5T_class_t              cls       = H5Tget_class(type);
    note(run, "%s %s%s%zu%s ", word, cls == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "",
        cls >= 0 && (size_t)cls < COUNT(classes) ? classes[cls] : "type", 8 * H5Tget_size(type), H5Tget_order(type) == H5T_ORDER_BE ? "be" : "");
}

/* ---- which elements HDF5 says something about ---- */

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

/* For each element of the memory: 0 is not selected, 1 gets something, 2 gets what HDF5 says nothing about. */
static unsigned char *what_comes(const struct dset *d, const struct selection *s)
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

static void read_begin(struct run *run, struct read *x)
{
    x->type = random_mem_type(run, x->d->type);
    if (H5Tget_class(x->d->type) == H5T_STRING && !x->d->full) { /* where nothing is stored HDF5 gives zeros without converting them */
        H5Tclose(x->type);
        x->type = H5Tcopy(x->d->type);
    }
    note_type(run, "as", x->type);
    bool   var  = is_var(x->type);
    size_t size = H5Tget_size(x->type);
    random_selection(run, x->d, &x->s);
    EACH(i)
    {
        x->buf[i] = malloc(x->s.mem_n * size + 1);
        memset(x->buf[i], var ? 0 : 0x5a, x->s.mem_n * size + 1);
    }
}

/* Whether the results of reading it are to be the same: HDF5 also fails where it comes by what it says nothing about. */
static bool both_read(struct run *run, const char *call, const long long rc[SIDES], const struct read *x, size_t n)
{
    bool defined = true;
    for (size_t k = 0; k < n && defined; k++) {
        if (!x[k].s.ok)
            break;
        unsigned char *got = what_comes(x[k].d, &x[k].s);
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
    unsigned char *got  = what_comes(x->d, &x->s);
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

static void read_some(struct run *run)
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

/* In one file: HDF5's own connector refuses others (and crashes).  Nor can it read a chunked one twice in a call. */
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

static void read_several(struct run *run)
{
    struct dset *d[4];
    struct read  x[4];
    unsigned     n = several(run, d);
    hid_t        ids[SIDES][4], types[4], mem[4], file[4];
    void        *bufs[SIDES][4];
    bool         fit = true; /* as below */
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
    for (unsigned k = 0; k < n; k++)
        fit = fit && x[k].s.ok;
    EACH(i) { rc[i] = fit ? H5Dread_multi(n, ids[i], types, mem, file, H5P_DEFAULT, bufs[i]) : -1; }
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

/* Of a compound that was never written whole HDF5 says nothing about the rest. */
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

static void write_some(struct run *run)
{
    struct write x = {.d = any_dset(run)};
    if (x.d->once)
        return;
    note_dset(run, "H5Dwrite", x.d);
    write_begin(run, &x);
    if (is_nested(x.d->type) && H5Sget_select_type(x.s.fspace) == H5S_SEL_POINTS) { /* the same one twice */
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

static void write_several(struct run *run)
{
    struct dset *d[4];
    struct write x[4];
    unsigned     n = several(run, d);
    hid_t        ids[SIDES][4], types[4], mem[4], file[4];
    const void  *bufs[4];
    bool         fit = true; /* HDF5 crashes where only some do */
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
    /* For references among several HDF5 takes what another dataset's conversion left for what they are written over. */
    for (unsigned k = 0; k < n; k++)
        fit = fit && (n == 1 || !has_class(x[k].d->type, H5T_REFERENCE));
    EACH(i) { rc[i] = fit ? H5Dwrite_multi(n, ids[i], types, mem, file, H5P_DEFAULT, bufs) : -1; }
    bool ok = both(run, "H5Dwrite_multi", rc);
    for (unsigned k = 0; k < n; k++) {
        if (ok)
            written(&x[k]);
        write_end(&x[k]);
    }
}

/* ---- datasets come and go ---- */

void dset_close(struct dset *d)
{
    EACH(i)
    {
        if (d->id[i] >= 0)
            H5Dclose(d->id[i]);
        d->id[i] = H5I_INVALID_HID;
    }
}

static void forget(struct run *run, struct dset *d)
{
    dset_close(d);
    H5Tclose(d->type);
    H5Pclose(d->dcpl);
    free(d->known);
    *d = run->d[--run->n];
    memset(&run->d[run->n], 0, sizeof *d);
}

/* Where nothing is stored HDF5 gives 0 without converting it, and where a chunk of zeros is, what it makes of values that are no
 * member's. */
static bool lacks_zero(hid_t type)
{
    char zero[16] = {0}, name[32];
    return H5Tget_class(type) == H5T_ENUM && H5Tenum_nameof(type, zero, name, sizeof name) < 0;
}

static void create(struct run *run)
{
    struct dset d = {.file = (int)rnd_below(&run->r, FILES), .id = {H5I_INVALID_HID, H5I_INVALID_HID}};
    if (run->n == DSETS)
        return;
    snprintf(d.name, sizeof d.name, "d%u", rnd_below(&run->r, 3 * DSETS));
    note(run, "H5Dcreate2 ");
    d.type = random_type(run);
    note_type(run, "of", d.type);
    d.var  = is_var(d.type);
    random_shape(run, &d);
    d.dcpl     = random_dcpl(run, &d);
    hid_t dapl = random_dapl(run), space = random_space(&d);
    for (int i = 0; i < d.rank; i++)
        note(run, "%c%" PRIuHSIZE "/%lld", i ? ',' : '{', d.dims[i], (long long)d.max[i]);
    note_dset(run, d.rank ? "}" : d.cls == H5S_NULL ? "null" : "scalar", &d);
    long long rc[SIDES];
    EACH(i) { rc[i] = d.id[i] = H5Dcreate2(run->file[d.file][i], d.name, d.type, space, H5P_DEFAULT, d.dcpl, dapl); }
    H5Sclose(space);
    H5Pclose(dapl);
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    H5D_fill_time_t  when = H5D_FILL_TIME_ERROR;
    H5Pfill_value_defined(d.dcpl, &fill);
    H5Pget_fill_time(d.dcpl, &when);
    run->d[run->n++] = d;
    if (fill == H5D_FILL_VALUE_DEFAULT && (lacks_zero(d.type) || (H5Pget_layout(d.dcpl) == H5D_CONTIGUOUS && when != H5D_FILL_TIME_ALLOC)))
        fill = H5D_FILL_VALUE_UNDEFINED; /* of a contiguous one, what the file had there */
    if (!both(run, "H5Dcreate2", rc))
        forget(run, &run->d[run->n - 1]);
    else if (fill == H5D_FILL_VALUE_UNDEFINED || when == H5D_FILL_TIME_NEVER)
        all_unknown(&run->d[run->n - 1]);
}

static void delete_one(struct run *run)
{
    struct dset *d = any_dset(run);
    long long    rc[SIDES];
    if (!*d->name)
        return;
    note_dset(run, "H5Ldelete", d);
    bool stays = rnd_chance(&run->r, 30);
    if (!stays)
        dset_close(d);
    EACH(i) { rc[i] = H5Ldelete(run->file[d->file][i], d->name, H5P_DEFAULT); }
    both(run, "H5Ldelete", rc);
    *d->name = 0;
    if (!stays)
        forget(run, d);
}

static bool open_one(struct run *run, struct dset *d, hid_t (*file)[SIDES], hid_t dapl)
{
    long long rc[SIDES];
    EACH(i) { rc[i] = d->id[i] = H5Dopen2(file[d->file][i], d->name, dapl); }
    return both(run, "H5Dopen2", rc);
}

bool dsets_open(struct run *run)
{
    for (int k = 0; k < run->n && !run->differs; k++)
        if (run->d[k].id[0] < 0 && !open_one(run, &run->d[k], run->file, H5P_DEFAULT))
            differ(run, "%s can't be opened", run->d[k].name);
    return !run->differs;
}

static void reopen_one(struct run *run)
{
    struct dset *d = any_dset(run);
    if (!*d->name)
        return;
    note_dset(run, "H5Dclose, H5Dopen2", d);
    dset_close(d);
    hid_t dapl  = random_dapl(run);
    bool  other = rnd_chance(&run->r, 50) && run->twice[d->file][0] >= 0;
    open_one(run, d, other ? run->twice : run->file, dapl);
    H5Pclose(dapl);
}

static void copy_one(struct run *run)
{
    struct dset *d = any_dset(run), c = *d;
    long long    rc[SIDES];
    unsigned     opts = 0;
    if (d->rank && H5Pget_layout(d->dcpl) == H5D_CHUNKED)
        H5Pget_chunk_opts(d->dcpl, &opts);
    /* HDF5 1.14.5 makes wrong copies of chunks that are unfiltered as partial ones, fails for some references, and writes beyond its
     * buffer where chunks of what has no fixed length are filtered. */
    if (run->n == DSETS || !*d->name || opts || has_class(d->type, H5T_REFERENCE) || (d->var && H5Pget_nfilters(d->dcpl)))
        return;
    c.file = (int)rnd_below(&run->r, FILES);
    snprintf(c.name, sizeof c.name, "d%u", rnd_below(&run->r, 3 * DSETS));
    note_dset(run, "H5Ocopy", d);
    note_dset(run, "to", &c);
    H5Dclose(d->id[0]); /* HDF5's own connector doesn't always copy what it has in memory, and writes beyond its buffer */
    EACH(i) { rc[i] = H5Ocopy(run->file[d->file][i], d->name, run->file[c.file][i], c.name, H5P_DEFAULT, H5P_DEFAULT); }
    d->id[0] = H5Dopen2(run->file[d->file][0], d->name, H5P_DEFAULT);
    if (!both(run, "H5Ocopy", rc))
        return;
    EACH(i) { rc[i] = c.id[i] = H5Dopen2(run->file[c.file][i], c.name, H5P_DEFAULT); }
    if (!both(run, "H5Dopen2 of the copy", rc))
        return;
    c.type = H5Tcopy(d->type);
    c.dcpl = H5Pcopy(d->dcpl);
    if (d->known) {
        all_unknown(&c);
        memcpy(c.known, d->known, d->n);
    }
    run->d[run->n++] = c;
}

/* ---- extents ---- */

struct box {
    const hsize_t *from, *to; /* extents */
    const unsigned char *old;
    unsigned char *now;
    int rank;
};

static void carry_known(const struct box *b, int i, size_t at_old, size_t at_new)
{
    if (i == b->rank) {
        b->now[at_new] = b->old ? b->old[at_old] : 1;
        return;
    }
    for (hsize_t k = 0; k < b->from[i] && k < b->to[i]; k++)
        carry_known(b, i + 1, at_old * (size_t)b->from[i] + (size_t)k, at_new * (size_t)b->to[i] + (size_t)k);
}

static void resized(struct dset *d, const hsize_t *dims)
{
    size_t n = 1;
    for (int i = 0; i < d->rank; i++)
        n *= (size_t)dims[i];
    H5D_alloc_time_t when = H5D_ALLOC_TIME_DEFAULT;
    H5Pget_alloc_time(d->dcpl, &when);
    if (!d->known && when == H5D_ALLOC_TIME_LATE) { /* HDF5 leaves the fill value out of chunks at the border when it is all written at once */
        all_unknown(d);
        memset(d->known, 1, d->n);
    }
    if (d->known) {
        unsigned char *now = calloc(1, n + 1);
        struct box     b   = {d->dims, dims, d->known, now, d->rank};
        carry_known(&b, 0, 0, 0);
        free(d->known);
        d->known = now;
    }
    for (int i = 0; i < d->rank; i++)
        d->full = d->full && dims[i] <= d->dims[i];
    memcpy(d->dims, dims, (size_t)d->rank * sizeof *dims);
    d->n = n;
}

/* What HDF5's szip can't make shorter is stored as it is, which HDF5 forgets when it clears what a smaller extent cuts off. */
static bool may_shrink(const struct dset *d, const hsize_t *dims)
{
    unsigned flags;
    size_t   none = 0;
    bool     szip = d->rank && H5Pget_filter_by_id2(d->dcpl, H5Z_FILTER_SZIP, &flags, &none, NULL, 0, NULL, NULL) >= 0;
    for (int i = 0; i < d->rank; i++)
        if (szip && dims[i] < d->dims[i])
            return false;
    return true;
}

static void set_extent(struct run *run)
{
    struct dset *d = any_dset(run);
    hsize_t      dims[RANK];
    long long    rc[SIDES];
    size_t       n = 1;
    for (int i = 0; i < d->rank; i++) {
        unsigned now = (unsigned)d->dims[i], most = d->max[i] == H5S_UNLIMITED ? now + now / 2 + 9 : (unsigned)d->max[i];
        dims[i] = rnd_chance(&run->r, 40) ? now : rnd_below(&run->r, most + 1);
        if (rnd_chance(&run->r, 2))
            dims[i] = most + 1;
        while (n * dims[i] > d->limit)
            dims[i] /= 2;
        n *= (size_t)dims[i];
    }
    note_dset(run, "H5Dset_extent", d);
    /* HDF5 1.14.5 looks for partial chunks in an index that isn't there yet. */
    unsigned opts = 0;
    if (d->rank && H5Pget_layout(d->dcpl) == H5D_CHUNKED && H5Pget_chunk_opts(d->dcpl, &opts) >= 0 && opts && !d->full)
        return;
    if (!may_shrink(d, dims))
        return;
    for (int i = 0; i < d->rank; i++)
        note(run, "%c%" PRIuHSIZE, i ? ',' : '{', dims[i]);
    note(run, "} ");
    EACH(i) { rc[i] = H5Dset_extent(d->id[i], dims); }
    if (both(run, "H5Dset_extent", rc))
        resized(d, dims);
}

/* ---- what is asked ---- */

static void ask(struct run *run)
{
    struct dset *d = any_dset(run);
    long long    rc[SIDES];
    note_dset(run, "questions", d);
    hid_t s[SIDES], t[SIDES], p[SIDES];
    EACH(i)
    {
        s[i]  = H5Dget_space(d->id[i]);
        t[i]  = H5Dget_type(d->id[i]);
        p[i]  = H5Dget_create_plist(d->id[i]);
        rc[i] = s[i] < 0 || t[i] < 0 || p[i] < 0 ? -1 : 0;
    }
    if (!both(run, "H5Dget_space, type, create_plist", rc))
        return;
    if (H5Sextent_equal(s[0], s[1]) <= 0)
        differ(run, "the extents differ");
    if (H5Tequal(t[0], t[1]) <= 0)
        differ(run, "the types differ");
    H5D_fill_time_t  when[SIDES];
    H5D_alloc_time_t alloc[SIDES];
    H5D_fill_value_t fill[SIDES];
    EACH(i)
    {
        H5Pget_fill_time(p[i], &when[i]);
        H5Pget_alloc_time(p[i], &alloc[i]);
        H5Pfill_value_defined(p[i], &fill[i]);
    }
    if (when[0] != when[1] || alloc[0] != alloc[1] || fill[0] != fill[1] || H5Pget_layout(p[0]) != H5Pget_layout(p[1]) ||
        H5Pget_nfilters(p[0]) != H5Pget_nfilters(p[1]))
        differ(run, "the creation lists differ");
    EACH(i)
    {
        H5Sclose(s[i]);
        H5Tclose(t[i]);
        H5Pclose(p[i]);
    }
    if (d->var && d->cls == H5S_SIMPLE && !d->known && !has_class(d->type, H5T_REFERENCE)) {
        hsize_t size[SIDES] = {0};
        hid_t   space       = random_space(d);
        EACH(i) { rc[i] = H5Dvlen_get_buf_size(d->id[i], d->type, space, &size[i]); }
        H5Sclose(space);
        if (both(run, "H5Dvlen_get_buf_size", rc) && size[0] != size[1])
            differ(run, "H5Dvlen_get_buf_size: %" PRIuHSIZE " natively, %" PRIuHSIZE " in the domain", size[0], size[1]);
    }
}

/* ---- files ---- */

static void flush(struct run *run)
{
    struct dset *d   = any_dset(run);
    unsigned     way = rnd_below(&run->r, 3);
    long long    rc[SIDES];
    note_dset(run, way == 0 ? "H5Dflush" : way == 1 ? "H5Fflush" : "H5Drefresh", d);
    EACH(i)
    {
        rc[i] = way == 0 ? H5Dflush(d->id[i]) : way == 1 ? H5Fflush(run->file[d->file][i], H5F_SCOPE_GLOBAL) : H5Drefresh(d->id[i]);
    }
    both(run, "it", rc);
}

static void reopen_files(struct run *run)
{
    bool reading = rnd_chance(&run->r, 40);
    note(run, "H5Fclose, H5Fopen %s", reading ? "H5F_ACC_RDONLY, again " : "");
    if (!files_close(run))
        return;
    if (reading) {
        if (!files_open(run, false, H5F_ACC_RDONLY) || !dsets_open(run))
            return;
        for (unsigned k = 0; k < 3 && run->n && !run->differs; k++)
            read_some(run);
        for (int k = 0; k < run->n && !run->differs; k++)
            compare_whole(run, &run->d[k]);
        compare_virtual(run);
        if (run->differs || !files_close(run))
            return;
    }
    if (files_open(run, false, H5F_ACC_RDWR))
        dsets_open(run);
}

static void open_twice(struct run *run);

static void whole(struct run *run)
{
    struct dset *d = any_dset(run);
    note_dset(run, "all", d);
    compare_whole(run, d);
}

const struct call calls[] = {
    {"create", 14, false, create},        {"read", 22, true, read_some},         {"write", 26, true, write_some},
    {"read several", 6, true, read_several}, {"write several", 7, true, write_several}, {"set extent", 14, true, set_extent},
    {"delete", 3, true, delete_one},      {"reopen a dataset", 5, true, reopen_one}, {"copy", 4, true, copy_one},
    {"chunk", 14, true, chunk_call},
    {"ask", 5, true, ask},                {"flush", 7, true, flush},             {"reopen", 4, false, reopen_files},
    {"open twice", 2, false, open_twice}, {"whole", 5, true, whole},
    {"attribute", 12, true, attribute},   {"virtual", 5, true, use_virtual},
    {"look", 2, false, look},
};
const size_t n_calls = COUNT(calls);

static void open_twice(struct run *run)
{
    int       f = (int)rnd_below(&run->r, FILES);
    long long rc[SIDES];
    bool      closes = run->twice[f][0] >= 0;
    note(run, "%s of file %d again", closes ? "H5Fclose" : "H5Freopen", f);
    EACH(i)
    {
        if (closes) {
            rc[i]            = H5Fclose(run->twice[f][i]);
            run->twice[f][i] = H5I_INVALID_HID;
        } else {
            rc[i] = run->twice[f][i] = H5Freopen(run->file[f][i]);
        }
    }
    both(run, "it", rc);
}
