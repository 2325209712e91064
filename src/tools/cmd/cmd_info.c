/* h5bucket info: a domain as a whole, counted. */
#include <stdlib.h>
#include <string.h>

#include "tools/bucket/names.h"
#include "tools/show/show.h"
#include "tools/cli/tool.h"
#include "tools/bucket/walk.h"

struct info {
    struct bkt_tool   *t;
    struct bkt_domain *d;
    struct bkt_uses   *uses; /* NULL: version 1, or no lists */
    uint64_t           kinds[3], attrs, links, chunks, bytes, linked_chunks, linked_bytes, logical, metadata;
    uint64_t           uncounted; /* datasets whose chunks can't be counted */
    double             modified;
    int                rc;
};

static int on_object(const struct bkt_reached *r, void *arg)
{
    struct info *in = arg;
    if (!r->obj) {
        in->rc = bkt_tool_error(in->t, *r->path ? r->path : r->id.text, r->why);
        return BKT_OK;
    }
    in->kinds[r->obj->kind]++;
    in->attrs += r->obj->attrs.n;
    in->metadata += r->obj->json_bytes;
    in->modified = r->obj->modified > in->modified ? r->obj->modified : in->modified;
    if (r->obj->kind == BKT_GROUP)
        in->links += r->obj->group.links.n;
    if (r->obj->kind != BKT_DATASET)
        return BKT_OK;
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use u   = {0};
    struct bkt_err                                    err = {.n = 0};
    if (bkt_where_count(in->d, r->obj, in->uses, &u, &err) < 0)
        in->rc = bkt_tool_error(in->t, r->path, &err);
    in->uncounted += !u.known;
    *(u.linked ? &in->linked_chunks : &in->chunks) += u.n;
    *(u.linked ? &in->linked_bytes : &in->bytes) += u.bytes;
    in->logical += bkt_dset_logical(&r->obj->dset);
    if (in->uses && !u.linked && bkt_uses_get(in->uses, &r->id).mtime > in->modified)
        in->modified = bkt_uses_get(in->uses, &r->id).mtime;
    return BKT_OK;
}

static void row(const char *name, const struct bkt_buf *text) { printf("%-16s %s\n", name, bkt_buf_str(text)); }
static void row_str(const char *name, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, text);
    row(name, &b);
}
static void row_n(const char *name, uint64_t n) { printf("%-16s %llu\n", name, (unsigned long long)n); }
static void row_bytes(const char *name, uint64_t n, bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_bytes(&b, n, human);
    row(name, &b);
}
static void row_time(const char *name, double seconds)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_time(&b, seconds);
    row(name, &b);
}

static void print_text(const struct info *in)
{
    const struct bkt_domain_doc *doc   = bkt_domain_doc(in->d);
    bool                         human = bkt_tool_has(in->t, "human-readable") > 0;
    row_str("domain", bkt_domain_name(in->d));
    row_str("root", doc->root.text);
    row_str("schema", bkt_id_is_v2(&doc->root) ? "v2" : "v1");
    row_str("owner", doc->owner ? doc->owner : "-");
    row_time("created", doc->created);
    row_time("modified", in->modified);
    if (doc->user.size)
        row_bytes("user block", doc->user.size, human);
    row_n("groups", in->kinds[BKT_GROUP]);
    row_n("datasets", in->kinds[BKT_DATASET]);
    row_n("datatypes", in->kinds[BKT_DATATYPE]);
    row_n("links", in->links);
    row_n("attributes", in->attrs);
    row_n("chunk objects", in->chunks);
    row_bytes("  bytes", in->bytes, human);
    row_n("linked chunks", in->linked_chunks);
    row_bytes("  bytes", in->linked_bytes, human);
    row_bytes("logical bytes", in->logical, human);
    row_bytes("metadata bytes", in->metadata, human);
    if (in->uncounted)
        row_n("not counted", in->uncounted);
}

static void print_json(const struct info *in, struct bkt_jout *j)
{
    const struct bkt_domain_doc *doc = bkt_domain_doc(in->d);
    bkt_jout_open(j, NULL, '{');
    bkt_jout_url(j, "domain", bkt_domain_name(in->d));
    bkt_jout_str(j, "root", doc->root.text);
    bkt_jout_str(j, "schema", bkt_id_is_v2(&doc->root) ? "v2" : "v1");
    bkt_jout_str(j, "owner", doc->owner);
    bkt_jout_time(j, "created", doc->created);
    bkt_jout_time(j, "lastModified", in->modified);
    bkt_jout_u64(j, "user_block", doc->user.size);
    bkt_jout_u64(j, "num_groups", in->kinds[BKT_GROUP]);
    bkt_jout_u64(j, "num_datasets", in->kinds[BKT_DATASET]);
    bkt_jout_u64(j, "num_datatypes", in->kinds[BKT_DATATYPE]);
    bkt_jout_u64(j, "num_links", in->links);
    bkt_jout_u64(j, "num_attributes", in->attrs);
    bkt_jout_u64(j, "num_chunks", in->chunks);
    bkt_jout_u64(j, "allocated_bytes", in->bytes);
    bkt_jout_u64(j, "num_linked_chunks", in->linked_chunks);
    bkt_jout_u64(j, "linked_bytes", in->linked_bytes);
    bkt_jout_u64(j, "logical_bytes", in->logical);
    bkt_jout_u64(j, "metadata_bytes", in->metadata);
    bkt_jout_u64(j, "datasets_not_counted", in->uncounted);
    bkt_jout_close(j);
}

static int run_one(struct bkt_tool *t, const char *name, struct bkt_jout *j)
{
    struct bkt_err err = {.n = 0};
    struct info    in  = {.t = t};
    int            rc  = bkt_domain_open(name, &t->set, &in.d, &err);
    if (rc == BKT_OK)
        rc = bkt_domain_check_acl(in.d, BKT_ACL_READ, &err);
    if (rc == BKT_OK && bkt_uses_scan(in.d, &in.uses, &err) < 0) {
        bkt_err_clear(&err); /* each dataset is asked about */
        in.uses = NULL;
    }
    if (rc == BKT_OK)
        rc = bkt_reach(in.d, on_object, &in, &err);
    if (rc < 0)
        in.rc = bkt_tool_error(t, name, &err);
    else if (t->json)
        print_json(&in, j);
    else
        print_text(&in);
    bkt_uses_free(in.uses);
    bkt_domain_close(in.d);
    return in.rc;
}

static int run(struct bkt_tool *t)
{
    struct bkt_jout j;
    int             rc = BKT_EXIT_OK;
    bkt_jout_init(&j, stdout);
    if (t->json)
        bkt_jout_open(&j, NULL, '[');
    for (int i = 0; i < t->n_args; i++) {
        if (!t->json && i)
            putchar('\n');
        int one = run_one(t, t->args[i], &j);
        rc      = one ? one : rc;
    }
    if (t->json)
        bkt_jout_close(&j);
    return rc;
}

static const struct bkt_opt opts[] = {
    {'H', "human-readable", NULL, "sizes as 1.2M", NULL},
};
const struct bkt_verb bkt_verb_info = {
    .name = "info", .args = "DOMAIN...", .min_args = 1, .max_args = -1,
    .help = "count a domain's objects, links, chunks and bytes",
    .text = "The numbers are counted now, by one listing of the domain's keys and by reading all of its\n"
            "metadata. In schema version 1, and on plain web servers, chunk objects are requested one by\n"
            "one, for up to 4096 per dataset.\n\n"
            "JSON: a list with an object per DOMAIN, with the names of HSDS's .info.json, and user_block,\n"
            "in bytes.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
