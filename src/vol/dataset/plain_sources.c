#include "vol/dataset/plain_sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vol/core/hid.h"
#include "vol/core/ops.h"
#include "vol/vfd/store_driver.h"

#define TOGETHER 256 /* reads of one call */

/* ---- sources that stay open ---- */

struct bkt_kept_source *bkt_kept_find(const struct bkt_kept_sources *k, const char *file, const char *name)
{
    struct bkt_kept_source *s = k->first;
    while (s && (strcmp(s->file, file) != 0 || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

static void handle_init(struct bkt_vobj *o, hid_t dset)
{
    *o = (struct bkt_vobj){.ops = &bkt_plain_ops, .type = H5I_DATASET, .native_id = dset};
}

static void handle_fini(struct bkt_vobj *o)
{
    if (o->shadow)
        o->shadow_free(o->shadow);
    o->shadow = NULL;
}

/* A file that is closed strongly takes its ids along. */
static void drop(hid_t id)
{
    if (id >= 0 && H5Iis_valid(id) > 0)
        bkt_vobj_drop_id(id);
}

static void kept_free(struct bkt_kept_source *s)
{
    handle_fini(&s->o);
    drop(s->o.native_id);
    drop(s->in);
    free(s->file);
    free(s->name);
    free(s);
}

int bkt_kept_add(struct bkt_kept_sources *k, const char *file, const char *name, hid_t in, hid_t dset,
                 struct bkt_err *err)
{
    struct bkt_kept_source *s = calloc(1, sizeof *s);
    if (!s) {
        bkt_vobj_drop_id(dset);
        bkt_vobj_drop_id(in);
        BKT_NOMEM(err);
    }
    handle_init(&s->o, dset);
    s->in = in;
    s->file = strdup(file);
    s->name = strdup(name);
    if (!s->file || !s->name) {
        kept_free(s);
        BKT_NOMEM(err);
    }
    s->next = k->first;
    k->first = s;
    k->n++;
    return BKT_OK;
}

void bkt_kept_close(struct bkt_kept_sources *k)
{
    while (k->first) {
        struct bkt_kept_source *s = k->first;
        k->first = s->next;
        kept_free(s);
    }
    k->n = 0;
}

/* ---- reads that were put off ---- */

struct bkt_pending {
    hid_t dset, mem, src;
    struct bkt_vobj own; /* unless the source is kept */
    struct bkt_vobj *o;  /* NULL: own */
};

void bkt_sources_init(struct bkt_sources *s, hid_t mem_type, hid_t dxpl, void *buf,
                      struct bkt_kept_sources *kept)
{
    *s = (struct bkt_sources){.mem_type = mem_type, .dxpl = dxpl, .buf = buf, .kept = kept};
}

static void forget(struct bkt_sources *s)
{
    for (size_t i = 0; i < s->n; i++) {
        handle_fini(&s->v[i].own);
        bkt_hid_closep(&s->v[i].src);
        bkt_hid_closep(&s->v[i].mem);
        bkt_vobj_drop_id(s->v[i].dset);
    }
    s->n = 0;
}

void bkt_sources_fini(struct bkt_sources *s)
{
    forget(s);
    free(s->v);
}

/* Whether two selections of one dataspace may have elements in common. */
static bool meet(hid_t a, hid_t b)
{
    hsize_t from[2][H5S_MAX_RANK], to[2][H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_ndims(a);
    if (rank != H5Sget_simple_extent_ndims(b) || H5Sget_select_bounds(a, from[0], to[0]) < 0 ||
        H5Sget_select_bounds(b, from[1], to[1]) < 0)
        return true;
    for (int d = 0; d < rank; d++)
        if (to[0][d] < from[1][d] || to[1][d] < from[0][d])
            return false;
    BKT_CLEANUP(bkt_hid_closep) hid_t both = H5Sselect_project_intersection(a, a, b);
    return both < 0 || H5Sget_select_npoints(both) != 0;
}

/* Later mappings come over earlier ones. */
int bkt_sources_before(struct bkt_sources *s, hid_t mem, struct bkt_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (meet(s->v[i].mem, mem))
            return bkt_sources_read(s, err);
    return BKT_OK;
}

int bkt_sources_add(struct bkt_sources *s, hid_t *dset, hid_t *mem, hid_t *src, struct bkt_err *err)
{
    BKT_PASS(s->n < TOGETHER ? bkt_sources_before(s, *mem, err) : bkt_sources_read(s, err));
    if (bkt_list_room(&s->v, s->n, &s->cap, sizeof *s->v) < 0)
        BKT_NOMEM(err);
    struct bkt_pending *p = &s->v[s->n++];
    *p = (struct bkt_pending){.dset = bkt_hid_take(dset), .mem = bkt_hid_take(mem), .src = bkt_hid_take(src)};
    handle_init(&p->own, p->dset);
    for (struct bkt_kept_source *k = s->kept ? s->kept->first : NULL; k && !p->o; k = k->next)
        if (k->o.native_id == p->dset)
            p->o = &k->o;
    return BKT_OK;
}

int bkt_sources_read(struct bkt_sources *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_vobj **dsets = calloc(s->n + 1, sizeof(struct bkt_vobj *));
    BKT_CLEANUP(bkt_freep) void **bufs = calloc(s->n + 1, sizeof *bufs);
    BKT_CLEANUP(bkt_freep) hid_t *ids = calloc(s->n + 1, 3 * sizeof *ids);
    if (!dsets || !bufs || !ids)
        BKT_NOMEM(err);
    struct bkt_io io = {.n = s->n,
                        .dsets = dsets,
                        .mem_types = ids,
                        .mem_spaces = ids + s->n,
                        .file_spaces = ids + 2 * s->n,
                        .dxpl = s->dxpl,
                        .bufs = bufs};
    for (size_t i = 0; i < s->n; i++) {
        struct bkt_pending *p = &s->v[i];
        dsets[i] = p->o ? p->o : &p->own;
        bufs[i] = s->buf;
        ids[i] = s->mem_type;
        ids[s->n + i] = p->mem;
        ids[2 * s->n + i] = p->src;
    }
    int rc = s->n ? bkt_plain_transfer(&io, err) : BKT_OK;
    forget(s);
    return rc;
}
