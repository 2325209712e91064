/* Random calls on datasets: virtual ones over them, whose sources go on changing, and the contents that
 * another process sees. */
#include "h5tests/random/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- virtual datasets ---- */

/* One dimension: the sources' parts lie in it one after the other, with gaps of the fill value. */
static void map_source(struct run *run, struct virt *v, const struct dset *d, hid_t dcpl)
{
    hid_t   from = random_space(d), to;
    hsize_t gap = rnd_below(&run->r, 3), start, step = 1, n;
    char    file[64];
    one_hyperslab(run, d, from, H5S_SELECT_SET);
    if (rnd_chance(&run->r, 30))
        H5Sselect_all(from);
    n = (hsize_t)H5Sget_select_npoints(from);
    if (n && v->n + n * 2 < VIRTUAL) {
        step     = rnd_chance(&run->r, 20) ? 2 : 1;
        start    = v->n + gap;
        v->n     = start + n * step;
        v->n_src++;
        snprintf(v->src[v->n_src - 1], sizeof v->src[0], "%s", d->name);
        v->src_file[v->n_src - 1] = d->file;
        memcpy(v->src_dims[v->n_src - 1], d->dims, sizeof d->dims);
        hsize_t all = VIRTUAL;
        to          = H5Screate_simple(1, &all, NULL);
        H5Sselect_hyperslab(to, H5S_SELECT_SET, &start, &step, &n, NULL);
        snprintf(file, sizeof file, "r%" PRIu64 "-%d.h5", run->seed, d->file);
        H5Pset_virtual(dcpl, to, d->file == v->file && rnd_chance(&run->r, 70) ? "." : file, d->name, from);
        H5Sclose(to);
        note(run, "at %" PRIuHSIZE " %" PRIuHSIZE " of %s/%s ", start, n, file, d->name);
    }
    H5Sclose(from);
}

static bool may_be_source(const struct dset *d) { return *d->name && d->rank && d->n && !d->var && !d->known; }

static void make_virtual(struct run *run, struct virt *v)
{
    hid_t     dcpl = H5Pcreate(H5P_DATASET_CREATE), space, id[SIDES];
    hsize_t   n    = VIRTUAL;
    long long rc[SIDES];
    *v      = (struct virt){.type = H5I_INVALID_HID, .file = (int)rnd_below(&run->r, FILES)};
    for (unsigned i = rnd_in(&run->r, 1, 3); i--;) {
        const struct dset *d = any_dset(run);
        if (!may_be_source(d))
            continue;
        if (v->type < 0) {
            v->type = rnd_chance(&run->r, 80) ? H5Tcopy(d->type) : random_mem_type(run, d->type);
            note_type(run, "virtual dataset of", v->type);
        }
        if (H5Tget_class(d->type) == H5Tget_class(v->type) && (H5Tget_class(v->type) != H5T_COMPOUND || H5Tequal(d->type, v->type) > 0))
            map_source(run, v, d, dcpl);
    }
    if (v->n_src) {
        struct dset    any = {.exact = true};
        unsigned char *fill = calloc(1, H5Tget_size(v->type));
        random_values(run, &any, v->type, fill, 1);
        if (rnd_chance(&run->r, 50))
            H5Pset_fill_value(dcpl, v->type, fill);
        free(fill);
        snprintf(v->name, sizeof v->name, "v%u", run->n_virtual++);
        space = H5Screate_simple(1, &n, NULL);
        EACH(i) { rc[i] = id[i] = H5Dcreate2(run->file[v->file][i], v->name, v->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT); }
        H5Sclose(space);
        if (!both(run, "H5Dcreate2", rc))
            *v->name = 0;
        EACH(i)
        {
            if (id[i] >= 0)
                H5Dclose(id[i]);
        }
    }
    if (!*v->name && v->type >= 0)
        H5Tclose(v->type);
    H5Pclose(dcpl);
}

static bool is_as_mapped(const struct virt *v, int k, const struct dset *d)
{
    for (int i = 0; i < d->rank; i++)
        if (d->dims[i] != v->src_dims[k][i])
            return false;
    return may_be_source(d);
}

/* Whether all existing sources are unchanged, and HDF5 defines all their elements.  If sources have become
 * smaller, HDF5 crashes. */
static bool is_known(struct run *run, const struct virt *v)
{
    for (int k = 0; k < v->n_src; k++)
        for (int i = 0; i < run->n; i++) {
            struct dset *d = &run->d[i];
            if (strcmp(d->name, v->src[k]) != 0 || d->file != v->src_file[k])
                continue;
            if (!is_as_mapped(v, k, d))
                return false;
            d->cached = true;
        }
    return true;
}

void compare_virtual(struct run *run)
{
    for (struct virt *v = run->v; v < run->v + VIRTUALS && !run->differs; v++) {
        hid_t          id[SIDES];
        long long      rc[SIDES];
        unsigned char *buf[SIDES];
        if (!*v->name || !is_known(run, v))
            continue;
        size_t size = H5Tget_size(v->type);
        EACH(i)
        {
            buf[i] = calloc(VIRTUAL, size);
            id[i]  = H5Dopen2(run->file[v->file][i], v->name, H5P_DEFAULT);
            rc[i]  = id[i] < 0 ? -1 : H5Dread(id[i], v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf[i]);
        }
        if (both(run, "H5Dread of a virtual dataset", rc))
            for (size_t k = 0; k < v->n && !run->differs; k++)
                if (!same_values(v->type, buf[0] + k * size, buf[1] + k * size))
                    differ(run, "element %zu of virtual dataset %s in file %d differs", k, v->name, v->file);
        EACH(i)
        {
            if (id[i] >= 0)
                H5Dclose(id[i]);
            free(buf[i]);
        }
    }
}

/* Its elements are its sources'. */
static void write_virtual(struct run *run, struct virt *v)
{
    struct dset    any = {.exact = false, .small = true};
    size_t         n   = (size_t)v->n;
    unsigned char *buf = calloc(n, H5Tget_size(v->type));
    hsize_t        all = VIRTUAL, start = rnd_below(&run->r, (unsigned)n), count = rnd_in(&run->r, 1, (unsigned)(n - start));
    hid_t          file = H5Screate_simple(1, &all, NULL), mem = H5Screate_simple(1, &count, NULL);
    long long      rc[SIDES];
    H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL);
    random_values(run, &any, v->type, buf, (size_t)count);
    note(run, "%s from %" PRIuHSIZE " %" PRIuHSIZE " ", v->name, start, count);
    EACH(i)
    {
        hid_t id = H5Dopen2(run->file[v->file][i], v->name, H5P_DEFAULT);
        rc[i]    = H5Dwrite(id, v->type, mem, file, H5P_DEFAULT, buf);
        H5Dclose(id);
    }
    both(run, "H5Dwrite", rc);
    free(buf);
    H5Sclose(file);
    H5Sclose(mem);
}

void use_virtual(struct run *run)
{
    struct virt *v = &run->v[rnd_below(&run->r, VIRTUALS)];
    note(run, "virtual datasets ");
    if (!*v->name)
        make_virtual(run, v);
    else if (rnd_chance(&run->r, 30) && is_known(run, v))
        write_virtual(run, v);
    compare_virtual(run);
}

void virtual_end(struct run *run)
{
    for (int i = 0; i < VIRTUALS; i++)
        if (*run->v[i].name)
            H5Tclose(run->v[i].type);
    memset(run->v, 0, sizeof run->v);
}
