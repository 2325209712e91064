/* Changes go to the store.
 *
 * In phases, each begun when the one before is through: new objects (nothing that is stored leads to them yet), datasets and
 * types; groups that gained something; groups that lost something (what is moved is never out of reach); folders and the
 * document of a new domain; deletions.  A domain without a document, which nobody finds, is one phase before that.  A group
 * that gains and loses, where another loses too, is stored twice: what it gains may be what the other loses.
 * How the objects of a phase are written: flush_wave.c. */
#include <stdlib.h>
#include <string.h>

#include "edit_impl.h"

enum phase { PHASE_NEW, PHASE_LEAVES, PHASE_GAINING, PHASE_LOSING, PHASE_NOTHING };

static bool has_any(const struct bkt_map *m) { return m && bkt_map_count(m) > 0; }

static bool is_changed(const struct bkt_change *c)
{
    return c->is_new || has_any(c->links) || has_any(c->attrs) || c->extent || c->comment || c->refs || c->uses || c->numbers ||
           (c->refs_id[0] && c->tried);
}

static bool has_link(const struct bkt_change *c, enum bkt_delta a, enum bkt_delta b)
{
    const void *key;
    size_t      pos = 0, n;
    void       *v;
    while (c->links && bkt_map_next(c->links, &pos, &key, &n, &v))
        if ((enum bkt_delta)(uintptr_t)v == a || (enum bkt_delta)(uintptr_t)v == b)
            return true;
    return false;
}

static bool adds_links(const struct bkt_change *c) { return has_link(c, BKT_DELTA_ADD, BKT_DELTA_ADD); }
bool bkt_change_gains_links(const struct bkt_change *c) { return has_link(c, BKT_DELTA_ADD, BKT_DELTA_REPLACE); }
bool bkt_change_loses_links(const struct bkt_change *c) { return has_link(c, BKT_DELTA_REMOVE, BKT_DELTA_REPLACE); }

static enum phase phase_of(struct bkt_domain *d, const struct bkt_change *c)
{
    uint64_t links = 0;
    if (c->removed || !is_changed(c))
        return PHASE_NOTHING;
    if (c->is_new && !c->keep && !c->obj->extra_refs && c->obj->uses <= 0 && strcmp(c->id.text, d->doc.root.text) != 0 &&
        bkt_domain_link_count(d, &c->id, &links, NULL) == BKT_OK && links == 0)
        return PHASE_NOTHING; /* somebody holds it, nothing leads to it yet */
    if (c->is_new)
        return PHASE_NEW;
    return c->obj->kind != BKT_GROUP ? PHASE_LEAVES : bkt_change_loses_links(c) ? PHASE_LOSING : PHASE_GAINING;
}

/* ---- all together ---- */

/* What nothing leads to any more.  A store that refuses to delete it is not asked again with every flush: that is told once.
 * @param blind  < 0: whether others lead to it can't be seen, and so nothing is deleted; @p blind_why says why */
static int remove_objects(struct bkt_domain *d, struct bkt_change **v, size_t n, int blind, const struct bkt_err *blind_why,
                          struct bkt_err *err)
{
    struct bkt_gone *gone  = calloc(n + 1, sizeof *gone);
    int              first = BKT_OK;
    size_t           k     = 0;
    if (!gone)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        if (v[i]->removed) {
            v[k]      = v[i];
            gone[k++] = (struct bkt_gone){.id = &v[i]->id, .o = v[i]->obj, .rc = blind,
                                          .err = blind < 0 ? bkt_err_dup(blind_why) : NULL};
        }
    if (k && blind >= 0)
        bkt_remove_objects(d->store, gone, k);
    for (size_t i = 0; i < k; i++) {
        bkt_err_keep_first(&first, err, gone[i].rc, gone[i].err);
        if (gone[i].rc < 0 && !bkt_edit_refused(gone[i].rc))
            continue;
        bkt_objects_drop(d->objects, &v[i]->id, false);
        bkt_change_forget(d, v[i]);
    }
    bkt_gone_fini(gone, k);
    if (bkt_edit_refused(first))
        BKT_FAIL(err, first, "%s: all changes are stored, but what was removed could not be deleted and stays in the store, where "
                 "nothing leads to it: `h5bucket verify` finds it", d->name);
    if (first < 0)
        BKT_FAIL(err, first, "%s: all changes are stored, but not all of what was removed is deleted yet", d->name);
    return BKT_OK;
}

/* Several changes that lose links: what one of them loses another may gain, which has to be stored before. */
static bool is_in(enum phase p, enum phase own, const struct bkt_change *c, bool several)
{
    return own == p || (p == PHASE_GAINING && own == PHASE_LOSING && several && adds_links(c));
}

/* The changes as a list, sorted by phase; the caller's, free().  Those with a part of theirs in an earlier phase stand in both. */
static int list_changes(struct bkt_domain *d, struct bkt_change ***out, size_t *starts, size_t *n_all, struct bkt_err *err)
{
    size_t              n   = bkt_map_count(d->edits->changes), pos = 0, len, at = 0, k = 0, losing = 0;
    struct bkt_change **all = calloc(n + 1, sizeof(void *)), **v = calloc(2 * n + 1, sizeof(void *));
    unsigned char      *phase = calloc(n + 1, 1);
    const void         *key;
    void               *val;
    bool ok = all && v && phase;
    while (ok && bkt_map_next(d->edits->changes, &pos, &key, &len, &val)) {
        all[k]   = val;
        phase[k] = (unsigned char)phase_of(d, val);
        losing += phase[k++] == PHASE_LOSING;
    }
    for (enum phase p = PHASE_NEW; ok && p <= PHASE_NOTHING; p++) {
        starts[p] = at;
        for (size_t i = 0; i < k; i++)
            if (is_in(p, phase[i], all[i], losing > 1 && !d->edits->fresh))
                v[at++] = all[i];
    }
    free(phase);
    free(all);
    if (!ok) {
        free(v);
        BKT_NOMEM(err);
    }
    *out   = v;
    *n_all = at;
    return BKT_OK;
}

static int flush_phases(struct bkt_domain *d, struct bkt_change **v, const size_t *starts, struct bkt_clash *clash, struct bkt_err *err)
{
    size_t at = 0;
    for (enum phase p = d->edits->fresh ? PHASE_NOTHING : PHASE_GAINING; p <= PHASE_NOTHING; at = starts[p++])
        BKT_PASS(bkt_flush_some(d, v + at, starts[p] - at, p == PHASE_LOSING, clash, err)); /* all before that */
    return BKT_OK;
}

/* All but deletions; *n becomes less by what needs nothing. */
static int flush_all(struct bkt_domain *d, struct bkt_change **v, const size_t *starts, size_t *n, struct bkt_clash *clash,
                     struct bkt_err *err)
{
    size_t m = starts[PHASE_NOTHING];
    BKT_PASS(flush_phases(d, v, starts, clash, err));
    if (d->edits->fresh)
        BKT_PASS(bkt_doc_write(d, err));
    for (size_t i = m; i < *n; i++)
        if (!v[i]->removed && !is_changed(v[i]))
            bkt_change_forget(d, v[i]);
        else
            v[m++] = v[i];
    *n = m;
    return BKT_OK;
}

int bkt_clash_tell(const struct bkt_domain *d, const struct bkt_clash *clash, struct bkt_err *err)
{
    const struct bkt_names *theirs = &clash->theirs, *gone = &clash->gone;
    int                     rc     = BKT_OK;
    if (gone->n)
        rc = BKT_ERR(err, BKT_ENOENT, "%s: changes of %zu object%s that %s deleted by somebody else are dropped: %s", d->name, gone->n,
                     gone->n == 1 ? "" : "s", gone->n == 1 ? "was" : "were", gone->text);
    if (theirs->n)
        rc = BKT_ERR(err, BKT_EEXIST, "%s: %zu name%s made by somebody else as well, and theirs stay%s: %s", d->name, theirs->n,
                     theirs->n == 1 ? " was" : "s were", theirs->n == 1 ? "s" : "", theirs->text);
    return rc;
}

/* New objects that nothing has linked yet may be unwanted. */
static int loosen_unlinked(struct bkt_domain *d, struct bkt_err *err)
{
    const void *key;
    size_t      pos = 0, n;
    void       *v;
    while (bkt_map_next(d->edits->changes, &pos, &key, &n, &v)) {
        const struct bkt_change *c     = v;
        uint64_t                 links = 0;
        if (!c->is_new || c->keep || c->removed)
            continue;
        BKT_PASS(bkt_domain_link_count(d, &c->id, &links, err));
        if (!links)
            BKT_PASS(bkt_edit_loosen(d, &c->id, err));
    }
    return BKT_OK;
}

static int sweep(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_PASS(loosen_unlinked(d, err));
    return bkt_edit_sweep(d, err);
}

int bkt_domain_flush_new(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_change **v = NULL;
    size_t                                      starts[PHASE_NOTHING + 1] = {0}, n = 0;
    if (bkt_map_count(d->edits->changes) == 0 || bkt_edits_foreign(d))
        return BKT_OK;
    BKT_PASS(sweep(d, err));
    BKT_PASS(list_changes(d, &v, starts, &n, err));
    BKT_TRY(err, bkt_flush_some(d, v, starts[PHASE_LEAVES], false, &d->edits->clash, err),
            "%s: new objects are not written; they are kept", d->name);
    return BKT_OK;
}

int bkt_domain_flush_early(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_change **v = NULL;
    size_t                                      starts[PHASE_NOTHING + 1] = {0}, n = 0;
    d->edits->ordered = false;
    if (!bkt_domain_is_dirty(d))
        return BKT_OK;
    BKT_PASS(sweep(d, err));
    BKT_PASS(list_changes(d, &v, starts, &n, err));
    d->edits->spilling = true;
    int rc = flush_phases(d, v, starts, &d->edits->clash, err);
    d->edits->spilling = false;
    d->edits->spill_at = rc < 0 ? d->edits->spill_at : 0;
    return rc;
}

int bkt_domain_flush(struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_clash                           *clash = &d->edits->clash; /* kept until it can be told */
    BKT_CLEANUP(bkt_freep) struct bkt_change **v     = NULL;
    size_t                                      starts[PHASE_NOTHING + 1] = {0}, n = 0;
    if (bkt_edits_foreign(d) || (!bkt_domain_is_dirty(d) && bkt_map_count(d->edits->loose) == 0))
        return BKT_OK;
    BKT_PASS(sweep(d, err));
    struct bkt_err blind_why = {.n = 0};
    int            blind     = bkt_edit_spare(d, &blind_why);
    BKT_PASS(list_changes(d, &v, starts, &n, err));
    BKT_TRY(err, flush_all(d, v, starts, &n, clash, err), "%s: not everything is written; what is missing is kept", d->name);
    d->edits->spill_at = 0;
    struct bkt_clash told = *clash;
    memset(clash, 0, sizeof *clash);
    struct bkt_err why   = {.n = 0};
    int            first = bkt_clash_tell(d, &told, err), rc = bkt_doc_remove_old(d, &why);
    bkt_err_keep_first(&first, err, rc, &why);
    rc = remove_objects(d, v + starts[PHASE_NOTHING], n - starts[PHASE_NOTHING], blind, &blind_why, &why);
    bkt_err_keep_first(&first, err, rc, &why);
    return first;
}

int bkt_domain_flush_object(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    if (!c || c->removed || c->is_new || !is_changed(c) || bkt_edits_foreign(d))
        return BKT_OK;
    return bkt_flush_some(d, &c, 1, false, &d->edits->clash, err);
}

bool bkt_domain_is_new(const struct bkt_domain *d) { return d->edits->fresh; }

bool bkt_domain_is_dirty(struct bkt_domain *d)
{
    bool any = d->edits->fresh || d->edits->old_root.text[0] || bkt_clash_any(&d->edits->clash) || bkt_map_count(d->edits->changes) > 0;
    return any && !bkt_edits_foreign(d);
}

uint64_t bkt_domain_dirty_bytes(struct bkt_domain *d) { return d->edits->dirty_bytes; }
