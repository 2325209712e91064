/* Ids of this process's objects that other writers' objects stand for: each mention means the other object.
 *
 * This process's objects stay in the store until all mentions there are replaced.  So a writer that is killed
 * leaves no link to a deleted object. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

/* Ids keep their length, so text is changed in place.  Each begins with a letter and '-', whatever its kind
 * and version. */
bool bkt_edit_name_theirs(const struct bkt_domain *d, void *p, size_t n)
{
    char *text = p;
    bool found = false;
    for (size_t i = 1; bkt_map_count(d->alias) && i + BKT_ID_LEN <= n + 1; i++) {
        const struct bkt_id *to = text[i] == '-' ? bkt_map_get(d->alias, text + i - 1, BKT_ID_LEN) : NULL;
        if (to)
            memcpy(text + i - 1, to->text, BKT_ID_LEN);
        found |= to != NULL;
    }
    return found;
}

void bkt_edit_stand_in(const struct bkt_domain *d, struct bkt_id *id)
{
    *id = *bkt_alias_of(d, id);
}

int bkt_alias_json(const struct bkt_domain *d, json_t **j, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    json_t *now = NULL;
    BKT_PASS(bkt_json_dump(*j, &text, err));
    if (!bkt_edit_name_theirs(d, text.ptr, text.len))
        return BKT_OK;
    BKT_PASS(bkt_json_load(text.ptr, text.len, &now, err));
    json_decref(*j);
    *j = now;
    return BKT_OK;
}

/* ---- this process's objects are deleted last ---- */

/* Nothing leads to the object, so it does no harm. */
static void note_stays(const struct bkt_domain *d, const struct bkt_id *id)
{
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %s stays in the store without a link to it", d->name, id->text);
}

void bkt_alias_doom(struct bkt_domain *d, const struct bkt_object *was)
{
    struct bkt_edits *e = d->edits;
    if (was->kind == BKT_DATATYPE) /* stored datasets and attributes may be of the type */
        return;
    if (bkt_list_room(&e->doomed, e->n_doomed, &e->doomed_cap, sizeof *e->doomed) < 0)
        note_stays(d, &was->id);
    else
        e->doomed[e->n_doomed++] = (struct bkt_gone){.id = &was->id, .o = bkt_object_retain(was)};
}

void bkt_alias_free_doomed(struct bkt_edits *e)
{
    for (size_t i = 0; i < e->n_doomed; i++)
        bkt_object_release(e->doomed[i].o);
    bkt_gone_fini(e->doomed, e->n_doomed);
    e->doomed = NULL;
    e->n_doomed = e->doomed_cap = 0;
}

static void delete_doomed(struct bkt_domain *d)
{
    struct bkt_edits *e = d->edits;
    bkt_remove_objects(d->store, e->doomed, e->n_doomed);
    for (size_t i = 0; i < e->n_doomed; i++)
        if (e->doomed[i].rc < 0)
            note_stays(d, e->doomed[i].id);
    bkt_alias_free_doomed(e);
}

int bkt_alias_settle(struct bkt_domain *d, bool stored, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    if (e->unnamed && e->hooks)
        BKT_PASS(e->hooks->alias(d, err));
    e->unnamed = false;
    if (stored && e->n_doomed)
        delete_doomed(d);
    return BKT_OK;
}
