/* h5bucket verify: checks that a domain is complete. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/edit/userblock.h"
#include "tools/bucket/walk.h"
#include "tools/share/processes.h"
#include "tools/show/show.h"
#include "tools/verify/verify.h"
#include "vol/convert/rebuild.h"

#define MIN_AGE 86400 /* seconds; no PUT takes a day */

void bkt_verify_say(struct bkt_verify *v, const char *word, const char *kind, const char *path,
                    const char *id, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (v->reported) {
        bkt_verify_shared_say(v->reported, (const char *const[]){word, kind, path, id, text});
        return;
    }
    bkt_jout_object(&v->j, "kind:s path:s id:s message:u", kind, path, id, text);
    if (v->t->json)
        return;
    bkt_show_name(&b, *path ? path : id);
    bkt_say_str(&b, ": ");
    bkt_show_url(&b, text);
    printf("%s: %s\n", word, bkt_buf_str(&b));
}

void bkt_verify_problem(struct bkt_verify *v, const char *kind, const char *path, const char *id,
                        const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    va_end(ap);
    v->n_problems++;
    bkt_verify_say(v, "problem", kind, path, id, text ? text : fmt);
}

void bkt_verify_raw(struct bkt_verify *v, const char *path, const char *id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    va_end(ap);
    bkt_verify_say(v, "note", "raw", path, id, text ? text : fmt);
}

static void say_why(struct bkt_verify *v, const char *word, const char *kind, const char *path,
                    const char *id, const struct bkt_err *why)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_say_err(&b, why);
    bkt_verify_say(v, word, kind, path, id, bkt_buf_str(&b));
}

void bkt_verify_failed(struct bkt_verify *v, const char *kind, const char *path, const char *id,
                       const struct bkt_err *why)
{
    v->n_problems++;
    say_why(v, "problem", kind, path, id, why);
}

void bkt_verify_note(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why)
{
    say_why(v, "not checked", "unchecked", path, id, why);
}

void bkt_verify_unchecked(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why)
{
    v->n_problems += v->deep;
    say_why(v, v->deep ? "problem: not checked" : "not checked", "unchecked", path, id, why);
}

/* ---- objects ---- */

static int check_attrs(struct bkt_verify *v, const struct bkt_reached *r)
{
    for (size_t i = 0; i < r->obj->attrs.n; i++) {
        const struct bkt_attr *a = &r->obj->attrs.v[i];
        if (a->bad)
            bkt_verify_problem(v, "malformed", r->path, r->id.text, "attribute %s: %s", a->name, a->bad);
        else if (v->is_listed && bkt_type_has_refs(a->type))
            BKT_PASS(bkt_verify_named(v, r, a->value.ptr, a->value.len));
    }
    return BKT_OK;
}

static void check_links(struct bkt_verify *v, const struct bkt_reached *r)
{
    for (size_t i = 0; r->obj->kind == BKT_GROUP && i < r->obj->group.links.n; i++)
        if (!r->obj->group.links.v[i].name[0] || strchr(r->obj->group.links.v[i].name, '/'))
            bkt_verify_problem(v, "malformed", r->path, r->id.text,
                               "a link's name is empty, or has a slash in it: '%s'",
                               r->obj->group.links.v[i].name);
        else if (r->obj->group.links.v[i].cls == BKT_L_OTHER)
            bkt_verify_problem(v, "malformed", r->path, r->id.text, "link %s has an unknown class, or has no "
                               "id or path",
                               r->obj->group.links.v[i].name);
}

/* Checks data that HDF5 encoded: they are well-formed, and HDF5 makes a value of them. */
static void check_encodings(struct bkt_verify *v, const struct bkt_reached *r)
{
    struct bkt_err why = {.n = 0};
    if (bkt_rebuild_check(r->obj, &why) < 0)
        bkt_verify_failed(v, "malformed", r->path, r->id.text, &why);
}

/* Another writer may be at work: checks whether the object that needed this one still does. */
static bool still_needed(const struct bkt_verify *v, const struct bkt_reached *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, json = {0};
    if (!r->from.text[0])
        return true;
    if (bkt_id_key(&r->from, &key) < 0 ||
        bkt_store_get(bkt_domain_store(v->d), bkt_buf_str(&key), 0, BKT_WHOLE, &json, NULL) < 0)
        return false; /* deleted, or reported when it is checked itself */
    return memmem(json.ptr, json.len, r->id.text, BKT_ID_LEN) != NULL;
}

static void unreadable(struct bkt_verify *v, const struct bkt_reached *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    const int   code = r->why->code;
    const char *kind = code == BKT_ENOENT                          ? "missing"
                       : code == BKT_EFORMAT || code == BKT_EUNSUP ? "malformed"
                                                                   : "unreadable";
    if (code == BKT_ENOENT && !still_needed(v, r))
        return;
    bkt_say_err(&b, r->why);
    bkt_verify_problem(v, kind, r->path, r->id.text, "%s%s%s", bkt_buf_str(&b),
                       r->from.text[0] ? ", needed by " : "", r->from.text);
}

static int on_object(const struct bkt_reached *r, void *arg)
{
    struct bkt_verify *v = arg;
    if (bkt_map_get(v->reached, r->id.text, BKT_ID_LEN))
        return BKT_OK;
    if (!r->obj) {
        unreadable(v, r);
        return BKT_OK;
    }
    v->n_objects++;
    BKT_PASS(bkt_verify_reached(v, r->obj));
    BKT_PASS(check_attrs(v, r));
    check_links(v, r);
    check_encodings(v, r);
    if (r->obj->kind != BKT_DATASET)
        return BKT_OK;
    if (r->obj->dset.bad)
        bkt_verify_problem(v, "malformed", r->path, r->id.text, "%s", r->obj->dset.bad);
    else if (!r->obj->dset.type->bad && (v->deep || (v->is_listed && bkt_type_has_refs(r->obj->dset.type))))
        bkt_verify_chunks(v, r);
    uint64_t changed = v->n_changed;
    bkt_verify_refs(v, r->path, r->obj);
    if (v->shared)
        return bkt_verify_shared_refs(v, r, v->n_changed != changed);
    bkt_verify_stale(v, r, changed);
    return BKT_OK;
}

/* ---- the whole ---- */

/* Checks uploads.  Those of a version 1 domain lie among those of all others, and are checked for the
 * bucket. */
static int check_uploads(struct bkt_verify *v)
{
    BKT_CLEANUP(bkt_verify_uploads_fini) struct bkt_verify_uploads u = {0};
    const struct bkt_id *root = bkt_domain_root(v->d);
    char                 prefix[40];
    if (!bkt_id_is_v2(root))
        return BKT_OK;
    (void)snprintf(prefix, sizeof prefix, "db/%.17s/", root->text + 2);
    BKT_PASS(bkt_verify_uploads_list(v, bkt_domain_store(v->d), prefix, &u));
    return bkt_verify_uploads(v, bkt_domain_store(v->d), &u, NULL);
}

static int check_user_block(struct bkt_verify *v)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    struct bkt_err                           why   = {.n = 0};
    uint64_t                                 size;
    int                                      rc = bkt_userblock_load(v->d, &size, &bytes, &why);
    if (rc == BKT_EFORMAT)
        bkt_verify_problem(v, "userblock", "/", bkt_domain_root(v->d)->text, "%s", bkt_err_reason(&why, rc));
    return rc < 0 && rc != BKT_EFORMAT ? bkt_err_copy(v->err, rc, &why) : BKT_OK;
}

static int check_domain(struct bkt_verify *v, const char *name)
{
    BKT_PASS(bkt_domain_check_acl(v->d, v->repair ? BKT_ACL_READ | BKT_ACL_DELETE : BKT_ACL_READ, v->err));
    if (v->repair)
        BKT_PASS(bkt_store_need_writable(bkt_domain_store(v->d), v->err));
    BKT_PASS(bkt_verify_list(v));
    BKT_PASS(v->deep && v->only_domain ? bkt_verify_shared_reach(v, name, on_object)
                                       : bkt_verify_reach(v, on_object));
    BKT_PASS(bkt_verify_sizes(v));
    BKT_PASS(bkt_verify_snapshot(v));
    BKT_PASS(check_user_block(v));
    bkt_jout_close(&v->j);
    bkt_jout_open(&v->j, "orphans", '[');
    /* an unreadable object may need others: no orphan is certain */
    bool repair = v->repair;
    if (v->n_problems && repair) {
        v->repair = false;
        bkt_tool_fail(v->t, "%s: it has problems, so nothing is removed; correct them first", name);
    }
    int rc = bkt_verify_orphans(v);
    rc = rc ? rc : check_uploads(v);
    if (rc == BKT_OK && v->repair)
        rc = bkt_verify_snapshot_repair(v);
    v->repair = repair;
    return rc;
}

static void summary(struct bkt_verify *v, const char *name)
{
    bkt_jout_members(
        &v->j,
        "objects:n chunks:n references:n chunks_decoded:n n_problems:n n_orphans:n n_fresh:n n_removed:n",
        v->n_objects, v->n_chunks, v->n_refs, v->n_checked, v->n_problems, v->n_orphans, v->n_fresh,
        v->n_removed);
    if (v->snapshot)
        bkt_jout_str(&v->j, "snapshot", v->snapshot);
    if (v->t->json)
        return;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, name);
    printf("%s: %llu %s, %llu chunk objects, %llu references", bkt_buf_str(&b),
           (unsigned long long)v->n_objects, v->d ? "objects" : "trees", (unsigned long long)v->n_chunks,
           (unsigned long long)v->n_refs);
    if (v->deep)
        printf(", %llu chunks decoded", (unsigned long long)v->n_checked);
    printf("; %llu problems, %llu orphans", (unsigned long long)v->n_problems,
           (unsigned long long)v->n_orphans);
    if (v->n_fresh)
        printf(", %llu fresh objects left alone", (unsigned long long)v->n_fresh);
    if (v->n_removed)
        printf(", %llu removed", (unsigned long long)v->n_removed);
    if (v->snapshot && strcmp(v->snapshot, "none") != 0)
        printf("; snapshot %s", v->snapshot);
    putchar('\n');
}

/* Checks a domain, or a whole bucket. */
static int check_place(struct bkt_verify *v, const char *name)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
    struct bkt_err                               why = {.n = 0};
    struct bkt_settings set = v->t->set;
    char                no[] = "no";
    set.snapshot             = no; /* check the stored objects themselves */
    int rc                   = bkt_domain_open(name, &set, &v->d, &why);
    if (rc == BKT_OK)
        return check_domain(v, name);
    bool maybe = rc == BKT_EUNSUP || rc == BKT_ENOENT || rc == BKT_EINVAL;
    if (!maybe || bkt_bucket_place_open(name, &v->t->set, &p, NULL) < 0 ||
        bkt_doc_get(p.store, p.path, &doc, NULL) < 0 || doc.what == BKT_IS_DOMAIN ||
        doc.what == BKT_IS_ABSENT)
        return bkt_err_copy(v->err, rc, &why);
    BKT_FAIL_IF(v->err, *p.path, BKT_EUNSUP, "%s is a folder (-r checks the domains in it)", name);
    bkt_jout_close(&v->j);
    bkt_jout_open(&v->j, "orphans", '[');
    return bkt_verify_bucket(v, &p);
}

/* @p alone: no other domain is checked, so processes of an mpirun share this one's chunks */
static int run_one(struct bkt_tool *t, const char *name, struct bkt_jout *j, bool alone)
{
    struct bkt_err    err = {.n = 0};
    uint64_t          age = MIN_AGE;
    struct bkt_verify v = {.t = t,
                           .j = *j,
                           .deep = bkt_tool_has(t, "deep") > 0,
                           .repair = bkt_tool_has(t, "repair") > 0,
                           .err = &err};
    (void)bkt_tool_number(t, "min-age", 0, UINT32_MAX, &age); /* run() has checked it */
    v.min_age = (double)age;
    v.only_domain = alone && bkt_processes_several();
    bkt_jout_open(&v.j, NULL, '{');
    bkt_jout_url(&v.j, "name", name);
    bkt_jout_open(&v.j, "problems", '[');
    unsigned base = j->depth + 1;
    int      rc   = check_place(&v, name);
    while (v.j.depth > base)
        bkt_jout_close(&v.j);
    if (rc == BKT_OK)
        summary(&v, name);
    else
        bkt_jout_url(&v.j, "error", bkt_err_reason(&err, rc));
    bkt_jout_close(&v.j);
    *j = v.j;
    bkt_map_free(v.files, free);
    bkt_map_free(v.reached, free);
    bkt_verify_strays_fini(&v.strays);
    bkt_map_free(v.listed, free);
    bkt_domain_close(v.d);
    if (rc < 0)
        return bkt_tool_error(t, name, &err);
    return v.n_problems || v.n_orphans > v.n_removed ? BKT_EXIT_FAIL : BKT_EXIT_OK;
}

/* ---- many of them ---- */

struct many {
    struct bkt_tool  *t;
    struct bkt_jout  *j;
    struct bkt_store *st;
    unsigned          depth;
    int               rc; /* exit code so far */
    struct bkt_verify_names *shared; /* processes share the domains; NULL: this one checks all */
};

static int on_member(const char *path, void *arg);

static void check_member(struct many *m, const char *path)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(m->st, path);
    struct bkt_err                           err  = {.n = 0};
    int rc = name ? bkt_doc_get(m->st, path, &doc, &err) : BKT_ENOMEM;
    if (rc == BKT_OK && doc.what == BKT_IS_DOMAIN) {
        if (m->shared)
            rc = bkt_verify_names_put(m->shared, name, &err);
        int one = m->shared ? BKT_EXIT_OK : run_one(m->t, name, m->j, false);
        m->rc   = one ? one : m->rc;
    } else if (rc == BKT_OK && m->depth < BKT_TOOL_FOLDERS) {
        m->depth++;
        rc = bkt_bucket_place_list(m->st, path, on_member, m, &err);
        m->depth--;
    }
    if (rc < 0)
        m->rc = bkt_tool_error(m->t, name ? name : path, &err);
}

static int on_member(const char *path, void *arg)
{
    struct many *m = arg;
    check_member(m, path);
    return BKT_OK;
}

/* With -r: the domains in a folder; for a bucket also objects that no domain has. */
static int run_name(struct many *m, const char *name)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
    struct bkt_tool *t = m->t;
    if (!bkt_tool_has(t, "recursive") || bkt_bucket_place_open(name, &t->set, &p, NULL) < 0 ||
        bkt_doc_get(p.store, p.path, &doc, NULL) < 0 || doc.what == BKT_IS_DOMAIN ||
        doc.what == BKT_IS_ABSENT)
        return run_one(t, name, m->j, t->n_args == 1);
    m->st = p.store;
    check_member(m, p.path);
    if (!*p.path) {
        int one = run_one(t, name, m->j, false);
        m->rc = one ? one : m->rc;
    }
    return BKT_EXIT_OK;
}

static int check_name(struct bkt_tool *t, const char *name, struct bkt_jout *j)
{
    return run_one(t, name, j, false);
}

/* The domains that -r finds are many: each is checked by one process.  Names of the command line are few. */
static int run_names(struct bkt_tool *t, struct bkt_jout *j)
{
    struct many m = {.t = t, .j = j};
    struct bkt_err err = {.n = 0};
    int rc = BKT_OK;
    if (bkt_tool_has(t, "recursive"))
        rc = bkt_verify_names_begin(t, j, check_name, &m.shared, &err);
    for (int i = 0; i < t->n_args && rc == BKT_OK; i++) {
        int one = run_name(&m, t->args[i]);
        m.rc    = one ? one : m.rc;
    }
    rc = bkt_verify_names_end(m.shared, rc, &m.rc, &err);
    return rc < 0 ? bkt_tool_error(t, NULL, &err) : m.rc;
}

static int run(struct bkt_tool *t)
{
    uint64_t age = MIN_AGE;
    if (!bkt_tool_number(t, "min-age", 0, UINT32_MAX, &age))
        return BKT_EXIT_USAGE;
    if (!bkt_processes_first())
        return bkt_verify_shared_serve(t, check_name);
    bkt_jout_open(&t->j, NULL, '[');
    int rc = run_names(t, &t->j);
    bkt_jout_close(&t->j);
    return rc;
}

static const struct bkt_opt opts[] = {
    {'r', "recursive", NULL, "check all domains in a folder; of a bucket, its object trees too", NULL},
    {0, "deep", NULL, "read and decode every chunk, checksums included", NULL},
    {0, "repair", NULL, "remove orphans and abort uploads that are old enough; remake outdated snapshots",
     NULL},
    {0, "min-age", "SECONDS", "leave younger orphans, which may belong to an active writer (86400: a day)",
     NULL},
};
const struct bkt_verb bkt_verb_verify = {
    .name = "verify",
    .args = "NAME...",
    .min_args = 1,
    .max_args = -1,
    .help = "check that domains are complete, and find unused objects",
    .text = "If NAME is a domain, every object must be reachable, stored and well-formed. Every reference\n"
            "must lie inside its file, and the file must have the ETag that it had when it was linked.\n"
            "Objects and chunks that no link and no reference needs are reported as orphans; a killed\n"
            "writer leaves such objects. Missing or short raw files (H5Pset_external) are reported, but are\n"
            "not problems: HDF5 makes and extends them at a write. A snapshot (h5bucket help snapshot) must\n"
            "exist and be well-formed, and with --deep it must match the stored objects. An outdated\n"
            "snapshot is reported, but is not a problem.\n\n"
            "If NAME is a bucket, object trees without a domain are reported. With -r, NAME is a folder or\n"
            "a bucket, and all domains in it are checked. Other programs may write to them. Uploads in\n"
            "parts that were never completed count as orphans (S3 keeps their parts, but no list of objects\n"
            "shows them).\n\n"
            "The processes of an mpirun share the chunks of one domain (--deep), or the domains (-r).\n\n"
            "Exit status: 0 all is well, or was repaired; 1 problems, or orphans that are left; 2 wrong\n"
            "usage. Data that can't be checked (a reference outside the stores of setting allow, a filter\n"
            "without code) are printed; with --deep they are problems.\n\n"
            "JSON: a list with an object per domain or bucket: {\"name\", \"problems\": [{\"kind\",\n"
            "\"path\", \"id\", \"message\"}], \"orphans\": [{\"id\" or \"tree\" or \"upload\", \"fresh\",\n"
            "\"removed\", ...}], \"objects\", \"chunks\", \"references\", \"n_problems\", ...}, or with\n"
            "\"error\" in place of the numbers. The kinds are missing, malformed, unreadable, chunk,\n"
            "reference, changed, snapshot, userblock, unchecked (data: a problem with --deep), and raw\n"
            "(never a problem).",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .shared = true,
    .run = run,
};
