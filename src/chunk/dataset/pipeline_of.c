/* HDF5's own pipeline from a dataset's filter list.
 *
 * The list seldom holds the parameters that HDF5 keeps in the file (cd values).  If a decoder needs them,
 * they are computed as the filter's set_local callback does when a dataset is created (H5Zshuffle.c,
 * H5Zszip.c, H5Zscaleoffset.c). */
#include <stdio.h>
#include <string.h>

#include "chunk/dataset/dataset.h"
#include "base/num.h"

struct local { /* arguments of set_local */
    const struct bkt_dset        *ds;
    const struct bkt_filter_desc *f;
    uint64_t                      chunk_elems;
    unsigned                      cd[20];
    size_t                        n_cd;
};
typedef void local_fn(struct local *l);

static void local_shuffle(struct local *l)
{
    l->cd[0] = (unsigned)l->ds->type->size;
    l->n_cd  = 1;
}

/* If the parameters are unknown, the type must have no unused bits: only such a type can be expressed, and
 * HDF5 stores it unchanged. */
static void local_nbit(struct local *l)
{
    l->cd[0] = 3;
    l->cd[1] = 1;
    l->cd[2] = (unsigned)l->chunk_elems;
    l->n_cd  = 3;
}

#define SZIP_EC 4u
#define SZIP_NN 32u
#define SZIP_RAW 128u
#define SZIP_LSB 8u
#define SZIP_MSB 16u
#define SZIP_MAX_BLOCKS 128u
#define SZIP_MAX_LINE 4096u

static unsigned szip_line(const struct local *l, unsigned block)
{
    uint64_t line = l->ds->layout.dims[l->ds->layout.rank - 1];
    if (line < block)
        line = bkt_min_u64((uint64_t)block * SZIP_MAX_BLOCKS, l->chunk_elems);
    else if (line > SZIP_MAX_LINE)
        line = bkt_min_u64((uint64_t)block * SZIP_MAX_BLOCKS, line);
    else
        line = bkt_min_u64(line, (uint64_t)block * SZIP_MAX_BLOCKS);
    return (unsigned)line;
}

static void local_szip(struct local *l)
{
    const struct bkt_filter_desc *f = l->f;
    const struct bkt_type        *t = l->ds->type;
    unsigned bits  = f->bits_per_pixel > 0 ? (unsigned)f->bits_per_pixel : (unsigned)t->size * 8;
    unsigned block = f->pixels_per_block > 0 ? (unsigned)f->pixels_per_block : f->n_cd > 1 ? f->cd[1] : 16;
    unsigned mask  = f->coding >= 0 ? (unsigned)f->coding : f->n_cd > 0 ? f->cd[0] : SZIP_NN;
    if (bits > 24) /* set_local: 32 and 64 are coded by bytes */
        bits = bits <= 32 ? 32 : 64;
    if (!(mask & (SZIP_EC | SZIP_NN)))
        mask |= SZIP_NN;
    mask &= ~(SZIP_LSB | SZIP_MSB);
    l->cd[0] = mask | SZIP_RAW | (t->big_endian ? SZIP_MSB : SZIP_LSB);
    l->cd[1] = block;
    l->cd[2] = bits;
    l->cd[3] = f->pixels_per_scanline > 0 ? (unsigned)f->pixels_per_scanline : szip_line(l, block);
    l->n_cd  = 4;
}

static void local_scaleoffset(struct local *l)
{
    const struct bkt_type *t        = l->ds->type;
    bool                   is_float = t->cls == BKT_T_FLOAT;
    int64_t                type = l->f->scale_type, factor = l->f->scale_offset;
    if (type < 0)
        type = l->f->n_cd > 0 ? (int64_t)l->f->cd[0] : is_float ? 0 : 2;
    if (factor < 0)
        factor = l->f->n_cd > 1 ? (int64_t)(int)l->f->cd[1] : 0;
    l->cd[0] = (unsigned)type;
    l->cd[1] = (unsigned)factor;
    l->cd[2] = (unsigned)l->chunk_elems;
    l->cd[3] = is_float ? 1 : 0;
    l->cd[4] = (unsigned)t->size;
    l->cd[5] = t->cls == BKT_T_INTEGER && t->is_signed ? 1 : 0;
    l->cd[6] = t->big_endian ? 1 : 0;
    l->cd[7] = 1; /* a dataset without its own fill value has HDF5's default, zeros */
    if (l->ds->has_fill && l->ds->fill.len == t->size && t->size <= 8) {
        uint64_t v = t->big_endian ? bkt_get_be(l->ds->fill.ptr, (unsigned)t->size)
                                   : bkt_get_le(l->ds->fill.ptr, (unsigned)t->size);
        l->cd[8]   = (unsigned)v;
        l->cd[9]   = (unsigned)(v >> 32);
    }
    l->n_cd = 20;
}

static const struct {
    int       id;
    size_t    enough; /* cd values that make the list's own complete */
    local_fn *local;
} locals[] = {
    {BKT_FILTER_SHUFFLE, 1, local_shuffle},
    {BKT_FILTER_NBIT, 5, local_nbit},
    {BKT_FILTER_SZIP, 4, local_szip},
    {BKT_FILTER_SCALEOFFSET, 20, local_scaleoffset},
};

static int add(const struct bkt_dset *ds, const struct bkt_filter_desc *f, uint64_t chunk_elems,
               struct bkt_pipeline *out, struct bkt_err *err)
{
    struct local    l    = {.ds = ds, .f = f, .chunk_elems = chunk_elems};
    const unsigned *cd   = f->cd;
    size_t          n_cd = f->n_cd;
    for (size_t i = 0; i < BKT_COUNT(locals); i++)
        if (locals[i].id == f->id && f->n_cd < locals[i].enough) {
            locals[i].local(&l);
            cd = l.cd, n_cd = l.n_cd;
        }
    return bkt_pipeline_add(out, f->id, f->flags >= 0 ? (unsigned)f->flags : f->optional, cd, n_cd,
                            f->name[0] ? f->name : NULL, err);
}

/* cppcheck-suppress funcArgOrderDifferent ; it takes the parameters of bkt_filter_find for ours */
int bkt_pipeline_of(const struct bkt_dset *ds, uint64_t chunk_elems, bkt_filter_find *find, void *arg,
                    struct bkt_pipeline *out, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    out->elem_size = ds->type->size;
    for (size_t i = 0; i < ds->n_filters; i++) {
        const struct bkt_filter_desc *f = &ds->filters[i];
        BKT_PASS(add(ds, f, chunk_elems, out, err));
        struct bkt_filter *added = &out->f[out->n - 1];
        if (!bkt_filter_builtin(f->id) && find)
            bkt_filter_set(out, added, find(f->id, added->name, arg));
    }
    return BKT_OK;
}
