/* h5bucket ls of a domain: its objects, one line each, more with -v. */
#include <stdlib.h>
#include <string.h>

#include "tools/cmd/ls.h"
#include "tools/bucket/walk.h"

struct state {
    struct bkt_ls     *ls;
    struct bkt_domain *d;
    struct bkt_uses   *uses; /* chunk objects of all datasets, when many are listed; NULL: asked for one by one */
};

static void detail(const char *name, struct bkt_buf *text)
{
    printf("    %-10s %s\n", name, bkt_buf_str(text));
    bkt_buf_clear(text);
}

/* ---- text ---- */

static void attrs_text(const struct bkt_object *o)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    for (size_t i = 0; i < o->attrs.n; i++) {
        bkt_buf_clear(&b);
        bkt_show_attr(&b, &o->attrs.v[i], 200);
        printf("    @%s\n", bkt_buf_str(&b));
    }
}

/* Layout, chunk shape and filters, in one line. */
static void layout_text(struct bkt_buf *b, const struct bkt_dset *ds)
{
    bkt_say_str(b, bkt_show_layout(ds->layout.cls));
    for (unsigned i = 0; ds->layout.cls != BKT_D_NONE && i < ds->layout.rank; i++)
        bkt_say(b, "%s%llu%s", i ? "," : " [", (unsigned long long)ds->layout.dims[i],
                           i + 1 == ds->layout.rank ? "]" : "");
    if (ds->n_filters)
        bkt_say_str(b, " ");
    bkt_show_filters(b, ds);
}

static void dset_more(struct state *s, const struct bkt_object *o)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf             b    = {0};
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use    where = {0};
    struct bkt_err                                       err  = {.n = 0};
    bkt_show_type(&b, o->dset.type);
    detail("type", &b);
    layout_text(&b, &o->dset);
    detail("layout", &b);
    if (o->dset.layout.user_cls != o->dset.layout.cls) {
        bkt_say_str(&b, bkt_show_layout(o->dset.layout.user_cls));
        detail("created as", &b);
    }
    if (bkt_where_count(s->d, o, s->uses, &where, &err) < 0) {
        s->ls->rc = bkt_tool_error(s->ls->t, o->id.text, &err);
        return;
    }
    bkt_show_where(&b, &where, s->ls->human);
    detail("storage", &b);
    for (size_t i = 0; where.n_files > 1 && i < where.n_files; i++) {
        bkt_say(&b, "%llu in ", (unsigned long long)where.files[i].n);
        bkt_show_url(&b, where.files[i].uri);
        detail("", &b);
    }
}

static void more(struct state *s, const struct bkt_object *o)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_say_str(&b, o->id.text);
    detail("id", &b);
    bkt_show_time(&b, o->created);
    detail("created", &b);
    bkt_show_time(&b, o->modified);
    detail("modified", &b);
    if (o->kind == BKT_DATASET)
        dset_more(s, o);
    if (o->kind == BKT_DATATYPE) {
        bkt_show_type(&b, o->type);
        detail("type", &b);
    }
}

static void text_of(struct state *s, const struct bkt_step *st)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_name(&b, st->path);
    for (size_t at = b.len; at < 24; at++)
        bkt_say_str(&b, " ");
    bkt_say_str(&b, " ");
    if (!st->obj && st->link) {
        const char *file = st->link->file ? st->link->file : "";
        bkt_say(&b, "%s link -> ", bkt_show_link(st->link->cls));
        bkt_show_url(&b, st->link->cls == BKT_L_EXTERNAL ? file : "");
        bkt_say_str(&b, st->link->cls == BKT_L_EXTERNAL ? " : " : "");
        bkt_show_name(&b, st->link->path ? st->link->path : "");
    } else if (st->obj) {
        bkt_say_str(&b, bkt_show_kind(st->obj->kind));
    }
    if (st->same) {
        bkt_say_str(&b, ", same as ");
        bkt_show_name(&b, st->same);
    } else if (st->obj && st->obj->kind == BKT_DATASET) {
        bkt_say_str(&b, " ");
        bkt_show_space(&b, &st->obj->dset.space);
        if (!s->ls->verbose) {
            bkt_say_str(&b, "  ");
            bkt_show_type(&b, st->obj->dset.type);
            bkt_say_str(&b, "  ");
            layout_text(&b, &st->obj->dset);
        }
    }
    printf("%s\n", bkt_buf_str(&b));
    if (st->obj && !st->same && s->ls->verbose)
        more(s, st->obj);
    if (st->obj && !st->same && s->ls->attrs)
        attrs_text(st->obj);
}

/* ---- JSON ---- */

static void dset_json(struct state *s, const struct bkt_object *o)
{
    struct bkt_jout                                  *j     = &s->ls->j;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf          type  = {0};
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use where = {0};
    struct bkt_err                                    err   = {.n = 0};
    bkt_show_type(&type, o->dset.type);
    bkt_jout_str(j, "type", bkt_buf_str(&type));
    bkt_jout_space(j, "shape", &o->dset.space);
    bkt_jout_layout(j, &o->dset);
    if (!s->ls->verbose)
        return;
    if (bkt_where_count(s->d, o, s->uses, &where, &err) < 0)
        s->ls->rc = bkt_tool_error(s->ls->t, o->id.text, &err);
    else
        bkt_jout_where(j, &where);
}

static void json_of(struct state *s, const struct bkt_step *st)
{
    struct bkt_jout *j = &s->ls->j;
    bkt_jout_open(j, NULL, '{');
    bkt_jout_str(j, "path", st->path);
    bkt_jout_str(j, "link", st->link ? bkt_show_link(st->link->cls) : NULL);
    if (st->obj) {
        bkt_jout_str(j, "kind", bkt_show_kind(st->obj->kind));
        bkt_jout_str(j, "id", st->obj->id.text);
    } else if (st->link) {
        bkt_jout_url(j, "file", st->link->file);
        bkt_jout_str(j, "target", st->link->path);
    }
    if (st->same)
        bkt_jout_str(j, "same_as", st->same);
    if (st->obj && !st->same) {
        bkt_jout_time(j, "created", st->obj->created);
        bkt_jout_time(j, "modified", st->obj->modified);
        if (st->obj->kind == BKT_DATASET)
            dset_json(s, st->obj);
        if (s->ls->attrs)
            bkt_jout_attrs(j, st->obj);
    }
    bkt_jout_close(j);
}

static int on_step(const struct bkt_step *st, void *arg)
{
    struct state *s = arg;
    if (st->why) {
        s->ls->rc = bkt_tool_error(s->ls->t, st->path, st->why);
        return BKT_OK;
    }
    if (!bkt_ls_wanted(s->ls, st->path))
        return BKT_OK;
    if (s->ls->t->json) {
        json_of(s, st);
    } else if (s->ls->names) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        bkt_show_name(&b, st->path);
        puts(bkt_buf_str(&b));
    } else {
        text_of(s, st);
    }
    return BKT_OK;
}

void bkt_ls_domain(struct bkt_ls *ls, struct bkt_domain *d, const char *path)
{
    struct state   s   = {.ls = ls, .d = d};
    struct bkt_err err = {.n = 0};
    struct bkt_id  id;
    int            rc = bkt_domain_check_acl(d, BKT_ACL_READ, &err);
    if (rc == BKT_OK)
        rc = bkt_walk_find(d, path, &id, &err);
    if (rc == BKT_OK && ls->verbose && ls->recursive && bkt_uses_scan(d, &s.uses, NULL) < 0)
        s.uses = NULL; /* version 1, plain web: each dataset is asked about */
    if (rc == BKT_OK)
        rc = bkt_walk(d, &id, path, ls->recursive ? UINT32_MAX : 1, on_step, &s, &err);
    bkt_uses_free(s.uses);
    if (rc < 0)
        ls->rc = bkt_tool_error(ls->t, bkt_domain_name(d), &err);
}
