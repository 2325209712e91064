/* h5bucket ls of a domain: its objects, one line each, more with -v. */
#include <stdlib.h>
#include <string.h>

#include "tools/cmd/ls.h"
#include "tools/bucket/walk.h"

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

/* An object or a link in a line. */
static void line_of(const struct bkt_ls *ls, const struct bkt_step *st)
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
        if (!ls->verbose) {
            bkt_say_str(&b, "  ");
            bkt_show_type(&b, st->obj->dset.type);
            bkt_say_str(&b, "  ");
            layout_text(&b, &st->obj->dset);
        }
    }
    printf("%s\n", bkt_buf_str(&b));
}

/* ---- as a record ---- */

static void attrs_of(const struct bkt_object *o, struct bkt_jout *j)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_jout_attrs(j, o);
    for (size_t i = 0; !j->to && i < o->attrs.n; i++) {
        bkt_buf_clear(&b);
        bkt_show_attr(&b, &o->attrs.v[i], 200);
        printf("    @%s\n", bkt_buf_str(&b));
    }
}

/* With -v also as rows. */
static void dset_of(struct bkt_ls *ls, const struct bkt_object *o, const struct bkt_where *where,
                    const struct bkt_record *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf          b   = {0};
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use use = {0};
    struct bkt_err                                    err = {.n = 0};
    const struct bkt_layout                          *l   = &o->dset.layout;
    bkt_record_type(r, "type", ls->verbose ? "type" : NULL, o->dset.type);
    bkt_jout_space(r->j, "shape", &o->dset.space);
    bkt_jout_layout(r->j, &o->dset);
    if (!ls->verbose)
        return;
    layout_text(&b, &o->dset);
    bkt_record_row(r, "layout", &b);
    if (l->user_cls != l->cls)
        bkt_record_str(r, NULL, "created as", bkt_show_layout(l->user_cls));
    if (where->count(where->arg, o, &use, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, o->id.text, &err);
        return;
    }
    bkt_jout_where(r->j, &use);
    bkt_record_where(r, &use);
}

static void object_of(struct bkt_ls *ls, const struct bkt_object *o, const struct bkt_where *where,
                      const struct bkt_record *r)
{
    const bool rows = ls->verbose;
    bkt_record_str(r, NULL, rows ? where->id : NULL, o->id.text);
    bkt_record_time(r, "created", rows ? "created" : NULL, o->created);
    bkt_record_time(r, "modified", rows ? "modified" : NULL, o->modified);
    if (o->kind == BKT_DATASET)
        dset_of(ls, o, where, r);
    if (o->kind == BKT_DATATYPE)
        bkt_record_type(r, NULL, rows ? "type" : NULL, o->type);
    if (ls->attrs)
        attrs_of(o, r->j);
}

static void print(struct bkt_ls *ls, const struct bkt_step *st, const struct bkt_where *where)
{
    struct bkt_jout        *j = &ls->j;
    const struct bkt_record r = {.j = j, .indent = 4, .width = 10, .human = ls->human};
    if (!j->to)
        line_of(ls, st);
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
    if (st->obj && !st->same)
        object_of(ls, st->obj, where, &r);
    bkt_jout_close(j);
}

void bkt_ls_step(struct bkt_ls *ls, const struct bkt_step *st, const struct bkt_where *where)
{
    if (st->why) {
        ls->rc = bkt_tool_error(ls->t, st->path, st->why);
    } else if (!bkt_ls_wanted(ls, st->path)) {
        return;
    } else if (ls->names && !ls->t->json) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        bkt_show_name(&b, st->path);
        puts(bkt_buf_str(&b));
    } else {
        print(ls, st, where);
    }
}

/* ---- the walk ---- */

struct state {
    struct bkt_ls     *ls;
    struct bkt_domain *d;
    struct bkt_uses
        *uses; /* chunk objects of all datasets, when many are listed; NULL: asked for one by one */
};

static int count_chunks(void *arg, const struct bkt_object *o, struct bkt_extent_use *out,
                        struct bkt_err *err)
{
    const struct state *s = arg;
    return bkt_where_count(s->d, o, s->uses, out, err);
}

static int on_step(const struct bkt_step *st, void *arg)
{
    struct state          *s     = arg;
    const struct bkt_where where = {.count = count_chunks, .arg = s, .id = "id"};
    bkt_ls_step(s->ls, st, &where);
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
