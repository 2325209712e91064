/* h5bucket cp and mv: domains, within a store or between two. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schema/edit/edit.h"
#include "tools/bucket/domain_copy.h"
#include "tools/bucket/snapshots.h"
#include "tools/bucket/target.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/tool.h"
#include "tools/cmd/catalog.h"
#include "tools/show/show.h"

/* Shows the progress on a terminal. */
static void progress(const struct bkt_domain_copy *c)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_bytes(&b, c->bytes, true);
    fprintf(stderr, "\r%llu objects, %llu chunks, %s   ", (unsigned long long)c->n_objects,
            (unsigned long long)c->n_chunks, bkt_buf_str(&b));
}

/* @p renamed: only the document moved, and the counts are 0 */
static void report(struct bkt_tool *t, const struct bkt_copy_target *target, const struct bkt_domain_copy *c,
                   bool renamed)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(target->to.store, target->to.path);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    bkt_jout_object(&t->j, "domain:u objects:n chunks:n bytes:n datasets_in_files:n datasets_in_raw_files:n",
                    name, c->n_objects, c->n_chunks, c->bytes, c->n_refs, c->n_raw);
    if (t->json || !bkt_tool_has(t, "verbose"))
        return;
    bkt_show_url(&b, name ? name : target->to.path);
    if (renamed)
        printf("%s: renamed\n", bkt_buf_str(&b));
    else
        printf("%s: %llu objects, %llu chunk objects, %llu bytes\n", bkt_buf_str(&b),
               (unsigned long long)c->n_objects, (unsigned long long)c->n_chunks,
               (unsigned long long)c->bytes);
}

static bool same_store(const struct bkt_copy_target *target)
{
    return strcmp(bkt_store_uri(target->to.store), bkt_store_uri(bkt_domain_store(target->src))) == 0;
}

/* The copy of a domain with a snapshot gets one, too.  If that fails, the copy is still complete. */
static void keep_snapshot(const struct bkt_tool *t, const struct bkt_copy_target *target,
                          const struct bkt_domain_copy *c)
{
    struct bkt_err err = {.n = 0};
    if (!bkt_domain_doc(target->src)->snapshot.objects || !bkt_id_is_v2(&c->root) ||
        bkt_store_is_local(target->to.store))
        return;
    struct snapshot_domain of = {target->to.store, target->to.path, &c->root};
    int rc = snapshot_make(&of, NULL, false, 0, NULL, &err);
    if (rc < 0)
        (void)bkt_tool_fail(t, "%s: no snapshot: %s", target->to.path, bkt_err_reason(&err, rc));
}

static int copy(const struct bkt_tool *t, struct bkt_copy_target *target, struct bkt_domain_copy *c,
                struct bkt_err *err)
{
    c->progress = isatty(STDERR_FILENO) && !t->json ? progress : NULL;
    int rc = bkt_domain_copy(target->src, &target->to, c, err);
    if (c->progress && (c->n_objects || c->n_chunks))
        fputc('\n', stderr);
    BKT_PASS(rc);
    rc = bkt_copy_target_put(t, target, &c->doc, err);
    if (rc == BKT_EEXIST || rc == BKT_EACCES) /* certainly not stored: no document leads to the objects */
        (void)!bkt_remove_tree(target->to.store, &c->root, NULL);
    BKT_PASS(rc);
    keep_snapshot(t, target, c);
    if (c->n_refs && !same_store(target))
        fprintf(
            stderr,
            "h5bucket %s: the data of %llu datasets stay in the files that they refer to, in or beside %s;\n"
            "  to read them through the copy, put that into the setting allow\n",
            t->verb->name, (unsigned long long)c->n_refs, bkt_store_uri(bkt_domain_store(target->src)));
    if (c->n_raw)
        fprintf(stderr,
                "h5bucket %s: the data of %llu datasets stay in raw files (H5Pset_external), whose "
                "names are kept:\n"
                "  %s; h5bucket verify reports files that are missing\n",
                t->verb->name, (unsigned long long)c->n_raw,
                bkt_store_is_local(target->to.store)
                    ? "relative ones count from a program's working folder, or HDF5_EXTFILE_PREFIX"
                    : "relative ones count from the copy's folder, so copy them beside it");
    return BKT_OK;
}

static void clone_fini(struct bkt_domain_copy *c)
{
    bkt_buf_fini(&c->doc);
}

static int run_cp(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_copy_target_fini) struct bkt_copy_target target = {.src = NULL};
    BKT_CLEANUP(clone_fini) struct bkt_domain_copy c = {.n_objects = 0};
    interrupt_catch();
    BKT_PASS(bkt_copy_target_open(t, t->args[0], t->args[1], bkt_tool_has(t, "force") > 0, &target, &t->err));
    BKT_PASS(copy(t, &target, &c, &t->err));
    report(t, &target, &c, false);
    return BKT_EXIT_OK;
}

/* ---- mv ---- */

/* Moves the journal of a killed load.  The journal of an append must be found under the new name, where the
 * next append undoes it.  A root id must be gone before the old document is: without a document it would mean
 * that nobody owns the objects. */
static int take_journal(const struct bkt_copy_target *target, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf from = {0}, to = {0}, text = {0};
    struct bkt_store *st = bkt_domain_store(target->src);
    BKT_NEED(err, bkt_buf_addf(&from, "%s/" BKT_LOAD_JOURNAL, target->from.path) >= 0 &&
                      bkt_buf_addf(&to, "%s/" BKT_LOAD_JOURNAL, target->to.path) >= 0);
    int rc = bkt_store_get(st, bkt_buf_str(&from), 0, BKT_WHOLE, &text, err);
    if (rc == BKT_ENOENT)
        return bkt_err_clear(err), BKT_OK;
    BKT_PASS(rc);
    if (!bkt_id_valid(bkt_buf_str(&text)))
        BKT_PASS(bkt_store_put(st, bkt_buf_str(&to), text.ptr, text.len, NULL, NULL, NULL, err));
    return bkt_key_delete(st, bkt_buf_str(&from), err);
}

/* In one store the objects stay in place, and only the document moves. */
static int rename_doc(const struct bkt_tool *t, struct bkt_copy_target *target, struct bkt_err *err)
{
    BKT_PASS(bkt_copy_target_put(t, target, &target->doc.json, err));
    BKT_PASS(take_journal(target, err));
    BKT_PASS(bkt_doc_delete(bkt_domain_store(target->src), target->from.path, err));
    return bkt_catalog_delete(bkt_domain_store(target->src), target->from.path, err);
}

static int move(const struct bkt_tool *t, struct bkt_copy_target *target, struct bkt_domain_copy *c,
                struct bkt_err *err)
{
    struct bkt_store *st = bkt_domain_store(target->src);
    BKT_PASS(copy(t, target, c, err));
    int rc = bkt_doc_delete(st, target->from.path, err);
    rc = rc ? rc : bkt_domain_delete_objects(target->src, err);
    BKT_TRY(err, rc, "it was copied, but the original could not be deleted");
    return bkt_catalog_delete(st, target->from.path, err);
}

static int run_mv(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_copy_target_fini) struct bkt_copy_target target = {.src = NULL};
    BKT_CLEANUP(clone_fini) struct bkt_domain_copy c = {.n_objects = 0};
    interrupt_catch();
    BKT_PASS(bkt_bucket_place_may_delete(t->args[0], &t->set, &t->err));
    BKT_PASS(bkt_copy_target_open(t, t->args[0], t->args[1], bkt_tool_has(t, "force") > 0, &target, &t->err));
    BKT_PASS(bkt_domain_may_write(target.src, BKT_ACL_DELETE, &t->err));
    const bool stays = same_store(&target); /* the objects, in place */
    BKT_PASS(stays ? rename_doc(t, &target, &t->err) : move(t, &target, &c, &t->err));
    report(t, &target, &c, stays);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'f', "force", NULL, "replace an existing domain", NULL},
    {'v', "verbose", NULL, "print what was copied", NULL},
};
const struct bkt_verb bkt_verb_cp = {
    .name = "cp",
    .args = "DOMAIN TARGET",
    .min_args = 2,
    .max_args = 2,
    .help = "copy a domain, within a bucket or into another",
    .text = "TARGET is the new domain's name, or a folder. All objects and chunks are copied as they are\n"
            "stored. If the bucket holds the domain's objects already, the copies get new ids; links,\n"
            "committed types and references are changed to them. A domain of schema version 1 becomes one\n"
            "of version 2. Owner and access list are kept. The copy appears when it is complete. With\n"
            "--force it replaces an existing domain, also only then.\n\n"
            "Chunks in HDF5 files stay there: the copy refers to the same files. Raw files\n"
            "(H5Pset_external) stay, too, under the same names, and a note reports them. Their relative\n"
            "names count from the domain's folder in a bucket, and from the program's working folder on\n"
            "this machine. Relative names in external links are kept, so they lead elsewhere from another\n"
            "folder.\n\n"
            "JSON: {\"domain\", \"objects\", \"chunks\", \"bytes\", \"datasets_in_files\",\n"
            "\"datasets_in_raw_files\"}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run_cp,
};
const struct bkt_verb bkt_verb_mv = {
    .name = "mv",
    .args = "DOMAIN TARGET",
    .min_args = 2,
    .max_args = 2,
    .help = "move or rename a domain, within a bucket or into another",
    .text = "TARGET is the new domain's name, or a folder. Within a bucket only the domain's document\n"
            "moves; its objects stay in place. Into another bucket the domain is copied (h5bucket cp), and\n"
            "then deleted here. Other domains' external links to it are not changed. Relative names in its\n"
            "own external links, and names of raw files (H5Pset_external), are not changed either.\n\n"
            "JSON: {\"domain\", \"objects\", \"chunks\", \"bytes\", \"datasets_in_files\",\n"
            "\"datasets_in_raw_files\"}; the numbers are 0 if only the document moved.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run_mv,
};
