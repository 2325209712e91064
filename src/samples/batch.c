/* A batch's bytes: read by as few calls of HDF5 as possible, and compared with their digests. */
#include "samples/batch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/num.h"
#include "base/os/pool.h"
#include "base/os/thread.h"
#include "samples/numpy_type.h"
#include "vol/calls/outage.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"

/* ---- reading: one call of HDF5 for a batch, with an entry and memory for each sample.  If the call fails,
 * it is divided until the samples that fail are alone ---- */

/* After so many samples, one by one, that no server answered for, the rest is not asked for. */
#define OUTAGES_MAX 3

struct call {
    hid_t *dsets, *types, *in_memory, *in_file;
    void **buffers;
    size_t n, room;
};

static void call_fini(struct call *c)
{
    for (size_t i = 0; i < c->n; i++) {
        bkt_hid_closep(&c->in_file[i]);
        bkt_hid_closep(&c->in_memory[i]);
    }
    free(c->dsets);
    free(c->buffers);
}

static int call_init(struct call *c, size_t n, struct bkt_err *err)
{
    *c =
        (struct call){.room = n, .dsets = calloc(n, 4 * sizeof(hid_t)), .buffers = calloc(n, sizeof(void *))};
    BKT_NEED(err, c->dsets && c->buffers);
    c->types = c->dsets + n;
    c->in_memory = c->types + n;
    c->in_file = c->in_memory + n;
    return BKT_OK;
}

/* A row's first elements if samples are flat, else the corner at its begin. */
static herr_t select_sample(hid_t space, const struct bkt_item *it)
{
    hsize_t start[H5S_MAX_RANK] = {it->record.row}, count[H5S_MAX_RANK] = {1};
    if (it->flat)
        count[1] = it->n;
    else
        for (int i = 0; i < it->record.rank; i++)
            count[i + 1] = it->record.shape[i];
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
}

static int add(struct call *c, const struct bkt_item *it, struct bkt_err *err)
{
    hsize_t n = it->n;
    size_t i = c->n++;
    c->dsets[i] = it->dset->id;
    c->types[i] = it->dset->type;
    c->buffers[i] = it->at;
    c->in_file[i] = H5Scopy(it->dset->space);
    c->in_memory[i] = H5Screate_simple(1, &n, NULL);
    BKT_NEED_H5(err, c->in_file[i] >= 0 && c->in_memory[i] >= 0 && select_sample(c->in_file[i], it) >= 0,
                it->file->name);
    return BKT_OK;
}

static int read_together(struct bkt_item **v, size_t n, unsigned *outages, struct bkt_err *err)
{
    BKT_CLEANUP(call_fini) struct call c;
    BKT_PASS(call_init(&c, n, err));
    for (size_t i = 0; i < n; i++)
        if (v[i]->n)
            BKT_PASS(add(&c, v[i], err));
    if (c.n == 0 || H5Dread_multi(c.n, c.dsets, c.types, c.in_memory, c.in_file, H5P_DEFAULT, c.buffers) >= 0)
        return BKT_OK;
    bool met = n == 1 && bkt_h5err_is_on_stack(); /* else the connector knows an older failure only */
    int rc = bkt_h5err_capture(err, v[0]->file->name);
    *outages += met && bkt_outage_ask(v[0]->file->id);
    return rc;
}

static void read_divided(struct bkt_item **v, size_t n, unsigned *outages)
{
    struct bkt_err err;
    bkt_err_clear(&err);
    if (n == 0)
        return;
    int rc = read_together(v, n, outages, &err);
    if (rc == BKT_OK)
        return;
    if (n == 1 || *outages >= OUTAGES_MAX) {
        for (size_t i = 0; i < n; i++)
            bkt_item_fail(v[i], rc, &err);
        return;
    }
    read_divided(v, n / 2, outages);
    read_divided(v + n / 2, n - n / 2, outages);
}

void bkt_sample_batch_read(struct bkt_sample_batch *b)
{
    unsigned outages = 0;
    size_t n = 0;
    for (size_t i = 0; i < b->n_todo; i++) /* those that were found */
        if (b->todo[i]->rc == BKT_OK)
            b->todo[n++] = b->todo[i];
    b->n_todo = n;
    read_divided(b->todo, n, &outages);
}

/* ---- digests ---- */

#define SHARE_MIN (1U << 20) /* bytes of a batch; less takes less time than waking a thread */

uint64_t bkt_sample_digest(const void *p, size_t n)
{
    return XXH64(n ? p : "", n, 0);
}

/* ---- many, on worker threads ---- */

/* Threads take items one by one.  The last one that leaves wakes the caller, who helps, too. */
struct work {
    struct bkt_item **v;
    size_t n;
    atomic_size_t next;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    size_t busy; /* threads; guarded by lock */
};

struct helper {
    struct bkt_job job; /* first member */
    struct work *work;
};

static void take_items(struct work *w)
{
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
        if (w->v[i]->rc == BKT_OK)
            w->v[i]->digest = bkt_sample_digest(w->v[i]->at, w->v[i]->bytes);
}

static void run_helper(struct bkt_job *job)
{
    struct work *w = ((struct helper *)job)->work;
    take_items(w);
    BKT_HOLD(&w->lock);
    if (--w->busy == 0)
        (void)pthread_cond_signal(&w->cond);
}

static void compute(struct bkt_sample_batch *b)
{
    struct work w = {.v = b->todo, .n = b->n_todo};
    struct helper helpers[64];
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->n_todo; i++)
        bytes += b->todo[i]->rc == BKT_OK ? b->todo[i]->bytes : 0;
    w.busy = bytes < SHARE_MIN
                 ? 0
                 : bkt_min_u64(bkt_min_u64(bkt_pool_threads(), BKT_COUNT(helpers)), b->n_todo) - 1;
    (void)pthread_mutex_init(&w.lock, NULL);
    (void)pthread_cond_init(&w.cond, NULL);
    for (size_t i = 0, n = w.busy; i < n; i++) {
        helpers[i] = (struct helper){.job = {.run = run_helper}, .work = &w};
        bkt_pool_submit(&helpers[i].job);
    }
    take_items(&w);
    (void)pthread_mutex_lock(&w.lock);
    while (w.busy)
        bkt_pool_wait(&w.cond, &w.lock, NULL);
    (void)pthread_mutex_unlock(&w.lock);
    (void)pthread_cond_destroy(&w.cond);
    (void)pthread_mutex_destroy(&w.lock);
}

/* ---- the cast ---- */

/* Hangar computes a digest before the elements are stored.  If the dataset's type is not the
 * schema's, the digest is that of the elements in the schema's type. */
static bool matches_cast(const struct bkt_item *it)
{
    int64_t num = -1;
    size_t elem, bytes;
    if (!bkt_sample_file_numbers(it->file, "schema_dtype_num", &num, 1))
        return false;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = bkt_numpy_type(num);
    if (type < 0 || H5Tequal(type, it->dset->type) > 0 || it->n == 0)
        return false;
    elem = H5Tget_size(type);
    if (!elem || !bkt_mul_size((size_t)it->n, elem, &bytes))
        return false;
    BKT_CLEANUP(bkt_freep) unsigned char *cast = malloc(bytes > it->bytes ? bytes : it->bytes);
    if (!cast)
        return false;
    memcpy(cast, it->at, it->bytes);
    return H5Tconvert(it->dset->type, type, (size_t)it->n, cast, NULL, H5P_DEFAULT) >= 0 &&
           bkt_sample_digest(cast, bytes) == it->record.digest;
}

static void report(struct bkt_item *it)
{
    struct bkt_err err = {.n = 0};
    int rc =
        BKT_ERR(&err, BKT_EFORMAT,
                "%s: collection %" PRIu32 ", row %" PRIu32 ": the stored bytes have the digest %016" PRIx64
                ", the record has %016" PRIx64 "; take the sample from another copy",
                it->file->name, it->record.dataset, it->record.row, it->digest, it->record.digest);
    bkt_item_fail(it, rc, &err);
}

void bkt_sample_batch_verify(struct bkt_sample_batch *b)
{
    compute(b);
    for (size_t i = 0; i < b->n_todo; i++) {
        struct bkt_item *it = b->todo[i];
        if (it->rc < 0 || !it->record.has_digest || it->digest == it->record.digest)
            continue;
        if (!matches_cast(it))
            report(it);
    }
    (void)H5Eclear2(H5E_DEFAULT);
}
