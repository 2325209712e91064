/* h5bucket ls: lists a folder, or a domain. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/cmd/ls.h"
#include "tools/source/key_list.h"
#include "tools/source/plain_name.h"

bool bkt_ls_wanted(const struct bkt_ls *ls, const char *path)
{
    const char *last = strrchr(path, '/');
    return !ls->pattern || fnmatch(ls->pattern, last ? last + 1 : path, 0) == 0;
}

void bkt_ls_acls(struct bkt_ls *ls, const struct bkt_domain_doc *doc)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b   = {0};
    struct bkt_err                           err = {.n = 0};
    if (!ls->acls)
        return;
    if (bkt_doc_may(doc, "", &ls->t->set, BKT_ACL_READ_ACL, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, NULL, &err);
        return;
    }
    bkt_jout_acls(&ls->j, doc);
    for (size_t i = 0; !ls->t->json && i < doc->n_acls; i++) {
        bkt_buf_clear(&b);
        bkt_show_acl(&b, doc->acls[i].allow);
        bkt_say_str(&b, "  ");
        bkt_show_name(&b, doc->acls[i].user);
        printf("    acl        %s\n", bkt_buf_str(&b));
    }
}

/* ---- folders ---- */

static const char *what_word(enum bkt_what w) { return w == BKT_IS_DOMAIN ? "domain" : "folder"; }

static int on_used(const struct bkt_scanned *s, void *arg)
{
    struct bkt_use *u = arg;
    u->n += s->what == BKT_SCAN_CHUNK;
    u->bytes += s->what == BKT_SCAN_OTHER ? 0 : s->entry->size;
    return BKT_OK;
}

/* Size of a domain, by one LIST; unknown for version 1. */
static bool measure(const struct bkt_ls *ls, struct bkt_store *st, const struct bkt_doc *doc,
                    struct bkt_use *u)
{
    *u = (struct bkt_use){.n = 0};
    return ls->verbose && doc->what == BKT_IS_DOMAIN &&
           bkt_scan(st, &doc->doc.root, on_used, u, NULL) == BKT_OK;
}

static void line_of(const struct bkt_doc *doc, const char *name)
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

static void entry(struct bkt_ls *ls, struct bkt_store *st, const char *path, const struct bkt_doc *doc)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    BKT_CLEANUP(bkt_freep) char             *name = bkt_place_name(st, path);
    const struct bkt_record                  r    = {.j = &ls->j, .indent = 4, .width = 10};
    struct bkt_use                           use;
    if (!name || !bkt_ls_wanted(ls, path))
        return;
    if (ls->names && !ls->t->json) {
        bkt_show_name(&b, name);
        printf("%s%s\n", bkt_buf_str(&b), doc->what == BKT_IS_DOMAIN ? "" : "/");
        return;
    }
    if (!ls->t->json)
        line_of(doc, name);
    bkt_jout_open(&ls->j, NULL, '{');
    bkt_jout_str(&ls->j, "path", path);
    bkt_jout_str(&ls->j, "name", name);
    bkt_jout_str(&ls->j, "kind", what_word(doc->what));
    bkt_jout_str(&ls->j, "owner", doc->doc.owner);
    bkt_jout_time(&ls->j, "created", doc->doc.created);
    bkt_jout_time(&ls->j, "modified", doc->doc.modified);
    if (doc->what == BKT_IS_DOMAIN)
        bkt_record_str(&r, "root", ls->verbose ? "root" : NULL, doc->doc.root.text);
    if (measure(ls, st, doc, &use)) {
        bkt_jout_u64(&ls->j, "chunks", use.n);
        bkt_jout_u64(&ls->j, "bytes", use.bytes);
        bkt_say(&b, "%llu chunk objects, ", (unsigned long long)use.n);
        bkt_show_bytes(&b, use.bytes, ls->human);
        bkt_say_str(&b, ls->human ? " in all" : " bytes in all");
        bkt_record_row(&r, "storage", &b);
    }
    bkt_ls_acls(ls, &doc->doc);
    bkt_jout_close(&ls->j);
}

static int on_name(const char *path, void *names) { return bkt_strs_add(names, path); }

static void list_folder(struct bkt_ls *ls, struct bkt_store *st, const char *path, unsigned depth);

/* Shows entries from @p from on, as many as are requested together. */
static void list_batch(struct bkt_ls *ls, struct bkt_store *st, char **paths, size_t n, unsigned depth)
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

static void list_folder(struct bkt_ls *ls, struct bkt_store *st, const char *path, unsigned depth)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs names = {0};
    struct bkt_err                             err   = {.n = 0};
    if (bkt_place_list(st, path, on_name, &names, &err) < 0)
        ls->rc = bkt_tool_error(ls->t, path, &err);
    if (depth > BKT_TOOL_FOLDERS) {
        ls->rc = bkt_tool_fail(ls->t, "%s: folders are nested deeper than %d", path, BKT_TOOL_FOLDERS);
        return;
    }
    for (size_t i = 0; i < names.n; i += BKT_TOOL_BATCH)
        list_batch(ls, st, names.v + i, names.n - i < BKT_TOOL_BATCH ? names.n - i : BKT_TOOL_BATCH, depth);
}

/* ---- one argument ---- */

static void list_domain(struct bkt_ls *ls, const struct bkt_place *p, const char *inner)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_place_name(p->store, p->path);
    struct bkt_domain           *d    = NULL;
    struct bkt_err               err  = {.n = 0};
    if (!name || bkt_domain_open(name, &ls->t->set, &d, &err) < 0) {
        ls->rc = bkt_tool_error(ls->t, name, &err);
        return;
    }
    bkt_jout_open(&ls->j, NULL, '{');
    bkt_jout_url(&ls->j, "domain", bkt_domain_name(d));
    bkt_jout_str(&ls->j, "owner", bkt_domain_doc(d)->owner);
    bkt_ls_acls(ls, bkt_domain_doc(d));
    bkt_jout_open(&ls->j, "objects", '[');
    bkt_ls_domain(ls, d, inner);
    bkt_jout_close(&ls->j);
    bkt_jout_close(&ls->j);
    bkt_domain_close(d);
}

static int list_place(struct bkt_ls *ls, const char *name, struct plain_file *plain, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_place_fini) struct bkt_place p     = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc   = {0};
    BKT_CLEANUP(bkt_freep) char                 *inner = NULL;
    BKT_PASS(bkt_place_open(name, &ls->t->set, &p, err));
    BKT_PASS(bkt_place_find(&p, plain, &ls->t->set, &doc, &inner, err));
    if (doc.what == BKT_IS_DOMAIN) {
        list_domain(ls, &p, inner);
        return BKT_OK;
    }
    if (doc.what == BKT_IS_ABSENT)
        return bkt_place_absent(&p, name, "no such domain or folder", err);
    BKT_PASS(bkt_doc_may(&doc.doc, p.path, &ls->t->set, doc.what == BKT_IS_FOLDER ? BKT_ACL_READ : 0, err));
    bkt_jout_open(&ls->j, NULL, '{');
    bkt_jout_str(&ls->j, "folder", p.path);
    bkt_jout_str(&ls->j, "owner", doc.doc.owner);
    bkt_ls_acls(ls, &doc.doc);
    bkt_jout_open(&ls->j, "entries", '[');
    list_folder(ls, p.store, p.path, 0);
    bkt_jout_close(&ls->j);
    bkt_jout_close(&ls->j);
    return BKT_OK;
}

static int list_name(struct bkt_ls *ls, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(plain_file_fini) struct plain_file plain = {.file = -1};
    BKT_CLEANUP(bkt_freep) char                   *info  = bkt_tool_info(ls->t);
    struct bkt_err                                 why   = {.n = 0};
    if (!info)
        BKT_NOMEM(err);
    BKT_PASS(plain_file_ask(name, &ls->t->set, &plain, err));
    int rc = list_place(ls, name, &plain, &why);
    if (rc < 0)
        BKT_PASS(plain_file_instead(&plain, &ls->t->set, info, true, rc, &why, err));
    if (rc < 0)
        bkt_ls_file(ls, &plain);
    return BKT_OK;
}

static int run(struct bkt_tool *t)
{
    static char here[] = ".";
    char       *alone  = here;
    char      **names  = t->n_args ? t->args : &alone;
    int         n      = t->n_args ? t->n_args : 1;
    struct bkt_ls ls   = {
        .t         = t,
        .recursive = bkt_tool_has(t, "recursive") > 0,
        .verbose   = bkt_tool_has(t, "verbose") > 0,
        .human     = bkt_tool_has(t, "human-readable") > 0,
        .names     = bkt_tool_has(t, "names") > 0,
        .attrs     = bkt_tool_has(t, "showattrs") > 0,
        .acls      = bkt_tool_has(t, "showacls") > 0,
        .pattern   = bkt_tool_opt(t, "pattern"),
    };
    bkt_jout_init(&ls.j, t->json ? stdout : NULL);
    bkt_jout_open(&ls.j, NULL, '[');
    for (int i = 0; i < n; i++) {
        struct bkt_err err = {.n = 0};
        if (!t->json && n > 1)
            printf("%s%s:\n", i ? "\n" : "", names[i]);
        if (list_name(&ls, names[i], &err) < 0)
            ls.rc = bkt_tool_error(t, names[i], &err);
    }
    bkt_jout_close(&ls.j);
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
            "JSON: a list with an object per NAME: {\"folder\", \"owner\", \"entries\": [{\"path\", "
            "\"name\", \"kind\", ...}]} or\n"
            "{\"domain\", \"owner\", \"objects\": [{\"path\", \"link\", \"kind\", \"id\", \"type\", "
            "\"shape\", \"layout\", ...}]}.\n"
            "A plain file has {\"kind\": \"file\", \"file\", \"objects\"}, and the ids are addresses in the "
            "file.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
