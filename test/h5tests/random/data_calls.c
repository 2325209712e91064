/* The calls of the random test of datasets, except reading and writing (data_transfer.c).  Everything that
 * a call needs is drawn before either side makes it. */
#include "h5tests/random/data.h"

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

/* ---- datasets come and go ---- */

void dset_close(struct dset *d)
{
    EACH(i)
    {
        if (d->id[i] >= 0)
            H5Dclose(d->id[i]);
        d->id[i] = H5I_INVALID_HID;
    }
    d->cached = false;
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

/* If nothing is stored, HDF5 returns 0 without converting it.  For a chunk of zeros it returns the result of
 * converting values that are not a member's. */
static bool lacks_zero(hid_t type)
{
    char zero[16] = {0}, name[32];
    return H5Tget_class(type) == H5T_ENUM && H5Tenum_nameof(type, zero, name, sizeof name) < 0;
}

void some_type_ids(struct run *run, int file, hid_t *type, hid_t ids[SIDES])
{
    unsigned  way = rnd_below(&run->r, 100);
    char      name[16];
    long long rc[SIDES];
    snprintf(name, sizeof name, "t%u", rnd_below(&run->r, 6));
    EACH(i) { ids[i] = H5I_INVALID_HID; }
    if (way < 12) {
        EACH(i) { rc[i] = ids[i] = H5Topen2(run->file[file][i], name, H5P_DEFAULT); }
        if (both(run, "H5Topen2", rc)) {
            note(run, "committed %s ", name);
            H5Tclose(*type);
            *type = H5Tcopy(ids[0]);
        }
    } else if (way < 30) {
        EACH(i)
        {
            ids[i] = H5Tcopy(*type);
            rc[i]  = H5Tcommit2(run->file[file][i], name, ids[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        }
        if (both(run, "H5Tcommit2", rc))
            note(run, "now committed %s ", name);
    }
    EACH(i) { ids[i] = ids[i] < 0 ? H5Tcopy(*type) : ids[i]; }
}

static void create(struct run *run)
{
    struct dset d = {.file = (int)rnd_below(&run->r, FILES), .id = {H5I_INVALID_HID, H5I_INVALID_HID}};
    if (run->n == DSETS)
        return;
    snprintf(d.name, sizeof d.name, "d%u", rnd_below(&run->r, 3 * DSETS));
    note(run, "H5Dcreate2 ");
    d.type = random_type(run);
    hid_t ids[SIDES];
    some_type_ids(run, d.file, &d.type, ids);
    note_type(run, "of", d.type);
    d.var  = is_var(d.type);
    random_shape(run, &d);
    d.dcpl     = random_dcpl(run, &d);
    hid_t dapl = random_dapl(run), space = random_space(&d);
    for (int i = 0; i < d.rank; i++)
        note(run, "%c%" PRIuHSIZE "/%lld", i ? ',' : '{', d.dims[i], (long long)d.max[i]);
    note_dset(run, d.rank ? "}" : d.cls == H5S_NULL ? "null" : "scalar", &d);
    long long rc[SIDES];
    EACH(i)
    {
        rc[i] = d.id[i] = H5Dcreate2(run->file[d.file][i], d.name, ids[i], space, H5P_DEFAULT, d.dcpl, dapl);
        H5Tclose(ids[i]);
    }
    H5Sclose(space);
    H5Pclose(dapl);
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    H5D_fill_time_t  when = H5D_FILL_TIME_ERROR;
    H5Pfill_value_defined(d.dcpl, &fill);
    H5Pget_fill_time(d.dcpl, &when);
    run->d[run->n++] = d;
    if (fill == H5D_FILL_VALUE_DEFAULT && (lacks_zero(d.type) || (H5Pget_layout(d.dcpl) == H5D_CONTIGUOUS && when != H5D_FILL_TIME_ALLOC)))
        fill = H5D_FILL_VALUE_UNDEFINED; /* of a contiguous one, the file's earlier bytes there */
    if (!both(run, "H5Dcreate2", rc))
        forget(run, &run->d[run->n - 1]);
    else if (fill == H5D_FILL_VALUE_UNDEFINED || when == H5D_FILL_TIME_NEVER)
        all_unknown(&run->d[run->n - 1]);
}

static void delete_type(struct run *run)
{
    char      name[16];
    long long rc[SIDES];
    int       file = (int)rnd_below(&run->r, FILES);
    snprintf(name, sizeof name, "t%u", rnd_below(&run->r, 6));
    note(run, "H5Ldelete of %s in file %d", name, file);
    EACH(i) { rc[i] = H5Ldelete(run->file[file][i], name, H5P_DEFAULT); }
    both(run, "it", rc);
}

static void delete_one(struct run *run)
{
    struct dset *d = any_dset(run);
    long long    rc[SIDES];
    if (rnd_chance(&run->r, 30)) {
        delete_type(run);
        return;
    }
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
    /* HDF5 1.14.5 makes wrong copies of chunks that are unfiltered because they are partial.  It fails for
     * some references, and writes beyond its buffer if chunks of variable-length elements are filtered. */
    if (run->n == DSETS || !*d->name || opts || has_class(d->type, H5T_REFERENCE) || (d->var && H5Pget_nfilters(d->dcpl)) ||
        !attributes_copied(d))
        return;
    c.file = (int)rnd_below(&run->r, FILES);
    snprintf(c.name, sizeof c.name, "d%u", rnd_below(&run->r, 3 * DSETS));
    note_dset(run, "H5Ocopy", d);
    note_dset(run, "to", &c);
    H5Dclose(d->id[0]); /* HDF5's own connector doesn't always copy data that it has in memory, and writes
                           beyond its buffer */
    EACH(i) { rc[i] = H5Ocopy(run->file[d->file][i], d->name, run->file[c.file][i], c.name, H5P_DEFAULT, H5P_DEFAULT); }
    d->id[0] = H5Dopen2(run->file[d->file][0], d->name, H5P_DEFAULT);
    if (!both(run, "H5Ocopy", rc))
        return;
    EACH(i) { rc[i] = c.id[i] = H5Dopen2(run->file[c.file][i], c.name, H5P_DEFAULT); }
    if (!both(run, "H5Dopen2 of the copy", rc))
        return;
    c.type   = H5Tcopy(d->type);
    c.dcpl   = H5Pcopy(d->dcpl);
    c.cached = false;
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

void resized(struct dset *d, const hsize_t *dims)
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
    for (int i = 0; i < d->rank; i++) {
        d->full = d->full && dims[i] <= d->dims[i];
        d->more = d->more || (d->cached && dims[i] < d->dims[i]);
    }
    memcpy(d->dims, dims, (size_t)d->rank * sizeof *dims);
    d->n = n;
}

/* Chunks that a filter left out (szip: that it can't make shorter) are stored without it.  HDF5 forgets that
 * when it clears elements that a smaller extent cuts off. */
static bool may_shrink(const struct dset *d, const hsize_t *dims)
{
    bool out = d->rank && leaves_some_out(d->dcpl);
    for (int i = 0; i < d->rank; i++)
        if (out && dims[i] < d->dims[i])
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

/* ---- requests for information ---- */

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
    if (H5Tequal(t[0], t[1]) <= 0 || H5Tcommitted(t[0]) != H5Tcommitted(t[1]))
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

static void whole(struct run *run)
{
    struct dset *d = any_dset(run);
    note_dset(run, "all", d);
    compare_whole(run, d);
}

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

const struct call calls[] = {
    {"create", 14, false, create},        {"read", 22, true, read_some},         {"write", 26, true, write_some},
    {"read several", 6, true, read_several}, {"write several", 7, true, write_several}, {"set extent", 14, true, set_extent},
    {"delete", 4, true, delete_one},      {"reopen a dataset", 5, true, reopen_one}, {"copy", 4, true, copy_one},
    {"chunk", 14, true, chunk_call},
    {"ask", 5, true, ask},                {"flush", 7, true, flush},             {"reopen", 4, false, reopen_files},
    {"open twice", 2, false, open_twice}, {"whole", 5, true, whole},
    {"attribute", 12, true, attribute},   {"virtual", 5, true, use_virtual},
    {"look", 2, false, look},             {"two writers", 3, true, two_writers},
};
const size_t n_calls = COUNT(calls);
