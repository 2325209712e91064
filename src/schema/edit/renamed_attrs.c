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
    free(bkt_map_del(c->renamed, name, strlen(name)));
}

int bkt_renamed_note(struct bkt_change *c, const char *from, const char *to)
{
    size_t n = strlen(from);
    char *first = bkt_map_del(c->renamed, from, n); /* it was renamed before */
    void *was = NULL;
    if (!first && !bkt_map_get(c->attrs, from, n)) /* it was made here, or will be stored whole */
        return BKT_OK;
    if (!first && !(first = strdup(from)))
        return BKT_ENOMEM;
    if (strcmp(first, to) == 0) {
        free(first);
        return BKT_OK;
    }
    if (bkt_map_set(&c->renamed, to, strlen(to), first, &was) < 0) {
        free(first);
        return BKT_ENOMEM;
    }
    free(was);
    return BKT_OK;
}

void bkt_renamed_prune(struct bkt_change *c)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->renamed, &at);)
        if (!bkt_map_get(c->kept_attrs, at.key, at.n))
            free(bkt_map_del(c->renamed, at.key, at.n));
}

/* ---- replay ---- */

/* Hold attributes by the old name of an attribute without a place, then those that lose their new names to
 * these, and so on. */
static int hold_all(struct bkt_edits *e, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    for (bool first = true, more = true; more; first = false) {
        more = false;
        for (struct bkt_map_at at = {0}; bkt_map_walk(c->renamed, &at);) {
            bool stays = bkt_map_get(c->held, at.key, at.n) != NULL, same = true;
            if (bkt_map_get(c->held, at.value, strlen(at.value)))
                continue;
            if (first && !stays)
                BKT_PASS(bkt_replay_compare(e, c, at.key, stored, &same, err));
            if (!stays && same)
                continue;
            BKT_PASS(bkt_map_set(&c->held, at.value, strlen(at.value), c, NULL));
            more = true;
        }
    }
    return BKT_OK;
}

int bkt_renamed_hold(struct bkt_edits *e, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    bkt_map_clear(&c->held, NULL);
    return c->renamed && c->attrs ? hold_all(e, c, stored, err) : BKT_OK;
}
