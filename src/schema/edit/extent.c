/* A dataset's extent, and the traces of a smaller one.
 *
 * [X1] A shrink is stored with key h5trim, the extent before, ahead of any change of chunks.  The key is
 *      removed when no chunk holds anything outside the extent any more, before the dataset grows.  So if
 *      a writer dies in between, the dataset still reads correctly, and the next writer that lets it grow
 *      finishes the work. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "base/num.h"
#include "schema/json/schema_json.h"

/* ---- in memory ---- */

static bool is_within(const uint64_t *a, const uint64_t *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

static int dset_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out,
                   struct bkt_err *err)
{
    BKT_PASS(bkt_change_of(d, id, out, err));
    BKT_FAIL_IF(err, (*out)->obj->kind != BKT_DATASET || (*out)->obj->dset.space.cls != BKT_S_SIMPLE,
                BKT_EINVAL, "%s has no extent that can change", id->text);
    return BKT_OK;
}

/* The place to note changes; NULL: the dataset is new, and is written whole. */
static int noted(struct bkt_change *c, struct bkt_extent_change **out, struct bkt_err *err)
{
    bool whole = c->is_new && !c->tried;
    if (!whole && !c->extent && !(c->extent = calloc(1, sizeof *c->extent)))
        BKT_NOMEM(err);
    *out = whole ? NULL : c->extent;
    return BKT_OK;
}

static int check_dims(const struct bkt_space *was, const uint64_t *dims, struct bkt_space *s,
                      struct bkt_err *err)
{
    *s = *was;
    for (unsigned i = 0; i < s->rank; i++) {
        BKT_FAIL_IF(err, dims[i] > s->maxdims[i], BKT_EINVAL,
                    "the extent of dimension %u can't be more than %llu", i,
                    (unsigned long long)s->maxdims[i]);
        s->dims[i] = dims[i];
    }
    return bkt_space_check(s, err);
}

int bkt_edit_extent(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims,
                    struct bkt_err *err)
{
    struct bkt_change        *c;
    struct bkt_extent_change *x;
    struct bkt_space          s;
    BKT_PASS(dset_of(d, dset, &c, err));
    struct bkt_dset *ds = &c->obj->dset;
    BKT_PASS(check_dims(&ds->space, dims, &s, err));
    BKT_PASS(noted(c, &x, err));
    bool smaller = !is_within(ds->space.dims, s.dims, s.rank);
    if (smaller && !ds->trim && !(ds->trim = calloc(s.rank, sizeof *ds->trim)))
        BKT_NOMEM(err);
    for (unsigned i = 0; smaller && i < s.rank; i++)
        ds->trim[i] = bkt_max_u64(ds->trim[i], ds->space.dims[i]);
    if (x && !x->resized) {
        x->resized = true;
        memcpy(x->old, ds->space.dims, sizeof x->old);
        memcpy(x->low, ds->space.dims, sizeof x->low);
        memcpy(x->high, ds->space.dims, sizeof x->high);
    }
    ds->space = s;
    return BKT_OK;
}

int bkt_edit_extent_undo(struct bkt_domain *d, const struct bkt_id *dset, const uint64_t *dims,
                         const uint64_t *trim, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(dset_of(d, dset, &c, err));
    struct bkt_dset *ds   = &c->obj->dset;
    unsigned         rank = ds->space.rank;
    if (trim && ds->trim)
        memcpy(ds->trim, trim, rank * sizeof *trim);
    if (!trim) {
        free(ds->trim);
        ds->trim = NULL;
    }
    memcpy(ds->space.dims, dims, rank * sizeof *dims);
    return BKT_OK;
}

void bkt_edit_extent_waits(struct bkt_domain *d, const struct bkt_id *dset, bool waits)
{
    struct bkt_change *c = bkt_map_get(d->edits->changes, dset->text, BKT_ID_LEN);
    if (c && c->extent)
        c->extent->waits = waits;
}

int bkt_edit_written(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err)
{
    struct bkt_change        *c;
    struct bkt_extent_change *x;
    BKT_PASS(dset_of(d, dset, &c, err));
    if (c->obj->dset.written)
        return BKT_OK;
    BKT_PASS(noted(c, &x, err));
    if (x)
        x->written = true;
    c->obj->dset.written = true;
    return BKT_OK;
}

void bkt_extent_tried(struct bkt_change *c)
{
    struct bkt_extent_change *x = c->extent;
    for (unsigned i = 0; x && x->resized && i < c->obj->dset.space.rank; i++) {
        x->low[i]  = bkt_min_u64(x->low[i], c->obj->dset.space.dims[i]);
        x->high[i] = bkt_max_u64(x->high[i], c->obj->dset.space.dims[i]);
    }
}

int bkt_edit_trimmed(struct bkt_domain *d, const struct bkt_id *dset, struct bkt_err *err)
{
    struct bkt_change        *c;
    struct bkt_extent_change *x;
    BKT_PASS(dset_of(d, dset, &c, err));
    struct bkt_dset *ds = &c->obj->dset;
    if (!ds->trim)
        return BKT_OK;
    BKT_PASS(noted(c, &x, err));
    if (x) {
        x->trimmed = true;
        memcpy(x->from, ds->trim, ds->space.rank * sizeof *x->from);
        memcpy(x->to, ds->space.dims, ds->space.rank * sizeof *x->to);
    }
    free(ds->trim);
    ds->trim = NULL;
    return BKT_OK;
}

void bkt_extent_seen(struct bkt_change *c, const struct bkt_space *stored)
{
    struct bkt_extent_change *x = c->extent;
    for (unsigned i = 0; x && x->resized && i < stored->rank; i++)
        x->old[i] = bkt_max_u64(x->old[i], stored->dims[i]);
}

bool bkt_edit_trim_waits(const struct bkt_domain *d, const struct bkt_id *dset)
{
    const struct bkt_change *c = d->edits ? bkt_map_get(d->edits->changes, dset->text, BKT_ID_LEN) : NULL;
    return c && c->extent && c->extent->trimmed;
}

/* ---- on top of the stored version ---- */

/* A dimension that this process lets grow becomes at least as large as it wants; one that it shrinks gets its
 * size.  An extent of this process that was stored by a PUT whose answer was lost is replaced. */
static void resize(const struct bkt_extent_change *x, const uint64_t *ours, struct bkt_space *s)
{
    for (unsigned i = 0; i < s->rank; i++) {
        if (ours[i] < x->old[i] || (ours[i] < x->high[i] && s->dims[i] == x->high[i]))
            s->dims[i] = ours[i];
        else if (ours[i] > x->low[i])
            s->dims[i] = bkt_max_u64(s->dims[i], ours[i]);
    }
}

/* A mark that another writer made since stays.  So does a mark that covers more than this process has cleared
 * up. */
static int replay_trim(const struct bkt_change *c, const struct bkt_space *before,
                       const struct bkt_space *now, json_t *stored, struct bkt_err *err)
{
    const struct bkt_extent_change *x    = c->extent;
    const uint64_t                 *ours = c->obj->dset.trim;
    struct bkt_dset                 ds   = {.space = *before};
    int                             rc   = bkt_trim_parse(stored, &ds, err);
    BKT_CLEANUP(bkt_freep) uint64_t *left = ds.trim;
    BKT_PASS(rc);
    if (left && x->trimmed && is_within(left, x->from, before->rank) &&
        is_within(x->to, before->dims, before->rank)) {
        free(left);
        left = NULL;
    }
    if (ours && !left && !(left = calloc(before->rank, sizeof *left)))
        BKT_NOMEM(err);
    for (unsigned i = 0; ours && i < before->rank; i++) {
        left[i] = bkt_max_u64(left[i], ours[i]);
        if (now->dims[i] < before->dims[i])
            left[i] = bkt_max_u64(left[i], before->dims[i]);
    }
    return bkt_trim_emit(left, before->rank, stored);
}

/* maxdims keep their spelling; if there are none, the extent so far was the largest. */
static int set_dims(json_t *shape, const struct bkt_space *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *whole = NULL;
    if (!json_object_get(shape, "maxdims")) {
        BKT_PASS(bkt_space_emit(s, &whole, err));
        json_t *max = json_incref(json_object_get(whole, "maxdims"));
        if (max)
            BKT_PASS(bkt_json_set(shape, "maxdims", max));
    }
    return bkt_json_set_dims(shape, "dims", s->dims, s->rank);
}

int bkt_replay_extent(const struct bkt_change *c, json_t *stored, struct bkt_err *err)
{
    const struct bkt_space *ours = &c->obj->dset.space;
    struct bkt_space        before, now;
    json_t                 *shape = json_object_get(stored, "shape");
    BKT_PASS(bkt_space_parse(shape, &before, err));
    BKT_FAIL_IF(err, before.rank != ours->rank, BKT_EFORMAT, "the dataset's rank has changed");
    now = before;
    if (c->extent->resized)
        resize(c->extent, ours->dims, &now);
    if (c->extent->written)
        BKT_PASS(bkt_json_set(stored, "h5written", json_true()));
    BKT_PASS(replay_trim(c, &before, &now, stored, err));
    return set_dims(shape, &now, err);
}
