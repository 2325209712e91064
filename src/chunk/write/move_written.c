/* Another writer made an equal dataset, which replaces this process's: the elements written to that are put
 * into it.  Elements that refer to a replaced object of this process then refer to the other writer's object.
 *
 * All of this process's dataset is stored first.  An element that equals the fill value counts as never
 * written.  If it was written, the write counts as earlier than the other writers'. */
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/num.h"
#include "chunk/dataset/chunk_list.h"
#include "chunk/read/read.h"
#include "chunk/write/write_cache.h"
#include "schema/edit/edit.h"

struct move {
    struct bkt_dsetio *from, *to;
    struct bkt_buf coords; /* from->rank each: stored chunks of `from` */
    bool names; /* within one dataset: rewrite elements with ids of replaced objects */
};

/* The selected part of a chunk, with its elements. */
struct part {
    struct bkt_read read;
    struct bkt_sel sel, some; /* all of it; the elements to be written */
    struct bkt_buf elems, packed, runs, slices;
};

static void part_fini(struct part *p)
{
    bkt_read_fini(&p->read);
    bkt_buf_fini(&p->elems);
    bkt_buf_fini(&p->packed);
    bkt_buf_fini(&p->runs);
    bkt_buf_fini(&p->slices);
}

/* The place of element @p i of the selection in the extent of @p to. */
static uint64_t place_of(const struct bkt_sel *s, const struct bkt_dsetio *to, uint64_t i)
{
    uint64_t off = 0, scale = 1;
    for (unsigned d = s->rank; d-- > 0; i /= s->block[d]) {
        off += (s->start[d] + i % s->block[d]) * scale;
        scale *= to->ds->space.dims[d];
    }
    return off;
}

static int read_part(const struct move *m, struct part *p, struct bkt_err *err)
{
    uint64_t bytes = 0;
    p->read = (struct bkt_read){.io = m->from, .file = &p->sel};
    if (!m->from->var) {
        BKT_NEED(err, bkt_mul_u64(p->sel.n_elems, m->from->elem_size, &bytes) &&
                          bkt_buf_resize(&p->elems, (size_t)bytes) >= 0);
        p->read.dst = p->elems.ptr;
    }
    return bkt_read_now(&p->read, 1, err);
}

static struct bkt_slice element(const struct move *m, const struct part *p, uint64_t i)
{
    size_t es = m->from->elem_size;
    return m->from->var ? p->read.slices[i] : (struct bkt_slice){p->elems.ptr + (size_t)i * es, es};
}

static bool is_fill(const struct move *m, struct bkt_slice e)
{
    const struct bkt_cache_entry *fill = m->from->fill;
    return fill && fill->len == e.n && memcmp(fill->data, e.p, e.n) == 0;
}

/* Copies elements of variable size, since they may lie in a cache. */
static int own_elements(const struct move *m, struct part *p)
{
    size_t total = 0, at = 0;
    if (!m->from->var)
        return BKT_OK;
    for (uint64_t i = 0; i < p->sel.n_elems; i++)
        total += p->read.slices[i].n;
    if (bkt_buf_resize(&p->elems, total) < 0)
        return BKT_ENOMEM;
    for (uint64_t i = 0; i < p->sel.n_elems; i++) {
        struct bkt_slice *s = &p->read.slices[i];
        if (s->n)
            memcpy(p->elems.ptr + at, s->p, s->n);
        s->p = p->elems.ptr + at;
        at += s->n;
    }
    return BKT_OK;
}

static bool is_wanted(const struct move *m, struct bkt_slice e)
{
    return m->names ? bkt_edit_name_theirs(m->from->dom, (void *)(uintptr_t)e.p, e.n) : !is_fill(m, e);
}

static int add_element(const struct move *m, struct part *p, uint64_t i, struct bkt_slice e)
{
    uint64_t at = p->sel.rank ? place_of(&p->sel, m->to, i) : 0;
    struct bkt_run *last = p->runs.len ? (struct bkt_run *)(void *)(p->runs.ptr + p->runs.len) - 1 : NULL;
    struct bkt_run one = {at, 1};
    p->some.n_elems++;
    BKT_PASS(m->from->var ? bkt_buf_add(&p->slices, &e, sizeof e) : bkt_buf_add(&p->packed, e.p, e.n));
    if (last && last->off + last->len == at) {
        last->len++;
        return BKT_OK;
    }
    return bkt_buf_add(&p->runs, &one, sizeof one);
}

static int write_part(const struct move *m, struct part *p, struct bkt_err *err)
{
    struct bkt_sel mem = {
        .kind = BKT_SEL_ALL, .rank = 1, .dims = {p->some.n_elems}, .n_elems = p->some.n_elems};
    p->some.kind = p->sel.rank ? BKT_SEL_RUNS : BKT_SEL_ALL;
    p->some.rank = p->sel.rank;
    memcpy(p->some.dims, m->to->ds->space.dims, p->sel.rank * sizeof *p->some.dims);
    p->some.runs = (struct bkt_run *)(void *)p->runs.ptr;
    p->some.n_runs = p->runs.len / sizeof(struct bkt_run);
    struct bkt_write w = {.io = m->to, .file = &p->some};
    if (m->from->var)
        w.slices = (const struct bkt_slice *)(const void *)p->slices.ptr;
    else
        w.src = p->packed.ptr, w.mem = &mem;
    return bkt_write_datasets(&w, 1, err);
}

static int move_chunk(const struct move *m, const uint64_t *coord, struct bkt_err *err)
{
    BKT_CLEANUP(part_fini) struct part p = {.some = {.n_elems = 0}};
    bkt_chunk_select(m->from, coord, &p.sel);
    if (!p.sel.n_elems)
        return BKT_OK;
    BKT_PASS(read_part(m, &p, err));
    if (m->names && own_elements(m, &p) < 0)
        BKT_NOMEM(err);
    for (uint64_t i = 0; i < p.sel.n_elems; i++) {
        struct bkt_slice e = element(m, &p, i);
        if (is_wanted(m, e) && add_element(m, &p, i, e) < 0)
            BKT_NOMEM(err);
    }
    return p.some.n_elems ? write_part(m, &p, err) : BKT_OK;
}

static int note_coord(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct move *m = arg;
    (void)info;
    return bkt_buf_add(&m->coords, coord, m->from->rank * sizeof *coord);
}

static int move_all(struct move *m, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    size_t each = m->from->rank * sizeof *coord;
    if (m->from->where != BKT_AT_OBJECTS)
        return BKT_OK;
    if (m->from->bad.code)
        return bkt_err_copy(err, m->from->bad.code, &m->from->bad);
    if (bkt_dsetio_grid(m->from, grid))
        BKT_PASS(bkt_chunk_objects_each(m->from, grid, false, note_coord, m, err));
    for (size_t at = 0; each && at < m->coords.len; at += each) {
        memcpy(coord, m->coords.ptr + at, each);
        BKT_PASS(move_chunk(m, coord, err));
    }
    return bkt_chunks_flush_dataset(m->to->dom, &m->to->obj->id, err);
}

/* @p theirs: the dataset that gets the elements; NULL: they stay, with the names of other writers' objects */
static int move_elements(struct bkt_write_cache *d, const struct bkt_object *ours,
                         const struct bkt_object *theirs, struct bkt_err *err)
{
    struct move m = {.names = !theirs};
    const struct bkt_wset *ws = bkt_wset_find(d, &ours->id);
    int rc = bkt_dsetio_open(d->dom, ours, NULL, &m.from, err);
    m.to = m.from;
    if (rc == BKT_OK && theirs)
        rc = bkt_dsetio_open(d->dom, theirs, NULL, &m.to, err);
    if (rc == BKT_OK && ws) { /* the program's own filter functions, with which it wrote */
        bkt_pipeline_follow(&m.from->pipe, &ws->io->pipe);
        bkt_pipeline_follow(&m.to->pipe, &ws->io->pipe);
    }
    if (rc == BKT_OK)
        rc = move_all(&m, err);
    bkt_buf_fini(&m.coords);
    if (m.to != m.from)
        bkt_dsetio_close(m.to);
    bkt_dsetio_close(m.from);
    return rc;
}

int bkt_chunks_adopt(struct bkt_domain *dom, const struct bkt_object *ours, const struct bkt_object *theirs,
                     struct bkt_err *err)
{
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    if (!d)
        return BKT_OK;
    BKT_PASS(bkt_chunks_flush_dataset(dom, &ours->id, err));
    BKT_TRY(err, move_elements(d, ours, theirs, err),
            "%s was made by another writer as well: its elements can't be put there", ours->id.text);
    bkt_chunks_forget(dom, &ours->id);
    bkt_chunks_forget(dom, &theirs->id); /* its extent may have changed */
    bkt_chunks_forget_stored(dom);
    BKT_PASS_MEM(err, bkt_write_cache_note_refs(d, theirs));
    return BKT_OK;
}

/* ---- references ---- */

static int name_in_dataset(struct bkt_write_cache *d, const struct bkt_id *id, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    const struct bkt_object *o = NULL;
    struct bkt_err why = {.n = 0};
    int rc = bkt_domain_get(d->dom, id, &o, &why);
    if (rc == BKT_ENOENT) /* it was deleted */
        return BKT_OK;
    if (rc == BKT_OK)
        rc = bkt_chunks_flush_dataset(d->dom, id, &why);
    if (rc == BKT_OK)
        rc = move_elements(d, o, NULL, &why);
    bkt_object_release(o);
    if (rc == BKT_OK)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_domain_path_of(d->dom, id, &path));
    BKT_TRY(
        err, bkt_err_copy(err, rc, &why),
        "%s (object %s): its references can't be changed to the object that another writer made as well",
        bkt_buf_str(&path), id->text);
    return BKT_OK;
}

int bkt_chunks_name_theirs(struct bkt_domain *dom, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs ids = {0};
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    int first = BKT_OK;
    struct bkt_map_at at = {.pos = 0};
    while (d && d->refs && bkt_map_walk(d->refs, &at))
        if (bkt_strs_take(&ids, strndup(at.key, at.n)) < 0) /* writing may change the map */
            BKT_NOMEM(err);
    for (size_t i = 0; i < ids.n; i++) {
        struct bkt_err why = {.n = 0};
        struct bkt_id id;
        if (bkt_id_set(&id, ids.v[i]))
            bkt_err_keep_first(&first, err, name_in_dataset(d, &id, &why), &why);
    }
    return first;
}
