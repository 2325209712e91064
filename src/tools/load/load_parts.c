#include "tools/load/load_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "chunk/write/write.h"
#include "schema/edit/edit.h"
#include "tools/load/load_one.h"
#include "tools/load/parts.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"

enum { PART_STORED, PART_ELEMENTS }; /* of a unit: chunks as they are stored; elements */

struct waiting {
    char *path;
    struct bkt_id id; /* in the domain */
    bool stored;      /* its chunks are moved as they are stored */
};
struct load_parts {
    struct waiting *v;
    size_t n, cap;
    /* of this process: the dataset of the last unit */
    char *path;
    hid_t src, dst;
};

static void close_last(struct load_parts *p)
{
    h5_closep(&p->src);
    h5_closep(&p->dst);
    free(p->path);
    p->path = NULL;
}

void load_parts_free(struct load_parts *p)
{
    if (!p)
        return;
    close_last(p);
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].path);
    free(p->v);
    free(p);
}

static struct load_parts *make(void)
{
    struct load_parts *p = calloc(1, sizeof *p);
    if (p)
        p->src = p->dst = H5I_INVALID_HID;
    return p;
}

int load_parts_begin(struct load *l, bool is_new, struct bkt_err *err)
{
    const struct load_options *o = l->o;
    if (!bkt_processes_several() || o->in_crowd || !is_new || o->link || o->no_data || o->ignore ||
        l->src->file < 0)
        return BKT_OK;
    l->parts = make();
    return l->parts ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* Whether a stored chunk of the source is a chunk object of the domain. */
static bool chunks_agree(hid_t src, hid_t dst)
{
    BKT_CLEANUP(h5_closep) hid_t dcpl = H5Dget_create_plist(src);
    const struct bkt_layout *lay = &load_vobj(dst)->obj->dset.layout;
    hsize_t chunk[H5S_MAX_RANK];
    int rank = dcpl < 0 || H5Pget_layout(dcpl) != H5D_CHUNKED ? -1 : H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
    bool same = rank > 0 && (unsigned)rank == lay->rank && bkt_filters_agree(src, dst);
    for (int d = 0; same && d < rank; d++)
        same = chunk[d] == lay->dims[d];
    return same;
}

int load_parts_wait(struct load *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    struct load_parts *p = l->parts;
    if (!p || *path != '/' || !parts_possible(src, dst))
        return 0;
    char *copy = strdup(path);
    if (!copy || bkt_list_room(&p->v, p->n, &p->cap, sizeof *p->v) < 0) {
        free(copy);
        BKT_NOMEM(err);
    }
    p->v[p->n++] = (struct waiting){copy, load_vobj(dst)->obj->id, chunks_agree(src, dst)};
    return 1;
}

/* ---- units ---- */

static int unit_begin(struct bkt_buf *unit, int kind, const struct waiting *w)
{
    bkt_buf_clear(unit);
    BKT_PASS(bkt_buf_add_le(unit, 1, (unsigned)kind));
    BKT_PASS(bkt_buf_add(unit, w->id.text, BKT_ID_LEN));
    return parts_emit_text(unit, w->path);
}

/* The chunks' places go along, so that other processes need not read the source's index. */
static int emit_stored(const struct survey *s, const struct bkt_written *w, size_t i, size_t n,
                       struct bkt_buf *unit)
{
    BKT_PASS(parts_emit(w, i, n, unit));
    for (size_t k = i; k < i + n; k++)
        BKT_PASS(bkt_buf_add_le(unit, 8, s->chunks[k].addr));
    return BKT_OK;
}

static int put_stored(struct load *l, struct bkt_share *sh, const struct waiting *x, hid_t src,
                      struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    uint64_t total = 0;
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    w.rank = s.rank;
    if (s.n_chunks && !(w.v = calloc(s.n_chunks, sizeof *w.v)))
        BKT_NOMEM(err);
    for (unsigned d = 0; d < s.rank; d++) {
        w.cdims[d] = s.cdims[d];
        w.grid[d] = s.grid[d];
    }
    for (; w.n < s.n_chunks; w.n++) {
        const struct survey_chunk *c = &s.chunks[w.n];
        w.v[w.n] = (struct bkt_written_chunk){.index = c->index, .size = c->size, .mask = c->mask};
        if (!bkt_add_u64(total, c->size, &total))
            BKT_FAIL(err, BKT_EFORMAT, "chunks of more than 2^64 bytes");
    }
    for (size_t i = 0, n; i < w.n; i += n) {
        uint64_t bytes = w.v[i].size;
        for (n = 1; i + n < w.n && n < PARTS_CHUNKS && bytes + w.v[i + n].size <= parts_share(total); n++)
            bytes += w.v[i + n].size;
        if (unit_begin(&unit, PART_STORED, x) < 0 || emit_stored(&s, &w, i, n, &unit) < 0)
            BKT_NOMEM(err);
        BKT_PASS(bkt_share_put(sh, &unit, err));
    }
    return BKT_OK;
}

static int put_elements(struct bkt_share *sh, const struct waiting *x, hid_t src, hid_t dst,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(src);
    BKT_PASS(parts_list(dst, src, &w, err));
    uint64_t bytes = parts_chunk_bytes(&w, H5Tget_size(type)), total = UINT64_MAX;
    (void)bkt_mul_u64(bytes, w.n, &total);
    for (size_t i = 0, n; i < w.n; i += n) {
        n = parts_next(&w, i, bytes, parts_share(total));
        if (unit_begin(&unit, PART_ELEMENTS, x) < 0 || parts_emit(&w, i, n, &unit) < 0)
            BKT_NOMEM(err);
        BKT_PASS(bkt_share_put(sh, &unit, err));
    }
    return BKT_OK;
}

/* ---- work ---- */

/* Open the datasets of a unit, unless the last unit had the same. */
static int open_both(struct load *l, const char *path, const char *id_text, struct bkt_err *err)
{
    struct load_parts *p = l->parts;
    struct bkt_id id;
    if (p->path && strcmp(p->path, path) == 0)
        return BKT_OK;
    close_last(p);
    if (!bkt_id_set(&id, id_text))
        BKT_FAIL(err, BKT_EFORMAT, "a malformed part of a dataset");
    p->src = H5Dopen2(l->src->file, path, H5P_DEFAULT);
    if (p->src < 0)
        return h5_unreadable(err, path);
    BKT_PASS(load_open_id(l, &id, &p->dst, err));
    p->path = strdup(path);
    return p->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

static int copy_elements(struct load *l, const struct bkt_written *w, struct bkt_err *err)
{
    struct bkt_copier_options o = load_copier_options(l);
    return bkt_copier_chunks(l->parts->src, l->parts->dst, w, &o, err);
}

static int copy_stored(struct load *l, const struct bkt_written *w, struct bkt_rd *unit, struct bkt_err *err)
{
    struct survey s = {.kind = BKT_MAP_CHUNKED, .rank = w->rank, .n_chunks = w->n};
    BKT_CLEANUP(bkt_freep) struct survey_chunk *chunks = calloc(w->n + 1, sizeof *chunks);
    if (!chunks || w->rank > BKT_MAX_RANK)
        BKT_NOMEM(err);
    for (unsigned d = 0; d < w->rank; d++) {
        s.cdims[d] = w->cdims[d];
        s.grid[d] = w->grid[d];
    }
    for (size_t i = 0; i < w->n; i++)
        chunks[i] = (struct survey_chunk){w->v[i].index, bkt_rd_le(unit, 8), w->v[i].size, w->v[i].mask};
    if (!unit->ok)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed part of a dataset");
    s.chunks = chunks;
    int rc = load_move_chunks(l, &s, l->parts->dst, 0, s.n_chunks, err);
    return rc == 0 ? copy_elements(l, w, err) : rc;
}

/* The chunks of a unit are stored when it ends.  H5Dflush() would store the document, too. */
static int store_chunks(struct load *l, int rc, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int stored = bkt_chunks_flush_dataset(l->file->dom, &load_vobj(l->parts->dst)->obj->id, &why);
    return rc >= 0 && stored < 0 ? bkt_err_copy(err, stored, &why) : rc;
}

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct load *l = arg;
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_freep) char *path = NULL;
    char id[BKT_ID_LEN + 1] = "";
    uint64_t kind = bkt_rd_le(unit, 1), bytes = 0;
    const char *text = bkt_rd_take(unit, BKT_ID_LEN);
    BKT_PASS(interrupt_check(err));
    BKT_PASS(parts_parse_text(unit, &path, err));
    BKT_PASS(parts_parse(unit, &w, err));
    memcpy(id, text ? text : "", text ? BKT_ID_LEN : 0);
    BKT_TRY(err, open_both(l, path, id, err), "%s", path);
    int rc = kind == PART_STORED ? copy_stored(l, &w, unit, err) : copy_elements(l, &w, err);
    rc = store_chunks(l, rc, err);
    if (rc < 0)
        BKT_FAIL(err, rc, "%s", path);
    for (size_t i = 0; i < w.n; i++)
        bytes += w.v[i].size;
    if (bkt_buf_add_le(result, 8, bytes) < 0 || bkt_buf_add_le(result, 4, w.n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int take(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct load *l = arg;
    uint64_t bytes = bkt_rd_le(result, 8), chunks = bkt_rd_le(result, 4);
    if (!result->ok)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed result");
    progress_add(l->progress, bytes, chunks, 0);
    return BKT_OK;
}

/* ---- the first process ---- */

static int put_all(struct load *l, struct bkt_share *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    const struct load_parts *p = l->parts;
    if (bkt_buf_add(&news, bkt_domain_root(l->file->dom)->text, BKT_ID_LEN) < 0)
        BKT_NOMEM(err);
    BKT_PASS(bkt_share_news(s, &news, err));
    for (size_t i = 0; i < p->n; i++) {
        BKT_CLEANUP(h5_closep)
        hid_t src = H5Dopen2(l->src->file, p->v[i].path, H5P_DEFAULT),
              dst = H5I_INVALID_HID;
        if (src < 0)
            return h5_unreadable(err, p->v[i].path);
        BKT_PASS(interrupt_check(err));
        BKT_PASS(load_open_id(l, &p->v[i].id, &dst, err));
        BKT_TRY(err,
                p->v[i].stored ? put_stored(l, s, &p->v[i], src, err)
                               : put_elements(s, &p->v[i], src, dst, err),
                "%s", p->v[i].path);
    }
    return BKT_OK;
}

int load_parts_share(struct load *l, struct bkt_err *err)
{
    struct bkt_share s = {.work = work,
                          .take = take,
                          .arg = l,
                          .most = 2 * (size_t)bkt_processes_size(),
                          .check = interrupt_check};
    if (!l->parts || !l->parts->n)
        return BKT_OK;
    /* other processes find the datasets in the store; nobody finds the domain yet */
    BKT_PASS(bkt_chunks_flush(l->file->dom, err));
    BKT_PASS(bkt_domain_flush_early(l->file->dom, err));
    int rc = bkt_share_begin(&s, err);
    rc = bkt_share_finish(&s, rc < 0 ? rc : put_all(l, &s, err), err);
    close_last(l->parts);
    return rc;
}

/* ---- the others ---- */

struct other {
    struct load *l;
    const char *source, *domain;
    hid_t fapl;
    struct bkt_domain *d;
};

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct other *o = arg;
    struct load *l = o->l;
    struct bkt_id root;
    BKT_PASS(parts_parse_id(news, &root, err));
    BKT_PASS(source_open(o->source, l->o->driver, l->set, &l->src, err));
    BKT_PASS(bkt_domain_open_unseen(o->domain, l->set, &root, &o->d, err));
    l->dst = H5Fopen(o->domain, H5F_ACC_RDWR, o->fapl);
    if (l->dst < 0)
        return h5_fail(err, o->domain);
    l->file = load_vobj(l->dst)->file;
    return BKT_OK;
}

static int work_for_first(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    return work(((struct other *)arg)->l, unit, result, err);
}

int load_parts_serve(struct load *l, const char *source, const char *domain, hid_t fapl, struct bkt_err *err)
{
    struct other o = {.l = l, .source = source, .domain = domain, .fapl = fapl};
    struct bkt_share_other s = {.work = work_for_first, .news = on_news, .arg = &o};
    l->parts = make();
    if (!l->parts)
        BKT_NOMEM(err);
    int rc = bkt_share_serve(&s, err);
    load_parts_free(l->parts);
    l->parts = NULL;
    if (o.d)
        bkt_domain_discard(o.d); /* the first process stores what is left */
    h5_closep(&l->dst);
    source_close(l->src);
    bkt_domain_close(o.d);
    return rc;
}
