/* Chunks that a flush could not store: the datasets' extents that wait for them, and their names in
 * messages. */
#include <string.h>

#include "chunk/write/write_cache.h"
#include "schema/edit/edit.h"
#include "base/map.h"

static bool is_behind(const struct bkt_wchunk *c)
{
    return c->rc < 0 && bkt_wchunk_is_dirty(c);
}

static bool set_is_behind(const struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    while (bkt_map_walk(ws->chunks, &at))
        if (is_behind(at.value))
            return true;
    return false;
}

void bkt_unstored_note(struct bkt_write_cache *d, const struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    if (ws)
        bkt_edit_extent_waits(d->dom, &ws->id, set_is_behind(ws));
    while (!ws && bkt_map_walk(d->sets, &at))
        bkt_unstored_note(d, at.value);
}

static int add_name(struct bkt_write_cache *d, const struct bkt_wchunk *c, struct bkt_names *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    struct bkt_chunk_label label = bkt_chunk_label(c->ws->io, c->coord); /* "dataset ID chunk PLACE" */
    const char *place = strstr(label.text, "chunk ");
    BKT_PASS(bkt_buf_addf(&text, "%s of ", place ? place : label.text));
    BKT_PASS(bkt_domain_path_of(d->dom, &c->ws->id, &text));
    bkt_names_add(out, bkt_buf_str(&text));
    return BKT_OK;
}

void bkt_unstored_names(struct bkt_domain *dom, struct bkt_names *out)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    for (unsigned l = BKT_LIST_PART; d && l < BKT_LISTS; l++)
        for (const struct bkt_wchunk *c = d->list[l].head; c; c = c->next)
            if (is_behind(c) &&
                (strlen(out->text) + BKT_ID_LEN > sizeof out->text || add_name(d, c, out) < 0))
                out->n++;
}
