/* Ids of ours that other writers' objects stand for: what still names ours means theirs. */
#include <stdlib.h>
#include <string.h>

#include "edit_impl.h"
#include "parse.h"

static bool any(const struct bkt_edits *e)
{
    return e && e->alias && bkt_map_count(e->alias) > 0;
}

const struct bkt_id *bkt_alias_of(const struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_id *to = any(d->edits) ? bkt_map_get(d->edits->alias, id->text, BKT_ID_LEN) : NULL;
    return to ? to : id;
}

/* Ids keep their length, so text is changed in place.  Each begins with a letter and '-', whatever its kind
 * and version. */
void bkt_alias_bytes(const struct bkt_edits *e, void *p, size_t n)
{
    char *text = p;
    for (size_t i = 1; any(e) && i + BKT_ID_LEN <= n + 1; i++) {
        const struct bkt_id *to = text[i] == '-' ? bkt_map_get(e->alias, text + i - 1, BKT_ID_LEN) : NULL;
        if (to)
            memcpy(text + i - 1, to->text, BKT_ID_LEN);
    }
}

int bkt_alias_json(const struct bkt_edits *e, json_t **j, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    json_t *now = NULL;
    if (!any(e))
        return BKT_OK;
    BKT_PASS(bkt_json_dump(*j, &text, err));
    bkt_alias_bytes(e, text.ptr, text.len);
    BKT_PASS(bkt_json_load(text.ptr, text.len, &now, err));
    json_decref(*j);
    *j = now;
    return BKT_OK;
}
