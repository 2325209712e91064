#include "samples/digest.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/num.h"
#include "base/os/pool.h"
#include "samples/batch.h"
#include "samples/call.h"
#include "samples/numpy_type.h"
#include "vol/core/hid.h"

#define SHARE_MIN (1U << 20) /* bytes of a batch; less takes less time than waking a thread */

uint64_t bkt_sample_digest(const void *p, size_t n)
{
    return XXH64(n ? p : "", n, 0);
}

/* ---- many, on worker threads ---- */

/* Threads take items one by one.  The last one that leaves wakes the caller, who helps, too. */
struct work {
    struct bkt_item **v;
    size_t            n;
    atomic_size_t     next;
    pthread_mutex_t   lock;
    pthread_cond_t    cond;
    size_t            busy; /* threads; guarded by lock */
};

struct helper {
    struct bkt_job job; /* first member */
    struct work   *work;
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
    (void)pthread_mutex_lock(&w->lock);
    if (--w->busy == 0)
        (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->lock);
}

static void compute(struct bkt_batch *b)
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

/* Hangar computes a digest before the elements are stored.  Where the dataset has another type than the
 * schema, the digest is that of the elements in the schema's type. */
static bool matches_cast(const struct bkt_item *it)
{
    int64_t num = -1;
    size_t elem, bytes;
    if (bkt_sample_file_numbers(it->file, "schema_dtype_num", &num, 1, NULL) < 0)
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

void bkt_batch_verify(struct bkt_batch *b)
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
