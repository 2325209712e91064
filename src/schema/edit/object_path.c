/* The path of an object, for messages: by groups that are in memory. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

#define DEPTH_MAX 64 /* a message has no room for more */

struct parent {
    const struct bkt_id *of;
    struct bkt_id group;
    char *name;
};

static int is_parent(const struct bkt_object *o, void *arg)
{
    struct parent *p = arg;
    const struct bkt_links *l = o->kind == BKT_GROUP ? bkt_links_settle(&o->group.links) : NULL;
    for (size_t i = 0; l && i < l->n; i++)
        if (l->v[i].cls == BKT_L_HARD && strcmp(l->v[i].id.text, p->of->text) == 0) {
            p->group = o->id;
            p->name = strdup(l->v[i].name);
            return p->name ? BKT_ECANCEL : BKT_ENOMEM;
        }
    return BKT_OK;
}

int bkt_domain_path_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_freep) char *path = strdup("");
    struct bkt_id at = *id;
    bkt_objects_await(d->objects, &d->doc.root); /* opening a domain fetches it, and does not wait */
    for (unsigned depth = 0; path && strcmp(at.text, d->doc.root.text) != 0; depth++) {
        struct parent p = {.of = &at};
        int rc = depth < DEPTH_MAX ? bkt_objects_each(d->objects, is_parent, &p) : BKT_OK;
        char *more = NULL;
        if (rc == BKT_ENOMEM)
            return rc;
        if (!p.name)
            return bkt_buf_addf(out, "%s", id->text);
        if (asprintf(&more, "/%s%s", p.name, path) < 0)
            more = NULL;
        free(p.name);
        free(path);
        path = more;
        at = p.group;
    }
    return path ? bkt_buf_addf(out, "%s", *path ? path : "/") : BKT_ENOMEM;
}

void bkt_domain_name_unstored(struct bkt_domain *d, struct bkt_names *out)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
        if (c->removed)
            continue;
        if (strlen(out->text) + BKT_ID_LEN > sizeof out->text || bkt_domain_path_of(d, &c->id, &path) < 0)
            out->n++;
        else
            bkt_names_add(out, bkt_buf_str(&path));
    }
}
