/* A program that opens a group's members one after the other, by name, is given the next ones before it asks.
 *
 * One step is remembered per group: the place opened last and how long the walk has been in order, by name or
 * by creation.  After the second step in order the next 16 are fetched, then twice as many each time they are
 * half used up, 512 at most.  Each batch is requested while half of the one before is left to be used.  Where
 * the domain has a snapshot, it is read after the first step, and no member is requested. */
#include <stdlib.h>
#include <string.h>

#include "schema/domain/domain_impl.h"

/* Groups walked at a time: more than nested loops do, few enough to look through. */
#define N_WALKS     16
/* Members of a batch: the first are in vain when a program opens only three; the last suffice for a round
 * trip. */
#define WINDOW_MIN  16
#define WINDOW_MAX  512
/* Links among which a place in creation order is looked for, once a walk has lost its thread.  Among more,
 * the search costs too much when members are opened at random. */
#define SEARCH_MAX  16384

struct walk {
    const struct bkt_object *group;   /* retained; NULL: free */
    size_t                   at;      /* place in the order that the walk follows */
    bool                     created; /* whether that is the order of creation */
    unsigned                 run;     /* steps in order */
    size_t                   until, window; /* fetched so far */
    uint64_t                 used;
};
struct bkt_siblings {
    struct walk walks[N_WALKS];
    uint64_t    clock;
};

static size_t index_at(const struct bkt_links *l, bool created, size_t at)
{
    return created ? l->order[at] : at;
}

static struct walk *walk_of(struct bkt_siblings *s, const struct bkt_object *group)
{
    struct walk *oldest = &s->walks[0];
    for (size_t i = 0; i < N_WALKS; i++) {
        if (s->walks[i].group == group)
            return &s->walks[i];
        if (s->walks[i].used < oldest->used)
            oldest = &s->walks[i];
    }
    bkt_object_release(oldest->group);
    *oldest = (struct walk){.group = bkt_object_retain(group), .at = SIZE_MAX};
    return oldest;
}

/* Whether link i comes next in one of the orders. */
static bool in_order(struct walk *w, const struct bkt_links *l, size_t i)
{
    if (w->at == SIZE_MAX || w->at >= l->n)
        return false;
    if (w->at + 1 < l->n && index_at(l, w->created, w->at + 1) == i) {
        w->at++;
        return true;
    }
    if (w->run || l->n > SEARCH_MAX || !l->order) /* the second step decides on the order */
        return false;
    size_t was = index_at(l, w->created, w->at);
    for (size_t k = 0; k + 1 < l->n; k++)
        if (index_at(l, !w->created, k) == was) {
            if (index_at(l, !w->created, k + 1) != i)
                return false;
            w->created = !w->created;
            w->at      = k + 1;
            return true;
        }
    return false;
}

static void fetch(struct bkt_domain *d, struct walk *w)
{
    const struct bkt_links *l = &w->group->group.links;
    struct bkt_id           ids[WINDOW_MAX];
    size_t                  n = 0;
    if (w->until > w->at + w->window / 2)
        return;
    w->window = w->window ? w->window * 2 : WINDOW_MIN;
    if (w->window > WINDOW_MAX)
        w->window = WINDOW_MAX;
    size_t from = w->until > w->at ? w->until : w->at,
           to = w->at + w->window < l->n ? w->at + w->window : l->n;
    for (size_t k = from; k < to && n < WINDOW_MAX; k++) {
        const struct bkt_link *x = &l->v[index_at(l, w->created, k)];
        if (x->cls == BKT_L_HARD)
            ids[n++] = x->id;
    }
    w->until = to;
    if (n)
        bkt_domain_prefetch(d, ids, n);
}

void bkt_domain_walked(struct bkt_domain *d, const struct bkt_object *group, const struct bkt_link *link)
{
    if (!d->set.read_ahead || group->kind != BKT_GROUP || group->group.links.n < 3 || group->group.links.edit)
        return; /* a group under change is in memory already, and its lists may be unsettled */
    struct bkt_siblings *s = d->siblings ? d->siblings : (d->siblings = calloc(1, sizeof *s));
    if (!s)
        return;
    struct walk *w = walk_of(s, group);
    size_t       i = (size_t)(link - group->group.links.v);
    w->used        = ++s->clock;
    if (w->at < group->group.links.n && index_at(&group->group.links, w->created, w->at) == i)
        return; /* the same member again */
    if (in_order(w, &group->group.links, i)) {
        /* the snapshot takes two round trips, and doesn't delay requests made during these */
        if (++w->run == 1)
            bkt_objects_expect(d->objects, group->group.links.n - w->at);
        if (w->run >= 2)
            fetch(d, w);
        return;
    }
    *w = (struct walk){.group = w->group, .at = i, .used = w->used};
}

size_t bkt_domain_siblings(struct bkt_domain *d, const struct bkt_id *id, struct bkt_id *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; d->siblings && i < N_WALKS; i++) {
        const struct walk      *w = &d->siblings->walks[i];
        const struct bkt_links *l = w->group ? &w->group->group.links : NULL;
        if (!l || l->edit || w->run < 2 || w->at >= l->n ||
            strcmp(l->v[index_at(l, w->created, w->at)].id.text, id->text) != 0)
            continue;
        for (size_t k = w->at + 1; k < l->n && n < max; k++) {
            const struct bkt_link *x = &l->v[index_at(l, w->created, k)];
            if (x->cls == BKT_L_HARD && bkt_id_kind(&x->id) == BKT_DATASET)
                out[n++] = x->id;
        }
        break;
    }
    return n;
}

void bkt_siblings_free(struct bkt_siblings *s)
{
    for (size_t i = 0; s && i < N_WALKS; i++)
        bkt_object_release(s->walks[i].group);
    free(s);
}
