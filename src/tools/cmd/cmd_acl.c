/* h5bucket acl: access lists, shown and changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "schema/domain/doc_rewrite.h"
#include "schema/json/acl.h"
#include "tools/bucket/bucket_names.h"
#include "tools/cli/tool.h"
#include "tools/show/show.h"

/* Converts letters to bits; false: reported */
static bool bits_of(const struct bkt_tool *t, const char *text, unsigned *out)
{
    *out = 0;
    for (const char *s = text; *s; s++) {
        unsigned bit = 0;
        for (size_t i = 0; i < BKT_ACL_N; i++)
            bit |= *s == bkt_acl_names[i].letter ? bkt_acl_names[i].bit : 0;
        if (!bit) {
            (void)bkt_tool_usage(t, "%s: unknown permission; use letters of crudep", text);
            return false;
        }
        *out |= bit;
    }
    return true;
}

static int get_doc(const struct bkt_bucket_place *p, const char *name, struct bkt_doc *doc,
                   struct bkt_err *err)
{
    BKT_PASS(bkt_doc_get(p->store, p->path, doc, err));
    BKT_FAIL_IF(err, doc->what == BKT_IS_PREFIX, BKT_ENOENT,
                "%s is a folder without a document, so it has no access list (h5bucket touch makes one)",
                name);
    if (doc->what == BKT_IS_ABSENT)
        return bkt_bucket_place_absent(p, name, "no such domain or folder", err);
    return BKT_OK;
}

struct changes {
    const struct bkt_tool       *t;
    const struct bkt_bucket_place *p;
    const struct bkt_acl_change *v;
    size_t                       n;
};

/* One try: read, change, write if no other writer has changed it. */
static int change_once(void *arg, char version[BKT_ETAG_MAX], struct bkt_err *err)
{
    const struct changes                    *c    = arg;
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    const char                              *name = c->t->args[0];
    BKT_PASS(get_doc(c->p, name, &doc, err));
    memcpy(version, doc.etag, sizeof doc.etag);
    BKT_PASS(bkt_doc_may(&doc.doc, c->p->path, &c->t->set, BKT_ACL_UPDATE_ACL, err));
    BKT_TRY(err, bkt_acl_edit(doc.json.ptr, doc.json.len, c->v, c->n, bkt_time_of_day(), &json, err), "%s",
            name);
    return bkt_doc_put(c->p->store, c->p->path, &json, doc.etag, err);
}

static bool wanted(const struct bkt_tool *t, int first, const char *user)
{
    for (int i = first; i < t->n_args; i++)
        if (strcmp(t->args[i], user) == 0)
            return true;
    return first >= t->n_args;
}

/* The right needed to see the entries.  The user's own entry and the default entry are visible with the right
 * to read; the list needs its own right (HSDS's rule). */
static unsigned right_to_see(const struct bkt_tool *t, int first)
{
    for (int i = first; i < t->n_args; i++)
        if (strcmp(t->args[i], "default") != 0 && (!t->set.user || strcmp(t->args[i], t->set.user) != 0))
            return BKT_ACL_READ_ACL;
    return first < t->n_args ? BKT_ACL_READ : BKT_ACL_READ_ACL;
}

static bool has_entry(const struct bkt_domain_doc *doc, const char *user)
{
    for (size_t i = 0; i < doc->n_acls; i++)
        if (strcmp(doc->acls[i].user, user) == 0)
            return true;
    return false;
}

/* @p need: rights to it */
static int show(struct bkt_tool *t, const struct bkt_bucket_place *p, int first, unsigned need,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    BKT_PASS(get_doc(p, t->args[0], &doc, err));
    BKT_PASS(bkt_doc_may(&doc.doc, p->path, &t->set, need, err));
    for (int i = first; need && i < t->n_args; i++)
        BKT_FAIL_IF(err, !has_entry(&doc.doc, t->args[i]), BKT_ENOENT, "the access list has no entry for %s",
                    t->args[i]);
    BKT_CLEANUP(bkt_freep)
    struct bkt_acl_entry *some = calloc(doc.doc.n_acls + 1, sizeof *some); /* those requested */
    size_t n = 0;
    BKT_NEED(err, some);
    for (size_t i = 0; i < doc.doc.n_acls; i++)
        if (wanted(t, first, doc.doc.acls[i].user))
            some[n++] = doc.doc.acls[i];
    bkt_jout_open(&t->j, NULL, '{');
    bkt_jout_str(&t->j, "owner", doc.doc.owner);
    bkt_show_acls(&t->j, some, n, "");
    bkt_jout_close(&t->j);
    return BKT_OK;
}

/* Converts -PERMS, as hsacl has it; but -r, -u and -e alone are options. */
static char *minus_perms(const char *word)
{
    size_t n   = strlen(word);
    char  *out = NULL;
    if (word[0] != '-' || n < 2 || strspn(word + 1, "crudep") != n - 1 || (n == 2 && strchr("rue", word[1])))
        return NULL;
    return asprintf(&out, "--revoke=%s", word + 1) < 0 ? NULL : out;
}

/* Reads the requested change: args[1] may be +PERMS or -PERMS, as hsacl has it. */
static int ask(struct bkt_tool *t, struct bkt_acl_change *out, int *first)
{
    const char *grant = bkt_tool_opt(t, "grant"), *revoke = bkt_tool_opt(t, "revoke");
    unsigned    more;
    *out   = (struct bkt_acl_change){.remove = bkt_tool_has(t, "remove") > 0};
    *first = 1;
    if ((grant && !bits_of(t, grant, &out->grant)) || (revoke && !bits_of(t, revoke, &out->revoke)))
        return BKT_EXIT_USAGE;
    for (; *first < t->n_args && strchr("+-", t->args[*first][0]); ++*first) {
        const char *text = t->args[*first];
        if (!bits_of(t, text + 1, &more))
            return BKT_EXIT_USAGE;
        *(*text == '+' ? &out->grant : &out->revoke) |= more;
    }
    if (out->grant & out->revoke)
        return bkt_tool_usage(t, "the same permission is granted and revoked");
    if (out->remove && (out->grant | out->revoke))
        return bkt_tool_usage(t, "--remove can't be combined with another change");
    if ((out->remove || out->grant || out->revoke) && *first == t->n_args)
        return bkt_tool_usage(t, "USER is missing; default means users without an entry");
    return BKT_EXIT_OK;
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    struct bkt_acl_change                        c;
    int                                          first, rc = ask(t, &c, &first);
    if (rc != BKT_EXIT_OK)
        return rc;
    BKT_PASS(bkt_bucket_place_open(t->args[0], &t->set, &p, &t->err));
    if (!c.remove && !c.grant && !c.revoke)
        return show(t, &p, first, right_to_see(t, first), &t->err);
    size_t                                        n = (size_t)(t->n_args - first);
    BKT_CLEANUP(bkt_freep) struct bkt_acl_change *v = calloc(n + 1, sizeof *v);
    BKT_NEED(&t->err, v);
    for (size_t i = 0; i < n; i++) {
        v[i]      = c;
        v[i].user = t->args[first + (int)i];
    }
    BKT_PASS(bkt_bucket_place_writable(&p, &t->err));
    BKT_PASS(bkt_doc_change(change_once, &(struct changes){t, &p, v, n}, &t->err));
    return t->json ? show(t, &p, first, 0, &t->err) : BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'g', "grant", "PERMS", "grant USER these permissions", NULL},
    {'r', "revoke", "PERMS", "revoke these permissions of USER", NULL},
    {0, "remove", NULL, "remove the entry of USER, so that the default applies", NULL},
};
const struct bkt_verb bkt_verb_acl = {
    .name = "acl", .args = "NAME [+PERMS] [-PERMS] [USER]...", .min_args = 1, .max_args = -1,
    .help = "show or change the access list of a domain or folder",
    .text = "PERMS are letters: c create, r read, u update, d delete, e read the list, p change the list.\n"
            "+PERMS is short for --grant=PERMS, and -PERMS for --revoke=PERMS, except -r, -u and -e alone,\n"
            "which are options. USER is a name, g:GROUP, or default for users without an entry.\n\n"
            "In a domain's list, c makes objects, links and attributes; u changes values, extents and names\n"
            "of attributes; d deletes links, attributes and the domain. In a folder's list, c makes domains\n"
            "and folders in it, and d removes it. A user's own entry counts alone; a user without an entry\n"
            "has the permissions of default. A new folder or domain gets the entries of the nearest folder\n"
            "above it that grant anything, and its owner has all permissions. h5bucket does not know the\n"
            "members of groups.\n\n"
            "The lists are advice to well-behaved programs. HSDS enforces them; h5bucket and the connector\n"
            "apply them to the user of --user or the setting user. But any program with the bucket's keys\n"
            "can read and change the data.\n\n"
            "  h5bucket acl s3://b/home/run7.h5 +r default\n"
            "  h5bucket acl s3://b/home/run7.h5 --revoke=ud ted\n\n"
            "JSON: {\"owner\", \"acls\": {USER: {\"create\", \"read\", \"update\", \"delete\", \"readACL\",\n"
            "\"updateACL\"}}}. If USERs are named, or after a change, only their entries are printed.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .reword = minus_perms, .run = run,
};
