/* Counts that several writers change: references beside the links, and uses of committed types.  Unlike all
 * other changes, a change of a count must not be applied twice. */
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

/* Changes of a count that are remembered, the last one of each writer.  So many other writers' changes may
 * come between a PUT whose answer is lost and the check whether it succeeded. */
#define REFS_KEPT 64

/* The part of this process's change that the stored count has already, from a PUT whose answer was lost.  Its
 * note is removed. */
static json_int_t take_note(json_t *notes, const char *id)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *one = json_array_get(notes, i);
        const char   *who = json_string_value(json_array_get(one, 0));
        json_int_t    n   = json_integer_value(json_array_get(one, 1));
        if (who && strcmp(who, id) == 0) {
            (void)json_array_remove(notes, i);
            return n;
        }
    }
    return 0;
}

static int add_note(json_t *notes, const char *id, json_int_t n)
{
    /* this process's earlier note: a writer that changes again knows the outcome of its last change */
    for (size_t i = json_array_size(notes); i-- > 0;) {
        const char *who = json_string_value(json_array_get(json_array_get(notes, i), 0));
        if (who && strncmp(who, id, BKT_REFS_WHO) == 0)
            (void)json_array_remove(notes, i);
    }
    while (json_array_size(notes) >= REFS_KEPT)
        (void)json_array_remove(notes, 0);
    json_t *one = json_array();
    BKT_PASS(bkt_json_push(notes, one));
    BKT_PASS(bkt_json_push(one, json_string(id)));
    return bkt_json_push(one, json_integer(n));
}

static int replay_count(const struct bkt_change *c, json_t *stored, const char *key, const char *by,
                        int64_t change, json_int_t *n)
{
    const json_t *old   = json_object_get(stored, key);
    json_t       *notes = json_object_get(stored, by);
    *n                  = json_is_integer(old) ? json_integer_value(old) : 0;
    if (!change && !notes)
        return BKT_OK;
    if (!json_is_array(notes)) {
        notes = json_array();
        BKT_PASS(bkt_json_set(stored, by, notes));
    }
    *n += change - take_note(notes, c->refs_id);
    *n = *n > 0 ? *n : 0;
    return add_note(notes, c->refs_id, change);
}

int bkt_replay_counts(const struct bkt_change *c, json_t *stored)
{
    json_int_t n;
    BKT_PASS(replay_count(c, stored, "h5refcount", "h5refby", c->refs, &n));
    (void)json_object_del(stored, "h5refcount");
    if (n)
        BKT_PASS(bkt_json_set(stored, "h5refcount", json_integer(n)));
    if (!json_is_integer(json_object_get(stored, "h5uses"))) /* unknown in the store, and so unknown here */
        return BKT_OK;
    BKT_PASS(replay_count(c, stored, "h5uses", "h5useby", c->uses, &n));
    return bkt_json_set(stored, "h5uses", json_integer(n));
}
