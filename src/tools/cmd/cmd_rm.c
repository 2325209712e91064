/* h5bucket rm: domains, and folders. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/os/thread.h"
#include "schema/edit/edit.h"
#include "tools/bucket/target.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/tool.h"
#include "tools/cmd/catalog.h"
#include "tools/show/show.h"

/* Domains removed at once: each takes several requests, one after the other. */
#define TEAM 64

struct rm {
    struct bkt_tool  *t;
    struct bkt_store *st;
    bool              recursive, dry_run, force, keep, verbose;
    bool              stopped; /* by Ctrl-C, which has been reported */
    unsigned          n_failed;
};

/* ---- reports ---- */

/* @p why: NULL: it was removed (or would be) */
static void report_removal(struct rm *r, const char *what, const char *path, const struct bkt_err *why)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(r->st, path);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    bool                                     stop = why && why->code == BKT_ECANCEL && interrupt_status();
    if (why && !(stop && r->stopped))
        bkt_tool_error(r->t, name, why);
    r->stopped |= stop;
    r->n_failed += why != NULL;
    bkt_jout_open(&r->t->j, NULL, '{');
    bkt_jout_members(&r->t->j, "kind:s name:u removed:b", what, name, !why && !r->dry_run);
    if (why)
        bkt_jout_str(&r->t->j, "error", bkt_err_reason(why, why->code));
    bkt_jout_close(&r->t->j);
    if (!r->t->json && !why && (r->verbose || r->dry_run)) {
        bkt_show_url(&b, name ? name : path);
        printf("%s%s %s\n", r->dry_run ? "would remove " : "removed ", what, bkt_buf_str(&b));
    }
}

/* ---- domains ---- */

static int delete_mark(struct bkt_store *st, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&key, "%s/" BKT_DELETE_MARK, path));
    return bkt_key_delete(st, bkt_buf_str(&key), err);
}

/* Called by several threads. */
static int remove_domain(const struct rm *r, const char *path, const struct bkt_doc *doc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(r->st, path);
    BKT_NEED(err, name);
    BKT_PASS(interrupt_check(err));
    BKT_PASS(bkt_doc_may(&doc->doc, path, &r->t->set, BKT_ACL_DELETE, err));
    if (r->dry_run)
        return BKT_OK;
    int rc = bkt_domain_delete(name, &r->t->set, r->keep, err);
    if (rc == BKT_ENOENT) { /* the document exists, but not its root group: the remaining objects are deleted,
                               too */
        bkt_err_clear(err);
        rc = bkt_doc_delete(r->st, path, err);
        if (rc == BKT_OK && !r->keep && bkt_id_is_v2(&doc->doc.root))
            rc = bkt_remove_tree(r->st, &doc->doc.root, err);
        else if (rc == BKT_OK)
            rc = delete_mark(r->st, path, err);
    }
    BKT_PASS(rc);
    return bkt_catalog_delete(r->st, path, err);
}

struct team {
    const struct rm *r;
    char           **paths;
    struct bkt_doc  *docs; /* failures are noted in rc and why */
    size_t           n;
    atomic_size_t    next;
};

static void *work(void *arg)
{
    struct team *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
        if (w->docs[i].rc == BKT_OK && w->docs[i].what == BKT_IS_DOMAIN)
            w->docs[i].rc = remove_domain(w->r, w->paths[i], &w->docs[i], &w->docs[i].why);
    return NULL;
}

static void remove_domains(const struct rm *r, char **paths, struct bkt_doc *docs, size_t n)
{
    pthread_t   ids[TEAM];
    struct team w       = {.r = r, .paths = paths, .docs = docs, .n = n};
    size_t      started = 0;
    while (started + 1 < n && started < TEAM && bkt_thread_start(&ids[started], work, &w) == 0)
        started++;
    (void)work(&w);
    while (started > 0)
        (void)pthread_join(ids[--started], NULL);
}

/* ---- folders ---- */

static int on_name(const char *path, void *names) { return bkt_strs_add(names, path); }

static void remove_path(struct rm *r, const char *path, struct bkt_doc *doc, unsigned depth);

static void remove_batch(struct rm *r, char **paths, size_t n, unsigned depth)
{
    struct bkt_doc *docs = calloc(n, sizeof *docs);
    if (!docs) {
        report_removal(r, "folder", paths[0], &(struct bkt_err){.code = BKT_ENOMEM});
        return;
    }
    bkt_docs_get(r->st, paths, n, docs);
    remove_domains(r, paths, docs, n);
    for (size_t i = 0; i < n; i++) {
        if (docs[i].what == BKT_IS_ABSENT && docs[i].rc == BKT_OK)
            docs[i].what = BKT_IS_PREFIX; /* it was listed */
        remove_path(r, paths[i], &docs[i], depth + 1);
        bkt_doc_fini(&docs[i]);
    }
    free(docs);
}

/* Asks whether the whole content of the folder may be deleted. */
static bool confirmed(const struct rm *r, const char *path, size_t n)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(r->st, path);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    char                                     answer[16] = "";
    if (r->dry_run || bkt_tool_has(r->t, "yes"))
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    bkt_show_url(&b, name ? name : path);
    fprintf(stderr, "h5bucket rm: %s holds %zu folders or domains. Remove them with all their contents? "
            "[y/N] ", bkt_buf_str(&b), n);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int remove_folder(struct rm *r, const char *path, const struct bkt_doc *doc, unsigned depth,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs in = {0};
    BKT_PASS(interrupt_check(err));
    BKT_FAIL_IF(err, !*path, BKT_EINVAL, "a whole bucket can't be removed");
    BKT_FAIL_IF(err, depth > BKT_TOOL_FOLDERS, BKT_EUNSUP, "folders are nested deeper than %d",
                BKT_TOOL_FOLDERS);
    if (doc->what == BKT_IS_FOLDER)
        BKT_PASS(bkt_doc_may(&doc->doc, path, &r->t->set, BKT_ACL_DELETE, err));
    BKT_PASS(bkt_bucket_place_list(r->st, path, on_name, &in, err));
    BKT_FAIL_IF(err, in.n && !r->recursive, BKT_EEXIST, "not empty; -r removes all its contents");
    BKT_FAIL_IF(err, !in.n && doc->what == BKT_IS_PREFIX && depth == 0, BKT_ENOENT,
                "no document and no domain in it");
    BKT_FAIL_IF(err, in.n && depth == 0 && !confirmed(r, path, in.n), BKT_ECANCEL,
                "it holds %zu folders or domains; -r needs --yes too, -n lists what would "
                "be removed",
                in.n);
    unsigned before = r->n_failed;
    for (size_t i = 0; i < in.n; i += BKT_TOOL_BATCH) {
        BKT_PASS(interrupt_check(err));
        remove_batch(r, in.v + i, in.n - i < BKT_TOOL_BATCH ? in.n - i : BKT_TOOL_BATCH, depth);
    }
    BKT_PASS(interrupt_check(err));
    BKT_FAIL_IF(err, r->n_failed > before, BKT_EEXIST, "kept, since not everything in it was removed");
    return doc->what == BKT_IS_FOLDER && !r->dry_run ? bkt_doc_delete(r->st, path, err) : BKT_OK;
}

/* ---- one name ---- */

/* Resumes the interrupted removal of a version 1 domain: its document, which leads to the rest, is put
 * back. */
static int take_up(const struct rm *r, const char *path, struct bkt_doc *doc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf mark = {0}, json = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&mark, "%s/" BKT_DELETE_MARK, path));
    int rc = bkt_store_get(r->st, bkt_buf_str(&mark), 0, BKT_WHOLE, &json, NULL);
    if (rc < 0 || r->dry_run)
        return rc == BKT_ENOENT || rc == BKT_OK ? BKT_OK
                                                : BKT_ERR(err, rc, "%s can't be read", bkt_buf_str(&mark));
    BKT_PASS(bkt_doc_put(r->st, path, &json, NULL, err));
    bkt_doc_fini(doc);
    return bkt_doc_get(r->st, path, doc, err);
}

static int no_place(const struct rm *r, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {bkt_store_share(r->st), strdup(path)};
    BKT_NEED(err, p.path);
    return bkt_bucket_place_absent(&p, path, "no such domain or folder", err);
}

static int remove_any(struct rm *r, const char *path, struct bkt_doc *doc, unsigned depth,
                      struct bkt_err *err)
{
    BKT_FAIL_IF(err, bkt_name_is_reserved(path), BKT_EINVAL, BKT_NAME_RESERVED, path);
    if (doc->rc == BKT_EFORMAT && r->force)
        return r->dry_run ? BKT_OK : bkt_doc_delete(r->st, path, err);
    if (doc->rc == BKT_EFORMAT)
        BKT_TRY(err, bkt_err_copy(err, doc->rc, &doc->why), "its document is malformed (--force removes it)");
    if (doc->rc < 0)
        return bkt_err_copy(err, doc->rc, &doc->why);
    if ((doc->what == BKT_IS_ABSENT || doc->what == BKT_IS_PREFIX) && *path) {
        BKT_PASS(take_up(r, path, doc, err));
        if (doc->what == BKT_IS_DOMAIN)
            return remove_domain(r, path, doc, err);
    }
    if (doc->what == BKT_IS_ABSENT)
        return no_place(r, path, err);
    if (doc->what == BKT_IS_DOMAIN) /* in a folder it has been removed already */
        return depth ? BKT_OK : remove_domain(r, path, doc, err);
    return remove_folder(r, path, doc, depth, err);
}

static void remove_path(struct rm *r, const char *path, struct bkt_doc *doc, unsigned depth)
{
    struct bkt_err err = {.n = 0};
    int            rc  = remove_any(r, path, doc, depth, &err);
    if (rc == BKT_ENOENT && r->force && depth == 0)
        return;
    err.code = rc;
    report_removal(r, doc->what == BKT_IS_DOMAIN ? "domain" : "folder", path, rc < 0 ? &err : NULL);
}

static int remove_name(struct rm *r, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
    BKT_PASS(bkt_bucket_place_may_delete(name, &r->t->set, err));
    BKT_PASS(bkt_bucket_place_open(name, &r->t->set, &p, err));
    BKT_PASS(bkt_bucket_place_writable(&p, err));
    int rc = bkt_doc_get(p.store, p.path, &doc, NULL);
    if (rc < 0 && doc.rc == BKT_OK)
        return BKT_ERR(err, rc, "%s can't be listed", name);
    r->st = p.store;
    remove_path(r, p.path, &doc, 0);
    return BKT_OK;
}

static int run(struct bkt_tool *t)
{
    struct rm r = {
        .t         = t,
        .recursive = bkt_tool_has(t, "recursive") > 0,
        .dry_run   = bkt_tool_has(t, "dry-run") > 0,
        .force     = bkt_tool_has(t, "force") > 0,
        .keep      = bkt_tool_has(t, "keep-objects") > 0,
        .verbose   = bkt_tool_has(t, "verbose") > 0,
    };
    interrupt_catch();
    bkt_jout_open(&t->j, NULL, '[');
    for (int i = 0; i < t->n_args; i++) {
        struct bkt_err err = {.n = 0};
        int            rc  = remove_name(&r, t->args[i], &err);
        if (rc < 0 && !(rc == BKT_ENOENT && r.force)) {
            r.n_failed++;
            bkt_tool_error(t, t->args[i], &err);
        }
    }
    bkt_jout_close(&t->j);
    return r.n_failed ? BKT_EXIT_FAIL : BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'r', "recursive", NULL, "folders with all their contents; asks first, or needs --yes", NULL},
    {'y', "yes", NULL, "remove the folders' contents without a question", NULL},
    {'n', "dry-run", NULL, "only print what would be removed", NULL},
    {'f', "force", NULL, "ignore missing names; remove malformed documents, too", NULL},
    {0, "keep-objects", NULL, "remove the domain's name, not its objects (another domain shares them)", NULL},
    {'v', "verbose", NULL, "print what is removed", NULL},
};
const struct bkt_verb bkt_verb_rm = {
    .name = "rm", .args = "NAME...", .min_args = 1, .max_args = -1,
    .help = "remove domains with all their objects, and folders",
    .text = "A domain's document is deleted first, then its groups, datasets and chunks. Files that its\n"
            "chunks refer to are not touched. If an access list denies a removal to the user, it fails.\n"
            "Failed removals are reported, the others go on, and folders that still hold something stay.\n"
            "After Ctrl-C, removals of domains that have begun are finished. If a removal is killed,\n"
            "h5bucket verify BUCKET finds its remains; for a domain of schema version 1, the same rm again\n"
            "removes them.\n\n"
            "  h5bucket rm -rn s3://b/home/old        # what would be removed\n"
            "  h5bucket rm -r --yes s3://b/home/old\n\n"
            "JSON: [{\"kind\": \"domain\" or \"folder\", \"name\", \"removed\", \"error\" (if it failed)}].",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
