/* Random calls on datasets: another process changes a domain while this one has changes of its own that aren't
 * stored yet.  In the end the domain has the changes of both.  HDF5's file gets all of them from this process.
 *
 * If both write an element, both write the same value: an element's value depends on its place. */
#include <inttypes.h>

#include "h5tests/helpers/compare_write.h"
#include "h5tests/random/data.h"

/* A step of one of the two, drawn from its numbers. */
struct work {
    struct selection s;
    unsigned char   *values; /* of the whole dataset */
    hsize_t          dims[RANK];
    bool             grows;
    char             attr[16];
    int              value;
};

static hid_t whole(const struct dset *d)
{
    hsize_t n = d->n;
    return H5Screate_simple(1, &n, NULL);
}

static void draw_growth(struct run *run, const struct dset *d, struct work *w)
{
    size_t n = 1;
    w->grows = d->rank && H5Pget_layout(d->dcpl) == H5D_CHUNKED && rnd_chance(&run->r, 40);
    for (int i = 0; i < d->rank; i++) {
        hsize_t more = d->max[i] == H5S_UNLIMITED ? 7 : d->max[i] - d->dims[i];
        w->dims[i]   = d->dims[i] + (w->grows ? rnd_below(&run->r, (unsigned)(more < 7 ? more : 7) + 1) : 0);
        n *= (size_t)w->dims[i];
    }
    if (n > d->limit)
        memcpy(w->dims, d->dims, sizeof w->dims);
}

static void draw(struct run *run, const struct dset *d, struct rnd values, struct rnd r, const char *who, struct work *w)
{
    const hssize_t none[RANK] = {0};
    run->r                    = values;
    w->values                 = calloc(d->n + 1, H5Tget_size(d->type));
    random_values(run, d, d->type, w->values, d->n);
    run->r = r;
    random_selection(run, d, &w->s);
    if (w->s.moved)
        H5Soffset_simple(w->s.fspace, none);
    draw_growth(run, d, w);
    (void)snprintf(w->attr, sizeof w->attr, "%s%u", who, rnd_below(&run->r, 3));
    w->value = (int)rnd_below(&run->r, 1000);
}

static void undraw(const struct dset *d, struct work *w)
{
    if (d->var && d->n) {
        hid_t s = whole(d);
        H5Treclaim(d->type, s, H5P_DEFAULT, w->values);
        H5Sclose(s);
    }
    free(w->values);
    selection_end(&w->s);
}

static long long do_work(hid_t id, const struct dset *d, const struct work *w)
{
    hid_t    one = H5Screate(H5S_SCALAR), mem = H5Scopy(w->s.fspace), a;
    long long ok = H5Dwrite(id, d->type, mem, w->s.fspace, H5P_DEFAULT, w->values);
    if (ok >= 0 && w->grows) {
        hsize_t now[RANK], dims[RANK];
        hid_t   s = H5Dget_space(id);
        H5Sget_simple_extent_dims(s, now, NULL);
        for (int i = 0; i < d->rank; i++)
            dims[i] = now[i] > w->dims[i] ? now[i] : w->dims[i];
        ok = H5Dset_extent(id, dims);
        H5Sclose(s);
    }
    if (ok >= 0 && H5Aexists(id, w->attr) > 0)
        ok = H5Adelete(id, w->attr);
    a = H5Acreate2(id, w->attr, H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT);
    if (a < 0 || H5Awrite(a, H5T_NATIVE_INT, &w->value) < 0)
        ok = -1;
    H5Aclose(a);
    H5Sclose(mem);
    H5Sclose(one);
    return ok;
}

static void grown(struct dset *d, const struct work *mine, const struct work *theirs)
{
    hsize_t dims[RANK];
    for (int i = 0; i < d->rank; i++) {
        dims[i] = mine->grows ? mine->dims[i] : d->dims[i];
        dims[i] = theirs->grows && theirs->dims[i] > dims[i] ? theirs->dims[i] : dims[i];
    }
    if (d->rank)
        resized(d, dims);
}

/* HDF5 1.14.5 looks for partial chunks in an index that isn't there yet. */
static bool may_take_part(const struct run *run, const struct dset *d)
{
    unsigned opts = 0;
    if (H5Pget_layout(d->dcpl) == H5D_CHUNKED)
        H5Pget_chunk_opts(d->dcpl, &opts);
    return *d->name && !d->once && !is_nested(d->type) && d->cls != H5S_NULL && !opts && !strstr(run->info, "writers=one");
}

static bool all_flushed(struct run *run)
{
    long long rc[SIDES] = {0};
    for (int f = 0; f < FILES; f++)
        EACH(i)
        {
            if (H5Fflush(run->file[f][i], H5F_SCOPE_GLOBAL) < 0 || (run->twice[f][i] >= 0 && H5Fflush(run->twice[f][i], H5F_SCOPE_GLOBAL) < 0))
                rc[i] = -1;
        }
    return both(run, "H5Fflush", rc);
}

void two_writers(struct run *run)
{
    struct dset *d = any_dset(run);
    struct work  mine, theirs;
    long long    rc[SIDES];
    char         command[20000], name[16];
    note_dset(run, "two writers", d);
    if (!may_take_part(run, d) || !all_flushed(run))
        return;
    struct rnd values = {rnd_next(&run->r)}, r[2] = {{rnd_next(&run->r)}, {rnd_next(&run->r)}};
    draw(run, d, values, r[0], "here", &mine);
    draw(run, d, values, r[1], "there", &theirs);
    (void)snprintf(name, sizeof name, "%s", d->name);
    (void)snprintf(command, sizeof command, "'%s' --other '%s' '%s' %s %" PRIu64 " %" PRIu64 " %d %d %zu", run->self, run->info,
        file_name(run, d->file, 1), name, values.at, r[1].at, d->exact, d->small, d->limit);
    EACH(i) { rc[i] = do_work(d->id[i], d, &mine); }
    if (both(run, "changes here", rc)) {
        rc[0] = do_work(d->id[0], d, &theirs);
        rc[1] = system(command) == 0 ? 0 : -1;
        if (both(run, "changes in another process", rc)) {
            now_known(d, mine.s.fspace, mine.s.n);
            now_known(d, theirs.s.fspace, theirs.s.n);
        }
    }
    undraw(d, &mine);
    undraw(d, &theirs);
    if (!run->differs)
        grown(d, &mine, &theirs);
    if (!run->differs && files_close(run) && files_open(run, false, H5F_ACC_RDWR) && dsets_open(run))
        for (int k = 0; k < run->n && !run->differs; k++)
            if (strcmp(run->d[k].name, name) == 0)
                compare_whole(run, &run->d[k]);
}

/* ---- the other process ---- */

int other_main(char **argv)
{
    static struct run run;
    struct dset       d = {.file = 0};
    struct work       w;
    struct rnd        values = {strtoull(argv[3], NULL, 10)}, r = {strtoull(argv[4], NULL, 10)};
    hid_t             fapl = fapl_ours(argv[0]), file = H5Fopen(argv[1], H5F_ACC_RDWR, fapl), id = H5Dopen2(file, argv[2], H5P_DEFAULT);
    hid_t             space = H5Dget_space(id);
    d.type                  = H5Dget_type(id);
    d.dcpl                  = H5Dget_create_plist(id);
    d.cls                   = H5Sget_simple_extent_type(space);
    d.rank                  = H5Sget_simple_extent_dims(space, d.dims, d.max);
    d.n                     = (size_t)H5Sget_simple_extent_npoints(space);
    d.var                   = is_var(d.type);
    d.exact                 = strcmp(argv[5], "1") == 0;
    d.small                 = strcmp(argv[6], "1") == 0;
    d.limit                 = strtoul(argv[7], NULL, 10);
    draw(&run, &d, values, r, "there", &w);
    bool ok = do_work(id, &d, &w) >= 0;
    undraw(&d, &w);
    H5Sclose(space);
    H5Tclose(d.type);
    H5Pclose(d.dcpl);
    ok = H5Dclose(id) >= 0 && ok;
    ok = H5Fclose(file) >= 0 && ok;
    H5Pclose(fapl);
    return ok ? 0 : 1;
}
