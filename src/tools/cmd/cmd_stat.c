/* h5bucket stat: all that is known of one object. */
#include <stdlib.h>
#include <string.h>

#include "tools/bucket/names.h"
#include "tools/show/show.h"
#include "tools/cli/tool.h"
#include "tools/bucket/walk.h"

struct stat_of {
    const struct bkt_object *o;
    struct bkt_extent_use    where;
    uint64_t                 n_links;
    bool                     links_known;
    struct bkt_buf           key;
};

static void row(const char *name, struct bkt_buf *b)
{
    printf("%-12s %s\n", name, bkt_buf_str(b));
    bkt_buf_clear(b);
}

static void dset_text(const struct stat_of *s, bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b  = {0};
    const struct bkt_dset                   *ds = &s->o->dset;
    bkt_show_type(&b, ds->type);
    row("type", &b);
    bkt_show_space(&b, &ds->space);
    row("shape", &b);
    bkt_say(&b, "%s", bkt_show_layout(ds->layout.cls));
    if (ds->layout.user_cls != ds->layout.cls)
        bkt_say(&b, ", created as %s", bkt_show_layout(ds->layout.user_cls));
    row("layout", &b);
    for (unsigned i = 0; ds->layout.cls != BKT_D_NONE && i < ds->layout.rank; i++)
        bkt_say(&b, "%s%llu", i ? ", " : "", (unsigned long long)ds->layout.dims[i]);
    row("chunk", &b);
    bkt_show_filters(&b, ds);
    row("filters", &b);
    bkt_show_where(&b, &s->where, human);
    row("storage", &b);
    for (size_t i = 0; s->where.n_files > 1 && i < s->where.n_files; i++) {
        bkt_say(&b, "%llu in ", (unsigned long long)s->where.files[i].n);
        bkt_show_url(&b, s->where.files[i].uri);
        row("", &b);
    }
}

static void print_text(const struct stat_of *s, bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    printf("%-12s %s\n%-12s %s\n%-12s %s\n%-12s %zu\n", "kind", bkt_show_kind(s->o->kind), "id", s->o->id.text, "key",
           bkt_buf_str(&s->key), "JSON bytes", s->o->json_bytes);
    bkt_show_time(&b, s->o->created);
    row("created", &b);
    bkt_show_time(&b, s->o->modified);
    row("modified", &b);
    if (s->links_known)
        printf("%-12s %llu\n", "hard links", (unsigned long long)s->n_links);
    printf("%-12s %zu\n", "attributes", s->o->attrs.n);
    if (s->o->kind == BKT_GROUP)
        printf("%-12s %zu\n", "members", s->o->group.links.n);
    if (s->o->kind == BKT_DATASET)
        dset_text(s, human);
    if (s->o->kind == BKT_DATATYPE) {
        bkt_show_type(&b, s->o->type);
        row("type", &b);
    }
    for (size_t i = 0; i < s->o->attrs.n; i++) {
        bkt_show_attr(&b, &s->o->attrs.v[i], 400);
        row("@", &b);
    }
}

static void print_json(const struct stat_of *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf type = {0};
    struct bkt_jout                          j;
    bkt_jout_init(&j, stdout);
    bkt_jout_open(&j, NULL, '{');
    bkt_jout_str(&j, "kind", bkt_show_kind(s->o->kind));
    bkt_jout_str(&j, "id", s->o->id.text);
    bkt_jout_str(&j, "key", bkt_buf_str(&s->key));
    bkt_jout_u64(&j, "json_bytes", s->o->json_bytes);
    bkt_jout_time(&j, "created", s->o->created);
    bkt_jout_time(&j, "modified", s->o->modified);
    if (s->links_known)
        bkt_jout_u64(&j, "hard_links", s->n_links);
    if (s->o->kind == BKT_GROUP)
        bkt_jout_u64(&j, "members", s->o->group.links.n);
    if (s->o->kind != BKT_GROUP) {
        bkt_show_type(&type, s->o->kind == BKT_DATASET ? s->o->dset.type : s->o->type);
        bkt_jout_str(&j, "type", bkt_buf_str(&type));
    }
    if (s->o->kind == BKT_DATASET) {
        bkt_jout_space(&j, "shape", &s->o->dset.space);
        bkt_jout_layout(&j, &s->o->dset);
        bkt_jout_where(&j, &s->where);
    }
    bkt_jout_attrs(&j, s->o);
    bkt_jout_close(&j);
}

static int gather(struct bkt_tool *t, struct bkt_domain *d, const char *path, struct stat_of *s, struct bkt_err *err)
{
    struct bkt_id id;
    BKT_PASS(bkt_domain_check_acl(d, BKT_ACL_READ, err));
    BKT_PASS(bkt_walk_find(d, path, &id, err));
    BKT_PASS(bkt_domain_get(d, &id, &s->o, err));
    if (bkt_id_key(&id, &s->key) < 0)
        BKT_NOMEM(err);
    if (bkt_tool_has(t, "links")) {
        BKT_PASS(bkt_domain_link_count(d, &id, &s->n_links, err));
        s->links_known = true;
    }
    return s->o->kind == BKT_DATASET ? bkt_where_count(d, s->o, NULL, &s->where, err) : BKT_OK;
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_place_fini) struct bkt_place p     = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc   = {0};
    BKT_CLEANUP(bkt_freep) char                 *inner = NULL, *name = NULL;
    struct bkt_domain                           *d     = NULL;
    struct bkt_err                               err   = {.n = 0};
    struct stat_of                               s     = {0};
    int rc = bkt_place_open(t->args[0], &t->set, &p, &err);
    if (rc == BKT_OK)
        rc = bkt_place_find(&p, &doc, &inner, &err);
    if (rc == BKT_OK && doc.what != BKT_IS_DOMAIN)
        rc = BKT_ERR(&err, BKT_ENOENT, doc.what == BKT_IS_ABSENT ? "no such domain" : "a folder, not a domain; see h5bucket acl");
    if (rc == BKT_OK && !(name = bkt_place_name(p.store, p.path)))
        rc = BKT_ERR(&err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK)
        rc = bkt_domain_open(name, &t->set, &d, &err);
    if (rc == BKT_OK)
        rc = gather(t, d, t->n_args > 1 ? t->args[1] : inner, &s, &err);
    if (rc == BKT_OK && t->json)
        print_json(&s);
    else if (rc == BKT_OK)
        print_text(&s, bkt_tool_has(t, "human-readable") > 0);
    bkt_object_release(s.o);
    bkt_where_fini(&s.where);
    bkt_buf_fini(&s.key);
    bkt_domain_close(d);
    return rc < 0 ? bkt_tool_error(t, t->args[0], &err) : BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'l', "links", NULL, "count the hard links to it, which reads all groups of the domain", NULL},
    {'H', "human-readable", NULL, "sizes as 1.2M", NULL},
};
const struct bkt_verb bkt_verb_stat = {
    .name = "stat", .args = "DOMAIN [OBJECT]", .min_args = 1, .max_args = 2,
    .help = "show one object of a domain: id, key, times, type, layout, attributes",
    .text = "OBJECT is a path in the domain or an id (d-...). It may also follow the domain's name:\n"
            "DOMAIN/g1/x. Without OBJECT, the root group is shown.\n\n"
            "JSON: {\"kind\", \"id\", \"key\", \"type\", \"shape\", \"layout\", \"chunk\", \"filters\", \"storage\",\n"
            "\"attributes\", ...}.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
