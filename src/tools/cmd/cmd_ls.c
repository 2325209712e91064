/* h5bucket ls: lists a folder, a domain, or a plain HDF5 file. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/list.h"
#include "tools/bucket/bucket_names.h"
#include "tools/bucket/plain_walk.h"
#include "tools/bucket/walk.h"
#include "tools/cli/tool.h"
#include "tools/show/show.h"
#include "tools/source/key_list.h"
#include "tools/source/plain_name.h"

struct ls {
    struct bkt_tool *t;
    bool             recursive, verbose, human, attrs, acls, names;
    const char      *pattern; /* of names, as the shell's; NULL: all */
    int              rc; /* exit code so far */
};

/** The counting of a listed dataset's chunks. */
struct where {
    int (*count)(void *arg, const struct bkt_object *o, struct bkt_extent_use *out, struct bkt_err *err);
    void       *arg;
    const char *id; /* the meaning of an object's id, for its row */
};

/* ---- objects of a domain: one line each, more with -v ---- */

/* Whether a path's last component matches the pattern. */
static bool wanted(const struct ls *ls, const char *path)
{
    return !ls->pattern || fnmatch(ls->pattern, bkt_base_name(path), 0) == 0;
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

/* An object or a link in a line. */
static void object_line(const struct ls *ls, const struct bkt_step *st)
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
static void dset_of(struct ls *ls, const struct bkt_object *o, const struct where *where,
                    const struct bkt_shown_record *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf          b   = {0};
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use use = {0};
    struct bkt_err                                    err = {.n = 0};
    const struct bkt_layout                          *l   = &o->dset.layout;
    bkt_shown_record_type(r, "type", ls->verbose ? "type" : NULL, o->dset.type);
    bkt_jout_shape(r->j, &o->dset.space);
    bkt_jout_layout(r->j, &o->dset);
    if (!ls->verbose)
        return;
    layout_text(&b, &o->dset);
    bkt_shown_record_row(r, "layout", &b);
    if (l->user_cls != l->cls)
        bkt_shown_record_str(r, NULL, "created as", bkt_show_layout(l->user_cls));
    if (where->count(where->arg, o, &use, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, o->id.text, &err);
        return;
    }
    bkt_jout_where(r->j, &use);
    bkt_shown_record_where(r, &use);
}

static void object_of(struct ls *ls, const struct bkt_object *o, const struct where *where,
                      const struct bkt_shown_record *r)
{
    const bool rows = ls->verbose;
    bkt_shown_record_str(r, NULL, rows ? where->id : NULL, o->id.text);
    bkt_shown_record_time(r, "created", rows ? "created" : NULL, o->created);
    bkt_shown_record_time(r, "modified", rows ? "modified" : NULL, o->modified);
    if (o->kind == BKT_DATASET)
        dset_of(ls, o, where, r);
    if (o->kind == BKT_DATATYPE)
        bkt_shown_record_type(r, NULL, rows ? "type" : NULL, o->type);
    if (ls->attrs)
        attrs_of(o, r->j);
}

static void print_step(struct ls *ls, const struct bkt_step *st, const struct where *where)
{
    struct bkt_jout        *j = &ls->t->j;
    const struct bkt_shown_record r = {.j = j, .indent = 4, .width = 10, .human = ls->human};
    if (!j->to)
        object_line(ls, st);
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "path:s link:s", st->path, st->link ? bkt_show_link(st->link->cls) : NULL);
    if (st->obj) {
        bkt_jout_members(j, "kind:s id:s", bkt_show_kind(st->obj->kind), st->obj->id.text);
    } else if (st->link) {
        bkt_jout_members(j, "file:u target:s", st->link->file, st->link->path);
    }
    if (st->same)
        bkt_jout_str(j, "same_as", st->same);
    if (st->obj && !st->same)
        object_of(ls, st->obj, where, &r);
    bkt_jout_close(j);
}

/* Print one link that a walk met. */
static void show_step(struct ls *ls, const struct bkt_step *st, const struct where *where)
{
    if (st->why) {
        ls->rc = bkt_tool_error(ls->t, st->path, st->why);
    } else if (!wanted(ls, st->path)) {
        return;
    } else if (ls->names && !ls->t->json) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        bkt_show_name(&b, st->path);
        puts(bkt_buf_str(&b));
    } else {
        print_step(ls, st, where);
    }
}

/* ---- the walk ---- */

struct in_domain {
    struct ls     *ls;
    struct bkt_domain *d;
    /* chunk objects of all datasets, when many are listed; NULL: asked for one by one */
    struct bkt_map *uses;
};

static int count_in_domain(void *arg, const struct bkt_object *o, struct bkt_extent_use *out,
                           struct bkt_err *err)
{
    const struct in_domain *s = arg;
    return bkt_where_count(s->d, o, s->uses, out, err);
}

static int on_domain_step(const struct bkt_step *st, void *arg)
{
    struct in_domain          *s     = arg;
    const struct where where = {.count = count_in_domain, .arg = s, .id = "id"};
    show_step(s->ls, st, &where);
    return BKT_OK;
}

/* Objects of an open domain from @p path on. */
static void show_domain(struct ls *ls, struct bkt_domain *d, const char *path)
{
    struct in_domain   s   = {.ls = ls, .d = d};
    struct bkt_err err = {.n = 0};
    struct bkt_id  id;
    int            rc = bkt_domain_check_acl(d, BKT_ACL_READ, &err);
    rc = rc ? rc : bkt_walk_find(d, path, &id, &err);
    if (rc == BKT_OK && ls->verbose && ls->recursive)
        (void)!bkt_uses_list(d, &s.uses, NULL); /* version 1, plain web: each dataset is asked about */
    if (rc == BKT_OK)
        rc = bkt_walk(d, &id, path, ls->recursive ? UINT32_MAX : 1, on_domain_step, &s, &err);
    bkt_map_free(s.uses, free);
    if (rc < 0)
        ls->rc = bkt_tool_error(ls->t, bkt_domain_name(d), &err);
}

/* ---- objects of a plain HDF5 file ---- */

struct in_file {
    struct ls           *ls;
    const struct plain_file *p;
    hid_t                    dset; /* the object that is shown */
};

static int count_in_file(void *arg, const struct bkt_object *o, struct bkt_extent_use *out,
                         struct bkt_err *err)
{
    const struct in_file *s = arg;
    (void)o;
    return plain_where(s->dset, s->p->uri, out, err);
}

static int on_file_step(const struct plain_step *st, void *arg)
{
    struct in_file          *s     = arg;
    const struct where where = {.count = count_in_file, .arg = s, .id = "address"};
    s->dset                      = st->id;
    show_step(s->ls, &st->s, &where);
    return BKT_OK;
}

/* Objects of an open plain HDF5 file from p->inner on. */
static void show_file(struct ls *ls, struct plain_file *p)
{
    struct in_file   s   = {.ls = ls, .p = p, .dset = H5I_INVALID_HID};
    struct bkt_err err = {.n = 0};
    bkt_jout_open(&ls->t->j, NULL, '{');
    bkt_jout_members(&ls->t->j, "kind:s file:u", "file", p->uri);
    bkt_jout_open(&ls->t->j, "objects", '[');
    if (plain_walk(p->file, p->inner, ls->recursive ? UINT32_MAX : 1, ls->attrs, on_file_step, &s, &err) < 0)
        ls->rc = bkt_tool_error(ls->t, p->uri, &err);
    bkt_jout_close(&ls->t->j);
    bkt_jout_close(&ls->t->j);
}

/* Print the access list of a document, if it is requested. */
static void acls_of(struct ls *ls, const struct bkt_domain_doc *doc)
{
    struct bkt_err err = {.n = 0};
    if (!ls->acls)
        return;
    if (bkt_doc_may(doc, "", &ls->t->set, BKT_ACL_READ_ACL, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, NULL, &err);
        return;
    }
    bkt_show_acls(&ls->t->j, doc->acls, doc->n_acls, "    acl        ");
}

/* ---- folders ---- */

static const char *what_word(enum bkt_what w) { return w == BKT_IS_DOMAIN ? "domain" : "folder"; }

static int on_used(const struct bkt_listed_key *s, void *arg)
{
    struct bkt_use *u = arg;
    u->n += s->what == BKT_KEY_CHUNK;
    u->bytes += s->what == BKT_KEY_OTHER ? 0 : s->entry->size;
    return BKT_OK;
}

/* Size of a domain, by one LIST; unknown for version 1. */
static bool measure(const struct ls *ls, struct bkt_store *st, const struct bkt_doc *doc, struct bkt_use *u)
{
    *u = (struct bkt_use){.n = 0};
    return ls->verbose && doc->what == BKT_IS_DOMAIN &&
           bkt_key_list(st, &doc->doc.root, on_used, u, NULL) == BKT_OK;
}

static void entry_line(const struct bkt_doc *doc, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_name(&b, doc->doc.owner ? doc->doc.owner : "-");
    printf("%s  %-10s  ", what_word(doc->what), bkt_buf_str(&b));
    bkt_buf_clear(&b);
    bkt_show_time(&b, doc->doc.modified);
    printf("%-20s  ", bkt_buf_str(&b));
    bkt_buf_clear(&b);
    bkt_show_name(&b, name);
    printf("%s%s\n", bkt_buf_str(&b), doc->what == BKT_IS_DOMAIN ? "" : "/");
}

static void entry(struct ls *ls, struct bkt_store *st, const char *path, const struct bkt_doc *doc)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(st, path);
    const struct bkt_shown_record r = {.j = &ls->t->j, .indent = 4, .width = 10};
    struct bkt_use                           use;
    if (!name || !wanted(ls, path))
        return;
    if (ls->names && !ls->t->json) {
        bkt_show_name(&b, name);
        printf("%s%s\n", bkt_buf_str(&b), doc->what == BKT_IS_DOMAIN ? "" : "/");
        return;
    }
    if (!ls->t->json)
        entry_line(doc, name);
    bkt_jout_open(&ls->t->j, NULL, '{');
    bkt_jout_members(&ls->t->j, "path:s name:s kind:s owner:s", path, name, what_word(doc->what),
                     doc->doc.owner);
    bkt_jout_time(&ls->t->j, "created", doc->doc.created);
    bkt_jout_time(&ls->t->j, "modified", doc->doc.modified);
    if (doc->what == BKT_IS_DOMAIN)
        bkt_shown_record_str(&r, "root", ls->verbose ? "root" : NULL, doc->doc.root.text);
    if (measure(ls, st, doc, &use)) {
        bkt_jout_members(&ls->t->j, "chunks:n bytes:n", use.n, use.bytes);
        bkt_say(&b, "%llu chunk objects, ", (unsigned long long)use.n);
        bkt_show_bytes(&b, use.bytes, ls->human);
        bkt_say_str(&b, ls->human ? " in all" : " bytes in all");
        bkt_shown_record_row(&r, "storage", &b);
    }
    acls_of(ls, &doc->doc);
    bkt_jout_close(&ls->t->j);
}

static int on_name(const char *path, void *names) { return bkt_strs_add(names, path); }

static void list_folder(struct ls *ls, struct bkt_store *st, const char *path, unsigned depth);

/* Shows entries from @p from on, as many as are requested together. */
static void list_batch(struct ls *ls, struct bkt_store *st, char **paths, size_t n, unsigned depth)
{
    struct bkt_doc *docs = calloc(n, sizeof *docs);
    if (!docs) {
        ls->rc = bkt_tool_fail(ls->t, "out of memory");
        return;
    }
    bkt_docs_get(st, paths, n, docs);
    for (size_t i = 0; i < n; i++) {
        if (docs[i].rc < 0)
            ls->rc = bkt_tool_error(ls->t, paths[i], &docs[i].why);
        else
            entry(ls, st, paths[i], &docs[i]);
        if (docs[i].rc == BKT_OK && ls->recursive && docs[i].what != BKT_IS_DOMAIN)
            list_folder(ls, st, paths[i], depth + 1);
        bkt_doc_fini(&docs[i]);
    }
    free(docs);
}

static void list_folder(struct ls *ls, struct bkt_store *st, const char *path, unsigned depth)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs names = {0};
    struct bkt_err                             err   = {.n = 0};
    if (bkt_bucket_place_list(st, path, on_name, &names, &err) < 0)
        ls->rc = bkt_tool_error(ls->t, path, &err);
    if (depth > BKT_TOOL_FOLDERS) {
        ls->rc = bkt_tool_fail(ls->t, "%s: folders are nested deeper than %d", path, BKT_TOOL_FOLDERS);
        return;
    }
    for (size_t i = 0; i < names.n; i += BKT_TOOL_BATCH)
        list_batch(ls, st, names.v + i, names.n - i < BKT_TOOL_BATCH ? names.n - i : BKT_TOOL_BATCH, depth);
}

/* ---- one argument ---- */

static void list_domain(struct ls *ls, const struct bkt_bucket_place *p, const char *inner)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(p->store, p->path);
    BKT_CLEANUP(bkt_domain_closep) struct bkt_domain *d = NULL;
    struct bkt_err                                err  = {.n = 0};
    if (!name || bkt_domain_open(name, &ls->t->set, &d, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, name, &err);
        return;
    }
    bkt_jout_open(&ls->t->j, NULL, '{');
    bkt_jout_members(&ls->t->j, "domain:u owner:s", bkt_domain_name(d), bkt_domain_doc(d)->owner);
    acls_of(ls, bkt_domain_doc(d));
    bkt_jout_open(&ls->t->j, "objects", '[');
    show_domain(ls, d, inner);
    bkt_jout_close(&ls->t->j);
    bkt_jout_close(&ls->t->j);
}

static int list_place(struct ls *ls, const char *name, struct plain_file *plain, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc   = {0};
    BKT_CLEANUP(bkt_freep) char                 *inner = NULL;
    BKT_PASS(bkt_bucket_place_open(name, &ls->t->set, &p, err));
    BKT_PASS(bkt_bucket_place_find(&p, plain, &ls->t->set, &doc, &inner, err));
    if (doc.what == BKT_IS_DOMAIN) {
        list_domain(ls, &p, inner);
        return BKT_OK;
    }
    if (doc.what == BKT_IS_ABSENT)
        return bkt_bucket_place_absent(&p, name, "no such domain or folder", err);
    BKT_PASS(bkt_doc_may(&doc.doc, p.path, &ls->t->set, doc.what == BKT_IS_FOLDER ? BKT_ACL_READ : 0, err));
    bkt_jout_open(&ls->t->j, NULL, '{');
    bkt_jout_members(&ls->t->j, "folder:s owner:s", p.path, doc.doc.owner);
    acls_of(ls, &doc.doc);
    bkt_jout_open(&ls->t->j, "entries", '[');
    list_folder(ls, p.store, p.path, 0);
    bkt_jout_close(&ls->t->j);
    bkt_jout_close(&ls->t->j);
    return BKT_OK;
}

static int list_name(struct ls *ls, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(plain_file_fini) struct plain_file plain = {.file = -1};
    struct bkt_err                                 why   = {.n = 0};
    BKT_PASS(plain_file_ask(name, &ls->t->set, &plain, err));
    int rc = list_place(ls, name, &plain, &why);
    if (rc < 0)
        BKT_PASS(bkt_tool_instead(ls->t, &plain, true, rc, &why, err));
    if (rc < 0)
        show_file(ls, &plain);
    return BKT_OK;
}

static int run(struct bkt_tool *t)
{
    static char here[] = ".";
    char       *alone  = here;
    char      **names  = t->n_args ? t->args : &alone;
    int         n      = t->n_args ? t->n_args : 1;
    struct ls ls   = {
        .t         = t,
        .recursive = bkt_tool_has(t, "recursive") > 0,
        .verbose   = bkt_tool_has(t, "verbose") > 0,
        .human     = bkt_tool_has(t, "human-readable") > 0,
        .names     = bkt_tool_has(t, "names") > 0,
        .attrs     = bkt_tool_has(t, "showattrs") > 0,
        .acls      = bkt_tool_has(t, "showacls") > 0,
        .pattern   = bkt_tool_opt(t, "pattern"),
    };
    bkt_jout_open(&t->j, NULL, '[');
    for (int i = 0; i < n; i++) {
        struct bkt_err err = {.n = 0};
        if (!t->json && n > 1)
            printf("%s%s:\n", i ? "\n" : "", names[i]);
        if (list_name(&ls, names[i], &err) < 0)
            ls.rc = bkt_tool_error(t, names[i], &err);
    }
    bkt_jout_close(&t->j);
    return ls.rc;
}

static const struct bkt_opt opts[] = {
    {'r', "recursive", NULL, "go into folders, and into the groups of a domain or file", NULL},
    {'v', "verbose", NULL, "ids, times, types, and for datasets the number and place of chunks", NULL},
    {'n', "names", NULL, "names only", NULL},
    {'H', "human-readable", NULL, "sizes as 1.2M", NULL},
    {0, "showattrs", NULL, "attributes with their values", NULL},
    {0, "showacls", NULL, "access lists: c create, r read, u update, d delete, e read and p change the list",
     NULL},
    {0, "pattern", "GLOB", "only entries whose last name matches this shell pattern", NULL},
};
const struct bkt_verb bkt_verb_ls = {
    .name = "ls",
    .args = "[NAME]...",
    .max_args = -1,
    .help = "list the contents of folders, domains and HDF5 files",
    .text = "NAME is a bucket, a folder, a domain, or an object in a domain (DOMAIN/g1/x). It may also be a\n"
            "plain HDF5 file, in a store or on this machine, or an object in it. Without NAME, the working\n"
            "folder is listed.\n\n"
            "Each dataset is shown with its extent, type, layout, chunk shape and filters; -v counts its\n"
            "chunks. In folders, -v lists the keys of each domain to count its chunk objects and bytes, and\n"
            "-r goes into folders, not into domains.\n\n"
            "JSON: a list with an object per NAME: {\"folder\", \"owner\",\n"
            "\"entries\": [{\"path\", \"name\", \"kind\", ...}]} or {\"domain\", \"owner\",\n"
            "\"objects\": [{\"path\", \"link\", \"kind\", \"id\", \"type\", \"shape\", \"layout\", ...}]}.\n"
            "A plain file has {\"kind\": \"file\", \"file\", \"objects\"}, and the ids are addresses in the\n"
            "file.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
