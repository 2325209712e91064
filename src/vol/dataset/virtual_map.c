/* The mappings of virtual datasets: unlimited selections, and names that contain a number. */
#include <stdlib.h>
#include <string.h>

#include "vol/core/hid.h"
#include "vol/dataset/virtual.h"

/* ---- slabs ---- */

static bool endless(hsize_t n) { return n == H5S_UNLIMITED; }

static int slab_of(hid_t space, struct bkt_slab *s)
{
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank <= 0 || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0)
        return BKT_OK;
    s->rank = (unsigned)rank;
    if (H5Sget_simple_extent_dims(space, s->dims, NULL) < 0 ||
        H5Sget_regular_hyperslab(space, s->start, s->stride, s->count, s->block) < 0)
        return BKT_EHDF5;
    for (unsigned i = 0; i < s->rank; i++)
        if (endless(s->count[i]) || endless(s->block[i])) {
            s->unlimited = true;
            s->dim       = i;
        }
    return BKT_OK;
}

hsize_t bkt_slab_places(const struct bkt_slab *s, hsize_t extent)
{
    hsize_t start = s->start[s->dim], stride = s->stride[s->dim], block = s->block[s->dim];
    if (extent <= start)
        return 0;
    extent -= start;
    if (endless(block))
        return extent;
    hsize_t rest = extent % stride;
    return extent / stride * block + (rest < block ? rest : block);
}

hsize_t bkt_slab_extent(const struct bkt_slab *s, hsize_t places, bool trail)
{
    hsize_t start = s->start[s->dim], stride = s->stride[s->dim], block = s->block[s->dim];
    if (places == 0)
        return trail ? start : 0;
    if (endless(block))
        return start + places;
    hsize_t full = places / block, rest = places % block;
    if (rest)
        return start + full * stride + rest;
    return trail ? start + full * stride : start + (full - 1) * stride + block;
}

/* A dataspace long enough for @p end, nothing selected. */
static hid_t room_for(const struct bkt_slab *s, hsize_t end)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    memcpy(dims, s->dims, s->rank * sizeof *dims);
    if (dims[s->dim] < end)
        dims[s->dim] = end;
    hid_t id = H5Screate_simple((int)s->rank, dims, NULL);
    if (id >= 0 && H5Sselect_none(id) < 0) {
        (void)H5Sclose(id);
        return -1;
    }
    return id;
}

/* Add blocks [first, first + count) of @p block places each; all other dimensions stay as they are. */
static herr_t add_blocks(hid_t space, const struct bkt_slab *s, hsize_t first, hsize_t count, hsize_t block)
{
    hsize_t start[H5S_MAX_RANK], counts[H5S_MAX_RANK], blocks[H5S_MAX_RANK];
    if (count == 0 || block == 0)
        return 0;
    for (unsigned i = 0; i < s->rank; i++)
        start[i] = s->start[i], counts[i] = s->count[i], blocks[i] = s->block[i];
    start[s->dim]  = s->start[s->dim] + first * s->stride[s->dim];
    counts[s->dim] = count;
    blocks[s->dim] = block;
    return H5Sselect_hyperslab(space, H5S_SELECT_OR, start, s->stride, counts, blocks);
}

hid_t bkt_slab_select(const struct bkt_slab *s, hsize_t places)
{
    hsize_t block = s->block[s->dim];
    hid_t   id    = room_for(s, bkt_slab_extent(s, places, false));
    if (id < 0)
        return id;
    herr_t rc;
    if (endless(block))
        rc = add_blocks(id, s, 0, 1, places);
    else {
        rc = add_blocks(id, s, 0, places / block, block);
        if (rc >= 0)
            rc = add_blocks(id, s, places / block, 1, places % block);
    }
    if (rc < 0) {
        (void)H5Sclose(id);
        return -1;
    }
    return id;
}

hid_t bkt_slab_block(const struct bkt_slab *s, hsize_t i)
{
    hsize_t block = s->block[s->dim];
    hid_t   id    = room_for(s, s->start[s->dim] + i * s->stride[s->dim] + block);
    if (id >= 0 && add_blocks(id, s, i, 1, block) < 0) {
        (void)H5Sclose(id);
        return -1;
    }
    return id;
}

/* ---- names ---- */

static bool has_number(const char *form)
{
    for (const char *p = strchr(form, '%'); p; p = strchr(p + 2, '%')) {
        if (p[1] == 'b')
            return true;
        if (p[1] == '\0')
            break;
    }
    return false;
}

char *bkt_mapping_name(const char *form, hsize_t i)
{
    struct bkt_buf out = {0};
    int            rc  = BKT_OK;
    for (const char *p = form; *p && rc == BKT_OK; p++) {
        if (*p == '%' && p[1] == 'b')
            rc = bkt_buf_addf(&out, "%llu", (unsigned long long)i);
        else
            rc = bkt_buf_add(&out, p, 1);
        if (*p == '%' && (p[1] == 'b' || p[1] == '%'))
            p++;
    }
    char *name = rc == BKT_OK ? strdup(bkt_buf_str(&out)) : NULL;
    bkt_buf_fini(&out);
    return name;
}

/* ---- the mappings of a list ---- */

static char *text_of(ssize_t (*get)(hid_t, size_t, char *, size_t), hid_t dcpl, size_t i)
{
    ssize_t n    = get(dcpl, i, NULL, 0);
    char   *name = n < 0 ? NULL : malloc((size_t)n + 1);
    if (name && get(dcpl, i, name, (size_t)n + 1) < 0) {
        free(name);
        return NULL;
    }
    return name;
}

static int load_one(hid_t dcpl, size_t i, struct bkt_mapping *m, struct bkt_err *err)
{
    m->vspace = m->srcspace = H5I_INVALID_HID;
    m->vspace               = H5Pget_virtual_vspace(dcpl, i);
    m->srcspace             = H5Pget_virtual_srcspace(dcpl, i);
    m->file                 = text_of(H5Pget_virtual_filename, dcpl, i);
    m->dset                 = text_of(H5Pget_virtual_dsetname, dcpl, i);
    BKT_NEED_H5(err,
                m->vspace >= 0 && m->srcspace >= 0 && m->file && m->dset && slab_of(m->vspace, &m->v) >= 0 &&
                    slab_of(m->srcspace, &m->src) >= 0,
                "reading a mapping of a virtual dataset");
    m->printf_names = has_number(m->file) || has_number(m->dset);
    BKT_FAIL_IF(err,
                m->printf_names &&
                    !(m->v.unlimited && endless(m->v.count[m->v.dim]) && !endless(m->v.block[m->v.dim])),
                BKT_EFORMAT,
                "mapping %zu of a virtual dataset has a numbered source, but no unlimited "
                "selection",
                i);
    BKT_FAIL_IF(err, m->src.unlimited && !m->v.unlimited, BKT_EFORMAT,
                "mapping %zu of a virtual dataset has an unlimited source in a limited selection", i);
    return BKT_OK;
}

int bkt_mappings_load(hid_t dcpl, struct bkt_mapping **out, size_t *n, struct bkt_err *err)
{
    size_t count = 0;
    BKT_PASS(
        BKT_PASS_H5(err, H5Pget_virtual_count(dcpl, &count), "counting the mappings of a virtual dataset"));
    struct bkt_mapping *m = calloc(count + 1, sizeof *m);
    BKT_NEED(err, m);
    for (size_t i = 0; i < count; i++) {
        int rc = load_one(dcpl, i, &m[i], err);
        if (rc < 0) {
            bkt_mappings_free(m, i + 1);
            return rc;
        }
    }
    *out = m;
    *n   = count;
    return BKT_OK;
}

void bkt_mappings_free(struct bkt_mapping *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bkt_hid_closep(&m[i].vspace);
        bkt_hid_closep(&m[i].srcspace);
        free(m[i].file);
        free(m[i].dset);
    }
    free(m);
}
