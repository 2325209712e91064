/* Siblings whose bytes lie in one file, as `h5bucket load --link` stores small datasets.  The bytes that they
 * refer to are fetched in a few long ranges, without opening each dataset, which saves nearly all of the CPU
 * time. */
#include <stdlib.h>
#include <string.h>

#include "chunk/ahead/jobs.h"
#include "chunk/read/references.h"
#include "base/num.h"

/* Bytes between two datasets that are fetched along: they cost less than another request. */
#define GAP  (64u << 10)
#define PART (1u << 20) /* bytes of one request */

struct range {
    uint64_t off, end;
};
struct file_job {
    struct bkt_ahead_job  *job;
    struct bkt_dsetio     *io; /* the first sibling, which opens the file */
    struct bkt_chunk_file *file;
    struct range          *v;
    size_t                 n;
};

static bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* Whether the dataset is one piece of the file that the first sibling names. */
static bool fits(const struct file_job *f, const struct bkt_object *o)
{
    const struct bkt_layout *l = &o->dset.layout, *first = f->io ? &f->io->ds->layout : l;
    uint64_t                 end;
    return o->kind == BKT_DATASET && !o->dset.bad && l->cls == BKT_D_CONTIGUOUS_REF && l->file_uri &&
           !l->n_segments && l->size && l->size <= f->job->each && bkt_add_u64(l->offset, l->size, &end) &&
           end <= INT64_MAX && same(l->file_uri, first->file_uri) && same(l->file_etag, first->file_etag);
}

/* Opens the file as the program's own read will: under the same policy, with the same place in the cache. */
static bool open_file(struct file_job *f, const struct bkt_object *o)
{
    if (bkt_dsetio_open(f->job->dom, o, NULL, NULL, &f->io, NULL) < 0)
        return false;
    if (!f->io->bad.code && f->io->cache && bkt_reference_layout_file(f->io, &f->file, NULL) == BKT_OK &&
        f->file->space)
        return true;
    bkt_dsetio_close(f->io);
    f->io = NULL;
    return false;
}

static bool add(struct file_job *f, const struct bkt_object *o)
{
    const struct bkt_layout *l = &o->dset.layout;
    size_t                   delta;
    if (!fits(f, o) || (!f->io && !open_file(f, o)))
        return false;
    struct bkt_cache_entry *there =
        bkt_cache_cover(f->io->cache, f->file->space, f->file->base + l->offset, (size_t)l->size, &delta);
    bool known = there != NULL, taken = known || bkt_ahead_takes(f->job, l->size);
    bkt_cache_entry_release(there);
    if (taken && !known)
        f->v[f->n++] = (struct range){l->offset, l->offset + l->size};
    return taken;
}

static int by_offset(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

/* Merges neighbouring ranges. */
static void merge(struct file_job *f)
{
    size_t n = 0;
    qsort(f->v, f->n, sizeof *f->v, by_offset);
    for (size_t i = 1; i < f->n; i++) {
        struct range *last = &f->v[n], *x = &f->v[i];
        if (x->off <= last->end + GAP && bkt_max_u64(x->end, last->end) - last->off <= PART)
            last->end = bkt_max_u64(x->end, last->end);
        else
            f->v[++n] = *x;
    }
    f->n = n + 1;
}

static void fetch(struct file_job *f)
{
    struct bkt_req     *reqs = calloc(f->n, sizeof *reqs);
    struct bkt_cache_entry **e    = calloc(f->n, sizeof(struct bkt_cache_entry *));
    size_t              n    = 0;
    for (; reqs && e && n < f->n; n++) {
        const struct range *x = &f->v[n];
        if (!(e[n] = bkt_cache_entry_new((size_t)(x->end - x->off))))
            break;
        reqs[n] = (struct bkt_req){.op = BKT_GET,
                                   .key = f->file->key,
                                   .off = x->off,
                                   .len = x->end - x->off,
                                   .dst = e[n]->data,
                                   .may_be_short = true,
                                   .if_match = f->file->etag,
                                   .version = f->file->version,
                                   .cancel = &f->job->cancel};
    }
    (void)bkt_store_run(f->file->store, reqs, n, NULL); /* the program's own read will report failures */
    for (size_t i = 0; i < n; i++) {
        e[i]->len = bkt_min_u64(e[i]->len, reqs[i].n);
        if (reqs[i].rc == BKT_OK && e[i]->len)
            bkt_cache_put(f->io->cache, f->file->space, f->file->base + f->v[i].off, e[i]);
        bkt_req_fini(&reqs[i]);
        bkt_cache_entry_release(e[i]);
    }
    free(reqs);
    free(e);
}

size_t bkt_ahead_files(struct bkt_ahead_job *job, bool *done)
{
    struct file_job f = {.job = job, .v = calloc(job->n, sizeof *f.v)};
    size_t          n = 0;
    if (!f.v)
        return 0;
    for (size_t i = 0; i < job->n && !atomic_load(&job->cancel); i++) {
        const struct bkt_object *o = NULL;
        if (!job->ids[i].text[0] || bkt_domain_get(job->dom, &job->ids[i], &o, NULL) < 0)
            continue;
        done[i] = add(&f, o);
        n += done[i];
        bkt_object_release(o);
        if (!n) /* siblings of another kind */
            break;
    }
    if (f.io && f.n && !atomic_load(&job->cancel)) {
        merge(&f);
        fetch(&f);
    }
    bkt_dsetio_close(f.io);
    free(f.v);
    return n;
}
