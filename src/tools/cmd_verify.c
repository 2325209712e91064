/* h5bucket verify: whether a domain is whole. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reroot.h"
#include "show.h"
#include "verify.h"
#include "walk.h"

static void say(struct bkt_verify *v, const char *word, const char *kind, const char *path, const char *id, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "kind", kind);
        bkt_jout_str(&v->j, "path", path);
        bkt_jout_str(&v->j, "id", id);
        bkt_jout_str(&v->j, "message", text);
        bkt_jout_close(&v->j);
        return;
    }
    bkt_show_name(&b, *path ? path : id);
    bkt_say_str(&b, ": ");
    bkt_show_name(&b, text);
    printf("%s: %s\n", word, bkt_buf_str(&b));
}

void bkt_verify_problem(struct bkt_verify *v, const char *kind, const char *path, const char *id, const char *fmt, ...)
{
    BKT_CLEANUP(bkt_freep) char *text = NULL;
    va_list                      ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    v->n_problems++;
    say(v, "problem", kind, path, id, text ? text : fmt);
}

void bkt_verify_note(struct bkt_verify *v, const char *path, const char *id, const struct bkt_err *why)
{
    say(v, "not checked", "unchecked", path, id, why->n ? why->frame[0].msg : bkt_err_text(why->code));
}

/* ---- objects ---- */

static int check_attrs(struct bkt_verify *v, const struct bkt_reached *r)
{
    for (size_t i = 0; i < r->obj->attrs.n; i++) {
        const struct bkt_attr *a = &r->obj->attrs.v[i];
        if (a->bad)
            bkt_verify_problem(v, "malformed", r->path, r->id.text, "attribute %s: %s", a->name, a->bad);
        else if (v->listed && bkt_reroot_needs(a->type))
            BKT_PASS(bkt_verify_named(v, r, a->value.ptr, a->value.len));
    }
    return BKT_OK;
}

static int on_object(const struct bkt_reached *r, void *arg)
{
    struct bkt_verify *v = arg;
    if (!r->obj) {
        const char *text = r->why->n ? r->why->frame[0].msg : bkt_err_text(r->why->code);
        bkt_verify_problem(v, r->why->code == BKT_ENOENT ? "missing" : "malformed", r->path, r->id.text, "%s%s%s", text,
                           r->from.text[0] ? ", needed by " : "", r->from.text);
        return BKT_OK;
    }
    v->n_objects++;
    BKT_PASS(bkt_verify_reached(v, r->obj));
    BKT_PASS(check_attrs(v, r));
    if (r->obj->kind != BKT_DATASET)
        return BKT_OK;
    if (r->obj->dset.bad)
        bkt_verify_problem(v, "malformed", r->path, r->id.text, "%s", r->obj->dset.bad);
    else if (v->deep || (v->listed && bkt_reroot_needs(r->obj->dset.type)))
        bkt_verify_chunks(v, r);
    bkt_verify_refs(v, r->path, r->obj);
    return BKT_OK;
}

/* ---- the whole ---- */

static int check_domain(struct bkt_verify *v)
{
    BKT_PASS(bkt_domain_check_acl(v->d, v->repair ? BKT_ACL_READ | BKT_ACL_DELETE : BKT_ACL_READ, v->err));
    if (v->repair && bkt_store_is_readonly(bkt_domain_store(v->d)))
        BKT_FAIL(v->err, BKT_EACCES, "%s can't be written to", bkt_store_uri(bkt_domain_store(v->d)));
    BKT_PASS(bkt_verify_list(v));
    BKT_PASS(bkt_reach(v->d, on_object, v, v->err));
    if (v->t->json) {
        bkt_jout_close(&v->j);
        bkt_jout_open(&v->j, "orphans", '[');
    }
    /* an object that can't be read may need others: nothing is an orphan for certain */
    bool repair = v->repair;
    if (v->n_problems && repair) {
        v->repair = false;
        bkt_tool_fail(v->t, "problems first: nothing is removed from a domain that isn't whole");
    }
    int rc    = bkt_verify_orphans(v);
    v->repair = repair;
    return rc;
}

static void summary(struct bkt_verify *v, const char *name)
{
    if (v->t->json) {
        bkt_jout_u64(&v->j, "objects", v->n_objects);
        bkt_jout_u64(&v->j, "chunks", v->n_chunks);
        bkt_jout_u64(&v->j, "references", v->n_refs);
        bkt_jout_u64(&v->j, "chunks_decoded", v->n_checked);
        bkt_jout_u64(&v->j, "n_problems", v->n_problems);
        bkt_jout_u64(&v->j, "n_orphans", v->n_orphans);
        bkt_jout_u64(&v->j, "n_fresh", v->n_fresh);
        bkt_jout_u64(&v->j, "n_removed", v->n_removed);
        return;
    }
    printf("%s: %llu %s, %llu chunk objects, %llu references", name, (unsigned long long)v->n_objects, v->d ? "objects" : "trees",
           (unsigned long long)v->n_chunks, (unsigned long long)v->n_refs);
    if (v->deep)
        printf(", %llu chunks decoded", (unsigned long long)v->n_checked);
    printf("; %llu problems, %llu orphans", (unsigned long long)v->n_problems, (unsigned long long)v->n_orphans);
    if (v->n_fresh)
        printf(", %llu fresh objects left alone", (unsigned long long)v->n_fresh);
    if (v->n_removed)
        printf(", %llu removed", (unsigned long long)v->n_removed);
    putchar('\n');
}

static int check_place(struct bkt_verify *v, const char *name)
{
    BKT_CLEANUP(bkt_place_fini) struct bkt_place p   = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc = {0};
    struct bkt_err                               why = {.n = 0};
    int rc = bkt_domain_open(name, &v->t->set, &v->d, &why);
    if (rc == BKT_OK)
        return check_domain(v);
    bool maybe = rc == BKT_EUNSUP || rc == BKT_ENOENT || rc == BKT_EINVAL;
    if (!maybe || bkt_place_open(name, &v->t->set, &p, NULL) < 0 || bkt_doc_get(p.store, p.path, &doc, NULL) < 0 ||
        doc.what == BKT_IS_DOMAIN || doc.what == BKT_IS_ABSENT || *p.path)
        return bkt_err_copy(v->err, rc, &why);
    if (v->t->json) {
        bkt_jout_close(&v->j);
        bkt_jout_open(&v->j, "orphans", '[');
    }
    return bkt_verify_bucket(v, &p);
}

static int run_one(struct bkt_tool *t, const char *name, struct bkt_jout *j)
{
    struct bkt_err    err = {.n = 0};
    uint64_t          age = 86400;
    struct bkt_verify v   = {.t = t, .j = *j, .deep = bkt_tool_has(t, "deep") > 0, .repair = bkt_tool_has(t, "repair") > 0, .err = &err};
    if (!bkt_tool_number(t, "min-age", 0, UINT32_MAX, &age))
        return BKT_EXIT_USAGE;
    v.min_age = (double)age;
    v.files   = bkt_map_new();
    v.reached = bkt_map_new();
    if (t->json) {
        bkt_jout_open(&v.j, NULL, '{');
        bkt_jout_str(&v.j, "name", name);
        bkt_jout_open(&v.j, "problems", '[');
    }
    unsigned base = j->depth + 1;
    int      rc   = v.files && v.reached ? check_place(&v, name) : BKT_ERR(&err, BKT_ENOMEM, "out of memory");
    while (t->json && v.j.depth > base)
        bkt_jout_close(&v.j);
    if (rc == BKT_OK)
        summary(&v, name);
    if (t->json)
        bkt_jout_close(&v.j);
    *j = v.j;
    bkt_map_free(v.files, free);
    bkt_map_free(v.reached, free);
    bkt_map_free(v.listed, free);
    bkt_domain_close(v.d);
    if (rc < 0)
        return bkt_tool_error(t, name, &err);
    return v.n_problems || v.n_orphans > v.n_removed ? BKT_EXIT_FAIL : BKT_EXIT_OK;
}

static int run(struct bkt_tool *t)
{
    struct bkt_jout j;
    int             rc = BKT_EXIT_OK;
    bkt_jout_init(&j, stdout);
    if (t->json)
        bkt_jout_open(&j, NULL, '[');
    for (int i = 0; i < t->n_args && rc != BKT_EXIT_USAGE; i++) {
        int one = run_one(t, t->args[i], &j);
        rc      = one ? one : rc;
    }
    if (t->json && rc != BKT_EXIT_USAGE)
        bkt_jout_close(&j);
    return rc;
}

static const struct bkt_opt opts[] = {
    {0, "deep", NULL, "read and decode every chunk, checksums included", NULL},
    {0, "repair", NULL, "remove orphans that are old enough", NULL},
    {0, "min-age", "SECONDS", "what is younger may belong to a writer at work, and is left alone (86400: a day)", NULL},
};
const struct bkt_verb bkt_verb_verify = {
    .name = "verify", .args = "NAME...", .min_args = 1, .max_args = -1,
    .help = "check that domains are whole, find what nothing needs",
    .text = "NAME is a domain: every object is reachable, there and well-formed, every reference lies inside its file, whose\n"
            "ETag is what it was when it was linked; objects and chunks that no link and no reference needs are told\n"
            "(orphans: a program that was killed while it wrote leaves them). Or NAME is a bucket: object trees that no domain\n"
            "has are told.\n\n"
            "Exit status: 0 all is well, or was repaired; 1 problems, or orphans that are left; 2 wrong usage. What can't be\n"
            "looked at (a reference outside of what the setting allow names, a filter without code) is told, and no problem.\n\n"
            "JSON: a list with an object per NAME: {\"problems\": [{\"kind\", \"path\", \"id\", \"message\"}], \"orphans\": [{\"id\" or\n"
            "\"tree\", \"bytes\", \"fresh\", \"removed\", ...}], \"objects\", \"chunks\", \"references\", \"n_problems\", ...}.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
