/* Changes are written to the store, in phases:
 *
 * 1. new objects (no stored object leads to them yet), datasets and types;
 * 2. groups that gained links;
 * 3. groups that lost links, so that a moved object is never out of reach;
 * 4. folders and the document of a new domain;
 * 5. deletions.
 *
 * Each phase begins when the one before has ended.  For a domain without a document, which nobody finds,
 * phases 1 to 3 are one.  If several groups lose links, a group that also gains links is stored twice.  Its
 * new links may be to objects that another group loses.  flush_wave.c writes the objects of a phase. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "schema/edit/edit_impl.h"

enum phase { PHASE_NEW, PHASE_LEAVES, PHASE_GAINING, PHASE_LOSING, PHASE_NOTHING };

static bool is_changed(const struct bkt_change *c)
{
    return c->is_new || bkt_map_count(c->links) || bkt_map_count(c->attrs) || c->extent || c->comment ||
           c->refs || c->uses || c->numbers || c->reread || (c->refs_id[0] && c->tried);
}

/* Whether a part of the change could be stored now: anything but an extent that waits for chunks. */
static bool is_due(const struct bkt_change *c)
{
    if (!c->extent || !c->extent->waits)
        return is_changed(c);
    struct bkt_change rest = *c;
    rest.extent = NULL;
    return is_changed(&rest);
}

static bool has_link(const struct bkt_change *c, enum bkt_delta a, enum bkt_delta b)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);)
        if ((enum bkt_delta)(uintptr_t)at.value == a || (enum bkt_delta)(uintptr_t)at.value == b)
            return true;
    return false;
}

static bool adds_links(const struct bkt_change *c) { return has_link(c, BKT_DELTA_ADD, BKT_DELTA_ADD); }
bool bkt_change_gains_links(const struct bkt_change *c)
{
    return has_link(c, BKT_DELTA_ADD, BKT_DELTA_REPLACE);
}
bool bkt_change_loses_links(const struct bkt_change *c)
{
    return has_link(c, BKT_DELTA_REMOVE, BKT_DELTA_REPLACE);
}

static enum phase phase_of(struct bkt_domain *d, const struct bkt_change *c)
{
    uint64_t links = 0;
    if (c->removed || !is_due(c))
        return PHASE_NOTHING;
    if (c->is_new && !c->keep && !c->obj->extra_refs && c->obj->uses <= 0 &&
        strcmp(c->id.text, d->doc.root.text) != 0 &&
        bkt_domain_link_count(d, &c->id, &links, NULL) == BKT_OK && links == 0)
        return PHASE_NOTHING; /* it is held, but nothing leads to it yet */
    if (c->is_new)
        return PHASE_NEW;
    return c->obj->kind != BKT_GROUP   ? PHASE_LEAVES
           : bkt_change_loses_links(c) ? PHASE_LOSING
                                       : PHASE_GAINING;
}

/* ---- objects that fail: only changes that depend on them wait ----
 *
 * [B1] No stored link leads to an object that isn't stored.  Links to new objects that failed wait, and
 *      groups that were just stored with such a link are stored once more without it.
 * [B2] A moved object keeps its old link in the store until the new link is there (moved_links.c). */

void bkt_absent_clear(struct bkt_edits *e)
{
    bkt_map_clear(&e->absent, NULL);
    bkt_unmoved_clear(e);
}

static int add_id(struct bkt_map **set, const struct bkt_id *id)
{
    return bkt_map_set(set, id->text, BKT_ID_LEN, set, NULL);
}

struct dangles {
    const struct bkt_map *absent;
    struct bkt_strs names; /* of links */
    struct bkt_ids groups; /* that have them */
};

static void dangles_fini(struct dangles *x)
{
    bkt_strs_fini(&x->names);
    bkt_ids_fini(&x->groups);
}

static int find_dangling(const struct bkt_object *o, void *arg)
{
    struct dangles *x = arg;
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));) {
        if (!bkt_map_get(x->absent, l->id.text, BKT_ID_LEN))
            continue;
        BKT_PASS(bkt_strs_add(&x->names, l->name));
        BKT_PASS(bkt_ids_add(&x->groups, &o->id));
    }
    return BKT_OK;
}

/* New objects that are left after all were tried: links to them wait, also links that were just stored. */
static int note_absent(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(dangles_fini) struct dangles x = {.absent = NULL};
    struct bkt_edits *e = d->edits;
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->is_new && !c->removed && add_id(&e->absent, &c->id) < 0)
            BKT_NOMEM(err);
    }
    if (!e->absent)
        return BKT_OK;
    x.absent = e->absent;
    BKT_PASS_MEM(err, bkt_objects_each(d->objects, find_dangling, &x));
    for (size_t i = 0; i < x.groups.n; i++)
        BKT_PASS(bkt_change_note_link(d, &x.groups.v[i], x.names.v[i], err));
    return BKT_OK;
}

/* ---- all together ---- */

/* Remove objects that nothing leads to any more.  A store that refuses a deletion is not asked again by every
 * flush: the refusal is reported once.
 * @param blind  < 0: other writers' links to them can't be seen, so nothing is deleted; @p blind_why has the
 *               reason */
static int remove_objects(struct bkt_domain *d, struct bkt_change **v, size_t n, int blind,
                          const struct bkt_err *blind_why, struct bkt_err *err)
{
    struct bkt_gone *gone  = calloc(n + 1, sizeof *gone);
    int              first = BKT_OK;
    size_t           k     = 0;
    BKT_NEED(err, gone);
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
    BKT_FAIL_IF(err, bkt_edit_refused(first), first,
                "%s: all changes are stored, but removed objects could not be deleted and stay "
                "in the store without a link to them: `h5bucket verify` finds them",
                d->name);
    BKT_FAIL_IF(err, first < 0, first,
                "%s: all changes are stored, but not all removed objects are deleted yet", d->name);
    return BKT_OK;
}

/* With several changes that lose links: a link that one change loses another may gain, and that must be
 * stored first. */
static bool is_in(enum phase p, enum phase own, const struct bkt_change *c, bool several)
{
    return own == p || (p == PHASE_GAINING && own == PHASE_LOSING && several && adds_links(c));
}

/* The changes of a running flush, in phases: the input of bkt_flush_some(). */
struct flush {
    struct bkt_domain *d;
    struct bkt_change **v;
    size_t starts[PHASE_NOTHING + 1], n;
};

static void flush_fini(struct flush *f)
{
    free(f->v);
}

/* List the changes, sorted by phase.  A change with a part in an earlier phase is in both. */
static int flush_list(struct flush *f, struct bkt_err *err)
{
    const struct bkt_edits *e = f->d->edits;
    size_t most = bkt_map_count(e->changes) + 1, k = 0, losing = 0;
    BKT_CLEANUP(bkt_freep) struct bkt_change **all = calloc(most, sizeof(void *));
    BKT_CLEANUP(bkt_freep) unsigned char *phase = calloc(most, 1);
    free(f->v);
    f->v = calloc(2 * most, sizeof(void *));
    f->n = 0;
    BKT_NEED(err, all && f->v && phase);
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);) {
        all[k] = at.value;
        phase[k] = (unsigned char)phase_of(f->d, at.value);
        losing += phase[k++] == PHASE_LOSING;
    }
    for (enum phase p = PHASE_NEW; p <= PHASE_NOTHING; p++) {
        f->starts[p] = f->n;
        for (size_t i = 0; i < k; i++)
            if (is_in(p, phase[i], all[i], losing > 1 && !e->fresh))
                f->v[f->n++] = all[i];
    }
    return BKT_OK;
}

/* Write new objects, and with them changes that may be stored in any order; for a new domain, everything.  If
 * some fail, links to them wait. */
static int flush_first(struct flush *f, enum phase p, int *first, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = bkt_flush_some(f->d, f->v, f->starts[p], false, &why);
    bkt_err_keep_first(first, err, rc, &why);
    if (rc == BKT_OK || f->d->edits->out_of_reach)
        return rc;
    bkt_edit_doubt(f->d, true);
    BKT_PASS(note_absent(f->d, err)); /* only changes that depend on the failed objects wait */
    BKT_PASS(flush_list(f, err));
    if (p == PHASE_NOTHING) /* groups of a new domain that link the failed objects are stored by now */
        rc = bkt_flush_some(f->d, f->v + f->starts[PHASE_LEAVES],
                            f->starts[PHASE_NOTHING] - f->starts[PHASE_LEAVES], false, &why);
    bkt_err_keep_first(first, err, rc, &why);
    return BKT_OK;
}

/* Groups that lose links, in turns: as long as links wait for others that a turn has stored.  If a turn
 * stores none, the groups are read again, since other writers may have changed them.  Then all are stored at
 * once. */
static int flush_losing(struct flush *f, struct bkt_err *err)
{
    enum turn { TURN_NORMAL, TURN_READ, TURN_AT_ONCE, TURN_END } turn = TURN_NORMAL;
    struct bkt_domain *d = f->d;
    while (turn < TURN_END && f->starts[PHASE_NOTHING] > f->starts[PHASE_LOSING]) {
        size_t at = f->starts[PHASE_LOSING];
        bool waits;
        size_t before = bkt_unmoved_count(d, &waits);
        d->edits->held = false;
        BKT_PASS(bkt_unmoved_note(d, turn == TURN_AT_ONCE, err));
        BKT_PASS(bkt_flush_some(d, f->v + at, f->starts[PHASE_NOTHING] - at, false, err));
        size_t left = bkt_unmoved_count(d, &waits);
        if (!waits || d->edits->absent)
            break;
        turn = left < before ? TURN_NORMAL : turn + 1;
        if (turn != TURN_NORMAL) {
            BKT_PASS(bkt_unmoved_note(d, true, err));
            if (bkt_unmoved_all_blocked(d))
                break;
        }
        BKT_PASS(flush_list(f, err));
    }
    return BKT_OK;
}

/* With a look at other writers' moves before and afterwards [B3]. */
static int flush_moving(struct flush *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int first = BKT_OK;
    bool any;
    BKT_PASS(bkt_moves_undo(f->d, &any, err));
    if (any)
        BKT_PASS(flush_list(f, err));
    bkt_err_keep_first(&first, err, flush_losing(f, &why), &why);
    if (f->d->edits->out_of_reach) /* the next flush looks at the moves */
        return first;
    bkt_err_keep_first(&first, err, bkt_moves_settle(f->d, &any, &why), &why);
    if (!any)
        return first;
    BKT_PASS(flush_list(f, err));
    size_t at = f->starts[PHASE_GAINING], n = f->starts[PHASE_LOSING] - at;
    bkt_err_keep_first(&first, err, bkt_flush_some(f->d, f->v + at, n, true, &why), &why);
    bkt_err_keep_first(&first, err, flush_losing(f, &why), &why);
    return first;
}

/* Moves of an earlier flush are looked at first, if it couldn't do so. */
static int note_moves(struct flush *f, struct bkt_err *err)
{
    bool any;
    BKT_PASS(bkt_moves_settle(f->d, &any, err));
    if (any)
        BKT_PASS(flush_list(f, err));
    return bkt_moves_note(f->d, err);
}

static int flush_phases(struct flush *f, struct bkt_err *err)
{
    enum phase from = f->d->edits->fresh ? PHASE_NOTHING : PHASE_GAINING;
    f->d->edits->held = false;
    int first = BKT_OK;
    BKT_PASS(note_moves(f, err));
    if (flush_first(f, from, &first, err) < 0)
        return first;
    size_t at = f->starts[from];
    for (enum phase p = from + 1; p <= PHASE_NOTHING; at = f->starts[p++]) {
        struct bkt_err why = {.n = 0};
        int rc = p == PHASE_NOTHING
                     ? flush_moving(f, &why)
                     : bkt_flush_some(f->d, f->v + at, f->starts[p] - at, p == PHASE_LOSING, &why);
        bkt_err_keep_first(&first, err, rc, &why);
        if (f->d->edits->out_of_reach)
            break;
    }
    return first;
}

static bool root_is_stored(struct bkt_domain *d)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, d->doc.root.text, BKT_ID_LEN);
    return !c || !c->is_new;
}

/* Everything but deletions.  Changes that came to nothing are forgotten. */
static int flush_all(struct flush *f, struct bkt_err *err)
{
    struct bkt_domain *d = f->d;
    struct bkt_err why = {.n = 0};
    int rc = flush_phases(f, err);
    if (d->edits->fresh && !d->edits->out_of_reach && root_is_stored(d))
        bkt_err_keep_first(&rc, err, bkt_doc_write(d, &why), &why);
    bkt_absent_clear(d->edits);
    return rc;
}

/* As long as other writers' objects come to stand for objects of this process, the additions to these are
 * stored there.  Then the objects of this process are deleted. */
static int flush_and_adopt(struct bkt_domain *d, struct bkt_err *err)
{
    int first = BKT_OK;
    bool any = true;
    while (any) {
        BKT_CLEANUP(flush_fini) struct flush f = {.d = d};
        struct bkt_err why = {.n = 0};
        any = false;
        BKT_PASS(flush_list(&f, err));
        int rc = flush_all(&f, &why);
        bkt_err_keep_first(&first, err, rc, &why);
        if (!d->edits->out_of_reach)
            bkt_err_keep_first(&first, err, bkt_rivals_adopt(d, &any, &why), &why);
        if (d->edits->disowned.n || d->edits->regained.n)
            bkt_err_keep_first(&first, err, bkt_edit_disown(d, &any, &why), &why);
    }
    struct bkt_err why = {.n = 0};
    if (!d->edits->out_of_reach && (d->edits->unnamed || d->edits->n_doomed))
        bkt_err_keep_first(&first, err, bkt_alias_settle(d, first == BKT_OK, &why), &why);
    return first;
}

static int report_stayed(const struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_message_names stayed = d->edits->stayed;
    memset(&d->edits->stayed, 0, sizeof d->edits->stayed);
    BKT_FAIL_IF(err, stayed.n, BKT_EPRECOND,
                "%s: groups can't be moved into places that another writer has moved into these groups; they "
                "stay where they were: %s",
                d->name, stayed.text);
    return BKT_OK;
}

static int report_gone(const struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_message_names gone = d->edits->gone;
    if (!gone.n)
        return BKT_OK;
    memset(&d->edits->gone, 0, sizeof d->edits->gone);
    BKT_FAIL(err, BKT_ENOENT, "%s: changes of %zu object%s that %s deleted by another writer are dropped: %s",
             d->name, gone.n, gone.n == 1 ? "" : "s", gone.n == 1 ? "was" : "were", gone.text);
}

/* New objects that have no link yet may be unwanted. */
static int loosen_unlinked(struct bkt_domain *d, struct bkt_err *err)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
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
    return bkt_map_count(d->edits->loose) ? bkt_edit_sweep(d, err) : BKT_OK;
}

int bkt_domain_flush_new(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(flush_fini) struct flush f = {.d = d};
    d->edits->out_of_reach = false;
    if (bkt_map_count(d->edits->changes) == 0 || bkt_edits_foreign(d))
        return BKT_OK;
    BKT_PASS(sweep(d, err));
    BKT_PASS(bkt_edit_check_targets(d, true, err));
    BKT_PASS(flush_list(&f, err));
    BKT_TRY(err, bkt_flush_some(d, f.v, f.starts[PHASE_LEAVES], false, err),
            "%s: new objects are not written; they are kept", d->name);
    return BKT_OK;
}

int bkt_domain_flush_early(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(flush_fini) struct flush f = {.d = d};
    d->edits->ordered = false;
    if (!bkt_domain_is_dirty(d))
        return BKT_OK;
    BKT_PASS(sweep(d, err));
    BKT_PASS(bkt_edit_check_targets(d, false, err));
    BKT_PASS(flush_list(&f, err));
    d->edits->spilling = true;
    int rc = flush_phases(&f, err);
    bkt_links_count_shown(d->links);
    bkt_absent_clear(d->edits);
    d->edits->spilling = false;
    d->edits->spill_at = rc < 0 ? d->edits->spill_at : 0;
    return rc;
}

/* Forget changes that came to nothing; removed objects stay in the list, and kept changes wait for another
 * flush. */
static int take_removed(struct bkt_domain *d, struct flush *f, struct bkt_err *err)
{
    size_t m = 0;
    BKT_PASS(flush_list(f, err));
    for (size_t i = f->starts[PHASE_NOTHING]; i < f->n; i++)
        if (!f->v[i]->removed && !is_changed(f->v[i]))
            bkt_change_forget(d, f->v[i]);
        else if (f->v[i]->removed)
            f->v[m++] = f->v[i];
    f->n = m;
    return BKT_OK;
}

int bkt_domain_flush(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(flush_fini) struct flush f = {.d = d};
    if (bkt_edits_foreign(d))
        return BKT_OK;
    struct bkt_err stale_why = {.n = 0};
    int            stale     = bkt_domain_drop_stale(d, &stale_why);
    if (!bkt_domain_is_dirty(d) && bkt_map_count(d->edits->loose) == 0)
        return stale < 0 ? bkt_err_copy(err, stale, &stale_why) : BKT_OK;
    BKT_PASS(sweep(d, err));
    BKT_PASS(bkt_edit_check_targets(d, false, err));
    struct bkt_err blind_why = {.n = 0}, why = {.n = 0};
    int            blind     = bkt_edit_spare(d, &blind_why);
    int            rc        = flush_and_adopt(d, err);
    bkt_links_count_shown(d->links);
    d->edits->doubt = false;
    BKT_TRY(err, rc, "%s: not everything is written; the rest is kept", d->name);
    d->edits->spill_at = 0;
    int first = bkt_rivals_report(d, err);
    if (first == BKT_OK)
        first = report_gone(d, err);
    if (first == BKT_OK)
        first = report_stayed(d, err);
    bkt_err_keep_first(&first, err, bkt_doc_remove_old(d, &why), &why);
    BKT_PASS(take_removed(d, &f, first < 0 ? NULL : err));
    if (!d->edits->held)
        bkt_err_keep_first(&first, err, remove_objects(d, f.v, f.n, blind, &blind_why, &why), &why);
    bkt_err_keep_first(&first, err, stale, &stale_why);
    return first;
}

int bkt_domain_flush_object(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    if (!c || c->removed || c->is_new || !is_due(c) || bkt_edits_foreign(d))
        return BKT_OK;
    return bkt_flush_some(d, &c, 1, false, err);
}

void bkt_edit_doubt(struct bkt_domain *d, bool doubt)
{
    d->edits->doubt = doubt;
}

bool bkt_domain_out_of_reach(const struct bkt_domain *d)
{
    return d->edits->out_of_reach;
}

bool bkt_domain_is_new(const struct bkt_domain *d)
{
    return d->edits->fresh;
}
