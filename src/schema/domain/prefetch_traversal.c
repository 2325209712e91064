#include "schema/domain/prefetch_traversal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PASSED 65536 /* 10 MiB; as many objects as may be ahead (object_load.c) */

static struct bkt_follow_part *part_new(size_t cap)
{
    struct bkt_follow_part *p =
        cap > SIZE_MAX / sizeof(struct bkt_id) - 1 ? NULL : malloc(sizeof *p + cap * sizeof *p->ids);
    if (p)
        *p = (struct bkt_follow_part){0};
    return p;
}

static struct bkt_follow_part *unless_empty(struct bkt_follow_part *p)
{
    if (p && p->n)
        return p;
    free(p);
    return NULL;
}

struct bkt_follow_part *bkt_follow_members(const struct bkt_object *o)
{
    const struct bkt_links *l = &o->group.links;
    if (o->kind != BKT_GROUP || !l->n)
        return NULL;
    (void)bkt_links_settle(l);
    struct bkt_follow_part *p = part_new(l->n);
    for (size_t i = 0; p && i < l->n; i++)
        if (l->v[i].cls == BKT_L_HARD)
            p->ids[p->n++] = l->v[i].id;
    return unless_empty(p);
}

bool bkt_follow_add(struct bkt_follow_part **p, size_t *cap, const struct bkt_id *id)
{
    if (!*p || (*p)->n == *cap) {
        size_t                  more = *cap ? 2 * *cap : 64, size = sizeof **p + more * sizeof *(*p)->ids;
        struct bkt_follow_part *q    = more > SIZE_MAX / sizeof *id / 2 ? NULL : realloc(*p, size);
        if (!q)
            return false;
        if (!*p)
            *q = (struct bkt_follow_part){0};
        *p   = q;
        *cap = more;
    }
    (*p)->ids[(*p)->n++] = *id;
    return true;
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

struct bkt_follow_part *bkt_follow_scan(const void *json, size_t n, const struct bkt_id *own)
{
    static const char       key[] = "\"id\"";
    const char             *p = json, *end = p + n;
    struct bkt_follow_part *part = part_new(n / (BKT_ID_LEN + sizeof key + 2) + 1); /* an upper bound */
    while (part && (p = memmem(p, (size_t)(end - p), key, sizeof key - 1))) {
        p += sizeof key - 1;
        const char   *text = id_behind(p, end);
        char          copy[BKT_ID_LEN + 1];
        struct bkt_id id;
        if (!text)
            continue;
        memcpy(copy, text, BKT_ID_LEN);
        copy[BKT_ID_LEN] = 0;
        if (bkt_id_set(&id, copy) && strcmp(id.text, own->text) != 0)
            part->ids[part->n++] = id;
        p = text + BKT_ID_LEN;
    }
    return unless_empty(part);
}

void bkt_follow_push(struct bkt_follow *f, struct bkt_follow_part *p)
{
    if (!p)
        return;
    p->next = NULL;
    if (f->tail)
        f->tail->next = p;
    else
        f->head = p;
    f->tail = p;
}

static bool take_next(struct bkt_follow *f, struct bkt_id *id)
{
    struct bkt_follow_part *p = f->head;
    if (!p)
        return false;
    *id = p->ids[p->at++];
    if (p->at < p->n)
        return true;
    if (!(f->head = p->next))
        f->tail = NULL;
    free(p);
    return true;
}

bool bkt_follow_next(struct bkt_follow *f, struct bkt_id *id)
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
    while (f->head) {
        struct bkt_follow_part *next = f->head->next;
        free(f->head);
        f->head = next;
    }
    f->tail = NULL;
    bkt_map_clear(&f->passed, NULL);
}
