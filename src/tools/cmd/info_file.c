/* h5bucket info of a plain HDF5 file: facts about the file, and its objects counted. */
#include "tools/bucket/plain_walk.h"
#include "tools/cmd/info.h"
#include "tools/show/record.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_object.h"

struct info {
    struct bkt_tool         *t;
    const struct plain_file *p;
    struct plain_facts       facts;
    uint64_t                 kinds[3], attrs, links, chunks, bytes, logical, metadata;
    struct bkt_err           err;
    int                      rc;
};

static uint64_t all_of(const H5_ih_info_t *i) { return i->index_size + i->heap_size; }

static int count_metadata(struct info *in, hid_t id)
{
    H5O_native_info_t native;
    if (H5Oget_native_info(id, &native, H5O_NATIVE_INFO_ALL) < 0)
        return h5_fail(&in->err, "asking for the size of metadata");
    in->metadata += native.hdr.space.total + all_of(&native.meta_size.obj) + all_of(&native.meta_size.attr);
    return BKT_OK;
}

static int count_links(struct info *in, hid_t id)
{
    H5G_info_t group;
    if (H5Gget_info(id, &group) < 0)
        return h5_fail(&in->err, "asking about a group");
    in->links += group.nlinks;
    return BKT_OK;
}

static int count_data(struct info *in, hid_t id, const struct bkt_dset *d)
{
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use u = {0};
    BKT_PASS(plain_where(id, in->p->uri, &u, &in->err));
    in->chunks += u.n;
    in->bytes += u.bytes;
    in->logical += bkt_dset_logical(d);
    return BKT_OK;
}

static int count_object(struct info *in, const struct plain_step *st)
{
    in->kinds[st->s.obj->kind]++;
    in->attrs += st->info->num_attrs;
    BKT_PASS(count_metadata(in, st->id));
    if (st->s.obj->kind == BKT_GROUP)
        return count_links(in, st->id);
    return st->s.obj->kind == BKT_DATASET ? count_data(in, st->id, &st->s.obj->dset) : BKT_OK;
}

static int on_step(const struct plain_step *st, void *arg)
{
    struct info *in = arg;
    if (!st->s.why && (!st->s.obj || st->s.same))
        return BKT_OK;
    bkt_err_clear(&in->err);
    if (st->s.why)
        in->rc = bkt_tool_error(in->t, st->s.path, st->s.why);
    else if (count_object(in, st) < 0)
        in->rc = bkt_tool_error(in->t, st->s.path, &in->err);
    return BKT_OK;
}

static void print_facts(const struct info *in, const struct bkt_record *r)
{
    const struct plain_facts *f = &in->facts;
    bkt_record_str(r, "kind", "kind", "file");
    bkt_record_url(r, "file", "file", in->p->uri);
    bkt_record_bytes(r, "size", "size", f->size);
    bkt_record_str(r, "etag", *f->etag ? "ETag" : NULL, *f->etag ? f->etag : NULL);
    bkt_record_time(r, "lastModified", "modified", f->modified);
    bkt_record_u64(r, "superblock", "superblock", f->superblock);
    bkt_record_u64(r, "address_bytes", NULL, f->addr_bytes);
    bkt_record_u64(r, "length_bytes", NULL, f->size_bytes);
    bkt_record_bytes(r, "user_block", f->user_block ? "user block" : NULL, f->user_block);
}

static void print(const struct info *in, struct bkt_jout *j)
{
    const struct bkt_record r = {.j = j, .width = 16, .human = bkt_tool_has(in->t, "human-readable") > 0};
    bkt_jout_open(j, NULL, '{');
    print_facts(in, &r);
    bkt_record_u64(&r, "num_groups", "groups", in->kinds[BKT_GROUP]);
    bkt_record_u64(&r, "num_datasets", "datasets", in->kinds[BKT_DATASET]);
    bkt_record_u64(&r, "num_datatypes", "datatypes", in->kinds[BKT_DATATYPE]);
    bkt_record_u64(&r, "num_links", "links", in->links);
    bkt_record_u64(&r, "num_attributes", "attributes", in->attrs);
    bkt_record_u64(&r, "num_chunks", "chunks", in->chunks);
    bkt_record_bytes(&r, "allocated_bytes", "  bytes", in->bytes);
    bkt_record_bytes(&r, "logical_bytes", "logical bytes", in->logical);
    bkt_record_bytes(&r, "metadata_bytes", "metadata bytes", in->metadata);
    bkt_record_bytes(&r, "free_bytes", "free bytes", in->facts.free_bytes);
    bkt_jout_close(j);
}

int bkt_info_file(struct bkt_tool *t, struct plain_file *p, int rc, const struct bkt_err *why,
                  struct bkt_jout *j)
{
    struct info                  in   = {.t = t, .p = p};
    struct bkt_err               err  = {.n = 0};
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(t);
    rc = info ? plain_file_instead(p, &t->set, info, false, rc, why, &err)
              : BKT_ERR(&err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK)
        rc = plain_file_facts(p, &in.facts, &err);
    if (rc == BKT_OK)
        rc = plain_walk(p->file, "/", UINT32_MAX, false, on_step, &in, &err);
    if (rc < 0)
        return bkt_tool_error(t, p->name, &err);
    print(&in, j);
    return in.rc;
}
