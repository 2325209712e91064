/* Random attributes of the datasets of test_random_data.c: of any type, written from and read as others. */
#include "h5tests/random/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 11 };

static const char *some_name(struct run *run)
{
    static char name[16];
    snprintf(name, sizeof name, "a%u", rnd_below(&run->r, NAMES));
    return name;
}

static hid_t some_space(struct run *run)
{
    hsize_t  dims[3];
    unsigned way = rnd_below(&run->r, 100);
    int      rank = (int)rnd_in(&run->r, 1, 3);
    for (int i = 0; i < rank; i++)
        dims[i] = rnd_chance(&run->r, 4) ? 0 : rnd_in(&run->r, 1, rank == 1 && rnd_chance(&run->r, 9) ? 60 : 4); /* HDF5's end at 64 KiB */
    return way < 5 ? H5Screate(H5S_NULL) : way < 45 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, dims, NULL);
}

static void give_back(hid_t type, size_t n, void *buf)
{
    hsize_t all = n;
    if (n && is_var(type)) {
        hid_t space = H5Screate_simple(1, &all, NULL);
        H5Treclaim(type, space, H5P_DEFAULT, buf);
        H5Sclose(space);
    }
    free(buf);
}

static size_t points_of(hid_t attr)
{
    hid_t    s = H5Aget_space(attr);
    hssize_t n = H5Sget_simple_extent_npoints(s);
    H5Sclose(s);
    return n > 0 ? (size_t)n : 0;
}

static void write_values(struct run *run, const hid_t a[SIDES], hid_t as)
{
    const struct dset any = {.exact = true};
    size_t            n   = points_of(a[0]);
    unsigned char    *buf = calloc(n + 1, H5Tget_size(as));
    long long         rc[SIDES];
    note_type(run, "as", as);
    random_values(run, &any, as, buf, n);
    EACH(i) { rc[i] = H5Awrite(a[i], as, buf); }
    both(run, "H5Awrite", rc);
    give_back(as, n, buf);
}

static void read_values(struct run *run, const char *name, const hid_t a[SIDES], hid_t as)
{
    size_t         n = points_of(a[0]), size = H5Tget_size(as);
    unsigned char *buf[SIDES];
    long long      rc[SIDES];
    EACH(i)
    {
        buf[i] = calloc(n + 1, size);
        rc[i]  = H5Aread(a[i], as, buf[i]);
    }
    bool ok = both(run, "H5Aread", rc);
    for (size_t k = 0; ok && k < n && !run->differs; k++)
        if (!same_values(as, buf[0] + k * size, buf[1] + k * size))
            differ(run, "element %zu of attribute %s differs", k, name);
    EACH(i) { give_back(as, ok ? n : 0, buf[i]); }
}

/* ---- calls ---- */

static void created(struct run *run, const struct dset *d, const char *name)
{
    bool      by_name = rnd_chance(&run->r, 30) && *d->name;
    hid_t     type = random_type(run), space = some_space(run), a[SIDES], ids[SIDES];
    long long rc[SIDES];
    if (has_class(type, H5T_REFERENCE) && H5Tget_class(type) != H5T_REFERENCE) { /* HDF5 copies those into other files as they are */
        H5Tclose(type);
        type = H5Tcopy(H5T_STD_REF_OBJ);
    }
    some_type_ids(run, d->file, &type, ids);
    note_type(run, "of", type);
    EACH(i)
    {
        rc[i] = a[i] = by_name ? H5Acreate_by_name(run->file[d->file][i], d->name, name, ids[i], space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                               : H5Acreate2(d->id[i], name, ids[i], space, H5P_DEFAULT, H5P_DEFAULT);
        H5Tclose(ids[i]);
    }
    /* HDF5 leaves elements undefined that were never written whole, and also the results of converting them */
    if (both(run, "H5Acreate", rc))
        write_values(run, a, type);
    EACH(i)
    {
        if (a[i] >= 0)
            H5Aclose(a[i]);
    }
    H5Sclose(space);
    H5Tclose(type);
}

static void used(struct run *run, const struct dset *d, const char *name, bool writes)
{
    hid_t     a[SIDES], type, as;
    long long rc[SIDES];
    EACH(i) { rc[i] = a[i] = H5Aopen(d->id[i], name, H5P_DEFAULT); }
    if (!both(run, "H5Aopen", rc))
        return;
    type = H5Aget_type(a[0]);
    note_type(run, "of", type);
    as = random_mem_type(run, type);
    if (!writes) {
        note_type(run, "as", as);
        read_values(run, name, a, as);
    } else if (!is_nested(type)) { /* HDF5 crashes when it writes over those */
        write_values(run, a, as);
        read_values(run, name, a, type);
    }
    H5Tclose(as);
    H5Tclose(type);
    EACH(i) { H5Aclose(a[i]); }
}

void attribute(struct run *run)
{
    struct dset *d   = any_dset(run);
    unsigned     way = rnd_below(&run->r, 100);
    char         name[16];
    long long    rc[SIDES];
    snprintf(name, sizeof name, "%s", some_name(run));
    const char *other = some_name(run);
    note_dset(run, way < 35 ? "H5Acreate" : way < 60 ? "H5Awrite" : way < 85 ? "H5Aread" : way < 93 ? "H5Adelete" : "H5Arename", d);
    note(run, "%s ", name);
    if (way < 35)
        created(run, d, name);
    else if (way < 85)
        used(run, d, name, way < 60);
    else {
        EACH(i) { rc[i] = way < 93 ? H5Adelete(d->id[i], name) : H5Arename(d->id[i], name, other); }
        both(run, "it", rc);
    }
}

/* While HDF5 copies the second element, it takes the first one's converted fields for older values, and frees their sequences
 * (H5T__conv_vlen() leaves them in its background buffer). */
bool attributes_copied(const struct dset *d)
{
    H5O_info2_t info   = {0};
    bool        copied = H5Oget_info3(d->id[1], &info, H5O_INFO_NUM_ATTRS) >= 0;
    for (hsize_t k = 0; copied && k < info.num_attrs; k++) {
        hid_t a = H5Aopen_by_idx(d->id[1], ".", H5_INDEX_NAME, H5_ITER_INC, k, H5P_DEFAULT, H5P_DEFAULT), t = H5Aget_type(a);
        hid_t of = H5Tget_class(t) == H5T_VLEN ? H5Tget_super(t) : H5I_INVALID_HID;
        copied   = of < 0 || H5Tget_class(of) != H5T_COMPOUND || !is_var(of) || points_of(a) < 2;
        if (of >= 0)
            H5Tclose(of);
        H5Tclose(t);
        H5Aclose(a);
    }
    return copied;
}

void compare_attributes(struct run *run, const struct dset *d)
{
    H5O_info2_t info[SIDES];
    hid_t       a[SIDES];
    long long   rc[SIDES];
    EACH(i) { rc[i] = H5Oget_info3(d->id[i], &info[i], H5O_INFO_NUM_ATTRS); }
    if (both(run, "H5Oget_info", rc) && info[0].num_attrs != info[1].num_attrs)
        differ(run, "%" PRIuHSIZE " attributes natively, %" PRIuHSIZE " in the domain", info[0].num_attrs, info[1].num_attrs);
    for (hsize_t k = 0; k < info[0].num_attrs && !run->differs; k++) {
        char name[SIDES][16] = {"", ""};
        EACH(i)
        {
            rc[i] = a[i] = H5Aopen_by_idx(d->id[i], ".", H5_INDEX_NAME, H5_ITER_INC, k, H5P_DEFAULT, H5P_DEFAULT);
            if (a[i] >= 0)
                H5Aget_name(a[i], sizeof name[i], name[i]);
        }
        if (!both(run, "H5Aopen_by_idx", rc))
            return;
        hid_t type[SIDES] = {H5Aget_type(a[0]), H5Aget_type(a[1])};
        if (strcmp(name[0], name[1]) != 0 || H5Tequal(type[0], type[1]) <= 0 || points_of(a[0]) != points_of(a[1]))
            differ(run, "attribute %s natively, %s in the domain, or of another type or extent", name[0], name[1]);
        else
            read_values(run, name[0], a, type[0]);
        EACH(i)
        {
            H5Tclose(type[i]);
            H5Aclose(a[i]);
        }
    }
}
