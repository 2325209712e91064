/* Renamed attributes whose new names another writer has given to other attributes meanwhile.
 *
 * [R1] The store has such an attribute by its old name until it can have its new one.  A change of the old
 *      name waits, even if that name belongs to another attribute by now. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"

/* ---- in memory: the new name -> the one that is stored ---- */

void bkt_renamed_forget(struct bkt_change *c, const char *name)
{
    if (c->renamed)
        free(bkt_map_del(c->renamed, name, strlen(name)));
}

int bkt_renamed_note(struct bkt_change *c, const char *from, const char *to)
{
    size_t n = strlen(from);
    char *first = c->renamed ? bkt_map_del(c->renamed, from, n) : NULL; /* it was renamed before */
    void *was = NULL;
    if (!first &&
        !(c->attrs && bkt_map_get(c->attrs, from, n))) /* it was made here, or will be stored whole */
        return BKT_OK;
    if (!first && !(first = strdup(from)))
        return BKT_ENOMEM;
    if (strcmp(first, to) == 0) {
        free(first);
        return BKT_OK;
    }
    if ((!c->renamed && !(c->renamed = bkt_map_new())) ||
        bkt_map_put(c->renamed, to, strlen(to), first, &was) < 0) {
        free(first);
        return BKT_ENOMEM;
    }
    free(was);
    return BKT_OK;
}

const char *bkt_renamed_from(const struct bkt_change *c, const char *name, size_t n)
{
    return c->renamed ? bkt_map_get(c->renamed, name, n) : NULL;
}

void bkt_renamed_prune(struct bkt_change *c)
{
    const void *key;
    size_t pos = 0, n;
    void *v;
    while (c->renamed && bkt_map_next(c->renamed, &pos, &key, &n, &v))
        if (!c->kept_attrs || !bkt_map_get(c->kept_attrs, key, n))
            free(bkt_map_del(c->renamed, key, n)); /* deletion empties the entry in place, the walk goes on */
}

/* ---- replay ---- */

static int hold(struct bkt_change *c, const char *name)
{
    if (!c->held && !(c->held = bkt_map_new()))
        return BKT_ENOMEM;
    return bkt_map_put(c->held, name, strlen(name), c, NULL);
}

static bool is_held(const struct bkt_change *c, const void *name, size_t n)
{
    return c->held && bkt_map_get(c->held, name, n);
}

/* Hold attributes by the old name of an attribute without a place, then those that lose their new names to
 * these, and so on. */
static int hold_all(struct bkt_edits *e, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    for (bool first = true, more = true; more; first = false) {
        size_t pos = 0, n;
        const void *key;
        void *v;
        more = false;
        while (bkt_map_next(c->renamed, &pos, &key, &n, &v)) {
            bool stays = is_held(c, key, n), same = true;
            if (is_held(c, v, strlen(v)))
                continue;
            if (first && !stays) {
                BKT_CLEANUP(bkt_freep) char *name = strndup(key, n);
                if (!name)
                    return BKT_ENOMEM;
                BKT_PASS(bkt_replay_compare(e, c, name, stored, &same, err));
            }
            if (!stays && same)
                continue;
            BKT_PASS(hold(c, v));
            more = true;
        }
    }
    return BKT_OK;
}

int bkt_renamed_hold(struct bkt_edits *e, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    bkt_map_free(c->held, NULL);
    c->held = NULL;
    return c->renamed && c->attrs ? hold_all(e, c, stored, err) : BKT_OK;
}
