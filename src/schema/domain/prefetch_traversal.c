/* Members of groups that a traversal is about to reach.
 *
 * A traversal that asks for an object when it gets there waits a round trip per group.  So during a
 * traversal the members of each group are queued as soon as the group's JSON has come.  A bounded number of
 * them is fetched ahead. */
#include <stdlib.h>
#include <string.h>

#include "base/os/thread.h"
#include "schema/domain/object_cache_impl.h"

/* Requests ahead of a traversal: four for each of 256 connections.  A traversal that ends early has made them
 * in vain. */
#define FOLLOW_WINDOW 1024
#define FOLLOW_AHEAD  65536 /* queued results of fetches ahead: bounds their memory besides their bytes */
#define FOLLOW_BATCH  64    /* begun under one lock */
#define LIKELY_BYTES  4096  /* an object's likely size once it is there: 2 KB, attributes 1 KB each */
#define MAX_PASSED    65536 /* 10 MiB; as many objects as may be ahead */

/* ---- members of a group ---- */

struct bkt_ids bkt_follow_members_of(const struct bkt_object *o)
{
    const struct bkt_link *l;
    struct bkt_ids out = {0};
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (bkt_ids_add(&out, &l->id) < 0)
            break;
    return out;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* The value behind a key, if it is a string of an id's length. */
static const char *id_behind(const char *p, const char *end)
{
    p = skip_space(p, end);
    if (p == end || *p != ':')
        return NULL;
    p = skip_space(p + 1, end);
    return end - p > BKT_ID_LEN + 1 && *p == '"' && p[BKT_ID_LEN + 1] == '"' ? p + 1 : NULL;
}

struct bkt_ids bkt_follow_scan(const void *json, size_t n, const struct bkt_id *own)
{
    static const char key[] = "\"id\"";
    const char *p = json, *end = p + n;
    struct bkt_ids out = {0};
    while ((p = memmem(p, (size_t)(end - p), key, sizeof key - 1))) {
        p += sizeof key - 1;
        const char *text = id_behind(p, end);
        char copy[BKT_ID_LEN + 1];
        struct bkt_id id;
        if (!text)
            continue;
        memcpy(copy, text, BKT_ID_LEN);
        copy[BKT_ID_LEN] = 0;
        if (bkt_id_set(&id, copy) && strcmp(id.text, own->text) != 0 && bkt_ids_add(&out, &id) < 0)
            break;
        p = text + BKT_ID_LEN;
    }
    return out;
}

/* ---- the queue of members; the lock is held ---- */

/* Takes the ids over.  Out of memory: they are dropped. */
static void push(struct bkt_follow *f, struct bkt_ids *ids)
{
    struct bkt_follow_part *p = ids->n ? malloc(sizeof *p) : NULL;
    struct bkt_id *v = p ? realloc(ids->v, ids->n * sizeof *v) : NULL; /* most groups need less than it has */
    if (!v) {
        free(p);
        bkt_ids_fini(ids);
        return;
    }
    *p = (struct bkt_follow_part){.ids = {v, ids->n, ids->n}};
    if (f->tail)
        f->tail->next = p;
    else
        f->head = p;
    f->tail = p;
}

static void drop_first(struct bkt_follow *f)
{
    struct bkt_follow_part *p = f->head;
    if (!(f->head = p->next))
        f->tail = NULL;
    bkt_ids_fini(&p->ids);
    free(p);
}

static bool take_next(struct bkt_follow *f, struct bkt_id *id)
{
    struct bkt_follow_part *p = f->head;
    if (!p)
        return false;
    *id = p->ids.v[p->at++];
    if (p->at == p->ids.n)
        drop_first(f);
    return true;
}

static bool next_member(struct bkt_follow *f, struct bkt_id *id)
{
    bool is;
    do
        is = take_next(f, id);
    while (is && bkt_map_del(f->passed, id->text, BKT_ID_LEN));
    if (!f->head)
        bkt_map_clear(&f->passed, NULL);
    return is;
}

bool bkt_follow_pass(struct bkt_follow *f, const struct bkt_id *id)
{
    return !f->head || (bkt_map_count(f->passed) < MAX_PASSED &&
                        bkt_map_set(&f->passed, id->text, BKT_ID_LEN, f, NULL) == BKT_OK);
}

void bkt_follow_clear(struct bkt_follow *f)
{
    while (f->head)
        drop_first(f);
    bkt_map_clear(&f->passed, NULL);
}

/* ---- requests ahead ---- */

/* Entries for the next members that are worth asking for now; the lock is held.  A third of the cache may be
 * ahead.  Before the last of that is used, as much again is used and as much again is fetched.  None of it is
 * evicted before its use. */
static size_t follow_batch(struct bkt_objects *c, struct bkt_cached_object **out)
{
    struct bkt_id id;
    size_t        n = 0;
    while (n < FOLLOW_BATCH && c->in_flight < FOLLOW_WINDOW && c->n_unused < FOLLOW_AHEAD &&
           c->unused + c->in_flight * LIKELY_BYTES < c->limit / 3 && next_member(&c->follow, &id)) {
        struct bkt_cached_object *e =
            bkt_map_get(c->entries, id.text, BKT_ID_LEN) ? NULL : bkt_entry_new(c, &id);
        if (!e)
            continue;
        e->unused = true;
        c->n_unused++;
        out[n++] = e;
    }
    return n;
}

/* Ask for as many as there is room for.  One thread at a time, since a request may end, and come here, within
 * its start. */
void bkt_follow_more(struct bkt_objects *c)
{
    struct bkt_cached_object *batch[FOLLOW_BATCH];
    size_t        n;
    (void)pthread_mutex_lock(&c->lock);
    c->follow_again = true;
    while (!c->follow_busy && c->follow_again) {
        c->follow_busy  = true;
        c->follow_again = false;
        while ((n = follow_batch(c, batch)) > 0) {
            (void)pthread_mutex_unlock(&c->lock);
            bkt_load_begin(c, batch, n, false);
            (void)pthread_mutex_lock(&c->lock);
        }
        c->follow_busy = false;
    }
    (void)pthread_mutex_unlock(&c->lock);
}

void bkt_follow_ids(struct bkt_objects *c, struct bkt_ids ids)
{
    if (!ids.n)
        return;
    (void)pthread_mutex_lock(&c->lock);
    push(&c->follow, &ids);
    (void)pthread_mutex_unlock(&c->lock);
    bkt_follow_more(c);
}

/* An object that is loaded already; NULL: it isn't.  The caller's reference. */
static const struct bkt_object *loaded(struct bkt_objects *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    const struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    return e && e->state == BKT_OBJECT_READY ? bkt_object_retain(e->object) : NULL;
}

/* Objects below @p start that aren't loaded yet: loaded groups have not queued their members.  Out of memory:
 * fewer of them. */
static struct bkt_ids missing_below(struct bkt_objects *c, const struct bkt_object *start)
{
    struct bkt_follow       q    = {0};
    struct bkt_map *seen = NULL;
    struct bkt_ids members = bkt_follow_members_of(start), out = {0};
    struct bkt_id           id;
    push(&q, &members);
    while (next_member(&q, &id)) {
        const struct bkt_object *o = bkt_map_get(seen, id.text, BKT_ID_LEN) ? NULL : loaded(c, &id);
        if (o && bkt_map_set(&seen, id.text, BKT_ID_LEN, c, NULL) == BKT_OK) {
            members = bkt_follow_members_of(o);
            push(&q, &members);
        } else if (!o && !bkt_map_get(seen, id.text, BKT_ID_LEN) && bkt_ids_add(&out, &id) < 0)
            bkt_follow_clear(&q);
        bkt_object_release(o);
    }
    bkt_map_free(seen, NULL);
    return out;
}

void bkt_objects_follow(struct bkt_objects *c, const struct bkt_object *start)
{
    (void)atomic_fetch_add(&c->tours, 1);
    bkt_follow_ids(c, missing_below(c, start));
}

void bkt_objects_unfollow(struct bkt_objects *c)
{
    BKT_HOLD(&c->lock);
    if (atomic_fetch_sub(&c->tours, 1) == 1)
        bkt_follow_clear(&c->follow);
}
