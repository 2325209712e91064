/* Changed objects are written, many at once (flush_order.c has the order).
 *
 * In waves of requests: an object to be changed is read, unless it is known.  The deltas are put on top of it
 * (merge_deltas.c), and it is PUT under the condition that the stored version is still the same.  An object
 * whose PUT lost the race is read again, and the deltas are put on top of that.  Nothing is forgotten before
 * its PUT succeeded.  A PUT whose answer was lost is recognised: a new object by its bytes, a delta by being
 * there already. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/random.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"
#include "schema/model/object_life.h"

/* Objects handed to the store at once, which keeps its connections busy with them; each wave waits for its
 * last one. */
#define WAVE       2048
#define WAVE_BYTES (32u << 20) /* bytes of memory that they may take up */
/* Bytes of an object's JSON up to which it is kept for the next change, so that a growing group isn't read
 * again. */
#define KEEP_MAX   (256u << 10)

struct wave {
    struct bkt_domain *d;
    struct bkt_change *v[WAVE];
    struct bkt_buf     keys[WAVE];
    struct bkt_req     reqs[WAVE];
    struct bkt_change *of[WAVE]; /* the change that each request belongs to */
    size_t             n, n_reqs;
    /* lost: some need another attempt; through: some are stored */
    bool lost, through;
    bool               gaining; /* of changes that lose links too, only the new links are written */
    /* links may move between these objects and must not be lost on the way: a failure stops the others */
    bool               ordered;
    double seconds; /* duration of a round */
};

static void wave_fini(struct wave *w)
{
    for (size_t i = 0; i < w->n; i++) {
        bkt_buf_fini(&w->keys[i]);
        bkt_buf_fini(&w->v[i]->text);
    }
}

static void reqs_clear(struct wave *w)
{
    for (size_t i = 0; i < w->n_reqs; i++)
        bkt_req_fini(&w->reqs[i]);
    w->n_reqs = 0;
}

static struct bkt_req *add_req(struct wave *w, size_t i, enum bkt_op op)
{
    struct bkt_req *r = &w->reqs[w->n_reqs];
    *r = (struct bkt_req){.op = op, .key = bkt_buf_str(&w->keys[i]), .len = op == BKT_GET ? BKT_WHOLE : 0};
    w->of[w->n_reqs++] = w->v[i];
    return r;
}

static int failed(struct bkt_domain *d, const struct bkt_req *r, const struct bkt_change *c,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    bool known = bkt_domain_path_of(d, &c->id, &path) == BKT_OK;
    (void)bkt_err_copy(err, r->rc, r->err);
    BKT_FAIL(err, r->rc, "%s (object %s) can't be written", known ? bkt_buf_str(&path) : "an object",
             c->id.text);
}

static bool is_part(const struct wave *w, const struct bkt_change *c)
{
    return w->gaining && bkt_change_loses_links(c);
}

/* Put the deltas on top of a stored version, or make the whole of a new object. */
static int build(struct wave *w, struct bkt_change *c, const struct bkt_buf *base, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    bkt_buf_clear(&c->text);
    c->same = false;
    if (c->is_new) {
        BKT_PASS(bkt_object_emit(c->obj, &c->text, err));
        if (w->d->alias)
            (void)bkt_edit_name_theirs(w->d, c->text.ptr, c->text.len);
        c->state = BKT_PUT_READY;
        return BKT_OK;
    }
    BKT_FAIL_IF(err, !base, BKT_EINVAL, "no stored version of %s to apply changes to", c->id.text);
    BKT_PASS(bkt_json_load(base->ptr, base->len, &j, err));
    BKT_PASS(bkt_replay(w->d, c, j, is_part(w, c), err));
    c->foreign |= c->reread;
    BKT_PASS(bkt_json_dump(j, &c->text, err));
    c->state = BKT_PUT_READY;
    return BKT_OK;
}

static int set_etag(struct bkt_change *c, const char *etag)
{
    free(c->etag);
    c->etag = strdup(etag);
    return c->etag ? BKT_OK : BKT_ENOMEM;
}

/* A new object was there already: it may be this process's, from a PUT whose answer was lost. */
static int judge_new(struct wave *w, struct bkt_change *c, const struct bkt_req *r, struct bkt_err *err)
{
    struct bkt_object *o = NULL;
    if (r->body.len == c->text.len && memcmp(r->body.ptr, c->text.ptr, c->text.len) == 0) {
        c->state = BKT_PUT_DONE;
        return bkt_object_set_etag(c->obj, r->etag);
    }
    BKT_PASS(bkt_object_parse(r->body.ptr, r->body.len, &c->id, &o, err));
    bool ours = o->created == c->obj->created;
    bkt_object_release(o);
    BKT_FAIL_IF(err, !ours, BKT_EEXIST, "object %s exists already", c->id.text);
    BKT_PASS_MEM(err, set_etag(c, r->etag));
    return build(w, c, NULL, err); /* this process's earlier attempt: the present state replaces it */
}

static int take_version(struct wave *w, struct bkt_change *c, const struct bkt_req *r, struct bkt_err *err)
{
    if (c->is_new)
        return judge_new(w, c, r, err);
    BKT_PASS_MEM(err, set_etag(c, r->etag));
    c->foreign = !c->obj->etag || strcmp(c->obj->etag, r->etag) != 0;
    return build(w, c, &r->body, err);
}

/* ---- objects deleted by other writers ---- */

/* The changes of a deleted object have no place.  But if links were moved into a deleted group, it may have
 * had an object's last link: then links to be removed elsewhere wait.  And the whole store may be out of
 * reach, with the domain in it. */
static bool may_be_dropped(struct bkt_domain *d, const struct bkt_change *c)
{
    bool        gains = bkt_change_gains_links(c);
    if (d->edits->doubt)
        return false;
    for (struct bkt_map_at at = {0}; gains && bkt_map_walk(d->edits->changes, &at);)
        if (at.value != c && bkt_change_loses_links(at.value))
            return false;
    return bkt_object_is_gone(d, &c->id);
}

static int take_missing(struct wave *w, struct bkt_change *c, const struct bkt_req *r, struct bkt_err *err)
{
    if (c->is_new) /* so the previous attempt failed */
        return build(w, c, NULL, err);
    if (!may_be_dropped(w->d, c))
        return failed(w->d, r, c, err);
    bkt_message_names_add(&w->d->edits->gone, c->id.text);
    bkt_objects_drop(w->d->objects, &c->id, false);
    bkt_map_clear(&c->kept_links, NULL); /* nothing of it waits for another attempt */
    bkt_map_clear(&c->kept_attrs, NULL);
    if (c->extent)
        c->extent->waits = false;
    c->state = BKT_PUT_DONE;
    return BKT_OK;
}

/* ---- reading and writing ---- */

static int take_answer(struct wave *w, struct bkt_change *c, const struct bkt_req *r, struct bkt_err *err)
{
    if (r->rc == BKT_ENOENT)
        return take_missing(w, c, r, err);
    return r->rc < 0 ? failed(w->d, r, c, err) : take_version(w, c, r, err);
}

/* Read the objects to be changed, unless they are known.  An object that can't be read doesn't stop the
 * others. */
static int read_versions(struct wave *w, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int            rc  = BKT_OK;
    for (size_t i = 0; i < w->n; i++) {
        struct bkt_change *c = w->v[i];
        bool               known = !c->etag && c->obj->etag && c->obj->stored.len && !c->is_new;
        if (c->state == BKT_PUT_DONE)
            continue;
        c->state = BKT_PUT_WAITS;
        known &=
            !c->reread && !c->kept_links && !c->kept_attrs; /* other writers may have taken theirs back */
        if (known && set_etag(c, c->obj->etag) < 0)
            BKT_NOMEM(err);
        if (known)
            bkt_err_keep_first(&rc, err, build(w, c, &c->obj->stored, &why), &why);
        else if (!c->etag && (!c->is_new || c->tried))
            (void)add_req(w, i, BKT_GET);
        else if (c->is_new)
            bkt_err_keep_first(&rc, err, build(w, c, NULL, &why), &why);
    }
    (void)bkt_store_perform(w->d->store, w->reqs, w->n_reqs, NULL);
    for (size_t i = 0; i < w->n_reqs; i++)
        bkt_err_keep_first(&rc, err, take_answer(w, w->of[i], &w->reqs[i], &why), &why);
    reqs_clear(w);
    return rc;
}

/* In an object that was just read: replace the stored link by this process's. */
static int overlay_link(struct bkt_domain *d, struct bkt_links *from, struct bkt_links *to, const char *name)
{
    BKT_CLEANUP(bkt_link_fini) struct bkt_link ours = {0}, theirs = {0};
    const struct bkt_link *l = bkt_links_find(to, name);
    if (l && l->cls == BKT_L_HARD)
        BKT_PASS(bkt_links_count_change(d->links, &l->id, -1));
    if (l)
        BKT_PASS(bkt_links_remove(to, name, &theirs));
    if (!bkt_links_find(from, name))
        return BKT_OK;
    BKT_PASS(bkt_links_remove(from, name, &ours));
    return bkt_links_add(to, &ours);
}

static int overlay_attr(struct bkt_attrs *from, struct bkt_attrs *to, const char *name)
{
    BKT_CLEANUP(bkt_attr_fini) struct bkt_attr ours = {0}, theirs = {0};
    if (bkt_attrs_find(to, name))
        BKT_PASS(bkt_attrs_remove(to, name, &theirs));
    if (!bkt_attrs_find(from, name))
        return BKT_OK;
    BKT_PASS(bkt_attrs_remove(from, name, &ours));
    return bkt_attrs_add(to, &ours);
}

/* Deltas that were kept for another attempt stay in the object in memory. */
static int overlay(struct bkt_domain *d, struct bkt_change *c, struct bkt_object *o)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->kept_links, &at);) {
        const struct bkt_link *l = bkt_links_find(&c->obj->group.links, at.key);
        if (l && l->cls == BKT_L_HARD)
            BKT_PASS(bkt_links_count_change(d->links, &l->id, 1));
        BKT_PASS(overlay_link(d, &c->obj->group.links, &o->group.links, at.key));
    }
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->kept_attrs, &at);)
        BKT_PASS(overlay_attr(&c->obj->attrs, &o->attrs, at.key));
    if (c->extent && c->extent->waits) {
        uint64_t *trim = o->dset.trim;
        o->dset.space = c->obj->dset.space;
        o->dset.trim = c->obj->dset.trim;
        c->obj->dset.trim = trim;
    }
    return BKT_OK;
}

int bkt_change_adopt(struct bkt_domain *d, struct bkt_change *c, const char *etag, struct bkt_err *err)
{
    struct bkt_object *o = NULL;
    BKT_PASS(bkt_object_parse(c->text.ptr, c->text.len, &c->id, &o, err));
    if ((o->kind == BKT_GROUP &&
         bkt_links_count_merge(d->links, &c->obj->group.links, &o->group.links) < 0) ||
        overlay(d, c, o) < 0) {
        bkt_object_release(o);
        BKT_NOMEM(err);
    }
    if (c->kept_links) /* this process's links hide other writers' links, which aren't counted */
        bkt_links_count_version(d->links, &c->id, "");
    else if (o->kind == BKT_GROUP)
        bkt_links_count_moved(d->links, &c->id, c->obj->etag, etag);
    bkt_object_swap(c->obj, o);
    bkt_object_release(o);
    return BKT_OK;
}

/* The new links are stored, the rest of the change isn't.  The object in memory has everything.  If other
 * writers had changed the version, it is read again for the rest. */
static void part_written(struct bkt_domain *d, struct bkt_change *c, const char *etag)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);)
        if ((enum bkt_delta)(uintptr_t)at.value == BKT_DELTA_ADD && !bkt_map_get(c->kept_links, at.key, at.n))
            (void)bkt_map_del(c->links, at.key, at.n);
    c->state = BKT_PUT_WAITS; /* for the other part */
    if (!c->foreign)
        bkt_links_count_moved(d->links, &c->id, c->obj->etag, etag);
    bkt_buf_fini(&c->obj->stored);
    if (bkt_object_set_etag(c->obj, c->foreign ? "" : etag) == BKT_OK && !c->foreign && *etag)
        bkt_buf_move(&c->obj->stored, &c->text);
}

/* The object is stored, even if memory is short now: a state that can't be noted is read again for the next
 * change. */
static void written(struct bkt_domain *d, struct bkt_change *c, const char *etag)
{
    c->state = BKT_PUT_DONE;
    if (c->foreign)
        etag = bkt_change_adopt(d, c, etag, NULL) < 0 ? "" : etag;
    else if (c->obj->kind == BKT_GROUP && c->is_new)
        bkt_links_count_version(d->links, &c->id, etag);
    else if (c->obj->kind == BKT_GROUP)
        bkt_links_count_moved(d->links, &c->id, c->obj->etag, etag);
    if (d->recording)
        bkt_domain_record_one(d, &c->id, etag, &c->text);
    bkt_buf_fini(&c->obj->stored);
    if (!c->foreign)
        c->obj->json_bytes = d->edits->spilling && c->bytes > c->text.len
                                 ? c->bytes
                                 : c->text.len; /* the cost of keeping it */
    if (bkt_object_set_etag(c->obj, etag) == BKT_OK && c->text.len <= KEEP_MAX && *etag &&
        !d->edits->spilling)
        bkt_buf_move(&c->obj->stored, &c->text);
}

/* Nothing is to be written. */
static void take_stored(struct wave *w, struct bkt_change *c)
{
    w->through = true;
    if (is_part(w, c))
        part_written(w->d, c, c->etag);
    else
        written(w->d, c, c->etag);
}

static int put_versions(struct wave *w, struct bkt_err *err)
{
    int rc = BKT_OK;
    for (size_t i = 0; i < w->n; i++) {
        struct bkt_change *c = w->v[i];
        if (c->state != BKT_PUT_READY)
            continue;
        if (c->same && !c->is_new && c->etag) { /* everything is there, or has to wait */
            take_stored(w, c);
            continue;
        }
        struct bkt_req *r = add_req(w, i, BKT_PUT);
        r->put            = c->text.ptr;
        r->put_len        = c->text.len;
        if (c->etag && *c->etag)
            r->if_match = c->etag;
        else if (c->is_new && !c->etag)
            r->if_none_match = "*";
    }
    (void)bkt_store_perform(w->d->store, w->reqs, w->n_reqs, NULL);
    for (size_t i = 0; i < w->n_reqs; i++) {
        struct bkt_req    *r = &w->reqs[i];
        struct bkt_change *c = w->of[i];
        w->through |= r->rc == BKT_OK;
        if (r->rc == BKT_OK && is_part(w, c)) {
            part_written(w->d, c, r->etag);
        } else if (r->rc == BKT_OK) {
            written(w->d, c, r->etag);
        } else {
            free(c->etag);
            c->etag  = NULL;
            c->tried = true;
            bkt_extent_tried(c);
            bkt_buf_fini(&c->obj->stored); /* another version is stored now */
            c->obj->contended |= r->rc == BKT_EPRECOND;
            bool lost = r->rc == BKT_EPRECOND ||
                        (r->rc == BKT_ENOENT && !c->is_new); /* S3's answer where that version was deleted */
            c->unclear |= !lost;
            bkt_replay_tried(c, lost);
            c->state  = lost ? BKT_PUT_LOST : BKT_PUT_WAITS;
            w->lost |= lost;
            if (!lost && rc == BKT_OK)
                rc = failed(w->d, r, c, err);
        }
    }
    reqs_clear(w);
    return rc;
}

static void prune(struct bkt_map *deltas, struct bkt_map *olds, const struct bkt_map *kept)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(deltas, &at);)
        if (!bkt_map_get(kept, at.key, at.n)) {
            free(bkt_map_del(olds, at.key, at.n));
            (void)bkt_map_del(deltas, at.key, at.n); /* frees the key */
        }
}

/* Forget the stored part of the change; all of it, unless something was kept. */
static void through(struct bkt_domain *d, struct bkt_change *c)
{
    bool waits = c->extent && c->extent->waits;
    if (c->equal)
        bkt_edit_equal(d, c);
    if (!waits && !c->kept_links && !c->kept_attrs) {
        bkt_change_forget(d, c);
        return;
    }
    prune(c->links, c->old_links, c->kept_links);
    prune(c->attrs, c->old_attrs, c->kept_attrs);
    bkt_renamed_prune(c);
    bkt_map_clear(&c->equal, NULL);
    if (!waits) {
        free(c->extent);
        c->extent = NULL;
    }
    c->is_new = c->tried = c->unclear = c->comment = c->numbers = c->reread = false;
    c->refs = c->uses = 0;
    c->refs_id[0] = 0;
    free(c->etag);
    c->etag = NULL;
}

/* An object that other writers change too is written alone, in turns if the store has them. */
static bool has_turns(const struct bkt_change *c) { return c->obj->contended && !c->is_new; }

static int run_wave(struct wave *w, struct bkt_err *err)
{
    double until = bkt_clock_now() + (double)w->d->set.deadline_ms / 1000 + 1;
    int            rc    = BKT_OK, turn = -1;
    struct bkt_err why   = {.n = 0};
    for (size_t i = 0; i < w->n && rc == BKT_OK; i++)
        if (bkt_id_key(&w->v[i]->id, &w->keys[i]) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (unsigned round = 0; rc == BKT_OK; round++) {
        double from = bkt_clock_now();
        if (w->n == 1 && turn < 0 && has_turns(w->v[0]))
            turn = bkt_store_turn(w->d->store, bkt_buf_str(&w->keys[0]));
        w->lost = false;
        rc      = read_versions(w, err);
        if (rc == BKT_OK || (!w->ordered && !bkt_edit_is_outage(rc)))
            bkt_err_keep_first(&rc, err, put_versions(w, &why), &why);
        w->seconds = bkt_clock_now() - from;
        if (rc < 0 || !w->lost || w->n > 1) /* several: the losers are written one by one */
            break;
        if (from > until)
            rc = BKT_ERR(err, BKT_EPRECOND, "%s: other writers keep changing the same objects", w->d->name);
        else if (turn < 0)
            bkt_random_pause(round, w->seconds);
    }
    bkt_store_end_turn(w->d->store, turn);
    wave_fini(w);
    return rc;
}

static void wave_begin(struct wave *w, struct bkt_domain *d, bool gaining, bool ordered)
{
    w->d       = d;
    w->n = w->n_reqs = 0;
    w->gaining = gaining;
    w->ordered = ordered;
    w->lost = w->through = false;
    w->seconds = 0;
}

static void wave_add(struct wave *w, struct bkt_change *c)
{
    free(c->etag);
    c->etag = NULL;
    c->state   = BKT_PUT_WAITS;
    c->foreign = false;
    if (has_turns(c))
        bkt_buf_fini(&c->obj->stored); /* most likely out of date */
    w->keys[w->n] = (struct bkt_buf){0};
    w->v[w->n++]  = c;
}

/* Forget written changes; keep those that lost the race in the list.  False: nothing more shall be tried. */
static bool end_wave(struct wave *w, struct bkt_change **left, size_t *n_left, int *first,
                     struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int            rc  = run_wave(w, &why);
    for (size_t k = 0; k < w->n; k++) {
        if (w->v[k]->state == BKT_PUT_DONE)
            through(w->d, w->v[k]);
        else if (w->v[k]->state == BKT_PUT_LOST)
            left[(*n_left)++] = w->v[k];
    }
    bkt_err_keep_first(first, err, rc, &why);
    w->d->edits->out_of_reach = bkt_edit_is_outage(rc) && !w->through;
    return rc == BKT_OK || (!w->ordered && !w->d->edits->out_of_reach);
}

/* Write in waves; then, one by one, objects that lost a race or often do. */
int bkt_flush_some(struct bkt_domain *d, struct bkt_change **v, size_t n, bool gaining, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct wave *w = n ? malloc(sizeof *w) : NULL;
    size_t left = 0, none = 0;
    int    rc   = BKT_OK;
    bool   ordered = n && !gaining && bkt_change_loses_links(v[0]); /* then all do: they are one phase */
    bool   on      = true;
    d->edits->out_of_reach = false;
    if (!n)
        return BKT_OK;
    BKT_NEED(err, w);
    for (size_t i = 0; i < n && on;) {
        uint64_t bytes = 0;
        wave_begin(w, d, gaining, ordered);
        while (i < n && w->n < WAVE && bytes < WAVE_BYTES) {
            struct bkt_change *c = v[i++];
            bytes += 2 * (uint64_t)c->obj->json_bytes + 4096;
            if (has_turns(c))
                v[left++] = c;
            else
                wave_add(w, c);
        }
        if (w->n)
            on = end_wave(w, v, &left, &rc, err);
    }
    for (size_t i = 0; i < left && on; i++) {
        struct bkt_change *dummy[1];
        wave_begin(w, d, gaining, ordered);
        wave_add(w, v[i]);
        none = 0;
        on   = end_wave(w, dummy, &none, &rc, err);
    }
    return rc;
}
