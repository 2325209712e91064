/* h5bucket info: a domain or a plain HDF5 file as a whole, counted. */
#include <stdlib.h>

#include "tools/bucket/plain_walk.h"
#include "tools/bucket/walk.h"
#include "tools/cli/tool.h"
#include "tools/show/json_out.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_name.h"

/* The counts of a domain or file. */
struct info {
    struct bkt_tool         *t;
    struct bkt_domain       *d;    /* NULL: a file */
    const struct plain_file *p;
    struct bkt_map *uses; /* NULL: version 1, or no lists */
    uint64_t kinds[3], attrs, links, chunks, bytes, linked_chunks, linked_bytes, logical, metadata;
    uint64_t uncounted; /* datasets whose chunks can't be counted */
    double   modified;
    int      rc;
};

static void count_use(struct info *in, const struct bkt_extent_use *u, const struct bkt_dset *d, bool linked)
{
    *(linked ? &in->linked_chunks : &in->chunks) += u->n;
    *(linked ? &in->linked_bytes : &in->bytes) += u->bytes;
    in->logical += bkt_dset_logical(d);
}

static void print_counts(const struct info *in, const struct bkt_shown_record *r)
{
    bkt_shown_record_u64(r, "num_groups", "groups", in->kinds[BKT_GROUP]);
    bkt_shown_record_u64(r, "num_datasets", "datasets", in->kinds[BKT_DATASET]);
    bkt_shown_record_u64(r, "num_datatypes", "datatypes", in->kinds[BKT_DATATYPE]);
    bkt_shown_record_u64(r, "num_links", "links", in->links);
    bkt_shown_record_u64(r, "num_attributes", "attributes", in->attrs);
    bkt_shown_record_u64(r, "num_chunks", in->d ? "chunk objects" : "chunks", in->chunks);
    bkt_shown_record_bytes(r, "allocated_bytes", "  bytes", in->bytes);
    if (in->d) {
        bkt_shown_record_u64(r, "num_linked_chunks", "linked chunks", in->linked_chunks);
        bkt_shown_record_bytes(r, "linked_bytes", "  bytes", in->linked_bytes);
    }
    bkt_shown_record_bytes(r, "logical_bytes", "logical bytes", in->logical);
    bkt_shown_record_bytes(r, "metadata_bytes", "metadata bytes", in->metadata);
}

/* ---- a plain HDF5 file: facts about it, and its objects counted ---- */

static uint64_t all_of(const H5_ih_info_t *i) { return i->index_size + i->heap_size; }

static int count_object(struct info *in, const struct plain_step *st, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use u = {0};
    H5O_native_info_t native;
    H5G_info_t        group;
    in->kinds[st->s.obj->kind]++;
    in->attrs += st->info->num_attrs;
    if (H5Oget_native_info(st->id, &native, H5O_NATIVE_INFO_ALL) < 0)
        return h5_fail(err, "asking for the size of metadata");
    in->metadata += native.hdr.space.total + all_of(&native.meta_size.obj) + all_of(&native.meta_size.attr);
    if (st->s.obj->kind == BKT_GROUP && H5Gget_info(st->id, &group) < 0)
        return h5_fail(err, "asking about a group");
    in->links += st->s.obj->kind == BKT_GROUP ? group.nlinks : 0;
    if (st->s.obj->kind != BKT_DATASET)
        return BKT_OK;
    BKT_PASS(plain_where(st->id, in->p->uri, &u, err));
    count_use(in, &u, &st->s.obj->dset, false);
    return BKT_OK;
}

static int on_step(const struct plain_step *st, void *arg)
{
    struct info   *in  = arg;
    struct bkt_err err = {.n = 0};
    if (!st->s.why && (!st->s.obj || st->s.same))
        return BKT_OK;
    if (st->s.why || count_object(in, st, &err) < 0)
        in->rc = bkt_tool_error(in->t, st->s.path, st->s.why ? st->s.why : &err);
    return BKT_OK;
}

static void print_file(const struct info *in, const struct plain_facts *f, const struct bkt_shown_record *r)
{
    bkt_jout_open(r->j, NULL, '{');
    bkt_shown_record_str(r, "kind", "kind", "file");
    bkt_shown_record_url(r, "file", "file", in->p->uri);
    bkt_shown_record_bytes(r, "size", "size", f->size);
    bkt_shown_record_str(r, "etag", *f->etag ? "ETag" : NULL, *f->etag ? f->etag : NULL);
    bkt_shown_record_time(r, "lastModified", "modified", f->modified);
    bkt_shown_record_u64(r, "superblock", "superblock", f->superblock);
    bkt_shown_record_u64(r, "address_bytes", NULL, f->addr_bytes);
    bkt_shown_record_u64(r, "length_bytes", NULL, f->size_bytes);
    bkt_shown_record_bytes(r, "user_block", f->user_block ? "user block" : NULL, f->user_block);
    print_counts(in, r);
    bkt_shown_record_bytes(r, "free_bytes", "free bytes", f->free_bytes);
    bkt_jout_close(r->j);
}

/* After no domain could be opened, for the reason @p rc, @p why. */
static int info_file(struct info *in, struct plain_file *p, int rc, const struct bkt_err *why,
                     const struct bkt_shown_record *r)
{
    struct plain_facts facts = {0};
    struct bkt_err     err = {.n = 0};
    in->p = p;
    rc    = bkt_tool_instead(in->t, p, false, rc, why, &err);
    rc = rc ? rc : plain_file_facts(p, &facts, &err);
    rc = rc ? rc : plain_walk(p->file, "/", UINT32_MAX, false, on_step, in, &err);
    if (rc < 0)
        return bkt_tool_error(in->t, p->name, &err);
    print_file(in, &facts, r);
    return in->rc;
}

/* ---- a domain ---- */

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
    count_use(in, &u, &r->obj->dset, u.linked);
    if (in->uses && !u.linked && bkt_uses_get(in->uses, &r->id).mtime > in->modified)
        in->modified = bkt_uses_get(in->uses, &r->id).mtime;
    return BKT_OK;
}

static void print_domain(const struct info *in, const struct bkt_shown_record *r)
{
    const struct bkt_domain_doc *doc = bkt_domain_doc(in->d);
    bkt_jout_open(r->j, NULL, '{');
    bkt_shown_record_url(r, "domain", "domain", bkt_domain_name(in->d));
    bkt_shown_record_str(r, "root", "root", doc->root.text);
    bkt_shown_record_str(r, "schema", "schema", bkt_id_is_v2(&doc->root) ? "v2" : "v1");
    bkt_jout_str(r->j, "owner", doc->owner);
    bkt_shown_record_url(r, NULL, "owner", doc->owner);
    bkt_shown_record_time(r, "created", "created", doc->created);
    bkt_shown_record_time(r, "lastModified", "modified", in->modified);
    bkt_shown_record_bytes(r, "user_block", doc->user.size ? "user block" : NULL, doc->user.size);
    print_counts(in, r);
    bkt_shown_record_u64(r, "datasets_not_counted", in->uncounted ? "not counted" : NULL, in->uncounted);
    bkt_jout_close(r->j);
}

/* Without requests that look for another object of that name, since it may be a plain file. */
static int open_domain(const char *name, const struct bkt_settings *set, struct plain_file *plain,
                       struct bkt_domain **d, struct bkt_err *err)
{
    BKT_PASS(plain_file_ask(name, set, plain, err));
    int rc = bkt_domain_open_only(name, set, d, err);
    if (rc != BKT_ENOENT || plain_file_is(plain, set))
        return rc;
    bkt_err_clear(err);
    return bkt_domain_open(name, set, d, err);
}

static int run_one(struct bkt_tool *t, const char *name)
{
    BKT_CLEANUP(plain_file_fini) struct plain_file plain = {.file = -1};
    const bool              human = bkt_tool_has(t, "human-readable") > 0;
    const struct bkt_shown_record r = {.j = &t->j, .width = 16, .human = human};
    struct bkt_err          err   = {.n = 0};
    struct info             in    = {.t = t};
    int                     rc    = open_domain(name, &t->set, &plain, &in.d, &err);
    if (rc < 0)
        return info_file(&in, &plain, rc, &err, &r);
    rc = bkt_domain_check_acl(in.d, BKT_ACL_READ, &err);
    if (rc == BKT_OK)
        (void)!bkt_uses_list(in.d, &in.uses, NULL); /* without a list each dataset is asked about */
    rc = rc ? rc : bkt_reach(in.d, on_object, &in, &err);
    if (rc < 0)
        in.rc = bkt_tool_error(t, name, &err);
    else
        print_domain(&in, &r);
    bkt_map_free(in.uses, free);
    bkt_domain_close(in.d);
    return in.rc;
}

static int run(struct bkt_tool *t)
{
    int rc = BKT_EXIT_OK;
    bkt_jout_open(&t->j, NULL, '[');
    for (int i = 0; i < t->n_args; i++) {
        if (!t->json && i)
            putchar('\n');
        int one = run_one(t, t->args[i]);
        rc      = one ? one : rc;
    }
    bkt_jout_close(&t->j);
    return rc;
}

static const struct bkt_opt opts[] = {
    {'H', "human-readable", NULL, "sizes as 1.2M", NULL},
};
const struct bkt_verb bkt_verb_info = {
    .name = "info",
    .args = "DOMAIN...",
    .min_args = 1,
    .max_args = -1,
    .help = "count a domain's or HDF5 file's objects, links, chunks and bytes",
    .text =
        "The numbers are counted now, by one listing of the domain's keys and by reading all of its\n"
        "metadata. In schema version 1, and on plain web servers, chunk objects are requested one by\n"
        "one, for up to 4096 per dataset.\n\n"
        "DOMAIN may also be a plain HDF5 file, in a store or on this machine. Then its size, ETag and\n"
        "superblock are shown, too. Its chunks are those in its datasets; data that are not chunked count\n"
        "as one chunk. Its metadata bytes are those of object headers, indexes and heaps.\n\n"
        "JSON: a list with an object per DOMAIN, with the names of HSDS's .info.json, and user_block,\n"
        "in bytes. A plain file has also {\"kind\": \"file\", \"file\", \"size\", \"etag\", \"superblock\",\n"
        "\"address_bytes\", \"length_bytes\", \"free_bytes\"}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
