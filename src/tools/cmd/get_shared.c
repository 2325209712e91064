#include "tools/cmd/get_shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "schema/model/model.h"
#include "tools/cli/interrupt.h"
#include "tools/load/shared_copy.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/source/hdf5_glue.h"
#include "vol/copy/written_chunks.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"
#include "vol/vfd/store_driver.h"

enum { GET_STORED, GET_ELEMENTS, GET_BYTES }; /* of a unit: chunks as they are stored; elements; a range */

/* ---- a domain's datasets: the first process ---- */

struct target {
    hid_t src, dst;
    size_t left; /* units whose elements are not written yet */
};
struct bkt_get_shared {
    struct bkt_share s;
    const struct bkt_copier_options *o;
    struct target *v;
    size_t n, cap;
};

static void target_done(struct target *t)
{
    if (--t->left)
        return;
    bkt_hid_closep(&t->src);
    bkt_hid_closep(&t->dst);
}

static int write_stored(hid_t dst, const struct bkt_written *w, struct bkt_rd *r, struct bkt_err *err)
{
    for (size_t i = 0; i < w->n; i++) {
        hsize_t at[H5S_MAX_RANK];
        uint32_t mask = (uint32_t)bkt_rd_le(r, 4);
        size_t n = (size_t)bkt_rd_le(r, 8);
        const void *bytes = bkt_rd_take(r, n);
        BKT_FAIL_IF(err, !bytes, BKT_EFORMAT, "a chunk of a part is missing");
        bkt_written_offset(w, w->v[i].index, at);
        if (H5Dwrite_chunk(dst, H5P_DEFAULT, mask, at, n, bytes) < 0)
            return h5_fail(err, "writing a chunk");
    }
    return BKT_OK;
}

static int take_part(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_get_shared *g = arg;
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    uint64_t kind = bkt_rd_le(r, 1), number = bkt_rd_le(r, 4);
    BKT_FAIL_IF_MALFORMED(err, !r->ok || number >= g->n || g->v[number].dst < 0, "result");
    BKT_PASS(shared_copy_parse(r, &w, err));
    hid_t dst = g->v[number].dst;
    BKT_PASS(kind == GET_STORED ? write_stored(dst, &w, r, err)
                                : bkt_copier_chunks(H5I_INVALID_HID, dst, &w, g->o, NULL, r, err));
    target_done(&g->v[number]);
    return BKT_OK;
}

/* ---- work: reading a part ---- */

static int read_stored(hid_t src, const struct bkt_written *w, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf one = {0};
    for (size_t i = 0; i < w->n; i++) {
        hsize_t at[H5S_MAX_RANK];
        uint32_t mask = w->v[i].mask;
        bkt_written_offset(w, w->v[i].index, at);
        if (bkt_buf_resize(&one, (size_t)w->v[i].size) < 0 ||
            H5Dread_chunk(src, H5P_DEFAULT, at, &mask, one.ptr) < 0 ||
            shared_copy_say(out, NULL, "48", (uint64_t)mask, one.len) < 0 ||
            bkt_buf_add(out, one.ptr, one.len) < 0)
            return -1;
    }
    return BKT_OK;
}

/* Chunks that can't be read as they are stored are read as elements. */
static int read_part(hid_t src, uint64_t kind, uint64_t number, struct bkt_rd *unit,
                     const struct bkt_copier_options *o, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_PASS(shared_copy_parse(unit, &w, err));
    if (kind == GET_STORED) {
        BKT_PASS(shared_copy_say(out, err, "14w", GET_STORED, number, &w, (size_t)0, w.n));
        if (read_stored(src, &w, out) == BKT_OK)
            return BKT_OK;
    }
    (void)H5Eclear2(H5E_DEFAULT);
    bkt_buf_clear(out);
    BKT_PASS(shared_copy_say(out, err, "14w", GET_ELEMENTS, number, &w, (size_t)0, w.n));
    return bkt_copier_chunks(src, H5I_INVALID_HID, &w, o, out, NULL, err);
}

static int work_on_part(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct bkt_get_shared *g = arg;
    uint64_t kind = bkt_rd_le(unit, 1), number = bkt_rd_le(unit, 4);
    (void)shared_copy_take_text(unit); /* the path */
    return read_part(g->v[number].src, kind, number, unit, g->o, result, err);
}

/* ---- putting units ---- */

/* Whether chunk objects hold the chunks that the file gets, as HDF5's filters made them. */
static bool holds_chunks(hid_t src, hid_t dst)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dst);
    return shared_copy_same_chunks(dst, src) && H5Pget_nfilters(dcpl) > 0 && bkt_written_fits(src, dst);
}

static int add_target(struct bkt_get_shared *g, hid_t src, hid_t dst, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_list_room(&g->v, g->n, &g->cap, sizeof *g->v));
    if (H5Iinc_ref(src) < 0 || H5Iinc_ref(dst) < 0)
        return h5_fail(err, "keeping a dataset open");
    g->v[g->n++] = (struct target){src, dst, 1};
    return BKT_OK;
}

static int put_units(struct bkt_get_shared *g, const struct bkt_written *w, unsigned kind, size_t elem,
                     const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    const size_t number = g->n - 1;
    uint64_t bytes = shared_copy_chunk_bytes(w, elem), total = UINT64_MAX;
    (void)bkt_mul_u64(bytes, w->n, &total);
    for (size_t i = 0, n; i < w->n; i += n) {
        n = shared_copy_next(w, i, bytes, shared_copy_share(total));
        bkt_buf_clear(&unit);
        BKT_PASS(shared_copy_say(&unit, err, "14tw", kind, number, path, w, i, n));
        g->v[number].left++;
        BKT_PASS(bkt_share_put(&g->s, &unit, err));
    }
    return BKT_OK;
}

int bkt_get_shared_dataset(struct bkt_get_shared *g, hid_t src, hid_t dst, const char *path,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written w = {.v = NULL};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    if (!g || *path != '/' || !bkt_vobj_of_id(src) || !shared_copy_possible(src, dst))
        return 0;
    bool stored = holds_chunks(src, dst) && bkt_written_list(src, &w) && !w.other_shape;
    if (!stored) {
        bkt_written_fini(&w);
        memset(&w, 0, sizeof w);
        BKT_PASS(shared_copy_list(src, src, &w, err));
    }
    BKT_PASS(add_target(g, src, dst, err));
    int rc = put_units(g, &w, stored ? GET_STORED : GET_ELEMENTS, H5Tget_size(type), path, err);
    target_done(&g->v[g->n - 1]);
    return rc < 0 ? rc : 1;
}

int bkt_get_shared_begin(const struct bkt_copier_options *o, struct bkt_get_shared **out, struct bkt_err *err)
{
    struct bkt_get_shared *g = bkt_processes_several() ? calloc(1, sizeof *g) : NULL;
    *out = g;
    if (!g)
        return bkt_processes_several() ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
    g->o = o;
    g->s = (struct bkt_share){.work = work_on_part, .take = take_part, .arg = g, .check = interrupt_check};
    return bkt_share_begin(&g->s, err);
}

int bkt_get_shared_end(struct bkt_get_shared *g, int rc, struct bkt_err *err)
{
    if (!g)
        return rc;
    rc = bkt_share_finish(&g->s, rc, err);
    for (size_t i = 0; i < g->n; i++)
        if (g->v[i].left) { /* after a failure */
            g->v[i].left = 1;
            target_done(&g->v[i]);
        }
    free(g->v);
    free(g);
    return rc;
}

/* ---- a plain file ---- */

/* Blocks of a unit at most: requests that a process has at once. */
#define RANGE_BLOCKS 4

struct range { /* of a plain file, by any process */
    struct bkt_store *st;
    const char *key;
    struct bkt_version *version;
    struct part_file *p; /* in the first process */
    const struct download *d;
    bool failed; /* later blocks are kept, and not reported as progress */
};

/* The result: the range; the outcome; the number of blocks, and whether each has arrived; the bytes of these;
 * the error. */
static int emit_arrived(const struct bkt_req *reqs, size_t k, int rc, const struct bkt_err *why,
                        struct bkt_buf *out)
{
    BKT_PASS(shared_copy_say(out, NULL, "81", (uint64_t)(int64_t)rc, (unsigned)k));
    for (size_t i = 0; i < k; i++) {
        bool here = reqs[i].rc == BKT_OK && reqs[i].n == reqs[i].len;
        BKT_PASS(bkt_buf_add_le(out, 8, here ? reqs[i].len : 0));
        BKT_PASS(bkt_buf_add(out, reqs[i].dst, here ? (size_t)reqs[i].len : 0));
    }
    return rc < 0 ? bkt_err_pack(why, out) : BKT_OK;
}

static int run_requests(const struct range *f, struct bkt_req *reqs, size_t k, struct bkt_err *why)
{
    int rc = download_requests(f->st, reqs, k, interrupt_check, why);
    for (size_t i = 0; i < k && rc == BKT_OK; i++)
        if (reqs[i].n != reqs[i].len)
            rc = BKT_ERR(why, BKT_ENET, "%s: %llu bytes of a range of %llu arrived", f->key,
                         (unsigned long long)reqs[i].n, (unsigned long long)reqs[i].len);
    if (rc < 0 && !bkt_processes_first())
        (void)BKT_ERR(why, rc, "reported by process %u", bkt_processes_rank());
    return rc;
}

/* A failure is a part of the result: blocks that have arrived are kept. */
static int fetch_range(const struct range *f, struct bkt_rd *unit, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_req reqs[RANGE_BLOCKS];
    struct bkt_err why = {.n = 0};
    uint64_t off = bkt_rd_le(unit, 8), n = bkt_rd_le(unit, 8), k = 0;
    BKT_FAIL_IF_MALFORMED(err, !unit->ok || !n || n > RANGE_BLOCKS * DOWNLOAD_BLOCK, "unit of work");
    BKT_CLEANUP(bkt_freep) unsigned char *bytes = malloc((size_t)n);
    BKT_NEED(err, bytes);
    BKT_PASS(shared_copy_say(out, err, "188", GET_BYTES, off, n));
    for (uint64_t at = off, len; at < off + n; at += len, k++) { /* the first block may be here in part */
        len = bkt_min_u64(DOWNLOAD_BLOCK - at % DOWNLOAD_BLOCK, off + n - at);
        reqs[k] = (struct bkt_req){.op = BKT_GET,
                                   .key = f->key,
                                   .off = at,
                                   .len = len,
                                   .dst = bytes + (at - off),
                                   .if_match = bkt_version_condition(f->version),
                                   .version = f->version};
    }
    int rc = run_requests(f, reqs, k, &why);
    int emitted = emit_arrived(reqs, k, rc, &why, out);
    for (uint64_t i = 0; i < k; i++)
        bkt_req_fini(&reqs[i]);
    return emitted < 0 ? BKT_ERR(err, emitted, "out of memory") : BKT_OK;
}

static int work_on_range(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    BKT_FAIL_IF_MALFORMED(err, bkt_rd_le(unit, 1) != GET_BYTES, "unit of work");
    return fetch_range(arg, unit, result, err);
}

/* @p at: of the block's bytes */
static int take_block(const struct range *f, struct bkt_rd *r, uint64_t at, struct bkt_err *err)
{
    uint64_t n = bkt_rd_le(r, 8);
    const void *bytes = bkt_rd_take(r, (size_t)n);
    BKT_FAIL_IF_MALFORMED(err,
                          !bytes || at > f->p->size ||
                              (n && n != bkt_min_u64(f->p->block - at % f->p->block, f->p->size - at)),
                          "result");
    if (!n)
        return BKT_OK;
    BKT_PASS(part_file_write(f->p, at, bytes, n, err));
    f->p->marks[at / f->p->block] = 1;
    return f->failed ? BKT_OK : f->d->step(f->d->arg, n, err);
}

static int take_range(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct range *f = arg;
    uint64_t kind = bkt_rd_le(r, 1), off = bkt_rd_le(r, 8);
    (void)bkt_rd_le(r, 8); /* the range's length */
    int rc = (int)(int64_t)bkt_rd_le(r, 8);
    uint64_t k = bkt_rd_le(r, 1);
    BKT_FAIL_IF_MALFORMED(err, !r->ok || kind != GET_BYTES, "result");
    f->failed |= rc < 0;
    for (uint64_t at = off; k > 0; k--, at += f->p->block - at % f->p->block)
        BKT_PASS(take_block(f, r, at, err));
    BKT_PASS(part_file_save(f->p, false, err));
    size_t n = bkt_rd_left(r);
    const char *text = bkt_rd_take(r, n);
    if (rc < 0)
        bkt_err_unpack(err, rc, text, n);
    return rc < 0 ? rc : BKT_OK;
}

/* @p n_first: bytes of the first block that are here already */
static int put_ranges(struct bkt_share *s, const struct part_file *p, uint64_t n_first, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    const uint64_t each = bkt_max_u64(p->n_blocks / (2 * (uint64_t)bkt_processes_size()), 1);
    const uint64_t most = bkt_min_u64(RANGE_BLOCKS, each);
    for (uint64_t i = 0, n; i < p->n_blocks; i += n) {
        for (n = 0; n < most && i + n < p->n_blocks && !p->marks[i + n]; n++) {
        }
        uint64_t from = i ? i * p->block : n_first, to = bkt_min_u64((i + n) * p->block, p->size);
        bkt_buf_clear(&unit);
        if (n) {
            BKT_PASS(shared_copy_say(&unit, err, "188", GET_BYTES, from, to - from));
            BKT_PASS(bkt_share_put(s, &unit, err));
        }
        n = n ? n : 1;
    }
    return BKT_OK;
}

static int put_news(const char *name, const struct bkt_version *v, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf news = {0};
    uint64_t mtime;
    memcpy(&mtime, &v->mtime, sizeof mtime);
    BKT_PASS(shared_copy_say(&news, err, "tt88", name, v->etag, v->size, mtime));
    return bkt_share_news(&news, err);
}

int bkt_get_shared_download(const struct download *d, const char *name, struct part_file *p,
                            struct bkt_err *err)
{
    struct range f = {.st = d->st, .key = d->key, .version = d->version, .p = p, .d = d};
    struct bkt_share s = {
        .work = work_on_range, .take = take_range, .arg = &f, .check = interrupt_check, .salvage = true};
    int rc = download_put_first(d, p, err);
    rc = rc ? rc : bkt_share_begin(&s, err);
    rc = rc ? rc : put_news(name, d->version, err);
    rc = rc ? rc : put_ranges(&s, p, d->n_first, err);
    rc = bkt_share_finish(&s, rc, err);
    if (rc < 0)
        (void)!part_file_save(p, true, NULL); /* without the marks, less is kept */
    return rc;
}

/* ---- the other processes ---- */

struct other {
    struct bkt_tool *t;
    struct bkt_copier_options o;
    hid_t file, src; /* the domain; the dataset of the last unit */
    char *path;
    struct range range;
    char *key;
    struct bkt_version version;
};

static int on_news(void *arg, struct bkt_rd *news, struct bkt_err *err)
{
    struct other *o = arg;
    const char *name = shared_copy_take_text(news), *etag = shared_copy_take_text(news);
    uint64_t size = bkt_rd_le(news, 8), mtime = bkt_rd_le(news, 8);
    BKT_FAIL_IF_MALFORMED(err, !news->ok || strlen(etag) >= sizeof o->version.etag, "version of a file");
    o->version = (struct bkt_version){.known = true, .size = size};
    memcpy(&o->version.mtime, &mtime, sizeof mtime);
    memcpy(o->version.etag, etag, strlen(etag));
    BKT_PASS(bkt_vfd_open_store(name, &o->t->set, &o->range.st, &o->key, err));
    o->range.key = o->key;
    o->range.version = &o->version;
    return BKT_OK;
}

static int open_dataset(struct other *o, const char *path, struct bkt_err *err)
{
    if (o->file < 0)
        BKT_PASS(bkt_tool_open(o->t, o->t->args[0], &o->file, err));
    if (o->path && strcmp(o->path, path) == 0)
        return BKT_OK;
    bkt_hid_closep(&o->src);
    free(o->path);
    o->path = NULL;
    o->src = H5Dopen2(o->file, path, H5P_DEFAULT);
    if (o->src < 0)
        return h5_fail(err, path);
    o->path = strdup(path);
    return BKT_MADE(err, o->path);
}

static int work_of_other(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct other *o = arg;
    uint64_t kind = bkt_rd_le(unit, 1);
    BKT_PASS(interrupt_check(err));
    BKT_FAIL_IF_MALFORMED(err, kind == GET_BYTES && !o->range.st, "unit of work");
    if (kind == GET_BYTES)
        return fetch_range(&o->range, unit, result, err);
    uint64_t number = bkt_rd_le(unit, 4);
    const char *path = shared_copy_take_text(unit);
    BKT_FAIL_IF_MALFORMED(err, !unit->ok, "text");
    BKT_PASS(open_dataset(o, path, err));
    BKT_TRY(err, read_part(o->src, kind, number, unit, &o->o, result, err), "%s", path);
    return BKT_OK;
}

int bkt_get_shared_serve(struct bkt_tool *t)
{
    struct bkt_err err = {.n = 0};
    struct other o = {.t = t,
                      .file = H5I_INVALID_HID,
                      .src = H5I_INVALID_HID,
                      .o = {.hooks = {.fail = h5_fail, .check = interrupt_check}, .refs = BKT_REFS_FOLLOW}};
    const struct bkt_share_other s = {.work = work_of_other, .news = on_news, .arg = &o};
    int rc = bkt_share_serve(&s, &err);
    bkt_hid_closep(&o.src);
    bkt_hid_closep(&o.file);
    free(o.path);
    bkt_store_close(o.range.st);
    free(o.key);
    return rc < 0 ? bkt_tool_error(t, NULL, &err) : BKT_EXIT_OK;
}
