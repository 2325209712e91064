/* h5bucket stat: all that is known of one object. */
#include <stdlib.h>

#include "tools/bucket/bucket_names.h"
#include "tools/bucket/plain_walk.h"
#include "tools/bucket/walk.h"
#include "tools/cli/tool.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_name.h"

struct stat_of {
    const struct bkt_object *o;
    const char              *file; /* the plain file that has it; NULL: a domain has it */
    uint64_t                 members;
    struct bkt_extent_use    where;
    uint64_t                 n_links;
    bool                     links_known;
    struct bkt_buf           key;
};

static void stat_fini(struct stat_of *s)
{
    bkt_object_release(s->o);
    bkt_where_fini(&s->where);
    bkt_buf_fini(&s->key);
}

static void dset_rows(const struct stat_of *s, const struct bkt_shown_record *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b  = {0};
    const struct bkt_dset                   *ds = &s->o->dset;
    bkt_jout_shape(r->j, &ds->space);
    bkt_jout_layout(r->j, ds);
    bkt_jout_where(r->j, &s->where);
    bkt_show_space(&b, &ds->space);
    bkt_shown_record_row(r, "shape", &b);
    bkt_say(&b, "%s", bkt_show_layout(ds->layout.cls));
    if (ds->layout.user_cls != ds->layout.cls)
        bkt_say(&b, ", created as %s", bkt_show_layout(ds->layout.user_cls));
    bkt_shown_record_row(r, "layout", &b);
    for (unsigned i = 0; ds->layout.cls != BKT_D_NONE && i < ds->layout.rank; i++)
        bkt_say(&b, "%s%llu", i ? ", " : "", (unsigned long long)ds->layout.dims[i]);
    bkt_shown_record_row(r, ds->layout.rank ? "chunk" : NULL, &b);
    bkt_show_filters(&b, ds);
    bkt_shown_record_row(r, "filters", &b);
    bkt_shown_record_where(r, &s->where);
}

static void place_rows(const struct stat_of *s, const struct bkt_shown_record *r)
{
    bkt_shown_record_str(r, "id", s->file ? "address" : "id", s->o->id.text);
    if (s->file) {
        bkt_shown_record_url(r, "file", "file", s->file);
        return;
    }
    bkt_shown_record_str(r, "key", "key", bkt_buf_str(&s->key));
    bkt_shown_record_u64(r, "json_bytes", "JSON bytes", s->o->json_bytes);
}

static void print(const struct stat_of *s, struct bkt_jout *j, bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    const struct bkt_shown_record r = {.j = j, .width = 12, .human = human};
    bkt_jout_open(j, NULL, '{');
    bkt_shown_record_str(&r, "kind", "kind", bkt_show_kind(s->o->kind));
    place_rows(s, &r);
    bkt_shown_record_time(&r, "created", "created", s->o->created);
    bkt_shown_record_time(&r, "modified", "modified", s->o->modified);
    if (s->links_known)
        bkt_shown_record_u64(&r, "hard_links", "hard links", s->n_links);
    bkt_shown_record_u64(&r, NULL, "attributes", s->o->attrs.n);
    if (s->o->kind == BKT_GROUP)
        bkt_shown_record_u64(&r, "members", "members", s->members);
    else
        bkt_shown_record_type(&r, "type", "type", s->o->kind == BKT_DATASET ? s->o->dset.type : s->o->type);
    if (s->o->kind == BKT_DATASET)
        dset_rows(s, &r);
    bkt_jout_attrs(j, s->o);
    for (size_t i = 0; !j->to && i < s->o->attrs.n; i++) {
        bkt_show_attr(&b, &s->o->attrs.v[i], 400);
        bkt_shown_record_row(&r, "@", &b);
    }
    bkt_jout_close(j);
}

static int gather(struct bkt_tool *t, struct bkt_domain *d, const char *path, struct stat_of *s,
                  struct bkt_err *err)
{
    struct bkt_id id;
    BKT_PASS(bkt_domain_check_acl(d, BKT_ACL_READ, err));
    BKT_PASS(bkt_walk_find(d, path, &id, err));
    BKT_PASS(bkt_domain_get(d, &id, &s->o, err));
    BKT_PASS_MEM(err, bkt_id_key(&id, &s->key));
    s->members = s->o->kind == BKT_GROUP ? s->o->group.links.n : 0;
    if (bkt_tool_has(t, "links")) {
        BKT_PASS(bkt_domain_link_count(d, &id, &s->n_links, err));
        s->links_known = true;
    }
    return s->o->kind == BKT_DATASET ? bkt_where_count(d, s->o, NULL, &s->where, err) : BKT_OK;
}

static int stat_place(struct bkt_tool *t, struct plain_file *plain, struct bkt_domain **d, struct stat_of *s,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc   = {0};
    BKT_CLEANUP(bkt_freep) char                 *inner = NULL, *name = NULL;
    BKT_PASS(bkt_bucket_place_open(t->args[0], &t->set, &p, err));
    BKT_PASS(bkt_bucket_place_find(&p, plain, &t->set, &doc, &inner, err));
    BKT_FAIL_IF(err, doc.what == BKT_IS_ABSENT, BKT_ENOENT, "no such domain");
    BKT_FAIL_IF(err, doc.what != BKT_IS_DOMAIN, BKT_ENOENT, "a folder, not a domain; see h5bucket acl");
    BKT_NEED(err, (name = bkt_bucket_place_name(p.store, p.path)));
    BKT_PASS(bkt_domain_open(name, &t->set, d, err));
    return gather(t, *d, t->n_args > 1 ? t->args[1] : inner, s, err);
}

/* ---- of a plain HDF5 file ---- */

struct plain_stat {
    struct stat_of *s;
    struct bkt_err *err;
};

static int on_plain(const struct plain_step *st, void *arg)
{
    struct plain_stat *p = arg;
    H5G_info_t         group;
    if (st->s.why)
        return bkt_err_copy(p->err, st->s.why->code, st->s.why);
    p->s->o           = bkt_object_retain(st->s.obj);
    p->s->n_links     = st->info->rc;
    p->s->links_known = true;
    if (st->s.obj->kind == BKT_GROUP) {
        if (H5Gget_info(st->id, &group) < 0)
            return h5_fail(p->err, "asking about a group");
        p->s->members = group.nlinks;
    }
    return st->s.obj->kind == BKT_DATASET ? plain_where(st->id, p->s->file, &p->s->where, p->err) : BKT_OK;
}

static int stat_file(const struct bkt_tool *t, const struct plain_file *plain, struct stat_of *s,
                     struct bkt_err *err)
{
    struct plain_stat p = {.s = s, .err = err};
    s->file             = plain->uri;
    return plain_walk(plain->file, t->n_args > 1 ? t->args[1] : plain->inner, 0, true, on_plain, &p, err);
}

static int stat_name(struct bkt_tool *t, struct plain_file *plain, struct bkt_domain **d, struct stat_of *s,
                     struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    BKT_PASS(plain_file_ask(t->args[0], &t->set, plain, err));
    int rc = stat_place(t, plain, d, s, &why);
    if (rc == BKT_OK || *d)
        return rc < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
    BKT_PASS(bkt_tool_instead(t, plain, true, rc, &why, err));
    return stat_file(t, plain, s, err);
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(plain_file_fini) struct plain_file    plain = {.file = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_domain_closep) struct bkt_domain *d     = NULL;
    BKT_CLEANUP(stat_fini) struct stat_of             s     = {0};
    BKT_PASS(stat_name(t, &plain, &d, &s, &t->err));
    print(&s, &t->j, bkt_tool_has(t, "human-readable") > 0);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'l', "links", NULL, "count the hard links to it, which reads all groups of the domain", NULL},
    {'H', "human-readable", NULL, "sizes as 1.2M", NULL},
};
const struct bkt_verb bkt_verb_stat = {
    .name = "stat",
    .args = "DOMAIN [OBJECT]",
    .min_args = 1,
    .max_args = 2,
    .help = "show one object of a domain or HDF5 file: id, key, times, type, layout, attributes",
    .text = "OBJECT is a path in the domain or an id (d-...). It may also follow the domain's name:\n"
            "DOMAIN/g1/x. Without OBJECT, the root group is shown.\n\n"
            "DOMAIN may also be a plain HDF5 file, in a store or on this machine. Its object has a field\n"
            "file, and its id is the address in the file. The hard links are counted without -l.\n\n"
            "JSON: {\"kind\", \"id\", \"key\", \"type\", \"shape\", \"layout\", \"chunk\", \"filters\",\n"
            "\"storage\", \"attributes\", ...}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
