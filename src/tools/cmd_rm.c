/* h5bucket rm: domains, and folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "edit.h"
#include "target.h"
#include "tool.h"

struct names {
    char **v;
    size_t n, cap;
};
static void names_fini(struct names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}
static int on_name(const char *path, void *arg)
{
    struct names *l = arg;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        char **v   = realloc(l->v, cap * sizeof *v);
        if (!v)
            return BKT_ENOMEM;
        l->v = v, l->cap = cap;
    }
    l->v[l->n] = strdup(path);
    return l->v[l->n] ? (l->n++, BKT_OK) : BKT_ENOMEM;
}

static bool asked(const struct bkt_tool *t, const char *what) { return bkt_tool_has(t, what) > 0; }

static void told(const struct bkt_tool *t, const char *what, const char *path)
{
    if (asked(t, "verbose") || asked(t, "dry-run"))
        printf("%s%s %s\n", asked(t, "dry-run") ? "would remove " : "removed ", what, path);
}

static int remove_domain(const struct bkt_tool *t, struct bkt_store *st, const char *path, const struct bkt_doc *doc,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_place_name(st, path);
    if (!name)
        BKT_NOMEM(err);
    BKT_PASS(bkt_doc_may(&doc->doc, path, &t->set, BKT_ACL_DELETE, err));
    if (!asked(t, "dry-run")) {
        BKT_PASS(bkt_domain_delete(name, &t->set, asked(t, "keep-objects"), err));
        BKT_PASS(bkt_catalog_delete(st, path, err));
    }
    told(t, "domain", name);
    return BKT_OK;
}

static int remove_path(const struct bkt_tool *t, struct bkt_store *st, const char *path, struct bkt_doc *doc, unsigned depth,
                       struct bkt_err *err);

#define MAX_DEPTH 200

static int remove_members(const struct bkt_tool *t, struct bkt_store *st, const struct names *in, unsigned depth, struct bkt_err *err)
{
    if (depth > MAX_DEPTH)
        BKT_FAIL(err, BKT_EUNSUP, "folders are nested deeper than %d", MAX_DEPTH);
    for (size_t i = 0; i < in->n; i++) {
        BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
        BKT_PASS(bkt_doc_get(st, in->v[i], &doc, err));
        BKT_PASS(remove_path(t, st, in->v[i], &doc, depth + 1, err));
    }
    return BKT_OK;
}

static int remove_folder(const struct bkt_tool *t, struct bkt_store *st, const char *path, const struct bkt_doc *doc,
                         unsigned depth, struct bkt_err *err)
{
    BKT_CLEANUP(names_fini) struct names     in  = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (!*path)
        BKT_FAIL(err, BKT_EINVAL, "a whole bucket is not removed");
    if (doc->what == BKT_IS_FOLDER)
        BKT_PASS(bkt_doc_may(&doc->doc, path, &t->set, BKT_ACL_DELETE, err));
    BKT_PASS(bkt_place_list(st, path, on_name, &in, err));
    if (in.n && !asked(t, "recursive"))
        BKT_FAIL(err, BKT_EEXIST, "%s is not empty; -r removes all that is in it", path);
    if (in.n && !asked(t, "yes") && !asked(t, "dry-run"))
        BKT_FAIL(err, BKT_EEXIST, "%s holds %zu folders or domains; -r wants --yes too, -n shows what would go", path, in.n);
    BKT_PASS(remove_members(t, st, &in, depth, err));
    if (doc->what == BKT_IS_FOLDER && !asked(t, "dry-run")) {
        if (bkt_buf_addf(&key, "%s/.domain.json", path) < 0)
            BKT_NOMEM(err);
        const char *one = bkt_buf_str(&key);
        BKT_PASS(bkt_store_delete(st, &one, 1, err));
    }
    told(t, "folder", path);
    return BKT_OK;
}

static int remove_path(const struct bkt_tool *t, struct bkt_store *st, const char *path, struct bkt_doc *doc, unsigned depth,
                       struct bkt_err *err)
{
    if (strcmp(path, "db") == 0 || strncmp(path, "db/", 3) == 0)
        BKT_FAIL(err, BKT_EINVAL, "the folder db is where the objects of all domains lie");
    if (doc->what == BKT_IS_DOMAIN)
        return remove_domain(t, st, path, doc, err);
    if (doc->what == BKT_IS_ABSENT)
        BKT_FAIL(err, BKT_ENOENT, "%s: no such domain or folder", path);
    return remove_folder(t, st, path, doc, depth, err);
}

static int run(struct bkt_tool *t)
{
    int rc = BKT_EXIT_OK;
    for (int i = 0; i < t->n_args; i++) {
        BKT_CLEANUP(bkt_place_fini) struct bkt_place p   = {0};
        BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
        struct bkt_err                               err = {.n = 0};
        int one = bkt_place_open(t->args[i], &t->set, &p, &err);
        if (one == BKT_OK && bkt_store_is_readonly(p.store))
            one = BKT_ERR(&err, BKT_EACCES, "%s can't be written to", bkt_store_uri(p.store));
        if (one == BKT_OK)
            one = bkt_doc_get(p.store, p.path, &doc, &err);
        if (one == BKT_OK)
            one = remove_path(t, p.store, p.path, &doc, 0, &err);
        if (one < 0)
            rc = bkt_tool_error(t, t->args[i], &err);
    }
    return rc;
}

static const struct bkt_opt opts[] = {
    {'r', "recursive", NULL, "folders with all that is in them; wants --yes", NULL},
    {'y', "yes", NULL, "yes, remove what is in the folders", NULL},
    {'n', "dry-run", NULL, "only tell what would be removed", NULL},
    {0, "keep-objects", NULL, "remove the domain's name, not its objects (another domain shares them)", NULL},
    {'v', "verbose", NULL, "tell what is removed", NULL},
};
const struct bkt_verb bkt_verb_rm = {
    .name = "rm", .args = "NAME...", .min_args = 1, .max_args = -1,
    .help = "remove domains with all their objects, and folders",
    .text = "A domain's document is deleted first, then its groups, datasets and chunks. Files that its chunks refer to are not\n"
            "touched. What access lists deny to the user is refused.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .run = run,
};
