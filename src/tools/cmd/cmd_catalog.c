/* h5bucket catalog: the content of a domain, as the files of the specification and as HSDS's .info.json. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/list.h"
#include "base/os/clock.h"
#include "base/text/utf8.h"
#include "storage/md5.h"
#include "tools/bucket/bucket_names.h"
#include "tools/bucket/target.h"
#include "tools/bucket/walk.h"
#include "tools/cli/tool.h"
#include "tools/cmd/catalog.h"
#include "tools/source/key_list.h"

static const char *const lists[] = {
    [BKT_GROUP] = ".groups.txt", [BKT_DATASET] = ".datasets.txt", [BKT_DATATYPE] = ".datatypes.txt"};

/* ---- documents on their way out ---- */

struct outbox {
    struct bkt_store *st;
    const char       *folder; /* a local one in place of the store; NULL */
    struct bkt_buf    key[BKT_TOOL_BATCH], text[BKT_TOOL_BATCH];
    size_t            n;
    uint64_t          n_written;
    struct bkt_err   *err;
};

static int write_local(const struct outbox *o, size_t i)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    BKT_PASS_MEM(o->err, bkt_buf_addf(&path, "%s/%s", o->folder, bkt_base_name(bkt_buf_str(&o->key[i]))));
    FILE *f   = fopen(bkt_buf_str(&path), "we");
    bool  bad = !f || fwrite(bkt_buf_str(&o->text[i]), 1, o->text[i].len, f) != o->text[i].len;
    if (f && fclose(f) != 0)
        bad = true;
    return bad ? BKT_ERR(o->err, BKT_EIO, "%s: %s", bkt_buf_str(&path), strerror(errno)) : BKT_OK;
}

static int send(struct outbox *o)
{
    struct bkt_req reqs[BKT_TOOL_BATCH];
    int            rc = BKT_OK;
    memset(reqs, 0, sizeof reqs);
    for (size_t i = 0; i < o->n; i++)
        reqs[i] = (struct bkt_req){.op = BKT_PUT,
                                   .key = bkt_buf_str(&o->key[i]),
                                   .put = bkt_buf_str(&o->text[i]),
                                   .put_len = o->text[i].len};
    for (size_t i = 0; o->folder && rc == BKT_OK && i < o->n; i++)
        rc = write_local(o, i);
    if (!o->folder && o->n)
        rc = bkt_store_perform(o->st, reqs, o->n, o->err);
    for (size_t i = 0; i < o->n; i++) {
        bkt_req_fini(&reqs[i]);
        bkt_buf_fini(&o->key[i]);
        bkt_buf_fini(&o->text[i]);
    }
    o->n_written += o->n;
    o->n = 0;
    return rc;
}

/* @p text is taken. */
static int post(struct outbox *o, const char *path, const char *name, struct bkt_buf *text)
{
    BKT_PASS_MEM(o->err, bkt_buf_addf(&o->key[o->n], "%s%s%s", path, *path ? "/" : "", name));
    bkt_buf_move(&o->text[o->n], text);
    return ++o->n == BKT_TOOL_BATCH ? send(o) : BKT_OK;
}

/* ---- the lists ---- */

struct listed { /* a copy of one entry */
    enum bkt_key_kind what;
    struct bkt_id      id;
    char              *key, *chunk, *tail;
    uint64_t           size;
    double             mtime;
    char               etag[BKT_ETAG_MAX];
};
struct sum { /* for md5_sum: HSDS takes 16 characters of each ETag, in the order of ids */
    char *id;
    char  etag[16];
};
struct dset {
    struct bkt_id id;
    double        mtime;
    uint64_t      n, bytes, json_bytes, logical, linked, n_linked;
    char          etag[BKT_ETAG_MAX];
    double        json_mtime;
};
struct catalog {
    struct bkt_domain *d;
    const char        *path;
    struct outbox      out;
    struct listed      v[BKT_TOOL_BATCH];
    size_t             n;
    struct bkt_buf     text[3];                  /* of lists */
    struct bkt_buf     chunks;                   /* of the current dataset */
    struct dset       *dsets;
    size_t             n_dsets, cap_dsets;
    struct sum        *sums;
    size_t             n_sums, cap_sums;
    uint64_t           n_groups, n_types, n_chunks, allocated, metadata;
    double             modified, begun;
    struct bkt_err    *err;
};

static void listed_fini(struct listed *l)
{
    free(l->key);
    free(l->chunk);
    free(l->tail);
}

/* An ETag without quotes; in a directory the MD5 of the bytes, as HSDS has it there. */
static void bare_etag(const char *etag, char out[BKT_ETAG_MAX])
{
    const char *s = etag ? etag : "";
    size_t      n = strlen(s);
    if (n > 1 && s[0] == '"' && s[n - 1] == '"') {
        s++;
        n -= 2;
    }
    snprintf(out, BKT_ETAG_MAX, "%.*s", (int)n, s);
}

/* Asks for each object: its bytes, for their MD5, or its head, since version 1 isn't listed. */
static int ask(struct catalog *c, enum bkt_op op)
{
    struct bkt_req reqs[BKT_TOOL_BATCH];
    memset(reqs, 0, sizeof reqs);
    for (size_t i = 0; i < c->n; i++)
        reqs[i] = (struct bkt_req){.op = op, .key = c->v[i].key, .len = op == BKT_GET ? BKT_WHOLE : 0};
    int rc = c->n ? bkt_store_perform(bkt_domain_store(c->d), reqs, c->n, c->err) : BKT_OK;
    for (size_t i = 0; i < c->n; i++) {
        struct listed *l = &c->v[i];
        if (op == BKT_HEAD) {
            bare_etag(reqs[i].etag, l->etag);
            l->size  = reqs[i].size;
            l->mtime = reqs[i].mtime;
        } else if (rc == BKT_OK && bkt_md5_hex(reqs[i].body.ptr, reqs[i].body.len, l->etag) < 0)
            rc = BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
        bkt_req_fini(&reqs[i]);
    }
    return rc;
}

static int add_sum(struct catalog *c, const struct listed *l)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf id = {0};
    if (bkt_list_room(&c->sums, c->n_sums, &c->cap_sums, sizeof *c->sums) < 0)
        BKT_NOMEM(c->err);
    /* chunk ids: c-… or, below p7/, c7-… */
    int part = l->tail != NULL && *l->tail == 'p' ? (int)strcspn(l->tail + 1, "/") : 0;
    int rc = l->what == BKT_KEY_CHUNK
                 ? bkt_buf_addf(&id, "c%.*s%s_%s", part, part ? l->tail + 1 : "", l->id.text + 1, l->chunk)
                 : bkt_buf_addf(&id, "%s", l->id.text);
    if (rc < 0)
        BKT_NOMEM(c->err);
    struct sum *s = &c->sums[c->n_sums++];
    s->id         = bkt_buf_steal(&id);
    memset(s->etag, 0, sizeof s->etag);
    memcpy(s->etag, l->etag, strnlen(l->etag, sizeof s->etag));
    return BKT_OK;
}

/* Stores the list of the current dataset's chunks, which is complete. */
static int end_dset(struct catalog *c)
{
    char name[BKT_ID_LEN + 20];
    if (!c->n_dsets || !c->chunks.len)
        return BKT_OK;
    snprintf(name, sizeof name, ".%s.chunks.txt", c->dsets[c->n_dsets - 1].id.text);
    return post(&c->out, c->path, name, &c->chunks);
}

static struct dset *dset_of(struct catalog *c, const struct bkt_id *id)
{
    if (c->n_dsets && strcmp(c->dsets[c->n_dsets - 1].id.text, id->text) == 0)
        return &c->dsets[c->n_dsets - 1];
    if (end_dset(c) < 0)
        return NULL;
    if (bkt_list_room(&c->dsets, c->n_dsets, &c->cap_dsets, sizeof *c->dsets) < 0) {
        (void)BKT_ERR(c->err, BKT_ENOMEM, "out of memory");
        return NULL;
    }
    c->dsets[c->n_dsets] = (struct dset){.id = *id};
    return &c->dsets[c->n_dsets++];
}

static int take_dset(struct catalog *c, const struct listed *l)
{
    struct dset *d = dset_of(c, &l->id);
    if (!d)
        return BKT_ENOMEM;
    d->mtime = l->mtime > d->mtime ? l->mtime : d->mtime;
    if (l->what == BKT_KEY_OBJECT) {
        d->json_bytes = l->size;
        d->json_mtime = l->mtime;
        memcpy(d->etag, l->etag, sizeof d->etag);
        return BKT_OK;
    }
    d->n++;
    d->bytes += l->size;
    c->n_chunks++;
    c->allocated += l->size;
    if (bkt_buf_addf(&c->chunks, "%s %s %.0f %" PRIu64 "\n", l->chunk, l->etag, l->mtime, l->size) < 0)
        BKT_NOMEM(c->err);
    return BKT_OK;
}

static int take_one(struct catalog *c, const struct listed *l)
{
    enum bkt_kind kind = bkt_id_kind(&l->id);
    c->modified        = l->mtime > c->modified ? l->mtime : c->modified;
    c->metadata += l->what == BKT_KEY_OBJECT ? l->size : 0;
    BKT_PASS(add_sum(c, l));
    if (kind == BKT_DATASET)
        return take_dset(c, l);
    *(kind == BKT_GROUP ? &c->n_groups : &c->n_types) += 1;
    if (strcmp(l->id.text, bkt_domain_root(c->d)->text) == 0)
        return BKT_OK; /* the specification leaves the root group out */
    if (bkt_buf_addf(&c->text[kind], "%s %s %.0f %" PRIu64 "\n", l->id.text, l->etag, l->mtime, l->size) < 0)
        BKT_NOMEM(c->err);
    return BKT_OK;
}

static int take_batch(struct catalog *c)
{
    bool listed = bkt_id_is_v2(bkt_domain_root(c->d));
    int  rc     = listed ? BKT_OK : ask(c, BKT_HEAD);
    if (rc == BKT_OK && bkt_store_is_local(bkt_domain_store(c->d)))
        rc = ask(c, BKT_GET);
    for (size_t i = 0; i < c->n; i++) {
        rc = rc ? rc : take_one(c, &c->v[i]);
        listed_fini(&c->v[i]);
    }
    c->n = 0;
    return rc;
}

static int on_listed(const struct bkt_listed_key *s, void *arg)
{
    struct catalog *c = arg;
    if (s->what == BKT_KEY_OTHER)
        return BKT_OK;
    struct listed *l = &c->v[c->n++];
    *l = (struct listed){.what = s->what,
                         .id = s->id,
                         .key = strdup(s->entry->key),
                         .chunk = s->chunk ? strdup(s->chunk) : NULL,
                         .tail = s->chunk ? strdup(s->tail) : NULL,
                         .size = s->entry->size,
                         .mtime = s->entry->mtime};
    bare_etag(s->entry->etag, l->etag);
    if (!l->key || (s->chunk && (!l->chunk || !l->tail)))
        BKT_NOMEM(c->err);
    return c->n == BKT_TOOL_BATCH ? take_batch(c) : BKT_OK;
}

/* ---- datasets ---- */

static int measure(struct catalog *c, struct dset *d)
{
    BKT_CLEANUP(bkt_where_fini) struct bkt_extent_use u = {0};
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    BKT_PASS(bkt_domain_get(c->d, &d->id, &o, c->err));
    d->logical = o->dset.type->is_var ? d->bytes : bkt_dset_logical(&o->dset);
    if (bkt_layout_is_linked(&o->dset.layout))
        BKT_PASS(bkt_where_count(c->d, o, NULL, &u, c->err));
    d->linked   = u.linked ? u.bytes : 0;
    d->n_linked = u.linked ? u.n : 0;
    return BKT_OK;
}

static int measure_all(struct catalog *c)
{
    struct bkt_id ids[BKT_TOOL_BATCH];
    for (size_t i = 0; i < c->n_dsets; i++) {
        size_t n = 0;
        for (; i % BKT_TOOL_BATCH == 0 && n < BKT_TOOL_BATCH && i + n < c->n_dsets; n++)
            ids[n] = c->dsets[i + n].id;
        bkt_domain_prefetch(c->d, ids, n);
        struct dset *d = &c->dsets[i];
        if (d->json_bytes)
            BKT_PASS(measure(c, d)); /* else chunks of a dataset that is gone: verify finds them */
        if (bkt_buf_addf(&c->text[BKT_DATASET], "%s %s %.0f %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                         d->id.text, d->etag, d->json_mtime, d->json_bytes, d->n, d->bytes) < 0)
            BKT_NOMEM(c->err);
    }
    return BKT_OK;
}

/* ---- .info.json ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct sum *)a)->id, ((const struct sum *)b)->id);
}

static int md5_sum(struct catalog *c, char out[BKT_ETAG_MAX])
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf all = {0};
    if (c->n_sums)
        qsort(c->sums, c->n_sums, sizeof *c->sums, by_id);
    for (size_t i = 0; i < c->n_sums; i++)
        if (bkt_buf_add(&all, c->sums[i].etag, sizeof c->sums[i].etag) < 0)
            BKT_NOMEM(c->err);
    return BKT_MADE(c->err, bkt_md5_hex(all.ptr, all.len, out) >= 0);
}

static int dset_info(struct bkt_buf *b, const struct dset *d, bool first)
{
    return bkt_buf_addf(b,
                        "%s\"%s\": {\"lastModified\": %.17g, \"num_chunks\": %" PRIu64
                        ", \"allocated_bytes\": %" PRIu64 ", \"logical_bytes\": %" PRIu64
                        ", \"linked_bytes\": %" PRIu64 ", \"num_linked_chunks\": %" PRIu64 "}",
                        first ? "" : ", ", d->id.text, d->mtime, d->n, d->bytes, d->logical, d->linked,
                        d->n_linked);
}

static int info(struct catalog *c, struct bkt_buf *b)
{
    const char *bucket = bkt_base_name(bkt_store_uri(bkt_domain_store(c->d)));
    uint64_t    logical = 0, linked = 0, n_linked = 0;
    char        sum[BKT_ETAG_MAX];
    BKT_PASS(md5_sum(c, sum));
    int rc = bkt_buf_addf(b,
                          "{\"lastModified\": %.17g, \"num_groups\": %" PRIu64 ", \"num_datatypes\": %" PRIu64
                          ", \"datasets\": {",
                          c->modified, c->n_groups, c->n_types);
    for (size_t i = 0; rc == BKT_OK && i < c->n_dsets; i++) {
        rc = dset_info(b, &c->dsets[i], i == 0);
        logical += c->dsets[i].logical;
        linked += c->dsets[i].linked;
        n_linked += c->dsets[i].n_linked;
    }
    if (rc == BKT_OK)
        rc = bkt_buf_addf(b,
                          "}, \"num_chunks\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
                          ", \"metadata_bytes\": %" PRIu64 ", \"num_linked_chunks\": %" PRIu64
                          ", \"linked_bytes\": %" PRIu64 ", \"logical_bytes\": %" PRIu64,
                          c->n_chunks, c->allocated, c->metadata, n_linked, linked, logical);
    rc     = rc < 0 ? rc : bkt_buf_add_str(b, ", \"bucket\": ");
    rc     = rc < 0 ? rc : bkt_utf8_quote(b, bucket, strlen(bucket)); /* a folder may have any name */
    if (rc == BKT_OK)
        rc = bkt_buf_addf(b, ", \"scan_start\": %.17g, \"md5_sum\": \"%s\", \"scan_complete\": %.17g}",
                          c->begun, sum, bkt_time_of_day());
    return BKT_MADE(c->err, rc >= 0);
}

static int write_all(struct catalog *c)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    char                                     tree[40];
    const bool v2 = bkt_id_is_v2(bkt_domain_root(c->d));
    BKT_PASS(v2 ? bkt_key_list(bkt_domain_store(c->d), bkt_domain_root(c->d), on_listed, c, c->err)
                : bkt_reach_keys(c->d, NULL, on_listed, c, c->err));
    BKT_PASS(take_batch(c));
    BKT_PASS(end_dset(c));
    BKT_PASS(measure_all(c));
    BKT_PASS(info(c, &json));
    for (size_t i = 0; i < BKT_COUNT(lists); i++)
        BKT_PASS(post(&c->out, c->path, lists[i], &c->text[i]));
    snprintf(tree, sizeof tree, "db/%.17s", bkt_domain_root(c->d)->text + 2);
    if (v2) /* version 1 has no place for it */
        BKT_PASS(post(&c->out, tree, ".info.json", &json));
    return send(&c->out);
}

static void catalog_freep(struct catalog **at)
{
    struct catalog *c = *at;
    for (size_t i = 0; c && i < c->n; i++)
        listed_fini(&c->v[i]);
    if (!c)
        return;
    for (size_t i = 0; i < c->n_sums; i++)
        free(c->sums[i].id);
    for (size_t i = 0; i < BKT_TOOL_BATCH; i++) {
        bkt_buf_fini(&c->out.key[i]);
        bkt_buf_fini(&c->out.text[i]);
    }
    for (size_t i = 0; i < BKT_COUNT(lists); i++)
        bkt_buf_fini(&c->text[i]);
    bkt_buf_fini(&c->chunks);
    free(c->sums);
    free(c->dsets);
    free(c);
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_domain_closep) struct bkt_domain *d = NULL;
    const char *to = bkt_tool_opt(t, "output");
    BKT_PASS(bkt_domain_open(t->args[0], &t->set, &d, &t->err));
    BKT_PASS(bkt_domain_check_acl(d, to ? BKT_ACL_READ : BKT_ACL_READ | BKT_ACL_UPDATE, &t->err));
    BKT_FAIL_IF(&t->err, !to && bkt_store_is_readonly(bkt_domain_store(d)), BKT_EACCES,
                "%s: the store is read-only; --output writes into a local folder",
                bkt_store_uri(bkt_domain_store(d)));
    BKT_CLEANUP(catalog_freep) struct catalog *c = calloc(1, sizeof *c);
    BKT_NEED(&t->err, c);
    c->d     = d;
    c->path  = bkt_domain_path(d);
    c->begun = bkt_time_of_day();
    c->err   = &t->err;
    c->out   = (struct outbox){.st = bkt_domain_store(d), .folder = to, .err = &t->err};
    BKT_PASS(write_all(c));
    if (t->json)
        printf("{\"files\": %" PRIu64 "}\n", c->out.n_written);
    else if (bkt_tool_has(t, "verbose"))
        printf("%" PRIu64 " files written\n", c->out.n_written);
    return BKT_EXIT_OK;
}

/* ---- and away with them ---- */

struct found {
    struct bkt_store *st;
    size_t            prefix;
};

static int on_beside(const struct bkt_listed *e, void *arg)
{
    const struct found *f    = arg;
    const char         *name = e->key + (strlen(e->key) > f->prefix ? f->prefix : 0);
    size_t              n    = strlen(name);
    bool                is   = strcmp(name, BKT_LOAD_JOURNAL) == 0;
    is |= n == BKT_ID_LEN + 12 && name[0] == '.' && strcmp(name + 1 + BKT_ID_LEN, ".chunks.txt") == 0;
    for (size_t i = 0; i < BKT_COUNT(lists); i++)
        is |= strcmp(name, lists[i]) == 0;
    return is && !e->is_prefix ? bkt_store_delete(f->st, &e->key, 1, NULL) : BKT_OK;
}

int bkt_catalog_delete(struct bkt_store *st, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&prefix, "%s/", path));
    struct found f  = {st, prefix.len};
    int          rc = bkt_store_list(st, bkt_buf_str(&prefix), "/", on_beside, &f, err);
    return rc == BKT_ENOENT ? (bkt_err_clear(err), BKT_OK) : rc;
}

static const struct bkt_opt opts[] = {
    {'o', "output", "FOLDER", "write into a local FOLDER instead of the bucket", NULL},
    {'v', "verbose", NULL, "print how many files were written", NULL},
};
const struct bkt_verb bkt_verb_catalog = {
    .name = "catalog", .args = "DOMAIN", .min_args = 1, .max_args = 1,
    .help = "write the catalogs of a domain: lists of its objects and chunks",
    .text = "The catalogs are stored beside the domain's document: .groups.txt, .datasets.txt,\n"
            ".datatypes.txt, and .ID.chunks.txt for each dataset. Their form is the schema's: id, ETag,\n"
            "time, bytes, and for datasets also number and bytes of their chunks. The verb also writes\n"
            ".info.json in the domain's object tree, from which HSDS and hsinfo take their numbers. A later\n"
            "write does not change these files. Schema version 1 has no .info.json, and its objects are\n"
            "requested one by one.\n\n"
            "JSON: {\"files\": number of files written}.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
