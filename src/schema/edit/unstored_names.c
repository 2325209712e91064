/* Paths of objects, and names of what isn't stored, for messages: by groups that are in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"

void bkt_message_names_add(struct bkt_message_names *names, const char *name)
{
    size_t at = strlen(names->text), n = strlen(name);
    for (const char *s = names->text; n && (s = strstr(s, name)); s++) /* it is named already */
        if (s > names->text && s[-1] == '\'' && s[n] == '\'')
            return;
    if (at + strlen(name) + 5 < sizeof names->text)
        (void)snprintf(names->text + at, sizeof names->text - at, "%s'%s'", at ? ", " : "", name);
    names->n++;
}

#define DEPTH_MAX 64 /* a message has no room for more */

struct parent {
    const struct bkt_id *of;
    struct bkt_id group;
    char *name;
};

static int is_parent(const struct bkt_object *o, void *arg)
{
    struct parent *p = arg;
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (strcmp(l->id.text, p->of->text) == 0) {
            p->group = o->id;
            p->name = strdup(l->name);
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
        (void)!bkt_text(&more, "/%s%s", p.name, path);
        free(p.name);
        free(path);
        path = more;
        at = p.group;
    }
    return path ? bkt_buf_addf(out, "%s", *path ? path : "/") : BKT_ENOMEM;
}

void bkt_domain_name_unstored(struct bkt_domain *d, struct bkt_message_names *out)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
        if (c->removed)
            continue;
        if (strlen(out->text) + BKT_ID_LEN > sizeof out->text || bkt_domain_path_of(d, &c->id, &path) < 0)
            out->n++;
        else
            bkt_message_names_add(out, bkt_buf_str(&path));
    }
}
