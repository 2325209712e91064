/* The number of hard links to an object.  The schema stores no number of links, so the groups are walked
 * once, in waves of concurrent requests. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/thread.h"
#include "schema/domain/domain_impl.h"

/* Groups asked for ahead of the one that is counted: as many as there are connections. */
#define WAVE 256

struct bkt_links_count {
    pthread_mutex_t lock; /* guards all; held while the groups are walked */
    bool            complete;
    bool            once; /* all were counted at some time */
    struct bkt_map *counts; /* id -> number of links, in place of a pointer */
    /* groups counted or queued -> a number made of their version, in place of a pointer */
    struct bkt_map *seen;
    /* objects made here while not everything is counted: their counts are right -> the value of `shown` at
     * that time, plus 1, in place of a pointer */
    struct bkt_map *own;
    bool own_unsure; /* their counts may be wrong, too, until all are counted again */
    intptr_t shown; /* calls of bkt_links_count_shown() */
    /* when the first of them was made, by bkt_clock_always(), as the time of day may be set back; 0: none */
    double since;
};

struct bkt_links_count *bkt_links_count_new(void)
{
    struct bkt_links_count *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    (void)pthread_mutex_init(&c->lock, NULL);
    return c;
}

void bkt_links_count_free(struct bkt_links_count *c)
{
    if (!c)
        return;
    bkt_map_free(c->counts, NULL);
    bkt_map_free(c->seen, NULL);
    bkt_map_free(c->own, NULL);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

static int add_some(struct bkt_links_count *c, const struct bkt_id *id, int by)
{
    intptr_t n = bkt_map_number(c->counts, id->text, BKT_ID_LEN);
    return bkt_map_set_number(&c->counts, id->text, BKT_ID_LEN, n + by);
}

#define UNKNOWN 1 /* in place of a version's number */

static uintptr_t number_of(const char *etag)
{
    size_t      n;
    const char *bare = bkt_etag_bare(etag ? etag : "", &n);
    return n ? (uintptr_t)bkt_digest(bare, n, 0) | 2 : UNKNOWN; /* never 0, nor UNKNOWN */
}

static int set_version(struct bkt_links_count *c, const struct bkt_id *id, uintptr_t number)
{
    return bkt_map_set_number(&c->seen, id->text, BKT_ID_LEN, (intptr_t)number);
}

/* Note an object if it is a new group, and queue it in @p q (NULL: no queue). */
static int see(struct bkt_links_count *c, const struct bkt_id *id, struct bkt_ids *q)
{
    if (bkt_id_kind(id) != BKT_GROUP || bkt_map_get(c->seen, id->text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(set_version(c, id, UNKNOWN));
    return q ? bkt_ids_add(q, id) : BKT_OK;
}

/* Count the links of one object; new groups are queued, unless @p q is NULL. */
static int count_group(struct bkt_links_count *c, const struct bkt_object *o, struct bkt_ids *q)
{
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));) {
        BKT_PASS(add_some(c, &l->id, 1));
        if (q)
            BKT_PASS(see(c, &l->id, q));
    }
    return BKT_OK;
}

static int walk_one(struct bkt_domain *d, struct bkt_links_count *c, const struct bkt_id *id,
                    struct bkt_ids *q, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    BKT_TRY(err, bkt_objects_find(d->objects, id, &o, err), "counting hard links, which reads all groups");
    if (!o) /* a link to a missing object: nothing to count */
        return BKT_OK;
    BKT_PASS_MEM(err, count_group(c, o, q));
    BKT_PASS_MEM(err, set_version(c, id, number_of(o->etag)));
    return BKT_OK;
}

/* Groups that are held without a link to them: their links count as well. */
static int push_held(const struct bkt_domain *d, struct bkt_links_count *c, struct bkt_ids *q)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids held = {0};
    BKT_PASS(d->edit_ops->held(d, &held));
    for (size_t i = 0; i < held.n; i++)
        BKT_PASS(see(c, &held.v[i], q));
    return BKT_OK;
}

/* Breadth first from the root; the next WAVE groups of the queue are always under way. */
static int walk(struct bkt_domain *d, struct bkt_links_count *c, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids q = {0};
    size_t ahead = 0;
    BKT_PASS(see(c, &d->doc.root, &q));
    BKT_PASS(push_held(d, c, &q));
    for (size_t i = 0; i < q.n; i++) {
        size_t until = q.n < i + WAVE ? q.n : i + WAVE;
        if (ahead < until) {
            bkt_objects_prefetch(d->objects, q.v + ahead, until - ahead);
            ahead = until;
        }
        struct bkt_id id = q.v[i]; /* the queue may move */
        BKT_PASS(walk_one(d, c, &id, &q, err));
    }
    return BKT_OK;
}

/* Count again; after a failure everything is as before. */
static int count_all(struct bkt_domain *d, struct bkt_links_count *c, struct bkt_err *err)
{
    struct bkt_map *counts = c->counts, *seen = c->seen;
    c->counts = c->seen = NULL;
    int rc = walk(d, c, err);
    bkt_map_free(rc < 0 ? c->counts : counts, NULL);
    bkt_map_free(rc < 0 ? c->seen : seen, NULL);
    if (rc < 0) {
        c->counts = counts;
        c->seen   = seen;
    }
    c->complete = rc == BKT_OK;
    c->own_unsure &= !c->complete;
    c->once |= c->complete;
    return rc;
}

static uint64_t known(const struct bkt_links_count *c, const struct bkt_id *id)
{
    intptr_t n = bkt_map_number(c->counts, id->text, BKT_ID_LEN);
    return (uint64_t)(n > 0 ? n : 0);
}

int bkt_domain_link_count(struct bkt_domain *d, const struct bkt_id *id, uint64_t *out, struct bkt_err *err)
{
    struct bkt_links_count *c  = d->links;
    int                     rc = BKT_OK;
    BKT_HOLD(&c->lock);
    if (!c->complete && (c->own_unsure || !bkt_map_get(c->own, id->text, BKT_ID_LEN)))
        rc = count_all(d, c, err);
    *out = known(c, id) + (strcmp(id->text, d->doc.root.text) == 0);
    return rc;
}

/* ---- under change ---- */

void bkt_links_count_begin(struct bkt_links_count *c) { c->complete = c->once = true; }

int bkt_links_count_add(struct bkt_links_count *c, const struct bkt_object *o, bool own)
{
    BKT_HOLD(&c->lock);
    if (own || !c->complete)
        BKT_PASS(bkt_map_set_number(&c->own, o->id.text, BKT_ID_LEN, c->shown + 1));
    if (c->own && c->since <= 0)
        c->since = bkt_clock_always();
    BKT_PASS(see(c, &o->id, NULL));
    return count_group(c, o, NULL);
}

int bkt_links_count_own(struct bkt_links_count *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    return bkt_map_set_number(&c->own, id->text, BKT_ID_LEN, c->shown + 1);
}

bool bkt_links_count_is_own(struct bkt_links_count *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    return bkt_map_get(c->own, id->text, BKT_ID_LEN) != NULL;
}

bool bkt_links_count_is_unseen(struct bkt_links_count *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    return bkt_map_number(c->own, id->text, BKT_ID_LEN) == c->shown + 1;
}

void bkt_links_count_shown(struct bkt_links_count *c)
{
    BKT_HOLD(&c->lock);
    c->shown++;
}

int bkt_links_count_change(struct bkt_links_count *c, const struct bkt_id *id, int by)
{
    BKT_HOLD(&c->lock);
    return add_some(c, id, by);
}

int bkt_links_count_merge(struct bkt_links_count *c, const struct bkt_links *was, const struct bkt_links *is)
{
    (void)bkt_links_settle(was);
    (void)bkt_links_settle(is);
    BKT_HOLD(&c->lock);
    for (size_t i = 0; i < was->n; i++)
        if (was->v[i].cls == BKT_L_HARD)
            BKT_PASS(add_some(c, &was->v[i].id, -1));
    for (size_t i = 0; i < is->n; i++) {
        const struct bkt_link *l = &is->v[i];
        if (l->cls != BKT_L_HARD)
            continue;
        BKT_PASS(add_some(c, &l->id, 1));
        if (bkt_id_kind(&l->id) == BKT_GROUP && !bkt_map_get(c->seen, l->id.text, BKT_ID_LEN))
            c->complete = false; /* its links aren't counted */
    }
    return BKT_OK;
}

void bkt_links_count_version(struct bkt_links_count *c, const struct bkt_id *group, const char *etag)
{
    BKT_HOLD(&c->lock);
    if (bkt_map_get(c->seen, group->text, BKT_ID_LEN))
        (void)set_version(c, group, number_of(etag)); /* its entry is there: nothing has to be allocated */
}

void bkt_links_count_moved(struct bkt_links_count *c, const struct bkt_id *group, const char *from,
                           const char *to)
{
    uintptr_t number = number_of(from);
    BKT_HOLD(&c->lock);
    if (number != UNKNOWN && (uintptr_t)bkt_map_number(c->seen, group->text, BKT_ID_LEN) == number)
        (void)set_version(c, group, number_of(to));
}

bool bkt_links_count_is_stale(struct bkt_links_count *c, const struct bkt_id *group, const char *etag)
{
    uintptr_t number = number_of(etag);
    BKT_HOLD(&c->lock);
    uintptr_t counted = (uintptr_t)bkt_map_number(c->seen, group->text, BKT_ID_LEN);
    return counted ? counted != number || number == UNKNOWN : c->once;
}

double bkt_links_count_since(struct bkt_links_count *c)
{
    BKT_HOLD(&c->lock);
    if (c->once || c->since <= 0)
        return 0;
    return bkt_time_of_day() - (bkt_clock_always() - c->since);
}

uint64_t bkt_links_count_known(struct bkt_links_count *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    return known(c, id);
}

size_t bkt_links_count_groups(struct bkt_links_count *c)
{
    BKT_HOLD(&c->lock);
    return bkt_map_count(c->seen);
}

void bkt_links_count_forget(struct bkt_links_count *c, bool own)
{
    BKT_HOLD(&c->lock);
    c->complete = false;
    c->own_unsure |= own;
}
